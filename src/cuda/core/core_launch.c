/* core_launch.c: launches and occupancy. */
#define _GNU_SOURCE
#include "cuda/core/core_int.h"

#include <stdarg.h>
#include <stdio.h>

/* -- report -- */

/* One line on stderr. */
static void
report(const struct allot_result *r, bool functional)
{
    uint64_t cycles = 0, insts = 0;
    uint32_t grid[3], block[3], dynamic;
    const char *parent = allot_result_parent(r);
    double ipc = 0;
    char time[96] = "";
    allot_result_shape(r, grid, block, &dynamic);
    allot_result_get(r, "cycles", &cycles, NULL);
    allot_result_get(r, "warp_instructions", &insts, NULL);
    allot_result_get(r, "ipc", NULL, &ipc);
    if (!functional)
        snprintf(time, sizeof time, "%llu cycles, IPC %.2f, ", (unsigned long long)cycles,
                 ipc);
    acu_say("%s <<<(%u,%u,%u), (%u,%u,%u)>>> %s%llu warp instructions%s%s",
            allot_result_kernel(r), grid[0], grid[1], grid[2], block[0], block[1],
            block[2], time, (unsigned long long)insts, parent ? ", launched by " : "",
            parent ? parent : "");
}

/* -- time -- */

/* Without timing a launch still takes simulated time, so that rates can be computed: one
 * warp instruction a cycle in every SM. */
static void
time_launch(const struct allot_result *r, bool functional)
{
    uint64_t cycles = 0;
    if (functional) {
        allot_result_get(r, "warp_instructions", &cycles, NULL);
        uint64_t sms = (uint64_t)acu_setting("sm.count");
        cycles = (cycles + sms - 1) / sms;
    } else {
        allot_result_get(r, "cycles", &cycles, NULL);
    }
    acu_clock_advance((double)cycles * 1000 / acu_setting("clock.core"));
}

/* -- launches -- */

uint32_t
acu_function_registers(const struct acu_function *f)
{
    return allot_demand(acu.machine, f->kernel, 1, 0).registers;
}

uint32_t
acu_function_capability(const struct acu_function *f)
{
    return allot_module_capability(f->ptx);
}

enum reason {
    EMPTY,
    LARGE_GRID,
    LARGE_BLOCK,
    SHARED_OF_MACHINE,
    SHARED_OF_KERNEL,
    BOUNDS,
    CLUSTER,
    NO_CLUSTERS
};

/* A launch is refused; *why is the reason in words. An error code is all that the program
 * gets, so it is explained on standard error, once for each kernel and reason. */
static int
refuse(struct acu_function *f, const struct acu_launch *l, enum reason reason,
       struct strbuf *why, const char *fmt, ...)
{
    int error = reason <= LARGE_BLOCK   ? ACU_INVALID_CONFIGURATION
                : reason == CLUSTER     ? ACU_INVALID_CLUSTER_SIZE
                : reason == NO_CLUSTERS ? ACU_NOT_SUPPORTED
                                        : ACU_INVALID_VALUE;
    uint8_t bit = (uint8_t)(1 << reason);
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    strbuf_addz(why, text);
    if (!(f->explained & bit))
        acu_say("kernel %s <<<(%u,%u,%u), (%u,%u,%u)>>> is not launched (%s): %s",
                f->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                l->block[2], acu_error_runtime_name(error), text);
    f->explained |= bit;
    return error;
}

static int
check_dims(struct acu_function *f, const struct acu_launch *l, struct strbuf *why)
{
    struct acu_props p;
    acu_props(&p);
    const uint32_t *g = l->grid, *b = l->block;
    const char *machine = allot_machine_name(acu.machine);
    uint64_t threads = 1;
    bool empty = false, grid = false, block = false;
    for (int i = 0; i < 3; i++) {
        empty |= !g[i] || !b[i];
        grid |= g[i] > (uint32_t)p.max_grid[i];
        block |= b[i] > (uint32_t)p.max_block[i];
        threads *= b[i];
    }
    if (empty)
        return refuse(f, l, EMPTY, why, "each dimension of grid and block is at least 1");
    if (grid)
        return refuse(
            f, l, LARGE_GRID, why,
            "a grid of (%u,%u,%u) blocks, but %s allows (%d,%d,%d). Put most of "
            "them into x, or let each block do more",
            g[0], g[1], g[2], machine, p.max_grid[0], p.max_grid[1], p.max_grid[2]);
    if (block || threads > (uint64_t)p.max_threads_block)
        return refuse(f, l, LARGE_BLOCK, why,
                      "a block of (%u,%u,%u) threads, but %s allows (%d,%d,%d) and %d in "
                      "all (sm.max_block_threads). Launch more and smaller blocks",
                      b[0], b[1], b[2], machine, p.max_block[0], p.max_block[1],
                      p.max_block[2], p.max_threads_block);
    return 0;
}

