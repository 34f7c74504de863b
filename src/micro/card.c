/* card.c: see card.h. */
#include "micro/card.h"

#include "micro/span.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Numbers of CUdevice_attribute. */
enum { ATTR_SMS = 16, ATTR_L2 = 38, ATTR_MAJOR = 75, ATTR_MINOR = 76 };

bool
card_check(const struct gpu *g, cu_result r, const char *what)
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
open_context(struct gpu *g)
{
    return TRY(g, retain(&g->context, g->device)) && TRY(g, set_context(g->context)) &&
           TRY(g, alloc(&g->scratch, g->scratch_bytes));
}

bool
card_open(struct gpu *g, const char *library, int index)
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
    return open_context(g);
}

bool
card_renew(struct gpu *g)
{
    if (!g->synchronize())
        return true;
    g->release(g->device);
    return TRY(g, reset(g->device)) && open_context(g);
}

void
card_close(struct gpu *g)
{
    if (g->context) {
        if (g->scratch)
            g->free(g->scratch);
        g->release(g->device);
    }
    if (g->lib)
        dlclose(g->lib);
}
