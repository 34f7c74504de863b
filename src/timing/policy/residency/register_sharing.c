/* register_sharing.c: pairs of blocks share registers, warp by warp (001 sections 2.1 to
 * 2.3).
 *
 * Which slots share is told in pairs.h. Warp k of one block and warp k of its partner are
 * a pair of warps: registers below floor(Rw * t) are private, the others exist once for
 * the two. The first access to one of those takes the lock of the pair of warps, and the
 * warp keeps it until it has ended and all it began is done (section 2.2.1). A refused
 * access retries.
 *
 * Barriers: W2 of one block and W3 of the other, each with its lock, may wait at barriers
 * for warps that want those locks (Figure 2.8). So a warp may take its lock only while no
 * warp of the partner block holds one (section 2.2.3): residency.barrier_rule = block;
 * none takes this rule away. With it there is no deadlock: who holds a lock never waits
 * for the partner, for the partner's warps hold none.
 *
 * Sections 2.3.3 and 2.5.1.6 speak of a warp that goes on as soon as the warp it is
 * paired with has ended, while others of that block still run: barrier_rule = warp. The
 * first block to take a lock is the owner until it ends; its warps take theirs freely, a
 * warp of the other once its partner has ended. No deadlock: an owner's warp finds its
 * lock free, for only its end opens it to the partner's; so owners never wait. (Where
 * scratchpad is shared too they might, for its lock: there it is block.)
 *
 * Owner is the block that holds locks, or that the partner waits for; it stays so until
 * the partner takes a lock or it ends, then the partner is the owner (section 2.3).
 *
 * Dynamic warp execution (section 2.3.3): memory instructions of non-owner warps go with
 * a probability, in SM 0 never. Each period an SM compares its stall cycles with SM 0's:
 * more, and the probability falls by a step; fewer, and it rises. Non-owner is here a
 * block whose partner is the owner, and while nobody is, the one that started beside the
 * other. What was held back is drawn again in the next period. Draws are a hash of block,
 * warp and how many it has drawn, so they do not depend on when the simulator looks. */
#include "timing/policy/residency/register_sharing.h"

#include "base/bitset.h"
#include "base/splitmix.h"
#include "timing/policy/residency/pairs.h"
#include "timing/policy/residency/progress.h"

#include <string.h>

enum { NONE = 0xff, MILLE = 1000 };

/* One side of a pair of warps. */
struct side {
    struct progress progress; /* waits: for the lock, or held back */
    uint64_t held_back;       /* period (from 1) in which a draw held it back, 0: none */
    uint32_t draws;
    bool refused; /* by the lock, since it started */
    bool had, ended;
};

struct warp_pair {
    uint8_t holder; /* side that holds the lock, NONE */
    struct side side[2];
};

struct pair {
    uint8_t owner;       /* slot, NONE: not decided */
    uint16_t holding[2]; /* warps of each side that hold their lock */
    bool additional[2];  /* started beside its partner, not owner since */
};

struct sharing {
    struct pairs pairs;
    unsigned private_registers, warps, blocks;
    enum machine_barrier_rule rule;
    bool dynamic;
    int probability, step;       /* in thousandths */
    uint64_t period;             /* number of the present one, from 1 */
    uint64_t own, first;         /* stall cycles at its start: of this SM, of SM 0 */
    unsigned held_back;          /* warps that wait for the next draw */
    struct warp_pair *warp_pair; /* pairs x warps */
    struct pair pair[];
};

static bool
plan(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p,
     struct diag_sink *diag)
{
    if (!pairs_plan(m, k, OCC_SHARE_REGISTERS, "register-sharing", p, diag))
        return false;
    pairs_plan_dynamic(m, p);
    return true;
}

static size_t
pairs_end(unsigned pairs)
{
    size_t n = sizeof(struct sharing) + sizeof(struct pair) * pairs;
    return (n + 15) / 16 * 16;
}

static bool
watches(const void *state, unsigned s)
{
    const struct sharing *sh = state;
    return pairs_index(&sh->pairs, s) >= 0;
}

