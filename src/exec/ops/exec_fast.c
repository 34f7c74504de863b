/* exec_fast.c: loads and stores whose space is known when decoding (global, shared,
 * generic ones that turn out global, parameters and constants at a fixed address).
 *
 * One pass over the 32 lanes computes the addresses and finds out, without branches,
 * whether they all lie in one range, are aligned, the same, or neighbours. The range
 * tried first is the allocation where this instruction hit before (a cache per
 * instruction and resident block); only when a lane falls outside are allocations looked
 * up one by one. Inactive lanes are given the address of an active one, so that loads may
 * read all 32.
 *
 * Compiled once per instruction-set variant, like the lane functions (folder.cmake). */
#include "exec/ops/exec_vec.h"

#ifndef EXEC_VARIANT
#define EXEC_VARIANT plain
#endif
/* What the addresses of an access have in common. */
struct facts {
    bool bad;    /* some lane lies outside [lo, last] or is misaligned */
    bool differ; /* false: all the same */
    bool gaps;   /* false: lane i at first + i * bytes */
};

/* Fills a[] and says what the addresses have in common. */
ALWAYS_INLINE struct facts
scan(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask, uint64_t *a,
     uint64_t lo, uint64_t last, uint64_t bytes)
{
    uint64_t off = (uint64_t)in->off;
    if (in->base == REF_NONE) {
        for (int i = 0; i < LANES; i += VQ)
            *(vq *)(a + i) = all_q(off);
        return (struct facts){((off - lo) | (last - off)) >> 63 || off & (bytes - 1),
                              false, true};
    }
    const void *b = row(w, in->base);
    bool narrow = in->flags & IF_BASE32;
    int f = bit_lowest(mask);
    uint64_t first = off + (narrow ? ((const uint32_t *)b)[f] : ((const uint64_t *)b)[f]);
    vq out = {0}, bits = {0}, dif = {0}, gap = {0}, next = row_q(first, bytes);
    for (int i = 0; i < LANES; i += VQ) {
        vq x = narrow ? widen((const uint32_t *)b + i)
                      : *(const vq *)((const uint64_t *)b + i);
        x += off;
        if (mask != FULL_MASK) {
            vq m = lanes_q(mask, i);
            x = (x & m) | (all_q(first) & ~m);
        }
        *(vq *)(a + i) = x;
        out |= (x - lo) | (last - x);
        bits |= x;
        dif |= x ^ first;
        gap |= x ^ next;
        next += VQ * bytes;
    }
    out = (out & (uint64_t)1 << 63) | (bits & (bytes - 1));
    return (struct facts){any_q(out, ~(uint64_t)0), any_q(dif, ~(uint64_t)0),
                          any_q(gap, ~(uint64_t)0)};
}

ALWAYS_INLINE void
begin(struct exec_step *s, const struct exec_inst *in, unsigned space, unsigned bytes,
      uint32_t mask, unsigned kind)
{
    struct exec_access *x = &s->access;
    s->has_access = true;
    x->space = (uint8_t)space;
    x->bytes = (uint8_t)bytes;
    x->load = kind == MEM_LOAD;
    x->store = kind == MEM_STORE;
    x->atomic = false;
    x->cache = in->cache;
    x->mask = mask;
}

/* Addresses and their check; false: some lane is not allowed, or the address of one wraps
 * at 2^32 (IF_WRAP; what is inside is below, and right without). */
ALWAYS_INLINE bool
check(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, unsigned space,
      unsigned bytes, uint64_t *a, struct facts *f)
{
    if (space == PTX_SPACE_GLOBAL) {
        const struct mem_range *r = &w->cta->ex->range[in->slot];
        *f = scan(w, in, mask, a, r->lo, r->last, bytes);
        return __builtin_expect(!f->bad, 1) || mem_global_ok(w, in, mask, a, bytes);
    }
    *f = scan(w, in, mask, a, 0, space_bytes(w, space) - bytes, bytes);
    return !f->bad;
}

