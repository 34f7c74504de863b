/* texture.c: public arrays, texture and surface objects, bindings of references. */
#include "runtime/device.h"

#include "exec/memory/texture.h"

/* Largest extents, those of compute capability 8.x (CUDA C Programming Guide, technical
 * specifications per compute capability). */
enum {
    MAX_1D = 131072,
    MAX_LINEAR = 1 << 28,
    MAX_WIDTH_2D = 131072,
    MAX_HEIGHT_2D = 65536,
    MAX_3D = 16384,
    MAX_LAYERED = 32768,
    MAX_LAYERS = 2048,
    MAX_LEVELS = 17, /* of the largest */
};

struct allot_array {
    struct allot_array_info info;
    struct tex_image image;
    const struct allot_array *whole; /* of which it is a level */
    struct allot_array *level[MAX_LEVELS];
};

static struct tex_table *
table(struct allot_device *dev)
{
    return dev_textures(dev->mem);
}

/* -- formats -- */

static bool
check_format(const struct allot_format *f, struct diag_sink *diag)
{
    bool ok = f->kind == ALLOT_FLOAT
                  ? f->bits == 16 || f->bits == 32
                  : (f->kind == ALLOT_SIGNED || f->kind == ALLOT_UNSIGNED) &&
                        (f->bits == 8 || f->bits == 16 || f->bits == 32);
    if (!ok || (f->channels != 1 && f->channels != 2 && f->channels != 4))
        return diag_error(
            diag,
            "a texel of %u channels of %u %s bits is not supported: there are "
            "1, 2 or 4 channels of 8, 16 or 32 integer or 16 or 32 "
            "floating-point bits",
            f->channels, f->bits,
            f->kind == ALLOT_FLOAT      ? "floating-point"
            : f->kind == ALLOT_SIGNED   ? "signed"
            : f->kind == ALLOT_UNSIGNED ? "unsigned"
                                        : "unknown");
    return true;
}

/* -- arrays -- */

static bool
check_extent(const struct allot_array_info *i, struct diag_sink *diag)
{
    uint64_t w = MAX_1D, h = 0, n = 0;
    if (i->cubemap && (i->width != i->height || i->depth % 6 || !i->depth ||
                       (i->depth != 6 && !i->layered)))
        return diag_error(diag,
                          "cube map of %llu x %llu x %llu: faces are square, and there "
                          "are six, or a multiple of six in layers",
                          (unsigned long long)i->width, (unsigned long long)i->height,
                          (unsigned long long)i->depth);
    if (i->layered || i->cubemap) {
        w = MAX_LAYERED;
        h = i->height ? MAX_LAYERED : 0;
        n = MAX_LAYERS;
    } else if (i->depth) {
        w = h = n = MAX_3D;
    } else if (i->height) {
        w = MAX_WIDTH_2D;
        h = MAX_HEIGHT_2D;
    }
    if (!i->width || i->width > w || i->height > h || i->depth > n ||
        (i->layered && !i->depth) || (!i->layered && i->depth && !i->height))
        return diag_error(diag,
                          "%s array of %llu x %llu x %llu: the extents are 1 to %llu x "
                          "%llu x %llu",
                          i->layered  ? "layered"
                          : i->depth  ? "3-D"
                          : i->height ? "2-D"
                                      : "1-D",
                          (unsigned long long)i->width, (unsigned long long)i->height,
                          (unsigned long long)i->depth, (unsigned long long)w,
                          (unsigned long long)h, (unsigned long long)n);
    uint64_t side = i->width > i->height ? i->width : i->height;
    if (!i->layered && !i->cubemap && i->depth > side)
        side = i->depth;
    if (i->levels > MAX_LEVELS || (i->levels > 1 && side >> (i->levels - 1) == 0))
        return diag_error(diag,
                          "a mipmapped array whose longest side is %llu cannot have %u "
                          "levels",
                          (unsigned long long)side, i->levels);
    return true;
}

/* Its levels as arrays, within its memory. */
static void
add_levels(struct allot_device *dev, struct allot_array *a)
{
    for (uint32_t l = 0; l < a->info.levels; l++) {
        struct allot_array *part = a->level[l] = xcalloc(1, sizeof *part);
        part->whole = a;
        part->image = tex_level(&a->image, l);
        part->info = a->info;
        part->info.levels = 0;
        part->info.width = part->image.width;
        if (a->info.height)
            part->info.height = part->image.height;
        if (a->image.dims == 3)
            part->info.depth = part->image.depth;
        *vec_push(&dev->arrays) = part;
    }
}

