/* cache.c: one set-associative cache: tags, sectors, replacement, MSHRs, write policies.
 *
 * What belongs to a set lies together (struct set), as small as it can be: a simulated
 * GPU has more lines than the host's caches hold, and an access mostly finds its set
 * cold. A look-up tries the way used last, then scans consecutive words. There is
 * an MSHR per fetch unit: a sector of a sectored cache, else the line. Those of one line
 * are one record, found through a small hash with chains; what waits for any of them is
 * one list of tokens from a fixed pool. Nothing is allocated after cache_new. Cost of a
 * hit: one hash of the address, one or two tag compares.
 *
 * Write policies (the `write` of the machine file; forward = the data go to the next
 * level):
 *   back       written line stays here, dirty; written back when evicted
 *   through    updates a present line, always forwarded
 *   evict      drops the written sectors if present, always forwarded
 *   local-back local memory: back; everything else: evict (Fermi, Kepler: L1s are not
 *              coherent, so that a global store must not leave an old copy)
 *   read-only  never holds written data; forwarded
 * On a write miss (`write_allocate`), for back and through:
 *   no         forwarded, no line
 *   fetch      a line is reserved and, unless the write covers it, fetched
 *   lazy-fetch a line is taken without fetching; sectors not fully written stay
 *              unreadable until a read fetches them or further writes complete them
 * A write to a pending sector merges with it (back, through with allocation) or, without
 * allocation, is forwarded.
 *
 * Lockup-free caches and MSHRs: D. Kroft, ISCA 1981. Sectors: J. S. Liptay, IBM Systems
 * Journal 7(1), 1968. Set hashes: see set_masks. */
#include "timing/mem/cache.h"

#include "base/bitset.h"
#include "timing/mem/packet.h"

#include <string.h>

#define NO_TAG UINT64_MAX
#define NO_WAY UINT32_MAX
#define NONE UINT32_MAX

struct line {
    uint8_t valid;   /* sectors that can be read */
    uint8_t pending; /* sectors reserved by an MSHR */
    uint8_t dirty;
    uint8_t partial; /* sectors written in part, not readable */
};

struct set {
    uint64_t *tag; /* by way; NO_TAG: empty */
    struct line *line;
    uint16_t *order; /* all ways; the last is replaced next (replacement.h) */
    uint64_t *words; /* of `partial` sectors: words written */
};

enum { HERE = 4 };
struct mshr { /* of the units of one line that are on their way */
    _Alignas(64) uint64_t line;
    uint32_t next;        /* in its chain */
    uint32_t head, tail;  /* waiters in order of arrival, after those in token */
    uint32_t token[HERE]; /* those that came first ... */
    uint8_t want[HERE];   /* ... and for which sectors of units still to come; 0: none */
    uint8_t coming;       /* sectors of these units */
    uint8_t came;         /* of them: those that have arrived */
    uint8_t dirty;        /* of them: written meanwhile */
    uint8_t here;         /* slots of token that are or have been used */
    uint16_t way;         /* where the line was last */
    uint16_t n[8];        /* by unit: requests that it holds */
};
static_assert(sizeof(struct mshr) == 64, "one host cache line");

struct waiter {
    uint32_t token, next;
    uint8_t want; /* sectors of units still to come */
};

struct cache {
    uint32_t sets, ways, most_ways, shift, nsectors;
    uint8_t all, unit;   /* sectors of the line; of a fetch unit, as mask at sector 0 */
    uint8_t firsts;      /* first sector of each unit of the line */
    unsigned unit_shift; /* log2 of the sectors of a unit */
    bool modulo, linear, on_fill, perfect;
    const struct replacement_policy *replacement;
    uint64_t replacement_state;
    enum machine_cache_write write;
    enum machine_write_allocate allocate;
    uint32_t merge;
    unsigned nmask; /* set index bit i = parity of line number & mask[i] */
    uint64_t mask[16];

    char *set; /* order, lines and tags of each set */
    size_t stride, lines_at, tags_at;
    uint64_t *words;
    bool empty; /* since the last flush */

    struct mshr *mshr;
    uint32_t nmshr, used;        /* MSHRs */
    struct freelist records;     /* of mshr */
    uint32_t *chain, chain_mask; /* hash of lines: first record or NONE */
    struct waiter *waiter;
    uint32_t free_waiter, waiters_left; /* list; how many more there can be */
    uint32_t fresh_waiter;              /* those from here on have never been used */

