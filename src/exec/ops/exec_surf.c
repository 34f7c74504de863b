/* exec_surf.c: surfaces: suld, sust, sured (PTX ISA 9.7.11).
 *
 * The .b forms move bytes: their first coordinate counts bytes. The .p forms move whole
 * texels, converted between 32-bit values and the surface's format. Outside the surface:
 * .trap ends the kernel, .clamp goes to the nearest place inside, .zero reads 0 and
 * writes nothing. The timing model sees loads and stores of global memory. */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"
#include "exec/lanes/fp.h"
#include "exec/memory/texture.h"

#include <string.h>

struct surf_plan {
    struct tex_coords c;
    uint32_t handle;
    bool handle_wide, formatted;
    uint16_t clamp; /* enum ptx_mod */
};

static int64_t
coordinate(const struct exec_warp *w, uint32_t ref, unsigned lane)
{
    return ref == REF_NONE ? 0 : ((const int32_t *)row(w, ref))[lane];
}

/* Where the lane's bytes lie; 0: nowhere (.zero), with *fault set for .trap. */
static uint64_t
locate(const struct exec_warp *w, const struct surf_plan *p, const struct tex_image *im,
       unsigned bytes, unsigned lane, int64_t at[3], bool *fault)
{
    int64_t unit = p->formatted ? im->texel : 1;
    at[0] = coordinate(w, p->c.coord[0], lane) * unit;
    at[1] = coordinate(w, p->c.coord[1], lane);
    at[2] = coordinate(w, p->c.layer != REF_NONE ? p->c.layer : p->c.coord[2], lane);
    int64_t most[3] = {(int64_t)im->width * im->texel - bytes, im->height - 1,
                       (im->layers ? im->layers : im->depth) - 1};
    for (int d = 0; d < 3; d++) {
        if (at[d] >= 0 && at[d] <= most[d])
            continue;
        *fault = p->clamp == PTX_SUCLAMP_TRAP;
        if (p->clamp != PTX_SUCLAMP_CLAMP || most[d] < 0)
            return 0;
        at[d] = at[d] < 0 ? 0 : most[d];
    }
    uint64_t x = (uint64_t)at[0];
    return tex_address(im, (uint32_t)(x / im->texel), (uint32_t)at[1], (uint32_t)at[2]) +
           x % im->texel;
}

/* One channel as the 32-bit value that stands for it, and back. */
static uint32_t
unformat(const uint8_t *p, const struct allot_format *f)
{
    uint32_t v = (uint32_t)read_element(p, f->bits / 8);
    if (f->kind == ALLOT_FLOAT && f->bits == 16) {
        float x = fp_from_half((uint16_t)v);
        memcpy(&v, &x, 4);
    } else if (f->kind == ALLOT_SIGNED) {
        v = (uint32_t)extend(v, f->bits / 8, true);
    }
    return v;
}

static void
format(uint8_t *p, const struct allot_format *f, uint32_t v)
{
    if (f->kind == ALLOT_FLOAT && f->bits == 16) {
        float x;
        memcpy(&x, &v, 4);
        v = fp_soft_to_half(x, FP_RN);
    }
    write_element(p, f->bits / 8, v);
}

/* One lane at host address h (NULL: nothing there). v: elements read. */
static void
transfer(struct exec_warp *w, const struct exec_inst *in, const struct surf_plan *p,
         const struct allot_format *f, uint8_t *h, unsigned lane, uint64_t v[4])
{
    for (unsigned e = 0; e < in->nvec; e++) {
        bool there = h && (!p->formatted || e < f->channels);
        unsigned step = p->formatted ? f->bits / 8 : in->esize;
        uint8_t *q = h + e * step;
        if (in->kind == MEM_LOAD) {
            v[e] = !there         ? 0
                   : p->formatted ? unformat(q, f)
                                  : read_element(q, in->esize);
        } else if (there) {
            uint64_t x = mem_data_lane(w, in, e, lane);
            if (in->kind == MEM_ATOMIC) {
                uint64_t keep =
                    in->esize == 8 ? ~(uint64_t)0 : ((uint64_t)1 << in->esize * 8) - 1;
                uint64_t old = read_element(q, in->esize);
                x = mem_atom_value(in, PTX_SPACE_GLOBAL, old, x & keep, 0);
                write_element(q, in->esize, x);
            } else if (p->formatted) {
                format(q, f, (uint32_t)x);
            } else {
                write_element(q, in->esize, x);
            }
        }
    }
}

