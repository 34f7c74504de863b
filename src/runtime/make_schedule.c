/* make_schedule.c: what a launch follows: schedules by method (cta.schedule; 004 section 6.1,
 * Figure 5), and the arrays of persistent blocks.
 *
 * By method: before a launch is simulated it is executed without timing, on its own memory
 * and arguments, while the lines that each block touches are taken down; then memory is as
 * it was. From the working sets the method makes the schedule, which later launches of the
 * kernel with as many blocks follow too, until cta.update of them have (Figure 5's flag
 * `update`). With cta.working_sets=previous it is for the next launch instead: the first
 * has its blocks in order.
 *
 * Persistent blocks (passes/blocks/persistent_blocks.c) are launched in order; the schedule's
 * order goes into the array of what they do. Working sets are those of the kernel before
 * the passes, block by block. Steps go into an array too where the pass was told barrier=1.
 *
 * Cost: one functional execution and a copy of the memory in use, for each schedule; none
 * for the methods that do not look at working sets. */
#include "exec/device_launch/device_launch.h"
#include "passes/blocks/persistent.h"
#include "runtime/plan.h"
#include "runtime/result.h"

#include <string.h>

static void
discard(void *user, const char *text, size_t n)
{
    (void)user, (void)text, (void)n;
}

static bool
refuse(const struct exec_grid *g, const char *why, struct diag_sink *diag)
{
    struct diag *d =
        diag_add(diag, DIAG_ERROR, NULL,
                 "kernel '%s' %s, so it cannot be executed ahead of its launch "
                 "to find its working sets",
                 g->prog->entry->name, why);
    diag_hint(diag, d,
              "give its schedule as a file (--schedule FILE) or leave it "
              "cta.order=round-robin");
    return false;
}

/* Executes the launch and puts memory back. *done: whether it came to its end; a launch
 * that faults will do so again, and then it is told. */
static bool
observe(struct allot_device *dev, struct exec_grid *g, struct workset *w, bool *done,
        struct diag_sink *diag)
{
    struct diag_sink quiet = {0};
    struct dev_copy *copy = dev_save(dev->mem);
    if (!copy)
        return diag_error(diag, "no host memory for a copy of device memory");
    g->print = discard;
    g->races = NULL;
    g->team = NULL;
    g->speculation = NULL;
    workset_watch(w, g);
    g->diag = &quiet;
    *done = exec_run_grid(g) == EXEC_OK;
    diag_free(&quiet);
    workset_finish(w);
    if (!dev_restore(dev->mem, copy))
        return refuse(g, "allocates memory", diag);
    if (*done && g->orders && exec_orders_at(g->orders, 0))
        return refuse(g, "launches kernels", diag);
    return true;
}

/* A schedule of the launch's own working sets; NULL if it faults. grid is that of the kernel
 * whose blocks are scheduled, plan that of the launch, with its residency; no step has a TLP
 * above most. */
static bool
make(struct allot_device *dev, const struct exec_grid *grid,
     const struct launch_plan *plan, uint64_t blocks, uint64_t most,
     struct cta_schedule **out, struct diag_sink *diag)
{
    const struct machine *m = dev->machine;
    struct exec_grid g = *grid;
    struct cta_schedule *s = *out = NULL;
    bool ok = true, done = false;
    struct cta_problem p = {.blocks = (uint32_t)blocks,
                            .capacity = rt_l2_bytes(m) / m->l2.line,
                            .cps = m->cta.cps};
    /* As many as the machine's residency policy gives an SM: blocks that share count too. */
    uint64_t fit = (uint64_t)plan->sm.residency.blocks * m->sm.count;
    p.max_tlp = (uint32_t)(fit < most ? fit : most);
    if (!cta_method_needs_sizes(&dev->method)) {
        s = cta_method_schedule(&dev->method, p);
    } else {
        struct workset *w = workset_new(blocks, m->l2.line, dev->mem);
        ok = observe(dev, &g, w, &done, diag);
        if (ok && done) {
            p.size = workset_sizes(w);
            p.together = workset_together;
            p.user = w;
            if (p.cps == 0 && g.n_warp_inst)
                p.cps =
                    (double)m->cta.sync_cycles * (double)blocks / (double)g.n_warp_inst;
            s = cta_method_schedule(&dev->method, p);
        }
        workset_free(w);
    }
    if (s)
        s->kernel = xstrdup(g.prog->entry->name);
    *out = s;
    return ok;
}

static struct made_schedule *
made_for(struct allot_device *dev, const char *kernel, uint32_t blocks)
{
    for (size_t i = 0; i < dev->made.n; i++)
        if (dev->made.v[i].blocks == blocks && !strcmp(dev->made.v[i].kernel, kernel))
            return &dev->made.v[i];
    struct made_schedule *x = vec_push(&dev->made);
    *x = (struct made_schedule){.kernel = xstrdup(kernel), .blocks = blocks};
    return x;
}

void
rt_made_free(struct made_schedule *x)
{
    free(x->kernel);
    cta_schedule_free(x->s);
    cta_schedule_free(x->next);
}

