/* written.c: see written.h. The bits lie in reserved address space, which costs memory only
 * where it is touched: an eighth of what is allocated. */
#include "exec/memory/written.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct written {
    uint64_t start, bytes;
    uint8_t *bit;
};

struct written *
written_new(uint64_t start, uint64_t bytes)
{
    void *v = mmap(NULL, bytes / 8 + 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (v == MAP_FAILED)
        return NULL;
    struct written *w = xcalloc(1, sizeof *w);
    *w = (struct written){start, bytes, v};
    return w;
}

void
written_free(struct written *w)
{
    if (!w)
        return;
    munmap(w->bit, w->bytes / 8 + 1);
    free(w);
}

void
written_mark(struct written *w, uint64_t addr, uint64_t n, bool value)
{
    if (addr < w->start || addr - w->start >= w->bytes)
        return;
    uint64_t i = addr - w->start, end = n < w->bytes - i ? i + n : w->bytes;
    for (; i < end && (i % 8 || end - i < 8); i++)
        w->bit[i / 8] =
            (uint8_t)((w->bit[i / 8] & ~(1u << i % 8)) | (unsigned)value << i % 8);
    memset(w->bit + i / 8, value ? 255 : 0, (end - i) / 8);
    for (i += (end - i) / 8 * 8; i < end; i++)
        w->bit[i / 8] =
            (uint8_t)((w->bit[i / 8] & ~(1u << i % 8)) | (unsigned)value << i % 8);
}

uint64_t
written_bytes(const struct written *w, uint64_t addr, uint64_t n)
{
    if (addr < w->start || addr - w->start >= w->bytes)
        return n;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = addr - w->start + k;
        if (i < w->bytes && !(w->bit[i / 8] >> i % 8 & 1))
            return k;
    }
    return n;
}
