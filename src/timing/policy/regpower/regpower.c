/* regpower.c: power states of the registers of an SM (001 section 4.2.4).
 *
 * A register of the file holds 32 lanes of one register of a warp. It is OFF while no warp
 * has it, ON when a warp gets it, and changes state
 *   - after the collectors have read it, if the instruction does not write it too;
 *   - after its value has been written back;
 *   - when an instruction that is next to issue needs it: then it is woken, which takes
 *     regpower.wake_sleep or regpower.wake_off cycles, in which it leaks as if ON.
 * An instruction issues when all its registers are ON. None that it needs can be put to
 * sleep meanwhile: the scoreboard tracks reads too, so nobody has yet to read or write them.
 * Predicates lie outside of the register file and are always there. A warp has the registers
 * of its threads, or all that it is allotted (regpower.allotted: rounded up as for residency;
 * the last may never be used). It has them until it ends, or until its block does
 * (regpower.until), in the states that its last instructions gave them.
 *
 * Where a residency policy gives warps some of their registers later (residency_plan.late),
 * those are OFF for the warp until it gets them, ON from then on, and OFF when it has ended.
 * A register that two warps share is in the state that its holder gave it: for the other
 * warp it is OFF, and that warp neither wakes it nor puts it to sleep.
 *
 * The look-up table has the instructions of a warp from decode to write-back, up to
 * regpower.table_entries of them; one for which there is no room is left out. A register
 * about to lose power that an entry with another PC uses stays ON.
 *
 * Cycles are counted when states change: a state set in cycle t holds from t + 1 on. */
#include "timing/policy/regpower/sets.h"

#include "base/bitset.h"

#include <assert.h>
#include <string.h>

struct plan {
    const struct regpower_policy *policy;
    uint32_t blocks, warps, regs; /* resident blocks, of so many warps and registers */
    uint32_t late, start;         /* as residency_plan's */
    uint32_t entries;             /* of the look-up table, for a warp */
};
static_assert(sizeof(struct plan) <= sizeof(((struct mechanism_use *)0)->own),
              "room for it in the use");

struct entry {                        /* of the look-up table */
    const struct regpower_sets *sets; /* of the instruction: they stand for its PC */
    bool issued;
};

struct regs { /* 64 registers of a warp, a bit each; neither ON nor SLEEP: OFF */
    uint64_t has, on, sleep;
};

struct warp {
    uint64_t until;      /* its last wake-up is over from this cycle on */
    struct regs *reg;    /* `words` of the file */
    struct entry *table; /* `entries` of it */
    uint16_t has;        /* registers: the first ones */
    uint8_t nentries;
};

/* So many of something now, and the cycles of all of them: one that begins in cycle t counts
 * from t + 1 on, one that ends in cycle t up to t. */
struct level {
    uint64_t now;
    uint64_t cycles; /* counted so far, less `now` times the cycle */
};

struct file {
    const struct regpower_policy *policy;
    const struct regpower_sets *sets;
    uint32_t warps, regs, words, nwarps; /* warps of a block; of a warp; of all slots */
    uint32_t size;                       /* registers */
    uint32_t whole;                      /* warps that start with all registers; */
    uint32_t start;                      /* with how many others start */
    enum ptx_power first;                /* a register of a warp that starts */
    bool late;                           /* destinations wake for the write */
    bool to_block_end;                   /* a warp that has ended keeps its registers */
    uint32_t wake_sleep, wake_off, entries;
    struct level on, sleep, held, used; /* registers; entries in use */
    uint64_t since;                     /* counters have been told up to this cycle */
    uint64_t waits[2];                  /* warps that wait for a wake-up, a bit each */
    struct warp *warp;
};

static bool
wakes_late(const struct machine *m, const struct plan *p)
{
    return m->regpower.destination == REGPOWER_DESTINATION_WRITE &&
           p->policy->after(PTX_POWER_SLEEP) == PTX_POWER_SLEEP;
}

static const void *
prepare(struct arena *a, const struct exec_static *st, uint32_t n,
        const struct machine *m, const void *plan)
{
    const struct plan *p = plan;
    return regpower_sets_new(a, st, n, p->policy, p->regs, wakes_late(m, p));
}

