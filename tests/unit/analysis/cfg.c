/* Control flow facts against brute force: a dominates b if b cannot be reached from the
 * entry once a is taken out (post-dominators: the exit cannot be reached from b). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/cfg.h"

#include <string.h>

/* -- functions made by hand: one label per block, then `body` instructions, then the end
 * -- */

struct maker {
    struct ptx_module m;
    struct ptx_func f;
};

static struct ptx_inst *
add(struct maker *k, enum ptx_op op, unsigned nops)
{
    struct ptx_inst *in = vec_push(&k->f.body);
    in->op = (uint16_t)op;
    in->guard = -1;
    in->nops = (uint8_t)nops;
    in->ops = ARENA_ARRAY(&k->m.mem, struct ptx_operand, nops + 1);
    return in;
}

static void
label(struct maker *k, int32_t l)
{
    struct ptx_inst *in = add(k, PTX_OP_LABEL, 1);
    in->ops[0].kind = PTX_OPD_LABEL;
    in->ops[0].label = l;
    while (k->f.labels.n <= (size_t)l)
        vec_push(&k->f.labels)->name = "L";
}

static void
bra(struct maker *k, int32_t l, int32_t guard)
{
    struct ptx_inst *in = add(k, PTX_OP_BRA, 1);
    in->ops[0].kind = PTX_OPD_LABEL;
    in->ops[0].label = l;
    in->guard = guard;
}

static void
done(struct maker *k)
{
    vec_free(&k->f.body);
    vec_free(&k->f.labels);
    arena_free(&k->m.mem);
}

/* -- fixed shapes -- */

static void
if_else_meets_behind(void **state)
{
    struct maker k = {0};
    bra(&k, 0, 0);             /* block 0: @p bra ELSE */
    add(&k, PTX_OP_MEMBAR, 0); /* block 1: then */
    bra(&k, 1, -1);            /*          bra JOIN */
    label(&k, 0);              /* block 2: ELSE */
    add(&k, PTX_OP_MEMBAR, 0);
    label(&k, 1); /* block 3: JOIN */
    add(&k, PTX_OP_EXIT, 0);
    struct cfg *g = cfg_new(&k.f);
    assert_int_equal(g->n, 4);
    assert_int_equal(g->block[0].nsucc, 2);
    assert_int_equal(g->block[0].succ[0], 2);
    assert_int_equal(g->block[0].succ[1], 1);
    assert_int_equal(g->block[0].ipdom, 3);
    assert_int_equal(g->block[1].ipdom, 3);
    assert_int_equal(g->block[2].ipdom, 3);
    assert_int_equal(g->block[3].ipdom, CFG_EXIT);
    assert_int_equal(g->block[3].idom, 0);
    assert_int_equal(g->block[0].idom, CFG_NONE);
    assert_int_equal(g->block[3].npred, 2);
    assert_int_equal(g->block[3].pred[0], 1);
    assert_int_equal(g->block[3].pred[1], 2);
    assert_true(cfg_dominates(g, 0, 3));
    assert_false(cfg_dominates(g, 1, 3));
    assert_true(cfg_postdominates(g, 3, 0));
    assert_true(cfg_postdominates(g, CFG_EXIT, 0));
    assert_false(cfg_postdominates(g, 2, 0));
    cfg_free(g);
    done(&k);
}

static void
guarded_exit_goes_both_ways(void **state)
{
    struct maker k = {0};
    add(&k, PTX_OP_EXIT, 0)->guard = 0; /* block 0: @p exit */
    add(&k, PTX_OP_RET, 0);             /* block 1 */
    struct cfg *g = cfg_new(&k.f);
    assert_int_equal(g->n, 2);
    assert_int_equal(g->block[0].nsucc, 2);
    assert_int_equal(g->block[0].succ[0], CFG_EXIT);
    assert_int_equal(g->block[0].succ[1], 1);
    assert_int_equal(g->block[0].ipdom, CFG_EXIT);
    cfg_free(g);
    done(&k);
}

static void
endless_loop_has_no_postdominator(void **state)
{
    struct maker k = {0};
    bra(&k, 1, 0); /* block 0 */
    label(&k, 0);  /* block 1: for (;;) */
    bra(&k, 0, -1);
    label(&k, 1); /* block 2 */
    add(&k, PTX_OP_EXIT, 0);
    struct cfg *g = cfg_new(&k.f);
    assert_int_equal(g->block[1].ipdom, CFG_NONE);
    assert_int_equal(g->block[0].ipdom, 2);
    cfg_free(g);
    done(&k);
}

static void
unreachable_code_and_empty_bodies(void **state)
{
    struct maker k = {0};
    struct cfg *g = cfg_new(&k.f);
    assert_int_equal(g->n, 1);
    assert_int_equal(g->block[0].succ[0], CFG_EXIT);
    cfg_free(g);
    add(&k, PTX_OP_EXIT, 0);
    add(&k, PTX_OP_MEMBAR, 0); /* block 1: never reached, runs off the end */
    g = cfg_new(&k.f);
    assert_int_equal(g->n, 2);
    assert_int_equal(g->block[1].rpo, -1);
    assert_int_equal(g->block[1].idom, CFG_NONE);
    assert_int_equal(g->block[1].ipdom, CFG_EXIT);
    assert_int_equal(g->nrpo, 1);
    cfg_free(g);
    done(&k);
}

