/* test_workloads.c: every workload gives the right answer, by either compiler's PTX, and
 * its check would notice if it did not.
 *
 * The check is put to the test by interposing on the two library calls it depends on (the
 * linker's
 * --wrap): a launch is left out, or one element of a result is altered as it is read
 * back. */
#include "allot/workload.h"

#include "../tests/unit/kit/sanitized.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NEVER = -1 };

/* What the interposed calls do and have seen, in the current run. */
static struct {
    int skip_launch;       /* number of the launch to leave out */
    int alter_read;        /* number of the read to alter */
    uint64_t place;        /* of the word altered, modulo their number */
    int launches, reads;   /* so far */
    int reads_before_last; /* reads done when the last launch came */
    uint64_t warp_instructions;
    uint64_t threads;
} spy;

const struct allot_result *__real_allot_launch(struct allot_device *dev,
                                               const struct allot_launch *l,
                                               struct allot_diag *d);
const struct allot_result *__wrap_allot_launch(struct allot_device *dev,
                                               const struct allot_launch *l,
                                               struct allot_diag *d);
bool __real_allot_read(struct allot_device *dev, uint64_t addr, void *dst, uint64_t bytes,
                       struct allot_diag *d);
bool __wrap_allot_read(struct allot_device *dev, uint64_t addr, void *dst, uint64_t bytes,
                       struct allot_diag *d);

const struct allot_result *
__wrap_allot_launch(struct allot_device *dev, const struct allot_launch *l,
                    struct allot_diag *d)
{
    static const char nothing;
    spy.reads_before_last = spy.reads;
    if (spy.launches++ == spy.skip_launch)
        return (const struct allot_result
                    *)&nothing; /* the caller only asks whether it is NULL */
    const struct allot_result *r = __real_allot_launch(dev, l, d);
    uint64_t n = 0, threads = 1;
    for (int i = 0; i < 3; i++)
        threads *=
            (uint64_t)(l->grid[i] ? l->grid[i] : 1) * (l->block[i] ? l->block[i] : 1);
    spy.threads += threads;
    if (r && allot_result_get(r, "warp_instructions", &n, NULL))
        spy.warp_instructions += n;
    return r;
}

bool
__wrap_allot_read(struct allot_device *dev, uint64_t addr, void *dst, uint64_t bytes,
                  struct allot_diag *d)
{
    bool ok = __real_allot_read(dev, addr, dst, bytes, d);
    if (spy.reads++ == spy.alter_read) {
        uint32_t word; /* a float or integer, or the upper half of a double */
        char *at = (char *)dst + (bytes < 8 ? 0 : 4 * (spy.place % (bytes / 8) * 2 + 1));
        memcpy(&word, at, sizeof word);
        word ^= 1u << 16; /* 2^-7 of a float's value; 2^-4 of a double's */
        memcpy(at, &word, sizeof word);
    }
    return ok;
}

/* One run; returns what the workload says. Its complaint, or the library's, goes to why.
 */
static bool
run_once(const struct allot_workload *w, struct allot_module *module,
         struct allot_machine *m, bool functional, int skip_launch, int alter_read,
         uint64_t place, char why[1024])
{
    struct allot_diag *d = allot_diag_new();
    struct allot_options options = {.functional = functional};
    struct allot_device *dev = allot_device_new(m, &options, d);
    char check[256] = "";
    memset(&spy, 0, sizeof spy);
    spy.skip_launch = skip_launch;
    spy.alter_read = alter_read;
    spy.place = place;
    bool passed = dev && allot_workload_run(w, dev, module, true, 1, check, d);
    snprintf(why, 1024, "%s %s", check, allot_diag_errors(d) ? allot_diag_text(d) : "");
    if (dev)
        allot_device_free(dev);
    allot_diag_free(d);
    return passed;
}

