/* regions.c: levels of registers and blocks, and where scratchpad access regions begin and
 * end, on cases decided by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/regions.h"
#include "analysis/uniform.h"
#include "ptx/parse.h"

#include <string.h>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n.const .b32 c[2];\n"
#define OPEN                                                                             \
    ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<9>;\n"          \
    ".reg .b32 %r<20>;\n.reg .b64 %d<4>;\n.shared .align 4 .b8 A[256];\n"                \
    ".shared .align 4 .b8 B[256];\nld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n"     \
    "mov.u32 %r2, %ctaid.x;\nld.param.u32 %r3, [n];\n"

static struct ptx_module *
parse(const char *body, struct strbuf *text)
{
    struct diag_sink d = {0};
    strbuf_printf(text, "%s%s%s}\n", HEAD, OPEN, body);
    struct ptx_module *m = ptx_parse("test.ptx", text->s, text->n, &d);
    if (!m) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        fail_msg("%s", b.s);
    }
    diag_free(&d);
    return m;
}

/* -- levels -- */

static char
level(const struct ptx_func *f, const struct uniform *u, const char *name)
{
    for (size_t i = 0; i < f->regs.n; i++)
        if (!strcmp(f->regs.v[i].name, name))
            return "gbn"[u->reg[i]];
    fail_msg("no register %s", name);
    return 0;
}

/* Levels of %r4, %r5 ... as letters: of the grid, of a block, none. */
static void
levels(const char *body, const char *want)
{
    struct strbuf text = {0};
    struct ptx_module *m = parse(body, &text);
    const struct ptx_func *f = ptx_find_func(m, "k");
    struct cfg *g = cfg_new(f);
    struct uniform *u = uniform_new(g);
    for (unsigned i = 0; want[i]; i++) {
        char name[8];
        snprintf(name, sizeof name, "%%r%u", 4 + i);
        if (level(f, u, name) != want[i])
            fail_msg("%s is %c, not %c:\n%s", name, level(f, u, name), want[i], body);
    }
    uniform_free(u);
    cfg_free(g);
    ptx_module_free(m);
    strbuf_free(&text);
}

static void
values(void **state)
{
    (void)state;
    levels("add.u32 %r4, %r3, 1;\nadd.u32 %r5, %r4, %r2;\nadd.u32 %r6, %r5, %r1;\nret;\n",
           "gbn");
    levels("mov.u32 %r4, %ntid.x;\nmov.u32 %r5, %nctaid.y;\nmov.u32 %r6, %laneid;\n"
           "ld.const.u32 %r7, [c];\nmov.u32 %r8, %smid;\nret;\n",
           "ggngn");
    levels("ld.shared.u32 %r4, [A];\nld.global.u32 %r5, [%d1];\n"
           "mov.u32 %r6, A;\nadd.u32 %r6, %r6, %r1;\nld.shared.u32 %r7, [%r6];\n"
           "atom.shared.add.u32 %r8, [A], 1;\nld.u32 %r9, [%d1];\nret;\n",
           "bbnnnn");
    levels("setp.eq.u32 %p1, %r1, 0;\nbar.red.popc.u32 %r4, 0, %p1;\n"
           "vote.sync.ballot.b32 %r5, %p1, -1;\nret;\n",
           "bn");
}

/* What a value owes to the way that was taken. */
static void
ways(void **state)
{
    (void)state;
    levels("mov.u32 %r4, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra J;\nmov.u32 %r4, 2;\nJ:\n"
           "mov.u32 %r5, 7;\nret;\n",
           "ng");
    levels("mov.u32 %r4, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 mov.u32 %r4, 2;\nret;\n",
           "b");
    /* turns that differ */
    levels("mov.u32 %r4, 0;\nL:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, %r1;\n"
           "@%p1 bra L;\nmov.u32 %r5, 3;\nret;\n",
           "ng");
    levels("mov.u32 %r4, 0;\nL:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, %r3;\n"
           "@%p1 bra L;\nret;\n",
           "g");
    /* threads leave: what is after is run by some */
    levels("setp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r4, 3;\nret;\n", "b");
}

/* -- regions -- */

/* "take 12, give 14": lines of the code, 1 the first line of `body`; or why there are
 * none. */
