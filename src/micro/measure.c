/* measure.c: see measure.h. */
#include "micro/measure.h"

#include "base/arena.h"
#include "micro/apps.h"
#include "micro/card.h"
#include "micro/micro.h"
#include "micro/published.h"
#include "micro/span.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- a case -- */

struct job {
    struct gpu *g;
    const struct micro_case *c;
    cu_ptr buffer[MICRO_MAX_BUFFERS];
    void *module[MICRO_MAX_LAUNCHES], *function[MICRO_MAX_LAUNCHES];
    uint64_t *image; /* of the buffer being filled */
    bool warm;
};

static bool
write_pointer(void *user, uint64_t offset, uint64_t value)
{
    ((struct job *)user)->image[offset / 8] = value;
    return true;
}

static bool
fill(struct job *j, unsigned i)
{
    const uint64_t bytes = j->c->bytes[i];
    j->image = xcalloc(1, (bytes | 7) + 1);
    bool ok = TRY(j->g, set(j->buffer[i], 0, micro_room(bytes))) &&
              micro_fill(j->c->contents[i], bytes, j->buffer[i], write_pointer, j) &&
              TRY(j->g, to_device(j->buffer[i], j->image, bytes));
    free(j->image);
    return ok;
}

static bool
job_open(struct job *j)
{
    struct gpu *g = j->g;
    for (unsigned i = 0; i < j->c->nbuffers; i++)
        if (!TRY(g, alloc(&j->buffer[i], micro_room(j->c->bytes[i]))))
            return false;
    for (unsigned i = 0; i < j->c->nlaunches; i++) {
        const struct micro_launch *l = &j->c->launch[i];
        char *text = micro_text(l->ptx, (unsigned)g->cc);
        text = text ? span_place(text, g->span) : NULL;
        bool ok = text && TRY(g, load(&j->module[i], text)) &&
                  TRY(g, function(&j->function[i], j->module[i], l->kernel));
        free(text);
        if (!ok)
            return false;
    }
    return true;
}

static void
job_close(struct job *j)
{
    for (unsigned i = 0; i < MICRO_MAX_LAUNCHES; i++)
        if (j->module[i])
            j->g->unload(j->module[i]);
    for (unsigned i = 0; i < MICRO_MAX_BUFFERS; i++)
        if (j->buffer[i])
            j->g->free(j->buffer[i]);
}

/* Parameters by the order in which the text declares them: `.param .u64 NAME`. */
static bool
job_launch(struct job *j, unsigned i, uint64_t *cycles)
{
    struct gpu *g = j->g;
    const struct micro_launch *l = &j->c->launch[i];
    struct allot_diag *d = allot_diag_new();
    char *text = micro_text(l->ptx, 0);
    struct allot_module *m =
        text ? allot_module_parse(l->ptx, text, strlen(text), d) : NULL;
    const struct allot_kernel *k = m ? allot_module_find(m, l->kernel) : NULL;
    bool ok = k && k->nparams <= MICRO_MAX_PARAMS;
    uint64_t value[MICRO_MAX_PARAMS] = {0}, slots[SPAN_WORDS];
    void *args[MICRO_MAX_PARAMS];
    for (size_t p = 0; ok && p < k->nparams; p++) {
        args[p] = &value[p]; /* little-endian: a 32-bit value lies at the same place */
        ok = micro_param(l, k->params[p].name, j->buffer, j->c->nbuffers, &value[p]);
    }
    if (!ok)
        fprintf(stderr, "allot measure: case %s does not fit kernel %s\n", j->c->name,
                l->kernel);
    span_init(slots);
    ok = ok && TRY(g, to_device(g->span, slots, sizeof slots)) &&
         TRY(g, launch(j->function[i], l->grid, 1, 1, l->block, 1, 1, 0, NULL, args,
                       NULL)) &&
         TRY(g, synchronize()) && TRY(g, to_host(slots, g->span, sizeof slots));
    *cycles = ok ? span_cycles(slots) : 0;
    allot_module_free(m);
    allot_diag_free(d);
    free(text);
    return ok;
}

