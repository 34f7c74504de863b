/* plan.c: the stages of the launch plan, and the public questions that they answer. */
#include "runtime/plan.h"

#include "analysis/usage.h"
#include "machine/occupancy.h"
#include "passes/blocks/persistent.h"
#include "passes/shape.h"
#include "passes/unified/unified_alloc.h"
#include "ptx/parse.h"
#include "ptx/print.h"
#include "runtime/ptxas.h"

#include <stdio.h>

/* -- kernels of a version -- */

struct ptx_func *
plan_find_kernel(const struct ptx_module *p, const char *name, struct diag_sink *diag)
{
    for (size_t i = 0; i < p->funcs.n; i++)
        if (p->funcs.v[i]->is_entry && p->funcs.v[i]->has_body &&
            !strcmp(p->funcs.v[i]->name, name))
            return p->funcs.v[i];
    struct diag *g = diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = p->file},
                              "there is no kernel '%s'", name);
    struct strbuf b = {0};
    for (size_t i = 0; i < p->funcs.n; i++)
        if (p->funcs.v[i]->is_entry && p->funcs.v[i]->has_body)
            strbuf_printf(&b, "%s%s", b.n ? ", " : "kernels here: ", p->funcs.v[i]->name);
    diag_hint(diag, g, "%s", b.n ? b.s : "the module has no kernel at all");
    strbuf_free(&b);
    return NULL;
}

/* Kernel of a version, with what it asks of an SM. */
static struct loaded_kernel *
kernel_of(const struct machine *m, struct loaded_module *lm, struct version *v,
          const char *name, struct diag_sink *diag)
{
    const struct ptx_func *f =
        plan_find_kernel(v->ptx ? v->ptx : lm->module->ptx, name, diag);
    for (size_t i = 0; f && i < v->kernels.n; i++)
        if (v->kernels.v[i].func == f)
            return &v->kernels.v[i];
    if (!f)
        return NULL;
    struct usage u;
    usage_of(f, &u);
    struct loaded_kernel *k = vec_push(&v->kernels);
    *k = (struct loaded_kernel){.func = f,
                                .registers =
                                    usage_registers(&u, m->sm.machine_operations,
                                                    (uint32_t)m->sm.reserved_registers),
                                .scratchpad = u.scratchpad,
                                .barriers = u.barriers,
                                .allocated = u.alloc_bytes};
    usage_free(&u);
    return k;
}

/* -- variant -- */

/* What the passes are told of a launch: nothing that none of them asks for, so that it
 * makes no other version. */
static struct pass_launch
told(const char *passes, const struct pass_launch *shape)
{
    if (pass_shapes(passes))
        return *shape;
    return (struct pass_launch){.dynamic_scratchpad = pass_takes(passes, "dynamic")
                                                          ? shape->dynamic_scratchpad
                                                          : 0};
}

void
plan_defaults_new(struct plan_defaults *d, const struct machine *m, double t,
                  uint32_t dynamic)
{
    *d = (struct plan_defaults){0};
    snprintf(d->most, sizeof d->most, "%u",
             m->sm.max_registers - m->sm.reserved_registers);
    snprintf(d->sm, sizeof d->sm, "%u", m->sm.registers);
    snprintf(d->threads, sizeof d->threads, "%u", m->sm.max_block_threads);
    snprintf(d->threshold, sizeof d->threshold, "%.9g", t);
    snprintf(d->bytes, sizeof d->bytes, "%u", dynamic);
    snprintf(d->warps, sizeof d->warps, "%u", m->sm.max_threads / 32);
    const struct pass_key key[] = {
        {.key = "threshold", .value = d->threshold},
        {.key = "dynamic", .value = d->bytes},
        {.key = "share", .value = d->threshold},
        {.key = "max-registers", .value = d->most},
        {.key = "sm-registers", .value = d->sm},
        {.key = "max-threads", .value = d->threads},
        {.key = "sm-warps", .value = d->warps},
    };
    enum { OWN = sizeof key / sizeof *key };
    _Static_assert(OWN + RT_MACHINE_KEYS + 1 == sizeof d->key / sizeof *d->key,
                   "room for the keys and their end");
    memcpy(d->key, key, sizeof key);
    rt_machine_keys(m, &d->words, d->key + OWN);
}

