/* exec_tex.c: textures: tex, tld4, txq, istypep (PTX ISA 9.7.10).
 *
 * Fetching follows the CUDA C++ Programming Guide, "Texture Fetching": coordinates become
 * fixed point with 8 bits of fraction; linear filtering weighs the texels around the
 * point half a texel back with these 8 bits; address modes act on the texel's index.
 * Cube maps: the guide's table of faces ("Cubemap Textures"); linear filtering stays
 * within a face. Mipmaps: .level gives the level of detail, .grad that of the longer
 * derivative (log2 of its length in texels); without either the base is read. What the
 * guide leaves open: sums are made exactly and rounded once, the two levels' in one;
 * coordinates that are no finite number count as 0; channels that the format has not are
 * 0, the fourth 1; of components of equal size x comes before y before z; between two
 * levels the nearest is the lower one.
 *
 * The texels' 32-byte sectors are what the timing model sees (exec_access.list). */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"
#include "exec/lanes/fp.h"
#include "exec/memory/texture.h"

#include <string.h>

enum { FIX = 256 }; /* one texel in fixed point */

struct tex_plan {
    uint32_t handle, sampler; /* rows; sampler REF_NONE: the texture's own */
    bool handle_wide, sampler_wide, is_float, gather, cube;
    bool plain; /* no cube map, no gather, no layers, no offsets */
    uint8_t dims, ncoords, comp, ndest;  /* dims: of the image, 2 of a cube's face */
    uint8_t lod;                         /* 0, 1: a level, 2: two gradients */
    uint8_t type;                        /* of a result */
    uint32_t layer, coord[3], offset[3]; /* rows, REF_NONE: none */
    uint32_t level, grad[2][3];          /* rows */
    uint32_t dest[4];                    /* REF_NONE: not wanted */
    uint32_t pred;                       /* predicate to set, REF_NONE: none */
};

/* -- which texture -- */

static uint64_t
lane_value(const struct exec_warp *w, uint32_t ref, bool wide, unsigned lane)
{
    const void *p = row(w, ref);
    return wide ? ((const uint64_t *)p)[lane] : ((const uint32_t *)p)[lane];
}

static const char *
kind_name(enum tex_kind k)
{
    return k == TEX_SURFACE ? "surface" : k == TEX_SAMPLER ? "sampler" : "texture";
}

const struct tex_object *
tex_object_of(struct exec_warp *w, const struct exec_inst *in, unsigned lane,
              uint64_t handle, unsigned want)
{
    const struct tex_object *o = tex_find(dev_textures(w->cta->grid->mem), handle);
    const char *is = kind_name(want);
    if (!o)
        exec_fault(w, in, lane,
                   "handles come from the host, and references must be bound",
                   "0x%llx is no %s object", (unsigned long long)handle, is);
    else if (o->kind == TEX_DEAD)
        exec_fault(w, in, lane, NULL, "%s object 0x%llx was freed", is,
                   (unsigned long long)handle);
    else if (o->kind != want)
        exec_fault(w, in, lane, NULL, "0x%llx is a %s, not a %s",
                   (unsigned long long)handle, kind_name(o->kind), is);
    else if (!o->bound)
        exec_fault(w, in, lane, NULL, "the %s reference '%s' is not bound", is, o->name);
    else if (o->lost)
        exec_fault(w, in, lane, NULL, "the memory under %s object 0x%llx was freed", is,
                   (unsigned long long)handle);
    else
        return o;
    return NULL;
}

/* -- addressing -- */

/* Index of a texel under an address mode; -1: the border. */
static int64_t
place(int64_t i, uint32_t n, enum allot_address mode, bool normalized)
{
    if (i >= 0 && i < n)
        return i;
    if (mode == ALLOT_BORDER)
        return -1;
    if (normalized && mode == ALLOT_WRAP) {
        i %= n;
        return i < 0 ? i + n : i;
    }
    if (normalized && mode == ALLOT_MIRROR) {
        i %= 2 * (int64_t)n;
        if (i < 0)
            i += 2 * (int64_t)n;
        return i < n ? i : 2 * (int64_t)n - 1 - i;
    }
    return i < 0 ? 0 : n - 1;
}

