/* workload.h: what a benchmark under workloads/NAME/ provides.
 *
 * workloads/NAME/workload.c defines `const struct allot_workload allot_workload_NAME`;
 * the build finds it by its folder and compiles kernel.cu to PTX (clang, and nvcc where
 * there is one). A workload makes its inputs from the seed, launches, and checks the
 * results against a CPU reference. It uses allot.h alone. */
#ifndef ALLOT_WORKLOAD_H
#define ALLOT_WORKLOAD_H

#include "allot/allot.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what liballot.so exports */

/* Where a workload runs if not on a device: each as the function of allot.h that is called so. */
struct allot_place {
    void *user;
    struct allot_device *dev; /* for textures; NULL: the place has none */
    uint64_t (*alloc)(void *user, uint64_t bytes, struct allot_diag *d);
    bool (*free)(void *user, uint64_t addr, struct allot_diag *d);
    bool (*write)(void *user, uint64_t addr, const void *src, uint64_t bytes,
                  struct allot_diag *d);
    bool (*read)(void *user, uint64_t addr, void *dst, uint64_t bytes,
                 struct allot_diag *d);
    bool (*symbol)(void *user, const char *name, uint64_t *addr, uint64_t *bytes,
                   struct allot_diag *d);
    bool (*launch)(void *user, const struct allot_launch *l, struct allot_diag *d);
};

/* One run of a workload. */
struct allot_run {
    struct allot_device *dev;
    struct allot_module *module; /* kernel.cu as PTX */
    bool quick;                  /* the small input, for tests */
    uint32_t seed;               /* of the inputs */
    const char *params;          /* "NAME=VALUE ..." for wl_param; NULL or "": none */
    const char *takes[16];       /* parameters that the workload asked for */
    unsigned ntakes;
    bool launched; /* once at least */
    bool dry;      /* ends where the first launch would begin */
    struct allot_diag *diag;
    bool ok;         /* cleared by the first failure; later calls do nothing */
    char check[256]; /* what failed the check, "" if passed or not reached */
    const struct allot_place *place; /* NULL: dev */
};

struct allot_workload {
    const char *name;
    const char *summary; /* one line */
    const char *source;  /* algorithm and documents' tables it stands for */
    const char *kernels; /* kernels whose results count, blank-separated; "": all */
    /* Inputs, launches, check. Returns true if all ran and the check passed. Parameters are
     * read before the first launch. */
    bool (*run)(struct allot_run *r);
    bool bench; /* 'allot bench' runs it if it names none */
};

/* All workloads of the build, sorted by name, NULL-terminated. */
extern const struct allot_workload *const allot_workloads[];
const struct allot_workload *allot_workload_find(const char *name);
/* PTX text of the workload's kernel.cu: compiler = "clang" or "nvcc"; NULL: not built. */
const char *allot_workload_ptx(const char *name, const char *compiler, size_t *len);

/* Runs w on dev. check_text (may be NULL) gets r.check. */
bool allot_workload_run(const struct allot_workload *w, struct allot_device *dev,
                        struct allot_module *module, bool quick, uint32_t seed,
                        char check_text[256], struct allot_diag *d);

/* The same with parameters, "NAME=VALUE ..." (blank-separated; NULL: none). One that the
 * workload does not have, or a value it does not take, fails the run before its first
 * launch. */
bool allot_workload_run_with(const struct allot_workload *w, struct allot_device *dev,
                             struct allot_module *module, bool quick, uint32_t seed,
                             const char *params, char check_text[256],
                             struct allot_diag *d);
/* Whether such a run comes to its first launch: reads the parameters and makes the inputs,
 * launches nothing. False: check_text says which parameter is wrong, or d what else is. dev
 * keeps the inputs: it is for nothing else afterwards. */
bool allot_workload_ready(const struct allot_workload *w, struct allot_device *dev,
                          struct allot_module *module, bool quick, uint32_t seed,
                          const char *params, char check_text[256], struct allot_diag *d);
/* allot_workload_run_with somewhere else, without parameters. */
bool allot_workload_run_at(const struct allot_workload *w,
                           const struct allot_place *place, struct allot_module *module,
                           bool quick, uint32_t seed, char check_text[256],
                           struct allot_diag *d);

/* -- helpers for workload.c; after a failure each does nothing -- */
uint64_t wl_alloc(struct allot_run *r, uint64_t bytes);
/* A parameter of the run, `otherwise` if it was not given; fails outside [lo, hi]. Before
 * the first launch; `name` must outlive the run. */
uint64_t wl_param(struct allot_run *r, const char *name, uint64_t otherwise, uint64_t lo,
                  uint64_t hi);
/* alloc + write */
uint64_t wl_upload(struct allot_run *r, const void *src, uint64_t bytes);
void wl_write(struct allot_run *r, uint64_t addr, const void *src, uint64_t bytes);
void wl_read(struct allot_run *r, uint64_t addr, void *dst, uint64_t bytes);
void wl_free(struct allot_run *r, uint64_t addr);
/* Address of a .global or .const variable; false: there is none, or a failure before. */
bool wl_symbol(struct allot_run *r, const char *name, uint64_t *addr, uint64_t *bytes);
/* Whether there are textures where it runs; if not, that fails the run. */
bool wl_textures(struct allot_run *r);
/* wl_launch(r, "k", gx,gy,gz, bx,by,bz, smem, &a, &b, ...): pointers to the arguments. */
void wl_launch_args(struct allot_run *r, const char *kernel, const uint32_t dims[6],
                    uint32_t smem, const void *const *args, size_t nargs);
#define wl_launch(r, kernel, gx, gy, gz, bx, by, bz, smem, ...)                          \
    wl_launch_args(r, kernel, (const uint32_t[6]){gx, gy, gz, bx, by, bz}, smem,         \
                   (const void *const[]){__VA_ARGS__},                                   \
                   sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Pseudo-random numbers, the same everywhere (SplitMix64). */
uint64_t wl_random(uint64_t *state);
float wl_uniform(uint64_t *state, float lo, float hi);
/* Records the first mismatch. */
bool wl_fail(struct allot_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Compares n floats: |got - want| <= atol + rtol * |want|, NaN equals only NaN. */
bool wl_check_f32(struct allot_run *r, const char *what, const float *got,
                  const float *want, size_t n, float rtol, float atol);
bool wl_check_i32(struct allot_run *r, const char *what, const int32_t *got,
                  const int32_t *want, size_t n);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