static struct version *
compile(const struct machine *m, struct loaded_module *lm, const char *kernel,
        const char *passes, double t, const struct pass_launch *launch,
        struct diag_sink *diag)
{
    struct ptx_module *p = ptx_copy(lm->module->ptx, kernel, diag);
    const struct ptx_func *f = p ? plan_find_kernel(p, kernel, diag) : NULL;
    struct pass_launch shape = *launch;
    struct plan_defaults d;
    shape.machine = m;
    plan_defaults_new(&d, m, t, launch->dynamic_scratchpad);
    bool ok = f && (!shape.kernel || shape_apply(f, &shape, diag)) &&
              pass_run_for(p, passes, d.key, &shape, NULL, diag);
    free(d.words.latencies);
    if (!ok) {
        if (p)
            ptx_module_free(p);
        return NULL;
    }
    struct exec_image *image = exec_image_alias(lm->versions.v[0]->image, p, diag);
    if (!image) {
        ptx_module_free(p);
        return NULL;
    }
    struct version *v = *vec_push(&lm->versions) = xcalloc(1, sizeof *v);
    *v = (struct version){.ptx = p,
                          .kernel = f->name,
                          .threshold = t,
                          .told = *launch,
                          .unchanged = ptx_equal(p, lm->module->ptx, NULL),
                          .image = image};
    v->told.kernel = NULL;
    return v;
}

/* The version for a launch of that shape and threshold t, made on first use. */
static struct version *
version_for(const struct machine *m, struct loaded_module *lm,
            const struct pass_launch *shape, double t, struct diag_sink *diag)
{
    char *passes = rt_pipeline(m, lm->module->ptx);
    struct version *v = *passes ? NULL : lm->versions.v[0];
    const struct pass_launch launch = told(passes, shape);
    t = pass_takes(passes, "threshold") || pass_takes(passes, "share") ? t : 1;
    for (size_t i = 1; !v && i < lm->versions.n; i++) {
        struct version *w = lm->versions.v[i];
        if (w->threshold == t && shape_same(&w->told, &launch) &&
            !strcmp(w->kernel, shape->kernel))
            v = w;
    }
    if (!v)
        v = compile(m, lm, shape->kernel, passes, t, &launch, diag);
    free(passes);
    return v && v->unchanged ? lm->versions.v[0] : v;
}

/* -- demand -- */

/* residency.regs_per_thread stands for what the kernel has, ptxas' count (0: not asked for)
 * for what it is allocated. A kernel that wants more registers than a thread may have would
 * be compiled with spills; it then has the most there are. */
static uint32_t
registers(const struct machine *m, uint32_t own, uint32_t by_ptxas)
{
    if (m->residency.regs_per_thread)
        return m->residency.regs_per_thread;
    if (by_ptxas)
        own = by_ptxas;
    else if (m->compiler.registers != REGISTERS_VIRTUAL)
        own += m->sm.reserved_registers;
    return own < m->sm.max_registers ? own : m->sm.max_registers;
}

/* A kernel with setmaxnreg begins with the most registers that its head allows, which is what
 * ptxas makes its count: that of .maxnreg, or an equal part of the SM's by the block's size and
 * .minnctapersm, in eights. Without these ptxas ignores setmaxnreg. */
static uint32_t
launch_registers(const struct machine *m, const struct ptx_func *f, uint32_t own)
{
    const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint32_t threads = n[0] * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1), most = f->maxnreg;
    bool moves = false;
    for (size_t i = 0; i < f->body.n && !moves; i++)
        moves = f->body.v[i].op == PTX_OP_SETMAXNREG;
    if (!most && f->minnctapersm && threads)
        most = (uint32_t)(m->sm.registers / ((uint64_t)threads * f->minnctapersm)) & ~7u;
    if (!moves || m->residency.regs_per_thread || most < own)
        return own;
    return most < m->sm.max_registers ? most : m->sm.max_registers;
}

static uint32_t
block_threads(const uint32_t block[3])
{
    uint32_t n = 1;
    for (int i = 0; i < 3; i++)
        n *= block[i] ? block[i] : 1;
    return n;
}

