/* device.h: what stands behind a public device, for the files that work on it. */
#ifndef ALLOT_RUNTIME_DEVICE_H
#define ALLOT_RUNTIME_DEVICE_H

#include "cta/method.h"
#include "cta/schedule_text.h"
#include "passes/pass.h"
#include "runtime/runtime.h"
#include "runtime/watchdog.h"

#include <stdatomic.h>

struct loaded_kernel {
    const struct ptx_func *func;
    struct exec_prog *prog; /* NULL: not decoded yet */
    uint32_t registers;     /* of a thread */
    uint32_t ptxas;         /* the same by ptxas; 0: not asked */
    uint32_t scratchpad;    /* static, of a block */
    uint32_t barriers;      /* numbered ones that a block uses */
    uint32_t allocated;     /* bytes of scratchpad that scratchalloc takes */
    struct exec_races races;
    struct exec_speculation speculation;
};

/* A kernel's code as passes (compiler.passes) left it for one threshold and one shape of
 * the launch; the first version is the module's own. */
struct version {
    struct ptx_module *ptx; /* NULL: the module's own */
    const char *kernel;     /* in ptx */
    double threshold;
    struct pass_launch told; /* what passes were told of the launch */
    bool unchanged;          /* the passes left it as it was: use the first version */
    struct exec_image *image;
    VEC(struct loaded_kernel) kernels;
};

struct loaded_module {
    struct allot_module *module; /* may be gone: only the serial says */
    uint64_t serial;
    VEC(struct version *) versions;
};

/* Schedules that the device made by cta.schedule, for launches of a kernel with as many
 * blocks. */
struct made_schedule {
    char *kernel;
    uint32_t blocks;
    struct cta_schedule *s;    /* of this launch; NULL: none yet (cta.working_sets) */
    struct cta_schedule *next; /* of the next launch; NULL: the same */
    uint32_t followed;         /* launches since it was made */
};

struct allot_device {
    struct machine *machine;
    struct allot_options options;
    struct dev_mem *mem;
    struct timing_gpu *gpu; /* NULL: functional */
    struct exec_team *team; /* functional in several host threads; else NULL */
    VEC(struct loaded_module *) modules;
    VEC(struct allot_result *) results;
    VEC(struct allot_array *) arrays;     /* live ones */
    VEC(struct cta_schedule *) schedules; /* of files */
    struct cta_method method;             /* cta.schedule; row NULL: none */
    VEC(struct made_schedule) made;
    struct exec_checks *checks;   /* NULL: none are wanted */
    VEC(uint64_t) warned;         /* instructions that read in guards, hashed */
    bool functional;              /* the launch under way, on a device with timing */
    const struct exec_grid *grid; /* under way, NULL: none */
    uint64_t launches;
    uint64_t workspace;         /* of cooperative launches, 0: none yet */
    enum allot_failure failure; /* of the last launch */
    double began;               /* when the launch under way did */
    struct allot_result *running;
    uint64_t pending_limit; /* launches by kernels that may wait */
    double told;            /* when options.progress was last called by keep_going */
    /* made with the first launch; NULL: the host gives no thread */
    struct watchdog *watchdog;
    double patience;            /* the watchdog's; tests take less */
    atomic_uint_least64_t beat; /* raised by keep_going */
};

/* The module on the device, loaded if it is not yet; NULL and a diagnostic on failure. */
struct loaded_module *rt_load(struct allot_device *dev, struct allot_module *m,
                              struct diag_sink *diag);
/* One launch, nothing of what it orders: its parameters are l's, or a block of them where
 * `params` gives one. parent: the kernel that launched it, NULL: the host. */
struct exec_orders;
struct allot_result *rt_launch(struct allot_device *dev, const struct allot_launch *l,
                               const uint8_t *params, const char *parent,
                               struct exec_orders *orders, struct diag_sink *diag);
/* What the launch `l` follows where cta.order takes schedules: sets plan->sm.schedule to one
 * made by cta.schedule where no file gave one; or, of persistent blocks, fills their array.
 * False and diagnostics: the kernel cannot be executed ahead of time, or a schedule is for
 * another number of blocks. */
struct launch_plan;
bool rt_follow_schedule(struct allot_device *dev, const struct allot_launch *l,
                        const struct exec_grid *g, struct launch_plan *plan,
                        struct diag_sink *diag);
void rt_made_free(struct made_schedule *x); /* what it holds */
/* Decodes the kernel on its first use. */
bool rt_decode(const struct allot_device *dev, const struct version *v,
               struct loaded_kernel *k, struct diag_sink *diag);
void rt_arrays_free(struct allot_device *dev); /* texture.c; their memory goes with the
                                                * device's */

#endif
