/* allot.h: the public interface of liballot.
 *
 * A machine (a GPU description) and a module (PTX) make a device; the device holds memory
 * and runs launches; each launch leaves a result with every counter. All functions are
 * thread-compatible: different objects may be used by different threads. Nothing here
 * exits, prints or aborts on bad input: a function that fails says why in the `struct
 * allot_diag` it was given (may be NULL: no explanation wanted).
 *
 *     struct allot_diag *d = allot_diag_new();
 *     struct allot_machine *m = allot_machine_load("gtx480", d);
 *     struct allot_module *k = allot_module_load("kernel.ptx", d);
 *     struct allot_device *dev = allot_device_new(m, NULL, d);
 *     uint64_t buf = allot_alloc(dev, 4096, d);
 *     uint32_t n = 1024;
 *     const void *args[] = {&buf, &n};
 *     struct allot_launch l = {.module = k, .kernel = "scale", .grid = {4, 1, 1},
 *                              .block = {256, 1, 1}, .args = args, .nargs = 2};
 *     const struct allot_result *r = allot_launch(dev, &l, d);
 *     if (!r) fputs(allot_diag_text(d), stderr);
 */
#ifndef ALLOT_H
#define ALLOT_H

#include "allot/types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what liballot.so exports */

#define ALLOT_VERSION "0.1.0"
/* ALLOT_VERSION of the library that the program runs with. */
const char *allot_version(void);

/* -- diagnostics -- */
struct allot_diag;
struct allot_diag *allot_diag_new(void);
void allot_diag_free(struct allot_diag *d);
/* All messages so far, as a compiler prints them; valid until the next call with d. */
const char *allot_diag_text(struct allot_diag *d);
size_t allot_diag_errors(const struct allot_diag *d);
void allot_diag_clear(struct allot_diag *d);
/* Asked several times a second while PTX is parsed, transformed and decoded with these
 * diagnostics, and while kernels of modules that were read with them are described: true
 * makes that fail with the error "interrupted". NULL: never asked. (A running launch asks
 * allot_options.watch.) */
void allot_diag_on_cancel(struct allot_diag *d, bool (*cancelled)(void *user),
                          void *user);

/* -- machines -- */
struct allot_machine;
/* A preset's name ("gtx480") or the path of a YAML file. Presets are looked for in the
 * folders of $ALLOT_MACHINES, then in machines/ of $ALLOT_DATA, of the installation that
 * the program or library was loaded from, and of the source tree. */
struct allot_machine *allot_machine_load(const char *name_or_path, struct allot_diag *d);
struct allot_machine *allot_machine_clone(const struct allot_machine *m);
void allot_machine_free(struct allot_machine *m);
/* One setting by dotted path: allot_machine_set(m, "sm.scheduler", "lrr", d). */
bool allot_machine_set(struct allot_machine *m, const char *path, const char *value,
                       struct allot_diag *d);
/* Value as text into buf (NUL-terminated, cut if too long); false: no such path. */
bool allot_machine_get(const struct allot_machine *m, const char *path, char *buf,
                       size_t n);
const char *allot_machine_name(const struct allot_machine *m);
/* Bytes of its last-level cache, all slices together. */
uint64_t allot_machine_l2_bytes(const struct allot_machine *m);
/* Hash over all settings, 16 hex digits: equal machines have equal hashes. */
void allot_machine_hash(const struct allot_machine *m, char hex[17]);
/* Names of the presets found, sorted; NULL-terminated; free with allot_names_free. */
char **allot_machine_names(void);
void allot_names_free(char **names);

/* Every setting: i from 0 while true is returned. */
bool allot_setting(size_t i, struct allot_setting_info *info);

/* Policies by registry name; kind = "schedulers", "residency", "cta_order", "dram",
 * "replacement". */
bool allot_policy(const char *kind, size_t i, const char **name, const char **meaning);
/* Residency policies under which pairs of blocks share one resource: i from 0 while true
 * is returned. */
struct allot_sharing_policy {
    const char *name, *resource; /* resource: as in allot_occupancy_query.share */
    bool physical;               /* works with compiler.registers=allocated alone */
};
bool allot_sharing_policy(size_t i, struct allot_sharing_policy *out);

/* Markdown reference, malloc'd: what = "settings", "counters" or "ptx" (instructions);
 * else NULL. */
char *allot_reference(const char *what);

/* -- modules -- */
struct allot_module;
/* A file ("-": standard input) of PTX text, a fatbin, or a host's ELF file (program,
 * object, shared library) with device code in it. Of several PTX versions of one source
 * that of the highest compute capability not above the machine's is taken (all above: the
 * lowest; machine NULL: the highest). Several sources are linked to one module. A file
 * with machine code only is refused. */
