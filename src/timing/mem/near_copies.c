/* near_copies.c: see near_copies.h. */
#include "timing/mem/near_copies.h"

struct copy {
    uint64_t block;  /* 128 bytes, by number */
    uint64_t there;  /* L2 tick from which its sectors are there */
    uint64_t used;   /* of the last read: the least is replaced */
    uint8_t sectors; /* none: the place is free */
};

struct near_copies {
    struct copy *copy; /* set * ways + way */
    uint32_t sets, ways;
    uint64_t reads;
};

enum { BLOCK = 128 };

struct near_copies *
near_copies_new(struct arena *a, uint32_t sets, uint32_t ways, uint32_t line)
{
    struct near_copies *c = ARENA_NEW(a, struct near_copies);
    c->sets = sets;
    c->ways = (ways * (line / BLOCK ? line / BLOCK : 1) + 1) / 2;
    c->copy = ARENA_ARRAY(a, struct copy, (size_t)c->sets * c->ways);
    return c;
}

static struct copy *
set_of(struct near_copies *c, uint64_t block)
{
    return &c->copy[block % c->sets * c->ways];
}

bool
near_copies_read(struct near_copies *c, uint64_t local, uint8_t sectors, uint64_t now,
                 uint64_t there)
{
    const uint64_t block = local / BLOCK;
    struct copy *set = set_of(c, block), *oldest = set;
    c->reads++;
    for (struct copy *k = set; k < set + c->ways; k++) {
        if (k->sectors && k->block == block) {
            const bool all = !(sectors & ~k->sectors) && k->there <= now;
            if (sectors & ~k->sectors)
                k->there = there;
            k->sectors |= sectors;
            k->used = c->reads;
            return all;
        }
        if (k->used < oldest->used)
            oldest = k;
    }
    *oldest = (struct copy){block, there, c->reads, sectors};
    return false;
}

void
near_copies_drop(struct near_copies *c, uint64_t local)
{
    const uint64_t block = local / BLOCK;
    struct copy *set = set_of(c, block);
    for (struct copy *k = set; k < set + c->ways; k++)
        if (k->sectors && k->block == block)
            *k = (struct copy){0};
}
