/* dram.c: one DRAM channel.
 *
 * The constraints between commands are the rows of dram_timing.def. Each scope (channel,
 * bank group, bank) keeps for each command the first tick at which it accepts it. An
 * issued command moves these ticks on by its rows (delay); a command may be issued once
 * all three scopes accept it (survey), and the next event is the least of these ticks
 * (next_command). Nothing counts down, so that idle ticks need not be stepped.
 *
 *   data       of a read last until tCL + burst after the command, of a write tWL + burst
 *   refresh    every tREFI, or of one bank every tREFI / banks: banks are precharged as soon
 *              as each may be, and refreshed
 *              together once all may be
 *
 * burst is the time on the data bus, dram.burst / (bus * transfers). A bank's group is
 * its number modulo dram.groups.
 *
 * A tick: data whose last beat is over goes to the return queue; one idle bank gets its
 * next request from the policy; one command is issued (with dual_command one to a row and
 * one to a column), banks looked at in turn from one that moves on with every assignment.
 *
 * Cost of a tick with work: a few set operations (banks are looked at when they come to
 * allow their next one); without: nothing (dram_next). */
#include "timing/mem/dram.h"
#include "base/bitset.h"
#include "base/inline.h"

#include <string.h>

enum { SLOTS = 64 }; /* ticks ahead for which banks are sorted: bits of a word */
/* Commands as in enum dram_command. The first KINDS go to one bank that has a request in
 * work; a refresh goes to all banks. COLUMN: READ or WRITE, in dram_timing.def. */
enum kind {
    ACTIVATE,
    PRECHARGE,
    READ,
    WRITE,
    KINDS,
    REFRESH = KINDS,
    COMMANDS,
    COLUMN = COMMANDS
};
static_assert((int)READ == DRAM_READ && (int)REFRESH == DRAM_REFRESH, "one order");
enum scope { CHANNEL, GROUP, BANK, SCOPES };

