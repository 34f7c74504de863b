/* cmd_measure.c: allot measure: the microbenchmarks and the workloads on a real GPU
 * (micro/measure.h). */
#include "cli/passes.h"
#include "cli/runs.h"
#include "micro/measure.h"
#include "micro/micro.h"

static const struct cli_cmd cmd = {
    "measure", "[OPTIONS] [CASE...]",
    "Runs the microbenchmarks, those of publications (published/FILE/KERNEL) and the workloads\n"
    "(workload/NAME, workload/NAME/quick) on the first GPU (or --device) and writes a CSV: for\n"
    "each launch the longest time, in cycles of the SM's clock, that an SM had the kernel; the\n"
    "median of --repeat runs after one that is thrown away. Of a workload each kernel is a row,\n"
    "with the sum of its launches.\n"
    "Before each run the L2 is filled with other data, none of it dirty. --dry-run needs no GPU: it tells\n"
    "what would not run, and its rows have no cycles. The GPU's clock should not change while\n"
    "it runs: nvidia-smi -lgc. Only libcuda.so.1 is needed, no toolkit.",
    "  ./x gpu-measure --out papers/hw/a100.csv\n"
    "  ./x gpu-measure --dry-run --machine a100 --out /tmp/rows.csv\n"
    "  allot paper hw-correlation papers/hw/a100.csv --machine a100\n"};

int
cmd_measure(int argc, char **argv)
{
    const char *path = "-", *repeats = "5", *index = "0", *machine = "a100";
    bool dry = false, ptxas = false;
    struct measure w = {.library = "libcuda.so.1", .interrupted = cli_interrupted};
    const struct cli_opt own[] = {
        {"out", 'o', "FILE", "where to (default standard output)", &path, NULL, NULL},
        {"device", 0, "N", "number of the GPU (default 0)", &index, NULL, NULL},
        {"repeat", 0, "N", "runs of each case that count (default 5)", &repeats, NULL,
         NULL},
        {"quick", 'q', NULL,
         "of every microbenchmark only the shortest case, of workloads the small inputs",
         NULL, NULL, &w.quick},
        {"warm", 0, NULL, "leave the caches as the run before left them", NULL, NULL,
         &w.warm},
        {"profile", 0, NULL,
         "for a profiler (ncu): workloads alone, once, their kernels as they are; no cycles",
         NULL, NULL, &w.profile},
        {"dry-run", 0, NULL, "no GPU: what would run, on a description of one", NULL,
         NULL, &dry},
        {"machine", 'm', "NAME|FILE", "for --dry-run and --passes (default a100)",
         &machine, NULL, NULL},
        {"passes", 'p', "P[,P...]",
         "workloads alone, their kernels as these passes leave them ('machine': the machine's own)",
         &w.passes, NULL, NULL},
        {"ptxas", 0, NULL, "with --dry-run: ptxas compiles every kernel too", NULL, NULL,
         &ptxas},
        {"library", 0, "FILE", "the driver (default libcuda.so.1)", &w.library, NULL,
         NULL},
        {0}};
    struct cli_list pos;
    uint64_t repeat, device;
    struct cli_sim sim = CLI_SIM_DEFAULTS;
    struct allot_options o;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, NULL}, argc, argv, &pos))
        return EXIT_USAGE;
    if (!cli_u64(repeats, 1, MEASURE_MAX_REPEAT, &repeat))
        return cli_usage(&cmd, "--repeat %s: not a number from 1 to %d", repeats,
                         MEASURE_MAX_REPEAT);
    if (!cli_u64(index, 0, 1023, &device))
        return cli_usage(&cmd, "--device %s: not a number", index);
    w.device = (int)device;
    w.repeat = (unsigned)repeat;
    w.only = pos.v;
    w.nonly = pos.n;
    const char *unknown = micro_unknown(w.only, w.nonly);
    if (unknown)
        return cli_usage(&cmd,
                         "no case begins with '%s' (papers/micro/gpgpusim.csv, "
                         "published/FILE/KERNEL, workload/NAME)",
                         unknown);
    if (w.passes && strcmp(w.passes, "machine") != 0 && !pass_names_check(&cmd, w.passes))
        return EXIT_USAGE;
    if (w.profile && dry)
        return cli_usage(&cmd, "--profile needs a GPU");
    if (ptxas && !dry)
        return cli_usage(&cmd, "--ptxas goes with --dry-run");
    if (!cli_sim_run_options(&cmd, &sim, &o, "measure") || !cli_writable(path))
        return EXIT_FAILED;
    struct diag_sink diag = {0};
    struct strbuf out = {0};
    struct allot_diag *d = cli_diag_new();
    const bool needs_machine = dry || w.passes;
    struct allot_machine *m = needs_machine ? cli_machine(machine, d) : NULL;
    w.machine = m;
    bool ok =
        (m || !needs_machine) && (dry ? measure_dry(&w, m, machine, ptxas, &out, d, &diag)
                                      : measure_run(&w, &out, &diag));
    allot_machine_free(m);
    cli_diag(d);
    allot_diag_free(d);
    /* also without the cases that failed */
    if (out.n && !cli_interrupted())
        ok = cli_write_file(path, out.s, out.n) && ok;
    strbuf_free(&out);
    cli_sink(&diag);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
