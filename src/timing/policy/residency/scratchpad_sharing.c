/* scratchpad_sharing.c: pairs of blocks share scratchpad (001 sections 2.1-2.3).
 *
 * Which slots share is told in pairs.h. Locations below floor(Rtb * t) bytes are private
 * to a block; the others exist once for the pair. The first access of a warp to one of
 * those takes the pair's lock for its block, first come first served, and the block holds
 * it to its end, or until all its live threads have executed relssp (000 section 6.2);
 * accesses of the partner are refused until then. There is no deadlock: the holder never
 * waits for the partner (001 section 2.2.3).
 *
 * A block is the owner once it holds the lock. When it ends its partner becomes the owner
 * - and gets the lock at once if one of its warps waits for it - and the block launched
 * in the free slot is a non-owner, as is every block of a pair at first (the Owner bit of
 * 001 section 2.4.1 is set only for owners). */
#include "timing/policy/residency/scratchpad_sharing.h"

#include "base/bitset.h"
#include "timing/policy/residency/pairs.h"
#include "timing/policy/residency/progress.h"

#include <assert.h>

enum { NONE = 0xff };

struct member {
    bool released;           /* all its threads have executed relssp or ended */
    bool had;                /* it held the lock */
    bool additional;         /* started beside its partner, not owner since */
    uint64_t started, taken; /* cycles */
};

struct pair {
    uint8_t holder;          /* slot that holds the lock, NONE: free */
    uint8_t owner;           /* slot of the owner, NONE: not decided */
    uint8_t waiter;          /* slot refused since the lock was taken, NONE */
    struct member member[2]; /* the baseline's slot, the additional one */
};

/* Who may still touch the shared part: the release bits of 000 figure 9. */
struct release {
    uint32_t
        holding; /* threads of the block that have neither ended nor executed relssp */
    bool any;    /* some thread has executed it */
};

struct sharing {
    struct pairs pairs;
    unsigned private_bytes, warps, blocks;
    bool counts_progress;
    struct progress *progress; /* of each warp: pairs x 2 x warps */
    struct release *release;   /* by slot */
    uint32_t *gone;            /* lanes that do not hold, by slot and warp */
    struct pair pair[];
};

static bool
plan(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p,
     struct diag_sink *diag)
{
    if (!pairs_plan(m, k, OCC_SHARE_SCRATCHPAD, "scratchpad-sharing", p, diag))
        return false;
    p->shares_scratchpad = pairs_own(p)->pairs != 0;
    return true;
}

static bool
watches(const void *state, unsigned s)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return i >= 0 && sh->pair[i].holder != s;
}

enum warp_class
scratchpad_sharing_cls(const void *state, unsigned s)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return pairs_class(&sh->pairs, s, i < 0 ? NONE : sh->pair[i].owner);
}

static const struct pairs_answers answers = {watches, scratchpad_sharing_cls};

static void
publish(const struct sharing *sh, struct sm_view *v, unsigned s)
{
    pairs_publish(&answers, sh, v, s);
}

/* Where the parts of the state lie: pairs, progress, releases, lanes. */
struct layout {
    size_t progress, release, gone, end;
};

static struct layout
layout(const struct pairs_plan *p)
{
    struct layout l;
    l.progress = (sizeof(struct sharing) + sizeof(struct pair) * p->pairs + 15) / 16 * 16;
    l.release = l.progress + sizeof(struct progress) * 2 * p->pairs * p->warps;
    l.gone = l.release + sizeof(struct release) * p->blocks;
    l.end = l.gone + sizeof(uint32_t) * p->blocks * p->warps;
    return l;
}

static size_t
state_size(const void *plan)
{
    return layout(plan).end;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct sharing *s = state;
    const struct pairs_plan *p = plan;
    struct layout l = layout(p);
    (void)m;
    s->pairs = pairs_of(p);
    s->private_bytes = p->private_units;
    s->warps = p->warps;
    s->blocks = p->blocks;
    s->counts_progress = p->progress;
    s->progress = (struct progress *)(void *)((char *)state + l.progress);
    s->release = (struct release *)(void *)((char *)state + l.release);
    s->gone = (uint32_t *)(void *)((char *)state + l.gone);
    for (unsigned i = 0; i < p->pairs; i++)
        s->pair[i] = (struct pair){.holder = NONE, .owner = NONE, .waiter = NONE};
    for (unsigned i = 0; i < p->blocks; i++)
        publish(s, v, i);
}