struct allot_module *allot_module_load_for(const char *path,
                                           const struct allot_machine *machine,
                                           struct allot_diag *d);
/* With machine NULL. */
struct allot_module *allot_module_load(const char *path, struct allot_diag *d);
/* The same for bytes; `name` is for messages. */
struct allot_module *allot_module_read(const char *name, const void *data, size_t len,
                                       const struct allot_machine *machine,
                                       struct allot_diag *d);
/* The same for an image in memory as CUDA programs hand it over, whose length its own
 * header tells and which is trusted: PTX text (NUL-terminated), a fatbin, the wrapper
 * around one that start-up code registers, an ELF file. */
struct allot_module *allot_module_image(const char *name, const void *image,
                                        const struct allot_machine *machine,
                                        struct allot_diag *d);
struct allot_module *allot_module_parse(const char *name, const char *text, size_t len,
                                        struct allot_diag *d);
void allot_module_free(struct allot_module *m);
/* Several modules as one, as nvlink makes of relocatable device code: .extern names are
 * resolved among them, .visible ones may be defined once, .weak ones anywhere. On success
 * the parts are gone into the result; on failure (NULL) they are as before. name: what
 * diagnostics and allot_module_print call it. */
struct allot_module *allot_module_link(struct allot_module *const *parts, size_t n,
                                       const char *name, struct allot_diag *d);
/* A fatbin of n PTX texts (NUL-terminated; one source for different compute
 * capabilities), malloc'd; compress: "none", "lz4", "zstd". */
char *allot_fatbin_write(const char *const *ptx, size_t n, const char *compress,
                         size_t *len, struct allot_diag *d);
/* Compute capability of its .target, major*10+minor; 0 if that names none. */
uint32_t allot_module_capability(const struct allot_module *m);
/* PTX text, malloc'd. */
char *allot_module_print(const struct allot_module *m);
/* Hash of that text as 32 hexadecimal digits: what tells stored results apart. */
void allot_module_hash(const struct allot_module *m, char hex[33]);
/* Runs passes over the module: names joined by commas, settings of a pass behind colons
 * ("scratchpad-layout,relssp:threshold=0.1:mode=postdom"; "" for none). If report is not
 * NULL, *report is what the passes did and why, in words, malloc'd (NULL: nothing). */
bool allot_module_opt(struct allot_module *m, const char *passes, char **report,
                      struct allot_diag *d);
/* The same with other defaults, "threshold=0.1 dynamic=512", for every pass that has such
 * a setting; what the pipeline states goes before. */
bool allot_module_opt_with(struct allot_module *m, const char *passes,
                           const char *defaults, char **report, struct allot_diag *d);
/* The same for a machine (NULL: none), which unified-alloc asks for occupancy. */
bool allot_module_opt_for(struct allot_module *m, const struct allot_machine *machine,
                          const char *passes, const char *defaults, char **report,
                          struct allot_diag *d);
/* A pass of a pipeline that has run; false from `after` ends the pipeline as a failure. */
struct allot_pass_step {
    const char *name;
    unsigned index;                 /* in the pipeline with "cleanup" written out */
    bool changed;                   /* it may have changed something */
    double seconds, verify_seconds; /* of the host: the pass, and checking what it left */
};
struct allot_pass_watch {
    bool (*after)(void *user, const struct allot_pass_step *s, struct allot_diag *d);
    void *user;
};
/* allot_module_opt_for, watched: `after` may print the module. */
bool allot_module_opt_watched(struct allot_module *m, const struct allot_machine *machine,
                              const char *passes, const char *defaults, char **report,
                              const struct allot_pass_watch *watch, struct allot_diag *d);
/* Are all passes of the pipeline and their settings known? */
bool allot_passes_known(const char *passes, struct allot_diag *d);
/* Can every kernel be decoded for execution? False and diagnostics where one cannot. */
bool allot_module_check(const struct allot_module *m, struct allot_diag *d);
/* Why a kernel cannot run: its first error with file and line, and how many more there are;
 * malloc'd. NULL: it can be decoded for execution, or there is none of that name. */
char *allot_kernel_refused(struct allot_module *m, const char *kernel);
/* Functions whose bodies have errors. They are printed as they were written, passes leave them
 * alone, and they cannot run; the rest of the module can. A warning for each, with its first
 * error; returns how many there are. */
size_t allot_module_unread(const struct allot_module *m, struct allot_diag *d);
/* Functions with an instruction that the module's .target or .version does not have: they run
 * here, and ptxas refuses them. A warning for each, with its first such instruction; returns how
 * many there are. */
