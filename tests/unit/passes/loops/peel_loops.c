/* peel_loops.c: which loops become straight code, how many iterations, and what is left, on cases
 * decided by hand; late-stores then moves the stores of all iterations after the loads. What the
 * code computes: unit/peel_random, unit/vtb_random and unit/vtb_workloads run it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"
#include "passes/pass.h"
#include "ptx/parse.h"
#include "ptx/print.h"

#include <string.h>

#define OPEN                                                                             \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                    \
    ".visible .entry k(.param .u64 out, .param .u32 n)\n.reqntid 64, 1, 1\n{\n"          \
    ".reg .pred %p<9>;\n.reg .b32 %r<40>;\n.reg .b64 %d<9>;\n"                           \
    ".shared .align 4 .b8 A[4096];\n"                                                    \
    "ld.param.u64 %d1, [out];\nld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\n"

/* One letter an instruction after the opening: s st.shared, g ld.global, S and G the same
 * under a guard, j a jump, c one under a guard, b barrier; others are left out. */
static char *
letters(const char *passes, const char *body)
{
    struct strbuf text = {0}, b = {0};
    struct diag_sink d = {0};
    strbuf_printf(&text, "%s%sret;\n}\n", OPEN, body);
    struct ptx_module *m = ptx_parse("test.ptx", text.s, text.n, &d);
    if (!m || !pass_run(m, passes, NULL, NULL, &d)) {
        diag_print(&d, &b);
        fail_msg("%s", b.s);
    }
    const struct ptx_func *f = ptx_find_func(m, "k");
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        const bool shared = ptx_inst_space(in) == PTX_SPACE_SHARED;
        const char c = ptx_inst_barrier(in) >= 0       ? 'b'
                       : in->op == PTX_OP_ST && shared ? 's'
                       : in->op == PTX_OP_LD && ptx_inst_space(in) == PTX_SPACE_GLOBAL
                           ? 'g'
                       : in->op == PTX_OP_BRA ? 'j'
                                              : 0;
        if (c == 'j')
            strbuf_printf(&b, "%c", in->guard >= 0 ? 'c' : 'j');
        else if (c)
            strbuf_printf(&b, "%c", in->guard >= 0 ? c - 'a' + 'A' : c);
    }
    ptx_module_free(m);
    strbuf_free(&text);
    diag_free(&d);
    return b.s ? b.s : xstrdup("");
}

static void
expect(const char *passes, const char *body, const char *want)
{
    char *got = letters(passes, body);
    if (strcmp(got, want))
        fail_msg("%s: \"%s\", not \"%s\":\n%s", passes, got, want, body);
    free(got);
}

/* s[k] = global for k = tid, tid + 64 ... below `end`, a register or a number. */
#define FILL(end)                                                                        \
    "mov.u32 %r4, %r1;\nL:\nmul.wide.u32 %d2, %r4, 4;\nadd.u64 %d2, %d2, %d1;\n"         \
    "ld.global.u32 %r5, [%d2];\nshl.b32 %r6, %r4, 2;\nmov.u32 %r7, A;\n"                 \
    "add.u32 %r6, %r6, %r7;\nst.shared.u32 [%r6], %r5;\nadd.u32 %r4, %r4, 64;\n"         \
    "setp.lt.u32 %p1, %r4, " end ";\n@%p1 bra L;\nbar.sync 0;\n"                         \
    "ld.shared.u32 %r8, [A];\n"

static void
turns(void **state)
{
    (void)state;
    expect("peel-loops", FILL("256"), "gsgsgsgsb");
    expect("peel-loops,late-stores", FILL("256"), "ggggssssb");
    /* threads 0 to 31 have a fourth iteration */
    expect("peel-loops", FILL("224"), "gsgsgsGSb");
    expect("peel-loops,late-stores", FILL("224"), "gggGsssSb");
    /* three iterations, five of the first eight threads' two more */
    expect("peel-loops",
           "mov.u32 %r9, 192;\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 mov.u32 %r9, 320;\n" FILL(
               "%r9"),
           "gsgsgscjgscb");
}

/* 224 of 256: threads 0 to 31 have a fourth turn. It runs under a guard only if it leaves nothing
 * that the others would get too. */
#define FILL_BEGIN                                                                       \
    "mov.u32 %r4, %r1;\nmov.u32 %r10, 0;\nL:\nmul.wide.u32 %d2, %r4, 4;\n"               \
    "add.u64 %d2, %d2, %d1;\nld.global.u32 %r5, [%d2];\nshl.b32 %r6, %r4, 2;\n"