static double
lane_float(const struct exec_warp *w, uint32_t ref, unsigned lane)
{
    float f;
    memcpy(&f, (const uint32_t *)row(w, ref) + lane, 4);
    return f;
}

static double
in_range(double x)
{
    return __builtin_isfinite(x) && __builtin_fabs(x) < 0x1p40 ? x : 0;
}

/* The coordinate in texels. */
static double
scaled(const struct exec_warp *w, const struct tex_plan *p, unsigned d, unsigned lane,
       uint32_t n, bool normalized)
{
    if (!p->is_float)
        return ((const int32_t *)row(w, p->coord[d]))[lane];
    double f = lane_float(w, p->coord[d], lane);
    return in_range(normalized ? f * n : f);
}

/* The face that a direction meets, and where on it, from 0 to 1. */
static unsigned
cube_face(const struct exec_warp *w, const struct tex_plan *p, unsigned lane,
          double place[2])
{
    static const struct {
        int8_t s, t; /* component and sign: 1 x, 2 y, 3 z */
    } faces[6] = {{-3, -2}, {3, -2}, {1, 3}, {1, -3}, {1, -2}, {-1, -2}};
    double v[3], size[3];
    for (unsigned d = 0; d < 3; d++) {
        v[d] = in_range(lane_float(w, p->coord[d], lane));
        size[d] = __builtin_fabs(v[d]);
    }
    unsigned axis = size[0] >= size[1] && size[0] >= size[2] ? 0
                    : size[1] >= size[2]                     ? 1
                                                             : 2;
    unsigned face = 2 * axis + (v[axis] < 0);
    const int8_t from[2] = {faces[face].s, faces[face].t};
    for (unsigned k = 0; k < 2; k++) {
        double c = from[k] < 0 ? -v[-from[k] - 1] : v[from[k] - 1];
        place[k] = size[axis] != 0 ? (c / size[axis] + 1) / 2 : 0.5;
    }
    return face;
}

/* -- texels -- */

struct texel {
    uint32_t v[4]; /* integers, or the bits of floats */
};

static uint32_t
f32_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