/* Bytes or halves into 32-bit rows. */
ALWAYS_INLINE void
load_small(uint32_t *d, uint32_t mask, const uint8_t *host, const uint64_t *a,
           bool differ, unsigned esize, bool is_signed, uint32_t keep)
{
    uint32_t v[LANES];
    unsigned up = 32 - 8 * esize;
    if (!differ) {
        uint32_t one = (uint32_t)read_element(host + a[0], esize);
        for (int i = 0; i < LANES; i++)
            v[i] = one;
    } else if (esize == 1) {
        for (int i = 0; i < LANES; i++)
            v[i] = host[a[i]];
    } else {
        for (int i = 0; i < LANES; i++)
            v[i] = (uint32_t)read_element(host + a[i], 2);
    }
    for (int i = 0; is_signed && i < LANES; i++)
        v[i] = (uint32_t)((int32_t)(v[i] << up) >> up);
    for (int i = 0; i < LANES; i += VD)
        put_d(d, i, mask, *(const vd *)(v + i) & keep);
}

/* Registers from memory; without `differ`, only a[0] need be there. */
ALWAYS_INLINE void
load_rows(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          const uint8_t *host, const uint64_t *a, bool differ, bool gaps, unsigned esize,
          unsigned nvec)
{
    if (nvec == 1 && mask == FULL_MASK && !gaps && esize >= 4) {
        memcpy(row(w, in->data[0]), host + a[0], (size_t)esize * LANES);
        return;
    }
    for (unsigned e = 0; e < nvec; e++, host += esize) {
        if (nvec > 1 && in->data[e] == REF_NONE)
            continue;
        if (esize == 4) {
            uint32_t *d = row(w, in->data[e]);
            if (!differ) {
                vd v = all_d(*(const word *)(host + a[0]));
                for (int i = 0; i < LANES; i += VD)
                    put_d(d, i, mask, v);
            } else {
                for (int i = 0; i < LANES; i += VD)
                    put_d(d, i, mask, gather_d(host, a + i));
            }
        } else if (esize == 8) {
            uint64_t *d = row(w, in->data[e]);
            for (int i = 0; i < LANES; i += VQ)
                put_q(d, i, mask, gather_q(host, a + i));
        } else {
            bool wide = in->dwide >> e & 1;
            uint32_t keep = in->dhalf >> e & 1 ? 0xffff : FULL_MASK;
            void *d = in->data[e] == REF_NONE ? NULL : row(w, in->data[e]);
            if (d && !wide)
                load_small(d, mask, host, a, differ, esize, in->flags & IF_SIGNED, keep);
            else if (d)
                FOR_BITS(i, mask)
            ((uint64_t *)d)[i] =
                extend(read_element(host + a[i], esize), esize, in->flags & IF_SIGNED);
        }
    }
}

/* -- accesses that wait -- */

static void
wait_load(const struct log_entry *e)
{
    const struct exec_inst *in = e->in;
    const uint8_t *host = host_base(e->w, PTX_SPACE_GLOBAL);
    bool differ = e->shape != SHAPE_SAME, gaps = e->shape != SHAPE_ROW;
    if (in->esize == 4 && in->nvec == 1)
        load_rows(e->w, in, e->mask, host, e->a, differ, gaps, 4, 1);
    else
        load_rows(e->w, in, e->mask, host, e->a, differ, gaps, in->esize, in->nvec);
}

static void
wait_store(const struct log_entry *e)
{
    const struct exec_inst *in = e->in;
    uint8_t *host = host_base(e->w, PTX_SPACE_GLOBAL);
    const uint64_t *v = log_values(e);
    if (e->shape == SHAPE_ROW) {
        memcpy(host + e->a[0], v, (size_t)in->esize * LANES);
        return;
    }
    for (unsigned k = 0; k < in->nvec; k++, host += in->esize, v += LANES) {
        bool wide = in->esize == 8 || in->dwide >> k & 1;
        FOR_BITS(i, e->mask)
        write_element(host + e->a[i], in->esize, wide ? v[i] : ((const uint32_t *)v)[i]);
    }
}

/* A shape that holds for a whole row only is worth while; else every address is kept. */
ALWAYS_INLINE void
load_later(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           const uint64_t *a, const struct facts *f, unsigned esize, unsigned nvec)
{
    bool one = nvec == 1 && esize >= 4;
    unsigned shape = one && mask == FULL_MASK && !f->gaps ? SHAPE_ROW
                     : one && esize == 4 && !f->differ    ? SHAPE_SAME
                                                          : SHAPE_ALL;
    log_add(w, in, mask, wait_load, shape, a, 0);
}

