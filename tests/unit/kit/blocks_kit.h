/* blocks_kit.h: random kernels with scratchpad, loops, barriers and threads that part, for
 * tests of what blocks do with their scratchpad. Blocks and grids of one to three
 * dimensions. */
#ifndef TESTS_BLOCKS_KIT_H
#define TESTS_BLOCKS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"
#include "base/str.h"
#include "passes/pass.h"
#include "runtime/runtime.h"
#include "unit/kit/sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 * 12, ARRAYS = 3 };

/* Kernels that a test draws: $ALLOT_RANDOM_TIMES as many if that is set. */
static inline unsigned
blocks_kernels(void)
{
    const char *times = getenv("ALLOT_RANDOM_TIMES");
    return (SANITIZED ? 40 : 300) * (times ? (unsigned)atoi(times) : 1);
}

struct gen {
    struct strbuf b;
    uint64_t state;
    unsigned n, labels, loops, depth; /* n: threads of a block */
    unsigned fresh, preds;            /* registers %x<> and %z<> so far */
    bool rewrites;                    /* arrays are written as a whole before each read,
                                       * also in all loops and in what some blocks do */
    unsigned whole; /* arrays that have been written as a whole on every way here */
    uint32_t grid[3], block[3], dynamic; /* bytes of extern arrays */
};

static unsigned
pick(struct gen *g, unsigned n)
{
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(g->state >> 33) % n;
}

static void list(struct gen *g, unsigned n);

/* A register that is written once: the compiler can follow its values. */
static unsigned
fresh(struct gen *g)
{
    return g->fresh++;
}

/* %xN = address of word `lin * factor + add` of the n of a half of array a; N. */
static unsigned
place(struct gen *g, unsigned a, unsigned factor, unsigned add, unsigned half)
{
    const unsigned x = fresh(g);
    strbuf_printf(&g->b,
                  "mov.u32 %%x%u, s%u;\nmad.lo.u32 %%x%u, %%lin, %u, %u;\n"
                  "rem.u32 %%x%u, %%x%u, %u;\nadd.u32 %%x%u, %%x%u, %u;\n"
                  "mad.lo.u32 %%x%u, %%x%u, 4, %%x%u;\n",
                  x, a, x + 1, factor, add, x + 2, x + 1, g->n, x + 3, x + 2, half * g->n,
                  x + 4, x + 3, x);
    g->fresh += 4;
    return x + 4;
}

/* %v = a value for word %k, loaded; perhaps threads part on the way, or it takes a loop. */
static void
load(struct gen *g)
{
    const unsigned l = g->labels;
    strbuf_printf(&g->b, "ld.global.u32 %%v, [%%at];\nadd.u32 %%v, %%v, %%k;\n");
    switch (pick(g, 8)) {
    case 0:
        strbuf_printf(&g->b,
                      "and.b32 %%t, %%k, %u;\nsetp.eq.u32 %%f, %%t, 0;\n@%%f bra L%u;\n"
                      "xor.b32 %%v, %%v, %%acc;\nL%u:\n",
                      1 + pick(g, 7), l, l);
        g->labels++;
        break;
    case 1:
        strbuf_printf(&g->b,
                      "and.b32 %%t, %%k, 3;\nL%u:\nmad.lo.u32 %%v, %%v, 3, %%t;\n"
                      "sub.u32 %%t, %%t, 1;\nsetp.gt.s32 %%f, %%t, 0;\n@%%f bra L%u;\n",
                      l, l);
        g->labels++;
        break;
    case 2: /* what one turn hands on to the next */
        strbuf_printf(&g->b, "mad.lo.u32 %%acc, %%acc, 5, %%v;\n");
        break;
    case 3: /* the same, where some threads have no part in it */
        strbuf_printf(&g->b,
                      "setp.lt.u32 %%f, %%k, %u;\n@%%f add.u32 %%acc, %%acc, %%v;\n",
                      pick(g, 2 * g->n));
        break;
    default:
        break;
    }
}

/* Loops that load and fill array a: thread k words k, k + step ..., so that some threads
 * have a turn more than others, or none; or its own two words again and again. */
