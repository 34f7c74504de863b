/* core.h: what libcudart.so and libcuda.so.1 share: one simulated GPU for the process.
 *
 * Both libraries are thin layers that translate the CUDA APIs' structures and handles
 * into calls of this header; a process may use both (a runtime program that asks the
 * driver something), so all state lies here, in a shared library of its own,
 * liballot-cuda.so. Everything below is over the public interface include/allot/allot.h.
 *
 *     libcudart.so.13 .12 .11.0   libcuda.so.1
 *                  \                 /
 *                  liballot-cuda.so        core*.c, and liballot inside
 *
 * Names begin with acu_, because they are visible symbols in a foreign process.
 *
 * Errors are ints: 0 or a number of errors.def. The numbers of cudaError_t and CUresult
 * agree wherever both have one (CUDA 10.1 and later). Diagnostics of the simulator itself
 * (a kernel refused, a fault with instruction and line) go to stderr as they arise, each
 * line beginning with "allot: ".
 *
 * Calls. Every entry point of a library is
 *
 *     int e = acu_begin();            lock; makes the device on first use
 *     if (!e) e = ... core calls ...;
 *     return acu_end(e);              unlock; remembers e as this thread's last error
 *
 * acu_begin_light() is the same without making the device, for what must work without one
 * (registration, error strings). The lock is recursive. acu_begin answers the sticky
 * error once a kernel has faulted, as CUDA does until the device is reset (errors.def).
 *
 * Memory. Device addresses are host addresses (allot_options.unified): a kernel and the
 * host see the same bytes at the same address, so managed memory, page-locked memory and
 * registered memory need no copying in and out, pointers inside data structures hold on
 * both sides, and cudaMemcpyDefault is simple. What a range is (device, managed, pinned)
 * is remembered in the table behind acu_range_find.
 *
 * Time. Launches and copies run to their end in the call that makes them, in the order in
 * which they are made, whatever their stream: a legal schedule of every program that does
 * not communicate with a running kernel. They advance one simulated clock: a kernel by
 * its cycles at the machine's core clock, a copy by its bytes at the link's bandwidth. An
 * event keeps the clock's value.
 *
 * Environment (allot exec sets it; a user may as well):
 *     ALLOT_MACHINE      preset or path; default ACU_MACHINE
 *     ALLOT_SETTINGS     path=value, one a line
 *     ALLOT_SCHEDULES    files of schedules, one a line (docs/cta-scheduling.md)
 *     ALLOT_FUNCTIONAL   1: no timing
 *     ALLOT_NO_SKIP      1: step sleeping parts too
 *     ALLOT_THREADS, ALLOT_MAX_CYCLES, ALLOT_MAX_INSTRUCTIONS, ALLOT_GUARD
 *                        numbers, as allot_options
 *     ALLOT_REPORT       "kernel": a line on stderr after each launch; default "none"
 *     ALLOT_RECORD       file of what ran (core_record.c): a line of JSON a kernel
 *     ALLOT_RECORD_ALL   1: and a line with every counter a launch
 *     ALLOT_WORKING_SETS N: and the working sets of each kernel's N-th launch, without timing;
 *                        ALLOT_WORKING_METHOD, ALLOT_WORKING_CPS: with a schedule by them
 *
 * What is wrong in it is said on stderr, and every CUDA call answers ACU_NO_DEVICE. */
#ifndef ALLOT_CUDA_CORE_H
#define ALLOT_CUDA_CORE_H

#include "allot/allot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The GPU of programs that are not told of one. Today's programs ask for capability 7 or
 * 8 and those of 2009 run on it as well. */
#define ACU_MACHINE "a100"

#pragma GCC visibility push(default)

/* The numbers this folder's code names; errors.def has all. */
enum acu_error {
#define ERROR(number, id, runtime, driver, text, sticky) ACU_##id = number,
#include "cuda/errors.def"
#undef ERROR
};

/* -- calls, errors -- */
int acu_begin(void);
int acu_begin_light(void);
int acu_end(int error);
/* As acu_end, but the thread's last error stays (driver API: it has none). */
int acu_end_quiet(int error);
/* This thread's last error; `clear` makes it success. A sticky error stays. */
int acu_last_error(bool clear);
/* Names and text of a number, NULL: no such number, or none in that API. */
const char *acu_error_runtime_name(int e); /* "cudaErrorInvalidValue" */
const char *acu_error_driver_name(int e);  /* "CUDA_ERROR_INVALID_VALUE" */
const char *acu_error_text(int e);
/* Whether every later call answers it too, until the device is reset. */
bool acu_error_sticky(int e);
/* Prints "allot: ..." to stderr; lines are kept whole. */
void acu_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Between these two, diagnostics are kept instead of printed; the end gives them,
 * malloc'd,
 * "" if there were none. */
