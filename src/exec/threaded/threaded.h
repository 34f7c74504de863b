/* threaded.h: the form in which functional mode runs a kernel: direct-threaded code.
 *
 * Beside each decoded instruction stands a quick record of 32 bytes: a handler and its
 * operands. A handler executes the instruction for a warp and goes on with the next
 * record's handler by a tail call (QUICK_NEXT), so a warp runs from handler to handler
 * without a loop around them. Nothing is reported on the way: no struct exec_step, no
 * addresses. That is for the timing model and for watchers, who call exec_step.
 *
 * A handler that cannot do its instruction (lanes diverge, an access leaves its
 * allocation, a barrier, a call) returns its own record, having changed nothing.
 * quick_run (threaded.c) then has exec_step do it. So every instruction has a quick record,
 * many of them quick_step, and only common cases need a handler of their own.
 *
 *     ld.shared    add    fma    setp    @p bra        bar.sync
 *     quick ------> quick -> quick -> quick -> quick ---> quick_step: back to quick_run
 *                                       ^--------'
 *
 * Handlers are in lanes_variant.c and threaded_fast.c, compiled once per instruction set. They
 * leave the upper halves of vector registers dirty; quick_enter cleans them up. */
#ifndef ALLOT_EXEC_QUICK_H
#define ALLOT_EXEC_QUICK_H

#include "base/inline.h"

#include <stdint.h>

struct quick;
struct quick_run;
struct exec_inst;
struct exec_prog;
struct exec_step;
struct exec_warp;
struct lane_variant;

/* r: the turn under way. ip: the record. regs, consts: the warp's rows. active: its
 * lanes, the same for all records of a run. stop: the record before which it ends. */
#define QUICK_ARGS                                                                       \
    struct quick_run *r, const struct quick *ip, uint8_t *regs, const uint8_t *consts,   \
        uint64_t active, const struct quick *stop
#define QUICK_PASS r, ip, regs, consts, active, stop
typedef const struct quick *quick_fn(QUICK_ARGS);

struct quick {
    quick_fn *fn;
    uint32_t d, a, b, c; /* rows; of memory instructions d: data, a: base, b: range */
    union {
        int64_t off; /* memory: added to the base */
        uint64_t value;
        int64_t jump; /* branch: records from here to its target */
    };
};
_Static_assert(sizeof(struct quick) == 32, "two records in a cache line");

/* Goes on with the next record. Where calls at the end of a function are not jumps
 * (without optimisation, under sanitizers) it goes back to the loop in quick_run. */
#ifdef QUICK_CHAIN
#define QUICK_GO(to, until)                                                              \
    return (to) == (until) ? (to) : (to)->fn(r, (to), regs, consts, active, (until))
#else
#define QUICK_GO(to, until) return (to)
#endif
#define QUICK_NEXT QUICK_GO(ip + 1, stop)

/* The row of an operand; REF_CONST is the sign. */
ALWAYS_INLINE const void *
quick_source(const uint8_t *regs, const uint8_t *consts, uint32_t ref)
{
    return ((int32_t)ref < 0 ? consts : regs) + (ref & 0x7fffffff);
}

/* Quick forms of lane functions, in the order of lane_variant.entry: all sources in
 * registers; the second one a constant, in `value`; anywhere. NULL: there are none. */
struct quick_lane {
    quick_fn *form[3];
};
extern const struct quick_lane quick_lanes_plain[], quick_lanes_avx2[],
    quick_lanes_avx512[];

/* All others of one instruction set (threaded_fast.c). */
enum {
    QUICK_STEP,       /* by exec_step */
    QUICK_PURE,       /* by the instruction's handler */
    QUICK_PURE_GUARD, /* likewise, where the guard holds */
    QUICK_WARP,       /* likewise, while no other path waits */
    QUICK_MEMORY,     /* likewise, and it may fault */
    QUICK_MEMORY_GUARD,
    QUICK_BRA,
    QUICK_BRA_GUARD, /* a: guard, b: all ones if it is negated */
    QUICK_LD_GLOBAL_4,
    QUICK_LD_GLOBAL_8,
    QUICK_LD_GLOBAL_V2,
    QUICK_LD_GLOBAL_V4,
    QUICK_ST_GLOBAL_4,
    QUICK_ST_GLOBAL_8,
    QUICK_ST_GLOBAL_V2,
    QUICK_ST_GLOBAL_V4,
    QUICK_LD_SHARED_4,
    QUICK_LD_SHARED_4W, /* the base register has 64 bits */
    QUICK_LD_SHARED_8,
    QUICK_LD_SHARED_V2,
    QUICK_LD_SHARED_V4,
    QUICK_ST_SHARED_4,
    QUICK_ST_SHARED_4W,
    QUICK_ST_SHARED_8,
    QUICK_ST_SHARED_V2,
    QUICK_ST_SHARED_V4,
    QUICK_LD_PARAM_4,
    QUICK_LD_PARAM_8,
    QUICK_MOV_4,
    QUICK_MOV_8,
    QUICK_SET_4,
    QUICK_SET_8,
    QUICK_N
};
extern quick_fn *const quick_fast_plain[QUICK_N], *const quick_fast_avx2[QUICK_N],
                                                      *const quick_fast_avx512[QUICK_N];
/* Runs records from `ip` on until one returns itself, r->stop or a fault. */
typedef const struct quick *quick_enter(struct quick_run *r, const struct quick *ip);
extern quick_enter quick_enter_plain, quick_enter_avx2, quick_enter_avx512;

#endif
