/* cta_search.c: Algorithms 1 to 3 of 004: the worked example, feasibility of random
 * problems, Algorithm 2's rule, Lemma 3, blocks larger than the cache, random orders,
 * speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/kit/sanitized.h"

#include "base/clock.h"
#include "cta/search.h"
#include "unit/kit/random_kit.h"

#include <stdlib.h>

/* Figure 4: blocks A to L, at most four at once, a cache of ten. The text gives C + E + G = 6,
 * contention in every step of (a), room for four more in step 4 of (b), TLP 2 then 4 from
 * step 3 on in (c). The figure's sizes are not in the text; these have all its properties. */
static const uint64_t figure4[12] = {5, 3, 1, 5, 1, 3, 4, 5, 5, 1, 3, 4};

static uint64_t
step_sum(const struct cta_problem *p, const struct cta_schedule *s, uint32_t i)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < s->step[i].n; k++)
        sum += p->size[s->order[s->step[i].first + k]];
    return sum;
}

static void
figure_4(void **state)
{
    struct cta_problem p = {
        .blocks = 12, .size = figure4, .capacity = 10, .max_tlp = 4, .cps = 0.1};
    assert_int_equal(figure4['C' - 'A'] + figure4['E' - 'A'] + figure4['G' - 'A'], 6);
    for (int i = 0; i < 12; i += 4) /* (a): greedy */
        assert_true(figure4[i] + figure4[i + 1] + figure4[i + 2] + figure4[i + 3] > 10);

    p.static_tlp = true; /* (b) */
    struct cta_schedule *s = cta_search(&p);
    assert_null(cta_infeasible(&p, s));
    assert_int_equal(s->nsteps, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(s->step[i].tlp, 2);
    assert_int_equal(10 - step_sum(&p, s, 3), 4);
    assert_int_equal(cta_syncs(s), 0);
    cta_schedule_free(s);

    p.static_tlp = false; /* (c) */
    s = cta_search(&p);
    assert_null(cta_infeasible(&p, s));
    static const uint32_t tlp[4] = {2, 2, 4, 4};
    assert_int_equal(s->nsteps, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(s->step[i].tlp, tlp[i]);
    assert_int_equal(cta_syncs(s), 1);
    assert_true(cta_cost(s, p.cps) == 4 + 0.1);
    cta_schedule_free(s);
}

/* LMF by hand: capacity 10, k = 3: 6+4, 5+4, 3+3+2. */
static void
lmf_is_first_fit_of_falling_sizes(void **state)
{
    const uint64_t size[] = {6, 5, 4, 4, 3, 3, 2};
    const uint32_t want[] = {0, 1, 0, 1, 2, 2, 2};
    struct pack_items p = {7, size, 10, 3, 0};
    uint32_t bin[7];
    assert_int_equal(packer_find("lmf")->pack(&p, bin), 3);
    for (int i = 0; i < 7; i++)
        assert_int_equal(bin[i], want[i]);
}

/* IWFD by hand: two bins from the start, each item where the level is lowest. */
static void
iwfd_balances_levels(void **state)
{
    const uint64_t size[] = {5, 4, 3, 3, 2, 2};
    const uint32_t want[] = {0, 1, 1, 0, 1, 0};
    struct pack_items p = {6, size, 10, 3, 0};
    uint32_t bin[6];
    assert_int_equal(packer_find("iwfd")->pack(&p, bin), 2);
    for (int i = 0; i < 6; i++)
        assert_int_equal(bin[i], want[i]);
}

/* The three largest do not count: 9, 8 and 6 + 4 fit below them. */
static void
a_relaxed_step_holds_one_more(void **state)
{
    const uint64_t size[] = {10, 9, 8, 6, 4, 10, 10};
    struct cta_problem p = {
        .blocks = 7, .size = size, .capacity = 10, .max_tlp = 4, .relaxed = true};
    struct cta_schedule *s = cta_search(&p);
    assert_null(cta_infeasible(&p, s));
    assert_int_equal(s->nsteps, 3);
    cta_schedule_free(s);
}

static void
random_problem(uint64_t seed, struct cta_problem *p, uint64_t *size, uint32_t most)
{
    uint64_t state = seed;
    uint32_t n = (uint32_t)random_in(&state, 0, most);
    uint64_t top = random_in(&state, 0, 2) ? 400 : 1500; /* beyond the capacity, too */
    for (uint32_t i = 0; i < n; i++)
        size[i] = random_in(&state, 0, top);
    *p = (struct cta_problem){.blocks = n,
                              .size = size,
                              .capacity = 1000,
                              .max_tlp = (uint32_t)random_in(&state, 1, 40),
                              .cps = (double)random_in(&state, 0, 200) / 100,
                              .static_tlp = seed & 1,
                              .relaxed = seed & 2};
}

static void
every_schedule_is_feasible(void **state)
{
    static uint64_t size[300];
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct cta_problem p;
        random_problem(seed, &p, size, 300);
        for (size_t i = 0; i == 0 || packer_at(i - 1); i++) {
            p.packer = i ? packer_at(i - 1) : NULL;
            if (p.packer && p.packer->open_end != p.relaxed)
                continue;
            struct cta_schedule *s = cta_search(&p);
            const char *wrong = cta_infeasible(&p, s);
            if (wrong)
                fail_msg("seed %d: %s", (int)seed, wrong);
            /* Lemma 3: sorted by TLP, so a TLP never comes back. */
            for (uint32_t k = 1; k < s->nsteps; k++)
                assert_true(s->step[k].tlp >= s->step[k - 1].tlp);
            cta_schedule_free(s);
        }
    }
}

/* Of a right schedule, every kind of damage is found. */
static void
the_check_sees_what_is_wrong(void **state)
{
    struct cta_problem p = {
        .blocks = 12, .size = figure4, .capacity = 10, .max_tlp = 4, .cps = 0.1};
    struct cta_schedule *s = cta_search(&p);
    assert_null(cta_infeasible(&p, s));
    uint32_t keep = s->order[3];
    s->order[3] = s->order[4];
    assert_non_null(cta_infeasible(&p, s));
    s->order[3] = keep;
    s->nsteps--;
    assert_non_null(cta_infeasible(&p, s));
    s->nsteps++;
    s->step[0].tlp = 1;
    assert_non_null(cta_infeasible(&p, s));
    s->step[0].tlp = 5;
    assert_non_null(cta_infeasible(&p, s));
    s->step[0].tlp = 2;
    p.capacity = 9;
    assert_non_null(cta_infeasible(&p, s));
    p.capacity = 10;
    p.static_tlp = true;
    assert_non_null(cta_infeasible(&p, s));
    cta_schedule_free(s);
}

/* Algorithm 2 starts with the largest k such that any k blocks fit. One less never makes
 * fewer steps, so with sizes that fill every step it is the k of the schedule. */
static void
the_static_tlp_lets_any_blocks_run_together(void **state)
{
    uint64_t size[60];
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct cta_problem p;
        random_problem(seed * 4 + 1, &p, size, 60);
        if (!p.blocks)
            continue;
        struct cta_schedule *s = cta_search(&p);
        uint64_t sorted[60], sum = 0;
        for (uint32_t i = 0; i < p.blocks; i++) {
            uint32_t k = i;
            for (; k && sorted[k - 1] < size[i]; k--)
                sorted[k] = sorted[k - 1];
            sorted[k] = size[i];
        }
        for (uint32_t i = 0; i < s->step[0].tlp && i < p.blocks; i++)
            sum += sorted[i];
        if (s->step[0].tlp > 1)
            assert_true(sum <= p.capacity);
        uint32_t k = s->step[0].tlp;
        assert_int_equal(s->nsteps, (p.blocks + k - 1) / k);
        /* The largest such k that is allowed gives as many steps at the most. */
        if (k < p.max_tlp && k < p.blocks && sum + sorted[k] <= p.capacity)
            assert_int_equal((p.blocks + k) / (k + 1), s->nsteps);
        cta_schedule_free(s);
    }
}

