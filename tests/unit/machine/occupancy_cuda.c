/* occupancy_cuda.c: NVIDIA's rules against cuda_occupancy.h of an installed CUDA toolkit,
 * at random points. Machines are made with settings from the tables of the CUDA
 * programming guide; the header has its own. Skipped where there is no toolkit. */
#include "machine/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/kit/skip.h"

#if __has_include("cuda_occupancy.h")
#include "cuda_occupancy.h"
#define HAVE_CUDA
#elif __has_include("/usr/local/cuda/include/cuda_occupancy.h")
#include "/usr/local/cuda/include/cuda_occupancy.h"
#define HAVE_CUDA
#endif

#ifdef HAVE_CUDA

/* CUDA C programming guide, "Technical specifications per compute capability". */
struct capability {
    int cc;
    uint32_t threads, blocks, registers, block_registers, max_registers;
    uint32_t partitions, check_warps;
    uint32_t smem_kib, block_kib, reserved, smem_unit;
    const char *sizes; /* KiB */
};

static const struct capability capabilities[] = {
    /*  cc  threads blk  regs  blkregs max part chk smem block rsv unit sizes */
    {35, 2048, 16, 65536, 65536, 255, 4, 4, 48, 48, 0, 256, "16 32 48"},
    {37, 2048, 16, 131072, 65536, 255, 4, 4, 112, 48, 0, 256, "80 96 112"},
    {50, 2048, 32, 65536, 65536, 255, 4, 4, 64, 48, 0, 256, ""},
    {52, 2048, 32, 65536, 65536, 255, 4, 4, 96, 48, 0, 256, ""},
    {53, 2048, 32, 65536, 32768, 255, 4, 4, 64, 48, 0, 256, ""},
    {60, 2048, 32, 65536, 65536, 255, 2, 4, 64, 48, 0, 256, ""},
    {61, 2048, 32, 65536, 65536, 255, 4, 4, 96, 48, 0, 256, ""},
    {62, 2048, 32, 65536, 32768, 255, 4, 4, 64, 48, 0, 256, ""},
    {70, 2048, 32, 65536, 65536, 256, 4, 4, 96, 96, 0, 256, "0 8 16 32 64 96"},
    {75, 1024, 16, 65536, 65536, 256, 4, 4, 64, 64, 0, 256, "32 64"},
    {80, 2048, 32, 65536, 65536, 256, 4, 4, 164, 163, 1024, 128,
     "0 8 16 32 64 100 132 164"},
    {86, 1536, 16, 65536, 65536, 256, 4, 4, 100, 99, 1024, 128, "0 8 16 32 64 100"},
    {89, 1536, 24, 65536, 65536, 256, 4, 4, 100, 99, 1024, 128, "0 8 16 32 64 100"},
    {90, 2048, 32, 65536, 65536, 256, 4, 4, 228, 227, 1024, 128,
     "0 8 16 32 64 100 132 164 196 228"},
};

static void
set(struct machine *m, const char *path, uint32_t v)
{
    char text[20];
    struct diag_sink d = {0};
    snprintf(text, sizeof text, "%u", v);
    assert_true(machine_set(m, path, text, &d));
}

static struct machine *
machine_of(const struct capability *c)
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    set(m, "gpu.compute_capability", (uint32_t)c->cc);
    set(m, "sm.max_threads", c->threads);
    set(m, "sm.max_blocks", c->blocks);
    set(m, "sm.max_block_threads", 1024);
    set(m, "sm.registers", c->registers);
    set(m, "sm.max_block_registers", c->block_registers);
    set(m, "sm.max_registers", c->max_registers);
    assert_true(machine_set(m, "sm.register_alloc", "warp", &d));
    set(m, "sm.register_unit", 256);
    set(m, "sm.register_partitions", c->partitions);
    set(m, "sm.warp_unit", c->check_warps);
    set(m, "sm.scratchpad", c->smem_kib * 1024);
    set(m, "sm.max_block_scratchpad", c->block_kib * 1024);
    set(m, "sm.scratchpad_reserved", c->reserved);
    set(m, "sm.scratchpad_unit", c->smem_unit);
    assert_true(machine_set(m, "sm.scratchpad_sizes", c->sizes, &d));
    assert_true(machine_check(m, &d));
    return m;
}

static cudaOccDeviceProp
properties_of(const struct capability *c)
{
    return (cudaOccDeviceProp){
        .computeMajor = c->cc / 10,
        .computeMinor = c->cc % 10,
        .maxThreadsPerBlock = 1024,
        .maxThreadsPerMultiprocessor = (int)c->threads,
        .regsPerBlock = (int)c->block_registers,
        .regsPerMultiprocessor = (int)c->registers,
        .warpSize = 32,
        .sharedMemPerBlock = 48 * 1024,
        .sharedMemPerMultiprocessor = c->smem_kib * 1024,
        .numSms = 10,
        .sharedMemPerBlockOptin = c->block_kib * 1024,
        .reservedSharedMemPerBlock = c->reserved,
    };
}

