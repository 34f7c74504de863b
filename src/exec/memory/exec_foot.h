/* exec_foot.h: which words of global memory a host thread reads and writes (exec_blocks.c),
 * and the quick way to take down a row of them. */
#ifndef ALLOT_EXEC_EXEC_FOOT_H
#define ALLOT_EXEC_EXEC_FOOT_H

#include "exec/exec_int.h"

enum {
    FOOT_PAGE = 4096,
    FOOT_RECENT = 16,                 /* pages a thread finds at once */
    FOOT_GROUPS = FOOT_PAGE / 4 / 32, /* words of a bit set */
};

struct foot_page {
    uint32_t read[FOOT_GROUPS], write[FOOT_GROUPS], reduce[FOOT_GROUPS];
    uint32_t page;
    bool saved; /* the page's copy has been seen to */
};

struct saved {
    uint32_t page;
    uint8_t *bytes;
};

/* What a host thread has touched in a wave. */
struct foot {
    struct exec_team *team;
    uint64_t base;                       /* of global memory */
    struct foot_page **at;               /* by page; NULL: not touched */
    struct foot_page *last[FOOT_RECENT]; /* by page modulo FOOT_RECENT */
    VEC(struct foot_page *) touched, spare;
    VEC(struct saved)
    saved; /* pages that this thread has copied: nsaved, then spare room */
    size_t nsaved;
};

/* Words first to last of a page. */
ALWAYS_INLINE void
foot_set(uint32_t *set, unsigned first, unsigned last)
{
    uint32_t from = ~0u << first % 32, to = ~0u >> (31 - last % 32);
    first /= 32;
    last /= 32;
    if (first == last) {
        set[first] |= from & to;
        return;
    }
    set[first] |= from;
    while (++first < last)
        set[first] = ~0u;
    set[last] |= to;
}

/* foot_range of a page that was used a moment ago, and no more than it. */
ALWAYS_INLINE bool
foot_quick(struct foot *f, uint64_t addr, unsigned bytes, enum foot_kind kind)
{
    uint64_t page = (addr - f->base) / FOOT_PAGE;
    struct foot_page *p = f->last[page % FOOT_RECENT];
    unsigned at = addr % FOOT_PAGE;
    if (!p || p->page != page || at + bytes > FOOT_PAGE ||
        (kind == FOOT_WRITE && !p->saved))
        return exec_foot_range(f, addr, bytes, kind);
    foot_set(kind == FOOT_READ ? p->read : p->write, at / 4, (at + bytes - 1) / 4);
    return true;
}

#endif
