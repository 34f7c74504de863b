/* cudart_texref.c: texture and surface references of CUDA 11 and before: variables
 * `texture<float, 2> t` at file scope, which start-up code registers and the program
 * binds to memory or an array. The device's half is a .texref of the module; the host's
 * half holds filter and address modes, which are read when it is bound. */
#include "cuda/cudart/cudart.h"

#if CUDART < 12

#include <stdlib.h>

/* CUDA's struct textureReference; a surfaceReference is a channel descriptor only. */
struct rt_texref {
    int normalized, filter, address[3];
    struct rt_channel_desc desc;
    int srgb;
    unsigned anisotropy;
    int mip_filter;
    float bias, min, max;
    int no_trilinear;
    int reserved[14];
};
_Static_assert(sizeof(struct rt_texref) == 124, "textureReference");

/* What is registered; guarded by the lock. */
struct reference {
    const void *host;
    struct acu_module *module;
    const char *name;
    bool surface, normalized_float;
    uint64_t bound;  /* acu_device_epoch() of the binding, 0: none */
    uint64_t offset; /* of linear memory, from where the texture begins */
};
static struct {
    struct reference *v;
    size_t n;
} references;

static void
add(struct reference r)
{
    struct reference *v = realloc(references.v, (references.n + 1) * sizeof *v);
    if (!v)
        abort(); /* as everywhere: no memory, no work */
    references.v = v;
    v[references.n++] = r;
}

EXPORT void
__cudaRegisterTexture(void **handle, const struct rt_texref *host, const void **device,
                      const char *name, int dimension, int normalized_float, int external)
{
    acu_begin_light();
    add((struct reference){.host = host,
                           .module = (struct acu_module *)handle,
                           .name = name,
                           .normalized_float = normalized_float});
    acu_end_quiet(0);
}

EXPORT void
__cudaRegisterSurface(void **handle, const void *host, const void **device,
                      const char *name, int dimension, int external)
{
    acu_begin_light();
    add((struct reference){.host = host,
                           .module = (struct acu_module *)handle,
                           .name = name,
                           .surface = true});
    acu_end_quiet(0);
}

/* NULL: none, or its module is gone. */
static struct reference *
find(const void *host, bool surface)
{
    for (size_t i = 0; i < references.n; i++) {
        struct reference *r = &references.v[i];
        if (r->host == host && r->surface == surface && acu_module_valid(r->module))
            return r;
    }
    return NULL;
}

/* -- binding -- */

static int
bind(const struct rt_texref *host, struct allot_resource *res, uint64_t offset)
{
    struct reference *r = find(host, false);
    struct allot_sampler s = {0};
    uint64_t handle;
    if (!r)
        return ACU_INVALID_TEXTURE;
    if (host->srgb)
        return acu_not_supported("sRGB in a texture");
    if (res->kind != ALLOT_RES_LINEAR) { /* which knows no modes */
        s.filter = host->filter ? ALLOT_LINEAR : ALLOT_POINT;
        s.normalized_coords = host->normalized != 0;
        s.mip_filter = host->mip_filter ? ALLOT_LINEAR : ALLOT_POINT;
        s.mip_bias = host->bias;
        s.mip_least = host->min;
        s.mip_most = host->max;
        for (int i = 0; i < 3; i++) {
            if (host->address[i] < 0 || host->address[i] > ALLOT_BORDER)
                return ACU_INVALID_VALUE;
            s.address[i] = (enum allot_address)host->address[i];
        }
    }
    s.normalized_float = r->normalized_float;
    int e = acu_texture_new(res, &s, &handle);
    if (e)
        return e;
    e = acu_bind(r->module, r->name, handle); /* the reference has its own copy */
    acu_object_free(handle);
    r->bound = e ? 0 : acu_device_epoch();
    r->offset = offset;
    return e;
}

/* A texture begins at a multiple of the texture alignment; the program adds the rest to
 * its indices. Where it does not ask for the rest, there may be none. */
static int
align(size_t *offset, uint64_t *addr, uint64_t *rest)
{
    int alignment = 0;
    enum { TEXTURE_ALIGNMENT = 14 };
    int e = acu_device_attribute(TEXTURE_ALIGNMENT, &alignment);
    *rest = e || !alignment ? 0 : *addr % (uint64_t)alignment;
    if (!e && *rest && !offset)
        e = ACU_INVALID_VALUE;
    if (!e && offset)
        *offset = *rest;
    *addr -= *rest;
    return e;
}

static int
bind_linear(size_t *offset, const struct rt_texref *host, uint64_t addr,
            const struct rt_channel_desc *desc, size_t bytes)
{
    struct allot_resource res = {.kind = ALLOT_RES_LINEAR, .addr = addr};
    struct acu_range range;
    uint64_t rest;
    if (!desc || !bytes)
        return ACU_INVALID_VALUE;
    if (!acu_range_find(addr, &range))
        return ACU_INVALID_DEVICE_POINTER;
    int e = align(offset, &res.addr, &rest);
    if (!e)
        e = rt_format(desc, &res.format);
    if (e)
        return e;
    /* Programs leave the size out, which gives 4 GiB. */
    uint64_t most = range.addr + range.size - addr;
    res.bytes = rest + (bytes < most ? bytes : most);
    return bind(host, &res, rest);
}