static struct allot_module *
load(const struct allot_workload *w, const char *compiler)
{
    size_t len;
    const char *text = allot_workload_ptx(w->name, compiler, &len);
    if (!text)
        return NULL;
    char name[64];
    snprintf(name, sizeof name, "%s.%s.ptx", w->name, compiler);
    struct allot_diag *d = allot_diag_new();
    struct allot_module *module = allot_module_parse(name, text, len, d);
    if (!module)
        fail_msg("%s", allot_diag_text(d));
    allot_diag_free(d);
    return module;
}

static struct allot_machine *
machine(void)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    if (!m)
        fail_msg("%s", allot_diag_text(d));
    allot_diag_free(d);
    return m;
}

static const char *const compilers[] = {"clang", "nvcc"};

static void
passes_and_notices(void **state)
{
    (void)state;
    struct allot_machine *m = machine();
    char why[1024];
    for (size_t i = 0; allot_workloads[i]; i++) {
        const struct allot_workload *w = allot_workloads[i];
        for (size_t c = 0; c < 2; c++) {
            struct allot_module *module = load(w, compilers[c]);
            if (!module) {
                assert_string_not_equal(compilers[c], "clang"); /* always built */
                continue;
            }
            if (!run_once(w, module, m, true, NEVER, NEVER, 0, why))
                fail_msg("%s (%s): %s", w->name, compilers[c], why);
            int launches = spy.launches, reads = spy.reads,
                results = spy.reads_before_last;
            print_message("%s (%s): %d launches, %llu warp instructions\n", w->name,
                          compilers[c], launches,
                          (unsigned long long)spy.warp_instructions);
            assert_true(launches > 0 && results < reads);
            assert_in_range(spy.warp_instructions, 100, 60000); /* quick is quick */

            if (!in_sample(i, c)) /* what the check misses is the same under sanitizers */
                launches = 0, results = reads;
            for (int l = 0; l < launches; l++)
                if (run_once(w, module, m, true, l, NEVER, 0, why))
                    fail_msg("%s passes without its launch %d", w->name, l);
                else if (strncmp(why, " ", 1) == 0)
                    fail_msg("%s without launch %d fails, but not in its check: %s",
                             w->name, l, why);
            for (int k = results; k < reads; k++)
                for (uint64_t place = 0; place < (SANITIZED ? 1 : 1000003);
                     place += 333331)
                    if (run_once(w, module, m, true, NEVER, k, place, why))
                        fail_msg("%s passes though word %llu of read %d was altered",
                                 w->name, (unsigned long long)place, k);
            allot_module_free(module);
        }
    }
    allot_machine_free(m);
}

static void
other_seed_other_input(void **state)
{
    (void)state;
    struct allot_machine *m = machine();
    for (size_t i = 0; allot_workloads[i]; i++) {
        const struct allot_workload *w = allot_workloads[i];
        struct allot_module *module = load(w, "clang");
        for (uint32_t seed = 2; seed < (SANITIZED ? 3 : 5); seed++) {
            struct allot_diag *d = allot_diag_new();
            struct allot_options options = {.functional = true};
            struct allot_device *dev = allot_device_new(m, &options, d);
            char check[256];
            memset(&spy, 0, sizeof spy);
            spy.skip_launch = spy.alter_read = NEVER;
            assert_non_null(dev);
            if (!allot_workload_run(w, dev, module, true, seed, check, d))
                fail_msg("%s, seed %u: %s %s", w->name, seed, check, allot_diag_text(d));
            allot_device_free(dev);
            allot_diag_free(d);
        }
        allot_module_free(module);
    }
    allot_machine_free(m);
}

