/* texture_cache.c: see texture_cache.h. The reorder buffer is a ring whose entries keep
 * their number, because replies name them; a place is free again when its fragment, and
 * so every older one, has left. */
#include "timing/sm/texture_cache.h"

#include "timing/mem/cache.h"

struct fragment {
    uint16_t op;
    bool miss; /* its data are the reorder buffer's oldest */
};

struct texcache {
    struct cache *tags;
    uint8_t whole; /* sectors of a line */
    RING(struct fragment) fragments;
    RING(uint16_t) results;
    uint8_t *missing; /* by place of the reorder buffer: sectors that have not come */
    uint32_t entries, oldest, n;
};

struct texcache *
texcache_new(struct arena *a, const struct machine *m)
{
    struct texcache *c = ARENA_ARRAY(a, struct texcache, 1);
    /* One miss at a time: it is filled as soon as it is made. */
    struct cache_config tags = {.sets = m->l1t.sets,
                                .line = m->l1t.line,
                                .ways = m->l1t.ways,
                                .mshrs = 1,
                                .merge = 1,
                                .hash = CACHE_LINEAR,
                                .replacement = replacement_find("lru"),
                                .allocate = ALLOCATE_ON_MISS,
                                .write = WRITE_READ_ONLY,
                                .write_allocate = WRITE_ALLOCATE_NO,
                                .perfect = m->l1t.perfect};
    c->tags = cache_new(a, &tags);
    c->whole = (uint8_t)((1u << m->l1t.line / 32) - 1);
    ring_init(&c->fragments, a, m->l1t.fragments);
    ring_init(&c->results, a, m->l1t.results);
    c->entries = m->l1t.reorder;
    c->missing = ARENA_ARRAY(a, uint8_t, c->entries);
    return c;
}

static void
nobody(void *user, uint32_t token)
{
    (void)user;
    (void)token;
}

enum texcache_result
texcache_access(struct texcache *c, uint64_t addr, uint16_t op, uint64_t now, bool room,
                uint32_t *entry)
{
    if (!room || ring_full(&c->fragments) || c->n == c->entries)
        return TEXCACHE_FULL;
    bool miss = cache_read(c->tags, addr, c->whole, 0, now, true, NULL) != CACHE_HIT;
    *ring_push(&c->fragments) = (struct fragment){.op = op, .miss = miss};
    if (!miss)
        return TEXCACHE_HIT;
    cache_fill(c->tags, addr, c->whole, now, nobody, NULL, NULL);
    *entry = (c->oldest + c->n++) % c->entries;
    c->missing[*entry] = c->whole;
    return TEXCACHE_MISS;
}

void
texcache_fill(struct texcache *c, uint32_t entry, uint8_t sectors)
{
    c->missing[entry] &= (uint8_t)~sectors;
}

bool
texcache_can_step(const struct texcache *c)
{
    if (ring_empty(&c->fragments) || ring_full(&c->results))
        return false;
    return !ring_front(&c->fragments)->miss || !c->missing[c->oldest];
}

void
texcache_step(struct texcache *c)
{
    if (!texcache_can_step(c))
        return;
    struct fragment f = *ring_front(&c->fragments);
    ring_pop(&c->fragments);
    *ring_push(&c->results) = f.op;
    if (!f.miss)
        return;
    c->oldest = (c->oldest + 1) % c->entries;
    c->n--;
}

unsigned
texcache_results(const struct texcache *c)
{
    return c->results.n;
}

uint16_t
texcache_take(struct texcache *c)
{
    uint16_t op = *ring_front(&c->results);
    ring_pop(&c->results);
    return op;
}

unsigned
texcache_pending(const struct texcache *c)
{
    return c->n;
}

void
texcache_flush(struct texcache *c)
{
    cache_flush(c->tags);
}
