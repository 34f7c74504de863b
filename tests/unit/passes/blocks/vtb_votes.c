/* vtb_votes.c: regions that virtual blocks pass unequally often: in a loop whose turns differ
 * from block to block, in a branch that some blocks take, both within a loop of the grid;
 * and what is refused: a region around a place where blocks part. Grids that are not divided. */
#include "unit/kit/turns_kit.h"

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

/* Some blocks leave after their regions: the others could not wait for them. */
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
