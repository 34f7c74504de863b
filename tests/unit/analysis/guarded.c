/* guarded_mark (analysis/guarded.h): which guarded writes begin a life, and that liveness,
 * counts of registers and the allocator follow. */
#include "unit/kit/ptx_kit.h"

#include "analysis/guarded.h"
#include "analysis/live.h"
#include "passes/pass.h"

#define TEST "ld.param.b32 %r0, [q];\nld.param.u64 %rd0, [p];\nsetp.lt.u32 %p0, %r0, 7;\n"
#define BEHIND "st.global.u32 [%rd0], %r1;\nret;\n"

/* Of each guarded write in turn: a for again, k for one that keeps. */
static void
marks(const char *text, const char *want)
{
    struct ptx_module *m = kit_parse(text);
    struct ptx_func *f = m->funcs.v[0];
    char got[64];
    size_t n = 0;
    guarded_mark(f);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        assert_false(in->full_def && in->guard < 0);
        if (in->guard >= 0 && ptx_inst_dests(in))
            got[n++] = in->full_def ? 'a' : 'k';
    }
    got[n] = 0;
    assert_string_equal(got, want);
    assert_int_equal(guarded_any(f), strchr(want, 'a') != NULL);
    ptx_module_free(m);
}

static void
read_under_its_predicate(void **state)
{
    (void)state;
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n@%p0 st.global.u32 [%rd0], %r1;\n"
                      "ret;\n"),
          "a");
    marks(KERNEL(TEST "@!%p0 ld.global.u32 %r1, [%rd0];\n@!%p0 add.u32 %r1, %r1, 1;\n"
                      "@!%p0 st.global.u32 [%rd0], %r1;\nret;\n"),
          "aa");
    marks(KERNEL(TEST "@%p0 ld.global.v2.u32 {%r1, %r2}, [%rd0];\n"
                      "@%p0 st.global.u32 [%rd0], %r2;\nret;\n"),
          "a");
}

static void
read_by_other_lanes(void **state)
{
    (void)state;
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n" BEHIND), "k");
    marks(KERNEL(TEST
                 "@%p0 ld.global.u32 %r1, [%rd0];\n@!%p0 st.global.u32 [%rd0], %r1;\n"
                 "ret;\n"),
          "k");
    marks(KERNEL(TEST "setp.gt.u32 %p1, %r0, 3;\n@%p0 ld.global.u32 %r1, [%rd0];\n"
                      "@%p1 st.global.u32 [%rd0], %r1;\nret;\n"),
          "k");
    marks(KERNEL(TEST "@%p0 ld.global.v2.u32 {%r1, %r2}, [%rd0];\n"
                      "@%p0 st.global.u32 [%rd0], %r2;\n" BEHIND),
          "k");
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n"
                      "@%p0 shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n"
                      "@%p0 st.global.u32 [%rd0], %r2;\nret;\n"),
          "ka");
}

/* %p0 is another predicate once it is written, also by an instruction that it guards. */
static void
predicate_is_written(void **state)
{
    (void)state;
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\nsetp.gt.u32 %p0, %r0, 3;\n"
                      "@%p0 st.global.u32 [%rd0], %r1;\nret;\n"),
          "k");
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n@%p0 setp.gt.u32 %p0, %r1, 3;\n"
                      "@%p0 st.global.u32 [%rd0], %r1;\nret;\n"),
          "kk");
    marks(KERNEL(TEST "@%p0 setp.gt.u32 %p1, %r0, 3;\n@%p1 st.global.u32 [%rd0], %r0;\n"
                      "ret;\n"),
          "k");
}

static void
both_values_are_written(void **state)
{
    (void)state;
    marks(KERNEL(TEST "@%p0 mov.u32 %r1, 1;\n@!%p0 mov.u32 %r1, 2;\n" BEHIND), "ak");
    marks(KERNEL(TEST "@!%p0 mov.u32 %r1, 1;\n@%p0 mov.u32 %r1, 2;\n" BEHIND), "ak");
    marks(
        KERNEL(
            TEST
            "@%p0 mov.u32 %r1, 1;\nadd.u32 %r2, %r1, 1;\n@!%p0 mov.u32 %r1, %r2;\n" BEHIND),
        "kk");
    marks(KERNEL(TEST "@%p0 mov.u32 %r1, 1;\nsetp.gt.u32 %p0, %r0, 3;\n"
                      "@!%p0 mov.u32 %r1, 2;\n" BEHIND),
          "kk");
    marks(KERNEL(TEST "@%p0 mov.u32 %r1, 1;\n@%p0 mov.u32 %r1, 2;\n" BEHIND), "kk");
}

