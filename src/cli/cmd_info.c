/* cmd_info.c: allot info: what a PTX file holds and what limits its occupancy. */
#include "cli/cli.h"

#include "experiments/launch.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

struct info {
    const struct allot_machine *machine;
    struct allot_module *mod;
    uint32_t threads, dynamic;
    bool steps, loads;
};

enum { MOST_STEPS = 64, MOST_LOADS = 4096 };

/* Threads of a block: by a directive, else as asked. */
static uint32_t
step_threads(const struct info *in, const struct allot_kernel *k)
{
    return k->max_block_threads ? k->max_block_threads : in->threads;
}

static size_t
find_steps(const struct info *in, const struct allot_kernel *k,
           struct allot_register_step step[MOST_STEPS], struct allot_diag *d)
{
    return allot_register_steps(in->mod, in->machine, k->name, step_threads(in, k),
                                in->dynamic, step, MOST_STEPS, d);
}

static void
print_steps(const struct info *in, const struct allot_kernel *k, struct allot_diag *d)
{
    struct allot_register_step step[MOST_STEPS];
    size_t n = find_steps(in, k, step, d);
    if (!n)
        return;
    static const char *const head[] = {"blocks",   "registers",        "to scratchpad",
                                       "to local", "off-chip / other", ""};
    struct table *t = table_new(6, head);
    for (size_t i = 0; i < n; i++) {
        const struct allot_register_step *s = &step[i];
        table_cell(t, "%u", s->blocks);
        table_cell(t, "%u", s->possible ? s->registers : s->limit);
        if (s->possible) {
            table_cell(t, "%u", s->to_scratchpad);
            table_cell(t, "%u", s->to_local);
            table_cell(t, "%llu / %llu", (unsigned long long)s->offchip,
                       (unsigned long long)s->other);
        } else {
            for (int c = 0; c < 3; c++)
                table_cell(t, "-");
        }
        table_cell(t, "%s",
                   s->predicted  ? "predicted best"
                   : s->possible ? ""
                                 : "too few registers");
    }
    printf(
        "  steps         %u registers wanted; with fewer an SM holds more blocks of %u "
        "threads, and values\n                are spilled (pass unified-alloc):\n\n",
        step[0].registers, step_threads(in, k));
    table_show(t, stdout);
    table_free(t);
}

static json_t *
steps_json(const struct info *in, const struct allot_kernel *k, struct allot_diag *d)
{
    struct allot_register_step step[MOST_STEPS];
    json_t *list = json_array();
    for (size_t i = 0, n = find_steps(in, k, step, d); i < n; i++) {
        const struct allot_register_step *s = &step[i];
        json_array_append_new(
            list, json_pack("{s:i, s:i, s:b, s:i, s:i, s:i, s:I, s:I, s:b}", "blocks",
                            s->blocks, "limit", s->limit, "possible", s->possible,
                            "registers", s->registers, "to_scratchpad", s->to_scratchpad,
                            "to_local", s->to_local, "offchip", (json_int_t)s->offchip,
                            "other", (json_int_t)s->other, "predicted", s->predicted));
    }
    return list;
}

/* Occupancy at the asked block size; false if not one block fits. */
static bool
occupancy(const struct info *in, const struct allot_kernel *k, struct allot_occupancy *o,
          struct allot_diag *d)
{
    struct allot_occupancy_query q =
        allot_demand(in->machine, k, in->threads, in->dynamic);
    return allot_occupancy(in->machine, &q, o, d);
}

/* The kernel as the machine's passes leave it; where they fail, as the default ones do. */
static struct allot_kernel
for_machine(const struct info *in, const struct allot_kernel *k, struct allot_code *code,
            struct allot_load *load)
{
    struct allot_diag *quiet = cli_diag_new();
    struct allot_kernel mine = *k;
    if (allot_kernel_code(in->mod, in->machine, k->name, code, load, MOST_LOADS, quiet) &&
        !code->is_virtual) {
        mine.machine_operations = code->machine_operations;
        mine.registers = code->registers;
        mine.predicates = code->predicates;
    }
    allot_diag_free(quiet);
    return mine;
}

