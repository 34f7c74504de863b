/* exec_mem.c: loads, stores, atomics and reductions on all spaces: the general forms,
 * lane by lane, and the choice of handler when decoding. Fast forms: exec_fast.c.
 *
 * Addresses of all spaces but global and generic have 32 bits, and so has every address
 * where .address_size is 32: a 64-bit register is truncated, and register + offset wraps
 * at 2^32 (IF_WRAP). Compilers rely on it: base - 64 in a register, 68 as the offset.
 *
 * Local memory is word-interleaved: word k of lane i is word k * 32 + i. The parameters
 * of functions are rows of words as well, and their accesses are register moves. Atomics
 * work lane after lane, lowest first, so results do not depend on anything else. */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"
#include "exec/lanes/fp.h"
#include "exec/lanes/lanes_int.h"

#include <stdatomic.h>
#include <string.h>

/* Addresses of the lanes; inactive ones get the first active lane's. */
void
mem_addresses(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
              uint64_t *a)
{
    uint64_t off = (uint64_t)in->off + (in->flags & IF_FRAME ? w->local_base : 0);
    const void *b = in->base == REF_NONE ? NULL : row(w, in->base);
    const uint32_t *narrow = b;
    const uint64_t *wide = b;
    if (!b)
        for (int i = 0; i < LANES; i++)
            a[i] = off;
    else if (in->flags & IF_BASE32)
        for (int i = 0; i < LANES; i++)
            a[i] = off + narrow[i];
    else
        for (int i = 0; i < LANES; i++)
            a[i] = off + wide[i];
    uint64_t first = a[bit_lowest(mask)];
    if (mask != FULL_MASK)
        for (int i = 0; i < LANES; i++)
            a[i] = mask >> i & 1 ? a[i] : first;
    if (in->flags & IF_WRAP)
        for (int i = 0; i < LANES; i++)
            a[i] &= UINT32_MAX;
}

/* -- checks -- */

unsigned
mem_generic_space(uint64_t *addr)
{
    uint64_t a = *addr;
    if (a - DEV_SHARED_BASE >= 4ull * DEV_WINDOW)
        return PTX_SPACE_GLOBAL;
    *addr = a % DEV_WINDOW;
    switch (a / DEV_WINDOW) {
    case DEV_SHARED_BASE / DEV_WINDOW:
        return PTX_SPACE_SHARED;
    case DEV_LOCAL_BASE / DEV_WINDOW:
        return PTX_SPACE_LOCAL;
    case DEV_CONST_BASE / DEV_WINDOW:
        return PTX_SPACE_CONST;
    default:
        return PTX_SPACE_PARAM;
    }
}

bool
mem_lane_ok(const struct exec_warp *w, unsigned space, uint64_t addr, unsigned bytes)
{
    if (addr & (bytes - 1))
        return false;
    if (space == PTX_SPACE_GLOBAL) {
        struct dev_range r;
        return dev_find(w->cta->grid->mem, addr, &r) && !r.dead && bytes <= r.size &&
               addr - r.addr <= r.size - bytes;
    }
    uint64_t size = space_bytes(w, space);
    return bytes <= size && addr <= size - bytes;
}

/* Slow path of global accesses: remembers the allocation of the first lane; true if all
 * lanes are allowed. */
bool
mem_global_ok(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
              const uint64_t *a, unsigned bytes)
{
    struct dev_range r;
    struct mem_range *cache = &w->cta->ex->range[in->slot];
    if (dev_find(w->cta->grid->mem, a[bit_lowest(mask)], &r) && !r.dead &&
        r.size >= bytes)
        *cache = (struct mem_range){r.addr, r.addr + r.size - bytes};
    if (in->flags & IF_WRAP && cache->last > UINT32_MAX)
        cache->last = UINT32_MAX; /* what wraps is not to hit it */
    FOR_BITS(i, mask)
    if ((a[i] - cache->lo > cache->last - cache->lo || cache->lo > cache->last ||
         a[i] & (bytes - 1)) &&
        !mem_lane_ok(w, PTX_SPACE_GLOBAL, a[i], bytes))
        return false;
    return true;
}

/* Is an access to another block's scratchpad allowed? NULL: yes; else why not. */
static const char *
remote_why(const struct exec_warp *w, const struct exec_inst *in, uint64_t addr,
           unsigned bytes)
{
    uint64_t at;
    const struct exec_cta *c = exec_shared_owner(w, addr, &at);
    if (in->space == PTX_SPACE_SHARED && !(in->flags & IF_CLUSTER))
        return "it lies in the scratchpad of another block of the cluster, which needs "
               ".shared::cluster or a generic address";
    return !c                 ? "the cluster has no block of that rank"
           : !c->live_warps   ? "that block of the cluster has ended"
           : at & (bytes - 1) ? "it is misaligned"
           : bytes > c->shared_bytes || at > c->shared_bytes - bytes
               ? "it lies outside of that block's scratchpad"
               : NULL;
}

static enum exec_result
blame_remote(struct exec_warp *w, const struct exec_inst *in, unsigned lane,
             uint64_t addr, unsigned bytes, const char *why)
{
    const unsigned rank = (unsigned)(addr / DEV_RANK - 1);
    const struct exec_cluster *k = w->cta->cluster;
    enum exec_result r = exec_fault(
        w, in, lane,
        rank < k->n && !k->cta[rank]->live_warps
            ? "let blocks end behind a barrier.cluster that comes after the last access"
            : NULL,
        "access of %u bytes at byte %llu of the scratchpad of rank %u: %s", bytes,
        (unsigned long long)(addr % DEV_RANK), rank, why);
    w->cta->failure = ALLOT_FAULT_ADDRESS;
    return r;
}

enum exec_result
mem_blame(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          const struct exec_access *x, unsigned bytes)
{
    FOR_BITS(i, mask & x->remote)
    {
        const char *why = remote_why(w, in, x->addr[i], bytes);
        if (why)
            return blame_remote(w, in, (unsigned)i, x->addr[i], bytes, why);
    }
    mask &= ~x->remote;
    if (!mask)
        return exec_fault(w, in, (unsigned)bit_lowest(x->remote), NULL,
                          "this access is not allowed");
    FOR_BITS(i, mask)
    {
        unsigned space = x->space == PTX_SPACE_NONE ? x->lane_space[i] : x->space;
        bool writes_ro = in->kind != MEM_LOAD &&
                         (space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM);
        if (writes_ro || !mem_lane_ok(w, space, x->addr[i], bytes))
            return exec_fault_memory(w, in, (unsigned)i, space, x->addr[i]);
    }
    return exec_fault(w, in, (unsigned)bit_lowest(mask), NULL,
                      "this access is not allowed");
}

