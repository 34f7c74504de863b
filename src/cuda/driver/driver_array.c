/* driver_array.c: arrays, texture and surface objects. A CUarray is the public
 * interface's array; texture references are driver_legacy.c's. */
#include "cuda/driver/driver.h"

#include "base/vec.h"

enum { LAYERED = 1, SURFACE_LDST = 2, CUBEMAP = 4, GATHER = 8, DEPTH_TEXTURE = 16 };
/* Beside an array's flags: it is a level of a mipmapped one. */
#define LEVEL 0x80000000u

struct array3d_desc { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

/* -- formats -- */

static const struct {
    int number; /* CUarray_format */
    enum allot_channel kind;
    uint32_t bits;
} formats[] = {{0x01, ALLOT_UNSIGNED, 8},  {0x02, ALLOT_UNSIGNED, 16},
               {0x03, ALLOT_UNSIGNED, 32}, {0x08, ALLOT_SIGNED, 8},
               {0x09, ALLOT_SIGNED, 16},   {0x0a, ALLOT_SIGNED, 32},
               {0x10, ALLOT_FLOAT, 16},    {0x20, ALLOT_FLOAT, 32}};

bool
drv_format(int number, unsigned channels, struct allot_format *f)
{
    if (channels != 1 && channels != 2 && channels != 4)
        return false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].number == number) {
            *f = (struct allot_format){formats[i].kind, formats[i].bits, channels};
            return true;
        }
    return false;
}

static int
format_number(const struct allot_format *f)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].kind == f->kind && formats[i].bits == f->bits)
            return formats[i].number;
    return 0;
}

/* -- arrays: those that live, guarded by the lock -- */

static struct {
    uint64_t epoch;
    VEC(struct allot_array *) arrays;
    VEC(unsigned) flags; /* as made */
} live;

static size_t
array_index(const struct allot_array *a)
{
    if (live.epoch != acu_device_epoch())
        live.arrays.n = live.flags.n = 0;
    live.epoch = acu_device_epoch();
    size_t i = 0;
    while (i < live.arrays.n && live.arrays.v[i] != a)
        i++;
    return i;
}

bool
drv_array_valid(const struct allot_array *a)
{
    return array_index(a) < live.arrays.n;
}

static void
remember(struct allot_array *a, unsigned flags)
{
    array_index(NULL);
    *vec_push(&live.arrays) = a;
    *vec_push(&live.flags) = flags;
}

static void
forget(const struct allot_array *a)
{
    size_t i = array_index(a);
    live.arrays.v[i] = live.arrays.v[--live.arrays.n];
    live.flags.v[i] = live.flags.v[--live.flags.n];
}

/* levels 0: not mipmapped. */
static int
array_new(struct allot_array **out, const struct array3d_desc *d, unsigned levels)
{
    struct allot_array_info info = {.width = d->width,
                                    .height = d->height,
                                    .depth = d->depth,
                                    .layered = d->flags & LAYERED,
                                    .cubemap = d->flags & CUBEMAP,
                                    .levels = levels};
    if (!out || !drv_format(d->format, d->channels, &info.format) || !d->width)
        return ACU_INVALID_VALUE;
    int e = acu_array_new(&info, out);
    if (!e)
        remember(*out, d->flags);
    for (unsigned i = 0; !e && i < levels; i++)
        remember(acu_array_level(*out, i), d->flags | LEVEL);
    return e;
}

CU
cuArray3DCreate_v2(struct allot_array **out, const struct array3d_desc *d)
{
    CALL(!d ? ACU_INVALID_VALUE : array_new(out, d, 0));
}

CU
cuArrayCreate_v2(struct allot_array **out, const struct drv_array_desc *d)
{
    CALL(!d ? ACU_INVALID_VALUE
            : array_new(out,
                        &(struct array3d_desc){d->width, d->height, 0, d->format,
                                               d->channels, 0},
                        0));
}

static bool
is_mipmapped(const struct allot_array *a)
{
    return drv_array_valid(a) && acu_array_info(a)->levels;
}

static int
array_free(struct allot_array *a, bool mipmapped)
{
    size_t i = array_index(a);
    if (i == live.arrays.n || live.flags.v[i] & LEVEL || is_mipmapped(a) != mipmapped)
        return ACU_INVALID_HANDLE;
    for (uint32_t l = 0; l < acu_array_info(a)->levels; l++)
        forget(acu_array_level(a, l));
    forget(a);
    acu_array_free(a);
    return 0;
}

CU
cuArrayDestroy(struct allot_array *a)
{
    CALL(array_free(a, false));
}

CU
cuMipmappedArrayCreate(struct allot_array **out, const struct array3d_desc *d,
                       unsigned levels)
{
    CALL(!d || !levels ? ACU_INVALID_VALUE : array_new(out, d, levels));
}

