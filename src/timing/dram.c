/* dram.c: one DRAM channel.
 *
 * Every constraint is a "not before" tick, kept where it acts: on the channel (column to
 * column, activate to activate, read/write turnaround), on a bank group (long column to
 * column) or on a bank (its row and precharge). A command changes some of them; nothing
 * counts down, so that idle ticks need not be stepped.
 *
 *   activate   tRCD to the bank's columns, tRAS to its precharge, tRC to its next
 * activate, tRRD to any activate read       tCCD / tCCDL to the next column, tCL + burst
 * + 2 - tWL to a write (two clocks of bus turnaround), burst or tRTPL to the bank's
 * precharge; last data after tCL + burst write      tCCD / tCCDL, tWL + burst + tCDLR to
 * a read, tWL + burst + tWR to precharge precharge  tRP to the bank's activate refresh
 * every tREFI: all banks are precharged as soon as each may be; tRP after the last
 * precharge it starts, and all banks are blocked for tRFC burst is the time on the data
 * bus, dram.burst / (bus * transfers). A bank's group is its number modulo dram.groups.
 * JEDEC GDDR5 (JESD212); Hynix H5GQ1H24AFR data sheet.
 *
 * A tick: data whose last beat is over goes to the return queue; one idle bank gets its
 * next request from the policy; one command is issued (with dual_command one to a row and
 * one to a column), banks looked at in turn from one that moves on with every assignment.
 *
 * Cost of a tick with work: a few set operations (banks are looked at when they come to
 * allow their next one); without: nothing (dram_next). */
#include "timing/dram.h"
#include "base/bitset.h"
#include "base/inline.h"

#include <string.h>

struct bank {
    uint64_t row;
    uint64_t act_at, col_at, pre_at; /* ticks before which the command is refused */
    uint64_t idle_at;                /* its last precharge is over */
    uint16_t cur;                    /* entry it works on, or DRAM_NONE */
    uint16_t last;                   /* tail of its list */
    uint64_t want;                   /* row of cur */
    bool open;
    bool missed; /* an activate was needed for cur */
    bool write;  /* cur is one */
    uint16_t group;
};

enum next { ACTIVATE, PRECHARGE, READ, WRITE, KINDS };

struct flight { /* data of the last burst of a request */
    uint64_t done;
    uint16_t entry;
    bool answered;
};

struct dram {
    const struct machine *m;
    const struct dram_policy *policy;
    struct stat_mem *stats;
    unsigned banks, words;
    unsigned burst; /* command clocks of a burst on the bus */
    uint32_t tCCD, tCCDL, tRTW, tWTR, tRTP, tWTP;

    struct bank *bank;
    uint64_t *group_col_at;
    uint64_t col_at, read_at, write_at, act_at;
    unsigned groups;
    uint32_t held;        /* groups that refuse columns, as far as released */
    uint64_t *held_banks; /* of these groups */
    uint64_t *in_group;   /* word x group: its banks */
    uint64_t *of;         /* word x kind: busy banks whose next command it is */
    uint64_t *allowed;    /* by bank: tick before which it refuses its next command */
    uint8_t *next;        /* enum next */
    uint64_t *ready;      /* busy banks that no longer refuse it */
    uint64_t ripe_at;     /* no other becomes ready before */
    uint64_t *can_col, *can_row, *can; /* banks (survey); can: either */
    uint64_t next_refresh;

    /* Requests by number, from dram_take until they have gone back. */
    struct dram_req *req;
    struct dram_entry *entry;
    uint16_t *first; /* by bank */
    struct places numbers;
    uint64_t *wanted; /* banks with requests in the queue, and none in work */
    uint64_t *busy;   /* banks with one in work */
    unsigned queued, working;
    unsigned turn; /* bank looked at first */
    uint64_t order;

    RING(struct flight) flight;
    RING(uint16_t) back;
    uint64_t cmd_at; /* no command can be issued before */

