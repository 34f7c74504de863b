/* unroll.c: copied loops compute what the loop computes, for counts that are not known and
 * whatever the counter's start and bound are, wrapping ones too; and which loops are copied
 * how often. Workloads and random kernels: unit/passes_workloads, random/passes. */
#include "allot/allot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

enum { PAIRS = 1024, MOST_TURNS = 300 };

/* do x += step; while (x cmp n). `swapped`: written as n cmp' x; negated: the branch goes on
 * where the comparison does not hold. */
static const struct form {
    const char *cmp, *written, *type;
    int step;
    bool swapped, negated;
} forms[] = {
    {"lt", "lt", "s32", 1, false, false},  {"lt", "gt", "s32", 1, true, false},
    {"lt", "ge", "s32", 3, false, true},   {"le", "le", "s32", 1, false, false},
    {"le", "le", "s32", 7, false, false},  {"lt", "lo", "u32", 1, false, false},
    {"lt", "lt", "u32", 5, false, false},  {"le", "ls", "u32", 4, false, false},
    {"gt", "gt", "s32", -1, false, false}, {"gt", "lt", "s32", -2, true, false},
    {"ge", "ge", "s32", -1, false, false}, {"ge", "lt", "s32", -3, false, true},
    {"gt", "hi", "u32", -1, false, false}, {"ge", "hs", "u32", -4, false, false},
    {"ge", "lo", "u32", -1, false, true},  {"ne", "ne", "s32", 1, false, false},
    {"ne", "eq", "s32", 1, false, true},   {"ne", "ne", "u32", -1, true, false},
    {"ne", "ne", "b32", 3, false, false},  {"lt", "lt", "s64", 1, false, false},
    {"le", "le", "u64", 2, false, false},  {"gt", "gt", "s64", -1, false, false},
    {"ne", "ne", "s64", -2, false, false}, {"ne", "eq", "b64", 1, true, true},
};

static bool
goes_on(const struct form *f, uint64_t x, uint64_t n)
{
    const bool is_signed = f->type[0] == 's', wide = f->type[1] == '6';
    if (!strcmp(f->cmp, "ne"))
        return x != n;
    const uint64_t flip = !is_signed ? 0 : wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    x ^= flip;
    n ^= flip;
    return f->cmp[0] == 'l' ? x < n || (f->cmp[1] == 'e' && x == n)
                            : x > n || (f->cmp[1] == 'e' && x == n);
}

/* Iterations that the loop runs; 0: too many for a test. */
static unsigned
turns(const struct form *f, uint64_t x, uint64_t n, bool middle, uint64_t *sum)
{
    const uint64_t mask = f->type[1] == '6' ? UINT64_MAX : UINT32_MAX;
    *sum = 0;
    for (unsigned t = 1; t <= MOST_TURNS; t++) {
        *sum = *sum * 5 + x;
        x = (x + (uint64_t)(int64_t)f->step) & mask;
        if (!goes_on(f, x, n))
            return t;
        if (middle)
            *sum = *sum * 3 + x;
    }
    return 0;
}

/* Starts and bounds near to each other, and near where counters wrap. */
static unsigned
find_pairs(const struct form *f, uint64_t (*pair)[2])
{
    const bool wide = f->type[1] == '6';
    const uint64_t mask = wide ? UINT64_MAX : UINT32_MAX, top = wide ? 63 : 31;
    const uint64_t starts[] = {0,
                               1,
                               6,
                               mask,
                               mask - 4,
                               UINT64_C(1) << top,
                               (UINT64_C(1) << top) + 2,
                               (UINT64_C(1) << top) - 1,
                               (UINT64_C(1) << top) - 5,
                               1000};
    unsigned n = 0;
    for (unsigned s = 0; s < sizeof starts / sizeof *starts; s++)
        for (int d = -30; d <= 30; d++) {
            uint64_t sum;
            const uint64_t bound = (starts[s] + (uint64_t)(int64_t)d) & mask;
            if (n < PAIRS && turns(f, starts[s], bound, false, &sum)) {
                pair[n][0] = starts[s];
                pair[n++][1] = bound;
            }
        }
    return n;
}

