/* run_charts.c: see run_charts.h. Roofline: Williams, Waterman, Patterson 2009, with thread
 * instructions for operations and DRAM sectors of 32 bytes for traffic. */
#include "report/run_charts.h"

#include "base/vec.h"
#include "report/why_report.h"
#include "timing/policy/policy.h"

#include <math.h>
#include <string.h>

enum { WARP = 32, SECTOR = 32 };

const char *const charts_overs[NOVER] = {"threads", "regs", "smem"};

/* -- occupancy -- */

static double
warps_of(const struct machine *m, const struct occ_kernel *k, enum occ_share share,
         double threshold)
{
    struct allot_occupancy o;
    struct diag_sink quiet = {0};
    bool ok = occ_compute(m, k, share, threshold, &o, &quiet);
    diag_free(&quiet);
    return ok ? o.warps : 0;
}

/* By the plan of the machine's residency policy. */
static double
warps_by_policy(const struct machine *m, const struct occ_kernel *k)
{
    struct residency_plan plan;
    struct diag_sink quiet = {0};
    const bool ok = residency_plan_of(m, k, &plan, &quiet);
    diag_free(&quiet);
    return ok ? plan.blocks * ((k->threads + WARP - 1) / WARP) : 0;
}

/* What a demand is rounded up to. */
static uint32_t
unit_of(const struct machine *m, enum occupancy_over over)
{
    return over == OVER_THREADS      ? WARP
           : over == OVER_SCRATCHPAD ? m->sm.scratchpad_unit
                                     : 1;
}

static uint32_t
end_of(const struct machine *m, enum occupancy_over over)
{
    return over == OVER_THREADS     ? m->sm.max_block_threads
           : over == OVER_REGISTERS ? m->sm.max_registers
                                    : m->sm.max_block_scratchpad;
}

/* The kernel with that many. */
static uint32_t *
swept(struct occ_kernel *k, enum occupancy_over over)
{
    return over == OVER_THREADS     ? &k->threads
           : over == OVER_REGISTERS ? &k->registers
                                    : &k->scratchpad;
}

/* A curve's points, v[0] and v[1] (with sharing, or by the machine's policy) at x. */
struct curve {
    const struct machine *m;
    struct occ_kernel k;
    enum occ_share share;
    double threshold;
    bool policy; /* v[1] is by the machine's residency policy */
    bool differ; /* v[0] and v[1], somewhere */
    enum occupancy_over over;
    VEC(double) x, v;
};

static void
look_at(const struct curve *c, uint32_t value, double v[2])
{
    struct occ_kernel at = c->k;
    *swept(&at, c->over) = value;
    v[0] = warps_of(c->m, &at, OCC_SHARE_NONE, 1);
    v[1] = c->policy                    ? warps_by_policy(c->m, &at)
           : c->share == OCC_SHARE_NONE ? v[0]
                                        : warps_of(c->m, &at, c->share, c->threshold);
}

static void
add_point(struct curve *c, uint32_t value, const double v[2])
{
    if (c->x.n && c->x.v[c->x.n - 1] == value)
        return;
    *vec_push(&c->x) = value;
    *vec_push(&c->v) = v[0];
    *vec_push(&c->v) = v[1];
    c->differ |= v[0] != v[1];
}

/* The last value before each change: a point holds back to the one before it. */
static void
add_changes(struct curve *c, uint32_t from, uint32_t end, uint32_t unit)
{
    double now[2], was[2];
    look_at(c, from, was);
    add_point(c, from, was);
    for (uint32_t x = from ? unit : 0; x <= end; x += unit) {
        look_at(c, x, now);
        if (now[0] != was[0] || now[1] != was[1])
            add_point(c, x - unit, was);
        memcpy(was, now, sizeof was);
        if (end - x < unit)
            add_point(c, x, now);
    }
}

