/* plan.c: what the SMs are set up for in a launch: residency, and what it leaves to the L1.
 * Asked by the launch plan (runtime/plan.c), which occupancy queries and launches go by
 * alike. */
#include "timing/policy/regpower/regpower.h"
#include "timing/sm/sm.h"
#include "timing/timing.h"

/* Warps that the schedulers of an SM can hold. */
static bool
check_warps(const struct machine *m, const struct timing_plan *p, struct diag_sink *diag)
{
    unsigned most =
        64 * m->sm.schedulers < SM_MAX_WARPS ? 64 * m->sm.schedulers : SM_MAX_WARPS;
    unsigned warps = (p->demand.threads + LANES - 1) / LANES;
    if (p->residency.blocks * warps <= most)
        return true;
    return diag_error(diag,
                      "%u resident blocks of %u warps are more than the %u warps that %u "
                      "schedulers can hold; lower sm.max_threads or raise sm.schedulers",
                      p->residency.blocks, warps, most, m->sm.schedulers);
}

static bool
check_registers(const struct residency_policy *policy, const struct ptx_func *f,
                const struct timing_plan *p, struct diag_sink *diag)
{
    if (!policy->physical || f->registers || p->residency.blocks == p->residency.baseline)
        return true;
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                              "%s needs physical registers, kernel '%s' has virtual ones",
                              policy->name, f->name);
    diag_hint(diag, d,
              "run it with compiler.registers=allocated (--registers allocated)");
    return false;
}

bool
timing_plan(const struct machine *m, const struct ptx_func *f, const struct occ_kernel *k,
            struct timing_plan *out, struct diag_sink *diag)
{
    *out = (struct timing_plan){.demand = *k};
    const struct residency_policy *policy = residency_find(m->residency.policy);
    if (!policy)
        return diag_error(diag, "residency.policy: there is no policy '%s'",
                          m->residency.policy);
    if (!residency_plan_of(m, k, &out->residency, diag)) {
        const struct diag_loc loc = {f->module->file, f->module->text, f->line, f->col,
                                     0};
        diag_add(diag, DIAG_NOTE, &loc,
                 "in the launch of kernel '%s' with blocks of %u threads, %u registers a "
                 "thread, %u bytes of scratchpad a block",
                 f->name, k->threads, k->registers, k->scratchpad);
        return false;
    }
    out->order = cta_order_find(m->cta.order);
    if (!out->order)
        return diag_error(diag, "cta.order: there is no policy '%s'", m->cta.order);
    out->l1_ways = occ_l1_ways(m, k, out->residency.blocks);
    unsigned warps = (k->threads + LANES - 1) / LANES;
    if (m->regpower.watch)
        out->mechanism[out->nmechanisms++] = regpower_watch(k->registers);
    return check_registers(policy, f, out, diag) && check_warps(m, out, diag) &&
           regpower_plan(m, f, &out->residency, warps, k->registers, &out->registers,
                         diag);
}
