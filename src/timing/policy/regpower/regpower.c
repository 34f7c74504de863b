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
 * Predicates lie outside of the register file and are always there.
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
#include "timing/policy/regpower/regpower.h"

#include "base/bitset.h"

#include <assert.h>
#include <string.h>

#define POLICY(p) extern const struct regpower_policy p;
#include "timing/policy/regpower/registry.def"
#undef POLICY

static const struct regpower_policy *const policies[] = {
#define POLICY(p) &p,
#include "timing/policy/regpower/registry.def"
#undef POLICY
};

const struct regpower_policy *
regpower_at(size_t i)
{
    return i < sizeof policies / sizeof *policies ? policies[i] : NULL;
}

const struct regpower_policy *
regpower_find(const char *name)
{
    for (size_t i = 0; regpower_at(i); i++)
        if (!strcmp(policies[i]->name, name))
            return policies[i];
    return NULL;
}

struct plan {
    const struct regpower_policy *policy;
    uint32_t blocks, warps, regs; /* resident blocks, of so many warps and registers */
    uint32_t late, start;         /* as residency_plan's */
    uint32_t entries;             /* of the look-up table, for a warp */
};
static_assert(sizeof(struct plan) <= sizeof(((struct mechanism_use *)0)->own),
              "room for it in the use");

struct entry { /* of the look-up table */
    uint32_t pc;
    bool issued;
};

struct warp {
    uint64_t until; /* its last wake-up is over from this cycle on */
    uint16_t has;   /* registers: the first ones */
    uint8_t nentries;
};

struct file {
    const struct regpower_policy *policy;
    uint32_t warps, regs, nwarps, size; /* warps of a block; of all slots; registers */
    uint32_t whole;                     /* warps that start with all registers; */
    uint32_t start;                     /* with how many others start */
    enum ptx_power first;               /* a register of a warp that starts */
    bool late;                          /* destinations wake for the write */
    uint32_t wake_sleep, wake_off, entries;
    uint32_t on, sleep, held, used; /* registers now; entries in use */
    uint64_t since;                 /* counted up to this cycle */
    uint64_t waits[2];              /* warps that wait for a wake-up, a bit each */
    struct warp *warp;
    struct entry *table; /* by warp: `entries` */
    uint8_t *state;      /* by warp: `regs`, enum ptx_power */
};

static size_t
state_size(const void *plan)
{
    const struct plan *p = plan;
    size_t warps = (size_t)p->blocks * p->warps;
    return sizeof(struct file) +
           (sizeof(struct warp) + sizeof(struct entry) * p->entries + p->regs) * warps;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct file *f = state;
    const struct plan *p = plan;
    *f = (struct file){.policy = p->policy,
                       .warps = p->warps,
                       .regs = p->regs,
                       .nwarps = p->blocks * p->warps,
                       .first = m->regpower.first == REGPOWER_FIRST_OFF ? PTX_POWER_OFF
                                                                        : PTX_POWER_ON,
                       .late = m->regpower.destination == REGPOWER_DESTINATION_WRITE &&
                               p->policy->after(PTX_POWER_SLEEP) == PTX_POWER_SLEEP,
                       .whole = (p->blocks - p->late) * p->warps,
                       .start = p->start < p->regs ? p->start : p->regs,
                       .size = (uint32_t)regpower_file(m),
                       .wake_sleep = m->regpower.wake_sleep,
                       .wake_off = m->regpower.wake_off,
                       .entries = p->entries,
                       .since = v->now};
    f->warp = (struct warp *)(f + 1);
    f->table = (struct entry *)(f->warp + f->nwarps);
    f->state = (uint8_t *)(f->table + (size_t)f->nwarps * f->entries);
    memset(f->state, PTX_POWER_OFF, (size_t)f->nwarps * f->regs);
}

static uint32_t
warp_of(const struct file *f, const struct sm_event *e)
{
    return e->slot * f->warps + e->warp;
}

/* -- states and cycles in them -- */

static void
count(struct file *f, struct sm_view *v)
{
    uint64_t n = v->now - f->since;
    if (!n)
        return;
    v->stats->regpower_on_cycles += n * f->on;
    v->stats->regpower_sleep_cycles += n * f->sleep;
    v->stats->regpower_off_cycles += n * (f->size - f->on - f->sleep);
    v->stats->regpower_held_cycles += n * f->held;
    v->stats->regpower_table_cycles += n * f->used;
    f->since = v->now;
}

