/* V100, A100, H100: a pointer chase, dependent operations and a stream on the simulated
 * machine take what was measured on the product. Sources: Jia et al. 2018, Tables 3.1 and
 * 4.1, Figure 3.2 (V100 PCIe); Luo et al. 2025, Tables 3 and 4, DRAM in the mean of near
 * and far partition (A100, H800 PCIe); Luo et al. 2024, Table VII (matrix products); the
 * share of the peak bandwidth by gpu-benches (reads, full occupancy: 866 of 899 GB/s, 1490 of
 * 1555; H800: Luo et al. 2024, Table V); L2, DRAM and barriers of H100: papers/hw/h100.csv;
 * operations and scratchpad of A100 and H100: what their files in machines/ say. And a
 * matrix product has the sums of its machine's generation, with timing and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const struct product {
    const char *machine;
    /* cycles of a dependent load; an L2 hit in the near partition, DRAM in the mean */
    double l1, scratchpad, l2, dram;
    double f32, f64, integer, sfu; /* cycles of a dependent operation */
    double half, f16x2, bf16x2;
    double product;      /* mma.m16n8k16 of f16 with sums of f32; 0: not measured */
    double peak, stream; /* GB/s; share of it that a stream reached */
} products[] = {
    {"v100", 28, 19, 193, 375, 4, 8, 4, 14, 6, 6, 6, 0, 898, 0.963},
    {"a100", 33, 23, 208.0, 548.8, 4, 6, 4, 18, 4, 8, 4, 26.0, 1555, 0.958},
    {"h100", 32, 23, 273.4, 677.4, 4, 8, 4, 18, 4, 8, 8, 24.1, 3352, 0.913},
};
enum { NPRODUCTS = sizeof products / sizeof *products };

static struct allot_diag *diag;

static struct allot_machine *
machine(const char *name)
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    struct allot_machine *m = allot_machine_load(name, diag);
    if (!m)
        fail_msg("%s", allot_diag_text(diag));
    assert_true(allot_machine_set(m, "compiler.registers", "virtual", diag));
    return m;
}

struct run {
    struct allot_device *dev;
    struct allot_module *mod[2];
    uint64_t buf;
};

static void
begin(struct run *r, const struct allot_machine *m, uint64_t bytes)
{
    r->dev = allot_device_new(m, NULL, diag);
    assert_non_null(r->dev);
    r->buf = allot_alloc(r->dev, bytes, diag);
    assert_true(r->buf != 0);
}

static void
end(struct run *r)
{
    allot_device_free(r->dev);
    for (int i = 0; i < 2; i++)
        allot_module_free(r->mod[i]);
}

static uint64_t
launch(struct run *r, struct allot_module *mod, unsigned grid, unsigned block)
{
    const struct allot_kernel *k = allot_module_kernel(mod, 0);
    const void *args[] = {&r->buf};
    struct allot_launch l = {.module = mod,
                             .kernel = k->name,
                             .grid = {grid},
                             .block = {block},
                             .args = args,
                             .nargs = 1};
    const struct allot_result *res = allot_launch(r->dev, &l, diag);
    if (!res)
        fail_msg("%s", allot_diag_text(diag));
    uint64_t cycles = 0;
    allot_result_get(res, "cycles", &cycles, NULL);
    return cycles;
}

static struct allot_module *
kernel(const char *head, const char *body, unsigned copies, const char *tail)
{
    struct strbuf b = {0};
    strbuf_printf(
        &b,
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 buf)\n{\n"
        ".reg .f32 %%f<36>; .reg .f64 %%g<20>; .reg .u32 %%r<20>; .reg .u64 %%d<8>;\n"
        ".reg .b16 %%h<10>; .reg .b32 %%b<10>; .reg .pred %%p<2>;\n"
        ".shared .align 8 .b8 sm[256];\n"
        "ld.param.u64 %%d0, [buf]; mov.u64 %%d1, %%d0;\n%s\n",
        head);
    for (unsigned i = 0; i < copies; i++)
        strbuf_printf(&b, "%s\n", body);
    strbuf_printf(&b, "%s\nret;\n}\n", tail);
    struct allot_module *m = allot_module_parse("k.ptx", b.s, b.n, diag);
    if (!m)
        fail_msg("%s", allot_diag_text(diag));
    strbuf_free(&b);
    return m;
}