/* middle: the loop leaves there, and the rest of an iteration adds to the sum too. bound: a literal;
 * NULL: that of the pair. */
static char *
kernel(const struct form *f, bool middle, const char *bound)
{
    struct strbuf b = {0};
    const bool wide = f->type[1] == '6';
    const char *r = wide ? "%d" : "%r", *bits = wide ? "64" : "32";
    strbuf_printf(&b,
                  ".version 7.8\n.target sm_80\n.address_size 64\n"
                  ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                  ".reg .pred %%p<4>;\n.reg .b32 %%r<20>;\n.reg .b64 %%d<20>;\n"
                  "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\n"
                  "mov.u32 %%r1, %%ctaid.x;\nmov.u32 %%r2, %%tid.x;\n"
                  "mad.lo.u32 %%r1, %%r1, 64, %%r2;\nmul.wide.u32 %%d3, %%r1, 16;\n"
                  "add.u64 %%d1, %%d1, %%d3;\nadd.u64 %%d2, %%d2, %%d3;\n"
                  "ld.global.u%s %s5, [%%d1];\nld.global.u%s %s6, [%%d1+8];\n"
                  "mov.u64 %%d7, 0;\n",
                  bits, r, bits, r);
    strbuf_printf(&b, "L:\n%s.u%s %%d8, %s5;\nmad.lo.u64 %%d7, %%d7, 5, %%d8;\n",
                  wide ? "mov" : "cvt.u64", bits, r);
    strbuf_printf(&b, "add.s%s %s5, %s5, %d;\nsetp.%s.%s %%p1, ", bits, r, r, f->step,
                  f->written, f->type);
    if (bound)
        strbuf_printf(&b, "%s5, %s;\n", r, bound);
    else
        strbuf_printf(&b, "%s%c, %s%c;\n", r, f->swapped ? '6' : '5', r,
                      f->swapped ? '5' : '6');
    if (middle)
        strbuf_printf(
            &b,
            "@%s%%p1 bra E;\n%s.u%s %%d8, %s5;\nmad.lo.u64 %%d7, %%d7, 3, %%d8;\n"
            "bra L;\nE:\n",
            f->negated ? "" : "!", wide ? "mov" : "cvt.u64", bits, r);
    else
        strbuf_printf(&b, "@%s%%p1 bra L;\n", f->negated ? "!" : "");
    strbuf_printf(&b,
                  "st.global.u64 [%%d2], %%d7;\n"
                  "st.global.u%s [%%d2+8], %s5;\nret;\n}\n",
                  bits, r);
    return strbuf_take(&b);
}

static unsigned
times(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
        n++;
    return n;
}

static void
run(struct allot_module *m, uint64_t (*pair)[2], uint64_t (*out)[2], unsigned n)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    struct allot_options o = {.functional = true};
    struct allot_device *dev = allot_device_new(machine, &o, d);
    const size_t bytes = PAIRS * sizeof *pair;
    uint64_t in = allot_alloc(dev, bytes, d), to = allot_alloc(dev, bytes, d);
    assert_true(allot_write(dev, in, pair, bytes, d));
    const void *args[] = {&in, &to};
    struct allot_launch l = {.module = m,
                             .kernel = "k",
                             .grid = {(n + 63) / 64, 1, 1},
                             .block = {64, 1, 1},
                             .args = args,
                             .nargs = 2};
    if (!allot_launch(dev, &l, d))
        fail_msg("%s", allot_diag_text(d));
    assert_true(allot_read(dev, to, out, bytes, d));
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_diag_free(d);
}

