/* threaded_fast.c: handlers of quick records (threaded.h): loads, stores, moves, branches, and
 * those that call an instruction's general handler.
 *
 * Loads and stores are as in exec_fast.c, but keep no addresses for others to see, so
 * those of shared memory stay 32 bits wide. Lanes that read neighbours or one word are
 * found by comparing the row of addresses with what it would be then. What is not of a
 * usual shape, leaves the range where the instruction hit before, or has inactive lanes,
 * goes to the general handler, with nothing changed.
 *
 * Compiled once per instruction-set variant (folder.cmake). */
#include "exec/memory/exec_foot.h"
#include "exec/ops/exec_vec.h"

#ifndef EXEC_VARIANT
#define EXEC_VARIANT plain
#endif

ALWAYS_INLINE const struct exec_inst *
inst_of(const struct quick_run *r, const struct quick *ip)
{
    return &r->inst[ip - r->code];
}

/* The active lanes that the instruction's guard leaves. */
ALWAYS_INLINE uint32_t
guarded(struct quick_run *r, const struct exec_inst *in, const uint8_t *regs,
        uint64_t active)
{
    uint32_t p = *(const uint32_t *)(regs + in->guard);
    uint32_t mask = (uint32_t)active & (in->flags & IF_GUARD_NEG ? ~p : p);
    r->off += lanes_in((uint32_t)active) - lanes_in(mask);
    return mask;
}

#define QUICK(name) static const struct quick *name(QUICK_ARGS)

/* By exec_step. */
QUICK(quick_step)
{
    (void)r, (void)regs, (void)consts, (void)active, (void)stop;
    return ip;
}

QUICK(quick_pure)
{
    const struct exec_inst *in = inst_of(r, ip);
    in->fn(r->w, in, (uint32_t)active, r->step);
    QUICK_NEXT;
}

QUICK(quick_pure_guard)
{
    const struct exec_inst *in = inst_of(r, ip);
    uint32_t mask = guarded(r, in, regs, active);
    if (mask)
        in->fn(r->w, in, mask, r->step);
    QUICK_NEXT;
}

QUICK(quick_warp)
{
    const struct exec_inst *in = inst_of(r, ip);
    if (r->w->sp)
        return ip;
    in->fn(r->w, in, (uint32_t)active, r->step);
    QUICK_NEXT;
}

/* Not to be put into those that rarely need it. */
NOINLINE
QUICK(quick_memory)
{
    const struct exec_inst *in = inst_of(r, ip);
    r->w->pc = (uint32_t)(ip - r->code) + 1;
    r->result = in->fn(r->w, in, (uint32_t)active, r->step);
    if (__builtin_expect(r->result != EXEC_OK, 0))
        return ip;
    QUICK_NEXT;
}

QUICK(quick_memory_guard)
{
    const struct exec_inst *in = inst_of(r, ip);
    uint32_t mask = guarded(r, in, regs, active);
    r->w->pc = (uint32_t)(ip - r->code) + 1;
    if (mask)
        r->result = in->fn(r->w, in, mask, r->step);
    if (__builtin_expect(r->result != EXEC_OK, 0))
        return ip;
    QUICK_NEXT;
}

/* Goes to the branch's target; where the path or the turn ends there, exec_step does. */
ALWAYS_INLINE const struct quick *
jump(QUICK_ARGS)
{
    const struct quick *to = ip + ip->jump;
    uint64_t used = (uint64_t)(ip + 1 - r->from);
    if (to == r->join || used >= r->left)
        return ip;
    r->left -= used;
    r->from = to;
    stop = to + r->left;
    if (r->join > to && r->join < stop)
        stop = r->join;
    r->stop = stop;
    QUICK_GO(to, stop);
}

QUICK(quick_bra)
{
    return jump(QUICK_PASS);
}

