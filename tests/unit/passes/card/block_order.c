/* block_order.c: code whose blocks stand elsewhere computes the same, each shape by a kernel
 * whose result is known by hand (unit/kit/rules_kit.h). The order itself: golden
 * passes/block-order. */
#include "unit/kit/rules_kit.h"

#define VALUE(name, formula)                                                             \
    static uint32_t name(uint32_t x)                                                     \
    {                                                                                    \
        return formula;                                                                  \
    }
VALUE(six_turns, x < 32 ? 115 : 0)
VALUE(odd_ones_more, x % 2 ? 103 : 101)
VALUE(until_x, 100 + (x < 7 ? x : 7))
VALUE(nested_turns, x < 32 ? 100 + 3 * 4 : 0)
VALUE(small_1_more, x < 7 ? 101 : 100)
VALUE(two_ends, x < 7 ? 0 : 101)
VALUE(at_the_end, x < 7 ? 5 : 101)
VALUE(table, x < 7 ? 101 : 102)
VALUE(entered_twice, x < 7 ? 103 : 104)

#define MORE "add.u32 %r10, %r10, 1;\n"
static const struct rules_rule rules[] = {
    {"a loop that starts in its middle",
     "mov.u32 %r11, 0;\nbra.uni H;\nLATCH:\nadd.u32 %r11, %r11, 1;\n"
     "setp.ge.u32 %p4, %r11, 6;\n@%p4 bra OUT;\nH:\nadd.u32 %r10, %r10, %r11;\n"
     "bra.uni LATCH;\nOUT:\n",
     4, 0, six_turns, NULL},
    {"an arm after what follows it",
     "@%p2 bra ARM;\nBACK:\n" MORE "bra.uni END;\nARM:\nadd.u32 %r10, %r10, 2;\n"
     "bra.uni BACK;\nEND:\n",
     4, 0, odd_ones_more, NULL},
    {"a loop with two ways out, their targets before it",
     "mov.u32 %r11, 0;\nbra.uni H;\nA:\nmov.u32 %r12, 1;\nbra.uni END;\nB:\n"
     "mov.u32 %r12, 2;\nbra.uni END;\nH:\nsetp.ge.u32 %p4, %r11, 7;\n@%p4 bra A;\n"
     "setp.ge.u32 %p4, %r11, %r1;\n@%p4 bra B;\n" MORE "add.u32 %r11, %r11, 1;\n"
     "bra.uni H;\nEND:\n",
     6, 0, until_x, NULL},
    {"a loop in a loop, both from their middle",
     "mov.u32 %r11, 0;\nbra.uni O;\nOL:\nadd.u32 %r11, %r11, 1;\nsetp.ge.u32 %p4, %r11, 3;\n"
     "@%p4 bra OUT;\nO:\nmov.u32 %r12, 0;\nbra.uni I;\nIL:\nadd.u32 %r12, %r12, 1;\n"
     "setp.ge.u32 %p4, %r12, 4;\n@%p4 bra OL;\nI:\n" MORE "bra.uni IL;\nOUT:\n",
     7, 0, nested_turns, NULL},
    {"blocks that stay neighbours fall to each other",
     "bra.uni S;\nB:\n" MORE "M:\nbra.uni END;\nS:\n@%p1 bra B;\nbra.uni M;\nEND:\n", 4,
     0, small_1_more, NULL},
    {"an end under a guard falls on",
     "bra.uni S;\nM:\n" MORE "bra.uni END;\nS:\n@%p1 ret;\nbra.uni M;\nEND:\n", 3, 1,
     two_ends, NULL},
    {"the code's end is after a block that moves",
     "@%p1 bra L;\n" MORE
     "bra.uni W;\nX:\nst.global.u32 [%d3], 5;\nret;\nL:\nbra.uni X;\n"
     "W:\n",
     3, 0, at_the_end, NULL},
    {"a loop with two ways in",
     "mov.u32 %r11, 0;\n@%p1 bra B;\nA:\n" MORE "B:\n" MORE "add.u32 %r11, %r11, 1;\n"
     "setp.lt.u32 %p4, %r11, 2;\n@%p4 bra A;\nbra.uni END;\nEND:\n",
     5, 0, entered_twice, NULL},
    {"a jump through a table: nothing moves",
     "selp.u32 %r5, 0, 1, %p1;\nbra.uni S;\nA:\n" MORE "bra.uni M;\nB:\n" MORE MORE
     "M:\nbra.uni END;\nS:\nT: .branchtargets A, B;\nbrx.idx %r5, T;\nEND:\n",
     3, 0, table, NULL},
};

static void
same_results(void **state)
{
    (void)state;
    rules_check_all(rules, sizeof rules / sizeof *rules, "block-order");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