/* What follows the block, and what comes round a loop. */
static void
other_blocks(void **state)
{
    (void)state;
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n@%p0 st.global.u32 [%rd0], %r1;\n"
                      "bra.uni L;\nL:\n" BEHIND),
          "k");
    marks(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n@%p0 st.global.u32 [%rd0], %r1;\n"
                      "bra.uni L;\nL:\nmov.u32 %r1, 1;\n" BEHIND),
          "a");
    marks(KERNEL(TEST
                 "L:\n@%p0 ld.global.u32 %r1, [%rd0];\n@%p0 st.global.u32 [%rd0], %r1;\n"
                 "setp.gt.u32 %p1, %r0, 3;\n@%p1 bra L;\nret;\n"),
          "a");
    marks(KERNEL(TEST
                 "L:\n@%p0 st.global.u32 [%rd0], %r1;\n@%p0 ld.global.u32 %r1, [%rd0];\n"
                 "setp.gt.u32 %p1, %r0, 3;\n@%p1 bra L;\nret;\n"),
          "k");
}

/* After a branch on the predicate: what is read on one side is read by the lanes that go there. */
static void
read_behind_a_branch(void **state)
{
    (void)state;
#define WRITE TEST "mov.u32 %r1, 1;\n@%p0 ld.global.u32 %r1, [%rd0];\n"
#define FIRST WRITE "@%p0 bra L;\n"
    marks(KERNEL(FIRST "mov.u32 %r1, 2;\nL:\n" BEHIND), "a");
    marks(KERNEL(WRITE "@!%p0 bra L;\n" BEHIND "L:\nret;\n"), "a");
    marks(KERNEL(TEST "mov.u32 %r1, 1;\n@!%p0 ld.global.u32 %r1, [%rd0];\n"
                      "@!%p0 bra L;\nret;\nL:\n" BEHIND),
          "a");
    marks(KERNEL(FIRST "st.global.u32 [%rd0+4], %r1;\nL:\n" BEHIND), "k");
    marks(KERNEL(FIRST BEHIND "L:\nret;\n"), "k");
    marks(KERNEL(WRITE "@!%p0 bra L;\nret;\nL:\n" BEHIND), "k");
    marks(KERNEL(WRITE
                 "setp.gt.u32 %p0, %r0, 3;\n@%p0 bra L;\nmov.u32 %r1, 2;\nL:\n" BEHIND),
          "k");
    marks(KERNEL(WRITE
                 "setp.gt.u32 %p1, %r0, 3;\n@%p1 bra L;\nmov.u32 %r1, 2;\nL:\n" BEHIND),
          "k");
#undef FIRST
#undef WRITE
}

/* A register that keeps nothing is not live before. */
static void
liveness_follows(void **state)
{
    (void)state;
    struct ptx_module *m =
        kit_parse(KERNEL(TEST "@%p0 ld.global.u32 %r1, [%rd0];\n"
                              "@%p0 st.global.u32 [%rd0], %r1;\nret;\n"));
    struct ptx_func *f = m->funcs.v[0];
    struct cfg *g = cfg_new(f);
    int32_t r1 = 0;
    while (strcmp(f->regs.v[r1].name, "%r1"))
        r1++;
    for (int marked = 0; marked < 2; marked++) {
        if (marked)
            guarded_mark(f);
        struct live *l = live_new(g);
        assert_int_equal(live_at_start(l, 0, (uint32_t)r1), !marked);
        live_free(l);
    }
    cfg_free(g);
    ptx_module_free(m);
}

/* copy-propagation makes the predicates one; the store then reads under the load's. */
static void
passes_mark_full_defs(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(KERNEL(
        TEST "mov.pred %p1, %p0;\n@%p0 bra L;\nld.global.u32 %r1, [%rd0];\n"
             "st.global.u32 [%rd0], %r1;\nL:\n@%p0 ld.global.u32 %r2, [%rd0];\n"
             "@%p1 st.global.u32 [%rd0], %r2;\nst.global.u32 [%rd0], %r0;\nret;\n"));
    const struct ptx_func *f = m->funcs.v[0];
    static const char *const pipeline[] = {"if-convert", "copy-propagation"};
    for (size_t k = 0; k < 2; k++) {
        struct diag_sink diag = {0};
        assert_true(pass_run(m, pipeline[k], NULL, NULL, &diag));
        size_t full = 0;
        for (size_t i = 0; i < f->body.n; i++)
            full += f->body.v[i].full_def;
        assert_int_equal(full, k ? 2 : 1);
        diag_free(&diag);
    }
    ptx_module_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_under_its_predicate),
        cmocka_unit_test(read_by_other_lanes),
        cmocka_unit_test(predicate_is_written),
        cmocka_unit_test(both_values_are_written),
        cmocka_unit_test(other_blocks),
        cmocka_unit_test(read_behind_a_branch),
        cmocka_unit_test(liveness_follows),
        cmocka_unit_test(passes_mark_full_defs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