void acu_capture_begin(void);
char *acu_capture_end(void);
/* For entry points that exist only: says once per name that it is not there. */
int acu_not_supported(const char *name);

/* -- the device; after acu_begin -- */
struct allot_device *acu_device(void); /* NULL: not made yet */
/* Whether a call of the runtime API has ended: it has initialised the driver. */
bool acu_runtime_called(void);
/* Whether the runtime API has been used, and the device made. */
bool acu_runtime_used(void);
/* As acu_begin, inside a call: makes the device, answers the sticky error. */
int acu_device_ready(void);
const struct allot_machine *acu_machine(void);
/* A setting by dotted path as a number; 0 where it is none. */
double acu_setting(const char *path);
/* Whether a device can be made; 1 or 0. Prints why not, once. */
int acu_device_count(void);
/* Frees every allocation, stream, event and module's device copy, forgets the sticky
 * error (cudaDeviceReset). Registered functions and variables load anew on next use. */
void acu_device_reset(void);
/* A new value whenever the device is made anew. */
uint64_t acu_device_epoch(void);

/* Device properties as numbers, from the machine file; both libraries fill their structs
 * and attributes from here. */
struct acu_props {
    char name[256];
    uint8_t uuid[16]; /* from the machine's hash */
    uint64_t memory;  /* bytes */
    int major, minor, warp, sms;
    int max_threads_block, max_threads_sm, max_blocks_sm;
    int max_block[3], max_grid[3];
    int regs_sm, regs_block;
    int smem_sm, smem_block, smem_block_optin, smem_reserved;
    int const_bytes, l2_bytes;
    int core_khz, memory_khz, bus_bits;
    int single_to_double; /* peak single over peak double precision */
    bool global_l1;
};
void acu_props(struct acu_props *p);
/* Value of CUdevice_attribute / cudaDeviceAttr `attr` (same numbers). */
int acu_device_attribute(int attr, int *value);

/* -- memory -- */
enum acu_kind {
    ACU_KIND_NONE,       /* pageable host memory, or nothing at all */
    ACU_KIND_DEVICE,     /* allocated on the device */
    ACU_KIND_PINNED,     /* host memory allocated page-locked */
    ACU_KIND_REGISTERED, /* the program's own host memory, registered */
    ACU_KIND_MANAGED,
    ACU_KIND_SYMBOL,  /* a module's variable */
    ACU_KIND_VIRTUAL, /* mapped by the program (core_virtual.c) */
};
struct acu_range {
    uint64_t addr, size;
    enum acu_kind kind;
    unsigned flags; /* as given to acu_alloc */
    uint64_t id;    /* unique in the process (CU_POINTER_ATTRIBUTE_BUFFER_ID) */
};
/* bytes 0: *addr = 0 and success. Contents zero. */
int acu_alloc(enum acu_kind kind, uint64_t bytes, unsigned flags, uint64_t *addr);
/* kinds: bit mask of 1u << enum acu_kind. 0: does nothing. */
int acu_free(uint64_t addr, unsigned kinds);
int acu_register_host(void *p, uint64_t bytes, unsigned flags);
int acu_unregister_host(void *p);
/* The live range that holds addr; false: none. */
bool acu_range_find(uint64_t addr, struct acu_range *r);
/* Device memory: bytes free and in all. */
void acu_memory(uint64_t *free_bytes, uint64_t *total);

/* -- virtual memory management: sizes, addresses and offsets are multiples of this -- */
#define ACU_GRANULARITY ((uint64_t)2 << 20)
struct acu_physical; /* memory without an address */
int acu_physical_new(uint64_t size, struct acu_physical **p);
/* A handle less; the memory goes with the last handle and mapping. */
int acu_physical_release(struct acu_physical *p);
bool acu_physical_valid(const struct acu_physical *p);
uint64_t acu_physical_size(const struct acu_physical *p);
/* One more handle of what is mapped at addr. */
int acu_physical_at(uint64_t addr, struct acu_physical **p);
/* Addresses: at `want` if that is free, align a power of two or 0. */
int acu_virtual_reserve(uint64_t size, uint64_t align, uint64_t want, uint64_t *addr);
int acu_virtual_free(uint64_t addr, uint64_t size);
/* Physical memory behind them, which can be touched once access is set; both over whole
 * mappings, several at once if they are adjacent. */