static void
all_counts(void **state)
{
    static const char *const passes[] = {
        "unroll", "unroll,constant-fold,address-fold,cleanup,register-allocate"};
    static uint64_t pair[PAIRS][2], out[PAIRS][2];
    (void)state;
    for (unsigned k = 0; k < 4 * sizeof forms / sizeof *forms; k++) {
        const struct form *f = &forms[k / 4];
        const bool middle = k & 2;
        struct allot_diag *d = allot_diag_new();
        char *text = kernel(f, middle, NULL);
        const unsigned n = find_pairs(f, pair);
        assert_true(n > 64);
        for (unsigned i = n; i < PAIRS; i++) /* whole blocks */
            memcpy(pair[i], pair[0], sizeof *pair);
        struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
        if (!m || !allot_module_opt(m, passes[k % 2], NULL, d))
            fail_msg("%s", allot_diag_text(d));
        char *printed = allot_module_print(m);
        assert_int_equal(times(printed, "nounroll"), 2);
        run(m, pair, out, n);
        for (unsigned i = 0; i < n; i++) {
            uint64_t sum;
            const unsigned t = turns(f, pair[i][0], pair[i][1], middle, &sum);
            if (out[i][0] != sum)
                fail_msg("%s.%s by %d, from %llx to %llx, %u iterations: %llx, not %llx\n%s",
                         f->cmp, f->type, f->step, (unsigned long long)pair[i][0],
                         (unsigned long long)pair[i][1], t, (unsigned long long)out[i][0],
                         (unsigned long long)sum, printed);
        }
        free(printed);
        free(text);
        allot_module_free(m);
        allot_diag_free(d);
    }
}

/* A literal bound of fewer steps than are copied: the copies stand there, and never run. */
static void
bound_below_the_steps(void **state)
{
    static const struct form up = {"lt", "lt", "u32", 5, false, false};
    static uint64_t pair[PAIRS][2], out[PAIRS][2];
    static const char *const bounds[] = {"15", "14", "3", "1"};
    (void)state;
    for (unsigned k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        struct allot_diag *d = allot_diag_new();
        char *text = kernel(&up, false, bounds[k]);
        struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
        if (!m || !allot_module_opt(m, "unroll,constant-fold,cleanup", NULL, d))
            fail_msg("%s", allot_diag_text(d));
        char *printed = allot_module_print(m);
        assert_int_equal(times(printed, "mad.lo.u64"), 7);
        for (unsigned i = 0; i < PAIRS; i++) /* small ones, and those that wrap */
            pair[i][0] = i < 64 ? i : UINT32_MAX - (i - 64);
        run(m, pair, out, PAIRS);
        for (unsigned i = 0; i < PAIRS; i++) {
            uint64_t sum;
            assert_true(
                turns(&up, pair[i][0], strtoul(bounds[k], NULL, 10), false, &sum));
            assert_int_equal(out[i][0], sum);
        }
        free(printed);
        free(text);
        allot_module_free(m);
        allot_diag_free(d);
    }
}

/* Loads of a kernel with such a loop, copies included. */
static unsigned
copies(const char *body)
{
    struct strbuf b = {0};
    struct allot_diag *d = allot_diag_new();
    strbuf_printf(
        &b,
        ".version 7.8\n.target sm_80\n.address_size 64\n"
        ".const .f32 c;\n"
        ".visible .entry k(.param .u64 in, .param .u32 n)\n{\n"
        ".reg .pred %%p<4>;\n.reg .b32 %%r<20>;\n.reg .f32 %%f<9>;\n"
        ".reg .b64 %%d<9>;\n.shared .align 4 .b8 s[4096];\n"
        "ld.param.u64 %%d1, [in];\nld.param.u32 %%r1, [n];\nmov.u32 %%r2, 0;\n"
        "mov.u32 %%r3, %%tid.x;\nmov.u32 %%r7, s;\nmov.f32 %%f2, 0f00000000;\n%s"
        "E:\nst.global.f32 [%%d1], %%f2;\nret;\n}\n",
        body);
    struct allot_module *m = allot_module_parse("t", b.s, b.n, d);
    if (!m || !allot_module_opt(m, "unroll", NULL, d))
        fail_msg("%s", allot_diag_text(d));
    char *printed = allot_module_print(m);
    const unsigned n = times(printed, "ld.");
    free(printed);
    strbuf_free(&b);
    allot_module_free(m);
    allot_diag_free(d);
    return n - 2; /* parameters */
}

#define LOAD                                                                             \
    "ld.global.f32 %f1, [%d1];\nfma.rn.f32 %f2, %f1, %f2, %f1;\nadd.s64 %d1, %d1, 4;\n"