size_t allot_module_beyond_target(const struct allot_module *m, struct allot_diag *d);
/* Control-flow graphs of the functions as DOT text of Graphviz, malloc'd: basic blocks with
 * their instructions, edges back of loops dashed. kernel: of that function alone, NULL: of
 * all. NULL and a diagnostic where there is none of that name. */
char *allot_module_dot(const struct allot_module *m, const char *kernel,
                       struct allot_diag *d);
bool allot_pass(size_t i, const char **name, const char **meaning);
/* Setting k of pass i, from 0 while true is returned. */
bool allot_pass_setting(size_t i, size_t k, const char **key, const char **value_default,
                        const char **meaning);

/* What a host program asks of CUDA, read off its file. */
struct allot_program {
    bool elf;         /* false: a script, or something else that is no program */
    bool device_code; /* there are fatbins that its start-up code registers */
    bool driver;      /* it is linked to libcuda.so.1 */
    bool rpath;       /* it names folders of libraries that go before LD_LIBRARY_PATH */
    char runtime[64]; /* "libcudart.so.13", which it is linked to; "": none */
    bool static_runtime; /* CUDA's runtime is part of it, and its symbol table says where
                          */
    unsigned images;     /* source files, or parts, with device code */
    unsigned machine_only; /* ... of them without PTX */
    unsigned lowest;       /* least compute capability of its PTX, 0: unknown */
};
bool allot_program_read(const char *path, struct allot_program *out,
                        struct allot_diag *d);

struct allot_variable {
    const char *name;
    uint64_t bytes;
    bool dynamic;
    uint64_t at; /* offset in the block's scratchpad */
};
struct allot_param {
    const char *name, *type;
    uint32_t bytes, align;
};
struct allot_kernel {
    const char *name;
    uint32_t registers;         /* 32-bit registers of a thread after the default passes
                                 * and register allocation, callees included; MAXLIVE if
                                 * that is not possible */
    uint32_t live_registers;    /* live at once in the PTX as it is, the most at any point
                                 * (MAXLIVE) */
    uint32_t virtual_registers; /* 32-bit units of every PTX register that occurs */
    uint32_t predicates;        /* predicate registers */
    uint32_t instructions;      /* static */
    uint32_t machine_operations; /* what a card's compiler would make of them, after the
                                  * default passes: an estimate (docs/registers.md) */
    uint32_t scratchpad;         /* static bytes, callees included */
    uint32_t local_bytes;        /* per thread */
    uint32_t max_block_threads;  /* .maxntid / .reqntid product, 0: not given */
    uint32_t cluster[3];      /* .reqnctapercluster: blocks of a cluster; 0: not given */
    bool explicit_cluster;    /* .explicitcluster: it or the launch must say the size */
    bool blocks_are_clusters; /* .blocksareclusters: its grid counts clusters */
    const struct allot_variable *variables; /* scratchpad variables */
    size_t nvariables;
    const struct allot_param *params;
    size_t nparams;
    uint32_t ptxas_registers; /* 0 until allot_module_ptxas */
    bool unread; /* its body has errors and is kept as text: only name and parameters are
                  * known */
};
/* Kernel i, from 0 while it returns non-NULL; or by name. Owned by the module. */
const struct allot_kernel *allot_module_kernel(struct allot_module *m, size_t i);
const struct allot_kernel *allot_module_find(struct allot_module *m, const char *name);
/* Kernel i without passes: registers and machine_operations are those of the PTX as it is, until
 * one of the other two was asked. Of a large file that takes a fraction of the time. */
const struct allot_kernel *allot_module_kernel_as_is(struct allot_module *m, size_t i);

/* Asks ptxas, which must be in $PATH, for the registers of kernel `name` in the code for the
 * machine's compute capability (or the oldest that ptxas still has, sm_75 with CUDA 13). False
 * and a diagnostic: no such kernel, no ptxas, or it refuses the PTX. */
bool allot_module_ptxas(struct allot_module *m, const struct allot_machine *machine,
                        const char *name, struct allot_diag *diag);

/* A load from memory in the code that a machine runs, for a warp alone. */
struct allot_load {
    uint32_t line; /* of the PTX */
    uint32_t
        to_use;    /* instructions to its first use, 0: that is in another basic block */
    uint64_t wait; /* cycles in which only it keeps the warp from going on */
    uint64_t late; /* cycles in which the warp waited, and it might have started */
    const char *late_by; /* why, in words; "" where it is not late */
    char bound[80];      /* what it cannot start before, in words, with its line */
};

