/* cmd_measure.c: allot measure: the microbenchmarks on a real GPU (micro/measure.h). */
#include "cli/runs.h"
#include "micro/measure.h"
#include "micro/micro.h"

static const struct cli_cmd cmd = {
    "measure", "[OPTIONS] [CASE...]",
    "Runs the microbenchmarks on the first GPU (or --device) and writes a CSV: for each\n"
    "launch the longest time, in cycles of the SM's clock, that an SM had the kernel; the\n"
    "median of --repeat runs after one that is thrown away. Before each run the L2 is\n"
    "filled with other data. The GPU's clock should not change while it runs:\n"
    "nvidia-smi -lgc. Only libcuda.so.1 is needed, no toolkit.",
    "  ./x gpu-measure --out papers/hw/a100.csv\n"
    "  allot paper hw-correlation papers/hw/a100.csv --machine a100\n"};

int
cmd_measure(int argc, char **argv)
{
    const char *path = "-", *repeats = "5", *index = "0";
    struct measure w = {.library = "libcuda.so.1", .interrupted = cli_interrupted};
    const struct cli_opt own[] = {
        {"out", 'o', "FILE", "where to (default standard output)", &path, NULL, NULL},
        {"device", 0, "N", "number of the GPU (default 0)", &index, NULL, NULL},
        {"repeat", 0, "N", "runs of each case that count (default 5)", &repeats, NULL,
         NULL},
        {"quick", 'q', NULL, "of every kernel only the shortest case", NULL, NULL,
         &w.quick},
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
        return cli_usage(&cmd, "no case begins with '%s' (papers/micro/gpgpusim.csv)",
                         unknown);
    if (!cli_sim_run_options(&cmd, &sim, &o, "measure") || !cli_writable(path))
        return EXIT_FAILED;
    struct diag_sink diag = {0};
    struct strbuf out = {0};
    bool ok = measure_run(&w, &out, &diag) && cli_write_file(path, out.s, out.n);
    strbuf_free(&out);
    cli_sink(&diag);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
