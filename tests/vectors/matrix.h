/* matrix.h: the forms of wmma and mma, and kernels that run one of them: the kernels are
 * the same for the executor's tests and for a real GPU (gpu-check).
 *
 * Every kernel is .entry k(.param .u64 in, .param .u64 out), one warp. A word w of lane l
 * is at byte (w * 32 + l) * 4 of its buffer; 64-bit values take two words, the lower
 * first. */
#ifndef TESTS_VECTORS_MATRIX_H
#define TESTS_VECTORS_MATRIX_H

#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct mma_form {
    const char *shape, *d, *a, *b, *c; /* types */
    int m, n, k;
    int nd, na, nb, nc; /* registers */
    const char *op;     /* .xor.popc and the like, behind the types */
    unsigned sm;        /* least target */
};

/* All of mma.sync up to sm_89 (PTX ISA 9.0, tables of 9.7.14.5), one type combination of
 * each kind; layouts are .row.col but of m8n8k4 with f16, which has all four. */
__attribute__((unused)) static const struct mma_form mma_forms[] = {
    {"m8n8k4", "f16", "f16", "f16", "f16", 8, 8, 4, 4, 2, 2, 4, "", 70},
    {"m8n8k4", "f32", "f16", "f16", "f32", 8, 8, 4, 8, 2, 2, 8, "", 70},
    {"m8n8k4", "f32", "f16", "f16", "f16", 8, 8, 4, 8, 2, 2, 4, "", 70},
    {"m16n8k8", "f16", "f16", "f16", "f16", 16, 8, 8, 2, 2, 1, 2, "", 75},
    {"m16n8k8", "f32", "f16", "f16", "f32", 16, 8, 8, 4, 2, 1, 4, "", 75},
    {"m16n8k8", "f32", "bf16", "bf16", "f32", 16, 8, 8, 4, 2, 1, 4, "", 80},
    {"m16n8k16", "f16", "f16", "f16", "f16", 16, 8, 16, 2, 4, 2, 2, "", 80},
    {"m16n8k16", "f32", "f16", "f16", "f32", 16, 8, 16, 4, 4, 2, 4, "", 80},
    {"m16n8k16", "f32", "bf16", "bf16", "f32", 16, 8, 16, 4, 4, 2, 4, "", 80},
    {"m16n8k4", "f32", "tf32", "tf32", "f32", 16, 8, 4, 4, 2, 1, 4, "", 80},
    {"m16n8k8", "f32", "tf32", "tf32", "f32", 16, 8, 8, 4, 4, 2, 4, "", 80},
    {"m8n8k4", "f64", "f64", "f64", "f64", 8, 8, 4, 2, 1, 1, 2, "", 80},
    {"m16n8k4", "f64", "f64", "f64", "f64", 16, 8, 4, 4, 2, 1, 4, "", 90},
    {"m16n8k8", "f64", "f64", "f64", "f64", 16, 8, 8, 4, 4, 2, 4, "", 90},
    {"m16n8k16", "f64", "f64", "f64", "f64", 16, 8, 16, 4, 8, 4, 4, "", 90},
    {"m8n8k16", "s32", "s8", "s8", "s32", 8, 8, 16, 2, 1, 1, 2, "", 75},
    {"m8n8k16", "s32", "u8", "s8", "s32", 8, 8, 16, 2, 1, 1, 2, "", 75},
    {"m16n8k16", "s32", "s8", "u8", "s32", 16, 8, 16, 4, 2, 1, 4, "", 80},
    {"m16n8k16", "s32", "u8", "u8", "s32", 16, 8, 16, 4, 2, 1, 4, "", 80},
    {"m16n8k32", "s32", "s8", "s8", "s32", 16, 8, 32, 4, 4, 2, 4, "", 80},
    {"m16n8k32", "s32", "u8", "s8", "s32", 16, 8, 32, 4, 4, 2, 4, "", 80},
    {"m8n8k32", "s32", "s4", "u4", "s32", 8, 8, 32, 2, 1, 1, 2, "", 75},
    {"m16n8k32", "s32", "u4", "s4", "s32", 16, 8, 32, 4, 2, 1, 4, "", 80},
    {"m16n8k64", "s32", "s4", "s4", "s32", 16, 8, 64, 4, 4, 2, 4, "", 80},
    {"m16n8k64", "s32", "u4", "u4", "s32", 16, 8, 64, 4, 4, 2, 4, "", 80},
    {"m8n8k128", "s32", "b1", "b1", "s32", 8, 8, 128, 2, 1, 1, 2, ".xor.popc", 75},
    {"m8n8k128", "s32", "b1", "b1", "s32", 8, 8, 128, 2, 1, 1, 2, ".and.popc", 80},
    {"m16n8k128", "s32", "b1", "b1", "s32", 16, 8, 128, 4, 2, 1, 4, ".xor.popc", 80},
    {"m16n8k256", "s32", "b1", "b1", "s32", 16, 8, 256, 4, 4, 2, 4, ".and.popc", 80},
    {"m16n8k32", "f32", "e4m3", "e4m3", "f32", 16, 8, 32, 4, 4, 2, 4, "", 89},
    {"m16n8k32", "f32", "e5m2", "e4m3", "f32", 16, 8, 32, 4, 4, 2, 4, "", 89},
    {"m16n8k32", "f16", "e4m3", "e5m2", "f16", 16, 8, 32, 2, 4, 2, 2, "", 89},
    {"m16n8k16", "f32", "e4m3", "e5m2", "f32", 16, 8, 16, 4, 2, 1, 4, "", 89},
};
enum { N_MMA_FORMS = sizeof mma_forms / sizeof *mma_forms };