struct allot_array *
allot_array_level(const struct allot_array *a, uint32_t level)
{
    return level < a->info.levels ? a->level[level] : NULL;
}

struct allot_array *
allot_array_new(struct allot_device *dev, const struct allot_array_info *info,
                struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct allot_array *a = NULL;
    if (check_format(&info->format, diag) && check_extent(info, diag)) {
        a = xcalloc(1, sizeof *a);
        a->info = *info;
        tex_layout(&a->image, info);
        a->image.addr = allot_alloc(dev, a->image.bytes, d);
        if (!a->image.addr) {
            free(a);
            a = NULL;
        } else {
            *vec_push(&dev->arrays) = a;
            add_levels(dev, a);
        }
    }
    diag_free(&own);
    return a;
}

/* Forgets an array of the device; false: it is none. */
static bool
forget(struct allot_device *dev, struct allot_array *a)
{
    for (size_t i = 0; i < dev->arrays.n; i++)
        if (dev->arrays.v[i] == a) {
            dev->arrays.v[i] = dev->arrays.v[--dev->arrays.n];
            return true;
        }
    return false;
}

bool
allot_array_free(struct allot_device *dev, struct allot_array *a, struct allot_diag *d)
{
    if (!forget(dev, a)) {
        if (d)
            diag_error(&d->sink, "this is no array of this device (freed already?)");
        return false;
    }
    if (a->whole) {
        *vec_push(&dev->arrays) = a;
        if (d)
            diag_error(&d->sink, "a level is freed with its mipmapped array");
        return false;
    }
    dev_release(dev->mem, a->image.addr);
    for (uint32_t l = 0; l < a->info.levels; l++) {
        forget(dev, a->level[l]);
        free(a->level[l]);
    }
    free(a);
    return true;
}

void
rt_arrays_free(struct allot_device *dev)
{
    for (size_t i = 0; i < dev->arrays.n; i++)
        free(dev->arrays.v[i]);
    vec_free(&dev->arrays);
}

const struct allot_array_info *
allot_array_describe(const struct allot_array *a)
{
    return &a->info;
}

/* Copies row by row, in pieces that lie together in the array. */
static bool
copy(struct allot_device *dev, const struct allot_array *a, const struct allot_box *box,
     uint8_t *host, bool to_array, uint64_t row, uint64_t slice, struct allot_diag *d)
{
    const struct tex_image *im = &a->image;
    uint64_t w = box->width ? box->width : 1, h = box->height ? box->height : 1,
             n = box->depth ? box->depth : 1,
             slices = im->layers ? im->layers : im->depth;
    if (box->x > im->width || w > im->width - box->x || box->y > im->height ||
        h > im->height - box->y || box->z > slices || n > slices - box->z) {
        if (d)
            diag_error(&d->sink,
                       "the box of %llu x %llu x %llu texels at (%llu,%llu,%llu) is not "
                       "inside the array of %u x %u x %llu",
                       (unsigned long long)w, (unsigned long long)h,
                       (unsigned long long)n, (unsigned long long)box->x,
                       (unsigned long long)box->y, (unsigned long long)box->z, im->width,
                       im->height, (unsigned long long)slices);
        return false;
    }
    if (!row)
        row = w * im->texel;
    if (!slice)
        slice = row * h;
    uint32_t run = im->blocked ? TEX_BLOCK_BYTES / im->texel : im->width;
    for (uint64_t z = 0; z < n; z++)
        for (uint64_t y = 0; y < h; y++) {
            uint8_t *p = host + z * slice + y * row;
            for (uint64_t x = box->x, end = box->x + w; x < end;) {
                uint64_t next = (x / run + 1) * run;
                uint64_t bytes = ((next < end ? next : end) - x) * im->texel;
                uint64_t at = tex_address(im, (uint32_t)x, (uint32_t)(box->y + y),
                                          (uint32_t)(box->z + z));
                if (to_array)
                    memcpy(dev_host(dev->mem, at), p, bytes);
                else
                    memcpy(p, dev_host(dev->mem, at), bytes);
                p += bytes;
                x += bytes / im->texel;
            }
        }
    if (to_array && dev->gpu)
        timing_host_copy(dev->gpu, im->addr, im->bytes);
    return true;
}

bool
allot_array_write(struct allot_device *dev, struct allot_array *a,
                  const struct allot_box *box, const void *src, uint64_t row,
                  uint64_t slice, struct allot_diag *d)
{
    return copy(dev, a, box, (uint8_t *)(uintptr_t)src, true, row, slice, d);
}