static void
fill(struct gen *g, unsigned a)
{
    const unsigned l = g->labels;
    g->labels += 2;
    strbuf_printf(&g->b, "mov.u32 %%k, %%lin;\n");
    if (pick(g, 3)) {
        const unsigned step = g->n / 4 + 1 + pick(g, g->n - g->n / 4);
        strbuf_printf(&g->b, "setp.ge.u32 %%p, %%lin, %u;\n@%%p bra L%u;\nL%u:\n", step,
                      l + 1, l);
        load(g);
        strbuf_printf(&g->b,
                      "mov.u32 %%a, s%u;\nmad.lo.u32 %%w, %%k, 4, %%a;\n"
                      "st.shared.u32 [%%w], %%v;\nadd.u32 %%k, %%k, %u;\n"
                      "setp.lt.u32 %%p, %%k, %u;\n@%%p bra L%u;\nL%u:\n",
                      a, step, 2 * g->n, l, l + 1);
    } else {
        strbuf_printf(&g->b,
                      "mov.u32 %%e, %u;\nsetp.lt.u32 %%p, %%lin, %u;\n"
                      "@%%p add.u32 %%e, %%e, %u;\nL%u:\n",
                      2 * g->n, pick(g, g->n), g->n * pick(g, 4), l);
        load(g);
        strbuf_printf(
            &g->b,
            "rem.u32 %%w, %%k, %u;\nmov.u32 %%a, s%u;\n"
            "mad.lo.u32 %%w, %%w, 4, %%a;\nst.shared.u32 [%%w], %%v;\n"
            "add.u32 %%k, %%k, %u;\nsetp.lt.u32 %%p, %%k, %%e;\n@%%p bra L%u;\n",
            2 * g->n, a, g->n, l);
    }
    if (pick(g, 4) == 0) /* what it leaves */
        strbuf_printf(&g->b, "add.u32 %%acc, %%acc, %%k;\n");
}

/* All threads write both halves of array a, in one of several ways. */
static void
define(struct gen *g, unsigned a)
{
    const unsigned factor = 1 + 2 * (2 + pick(g, 2)), add = pick(g, 50), x = fresh(g);
    switch (g->rewrites ? 5 * pick(g, 2) : pick(g, 6)) {
    case 0: /* in a loop, thread by thread */
        strbuf_printf(&g->b,
                      "mov.u32 %%k, %%lin;\nL%u:\nmov.u32 %%x%u, s%u;\n"
                      "mad.lo.u32 %%w, %%k, 4, %%x%u;\nadd.u32 %%v, %%acc, %%k;\n"
                      "st.shared.u32 [%%w], %%v;\nadd.u32 %%k, %%k, %u;\n"
                      "setp.lt.u32 %%p, %%k, %u;\n@%%p bra L%u;\n",
                      g->labels, x, a, x, g->n, 2 * g->n, g->labels);
        g->labels++;
        break;
    case 1: /* a half each, under guards that are known */
        for (unsigned half = 0; half < 2; half++) {
            const unsigned w = place(g, a, factor, add, half);
            strbuf_printf(&g->b,
                          "setp.lt.u32 %%z%u, %%lin, %u;\n"
                          "@%%z%u st.shared.u32 [%%x%u], %%acc;\n"
                          "@!%%z%u st.shared.u32 [%%x%u], %%lin;\n",
                          g->preds, pick(g, g->n), g->preds, w, g->preds, w);
            g->preds++;
        }
        break;
    case 2: /* where the compiler cannot follow */
        strbuf_printf(&g->b,
                      "mov.u32 %%a, s%u;\nadd.u32 %%w, %%a, %%lin4;\n"
                      "st.shared.u32 [%%w], %%acc;\nst.shared.u32 [%%w+%u], %%acc;\n",
                      a, 4 * g->n);
        break;
    case 3:
    case 4:
        fill(g, a);
        break;
    default:
        for (unsigned half = 0; half < 2; half++)
            strbuf_printf(&g->b, "st.shared.u32 [%%x%u], %%acc;\n",
                          place(g, a, factor, add, half));
    }
}

/* acc += what another thread wrote: all write, or write again in part. */
static void
exchange(struct gen *g)
{
    const unsigned a = pick(g, ARRAYS), c = 1 + pick(g, g->n - 1);
    if (g->whole & 1u << a && !g->rewrites &&
        pick(g, 3) == 0) { /* a half; the other one stays */
        strbuf_printf(&g->b, "st.shared.u32 [%%x%u], %%acc;\n",
                      place(g, a, 5, pick(g, 9), pick(g, 2)));
    } else {
        define(g, a);
        g->whole |= g->depth == 1 ? 1u << a : 0;
    }
    strbuf_printf(&g->b, "bar.sync 0;\n");
    if (pick(g, 3) == 0) /* threads part, and some define again */
        strbuf_printf(&g->b,
                      "and.b32 %%t, %%lin, %u;\nsetp.ne.u32 %%p, %%t, 0;\n"
                      "mov.u32 %%a, s%u;\nadd.u32 %%w, %%a, %%lin4;\n"
                      "@%%p bra L%u;\nst.shared.u32 [%%w], %u;\nL%u:\nbar.sync 0;\n",
                      1 + pick(g, 40), a, g->labels, pick(g, 99), g->labels),
            g->labels++;
    if (pick(g, 2)) {
        strbuf_printf(&g->b, "ld.shared.u32 %%v, [%%x%u];\n",
                      place(g, a, 1, c, pick(g, 2)));
    } else {
        strbuf_printf(&g->b,
                      "mov.u32 %%a, s%u;\nadd.u32 %%t, %%lin, %u;\n"
                      "rem.u32 %%t, %%t, %u;\nshl.b32 %%t, %%t, 2;\n"
                      "add.u32 %%t, %%a, %%t;\nld.shared.u32 %%v, [%%t];\n",
                      a, c, 2 * g->n);
    }
    strbuf_printf(&g->b, "add.u32 %%acc, %%acc, %%v;\nbar.sync %s;\n",
                  pick(g, 4) ? "0" : "2");
}