#define STEP "add.s32 %r2, %r2, 1;\n"
#define TO(n) STEP "setp.lt.s32 %p1, %r2, " n ";\n@%p1 bra L;\n"
#define F4                                                                               \
    "fma.rn.f32 %f2, %f2, %f2, %f2;\nfma.rn.f32 %f2, %f2, %f2, %f2;\n"                   \
    "fma.rn.f32 %f2, %f2, %f2, %f2;\nfma.rn.f32 %f2, %f2, %f2, %f2;\n"

#define F1 "fma.rn.f32 %f2, %f2, %f2, %f2;\n"
#define F40 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4
#define FROM_COUNTER                                                                     \
    "and.b32 %r4, %r2, 1023;\nmul.wide.u32 %d3, %r4, 4;\nadd.s64 %d4, %d1, %d3;\n"       \
    "ld.global.f32 %f1, [%d4];\nadd.f32 %f2, %f2, %f1;\n"
#define SCRATCH(at) "ld.shared.f32 %f1, [%r7+" #at "];\nadd.f32 %f2, %f2, %f1;\n"

static void
known_counts(void **state)
{
    (void)state;
    assert_int_equal(copies("L:\n" LOAD TO("1")), 1);
    assert_int_equal(copies("L:\n" LOAD TO("7")), 7);
    assert_int_equal(copies("L:\n" LOAD F4 F4 TO("128")), 128);
    /* as ptxas does: a loop of 25, eight times; of 17 eight, and one before */
    assert_int_equal(copies("L:\n" LOAD F4 F4 TO("200")), 25);
    assert_int_equal(copies("L:\n" LOAD F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 TO("17")), 5 + 2);
    assert_int_equal(copies("L:\n" LOAD F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4 F4
                                F4 F4 F4 TO("8")),
                     1); /* too large */
    /* the way out before the way back, and the other way round */
    assert_int_equal(
        copies("L:\n" LOAD STEP "setp.eq.s32 %p1, %r2, 5;\n@%p1 bra E;\nbra.uni L;\n"),
        5);
    /* the outer loop too, its counter set again by each iteration */
    assert_int_equal(
        copies("mov.u32 %r4, 0;\nM:\nmov.u32 %r6, 0;\nL:\n" LOAD
               "add.s32 %r6, %r6, 1;\nsetp.lt.s32 %p1, %r6, 4;\n@%p1 bra L;\n"
               "add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p2, %r4, 3;\n@%p2 bra M;\n"),
        12);
    /* what becomes literals and offsets gives room: up to 50 operations, not 38 */
    assert_int_equal(copies("L:\n" FROM_COUNTER F40 F4 TO("16")), 16);
    assert_int_equal(copies("L:\n" FROM_COUNTER F40 F4 F4 TO("16")), 6);
    assert_int_equal(copies("L:\n" LOAD F40 F4 TO("16")), 6);
    /* 64 of a variable's addresses become literals, so there is more room */
    assert_int_equal(
        copies("mov.u32 %r5, s;\nL:\nld.shared.f32 %f1, [%r5];\n" F4 F4 F4 F4 F4 F4
               "add.f32 %f2, %f2, %f1;\nadd.s32 %r5, %r5, 4;\n" TO("64")),
        64);
    assert_int_equal(
        copies("mad.lo.s32 %r5, %r3, 4, 0;\nL:\nld.shared.f32 %f1, [%r5];\n" F4 F4 F4 F4
                   F4 F4 "add.f32 %f2, %f2, %f1;\nadd.s32 %r5, %r5, 4;\n" TO("64")),
        10);
}

