/* if_convert.c: what becomes a guard and what does not, each rule by a kernel whose result is
 * known by hand (unit/kit/rules_kit.h). How large an arm may be: golden/passes/if-convert. */
#include "unit/kit/rules_kit.h"

#define VALUE(name, formula)                                                             \
    static uint32_t name(uint32_t x)                                                     \
    {                                                                                    \
        return formula;                                                                  \
    }
VALUE(kept_or_5_more, x < 7 ? 100 : x + 5)
VALUE(x_unless_small, x < 7 ? 0 : x)
VALUE(five_more_or_kept, x < 7 ? x + 5 : 100)
VALUE(two_values, x < 7 ? 4 * x : x + 5)
VALUE(thrice_and_1, x < 7 ? 100 : 3 * x + 1)
VALUE(other_reads, x < 7 ? 14 : 2 * (x + 1))
VALUE(inner_odd, x < 7 || x % 2 == 0 ? 100 : x + 5)
VALUE(above_20, x<7 ? 100 : x> 20 ? 1 : 2)
VALUE(two_if_large, x < 7 ? 100 : 2)
VALUE(odd_or_above_20, (x < 7 ? x % 2 == 1 : x > 20) ? 1 : 2)
VALUE(less_1_and_carry, x < 7 ? 100 : x)
VALUE(one_more, x < 7 ? 100 : x + 1)
VALUE(lanes_from_7, x < 7 ? 100 : 0xffffff80)
VALUE(nested_value, x < 7 ? 100 : (x % 2 ? 100 : x + 5) + 1)
VALUE(two_in_a_row, 100 + (x < 7 ? 0 : 1) + (x % 2 ? 0 : 2))
VALUE(sum_to_3, x < 7 ? 100 : 106)
VALUE(from_two_places, x < 7 && x <= 20 ? 100 : x + 5)
VALUE(again_from_behind, x < 7 ? 102 : 103)
VALUE(three_ways, x >= 7 ? x + 5 : x % 2 ? 100 : 109)
VALUE(loaded, x < 7 ? 100 : x)
VALUE(stays_0, x < 7 ? 100 : 0)
VALUE(table, x < 7 ? 101 : 102)
VALUE(small_or_above_20, x<7 || 3 * x> 60 ? x + 5 : 100)
VALUE(odd_from_7, x >= 7 && x % 2 ? x + 5 : 100)
VALUE(odd_below_7, x < 7 && x % 2 ? x + 5 : 100)
VALUE(even_from_7, x >= 7 && x % 2 == 0 ? x + 5 : 100)
VALUE(odd_or_small, x < 7 || x % 2 ? x + 5 : 100)
VALUE(even_or_small, x < 7 || x % 2 == 0 ? x + 5 : 100)
VALUE(odd_or_from_7, x >= 7 || x % 2 ? x + 5 : 100)
VALUE(even_or_from_7, x >= 7 || x % 2 == 0 ? x + 5 : 100)
VALUE(small_or_times_81, x<7 || 81 * x> 1000 ? x + 5 : 100)
VALUE(small_or_times_243, x<7 || 243 * x> 1000 ? x + 5 : 100)
VALUE(loaded_or_small, x<7 || x> 20 ? x + 5 : 100)
VALUE(condition_in_arm, x<7 ? 5 : 3 * x> 60 ? 3 * x + 5 : 100)
VALUE(condition_behind, x<7 ? x + 5 + 0 : 3 * x> 60 ? 4 * x + 5 : 100 + 3 * x)
VALUE(both_behind, x<7 ? 100 : 3 * x> 60 ? 4 * x + 5 : 100 + 3 * x)
VALUE(five_and_thrice, x >= 7 && 3 * x > 60 ? 3 * x + 5 : 100)
VALUE(times_24, x < 7 ? 100 : 100 + 24 * x)
VALUE(times_27, x < 7 ? 100 : 100 + 27 * x)

