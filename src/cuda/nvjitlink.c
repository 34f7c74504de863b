/* nvjitlink.c: libnvJitLink.so in place of CUDA's, because some (cuda.core, and through
 * it numba) always link their PTX with it before they load it. The true one makes machine
 * code, which cannot be simulated; here "the linked cubin" is the linked PTX, as from
 * cuLinkComplete. Link-time optimisation is refused: its inputs are no PTX. That is why
 * nvJitLinkVersion is left out: cuda.core and numba optimise at link time by themselves
 * wherever this library has it, and link PTX through the driver where it has not. */
#include "cuda/core.h"

#include <stdlib.h>
#include <string.h>

#ifndef NVJITLINK
#error "NVJITLINK is CUDA's major version"
#endif

enum {
    SUCCESS,
    UNRECOGNIZED_OPTION,
    MISSING_ARCH,
    INVALID_INPUT,
    PTX_COMPILE,
    INTERNAL = 6,
    NULL_INPUT = 10,
};
enum { INPUT_LTOIR = 3, INPUT_LIBRARY = 6 };

struct nvjitlink {
    struct acu_link *link;
    char *text;  /* the result, the link's */
    char *error; /* what was wrong, malloc'd */
};

/* Each entry point under its own name and under that of its CUDA version. */
#define VERSIONED2(name, major) __##name##_##major##_0
#define VERSIONED1(name, major) VERSIONED2(name, major)
#define ENTRY(name, ...)                                                                 \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                        \
    __attribute__((visibility("default"), alias(#name))) int VERSIONED1(                 \
        name, NVJITLINK)(__VA_ARGS__);                                                   \
    int name(__VA_ARGS__)

/* Lock, machine, messages kept for the error log. */
static bool
begin(void)
{
    acu_begin_light();
    bool ok = acu_device_count();
    acu_capture_begin();
    return ok;
}

static int
end(struct nvjitlink *l, int result)
{
    char *text = acu_capture_end();
    if (*text) {
        size_t n = l->error ? strlen(l->error) : 0;
        char *all = realloc(l->error, n + strlen(text) + 1);
        if (all) {
            strcpy(all + n, text);
            l->error = all;
        }
    }
    free(text);
    acu_end_quiet(0);
    return result;
}

/* Options of the machine code's making mean nothing here; -lto does. */
ENTRY(nvJitLinkCreate, struct nvjitlink **out, uint32_t n, const char **options)
{
    bool arch = false;
    if (!out || (n && !options))
        return NULL_INPUT;
    for (uint32_t i = 0; i < n; i++) {
        arch |= !strncmp(options[i], "-arch=", 6);
        if (!strcmp(options[i], "-lto")) {
            acu_say(
                "nvJitLink: link-time optimisation (-lto) cannot be simulated: link PTX");
            return UNRECOGNIZED_OPTION;
        }
    }
    if (!arch)
        return MISSING_ARCH;
    struct nvjitlink *l = calloc(1, sizeof *l);
    if (!l)
        return INTERNAL;
    l->link = acu_link_new();
    *out = l;
    return SUCCESS;
}

ENTRY(nvJitLinkDestroy, struct nvjitlink **l)
{
    if (!l || !*l)
        return NULL_INPUT;
    acu_link_free((*l)->link);
    free((*l)->error);
    free(*l);
    *l = NULL;
    return SUCCESS;
}

ENTRY(nvJitLinkAddData, struct nvjitlink *l, int type, const void *data, size_t size,
      const char *name)
{
    if (!l || !data)
        return NULL_INPUT;
    int e =
        begin() ? acu_link_add(l->link, data, size, name && *name ? name : "input") : 1;
    return end(l, !e ? SUCCESS : type == INPUT_LTOIR ? INVALID_INPUT : PTX_COMPILE);
}

ENTRY(nvJitLinkAddFile, struct nvjitlink *l, int type, const char *path)
{
    if (!l || !path)
        return NULL_INPUT;
    /* The library of CUDA functions for device code is built in. */
    if (type == INPUT_LIBRARY && strstr(path, "cudadevrt"))
        return SUCCESS;
    int e = begin() ? acu_link_add_file(l->link, path) : 1;
    return end(l, e ? INVALID_INPUT : SUCCESS);
}

ENTRY(nvJitLinkComplete, struct nvjitlink *l)
{
    if (!l)
        return NULL_INPUT;
    int e = begin() ? acu_link_complete(l->link, &l->text) : 1;
    return end(l, e ? PTX_COMPILE : SUCCESS);
}

static int
get_size(const char *text, size_t *size)
{
    if (!size)
        return NULL_INPUT;
    *size = text ? strlen(text) + 1 : 0;
    return SUCCESS;
}

static int
get(const char *text, char *out)
{
    if (!out)
        return NULL_INPUT;
    if (text)
        strcpy(out, text);
    return SUCCESS;
}

ENTRY(nvJitLinkGetLinkedCubinSize, struct nvjitlink *l, size_t *size)
{
    return l && l->text ? get_size(l->text, size) : INVALID_INPUT;
}

ENTRY(nvJitLinkGetLinkedCubin, struct nvjitlink *l, void *out)
{
    return l && l->text ? get(l->text, out) : INVALID_INPUT;
}

ENTRY(nvJitLinkGetLinkedPtxSize, struct nvjitlink *l, size_t *size)
{
    return l && l->text ? get_size(l->text, size) : INVALID_INPUT;
}

ENTRY(nvJitLinkGetLinkedPtx, struct nvjitlink *l, char *out)
{
    return l && l->text ? get(l->text, out) : INVALID_INPUT;
}

ENTRY(nvJitLinkGetErrorLogSize, struct nvjitlink *l, size_t *size)
{
    return l ? get_size(l->error, size) : NULL_INPUT;
}

ENTRY(nvJitLinkGetErrorLog, struct nvjitlink *l, char *out)
{
    return l ? get(l->error, out) : NULL_INPUT;
}

ENTRY(nvJitLinkGetInfoLogSize, struct nvjitlink *l, size_t *size)
{
    return l ? get_size(NULL, size) : NULL_INPUT;
}

ENTRY(nvJitLinkGetInfoLog, struct nvjitlink *l, char *out)
{
    return l ? get(NULL, out) : NULL_INPUT;
}
