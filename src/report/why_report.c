/* why_report.c: see why_report.h. A scheduler has one issue slot a cycle, and each slot has one cause:
 * docs/model.md, "Accounts and sleep". */
#include "report/why_report.h"

#include "base/demangle.h"
#include "base/str.h"
#include "report/table.h"
#include "runtime/runtime.h"

#include <stdlib.h>

const struct why_cause why_causes[] = {
#define CAUSE(id, word, meaning) {"issue_" #id, word},
    ISSUE_CAUSES(CAUSE, CAUSE)
#undef CAUSE
};

/* Slots of an SM by cause; false: no such SM. */
static bool
slots_of(const struct allot_result *r, unsigned sm, uint64_t v[WHY_CAUSES], uint64_t *all)
{
    if (!allot_result_sm(r, sm, "issue_slots", all))
        return false;
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        allot_result_sm(r, sm, why_causes[k].id, &v[k]);
    return true;
}

static bool
adds_up(const char *kernel, const char *who, const uint64_t v[WHY_CAUSES], uint64_t all,
        struct diag_sink *diag)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        sum += v[k];
    if (sum == all)
        return true;
    return diag_error(
        diag,
        "%s, %s: causes add up to %llu of %llu issue slots; this is a fault of allot",
        kernel, who, (unsigned long long)sum, (unsigned long long)all);
}

static double
percent(uint64_t n, uint64_t of)
{
    return of ? 100.0 * (double)n / (double)of : 0;
}

static void
row(struct table *t, const char *who, const uint64_t v[WHY_CAUSES], uint64_t all)
{
    char b[32];
    table_cell(t, "%s", who);
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        table_cell(t, "%.2f", percent(v[k], all));
    table_cell(t, "%s", table_thousands(b, all));
}

/* What power states of registers save, and what wake-ups cost; nothing where all registers
 * are always ON. */
static void
print_registers(FILE *f, const struct allot_result *r)
{
    char b[4][32];
    uint64_t held = rt_count(r, "regpower_held_cycles");
    uint64_t on = rt_count(r, "regpower_on_cycles"),
             sleep = rt_count(r, "regpower_sleep_cycles");
    uint64_t wakes = rt_count(r, "regpower_wakes_sleep"),
             wakes_off = rt_count(r, "regpower_wakes_off");
    uint64_t lost = rt_count(r, "issue_wakeup");
    if (!held)
        return;
    fprintf(f,
            "\nRegisters: warps hold %.1f %% of the file, the rest is OFF. Theirs are ON "
            "%.1f %% of the time,\nin SLEEP %.1f %%, OFF %.1f %%.\n",
            percent(held, rt_count(r, "register_cycles")), percent(on, held),
            percent(sleep, held), percent(held - on - sleep, held));
    fprintf(f,
            "Wake-ups: %s from SLEEP, %s from OFF, %.2f an instruction. Warps waited for "
            "nothing else in\n%s warp cycles; schedulers lost %s issue slots to it, %.2f "
            "%%.\n",
            table_thousands(b[0], wakes), table_thousands(b[1], wakes_off),
            percent(wakes + wakes_off, rt_count(r, "warp_instructions")) / 100,
            table_thousands(b[2], rt_count(r, "regpower_wait_cycles")),
            table_thousands(b[3], lost), percent(lost, rt_count(r, "issue_slots")));
}

static bool
print_launch(FILE *f, const struct allot_result *r, struct diag_sink *diag)
{
    const char *heads[WHY_CAUSES + 2] = {"SM"};
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        heads[k + 1] = why_causes[k].title;
    heads[WHY_CAUSES + 1] = "slots";
    struct table *t = table_new(WHY_CAUSES + 2, heads);
    uint64_t v[WHY_CAUSES], all, sum[WHY_CAUSES] = {0}, sum_all = 0;
    bool ok = true;
    for (unsigned i = 0; slots_of(r, i, v, &all); i++) {
        char who[16];
        snprintf(who, sizeof who, "%u", i);
        row(t, who, v, all);
        ok &= adds_up(allot_result_kernel(r), who, v, all, diag);
        for (unsigned k = 0; k < WHY_CAUSES; k++)
            sum[k] += v[k];
        sum_all += all;
    }
    table_rule(t);
    row(t, "all", sum, sum_all);
    uint64_t launch = 0;
    allot_result_get(r, "issue_slots", &launch, NULL);
    ok &= adds_up(allot_result_kernel(r), "all SMs", sum, launch, diag);
    char *name = demangle(allot_result_kernel(r));
    fprintf(f, "\n%s: issue slots by cause, %%\n\n", name);
    free(name);
    table_show(t, f);
    table_free(t);
    print_registers(f, r);
    return ok;
}

bool
why_report_text(FILE *f, const struct allot_device *dev, struct diag_sink *diag)
{
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++)
        ok &= print_launch(f, allot_result_at(dev, i), diag);
    return ok;
}

json_t *
why_report_json(const struct allot_result *r, struct diag_sink *diag)
{
    json_t *list = json_array();
    uint64_t v[WHY_CAUSES], all;
    for (unsigned i = 0; slots_of(r, i, v, &all); i++) {
        char who[16];
        json_t *o = json_object();
        snprintf(who, sizeof who, "SM %u", i);
        json_object_set_new(o, "issue_slots", json_integer((json_int_t)all));
        for (unsigned k = 0; k < WHY_CAUSES; k++)
            json_object_set_new(o, why_causes[k].id, json_integer((json_int_t)v[k]));
        json_array_append_new(list, o);
        if (!adds_up(allot_result_kernel(r), who, v, all, diag)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

bool
why_report_launches(FILE *f, const json_t *launches, struct diag_sink *diag)
{
    const char *heads[WHY_CAUSES + 2] = {"kernel"};
    bool ok = true;
    size_t i;
    json_t *o, *sums = json_object(), *one;
    const char *name;
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        heads[k + 1] = why_causes[k].title;
    heads[WHY_CAUSES + 1] = "slots";
    struct table *t = table_new(WHY_CAUSES + 2, heads);
    json_array_foreach(launches, i, o)
    {
        name = json_string_value(json_object_get(o, "name"));
        one = json_object_get(sums, name);
        if (!one)
            json_object_set_new(sums, name, one = json_object());
        for (unsigned k = 0; k <= WHY_CAUSES; k++) {
            const char *id = k < WHY_CAUSES ? why_causes[k].id : "issue_slots";
            json_object_set_new(
                one, id,
                json_integer(json_integer_value(json_object_get(one, id)) +
                             json_integer_value(json_object_get(o, id))));
        }
    }
    json_object_foreach(sums, name, one)
    {
        uint64_t v[WHY_CAUSES],
            all = (uint64_t)json_integer_value(json_object_get(one, "issue_slots"));
        for (unsigned k = 0; k < WHY_CAUSES; k++)
            v[k] = (uint64_t)json_integer_value(json_object_get(one, why_causes[k].id));
        ok &= adds_up(name, "all SMs", v, all, diag);
        char *plain = demangle_within(name, DEMANGLE_COLUMN);
        row(t, plain, v, all);
        free(plain);
    }
    fprintf(f, "\nissue slots by cause, %%\n\n");
    table_show(t, f);
    table_free(t);
    json_decref(sums);
    return ok;
}
