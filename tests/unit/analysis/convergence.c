/* convergence.c: where BSSY and BSYNC stand, as in ptxas' code (CUDA 13.0, sm_80) for kernels of
 * these branches, with arms of twelve stores. */
#include "unit/kit/ptx_kit.h"

#include "analysis/convergence.h"
#include "analysis/guarded.h"

/* Operations before each instruction, one digit each. */
static void
same(const char *text, const char *want)
{
    char body[2048], got[64] = "";
    snprintf(body, sizeof body,
             HEAD ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                  ".reg .pred %%p<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<8>;\n%s\n}\n",
             text);
    struct ptx_module *m = kit_parse(body);
    struct ptx_func *f = ptx_find_func(m, "k");
    for (size_t r = 0; r < f->regs.n; r++) /* %R1, %D2, %P1: places of an allocation */
        if (strchr("RDP", f->regs.v[r].name[1]))
            f->regs.v[r].place = (uint16_t)(1 + atoi(f->regs.v[r].name + 2));
    guarded_mark(f);
    struct cfg *g = cfg_new(f);
    uint8_t in_front[64] = {0};
    convergence_operations(g, in_front);
    size_t n = 0;
    for (size_t i = 0; i < f->body.n; i++)
        if (!ptx_is_pseudo(&f->body.v[i]))
            got[n++] = (char)('0' + in_front[i]);
    got[n] = 0;
    if (strcmp(got, want) != 0)
        fail_msg("%s: %s, not %s", text, got, want);
    cfg_free(g);
    ptx_module_free(m);
}

#define TID "mov.u32 %r1, %tid.x;"
#define LOADED "mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; ld.global.u32 %r2, [%d2];"
#define IF(a, to) "setp.lt.u32 %p1, " a ", 5; @%p1 bra " to ";"
#define ARM "st.global.u32 [%d1], %r3;"
#define END "st.global.u32 [%d1], %r4; ret;"
#define LOOP(to, n)                                                                      \
    "mov.u32 %r5, 0; " to ": " ARM "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, " n       \
    "; @%p2 bra " to ";"

static void
branches(void **state)
{
    same(TID IF("%r1", "X") ARM "X:" END, "001010");
    same("ld.param.u32 %r1, [n];" IF("%r1", "X") ARM "X:" END, "000000");
    same("mov.u32 %r1, %ctaid.x;" IF("%r1", "X") ARM "X:" END, "000000");
    same("ld.global.u32 %r1, [%d1];" IF("%r1", "X") ARM "X:" END, "000000");
    same(LOADED IF("%r2", "X") ARM "X:" END, "00010010"); /* what waits for the load */
    same(TID IF("%r1", "Y") ARM "bra X; Y:" ARM "X:" END, "00100010");
    /* lanes that leave the kernel are not waited for */
    same(TID IF("%r1", "X") ARM "X: ret;", "00000");
    same(TID IF("%r1", "X") ARM "ret; X:" END, "0000000");
    same(TID IF("%r1", "Z") "setp.eq.u32 %p1, %r1, 9; @%p1 bra X;" ARM "X:" END "Z: ret;",
         "000010100");
}

static void
nested(void **state)
{
    /* one for all that meet at one place, one for each place */
    same(TID IF("%r1", "X") ARM "setp.eq.u32 %p1, %r1, 9; @%p1 bra X;" ARM "X:" END,
         "001000010");
    same(TID IF("%r1", "X") ARM "setp.eq.u32 %p1, %r1, 9; @%p1 bra Y;" ARM "Y:" ARM
                                "X:" END,
         "0010010110");
}

