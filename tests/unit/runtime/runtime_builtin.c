/* What kernels call without a body: printf, malloc, free, assert; cooperative launches
 * and blocks that wait for each other. printf is held to the host's own. */
#include "unit/kit/runtime_kit.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static char printed[65536];
static size_t nprinted;

static void
catch_print(void *user, const char *text, size_t n)
{
    (void)user;
    assert_true(nprinted + n < sizeof printed);
    memcpy(printed + nprinted, text, n);
    nprinted += n;
    printed[nprinted] = 0;
}

static const struct allot_options catching = {
    .functional = true, .max_instructions = 400000000, .print = catch_print};
static const struct allot_options timed = {.max_cycles = 4000000, .print = catch_print};

/* A string as the initialiser of a .b8 array. */
static void
add_text(char *b, size_t cap, const char *name, const char *s)
{
    size_t n = strlen(b);
    n += (size_t)snprintf(b + n, cap - n, ".global .align 1 .b8 %s[%zu] = {", name,
                          strlen(s) + 1);
    for (; *s; s++)
        n += (size_t)snprintf(b + n, cap - n, "%d, ", *s);
    snprintf(b + n, cap - n, "0};\n");
}

#define VPRINTF_DECL                                                                     \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
#define VPRINTF(fmt, buf)                                                                \
    "{ .param .b64 f; .param .b64 a; .param .b32 r; .reg .b64 %x<2>;\n"                  \
    "mov.u64 %x0, " fmt "; cvta.global.u64 %x0, %x0; st.param.b64 [f], %x0;\n"           \
    "st.param.b64 [a], " buf "; call (r), vprintf, (f, a); ld.param.b32 %r9, [r]; }\n"

/* Prints one value of 8 bytes (4 with `w4`) under a format; returns vprintf's result. */
static int
print_one(const char *fmt, uint64_t value, bool w4, const char *string)
{
    char b[8192] = HEAD VPRINTF_DECL;
    add_text(b, sizeof b, "fmt", fmt);
    add_text(b, sizeof b, "str", string ? string : "");
    strcat(b, ".visible .entry k(.param .u64 out, .param .u64 v)\n{\n"
              ".local .align 8 .b8 buf[16]; .reg .u64 %d<5>; .reg .u32 %r<10>;\n"
              "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [v]; mov.u64 %d2, buf;\n");
    if (string)
        strcat(b, "mov.u64 %d1, str; cvta.global.u64 %d1, %d1;\n");
    strcat(b, w4 ? "cvt.u32.u64 %r1, %d1; st.local.u32 [%d2], %r1;\n"
                 : "st.local.u64 [%d2], %d1;\n");
    strcat(b, "cvta.local.u64 %d3, %d2;\n" VPRINTF(
                  "fmt", "%d3") "st.global.u32 [%d0], %r9; ret; }\n");
    struct rt_kit k;
    rt_open(&k, b, &catching);
    uint64_t out = allot_alloc(k.dev, 4, k.d), args[] = {out, value};
    nprinted = 0;
    printed[0] = 0;
    rt_run(&k, 1, 1, 2, args);
    int r;
    assert_true(allot_read(k.dev, out, &r, 4, k.d));
    rt_close(&k);
    return r;
}

