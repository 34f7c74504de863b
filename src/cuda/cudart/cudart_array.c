/* cudart_array.c: arrays, copies to and from them, textures and surfaces. */
#include "cuda/cudart/cudart.h"

#include <stdlib.h>

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBEMAP = 4, ARRAY_GATHER = 8 };

/* What lives on the device with an epoch (core.h): arrays, texture and surface objects.
 * The lists are the library's own, guarded by the lock. */
struct object {
    uint64_t handle;
    struct rt_resource {
        int type; /* 0 array, 1 mipmapped, 2 linear, 3 pitched */
        union {
            struct rt_array *array;
            struct {
                void *p;
                struct rt_channel_desc desc;
                size_t bytes;
            } linear;
            struct {
                void *p;
                struct rt_channel_desc desc;
                size_t width, height, pitch;
            } pitched;
#if CUDART >= 13
            int reserved[32];
#endif
        } res;
#if CUDART >= 13
        unsigned flags;
#endif
    } resource;
    struct rt_texture {
        int address[3], filter, read_mode, srgb;
        float border[4];
        int normalized;
        unsigned anisotropy;
        int mip_filter;
        float bias, min, max;
        int no_trilinear;
#if CUDART >= 12
        int seamless;
#endif
    } texture;
    bool surface;
};
#if CUDART >= 13
_Static_assert(sizeof(struct rt_resource) == 144, "cudaResourceDesc of CUDA 13");
#else
_Static_assert(sizeof(struct rt_resource) == 64, "cudaResourceDesc");
#endif
_Static_assert(sizeof(struct rt_texture) == (CUDART >= 12 ? 72 : 68), "cudaTextureDesc");

static struct {
    uint64_t epoch;
    struct rt_array **array;
    size_t narrays;
    struct object *object;
    size_t nobjects;
} state;

static void *
grow(void *v, size_t n, size_t size)
{
    void *p = realloc(v, (n + 1) * size);
    if (!p)
        abort(); /* as everywhere: no memory, no work */
    return p;
}

void
rt_arrays_check(void)
{
    if (state.epoch == acu_device_epoch())
        return;
    for (size_t i = 0; i < state.narrays; i++)
        free(state.array[i]);
    state.narrays = state.nobjects = 0;
    state.epoch = acu_device_epoch();
}

struct rt_array *
rt_array_find(const struct rt_array *handle)
{
    rt_arrays_check();
    for (size_t i = 0; i < state.narrays; i++)
        if (state.array[i] == handle)
            return state.array[i];
    return NULL;
}

/* -- formats -- */

EXPORT struct rt_channel_desc
cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct rt_channel_desc){x, y, z, w, kind};
}

int
rt_format(const struct rt_channel_desc *d, struct allot_format *f)
{
    static const enum allot_channel kinds[] = {ALLOT_SIGNED, ALLOT_UNSIGNED, ALLOT_FLOAT};
    int n = d->w ? 4 : d->z ? 3 : d->y ? 2 : 1;
    if (d->kind < 0 || d->kind > 2 || n == 3 || (n > 1 && d->y != d->x) ||
        (n > 2 && (d->z != d->x || d->w != d->x)))
        return ACU_INVALID_CHANNEL_DESCRIPTOR;
    if ((d->x != 8 && d->x != 16 && d->x != 32) || (d->kind == 2 && d->x == 8))
        return ACU_INVALID_CHANNEL_DESCRIPTOR;
    *f = (struct allot_format){kinds[d->kind], (uint32_t)d->x, (uint32_t)n};
    return 0;
}

/* -- arrays -- */

static struct rt_array *
array_add(struct rt_array a)
{
    struct rt_array *r = grow(NULL, 0, sizeof *r);
    *r = a;
    state.array = grow(state.array, state.narrays, sizeof *state.array);
    return state.array[state.narrays++] = r;
}