/* Cycles that `turns` more turns of a loop over `body` take, after so many, in a block.
 */
static double
more_turns(const struct allot_machine *m, const char *head, const char *body,
           const char *tail, unsigned turns, unsigned threads)
{
    uint64_t c[2];
    for (unsigned i = 0; i < 2; i++) {
        struct run r = {0};
        begin(&r, m, 4096);
        r.mod[0] = kernel(head, body, turns + turns * i, tail);
        c[i] = launch(&r, r.mod[0], 1, threads);
        end(&r);
    }
    return (double)(c[1] - c[0]);
}

/* Cycles of one of `body`, from 128 more of them. */
static double
each(const struct allot_machine *m, const char *head, const char *body, const char *tail)
{
    return more_turns(m, head, body, tail, 128, 1) / 128;
}

/* Cycles of one step of a chase through `lines` lines of 128 bytes: each points to the
 * one `stride` lines on, round and round. warm: all lines were read by a launch before.
 */
static double
chase(const struct allot_machine *m, uint64_t lines, uint64_t stride, unsigned first,
      bool warm)
{
    uint64_t c[2];
    for (unsigned i = 0; i < 2; i++) {
        struct run r = {0};
        begin(&r, m, lines * 128);
        uint64_t at = 0;
        for (uint64_t k = 0; k < lines && k < 1024; k++) {
            uint64_t next = (at + stride) % lines, to = r.buf + 128 * next;
            assert_true(allot_write(r.dev, r.buf + 128 * at, &to, 8, diag));
            at = next;
        }
        const char *step = "ld.global.u64 %d1, [%d1];";
        if (warm) {
            r.mod[1] = kernel("mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;"
                              "mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;"
                              "mul.wide.u32 %d2, %r0, 128; add.u64 %d1, %d0, %d2;",
                              step, 1, "");
            launch(&r, r.mod[1], (unsigned)(lines / 64), 64);
        }
        r.mod[0] = kernel("", step, first + 256 * i, "st.global.u64 [%d0+8], %d1;");
        c[i] = launch(&r, r.mod[0], 1, 1);
        end(&r);
    }
    return (double)(c[1] - c[0]) / 256;
}

static void
near(const char *machine, const char *what, double got, double want, double tolerance)
{
    print_message("%s %s: %.1f, measured %.1f\n", machine, what, got, want);
    if (got < want * (1 - tolerance) || got > want * (1 + tolerance))
        fail_msg("%s: %s takes %.1f cycles, measured %.1f", machine, what, got, want);
}

/* Dependent loads: within 3 % of the measurements. */
static void
latencies(void **st)
{
    for (size_t i = 0; i < NPRODUCTS; i++) {
        const struct product *p = &products[i];
        struct allot_machine *m = machine(p->machine);
        double sh = each(m, "mov.u32 %r1, sm; st.shared.u32 [%r1], %r1;",
                         "ld.shared.u32 %r1, [%r1];", "st.global.u32 [%d0], %r1;");
        near(p->machine, "scratchpad", sh, p->scratchpad, 0.03);
        near(p->machine, "L1 hit", chase(m, 64, 1, 128, false), p->l1, 0.03);
        near(p->machine, "DRAM", chase(m, 1 << 19, 16411, 64, false), p->dram, 0.03);
        /* 512 lines of 2 KB stride over all channels, past the L1's 1024 lines */
        assert_true(allot_machine_set(m, "partition.far_latency", "0", diag));
        near(p->machine, "L2 hit", chase(m, 8192, 13, 64, true), p->l2, 0.03);
        allot_machine_free(m);
    }
}