static void
unknown_counts(void **state)
{
    (void)state;
    assert_int_equal(copies("L:\n" LOAD TO("%r1")), 7);
    assert_int_equal(copies("L:\n" LOAD "bar.sync 0;\n" TO("%r1")), 7);
    /* as ptxas does: operations and accesses, twice, up to 46 with a load from memory, 18
     * without one, and 5 more for each load from scratchpad */
    assert_int_equal(copies("L:\n" LOAD F40 F1 F1 F1 TO("%r1")), 7);
    assert_int_equal(copies("L:\n" LOAD F40 F4 TO("%r1")), 1);
    assert_int_equal(
        copies("L:\nst.shared.f32 [%r7], %f2;\nadd.s32 %r7, %r7, 4;\n" F4 F4 F4 F4
               "ld.const.f32 %f1, [c];\n" TO("%r1")),
        7);
    assert_int_equal(
        copies("L:\nst.shared.f32 [%r7], %f2;\nadd.s32 %r7, %r7, 4;\n" F4 F4 F4 F4 F4
               "ld.const.f32 %f1, [c];\n" TO("%r1")),
        1);
    assert_int_equal(copies("L:\n" SCRATCH(0) SCRATCH(4) SCRATCH(8) SCRATCH(12)
                                F4 F4 F4 F4 F4 F4 "add.s32 %r7, %r7, 4;\n" TO("%r1")),
                     28);
    assert_int_equal(copies("L:\n" SCRATCH(0) SCRATCH(4) SCRATCH(8) SCRATCH(12)
                                F4 F4 F4 F4 F4 F4 F4 "add.s32 %r7, %r7, 4;\n" TO("%r1")),
                     4);
    /* a store to one address in all iterations, in the space of a load: not if threads count
     * differently */
#define FIXED(start)                                                                     \
    start "L:\n" SCRATCH(0) "st.shared.f32 [%r3], %f2;\nadd.s32 %r7, %r7, 4;\n"
    assert_int_equal(copies(FIXED("mov.u32 %r2, %r3;\n") TO("%r1")), 1);
    assert_int_equal(copies(FIXED("") TO("%r1")), 7);
    assert_int_equal(copies(FIXED("shl.b32 %r6, %r3, 1;\n") TO("%r6")), 1);
    assert_int_equal(copies(FIXED("shl.b32 %r6, %r1, 1;\n") TO("%r6")), 7);
    assert_int_equal(
        copies("mov.u32 %r2, %r3;\nL:\n" LOAD "st.shared.f32 [%r3], %f2;\n" TO("%r1")),
        7);
    /* with a barrier the bound is a parameter, or a size of the launch, as it is */
    assert_int_equal(copies("shl.b32 %r6, %r1, 1;\nL:\n" LOAD "bar.sync 0;\n" TO("%r6")),
                     1);
    assert_int_equal(
        copies("mov.u32 %r6, %nctaid.x;\nL:\n" LOAD "bar.sync 0;\n" TO("%r6")), 7);
    /* with an atomic too; and the start is not the thread's own number, though it may be
     * computed from that */
#define RED "red.shared.add.u32 [%r3], %r1;\n"
    assert_int_equal(copies("L:\n" LOAD RED TO("%r1")), 7);
    assert_int_equal(copies("shl.b32 %r6, %r1, 1;\nL:\n" LOAD RED TO("%r6")), 1);
    assert_int_equal(copies("mov.u32 %r6, %nctaid.x;\nL:\n" LOAD RED TO("%r6")), 7);
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" LOAD RED TO("%r1")), 1);
    assert_int_equal(copies("mov.u32 %r2, %ctaid.x;\nL:\n" LOAD RED TO("%r1")), 7);
    assert_int_equal(copies("shl.b32 %r2, %r3, 1;\nL:\n" LOAD RED TO("%r1")), 7);
    /* from each thread's number: not with a barrier */
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" LOAD TO("%r1")), 7);
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" LOAD "bar.sync 0;\n" TO("%r1")), 1);
}

/* Loops of an unknown number of iterations are copied where the counter steps by 2^24 at most, up or
 * down. */
static void
steps_of_unknown_counts(void **state)
{
    (void)state;
#define BY(step, cmp)                                                                    \
    "L:\n" LOAD "add.s32 %r2, %r2, " step ";\nsetp." cmp                                 \
    ".s32 %p1, %r2, %r1;\n@%p1 bra L;\n"
    assert_int_equal(copies(BY("16777216", "lt")), 7);
    assert_int_equal(copies(BY("16777217", "lt")), 1);
    assert_int_equal(copies(BY("-16777216", "gt")), 7);
    assert_int_equal(copies(BY("-16777217", "gt")), 1);
    assert_int_equal(copies(BY("1", "gt")), 1);
    assert_int_equal(copies(BY("-1", "lt")), 1);
    /* a sum whose first source is a literal */
    assert_int_equal(copies("L:\n" LOAD "add.s32 %r6, 3, %r2;\n" TO("7")), 7);
}

