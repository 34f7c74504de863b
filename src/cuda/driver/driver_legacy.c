/* driver_legacy.c: what CUDA 3 had and later versions kept: texture and surface
 * references, launches with the parameters set one by one before.
 *
 * A reference is bound when a kernel of its module is launched, because only then is it
 * known that the calls that describe it are complete. */
#include "cuda/driver/driver.h"

#include "base/vec.h"

struct drv_ref {
    struct acu_module *module; /* NULL: made by cuTexRefCreate, of no module */
    const char *name;          /* the module's */
    bool surface, changed;
    struct drv_resource resource; /* type -1: nothing yet */
    struct drv_texture texture;
    int format;
    unsigned channels;
    uint64_t handle; /* bound object, 0: none */
};

/* Parameters and shape of the next cuLaunch of a function. */
struct pending {
    struct acu_function *f;
    unsigned block[3], shared;
    size_t size;
    unsigned char buffer[4096];
};

/* Guarded by the lock; forgotten with the device. */
static struct {
    uint64_t epoch;
    VEC(struct drv_ref *) refs;
    VEC(struct pending *) pending;
} legacy;

static void
check_epoch(void)
{
    if (legacy.epoch == acu_device_epoch())
        return;
    for (size_t i = 0; i < legacy.refs.n; i++)
        free(legacy.refs.v[i]);
    for (size_t i = 0; i < legacy.pending.n; i++)
        free(legacy.pending.v[i]);
    legacy.refs.n = legacy.pending.n = 0;
    legacy.epoch = acu_device_epoch();
}

/* -- references -- */

static bool
valid(const struct drv_ref *r)
{
    check_epoch();
    for (size_t i = 0; i < legacy.refs.n; i++)
        if (legacy.refs.v[i] == r)
            return true;
    return false;
}

static struct drv_ref *
ref_new(struct acu_module *m, const char *name, bool surface)
{
    enum { FLOAT32 = 0x20 };
    struct drv_ref *r = xcalloc(1, sizeof *r);
    *r = (struct drv_ref){.module = m,
                          .name = name,
                          .surface = surface,
                          .format = FLOAT32,
                          .channels = 1,
                          .resource.type = -1};
    *vec_push(&legacy.refs) = r;
    return r;
}

static int
module_ref(struct drv_ref **out, struct acu_module *m, const char *name, bool surface)
{
    const char *own;
    if (!out || !name)
        return ACU_INVALID_VALUE;
    if (!acu_module_valid(m))
        return ACU_INVALID_HANDLE;
    check_epoch();
    for (size_t i = 0; i < legacy.refs.n; i++) {
        struct drv_ref *r = legacy.refs.v[i];
        if (r->module == m && r->surface == surface && !strcmp(r->name, name)) {
            *out = r;
            return 0;
        }
    }
    if (!acu_module_ref(m, name, surface ? ALLOT_SURFREF : ALLOT_TEXREF, &own))
        return ACU_NOT_FOUND;
    *out = ref_new(m, own, surface);
    return 0;
}

CU
cuModuleGetTexRef(struct drv_ref **out, struct acu_module *m, const char *name)
{
    CALL(module_ref(out, m, name, false));
}

CU
cuModuleGetSurfRef(struct drv_ref **out, struct acu_module *m, const char *name)
{
    CALL(module_ref(out, m, name, true));
}

CU
cuTexRefCreate(struct drv_ref **out)
{
    CALL(!out ? ACU_INVALID_VALUE : (check_epoch(), *out = ref_new(NULL, "", false), 0));
}

static int
ref_free(struct drv_ref *r)
{
    if (!valid(r) || r->module)
        return ACU_INVALID_HANDLE;
    for (size_t i = 0; i < legacy.refs.n; i++)
        if (legacy.refs.v[i] == r)
            legacy.refs.v[i] = legacy.refs.v[--legacy.refs.n];
    free(r);
    return 0;
}

CU
cuTexRefDestroy(struct drv_ref *r)
{
    CALL(ref_free(r));
}

/* A setter's body: the reference checked, `statement` done, to be bound anew. */
#define SET(r, ok, statement)                                                            \
    CALL(!valid(r) ? ACU_INVALID_HANDLE                                                  \
         : !(ok)   ? ACU_INVALID_VALUE                                                   \
                   : (statement, (r)->changed = true, 0))
#define GET(r, out, value)                                                               \
    CALL(!valid(r) ? ACU_INVALID_HANDLE                                                  \
         : !(out)  ? ACU_INVALID_VALUE                                                   \
                   : (*(out) = (value), 0))

CU
cuTexRefSetArray(struct drv_ref *r, struct allot_array *a, unsigned flags)
{
    SET(r, !a || drv_array_valid(a),
        (r->resource = (struct drv_resource){.type = a ? 0 : -1, .res.array = a}));
}

