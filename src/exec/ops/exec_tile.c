/* exec_tile.c: matrices between memory and registers: wmma.load, wmma.store, ldmatrix,
 * stmatrix, and movmatrix, which transposes within the warp.
 *
 * PTX ISA 9.0, 9.7.14.4 (wmma) and 9.7.14.5 (ldmatrix and the others). For the timing
 * model a wmma access is split evenly: lane i accesses the i-th 1/32 of the tile's bytes,
 * in the order in which they lie in memory, whatever the fragment's places are. ldmatrix:
 * the lanes that give the addresses access 16 bytes each. All lanes of the warp take part
 * (.aligned); where some do not, which the ISA leaves undefined, they keep their
 * registers. */
#include "exec/ops/exec_matrix.h"
#include "exec/ops/exec_mem.h"

#include <string.h>

enum { TILE_WMMA, TILE_ROWS };
enum { MAX_TILE = 1024 }; /* bytes */

struct tile_plan {
    uint8_t kind;
    bool store, trans;
    uint8_t num;           /* TILE_ROWS: matrices */
    uint32_t lines, bytes; /* TILE_WMMA: contiguous lines in memory, bytes of each */
    uint32_t stride;       /* row of the leading dimension, in elements */
    bool has_stride, wide_stride, by_columns; /* lines run across the fragment's index */
    uint8_t bits;                             /* of an element in memory */
    struct fragment f;
};

static const struct tile_plan *
plan_of(const struct exec_inst *in)
{
    const struct tile_plan *p;
    memcpy(&p, in->data, sizeof p); /* `off` stands where other instructions have it */
    return p;
}

/* Bytes from one line to the next. */
static uint64_t
line_stride(const struct exec_warp *w, const struct tile_plan *p, unsigned lane)
{
    if (!p->has_stride)
        return p->bytes;
    const void *r = row(w, p->stride);
    uint64_t n =
        p->wide_stride ? ((const uint64_t *)r)[lane] : ((const uint32_t *)r)[lane];
    return n * p->bits / 8;
}

void
tile_access(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_access *x)
{
    const struct tile_plan *p = plan_of(in);
    mem_addresses(w, in, mask, x->addr);
    x->load = !p->store;
    x->store = p->store;
    x->atomic = false;
    x->cache = in->cache;
    x->space = in->space;
    if (p->kind == TILE_WMMA) {
        unsigned lane = (unsigned)bit_lowest(mask);
        uint64_t base = x->addr[lane], stride = line_stride(w, p, lane);
        uint64_t keep = in->flags & IF_WRAP ? UINT32_MAX : UINT64_MAX;
        uint32_t each = p->lines * p->bytes / LANES;
        for (uint32_t i = 0; i < LANES; i++)
            x->addr[i] =
                (base + i * each / p->bytes * stride + i * each % p->bytes) & keep;
        x->bytes = (uint8_t)each;
        x->mask = FULL_MASK;
    } else {
        x->bytes = 16;
        x->mask = p->num == 4 ? FULL_MASK : (1u << 8 * p->num) - 1;
    }
    if (in->space != PTX_SPACE_NONE)
        return;
    unsigned first = PTX_SPACE_NONE;
    FOR_BITS(i, x->mask)
    {
        x->lane_space[i] = (uint8_t)mem_generic_space(&x->addr[i]);
        if (!i)
            first = x->lane_space[0];
        else if (x->lane_space[i] != first)
            first = PTX_SPACE_NONE;
    }
    x->space = (uint8_t)first;
}

/* Checks the access, which must be to global or shared memory; *host is its base. *zone:
 * lanes in the guard of an allocation. */
static enum exec_result
check(struct exec_warp *w, const struct exec_inst *in, const struct exec_access *x,
      uint8_t **host, uint32_t *zone)
{
    *zone = 0;
    if (x->space != PTX_SPACE_GLOBAL && x->space != PTX_SPACE_SHARED)
        return exec_fault(
            w, in, 0, NULL,
            "matrices are loaded from and stored to global or shared memory only");
    FOR_BITS(i, x->mask)
    for (unsigned k = 0; k < x->bytes; k += 16)
        if (!mem_lane_ok(w, x->space, x->addr[i] + k, x->bytes < 16 ? x->bytes : 16)) {
            if (*zone || guard_lanes(w, in, x->mask, x, x->bytes, zone))
                continue;
            return exec_fault_memory(w, in, (unsigned)i, x->space, x->addr[i] + k);
        }
    *host = host_base(w, x->space);
    const struct exec_log *l = w->cta->log;
    if (x->space == PTX_SPACE_GLOBAL && l && l->foot &&
        !exec_foot_lanes(l->foot, x->mask, x->addr, x->bytes,
                         x->store ? FOOT_WRITE : FOOT_READ))
        return EXEC_FAULT;
    return EXEC_OK;
}