static bool
variant(struct allot_device *dev, struct loaded_module *lm, const struct pass_launch *as,
        double t, struct launch_plan *p, struct diag_sink *diag)
{
    const struct machine *m = dev->machine;
    *p = (struct launch_plan){.shape = *as, .threshold = t};
    p->version = version_for(m, lm, as, t, diag);
    p->kernel = p->version ? kernel_of(m, lm, p->version, as->kernel, diag) : NULL;
    if (!p->kernel || !shape_apply(p->kernel->func, &p->shape, diag))
        return false;
    if (m->compiler.registers == REGISTERS_PTXAS && !m->residency.regs_per_thread) {
        if (!p->kernel->ptxas && !ptxas_registers(lm->module->ptx, as->kernel,
                                                  (unsigned)m->gpu.compute_capability,
                                                  &p->kernel->ptxas, diag))
            return false;
    }
    p->sm.demand = (struct occ_kernel){
        .threads = block_threads(p->shape.block),
        .registers = launch_registers(
            m, p->kernel->func, registers(m, p->kernel->registers, p->kernel->ptxas)),
        .scratchpad = p->kernel->scratchpad + p->shape.dynamic_scratchpad,
        .allocated = p->kernel->allocated};
    p->block = occ_demand(m, &p->sm.demand);
    p->barriers = p->kernel->barriers;
    p->shared_from = t < 1 ? occ_private(p->sm.demand.scratchpad, t) : 0;
    return true;
}

static bool
shares(const struct machine *m, const struct occ_kernel *k)
{
    struct diag_sink quiet = {0};
    struct residency_plan plan;
    bool yes = residency_plan_of(m, k, &plan, &quiet) && plan.shares_scratchpad;
    diag_free(&quiet);
    return yes;
}

/* Whether blocks might share scratchpad under the policy, whatever passes leave of the
 * kernel's registers: with fewer of them only more blocks fit. */
static bool
might_share(const struct machine *m, struct loaded_module *lm,
            const struct pass_launch *shape, struct diag_sink *diag)
{
    const struct residency_policy *policy = residency_find(m->residency.policy);
    if (!policy || !(policy->shares & SHARES_SCRATCHPAD))
        return false;
    const struct loaded_kernel *own =
        kernel_of(m, lm, lm->versions.v[0], shape->kernel, diag);
    return own &&
           shares(m, &(struct occ_kernel){.threads = block_threads(shape->block),
                                          .scratchpad = own->scratchpad +
                                                        shape->dynamic_scratchpad});
}

static struct pass_launch
asked(const struct allot_launch *l)
{
    struct pass_launch as = {.kernel = l->kernel,
                             .dynamic_scratchpad = l->dynamic_scratchpad};
    bool known = l->grid[0] || l->grid[1] || l->grid[2];
    for (int i = 0; i < 3; i++) {
        as.grid[i] = l->grid[i] || !known ? l->grid[i] : 1;
        as.block[i] = l->block[i] ? l->block[i] : 1;
    }
    return as;
}

bool
plan_unchanged(struct allot_device *dev, const struct allot_launch *l,
               struct launch_plan *p, struct diag_sink *diag)
{
    struct loaded_module *lm = rt_load(dev, l->module, diag);
    *p = (struct launch_plan){.shape = asked(l), .threshold = 1};
    p->version = lm ? lm->versions.v[0] : NULL;
    p->kernel = lm ? kernel_of(dev->machine, lm, p->version, l->kernel, diag) : NULL;
    return p->kernel && shape_apply(p->kernel->func, &p->shape, diag);
}

/* The variant that is made for sharing, if blocks of it then do share; else the one that
 * is made for no sharing. */
bool
plan_variant(struct allot_device *dev, const struct allot_launch *l,
             struct launch_plan *p, struct diag_sink *diag)
{
    const struct machine *m = dev->machine;
    struct loaded_module *lm = rt_load(dev, l->module, diag);
    struct pass_launch as = asked(l);
    if (!lm || !plan_find_kernel(lm->module->ptx, l->kernel, diag))
        return false;
    if (might_share(m, lm, &as, diag)) {
        if (!variant(dev, lm, &as, m->residency.threshold, p, diag))
            return false;
        if (shares(m, &p->sm.demand))
            return true;
    }
    return variant(dev, lm, &as, 1, p, diag);
}

/* -- budget, residency, order -- */