CU
cuTexRefSetMipmappedArray(struct drv_ref *r, struct allot_array *a, unsigned flags)
{
    enum { MIPMAPPED = 1 };
    SET(r, !a || drv_array_valid(a),
        (r->resource =
             (struct drv_resource){.type = a ? MIPMAPPED : -1, .res.array = a}));
}

CU
cuTexRefSetMipmapFilterMode(struct drv_ref *r, int mode)
{
    SET(r, mode == 0 || mode == 1, r->texture.mipmap_filter = mode);
}

CU
cuTexRefSetMipmapLevelBias(struct drv_ref *r, float bias)
{
    SET(r, true, r->texture.mipmap_bias = bias);
}

CU
cuTexRefSetMipmapLevelClamp(struct drv_ref *r, float least, float most)
{
    SET(r, true, (r->texture.mipmap_min = least, r->texture.mipmap_max = most));
}

CU
cuSurfRefSetArray(struct drv_ref *r, struct allot_array *a, unsigned flags)
{
    return cuTexRefSetArray(r, a, flags);
}

CU
cuTexRefSetAddress_v2(size_t *offset, struct drv_ref *r, uint64_t p, size_t bytes)
{
    enum { LINEAR = 2 };
    SET(r, !p || !acu_check(p, bytes),
        (r->resource = (struct drv_resource){.type = p ? LINEAR : -1,
                                             .res.linear = {p, 0, 0, bytes}},
         offset ? (void)(*offset = 0) : (void)0));
}

CU
cuTexRefSetAddress2D_v3(struct drv_ref *r, const struct drv_array_desc *d, uint64_t p,
                        size_t pitch)
{
    enum { PITCH2D = 3 };
    SET(r, d && p,
        (r->resource =
             (struct drv_resource){.type = PITCH2D,
                                   .res.pitch2d = {p, 0, 0, d->width, d->height, pitch}},
         r->format = d->format, r->channels = d->channels));
}

CU
cuTexRefSetFormat(struct drv_ref *r, int format, int channels)
{
    struct allot_format f;
    SET(r, drv_format(format, (unsigned)channels, &f),
        (r->format = format, r->channels = (unsigned)channels));
}

CU
cuTexRefSetAddressMode(struct drv_ref *r, int dimension, int mode)
{
    SET(r, dimension >= 0 && dimension < 3 && mode >= 0 && mode < 4,
        r->texture.address[dimension] = mode);
}

CU
cuTexRefSetFilterMode(struct drv_ref *r, int mode)
{
    SET(r, mode == 0 || mode == 1, r->texture.filter = mode);
}

CU
cuTexRefSetFlags(struct drv_ref *r, unsigned flags)
{
    SET(r, true, r->texture.flags = flags);
}

CU
cuTexRefSetBorderColor(struct drv_ref *r, const float *color)
{
    SET(r, color, memcpy(r->texture.border, color, sizeof r->texture.border));
}

CU
cuTexRefSetMaxAnisotropy(struct drv_ref *r, unsigned n)
{
    SET(r, true, r->texture.anisotropy = n);
}

CU
cuTexRefGetAddress_v2(uint64_t *p, struct drv_ref *r)
{
    CALL(!valid(r)                    ? ACU_INVALID_HANDLE
         : !p || r->resource.type < 2 ? ACU_INVALID_VALUE
                                      : (*p = r->resource.res.linear.addr, 0));
}

CU
cuTexRefGetArray(struct allot_array **a, struct drv_ref *r)
{
    CALL(!valid(r)                ? ACU_INVALID_HANDLE
         : !a || r->resource.type ? ACU_INVALID_VALUE
                                  : (*a = r->resource.res.array, 0));
}

CU
cuSurfRefGetArray(struct allot_array **a, struct drv_ref *r)
{
    return cuTexRefGetArray(a, r);
}

CU
cuTexRefGetAddressMode(int *mode, struct drv_ref *r, int dimension)
{
    if (dimension < 0 || dimension > 2)
        return ACU_INVALID_VALUE;
    GET(r, mode, r->texture.address[dimension]);
}

CU
cuTexRefGetFilterMode(int *mode, struct drv_ref *r)
{
    GET(r, mode, r->texture.filter);
}

CU
cuTexRefGetFormat(int *format, int *channels, struct drv_ref *r)
{
    CALL(!valid(r) ? ACU_INVALID_HANDLE
                   : (format ? (void)(*format = r->format) : (void)0,
                      channels ? (void)(*channels = (int)r->channels) : (void)0, 0));
}

CU
cuTexRefGetFlags(unsigned *flags, struct drv_ref *r)
{
    GET(r, flags, r->texture.flags);
}

CU
cuTexRefGetBorderColor(float *color, struct drv_ref *r)
{
    CALL(!valid(r) ? ACU_INVALID_HANDLE
         : !color  ? ACU_INVALID_VALUE
                   : (memcpy(color, r->texture.border, sizeof r->texture.border), 0));
}

