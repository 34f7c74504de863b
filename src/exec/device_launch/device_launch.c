/* device_launch.c: the device runtime's functions (device_launch.h): launches from kernels,
 * streams, events, copies, errors, questions about the device. nvcc 12 and later calls
 * them __cudaCDP2NAME, nvcc 11 and hand-written PTX cudaNAME; NAME_ptsz is the same.
 *
 * A launch is two calls (Programming Guide, "Device-side Launch from PTX"): one gives a
 * buffer, into which the kernel stores the parameters, the next launches. Buffers are
 * device memory of one size; the word behind a buffer says which it is. Errors are kept
 * for each thread, as on the host; most programs have none. */
#include "exec/ops/exec_builtin.h"
#include "exec/memory/heap.h"
#include "exec/device_launch/device_launch.h"

#include <string.h>

/* Numbers of cudaError_t. */
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    MEMORY_ALLOCATION = 2,
    INVALID_CONFIGURATION = 9,
    INVALID_MEMCPY_DIRECTION = 21,
    INVALID_DEVICE_FUNCTION = 98,
    INVALID_DEVICE = 101,
    LAUNCH_OUT_OF_RESOURCES = 701,
    NOT_SUPPORTED = 801,
};
/* What <<<>>> names in a kernel; others are numbers from StreamCreateWithFlags. */
enum { STREAM_TAIL = 3, STREAM_FIRST = 16 };
enum { BUFFER = 32768 /* the most bytes of parameters */, RUNTIME_VERSION = 13000 };

enum buffer_state { FREE, GIVEN, ORDERED };

struct buffer {
    uint64_t addr;
    enum buffer_state state;
    const char *kernel; /* of the launch in the making; NULL: not known yet */
    struct exec_dim grid, block;
    uint32_t dynamic_shared;
};

struct thread_error {
    uint64_t thread; /* + 1; 0: free */
    int error;
};

struct text {
    int error;
    bool name;
    uint64_t addr;
};

struct exec_orders {
    struct dev_mem *mem;
    const struct exec_oracle *oracle;
    VEC(struct exec_order) made;
    VEC(struct buffer) buffers;
    VEC(uint32_t) spare; /* buffers that are free */
    uint64_t waiting, limit, handles;
    bool told;
    struct thread_error *error; /* by thread: open addressing, power of two */
    size_t nerrors, room;
    VEC(struct text) texts;
};

struct exec_orders *
exec_orders_new(struct dev_mem *mem, uint64_t limit, const struct exec_oracle *oracle)
{
    struct exec_orders *o = xcalloc(1, sizeof *o);
    o->mem = mem;
    o->limit = limit;
    o->oracle = oracle;
    o->handles = STREAM_FIRST;
    return o;
}

void
exec_orders_free(struct exec_orders *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->buffers.n; i++)
        dev_release(o->mem, o->buffers.v[i].addr);
    for (size_t i = 0; i < o->texts.n; i++)
        dev_release(o->mem, o->texts.v[i].addr);
    vec_free(&o->texts);
    vec_free(&o->buffers);
    vec_free(&o->spare);
    vec_free(&o->made);
    free(o->error);
    free(o);
}

const struct exec_order *
exec_orders_at(const struct exec_orders *o, size_t i)
{
    return i < o->made.n ? &o->made.v[i] : NULL;
}

void
exec_orders_clear(struct exec_orders *o)
{
    o->made.n = 0;
    if (o->nerrors)
        memset(o->error, 0, o->room * sizeof *o->error);
    o->nerrors = 0;
}

uint64_t
exec_orders_params(const struct exec_orders *o, uint32_t buffer)
{
    return o->buffers.v[buffer].addr;
}

void
exec_orders_begun(struct exec_orders *o, uint32_t buffer)
{
    o->waiting--;
    o->buffers.v[buffer].state = FREE;
    *vec_push(&o->spare) = buffer;
}

/* -- errors of threads -- */

static uint64_t
thread_of(const struct exec_warp *w, unsigned lane)
{
    return ((uint64_t)w->cta->id << 32 | (w->index * LANES + lane)) + 1;
}