    uint64_t settled; /* tick up to which occupancy is summed */
    void (*watch)(void *, uint64_t, enum dram_command, unsigned, uint64_t);
    void *watch_user;
};

/* -- registry -- */
#define DRAM_POLICY(x) extern const struct dram_policy x;
#include "timing/dram/registry.def"
#undef DRAM_POLICY
static const struct dram_policy *const policies[] = {
#define DRAM_POLICY(x) &x,
#include "timing/dram/registry.def"
#undef DRAM_POLICY
};

const struct dram_policy *
dram_policy_at(size_t i)
{
    return i < sizeof policies / sizeof *policies ? policies[i] : NULL;
}

const struct dram_policy *
dram_policy_find(const char *name)
{
    for (size_t i = 0; dram_policy_at(i); i++)
        if (!strcmp(policies[i]->name, name))
            return policies[i];
    return NULL;
}

static uint32_t
larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

struct dram *
dram_new(struct arena *a, const struct machine *m, struct stat_mem *stats,
         struct diag_sink *diag)
{
    const struct dram_policy *policy = dram_policy_find(m->dram.scheduler);
    if (!policy) {
        struct strbuf names = {0};
        for (size_t i = 0; dram_policy_at(i); i++)
            strbuf_printf(&names, "%s%s", i ? ", " : "", dram_policy_at(i)->name);
        struct diag *e = diag_add(diag, DIAG_ERROR, NULL, "dram.scheduler: unknown `%s`",
                                  m->dram.scheduler);
        diag_hint(diag, e, "known: %s", names.s);
        strbuf_free(&names);
        return NULL;
    }
    struct dram *d = ARENA_NEW(a, struct dram);
    d->m = m;
    d->policy = policy;
    d->stats = stats;
    d->banks = m->dram.banks;
    d->words = (unsigned)BITSET_WORDS(d->banks);
    unsigned per_clock = m->dram.bus * m->dram.transfers;
    d->burst = (m->dram.burst + per_clock - 1) / per_clock;
    d->tCCD = larger(m->dram.tCCD, d->burst);
    d->tCCDL = larger(m->dram.tCCDL, d->burst);
    int rtw = (int)(m->dram.tCL + d->burst + 2) - (int)m->dram.tWL;
    d->tRTW = rtw > 0 ? (uint32_t)rtw : 0;
    d->tWTR = m->dram.tWL + d->burst + m->dram.tCDLR;
    d->tRTP = larger(d->burst, m->dram.tRTPL);
    d->tWTP = m->dram.tWL + d->burst + m->dram.tWR;

    d->bank = ARENA_ARRAY(a, struct bank, d->banks);
    d->first = ARENA_ARRAY(a, uint16_t, d->banks);
    d->groups = m->dram.groups;
    d->in_group = ARENA_ARRAY(a, uint64_t, (size_t)d->groups * d->words);
    d->held_banks = bitset_new(a, d->banks);
    for (unsigned b = 0; b < d->banks; b++) {
        unsigned g = b % d->groups;
        d->bank[b].cur = d->first[b] = DRAM_NONE;
        d->bank[b].group = (uint16_t)g;
        d->in_group[b / 64 * d->groups + g] |= (uint64_t)1 << b % 64;
    }
    d->allowed = ARENA_ARRAY(a, uint64_t, d->banks);
    d->next = ARENA_ARRAY(a, uint8_t, d->banks);
    d->of = ARENA_ARRAY(a, uint64_t, (size_t)KINDS * d->words);
    d->ready = bitset_new(a, d->banks);
    d->ripe_at = NEVER;
    d->can_col = bitset_new(a, d->banks);
    d->can_row = bitset_new(a, d->banks);
    d->can = bitset_new(a, d->banks);
    d->group_col_at = ARENA_ARRAY(a, uint64_t, m->dram.groups);
    unsigned flights = larger(m->dram.tCL, m->dram.tWL) + d->burst;
    unsigned n =
        dram_most_taken(m) + m->dram.queue + d->banks + flights + m->dram.return_queue;
    assert(n < DRAM_NONE);
    d->req = ARENA_SPARSE(a, struct dram_req, n);
    d->entry = ARENA_SPARSE(a, struct dram_entry, n);
    places_init(&d->numbers, a, n);
    d->wanted = bitset_new(a, d->banks);
    d->busy = bitset_new(a, d->banks);
    ring_init(&d->flight, a, flights);
    ring_init(&d->back, a, m->dram.return_queue);
    d->next_refresh = m->dram.tREFI ? m->dram.tREFI : NEVER;
    d->cmd_at = NEVER;
    return d;
}

