/* core_function.c: what both APIs tell of a kernel, and what may be set of it. */
#include "cuda/core/core_int.h"

/* Dynamic scratchpad that a launch may ask for. */
static int
max_dynamic(const struct acu_function *f, const struct acu_props *p)
{
    int left = p->smem_block - (int)f->kernel->scratchpad;
    return f->dynamic_set ? (int)f->dynamic_max : left > 0 ? left : 0;
}

/* Threads of a block, as registers and .maxntid allow. */
static int
max_threads(const struct acu_function *f, const struct acu_props *p)
{
    int n = p->max_threads_block;
    if (f->kernel->max_block_threads && (int)f->kernel->max_block_threads < n)
        n = (int)f->kernel->max_block_threads;
    uint32_t regs = acu_function_registers(f);
    int fit = regs ? p->regs_block / (int)regs / p->warp * p->warp : n;
    return fit < n ? fit : n;
}

/* A dimension of the kernel's clusters: compiled in, or set; 0: neither. */
static int
cluster_of(const struct acu_function *f, int i)
{
    const struct allot_kernel *k = f->kernel;
    return (int)(k->cluster[0] ? k->cluster[i] : f->cluster[i]);
}

int
acu_function_get(struct acu_function *f, int attribute, int *value)
{
    struct acu_props props, *p = &props;
    int e = acu_function_load(f);
    if (e)
        return e;
    acu_props(p);
    const struct allot_kernel *k = f->kernel;
    switch (attribute) {
#define FUNCTION(number, id, get, set, valid)                                            \
    case number:                                                                         \
        *value = get;                                                                    \
        return 0;
#include "cuda/function_attributes.def"
#undef FUNCTION
    default:
        return ACU_INVALID_VALUE;
    }
}

#define NOTHING ((void)0)

int
acu_function_set(struct acu_function *f, int attribute, int value)
{
    struct acu_props props, *p = &props;
    int e = acu_function_load(f);
    if (e)
        return e;
    acu_props(p);
    const struct allot_kernel *k = f->kernel;
    if (attribute >= ACU_FUNC_CLUSTER_WIDTH && attribute <= ACU_FUNC_CLUSTER_DEPTH &&
        k->cluster[0])
        return ACU_NOT_PERMITTED;
    switch (attribute) {
#define FUNCTION(number, id, get, set, valid)                                            \
    case number:                                                                         \
        if (!(valid))                                                                    \
            break;                                                                       \
        set;                                                                             \
        return 0;
#include "cuda/function_attributes.def"
#undef FUNCTION
    default:
        break;
    }
    return ACU_INVALID_VALUE;
}

/* By bisection over what a block may have: residency falls as scratchpad grows. */
int
acu_occupancy_dynamic(struct acu_function *f, int blocks, int threads, size_t *bytes)
{
    struct acu_props p;
    int n = 0;
    if (!bytes || blocks <= 0 || threads <= 0)
        return ACU_INVALID_VALUE;
    int e = acu_occupancy(f, (uint32_t)threads, 0, &n);
    if (e || n < blocks)
        return e ? e : ACU_INVALID_VALUE;
    acu_props(&p);
    size_t lo = 0, hi = (size_t)p.smem_block_optin - f->kernel->scratchpad + 1;
    while (hi - lo > 1) { /* lo fits, hi does not */
        size_t mid = lo + (hi - lo) / 2;
        e = acu_occupancy(f, (uint32_t)threads, mid, &n);
        if (e)
            return e;
        if (n >= blocks)
            lo = mid;
        else
            hi = mid;
    }
    *bytes = lo;
    return 0;
}
