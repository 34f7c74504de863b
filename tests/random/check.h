/* check.h: random kernels run by allot, in one way and another. */
#ifndef TESTS_RANDOM_CHECK_H
#define TESTS_RANDOM_CHECK_H

#include "random.h"

/* A way to run a kernel. */
struct rk_way {
    const char *machine;
    const char *settings; /* "PATH=VALUE ...", of the machine; "" for none */
    const char *passes;   /* pipeline before the launch; "" for none */
    bool timing, no_skip;
    unsigned threads; /* host threads; 0: 1 */
};

enum rk_end {
    RK_RAN,
    RK_REFUSED, /* too few registers, or a pass whose launches this one cannot be */
    RK_FAILED
};

/* Result (malloc'd, as rk_evaluate's) in *memory, every counter in *counters (malloc'd,
 * *ncounters of them; may be NULL). `why`: the diagnostics if it did not run. */
enum rk_end rk_run(const struct rk_kernel *k, const struct rk_way *way, uint8_t **memory,
                   uint64_t **counters, size_t *ncounters, struct strbuf *why);

/* What rk_run does now, or did last: for a handler of a crash. A line. */
extern char rk_doing[1024];

/* PTX text of the kernel after a pipeline. */
enum rk_end rk_transform(const struct rk_kernel *k, const char *pipeline,
                         struct strbuf *text, struct strbuf *why);

/* False and words if the memory is not `want`. */
bool rk_same(const struct rk_kernel *k, const uint8_t *want, const uint8_t *got,
             struct strbuf *why);

/* A pipeline drawn at random: any order of passes, registers allocated or not, spilled or
 * not. */
void rk_pipeline(uint64_t seed, struct strbuf *b);

/* Tests of one kernel; false: *why says what differs. */
/* Functional mode, at 1 and 3 threads, leaves what rk_evaluate says. */
bool rk_test_executor(const struct rk_kernel *k, struct strbuf *why);
/* That pipeline changes no memory. *few is raised if the pipeline was refused. */
bool rk_test_passes(const struct rk_kernel *k, const char *pipeline, unsigned *few,
                    struct strbuf *why);
/* The passes that a100 runs by itself change no memory. *copied is raised if one of them,
 * `unroll`, finds a loop to copy. */
bool rk_test_machine(const struct rk_kernel *k, unsigned *copied, struct strbuf *why);
/* unified-alloc changes no memory, at 40 registers down to 12. */
bool rk_test_unified(const struct rk_kernel *k, unsigned *few, struct strbuf *why);
/* Timing mode leaves the memory of functional mode at 1, 2, 3 threads and with sleeping
 * parts stepped, with equal counters. RK_REFUSED: the machine has no room for the kernel,
 * or the run comes to its limit of cycles. */
enum rk_end rk_timing_agrees(const struct rk_kernel *k, struct rk_way way,
                             struct strbuf *why);
/* That, on a machine and with policies that `seed` draws. */
bool rk_test_timing(const struct rk_kernel *k, uint64_t seed, struct strbuf *why);
/* What a night draws from: any machine file, allocated or virtual registers, every policy,
 * any pipeline, blocks merged, virtual, persistent or multiplexed. Functional mode leaves
 * what rk_evaluate says, as the pipeline and the machine do. *few is raised if that cannot
 * be had for this kernel. */
bool rk_test_night(const struct rk_kernel *k, uint64_t seed, unsigned *few,
                   struct strbuf *why);
/* The same on every machine file, and with settings drawn within their bounds (settings.c).
 * *few is raised if that was refused. */
bool rk_test_machines(const struct rk_kernel *k, uint64_t seed, unsigned *few,
                      struct strbuf *why);
bool rk_test_settings(const struct rk_kernel *k, uint64_t seed, unsigned *few,
                      struct strbuf *why);

#endif