static void
calls_do_not_end_blocks(void **state)
{
    struct maker k = {0};
    add(&k, PTX_OP_MEMBAR, 0);
    add(&k, PTX_OP_CALL, 0);
    add(&k, PTX_OP_MEMBAR, 0);
    add(&k, PTX_OP_RET, 0);
    struct cfg *g = cfg_new(&k.f);
    assert_int_equal(g->n, 1);
    assert_int_equal(g->block[0].end, 4);
    cfg_free(g);
    done(&k);
}

/* -- random graphs -- */

enum { MAXN = 20 };

static uint64_t seed = 42;
static uint32_t
rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Nodes reachable from `from` without entering `without`. Node n is the exit. */
static uint64_t
reach(const struct cfg *g, int from, int without)
{
    uint64_t seen = 0, todo = (uint64_t)1 << from;
    if (from == without)
        return 0;
    while (todo) {
        int v = __builtin_ctzll(todo);
        todo &= todo - 1;
        if (seen >> v & 1)
            continue;
        seen |= (uint64_t)1 << v;
        if (v == (int)g->n)
            continue;
        for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
            int t = g->block[v].succ[i] < 0 ? (int)g->n : g->block[v].succ[i];
            if (t != without && !(seen >> t & 1))
                todo |= (uint64_t)1 << t;
        }
    }
    return seen;
}

static void
random_graphs_match_brute_force(void **state)
{
    for (int round = 0; round < 5000; round++) {
        struct maker k = {0};
        int nblocks = 1 + (int)rnd(MAXN);
        for (int b = 0; b < nblocks; b++) {
            label(&k, b);
            add(&k, PTX_OP_MEMBAR, 0);
            switch (rnd(8)) {
            case 0:
                add(&k, PTX_OP_EXIT, 0);
                break;
            case 1:
                add(&k, PTX_OP_RET, 0)->guard = 0;
                break;
            case 2:
                bra(&k, (int32_t)rnd((uint32_t)nblocks), -1);
                break;
            case 3:
                break; /* falls through */
            default:
                bra(&k, (int32_t)rnd((uint32_t)nblocks), 0);
                break;
            }
        }
        struct cfg *g = cfg_new(&k.f);
        assert_int_equal(g->n, nblocks);
        int n = nblocks, exit = nblocks;
        uint64_t from_entry = reach(g, 0, -1);
        uint64_t dom[MAXN + 1] = {0}, pdom[MAXN + 1] = {0};
        for (int a = 0; a <= n; a++) {
            uint64_t r = reach(g, 0, a);
            for (int b = 0; b <= n; b++) {
                if (a == b || !(r >> b & 1))
                    dom[b] |= (uint64_t)1 << a;
                if (a == b || !(reach(g, b, a) >> exit & 1))
                    pdom[b] |= (uint64_t)1 << a;
            }
        }
        for (int b = 0; b < n; b++) {
            bool reached = from_entry >> b & 1, ends = reach(g, b, -1) >> exit & 1;
            assert_int_equal(g->block[b].rpo >= 0, reached);
            int idom = CFG_NONE, ipdom = CFG_NONE;
            for (int a = 0; a <= n && reached; a++)
                if (a != b && dom[b] >> a & 1 && (dom[a] | (uint64_t)1 << b) == dom[b])
                    idom = a;
            for (int a = 0; a <= n && ends; a++)
                if (a != b && pdom[b] >> a & 1 && (pdom[a] | (uint64_t)1 << b) == pdom[b])
                    ipdom = a == exit ? CFG_EXIT : a;
            assert_int_equal(g->block[b].idom, idom);
            assert_int_equal(g->block[b].ipdom, ipdom);
            for (int a = 0; a < n; a++) {
                assert_int_equal(cfg_dominates(g, a, b),
                                 reached && from_entry >> a & 1 && dom[b] >> a & 1);
                assert_int_equal(cfg_postdominates(g, a, b), ends && pdom[b] >> a & 1);
            }
        }
        /* Predecessors are the successors turned round; reverse post-order is an order in
         * which every block but the first has an earlier predecessor. */
        for (int b = 0; b < n; b++)
            for (uint32_t i = 0; i < g->block[b].nsucc; i++) {
                int t = g->block[b].succ[i], found = t < 0;
                for (uint32_t p = 0; t >= 0 && p < g->block[t].npred; p++)
                    found += g->block[t].pred[p] == b;
                assert_int_equal(found, 1);
            }
        for (uint32_t i = 1; i < g->nrpo; i++) {
            const struct cfg_block *b = &g->block[g->rpo[i]];
            bool earlier = false;
            for (uint32_t p = 0; p < b->npred; p++) {
                int32_t at = g->block[b->pred[p]].rpo;
                earlier |= at >= 0 && at < (int32_t)i;
            }
            assert_true(earlier);
        }
        cfg_free(g);
        done(&k);
    }
}

static void
deep_graphs_do_not_overflow_the_stack(void **state)
{
    struct maker k = {0};
    enum { N = 20000 };
    for (int b = 0; b < N; b++)
        add(&k, PTX_OP_EXIT, 0)->guard = 0; /* each a block */
    struct cfg *g = cfg_new(&k.f);
    assert_int_equal(g->n, N);
    assert_int_equal(g->block[N - 1].idom, N - 2);
    assert_int_equal(g->block[0].ipdom, CFG_EXIT);
    cfg_free(g);
    done(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(if_else_meets_behind),
        cmocka_unit_test(guarded_exit_goes_both_ways),
        cmocka_unit_test(endless_loop_has_no_postdominator),
        cmocka_unit_test(unreachable_code_and_empty_bodies),
        cmocka_unit_test(calls_do_not_end_blocks),
        cmocka_unit_test(random_graphs_match_brute_force),
        cmocka_unit_test(deep_graphs_do_not_overflow_the_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