/* with: what the second series is called. */
static struct chart
occupancy_chart(struct curve c, const char *with, struct arena *mem)
{
    static const char *const labels[] = {"threads of a block", "registers of a thread",
                                         "scratchpad of a block, bytes"};
    const struct machine *m = c.m;
    const enum occupancy_over over = c.over;
    const struct occ_kernel *k = &c.k;
    struct occ_kernel here = *k;
    uint32_t own = *swept(&here, over), unit = unit_of(m, over);
    add_changes(&c, over == OVER_SCRATCHPAD ? 0 : 1, end_of(m, over), unit);
    const unsigned n = c.share != OCC_SHARE_NONE || c.differ ? 3 : 2;
    size_t points = c.x.n, place = 0, i = 0;
    double *x = ARENA_ARRAY(mem, double, points + 1),
           *v = ARENA_ARRAY(mem, double, (points + 1) * n), at[2];
    while (place < points && c.x.v[place] < own)
        place++;
    look_at(&c, own, at);
    for (size_t p = 0; p <= points; p++) {
        bool mark = p == place, same = mark && p < points && c.x.v[p] == own;
        if (mark) { /* the kernel's own place, in order */
            x[i] = own;
            v[i * n] = at[0];
            v[i * n + n - 2] = at[1];
            v[i * n + n - 1] = at[1];
            i++;
        }
        if (same || p == points)
            continue;
        x[i] = c.x.v[p];
        v[i * n] = c.v.v[2 * p];
        v[i * n + n - 2] = c.v.v[2 * p + 1];
        v[i * n + n - 1] = NAN;
        i++;
    }
    vec_free(&c.x);
    vec_free(&c.v);
    const char **series = ARENA_ARRAY(mem, const char *, n);
    struct chart_style *style = ARENA_ARRAY(mem, struct chart_style, n);
    series[0] = n == 3 ? "without sharing" : "resident warps";
    if (n == 3)
        series[1] = with;
    series[n - 1] = "this kernel";
    for (unsigned s = 0; s < n; s++)
        style[s] = (struct chart_style){s, false, s + 1 < n};
    return (struct chart){
        .kind = CHART_SCATTER,
        .title = arena_printf(mem, "%s: %u threads, %u registers, %u B of scratchpad",
                              m->gpu.name, k->threads, k->registers, k->scratchpad),
        .xlabel = labels[over],
        .ylabel =
            arena_printf(mem, "resident warps of an SM, of %u", m->sm.max_threads / WARP),
        .ngroups = i,
        .nseries = n,
        .series = series,
        .style = style,
        .value = v,
        .x = x,
        .steps = true};
}

struct chart
charts_occupancy(const struct machine *m, const struct occ_kernel *k,
                 enum occ_share share, double threshold, enum occupancy_over over,
                 struct arena *mem)
{
    const char *what = share == OCC_SHARE_REGISTERS ? "registers" : "scratchpad";
    return occupancy_chart(
        (struct curve){
            .m = m, .k = *k, .share = share, .threshold = threshold, .over = over},
        arena_printf(mem, "%s shared, t = %g", what, threshold), mem);
}

struct chart
charts_residency(const struct machine *m, const struct occ_kernel *k,
                 enum occupancy_over over, struct arena *mem)
{
    const struct residency_policy *policy = residency_find(m->residency.policy);
    const char *with = m->residency.policy;
    if (policy && policy->shares)
        with = arena_printf(mem, "%s, t = %g", with, m->residency.threshold);
    return occupancy_chart(
        (struct curve){.m = m, .k = *k, .policy = policy != NULL, .over = over}, with,
        mem);
}

/* -- stall causes -- */