#define FILL_END                                                                         \
    "st.shared.u32 [%r6], %r5;\nadd.u32 %r4, %r4, 64;\nsetp.lt.u32 %p1, %r4, 224;\n"     \
    "@%p1 bra L;\nbar.sync 0;\nld.shared.u32 %r8, [A];\n"

static void
last_turns_under_a_guard(void **state)
{
    static const struct {
        const char *inst, *behind, *want;
    } cases[] = {
        {"", "", "gsgsgsGSb"},
        {"add.u32 %r11, %r5, 1;\n", "", "gsgsgsGSb"},
        /* read after it: what the loop loads, computes, counts, compares */
        {"", "st.shared.u32 [A], %r5;\n", "gsgsgscjgscbs"},
        {"add.u32 %r10, %r10, 1;\n", "st.shared.u32 [A], %r10;\n", "gsgsgscjgscbs"},
        {"", "st.shared.u32 [A], %r4;\n", "gsgsgscjgscbs"},
        {"setp.eq.u32 %p3, %r5, 7;\n", "@%p3 st.shared.u32 [A], %r1;\n", "gsgsgscjgscbS"},
        /* under a guard already; a list of results; results that go nowhere */
        {"setp.eq.u32 %p3, %r5, 7;\n@%p3 add.u32 %r11, %r5, 1;\n", "", "gsgsgscjgscb"},
        {"ld.global.v2.u32 {%r12, %r13}, [%d2];\n", "", "ggsggsggscjggscb"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf b = {0};
        strbuf_addz(&b, FILL_BEGIN);
        strbuf_addz(&b, cases[i].inst);
        strbuf_addz(&b, FILL_END);
        strbuf_addz(&b, cases[i].behind);
        expect("peel-loops", b.s, cases[i].want);
        strbuf_free(&b);
    }
}

static void
left_alone(void **state)
{
    (void)state;
    expect("peel-loops", FILL("%r3"), "gscb"); /* nobody knows how many */
    expect("peel-loops", FILL("64"), "gscb");  /* one iteration */
    expect("peel-loops:most=20", FILL("256"), "gscb");
    /* a barrier in each iteration */
    expect("peel-loops",
           "mov.u32 %r4, 0;\nL:\nld.global.u32 %r5, [%d1];\nst.shared.u32 [A], %r5;\n"
           "bar.sync 0;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 4;\n@%p1 bra L;\n",
           "gsbc");
    /* another way out */
    expect("peel-loops",
           "mov.u32 %r4, 0;\nL:\nld.global.u32 %r5, [%d1];\nst.shared.u32 [A], %r5;\n"
           "setp.eq.u32 %p2, %r5, 0;\n@%p2 bra E;\nadd.u32 %r4, %r4, 1;\n"
           "setp.lt.u32 %p1, %r4, 4;\n@%p1 bra L;\nE:\n",
           "gscc");
    /* a branch before it that nobody knows decides how many */
    expect("peel-loops",
           "mov.u32 %r13, 256;\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra M;\n"
           "mov.u32 %r13, 192;\nM:\n" FILL("%r13"),
           "cgscb");
    /* the same, and one arm ends: threads 32 to 63, if they go on, have an iteration more */
    expect("peel-loops",
           "mov.u32 %r13, 192;\nadd.u32 %r13, %r13, 64;\nsetp.lt.u32 %p4, %r1, 32;\n"
           "@%p4 bra M;\nadd.u32 %r13, %r13, 64;\nsetp.eq.u32 %p2, %r3, 0;\n"
           "@%p2 bra M;\nret;\nM:\n" FILL("%r13"),
           "ccgscb");
}

/* Threads that skip the loop have no part in its iterations. */
static void
skipped(void **state)
{
    (void)state;
    /* threads 48 to 63 would have one iteration; of the others some have four, some five */
    expect("peel-loops",
           "mov.u32 %r4, %r1;\nsetp.ge.u32 %p1, %r1, 48;\n@%p1 bra E;\nL:\n"
           "ld.global.u32 %r5, [%d1];\nshl.b32 %r6, %r4, 2;\nst.shared.u32 [%r6], %r5;\n"
           "add.u32 %r4, %r4, 48;\nsetp.lt.u32 %p1, %r4, 224;\n@%p1 bra L;\nE:\n"
           "bar.sync 0;\nld.shared.u32 %r8, [A];\n",
           "cgsgsgsgsGSb");
    /* nobody knows which: any may come, and all would have four */
    expect("peel-loops",
           "mov.u32 %r4, %r1;\nsetp.ge.u32 %p1, %r1, %r3;\n@%p1 bra E;\nL:\n"
           "ld.global.u32 %r5, [%d1];\nshl.b32 %r6, %r4, 2;\nst.shared.u32 [%r6], %r5;\n"
           "add.u32 %r4, %r4, 64;\nsetp.lt.u32 %p1, %r4, 256;\n@%p1 bra L;\nE:\n"
           "bar.sync 0;\nld.shared.u32 %r8, [A];\n",
           "cgsgsgsgsb");
}

/* Threads come to the loop several times, first with r12 = 128: two iterations. */
#define AGAIN(first, then, other)                                                        \
    "mov.u32 %r12, 128;\nO:\nadd.u32 %r4, %r1, " first ";\nL:\n"                         \
    "ld.global.u32 %r5, [%d1];\nshl.b32 %r6, %r4, 2;\nst.shared.u32 [%r6], %r5;\n"       \
    "add.u32 %r4, %r4, 64;\nsetp.lt.u32 %p1, %r4, 256;\n@%p1 bra L;\n" then              \
    "sub.u32 %r12, %r12, 64;\nsetp.ne.u32 %p2, %r12, " other ";\n@%p2 bra O;\n"          \
    "ld.shared.u32 %r8, [A];\n"

static void
comes_again(void **state)
{
    (void)state;
    /* two iterations, then three: the loop around it is peeled first, and makes two loops */
    expect("peel-loops", AGAIN("%r12", "", "0"), "gsgsgsgsgs");
    /* nobody knows how often, or a barrier stands between: the first time tells nothing */
    expect("peel-loops", AGAIN("%r12", "", "%r3"), "gscc");
    expect("peel-loops", AGAIN("%r12", "bar.sync 0;\n", "0"), "gscbc");
    /* as often each time */
    expect("peel-loops", AGAIN("64", "bar.sync 0;\n", "0"), "gsgsgsbc");
}

/* Sums over a loop within: its iterations are not known, those around it are. */
#define SUMS                                                                             \
    "mov.u32 %r4, %r1;\nsetp.gt.u32 %p3, %r1, 127;\n@%p3 bra E;\nL:\nmov.u32 %r5, 0;\n"  \
    "mov.u32 %r9, 0;\nM:\nld.global.u32 %r10, [%d1];\nadd.u32 %r5, %r5, %r10;\n"         \
    "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, %r3;\n@%p2 bra M;\n"                    \
    "shl.b32 %r6, %r4, 2;\nmov.u32 %r7, A;\nadd.u32 %r6, %r6, %r7;\n"                    \
    "st.shared.u32 [%r6], %r5;\nadd.u32 %r4, %r4, 64;\nsetp.lt.u32 %p1, %r4, 128;\n"     \
    "@%p1 bra L;\nE:\nbar.sync 0;\nld.shared.u32 %r8, [A];\n"

static void
around_loops(void **state)
{
    (void)state;
    /* the branch around it that no thread takes goes */
    expect("peel-loops", SUMS, "gcsgcsb");
    /* stores pass the loop between them */
    expect("peel-loops,late-stores", SUMS, "gcgcssb");
    /* not into a loop whose body all threads come to, only after it */
    expect("late-stores",
           "mov.u32 %r9, 0;\nst.shared.u32 [A], %r1;\nM:\nld.global.u32 %r10, [%d1];\n"
           "setp.eq.u32 %p3, %r10, 5;\n@%p3 bra N;\nadd.u32 %r5, %r5, %r10;\nN:\n"
           "ld.global.u32 %r11, [%d1];\nadd.u32 %r9, %r9, 1;\n"
           "setp.lt.u32 %p2, %r9, %r3;\n@%p2 bra M;\nmov.u32 %r12, 0;\nbar.sync 0;\n",
           "gcgcsb");
    /* not out of the loop that they are in */
    expect("late-stores",
           "mov.u32 %r9, 0;\nL:\nld.global.u32 %r10, [%d1];\nst.shared.u32 [A], %r1;\n"
           "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, 4;\n@%p1 bra L;\n"
           "mov.u32 %r12, 0;\nbar.sync 0;\n",
           "gscb");
    expect("late-stores", SUMS, "cgcscb");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns),       cmocka_unit_test(last_turns_under_a_guard),
        cmocka_unit_test(left_alone),  cmocka_unit_test(skipped),
        cmocka_unit_test(comes_again), cmocka_unit_test(around_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