static int
array_new(struct rt_array **out, const struct rt_channel_desc *desc, struct rt_extent x,
          unsigned flags, unsigned levels)
{
    struct allot_array_info info = {.layered = flags & ARRAY_LAYERED,
                                    .cubemap = flags & ARRAY_CUBEMAP,
                                    .levels = levels};
    if (!out || !desc || !x.width)
        return ACU_INVALID_VALUE;
    if (flags & ~0xfu)
        return acu_not_supported("a sparse array");
    rt_arrays_check();
    int e = rt_format(desc, &info.format);
    if (e)
        return e;
    info.width = x.width;
    info.height = x.height;
    info.depth = x.depth;
    struct allot_array *a;
    e = acu_array_new(&info, &a);
    if (e)
        return e;
    unsigned element = acu_format_bytes(&info.format);
    *out = array_add((struct rt_array){.array = a,
                                       .desc = *desc,
                                       .extent = x,
                                       .flags = flags,
                                       .element = element,
                                       .levels = levels});
    for (unsigned l = 0; l < levels; l++) {
        struct allot_array *level = acu_array_level(a, l);
        const struct allot_array_info *i = acu_array_info(level);
        array_add((struct rt_array){.array = level,
                                    .desc = *desc,
                                    .extent = {i->width, i->height, i->depth},
                                    .flags = flags,
                                    .element = element,
                                    .part = true});
    }
    return 0;
}

EXPORT int
cudaMallocArray(struct rt_array **a, const struct rt_channel_desc *desc, size_t width,
                size_t height, unsigned flags)
{
    CALL(array_new(a, desc, (struct rt_extent){width, height, 0}, flags, 0));
}

EXPORT int
cudaMalloc3DArray(struct rt_array **a, const struct rt_channel_desc *desc,
                  struct rt_extent extent, unsigned flags)
{
    CALL(array_new(a, desc, extent, flags, 0));
}

static void
array_forget(const struct rt_array *r)
{
    for (size_t i = 0; i < state.narrays; i++)
        if (state.array[i] == r) {
            free(state.array[i]);
            state.array[i] = state.array[--state.narrays];
            return;
        }
}

static struct rt_array *
level_of(const struct rt_array *r, unsigned level)
{
    const struct allot_array *a = acu_array_level(r->array, level);
    for (size_t i = 0; a && i < state.narrays; i++)
        if (state.array[i]->array == a)
            return state.array[i];
    return NULL;
}

static int
array_free(struct rt_array *handle, bool mipmapped)
{
    if (!handle)
        return 0;
    struct rt_array *r = rt_array_find(handle);
    if (!r || r->part || !r->levels == mipmapped)
        return ACU_INVALID_HANDLE;
    for (unsigned l = 0; l < r->levels; l++)
        array_forget(level_of(r, l));
    acu_array_free(r->array);
    array_forget(r);
    return 0;
}

EXPORT int
cudaFreeArray(struct rt_array *a)
{
    CALL(array_free(a, false));
}

EXPORT int
cudaMallocMipmappedArray(struct rt_array **a, const struct rt_channel_desc *desc,
                         struct rt_extent extent, unsigned levels, unsigned flags)
{
    CALL(levels ? array_new(a, desc, extent, flags, levels) : ACU_INVALID_VALUE);
}

EXPORT int
cudaFreeMipmappedArray(struct rt_array *a)
{
    CALL(array_free(a, true));
}

static int
get_level(struct rt_array **out, const struct rt_array *handle, unsigned level)
{
    struct rt_array *r = rt_array_find(handle);
    if (!r || !r->levels)
        return ACU_INVALID_HANDLE;
    if (!out || level >= r->levels)
        return ACU_INVALID_VALUE;
    *out = level_of(r, level);
    return 0;
}

EXPORT int
cudaGetMipmappedArrayLevel(struct rt_array **out, const struct rt_array *a,
                           unsigned level)
{
    CALL(get_level(out, a, level));
}

EXPORT int
cudaArrayGetInfo(struct rt_channel_desc *desc, struct rt_extent *extent, unsigned *flags,
                 struct rt_array *handle)
{
    int e = acu_begin();
    struct rt_array *a = e ? NULL : rt_array_find(handle);
    if (!e && !a)
        e = ACU_INVALID_HANDLE;
    if (!e && desc)
        *desc = a->desc;
    if (!e && extent)
        *extent = a->extent;
    if (!e && flags)
        *flags = a->flags;
    return acu_end(e);
}