static int
check_resources(struct acu_function *f, const struct acu_launch *l, struct strbuf *why)
{
    struct acu_props p;
    acu_props(&p);
    const char *machine = allot_machine_name(acu.machine);
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t allowed = (uint64_t)p.smem_block - f->kernel->scratchpad;
    uint64_t all = (uint64_t)f->kernel->scratchpad + l->dynamic_scratchpad;
    if (f->kernel->scratchpad > (uint32_t)p.smem_block)
        allowed = 0;
    if (f->dynamic_set)
        allowed = f->dynamic_max;
    if (l->dynamic_scratchpad > allowed && all > (uint64_t)p.smem_block_optin)
        return refuse(
            f, l, SHARED_OF_MACHINE, why,
            "%u bytes of dynamic and %u of static shared memory, but a block has "
            "at most %d on %s (sm.max_block_scratchpad). Use less, or another "
            "machine",
            l->dynamic_scratchpad, f->kernel->scratchpad, p.smem_block_optin, machine);
    if (l->dynamic_scratchpad > allowed)
        return refuse(
            f, l, SHARED_OF_KERNEL, why,
            "%u bytes of dynamic shared memory, but the kernel may have %llu. "
            "Up to %d on %s are there for kernels that ask: cudaFuncSetAttribute "
            "with cudaFuncAttributeMaxDynamicSharedMemorySize before the launch",
            l->dynamic_scratchpad, (unsigned long long)allowed,
            p.smem_block_optin - (int)f->kernel->scratchpad, machine);
    if (f->kernel->max_block_threads && threads > f->kernel->max_block_threads)
        return refuse(
            f, l, BOUNDS, why,
            "%llu threads in a block, but the kernel was compiled for at most %u "
            "(__launch_bounds__, .maxntid)",
            (unsigned long long)threads, f->kernel->max_block_threads);
    return 0;
}

const uint32_t *
acu_launch_cluster(const struct acu_function *f, const struct acu_launch *l)
{
    return l->cluster[0]           ? l->cluster
           : f->kernel->cluster[0] ? f->kernel->cluster
                                   : f->cluster;
}

int
acu_cluster_most(const struct acu_function *f)
{
    return f->non_portable ? 16 : 8;
}

/* CUDA has one error for all that is wrong with clusters. */
static int
check_cluster(struct acu_function *f, const struct acu_launch *l, struct strbuf *why)
{
    const uint32_t *own = f->kernel->cluster, *n = acu_launch_cluster(f, l), *g = l->grid;
    const uint64_t blocks = (uint64_t)n[0] * n[1] * n[2];
    struct acu_props p;
    acu_props(&p);
    if (f->kernel->explicit_cluster && !n[0])
        return refuse(
            f, l, CLUSTER, why,
            "it was compiled to be launched in clusters (.explicitcluster), but "
            "the launch gives no size: set cudaLaunchAttributeClusterDimension");
    if (!n[0])
        return 0;
    if (own[0] && memcmp(own, n, 3 * sizeof *n))
        return refuse(f, l, CLUSTER, why,
                      "clusters of (%u,%u,%u) blocks, but it was compiled for (%u,%u,%u) "
                      "(__cluster_dims__)",
                      n[0], n[1], n[2], own[0], own[1], own[2]);
    if (blocks == 1)
        return 0;
    if (p.major < 9)
        return refuse(
            f, l, NO_CLUSTERS, why,
            "clusters of (%u,%u,%u) blocks: they need compute capability 9.0, and %s "
            "has %d.%d",
            n[0], n[1], n[2], allot_machine_name(acu.machine), p.major, p.minor);
    if (!blocks || blocks > (uint64_t)acu_cluster_most(f))
        return refuse(
            f, l, CLUSTER, why,
            "clusters of (%u,%u,%u) blocks: at most %d are portable. Up to 16 are "
            "there for kernels that ask: cudaFuncSetAttribute with "
            "cudaFuncAttributeNonPortableClusterSizeAllowed before the launch",
            n[0], n[1], n[2], acu_cluster_most(f));
    if (!f->kernel->blocks_are_clusters && (g[0] % n[0] || g[1] % n[1] || g[2] % n[2]))
        return refuse(f, l, CLUSTER, why,
                      "the grid cannot be divided into clusters of (%u,%u,%u) blocks",
                      n[0], n[1], n[2]);
    return 0;
}