#define OVER "@%p1 bra L;\n"
#define TRIPLE "mul.lo.u32 %r5, %r5, 3;\n"
#define PAIR "mul.lo.u32 %r5, %r1, 3;\nadd.u32 %r10, %r10, %r5;\n"
static const struct rules_rule converted[] = {
    {"one arm: a result and a store",
     OVER "add.u32 %r10, %r1, 5;\nst.global.u32 [%d3+4], %r1;\nL:\n", 0, 2,
     kept_or_5_more, x_unless_small},
    {"the branch is negated", "@!%p1 bra L;\nadd.u32 %r10, %r1, 5;\nL:\n", 0, 1,
     five_more_or_kept, NULL},
    {"two arms",
     "@%p1 bra E;\nadd.u32 %r10, %r1, 5;\nbra.uni M;\nE:\nshl.b32 %r10, %r1, 2;\nM:\n", 0,
     2, two_values, NULL},
    {"what the arm alone reads has a guard",
     OVER "mul.lo.u32 %r5, %r1, 3;\nadd.u32 %r10, %r5, 1;\nL:\n", 0, 2, thrice_and_1,
     NULL},
    {"... but for an operand", OVER "mov.u32 %r5, 5;\nadd.u32 %r10, %r1, %r5;\nL:\n", 0,
     1, kept_or_5_more, NULL},
    {"... that reads nothing with a guard",
     OVER "mul.wide.u32 %d5, %r1, 3;\ncvt.u32.u64 %r5, %d5;\nadd.u32 %r10, %r5, 1;\nL:\n",
     0, 3, thrice_and_1, NULL},
    {"... and that nobody else reads",
     "mov.u32 %r5, 7;\n@%p1 bra E;\nmov.u32 %r5, 5;\nadd.u32 %r10, %r1, %r5;\n"
     "bra.uni M;\nE:\nmad.lo.u32 %r10, %r5, 0, 100;\nM:\n",
     0, 3, kept_or_5_more, NULL},
    {"what the other arm reads has one",
     "mov.u32 %r5, 7;\n@%p1 bra E;\nadd.u32 %r5, %r1, 1;\nadd.u32 %r10, %r5, %r5;\n"
     "bra.uni M;\nE:\nadd.u32 %r10, %r5, %r5;\nM:\n",
     0, 3, other_reads, NULL},
    {"an arm may read its predicate", OVER "selp.b32 %r10, 1, 2, %p1;\nL:\n", 0, 1,
     two_if_large, NULL},
    {"... and write another, for itself",
     OVER "setp.gt.u32 %p2, %r1, 20;\nselp.b32 %r10, 1, 2, %p2;\nL:\n", 0, 2, above_20,
     NULL},
    {"... or for what follows",
     OVER "setp.gt.u32 %p2, %r1, 20;\nL:\nselp.b32 %r10, 1, 2, %p2;\n", 0, 1,
     odd_or_above_20, NULL},
    {"two in a row",
     "@%p1 bra A;\nadd.u32 %r10, %r10, 1;\nA:\n@%p2 bra B;\nadd.u32 %r10, %r10, 2;\nB:\n",
     0, 2, two_in_a_row, NULL},
    {"within a loop",
     "mov.u32 %r11, 0;\nH:\n@%p1 bra N;\nadd.u32 %r10, %r10, %r11;\nN:\n"
     "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p4, %r11, 4;\n@%p4 bra H;\n",
     1, 1, sum_to_3, NULL},
    {"a load from an address that is none in the other lanes",
     "selp.b64 %d5, 0, %d1, %p1;\n" OVER "ld.global.u32 %r10, [%d5];\nL:\n", 0, 1, loaded,
     NULL},
    {"... that the arm alone reads, and what reads its result",
     "selp.b64 %d5, 0, %d1, %p1;\n" OVER "ld.global.u32 %r5, [%d5];\n"
     "mul.lo.u32 %r6, %r5, 3;\nadd.u32 %r10, %r6, 1;\nL:\n",
     0, 3, thrice_and_1, NULL},
    {"both arms load",
     "@%p1 bra E;\nld.global.u32 %r5, [%d1];\nadd.u32 %r10, %r5, 5;\nbra.uni M;\nE:\n"
     "ld.global.u32 %r5, [%d1];\nshl.b32 %r10, %r5, 2;\nM:\n",
     0, 4, two_values, NULL},
    {"the arms join elsewhere: the last keeps its jump",
     "bra.uni S;\nM:\nbra.uni OUT;\nS:\n@%p1 bra M;\nadd.u32 %r10, %r1, 5;\nbra.uni M;\n"
     "OUT:\n",
     3, 1, kept_or_5_more, NULL},
    {"... also with two arms",
     "bra.uni S;\nM:\nbra.uni OUT;\nS:\n@%p1 bra E;\nadd.u32 %r10, %r1, 5;\nbra.uni M;\n"
     "E:\nshl.b32 %r10, %r1, 2;\nbra.uni M;\nOUT:\n",
     3, 2, two_values, NULL},
    {"an arm that is reached from two places",
     "@%p3 bra IN;\n" OVER "IN:\nadd.u32 %r10, %r1, 5;\nL:\n", 0, 1, from_two_places,
     NULL},
    {"two conditions: either",
     "@%p1 bra IN;\nmul.lo.u32 %r5, %r1, 3;\nsetp.gt.u32 %p4, %r5, 60;\n@!%p4 bra L;\n"
     "IN:\nadd.u32 %r10, %r1, 5;\nL:\n",
     0, 1, small_or_above_20, NULL},
    {"... x or y", "@%p1 bra IN;\n@!%p2 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\n", 0, 1,
     odd_or_small, NULL},
    {"... x or not y", "@%p1 bra IN;\n@%p2 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\n", 0,
     1, even_or_small, NULL},
    {"... not x or y", "@!%p1 bra IN;\n@!%p2 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\n", 0,
     1, odd_or_from_7, NULL},
    {"... not x or not y", "@!%p1 bra IN;\n@%p2 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\n",
     0, 1, even_or_from_7, NULL},
    {"both: not x and y", OVER "@!%p2 bra L;\nadd.u32 %r10, %r1, 5;\nL:\n", 0, 1,
     odd_from_7, NULL},
    {"... x and y", "@!%p1 bra L;\n@!%p2 bra L;\nadd.u32 %r10, %r1, 5;\nL:\n", 0, 1,
     odd_below_7, NULL},
    {"... not x and not y", OVER "@%p2 bra L;\nadd.u32 %r10, %r1, 5;\nL:\n", 0, 1,
     even_from_7, NULL},
    {"... of five operations",
     "mov.u32 %r5, %r1;\n@%p1 bra IN;\n" TRIPLE TRIPLE TRIPLE TRIPLE
     "setp.gt.u32 %p4, %r5, 1000;\n@!%p4 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\n",
     0, 1, small_or_times_81, NULL},
    {"... which the arm that both reach does not read",
     OVER "mul.lo.u32 %r5, %r1, 3;\nsetp.gt.u32 %p4, %r5, 60;\n@!%p4 bra L;\n"
          "add.u32 %r10, %r5, 5;\nL:\n",
     0, 1, five_and_thrice, NULL},
    {"sixteen PTX instructions that are eight operations",
     OVER PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR "L:\n", 0, 16, times_24, NULL},
};