/* What counts as how many operations, of 46: a load and its sum are three. */
static void
operations(void **state)
{
    (void)state;
#define GUARD "setp.gt.s32 %p3, %r3, 5;\nL:\n" LOAD
#define MORE1 "add.f32 %f3, %f2, %f2;\n"
#define F36 F4 F4 F4 F4 F4 F4 F4 F4 F4
    /* under a guard one more */
    assert_int_equal(copies(GUARD F40 "@%p3 " MORE1 F1 TO("%r1")), 7);
    assert_int_equal(copies(GUARD F40 "@%p3 " MORE1 F1 F1 TO("%r1")), 1);
    /* a branch; a jump; one after the other are one */
    assert_int_equal(copies(GUARD F40 "@%p3 bra A;\n" MORE1 "A:\n" F1 TO("%r1")), 7);
    assert_int_equal(copies(GUARD F40 "@%p3 bra A;\n" MORE1 "A:\n" F1 F1 TO("%r1")), 1);
#define DIAMOND "@%p3 bra A;\n" MORE1 "bra.uni B;\nA:\n" MORE1 "B:\n"
    assert_int_equal(copies(GUARD F36 DIAMOND F1 F1 F1 TO("%r1")), 7);
    assert_int_equal(copies(GUARD F36 DIAMOND F4 TO("%r1")), 1);
#define OVER "@%p3 bra A;\nbra.uni B;\nA:\n" MORE1 "B:\n"
    assert_int_equal(copies(GUARD F40 OVER F1 TO("%r1")), 7);
    assert_int_equal(copies(GUARD F40 OVER F1 F1 TO("%r1")), 1);
    /* a copy of a register is none, a literal that another write replaces is one */
#define COPY "@%p3 bra A;\nmov.f32 %f3, %f2;\nA:\n"
    assert_int_equal(copies(GUARD F40 COPY F1 F1 TO("%r1")), 7);
    assert_int_equal(copies(GUARD F40 COPY F1 F1 F1 TO("%r1")), 1);
#define LITERAL "mov.f32 %f3, 0f3F800000;\n@%p3 bra A;\n" MORE1 "A:\n"
    assert_int_equal(copies(GUARD F40 LITERAL TO("%r1")), 7);
    assert_int_equal(copies(GUARD F40 LITERAL F1 TO("%r1")), 1);
}

/* A branch on what was loaded beside a store, both of global memory: none if threads may count
 * differently. */
static void
branches_on_loads(void **state)
{
    (void)state;
#define ON_LOAD "setp.gt.f32 %p2, %f1, %f3;\n@%p2 bra A;\n"
#define ST_ARM LOAD ON_LOAD "st.global.f32 [%d1+64], %f2;\nA:\n"
    assert_int_equal(copies("L:\n" ST_ARM TO("%r1")), 7);
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" ST_ARM TO("%r1")), 1);
    assert_int_equal(copies("shl.b32 %r2, %r3, 2;\nL:\n" ST_ARM TO("%r1")), 1);
    assert_int_equal(copies("mov.u32 %r2, %ctaid.x;\nL:\n" ST_ARM TO("%r1")), 7);
    /* the bound is loaded: the same for all, and not */
    assert_int_equal(copies("ld.global.u32 %r6, [%d1];\nL:\n" ST_ARM TO("%r6")), 7 + 1);
    assert_int_equal(copies("mul.wide.u32 %d2, %r3, 4;\nadd.u64 %d2, %d1, %d2;\n"
                            "ld.global.u32 %r6, [%d2];\nL:\n" ST_ARM TO("%r6")),
                     1 + 1);
    /* the store is to scratchpad; the branch is on something else; the store is after */
    assert_int_equal(
        copies("mov.u32 %r2, %r3;\nL:\n" LOAD ON_LOAD
               "st.shared.f32 [%r7], %f2;\nA:\nadd.s32 %r7, %r7, 4;\n" TO("%r1")),
        7);
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" LOAD "setp.gt.s32 %p2, %r2, 9;\n"
                            "@%p2 bra A;\nst.global.f32 [%d1+64], %f2;\nA:\n" TO("%r1")),
                     7);
