/* cudart_memory.c: allocation, copies, fills, variables, pointer queries, memory pools.
 */
#include "cuda/cudart/cudart.h"

#include <stdlib.h>

enum { PITCH = 512 }; /* bytes; what the hardware of today gives */

#define DEVICE_KINDS (1u << ACU_KIND_DEVICE | 1u << ACU_KIND_MANAGED)
#define PINNED_KINDS (1u << ACU_KIND_PINNED)

/* -- allocation -- */

static int
alloc(void **p, size_t n, enum acu_kind kind, unsigned flags)
{
    uint64_t a;
    if (!p)
        return ACU_INVALID_VALUE;
    int e = acu_alloc(kind, n, flags, &a);
    *p = PTR(a);
    return e;
}

EXPORT int
cudaMalloc(void **p, size_t n)
{
    CALL(alloc(p, n, ACU_KIND_DEVICE, 0));
}

EXPORT int
cudaMallocManaged(void **p, size_t n, unsigned flags)
{
    CALL(flags == 1 || flags == 2
             ? n ? alloc(p, n, ACU_KIND_MANAGED, flags) : ACU_INVALID_VALUE
             : ACU_INVALID_VALUE);
}

EXPORT int
cudaMallocHost(void **p, size_t n)
{
    CALL(alloc(p, n, ACU_KIND_PINNED, 0));
}

EXPORT int
cudaHostAlloc(void **p, size_t n, unsigned flags)
{
    CALL(flags & ~7u ? ACU_INVALID_VALUE : alloc(p, n, ACU_KIND_PINNED, flags));
}

static int
alloc_pitch(void **p, size_t *pitch, size_t width, size_t rows)
{
    if (!p || !pitch)
        return ACU_INVALID_VALUE;
    *p = NULL;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (!width || !rows)
        return 0;
    if (width > SIZE_MAX - PITCH || rows > SIZE_MAX / *pitch)
        return ACU_OUT_OF_MEMORY;
    return alloc(p, *pitch * rows, ACU_KIND_DEVICE, 0);
}

EXPORT int
cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
    CALL(alloc_pitch(p, pitch, width, height));
}

static int
alloc_3d(struct rt_pitched *p, struct rt_extent x)
{
    if (!p)
        return ACU_INVALID_VALUE;
    *p = (struct rt_pitched){.xsize = x.width, .ysize = x.height};
    if (x.depth && x.height > SIZE_MAX / x.depth)
        return ACU_OUT_OF_MEMORY;
    return alloc_pitch(&p->ptr, &p->pitch, x.width, x.height * x.depth);
}

EXPORT int
cudaMalloc3D(struct rt_pitched *p, struct rt_extent extent)
{
    CALL(alloc_3d(p, extent));
}

EXPORT int
cudaFree(void *p)
{
    CALL(acu_free(ADDR(p), DEVICE_KINDS));
}

EXPORT int
cudaFreeHost(void *p)
{
    CALL(acu_free(ADDR(p), PINNED_KINDS));
}

EXPORT int
cudaHostRegister(void *p, size_t n, unsigned flags)
{
    CALL(acu_register_host(p, n, flags));
}

EXPORT int
cudaHostUnregister(void *p)
{
    CALL(acu_unregister_host(p));
}

static bool
host_range(const void *p, struct acu_range *r)
{
    return acu_range_find(ADDR(p), r) &&
           (r->kind == ACU_KIND_PINNED || r->kind == ACU_KIND_REGISTERED);
}

EXPORT int
cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct acu_range r;
    CALL(device && !flags && host_range(host, &r) ? (*device = host, 0)
                                                  : ACU_INVALID_VALUE);
}