int acu_virtual_map(uint64_t addr, uint64_t size, uint64_t offset,
                    struct acu_physical *p);
int acu_virtual_unmap(uint64_t addr, uint64_t size);
int acu_virtual_access(uint64_t addr, uint64_t size, bool access);

/* Bytes that malloc in kernels may hand out; before the first kernel that calls it. */
int acu_heap_limit(uint64_t bytes);

/* Launches by kernels that may wait to begin. */
void acu_pending_limit(uint64_t launches);

/* What the caller claims about the two sides of a copy; ANY where the API does not say.
 */
enum acu_side { ACU_ANY, ACU_HOST, ACU_DEV };
/* Copies between any two of host and device memory. ACU_DEV sides must lie in one live
 * range. A side said to be ACU_HOST must not be memory of kind DEVICE. */
int acu_copy(uint64_t dst, enum acu_side dst_side, uint64_t src, enum acu_side src_side,
             uint64_t bytes);
int acu_set(uint64_t dst, const void *pattern, unsigned pattern_bytes, uint64_t count);
/* Checks that [addr, addr+bytes) lies in one live range; bytes 0: passes. */
int acu_check(uint64_t addr, uint64_t bytes);

/* One end of a 2-D or 3-D copy: linear memory with pitches, or an array. */
struct acu_place {
    enum acu_side side;
    uint64_t addr; /* linear */
    uint64_t pitch,
        slice; /* bytes from row to row, rows from slice to slice (0: height) */
    struct allot_array *array;
    uint64_t x, y, z; /* start: x in bytes */
};
/* width in bytes, height in rows, depth in slices; a 0 among them: nothing to do. */
int acu_copy3d(const struct acu_place *dst, const struct acu_place *src, uint64_t width,
               uint64_t height, uint64_t depth);
int acu_set3d(uint64_t dst, uint64_t pitch, uint64_t slice_rows, const void *pattern,
              unsigned pattern_bytes, uint64_t count, uint64_t height, uint64_t depth);

/* -- modules and functions --
 * Modules come from PTX text, a fatbin (from its header, or the wrapper around it), or
 * are registered by a program's start-up code and loaded on first use. */
struct acu_module;
struct acu_function {
    struct acu_module *module;
    const char *name; /* mangled */
    const void *host; /* stub address of a registered function, else NULL */
    const struct allot_kernel *kernel; /* after acu_function_load */
    struct allot_module *ptx;          /* the same */
    uint32_t dynamic_max; /* bytes of dynamic scratchpad allowed; set by attribute */
    int carveout, cache_config;
    uint32_t cluster[3]; /* set by attribute, 0: not */
    int non_portable, cluster_policy;
    bool dynamic_set;
    uint8_t explained; /* a bit for each refusal that was explained (core_launch.c) */
};
struct acu_symbol {
    struct acu_module *module;
    const char *name;
    const void *host; /* shadow variable of a registered one, else NULL */
    uint64_t size;
    bool constant, managed;
    uint64_t addr; /* after acu_symbol_load */
};

/* The image may be a fatbin, a wrapper, PTX text (NUL-terminated), or a cubin, which is
 * refused with a line that says how to rebuild. `what` names it in messages. */
int acu_module_load(const void *image, const char *what, struct acu_module **out);
int acu_module_load_ptx(const char *text, size_t n, const char *what,
                        struct acu_module **out);
/* A file of PTX text, a fatbin, or a host's ELF file. */
int acu_module_load_file(const char *path, struct acu_module **out);
/* A module of PTX that was read already, which it takes over; NULL: error INVALID_PTX. */
int acu_module_adopt(struct allot_module *ptx, const char *what, struct acu_module **out);
int acu_module_unload(struct acu_module *m);
bool acu_module_valid(const struct acu_module *m);
/* Error NOT_FOUND if there is none. Owned by the module. */
int acu_module_function(struct acu_module *m, const char *name, struct acu_function **f);
int acu_module_symbol(struct acu_module *m, const char *name, struct acu_symbol **s);
/* Function i, from 0 while true is returned. */
bool acu_module_function_at(struct acu_module *m, size_t i, struct acu_function **f);
struct allot_module *acu_module_ptx(struct acu_module *m);