static inline void
note(struct dram *d, uint64_t now, enum dram_command c, unsigned bank, uint64_t row)
{
    if (d->watch)
        d->watch(d->watch_user, now, c, bank, row);
}

void
dram_watch(struct dram *d,
           void (*f)(void *user, uint64_t now, enum dram_command c, unsigned bank,
                     uint64_t row),
           void *user)
{
    d->watch = f;
    d->watch_user = user;
}

unsigned
dram_most_taken(const struct machine *m)
{
    return m->dram.queue + m->dram.return_queue;
}

uint16_t
dram_take(struct dram *d, const struct dram_req *r)
{
    uint16_t i = (uint16_t)places_take(&d->numbers);
    d->req[i] = *r;
    return i;
}

const struct dram_req *
dram_taken(const struct dram *d, uint16_t i)
{
    return &d->req[i];
}

bool
dram_full(const struct dram *d)
{
    return d->queued >= d->m->dram.queue;
}

static void
occupancy(struct dram *d, uint64_t now)
{
    if (now > d->settled) {
        d->stats->dram_queue_sum += d->queued * (now - d->settled);
        d->settled = now;
    }
}

void
dram_push(struct dram *d, uint16_t i, uint64_t now)
{
    assert(!dram_full(d));
    occupancy(d, now);
    const struct dram_req *r = &d->req[i];
    d->entry[i] = (struct dram_entry){.row = r->row,
                                      .arrived = now,
                                      .order = d->order++,
                                      .next = DRAM_NONE,
                                      .bursts = r->bursts,
                                      .write = r->write,
                                      .answered = r->answered};
    struct bank *b = &d->bank[r->bank];
    if (d->first[r->bank] == DRAM_NONE)
        d->first[r->bank] = i;
    else
        d->entry[b->last].next = i;
    b->last = i;
    if (b->cur == DRAM_NONE)
        bitset_add(d->wanted, r->bank);
    d->queued++;
}

static void
unlink_entry(struct dram *d, unsigned bank, uint16_t i)
{
    uint16_t before = DRAM_NONE;
    for (uint16_t j = d->first[bank]; j != i; j = d->entry[j].next)
        before = j;
    uint16_t next = d->entry[i].next;
    if (before == DRAM_NONE)
        d->first[bank] = next;
    else
        d->entry[before].next = next;
    if (next == DRAM_NONE)
        d->bank[bank].last = before;
    d->queued--;
}

/* A bank's next command, and when the bank itself allows it. What the channel and the
 * group allow comes on top. */
static void
find_next(struct dram *d, unsigned bank)
{
    const struct bank *b = &d->bank[bank];
    uint64_t *of = d->of + (size_t)(bank / 64 * KINDS), bit = (uint64_t)1 << bank % 64;
    of[d->next[bank]] &= ~bit;
    bitset_del(d->ready, bank);
    if (b->cur == DRAM_NONE)
        return;
    if (!b->open) {
        d->next[bank] = ACTIVATE;
        d->allowed[bank] = b->act_at;
    } else if (b->row != b->want) {
        d->next[bank] = PRECHARGE;
        d->allowed[bank] = b->pre_at;
    } else {
        d->next[bank] = b->write ? WRITE : READ;
        d->allowed[bank] = b->col_at;
    }
    of[d->next[bank]] |= bit;
    if (d->allowed[bank] < d->ripe_at)
        d->ripe_at = d->allowed[bank];
}

