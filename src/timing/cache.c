/* cache.c: one set-associative cache: tags, sectors, replacement, MSHRs, write policies.
 *
 * Lines are flat arrays: tags apart from the rest, so that a look-up scans consecutive
 * words (after trying the way that hit last in this set). MSHRs are found through a small
 * open-addressing hash (linear probing, backward-shift deletion), one MSHR per fetch
 * unit: a sector of a sectored cache, else the line. What waits in an MSHR is a list of
 * tokens from a fixed pool. Nothing is allocated after cache_new. Cost of a hit: one hash
 * of the address, one or two tag compares.
 *
 * Write policies (the `write` of the machine file; forward = the data go to the next
 * level): back       written line stays here, dirty; written back when evicted through
 * updates a present line, always forwarded evict      drops the written sectors if
 * present, always forwarded local-back local memory: back; everything else: evict (Fermi,
 * Kepler: L1s are not coherent, so that a global store must not leave an old copy)
 *   read-only  never holds written data; forwarded
 * On a write miss (`write_allocate`), for back and through:
 *   no         forwarded, no line
 *   fetch      a line is reserved and, unless the write covers it, fetched
 *   lazy-fetch a line is taken without fetching; sectors not fully written stay
 * unreadable until a read fetches them or further writes complete them A write to a
 * sector on its way merges with it (back, through with allocation) or, without
 * allocation, is forwarded.
 *
 * Lockup-free caches and MSHRs: D. Kroft, ISCA 1981. Sectors: J. S. Liptay, IBM Systems
 * Journal 7(1), 1968. Set hashes: see set_masks. */
#include "timing/cache.h"

#include <string.h>

#define NO_TAG UINT64_MAX
#define NO_WAY UINT32_MAX
#define NONE UINT32_MAX

enum write_policy { W_READ_ONLY, W_BACK, W_THROUGH, W_EVICT, W_LOCAL_BACK };
enum write_allocate { WA_NO, WA_FETCH, WA_LAZY };

struct line {
    uint64_t stamp;  /* order of last use (LRU) or of allocation (FIFO) */
    uint64_t words;  /* of `partial` sectors: words written */
    uint8_t valid;   /* sectors that can be read */
    uint8_t pending; /* sectors reserved by an MSHR */
    uint8_t dirty;
    uint8_t partial; /* sectors written in part, not readable */
};

struct mshr {
    uint64_t key;        /* line number * 8 + first sector */
    uint32_t head, tail; /* waiting tokens, NONE: empty */
    uint32_t n;          /* of them */
    uint8_t unit, came;  /* sectors: asked for, arrived */
    uint8_t dirty;       /* sectors written while on their way */
};

struct waiter {
    uint32_t token, next;
    uint32_t first; /* the waiter that counts for a read of several units */
    uint32_t left;  /* there: units still to come */
};

struct cache {
    uint32_t sets, ways, most_ways, shift, nsectors;
    uint8_t all, unit; /* sectors of the line; of a fetch unit, as mask at sector 0 */
    uint32_t unit_n;
    bool modulo, linear, lru, on_fill, perfect;
    enum write_policy write;
    enum write_allocate allocate;
    uint32_t merge;
    unsigned nmask; /* set index bit i = parity of line number & mask[i] */
    uint64_t mask[16];

    uint64_t *tag;
    struct line *line;
    uint32_t *recent; /* per set: way that hit last */
    uint64_t clock;   /* counts uses */

    struct mshr *mshr;
    uint32_t nmshr, used, free_mshr; /* free list through head */
    uint32_t *slot, slot_mask;       /* hash: mshr index or NONE */
    struct waiter *waiter;
    uint32_t free_waiter, waiters_left; /* list; how many more there can be */
    uint32_t fresh_waiter;              /* those from here on have never been used */