static int
error_of(enum allot_failure f)
{
    switch (f) {
    case ALLOT_OK:
        return 0;
    case ALLOT_BAD_LAUNCH:
        return ACU_LAUNCH_OUT_OF_RESOURCES;
    case ALLOT_TOO_LARGE:
        return ACU_COOPERATIVE_LAUNCH_TOO_LARGE;
    case ALLOT_REFUSED:
        return ACU_INVALID_PTX;
    case ALLOT_FAULT_ADDRESS:
        return ACU_ILLEGAL_ADDRESS;
    case ALLOT_FAULT_ALIGNMENT:
        return ACU_MISALIGNED_ADDRESS;
    case ALLOT_FAULT_ASSERT:
        return ACU_ASSERT;
    case ALLOT_FAULT_TRAP:
        return ACU_LAUNCH_FAILED;
    case ALLOT_FAULT_OTHER:
        return ACU_ILLEGAL_INSTRUCTION;
    case ALLOT_STUCK:
    case ALLOT_STOPPED:
        break;
    }
    return ACU_LAUNCH_TIMEOUT;
}

/* A kernel may wait for the host, which waits for the launch to return: nothing tells
 * this from a long computation, so it is said after a while and goes on. */
bool
acu_watch(void *user, const struct allot_progress *p)
{
    enum { PATIENCE = 10 }; /* seconds without a block that ends */
    if (p->seconds > 0.05)
        acu_record_progress(p);
    if (p->seconds < acu.watch.since || p->blocks_done != acu.watch.done) {
        acu.watch.done = p->blocks_done;
        acu.watch.since = p->seconds;
    }
    if (acu.watch.said || p->seconds - acu.watch.since < PATIENCE)
        return true;
    acu.watch.said = true;
    acu_say(
        "kernel %s: no block has ended for %d s (%llu of %llu have). It may need long; "
        "but if it waits for the host, it waits for ever, because a launch returns "
        "when its kernel has ended. --max-cycles or --max-instructions set a limit",
        acu.watch.kernel, PATIENCE, (unsigned long long)p->blocks_done,
        (unsigned long long)p->blocks);
    return true;
}

/* The first error that the diagnostics hold, on one line. */
static void
first_error(struct strbuf *out)
{
    const char *s = allot_diag_text(acu.diag), *e = strstr(s, "error: ");
    while (e && e > s && e[-1] != '\n')
        e--;
    if (e)
        strbuf_add(out, e, strcspn(e, "\n"));
}

/* *why: the reason if it comes to nothing; *fault: it failed when it ran, which the
 * answer does not tell. */
