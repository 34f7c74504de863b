/* driver_memory.c: memory, copies, fills, pools, what a pointer is. */
#include "cuda/core/core_graph.h"
#include "cuda/driver/driver.h"

enum { PITCH = 512 };
#define KINDS(a) (1u << ACU_KIND_##a)

/* -- allocation -- */

static int
alloc(enum acu_kind kind, uint64_t *p, size_t bytes, unsigned flags)
{
    return !p || !bytes ? ACU_INVALID_VALUE : acu_alloc(kind, bytes, flags, p);
}

CU
cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
    CALL(alloc(ACU_KIND_DEVICE, p, bytes, 0));
}

CU
cuMemAllocPitch_v2(uint64_t *p, size_t *pitch, size_t width, size_t height, unsigned size)
{
    size_t row = (width + PITCH - 1) / PITCH * PITCH;
    CALL(!pitch || !width || !height || (size != 4 && size != 8 && size != 16) ||
                 width > SIZE_MAX / 2 || height > SIZE_MAX / row
             ? ACU_INVALID_VALUE
             : (*pitch = row, alloc(ACU_KIND_DEVICE, p, row * height, 0)));
}

CU
cuMemFree_v2(uint64_t p)
{
    CALL(acu_free(p, KINDS(DEVICE) | KINDS(MANAGED)));
}

CU
cuMemAllocManaged(uint64_t *p, size_t bytes, unsigned flags)
{
    CALL(flags != 1 && flags != 2 && flags != 4
             ? ACU_INVALID_VALUE
             : alloc(ACU_KIND_MANAGED, p, bytes, flags));
}

CU
cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    uint64_t a = 0;
    CALL(!p ? ACU_INVALID_VALUE
            : ((e_ = alloc(ACU_KIND_PINNED, &a, bytes, flags)), *p = PTR(a), e_));
}

CU
cuMemAllocHost_v2(void **p, size_t bytes)
{
    return cuMemHostAlloc(p, bytes, 0);
}

CU
cuMemFreeHost(void *p)
{
    CALL(acu_free(ADDR(p), KINDS(PINNED)));
}

CU
cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    CALL(acu_register_host(p, bytes, flags));
}

CU
cuMemHostUnregister(void *p)
{
    CALL(acu_unregister_host(p));
}

/* The live range of a host pointer that kernels reach. */
static int
host_range(const void *p, struct acu_range *r)
{
    if (!acu_range_find(ADDR(p), r))
        return ACU_INVALID_VALUE;
    unsigned kinds = KINDS(PINNED) | KINDS(REGISTERED) | KINDS(MANAGED);
    return kinds >> r->kind & 1 ? 0 : ACU_INVALID_VALUE;
}

CU
cuMemHostGetDevicePointer_v2(uint64_t *device, void *p, unsigned flags)
{
    struct acu_range r;
    CALL(!device || flags ? ACU_INVALID_VALUE
                          : ((e_ = host_range(p, &r)), *device = e_ ? 0 : ADDR(p), e_));
}

CU
cuMemHostGetFlags(unsigned *flags, void *p)
{
    struct acu_range r;
    CALL(!flags ? ACU_INVALID_VALUE
                : ((e_ = host_range(p, &r)), *flags = e_ ? 0 : r.flags, e_));
}

CU
cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    uint64_t f = 0, t = 0;
    CALL(!free_bytes || !total ? ACU_INVALID_VALUE
                               : (acu_memory(&f, &t), *free_bytes = f, *total = t, 0));
}

CU
cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t p)
{
    struct acu_range r;
    CALL(!acu_range_find(p, &r) ? ACU_NOT_FOUND
                                : (base ? (void)(*base = r.addr) : (void)0,
                                   bytes ? (void)(*bytes = r.size) : (void)0, 0));
}

/* -- what a pointer is -- */

enum {
    ATTR_CONTEXT = 1,
    ATTR_MEMORY_TYPE,
    ATTR_DEVICE_POINTER,
    ATTR_HOST_POINTER,
    ATTR_P2P_TOKENS,
    ATTR_SYNC_MEMOPS,
    ATTR_BUFFER_ID,
    ATTR_IS_MANAGED,
    ATTR_DEVICE_ORDINAL,
    ATTR_IS_LEGACY_IPC_CAPABLE,
    ATTR_RANGE_START,
    ATTR_RANGE_SIZE,
    ATTR_MAPPED,
    ATTR_ALLOWED_HANDLE_TYPES,
    ATTR_IS_GPU_DIRECT_RDMA_CAPABLE,
    ATTR_ACCESS_FLAGS,
    ATTR_MEMPOOL_HANDLE,
};