static void
set_state(struct file *f, struct sm_view *v, uint8_t *r, enum ptx_power to)
{
    if (*r == to)
        return;
    count(f, v);
    f->on += (to == PTX_POWER_ON) - (*r == PTX_POWER_ON);
    f->sleep += (to == PTX_POWER_SLEEP) - (*r == PTX_POWER_SLEEP);
    *r = (uint8_t)to;
}

/* Warp w has its first n registers: those that it gets are `first`, those that it loses OFF. */
static void
give(struct file *f, struct sm_view *v, uint32_t w, uint32_t n, enum ptx_power first)
{
    uint32_t had = f->warp[w].has;
    count(f, v);
    f->held += n - had;
    f->warp[w].has = (uint16_t)n;
    for (uint32_t i = n < had ? n : had; i < n || i < had; i++)
        set_state(f, v, &f->state[(size_t)w * f->regs + i],
                  i < n ? first : PTX_POWER_OFF);
}

/* The register of an operand, NULL: it lies outside of the file, or is not this warp's. */
static uint8_t *
place(const struct file *f, uint32_t w, const struct exec_operand *o)
{
    return o->place && o->place <= f->warp[w].has
               ? &f->state[(size_t)w * f->regs + o->place - 1]
               : NULL;
}

/* The register of operand i: written, and not read too. */
static bool
only_written(const struct exec_static *st, unsigned i)
{
    for (unsigned k = 0; k < st->noperands; k++)
        if (st->operand[k].place == st->operand[i].place &&
            st->operand[k].role != EXEC_WRITES)
            return false;
    return true;
}

/* -- the look-up table -- */

static void
drop(struct file *f, struct sm_view *v, uint32_t w, unsigned i)
{
    struct entry *t = f->table + (size_t)w * f->entries;
    count(f, v);
    f->used--;
    f->warp[w].nentries--;
    memmove(t + i, t + i + 1, sizeof *t * (f->warp[w].nentries - i));
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
    count(f, v);
    f->used++;
    f->table[(size_t)w * f->entries + f->warp[w].nentries++] =
        (struct entry){e->pc, false};
}

/* What was in the buffer will not issue. */
static void
flushed(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    for (unsigned i = f->warp[w].nentries; i--;)
        if (!f->table[(size_t)w * f->entries + i].issued)
            drop(f, v, w, i);
}

static void
issued(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    struct entry *t = f->table + (size_t)w * f->entries;
    for (unsigned i = 0; f->late && i < e->st->noperands; i++) {
        uint8_t *r = place(f, w, &e->st->operand[i]);
        if (r && *r == PTX_POWER_ON && only_written(e->st, i))
            set_state(f, v, r, PTX_POWER_SLEEP);
    }
    for (unsigned i = 0; i < f->warp[w].nentries; i++)
        if (t[i].pc == e->pc && !t[i].issued) {
            t[i].issued = true;
            return;
        }
}

static void
leaves(struct file *f, struct sm_view *v, const struct sm_event *e)
{
    uint32_t w = warp_of(f, e);
    const struct entry *t = f->table + (size_t)w * f->entries;
    for (unsigned i = 0; i < f->warp[w].nentries; i++)
        if (t[i].pc == e->pc && t[i].issued) {
            drop(f, v, w, i);
            return;
        }
}

/* Is there an entry with another PC that uses this place? */
static bool
wanted(const struct file *f, const struct sm_event *e, unsigned where)
{
    uint32_t w = warp_of(f, e);
    const struct entry *t = f->table + (size_t)w * f->entries;
    const struct exec_static *code = e->st - e->pc;
    for (unsigned i = 0; i < f->warp[w].nentries; i++) {
        const struct exec_static *st = &code[t[i].pc];
        for (unsigned k = 0; t[i].pc != e->pc && k < st->noperands; k++)
            if (st->operand[k].place == where)
                return true;
    }
    return false;
}

/* -- after an access -- */

static void
wake(struct file *f, struct sm_view *v, uint8_t *r)
{
    bool off = *r == PTX_POWER_OFF;
    *(off ? &v->stats->regpower_wakes_off : &v->stats->regpower_wakes_sleep) += 1;
    set_state(f, v, r, PTX_POWER_ON);
}

/* What an instruction does with one place. A register that is written for several operands
 * is as awake as the most awake. */
struct use {
    bool reads, writes;
    enum ptx_power note;
};