static void
printf_formats_as_the_host(void **state)
{
    char want[512];
    static const char *const ints[] = {"%d",   "%i",    "%5d|", "%-5d|", "%05d", "%+d",
                                       "% d",  "%u",    "%x",   "%#X",   "%o",   "%#o",
                                       "%.3d", "%8.3d", "%c",   "%%%d",  "a%db"};
    static const int values[] = {0, 1, -1, 65, 123456, -2147483647};
    for (size_t f = 0; f < sizeof ints / sizeof *ints; f++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            if (strchr(ints[f], 'c') && !values[v])
                continue; /* ends the text for strcmp */
            assert_int_equal(print_one(ints[f], (uint64_t)(int64_t)values[v], true, NULL),
                             1);
            snprintf(want, sizeof want, ints[f], values[v]);
            assert_string_equal(printed, want);
        }
    static const char *const longs[] = {"%ld", "%lld", "%lu", "%llx", "%20lld|", "%zu"};
    static const int64_t big[] = {0, -1, INT64_MAX, INT64_MIN, 1234567890123};
    for (size_t f = 0; f < sizeof longs / sizeof *longs; f++)
        for (size_t v = 0; v < sizeof big / sizeof *big; v++) {
            print_one(longs[f], (uint64_t)big[v], false, NULL);
            snprintf(want, sizeof want, longs[f], (long long)big[v]);
            assert_string_equal(printed, want);
        }
    static const char *const floats[] = {"%f", "%e",    "%g",    "%10.3f|", "%-12.2e|",
                                         "%G", "%+.0f", "%#.0f", "%a",      "%08.2f"};
    static const double reals[] = {0, -0.0, 1.5, -123.456, 1e300, 1e-300, 0.1};
    for (size_t f = 0; f < sizeof floats / sizeof *floats; f++)
        for (size_t v = 0; v < sizeof reals / sizeof *reals; v++) {
            uint64_t bits;
            memcpy(&bits, &reals[v], 8);
            print_one(floats[f], bits, false, NULL);
            snprintf(want, sizeof want, floats[f], reals[v]);
            assert_string_equal(printed, want);
        }
    static const char *const strings[] = {"%s", "%10s|", "%-10s|", "%.3s", "<%s>"};
    for (size_t f = 0; f < sizeof strings / sizeof *strings; f++) {
        print_one(strings[f], 0, false, "hello, world");
        snprintf(want, sizeof want, strings[f], "hello, world");
        assert_string_equal(printed, want);
    }
    assert_int_equal(print_one("%hd %d", 70000 | (uint64_t)9 << 32, false, NULL), 2);
    assert_string_equal(printed, "4464 9");
    assert_int_equal(print_one("%*d|", 6 | (uint64_t)42 << 32, false, NULL), 1);
    assert_string_equal(printed, "    42|");
    assert_int_equal(print_one("100%%", 0, false, NULL), 0);
    assert_string_equal(printed, "100%");
    print_one("%p", 0xabcd, false, NULL);
    assert_string_equal(printed, "0xabcd");
    print_one("%s", 0, false, NULL);
    assert_string_equal(printed, "(null)");
}

static void
bad_printf_is_a_fault(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD VPRINTF_DECL
            ".visible .entry k(.param .u64 f)\n{\n"
            ".reg .u64 %d<2>; .reg .u32 %r<10>; ld.param.u64 %d0, [f];\n"
            "{ .param .b64 f; .param .b64 a; .param .b32 r;\n"
            "st.param.b64 [f], %d0; st.param.b64 [a], %d0;\n"
            "call (r), vprintf, (f, a); }\nret; }\n",
            &catching);
    uint64_t f = 16;
    assert_null(rt_try(&k, 1, 1, 1, &f));
    rt_told(&k, "printf: its format at 0x10 is not in memory");
    f = allot_alloc(k.dev, 256, k.d);
    assert_true(allot_set(k.dev, f, '%', 256, k.d)); /* no end */
    assert_null(rt_try(&k, 1, 1, 1, &f));
    rt_told(&k, "is not in memory");
    rt_close(&k);
}

