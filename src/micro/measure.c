/* measure.c: see measure.h. The CUDA driver is opened at run time; nothing of CUDA is
 * needed to build. */
#include "micro/measure.h"

#include "micro/micro.h"
#include "micro/span.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int cu_result; /* CUresult */
typedef uint64_t cu_ptr;

/* FN(name in the library, field, parameters) */
#define CUDA_FUNCTIONS                                                                   \
    FN(cuInit, init, (unsigned))                                                         \
    FN(cuDriverGetVersion, version, (int *))                                             \
    FN(cuGetErrorString, error, (cu_result, const char **))                              \
    FN(cuDeviceGetCount, count, (int *))                                                 \
    FN(cuDeviceGet, get_device, (int *, int))                                            \
    FN(cuDeviceGetName, name, (char *, int, int))                                        \
    FN(cuDeviceGetAttribute, attribute, (int *, int, int))                               \
    FN(cuDevicePrimaryCtxRetain, retain, (void **, int))                                 \
    FN(cuDevicePrimaryCtxRelease_v2, release, (int))                                     \
    FN(cuCtxSetCurrent, set_context, (void *))                                           \
    FN(cuCtxSynchronize, synchronize, (void))                                            \
    FN(cuModuleLoadData, load, (void **, const void *))                                  \
    FN(cuModuleUnload, unload, (void *))                                                 \
    FN(cuModuleGetFunction, function, (void **, void *, const char *))                   \
    FN(cuModuleGetGlobal_v2, global, (cu_ptr *, size_t *, void *, const char *))         \
    FN(cuMemAlloc_v2, alloc, (cu_ptr *, size_t))                                         \
    FN(cuMemFree_v2, free, (cu_ptr))                                                     \
    FN(cuMemsetD8_v2, set, (cu_ptr, unsigned char, size_t))                              \
    FN(cuMemcpyHtoD_v2, to_device, (cu_ptr, const void *, size_t))                       \
    FN(cuMemcpyDtoH_v2, to_host, (void *, cu_ptr, size_t))                               \
    FN(cuLaunchKernel, launch,                                                           \
       (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
        void *, void **, void **))

struct gpu {
    void *lib;
#define FN(symbol, field, params) cu_result(*field) params;
    CUDA_FUNCTIONS
#undef FN
    int device, cc, sms, driver;
    size_t l2;
    char card[128];
    void *context;
    cu_ptr scratch; /* what the L2 is filled with */
    size_t scratch_bytes;
};

/* Numbers of CUdevice_attribute. */
enum { ATTR_SMS = 16, ATTR_L2 = 38, ATTR_MAJOR = 75, ATTR_MINOR = 76 };

static bool
check(const struct gpu *g, cu_result r, const char *what)
{
    const char *why = NULL;
    if (!r)
        return true;
    if (g->error)
        g->error(r, &why);
    fprintf(stderr, "allot measure: %s failed: %s (CUDA error %d)\n", what,
            why ? why : "no explanation", r);
    return false;
}
#define TRY(g, call) check(g, (g)->call, #call)

static bool
open_library(struct gpu *g, const char *path)
{
    g->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!g->lib) {
        fprintf(
            stderr,
            "allot measure: no CUDA driver here (%s)\n"
            "Run this where an NVIDIA GPU and its driver are, or name the library with "
            "--library.\n",
            dlerror());
        return false;
    }
    static const char *const names[] = {
#define FN(symbol, field, params) #symbol,
        CUDA_FUNCTIONS
#undef FN
    };
    void *at[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(at[i] = dlsym(g->lib, names[i]))) {
            fprintf(stderr,
                    "allot measure: %s has no %s: a driver of CUDA 11 or later is "
                    "needed\n",
                    path, names[i]);
            return false;
        }
    size_t k = 0;
#define FN(symbol, field, params)                                                        \
    memcpy(&g->field, &at[k], sizeof g->field);                                          \
    k++;
    CUDA_FUNCTIONS
#undef FN
    return true;
}

static bool
open_gpu(struct gpu *g, const char *library, int index)
{
    int n = 0, major = 0, minor = 0, l2 = 0;
    if (!open_library(g, library) || !TRY(g, init(0)) || !TRY(g, version(&g->driver)) ||
        !TRY(g, count(&n)))
        return false;
    if (index >= n) {
        fprintf(stderr, "allot measure: there is no GPU %d; the driver counts %d\n",
                index, n);
        return false;
    }
    if (!TRY(g, get_device(&g->device, index)) ||
        !TRY(g, name(g->card, sizeof g->card, g->device)) ||
        !TRY(g, attribute(&g->sms, ATTR_SMS, g->device)) ||
        !TRY(g, attribute(&l2, ATTR_L2, g->device)) ||
        !TRY(g, attribute(&major, ATTR_MAJOR, g->device)) ||
        !TRY(g, attribute(&minor, ATTR_MINOR, g->device)))
        return false;
    g->cc = 10 * major + minor;
    g->scratch_bytes = 2 * (size_t)(l2 > 0 ? l2 : 64 << 20);
    for (char *p = g->card; *p; p++)
        if (*p == ',' || *p == '\n')
            *p = ' ';
    if (g->sms > SPAN_SMS) {
        fprintf(stderr, "allot measure: %d SMs are more than the %d there is room for\n",
                g->sms, SPAN_SMS);
        return false;
    }
    return TRY(g, retain(&g->context, g->device)) && TRY(g, set_context(g->context)) &&
           TRY(g, alloc(&g->scratch, g->scratch_bytes));
}