static struct use
use_of(const struct exec_static *st, unsigned where)
{
    struct use u = {.note = PTX_POWER_NONE};
    for (unsigned i = 0; i < st->noperands; i++) {
        const struct exec_operand *o = &st->operand[i];
        if (o->place != where)
            continue;
        bool writes = o->role == EXEC_WRITES;
        u.writes |= writes;
        u.reads |= !writes;
        if (o->power != PTX_POWER_NONE && (u.note == PTX_POWER_NONE || o->power < u.note))
            u.note = o->power;
    }
    return u;
}

static void
accessed(struct file *f, struct sm_view *v, const struct sm_event *e, bool written)
{
    for (unsigned i = 0; i < e->st->noperands; i++) {
        const struct exec_operand *o = &e->st->operand[i];
        uint8_t *r = place(f, warp_of(f, e), o);
        if (!r || (*r != PTX_POWER_ON && !f->late))
            continue;
        struct use u = use_of(e->st, o->place);
        if (u.writes != written)
            continue;
        if (*r != PTX_POWER_ON) {
            if (!u.writes || u.reads)
                continue;
            wake(f, v, r); /* in time: when a value comes is known some cycles before */
        }
        enum ptx_power to = f->policy->after(u.note);
        if (to == PTX_POWER_ON)
            continue;
        if (f->entries && wanted(f, e, o->place)) {
            v->stats->regpower_corrections++;
            continue;
        }
        set_state(f, v, r, to);
    }
}

static void
operands_read(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    accessed(f, v, e, false);
    if (!e->st->ndst && f->entries) /* a store has no write-back */
        leaves(f, v, e);
}

static void
written_back(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    accessed(f, v, e, true);
    if (f->entries)
        leaves(f, v, e);
}

/* -- warps -- */

static void
warp_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    f->warp[w].until = 0;
    bitset_del(f->waits, w);
    uint32_t n = w < f->whole ? f->regs : f->start;
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
    give(f, v, w, 0, PTX_POWER_OFF);
}

/* -- wake-ups -- */

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct file *f = state;
    uint32_t w = warp_of(f, e);
    for (unsigned i = 0; i < e->st->noperands; i++) {
        uint8_t *r = place(f, w, &e->st->operand[i]);
        if (!r || *r == PTX_POWER_ON || (f->late && only_written(e->st, i)))
            continue;
        uint64_t over = v->now + (*r == PTX_POWER_OFF ? f->wake_off : f->wake_sleep);
        if (over > f->warp[w].until)
            f->warp[w].until = over;
        wake(f, v, r);
    }
    if (f->warp[w].until <= v->now)
        return true;
    bitset_add(f->waits, w);
    if (f->warp[w].until < v->timer)
        v->timer = f->warp[w].until;
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

static void
counted(void *state, struct sm_view *v, const struct sm_event *e)
{
    (void)e;
    count(state, v);
}

static bool
concerns(const struct exec_static *st, const void *plan)
{
    (void)plan;
    return exec_top_register(st) != 0;
}

static const struct mechanism mechanism = {
    .wait = WAIT_wakeup,
    .reads = true,
    .eager = true,
    .state_size = state_size,
    .init = init,
    .warp_started = warp_started,
    .registers_got = registers_got,
    .warp_ended = warp_ended,
    .decoded = decoded,
    .flushed = flushed,
    .issued = issued,
    .operands_read = operands_read,
    .written_back = written_back,
    .timer = timer,
    .counted = counted,
    .may_issue = may_issue,
    .concerns = concerns,
};

/* -- plan -- */

uint64_t
regpower_table_bits(const struct machine *m)
{
    enum { PC_BITS = 32, OPERANDS = 8 }; /* 4 sources, 4 destinations: 4.2.2, 4.3.5 */
    unsigned bits = 0;
    while ((1u << bits) < m->sm.max_registers)
        bits++;
    return (uint64_t)(m->sm.max_threads / 32) * m->regpower.table_entries *
           (PC_BITS + bits * OPERANDS);
}

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
    use->mechanism = p->mechanism ? p->mechanism : &mechanism;
    *(struct plan *)(void *)use->own =
        (struct plan){.policy = p,
                      .blocks = r->blocks,
                      .warps = warps,
                      .regs = registers,
                      .late = r->late,
                      .start = r->start,
                      .entries = p->corrects ? m->regpower.table_entries : 0};
    return true;
}
