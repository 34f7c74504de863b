/* apps.c: see apps.h. A place that measures stands between a workload and where it runs: it
 * sets the variable of span.h before each launch and reads it after. */
#include "micro/apps.h"

#include "base/arena.h"
#include "base/str.h"
#include "micro/span.h"

#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "workload/", QUICK[] = "/quick";

bool
apps_case(size_t i, struct apps_case *out)
{
    for (size_t w = 0; allot_workloads[w]; w++)
        if (w == i / 2) {
            *out =
                (struct apps_case){.workload = allot_workloads[w], .quick = i % 2 == 0};
            return true;
        }
    return false;
}

void
apps_name(const struct apps_case *c, char name[160])
{
    snprintf(name, 160, "%s%s%s", PREFIX, c->workload->name, c->quick ? QUICK : "");
}

bool
apps_find(const char *name, struct apps_case *out)
{
    char own[160];
    for (size_t i = 0; apps_case(i, out); i++) {
        apps_name(out, own);
        if (!strcmp(name, own))
            return true;
    }
    return false;
}

bool
apps_has_textures(const struct allot_workload *w)
{
    const char *ptx = allot_workload_ptx(w->name, "clang", NULL);
    return ptx && strstr(ptx, "\ttex.");
}

static char *
own_passes(const struct allot_machine *m)
{
    char passes[1024] = "";
    allot_machine_get(m, "compiler.cleanup", passes, sizeof passes);
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%sregister-allocate", passes, *passes ? "," : "");
    return strbuf_take(&b);
}

/* What the case's passes leave of its PTX; NULL after saying why not. */
static char *
passed_text(const struct apps_case *c, const char *ptx)
{
    struct allot_diag *d = allot_diag_new();
    char *own = strcmp(c->passes, "machine") ? NULL : own_passes(c->machine);
    struct allot_module *m = allot_module_parse(c->workload->name, ptx, strlen(ptx), d);
    bool ok =
        m && allot_module_opt_for(m, c->machine, own ? own : c->passes, "", NULL, d);
    char *text = ok ? allot_module_print(m) : NULL;
    if (!text)
        fprintf(stderr, "allot: workload %s: passes %s:\n%s", c->workload->name,
                c->passes, allot_diag_text(d));
    allot_module_free(m);
    allot_diag_free(d);
    free(own);
    return text;
}

char *
apps_text(const struct apps_case *c, unsigned cc, bool as_is)
{
    const char *ptx = allot_workload_ptx(c->workload->name, "clang", NULL);
    char *passed = ptx && c->passes ? passed_text(c, ptx) : NULL;
    if (c->passes && !passed)
        return NULL;
    const char *from = passed ? passed : ptx;
    char *text = !from ? NULL : as_is ? xstrdup(from) : span_instrument(from, cc);
    if (!text)
        fprintf(stderr,
                "allot: workload %s: a kernel's return is guarded, or there is none\n",
                c->workload->name);
    free(passed);
    return text;
}

/* -- a place that measures -- */

struct spy {
    const struct allot_place *at;
    struct apps_result *out;
    bool as_is;
};

static uint64_t
spy_alloc(void *user, uint64_t bytes, struct allot_diag *d)
{
    const struct allot_place *p = ((struct spy *)user)->at;
    return p->alloc(p->user, bytes, d);
}

static bool
spy_free(void *user, uint64_t addr, struct allot_diag *d)
{
    const struct allot_place *p = ((struct spy *)user)->at;
    return p->free(p->user, addr, d);
}

static bool
spy_write(void *user, uint64_t addr, const void *src, uint64_t bytes,
          struct allot_diag *d)
{
    const struct allot_place *p = ((struct spy *)user)->at;
    return p->write(p->user, addr, src, bytes, d);
}

static bool
spy_read(void *user, uint64_t addr, void *dst, uint64_t bytes, struct allot_diag *d)
{
    const struct allot_place *p = ((struct spy *)user)->at;
    return p->read(p->user, addr, dst, bytes, d);
}

static bool
spy_symbol(void *user, const char *name, uint64_t *addr, uint64_t *bytes,
           struct allot_diag *d)
{
    const struct allot_place *p = ((struct spy *)user)->at;
    return p->symbol(p->user, name, addr, bytes, d);
}

static struct apps_kernel *
kernel_of(struct apps_result *r, const char *name)
{
    for (unsigned i = 0; i < r->n; i++)
        if (!strcmp(r->kernel[i].name, name))
            return &r->kernel[i];
    if (r->n == APPS_MAX_KERNELS || strlen(name) >= sizeof r->kernel->name)
        return NULL;
    strcpy(r->kernel[r->n].name, name);
    return &r->kernel[r->n++];
}