EXPORT int
cudaHostGetFlags(unsigned *flags, void *host)
{
    struct acu_range r;
    CALL(flags && host_range(host, &r) ? (*flags = r.flags, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    uint64_t f, t;
    CALL(free_bytes && total
             ? (acu_memory(&f, &t), *free_bytes = (size_t)f, *total = (size_t)t, 0)
             : ACU_INVALID_VALUE);
}

/* -- pools: allocation in stream order is allocation now -- */

enum { POOL_THRESHOLD = 4, POOL_RESERVED = 5, POOL_USED_HIGH = 8, POOL_ATTRIBUTES = 9 };

struct rt_pool {
    bool live;
    uint64_t attribute[POOL_ATTRIBUTES];
};
static struct rt_pool default_pool = {.live = true, .attribute = {0, 1, 1, 1}};
static struct rt_pool *current_pool = &default_pool;

static bool
pool_ok(const struct rt_pool *p)
{
    return p && p->live;
}

static int
alloc_async(void **p, size_t n, rt_stream s)
{
    uint64_t addr = 0;
    int e = p ? acu_do_alloc(s, n, &addr) : ACU_INVALID_VALUE;
    if (p)
        *p = PTR(addr);
    return e;
}

EXPORT int
cudaMallocAsync(void **p, size_t n, rt_stream s)
{
    CALL(alloc_async(p, n, s));
}

EXPORT int
cudaMallocFromPoolAsync(void **p, size_t n, struct rt_pool *pool, rt_stream s)
{
    CALL(pool_ok(pool) ? alloc_async(p, n, s) : ACU_INVALID_VALUE);
}

EXPORT int
cudaFreeAsync(void *p, rt_stream s)
{
    CALL(p ? acu_do_free(s, ADDR(p)) : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceGetDefaultMemPool(struct rt_pool **pool, int device)
{
    CALL(device ? ACU_INVALID_DEVICE
         : pool ? (*pool = &default_pool, 0)
                : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceGetMemPool(struct rt_pool **pool, int device)
{
    CALL(device ? ACU_INVALID_DEVICE
         : pool ? (*pool = current_pool, 0)
                : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceSetMemPool(int device, struct rt_pool *pool)
{
    CALL(device          ? ACU_INVALID_DEVICE
         : pool_ok(pool) ? (current_pool = pool, 0)
                         : ACU_INVALID_VALUE);
}

EXPORT int
cudaMemPoolCreate(struct rt_pool **pool, const void *props)
{
    if (!pool || !props)
        CALL_LIGHT(ACU_INVALID_VALUE);
    *pool = calloc(1, sizeof **pool);
    if (!*pool)
        CALL_LIGHT(ACU_OUT_OF_MEMORY);
    **pool = default_pool;
    CALL(0);
}

static int
pool_destroy(struct rt_pool *pool)
{
    if (!pool_ok(pool) || pool == &default_pool)
        return ACU_INVALID_VALUE;
    if (current_pool == pool)
        current_pool = &default_pool;
    pool->live = false;
    free(pool);
    return 0;
}

EXPORT int
cudaMemPoolDestroy(struct rt_pool *pool)
{
    CALL(pool_destroy(pool));
}

EXPORT int
cudaMemPoolTrimTo(struct rt_pool *pool, size_t keep)
{
    CALL(pool_ok(pool) ? 0 : ACU_INVALID_VALUE);
}

/* Attributes 1 to 3 are ints, the others 64-bit; 5 to 8 are bytes in use. */
static int
pool_get(const struct rt_pool *pool, int attr, void *value)
{
    uint64_t f, total;
    if (!pool_ok(pool) || !value || attr < 1 || attr >= POOL_ATTRIBUTES)
        return ACU_INVALID_VALUE;
    acu_memory(&f, &total);
    if (attr < POOL_THRESHOLD)
        *(int *)value = (int)pool->attribute[attr];
    else
        *(uint64_t *)value = attr >= POOL_RESERVED ? total - f : pool->attribute[attr];
    return 0;
}

static int
pool_set(struct rt_pool *pool, int attr, const void *value)
{
    if (!pool_ok(pool) || !value || attr < 1 || attr >= POOL_ATTRIBUTES)
        return ACU_INVALID_VALUE;
    pool->attribute[attr] = attr < POOL_THRESHOLD ? (uint64_t) * (const int *)value
                                                  : *(const uint64_t *)value;
    return 0;
}

EXPORT int
cudaMemPoolGetAttribute(struct rt_pool *pool, int attr, void *value)
{
    CALL(pool_get(pool, attr, value));
}

EXPORT int
cudaMemPoolSetAttribute(struct rt_pool *pool, int attr, void *value)
{
    CALL(pool_set(pool, attr, value));
}

EXPORT int
cudaMemPoolSetAccess(struct rt_pool *pool, const void *list, size_t n)
{
    CALL(pool_ok(pool) ? 0 : ACU_INVALID_VALUE);
}

EXPORT int
cudaMemPoolGetAccess(int *flags, struct rt_pool *pool, void *location)
{
    CALL(pool_ok(pool) && flags ? (*flags = 3, 0) : ACU_INVALID_VALUE);
}

/* -- copies -- */

int
rt_sides(int kind, struct rt_sides *s)
{
    static const struct rt_sides sides[] = {[RT_H2H] = {ACU_HOST, ACU_HOST},
                                            [RT_H2D] = {ACU_DEV, ACU_HOST},
                                            [RT_D2H] = {ACU_HOST, ACU_DEV},
                                            [RT_D2D] = {ACU_DEV, ACU_DEV},
                                            [RT_DEFAULT] = {ACU_ANY, ACU_ANY}};
    if (kind < 0 || kind > RT_DEFAULT)
        return ACU_INVALID_MEMCPY_DIRECTION;
    *s = sides[kind];
    return 0;
}

static int
copy(void *dst, const void *src, size_t n, int kind, rt_stream stream)
{
    struct rt_sides s;
    int e = rt_sides(kind, &s);
    if (e)
        return e;
    if (!acu_stream_valid(stream))
        return ACU_INVALID_HANDLE;
    if (acu_capturing(stream))
        return acu_do_copy(stream, &(struct acu_place){.side = s.dst, .addr = ADDR(dst)},
                           &(struct acu_place){.side = s.src, .addr = ADDR(src)}, n, 1,
                           1);
    return acu_copy(ADDR(dst), s.dst, ADDR(src), s.src, n);
}

EXPORT int
cudaMemcpy(void *dst, const void *src, size_t n, int kind)
{
    CALL(copy(dst, src, n, kind, NULL));
}

EXPORT int
cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind, rt_stream stream)
{
    CALL(copy(dst, src, n, kind, stream));
}

static int
copy_peer(void *dst, int dst_device, const void *src, int src_device, size_t n,
          rt_stream stream)
{
    if (dst_device || src_device)
        return ACU_INVALID_DEVICE;
    return copy(dst, src, n, RT_DEFAULT, stream);
}

EXPORT int
cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t n)
{
    CALL(copy_peer(dst, dst_device, src, src_device, n, NULL));
}

EXPORT int
cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t n,
                    rt_stream stream)
{
    CALL(copy_peer(dst, dst_device, src, src_device, n, stream));
}

static int
copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
        size_t height, int kind, rt_stream stream)
{
    struct rt_sides s;
    int e = rt_sides(kind, &s);
    if (e)
        return e;
    if (width > dpitch || width > spitch)
        return ACU_INVALID_PITCH_VALUE;
    struct acu_place d = {.side = s.dst, .addr = ADDR(dst), .pitch = dpitch};
    struct acu_place f = {.side = s.src, .addr = ADDR(src), .pitch = spitch};
    return acu_do_copy(stream, &d, &f, width, height, 1);
}

EXPORT int
cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
             size_t height, int kind)
{
    CALL(copy_2d(dst, dpitch, src, spitch, width, height, kind, NULL));
}

EXPORT int
cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                  size_t height, int kind, rt_stream stream)
{
    CALL(copy_2d(dst, dpitch, src, spitch, width, height, kind, stream));
}

/* One end of a 3-D copy. x counts bytes in linear memory, elements in an array. */
static int
place(struct rt_array *handle, const struct rt_pos *pos, const struct rt_pitched *ptr,
      enum acu_side side, struct acu_place *p)
{
    *p = (struct acu_place){.side = side, .x = pos->x, .y = pos->y, .z = pos->z};
    if (handle) {
        struct rt_array *a = rt_array_find(handle);
        if (!a)
            return ACU_INVALID_HANDLE;
        p->array = a->array;
        p->x *= a->element;
        return 0;
    }
    p->addr = ADDR(ptr->ptr);
    p->pitch = ptr->pitch;
    p->slice = ptr->ysize;
    return 0;
}

int
rt_memcpy3d_places(const struct rt_memcpy3d *p, struct acu_place *dst,
                   struct acu_place *src, struct rt_extent *bytes)
{
    struct rt_sides s;
    if ((p->src_array && p->src_ptr.ptr) || (p->dst_array && p->dst_ptr.ptr))
        return ACU_INVALID_VALUE;
    int e = rt_sides(p->kind, &s);
    if (!e)
        e = place(p->src_array, &p->src_pos, &p->src_ptr, s.src, src);
    if (!e)
        e = place(p->dst_array, &p->dst_pos, &p->dst_ptr, s.dst, dst);
    if (e)
        return e;
    const struct rt_array *a = rt_array_find(p->src_array ? p->src_array : p->dst_array);
    *bytes = p->extent;
    bytes->width *= a ? a->element : 1;
    return 0;
}

static int
copy_3d(const struct rt_memcpy3d *p, rt_stream stream)
{
    struct acu_place dst, src;
    struct rt_extent x;
    if (!p)
        return ACU_INVALID_VALUE;
    int e = rt_memcpy3d_places(p, &dst, &src, &x);
    return e ? e : acu_do_copy(stream, &dst, &src, x.width, x.height, x.depth);
}

EXPORT int
cudaMemcpy3D(const struct rt_memcpy3d *p)
{
    CALL(copy_3d(p, NULL));
}

EXPORT int
cudaMemcpy3DAsync(const struct rt_memcpy3d *p, rt_stream stream)
{
    CALL(copy_3d(p, stream));
}

static int
copy_3d_peer(const struct rt_memcpy3d_peer *p, rt_stream stream)
{
    if (!p)
        return ACU_INVALID_VALUE;
    if (p->src_device || p->dst_device)
        return ACU_INVALID_DEVICE;
    struct rt_memcpy3d q = {p->src_array, p->src_pos, p->src_ptr, p->dst_array,
                            p->dst_pos,   p->dst_ptr, p->extent,  RT_DEFAULT};
    return copy_3d(&q, stream);
}

EXPORT int
cudaMemcpy3DPeer(const struct rt_memcpy3d_peer *p)
{
    CALL(copy_3d_peer(p, NULL));
}

EXPORT int
cudaMemcpy3DPeerAsync(const struct rt_memcpy3d_peer *p, rt_stream stream)
{
    CALL(copy_3d_peer(p, stream));
}

/* -- fills -- */

static int
set(void *p, size_t pitch, size_t rows, int value, size_t width, size_t height,
    size_t depth, rt_stream stream)
{
    struct acu_place dst = {.addr = ADDR(p), .pitch = pitch, .slice = rows};
    return acu_do_set(stream, &dst, (uint8_t)value, 1, width, height, depth);
}

EXPORT int
cudaMemset(void *p, int value, size_t n)
{
    CALL(set(p, 0, 0, value, n, 1, 1, NULL));
}

EXPORT int
cudaMemsetAsync(void *p, int value, size_t n, rt_stream stream)
{
    CALL(set(p, 0, 0, value, n, 1, 1, stream));
}

EXPORT int
cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
    CALL(set(p, pitch, 0, value, width, height, 1, NULL));
}

EXPORT int
cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                  rt_stream stream)
{
    CALL(set(p, pitch, 0, value, width, height, 1, stream));
}