/* Each thread takes, fills, checks and frees blocks of changing size. */
static const char heap_text[] =
    HEAD ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
         ".extern .func free(.param .b64 p);\n"
         ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
         ".reg .u64 %d<12>; .reg .u32 %r<12>; .reg .pred %p<4>;\n"
         "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;\n"
         "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;\n"
         "mul.wide.u32 %d1, %r1, 4; add.u64 %d0, %d0, %d1; mov.u32 %r4, 0;\n"
         "mov.u32 %r5, 0;\n" /* errors */
         "L: mad.lo.u32 %r6, %r4, 7, %r1; rem.u32 %r6, %r6, 23; add.u32 %r6, %r6, 1;\n"
         "mul.wide.u32 %d2, %r6, 8;\n"
         "{ .param .b64 n; .param .b64 r; st.param.b64 [n], %d2; call (r), malloc, (n);\n"
         "ld.param.b64 %d3, [r]; }\n"
         "setp.eq.u64 %p0, %d3, 0; @%p0 add.u32 %r5, %r5, 1; @%p0 bra N;\n"
         "add.u64 %d4, %d3, %d2; sub.u64 %d4, %d4, 4;\n"
         "st.u32 [%d3], %r1; st.u32 [%d4], %r4; bar.warp.sync 0xffffffff;\n"
         "ld.u32 %r7, [%d3]; setp.ne.u32 %p1, %r7, %r1; @%p1 add.u32 %r5, %r5, 1000;\n"
         "ld.u32 %r7, [%d4]; setp.ne.u32 %p1, %r7, %r4; @%p1 add.u32 %r5, %r5, 1000;\n"
         "{ .param .b64 p; st.param.b64 [p], %d3; call free, (p); }\n"
         "N: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, %r0; @%p2 bra L;\n"
         "st.global.u32 [%d0], %r5; ret; }\n";

static void
malloc_and_free(void **state)
{
    struct rt_kit k;
    rt_open(&k, heap_text, &catching);
    assert_int_equal(allot_device_heap_size(k.dev), 8 << 20);
    assert_true(allot_device_heap(k.dev, 16384, k.d));
    uint64_t out = allot_alloc(k.dev, 4 * 256, k.d), args[] = {out, 40};
    uint32_t e[256];
    rt_run(&k, 4, 64, 2, args); /* a warp's 32 blocks of at most 184 bytes fit */
    assert_true(allot_read(k.dev, out, e, sizeof e, k.d));
    for (int i = 0; i < 256; i++)
        assert_int_equal(e[i], 0);
    assert_false(allot_device_heap(k.dev, 1 << 20, k.d));
    rt_told(&k, "is in use already");
    rt_close(&k);

    rt_open(&k, heap_text, &catching); /* not for all: some get 0 */
    assert_true(allot_device_heap(k.dev, 1024, k.d));
    uint64_t again[] = {allot_alloc(k.dev, 4 * 256, k.d), 40};
    rt_run(&k, 4, 64, 2, again);
    assert_true(allot_read(k.dev, again[0], e, sizeof e, k.d));
    uint32_t failed = 0;
    for (int i = 0; i < 256; i++) {
        assert_true(e[i] < 1000);
        failed += e[i];
    }
    assert_true(failed > 100 && failed < 256 * 40);
    rt_close(&k);
}

static void
bad_free_is_a_fault(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD
            ".extern .func free(.param .b64 p);\n.visible .entry k(.param .u64 a)\n{\n"
            ".reg .u64 %d<2>; ld.param.u64 %d0, [a];\n"
            "{ .param .b64 p; st.param.b64 [p], %d0; call free, (p); }\nret; }\n",
            &catching);
    uint64_t a = 0;
    rt_run(&k, 1, 32, 1, &a); /* free(NULL) */
    a = allot_alloc(k.dev, 64, k.d);
    assert_null(rt_try(&k, 1, 32, 1, &a));
    assert_int_equal(allot_launch_failure(k.dev), ALLOT_FAULT_OTHER);
    rt_told(&k, "which is no block of the device's heap in use");
    rt_close(&k);
}

