/* timing_machines.c: kernels that are hard on the memory side of an SM, on every machine file:
 * gathers of rows of unequal length, and every atomic operation on one address, several, all
 * lanes' own, with some lanes. Results are those of plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"
#include "base/splitmix.h"
#include "base/str.h"
#include "unit/kit/sanitized.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8 };

struct gpu {
    struct allot_diag *d;
    struct allot_machine *m;
    struct allot_device *dev;
    struct allot_module *mod;
};

static const char *core; /* clock.core; NULL: the machine's own */

/* The smallest GPU of the kind that the machine file describes: few SMs are the hardest. */
static void
open(struct gpu *g, const char *machine, const char *text, unsigned threads)
{
    char per[16], halves[16], sms[16];
    g->d = allot_diag_new();
    g->m = allot_machine_load(machine, g->d);
    assert_non_null(g->m);
    assert_true(allot_machine_get(g->m, "sm.per_cluster", per, sizeof per));
    assert_true(allot_machine_get(g->m, "partition.halves", halves, sizeof halves));
    snprintf(sms, sizeof sms, "%d", 2 * atoi(per) * atoi(halves));
    assert_true(allot_machine_set(g->m, "sm.count", sms, g->d));
    assert_true(!core || allot_machine_set(g->m, "clock.core", core, g->d));
    const struct allot_options o = {.threads = threads, .max_cycles = 20000000};
    g->dev = allot_device_new(g->m, &o, g->d);
    g->mod = g->dev ? allot_module_parse("k.ptx", text, strlen(text), g->d) : NULL;
    if (!g->mod)
        fail_msg("%s: %s", machine, allot_diag_text(g->d));
}

static void
close(struct gpu *g)
{
    allot_module_free(g->mod);
    allot_device_free(g->dev);
    allot_machine_free(g->m);
    allot_diag_free(g->d);
}

static uint64_t
buffer(struct gpu *g, const void *data, size_t bytes)
{
    uint64_t at = allot_alloc(g->dev, bytes, g->d);
    assert_true(at && allot_write(g->dev, at, data, bytes, g->d));
    return at;
}

static void
run(struct gpu *g, const char *machine, unsigned threads, const void *const *args,
    unsigned n)
{
    struct allot_launch l = {.module = g->mod,
                             .kernel = "k",
                             .grid = {BLOCKS, 1, 1},
                             .block = {threads, 1, 1},
                             .args = args,
                             .nargs = n};
    if (!allot_launch(g->dev, &l, g->d))
        fail_msg("%s: %s", machine, allot_diag_text(g->d));
}

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* y[r] = sum of x[col[k]] for k in row[r] .. row[r + 1] - 1 */
static const char gather[] = HEAD
    ".visible .entry k(.param .u64 row, .param .u64 col, .param .u64 x, .param .u64 y) {\n"
    ".reg .u64 %d<8>; .reg .u32 %r<8>; .reg .pred %p;\n"
    "ld.param.u64 %d0, [row]; ld.param.u64 %d1, [col];\n"
    "ld.param.u64 %d2, [x]; ld.param.u64 %d3, [y];\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n"
    "mad.lo.u32 %r0, %r1, %r2, %r0; mul.wide.u32 %d4, %r0, 4;\n"
    "add.u64 %d0, %d0, %d4; add.u64 %d3, %d3, %d4;\n"
    "ld.global.u32 %r1, [%d0]; ld.global.u32 %r2, [%d0+4]; mov.u32 %r3, 0;\n"
    "LOOP: setp.ge.u32 %p, %r1, %r2; @%p bra END;\n"
    "mul.wide.u32 %d4, %r1, 4; add.u64 %d4, %d1, %d4; ld.global.u32 %r4, [%d4];\n"
    "mul.wide.u32 %d4, %r4, 4; add.u64 %d4, %d2, %d4; ld.global.u32 %r4, [%d4];\n"
    "add.u32 %r3, %r3, %r4; add.u32 %r1, %r1, 1; bra LOOP;\n"
    "END: st.global.u32 [%d3], %r3; ret; }\n";

static void
gather_on(const char *machine)
{
    enum { ROWS = BLOCKS * 256, MEAN = 20, X = 1 << 16 };
    uint64_t state = 1;
    uint32_t *row = calloc(ROWS + 1, 4), *col = calloc(ROWS * 2 * MEAN, 4),
             *x = calloc(X, 4), *y = calloc(ROWS, 4);
    for (unsigned i = 0; i < ROWS; i++)
        row[i + 1] = row[i] + splitmix_next(&state) % (2 * MEAN) *
                                  (splitmix_next(&state) % 8 ? 1 : 0);
    for (unsigned i = 0; i < row[ROWS]; i++)
        col[i] = splitmix_next(&state) % X;
    for (unsigned i = 0; i < X; i++)
        x[i] = (uint32_t)splitmix_next(&state);
    struct gpu g;
    open(&g, machine, gather, 1);
    uint64_t a = buffer(&g, row, (ROWS + 1) * 4), b = buffer(&g, col, row[ROWS] * 4),
             c = buffer(&g, x, X * 4), d = buffer(&g, y, ROWS * 4);
    run(&g, machine, 256, (const void *[]){&a, &b, &c, &d}, 4);
    assert_true(allot_read(g.dev, d, y, ROWS * 4, g.d));
    for (unsigned i = 0; i < ROWS; i++) {
        uint32_t sum = 0;
        for (unsigned k = row[i]; k < row[i + 1]; k++)
            sum += x[col[k]];
        if (sum != y[i])
            fail_msg("%s: row %u", machine, i);
    }
    close(&g);
    free(row);
    free(col);
    free(x);
    free(y);
}