/* What the passes of a machine make of a kernel. */
struct allot_code {
    uint32_t registers, predicates; /* as in struct allot_kernel */
    uint32_t reserved; /* registers of a thread beside those: occupancy counts both */
    uint32_t machine_operations;
    bool is_virtual; /* compiler.registers=virtual: registers are what is live at once */
    bool ordered;    /* pass schedule is one of them */
    uint32_t loads;  /* from memory */
    uint32_t late;   /* of them, those that start later than they could, at a loss */
    uint64_t wait;   /* cycles that a warp alone waits for them, loops once */
    double load_to_use; /* machine operations from a load to the first reader of its
                         * result, the mean of the loads that have one; 0: none has */
};

/* Compiles a kernel as for a launch on the machine, of no shape in particular. Of its loads the
 * first `most`, in the order of the PTX, are written to `load`. With compiler.registers=virtual
 * it is the PTX as it stands. False and a diagnostic: there is no such kernel, or a pass
 * failed. */
bool allot_kernel_code(struct allot_module *mod, const struct allot_machine *m,
                       const char *kernel, struct allot_code *out,
                       struct allot_load *load, size_t most, struct allot_diag *d);

/* -- occupancy -- */
struct allot_occupancy_query {
    uint32_t threads;    /* of a block */
    uint32_t registers;  /* of a thread */
    uint32_t scratchpad; /* of a block, bytes */
    const char *share;   /* NULL or "": none; "registers", "scratchpad" */
    double threshold;    /* t, 0 < t <= 1; 1 shares nothing (001 section 2.2.4) */
};
bool allot_occupancy(const struct allot_machine *m, const struct allot_occupancy_query *q,
                     struct allot_occupancy *out, struct allot_diag *d);

/* What blocks of so many threads of a kernel ask of an SM of the machine (under
 * compiler.registers and residency.regs_per_thread): allot_occupancy's question. For a
 * launch on a device, with the machine's passes: allot_kernel_demand. */
struct allot_occupancy_query allot_demand(const struct allot_machine *m,
                                          const struct allot_kernel *k, uint32_t threads,
                                          uint32_t dynamic_scratchpad);

/* The steps of a kernel's occupancy, at most `most`, in blocks of so many threads, from the
 * registers that it wants on: what each costs in spilled values, after the machine's
 * clean-up. Returns how many there are; 0: an SM does not hold one block, or a diagnostic
 * says what is wrong. */
size_t allot_register_steps(struct allot_module *mod, const struct allot_machine *m,
                            const char *kernel, uint32_t threads,
                            uint32_t dynamic_scratchpad, struct allot_register_step *out,
                            size_t most, struct allot_diag *d);

/* Bits of storage that an SM needs to share registers, scratchpad, or both (001 section
 * 2.4; both: the tables they have in common once). */
struct allot_sharing_cost {
    uint32_t sms;
    uint32_t registers, scratchpad, both; /* bits of one SM */
    uint32_t power_table;  /* of greener, which shares nothing: its look-up table */
    uint32_t multiplexing; /* of scratchpad (003 section 5) */
};
void allot_sharing_cost(const struct allot_machine *m, struct allot_sharing_cost *out);