    uint8_t asked;
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
 * Cache Model Based on Reuse Distance Theory", HPCA 2014, section on hash functions: for
 *           128-byte lines, set bits 0..4 are address bits 7..11 XOR bits 13, 14, 15, 17,
 *           19; with 64 sets (48 KB) address bit 12 is set bit 5. That is published for
 * 32 and 64 sets; other counts fold all higher fields into the low one. ipoly   remainder
 * of the line number as a polynomial over GF(2) by an irreducible one: B. R. Rau,
 * "Pseudo-randomly interleaved memory", ISCA 1991. */
static void
set_masks(struct cache *c, const char *hash)
{
    unsigned n = c->nmask;
    for (unsigned i = 0; i < n; i++)
        c->mask[i] = (uint64_t)1 << i;
    if (!strcmp(hash, "xor")) {
        for (unsigned i = 0; i < n; i++)
            c->mask[i] |= (uint64_t)1 << (i + n);
    } else if (!strcmp(hash, "fermi") && (n == 5 || n == 6)) {
        static const uint8_t with[5] = {13 - 7, 14 - 7, 15 - 7, 17 - 7, 19 - 7};
        for (unsigned i = 0; i < 5; i++)
            c->mask[i] |= (uint64_t)1 << with[i];
    } else if (!strcmp(hash, "fermi")) {
        for (unsigned b = n; n && b < 64; b++)
            c->mask[b % n] |= (uint64_t)1 << b;
    } else if (!strcmp(hash, "ipoly")) {
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
}

static enum write_policy
write_policy(const char *s)
{
    static const char *const name[] = {"read-only", "back", "through", "evict",
                                       "local-back"};
    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(s, name[i]))
            return i;
    return W_READ_ONLY;
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
    c->unit_n = cfg->sector ? 1u << log2_up((cfg->sector + 31) / 32) : c->nsectors;
    if (c->unit_n > c->nsectors)
        c->unit_n = c->nsectors;
    c->unit = (uint8_t)((1u << c->unit_n) - 1);
    c->lru = strcmp(cfg->replacement, "fifo") != 0;
    c->on_fill = !strcmp(cfg->allocate, "fill");
    c->perfect = cfg->perfect;
    c->write = write_policy(cfg->write);
    c->allocate = !strcmp(cfg->write_allocate, "fetch")        ? WA_FETCH
                  : !strcmp(cfg->write_allocate, "lazy-fetch") ? WA_LAZY
                                                               : WA_NO;
    c->merge = cfg->merge ? cfg->merge : 1;
    c->nmask = log2_up(c->sets);
    c->modulo = (c->sets & (c->sets - 1)) != 0;
    c->linear = !strcmp(cfg->hash, "linear");
    if (!c->modulo)
        set_masks(c, cfg->hash);

    size_t lines = (size_t)c->sets * c->ways;
    c->tag = ARENA_ARRAY(a, uint64_t, lines);
    memset(c->tag, 0xff, lines * sizeof *c->tag);
    c->line = ARENA_ARRAY(a, struct line, lines);
    c->recent = ARENA_ARRAY(a, uint32_t, c->sets);

    c->nmshr = cfg->mshrs ? cfg->mshrs : 1;
    c->mshr = ARENA_ARRAY(a, struct mshr, c->nmshr);
    for (uint32_t i = 0; i < c->nmshr; i++)
        c->mshr[i].head = i + 1 < c->nmshr ? i + 1 : NONE;
    c->slot_mask = (2u << log2_up(c->nmshr)) - 1;
    c->slot = ARENA_ARRAY(a, uint32_t, (size_t)c->slot_mask + 1);
    memset(c->slot, 0xff, ((size_t)c->slot_mask + 1) * sizeof *c->slot);
    /* A read of several units keeps its first waiter until the last unit came: twice. */
    uint64_t want = (uint64_t)c->nmshr * c->merge * (c->unit_n < c->nsectors ? 2 : 1);
    c->waiters_left = want > 1 << 20 ? 1 << 20 : (uint32_t)want;
    if (c->waiters_left < c->nsectors)
        c->waiters_left = c->nsectors;
    c->waiter = ARENA_ARRAY(a, struct waiter, c->waiters_left);
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

/* Index of the line in the arrays, or NO_WAY. */
static inline uint32_t
find(struct cache *c, uint32_t set, uint64_t line)
{
    const uint64_t *t = c->tag + (size_t)set * c->ways;
    uint32_t base = set * c->ways;
    if (t[c->recent[set]] == line)
        return base + c->recent[set];
    for (uint32_t w = 0; w < c->ways; w++)
        if (t[w] == line) {
            c->recent[set] = w;
            return base + w;
        }
    return NO_WAY;
}

static inline void
touch(struct cache *c, uint32_t i)
{
    if (c->lru)
        c->line[i].stamp = ++c->clock;
}

/* Way to replace: an empty one, else the one with the smallest stamp that is not
 * reserved. */
static uint32_t
victim(const struct cache *c, uint32_t set)
{
    uint32_t base = set * c->ways, best = NO_WAY;
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = base; i < base + c->ways; i++) {
        if (c->tag[i] == NO_TAG)
            return i;
        if (!c->line[i].pending && c->line[i].stamp < oldest) {
            oldest = c->line[i].stamp;
            best = i;
        }
    }
    return best;
}

/* Words of the line that `sectors` cover. */
static uint64_t
words_of(uint8_t sectors)
{
    uint64_t w = 0;
    for (unsigned s = 0; s < 8; s++)
        if (sectors >> s & 1)
            w |= (uint64_t)0xff << (8 * s);
    return w;
}

static void
replace(struct cache *c, uint32_t set, uint32_t i, uint64_t line,
        struct cache_eviction *ev)
{
    struct line *l = &c->line[i];
    if (c->tag[i] != NO_TAG && l->dirty && ev) {
        uint64_t whole = words_of(l->dirty & l->valid);
        *ev =
            (struct cache_eviction){true, c->tag[i] << c->shift, l->dirty,
                                    whole | (l->words & words_of(l->dirty & l->partial))};
    }
    c->tag[i] = line;
    *l = (struct line){.stamp = ++c->clock};
    c->recent[set] = i - set * c->ways;
}

/* These sectors are gone; the line too, if nothing of it is left or on its way. */
static void
drop(struct cache *c, uint32_t i, uint8_t sectors)
{
    struct line *l = &c->line[i];
    l->valid &= (uint8_t)~sectors;
    l->partial &= (uint8_t)~sectors;
    l->dirty &= (uint8_t)~sectors;
    if (!(l->valid | l->pending | l->partial))
        c->tag[i] = NO_TAG;
}

/* -- MSHRs -- */

static inline uint32_t
slot_of(const struct cache *c, uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) & c->slot_mask;
}

