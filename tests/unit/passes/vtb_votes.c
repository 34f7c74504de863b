/* vtb_votes.c: regions that virtual blocks pass unequally often: in a loop whose turns differ
 * from block to block, in a branch that some blocks take, both within a loop of the grid;
 * and what is refused: a region around a place where blocks part. Grids that are not divided. */
#include "unit/kit/blocks_kit.h"

/* acc += what the thread opposite wrote: a region. */
#define EXCHANGE                                                                         \
    "st.shared.u32 [%own], %acc;\nbar.sync 0;\nld.shared.u32 %v, [%other];\n"            \
    "add.u32 %acc, %acc, %v;\nbar.sync 0;\n"

static struct gen
kernel_of(const char *body)
{
    struct gen g = {.n = 64, .grid = {7, 1, 1}, .block = {64, 1, 1}};
    strbuf_printf(
        &g.b,
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u32 turns)\n{\n"
        ".reg .pred %%p, %%q, %%b;\n.reg .b32 %%t, %%v, %%acc, %%lin, %%bid, %%gid, %%i, %%j, %%k, "
        "%%own, %%other, %%s;\n.reg .b64 %%at;\n.shared .align 4 .b8 s[256];\n"
        "mov.u32 %%lin, %%tid.x;\nmov.u32 %%bid, %%ctaid.x;\nmov.u32 %%s, s;\n"
        "mad.lo.u32 %%own, %%lin, 4, %%s;\nxor.b32 %%t, %%lin, 63;\n"
        "mad.lo.u32 %%other, %%t, 4, %%s;\nmad.lo.u32 %%gid, %%bid, 64, %%lin;\n"
        "ld.param.u64 %%at, [out];\nmad.wide.u32 %%at, %%gid, 4, %%at;\n"
        "mov.u32 %%acc, %%gid;\n%sst.global.u32 [%%at], %%acc;\nret;\n}\n",
        body);
    return g;
}

/* Under every scheme the memory is the same; turns are asked for before `asks` regions. */
static void
hold(const char *body, unsigned asks)
{
    static const char *const schemes[] = {"vtb", "vtb-pipe", "vtb-named",
                                          "co-vtb:private=64"};
    static uint32_t want[MOST], got[MOST];
    struct gen g = kernel_of(body);
    unsigned ways = 0;
    blocks_memory(&g, 1, "", true, want, &ways);
    for (unsigned s = 0; s < 4; s++)
        for (unsigned k = 2; k <= 4; k++) {
            char passes[80], told[80];
            unsigned merged = 0;
            snprintf(passes, sizeof passes, "%s:merge=%u:gap=0:gain=0", schemes[s], k);
            snprintf(told, sizeof told, "before %u of the turns virtual blocks ask",
                     asks);
            for (int functional = 0; functional < 2; functional++) {
                blocks_memory(&g, 1, passes, functional, got, &merged);
                blocks_same(&g, 1, passes, functional, want, got);
            }
            char *report = blocks_report(&g, passes);
            if (merged != 2)
                fail_msg("%s: %s", passes, report);
            if (asks ? !strstr(report, told)
                     : strstr(report, "virtual blocks ask") != NULL)
                fail_msg("%s: %s", passes, report);
            free(report);
        }
    strbuf_free(&g.b);
}

/* 0 to 3 turns; block 0 and 4 come to no region. */
#define UNEQUAL                                                                          \
    "and.b32 %i, %bid, 3;\nsetp.eq.u32 %p, %i, 0;\n@%p bra NONE;\nLOOP:\n" EXCHANGE      \
    "sub.u32 %i, %i, 1;\nsetp.ne.u32 %p, %i, 0;\n@%p bra LOOP;\nNONE:\n"

static void
a_loop_of_unequal_turns(void **state)
{
    (void)state;
    hold(UNEQUAL, 1);
}

static void
between_regions_of_all(void **state)
{
    (void)state;
    hold(EXCHANGE UNEQUAL EXCHANGE, 1);
}

static void
a_branch_in_a_loop_of_all(void **state)
{
    (void)state;
    hold("ld.param.u32 %j, [turns];\nadd.u32 %j, %j, 2;\nALL:\nand.b32 %k, %bid, 1;\n"
         "setp.eq.u32 %b, %k, 0;\n@%b bra OVER;\n" EXCHANGE "OVER:\n" UNEQUAL
         "add.u32 %acc, %acc, %j;\nsub.u32 %j, %j, 1;\nsetp.ne.u32 %q, %j, 0;\n"
         "@%q bra ALL;\n",
         2);
}

/* What is written before the loop is read in each turn: a region around all of it. */
static void
a_region_around_is_no_matter_of_votes(void **state)
{
    (void)state;
    hold("st.shared.u32 [%own], %acc;\nbar.sync 0;\nand.b32 %i, %bid, 3;\nLOOP:\n"
         "ld.shared.u32 %v, [%other];\nadd.u32 %acc, %acc, %v;\nsub.u32 %i, %i, 1;\n"
         "setp.ge.s32 %p, %i, 0;\n@%p bra LOOP;\n",
         0);
}

/* Both ways write what is read where they meet: no block asks on its way, since it would go
 * on to the meeting with the scratchpad. */
static void
a_region_out_of_branches(void **state)
{
    (void)state;
    hold("and.b32 %k, %bid, 1;\nsetp.eq.u32 %b, %k, 0;\n@%b bra ELSE;\n"
         "add.u32 %acc, %acc, 5;\nst.shared.u32 [%own], %acc;\nbar.sync 0;\nbra MEET;\n"
         "ELSE:\nst.shared.u32 [%own], %gid;\nbar.sync 0;\n"
         "MEET:\nld.shared.u32 %v, [%other];\nadd.u32 %acc, %acc, %v;\n",
         0);
}

/* Some blocks leave behind their regions: the others could not wait for them. */
static void
no_meeting(void **state)
{
    (void)state;
    struct gen g = kernel_of("and.b32 %i, %bid, 1;\nsetp.eq.u32 %p, %i, 0;\n"
                             "@%p bra ON;\n" EXCHANGE "ret;\nON:\n");
    char *report = blocks_report(&g, "vtb:gap=0:gain=0");
    if (!strstr(report, "blocks are not merged"))
        fail_msg("%s", report);
    free(report);
    strbuf_free(&g.b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_of_unequal_turns),
        cmocka_unit_test(between_regions_of_all),
        cmocka_unit_test(a_branch_in_a_loop_of_all),
        cmocka_unit_test(a_region_around_is_no_matter_of_votes),
        cmocka_unit_test(a_region_out_of_branches),
        cmocka_unit_test(no_meeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