enum warp_class
register_sharing_cls(const void *state, unsigned s)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return pairs_class(&sh->pairs, s, i < 0 ? NONE : sh->pair[i].owner);
}

static const struct pairs_answers answers = {watches, register_sharing_cls};

static void
publish(const struct sharing *sh, struct sm_view *v, unsigned s)
{
    pairs_publish(&answers, sh, v, s);
}

/* Classes or locks are others. */
static void
changed(const struct sharing *sh, struct sm_view *v)
{
    pairs_changed(&answers, sh, v, sh->blocks);
}

static size_t
state_size(const void *plan)
{
    const struct pairs_plan *p = plan;
    return pairs_end(p->pairs) + sizeof(struct warp_pair) * p->pairs * p->warps;
}

/* Locks by warp are for registers; with scratchpad the block's rule holds. */
static enum machine_barrier_rule
rule_of(const struct machine *m, const struct pairs_plan *p)
{
    enum machine_barrier_rule rule = m->residency.barrier_rule;
    return rule == BARRIER_RULE_WARP && p->shares_scratchpad ? BARRIER_RULE_BLOCK : rule;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct sharing *s = state;
    const struct pairs_plan *p = plan;
    s->blocks = p->blocks;
    s->pairs = pairs_of(p);
    s->private_registers = p->private_units;
    s->warps = p->warps;
    s->rule = rule_of(m, p);
    s->dynamic = p->dynamic;
    s->probability = (int)(m->residency.dynamic_start * MILLE + 0.5);
    s->step = (int)(m->residency.dynamic_step * MILLE + 0.5);
    s->period = 1;
    s->warp_pair = (struct warp_pair *)((char *)state + pairs_end(p->pairs));
    for (unsigned i = 0; i < p->pairs; i++)
        s->pair[i].owner = NONE;
    for (unsigned i = 0; i < p->pairs * p->warps; i++)
        s->warp_pair[i].holder = NONE;
    for (unsigned i = 0; i < p->blocks; i++)
        publish(s, v, i);
}

static struct warp_pair *
warp_pair(const struct sharing *sh, int pair, unsigned warp)
{
    return &sh->warp_pair[(unsigned)pair * sh->warps + warp];
}

static void
close_block(struct sharing *sh, const struct sm_view *v, int i, unsigned side)
{
    if (!sh->pair[i].additional[side])
        return;
    sh->pair[i].additional[side] = false;
    for (unsigned w = 0; w < sh->warps; w++)
        progress_close(&warp_pair(sh, i, w)->side[side].progress, v);
}

static void
set_owner(struct sharing *sh, const struct sm_view *v, int i, unsigned slot)
{
    sh->pair[i].owner = (uint8_t)slot;
    close_block(sh, v, i, pairs_side(&sh->pairs, slot));
}

/* -- blocks and warps come and go -- */

static void
block_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    unsigned s = e->slot;
    publish(sh, v, s);
    int i = pairs_index(&sh->pairs, s);
    if (i < 0)
        return;
    unsigned side = pairs_side(&sh->pairs, s);
    v->stats->share_additional_blocks += side;
    sh->pair[i].additional[side] = v->cta[pairs_partner(&sh->pairs, s)] != NULL;
    for (unsigned w = 0; w < sh->warps; w++)
        warp_pair(sh, i, w)->side[side] = (struct side){.progress = {.started = v->now}};
}

static void
warp_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    unsigned s = e->slot;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0)
        return;
    unsigned side = pairs_side(&sh->pairs, s);
    struct warp_pair *wp = warp_pair(sh, i, e->warp);
    struct side *x = &wp->side[side];
    if (!x->had)
        v->stats->share_warp_cycles_before += v->now - x->progress.started;
    x->ended = true;
    if (sh->pair[i].additional[side])
        progress_close(&x->progress, v);
    if (wp->holder == side) {
        wp->holder = NONE;
        sh->pair[i].holding[side]--;
        changed(sh, v);
    } else if (sh->rule == BARRIER_RULE_WARP) { /* the partner's may take it now */
        changed(sh, v);
    }
}

