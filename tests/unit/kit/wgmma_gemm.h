/* wgmma_gemm.h: a product of matrices by wgmma with plain asynchronous copies: C = A B, A of rows
 * by k, B of columns by k, both f16 with k contiguous, C f32. A block makes 64 by 64 elements;
 * 64 elements along k are a step, their lines of 128 bytes swizzled in scratchpad. Small
 * integers: every sum is exact. */
#ifndef TESTS_WGMMA_GEMM_H
#define TESTS_WGMMA_GEMM_H

#include "base/str.h"

#include <stdint.h>

enum { GEMM_TILE = 64, GEMM_M = 128, GEMM_N = 192, GEMM_K = 256 };

/* D to C. before: makes %r1 the thread's number in its warpgroup. */
static void
gemm_store_text(struct strbuf *t, const char *before)
{
    strbuf_addz(t, before);
    /* Row 16 warp + lane / 4, column 2 (lane % 4) of the tile. */
    strbuf_printf(
        t,
        "shr.u32 %%r12, %%r1, 5;\nand.b32 %%r13, %%r1, 31;\nshr.u32 %%r14, %%r13, 2;\n"
        "mad.lo.u32 %%r12, %%r12, 16, %%r14;\nmad.lo.u32 %%r12, %%r3, 64, %%r12;\n"
        "and.b32 %%r13, %%r13, 3;\nshl.b32 %%r13, %%r13, 1;\n"
        "mad.lo.u32 %%r13, %%r2, 64, %%r13;\nmad.lo.u32 %%r12, %%r12, %d, %%r13;\n"
        "mul.wide.u32 %%rd12, %%r12, 4;\nadd.u64 %%rd12, %%rd3, %%rd12;\n",
        GEMM_N);
    for (int i = 0; i < 32; i += 2)
        strbuf_printf(t, "st.global.v2.f32 [%%rd12+%d], {%%d%d, %%d%d};\n",
                      (i / 4 * 8 + i / 2 % 2 * 8 * GEMM_N) * 4, i, i + 1);
}