/* First tick at which the channel allows a read or write, NEVER: when data have left;
 * that of the bank's group comes on top. */
static inline uint64_t
column_at(const struct dram *d, bool write)
{
    uint64_t t = later(d->col_at, write ? d->write_at : d->read_at);
    return ring_full(&d->flight) ? NEVER : t;
}

/* Banks that allow their next command at `now`. In this and what follows without
 * branches, since these could not be foretold. */
ALWAYS_INLINE void
ripen(struct dram *d, unsigned words, uint64_t now)
{
    if (d->ripe_at > now)
        return;
    uint64_t ripe = NEVER;
    for (unsigned w = 0; w < words; w++) {
        uint64_t ready = 0;
        FOR_BITS(i, d->busy[w] & ~d->ready[w])
        {
            uint64_t t = d->allowed[w * 64 + (unsigned)i], yes = t <= now;
            ready |= yes << i;
            t |= -yes;
            ripe = t < ripe ? t : ripe;
        }
        d->ready[w] |= ready;
    }
    d->ripe_at = ripe;
}

/* Groups that allow columns again at `now`. */
ALWAYS_INLINE void
release(struct dram *d, unsigned words, uint64_t now)
{
    FOR_BITS(g, d->held)
    {
        if (d->group_col_at[g] > now)
            continue;
        d->held ^= 1u << g;
        for (unsigned w = 0; w < words; w++)
            d->held_banks[w] &= ~d->in_group[w * d->groups + g];
    }
}

/* Ready banks whose next command the channel and the group allow at `now` too, by its
 * kind. */
ALWAYS_INLINE void
survey(struct dram *d, unsigned words, uint64_t now)
{
    ripen(d, words, now);
    release(d, words, now);
    uint64_t reads = -(uint64_t)(column_at(d, false) <= now);
    uint64_t writes = -(uint64_t)(column_at(d, true) <= now);
    uint64_t activates = -(uint64_t)(d->act_at <= now);
    for (unsigned w = 0; w < words; w++) {
        const uint64_t *of = d->of + (size_t)(w * KINDS);
        uint64_t col = (of[READ] & reads) | (of[WRITE] & writes);
        d->can_row[w] = (of[PRECHARGE] | (of[ACTIVATE] & activates)) & d->ready[w];
        d->can_col[w] = col & d->ready[w] & ~d->held_banks[w];
        d->can[w] = d->can_row[w] | d->can_col[w];
    }
}

/* No command is possible before, as far as is known after those of `now`. */
ALWAYS_INLINE uint64_t
next_command(struct dram *d, unsigned words, uint64_t now)
{
    uint64_t row = NEVER, read = NEVER, write = NEVER;
    for (unsigned w = 0; w < words; w++) {
        const uint64_t *of = d->of + (size_t)(w * KINDS);
        const uint64_t *in_group = d->in_group + (size_t)(w * d->groups);
        uint64_t ready = d->ready[w], reads = of[READ] & ready,
                 writes = of[WRITE] & ready;
        uint64_t t = d->act_at | -(uint64_t) !(of[ACTIVATE] & ready);
        row = t < row ? t : row;
        row &= -(uint64_t) !(of[PRECHARGE] & ready); /* 0: at once */
        read &= -(uint64_t) !(reads & ~d->held_banks[w]);
        write &= -(uint64_t) !(writes & ~d->held_banks[w]);
        FOR_BITS(g, d->held)
        {
            uint64_t at = d->group_col_at[g];
            uint64_t r = at | -(uint64_t) !(reads & in_group[g]);
            uint64_t u = at | -(uint64_t) !(writes & in_group[g]);
            read = r < read ? r : read;
            write = u < write ? u : write;
        }
    }
    read = later(read, column_at(d, false));
    write = later(write, column_at(d, true));
    uint64_t t = read < write ? read : write;
    t = row < t ? row : t;
    t = d->ripe_at < t ? d->ripe_at : t;
    return later(t, now + 1);
}