static char *
ends(const char *body, enum uniform_level places, const struct region_bytes *bytes,
     unsigned gap)
{
    struct strbuf text = {0}, b = {0};
    struct ptx_module *m = parse(body, &text);
    const struct ptx_func *f = ptx_find_func(m, "k");
    const uint32_t first = f->body.v[4].line - 1;
    struct cfg *g = cfg_new(f);
    struct scratch_use *use = scratch_use_new(f);
    struct regions *r = regions_new(g, use, places, bytes, 0, gap);
    for (size_t i = 0; i < r->point.n; i++)
        strbuf_printf(&b, "%s%s %u", i ? ", " : "", r->point.v[i].take ? "take" : "give",
                      f->body.v[r->point.v[i].at].line - first);
    if (r->why) /* its first words */
        strbuf_printf(&b, "%u: %.20s", r->line ? r->line - first : 0, r->why);
    regions_free(r);
    scratch_use_free(use);
    cfg_free(g);
    ptx_module_free(m);
    strbuf_free(&text);
    return b.s ? b.s : xstrdup("");
}

static void
expect_at(enum uniform_level places, const char *body, const char *want)
{
    char *got = ends(body, places, NULL, 0);
    if (strcmp(got, want))
        fail_msg("\"%s\", not \"%s\":\n%s", got, want, body);
    free(got);
}

static void
expect(const char *body, const char *want)
{
    expect_at(UNIFORM_GRID, body, want);
}

static void
from_first_write_to_last_read(void **state)
{
    (void)state;
    expect("add.u32 %r4, %r1, 1;\nst.shared.u32 [A], %r4;\nbar.sync 0;\n"
           "ld.shared.u32 %r5, [A];\nadd.u32 %r5, %r5, 1;\nret;\n",
           "take 2, give 5");
    /* two variables, separate: two regions; together: one */
    expect("st.shared.u32 [A], %r1;\nbar.sync 0;\nld.shared.u32 %r5, [A];\n"
           "add.u32 %r5, %r5, 1;\nst.shared.u32 [B], %r5;\nbar.sync 0;\n"
           "ld.shared.u32 %r6, [B];\nret;\n",
           "take 1, give 4, take 5, give 8");
    expect("st.shared.u32 [A], %r1;\nst.shared.u32 [B], %r1;\nbar.sync 0;\n"
           "ld.shared.u32 %r5, [A];\nadd.u32 %r5, %r5, 1;\nld.shared.u32 %r6, [B];\n"
           "add.u32 %r5, %r5, 1;\nret;\n",
           "take 1, give 7");
    /* nobody reads it: the write alone */
    expect("add.u32 %r4, %r1, 1;\nst.shared.u32 [A], %r4;\nadd.u32 %r4, %r4, 1;\nret;\n",
           "take 2, give 3");
}

static void
borders_are_where_all_threads_pass(void **state)
{
    (void)state;
    /* some threads write */
    expect("setp.eq.u32 %p1, %r1, 0;\nadd.u32 %r4, %r1, 1;\n@%p1 bra J;\n"
           "st.shared.u32 [A], 1;\nJ:\nbar.sync 0;\nld.shared.u32 %r5, [A];\nret;\n",
           "take 3, give 8");
    /* some blocks have it: around the branch, not within */
    expect("setp.eq.u32 %p1, %r2, 0;\nadd.u32 %r4, %r1, 1;\n@%p1 bra J;\n"
           "st.shared.u32 [A], 1;\nbar.sync 0;\nld.shared.u32 %r5, [A];\nJ:\n"
           "add.u32 %r4, %r1, 2;\nret;\n",
           "take 3, give 8");
    /* all or none: within */
    expect(
        "setp.eq.u32 %p1, %r3, 0;\nadd.u32 %r4, %r1, 1;\n@%p1 bra J;\n"
        "add.u32 %r4, %r1, 3;\nst.shared.u32 [A], 1;\nbar.sync 0;\n"
        "ld.shared.u32 %r5, [A];\nadd.u32 %r4, %r1, 4;\nJ:\nadd.u32 %r4, %r1, 2;\nret;\n",
        "take 5, give 8");
}