EXPORT int
cudaMemset3D(struct rt_pitched p, int value, struct rt_extent x)
{
    CALL(set(p.ptr, p.pitch, p.ysize, value, x.width, x.height, x.depth, NULL));
}

EXPORT int
cudaMemset3DAsync(struct rt_pitched p, int value, struct rt_extent x, rt_stream stream)
{
    CALL(set(p.ptr, p.pitch, p.ysize, value, x.width, x.height, x.depth, stream));
}

/* -- variables -- */

int
rt_symbol(const void *symbol, struct acu_symbol **s)
{
    *s = acu_symbol_find(symbol);
    return *s ? acu_symbol_load(*s) : ACU_INVALID_SYMBOL;
}

/* The other side of a copy to or from a variable is host memory, or device memory. */
int
rt_symbol_places(const void *symbol, uint64_t other, size_t n, size_t offset, int kind,
                 bool to_symbol, struct acu_place *dst, struct acu_place *src)
{
    struct acu_symbol *s;
    struct rt_sides sides;
    int e = rt_symbol(symbol, &s);
    if (!e)
        e = rt_sides(kind, &sides);
    if (e)
        return e;
    if (kind == RT_H2H || kind == (to_symbol ? RT_D2H : RT_H2D))
        return ACU_INVALID_MEMCPY_DIRECTION;
    if (n > s->size || offset > s->size - n)
        return ACU_INVALID_VALUE;
    *(to_symbol ? dst : src) =
        (struct acu_place){.side = ACU_DEV, .addr = s->addr + offset};
    *(to_symbol ? src : dst) =
        (struct acu_place){.side = to_symbol ? sides.src : sides.dst, .addr = other};
    return 0;
}

