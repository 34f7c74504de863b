/* vtb_code.c: what kernels do beside exchanges: threads that end early, shuffles, votes, barriers
 * of every kind, local memory, dynamic scratchpad; and each reason why blocks are not merged, with
 * its line. */
#include "unit/kit/turns_kit.h"

/* -- merged -- */

static void
threads_that_end_early(void **state)
{
    (void)state;
    /* a warp, threads of each warp, all but one; after the last region */
    hold(EXCHANGE "setp.lt.u32 %p, %lin, 32;\n@%p ret;\n", 0);
    hold(EXCHANGE
         "and.b32 %t, %lin, 3;\nsetp.eq.u32 %p, %t, 0;\n@%p bra ON;\nret;\nON:\n",
         0);
    hold(EXCHANGE "setp.ne.u32 %p, %lin, 7;\n@%p exit;\n", 0);
}

static void
blocks_that_end_early(void **state)
{
    (void)state;
    hold(EXCHANGE "and.b32 %t, %bid, 1;\nsetp.eq.u32 %p, %t, 0;\n@%p ret;\n", 0);
}

static void
lanes_talk(void **state)
{
    (void)state;
    hold(
        EXCHANGE
        "shfl.sync.up.b32 %v, %acc, 1, 0, -1;\nadd.u32 %acc, %acc, %v;\n"
        "setp.lt.u32 %p, %acc, 900;\nvote.sync.any.pred %q, %p, -1;\n"
        "@%q add.u32 %acc, %acc, 3;\nvote.sync.ballot.b32 %v, %p, -1;\n"
        "xor.b32 %acc, %acc, %v;\nmatch.any.sync.b32 %v, %acc, -1;\n"
        "add.u32 %acc, %acc, %v;\nactivemask.b32 %v;\nxor.b32 %acc, %acc, %v;\n" EXCHANGE,
        0);
}

static void
barriers_of_every_kind(void **state)
{
    (void)state;
    hold("st.shared.u32 [%own], %acc;\nbarrier.sync 1;\nld.shared.u32 %v, [%other];\n"
         "setp.lt.u32 %p, %v, 99;\nbar.red.and.pred %q, 0, %p;\n"
         "@%q add.u32 %acc, %acc, 1;\nbar.red.or.pred %q, 0, %p;\n"
         "@%q add.u32 %acc, %acc, 2;\nbar.red.popc.u32 %v, 1, %p;\n"
         "add.u32 %acc, %acc, %v;\nbar.sync 1, 64;\n",
         0);
}

static void
local_memory(void **state)
{
    (void)state;
    hold(".local .align 4 .b8 l[32];\nand.b32 %t, %lin, 7;\nshl.b32 %t, %t, 2;\n"
         "mov.u32 %i, l;\nadd.u32 %i, %i, %t;\nst.local.u32 [%i], %acc;\n" EXCHANGE
         "ld.local.u32 %v, [%i];\nadd.u32 %acc, %acc, %v;\n",
         0);
}

/* co-vtb: the second access by a register is not where the first one is. */
static void
a_register_of_two_addresses(void **state)
{
    (void)state;
    hold("ld.param.u32 %k, [turns];\nsub.u32 %k, %k, 2;\nadd.u32 %i, %own, %k;\n"
         "st.shared.u32 [%i], %acc;\nbar.sync 0;\nadd.u32 %i, %other, %k;\n"
         "ld.shared.u32 %v, [%i];\nadd.u32 %acc, %acc, %v;\nbar.sync 0;\n",
         0);
}

/* The kernel with module-scope text before it. */
static struct gen
with(const char *before, const char *body)
{
    struct gen g = kernel_of(body);
    const char *at = strstr(g.b.s, ".visible");
    struct strbuf b = {0};
    strbuf_printf(&b, "%.*s%s%s", (int)(at - g.b.s), g.b.s, before, at);
    strbuf_free(&g.b);
    g.b = b;
    return g;
}

