/* support.c: runs a workload, and what workload.h promises its author.
 *
 * Every helper is a no-op once r->ok is false, so a workload reads as straight-line code
 * and the first failure is the one reported: library failures in r->diag, wrong results
 * in r->check. */
#include "allot/workload.h"
#include "registry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct allot_workload *
allot_workload_find(const char *name)
{
    for (size_t i = 0; allot_workloads[i]; i++)
        if (strcmp(allot_workloads[i]->name, name) == 0)
            return allot_workloads[i];
    return NULL;
}

const char *
allot_workload_ptx(const char *name, const char *compiler, size_t *len)
{
    for (const struct embedded_ptx *p = embedded_ptx; p->workload; p++) {
        if (strcmp(p->workload, name) == 0 && strcmp(p->compiler, compiler) == 0) {
            if (len)
                *len = (size_t)(p->end - p->text);
            return p->text;
        }
    }
    return NULL;
}

bool
allot_workload_run(const struct allot_workload *w, struct allot_device *dev,
                   struct allot_module *module, bool quick, uint32_t seed,
                   char check_text[256], struct allot_diag *d)
{
    return allot_workload_run_with(w, dev, module, quick, seed, NULL, check_text, d);
}

static bool
takes(const struct allot_run *r, const char *name, size_t len)
{
    for (unsigned i = 0; i < r->ntakes; i++)
        if (strlen(r->takes[i]) == len && !memcmp(r->takes[i], name, len))
            return true;
    return false;
}

/* Fails at the first parameter that the workload did not ask for. */
static void
check_params(struct allot_run *r)
{
    for (const char *p = r->params ? r->params : ""; *p && r->ok;) {
        size_t n = strcspn(p, " "), name = strcspn(p, "= ");
        if (!takes(r, p, name)) {
            char all[160] = "none";
            for (unsigned i = 0, at = 0; i < r->ntakes && at < sizeof all; i++)
                at += (unsigned)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "",
                                         r->takes[i]);
            wl_fail(r, "it has no parameter '%.*s'; it takes %s", (int)name, p, all);
        }
        p += n + strspn(p + n, " ");
    }
}

static bool
run_it(const struct allot_workload *w, struct allot_run *r, char check_text[256])
{
    r->ok = true;
    w->run(r);
    check_params(r);
    if (check_text)
        memcpy(check_text, r->check, sizeof r->check);
    return r->ok;
}

static struct allot_run
run_with(struct allot_device *dev, struct allot_module *module, bool quick, uint32_t seed,
         const char *params, struct allot_diag *d)
{
    return (struct allot_run){.dev = dev,
                              .module = module,
                              .quick = quick,
                              .seed = seed,
                              .params = params,
                              .diag = d};
}

bool
allot_workload_run_with(const struct allot_workload *w, struct allot_device *dev,
                        struct allot_module *module, bool quick, uint32_t seed,
                        const char *params, char check_text[256], struct allot_diag *d)
{
    struct allot_run r = run_with(dev, module, quick, seed, params, d);
    return run_it(w, &r, check_text);
}

bool
allot_workload_ready(const struct allot_workload *w, struct allot_device *dev,
                     struct allot_module *module, bool quick, uint32_t seed,
                     const char *params, char check_text[256], struct allot_diag *d)
{
    struct allot_run r = run_with(dev, module, quick, seed, params, d);
    r.dry = true;
    run_it(w, &r, check_text);
    return r.launched;
}

bool
allot_workload_run_at(const struct allot_workload *w, const struct allot_place *place,
                      struct allot_module *module, bool quick, uint32_t seed,
                      char check_text[256], struct allot_diag *d)
{
    struct allot_run r = {.dev = place->dev,
                          .module = module,
                          .quick = quick,
                          .seed = seed,
                          .diag = d,
                          .place = place};
    return run_it(w, &r, check_text);
}

uint64_t
wl_param(struct allot_run *r, const char *name, uint64_t otherwise, uint64_t lo,
         uint64_t hi)
{
    size_t len = strlen(name);
    if (!takes(r, name, len)) {
        if (r->ntakes == sizeof r->takes / sizeof *r->takes || r->launched)
            wl_fail(r, "parameter %s: too many, or asked for after a launch", name);
        else
            r->takes[r->ntakes++] = name;
    }
    for (const char *p = r->params ? r->params : ""; *p;) {
        size_t n = strcspn(p, " ");
        if (n > len && !strncmp(p, name, len) && p[len] == '=') {
            char *end;
            unsigned long long v = strtoull(p + len + 1, &end, 0);
            if (p[len + 1] >= '0' && p[len + 1] <= '9' && end == p + n && v >= lo &&
                v <= hi)
                otherwise = v;
            else
                wl_fail(r, "parameter %.*s: a number from %llu to %llu", (int)n, p,
                        (unsigned long long)lo, (unsigned long long)hi);
        }
        p += n + strspn(p + n, " ");
    }
    return otherwise;
}