struct bank {
    uint64_t row;
    uint64_t at[COMMANDS]; /* ticks before which it refuses the command */
    uint64_t want;         /* row of cur */
    uint16_t cur;          /* entry it works on, or DRAM_NONE */
    uint16_t last;         /* tail of its list */
    uint16_t group;
    uint8_t next; /* enum kind: its next command */
    bool open;
    bool missed; /* an activate was needed for cur */
    bool write;  /* cur is one */
};

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
    unsigned burst;                            /* command clocks of a burst on the bus */
    uint32_t wait[SCOPES][COMMANDS][COMMANDS]; /* dram_timing.def: from, to; 0: none */
    uint32_t to_done[2]; /* from a read, and from a write, to its last datum */

    struct bank *bank;
    uint64_t at[COMMANDS]; /* ticks before which the channel refuses the command */
    uint64_t *group_at;    /* command x group: the same of a group */
    unsigned groups;
    uint64_t *in_group; /* word x group: its banks */
    uint64_t *of;       /* word x kind: busy banks whose next command it is */
    uint64_t *ready;    /* busy banks that allow it, as of tick `ripened` */
    uint64_t ripened;
    /* A timing wheel of the next SLOTS ticks: */
    uint64_t slots; /* ticks modulo SLOTS in which other banks may become ready */
    uint64_t *ripe; /* slot x word: which */
    uint64_t
        *early; /* banks whose time is beyond the wheel: sorted in again at its end */
    uint64_t *can_col, *can_row, *can; /* banks (survey); can: either */
    uint64_t next_refresh, refreshes;  /* the next one's time; so many were before it */

    /* Requests by number, from dram_take until they have gone back. */
    struct dram_req *req;
    struct dram_entry *entry;
    uint16_t *first; /* by bank */
    struct freelist numbers;
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
#include "timing/policy/dram/registry.def"
#undef DRAM_POLICY
static const struct dram_policy *const policies[] = {
#define DRAM_POLICY(x) &x,
#include "timing/policy/dram/registry.def"
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

/* -- timing constraints -- */
/* Unrolled, so that what depends on the command alone is a constant. */
#define FOR_COMMANDS(k, n) _Pragma("GCC unroll 8") for (unsigned k = 0; k < (n); k++)
#define SET(from_or_to)                                                                  \
    ((from_or_to) == COLUMN ? BIT(READ) | BIT(WRITE) : BIT(from_or_to))
#define BIT(command) (1u << (command))

/* The set of commands that those of `from`, a set, delay in a scope. A constant wherever
 * its arguments are: what has no row costs nothing. */
ALWAYS_INLINE unsigned
delayed(enum scope scope, unsigned from)
{
#define DRAM_TIMING(name, f, t, s, ticks) | (scope == (s) && SET(f) & from ? SET(t) : 0)
    return 0
#include "timing/mem/dram_timing.def"
        ;
#undef DRAM_TIMING
}

/* In a group, reads and writes share a tick unless a row delays one of them alone. */
enum {
    WRITE_TICK = 1
#define DRAM_TIMING(name, f, t, s, ticks)                                                \
    &&((s) != GROUP || (SET(t) >> READ & 1) == (SET(t) >> WRITE & 1))
#include "timing/mem/dram_timing.def"
#undef DRAM_TIMING
                     ? READ
                     : WRITE
};
#define GROUP_TICK(k) ((k) == WRITE ? (unsigned)WRITE_TICK : (k))

enum { ROW_COMMANDS = BIT(ACTIVATE) | BIT(PRECHARGE), ALL = BIT(COMMANDS) - 1 };
#define COLUMN_COMMANDS SET(COLUMN)

/* `from`, one of the set `among`, is issued at `now`: a scope's ticks move on. */
ALWAYS_INLINE void
delay(const struct dram *d, enum scope scope, uint64_t *at, unsigned stride,
      unsigned among, enum kind from, uint64_t now)
{
    const unsigned to = delayed(scope, among);
    const uint32_t *wait = d->wait[scope][from];
    FOR_COMMANDS (k, COMMANDS)
        if (to & BIT(k) && (scope != GROUP || GROUP_TICK(k) == k))
            at[k * stride] = max_u64(at[k * stride], now + wait[k]);
}

/* The same in all scopes of a bank. */
ALWAYS_INLINE void
delay_all(struct dram *d, struct bank *b, unsigned among, enum kind from, uint64_t now)
{
    delay(d, CHANNEL, d->at, 1, among, from, now);
    delay(d, GROUP, d->group_at + b->group, d->groups, among, from, now);
    delay(d, BANK, b->at, 1, among, from, now);
}

static void
one_wait(struct dram *d, enum scope scope, unsigned from, unsigned to, int64_t ticks)
{
    FOR_BITS(f, from)
    FOR_BITS(t, to)
    if (ticks > d->wait[scope][f][t])
        d->wait[scope][f][t] = (uint32_t)ticks;
}

static void
fill_waits(struct dram *d)
{
    const __typeof__(d->m->dram) *t = &d->m->dram;
    const int64_t burst = d->burst;
#define DRAM_TIMING(name, from, to, scope, ticks)                                        \
    one_wait(d, scope, SET(from), SET(to), (int64_t)(ticks));
#include "timing/mem/dram_timing.def"
#undef DRAM_TIMING
}

/* When the n-th refresh from 0 is due: each bank is refreshed once in tREFI. */
static uint64_t
refresh_due(const struct dram *d, uint64_t n)
{
    return (n + 1) * d->m->dram.tREFI / (d->m->dram.bank_refresh ? d->banks : 1);
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
    fill_waits(d);
    d->to_done[0] = m->dram.tCL + d->burst - 1;
    d->to_done[1] = m->dram.tWL + d->burst - 1;

    d->bank = ARENA_ARRAY(a, struct bank, d->banks);
    d->first = ARENA_ARRAY(a, uint16_t, d->banks);
    d->groups = m->dram.groups;
    d->in_group = ARENA_ARRAY(a, uint64_t, (size_t)d->groups * d->words);
    for (unsigned b = 0; b < d->banks; b++) {
        unsigned g = b % d->groups;
        d->bank[b].cur = d->first[b] = DRAM_NONE;
        d->bank[b].group = (uint16_t)g;
        d->in_group[b / 64 * d->groups + g] |= (uint64_t)1 << b % 64;
    }
    d->of = ARENA_ARRAY(a, uint64_t, (size_t)KINDS * d->words);
    d->ready = bitset_new(a, d->banks);
    d->early = bitset_new(a, d->banks);
    d->ripe = ARENA_ARRAY(a, uint64_t, (size_t)SLOTS * d->words);
    d->can_col = bitset_new(a, d->banks);
    d->can_row = bitset_new(a, d->banks);
    d->can = bitset_new(a, d->banks);
    d->group_at = ARENA_ARRAY(a, uint64_t, (size_t)d->groups * COMMANDS);
    unsigned flights = larger(m->dram.tCL, m->dram.tWL) + d->burst;
    unsigned n =
        dram_most_accepted(m) + m->dram.queue + d->banks + flights + m->dram.return_queue;
    assert(n < DRAM_NONE);
    d->req = ARENA_SPARSE(a, struct dram_req, n);
    d->entry = ARENA_SPARSE(a, struct dram_entry, n);
    freelist_init(&d->numbers, a, n);
    d->wanted = bitset_new(a, d->banks);
    d->busy = bitset_new(a, d->banks);
    ring_init(&d->flight, a, flights);
    ring_init(&d->back, a, m->dram.return_queue);
    d->next_refresh = m->dram.tREFI ? refresh_due(d, 0) : NEVER;
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
dram_most_accepted(const struct machine *m)
{
    return m->dram.queue + m->dram.return_queue;
}

uint16_t
dram_take(struct dram *d, const struct dram_req *r)
{
    uint16_t i = (uint16_t)freelist_take(&d->numbers);
    d->req[i] = *r;
    return i;
}

const struct dram_req *
dram_accepted(const struct dram *d, uint16_t i)
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
                                      .before = DRAM_NONE,
                                      .bursts = r->bursts,
                                      .write = r->write,
                                      .answered = r->answered};
    struct bank *b = &d->bank[r->bank];
    if (d->first[r->bank] == DRAM_NONE) {
        d->first[r->bank] = i;
    } else {
        d->entry[b->last].next = i;
        d->entry[i].before = b->last;
    }
    b->last = i;
    d->wanted[r->bank / 64] |= (uint64_t)(b->cur == DRAM_NONE) << r->bank % 64;
    d->queued++;
}

