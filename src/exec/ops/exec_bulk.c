/* exec_bulk.c: bulk and tensor copies, st.async, red.async, changes of tensor maps (PTX ISA
 * 9.0, 9.7.9.25.4 to 9.7.9.28, 9.7.9.12, 9.7.13.15).
 *
 * Each thread that executes such an instruction begins a transfer. Its values are there at
 * once, and so is the completion at an mbarrier; under the timing model (the block has a clock)
 * only the values are, and the step tells of the transfers (exec_step.jobs), which
 * exec_job_complete ends at each destination. So the values of a program that does not wait
 * are not those of a card; nor are they there.
 *
 * A tensor copy goes through its box row by row. A row is what lies along dimension 0, and
 * its bytes are dense on both sides:
 *
 *     box 8 x 3 of a 2-D array of f16, at (x, y)      scratchpad
 *     row 0: a[y][x] ... a[y][x + 7]                  +0   to +15
 *     row 1: a[y + 1][x] ...                          +16  to +31
 *     row 2: a[y + 2][x] ... beyond the last row: 0   +32  to +47
 *
 * With a swizzle the rows lie as far apart as what is swizzled is wide (32, 64, 128 bytes), and
 * the bits 4 to 6 of an address in the scratchpad are changed by its bits 7 to 9: all three
 * (128 bytes), two (64) or one (32 bytes). */
#include "exec/exec_int.h"
#include "exec/lanes/fp.h"
#include "exec/memory/exec_foot.h"
#include "exec/memory/tensor_map.h"
#include "exec/ops/exec_mem.h"

#include <string.h>

enum bulk_op {
    BULK_LOAD,     /* global to scratchpads */
    BULK_SHARED,   /* scratchpad to a scratchpad of the cluster */
    BULK_STORE,    /* scratchpad to global */
    BULK_PREFETCH, /* global to the L2 */
    BULK_REGISTERS /* st.async, red.async */
};

struct bulk_plan {
    struct exec_inst to, from,
        bar;                /* addresses; of a tensor copy the map's is the global one */
    struct exec_inst value; /* BULK_REGISTERS: data rows, esize, nvec */
    struct exec_inst
        reduce;          /* sub, type, esize: what it combines with; esize 0: copies */
    uint32_t size, mask; /* rows; REF_NONE: none */
    uint32_t coord[TENSOR_MAP_RANK];
    uint8_t op, dims; /* enum bulk_op; of a tensor copy */
    bool own;         /* the destination is the own scratchpad (.shared::cta) */
    const char *name;
};

/* A transfer of one lane. */
struct transfer {
    struct exec_warp *w;
    const struct exec_inst *in;
    const struct bulk_plan *p;
    unsigned lane;
    struct exec_cta
        *dst[EXEC_CLUSTER_BLOCKS]; /* blocks whose scratchpad is written or read */
    unsigned ndst;
    uint64_t at, bar; /* places in it */
    uint16_t ranks;
    struct exec_job job;
};

bool
exec_job_complete(struct exec_cta *c, const struct exec_job *j)
{
    return exec_mbarrier_complete(c, j->mbarrier, j->bytes);
}

/* -- addresses -- */

static uint64_t
address_of(const struct exec_warp *w, const struct exec_inst *x, unsigned lane)
{
    uint64_t a[LANES];
    mem_addresses(w, x, 1u << lane, a);
    return a[lane];
}

/* A place of shared memory as the lane names it: the block, and where in its scratchpad. NULL
 * after a fault. */
static struct exec_cta *
shared_place(struct transfer *t, const struct exec_inst *x, const char *what,
             uint64_t bytes, unsigned align, uint64_t *at)
{
    uint64_t a = address_of(t->w, x, t->lane);
    if (x->space == PTX_SPACE_NONE && mem_generic_space(&a) != PTX_SPACE_SHARED) {
        exec_fault(t->w, t->in, t->lane, NULL, "%s: %s is not in shared memory",
                   t->p->name, what);
        return NULL;
    }
    struct exec_cta *c = exec_shared_owner(t->w, a, at);
    const char *why = !c ? "the cluster has no block of that rank"
                      : c != t->w->cta && !c->live_warps
                          ? "that block of the cluster has ended"
                      : *at % align ? "it is not aligned"
                      : bytes > c->shared_bytes || *at > c->shared_bytes - bytes
                          ? "it lies outside of the block's scratchpad"
                          : NULL;
    if (!why)
        return c;
    exec_fault(t->w, t->in, t->lane, NULL,
               "%s: %s, %llu bytes at byte %llu of shared memory (alignment %u): %s",
               t->p->name, what, (unsigned long long)bytes,
               (unsigned long long)(c ? *at : a), align, why);
    t->w->cta->failure = ALLOT_FAULT_ADDRESS;
    return NULL;
}

/* Bytes of global memory, which are noted for host threads and for the timing model; NULL
 * after a fault, or where they must not be touched. */