static bool
job_once(struct job *j, uint64_t cycles[MICRO_MAX_LAUNCHES])
{
    struct gpu *g = j->g;
    for (unsigned i = 0; i < j->c->nbuffers; i++)
        if (!fill(j, i))
            return false;
    if (!j->warm && !card_flush(g))
        return false;
    for (unsigned i = 0; i < j->c->nlaunches; i++)
        if (!job_launch(j, i, &cycles[i]))
            return false;
    return true;
}

static int
by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool
measure_case(struct gpu *g, const struct measure *w, const struct micro_case *c,
             struct strbuf *out)
{
    const unsigned repeat = w->repeat;
    struct job j = {.g = g, .c = c, .warm = w->warm};
    uint64_t cycles[MICRO_MAX_LAUNCHES][MEASURE_MAX_REPEAT + 1];
    bool ok = job_open(&j);
    for (unsigned n = 0; ok && n <= repeat && !w->interrupted(); n++) {
        uint64_t once[MICRO_MAX_LAUNCHES];
        ok = job_once(&j, once);
        for (unsigned i = 0; ok && i < c->nlaunches; i++)
            cycles[i][n] = once[i];
    }
    ok = ok && !w->interrupted();
    for (unsigned i = 0; ok && i < c->nlaunches; i++) {
        uint64_t *v = cycles[i] + 1; /* the first is thrown away */
        qsort(v, repeat, sizeof *v, by_value);
        strbuf_printf(out, "%s,%s,%u/%u,%llu,%llu,%llu\n", c->name, c->launch[i].kernel,
                      i + 1, c->nlaunches, (unsigned long long)v[repeat / 2],
                      (unsigned long long)v[0], (unsigned long long)v[repeat - 1]);
    }
    job_close(&j);
    return ok;
}

/* -- a workload -- */

struct app_job {
    struct gpu *g;
    void *module;
    bool launched, warm;
};

static uint64_t
app_alloc(void *user, uint64_t bytes, struct allot_diag *d)
{
    struct app_job *j = user;
    cu_ptr addr = 0;
    (void)d;
    return TRY(j->g, alloc(&addr, bytes)) && TRY(j->g, set(addr, 0, bytes)) ? addr : 0;
}

static bool
app_free(void *user, uint64_t addr, struct allot_diag *d)
{
    struct app_job *j = user;
    (void)d;
    return TRY(j->g, free(addr));
}

static bool
app_write(void *user, uint64_t addr, const void *src, uint64_t bytes,
          struct allot_diag *d)
{
    struct app_job *j = user;
    (void)d;
    return TRY(j->g, to_device(addr, src, bytes));
}

static bool
app_read(void *user, uint64_t addr, void *dst, uint64_t bytes, struct allot_diag *d)
{
    struct app_job *j = user;
    (void)d;
    return TRY(j->g, to_host(dst, addr, bytes));
}

static bool
app_symbol(void *user, const char *name, uint64_t *addr, uint64_t *bytes,
           struct allot_diag *d)
{
    struct app_job *j = user;
    size_t n = SPAN_BYTES;
    (void)d;
    if (!strcmp(name, SPAN_SYMBOL))
        *addr = j->g->span;
    else if (!TRY(j->g, global(addr, &n, j->module, name)))
        return false;
    if (bytes)
        *bytes = n;
    return true;
}

static bool
app_launch(void *user, const struct allot_launch *l, struct allot_diag *d)
{
    struct app_job *j = user;
    struct gpu *g = j->g;
    void *function;
    (void)d;
    if (!j->launched && !j->warm && !card_flush(g))
        return false;
    j->launched = true;
    return TRY(g, function(&function, j->module, l->kernel)) &&
           TRY(g, launch(function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                         l->block[1], l->block[2], l->dynamic_scratchpad, NULL,
                         (void **)l->args, NULL)) &&
           TRY(g, synchronize());
}