/* -- atomics -- */

enum { WORDS = 1024, THREADS = 64 };

/* Each operation has words of its own, at which a thread finds its word by a table. NONE: it
 * takes no part. %r1: what it gives, its number over the grid and 1; out gets what atom found. */
#define NONE UINT32_MAX

static uint64_t
op_add(uint64_t v, uint32_t give)
{
    return v + give;
}
static uint64_t
op_min(uint64_t v, uint32_t give)
{
    return v < give ? v : give;
}
static uint64_t
op_max(uint64_t v, uint32_t give)
{
    return v > give ? v : give;
}
static uint64_t
op_and(uint64_t v, uint32_t give)
{
    return v & ~(uint64_t)give;
}
static uint64_t
op_or(uint64_t v, uint32_t give)
{
    return v | give;
}
static uint64_t
op_xor(uint64_t v, uint32_t give)
{
    return v ^ give;
}
static uint64_t
op_inc(uint64_t v, uint32_t give)
{
    return (void)give, v >= 100 ? 0 : v + 1;
}
static uint64_t
op_dec(uint64_t v, uint32_t give)
{
    return (void)give, v == 0 || v > 100 ? 100 : v - 1;
}

static const struct op {
    const char *text;
    unsigned bytes;
    uint64_t first, (*next)(uint64_t v, uint32_t give);
} ops[] = {
    {"atom.global.add.u32 %r2, [%d0], %r1;", 4, 5, op_add},
    {"red.global.add.u32 [%d0], %r1;", 4, 5, op_add},
    {"atom.global.add.u64 %d5, [%d0], %d4;", 8, 1ull << 40, op_add},
    {"red.global.add.u64 [%d0], %d4;", 8, 7, op_add},
    {"atom.global.min.u32 %r2, [%d0], %r1;", 4, 77, op_min},
    {"red.global.max.u32 [%d0], %r1;", 4, 77, op_max},
    {"atom.global.max.s32 %r2, [%d0], %r1;", 4, 77, op_max},
    {"atom.global.and.b32 %r2, [%d0], %r3;", 4, 0xffffffff, op_and},
    {"red.global.or.b32 [%d0], %r1;", 4, 0, op_or},
    {"atom.global.xor.b32 %r2, [%d0], %r1;", 4, 9, op_xor},
    {"atom.global.xor.b64 %d5, [%d0], %d4;", 8, 1ull << 50, op_xor},
    {"atom.global.inc.u32 %r2, [%d0], 100;", 4, 99, op_inc},
    {"atom.global.dec.u32 %r2, [%d0], 100;", 4, 3, op_dec},
    /* each thread until it has added its number */
    {"ld.volatile.global.u32 %r4, [%d0];\n"
     "C: mov.u32 %r5, %r4; add.u32 %r6, %r4, %r1;\n"
     "atom.global.cas.b32 %r4, [%d0], %r5, %r6;\n"
     "setp.ne.u32 %q, %r4, %r5; @%q bra C;",
     4, 11, op_add},
    {"ld.volatile.global.u64 %d5, [%d0];\n"
     "D: mov.u64 %d6, %d5; add.u64 %d7, %d5, %d4;\n"
     "atom.global.cas.b64 %d5, [%d0], %d6, %d7;\n"
     "setp.ne.u64 %q, %d5, %d6; @%q bra D;",
     8, 1ull << 33, op_add},
    /* a lock, held by one lane at a time */
    {"mov.u32 %r7, 0;\n"
     "E: atom.global.exch.b32 %r2, [%d0+4], 1; setp.ne.u32 %q, %r2, 0; @%q bra F;\n"
     "ld.volatile.global.u32 %r4, [%d0]; add.u32 %r4, %r4, %r1;\n"
     "st.volatile.global.u32 [%d0], %r4; membar.gl;\n"
     "atom.global.exch.b32 %r2, [%d0+4], 0; mov.u32 %r7, 1;\n"
     "F: setp.eq.u32 %q, %r7, 0; @%q bra E;",
     8, 13, op_add},
};
enum { NOPS = sizeof ops / sizeof *ops };