bool
allot_array_read(struct allot_device *dev, const struct allot_array *a,
                 const struct allot_box *box, void *dst, uint64_t row, uint64_t slice,
                 struct allot_diag *d)
{
    return copy(dev, a, box, dst, false, row, slice, d);
}

/* -- objects -- */

/* Linear and pitched memory: the part of a live allocation. */
static bool
memory_image(struct allot_device *dev, const struct allot_resource *r,
             struct tex_image *im, struct diag_sink *diag)
{
    if (!check_format(&r->format, diag))
        return false;
    uint32_t texel = r->format.bits / 8 * r->format.channels;
    *im = (struct tex_image){.addr = r->addr,
                             .format = r->format,
                             .texel = texel,
                             .dims = 1,
                             .height = 1,
                             .depth = 1,
                             .levels = 1};
    if (r->kind == ALLOT_RES_LINEAR) {
        uint64_t n = r->bytes / texel;
        if (!n || n > MAX_LINEAR)
            return diag_error(diag,
                              "linear texture memory of %llu bytes: it holds 1 to %d "
                              "texels (of %u bytes)",
                              (unsigned long long)r->bytes, MAX_LINEAR, texel);
        im->linear = true;
        im->width = (uint32_t)n;
        im->pitch = im->slice = im->bytes = n * texel;
    } else {
        if (!r->width || r->width > MAX_WIDTH_2D || !r->height ||
            r->height > MAX_HEIGHT_2D || r->pitch < r->width * texel || r->pitch % texel)
            return diag_error(diag,
                              "pitched texture memory of %llu x %llu texels of %u bytes, "
                              "pitch %llu: the extents are 1 to %d x %d, the pitch is a "
                              "multiple of the texel's size that holds a row",
                              (unsigned long long)r->width, (unsigned long long)r->height,
                              texel, (unsigned long long)r->pitch, MAX_WIDTH_2D,
                              MAX_HEIGHT_2D);
        im->dims = 2;
        im->width = (uint32_t)r->width;
        im->height = (uint32_t)r->height;
        im->pitch = r->pitch;
        im->bytes = im->slice = r->pitch * (r->height - 1) + r->width * texel;
    }
    struct dev_range range;
    if (r->addr % texel)
        return diag_error(diag,
                          "texture memory at 0x%llx is not aligned to its texels of "
                          "%u bytes",
                          (unsigned long long)r->addr, texel);
    if (!dev_find(dev->mem, r->addr, &range) || range.dead ||
        im->bytes > range.size - (r->addr - range.addr))
        return diag_error(diag,
                          "texture memory of %llu bytes at 0x%llx is not inside one live "
                          "allocation",
                          (unsigned long long)im->bytes, (unsigned long long)r->addr);
    return true;
}

static bool
image_of(struct allot_device *dev, const struct allot_resource *r, struct tex_image *im,
         struct diag_sink *diag)
{
    if (r->kind == ALLOT_RES_LINEAR || r->kind == ALLOT_RES_PITCH2D)
        return memory_image(dev, r, im, diag);
    if (r->kind != ALLOT_RES_ARRAY)
        return diag_error(diag,
                          "a resource is an array, linear or pitched memory, not "
                          "kind %d",
                          (int)r->kind);
    for (size_t i = 0; i < dev->arrays.n; i++)
        if (dev->arrays.v[i] == r->array) {
            *im = r->array->image;
            return true;
        }
    return diag_error(diag,
                      "the resource's array is none of this device (freed already?)");
}

static bool
check_sampler(const struct allot_sampler *s, const struct allot_resource *r,
              const struct tex_image *im, struct diag_sink *diag)
{
    for (int i = 0; i < 3; i++)
        if ((unsigned)s->address[i] > ALLOT_BORDER)
            return diag_error(diag, "address mode %d of dimension %d does not exist",
                              (int)s->address[i], i);
    if (im->levels > 1 && !s->normalized_coords)
        return diag_error(diag, "a mipmapped array is read with normalised coordinates");
    if ((unsigned)s->mip_filter > ALLOT_LINEAR)
        return diag_error(diag, "filter mode %d of mipmaps does not exist",
                          (int)s->mip_filter);
    if ((unsigned)s->filter > ALLOT_LINEAR)
        return diag_error(diag, "filter mode %d does not exist", (int)s->filter);
    bool is_float = im->format.kind == ALLOT_FLOAT;
    if (s->normalized_float && !is_float && im->format.bits == 32)
        return diag_error(diag, "32-bit integers cannot be read as normalised floats");
    if (s->filter == ALLOT_LINEAR && !is_float && !s->normalized_float)
        return diag_error(diag,
                          "linear filtering needs floating-point texels or integers "
                          "read as normalised floats");
    if (r->kind == ALLOT_RES_LINEAR &&
        (s->filter == ALLOT_LINEAR || s->normalized_coords))
        return diag_error(diag, "linear memory has neither filtering nor normalised "
                                "coordinates; use an array or pitched memory");
    return true;
}