static struct thread_error *
error_slot(struct exec_orders *o, uint64_t thread)
{
    size_t i = (size_t)(thread * 0x9E3779B97F4A7C15ull >> 32) & (o->room - 1);
    while (o->error[i].thread && o->error[i].thread != thread)
        i = (i + 1) & (o->room - 1);
    return &o->error[i];
}

static void
note_error(struct exec_orders *o, uint64_t thread, int error)
{
    if (2 * (o->nerrors + 1) > o->room) {
        struct thread_error *old = o->error;
        size_t n = o->room;
        o->room = n ? 2 * n : 64;
        o->error = xcalloc(o->room, sizeof *o->error);
        for (size_t i = 0; i < n; i++)
            if (old[i].thread)
                *error_slot(o, old[i].thread) = old[i];
        free(old);
    }
    struct thread_error *e = error_slot(o, thread);
    o->nerrors += !e->thread;
    *e = (struct thread_error){thread, error};
}

/* The call's answer, which is the thread's last error unless it is success. */
static void
answer(struct exec_warp *w, const struct exec_inst *in, unsigned lane, int error)
{
    if (error)
        note_error(w->cta->grid->orders, thread_of(w, lane), error);
    builtin_result(w, in, lane, (uint64_t)error);
}

/* -- launches -- */

static const struct ptx_func *
kernel_at(const struct exec_warp *w, uint64_t handle)
{
    const struct ptx_func *f = image_function_at(w->cta->grid->prog->image, handle);
    return f && f->is_entry ? f : NULL;
}

static int
check_launch(const struct ptx_func *f, struct exec_dim grid, struct exec_dim block)
{
    if (!f)
        return INVALID_DEVICE_FUNCTION;
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z ||
        grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535 || block.x > 1024 ||
        block.y > 1024 || block.z > 64 || (uint64_t)block.x * block.y * block.z > 1024)
        return INVALID_CONFIGURATION;
    return SUCCESS;
}

/* A buffer, or the error why there is none. */
static int
buffer_new(struct exec_orders *o, uint32_t *at)
{
    if (o->spare.n) {
        *at = o->spare.v[--o->spare.n];
    } else {
        uint32_t own = (uint32_t)o->buffers.n;
        uint64_t addr = dev_alloc(o->mem, BUFFER + sizeof own);
        if (!addr)
            return MEMORY_ALLOCATION;
        dev_write(o->mem, addr + BUFFER, &own, sizeof own);
        vec_push(&o->buffers)->addr = addr;
        *at = own;
    }
    o->buffers.v[*at].state = GIVEN;
    return SUCCESS;
}

/* The buffer that was given at that address, NULL: none. */
static struct buffer *
buffer_at(struct exec_orders *o, uint64_t addr)
{
    uint32_t at;
    if (!dev_read(o->mem, addr + BUFFER, &at, sizeof at) || at >= o->buffers.n ||
        o->buffers.v[at].addr != addr || o->buffers.v[at].state != GIVEN)
        return NULL;
    return &o->buffers.v[at];
}

/* One word of an argument that is a structure. */
static uint32_t
arg_word(const struct exec_warp *w, const struct exec_inst *in, unsigned k, unsigned lane,
         unsigned word)
{
    const struct builtin_plan *p = in->plan;
    return ((const uint32_t *)row(w, p->in[k].from))[word * LANES + lane];
}

static struct exec_dim
arg_dim(const struct exec_warp *w, const struct exec_inst *in, unsigned k, unsigned lane)
{
    return (struct exec_dim){arg_word(w, in, k, lane, 0), arg_word(w, in, k, lane, 1),
                             arg_word(w, in, k, lane, 2)};
}

/* GetParameterBufferV2(function, grid, block, dynamic): its address, NULL on failure. */
static enum exec_result
h_buffer_v2(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    struct exec_orders *o = w->cta->grid->orders;
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        const struct ptx_func *f = kernel_at(w, builtin_arg(w, in, 0, lane));
        struct exec_dim grid = arg_dim(w, in, 1, lane), block = arg_dim(w, in, 2, lane);
        uint32_t at = 0;
        int e = check_launch(f, grid, block);
        if (!e)
            e = buffer_new(o, &at);
        if (e) {
            note_error(o, thread_of(w, lane), e);
            builtin_result(w, in, lane, 0);
            continue;
        }
        struct buffer *b = &o->buffers.v[at];
        b->kernel = f->name;
        b->grid = grid;
        b->block = block;
        b->dynamic_shared = (uint32_t)builtin_arg(w, in, 3, lane);
        builtin_result(w, in, lane, b->addr);
    }
    return EXEC_OK;
}

