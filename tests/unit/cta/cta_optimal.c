/* cta_optimal.c: the packers and the search against exact solutions.
 *
 * An instance is small enough that all sets of blocks that make a step can be listed. With
 * one binary variable a set, the least number of steps is a set partition that GLPK solves.
 * For Problem 1, y[t] says that a step of t blocks occurs; sorted by TLP there are (number
 * of different t) - 1 synchronisations (Lemma 3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cta/search.h"
#include "unit/kit/random_kit.h"
#include "unit/kit/skip.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 14 };

struct instance {
    uint64_t size[LARGEST];
    struct cta_problem p;
};

/* Sizes of kind 0: any; 1: small beside the capacity; 2: around a third of it; 3: a few
 * large and many small. */
static void
make(struct instance *in, uint64_t seed, bool relaxed)
{
    uint64_t state = seed;
    unsigned kind = seed % 4;
    uint32_t n = (uint32_t)random_in(&state, 8, kind == 1 ? 12 : LARGEST);
    *in = (struct instance){.p = {.blocks = n,
                                  .capacity = 1000,
                                  .max_tlp = (uint32_t)random_in(&state, 2, 6),
                                  .cps = (double)random_in(&state, 1, 100) / 100,
                                  .relaxed = relaxed}};
    static const uint64_t range[4][2] = {{1, 1000}, {50, 400}, {200, 450}, {20, 150}};
    for (uint32_t i = 0; i < n; i++)
        in->size[i] = kind == 3 && i < n / 3
                          ? random_in(&state, 400, 900)
                          : random_in(&state, range[kind][0], range[kind][1]);
    in->p.size = in->size;
}

#ifdef HAVE_GLPK
#include <glpk.h>

/* A set of blocks that fits one step. */
static bool
fits(const struct cta_problem *p, uint32_t set)
{
    uint64_t sum = 0, most = 0;
    for (uint32_t i = 0; i < p->blocks; i++)
        if (set >> i & 1) {
            sum += p->size[i];
            most = p->size[i] > most ? p->size[i] : most;
        }
    return (uint32_t)__builtin_popcount(set) <= p->max_tlp &&
           sum - (p->relaxed ? most : 0) <= p->capacity;
}

/* No block can be added: without costs of TLPs such sets alone need be looked at. */
static bool
maximal(const struct cta_problem *p, uint32_t set)
{
    for (uint32_t i = 0; i < p->blocks; i++)
        if (!(set >> i & 1) && fits(p, set | 1u << i))
            return false;
    return true;
}

static void
column(glp_prob *lp, uint32_t set, double cost, int nrow, const int *row,
       const double *value)
{
    int c = glp_add_cols(lp, 1);
    (void)set;
    glp_set_col_kind(lp, c, GLP_BV);
    glp_set_obj_coef(lp, c, cost);
    glp_set_mat_col(lp, c, nrow, row, value);
}

/* The least steps + cps * synchronisations; with cps 0 the least number of steps. */
static double
optimum(const struct cta_problem *p, double cps)
{
    glp_prob *lp = glp_create_prob();
    glp_set_obj_dir(lp, GLP_MIN);
    int n = (int)p->blocks, k = (int)p->max_tlp;
    bool tlps = cps > 0;
    glp_add_rows(lp, n + (tlps ? k : 0));
    for (int i = 1; i <= n; i++)
        glp_set_row_bnds(lp, i, tlps ? GLP_FX : GLP_LO, 1, 1);
    for (int t = 1; tlps && t <= k; t++) /* sum of steps with t blocks <= n y[t] */
        glp_set_row_bnds(lp, n + t, GLP_UP, 0, 0);
    int row[LARGEST + 2];
    double value[LARGEST + 2];
    for (uint32_t set = 1; set < 1u << n; set++) {
        if (!fits(p, set) || (!tlps && !maximal(p, set)))
            continue;
        int c = 0;
        for (int i = 0; i < n; i++)
            if (set >> i & 1) {
                row[++c] = i + 1;
                value[c] = 1;
            }
        if (tlps) {
            row[++c] = n + __builtin_popcount(set);
            value[c] = 1;
        }
        column(lp, set, 1, c, row, value);
    }
    for (int t = 1; tlps && t <= k; t++) {
        row[1] = n + t;
        value[1] = -n;
        column(lp, 0, cps, 1, row, value);
    }
    glp_iocp o;
    glp_init_iocp(&o);
    o.msg_lev = GLP_MSG_OFF;
    o.presolve = GLP_ON;
    assert_int_equal(glp_intopt(lp, &o), 0);
    assert_int_equal(glp_mip_status(lp), GLP_OPT);
    double best = glp_mip_obj_val(lp) - cps;
    glp_delete_prob(lp);
    return best;
}
#else
static double
optimum(const struct cta_problem *p, double cps)
{
    SKIP_NEEDS("libglpk-dev");
    return 0;
}
#endif