ALWAYS_INLINE void
store_later(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            const uint64_t *a, const struct facts *f, unsigned esize, unsigned nvec)
{
    if (nvec == 1 && mask == FULL_MASK && !f->gaps && esize >= 4) {
        void *v = log_add(w, in, mask, wait_store, SHAPE_ROW, a, (size_t)esize * LANES);
        memcpy(v, row(w, in->data[0]), (size_t)esize * LANES);
        return;
    }
    uint64_t *v =
        log_add(w, in, mask, wait_store, SHAPE_ALL, a, nvec * LANES * sizeof *v);
    for (unsigned e = 0; e < nvec; e++, v += LANES)
        memcpy(v, row(w, in->data[e]),
               esize == 8 || in->dwide >> e & 1 ? 2 * ROW_BYTES : ROW_BYTES);
}

/* -- accesses that are taken down -- */

static NOINLINE bool
take_down(struct foot *t, uint32_t mask, const uint64_t *a, const struct facts *f,
          unsigned bytes, enum foot_kind kind)
{
    if (mask == FULL_MASK && !f->gaps)
        return exec_foot_range(t, a[0], (uint64_t)bytes * LANES, kind);
    return f->differ ? exec_foot_lanes(t, mask, a, bytes, kind)
                     : exec_foot_range(t, a[0], bytes, kind);
}

/* -- */

ALWAYS_INLINE enum exec_result
load_fast(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s, unsigned space, unsigned esize, unsigned nvec)
{
    uint64_t *a = s->access.addr;
    unsigned bytes = esize * nvec;
    struct facts f;
    begin(s, in, space, bytes, mask, MEM_LOAD);
    if (!check(w, in, mask, space, bytes, a, &f))
        return mem_ld_any(w, in, mask, s); /* it may be that the address wraps */
    if (space == PTX_SPACE_GLOBAL && w->cta->log) {
        if (!w->cta->log->foot) {
            load_later(w, in, mask, a, &f, esize, nvec);
            return EXEC_OK;
        }
        if (!take_down(w->cta->log->foot, mask, a, &f, bytes, FOOT_READ))
            return EXEC_FAULT;
    }
    load_rows(w, in, mask, host_base(w, space), a, f.differ, f.gaps, esize, nvec);
    return EXEC_OK;
}

ALWAYS_INLINE enum exec_result
store_fast(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s, unsigned space, unsigned esize, unsigned nvec)
{
    uint64_t *a = s->access.addr;
    unsigned bytes = esize * nvec;
    struct facts f;
    begin(s, in, space, bytes, mask, MEM_STORE);
    if (!check(w, in, mask, space, bytes, a, &f))
        return mem_st_any(w, in, mask, s);
    if (space == PTX_SPACE_GLOBAL && w->cta->log) {
        if (!w->cta->log->foot) {
            store_later(w, in, mask, a, &f, esize, nvec);
            return EXEC_OK;
        }
        if (!take_down(w->cta->log->foot, mask, a, &f, bytes, FOOT_WRITE))
            return EXEC_FAULT;
    }
    uint8_t *host = host_base(w, space);
    if (nvec == 1 && mask == FULL_MASK && !f.gaps && esize >= 4) {
        memcpy(host + a[0], row(w, in->data[0]), (size_t)esize * LANES);
        return EXEC_OK;
    }
    for (unsigned e = 0; e < nvec; e++, host += esize) {
        const void *d = row(w, in->data[e]);
        bool wide = esize == 8 || (esize < 4 && in->dwide >> e & 1);
        FOR_BITS(i, mask)
        write_element(host + a[i], esize,
                      wide ? ((const uint64_t *)d)[i] : ((const uint32_t *)d)[i]);
    }
    return EXEC_OK;
}

#define HANDLER(name)                                                                    \
    static enum exec_result name(struct exec_warp *w, const struct exec_inst *in,        \
                                 uint32_t mask, struct exec_step *s)
