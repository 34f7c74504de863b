/* A large module takes less than ten times its text, and parsing it is linear. */
#include "ptx_kit.h"

#include <malloc.h>
#include <time.h>

/* The kernels of a compiled file again and again under other names. */
static void
many_kernels(struct strbuf *b, unsigned n)
{
    strbuf_addz(b, ".version 8.0\n.target sm_80\n.address_size 64\n");
    for (unsigned i = 0; i < n; i++)
        strbuf_printf(
            b,
            "\n\t// .globl\tkernel_number_%u\n.visible .entry kernel_number_%u(\n"
            "\t.param .u64 kernel_number_%u_param_0,\n"
            "\t.param .u32 kernel_number_%u_param_1\n)\n{\n"
            "\t.reg .pred \t%%p<3>;\n\t.reg .f32 \t%%f<14>;\n\t.reg .b32 \t%%r<12>;\n"
            "\t.reg .b64 \t%%rd<8>;\n\n\n"
            "\tld.param.u64 \t%%rd3, [kernel_number_%u_param_0];\n"
            "\tld.param.u32 \t%%r4, [kernel_number_%u_param_1];\n"
            "\tmov.u32 \t%%r5, %%ntid.x;\n\tmov.u32 \t%%r6, %%ctaid.x;\n"
            "\tmov.u32 \t%%r7, %%tid.x;\n\tmad.lo.s32 \t%%r1, %%r6, %%r5, %%r7;\n"
            "\tsetp.ge.s32 \t%%p1, %%r1, %%r4;\n\t@%%p1 bra \t$L__BB%u_4;\n\n"
            "\tcvta.to.global.u64 \t%%rd4, %%rd3;\n\tmul.wide.s32 \t%%rd5, %%r1, 4;\n"
            "\tadd.s64 \t%%rd1, %%rd4, %%rd5;\n\tld.global.f32 \t%%f13, [%%rd1];\n"
            "\tmov.u32 \t%%r11, 0;\n\n$L__BB%u_2:\n"
            "\tfma.rn.f32 \t%%f5, %%f13, %%f13, 0f3F800000;\n"
            "\tsqrt.rn.f32 \t%%f6, %%f5;\n\tdiv.rn.f32 \t%%f13, %%f5, %%f6;\n"
            "\tadd.s32 \t%%r11, %%r11, 1;\n\tsetp.lt.s32 \t%%p2, %%r11, 10;\n"
            "\t@%%p2 bra \t$L__BB%u_2;\n\n\tst.global.f32 \t[%%rd1], %%f13;\n\n"
            "$L__BB%u_4:\n\tret;\n\n}\n",
            i, i, i, i, i, i, i, i, i, i);
}

static double
parse_seconds(const char *text, size_t n, size_t *bytes)
{
    struct diag_sink diag = {0};
    struct timespec a, b;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    struct ptx_module *m = ptx_parse("big.ptx", text, n, &diag);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    *bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    assert_non_null(m);
    ptx_module_free(m);
    diag_free(&diag);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

static void
memory_and_time_follow_the_text(void **state)
{
    (void)state;
    struct strbuf small = {0}, large = {0};
    many_kernels(&small, 500);
    many_kernels(&large, 4000);
    size_t bytes, few;
    double first = 1e9, second = 1e9;
    for (int i = 0; i < 3; i++) { /* the least disturbed */
        double s = parse_seconds(small.s, small.n, &few),
               l = parse_seconds(large.s, large.n, &bytes);
        first = s < first ? s : first;
        second = l < second ? l : second;
    }
    if (bytes) /* 0: another allocator, a sanitizer's */
        assert_true(bytes < 10 * large.n);
    assert_true(second < 8 * first * 2.5);
    strbuf_free(&small);
    strbuf_free(&large);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_time_follow_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
