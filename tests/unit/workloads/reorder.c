/* reorder.c: orders of threads and data (004 section 6.2): permutations, blocks of exact size,
 * clusters that share; against orders made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../../workloads/circuit.h"
#include "../../../workloads/mesh.h"
#include "../../../workloads/reorder.h"

#include <stdio.h>
#include <string.h>

enum { GROUP = 128 };

/* Without METIS there are none: what is asked for is refused. */
static void
needs_clusters(void)
{
    static const uint32_t first[] = {0, 1, 1}, to[] = {1};
    uint32_t place[2];
    if (order_has_clusters())
        return;
    for (int how = ORDER_CLUSTER; how < ORDERS; how++) {
        char params[24];
        struct allot_run r = {.ok = true, .params = params};
        snprintf(params, sizeof params, "order=%d", how);
        assert_int_equal(order_of(&r), ORDER_GIVEN);
        assert_false(r.ok);
        assert_false(order_items((enum item_order)how, 2, first, to, 1, 45, place));
    }
    print_message("skipped: this build is without METIS (libmetis-dev)\n");
    skip();
}

static void
is_permutation(const uint32_t *place, uint32_t n)
{
    uint8_t *seen = test_calloc(n, 1);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(place[i] < n);
        assert_int_equal(seen[place[i]]++, 0);
    }
    test_free(seen);
}

/* Edges whose ends are in different blocks. */
static uint32_t
cut(const struct mesh *m, const uint32_t *place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->nodes; i++)
        for (uint32_t e = m->first[i]; e < m->first[i + 1]; e++)
            n += place[i] / GROUP != place[m->to[e]] / GROUP;
    return n;
}

/* Edges within a warp, of those within a block: by the input's numbers 0.46, by chance 0.24. */
static double
in_warps(const struct mesh *m, const uint32_t *place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->nodes; i++)
        for (uint32_t e = m->first[i]; e < m->first[i + 1]; e++)
            n += place[i] / 32 == place[m->to[e]] / 32;
    return (double)n / (m->edges - cut(m, place));
}

/* Edges between blocks at most so far apart, of those between blocks. */
static double
near(const struct mesh *m, const uint32_t *place, uint32_t apart)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->nodes; i++)
        for (uint32_t e = m->first[i]; e < m->first[i + 1]; e++) {
            uint32_t a = place[i] / GROUP, b = place[m->to[e]] / GROUP;
            uint32_t far = a < b ? b - a : a - b;
            n += far && far <= apart;
        }
    return (double)n / cut(m, place);
}

/* foil, half of whose nodes are numbered at random: blocks cut few edges once clustered. */
static void
clusters_share(void **state)
{
    struct mesh m;
    needs_clusters();
    assert_true(mesh_make(&m, MESH_FOIL, false));
    uint32_t *place[ORDERS], edges[ORDERS];
    double close[ORDERS];
    for (int how = 0; how < ORDERS; how++) {
        place[how] = test_calloc(m.nodes, sizeof *place[how]);
        assert_true(order_items((enum item_order)how, m.nodes, m.first, m.to, GROUP, 45,
                                place[how]));
        is_permutation(place[how], m.nodes);
        edges[how] = cut(&m, place[how]);
        close[how] = near(&m, place[how], 45);
        print_message("order %d: %u edges cut, %.3f to 2 blocks around, %.3f to 45\n",
                      how, edges[how], near(&m, place[how], 2), close[how]);
    }
    for (uint32_t i = 0; i < m.nodes; i++)
        assert_int_equal(place[ORDER_GIVEN][i], i);
    /* A cube of 128 nodes of this lattice has 1.5 * 6 * 16 edges outwards of 950. */
    assert_true(edges[ORDER_CLUSTER] < m.edges / 2);
    assert_true(edges[ORDER_CLUSTER] < edges[ORDER_COALESCED]);
    assert_true(edges[ORDER_COALESCED] < edges[ORDER_GIVEN]);
    print_message("of edges within blocks, %.3f are within warps\n",
                  in_warps(&m, place[ORDER_SCATTERED]));
    assert_true(in_warps(&m, place[ORDER_CLUSTER]) > 0.6);
    assert_true(in_warps(&m, place[ORDER_REUSE]) > 0.6);
    assert_true(in_warps(&m, place[ORDER_SCATTERED]) > 0.6);
    assert_int_equal(edges[ORDER_REUSE], edges[ORDER_CLUSTER]);
    assert_true(close[ORDER_REUSE] > close[ORDER_CLUSTER]);
    assert_memory_equal(place[ORDER_THREADS], place[ORDER_CLUSTER],
                        m.nodes * sizeof *place[0]);
    assert_int_equal(edges[ORDER_SCATTERED], edges[ORDER_CLUSTER]);
    /* A window of one block: the next one shares with it, those further less. */
    const double next = near(&m, place[ORDER_REUSE], 1);
    assert_true(
        order_items(ORDER_REUSE, m.nodes, m.first, m.to, GROUP, 1, place[ORDER_REUSE]));
    print_message("window 45: %.3f to the next block, window 1: %.3f, %.3f to 45\n", next,
                  near(&m, place[ORDER_REUSE], 1), near(&m, place[ORDER_REUSE], 45));
    assert_true(near(&m, place[ORDER_REUSE], 1) > next);
    assert_true(near(&m, place[ORDER_REUSE], 45) < close[ORDER_REUSE]);
    /* Of pairs of 1131 blocks in a random order 8 % are within 45 places. */
    assert_true(close[ORDER_SCATTERED] < 0.1);
    for (int how = 0; how < ORDERS; how++)
        test_free(place[how]);
    mesh_free(&m);
}

