/* core_launch.c: launches, occupancy, and the record of what ran. */
#define _GNU_SOURCE
#include "cuda/core_int.h"

#include <stdio.h>
#include <unistd.h>

/* -- records -- */

/* What a table of kernels needs. */
static bool
summary(const char *id)
{
    static const char *const ids[] = {"cycles", "resident_blocks", "warp_instructions",
                                      "thread_instructions"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(ids[i], id))
            return true;
    return false;
}

/* One line on stderr, and one line of JSON in the record, which is appended to by one
 * write so that several processes may share it. */
static void
record(const struct acu_function *f, const struct allot_result *r)
{
    uint64_t cycles = 0, insts = 0;
    uint32_t grid[3], block[3], dynamic;
    const char *name = allot_result_kernel(r), *parent = allot_result_parent(r);
    double ipc = 0;
    allot_result_shape(r, grid, block, &dynamic);
    if (acu.report) {
        bool timed = !acu.options.functional;
        allot_result_get(r, "cycles", &cycles, NULL);
        allot_result_get(r, "warp_instructions", &insts, NULL);
        allot_result_get(r, "ipc", NULL, &ipc);
        char time[96] = "";
        if (timed)
            snprintf(time, sizeof time, "%llu cycles, IPC %.2f, ",
                     (unsigned long long)cycles, ipc);
        acu_say("%s <<<(%u,%u,%u), (%u,%u,%u)>>> %s%llu warp instructions%s%s", name,
                grid[0], grid[1], grid[2], block[0], block[1], block[2], time,
                (unsigned long long)insts, parent ? ", launched by " : "",
                parent ? parent : "");
    }
    if (acu.record < 0)
        return;
    struct strbuf b = {0};
    strbuf_printf(&b,
                  "{\"pid\": %ld, \"name\": \"%s\", \"grid\": [%u, %u, %u], "
                  "\"block\": [%u, %u, %u], \"dynamic_scratchpad\": %u, \"seconds\": %.6f",
                  (long)getpid(), name, grid[0], grid[1], grid[2], block[0], block[1],
                  block[2], dynamic, allot_result_seconds(r));
    if (parent)
        strbuf_printf(&b, ", \"parent\": \"%s\"", parent);
    if (acu.record_all)
        strbuf_printf(&b, ", \"ptx_hash\": \"%s\"", acu_module_hash(f->module));
    struct allot_stat_info info;
    for (size_t i = 0; allot_stat(i, &info); i++) {
        uint64_t count;
        double value;
        if ((!acu.record_all && !summary(info.id)) ||
            !allot_result_get(r, info.id, &count, &value))
            continue;
        if (info.derived)
            strbuf_printf(&b, ", \"%s\": %.12g", info.id, value);
        else
            strbuf_printf(&b, ", \"%s\": %llu", info.id, (unsigned long long)count);
    }
    strbuf_addz(&b, "}\n");
    ssize_t w = write(acu.record, b.s, b.n);
    if (w != (ssize_t)b.n)
        acu_say("the record of %s could not be written", name);
    strbuf_free(&b);
}

/* -- time -- */

/* Without timing a launch still takes simulated time, so that rates can be computed: one
 * warp instruction a cycle in every SM. */
static void
time_launch(const struct allot_result *r)
{
    uint64_t cycles = 0;
    if (acu.options.functional) {
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
    uint32_t given = (uint32_t)acu_setting("residency.regs_per_thread");
    uint32_t most = (uint32_t)acu_setting("sm.max_registers");
    uint32_t r = given ? given : f->kernel->registers;
    return r > most ? most : r;
}

uint32_t
acu_function_capability(const struct acu_function *f)
{
    return allot_module_capability(f->ptx);
}

static int
check_dims(const struct acu_launch *l)
{
    struct acu_props p;
    acu_props(&p);
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || !l->block[i] || l->grid[i] > (uint32_t)p.max_grid[i] ||
            l->block[i] > (uint32_t)p.max_block[i])
            return ACU_INVALID_CONFIGURATION;
        threads *= l->block[i];
    }
    return threads > (uint64_t)p.max_threads_block ? ACU_INVALID_CONFIGURATION : 0;
}

static int
check_resources(const struct acu_function *f, const struct acu_launch *l)
{
    struct acu_props p;
    acu_props(&p);
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t allowed = (uint64_t)p.smem_block - f->kernel->scratchpad;
    if (f->kernel->scratchpad > (uint32_t)p.smem_block)
        allowed = 0;
    if (f->dynamic_set)
        allowed = f->dynamic_max;
    if (l->dynamic_scratchpad > allowed)
        return ACU_INVALID_VALUE;
    if (f->kernel->max_block_threads && threads > f->kernel->max_block_threads)
        return ACU_INVALID_VALUE;
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

int
acu_launch(struct acu_function *f, const struct acu_launch *l, struct acu_stream *s)
{
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    int e = acu_function_load(f);
    if (!e)
        e = check_dims(l);
    if (!e)
        e = check_resources(f, l);
    if (e)
        return e;
    if (f->kernel->nparams && !l->args)
        return ACU_INVALID_VALUE;
    struct allot_launch a = {.module = f->ptx,
                             .kernel = f->name,
                             .grid = {l->grid[0], l->grid[1], l->grid[2]},
                             .block = {l->block[0], l->block[1], l->block[2]},
                             .dynamic_scratchpad = l->dynamic_scratchpad,
                             .args = (const void *const *)l->args,
                             .nargs = f->kernel->nparams,
                             .cooperative = l->cooperative};
    acu.watch.kernel = f->name;
    acu.watch.since = acu.watch.done = 0;
    size_t before = allot_results(acu.device);
    const struct allot_result *r = allot_launch(acu.device, &a, acu.diag);
    acu_flush_diag();
    /* With what its kernel launched, as far as that came. */
    for (size_t i = before; i < allot_results(acu.device); i++) {
        time_launch(allot_result_at(acu.device, i));
        record(f, allot_result_at(acu.device, i));
    }
    if (!r) {
        enum allot_failure why = allot_launch_failure(acu.device);
        e = error_of(why);
        if (why < ALLOT_REFUSED)
            return e; /* nothing ran */
        /* A fault: the launch itself succeeds, what follows it tells. A kernel that
         * cannot run: both tell, for many programs look at launches no further, and what
         * they then copy back is not what the kernel would have left. */
        acu.sticky = e;
        return why == ALLOT_REFUSED ? e : 0;
    }
    return 0;
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
