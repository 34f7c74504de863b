/* info_report.c: see info_report.h. */
#include "report/info_report.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/demangle.h"
#include "report/steps_report.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOADS = 4096 };

/* Threads of a block: by a directive, else as asked. */
static uint32_t
step_threads(const struct info_report *in, const struct allot_kernel *k)
{
    return k->max_block_threads ? k->max_block_threads : in->threads;
}

static size_t
find_steps(const struct info_report *in, const struct allot_kernel *k,
           struct allot_register_step step[STEPS_MOST], struct allot_diag *d)
{
    return allot_register_steps(in->mod, in->machine, k->name, step_threads(in, k),
                                in->dynamic, step, STEPS_MOST, d);
}

static void
print_steps(FILE *f, const struct info_report *in, const struct allot_kernel *k,
            struct allot_diag *d)
{
    struct allot_register_step step[STEPS_MOST];
    size_t n = find_steps(in, k, step, d);
    if (!n)
        return;
    fprintf(f, "  steps         %u registers wanted; with fewer an SM holds ",
            step[0].registers);
    if (n == 1)
        fprintf(f, "no more blocks of %u threads:\n\n", step_threads(in, k));
    else
        fprintf(f,
                "more blocks of %u threads, and values\n                are spilled "
                "(pass unified-alloc):\n\n",
                step_threads(in, k));
    steps_report(f, step, n);
}

static json_t *
steps_json(const struct info_report *in, const struct allot_kernel *k,
           struct allot_diag *d)
{
    struct allot_register_step step[STEPS_MOST];
    return steps_report_json(step, find_steps(in, k, step, d));
}

/* Occupancy at the asked block size; false if not one block fits. */
static bool
occupancy(const struct info_report *in, const struct allot_kernel *k,
          struct allot_occupancy *o, struct allot_diag *d)
{
    struct allot_occupancy_query q =
        allot_demand(in->machine, k, in->threads, in->dynamic);
    return allot_occupancy(in->machine, &q, o, d);
}

/* The kernel as the machine's passes leave it; where they fail, as the default ones do. */
static struct allot_kernel
for_machine(const struct info_report *in, const struct allot_kernel *k,
            struct allot_code *code, struct allot_load *load, struct allot_diag *d)
{
    struct allot_kernel mine = *k;
    if (!allot_kernel_code(in->mod, in->machine, k->name, code, load, MOST_LOADS, d) ||
        code->is_virtual)
        return *allot_module_find(in->mod, k->name);
    mine.machine_operations = code->machine_operations;
    mine.registers = code->registers;
    mine.predicates = code->predicates;
    return mine;
}

static void
print_loads(FILE *f, const struct allot_code *c)
{
    char wait[32];
    if (!c->loads)
        return;
    fprintf(
        f,
        "  loads         %u from memory; a warp alone waits %s cycles for them; %u start "
        "later than they could%s\n",
        c->loads, table_thousands(wait, c->wait), c->late,
        c->late && !c->ordered ? ", by the order of the PTX"
        : c->late              ? ", for the limit of registers"
                               : "");
}

static void
print_each_load(FILE *f, const struct allot_code *c, const struct allot_load *load)
{
    static const char *const head[] = {"line",    "waited for", "to use",
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
    fprintf(f, "\n");
    table_show(t, f);
    table_free(t);
}

static json_t *
loads_json(const struct allot_code *c, const struct allot_load *load)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->loads && i < MOST_LOADS; i++)
        json_array_append_new(
            list,
            json_pack("{s:I, s:I, s:I, s:I, s:s, s:s}", "line", (json_int_t)load[i].line,
                      "wait", (json_int_t)load[i].wait, "to_use",
                      (json_int_t)load[i].to_use, "late", (json_int_t)load[i].late,
                      "late_by", load[i].late_by, "not_before", load[i].bound));
    return json_pack("{s:i, s:I, s:i, s:b, s:o}", "count", (int)c->loads, "wait",
                     (json_int_t)c->wait, "late", (int)c->late, "ordered", c->ordered,
                     "loads", list);
}

static void
print_params(FILE *f, const struct allot_kernel *k)
{
    fprintf(f, "  parameters    ");
    for (size_t i = 0; i < k->nparams; i++)
        fprintf(f, "%s.%s %s%s", i ? ", " : "", k->params[i].type, k->params[i].name,
                k->params[i].bytes > 8 ? " (by value)" : "");
    fprintf(f, "%s\n", k->nparams ? "" : "none");
}