#define EXTERN ".extern .shared .align 4 .b8 d[];\n"
#define EXCHANGE_EXTERN                                                                  \
    "mov.u32 %s, d;\nmad.lo.u32 %i, %lin, 4, %s;\nmad.lo.u32 %j, %t, 4, %s;\n"           \
    "st.shared.u32 [%i+128], %acc;\nbar.sync 0;\nld.shared.u32 %v, [%j+128];\n"          \
    "add.u32 %acc, %acc, %v;\nbar.sync 0;\n"

static void
dynamic_scratchpad(void **state)
{
    (void)state;
    struct gen g = with(EXTERN, EXCHANGE EXCHANGE_EXTERN);
    g.dynamic = 384;
    hold_kernel(g, 3, 0);
}

/* -- refused -- */

/* The report says so, of the line that holds `line` (NULL: of none). Takes g's text. */
static void
refused(struct gen g, const char *passes, const char *why, const char *line)
{
    unsigned n = 1;
    char *report = blocks_report(&g, passes), want[300];
    const char *at = line ? strstr(g.b.s, line) : NULL;
    if (line && !at)
        fail_msg("no line '%s'", line);
    for (const char *c = g.b.s; at && c < at; c++)
        n += *c == '\n';
    if (line)
        snprintf(want, sizeof want, "blocks are not merged: %s (line %u)\n", why, n);
    else
        snprintf(want, sizeof want, "blocks are not merged: %s", why);
    if (!strstr(report, want))
        fail_msg("-p %s: '%s' is not in: %s", passes, want, report);
    free(report);
    strbuf_free(&g.b);
}

static void
refused_by_the_code(void **state)
{
    (void)state;
    refused(with(".func f()\n{\nret;\n}\n", EXCHANGE "call f;\n"), "vtb:gain=0",
            "it calls a function", "call f");
    refused(kernel_of("mov.u32 %i, 3;\nbar.sync %i;\n" EXCHANGE), "vtb:gain=0",
            "the number of a barrier is in a register", "bar.sync %i");
    refused(kernel_of("mov.u32 %i, %warpid;\nadd.u32 %acc, %acc, %i;\n" EXCHANGE),
            "vtb:gain=0", "it reads the number of its warp or the size of its scratchpad",
            "%warpid");
    refused(kernel_of("mov.u32 %i, %nwarpid;\nadd.u32 %acc, %acc, %i;\n" EXCHANGE),
            "vtb:gain=0", "it reads the number of its warp or the size of its scratchpad",
            "%nwarpid");
    refused(
        kernel_of("mov.u32 %i, %dynamic_smem_size;\nadd.u32 %acc, %acc, %i;\n" EXCHANGE),
        "vtb:gain=0", "it reads the number of its warp or the size of its scratchpad",
        "%dynamic_smem");
    refused(kernel_of("cvt.s32.u32 %i, %ctaid.x;\nadd.u32 %acc, %acc, %i;\n" EXCHANGE),
            "vtb:gain=0", "it reads its place other than by mov.u32", "cvt.s32");
    refused(kernel_of("bar.sync 1;\n" EXCHANGE), "vtb-named:merge=8",
            "there are 16 barriers, and it would need more", NULL);
    refused(kernel_of("LOOP:\natom.global.add.u32 %v, [%at], 1;\nsetp.lt.u32 %p, %v, 9;\n"
                      "@%p bra LOOP;\n" EXCHANGE),
            "vtb:gain=0", "a loop waits for memory that other blocks write",
            "@%p bra LOOP");
    refused(kernel_of("setp.lt.u32 %p, %lin, 9;\n@%p ret;\n" EXCHANGE), "vtb:gain=0",
            "not all threads of a block reach this barrier", NULL);
    refused(kernel_of("setp.ge.u32 %p, %lin, 32;\nst.shared.u32 [%own], %acc;\n"
                      "@%p bra TAKE;\nbar.arrive 2, 64;\nbra ON;\nTAKE:\n"
                      "bar.sync 2, 64;\nld.shared.u32 %v, [%other];\n"
                      "add.u32 %acc, %acc, %v;\nON:\nbar.sync 0;\n"),
            "vtb:gain=0", "not all threads of a block reach this barrier", NULL);
    refused(kernel_of("setp.lt.u32 %p, %bid, 3;\n@%p ret;\n" EXCHANGE), "vtb:gain=0",
            "threads or blocks part here, and some leave the kernel while others use the "
            "scratchpad",
            "@%p ret");
    refused(kernel_of(""), "vtb:gain=0", "it uses no scratchpad", NULL);
    refused(kernel_of(EXCHANGE), "vtb:most=0.1",
            "its scratchpad is in use all the time, or nearly so", "st.shared");
}

