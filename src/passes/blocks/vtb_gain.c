/* vtb_gain.c: what merging blocks is worth on the machine, before it is simulated.
 *
 * An SM holds W blocks of which K are merged into one; all SMs together run the grid in T
 * turns. f: the share of a block's instructions in regions. Of K virtual blocks each waits
 * for the K - 1 others' regions at worst, so of V = W K blocks at a time
 *
 *     V / (1 + (K - 1) f)
 *
 * are at work, but no more than fill the issue slots: a warp alone issues once in `alone`
 * cycles. One turn takes V over that, in times of a block alone. So, of T turns before and
 * T' after,
 *
 *     gain = T / T'  x  block alone / block merged
 *
 * A last turn counts in full, if it has few blocks, too: blocks of a grid are alike. Not in it:
 * caches and DRAM, which more blocks share; the barriers at the ends of regions; loads of a warp
 * that overlap, by which it issues more often than once in `alone`. */
#include "passes/blocks/vtb_int.h"

#include "analysis/loops.h"
#include "machine/latency.h"
#include "machine/occupancy.h"

enum { UNKNOWN_TRIPS = 10 }; /* as for regions (analysis/regions.c) */

double
vtb_cost_of(const struct merge *m, const struct ptx_inst *in)
{
    const struct machine *mach = m->a->launch->machine;
    const enum ptx_space space = ptx_inst_space(in);
    if (ptx_is_pseudo(in))
        return 0;
    if (!mach)
        return 1;
    if (ptx_ops[in->op].flags & (PTX_LOAD | PTX_ATOMIC) &&
        (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_NONE))
        return latency_dram(mach);
    return latency_dependent(mach, ptx_ops[in->op].latency);
}

uint64_t *
vtb_weights(const struct region_facts *x)
{
    uint64_t *weight = xcalloc(x->cfg->n + 1, sizeof *weight);
    struct loops *l = loops_new(x->cfg);
    loops_weights(l, UNKNOWN_TRIPS, weight);
    loops_free(l);
    return weight;
}

/* Cycles from one instruction of a warp to its next, if each waits for the one before. */
static double
cycles_alone(const struct merge *m, const struct region_facts *x)
{
    uint64_t *weight = vtb_weights(x);
    double cycles = 0, n = 0;
    for (uint32_t v = 0; v < x->cfg->n; v++)
        for (uint32_t i = x->cfg->block[v].first;
             x->cfg->block[v].rpo >= 0 && i < x->cfg->block[v].end; i++) {
            cycles += (double)weight[v] * vtb_cost_of(m, &m->f->body.v[i]);
            n += ptx_is_pseudo(&m->f->body.v[i]) ? 0 : (double)weight[v];
        }
    free(weight);
    return n > 0 ? cycles / n : 1;
}

/* Registers of a thread: as the machine says, else those that are live at the same time (allocation
 * may need some more). */
static uint32_t
registers_of(const struct merge *m, const struct region_facts *x)
{
    const struct machine *mach = m->a->launch->machine;
    if (mach->residency.regs_per_thread)
        return (uint32_t)mach->residency.regs_per_thread;
    struct live *live = live_new(x->cfg);
    uint32_t registers, predicates;
    live_max(live, &registers, &predicates);
    live_free(live);
    return registers < mach->sm.max_registers ? registers : mach->sm.max_registers;
}

void
vtb_gain_begin(struct merge *m, const struct region_facts *x)
{
    const struct pass_launch *l = m->a->launch;
    m->known = l->machine && l->kernel && l->grid[0];
    if (!l->machine || !l->kernel)
        return;
    m->registers = registers_of(m, x);
    m->alone = cycles_alone(m, x);
}

uint32_t
vtb_blocks_held(const struct merge *m, uint32_t k, uint64_t scratchpad)
{
    const uint32_t *b = m->a->launch->block;
    const struct occ_kernel of = {.threads = b[0] * b[1] * b[2] * k,
                                  .registers = m->registers,
                                  .scratchpad = (uint32_t)scratchpad};
    struct allot_occupancy o = {0};
    struct diag_sink quiet = {0};
    if (!occ_compute(m->a->launch->machine, &of, OCC_SHARE_NONE, 1, &o, &quiet))
        o.resident_blocks = 0;
    diag_free(&quiet);
    return o.resident_blocks;
}

static uint64_t
over(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Blocks of the grid, of k merged ones. */
static uint64_t
blocks_of(const struct merge *m, uint32_t k)
{
    uint64_t n = 1;
    for (unsigned d = 0; d < 3; d++)
        n *= d == m->dim ? over(m->a->launch->grid[d], k) : m->a->launch->grid[d];
    return n;
}

/* Time of the grid, or of a block where that is not known, in times of a block alone, if an
 * SM holds `held` blocks of k merged ones, with a share f in regions. */
static double
time_of(const struct merge *m, uint32_t held, uint32_t k, double f, uint64_t *turns)
{
    const struct pass_launch *l = m->a->launch;
    const struct machine *mach = l->machine;
    const double threads = (double)l->block[0] * l->block[1] * l->block[2];
    const double issued = (double)mach->sm.schedulers * (double)mach->sm.issue_width;
    const double fill = issued * m->alone * 32 / threads; /* blocks that do */
    const uint64_t sms = (uint64_t)mach->sm.count;
    double at_a_time = (double)held * k;
    *turns = m->known ? over(blocks_of(m, k), held * sms) : 0;
    if (*turns == 1)
        at_a_time = (double)over(blocks_of(m, k), sms) * k;
    const double at_work = at_a_time / (1 + (k - 1) * f);
    const double together = 1 / (at_work < fill ? at_work : fill);
    return m->known ? (double)*turns * at_a_time * together : together;
}

bool
vtb_gain(const struct merge *m, const struct region_facts *x, const struct regions *r,
         uint64_t own, double inside, double outside, struct vtb_gain *to)
{
    const struct pass_launch *l = m->a->launch;
    const uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    *to = (struct vtb_gain){0};
    if (!l->machine || !l->kernel)
        return false;
    const uint64_t bytes = region_block_bytes(x, l);
    const uint32_t before = vtb_blocks_held(m, 1, bytes),
                   after = vtb_blocks_held(m, m->k, bytes + (m->k - 1) * own);
    to->held[0] = threads * before;
    to->held[1] = threads * m->k * after;
    if (!before || !after)
        return before != 0;
    const double all = (double)r->all + inside + outside;
    const double f = r->all ? ((double)r->inside + inside) / all : 0;
    to->share = f;
    const double was = time_of(m, before, 1, f, &to->turns[0]),
                 is = time_of(m, after, m->k, f, &to->turns[1]);
    to->faster = was / is / (r->all ? all / (double)r->all : 1);
    return true;
}
