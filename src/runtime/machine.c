/* machine.c: public machines, settings, policies, occupancy and counters: thin wrappers.
 */
#include "runtime/runtime.h"

#include "exec/decode/coverage.h"
#include "machine/occupancy.h"
#include "stats/causes.def"
#include "timing/policy/dram/dram_policy.h"
#include "timing/policy/policy.h"
#include "timing/policy/policy_plugin.h"
#include "timing/policy/regpower/regpower.h"
#include "timing/policy/replacement/replacement.h"

#include <inttypes.h>

/* -- policies: one table of registries for look-up, listing and checking -- */

static const char *
sched_name(size_t i, const char **meaning)
{
    const struct sched_policy *p = sched_at(i);
    return p ? (*meaning = p->meaning, p->name) : NULL;
}

static const char *
residency_name(size_t i, const char **meaning)
{
    const struct residency_policy *p = residency_at(i);
    return p ? (*meaning = p->meaning, p->name) : NULL;
}

static const char *
cta_order_name(size_t i, const char **meaning)
{
    const struct cta_order_policy *p = cta_order_at(i);
    return p ? (*meaning = p->meaning, p->name) : NULL;
}

static const char *
regpower_name(size_t i, const char **meaning)
{
    const struct regpower_policy *p = regpower_at(i);
    return p ? (*meaning = p->meaning, p->name) : NULL;
}

static const char *
dram_name(size_t i, const char **meaning)
{
    const struct dram_policy *p = dram_policy_at(i);
    return p ? (*meaning = p->meaning, p->name) : NULL;
}

static const char *
replacement_name(size_t i, const char **meaning)
{
    const struct replacement_policy *p = replacement_at(i);
    return p ? (*meaning = p->meaning, p->name) : NULL;
}

static const struct {
    const char *kind;
    const char *(*at)(size_t i, const char **meaning);
} registries[] = {{"schedulers", sched_name},  {"residency", residency_name},
                  {"regpower", regpower_name}, {"cta_order", cta_order_name},
                  {"dram", dram_name},         {"replacement", replacement_name}};

bool
allot_policy(const char *kind, size_t i, const char **name, const char **meaning)
{
    for (size_t k = 0; k < sizeof registries / sizeof *registries; k++)
        if (!strcmp(registries[k].kind, kind))
            return (*name = registries[k].at(i, meaning)) != NULL;
    return false;
}

bool
allot_sharing_policy(size_t i, struct allot_sharing_policy *out)
{
    const struct residency_policy *p;
    for (size_t k = 0; (p = residency_at(k)); k++)
        if ((p->shares == SHARES_REGISTERS || p->shares == SHARES_SCRATCHPAD) && !i--) {
            *out = (struct allot_sharing_policy){
                p->name, p->shares == SHARES_REGISTERS ? "registers" : "scratchpad",
                p->physical};
            return true;
        }
    return false;
}

static const char *
policy_name_at(void *user, const char *folder, size_t i)
{
    const char *name, *meaning;
    (void)user;
    return allot_policy(folder, i, &name, &meaning) ? name : NULL;
}

/* -- machines -- */

static struct allot_machine *
wrap(struct machine *m)
{
    if (!m)
        return NULL;
    struct allot_machine *a = xcalloc(1, sizeof *a);
    a->m = m;
    return a;
}

struct allot_machine *
allot_machine_load(const char *name_or_path, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct allot_machine *a =
        policy_plugins_loaded(diag) ? wrap(machine_load(name_or_path, diag)) : NULL;
    if (a && !machine_check_policies(a->m, policy_name_at, NULL, diag)) {
        allot_machine_free(a);
        a = NULL;
    }
    diag_free(&own);
    return a;
}

struct allot_machine *
allot_machine_clone(const struct allot_machine *m)
{
    return wrap(machine_clone(m->m));
}

void
allot_machine_free(struct allot_machine *m)
{
    if (!m)
        return;
    machine_free(m->m);
    free(m);
}

bool
allot_machine_set(struct allot_machine *m, const char *path, const char *value,
                  struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    bool ok = machine_set(m->m, path, value, diag) &&
              machine_check_policies(m->m, policy_name_at, NULL, diag);
    diag_free(&own);
    return ok;
}

bool
allot_machine_get(const struct allot_machine *m, const char *path, char *buf, size_t n)
{
    return machine_get(m->m, path, buf, n);
}

const char *
allot_machine_name(const struct allot_machine *m)
{
    return m->m->name;
}

void
allot_machine_hash(const struct allot_machine *m, char hex[17])
{
    snprintf(hex, 17, "%016" PRIx64, machine_hash(m->m));
}

char **
allot_machine_names(void)
{
    return machine_names();
}

void
allot_names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

bool
allot_setting(size_t i, struct allot_setting_info *info)
{
    return machine_setting(i, info);
}

bool
allot_stat(size_t i, struct allot_stat_info *info)
{
    return stats_info(i, info);
}

bool
allot_issue_cause(size_t i, const char **id, const char **word, const char **meaning)
{
#define CAUSE(id, word, meaning) {"issue_" #id, word, meaning},
    static const struct {
        const char *id, *word, *meaning;
    } causes[] = {ISSUE_CAUSES(CAUSE, CAUSE)};
#undef CAUSE
    if (i >= sizeof causes / sizeof *causes)
        return false;
    *id = causes[i].id;
    *word = causes[i].word;
    *meaning = causes[i].meaning;
    return true;
}

const char *
allot_version(void)
{
    return ALLOT_VERSION;
}

char *
allot_reference(const char *what)
{
    struct strbuf b = {0};
    if (!strcmp(what, "settings"))
        machine_docs(&b);
    else if (!strcmp(what, "counters"))
        stats_docs(&b);
    else if (!strcmp(what, "ptx"))
        exec_coverage_docs(&b);
    else
        return NULL;
    return strbuf_take(&b);
}

/* -- what sharing costs -- */

void
allot_sharing_cost(const struct allot_machine *m, struct allot_sharing_cost *out)
{
    *out = (struct allot_sharing_cost){.sms = m->m->sm.count,
                                       .registers = occ_cost_registers(m->m),
                                       .scratchpad = occ_cost_scratchpad(m->m),
                                       .both = occ_cost_both(m->m),
                                       .power_table = (uint32_t)regpower_table_bits(m->m),
                                       .multiplexing = occ_cost_multiplexing(m->m)};
}
