/* cmd_occupancy.c: allot occupancy: blocks an SM holds, with and without sharing. */
#include "cli/cli.h"

#include "report/occupancy_report.h"

#include <string.h>

static void
print(const struct allot_machine *m, const struct allot_occupancy_query *q,
      const struct allot_occupancy *o, bool json)
{
    if (!json) {
        occupancy_report_text(m, q, o, stdout);
        return;
    }
    json_t *j = occupancy_report_json(m, q, o);
    cli_write_json("-", j, CLI_JSON);
    json_decref(j);
}

int
cmd_occupancy(int argc, char **argv)
{
    const char *machine = "gtx480", *threads = NULL, *regs = "0", *smem = "0",
               *share = NULL, *threshold = "0.1", *chart = NULL, *style = NULL,
               *over = "threads";
    struct chart_look look = {0};
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
        CLI_CHART_STYLE(&style),
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
    if (!cli_chart_named(&cmd, chart, style, &look))
        return EXIT_USAGE;
    struct allot_diag *d = cli_diag_new();
    struct cli_sim sim = CLI_SIM_DEFAULTS;
    sim.machine = machine;
    sim.set = set;
    struct allot_machine *m = cli_sim_machine(&sim, d);
    struct allot_occupancy_query q = {(uint32_t)n, (uint32_t)r, (uint32_t)s, share, t};
    struct allot_occupancy o;
    bool ok = m && allot_occupancy(m, &q, &o, d);
    if (ok)
        print(m, &q, &o, json);
    if (ok && chart) {
        struct chart c =
            occupancy_report_chart(m, &q, (enum occupancy_over)what, cli_mem());
        c.look = &look;
        ok = cli_chart(&c, chart);
    }
    cli_diag(d);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}
