/* policy.c: the registries of schedulers/, residency/, cta_order/ and replacement/, made from
 * their registry.def, and after them the policies of plug-ins (policy_plugin.h). A policy is found by
 * its name; there is no other link to it. */
#include "timing/policy/policy.h"
#include "timing/policy/policy_plugin.h"
#include "timing/policy/replacement/replacement.h"

#include <string.h>

#define POLICY(p) extern const struct sched_policy p;
#include "timing/policy/schedulers/registry.def"
#undef POLICY
#define POLICY(p) extern const struct residency_policy p;
#include "timing/policy/residency/registry.def"
#undef POLICY
#define POLICY(p) extern const struct cta_order_policy p;
#include "timing/policy/cta_order/registry.def"
#undef POLICY
#define POLICY(p) extern const struct replacement_policy p;
#include "timing/policy/replacement/registry.def"
#undef POLICY

/* TYPE_at and TYPE_find over the rows of one registry. */
#define POLICY(p) &p,
#define REGISTRY(TYPE, PREFIX)                                                           \
    const struct TYPE *policy_in_tree_##PREFIX(size_t i)                                 \
    {                                                                                    \
        return i < sizeof PREFIX##_rows / sizeof *PREFIX##_rows ? PREFIX##_rows[i]       \
                                                                : NULL;                  \
    }                                                                                    \
    const struct TYPE *PREFIX##_at(size_t i)                                             \
    {                                                                                    \
        const size_t n = sizeof PREFIX##_rows / sizeof *PREFIX##_rows;                   \
        return i < n ? PREFIX##_rows[i] : policy_plugin_##PREFIX(i - n);                 \
    }                                                                                    \
    const struct TYPE *PREFIX##_find(const char *name)                                   \
    {                                                                                    \
        const struct TYPE *p;                                                            \
        for (size_t i = 0; (p = PREFIX##_at(i)); i++)                                    \
            if (!strcmp(p->name, name))                                                  \
                return p;                                                                \
        return NULL;                                                                     \
    }

static const struct sched_policy *const sched_rows[] = {
#include "timing/policy/schedulers/registry.def"
};
static const struct residency_policy *const residency_rows[] = {
#include "timing/policy/residency/registry.def"
};
static const struct cta_order_policy *const cta_order_rows[] = {
#include "timing/policy/cta_order/registry.def"
};
static const struct replacement_policy *const replacement_rows[] = {
#include "timing/policy/replacement/registry.def"
};

REGISTRY(sched_policy, sched)
REGISTRY(residency_policy, residency)
REGISTRY(cta_order_policy, cta_order)
REGISTRY(replacement_policy, replacement)

bool
residency_plan_of(const struct machine *m, const struct occ_kernel *k,
                  struct residency_plan *p, struct diag_sink *diag)
{
    const struct residency_policy *policy = residency_find(m->residency.policy);
    return policy && policy->plan(m, k, p, diag);
}

unsigned
residency_pairs(const struct machine *m, const struct residency_plan *p)
{
    const struct residency_policy *policy = residency_find(m->residency.policy);
    return policy && policy->pairs ? policy->pairs(p) : 0;
}