static float
bits_f32(uint32_t b)
{
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static uint32_t
channel(const uint8_t *p, const struct allot_format *f, bool normalized)
{
    uint32_t v = (uint32_t)read_element(p, f->bits / 8);
    if (f->kind == ALLOT_FLOAT)
        return f->bits == 32 ? v : f32_bits(fp_from_half((uint16_t)v));
    int32_t s =
        f->kind == ALLOT_SIGNED ? (int32_t)extend(v, f->bits / 8, true) : (int32_t)v;
    if (!normalized)
        return (uint32_t)s;
    int32_t most = (1 << (f->bits - (f->kind == ALLOT_SIGNED))) - 1;
    float x = (float)s / (float)most;
    return f32_bits(x < -1 ? -1 : x);
}

static bool
reads_float(const struct tex_image *im, const struct allot_sampler *s)
{
    return im->format.kind == ALLOT_FLOAT || s->normalized_float;
}

/* at[d] < 0: the border. The address of what was read goes to the access. */
static void
read_texel(struct exec_warp *w, const struct tex_image *im, const struct allot_sampler *s,
           const int64_t at[3], uint32_t layer, struct exec_access *x, struct texel *r)
{
    bool flt = reads_float(im, s);
    if (at[0] < 0 || at[1] < 0 || at[2] < 0) {
        for (int k = 0; k < 4; k++)
            r->v[k] = flt ? f32_bits(s->border[k]) : (uint32_t)(int32_t)s->border[k];
        return;
    }
    uint32_t tx = (uint32_t)at[0], ty = (uint32_t)at[1],
             tz = im->layers ? layer : (uint32_t)at[2];
    uint64_t addr = tex_address(im, tx, ty, tz);
    const uint8_t *p = dev_host(w->cta->grid->mem, addr);
    const struct exec_log *l = w->cta->log;
    if (l && l->foot)
        exec_foot_range(l->foot, addr, im->format.channels * im->format.bits / 8,
                        FOOT_READ);
    for (unsigned k = 0; k < 4; k++)
        r->v[k] = k < im->format.channels ? channel(p + k * im->format.bits / 8,
                                                    &im->format, s->normalized_float)
                  : k < 3                 ? 0
                  : flt                   ? f32_bits(1)
                                          : 1;
    if (x->list) {
        uint32_t line = w->cta->grid->tex_line;
        uint64_t from = line ? tex_fetch_address(im, line, tx, ty, tz) : addr,
                 sector = from & ~(uint64_t)31;
        unsigned n = x->nlist;
        while (n && x->list[n - 1] != sector)
            n--;
        if (!n && x->nlist < EXEC_MAX_LIST)
            x->list[x->nlist++] = sector;
    }
}

/* -- one lane -- */

static void
offsets(const struct exec_warp *w, const struct tex_plan *p, unsigned lane,
        int64_t off[3])
{
    for (unsigned d = 0; d < 3; d++)
        off[d] =
            p->offset[d] == REF_NONE ? 0 : ((const int32_t *)row(w, p->offset[d]))[lane];
}

/* Texel index (and weight of the next one, in 1/256) of each dimension. */
struct footprint {
    int64_t index[3];
    uint32_t weight[3];
};

/* `face`: places on the face of a cube map, else NULL. */
ALWAYS_INLINE void
footprint(const struct exec_warp *w, const struct tex_plan *p, unsigned dims, bool plain,
          const struct tex_image *im, bool normalized, bool between, unsigned lane,
          const double *face, struct footprint *f)
{
    const uint32_t size[3] = {im->width, im->height, im->depth};
    int64_t off[3] = {0, 0, 0};
    if (!plain)
        offsets(w, p, lane, off);
    for (unsigned d = 0; d < dims; d++) {
        double x = face ? face[d] * size[d] : scaled(w, p, d, lane, size[d], normalized);
        if (between) {
            int64_t fix = (int64_t)__builtin_floor(x * FIX + 0.5) - FIX / 2;
            f->index[d] = fix >> 8;
            f->weight[d] = (uint32_t)fix & (FIX - 1);
        } else {
            f->index[d] = (int64_t)__builtin_floor(x);
        }
        f->index[d] += off[d];
    }
}

/* Adds a level's value to sum, times `share`; values that are not filtered go to r. The
 * plan's dimensions, and whether it has no cube map, gather, layers and offsets, are
 * constants where that is worth while. */
ALWAYS_INLINE void
fetch_as(unsigned dims, bool plain, struct exec_warp *w, const struct tex_plan *p,
         const struct tex_image *im, const struct allot_sampler *s, unsigned lane,
         double share, double sum[4], struct texel *r, struct exec_access *x)
{
    const uint32_t size[3] = {im->width, im->height, im->depth};
    bool normalized = s->normalized_coords && p->is_float;
    bool linear = s->filter == ALLOT_LINEAR && p->is_float && reads_float(im, s);
    bool cube = !plain && p->cube, gather = !plain && p->gather;
    double place_on[2];
    unsigned face = cube ? cube_face(w, p, lane, place_on) : 0;
    struct footprint f = {{0}, {0}};
    footprint(w, p, dims, plain, im, normalized, linear || gather, lane,
              cube ? place_on : NULL, &f);
    uint32_t layer = 0, n = cube ? im->layers / 6 : im->layers;
    if (!plain && p->layer != REF_NONE && n) {
        layer = ((const uint32_t *)row(w, p->layer))[lane];
        layer = layer < n ? layer : n - 1;
    }
    if (cube)
        layer = layer * 6 + face;
    enum allot_address mode[3];
    for (unsigned d = 0; d < 3; d++)
        mode[d] = cube                         ? ALLOT_CLAMP
                  : im->linear && !p->is_float ? ALLOT_BORDER
                                               : s->address[d];
    int64_t at[3] = {0, 0, 0};
    struct texel one;
    if (gather) {
        /* counter-clockwise from the lower left: (0,1) (1,1) (1,0) (0,0) */
        static const uint8_t dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
        for (unsigned k = 0; k < 4; k++) {
            at[0] = place(f.index[0] + dx[k], size[0], mode[0], normalized);
            at[1] = place(f.index[1] + dy[k], size[1], mode[1], normalized);
            read_texel(w, im, s, at, layer, x, &one);
            r->v[k] = one.v[p->comp];
        }
        return;
    }
    if (!linear) {
        for (unsigned d = 0; d < dims; d++)
            at[d] = place(f.index[d], size[d], mode[d], normalized);
        read_texel(w, im, s, at, layer, x, r);
        for (unsigned c = 0; c < 4 && share < 1; c++)
            sum[c] += share * (double)bits_f32(r->v[c]);
        return;
    }
    for (unsigned k = 0; k < 1u << dims; k++) {
        double weight = share;
        for (unsigned d = 0; d < dims; d++) {
            unsigned up = k >> d & 1;
            weight *= (up ? f.weight[d] : FIX - f.weight[d]) / (double)FIX;
            at[d] = place(f.index[d] + up, size[d], mode[d], normalized);
        }
        if (weight == 0)
            continue;
        read_texel(w, im, s, at, layer, x, &one);
        for (unsigned c = 0; c < 4; c++)
            sum[c] += weight * (double)bits_f32(one.v[c]);
    }
}

static NOINLINE void
fetch_plain_2d(struct exec_warp *w, const struct tex_plan *p, const struct tex_image *im,
               const struct allot_sampler *s, unsigned lane, double share, double sum[4],
               struct texel *r, struct exec_access *x)
{
    fetch_as(2, true, w, p, im, s, lane, share, sum, r, x);
}

static void
fetch_level(struct exec_warp *w, const struct tex_plan *p, const struct tex_image *im,
            const struct allot_sampler *s, unsigned lane, double share, double sum[4],
            struct texel *r, struct exec_access *x)
{
    if (p->plain && p->dims == 2)
        fetch_plain_2d(w, p, im, s, lane, share, sum, r, x);
    else
        fetch_as(p->dims, false, w, p, im, s, lane, share, sum, r, x);
}

/* Level of detail of a lane, biased and clamped as the sampler says. */
static double
lane_lod(const struct exec_warp *w, const struct tex_plan *p, const struct tex_image *im,
         const struct allot_sampler *s, unsigned lane)
{
    const uint32_t size[3] = {im->width, im->height, im->depth};
    double lod = 0, longest = 0;
    if (p->lod == 1)
        lod = in_range(lane_float(w, p->level, lane));
    for (unsigned g = 0; g < 2 && p->lod == 2; g++) {
        double square = 0;
        for (unsigned d = 0; d < p->ncoords; d++) {
            /* A face is two units wide in the direction's own units. */
            double n = p->cube ? size[0] / 2.0 : size[d];
            double v = in_range(lane_float(w, p->grad[g][d], lane)) * n;
            square += v * v;
        }
        longest = square > longest ? square : longest;
    }
    if (p->lod == 2)
        lod = longest > 0 ? fp_lg2((float)longest) / 2 : 0;
    lod += s->mip_bias;
    lod = lod > s->mip_most ? s->mip_most : lod;
    lod = lod < s->mip_least ? s->mip_least : lod;
    return lod < 0 ? 0 : lod > im->levels - 1 ? im->levels - 1 : lod;
}

static void
fetch_lane(struct exec_warp *w, const struct tex_plan *p, const struct tex_object *t,
           const struct allot_sampler *s, unsigned lane, struct exec_access *x,
           struct texel *r)
{
    const struct tex_image *im = &t->image;
    bool linear = s->filter == ALLOT_LINEAR && p->is_float && reads_float(im, s);
    double sum[4] = {0};
    if (im->levels == 1) {
        fetch_level(w, p, im, s, lane, 1, sum, r, x);
    } else {
        double lod = p->lod ? lane_lod(w, p, im, s, lane) : 0;
        uint32_t near = (uint32_t)lod, rest = 0;
        if (s->mip_filter == ALLOT_POINT || !reads_float(im, s))
            near += lod - near > 0.5;
        else
            rest = (uint32_t)__builtin_floor((lod - near) * FIX + 0.5);
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t weight = k ? rest : FIX - rest;
            if (!weight)
                continue;
            struct tex_image level = tex_level(im, near + k);
            fetch_level(w, p, &level, s, lane, weight / (double)FIX, sum, r, x);
        }
        linear |= rest && rest != FIX;
    }
    for (unsigned c = 0; c < 4 && linear && !p->gather; c++)
        r->v[c] = f32_bits((float)sum[c]);
}