static int
falling(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

enum { INSTANCES = 200 };

/* The bound of each packer from its source, as a * OPT + b. */
static double
bound(const char *name, double k, double opt)
{
    if (!strcmp(name, "lmf"))
        return (2 - 2 / k) * opt + 1;
    if (!strcmp(name, "iwfd"))
        return 4.0 / 3 * opt + 4.0 / 3;
    if (!strcmp(name, "glanf"))
        return 1.5 * opt + 1;
    return 35.0 / 18 * opt + 1; /* mxf */
}

/* On average within 2 % of the least number of steps, each packer by itself; never below
 * it (that would be infeasible), never above its bound. */
static void
packers_come_near_the_optimum(void **state)
{
    double sum[8] = {0}, least[2] = {0};
    for (uint64_t seed = 1; seed <= INSTANCES; seed++)
        for (int relaxed = 0; relaxed < 2; relaxed++) {
            struct instance in;
            make(&in, seed, relaxed);
            const struct cta_problem *p = &in.p;
            double opt = optimum(p, 0);
            least[relaxed] += opt;
            qsort(in.size, p->blocks, sizeof *in.size, falling);
            struct pack_items items = {p->blocks, in.size, p->capacity, p->max_tlp, 0};
            assert_true(pack_lower_bound(&items, relaxed) <= opt);
            for (size_t i = 0; packer_at(i); i++) {
                const struct packer *packer = packer_at(i);
                if (packer->open_end != relaxed)
                    continue;
                uint32_t bin[LARGEST];
                uint32_t m = packer->pack(&items, bin);
                assert_true(m >= opt);
                assert_true(m <= bound(packer->name, p->max_tlp, opt));
                sum[i] += m;
            }
        }
    for (size_t i = 0; packer_at(i); i++) {
        double over = sum[i] / least[packer_at(i)->open_end] - 1;
        print_message("%s: %.2f %% above the optimum\n", packer_at(i)->name, 100 * over);
        assert_true(over <= 0.02);
    }
}

/* The search: feasible, steps within 2 % of the least number on average. */
static void
the_search_comes_near_the_least_steps(void **state)
{
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        double sum = 0, least = 0;
        for (uint64_t seed = 1; seed <= INSTANCES; seed++) {
            struct instance in;
            make(&in, seed + 10000, relaxed);
            struct cta_schedule *s = cta_search(&in.p);
            assert_null(cta_infeasible(&in.p, s));
            sum += s->nsteps;
            least += optimum(&in.p, 0);
            cta_schedule_free(s);
        }
        print_message("search%s: %.2f %% above the optimum\n", relaxed ? ", relaxed" : "",
                      100 * (sum / least - 1));
        assert_true(sum / least <= 1.02);
    }
}

/* The cost with synchronisations is never below the exact one, and Lemma 2 holds. */
static void
the_cost_is_at_least_the_optimum(void **state)
{
    double sum = 0, least = 0;
    for (uint64_t seed = 1; seed <= INSTANCES / 5; seed++) {
        struct instance in;
        make(&in, seed + 20000, seed % 2);
        in.p.blocks = in.p.blocks < 10 ? in.p.blocks : 10;
        struct cta_schedule *s = cta_search(&in.p);
        double cost = cta_cost(s, in.p.cps), opt = optimum(&in.p, in.p.cps);
        assert_null(cta_infeasible(&in.p, s));
        assert_true(cost >= opt - 1e-6);
        assert_true(cost <= s->nsteps * (in.p.cps + 1) - in.p.cps + 1e-9);
        sum += cost;
        least += opt;
        cta_schedule_free(s);
    }
    print_message("cost: %.1f %% above the optimum\n", 100 * (sum / least - 1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packers_come_near_the_optimum),
        cmocka_unit_test(the_search_comes_near_the_least_steps),
        cmocka_unit_test(the_cost_is_at_least_the_optimum),
    };
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
