/* cmd_list.c: allot list: what there is to choose from. */
#include "cli/cli.h"

#include "report/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
print_table(struct table *t)
{
    table_show(t, stdout);
    table_free(t);
}

static void
list_machines(void)
{
    char **names = allot_machine_names();
    for (size_t i = 0; names[i]; i++) {
        char what[256] = "";
        struct allot_machine *m = allot_machine_load(names[i], NULL);
        if (m)
            allot_machine_get(m, "gpu.name", what, sizeof what);
        printf("%-28s %s\n", names[i], m ? what : "(cannot be read)");
        allot_machine_free(m);
    }
    allot_names_free(names);
}

/* Every setting of a machine, its own and those of its bases. */
static int
list_machine(const char *name)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_machine(name, d);
    cli_diag(d);
    allot_diag_free(d);
    if (!m)
        return EXIT_FAILED;
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
    print_table(t);
    allot_machine_free(m);
    return EXIT_OK;
}

static void
list_workloads(void)
{
    for (size_t i = 0; allot_workloads[i]; i++)
        printf("%-16s %s\n", allot_workloads[i]->name, allot_workloads[i]->summary);
}

static void
list_policies(void)
{
    static const char *const kinds[] = {"schedulers", "residency", "regpower",
                                        "cta_order",  "dram",      "replacement"};
    static const char *const settings[] = {
        "sm.scheduler", "residency.policy", "regpower.policy",
        "cta.order",    "dram.scheduler",   "l2.replacement, l1d.replacement ..."};
    static_assert(sizeof kinds == sizeof settings, "a setting of each registry");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        printf("%s%s\n", k ? "\n" : "", settings[k]);
        const char *name, *meaning;
        for (size_t i = 0; allot_policy(kinds[k], i, &name, &meaning); i++)
            printf("  %-22s %s\n", name, meaning);
    }
}

static void
list_passes(void)
{
    const char *name, *meaning;
    for (size_t i = 0; allot_pass(i, &name, &meaning); i++)
        printf("%-20s %s\n", name, meaning);
}

static void
list_settings(void)
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
    print_table(t);
}

static void
list_counters(void)
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
    print_table(t);
}

/* The same text as the reference: it is a table already. */
static void
list_ptx(void)
{
    char *text = allot_reference("ptx");
    fputs(text, stdout);
    free(text);
}

int
cmd_list(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"machines", list_machines},
                 {"workloads", list_workloads},
                 {"policies", list_policies},
                 {"passes", list_passes},
                 {"settings", list_settings},
                 {"counters", list_counters},
                 {"ptx", list_ptx}};
    bool markdown = false;
    const struct cli_opt options[] = {
        {"markdown", 0, NULL, "settings, counters, ptx: the reference as Markdown", NULL,
         NULL, &markdown},
        {0}};
    const struct cli_cmd cmd = {
        "list",
        "[--markdown] machines|machine NAME|workloads|policies|passes|settings|counters|ptx",
        "What there is to choose from. machine: every setting of one, by name or file. Settings are what a machine file and --set may say;\n"
        "counters are what --json and --stats give; ptx is every instruction, done or refused.",
        "  allot list machines\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (markdown) {
        char *text = pos.n == 1 ? allot_reference(pos.v[0]) : NULL;
        if (!text)
            return cli_usage(&cmd, "--markdown is for settings, counters and ptx");
        fputs(text, stdout);
        free(text);
        return EXIT_OK;
    }
    if (pos.n == 2 && !strcmp(pos.v[0], "machine"))
        return list_machine(pos.v[1]);
    for (size_t i = 0; pos.n == 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(pos.v[0], kinds[i].name)) {
            kinds[i].run();
            return EXIT_OK;
        }
    const char *names[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        names[i] = kinds[i].name;
    const char *near =
        pos.n ? cli_near_word(pos.v[0], names, sizeof kinds / sizeof *kinds) : "";
    return cli_usage(&cmd,
                     "say what to list: machines, machine NAME, workloads, "
                     "policies, passes, settings, counters or ptx%s",
                     near);
}
