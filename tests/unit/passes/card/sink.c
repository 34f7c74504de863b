/* sink.c: code with instructions after branches computes the same, each shape by a kernel whose
 * result is known by hand (unit/kit/rules_kit.h). Where they go: golden passes/sink. */
#include "unit/kit/rules_kit.h"

#define VALUE(name, formula)                                                             \
    static uint32_t name(uint32_t x)                                                     \
    {                                                                                    \
        return formula;                                                                  \
    }
VALUE(seven_times_or_100, x < 7 ? 100 : 7 * x)
VALUE(loaded_before_the_store, x < 7 ? 100 : x)
VALUE(one_of_two, x < 7 ? 9 * x : 9 * x + 1)
VALUE(one_in_the_middle, x<7 || x> 20 ? 100 : 9 * x + 1)
VALUE(written_on_one_way, x < 7 ? 100 : 100 + 5 * (x + 3))
VALUE(each_turn, 100 + x + (x + 1) + (x + 2))
VALUE(of_a_later_value, x < 7 ? 100 : x + 1)
VALUE(one_of_a_registers, x % 2 ? 100 : x < 7 ? 101 : 102)
VALUE(blocks_out_of_order, x < 7 ? 100 : 3 * (x + 5))

static const struct rules_rule rules[] = {
    {"a product goes to the arm",
     "mul.lo.u32 %r5, %r1, 7;\n@%p1 bra L;\nmov.u32 %r10, %r5;\nadd.u32 %r10, %r10, 0;\nL:\n",
     1, 0, seven_times_or_100, NULL},
    {"a load stays before a store to its address, also in a loop between",
     "add.u64 %d5, %d1, 0;\nld.global.u32 %r5, [%d5];\nmov.u32 %r6, 0;\nH:\nst.global.u32 [%d1], 55;\n"
     "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 3;\n@%p4 bra H;\n"
     "@%p1 bra L;\nadd.u32 %r10, %r5, 0;\nL:\n",
     2, 0, loaded_before_the_store, NULL},
    {"a value that an arm chooses is there for the choice",
     "mul.lo.u32 %r5, %r1, 9;\nadd.u32 %r6, %r5, 1;\n@%p1 bra A;\nmov.u32 %r10, %r6;\n"
     "bra.uni E;\nA:\nmov.u32 %r10, %r5;\nE:\n",
     2, 0, one_of_two, NULL},
    {"... also where that is after another branch",
     "mul.lo.u32 %r5, %r1, 9;\nadd.u32 %r6, %r5, 1;\n@%p3 bra OUT;\n@%p1 bra A;\n"
     "mov.u32 %r10, %r6;\nbra.uni E;\nA:\nadd.u32 %r7, %r1, 1;\nE:\nadd.u32 %r8, %r1, 3;\nOUT:\n",
     3, 0, one_in_the_middle, NULL},
    {"a value read where not all ways write it",
     "add.u32 %r6, %r1, 3;\n@%p1 bra L;\nmul.lo.u32 %r5, %r6, 5;\nL:\n"
     "@!%p1 add.u32 %r10, %r10, %r5;\n",
     1, 1, written_on_one_way, NULL},
    {"a value of one iteration of a loop is not that of the next",
     "setp.ne.u32 %p4, %r1, %r1;\nmov.u32 %r6, 0;\nH:\nadd.u32 %r5, %r1, %r6;\nadd.u32 %r6, %r6, 1;\n"
     "@%p4 bra N;\nadd.u32 %r10, %r10, %r5;\nN:\nsetp.lt.u32 %p4, %r6, 0;\n"
     "setp.lt.u32 %p5, %r6, 3;\n@%p5 bra H;\n",
     2, 0, each_turn, NULL},
    {"a value made after the loop's head is not read before",
     "mov.u32 %r6, 0;\nH:\n@%p1 bra L;\nld.volatile.global.u32 %r7, [%d1];\n"
     "add.u32 %r5, %r7, 1;\nsetp.ge.u32 %p4, %r5, 999;\n@%p4 bra L;\nmov.u32 %r10, %r5;\nL:\n"
     "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 1;\n@%p4 bra H;\n",
     3, 0, of_a_later_value, NULL},
    {"one of a register's values stays",
     "mov.u32 %r5, 1;\n@%p1 bra A;\nmov.u32 %r5, 2;\nA:\n@%p2 bra L;\n"
     "add.u32 %r10, %r10, %r5;\nL:\n",
     2, 0, one_of_a_registers, NULL},
    {"blocks that stand in another order",
     "setp.ne.u32 %p5, %r1, %r1;\nbra.uni A;\nB:\nmul.lo.u32 %r6, %r5, 3;\nsetp.lt.u32 %p4, %r1, 7;\n@%p4 bra E;\n"
     "add.u32 %r10, %r6, 0;\nbra.uni E;\nA:\nadd.u32 %r5, %r1, 5;\n@%p5 bra E;\nbra.uni B;\nE:\n",
     5, 0, blocks_out_of_order, NULL},
};

