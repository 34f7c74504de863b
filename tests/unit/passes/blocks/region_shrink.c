/* region_shrink.c: what moves out of scratchpad access regions, and what must not, on cases
 * decided by hand. */
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
    ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<9>;\n"          \
    ".reg .b32 %r<40>;\n.reg .f32 %f<20>;\n.reg .b64 %d<4>;\n"                           \
    ".shared .align 4 .b8 A[256];\n"                                                     \
    "ld.param.u64 %d1, [out];\nld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\n"           \
    "mov.u32 %r10, 1;\nmov.u32 %r11, 1;\nmov.u32 %r12, 1;\nmov.u32 %r13, 1;\n"           \
    "mov.u32 %r14, 1;\nmov.u32 %r15, 1;\n"
/* keeps registers alive throughout, so that the limit, which is what the kernel needs, leaves
 * room for others */
#define CLOSE                                                                            \
    "add.u32 %r20, %r10, %r11;\nadd.u32 %r21, %r10, %r12;\nadd.u32 %r22, %r10, %r13;\n"  \
    "add.u32 %r23, %r10, %r14;\nadd.u32 %r24, %r10, %r15;\n"                             \
    "st.global.v4.u32 [%d1], {%r20, %r21, %r22, %r1};\n"                                 \
    "st.global.v4.u32 [%d1], {%r23, %r24, %r11, %r12};\n"                                \
    "st.global.v4.u32 [%d1], {%r10, %r13, %r14, %r15};\n"
enum { HEAD = 9, TAIL = 9 };

/* The body after the opening, one letter an instruction: l ld.shared, s st.shared, b
 * barrier, g ld.global, w st.global, a anything else. */
static char *
letters(const char *body, size_t head, size_t tail)
{
    struct strbuf text = {0}, b = {0};
    struct diag_sink d = {0};
    strbuf_printf(&text, "%s%s%sret;\n}\n", OPEN, body, CLOSE);
    struct ptx_module *m = ptx_parse("test.ptx", text.s, text.n, &d);
    if (!m || !pass_run(m, "region-shrink:gap=0", NULL, NULL, &d)) {
        diag_print(&d, &b);
        fail_msg("%s", b.s);
    }
    const struct ptx_func *f = ptx_find_func(m, "k");
    for (size_t i = head; i + tail < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        const bool shared = ptx_inst_space(in) == PTX_SPACE_SHARED;
        strbuf_printf(&b, "%c",
                      ptx_inst_barrier(in) >= 0 ? 'b'
                      : in->op == PTX_OP_LD     ? shared ? 'l' : 'g'
                      : in->op == PTX_OP_ST     ? shared ? 's' : 'w'
                                                : 'a');
    }
    ptx_module_free(m);
    strbuf_free(&text);
    diag_free(&d);
    return b.s ? b.s : xstrdup("");
}

static void
expect(const char *body, const char *want)
{
    char *got = letters(body, HEAD, TAIL);
    if (strcmp(got, want))
        fail_msg("\"%s\", not \"%s\":\n%s", got, want, body);
    free(got);
}

static void
moves(void **state)
{
    (void)state;
    /* loads before the region, sums after it */
    expect("ld.global.u32 %r4, [%d1];\nst.shared.u32 [A], %r4;\n"
           "ld.global.u32 %r5, [%d1+4];\nst.shared.u32 [A+4], %r5;\nbar.sync 0;\n"
           "ld.shared.u32 %r6, [A];\nadd.u32 %r10, %r10, %r6;\n"
           "ld.shared.u32 %r7, [A+4];\nadd.u32 %r10, %r10, %r7;\n",
           "ggssbllaa");
    /* over the barrier, as nothing was stored before */
    expect("st.shared.u32 [A], %r1;\nbar.sync 0;\nld.global.u32 %r5, [%d1+4];\n"
           "ld.shared.u32 %r6, [A];\nadd.u32 %r10, %r6, %r5;\n",
           "gsbla");
}

static void
stays(void **state)
{
    (void)state;
    /* another thread's store may come before the barrier */
    expect("st.global.u32 [%d1], %r1;\nst.shared.u32 [A], %r1;\nbar.sync 0;\n"
           "ld.global.u32 %r5, [%d1+4];\nst.shared.u32 [A], %r5;\n"
           "ld.shared.u32 %r6, [A];\n",
           "wsbgsl");
    /* after a store of its own */
    expect("st.shared.u32 [A], %r1;\nst.global.u32 [%d1], %r1;\n"
           "ld.global.u32 %r5, [%d1+4];\nst.shared.u32 [A+4], %r5;\n"
           "ld.shared.u32 %r6, [A];\nadd.u32 %r10, %r6, 1;\n",
           "swgsla");
    /* volatile */
    expect("st.shared.u32 [A], %r1;\nld.volatile.global.u32 %r5, [%d1+4];\n"
           "st.shared.u32 [A+4], %r5;\nld.shared.u32 %r6, [A];\n",
           "sgsl");
    /* a store does not pass the barrier */
    expect("st.shared.u32 [A], %r1;\nst.global.u32 [%d1], %r1;\nbar.sync 0;\n"
           "ld.shared.u32 %r6, [A];\n",
           "swbl");
    /* it reads, or is overwritten by, what stays */
    expect("st.shared.u32 [A], %r1;\nld.shared.u32 %r6, [A];\nadd.u32 %r7, %r6, 1;\n"
           "st.shared.u32 [A+4], %r7;\nld.shared.u32 %r8, [A+4];\n",
           "slasl");
    expect("st.shared.u32 [A], %r10;\nmov.u32 %r10, 2;\nst.shared.u32 [A+4], %r10;\n"
           "ld.shared.u32 %r8, [A+4];\n",
           "sasl");
}

/* As many as the kernel has registers: 14 at the same time in what follows, 9 of them alive here. */
static void
within_the_limit(void **state)
{
    struct strbuf b = {0};
    unsigned before = 0;
    (void)state;
    for (unsigned i = 0; i < 16; i++)
        strbuf_printf(&b,
                      "ld.global.u32 %%r%u, [%%d1+%u];\nst.shared.u32 [A+%u], %%r%u;\n",
                      16 + i, 4 * i, 4 * i, 16 + i);
    strbuf_printf(&b, "bar.sync 0;\nld.shared.u32 %%r5, [A];\n");
    char *got = letters(b.s, HEAD, TAIL);
    while (got[before] == 'g')
        before++;
    if (before != 5)
        fail_msg("%u loads before the region: %s", before, got);
    free(got);
    strbuf_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves),
        cmocka_unit_test(stays),
        cmocka_unit_test(within_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