static size_t
state_size(const void *plan)
{
    const struct plan *p = plan;
    size_t warps = (size_t)p->blocks * p->warps;
    return sizeof(struct file) +
           (sizeof(struct warp) + sizeof(struct regs) * regpower_words(p->regs) +
            sizeof(struct entry) * p->entries) *
               warps;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct file *f = state;
    const struct plan *p = plan;
    *f = (struct file){.policy = p->policy,
                       .sets = v->code,
                       .warps = p->warps,
                       .regs = p->regs,
                       .words = regpower_words(p->regs),
                       .nwarps = p->blocks * p->warps,
                       .first = m->regpower.first == REGPOWER_FIRST_OFF ? PTX_POWER_OFF
                                                                        : PTX_POWER_ON,
                       .late = wakes_late(m, p),
                       .to_block_end = m->regpower.until == REGPOWER_UNTIL_BLOCK,
                       .whole = (p->blocks - p->late) * p->warps,
                       .start = p->start < p->regs ? p->start : p->regs,
                       .size = (uint32_t)regpower_file(m),
                       .wake_sleep = m->regpower.wake_sleep,
                       .wake_off = m->regpower.wake_off,
                       .entries = p->entries,
                       .since = v->now};
    f->warp = (struct warp *)(f + 1);
    struct regs *reg = (struct regs *)(f->warp + f->nwarps);
    struct entry *table = (struct entry *)(reg + (size_t)f->nwarps * f->words);
    for (uint32_t w = 0; w < f->nwarps; w++) {
        f->warp[w].reg = reg + (size_t)w * f->words;
        f->warp[w].table = table + (size_t)w * f->entries;
    }
}

static uint32_t
warp_of(const struct file *f, const struct sm_event *e)
{
    return e->slot * f->warps + e->warp;
}

static const struct regpower_sets *
sets_of(const struct file *f, uint32_t pc)
{
    return f->sets + (size_t)pc * f->words;
}

/* -- states and cycles in them -- */

static void
rise(struct level *l, uint64_t n, uint64_t now)
{
    l->now += n;
    l->cycles -= n * now;
}

static void
fall(struct level *l, uint64_t n, uint64_t now)
{
    l->now -= n;
    l->cycles += n * now;
}

/* The cycles up to this one that have not been told yet. */
static uint64_t
tell(struct level *l, uint64_t now)
{
    uint64_t n = l->cycles + l->now * now;
    l->cycles -= n;
    return n;
}

static void
counted(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint64_t on = tell(&f->on, v->now), sleep = tell(&f->sleep, v->now);
    (void)e;
    v->stats->regpower_on_cycles += on;
    v->stats->regpower_sleep_cycles += sleep;
    v->stats->regpower_off_cycles += (v->now - f->since) * f->size - on - sleep;
    v->stats->regpower_held_cycles += tell(&f->held, v->now);
    v->stats->regpower_table_cycles += tell(&f->used, v->now);
    f->since = v->now;
}

/* These registers, which are ON, change to SLEEP if they are in `sleep`, else to OFF. */
static inline void
lose_power(struct file *f, struct regs *r, uint64_t set, uint64_t sleep, uint64_t now)
{
    fall(&f->on, bit_count(set), now);
    rise(&f->sleep, bit_count(set & sleep), now);
    r->on &= ~set;
    r->sleep |= set & sleep;
}

/* Those of these registers that are not ON get power. Returns the cycles that it takes. */
static uint32_t __attribute__((noinline))
wake(struct file *f, struct sm_view *v, struct regs *r, uint64_t set)
{
    uint64_t sleep = set & r->sleep, off = set & ~r->sleep & ~r->on;
    uint64_t nsleep = (uint64_t)bit_count(sleep), noff = (uint64_t)bit_count(off);
    v->stats->regpower_wakes_sleep += nsleep;
    v->stats->regpower_wakes_off += noff;
    fall(&f->sleep, nsleep, v->now);
    rise(&f->on, nsleep + noff, v->now);
    r->sleep &= ~sleep;
    r->on |= sleep | off;
    uint32_t n = off ? f->wake_off : 0;
    return sleep && f->wake_sleep > n ? f->wake_sleep : n;
}

/* Of registers 64 k to 64 k + 63: those below n. */
static uint64_t
below(uint32_t n, uint32_t k)
{
    return n <= 64 * k ? 0 : n >= 64 * k + 64 ? ~0ull : ~0ull >> (64 * k + 64 - n);
}

/* Warp w has its first n registers: those that it gets are `first`, those that it loses OFF. */
static void
give(struct file *f, struct sm_view *v, uint32_t w, uint32_t n, enum ptx_power first)
{
    for (uint32_t k = 0; k < f->words; k++) {
        struct regs *r = &f->warp[w].reg[k];
        uint64_t has = below(n, k), gets = has & ~r->has;
        lose_power(f, r, r->on & ~has, 0, v->now);
        fall(&f->sleep, bit_count(r->sleep & ~has), v->now);
        r->sleep &= has;
        if (first != PTX_POWER_ON)
            gets = 0;
        rise(&f->on, bit_count(gets), v->now);
        r->on |= gets;
        r->has = has;
    }
    rise(&f->held, (uint64_t)n - f->warp[w].has, v->now); /* or fall: 64 bits wrap */
    f->warp[w].has = (uint16_t)n;
}

