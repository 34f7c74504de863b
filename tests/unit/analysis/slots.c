/* slots.c: scratchpad slots of 002 section 3.2: Figures 2 and 3, a call graph, and random
 * call graphs against a list of all composition instructions. */
#include "unit/kit/exec_kit.h"

#include "analysis/slots.h"
#include "base/bitset.h"

enum { PROCS = 4, POINTS = 6, VARS = 8 };

struct graph {
    struct slots_proc proc[PROCS];
    struct slots_point point[PROCS][POINTS];
    uint64_t live[PROCS][POINTS];
    uint8_t words[PROCS][VARS];
    uint32_t n;
};

static void
begin(struct graph *g, uint32_t nprocs)
{
    *g = (struct graph){.n = nprocs};
    for (uint32_t p = 0; p < nprocs; p++) {
        g->proc[p] = (struct slots_proc){VARS, 0, g->words[p], g->point[p]};
        for (int v = 0; v < VARS; v++)
            g->words[p][v] = 1;
    }
}

static void
point(struct graph *g, uint32_t p, uint64_t live, int32_t callee)
{
    uint32_t i = g->proc[p].npoints++;
    g->live[p][i] = live;
    g->point[p][i] = (struct slots_point){&g->live[p][i], callee};
}

/* v3, v4, v5 are left of Figure 2 once v1 and v2 have registers; one slot. */
static void
figure2(void **state)
{
    struct arena mem = {0};
    struct graph g;
    struct slots s;
    (void)state;
    begin(&g, 1);
    point(&g, 0, 1u << 3 | 1u << 4, SLOTS_NONE);
    point(&g, 0, 1u << 4 | 1u << 5, SLOTS_NONE);
    assert_true(slots_assign(g.proc, 1, 1, SLOTS_MOST_FREQUENT, &mem, &s));
    assert_int_equal(s.pruned, 1); /* as in the figure */
    assert_int_equal(s.of[0].slot[3][0], 0);
    assert_int_equal(s.of[0].slot[4][0], SLOTS_NONE);
    assert_int_equal(s.of[0].slot[5][0], 0);
    assert_true(slots_assign(g.proc, 1, 1, SLOTS_LEAST_FREQUENT, &mem, &s));
    assert_int_equal(s.pruned, 2); /* as the text says */
    assert_int_equal(s.of[0].slot[3][0], SLOTS_NONE);
    assert_int_equal(s.of[0].slot[4][0], 0);
    assert_int_equal(s.of[0].slot[5][0], SLOTS_NONE);
    arena_free(&mem);
}

/* A, B, C with four slots each; A calls B with its slots 1 and 3 live, B calls C with 2
 * and 3. Colouring may choose other slots, so homes are set as in the figure. */
static void
figure3(void **state)
{
    struct arena mem = {0};
    struct graph g;
    struct slots s;
    struct slots_move move[4];
    uint32_t height;
    (void)state;
    begin(&g, 3);
    for (uint32_t p = 0; p < 3; p++)
        point(&g, p, 0xf, SLOTS_NONE);
    point(&g, 0, 0x5, 1);
    point(&g, 1, 0x6, 2);
    assert_true(slots_assign(g.proc, 3, 8, SLOTS_LEAST_FREQUENT, &mem, &s));
    assert_int_equal(s.pruned + s.uncoloured, 0);
    assert_int_equal(s.of[0].max_live, 8);
    for (uint32_t p = 0; p < 3; p++) {
        assert_int_equal(s.of[p].nslots, 4);
        for (int v = 0; v < 4; v++)
            s.of[p].slot[v][0] = v;
    }
    assert_int_equal(slots_height(g.proc, 3, &s, SLOTS_TRADITIONAL), 12);
    assert_int_equal(slots_height(g.proc, 3, &s, SLOTS_REGISTER_STACK), 10);
    assert_int_equal(slots_height(g.proc, 3, &s, SLOTS_MOVING_STACK), 8);
    assert_int_equal(slots_shuffle(&g.proc[0], &s.of[0], &g.point[0][1], move, &height),
                     1); /* La3 to the second slot */
    assert_int_equal(move[0].from, 2);
    assert_int_equal(move[0].to, 1);
    assert_int_equal(height, 2);
    assert_int_equal(slots_shuffle(&g.proc[1], &s.of[1], &g.point[1][1], move, &height),
                     1); /* Lb3 to Lb1 */
    assert_int_equal(move[0].from, 2);
    assert_int_equal(move[0].to, 0);
    assert_int_equal(height, 2);
    arena_free(&mem);
}

/* The callee alone fits; below the kernel's calls it does not, so variables of both are
 * ranked together. */
static void
across_procedures(void **state)
{
    struct arena mem = {0};
    struct graph g;
    struct slots s;
    (void)state;
    begin(&g, 2);
    point(&g, 0, 0x3, 1);
    point(&g, 0, 0x1, 1);
    point(&g, 1, 0x3, SLOTS_NONE);
    point(&g, 1, 0x1, SLOTS_NONE);
    /* sums: 2, 2+2, 2+1, 1, 1+2, 1+1; over 3: one, with all four variables */
    assert_true(slots_assign(g.proc, 2, 3, SLOTS_LEAST_FREQUENT, &mem, &s));
    assert_int_equal(s.pruned, 1);
    assert_int_equal(s.of[0].slot[0][0], SLOTS_NONE); /* all equal: the first */
    /* over 2: {0,1|0,1}, {0,1|0}, {0|0,1}: variables 0 occur
     * three times, variables 1 twice: first the kernel's 1, then the callee's */
    assert_true(slots_assign(g.proc, 2, 2, SLOTS_LEAST_FREQUENT, &mem, &s));
    assert_int_equal(s.pruned, 2);
    assert_int_equal(s.of[0].slot[1][0], SLOTS_NONE);
    assert_int_equal(s.of[1].slot[1][0], SLOTS_NONE);
    assert_true(s.of[0].slot[0][0] >= 0 && s.of[1].slot[0][0] >= 0);
    assert_int_equal(slots_height(g.proc, 2, &s, SLOTS_MOVING_STACK), 2);
    g.point[1][0].callee = 0; /* recursion */
    assert_false(slots_assign(g.proc, 2, 2, SLOTS_LEAST_FREQUENT, &mem, &s));
    arena_free(&mem);
}