static void
block_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    unsigned s = e->slot;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0)
        return;
    sh->pair[i].additional[pairs_side(&sh->pairs, s)] = false;
    unsigned other = pairs_partner(&sh->pairs, s);
    if (v->cta[other])
        set_owner(sh, v, i, other);
    else
        sh->pair[i].owner = NONE;
    changed(sh, v);
}

/* -- dynamic warp execution -- */

static bool
is_owner_or_first(const struct sharing *sh, const struct sm_view *v, int i, unsigned s)
{
    unsigned other = pairs_partner(&sh->pairs, s);
    if (sh->pair[i].owner != NONE)
        return sh->pair[i].owner == s;
    return !sh->pair[i].additional[pairs_side(&sh->pairs, s)] || !v->cta[other];
}

/* 001 section 2.3.3 speaks of long-latency memory instructions: those that leave the SM
 * when they miss. Parameters, constants and scratchpad go freely. */
static bool
is_long(const struct exec_static *st)
{
    bool memory = st->is_load || st->is_store || st->is_atomic;
    switch (st->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_TEX:
    case PTX_SPACE_NONE: /* a generic address */
        return st->unit == PTX_UNIT_MEM && memory;
    default:
        return false;
    }
}

/* May a memory instruction of this non-owner warp go? */
static bool
let_go(struct sharing *sh, struct sm_view *v, const struct sm_event *e, struct side *x)
{
    if (x->held_back == sh->period)
        return false;
    uint64_t key =
        (uint64_t)v->cta[e->slot]->id << 40 ^ (uint64_t)e->warp << 32 ^ x->draws++;
    int p = v->sm ? sh->probability : 0;
    if ((int)(splitmix(key + 0x9e3779b97f4a7c15u) % MILLE) < p) {
        progress_goes_on(&x->progress, v);
        return true;
    }
    progress_waits(&x->progress, v);
    x->held_back = sh->period;
    sh->held_back++;
    v->waits = sh->probability + sh->step > 0;
    v->stats->share_dynamic_refusals++;
    return false;
}

static void
period(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    const struct stat_sm *first = e->first;
    uint64_t own = v->stats->stall_cycles - sh->own;
    uint64_t theirs = first->stall_cycles - sh->first;
    sh->own = v->stats->stall_cycles;
    sh->first = first->stall_cycles;
    sh->period++;
    if (v->sm) {
        v->stats->share_dynamic_ticks++;
        v->stats->share_dynamic_permille += (unsigned)sh->probability;
        if (own > theirs)
            sh->probability -= sh->step;
        else if (own < theirs)
            sh->probability += sh->step;
        if (sh->probability < 0)
            sh->probability = 0;
        if (sh->probability > MILLE)
            sh->probability = MILLE;
    }
    if (sh->held_back && v->sm)
        changed(sh, v);
    sh->held_back = 0;
    v->waits = false;
}

/* -- the lock -- */

static bool
refuse(struct sharing *sh, struct sm_view *v, int i, unsigned s, struct side *x)
{
    unsigned other = pairs_partner(&sh->pairs, s);
    if (sh->pair[i].owner != other && !sh->pair[i].holding[pairs_side(&sh->pairs, s)]) {
        set_owner(sh, v, i, other);
        changed(sh, v);
    }
    x->refused = true;
    progress_waits(&x->progress, v);
    v->stats->share_refusals++;
    return false;
}

static void
take(struct sharing *sh, struct sm_view *v, int i, unsigned s, struct warp_pair *wp)
{
    unsigned side = pairs_side(&sh->pairs, s);
    struct side *x = &wp->side[side];
    progress_goes_on(&x->progress, v);
    wp->holder = (uint8_t)side;
    bitset_add(v->got, s * sh->warps + (unsigned)(wp - warp_pair(sh, i, 0)));
    sh->pair[i].holding[side]++;
    x->had = true;
    v->stats->share_locks++;
    v->stats->share_handovers += x->refused;
    v->stats->share_warp_cycles_before += v->now - x->progress.started;
    if (sh->rule != BARRIER_RULE_WARP || sh->pair[i].owner == NONE)
        set_owner(sh, v, i, s);
}

