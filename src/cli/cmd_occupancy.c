/* cmd_occupancy.c: allot occupancy: blocks an SM holds, with and without sharing. */
#include "cli/cli.h"

#include "report/run_charts.h"
#include "runtime/runtime.h"

#include <string.h>

/* A curve of resident warps over one of the three demands. */
static bool
draw(const struct allot_machine *m, const struct allot_occupancy_query *q,
     enum occupancy_over over, const char *path)
{
    enum occ_share share = !q->share                        ? OCC_SHARE_NONE
                           : !strcmp(q->share, "registers") ? OCC_SHARE_REGISTERS
                                                            : OCC_SHARE_SCRATCHPAD;
    struct occ_kernel k = {.threads = q->threads,
                           .registers = q->registers,
                           .scratchpad = q->scratchpad};
    struct chart c = charts_occupancy(m->m, &k, share, q->threshold, over, cli_mem());
    return cli_chart(&c, path);
}

/* Blocks a resource allows; a dash where the kernel uses none of it. */
static const char *
limit(char buf[16], uint32_t blocks)
{
    snprintf(buf, 16, blocks == UINT32_MAX ? "-" : "%u", blocks);
    return buf;
}

static json_t *
limit_json(uint32_t blocks)
{
    return blocks == UINT32_MAX ? json_null() : json_integer(blocks);
}

static void
print_text(const struct allot_machine *m, const struct allot_occupancy_query *q,
           const struct allot_occupancy *o)
{
    printf("machine            %s\n", allot_machine_name(m));
    printf(
        "block              %u threads, %u registers a thread, %u bytes of scratchpad\n",
        q->threads, q->registers, q->scratchpad);
    printf("resident blocks    %u (%u warps, %.1f %% of the SM), limited by %s\n",
           o->resident_blocks, o->warps, 100 * o->occupancy, o->limited_by);
    char regs[16], smem[16];
    printf("  each limit       threads %u, blocks %u, registers %s, scratchpad %s\n",
           o->by_threads, o->by_blocks, limit(regs, o->by_registers),
           limit(smem, o->by_scratchpad));
    printf("  left over        %u registers, %u bytes of scratchpad (without sharing)\n",
           o->registers_wasted, o->scratchpad_wasted);
    if (q->share && *q->share)
        printf("sharing %-10s %u blocks without it; %u pairs share, %u blocks do not "
               "(t = %g)\n",
               q->share, o->baseline_blocks, o->shared_pairs, o->unshared_blocks,
               q->threshold);
}

static void
print_json(const struct allot_machine *m, const struct allot_occupancy_query *q,
           const struct allot_occupancy *o)
{
    json_t *j = json_pack(
        "{s:s, s:i, s:i, s:i, s:s, s:f, s:i, s:i, s:i, s:i, s:s, s:i, s:i, s:o, s:o, s:i, "
        "s:f, s:i, s:i}",
        "machine", allot_machine_name(m), "threads", q->threads, "registers",
        q->registers, "scratchpad", q->scratchpad, "share", q->share ? q->share : "",
        "threshold", q->threshold, "resident_blocks", o->resident_blocks,
        "baseline_blocks", o->baseline_blocks, "shared_pairs", o->shared_pairs,
        "unshared_blocks", o->unshared_blocks, "limited_by", o->limited_by, "by_threads",
        o->by_threads, "by_blocks", o->by_blocks, "by_registers",
        limit_json(o->by_registers), "by_scratchpad", limit_json(o->by_scratchpad),
        "warps", o->warps, "occupancy", o->occupancy, "registers_wasted",
        o->registers_wasted, "scratchpad_wasted", o->scratchpad_wasted);
    json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    printf("\n");
    json_decref(j);
}

int
cmd_occupancy(int argc, char **argv)
{
    const char *machine = "gtx480", *threads = NULL, *regs = "0", *smem = "0",
               *share = NULL, *threshold = "0.1", *chart = NULL, *over = "threads";
    struct cli_list set = {0};
    bool json = false;
    const struct cli_opt options[] = {
        {"machine", 'm', "NAME|FILE", "machine description (default gtx480)", &machine,
         NULL, NULL},
        {"threads", 'n', "N", "threads of a block", &threads, NULL, NULL},
        {"regs", 0, "R", "registers of a thread (default 0: no demand)", &regs, NULL,
         NULL},
        {"smem", 0, "BYTES", "scratchpad of a block (default 0)", &smem, NULL, NULL},
        {"share", 0, "WHAT", "registers or scratchpad shared by pairs of blocks", &share,
         NULL, NULL},
        {"threshold", 't', "T",
         "t: a pair gets (1+t) times a block's share (default 0.1)", &threshold, NULL,
         NULL},
        {"set", 0, "PATH=VALUE", "any setting of the machine", NULL, &set, NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {"chart", 'c', "FILE", "curve of resident warps: .svg, .pdf, .png or .txt",
         &chart, NULL, NULL},
        {"over", 0, "WHAT", "... over threads (default), regs or smem", &over, NULL,
         NULL},
        {0}};
    const struct cli_cmd cmd = {
        "occupancy", "--threads N [OPTIONS]",
        "How many blocks an SM holds at once, what limits it, and what sharing registers or\n"
        "scratchpad between pairs of blocks would add. With t = 1 nothing is shared.",
        "  allot occupancy -m 001-table2.3-scratchpad --threads 128 --smem 7200 "
        "--share scratchpad\n"
        "  allot occupancy -m a100 --threads 256 --regs 40 --chart warps.pdf --over regs\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (pos.n)
        return cli_usage(&cmd, "unexpected argument '%s'", pos.v[0]);
    if (!threads)
        return cli_usage(&cmd, "--threads is needed: the threads of one block");
    uint64_t n, r, s;
    double t;
    if (!cli_u64(threads, 1, 65536, &n))
        return cli_usage(&cmd, "--threads %s: not a number from 1 to 65536", threads);
    if (!cli_u64(regs, 0, 65536, &r))
        return cli_usage(&cmd, "--regs %s: not a number of registers", regs);
    if (!cli_bytes(smem, 0, 1 << 30, &s))
        return cli_usage(&cmd, "--smem %s: not a number of bytes (48K is 49152)", smem);
    if (!cli_f64(threshold, &t) || t <= 0 || t > 1)
        return cli_usage(&cmd, "--threshold %s: must be above 0 and at most 1",
                         threshold);
    if (share && strcmp(share, "registers") && strcmp(share, "scratchpad"))
        return cli_usage(&cmd, "--share %s: registers or scratchpad", share);
    int what = 0;
    while (what < NOVER && strcmp(charts_overs[what], over))
        what++;
    if (what == NOVER)
        return cli_usage(&cmd, "--over %s: threads, regs or smem", over);
    if (chart && !chart_format(chart))
        return cli_usage(
            &cmd, "--chart %s: the name must end in .svg, .pdf, .png or .txt", chart);
    struct allot_diag *d = cli_diag_new();
    struct cli_sim sim = CLI_SIM_DEFAULTS;
    sim.machine = machine;
    sim.set = set;
    struct allot_machine *m = cli_sim_machine(&sim, d);
    struct allot_occupancy_query q = {(uint32_t)n, (uint32_t)r, (uint32_t)s, share, t};
    struct allot_occupancy o;
    bool ok = m && allot_occupancy(m, &q, &o, d);
    if (ok)
        (json ? print_json : print_text)(m, &q, &o);
    if (ok && chart)
        ok = draw(m, &q, (enum occupancy_over)what, chart);
    cli_diag(d);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}