/* -- rows -- */

/* Value of a data register as an element. */
uint64_t
mem_data_lane(const struct exec_warp *w, const struct exec_inst *in, unsigned e,
              unsigned i)
{
    const void *p = row(w, in->data[e]);
    return in->dwide >> e & 1 ? ((const uint64_t *)p)[i] : ((const uint32_t *)p)[i];
}

/* Puts loaded elements v[] (zero-extended) into data register e. */
void
mem_put_element(struct exec_warp *w, const struct exec_inst *in, unsigned e,
                uint32_t mask, uint64_t *v)
{
    if (in->data[e] == REF_NONE)
        return;
    bool is_signed = in->flags & IF_SIGNED;
    if (is_signed)
        for (int i = 0; i < LANES; i++)
            v[i] = extend(v[i], in->esize, true);
    if (in->dwide >> e & 1) {
        uint64_t *d = row(w, in->data[e]);
        FOR_BITS(i, mask)
        d[i] = v[i];
        return;
    }
    uint32_t *d = row(w, in->data[e]), keep = in->dhalf >> e & 1 ? 0xffff : FULL_MASK;
    FOR_BITS(i, mask)
    d[i] = (uint32_t)v[i] & keep;
}

/* -- host addresses -- */

uint8_t *
mem_host(const struct exec_warp *w, unsigned space, uint64_t addr)
{
    if (space != PTX_SPACE_SHARED || addr < DEV_RANK)
        return host_base(w, space) + addr;
    uint64_t at;
    const struct exec_cta *c = exec_shared_owner(w, addr, &at);
    return c->shared + at;
}

static uint64_t
lane_read(const struct exec_warp *w, unsigned space, uint64_t addr, unsigned lane,
          unsigned size)
{
    if (space != PTX_SPACE_LOCAL)
        return read_element(mem_host(w, space, addr), size);
    const uint8_t *p = w->local + ((size_t)(addr / 4) * LANES + lane) * 4;
    if (size < 8)
        return read_element(p + addr % 4, size);
    return read_element(p, 4) | read_element(p + ROW_BYTES, 4) << 32;
}

static void
lane_write(struct exec_warp *w, unsigned space, uint64_t addr, unsigned lane,
           unsigned size, uint64_t v)
{
    if (space != PTX_SPACE_LOCAL) {
        write_element(mem_host(w, space, addr), size, v);
        return;
    }
    uint8_t *p = w->local + ((size_t)(addr / 4) * LANES + lane) * 4;
    if (size < 8) {
        write_element(p + addr % 4, size, v);
    } else {
        write_element(p, 4, v);
        write_element(p + ROW_BYTES, 4, v >> 32);
    }
}

/* -- any access: finds spaces, checks; leaves the lanes' addresses in the access -- */

/* Lanes whose address names the scratchpad of a rank: the block's own becomes an ordinary
 * one, others are remote. */
static void
find_remote(const struct exec_warp *w, uint32_t mask, struct exec_access *x)
{
    FOR_BITS(i, mask)
    {
        uint64_t at;
        if ((x->space ? x->space : x->lane_space[i]) != PTX_SPACE_SHARED ||
            x->addr[i] < DEV_RANK)
            continue;
        if (exec_shared_owner(w, x->addr[i], &at) == w->cta)
            x->addr[i] = at;
        else
            x->remote |= 1u << i;
    }
    x->mask &= ~x->remote;
}

void
mem_resolve(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_access *x)
{
    const bool cluster = w->cta->cluster && w->cta->cluster->n > 1;
    mem_addresses(w, in, mask, x->addr);
    x->space = in->space;
    x->bytes = (uint8_t)(in->esize * in->nvec);
    x->load = in->kind == MEM_LOAD;
    x->store = in->kind == MEM_STORE;
    x->atomic = in->kind == MEM_ATOMIC;
    x->cache = in->cache;
    x->mask = mask;
    x->remote = 0;
    if (in->space != PTX_SPACE_NONE) {
        if (cluster && in->space == PTX_SPACE_SHARED)
            find_remote(w, mask, x);
        return;
    }
    unsigned first = PTX_SPACE_NONE;
    bool mixed = false;
    for (int i = 0; i < LANES; i++) {
        x->lane_space[i] = (uint8_t)mem_generic_space(&x->addr[i]);
        if (!i)
            first = x->lane_space[0];
        mixed |= x->lane_space[i] != first;
    }
    if (!mixed)
        x->space = (uint8_t)first;
    if (cluster && (mixed || first == PTX_SPACE_SHARED))
        find_remote(w, mask, x);
}

bool
mem_allowed(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            const struct exec_access *x)
{
    unsigned bytes = x->bytes;
    if (in->kind != MEM_LOAD &&
        (x->space == PTX_SPACE_CONST || x->space == PTX_SPACE_PARAM))
        return false;
    if (x->space == PTX_SPACE_GLOBAL)
        return mem_global_ok(w, in, mask, x->addr, bytes);
    FOR_BITS(i, mask)
    {
        unsigned space = x->space == PTX_SPACE_NONE ? x->lane_space[i] : x->space;
        if (x->remote >> i & 1) {
            if (remote_why(w, in, x->addr[i], bytes))
                return false;
            continue;
        }
        if (!mem_lane_ok(w, space, x->addr[i], bytes) ||
            (in->kind != MEM_LOAD &&
             (space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM)))
            return false;
    }
    return true;
}

#define LANE_SPACE(x, i) ((x)->space == PTX_SPACE_NONE ? (x)->lane_space[i] : (x)->space)

/* -- accesses that wait -- */

void
exec_log_init(struct exec_log *l, struct arena *a, uint32_t instructions)
{
    *l = (struct exec_log){.cap = instructions * LOG_MOST};
    l->v = arena_alloc_sparse(a, l->cap);
}

void
exec_log_apply(struct exec_log *l, uint64_t now)
{
    while (l->at < l->n) {
        const struct log_entry *e =
            (const struct log_entry *)(const void *)(l->v + l->at);
        if (e->cycle != now)
            return;
        e->apply(e);
        l->at += e->bytes;
    }
    l->at = l->n = 0;
}

/* -- reductions that commute (exec_blocks.c) -- */

uint16_t
mem_reduction(const struct exec_inst *in)
{
    unsigned kind = ptx_types[in->type].kind;
    bool commutes = in->sub == AT_ADD || in->sub == AT_AND || in->sub == AT_OR ||
                    in->sub == AT_XOR || in->sub == AT_MIN || in->sub == AT_MAX;
    if (in->kind != MEM_ATOMIC || in->data[0] != REF_NONE || !commutes ||
        (kind != PTX_K_BITS && kind != PTX_K_UINT && kind != PTX_K_SINT) ||
        (in->esize != 4 && in->esize != 8))
        return 0;
    return (uint16_t)(1 + in->sub + in->type * 16);
}