/* One attribute; r NULL: the pointer is not one of ours, and the answer is what CUDA
 * gives for such where it gives one. */
static int
pointer_attribute(void *out, int attribute, uint64_t p, const struct acu_range *r)
{
    bool on_host = r && (r->kind == ACU_KIND_PINNED || r->kind == ACU_KIND_REGISTERED);
    bool device = r && (r->kind == ACU_KIND_DEVICE || r->kind == ACU_KIND_SYMBOL ||
                        r->kind == ACU_KIND_VIRTUAL);
    switch (attribute) {
    case ATTR_CONTEXT:
        *(void **)out = r ? drv_current() : NULL;
        return 0;
    case ATTR_MEMORY_TYPE:
        *(unsigned *)out = !r ? 0 : on_host ? MEMORY_HOST : MEMORY_DEVICE;
        return 0;
    case ATTR_DEVICE_POINTER:
        *(uint64_t *)out = r ? p : 0;
        return 0;
    case ATTR_HOST_POINTER:
        *(void **)out = r && !device ? PTR(p) : NULL;
        return r && device ? ACU_INVALID_VALUE : 0;
    case ATTR_SYNC_MEMOPS:
    case ATTR_IS_LEGACY_IPC_CAPABLE:
    case ATTR_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned char *)out = 0;
        return 0;
    case ATTR_BUFFER_ID:
        *(unsigned long long *)out = r ? r->id : 0;
        return 0;
    case ATTR_IS_MANAGED:
        *(unsigned char *)out = r && r->kind == ACU_KIND_MANAGED;
        return 0;
    case ATTR_DEVICE_ORDINAL:
        *(int *)out = r ? 0 : -2;
        return 0;
    case ATTR_RANGE_START:
        *(uint64_t *)out = r ? r->addr : 0;
        return 0;
    case ATTR_RANGE_SIZE:
        *(size_t *)out = r ? r->size : 0;
        return 0;
    case ATTR_MAPPED:
        *(unsigned char *)out = r != NULL;
        return 0;
    case ATTR_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)out = 0;
        return 0;
    case ATTR_ACCESS_FLAGS:
        *(int *)out = r ? 3 : 0; /* read and write */
        return 0;
    case ATTR_MEMPOOL_HANDLE:
        *(void **)out = NULL;
        return 0;
    default:
        return ACU_INVALID_VALUE;
    }
}

CU
cuPointerGetAttribute(void *out, int attribute, uint64_t p)
{
    struct acu_range r;
    CALL(!out                     ? ACU_INVALID_VALUE
         : !acu_range_find(p, &r) ? ACU_INVALID_VALUE
                                  : pointer_attribute(out, attribute, p, &r));
}

CU
cuPointerGetAttributes(unsigned n, const int *attributes, void **out, uint64_t p)
{
    struct acu_range r;
    int e = drv_begin();
    if (!e && (!attributes || !out))
        e = ACU_INVALID_VALUE;
    if (!e) {
        bool known = acu_range_find(p, &r);
        for (unsigned i = 0; i < n; i++) /* what has no answer is left as it is */
            pointer_attribute(out[i], attributes[i], p, known ? &r : NULL);
    }
    return drv_end(e);
}

CU
cuPointerSetAttribute(const void *value, int attribute, uint64_t p)
{
    struct acu_range r;
    CALL(!value || attribute != ATTR_SYNC_MEMOPS || !acu_range_find(p, &r)
             ? ACU_INVALID_VALUE
             : 0);
}

/* Advice on managed memory changes nothing: it is in one place. */
CU
cuMemAdvise(uint64_t p, size_t bytes, int advice, int device)
{
    CALL(acu_check(p, bytes));
}

CU
cuMemAdvise_v2(uint64_t p, size_t bytes, int advice, uint64_t where)
{
    CALL(acu_check(p, bytes));
}