/* Each block once; over many seeds each of the 24 orders of four blocks as often as chance
 * has it: chi square of 23 degrees of freedom is below 49.7 in 999 of 1,000 cases. */
static void
random_orders_are_equally_likely(void **state)
{
    enum { DRAWS = 24000 };
    unsigned seen[256] = {0};
    const struct cta_problem p = {
        .blocks = 4, .size = (uint64_t[]){1, 1, 1, 1}, .capacity = 4, .max_tlp = 4};
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        struct cta_schedule *s = cta_random(4, 4, seed);
        assert_null(cta_infeasible(&p, s));
        seen[s->order[0] << 6 | s->order[1] << 4 | s->order[2] << 2 | s->order[3]]++;
        cta_schedule_free(s);
    }
    double chi = 0;
    unsigned orders = 0;
    for (int i = 0; i < 256; i++)
        if (seen[i]) {
            orders++;
            chi += (seen[i] - 1000.0) * (seen[i] - 1000.0) / 1000;
        }
    print_message("chi square %.1f\n", chi);
    assert_int_equal(orders, 24);
    assert_true(chi < 49.7);
    cta_schedule_free(cta_random(0, 1, 0));
}

/* 100,000 blocks, each kind of problem, in less than a second of processor time. */
static void
many_blocks_take_less_than_a_second(void **state)
{
    enum { MANY = 100000 };
    uint64_t *size = malloc(MANY * sizeof *size);
    for (unsigned kind = 0; kind < 8; kind++) {
        uint64_t seed = kind;
        for (uint32_t i = 0; i < MANY; i++)
            size[i] = kind & 4 ? random_in(&seed, 20, 80) : random_in(&seed, 1, 4000);
        struct cta_problem p = {.blocks = MANY,
                                .size = size,
                                .capacity = 6144,
                                .max_tlp = 120,
                                .cps = 0.02,
                                .static_tlp = kind & 1,
                                .relaxed = kind & 2};
        double from = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
        struct cta_schedule *s = cta_search(&p);
        double took = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - from;
        assert_null(cta_infeasible(&p, s));
        print_message("kind %u: %u steps, %.3f s\n", kind, s->nsteps, took);
        assert_true(SANITIZED || took < 1);
        cta_schedule_free(s);
    }
    free(size);
}