/* All of mma.sp up to sm_89 (PTX ISA 9.0, 9.7.14.6). chunk: elements of A that share four
 * bits of metadata, of which half are kept; selectors: how many there are. */
struct sparse_form {
    struct mma_form f;
    int chunk, selectors;
};

__attribute__((unused)) static const struct sparse_form sparse_forms[] = {
    {{"m16n8k16", "f16", "f16", "f16", "f16", 16, 8, 16, 2, 2, 2, 2, "", 80}, 4, 4},
    {{"m16n8k16", "f32", "f16", "f16", "f32", 16, 8, 16, 4, 2, 2, 4, "", 80}, 4, 4},
    {{"m16n8k16", "f32", "bf16", "bf16", "f32", 16, 8, 16, 4, 2, 2, 4, "", 80}, 4, 4},
    {{"m16n8k32", "f16", "f16", "f16", "f16", 16, 8, 32, 2, 4, 4, 2, "", 80}, 4, 2},
    {{"m16n8k32", "f32", "f16", "f16", "f32", 16, 8, 32, 4, 4, 4, 4, "", 80}, 4, 2},
    {{"m16n8k32", "f32", "bf16", "bf16", "f32", 16, 8, 32, 4, 4, 4, 4, "", 80}, 4, 2},
    {{"m16n8k8", "f32", "tf32", "tf32", "f32", 16, 8, 8, 4, 2, 2, 4, "", 80}, 2, 4},
    {{"m16n8k16", "f32", "tf32", "tf32", "f32", 16, 8, 16, 4, 4, 4, 4, "", 80}, 2, 2},
    {{"m16n8k32", "s32", "s8", "s8", "s32", 16, 8, 32, 4, 2, 2, 4, "", 80}, 4, 2},
    {{"m16n8k32", "s32", "u8", "s8", "s32", 16, 8, 32, 4, 2, 2, 4, "", 80}, 4, 2},
    {{"m16n8k64", "s32", "s8", "u8", "s32", 16, 8, 64, 4, 4, 4, 4, "", 80}, 4, 1},
    {{"m16n8k64", "s32", "u8", "u8", "s32", 16, 8, 64, 4, 4, 4, 4, "", 80}, 4, 1},
    {{"m16n8k64", "s32", "s4", "s4", "s32", 16, 8, 64, 4, 2, 2, 4, "", 80}, 8, 2},
    {{"m16n8k64", "s32", "u4", "s4", "s32", 16, 8, 64, 4, 2, 2, 4, "", 80}, 8, 2},
    {{"m16n8k128", "s32", "s4", "u4", "s32", 16, 8, 128, 4, 4, 4, 4, "", 80}, 8, 1},
    {{"m16n8k128", "s32", "u4", "u4", "s32", 16, 8, 128, 4, 4, 4, 4, "", 80}, 8, 1},
    {{"m16n8k64", "f32", "e4m3", "e4m3", "f32", 16, 8, 64, 4, 4, 4, 4, "", 89}, 4, 1},
    {{"m16n8k64", "f32", "e5m2", "e4m3", "f32", 16, 8, 64, 4, 4, 4, 4, "", 89}, 4, 1},
    {{"m16n8k64", "f32", "e4m3", "e5m2", "f32", 16, 8, 64, 4, 4, 4, 4, "", 89}, 4, 1},
    {{"m16n8k64", "f32", "e5m2", "e5m2", "f32", 16, 8, 64, 4, 4, 4, 4, "", 89}, 4, 1},
};
enum { N_SPARSE_FORMS = sizeof sparse_forms / sizeof *sparse_forms };