void
info_report_text(FILE *f, const struct info_report *in,
                 const struct allot_kernel *plain_kernel, struct allot_diag *d)
{
    char *plain = demangle(plain_kernel->name);
    fprintf(f, "kernel %s%s%s\n", plain_kernel->name,
            strcmp(plain, plain_kernel->name) ? "  " : "",
            strcmp(plain, plain_kernel->name) ? plain : "");
    free(plain);
    char *why = allot_kernel_refused(in->mod, plain_kernel->name);
    if (why)
        fprintf(f, "  cannot run    %s\n", why);
    free(why);
    if (plain_kernel->unread) {
        print_params(f, plain_kernel);
        return;
    }
    struct allot_code code = {0};
    struct allot_load *load = xcalloc(MOST_LOADS, sizeof *load);
    const struct allot_kernel mine = for_machine(in, plain_kernel, &code, load, d),
                              *k = &mine;
    fprintf(f, "  instructions  %u static; of a card's code about %u\n", k->instructions,
            k->machine_operations);
    fprintf(f, "  registers     %u a thread", k->registers + code.reserved);
    if (code.reserved)
        fprintf(f, " (%u allocated, %u reserved by the machine)", k->registers,
                code.reserved);
    fprintf(f, ", %u predicates; in the PTX %u live at once (MAXLIVE), %u virtual\n",
            k->predicates, k->live_registers, k->virtual_registers);
    if (k->ptxas_registers)
        fprintf(f, "                %u by ptxas\n", k->ptxas_registers);
    print_loads(f, &code);
    fprintf(f, "  scratchpad    %u bytes%s\n", k->scratchpad,
            k->nvariables ? "" : " (no variables)");
    for (size_t i = 0; i < k->nvariables; i++) {
        char *name = demangle(k->variables[i].name);
        if (k->variables[i].dynamic)
            fprintf(f, "      dynamic  %s\n", name);
        else
            fprintf(f, "    %9llu  %s\n", (unsigned long long)k->variables[i].bytes,
                    name);
        free(name);
    }
    if (k->local_bytes)
        fprintf(f, "  local memory  %u bytes a thread\n", k->local_bytes);
    print_params(f, k);
    struct allot_occupancy o;
    if (occupancy(in, k, &o, d))
        fprintf(
            f,
            "  occupancy     %u blocks of %u threads an SM of %s (%u warps, %.0f %%), "
            "limited by %s\n",
            o.resident_blocks, in->threads, allot_machine_name(in->machine), o.warps,
            100 * o.occupancy, o.limited_by);
    else
        fprintf(f, "  occupancy     not one block of %u threads fits an SM of %s\n",
                in->threads, allot_machine_name(in->machine));
    if (in->steps)
        print_steps(f, in, k, d);
    if (in->loads && code.loads)
        print_each_load(f, &code, load);
    free(load);
}

static json_t *
params_json(const struct allot_kernel *k)
{
    json_t *params = json_array();
    for (size_t i = 0; i < k->nparams; i++)
        json_array_append_new(
            params, json_pack("{s:s, s:s, s:i}", "name", k->params[i].name, "type",
                              k->params[i].type, "bytes", k->params[i].bytes));
    return params;
}

/* Of a kernel whose body could not be read there is nothing else to tell. */
static json_t *
unread_json(const struct allot_kernel *k, const char *why)
{
    return json_pack("{s:s, s:s, s:o}", "name", k->name, "cannot_run", why, "params",
                     params_json(k));
}

json_t *
info_report_json(const struct info_report *in, const struct allot_kernel *plain_kernel,
                 struct allot_diag *d)
{
    char *why = allot_kernel_refused(in->mod, plain_kernel->name);
    if (plain_kernel->unread) {
        json_t *unread = unread_json(plain_kernel, why);
        free(why);
        return unread;
    }
    struct allot_code code = {0};
    struct allot_load *load = xcalloc(MOST_LOADS, sizeof *load);
    const struct allot_kernel mine = for_machine(in, plain_kernel, &code, load, d),
                              *k = &mine;
    json_t *vars = json_array();
    for (size_t i = 0; i < k->nvariables; i++)
        json_array_append_new(vars,
                              json_pack("{s:s, s:I, s:b}", "name", k->variables[i].name,
                                        "bytes", (json_int_t)k->variables[i].bytes,
                                        "dynamic", k->variables[i].dynamic));
    json_t *o = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:i}", "name", k->name,
        "instructions", k->instructions, "machine_operations", k->machine_operations,
        "registers", k->registers, "live_registers", k->live_registers,
        "virtual_registers", k->virtual_registers, "predicates", k->predicates,
        "scratchpad", k->scratchpad, "local_bytes", k->local_bytes, "variables", vars,
        "params", params_json(k), "block_threads", in->threads);
    if (why)
        json_object_set_new(o, "cannot_run", json_text(why));
    free(why);
    if (code.reserved)
        json_object_set_new(o, "reserved_registers", json_integer(code.reserved));
    if (code.load_to_use > 0)
        json_object_set_new(o, "load_to_use", json_real(code.load_to_use));
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
    free(load);
    return o;
}
