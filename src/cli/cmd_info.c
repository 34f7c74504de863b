/* cmd_info.c: allot info: what a PTX file holds and what limits its occupancy. */
#include "cli/cli.h"

#include "experiments/launch.h"
#include "report/info_report.h"

#include <string.h>

/* The kernels of a file, or one of them. False: ptxas could not tell. */
static bool
tell(const struct info_report *in, const char *file, const struct allot_kernel *one,
     bool ptxas, bool json, struct allot_diag *d)
{
    json_t *list = json_array();
    struct allot_diag *quiet = cli_diag_new();
    const struct allot_kernel *k;
    bool ok = true;
    size_t n = 0;
    for (size_t i = 0; !cli_interrupted() &&
                       (k = one ? i ? NULL : one : allot_module_kernel_as_is(in->mod, i));
         i++) {
        if (ptxas && !(ok = allot_module_ptxas(in->mod, in->machine, k->name, d)))
            break;
        if (json)
            json_array_append_new(list, info_report_json(in, k, quiet));
        else {
            fputs(n++ ? "\n" : "", stdout);
            info_report_text(stdout, in, k, quiet);
        }
    }
    if (json) {
        json_t *o =
            json_pack("{s:o, s:o, s:O}", "file", json_text(file), "machine",
                      json_text(allot_machine_name(in->machine)), "kernels", list);
        cli_write_json("-", o, CLI_JSON);
        json_decref(o);
    } else if (!n && ok)
        printf("%s holds no kernel\n", file);
    json_decref(list);
    allot_diag_free(quiet);
    return ok;
}

int
cmd_info(int argc, char **argv)
{
    const char *machine = "gtx480", *kernel = NULL, *block = "256", *smem = "0";
    const char *registers = NULL;
    bool json = false, steps = false, ptxas = false, loads = false;
    bool no_schedule = false;
    const struct cli_opt options[] = {
        {"machine", 'm', "NAME|FILE", "machine for the occupancy (default gtx480)",
         &machine, NULL, NULL},
        {"kernel", 'k', "NAME", "only this kernel", &kernel, NULL, NULL},
        {"block", 'b', "N", "threads of a block (default 256)", &block, NULL, NULL},
        {"smem", 0, "BYTES", "dynamic scratchpad of a block (default 0)", &smem, NULL,
         NULL},
        {"steps", 0, NULL,
         "what more blocks an SM would cost: registers, spilled values and where they go, "
         "and the number that is predicted to be best",
         NULL, NULL, &steps},
        {"loads", 0, NULL,
         "each load from memory: cycles that a warp alone waits for it, by how many it is "
         "late, and what it cannot start before",
         NULL, NULL, &loads},
        {"no-schedule", 0, NULL,
         "loads stay in the order of the PTX, whatever the machine", NULL, NULL,
         &no_schedule},
        {"registers", 0, "WHICH",
         "whose count the occupancy is by: allocated, virtual (MAXLIVE), or ptxas, which "
         "must be installed; default: the machine's",
         &registers, NULL, NULL},
        {"ptxas", 0, NULL,
         "ptxas' register counts too, for the machine's compute capability; it must be installed",
         NULL, NULL, &ptxas},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    const struct cli_cmd cmd = {
        "info", "[OPTIONS] FILE",
        "FILE holds PTX: text, a fatbin, or a CUDA program, object or library built with it.\n"
        "Per kernel: registers, scratchpad by variable, parameters, and how many blocks an\n"
        "SM holds and what limits that; of one that cannot run, why.",
        "  allot info kernel.ptx --machine titan --block 16,16\n"
        "  allot info kernel.ptx -m gtx480 --steps\n"
        "  allot info kernel.ptx -m a100 --loads\n"
        "  allot info kernel.ptx -m a100 --registers ptxas\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (pos.n != 1)
        return cli_usage(&cmd, "give one file");
    uint32_t dims[3];
    uint64_t dynamic;
    if (!launch_dims(block, dims) || dims[0] > 65536 || dims[1] > 65536 / dims[0] ||
        dims[2] > 65536 / dims[0] / dims[1])
        return cli_usage(&cmd, "--block %s: write it as 256 or 16,16", block);
    if (!cli_bytes(smem, 0, 1 << 24, &dynamic))
        return cli_usage(&cmd, "--smem %s: not a number of bytes (48K is 49152)", smem);
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_machine(machine, d);
    if (m && no_schedule)
        allot_machine_set(m, "compiler.cleanup", "cleanup", d);
    bool ok =
        m && (!registers || allot_machine_set(m, "compiler.registers", registers, d));
    char count[16] = "";
    if (ok && allot_machine_get(m, "compiler.registers", count, sizeof count))
        ptxas |= !strcmp(count, "ptxas"); /* the occupancy is by its count */
    struct allot_module *mod = ok ? allot_module_load_for(pos.v[0], m, d) : NULL;
    ok = mod != NULL;
    const struct allot_kernel *one = ok && kernel ? launch_kernel(mod, kernel) : NULL;
    if (ok && kernel && !one) {
        fprintf(stderr, "allot: %s has no kernel '%s'\n", pos.v[0], kernel);
        ok = false;
    }
    if (ok) {
        allot_module_beyond_target(mod, d);
        const struct info_report in = {
            m, mod, dims[0] * dims[1] * dims[2], (uint32_t)dynamic, steps, loads};
        ok = tell(&in, pos.v[0], one, ptxas, json, d);
    }
    if (ok && cli_interrupted()) {
        fprintf(stderr, "allot: interrupted\n");
        ok = false;
    }
    cli_diag(d);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}