/* A reduction that may be concurrent with those of other host threads. */
static bool
reduces(const struct exec_warp *w, const struct exec_inst *in)
{
    return w->cta->log && w->cta->log->foot && in->kind == MEM_ATOMIC &&
           mem_reduction(in) && mem_reduction(in) == w->cta->grid->prog->reduction;
}

static void
reduce(const struct exec_inst *in, uint8_t *p, uint64_t b)
{
    if (in->esize == 4) {
        _Atomic uint32_t *v = (_Atomic uint32_t *)(void *)p;
        uint32_t old = atomic_load_explicit(v, memory_order_relaxed);
        while (!atomic_compare_exchange_weak(
            v, &old, (uint32_t)mem_atom_value(in, PTX_SPACE_GLOBAL, old, b, 0))) {
        }
        return;
    }
    _Atomic uint64_t *v = (_Atomic uint64_t *)(void *)p;
    uint64_t old = atomic_load_explicit(v, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(
        v, &old, mem_atom_value(in, PTX_SPACE_GLOBAL, old, b, 0))) {
    }
}

/* Lanes whose access waits: those on global memory, if the block has a log. Where they
 * are taken down instead, none does; false: they must not be made. */
static bool
waiting(const struct exec_warp *w, const struct exec_inst *in,
        const struct exec_access *x, uint32_t mask, uint32_t *later)
{
    *later = 0;
    if (!w->cta->log)
        return true;
    FOR_BITS(i, mask)
    if (LANE_SPACE(x, i) == PTX_SPACE_GLOBAL)
        *later |= 1u << i;
    if (!w->cta->log->foot)
        return true;
    uint32_t now = *later;
    *later = 0;
    return exec_foot_lanes(w->cta->log->foot, now, x->addr, x->bytes,
                           in->kind == MEM_LOAD    ? FOOT_READ
                           : in->kind == MEM_STORE ? FOOT_WRITE
                           : reduces(w, in)        ? FOOT_REDUCE
                                                   : FOOT_READ | FOOT_WRITE);
}

static void
load_lanes(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           const struct exec_access *x, const uint64_t *a)
{
    uint64_t v[4][LANES] = {{0}};
    for (unsigned e = 0; e < in->nvec; e++)
        FOR_BITS(i, mask)
    v[e][i] = lane_read(w, x ? LANE_SPACE(x, i) : PTX_SPACE_GLOBAL, a[i] + e * in->esize,
                        (unsigned)i, in->esize);
    for (unsigned e = 0; e < in->nvec; e++)
        mem_put_element(w, in, e, mask, v[e]);
}

/* Lanes that read in the guard of an allocation. */
static void
load_guarded(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             const uint64_t *a)
{
    for (unsigned e = 0; e < in->nvec; e++) {
        uint64_t v[LANES] = {0};
        FOR_BITS(i, mask)
        guard_copy(w->cta->grid->mem, a[i] + e * in->esize, &v[i], in->esize);
        mem_put_element(w, in, e, mask, v);
    }
}

static void
wait_guarded(const struct log_entry *e)
{
    load_guarded(e->w, e->in, e->mask, e->a);
}

static void
wait_load(const struct log_entry *e)
{
    load_lanes(e->w, e->in, e->mask, NULL, e->a);
}

static void
wait_store(const struct log_entry *e)
{
    const struct exec_inst *in = e->in;
    const uint64_t *v = log_values(e);
    FOR_BITS(i, e->mask)
    for (unsigned k = 0; k < in->nvec; k++)
        lane_write(e->w, PTX_SPACE_GLOBAL, e->a[i] + k * in->esize, (unsigned)i,
                   in->esize, v[k * LANES + (unsigned)i]);
}

/* Lanes that write in the guard of an allocation. */
static void
store_guarded(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
              const uint64_t *a, const uint64_t *v)
{
    FOR_BITS(i, mask)
    for (unsigned e = 0; e < in->nvec; e++)
        guard_store(w->cta->grid->mem, a[i] + e * in->esize, &v[e * LANES + (unsigned)i],
                    in->esize);
}

static void
wait_store_guarded(const struct log_entry *e)
{
    store_guarded(e->w, e->in, e->mask, e->a, log_values(e));
}

/* d[i] = s[i] for the lanes of mask. */
static void
blend(uint32_t *d, const uint32_t *s, uint32_t mask)
{
    if (mask == FULL_MASK) {
        memcpy(d, s, ROW_BYTES);
        return;
    }
    for (int i = 0; i < LANES; i++)
        d[i] = mask >> i & 1 ? s[i] : d[i];
}

/* Element e of whole words between its register and rows of words, of which one of 64
 * bits takes two. False: it is not of the register's size. */
static bool
word_rows(struct exec_warp *w, const struct exec_inst *in, unsigned e, uint32_t mask,
          uint8_t *words, bool load)
{
    bool wide = in->dwide >> e & 1;
    if ((in->esize != 4 && in->esize != 8) || wide != (in->esize == 8) ||
        in->dhalf >> e & 1)
        return false;
    if (in->data[e] == REF_NONE)
        return load;
    uint32_t *r = row(w, in->data[e]), *lo = (uint32_t *)(void *)words, *hi = lo + LANES;
    if (!wide) {
        blend(load ? r : lo, load ? lo : r, mask);
        return true;
    }
    uint64_t *q = (uint64_t *)(void *)r;
    FOR_BITS(i, mask)
    if (load) {
        q[i] = (uint64_t)hi[i] << 32 | lo[i];
    } else {
        lo[i] = (uint32_t)q[i];
        hi[i] = (uint32_t)(q[i] >> 32);
    }
    return true;
}

/* An access of all lanes to one address of local memory, the usual case, is one to rows.
 * False: it is none, or not all of it was made. */
static bool
local_rows(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           const struct exec_access *x, bool load)
{
    uint64_t differ = 0, a = x->addr[0];
    if (x->space != PTX_SPACE_LOCAL)
        return false;
    for (int i = 0; i < LANES; i++)
        differ |= x->addr[i] ^ a;
    if (differ || a % 4 || !mem_lane_ok(w, PTX_SPACE_LOCAL, a, x->bytes))
        return false;
    uint8_t *p = w->local + a / 4 * ROW_BYTES;
    for (unsigned e = 0; e < in->nvec; e++, p += in->esize / 4 * ROW_BYTES)
        if (!word_rows(w, in, e, mask, p, load))
            return false;
    return true;
}

