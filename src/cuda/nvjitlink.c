/* nvjitlink.c: libnvJitLink.so in place of CUDA's, because some (cuda.core, and through
 * it numba) always link their PTX with it before they load it. The true one makes machine
 * code, which cannot be simulated; here "the linked cubin" is the linked PTX, as from
 * cuLinkComplete.
 *
 * Inputs of link-time optimisation (-lto) are no PTX. They go to the true library, which
 * can be asked for PTX of what it has optimised (-ptx), and that is linked with the rest.
 * It takes nothing else then, so that it does not see which of its functions PTX inputs
 * call. Without a true library -lto is refused, and nvJitLinkVersion says 12.0: cuda.core
 * and numba optimise at link time by themselves from 12.3 on. */
#define _GNU_SOURCE
#include "cuda/core/core.h"

#include <dlfcn.h>
#include <limits.h>
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
    char *text;     /* the result, the link's */
    char *error;    /* what was wrong, malloc'd */
    void *real;     /* the true library's handle for what is to be optimised, or NULL */
    bool optimises; /* it has inputs */
};

/* Each entry point under its own name and under those of the versions of its CUDA, which
 * the header of each version asks for. */
#define VERSIONED2(name, major, minor, ...)                                              \
    __attribute__((visibility("default"),                                                \
                   alias(#name))) int __##name##_##major##_##minor(__VA_ARGS__);
#define VERSIONED1(name, major, minor, ...) VERSIONED2(name, major, minor, __VA_ARGS__)
#define ENTRY(name, ...)                                                                 \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                        \
    VERSIONED1(name, NVJITLINK, 0, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 1, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 2, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 3, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 4, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 5, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 6, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 7, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 8, __VA_ARGS__)                                          \
    VERSIONED1(name, NVJITLINK, 9, __VA_ARGS__)                                          \
    int name(__VA_ARGS__)

/* -- the true library -- */

static struct {
    void *lib;
    int (*version)(unsigned *, unsigned *);
    int (*create)(void **, uint32_t, const char **);
    int (*destroy)(void **);
    int (*add_data)(void *, int, const void *, size_t, const char *);
    int (*add_file)(void *, int, const char *);
    int (*complete)(void *);
    int (*ptx_size)(void *, size_t *);
    int (*ptx)(void *, char *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
} real;

/* static.c has seen where it lies: the program wanted to load it. */
__attribute__((visibility("default"))) void allot_nvjitlink_real(const char *path);
void
allot_nvjitlink_real(const char *path)
{
    static const struct {
        const char *name;
        void *to;
    } want[] = {{"nvJitLinkVersion", &real.version},
                {"nvJitLinkCreate", &real.create},
                {"nvJitLinkDestroy", &real.destroy},
                {"nvJitLinkAddData", &real.add_data},
                {"nvJitLinkAddFile", &real.add_file},
                {"nvJitLinkComplete", &real.complete},
                {"nvJitLinkGetLinkedPtxSize", &real.ptx_size},
                {"nvJitLinkGetLinkedPtx", &real.ptx},
                {"nvJitLinkGetErrorLogSize", &real.log_size},
                {"nvJitLinkGetErrorLog", &real.log}};
    acu_begin_light();
    /* dlmopen: past the dlopen that gave ours. */
    void *lib = real.lib ? NULL : dlmopen(LM_ID_BASE, path, RTLD_NOW | RTLD_LOCAL);
    bool whole = lib && !dlsym(lib, "allot_nvjitlink_real"); /* not ourselves */
    for (size_t i = 0; whole && i < sizeof want / sizeof *want; i++)
        whole = (*(void **)want[i].to = dlsym(lib, want[i].name));
    if (whole)
        real.lib = lib;
    else if (lib)
        dlclose(lib);
    acu_end_quiet(0);
}

__attribute__((visibility("default"))) int nvJitLinkVersion(unsigned *, unsigned *);
int
nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    if (!major || !minor)
        return NULL_INPUT;
    if (real.lib)
        return real.version(major, minor);
    *major = 12;
    *minor = 0;
    return SUCCESS;
}

/* -- */

/* Lock, machine, messages kept for the error log. */
static bool
begin(void)
{
    acu_begin_light();
    bool ok = acu_device_count();
    acu_capture_begin();
    return ok;
}

/* Appends to the error log. */
static void
log_text(struct nvjitlink *l, const char *text)
{
    size_t n = l->error ? strlen(l->error) : 0;
    char *all = *text ? realloc(l->error, n + strlen(text) + 1) : NULL;
    if (all) {
        strcpy(all + n, text);
        l->error = all;
    }
}

static int
end(struct nvjitlink *l, int result)
{
    char *text = acu_capture_end();
    log_text(l, text);
    free(text);
    acu_end_quiet(0);
    return result;
}

/* Its log becomes part of ours where it failed. */
static int
real_result(struct nvjitlink *l, int e)
{
    size_t n = 0;
    char *text;
    if (e && !real.log_size(l->real, &n) && n > 1 && (text = calloc(n + 1, 1))) {
        if (!real.log(l->real, text))
            log_text(l, text);
        free(text);
    }
    return e;
}

/* Opens a handle of the true library with the caller's options and -ptx. */
static int
real_create(struct nvjitlink *l, uint32_t n, const char **options)
{
    if (!real.lib) {
        acu_say(
            "nvJitLink: link-time optimisation (-lto) needs CUDA's own library, which "
            "was not found: link PTX");
        return UNRECOGNIZED_OPTION;
    }
    const char **all = calloc(n + 1, sizeof *all);
    if (!all)
        return INTERNAL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(options[i], "-ptx") != 0)
            all[kept++] = options[i];
    all[kept++] = "-ptx";
    int e = real.create(&l->real, kept, all);
    free(all);
    return e;
}

/* Options of the machine code's making mean nothing here; -lto does. */
ENTRY(nvJitLinkCreate, struct nvjitlink **out, uint32_t n, const char **options)
{
    bool arch = false, lto = false;
    if (!out || (n && !options))
        return NULL_INPUT;
    for (uint32_t i = 0; i < n; i++) {
        arch |= !strncmp(options[i], "-arch=", 6);
        lto |= !strcmp(options[i], "-lto");
    }
    if (!arch)
        return MISSING_ARCH;
    struct nvjitlink *l = calloc(1, sizeof *l);
    if (!l)
        return INTERNAL;
    int e = lto ? real_create(l, n, options) : SUCCESS;
    if (e) {
        free(l);
        return e;
    }
    l->link = acu_link_new();
    *out = l;
    return SUCCESS;
}

ENTRY(nvJitLinkDestroy, struct nvjitlink **l)
{
    if (!l || !*l)
        return NULL_INPUT;
    if ((*l)->real)
        real.destroy(&(*l)->real);
    acu_link_free((*l)->link);
    free((*l)->error);
    free(*l);
    *l = NULL;
    return SUCCESS;
}

/* The library of CUDA functions for device code is built in. */
static bool
is_built_in(int type, const char *name)
{
    return type == INPUT_LIBRARY && strstr(name, "cudadevrt");
}

ENTRY(nvJitLinkAddData, struct nvjitlink *l, int type, const void *data, size_t size,
      const char *name)
{
    if (!l || !data)
        return NULL_INPUT;
    if (!name || !*name)
        name = "input";
    if (is_built_in(type, name))
        return SUCCESS;
    bool ok = begin();
    if (l->real && type == INPUT_LTOIR) {
        l->optimises = true;
        return end(l, real_result(l, real.add_data(l->real, type, data, size, name)));
    }
    int e = ok ? acu_link_add(l->link, data, size, name) : 1;
    return end(l, !e ? SUCCESS : type == INPUT_LTOIR ? INVALID_INPUT : PTX_COMPILE);
}

ENTRY(nvJitLinkAddFile, struct nvjitlink *l, int type, const char *path)
{
    if (!l || !path)
        return NULL_INPUT;
    if (is_built_in(type, path))
        return SUCCESS;
    bool ok = begin();
    if (l->real && type == INPUT_LTOIR) {
        l->optimises = true;
        return end(l, real_result(l, real.add_file(l->real, type, path)));
    }
    int e = ok ? acu_link_add_file(l->link, path) : 1;
    return end(l, e ? INVALID_INPUT : SUCCESS);
}

/* Adds the PTX of what the true library has optimised. */
static int
add_optimised(struct nvjitlink *l)
{
    size_t n = 0;
    int e = real_result(l, real.complete(l->real));
    if (!e)
        e = real_result(l, real.ptx_size(l->real, &n));
    char *text = e ? NULL : calloc(n + 1, 1);
    if (!e)
        e = text ? real_result(l, real.ptx(l->real, text)) : INTERNAL;
    if (!e && acu_link_add(l->link, text, strlen(text), "optimised"))
        e = PTX_COMPILE;
    free(text);
    return e;
}

ENTRY(nvJitLinkComplete, struct nvjitlink *l)
{
    if (!l)
        return NULL_INPUT;
    int e = !begin() ? PTX_COMPILE : l->optimises ? add_optimised(l) : SUCCESS;
    if (!e && acu_link_complete(l->link, &l->text))
        e = PTX_COMPILE;
    return end(l, e);
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
