/* driver_kit.h: what programs of the driver API that need nothing of CUDA's to be built
 * share. FUNCTIONS is the program's list of F(name, arguments), expanded twice: with F as
 * F_POINTER outside of functions, with F as F_FIND in main. The first failed check is
 * said and ends the program with status 1. */
#ifndef ALLOT_TESTS_DRIVER_KIT_H
#define ALLOT_TESTS_DRIVER_KIT_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t dptr;

/* What F is to be when FUNCTIONS is expanded. */
#define F_POINTER(name, args) static int(*name) args;
#define F_FIND(name, args) *(void **)&name = find(#name);

static void *
find(const char *name)
{
    static void *lib;
    if (!lib)
        lib = dlopen("libcuda.so.1", RTLD_NOW);
    void *p = lib ? dlsym(lib, name) : NULL;
    if (!p) {
        printf("%s: %s\n", name, dlerror());
        exit(1);
    }
    return p;
}

#define IS(call, wanted)                                                                 \
    do {                                                                                 \
        int got_ = (call);                                                               \
        if (got_ != (wanted)) {                                                          \
            printf("line %d: %s: %d, not %d\n", __LINE__, #call, got_, wanted);          \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define OK(call) IS(call, 0)

#endif