    uint8_t asked;
    uint32_t asked_of; /* record */
    bool sends;
};

static unsigned
log2_up(uint64_t x)
{
    return x <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(x - 1);
}

/* Index functions as linear maps over GF(2) of the line number (power-of-two set counts).
 *
 *   linear  low bits.
 *   xor     low bits XOR the next field of as many bits.
 *   fermi   the L1 of Fermi, found by measurement: C. Nugteren et al., "A Detailed GPU
 *           Cache Model Based on Reuse Distance Theory", HPCA 2014, section on hash
 *           functions: for 128-byte lines, set bits 0..4 are address bits 7..11 XOR bits
 *           13, 14, 15, 17, 19; with 64 sets (48 KB) address bit 12 is set bit 5. That is
 *           published for 32 and 64 sets; other counts fold all higher fields into the
 *           low one.
 *   ipoly   remainder of the line number as a polynomial over GF(2) by an irreducible
 *           one: B. R. Rau, "Pseudo-randomly interleaved memory", ISCA 1991. */
static void
fermi_masks(struct cache *c, unsigned n)
{
    static const uint8_t with[5] = {13 - 7, 14 - 7, 15 - 7, 17 - 7, 19 - 7};
    if (n == 5 || n == 6) {
        for (unsigned i = 0; i < 5; i++)
            c->mask[i] |= (uint64_t)1 << with[i];
    } else {
        for (unsigned b = n; n && b < 64; b++)
            c->mask[b % n] |= (uint64_t)1 << b;
    }
}

static void
ipoly_masks(struct cache *c, unsigned n)
{
    /* x^n + the low terms below: primitive polynomials of degree 1..16. */
    static const uint16_t low[17] = {0,    1, 3, 3,    3,    5,     3, 3,     0x1d,
                                     0x11, 9, 5, 0x53, 0x1b, 0x443, 3, 0x100b};
    memset(c->mask, 0, sizeof c->mask);
    uint32_t rest = 1; /* x^b mod p */
    for (unsigned b = 0; n && b < 64; b++) {
        for (unsigned i = 0; i < n; i++)
            if (rest >> i & 1)
                c->mask[i] |= (uint64_t)1 << b;
        rest <<= 1;
        if (rest >> n & 1)
            rest ^= (uint32_t)1 << n | low[n];
    }
}

static void
set_masks(struct cache *c, enum machine_cache_hash hash)
{
    unsigned n = c->nmask;
    for (unsigned i = 0; i < n; i++)
        c->mask[i] = (uint64_t)1 << i;
    switch (hash) {
    case CACHE_LINEAR:
        break;
    case CACHE_FERMI:
        fermi_masks(c, n);
        break;
    case CACHE_XOR:
        for (unsigned i = 0; i < n; i++)
            c->mask[i] |= (uint64_t)1 << (i + n);
        break;
    case CACHE_IPOLY:
        ipoly_masks(c, n);
        break;
    }
}

static inline struct set
set_at(const struct cache *c, uint32_t set)
{
    char *p = c->set + c->stride * set;
    struct set s = {.order = (uint16_t *)p};
    s.line = (struct line *)(p + c->lines_at);
    s.tag = (uint64_t *)(p + c->tags_at);
    s.words = c->words + (size_t)set * c->most_ways;
    return s;
}

static void
set_order(struct cache *c)
{
    for (uint32_t i = 0; i < c->sets; i++)
        for (uint32_t w = 0; w < c->ways; w++)
            set_at(c, i).order[w] = (uint16_t)w;
}