static void
put_texel(struct exec_warp *w, const struct tex_plan *p, unsigned lane,
          const struct texel *t, bool flt)
{
    bool half = p->type == PTX_F16 || p->type == PTX_F16X2;
    if (!half) {
        for (unsigned k = 0; k < p->ndest; k++)
            if (p->dest[k] != REF_NONE)
                ((uint32_t *)row(w, p->dest[k]))[lane] = t->v[k];
        return;
    }
    uint32_t v[4];
    memcpy(v, t->v, sizeof v);
    for (unsigned k = 0; k < 4; k++)
        v[k] =
            fp_soft_to_half(flt ? (double)bits_f32(v[k]) : (double)(int32_t)v[k], FP_RN);
    if (p->type == PTX_F16X2) {
        v[0] |= v[1] << 16;
        v[1] = v[2] | v[3] << 16;
    }
    for (unsigned k = 0; k < p->ndest; k++)
        if (p->dest[k] != REF_NONE)
            ((uint32_t *)row(w, p->dest[k]))[lane] = v[k];
}

static enum exec_result
h_tex(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    const struct tex_plan *p = in->plan;
    struct exec_access *x = &s->access;
    struct exec_cta_priv *ex = w->cta->ex;
    *x = (struct exec_access){.space = PTX_SPACE_TEX, .load = true, .mask = mask};
    x->bytes = 4;
    x->list = w->cta->clock ? ex->list : NULL; /* nobody asks without timing */
    uint64_t last = 0;
    const struct tex_object *t = NULL;
    FOR_BITS(lane, mask)
    {
        unsigned i = (unsigned)lane;
        uint64_t handle = lane_value(w, p->handle, p->handle_wide, i);
        if (!t || handle != last) {
            t = tex_object_of(w, in, i, handle, TEX_TEXTURE);
            if (!t)
                return EXEC_FAULT;
            last = handle;
            const struct tex_image *im = &t->image;
            bool layers = im->cube ? im->cube_layers : im->layers != 0;
            if (im->cube != p->cube)
                return exec_fault(
                    w, in, i, NULL, "the texture is %s cube map, the instruction %s",
                    im->cube ? "a" : "no", p->cube ? "reads one" : "does not read one");
            if (im->dims != p->dims || layers != (p->layer != REF_NONE))
                return exec_fault(w, in, i, NULL,
                                  "the texture has %u dimensions%s, the instruction %u%s",
                                  im->dims, layers ? " and layers" : "", p->dims,
                                  p->layer != REF_NONE ? " and layers" : "");
        }
        const struct allot_sampler *smp = &t->sampler;
        if (p->sampler != REF_NONE) {
            uint64_t h = lane_value(w, p->sampler, p->sampler_wide, i);
            const struct tex_object *o = tex_object_of(w, in, i, h, TEX_SAMPLER);
            if (!o)
                return EXEC_FAULT;
            smp = &o->sampler;
        }
        struct texel r = {{0}};
        fetch_lane(w, p, t, smp, i, x, &r);
        put_texel(w, p, i, &r, reads_float(&t->image, smp));
    }
    if (p->pred != REF_NONE) /* resident: all of it is */
        *(uint32_t *)row(w, p->pred) |= mask;
    s->has_access = true;
    return EXEC_OK;
}