#define FAST(NAME, SPACE)                                                                \
    HANDLER(ld_##NAME##_4)                                                               \
    {                                                                                    \
        return load_fast(w, in, mask, s, SPACE, 4, 1);                                   \
    }                                                                                    \
    HANDLER(ld_##NAME##_8)                                                               \
    {                                                                                    \
        return load_fast(w, in, mask, s, SPACE, 8, 1);                                   \
    }                                                                                    \
    HANDLER(ld_##NAME##_n)                                                               \
    {                                                                                    \
        return load_fast(w, in, mask, s, SPACE, in->esize, in->nvec);                    \
    }                                                                                    \
    HANDLER(st_##NAME##_4)                                                               \
    {                                                                                    \
        return store_fast(w, in, mask, s, SPACE, 4, 1);                                  \
    }                                                                                    \
    HANDLER(st_##NAME##_8)                                                               \
    {                                                                                    \
        return store_fast(w, in, mask, s, SPACE, 8, 1);                                  \
    }                                                                                    \
    HANDLER(st_##NAME##_n)                                                               \
    {                                                                                    \
        return store_fast(w, in, mask, s, SPACE, in->esize, in->nvec);                   \
    }
FAST(global, PTX_SPACE_GLOBAL)
FAST(shared, PTX_SPACE_SHARED)

/* Generic addresses: global by the fast path if all lanes hit where they hit before. */
ALWAYS_INLINE bool
hits_global(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    const struct mem_range *r = &w->cta->ex->range[in->slot];
    unsigned bytes = (unsigned)in->esize * in->nvec;
    return !scan(w, in, mask, s->access.addr, r->lo, r->last, bytes).bad;
}

HANDLER(ld_generic)
{
    return hits_global(w, in, mask, s) ? ld_global_n(w, in, mask, s)
                                       : mem_ld_any(w, in, mask, s);
}

HANDLER(st_generic)
{
    return hits_global(w, in, mask, s) ? st_global_n(w, in, mask, s)
                                       : mem_st_any(w, in, mask, s);
}

/* One fixed address for all lanes in constant or parameter memory, known to be inside. */
ALWAYS_INLINE enum exec_result
load_uniform(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s, unsigned space)
{
    uint64_t off = (uint64_t)in->off;
    begin(s, in, space, (unsigned)in->esize * in->nvec, mask, MEM_LOAD);
    for (int i = 0; i < LANES; i += VQ)
        *(vq *)(s->access.addr + i) = all_q(off);
    const uint8_t *p = host_base(w, space) + off;
    for (unsigned e = 0; e < in->nvec; e++, p += in->esize) {
        if (in->data[e] == REF_NONE)
            continue;
        uint64_t v = extend(read_element(p, in->esize), in->esize, in->flags & IF_SIGNED);
        void *d = row(w, in->data[e]);
        if (in->dwide >> e & 1) {
            for (int i = 0; i < LANES; i += VQ)
                put_q(d, i, mask, all_q(v));
        } else {
            uint32_t n = (uint32_t)v & (in->dhalf >> e & 1 ? 0xffff : FULL_MASK);
            for (int i = 0; i < LANES; i += VD)
                put_d(d, i, mask, all_d(n));
        }
    }
    return EXEC_OK;
}

HANDLER(ld_param)
{
    return load_uniform(w, in, mask, s, PTX_SPACE_PARAM);
}

HANDLER(ld_const)
{
    return load_uniform(w, in, mask, s, PTX_SPACE_CONST);
}

HANDLER(ld_const_n)
{
    return load_fast(w, in, mask, s, PTX_SPACE_CONST, in->esize, in->nvec);
}

#define PASTE(a, b) a##b
#define TABLE(variant) PASTE(exec_fast_, variant)
exec_fn *const TABLE(EXEC_VARIANT)[FAST_N] = {
    [FAST_LD_GLOBAL_4] = ld_global_4, [FAST_LD_GLOBAL_8] = ld_global_8,
    [FAST_LD_GLOBAL_N] = ld_global_n, [FAST_ST_GLOBAL_4] = st_global_4,
    [FAST_ST_GLOBAL_8] = st_global_8, [FAST_ST_GLOBAL_N] = st_global_n,
    [FAST_LD_SHARED_4] = ld_shared_4, [FAST_LD_SHARED_8] = ld_shared_8,
    [FAST_LD_SHARED_N] = ld_shared_n, [FAST_ST_SHARED_4] = st_shared_4,
    [FAST_ST_SHARED_8] = st_shared_8, [FAST_ST_SHARED_N] = st_shared_n,
    [FAST_LD_GENERIC] = ld_generic,   [FAST_ST_GENERIC] = st_generic,
    [FAST_LD_PARAM] = ld_param,       [FAST_LD_CONST] = ld_const,
    [FAST_LD_CONST_N] = ld_const_n,
};