static char *
atomics_text(void)
{
    struct strbuf b = {0};
    strbuf_addz(&b,
                HEAD ".visible .entry k(.param .u64 words, .param .u64 table) {\n"
                     ".reg .u64 %d<10>; .reg .u32 %r<10>; .reg .pred %p, %q;\n"
                     "ld.param.u64 %d1, [words]; ld.param.u64 %d2, [table];\n"
                     "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n"
                     "mad.lo.u32 %r1, %r1, %r2, %r0; mul.wide.u32 %d3, %r1, 4;\n"
                     "add.u64 %d2, %d2, %d3; ld.global.u32 %r0, [%d2];\n"
                     "add.u32 %r1, %r1, 1; not.b32 %r3, %r1; cvt.u64.u32 %d4, %r1;\n"
                     "setp.eq.u32 %p, %r0, 0xffffffff;\n@%p bra END;\n");
    for (unsigned i = 0; i < NOPS; i++)
        strbuf_printf(&b,
                      "mul.wide.u32 %%d0, %%r0, %u; add.u64 %%d0, %%d0, %%d1;\n"
                      "add.u64 %%d0, %%d0, %u;\n%s\n",
                      ops[i].bytes, i * WORDS * 8, ops[i].text);
    strbuf_addz(&b, "END: ret; }\n");
    return strbuf_take(&b);
}

/* Words of the grid's threads: which, and how hard. */
static uint32_t
place(unsigned pattern, unsigned thread, uint64_t *state)
{
    const uint32_t x = (uint32_t)splitmix_next(state);
    switch (pattern) {
    case 0: /* one address */
        return 0;
    case 1: /* several in one segment */
        return thread % 16;
    case 2: /* one of a lane's own */
        return thread;
    case 3: /* a segment for each */
        return thread * 33 % WORDS;
    case 4: /* some lanes, anywhere */
        return x % 3 ? NONE : x / 3 % WORDS;
    default: /* half of the warps' lanes, few addresses in two lines */
        return thread % 2 ? NONE : x % 2 * 32 + x / 2 % 3;
    }
}
enum { PATTERNS = 6 };

static void
atomics_on(const char *machine, unsigned pattern, unsigned threads)
{
    enum { ALL = BLOCKS * THREADS };
    uint64_t state = pattern;
    uint32_t table[ALL];
    uint64_t *want = calloc(NOPS * WORDS, 8), *got = calloc(NOPS * WORDS, 8);
    for (unsigned t = 0; t < ALL; t++)
        table[t] = place(pattern, t, &state);
    char *text = atomics_text();
    struct gpu g;
    open(&g, machine, text, threads);
    for (unsigned i = 0; i < NOPS; i++) {
        char *words = (char *)(want + i * WORDS);
        for (unsigned k = 0; k < WORDS; k++)
            memcpy(words + k * ops[i].bytes, &ops[i].first, ops[i].bytes);
    }
    uint64_t a = buffer(&g, want, NOPS * WORDS * 8), b = buffer(&g, table, sizeof table);
    run(&g, machine, THREADS, (const void *[]){&a, &b}, 2);
    assert_true(allot_read(g.dev, a, got, NOPS * WORDS * 8, g.d));
    for (unsigned i = 0; i < NOPS; i++)
        for (unsigned t = 0; t < ALL; t++) {
            if (table[t] == NONE)
                continue;
            char *at = (char *)(want + i * WORDS) + table[t] * ops[i].bytes;
            uint64_t v = 0;
            memcpy(&v, at, ops[i].bytes);
            v = ops[i].next(v, t + 1);
            memcpy(at, &v, ops[i].bytes);
        }
    for (unsigned i = 0; i < NOPS; i++)
        if (memcmp(want + i * WORDS, got + i * WORDS, WORDS * 8))
            fail_msg("%s: %s: pattern %u, %u threads", machine, ops[i].text, pattern,
                     threads);
    close(&g);
    free(text);
    free(want);
    free(got);
}

/* -- */

static void
each_machine(void (*test)(const char *machine))
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    char **names = allot_machine_names();
    for (unsigned i = 0; names[i]; i++)
        if (in_sample(i, 3) || !strcmp(names[i], "003-gtx285"))
            test(names[i]);
    allot_names_free(names);
}

static void
unequal_gathers_run(void **state)
{
    (void)state;
    each_machine(gather_on);
}

static void
cores_slower_than_the_interconnect_run(void **state)
{
    (void)state;
    static const char *const clocks[] = {"10", "50", "100", "200"};
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        core = clocks[i];
        gather_on("gtx480");
    }
    core = NULL;
}

static void
atomics_of(const char *machine)
{
    for (unsigned p = 0; p < PATTERNS; p++)
        atomics_on(machine, p, p == 4 ? 3 : 1);
}

static void
every_atomic_ends_and_is_right(void **state)
{
    (void)state;
    each_machine(atomics_of);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unequal_gathers_run),
        cmocka_unit_test(cores_slower_than_the_interconnect_run),
        cmocka_unit_test(every_atomic_ends_and_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