struct wmma_form {
    const char *shape, *d, *ab, *c;
    int m, n, k;
    int nd, nab[2], nc;
    const char *op; /* .xor.popc, before .sync */
    unsigned sm;
};

__attribute__((unused)) static const struct wmma_form wmma_forms[] = {
    {"m16n16k16", "f32", "f16", "f32", 16, 16, 16, 8, {8, 8}, 8, "", 70},
    {"m16n16k16", "f16", "f16", "f16", 16, 16, 16, 4, {8, 8}, 4, "", 70},
    {"m16n16k16", "f32", "f16", "f16", 16, 16, 16, 8, {8, 8}, 4, "", 70},
    {"m16n16k16", "f16", "f16", "f32", 16, 16, 16, 4, {8, 8}, 8, "", 70},
    {"m32n8k16", "f32", "f16", "f32", 32, 8, 16, 8, {8, 8}, 8, "", 70},
    {"m32n8k16", "f16", "f16", "f16", 32, 8, 16, 4, {8, 8}, 4, "", 70},
    {"m8n32k16", "f32", "f16", "f32", 8, 32, 16, 8, {8, 8}, 8, "", 70},
    {"m8n32k16", "f16", "f16", "f16", 8, 32, 16, 4, {8, 8}, 4, "", 70},
    {"m16n16k16", "f32", "bf16", "f32", 16, 16, 16, 8, {4, 4}, 8, "", 80},
    {"m32n8k16", "f32", "bf16", "f32", 32, 8, 16, 8, {8, 2}, 8, "", 80},
    {"m8n32k16", "f32", "bf16", "f32", 8, 32, 16, 8, {2, 8}, 8, "", 80},
    {"m16n16k8", "f32", "tf32", "f32", 16, 16, 8, 8, {4, 4}, 8, "", 80},
    {"m8n8k4", "f64", "f64", "f64", 8, 8, 4, 2, {1, 1}, 2, "", 80},
    {"m16n16k16", "s32", "s8", "s32", 16, 16, 16, 8, {2, 2}, 8, "", 72},
    {"m16n16k16", "s32", "u8", "s32", 16, 16, 16, 8, {2, 2}, 8, "", 72},
    {"m32n8k16", "s32", "s8", "s32", 32, 8, 16, 8, {4, 1}, 8, "", 72},
    {"m32n8k16", "s32", "u8", "s32", 32, 8, 16, 8, {4, 1}, 8, "", 72},
    {"m8n32k16", "s32", "s8", "s32", 8, 32, 16, 8, {1, 4}, 8, "", 72},
    {"m8n32k16", "s32", "u8", "s32", 8, 32, 16, 8, {1, 4}, 8, "", 72},
    {"m8n8k32", "s32", "s4", "s32", 8, 8, 32, 2, {1, 1}, 2, "", 75},
    {"m8n8k32", "s32", "u4", "s32", 8, 8, 32, 2, {1, 1}, 2, "", 75},
    {"m8n8k128", "s32", "b1", "s32", 8, 8, 128, 2, {1, 1}, 2, ".xor.popc", 75},
    {"m8n8k128", "s32", "b1", "s32", 8, 8, 128, 2, {1, 1}, 2, ".and.popc", 80},
};
enum { N_WMMA_FORMS = sizeof wmma_forms / sizeof *wmma_forms };