static bool
spy_launch(void *user, const struct allot_launch *l, struct allot_diag *d)
{
    struct spy *s = user;
    const struct allot_place *p = s->at;
    struct apps_kernel *k = kernel_of(s->out, l->kernel);
    uint64_t at, slots[SPAN_WORDS];
    span_init(slots);
    if (!k) {
        fprintf(stderr,
                "allot: more than %d kernels, or the name of one is too long: %s\n",
                APPS_MAX_KERNELS, l->kernel);
        return false;
    }
    k->launches++;
    if (s->as_is)
        return p->launch(p->user, l, d);
    if (!p->symbol(p->user, SPAN_SYMBOL, &at, NULL, d) ||
        !p->write(p->user, at, slots, sizeof slots, d) || !p->launch(p->user, l, d) ||
        !p->read(p->user, at, slots, sizeof slots, d))
        return false;
    k->cycles += span_cycles(slots);
    return true;
}

bool
apps_run(const struct apps_case *c, const struct allot_place *place,
         struct allot_module *module, unsigned flags, struct apps_result *out,
         struct allot_diag *d)
{
    struct spy s = {place, out, flags & APPS_AS_IS};
    const struct allot_place spy = {&s,        place->dev, spy_alloc,  spy_free,
                                    spy_write, spy_read,   spy_symbol, spy_launch};
    char check[256] = "";
    *out = (struct apps_result){0};
    bool ok = allot_workload_run_at(c->workload, &spy, module, c->quick, 1, check, d);
    if (flags & APPS_UNCHECKED && !ok && out->n && !allot_diag_errors(d))
        return true;
    if (!ok && *check)
        fprintf(stderr, "allot: workload %s: %s\n", c->workload->name, check);
    return ok;
}

/* -- a simulated device as a place -- */

struct sim {
    struct allot_device *dev;
    struct allot_module *module;
    bool planned;
};

static uint64_t
sim_alloc(void *user, uint64_t bytes, struct allot_diag *d)
{
    return allot_alloc(((struct sim *)user)->dev, bytes, d);
}

static bool
sim_free(void *user, uint64_t addr, struct allot_diag *d)
{
    return allot_free(((struct sim *)user)->dev, addr, d);
}

static bool
sim_write(void *user, uint64_t addr, const void *src, uint64_t bytes,
          struct allot_diag *d)
{
    return allot_write(((struct sim *)user)->dev, addr, src, bytes, d);
}

static bool
sim_read(void *user, uint64_t addr, void *dst, uint64_t bytes, struct allot_diag *d)
{
    return allot_read(((struct sim *)user)->dev, addr, dst, bytes, d);
}

static bool
sim_symbol(void *user, const char *name, uint64_t *addr, uint64_t *bytes,
           struct allot_diag *d)
{
    struct sim *s = user;
    return allot_symbol(s->dev, s->module, name, addr, bytes, d);
}

static bool
sim_launch(void *user, const struct allot_launch *l, struct allot_diag *d)
{
    struct sim *s = user;
    struct allot_plan plan;
    return s->planned ? allot_launch_plan(s->dev, l, &plan, d)
                      : allot_launch(s->dev, l, d) != NULL;
}

bool
apps_simulate(const struct apps_case *c, const struct allot_machine *m,
              const struct allot_options *options, enum apps_how how,
              struct apps_result *out, struct allot_diag *d)
{
    char cc[16] = "0";
    allot_machine_get(m, "gpu.compute_capability", cc, sizeof cc);
    char *text = apps_text(c, (unsigned)atoi(cc), false);
    struct sim s = {.planned = how != APPS_RUN};
    struct allot_place place = {&s,        NULL,     sim_alloc,  sim_free,
                                sim_write, sim_read, sim_symbol, sim_launch};
    s.module = text ? allot_module_parse(c->workload->name, text, strlen(text), d) : NULL;
    s.dev = s.module ? allot_device_new(m, options, d) : NULL;
    place.dev = s.dev;
    bool ok =
        s.dev && apps_run(c, &place, s.module, s.planned ? APPS_UNCHECKED : 0, out, d);
    for (unsigned i = 0; ok && how == APPS_PLAN_PTXAS && i < out->n; i++)
        ok = allot_module_ptxas(s.module, m, out->kernel[i].name, d);
    allot_device_free(s.dev);
    allot_module_free(s.module);
    free(text);
    return ok;
}