static void
dependent_operations(void **st)
{
    static const char product[] =
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},"
        "{%r0,%r1,%r2,%r3},{%r4,%r5},{%f0,%f1,%f2,%f3};";
    for (size_t i = 0; i < NPRODUCTS; i++) {
        const struct product *p = &products[i];
        struct allot_machine *m = machine(p->machine);
        near(p->machine, "fma.f32",
             each(m, "mov.f32 %f1, 0f3F800000;", "fma.rn.f32 %f1, %f1, %f1, %f1;",
                  "st.global.f32 [%d0], %f1;"),
             p->f32, 0);
        near(p->machine, "fma.f64",
             each(m, "mov.f64 %g1, 0d3FF0000000000000;", "fma.rn.f64 %g1, %g1, %g1, %g1;",
                  "st.global.f64 [%d0], %g1;"),
             p->f64, 0);
        near(p->machine, "add.s32",
             each(m, "mov.u32 %r1, 1;", "add.s32 %r1, %r1, %r1;",
                  "st.global.u32 [%d0], %r1;"),
             p->integer, 0);
        near(p->machine, "ex2", /* .ftz: one MUFU, which is what was measured */
             each(m, "mov.f32 %f1, 0f3F800000;", "ex2.approx.ftz.f32 %f1, %f1;",
                  "st.global.f32 [%d0], %f1;"),
             p->sfu, 0);
        near(p->machine, "fma.f16",
             each(m, "mov.b16 %h1, 15360;", "fma.rn.f16 %h1,%h1,%h1,%h1;",
                  "st.global.b16 [%d0], %h1;"),
             p->half, 0);
        near(p->machine, "fma.f16x2",
             each(m, "mov.b32 %b1, 15360;", "fma.rn.f16x2 %b1, %b1, %b1, %b1;",
                  "st.global.b32 [%d0], %b1;"),
             p->f16x2, 0);
        near(p->machine, "fma.bf16x2",
             each(m, "mov.b32 %b1, 15360;", "fma.rn.bf16x2 %b1, %b1, %b1, %b1;",
                  "st.global.b32 [%d0], %b1;"),
             p->bf16x2, 0);
        if (p->product > 0)
            near(p->machine, "m16n8k16",
                 each(m, "", product, "st.global.f32 [%d0], %f0;"), p->product, 0.01);
        allot_machine_free(m);
    }
}

/* Cycles for which one product keeps the tensor cores of a sub-core, from 128 more of
 * them in each of 16 warps. `sums`: registers of an accumulator. */
static double
product_cycles(const struct allot_machine *m, const char *shape, const char *a,
               const char *b, unsigned sums, char reg)
{
    struct strbuf four = {0};
    for (unsigned k = 0; k < 4; k++) { /* no product waits for the one before it */
        strbuf_printf(&four, "mma.sync.aligned.%s {", shape);
        for (unsigned i = 0; i < sums; i++)
            strbuf_printf(&four, "%s%%%c%u", i ? "," : "", reg, 4 * k + 4 + i);
        strbuf_printf(&four, "},%s,%s,{", a, b);
        for (unsigned i = 0; i < sums; i++)
            strbuf_printf(&four, "%s%%%c%u", i ? "," : "", reg, i);
        strbuf_addz(&four, "};");
    }
    double cycles = more_turns(m, "", four.s, "", 32, 512);
    strbuf_free(&four);
    return cycles / (128 * 4);
}

/* Multiplications a cycle and sub-core as in NVIDIA's white papers: V100 125 TFLOPS of
 * f16, A100 312 TFLOPS of f16, 156 of tf32, 624 TOPS of s8, 1248 of s4, 4992 of b1, 19.5
 * TFLOPS of f64; H100 989 TFLOPS of f16. */