#define ARM(label)                                                                       \
    "setp.gt.f32 %p2, %f1, %f3;\n@%p2 bra " label ";\n" MORE1 label                      \
    ":\nst.global.f32 [%d1+64], %f2;\n"
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" LOAD ARM("A") TO("%r1")), 7);
    assert_int_equal(copies("mov.u32 %r2, %r3;\nL:\n" LOAD ARM("A") ARM("B") TO("%r1")),
                     1);
}

/* A loop that leaves in its middle: what is before the way out runs once more. */
static void
left_in_the_middle(void **state)
{
    (void)state;
#define MIDDLE(count)                                                                    \
    "L:\n" LOAD count "@%p1 bra E;\nld.global.f32 %f3, [%d1+64];\n"                      \
    "add.f32 %f2, %f2, %f3;\n"
    assert_int_equal(copies(MIDDLE("setp.eq.s32 %p1, %r2, 5;\n") STEP "bra.uni L;\n"),
                     6 + 5);
    assert_int_equal(copies(MIDDLE(STEP "setp.eq.s32 %p1, %r2, 6;\n") "bra.uni L;\n"),
                     1 + 7 + 7);
    /* the rest stands before, and the way out is the branch that is not taken */
    assert_int_equal(copies("bra.uni L;\nM:\n" LOAD STEP "L:\n" LOAD
                            "setp.lt.s32 %p1, %r2, 3;\n"
                            "@%p1 bra M;\n"),
                     4 + 3);
    /* compared is a sum of the counter: no copies but that one */
    assert_int_equal(copies(MIDDLE("add.s32 %r4, %r2, 1;\nsetp.eq.s32 %p1, %r4, 6;\n")
                                STEP "bra.uni L;\n"),
                     2 + 1);
    assert_int_equal(
        copies(MIDDLE(
            "add.s32 %r4, %r2, 2;\nsetp.eq.s32 %p1, %r4, %r1;\n") "add.s32 %r2, %r4, 1;\nbra.uni L;\n"),
        2 + 1);
}

/* Other ways out: all iterations, or the loop stays. What is read after them has one name. */
static void
side_exits(void **state)
{
    static const char text[] =
        ".version 7.8\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %d<20>;\n"
        "ld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\n"
        "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
        "mad.lo.u32 %r1, %r1, 64, %r2;\nmul.wide.u32 %d3, %r1, 16;\n"
        "add.u64 %d1, %d1, %d3;\nadd.u64 %d2, %d2, %d3;\nld.global.u64 %d5, [%d1];\n"
        "mov.u64 %d6, 0;\nmov.u32 %r3, 0;\n"
        "L:\nmad.lo.u64 %d5, %d5, 6364136223846793005, 1442695040888963407;\n"
        "shr.u64 %d7, %d5, 60;\nsetp.eq.u64 %p1, %d7, 3;\n@%p1 bra E;\n"
        "add.u64 %d6, %d6, %d7;\nsetp.eq.u64 %p2, %d7, 5;\n@%p2 bra F;\n"
        "mad.lo.u64 %d6, %d6, 5, %d5;\nadd.s32 %r3, %r3, 1;\n"
        "setp.lt.s32 %p3, %r3, 12;\n@%p3 bra L;\nbra E;\n"
        "F:\nadd.u64 %d5, %d5, %d7;\nE:\nst.global.u64 [%d2], %d6;\n"
        "st.global.u64 [%d2+8], %d5;\nret;\n}\n";
    static const char *const passes[] = {
        "unroll", "unroll,constant-fold,address-fold,cleanup,register-allocate"};
    static uint64_t in[PAIRS][2], out[PAIRS][2];
    (void)state;
    for (unsigned i = 0; i < PAIRS; i++)
        in[i][0] = i;
    for (unsigned k = 0; k < 2; k++) {
        struct allot_diag *d = allot_diag_new();
        struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
        if (!m || !allot_module_opt(m, passes[k], NULL, d))
            fail_msg("%s", allot_diag_text(d));
        char *printed = allot_module_print(m);
        assert_int_equal(times(printed, "setp.eq.u64"), 24);
        free(printed);
        run(m, in, out, PAIRS);
        for (unsigned i = 0; i < PAIRS; i++) {
            uint64_t x = i, sum = 0;
            for (unsigned t = 0; t < 12; t++) {
                x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                if (x >> 60 == 3)
                    break;
                sum += x >> 60;
                if (x >> 60 == 5) {
                    x += 5;
                    break;
                }
                sum = sum * 5 + x;
            }
            assert_int_equal(out[i][0], sum);
            assert_int_equal(out[i][1], x);
        }
        allot_module_free(m);
        allot_diag_free(d);
    }
    /* as ptxas does: straight code of up to that many operations */
    assert_int_equal(
        copies("L:\n" LOAD "setp.gt.f32 %p2, %f1, %f2;\n@%p2 bra E;\n" TO("40")), 40);
    assert_int_equal(
        copies("L:\n" LOAD
               "setp.gt.f32 %p2, %f1, %f2;\n@%p2 bra E;\n" F4 F4 F4 F4 F4 TO("40")),
        1);
}

