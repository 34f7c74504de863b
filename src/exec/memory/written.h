/* written.h: which bytes of a range of addresses have been written: a bit each. */
#ifndef ALLOT_EXEC_MEMORY_WRITTEN_H
#define ALLOT_EXEC_MEMORY_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

struct written;
/* Nothing is written. NULL: the host has no address space for it. */
struct written *written_new(uint64_t start, uint64_t bytes);
void written_free(struct written *w); /* NULL is allowed */
/* Addresses outside the range are left out. */
void written_mark(struct written *w, uint64_t addr, uint64_t n, bool value);
/* Bytes from addr on that were written, at most n; those outside the range were. */
uint64_t written_bytes(const struct written *w, uint64_t addr, uint64_t n);

#endif