/* -- device -- */
/* A launch under way. */
struct allot_progress {
    uint64_t cycles, thread_instructions; /* cycles: 0 without timing */
    uint64_t blocks_done, blocks;
    double seconds; /* of host time since it began */
    const char *kernel;
    const char
        *where; /* of a warp that has not ended, in words: block, warp, PTX line and
                        * source line; "" where none is known */
};
struct allot_options {
    bool functional;     /* no timing */
    bool no_skip;        /* step sleeping parts too (same statistics, slower) */
    bool check_analyses; /* functional: hold every scratchpad access against what the
                          * compiler's analyses say of it; a broken promise is a fault */
    bool working_sets;   /* functional: keep the lines that each block touches
                          * (allot_result_working_set) */
    bool per_sm;         /* keep the counters of each SM (allot_result_sm) */
    bool by_line;        /* count for each instruction too (allot_result_line) */
    unsigned threads;    /* host threads; 0: 1 */
    uint64_t max_cycles; /* give up after this many core cycles a launch; 0: no limit */
    uint64_t max_instructions; /* warp instructions a launch; 0: no limit */
    /* Accesses to global memory by kernels within so many bytes before or behind an
     * allocation are no faults: reads give 0, stores are dropped, atomics both, with a
     * warning for each instruction (in the diagnostics of its first such launch). At most
     * 16 MiB; 0: they are faults. Allocations lie that far apart. */
    uint64_t guard;
    bool
        last_result_only; /* a launch frees the results of the one before: memory does not
                            * grow with launches */
    /* Device addresses are host addresses: the host may touch device memory at its
     * address, kernels may touch what allot_alloc_host and allot_map_host gave them. */
    bool unified;
    /* Called when a launch begins and about 10 times a second of host time while it runs;
     * return false to stop it with an error "interrupted". cycles is 0 without timing.
     * May be NULL. */
    bool (*progress)(void *user, uint64_t cycles, uint64_t blocks_done, uint64_t blocks);
    /* The same with more to tell; used instead of progress where it is given. */
    bool (*watch)(void *user, const struct allot_progress *p);
    void *user;
    /* Counters are kept every so many core cycles of a launch (allot_result_piece), in
     * the first 65536 such pieces of it; 0: not. sample_sms: those of each SM too, for
     * which there is room in fewer pieces: an SM counts as one more. */
    uint64_t sample_cycles;
    bool sample_sms;
    /* A trace of at most so many events (0: none) of the core cycles [trace_from,
     * trace_to) of each launch, trace_to = 0: to its end. See allot_trace. */
    uint64_t trace_limit, trace_from, trace_to;
    /* What kernels print (printf, failed assertions), as they do; NULL: to stdout. */
    void (*print)(void *user, const char *text, size_t n);
    /* Questions of kernels to CUDA's device runtime: the value of a cudaDeviceAttr, answer
     * a cudaError_t; the text or name of a cudaError_t, NULL: there is none. NULL: they
     * get cudaErrorNotSupported, and a text that says nothing. */
    int (*attribute)(int attribute, int *value);
    const char *(*error_text)(int error, bool name);
    /* functional: what is looked for in kernels, enum allot_check or-ed (docs/checks.md).
     * Findings are warnings in the diagnostics of the launch. One host thread. */
    unsigned checks;
};
enum allot_check {
    ALLOT_CHECK_RACE = 1, /* accesses to one word that nothing orders */
    ALLOT_CHECK_INIT = 2, /* reads of memory that nobody has written */
    ALLOT_CHECK_SYNC = 4, /* barriers that not all threads reach */
};
struct allot_device;
/* The machine is copied. options may be NULL. */
struct allot_device *allot_device_new(const struct allot_machine *m,
                                      const struct allot_options *options,
                                      struct allot_diag *d);
void allot_device_free(struct allot_device *dev);

/* Different findings of options.checks so far. */
uint64_t allot_device_findings(const struct allot_device *dev);
/* options.checks: the host has written there itself (options.unified). */
void allot_written(struct allot_device *dev, uint64_t addr, uint64_t bytes);

/* Device memory; addresses are what kernels see. 0 and a diagnostic on failure. */
uint64_t allot_alloc(struct allot_device *dev, uint64_t bytes, struct allot_diag *d);
bool allot_free(struct allot_device *dev, uint64_t addr, struct allot_diag *d);
/* Addresses without memory: kernels that touch them fault, until allot_commit makes them
 * a live allocation. allot_free takes the memory away again, allot_unreserve the
 * addresses of one that is not live. False or 0 and a diagnostic on failure. */
uint64_t allot_reserve(struct allot_device *dev, uint64_t bytes, struct allot_diag *d);
bool allot_commit(struct allot_device *dev, uint64_t addr, struct allot_diag *d);
bool allot_unreserve(struct allot_device *dev, uint64_t addr, struct allot_diag *d);
bool allot_write(struct allot_device *dev, uint64_t addr, const void *src, uint64_t bytes,
                 struct allot_diag *d);
bool allot_read(struct allot_device *dev, uint64_t addr, void *dst, uint64_t bytes,
                struct allot_diag *d);
bool allot_set(struct allot_device *dev, uint64_t addr, int byte, uint64_t bytes,
               struct allot_diag *d);
/* With options.unified: host memory that kernels reach at the same address, and that does
 * not count as device memory; release with allot_free. 0 and a diagnostic on failure. */
uint64_t allot_alloc_host(struct allot_device *dev, uint64_t bytes, struct allot_diag *d);
/* With options.unified: kernels may touch these bytes of the host from now on, until
 * allot_unmap_host. False if part of them is mapped already. */
bool allot_map_host(struct allot_device *dev, void *p, uint64_t bytes,
                    struct allot_diag *d);
bool allot_unmap_host(struct allot_device *dev, void *p, struct allot_diag *d);
/* Bytes of device memory in use, and of all of it. */
uint64_t allot_memory(const struct allot_device *dev, uint64_t *total);
/* Address of a module's .global or .const variable (loads the module if needed). */
bool allot_symbol(struct allot_device *dev, struct allot_module *m, const char *name,
                  uint64_t *addr, uint64_t *bytes, struct allot_diag *d);

/* -- arrays, textures, surfaces --
 *
 * Values and numbers are CUDA's, so that a CUDA layer passes them on. An array is memory
 * in the GPU's own order; it is read and written through these functions, textures and
 * surfaces. A texture or surface object is a 64-bit handle as kernels see it; it dies
 * with the memory or array under it. References (.texref, .surfref, .samplerref of a
 * module) are names bound to such objects. */