/* With timing, every scheduler under every residency policy. */
static void
passes_under_every_policy(void **state)
{
    (void)state;
    struct allot_machine *m = machine();
    const char *scheduler, *residency, *meaning;
    char why[1024];
    int runs = 0;
    for (size_t i = 0; allot_workloads[i]; i++) {
        const struct allot_workload *w = allot_workloads[i];
        struct allot_module *module = load(w, "clang");
        for (size_t s = 0; allot_policy("schedulers", s, &scheduler, &meaning); s++) {
            for (size_t p = 0; allot_policy("residency", p, &residency, &meaning); p++) {
                if (SANITIZED && (i + s + p) % 12)
                    continue;
                assert_true(allot_machine_set(m, "sm.scheduler", scheduler, NULL));
                assert_true(allot_machine_set(m, "residency.policy", residency, NULL));
                if (!run_once(w, module, m, false, NEVER, NEVER, 0, why))
                    fail_msg("%s, %s, %s: %s", w->name, scheduler, residency, why);
                runs++;
            }
        }
        allot_module_free(module);
    }
    assert_true(runs > 0);
    allot_machine_free(m);
}

/* Static scratchpad of each kernel is what the documents' tables say. */
static void
scratchpad_as_in_the_tables(void **state)
{
    (void)state;
    static const struct {
        const char *workload, *kernel;
        uint32_t bytes;
        size_t variables;
    } rows[] = {
        {"vecadd", "vecadd", 0, 0},
        {"bfs", "Kernel", 0, 0},
        {"matmul", "matmul", 2048, 2},
        {"backprop", "bpnn_layerforward_CUDA", 9408, 2},    /* 000 Table I */
        {"backprop_16", "bpnn_layerforward_CUDA", 1088, 2}, /* unmodified */
        {"srad_v2", "srad_cuda_1", 6144, 6},                /* 001 Table 2.2 */
        {"srad_v2", "srad_cuda_2", 5120, 5},
        {"srad_v2_24", "srad_cuda_1", 13824, 6}, /* 000 Table I */
        {"srad_v2_24", "srad_cuda_2", 11520, 5},
        {"hotspot", "calculate_temp", 3072, 3},
        {"nw", "needle_cuda_shared_1", 2180, 2}, /* 001 Table 2.2 */
        {"nw", "needle_cuda_shared_2", 2180, 2},
        {"nw_32", "needle_cuda_shared_1", 8452, 2}, /* 000 Table I */
        {"nw_32", "needle_cuda_shared_2", 8452, 2},
        {"lavaMD", "kernel_gpu_cuda", 7200, 3}, /* 001 Table 2.2 */
        {"conv1", "convolutionRowsKernel", 2560, 1},
        {"conv2", "convolutionColumnsKernel", 5184, 1},
        {"dct1", "CUDAkernel2DCT", 2112, 1}, /* 000 Table I */
        {"dct2", "CUDAkernel2IDCT", 2112, 1},
        {"dct3", "CUDAkernelShortDCT", 2176, 1},
        {"dct4", "CUDAkernelShortIDCT", 2176, 1},
        {"nqueen", "solve_nqueen_cuda_kernel", 10496, 5},
        {"fdtd3d", "FiniteDifferencesKernel", 3840, 1},
        {"heartwall", "kernel", 11872, 8},
        {"histogram", "histogram256Kernel", 9216, 1},
        {"mc1", "generateTriangles", 9216, 2},
        {"dct1_8320", "CUDAkernel2DCT", 8320, 1}, /* 000 Table VII */
        {"dct2_8320", "CUDAkernel2IDCT", 8320, 1},
        {"mc2", "generateTriangles", 13824, 2},
        {"kmeans", "kmeansPoint", 4608, 2},
        {"lud", "lud_internal", 3872, 2},
        {"blackscholes", "BlackScholesGPU", 0, 0}, /* 001 Table 4.3 states no sizes */
        {"lps", "GPU_laplace3d", 2448, 1},
        {"montecarlo", "inverseCNDKernel", 0, 0},
        {"montecarlo", "MonteCarloOneBlockPerOption", 2048, 2},
        {"mriq_phimag", "ComputePhiMag_GPU", 0, 0},
        {"nn1", "executeFirstLayer", 0, 0},
        {"nn3", "executeThirdLayer", 0, 0},
        {"nn4", "executeFourthLayer", 0, 0},
        {"pathfinder", "dynproc_kernel", 2048, 2},
        {"scalarprod", "scalarProdGPU", 4096, 1},
        {"spmv", "spmv_jds", 0, 0},
        {"bfs_mask", "Kernel", 0, 0},
        {"bfs_mask", "Kernel2", 0, 0},
        {"recursiveGaussian", "d_recursiveGaussian_rgba", 0, 0}, /* 002 Table 1 */
        {"particles", "collideD", 0, 0},
        {"cfd", "cuda_compute_flux", 0, 0},
        {"dxtc", "compress", 144 * 12, 6},     /* Kepler */
        {"dxtc_192", "compress", 192 * 10, 6}, /* Fermi */
        {"imageDenoising", "NLM2", 64 * 4, 1},
        {"hotspot_derived", "calculate_temp", 256 * 12, 3},
        {"mv", "mv", 4268 - 44, 1}, /* 003 Table 1 less what CUDA reserves */
        {"fft", "fft", 8736 - 32, 1},
        {"mc1_9324", "generateTriangles", 9324 - 108, 2},
        {"storegpu", "hash_pieces", 16304 - 48, 1},
        {"scalarprod_4144", "scalarProdGPU", 4144 - 48, 1},
        {"histogram_8224", "histogram", 8224 - 32, 1},
        {"conv2_8300", "convolutionColumnsKernel", 8300 - 44, 1},
        {"matmul_2084", "matmul", 2084 - 36, 2},
        {"transpose", "transpose", 4260 - 36, 1},
        {"reduction", "reduce", 540 - 28, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct allot_workload *w = allot_workload_find(rows[i].workload);
        assert_non_null(w);
        for (size_t c = 0; c < 2; c++) {
            struct allot_module *module = load(w, compilers[c]);
            if (!module)
                continue;
            const struct allot_kernel *k = allot_module_find(module, rows[i].kernel);
            assert_non_null(k);
            assert_int_equal(k->scratchpad, rows[i].bytes);
            assert_int_equal(k->nvariables, rows[i].variables);
            print_message("%s %s (%s): %u virtual registers\n", w->name, k->name,
                          compilers[c], k->registers);
            allot_module_free(module);
        }
    }
}

/* -- scratchpad: what the compiler believes -- */

static uint32_t
largest_scratchpad(struct allot_module *module)
{
    const struct allot_kernel *k;
    uint32_t most = 0;
    for (size_t i = 0; (k = allot_module_kernel(module, i)); i++)
        most = k->scratchpad > most ? k->scratchpad : most;
    return most;
}

/* Thread instructions of a functional run with these passes, every access checked. */
static uint64_t
instructions(const struct allot_workload *w, struct allot_module *module,
             struct allot_machine *m, const char *passes, uint64_t *threads)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_options options = {.functional = true, .check_analyses = true};
    assert_true(allot_machine_set(m, "compiler.passes", passes, d));
    struct allot_device *dev = allot_device_new(m, &options, d);
    char check[256] = "";
    assert_non_null(dev);
    memset(&spy, 0, sizeof spy);
    spy.skip_launch = spy.alter_read = NEVER;
    if (!allot_workload_run(w, dev, module, true, 1, check, d))
        fail_msg("%s with %s: %s %s", w->name, passes, check, allot_diag_text(d));
    uint64_t n = 0, v;
    for (size_t i = 0; i < allot_results(dev); i++) {
        assert_true(
            allot_result_get(allot_result_at(dev, i), "thread_instructions", &v, NULL));
        n += v;
    }
    *threads = spy.threads;
    allot_device_free(dev);
    allot_diag_free(d);
    return n;
}

