/* reference_report.c: see reference_report.h. */
#include "report/reference_report.h"

#include "allot/workload.h"
#include "passes/pipeline.h"
#include "report/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
print_table(struct table *t, FILE *f)
{
    table_show(t, f);
    table_free(t);
}

void
reference_report_machine(const struct allot_machine *m, FILE *f)
{
    struct table *t =
        table_new(4, (const char *const[]){"setting", "value", "unit", "meaning"});
    struct allot_setting_info s;
    char value[1024];
    for (size_t i = 0; allot_setting(i, &s); i++)
        if (allot_machine_get(m, s.path, value, sizeof value)) {
            table_cell(t, "%s", s.path);
            table_cell(t, "%s", value);
            table_cell(t, "%s", s.unit);
            table_cell(t, "%s", s.meaning);
        }
    print_table(t, f);
}

static void
print_machines(FILE *f)
{
    char **names = allot_machine_names();
    for (size_t i = 0; names[i]; i++) {
        char what[256] = "";
        struct allot_machine *m = allot_machine_load(names[i], NULL);
        if (m)
            allot_machine_get(m, "gpu.name", what, sizeof what);
        fprintf(f, "%-28s %s\n", names[i], m ? what : "(cannot be read)");
        allot_machine_free(m);
    }
    allot_names_free(names);
}

static void
print_workloads(FILE *f)
{
    for (size_t i = 0; allot_workloads[i]; i++)
        fprintf(f, "%-16s %s\n", allot_workloads[i]->name, allot_workloads[i]->summary);
}

static void
print_policies(FILE *f)
{
    static const char *const kinds[] = {"schedulers", "residency", "regpower",
                                        "cta_order",  "dram",      "replacement"};
    static const char *const settings[] = {
        "sm.scheduler", "residency.policy", "regpower.policy",
        "cta.order",    "dram.scheduler",   "l2.replacement, l1d.replacement ..."};
    static_assert(sizeof kinds == sizeof settings, "a setting of each registry");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        fprintf(f, "%s%s\n", k ? "\n" : "", settings[k]);
        const char *name, *meaning;
        for (size_t i = 0; allot_policy(kinds[k], i, &name, &meaning); i++)
            fprintf(f, "  %-22s %s\n", name, meaning);
    }
}

static void
print_passes(FILE *f)
{
    const char *name, *meaning;
    for (size_t i = 0; allot_pass(i, &name, &meaning); i++)
        fprintf(f, "%-20s %s\n", name, meaning);
}

static void
print_pipelines(FILE *f)
{
    const struct pipeline_row *r;
    for (size_t i = 0; (r = pipeline_row(i)); i++)
        if (r->begins)
            fprintf(f, "%s%s: %s\n", i ? "\n" : "", r->text, r->why);
        else
            fprintf(f, "  %-22s %s\n", r->text, r->why);
}

static void
print_settings(FILE *f)
{
    struct table *t = table_new(
        5, (const char *const[]){"path", "default", "range", "unit", "meaning"});
    struct allot_setting_info s;
    for (size_t i = 0; allot_setting(i, &s); i++) {
        table_cell(t, "%s", s.path);
        table_cell(t, "%s", s.value_default);
        table_cell(t, "%s", s.range);
        table_cell(t, "%s", s.unit);
        table_cell(t, "%s", s.meaning);
    }
    print_table(t, f);
}

static void
print_counters(FILE *f)
{
    struct table *t =
        table_new(4, (const char *const[]){"counter", "of", "unit", "meaning"});
    struct allot_stat_info s;
    for (size_t i = 0; allot_stat(i, &s); i++) {
        table_cell(t, "%s", s.id);
        table_cell(t, "%s", s.derived ? "derived" : s.owner);
        table_cell(t, "%s", s.unit);
        table_cell(t, "%s", s.meaning);
    }
    print_table(t, f);
}

/* The same text as the reference: it is a table already. */
static void
print_ptx(FILE *f)
{
    char *text = allot_reference("ptx");
    fputs(text, f);
    free(text);
}

static void (*const prints[])(FILE *f) = {print_machines, print_workloads, print_policies,
                                          print_passes,   print_pipelines, print_settings,
                                          print_counters, print_ptx};
const char *const reference_report_kinds[] = {"machines", "workloads", "policies",
                                              "passes",   "pipelines", "settings",
                                              "counters", "ptx",       NULL};
static_assert(sizeof prints / sizeof *prints + 1 ==
                  sizeof reference_report_kinds / sizeof *reference_report_kinds,
              "a table of each kind");

bool
reference_report(const char *kind, FILE *f)
{
    for (size_t i = 0; reference_report_kinds[i]; i++)
        if (!strcmp(kind, reference_report_kinds[i])) {
            prints[i](f);
            return true;
        }
    return false;
}
