/* memory.h: device memory and the layout of the generic address space.
 *
 * Global memory is one host reservation, so a device address is a host address minus a
 * constant; every access is checked against the allocations. Addresses are the same in
 * every run. Generic windows (PTX ISA 5.1: .const, .param, .shared and .local are windows
 * in the generic space): */
#ifndef ALLOT_EXEC_MEMORY_H
#define ALLOT_EXEC_MEMORY_H

#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

#define DEV_SHARED_BASE 0x01000000u /* 16 MiB windows */
#define DEV_LOCAL_BASE 0x02000000u
#define DEV_CONST_BASE 0x03000000u
#define DEV_PARAM_BASE 0x04000000u
#define DEV_WINDOW 0x01000000u
/* The scratchpads of a cluster in the window of shared memory: that of the block of rank r
 * from (r + 1) * DEV_RANK on, and a block's own from 0 on too. */
#define DEV_RANK 0x00080000u
#define DEV_GLOBAL_BASE 0x10000000u /* global memory starts here and grows upward */
#define DEV_ALIGN 256u              /* alignment of allocations */

struct dev_mem;

/* capacity: bytes of global memory (reserved, touched on use). NULL if the host cannot.
 */
struct dev_mem *dev_mem_new(uint64_t capacity);
/* Unified: every device address is the host address of the same byte. `shared` bytes more
 * are reserved for dev_alloc_shared. NULL if the host cannot. */
struct dev_mem *dev_mem_new_unified(uint64_t capacity, uint64_t shared);
void dev_mem_free(struct dev_mem *m);

/* Zero-filled allocation; 0 if there is no room or size is 0. */
uint64_t dev_alloc(struct dev_mem *m, uint64_t size);
/* The same from the host memory of a unified memory; it is no part of the capacity. */
uint64_t dev_alloc_shared(struct dev_mem *m, uint64_t size);
/* Memory of the host becomes a live range at its own address, until dev_unmap. False if
 * the memory is not unified, or part of the range is one already. */
bool dev_map(struct dev_mem *m, void *host, uint64_t size);
bool dev_unmap(struct dev_mem *m, void *host);
/* False if addr is not the start of a live allocation. */
bool dev_release(struct dev_mem *m, uint64_t addr);

/* An address range kept for one owner: dead until dev_commit makes it a live allocation;
 * dev_release makes it dead again, and dev_unreserve gives the addresses back.
 * dev_reserve returns 0, the others false, where that cannot be. */
uint64_t dev_reserve(struct dev_mem *m, uint64_t size);
bool dev_commit(struct dev_mem *m, uint64_t addr);
bool dev_unreserve(struct dev_mem *m, uint64_t addr);

/* The allocation that holds [addr, addr+n), or false. Freed ones are remembered (dead),
 * so that a use after free is named as such. */
struct dev_range {
    uint64_t addr, size;
    bool dead;
    bool reserved; /* by dev_reserve: not given to others while dead */
};
bool dev_find(const struct dev_mem *m, uint64_t addr, struct dev_range *r);
/* The live allocation nearest to addr; false if there is none. */
bool dev_nearest(const struct dev_mem *m, uint64_t addr, struct dev_range *r);

/* So many bytes before and behind each allocation can be read by kernels, as 0
 * (exec_guard.c): allocations made from now on lie that far apart. At first 0. */
void dev_set_guard(struct dev_mem *m, uint64_t bytes);
/* Allocations made from now on, and variables of scratchpad, lie at least so far apart, so
 * that an access beyond one meets no neighbour; at first 0. */
void dev_set_gap(struct dev_mem *m, uint64_t bytes);
uint64_t dev_gap(const struct dev_mem *m);
uint64_t dev_guard(const struct dev_mem *m);
/* Whether the byte, which is in no live allocation, is that near to one. */
bool dev_guarded(const struct dev_mem *m, uint64_t addr);

/* From now on it is kept which bytes of device memory have been written: none of an
 * allocation at first. Kernels' stores are marked by those who see them. */
void dev_watch_writes(struct dev_mem *m);
void dev_mark_written(struct dev_mem *m, uint64_t addr, uint64_t n);
void dev_mark_unwritten(struct dev_mem *m, uint64_t addr, uint64_t n);
/* Bytes from addr on that were written, at most n. All are where it is not kept. */
uint64_t dev_written(const struct dev_mem *m, uint64_t addr, uint64_t n);

/* Host copies; false (nothing copied) unless the whole range lies in one live allocation.
 */
bool dev_write(struct dev_mem *m, uint64_t addr, const void *src, uint64_t n);
bool dev_read(const struct dev_mem *m, uint64_t addr, void *dst, uint64_t n);
bool dev_set(struct dev_mem *m, uint64_t addr, int value, uint64_t n);

/* A copy of all live allocations; NULL: no memory. dev_restore puts their contents back and
 * frees the copy; false (nothing put back) if allocations were made or released since. */
struct dev_copy;
struct dev_copy *dev_save(const struct dev_mem *m);
bool dev_restore(struct dev_mem *m, struct dev_copy *copy);

/* Host pointer of a device address; valid only inside a live allocation. */
static inline uint8_t *
dev_host(struct dev_mem *m, uint64_t addr)
{
    return *(uint8_t **)m + addr; /* first member: host base minus DEV_GLOBAL_BASE */
}

/* Bytes of address space from *start on that all allocations but mapped ones lie in. */
uint64_t dev_reserved(const struct dev_mem *m, uint64_t *start);

/* Bytes in live allocations of the capacity (shared and mapped ones left out). */
uint64_t dev_bytes_used(const struct dev_mem *m);

/* Changes with every allocation and release (for those who remember ranges). */
uint64_t dev_generation(const struct dev_mem *m);

/* Texture and surface objects that look at this memory (texture.h). */
struct tex_table;
struct tex_table *dev_textures(struct dev_mem *m);

/* The heap of the device's malloc (heap.h). */
struct dev_heap;
struct dev_heap *dev_heap(struct dev_mem *m);

/* Address space for `bytes` of code, aligned to 256: above all of global memory, never
 * the same twice. It holds no data; the instruction cache and what is behind it see it.
 */
uint64_t dev_code_space(struct dev_mem *m, uint64_t bytes);

#endif