static void
print_loads(const struct allot_code *c)
{
    char wait[32];
    if (!c->loads)
        return;
    printf("  loads         %u from memory; a warp alone waits %s cycles for them; %u start "
           "later than they could%s\n",
           c->loads, table_thousands(wait, c->wait), c->late,
           c->late && !c->ordered ? ", by the order of the PTX"
           : c->late              ? ", for the limit of registers"
                                  : "");
}

static void
print_each_load(const struct allot_code *c, const struct allot_load *load)
{
    static const char *const head[] = {"line",   "waited for", "to use",
                                       "late by", "not before", ""};
    struct table *t = table_new(6, head);
    for (uint32_t i = 0; i < c->loads && i < MOST_LOADS; i++) {
        table_cell(t, "%u", load[i].line);
        table_cell(t, "%llu", (unsigned long long)load[i].wait);
        if (load[i].to_use)
            table_cell(t, "%u", load[i].to_use);
        else
            table_cell(t, "-");
        table_cell(t, "%llu", (unsigned long long)load[i].late);
        table_cell(t, "%s", load[i].bound);
        table_cell(t, "%s", load[i].late_by);
    }
    printf("\n");
    table_show(t, stdout);
    table_free(t);
}

static json_t *
loads_json(const struct allot_code *c, const struct allot_load *load)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->loads && i < MOST_LOADS; i++)
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:I, s:s, s:s}", "line",
                            (json_int_t)load[i].line, "wait", (json_int_t)load[i].wait,
                            "to_use", (json_int_t)load[i].to_use, "late",
                            (json_int_t)load[i].late, "late_by", load[i].late_by,
                            "not_before", load[i].bound));
    return json_pack("{s:i, s:I, s:i, s:b, s:o}", "count", (int)c->loads, "wait",
                     (json_int_t)c->wait, "late", (int)c->late, "ordered", c->ordered,
                     "loads", list);
}

static void
print_text(const struct info *in, const struct allot_kernel *plain_kernel,
           struct allot_load *load, struct allot_diag *d)
{
    struct allot_code code = {0};
    const struct allot_kernel mine = for_machine(in, plain_kernel, &code, load), *k = &mine;
    const char *plain = cli_kernel_name(k->name, 0);
    printf("kernel %s%s%s\n", k->name, strcmp(plain, k->name) ? "  " : "",
           strcmp(plain, k->name) ? plain : "");
    printf("  instructions  %u static; of a card's code about %u\n", k->instructions,
           k->machine_operations);
    printf("  registers     %u allocated, %u predicates; in the PTX %u live at once "
           "(MAXLIVE), %u virtual\n",
           k->registers, k->predicates, k->live_registers, k->virtual_registers);
    if (k->ptxas_registers)
        printf("                %u by ptxas\n", k->ptxas_registers);
    print_loads(&code);
    printf("  scratchpad    %u bytes%s\n", k->scratchpad,
           k->nvariables ? "" : " (no variables)");
    for (size_t i = 0; i < k->nvariables; i++) {
        if (k->variables[i].dynamic)
            printf("      dynamic  %s\n", cli_kernel_name(k->variables[i].name, 0));
        else
            printf("    %9llu  %s\n", (unsigned long long)k->variables[i].bytes,
                   cli_kernel_name(k->variables[i].name, 0));
    }
    if (k->local_bytes)
        printf("  local memory  %u bytes a thread\n", k->local_bytes);
    printf("  parameters    ");
    for (size_t i = 0; i < k->nparams; i++)
        printf("%s.%s %s%s", i ? ", " : "", k->params[i].type, k->params[i].name,
               k->params[i].bytes > 8 ? " (by value)" : "");
    printf("%s\n", k->nparams ? "" : "none");
    struct allot_occupancy o;
    if (occupancy(in, k, &o, d))
        printf("  occupancy     %u blocks of %u threads an SM of %s (%u warps, %.0f %%), "
               "limited by %s\n",
               o.resident_blocks, in->threads, allot_machine_name(in->machine), o.warps,
               100 * o.occupancy, o.limited_by);
    else
        printf("  occupancy     not one block of %u threads fits an SM of %s\n",
               in->threads, allot_machine_name(in->machine));
    if (in->steps)
        print_steps(in, k, d);
    if (in->loads && code.loads)
        print_each_load(&code, load);
}