struct chart
charts_stalls(const struct run_kernel *k, size_t n, struct arena *mem)
{
    const char **groups = ARENA_ARRAY(mem, const char *, n),
               **series = ARENA_ARRAY(mem, const char *, WHY_CAUSES);
    double *v = ARENA_ARRAY(mem, double, n *WHY_CAUSES);
    for (size_t s = 0; s < WHY_CAUSES; s++)
        series[s] = why_causes[s].title;
    for (size_t i = 0; i < n; i++) {
        uint64_t slots = 0, one;
        groups[i] = k[i].label;
        stats_get(&k[i].stats, "issue_slots", &slots, NULL);
        for (size_t s = 0; s < WHY_CAUSES; s++) {
            stats_get(&k[i].stats, why_causes[s].id, &one, NULL);
            v[i * WHY_CAUSES + s] = slots ? 100 * (double)one / (double)slots : NAN;
        }
    }
    return (struct chart){.kind = CHART_STACK,
                          .title = "Issue slots by cause",
                          .ylabel = "issue slots, %",
                          .ngroups = n,
                          .nseries = WHY_CAUSES,
                          .groups = groups,
                          .series = series,
                          .value = v};
}

/* -- roofline -- */

double
charts_peak_instructions(const struct machine *m)
{
    return (double)m->sm.count * m->sm.schedulers * m->sm.issue_width * WARP;
}

double
charts_peak_bytes(const struct machine *m)
{
    return (double)m->dram.channels * m->dram.bus * m->dram.transfers * m->clock.dram /
           m->clock.core;
}

struct chart
charts_roofline(const struct run_kernel *k, size_t n, struct arena *mem)
{
    enum { ROOF = 3 };
    const struct machine *m = k[0].machine;
    double peak = charts_peak_instructions(m), bytes = charts_peak_bytes(m),
           ridge = peak / bytes, low = ridge / 8, high = ridge * 8;
    const char **groups = ARENA_ARRAY(mem, const char *, n + ROOF),
               **series = ARENA_ARRAY(mem, const char *, 2);
    double *v = ARENA_ARRAY(mem, double, 2 * (n + ROOF)),
           *x = ARENA_ARRAY(mem, double, n + ROOF);
    struct chart_style *style = ARENA_ARRAY(mem, struct chart_style, 2);
    size_t used = ROOF;
    for (size_t i = 0; i < n; i++) {
        uint64_t inst = 0, cycles = 0, in = 0, out = 0;
        stats_get(&k[i].stats, "thread_instructions", &inst, NULL);
        stats_get(&k[i].stats, "cycles", &cycles, NULL);
        stats_get(&k[i].stats, "l2_fetched_sectors", &in, NULL);
        stats_get(&k[i].stats, "l2_writeback_sectors", &out, NULL);
        if (!inst || !cycles || !(in + out)) /* without traffic: right of everything */
            continue;
        groups[used] = k[i].label;
        x[used] = (double)inst / ((double)(in + out) * SECTOR);
        v[2 * used] = NAN;
        v[2 * used + 1] = (double)inst / (double)cycles;
        low = fmin(low, x[used] / 2);
        high = fmax(high, x[used] * 2);
        used++;
    }
    const double roof[ROOF] = {low, ridge, high};
    for (size_t i = 0; i < ROOF; i++) {
        groups[i] = "";
        x[i] = roof[i];
        v[2 * i] = fmin(peak, roof[i] * bytes);
        v[2 * i + 1] = NAN;
    }
    series[0] =
        arena_printf(mem, "roof: %g instructions, %.4g B of DRAM a cycle", peak, bytes);
    series[1] = "kernels";
    style[0] = (struct chart_style){11, false, true};
    style[1] = (struct chart_style){0, false, false};
    return (struct chart){.kind = CHART_SCATTER,
                          .title = arena_printf(mem, "Roofline of %s", k[0].machine_name),
                          .xlabel = "thread instructions a byte of DRAM traffic",
                          .ylabel = "thread instructions a core cycle",
                          .ngroups = used,
                          .nseries = 2,
                          .groups = groups,
                          .series = series,
                          .value = v,
                          .x = x,
                          .style = style,
                          .log_x = true,
                          .log_y = true};
}
