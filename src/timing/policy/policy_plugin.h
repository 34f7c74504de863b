/* policy_plugin.h: policies out of the tree. A shared object has some, in a list of each kind, and says
 * so in its one exported symbol:
 *
 *     static const struct sched_policy youngest = {.name = "youngest", ...};
 *     static const struct sched_policy *const schedulers[] = {&youngest, NULL};
 *     const struct policy_plugin allot_policies = {POLICY_ABI, .schedulers = schedulers};
 *
 * The environment variable ALLOT_POLICIES names such files, with a colon between them. Their policies
 * are values of settings, as those of the registries are. They run in allot's process: they are
 * trusted as programs are. A policy may call what headers define inline, and libc. */
#ifndef ALLOT_TIMING_POLICY_POLICY_PLUGIN_H
#define ALLOT_TIMING_POLICY_POLICY_PLUGIN_H

#include "timing/policy/policy.h"
#include "timing/policy/replacement/replacement.h"

enum { POLICY_ABI_VERSION = 1, POLICY_ABI_SIZES = 12 };

struct policy_plugin {
    /* Of the sources that it was compiled with: the interface's version, and sizes of all that passes
     * between it and allot. */
    unsigned version;
    size_t size[POLICY_ABI_SIZES];
    /* NULL after the last of each; NULL: none. */
    const struct sched_policy *const *schedulers;
    const struct residency_policy *const *residency;
    const struct cta_order_policy *const *cta_order;
    const struct replacement_policy *const *replacement;
};

#define POLICY_ABI                                                                       \
    .version = POLICY_ABI_VERSION, .size = {sizeof(struct policy_plugin),                \
                                            sizeof(struct sched_policy),                 \
                                            sizeof(struct sched_view),                   \
                                            sizeof(struct residency_policy),             \
                                            sizeof(struct residency_plan),               \
                                            sizeof(struct mechanism),                    \
                                            sizeof(struct sm_view),                      \
                                            sizeof(struct sm_event),                     \
                                            sizeof(struct cta_order_policy),             \
                                            sizeof(struct cta_launch),                   \
                                            sizeof(struct replacement_policy),           \
                                            sizeof(struct machine)}

/* The i-th policy of each kind over all plug-ins; NULL: there are no more. The first call loads
 * them. */
const struct sched_policy *policy_plugin_sched(size_t i);
const struct residency_policy *policy_plugin_residency(size_t i);
const struct cta_order_policy *policy_plugin_cta_order(size_t i);
const struct replacement_policy *policy_plugin_replacement(size_t i);

/* The same over the registries alone (policy.c). */
const struct sched_policy *policy_in_tree_sched(size_t i);
const struct residency_policy *policy_in_tree_residency(size_t i);
const struct cta_order_policy *policy_in_tree_cta_order(size_t i);
const struct replacement_policy *policy_in_tree_replacement(size_t i);

/* False and a diagnostic: one could not be loaded. */
bool policy_plugins_loaded(struct diag_sink *diag);

/* Differs where the files' contents differ; "": there are none. */
const char *policy_plugins_id(void);

#endif