struct cache *
cache_new(struct arena *a, const struct cache_config *cfg)
{
    struct cache *c = ARENA_NEW(a, struct cache);
    c->sets = cfg->sets ? cfg->sets : 1;
    c->ways = c->most_ways = cfg->ways ? cfg->ways : 1;
    c->shift = log2_up(cfg->line < 32 ? 32 : cfg->line > 256 ? 256 : cfg->line);
    c->nsectors = 1u << (c->shift - 5);
    c->all = (uint8_t)((1u << c->nsectors) - 1);
    unsigned unit_n = cfg->sector ? 1u << log2_up((cfg->sector + 31) / 32) : c->nsectors;
    if (unit_n > c->nsectors)
        unit_n = c->nsectors;
    c->unit = (uint8_t)((1u << unit_n) - 1);
    c->unit_shift = log2_up(unit_n);
    for (unsigned k = 0; k < c->nsectors; k += unit_n)
        c->firsts |= (uint8_t)(1u << k);
    c->replacement = cfg->replacement;
    c->on_fill = cfg->allocate == ALLOCATE_ON_FILL;
    c->perfect = cfg->perfect;
    c->write = cfg->write;
    c->allocate = cfg->write_allocate;
    c->merge = cfg->merge ? cfg->merge : 1;
    c->nmask = log2_up(c->sets);
    c->modulo = (c->sets & (c->sets - 1)) != 0;
    c->linear = cfg->hash == CACHE_LINEAR;
    if (!c->modulo)
        set_masks(c, cfg->hash);

    c->lines_at = (c->ways * sizeof(uint16_t) + 3) & ~(size_t)3;
    c->tags_at = (c->lines_at + c->ways * sizeof(struct line) + 7) & ~(size_t)7;
    c->stride = (c->tags_at + c->ways * sizeof(uint64_t) + 63) & ~(size_t)63;
    c->set = arena_alloc_aligned(a, c->stride * c->sets, 64);
    c->words = ARENA_SPARSE(a, uint64_t, (size_t)c->sets * c->ways);
    cache_flush(c);
    set_order(c);

    c->nmshr = cfg->mshrs ? cfg->mshrs : 1;
    c->mshr = ARENA_SPARSE(a, struct mshr, c->nmshr);
    freelist_init(&c->records, a, c->nmshr);
    /* Few chains: mostly a line has MSHRs for all its units, and few lines have any. */
    uint32_t lines = c->nmshr / (c->nsectors >> c->unit_shift);
    c->chain_mask = (1u << log2_up(lines ? lines : 1)) - 1;
    c->chain = ARENA_ARRAY(a, uint32_t, (size_t)c->chain_mask + 1);
    memset(c->chain, 0xff, ((size_t)c->chain_mask + 1) * sizeof *c->chain);
    uint64_t want = (uint64_t)c->nmshr * c->merge;
    c->waiters_left = want > 1 << 20 ? 1 << 20 : (uint32_t)want;
    c->waiter = ARENA_SPARSE(a, struct waiter, c->waiters_left);
    c->free_waiter = NONE;
    return c;
}

/* -- tags -- */

static inline uint32_t
set_of(const struct cache *c, uint64_t line)
{
    if (c->modulo)
        return (uint32_t)(line % c->sets);
    if (c->linear)
        return (uint32_t)line & (c->sets - 1);
    uint32_t s = 0;
    for (unsigned i = 0; i < c->nmask; i++)
        s |= (uint32_t)__builtin_parityll(line & c->mask[i]) << i;
    return s;
}

uint32_t
cache_set(const struct cache *c, uint64_t addr)
{
    return set_of(c, addr >> c->shift);
}

/* Way of the line, or NO_WAY. */
static inline uint32_t
find(const struct cache *c, const struct set *t, uint64_t line)
{
    if (t->tag[t->order[0]] == line)
        return t->order[0];
    uint32_t way = NO_WAY; /* branchless: which way it is, is unpredictable */
    for (uint32_t w = 0; w < c->ways; w++)
        way = t->tag[w] == line ? w : way;
    return way;
}

static unsigned
place_of(const struct set *t, uint32_t way)
{
    unsigned k = 0;
    while (t->order[k] != way)
        k++;
    return k;
}

/* The way at place `from` moves to place `to`. */
static void
move_to(const struct set *t, unsigned from, unsigned to)
{
    uint16_t *o = t->order;
    const uint16_t way = o[from];
    if (to < from)
        memmove(o + to + 1, o + to, (from - to) * sizeof *o);
    else
        memmove(o + from, o + from + 1, (to - from) * sizeof *o);
    o[to] = way;
}

/* A line that was here is accessed. */
static inline void
touch(struct cache *c, const struct set *t, uint32_t way)
{
    if (t->order[0] == way || !c->replacement->accessed)
        return;
    assert(way < c->ways);
    const unsigned place = place_of(t, way);
    move_to(t, place, c->replacement->accessed(place, c->ways, &c->replacement_state));
}

