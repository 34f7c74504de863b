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

#define REGISTERS (&residency_register_sharing.mechanism)
#define SCRATCHPAD (&residency_scratchpad_sharing.mechanism)

struct both {
    struct pairs pairs;
    unsigned blocks;
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
    *p = (struct residency_plan){.blocks = most,
                                 .baseline = none.resident_blocks,
                                 .shares_scratchpad = share_scratchpad};
    *pairs_own(p) = (struct pairs_plan){
        .blocks = most,
        .pairs = most - none.resident_blocks,
        .private_units = share_registers ? occ_private(k->registers, t) : UINT32_MAX,
        .private_bytes = share_scratchpad ? occ_private(k->scratchpad, t) : UINT32_MAX,
        .warps = (k->threads + LANES - 1) / LANES,
        .shares_scratchpad = share_scratchpad};
    if (share_registers) {
        p->late = 2 * pairs_own(p)->pairs;
        p->start = pairs_own(p)->private_units;
    }
    pairs_plan_dynamic(m, p);
    return true;
}

/* Progress of warps is counted by register sharing alone. */
static struct pairs_plan
scratchpad_plan(const struct pairs_plan *p)
{
    struct pairs_plan q = *p;
    q.private_units = p->private_bytes;
    q.progress = false;
    return q;
}

static size_t
registers_size(const struct pairs_plan *p)
{
    return (REGISTERS->state_size(p) + 15) / 16 * 16;
}

static size_t
state_size(const void *plan)
{
    const struct pairs_plan *p = plan;
    struct pairs_plan q = scratchpad_plan(p);
    return sizeof(struct both) + registers_size(p) + SCRATCHPAD->state_size(&q);
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

static enum warp_class
cls(const struct both *b, unsigned s)
{
    if (!shares(b, s))
        return WARP_UNSHARED;
    if (holds_any(b, s))
        return WARP_OWNER;
    if (holds_any(b, pairs_partner(&b->pairs, s)))
        return WARP_NON_OWNER;
    enum warp_class r = register_sharing_cls(b->registers, s),
                    p = scratchpad_sharing_cls(b->scratchpad, s);
    return r < p ? r : p;
}

static void
publish(const struct both *b, struct sm_view *v, unsigned s)
{
    v->asks[s] = shares(b, s);
    v->cls[s] = (uint8_t)cls(b, s);
}

/* What a part has published of itself is not what holds for both. */
static void
publish_all(const struct both *b, struct sm_view *v)
{
    for (unsigned s = 0; s < b->blocks; s++)
        publish(b, v, s);
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct both *b = state;
    const struct pairs_plan *p = plan;
    struct pairs_plan q = scratchpad_plan(p);
    b->pairs = pairs_of(p);
    b->blocks = p->blocks;
    b->registers = b->state;
    b->scratchpad = b->state + registers_size(p);
    REGISTERS->init(b->registers, v, m, p);
    SCRATCHPAD->init(b->scratchpad, v, m, &q);
    publish_all(b, v);
}

static void
block_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct both *b = state;
    REGISTERS->block_started(b->registers, v, e);
    uint64_t additional = v->stats->share_additional_blocks;
    SCRATCHPAD->block_started(b->scratchpad, v, e);
    v->stats->share_additional_blocks = additional; /* one block, not two */
    publish(b, v, e->slot);
}

static void
block_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct both *b = state;
    REGISTERS->block_ended(b->registers, v, e);
    SCRATCHPAD->block_ended(b->scratchpad, v, e);
    publish_all(b, v);
}

static void
operation(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct both *b = state;
    SCRATCHPAD->operation(b->scratchpad, v, e);
    publish_all(b, v);
}

static void
threads_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct both *b = state;
    SCRATCHPAD->threads_ended(b->scratchpad, v, e);
    publish_all(b, v);
}

static void
warp_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct both *b = state;
    REGISTERS->warp_ended(b->registers, v, e);
    publish_all(b, v);
}

static void
period(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct both *b = state;
    REGISTERS->period(b->registers, v, e);
    publish_all(b, v);
}

static void
issued(void *state, struct sm_view *v, const struct sm_event *e)
{
    const struct both *b = state;
    v->stats->share_unlocked_instructions +=
        shares(b, e->slot) && !register_sharing_holds(b->registers, e->slot, e->warp) &&
        !scratchpad_sharing_holds(b->scratchpad, e->slot);
}

static bool
ask(struct both *b, struct sm_view *v, const struct sm_event *e)
{
    unsigned s = e->slot;
    if (!shares(b, s))
        return true;
    bool wants_registers = register_sharing_wants(b->registers, s, e->warp, e->st);
    bool wants_scratchpad = scratchpad_sharing_wants(b->scratchpad, s, e->access);
    unsigned other = pairs_partner(&b->pairs, s);
    /* Each policy refuses by its own lock, with its own accounts; here by the other's. */
    if ((wants_registers && scratchpad_sharing_holds(b->scratchpad, other)) ||
        (wants_scratchpad && register_sharing_holds_any(b->registers, other))) {
        v->stats->share_refusals++;
        return false;
    }
    if (wants_scratchpad && scratchpad_sharing_holds(b->scratchpad, other))
        return SCRATCHPAD->may_issue(b->scratchpad, v, e);
    return REGISTERS->may_issue(b->registers, v, e) &&
           SCRATCHPAD->may_issue(b->scratchpad, v, e);
}

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    bool ok = ask(state, v, e);
    if (v->changed)
        publish_all(state, v);
    return ok;
}

static bool
concerns(const struct exec_static *st, const void *plan)
{
    const struct pairs_plan *p = plan;
    struct pairs_plan q = scratchpad_plan(p);
    return p->pairs && (REGISTERS->concerns(st, p) || SCRATCHPAD->concerns(st, &q));
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
    .pairs = pairs_count,
    .mechanism =
        {
            .wait = WAIT_lock,
            .state_size = state_size,
            .init = init,
            .block_started = block_started,
            .block_ended = block_ended,
            .warp_ended = warp_ended,
            .issued = issued,
            .operation = operation,
            .threads_ended = threads_ended,
            .period = period,
            .peeks = true,
            .may_issue = may_issue,
            .concerns = concerns,
            .explain = explain,
        },
};
