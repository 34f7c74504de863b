/* exec_kit.h: runs a kernel given as PTX text, for the executor's tests. */
#ifndef TESTS_EXEC_KIT_H
#define TESTS_EXEC_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/exec.h"
#include "exec/ops/exec_mem.h"
#include "exec/lanes/lanes_int.h"
#include "ptx/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PTX_HEAD32 ".version 6.0\n.target sm_30\n.address_size 32\n"

/* PTX text with parts filled in: conversions begin with $ here, % is PTX's. */
__attribute__((unused)) static void
kit_text(struct strbuf *b, const char *fmt, ...)
{
    struct strbuf f = {0};
    for (; *fmt; fmt++)
        strbuf_add(&f, *fmt == '%' ? "%%" : *fmt == '$' ? "%" : fmt, *fmt == '%' ? 2 : 1);
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, f.s, ap);
    char *s = xmalloc((size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, f.s, ap2);
    va_end(ap2);
    va_end(ap);
    strbuf_addz(b, s);
    free(s);
    strbuf_free(&f);
}

struct kit {
    struct diag_sink diag;
    struct ptx_module *m;
    struct dev_mem *mem;
    struct exec_image *im;
    struct exec_prog *p;
    struct exec_grid g;
    uint8_t params[4096];
};

__attribute__((unused)) static void
kit_fail(struct kit *k, const char *what)
{
    struct strbuf b = {0};
    diag_print(&k->diag, &b);
    fail_msg("%s:\n%s", what, b.s ? b.s : "(no diagnostic)");
}

/* Name of the instruction-set variant to run loads and stores with, NULL: the usual one.
 */
__attribute__((unused)) static const char *kit_variant;

/* Rule for sums of matrix products (enum machine_tensor_sums); -1: a new image's. */
__attribute__((unused)) static int kit_sums = -1;

__attribute__((unused)) static exec_fn *const *
kit_table(const char *name)
{
#ifdef HAVE_VARIANTS
    if (!strcmp(name, "avx512"))
        return exec_fast_avx512;
    if (!strcmp(name, "avx2"))
        return exec_fast_avx2;
#endif
    return exec_fast_plain;
}

__attribute__((unused)) static void
kit_use_variant(struct exec_prog *p, const char *name)
{
    const struct lane_variant *v[4];
    size_t n = lane_variants(v);
    exec_fn *const *from = kit_table(v[n - 1]->name), *const *to = kit_table(name);
    for (uint32_t i = 0; i < p->ninst; i++)
        for (int k = 0; k < FAST_N; k++)
            if (p->inst[i].fn == from[k]) {
                p->inst[i].fn = to[k];
                break;
            }
    quick_decode(p, name);
}

/* Runs the tests once for every instruction-set variant of the fast forms that this
 * processor has; how many failed. */
#define KIT_RUN_VARIANTS(tests) kit_run_variants(tests, sizeof(tests) / sizeof *(tests))
__attribute__((unused)) static int
kit_run_variants(const struct CMUnitTest *tests, size_t n)
{
    const struct lane_variant *v[4];
    int failed = 0;
    for (size_t i = 0, have = lane_variants(v); i < have; i++) {
        kit_variant = v[i]->name;
        failed += _cmocka_run_group_tests(v[i]->name, tests, n, NULL, NULL);
    }
    return failed;
}

/* Parses and lays out; decodes the first kernel. */
__attribute__((unused)) static bool
kit_try(struct kit *k, const char *text)
{
    memset(k, 0, sizeof *k);
    k->m = ptx_parse("test.ptx", text, strlen(text), &k->diag);
    if (!k->m)
        kit_fail(k, "parse");
    k->mem = dev_mem_new(64 << 20);
    k->im = exec_image_new(k->m, k->mem, &k->diag);
    if (!k->im)
        kit_fail(k, "image");
    if (kit_sums >= 0)
        exec_image_sums(k->im, (unsigned)kit_sums);
    const struct ptx_func *f = NULL;
    for (size_t i = 0; i < k->m->funcs.n && !f; i++)
        if (k->m->funcs.v[i]->is_entry)
            f = k->m->funcs.v[i];
    assert_non_null(f);
    k->p = exec_decode(k->im, f, &k->diag);
    if (k->p && kit_variant)
        kit_use_variant(k->p, kit_variant);
    k->g.prog = k->p;
    k->g.mem = k->mem;
    k->g.params = k->params;
    k->g.diag = &k->diag;
    k->g.limit = 20000000;
    return k->p != NULL;
}

