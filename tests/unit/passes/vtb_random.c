/* vtb_random.c: random kernels with scratchpad, loops, barriers and threads that part, as
 * they are and with blocks that take turns with one scratchpad: the same memory, run
 * functionally and cycle by cycle (where virtual blocks do overlap). Grids that are not
 * divided, blocks and grids of one to three dimensions. */
#include "unit/kit/blocks_kit.h"

/* The memory that it leaves; *merged is raised if its blocks were. */
static void
run(const struct gen *g, uint64_t seed, const char *passes, bool functional,
    uint32_t *out, unsigned *merged)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    const struct allot_options o = {.functional = functional,
                                    .check_analyses = functional,
                                    .max_cycles = 5000000,
                                    .max_instructions = 50000000};
    assert_true(allot_machine_set(machine, "compiler.passes", passes, d));
    struct allot_module *m = allot_module_parse("random.ptx", g->b.s, g->b.n, d);
    struct allot_device *dev = m ? allot_device_new(machine, &o, d) : NULL;
    uint32_t turns = 1 + seed % 3, gr[3], bl[3], dynamic;
    for (uint32_t i = 0; i < MOST; i++)
        out[i] = i * 2654435761u;
    uint64_t at = dev ? allot_alloc(dev, MOST * 4, d) : 0;
    const void *args[] = {&at, &turns};
    struct allot_launch l = {.module = m, .kernel = "k", .args = args, .nargs = 2};
    memcpy(l.grid, g->grid, sizeof l.grid);
    memcpy(l.block, g->block, sizeof l.block);
    if (!at || !allot_write(dev, at, out, MOST * 4, d) || !allot_launch(dev, &l, d) ||
        !allot_read(dev, at, out, MOST * 4, d)) {
        puts(g->b.s); /* too long for cmocka */
        fail_msg("kernel %llu, %s: %s", (unsigned long long)seed, passes,
                 allot_diag_text(d));
    }
    allot_result_shape(allot_result_at(dev, 0), gr, bl, &dynamic);
    *merged += bl[2] != g->block[2];
    allot_device_free(dev);
    allot_module_free(m);
    allot_machine_free(machine);
    allot_diag_free(d);
}

static void
same_memory(void **state)
{
    static const char *const schemes[] = {"vtb", "vtb-pipe", "vtb-named", "co-vtb"};
    static const char *const turns[] = {"vtb", "vtb-pipe", "vtb-named"};
    enum { SCHEMES = 4 };
    static uint32_t want[MOST], got[MOST];
    unsigned merged[SCHEMES] = {0}, ways = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        struct gen g = {.state = seed * 0x9e3779b97f4a7c15u};
        kernel(&g);
        run(&g, seed, "", true, want, &ways);
        assert_int_equal(ways, 0);
        for (unsigned s = 0; s < SCHEMES; s++) {
            char passes[160];
            unsigned n = 0;
            int at = snprintf(passes, sizeof passes,
                              "%s%s:merge=%u:gap=%u:gain=0:motion=%u",
                              pick(&g, 2) ? "peel-loops,late-stores," : "", schemes[s],
                              2 + pick(&g, 4), pick(&g, 8), pick(&g, 2));
            if (s == 3) /* a border anywhere */
                snprintf(passes + at, sizeof passes - (size_t)at, ":private=%u:turns=%s",
                         16 * (1 + pick(&g, 24 * g.n / 16 - 1)), turns[pick(&g, 3)]);
            for (int functional = 0; functional < 2; functional++) {
                run(&g, seed, passes, functional, got, &n);
                unsigned i = 0;
                while (i < MOST && got[i] == want[i])
                    i++;
                if (i == MOST)
                    continue;
                puts(g.b.s);
                fail_msg(
                    "kernel %llu, grid %u %u %u, block %u %u %u, %s%s: word %u is %x, "
                    "not %x",
                    (unsigned long long)seed, g.grid[0], g.grid[1], g.grid[2], g.block[0],
                    g.block[1], g.block[2], passes, functional ? "" : ", simulated", i,
                    got[i], want[i]);
            }
            merged[s] += n == 2;
        }
        strbuf_free(&g.b);
    }
    for (unsigned s = 0; s < SCHEMES; s++)
        if (6 * merged[s] < 5 * KERNELS)
            fail_msg("%s: only %u of %u kernels are merged", schemes[s], merged[s],
                     KERNELS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