static bool
app_once(struct gpu *g, const struct measure *w, const struct apps_case *c,
         struct apps_result *r)
{
    struct app_job j = {.g = g, .warm = w->warm};
    const struct allot_place place = {&j,        NULL,     app_alloc,  app_free,
                                      app_write, app_read, app_symbol, app_launch};
    struct allot_diag *d = allot_diag_new();
    char *text = apps_text(c, (unsigned)g->cc, w->profile);
    if (text && !w->profile)
        text = span_place(text, g->span);
    bool ok = text && TRY(g, load(&j.module, text)) &&
              apps_run(c, &place, NULL, w->profile ? APPS_AS_IS : 0, r, d);
    if (j.module)
        g->unload(j.module);
    allot_diag_free(d);
    free(text);
    return ok;
}

static void
app_rows(const char *name, const struct apps_result *r, struct strbuf *out,
         uint64_t (*cycles)[MEASURE_MAX_REPEAT + 1], unsigned repeat)
{
    for (unsigned i = 0; i < r->n; i++) {
        strbuf_printf(out, "%s,%s,%u/%u,", name, r->kernel[i].name, i + 1, r->n);
        if (!cycles) {
            strbuf_addz(out, ",,\n");
            continue;
        }
        uint64_t *v = cycles[i] + 1; /* the first is thrown away */
        qsort(v, repeat, sizeof *v, by_value);
        strbuf_printf(out, "%llu,%llu,%llu\n", (unsigned long long)v[repeat / 2],
                      (unsigned long long)v[0], (unsigned long long)v[repeat - 1]);
    }
}

/* A workload that fails is named and left out: the others count without it. */
static bool
measure_app(struct gpu *g, const struct measure *w, const struct apps_case *c,
            const char *name, struct strbuf *out)
{
    uint64_t cycles[APPS_MAX_KERNELS][MEASURE_MAX_REPEAT + 1];
    struct apps_result r = {0};
    const unsigned runs = w->profile ? 1 : w->repeat + 1;
    for (unsigned n = 0; n < runs && !w->interrupted(); n++) {
        if (!app_once(g, w, c, &r)) {
            fprintf(stderr, "allot measure: case %s is left out\n", name);
            return false;
        }
        for (unsigned i = 0; i < r.n; i++)
            cycles[i][n] = r.kernel[i].cycles;
    }
    if (w->interrupted())
        return false;
    app_rows(name, &r, out, w->profile ? NULL : cycles, w->repeat);
    return true;
}

/* -- the file -- */

static const char COLUMNS[] = "case,kernel,launch,cycles,least,most";

static void
header(const struct gpu *g, const struct measure *w, struct strbuf *out)
{
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    strbuf_printf(
        out,
        "# card: %s\n# compute capability: %d\n# SMs: %d\n# driver: CUDA %d.%d\n"
        "# date: %s\n# allot: %s\n# L2: %s\n# median, least and most of %u runs, cycles of "
        "the SM's clock\n%s%s%s%s\n",
        g->card, g->cc, g->sms, g->driver / 1000, g->driver % 1000 / 10, date,
        ALLOT_VERSION, w->warm ? "as the run before left it" : "other data, clean",
        w->repeat, w->passes ? "# passes: " : "", w->passes ? w->passes : "",
        w->passes ? "\n" : "", COLUMNS);
}

static bool
named(const struct measure *w, const char *name)
{
    bool match = !w->nonly;
    for (size_t k = 0; k < w->nonly; k++)
        match |= micro_begins(name, w->only[k]);
    return match;
}

static bool
wanted(const struct measure *w, const struct micro_cases *m, size_t i, unsigned cc)
{
    const struct micro_case *c = &m->v[i];
    if (c->cc > cc)
        return false;
    for (size_t k = 0; k < i; k++) /* on several simulated machines, but one GPU */
        if (!strcmp(m->v[k].name, c->name))
            return false;
    return named(w, c->name) && (!w->quick || micro_is_quick(m, i));
}

/* The next workload's case from *i on; false: there is none. */
static bool
next_app(const struct measure *w, size_t *i, struct apps_case *c, char name[160])
{
    while (apps_case(*i, c)) {
        ++*i;
        apps_name(c, name);
        c->passes = w->passes;
        c->machine = w->machine;
        if (named(w, name) && (!w->quick || c->quick))
            return true;
    }
    return false;
}

static void
progress(const char *name)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s", name);
}