uint64_t
allot_texture_new(struct allot_device *dev, const struct allot_resource *r,
                  const struct allot_sampler *sampler, struct allot_diag *d)
{
    static const struct allot_sampler plain = {
        .address = {ALLOT_CLAMP, ALLOT_CLAMP, ALLOT_CLAMP}};
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct tex_object o = {.kind = TEX_TEXTURE, .bound = true};
    o.sampler = sampler ? *sampler : plain;
    uint64_t handle = 0;
    if (image_of(dev, r, &o.image, diag) && check_sampler(&o.sampler, r, &o.image, diag))
        handle = tex_add(table(dev), &o);
    diag_free(&own);
    return handle;
}

uint64_t
allot_surface_new(struct allot_device *dev, const struct allot_resource *r,
                  struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct tex_object o = {.kind = TEX_SURFACE, .bound = true};
    uint64_t handle = 0;
    if (r->kind != ALLOT_RES_ARRAY)
        diag_error(diag, "a surface is made of an array");
    else if (image_of(dev, r, &o.image, diag)) {
        if (o.image.levels > 1)
            diag_error(diag, "a surface is made of one level of a mipmapped array");
        else
            handle = tex_add(table(dev), &o);
    }
    diag_free(&own);
    return handle;
}

static struct tex_object *
live_object(struct allot_device *dev, uint64_t handle, struct diag_sink *diag)
{
    struct tex_object *o = tex_find(table(dev), handle);
    if (o && o->kind != TEX_DEAD && !o->name)
        return o;
    diag_error(diag, "0x%llx is no texture or surface object%s",
               (unsigned long long)handle,
               !o                    ? ""
               : o->kind == TEX_DEAD ? " any more: it was freed"
                                     : ", but a reference");
    return NULL;
}

bool
allot_object_free(struct allot_device *dev, uint64_t handle, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct tex_object *o = live_object(dev, handle, diag);
    if (o)
        *o = (struct tex_object){.kind = TEX_DEAD};
    diag_free(&own);
    return o != NULL;
}

/* -- references -- */

static bool
ref_kind(const struct ptx_var *v, enum allot_ref_kind *kind)
{
    if (v->linkage == PTX_LINK_EXTERN)
        return false;
    *kind = v->type == PTX_TEXREF    ? ALLOT_TEXREF
            : v->type == PTX_SURFREF ? ALLOT_SURFREF
                                     : ALLOT_SAMPLERREF;
    return ptx_types[v->type].kind == PTX_K_OPAQUE;
}

bool
allot_module_ref(const struct allot_module *m, size_t i, const char **name,
                 enum allot_ref_kind *kind)
{
    for (size_t k = 0; k < m->ptx->vars.n; k++)
        if (ref_kind(m->ptx->vars.v[k], kind) && !i--) {
            *name = m->ptx->vars.v[k]->name;
            return true;
        }
    return false;
}

bool
allot_bind(struct allot_device *dev, struct allot_module *m, const char *name,
           uint64_t handle, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct loaded_module *lm = rt_load(dev, m, diag);
    uint64_t at;
    bool ok =
        lm &&
        (exec_image_ref(lm->versions.v[0]->image, name, &at) ||
         diag_error(diag, "the module has no texture or surface reference '%s'", name));
    const struct tex_object *from = NULL;
    if (ok && handle) {
        from = live_object(dev, handle, diag);
        ok = from != NULL;
    }
    struct tex_object *ref = ok ? tex_find(table(dev), at) : NULL;
    enum tex_kind want = ref && ref->kind == TEX_SURFACE ? TEX_SURFACE : TEX_TEXTURE;
    if (from && from->kind != want)
        ok = diag_error(diag, "'%s' can only be bound to a %s object", name,
                        want == TEX_SURFACE ? "surface" : "texture");
    if (ok) {
        ref->bound = from != NULL;
        ref->lost = from && from->lost;
        if (from) {
            ref->image = from->image;
            ref->sampler = from->sampler;
        }
    }
    diag_free(&own);
    return ok;
}
