/* vtb_random.c: random kernels with scratchpad, loops, barriers and threads that part, as
 * they are and with blocks that take turns with one scratchpad: the same memory, run
 * functionally and cycle by cycle (where virtual blocks do overlap). Grids that are not
 * divided, blocks and grids of one to three dimensions; numbers of virtual blocks and private
 * parts that are given, or left to the pass. */
#include "unit/kit/blocks_kit.h"

/* Whether virtual blocks come to a region unequally often, in a loop from %ctaid on or in
 * what some of them do, and ask. */
static bool
asks(const struct gen *g)
{
    char *report = blocks_report(g, "vtb:gap=0:gain=0");
    const bool yes = strstr(report, "come there unequally often");
    free(report);
    return yes;
}

static void
same_memory(void **state)
{
    static const char *const schemes[] = {"vtb", "vtb-pipe", "vtb-named", "co-vtb"};
    static const char *const turns[] = {"vtb", "vtb-pipe", "vtb-named"};
    enum { SCHEMES = 4 };
    const unsigned kernels = blocks_kernels();
    static uint32_t want[MOST], got[MOST];
    unsigned merged[SCHEMES] = {0}, ways = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= kernels; seed++) {
        struct gen g = {.state = seed * 0x9e3779b97f4a7c15u, .rewrites = seed % 2};
        struct gen own = {.state = ~seed * 0x9e3779b97f4a7c15u}; /* what passes choose */
        kernel(&g);
        blocks_memory(&g, seed, "", true, want, &ways);
        assert_int_equal(ways, 0);
        for (unsigned s = 0; s < SCHEMES; s++) {
            char passes[160];
            unsigned n = 0;
            char merge[8], private[8];
            snprintf(merge, sizeof merge, "%u", 2 + pick(&g, 4));
            if (pick(&own, 16) == 0)
                strcpy(merge, "auto");
            int at =
                snprintf(passes, sizeof passes, "%s%s:merge=%s:gap=%u:gain=0:motion=%u",
                         pick(&g, 2) ? "peel-loops,late-stores," : "", schemes[s], merge,
                         pick(&g, 8), pick(&g, 2));
            if (s == 3) /* a border anywhere */
                snprintf(private, sizeof private, "%u",
                         16 * (1 + pick(&g, 24 * g.n / 16 - 1)));
            if (s == 3 && pick(&own, 8) == 0)
                strcpy(private, "auto");
            if (s == 3)
                snprintf(passes + at, sizeof passes - (size_t)at, ":private=%s:turns=%s",
                         private, turns[pick(&g, 3)]);
            for (int functional = 0; functional < 2; functional++) {
                blocks_memory(&g, seed, passes, functional, got, &n);
                blocks_same(&g, seed, passes, functional, want, got);
            }
            merged[s] += n == 2;
        }
        strbuf_free(&g.b);
    }
    for (unsigned s = 0; s < SCHEMES; s++)
        if (6 * merged[s] < 5 * kernels)
            fail_msg("%s: only %u of %u kernels are merged", schemes[s], merged[s],
                     kernels);
}

static void
virtual_blocks_ask(void **state)
{
    const unsigned kernels = blocks_kernels();
    unsigned n = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= kernels; seed++) {
        struct gen g = {.state = seed * 0x9e3779b97f4a7c15u, .rewrites = seed % 2};
        kernel(&g);
        n += asks(&g);
        strbuf_free(&g.b);
    }
    if (5 * n < kernels)
        fail_msg("only in %u of %u kernels", n, kernels);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(virtual_blocks_ask),
                                       cmocka_unit_test(same_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
