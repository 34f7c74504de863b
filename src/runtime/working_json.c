/* working_json.c: the figures of a launch's working sets: how they overlap, and the
 * contention ratio over TLP (004 Definition 2), once by the sum of working sets and once with
 * lines in common counted once. */
#include "runtime/result.h"
#include "runtime/working.h"

#include "base/clock.h"
#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>

/* A launch on a machine. */
struct view {
    const struct allot_result *r;
    struct allot_working_set w;
    uint64_t sms, resident, capacity; /* resident: blocks of an SM; capacity: lines */
    double cps;
};

enum { STEPS = 16, PAIRS = 256 }; /* samples: at least so many, if there are */

static bool
view_of(struct view *v, const struct allot_result *r, const struct allot_machine *m,
        const struct working_want *want, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    uint64_t inst = 0;
    *v = (struct view){.r = r, .sms = m->m->sm.count};
    const struct allot_occupancy_query q = allot_result_demand(r);
    struct allot_occupancy o;
    bool ok = allot_result_working_set(r, &v->w) ||
              diag_error(diag, "kernel '%s': its working sets were not watched",
                         allot_result_kernel(r));
    ok = ok && allot_occupancy(m, &q, &o, d);
    diag_free(&own);
    if (!ok)
        return false;
    v->resident = o.resident_blocks;
    v->capacity = rt_l2_bytes(m->m) / v->w.line_bytes;
    allot_result_get(r, "warp_instructions", &inst, NULL);
    v->cps = want->cps >= 0 ? want->cps
             : inst         ? (double)m->m->cta.sync_cycles * v->w.blocks / (double)inst
                            : 0;
    return true;
}

/* Mean contention ratio of `tlp` blocks that run at once, in order of their number. */
static void
contention(const struct view *v, uint64_t tlp, double *sum, double *distinct)
{
    const uint64_t steps = (v->w.blocks + tlp - 1) / tlp;
    const uint64_t stride = steps > STEPS ? steps / STEPS : 1;
    uint64_t lines = 0, different = 0, n = 0;
    uint32_t *ids = xcalloc(tlp, sizeof *ids);
    for (uint64_t s = 0; s < steps; s += stride, n++) {
        uint64_t from = s * tlp, k = 0;
        for (; k < tlp && from + k < v->w.blocks; k++) {
            ids[k] = (uint32_t)(from + k);
            lines += v->w.lines[from + k];
        }
        different += allot_working_union(v->r, ids, k);
    }
    free(ids);
    *sum = (double)lines / (double)n / (double)v->capacity;
    *distinct = (double)different / (double)n / (double)v->capacity;
}

/* Mean share of a block's lines that the block `distance` further touches too. */
static double
overlap(const struct view *v, uint64_t distance)
{
    const uint64_t pairs = v->w.blocks - distance;
    const uint64_t stride = pairs > PAIRS ? pairs / PAIRS : 1;
    uint64_t common = 0, lines = 0;
    for (uint64_t i = 0; i < pairs; i += stride) {
        common += allot_working_common(v->r, (uint32_t)i, (uint32_t)(i + distance));
        lines += v->w.lines[i];
    }
    return lines ? (double)common / (double)lines : 0;
}

static json_t *
lines_json(const struct view *v)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < v->w.blocks; i++)
        json_array_append_new(a, json_integer((json_int_t)v->w.lines[i]));
    return a;
}

static json_t *
arrays_json(const struct view *v)
{
    json_t *a = json_array();
    for (size_t i = 0; i < v->w.narrays; i++) {
        const struct allot_working_array *x = &v->w.arrays[i];
        json_array_append_new(
            a, json_pack("{s:I, s:I, s:I, s:I}", "address", (json_int_t)x->addr, "bytes",
                         (json_int_t)x->bytes, "lines", (json_int_t)x->lines, "distinct",
                         (json_int_t)x->distinct));
    }
    return a;
}

static json_t *
overlap_json(const struct view *v)
{
    static const uint64_t distance[] = {1, 2, 8, 64, 512};
    json_t *a = json_array();
    for (size_t i = 0; i < sizeof distance / sizeof *distance; i++)
        if (distance[i] < v->w.blocks)
            json_array_append_new(a, json_pack("{s:I, s:f}", "distance",
                                               (json_int_t)distance[i], "common",
                                               overlap(v, distance[i])));
    return a;
}

static json_t *
contention_json(const struct view *v)
{
    json_t *a = json_array();
    for (uint64_t k = 1; k <= v->resident; k++) {
        double sum, distinct;
        contention(v, k * v->sms, &sum, &distinct);
        json_array_append_new(a, json_pack("{s:I, s:I, s:f, s:f}", "blocks_sm",
                                           (json_int_t)k, "tlp", (json_int_t)(k * v->sms),
                                           "contention", sum, "contention_distinct",
                                           distinct));
    }
    return a;
}

json_t *
rt_working_json(const struct allot_result *r, const struct allot_machine *m,
                const struct working_want *want, struct allot_diag *d)
{
    struct view v;
    char *schedule = NULL;
    if (!view_of(&v, r, m, want, d))
        return NULL;
    const double began = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (want->method &&
        !(schedule = allot_working_schedule(r, m, want->method,
                                            (uint32_t)(v.sms * v.resident), v.cps, d)))
        return NULL;
    const double seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - began;
    json_t *o =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "kernel",
                  allot_result_kernel(r), "blocks", (json_int_t)v.w.blocks, "line_bytes",
                  (json_int_t)v.w.line_bytes, "capacity_lines", (json_int_t)v.capacity,
                  "sum", (json_int_t)v.w.sum, "distinct", (json_int_t)v.w.distinct, "cps",
                  v.cps, "lines", lines_json(&v), "arrays", arrays_json(&v), "overlap",
                  overlap_json(&v), "contention", contention_json(&v));
    if (schedule) {
        json_object_set_new(o, "schedule", json_string(schedule));
        json_object_set_new(o, "schedule_seconds", json_real(seconds));
    }
    free(schedule);
    return o;
}

bool
rt_working_launches(const struct allot_device *dev, const struct allot_machine *m,
                    uint64_t nth, const char *only, const struct working_want *want,
                    json_t *launches, struct allot_diag *d)
{
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        const char *kernel = allot_result_kernel(r);
        uint64_t n = 1;
        for (size_t k = 0; k < i; k++)
            n += !strcmp(allot_result_kernel(allot_result_at(dev, k)), kernel);
        if (n != nth || (only && !demangle_means(kernel, only)))
            continue;
        json_t *o = rt_working_json(r, m, want, d);
        if (!o)
            return false;
        json_array_append_new(launches, o);
    }
    return true;
}