/* -- the look-up table -- */

static inline void
drop(struct file *f, struct sm_view *v, uint32_t w, unsigned i)
{
    struct entry *t = f->warp[w].table;
    fall(&f->used, 1, v->now);
    t[i] = t[--f->warp[w].nentries]; /* their order says nothing */
}

static void
decoded(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    if (!f->entries)
        return;
    if (f->warp[w].nentries == f->entries) {
        v->stats->regpower_table_full++;
        return;
    }
    rise(&f->used, 1, v->now);
    f->warp[w].table[f->warp[w].nentries++] = (struct entry){sets_of(f, e->pc), false};
}

/* What was in the buffer will not issue. */
static void
flushed(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    for (unsigned i = f->warp[w].nentries; i--;)
        if (!f->warp[w].table[i].issued)
            drop(f, v, w, i);
}

static void
issued(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    struct entry *t = f->warp[w].table;
    const struct regpower_sets *s = sets_of(f, e->pc);
    for (uint32_t k = 0; f->late && k < f->words; k++) {
        struct regs *r = &f->warp[w].reg[k];
        uint64_t results = s[k].results & r->on;
        lose_power(f, r, results, results, v->now);
    }
    for (unsigned i = 0; i < f->warp[w].nentries; i++)
        if (t[i].sets == s && !t[i].issued) {
            t[i].issued = true;
            return;
        }
}

static inline void
leaves(struct file *f, struct sm_view *v, uint32_t w, const struct regpower_sets *s)
{
    const struct entry *t = f->warp[w].table;
    for (unsigned i = 0; i < f->warp[w].nentries; i++)
        if (t[i].sets == s && t[i].issued) {
            drop(f, v, w, i);
            return;
        }
}

/* Registers of word k that entries with another PC than the instruction of s use. */
static inline uint64_t
wanted(const struct file *f, uint32_t w, const struct regpower_sets *s, uint32_t k)
{
    const struct entry *t = f->warp[w].table;
    uint64_t set = 0;
    for (unsigned i = 0; i < f->warp[w].nentries; i++)
        set |= t[i].sets != s ? t[i].sets[k].uses : 0;
    return set;
}

/* -- after an access -- */

/* Registers that several operands of the instruction name are counted for each: those that
 * `keep` power, and those of `lost` that have been woken for the write and lose it again. */
static void __attribute__((noinline, cold))
count_again(struct sm_view *v, const struct sm_event *e, const struct regpower_sets *s,
            unsigned when, uint64_t keep, uint64_t lost, uint32_t k)
{
    v->stats->regpower_corrections += regpower_named_again(e->st, keep, 64 * k);
    v->stats->regpower_wakes_sleep +=
        regpower_named_again(e->st, lost & s->sleep[when], 64 * k);
    v->stats->regpower_wakes_off +=
        regpower_named_again(e->st, lost & s->off[when], 64 * k);
}

/* The registers of the instruction of `all`; when: SETS_READ, SETS_WRITTEN. */
static inline __attribute__((always_inline)) void
accessed(struct file *f, struct sm_view *v, const struct sm_event *e, uint32_t w,
         const struct regpower_sets *all, unsigned when)
{
    for (uint32_t k = 0; k < f->words; k++) {
        struct regs *r = &f->warp[w].reg[k];
        const struct regpower_sets *s = &all[k];
        uint64_t late = 0;
        if (when == SETS_WRITTEN && f->late) {
            late = s->results & r->has;
            wake(f, v, r, late); /* in time: it is known some cycles before */
        }
        uint64_t to = (s->sleep[when] | s->off[when]) & r->on;
        if (!to)
            continue;
        uint64_t keep = to & wanted(f, w, all, k);
        v->stats->regpower_corrections += bit_count(keep);
        lose_power(f, r, to & ~keep, s->sleep[when], v->now);
        if (s->twice & (keep | late))
            count_again(v, e, s, when, keep, late & to & ~keep, k);
    }
}

static void
operands_read(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    const struct regpower_sets *s = sets_of(f, e->pc);
    accessed(f, v, e, w, s, SETS_READ);
    if (!e->st->ndst) /* a store has no write-back */
        leaves(f, v, w, s);
}

static void
written_back(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    const struct regpower_sets *s = sets_of(f, e->pc);
    accessed(f, v, e, w, s, SETS_WRITTEN);
    leaves(f, v, w, s);
}

/* -- warps -- */

static uint32_t
starts_with(const struct file *f, uint32_t w)
{
    return w < f->whole ? f->regs : f->start;
}

static void
warp_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    f->warp[w].until = 0;
    bitset_del(f->waits, w);
    uint32_t n = starts_with(f, w);
    if (n > f->warp[w].has)
        give(f, v, w, n, f->first);
}

