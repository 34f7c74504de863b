/* working.c: the public questions on working sets of a launch, and schedules made from them.
 */
#include "cta/schedule_text.h"
#include "cta/search.h"
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
allot_machine_l2_bytes(const struct allot_machine *m)
{
    const struct machine *x = m->m;
    return (uint64_t)x->l2.sets * x->l2.ways * x->l2.line * x->partition.slices *
           x->dram.channels;
}

/* "awss", "static", "relax", a packer behind a comma. */
static bool
method_of(const char *text, struct cta_problem *p, struct diag_sink *diag)
{
    const char *comma = strchr(text, ',');
    size_t n = comma ? (size_t)(comma - text) : strlen(text);
    p->static_tlp = n == 6 && !memcmp(text, "static", 6);
    p->relaxed = n == 5 && !memcmp(text, "relax", 5);
    if (!p->static_tlp && !p->relaxed && !(n == 4 && !memcmp(text, "awss", 4))) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL, "'%s' is no method of scheduling", text);
        diag_hint(diag, d, "awss, static or relax; one packer alone: awss,packer=iwfd");
        return false;
    }
    if (!comma)
        return true;
    p->packer = strncmp(comma + 1, "packer=", 7) ? NULL : packer_find(comma + 8);
    if (p->packer && p->packer->open_end == p->relaxed)
        return true;
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                              "'%s': there is no such packer for this method", text);
    diag_hint(diag, d,
              "awss and static: packer=lmf, packer=iwfd; relax: packer=mxf, "
              "packer=glanf");
    return false;
}

char *
allot_working_schedule(const struct allot_result *r, const struct allot_machine *m,
                       const char *method, uint32_t max_tlp, double cps,
                       struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct cta_problem p = {.max_tlp = max_tlp, .cps = cps};
    struct strbuf b = {0};
    bool ok = method_of(method, &p, diag);
    if (ok && (!r->workset || workset_blocks(r->workset) > CTA_MOST_BLOCKS || !max_tlp))
        ok = diag_error(diag, "kernel '%s': there are no working sets to schedule by",
                        r->kernel);
    if (ok) {
        p.blocks = (uint32_t)workset_blocks(r->workset);
        p.size = workset_sizes(r->workset);
        p.capacity = allot_machine_l2_bytes(m) / workset_line(r->workset);
        struct cta_schedule *s = cta_search(&p);
        char note[160];
        snprintf(note, sizeof note,
                 "%s: %u steps, %u synchronisations, cost %.6g at CPS %.4g; %llu lines",
                 method, s->nsteps, cta_syncs(s), cta_cost(s, cps), cps,
                 (unsigned long long)p.capacity);
        s->kernel = xstrdup(r->kernel);
        cta_schedule_print(s, note, &b);
        cta_schedule_free(s);
    }
    diag_free(&own);
    return ok ? strbuf_take(&b) : NULL;
}