static void
products_a_cycle(void **st)
{
    static const char r4[] = "{%r0,%r1,%r2,%r3}", r2[] = "{%r0,%r1}", r1[] = "{%r0}";
    struct allot_machine *v = machine("v100"), *a = machine("a100"), *h = machine("h100");
    const char f16[] = "m16n8k16.row.col.f32.f16.f16.f32";
    near("v100", "m16n8k16 f16", product_cycles(v, f16, r4, r2, 4, 'f'), 16, 0.02);
    near("a100", "m16n8k16 f16", product_cycles(a, f16, r4, r2, 4, 'f'), 8, 0.02);
    near("h100", "m16n8k16 f16", product_cycles(h, f16, r4, r2, 4, 'f'), 4, 0.02);
    near("a100", "m16n8k8 f16",
         product_cycles(a, "m16n8k8.row.col.f32.f16.f16.f32", r2, r1, 4, 'f'), 4, 0.02);
    near("a100", "m16n8k8 tf32",
         product_cycles(a, "m16n8k8.row.col.f32.tf32.tf32.f32", r4, r2, 4, 'f'), 8, 0.02);
    near("a100", "m16n8k32 s8",
         product_cycles(a, "m16n8k32.row.col.s32.s8.s8.s32", r4, r2, 4, 'r'), 8, 0.02);
    near("a100", "m16n8k64 s4",
         product_cycles(a, "m16n8k64.row.col.s32.s4.s4.s32", r4, r2, 4, 'r'), 8, 0.02);
    near("a100", "m16n8k256 b1",
         product_cycles(a, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", r4, r2, 4, 'r'), 8,
         0.02);
    near("a100", "m8n8k4 f64",
         product_cycles(a, "m8n8k4.row.col.f64.f64.f64.f64", "{%g0}", "{%g1}", 2, 'g'),
         16, 0.02);
    allot_machine_free(v);
    allot_machine_free(a);
    allot_machine_free(h);
}

/* Cycles for which one half-precision instruction keeps the pipelines of a sub-core, from
 * 256 more of them in each of 16 warps. */
/* Barriers of a block alone, by warps. */
static void
barriers(void **st)
{
    static const struct {
        const char *machine;
        double one, thirty_two;
    } t[] = {{"a100", 23, 85}, {"h100", 14.2, 76.2}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct allot_machine *m = machine(t[i].machine);
        const char *bar = "bar.sync 0;";
        near(t[i].machine, "barrier, 1 warp", more_turns(m, "", bar, "", 128, 32) / 128,
             t[i].one, 0.02);
        near(t[i].machine, "barrier, 32 warps",
             more_turns(m, "", bar, "", 128, 1024) / 128, t[i].thirty_two, 0.02);
        allot_machine_free(m);
    }
}

static double
half_cycles(const struct allot_machine *m, const char *op)
{
    char reg = strstr(op, "x2") ? 'b' : 'h';
    struct strbuf eight = {0};
    for (unsigned k = 2; k < 10; k++)
        strbuf_printf(&eight, "fma.rn.%s %%%c%u,%%%c%u,%%%c0,%%%c1;", op, reg, k, reg, k,
                      reg, reg);
    double cycles = more_turns(m, "", eight.s, "", 32, 512);
    strbuf_free(&eight);
    return cycles / (256 * 4);
}

/* NVIDIA's white papers, outside the tensor cores: V100 31.4 TFLOPS of f16; A100 78 of
 * f16, 39 of bf16; H100 twice its f32 of both. All are of two packed values. */
static void
halves_a_cycle(void **st)
{
    static const struct {
        const char *machine;
        double half, f16x2, bf16x2;
    } t[] = {{"v100", 2, 2, 2}, {"a100", 2, 1, 2}, {"h100", 2, 1, 1}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct allot_machine *m = machine(t[i].machine);
        near(t[i].machine, "f16", half_cycles(m, "f16"), t[i].half, 0.02);
        near(t[i].machine, "f16x2", half_cycles(m, "f16x2"), t[i].f16x2, 0.02);
        near(t[i].machine, "bf16x2", half_cycles(m, "bf16x2"), t[i].bf16x2, 0.02);
        allot_machine_free(m);
    }
}

/* Cycles to read so many bytes that nobody has touched, 8 KB a block. */
static uint64_t
read_cycles(const struct allot_machine *m, uint64_t bytes)
{
    enum { BLOCK = 256, LOADS = 8 };
    char head[512];
    snprintf(head, sizeof head,
             "mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%ctaid.x; mad.lo.u32 %%r0, %%r1, %d,"
             "%%r0; mul.wide.u32 %%d2, %%r0, 4; add.u64 %%d1, %%d0, %%d2;",
             BLOCK * LOADS);
    struct strbuf loads = {0};
    for (unsigned k = 0; k < LOADS; k++)
        strbuf_printf(&loads, "ld.global.u32 %%r%u, [%%d1+%u];", k, k * BLOCK * 4);
    struct run r = {0};
    begin(&r, m, bytes);
    r.mod[0] = kernel(head, loads.s, 1, "");
    uint64_t cycles =
        launch(&r, r.mod[0], (unsigned)(bytes / (BLOCK * LOADS * 4)), BLOCK);
    strbuf_free(&loads);
    end(&r);
    return cycles;
}

/* Share of the peak bandwidth with which what fills all SMs a second time is read (eight
 * blocks an SM, 8 KB each): within 8 points of the measured share. The h100 takes longest
 * and is left out unless ALLOT_TEST_LONG is set. */
static void
stream(void **st)
{
    for (size_t i = 0; i < NPRODUCTS; i++) {
        const struct product *p = &products[i];
        if (!strcmp(p->machine, "h100") && !getenv("ALLOT_TEST_LONG"))
            continue;
        struct allot_machine *m = machine(p->machine);
        char text[64];
        assert_true(allot_machine_get(m, "clock.core", text, sizeof text));
        double clock = atof(text) * 1e6;
        assert_true(allot_machine_get(m, "sm.count", text, sizeof text));
        uint64_t wave = (uint64_t)atoi(text) * 8 * 8192;
        uint64_t cycles = read_cycles(m, 2 * wave) - read_cycles(m, wave);
        double share = (double)wave / ((double)cycles / clock) / 1e9 / p->peak;
        print_message("%s stream: %.3f of the peak, measured %.3f\n", p->machine, share,
                      p->stream);
        assert_true(share > p->stream - 0.08 && share < p->stream + 0.08);
        allot_machine_free(m);
    }
}

/* d[0][0] of mma.m16n8k16 with f16 on that machine: 1 and products of 2^-24 at k = 0 and
 * at k = `second`. */
static float
small_products(const struct allot_machine *m, unsigned second, bool functional)
{
    struct strbuf head = {0};
    float d = 0;
    strbuf_printf(
        &head,
        "mov.u32 %%r0, %%tid.x; and.b32 %%r1, %%r0, 3; setp.eq.u32 %%p0, %%r1, 0;"
        "selp.b32 %%b0, %u, 0, %%p0; selp.b32 %%b2, %u, 0, %%p0;"
        "mov.b32 %%b1, 0; mov.b32 %%b3, 0; mov.b32 %%b4, 0x3c003c00;"
        "mov.f32 %%f0, 0f3f800000;",
        second == 1 ? 0x10001 : 1, second == 8);
    struct run r = {0};
    begin(&r, m, 4096);
    r.mod[0] =
        kernel(head.s,
               "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%f4,%f5,%f6,%f7}, {%b0,%b1,%b2,%b3}, {%b4,%b4}, {%f0,%f0,%f0,%f0};",
               1, "st.global.f32 [%d0], %f4;");
    const void *args[] = {&r.buf};
    struct allot_launch l = {.module = r.mod[0],
                             .kernel = "k",
                             .grid = {1},
                             .block = {32},
                             .args = args,
                             .nargs = 1,
                             .functional = functional};
    if (!allot_launch(r.dev, &l, diag))
        fail_msg("%s", allot_diag_text(diag));
    assert_true(allot_read(r.dev, r.buf, &d, 4, diag));
    end(&r);
    strbuf_free(&head);
    return d;
}

/* Volta cuts 2^-24 off; Ampere keeps it within a block of eight, so that two of a block
 * are 2^-23; Hopper within all of k. */
static void
sums_of_the_generation(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        float near, far; /* the second at k = 1, at k = 8 */
    } t[] = {{"v100", 1, 1},
             {"a100", 1 + 0x1p-23f, 1},
             {"h100", 1 + 0x1p-23f, 1 + 0x1p-23f},
             {"h200", 1 + 0x1p-23f, 1 + 0x1p-23f}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct allot_machine *m = machine(t[i].machine);
        for (int way = 0; way < 4; way++) { /* compiled for the machine, or as it is */
            assert_true(allot_machine_set(m, "compiler.registers",
                                          way & 2 ? "allocated" : "virtual", diag));
            assert_true(small_products(m, 1, way & 1) == t[i].near);
            assert_true(small_products(m, 8, way & 1) == t[i].far);
        }
        allot_machine_free(m);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_the_generation),
        cmocka_unit_test(latencies),
        cmocka_unit_test(dependent_operations),
        cmocka_unit_test(barriers),
        cmocka_unit_test(products_a_cycle),
        cmocka_unit_test(halves_a_cycle),
        cmocka_unit_test(stream),
    };
    diag = allot_diag_new();
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    allot_diag_free(diag);
    return status;
}