static void
registers_got(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    give(f, v, warp_of(f, e), f->regs, PTX_POWER_ON);
}

static void
warp_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    while (f->warp[w].nentries)
        drop(f, v, w, 0);
    /* what came later goes with the lock */
    give(f, v, w, f->to_block_end ? starts_with(f, w) : 0, PTX_POWER_OFF);
}

static void
block_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    for (uint32_t w = 0; f->to_block_end && w < f->warps; w++)
        give(f, v, e->slot * f->warps + w, 0, PTX_POWER_OFF);
}

/* -- wake-ups -- */

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e), k = 0;
    const struct regpower_sets *s = sets_of(f, e->pc);
    struct regs *r = f->warp[w].reg;
    struct warp *own = &f->warp[w];
    do {
        uint64_t asleep = s[k].needs & r[k].has & ~r[k].on;
        uint64_t over = asleep ? v->now + wake(f, v, &r[k], asleep) : 0;
        own->until = over > own->until ? over : own->until;
    } while (++k < f->words);
    if (own->until <= v->now)
        return true;
    bitset_add(f->waits, w);
    if (own->until < v->timer)
        v->timer = own->until;
    return false;
}

static void
timer(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    (void)e;
    for (unsigned k = 0; k < 2; k++)
        FOR_BITS(i, f->waits[k])
        {
            uint32_t w = k * 64 + (uint32_t)i;
            if (f->warp[w].until <= v->now) {
                bitset_del(f->waits, w);
                bitset_add(v->again, w);
            } else if (f->warp[w].until < v->timer) {
                v->timer = f->warp[w].until;
            }
        }
}

static bool
concerns(const struct exec_static *st, const void *plan)
{
    (void)plan;
    return exec_top_register(st) != 0;
}

#define ALWAYS                                                                           \
    .wait = WAIT_wakeup, .reads = true, .eager = true, .once = true,                     \
    .quiet = MECHANISM_QUIET(warp_started) | MECHANISM_QUIET(registers_got) |            \
             MECHANISM_QUIET(warp_ended) | MECHANISM_QUIET(block_ended) |                \
             MECHANISM_QUIET(decoded) | MECHANISM_QUIET(flushed) |                       \
             MECHANISM_QUIET(issued) | MECHANISM_QUIET(operands_read) |                  \
             MECHANISM_QUIET(written_back) | MECHANISM_QUIET(counted) | MECHANISM_YES,   \
    .prepare = prepare, .state_size = state_size, .init = init,                          \
    .warp_started = warp_started, .registers_got = registers_got,                        \
    .warp_ended = warp_ended, .block_ended = block_ended,                                \
    .operands_read = operands_read, .written_back = written_back, .timer = timer,        \
    .counted = counted, .may_issue = may_issue, .concerns = concerns

static const struct mechanism mechanism = {
    ALWAYS,
    .decoded = decoded,
    .flushed = flushed,
    .issued = issued,
};

/* Without a look-up table, and destinations are ON from issue. */
static const struct mechanism without_table = {ALWAYS};

/* -- plan -- */

static bool
has_states(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].power)
            return true;
    return false;
}

bool
regpower_plan(const struct machine *m, const struct ptx_func *f,
              const struct residency_plan *r, unsigned warps, unsigned registers,
              struct mechanism_use *use, struct diag_sink *diag)
{
    const struct regpower_policy *p = regpower_find(m->regpower.policy);
    *use = (struct mechanism_use){0};
    if (!p)
        return diag_error(diag, "regpower.policy: there is no policy '%s'",
                          m->regpower.policy);
    if (!p->after && !p->mechanism)
        return true;
    if (!f->registers) {
        struct diag *d = diag_add(
            diag, DIAG_ERROR, NULL,
            "regpower.policy %s needs physical registers, kernel '%s' has virtual ones",
            p->name, f->name);
        diag_hint(diag, d, "run it with compiler.registers=allocated");
        return false;
    }
    if (p->states && !has_states(f)) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "regpower.policy %s needs power states, kernel '%s' has none",
                     p->name, f->name);
        diag_hint(diag, d, "run it with compiler.late_passes=power-states");
        return false;
    }
    struct plan *plan = (struct plan *)(void *)use->own;
    *plan = (struct plan){
        .policy = p,
        .blocks = r->blocks,
        .warps = warps,
        .regs = m->regpower.allotted ? occ_thread_registers(m, registers) : registers,
        .late = r->late,
        .start = r->start,
        .entries = p->corrects ? m->regpower.table_entries : 0};
    if (p->mechanism)
        use->mechanism = p->mechanism;
    else if (plan->entries || wakes_late(m, plan))
        use->mechanism = &mechanism;
    else
        use->mechanism = &without_table;
    return true;
}
