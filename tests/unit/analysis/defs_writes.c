/* defs_writes_none_between (analysis/defs.h): a register that is written twice, between two
 * instructions, on each kind of path. */
#include "unit/kit/ptx_kit.h"

#include "analysis/defs.h"

/* Whether %s0 keeps from the first mul to the first xor of the kernel. */
static bool
keeps(const char *text)
{
    struct ptx_module *m = kit_parse(text);
    struct ptx_func *f = m->funcs.v[0];
    struct cfg *g = cfg_new(f);
    struct defs_writes *w = defs_writes_new(g);
    uint32_t from = 0, to = 0;
    int32_t reg = -1;
    for (size_t r = 0; r < f->regs.n; r++)
        if (!strcmp(f->regs.v[r].name, "%s0"))
            reg = (int32_t)r;
    for (uint32_t i = 0; i < f->body.n; i++) {
        if (!from && f->body.v[i].op == PTX_OP_MUL)
            from = i;
        if (!to && f->body.v[i].op == PTX_OP_XOR)
            to = i;
    }
    bool none = defs_writes_none_between(w, reg, from, to);
    defs_writes_free(w);
    cfg_free(g);
    ptx_module_free(m);
    return none;
}

#define FROM "mul.lo.s32 %s1, %s0, 3;\n"
#define TO "xor.b32 %r1, %s1, %s0;\n"
#define WRITE "add.s32 %s0, %s0, 1;\n"
#define MAYBE "setp.eq.s32 %p0, %s1, 4;\n@%p0 bra "

static void
in_one_block(void **state)
{
    (void)state;
    assert_true(keeps(KERNEL(WRITE FROM TO WRITE "ret;\n")));
    assert_false(keeps(KERNEL(WRITE FROM WRITE TO "ret;\n")));
}

static void
on_one_of_two_paths(void **state)
{
    (void)state;
    assert_true(keeps(
        KERNEL(WRITE FROM MAYBE "L1;\nadd.s32 %s2, %s0, 1;\nL1:\n" TO WRITE "ret;\n")));
    assert_false(keeps(KERNEL(WRITE FROM MAYBE "L1;\n" WRITE "L1:\n" TO "ret;\n")));
    assert_false(keeps(
        KERNEL(WRITE FROM WRITE MAYBE "L1;\nadd.s32 %s2, %s0, 1;\nL1:\n" TO "ret;\n")));
}

/* The loop comes back to the reading through the write. */
static void
around_a_loop(void **state)
{
    (void)state;
    assert_false(keeps(KERNEL(WRITE FROM "L1:\n" TO WRITE MAYBE "L1;\nret;\n")));
}

/* It comes back through the first instruction too, after which it holds again. */
static void
around_a_loop_with_both(void **state)
{
    (void)state;
    assert_true(keeps(
        KERNEL(WRITE "L1:\n" FROM MAYBE "L2;\nL2:\n" TO WRITE MAYBE "L1;\nret;\n")));
    assert_true(keeps(KERNEL(WRITE "L1:\n" FROM TO WRITE MAYBE "L1;\nret;\n")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_one_block), cmocka_unit_test(on_one_of_two_paths),
        cmocka_unit_test(around_a_loop), cmocka_unit_test(around_a_loop_with_both)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