__attribute__((unused)) static int
matrix_type_bits(const char *t)
{
    return !strcmp(t, "f64")                                              ? 64
           : !strcmp(t, "f32") || !strcmp(t, "s32") || !strcmp(t, "tf32") ? 32
           : !strcmp(t, "f16") || !strcmp(t, "bf16")                      ? 16
           : !strcmp(t, "b1")                                             ? 1
           : !strcmp(t, "s4") || !strcmp(t, "u4")                         ? 4
                                                                          : 8;
}

/* Class of the registers of a fragment of that type. */
__attribute__((unused)) static const char *
matrix_reg(const char *t)
{
    return !strcmp(t, "f64") ? "%fd" : !strcmp(t, "f32") ? "%f" : "%r";
}

__attribute__((unused)) static void
matrix_list(struct strbuf *b, const char *t, int first, int n)
{
    for (int i = 0; i < n; i++)
        strbuf_printf(b, "%s%s%d", i ? ", " : "{", matrix_reg(t), first + i);
    strbuf_addz(b, "}");
}

/* Header of a module for sm, registers, %rd1 = in + 4 * lane, %rd2 = out + 4 * lane, %rd3
 * and %rd4 the buffers themselves. */
__attribute__((unused)) static void
matrix_head(struct strbuf *b, unsigned sm)
{
    strbuf_printf(b,
                  ".version %s\n.target sm_%u\n.address_size 64\n"
                  ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                  ".reg .b16 %%h<24>; .reg .b32 %%r<80>; .reg .b64 %%rd<80>;\n"
                  ".reg .f32 %%f<80>; .reg .f64 %%fd<80>; .reg .pred %%p<24>;\n"
                  "ld.param.u64 %%rd3, [in];\nld.param.u64 %%rd4, [out];\n"
                  "cvta.to.global.u64 %%rd3, %%rd3;\ncvta.to.global.u64 %%rd4, %%rd4;\n"
                  "mov.u32 %%r70, %%tid.x;\nmul.wide.u32 %%rd5, %%r70, 4;\n"
                  "add.u64 %%rd1, %%rd3, %%rd5;\nadd.u64 %%rd2, %%rd4, %%rd5;\n",
                  sm < 100 ? "8.7" : "8.8", sm);
}

/* Registers first ... from (to) words w ... of the lane. Returns the next word. */
__attribute__((unused)) static int
matrix_move(struct strbuf *b, const char *t, int first, int n, int w, bool store)
{
    bool wide = !strcmp(t, "f64");
    for (int i = 0; i < n; i++) {
        if (wide && store)
            strbuf_printf(b, "mov.b64 {%%r71, %%r72}, %%fd%d;\n", first + i);
        for (int half = 0; half < (wide ? 2 : 1); half++, w++) {
            const char *reg = wide ? "%r" : matrix_reg(t);
            int at = wide ? 71 + half : first + i;
            if (store)
                strbuf_printf(b, "st.global.b32 [%%rd2+%d], %s%d;\n", w * 128, reg, at);
            else
                strbuf_printf(b, "ld.global.b32 %s%d, [%%rd1+%d];\n", reg, at, w * 128);
        }
        if (wide && !store)
            strbuf_printf(b, "mov.b64 %%fd%d, {%%r71, %%r72};\n", first + i);
    }
    return w;
}

/* Input: words of a, then b, then c; output: words of d. */
__attribute__((unused)) static void
mma_kernel(struct strbuf *b, const struct mma_form *f, const char *layouts, bool satf)
{
    matrix_head(b, f->sm);
    int w = matrix_move(b, f->a, 10, f->na, 0, false);
    w = matrix_move(b, f->b, 20, f->nb, w, false);
    matrix_move(b, f->c, 30, f->nc, w, false);
    strbuf_printf(b, "mma.sync.aligned.%s%s%s.%s.%s.%s.%s%s ", f->shape, layouts,
                  satf ? ".satfinite" : "", f->d, f->a, f->b, f->c, f->op);
    matrix_list(b, f->d, 40, f->nd), strbuf_addz(b, ", ");
    matrix_list(b, f->a, 10, f->na), strbuf_addz(b, ", ");
    matrix_list(b, f->b, 20, f->nb), strbuf_addz(b, ", ");
    matrix_list(b, f->c, 30, f->nc), strbuf_addz(b, ";\n");
    matrix_move(b, f->d, 40, f->nd, 0, true);
    strbuf_addz(b, "ret;\n}\n");
}

