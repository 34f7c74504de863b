/* relssp.c: the placement of relssp on thousands of random control-flow graphs, judged on
 * the transformed text by walking paths, not by the equations that placed it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/cfg.h"
#include "passes/pass.h"
#include "base/splitmix.h"
#include "ptx/parse.h"
#include "ptx/print.h"

#include <stdlib.h>
#include <string.h>

/* A kernel of n blocks: random branches, loops, indexed branches, early and guarded
 * exits, accesses (one in `rare` blocks). */
static char *
random_kernel(uint64_t seed, unsigned n, unsigned rare)
{
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 7.0\n.target sm_70\n.address_size 64\n"
                    ".shared .b8 S[64];\n.visible .entry k(.param .u32 p) {\n"
                    ".reg .b32 %r<4>;\n.reg .pred %p<9>;\n");
    for (unsigned i = 0; i < n; i++) {
        strbuf_printf(&b, "B%u:\n", i);
        if (splitmix_next(&seed) % 3)
            strbuf_addz(&b, "add.s32 %r1, %r1, 1;\n");
        if (splitmix_next(&seed) % rare == 0)
            strbuf_addz(&b, splitmix_next(&seed) % 4 ? "st.shared.u32 [S], %r1;\n"
                                                     : "@%p2 st.shared.u32 [S], %r1;\n");
        if (splitmix_next(&seed) % 2)
            strbuf_addz(&b, "add.s32 %r2, %r2, 1;\n");
        unsigned a = (unsigned)(splitmix_next(&seed) % n),
                 c = (unsigned)(splitmix_next(&seed) % n);
        switch (splitmix_next(&seed) % 10) {
        case 0:
            strbuf_addz(&b, "ret;\n");
            break;
        case 1:
            strbuf_printf(&b, "bra B%u;\n", a);
            break;
        case 2:
            strbuf_addz(&b, splitmix_next(&seed) % 2 ? "@%p1 exit;\n" : "@!%p1 exit;\n");
            break;
        case 3:
            strbuf_printf(&b, "T%u: .branchtargets B%u, B%u;\nbrx.idx %%r1, T%u;\n", i, a,
                          c, i);
            break;
        case 4:
        case 5:
        case 6:
        case 7:
            strbuf_printf(&b, "@%%p1 bra B%u;\n", a);
            break;
        default: /* falls through */
            break;
        }
    }
    strbuf_addz(&b, splitmix_next(&seed) % 4 ? "ret;\n}\n" : "}\n");
    return strbuf_take(&b);
}

static struct ptx_module *
parse(const char *text)
{
    struct diag_sink d = {0};
    struct ptx_module *m = ptx_parse("test.ptx", text, strlen(text), &d);
    if (!m) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        fail_msg("%s\n%s", b.s, text);
    }
    diag_free(&d);
    return m;
}

static bool
is_access(const struct ptx_inst *in)
{
    return in->op == PTX_OP_ST;
}

static bool
is_release(const struct ptx_inst *in)
{
    return in->op == PTX_OP_RELSSP;
}

/* Can an access come at or after instruction `at` of block v? A plain search. */
static bool
access_ahead(const struct cfg *g, uint32_t v, uint32_t at)
{
    const struct ptx_inst *body = g->func->body.v;
    for (uint32_t i = at; i < g->block[v].end; i++)
        if (is_access(&body[i]))
            return true;
    bool *seen = calloc(g->n, 1), found = false;
    uint32_t *todo = calloc(g->n + 1, sizeof *todo), n = 0;
    for (uint32_t i = 0; i < g->block[v].nsucc; i++)
        if (g->block[v].succ[i] >= 0 && !seen[g->block[v].succ[i]]) {
            seen[g->block[v].succ[i]] = true;
            todo[n++] = (uint32_t)g->block[v].succ[i];
        }
    while (n && !found) {
        uint32_t b = todo[--n];
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++)
            found |= is_access(&body[i]);
        for (uint32_t i = 0; i < g->block[b].nsucc; i++)
            if (g->block[b].succ[i] >= 0 && !seen[g->block[b].succ[i]]) {
                seen[g->block[b].succ[i]] = true;
                todo[n++] = (uint32_t)g->block[b].succ[i];
            }
    }
    free(seen);
    free(todo);
    return found;
}