static void
compute(struct gen *g)
{
    static const char *const sources[] = {
        "%tid.x",    "%tid.y",  "%tid.z",    "%ctaid.x",  "%ctaid.y", "%ctaid.z",
        "%nctaid.x", "%ntid.z", "%nctaid.y", "%nctaid.z", "%laneid",  "%ntid.x"};
    strbuf_printf(&g->b, "mov.u32 %%t, %s;\nmad.lo.u32 %%acc, %%acc, %u, %%t;\n",
                  sources[pick(g, 12)], 3 + 2 * pick(g, 50));
    if (pick(g, 3) == 0)
        strbuf_printf(&g->b, "ld.global.u32 %%v, [%%at];\nxor.b32 %%acc, %%acc, %%v;\n");
}

static void
across(struct gen *g)
{
    switch (pick(g, 3)) {
    case 0:
        strbuf_printf(&g->b,
                      "shfl.sync.bfly.b32 %%v, %%acc, %u, 31, -1;\n"
                      "add.u32 %%acc, %%acc, %%v;\n",
                      1u << pick(g, 5));
        break;
    case 1:
        strbuf_printf(&g->b, "setp.lt.u32 %%p, %%acc, 0x80000000;\n"
                             "bar.red.popc.u32 %%v, 0, %%p;\n"
                             "add.u32 %%acc, %%acc, %%v;\n");
        break;
    default:
        strbuf_printf(&g->b,
                      "setp.lt.u32 %%p, %%lin, %u;\n"
                      "vote.sync.ballot.b32 %%v, %%p, -1;\n"
                      "add.u32 %%acc, %%acc, %%v;\n",
                      pick(g, g->n));
    }
}

/* A loop, of as many turns in all blocks or not. */
static void
loop(struct gen *g)
{
    const unsigned i = g->loops++, l = g->labels++;
    if (pick(g, g->rewrites ? 2 : 3) == 0)
        strbuf_printf(&g->b, "and.b32 %%u, %%bid, 3;\nadd.u32 %%i%u, %%u, 1;\n", i);
    else if (pick(g, 2))
        strbuf_printf(&g->b, "ld.param.u32 %%i%u, [turns];\n", i);
    else
        strbuf_printf(&g->b, "mov.u32 %%i%u, %u;\n", i, 1 + pick(g, 3));
    strbuf_printf(&g->b, "L%u:\n", l);
    if (g->rewrites)
        exchange(g);
    list(g, 1 + pick(g, 3));
    strbuf_printf(&g->b,
                  "sub.u32 %%i%u, %%i%u, 1;\nsetp.ne.u32 %%q%u, %%i%u, 0;\n"
                  "@%%q%u bra L%u;\n",
                  i, i, i, i, i, l);
}

/* What some blocks do, with scratchpad; or some threads, without. */
static void
branch(struct gen *g)
{
    const unsigned l = g->labels++;
    const bool blocks = pick(g, 2);
    strbuf_printf(&g->b,
                  "and.b32 %%%c, %s, %u;\nsetp.eq.u32 %%%c, %%%c, 0;\n@%%%c bra L%u;\n",
                  blocks ? 'u' : 't', blocks ? "%bid" : "%lin", 1 + pick(g, 7),
                  blocks ? 'b' : 'p', blocks ? 'u' : 't', blocks ? 'b' : 'p', l);
    if (blocks && g->rewrites)
        exchange(g);
    if (blocks)
        list(g, 1 + pick(g, 2));
    else
        compute(g);
    strbuf_printf(&g->b, "L%u:\n", l);
}

static void
list(struct gen *g, unsigned n)
{
    g->depth++;
    while (n--) {
        unsigned what = pick(g, 10);
        if (what < 3)
            compute(g);
        else if (what < 6)
            exchange(g);
        else if (what == 6)
            across(g);
        else if (what == 7)
            branch(g);
        else if (g->depth < 4 && g->loops < 8)
            loop(g);
    }
    g->depth--;
}

