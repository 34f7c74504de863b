/* expansions.def: which spelling has which row. Counts are ptxas' for sm_80, as
 * tools/machine-operations reads them; every row is that of some spelling here. */
#include "unit/kit/ptx_kit.h"

#include "ptx/expansion.h"

static const struct {
    const char *text;
    unsigned operations;
} t[] = {
    {"add.s32 %r1, %r2, %r3;", 1},
    {"add.s64 %rd1, %rd2, %rd3;", 2},
    {"sub.u64 %rd1, %rd2, %rd3;", 2},
    {"neg.s64 %rd1, %rd2;", 2},
    {"neg.s32 %s1, %s2;", 1},
    {"abs.s64 %rd1, %rd2;", 5},
    {"and.b64 %rd1, %rd2, %rd3;", 2},
    {"or.b64 %rd1, %rd2, %rd3;", 2},
    {"xor.b64 %rd1, %rd2, %rd3;", 2},
    {"not.b64 %rd1, %rd2;", 2},
    {"and.b32 %r1, %r2, %r3;", 1},
    {"and.pred %p1, %p2, %p3;", 1},
    {"shl.b64 %rd1, %rd2, 3;", 2},
    {"shr.u64 %rd1, %rd2, %r1;", 2},
    {"shr.s32 %s1, %s2, 3;", 1},
    {"selp.b64 %rd1, %rd2, %rd3, %p1;", 2},
    {"selp.f64 %fd1, %fd2, %fd3, %p1;", 2},
    {"selp.f32 %f1, %f2, %f3, %p1;", 1},
    {"setp.lt.u64 %p1, %rd2, %rd3;", 2},
    {"setp.lt.u32 %p1, %r2, %r3;", 1},
    {"setp.lt.f64 %p1, %fd2, %fd3;", 1},
    {"min.u64 %rd1, %rd2, %rd3;", 4},
    {"max.s64 %rd1, %rd2, %rd3;", 4},
    {"mul.lo.u64 %rd1, %rd2, %rd3;", 4},
    {"mul.hi.u64 %rd1, %rd2, %rd3;", 7},
    {"mul.wide.u32 %rd1, %r2, %r3;", 1},
    {"mul.hi.u32 %r1, %r2, %r3;", 1},
    {"mad.lo.s64 %rd1, %rd2, %rd3, %rd4;", 4},
    {"mad.lo.u32 %r1, %r2, %r3, %r4;", 1},
    {"clz.b32 %r1, %r2;", 2},
    {"clz.b64 %r1, %rd2;", 6},
    {"popc.b32 %r1, %r2;", 1},
    {"popc.b64 %r1, %rd2;", 3},
    {"brev.b64 %rd1, %rd2;", 2},
    {"mul24.lo.u32 %r1, %r2, %r3;", 3},
    {"mad24.lo.u32 %r1, %r2, %r3, %r4;", 3},
    {"div.s32 %s1, %s2, %s3;", 24},
    {"div.u32 %r1, %r2, %r3;", 18},
    {"rem.s32 %s1, %s2, %s3;", 23},
    {"rem.u32 %r1, %r2, %r3;", 17},
    {"div.u64 %rd1, %rd2, %rd3;", 74},
    {"div.s64 %rd1, %rd2, %rd3;", 90},
    {"rem.s64 %rd1, %rd2, %rd3;", 84},
    {"rem.u64 %rd1, %rd2, %rd3;", 70},
    {"div.rn.f32 %f1, %f2, %f3;", 10},
    {"div.rn.ftz.f32 %f1, %f2, %f3;", 10},
    {"div.full.f32 %f1, %f2, %f3;", 10},
    {"div.full.ftz.f32 %f1, %f2, %f3;", 7},
    {"div.approx.f32 %f1, %f2, %f3;", 7},
    {"div.approx.ftz.f32 %f1, %f2, %f3;", 2},
    {"div.rn.f64 %fd1, %fd2, %fd3;", 15},
    {"rcp.rn.f32 %f1, %f2;", 10},
    {"rcp.approx.f32 %f1, %f2;", 7},
    {"rcp.approx.ftz.f32 %f1, %f2;", 1},
    {"rcp.rn.f64 %fd1, %fd2;", 13},
    {"rcp.approx.ftz.f64 %fd1, %fd2;", 1},
    {"sqrt.rn.f32 %f1, %f2;", 10},
    {"sqrt.approx.f32 %f1, %f2;", 5},
    {"sqrt.approx.ftz.f32 %f1, %f2;", 1},
    {"sqrt.rn.f64 %fd1, %fd2;", 15},
    {"rsqrt.approx.f32 %f1, %f2;", 5},
    {"rsqrt.approx.ftz.f32 %f1, %f2;", 1},
    {"rsqrt.approx.f64 %fd1, %fd2;", 11},
    {"lg2.approx.f32 %f1, %f2;", 5},
    {"lg2.approx.ftz.f32 %f1, %f2;", 1},
    {"ex2.approx.f32 %f1, %f2;", 5},
    {"ex2.approx.ftz.f32 %f1, %f2;", 1},
    {"sin.approx.f32 %f1, %f2;", 2},
    {"cos.approx.ftz.f32 %f1, %f2;", 2},
    {"min.f64 %fd1, %fd2, %fd3;", 7},
    {"max.f64 %fd1, %fd2, %fd3;", 7},
    {"min.f32 %f1, %f2, %f3;", 1},
    {"ld.param.u64 %rd1, [p];", 0},
    {"ld.global.u64 %rd1, [%rd2];", 1},
    {"cvt.u32.u64 %r1, %rd1;", 0},
    {"cvt.s64.s32 %rd1, %s1;", 1},
    {"mov.u32 %r1, 7;", 0},
    {"mov.u64 %rd1, sm;", 0},
    {"mov.u32 %r1, %tid.x;", 1},
    {"mov.u32 %r1, %r2;", 1},
    {"label:", 0},
};
enum { N = sizeof t / sizeof *t };

static void
rows(void **state)
{
    (void)state;
    struct strbuf b = {0};
    strbuf_addz(&b, HEAD ".visible .entry k(.param .u64 p)\n{\n"
                         ".reg .pred %p<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
                         ".reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n.reg .s32 %s<4>;\n"
                         ".shared .align 8 .b8 sm[64];\n");
    for (size_t i = 0; i < N; i++)
        strbuf_printf(&b, "%s\n", t[i].text);
    strbuf_addz(&b, "}\n");
    struct ptx_module *m = kit_parse(b.s);
    const struct ptx_func *f = ptx_find_func(m, "k");
    assert_int_equal(f->body.n, N);
    bool used[256] = {true};
    for (size_t i = 0; i < N; i++) {
        unsigned row = ptx_expansion_of(&f->body.v[i]);
        used[row] = true;
        if (ptx_machine_operations(&f->body.v[i]) != t[i].operations)
            fail_msg("%s: %u operations, not %u", t[i].text,
                     ptx_machine_operations(&f->body.v[i]), t[i].operations);
    }
    unsigned row = 0;
#define EXPANSION(op, bits, form, n, others, class, sequence, registers, what)           \
    row++;                                                                               \
    if (!used[row])                                                                      \
        fail_msg("no spelling here has the row " #op " " #bits " " #form);               \
    assert_true(ptx_expansions[row].more < ptx_expansions[row].operations);              \
    assert_true(ptx_expansions[row].chain <= ptx_expansions[row].more);
#include "ptx/expansions.def"
#undef EXPANSION
    ptx_module_free(m);
    strbuf_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