static uint64_t
element(const uint8_t *tile, unsigned bits, unsigned i)
{
    uint64_t v;
    switch (bits) {
    case 4:
        return tile[i / 2] >> i % 2 * 4 & 15;
    case 8:
        return tile[i];
    case 16:
        return read_element(tile + 2 * i, 2);
    case 32:
        return read_element(tile + 4 * i, 4);
    default:
        memcpy(&v, tile + 8 * i, 8);
        return v;
    }
}

static void
set_element(uint8_t *tile, unsigned bits, unsigned i, uint64_t v)
{
    if (bits == 4)
        tile[i / 2] =
            (uint8_t)((tile[i / 2] & 0xf0 >> i % 2 * 4) | (v & 15) << i % 2 * 4);
    else
        write_element(tile + (size_t)i * bits / 8, bits / 8, v);
}

/* Place in the tile of the element with this index in the fragment's matrix. */
static unsigned
in_tile(const struct tile_plan *p, unsigned index)
{
    /* The index runs along one dimension first; lines in memory run along the same or the
     * other. */
    unsigned inner = p->by_columns ? p->lines : p->bytes * 8 / p->f.bits;
    return p->by_columns ? index % inner * (p->bytes * 8 / p->f.bits) + index / inner
                         : index;
}

static enum exec_result
h_wmma(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    const struct tile_plan *p = plan_of(in);
    struct exec_access *x = &s->access;
    tile_access(w, in, mask, x);
    s->has_access = true;
    uint8_t *host, tile[MAX_TILE];
    uint32_t zone;
    if (check(w, in, x, &host, &zone) != EXEC_OK)
        return EXEC_FAULT;
    const struct fragment *f = &p->f;
    unsigned n = (unsigned)f->nregs * f->per_reg;
    if (p->store) {
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < n; i++) {
                const void *r = row(w, f->reg[i / f->per_reg]);
                uint64_t v = f->bits == 64 ? ((const uint64_t *)r)[lane]
                                           : ((const uint32_t *)r)[lane] >>
                                                 i % f->per_reg * f->bits;
                set_element(tile, f->bits, in_tile(p, f->at[lane * n + i]), v);
            }
        for (unsigned i = 0; i < LANES; i++)
            if (zone >> i & 1)
                guard_store(w->cta->grid->mem, x->addr[i], tile + i * x->bytes, x->bytes);
            else
                memcpy(host + x->addr[i], tile + i * x->bytes, x->bytes);
        return EXEC_OK;
    }
    for (unsigned i = 0; i < LANES; i++)
        if (zone >> i & 1)
            guard_copy(w->cta->grid->mem, x->addr[i], tile + i * x->bytes, x->bytes);
        else
            memcpy(tile + i * x->bytes, host + x->addr[i], x->bytes);
    FOR_BITS(lane, mask)
    for (unsigned k = 0; k < f->nregs; k++) {
        uint64_t v = 0;
        for (unsigned j = 0; j < f->per_reg; j++)
            v |= element(tile, f->bits,
                         in_tile(p, f->at[(unsigned)lane * n + k * f->per_reg + j]))
                 << j * f->bits % 64;
        if (f->bits == 64)
            ((uint64_t *)row(w, f->reg[k]))[lane] = v;
        else
            ((uint32_t *)row(w, f->reg[k]))[lane] = (uint32_t)v;
    }
    return EXEC_OK;
}

/* An 8 by 8 matrix of 16 bits in one register of every lane: lane i holds elements 2 * (i
 * % 4) and the next of row i / 4. Rows are 16 bytes. */
static uint32_t
take(const uint8_t m[8][16], unsigned lane, bool trans)
{
    unsigned a = lane / 4, b = lane % 4 * 2;
    if (!trans)
        return (uint32_t)read_element(m[a] + 2 * b, 4);
    return (uint32_t)(read_element(m[b] + 2 * a, 2) | read_element(m[b + 1] + 2 * a, 2)
                                                          << 16);
}

static void
put(uint8_t m[8][16], unsigned lane, bool trans, uint32_t v)
{
    unsigned a = lane / 4, b = lane % 4 * 2;
    if (!trans) {
        write_element(m[a] + 2 * b, 4, v);
    } else {
        write_element(m[b] + 2 * a, 2, v);
        write_element(m[b + 1] + 2 * a, 2, v >> 16);
    }
}

