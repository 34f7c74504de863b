/* register_scratchpad_sharing.c: pairs of blocks share registers and scratchpad, for
 * kernels that are limited by both (001 section 5 names it as future work).
 *
 * As many blocks reside as both sharings allow; the same pairs share whichever of the two
 * would not hold that many blocks whole. The two policies keep their states and rules
 * (register_sharing.c, scratchpad_sharing.c), with one rule above them: a block takes a
 * lock of either kind only while its partner holds none of either. Without it one block
 * could hold the scratchpad and wait for a warp's registers, whose holder waits for the
 * scratchpad. With it there is no deadlock: who holds anything never waits for the
 * partner. */
#include "timing/policy/residency/pairs.h"
#include "timing/policy/residency/register_sharing.h"
#include "timing/policy/residency/scratchpad_sharing.h"

extern const struct residency_policy residency_register_sharing;
extern const struct residency_policy residency_scratchpad_sharing;

#define REGISTERS (&residency_register_sharing)
#define SCRATCHPAD (&residency_scratchpad_sharing)

struct both {
    struct pairs pairs;
    char *registers, *scratchpad;
    _Alignas(16) char state[];
};

static bool
plan(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p,
     struct diag_sink *diag)
{
    struct allot_occupancy none, regs, pad;
    double t = m->residency.threshold;
    if (!pairs_threshold(m, "register-scratchpad-sharing", diag) ||
        !occ_compute(m, k, OCC_SHARE_NONE, t, &none, diag) ||
        !occ_compute(m, k, OCC_SHARE_REGISTERS, t, &regs, diag) ||
        !occ_compute(m, k, OCC_SHARE_SCRATCHPAD, t, &pad, diag))
        return false;
    uint32_t most = none.by_threads < none.by_blocks ? none.by_threads : none.by_blocks;
    most = regs.by_registers < most ? regs.by_registers : most;
    most = pad.by_scratchpad < most ? pad.by_scratchpad : most;
    bool share_registers = most > none.by_registers;
    bool share_scratchpad = most > none.by_scratchpad;
    *p = (struct residency_plan){
        .blocks = most,
        .baseline = none.resident_blocks,
        .pairs = most - none.resident_blocks,
        .private_units = share_registers ? occ_private(k->registers, t) : UINT32_MAX,
        .private_bytes = share_scratchpad ? occ_private(k->scratchpad, t) : UINT32_MAX,
        .shares_scratchpad = share_scratchpad};
    pairs_plan_warps(m, k, p);
    return true;
}

/* Progress of warps is counted by register sharing alone. */
static struct residency_plan
scratchpad_plan(const struct residency_plan *p)
{
    struct residency_plan q = *p;
    q.private_units = p->private_bytes;
    q.warps = 0;
    return q;
}

static size_t
registers_size(const struct residency_plan *p)
{
    return (REGISTERS->state_size(p) + 15) / 16 * 16;
}

static size_t
state_size(const struct residency_plan *p)
{
    struct residency_plan q = scratchpad_plan(p);
    return sizeof(struct both) + registers_size(p) + SCRATCHPAD->state_size(&q);
}

static void
init(void *state, const struct machine *m, const struct residency_plan *p)
{
    struct both *b = state;
    struct residency_plan q = scratchpad_plan(p);
    b->pairs = pairs_of(p);
    b->registers = b->state;
    b->scratchpad = b->state + registers_size(p);
    REGISTERS->init(b->registers, m, p);
    SCRATCHPAD->init(b->scratchpad, m, &q);
}

static bool
shares(const struct both *b, unsigned s)
{
    return pairs_index(&b->pairs, s) >= 0;
}

static bool
holds_any(const struct both *b, unsigned s)
{
    return register_sharing_holds_any(b->registers, s) ||
           scratchpad_sharing_holds(b->scratchpad, s);
}

static void
started(void *state, const struct residency_view *v, unsigned s)
{
    struct both *b = state;
    REGISTERS->started(b->registers, v, s);
    uint64_t additional = v->stats->share_additional_blocks;
    SCRATCHPAD->started(b->scratchpad, v, s);
    v->stats->share_additional_blocks = additional; /* one block, not two */
}