static void
unlink_entry(struct dram *d, unsigned bank, uint16_t i)
{
    const uint16_t before = d->entry[i].before, next = d->entry[i].next;
    if (before == DRAM_NONE)
        d->first[bank] = next;
    else
        d->entry[before].next = next;
    if (next == DRAM_NONE)
        d->bank[bank].last = before;
    else
        d->entry[next].before = before;
    d->queued--;
}

/* A busy bank's next command; it may come from the tick on that the bank itself allows.
 * What the channel and the group allow comes on top. This and the following functions are
 * branchless: the branches would be unpredictable. */
static inline void
set_next(struct dram *d, unsigned bank, enum kind next)
{
    struct bank *b = &d->bank[bank];
    const unsigned w = bank / 64;
    const uint64_t bit = (uint64_t)1 << bank % 64, at = b->at[next];
    b->next = (uint8_t)next;
    d->of[w * KINDS + next] |= bit;
    const uint64_t ready = at <= d->ripened, far = at - d->ripened >= SLOTS && !ready;
    const uint64_t slot = (far ? d->ripened + SLOTS - 1 : at) % SLOTS;
    d->ready[w] |= bit & -ready;
    d->slots |= (ready ^ 1) << slot;
    d->ripe[slot * d->words + w] |= bit & (ready - 1);
    if (far) /* seldom: after a refresh */
        d->early[w] |= bit;
}

/* The bank has done that command. */
static inline void
clear_next(struct dram *d, unsigned bank)
{
    const uint64_t bit = (uint64_t)1 << bank % 64;
    d->of[bank / 64 * KINDS + d->bank[bank].next] &= ~bit;
    d->ready[bank / 64] &= ~bit;
}

/* The next command of a bank that has got a request, or been closed. */
static void
find_next(struct dram *d, unsigned bank)
{
    const struct bank *b = &d->bank[bank];
    const unsigned column = (unsigned)(b->row == b->want) * (1u + b->write);
    set_next(d, bank, (enum kind)(b->open * (PRECHARGE + column)));
}

