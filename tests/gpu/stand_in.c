/* stand_in.c: a libcuda.so.1 with the entry points that gpu-check uses, for the test of
 * gpu-check itself: the "card" is the executor. With ALLOT_STAND_IN=wrong one bit of
 * every answer is flipped; with ALLOT_STAND_IN=none there is no card. */
#include "vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 16 };

static const char *
mode(void)
{
    const char *m = getenv("ALLOT_STAND_IN");
    return m ? m : "";
}

static char *module_text;

int
cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}

int
cuDriverGetVersion(int *v)
{
    *v = 12040;
    return 0;
}

int
cuDeviceGetCount(int *n)
{
    *n = strcmp(mode(), "none") != 0;
    return 0;
}

int
cuDeviceGet(int *dev, int i)
{
    *dev = i;
    return 0;
}

int
cuDeviceGetName(char *name, int n, int dev)
{
    (void)dev;
    snprintf(name, (size_t)n, "Stand in");
    return 0;
}

int
cuDeviceGetAttribute(int *v, int which, int dev)
{
    (void)dev;
    *v = which == 75 ? 8 : 9;
    return 0;
}

int
cuDevicePrimaryCtxRetain(void **c, int dev)
{
    (void)dev;
    *c = &module_text;
    return 0;
}

int
cuCtxSetCurrent(void *c)
{
    (void)c;
    return 0;
}

int
cuModuleLoadDataEx(void **m, const void *text, unsigned n, int *options, void **values)
{
    (void)n, (void)options, (void)values;
    free(module_text);
    module_text = strdup(text);
    *m = module_text;
    return 0;
}

int
cuModuleUnload(void *m)
{
    (void)m;
    return 0;
}

int
cuModuleGetFunction(void **f, void *m, const char *name)
{
    (void)name;
    *f = m;
    return 0;
}

int
cuMemAlloc_v2(unsigned long long *p, size_t n)
{
    *p = (uintptr_t)calloc(1, n);
    return *p == 0;
}

int
cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t n)
{
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}

int
cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t n)
{
    memcpy(to, (void *)(uintptr_t)from, n);
    return 0;
}

int
cuMemsetD8_v2(unsigned long long to, unsigned char v, size_t n)
{
    memset((void *)(uintptr_t)to, v, n);
    return 0;
}

int
cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, void *stream, void **args, void **extra)
{
    (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream,
        (void)extra;
    struct vector v = {.blocks = gx, .nin = WORDS, .nout = WORDS};
    uint32_t *out = (void *)(uintptr_t) * (unsigned long long *)args[1];
    v.in = (void *)(uintptr_t) * (unsigned long long *)args[0];
    strbuf_addz(&v.text, f);
    bool ok = vector_run(&v, vector_sums(89), out, NULL);
    strbuf_free(&v.text);
    if (!strcmp(mode(), "wrong"))
        out[0] ^= 1u << 30;
    return !ok;
}

int
cuCtxSynchronize(void)
{
    return 0;
}