enum { NEVER = 1, ONCE = 2, AGAIN = 4 }; /* how often relssp may have been executed */

static unsigned
after_release(unsigned s)
{
    return (s & NEVER ? ONCE : 0) | (s & (ONCE | AGAIN) ? AGAIN : 0);
}

static void
judge(const char *text, const char *mode)
{
    struct ptx_module *m = parse(text);
    struct diag_sink d = {0};
    struct strbuf line = {0};
    strbuf_printf(&line, "relssp:threshold=0.1:mode=%s", mode);
    const struct ptx_func *f = ptx_find_func(m, "k");
    struct cfg *old = cfg_new(f);
    bool any = false; /* an access that can be reached */
    for (uint32_t r = 0; r < old->nrpo; r++)
        for (uint32_t i = old->block[old->rpo[r]].first; i < old->block[old->rpo[r]].end;
             i++)
            any |= is_access(&f->body.v[i]);
    cfg_free(old);
    if (!pass_run(m, line.s, NULL, NULL, &d)) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        fail_msg("%s\n%s", b.s, text);
    }
    struct strbuf printed = {0};
    ptx_print(m, &printed);
#define FAIL(what) fail_msg("%s, %s:\n%s\n==>\n%s", mode, what, text, printed.s)
    struct cfg *g = cfg_new(f);
    const struct ptx_inst *body = f->body.v;
    unsigned *in = calloc(g->n + 1, sizeof *in);
    in[0] = NEVER;
    bool found = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = 0; r < g->nrpo; r++) {
            const struct cfg_block *b = &g->block[g->rpo[r]];
            unsigned s = in[g->rpo[r]];
            for (uint32_t i = b->first; i < b->end; i++) {
                found |= is_release(&body[i]);
                if (!is_release(&body[i]) || body[i].guard < 0)
                    s = is_release(&body[i]) ? after_release(s) : s;
            }
            for (uint32_t e = 0; e < b->nsucc; e++)
                if (b->succ[e] >= 0 && (in[b->succ[e]] | s) != in[b->succ[e]]) {
                    in[b->succ[e]] |= s;
                    changed = true;
                }
        }
    }
    if (found && !any)
        FAIL("relssp and no access");
    for (uint32_t r = 0; r < g->nrpo && any; r++) {
        uint32_t v = g->rpo[r];
        const struct cfg_block *b = &g->block[v];
        unsigned s = in[v];
        for (uint32_t i = b->first; i < b->end; i++) {
            if (is_access(&body[i]) && s & (ONCE | AGAIN))
                FAIL("an access after relssp");
            if (is_release(&body[i]) && body[i].guard >= 0) {
                /* only right before an exit under the same guard */
                const struct ptx_inst *x = &body[i + 1];
                if (i + 1 >= b->end || !(ptx_ops[x->op].flags & PTX_ENDS) ||
                    x->guard != body[i].guard || x->guard_neg != body[i].guard_neg)
                    FAIL("a guarded relssp that is not at an exit");
                if (s != NEVER)
                    FAIL("twice on a path that leaves");
                continue;
            }
            if (!is_release(&body[i]))
                continue;
            if (s != NEVER)
                FAIL("twice on a path");
            if (access_ahead(g, v, i))
                FAIL("before an access");
            s = after_release(s);
        }
        for (uint32_t e = 0; e < b->nsucc; e++) {
            if (b->succ[e] != CFG_EXIT)
                continue;
            const struct ptx_inst *x = b->end > b->first ? &body[b->end - 1] : NULL;
            bool guarded = x && b->nsucc > 1 && ptx_ops[x->op].flags & PTX_ENDS &&
                           x->guard >= 0 && b->end - b->first > 1 && is_release(x - 1) &&
                           x[-1].guard == x->guard;
            if (!guarded && s != ONCE)
                FAIL("a path that ends without exactly one relssp");
        }
    }
    /* Optimal: one step earlier would not be safe for each. */
    for (uint32_t i = 0; i < f->body.n && !strcmp(mode, "optimal"); i++) {
        uint32_t v = g->block_of[i];
        if (!is_release(&body[i]) || body[i].guard >= 0 || g->block[v].rpo < 0)
            continue;
        uint32_t k = i;
        while (k > g->block[v].first && ptx_ops[body[k - 1].op].flags & PTX_PSEUDO)
            k--;
        if (k > g->block[v].first) {
            if (!is_access(&body[k - 1]))
                FAIL("could stand earlier in its block");
            continue;
        }
        bool blocked = false; /* some predecessor can still come to an access */
        for (uint32_t e = 0; e < g->block[v].npred; e++) {
            uint32_t p = (uint32_t)g->block[v].pred[e];
            blocked |= g->block[p].rpo >= 0 && access_ahead(g, p, g->block[p].end);
        }
        if (!blocked)
            FAIL("could stand in its predecessors");
    }