/* -- against all composition instructions, listed -- */

static uint64_t rng;

static uint32_t
draw(uint32_t n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng >> 33) % n;
}

struct list {
    const struct graph *g;
    uint64_t stay[PROCS];
    uint64_t freq[PROCS * VARS];
    uint32_t limit, most;
    struct {
        uint32_t proc;
        uint64_t live;
    } chain[PROCS];
};

static void
walk(struct list *l, uint32_t p, uint32_t depth, uint32_t below)
{
    const struct slots_proc *f = &l->g->proc[p];
    for (uint32_t i = 0; i < f->npoints; i++) {
        uint32_t n = below;
        l->chain[depth].proc = p;
        l->chain[depth].live = *f->point[i].live & l->stay[p];
        for (uint32_t v = 0; v < VARS; v++)
            n += l->chain[depth].live >> v & 1 ? f->words[v] : 0;
        l->most = n > l->most ? n : l->most;
        for (uint32_t d = 0; n > l->limit && d <= depth; d++)
            for (uint32_t v = 0; v < VARS; v++)
                l->freq[l->chain[d].proc * VARS + v] += l->chain[d].live >> v & 1;
        if (f->point[i].callee >= 0)
            walk(l, (uint32_t)f->point[i].callee, depth + 1, n);
    }
}

static void
random_graph(struct graph *g)
{
    begin(g, 1 + draw(PROCS));
    for (uint32_t p = 0; p < g->n; p++) {
        for (int v = 0; v < VARS; v++)
            g->words[p][v] = (uint8_t)(1 + draw(2));
        for (uint32_t i = 1 + draw(POINTS); i--;)
            point(g, p, draw(1 << VARS) & draw(1 << VARS),
                  p + 1 < g->n && draw(3) ? (int32_t)(p + 1 + draw(g->n - p - 1))
                                          : SLOTS_NONE);
    }
}

static void
check_homes(const struct graph *g, const struct slots *s, const uint64_t *stay)
{
    uint32_t lost = 0;
    for (uint32_t p = 0; p < g->n; p++)
        for (uint32_t i = 0; i < g->proc[p].npoints; i++) {
            uint64_t used = 0;
            for (uint32_t v = 0; v < VARS; v++)
                for (uint32_t k = 0; g->live[p][i] >> v & 1 && k < g->words[p][v]; k++) {
                    int32_t at = s->of[p].slot[v][k];
                    if (at < 0)
                        continue;
                    assert_true(stay[p] >> v & 1);
                    assert_false(used >> at & 1);
                    assert_true((uint32_t)at < s->of[p].nslots);
                    used |= (uint64_t)1 << at;
                }
        }
    for (uint32_t p = 0; p < g->n; p++)
        for (uint32_t v = 0; v < VARS; v++)
            lost += (stay[p] >> v & 1) && s->of[p].slot[v][0] < 0;
    assert_true(lost >= s->uncoloured); /* and procedures that nothing calls */
}

static void
random_graphs(void **state)
{
    uint32_t pruned = 0;
    (void)state;
    for (rng = 1; rng <= 2000; rng++) {
        uint64_t seed = rng;
        struct arena mem = {0};
        struct graph g;
        struct slots s;
        random_graph(&g);
        struct list l = {.g = &g, .limit = draw(16)};
        enum slots_rule rule = draw(2) ? SLOTS_LEAST_FREQUENT : SLOTS_MOST_FREQUENT;
        memset(l.stay, 0xff, sizeof l.stay);
        walk(&l, 0, 0, 0);
        struct list at_first = l;
        uint32_t gone = 0;
        while (l.most > l.limit) {
            int32_t best = -1;
            for (int32_t k = 0; k < PROCS * VARS; k++) {
                uint64_t f = at_first.freq[k];
                if (!f || !(l.stay[k / VARS] >> k % VARS & 1))
                    continue;
                if (best < 0 || (rule == SLOTS_LEAST_FREQUENT ? f < at_first.freq[best]
                                                              : f >= at_first.freq[best]))
                    best = k;
            }
            assert_true(best >= 0);
            l.stay[best / VARS] &= ~((uint64_t)1 << best % VARS);
            gone++;
            l.most = 0;
            walk(&l, 0, 0, 0);
        }
        assert_true(slots_assign(g.proc, g.n, l.limit, rule, &mem, &s));
        assert_int_equal(s.pruned, gone);
        assert_int_equal(s.of[0].max_live, l.most);
        check_homes(&g, &s, l.stay);
        assert_true(slots_height(g.proc, g.n, &s, SLOTS_MOVING_STACK) <= l.limit);
        assert_true(slots_height(g.proc, g.n, &s, SLOTS_MOVING_STACK) <=
                    slots_height(g.proc, g.n, &s, SLOTS_REGISTER_STACK));
        pruned += gone;
        arena_free(&mem);
        rng = seed;
    }
    assert_true(pruned > 2000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure2), cmocka_unit_test(figure3),
        cmocka_unit_test(across_procedures), cmocka_unit_test(random_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