/* Way to replace: an empty one, else the last in order that is not reserved. */
static uint32_t
victim(const struct cache *c, const struct set *t)
{
    for (uint32_t w = 0; w < c->ways; w++)
        if (t->tag[w] == NO_TAG)
            return w;
    for (uint32_t k = c->ways; k--;)
        if (!t->line[t->order[k]].pending)
            return t->order[k];
    return NO_WAY;
}

static void
replace(struct cache *c, const struct set *t, uint32_t way, uint64_t line,
        struct cache_eviction *ev)
{
    struct line *l = &t->line[way];
    if (t->tag[way] != NO_TAG && l->dirty && ev) {
        uint64_t whole = packet_words(l->dirty & l->valid);
        uint8_t some = l->dirty & l->partial;
        *ev = (struct cache_eviction){
            true, t->tag[way] << c->shift, l->dirty,
            whole | (some ? t->words[way] & packet_words(some) : 0)};
    }
    t->tag[way] = line;
    *l = (struct line){0};
    const unsigned to = c->replacement->filled(c->ways, &c->replacement_state);
    if (t->order[to] != way)
        move_to(t, place_of(t, way), to);
    c->empty = false;
}

/* These sectors are gone; the line too, if nothing of it is left or on its way. */
static void
drop(const struct set *t, uint32_t way, uint8_t sectors)
{
    struct line *l = &t->line[way];
    l->valid &= (uint8_t)~sectors;
    l->partial &= (uint8_t)~sectors;
    l->dirty &= (uint8_t)~sectors;
    if (!(l->valid | l->pending | l->partial))
        t->tag[way] = NO_TAG;
}

/* -- MSHRs -- */

static inline uint32_t *
chain_of(const struct cache *c, uint64_t line)
{
    return &c->chain[(uint32_t)(line * 0x9e3779b97f4a7c15u >> 40) & c->chain_mask];
}

static inline struct mshr *
mshr_find(const struct cache *c, uint64_t line)
{
    if (!c->used)
        return NULL;
    for (uint32_t i = *chain_of(c, line); i != NONE; i = c->mshr[i].next)
        if (c->mshr[i].line == line)
            return &c->mshr[i];
    return NULL;
}

/* The same of a line with this way: in a cache that reserves lines when they miss, one
 * that is on its way has one and says so, which saves the search. */
static inline struct mshr *
mshr_of(const struct cache *c, const struct set *t, uint32_t way, uint64_t line)
{
    if (!c->on_fill && (way == NO_WAY || !t->line[way].pending))
        return NULL;
    return mshr_find(c, line);
}

static struct mshr *
mshr_take(struct cache *c, uint64_t line)
{
    uint32_t i = freelist_take(&c->records), *chain = chain_of(c, line);
    c->mshr[i] = (struct mshr){.line = line, .next = *chain, .head = NONE, .tail = NONE};
    *chain = i;
    return &c->mshr[i];
}

static void
mshr_release(struct cache *c, struct mshr *e)
{
    uint32_t i = (uint32_t)(e - c->mshr), *link = chain_of(c, e->line);
    while (*link != i)
        link = &c->mshr[*link].next;
    *link = e->next;
    freelist_give(&c->records, i);
}

static void
wait_in(struct cache *c, struct mshr *e, uint32_t token, uint8_t want)
{
    if (e->here < HERE) {
        e->token[e->here] = token;
        e->want[e->here++] = want;
        return;
    }
    uint32_t w = c->free_waiter;
    if (w != NONE)
        c->free_waiter = c->waiter[w].next;
    else
        w = c->fresh_waiter++;
    c->waiters_left--;
    c->waiter[w] = (struct waiter){token, NONE, want};
    *(e->head == NONE ? &e->head : &c->waiter[e->tail].next) = w;
    e->tail = w;
}

/* Sectors arrive: waiters that need no others are woken. */
static void
wake_for(struct cache *c, struct mshr *e, uint8_t sectors,
         void (*wake)(void *user, uint32_t token), void *user)
{
    uint32_t before = NONE;
    uint32_t woken[HERE], n_woken = 0;
    for (unsigned i = 0; i < HERE; i++) { /* branchless; an empty place wants 0 */
        const bool wanted = e->want[i] & sectors;
        e->want[i] &= (uint8_t)~sectors;
        woken[n_woken] = e->token[i];
        n_woken += wanted & !e->want[i];
    }
    for (unsigned i = 0; i < n_woken; i++)
        wake(user, woken[i]);
    for (uint32_t w = e->head, next; w != NONE; w = next) {
        struct waiter *n = &c->waiter[w];
        next = n->next;
        bool waited = n->want & sectors;
        n->want &= (uint8_t)~sectors;
        if (!waited || n->want) {
            before = w;
            continue;
        }
        *(before == NONE ? &e->head : &c->waiter[before].next) = next;
        if (next == NONE)
            e->tail = before;
        n->next = c->free_waiter;
        c->free_waiter = w;
        c->waiters_left++;
        wake(user, n->token);
    }
}