static uint32_t
mshr_find(const struct cache *c, uint64_t key)
{
    if (!c->used)
        return NONE;
    for (uint32_t s = slot_of(c, key);; s = (s + 1) & c->slot_mask) {
        uint32_t m = c->slot[s];
        if (m == NONE || c->mshr[m].key == key)
            return m;
    }
}

static struct mshr *
mshr_take(struct cache *c, uint64_t key, uint8_t unit)
{
    uint32_t m = c->free_mshr;
    struct mshr *e = &c->mshr[m];
    c->free_mshr = e->head;
    c->used++;
    *e = (struct mshr){.key = key, .head = NONE, .tail = NONE, .unit = unit};
    uint32_t s = slot_of(c, key);
    while (c->slot[s] != NONE)
        s = (s + 1) & c->slot_mask;
    c->slot[s] = m;
    return e;
}

static void
mshr_release(struct cache *c, uint32_t m)
{
    uint32_t s = slot_of(c, c->mshr[m].key);
    while (c->slot[s] != m)
        s = (s + 1) & c->slot_mask;
    for (uint32_t t = s;;) { /* close the gap */
        t = (t + 1) & c->slot_mask;
        if (c->slot[t] == NONE)
            break;
        uint32_t home = slot_of(c, c->mshr[c->slot[t]].key);
        if (((t - home) & c->slot_mask) >= ((t - s) & c->slot_mask)) {
            c->slot[s] = c->slot[t];
            s = t;
        }
    }
    c->slot[s] = NONE;
    c->mshr[m].head = c->free_mshr;
    c->free_mshr = m;
    c->used--;
}

static uint32_t
wait_in(struct cache *c, struct mshr *e, uint32_t token, uint32_t first)
{
    uint32_t w = c->free_waiter;
    if (w != NONE)
        c->free_waiter = c->waiter[w].next;
    else
        w = c->fresh_waiter++;
    struct waiter *n = &c->waiter[w];
    c->waiters_left--;
    *n = (struct waiter){token, NONE, first == NONE ? w : first, 0};
    c->waiter[n->first].left++;
    if (e->head == NONE)
        e->head = w;
    else
        c->waiter[e->tail].next = w;
    e->tail = w;
    e->n++;
    return n->first;
}

static inline void
waiter_free(struct cache *c, uint32_t w)
{
    c->waiter[w].next = c->free_waiter;
    c->free_waiter = w;
    c->waiters_left++;
}

/* The sectors of every fetch unit that `sectors` touch. */
static inline uint8_t
units_of(const struct cache *c, uint8_t sectors)
{
    sectors &= c->all;
    if (c->unit_n == 1)
        return sectors;
    if (c->unit_n == c->nsectors)
        return c->all;
    uint8_t r = 0;
    for (unsigned s = 0; s < c->nsectors; s += c->unit_n)
        if (sectors >> s & c->unit)
            r |= (uint8_t)(c->unit << s);
    return r;
}

static inline uint64_t
key_of(uint64_t line, unsigned sector)
{
    return line << 3 | sector;
}

/* Loop over the fetch units in a mask made by units_of: s is the first sector of each. */
#define FOR_UNITS(s, c, mask)                                                            \
    for (unsigned s = 0; s < (c)->nsectors; s += (c)->unit_n)                            \
        if ((mask) >> s & (c)->unit)