/* GetParameterBuffer(alignment, bytes) */
static enum exec_result
h_buffer(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    struct exec_orders *o = w->cta->grid->orders;
    FOR_BITS(i, mask)
    {
        uint32_t at = 0;
        int e = builtin_arg(w, in, 1, (unsigned)i) > BUFFER ? INVALID_VALUE
                                                            : buffer_new(o, &at);
        if (e)
            note_error(o, thread_of(w, (unsigned)i), e);
        else
            o->buffers.v[at].kernel = NULL;
        builtin_result(w, in, (unsigned)i, e ? 0 : o->buffers.v[at].addr);
    }
    return EXEC_OK;
}

/* Orders the launch that the buffer describes. */
static int
order_launch(struct exec_warp *w, struct buffer *b, uint64_t stream)
{
    struct exec_grid *g = w->cta->grid;
    struct exec_orders *o = g->orders;
    uint32_t at = (uint32_t)(b - o->buffers.v);
    if (o->waiting >= o->limit) {
        if (!o->told) {
            struct diag *d = diag_add(
                g->diag, DIAG_WARNING, NULL,
                "kernel '%s' has launched %llu kernels that wait for it to end, as many "
                "as may; further launches answer cudaErrorLaunchOutOfResources",
                g->prog->entry->name, (unsigned long long)o->limit);
            diag_hint(g->diag, d,
                      "cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, n)");
        }
        o->told = true;
        b->state = FREE;
        *vec_push(&o->spare) = at;
        return LAUNCH_OUT_OF_RESOURCES;
    }
    b->state = ORDERED;
    o->waiting++;
    *vec_push(&o->made) = (struct exec_order){.kind = EXEC_ORDER_LAUNCH,
                                              .tail = stream == STREAM_TAIL,
                                              .kernel = b->kernel,
                                              .grid = b->grid,
                                              .block = b->block,
                                              .dynamic_shared = b->dynamic_shared,
                                              .buffer = at};
    return SUCCESS;
}

/* LaunchDeviceV2(buffer, stream) */
static enum exec_result
h_launch_v2(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        struct buffer *b = buffer_at(w->cta->grid->orders, builtin_arg(w, in, 0, lane));
        answer(w, in, lane,
               b && b->kernel ? order_launch(w, b, builtin_arg(w, in, 1, lane))
                              : INVALID_VALUE);
    }
    return EXEC_OK;
}

/* LaunchDevice(function, buffer, grid, block, dynamic, stream) */
static enum exec_result
h_launch(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        const struct ptx_func *f = kernel_at(w, builtin_arg(w, in, 0, lane));
        struct buffer *b = buffer_at(w->cta->grid->orders, builtin_arg(w, in, 1, lane));
        struct exec_dim grid = arg_dim(w, in, 2, lane), block = arg_dim(w, in, 3, lane);
        int e = b ? check_launch(f, grid, block) : INVALID_VALUE;
        if (!e) {
            b->kernel = f->name;
            b->grid = grid;
            b->block = block;
            b->dynamic_shared = (uint32_t)builtin_arg(w, in, 4, lane);
            e = order_launch(w, b, builtin_arg(w, in, 5, lane));
        }
        answer(w, in, lane, e);
    }
    return EXEC_OK;
}

/* -- copies and fills -- */

static void
order(struct exec_warp *w, const struct exec_inst *in, unsigned lane, struct exec_order x)
{
    if (x.width && x.height)
        *vec_push(&w->cta->grid->orders->made) = x;
    answer(w, in, lane, SUCCESS);
}