/* b: all ones where the guard is negated. */
QUICK(quick_bra_guard)
{
    uint32_t p = (*(const uint32_t *)(regs + ip->a) ^ ip->b) & (uint32_t)active;
    if (p == (uint32_t)active)
        return jump(QUICK_PASS);
    if (p)
        return ip;
    r->off += lanes_in((uint32_t)active);
    QUICK_NEXT;
}

/* -- addresses -- */

#define OTHERWISE return quick_memory(QUICK_PASS)

/* The lower halves of VD 64-bit numbers. */
ALWAYS_INLINE vd
narrow_d(const uint64_t *p)
{
#if defined(__AVX512F__)
    __m256i x = _mm512_cvtepi64_epi32(_mm512_loadu_si512(p));
    __m256i y = _mm512_cvtepi64_epi32(_mm512_loadu_si512(p + 8));
    return (vd)_mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1);
#elif defined(__AVX2__)
    __m256 x = _mm256_loadu_ps((const float *)(const void *)p);
    __m256 y = _mm256_loadu_ps((const float *)(const void *)(p + 4));
    __m256 v = _mm256_shuffle_ps(x, y, 0x88);
    return (vd)_mm256_permute4x64_epi64(_mm256_castps_si256(v), 0xd8);
#else
    vd v;
    for (int k = 0; k < VD; k++)
        v[k] = (uint32_t)p[k];
    return v;
#endif
}

/* Scratchpad addresses of lanes i, i + 1, ...; the register has 32 bits or 64. */
ALWAYS_INLINE vd
shared_addr(const void *b, bool wide, int i, uint32_t off)
{
    return off + (wide ? narrow_d((const uint64_t *)b + i)
                       : *(const vd *)((const uint32_t *)b + i));
}

ALWAYS_INLINE uint32_t
shared_first(const void *b, bool wide, int i, uint32_t off)
{
    return off + (wide ? (uint32_t)((const uint64_t *)b)[i] : ((const uint32_t *)b)[i]);
}

/* Is an access of so many bytes from x on, to be aligned to `align`, in the scratchpad? */
ALWAYS_INLINE bool
shared_inside(const struct quick_run *r, uint32_t x, uint64_t bytes, unsigned align)
{
    return !(x & (align - 1)) && x + bytes <= r->shared_bytes;
}

/* The same of each of VD words. */
ALWAYS_INLINE bool
shared_words(const struct quick_run *r, vd x)
{
    return r->shared_bytes >= 4 &&
           !any_d((vd)(x > all_d((uint32_t)r->shared_bytes - 4)) | (x & 3));
}

/* What a whole row of addresses looks like. */
enum shape { ANY, ONE, NEIGHBOURS };

ALWAYS_INLINE enum shape
shared_shape(const void *b, bool wide, unsigned bytes)
{
    uint32_t first = shared_first(b, wide, 0, 0);
    vd gap = {0}, dif = {0}, next = row_d(first, bytes);
    for (int i = 0; i < LANES; i += VD, next += VD * bytes) {
        vd x = shared_addr(b, wide, i, 0);
        gap |= x ^ next;
        dif |= x ^ first;
    }
    return !any_d(gap) ? NEIGHBOURS : !any_d(dif) ? ONE : ANY;
}

ALWAYS_INLINE enum shape
global_shape(const uint64_t *b, unsigned bytes)
{
    vq gap = {0}, next = row_q(b[0], bytes);
    for (int i = 0; i < LANES; i += VQ, next += VQ * bytes)
        gap |= *(const vq *)(b + i) ^ next;
    if (!any_q(gap, ~(uint64_t)0))
        return NEIGHBOURS;
    vq dif = {0};
    for (int i = 0; i < LANES; i += VQ)
        dif |= *(const vq *)(b + i) ^ b[0];
    return !any_q(dif, ~(uint64_t)0) ? ONE : ANY;
}

/* Is an access of so many bytes from x on in the range where the instruction hit before?
 * m->last: where an access of one lane, of `lane` bytes, may begin. Takes it down. */