/* References are known by name, not by the order in which they are set. */
CU
cuParamSetTexRef(struct acu_function *f, int unit, struct drv_ref *r)
{
    CALL(valid(r) && drv_function_valid(f) ? 0 : ACU_INVALID_HANDLE);
}

static int
bind(struct drv_ref *r)
{
    struct allot_resource res;
    struct allot_sampler sampler;
    uint64_t handle = 0;
    int e = 0;
    if (r->resource.type >= 2) { /* linear and pitched begin alike */
        r->resource.res.linear.format = r->format;
        r->resource.res.linear.channels = r->channels;
    }
    if (r->resource.type >= 0) {
        e = drv_resource(&r->resource, &res);
        drv_sampler(&r->texture, &sampler);
        if (!e)
            e = r->surface ? acu_surface_new(&res, &handle)
                           : acu_texture_new(&res, &sampler, &handle);
    }
    if (!e)
        e = acu_bind(r->module, r->name, handle);
    if (r->handle)
        acu_object_free(r->handle);
    r->handle = handle;
    r->changed = e != 0;
    return e;
}

int
drv_bind_refs(const struct acu_function *f)
{
    check_epoch();
    int e = 0;
    for (size_t i = 0; !e && i < legacy.refs.n; i++)
        if (legacy.refs.v[i]->changed && legacy.refs.v[i]->module == f->module)
            e = bind(legacy.refs.v[i]);
    return e;
}

/* -- launches in steps -- */

static struct pending *
pending_of(struct acu_function *f)
{
    check_epoch();
    if (!drv_function_valid(f))
        return NULL;
    for (size_t i = 0; i < legacy.pending.n; i++)
        if (legacy.pending.v[i]->f == f)
            return legacy.pending.v[i];
    struct pending *p = xcalloc(1, sizeof *p);
    *p = (struct pending){.f = f, .block = {1, 1, 1}};
    *vec_push(&legacy.pending) = p;
    return p;
}

CU
cuFuncSetBlockShape(struct acu_function *f, int x, int y, int z)
{
    struct pending *p = NULL;
    CALL(!(p = pending_of(f)) ? ACU_INVALID_HANDLE
         : x <= 0 || y <= 0 || z <= 0
             ? ACU_INVALID_VALUE
             : (p->block[0] = (unsigned)x, p->block[1] = (unsigned)y,
                p->block[2] = (unsigned)z, 0));
}

CU
cuFuncSetSharedSize(struct acu_function *f, unsigned bytes)
{
    struct pending *p = NULL;
    CALL(!(p = pending_of(f)) ? ACU_INVALID_HANDLE : (p->shared = bytes, 0));
}

CU
cuParamSetSize(struct acu_function *f, unsigned bytes)
{
    struct pending *p = NULL;
    CALL(!(p = pending_of(f))       ? ACU_INVALID_HANDLE
         : bytes > sizeof p->buffer ? ACU_INVALID_VALUE
                                    : (p->size = bytes, 0));
}

CU
cuParamSetv(struct acu_function *f, int offset, const void *value, unsigned bytes)
{
    struct pending *p = NULL;
    CALL(!(p = pending_of(f)) ? ACU_INVALID_HANDLE
         : !value || offset < 0 || (size_t)offset > sizeof p->buffer ||
                 bytes > sizeof p->buffer - (size_t)offset
             ? ACU_INVALID_VALUE
             : (memcpy(p->buffer + offset, value, bytes), 0));
}

CU
cuParamSeti(struct acu_function *f, int offset, unsigned value)
{
    return cuParamSetv(f, offset, &value, sizeof value);
}

CU
cuParamSetf(struct acu_function *f, int offset, float value)
{
    return cuParamSetv(f, offset, &value, sizeof value);
}

static int
launch_pending(struct acu_function *f, int x, int y, drv_stream s)
{
    struct pending *p = pending_of(f);
    if (!p)
        return ACU_INVALID_HANDLE;
    if (x <= 0 || y <= 0)
        return ACU_INVALID_VALUE;
    void *extra[] = {(void *)1, p->buffer, (void *)2, &p->size, NULL};
    struct acu_launch l = {.grid = {(unsigned)x, (unsigned)y, 1},
                           .block = {p->block[0], p->block[1], p->block[2]},
                           .dynamic_scratchpad = p->shared};
    return drv_launch(f, &l, s, NULL, extra);
}

CU
cuLaunch(struct acu_function *f)
{
    CALL(launch_pending(f, 1, 1, NULL));
}

CU
cuLaunchGrid(struct acu_function *f, int x, int y)
{
    CALL(launch_pending(f, x, y, NULL));
}

CU
cuLaunchGridAsync(struct acu_function *f, int x, int y, drv_stream s)
{
    CALL(launch_pending(f, x, y, s));
}