/* The sectors of every fetch unit that `sectors` touch. */
static inline uint8_t
units_of(const struct cache *c, uint8_t sectors)
{
    sectors &= c->all;
    if (!c->unit_shift)
        return sectors;
    if (c->unit == c->all)
        return c->all;
    uint8_t r = 0;
    FOR_BITS(s, c->firsts)
    if (sectors >> s & c->unit)
        r |= (uint8_t)(c->unit << s);
    return r;
}

/* Loop over the fetch units in a mask made by units_of: s is the first sector of each. */
#define FOR_UNITS(s, c, mask) FOR_BITS(s, (mask) & (c)->firsts)

/* -- accesses -- */

/* Takes or joins MSHRs for `missing` (whole units) of a line that has this way (NO_WAY:
 * not here). waits: token waits. */
static enum cache_result
miss(struct cache *c, const struct set *t, uint32_t way, uint64_t line, uint8_t missing,
     bool waits, uint32_t token, bool room, struct cache_eviction *ev)
{
    struct mshr *e = mshr_of(c, t, way, line);
    uint8_t ask = e ? missing & (uint8_t)~e->coming : missing;
    bool here = way != NO_WAY, full = waits && !c->waiters_left;
    if (!here && ask && !c->on_fill && (way = victim(c, t)) == NO_WAY)
        return CACHE_NO_LINE;
    if (ask && !room)
        return CACHE_NO_QUEUE;
    FOR_UNITS(s, c, missing & ~ask)
    full |= waits && e->n[s >> c->unit_shift] >= c->merge;
    uint32_t fresh = (unsigned)__builtin_popcount(ask) >> c->unit_shift;
    /* An access that needs more MSHRs than there are has them when no other is in use. */
    if (full || (c->used && c->used + fresh > c->nmshr))
        return CACHE_NO_MSHR;

    if (ask && !c->on_fill) {
        if (!here)
            replace(c, t, way, line, ev);
        t->line[way].pending |= ask;
    }
    if (here)
        touch(c, t, way);
    if (!e)
        e = mshr_take(c, line);
    e->way = (uint16_t)(way == NO_WAY ? 0 : way);
    e->coming |= ask;
    c->used += fresh;
    if (waits) {
        wait_in(c, e, token, missing);
        FOR_UNITS(s, c, missing)
        e->n[s >> c->unit_shift]++;
    }
    c->asked = ask;
    c->asked_of = (uint32_t)(e - c->mshr);
    return !ask ? CACHE_HIT_PENDING : here ? CACHE_SECTOR_MISS : CACHE_MISS;
}

enum cache_result
cache_read(struct cache *c, uint64_t addr, uint8_t sectors, uint32_t token, uint64_t now,
           bool room, struct cache_eviction *ev)
{
    (void)now;
    if (ev)
        ev->any = false;
    c->asked = 0;
    if (c->perfect)
        return CACHE_HIT;
    uint64_t line = addr >> c->shift;
    struct set t = set_at(c, set_of(c, line));
    uint32_t w = find(c, &t, line);
    uint8_t want = units_of(c, sectors);
    assert(want); /* as in cache_write_words */
    if (w != NO_WAY) {
        uint8_t missing = want & (uint8_t)~t.line[w].valid;
        if (!missing) {
            touch(c, &t, w);
            return CACHE_HIT;
        }
        want = units_of(c, missing);
    }
    return miss(c, &t, w, line, want, true, token, room, ev);
}

uint8_t
cache_asked(const struct cache *c)
{
    return c->asked;
}

uint32_t
cache_asked_of(const struct cache *c)
{
    return c->asked_of;
}

bool
cache_sends(const struct cache *c)
{
    return c->sends;
}

