/* exec_relssp.c: the check that holds accesses against the analyses, and relssp against its
 * promise (000 section 6.3). */
#include "unit/kit/exec_kit.h"

/* -- the check -- */

#define ENTRY PTX_HEAD ".visible .entry k() {\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\n"

#define VARS PTX_HEAD ".shared .b32 A[16];\n.shared .b32 B[16];\n"

static void
foreseen_accesses_pass(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k, VARS ".visible .entry k() {\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\n"
                      "mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 15;\n"
                      "mov.u32 %r2, B;\nmad.lo.u32 %r3, %r1, 4, %r2;\n"
                      "st.shared.u32 [%r3], %r1;\nmov.u64 %d1, A;\n"
                      "cvta.shared.u64 %d1, %d1;\nst.u32 [%d1+4], %r1;\nexit;\n}\n");
    exec_check_analyses(k.p);
    kit_run(&k, 2, 64);
    kit_free(&k);
}

static void
strays_are_faults(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k,
             VARS ".visible .entry k() {\n.reg .b32 %r<6>;\nmov.u32 %r2, A;\n"
                  "st.shared.u32 [%r2+60], %r1;\n"
                  "st.shared.u32 [%r2+64], %r1;\nst.shared.u32 [B], %r1;\nexit;\n}\n");
    exec_check_analyses(k.p);
    kit_fault(
        &k, 1, 32,
        "test.ptx:10:1: error: kernel 'k', block (0,0,0), thread (0,0,0): access to "
        "scratchpad byte 64 (B) is not what the analysis of addresses expects here\n"
        "    st.shared.u32 [%r2+64], %r1;\n    ^\n"
        "    hint: does the program make an address in one variable from another's?\n");
    kit_free(&k);
}

static void
broken_promises_are_faults(void **st)
{
    (void)st;
    static const char text[] =
        VARS ".visible .entry k() {\n.reg .b32 %r<6>;\nst.shared.u32 [B], %r1;\nrelssp;\n"
             "st.shared.u32 [A], %r1;\nst.shared.u32 [B+4], %r1;\nexit;\n}\n";
    struct kit k;
    kit_load(&k, text);
    exec_check_analyses(k.p);
    exec_check_promise(k.p, 64);
    kit_fault(
        &k, 1, 32,
        "test.ptx:11:1: error: kernel 'k', block (0,0,0), thread (0,0,0): access to "
        "scratchpad byte 68 (B) after relssp gave up the shared part\n"
        "    st.shared.u32 [B+4], %r1;\n    ^\n"
        "    hint: was relssp placed for another threshold?\n");
    kit_free(&k);
    kit_load(&k, text); /* all of it is private */
    exec_check_analyses(k.p);
    exec_check_promise(k.p, 128);
    kit_run(&k, 1, 32);
    kit_free(&k);
    kit_load(&k, ENTRY "relssp;\nrelssp;\nexit;\n}\n");
    exec_check_analyses(k.p);
    kit_fault(
        &k, 1, 32,
        "test.ptx:8:1: error: kernel 'k', block (0,0,0), thread (0,0,0): relssp for "
        "the second time\n    relssp;\n    ^\n");
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreseen_accesses_pass),
        cmocka_unit_test(strays_are_faults),
        cmocka_unit_test(broken_promises_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