static uint64_t
next(uint64_t *r)
{
    *r = *r * 6364136223846793005u + 1442695040888963407u;
    return *r >> 33;
}

static void
test_random_points(void **state)
{
    uint64_t r = 2024;
    unsigned points = 0, zero = 0, by[4] = {0}, small = 0;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        const struct capability *c = &capabilities[i];
        struct machine *m = machine_of(c);
        for (int n = 0; n < 4000; n++, points++) {
            uint32_t threads = next(&r) % 4 ? 32 * (1 + (uint32_t)next(&r) % 32)
                                            : 1 + (uint32_t)next(&r) % 1100;
            if (n % 4 == 0) /* small blocks: many to an SM */
                threads = 1 + (uint32_t)next(&r) % 64;
            uint32_t regs = (uint32_t)next(&r) % (n % 3 ? 70 : 260);
            uint32_t smem =
                n % 5 == 0
                    ? 0
                    : (uint32_t)next(&r) % ((c->block_kib + 2) * (n % 2 ? 1024u : 128u));
            /* Share of the memory preferred as scratchpad. Before 7.0 only "prefer L1"
             * and "prefer shared" mean the same thing to both. */
            int carveout = c->cc >= 70 ? (int)(next(&r) % 101) : next(&r) % 2 ? 100 : 0;
            set(m, "sm.scratchpad_carveout", (uint32_t)carveout);

            cudaOccDeviceProp prop = properties_of(c);
            cudaOccFuncAttributes attr = {.maxThreadsPerBlock = 1024,
                                          .numRegs = (int)regs,
                                          .sharedSizeBytes = smem > 49152 ? 0 : smem,
                                          .partitionedGCConfig = PARTITIONED_GC_OFF,
                                          .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                          .maxDynamicSharedSizeBytes =
                                              smem > 49152 ? smem : 0,
                                          .numBlockBarriers = 1};
            cudaOccDeviceState dev = {.cacheConfig = carveout ? CACHE_PREFER_SHARED
                                                              : CACHE_PREFER_L1,
                                      .carveoutConfig = carveout};
            cudaOccResult res;
            memset(&res, 0, sizeof res);
            cudaOccError err = cudaOccMaxActiveBlocksPerMultiprocessor(
                &res, &prop, &attr, &dev, (int)threads, smem > 49152 ? smem : 0);
            assert_int_equal(err, CUDA_OCC_SUCCESS);

            struct occ_kernel k = {threads, regs, smem, 0};
            struct allot_occupancy o;
            struct diag_sink d = {0};
            bool ok = occ_compute(m, &k, OCC_SHARE_NONE, 1, &o, &d);
            diag_free(&d);
            uint32_t mine = ok ? o.resident_blocks : 0;
            if (mine != (uint32_t)res.activeBlocksPerMultiprocessor)
                fail_msg("compute capability %d: %u threads, %u registers, %u bytes, "
                         "carveout %d: %u blocks, the header says %d (registers %d, "
                         "scratchpad %d, warps %d, blocks %d)",
                         c->cc, threads, regs, smem, carveout, mine,
                         res.activeBlocksPerMultiprocessor, res.blockLimitRegs,
                         res.blockLimitSharedMem, res.blockLimitWarps,
                         res.blockLimitBlocks);
            zero += !mine;
            if (!ok)
                continue;
            unsigned limits = res.limitingFactors;
            assert_int_equal(!!strstr(o.limited_by, "threads"),
                             !!(limits & OCC_LIMIT_WARPS));
            assert_int_equal(!!strstr(o.limited_by, "blocks"),
                             !!(limits & OCC_LIMIT_BLOCKS));
            assert_int_equal(!!strstr(o.limited_by, "registers"),
                             !!(limits & OCC_LIMIT_REGISTERS));
            assert_int_equal(!!strstr(o.limited_by, "scratchpad"),
                             !!(limits & OCC_LIMIT_SHARED_MEMORY));
            struct occ_demand demand = occ_demand(m, &k);
            assert_int_equal(demand.registers, res.allocatedRegistersPerBlock);
            assert_int_equal(demand.scratchpad, res.allocatedSharedMemPerBlock);
            small += demand.scratchpad_size < m->sm.scratchpad;
            for (int b = 0; b < 4; b++)
                by[b] += limits >> b & 1;
        }
        machine_free(m);
    }
    print_message(
        "%u points agree; %u of them do not fit; limited by warps %u, registers %u, "
        "scratchpad %u, blocks %u; less than all of the scratchpad %u\n",
        points, zero, by[0], by[1], by[2], by[3], small);
    /* the points reached every rule */
    assert_true(points >= 20000 && zero > points / 100 && small > points / 20);
    for (int b = 0; b < 4; b++)
        assert_true(by[b] > points / 20);
}

#else

static void
test_random_points(void **state)
{
    SKIP_NEEDS("nvcc (cuda_occupancy.h)");
}

#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_points)};
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
