/* large_kit.h: a large module, for tests of how time and memory grow. */
#ifndef TESTS_LARGE_KIT_H
#define TESTS_LARGE_KIT_H

#include "base/str.h"

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

#endif