/* Input: words of a, b, c, then one of metadata; output: words of d. */
__attribute__((unused)) static void
sparse_kernel(struct strbuf *b, const struct sparse_form *s, bool ordered, int selector,
              bool satf)
{
    const struct mma_form *f = &s->f;
    matrix_head(b, f->sm);
    int w = matrix_move(b, f->a, 10, f->na, 0, false);
    w = matrix_move(b, f->b, 20, f->nb, w, false);
    w = matrix_move(b, f->c, 30, f->nc, w, false);
    matrix_move(b, "b32", 60, 1, w, false);
    strbuf_printf(b, "mma.sp%s.sync.aligned.%s.row.col%s.%s.%s.%s.%s ",
                  ordered ? "::ordered_metadata" : "", f->shape, satf ? ".satfinite" : "",
                  f->d, f->a, f->b, f->c);
    matrix_list(b, f->d, 40, f->nd), strbuf_addz(b, ", ");
    matrix_list(b, f->a, 10, f->na), strbuf_addz(b, ", ");
    matrix_list(b, f->b, 20, f->nb), strbuf_addz(b, ", ");
    matrix_list(b, f->c, 30, f->nc);
    strbuf_printf(b, ", %%r60, %d;\n", selector);
    matrix_move(b, f->d, 40, f->nd, 0, true);
    strbuf_addz(b, "ret;\n}\n");
}

/* Where the matrices of a wmma kernel lie in `in`: a at 0, b at 4096, c at 8192; d in
 * out. ld: leading dimensions in elements of a, b, c, d, 0: left out. */
__attribute__((unused)) static void
wmma_kernel(struct strbuf *b, const struct wmma_form *f, const char *const lay[4],
            const int ld[4], bool satf, bool generic)
{
    const char *g = generic ? "" : ".global";
    const char *names = "abc", *types[3] = {f->ab, f->ab, f->c};
    int n[3] = {f->nab[0], f->nab[1], f->nc};
    matrix_head(b, f->sm);
    strbuf_addz(b, "add.u64 %rd6, %rd3, 4096;\nadd.u64 %rd7, %rd3, 8192;\n");
    for (int i = 0; i < 3; i++) {
        strbuf_printf(b, "wmma.load.%c.sync.aligned.%s.%s%s.%s ", names[i], lay[i],
                      f->shape, g, types[i]);
        matrix_list(b, types[i], 10 * (i + 1), n[i]);
        strbuf_printf(b, ", [%%rd%d]", i ? 5 + i : 3);
        if (ld[i])
            strbuf_printf(b, ", %d", ld[i]);
        strbuf_addz(b, ";\n");
    }
    bool half = !strcmp(f->ab, "f16");
    strbuf_printf(b, "wmma.mma%s.sync.aligned.%s.%s.%s.%s", f->op, lay[0], lay[1],
                  f->shape, f->d);
    if (!half)
        strbuf_printf(b, ".%s.%s", f->ab, f->ab);
    strbuf_printf(b, ".%s%s ", f->c, satf ? ".satfinite" : "");
    matrix_list(b, f->d, 40, f->nd), strbuf_addz(b, ", ");
    matrix_list(b, f->ab, 10, n[0]), strbuf_addz(b, ", ");
    matrix_list(b, f->ab, 20, n[1]), strbuf_addz(b, ", ");
    matrix_list(b, f->c, 30, f->nc), strbuf_addz(b, ";\n");
    strbuf_printf(b, "wmma.store.d.sync.aligned.%s.%s%s.%s [%%rd4], ", lay[3], f->shape,
                  g, f->d);
    matrix_list(b, f->d, 40, f->nd);
    if (ld[3])
        strbuf_printf(b, ", %d", ld[3]);
    strbuf_addz(b, ";\nret;\n}\n");
}

#endif
