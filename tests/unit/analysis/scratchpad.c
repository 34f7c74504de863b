/* scratchpad.c: layout of scratchpad variables and which of them an access may touch, on
 * cases decided by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/scratchpad.h"
#include "ptx/parse.h"

#include <string.h>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
#define VARS                                                                             \
    ".shared .align 4 .b8 A[100];\n.shared .align 16 .b8 B[64];\n"                       \
    ".shared .align 4 .b8 C[8];\n.extern .shared .align 4 .b8 D[];\n"
#define REGS ".reg .b32 %r<20>;\n.reg .b64 %d<20>;\n.reg .pred %p<4>;\n"

static struct ptx_module *
parse(const char *text)
{
    struct diag_sink d = {0};
    struct ptx_module *m = ptx_parse("test.ptx", text, strlen(text), &d);
    if (!m) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        fail_msg("%s", b.s);
    }
    diag_free(&d);
    return m;
}

/* What each memory instruction and call of kernel k touches, as names of variables:
 * "A B; C; -". */
static char *
touched(const char *text)
{
    struct ptx_module *m = parse(text);
    const struct ptx_func *f = ptx_find_func(m, "k");
    struct scratch_use *u = scratch_use_new(f);
    struct strbuf b = {0};
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (!(ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC)) &&
            in->op != PTX_OP_CALL)
            continue;
        if (ptx_inst_space(in) == PTX_SPACE_PARAM)
            continue;
        strbuf_addz(&b, b.n ? "; " : "");
        bool any = false;
        for (size_t v = 0; v < u->var.n; v++)
            if (u->funcs.v[0].touch[i] >> scratch_bit(u, v) & 1) {
                strbuf_printf(&b, "%s%s", any ? " " : "", u->var.v[v].var->name);
                any = true;
            }
        if (!any)
            strbuf_addz(&b, "-");
    }
    scratch_use_free(u);
    ptx_module_free(m);
    return strbuf_take(&b);
}

#define TOUCHES(body, want)                                                              \
    do {                                                                                 \
        char *got_ = touched(HEAD VARS ".visible .entry k(.param .u64 p) {\n" REGS body  \
                                       "ret;\n}\n");                                     \
        assert_string_equal(got_, want);                                                 \
        free(got_);                                                                      \
    } while (0)

static void
layout_is_the_order_of_declaration(void **st)
{
    (void)st;
    struct ptx_module *m =
        parse(HEAD VARS ".visible .entry k() {\n.shared .align 8 .f64 E[3];\n" REGS
                        "ld.shared.u32 %r1, [D];\nld.shared.u32 %r1, [C];\n"
                        "ld.shared.u32 %r1, [B];\nld.shared.u32 %r1, [A];\nret;\n}\n");
    struct scratch_use *u = scratch_use_new(ptx_find_func(m, "k"));
    static const struct {
        const char *name;
        uint64_t at;
    } want[] = {{"A", 0}, {"B", 112}, {"C", 176}, {"E", 184}, {"D", 208}};
    assert_int_equal(u->var.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(u->var.v[i].var->name, want[i].name);
        assert_int_equal(u->var.v[i].at, want[i].at);
    }
    assert_int_equal(u->layout.bytes, 208);
    assert_int_equal(u->layout.dynamic_base, 208);
    assert_int_equal(scratch_beyond(u, 112), 0x1e); /* all but A */
    assert_int_equal(scratch_beyond(u, 99), 0x1f);
    assert_int_equal(scratch_beyond(u, 207), 0x18);
    assert_int_equal(scratch_beyond(u, 208), 0x10); /* the extern one has no end */
    scratch_use_free(u);
    ptx_module_free(m);
}

static void
symbols_and_arithmetic(void **st)
{
    (void)st;
    TOUCHES("ld.shared.u32 %r1, [A+4];\nst.shared.u32 [B], %r1;\n"
            "mov.u32 %r2, C;\nmov.u32 %r9, %tid.x;\nshl.b32 %r3, %r9, 2;\n"
            "add.s32 %r4, %r2, %r3;\nld.shared.u32 %r5, [%r4];\n"
            "mad.lo.s32 %r6, %r9, 4, %r2;\nst.shared.u32 [%r6+4], %r5;\n"
            "sub.s32 %r7, %r6, 4;\natom.shared.add.u32 %r8, [%r7], 1;\n"
            "mov.u32 %r10, D;\nld.shared.u32 %r11, [%r10+8];\n",
            "A; B; C; C; C; D");
}

