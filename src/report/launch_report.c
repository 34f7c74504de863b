/* launch_report.c: see launch_report.h. */
#include "report/launch_report.h"

#include "base/demangle.h"
#include "base/json.h"
#include "experiments/run.h"
#include "report/energy_report.h"
#include "report/figure_report.h"
#include "report/table.h"
#include "report/why_report.h"
#include "runtime/runtime.h"

#include <stdlib.h>

void
launch_report_summary(FILE *f, const struct allot_device *dev, bool functional)
{
    struct table *t =
        functional ? table_new(4, (const char *const[]){"kernel", "warp instr.",
                                                        "thread instr.", "host s"})
                   : table_new(7, (const char *const[]){"kernel", "cycles", "warp instr.",
                                                        "thread instr.", "IPC",
                                                        "blocks/SM", "host s"});
    char b[32];
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        uint64_t v = 0;
        double ipc = 0;
        char *name = demangle_within(allot_result_kernel(r), DEMANGLE_COLUMN);
        table_cell(t, "%s", name);
        free(name);
        if (!functional) {
            allot_result_get(r, "cycles", &v, NULL);
            table_cell(t, "%s", table_thousands(b, v));
        }
        allot_result_get(r, "warp_instructions", &v, NULL);
        table_cell(t, "%s", table_thousands(b, v));
        allot_result_get(r, "thread_instructions", &v, NULL);
        table_cell(t, "%s", table_thousands(b, v));
        if (!functional) {
            allot_result_get(r, "ipc", NULL, &ipc);
            table_cell(t, "%.2f", ipc);
            allot_result_get(r, "resident_blocks", &v, NULL);
            table_cell(t, "%llu", (unsigned long long)v);
        }
        table_cell(t, "%.3f", allot_result_seconds(r));
    }
    table_show(t, f);
    table_free(t);
}

void
launch_report_stats(FILE *f, const struct allot_device *dev)
{
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        char *name = demangle(allot_result_kernel(r));
        fprintf(f, "\n%s\n", name);
        free(name);
        struct allot_stat_info s;
        for (size_t k = 0; allot_stat(k, &s); k++) {
            uint64_t n;
            double v;
            if (!allot_result_get(r, s.id, &n, &v))
                continue;
            char b[32];
            if (s.derived)
                fprintf(f, "  %-32s %20.6g  %s\n", s.id, v, s.unit);
            else
                fprintf(f, "  %-32s %20s  %s\n", s.id, table_thousands(b, n), s.unit);
        }
    }
}

bool
launch_report_text(FILE *f, const struct launch_report *r, struct diag_sink *diag)
{
    char sched[64] = "", resid[64] = "";
    allot_machine_get(r->machine, "sm.scheduler", sched, sizeof sched);
    allot_machine_get(r->machine, "residency.policy", resid, sizeof resid);
    if (r->functional)
        fprintf(f, "%s, functional\n\n", r->name);
    else
        fprintf(f, "%s on %s, scheduler %s, residency %s\n\n", r->name,
                allot_machine_name(r->machine), sched, resid);
    if (allot_results(r->dev))
        launch_report_summary(f, r->dev, r->functional);
    if (r->stats)
        launch_report_stats(f, r->dev);
    bool ok = !r->slots || why_report_text(f, r->dev, diag);
    if (r->energy && allot_results(r->dev))
        ok &= energy_report_text(f, r->dev, r->machine, diag);
    if (*r->check)
        fprintf(f, "\ncheck %s%s%s\n", r->check, r->why && *r->why ? ": " : "",
                r->why ? r->why : "");
    return ok;
}

json_t *
launch_report_counters(const struct allot_result *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(allot_result_kernel(r)));
    json_object_set_new(o, "seconds", json_real(allot_result_seconds(r)));
    struct allot_stat_info info;
    for (size_t i = 0; allot_stat(i, &info); i++) {
        uint64_t count;
        double value;
        if (!allot_result_get(r, info.id, &count, &value))
            continue;
        json_object_set_new(o, info.id,
                            info.derived ? json_real(value)
                                         : json_integer((json_int_t)count));
    }
    return o;
}

static void
csv_head(const struct launch_report *r, struct strbuf *out)
{
    struct allot_stat_info s;
    strbuf_addz(out, "workload,machine,kernel,seconds");
    for (size_t k = 0; allot_stat(k, &s); k++)
        strbuf_printf(out, ",%s", s.id);
    if (r->energy)
        energy_report_csv_header(out);
}

static bool
csv_row(const struct launch_report *r, const struct allot_result *one, struct strbuf *out,
        struct diag_sink *diag)
{
    struct allot_stat_info s;
    csv_field(out, r->name);
    strbuf_addz(out, ",");
    csv_field(out, allot_machine_name(r->machine));
    strbuf_printf(out, ",%s,%.6f", allot_result_kernel(one), allot_result_seconds(one));
    for (size_t k = 0; allot_stat(k, &s); k++) {
        uint64_t n = 0;
        double v = 0;
        allot_result_get(one, s.id, &n, &v);
        if (s.derived)
            strbuf_printf(out, ",%.9g", v);
        else
            strbuf_printf(out, ",%llu", (unsigned long long)n);
    }
    struct energy e;
    if (!r->energy)
        return true;
    bool ok = rt_energy(one, r->machine, &e, diag);
    energy_report_csv(&e, out);
    return ok;
}

bool
launch_report_csv(FILE *f, const struct launch_report *r, struct diag_sink *diag)
{
    bool ok = true;
    struct strbuf line = {0};
    csv_head(r, &line);
    fprintf(f, "%s\n", line.s);
    for (size_t i = 0; i < allot_results(r->dev); i++) {
        line.n = 0;
        ok &= csv_row(r, allot_result_at(r->dev, i), &line, diag);
        fprintf(f, "%s\n", line.s);
    }
    strbuf_free(&line);
    return ok;
}

json_t *
launch_report_json(const struct launch_report *r, json_t *options, struct diag_sink *diag,
                   bool *ok)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < allot_results(r->dev); i++) {
        const struct allot_result *one = allot_result_at(r->dev, i);
        json_t *o = launch_report_counters(one), *sms;
        if (r->slots && (sms = why_report_json(one, diag)))
            json_object_set_new(o, "sms", sms);
        else if (r->slots)
            *ok = false;
        if (r->energy) {
            struct energy e;
            *ok &= rt_energy(one, r->machine, &e, diag);
            json_object_set_new(o, "energy", energy_report_json(&e, r->machine));
        }
        json_array_append_new(kernels, o);
    }
    json_t *o = json_pack("{s:o, s:o, s:o, s:s, s:o}", "machine",
                          json_text(allot_machine_name(r->machine)), "workload",
                          json_text(r->name), "options", options, "check", r->check,
                          "kernels", kernels);
    json_object_set_new(o, "machine_settings", run_machine(r->machine));
    if (r->why && *r->why)
        json_object_set_new(o, "why", json_string(r->why));
    return o;
}

bool
launch_report(FILE *f, const struct launch_report *r, json_t *options,
              struct diag_sink *diag)
{
    if (r->form != LAUNCH_JSON) {
        json_decref(options);
        return (r->form == LAUNCH_CSV ? launch_report_csv : launch_report_text)(f, r,
                                                                                diag);
    }
    bool ok = true;
    json_t *o = launch_report_json(r, options, diag, &ok);
    ok &= json_put("-", o, JSON_INDENT(2) | JSON_REAL_PRECISION(12), f, diag);
    json_decref(o);
    return ok;
}