static void
same_results(void **state)
{
    (void)state;
    rules_check_all(rules, sizeof rules / sizeof *rules, "sink");
}

/* Where an instruction stands after the pass: before a line of the body, or after it. */
static void
stands(const char *name, const char *body, const char *inst, bool behind,
       const char *line)
{
    char *text = rules_kernel(body);
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
    if (!m || !allot_module_opt(m, "sink", NULL, d))
        fail_msg("%s: %s", name, allot_diag_text(d));
    char *printed = allot_module_print(m);
    const char *at = strstr(printed, inst), *mark = strstr(printed, line);
    if (!at || !mark || (at > mark) != behind)
        fail_msg("%s\n%s", name, printed);
    free(printed);
    allot_module_free(m);
    allot_diag_free(d);
    free(text);
}

/* To a block that all ways lead to nothing goes: there it would be computed as often, later.
 * Into a loop nothing goes: there it would be computed in each turn. */
static void
what_stays_before_the_branch(void **state)
{
    (void)state;
    stands("read on one side",
           "mul.lo.u32 %r5, %r1, 7;\n@%p1 bra L;\n"
           "add.u32 %r10, %r10, %r5;\nL:\n",
           "mul.lo.u32", true, "bra L");
    stands("read where both sides meet",
           "mul.lo.u32 %r5, %r1, 7;\n@%p1 bra L;\n"
           "add.u32 %r10, %r10, 1;\nL:\nadd.u32 %r10, %r10, %r5;\n",
           "mul.lo.u32", false, "bra L");
    stands("read in a loop that may be left out",
           "mov.u32 %r6, 0;\nmul.lo.u32 %r5, %r1, 7;\n"
           "@%p1 bra L;\nH:\nadd.u32 %r10, %r10, %r5;\nadd.u32 %r6, %r6, 1;\n"
           "setp.lt.u32 %p4, %r6, 3;\n@%p4 bra H;\nL:\n",
           "mul.lo.u32", false, "bra L");
    stands("... after a block of its own",
           "mov.u32 %r6, 0;\nmul.lo.u32 %r5, %r1, 7;\n"
           "@%p1 bra L;\nadd.u32 %r10, %r10, 1;\nH:\nadd.u32 %r10, %r10, %r5;\n"
           "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 3;\n@%p4 bra H;\nL:\n",
           "mul.lo.u32", true, "bra L");
    stands("... after a block of its own, not within",
           "mov.u32 %r6, 0;\nmul.lo.u32 %r5, %r1, 7;\n"
           "@%p1 bra L;\nadd.u32 %r10, %r10, 1;\nH:\nadd.u32 %r10, %r10, %r5;\n"
           "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 3;\n@%p4 bra H;\nL:\n",
           "mul.lo.u32", false, "H:");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_results),
        cmocka_unit_test(what_stays_before_the_branch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
