/* make_schedule.c: schedules by method (cta.schedule): 004 section 6.1, Figure 5. Before a
 * launch is simulated it is executed without timing, on its own memory and arguments, while
 * the lines that each block touches are taken down; then memory is as it was. From the
 * working sets the method makes the schedule, which later launches of the kernel with as
 * many blocks follow too, until cta.update of them have (Figure 5's flag `update`).
 *
 * Cost: one functional execution and a copy of the memory in use, for each schedule; none
 * for the methods that do not look at working sets. */
#include "exec/orders.h"
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

/* Executes the launch and puts memory back. */
static bool
observe(struct allot_device *dev, struct exec_grid *g, struct workset *w,
        struct diag_sink *diag)
{
    struct dev_copy *copy = dev_save(dev->mem);
    if (!copy)
        return diag_error(diag, "no host memory for a copy of device memory");
    g->print = discard;
    g->races = NULL;
    g->team = NULL;
    g->apart = NULL;
    workset_watch(w, g);
    bool ok = exec_run_grid(g) == EXEC_OK;
    workset_finish(w);
    if (!dev_restore(dev->mem, copy))
        return refuse(g, "allocates memory", diag);
    if (ok && g->orders && exec_orders_at(g->orders, 0))
        return refuse(g, "launches kernels", diag);
    return ok;
}

static struct cta_schedule *
make(struct allot_device *dev, const struct exec_grid *grid,
     const struct launch_plan *plan, uint64_t blocks, struct diag_sink *diag)
{
    const struct machine *m = dev->machine;
    struct exec_grid g = *grid;
    struct cta_schedule *s = NULL;
    struct cta_problem p = {.blocks = (uint32_t)blocks,
                            .capacity = rt_l2_bytes(m) / m->l2.line,
                            .cps = m->cta.cps};
    uint64_t fit = plan_together(m, plan, diag);
    if (!fit)
        return NULL;
    p.max_tlp = (uint32_t)fit;
    if (!cta_method_needs_sizes(&dev->method)) {
        s = cta_method_schedule(&dev->method, p);
    } else {
        struct workset *w = workset_new(blocks, m->l2.line, dev->mem);
        if (observe(dev, &g, w, diag)) {
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
    return s;
}

const struct cta_schedule *
rt_make_schedule(struct allot_device *dev, const struct exec_grid *g,
                 const struct launch_plan *plan, struct diag_sink *diag)
{
    const uint64_t blocks = (uint64_t)g->grid.x * g->grid.y * g->grid.z;
    const uint32_t update = dev->machine->cta.update;
    if (blocks > CTA_MOST_BLOCKS) {
        diag_error(diag, "kernel '%s': %llu blocks are more than a schedule has (%u)",
                   g->prog->entry->name, (unsigned long long)blocks, CTA_MOST_BLOCKS);
        return NULL;
    }
    struct made_schedule *x = NULL;
    for (size_t i = 0; i < dev->made.n && !x; i++)
        if (dev->made.v[i].s->blocks == blocks &&
            !strcmp(dev->made.v[i].s->kernel, g->prog->entry->name))
            x = &dev->made.v[i];
    if (!x || (update && x->followed >= update)) {
        struct cta_schedule *s = make(dev, g, plan, blocks, diag);
        if (!s)
            return NULL;
        if (x)
            cta_schedule_free(x->s);
        else
            x = vec_push(&dev->made);
        *x = (struct made_schedule){.s = s};
    }
    x->followed++;
    return x->s;
}
