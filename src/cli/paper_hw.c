/* paper_hw.c: allot paper hw-correlation: the microbenchmarks beside GPUs
 * (micro/hardware.h). */
#include "cli/runs.h"
#include "micro/hardware.h"
#include "micro/published.h"

static const struct cli_cmd cmd = {
    "paper hw-correlation", "[OPTIONS] [FILE.csv...]",
    "For every launch of the files (default: papers/hw/*.csv), made by 'allot measure' on\n"
    "a GPU: the cycles that the same kernel takes on our description of that GPU, and the\n"
    "error, in the mean of each kernel's launches, the worst kernel first. The machine is\n"
    "known by the card's name unless --machine says it.",
    "  allot paper hw-correlation --quick\n"
    "  allot paper hw-correlation papers/hw/a100.csv --machine a100 --cases\n"};

/* Whether a file has rows of the publications' kernels, which take seconds to read. */
static bool
has_published(const char *const *files, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        size_t size;
        char *text = file_read(files[i], &size);
        found = text && strstr(text, "published/");
        free(text);
    }
    return found;
}

int
paper_hw(int argc, char **argv)
{
    struct hardware h = {.file_done = cli_progress_end};
    struct cli_list pos;
    struct cli_sim sim = CLI_SIM_DEFAULTS;
    struct allot_options o;
    const struct cli_opt own[] = {
        {"machine", 'm', "NAME|FILE", "our description of the card", &h.machine, NULL,
         NULL},
        {"quick", 'q', NULL, "of every kernel only the shortest case", NULL, NULL,
         &h.quick},
        {"cases", 0, NULL, "every launch too", NULL, NULL, &h.each},
        {0}};
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, NULL}, argc, argv, &pos) ||
        !cli_sim_run_options(&cmd, &sim, &o, "hw-correlation"))
        return EXIT_USAGE;
    if (!pos.n)
        pos.v = hardware_shipped(cli_mem(), &pos.n);
    if (!pos.n) {
        printf("no data of any GPU (papers/hw/*.csv); './x gpu-measure' makes it where a "
               "GPU is\n");
        return EXIT_OK;
    }
    struct allot_diag *d = cli_diag_new();
    struct diag_sink diag = {0};
    bool ok = micro_load(&h.cases, &diag) &&
              (!has_published(pos.v, pos.n) || published_add(&h.cases, NULL, 0, &diag));
    for (size_t i = 0; ok && i < pos.n; i++) {
        if (i)
            printf("\n");
        ok = hardware_correlate(&h, pos.v[i], &o, &diag, d);
    }
    cli_sink(&diag);
    cli_diag(d);
    allot_diag_free(d);
    hardware_free(&h);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