static void
assertions_print_and_fail(void **state)
{
    char b[4096] =
        HEAD ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l,"
             " .param .b64 n, .param .b64 c);\n";
    add_text(b, sizeof b, "msg", "x < 3");
    add_text(b, sizeof b, "file", "some.cu");
    add_text(b, sizeof b, "fun", "void k(int)");
    strcat(b, ".visible .entry k()\n{\n.reg .u64 %d<4>; .reg .u32 %r<2>; .reg .pred %p;\n"
              "mov.u32 %r0, %tid.x; setp.lt.u32 %p, %r0, 3; @%p bra E;\n"
              "mov.u64 %d0, msg; cvta.global.u64 %d0, %d0;\n"
              "mov.u64 %d1, file; cvta.global.u64 %d1, %d1;\n"
              "mov.u64 %d2, fun; cvta.global.u64 %d2, %d2;\n"
              "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 "
              "e;\n"
              "st.param.b64 [a], %d0; st.param.b64 [b], %d1; st.param.b32 [c], 77;\n"
              "st.param.b64 [d], %d2; st.param.b64 [e], 1;\n"
              "call __assertfail, (a, b, c, d, e); }\nE: ret; }\n");
    struct rt_kit k;
    rt_open(&k, b, &catching);
    nprinted = 0;
    rt_run(&k, 2, 3, 0, NULL);
    assert_int_equal(nprinted, 0);
    assert_null(rt_try(&k, 2, 5, 0, NULL));
    assert_string_equal(
        printed,
        "some.cu:77: void k(int): block: [0,0,0], thread: [3,0,0] Assertion `x < 3` "
        "failed.\n"
        "some.cu:77: void k(int): block: [0,0,0], thread: [4,0,0] Assertion `x < 3` "
        "failed.\n");
    assert_int_equal(allot_launch_failure(k.dev), ALLOT_FAULT_ASSERT);
    rt_told(&k, "thread (3,0,0): some.cu:77: void k(int): Assertion `x < 3` failed");
    rt_close(&k);
}

/* The two calls that the programming guide gives for PTX (the first version). */
static const char launches[] = HEAD
    ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 b,\n"
    "  .param .align 4 .b8 g[12], .param .align 4 .b8 k[12], .param .b32 s, .param .b64 t);\n"
    ".visible .entry child(.param .u64 out, .param .u32 v)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [v]; mov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;\n"
    "add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1; ret;\n}\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    ".reg .b64 %rd<6>; .reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [out]; mov.u64 %rd3, child;\n"
    "{ .param .b64 a; .param .b64 b; .param .b64 r; st.param.b64 [a], 8;\n"
    "st.param.b64 [b], 12; call (r), cudaGetParameterBuffer, (a, b);\n"
    "ld.param.b64 %rd2, [r]; }\n"
    "mov.u32 %r1, 70; st.u64 [%rd2], %rd1; st.u32 [%rd2+8], %r1;\n"
    "{ .param .b64 f; .param .b64 b; .param .align 4 .b8 g[12];\n"
    ".param .align 4 .b8 n[12]; .param .b32 s; .param .b64 t; .param .b32 r;\n"
    "st.param.b64 [f], %rd3; st.param.b64 [b], %rd2; st.param.b32 [g], 1;\n"
    "st.param.b32 [g+4], 1; st.param.b32 [g+8], 1; st.param.b32 [n], 4;\n"
    "st.param.b32 [n+4], 1; st.param.b32 [n+8], 1; st.param.b32 [s], 0;\n"
    "st.param.b64 [t], 0; call (r), cudaLaunchDevice, (f, b, g, n, s, t);\n"
    "ld.param.b32 %r2, [r]; }\n"
    "st.global.u32 [%rd1+16], %r2; ret;\n}\n";