CU
cuMemPrefetchAsync(uint64_t p, size_t bytes, int device, drv_stream s)
{
    CALL(!acu_stream_valid(s) ? ACU_INVALID_HANDLE : acu_check(p, bytes));
}

CU
cuMemPrefetchAsync_v2(uint64_t p, size_t bytes, uint64_t where, unsigned flags,
                      drv_stream s)
{
    CALL(!acu_stream_valid(s) ? ACU_INVALID_HANDLE : acu_check(p, bytes));
}

static int
range_attribute(void *out, size_t size, int attribute)
{
    enum { READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, LAST_PREFETCH };
    if (!out || size < 4 || size % 4 || attribute < READ_MOSTLY ||
        attribute > LAST_PREFETCH)
        return ACU_INVALID_VALUE;
    int *v = out;
    for (size_t i = 0; i < size / 4; i++)
        v[i] = attribute == READ_MOSTLY ? 0 : -2; /* no device */
    return 0;
}

CU
cuMemRangeGetAttribute(void *out, size_t size, int attribute, uint64_t p, size_t bytes)
{
    CALL((e_ = acu_check(p, bytes)) ? e_ : range_attribute(out, size, attribute));
}

CU
cuMemRangeGetAttributes(void **out, size_t *sizes, int *attributes, size_t n, uint64_t p,
                        size_t bytes)
{
    int e = drv_begin();
    if (!e)
        e = !out || !sizes || !attributes ? ACU_INVALID_VALUE : acu_check(p, bytes);
    for (size_t i = 0; !e && i < n; i++)
        e = range_attribute(out[i], sizes[i], attributes[i]);
    return drv_end(e);
}

/* -- pools: one, whose memory is the device's -- */

struct drv_pool {
    uint64_t threshold;
    int reuse[3];
};
/* Handles, guarded by the lock. */
static struct drv_pool pool_default, pool_made[16];
static unsigned pools_made;

static bool
pool_valid(const struct drv_pool *p)
{
    return p == &pool_default || (p >= pool_made && p < pool_made + pools_made);
}

CU
cuDeviceGetDefaultMemPool(struct drv_pool **pool, int device)
{
    CALL_DEVICE(!pool    ? ACU_INVALID_VALUE
                : device ? ACU_INVALID_DEVICE
                         : (*pool = &pool_default, 0));
}

CU
cuDeviceGetMemPool(struct drv_pool **pool, int device)
{
    return cuDeviceGetDefaultMemPool(pool, device);
}

CU
cuDeviceSetMemPool(int device, struct drv_pool *pool)
{
    CALL_DEVICE(device ? ACU_INVALID_DEVICE : !pool_valid(pool) ? ACU_INVALID_VALUE : 0);
}

CU
cuMemPoolCreate(struct drv_pool **pool, const void *props)
{
    CALL(!pool || !props ? ACU_INVALID_VALUE
         : pools_made == sizeof pool_made / sizeof *pool_made
             ? ACU_OUT_OF_MEMORY
             : (*pool = &pool_made[pools_made++], 0));
}

CU
cuMemPoolDestroy(struct drv_pool *pool)
{
    CALL(!pool_valid(pool) || pool == &pool_default ? ACU_INVALID_VALUE : 0);
}

CU
cuMemPoolTrimTo(struct drv_pool *pool, size_t bytes)
{
    CALL(pool_valid(pool) ? 0 : ACU_INVALID_VALUE);
}

static int
pool_attribute(struct drv_pool *pool, int attribute, void *value, bool set)
{
    uint64_t free_bytes, total;
    if (!pool_valid(pool) || !value || attribute < 1 || attribute > 8)
        return ACU_INVALID_VALUE;
    if (attribute <= 3) {
        int *own = &pool->reuse[attribute - 1];
        memcpy(set ? (void *)own : value, set ? value : (void *)own, sizeof *own);
    } else if (attribute == 4) {
        memcpy(set ? (void *)&pool->threshold : value, set ? value : &pool->threshold, 8);
    } else if (!set) { /* reserved, used: now and at most */
        acu_memory(&free_bytes, &total);
        total -= free_bytes;
        memcpy(value, &total, sizeof total);
    }
    return 0;
}