static json_t *
to_json(const struct info *in, const struct allot_kernel *plain_kernel,
        struct allot_load *load, struct allot_diag *d)
{
    struct allot_code code = {0};
    const struct allot_kernel mine = for_machine(in, plain_kernel, &code, load), *k = &mine;
    json_t *vars = json_array(), *params = json_array();
    for (size_t i = 0; i < k->nvariables; i++)
        json_array_append_new(vars,
                              json_pack("{s:s, s:I, s:b}", "name", k->variables[i].name,
                                        "bytes", (json_int_t)k->variables[i].bytes,
                                        "dynamic", k->variables[i].dynamic));
    for (size_t i = 0; i < k->nparams; i++)
        json_array_append_new(
            params, json_pack("{s:s, s:s, s:i}", "name", k->params[i].name, "type",
                              k->params[i].type, "bytes", k->params[i].bytes));
    json_t *o = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:i}", "name", k->name,
        "instructions", k->instructions, "machine_operations", k->machine_operations,
        "registers", k->registers, "live_registers", k->live_registers,
        "virtual_registers", k->virtual_registers, "predicates", k->predicates,
        "scratchpad", k->scratchpad, "local_bytes", k->local_bytes, "variables", vars,
        "params", params, "block_threads", in->threads);
    if (k->ptxas_registers)
        json_object_set_new(o, "ptxas_registers", json_integer(k->ptxas_registers));
    struct allot_occupancy oc;
    if (occupancy(in, k, &oc, d)) {
        json_object_set_new(o, "resident_blocks", json_integer(oc.resident_blocks));
        json_object_set_new(o, "limited_by", json_string(oc.limited_by));
        json_object_set_new(o, "occupancy", json_real(oc.occupancy));
    }
    json_object_set_new(o, "memory_loads", loads_json(&code, load));
    if (in->steps)
        json_object_set_new(o, "steps", steps_json(in, k, d));
    return o;
}

int
cmd_info(int argc, char **argv)
{
    const char *machine = "gtx480", *kernel = NULL, *block = "256", *smem = "0";
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
        {"no-schedule", 0, NULL, "loads stay in the order of the PTX, whatever the machine",
         NULL, NULL, &no_schedule},
        {"ptxas", 0, NULL,
         "ptxas' register counts too, for the machine's compute capability; it must be installed",
         NULL, NULL, &ptxas},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    const struct cli_cmd cmd = {
        "info", "[OPTIONS] FILE",
        "FILE holds PTX: text, a fatbin, or a CUDA program, object or library built with it.\n"
        "Per kernel: registers, scratchpad by variable, parameters, and how many blocks an\n"
        "SM holds and what limits that.",
        "  allot info kernel.ptx --machine titan --block 16,16\n"
        "  allot info kernel.ptx -m gtx480 --steps\n"
        "  allot info kernel.ptx -m a100 --loads\n"};
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
    struct allot_module *mod = m ? allot_module_load_for(pos.v[0], m, d) : NULL;
    bool ok = mod != NULL;
    if (ok && kernel && !launch_kernel(mod, kernel)) {
        fprintf(stderr, "allot: %s has no kernel '%s'\n", pos.v[0], kernel);
        ok = false;
    }
    if (ok) {
        struct info in = {m, mod, dims[0] * dims[1] * dims[2], (uint32_t)dynamic, steps,
                          loads};
        struct allot_load *load = ARENA_ARRAY(cli_mem(), struct allot_load, MOST_LOADS);
        json_t *list = json_array();
        struct allot_diag *quiet = cli_diag_new();
        const struct allot_kernel *k;
        size_t n = 0;
        for (size_t i = 0; ok && !cli_interrupted() &&
                           (k = kernel ? i ? NULL : launch_kernel(mod, kernel)
                                       : allot_module_kernel(mod, i));
             i++) {
            if (ptxas && !(ok = allot_module_ptxas(mod, m, k->name, d)))
                break;
            if (json)
                json_array_append_new(list, to_json(&in, k, load, quiet));
            else {
                if (n++)
                    printf("\n");
                print_text(&in, k, load, quiet);
            }
        }
        if (json) {
            json_t *o =
                json_pack("{s:o, s:o, s:o}", "file", json_text(pos.v[0]), "machine",
                          json_text(allot_machine_name(m)), "kernels", list);
            json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
            printf("\n");
            json_decref(o);
        } else {
            if (!n && ok)
                printf("%s holds no kernel\n", pos.v[0]);
            json_decref(list);
        }
        allot_diag_free(quiet);
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