/* No command to a bank with a request in work is possible before, as things are. */
static uint64_t
command_at(const struct dram *d, unsigned bank)
{
    const struct bank *b = &d->bank[bank];
    uint64_t t = d->allowed[bank];
    if (d->next[bank] == ACTIVATE)
        return later(t, d->act_at);
    if (d->next[bank] == PRECHARGE)
        return t;
    return later(later(t, d->group_col_at[b->group]), column_at(d, b->write));
}

/* Refreshes due up to now. Between its due tick and its end no command is possible, so
 * that doing it late, at the next tick stepped, gives the same times. */
static void
refresh(struct dram *d, uint64_t now)
{
    while (d->next_refresh <= now) {
        uint64_t due = d->next_refresh, start = due;
        for (unsigned b = 0; b < d->banks; b++) {
            struct bank *k = &d->bank[b];
            if (k->open) {
                uint64_t pre = k->pre_at > due ? k->pre_at : due;
                k->open = false;
                k->idle_at = pre + d->m->dram.tRP;
                d->stats->dram_precharges++;
            }
            if (start < k->idle_at)
                start = k->idle_at;
        }
        uint64_t end = start + d->m->dram.tRFC;
        for (unsigned b = 0; b < d->banks; b++)
            if (d->bank[b].act_at < end)
                d->bank[b].act_at = end;
        d->stats->dram_refreshes++;
        for (unsigned b = 0; b < d->banks; b++)
            find_next(d, b);
        note(d, due, DRAM_REFRESH, 0, end);
        d->next_refresh = due + d->m->dram.tREFI;
        d->cmd_at = 0;
    }
}

/* Calls the body for the members of a bank set in turn order from d->turn: the words of
 * the set from that of `turn`, whose low part comes last. */