/* The kernel's parameters: a, b, c. Blocks: columns / 64 by rows / 64, of 128 threads. */
static void
gemm_text(struct strbuf *t)
{
    strbuf_addz(
        t,
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry gemm(.param .u64 a, "
        ".param .u64 b, .param .u64 c)\n.reqntid 128\n{\n.reg .f32 %d<32>;\n.reg .b32 "
        "%r<32>;\n.reg .b64 %rd<32>;\n.reg .pred %p<4>;\n.shared .align 1024 .b8 s[16384];\n"
        "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\n");
    /* First line of A and B: block * 64 * k * 2 bytes; the thread's row and chunk in it. */
    strbuf_printf(t,
                  "mul.wide.u32 %%rd4, %%r3, %d;\nadd.u64 %%rd1, %%rd1, %%rd4;\n"
                  "mul.wide.u32 %%rd4, %%r2, %d;\nadd.u64 %%rd2, %%rd2, %%rd4;\n",
                  GEMM_TILE * GEMM_K * 2, GEMM_TILE * GEMM_K * 2);
    strbuf_addz(
        t,
        "shr.u32 %r4, %r1, 3;\nand.b32 %r5, %r1, 7;\nand.b32 %r6, %r4, 7;\n"
        "xor.b32 %r6, %r6, %r5;\nshl.b32 %r6, %r6, 4;\nmov.u32 %r7, s;\n"
        "mad.lo.u32 %r8, %r4, 128, %r6;\nadd.u32 %r8, %r8, %r7;\nshl.b32 %r9, %r5, 4;\n");
    strbuf_printf(t,
                  "mad.lo.u32 %%r9, %%r4, %d, %%r9;\ncvt.u64.u32 %%rd5, %%r9;\n"
                  "add.u64 %%rd6, %%rd1, %%rd5;\nadd.u64 %%rd7, %%rd2, %%rd5;\n",
                  GEMM_K * 2);
    /* Descriptors: start, stride 1024 between groups of 8 lines, 128-byte swizzle. */
    strbuf_addz(t, "shr.u32 %r10, %r7, 4;\ncvt.u64.u32 %rd8, %r10;\nor.b64 %rd8, %rd8, "
                   "0x4000004000010000;\nadd.u64 %rd9, %rd8, 512;\nmov.u32 %r11, 0;\n");
    for (int i = 0; i < 32; i++)
        strbuf_printf(t, "mov.f32 %%d%d, 0f00000000;\n", i);
    strbuf_addz(t, "setp.ge.u32 %p2, %r1, 0;\nL:\n");
    for (int i = 0; i < 4; i++) /* 16 lines further */
        strbuf_printf(t,
                      "cp.async.cg.shared.global [%%r8+%d], [%%rd6+%d], 16;\n"
                      "cp.async.cg.shared.global [%%r8+%d], [%%rd7+%d], 16;\n",
                      i * 2048, i * 16 * GEMM_K * 2, 8192 + i * 2048,
                      i * 16 * GEMM_K * 2);
    strbuf_addz(
        t,
        "cp.async.commit_group;\ncp.async.wait_group 0;\nfence.proxy.async;\nbar.sync 0;\n"
        "wgmma.fence.sync.aligned;\n");
    for (int k = 0; k < 4; k++) {
        strbuf_printf(t,
                      "add.u64 %%rd10, %%rd8, %d;\nadd.u64 %%rd11, %%rd9, %d;\n"
                      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {",
                      2 * k, 2 * k);
        for (int i = 0; i < 32; i++)
            strbuf_printf(t, "%s%%d%d", i ? ", " : "", i);
        strbuf_addz(t, "}, %rd10, %rd11, %p2, 1, 1, 0, 0;\n");
    }
    strbuf_printf(
        t,
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n"
        "add.u64 %%rd6, %%rd6, 128;\nadd.u64 %%rd7, %%rd7, 128;\nadd.u32 %%r11, %%r11, 64;\n"
        "setp.lt.u32 %%p1, %%r11, %d;\n@%%p1 bra L;\n",
        GEMM_K);
    gemm_store_text(t, "");
    strbuf_addz(t, "ret;\n}\n");
}

/* The same product with a warpgroup that copies and one that multiplies: tiles of 64 by 64 lie
 * one behind the other in memory, as wgmma takes them without a swizzle (gemm_tiled), and bulk
 * copies bring them to two stages, full and empty by mbarriers. 256 threads. */
static void
gemm_specialised_text(struct strbuf *t)
{
    strbuf_addz(
        t,
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry gemm(.param .u64 a, "
        ".param .u64 b, .param .u64 c)\n.reqntid 256\n{\n.reg .f32 %d<32>;\n.reg .b32 "
        "%r<32>;\n.reg .b64 %rd<32>;\n.reg .pred %p<4>;\n.shared .align 1024 .b8 s[32768];\n"
        ".shared .align 8 .b64 full[2];\n.shared .align 8 .b64 empty[2];\n"
        "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\n"
        "mov.u32 %r7, s;\nmov.u32 %r8, full;\nmov.u32 %r9, empty;\n"
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n"
        "mbarrier.init.shared.b64 [full], 1;\nmbarrier.init.shared.b64 [full+8], 1;\n"
        "mbarrier.init.shared.b64 [empty], 128;\nmbarrier.init.shared.b64 [empty+8], 128;\n"
        "fence.proxy.async;\nREADY: bar.sync 0;\nmov.u32 %r11, 0;\n"
        "setp.ge.u32 %p1, %r1, 128;\n@%p1 bra MULTIPLY;\n"
        "setmaxnreg.dec.sync.aligned.u32 24;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\n");
    strbuf_printf(t,
                  "mul.wide.u32 %%rd4, %%r3, %d;\nadd.u64 %%rd1, %%rd1, %%rd4;\n"
                  "mul.wide.u32 %%rd4, %%r2, %d;\nadd.u64 %%rd2, %%rd2, %%rd4;\n",
                  GEMM_TILE * GEMM_K * 2, GEMM_TILE * GEMM_K * 2);
    /* stage, and the parity of the phase before */
    strbuf_addz(
        t,
        "COPY: and.b32 %r12, %r11, 1;\nshr.u32 %r13, %r11, 1;\nnot.b32 %r13, %r13;\n"
        "and.b32 %r13, %r13, 1;\nmad.lo.u32 %r14, %r12, 8, %r9;\nmad.lo.u32 %r15, %r12, 8, "
        "%r8;\nmad.lo.u32 %r16, %r12, 16384, %r7;\n"
        "FREE: mbarrier.try_wait.parity.shared.b64 %p1, [%r14], %r13;\n@!%p1 bra FREE;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r15], 16384;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r16], [%rd1], "
        "8192, [%r15];\nadd.u32 %r16, %r16, 8192;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r16], [%rd2], "
        "8192, [%r15];\nadd.u64 %rd1, %rd1, 8192;\nadd.u64 %rd2, %rd2, 8192;\n"
        "add.u32 %r11, %r11, 1;\n");
    strbuf_printf(
        t,
        "setp.lt.u32 %%p1, %%r11, %d;\n@%%p1 bra COPY;\nbra END;\n"
        "MULTIPLY: setmaxnreg.inc.sync.aligned.u32 96;\nshr.u32 %%r10, %%r7, 4;\n"
        "cvt.u64.u32 %%rd8, %%r10;\nor.b64 %%rd8, %%rd8, %llu;\n",
        GEMM_K / 64, (unsigned long long)(128ull >> 4 << 16 | 1024ull >> 4 << 32));
    for (int i = 0; i < 32; i++)
        strbuf_printf(t, "mov.f32 %%d%d, 0f00000000;\n", i);
    strbuf_addz(
        t,
        "setp.ge.u32 %p2, %r1, 0;\nTILE: and.b32 %r12, %r11, 1;\nshr.u32 %r13, %r11, 1;\n"
        "and.b32 %r13, %r13, 1;\nmad.lo.u32 %r14, %r12, 8, %r9;\nmad.lo.u32 %r15, %r12, 8, "
        "%r8;\nmul.wide.u32 %rd10, %r12, 1024;\nadd.u64 %rd10, %rd8, %rd10;\n"
        "add.u64 %rd11, %rd10, 512;\n"
        "FULL: mbarrier.try_wait.parity.shared.b64 %p1, [%r15], %r13;\n@!%p1 bra FULL;\n"
        "wgmma.fence.sync.aligned;\n");
    for (int k = 0; k < 4; k++) {
        strbuf_addz(t, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {");
        for (int i = 0; i < 32; i++)
            strbuf_printf(t, "%s%%d%d", i ? ", " : "", i);
        strbuf_addz(t, "}, %rd10, %rd11, %p2, 1, 1, 0, 0;\nadd.u64 %rd10, %rd10, 16;\n"
                       "add.u64 %rd11, %rd11, 16;\n");
    }
    strbuf_printf(t,
                  "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                  "mbarrier.arrive.shared.b64 _, [%%r14];\nadd.u32 %%r11, %%r11, 1;\n"
                  "setp.lt.u32 %%p1, %%r11, %d;\n@%%p1 bra TILE;\n",
                  GEMM_K / 64);
    gemm_store_text(t, "sub.u32 %r1, %r1, 128;\n");
    strbuf_addz(t, "END: ret;\n}\n");
}

/* Place of element (r, k) of a matrix of lines of k, in tiles. */
static int
gemm_tiled(int r, int k)
{
    return (r / 64 * (GEMM_K / 64) + k / 64) * 4096 + r % 64 / 8 * 512 + k % 64 / 8 * 64 +
           r % 8 * 8 + k % 8;
}

/* -4 to 4, and its bits. */
static int
gemm_value(int i)
{
    return (int)((unsigned)i * 2654435761u >> 20) % 9 - 4;
}

static uint16_t
gemm_bits(int v)
{
    static const uint16_t bits[5] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return (uint16_t)(v < 0 ? bits[-v] | 0x8000 : bits[v]);
}

static void
gemm_fill(uint16_t *a, uint16_t *b, int tiled)
{
    for (int r = 0; r < GEMM_M + GEMM_N; r++)
        for (int k = 0; k < GEMM_K; k++) {
            int second = r >= GEMM_M, line = second ? r - GEMM_M : r,
                at = line * GEMM_K + k;
            (second ? b : a)[tiled ? gemm_tiled(line, k) : at] =
                gemm_bits(gemm_value(second ? at + 77777 : at));
        }
}

static int
gemm_reference(int row, int col)
{
    int s = 0;
    for (int k = 0; k < GEMM_K; k++)
        s += gemm_value(row * GEMM_K + k) * gemm_value(col * GEMM_K + k + 77777);
    return s;
}

#endif