struct allot_array;
struct allot_array *allot_array_new(struct allot_device *dev,
                                    const struct allot_array_info *info,
                                    struct allot_diag *d);
bool allot_array_free(struct allot_device *dev, struct allot_array *a,
                      struct allot_diag *d);
/* A level of a mipmapped array as an array, which lives as long; NULL: there is none. The
 * mipmapped array itself is copied to and from as its level 0. */
struct allot_array *allot_array_level(const struct allot_array *a, uint32_t level);
/* As it was made; owned by the array. */
const struct allot_array_info *allot_array_describe(const struct allot_array *a);
/* Part of an array, texels; z counts slices or layers. A size of 0 counts as 1. */
struct allot_box {
    uint64_t x, y, z, width, height, depth;
};
/* Host copies. row, slice: bytes from one row (slice) of the host's memory to the next;
 * 0: without gaps. */
bool allot_array_write(struct allot_device *dev, struct allot_array *a,
                       const struct allot_box *box, const void *src, uint64_t row,
                       uint64_t slice, struct allot_diag *d);
bool allot_array_read(struct allot_device *dev, const struct allot_array *a,
                      const struct allot_box *box, void *dst, uint64_t row,
                      uint64_t slice, struct allot_diag *d);

enum allot_resource_kind { ALLOT_RES_ARRAY, ALLOT_RES_LINEAR, ALLOT_RES_PITCH2D };
struct allot_resource {
    enum allot_resource_kind kind;
    struct allot_array *array;     /* ARRAY */
    uint64_t addr;                 /* LINEAR, PITCH2D: device address */
    uint64_t bytes;                /* LINEAR */
    uint64_t width, height, pitch; /* PITCH2D: texels, rows, bytes from row to row */
    struct allot_format format;    /* LINEAR, PITCH2D */
};
/* A handle, never 0; 0 and a diagnostic on failure. sampler NULL: all zeros but
 * ALLOT_CLAMP. */
uint64_t allot_texture_new(struct allot_device *dev, const struct allot_resource *r,
                           const struct allot_sampler *sampler, struct allot_diag *d);
uint64_t allot_surface_new(struct allot_device *dev, const struct allot_resource *r,
                           struct allot_diag *d);
/* Frees a texture or surface object. */
bool allot_object_free(struct allot_device *dev, uint64_t handle, struct allot_diag *d);

/* References of a module, i from 0 while true is returned. */
enum allot_ref_kind { ALLOT_TEXREF, ALLOT_SURFREF, ALLOT_SAMPLERREF };
bool allot_module_ref(const struct allot_module *m, size_t i, const char **name,
                      enum allot_ref_kind *kind);
/* The reference of that name stands for the object from now on (a copy: freeing the
 * object changes nothing; a .samplerref takes a texture object's sampler). handle 0: for
 * nothing. */
bool allot_bind(struct allot_device *dev, struct allot_module *m, const char *name,
                uint64_t handle, struct allot_diag *d);

struct allot_launch {
    struct allot_module *module;
    const char *kernel;
    uint32_t grid[3], block[3];  /* 0 counts as 1 */
    uint32_t dynamic_scratchpad; /* bytes */
    const void *const *args; /* one pointer to the value of each parameter, in order */
    size_t nargs;
    /* Blocks may wait for each other (grid-wide barriers): refused unless all of them can
     * be resident at once. */
    bool cooperative;
    bool functional; /* without timing, on a device with timing; so are those that the
                      * kernel launches */
    /* Blocks of a cluster, in each dimension; all 0: the kernel's own size, or no clusters.
     * A kernel of another size of its own, and a grid that is no multiple of it, are refused. */
    uint32_t cluster[3];
};
/* Launches follow the schedule in this file (docs/cta-scheduling.md) from now on, where the
 * machine's cta.order is "schedule": those of the kernel that it names, or of each kernel
 * that no schedule names. It takes the place of an earlier one for the same kernel. Kernels
 * without one follow the machine's method (setting cta.schedule), if it has one. False
 * and a diagnostic with file and line if it is none. */
bool allot_device_schedule(struct allot_device *dev, const char *path,
                           struct allot_diag *d);

struct allot_result;
/* Runs to the end, the kernels included that the kernel launches, each of which leaves a
 * result of its own behind the one that is returned. The module is read by the device
 * until allot_device_free: free it later. NULL on failure (fault, stuck, limit, bad launch). The result lives as long as
 * the device (last_result_only: to the next launch). */
const struct allot_result *allot_launch(struct allot_device *dev,
                                        const struct allot_launch *l,
                                        struct allot_diag *d);