static void
kernels_launch_kernels(void **state)
{
    for (int timing = 0; timing < 2; timing++) {
        const struct allot_options options = {.functional = !timing};
        struct rt_kit k;
        uint32_t got[5] = {0, 0, 0, 0, 9}, grid[3], block[3], dynamic = 9;
        rt_open(&k, launches, &options);
        uint64_t out = allot_alloc(k.dev, sizeof got, k.d);
        assert_true(allot_write(k.dev, out, got, sizeof got, k.d));
        const struct allot_result *r = rt_try(&k, 1, 1, 1, &out);
        assert_non_null(r);
        assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(got[i], 70 + i);
        assert_int_equal(got[4], 0);
        /* Two results, the host's first. */
        assert_int_equal(allot_results(k.dev), 2);
        assert_ptr_equal(allot_result_at(k.dev, 0), r);
        assert_null(allot_result_parent(r));
        const struct allot_result *child = allot_result_at(k.dev, 1);
        assert_string_equal(allot_result_kernel(child), "child");
        assert_string_equal(allot_result_parent(child), "k");
        allot_result_shape(child, grid, block, &dynamic);
        assert_int_equal(grid[0] * grid[1] * grid[2], 1);
        assert_int_equal(block[0], 4);
        assert_int_equal(dynamic, 0);
        /* None may wait. */
        allot_device_pending(k.dev, 0);
        assert_non_null(rt_try(&k, 1, 1, 1, &out));
        assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
        assert_int_equal(got[4], 701); /* cudaErrorLaunchOutOfResources */
        assert_int_equal(allot_results(k.dev), 3);
        rt_told(&k, "as many as may");
        rt_close(&k);
    }
}

static void
only_handles_are_conditions(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
                 ".visible .entry k()\n{\n{ .param .b64 h; .param .b32 v;\n"
                 "st.param.b64 [h], 16; st.param.b32 [v], 1;\n"
                 "call cudaGraphSetConditional, (h, v); }\nret; }\n",
            &catching);
    assert_null(rt_try(&k, 1, 1, 0, NULL));
    rt_told(&k, "0x10 is no conditional handle");
    rt_close(&k);
}

static void
missing_functions_are_refused(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD
            ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
            ".visible .entry k()\n{\n{ .param .b32 s; .param .b64 r;\n"
            "st.param.b32 [s], 1; call (r), cudaCGGetIntrinsicHandle, (s); }\nret; }\n",
            &catching);
    assert_null(rt_try(&k, 1, 1, 0, NULL));
    assert_int_equal(allot_launch_failure(k.dev), ALLOT_REFUSED);
    rt_told(&k, "'cudaCGGetIntrinsicHandle' of CUDA's device runtime is not supported");
    rt_close(&k);
}

/* A barrier of all blocks as cooperative groups makes it, on the word behind %envreg1,2:
 * out[i] counts up by the neighbour's value of the turn before. */
static const char grid_text[] = HEAD
    ".visible .entry k(.param .u64 buf, .param .u32 turns)\n{\n"
    ".reg .u64 %d<8>; .reg .u32 %r<20>; .reg .pred %p<4>;\n"
    "ld.param.u64 %d0, [buf]; ld.param.u32 %r0, [turns];\n"
    "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %d1, {%r2, %r1};\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %tid.x;\n"
    "add.u32 %r6, %r3, 1; rem.u32 %r6, %r6, %r4;\n"
    "mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d0, %d2;\n"
    "mul.wide.u32 %d3, %r6, 4; add.u64 %d3, %d0, %d3;\n"
    "mul.lo.u32 %r15, %r4, 1; mov.u32 %r14, 0; setp.ne.u32 %p0, %r5, 0;\n"
    "L: ld.relaxed.gpu.global.u32 %r7, [%d3]; bar.sync 0;\n"
    "@%p0 bra W;\n" /* thread 0 meets the other blocks */
    "add.u32 %r14, %r14, %r15; membar.gl; atom.global.add.u32 %r8, [%d1+4], 1;\n"
    "S: ld.volatile.global.u32 %r8, [%d1+4]; setp.lt.u32 %p1, %r8, %r14; @%p1 bra S;\n"
    "ld.relaxed.gpu.global.u32 %r9, [%d2]; add.u32 %r9, %r9, %r7; add.u32 %r9, %r9, "
    "1;\n"
    "st.relaxed.gpu.global.u32 [%d2], %r9;\n"
    "add.u32 %r14, %r14, %r15; membar.gl; atom.global.add.u32 %r8, [%d1+4], 1;\n"
    "T: ld.volatile.global.u32 %r8, [%d1+4]; setp.lt.u32 %p1, %r8, %r14; @%p1 bra T;\n"
    "W: bar.sync 0; sub.u32 %r0, %r0, 1; setp.ne.u32 %p2, %r0, 0; @%p2 bra L;\n"
    "ret; }\n";