EXPORT int
cudaGetChannelDesc(struct rt_channel_desc *desc, const struct rt_array *handle)
{
    int e = acu_begin();
    struct rt_array *a = e ? NULL : rt_array_find(handle);
    if (!e)
        e = !desc ? ACU_INVALID_VALUE : a ? 0 : ACU_INVALID_HANDLE;
    if (!e)
        *desc = a->desc;
    return acu_end(e);
}

/* -- copies: x offsets and widths in bytes, as the API has them -- */

static struct acu_place
array_place(const struct rt_array *a, size_t x, size_t y)
{
    return (struct acu_place){.array = a->array, .x = x, .y = y};
}

static int
copy_array_2d(struct rt_array *handle, size_t x, size_t y, void *p, size_t pitch,
              size_t width, size_t height, int kind, bool to_array, rt_stream stream)
{
    struct rt_sides s;
    struct rt_array *a = rt_array_find(handle);
    int e = rt_sides(kind, &s);
    if (e)
        return e;
    if (!a || !acu_stream_valid(stream))
        return ACU_INVALID_HANDLE;
    if (height > 1 && pitch < width)
        return ACU_INVALID_PITCH_VALUE;
    struct acu_place in = array_place(a, x, y);
    struct acu_place out = {
        .side = to_array ? s.src : s.dst, .addr = ADDR(p), .pitch = pitch};
    return to_array ? acu_copy3d(&in, &out, width, height, 1)
                    : acu_copy3d(&out, &in, width, height, 1);
}

EXPORT int
cudaMemcpy2DToArray(struct rt_array *a, size_t x, size_t y, const void *p, size_t pitch,
                    size_t width, size_t height, int kind)
{
    CALL(copy_array_2d(a, x, y, PTR(ADDR(p)), pitch, width, height, kind, true, NULL));
}

EXPORT int
cudaMemcpy2DToArrayAsync(struct rt_array *a, size_t x, size_t y, const void *p,
                         size_t pitch, size_t width, size_t height, int kind,
                         rt_stream stream)
{
    CALL(copy_array_2d(a, x, y, PTR(ADDR(p)), pitch, width, height, kind, true, stream));
}

EXPORT int
cudaMemcpy2DFromArray(void *p, size_t pitch, struct rt_array *a, size_t x, size_t y,
                      size_t width, size_t height, int kind)
{
    CALL(copy_array_2d(a, x, y, p, pitch, width, height, kind, false, NULL));
}

EXPORT int
cudaMemcpy2DFromArrayAsync(void *p, size_t pitch, struct rt_array *a, size_t x, size_t y,
                           size_t width, size_t height, int kind, rt_stream stream)
{
    CALL(copy_array_2d(a, x, y, p, pitch, width, height, kind, false, stream));
}

/* n bytes from (x, y) on, row after row: the rest of the first row, whole rows, the rest.
 */
static int
copy_array_run(struct rt_array *handle, size_t x, size_t y, void *p, size_t n, int kind,
               bool to_array, rt_stream stream)
{
    struct rt_array *a = rt_array_find(handle);
    char *at = p;
    if (!a)
        return ACU_INVALID_HANDLE;
    size_t row = a->extent.width * a->element;
    if (x >= row)
        return n ? ACU_INVALID_VALUE : 0;
    int e = 0;
    while (!e && n) {
        bool whole = !x && n >= row;
        size_t width = whole ? row : n < row - x ? n : row - x;
        size_t height = whole ? n / row : 1;
        e = copy_array_2d(handle, x, y, at, width, width, height, kind, to_array, stream);
        at += width * height;
        n -= width * height;
        y += height;
        x = 0;
    }
    return e;
}

EXPORT int
cudaMemcpyToArray(struct rt_array *a, size_t x, size_t y, const void *p, size_t n,
                  int kind)
{
    CALL(copy_array_run(a, x, y, PTR(ADDR(p)), n, kind, true, NULL));
}