/* Why the last allot_launch failed (types.h). */
enum allot_failure allot_launch_failure(const struct allot_device *dev);

/* Blocks of a kernel that can be resident on the whole device at once, in a cooperative
 * launch; 0 and a diagnostic if not even one. */
uint64_t allot_resident_blocks(struct allot_device *dev, const struct allot_launch *l,
                               struct allot_diag *d);
/* Clusters of `size` blocks of the launch that are resident at the same time; all blocks of one
 * lie in one GPC. 0: none, or the machine has no clusters. */
uint64_t allot_resident_clusters(struct allot_device *dev, const struct allot_launch *l,
                                 uint32_t size, struct allot_diag *d);

/* What a launch would be, without running it: the shape that the machine's passes leave it
 * in, what a block asks of an SM, what the SM has, and the blocks that it holds at once.
 * A grid of 0 in all dimensions is not known (args are not looked at either). False and a
 * diagnostic if it cannot be launched: not even one block fits. */
struct allot_plan {
    uint32_t grid[3], block[3], dynamic_scratchpad;
    uint32_t threads, registers, scratchpad; /* as in allot_occupancy_query */
    uint32_t barriers;                       /* of a block: 0 to barriers - 1 */
    uint64_t sm_registers;                   /* 32-bit */
    uint64_t sm_scratchpad, sm_l1;           /* bytes, as the SM is set up */
    bool pooled;                             /* these two are parts of one memory */
    uint32_t resident_blocks, baseline_blocks, shared_pairs;
    const char *order; /* of blocks */
};
bool allot_launch_plan(struct allot_device *dev, const struct allot_launch *l,
                       struct allot_plan *out, struct allot_diag *d);
/* Its demand alone: also of a kernel of which no block fits. */
bool allot_kernel_demand(struct allot_device *dev, const struct allot_launch *l,
                         struct allot_occupancy_query *out, struct allot_diag *d);

/* Blocks of a kernel that an SM holds at once under the machine's residency policy, with
 * the registers that its passes leave: resident_blocks of a launch. 0 and a diagnostic if
 * not even one fits. */
uint32_t allot_resident_blocks_sm(struct allot_device *dev, const struct allot_launch *l,
                                  struct allot_diag *d);

/* Bytes that malloc in kernels can give out (8 MiB unless set). Fails once a kernel has
 * called it. */
bool allot_device_heap(struct allot_device *dev, uint64_t bytes, struct allot_diag *d);
uint64_t allot_device_heap_size(const struct allot_device *dev);

/* Launches by kernels that may wait to begin (2048 unless set). */
void allot_device_pending(struct allot_device *dev, uint64_t launches);
uint64_t allot_device_pending_limit(const struct allot_device *dev);

/* -- results -- */
size_t allot_results(const struct allot_device *dev);
const struct allot_result *allot_result_at(const struct allot_device *dev, size_t i);
const char *allot_result_kernel(const struct allot_result *r);
/* Its grid and block, and its dynamic scratchpad in bytes. */
void allot_result_shape(const struct allot_result *r, uint32_t grid[3], uint32_t block[3],
                        uint32_t *dynamic_scratchpad);
/* The kernel that launched it, NULL: the host did. */
const char *allot_result_parent(const struct allot_result *r);
double allot_result_seconds(const struct allot_result *r); /* host time */
/* What the launch asked of an SM; share is NULL, threshold 1. */
struct allot_occupancy_query allot_result_demand(const struct allot_result *r);
/* Counter or derived value by id; false if there is none of that id. Counters are exact
 * in *count; derived values only in *value. Either pointer may be NULL. */
bool allot_result_get(const struct allot_result *r, const char *id, uint64_t *count,
                      double *value);

/* The distinct cache lines of global memory that each block touched, with
 * options.working_sets: of line_bytes, which is the L2's (docs/cta-scheduling.md). False:
 * there are none. What it points to belongs to the result. */
struct allot_working_array {
    uint64_t addr, bytes; /* an allocation */
    uint64_t lines;       /* summed over blocks */
    uint64_t distinct;    /* touched by any block */
};
struct allot_working_set {
    uint32_t blocks, line_bytes;
    const uint64_t *lines; /* by block */
    uint64_t sum;          /* of these */
    uint64_t distinct;     /* lines touched by any block */
    size_t narrays;        /* in order of their address */
    const struct allot_working_array *arrays;
};
bool allot_result_working_set(const struct allot_result *r,
                              struct allot_working_set *out);
/* Lines that two blocks have in common; distinct lines of n blocks together. */
uint64_t allot_working_common(const struct allot_result *r, uint32_t a, uint32_t b);
uint64_t allot_working_union(const struct allot_result *r, const uint32_t *blocks,
                             size_t n);