uint64_t
wl_alloc(struct allot_run *r, uint64_t bytes)
{
    if (!r->ok)
        return 0;
    const struct allot_place *p = r->place;
    uint64_t addr =
        p ? p->alloc(p->user, bytes, r->diag) : allot_alloc(r->dev, bytes, r->diag);
    r->ok = addr != 0;
    return addr;
}

uint64_t
wl_upload(struct allot_run *r, const void *src, uint64_t bytes)
{
    uint64_t addr = wl_alloc(r, bytes);
    wl_write(r, addr, src, bytes);
    return addr;
}

void
wl_write(struct allot_run *r, uint64_t addr, const void *src, uint64_t bytes)
{
    const struct allot_place *p = r->place;
    if (r->ok)
        r->ok = p ? p->write(p->user, addr, src, bytes, r->diag)
                  : allot_write(r->dev, addr, src, bytes, r->diag);
}

void
wl_read(struct allot_run *r, uint64_t addr, void *dst, uint64_t bytes)
{
    const struct allot_place *p = r->place;
    if (r->ok)
        r->ok = p ? p->read(p->user, addr, dst, bytes, r->diag)
                  : allot_read(r->dev, addr, dst, bytes, r->diag);
}

void
wl_free(struct allot_run *r, uint64_t addr)
{
    const struct allot_place *p = r->place;
    if (r->ok)
        r->ok = p ? p->free(p->user, addr, r->diag) : allot_free(r->dev, addr, r->diag);
}

bool
wl_symbol(struct allot_run *r, const char *name, uint64_t *addr, uint64_t *bytes)
{
    const struct allot_place *p = r->place;
    return r->ok && (p ? p->symbol(p->user, name, addr, bytes, r->diag)
                       : allot_symbol(r->dev, r->module, name, addr, bytes, r->diag));
}

bool
wl_textures(struct allot_run *r)
{
    return r->dev || wl_fail(r, "it needs textures, which are not there");
}

void
wl_launch_args(struct allot_run *r, const char *kernel, const uint32_t dims[6],
               uint32_t smem, const void *const *args, size_t nargs)
{
    check_params(r);
    if (!r->ok)
        return;
    r->launched = true;
    if (r->dry) {
        r->ok = false; /* nothing more is to be done */
        return;
    }
    struct allot_launch l = {.module = r->module,
                             .kernel = kernel,
                             .grid = {dims[0], dims[1], dims[2]},
                             .block = {dims[3], dims[4], dims[5]},
                             .dynamic_scratchpad = smem,
                             .args = args,
                             .nargs = nargs};
    const struct allot_place *p = r->place;
    r->ok =
        p ? p->launch(p->user, &l, r->diag) : allot_launch(r->dev, &l, r->diag) != NULL;
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
 */
uint64_t
wl_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [lo, hi]: 24 random bits, so that the value before scaling is exact. */
float
wl_uniform(uint64_t *state, float lo, float hi)
{
    float u = (float)(wl_random(state) >> 40) * 0x1p-24f;
    return lo + (hi - lo) * u;
}

bool
wl_fail(struct allot_run *r, const char *fmt, ...)
{
    if (r->ok) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(r->check, sizeof r->check, fmt, ap);
        va_end(ap);
    }
    r->ok = false;
    return false;
}

bool
wl_check_f32(struct allot_run *r, const char *what, const float *got, const float *want,
             size_t n, float rtol, float atol)
{
    if (!r->ok)
        return false;
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < n; i++) {
        /* Equality first: infinities have no difference. */
        bool same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i])) ||
                    fabsf(got[i] - want[i]) <= atol + rtol * fabsf(want[i]);
        if (isinf(want[i]) && got[i] != want[i])
            same = false;
        if (!same && bad++ == 0)
            first = i;
    }
    if (bad)
        wl_fail(r, "%s[%zu] is %.9g, should be %.9g (%zu of %zu wrong)", what, first,
                (double)got[first], (double)want[first], bad, n);
    return r->ok;
}

bool
wl_check_i32(struct allot_run *r, const char *what, const int32_t *got,
             const int32_t *want, size_t n)
{
    if (!r->ok)
        return false;
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i] && bad++ == 0)
            first = i;
    if (bad)
        wl_fail(r, "%s[%zu] is %d, should be %d (%zu of %zu wrong)", what, first,
                (int)got[first], (int)want[first], bad, n);
    return r->ok;
}