/* Every access is to a variable that the analysis foresees; no thread touches the shared
 * part after its relssp, nor executes it twice (the executor's check); each executes it
 * once: one instruction more, and at most one jump (000 Table VI). */
static void
analyses_hold_and_relssp_costs_one_instruction(void **state)
{
    (void)state;
    struct allot_machine *m = machine();
    int shared = 0;
    assert_true(allot_machine_set(m, "residency.policy", "scratchpad-sharing", NULL));
    assert_true(allot_machine_set(m, "residency.threshold", "0.1", NULL));
    assert_true(allot_machine_set(m, "residency.regs_per_thread", "16", NULL));
    for (size_t i = 0; allot_workloads[i]; i++)
        for (size_t c = 0; c < 2; c++) {
            const struct allot_workload *w = allot_workloads[i];
            struct allot_module *module = load(w, compilers[c]);
            uint32_t bytes = module ? largest_scratchpad(module) : 0;
            char size[32];
            if (!bytes) {
                allot_module_free(module);
                continue;
            }
            /* Room for one block and a quarter: one pair. */
            snprintf(size, sizeof size, "%u", bytes + bytes / 4);
            assert_true(allot_machine_set(m, "sm.scratchpad", size, NULL));
            uint64_t n, base = instructions(w, module, m, "", &n);
            uint64_t exits = instructions(w, module, m, "relssp:mode=exit", &n);
            uint64_t post = instructions(w, module, m, "relssp:mode=postdom", &n);
            uint64_t best = instructions(w, module, m, "scratchpad-layout,relssp", &n);
            shared += best > base;
            if (best > base) {
                assert_int_equal(exits - base, post - base);
                assert_true(exits - base <= n && exits > base);
                assert_true(best - base >= exits - base);
                assert_true(best - base <= 2 * (exits - base));
            }
            allot_module_free(module);
        }
    assert_true(shared >= 4);
    allot_machine_free(m);
}