/* A schedule for launches like this one, as text (malloc'd): method "awss" (004 Problem
 * 1), "static" (Problem 2), "relax" (Problem 3), with ",packer=NAME" for one packer alone;
 * "window": in order of their number, as many at once as fit where lines in common count
 * once; "round-robin" and "random" are baselines: one step, all blocks that the GPU holds
 * at once or with ",tlp=N" N at most, for "random" in an order that ",seed=N" draws.
 * max_tlp: blocks that the GPU holds; cps: cost of a synchronisation in mean run times of
 * a block. NULL and a diagnostic: no such method or option. */
char *allot_working_schedule(const struct allot_result *r, const struct allot_machine *m,
                             const char *method, uint32_t max_tlp, double cps,
                             struct allot_diag *d);

/* Piece i of a launch, of options.sample_cycles core cycles, the last one shorter: i from
 * 0 while true is returned. What the counter grew by goes into *count (what is under way
 * can become less); derived values are those of what grew, in *value. sm: of that SM
 * alone, with options.sample_sms; -1: of all. Counters of owner "sm" are an SM's, and
 * derived values of that owner. */
struct allot_piece {
    uint64_t from, to; /* core cycles of the launch: (from, to] */
};
bool allot_result_piece(const struct allot_result *r, size_t i, int sm,
                        struct allot_piece *piece, const char *id, int64_t *count,
                        double *value);
/* The same as CSV text, malloc'd: the head, and the lines of a result that is number
 * `launch` (from 1): each piece of the launch, with `sms` and of each SM. */
char *allot_timeline_head(bool sms);
char *allot_timeline_text(const struct allot_result *r, size_t launch, bool sms);
/* The trace of all launches as JSON in Chrome's trace event format, which Perfetto reads:
 * malloc'd, *n characters; one cycle is one microsecond there. *cut (may be NULL):
 * whether options.trace_limit ends it, and where: what was before core cycle `cycle` of
 * that launch (from 0) is in it, what came then is not. NULL: there is no trace. */
struct allot_trace_cut {
    bool full;
    uint64_t launch, cycle;
};
char *allot_trace(const struct allot_device *dev, size_t *n, struct allot_trace_cut *cut);
/* The same of one SM, for counters that SMs have; with options.per_sm only. */
bool allot_result_sm(const struct allot_result *r, unsigned sm, const char *id,
                     uint64_t *count);

/* Instruction i of a launch with options.by_line: i from 0 while true is returned. The last
 * has no opcode: what belongs to no instruction, as issue slots without a warp. Texts live as
 * long as the result. */
struct allot_line {
    const char *opcode;   /* its first part; NULL: no instruction */
    const char *ptx_file; /* NULL: no instruction */
    const char *ptx_text; /* the line, without blanks at its ends; NULL: unknown */
    unsigned ptx_line;    /* 0: made by a pass */
    unsigned line;        /* of file; 0: unknown */
    const char *file;     /* what the PTX was compiled from, as .loc says; NULL: unknown */
};
bool allot_result_line(const struct allot_result *r, size_t i, struct allot_line *line);
/* Its counter `id`, which is one of allot_line_counter: in sum over all i exactly the
 * launch's. An issue slot belongs to the instruction that takes it, a lost one to an
 * instruction that a warp waits with (docs/looking.md). False: no such counter or i. */
bool allot_result_line_count(const struct allot_result *r, size_t i, const char *id,
                             uint64_t *count);
/* All of them as a JSON array, malloc'd: an object an instruction that has a counter above 0,
 * with these counters, opcode, ptx_file, ptx_line, ptx_text, file, line. */
char *allot_result_lines_text(const struct allot_result *r);
/* The counters that instructions have: i from 0; NULL: no more. */
const char *allot_line_counter(size_t i);

/* Every counter and derived value: i from 0 while true is returned. */
bool allot_stat(size_t i, struct allot_stat_info *info);
/* Causes of issue slots, in the order in which they are decided: i from 0 while true is
 * returned. id: the counter, in slots; word: as `allot run --why` names it. The counters of
 * all causes add up to counter issue_slots. */
bool allot_issue_cause(size_t i, const char **id, const char **word,
                       const char **meaning);

/* Energy of a launch on machine m, which is that of its device: value i, from 0 while true
 * is returned (docs/energy.md). r NULL: value is 0. */
struct allot_energy_value {
    char name[48]; /* "energy", "power", "energy_sm", ... */
    const char *unit, *meaning;
    double value;
};
bool allot_result_energy(const struct allot_result *r, const struct allot_machine *m,
                         size_t i, struct allot_energy_value *v);
/* Whether the coefficients of the machine's energy model were fitted to this machine. */
bool allot_energy_calibrated(const struct allot_machine *m);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