/* -- queries -- */

/* The numbers behind these answers are the driver API's and OpenCL's, as clang and nvcc
 * define them for PTX. */
static uint32_t
data_type(const struct allot_format *f)
{
    static const uint32_t types[3][3] = {
        {0x10d7, 0x10d8, 0x10d9}, /* CL_SIGNED_INT8, 16, 32 */
        {0x10da, 0x10db, 0x10dc}, /* CL_UNSIGNED_INT8 ... */
        {0, 0x10dd, 0x10de},      /* CL_HALF_FLOAT, CL_FLOAT */
    };
    return types[f->kind][f->bits == 8 ? 0 : f->bits == 16 ? 1 : 2];
}

static uint32_t
answer(const struct tex_object *o, unsigned query, uint32_t level)
{
    struct tex_image one;
    const struct tex_image *im = &o->image;
    if (level && im->levels > 1) { /* .level: sizes are that level's */
        one = tex_level(im, level < im->levels ? level : im->levels - 1);
        one.levels = im->levels;
        im = &one;
    }
    switch (query) {
    case PTX_QUERY_WIDTH:
        return im->width;
    case PTX_QUERY_HEIGHT:
        return im->dims > 1 ? im->height : 0;
    case PTX_QUERY_DEPTH:
        return im->dims > 2 ? im->depth : 0;
    case PTX_QUERY_TYPE:
        return data_type(&im->format);
    case PTX_QUERY_ORDER: /* CL_R, CL_RG, CL_RGBA */
        return im->format.channels == 1   ? 0x10b0
               : im->format.channels == 2 ? 0x10b2
                                          : 0x10b5;
    case PTX_QUERY_NORMALIZED:
        return o->sampler.normalized_coords;
    case PTX_QUERY_FORCE:
        return !o->sampler.normalized_coords;
    case PTX_QUERY_LAYERS:
        return !im->cube ? im->layers : im->cube_layers ? im->layers / 6 : 0;
    case PTX_QUERY_LEVELS:
        return im->levels;
    case PTX_QUERY_SAMPLES:
        return 1;
    case PTX_QUERY_FILTER:
        return o->sampler.filter;
    case PTX_QUERY_ADDR0:
    case PTX_QUERY_ADDR1:
    case PTX_QUERY_ADDR2:
        return o->sampler.address[query - PTX_QUERY_ADDR0];
    default:
        return im->blocked; /* memory_layout */
    }
}