/* -- accesses -- */

/* Takes or joins MSHRs for `missing` (whole units) of a line that is at index i (NO_WAY:
 * not here). waits: token waits. */
static enum cache_result
miss(struct cache *c, uint32_t set, uint32_t i, uint64_t line, uint8_t missing,
     bool waits, uint32_t token, bool room, struct cache_eviction *ev)
{
    uint32_t fresh = 0, joined = 0;
    uint8_t ask = 0;
    bool full = false;
    FOR_UNITS(s, c, missing)
    {
        uint32_t m = mshr_find(c, key_of(line, s));
        if (m == NONE) {
            fresh++;
            ask |= (uint8_t)(c->unit << s);
        } else {
            joined++;
            full |= waits && c->mshr[m].n >= c->merge;
        }
    }
    uint32_t way = i;
    if (way == NO_WAY && fresh && !c->on_fill && (way = victim(c, set)) == NO_WAY)
        return CACHE_NO_LINE;
    if (fresh && !room)
        return CACHE_NO_QUEUE;
    if (full || c->used + fresh > c->nmshr || (waits && fresh + joined > c->waiters_left))
        return CACHE_NO_MSHR;

    if (fresh && !c->on_fill) {
        if (i == NO_WAY)
            replace(c, set, way, line, ev);
        c->line[way].pending |= ask;
    }
    if (way != NO_WAY)
        touch(c, way);
    uint32_t first = NONE;
    FOR_UNITS(s, c, missing)
    {
        uint32_t m = mshr_find(c, key_of(line, s));
        struct mshr *e = m == NONE
                             ? mshr_take(c, key_of(line, s), (uint8_t)(c->unit << s))
                             : &c->mshr[m];
        if (waits)
            first = wait_in(c, e, token, first);
    }
    c->asked = ask;
    return !fresh ? CACHE_HIT_PENDING : i == NO_WAY ? CACHE_MISS : CACHE_SECTOR_MISS;
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
    uint32_t set = set_of(c, line);
    uint32_t i = find(c, set, line);
    uint8_t want = units_of(c, sectors);
    if (i != NO_WAY) {
        uint8_t missing = want & (uint8_t)~c->line[i].valid;
        if (!missing) {
            touch(c, i);
            return CACHE_HIT;
        }
        want = units_of(c, missing);
    }
    return miss(c, set, i, line, want, true, token, room, ev);
}

uint8_t
cache_asked(const struct cache *c)
{
    return c->asked;
}

bool
cache_sends(const struct cache *c)
{
    return c->sends;
}

bool
cache_fill(struct cache *c, uint64_t addr, uint8_t sectors, uint64_t now,
           void (*wake)(void *user, uint32_t token), void *user,
           struct cache_eviction *ev)
{
    (void)now;
    if (ev)
        ev->any = false;
    uint64_t line = addr >> c->shift;
    bool any = false;
    FOR_UNITS(s, c, units_of(c, sectors))
    {
        uint32_t m = mshr_find(c, key_of(line, s));
        if (m == NONE)
            continue;
        struct mshr *e = &c->mshr[m];
        e->came |= sectors & e->unit;
        if (e->came != e->unit)
            continue;
        uint32_t set = set_of(c, line), i = find(c, set, line);
        if (i == NO_WAY && c->on_fill && (i = victim(c, set)) != NO_WAY)
            replace(c, set, i, line, ev);
        if (i != NO_WAY) {
            struct line *l = &c->line[i];
            l->pending &= (uint8_t)~e->unit;
            l->partial &= (uint8_t)~e->unit;
            l->valid |= e->unit;
            l->dirty |= e->dirty;
        }
        uint32_t w = e->head;
        any = true;
        mshr_release(c, m);
        while (w != NONE) {
            struct waiter *n = &c->waiter[w], *f = &c->waiter[n->first];
            uint32_t next = n->next, first = n->first, token = n->token;
            bool last = --f->left == 0;
            if (w != first)
                waiter_free(c, w);
            if (last) {
                waiter_free(c, first);
                wake(user, token);
            }
            w = next;
        }
    }
    return any;
}