static uint8_t *
global_place(struct transfer *t, uint64_t addr, uint64_t bytes, bool writes)
{
    struct exec_cta *c = t->w->cta;
    struct dev_mem *m = c->grid->mem;
    struct dev_range r;
    const struct exec_log *log = c->log;
    if (!dev_find(m, addr, &r) || r.dead || bytes > r.size ||
        addr - r.addr > r.size - bytes) {
        struct strbuf near = {0};
        exec_fault_near(c->grid, addr, bytes, &near);
        exec_fault(t->w, t->in, t->lane, NULL, "%s: %s of %llu bytes at 0x%llx: %s",
                   t->p->name, writes ? "write" : "read", (unsigned long long)bytes,
                   (unsigned long long)addr, near.s ? near.s : "");
        strbuf_free(&near);
        c->failure = ALLOT_FAULT_ADDRESS;
        return NULL;
    }
    const enum foot_kind kind = !writes              ? FOOT_READ
                                : t->p->reduce.esize ? FOOT_READ | FOOT_WRITE
                                                     : FOOT_WRITE;
    if (log && log->foot && !exec_foot_range(log->foot, addr, bytes, kind))
        return NULL;
    if (writes)
        dev_mark_written(m, addr, bytes);
    if (c->clock) {
        *vec_push(&c->ex->spans) = (struct exec_span){addr, (uint32_t)bytes};
        t->job.nspans++;
    }
    return dev_host(m, addr);
}

/* -- reductions -- */

static float
half_value(unsigned type, uint64_t v)
{
    if (type == PTX_F16)
        return fp_from_half((uint16_t)v);
    uint32_t b = (uint32_t)(v << 16);
    float f;
    memcpy(&f, &b, 4);
    return f;
}

/* What element `old` and what comes make. */
static uint64_t
combine(const struct exec_inst *r, uint64_t old, uint64_t v)
{
    const bool half = r->type == PTX_F16 || r->type == PTX_BF16;
    if (!half || (r->sub != AT_MIN && r->sub != AT_MAX))
        return mem_atom_value(r, PTX_SPACE_GLOBAL, old, v, 0);
    const float a = half_value(r->type, old), b = half_value(r->type, v);
    if (a != a || b != b)
        return a == a   ? old
               : b == b ? v
                        : 0x7fff; /* the number; of two NaN the canonical one */
    if (a == b)                   /* -0 is less than +0 */
        return r->sub == AT_MIN ? old | v : old & v;
    return (a < b) == (r->sub == AT_MIN) ? old : v;
}

