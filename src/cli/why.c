/* why.c: see why.h. A scheduler has one issue slot a cycle, and each slot has one cause:
 * docs/model.md, "Accounts and sleep". */
#include "cli/why.h"

#include "base/str.h"
#include "report/table.h"
#include "stats/causes.def"

#include <string.h>

static const struct {
    const char *id, *title;
} causes[] = {
#define CAUSE(id, word, meaning) {"issue_" #id, word},
    ISSUE_CAUSES(CAUSE, CAUSE)
#undef CAUSE
};
enum { NCAUSES = sizeof causes / sizeof *causes };

/* Slots of an SM by cause; false: no such SM. */
static bool
slots_of(const struct allot_result *r, unsigned sm, uint64_t v[NCAUSES], uint64_t *all)
{
    if (!allot_result_sm(r, sm, "issue_slots", all))
        return false;
    for (unsigned k = 0; k < NCAUSES; k++)
        allot_result_sm(r, sm, causes[k].id, &v[k]);
    return true;
}

static bool
adds_up(const char *kernel, const char *who, const uint64_t v[NCAUSES], uint64_t all)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < NCAUSES; k++)
        sum += v[k];
    if (sum == all)
        return true;
    fprintf(
        stderr,
        "allot: %s, %s: causes add up to %llu of %llu issue slots; this is a fault of "
        "allot\n",
        kernel, who, (unsigned long long)sum, (unsigned long long)all);
    return false;
}

static void
row(struct table *t, const char *who, const uint64_t v[NCAUSES], uint64_t all)
{
    char b[32];
    table_cell(t, "%s", who);
    for (unsigned k = 0; k < NCAUSES; k++)
        table_cell(t, "%.2f", all ? 100.0 * (double)v[k] / (double)all : 0);
    table_cell(t, "%s", table_thousands(b, all));
}

static bool
print_launch(const struct allot_result *r)
{
    const char *heads[NCAUSES + 2] = {"SM"};
    for (unsigned k = 0; k < NCAUSES; k++)
        heads[k + 1] = causes[k].title;
    heads[NCAUSES + 1] = "slots";
    struct table *t = table_new(NCAUSES + 2, heads);
    uint64_t v[NCAUSES], all, sum[NCAUSES] = {0}, sum_all = 0;
    bool ok = true;
    for (unsigned i = 0; slots_of(r, i, v, &all); i++) {
        char who[16];
        snprintf(who, sizeof who, "%u", i);
        row(t, who, v, all);
        ok &= adds_up(allot_result_kernel(r), who, v, all);
        for (unsigned k = 0; k < NCAUSES; k++)
            sum[k] += v[k];
        sum_all += all;
    }
    table_rule(t);
    row(t, "all", sum, sum_all);
    uint64_t launch = 0;
    allot_result_get(r, "issue_slots", &launch, NULL);
    ok &= adds_up(allot_result_kernel(r), "all SMs", sum, launch);
    printf("\n%s: issue slots by cause, %%\n\n", allot_result_kernel(r));
    table_show(t, stdout);
    table_free(t);
    return ok;
}

bool
why_print(const struct allot_device *dev)
{
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++)
        ok &= print_launch(allot_result_at(dev, i));
    return ok;
}

json_t *
why_json(const struct allot_result *r)
{
    json_t *list = json_array();
    uint64_t v[NCAUSES], all;
    for (unsigned i = 0; slots_of(r, i, v, &all); i++) {
        char who[16];
        json_t *o = json_object();
        snprintf(who, sizeof who, "SM %u", i);
        json_object_set_new(o, "issue_slots", json_integer((json_int_t)all));
        for (unsigned k = 0; k < NCAUSES; k++)
            json_object_set_new(o, causes[k].id, json_integer((json_int_t)v[k]));
        json_array_append_new(list, o);
        if (!adds_up(allot_result_kernel(r), who, v, all)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