static void
refused_by_the_launch(void **state)
{
    (void)state;
    struct gen g = kernel_of(EXCHANGE);
    g.block[0] = 40;
    refused(g, "vtb:gain=0", "its blocks are no whole warps", NULL);
    g = kernel_of(EXCHANGE);
    g.block[0] = 512;
    refused(g, "vtb:merge=3", "merged blocks would be too large", NULL);
    g = kernel_of(EXCHANGE);
    g.block[0] = 2;
    g.block[2] = 32;
    refused(g, "vtb:merge=3", "merged blocks would be too deep", NULL);
    g = kernel_of(EXCHANGE);
    g.grid[0] = 1;
    refused(g, "vtb:gain=0", "the grid has one block", NULL);
    g = kernel_of(EXCHANGE);
    refused(g, "vtb:gain=8", "it would take longer", NULL);
    g = kernel_of(EXCHANGE);
    refused(g, "vtb:gain=0,vtb", "its launches are changed already", NULL);
}

/* 60 values live at the same time: registers hold 512 threads, not 1024. */
static void
refused_by_the_machine(void **state)
{
    struct strbuf b = {0};
    (void)state;
    strbuf_addz(&b, ".reg .b32 %z<60>;\n");
    for (unsigned i = 0; i < 60; i++)
        strbuf_printf(&b, "ld.global.u32 %%z%u, [%%at+%u];\n", i, 4 * i);
    strbuf_addz(&b, EXCHANGE);
    for (unsigned i = 0; i < 60; i++)
        strbuf_printf(&b, "add.u32 %%acc, %%acc, %%z%u;\n", i);
    struct gen g = kernel_of(b.s);
    g.block[0] = 256;
    refused(g, "vtb:merge=4:motion=0:gain=0", "an SM would not hold one merged block",
            NULL);
    strbuf_free(&b);
}

static void
refused_by_co_vtb(void **state)
{
    (void)state;
    struct gen g = with(EXTERN, EXCHANGE_EXTERN);
    g.dynamic = 384;
    refused(g, "co-vtb:private=64:gain=0", "it uses extern arrays", NULL);
    refused(kernel_of(".reg .b64 %far;\ncvt.u64.u32 %far, %own;\n" EXCHANGE
                      "ld.shared.u32 %acc, [%far];\n"),
            "co-vtb:private=64:gain=0", "a scratchpad address is no 32-bit register",
            "ld.shared.u32 %acc, [%far]");
    refused(
        kernel_of(
            ".reg .b64 %far;\ncvt.u64.u32 %far, %own;\ncvta.shared.u64 %far, %far;\n" EXCHANGE
            "ld.u32 %acc, [%far];\n"),
        "co-vtb:private=64:gain=0", "a generic address may be in scratchpad",
        "ld.u32 %acc, [%far]");
    refused(kernel_of(EXCHANGE), "co-vtb:private=4096",
            "private parts would leave nothing public", NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_end_early),
        cmocka_unit_test(blocks_that_end_early),
        cmocka_unit_test(lanes_talk),
        cmocka_unit_test(barriers_of_every_kind),
        cmocka_unit_test(local_memory),
        cmocka_unit_test(a_register_of_two_addresses),
        cmocka_unit_test(dynamic_scratchpad),
        cmocka_unit_test(refused_by_the_code),
        cmocka_unit_test(refused_by_the_launch),
        cmocka_unit_test(refused_by_the_machine),
        cmocka_unit_test(refused_by_co_vtb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