/* Bytes to `to`, or combined with those that are there. */
static void
put(const struct exec_inst *r, uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    if (!r->esize) {
        memmove(to, from, bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes; i += r->esize)
        write_element(
            to + i, r->esize,
            combine(r, read_element(to + i, r->esize), read_element(from + i, r->esize)));
}

/* -- the ends of a transfer -- */

/* The scratchpads that it goes to, by the address and the mask of blocks, and their mbarriers. */
static bool
destinations(struct transfer *t, uint64_t bytes, unsigned align)
{
    const struct bulk_plan *p = t->p;
    struct exec_warp *w = t->w;
    struct exec_cta *c = shared_place(t, &p->to, "the destination", bytes, align, &t->at),
                    *b = c ? shared_place(t, &p->bar, "the mbarrier", 8, 8, &t->bar)
                           : NULL;
    if (!b)
        return false;
    if (p->own && c != w->cta) {
        exec_fault(w, t->in, t->lane, NULL,
                   "%s: the destination is not in the block's own scratchpad", p->name);
        return false;
    }
    if (p->mask == REF_NONE) {
        if (b != c) {
            exec_fault(w, t->in, t->lane, NULL,
                       "%s: the mbarrier is not in the block of the destination",
                       p->name);
            return false;
        }
        t->dst[t->ndst++] = c;
        t->ranks = (uint16_t)(1u << c->rank);
        return true;
    }
    const uint32_t mask =
        (uint32_t)mem_data_lane(w, &(struct exec_inst){.data = {p->mask}}, 0, t->lane) &
        0xffff;
    const struct exec_cluster *k = w->cta->cluster;
    t->ranks = (uint16_t)mask;
    FOR_BITS(r, mask)
    {
        struct exec_cta *d = !k                   ? (r ? NULL : w->cta)
                             : (uint32_t)r < k->n ? k->cta[r]
                                                  : NULL;
        if (!d || !d->live_warps) {
            exec_fault(w, t->in, t->lane, NULL,
                       d ? "%s: multicast to rank %d, whose block has ended"
                         : "%s: multicast to rank %d, which the cluster does not have",
                       p->name, (int)r);
            return false;
        }
        t->dst[t->ndst++] = d;
    }
    return true;
}

/* All of it is there. False after a fault. */
static bool
complete(struct transfer *t, unsigned kind, uint64_t tx)
{
    struct exec_cta *c = t->w->cta;
    t->job.kind = (uint8_t)kind;
    t->job.reduces = t->p->reduce.esize;
    t->job.registers = t->p->op == BULK_REGISTERS;
    t->job.ranks = t->ranks;
    t->job.bytes = (uint32_t)tx;
    t->job.mbarrier = t->bar;
    if (c->clock) {
        *vec_push(&c->ex->jobs) = t->job;
        return true;
    }
    for (unsigned i = 0; i < t->ndst && kind != EXEC_JOB_STORE; i++)
        if (!exec_job_complete(t->dst[i], &t->job)) {
            exec_fault(t->w, t->in, t->lane,
                       "was it initialised, and are bytes expected?",
                       "%s: %llu bytes are more than its mbarrier counts", t->p->name,
                       (unsigned long long)tx);
            return false;
        }
    return true;
}

/* -- bulk copies -- */

static bool
copy_bytes(struct transfer *t)
{
    const struct bulk_plan *p = t->p;
    struct exec_warp *w = t->w;
    const uint32_t size = ((const uint32_t *)row(w, p->size))[t->lane];
    if (size % 16) {
        exec_fault(w, t->in, t->lane, NULL,
                   "%s of %u bytes: the size is a multiple of 16", p->name, size);
        return false;
    }
    if (p->op == BULK_LOAD || p->op == BULK_PREFETCH) {
        const uint64_t from = address_of(w, &p->from, t->lane);
        if (from % 16) {
            exec_fault(w, t->in, t->lane, NULL, "%s from 0x%llx: no multiple of 16",
                       p->name, (unsigned long long)from);
            return false;
        }
        if (p->op == BULK_LOAD && !destinations(t, size, 16))
            return false;
        const uint8_t *src = size ? global_place(t, from, size, false) : (uint8_t *)"";
        for (unsigned i = 0; src && i < t->ndst; i++)
            put(&p->reduce, t->dst[i]->shared + t->at, src, size);
        return src && (p->op == BULK_LOAD ? complete(t, EXEC_JOB_LOAD, size)
                                          : complete(t, EXEC_JOB_PREFETCH, 0));
    }
    uint64_t at;
    const struct exec_cta *c = shared_place(t, &p->from, "the source", size, 16, &at);
    if (!c)
        return false;
    if (c != w->cta) {
        exec_fault(w, t->in, t->lane, NULL,
                   "%s: the source is not in the block's own scratchpad", p->name);
        return false;
    }
    if (p->op == BULK_SHARED) {
        if (!destinations(t, size, 16))
            return false;
        put(&p->reduce, t->dst[0]->shared + t->at, c->shared + at, size);
        return complete(t, EXEC_JOB_SHARED, size);
    }
    const uint64_t to = address_of(w, &p->to, t->lane);
    if (to % 16) {
        exec_fault(w, t->in, t->lane, NULL, "%s to 0x%llx: no multiple of 16", p->name,
                   (unsigned long long)to);
        return false;
    }
    uint8_t *dst = size ? global_place(t, to, size, true) : (uint8_t *)"";
    if (dst && size)
        put(&p->reduce, dst, c->shared + at, size);
    return dst && complete(t, EXEC_JOB_STORE, size);
}

/* st.async, red.async: registers to a scratchpad. */
static bool
copy_registers(struct transfer *t)
{
    const struct bulk_plan *p = t->p;
    const unsigned bytes = p->value.esize * p->value.nvec;
    uint8_t v[32];
    if (!destinations(t, bytes, bytes))
        return false;
    for (unsigned e = 0; e < p->value.nvec; e++)
        write_element(v + e * p->value.esize, p->value.esize,
                      mem_data_lane(t->w, &p->value, e, t->lane));
    put(&p->reduce, t->dst[0]->shared + t->at, v, bytes);
    return complete(t, EXEC_JOB_SHARED, bytes);
}

/* -- tensor copies -- */

/* Where a byte of the box lies in the scratchpad (the scratchpad's own address at + off). */
static uint64_t
swizzled(const struct tensor_map *m, uint64_t addr)
{
    const unsigned bits = m->swizzle;
    return bits ? addr ^ ((addr >> 7 & ((1u << bits) - 1)) << 4) : addr;
}

/* The map of the lane; false after a fault. */
static bool
read_map(struct transfer *t, const struct exec_inst *x, struct tensor_map *m)
{
    uint8_t bytes[TENSOR_MAP_BYTES];
    const uint64_t a = address_of(t->w, x, t->lane);
    const char *why = NULL;
    if (!mem_read_generic(t->w, t->lane, a, bytes, sizeof bytes))
        why = "the address is not allowed";
    else if (a % 64)
        why = "it is not aligned to 64 bytes";
    else if (!tensor_map_decode(bytes, m))
        why = "there is none; cuTensorMapEncodeTiled makes them";
    else if ((why = tensor_map_wrong(m)) == NULL && m->rank != t->p->dims)
        why = "its rank is not that of the instruction";
    if (why)
        exec_fault(t->w, t->in, t->lane, NULL, "%s: tensor map at 0x%llx: %s", t->p->name,
                   (unsigned long long)a, why);
    return !why;
}

/* What stands for an element out of bounds. */
static uint64_t
fill_of(const struct tensor_map *m)
{
    if (!m->fill_nan)
        return 0;
    return m->type == TENSOR_MAP_F64 ? 0x7fffffffffffffffull
           : m->type == TENSOR_MAP_F16 || m->type == TENSOR_MAP_BF16 ? 0x7fff
                                                                     : 0x7fffffff;
}

/* An element of f32 as the map's type has it. */
static uint32_t
converted(unsigned type, uint32_t v)
{
    const bool ftz = type == TENSOR_MAP_F32_FTZ || type == TENSOR_MAP_TF32_FTZ;
    if (ftz && !(v & 0x7f800000))
        v &= 0x80000000;
    if ((type == TENSOR_MAP_TF32 || type == TENSOR_MAP_TF32_FTZ) &&
        (v & 0x7f800000) != 0x7f800000)
        v = (v + 0x1000) &
            ~0x1fffu; /* to nearest, ties away from zero, as cvt.rna.tf32 */
    return v;
}

/* A row of the box: elements along dimension 0, of which those from `first` up to `last` are
 * in bounds. */
struct box_row {
    uint64_t global; /* of the first element, in bounds or not */
    unsigned first, last;
};

/* Row number n of the box at coordinates c, dimension 1 first. */
static struct box_row
row_of(const struct tensor_map *m, const int64_t *c, uint64_t n)
{
    const unsigned bytes = tensor_map_bytes(m->type), box = m->box[0];
    struct box_row r = {m->address + (uint64_t)c[0] * bytes, 0, box};
    for (unsigned d = 1; d < m->rank; d++) {
        const unsigned many = (m->box[d] + m->step[d] - 1u) / m->step[d];
        const int64_t i = c[d] + (int64_t)(n % many * m->step[d]);
        n /= many;
        r.global += (uint64_t)i * m->stride[d - 1];
        if (i < 0 || (uint64_t)i >= m->dim[d])
            r.last = 0;
    }
    const int64_t end = (int64_t)m->dim[0] - c[0];
    if (c[0] < 0)
        r.first = -c[0] < (int64_t)box ? (unsigned)-c[0] : box;
    if (end < (int64_t)r.last)
        r.last = end < 0 ? 0 : (unsigned)end;
    if (r.first > r.last)
        r.first = r.last;
    return r;
}

/* A row of `bytes` between buffer and scratchpad, in the parts that a swizzle leaves together. */
static void
row_parts(const struct tensor_map *m, uint8_t *shared, uint64_t at, uint8_t *buffer,
          unsigned bytes, bool load)
{
    if (!m->swizzle) {
        memcpy(load ? shared + at : buffer, load ? buffer : shared + at, bytes);
        return;
    }
    for (unsigned i = 0; i < bytes; i += 16) {
        uint8_t *s = shared + swizzled(m, at + i);
        memcpy(load ? s : buffer + i, load ? buffer + i : s, 16);
    }
}

static void
load_row(const struct tensor_map *m, const struct box_row *r, const uint8_t *src,
         uint8_t *buffer)
{
    const unsigned bytes = tensor_map_bytes(m->type);
    const uint64_t fill = fill_of(m);
    for (unsigned i = 0; i < r->first; i++)
        write_element(buffer + i * bytes, bytes, fill);
    for (unsigned i = r->last; i < m->box[0]; i++)
        write_element(buffer + i * bytes, bytes, fill);
    if (r->first < r->last)
        memcpy(buffer + r->first * bytes, src, (r->last - r->first) * bytes);
    if (m->type >= TENSOR_MAP_F32_FTZ)
        for (unsigned i = r->first; i < r->last; i++)
            write_element(
                buffer + i * bytes, 4,
                converted(m->type, (uint32_t)read_element(buffer + i * bytes, 4)));
}

/* The type by which a map's elements are combined. */
static unsigned
reduce_type(unsigned type)
{
    static const uint8_t types[TENSOR_MAP_TYPES] = {
        [TENSOR_MAP_U32] = PTX_U32,    [TENSOR_MAP_S32] = PTX_S32,
        [TENSOR_MAP_U64] = PTX_U64,    [TENSOR_MAP_S64] = PTX_S64,
        [TENSOR_MAP_F16] = PTX_F16,    [TENSOR_MAP_F32] = PTX_F32,
        [TENSOR_MAP_F64] = PTX_F64,    [TENSOR_MAP_BF16] = PTX_BF16,
        [TENSOR_MAP_F32_FTZ] = PTX_F32};
    return types[type];
}

/* May elements of that type be combined so? */
static bool
may_reduce(unsigned op, unsigned type)
{
    switch (op) {
    case AT_ADD:
        return type && type != PTX_S64;
    case AT_MIN:
    case AT_MAX:
        return type && type != PTX_F32 && type != PTX_F64;
    case AT_INC:
    case AT_DEC:
        return type == PTX_U32;
    default:
        return ptx_types[type].kind == PTX_K_UINT || ptx_types[type].kind == PTX_K_SINT;
    }
}

static bool
copy_tensor(struct transfer *t)
{
    const struct bulk_plan *p = t->p;
    struct tensor_map m;
    struct exec_cta *c = t->w->cta;
    const bool load = p->op == BULK_LOAD, store = p->op == BULK_STORE;
    if (!read_map(t, store ? &p->to : &p->from, &m))
        return false;
    const unsigned bytes = tensor_map_bytes(m.type), inner = m.box[0] * bytes,
                   pitch = m.swizzle ? 16u << m.swizzle : inner;
    uint64_t rows = 1;
    int64_t coord[TENSOR_MAP_RANK];
    for (unsigned d = 0; d < m.rank; d++)
        coord[d] = ((const int32_t *)row(t->w, p->coord[d]))[t->lane];
    for (unsigned d = 1; d < m.rank; d++)
        rows *= (m.box[d] + m.step[d] - 1u) / m.step[d];
    struct exec_inst reduce = p->reduce;
    if (reduce.esize) {
        reduce.type = (uint8_t)reduce_type(m.type);
        reduce.esize = (uint8_t)bytes;
        if (!may_reduce(reduce.sub, reduce.type)) {
            exec_fault(t->w, t->in, t->lane, NULL,
                       "%s: elements of this type of tensor map cannot be combined so",
                       p->name);
            return false;
        }
    }
    const uint64_t room = (rows - 1) * pitch + inner;
    if (load && !destinations(t, m.swizzle ? rows * pitch : room, 128))
        return false;
    uint64_t at = t->at;
    if (store) {
        const struct exec_cta *s = shared_place(
            t, &p->from, "the source", m.swizzle ? rows * pitch : room, 128, &at);
        if (!s)
            return false;
        if (s != c) {
            exec_fault(t->w, t->in, t->lane, NULL,
                       "%s: the source is not in the block's own scratchpad", p->name);
            return false;
        }
    }
    uint8_t buffer[TENSOR_MAP_BOX * 8];
    for (uint64_t n = 0; n < rows; n++, at += pitch) {
        const struct box_row r = row_of(&m, coord, n);
        const unsigned some = (r.last - r.first) * bytes;
        uint8_t *g = NULL;
        if (some && !(g = global_place(t, r.global + r.first * bytes, some, store)))
            return false;
        if (load) {
            load_row(&m, &r, g, buffer);
            for (unsigned i = 0; i < t->ndst; i++)
                row_parts(&m, t->dst[i]->shared, at, buffer, inner, true);
        } else if (store && some) {
            row_parts(&m, c->shared, at, buffer, inner, false);
            put(&reduce, g, buffer + r.first * bytes, some);
        }
    }
    return complete(t,
                    load    ? EXEC_JOB_LOAD
                    : store ? EXEC_JOB_STORE
                            : EXEC_JOB_PREFETCH,
                    rows * inner);
}

/* -- handlers -- */

static enum exec_result
h_bulk(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    const struct bulk_plan *p = in->plan;
    struct exec_cta_priv *ex = w->cta->ex;
    ex->jobs.n = ex->spans.n = 0;
    FOR_BITS(i, mask)
    {
        struct transfer t = {.w = w, .in = in, .p = p, .lane = (unsigned)i};
        t.job.first_span = (uint32_t)ex->spans.n;
        const bool ok = p->op == BULK_REGISTERS ? copy_registers(&t)
                        : p->dims               ? copy_tensor(&t)
                                                : copy_bytes(&t);
        if (!ok)
            return EXEC_FAULT;
    }
    s->njobs = (uint32_t)ex->jobs.n;
    s->jobs = ex->jobs.v;
    s->spans = ex->spans.v;
    return EXEC_OK;
}

static enum exec_result
h_nothing(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    return EXEC_OK;
}

/* -- changes of tensor maps -- */

enum map_field {
    MAP_ADDRESS,
    MAP_RANK,
    MAP_BOX,
    MAP_DIM,
    MAP_STRIDE,
    MAP_STEP,
    MAP_TYPE,
    MAP_INTERLEAVE,
    MAP_SWIZZLE,
    MAP_FILL
};
static const char *const map_fields[] = {[MAP_ADDRESS] = "global_address",
                                         [MAP_RANK] = "rank",
                                         [MAP_BOX] = "box_dim",
                                         [MAP_DIM] = "global_dim",
                                         [MAP_STRIDE] = "global_stride",
                                         [MAP_STEP] = "element_stride",
                                         [MAP_TYPE] = "elemtype",
                                         [MAP_INTERLEAVE] = "interleave_layout",
                                         [MAP_SWIZZLE] = "swizzle_mode",
                                         [MAP_FILL] = "fill_mode"};

struct map_plan {
    struct exec_inst at, from; /* addresses; from: of a copy */
    uint32_t value;            /* row */
    bool wide;
    uint8_t field, index;
};

/* Bytes at a lane's address, of whichever space; false after a fault. */
static bool
map_bytes(struct exec_warp *w, const struct exec_inst *in, const struct exec_inst *x,
          unsigned lane, uint8_t *bytes, bool write)
{
    uint64_t a = address_of(w, x, lane);
    if (x->space == PTX_SPACE_SHARED)
        a += DEV_SHARED_BASE;
    if (a % 128 == 0 && (write ? mem_write_generic(w, lane, a, bytes, TENSOR_MAP_BYTES)
                               : mem_read_generic(w, lane, a, bytes, TENSOR_MAP_BYTES)))
        return true;
    exec_fault(w, in, lane, NULL, "a tensor map of 128 bytes at 0x%llx: %s",
               (unsigned long long)a,
               a % 128 ? "it is not aligned to 128 bytes" : "the address is not allowed");
    return false;
}

/* Takes down that a lane's map is written, and read. */
static bool
map_touched(struct exec_warp *w, const struct exec_inst *x, unsigned lane)
{
    const struct exec_log *log = w->cta->log;
    uint64_t a = address_of(w, x, lane);
    if (!log || !log->foot || x->space == PTX_SPACE_SHARED ||
        mem_generic_space(&a) != PTX_SPACE_GLOBAL)
        return true;
    return exec_foot_range(log->foot, a, TENSOR_MAP_BYTES, FOOT_READ | FOOT_WRITE);
}

static enum exec_result
h_map_replace(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
              struct exec_step *s)
{
    const struct map_plan *p = in->plan;
    FOR_BITS(lane, mask)
    {
        const unsigned i = (unsigned)lane;
        uint8_t bytes[TENSOR_MAP_BYTES];
        struct tensor_map m;
        if (!map_touched(w, &p->at, i) || !map_bytes(w, in, &p->at, i, bytes, false))
            return EXEC_FAULT;
        if (!tensor_map_decode(bytes, &m))
            return exec_fault(w, in, i, "cuTensorMapEncodeTiled makes them",
                              "tensormap.replace where no tensor map is");
        const void *r = row(w, p->value);
        const uint64_t v = p->wide ? ((const uint64_t *)r)[i] : ((const uint32_t *)r)[i];
        switch (p->field) {
        case MAP_ADDRESS:
            m.address = v;
            break;
        case MAP_RANK: /* minus one */
            m.rank = (uint8_t)(v < TENSOR_MAP_RANK ? v + 1 : 0);
            break;
        case MAP_BOX:
            m.box[p->index] = (uint16_t)(v <= TENSOR_MAP_BOX ? v : 0);
            break;
        case MAP_DIM:
            m.dim[p->index] = v;
            break;
        case MAP_STRIDE:
            m.stride[p->index] = v;
            break;
        case MAP_STEP:
            m.step[p->index] = (uint8_t)(v <= 8 ? v : 0);
            break;
        case MAP_TYPE: /* numbered as in the ISA's table, up to tf32 as CUDA's */
            m.type = (uint8_t)v;
            break;
        case MAP_INTERLEAVE:
            m.interleave = (uint8_t)v;
            break;
        case MAP_SWIZZLE:
            m.swizzle = (uint8_t)v;
            break;
        default:
            m.fill_nan = v;
        }
        tensor_map_encode(&m, bytes);
        if (!map_bytes(w, in, &p->at, i, bytes, true))
            return EXEC_FAULT;
    }
    return EXEC_OK;
}

/* All lanes execute it with the same operands: it is done once. */
static enum exec_result
h_map_copy(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    const struct map_plan *p = in->plan;
    const unsigned i = (unsigned)bit_lowest(mask);
    uint8_t bytes[TENSOR_MAP_BYTES];
    if (!map_touched(w, &p->at, i) || !map_bytes(w, in, &p->from, i, bytes, false) ||
        !map_bytes(w, in, &p->at, i, bytes, true))
        return EXEC_FAULT;
    return EXEC_OK;
}

/* -- decoding -- */

/* One address operand into record x; space: NONE: generic. */
static bool
bulk_address(struct decoder *d, struct exec_inst *x, const struct ptx_operand *o,
             unsigned space, bool cluster)
{
    struct exec_inst *out = d->out;
    d->out = x;
    x->esize = 16;
    x->nvec = 1;
    bool ok = decode_address(d, o, space);
    if (ok && x->flags & IF_FUNC_PARAM)
        ok = decode_refuse(d, "a parameter of a function is no address here");
    if (cluster)
        x->flags |= IF_CLUSTER;
    d->out = out;
    return ok;
}

/* The map and the coordinates of [map, {c, ...}]. */
static bool
tensor_operand(struct decoder *d, struct bulk_plan *p, struct exec_inst *x,
               const struct ptx_operand *o)
{
    bool wide;
    const struct ptx_operand *c = o->kind == PTX_OPD_VEC && o->n == 2 ? &o->vec[1] : NULL;
    const unsigned n = !c ? 0 : c->kind == PTX_OPD_VEC ? c->n : 1;
    if (n != p->dims)
        return decode_refuse(d, "a tensor copy of %u dimensions has as many coordinates",
                             p->dims);
    if (!bulk_address(d, x, &o->vec[0], PTX_SPACE_NONE, false))
        return false;
    for (unsigned i = 0; i < n; i++) {
        p->coord[i] =
            decode_row(d, c->kind == PTX_OPD_VEC ? &c->vec[i] : c, PTX_S32, &wide);
        if (p->coord[i] == REF_NONE)
            return false;
        if (wide)
            return decode_refuse(d, "coordinates have 32 bits");
    }
    return true;
}

/* Operands after those that are always there: the mask of blocks, the cache policy. */
static bool
bulk_rest(struct decoder *d, struct bulk_plan *p, unsigned from)
{
    const struct ptx_inst *in = d->in;
    const bool mask = ptx_inst_has(in, "multicast::cluster"),
               hint = ptx_inst_has(in, "L2::cache_hint");
    bool wide;
    if (in->nops != from + mask + hint)
        return decode_refuse(
            d, "a mask of blocks goes with .multicast::cluster, a cache policy "
               "with .L2::cache_hint");
    if (hint && in->ops[in->nops - 1].kind == PTX_OPD_REG &&
        ptx_type_bytes(decode_operand_type(d, &in->ops[in->nops - 1])) != 8)
        return decode_refuse(d, ".L2::cache_hint needs a cache policy of 64 bits");
    if (!mask)
        return true;
    p->mask = decode_row(d, &in->ops[from], PTX_U16, &wide);
    return p->mask != REF_NONE && (!wide || decode_refuse(d, "the mask has 16 bits"));
}

static unsigned
reduce_op(const struct ptx_inst *in)
{
    static const char *const names[] = {"add", "and", "or",  "xor",
                                        "min", "max", "inc", "dec"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (ptx_inst_has(in, names[i]))
            return i;
    return 0;
}

static bool
decode_transfer(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    const struct ptx_operand *o = in->ops;
    struct bulk_plan *p = ARENA_NEW(&d->pp->mem, struct bulk_plan);
    struct exec_inst *x = d->out;
    const bool tensor = ptx_inst_has(in, "tensor"), st = in->op == PTX_OP_STASYNC,
               red = in->op == PTX_OP_REDASYNC;
    bool ok = true, wide = false;
    p->size = p->mask = REF_NONE;
    p->name = in->op == PTX_OP_STASYNC    ? "st.async"
              : in->op == PTX_OP_REDASYNC ? "red.async"
              : tensor                    ? "tensor copy"
                                          : "bulk copy";
    p->own = ptx_inst_has(in, "mbarrier::complete_tx::bytes") &&
             !ptx_inst_has(in, "shared::cluster") &&
             (ptx_inst_has(in, "shared::cta") || (!st && !red));
    for (char n = '1'; tensor && n <= '5'; n++) {
        const char dim[] = {n, 'd', 0};
        if (ptx_inst_has(in, dim))
            p->dims = (uint8_t)(n - '0');
    }
    if (red || in->op == PTX_OP_CPREDSHARED || in->op == PTX_OP_CPREDSTORE) {
        p->reduce.type = in->type[0];
        p->reduce.esize = ptx_type_bytes(in->type[0]);
    }
    if (in->op == PTX_OP_TMAREDUCE)
        p->reduce.esize = 1; /* the map's type says it */
    p->reduce.sub = (uint8_t)reduce_op(in);
    switch (in->op) {
    case PTX_OP_CPBULKLOAD:
        p->op = BULK_LOAD;
        ok = bulk_address(d, &p->to, &o[0], PTX_SPACE_SHARED, !p->own) &&
             bulk_address(d, &p->from, &o[1], PTX_SPACE_GLOBAL, false) &&
             bulk_address(d, &p->bar, &o[3], PTX_SPACE_SHARED, !p->own) &&
             bulk_rest(d, p, 4);
        break;
    case PTX_OP_CPBULKSHARED:
    case PTX_OP_CPREDSHARED:
        p->op = BULK_SHARED;
        ok = bulk_address(d, &p->to, &o[0], PTX_SPACE_SHARED, true) &&
             bulk_address(d, &p->from, &o[1], PTX_SPACE_SHARED, false) &&
             bulk_address(d, &p->bar, &o[3], PTX_SPACE_SHARED, true);
        break;
    case PTX_OP_CPBULKSTORE:
    case PTX_OP_CPREDSTORE:
        p->op = BULK_STORE;
        ok = bulk_address(d, &p->to, &o[0], PTX_SPACE_GLOBAL, false) &&
             bulk_address(d, &p->from, &o[1], PTX_SPACE_SHARED, false) &&
             bulk_rest(d, p, 3);
        break;
    case PTX_OP_CPBULKPREFETCH:
        p->op = BULK_PREFETCH;
        ok = bulk_address(d, &p->from, &o[0], PTX_SPACE_GLOBAL, false) &&
             bulk_rest(d, p, 2);
        break;
    case PTX_OP_TMALOAD:
        p->op = BULK_LOAD;
        ok = bulk_address(d, &p->to, &o[0], PTX_SPACE_SHARED, !p->own) &&
             tensor_operand(d, p, &p->from, &o[1]) &&
             bulk_address(d, &p->bar, &o[2], PTX_SPACE_SHARED, !p->own) &&
             bulk_rest(d, p, 3);
        break;
    case PTX_OP_TMASTORE:
    case PTX_OP_TMAREDUCE:
        p->op = BULK_STORE;
        ok = tensor_operand(d, p, &p->to, &o[0]) &&
             bulk_address(d, &p->from, &o[1], PTX_SPACE_SHARED, false) &&
             bulk_rest(d, p, 2);
        break;
    case PTX_OP_TMAPREFETCH:
        p->op = BULK_PREFETCH;
        ok = tensor_operand(d, p, &p->from, &o[0]) && bulk_rest(d, p, 1);
        break;
    default: { /* st.async, red.async */
        p->op = BULK_REGISTERS;
        const unsigned want = ptx_inst_has(in, "v4")   ? 4
                              : ptx_inst_has(in, "v2") ? 2
                                                       : 1,
                       n = decode_elements(d, &o[1]);
        p->value.esize = ptx_type_bytes(in->type[0]);
        p->value.nvec = (uint8_t)n;
        if (n != want || (o[1].kind == PTX_OPD_VEC && want == 1))
            return decode_refuse(d, "it stores %u elements", want);
        d->out = &p->value;
        for (unsigned e = 0; ok && e < n; e++) {
            struct ptx_operand one = decode_element(d, &o[1], e);
            ok = decode_data(d, e, &one, in->type[0], false);
        }
        d->out = x;
        ok = ok && bulk_address(d, &p->to, &o[0], PTX_SPACE_SHARED, true) &&
             bulk_address(d, &p->bar, &o[2], PTX_SPACE_SHARED, true);
        /* without a space the addresses are generic */
        if (!ptx_inst_has(in, "shared::cluster") && !ptx_inst_has(in, "shared::cta"))
            p->to.space = p->bar.space = PTX_SPACE_NONE;
    }
    }
    if (!ok)
        return false;
    if (!tensor && !st && !red) {
        const unsigned at = p->op == BULK_PREFETCH ? 1 : 2;
        p->size = decode_row(d, &o[at], PTX_U32, &wide);
        if (p->size == REF_NONE)
            return false;
        if (wide)
            return decode_refuse(d, "the size has 32 bits");
    }
    x->plan = p;
    x->fn = h_bulk;
    return true;
}

static bool
decode_map(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    const struct ptx_operand *o = in->ops;
    struct map_plan *p = ARENA_NEW(&d->pp->mem, struct map_plan);
    struct exec_inst *x = d->out;
    uint64_t v = 0;
    x->plan = p;
    if (in->op == PTX_OP_TMAPCOPY) {
        x->fn = h_map_copy;
        if (!decode_const_value(d, &o[2], PTX_U32, &v) || v != TENSOR_MAP_BYTES)
            return decode_refuse(d, "the size of a tensor map is 128");
        return bulk_address(d, &p->at, &o[0], PTX_SPACE_GLOBAL, false) &&
               bulk_address(d, &p->from, &o[1], PTX_SPACE_SHARED, false);
    }
    x->fn = h_map_replace;
    while (!ptx_inst_has(in, map_fields[p->field]))
        p->field++;
    const bool indexed = p->field >= MAP_BOX && p->field <= MAP_STEP;
    const unsigned space = ptx_inst_has(in, "global")        ? PTX_SPACE_GLOBAL
                           : ptx_inst_has(in, "shared::cta") ? PTX_SPACE_SHARED
                                                             : PTX_SPACE_NONE;
    if (in->nops != (indexed ? 3u : 2u))
        return decode_refuse(d, indexed ? "a dimension and a value belong to this field"
                                        : "one value belongs to this field");
    if (indexed && (!decode_const_value(d, &o[1], PTX_U32, &v) ||
                    v >= (p->field == MAP_STRIDE ? 4u : 5u)))
        return decode_refuse(d, "the dimension is a number from 0 on");
    p->index = (uint8_t)v;
    if (p->field >= MAP_TYPE && !decode_const_value(d, &o[1], PTX_U32, &v))
        return decode_refuse(d, "the value of this field is a literal");
    p->value = decode_row(d, &o[indexed ? 2 : 1],
                          ptx_inst_has(in, "b64") ? PTX_B64 : PTX_B32, &p->wide);
    return p->value != REF_NONE && bulk_address(d, &p->at, &o[0], space, false);
}

bool
decode_suffixed(struct decoder *d)
{
    uint64_t n = 0;
    switch (d->in->op) {
    case PTX_OP_BARCLUSTER:
        return decode_cluster_barrier(d);
    case PTX_OP_FENCETMAPACQ:
    case PTX_OP_FENCETMAPREL:
    case PTX_OP_FENCEASYNCGENERIC:
        d->out->fn = h_nothing;
        d->st->is_fence = d->st->orders = true;
        return true;
    case PTX_OP_CPBULKGROUP:
        d->out->fn = h_nothing;
        d->st->orders = true;
        d->st->copy = ptx_inst_has(d->in, "commit_group") ? COPY_BULK_COMMIT
                      : ptx_inst_has(d->in, "read")       ? COPY_BULK_READ
                                                          : COPY_BULK_WAIT;
        if ((d->st->copy == COPY_BULK_COMMIT) != (d->in->ops[0].kind == PTX_OPD_NONE) ||
            (d->st->copy != COPY_BULK_COMMIT &&
             !decode_const_value(d, &d->in->ops[0], PTX_U32, &n)))
            return decode_refuse(d,
                                 "wait_group takes a constant number, commit_group none");
        d->st->copy_n = n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
        return true;
    default:
        d->p->in_order = d->p->bulk = true;
        d->st->orders = true;
        return d->in->op == PTX_OP_TMAPREPLACE || d->in->op == PTX_OP_TMAPCOPY
                   ? decode_map(d)
                   : decode_transfer(d);
    }
}
