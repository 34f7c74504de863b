/* device_launch.h: work that kernels order by the device runtime (CUDA C++ Programming Guide,
 * "CUDA Dynamic Parallelism"): launches, copies, fills. It is done after the grid that
 * ordered it, by whoever runs the grids, in the order in which it was ordered: a legal
 * schedule, since a grid's children may run beside it or after it, and streams and events
 * order nothing else. What goes to the tail launch stream comes after everything else of
 * the grid and of its children. */
#ifndef ALLOT_EXEC_ORDERS_H
#define ALLOT_EXEC_ORDERS_H

#include "base/vec.h"
#include "exec/exec.h"

enum exec_order_kind { EXEC_ORDER_LAUNCH, EXEC_ORDER_COPY, EXEC_ORDER_SET };

struct exec_order {
    enum exec_order_kind kind;
    bool tail;
    /* -- LAUNCH -- */
    const char *kernel; /* of the module that ordered it; lives as long as that */
    struct exec_dim grid, block;
    uint32_t dynamic_shared;
    uint32_t buffer; /* of parameters: exec_orders_params, exec_orders_begun */
    /* -- COPY, SET: rows of bytes, `height` of them -- */
    uint64_t dst, src, width, height, dst_pitch, src_pitch;
    uint8_t value;
};

/* What a kernel may ask of the device; answers are numbers of cudaError_t. */
struct exec_oracle {
    int (*attribute)(void *user, int attribute, int *value);
    int (*limit)(void *user, int limit, uint64_t *value);
    /* Resident blocks of an SM. */
    int (*occupancy)(void *user, const char *kernel, uint32_t threads, uint64_t dynamic,
                     int *blocks);
    /* The first fields of cudaFuncAttributes. */
    int (*function)(void *user, const char *kernel, uint64_t sizes[3], int values[7]);
    /* cudaGetErrorString, cudaGetErrorName (name true); NULL: no such number. */
    const char *(*error_text)(void *user, int error, bool name);
    void *user;
};

/* State of one launch by the host and all that comes of it. */
struct exec_orders;
/* limit: launches that may wait at once. */
struct exec_orders *exec_orders_new(struct dev_mem *mem, uint64_t limit,
                                    const struct exec_oracle *oracle);
void exec_orders_free(struct exec_orders *o);
/* Order i that the last grid made, in order; NULL: no more. Valid until clear. */
const struct exec_order *exec_orders_at(const struct exec_orders *o, size_t i);
/* Before the next grid: its threads have no errors and have ordered nothing. */
void exec_orders_clear(struct exec_orders *o);
/* Device address of a launch's parameters. */
uint64_t exec_orders_params(const struct exec_orders *o, uint32_t buffer);
/* The launch begins: it waits no longer, and its buffer is used again. */
void exec_orders_begun(struct exec_orders *o, uint32_t buffer);

#endif