ALWAYS_INLINE bool
global_inside(const struct quick_run *r, const struct quick *ip, uint64_t x,
              unsigned bytes, unsigned lane, enum foot_kind kind)
{
    const struct mem_range *m = &r->range[ip->b];
    return !(x & (lane - 1)) && !(((x - m->lo) | (m->last - (x + bytes - lane))) >> 63) &&
           (!r->foot || foot_quick(r->foot, x, bytes, kind));
}

/* The same of each lane's; not while accesses are taken down. */
ALWAYS_INLINE bool
global_lanes(const struct quick_run *r, const struct quick *ip, const uint64_t *b,
             unsigned lane)
{
    const struct mem_range *m = &r->range[ip->b];
    vq out = {0}, bits = {0};
    for (int i = 0; i < LANES; i += VQ) {
        vq x = *(const vq *)(b + i) + (uint64_t)ip->off;
        out |= (x - m->lo) | (m->last - x);
        bits |= x;
    }
    out = (out & (uint64_t)1 << 63) | (bits & (lane - 1));
    return !r->foot && !any_q(out, ~(uint64_t)0);
}

/* -- rows -- */

ALWAYS_INLINE void
fill_d(uint8_t *d, uint32_t v)
{
    for (int i = 0; i < LANES; i += VD)
        *(vd *)((uint32_t *)d + i) = all_d(v);
}

ALWAYS_INLINE void
fill_q(uint8_t *d, uint64_t v)
{
    for (int i = 0; i < LANES; i += VQ)
        *(vq *)((uint64_t *)d + i) = all_q(v);
}

ALWAYS_INLINE void
copy_row(uint8_t *d, const uint8_t *s, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i += VBYTES)
        *(vd *)(d + i) = *(const vd *)(s + i);
}

/* Vectors of 2 or 4 words, one after another in memory: rows of each. */
ALWAYS_INLINE void
load_vectors(uint8_t *regs, const struct exec_inst *in, const uint8_t *host, int n)
{
    const word *from = (const word *)host;
    word *restrict d0 = (word *)(regs + in->data[0]);
    word *restrict d1 = (word *)(regs + in->data[1]);
    word *restrict d2 = (word *)(regs + in->data[n - 2]);
    word *restrict d3 = (word *)(regs + in->data[n - 1]);
    for (int i = 0; i < LANES && n == 2; i++) {
        word x = from[2 * i], y = from[2 * i + 1];
        d0[i] = x;
        d1[i] = y;
    }
    for (int i = 0; i < LANES && n == 4; i++) {
        word x = from[4 * i], y = from[4 * i + 1], z = from[4 * i + 2],
             v = from[4 * i + 3];
        d0[i] = x;
        d1[i] = y;
        d2[i] = z;
        d3[i] = v;
    }
}

ALWAYS_INLINE void
store_vectors(const uint8_t *regs, const uint8_t *consts, const struct exec_inst *in,
              uint8_t *host, int n)
{
    word *restrict to = (word *)host;
    const word *d0 = quick_source(regs, consts, in->data[0]);
    const word *d1 = quick_source(regs, consts, in->data[1]);
    const word *d2 = quick_source(regs, consts, in->data[n - 2]);
    const word *d3 = quick_source(regs, consts, in->data[n - 1]);
    for (int i = 0; i < LANES && n == 2; i++) {
        to[2 * i] = d0[i];
        to[2 * i + 1] = d1[i];
    }
    for (int i = 0; i < LANES && n == 4; i++) {
        to[4 * i] = d0[i];
        to[4 * i + 1] = d1[i];
        to[4 * i + 2] = d2[i];
        to[4 * i + 3] = d3[i];
    }
}

/* -- shared memory -- */