static inline char *
kernel(struct gen *g)
{
    static const uint32_t blocks[][3] = {{32, 1, 1}, {64, 1, 1}, {16, 4, 1},
                                         {8, 4, 2},  {4, 4, 4},  {96, 1, 1}};
    static const uint32_t grids[][3] = {{2, 1, 1}, {3, 1, 1}, {7, 1, 1}, {4, 3, 1},
                                        {1, 5, 1}, {1, 2, 3}, {3, 1, 3}, {8, 1, 1}};
    memcpy(g->block, blocks[pick(g, 6)], sizeof g->block);
    memcpy(g->grid, grids[pick(g, 8)], sizeof g->grid);
    g->n = g->block[0] * g->block[1] * g->block[2];
    list(g, 2 + pick(g, 5));
    exchange(g);
    list(g, 1 + pick(g, 3));
    struct strbuf body = g->b;
    g->b = (struct strbuf){0};
    strbuf_printf(
        &g->b,
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u32 turns)\n{\n"
        ".reg .pred %%p, %%b, %%f, %%q<9>, %%z<%u>;\n.reg .b32 %%t, %%u, %%v, %%w, %%a, %%k, %%e, "
        "%%acc, %%lin, %%lin4, %%bid, %%gid, %%i<9>, %%h<12>, %%x<%u>;\n.reg .b64 %%at;\n",
        g->preds + 1, g->fresh + 1);
    for (unsigned i = 0; i < ARRAYS; i++)
        strbuf_printf(&g->b, ".shared .align 4 .b8 s%u[%u];\n", i, 8 * g->n);
    strbuf_printf(&g->b,
                  "mov.u32 %%h0, %%tid.z;\nmov.u32 %%h1, %%ntid.y;\n"
                  "mul.lo.u32 %%h2, %%h0, %%h1;\nmov.u32 %%h3, %%tid.y;\n"
                  "add.u32 %%h4, %%h2, %%h3;\nmov.u32 %%h5, %%ntid.x;\n"
                  "mov.u32 %%h6, %%tid.x;\nmad.lo.u32 %%lin, %%h4, %%h5, %%h6;\n"
                  "shl.b32 %%lin4, %%lin, 2;\nmov.u32 %%bid, %%ctaid.z;\n"
                  "mov.u32 %%h7, %%nctaid.y;\nmov.u32 %%u, %%ctaid.y;\n"
                  "mad.lo.u32 %%bid, %%bid, %%h7, %%u;\nmov.u32 %%h8, %%nctaid.x;\n"
                  "mov.u32 %%u, %%ctaid.x;\nmad.lo.u32 %%bid, %%bid, %%h8, %%u;\n"
                  "mad.lo.u32 %%gid, %%bid, %u, %%lin;\nld.param.u64 %%at, [out];\n"
                  "mad.wide.u32 %%at, %%gid, 4, %%at;\nmov.u32 %%acc, %%gid;\n",
                  g->n);
    strbuf_printf(&g->b, "%sst.global.u32 [%%at], %%acc;\nret;\n}\n", body.s);
    strbuf_free(&body);
    return g->b.s;
}

/* The memory that kernel g leaves after these passes; *merged is raised if its blocks are
 * merged. */
static inline void
blocks_memory(const struct gen *g, uint64_t seed, const char *passes, bool functional,
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
    struct allot_launch l = {.module = m,
                             .kernel = "k",
                             .args = args,
                             .nargs = 2,
                             .dynamic_scratchpad = g->dynamic};
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

/* What passes tell of kernel k in its launch on a machine, which is freed; the caller frees it. */
static inline char *
blocks_report_on(struct allot_machine *machine, const struct strbuf *text,
                 struct pass_launch l, const char *passes)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_parse("k.ptx", text->s, text->n, d);
    l.kernel = "k";
    char *report = m ? rt_passes_report(m, machine, "k", passes, &l, d) : NULL;
    if (!report)
        fail_msg("%s", allot_diag_text(d));
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return report;
}

static inline char *
blocks_report(const struct gen *g, const char *passes)
{
    struct pass_launch l = {.dynamic_scratchpad = g->dynamic};
    memcpy(l.grid, g->grid, sizeof l.grid);
    memcpy(l.block, g->block, sizeof l.block);
    return blocks_report_on(allot_machine_load("gtx480", NULL), &g->b, l, passes);
}

static inline void
blocks_same(const struct gen *g, uint64_t seed, const char *passes, bool functional,
            const uint32_t *want, const uint32_t *got)
{
    for (unsigned i = 0; i < MOST; i++)
        if (got[i] != want[i]) {
            puts(g->b.s); /* too long for cmocka */
            fail_msg("kernel %llu, grid %u %u %u, block %u %u %u, %s%s: word %u is %x, "
                     "not %x",
                     (unsigned long long)seed, g->grid[0], g->grid[1], g->grid[2],
                     g->block[0], g->block[1], g->block[2], passes,
                     functional ? "" : ", simulated", i, got[i], want[i]);
        }
}

#endif
