/* exec_mem.h: what the general and the fast forms of memory instructions share. */
#ifndef ALLOT_EXEC_EXEC_MEM_H
#define ALLOT_EXEC_EXEC_MEM_H

#include "exec/exec_int.h"

#include <assert.h>
#include <string.h>

/* Handlers of exec_fast.c, one table per instruction-set variant. */
enum {
    FAST_LD_GLOBAL_4,
    FAST_LD_GLOBAL_8,
    FAST_LD_GLOBAL_N,
    FAST_ST_GLOBAL_4,
    FAST_ST_GLOBAL_8,
    FAST_ST_GLOBAL_N,
    FAST_LD_SHARED_4,
    FAST_LD_SHARED_8,
    FAST_LD_SHARED_N,
    FAST_ST_SHARED_4,
    FAST_ST_SHARED_8,
    FAST_ST_SHARED_N,
    FAST_LD_GENERIC,
    FAST_ST_GENERIC,
    FAST_LD_PARAM,
    FAST_LD_CONST,
    FAST_LD_CONST_N,
    FAST_N
};
extern exec_fn *const exec_fast_plain[FAST_N], *const exec_fast_avx2[FAST_N],
                                                   *const exec_fast_avx512[FAST_N];

/* Slow path of global accesses: remembers the allocation of the first lane; true if all
 * lanes are allowed. */
bool mem_global_ok(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                   const uint64_t *a, unsigned bytes);
/* Reports the first lane whose access is not allowed. */
enum exec_result mem_blame(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                           const struct exec_access *x, unsigned bytes);
exec_fn mem_ld_any, mem_st_any;
/* Bytes at a generic address as `lane` sees it; false: not all of them are in memory. */
bool mem_read_generic(const struct exec_warp *w, unsigned lane, uint64_t addr, void *dst,
                      unsigned n);
bool mem_write_generic(struct exec_warp *w, unsigned lane, uint64_t addr, const void *src,
                       unsigned n);

/* Value of data register e as an element; and loaded elements v[lane] into it. */
uint64_t mem_data_lane(const struct exec_warp *w, const struct exec_inst *in, unsigned e,
                       unsigned lane);
void mem_put_element(struct exec_warp *w, const struct exec_inst *in, unsigned e,
                     uint32_t mask, uint64_t *v);
/* Which integer operation it is whose result nobody takes, so that several commute; 0:
 * none such. */
uint16_t mem_reduction(const struct exec_inst *in);
/* What an atomic operation leaves (in->sub, type, esize). */
uint64_t mem_atom_value(const struct exec_inst *in, unsigned space, uint64_t old,
                        uint64_t b, uint64_t c);
/* The lanes' addresses with their spaces, into the access; whether all are allowed. */
void mem_resolve(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                 struct exec_access *x);
bool mem_allowed(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                 const struct exec_access *x);
/* The byte at an allowed address of a space but LOCAL, in whichever block. */
uint8_t *mem_host(const struct exec_warp *w, unsigned space, uint64_t addr);
/* The address operand into d->out; space: what the instruction names, NONE: generic. */
bool decode_address(struct decoder *d, const struct ptx_operand *o, unsigned space);
/* Data register e of the instruction. */
bool decode_data(struct decoder *d, unsigned e, const struct ptx_operand *o,
                 unsigned type, bool dest);
/* Addresses of the lanes; inactive ones get the first active lane's. */
void mem_addresses(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                   uint64_t *a);
/* The space a generic address lies in; *addr becomes the address there. */
unsigned mem_generic_space(uint64_t *addr);
/* Is an access of that many bytes allowed and aligned? */
bool mem_lane_ok(const struct exec_warp *w, unsigned space, uint64_t addr,
                 unsigned bytes);
/* An access that mem_allowed refuses: may it be made all the same, for its lanes are
 * allowed or lie in the guard of an allocation? *zone: the latter, which read by guard_copy
 * and write by guard_store. Takes them down. */
bool guard_lanes(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                 const struct exec_access *x, unsigned bytes, uint32_t *zone);
void guard_copy(struct dev_mem *m, uint64_t addr, void *dst, unsigned n);
void guard_store(struct dev_mem *m, uint64_t addr, const void *src, unsigned n);
void guard_add(struct guard_reads *all, const struct guard_read *r);
/* What a matrix instruction will access (exec_tile.c). */
void tile_access(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                 struct exec_access *x);

