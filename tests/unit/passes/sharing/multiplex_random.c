/* multiplex_random.c: random kernels with scratchpad, loops, barriers and threads that part,
 * as they are and with scratchalloc and scratchfree: the same memory. Functionally, where
 * every access is checked and what is allocated holds nothing of what was in it; and cycle
 * by cycle in one SM that holds the scratchpad of one block, with the same counters on one
 * to three host threads and without skipping. */
#include "unit/kit/blocks_kit.h"

static const char *const schemes[] = {"multiplex-hw", "co-multiplex-hw",
                                      "peel-loops,late-stores,multiplex-hw"};
enum { SCHEMES = sizeof schemes / sizeof *schemes, COUNTERS = 512 };

struct way {
    const char *passes;
    bool functional, no_skip;
    unsigned threads;
};

struct outcome {
    uint32_t memory[MOST];
    uint64_t counter[COUNTERS];
    size_t ncounters;
    uint64_t cycles, allocations, waits;
};

static uint64_t
counter(const struct allot_result *r, const char *id)
{
    uint64_t n = 0;
    if (!allot_result_get(r, id, &n, NULL))
        fail_msg("there is no counter %s", id);
    return n;
}

static void
run(const struct gen *g, uint64_t seed, const struct way *way, struct outcome *out)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    const struct allot_options o = {.functional = way->functional,
                                    .check_analyses = way->functional,
                                    .no_skip = way->no_skip,
                                    .threads = way->threads,
                                    .max_cycles = 5000000,
                                    .max_instructions = 50000000};
    char bytes[32];
    if (!machine)
        fail_msg("%s", allot_diag_text(d));
    snprintf(bytes, sizeof bytes, "%u", (ARRAYS * 8 * g->n + 127) / 128 * 128);
    const bool dynamic = *way->passes && !way->functional;
    assert_true(allot_machine_set(machine, "compiler.passes", way->passes, d));
    if (!allot_machine_set(machine, "sm.count", "1", d) ||
        !allot_machine_set(machine, "sm.scratchpad", bytes, d) ||
        !allot_machine_set(machine, "sm.max_block_scratchpad", bytes, d) ||
        !allot_machine_set(machine, "residency.policy",
                           dynamic ? "multiplexing" : "baseline", d))
        fail_msg("%s", allot_diag_text(d));
    struct allot_module *m = allot_module_parse("random.ptx", g->b.s, g->b.n, d);
    struct allot_device *dev = m ? allot_device_new(machine, &o, d) : NULL;
    uint32_t turns = 1 + seed % 3;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < MOST; i++)
        out->memory[i] = i * 2654435761u;
    uint64_t at = dev ? allot_alloc(dev, sizeof out->memory, d) : 0;
    const void *args[] = {&at, &turns};
    struct allot_launch l = {.module = m, .kernel = "k", .args = args, .nargs = 2};
    memcpy(l.grid, g->grid, sizeof l.grid);
    memcpy(l.block, g->block, sizeof l.block);
    if (!at || !allot_write(dev, at, out->memory, sizeof out->memory, d) ||
        !allot_launch(dev, &l, d) ||
        !allot_read(dev, at, out->memory, sizeof out->memory, d)) {
        puts(g->b.s); /* too long for cmocka */
        fail_msg("kernel %llu, %s: %s", (unsigned long long)seed, way->passes,
                 allot_diag_text(d));
    }
    if (!way->functional) {
        const struct allot_result *r = allot_result_at(dev, 0);
        struct allot_stat_info info;
        for (size_t i = 0; allot_stat(i, &info); i++) {
            if (info.derived)
                continue;
            assert_true(out->ncounters < COUNTERS);
            out->counter[out->ncounters++] = counter(r, info.id);
        }
        out->allocations = counter(r, "multiplex_allocations");
        out->waits = counter(r, "multiplex_waits");
    }
    allot_device_free(dev);
    allot_module_free(m);
    allot_machine_free(machine);
    allot_diag_free(d);
}

static void
same_memory_and_counters(void **state)
{
    static struct outcome want, got, first;
    const unsigned kernels = blocks_kernels();
    unsigned allocating[SCHEMES] = {0}, waiting[SCHEMES] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= kernels; seed++) {
        struct gen g = {.state = seed * 0x9e3779b97f4a7c15u};
        kernel(&g);
        run(&g, seed, &(struct way){.passes = "", .functional = true}, &want);
        for (unsigned s = 0; s < SCHEMES; s++) {
            char passes[80];
            snprintf(passes, sizeof passes, "%s:gap=%u", schemes[s], pick(&g, 8));
            struct way way = {.passes = passes, .functional = true};
            run(&g, seed, &way, &got);
            blocks_same(&g, seed, way.passes, way.functional, want.memory, got.memory);
            way = (struct way){.passes = passes, .threads = 1};
            run(&g, seed, &way, &first);
            blocks_same(&g, seed, way.passes, way.functional, want.memory, first.memory);
            allocating[s] += first.allocations > 0;
            waiting[s] += first.waits > 0;
            for (unsigned k = 1; k < 4 && seed % 8 == s; k++) {
                way.threads = k;
                way.no_skip = k == 1;
                run(&g, seed, &way, &got);
                assert_memory_equal(got.counter, first.counter, sizeof got.counter);
            }
        }
        strbuf_free(&g.b);
    }
    for (unsigned s = 0; s < SCHEMES; s++)
        if (6 * allocating[s] < 5 * kernels || 4 * waiting[s] < 3 * kernels)
            fail_msg("%s: of %u kernels only %u allocate scratchpad and %u wait for it",
                     schemes[s], kernels, allocating[s], waiting[s]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory_and_counters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
