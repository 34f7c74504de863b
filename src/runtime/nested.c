/* nested.c: a launch with all that comes of it: kernels that kernels launch, their copies
 * and fills (exec/device_launch/device_launch.h).
 *
 * What is to be done stands on a stack. A grid's orders are put on it when the grid has
 * ended, the first on top, tail launches below the others: so a grid's children, with
 * their own, come before what its parent ordered later, and its tail launches after all of
 * them. Depth of nesting costs nothing but the stack. */
#include "runtime/plan.h"

#include "exec/device_launch/device_launch.h"
#include "machine/occupancy.h"

struct task {
    struct exec_order order;
    const char *parent;
};

struct asked { /* by a kernel */
    struct allot_device *dev;
    struct allot_module *module;
};

/* Numbers of cudaError_t. */
enum { SUCCESS = 0, INVALID_DEVICE_FUNCTION = 98, UNSUPPORTED_LIMIT = 215, NOT_SUPPORTED = 801 };

static int
attribute(void *user, int number, int *value)
{
    const struct asked *a = user;
    return a->dev->options.attribute ? a->dev->options.attribute(number, value)
                                     : NOT_SUPPORTED;
}

static int
limit(void *user, int number, uint64_t *value)
{
    enum { HEAP = 2, PENDING = 4 };
    const struct asked *a = user;
    if (number != HEAP && number != PENDING)
        return UNSUPPORTED_LIMIT;
    *value = number == HEAP ? allot_device_heap_size(a->dev) : a->dev->pending_limit;
    return SUCCESS;
}

static int
occupancy(void *user, const char *kernel, uint32_t threads, uint64_t dynamic, int *blocks)
{
    const struct asked *a = user;
    struct diag_sink quiet = {0};
    struct allot_launch l = {.module = a->module,
                             .kernel = kernel,
                             .block = {threads, 1, 1},
                             .dynamic_scratchpad = (uint32_t)dynamic};
    struct launch_plan plan;
    bool fits = dynamic <= UINT32_MAX && plan_launch(a->dev, &l, &plan, &quiet);
    *blocks = fits ? (int)plan.sm.residency.blocks : 0;
    diag_free(&quiet);
    return SUCCESS;
}

static int
function(void *user, const char *kernel, uint64_t sizes[3], int values[7])
{
    enum { SHARED, CONSTANT, LOCAL };
    enum { THREADS, REGISTERS, PTX_VERSION, BINARY_VERSION };
    const struct asked *a = user;
    struct diag_sink quiet = {0};
    struct allot_launch l = {.module = a->module, .kernel = kernel};
    struct launch_plan plan;
    bool ok = plan_variant(a->dev, &l, &plan, &quiet);
    diag_free(&quiet);
    if (!ok)
        return INVALID_DEVICE_FUNCTION;
    sizes[SHARED] = plan.sm.demand.scratchpad;
    values[THREADS] = (int)a->dev->machine->sm.max_block_threads;
    values[REGISTERS] = (int)plan.sm.demand.registers;
    values[PTX_VERSION] = (int)allot_module_capability(a->module);
    values[BINARY_VERSION] = (int)a->dev->machine->gpu.compute_capability;
    return SUCCESS;
}

static const char *
error_text(void *user, int error, bool name)
{
    const struct asked *a = user;
    return a->dev->options.error_text ? a->dev->options.error_text(error, name) : NULL;
}

/* -- copies and fills -- */

static bool
copy(struct allot_device *dev, const struct task *t, struct diag_sink *diag)
{
    const struct exec_order *x = &t->order;
    uint8_t *row = xcalloc(1, x->width);
    bool ok = true;
    if (x->kind == EXEC_ORDER_SET)
        memset(row, x->value, x->width);
    for (uint64_t i = 0; ok && i < x->height; i++)
        ok = (x->kind == EXEC_ORDER_SET ||
              allot_read(dev, x->src + i * x->src_pitch, row, x->width, NULL)) &&
             allot_write(dev, x->dst + i * x->dst_pitch, row, x->width, NULL);
    free(row);
    if (ok)
        return true;
    dev->failure = ALLOT_FAULT_ADDRESS;
    return diag_error(diag,
                      "kernel '%s' orders a %s of %llu x %llu bytes at 0x%llx, not all of "
                      "which lie in one live allocation",
                      t->parent, x->kind == EXEC_ORDER_SET ? "fill" : "copy",
                      (unsigned long long)x->height, (unsigned long long)x->width,
                      (unsigned long long)x->dst);
}

/* -- launches -- */

static bool
child(struct allot_device *dev, struct allot_module *m, const struct task *t,
      struct exec_orders *orders, struct diag_sink *diag)
{
    const struct exec_order *x = &t->order;
    struct allot_launch l = {.module = m,
                             .kernel = x->kernel,
                             .grid = {x->grid.x, x->grid.y, x->grid.z},
                             .block = {x->block.x, x->block.y, x->block.z},
                             .dynamic_scratchpad = x->dynamic_shared};
    struct launch_plan plan;
    dev->failure = ALLOT_REFUSED;
    if (!plan_variant(dev, &l, &plan, diag))
        return false;
    uint64_t bytes = plan.kernel->func->param_bytes;
    uint8_t *params = xcalloc(1, bytes + 1);
    dev_read(dev->mem, exec_orders_params(orders, x->buffer), params, bytes);
    exec_orders_begun(orders, x->buffer);
    exec_orders_clear(orders);
    bool ok = rt_launch(dev, &l, params, t->parent, orders, diag);
    free(params);
    if (!ok)
        diag_add(diag, DIAG_NOTE, NULL, "kernel '%s' was launched by kernel '%s'",
                 x->kernel, t->parent);
    return ok;
}

const struct allot_result *
allot_launch(struct allot_device *dev, const struct allot_launch *l, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct asked asked = {dev, l->module};
    const struct exec_oracle oracle = {attribute, limit,      occupancy,
                                       function,  error_text, &asked};
    struct exec_orders *orders = exec_orders_new(dev->mem, dev->pending_limit, &oracle);
    VEC(struct task) stack = {0};
    dev->functional = l->functional;
    const struct allot_result *first = rt_launch(dev, l, NULL, NULL, orders, diag);
    const char *ran = l->kernel;
    bool ok = first, grid = ok;
    while (ok) {
        size_t n = 0;
        while (grid && exec_orders_at(orders, n))
            n++;
        for (int tail = 1; tail >= 0; tail--) /* the last is pushed first */
            for (size_t i = n; i--;)
                if (exec_orders_at(orders, i)->tail == tail)
                    *vec_push(&stack) = (struct task){*exec_orders_at(orders, i), ran};
        if (!stack.n)
            break;
        struct task t = stack.v[--stack.n];
        grid = t.order.kind == EXEC_ORDER_LAUNCH;
        ok = grid ? child(dev, l->module, &t, orders, diag) : copy(dev, &t, diag);
        if (grid)
            ran = t.order.kernel;
    }
    vec_free(&stack);
    exec_orders_free(orders);
    diag_free(&own);
    return ok ? first : NULL;
}

void
allot_device_pending(struct allot_device *dev, uint64_t launches)
{
    dev->pending_limit = launches;
}

uint64_t
allot_device_pending_limit(const struct allot_device *dev)
{
    return dev->pending_limit;
}