/* Of slot s, which is in a pair. */
static struct member *
member(struct sharing *sh, unsigned s)
{
    const int i = pairs_index(&sh->pairs, s);
    assert(i >= 0);
    return &sh->pair[i].member[pairs_side(&sh->pairs, s)];
}

/* Classes or locks are others. */
static void
changed(const struct sharing *sh, struct sm_view *v)
{
    pairs_changed(&answers, sh, v, sh->blocks);
}

/* -- progress of additional warps -- */

static struct progress *
progress(struct sharing *sh, unsigned s, unsigned warp)
{
    unsigned side = pairs_side(&sh->pairs, s);
    return &sh->progress[((unsigned)pairs_index(&sh->pairs, s) * 2 + side) * sh->warps +
                         warp];
}

static void
set_owner(struct sharing *sh, const struct sm_view *v, struct pair *p, unsigned s)
{
    p->owner = (uint8_t)s;
    if (!member(sh, s)->additional)
        return;
    member(sh, s)->additional = false;
    for (unsigned w = 0; sh->counts_progress && w < sh->warps; w++)
        progress_close(progress(sh, s, w), v);
}

static void
warp_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    if (sh->counts_progress && pairs_index(&sh->pairs, e->slot) >= 0 &&
        member(sh, e->slot)->additional)
        progress_close(progress(sh, e->slot, e->warp), v);
}

/* -- blocks come and go -- */

static void
block_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    unsigned s = e->slot;
    sh->release[s] = (struct release){.holding = v->cta[s]->nthreads};
    for (unsigned w = 0; w < sh->warps; w++)
        sh->gone[s * sh->warps + w] = 0;
    publish(sh, v, s);
    if (pairs_index(&sh->pairs, s) < 0)
        return;
    v->stats->share_additional_blocks += pairs_side(&sh->pairs, s);
    bool additional = v->cta[pairs_partner(&sh->pairs, s)] != NULL;
    *member(sh, s) = (struct member){.started = v->now, .additional = additional};
    for (unsigned w = 0; w < sh->warps; w++)
        *progress(sh, s, w) = (struct progress){.started = v->now};
}

static void
take(struct sharing *sh, const struct sm_view *v, struct pair *p, unsigned s)
{
    struct member *m = member(sh, s);
    p->holder = (uint8_t)s;
    m->had = true;
    m->taken = v->now;
    v->stats->share_locks++;
    v->stats->share_cycles_before += v->now - m->started;
}

/* Slot s gives the lock up, if it has it: a partner who waits is next, since it asked
 * before anyone who will. */
static void
give(struct sharing *sh, const struct sm_view *v, struct pair *p, unsigned s)
{
    if (p->waiter == s)
        p->waiter = NONE;
    if (p->holder == s) {
        v->stats->share_cycles_in += v->now - member(sh, s)->taken;
        member(sh, s)->taken = v->now; /* from here on: after */
        p->holder = NONE;
        if (p->waiter != NONE) {
            take(sh, v, p, p->waiter);
            p->waiter = NONE;
            v->stats->share_handovers++;
        }
    }
    if (p->owner != s)
        return;
    p->owner = NONE;
    if (v->cta[pairs_partner(&sh->pairs, s)])
        set_owner(sh, v, p, pairs_partner(&sh->pairs, s));
}

static void
block_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    unsigned s = e->slot;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0)
        return;
    const struct member *m = member(sh, s);
    give(sh, v, &sh->pair[i], s);
    if (!m->had)
        v->stats->share_cycles_before += v->now - m->started;
    else if (m->released)
        v->stats->share_cycles_after += v->now - m->taken;
    changed(sh, v);
}

static void
released(struct sharing *sh, struct sm_view *v, unsigned s)
{
    int i = pairs_index(&sh->pairs, s);
    if (i >= 0) {
        v->stats->share_releases += sh->pair[i].holder == s;
        member(sh, s)->released = true;
        give(sh, v, &sh->pair[i], s);
    }
    changed(sh, v);
}

