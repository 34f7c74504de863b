/* timing_cache.c: caches. Rules one by one, then random traces against a slow model
 * written from the description in cache.c's head (ordered lists, sector by sector), for
 * every combination of policies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "timing/mem/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct replacement_policy replacement_lru, replacement_fifo;
static const struct cache_config plain = {4,
                                          128,
                                          2,
                                          0,
                                          8,
                                          4,
                                          CACHE_LINEAR,
                                          &replacement_lru,
                                          ALLOCATE_ON_MISS,
                                          WRITE_BACK,
                                          WRITE_ALLOCATE_NO,
                                          false};

static uint32_t woken[4096];
static unsigned nwoken;

static void
wake(void *user, uint32_t token)
{
    (void)user;
    woken[nwoken++] = token;
}

static struct cache *
make(struct arena *a, struct cache_config cfg)
{
    return cache_new(a, &cfg);
}

/* -- rules -- */

static void
merges_until_the_limit_then_refuses(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache *c = make(&a, plain);
    struct cache_eviction ev;
    nwoken = 0;
    assert_int_equal(cache_read(c, 0x1000, 1, 10, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_asked(c), 15); /* whole line */
    for (uint32_t t = 11; t < 14; t++)
        assert_int_equal(cache_read(c, 0x1060, 8, t, 0, false, &ev), CACHE_HIT_PENDING);
    assert_int_equal(cache_read(c, 0x1000, 1, 14, 0, true, &ev), CACHE_NO_MSHR);
    assert_int_equal(cache_pending(c), 1);
    /* The line comes in four pieces: usable only with the last. */
    for (unsigned s = 0; s < 4; s++) {
        assert_int_equal(nwoken, 0);
        cache_fill(c, 0x1000, (uint8_t)(1u << s), 0, wake, NULL, &ev);
    }
    assert_int_equal(nwoken, 4);
    for (uint32_t t = 0; t < 4; t++)
        assert_int_equal(woken[t], 10 + t);
    assert_int_equal(cache_read(c, 0x1000, 1, 14, 0, false, &ev), CACHE_HIT);
    assert_int_equal(cache_pending(c), 0);
    arena_free(&a);
}

static void
refuses_for_lack_of_lines_mshrs_and_room(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache *c = make(&a, plain); /* 4 sets, 2 ways, 8 MSHRs */
    struct cache_eviction ev;
    assert_int_equal(cache_read(c, 0x000, 1, 0, 0, false, &ev), CACHE_NO_QUEUE);
    assert_int_equal(cache_read(c, 0x000, 1, 0, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_read(c, 0x200, 1, 1, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_read(c, 0x400, 1, 2, 0, true, &ev), CACHE_NO_LINE);
    cache_fill(c, 0x200, 15, 0, wake, NULL, &ev);
    assert_int_equal(cache_read(c, 0x400, 1, 2, 0, true, &ev), CACHE_MISS);
    /* six more sets' worth of misses fill the MSHRs */
    struct cache_config two = plain;
    two.mshrs = 2;
    c = make(&a, two);
    assert_int_equal(cache_read(c, 0x000, 1, 0, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_read(c, 0x080, 1, 1, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_read(c, 0x100, 1, 2, 0, true, &ev), CACHE_NO_MSHR);
    cache_fill(c, 0x000, 15, 0, wake, NULL, &ev);
    assert_int_equal(cache_read(c, 0x100, 1, 2, 0, true, &ev), CACHE_MISS);
    arena_free(&a);
}

/* It would wait for ever. */
static void
needs_more_mshrs_than_there_are(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache_config two = plain;
    two.mshrs = 2;
    two.sector = 32;
    struct cache *c = make(&a, two);
    struct cache_eviction ev;
    assert_int_equal(cache_read(c, 0x080, 1, 0, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_read(c, 0x000, 7, 1, 0, true, &ev), CACHE_NO_MSHR);
    cache_fill(c, 0x080, 1, 0, wake, NULL, &ev);
    assert_int_equal(cache_read(c, 0x000, 7, 1, 0, true, &ev), CACHE_MISS);
    assert_int_equal(cache_read(c, 0x080, 2, 2, 0, true, &ev), CACHE_NO_MSHR);
    nwoken = 0;
    cache_fill(c, 0x000, 7, 0, wake, NULL, &ev);
    assert_int_equal(nwoken, 1);
    assert_int_equal(cache_pending(c), 0);
    arena_free(&a);
}

static void
lru_and_fifo_choose_different_victims(void **state)
{
    (void)state;
    struct arena a = {0};
    for (int fifo = 0; fifo < 2; fifo++) {
        struct cache_config cfg = plain;
        cfg.replacement = replacement_find(fifo ? "fifo" : "lru");
        struct cache *c = make(&a, cfg);
        struct cache_eviction ev;
        cache_read(c, 0x000, 1, 0, 0, true, &ev);
        cache_read(c, 0x200, 1, 0, 0, true, &ev);
        cache_fill(c, 0x000, 15, 0, wake, NULL, &ev);
        cache_fill(c, 0x200, 15, 0, wake, NULL, &ev);
        assert_int_equal(cache_read(c, 0x000, 1, 0, 0, true, &ev), CACHE_HIT);
        cache_read(c, 0x400, 1, 0, 0, true, &ev);
        assert_int_equal(cache_read(c, fifo ? 0x200 : 0x000, 1, 0, 0, true, &ev),
                         CACHE_HIT);
    }
    arena_free(&a);
}

/* A policy of the test: new lines enter at the last place, an access moves a line one
 * place up. */
static unsigned
enter_last(unsigned ways, uint64_t *state)
{
    ++*state;
    return ways - 1;
}

static unsigned
one_up(unsigned place, unsigned ways, uint64_t *state)
{
    assert_true(place > 0 && place < ways);
    assert_true(*state > 0); /* the policy's own word */
    return place - 1;
}

static const struct replacement_policy last_in = {"last-in", "", enter_last, one_up};

static void
a_policy_places_new_lines(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache_config cfg = plain;
    cfg.sets = 1, cfg.ways = 3;
    cfg.replacement = &last_in;
    struct cache *c = make(&a, cfg);
    struct cache_eviction ev;
    /* Order, next to be replaced last: after these fills 0, 1, 2. */
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(cache_read(c, i * 128, 1, 0, 0, true, &ev), CACHE_MISS);
        cache_fill(c, i * 128, 15, 0, wake, NULL, &ev);
    }
    /* 3 replaces 2. */
    assert_int_equal(cache_read(c, 3 * 128, 1, 0, 0, true, &ev), CACHE_MISS);
    cache_fill(c, 3 * 128, 15, 0, wake, NULL, &ev);
    /* A hit on 3: order 0, 3, 1. 4 replaces 1. */
    assert_int_equal(cache_read(c, 3 * 128, 1, 0, 0, true, &ev), CACHE_HIT);
    assert_int_equal(cache_read(c, 4 * 128, 1, 0, 0, true, &ev), CACHE_MISS);
    cache_fill(c, 4 * 128, 15, 0, wake, NULL, &ev);
    assert_int_equal(cache_read(c, 0 * 128, 1, 0, 0, true, &ev), CACHE_HIT);
    assert_int_equal(cache_read(c, 3 * 128, 1, 0, 0, true, &ev), CACHE_HIT);
    /* That moved 3 to the front: 3, 0, 4. */
    assert_int_equal(cache_read(c, 1 * 128, 1, 0, 0, true, &ev), CACHE_MISS); /* for 4 */
    cache_fill(c, 1 * 128, 15, 0, wake, NULL, &ev);
    assert_int_equal(cache_read(c, 3 * 128, 1, 0, 0, true, &ev), CACHE_HIT);
    assert_int_equal(cache_read(c, 0 * 128, 1, 0, 0, true, &ev), CACHE_HIT);
    assert_int_equal(cache_read(c, 2 * 128, 1, 0, 0, true, &ev), CACHE_MISS);
    /* Two ways: 2 replaces 1; the miss that brought 1 in is no access. */
    cfg.ways = 2;
    c = make(&a, cfg);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(cache_read(c, i * 128, 1, 0, 0, true, &ev), CACHE_MISS);
        cache_fill(c, i * 128, 15, 0, wake, NULL, &ev);
    }
    assert_int_equal(cache_read(c, 0 * 128, 1, 0, 0, true, &ev), CACHE_HIT);
    arena_free(&a);
}

/* The same of lines that writes bring in. */
static void
a_policy_places_written_lines(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache_config cfg = plain;
    cfg.sets = 1, cfg.ways = 2;
    cfg.write_allocate = WRITE_ALLOCATE_LAZY;
    cfg.replacement = &last_in;
    struct cache *c = make(&a, cfg);
    struct cache_eviction ev;
    for (unsigned i = 0; i < 3; i++) /* 2 replaces 1 */
        assert_int_equal(cache_write(c, i * 128, 15, true, 0, true, &ev), CACHE_MISS);
    assert_int_equal(ev.addr, 128);
    assert_int_equal(cache_write(c, 0, 15, true, 0, true, &ev), CACHE_HIT);
    arena_free(&a);
}

static void
lazy_fetch_reads_what_partial_writes_left_out(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache_config cfg = plain;
    cfg.sector = 32;
    cfg.write_allocate = WRITE_ALLOCATE_LAZY;
    struct cache *c = make(&a, cfg);
    struct cache_eviction ev;
    nwoken = 0;
    /* Half a sector: written without fetching; a read of it fetches; another sector
     * misses. */
    assert_int_equal(cache_write_words(c, 0x0, 1, 0x0f, false, 0, false, &ev),
                     CACHE_MISS);
    assert_false(cache_sends(c));
    assert_int_equal(cache_asked(c), 0);
    assert_int_equal(cache_read(c, 0x0, 1, 5, 0, true, &ev), CACHE_SECTOR_MISS);
    assert_int_equal(cache_asked(c), 1);
    cache_fill(c, 0x0, 1, 0, wake, NULL, &ev);
    assert_int_equal(nwoken, 1);
    assert_int_equal(cache_read(c, 0x0, 1, 5, 0, true, &ev), CACHE_HIT);
    /* Two halves make a whole: no fetch. */
    assert_int_equal(cache_write_words(c, 0x20, 2, 0x0f00, false, 0, true, &ev),
                     CACHE_SECTOR_MISS);
    assert_int_equal(cache_write_words(c, 0x20, 2, 0xf000, false, 0, true, &ev),
                     CACHE_HIT);
    assert_int_equal(cache_read(c, 0x20, 2, 6, 0, true, &ev), CACHE_HIT);
    assert_int_equal(cache_write(c, 0x40, 4, true, 0, true, &ev), CACHE_SECTOR_MISS);
    assert_int_equal(cache_read(c, 0x40, 4, 7, 0, true, &ev), CACHE_HIT);
    assert_int_equal(cache_write(c, 0x60, 8, false, 0, true, &ev), CACHE_SECTOR_MISS);
    /* Driven out: dirty sectors and the words that hold data. */
    cache_write(c, 0x200, 1, true, 0, true, &ev);
    assert_false(ev.any);
    cache_write(c, 0x400, 1, true, 0, true, &ev);
    assert_true(ev.any);
    assert_int_equal(ev.addr, 0);
    assert_int_equal(ev.dirty_sectors, 15);
    assert_int_equal(ev.words, 0x00ffffff);
    arena_free(&a);
}

static void
local_back_keeps_local_stores_and_drops_global_ones(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache_config cfg = plain;
    cfg.write = WRITE_LOCAL_BACK;
    struct cache *c = make(&a, cfg);
    struct cache_eviction ev;
    /* Nothing there: no line is made, the data go on. */
    assert_int_equal(cache_write_words(c, 0, 15, ~0u, true, 0, true, &ev), CACHE_MISS);
    assert_true(cache_sends(c));
    assert_int_equal(cache_write_words(c, 0, 15, ~0u, true, 0, false, &ev),
                     CACHE_NO_QUEUE);
    assert_int_equal(cache_read(c, 0, 15, 0, 0, true, &ev), CACHE_MISS);
    /* On its way: merged by nobody, sent on. */
    assert_int_equal(cache_write_words(c, 0, 15, ~0u, true, 0, true, &ev),
                     CACHE_HIT_PENDING);
    assert_true(cache_sends(c));
    cache_fill(c, 0, 15, 0, wake, NULL, &ev);
    assert_int_equal(cache_write_words(c, 0, 15, ~0u, true, 0, false, &ev), CACHE_HIT);
    assert_false(cache_sends(c));
    assert_int_equal(cache_read(c, 0, 15, 0, 0, true, &ev), CACHE_HIT);
    /* A global store to a present line drops it. */
    assert_int_equal(cache_write_words(c, 0, 15, ~0u, false, 0, true, &ev), CACHE_HIT);
    assert_true(cache_sends(c));
    assert_int_equal(cache_read(c, 0, 15, 0, 0, true, &ev), CACHE_MISS);
    arena_free(&a);
}

static void
perfect_always_hits(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache_config cfg = plain;
    cfg.perfect = true;
    struct cache *c = make(&a, cfg);
    struct cache_eviction ev;
    for (uint64_t x = 0; x < 100000; x += 777)
        assert_int_equal(cache_read(c, x, 1, 0, 0, false, &ev), CACHE_HIT);
    assert_int_equal(cache_pending(c), 0);
    arena_free(&a);
}

static void
flush_and_invalidate_empty_lines(void **state)
{
    (void)state;
    struct arena a = {0};
    struct cache *c = make(&a, plain);
    struct cache_eviction ev;
    for (uint64_t x = 0; x < 0x400; x += 0x80) {
        cache_read(c, x, 1, 0, 0, true, &ev);
        cache_fill(c, x, 15, 0, wake, NULL, &ev);
    }
    cache_invalidate(c, 0x85);
    assert_int_equal(cache_read(c, 0x80, 1, 0, 0, false, &ev), CACHE_NO_QUEUE);
    assert_int_equal(cache_read(c, 0x100, 1, 0, 0, false, &ev), CACHE_HIT);
    cache_flush(c);
    assert_int_equal(cache_read(c, 0x100, 1, 0, 0, false, &ev), CACHE_NO_QUEUE);
    arena_free(&a);
}

/* -- set indices against formulas written down a second time -- */

/* Remainder of the polynomial x by p, bit by bit from the top (school division). */
static uint64_t
poly_mod(uint64_t x, uint64_t p, unsigned degree)
{
    for (int b = 63; b >= (int)degree; b--)
        if (x >> b & 1)
            x ^= p << (b - (int)degree);
    return x;
}

static unsigned
set_reference(const struct cache_config *cfg, uint64_t addr)
{
    uint64_t line = addr / cfg->line;
    if (cfg->sets & (cfg->sets - 1) || cfg->hash == CACHE_LINEAR)
        return (unsigned)(line % cfg->sets);
    if (cfg->hash == CACHE_XOR)
        return (unsigned)((line ^ line / cfg->sets) % cfg->sets);
    if (cfg->hash == CACHE_IPOLY) {
        static const struct {
            unsigned sets, degree;
            uint64_t p; /* x^4+x+1, x^5+x^2+1, x^6+x+1, x^2+x+1, x+1 */
        } t[] = {{16, 4, 0x13}, {32, 5, 0x25}, {64, 6, 0x43}, {4, 2, 7}, {2, 1, 3}};
        for (unsigned i = 0; i < sizeof t / sizeof *t; i++)
            if (t[i].sets == cfg->sets)
                return (unsigned)poly_mod(line, t[i].p, t[i].degree);
        return 0;
    }
    /* Nugteren et al. 2014, as printed there: address bits. */
    unsigned low = (unsigned)(addr >> 7) & 31;
    unsigned high =
        ((addr >> 13) & 7) | ((addr >> 17 & 1) << 3) | ((addr >> 19 & 1) << 4);
    return (low ^ high) | (cfg->sets == 64 ? (unsigned)(addr >> 12 & 1) << 5 : 0);
}

static uint64_t rng_state;

static uint32_t
rnd(uint32_t n)
{
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((rng_state >> 33) % n);
}

static void
set_hashes_follow_their_publications(void **state)
{
    (void)state;
    struct arena a = {0};
    static const struct {
        enum machine_cache_hash hash;
        unsigned sets;
    } t[] = {{CACHE_LINEAR, 32}, {CACHE_LINEAR, 12}, {CACHE_FERMI, 32}, {CACHE_FERMI, 64},
             {CACHE_XOR, 8},     {CACHE_IPOLY, 16},  {CACHE_IPOLY, 32}, {CACHE_IPOLY, 64},
             {CACHE_IPOLY, 4},   {CACHE_IPOLY, 2}};
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        struct cache_config cfg = plain;
        cfg.hash = t[i].hash;
        cfg.sets = t[i].sets;
        struct cache *c = make(&a, cfg);
        rng_state = i;
        for (unsigned k = 0; k < 3000; k++) {
            uint64_t addr = (uint64_t)rnd(1u << 31) << 9 | rnd(512);
            assert_int_equal(cache_set(c, addr), set_reference(&cfg, addr));
        }
    }
    /* Lines apart by a power of two spread over the sets; linear puts them into one. */
    struct cache_config cfg = plain;
    cfg.sets = 32;
    cfg.hash = CACHE_IPOLY;
    struct cache *c = make(&a, cfg);
    uint32_t seen = 0;
    for (uint64_t k = 0; k < 32; k++)
        seen |= 1u << cache_set(c, k << 12);
    assert_int_equal(seen, 0xffffffff);
    arena_free(&a);
}

/* -- the slow model -- */

enum { ABSENT, VALID, PARTIAL };

struct rline {
    uint64_t line;
    int st[8];
    bool pend[8], dirty[8], word[8][8];
};

struct rwait {
    uint32_t token;
    uint64_t line;
    unsigned units; /* still to come */
};

struct rmshr {
    uint64_t line;
    unsigned unit, came, n;
    bool dirty[8];
};

struct ref {
    struct cache_config cfg;
    unsigned nsec, usec;      /* sectors in a line, in a fetch unit */
    struct rline set[64][16]; /* order: most recent first */
    unsigned n[64];
    struct rmshr m[64];
    unsigned nm;
    struct rwait w[4096];
    unsigned nw;
    unsigned asked;
    bool sends;
    struct cache_eviction ev;
    uint32_t woke[4096];
    unsigned nwoke;
};

static int
r_at(struct ref *r, unsigned s, uint64_t line)
{
    for (unsigned i = 0; i < r->n[s]; i++)
        if (r->set[s][i].line == line)
            return (int)i;
    return -1;
}

static int
r_mshr(struct ref *r, uint64_t line, unsigned unit)
{
    for (unsigned i = 0; i < r->nm; i++)
        if (r->m[i].line == line && r->m[i].unit == unit)
            return (int)i;
    return -1;
}

static void
r_remove(struct ref *r, unsigned s, int i)
{
    memmove(&r->set[s][i], &r->set[s][i + 1],
            (r->n[s] - (unsigned)i - 1) * sizeof r->set[0][0]);
    r->n[s]--;
}

static void
r_to_front(struct ref *r, unsigned s, int i)
{
    struct rline x = r->set[s][i];
    memmove(&r->set[s][1], &r->set[s][0], (unsigned)i * sizeof x);
    r->set[s][0] = x;
}

/* i: of the line; returns where it is now. */
static int
r_use(struct ref *r, unsigned s, int i)
{
    if (r->cfg.replacement == &replacement_fifo)
        return i;
    r_to_front(r, s, i);
    return 0;
}

static int
r_victim(struct ref *r, unsigned s)
{
    for (int i = (int)r->n[s] - 1; i >= 0; i--) {
        bool pend = false;
        for (unsigned k = 0; k < r->nsec; k++)
            pend |= r->set[s][i].pend[k];
        if (!pend)
            return i;
    }
    return -1;
}

static bool
r_can_add(struct ref *r, unsigned s)
{
    return r->n[s] < r->cfg.ways || r_victim(r, s) >= 0;
}

static void
r_add(struct ref *r, unsigned s, uint64_t line)
{
    if (r->n[s] == r->cfg.ways) {
        int v = r_victim(r, s);
        struct rline *x = &r->set[s][v];
        for (unsigned k = 0; k < r->nsec; k++) {
            if (!x->dirty[k])
                continue;
            r->ev.any = true;
            r->ev.addr = x->line * r->cfg.line;
            r->ev.dirty_sectors |= (uint8_t)(1u << k);
            for (unsigned w = 0; w < 8; w++)
                if (x->st[k] == VALID || x->word[k][w])
                    r->ev.words |= (uint64_t)1 << (8 * k + w);
        }
        r_remove(r, s, v);
    }
    r->n[s]++;
    r_to_front(r, s, (int)r->n[s] - 1);
    r->set[s][0] = (struct rline){.line = line};
}

static void
r_prune(struct ref *r, unsigned s, int i)
{
    for (unsigned k = 0; k < r->nsec; k++)
        if (r->set[s][i].st[k] != ABSENT || r->set[s][i].pend[k])
            return;
    r_remove(r, s, i);
}

/* Fetches the units of `units`; returns the outcome. */
static enum cache_result
r_fetch(struct ref *r, unsigned s, uint64_t line, unsigned units, bool waits,
        uint32_t token, bool room)
{
    unsigned fresh = 0;
    bool full = false, here = r_at(r, s, line) >= 0;
    for (unsigned u = 0; u < 8; u++) {
        if (!(units >> u & 1))
            continue;
        int m = r_mshr(r, line, u);
        if (m < 0)
            fresh++;
        else
            full |= waits && r->m[m].n >= r->cfg.merge;
    }
    bool reserve = r->cfg.allocate == ALLOCATE_ON_MISS;
    if (!here && fresh && reserve && !r_can_add(r, s))
        return CACHE_NO_LINE;
    if (fresh && !room)
        return CACHE_NO_QUEUE;
    if (full || r->nm + fresh > r->cfg.mshrs)
        return CACHE_NO_MSHR;
    if (!here && fresh && reserve)
        r_add(r, s, line);
    int i = r_at(r, s, line);
    if (i >= 0)
        i = r_use(r, s, i);
    for (unsigned u = 0; u < 8; u++) {
        if (!(units >> u & 1))
            continue;
        int m = r_mshr(r, line, u);
        if (m < 0) {
            m = (int)r->nm++;
            r->m[m] = (struct rmshr){.line = line, .unit = u};
            for (unsigned k = u * r->usec; k < (u + 1) * r->usec; k++) {
                r->asked |= 1u << k;
                if (i >= 0 && reserve)
                    r->set[s][i].pend[k] = true;
            }
        }
        r->m[m].n += waits;
    }
    if (waits)
        r->w[r->nw++] = (struct rwait){token, line, units};
    return !fresh ? CACHE_HIT_PENDING : here ? CACHE_SECTOR_MISS : CACHE_MISS;
}

static enum cache_result
r_read(struct ref *r, uint64_t addr, unsigned sectors, uint32_t token, bool room)
{
    r->asked = 0;
    r->ev = (struct cache_eviction){0};
    unsigned s = set_reference(&r->cfg, addr), units = 0;
    uint64_t line = addr / r->cfg.line;
    int i = r_at(r, s, line);
    if (r->usec == r->nsec)
        sectors = (1u << r->nsec) - 1;
    for (unsigned k = 0; k < r->nsec;
         k++) { /* every sector of a touched unit is wanted */
        bool touched = false;
        for (unsigned j = k / r->usec * r->usec; j < (k / r->usec + 1) * r->usec; j++)
            touched |= sectors >> j & 1;
        if (touched && (i < 0 || r->set[s][i].st[k] != VALID))
            units |= 1u << k / r->usec;
    }
    if (!units) {
        r_use(r, s, i);
        return CACHE_HIT;
    }
    return r_fetch(r, s, line, units, true, token, room);
}

static void
r_fill(struct ref *r, uint64_t addr, unsigned sectors)
{
    r->ev = (struct cache_eviction){0};
    r->nwoke = 0;
    uint64_t line = addr / r->cfg.line;
    unsigned s = set_reference(&r->cfg, addr);
    for (unsigned u = 0; u < r->nsec / r->usec; u++) {
        int m = r_mshr(r, line, u);
        if (m < 0)
            continue;
        unsigned mask = ((1u << r->usec) - 1) << u * r->usec;
        r->m[m].came |= sectors & mask;
        if (r->m[m].came != mask)
            continue;
        int i = r_at(r, s, line);
        if (i < 0 && r->cfg.allocate == ALLOCATE_ON_FILL && r_can_add(r, s)) {
            r_add(r, s, line);
            i = 0;
        }
        for (unsigned k = u * r->usec; i >= 0 && k < (u + 1) * r->usec; k++) {
            struct rline *x = &r->set[s][i];
            x->pend[k] = false;
            x->st[k] = VALID;
            x->dirty[k] |= r->m[m].dirty[k];
        }
        r->m[m] = r->m[--r->nm];
        for (unsigned w = 0; w < r->nw; w++) {
            if (r->w[w].line != line || !(r->w[w].units >> u & 1))
                continue;
            r->w[w].units &= ~(1u << u);
            if (!r->w[w].units) {
                r->woke[r->nwoke++] = r->w[w].token;
                memmove(&r->w[w], &r->w[w + 1], (r->nw - w - 1) * sizeof r->w[0]);
                r->nw--;
                w--;
            }
        }
    }
}

static void
r_store(struct rline *x, unsigned k, uint64_t words, bool dirty)
{
    x->dirty[k] |= dirty;
    if (x->st[k] == VALID)
        return;
    if (x->st[k] == ABSENT)
        memset(x->word[k], 0, sizeof x->word[k]);
    bool all = true;
    for (unsigned w = 0; w < 8; w++) {
        x->word[k][w] |= words >> (8 * k + w) & 1;
        all &= x->word[k][w];
    }
    x->st[k] = all ? VALID : PARTIAL;
}

static enum cache_result
r_write(struct ref *r, uint64_t addr, unsigned sectors, uint64_t words, bool local,
        bool room)
{
    r->asked = 0;
    r->ev = (struct cache_eviction){0};
    enum machine_cache_write p = r->cfg.write;
    if (p == WRITE_LOCAL_BACK)
        p = local ? WRITE_BACK : WRITE_EVICT;
    bool allocates = (p == WRITE_BACK || p == WRITE_THROUGH) &&
                     r->cfg.write_allocate != WRITE_ALLOCATE_NO;
    bool back = p == WRITE_BACK;
    r->sends = !back;
    if (!back && !room)
        return CACHE_NO_QUEUE;
    uint64_t line = addr / r->cfg.line;
    unsigned s = set_reference(&r->cfg, addr), here = 0, coming = 0, absent = 0;
    int i = r_at(r, s, line);
    bool was = i >= 0;
    for (unsigned k = 0; k < r->nsec; k++) {
        if (!(sectors >> k & 1))
            continue;
        if (was && r->set[s][i].st[k] != ABSENT)
            here |= 1u << k;
        else if (r_mshr(r, line, k / r->usec) >= 0)
            coming |= 1u << k;
        else
            absent |= 1u << k;
    }
    if (!coming && !absent) {
        i = r_use(r, s, i);
        for (unsigned k = 0; k < r->nsec; k++) {
            if (!(here >> k & 1))
                continue;
            if (p == WRITE_EVICT) {
                r->set[s][i].st[k] = ABSENT;
                r->set[s][i].dirty[k] = false;
            } else if (p != WRITE_READ_ONLY) {
                r_store(&r->set[s][i], k, words, back);
            }
        }
        r_prune(r, s, i);
        return CACHE_HIT;
    }
    if (!allocates) {
        if (!room)
            return CACHE_NO_QUEUE;
        r->sends = true;
        if (p == WRITE_EVICT && here) {
            for (unsigned k = 0; k < r->nsec; k++)
                if (here >> k & 1) {
                    r->set[s][i].st[k] = ABSENT;
                    r->set[s][i].dirty[k] = false;
                }
            r_prune(r, s, i);
        }
        return !absent ? CACHE_HIT_PENDING : was ? CACHE_SECTOR_MISS : CACHE_MISS;
    }
    enum cache_result result = CACHE_HIT_PENDING;
    unsigned fetch = 0; /* units */
    if (absent) {
        result = was ? CACHE_SECTOR_MISS : CACHE_MISS;
        if (r->cfg.write_allocate == WRITE_ALLOCATE_FETCH)
            for (unsigned u = 0; u < r->nsec / r->usec; u++) {
                bool any = false, covered = true;
                for (unsigned k = u * r->usec; k < (u + 1) * r->usec; k++) {
                    any |= absent >> k & 1;
                    covered &= (words >> 8 * k & 0xff) == 0xff;
                }
                if (any && !covered)
                    fetch |= 1u << u;
            }
        if (fetch) {
            enum cache_result f = r_fetch(r, s, line, fetch, false, 0, room);
            if (f >= CACHE_NO_LINE)
                return f;
        }
        for (unsigned k = 0; k < r->nsec; k++)
            if (absent >> k & 1 && fetch >> k / r->usec & 1) {
                absent &= ~(1u << k);
                coming |= 1u << k;
            }
        if (absent && r_at(r, s, line) < 0) {
            if (!r_can_add(r, s))
                return CACHE_NO_LINE;
            struct rline *old = &r->set[s][r->n[s] == r->cfg.ways ? r_victim(r, s) : 0];
            for (unsigned k = 0; k < r->nsec; k++)
                if (r->n[s] == r->cfg.ways && old->dirty[k] && !room)
                    return CACHE_NO_QUEUE; /* nowhere to write it back to */
            r_add(r, s, line);
        }
    }
    i = r_at(r, s, line);
    if (i >= 0) {
        i = r_use(r, s, i);
        for (unsigned k = 0; k < r->nsec; k++)
            if ((here | absent) >> k & 1)
                r_store(&r->set[s][i], k, words, back);
    }
    for (unsigned k = 0; back && k < r->nsec; k++)
        if (coming >> k & 1)
            r->m[r_mshr(r, line, k / r->usec)].dirty[k] = true;
    return result;
}

static uint64_t covered[8]; /* results seen, so that the trace is known to reach all */

static void
compare(struct cache_config cfg, uint64_t seed, unsigned steps)
{
    struct arena a = {0};
    struct cache *c = make(&a, cfg);
    struct ref *r = calloc(1, sizeof *r);
    r->cfg = cfg;
    r->nsec = cfg.line / 32;
    r->usec = cfg.sector ? cfg.sector / 32 : r->nsec;
    rng_state = seed;
    for (unsigned step = 0; step < steps; step++) {
        uint64_t addr = (uint64_t)rnd(cfg.sets * cfg.ways * 2) * cfg.line;
        if (rnd(3) == 0)
            addr <<= 6;
        bool room = rnd(8) != 0;
        unsigned what = rnd(10);
        struct cache_eviction ev = {0};
        if (what < 4 || (what < 7 && !r->nm)) {
            unsigned sec = rnd(3) ? 1u << rnd(r->nsec) : 1 + rnd((1u << r->nsec) - 1);
            enum cache_result x =
                cache_read(c, addr, (uint8_t)sec, step, step, room, &ev);
            enum cache_result y = r_read(r, addr, sec, step, room);
            assert_int_equal(x, y);
            if (y == CACHE_MISS || y == CACHE_SECTOR_MISS)
                assert_int_equal(cache_asked(c), r->asked);
            covered[x]++;
        } else if (what < 7) {
            /* A piece of a line on its way, or one that nobody waits for. */
            struct rmshr *m = &r->m[rnd(r->nm)];
            unsigned sec = ((1u << r->usec) - 1) << m->unit * r->usec;
            if (rnd(4) == 0)
                sec &= 1 + rnd(255);
            addr = rnd(20) ? m->line * cfg.line : addr;
            nwoken = 0;
            cache_fill(c, addr, (uint8_t)sec, step, wake, NULL, &ev);
            r_fill(r, addr, sec);
            assert_int_equal(nwoken, r->nwoke);
            assert_memory_equal(woken, r->woke, nwoken * sizeof woken[0]);
        } else {
            unsigned first = rnd(r->nsec), n = 1 + rnd(r->nsec - first);
            unsigned sec = ((1u << n) - 1) << first;
            uint64_t words = 0;
            for (unsigned k = first; k < first + n; k++)
                words |= (uint64_t)(rnd(2) ? 0xff : rnd(256)) << 8 * k;
            bool local = rnd(2);
            enum cache_result x =
                cache_write_words(c, addr, (uint8_t)sec, words, local, step, room, &ev);
            enum cache_result y = r_write(r, addr, sec, words, local, room);
            assert_int_equal(x, y);
            if (y < CACHE_NO_LINE) {
                assert_int_equal(cache_sends(c), r->sends);
                assert_int_equal(cache_asked(c), r->asked);
            }
            covered[x]++;
        }
        assert_int_equal(ev.any, r->ev.any);
        if (ev.any) {
            assert_int_equal(ev.addr, r->ev.addr);
            assert_int_equal(ev.dirty_sectors, r->ev.dirty_sectors);
            assert_int_equal(ev.words, r->ev.words);
        }
        assert_int_equal(cache_pending(c), r->nm);
    }
    free(r);
    arena_free(&a);
}

static void
random_traces_agree_with_the_slow_model(void **state)
{
    (void)state;
    static const enum machine_cache_write write[] = {
        WRITE_READ_ONLY, WRITE_BACK, WRITE_THROUGH, WRITE_EVICT, WRITE_LOCAL_BACK};
    static const enum machine_write_allocate wa[] = {
        WRITE_ALLOCATE_NO, WRITE_ALLOCATE_FETCH, WRITE_ALLOCATE_LAZY};
    static const struct replacement_policy *const repl[] = {&replacement_lru,
                                                            &replacement_fifo};
    static const enum machine_cache_allocate alloc[] = {ALLOCATE_ON_MISS,
                                                        ALLOCATE_ON_FILL};
    static const struct {
        unsigned sets, line, ways, sector;
        enum machine_cache_hash hash;
    } shape[] = {{4, 128, 2, 0, CACHE_LINEAR},  {4, 128, 4, 32, CACHE_IPOLY},
                 {2, 64, 3, 32, CACHE_LINEAR},  {32, 128, 2, 0, CACHE_FERMI},
                 {3, 128, 2, 64, CACHE_LINEAR}, {1, 256, 8, 32, CACHE_LINEAR},
                 {8, 256, 2, 64, CACHE_XOR},    {1, 32, 4, 0, CACHE_LINEAR},
                 {16, 128, 8, 32, CACHE_IPOLY}};
    memset(covered, 0, sizeof covered);
    uint64_t seed = 1;
    for (unsigned h = 0; h < sizeof shape / sizeof *shape; h++)
        for (unsigned w = 0; w < 5; w++)
            for (unsigned x = 0; x < 3; x++)
                for (unsigned k = 0; k < 4; k++)
                    compare((struct cache_config){shape[h].sets, shape[h].line,
                                                  shape[h].ways, shape[h].sector, 3 + h,
                                                  3, shape[h].hash, repl[k & 1],
                                                  alloc[k >> 1], write[w], wa[x], false},
                            seed++, 2500);
    for (unsigned i = CACHE_HIT; i <= CACHE_NO_QUEUE; i++)
        assert_true(covered[i] > 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_until_the_limit_then_refuses),
        cmocka_unit_test(refuses_for_lack_of_lines_mshrs_and_room),
        cmocka_unit_test(needs_more_mshrs_than_there_are),
        cmocka_unit_test(lru_and_fifo_choose_different_victims),
        cmocka_unit_test(a_policy_places_new_lines),
        cmocka_unit_test(a_policy_places_written_lines),
        cmocka_unit_test(lazy_fetch_reads_what_partial_writes_left_out),
        cmocka_unit_test(local_back_keeps_local_stores_and_drops_global_ones),
        cmocka_unit_test(perfect_always_hits),
        cmocka_unit_test(flush_and_invalidate_empty_lines),
        cmocka_unit_test(set_hashes_follow_their_publications),
        cmocka_unit_test(random_traces_agree_with_the_slow_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