/* Block i has lines i * own to i * own + size - 1: neighbours have size - own in common. */
struct sharing {
    uint64_t own, size;
};

static uint64_t
together(void *user, const uint32_t *blocks, size_t n)
{
    const struct sharing *s = user;
    uint64_t lines = s->size;
    for (size_t i = 1; i < n; i++)
        lines += blocks[i] - blocks[i - 1] == 1 && s->own < s->size ? s->own : s->size;
    return lines;
}

/* k blocks have size + (k - 1) * own lines: 100 + 9 * 20 = 280 is the last that fits 290. By
 * their sum two would. */
static void
window_counts_common_lines_once(void **state)
{
    static const struct {
        uint64_t own, size, capacity;
        uint32_t most, want;
    } rows[] = {{20, 100, 290, 64, 10}, {20, 100, 280, 64, 10},    {20, 100, 279, 64, 9},
                {20, 100, 50, 64, 1},   {100, 100, 290, 64, 2},    {20, 100, 290, 8, 8},
                {1, 100, 5000, 64, 64}, {1, 100, 5000, 1000, 1000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sharing s = {rows[i].own, rows[i].size};
        struct cta_problem p = {.blocks = 300,
                                .capacity = rows[i].capacity,
                                .max_tlp = rows[i].most,
                                .together = together,
                                .user = &s};
        struct cta_schedule *x = cta_window(&p);
        assert_int_equal(x->nsteps, 1);
        assert_int_equal(x->step[0].tlp, rows[i].want);
        for (uint32_t b = 0; b < p.blocks; b++)
            assert_int_equal(x->order[b], b);
        cta_schedule_free(x);
    }
}

/* The windows looked at: where they start, how many, how long. */
struct windows {
    uint64_t each; /* what a window has together */
    uint32_t length, n, start[64];
};

static uint64_t
note_window(void *user, const uint32_t *blocks, size_t n)
{
    struct windows *w = user;
    if (w->length != n)
        w->n = 0;
    w->length = (uint32_t)n;
    assert_true(w->n < 64);
    for (size_t i = 1; i < n; i++)
        assert_int_equal(blocks[i], blocks[0] + i);
    w->start[w->n++] = blocks[0];
    return w->each;
}

/* Of 101 starts, 32 windows from the first to the last; of 32 and fewer, all. */
static void
windows_are_spread_over_the_launch(void **state)
{
    struct windows w = {.each = 5};
    struct cta_problem p = {
        .blocks = 102, .capacity = 5, .max_tlp = 2, .together = note_window, .user = &w};
    cta_schedule_free(cta_window(&p));
    assert_int_equal(w.length, 2);
    assert_int_equal(w.n, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(w.start[i], 100 * i / 31);
    for (uint32_t blocks = 2; blocks <= 33; blocks++) {
        p.blocks = blocks;
        w.n = 0;
        cta_schedule_free(cta_window(&p));
        assert_int_equal(w.n, blocks - 1);
        for (uint32_t i = 0; i < w.n; i++)
            assert_int_equal(w.start[i], i);
    }
}

/* By LMF six blocks of size 1 go 4 + 2, which costs a change of the TLP, or 3 + 3 with k one
 * lower, which does not. */
static void
the_search_goes_on_below_the_largest_k(void **state)
{
    static const uint64_t size[6] = {1, 1, 1, 1, 1, 1};
    struct cta_problem p = {.blocks = 6,
                            .size = size,
                            .capacity = 100,
                            .max_tlp = 4,
                            .cps = 1,
                            .packer = packer_find("lmf")};
    struct cta_schedule *s = cta_search(&p);
    assert_null(cta_infeasible(&p, s));
    assert_int_equal(s->nsteps, 2);
    assert_int_equal(s->step[0].tlp, 3);
    assert_int_equal(s->step[1].tlp, 3);
    cta_schedule_free(s);
}

/* No items: no bins. */
static void
nothing_needs_no_bins(void **state)
{
    for (size_t i = 0; packer_at(i); i++) {
        const struct pack_items p = {.capacity = 10, .k = 3};
        assert_int_equal(packer_at(i)->pack(&p, NULL), 0);
    }
}

/* The least number of bins: by number, by the sum, and without the largest of each. */
static void
the_lower_bound_by_hand(void **state)
{
    const uint64_t size[] = {9, 8, 7, 6, 5, 3, 1, 1}; /* 40 */
    struct pack_items p = {.n = 8, .size = size, .capacity = 10, .k = 8};
    assert_int_equal(pack_lower_bound(&p, false), 4);
    p.capacity = 9; /* 40 of 36 */
    assert_int_equal(pack_lower_bound(&p, false), 5);
    p.capacity = 8; /* 9 counts as 8: 39 of 32, 40 */
    assert_int_equal(pack_lower_bound(&p, false), 5);
    p.k = 2;
    p.capacity = 100;
    assert_int_equal(pack_lower_bound(&p, false), 4);
    p.k = 3;
    assert_int_equal(pack_lower_bound(&p, false), 3);
    /* Open end, capacity 8: with two on top (8 + 8) 23 remain for 16, with three 16 for 24. */
    p.capacity = 8;
    p.k = 8;
    assert_int_equal(pack_lower_bound(&p, true), 3);
    /* 23 for two of 12: 9 and 8 on top, 7 + 6 + 5 + 3 + 1 + 1 below */
    p.capacity = 12;
    assert_int_equal(pack_lower_bound(&p, true), 2);
    p.capacity = 11;
    assert_int_equal(pack_lower_bound(&p, true), 3);
}

struct numbers {
    struct pack_items items; /* first: what fits() gets */
    uint32_t fits_from, tried[64], n;
};

static bool
fits_from(const struct pack_items *p, uint32_t bins, uint32_t *bin)
{
    struct numbers *x = (struct numbers *)(uintptr_t)p;
    (void)bin;
    assert_true(x->n < 64);
    x->tried[x->n++] = bins;
    return bins >= x->fits_from;
}

/* One bin more for the first seven failures, then 8 * 8 / 32 = 2, 9 * 9 / 32 = 2, 3; then
 * halves. The last number tried is the result. */
static void
the_number_of_bins_is_searched(void **state)
{
    for (uint32_t want = 3; want <= 400; want++) {
        struct numbers x = {.fits_from = want};
        assert_int_equal(pack_search(&x.items, 3, 400, fits_from, NULL), want);
        assert_int_equal(x.tried[0], 3);
        assert_int_equal(x.tried[x.n - 1], want);
        for (uint32_t i = 0; i < x.n; i++)
            assert_true(x.tried[i] <= 400);
    }
    static const uint32_t tried[] = {3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 15, 16};
    struct numbers x = {.fits_from = 16};
    assert_int_equal(pack_search(&x.items, 3, 400, fits_from, NULL), 16);
    assert_int_equal(x.n, sizeof tried / sizeof *tried);
    assert_memory_equal(x.tried, tried, sizeof tried);
    struct numbers from = {.items.least = 7, .fits_from = 2};
    assert_int_equal(pack_search(&from.items, 3, 400, fits_from, NULL), 7);
    assert_int_equal(from.n, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_4),
        cmocka_unit_test(lmf_is_first_fit_of_falling_sizes),
        cmocka_unit_test(iwfd_balances_levels),
        cmocka_unit_test(a_relaxed_step_holds_one_more),
        cmocka_unit_test(every_schedule_is_feasible),
        cmocka_unit_test(the_check_sees_what_is_wrong),
        cmocka_unit_test(the_static_tlp_lets_any_blocks_run_together),
        cmocka_unit_test(random_orders_are_equally_likely),
        cmocka_unit_test(many_blocks_take_less_than_a_second),
        cmocka_unit_test(window_counts_common_lines_once),
        cmocka_unit_test(windows_are_spread_over_the_launch),
        cmocka_unit_test(the_search_goes_on_below_the_largest_k),
        cmocka_unit_test(nothing_needs_no_bins),
        cmocka_unit_test(the_lower_bound_by_hand),
        cmocka_unit_test(the_number_of_bins_is_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