#undef FAIL
    free(in);
    cfg_free(g);
    strbuf_free(&printed);
    strbuf_free(&line);
    diag_free(&d);
    ptx_module_free(m);
}

static void
random_graphs(void **st)
{
    (void)st;
    static const char *const modes[] = {"optimal", "postdom", "exit"};
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        char *text =
            random_kernel(seed, 1 + (unsigned)(seed % 11), 1 + (unsigned)(seed / 11 % 5));
        for (int k = 0; k < 3; k++)
            judge(text, modes[k]);
        free(text);
    }
}

static void
settings_are_checked(void **st)
{
    (void)st;
    static const char *const bad[][2] = {
        {"relssp:mode=soon", "give optimal, postdom or exit"},
        {"relssp:threshold=2", "give a number from 0 to 1"},
        {"relssp:threshold=x", "give a number from 0 to 1"},
        {"relssp:when=now", "has no setting 'when'"},
        {"relssp:mode", "is not KEY=VALUE"},
        {"relsp", "no pass is called 'relsp'"},
    };
    char *text = random_kernel(1, 3, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ptx_module *m = parse(text);
        struct diag_sink d = {0};
        struct strbuf b = {0};
        assert_false(pass_run(m, bad[i][0], NULL, NULL, &d));
        diag_print(&d, &b);
        if (!strstr(b.s, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], b.s);
        strbuf_free(&b);
        diag_free(&d);
        ptx_module_free(m);
    }
    free(text);
}

static void
defaults_and_report(void **st)
{
    (void)st;
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.shared .b8 S[64];\n"
        ".shared .b8 P[8];\n.visible .entry k() {\nst.shared.u32 [P], 1;\nret;\n}\n"
        ".visible .entry l() {\nst.shared.u32 [S+60], 1;\nret;\n}\n";
    struct diag_sink d = {0};
    struct strbuf words = {0};
    const struct pass_key all_private[] = {{.key = "threshold", .value = "1"}, {0}};
    struct ptx_module *m = parse(text), *same = parse(text);
    /* Nothing is shared at t = 1, be it by the caller's default or by the text. */
    assert_true(pass_run(m, "relssp", all_private, &words, &d));
    assert_true(ptx_equal(m, same, NULL));
    assert_non_null(strstr(words.s, "k: no relssp"));
    /* The text goes before the caller's default. */
    assert_true(pass_run(m, "relssp:threshold=0.5", all_private, &words, &d));
    assert_false(ptx_equal(m, same, NULL));
    if (!strstr(words.s, "l: relssp (optimal) at 1 place: before line 12"))
        fail_msg("%s", words.s);
    /* Again: what is there stays. */
    size_t n = ptx_find_func(m, "l")->body.n;
    assert_true(pass_run(m, "relssp:threshold=0.5", NULL, &words, &d));
    assert_int_equal(ptx_find_func(m, "l")->body.n, n);
    assert_true(pass_run(m, "strip-extensions", NULL, &words, &d));
    assert_true(ptx_equal(m, same, NULL));
    strbuf_free(&words);
    diag_free(&d);
    ptx_module_free(m);
    ptx_module_free(same);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(defaults_and_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