enum exec_result
mem_ld_any(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    struct exec_access *x = &s->access;
    uint32_t zone = 0;
    mem_resolve(w, in, mask, x);
    s->has_access = true;
    if (local_rows(w, in, mask, x, true))
        return EXEC_OK;
    if (!mem_allowed(w, in, mask, x) && !guard_lanes(w, in, mask, x, x->bytes, &zone))
        return mem_blame(w, in, mask, x, x->bytes);
    uint32_t later;
    if (!waiting(w, in, x, mask & ~zone, &later))
        return EXEC_FAULT;
    if (later)
        log_add(w, in, later, wait_load, SHAPE_ALL, x->addr, 0);
    load_lanes(w, in, mask & ~zone & ~later, x, x->addr);
    if (zone && w->cta->log)
        log_add(w, in, zone, wait_guarded, SHAPE_ALL, x->addr, 0);
    else if (zone)
        load_guarded(w, in, zone, x->addr);
    return EXEC_OK;
}

static void
store_values(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, uint64_t *v)
{
    FOR_BITS(i, mask)
    for (unsigned e = 0; e < in->nvec; e++)
        v[e * LANES + (unsigned)i] = mem_data_lane(w, in, e, (unsigned)i);
}

enum exec_result
mem_st_any(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    struct exec_access *x = &s->access;
    mem_resolve(w, in, mask, x);
    s->has_access = true;
    if (local_rows(w, in, mask, x, false))
        return EXEC_OK;
    uint32_t zone = 0;
    if (!mem_allowed(w, in, mask, x) && !guard_lanes(w, in, mask, x, x->bytes, &zone))
        return mem_blame(w, in, mask, x, x->bytes);
    uint32_t later;
    if (!waiting(w, in, x, mask & ~zone, &later))
        return EXEC_FAULT;
    if (later) {
        uint64_t *v = log_add(w, in, later, wait_store, SHAPE_ALL, x->addr,
                              in->nvec * LANES * sizeof *v);
        store_values(w, in, later, v);
    }
    if (zone) {
        uint64_t v[4 * LANES];
        store_values(w, in, zone, v);
        if (w->cta->log)
            memcpy(log_add(w, in, zone, wait_store_guarded, SHAPE_ALL, x->addr,
                           in->nvec * LANES * sizeof *v),
                   v, in->nvec * LANES * sizeof *v);
        else
            store_guarded(w, in, zone, x->addr, v);
    }
    FOR_BITS(i, mask & ~zone & ~later)
    for (unsigned e = 0; e < in->nvec; e++)
        lane_write(w, LANE_SPACE(x, i), x->addr[i] + e * in->esize, (unsigned)i,
                   in->esize, mem_data_lane(w, in, e, (unsigned)i));
    return EXEC_OK;
}

/* -- .v8: two records of four elements each, the second 16 bytes on. The address is that of
 * the whole, found before a register is written -- */

static const struct exec_inst *
half_of(const struct exec_inst *in, unsigned h)
{
    const struct exec_inst *p;
    memcpy(&p, in->data, sizeof p); /* `off` stands where other instructions have it */
    return &p[h];
}

static bool
half_access(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s, uint32_t *zone, uint32_t *later, enum exec_result *r)
{
    struct exec_access *x = &s->access;
    *zone = 0;
    mem_resolve(w, in, mask, x);
    s->has_access = true;
    *r = EXEC_OK;
    if (!mem_allowed(w, in, mask, x) && !guard_lanes(w, in, mask, x, x->bytes, zone))
        *r = mem_blame(w, in, mask, x, x->bytes);
    else if (!waiting(w, in, x, mask & ~*zone, later))
        *r = EXEC_FAULT;
    return *r == EXEC_OK;
}

static enum exec_result
h_ld_v8(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    uint32_t zone, later;
    uint64_t a[LANES];
    enum exec_result r;
    if (!half_access(w, in, mask, s, &zone, &later, &r))
        return r;
    for (unsigned h = 0; h < 2; h++) {
        const struct exec_inst *half = half_of(in, h);
        for (unsigned i = 0; i < LANES; i++)
            a[i] = s->access.addr[i] + 16 * h;
        if (later)
            log_add(w, half, later, wait_load, SHAPE_ALL, a, 0);
        load_lanes(w, half, mask & ~zone & ~later, &s->access, a);
        if (zone && w->cta->log)
            log_add(w, half, zone, wait_guarded, SHAPE_ALL, a, 0);
        else if (zone)
            load_guarded(w, half, zone, a);
    }
    return EXEC_OK;
}

static enum exec_result
h_st_v8(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    uint32_t zone, later;
    uint64_t a[LANES], v[4 * LANES];
    const struct exec_access *x = &s->access;
    enum exec_result r;
    if (!half_access(w, in, mask, s, &zone, &later, &r))
        return r;
    for (unsigned h = 0; h < 2; h++) {
        const struct exec_inst *half = half_of(in, h);
        for (unsigned i = 0; i < LANES; i++)
            a[i] = x->addr[i] + 16 * h;
        if (later)
            store_values(w, half, later,
                         log_add(w, half, later, wait_store, SHAPE_ALL, a, sizeof v));
        if (zone) {
            store_values(w, half, zone, v);
            if (w->cta->log)
                memcpy(log_add(w, half, zone, wait_store_guarded, SHAPE_ALL, a, sizeof v),
                       v, sizeof v);
            else
                store_guarded(w, half, zone, a, v);
        }
        FOR_BITS(i, mask & ~zone & ~later)
        for (unsigned e = 0; e < 4; e++)
            lane_write(w, LANE_SPACE(x, i), a[i] + e * half->esize, (unsigned)i,
                       half->esize, mem_data_lane(w, half, e, (unsigned)i));
    }
    return EXEC_OK;
}

bool
mem_read_generic(const struct exec_warp *w, unsigned lane, uint64_t addr, void *dst,
                 unsigned n)
{
    uint64_t a = addr;
    unsigned space = mem_generic_space(&a);
    for (unsigned i = 0; i < n; i++) {
        if (!mem_lane_ok(w, space, a + i, 1))
            return false;
        ((uint8_t *)dst)[i] = (uint8_t)lane_read(w, space, a + i, lane, 1);
    }
    return true;
}