EXPORT int
cudaMemcpyToArrayAsync(struct rt_array *a, size_t x, size_t y, const void *p, size_t n,
                       int kind, rt_stream stream)
{
    CALL(copy_array_run(a, x, y, PTR(ADDR(p)), n, kind, true, stream));
}

EXPORT int
cudaMemcpyFromArray(void *p, struct rt_array *a, size_t x, size_t y, size_t n, int kind)
{
    CALL(copy_array_run(a, x, y, p, n, kind, false, NULL));
}

EXPORT int
cudaMemcpyFromArrayAsync(void *p, struct rt_array *a, size_t x, size_t y, size_t n,
                         int kind, rt_stream stream)
{
    CALL(copy_array_run(a, x, y, p, n, kind, false, stream));
}

static int
copy_arrays(struct rt_array *dst, size_t dx, size_t dy, struct rt_array *src, size_t sx,
            size_t sy, size_t width, size_t height)
{
    struct rt_array *d = rt_array_find(dst), *s = rt_array_find(src);
    if (!d || !s)
        return ACU_INVALID_HANDLE;
    struct acu_place to = array_place(d, dx, dy), from = array_place(s, sx, sy);
    return acu_copy3d(&to, &from, width, height, 1);
}

EXPORT int
cudaMemcpy2DArrayToArray(struct rt_array *dst, size_t dx, size_t dy, struct rt_array *src,
                         size_t sx, size_t sy, size_t width, size_t height, int kind)
{
    CALL(copy_arrays(dst, dx, dy, src, sx, sy, width, height));
}

/* n bytes within one row each; longer runs go by whole rows. */
static int
copy_arrays_run(struct rt_array *dst, size_t dx, size_t dy, struct rt_array *src,
                size_t sx, size_t sy, size_t n)
{
    struct rt_array *d = rt_array_find(dst), *s = rt_array_find(src);
    if (!d || !s)
        return ACU_INVALID_HANDLE;
    size_t drow = d->extent.width * d->element, srow = s->extent.width * s->element;
    int e = dx < drow && sx < srow ? 0 : ACU_INVALID_VALUE;
    while (!e && n) {
        size_t width = drow - dx < srow - sx ? drow - dx : srow - sx;
        width = width < n ? width : n;
        e = copy_arrays(dst, dx, dy, src, sx, sy, width, 1);
        n -= width;
        dx += width;
        sx += width;
        if (dx == drow)
            dx = 0, dy++;
        if (sx == srow)
            sx = 0, sy++;
    }
    return e;
}

EXPORT int
cudaMemcpyArrayToArray(struct rt_array *dst, size_t dx, size_t dy, struct rt_array *src,
                       size_t sx, size_t sy, size_t n, int kind)
{
    CALL(copy_arrays_run(dst, dx, dy, src, sx, sy, n));
}

/* -- texture and surface objects -- */

static int
resource(const struct rt_resource *r, struct allot_resource *out)
{
    struct rt_array *a;
    int e;
    memset(out, 0, sizeof *out);
    switch (r->type) {
    case 0:
    case 1: /* mipmapped */
        a = rt_array_find(r->res.array);
        out->kind = ALLOT_RES_ARRAY;
        out->array = a ? a->array : NULL;
        return a && !a->levels == (r->type == 0) ? 0 : ACU_INVALID_HANDLE;
    case 2:
        out->kind = ALLOT_RES_LINEAR;
        out->addr = ADDR(r->res.linear.p);
        out->bytes = r->res.linear.bytes;
        e = rt_format(&r->res.linear.desc, &out->format);
        return e ? e : acu_check(out->addr, out->bytes);
    case 3:
        out->kind = ALLOT_RES_PITCH2D;
        out->addr = ADDR(r->res.pitched.p);
        out->width = r->res.pitched.width;
        out->height = r->res.pitched.height;
        out->pitch = r->res.pitched.pitch;
        return rt_format(&r->res.pitched.desc, &out->format);
    default:
        return ACU_INVALID_VALUE;
    }
}