static void
loops(void **state)
{
    same(TID LOOP("L", "%r1") END, "01000010");
    same("ld.param.u32 %r1, [n];" LOOP("L", "%r1") END, "00000000");
    same("mov.u32 %r1, 7;" LOOP("L", "%r1") END, "00000000");
    same(TID LOOP("L", "%r1") "ret;", "0000000");
    /* left by some lanes in the middle */
    same("mov.u32 %r5, 0; L: mov.u32 %r1, %laneid;" IF(
             "%r1", "X") "add.u32 %r5, %r5, 1;"
                         "setp.lt.u32 %p2, %r5, 9; @%p2 bra L; X:" END,
         "100000010");
    /* a branch in a loop that all lanes take as often */
    same(TID "mov.u32 %r5, 0; L:" IF("%r1", "Y") ARM
         "Y: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 9; @%p2 bra L;" END,
         "0001010000");
    /* a loop of a constant number of turns in an arm, and in a loop that lanes leave one by one */
    same(TID IF("%r1", "X") LOOP("L", "9") "X:" END, "0010000010");
}

/* What one arm writes differs after. */
static void
what_differs(void **state)
{
    same(TID
         "mov.u32 %r2, 1;" IF("%r1", "X") "mov.u32 %r2, 9; X: setp.eq.u32 %p1, %r2, 1;"
                                          "@%p1 bra Y;" ARM "Y:" END,
         "0001011010");
    /* what some lanes count differs after the loop that they leave one by one */
    same(TID LOOP("L", "%r1") "setp.eq.u32 %p1, %r5, 4; @%p1 bra Y;" ARM "Y:" END,
         "01000011010");
    /* of the lanes that vote all get the same */
    same(TID "setp.eq.u32 %p3, %r1, 7; vote.sync.any.pred %p1, %p3, -1; @%p1 bra X;" ARM
             "X:" END,
         "0000000");
    /* ... with one mask: each tile has its own answer */
    same("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p3, %r1, 7;"
         "vote.sync.any.pred %p1, %p3, %r1; @%p1 bra X;" ARM "X:" END,
         "0000000");
    same(TID "shr.u32 %r2, %r1, 3; shl.b32 %r2, 255, %r2; setp.eq.u32 %p3, %r2, 7;"
             "vote.sync.any.pred %p1, %p3, %r2; @%p1 bra X;" ARM "X:" END,
         "000001010");
    same("activemask.b32 %r1; setp.eq.u32 %p3, %r2, 7;"
         "vote.sync.any.pred %p1, %p3, %r1; @%p1 bra X;" ARM "X:" END,
         "0000000");
}

#define IF_PLACE(a, to) "setp.lt.u32 %P1, " a ", 5; @%P1 bra " to ";"

/* After an allocation a place holds a value that differs, then one that does not. */
static void
places(void **state)
{
    static const char regs[] = ".reg .b32 %R1, %R2, %R3; .reg .b64 %D2; .reg .pred %P1;";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", regs,
             "mov.u32 %R1, %tid.x; st.global.u32 [%d1], %R1; mov.u32 %R1, "
             "%ctaid.x;" IF_PLACE("%R1", "X") ARM "X:" END);
    same(text, "00000000");
    snprintf(text, sizeof text, "%s%s", regs,
             "mov.u32 %R1, %tid.x; mov.u32 %R2, 1;" IF_PLACE(
                 "%R1", "X") "mov.u32 %R2, 9;" ARM
                             "X: mov.u32 %R2, 5;" IF_PLACE("%R2", "Y") ARM "Y:" END);
    same(text, "000100100000");
    /* a half of a pair; one that some lanes keep */
    snprintf(text, sizeof text, "%s%s", regs,
             "mov.u32 %R1, %tid.x; cvt.u64.u32 %D2, %R1;" IF_PLACE("%R3", "X") ARM
             "X:" END);
    same(text, "00010"
               "10");
    snprintf(text, sizeof text, "%s%s", regs,
             "mov.u32 %R1, %tid.x; @%p2 mov.u32 %R1, 5;" IF_PLACE("%R1", "X") ARM
             "X:" END);
    same(text, "0001010");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches),     cmocka_unit_test(nested), cmocka_unit_test(loops),
        cmocka_unit_test(what_differs), cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