bool decode_mbarrier_copies(struct decoder *d); /* cp.async.mbarrier.arrive */
/* What the instruction does with an mbarrier. */
enum { EXEC_MBARRIER_NONE, EXEC_MBARRIER_INIT, EXEC_MBARRIER_INVAL, EXEC_MBARRIER_USE };
int exec_mbarrier_use(const struct exec_inst *in);

/* -- accesses that wait (struct exec_log) -- */

/* What the addresses of an entry are: one for all lanes; neighbours; all 32 are there. */
enum { SHAPE_SAME, SHAPE_ROW, SHAPE_ALL };

struct log_entry;
typedef void log_fn(const struct log_entry *e);
struct log_entry { /* then the addresses, 1 or 32, and the values */
    uint64_t cycle;
    log_fn *apply;
    struct exec_warp *w;
    const struct exec_inst *in;
    uint32_t mask, bytes; /* lanes; of the whole entry */
    uint64_t shape;
    uint64_t a[];
};
enum { LOG_MOST = sizeof(struct log_entry) + LANES * 8 + 4 * LANES * 8 };

/* Room for the values, LANES * 8 bytes or multiples of it. */
ALWAYS_INLINE void *
log_add(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, log_fn *apply,
        unsigned shape, const uint64_t *a, size_t values)
{
    struct exec_log *l = w->cta->log;
    struct log_entry *e = (struct log_entry *)(void *)(l->v + l->n);
    size_t na = shape == SHAPE_ALL ? LANES : 1;
    e->cycle = l->now;
    e->apply = apply;
    e->w = w;
    e->in = in;
    e->mask = mask;
    e->shape = shape;
    memcpy(e->a, a, na * sizeof *a);
    e->bytes = (uint32_t)(sizeof *e + na * sizeof *a + values);
    l->n += e->bytes;
    assert(l->n <= l->cap);
    return e->a + na;
}

ALWAYS_INLINE const void *
log_values(const struct log_entry *e)
{
    return e->a + (e->shape == SHAPE_ALL ? LANES : 1);
}

/* Size of a space other than global. */
ALWAYS_INLINE uint64_t
space_bytes(const struct exec_warp *w, unsigned space)
{
    const struct exec_cta *c = w->cta;
    switch (space) {
    case PTX_SPACE_SHARED:
        return c->shared_bytes;
    case PTX_SPACE_LOCAL:
        return w->local_bytes;
    case PTX_SPACE_CONST:
        return c->grid->prog->image->const_bytes;
    default:
        return c->grid->prog->param_bytes;
    }
}

/* Host pointer p with p + address = the byte, for spaces that lie in one piece. */
ALWAYS_INLINE uint8_t *
host_base(const struct exec_warp *w, unsigned space)
{
    const struct exec_cta *c = w->cta;
    const struct exec_grid *g = c->grid;
    switch (space) {
    case PTX_SPACE_GLOBAL:
        return *(uint8_t **)g->mem;
    case PTX_SPACE_SHARED:
        return c->shared;
    case PTX_SPACE_CONST:
        return dev_host(g->mem, g->prog->image->const_addr);
    default:
        return g->params;
    }
}

/* Extends a loaded element of `size` bytes to the register's width. */
ALWAYS_INLINE uint64_t
extend(uint64_t v, unsigned size, bool is_signed)
{
    if (!is_signed || size == 8)
        return v;
    unsigned shift = 64 - 8 * size;
    return (uint64_t)((int64_t)(v << shift) >> shift);
}

ALWAYS_INLINE uint64_t
read_element(const uint8_t *p, unsigned size)
{
    uint16_t h;
    uint32_t v;
    uint64_t d;
    switch (size) {
    case 1:
        return *p;
    case 2:
        memcpy(&h, p, 2);
        return h;
    case 4:
        memcpy(&v, p, 4);
        return v;
    default:
        memcpy(&d, p, 8);
        return d;
    }
}

ALWAYS_INLINE void
write_element(uint8_t *p, unsigned size, uint64_t v)
{
    uint16_t h = (uint16_t)v;
    uint32_t x = (uint32_t)v;
    switch (size) {
    case 1:
        *p = (uint8_t)v;
        break;
    case 2:
        memcpy(p, &h, 2);
        break;
    case 4:
        memcpy(p, &x, 4);
        break;
    default:
        memcpy(p, &v, 8);
        break;
    }
}

#endif