static enum exec_result
h_rows(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    const struct tile_plan *p = plan_of(in);
    struct exec_access *x = &s->access;
    tile_access(w, in, mask, x);
    s->has_access = true;
    uint8_t *host, m[8][16];
    uint32_t zone;
    if (check(w, in, x, &host, &zone) != EXEC_OK)
        return EXEC_FAULT;
    /* Registers are written after all rows are read: the address may be one of them. */
    uint32_t v[4][LANES];
    for (unsigned k = 0; k < p->num; k++) {
        uint32_t *r = row(w, p->f.reg[k]);
        if (p->store) {
            for (unsigned i = 0; i < LANES; i++)
                put(m, i, p->trans, r[i]);
            for (unsigned i = 0; i < 8; i++)
                memcpy(host + x->addr[8 * k + i], m[i], 16);
            continue;
        }
        for (unsigned i = 0; i < 8; i++)
            memcpy(m[i], host + x->addr[8 * k + i], 16);
        for (unsigned i = 0; i < LANES; i++)
            v[k][i] = take((const uint8_t(*)[16])m, i, p->trans);
    }
    for (unsigned k = 0; k < p->num && !p->store; k++) {
        uint32_t *r = row(w, p->f.reg[k]);
        FOR_BITS(i, mask)
        r[i] = v[k][i];
    }
    return EXEC_OK;
}

static enum exec_result
h_movmatrix(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    (void)s;
    uint8_t m[8][16];
    const uint32_t *a = row(w, in->s[0]);
    uint32_t *d = row(w, in->d[0]);
    for (unsigned i = 0; i < LANES; i++)
        put(m, i, false, a[i]);
    FOR_BITS(i, mask)
    d[i] = take((const uint8_t(*)[16])m, (unsigned)i, true);
    return EXEC_OK;
}

/* -- decoding -- */

static bool
finish(struct decoder *d, struct tile_plan *p, const struct ptx_operand *address,
       exec_fn *fn)
{
    struct exec_inst *x = d->out;
    x->esize = 4;
    x->nvec = 4;
    if (!decode_address(d, address, ptx_inst_space(d->in)))
        return false;
    if (x->flags & (IF_FUNC_PARAM | IF_FRAME) ||
        (x->space != PTX_SPACE_NONE && x->space != PTX_SPACE_GLOBAL &&
         x->space != PTX_SPACE_SHARED))
        return decode_refuse(d, "matrices lie in global or shared memory");
    memcpy(x->data, &p, sizeof p);
    x->flags |= IF_ACCESS | IF_TILE;
    x->kind = p->store ? MEM_STORE : MEM_LOAD;
    x->slot = d->pp->nslots++;
    x->fn = fn;
    d->st->is_load = !p->store;
    d->st->is_store = p->store;
    d->st->space = x->space;
    return true;
}

/* The number of rows and columns, and type, which wmma.load and wmma.store know. */
static bool
legal_wmma(unsigned shape, unsigned type, enum matrix_operand which)
{
    bool acc = which == MAT_C;
    switch (shape) {
    case PTX_SHAPE_M16N16K16:
    case PTX_SHAPE_M32N8K16:
    case PTX_SHAPE_M8N32K16:
        return acc ? type == PTX_F16 || type == PTX_F32 || type == PTX_S32
                   : type == PTX_F16 || type == PTX_BF16 || type == PTX_S8 ||
                         type == PTX_U8;
    case PTX_SHAPE_M16N16K8:
        return type == (acc ? PTX_F32 : PTX_TF32);
    case PTX_SHAPE_M8N8K4:
        return type == PTX_F64;
    case PTX_SHAPE_M8N8K32:
        return acc ? type == PTX_S32 : type == PTX_S4 || type == PTX_U4;
    case PTX_SHAPE_M8N8K128:
        return type == (acc ? PTX_S32 : PTX_B1);
    default:
        return false;
    }
}