static void
unknown_addresses(void **st)
{
    (void)st;
    /* A number, a loaded value: all; a generic address from a parameter: none. */
    TOUCHES("mov.u32 %r1, 16;\nld.shared.u32 %r2, [%r1];\n"
            "ld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [A];\n"
            "ld.param.u64 %d1, [p];\nld.u32 %r5, [%d1];\nld.global.u64 %d2, [%d1];\n"
            "st.u32 [%d2], %r5;\nst.shared.u32 [B], %r5;\nst.shared.u32 [8], %r5;\n",
            "A B; A B; A; -; -; -; B; A B");
}

static void
generic_addresses(void **st)
{
    (void)st;
    TOUCHES("mov.u64 %d1, A;\ncvta.shared.u64 %d2, %d1;\nld.u32 %r1, [%d2];\n"
            "add.u64 %d3, %d2, 8;\ncvta.to.shared.u64 %d4, %d3;\n"
            "st.shared.u32 [%d4], %r1;\ncvt.u64.u32 %d5, %r1;\n"
            "cvta.shared.u64 %d6, %d5;\nld.u32 %r2, [%d6];\nld.shared.u32 %r3, [B];\n",
            "A; A; A B; B");
}

static void
selections_and_shuffles(void **st)
{
    (void)st;
    TOUCHES("mov.u32 %r1, A;\nmov.u32 %r2, B;\nmov.u32 %r9, %tid.x;\n"
            "setp.eq.s32 %p1, %r9, 0;\nselp.b32 %r3, %r1, %r2, %p1;\n"
            "ld.shared.u32 %r4, [%r3];\n"
            "shfl.sync.idx.b32 %r5, %r2, 0, 31, -1;\nld.shared.u32 %r4, [%r5];\n"
            "@%p1 mov.u32 %r2, C;\nld.shared.u32 %r4, [%r2];\n",
            "A B; B; B C");
}

static void
one_register_for_several_variables(void **st)
{
    (void)st;
    /* As after register allocation: the flow distinguishes them. */
    TOUCHES("mov.u32 %r1, A;\nld.shared.u32 %r2, [%r1];\nmov.u32 %r1, B;\n"
            "ld.shared.u32 %r2, [%r1];\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra L;\n"
            "mov.u32 %r1, C;\nL: ld.shared.u32 %r3, [%r1];\n",
            "A; B; B C");
    /* A loop carries it round. */
    TOUCHES("mov.u32 %r1, A;\nmov.u32 %r2, B;\nL: ld.shared.u32 %r3, [%r1];\n"
            "mov.u32 %r4, %r1;\nmov.u32 %r1, %r2;\nmov.u32 %r2, %r4;\n"
            "setp.eq.s32 %p1, %r3, 0;\n@%p1 bra L;\nld.shared.u32 %r3, [C];\n",
            "A B; C");
}

static void
addresses_in_memory(void **st)
{
    (void)st;
    TOUCHES(
        ".local .align 8 .b8 depot[16];\nmov.u64 %d1, A;\nst.local.u64 [depot], %d1;\n"
        "ld.local.u64 %d2, [depot];\nld.shared.u32 %r1, [%d2];\n"
        "ld.shared.u32 %r2, [B];\nmov.u64 %d3, B;\nadd.u64 %d4, %d3, %d2;\n"
        "ld.shared.u32 %r3, [%d4];\n",
        "-; -; A; B; A B");
}

static void
calls(void **st)
{
    (void)st;
    char *got =
        touched(HEAD VARS ".func (.param .b64 r) pass(.param .b64 a) {\n" REGS
                          "ld.param.u64 %d1, [a];\nst.shared.u32 [%d1], 1;\n"
                          "st.param.b64 [r], %d1;\nret;\n}\n"
                          ".func quiet() {\nret;\n}\n.func deep() {\n"
                          "st.shared.u32 [C], 1;\ncall.uni quiet;\nret;\n}\n"
                          ".visible .entry k() {\n" REGS "mov.u64 %d1, B;\n"
                          "{ .param .b64 param0; .param .b64 retval0;\n"
                          "st.param.b64 [param0], %d1;\n"
                          "call.uni (retval0), pass, (param0);\n"
                          "ld.param.b64 %d2, [retval0]; }\nld.shared.u32 %r1, [%d2];\n"
                          "call.uni quiet;\ncall.uni deep;\nst.shared.u32 [A], %r1;\n"
                          "ret;\n}\n");
    assert_string_equal(got, "B; B; -; C; A");
    free(got);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_is_the_order_of_declaration),
        cmocka_unit_test(symbols_and_arithmetic),
        cmocka_unit_test(unknown_addresses),
        cmocka_unit_test(generic_addresses),
        cmocka_unit_test(selections_and_shuffles),
        cmocka_unit_test(one_register_for_several_variables),
        cmocka_unit_test(addresses_in_memory),
        cmocka_unit_test(calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
