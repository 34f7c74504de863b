/* random.h: random PTX kernels, each with the memory that it must leave.
 *
 * A kernel is drawn from a stream of choices: a pseudo-random sequence (a seed) or bytes
 * (a fuzzer's). Every stream gives a valid kernel that ends, stays in bounds, has no race
 * and leaves the same memory whatever the order of its warps. rk_evaluate computes that
 * memory from the generator's own tree in plain C: it shares no code with the executor.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct rk_kernel;
struct rk_kernel *rk_from_seed(uint64_t seed);
struct rk_kernel *rk_from_bytes(const uint8_t *data, size_t size);
void rk_free(struct rk_kernel *k);

/* PTX text, its entry is "k". */
void rk_print(const struct rk_kernel *k, struct strbuf *b);

/* The launch. The kernel's first three parameters are addresses of rk_input's bytes and
 * of the result's two parts (rk_initial): accumulators, slots of the threads. Then come
 * rk_nscalars values of 8 bytes, of which a parameter takes the first that it needs. */
enum { RK_INPUT_BYTES = 1 << 18 };
struct rk_launch {
    uint32_t blocks, threads; /* threads: of a block */
    uint32_t dynamic_bytes;
    uint64_t acc_bytes, slot_bytes;
    unsigned nscalars;
    const uint64_t *scalars;
};
struct rk_launch rk_launch(const struct rk_kernel *k);
const uint8_t *rk_input(const struct rk_kernel *k);

/* acc_bytes + slot_bytes bytes, malloc'd: before the launch, and after it. */
uint8_t *rk_initial(const struct rk_kernel *k);
uint8_t *rk_evaluate(const struct rk_kernel *k);

/* Says in words what lies at that byte of the result: "thread 7 of block 1, %r12". */
void rk_where(const struct rk_kernel *k, uint64_t byte, struct strbuf *b);

#endif