/* d[0]: destination, s[0]: handle, s[1]: level of a mipmap or REF_NONE; sub: query; aux:
 * the kind of object; esize: 8 bytes of handle */
static enum exec_result
h_query(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    const struct tex_object *o = NULL;
    uint64_t last = 0;
    FOR_BITS(i, mask)
    {
        uint64_t handle = lane_value(w, in->s[0], in->esize == 8, (unsigned)i);
        if (!o || handle != last)
            o = tex_object_of(w, in, (unsigned)i, handle, in->aux);
        if (!o)
            return EXEC_FAULT;
        last = handle;
        uint32_t level =
            in->s[1] == REF_NONE ? 0 : ((const uint32_t *)row(w, in->s[1]))[i];
        ((uint32_t *)row(w, in->d[0]))[i] = answer(o, in->sub, level);
    }
    return EXEC_OK;
}

static enum exec_result
h_istypep(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    uint32_t *d = row(w, in->d[0]), yes = 0;
    FOR_BITS(i, mask)
    {
        const struct tex_object *o =
            tex_find(dev_textures(w->cta->grid->mem),
                     lane_value(w, in->s[0], in->esize == 8, (unsigned)i));
        yes |= (uint32_t)(o && o->kind == in->aux) << i;
    }
    *d = (*d & ~mask) | yes;
    return EXEC_OK;
}

/* -- decoding -- */

bool
decode_handle(struct decoder *d, const struct ptx_operand *o, uint32_t *ref, bool *wide)
{
    struct ptx_operand x = *o;
    if (x.off || (x.kind == PTX_OPD_ADDR && !x.var && x.reg < 0))
        return decode_refuse(d, "a texture or surface is a reference or a register");
    if (x.kind == PTX_OPD_ADDR)
        x.kind = x.var ? PTX_OPD_SYM : PTX_OPD_REG;
    if (x.kind == PTX_OPD_SYM && ptx_types[x.var->type].kind != PTX_K_OPAQUE)
        return decode_refuse(d, "'%s' is no texture, sampler or surface reference",
                             x.var->name);
    *ref = decode_row(d, &x, PTX_U64, wide);
    return *ref != REF_NONE;
}

