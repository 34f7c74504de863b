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

int
acu_function_get(struct acu_function *f, int attribute, int *value)
{
    struct acu_props p;
    int e = acu_function_load(f);
    if (e)
        return e;
    acu_props(&p);
    switch (attribute) {
    case ACU_FUNC_MAX_THREADS:
        *value = max_threads(f, &p);
        return 0;
    case ACU_FUNC_SHARED_BYTES:
        *value = (int)f->kernel->scratchpad;
        return 0;
    case ACU_FUNC_LOCAL_BYTES:
        *value = (int)f->kernel->local_bytes;
        return 0;
    case ACU_FUNC_REGISTERS:
        *value = (int)acu_function_registers(f);
        return 0;
    case ACU_FUNC_PTX_VERSION:
        *value = (int)acu_function_capability(f);
        return 0;
    case ACU_FUNC_BINARY_VERSION:
        *value = 10 * p.major + p.minor;
        return 0;
    case ACU_FUNC_MAX_DYNAMIC:
        *value = max_dynamic(f, &p);
        return 0;
    case ACU_FUNC_CARVEOUT:
        *value = f->carveout;
        return 0;
    default: /* constants, caching, clusters: none */
        *value = 0;
        return attribute >= 0 && attribute < ACU_FUNC_END ? 0 : ACU_INVALID_VALUE;
    }
}

int
acu_function_set(struct acu_function *f, int attribute, int value)
{
    struct acu_props p;
    int e = acu_function_load(f);
    if (e)
        return e;
    acu_props(&p);
    switch (attribute) {
    case ACU_FUNC_MAX_DYNAMIC:
        if (value < 0 || value > p.smem_block_optin - (int)f->kernel->scratchpad)
            return ACU_INVALID_VALUE;
        f->dynamic_set = true;
        f->dynamic_max = (uint32_t)value;
        return 0;
    case ACU_FUNC_CARVEOUT:
        if (value < -1 || value > 100)
            return ACU_INVALID_VALUE;
        f->carveout = value;
        return 0;
    default: /* clusters */
        return attribute > ACU_FUNC_CARVEOUT && attribute < ACU_FUNC_END && !value
                   ? 0
                   : ACU_INVALID_VALUE;
    }
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