static bool
measure_all(struct gpu *g, const struct measure *w, const struct micro_cases *m,
            struct strbuf *out)
{
    unsigned done = 0;
    bool ok = true;
    const bool apps = w->profile || w->passes;
    for (size_t i = 0; i < m->n && !apps && !w->interrupted(); i++) {
        if (!wanted(w, m, i, (unsigned)g->cc))
            continue;
        progress(m->v[i].name);
        if (measure_case(g, w, &m->v[i], out)) {
            done++;
        } else if (!w->interrupted()) {
            fprintf(stderr, "allot measure: case %s is left out\n", m->v[i].name);
            ok = false;
            if (!card_renew(g))
                break;
        }
    }
    struct apps_case c;
    char name[160];
    for (size_t i = 0; next_app(w, &i, &c, name) && !w->interrupted();) {
        progress(name);
        if (apps_has_textures(c.workload))
            fprintf(stderr, "allot measure: case %s is left out: it needs textures\n",
                    name);
        else if (measure_app(g, w, &c, name, out))
            done++;
        else if (ok = false, !card_renew(g))
            break;
    }
    progress("");
    if (!done)
        strbuf_free(out);
    return ok && done > 0;
}

bool
measure_run(const struct measure *w, struct strbuf *out, struct diag_sink *diag)
{
    struct micro_cases m;
    struct gpu g = {0};
    bool ok = micro_load(&m, diag) && card_open(&g, w->library, w->device) &&
              published_add(&m, w->only, w->nonly, diag);
    if (ok) {
        header(&g, w, out);
        ok = measure_all(&g, w, &m, out);
    }
    card_close(&g);
    micro_free(&m);
    return ok;
}

/* -- without a GPU -- */

bool
measure_dry(const struct measure *w, const struct allot_machine *m, const char *name,
            bool ptxas, struct strbuf *out, struct allot_diag *d, struct diag_sink *diag)
{
    const struct allot_options options = {0};
    struct micro_cases cases;
    unsigned micro = 0, apps = 0, failed = 0;
    uint64_t launches = 0;
    char cc[16] = "0";
    allot_machine_get(m, "gpu.compute_capability", cc, sizeof cc);
    if (!micro_load(&cases, diag) || !published_add(&cases, w->only, w->nonly, diag)) {
        micro_free(&cases);
        return false;
    }
    strbuf_printf(out, "# card: none (dry run)\n# machine: %s\n# allot: %s\n%s\n", name,
                  ALLOT_VERSION, COLUMNS);
    for (size_t i = 0; i < cases.n && !w->passes && !w->interrupted(); i++) {
        const struct micro_case *c = &cases.v[i];
        if (!wanted(w, &cases, i, (unsigned)atoi(cc)))
            continue;
        progress(c->name);
        micro++;
        if (!micro_plan(c, m, ptxas, d)) {
            fprintf(stderr, "allot measure: case %s could not be measured\n", c->name);
            failed++;
            continue;
        }
        launches += c->nlaunches;
        for (unsigned k = 0; k < c->nlaunches; k++)
            strbuf_printf(out, "%s,%s,%u/%u,,,\n", c->name, c->launch[k].kernel, k + 1,
                          c->nlaunches);
    }
    struct apps_case c;
    char text[160];
    for (size_t i = 0; next_app(w, &i, &c, text) && !w->interrupted();) {
        struct apps_result r;
        progress(text);
        apps++;
        if (!apps_simulate(&c, m, &options, ptxas ? APPS_PLAN_PTXAS : APPS_PLAN, &r, d)) {
            fprintf(stderr, "allot measure: case %s could not be measured\n", text);
            failed++;
            continue;
        }
        for (unsigned k = 0; k < r.n; k++)
            launches += r.kernel[k].launches;
        app_rows(text, &r, out, NULL, 0);
    }
    progress("");
    fprintf(stderr,
            "dry run for %s: %u cases of microbenchmarks, %u of workloads, %llu launches "
            "within its limits, %u cases that could not be measured\n",
            name, micro, apps, (unsigned long long)launches, failed);
    micro_free(&cases);
    return !failed && !w->interrupted();
}
