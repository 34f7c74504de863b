/* number.h: numbers as people write them. */
#ifndef ALLOT_BASE_NUMBER_H
#define ALLOT_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* The whole text as a number (0x..: hexadecimal) within [lo, hi]; false: it is none. */
bool number_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *out);

/* The same for bytes. K or KiB after the number is 1024, M or MiB 1024 K, G or GiB 1024 M,
 * in either case. */
bool number_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *out);

#endif