static enum exec_result
h_surface(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    const struct surf_plan *p = in->plan;
    struct exec_access *x = &s->access;
    const struct tex_object *o = NULL;
    uint64_t last = 0, v[4][LANES] = {{0}};
    uint32_t there = 0;
    FOR_BITS(lane, mask)
    {
        unsigned i = (unsigned)lane;
        const void *hr = row(w, p->handle);
        uint64_t handle =
            p->handle_wide ? ((const uint64_t *)hr)[i] : ((const uint32_t *)hr)[i];
        if (!o || handle != last) {
            o = tex_object_of(w, in, i, handle, TEX_SURFACE);
            if (!o)
                return EXEC_FAULT;
            last = handle;
            if (o->image.dims != p->c.dims ||
                !o->image.layers != (p->c.layer == REF_NONE))
                return exec_fault(w, in, i, NULL,
                                  "the surface has %u dimensions%s, the instruction %u%s",
                                  o->image.dims, o->image.layers ? " and layers" : "",
                                  p->c.dims, p->c.layer != REF_NONE ? " and layers" : "");
        }
        const struct tex_image *im = &o->image;
        unsigned bytes = p->formatted && in->kind != MEM_ATOMIC
                             ? im->texel
                             : (unsigned)in->esize * in->nvec;
        int64_t at[3];
        bool trap = false;
        uint64_t a = locate(w, p, im, bytes, i, at, &trap);
        if (trap)
            return exec_fault(
                w, in, i, "the first coordinate of the .b forms counts bytes",
                "surface access of %u bytes at (%lld,%lld,%lld), x in bytes, is "
                "outside the surface of %llu x %u x %u",
                bytes, (long long)at[0], (long long)at[1], (long long)at[2],
                (unsigned long long)im->width * im->texel, im->height,
                im->layers ? im->layers : im->depth);
        if (a % (bytes < 16 ? bytes : 16))
            return exec_fault(
                w, in, i, NULL,
                "surface access of %u bytes at byte %lld of a row is misaligned", bytes,
                (long long)at[0]);
        uint64_t one[4];
        transfer(w, in, p, &im->format, a ? dev_host(w->cta->grid->mem, a) : NULL, i,
                 one);
        for (unsigned e = 0; e < in->nvec && in->kind == MEM_LOAD; e++)
            v[e][i] = one[e];
        if (a) {
            there |= 1u << i;
            x->addr[i] = a;
            x->bytes = (uint8_t)bytes;
        }
    }
    for (unsigned e = 0; e < in->nvec && in->kind == MEM_LOAD; e++)
        mem_put_element(w, in, e, mask, v[e]);
    x->space = PTX_SPACE_GLOBAL;
    x->load = in->kind == MEM_LOAD;
    x->store = in->kind == MEM_STORE;
    x->atomic = in->kind == MEM_ATOMIC;
    x->cache = in->cache;
    x->mask = there;
    x->list = NULL;
    s->has_access = true;
    return EXEC_OK;
}

bool
decode_surface(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    struct surf_plan *p = ARENA_NEW(&d->pp->mem, struct surf_plan);
    bool load = in->op == PTX_OP_SULD, red = in->op == PTX_OP_SURED;
    d->p->in_order = d->p->in_turn = true;
    const struct ptx_operand *t = &in->ops[load ? 1 : 0], *data = &in->ops[load ? 0 : 1];
    unsigned type = in->type[0];
    p->formatted = in->mod[PTX_MG_SUFORM] == PTX_SUFORM_P;
    p->clamp = in->mod[PTX_MG_SUCLAMP];
    if (t->n != 2)
        return decode_refuse(d, "a surface takes no sampler");
    if (!decode_handle(d, &t->vec[0], &p->handle, &p->handle_wide) ||
        !decode_geometry(d, &p->c, &t->vec[1], PTX_S32))
        return false;
    x->esize = ptx_type_bytes(type);
    x->type = (uint8_t)type;
    x->nvec = (uint8_t)decode_elements(d, data);
    x->kind = load ? MEM_LOAD : red ? MEM_ATOMIC : MEM_STORE;
    if (x->nvec > 4 || (unsigned)x->esize * x->nvec > 16)
        return decode_refuse(d, "a surface access has at most 16 bytes");
    if (p->formatted && !red && x->esize != 4)
        return decode_refuse(d, "the .p form moves 32-bit values");
    if (ptx_types[type].kind == PTX_K_SINT)
        x->flags |= IF_SIGNED;
    if (red) {
        int op = decode_atom_op(in);
        if (op != AT_ADD && op != AT_MIN && op != AT_MAX && op != AT_AND && op != AT_OR)
            return decode_refuse(d, "surface reductions are add, min, max, and, or");
        x->sub = (uint8_t)op;
    }
    for (unsigned e = 0; e < x->nvec; e++) {
        struct ptx_operand one = decode_element(d, data, e);
        if (!decode_data(d, e, &one, type, load))
            return false;
    }
    x->plan = p;
    x->fn = h_surface;
    d->st->is_load = load;
    d->st->is_store = !load && !red;
    d->st->is_atomic = red;
    d->st->space = PTX_SPACE_GLOBAL;
    return true;
}