static void
close_gpu(struct gpu *g)
{
    if (g->context) {
        if (g->scratch)
            g->free(g->scratch);
        g->release(g->device);
    }
    if (g->lib)
        dlclose(g->lib);
}

/* -- a case -- */

struct job {
    struct gpu *g;
    const struct micro_case *c;
    cu_ptr buffer[MICRO_MAX_BUFFERS];
    void *module[MICRO_MAX_LAUNCHES], *function[MICRO_MAX_LAUNCHES];
    cu_ptr span[MICRO_MAX_LAUNCHES];
    cu_ptr base; /* of the buffer being filled */
};

static bool
write_pointer(void *user, uint64_t offset, uint64_t value)
{
    struct job *j = user;
    uint64_t line[16] = {value};
    return TRY(j->g, to_device(j->base + offset, line, sizeof line));
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
        size_t bytes;
        char *text = micro_text(l->ptx, (unsigned)g->cc);
        bool ok = text && TRY(g, load(&j->module[i], text)) &&
                  TRY(g, function(&j->function[i], j->module[i], l->kernel)) &&
                  TRY(g, global(&j->span[i], &bytes, j->module[i], SPAN_SYMBOL));
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
    uint64_t value[MICRO_MAX_PARAMS] = {0}, slots[2 * SPAN_SMS];
    void *args[MICRO_MAX_PARAMS];
    for (size_t p = 0; ok && p < k->nparams; p++) {
        args[p] = &value[p]; /* little-endian: a 32-bit value lies at the same place */
        ok = micro_param(l, k->params[p].name, j->buffer, j->c->nbuffers, &value[p]);
    }
    if (!ok)
        fprintf(stderr, "allot measure: case %s does not fit kernel %s\n", j->c->name,
                l->kernel);
    span_init(slots);
    ok = ok && TRY(g, to_device(j->span[i], slots, sizeof slots)) &&
         TRY(g, launch(j->function[i], l->grid, 1, 1, l->block, 1, 1, 0, NULL, args,
                       NULL)) &&
         TRY(g, synchronize()) && TRY(g, to_host(slots, j->span[i], sizeof slots));
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
    for (unsigned i = 0; i < j->c->nbuffers; i++) {
        j->base = j->buffer[i];
        if (!TRY(g, set(j->buffer[i], 0, micro_room(j->c->bytes[i]))) ||
            !micro_fill(j->c->contents[i], j->c->bytes[i], j->buffer[i], write_pointer,
                        j))
            return false;
    }
    if (!TRY(g, set(g->scratch, 1, g->scratch_bytes)) || !TRY(g, synchronize()))
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
    struct job j = {.g = g, .c = c};
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

/* -- the file -- */

static void
header(const struct gpu *g, unsigned repeat, struct strbuf *out)
{
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    strbuf_printf(
        out,
        "# card: %s\n# compute capability: %d\n# SMs: %d\n# driver: CUDA %d.%d\n"
        "# date: %s\n# allot: %s\n# median, least and most of %u runs, cycles of "
        "the SM's clock\n"
        "case,kernel,launch,cycles,least,most\n",
        g->card, g->cc, g->sms, g->driver / 1000, g->driver % 1000 / 10, date,
        ALLOT_VERSION, repeat);
}

static bool
wanted(const struct measure *w, const struct micro_cases *m, size_t i)
{
    const struct micro_case *c = &m->v[i];
    bool match = !w->nonly;
    for (size_t k = 0; k < i; k++) /* on several simulated machines, but one GPU */
        if (!strcmp(m->v[k].name, c->name))
            return false;
    for (size_t k = 0; k < w->nonly; k++)
        match |= !strncmp(c->name, w->only[k], strlen(w->only[k]));
    return match && (!w->quick || micro_is_quick(m, i));
}

static bool
measure_all(struct gpu *g, const struct measure *w, const struct micro_cases *m,
            struct strbuf *out)
{
    unsigned done = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!wanted(w, m, i))
            continue;
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r\033[K%s", m->v[i].name);
        if (!measure_case(g, w, &m->v[i], out))
            return false;
        done++;
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    return done > 0;
}

bool
measure_run(const struct measure *w, struct strbuf *out, struct diag_sink *diag)
{
    struct micro_cases m;
    struct gpu g = {0};
    bool ok = micro_load(&m, diag) && open_gpu(&g, w->library, w->device);
    if (ok) {
        header(&g, w->repeat, out);
        ok = measure_all(&g, w, &m, out);
    }
    close_gpu(&g);
    micro_free(&m);
    return ok;
}