bool
decode_geometry(struct decoder *d, struct tex_coords *c, const struct ptx_operand *o,
                unsigned type)
{
    static const struct {
        uint16_t mod;
        uint8_t dims;
        bool layers, cube;
    } rows[] = {{PTX_GEOM_1D, 1, false, false}, {PTX_GEOM_2D, 2, false, false},
                {PTX_GEOM_3D, 3, false, false}, {PTX_GEOM_A1D, 1, true, false},
                {PTX_GEOM_A2D, 2, true, false}, {PTX_GEOM_CUBE, 2, false, true},
                {PTX_GEOM_ACUBE, 2, true, true}};
    size_t k = 0, n = sizeof rows / sizeof *rows;
    while (k < n && rows[k].mod != d->in->mod[PTX_MG_GEOM])
        k++;
    if (k == n)
        return decode_refuse(d, "multisampled textures are not supported");
    if (rows[k].cube && type != PTX_F32)
        return decode_refuse(d, "a cube map is read at a direction of three floats; a "
                                "surface of its faces has layers (.a2d)");
    const struct ptx_operand *v = o->kind == PTX_OPD_VEC ? o->vec : o;
    unsigned have = o->kind == PTX_OPD_VEC ? o->n : 1, at = 0;
    c->dims = rows[k].dims;
    c->cube = rows[k].cube;
    c->ncoords = c->cube ? 3 : c->dims;
    c->layer = REF_NONE;
    for (unsigned i = 0; i < 3; i++)
        c->coord[i] = REF_NONE;
    unsigned want = c->ncoords + rows[k].layers;
    if (have < want)
        return decode_refuse(d, "%u coordinates are needed, %u are given", want, have);
    bool wide = false;
    if (rows[k].layers)
        c->layer = decode_row(d, &v[at++], PTX_U32, &wide);
    if (rows[k].layers && c->layer == REF_NONE)
        return false;
    for (unsigned i = 0; i < c->ncoords && !wide; i++) {
        c->coord[i] = decode_row(d, &v[at++], type, &wide);
        if (c->coord[i] == REF_NONE)
            return false;
    }
    return !wide || decode_refuse(d, "coordinates have 32 bits");
}

static bool
decode_lod(struct decoder *d, struct tex_plan *p, const struct ptx_operand *const *o)
{
    bool wide = false;
    if (p->lod == 1) {
        p->level = decode_row(d, o[0], PTX_F32, &wide);
        return p->level != REF_NONE && (!wide || decode_refuse(d, "a level has 32 bits"));
    }
    for (unsigned g = 0; g < 2; g++)
        for (unsigned k = 0; k < p->ncoords; k++) {
            const struct ptx_operand *v = o[g]->kind == PTX_OPD_VEC ? o[g]->vec : o[g];
            if ((o[g]->kind == PTX_OPD_VEC ? o[g]->n : 1) <= k)
                return decode_refuse(d, "gradients of %u components are needed",
                                     p->ncoords);
            p->grad[g][k] = decode_row(d, &v[k], PTX_F32, &wide);
            if (p->grad[g][k] == REF_NONE || wide)
                return wide && decode_refuse(d, "gradients have 32 bits");
        }
    return true;
}

