/* peel_random.c: random kernels, as they are and with the loops that fill scratchpad as
 * straight code: the same memory. All that may be left of a loop is: nothing, an iteration under a
 * guard, the loop. */
#include "unit/kit/blocks_kit.h"

#include "passes/pass.h"
#include "ptx/parse.h"

/* Counts loops that became straight code, by what is left of them. */
static void
count(const struct gen *g, unsigned left[3])
{
    static const char *const words[] = {"all that it has", "one under a guard",
                                        "the rest stays"};
    struct diag_sink d = {0};
    struct strbuf report = {0};
    struct ptx_module *m = ptx_parse("random.ptx", g->b.s, g->b.n, &d);
    struct pass_launch l = {.kernel = "k"};
    memcpy(l.grid, g->grid, sizeof l.grid);
    memcpy(l.block, g->block, sizeof l.block);
    assert_true(m && pass_run_for(m, "peel-loops", NULL, &l, &report, &d));
    for (int k = 0; k < 3; k++)
        for (const char *s = report.s; s && (s = strstr(s, words[k])); s++)
            left[k]++;
    strbuf_free(&report);
    ptx_module_free(m);
    diag_free(&d);
}

static void
same_memory(void **state)
{
    static const char *const passes[] = {"peel-loops", "peel-loops:most=60,late-stores"};
    static uint32_t want[MOST], got[MOST];
    const unsigned kernels = blocks_kernels();
    unsigned left[3] = {0}, none = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= kernels; seed++) {
        struct gen g = {.state = seed * 0x9e3779b97f4a7c15u};
        kernel(&g);
        blocks_memory(&g, seed, "", true, want, &none);
        for (unsigned k = 0; k < 2; k++) {
            blocks_memory(&g, seed, passes[k], true, got, &none);
            blocks_same(&g, seed, passes[k], true, want, got);
        }
        count(&g, left);
        strbuf_free(&g.b);
    }
    for (int k = 0; k < 3; k++)
        if (20 * left[k] < kernels)
            fail_msg("only %u loops of kind %d in %u kernels", left[k], k, kernels);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