/* *out: what the launch follows, NULL for none. */
static bool
by_method(struct allot_device *dev, const struct exec_grid *g,
          const struct launch_plan *plan, uint64_t most, const struct cta_schedule **out,
          struct diag_sink *diag)
{
    const uint64_t blocks = (uint64_t)g->grid.x * g->grid.y * g->grid.z;
    const char *kernel = g->prog->entry->name;
    const uint32_t update = dev->machine->cta.update;
    const bool online = dev->machine->cta.working_sets == SETS_PREVIOUS &&
                        cta_method_needs_sizes(&dev->method);
    if (blocks > CTA_MOST_BLOCKS)
        return diag_error(diag,
                          "kernel '%s': %llu blocks are more than a schedule has (%u)",
                          kernel, (unsigned long long)blocks, CTA_MOST_BLOCKS);
    struct made_schedule *x = made_for(dev, kernel, (uint32_t)blocks);
    struct cta_schedule **at = online ? &x->next : &x->s;
    if (x->next) {
        cta_schedule_free(x->s);
        *x = (struct made_schedule){x->kernel, x->blocks, .s = x->next};
    }
    x->followed += online; /* is the next launch's schedule wanted? */
    if (!x->s || (update && x->followed >= update)) {
        struct cta_schedule *s;
        if (!make(dev, g, plan, blocks, most, &s, diag))
            return false;
        cta_schedule_free(*at);
        *at = s;
        x->followed = 0;
    }
    x->followed += !online;
    *out = x->s;
    return true;
}

/* The words of array v of the plan's kernel. */
static bool
write_array(struct allot_device *dev, const struct launch_plan *plan,
            const struct ptx_var *v, const uint32_t *words, struct diag_sink *diag)
{
    uint64_t addr, bytes;
    if (!exec_image_symbol(plan->version->image, v->name, &addr, &bytes))
        return diag_error(diag, "kernel '%s' has no array '%s'", plan->kernel->func->name,
                          v->name);
    bool ok = dev_write(dev->mem, addr, words, bytes);
    timing_host_copy(dev->gpu, addr, bytes);
    return ok || diag_error(diag, "array '%s' cannot be written", v->name);
}

/* Where steps begin in the order of n blocks; n from the last one's end on. Each has as many blocks
 * as may run at once in that of the schedule, and no more than there are persistent ones. */
static void
step_starts(const struct cta_schedule *s, uint32_t n, uint32_t persistent,
            uint32_t *start)
{
    const struct cta_step whole = {0, n, persistent};
    const struct cta_step *step = s ? s->step : &whole;
    uint32_t k = 0;
    for (uint32_t i = 0; i < (s ? s->nsteps : 1); i++) {
        const uint32_t most = step[i].tlp < persistent ? step[i].tlp : persistent;
        for (uint32_t at = 0; at < step[i].n; at += most)
            start[k++] = step[i].first + at;
    }
    while (k <= n)
        start[k++] = n;
}

/* The schedule's order into the array of the plan's persistent blocks, and its steps. */
static bool
fill(struct allot_device *dev, const struct launch_plan *plan,
     const struct cta_schedule *s, struct diag_sink *diag)
{
    const uint32_t n = (uint32_t)(plan->entries->size / sizeof *s->order);
    if (s && s->blocks != n) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "the persistent blocks of kernel '%s' do the work of %u "
                     "blocks, but its schedule is for %u",
                     plan->kernel->func->name, n, s->blocks);
        diag_hint(diag, d, "make the schedule for this launch anew");
        return false;
    }
    uint32_t *words = xmalloc((n + (size_t)1) * sizeof *words);
    for (uint32_t i = 0; i < n; i++)
        words[i] = s ? s->order[i] : i;
    bool ok = write_array(dev, plan, plan->entries, words, diag);
    if (ok && plan->steps) {
        step_starts(s, n, plan->shape.grid[0], words);
        ok = write_array(dev, plan, plan->steps, words, diag);
    }
    free(words);
    return ok;
}

/* By method: the blocks are those of the kernel before passes. */
static bool
fill_by_method(struct allot_device *dev, const struct allot_launch *l,
               const struct exec_grid *grid, const struct launch_plan *plan,
               struct diag_sink *diag)
{
    struct launch_plan own;
    struct exec_grid g = *grid;
    const struct cta_schedule *s;
    if (!plan_unchanged(dev, l, &own, diag))
        return false;
    if (persistent_order(own.kernel->func)) {
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "kernel '%s' has persistent blocks already: what its "
                                  "blocks touched before is not known",
                                  l->kernel);
        diag_hint(diag, d,
                  "give its schedule as a file (--schedule FILE), or run the PTX "
                  "from before pass persistent-blocks");
        return false;
    }
    if (!rt_decode(dev, own.version, own.kernel, diag))
        return false;
    g.prog = own.kernel->prog;
    g.grid.x = own.shape.grid[0];
    g.grid.y = own.shape.grid[1];
    g.grid.z = own.shape.grid[2];
    return by_method(dev, &g, plan, (uint64_t)grid->grid.x, &s, diag) &&
           fill(dev, plan, s, diag);
}

bool
rt_follow_schedule(struct allot_device *dev, const struct allot_launch *l,
                   const struct exec_grid *g, struct launch_plan *plan,
                   struct diag_sink *diag)
{
    if (plan->entries && plan->persisted)
        return fill(dev, plan, plan->persisted, diag);
    if (!dev->method.row || plan->sm.schedule)
        return true;
    if (plan->entries)
        return fill_by_method(dev, l, g, plan, diag);
    return by_method(dev, g, plan, UINT32_MAX, &plan->sm.schedule, diag);
}
