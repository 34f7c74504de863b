/* near_copies.h: lines of one L2 slice of which another part of the chip keeps copies.
 *
 * A read from an SM of the other part takes the long way and leaves its sectors in the
 * reader's part; later reads from there take the short way. A write or atomic, by whomever,
 * drops them. Lines are replaced by age within their set. What is asked for again before the
 * first data are there takes the long way too.
 *
 * The copies take no room of the slices: they are at most half of a slice's lines, which is
 * what a part can hold of both parts' lines in equal shares.
 * Cost: constant an access. Sources: NVIDIA, A100 white paper ("each L2 partition caches data
 * for memory accesses from SMs in the GPCs directly connected to the partition"); gpu-benches,
 * cuda-latency on an A100: near up to 20 MB, half of its L2. */
#ifndef ALLOT_TIMING_NEAR_COPIES_H
#define ALLOT_TIMING_NEAR_COPIES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct near_copies;

/* sets and ways of the slice; line: bytes. All memory is taken here. */
struct near_copies *near_copies_new(struct arena *a, uint32_t sets, uint32_t ways,
                                    uint32_t line);
/* A read of those sectors of the 128-byte block at `local` (an address inside the slice) in L2
 * tick `now`: are all copied? If not they are from tick `there` on. */
bool near_copies_read(struct near_copies *c, uint64_t local, uint8_t sectors,
                      uint64_t now, uint64_t there);
/* The line is written. */
void near_copies_drop(struct near_copies *c, uint64_t local);

#endif