/* The words of a written line become data: whole sectors readable, others partial. */
static void
put(struct line *l, uint8_t sectors, uint64_t words, bool dirty)
{
    for (unsigned s = 0; s < 8; s++) {
        uint8_t bit = (uint8_t)(1u << s);
        if (!(sectors & bit) || l->valid & bit)
            continue;
        uint64_t m = (uint64_t)0xff << (8 * s);
        if (!(l->partial & bit))
            l->words &= ~m;
        l->words |= words & m;
        if ((l->words & m) == m) {
            l->valid |= bit;
            l->partial &= (uint8_t)~bit;
        } else {
            l->partial |= bit;
        }
    }
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
    enum write_policy p =
        c->write == W_LOCAL_BACK ? (local ? W_BACK : W_EVICT) : c->write;
    bool back = p == W_BACK, allocate = (back || p == W_THROUGH) && c->allocate != WA_NO;
    c->sends = !back;
    if (c->sends && !room)
        return CACHE_NO_QUEUE;
    if (c->perfect)
        return CACHE_HIT;

    uint64_t line = addr >> c->shift;
    uint32_t set = set_of(c, line), i = find(c, set, line);
    sectors &= c->all;
    words &= words_of(sectors);
    struct line *l = i == NO_WAY ? NULL : &c->line[i];
    uint8_t here = l ? (uint8_t)(sectors & (l->valid | l->partial)) : 0;
    uint8_t rest = sectors & (uint8_t)~here, coming = 0;
    if (rest && c->used)
        FOR_UNITS(s, c, units_of(c, rest))
        {
            if (mshr_find(c, key_of(line, s)) != NONE)
                coming |= rest & (uint8_t)(c->unit << s);
        }
    rest &= (uint8_t)~coming;

    if (!allocate && (rest | coming)) { /* some of it is not here */
        if (!room)
            return CACHE_NO_QUEUE;
        c->sends = true;
        if (p == W_EVICT && here)
            drop(c, i, here);
        return !rest ? CACHE_HIT_PENDING : l ? CACHE_SECTOR_MISS : CACHE_MISS;
    }
    if (!(rest | coming)) { /* all here */
        touch(c, i);
        if (p == W_EVICT)
            drop(c, i, here);
        else if (p != W_READ_ONLY)
            put(l, sectors, words, back);
        return CACHE_HIT;
    }

    enum cache_result r = CACHE_HIT_PENDING;
    if (rest) {
        uint8_t fetch = 0;
        if (c->allocate == WA_FETCH)
            FOR_UNITS(s, c, units_of(c, rest))
            {
                uint8_t u = (uint8_t)(c->unit << s);
                if ((words & words_of(u)) != words_of(u))
                    fetch |= u;
            }
        r = l ? CACHE_SECTOR_MISS : CACHE_MISS;
        if (fetch) {
            enum cache_result f = miss(c, set, i, line, fetch, false, 0, room, ev);
            if (f >= CACHE_NO_LINE)
                return f;
        }
        if (i == NO_WAY && (rest & (uint8_t)~fetch || !c->on_fill)) {
            i = find(c, set, line);
            if (i == NO_WAY) {
                uint32_t v = victim(c, set);
                if (v == NO_WAY)
                    return CACHE_NO_LINE;
                if (c->tag[v] != NO_TAG && c->line[v].dirty && !room)
                    return CACHE_NO_QUEUE;
                replace(c, set, i = v, line, ev);
            }
        }
        l = i == NO_WAY ? NULL : &c->line[i];
        coming |= rest & fetch;
        rest &= (uint8_t)~fetch;
    }
    if (l) {
        touch(c, i);
        put(l, here | rest, words, back);
    }
    if (back && coming)
        FOR_UNITS(s, c, units_of(c, coming))
        {
            uint32_t m = mshr_find(c, key_of(line, s));
            if (m != NONE)
                c->mshr[m].dirty |= coming & c->mshr[m].unit;
        }
    return r;
}

enum cache_result
cache_write(struct cache *c, uint64_t addr, uint8_t sectors, bool full, uint64_t now,
            bool room, struct cache_eviction *ev)
{
    return cache_write_words(c, addr, sectors, full ? words_of(sectors) : 0, false, now,
                             room, ev);
}

void
cache_invalidate(struct cache *c, uint64_t addr)
{
    uint64_t line = addr >> c->shift;
    uint32_t i = find(c, set_of(c, line), line);
    if (i != NO_WAY)
        drop(c, i, 0xff);
}

void
cache_flush(struct cache *c)
{
    size_t n = (size_t)c->sets * c->most_ways;
    memset(c->tag, 0xff, n * sizeof *c->tag);
    memset(c->line, 0, n * sizeof *c->line);
}

void
cache_set_ways(struct cache *c, uint32_t ways)
{
    assert(ways && ways <= c->most_ways && !c->used);
    c->ways = ways;
    memset(c->recent, 0, c->sets * sizeof *c->recent);
}

unsigned
cache_pending(const struct cache *c)
{
    return c->used;
}