/* Units that are whole when these sectors have come too. */
static inline uint8_t
whole_with(const struct cache *c, const struct mshr *e, uint8_t sectors)
{
    uint8_t units = units_of(c, sectors) & e->coming, whole = 0;
    if (!c->unit_shift)
        return units;
    FOR_UNITS(s, c, units)
    {
        uint8_t unit = (uint8_t)(c->unit << s);
        whole |= ((e->came | sectors) & unit) == unit ? unit : 0;
    }
    return whole;
}

bool
cache_fill_part(struct cache *c, uint32_t of, uint8_t sectors)
{
    struct mshr *e = &c->mshr[of];
    if (whole_with(c, e, sectors))
        return false;
    e->came |= sectors & e->coming;
    return true;
}

bool
cache_fill_of(struct cache *c, uint32_t of, uint8_t sectors,
              void (*wake)(void *user, uint32_t token), void *user,
              struct cache_eviction *ev)
{
    struct mshr *e = &c->mshr[of];
    uint8_t come = whole_with(c, e, sectors);
    if (ev)
        ev->any = false;
    e->came |= sectors & e->coming;
    if (!come)
        return false;
    uint64_t line = e->line;
    struct set t = set_at(c, set_of(c, line));
    uint32_t way = t.tag[e->way] == line ? e->way : find(c, &t, line);
    if (way == NO_WAY && c->on_fill && (way = victim(c, &t)) != NO_WAY)
        replace(c, &t, way, line, ev);
    if (way != NO_WAY) {
        struct line *l = &t.line[way];
        l->pending &= (uint8_t)~come;
        l->partial &= (uint8_t)~come;
        l->valid |= come;
        l->dirty |= e->dirty & come;
    }
    e->coming &= (uint8_t)~come;
    e->came &= (uint8_t)~come;
    e->dirty &= (uint8_t)~come;
    FOR_UNITS(s, c, come)
    {
        c->used--;
        e->n[s >> c->unit_shift] = 0;
        wake_for(c, e, (uint8_t)(c->unit << s), wake, user);
    }
    if (!e->coming)
        mshr_release(c, e);
    return true;
}

bool
cache_fill(struct cache *c, uint64_t addr, uint8_t sectors, uint64_t now,
           void (*wake)(void *user, uint32_t token), void *user,
           struct cache_eviction *ev)
{
    (void)now;
    const struct mshr *e = mshr_find(c, addr >> c->shift);
    if (ev)
        ev->any = false;
    return e && cache_fill_of(c, (uint32_t)(e - c->mshr), sectors, wake, user, ev);
}

void
cache_soon(const struct cache *c, uint64_t addr)
{
    const char *p = c->set + c->stride * set_of(c, addr >> c->shift);
    __builtin_prefetch(p);
    __builtin_prefetch(p + c->stride - 64);
}

void
cache_fill_soon(const struct cache *c, uint64_t addr, uint32_t of)
{
    cache_soon(c, addr);
    __builtin_prefetch(&c->mshr[of]);
}

/* The words of a written line become data: whole sectors readable, others partial. */
static void
put(const struct set *t, uint32_t way, uint8_t sectors, uint64_t words, bool dirty)
{
    struct line *l = &t->line[way];
    uint64_t *had = &t->words[way];
    uint8_t fresh = sectors & (uint8_t)~l->valid;
    uint64_t all = packet_words(fresh);
    uint64_t w = all & (words | (*had & packet_words(l->partial)));
    uint8_t some = packet_touched(all & ~w), whole = fresh & (uint8_t)~some;
    l->valid |= whole;
    l->partial = (uint8_t)((l->partial & ~whole) | some);
    uint64_t kept = packet_words(some);
    *had = (*had & ~kept) | (w & kept);
    if (dirty)
        l->dirty |= sectors;
}