static void
grid_barriers(const struct allot_options *o)
{
    enum { N = 40, TURNS = 6 };
    struct rt_kit k;
    rt_open(&k, grid_text, o);
    uint64_t buf = allot_alloc(k.dev, 4 * N, k.d), args[] = {buf, TURNS};
    const void *a[] = {&args[0], &args[1]};
    struct allot_launch l = {.module = k.mod,
                             .kernel = "k",
                             .grid = {N},
                             .block = {64},
                             .args = a,
                             .nargs = 2,
                             .cooperative = true};
    uint32_t want[N], next[N], got[N];
    for (int i = 0; i < N; i++)
        want[i] = (uint32_t)(i * i);
    for (int launch = 0; launch < 2; launch++) {
        assert_true(allot_write(k.dev, buf, want, sizeof want, k.d));
        if (!allot_launch(k.dev, &l, k.d))
            rt_fail(&k, "launch");
        for (int t = 0; t < TURNS; t++) {
            for (int i = 0; i < N; i++)
                next[i] = want[i] + want[(i + 1) % N] + 1;
            memcpy(want, next, sizeof want);
        }
        assert_true(allot_read(k.dev, buf, got, sizeof got, k.d));
        assert_memory_equal(got, want, sizeof got);
    }
    uint64_t most = allot_resident_blocks(k.dev, &l, k.d);
    assert_int_equal(most, 15 * 8);
    l.grid[0] = (uint32_t)most + 1;
    assert_null(allot_launch(k.dev, &l, k.d));
    assert_int_equal(allot_launch_failure(k.dev), ALLOT_TOO_LARGE);
    rt_said(&k, "error: cooperative launch of kernel 'k': its 121 blocks cannot all be "
                "resident, at most 120 can (8 on each of 15 SMs)\n");
    rt_close(&k);
}

static void
cooperative_launches(void **state)
{
    grid_barriers(&catching);
    grid_barriers(&timed);
}

/* No cooperative launch, but blocks wait for later ones all the same. */
static void
blocks_wait_for_later_ones(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD ".visible .entry k(.param .u64 buf)\n{\n.reg .u64 %d<4>; .reg .u32 "
                 "%r<8>; .reg .pred %p<2>;\n"
                 "ld.param.u64 %d0, [buf]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, "
                 "%nctaid.x;\n"
                 "sub.u32 %r1, %r1, %r0;\n" /* the last block is first */
                 "L: ld.volatile.global.u32 %r2, [%d0]; add.u32 %r2, %r2, 1;\n"
                 "setp.ne.u32 %p0, %r2, %r1; @%p0 bra L;\n"
                 "st.volatile.global.u32 [%d0], %r2; ret; }\n",
            &catching);
    uint64_t buf = allot_alloc(k.dev, 4, k.d);
    rt_run(&k, 30, 32, 1, &buf);
    uint32_t v;
    assert_true(allot_read(k.dev, buf, &v, 4, k.d));
    assert_int_equal(v, 30);
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printf_formats_as_the_host),
        cmocka_unit_test(bad_printf_is_a_fault),
        cmocka_unit_test(malloc_and_free),
        cmocka_unit_test(bad_free_is_a_fault),
        cmocka_unit_test(assertions_print_and_fail),
        cmocka_unit_test(kernels_launch_kernels),
        cmocka_unit_test(only_handles_are_conditions),
        cmocka_unit_test(missing_functions_are_refused),
        cmocka_unit_test(cooperative_launches),
        cmocka_unit_test(blocks_wait_for_later_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