ALWAYS_INLINE vd
gather_shared(const uint8_t *host, vd x)
{
#if defined(__AVX512F__)
    return (vd)_mm512_i32gather_epi32((__m512i)x, host, 1);
#elif defined(__AVX2__)
    return (vd)_mm256_i32gather_epi32((const int *)(const void *)host, (__m256i)x, 1);
#else
    vd v;
    for (int k = 0; k < VD; k++)
        v[k] = *(const word *)(host + x[k]);
    return v;
#endif
}

/* By parts of VD lanes: neighbours, one word, or any. */
ALWAYS_INLINE const struct quick *
load_shared_4(QUICK_ARGS, bool wide)
{
    if (active != FULL_MASK)
        OTHERWISE;
    const void *b = quick_source(regs, consts, ip->a);
    uint32_t off = (uint32_t)ip->off;
    const uint8_t *host = r->shared;
    vd v[LANES / VD];
#pragma GCC unroll 8
    for (int i = 0; i < LANES / VD; i++) {
        uint32_t first = shared_first(b, wide, i * VD, off);
        vd x = shared_addr(b, wide, i * VD, off);
        if (!any_d(x ^ row_d(first, 4))) {
            if (!shared_inside(r, first, 4 * VD, 4))
                OTHERWISE;
            v[i] = *(const vd *)(host + first);
        } else if (!any_d(x ^ first)) {
            if (!shared_inside(r, first, 4, 4))
                OTHERWISE;
            v[i] = all_d(*(const word *)(host + first));
        } else {
            if (!shared_words(r, x))
                OTHERWISE;
            v[i] = gather_shared(host, x);
        }
    }
    uint32_t *d = (uint32_t *)(regs + ip->d);
#pragma GCC unroll 8
    for (int i = 0; i < LANES / VD; i++)
        *(vd *)(d + i * VD) = v[i];
    QUICK_NEXT;
}

ALWAYS_INLINE const struct quick *
store_shared_4(QUICK_ARGS, bool wide)
{
    if (active != FULL_MASK)
        OTHERWISE;
    const void *b = quick_source(regs, consts, ip->a);
    const uint32_t *d = quick_source(regs, consts, ip->d);
    uint32_t off = (uint32_t)ip->off, first = shared_first(b, wide, 0, off);
    uint8_t *host = r->shared;
    if (shared_shape(b, wide, 4) == NEIGHBOURS && shared_inside(r, first, ROW_BYTES, 4)) {
        copy_row(host + first, (const uint8_t *)d, ROW_BYTES);
        QUICK_NEXT;
    }
    uint32_t a[LANES];
    for (int i = 0; i < LANES; i += VD) {
        vd x = shared_addr(b, wide, i, off);
        *(vd *)(a + i) = x;
        if (!shared_words(r, x))
            OTHERWISE;
    }
    for (int i = 0; i < LANES; i++)
        *(word *)(host + a[i]) = d[i];
    QUICK_NEXT;
}

QUICK(quick_ld_shared_4)
{
    return load_shared_4(QUICK_PASS, false);
}

QUICK(quick_ld_shared_4w)
{
    return load_shared_4(QUICK_PASS, true);
}

QUICK(quick_st_shared_4)
{
    return store_shared_4(QUICK_PASS, false);
}

QUICK(quick_st_shared_4w)
{
    return store_shared_4(QUICK_PASS, true);
}

