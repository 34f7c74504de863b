/* working.c: the public questions on working sets of a launch, and schedules made from them.
 */
#include "cta/method.h"
#include "cta/schedule_text.h"
#include "runtime/result.h"

#include <string.h>

bool
allot_result_working_set(const struct allot_result *r, struct allot_working_set *out)
{
    struct allot_result *own = (struct allot_result *)r; /* the arrays are made late */
    const struct workset *w = r->workset;
    *out = (struct allot_working_set){0};
    if (!w)
        return false;
    size_t n = workset_arrays(w);
    if (!r->arrays) {
        own->arrays = xcalloc(n + 1, sizeof *own->arrays);
        for (size_t i = 0; i < n; i++) {
            struct workset_array a = workset_array_at(w, i);
            own->arrays[i] =
                (struct allot_working_array){a.addr, a.bytes, a.lines, a.distinct};
        }
    }
    *out = (struct allot_working_set){.blocks = (uint32_t)workset_blocks(w),
                                      .line_bytes = workset_line(w),
                                      .lines = workset_sizes(w),
                                      .sum = workset_sum(w),
                                      .distinct = workset_distinct(w),
                                      .narrays = n,
                                      .arrays = r->arrays};
    return true;
}

uint64_t
allot_working_common(const struct allot_result *r, uint32_t a, uint32_t b)
{
    return workset_common(r->workset, a, b);
}

uint64_t
allot_working_union(const struct allot_result *r, const uint32_t *blocks, size_t n)
{
    return workset_union(r->workset, blocks, n);
}

uint64_t
rt_l2_bytes(const struct machine *m)
{
    return (uint64_t)m->l2.sets * m->l2.ways * m->l2.line * m->partition.slices *
           m->dram.channels;
}

uint64_t
allot_machine_l2_bytes(const struct allot_machine *m)
{
    return rt_l2_bytes(m->m);
}

char *
allot_working_schedule(const struct allot_result *r, const struct allot_machine *m,
                       const char *method, uint32_t max_tlp, double cps,
                       struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct cta_method c;
    struct strbuf b = {0};
    bool ok = cta_method_parse(method, &c, diag);
    if (ok && (!r->workset || workset_blocks(r->workset) > CTA_MOST_BLOCKS || !max_tlp))
        ok = diag_error(diag, "kernel '%s': there are no working sets to schedule by",
                        r->kernel);
    if (ok) {
        struct cta_problem p = {.blocks = (uint32_t)workset_blocks(r->workset),
                                .size = workset_sizes(r->workset),
                                .capacity =
                                    allot_machine_l2_bytes(m) / workset_line(r->workset),
                                .max_tlp = max_tlp,
                                .cps = cps,
                                .together = workset_together,
                                .user = r->workset};
        struct cta_schedule *s = cta_method_schedule(&c, p);
        char note[160];
        snprintf(
            note, sizeof note,
            "%.60s: %u steps, %u synchronisations, cost %.6g at CPS %.4g; %llu lines",
            method, s->nsteps, cta_syncs(s), cta_cost(s, cps), cps,
            (unsigned long long)p.capacity);
        s->kernel = xstrdup(r->kernel);
        cta_schedule_print(s, note, &b);
        cta_schedule_free(s);
    }
    diag_free(&own);
    return ok ? strbuf_take(&b) : NULL;
}
