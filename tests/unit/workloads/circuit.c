/* circuit.c: the circuits of 004 (Table V) have the counts that are known of them, and levels in
 * which each gate comes after its fan-ins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "../../../workloads/circuit.h"

static void
counts_and_levels(void **state)
{
    static const struct {
        const char *params;
        uint32_t nodes, edges, depth, dff, nand;
    } want[] = {
        {"circuit=17", 32229, 63200, 92, 1415, 21815},
        {"circuit=18", 104935, 199893, 93, 3320, 71751},
        {"circuit=19", 215541, 409500, 182, 6642, 147494},
        {"circuit=20", 20204, 38703, 67, 490, 13973},
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        struct allot_run r = {.ok = true, .params = want[k].params};
        struct circuit c;
        uint32_t dff = 0, nand = 0;
        assert_true(circuit_of(&r, &c, 256, true));
        assert_int_equal(c.nodes, want[k].nodes);
        assert_int_equal(c.edges, want[k].edges);
        assert_int_equal(c.levels, want[k].depth + 1);
        assert_int_equal(c.level[0], 0);
        assert_int_equal(c.level[c.levels], c.nodes);
        uint32_t *place = test_calloc(c.nodes, sizeof *place);
        for (uint32_t i = 0; i < c.nodes; i++) {
            dff += c.type[i] == GATE_DFF;
            nand += c.type[i] == GATE_NAND;
            place[c.order[i]] = i;
        }
        assert_int_equal(dff, want[k].dff);
        assert_int_equal(nand, want[k].nand);
        for (uint32_t level = 1; level < c.levels; level++)
            for (uint32_t at = c.level[level]; at < c.level[level + 1]; at++) {
                uint32_t i = c.order[at];
                for (uint32_t e = c.first[i]; e < c.first[i + 1]; e++)
                    assert_true(place[c.from[e]] < c.level[level]);
            }
        test_free(place);
        circuit_free(&c);
    }
}

/* What quick runs take of each netlist is a circuit too. */
static void
the_small_one_has_gates(void **state)
{
    for (int number = 17; number <= 20; number++) {
        char params[32];
        snprintf(params, sizeof params, "circuit=%d", number);
        struct allot_run r = {.ok = true, .quick = true, .params = params};
        struct circuit c;
        assert_true(circuit_of(&r, &c, 256, true));
        assert_true(number != 20 || c.nodes == 1500);
        print_message("b%d: %u nodes, %u levels, %u sources, %u edges\n", number, c.nodes,
                      c.levels, c.level[1], c.edges);
        assert_true(c.levels > 2 && c.nodes - c.level[1] > 256); /* more than a block */
        for (uint32_t e = 0; e < c.edges; e++)
            assert_true(c.from[e] < c.nodes);
        circuit_free(&c);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_levels),
        cmocka_unit_test(the_small_one_has_gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