static void
ended(void *state, const struct residency_view *v, unsigned s)
{
    struct both *b = state;
    REGISTERS->ended(b->registers, v, s);
    SCRATCHPAD->ended(b->scratchpad, v, s);
}

static void
released(void *state, const struct residency_view *v, unsigned s)
{
    SCRATCHPAD->released(((struct both *)state)->scratchpad, v, s);
}

static bool
warp_ended(void *state, struct residency_view *v, unsigned s)
{
    return REGISTERS->warp_ended(((struct both *)state)->registers, v, s);
}

static bool
tick(void *state, struct residency_view *v, const struct stat_sm *first)
{
    return REGISTERS->tick(((struct both *)state)->registers, v, first);
}

static bool
waits_for_tick(const void *state)
{
    return REGISTERS->waits_for_tick(((const struct both *)state)->registers);
}

static bool
may_issue(void *state, struct residency_view *v, unsigned s, const struct exec_static *st,
          const struct exec_access *a, bool *changed)
{
    struct both *b = state;
    if (!shares(b, s))
        return true;
    bool wants_registers = register_sharing_wants(b->registers, s, v->warp, st);
    bool wants_scratchpad = scratchpad_sharing_wants(b->scratchpad, s, a);
    unsigned other = pairs_partner(&b->pairs, s);
    /* Each policy refuses by its own lock, with its own accounts; here by the other's. */
    if ((wants_registers && scratchpad_sharing_holds(b->scratchpad, other)) ||
        (wants_scratchpad && register_sharing_holds_any(b->registers, other))) {
        v->stats->share_refusals++;
        return false;
    }
    if (wants_scratchpad && scratchpad_sharing_holds(b->scratchpad, other))
        return SCRATCHPAD->may_issue(b->scratchpad, v, s, st, a, changed);
    return REGISTERS->may_issue(b->registers, v, s, st, a, changed) &&
           SCRATCHPAD->may_issue(b->scratchpad, v, s, st, a, changed);
}

static bool
concerns(const struct exec_static *st, const struct residency_plan *p)
{
    struct residency_plan q = scratchpad_plan(p);
    return p->pairs && (REGISTERS->concerns(st, p) || SCRATCHPAD->concerns(st, &q));
}

static bool
watches(const void *state, unsigned s)
{
    return shares(state, s);
}

static bool
holds(const void *state, unsigned s, unsigned warp)
{
    const struct both *b = state;
    return REGISTERS->holds(b->registers, s, warp) ||
           scratchpad_sharing_holds(b->scratchpad, s);
}

static enum warp_class
cls(const void *state, unsigned s)
{
    const struct both *b = state;
    if (!shares(b, s))
        return WARP_UNSHARED;
    if (holds_any(b, s))
        return WARP_OWNER;
    if (holds_any(b, pairs_partner(&b->pairs, s)))
        return WARP_NON_OWNER;
    enum warp_class r = REGISTERS->cls(b->registers, s),
                    p = SCRATCHPAD->cls(b->scratchpad, s);
    return r < p ? r : p;
}

static void
explain(const void *state, unsigned s, struct strbuf *out)
{
    const struct both *b = state;
    REGISTERS->explain(b->registers, s, out);
    strbuf_addz(out, "; ");
    SCRATCHPAD->explain(b->scratchpad, s, out);
}

const struct residency_policy residency_register_scratchpad_sharing = {
    .name = "register-scratchpad-sharing",
    .meaning = "pairs of blocks share registers and scratchpad, whichever there is too "
               "little of",
    .shares = SHARES_REGISTERS | SHARES_SCRATCHPAD,
    .physical = true,
    .plan = plan,
    .state_size = state_size,
    .init = init,
    .started = started,
    .ended = ended,
    .released = released,
    .warp_ended = warp_ended,
    .tick = tick,
    .waits_for_tick = waits_for_tick,
    .holds = holds,
    .may_issue = may_issue,
    .concerns = concerns,
    .watches = watches,
    .cls = cls,
    .explain = explain,
};