/* These threads let go of the shared part; with the last of the block it is released, if
 * some has executed relssp (000 section 6.2): else the end of the block does it. */
static void
let_go(struct sharing *sh, struct sm_view *v, const struct sm_event *e, bool relssp)
{
    struct release *r = &sh->release[e->slot];
    uint32_t *gone = &sh->gone[e->slot * sh->warps + e->warp], now = e->lanes & ~*gone;
    *gone |= e->lanes;
    r->holding -= (uint32_t)__builtin_popcount(now);
    r->any |= relssp;
    if (now && !r->holding && r->any)
        released(sh, v, e->slot);
}

static void
operation(void *state, struct sm_view *v, const struct sm_event *e)
{
    if (e->st->op == PTX_OP_RELSSP)
        let_go(state, v, e, true);
}

static void
threads_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    let_go(state, v, e, false);
}

/* Does any lane touch a shared location? Offsets are the block's. */
static bool
touches_shared(const struct sharing *sh, const struct exec_access *a)
{
    FOR_BITS(lane, a->mask)
    {
        unsigned space = a->space ? a->space : a->lane_space[lane];
        if (space == PTX_SPACE_SHARED && a->addr[lane] + a->bytes > sh->private_bytes)
            return true;
    }
    return false;
}

bool
scratchpad_sharing_wants(const void *state, unsigned s, const struct exec_access *a)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return i >= 0 && a && sh->pair[i].holder != s && touches_shared(sh, a);
}

bool
scratchpad_sharing_holds(const void *state, unsigned s)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    return i >= 0 && sh->pair[i].holder == s;
}

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct sharing *sh = state;
    const struct exec_access *a = e->access;
    unsigned s = e->slot;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0 || !a || !touches_shared(sh, a))
        return true;
    struct pair *p = &sh->pair[i];
    if (p->holder == s)
        return true;
    if (member(sh, s)->released) {
        v->fault = "access to the shared part of the scratchpad after relssp gave it up: "
                   "was relssp placed for another threshold?";
        return false;
    }
    if (p->holder != NONE) {
        bool news = p->owner != p->holder;
        set_owner(sh, v, p, p->holder);
        p->waiter = (uint8_t)s;
        if (sh->counts_progress)
            progress_waits(progress(sh, s, e->warp), v);
        if (news)
            changed(sh, v);
        v->stats->share_refusals++;
        return false;
    }
    set_owner(sh, v, p, s);
    take(sh, v, p, s);
    changed(sh, v);
    return true;
}

static void
issued(void *state, struct sm_view *v, const struct sm_event *e)
{
    v->stats->share_unlocked_instructions += watches(state, e->slot);
}

static bool
concerns(const struct exec_static *st, const void *plan)
{
    (void)plan;
    return (st->space == PTX_SPACE_SHARED || st->space == PTX_SPACE_NONE) &&
           (st->is_load || st->is_store || st->is_atomic);
}

static void
explain(const void *state, unsigned s, struct strbuf *out)
{
    const struct sharing *sh = state;
    int i = pairs_index(&sh->pairs, s);
    if (i < 0) {
        strbuf_printf(out, "slot %u shares nothing", s);
        return;
    }
    const struct pair *p = &sh->pair[i];
    strbuf_printf(out, "slot %u shares scratchpad from byte %u on with slot %u; ", s,
                  sh->private_bytes, pairs_partner(&sh->pairs, s));
    if (p->holder == NONE)
        strbuf_addz(out, "nobody holds the lock");
    else
        strbuf_printf(out, "slot %u holds the lock%s", p->holder,
                      p->waiter == s ? ", this block waits for it" : "");
}

const struct residency_policy residency_scratchpad_sharing = {
    .name = "scratchpad-sharing",
    .meaning = "pairs of blocks share (1-t) of their scratchpad under a lock",
    .shares = SHARES_SCRATCHPAD,
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
            .peeks = true,
            .may_issue = may_issue,
            .concerns = concerns,
            .explain = explain,
        },
};