static struct plan_budget
budget(const struct machine *m, const struct launch_plan *p)
{
    return (struct plan_budget){
        .threads = m->sm.max_threads,
        .blocks = m->sm.max_blocks,
        .registers = m->sm.registers,
        .scratchpad = p->block.scratchpad_size,
        .l1 = (uint64_t)p->sm.l1_ways * m->l1d.sets * m->l1d.line,
        .pooled = m->sm.scratchpad_from_l1,
    };
}

/* The schedule that the launch follows: one for its kernel goes before one for any. */
static const struct cta_schedule *
schedule_of(const struct allot_device *dev, const char *kernel)
{
    const struct cta_schedule *s = NULL;
    for (size_t i = 0; i < dev->schedules.n; i++) {
        const struct cta_schedule *x = dev->schedules.v[i];
        if (x->kernel ? !strcmp(x->kernel, kernel) : !s)
            s = x;
    }
    return s;
}

/* Whether the blocks can be launched in the machine's order. */
static bool
order_accepts(const struct machine *m, const struct launch_plan *p,
              struct diag_sink *diag)
{
    const uint32_t *g = p->shape.grid;
    const struct cta_launch l = {.machine = m,
                                 .kernel = p->kernel->func->name,
                                 .grid = {g[0], g[1], g[2]},
                                 .blocks = (uint64_t)g[0] * g[1] * g[2],
                                 .resident = p->sm.residency.blocks,
                                 .schedule = p->sm.schedule};
    return !l.blocks || !p->sm.order->accepts || p->sm.order->accepts(&l, diag);
}

bool
plan_residency(const struct allot_device *dev, struct launch_plan *p,
               struct diag_sink *diag)
{
    const struct machine *m = dev->machine;
    const struct occ_kernel k = p->sm.demand;
    if (!timing_plan(m, p->kernel->func, &k, &p->sm, diag))
        return false;
    p->budget = budget(m, p);
    p->sm.schedule = schedule_of(dev, p->kernel->func->name);
    p->entries = p->sm.order->follows ? persistent_order(p->kernel->func) : NULL;
    p->steps = p->entries ? persistent_steps(p->kernel->func) : NULL;
    if (p->entries) { /* a schedule is for the blocks of the array, not for those launched */
        p->persisted = p->sm.schedule;
        p->sm.schedule = NULL;
    }
    return order_accepts(m, p, diag);
}

bool
plan_launch(struct allot_device *dev, const struct allot_launch *l, struct launch_plan *p,
            struct diag_sink *diag)
{
    return plan_variant(dev, l, p, diag) && plan_residency(dev, p, diag);
}

uint64_t
plan_together(const struct machine *m, const struct launch_plan *p,
              struct diag_sink *diag)
{
    struct allot_occupancy o;
    return occ_compute(m, &p->sm.demand, OCC_SHARE_NONE, 1, &o, diag)
               ? (uint64_t)o.resident_blocks * m->sm.count
               : 0;
}

/* -- public questions -- */

bool
allot_launch_plan(struct allot_device *dev, const struct allot_launch *l,
                  struct allot_plan *out, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct launch_plan p;
    bool ok = plan_launch(dev, l, &p, diag);
    *out = (struct allot_plan){0};
    if (ok) {
        memcpy(out->grid, p.shape.grid, sizeof out->grid);
        memcpy(out->block, p.shape.block, sizeof out->block);
        out->dynamic_scratchpad = p.shape.dynamic_scratchpad;
        out->threads = p.sm.demand.threads;
        out->registers = p.sm.demand.registers;
        out->scratchpad = p.sm.demand.scratchpad;
        out->barriers = p.barriers;
        out->sm_registers = p.budget.registers;
        out->sm_scratchpad = p.budget.scratchpad;
        out->sm_l1 = p.budget.l1;
        out->pooled = p.budget.pooled;
        out->resident_blocks = p.sm.residency.blocks;
        out->baseline_blocks = p.sm.residency.baseline;
        out->shared_pairs = residency_pairs(dev->machine, &p.sm.residency);
        out->order = p.sm.order->name;
    }
    diag_free(&own);
    return ok;
}