CU
cuMipmappedArrayDestroy(struct allot_array *a)
{
    CALL(array_free(a, true));
}

CU
cuMipmappedArrayGetLevel(struct allot_array **out, const struct allot_array *a,
                         unsigned level)
{
    CALL(!is_mipmapped(a)                     ? ACU_INVALID_HANDLE
         : !out || !acu_array_level(a, level) ? ACU_INVALID_VALUE
                                              : (*out = acu_array_level(a, level), 0));
}

static int
array_describe(struct array3d_desc *d, const struct allot_array *a)
{
    size_t i = array_index(a);
    if (!d)
        return ACU_INVALID_VALUE;
    if (i == live.arrays.n)
        return ACU_INVALID_HANDLE;
    const struct allot_array_info *info = acu_array_info(a);
    *d = (struct array3d_desc){info->width,           info->height,
                               info->depth,           format_number(&info->format),
                               info->format.channels, live.flags.v[i] & ~LEVEL};
    return 0;
}

CU
cuArray3DGetDescriptor_v2(struct array3d_desc *d, struct allot_array *a)
{
    CALL(array_describe(d, a));
}

CU
cuArrayGetDescriptor_v2(struct drv_array_desc *d, struct allot_array *a)
{
    struct array3d_desc all;
    CALL(!d ? ACU_INVALID_VALUE
         : (e_ = array_describe(&all, a))
             ? e_
             : (*d = (struct drv_array_desc){all.width, all.height, all.format,
                                             all.channels},
                0));
}

/* -- copies of one row -- */

static int
array_copy(struct allot_array *array, size_t x, enum acu_side side, uint64_t addr,
           size_t bytes, bool to_array)
{
    if (!drv_array_valid(array))
        return ACU_INVALID_HANDLE;
    struct acu_place a = {.array = array, .x = x}, m = {.side = side, .addr = addr};
    return acu_copy3d(to_array ? &a : &m, to_array ? &m : &a, bytes, 1, 1);
}

CU
cuMemcpyHtoA_v2(struct allot_array *a, size_t x, const void *p, size_t bytes)
{
    CALL(array_copy(a, x, ACU_ANY, ADDR(p), bytes, true));
}

CU
cuMemcpyHtoAAsync_v2(struct allot_array *a, size_t x, const void *p, size_t bytes,
                     drv_stream s)
{
    CALL(!acu_stream_valid(s) ? ACU_INVALID_HANDLE
                              : array_copy(a, x, ACU_ANY, ADDR(p), bytes, true));
}

CU
cuMemcpyAtoH_v2(void *p, struct allot_array *a, size_t x, size_t bytes)
{
    CALL(array_copy(a, x, ACU_ANY, ADDR(p), bytes, false));
}

CU
cuMemcpyAtoHAsync_v2(void *p, struct allot_array *a, size_t x, size_t bytes, drv_stream s)
{
    CALL(!acu_stream_valid(s) ? ACU_INVALID_HANDLE
                              : array_copy(a, x, ACU_ANY, ADDR(p), bytes, false));
}

CU
cuMemcpyDtoA_v2(struct allot_array *a, size_t x, uint64_t p, size_t bytes)
{
    CALL(array_copy(a, x, ACU_DEV, p, bytes, true));
}

CU
cuMemcpyAtoD_v2(uint64_t p, struct allot_array *a, size_t x, size_t bytes)
{
    CALL(array_copy(a, x, ACU_DEV, p, bytes, false));
}

CU
cuMemcpyAtoA_v2(struct allot_array *d, size_t dx, struct allot_array *s, size_t sx,
                size_t bytes)
{
    struct acu_place to = {.array = d, .x = dx}, from = {.array = s, .x = sx};
    CALL(!drv_array_valid(d) || !drv_array_valid(s)
             ? ACU_INVALID_HANDLE
             : acu_copy3d(&to, &from, bytes, 1, 1));
}

/* -- texture and surface objects -- */

int
drv_resource(const struct drv_resource *d, struct allot_resource *r)
{
    enum { ARRAY, MIPMAPPED, LINEAR, PITCH2D };
    memset(r, 0, sizeof *r);
    switch (d->type) {
    case ARRAY:
    case MIPMAPPED:
        r->kind = ALLOT_RES_ARRAY;
        r->array = d->res.array;
        return drv_array_valid(r->array) &&
                       is_mipmapped(r->array) == (d->type == MIPMAPPED)
                   ? 0
                   : ACU_INVALID_HANDLE;
    case LINEAR:
        r->kind = ALLOT_RES_LINEAR;
        r->addr = d->res.linear.addr;
        r->bytes = d->res.linear.bytes;
        return drv_format(d->res.linear.format, d->res.linear.channels, &r->format)
                   ? 0
                   : ACU_INVALID_VALUE;
    case PITCH2D:
        r->kind = ALLOT_RES_PITCH2D;
        r->addr = d->res.pitch2d.addr;
        r->width = d->res.pitch2d.width;
        r->height = d->res.pitch2d.height;
        r->pitch = d->res.pitch2d.pitch;
        return drv_format(d->res.pitch2d.format, d->res.pitch2d.channels, &r->format)
                   ? 0
                   : ACU_INVALID_VALUE;
    default:
        return ACU_INVALID_VALUE;
    }
}