CU
cuMemPoolSetAttribute(struct drv_pool *pool, int attribute, void *value)
{
    CALL(pool_attribute(pool, attribute, value, true));
}

CU
cuMemPoolGetAttribute(struct drv_pool *pool, int attribute, void *value)
{
    CALL(pool_attribute(pool, attribute, value, false));
}

CU
cuMemPoolSetAccess(struct drv_pool *pool, const void *map, size_t n)
{
    CALL(pool_valid(pool) ? 0 : ACU_INVALID_VALUE);
}

CU
cuMemPoolGetAccess(int *flags, struct drv_pool *pool, const void *where)
{
    CALL(!flags || !pool_valid(pool) ? ACU_INVALID_VALUE : (*flags = 3, 0));
}

static int
alloc_async(uint64_t *p, size_t bytes, drv_stream s)
{
    return p && bytes ? acu_do_alloc(s, bytes, p) : ACU_INVALID_VALUE;
}

CU
cuMemAllocAsync(uint64_t *p, size_t bytes, drv_stream s)
{
    CALL(alloc_async(p, bytes, s));
}

CU
cuMemAllocFromPoolAsync(uint64_t *p, size_t bytes, struct drv_pool *pool, drv_stream s)
{
    CALL(pool_valid(pool) ? alloc_async(p, bytes, s) : ACU_INVALID_VALUE);
}

CU
cuMemFreeAsync(uint64_t p, drv_stream s)
{
    CALL(acu_do_free(s, p));
}

/* -- copies; an asynchronous one is done when the call returns -- */

static int
copy_async(uint64_t dst, enum acu_side dst_side, uint64_t src, enum acu_side src_side,
           size_t bytes, drv_stream s)
{
    if (acu_capturing(s))
        return acu_do_copy(s, &(struct acu_place){.side = dst_side, .addr = dst},
                           &(struct acu_place){.side = src_side, .addr = src}, bytes, 1,
                           1);
    return acu_stream_valid(s) ? acu_copy(dst, dst_side, src, src_side, bytes)
                               : ACU_INVALID_HANDLE;
}

/* Name, its asynchronous one, types of the two sides, what they must be. */
#define COPY(name, async, to, to_side, from, from_side)                                  \
    CU name(to dst, from src, size_t bytes)                                              \
    {                                                                                    \
        CALL(acu_copy((uint64_t)(uintptr_t)dst, to_side, (uint64_t)(uintptr_t)src,       \
                      from_side, bytes));                                                \
    }                                                                                    \
    CU async(to dst, from src, size_t bytes, drv_stream s)                               \
    {                                                                                    \
        CALL(copy_async((uint64_t)(uintptr_t)dst, to_side, (uint64_t)(uintptr_t)src,     \
                        from_side, bytes, s));                                           \
    }
COPY(cuMemcpy, cuMemcpyAsync, uint64_t, ACU_ANY, uint64_t, ACU_ANY)
COPY(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, uint64_t, ACU_DEV, const void *, ACU_ANY)
COPY(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, void *, ACU_ANY, uint64_t, ACU_DEV)
COPY(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, uint64_t, ACU_DEV, uint64_t, ACU_DEV)

CU
cuMemcpyPeer(uint64_t dst, void *dst_context, uint64_t src, void *src_context,
             size_t bytes)
{
    return cuMemcpyDtoD_v2(dst, src, bytes);
}

CU
cuMemcpyPeerAsync(uint64_t dst, void *dst_context, uint64_t src, void *src_context,
                  size_t bytes, drv_stream s)
{
    return cuMemcpyDtoDAsync_v2(dst, src, bytes, s);
}

static int
place(struct acu_place *p, int type, const void *host, uint64_t device,
      struct allot_array *array)
{
    switch (type) {
    case MEMORY_HOST:
        p->side = ACU_ANY;
        p->addr = ADDR(host);
        return 0;
    case MEMORY_DEVICE:
        p->side = ACU_DEV;
        p->addr = device;
        return 0;
    case MEMORY_UNIFIED:
        p->side = ACU_ANY;
        p->addr = device;
        return 0;
    case MEMORY_ARRAY:
        p->array = array;
        return drv_array_valid(array) ? 0 : ACU_INVALID_HANDLE;
    default:
        return ACU_INVALID_VALUE;
    }
}