static void
left_alone(void **state)
{
    (void)state;
    assert_int_equal(copies("L:\n.pragma \"nounroll\";\n" LOAD TO("4")), 1);
    assert_int_equal(copies("L:\n" LOAD "membar.gl;\n" TO("4")), 1);
    assert_int_equal(
        copies("L:\n" LOAD "shfl.sync.bfly.b32 %r9, %r3, 1, 31, -1;\n" TO("4")), 1);
    assert_int_equal(copies("L:\n" LOAD "div.rn.f32 %f2, %f2, %f1;\n" TO("4")), 1);
    assert_int_equal(
        copies("L:\n" LOAD "setp.gt.f32 %p2, %f1, %f2;\n@%p2 bra E;\n" TO("%r1")), 1);
    /* steps by a register; the comparison is of the value before the step */
    assert_int_equal(copies("L:\n" LOAD "add.s32 %r2, %r2, %r3;\n"
                            "setp.lt.s32 %p1, %r2, %r1;\n@%p1 bra L;\n"),
                     1);
    assert_int_equal(
        copies("L:\n" LOAD "setp.lt.s32 %p1, %r2, %r1;\n" STEP "@%p1 bra L;\n"), 1);
    /* ... of another value, also where the count is known; of what is no sum */
    assert_int_equal(copies("L:\n" LOAD STEP "add.s32 %r4, %r2, 1;\n"
                            "setp.lt.s32 %p1, %r4, 6;\n@%p1 bra L;\n"),
                     1);
    assert_int_equal(copies("mov.u32 %r6, 64;\nL:\n" LOAD "shr.u32 %r6, %r6, 1;\n"
                            "setp.ne.s32 %p1, %r6, 0;\n@%p1 bra L;\n"),
                     1);
    /* the counter is not set again by the outer loop's iterations: its count is not known */
    assert_int_equal(copies("mov.u32 %r4, 0;\nM:\nadd.s32 %r4, %r4, 1;\nL:\n" LOAD TO(
                         "4") "setp.lt.s32 %p2, %r4, 3;\n@%p2 bra M;\n"),
                     7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_counts),
                                       cmocka_unit_test(bound_below_the_steps),
                                       cmocka_unit_test(known_counts),
                                       cmocka_unit_test(unknown_counts),
                                       cmocka_unit_test(steps_of_unknown_counts),
                                       cmocka_unit_test(operations),
                                       cmocka_unit_test(branches_on_loads),
                                       cmocka_unit_test(left_in_the_middle),
                                       cmocka_unit_test(side_exits),
                                       cmocka_unit_test(left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