uint32_t
allot_resident_blocks_sm(struct allot_device *dev, const struct allot_launch *l,
                         struct allot_diag *d)
{
    struct allot_plan p;
    return allot_launch_plan(dev, l, &p, d) ? p.resident_blocks : 0;
}

uint64_t
allot_resident_blocks(struct allot_device *dev, const struct allot_launch *l,
                      struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct launch_plan p;
    uint64_t n =
        plan_variant(dev, l, &p, diag) ? plan_together(dev->machine, &p, diag) : 0;
    diag_free(&own);
    return n;
}

uint64_t
allot_resident_clusters(struct allot_device *dev, const struct allot_launch *l,
                        uint32_t size, struct allot_diag *d)
{
    struct allot_plan p;
    return size && allot_launch_plan(dev, l, &p, d)
               ? occ_clusters(dev->machine, size, p.resident_blocks)
               : 0;
}

bool
allot_kernel_demand(struct allot_device *dev, const struct allot_launch *l,
                    struct allot_occupancy_query *out, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct launch_plan p;
    bool ok = plan_variant(dev, l, &p, diag);
    if (ok)
        *out = (struct allot_occupancy_query){.threads = p.sm.demand.threads,
                                              .registers = p.sm.demand.registers,
                                              .scratchpad = p.sm.demand.scratchpad,
                                              .threshold = 1};
    diag_free(&own);
    return ok;
}

size_t
allot_register_steps(struct allot_module *mod, const struct allot_machine *machine,
                     const char *kernel, uint32_t threads, uint32_t dynamic_scratchpad,
                     struct allot_register_step *out, size_t most, struct allot_diag *to)
{
    struct diag_sink own = {0}, *diag = rt_sink(to, &own);
    const struct machine *m = machine->m;
    struct ptx_module *p = ptx_copy(mod->ptx, kernel, diag);
    struct pass_launch launch = {.machine = m};
    struct plan_defaults d;
    char block[32];
    size_t n = 0;
    plan_defaults_new(&d, m, 1, dynamic_scratchpad);
    snprintf(block, sizeof block, "%u", threads);
    const struct pass_key given[] = {
        {.key = "registers", .value = "auto"},  {.key = "threads", .value = block},
        {.key = "dynamic", .value = d.bytes},   {.key = "max-registers", .value = d.most},
        {.key = "sm-registers", .value = d.sm}, {0}};
    const struct pass_args a = {
        .pass = &pass_unified_alloc, .launch = &launch, .given = given};
    if (p && plan_find_kernel(p, kernel, diag) &&
        pass_run_for(p, m->compiler.cleanup, d.key, &launch, NULL, diag))
        n = unified_steps(p, kernel, &a, out, most, diag);
    free(d.words.latencies);
    if (p)
        ptx_module_free(p);
    diag_free(&own);
    return n;
}

struct allot_occupancy_query
allot_demand(const struct allot_machine *m, const struct allot_kernel *k,
             uint32_t threads, uint32_t dynamic_scratchpad)
{
    bool as_it_is = m->m->compiler.registers == REGISTERS_VIRTUAL;
    bool ptxas = m->m->compiler.registers == REGISTERS_PTXAS && k->ptxas_registers;
    uint32_t own = as_it_is ? k->live_registers : k->registers;
    return (struct allot_occupancy_query){
        .threads = threads,
        .registers = registers(m->m, own, ptxas ? k->ptxas_registers : 0),
        .scratchpad = k->scratchpad + dynamic_scratchpad,
        .threshold = 1};
}

bool
allot_occupancy(const struct allot_machine *m, const struct allot_occupancy_query *q,
                struct allot_occupancy *out, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    enum occ_share share = OCC_SHARE_NONE;
    bool ok = machine_check(m->m, diag);
    if (q->share && !strcmp(q->share, "registers"))
        share = OCC_SHARE_REGISTERS;
    else if (q->share && !strcmp(q->share, "scratchpad"))
        share = OCC_SHARE_SCRATCHPAD;
    else if (q->share && *q->share)
        ok = diag_error(diag, "sharing of '%s': registers or scratchpad can be shared",
                        q->share);
    struct occ_kernel k = {q->threads, q->registers, q->scratchpad, 0};
    ok = ok && occ_compute(m->m, &k, share, q->threshold, out, diag);
    diag_free(&own);
    return ok;
}
