/* fused.c: machine operations of pairs, as ptxas makes them (tools/machine-operations), and
 * what keeps two instructions from being one. */
#include "unit/kit/ptx_kit.h"

#include "analysis/fused.h"
#include "analysis/guarded.h"

/* Operations of the instructions, one digit each. */
static void
same(const char *text, const char *want)
{
    char body[2048], got[64] = "";
    snprintf(body, sizeof body,
             HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<8>;\n"
                  ".reg .b32 %%r<8>;\n.reg .b64 %%d<8>;\n.reg .f32 %%f<8>;\n"
                  ".reg .f64 %%g<8>;\n%s\nret;\n}\n",
             text);
    struct ptx_module *m = kit_parse(body);
    struct ptx_func *f = ptx_find_func(m, "k");
    guarded_mark(f);
    struct cfg *g = cfg_new(f);
    struct live *l = live_new(g);
    uint8_t operations[64];
    fused_operations(l, operations, NULL);
    size_t n = 0;
    for (size_t i = 0; i + 1 < f->body.n; i++) /* but ret */
        if (!ptx_is_pseudo(&f->body.v[i]))
            got[n++] = (char)('0' + operations[i]);
    got[n] = 0;
    if (strcmp(got, want) != 0)
        fail_msg("%s: %s, not %s", text, got, want);
    live_free(l);
    cfg_free(g);
    ptx_module_free(m);
}

#define KEEP(r) " st.global.b32 [%d7], " r ";"
#define KEEP64(r) " st.global.b64 [%d7], " r ";"

static void
pairs(void **state)
{
    same("add.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5;" KEEP("%r4"), "011");
    same("shl.b32 %r1, %r2, 3; add.s32 %r4, %r1, %r5;" KEEP("%r4"), "011");
    same("@%p1 shl.b32 %r1, %r2, 3; @%p1 add.s32 %r4, %r1, %r5;" KEEP("%r4"), "011");
    same("mul.lo.s32 %r1, %r2, 3; sub.s32 %r4, %r5, %r1;" KEEP("%r4"), "011");
    same("mul.lo.s32 %r1, %r2, %r3; sub.s32 %r4, %r1, %r5;" KEEP("%r4"), "011");
    same("add.s64 %d1, %d2, %d3; sub.s64 %d4, %d1, %d5;" KEEP64("%d4"), "021");
    same("shl.b64 %d1, %d2, 3; add.s64 %d4, %d1, %d5;" KEEP64("%d4"), "021");
    same("mul.wide.s32 %d1, %r2, 4; add.s64 %d4, %d1, %d5;" KEEP64("%d4"), "011");
    same("mul.wide.s32 %d1, %r2, 4; add.s64 %d4, %d1, %d5; add.s64 %d6, %d3, %d1;" KEEP64(
             "%d4") KEEP64("%d6"),
         "01111");
    same("mul.wide.s32 %d1, %r2, 4; add.s64 %d4, %d1, %d5; sub.s64 %d6, %d3, %d1;" KEEP64(
             "%d4") KEEP64("%d6"),
         "12211");
    same("mul.wide.s32 %d1, %r2, 4; add.s64 %d4, %d1, %d5;" KEEP64("%d4") KEEP64("%d1"),
         "1211");
    same(
        "cvt.u64.u32 %d1, %r1; shl.b64 %d2, %d1, 2; add.s64 %d3, %d4, %d2;" KEEP64("%d3"),
        "0021");
    same(
        "cvt.s64.s32 %d1, %r1; shl.b64 %d2, %d1, 2; add.s64 %d3, %d4, %d2;" KEEP64("%d3"),
        "1021");
    same("and.b32 %r1, %r2, %r3; xor.b32 %r4, %r1, %r5;" KEEP("%r4"), "011");
    same(
        "setp.lt.s32 %p1, %r1, %r2; and.pred %p2, %p1, %p3; selp.b32 %r3, 1, 2, %p2;" KEEP(
            "%r3"),
        "0121"); /* selp takes one literal: the other is moved */
    same("abs.f32 %f1, %f2; neg.f32 %f3, %f4; add.f32 %f5, %f1, %f3;" KEEP("%f5"),
         "0011");
    same("shl.b32 %r1, %r2, 7; shr.u32 %r3, %r2, 25; or.b32 %r4, %r1, %r3;" KEEP("%r4"),
         "0011");
    same("shl.b32 %r1, %r2, 2; ld.shared.b32 %r3, [%r1]; st.shared.b32 [%r1+4], %r3;",
         "011");
}

/* LOP3 tells whether its result is zero, and may keep it. */
static void
zero_tests(void **state)
{
    same("and.b32 %r1, %r2, 3; setp.ne.s32 %p1, %r1, 0; @%p1" KEEP("%r2"), "011");
    same("or.b32 %r1, %r2, %r3; setp.eq.u32 %p1, %r1, 0; @%p1" KEEP("%r2"), "011");
    same("xor.b32 %r1, %r2, %r3; setp.eq.b32 %p1, %r1, 0; @%p1" KEEP("%r1"), "101");
    same(
        "and.b32 %r1, %r2, 3; setp.ne.s32 %p1, %r1, 0; setp.eq.s32 %p2, %r1, 0; @%p1" KEEP(
            "%r1") "@%p2" KEEP("%r2"),
        "10111"); /* one predicate */
    same(
        "and.b32 %r1, %r2, %r3; xor.b32 %r4, %r1, %r5; setp.ne.s32 %p1, %r4, 0; @%p1" KEEP(
            "%r2"),
        "0011");
    same("and.b32 %r1, %r2, 3; setp.ne.s32 %p1, %r1, 1; @%p1" KEEP("%r2"), "111");
    same("and.b32 %r1, %r2, 3; setp.gt.s32 %p1, %r1, 0; @%p1" KEEP("%r2"), "111");
    same("and.b32 %r1, %r2, 3; setp.ne.and.s32 %p1, %r1, 0, %p2; @%p1" KEEP("%r2"),
         "111");
    same("add.s32 %r1, %r2, 3; setp.ne.s32 %p1, %r1, 0; @%p1" KEEP("%r2"), "111");
}