static int
copy_symbol(const void *symbol, uint64_t other, size_t n, size_t offset, int kind,
            bool to_symbol, rt_stream stream)
{
    struct acu_place dst, src;
    int e = rt_symbol_places(symbol, other, n, offset, kind, to_symbol, &dst, &src);
    return e ? e : acu_do_copy(stream, &dst, &src, n, 1, 1);
}

EXPORT int
cudaMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t offset, int kind)
{
    CALL(copy_symbol(symbol, ADDR(src), n, offset, kind, true, NULL));
}

EXPORT int
cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t n, size_t offset,
                        int kind, rt_stream stream)
{
    CALL(copy_symbol(symbol, ADDR(src), n, offset, kind, true, stream));
}

EXPORT int
cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset, int kind)
{
    CALL(copy_symbol(symbol, ADDR(dst), n, offset, kind, false, NULL));
}

EXPORT int
cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t n, size_t offset,
                          int kind, rt_stream stream)
{
    CALL(copy_symbol(symbol, ADDR(dst), n, offset, kind, false, stream));
}

EXPORT int
cudaGetSymbolAddress(void **p, const void *symbol)
{
    struct acu_symbol *s;
    int e = acu_begin();
    if (!e)
        e = p ? rt_symbol(symbol, &s) : ACU_INVALID_VALUE;
    if (!e)
        *p = PTR(s->addr);
    return acu_end(e);
}