/* Words of 64 bits and vectors: neighbours, or the same for all. */
#define SHARED_WIDE(n, ROW, ALL, STORE)                                                  \
    QUICK(quick_ld_shared_##n)                                                           \
    {                                                                                    \
        const struct exec_inst *in = inst_of(r, ip);                                     \
        unsigned bytes = (unsigned)in->esize * in->nvec;                                 \
        bool wide = !(in->flags & IF_BASE32);                                            \
        if (active != FULL_MASK)                                                         \
            OTHERWISE;                                                                   \
        const void *b = quick_source(regs, consts, ip->a);                               \
        enum shape shape = shared_shape(b, wide, bytes);                                 \
        uint32_t first = shared_first(b, wide, 0, (uint32_t)ip->off);                    \
        const uint8_t *host = r->shared + first;                                         \
        if (shape == ANY ||                                                              \
            !shared_inside(r, first, shape == ONE ? bytes : LANES * bytes, bytes))       \
            OTHERWISE;                                                                   \
        if (shape == NEIGHBOURS) {                                                       \
            ROW;                                                                         \
        } else {                                                                         \
            ALL;                                                                         \
        }                                                                                \
        QUICK_NEXT;                                                                      \
    }                                                                                    \
    QUICK(quick_st_shared_##n)                                                           \
    {                                                                                    \
        const struct exec_inst *in = inst_of(r, ip);                                     \
        unsigned bytes = (unsigned)in->esize * in->nvec;                                 \
        bool wide = !(in->flags & IF_BASE32);                                            \
        if (active != FULL_MASK)                                                         \
            OTHERWISE;                                                                   \
        const void *b = quick_source(regs, consts, ip->a);                               \
        uint32_t first = shared_first(b, wide, 0, (uint32_t)ip->off);                    \
        uint8_t *host = r->shared + first;                                               \
        if (shared_shape(b, wide, bytes) != NEIGHBOURS ||                                \
            !shared_inside(r, first, LANES * bytes, bytes))                              \
            OTHERWISE;                                                                   \
        STORE;                                                                           \
        QUICK_NEXT;                                                                      \
    }
#define FILL_VECTOR                                                                      \
    for (unsigned e = 0; e < in->nvec; e++)                                              \
    fill_d(regs + in->data[e], *(const word *)(host + 4 * e))
SHARED_WIDE(8, copy_row(regs + ip->d, host, 2 * ROW_BYTES),
            fill_q(regs + ip->d, *(const dword *)host),
            copy_row(host, quick_source(regs, consts, ip->d), 2 * ROW_BYTES))
SHARED_WIDE(v2, load_vectors(regs, in, host, 2), FILL_VECTOR,
            store_vectors(regs, consts, in, host, 2))
SHARED_WIDE(v4, load_vectors(regs, in, host, 4), FILL_VECTOR,
            store_vectors(regs, consts, in, host, 4))

/* -- global memory -- */

/* n: bytes of a lane. ROW, ALL, EACH: from `host`, for each of the shapes. */
#define GLOBAL_LOAD(name, n, ROW, ALL, EACH)                                             \
    QUICK(name)                                                                          \
    {                                                                                    \
        if (active != FULL_MASK)                                                         \
            OTHERWISE;                                                                   \
        const uint64_t *b = quick_source(regs, consts, ip->a);                           \
        uint64_t first = b[0] + (uint64_t)ip->off;                                       \
        enum shape shape = global_shape(b, n);                                           \
        const uint8_t *host = r->global + first;                                         \
        if (__builtin_expect(shape == NEIGHBOURS, 1)) {                                  \
            if (!global_inside(r, ip, first, LANES * (n), n, FOOT_READ))                 \
                OTHERWISE;                                                               \
            ROW;                                                                         \
        } else if (shape == ONE) {                                                       \
            if (!global_inside(r, ip, first, n, n, FOOT_READ))                           \
                OTHERWISE;                                                               \
            ALL;                                                                         \
        } else {                                                                         \
            EACH;                                                                        \
        }                                                                                \
        QUICK_NEXT;                                                                      \
    }
#define GLOBAL_STORE(name, n, ROW, EACH)                                                 \
    QUICK(name)                                                                          \
    {                                                                                    \
        if (active != FULL_MASK)                                                         \
            OTHERWISE;                                                                   \
        const uint64_t *b = quick_source(regs, consts, ip->a);                           \
        uint64_t first = b[0] + (uint64_t)ip->off;                                       \
        uint8_t *host = r->global + first;                                               \
        if (__builtin_expect(global_shape(b, n) == NEIGHBOURS, 1)) {                     \
            if (!global_inside(r, ip, first, LANES * (n), n, FOOT_WRITE))                \
                OTHERWISE;                                                               \
            ROW;                                                                         \
        } else {                                                                         \
            EACH;                                                                        \
        }                                                                                \
        QUICK_NEXT;                                                                      \
    }

#define GATHER_D                                                                         \
    if (!global_lanes(r, ip, b, 4))                                                      \
        OTHERWISE;                                                                       \
    vd v[LANES / VD];                                                                    \
    for (int i = 0; i < LANES / VD; i++)                                                 \
        v[i] = gather_d(r->global + ip->off, b + i * VD);                                \
    for (int i = 0; i < LANES / VD; i++)                                                 \
    *(vd *)((uint32_t *)(regs + ip->d) + i * VD) = v[i]
/* A quarter of the lanes at a time reads its addresses and then writes them. */
#define GATHER_Q                                                                         \
    if (!global_lanes(r, ip, b, 8))                                                      \
        OTHERWISE;                                                                       \
    for (int i = 0; i < LANES; i += VQ)                                                  \
    *(vq *)((uint64_t *)(regs + ip->d) + i) = gather_q(r->global + ip->off, b + i)
#define SCATTER(type, n)                                                                 \
    if (!global_lanes(r, ip, b, n))                                                      \
        OTHERWISE;                                                                       \
    const type *d = quick_source(regs, consts, ip->d);                                   \
    for (int i = 0; i < LANES; i++)                                                      \
    *(type *)(r->global + ip->off + b[i]) = d[i]

GLOBAL_LOAD(quick_ld_global_4, 4, copy_row(regs + ip->d, host, ROW_BYTES),
            fill_d(regs + ip->d, *(const word *)host), GATHER_D)
GLOBAL_LOAD(quick_ld_global_8, 8, copy_row(regs + ip->d, host, 2 * ROW_BYTES),
            fill_q(regs + ip->d, *(const dword *)host), GATHER_Q)
GLOBAL_LOAD(quick_ld_global_v2, 8, load_vectors(regs, inst_of(r, ip), host, 2), OTHERWISE,
            OTHERWISE)
GLOBAL_LOAD(quick_ld_global_v4, 16, load_vectors(regs, inst_of(r, ip), host, 4),
            OTHERWISE, OTHERWISE)
GLOBAL_STORE(quick_st_global_4, 4,
             copy_row(host, quick_source(regs, consts, ip->d), ROW_BYTES),
             SCATTER(word, 4))
GLOBAL_STORE(quick_st_global_8, 8,
             copy_row(host, quick_source(regs, consts, ip->d), 2 * ROW_BYTES),
             SCATTER(dword, 8))
GLOBAL_STORE(quick_st_global_v2, 8, store_vectors(regs, consts, inst_of(r, ip), host, 2),
             OTHERWISE)
GLOBAL_STORE(quick_st_global_v4, 16, store_vectors(regs, consts, inst_of(r, ip), host, 4),
             OTHERWISE)

/* -- one value for all lanes; moves -- */

ALWAYS_INLINE void
set_d(uint8_t *d, uint64_t active, uint32_t v)
{
    for (int i = 0; i < LANES; i += VD)
        put_d((uint32_t *)d, i, (uint32_t)active, all_d(v));
}

ALWAYS_INLINE void
set_q(uint8_t *d, uint64_t active, uint64_t v)
{
    for (int i = 0; i < LANES; i += VQ)
        put_q((uint64_t *)d, i, (uint32_t)active, all_q(v));
}

QUICK(quick_ld_param_4)
{
    set_d(regs + ip->d, active, *(const word *)(r->params + ip->off));
    QUICK_NEXT;
}

QUICK(quick_ld_param_8)
{
    set_q(regs + ip->d, active, *(const dword *)(r->params + ip->off));
    QUICK_NEXT;
}

QUICK(quick_set_4)
{
    set_d(regs + ip->d, active, (uint32_t)ip->value);
    QUICK_NEXT;
}

QUICK(quick_set_8)
{
    set_q(regs + ip->d, active, ip->value);
    QUICK_NEXT;
}

QUICK(quick_mov_4)
{
    const uint32_t *a = quick_source(regs, consts, ip->a);
    for (int i = 0; i < LANES; i += VD)
        put_d((uint32_t *)(regs + ip->d), i, (uint32_t)active, *(const vd *)(a + i));
    QUICK_NEXT;
}

QUICK(quick_mov_8)
{
    const uint64_t *a = quick_source(regs, consts, ip->a);
    for (int i = 0; i < LANES; i += VQ)
        put_q((uint64_t *)(regs + ip->d), i, (uint32_t)active, *(const vq *)(a + i));
    QUICK_NEXT;
}

/* -- */

#define PASTE(a, b) a##b
#define NAMED(name, variant) PASTE(name, variant)
const struct quick *
NAMED(quick_enter_, EXEC_VARIANT)(struct quick_run *r, const struct quick *ip)
{
    const struct quick *at = NULL; /* a record that returns itself */
    struct exec_warp *w = r->w;
    while (ip != r->stop && ip != at && r->result == EXEC_OK) {
        at = ip;
        ip = ip->fn(r, ip, w->regs, w->consts, w->active, r->stop);
    }
#ifdef __AVX__
    _mm256_zeroupper();
#endif
    return ip;
}

quick_fn *const NAMED(quick_fast_, EXEC_VARIANT)[QUICK_N] = {
    [QUICK_STEP] = quick_step,
    [QUICK_PURE] = quick_pure,
    [QUICK_PURE_GUARD] = quick_pure_guard,
    [QUICK_WARP] = quick_warp,
    [QUICK_MEMORY] = quick_memory,
    [QUICK_MEMORY_GUARD] = quick_memory_guard,
    [QUICK_BRA] = quick_bra,
    [QUICK_BRA_GUARD] = quick_bra_guard,
    [QUICK_LD_GLOBAL_4] = quick_ld_global_4,
    [QUICK_LD_GLOBAL_8] = quick_ld_global_8,
    [QUICK_LD_GLOBAL_V2] = quick_ld_global_v2,
    [QUICK_LD_GLOBAL_V4] = quick_ld_global_v4,
    [QUICK_ST_GLOBAL_4] = quick_st_global_4,
    [QUICK_ST_GLOBAL_8] = quick_st_global_8,
    [QUICK_ST_GLOBAL_V2] = quick_st_global_v2,
    [QUICK_ST_GLOBAL_V4] = quick_st_global_v4,
    [QUICK_LD_SHARED_4] = quick_ld_shared_4,
    [QUICK_LD_SHARED_4W] = quick_ld_shared_4w,
    [QUICK_LD_SHARED_8] = quick_ld_shared_8,
    [QUICK_LD_SHARED_V2] = quick_ld_shared_v2,
    [QUICK_LD_SHARED_V4] = quick_ld_shared_v4,
    [QUICK_ST_SHARED_4] = quick_st_shared_4,
    [QUICK_ST_SHARED_4W] = quick_st_shared_4w,
    [QUICK_ST_SHARED_8] = quick_st_shared_8,
    [QUICK_ST_SHARED_V2] = quick_st_shared_v2,
    [QUICK_ST_SHARED_V4] = quick_st_shared_v4,
    [QUICK_LD_PARAM_4] = quick_ld_param_4,
    [QUICK_LD_PARAM_8] = quick_ld_param_8,
    [QUICK_MOV_4] = quick_mov_4,
    [QUICK_MOV_8] = quick_mov_8,
    [QUICK_SET_4] = quick_set_4,
    [QUICK_SET_8] = quick_set_8,
};