/* MemcpyAsync(dst, src, bytes, kind, stream); kinds that name the host are refused. */
static enum exec_result
h_copy(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    enum { DEVICE_TO_DEVICE = 3, DEFAULT = 4 };
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        uint64_t kind = builtin_arg(w, in, 3, lane);
        if (kind != DEVICE_TO_DEVICE && kind != DEFAULT)
            answer(w, in, lane, INVALID_MEMCPY_DIRECTION);
        else
            order(w, in, lane,
                  (struct exec_order){.kind = EXEC_ORDER_COPY,
                                      .tail = builtin_arg(w, in, 4, lane) == STREAM_TAIL,
                                      .dst = builtin_arg(w, in, 0, lane),
                                      .src = builtin_arg(w, in, 1, lane),
                                      .width = builtin_arg(w, in, 2, lane),
                                      .height = 1});
    }
    return EXEC_OK;
}

/* Memcpy2DAsync(dst, pitch, src, pitch, width, height, kind, stream) */
static enum exec_result
h_copy_2d(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        order(w, in, lane,
              (struct exec_order){.kind = EXEC_ORDER_COPY,
                                  .tail = builtin_arg(w, in, 7, lane) == STREAM_TAIL,
                                  .dst = builtin_arg(w, in, 0, lane),
                                  .dst_pitch = builtin_arg(w, in, 1, lane),
                                  .src = builtin_arg(w, in, 2, lane),
                                  .src_pitch = builtin_arg(w, in, 3, lane),
                                  .width = builtin_arg(w, in, 4, lane),
                                  .height = builtin_arg(w, in, 5, lane)});
    }
    return EXEC_OK;
}

/* MemsetAsync(dst, value, bytes, stream) */
static enum exec_result
h_set(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        order(w, in, lane,
              (struct exec_order){.kind = EXEC_ORDER_SET,
                                  .tail = builtin_arg(w, in, 3, lane) == STREAM_TAIL,
                                  .dst = builtin_arg(w, in, 0, lane),
                                  .value = (uint8_t)builtin_arg(w, in, 1, lane),
                                  .width = builtin_arg(w, in, 2, lane),
                                  .height = 1});
    }
    return EXEC_OK;
}

/* Memset2DAsync(dst, pitch, value, width, height, stream) */
static enum exec_result
h_set_2d(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        order(w, in, lane,
              (struct exec_order){.kind = EXEC_ORDER_SET,
                                  .tail = builtin_arg(w, in, 5, lane) == STREAM_TAIL,
                                  .dst = builtin_arg(w, in, 0, lane),
                                  .dst_pitch = builtin_arg(w, in, 1, lane),
                                  .value = (uint8_t)builtin_arg(w, in, 2, lane),
                                  .width = builtin_arg(w, in, 3, lane),
                                  .height = builtin_arg(w, in, 4, lane)});
    }
    return EXEC_OK;
}

/* -- memory: the heap of malloc -- */

/* Writes an answer through a pointer of the program. */
static enum exec_result
give(struct exec_warp *w, const struct exec_inst *in, unsigned lane, unsigned arg,
     const void *value, unsigned bytes, int error)
{
    uint64_t at = builtin_arg(w, in, arg, lane);
    if (!error && !mem_write_generic(w, lane, at, value, bytes))
        return exec_fault(w, in, lane, NULL,
                          "a function of the device runtime writes its answer to 0x%llx, "
                          "which is not in memory",
                          (unsigned long long)at);
    answer(w, in, lane, error);
    return EXEC_OK;
}

static enum exec_result
h_malloc(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    struct dev_mem *mem = w->cta->grid->mem;
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    {
        uint64_t addr =
            heap_alloc(dev_heap(mem), mem, builtin_arg(w, in, 1, (unsigned)i));
        if (r == EXEC_OK)
            r = give(w, in, (unsigned)i, 0, &addr, sizeof addr,
                     addr ? SUCCESS : MEMORY_ALLOCATION);
    }
    return r;
}

static enum exec_result
h_free(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        uint64_t at = builtin_arg(w, in, 0, (unsigned)i);
        answer(w, in, (unsigned)i,
               !at || heap_release(dev_heap(w->cta->grid->mem), at) ? SUCCESS
                                                                    : INVALID_VALUE);
    }
    return EXEC_OK;
}

/* -- streams and events: work is done in the order in which it is ordered -- */

enum { CREATE_NON_BLOCKING = 1, CREATE_DISABLE_TIMING = 2 };

