/* working.c: the public questions on working sets of a launch, and schedules made from them.
 */
#include "base/number.h"
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

/* How a schedule is made: the search of src/cta under one of its problems, or a baseline
 * that does not look at working sets. */
struct method {
    const char *name, *options; /* of the text behind the name */
    bool baseline, shuffled;    /* baseline: one step; its order drawn */
    bool static_tlp, relaxed;   /* of the search */
};

static const struct method methods[] = {
    {"awss", "packer=lmf, packer=iwfd", .baseline = false},
    {"static", "packer=lmf, packer=iwfd", .static_tlp = true},
    {"relax", "packer=mxf, packer=glanf", .relaxed = true},
    {"round-robin", "tlp=N", .baseline = true},
    {"random", "tlp=N, seed=N", .baseline = true, .shuffled = true},
};

struct choice {
    const struct method *method;
    const struct packer *packer; /* NULL: the best */
    uint64_t tlp, seed;
};

/* One option of n bytes behind the method's name. */
static bool
take_option(struct choice *c, const char *s, size_t n, uint32_t max_tlp)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), s);
    if (c->method->baseline && !strncmp(text, "tlp=", 4))
        return number_u64(text + 4, 1, max_tlp, &c->tlp);
    if (c->method->shuffled && !strncmp(text, "seed=", 5))
        return number_u64(text + 5, 0, UINT64_MAX, &c->seed);
    if (c->method->baseline || strncmp(text, "packer=", 7))
        return false;
    c->packer = packer_find(text + 7);
    return c->packer && c->packer->open_end == c->method->relaxed;
}

/* METHOD[,OPTION]... */
static bool
choice_of(const char *text, uint32_t max_tlp, struct choice *c, struct diag_sink *diag)
{
    size_t n = strcspn(text, ",");
    *c = (struct choice){.tlp = max_tlp};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strlen(methods[i].name) == n && !memcmp(methods[i].name, text, n))
            c->method = &methods[i];
    if (!c->method) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL, "'%s' is no method of scheduling", text);
        diag_hint(diag, d,
                  "awss, static or relax, one packer alone: awss,packer=iwfd; baselines: "
                  "round-robin,tlp=N or random,tlp=N,seed=N");
        return false;
    }
    for (const char *s = text + n; *s; s += n) {
        n = strcspn(++s, ",");
        if (take_option(c, s, n, max_tlp))
            continue;
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "'%s': this method takes no '%.*s'", text, (int)n, s);
        diag_hint(diag, d, "%s takes %s%s", c->method->name, c->method->options,
                  c->method->baseline ? "; N of tlp: 1 to the blocks that the GPU holds"
                                      : "");
        return false;
    }
    return true;
}

char *
allot_working_schedule(const struct allot_result *r, const struct allot_machine *m,
                       const char *method, uint32_t max_tlp, double cps,
                       struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct choice c;
    struct strbuf b = {0};
    bool ok = choice_of(method, max_tlp, &c, diag);
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
                                .static_tlp = c.method->static_tlp,
                                .relaxed = c.method->relaxed,
                                .packer = c.packer};
        struct cta_schedule *s = !c.method->baseline ? cta_search(&p)
                                 : c.method->shuffled
                                     ? cta_random(p.blocks, (uint32_t)c.tlp, c.seed)
                                     : cta_one_step(p.blocks, (uint32_t)c.tlp);
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