/* -- allot_device.h -- */

/* Launches kernel of test_device.cu with a, b (device copies of size bytes each, copied
 * back into them) and n. */
static void
launch_device(struct allot_module *module, struct allot_machine *m, const char *kernel,
              int blocks, int threads, size_t nargs, void *const buffers[],
              const size_t bytes[], int n)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_options options = {.functional = true};
    struct allot_device *dev = allot_device_new(m, &options, d);
    assert_non_null(dev);
    struct allot_run r = {.dev = dev, .module = module, .diag = d, .ok = true};
    memset(&spy, 0, sizeof spy);
    spy.skip_launch = spy.alter_read = NEVER;
    uint64_t addr[4];
    const void *args[4];
    for (size_t i = 0; i < nargs; i++) {
        args[i] = &n;
        if (buffers[i]) {
            addr[i] = wl_upload(&r, buffers[i], bytes[i]);
            args[i] = &addr[i];
        }
    }
    uint32_t dims[6] = {(uint32_t)blocks, 1, 1, (uint32_t)threads, 1, 1};
    wl_launch_args(&r, kernel, dims, 0, args, nargs);
    for (size_t i = 0; i < nargs; i++)
        if (buffers[i])
            wl_read(&r, addr[i], buffers[i], bytes[i]);
    if (!r.ok)
        fail_msg("%s: %s", kernel, allot_diag_text(d));
    allot_device_free(dev);
    allot_diag_free(d);
}

/* Error of got in units in the last place of a float, or of a double. */
static double
ulps(double got, double want, bool is_float)
{
    if (isnan(want))
        return isnan(got) ? 0.0 : HUGE_VAL;
    double rounded = is_float ? (double)(float)want : want;
    if (isinf(rounded) || isinf(got))
        return got == rounded ? 0.0 : HUGE_VAL;
    int e;
    frexp(want, &e);
    int least = is_float ? -125 : -1021, bits = is_float ? 24 : 53;
    if (want == 0.0 || e < least)
        e = least;
    return fabs(got - want) / ldexp(1.0, e - bits);
}