static enum exec_result
create(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, uint64_t flags)
{
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    {
        uint64_t handle = w->cta->grid->orders->handles++;
        if (r == EXEC_OK)
            r = give(w, in, (unsigned)i, 0, &handle, sizeof handle,
                     builtin_arg(w, in, 1, (unsigned)i) == flags ? SUCCESS
                                                                 : INVALID_VALUE);
    }
    return r;
}

static enum exec_result
h_stream_new(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s)
{
    return create(w, in, mask, CREATE_NON_BLOCKING);
}

static enum exec_result
h_event_new(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    return create(w, in, mask, CREATE_DISABLE_TIMING);
}

static enum exec_result
h_nothing(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    FOR_BITS(i, mask)
    builtin_result(w, in, (unsigned)i, SUCCESS);
    return EXEC_OK;
}

/* -- errors -- */

static void
last_error(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, bool clear)
{
    struct exec_orders *o = w->cta->grid->orders;
    FOR_BITS(i, mask)
    {
        struct thread_error *e =
            o->nerrors ? error_slot(o, thread_of(w, (unsigned)i)) : NULL;
        builtin_result(w, in, (unsigned)i, e ? (uint64_t)e->error : SUCCESS);
        if (e && clear)
            e->error = SUCCESS; /* its place stays taken */
    }
}

static enum exec_result
h_get_error(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    last_error(w, in, mask, true);
    return EXEC_OK;
}

static enum exec_result
h_peek_error(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s)
{
    last_error(w, in, mask, false);
    return EXEC_OK;
}

/* Device address of a number's text, 0: no memory is left. */
static uint64_t
text_of(struct exec_orders *o, int error, bool name)
{
    for (size_t i = 0; i < o->texts.n; i++)
        if (o->texts.v[i].error == error && o->texts.v[i].name == name)
            return o->texts.v[i].addr;
    const char *text = o->oracle->error_text(o->oracle->user, error, name);
    if (!text)
        text = "unrecognized error code";
    uint64_t addr = dev_alloc(o->mem, strlen(text) + 1);
    if (addr) {
        dev_write(o->mem, addr, text, strlen(text) + 1);
        *vec_push(&o->texts) = (struct text){error, name, addr};
    }
    return addr;
}

static enum exec_result
texts(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, bool name)
{
    FOR_BITS(i, mask)
    builtin_result(
        w, in, (unsigned)i,
        text_of(w->cta->grid->orders, (int)builtin_arg(w, in, 0, (unsigned)i), name));
    return EXEC_OK;
}

static enum exec_result
h_error_string(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
               struct exec_step *s)
{
    return texts(w, in, mask, false);
}

static enum exec_result
h_error_name(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s)
{
    return texts(w, in, mask, true);
}

/* -- questions -- */

/* Answers the same number through argument 0 of every lane. */
static enum exec_result
give_all(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, int value)
{
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    if (r == EXEC_OK)
        r = give(w, in, (unsigned)i, 0, &value, sizeof value, SUCCESS);
    return r;
}

static enum exec_result
h_device(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    return give_all(w, in, mask, 0);
}

static enum exec_result
h_device_count(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
               struct exec_step *s)
{
    return give_all(w, in, mask, 1);
}

static enum exec_result
h_version(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    return give_all(w, in, mask, RUNTIME_VERSION);
}

/* DeviceGetAttribute(value, attribute, device) */
static enum exec_result
h_attribute(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    const struct exec_oracle *q = w->cta->grid->orders->oracle;
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    {
        int value = 0,
            e = builtin_arg(w, in, 2, (unsigned)i)
                    ? INVALID_DEVICE
                    : q->attribute(q->user, (int)builtin_arg(w, in, 1, (unsigned)i),
                                   &value);
        if (r == EXEC_OK)
            r = give(w, in, (unsigned)i, 0, &value, sizeof value, e);
    }
    return r;
}

/* DeviceGetLimit(value, limit) */
static enum exec_result
h_limit(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    const struct exec_oracle *q = w->cta->grid->orders->oracle;
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    {
        uint64_t value = 0;
        int e = q->limit(q->user, (int)builtin_arg(w, in, 1, (unsigned)i), &value);
        if (r == EXEC_OK)
            r = give(w, in, (unsigned)i, 0, &value, sizeof value, e);
    }
    return r;
}

/* OccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic, ...) */
static enum exec_result
h_occupancy(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    const struct exec_oracle *q = w->cta->grid->orders->oracle;
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    {
        unsigned lane = (unsigned)i;
        const struct ptx_func *f = kernel_at(w, builtin_arg(w, in, 1, lane));
        int blocks = 0,
            e = f ? q->occupancy(q->user, f->name, (uint32_t)builtin_arg(w, in, 2, lane),
                                 builtin_arg(w, in, 3, lane), &blocks)
                  : INVALID_DEVICE_FUNCTION;
        if (r == EXEC_OK)
            r = give(w, in, lane, 0, &blocks, sizeof blocks, e);
    }
    return r;
}

/* FuncGetAttributes(attributes, function) */
static enum exec_result
h_function(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    const struct exec_oracle *q = w->cta->grid->orders->oracle;
    enum exec_result r = EXEC_OK;
    FOR_BITS(i, mask)
    {
        struct {
            uint64_t sizes[3];
            int values[7];
        } a = {0};
        const struct ptx_func *f = kernel_at(w, builtin_arg(w, in, 1, (unsigned)i));
        int e = f ? q->function(q->user, f->name, a.sizes, a.values)
                  : INVALID_DEVICE_FUNCTION;
        if (r == EXEC_OK)
            r = give(w, in, (unsigned)i, 0, &a, sizeof a.sizes + sizeof a.values, e);
    }
    return r;
}

/* -- graphs: GraphSetConditional(handle, value); the handle is a word's address -- */

static enum exec_result
h_condition(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        uint64_t at = builtin_arg(w, in, 0, (unsigned)i);
        uint32_t value = (uint32_t)builtin_arg(w, in, 1, (unsigned)i);
        if (!dev_write(w->cta->grid->mem, at, &value, sizeof value))
            return exec_fault(w, in, (unsigned)i,
                              "handles come from cudaGraphConditionalHandleCreate",
                              "cudaGraphSetConditional: 0x%llx is no conditional handle",
                              (unsigned long long)at);
    }
    return EXEC_OK;
}

const struct builtin_row builtin_orders[] = {
    {"GetParameterBufferV2", h_buffer_v2, 4, 1},
    {"GetParameterBuffer", h_buffer, 2, 1},
    {"LaunchDeviceV2", h_launch_v2, 2, 1},
    {"LaunchDevice", h_launch, 6, 1},
    {"MemcpyAsync", h_copy, 5, 1},
    {"Memcpy2DAsync", h_copy_2d, 8, 1},
    {"MemsetAsync", h_set, 4, 1},
    {"Memset2DAsync", h_set_2d, 6, 1},
    {"Malloc", h_malloc, 2, 1},
    {"Free", h_free, 1, 1},
    {"StreamCreateWithFlags", h_stream_new, 2, 1},
    {"StreamDestroy", h_nothing, 1, 1},
    {"StreamWaitEvent", h_nothing, 3, 1},
    {"EventCreateWithFlags", h_event_new, 2, 1},
    {"EventRecord", h_nothing, 2, 1},
    {"EventRecordWithFlags", h_nothing, 3, 1},
    {"EventDestroy", h_nothing, 1, 1},
    {"GetLastError", h_get_error, 0, 1},
    {"PeekAtLastError", h_peek_error, 0, 1},
    {"GetErrorString", h_error_string, 1, 1},
    {"GetErrorName", h_error_name, 1, 1},
    {"GetDevice", h_device, 1, 1},
    {"GetDeviceCount", h_device_count, 1, 1},
    {"RuntimeGetVersion", h_version, 1, 1},
    {"DeviceGetAttribute", h_attribute, 3, 1},
    {"DeviceGetLimit", h_limit, 2, 1},
    {"OccupancyMaxActiveBlocksPerMultiprocessor", h_occupancy, 4, 1},
    {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", h_occupancy, 5, 1},
    {"FuncGetAttributes", h_function, 2, 1},
    {"GraphSetConditional", h_condition, 2, 0},
    {NULL, NULL, 0, 0},
};