/* First tick at which the channel allows a command, NEVER, of a read or write: when data
 * have left. That of the bank and of its group come on top. */
static inline uint64_t
channel_at(const struct dram *d, enum kind k)
{
    return k >= READ ? d->at[k] | -(uint64_t)ring_full(&d->flight) : d->at[k];
}

/* Banks of a slot whose time is beyond the timing wheel go into a later slot. */
NOINLINE static void
sort_again(struct dram *d, unsigned w)
{
    uint64_t again = d->ready[w] & d->early[w];
    d->early[w] &= ~again;
    FOR_BITS(i, again)
    {
        const unsigned bank = w * 64 + (unsigned)i;
        const enum kind next = d->bank[bank].next;
        clear_next(d, bank);
        set_next(d, bank, next);
    }
}

/* Banks that allow their next command from tick d->ripened on. */
ALWAYS_INLINE void
ripen_one(struct dram *d, unsigned words)
{
    const unsigned slot = d->ripened % SLOTS;
    uint64_t *ripe = d->ripe + slot * words;
    d->slots &= ~((uint64_t)1 << slot);
    for (unsigned w = 0; w < words; w++) {
        d->ready[w] |= ripe[w];
        const bool any = ripe[w] & d->early[w];
        ripe[w] = 0;
        if (any)
            sort_again(d, w);
    }
}

/* First tick after `ripened` in which there may be another. */
static inline uint64_t
ripe_at(const struct dram *d)
{
    const unsigned from = (d->ripened + 1) % SLOTS;
    const uint64_t turned = d->slots >> from | d->slots << (-from & (SLOTS - 1));
    return (d->ripened + 1 + (unsigned)bit_lowest(turned | (uint64_t)1 << (SLOTS - 1))) |
           -(uint64_t)!turned;
}

NOINLINE static void
ripen_until(struct dram *d, uint64_t to)
{
    for (uint64_t t; (t = ripe_at(d)) <= to;) {
        d->ripened = t;
        ripen_one(d, d->words);
    }
    d->ripened = to;
}

/* Banks that allow their next command at `now`. */
ALWAYS_INLINE void
ripen(struct dram *d, unsigned words, uint64_t now)
{
    if (now - d->ripened > 1)
        ripen_until(d, now - 1);
    d->ripened = now;
    ripen_one(d, words);
}

/* Groups delay this command, and its tick is its own. */
#define BY_GROUP(k) (delayed(GROUP, ALL) & BIT(k) && GROUP_TICK(k) == (k))

/* Ready banks whose next command the channel and the group allow at `now` too, by its
 * kind. */
ALWAYS_INLINE void
survey(struct dram *d, unsigned words, uint64_t now)
{
    uint64_t allowed[KINDS];
    FOR_COMMANDS (k, KINDS)
        allowed[k] = -(uint64_t)(channel_at(d, k) <= now);
    for (unsigned w = 0; w < words; w++) {
        const uint64_t *of = d->of + (size_t)(w * KINDS);
        const uint64_t *in_group = d->in_group + (size_t)(w * d->groups);
        uint64_t held[KINDS] = {0}, can[KINDS];
        FOR_COMMANDS (k, KINDS)
            if (BY_GROUP(k))
                for (unsigned g = 0; g < d->groups; g++)
                    held[k] |=
                        in_group[g] & -(uint64_t)(d->group_at[k * d->groups + g] > now);
        FOR_COMMANDS (k, KINDS)
            can[k] = of[k] & allowed[k] & ~held[GROUP_TICK(k)];
        d->can_row[w] = (can[PRECHARGE] | can[ACTIVATE]) & d->ready[w];
        d->can_col[w] = (can[READ] | can[WRITE]) & d->ready[w];
        d->can[w] = d->can_row[w] | d->can_col[w];
    }
}