static void
device_math(struct allot_module *module, struct allot_machine *m)
{
    enum { N = 20000, F = 6 };
    double *x = malloc(sizeof *x * N), *y = malloc(sizeof *y * N * F);
    static const double special[] = {0.0,    -0.0,  INFINITY, -INFINITY, NAN,   1e-45,
                                     1e-40,  -1.0,  3.4e38,   88.7,      88.8,  -103.9,
                                     -104.1, 127.9, 128.1,    -149.1,    709.7, -745.0};
    uint64_t rng = 7;
    for (int i = 0; i < N; i++) {
        double u = (double)wl_uniform(&rng, -1.0f, 1.0f);
        x[i] = i % 4 == 0   ? u * 160
               : i % 4 == 1 ? u
               : i % 4 == 2 ? exp(80 * u)
                            : 1 + u / 16;
        if (i < (int)(sizeof special / sizeof *special))
            x[i] = (float)special[i];
    }
    launch_device(module, m, "device_math", (N + 255) / 256, 256, 3,
                  (void *[]){x, y, NULL}, (size_t[]){sizeof *x * N, sizeof *y * N * F, 0},
                  N);
    /* The header's promises; sqrtf is correctly rounded. */
    static const char *const name[F] = {"expf", "exp2f", "logf", "log2f", "exp", "sqrtf"};
    static const double promise[F] = {3.0, 3.0, 3.0, 3.0, 2.0, 0.5000001};
    double worst[F] = {0};
    for (int i = 0; i < N; i++) {
        double v = (float)x[i];
        double want[F] = {exp(v), exp2(v), log(v), log2(v), exp(x[i]), sqrt(v)};
        for (int f = 0; f < F; f++) {
            double e = ulps(y[F * i + f], want[f], f != 4);
            if (e > worst[f])
                worst[f] = e;
            if (!(e <= promise[f]))
                fail_msg("%s(%.17g) is %.17g, should be %.17g: %.2f ulp", name[f], x[i],
                         y[F * i + f], want[f], e);
        }
    }
    for (int f = 0; f < F; f++)
        print_message("%s: %.3f ulp at worst\n", name[f], worst[f]);
    free(x);
    free(y);
}

static void
device_bits(struct allot_module *module, struct allot_machine *m)
{
    enum { N = 300 };
    uint32_t x[N], y[N * 8];
    uint64_t rng = 3;
    for (int i = 0; i < N; i++)
        x[i] = i < 32    ? 1u << i
               : i == 32 ? 0
               : i == 33 ? 0xffffffffu
                         : (uint32_t)wl_random(&rng);
    launch_device(module, m, "device_bits", 2, 256, 3, (void *[]){x, y, NULL},
                  (size_t[]){sizeof x, sizeof y, 0}, N);
    for (int i = 0; i < N; i++) {
        uint32_t v = x[i], reversed = 0, ones = 0, first = 0, leading = 32;
        for (uint32_t b = 0; b < 32; b++) {
            if (v >> b & 1) {
                ones++;
                reversed |= 1u << (31 - b);
                first = first ? first : b + 1;
                leading = 31 - b;
            }
        }
        double quarter = (double)(float)(int32_t)v * 0.25;
        quarter = quarter > 100 ? 100 : quarter < -100 ? -100 : quarter;
        uint32_t want[8] = {
            ones,
            leading,
            first,
            reversed,
            (uint32_t)((uint64_t)v * 0x9e3779b9u >> 32),
            (uint32_t)(((int64_t)(int32_t)v * -12345) >> 32),
            (uint32_t)((int32_t)v < 7 ? (int32_t)v : 7) + (v > 9 ? v : 9),
            (uint32_t)(int32_t)rint(quarter),
        };
        for (int k = 0; k < 8; k++)
            assert_int_equal(y[8 * i + k], want[k]);
    }
}

