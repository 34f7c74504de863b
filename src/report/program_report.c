/* program_report.c: see program_report.h. */
#define _GNU_SOURCE
#include "report/program_report.h"

#include "base/demangle.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "experiments/run.h"
#include "report/figure_report.h"
#include "report/table.h"
#include "report/why_report.h"

#include <stdlib.h>
#include <string.h>

static double
number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void
table_row(struct table *t, const json_t *row, bool functional)
{
    char b[32];
    double cycles = number(row, "cycles"), insts = number(row, "thread_instructions");
    bool timed = !json_is_true(json_object_get(row, "functional"));
    char *name =
        demangle_within(json_string_value(json_object_get(row, "name")), DEMANGLE_COLUMN);
    table_cell(t, "%s", name);
    free(name);
    table_cell(t, "%.0f", number(row, "launches"));
    if (!functional)
        table_cell(t, "%s", timed ? table_thousands(b, (uint64_t)cycles) : "-");
    table_cell(t, "%s", table_thousands(b, (uint64_t)number(row, "warp_instructions")));
    table_cell(t, "%s", table_thousands(b, (uint64_t)insts));
    if (!functional && !timed) {
        table_cell(t, "-");
        table_cell(t, "-");
    } else if (!functional) {
        table_cell(t, "%.2f", cycles ? insts / cycles : 0);
        table_cell(t, "%.0f", number(row, "resident_blocks"));
    }
    table_cell(t, "%.3f", number(row, "seconds"));
}

void
program_report_table(FILE *f, const char *program, const struct program_result *r,
                     const struct allot_machine *m, bool functional)
{
    size_t i;
    json_t *row;
    char sched[64] = "", resid[64] = "";
    allot_machine_get(m, "sm.scheduler", sched, sizeof sched);
    allot_machine_get(m, "residency.policy", resid, sizeof resid);
    if (functional)
        fprintf(f, "\n%s, functional\n\n", program);
    else
        fprintf(f, "\n%s on %s, scheduler %s, residency %s\n\n", program,
                allot_machine_name(m), sched, resid);
    if (!json_array_size(r->rows)) {
        fprintf(f, "no kernel %s\n",
                json_array_size(r->failures) ? "ran to its end" : "was launched");
        return;
    }
    struct table *t =
        functional
            ? table_new(5, (const char *const[]){"kernel", "launches", "warp instr.",
                                                 "thread instr.", "host s"})
            : table_new(8, (const char *const[]){"kernel", "launches", "cycles",
                                                 "warp instr.", "thread instr.", "IPC",
                                                 "blocks/SM", "host s"});
    json_array_foreach(r->rows, i, row) table_row(t, row, functional);
    table_show(t, f);
    table_free(t);
    bool timed = functional;
    json_array_foreach(r->rows, i, row) timed |=
        !json_is_true(json_object_get(row, "functional"));
    if (!timed)
        fprintf(f,
                "\nno launch had timing: --kernel, --skip and --count leave out all\n");
}

static unsigned
dim(const json_t *row, const char *key, size_t i)
{
    return (unsigned)json_integer_value(json_array_get(json_object_get(row, key), i));
}

/* A launch that had not ended: which, how far it was, where. */
static void
print_running(FILE *f, const json_t *row)
{
    char b[32];
    double cycles = number(row, "cycles_so_far"),
           insts = number(row, "thread_instructions_so_far");
    const char *where = json_string_value(json_object_get(row, "where"));
    char *name = demangle(json_string_value(json_object_get(row, "kernel_row")));
    fprintf(f,
            "allot exec: kernel %s <<<(%u,%u,%u), (%u,%u,%u)>>> was running, its launch "
            "%.0f; what is told here\n  is without it\n",
            name, dim(row, "grid", 0), dim(row, "grid", 1), dim(row, "grid", 2),
            dim(row, "block", 0), dim(row, "block", 1), dim(row, "block", 2),
            number(row, "launches") + 1);
    free(name);
    if (number(row, "blocks") <= 0)
        return;
    fprintf(f, "  so far: %.0f of %.0f blocks had ended", number(row, "blocks_done"),
            number(row, "blocks"));
    if (insts > 0)
        fprintf(f, ", %s thread instructions", table_thousands(b, (uint64_t)insts));
    if (cycles > 0)
        fprintf(f, ", %s cycles, IPC %.2f", table_thousands(b, (uint64_t)cycles),
                insts / cycles);
    fprintf(f, "\n");
    if (where && *where)
        fprintf(f, "  where: %s\n", where);
}