static int
launch(struct acu_function *f, const struct acu_launch *l, struct acu_stream *s,
       struct strbuf *why, bool *fault)
{
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    int e = acu_function_load(f);
    if (!e)
        e = check_dims(f, l, why);
    if (!e)
        e = check_resources(f, l, why);
    if (!e)
        e = check_cluster(f, l, why);
    if (e)
        return e;
    const uint32_t *cluster = acu_launch_cluster(f, l);
    if (f->kernel->nparams && !l->args)
        return ACU_INVALID_VALUE;
    struct allot_launch a = {.module = f->ptx,
                             .kernel = f->name,
                             .grid = {l->grid[0], l->grid[1], l->grid[2]},
                             .block = {l->block[0], l->block[1], l->block[2]},
                             .dynamic_scratchpad = l->dynamic_scratchpad,
                             .args = (const void *const *)l->args,
                             .nargs = f->kernel->nparams,
                             .cooperative = l->cooperative,
                             .cluster = {cluster[0], cluster[1], cluster[2]},
                             .functional = acu_look_past(f->name)};
    bool functional = acu.options.functional || a.functional;
    acu.watch.kernel = f->name;
    acu.watch.since = acu.watch.done = 0;
    acu.functional = functional;
    acu_record_launch(f, l, functional, true);
    const struct allot_result *r = allot_launch(acu.device, &a, acu.diag);
    /* With what its kernel launched, as far as that came. */
    for (size_t i = 0; i < allot_results(acu.device); i++) {
        const struct allot_result *one = allot_result_at(acu.device, i);
        time_launch(one, functional);
        acu_record_result(f, one, functional);
        if (!functional)
            acu_look_result(one);
        if (acu.report)
            report(one, functional);
    }
    if (!r) {
        acu_record_launch(f, l, functional, false);
        first_error(why);
    }
    acu_flush_diag();
    acu_record_findings(allot_device_findings(acu.device));
    if (!r) {
        enum allot_failure failure = allot_launch_failure(acu.device);
        e = error_of(failure);
        if (failure < ALLOT_REFUSED)
            return e; /* nothing ran */
        /* A fault: the launch itself succeeds, what follows it tells. A kernel that cannot
         * run: the launch tells, and nothing has happened to the device. */
        *fault = acu_error_sticky(e);
        if (*fault)
            acu.sticky = e;
        return *fault ? 0 : e;
    }
    return 0;
}

int
acu_launch(struct acu_function *f, const struct acu_launch *l, struct acu_stream *s)
{
    struct strbuf why = {0};
    bool fault = false;
    acu.launched++;
    int e = launch(f, l, s, &why, &fault);
    if (e || fault) {
        int error = fault ? acu.sticky : e;
        acu_record_failure(f->name, error, fault, why.n ? why.s : acu_error_text(error));
        if (l->told && !fault)
            acu_record_noticed(false);
    } else if (acu.reset) {
        acu_record_noticed(true); /* it has made a new start */
        acu.reset = false;
    }
    strbuf_free(&why);
    return e;
}

/* -- occupancy -- */

int
acu_occupancy(struct acu_function *f, uint32_t threads, uint64_t dynamic_scratchpad,
              int *blocks)
{
    int e = acu_function_load(f);
    if (e)
        return e;
    struct acu_props p;
    acu_props(&p);
    *blocks = 0;
    uint64_t bytes = f->kernel->scratchpad + dynamic_scratchpad;
    if (!threads || threads > (uint32_t)p.max_threads_block || bytes > UINT32_MAX)
        return 0;
    struct allot_launch l = {.module = f->ptx,
                             .kernel = f->name,
                             .block = {threads, 1, 1},
                             .dynamic_scratchpad = (uint32_t)dynamic_scratchpad};
    *blocks = (int)allot_resident_blocks_sm(acu.device, &l, NULL);
    return 0;
}

int
acu_occupancy_clusters(struct acu_function *f, const struct acu_launch *l, int *clusters)
{
    struct acu_props p;
    int e = acu_function_load(f);
    if (e)
        return e;
    acu_props(&p);
    const uint32_t *n = acu_launch_cluster(f, l);
    const uint64_t blocks = n[0] ? (uint64_t)n[0] * n[1] * n[2] : 1;
    *clusters = 0;
    if (!blocks || blocks > (uint64_t)acu_cluster_most(f))
        return ACU_INVALID_CLUSTER_SIZE;
    struct allot_launch a = {.module = f->ptx,
                             .kernel = f->name,
                             .block = {l->block[0], l->block[1], l->block[2]},
                             .dynamic_scratchpad = l->dynamic_scratchpad};
    if (p.major < 9)
        return ACU_NOT_SUPPORTED;
    *clusters = (int)allot_resident_clusters(acu.device, &a, (uint32_t)blocks, NULL);
    return 0;
}

/* The largest that fits: one cluster of it can be resident. */
int
acu_occupancy_cluster_size(struct acu_function *f, const struct acu_launch *l, int *size)
{
    struct acu_launch one = *l;
    int n = 0;
    for (int s = 16; s > 1; s /= 2) {
        const uint32_t dims[3] = {(uint32_t)s, 1, 1};
        if (s > acu_cluster_most(f))
            continue;
        memcpy(one.cluster, dims, sizeof one.cluster);
        int e = acu_occupancy_clusters(f, &one, &n);
        if (e || n) {
            *size = s;
            return e;
        }
    }
    *size = 1;
    return 0;
}