bool
mem_write_generic(struct exec_warp *w, unsigned lane, uint64_t addr, const void *src,
                  unsigned n)
{
    uint64_t a = addr;
    unsigned space = mem_generic_space(&a);
    for (unsigned i = 0; i < n; i++) {
        if (!mem_lane_ok(w, space, a + i, 1))
            return false;
        lane_write(w, space, a + i, lane, 1, ((const uint8_t *)src)[i]);
    }
    if (space == PTX_SPACE_GLOBAL)
        dev_mark_written(w->cta->grid->mem, a, n);
    return true;
}

/* -- parameters of functions: rows of words -- */

static enum exec_result
h_ld_fparam(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    for (unsigned e = 0; e < in->nvec; e++) {
        uint32_t at = (uint32_t)in->off + e * in->esize;
        uint8_t *p = (uint8_t *)row(w, in->base) + (size_t)(at / 4) * ROW_BYTES;
        if (word_rows(w, in, e, mask, p, true))
            continue;
        uint64_t v[LANES];
        for (int i = 0; i < LANES; i++) {
            uint64_t x = ((const uint32_t *)p)[i];
            if (in->esize == 8)
                x |= (uint64_t)((const uint32_t *)p)[LANES + i] << 32;
            else if (in->esize < 4)
                x = x >> (at % 4 * 8) & ((1u << in->esize * 8) - 1);
            v[i] = x;
        }
        mem_put_element(w, in, e, mask, v);
    }
    return EXEC_OK;
}

static enum exec_result
h_st_fparam(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    for (unsigned e = 0; e < in->nvec; e++) {
        uint32_t at = (uint32_t)in->off + e * in->esize;
        uint8_t *p = (uint8_t *)row(w, in->base) + (size_t)(at / 4) * ROW_BYTES;
        if (word_rows(w, in, e, mask, p, false))
            continue;
        FOR_BITS(i, mask)
        {
            uint64_t v = mem_data_lane(w, in, e, (unsigned)i);
            uint8_t *q = p + i * 4;
            if (in->esize == 8) {
                write_element(q, 4, v);
                write_element(q + ROW_BYTES, 4, v >> 32);
            } else {
                write_element(q + at % 4, in->esize, v);
            }
        }
    }
    return EXEC_OK;
}

/* -- atomics -- */