/* What cannot be an operand is moved: a second constant, what is stored, an address, what another
 * block reads; zero never is. */
static void
moves(void **state)
{
    same("mad.wide.u32 %d1, %r1, 4, %d2;" KEEP64("%d1"), "11");
    same("ld.param.u64 %d3, [p]; mad.wide.u32 %d1, %r1, 4, %d3;" KEEP64("%d1"), "021");
    same("ld.param.u64 %d3, [p]; mov.u32 %r2, 4; mad.wide.u32 %d1, %r1, %r2, %d3;" KEEP64(
             "%d1"),
         "0111");
    same("mov.u32 %r2, 4; mul.lo.u32 %r3, %r1, %r2;" KEEP("%r3"), "011");
    same("mov.u32 %r2, 4;" KEEP("%r2") " add.u32 %r3, %r1, %r2;" KEEP("%r3"), "1111");
    same("mov.u32 %r2, 0;" KEEP("%r2"), "01");
    same("st.global.b32 [%d7], 3;", "2");
    same("st.global.b32 [%d7], 0;", "1");
    same("ld.param.u64 %d3, [p]; ld.global.b32 %r1, [%d3];" KEEP("%r1"), "211");
    same("mov.u32 %r2, 4; bra L; L:" KEEP("%r2"), "111");
}

/* Of five additions, two pairs: a pair is no part of another. */
static void
chains(void **state)
{
    same("add.s32 %r1, %r2, %r3; add.s32 %r1, %r1, %r3; add.s32 %r1, %r1, %r3;"
         "add.s32 %r1, %r1, %r3; add.s32 %r1, %r1, %r3;" KEEP("%r1"),
         "010111");
    /* three inputs, however many operations; a fourth begins again */
    same(
        "xor.b32 %r1, %r2, %r3; and.b32 %r1, %r1, %r4; or.b32 %r1, %r1, %r2;" KEEP("%r1"),
        "0011");
    same(
        "xor.b32 %r1, %r2, %r3; and.b32 %r1, %r1, %r4; or.b32 %r1, %r1, %r5;" KEEP("%r1"),
        "0111");
}

static void
not_fused(void **state)
{
    /* read twice, by two, after a branch, in the other branch's block, guarded */
    same("add.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r1;" KEEP("%r4"), "111");
    same("add.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5;" KEEP("%r4") KEEP("%r1"), "1111");
    same("shl.b32 %r1, %r2, 3; bra L; L: add.s32 %r4, %r1, %r5;" KEEP("%r4"), "1111");
    same("add.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5;" KEEP("%r4") " bra L; L:" KEEP(
             "%r1"),
         "11111");
    same("@%p1 shl.b32 %r1, %r2, 3; add.s32 %r4, %r1, %r5;" KEEP("%r4"), "111");
    same("@%p1 mov.b32 %r1, 3; add.s32 %r4, %r1, %r5;" KEEP("%r4"), "111");
    /* other lanes: the predicate negated, written in between */
    same("@%p1 shl.b32 %r1, %r2, 3; @!%p1 add.s32 %r4, %r1, %r5;" KEEP("%r4"), "111");
    same("@%p1 shl.b32 %r1, %r2, 3; setp.eq.s32 %p1, %r3, 0;"
         "@%p1 add.s32 %r4, %r1, %r5;" KEEP("%r4"),
         "1111");
    /* a shift by a register; products of which the upper half counts, or that are rounded */
    same("shl.b32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5;" KEEP("%r4"), "111");
    same("mul.lo.s32 %r1, %r2, %r3; sub.s32 %r4, %r5, %r1;" KEEP("%r4"), "111");
    same("mul.hi.s32 %r1, %r2, 3; sub.s32 %r4, %r1, %r5;" KEEP("%r4"), "111");
    same("mul.hi.s32 %r1, %r2, 3; add.s32 %r4, %r1, %r5;" KEEP("%r4"), "111");
    same("mul.rn.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;" KEEP("%f4"), "111");
    same("mul.f32 %f1, %f2, %f3; add.ftz.f32 %f4, %f1, %f5;" KEEP("%f4"), "111");
    /* not a rotation; an address that is also stored */
    same("shl.b32 %r1, %r2, 7; shr.s32 %r3, %r2, 25; or.b32 %r4, %r1, %r3;" KEEP("%r4"),
         "1111");
    same("shl.b32 %r1, %r2, 7; shr.u32 %r3, %r2, 24; or.b32 %r4, %r1, %r3;" KEEP("%r4"),
         "1111");
    same("shl.b32 %r1, %r2, 2; st.shared.b32 [%r1], %r1;", "11");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),  cmocka_unit_test(zero_tests), cmocka_unit_test(moves),
        cmocka_unit_test(chains), cmocka_unit_test(not_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