/* No command is possible before, as far as is known after those of `now`. */
ALWAYS_INLINE uint64_t
next_command(struct dram *d, unsigned words, uint64_t now)
{
    uint64_t at[KINDS] = {NEVER, NEVER, NEVER, NEVER}, next = ripe_at(d);
    for (unsigned w = 0; w < words; w++) {
        const uint64_t *in_group = d->in_group + (size_t)(w * d->groups);
        uint64_t banks[KINDS];
        FOR_COMMANDS (k, KINDS) {
            banks[k] = d->of[w * KINDS + k] & d->ready[w];
            if (!(delayed(GROUP, ALL) & BIT(k)))
                at[k] &= -(uint64_t)!banks[k]; /* 0: at once */
        }
        for (unsigned g = 0; g < d->groups; g++)
            FOR_COMMANDS (k, KINDS)
                if (delayed(GROUP, ALL) & BIT(k))
                    at[k] = min_u64(at[k], d->group_at[GROUP_TICK(k) * d->groups + g] |
                                               -(uint64_t) !(banks[k] & in_group[g]));
    }
    FOR_COMMANDS (k, KINDS)
        next = min_u64(next, max_u64(at[k], channel_at(d, k)));
    return max_u64(next, now + 1);
}

/* No command to a bank with a request in work is possible before, as things are. */
static uint64_t
command_at(const struct dram *d, unsigned bank)
{
    const struct bank *b = &d->bank[bank];
    const enum kind k = (enum kind)b->next;
    return max_u64(max_u64(b->at[k], d->group_at[GROUP_TICK(k) * d->groups + b->group]),
                   d->at[k] | -(uint64_t)(k >= READ && ring_full(&d->flight)));
}

/* Closes the bank for a refresh due at that tick; the tick in which it is refreshed. */
static uint64_t
refresh_bank(struct dram *d, unsigned bank, uint64_t due)
{
    struct bank *k = &d->bank[bank];
    if (k->open) {
        delay(d, BANK, k->at, 1, ROW_COMMANDS, PRECHARGE, max_u64(k->at[PRECHARGE], due));
        k->open = false;
        d->stats->dram_precharges++;
    }
    return max_u64(due, k->at[REFRESH]);
}

/* Refreshes due up to now, of all banks at once or of one in turn. Between its due tick and
 * its end no command to these banks is possible, and it comes before all others of the next
 * tick stepped, so that doing it late gives the same times. */