__attribute__((unused)) static void
kit_load(struct kit *k, const char *text)
{
    if (!kit_try(k, text))
        kit_fail(k, "decode");
}

__attribute__((unused)) static void
kit_param(struct kit *k, unsigned i, uint64_t value)
{
    const struct ptx_var *v = k->p->entry->params.v[i];
    memcpy(k->params + v->offset, &value, v->size < 8 ? v->size : 8);
}

__attribute__((unused)) static uint64_t
kit_buf(struct kit *k, uint64_t bytes)
{
    uint64_t a = dev_alloc(k->mem, bytes);
    assert_int_not_equal(a, 0);
    return a;
}

/* A buffer as parameter 0: the usual output. */
__attribute__((unused)) static uint64_t
kit_out(struct kit *k, uint64_t bytes)
{
    uint64_t a = kit_buf(k, bytes);
    kit_param(k, 0, a);
    return a;
}

__attribute__((unused)) static enum exec_result
kit_launch(struct kit *k, struct exec_dim grid, struct exec_dim block)
{
    k->g.grid = grid;
    k->g.block = block;
    k->g.warps_per_cta = (block.x * block.y * block.z + 31) / 32;
    return exec_run_grid(&k->g);
}

__attribute__((unused)) static void
kit_run(struct kit *k, unsigned grid, unsigned block)
{
    if (kit_launch(k, (struct exec_dim){grid, 1, 1}, (struct exec_dim){block, 1, 1}) !=
        EXEC_OK)
        kit_fail(k, "run");
}

__attribute__((unused)) static uint32_t
kit_u32(struct kit *k, uint64_t addr, unsigned i)
{
    uint32_t v;
    assert_true(dev_read(k->mem, addr + 4 * i, &v, 4));
    return v;
}

__attribute__((unused)) static uint64_t
kit_u64(struct kit *k, uint64_t addr, unsigned i)
{
    uint64_t v;
    assert_true(dev_read(k->mem, addr + 8 * i, &v, 8));
    return v;
}

__attribute__((unused)) static void
kit_free(struct kit *k)
{
    exec_prog_free(k->p);
    exec_image_free(k->im);
    if (k->m)
        ptx_module_free(k->m);
    dev_mem_free(k->mem);
    vec_free(&k->g.strangers);
    diag_free(&k->diag);
}

/* The launch must fail with exactly this text. */
__attribute__((unused)) static void
kit_fault(struct kit *k, unsigned grid, unsigned block, const char *want)
{
    enum exec_result r =
        kit_launch(k, (struct exec_dim){grid, 1, 1}, (struct exec_dim){block, 1, 1});
    struct strbuf b = {0};
    diag_print(&k->diag, &b);
    assert_int_equal(r, EXEC_FAULT);
    assert_string_equal(b.s, want);
    strbuf_free(&b);
}

/* Decoding must be refused with exactly this text. */
__attribute__((unused)) static void
kit_refused(const char *text, const char *want)
{
    struct kit k;
    assert_false(kit_try(&k, text));
    struct strbuf b = {0};
    diag_print(&k.diag, &b);
    assert_string_equal(b.s, want);
    strbuf_free(&b);
    kit_free(&k);
}

/* What every kernel of one output starts with: %d0 = out + 4 * (global thread index), %t
 * = thread index in the grid, %l = lane. */
#define PROLOGUE                                                                         \
    ".reg .u64 %d<16>; .reg .u32 %t, %l, %r<32>; .reg .pred %p<8>;\n"                    \
    "ld.param.u64 %d0, [out];\n"                                                         \
    "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\n"              \
    "mad.lo.u32 %t, %r0, %r1, %r2;\n"                                                    \
    "mov.u32 %l, %laneid;\n"                                                             \
    "mul.wide.u32 %d1, %t, 4;\nadd.u64 %d0, %d0, %d1;\n"

#define KERNEL(BODY)                                                                     \
    PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE BODY "\nret;\n}\n"

#endif
