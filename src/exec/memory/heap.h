/* heap.h: the heap behind the device's malloc and free.
 *
 * One allocation of device memory, made at the first malloc; blocks are multiples of 16
 * bytes and keep their contents until they are given out again. Which addresses come out
 * depends on nothing but the order of calls. */
#ifndef ALLOT_EXEC_HEAP_H
#define ALLOT_EXEC_HEAP_H

#include "exec/memory/memory.h"

enum { HEAP_DEFAULT = 8 << 20 }; /* bytes; CUDA's cudaLimitMallocHeapSize */

struct dev_heap;
struct dev_heap *heap_new(void);
void heap_free(struct dev_heap *h);
/* Bytes the heap may have. False: it is in use already. */
bool heap_limit(struct dev_heap *h, uint64_t bytes);
uint64_t heap_size(const struct dev_heap *h);
/* Device address, 0: no room, or no bytes asked for. */
uint64_t heap_alloc(struct dev_heap *h, struct dev_mem *mem, uint64_t bytes);
/* False: not the start of a block that is in use. */
bool heap_release(struct dev_heap *h, uint64_t addr);

#endif