void
program_report_end(FILE *f, const char *program, const struct program_result *r, bool all)
{
    size_t i;
    json_t *row;
    if (r->signal)
        fprintf(f, "allot exec: %s was ended by SIG%s\n", program,
                sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?");
    json_array_foreach(r->running, i, row) print_running(f, row);
    json_array_foreach(r->failures, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "kernel"));
        double count = number(row, "count");
        if (!all && json_is_true(json_object_get(row, "noticed")))
            continue;
        char *whole = demangle(name),
             *reason = demangle_text(json_string_value(json_object_get(row, "reason")));
        fprintf(f, "allot exec: launch %.0f, of %s, %s (%s): %s\n", number(row, "launch"),
                whole,
                !strcmp(json_string_value(json_object_get(row, "outcome")), "failed")
                    ? "failed"
                    : "was refused",
                json_string_value(json_object_get(row, "error")), reason);
        free(whole);
        free(reason);
        if (count > 1)
            fprintf(f, "  and %.0f more with this error\n", count - 1);
    }
    if (r->overlooked && !r->status)
        fprintf(f, "allot exec: the program took no notice and ended with status 0; "
                   "its results cannot be\n  trusted, and this command's status is "
                   "1\n");
}

void
program_report_capability(FILE *f, const struct program_result *r,
                          const struct allot_machine *m)
{
    char text[32] = "";
    uint64_t have = 0;
    allot_machine_get(m, "gpu.compute_capability", text, sizeof text);
    if (!r->status || json_array_size(r->rows) || !number_u64(text, 0, 1000, &have) ||
        r->lowest <= have)
        return;
    fprintf(
        f,
        "allot exec: the program's PTX is for compute capability %u.%u and later, and "
        "%s\n"
        "  says %u.%u. Any PTX is simulated on any machine; but a program that asks may\n"
        "  refuse. Choose another machine ('allot list machines'), or let this one say\n"
        "  more: --set gpu.compute_capability=%u\n",
        r->lowest / 10, r->lowest % 10, allot_machine_name(m), (unsigned)have / 10,
        (unsigned)have % 10, r->lowest);
}

json_t *
program_report_json(const char *program, const struct program_result *r,
                    const struct allot_machine *m, json_t *options)
{
    struct arena mem = {0};
    const char *failure = program_failure(r, &mem);
    json_t *o = json_pack(
        "{s:o, s:o, s:o, s:s, s:i, s:O}", "machine", json_text(allot_machine_name(m)),
        "workload", json_text(program), "options", options, "check",
        failure ? "failed" : "passed", "exit_status", r->status, "kernels", r->all);
    json_object_set_new(o, "machine_settings", run_machine(m));
    if (failure)
        json_object_set_new(o, "reason", json_text(failure));
    if (json_array_size(r->failures))
        json_object_set(o, "failures", r->failures);
    if (r->signal)
        json_object_set_new(o, "signal", json_integer(r->signal));
    if (json_array_size(r->running))
        json_object_set_new(
            o, "running",
            json_copy(json_object_get(json_array_get(r->running, 0), "kernel_row")));
    arena_free(&mem);
    return o;
}

void
program_report_csv(const char *program, const struct program_result *r,
                   const struct allot_machine *m, struct strbuf *b)
{
    struct allot_stat_info info;
    size_t i;
    json_t *o;
    strbuf_addz(b, "workload,machine,kernel,seconds");
    for (size_t k = 0; allot_stat(k, &info); k++)
        strbuf_printf(b, ",%s", info.id);
    strbuf_addz(b, "\n");
    json_array_foreach(r->all, i, o)
    {
        csv_field(b, program);
        strbuf_addz(b, ",");
        csv_field(b, allot_machine_name(m));
        strbuf_printf(b, ",%s,%.6f", json_string_value(json_object_get(o, "name")),
                      number(o, "seconds"));
        for (size_t k = 0; allot_stat(k, &info); k++)
            strbuf_printf(b, info.derived ? ",%.9g" : ",%.0f", number(o, info.id));
        strbuf_addz(b, "\n");
    }
}

static bool
write_files(const char *program, const struct program_result *r,
            const struct allot_machine *m, json_t *options,
            const struct program_show *show, struct diag_sink *diag)
{
    bool ok = true;
    if (show->json) {
        json_t *o = program_report_json(program, r, m, json_incref(options));
        ok &= json_put(show->json, o, JSON_INDENT(2) | JSON_REAL_PRECISION(12), stdout,
                       diag);
        json_decref(o);
    }
    if (show->csv) {
        struct strbuf b = {0};
        program_report_csv(program, r, m, &b);
        ok &= file_put(show->csv, b.s, b.n, stdout, diag);
        strbuf_free(&b);
    }
    return ok;
}

bool
program_report(FILE *f, const char *program, const struct program_result *r,
               const struct allot_machine *m, json_t *options,
               const struct program_show *show, struct diag_sink *diag)
{
    bool ok = write_files(program, r, m, options, show, diag);
    json_decref(options);
    if (show->table)
        program_report_table(f, program, r, m, show->functional);
    if (show->why)
        ok &= why_report_launches(f, r->all, diag);
    program_report_end(f, program, r, show->table);
    return ok && !r->overlooked;
}