/* Several images linked to one: PTX text (owned by the link), which a module is loaded
 * from. `what` names the input in messages. */
struct acu_link;
struct acu_link *acu_link_new(void);
int acu_link_add(struct acu_link *l, const void *data, size_t size, const char *what);
int acu_link_add_file(struct acu_link *l, const char *path);
int acu_link_complete(struct acu_link *l, char **text);
void acu_link_free(struct acu_link *l);

/* Registration by start-up code; no device is needed yet. */
struct acu_module *acu_register_image(const void *wrapper);
void acu_register_end(struct acu_module *m);
void acu_unregister_image(struct acu_module *m);
void acu_register_function(struct acu_module *m, const void *host, const char *name);
void acu_register_symbol(struct acu_module *m, const void *host, const char *name,
                         uint64_t size, bool constant);
/* *host is made to point at the variable, now or when the device is made. */
void acu_register_managed(struct acu_module *m, void **host, const char *name,
                          uint64_t size);
/* By host address; also accepts a struct acu_function itself as a handle. NULL: none. */
struct acu_function *acu_function_find(const void *host);
struct acu_symbol *acu_symbol_find(const void *host);
/* Parse, and find the kernel or variable. */
int acu_function_load(struct acu_function *f);
int acu_symbol_load(struct acu_symbol *s);

/* -- arrays, textures, surfaces: as allot.h has them, on the process's device -- */
int acu_array_new(const struct allot_array_info *info, struct allot_array **a);
void acu_array_free(struct allot_array *a);
/* A level of a mipmapped array; NULL: there is none. */
struct allot_array *acu_array_level(const struct allot_array *a, uint32_t level);
const struct allot_array_info *acu_array_info(const struct allot_array *a);
unsigned acu_format_bytes(const struct allot_format *f); /* of a texel */
int acu_texture_new(const struct allot_resource *r, const struct allot_sampler *s,
                    uint64_t *handle);
int acu_surface_new(const struct allot_resource *r, uint64_t *handle);
void acu_object_free(uint64_t handle);
/* A module's reference stands for the object from now on. */
int acu_bind(struct acu_module *m, const char *name, uint64_t handle);
/* Whether the module has a reference of that name and kind; *own: the module's own text.
 */
bool acu_module_ref(struct acu_module *m, const char *name, enum allot_ref_kind kind,
                    const char **own);

/* -- launches -- */
/* Attributes: numbers, and values as CUDA lays them out (launch_attributes.def). */
enum {
#define ATTRIBUTE(number, id, name, where, bytes, what, valid, why)                      \
    ACU_ATTRIBUTE_##id = number,
#include "cuda/launch_attributes.def"
#undef ATTRIBUTE
    ACU_ATTRIBUTES
};
enum { ACU_ON_LAUNCH = 1, ACU_ON_NODE = 2, ACU_ON_STREAM = 4 };
struct acu_event;
union acu_attribute {
    char room[64];
    int i;
    uint32_t u[3];
    struct {
        void *base;
        uint64_t bytes;
        float ratio;
        int hit, miss;
    } window;
    struct {
        struct acu_event *event;
        int flags, at_start;
    } event;
};
struct acu_attributes {
    uint32_t given; /* a bit for each number */
    union acu_attribute value[ACU_ATTRIBUTES];
};
struct acu_attribute_row {
    int number;
    const char *name;
    unsigned where; /* ACU_ON_... */
    unsigned bytes;
    const char *why; /* it changes no result */
    bool no_effect;
};
/* Row i, from 0 while true is returned. */
bool acu_attribute_row(size_t i, struct acu_attribute_row *out);

struct acu_launch {
    uint32_t grid[3], block[3];
    uint32_t dynamic_scratchpad;
    void *const *args; /* one pointer per parameter */
    bool cooperative;
    bool told;           /* the program's own call answers the error code, no <<<>>>'s */
    uint32_t cluster[3]; /* 0: not given */
    struct acu_attributes attributes;
};
struct acu_stream;
/* Checks an attribute of a launch (ACU_ON_LAUNCH; capturing: its stream does) or of a kernel
 * node, and keeps it in the launch. An error is explained on standard error, once. */