static float
as_f32(uint64_t v)
{
    uint32_t b = (uint32_t)v;
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static double
as_f64(uint64_t v)
{
    double f;
    memcpy(&f, &v, 8);
    return f;
}

static uint64_t
of_f32(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return f != f ? FP_NAN32 : b;
}

static uint64_t
of_f64(double f)
{
    uint64_t b;
    memcpy(&b, &f, 8);
    return f != f ? FP_NAN64 : b;
}

/* Sums of 11 and 8 bits are right when they are rounded to 24 bits first. */
static uint64_t
add_half(unsigned type, uint64_t a, uint64_t b)
{
    if (type == PTX_F16 || type == PTX_F16X2)
        return fp_soft_to_half(
            (double)fp_from_half((uint16_t)a) + (double)fp_from_half((uint16_t)b), FP_RN);
    float sum = as_f32((a & 0xffff) << 16) + as_f32((b & 0xffff) << 16);
    if (sum != sum)
        return 0x7fff;
    uint32_t v = fp_bits32(sum);
    return (v + 0x7fff + (v >> 16 & 1)) >> 16;
}

/* What an integer operation on an element of `bytes` bytes leaves. */
ALWAYS_INLINE uint64_t
atom_integer(unsigned op, bool is_signed, unsigned bytes, uint64_t old, uint64_t b,
             uint64_t c)
{
    int64_t so = (int64_t)extend(old, bytes, is_signed),
            sb = (int64_t)extend(b, bytes, is_signed);
    switch (op) {
    case AT_ADD:
        return old + b;
    case AT_AND:
        return old & b;
    case AT_OR:
        return old | b;
    case AT_XOR:
        return old ^ b;
    case AT_MIN:
        return is_signed ? (so < sb ? old : b) : (old < b ? old : b);
    case AT_MAX:
        return is_signed ? (so > sb ? old : b) : (old > b ? old : b);
    case AT_INC:
        return old >= b ? 0 : old + 1;
    case AT_DEC:
        return old == 0 || old > b ? b : old - 1;
    case AT_EXCH:
        return b;
    default:
        return old == b ? c : old;
    }
}

uint64_t
mem_atom_value(const struct exec_inst *in, unsigned space, uint64_t old, uint64_t b,
               uint64_t c)
{
    if (in->sub == AT_ADD) {
        if (in->type == PTX_F32) {
            /* On global memory subnormals are flushed, on shared memory not (PTX ISA,
             * atom). */
            if (space != PTX_SPACE_SHARED)
                return of_f32(fp_flush(fp_flush(as_f32(old)) + fp_flush(as_f32(b))));
            return of_f32(as_f32(old) + as_f32(b));
        }
        if (in->type == PTX_F64)
            return of_f64(as_f64(old) + as_f64(b));
        if (in->type == PTX_F16 || in->type == PTX_BF16)
            return add_half(in->type, old, b);
        if (in->type == PTX_F16X2 || in->type == PTX_BF16X2)
            return add_half(in->type, old, b) | add_half(in->type, old >> 16, b >> 16)
                                                    << 16;
    }
    return atom_integer(in->sub, ptx_types[in->type].kind == PTX_K_SINT, in->esize, old,
                        b, c);
}

/* One lane after another, lowest first. x: NULL, all on global memory. b, c: by lane. */
static void
atomics(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        const struct exec_access *x, const uint64_t *a, const uint64_t *b,
        const uint64_t *c)
{
    const bool concurrent = x && reduces(w, in);
    FOR_BITS(i, mask)
    {
        unsigned space = x ? LANE_SPACE(x, i) : PTX_SPACE_GLOBAL;
        if (concurrent && space == PTX_SPACE_GLOBAL) {
            reduce(in, host_base(w, space) + a[i], b[i]);
            continue;
        }
        uint64_t old = lane_read(w, space, a[i], (unsigned)i, in->esize);
        lane_write(w, space, a[i], (unsigned)i, in->esize,
                   mem_atom_value(in, space, old, b[i], c[i]));
        if (in->data[0] == REF_NONE)
            continue;
        if (in->dwide & 1)
            ((uint64_t *)row(w, in->data[0]))[i] = old;
        else
            ((uint32_t *)row(w, in->data[0]))[i] = (uint32_t)old;
    }
}

static void
wait_atomic(const struct log_entry *e)
{
    const uint64_t *v = log_values(e);
    atomics(e->w, e->in, e->mask, NULL, e->a, v, v + LANES);
}

/* Words of shared memory and integers, the common case; false: it is another, or some
 * lane is not allowed. The addresses are in x. */
static bool
atom_shared(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            const struct exec_access *x)
{
    uint64_t size = w->cta->shared_bytes, bad = 0;
    if (in->space != PTX_SPACE_SHARED || in->dwide ||
        (in->type != PTX_U32 && in->type != PTX_S32 && in->type != PTX_B32) || size < 4)
        return false;
    for (int i = 0; i < LANES; i++)
        bad |= (x->addr[i] & 3) | (size - 4 - x->addr[i]) >> 63;
    if (bad)
        return false;
    uint32_t unwanted[LANES];
    uint32_t *d = in->data[0] == REF_NONE ? unwanted : row(w, in->data[0]);
    const uint32_t *b = row(w, in->data[1]);
    const uint32_t *c = in->sub == AT_CAS ? row(w, in->data[2]) : b;
    uint8_t *host = w->cta->shared;
    bool is_signed = ptx_types[in->type].kind == PTX_K_SINT;
    switch (in->sub) {
#define ATOM(op)                                                                         \
    case op:                                                                             \
        FOR_BITS(i, mask)                                                                \
        {                                                                                \
            uint32_t *p = (uint32_t *)(void *)(host + x->addr[i]), old = *p;             \
            *p = (uint32_t)atom_integer(op, is_signed, 4, old, b[i], c[i]);              \
            d[i] = old;                                                                  \
        }                                                                                \
        return true;
        ATOM(AT_ADD)
        ATOM(AT_AND)
        ATOM(AT_OR)
        ATOM(AT_XOR)
        ATOM(AT_MIN)
        ATOM(AT_MAX)
        ATOM(AT_INC)
        ATOM(AT_DEC)
        ATOM(AT_EXCH)
        ATOM(AT_CAS)
#undef ATOM
    default:
        return false;
    }
}

/* data[0]: destination (REF_NONE: red), data[1]: b, data[2]: c */
static enum exec_result
h_atom(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    struct exec_access *x = &s->access;
    mem_resolve(w, in, mask, x);
    s->has_access = true;
    if (atom_shared(w, in, mask, x))
        return EXEC_OK;
    uint32_t zone = 0;
    if (!mem_allowed(w, in, mask, x) && !guard_lanes(w, in, mask, x, x->bytes, &zone))
        return mem_blame(w, in, mask, x, x->bytes);
    if (zone && in->data[0] != REF_NONE)
        mem_put_element(w, in, 0, zone, (uint64_t[LANES]){0});
    mask &= ~zone;
    uint64_t keep = in->esize == 8 ? ~(uint64_t)0 : ((uint64_t)1 << in->esize * 8) - 1;
    uint32_t later;
    if (!waiting(w, in, x, mask, &later))
        return EXEC_FAULT;
    uint64_t v[2 * LANES];
    FOR_BITS(i, mask)
    {
        v[i] = mem_data_lane(w, in, 1, (unsigned)i) & keep;
        v[LANES + i] =
            in->sub == AT_CAS ? mem_data_lane(w, in, 2, (unsigned)i) & keep : 0;
    }
    if (later)
        memcpy(log_add(w, in, later, wait_atomic, SHAPE_ALL, x->addr, sizeof v), v,
               sizeof v);
    atomics(w, in, mask & ~later, x, x->addr, v, v + LANES);
    return EXEC_OK;
}

/* -- peek -- */

bool
exec_peek_access(const struct exec_warp *w, struct exec_access *a)
{
    if (w->state != EXEC_READY)
        return false;
    const struct exec_inst *in = &w->cta->grid->prog->inst[w->pc];
    if (!(in->flags & IF_ACCESS))
        return false;
    uint32_t mask = w->active;
    if (in->flags & IF_GUARD) {
        uint32_t p = *(const uint32_t *)(w->regs + in->guard);
        mask &= in->flags & IF_GUARD_NEG ? ~p : p;
    }
    if (!mask) {
        a->mask = 0;
        return false;
    }
    if (in->flags & IF_TILE)
        tile_access(w, in, mask, a);
    else
        mem_resolve(w, in->flags & IF_COPY ? in->plan : in, mask, a);
    return true;
}

/* -- decoding -- */

int
decode_atom_op(const struct ptx_inst *in)
{
    static const char *const names[] = {"add", "and", "or",  "xor",  "min",
                                        "max", "inc", "dec", "exch", "cas"};
    for (int i = 0; i < 10; i++)
        if (decode_has(in, names[i]))
            return i;
    return -1;
}

/* The address operand: space, base, offset. */
bool
decode_address(struct decoder *d, const struct ptx_operand *o, unsigned space)
{
    struct exec_inst *x = d->out;
    x->base = REF_NONE;
    x->off = o->off;
    if (o->kind != PTX_OPD_ADDR)
        return decode_refuse(d, "an address in brackets is needed here");
    if (o->var) {
        const struct ptx_var *v = o->var;
        uint64_t at;
        bool frame;
        if (v->space == PTX_SPACE_PARAM && !(v->is_param && d->fi->f->is_entry)) {
            if (space != PTX_SPACE_PARAM)
                return decode_refuse(d,
                                     "parameter '%s' is read with ld.param and written "
                                     "with st.param only",
                                     v->name);
            if (!decode_find_place(d->fi, v, &at))
                return decode_refuse(d, "parameter '%s' is not of this function",
                                     v->name);
            if (o->reg >= 0)
                return decode_refuse(d, "a register cannot index parameter '%s'",
                                     v->name);
            uint64_t bytes = (uint64_t)x->esize * x->nvec;
            if (o->off < 0 || (uint64_t)o->off + bytes > v->size)
                return decode_refuse(d,
                                     "the access of %llu bytes at offset %lld is outside "
                                     "parameter '%s' of %llu bytes",
                                     (unsigned long long)bytes, (long long)o->off,
                                     v->name, (unsigned long long)v->size);
            if ((uint64_t)o->off % x->esize)
                return decode_refuse(d, "offset %lld is no multiple of %u",
                                     (long long)o->off, x->esize);
            x->base = (uint32_t)at;
            x->flags |= IF_FUNC_PARAM;
            x->space = PTX_SPACE_PARAM;
            return true;
        }
        struct ptx_operand sym = *o;
        sym.kind = PTX_OPD_SYM;
        if (!decode_symbol(d, &sym, &at, &frame))
            return false;
        if (space != PTX_SPACE_NONE && space != v->space)
            return decode_refuse(d, "'%s' is not in the space of this instruction",
                                 v->name);
        if (space ==
            PTX_SPACE_NONE) /* a generic access to a symbol: its space is known */
            space = v->space;
        x->off = (int64_t)at;
        if (frame)
            x->flags |= IF_FRAME;
    }
    /* In a function the address of a parameter is that of its copy in local memory (PTX ISA
     * 9.7.9.1). Those of the kernel are read by ld.param::entry. */
    if (o->reg >= 0 && space == PTX_SPACE_PARAM && !d->fi->f->is_entry &&
        d->in->mod[PTX_MG_SPACE] != PTX_SPACE_SS_PARAM_ENTRY)
        space = PTX_SPACE_LOCAL;
    if (o->reg >= 0) {
        struct ptx_operand r = {.kind = PTX_OPD_REG, .reg = o->reg, .comp = o->comp};
        bool wide;
        x->base = decode_row(d, &r, PTX_U64, &wide);
        if (x->base == REF_NONE)
            return false;
        if (!wide)
            x->flags |= IF_BASE32;
        if (ptx_type_bytes(decode_operand_type(d, &r)) < 4)
            return decode_refuse(d, "an address register has 32 or 64 bits");
    }
    x->space = (uint8_t)space;
    if (d->in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_SHARED_CLUSTER)
        x->flags |= IF_CLUSTER;
    if ((space != PTX_SPACE_NONE && space != PTX_SPACE_GLOBAL) ||
        d->fi->f->module->address_size == 32)
        x->flags |= IF_WRAP;
    return true;
}

bool
decode_data(struct decoder *d, unsigned e, const struct ptx_operand *o, unsigned type,
            bool dest)
{
    struct exec_inst *x = d->out;
    bool wide;
    if (dest && (o->kind == PTX_OPD_SINK || o->kind == PTX_OPD_NONE)) {
        x->data[e] = REF_NONE;
        return true;
    }
    x->data[e] = decode_row(d, o, type, &wide);
    if (x->data[e] == REF_NONE)
        return false;
    unsigned bytes = ptx_type_bytes(type),
             have = ptx_type_bytes(decode_operand_type(d, o));
    if (have && have < bytes)
        return decode_refuse(d, "the register has %u bits, the value has %u", have * 8,
                             bytes * 8);
    x->dwide |= (uint16_t)(wide << e);
    if (have == 2)
        x->dhalf |= (uint16_t)(1u << e);
    return true;
}

/* The fast handlers for this processor: those made for the same instruction set as the
 * lane functions in use. */
static exec_fn *const *
fast_handlers(void)
{
#ifdef EXEC_X86
    const struct lane_variant *v[4];
    size_t n = lane_variants(v);
    if (!strcmp(v[n - 1]->name, "avx512"))
        return exec_fast_avx512;
    if (!strcmp(v[n - 1]->name, "avx2"))
        return exec_fast_avx2;
#endif
    return exec_fast_plain;
}

/* Address and size are known. */
static bool
dec_eight(struct decoder *d, const struct ptx_operand *v, unsigned type, bool store)
{
    struct exec_inst *x = d->out;
    struct exec_inst *half = ARENA_ARRAY(&d->pp->mem, struct exec_inst, 2);
    if (x->flags & (IF_FUNC_PARAM | IF_FRAME))
        return decode_refuse(d, "256 bits at once are accessed in global memory only");
    for (unsigned h = 0; h < 2; h++) {
        x->dwide = x->dhalf = 0;
        for (unsigned e = 0; e < 4; e++) {
            struct ptx_operand one = decode_element(d, v, 4 * h + e);
            if (!decode_data(d, e, &one, type, !store))
                return false;
        }
        half[h] = *x;
        half[h].nvec = 4;
    }
    memcpy(x->data, &half, sizeof half);
    x->dwide = x->dhalf = 0;
    x->flags |= IF_ACCESS;
    x->fn = store ? h_st_v8 : h_ld_v8;
    x->slot = d->pp->nslots++;
    half[0].slot = half[1].slot = x->slot;
    d->st->is_load = !store;
    d->st->is_store = store;
    d->st->space = x->space;
    return true;
}

static bool
dec_memory(struct decoder *d, bool store)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    unsigned type = in->ntypes ? in->type[in->ntypes - 1] : 0;
    unsigned at = store ? 0 : 1, data = store ? 1 : 0;
    if (in->nops < 2)
        return decode_refuse(d, "operands are missing");
    unsigned esize = ptx_type_bytes(type);
    if (!esize || ptx_types[type].kind == PTX_K_OPAQUE)
        return decode_refuse(d, "values of this type cannot be accessed");
    const struct ptx_operand *v = &in->ops[data];
    unsigned nvec = decode_elements(d, v);
    bool wide128 = esize == 16; /* two elements of 64 bits */
    if (wide128 && nvec > 1)
        return decode_refuse(d, "vectors of 128-bit values are not supported");
    if (wide128) {
        esize = 8;
        nvec = 2;
    }
    if (nvec > 4 && nvec != 8)
        return decode_refuse(d, "vectors have 2, 4 or 8 elements");
    x->esize = (uint8_t)esize;
    x->nvec = (uint8_t)nvec;
    x->type = (uint8_t)type;
    x->kind = store ? MEM_STORE : MEM_LOAD;
    if (ptx_types[type].kind == PTX_K_SINT)
        x->flags |= IF_SIGNED;
    uint32_t wide_mask = 0;
    if (store && ptx_inst_space(in) == PTX_SPACE_PARAM && in->ops[at].reg >= 0)
        return decode_refuse(d, "parameters are written by their names");
    if (!decode_address(d, &in->ops[at], ptx_inst_space(in)))
        return false;
    if (wide128) {
        x->data[0] = x->data[1] = REF_NONE;
        x->dwide = 3;
        v = v->kind == PTX_OPD_VEC ? &v->vec[0] : v;
        if ((store || v->kind != PTX_OPD_SINK) && !decode_wide(d, v, x->data))
            return false;
    }
    if (nvec == 8)
        return dec_eight(d, v, type, store);
    for (unsigned e = 0; e < nvec && !wide128; e++) {
        struct ptx_operand one = decode_element(d, v, e);
        if (!decode_data(d, e, &one, type, !store))
            return false;
    }
    for (unsigned e = 0; e < nvec; e++)
        if (x->data[e] != REF_NONE && (x->dwide >> e & 1) != (esize == 8))
            wide_mask |= 1u << e;
    /* ld.param of a kernel reads the parameter block; st.param writes call arguments. */
    if (x->flags & IF_FUNC_PARAM) {
        x->fn = store ? h_st_fparam : h_ld_fparam;
        x->form = FORM_PURE;
        d->st->unit = PTX_UNIT_ALU; /* register moves */
        d->st->latency = PTX_LAT_OTHER;
        return true;
    }
    if (store && x->space == PTX_SPACE_CONST)
        return decode_refuse(d, "constant memory cannot be written");
    if (store && x->space == PTX_SPACE_PARAM)
        return decode_refuse(d, "kernel parameters cannot be written");
    x->flags |= IF_ACCESS;
    x->form = FORM_MEMORY;
    d->st->is_load = !store;
    d->st->is_store = store;
    d->st->space = x->space;
    x->slot = d->pp->nslots++;
    exec_fn *const *fast = fast_handlers();
    bool one = nvec == 1 && !wide_mask && x->data[0] != REF_NONE, plain = !wide_mask;
    bool uniform = x->base == REF_NONE && !(x->flags & IF_FRAME);
    uint64_t bytes = (uint64_t)esize * nvec;
    uint64_t room = x->space == PTX_SPACE_CONST   ? d->im->const_bytes
                    : x->space == PTX_SPACE_PARAM ? d->p->param_bytes
                                                  : 0;
    bool inside = uniform && (uint64_t)x->off <= room &&
                  room - (uint64_t)x->off >= bytes && (uint64_t)x->off % bytes == 0;
    if (!store) {
        if (x->space == PTX_SPACE_GLOBAL && one && esize >= 4)
            x->fn = fast[esize == 4 ? FAST_LD_GLOBAL_4 : FAST_LD_GLOBAL_8];
        else if (x->space == PTX_SPACE_SHARED && one && esize >= 4)
            x->fn = fast[esize == 4 ? FAST_LD_SHARED_4 : FAST_LD_SHARED_8];
        else if (x->space == PTX_SPACE_GLOBAL && (plain || esize < 4))
            x->fn = fast[FAST_LD_GLOBAL_N];
        else if (x->space == PTX_SPACE_SHARED && (plain || esize < 4))
            x->fn = fast[FAST_LD_SHARED_N];
        else if (x->space == PTX_SPACE_NONE && (plain || esize < 4))
            x->fn = fast[FAST_LD_GENERIC];
        else if (x->space == PTX_SPACE_PARAM && inside)
            x->fn = fast[FAST_LD_PARAM];
        else if (x->space == PTX_SPACE_CONST && inside)
            x->fn = fast[FAST_LD_CONST];
        else if (x->space == PTX_SPACE_CONST && (plain || esize < 4))
            x->fn = fast[FAST_LD_CONST_N];
        else
            x->fn = mem_ld_any;
    } else {
        if (x->space == PTX_SPACE_GLOBAL && one && esize >= 4)
            x->fn = fast[esize == 4 ? FAST_ST_GLOBAL_4 : FAST_ST_GLOBAL_8];
        else if (x->space == PTX_SPACE_SHARED && one && esize >= 4)
            x->fn = fast[esize == 4 ? FAST_ST_SHARED_4 : FAST_ST_SHARED_8];
        else if (x->space == PTX_SPACE_GLOBAL && (plain || esize < 4))
            x->fn = fast[FAST_ST_GLOBAL_N];
        else if (x->space == PTX_SPACE_SHARED && (plain || esize < 4))
            x->fn = fast[FAST_ST_SHARED_N];
        else if (x->space == PTX_SPACE_NONE && (plain || esize < 4))
            x->fn = fast[FAST_ST_GENERIC];
        else
            x->fn = mem_st_any;
    }
    return true;
}