static int
sampler(const struct rt_texture *t, struct allot_sampler *s)
{
    *s = (struct allot_sampler){.filter = t->filter ? ALLOT_LINEAR : ALLOT_POINT,
                                .normalized_float = t->read_mode == 1,
                                .normalized_coords = t->normalized != 0,
                                .mip_filter = t->mip_filter ? ALLOT_LINEAR : ALLOT_POINT,
                                .mip_bias = t->bias,
                                .mip_least = t->min,
                                .mip_most = t->max};
    for (int i = 0; i < 3; i++) {
        if (t->address[i] < 0 || t->address[i] > ALLOT_BORDER)
            return ACU_INVALID_VALUE;
        s->address[i] = (enum allot_address)t->address[i];
    }
    memcpy(s->border, t->border, sizeof s->border);
#if CUDART >= 12
    if (t->seamless)
        return acu_not_supported(
            "filtering over the edges of a cube map (seamlessCubemap)");
#endif
    return t->srgb ? acu_not_supported("sRGB in a texture") : 0;
}

static int
object_new(uint64_t *handle, const struct rt_resource *r, const struct rt_texture *t)
{
    struct allot_resource res;
    struct allot_sampler smp = {0};
    if (!handle || !r)
        return ACU_INVALID_VALUE;
    rt_arrays_check();
    int e = resource(r, &res);
    if (!e && t)
        e = sampler(t, &smp);
    if (e)
        return e;
    uint64_t h;
    e = t ? acu_texture_new(&res, &smp, &h) : acu_surface_new(&res, &h);
    if (e)
        return e;
    state.object = grow(state.object, state.nobjects, sizeof *state.object);
    struct object *o = &state.object[state.nobjects++];
    *o = (struct object){.handle = h, .resource = *r, .surface = !t};
    if (t)
        o->texture = *t;
    *handle = h;
    return 0;
}

static struct object *
object_find(uint64_t handle, bool surface)
{
    rt_arrays_check();
    for (size_t i = 0; i < state.nobjects; i++)
        if (state.object[i].handle == handle && state.object[i].surface == surface)
            return &state.object[i];
    return NULL;
}

static int
object_free(uint64_t handle, bool surface)
{
    struct object *o = object_find(handle, surface);
    if (!o)
        return handle ? ACU_INVALID_VALUE : 0;
    *o = state.object[--state.nobjects];
    acu_object_free(handle);
    return 0;
}

EXPORT int
cudaCreateTextureObject(uint64_t *handle, const struct rt_resource *r,
                        const struct rt_texture *t, const void *view)
{
    CALL(!t     ? ACU_INVALID_VALUE
         : view ? acu_not_supported("a resource view of a texture")
                : object_new(handle, r, t));
}

EXPORT int
cudaDestroyTextureObject(uint64_t handle)
{
    CALL(object_free(handle, false));
}

EXPORT int
cudaCreateSurfaceObject(uint64_t *handle, const struct rt_resource *r)
{
    CALL(r && r->type ? ACU_INVALID_VALUE : object_new(handle, r, NULL));
}

EXPORT int
cudaDestroySurfaceObject(uint64_t handle)
{
    CALL(object_free(handle, true));
}

static int
get_resource(struct rt_resource *r, uint64_t handle, bool surface)
{
    struct object *o = object_find(handle, surface);
    if (!r || !o)
        return ACU_INVALID_VALUE;
    *r = o->resource;
    return 0;
}

EXPORT int
cudaGetTextureObjectResourceDesc(struct rt_resource *r, uint64_t handle)
{
    CALL(get_resource(r, handle, false));
}

EXPORT int
cudaGetSurfaceObjectResourceDesc(struct rt_resource *r, uint64_t handle)
{
    CALL(get_resource(r, handle, true));
}

static int
get_texture(struct rt_texture *t, uint64_t handle)
{
    struct object *o = object_find(handle, false);
    if (!t || !o)
        return ACU_INVALID_VALUE;
    *t = o->texture;
    return 0;
}

EXPORT int
cudaGetTextureObjectTextureDesc(struct rt_texture *t, uint64_t handle)
{
    CALL(get_texture(t, handle));
}