EXPORT int
cudaBindTexture(size_t *offset, const struct rt_texref *host, const void *p,
                const struct rt_channel_desc *desc, size_t bytes)
{
    CALL(bind_linear(offset, host, ADDR(p), desc, bytes));
}

static int
bind_pitched(size_t *offset, const struct rt_texref *host, uint64_t addr,
             const struct rt_channel_desc *desc, size_t width, size_t height,
             size_t pitch)
{
    struct allot_resource res = {.kind = ALLOT_RES_PITCH2D,
                                 .addr = addr,
                                 .width = width,
                                 .height = height,
                                 .pitch = pitch};
    uint64_t rest;
    int e = desc ? align(offset, &res.addr, &rest) : ACU_INVALID_VALUE;
    if (!e)
        e = rt_format(desc, &res.format);
    if (!e) /* the program's indices begin further right */
        res.width += rest / acu_format_bytes(&res.format);
    return e ? e : bind(host, &res, rest);
}

EXPORT int
cudaBindTexture2D(size_t *offset, const struct rt_texref *host, const void *p,
                  const struct rt_channel_desc *desc, size_t width, size_t height,
                  size_t pitch)
{
    CALL(bind_pitched(offset, host, ADDR(p), desc, width, height, pitch));
}

static int
bind_array(const struct rt_texref *host, const struct rt_array *handle, bool mipmapped)
{
    struct rt_array *a = rt_array_find(handle);
    if (!a || !a->levels == mipmapped)
        return ACU_INVALID_HANDLE;
    struct allot_resource res = {.kind = ALLOT_RES_ARRAY, .array = a->array};
    return bind(host, &res, 0);
}

EXPORT int
cudaBindTextureToArray(const struct rt_texref *host, const struct rt_array *a,
                       const struct rt_channel_desc *desc)
{
    CALL(desc ? bind_array(host, a, false) : ACU_INVALID_VALUE);
}

EXPORT int
cudaBindTextureToMipmappedArray(const struct rt_texref *host, const struct rt_array *a,
                                const struct rt_channel_desc *desc)
{
    CALL(desc ? bind_array(host, a, true) : ACU_INVALID_VALUE);
}

static int
unbind(const struct rt_texref *host)
{
    struct reference *r = find(host, false);
    if (!r)
        return ACU_INVALID_TEXTURE;
    if (r->bound != acu_device_epoch())
        return 0;
    r->bound = 0;
    return acu_bind(r->module, r->name, 0);
}

EXPORT int
cudaUnbindTexture(const struct rt_texref *host)
{
    CALL(unbind(host));
}

static int
bind_surface(const void *host, const struct rt_array *handle)
{
    struct reference *r = find(host, true);
    struct rt_array *a = rt_array_find(handle);
    uint64_t surface;
    if (!r)
        return ACU_INVALID_SURFACE;
    if (!a)
        return ACU_INVALID_HANDLE;
    struct allot_resource res = {.kind = ALLOT_RES_ARRAY, .array = a->array};
    int e = acu_surface_new(&res, &surface);
    if (e)
        return e;
    e = acu_bind(r->module, r->name, surface);
    acu_object_free(surface);
    return e;
}

EXPORT int
cudaBindSurfaceToArray(const void *host, const struct rt_array *a,
                       const struct rt_channel_desc *desc)
{
    CALL(desc ? bind_surface(host, a) : ACU_INVALID_VALUE);
}

/* -- asking -- */

static int
get_offset(size_t *offset, const struct rt_texref *host)
{
    struct reference *r = find(host, false);
    if (!offset)
        return ACU_INVALID_VALUE;
    if (!r)
        return ACU_INVALID_TEXTURE;
    if (r->bound != acu_device_epoch())
        return ACU_INVALID_TEXTURE_BINDING;
    *offset = r->offset;
    return 0;
}

EXPORT int
cudaGetTextureAlignmentOffset(size_t *offset, const struct rt_texref *host)
{
    CALL(get_offset(offset, host));
}

/* A reference's symbol is the variable itself. */
static int
get_reference(const void **out, const void *symbol, bool surface)
{
    if (!out)
        return ACU_INVALID_VALUE;
    if (!find(symbol, surface))
        return surface ? ACU_INVALID_SURFACE : ACU_INVALID_TEXTURE;
    *out = symbol;
    return 0;
}

EXPORT int
cudaGetTextureReference(const void **out, const void *symbol)
{
    CALL_LIGHT(get_reference(out, symbol, false));
}

EXPORT int
cudaGetSurfaceReference(const void **out, const void *symbol)
{
    CALL_LIGHT(get_reference(out, symbol, true));
}

#endif