static const struct rules_rule left[] = {
    {"nine operations", OVER PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR "L:\n", 1, 0,
     times_27, NULL},
    {"an instruction of the arm has a guard already",
     OVER "@%p2 add.u32 %r10, %r1, 5;\nL:\n", 1, 1, inner_odd, NULL},
    {"the arm changes its predicate",
     OVER "setp.gt.u32 %p1, %r1, 20;\nselp.b32 %r10, 1, 2, %p1;\nL:\n", 1, 0, above_20,
     NULL},
    {"a carry", OVER "add.cc.u32 %r10, %r1, -1;\naddc.u32 %r10, %r10, 0;\nL:\n", 1, 0,
     less_1_and_carry, NULL},
    {"a call",
     OVER "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\n"
          "call.uni (b), inc, (a);\nld.param.b32 %r10, [b];\n}\nL:\n",
     1, 0, one_more, NULL},
    {"what looks at the other lanes", OVER "activemask.b32 %r10;\nL:\n", 1, 0,
     lanes_from_7, NULL},
    {"an access that other threads may watch",
     OVER "st.volatile.global.u32 [%d3+4], %r1;\nadd.u32 %r10, %r1, 5;\nL:\n", 1, 0,
     kept_or_5_more, x_unless_small},
    {"an atomic",
     OVER "atom.global.add.u32 %r5, [%d3+4], %r1;\nadd.u32 %r10, %r1, 5;\nL:\n", 1, 0,
     kept_or_5_more, x_unless_small},
    {"a barrier of one warp",
     OVER "bar.warp.sync 0xffffff80;\nadd.u32 %r10, %r1, 5;\nL:\n", 1, 0, kept_or_5_more,
     NULL},
    {"the outer of two: the inner one's guards stand in its arm",
     "mov.u32 %r11, 0;\n" OVER "@%p2 bra N;\nadd.u32 %r10, %r1, 5;\nN:\n"
     "add.u32 %r11, %r11, 1;\nL:\nadd.u32 %r10, %r10, %r11;\n",
     1, 1, nested_value, NULL},
    {"a second condition of six operations",
     "mov.u32 %r5, %r1;\n@%p1 bra IN;\n" TRIPLE TRIPLE TRIPLE TRIPLE TRIPLE
     "setp.gt.u32 %p4, %r5, 1000;\n@!%p4 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\n",
     2, 0, small_or_times_243, NULL},
    {"... that loads",
     "@%p1 bra IN;\nld.global.u32 %r5, [%d1];\nsetp.gt.u32 %p4, %r5, 20;\n@!%p4 bra L;\n"
     "IN:\nadd.u32 %r10, %r1, 5;\nL:\n",
     2, 0, loaded_or_small, NULL},
    {"... whose value the arm reads",
     "mov.u32 %r5, 0;\n@%p1 bra IN;\nmul.lo.u32 %r5, %r1, 3;\nsetp.gt.u32 %p4, %r5, 60;\n"
     "@!%p4 bra L;\nIN:\nadd.u32 %r10, %r5, 5;\nL:\n",
     2, 0, condition_in_arm, NULL},
    {"... whose value is read after the arm",
     "mov.u32 %r5, 0;\n@%p1 bra IN;\nmul.lo.u32 %r5, %r1, 3;\nsetp.gt.u32 %p4, %r5, 60;\n"
     "@!%p4 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\nL:\nadd.u32 %r10, %r10, %r5;\n",
     2, 0, condition_behind, NULL},
    {"... of both, whose value is read after the arm",
     "mov.u32 %r5, 0;\n" OVER "mul.lo.u32 %r5, %r1, 3;\nsetp.gt.u32 %p4, %r5, 60;\n"
     "@!%p4 bra L;\nadd.u32 %r10, %r1, 5;\nL:\nadd.u32 %r10, %r10, %r5;\n",
     1, 1, both_behind, NULL},
    {"... that changes the first",
     "@%p1 bra IN;\nsetp.gt.u32 %p1, %r1, 20;\n@!%p1 bra L;\nIN:\nadd.u32 %r10, %r1, 5;\n"
     "@%p1 bra N;\nN:\nL:\n",
     3, 0, loaded_or_small, NULL},
    {"an arm that a loop reaches again",
     "mov.u32 %r11, 0;\n" OVER "IN:\nadd.u32 %r10, %r10, 1;\nL:\n"
     "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p4, %r11, 3;\n@%p4 bra IN;\n",
     2, 0, again_from_behind, NULL},
    {"an arm that goes on elsewhere",
     OVER "add.u32 %r10, %r1, 5;\nbra.uni OUT;\nL:\n@%p2 bra OUT;\n"
          "add.u32 %r10, %r10, 9;\nOUT:\n",
     1, 2, three_ways, NULL},
    {"an arm that ends the thread", OVER "ret;\nL:\n", 1, 0, stays_0, NULL},
    {"a jump through a table",
     "selp.u32 %r5, 0, 1, %p1;\nT: .branchtargets A, B;\nbrx.idx %r5, T;\nA:\n"
     "add.u32 %r10, %r10, 1;\nbra.uni M;\nB:\nadd.u32 %r10, %r10, 2;\nM:\n",
     1, 0, table, NULL},
};

static void
become_guards(void **state)
{
    (void)state;
    rules_check_all(converted, sizeof converted / sizeof *converted, "if-convert");
}

static void
stay_branches(void **state)
{
    (void)state;
    rules_check_all(left, sizeof left / sizeof *left, "if-convert");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(become_guards),
                                       cmocka_unit_test(stay_branches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
