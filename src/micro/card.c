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

/* Each thread reads every so manieth 16 bytes, and writes what no sum of theirs is. */
static const char READER[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry read_all(.param .u64 buf, .param .u64 bytes)\n{\n"
    "  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<6>;\n"
    "  ld.param.u64 %d0, [buf]; ld.param.u64 %d1, [bytes];\n"
    "  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
    "  mad.lo.u32 %r2, %r0, %r1, %r2; mov.u32 %r3, %nctaid.x;\n"
    "  mul.lo.u32 %r3, %r3, %r1; mul.wide.u32 %d2, %r2, 16;\n"
    "  mul.wide.u32 %d3, %r3, 16; add.u64 %d1, %d0, %d1;\n"
    "  add.u64 %d2, %d2, %d0; mov.u32 %r4, 0;\n"
    "NEXT:\n"
    "  setp.ge.u64 %p, %d2, %d1; @%p bra DONE;\n"
    "  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d2];\n"
    "  or.b32 %r5, %r5, %r6; or.b32 %r7, %r7, %r8;\n"
    "  or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r7;\n"
    "  add.u64 %d2, %d2, %d3; bra NEXT;\n"
    "DONE:\n"
    "  setp.ne.u32 %p, %r4, -1; @%p ret;\n"
    "  st.global.u32 [%d0], %r4;\n  ret;\n}\n";

static bool
open_context(struct gpu *g)
{
    void *module;
    return TRY(g, retain(&g->context, g->device)) && TRY(g, set_context(g->context)) &&
           TRY(g, alloc(&g->scratch, g->scratch_bytes)) &&
           TRY(g, set(g->scratch, 1, g->scratch_bytes)) &&
           TRY(g, alloc(&g->span, SPAN_BYTES)) && TRY(g, load(&module, READER)) &&
           TRY(g, function(&g->reader, module, "read_all"));
}

bool
card_flush(struct gpu *g)
{
    uint64_t bytes = g->scratch_bytes;
    void *args[] = {&g->scratch, &bytes};
    return TRY(g, launch(g->reader, (unsigned)g->sms, 1, 1, 1024, 1, 1, 0, NULL, args,
                         NULL)) &&
           TRY(g, synchronize());
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
        if (g->span)
            g->free(g->span);
        g->release(g->device);
    }
    if (g->lib)
        dlclose(g->lib);
}