#define FOR_BANKS(b, d, set)                                                             \
    for (unsigned b##_n = 0; b##_n <= (d)->words; b##_n++)                               \
        FOR_BITS(b##_i, bank_word(d, set, b##_n))                                        \
    for (unsigned b = word_at(d, b##_n) * 64 + (unsigned)b##_i, b##_once = 1; b##_once;  \
         b##_once = 0)

static inline unsigned
word_at(const struct dram *d, unsigned n)
{
    if (d->words == 1)
        return 0;
    unsigned w = d->turn / 64 + n;
    return w < d->words ? w : w - d->words;
}

static inline uint64_t
bank_word(const struct dram *d, const uint64_t *set, unsigned n)
{
    uint64_t x = set[word_at(d, n)], below = ((uint64_t)1 << (d->turn % 64)) - 1;
    if (n == 0)
        return x & ~below;
    return n == d->words ? x & below : x;
}

static void
activate(struct dram *d, struct bank *b, unsigned bank, uint64_t now)
{
    b->open = true;
    b->row = b->want;
    b->missed = true;
    b->col_at = now + d->m->dram.tRCD;
    b->pre_at = now + d->m->dram.tRAS;
    b->act_at = now + d->m->dram.tRC;
    d->act_at = now + d->m->dram.tRRD;
    d->stats->dram_activates++;
    note(d, now, DRAM_ACTIVATE, bank, b->row);
}

static void
precharge(struct dram *d, struct bank *b, unsigned bank, uint64_t now)
{
    b->open = false;
    b->idle_at = now + d->m->dram.tRP;
    if (b->act_at < b->idle_at)
        b->act_at = b->idle_at;
    d->stats->dram_precharges++;
    note(d, now, DRAM_PRECHARGE, bank, b->row);
}

static void
column(struct dram *d, struct bank *b, unsigned bank, uint64_t now)
{
    struct dram_entry *e = &d->entry[b->cur];
    bool write = e->write;
    d->col_at = now + d->tCCD;
    d->group_col_at[b->group] = now + d->tCCDL;
    d->held |= 1u << b->group;
    for (unsigned w = 0; w < d->words; w++)
        d->held_banks[w] |= d->in_group[w * d->groups + b->group];
    uint64_t done, pre;
    if (write) {
        d->read_at = now + d->tWTR;
        pre = now + d->tWTP;
        done = now + d->m->dram.tWL + d->burst - 1;
        d->stats->dram_writes++;
    } else {
        d->write_at = now + d->tRTW;
        pre = now + d->tRTP;
        done = now + d->m->dram.tCL + d->burst - 1;
        d->stats->dram_reads++;
    }
    if (b->pre_at < pre)
        b->pre_at = pre;
    d->stats->dram_busy += d->burst;
    note(d, now, write ? DRAM_WRITE : DRAM_READ, bank, b->row);
    if (e->bursts > 1) {
        e->bursts--;
        return;
    }
    struct flight *f = ring_push(&d->flight);
    f->done = done;
    f->entry = b->cur;
    f->answered = e->answered;
    if (b->missed)
        d->stats->dram_row_misses++;
    else
        d->stats->dram_row_hits++;
    b->cur = DRAM_NONE;
    bitset_del(d->busy, bank);
    if (d->first[bank] != DRAM_NONE)
        bitset_add(d->wanted, bank);
    d->working--;
}

static void
command(struct dram *d, unsigned bank, uint64_t now)
{
    struct bank *b = &d->bank[bank];
    if (d->next[bank] >= READ)
        column(d, b, bank, now);
    else if (d->next[bank] == ACTIVATE)
        activate(d, b, bank, now);
    else
        precharge(d, b, bank, now);
    find_next(d, bank);
}

static inline unsigned
in_turn(const struct dram *d, unsigned bank)
{
    return bank >= d->turn ? bank - d->turn : bank + d->banks - d->turn;
}

/* First bank in turn in the set; d->banks: it is empty. */
static inline unsigned
first_in_turn(const struct dram *d, const uint64_t *set)
{
    if (d->words == 1) { /* mostly */
        uint64_t after = set[0] >> d->turn << d->turn, x = after ? after : set[0];
        return x ? (unsigned)bit_lowest(x) : d->banks;
    }
    FOR_BANKS(bank, d, set)
    {
        return bank;
    }
    return d->banks;
}

/* The same of those that come after `bank` in turn. */
static unsigned
next_in_turn(const struct dram *d, const uint64_t *set, unsigned bank)
{
    FOR_BANKS(b, d, set)
    {
        if (in_turn(d, b) > in_turn(d, bank))
            return b;
    }
    return d->banks;
}

ALWAYS_INLINE void
issue_in(struct dram *d, unsigned words, uint64_t now)
{
    survey(d, words, now);
    unsigned bank = first_in_turn(d, d->can);
    if (bank < d->banks) {
        bool col = bitset_has(d->can_col, bank);
        command(d, bank, now);
        if (d->m->dram.dual_command) { /* one of the other kind, of a later bank */
            unsigned other = next_in_turn(d, col ? d->can_row : d->can_col, bank);
            if (other < d->banks)
                command(d, other, now);
        }
    }
    d->cmd_at = next_command(d, words, now);
}

/* With words of the sets known to the compiler, where there is one: mostly. */
static void
issue(struct dram *d, uint64_t now)
{
    if (d->words == 1)
        issue_in(d, 1, now);
    else
        issue_in(d, d->words, now);
}

static bool
any_wanted(const struct dram *d)
{
    for (unsigned w = 0; w < d->words; w++)
        if (d->wanted[w])
            return true;
    return false;
}

static void
assign(struct dram *d, uint64_t now)
{
    if (!any_wanted(d))
        return;
    struct dram_view v = {d->entry, d->first, d->banks, now, d->m->dram.age_limit};
    FOR_BANKS(bank, d, d->wanted)
    {
        struct bank *b = &d->bank[bank];
        uint16_t i = d->policy->pick(&v, bank, b->open, b->row);
        if (i == DRAM_NONE)
            continue;
        occupancy(d, now);
        unlink_entry(d, bank, i);
        b->cur = i;
        b->want = d->entry[i].row;
        b->write = d->entry[i].write;
        b->missed = false;
        bitset_add(d->busy, bank);
        bitset_del(d->wanted, bank);
        find_next(d, bank);
        uint64_t at = command_at(d, bank);
        d->cmd_at = at < d->cmd_at || !d->working ? at : d->cmd_at;
        d->working++;
        d->turn = d->turn + 1 == d->banks ? 0 : d->turn + 1;
        return;
    }
}

void
dram_tick(struct dram *d, uint64_t now)
{
    if (d->next_refresh <= now)
        refresh(d, now);
    if (d->flight.n && ring_front(&d->flight)->done <= now) {
        const struct flight *f = ring_front(&d->flight);
        if (!f->answered || !ring_full(&d->back)) {
            bool was_full = ring_full(&d->flight);
            if (f->answered)
                *ring_push(&d->back) = f->entry;
            else
                places_give(&d->numbers, f->entry);
            ring_pop(&d->flight);
            if (was_full)
                d->cmd_at = 0;
        }
    }
    if (d->queued)
        assign(d, now);
    if (d->working && d->cmd_at <= now)
        issue(d, now);
}

const struct dram_req *
dram_return_front(const struct dram *d)
{
    return d->back.n ? &d->req[*ring_front(&d->back)] : NULL;
}

void
dram_return_pop(struct dram *d)
{
    places_give(&d->numbers, *ring_front(&d->back));
    ring_pop(&d->back);
}

uint64_t
dram_next(const struct dram *d, uint64_t now)
{
    uint64_t t = d->working ? d->cmd_at : NEVER;
    if (d->flight.n) {
        const struct flight *f = ring_front(&d->flight);
        if (f->done < t && (!f->answered || !ring_full(&d->back)))
            t = f->done;
    }
    if (d->queued && t > now + 1 && any_wanted(d))
        t = now + 1;
    return t != NEVER && t <= now ? now + 1 : t;
}

unsigned
dram_pending(const struct dram *d)
{
    return d->queued + d->working + d->flight.n + d->back.n;
}

unsigned
dram_bursts(const struct dram *d)
{
    unsigned n = 0;
    for (unsigned b = 0; b < d->banks; b++) {
        if (d->bank[b].cur != DRAM_NONE)
            n += d->entry[d->bank[b].cur].bursts;
        for (uint16_t i = d->first[b]; i != DRAM_NONE; i = d->entry[i].next)
            n += d->entry[i].bursts;
    }
    return n;
}

void
dram_settle(struct dram *d, uint64_t now)
{
    if (d->next_refresh <= now)
        refresh(d, now);
    occupancy(d, now);
}

void
dram_explain(const struct dram *d, struct strbuf *out)
{
    strbuf_printf(out, "%u queued, %u in banks, %u transferring, %u returning", d->queued,
                  d->working, d->flight.n, d->back.n);
    for (unsigned b = 0; b < d->banks; b++) {
        if (d->bank[b].cur == DRAM_NONE)
            continue;
        uint64_t t = command_at(d, b);
        static const char *const name[] = {"activate", "precharge", "column", "column"};
        strbuf_printf(out, "; bank %u: %s", b, name[d->next[b]]);
        if (t == NEVER)
            strbuf_addz(out, " waits for the return queue");
        else
            strbuf_printf(out, " from tick %llu", (unsigned long long)t);
    }
}