/* Blocks that do not wait for each other: their own threads decide. */
static void
borders_of_one_block(void **state)
{
    static const char turns[] = "mov.u32 %r4, 0;\nL:\nadd.u32 %r4, %r4, 1;\n"
                                "st.shared.u32 [A], %r1;\nbar.sync 0;\n"
                                "ld.shared.u32 %r5, [A];\nsetp.lt.u32 %p1, %r4, %r2;\n"
                                "@%p1 bra L;\nmov.u32 %r7, 0;\nret;\n";
    uint64_t four[(512 + 63) / 64 + 1] = {15};
    struct region_bytes bytes[32] = {0};
    (void)state;
    expect_at(UNIFORM_BLOCK,
              "setp.eq.u32 %p1, %r2, 0;\nadd.u32 %r4, %r1, 1;\n@%p1 bra J;\n"
              "st.shared.u32 [A], 1;\nbar.sync 0;\nld.shared.u32 %r5, [A];\nJ:\n"
              "add.u32 %r4, %r1, 2;\nret;\n",
              "take 4, give 7");
    expect_at(UNIFORM_BLOCK,
              "setp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\nst.shared.u32 [A], 1;\nret;\n",
              "take 3, give 4");
    /* its threads part: around the branch as before */
    expect_at(UNIFORM_BLOCK,
              "setp.eq.u32 %p1, %r1, 0;\nadd.u32 %r4, %r1, 1;\n@%p1 bra J;\n"
              "st.shared.u32 [A], 1;\nJ:\nbar.sync 0;\nld.shared.u32 %r5, [A];\nret;\n",
              "take 3, give 8");
    /* a loop whose turns differ from block to block: within a turn, not around the loop */
    bytes[4 + 3] = (struct region_bytes){.may = four, .must = four};
    bytes[4 + 5] = (struct region_bytes){.may = four};
    char *got = ends(turns, UNIFORM_BLOCK, bytes, 0);
    assert_string_equal(got, "take 4, give 7");
    free(got);
    got = ends(turns, UNIFORM_GRID, bytes, 0);
    assert_string_equal(got, "take 2, give 9");
    free(got);
}

static void
through_loops(void **state)
{
    /* A is written before it is read in each turn, but not proved to be written whole: it
     * is taken before the loop and given up after it */
    static const char turn[] = "mov.u32 %r4, 0;\nmov.u32 %r6, A;\nL:\n"
                               "st.shared.u32 [%r6], %r4;\nbar.sync 0;\n"
                               "ld.shared.u32 %r5, [%r6];\nadd.u32 %r4, %r4, 1;\n"
                               "setp.lt.u32 %p1, %r4, %r3;\n@%p1 bra L;\n"
                               "mov.u32 %r7, 0;\nret;\n";
    uint64_t four[(512 + 63) / 64 + 1] = {15};
    struct region_bytes bytes[32] = {0};
    (void)state;
    expect(turn, "take 3, give 10");
    /* where all of what is read is written again, in each turn */
    bytes[4 + 3] = (struct region_bytes){.may = four, .must = four};
    bytes[4 + 5] = (struct region_bytes){.may = four};
    char *got = ends(turn, UNIFORM_GRID, bytes, 0);
    assert_string_equal(got, "take 4, give 7");
    free(got);
    /* not if another turn's data may be read: what is written is not known so well */
    uint64_t eight[(512 + 63) / 64 + 1] = {255};
    bytes[4 + 3].may = bytes[4 + 5].may = eight;
    got = ends(turn, UNIFORM_GRID, bytes, 0);
    assert_string_equal(got, "take 3, give 10");
    free(got);
}

static void
gaps(void **state)
{
    static const char body[] =
        "st.shared.u32 [A], %r1;\nbar.sync 0;\nld.shared.u32 %r5, [A];\n"
        "add.u32 %r5, %r5, 1;\nadd.u32 %r5, %r5, 1;\nbar.sync 0;\nst.shared.u32 [B], %r5;\n"
        "bar.sync 0;\nld.shared.u32 %r6, [B];\nret;\n";
    (void)state;
    char *got = ends(body, UNIFORM_GRID, NULL, 1);
    assert_string_equal(got, "take 1, give 4, take 7, give 10");
    free(got);
    got = ends(body, UNIFORM_GRID, NULL, 2); /* barriers do not count */
    assert_string_equal(got, "take 1, give 10");
    free(got);
}

static void
refused(void **state)
{
    (void)state;
    expect("add.u32 %r4, %r1, 1;\nret;\n", "0: it uses no scratchpa");
    expect(
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra J;\nst.shared.u32 [A], 1;\nbar.sync 0;\nJ:\n"
        "ret;\n",
        "4: not all threads of a");
    expect("setp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\nst.shared.u32 [A], 1;\nret;\n",
           "2: threads or blocks pa");
    expect(
        "L:\natom.global.add.u32 %r4, [%d1], 1;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra L;\n"
        "st.shared.u32 [A], 1;\nret;\n",
        "4: a loop waits for mem");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(ways),
        cmocka_unit_test(from_first_write_to_last_read),
        cmocka_unit_test(borders_are_where_all_threads_pass),
        cmocka_unit_test(borders_of_one_block),
        cmocka_unit_test(through_loops),
        cmocka_unit_test(gaps),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