int acu_launch_attribute(struct acu_launch *l, unsigned where, bool capturing, int number,
                         const void *value);
void acu_launch_attributes_copy(struct acu_launch *dst, const struct acu_launch *src);
/* Records the events that the launch's attributes name, behind it. */
int acu_launch_events(struct acu_stream *s, const struct acu_launch *l);
int acu_launch(struct acu_function *f, const struct acu_launch *l, struct acu_stream *s);
/* Parameter i's place in a packed buffer (CU_LAUNCH_PARAM_BUFFER_POINTER); false: none.
 */
bool acu_function_param(const struct acu_function *f, size_t i, uint64_t *offset,
                        uint64_t *bytes);
/* Tensor maps of 128 bytes; arguments and numbers are those of cuTensorMapEncodeTiled. */
int acu_tensor_map_encode(void *map, int type, uint32_t rank, uint64_t address,
                          const uint64_t *dim, const uint64_t *stride, const uint32_t *box,
                          const uint32_t *step, int interleave, int swizzle, int promotion,
                          int fill);
int acu_tensor_map_replace(void *map, uint64_t address);
/* Blocks of its clusters: the launch's, the kernel's own, or those set; [0] is 0: none. */
const uint32_t *acu_launch_cluster(const struct acu_function *f,
                                   const struct acu_launch *l);
/* Blocks that a cluster of the kernel may have. */
int acu_cluster_most(const struct acu_function *f);
/* Clusters of such a launch that are resident at the same time; the largest size of which one
 * is. */
int acu_occupancy_clusters(struct acu_function *f, const struct acu_launch *l,
                           int *clusters);
int acu_occupancy_cluster_size(struct acu_function *f, const struct acu_launch *l,
                               int *size);
/* Resident blocks of an SM, 0 if not even one fits. */
int acu_occupancy(struct acu_function *f, uint32_t threads, uint64_t dynamic_scratchpad,
                  int *blocks);
/* Compute capability that its PTX was compiled for. */
uint32_t acu_function_capability(const struct acu_function *f);
/* Registers of a thread as the machine hands them out. */
uint32_t acu_function_registers(const struct acu_function *f);
/* The most dynamic scratchpad with which so many blocks of so many threads reside. */
int acu_occupancy_dynamic(struct acu_function *f, int blocks, int threads, size_t *bytes);
/* Attributes: function_attributes.def. */
enum {
#define FUNCTION(number, id, value, set, valid) ACU_FUNC_##id = number,
#include "cuda/function_attributes.def"
#undef FUNCTION
    ACU_FUNC_END
};
int acu_function_get(struct acu_function *f, int attribute, int *value);
int acu_function_set(struct acu_function *f, int attribute, int value);

/* -- streams and events -- */
#define ACU_STREAM_LEGACY ((struct acu_stream *)1)
#define ACU_STREAM_PER_THREAD ((struct acu_stream *)2)
int acu_stream_new(unsigned flags, int priority, struct acu_stream **s);
int acu_stream_free(struct acu_stream *s);
/* NULL, LEGACY, PER_THREAD and live streams are valid. */
bool acu_stream_valid(const struct acu_stream *s);
unsigned acu_stream_flags(const struct acu_stream *s);
int acu_stream_priority(const struct acu_stream *s);
uint64_t acu_stream_id(const struct acu_stream *s);
int acu_stream_attribute_set(struct acu_stream *s, int number, const void *value);
int acu_stream_attribute_get(struct acu_stream *s, int number, void *value);
int acu_stream_attributes_copy(struct acu_stream *dst, struct acu_stream *src);

int acu_event_new(unsigned flags, struct acu_event **e);
int acu_event_free(struct acu_event *e);
bool acu_event_valid(const struct acu_event *e);
int acu_event_record(struct acu_event *e, struct acu_stream *s);
bool acu_event_recorded(const struct acu_event *e);
/* A live event that was made without timing. */
bool acu_event_untimed(const struct acu_event *e);
/* Simulated milliseconds; errors INVALID_HANDLE where one is not recorded or has no
 * timing. */
int acu_event_elapsed(const struct acu_event *from, const struct acu_event *to,
                      float *ms);
/* Simulated time since the device was made, nanoseconds. */
double acu_clock(void);
void acu_clock_advance(double nanoseconds);

/* Calls the program back without the lock held. */
void acu_call_back(void (*fn)(void *user), void *user);

#pragma GCC visibility pop
#endif