static void
refresh(struct dram *d, uint64_t now)
{
    const bool one = d->m->dram.bank_refresh;
    while (d->next_refresh <= now) {
        const uint64_t due = d->next_refresh, turn = d->refreshes++;
        const unsigned first = one ? (unsigned)(turn % d->banks) : 0;
        const unsigned last = one ? first + 1 : d->banks;
        uint64_t start = due;
        d->stats->dram_refreshes++;
        for (unsigned b = first; b < last; b++)
            start = max_u64(start, refresh_bank(d, b, due));
        const uint64_t end = start + d->wait[BANK][REFRESH][ACTIVATE];
        for (unsigned b = first; b < last; b++)
            delay(d, BANK, d->bank[b].at, 1, BIT(REFRESH), REFRESH, start);
        d->slots = 0;
        memset(d->ripe, 0, SLOTS * d->words * sizeof *d->ripe);
        memset(d->early, 0, d->words * sizeof *d->early);
        for (unsigned w = 0; w < d->words; w++)
            FOR_BITS(b, d->busy[w])
            {
                clear_next(d, w * 64 + (unsigned)b);
                find_next(d, w * 64 + (unsigned)b);
            }
        note(d, due, DRAM_REFRESH, first, end);
        d->next_refresh = refresh_due(d, turn + 1);
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

/* Activate or precharge. */
static void
row_command(struct dram *d, struct bank *b, unsigned bank, bool act, uint64_t now)
{
    const uint64_t if_act = -(uint64_t)act;
    const uint64_t row = act ? b->want : b->row;
    note(d, now, act ? DRAM_ACTIVATE : DRAM_PRECHARGE, bank, row);
    b->row = row;
    b->open = act;
    b->missed |= act;
    delay_all(d, b, ROW_COMMANDS, act ? ACTIVATE : PRECHARGE, now);
    d->stats->dram_activates += act;
    d->stats->dram_precharges += !act;
    clear_next(d, bank);
    const unsigned after = READ + b->write; /* an activate is for the wanted row */
    set_next(d, bank, (enum kind)(after & if_act)); /* ACTIVATE is 0 */
}

static void
column(struct dram *d, struct bank *b, unsigned bank, uint64_t now)
{
    struct dram_entry *e = &d->entry[b->cur];
    const bool write = e->write;
    delay_all(d, b, COLUMN_COMMANDS, READ + write, now);
    d->stats->dram_writes += write;
    d->stats->dram_reads += !write;
    d->stats->dram_busy += d->burst;
    note(d, now, write ? DRAM_WRITE : DRAM_READ, bank, b->row);
    if (e->bursts > 1) { /* the bank goes on to allow it */
        e->bursts--;
        return;
    }
    struct flight *f = ring_push(&d->flight);
    f->done = now + d->to_done[write];
    f->entry = b->cur;
    f->answered = e->answered;
    d->stats->dram_row_misses += b->missed;
    d->stats->dram_row_hits += !b->missed;
    clear_next(d, bank);
    b->cur = DRAM_NONE;
    bitset_del(d->busy, bank);
    d->wanted[bank / 64] |= (uint64_t)(d->first[bank] != DRAM_NONE) << bank % 64;
    d->working--;
}

static void
command(struct dram *d, unsigned bank, uint64_t now)
{
    struct bank *b = &d->bank[bank];
    if (b->next >= READ)
        column(d, b, bank, now);
    else
        row_command(d, b, bank, b->next == ACTIVATE, now);
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
    if (d->words == 1) /* mostly */
        return set[0] ? bit_in_turn(set[0], d->turn) : d->banks;
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
    const unsigned bank = first_in_turn(d, d->can);
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
    if (d->words == 1)
        return d->wanted[0] != 0;
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
    unsigned bank = first_in_turn(d, d->wanted);
    uint16_t i;
    for (;; bank = next_in_turn(d, d->wanted, bank)) {
        if (bank == d->banks)
            return;
        i = d->policy->pick(&v, bank, d->bank[bank].open, d->bank[bank].row);
        if (i != DRAM_NONE)
            break;
    }
    struct bank *b = &d->bank[bank];
    occupancy(d, now);
    unlink_entry(d, bank, i);
    b->cur = i;
    b->want = d->entry[i].row;
    b->write = d->entry[i].write;
    b->missed = false;
    bitset_add(d->busy, bank);
    bitset_del(d->wanted, bank);
    find_next(d, bank);
    d->cmd_at = min_u64(d->working ? d->cmd_at : NEVER, command_at(d, bank));
    d->working++;
    d->turn = d->turn + 1 == d->banks ? 0 : d->turn + 1;
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
                freelist_give(&d->numbers, f->entry);
            ring_pop(&d->flight);
            if (was_full)
                d->cmd_at = 0;
        }
    }
    if (d->words == 1)
        ripen(d, 1, now);
    else
        ripen(d, d->words, now);
    if (d->queued)
        assign(d, now);
    if (d->working && d->cmd_at <= now)
        issue(d, now);
}

bool
dram_returns(const struct dram *d)
{
    return d->back.n != 0;
}

const struct dram_req *
dram_return_front(const struct dram *d)
{
    return d->back.n ? &d->req[*ring_front(&d->back)] : NULL;
}

void
dram_return_pop(struct dram *d)
{
    freelist_give(&d->numbers, *ring_front(&d->back));
    ring_pop(&d->back);
}

uint64_t
dram_next(const struct dram *d, uint64_t now)
{
    const struct flight *f = ring_front(&d->flight); /* or what once was there */
    const bool lands = d->flight.n && !(f->answered & ring_full(&d->back));
    uint64_t t = d->cmd_at | -(uint64_t)!d->working;
    t = min_u64(t, f->done | -(uint64_t)!lands);
    t &= -(uint64_t)!any_wanted(d);
    return max_u64(t, now + 1);
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
        strbuf_printf(out, "; bank %u: %s", b, name[d->bank[b].next]);
        if (t == NEVER)
            strbuf_addz(out, " waits for the return queue");
        else
            strbuf_printf(out, " from tick %llu", (unsigned long long)t);
    }
}