static void
device_atomics(struct allot_module *module, struct allot_machine *m)
{
    enum { BLOCKS = 3, THREADS = 96, N = BLOCKS * THREADS };
    uint32_t counter[8] = {0, 0, 0xffffffffu, 0, 0, 0, 0, 0};
    float sum = 0.0f;
    uint64_t wide = 0;
    launch_device(module, m, "device_atomics", BLOCKS, THREADS, 3,
                  (void *[]){counter, &sum, &wide},
                  (size_t[]){sizeof counter, sizeof sum, sizeof wide}, 0);
    assert_int_equal(counter[0], BLOCKS);
    assert_int_equal(counter[1], THREADS); /* the block that has thread 5 */
    assert_int_equal(counter[2], 3);
    assert_int_equal(counter[3], N + 2);
    assert_int_equal(counter[4], N % 10);
    assert_int_equal(counter[5], 0xffffffffu);
    assert_int_equal(counter[6], 2 * N);
    assert_int_equal(counter[7], (uint32_t)-N);
    assert_true(sum == N * 0.5f);
    assert_true(wide == N * 0x100000001ull);
}

static void
device_warp(struct allot_module *module, struct allot_machine *m, bool shuffles)
{
    int32_t r[6 * 32] = {0};
    launch_device(module, m, "device_warp", 1, 32, 1, (void *[]){r}, (size_t[]){sizeof r},
                  0);
    for (int lane = 0; lane < 32; lane++) {
        assert_int_equal((uint32_t)r[lane], 0x49249249u);
        assert_int_equal(r[32 + lane], 1);
        if (shuffles) {
            int up = lane % 8 < 2 ? lane : lane - 2,
                down = lane % 8 > 5 ? lane : lane + 2;
            assert_int_equal(r[64 + lane], 25);
            assert_int_equal(r[96 + lane], up * up);
            assert_int_equal(r[128 + lane], down * down);
            assert_int_equal(r[160 + lane], (lane ^ 3) * (lane ^ 3));
        }
    }
}

static void
device_header(void **state)
{
    (void)state;
#ifdef DEVICE_PTX
    static const char *const path[] = {DEVICE_PTX, DEVICE_PTX_SM70};
    struct allot_machine *m = machine();
    for (int i = 0; i < 2; i++) {
        struct allot_diag *d = allot_diag_new();
        struct allot_module *module = allot_module_load(path[i], d);
        if (!module)
            fail_msg("%s", allot_diag_text(d));
        device_math(module, m);
        device_bits(module, m);
        device_atomics(module, m);
        device_warp(module, m, i == 1);
        allot_module_free(module);
        allot_diag_free(d);
    }
    allot_machine_free(m);
#else
    (void)device_math, (void)device_bits, (void)device_atomics, (void)device_warp;
    skip(); /* there was no clang to compile it with */
#endif
}

/* The comparison itself. */
static void
float_check(void **state)
{
    (void)state;
    static const struct {
        float got, want;
        bool same;
    } rows[] = {
        {1.0f, 1.0f, true},      {1.0009f, 1.0f, true},      {1.002f, 1.0f, false},
        {0.0f, 0.00009f, true},  {-1.0f, 1.0f, false},       {NAN, 1.0f, false},
        {1.0f, NAN, false},      {NAN, NAN, true},           {INFINITY, 1.0f, false},
        {1.0f, INFINITY, false}, {INFINITY, INFINITY, true}, {-INFINITY, INFINITY, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct allot_run r = {.ok = true};
        float got[2] = {5.0f, rows[i].got}, want[2] = {5.0f, rows[i].want};
        assert_int_equal(wl_check_f32(&r, "x", got, want, 2, 1e-3f, 1e-4f), rows[i].same);
        assert_int_equal(r.ok, rows[i].same);
        assert_int_equal(strstr(r.check, "x[1]") != NULL, !rows[i].same);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_check),
        cmocka_unit_test(device_header),
        cmocka_unit_test(scratchpad_as_in_the_tables),
        cmocka_unit_test(passes_and_notices),
        cmocka_unit_test(other_seed_other_input),
        cmocka_unit_test(passes_under_every_policy),
        cmocka_unit_test(analyses_hold_and_relssp_costs_one_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