int
drv_copy3d_places(const struct drv_copy3d *c, struct acu_place *d, struct acu_place *s)
{
    if (!c || c->dst.lod || c->src.lod)
        return ACU_INVALID_VALUE;
    *d = (struct acu_place){.pitch = c->dst.pitch,
                            .slice = c->dst.height,
                            .x = c->dst.x,
                            .y = c->dst.y,
                            .z = c->dst.z};
    *s = (struct acu_place){.pitch = c->src.pitch,
                            .slice = c->src.height,
                            .x = c->src.x,
                            .y = c->src.y,
                            .z = c->src.z};
    int e = place(d, c->dst.type, c->dst.host, c->dst.device, c->dst.array);
    return e ? e : place(s, c->src.type, c->src.host, c->src.device, c->src.array);
}

static int
copy3d(const struct drv_copy3d *c, drv_stream s)
{
    struct acu_place to, from;
    int e = drv_copy3d_places(c, &to, &from);
    return e ? e : acu_do_copy(s, &to, &from, c->width, c->height, c->depth);
}

static struct drv_side3d
side3d(const struct drv_side2d *s)
{
    return (struct drv_side3d){.x = s->x,
                               .y = s->y,
                               .type = s->type,
                               .host = s->host,
                               .device = s->device,
                               .array = s->array,
                               .pitch = s->pitch};
}

static int
copy2d(const struct drv_copy2d *c, drv_stream s)
{
    if (!c)
        return ACU_INVALID_VALUE;
    return copy3d(&(struct drv_copy3d){.src = side3d(&c->src),
                                       .dst = side3d(&c->dst),
                                       .width = c->width,
                                       .height = c->height,
                                       .depth = 1},
                  s);
}

CU
cuMemcpy2D_v2(const struct drv_copy2d *c)
{
    CALL(copy2d(c, NULL));
}

CU
cuMemcpy2DUnaligned_v2(const struct drv_copy2d *c)
{
    CALL(copy2d(c, NULL));
}

CU
cuMemcpy2DAsync_v2(const struct drv_copy2d *c, drv_stream s)
{
    CALL(copy2d(c, s));
}

CU
cuMemcpy3D_v2(const struct drv_copy3d *c)
{
    CALL(copy3d(c, NULL));
}

CU
cuMemcpy3DAsync_v2(const struct drv_copy3d *c, drv_stream s)
{
    CALL(copy3d(c, s));
}

CU
cuMemcpy3DPeer(const struct drv_copy3d *c)
{
    CALL(copy3d(c, NULL));
}

CU
cuMemcpy3DPeerAsync(const struct drv_copy3d *c, drv_stream s)
{
    CALL(copy3d(c, s));
}

/* -- fills -- */

static int
fill(uint64_t dst, size_t pitch, uint32_t value, unsigned size, size_t n, size_t rows,
     drv_stream s)
{
    struct acu_place to = {.addr = dst, .pitch = pitch};
    if (dst % size || (rows > 1 && pitch % size))
        return ACU_INVALID_VALUE;
    return acu_do_set(s, &to, value, size, n, rows, 1);
}

#define FILL(bits, type)                                                                 \
    CU cuMemsetD##bits##_v2(uint64_t dst, type v, size_t n)                              \
    {                                                                                    \
        CALL(fill(dst, 0, v, sizeof v, n, 1, NULL));                                     \
    }                                                                                    \
    CU cuMemsetD##bits##Async(uint64_t dst, type v, size_t n, drv_stream s)              \
    {                                                                                    \
        CALL(fill(dst, 0, v, sizeof v, n, 1, s));                                        \
    }                                                                                    \
    CU cuMemsetD2D##bits##_v2(uint64_t dst, size_t pitch, type v, size_t n, size_t rows) \
    {                                                                                    \
        CALL(fill(dst, pitch, v, sizeof v, n, rows, NULL));                              \
    }                                                                                    \
    CU cuMemsetD2D##bits##Async(uint64_t dst, size_t pitch, type v, size_t n,            \
                                size_t rows, drv_stream s)                               \
    {                                                                                    \
        CALL(fill(dst, pitch, v, sizeof v, n, rows, s));                                 \
    }
FILL(8, uint8_t)
FILL(16, uint16_t)
FILL(32, uint32_t)