/* 200 rings of two blocks each: one block of a ring follows the other, wherever METIS put
 * them. */
static void
what_shares_follows(void **state)
{
    enum { RINGS = 200, RING = 2 * GROUP, N = RINGS * RING };
    static uint32_t first[N + 1], to[N], place[N], at[N];
    needs_clusters();
    for (uint32_t p = 0; p < N;
         p++) /* an odd factor: node at[p] is the p-th of the rings */
        at[p] = (uint32_t)((uint64_t)p * 48611 % N);
    for (uint32_t p = 0; p < N; p++)
        first[at[p] + 1]++;
    for (uint32_t i = 0; i < N; i++)
        first[i + 1] += first[i];
    for (uint32_t p = 0; p < N; p++)
        to[first[at[p]]] = at[p % RING + 1 < RING ? p + 1 : p + 1 - RING];
    uint32_t cuts[2] = {0, 0}, apart[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        assert_true(
            order_items(k ? ORDER_REUSE : ORDER_CLUSTER, N, first, to, GROUP, 45, place));
        is_permutation(place, N);
        for (uint32_t p = 0; p < N; p++) {
            uint32_t q = p % RING + 1 < RING ? p + 1 : p + 1 - RING;
            uint32_t a = place[at[p]] / GROUP, b = place[at[q]] / GROUP;
            uint32_t far = a < b ? b - a : a - b;
            cuts[k] += far > 0;
            apart[k] += far > 45;
        }
    }
    print_message("%u and %u cuts, %u and %u of them far\n", cuts[0], cuts[1], apart[0],
                  apart[1]);
    assert_int_equal(cuts[0], cuts[1]);
    assert_true(cuts[0] >= 2 * RINGS && cuts[0] < 8 * RINGS);
    assert_true(apart[1] < apart[0] || !apart[0]);
}

static void
packing_is_by_first_touch(void **state)
{
    /* 0 touches 4, 1 touches 4 and 3, 2 nothing. */
    static const uint32_t first[] = {0, 1, 3, 3, 3, 3}, to[] = {4, 4, 3};
    static const uint32_t want[] = {0, 2, 4, 3, 1};
    uint32_t place[5];
    assert_true(order_items(ORDER_COALESCED, 5, first, to, 2, 45, place));
    assert_memory_equal(place, want, sizeof want);
}