bool
register_sharing_blocked(const void *state, unsigned s, unsigned warp)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0)
        return false;
    unsigned side = pairs_side(&sh->pairs, s);
    const struct warp_pair *wp = warp_pair(sh, i, warp);
    bool ruled_out =
        sh->rule == BARRIER_RULE_BLOCK ? sh->pair[i].holding[!side]
        : sh->rule == BARRIER_RULE_WARP
            ? sh->pair[i].owner == pairs_partner(&sh->pairs, s) && !wp->side[!side].ended
            : false;
    return wp->holder == !side || ruled_out;
}

bool
register_sharing_holds_any(const void *state, unsigned s)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return i >= 0 && sh->pair[i].holding[pairs_side(&sh->pairs, s)];
}

bool
register_sharing_holds(const void *state, unsigned s, unsigned warp)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return i >= 0 && warp_pair(sh, i, warp)->holder == pairs_side(&sh->pairs, s);
}

bool
register_sharing_wants(const void *state, unsigned s, unsigned warp,
                       const struct exec_static *st)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return i >= 0 && exec_top_register(st) > sh->private_registers &&
           warp_pair(sh, i, warp)->holder != pairs_side(&sh->pairs, s);
}

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    const struct exec_static *st = e->st;
    unsigned s = e->slot;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0)
        return true;
    struct warp_pair *wp = warp_pair(sh, i, e->warp);
    struct side *x = &wp->side[pairs_side(&sh->pairs, s)];
    bool takes = register_sharing_wants(sh, s, e->warp, st);
    if (takes && register_sharing_blocked(sh, s, e->warp))
        return refuse(sh, v, i, s, x);
    if (sh->dynamic && is_long(st) && !is_owner_or_first(sh, v, i, s) &&
        !let_go(sh, v, e, x))
        return false;
    if (takes) {
        take(sh, v, i, s, wp);
        changed(sh, v);
    }
    return true;
}

static bool
concerns(const struct exec_static *st, const void *plan)
{
    const struct pairs_plan *p = plan;
    return p->pairs &&
           (exec_top_register(st) > p->private_units || (p->dynamic && is_long(st)));
}

static void
issued(void *state, struct sm_view *v, const struct sm_event *e)
{
    v->stats->share_unlocked_instructions +=
        watches(state, e->slot) && !register_sharing_holds(state, e->slot, e->warp);
}

static void
explain(const void *state, unsigned s, struct strbuf *out)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0) {
        strbuf_printf(out, "slot %u shares no registers", s);
        return;
    }
    strbuf_printf(out, "slot %u shares registers from %u on with slot %u; locks:", s,
                  sh->private_registers, pairs_partner(&sh->pairs, s));
    unsigned n = 0;
    for (unsigned w = 0; w < sh->warps; w++)
        if (warp_pair(sh, i, w)->holder != NONE)
            strbuf_printf(out, "%s warp %u of slot %u", n++ ? "," : "", w,
                          warp_pair(sh, i, w)->holder == pairs_side(&sh->pairs, s)
                              ? s
                              : pairs_partner(&sh->pairs, s));
    if (!n)
        strbuf_addz(out, " none");
    if (sh->held_back)
        strbuf_printf(out, "; %u memory instructions held back", sh->held_back);
}

const struct residency_policy residency_register_sharing = {
    .name = "register-sharing",
    .meaning =
        "pairs of blocks share (1-t) of their registers, a lock for each two warps",
    .shares = SHARES_REGISTERS,
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
            .period = period,
            .may_issue = may_issue,
            .concerns = concerns,
            .explain = explain,
        },
};