static bool
dec_wmma_memory(struct decoder *d, bool store)
{
    const struct ptx_inst *in = d->in;
    unsigned type = in->type[0], mat = in->mod[PTX_MG_MATRIX];
    enum matrix_operand which = mat == PTX_MATRIX_A   ? MAT_A
                                : mat == PTX_MATRIX_B ? MAT_B
                                                      : MAT_C;
    const struct matrix_shape *s = matrix_shape(in->mod[PTX_MG_SHAPE]);
    if (store ? mat != PTX_MATRIX_D : mat == PTX_MATRIX_D)
        return decode_refuse(d, "wmma.load loads a, b or c, wmma.store stores d");
    if (!s || !legal_wmma(s->mod, type, which))
        return decode_refuse(d, "there is no such shape with this type");
    if (!in->mod[PTX_MG_LAYOUT])
        return decode_refuse(d, "the layout is missing: .row or .col");
    bool col = in->mod[PTX_MG_LAYOUT] == PTX_LAYOUT_COL;
    if (matrix_bits(type) < 8 && col != (which == MAT_B))
        return decode_refuse(d, "elements of less than a byte: a is .row, b is .col");
    struct tile_plan *p = ARENA_NEW(&d->pp->mem, struct tile_plan);
    p->kind = TILE_WMMA;
    p->store = store;
    if (!matrix_fragment(d, &p->f, &in->ops[store], s, which, type, true, false))
        return false;
    p->bits = (uint8_t)matrix_bits(type);
    /* B's index runs along its columns. */
    unsigned along = which == MAT_B ? p->f.rows : p->f.cols,
             across = which == MAT_B ? p->f.cols : p->f.rows;
    p->by_columns = col != (which == MAT_B);
    p->lines = p->by_columns ? along : across;
    p->bytes = (p->by_columns ? across : along) * p->f.bits / 8;
    const struct ptx_operand *stride = &in->ops[2];
    if (stride->kind != PTX_OPD_NONE) {
        p->has_stride = true;
        p->stride = decode_row(d, stride, PTX_U32, &p->wide_stride);
        if (p->stride == REF_NONE)
            return false;
    }
    return finish(d, p, &in->ops[store ? 0 : 1], h_wmma);
}

static bool
dec_rows(struct decoder *d, bool store)
{
    const struct ptx_inst *in = d->in;
    const struct ptx_operand *list = &in->ops[store];
    struct tile_plan *p = ARENA_NEW(&d->pp->mem, struct tile_plan);
    unsigned num = in->mod[PTX_MG_NUM];
    p->kind = TILE_ROWS;
    p->store = store;
    p->trans = in->mod[PTX_MG_TRANS];
    p->num = num == PTX_NUM_X1 ? 1 : num == PTX_NUM_X2 ? 2 : num == PTX_NUM_X4 ? 4 : 0;
    unsigned have = list->kind == PTX_OPD_VEC ? list->n : 1;
    if (in->mod[PTX_MG_SHAPE] != PTX_SHAPE_M8N8 || !p->num)
        return decode_refuse(
            d, "this form is not supported: it is .m8n8 with .x1 .x2 or .x4");
    if (have != p->num)
        return decode_refuse(d, "%u registers are needed, not %u", p->num, have);
    for (unsigned i = 0; i < have; i++) {
        p->f.reg[i] =
            decode_operand(d, list->kind == PTX_OPD_VEC ? &list->vec[i] : list, PTX_B32);
        if (p->f.reg[i] == REF_NONE)
            return false;
    }
    if (!finish(d, p, &in->ops[store ? 0 : 1], h_rows))
        return false;
    return d->out->space != PTX_SPACE_GLOBAL ||
           decode_refuse(d, "only matrices in shared memory can be accessed so");
}

bool
decode_wmma_load(struct decoder *d)
{
    return dec_wmma_memory(d, false);
}

bool
decode_wmma_store(struct decoder *d)
{
    return dec_wmma_memory(d, true);
}

static bool
dec_ldmatrix(struct decoder *d)
{
    return dec_rows(d, false);
}

static bool
dec_stmatrix(struct decoder *d)
{
    return dec_rows(d, true);
}

static bool
dec_movmatrix(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    if (in->mod[PTX_MG_SHAPE] != PTX_SHAPE_M8N8 || !in->mod[PTX_MG_TRANS])
        return decode_refuse(d, "movmatrix is .m8n8.trans");
    d->out->d[0] = decode_operand(d, &in->ops[0], PTX_B32);
    d->out->s[0] = decode_operand(d, &in->ops[1], PTX_B32);
    d->out->fn = h_movmatrix;
    return d->out->d[0] != REF_NONE && d->out->s[0] != REF_NONE;
}

const struct decode_row decode_tile[] = {
    {"ldmatrix", dec_ldmatrix},
    {"stmatrix", dec_stmatrix},
    {"movmatrix", dec_movmatrix},
    {NULL, NULL},
};