static bool
dec_ld(struct decoder *d)
{
    return dec_memory(d, false);
}

static bool
dec_st(struct decoder *d)
{
    return dec_memory(d, true);
}

static bool
dec_atomic(struct decoder *d, bool red)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    unsigned type = in->ntypes ? in->type[in->ntypes - 1] : 0;
    int op = decode_atom_op(in);
    unsigned at = red ? 0 : 1, need = at + (op == AT_CAS ? 3 : 2);
    if (op < 0)
        return decode_refuse(d, "this atomic operation is not supported");
    if (in->nops < need)
        return decode_refuse(d, "operands are missing");
    x->esize = ptx_type_bytes(type);
    if (x->esize == 16)
        return red ? decode_refuse(d, "128-bit atomics are exch and cas")
                   : decode_atom128(d, (unsigned)op);
    bool half = type == PTX_F16 || type == PTX_BF16;
    if (x->esize != 4 && x->esize != 8 && !half &&
        !(x->esize == 2 && (op == AT_CAS || op == AT_EXCH)))
        return decode_refuse(d, "atomics on this type are not supported");
    if (ptx_types[type].kind == PTX_K_FLT && op != AT_ADD && op != AT_EXCH)
        return decode_refuse(d, "floating-point atomics can only add");
    if (in->ops[at + 1].kind == PTX_OPD_VEC)
        return decode_refuse(d, "vector atomics are not supported");
    x->nvec = 1;
    x->sub = (uint8_t)op;
    x->type = (uint8_t)type;
    x->kind = MEM_ATOMIC;
    x->flags |= IF_ACCESS;
    x->data[0] = REF_NONE;
    if (!decode_address(d, &in->ops[at], ptx_inst_space(in)))
        return false;
    if (x->space != PTX_SPACE_NONE && x->space != PTX_SPACE_GLOBAL &&
        x->space != PTX_SPACE_SHARED)
        return decode_refuse(d, "atomics work on global and shared memory only");
    if (!red && !decode_data(d, 0, &in->ops[0], type, true))
        return false;
    for (unsigned i = at + 1; i < need; i++)
        if (!decode_data(d, i - at, &in->ops[i], type, false))
            return false;
    x->slot = d->pp->nslots++;
    x->fn = h_atom;
    x->form = FORM_MEMORY;
    d->st->is_atomic = true;
    d->st->space = x->space;
    return true;
}

static bool
dec_atom(struct decoder *d)
{
    return dec_atomic(d, false);
}

static bool
dec_red(struct decoder *d)
{
    return dec_atomic(d, true);
}

/* A cache policy: a number that nothing reads. */
static enum exec_result
h_policy(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    uint64_t *d = row(w, in->d[0]);
    FOR_BITS(i, mask)
    d[i] = 1;
    return EXEC_OK;
}

static bool
dec_policy(struct decoder *d)
{
    d->out->d[0] = decode_operand(d, &d->in->ops[0], PTX_B64);
    d->out->fn = h_policy;
    return d->out->d[0] != REF_NONE;
}

const struct decode_row decode_memory[] = {
    {"ld", dec_ld},     {"ldu", dec_ld},  {"st", dec_st},
    {"atom", dec_atom}, {"red", dec_red}, {"createpolicy", dec_policy},
    {NULL, NULL},
};
