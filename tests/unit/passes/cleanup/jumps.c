/* jumps.c: which jumps go and which stay, each rule by a kernel whose result is known by hand
 * (unit/kit/rules_kit.h). */
#include "unit/kit/rules_kit.h"

#define VALUE(name, formula)                                                             \
    static uint32_t name(uint32_t x)                                                     \
    {                                                                                    \
        return formula;                                                                  \
    }
VALUE(small_1_more, x < 7 ? 101 : 100)
VALUE(large_1_more, x < 7 ? 100 : 101)
VALUE(one_more, x < 32 ? 101 : 0)
VALUE(even_or_small, x < 7 || x % 2 == 0 ? 101 : 100)
VALUE(six_turns, x < 32 ? 115 : 0)
VALUE(nested_turns, x < 32 ? 100 + 3 * 4 : 0)
VALUE(two_or_1_more, x < 7 ? 102 : 101)
VALUE(table, x < 7 ? 101 : 102)

#define MORE "add.u32 %r10, %r10, 1;\n"
static const struct rules_rule gone[] = {
    {"a jump over a jump", "@%p1 bra A;\nbra.uni B;\nA:\n" MORE "B:\n", 1, 0,
     small_1_more, NULL},
    {"... of the negated predicate", "@!%p1 bra A;\nbra B;\nA:\n" MORE "B:\n", 1, 0,
     large_1_more, NULL},
    {"... whose target has several labels",
     "setp.gt.u32 %p4, %r1, 99;\n@%p1 bra A;\nbra.uni D;\nB:\nA:\nC:\n" MORE
     "@%p4 bra B;\n@%p4 bra C;\nD:\n",
     3, 0, small_1_more, NULL},
    {"the end of a loop",
     "mov.u32 %r11, 0;\nH:\nadd.u32 %r10, %r10, %r11;\nadd.u32 %r11, %r11, 1;\n"
     "setp.ge.u32 %p4, %r11, 6;\n@%p4 bra OUT;\nbra.uni H;\nOUT:\n",
     1, 0, six_turns, NULL},
    {"the ends of two loops",
     "mov.u32 %r11, 0;\nM:\nmov.u32 %r12, 0;\nH:\n" MORE "add.u32 %r12, %r12, 1;\n"
     "setp.ge.u32 %p4, %r12, 4;\n@%p4 bra N;\nbra.uni H;\nN:\nadd.u32 %r11, %r11, 1;\n"
     "setp.lt.u32 %p4, %r11, 3;\n@!%p4 bra OUT;\nbra.uni M;\nOUT:\n",
     2, 0, nested_turns, NULL},
    {"a jump to what follows", "bra.uni A;\nA:\n" MORE, 0, 0, one_more, NULL},
    {"... under a guard, after other labels",
     "setp.gt.u32 %p4, %r1, 99;\n@%p1 bra B;\nA:\nB:\n" MORE "@%p4 bra A;\n", 1, 0,
     one_more, NULL},
};

static const struct rules_rule stay[] = {
    {"the second jump has a guard too", "@%p1 bra A;\n@%p2 bra B;\nA:\n" MORE "B:\n", 2,
     0, even_or_small, NULL},
    {"the first has none", "bra.uni A;\nbra.uni B;\nA:\n" MORE "B:\n", 2, 0, one_more,
     NULL},
    {"something else is jumped over",
     "@%p1 bra A;\n" MORE "bra.uni B;\nA:\nadd.u32 %r10, %r10, 2;\nB:\n", 2, 0,
     two_or_1_more, NULL},
    {"the label stands after an instruction",
     "@%p1 bra A;\nbra.uni B;\nB:\n" MORE "A:\n", 1, 0, large_1_more, NULL},
    {"a barrier follows", "bra.uni A;\nbar.sync 0;\nA:\n" MORE, 1, 0, one_more, NULL},
    {"a jump through a table",
     "selp.u32 %r5, 0, 1, %p1;\nT: .branchtargets A, B;\nbrx.idx %r5, T;\nA:\n" MORE
     "bra.uni M;\nB:\n" MORE MORE "M:\n",
     1, 0, table, NULL},
};

/* Labels that nothing names any more do not separate two jumps. */
static const struct rules_rule labels[] = {
    {"a label without a jump stands between",
     "@%p1 bra A;\nX:\nbra.uni B;\nA:\n" MORE "B:\n", 1, 0, small_1_more, NULL},
    {"... or a barrier", "@%p1 bra A;\nbar.warp.sync -1;\nbra.uni B;\nA:\n" MORE "B:\n",
     2, 0, small_1_more, NULL},
};

/* back=yes: a jump over a jump that goes forward stays, one that goes back does not. */
static const struct rules_rule back[] = {
    {"forward", "@%p1 bra A;\nbra.uni B;\nA:\n" MORE "B:\n", 2, 0, small_1_more, NULL},
    {"the end of a loop",
     "mov.u32 %r11, 0;\nH:\nadd.u32 %r10, %r10, %r11;\nadd.u32 %r11, %r11, 1;\n"
     "setp.ge.u32 %p4, %r11, 6;\n@%p4 bra OUT;\nbra.uni H;\nOUT:\n",
     1, 0, six_turns, NULL},
    {"a jump to what follows", "bra.uni A;\nA:\n" MORE, 0, 0, one_more, NULL},
};

static void
go(void **state)
{
    (void)state;
    rules_check_all(gone, sizeof gone / sizeof *gone, "jumps");
}

static void
do_not(void **state)
{
    (void)state;
    rules_check_all(stay, sizeof stay / sizeof *stay, "jumps");
}

static void
without_labels(void **state)
{
    (void)state;
    rules_check_all(labels, sizeof labels / sizeof *labels, "jumps");
}

static void
go_back(void **state)
{
    (void)state;
    rules_check_all(back, sizeof back / sizeof *back, "jumps:back=yes");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(go), cmocka_unit_test(do_not),
                                       cmocka_unit_test(without_labels),
                                       cmocka_unit_test(go_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