static void
lists_are_in_the_order_of_threads(void **state)
{
    static const uint32_t first[] = {0, 1, 3, 3}, to[] = {2, 0, 2}, place[] = {2, 0, 1};
    static const uint32_t item[] = {1, 2, 0}, by[] = {0, 2, 2, 3}, list[] = {0, 2, 2};
    struct thread_lists l;
    assert_true(lists_by_thread(&l, 3, first, to, place));
    assert_memory_equal(l.item, item, sizeof item);
    assert_memory_equal(l.first, by, sizeof by);
    assert_memory_equal(l.to, list, sizeof list);
    lists_free(&l);
    assert_true(lists_by_thread(&l, 3, first, to, NULL));
    assert_memory_equal(l.first, first, sizeof first);
    assert_memory_equal(l.to, to, sizeof to);
    lists_free(&l);
}

/* Circuits numbered anew are the same circuit: types and fan-ins by the numbers that nodes
 * had, and each level is one run of numbers where launches are level by level. */
static void
circuits_stay_the_same(void **state)
{
    struct circuit c, d;
    struct allot_run given = {.ok = true, .params = "circuit=20"};
    const int most = order_has_clusters() ? ORDERS : ORDER_CLUSTER;
    assert_true(circuit_of(&given, &c, GROUP, true));
    for (int how = 1; how < most; how++) {
        char params[32];
        snprintf(params, sizeof params, "circuit=20 order=%d", how);
        struct allot_run r = {.ok = true, .params = params};
        assert_true(circuit_of(&r, &d, GROUP, true));
        assert_int_equal(d.nodes, c.nodes);
        assert_int_equal(d.levels, c.levels);
        assert_memory_equal(d.level, c.level, (c.levels + 1) * sizeof *c.level);
        for (uint32_t i = 0; i < c.nodes; i++) {
            uint32_t was = d.was ? d.was[i] : i;
            assert_int_equal(d.type[i], c.type[was]);
            assert_int_equal(d.first[i + 1] - d.first[i],
                             c.first[was + 1] - c.first[was]);
            for (uint32_t e = 0; e < d.first[i + 1] - d.first[i]; e++) {
                uint32_t f = d.from[d.first[i] + e];
                assert_int_equal(d.was ? d.was[f] : f, c.from[c.first[was] + e]);
            }
            if (how != ORDER_THREADS)
                assert_int_equal(d.order[i], i);
        }
        is_permutation(d.order, d.nodes);
        assert_true(how != ORDER_THREADS || !d.was);
        circuit_free(&d);
    }
    circuit_free(&c);
}

/* A mesh numbered anew has the same edges: coordinates go with the nodes. An edge stays in the
 * list that had it, so the other end may have the lower number. */
static void
meshes_stay_the_same(void **state)
{
    const int most = order_has_clusters() ? ORDERS : ORDER_CLUSTER;
    for (int how = 0; how < most; how++) {
        char params[32];
        struct mesh m;
        double sum = 0;
        snprintf(params, sizeof params, "order=%d", how);
        struct allot_run r = {.ok = true, .quick = true, .params = params};
        assert_true(mesh_of(&r, &m, MESH_FOIL, GROUP));
        assert_int_equal(m.nodes, 1000);
        assert_int_equal(m.edges, 6200);
        for (uint32_t i = 0; i < m.nodes; i++)
            for (uint32_t e = m.first[i]; e < m.first[i + 1]; e++) {
                const bool numbered = how && how != ORDER_THREADS;
                assert_true((numbered || m.to[e] > i) && m.to[e] != i);
                assert_true(m.to[e] < m.nodes);
                for (uint32_t k = 0; k < 3; k++) {
                    double far = m.at[k * m.nodes + i] - m.at[k * m.nodes + m.to[e]];
                    sum += far * far; /* multiples of 2^-20: sums are exact */
                }
            }
        static double first;
        first = how ? first : sum;
        assert_true(sum == first);
        assert_int_equal(m.thread != NULL, how == ORDER_THREADS);
        mesh_free(&m);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_share),
        cmocka_unit_test(what_shares_follows),
        cmocka_unit_test(packing_is_by_first_touch),
        cmocka_unit_test(lists_are_in_the_order_of_threads),
        cmocka_unit_test(circuits_stay_the_same),
        cmocka_unit_test(meshes_stay_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
