/* code.c: the public question what a machine's passes make of a kernel: registers, machine
 * operations, and the loads that a warp waits for (passes/sched/schedule_loads.c). Loads are looked
 * at behind the clean-up, before registers are allocated. And what passes tell of a kernel in a
 * launch. */
#include "runtime/plan.h"

#include "analysis/usage.h"
#include "passes/shape.h"
#include "passes/sched/schedule.h"
#include "ptx/parse.h"

#include <stdio.h>
#include <stdlib.h>

static int
by_line(const void *a, const void *b)
{
    const struct schedule_load *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->inst > y->inst) - (x->inst < y->inst);
}

static void
write_loads(const struct schedule_loads *l, struct allot_code *out,
            struct allot_load *load, size_t most)
{
    out->loads = (uint32_t)l->load.n;
    out->ordered = l->ordered;
    if (l->load.n) /* qsort takes no NULL */
        qsort(l->load.v, l->load.n, sizeof *l->load.v, by_line);
    for (size_t i = 0; i < l->load.n; i++) {
        const struct schedule_load *x = &l->load.v[i];
        bool loses = x->late && x->why_late != SCHEDULE_NO_GAIN;
        out->wait += x->wait;
        out->late += loses;
        if (i >= most)
            continue;
        load[i] =
            (struct allot_load){.line = x->line,
                                .to_use = x->to_use,
                                .wait = x->wait,
                                .late = loses ? x->late : 0,
                                .late_by = loses ? schedule_late_words(x->why_late) : ""};
        struct strbuf b = {0};
        schedule_bound_words(x, &b);
        snprintf(load[i].bound, sizeof load[i].bound, "%s", b.s);
        strbuf_free(&b);
    }
}

/* Loads of the kernel behind the clean-up, which has ordered them if the machine's has the pass
 * for it. */
static bool
find_loads(struct ptx_module *p, const char *kernel, const struct machine *m,
           const struct plan_defaults *d, struct schedule_loads *l,
           struct diag_sink *diag)
{
    const struct pass_args a = {.pass = &pass_schedule, .given = d->key};
    struct ptx_func *f = plan_find_kernel(p, kernel, diag);
    if (!f || !pass_can_touch(f))
        return true;
    const bool ordered = m->compiler.registers != REGISTERS_VIRTUAL &&
                         pass_names(m->compiler.cleanup, pass_schedule.name);
    return schedule_loads(f, &a, ordered ? SCHEDULE_BEFORE : SCHEDULE_NOT, l, diag);
}

struct loads_watch {
    struct ptx_module *p;
    const char *kernel;
    const struct machine *m;
    const struct plan_defaults *d;
    struct schedule_loads *loads;
    unsigned behind; /* so many passes, the clean-up's */
};

static bool
look_at_loads(void *user, const struct pass_step *s, struct diag_sink *diag)
{
    const struct loads_watch *w = user;
    return s->index + 1 != w->behind ||
           find_loads(w->p, w->kernel, w->m, w->d, w->loads, diag);
}

bool
allot_kernel_code(struct allot_module *mod, const struct allot_machine *machine,
                  const char *kernel, struct allot_code *out, struct allot_load *load,
                  size_t most, struct allot_diag *to)
{
    struct diag_sink own = {0}, *diag = rt_sink(to, &own);
    const struct machine *m = machine->m;
    struct ptx_module *p = ptx_copy(mod->ptx, kernel, diag);
    struct pass_launch launch = {.machine = m};
    struct schedule_loads loads = {0};
    struct plan_defaults d;
    char *passes = rt_pipeline(m, mod->ptx);
    plan_defaults_new(&d, m, 1, 0);
    *out = (struct allot_code){.is_virtual = m->compiler.registers == REGISTERS_VIRTUAL};
    struct loads_watch w = {p, kernel, m, &d, &loads, rt_cleanup_passes(m, mod->ptx)};
    const struct pass_watch watch = {look_at_loads, &w, .trusts = true};
    bool ok = p && plan_find_kernel(p, kernel, diag) &&
              (w.behind || find_loads(p, kernel, m, &d, &loads, diag)) &&
              pass_run_watched(p, passes, d.key, &launch, NULL, &watch, diag);
    if (ok)
        write_loads(&loads, out, load, most);
    if (ok) {
        struct usage u;
        usage_of(plan_find_kernel(p, kernel, diag), &u);
        out->registers = usage_registers(&u, m->sm.machine_operations,
                                         (uint32_t)m->sm.reserved_registers);
        out->predicates = u.registers ? u.predicates : u.live_predicates;
        out->reserved = out->is_virtual ? 0 : (uint32_t)m->sm.reserved_registers;
        out->machine_operations = u.machine_operations;
        if (u.loads_read)
            out->load_to_use = (double)u.load_distance / u.loads_read;
        usage_free(&u);
    }
    vec_free(&loads.load);
    free(d.words.latencies);
    free(passes);
    if (p)
        ptx_module_free(p);
    diag_free(&own);
    return ok;
}

char *
rt_passes_report(const struct allot_module *mod, const struct allot_machine *machine,
                 const char *kernel, const char *passes, const struct pass_launch *launch,
                 struct allot_diag *to)
{
    struct diag_sink own = {0}, *diag = rt_sink(to, &own);
    const struct machine *m = machine->m;
    struct ptx_module *p = ptx_copy(mod->ptx, kernel, diag);
    const struct ptx_func *f = p ? plan_find_kernel(p, kernel, diag) : NULL;
    const bool first = m->compiler.registers != REGISTERS_VIRTUAL &&
                       !pass_allocates(passes) && !mod->ptx->parts.n;
    struct pass_launch shape = *launch;
    struct plan_defaults d;
    struct strbuf words = {0};
    strbuf_addz(&words, "");
    shape.machine = m;
    plan_defaults_new(&d, m, m->residency.threshold, launch->dynamic_scratchpad);
    bool ok =
        f && shape_apply(f, &shape, diag) &&
        (!first || pass_run_for(p, m->compiler.cleanup, d.key, &shape, NULL, diag)) &&
        pass_run_for(p, passes, d.key, &shape, &words, diag);
    free(d.words.latencies);
    if (p)
        ptx_module_free(p);
    diag_free(&own);
    char *report = ok ? strbuf_take(&words) : NULL;
    strbuf_free(&words);
    return report;
}