static bool
dec_tex(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct tex_plan *p = ARENA_NEW(&d->pp->mem, struct tex_plan);
    const struct ptx_operand *dst = &in->ops[0], *t = &in->ops[2];
    p->gather = in->op == PTX_OP_TLD4;
    p->type = in->type[0];
    p->is_float = in->type[1] == PTX_F32;
    if (p->gather)
        p->comp = (uint8_t)(in->mod[PTX_MG_COMP] - PTX_COMP_R);
    if (!decode_handle(d, &t->vec[0], &p->handle, &p->handle_wide))
        return false;
    p->sampler = p->pred = REF_NONE;
    if (t->n == 3 && !decode_handle(d, &t->vec[1], &p->sampler, &p->sampler_wide))
        return false;
    struct tex_coords c;
    if (!decode_geometry(d, &c, &t->vec[t->n - 1], p->is_float ? PTX_F32 : PTX_S32))
        return false;
    if (p->gather && c.dims != 2)
        return decode_refuse(d, "tld4 reads two-dimensional textures");
    p->dims = c.dims;
    p->ncoords = c.ncoords;
    p->cube = c.cube;
    p->layer = c.layer;
    memcpy(p->coord, c.coord, sizeof p->coord);
    p->ndest = (uint8_t)decode_elements(d, dst);
    if (p->ndest > 4)
        return decode_refuse(d, "a texture gives four values");
    for (unsigned k = 0; k < p->ndest; k++) {
        struct ptx_operand element = decode_element(d, dst, k), *o = &element;
        bool wide = false;
        p->dest[k] = REF_NONE;
        if (o->kind == PTX_OPD_SINK)
            continue;
        p->dest[k] = decode_row(d, o, p->type, &wide);
        if (p->dest[k] == REF_NONE || wide)
            return wide && decode_refuse(d, "results have 32 bits");
    }
    if (in->ops[1].kind == PTX_OPD_REG) {
        p->pred = decode_operand(d, &in->ops[1], PTX_PRED);
        if (p->pred == REF_NONE)
            return false;
    }
    /* Behind the texture: level of detail or gradients, offsets, a depth to compare. */
    unsigned lod = in->mod[PTX_MG_TEXLOD] == PTX_TEXLOD_LEVEL  ? 1
                   : in->mod[PTX_MG_TEXLOD] == PTX_TEXLOD_GRAD ? 2
                                                               : 0;
    p->lod = (uint8_t)lod;
    const struct ptx_operand *rest[4];
    unsigned n = 0;
    for (unsigned k = 3; k < in->nops; k++)
        if (in->ops[k].kind != PTX_OPD_NONE)
            rest[n++] = &in->ops[k];
    if (n < lod)
        return decode_refuse(d, "the level of detail is missing");
    if (lod && !decode_lod(d, p, rest))
        return false;
    for (unsigned k = 0; k < 3; k++)
        p->offset[k] = REF_NONE;
    if (n > lod && rest[lod]->kind == PTX_OPD_VEC) {
        const struct ptx_operand *e = rest[lod++];
        for (unsigned k = 0; k < p->dims; k++) {
            bool wide = false;
            if (e->n <= k)
                return decode_refuse(d, "%u offsets are needed", p->dims);
            p->offset[k] = decode_row(d, &e->vec[k], PTX_S32, &wide);
            if (p->offset[k] == REF_NONE || wide)
                return wide && decode_refuse(d, "offsets have 32 bits");
        }
    }
    if (n > lod)
        return decode_refuse(d, "depth textures are not supported");
    p->plain = !p->cube && !p->gather && p->layer == REF_NONE &&
               p->offset[0] == REF_NONE && p->offset[1] == REF_NONE &&
               p->offset[2] == REF_NONE;
    d->out->plan = p;
    d->out->fn = h_tex;
    d->out->form = FORM_MEMORY;
    d->st->is_load = true;
    d->st->space = PTX_SPACE_TEX;
    return true;
}

static bool
dec_query(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    static const uint8_t of_sampler[] = {PTX_QUERY_FORCE, PTX_QUERY_FILTER,
                                         PTX_QUERY_ADDR0, PTX_QUERY_ADDR1,
                                         PTX_QUERY_ADDR2};
    x->sub = in->mod[PTX_MG_QUERY];
    x->aux = in->op == PTX_OP_SUQ ? TEX_SURFACE : TEX_TEXTURE;
    for (size_t i = 0; i < sizeof of_sampler; i++)
        if (x->sub == of_sampler[i] && in->ops[1].var &&
            in->ops[1].var->type == PTX_SAMPLERREF)
            x->aux = TEX_SAMPLER;
    bool wide, handle_wide;
    if (!decode_handle(d, &in->ops[1], &x->s[0], &handle_wide))
        return false;
    x->esize = handle_wide ? 8 : 4;
    x->d[0] = decode_row(d, &in->ops[0], PTX_B32, &wide);
    x->s[1] = REF_NONE;
    if (x->d[0] == REF_NONE)
        return false;
    if (in->nops > 2 && in->ops[2].kind != PTX_OPD_NONE) {
        x->s[1] = decode_row(d, &in->ops[2], PTX_U32, &wide);
        if (x->s[1] == REF_NONE)
            return false;
    }
    x->fn = h_query;
    return true;
}

static bool
dec_istypep(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    bool wide;
    x->aux = in->type[0] == PTX_TEXREF    ? TEX_TEXTURE
             : in->type[0] == PTX_SURFREF ? TEX_SURFACE
                                          : TEX_SAMPLER;
    if (!decode_handle(d, &in->ops[1], &x->s[0], &wide))
        return false;
    x->esize = wide ? 8 : 4;
    x->d[0] = decode_operand(d, &in->ops[0], PTX_PRED);
    x->fn = h_istypep;
    return x->d[0] != REF_NONE;
}

const struct decode_row decode_texture[] = {
    {"tex", dec_tex},         {"tld4", dec_tex},         {"txq", dec_query},
    {"suq", dec_query},       {"istypep", dec_istypep},  {"suld", decode_surface},
    {"sust", decode_surface}, {"sured", decode_surface}, {NULL, NULL},
};
