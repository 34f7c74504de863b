/* guard_selects.c: which selects become guarded operations, each rule by a kernel whose result
 * is known by hand (unit/kit/rules_kit.h). */
#include "unit/kit/rules_kit.h"

#define VALUE(name, formula)                                                             \
    static uint32_t name(uint32_t x)                                                     \
    {                                                                                    \
        return formula;                                                                  \
    }
VALUE(small_else_next, x < 7 ? 100 : x + 1)
VALUE(small_next_else, x < 7 ? x + 1 : 100)
VALUE(small_keeps_more, x < 7 ? 100 : 105)
VALUE(small_product, x < 7 ? x * x : x + 77)
VALUE(chain, x < 7 ? 100 : x % 2 ? x + 2 : x + 1)
VALUE(added_twice, x < 7 ? 100 + x + 1 : 2 * (x + 1))
VALUE(three, x < 7 ? 100 : x + x + 3)
VALUE(before_the_write, x < 7 ? 100 : x + 1)
VALUE(old_of_the_result, x < 7 ? x : 105)
VALUE(twice_or_more, x < 7 ? x + x : x + x + 1)
VALUE(shifted, x < 7 ? 100 : x >> 1)

#define NEXT "add.u32 %r5, %r1, 1;\n"
static const struct rules_rule become[] = {
    {"the second source", NEXT "selp.b32 %r10, %r10, %r5, %p1;\n", 0, 1, small_else_next,
     NULL},
    {"the first source", NEXT "selp.b32 %r10, %r5, %r10, %p1;\n", 0, 1, small_next_else,
     NULL},
    {"it reads the destination",
     "add.u32 %r5, %r10, 5;\nselp.b32 %r10, %r10, %r5, %p1;\n", 0, 1, small_keeps_more,
     NULL},
    {"the other source dies, both are computed: the later one",
     "add.u32 %r6, %r1, 77;\nmul.lo.u32 %r5, %r1, %r1;\nselp.b32 %r10, %r5, %r6, %p1;\n",
     0, 1, small_product, NULL},
    {"of a select",
     NEXT "add.u32 %r6, %r1, 2;\nselp.b32 %r7, %r6, %r5, %p2;\n"
          "selp.b32 %r10, %r10, %r7, %p1;\n",
     0, 1, chain, NULL},
    {"its source is written after the select",
     NEXT "selp.b32 %r10, %r10, %r5, %p1;\nadd.u32 %r1, %r1, 9;\n", 0, 1, small_else_next,
     NULL},
    {"a shift", "shr.u32 %r5, %r1, 1;\nselp.b32 %r10, %r10, %r5, %p1;\n", 0, 1, shifted,
     NULL},
};

static const struct rules_rule stay[] = {
    {"the result is read again",
     NEXT "selp.b32 %r10, %r10, %r5, %p1;\nadd.u32 %r10, %r10, %r5;\n", 0, 0, added_twice,
     NULL},
    {"a sum of three",
     "add.u32 %r6, %r1, %r1;\nadd.u32 %r5, %r6, 3;\n"
     "selp.b32 %r10, %r10, %r5, %p1;\n",
     0, 0, three, NULL},
    {"its source is written in between",
     NEXT "add.u32 %r1, %r1, 9;\nselp.b32 %r10, %r10, %r5, %p1;\n", 0, 0,
     before_the_write, NULL},
    {"another block",
     NEXT "bra.uni A;\nB:\nbra.uni C;\nA:\nbar.sync 0;\nbra.uni B;\nC:\n"
          "selp.b32 %r10, %r10, %r5, %p1;\n",
     3, 0, small_else_next, NULL},
    {"the other source lives on",
     NEXT "selp.b32 %r6, %r1, %r5, %p1;\nadd.u32 %r10, %r6, %r1;\n", 0, 0, twice_or_more,
     NULL},
    {"it reads what the select writes, and the other source is another register",
     "add.u32 %r5, %r10, 5;\nadd.u32 %r6, %r1, %r1;\nsub.u32 %r6, %r6, %r1;\n"
     "selp.b32 %r10, %r6, %r5, %p1;\n",
     0, 0, old_of_the_result, NULL},
    {"a literal", NEXT "selp.b32 %r10, 100, %r5, %p1;\n", 0, 0, small_else_next, NULL},
};

static void
those_that_become(void **state)
{
    (void)state;
    rules_check_all(become, sizeof become / sizeof *become, "guard-selects");
}

static void
those_that_stay(void **state)
{
    (void)state;
    rules_check_all(stay, sizeof stay / sizeof *stay, "guard-selects");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_that_become),
                                       cmocka_unit_test(those_that_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