EXPORT int
cudaGetSymbolSize(size_t *n, const void *symbol)
{
    struct acu_symbol *s;
    int e = acu_begin();
    if (!e)
        e = n ? rt_symbol(symbol, &s) : ACU_INVALID_VALUE;
    if (!e)
        *n = s->size;
    return acu_end(e);
}

/* -- queries and hints -- */

enum { NO_DEVICE = -2 };

static int
pointer_attributes(struct rt_pointer_attributes *a, const void *p)
{
    struct acu_range r;
    if (!a || !p)
        return ACU_INVALID_VALUE;
    *a =
        (struct rt_pointer_attributes){.device = NO_DEVICE, .host_pointer = PTR(ADDR(p))};
    if (!acu_range_find(ADDR(p), &r))
        return 0;
    static const int types[] = {
        [ACU_KIND_DEVICE] = 2, [ACU_KIND_SYMBOL] = 2,     [ACU_KIND_VIRTUAL] = 2,
        [ACU_KIND_PINNED] = 1, [ACU_KIND_REGISTERED] = 1, [ACU_KIND_MANAGED] = 3};
    a->type = types[r.kind];
    a->device = 0;
    a->device_pointer = PTR(ADDR(p));
    if (a->type == 2)
        a->host_pointer = NULL;
    return 0;
}

EXPORT int
cudaPointerGetAttributes(struct rt_pointer_attributes *a, const void *p)
{
    CALL(pointer_attributes(a, p));
}

static int
managed(const void *p, size_t n)
{
    struct acu_range r;
    if (!p || !n || !acu_range_find(ADDR(p), &r) || r.kind != ACU_KIND_MANAGED)
        return ACU_INVALID_VALUE;
    return acu_check(ADDR(p), n);
}

/* All memory is where both sides reach it: advice and prefetching change nothing. The
 * last parameters differ between versions of CUDA; none is read. */
EXPORT int
cudaMemAdvise(const void *p, size_t n, int advice)
{
    CALL(managed(p, n));
}

EXPORT int
cudaMemPrefetchAsync(const void *p, size_t n)
{
    CALL(managed(p, n));
}

/* Attributes are ints; nobody advised anything that was kept. */
static int
range_attribute(void *data, size_t size, int attr, const void *p, size_t n)
{
    int e = managed(p, n);
    if (e || !data || size % sizeof(int) || !size)
        return e ? e : ACU_INVALID_VALUE;
    for (size_t i = 0; i < size / sizeof(int); i++)
        ((int *)data)[i] = attr == 1 ? 0 : NO_DEVICE;
    return 0;
}

EXPORT int
cudaMemRangeGetAttribute(void *data, size_t size, int attr, const void *p, size_t n)
{
    CALL(range_attribute(data, size, attr, p, n));
}

static int
range_attributes(void **data, const size_t *sizes, const int *attrs, size_t count,
                 const void *p, size_t n)
{
    int e = data && sizes && attrs ? 0 : ACU_INVALID_VALUE;
    for (size_t i = 0; !e && i < count; i++)
        e = range_attribute(data[i], sizes[i], attrs[i], p, n);
    return e;
}

EXPORT int
cudaMemRangeGetAttributes(void **data, size_t *sizes, int *attrs, size_t count,
                          const void *p, size_t n)
{
    CALL(range_attributes(data, sizes, attrs, count, p, n));
}