void
drv_sampler(const struct drv_texture *d, struct allot_sampler *s)
{
    *s = (struct allot_sampler){.filter = d->filter ? ALLOT_LINEAR : ALLOT_POINT,
                                .normalized_float = !(d->flags & 1),
                                .normalized_coords = d->flags & 2,
                                .mip_filter =
                                    d->mipmap_filter ? ALLOT_LINEAR : ALLOT_POINT,
                                .mip_bias = d->mipmap_bias,
                                .mip_least = d->mipmap_min,
                                .mip_most = d->mipmap_max};
    for (int i = 0; i < 3; i++)
        s->address[i] = (enum allot_address)d->address[i];
    memcpy(s->border, d->border, sizeof s->border);
}

/* What objects were made of, so that they can be asked. */
struct object {
    uint64_t handle;
    struct drv_resource resource;
    struct drv_texture texture;
};
static struct {
    uint64_t epoch;
    VEC(struct object) v;
} objects;

static struct object *
object_find(uint64_t handle)
{
    if (objects.epoch != acu_device_epoch())
        objects.v.n = 0;
    objects.epoch = acu_device_epoch();
    for (size_t i = 0; i < objects.v.n; i++)
        if (objects.v.v[i].handle == handle)
            return &objects.v.v[i];
    return NULL;
}

static int
texture_new(uint64_t *out, const struct drv_resource *r, const struct drv_texture *t,
            const void *view)
{
    struct allot_resource res;
    struct allot_sampler sampler;
    if (!out || !r || !t)
        return ACU_INVALID_VALUE;
    for (int i = 0; i < 3; i++)
        if (t->address[i] < 0 || t->address[i] > 3)
            return ACU_INVALID_VALUE;
    if (view)
        return acu_not_supported("a view of a texture's resource");
    int e = drv_resource(r, &res);
    drv_sampler(t, &sampler);
    if (!e)
        e = acu_texture_new(&res, &sampler, out);
    if (!e) {
        object_find(0);
        *vec_push(&objects.v) = (struct object){*out, *r, *t};
    }
    return e;
}

CU
cuTexObjectCreate(uint64_t *out, const struct drv_resource *r,
                  const struct drv_texture *t, const void *view)
{
    CALL(texture_new(out, r, t, view));
}

static int
object_free(uint64_t handle)
{
    struct object *o = object_find(handle);
    if (!o)
        return ACU_INVALID_HANDLE;
    acu_object_free(handle);
    *o = objects.v.v[--objects.v.n];
    return 0;
}

CU
cuTexObjectDestroy(uint64_t handle)
{
    CALL(object_free(handle));
}

CU
cuTexObjectGetResourceDesc(struct drv_resource *r, uint64_t handle)
{
    struct object *o = NULL;
    CALL(!r                           ? ACU_INVALID_VALUE
         : !(o = object_find(handle)) ? ACU_INVALID_HANDLE
                                      : (*r = o->resource, 0));
}

CU
cuTexObjectGetTextureDesc(struct drv_texture *t, uint64_t handle)
{
    struct object *o = NULL;
    CALL(!t                           ? ACU_INVALID_VALUE
         : !(o = object_find(handle)) ? ACU_INVALID_HANDLE
                                      : (*t = o->texture, 0));
}

static int
surface_new(uint64_t *out, const struct drv_resource *r)
{
    struct allot_resource res;
    if (!out || !r)
        return ACU_INVALID_VALUE;
    int e = drv_resource(r, &res);
    if (!e)
        e = acu_surface_new(&res, out);
    if (!e) {
        object_find(0);
        *vec_push(&objects.v) = (struct object){.handle = *out, .resource = *r};
    }
    return e;
}

CU
cuSurfObjectCreate(uint64_t *out, const struct drv_resource *r)
{
    CALL(surface_new(out, r));
}

CU
cuSurfObjectDestroy(uint64_t handle)
{
    CALL(object_free(handle));
}

CU
cuSurfObjectGetResourceDesc(struct drv_resource *r, uint64_t handle)
{
    return cuTexObjectGetResourceDesc(r, handle);
}