enum cache_result
cache_write_words(struct cache *c, uint64_t addr, uint8_t sectors, uint64_t words,
                  bool local, uint64_t now, bool room, struct cache_eviction *ev)
{
    (void)now;
    if (ev)
        ev->any = false;
    c->asked = 0;
    enum machine_cache_write p =
        c->write == WRITE_LOCAL_BACK ? (local ? WRITE_BACK : WRITE_EVICT) : c->write;
    bool back = p == WRITE_BACK,
         allocate = (back || p == WRITE_THROUGH) && c->allocate != WRITE_ALLOCATE_NO;
    c->sends = !back;
    if (c->sends && !room)
        return CACHE_NO_QUEUE;
    if (c->perfect)
        return CACHE_HIT;

    uint64_t line = addr >> c->shift;
    struct set t = set_at(c, set_of(c, line));
    uint32_t way = find(c, &t, line);
    sectors &= c->all;
    /* An access names a sector of its line (coalesce.c: no segment is longer than a line).
     * Of none it would seem that all are here, where there may be no line. */
    assert(sectors);
    words &= packet_words(sectors);
    struct line *l = way == NO_WAY ? NULL : &t.line[way];
    const bool present = l;
    uint8_t here = l ? (uint8_t)(sectors & (l->valid | l->partial)) : 0;
    uint8_t rest = sectors & (uint8_t)~here, coming = 0;
    struct mshr *e = rest ? mshr_of(c, &t, way, line) : NULL;
    if (e)
        coming = rest & e->coming;
    rest &= (uint8_t)~coming;

    if (!allocate && (rest | coming)) { /* some of it is not here */
        if (!room)
            return CACHE_NO_QUEUE;
        c->sends = true;
        if (p == WRITE_EVICT && here)
            drop(&t, way, here);
        return !rest ? CACHE_HIT_PENDING : l ? CACHE_SECTOR_MISS : CACHE_MISS;
    }
    if (!(rest | coming)) { /* all here */
        touch(c, &t, way);
        if (p == WRITE_EVICT)
            drop(&t, way, here);
        else if (p != WRITE_READ_ONLY)
            put(&t, way, sectors, words, back);
        return CACHE_HIT;
    }

    enum cache_result r = CACHE_HIT_PENDING;
    if (rest) {
        uint8_t fetch = 0;
        if (c->allocate == WRITE_ALLOCATE_FETCH)
            FOR_UNITS(s, c, units_of(c, rest))
            {
                uint8_t u = (uint8_t)(c->unit << s);
                if ((words & packet_words(u)) != packet_words(u))
                    fetch |= u;
            }
        r = l ? CACHE_SECTOR_MISS : CACHE_MISS;
        if (fetch) {
            enum cache_result f = miss(c, &t, way, line, fetch, false, 0, room, ev);
            if (f >= CACHE_NO_LINE)
                return f;
        }
        if (way == NO_WAY && (rest & (uint8_t)~fetch || !c->on_fill)) {
            way = find(c, &t, line);
            if (way == NO_WAY) {
                uint32_t v = victim(c, &t);
                if (v == NO_WAY)
                    return CACHE_NO_LINE;
                if (t.tag[v] != NO_TAG && t.line[v].dirty && !room)
                    return CACHE_NO_QUEUE;
                replace(c, &t, way = v, line, ev);
            }
        }
        l = way == NO_WAY ? NULL : &t.line[way];
        coming |= rest & fetch;
        rest &= (uint8_t)~fetch;
    }
    if (l) {
        if (present)
            touch(c, &t, way);
        put(&t, way, here | rest, words, back);
    }
    if (back && coming && (e = mshr_find(c, line)))
        e->dirty |= coming & e->coming;
    return r;
}

enum cache_result
cache_write(struct cache *c, uint64_t addr, uint8_t sectors, bool full, uint64_t now,
            bool room, struct cache_eviction *ev)
{
    return cache_write_words(c, addr, sectors, full ? packet_words(sectors) : 0, false,
                             now, room, ev);
}

void
cache_invalidate(struct cache *c, uint64_t addr)
{
    uint64_t line = addr >> c->shift;
    struct set t = set_at(c, set_of(c, line));
    uint32_t way = find(c, &t, line);
    if (way != NO_WAY)
        drop(&t, way, 0xff);
}

void
cache_flush(struct cache *c)
{
    for (uint32_t i = 0; i < c->sets && !c->empty; i++) {
        struct set t = set_at(c, i);
        memset(t.tag, 0xff, c->most_ways * sizeof *t.tag);
        memset(t.line, 0, c->most_ways * sizeof *t.line);
    }
    c->empty = true;
}

void
cache_set_ways(struct cache *c, uint32_t ways)
{
    assert(ways && ways <= c->most_ways && !c->used);
    if (ways == c->ways)
        return;
    c->ways = ways;
    set_order(c);
}

unsigned
cache_pending(const struct cache *c)
{
    return c->used;
}
