/* core_int.h: the state behind core.h, for the core's own files. */
#ifndef ALLOT_CUDA_CORE_INT_H
#define ALLOT_CUDA_CORE_INT_H

#include "base/str.h"
#include "base/vec.h"
#include "cuda/core/core.h"
#include "cuda/core/core_graph.h"
#include "runtime/working.h"

#include <sys/types.h>

struct acu_row;

/* Objects of a stream or event list; handles are their addresses. */
struct acu_stream {
    unsigned flags;
    int priority;
    uint64_t id;
    struct acu_attributes attributes;
};

struct acu_event {
    unsigned flags;
    bool recorded;
    double at; /* acu_clock */
};

/* Pointers by key: open addressing, power of two, never more than half full. */
struct acu_map {
    struct acu_slot {
        const void *key; /* NULL: free */
        void *value;     /* NULL: removed */
    } * slot;
    size_t n, cap;
};
void *acu_map_get(const struct acu_map *m, const void *key);
/* value NULL removes. */
void acu_map_put(struct acu_map *m, const void *key, void *value);
void acu_map_free(struct acu_map *m);

struct acu_module {
    const void *image; /* registered: what to load on first use */
    char *what;        /* in messages */
    bool registered, dead;
    int error;                /* of loading, once tried */
    struct allot_module *ptx; /* after loading */
    char hash[33];            /* of the PTX; "": not asked for yet */
    VEC(struct acu_function *) functions;
    VEC(struct acu_symbol *) symbols;
    VEC(void **) managed; /* by symbols' order among the managed ones */
};

/* A stream that captures, and an event that was recorded in one. */
struct acu_capture {
    struct acu_stream *stream;
    struct acu_graph *graph;
    bool origin;                  /* the stream on which the capture began */
    bool given;                   /* into a graph that the program has made */
    VEC(struct acu_node *) front; /* what its next node depends on */
};
struct acu_captured_event {
    struct acu_event *event;
    struct acu_graph *graph;
    VEC(struct acu_node *) front;
};

/* Virtual memory management (core_virtual.c). */
struct acu_reservation {
    uint64_t addr, size;
};
struct acu_mapping {
    uint64_t addr, size;
    struct acu_physical *physical;
    bool access;
};

/* The CUDA APIs have no handle on which a process's state could hang: this is the one
 * mutable global of the library, guarded by the lock of acu_begin. */
struct acu {
    bool tried;   /* to make machine and device */
    bool runtime; /* a call of the runtime API has ended */
    struct allot_machine *machine;
    struct allot_options options;
    struct allot_device *device;
    struct allot_diag *diag;
    bool capturing;         /* diag is kept, not printed */
    struct acu_props props; /* of the machine; warp 0: not read yet */
    uint64_t epoch, next_id;
    bool functional; /* the launch under way */
    int sticky;      /* error that only a reset clears */
    double clock;
    struct {
        int append, update; /* descriptors of one file, -1: none */
        bool all, failed;
        pid_t pid; /* whose rows these are */
        VEC(struct acu_row) rows;
        VEC(struct acu_failure) failures;
        uint64_t findings;            /* told so far */
    } record;                         /* core_record.c */
    struct {                          /* core_look.c: what allot exec asks to see */
        const char *kernel;           /* pattern of those with timing; NULL: all */
        uint64_t skip, count;         /* of these, so many first; then so many; 0: all */
        uint64_t matched;             /* launches so far */
        const char *trace, *timeline; /* files; NULL: none */
        uint64_t sms;                 /* timeline: of each SM too */
        uint64_t launches;            /* in the timeline so far */
    } look;
    struct {          /* core_working.c: what allot workingset asks of launches */
        uint64_t nth; /* launch of each kernel; 0: nothing */
        struct working_want want;
    } working;
    uint64_t launched; /* launches that the program has asked for */
    bool reset;        /* the device, since the last launch that succeeded */
    bool report;
    /* The launch under way: what keeps an eye on it (core_launch.c). */
    struct {
        const char *kernel;
        uint64_t done; /* blocks */
        double since;  /* seconds into the launch, when the last one ended */
        bool said;     /* once a process */
    } watch;
    VEC(struct acu_range) ranges; /* sorted by address */
    VEC(struct acu_stream *) streams;
    struct acu_attributes default_streams[2]; /* the legacy one's, each thread's */
    uint32_t attributes_said[3];              /* by place, a bit a number: explained */
    VEC(struct acu_event *) events;
    VEC(struct acu_module *) modules;
    struct acu_map functions, symbols; /* by host address */
    VEC(struct acu_physical *) physical;
    VEC(struct acu_reservation) reservations;
    VEC(struct acu_mapping) mappings; /* sorted by address */
    uint64_t physical_bytes, virtual_top;
    VEC(struct acu_capture) captures;
    VEC(struct acu_captured_event) captured_events;
    VEC(struct acu_memory *) graph_memory;
    uint64_t graph_bytes[4]; /* ACU_GRAPH_USED ... */
};
extern struct acu acu;

/* For allot_options.watch: says once where a kernel does not seem to end. */
bool acu_watch(void *user, const struct allot_progress *p);
/* Prints what the diagnostics hold, prefixed, and empties them. */
void acu_flush_diag(void);
/* Opens ALLOT_RECORD's file; false after saying why not. */
bool acu_record_open(const char *path);
/* A launch begins (running), or has failed; each grid of one that has not, those that
 * kernels launched included, leaves a result. */
void acu_record_launch(const struct acu_function *f, const struct acu_launch *l,
                       bool functional, bool running);
void acu_record_result(const struct acu_function *f, const struct allot_result *r,
                       bool functional);
/* The running launch of a kernel has come so far. */
void acu_record_progress(const struct allot_progress *p);
/* A number of the environment, from 0 to `most`; false after saying that it is none. */
bool acu_env_number(const char *name, uint64_t most, uint64_t *out);
/* Reads what allot exec asks to see (ALLOT_KERNEL, ALLOT_TRACE, ...). */
bool acu_look_options(struct allot_options *o);
/* Is this launch of the kernel to be executed without timing? Once a launch. */
bool acu_look_past(const char *kernel);
/* A launch has ended: its part of the timeline; and at the end of the process, the trace. */
void acu_look_result(const struct allot_result *r);
void acu_look_end(void);
/* Reads what allot workingset asks (ALLOT_WORKING_SETS, ...). */
bool acu_working_options(struct allot_options *o);
/* The n-th launch of its kernel has ended: its working sets as a line of JSON, if they are
 * asked for; NULL: they are not. Malloc'd. */
char *acu_working_line(const struct allot_result *r, uint64_t n);
/* A file that was asked for could not be written. */
void acu_record_lost(void);
/* How many findings of --check there have been so far. */
void acu_record_findings(uint64_t all);
/* The launch, or the loading of module `name`, has come to nothing: it failed while it ran,
 * or (fault false) was refused; `why` in one line. */
void acu_record_failure(const char *name, int error, bool fault, const char *why);
/* The program has taken notice of all faults, or refusals, so far. */
void acu_record_noticed(bool fault);
/* Makes the device if there is none; an error number. */
int acu_device_make(void);
/* Forgets what hung on the device (core_module.c, core_mem.c). */
void acu_modules_reset(void);
void acu_ranges_reset(void);
void acu_graphs_reset(void);
/* The event goes: no capture has it any more. */
void acu_capture_forget(const struct acu_event *e);
void acu_virtual_reset(void);
/* Hash of a loaded module's PTX. */
const char *acu_module_hash(struct acu_module *m);
/* Gives each managed variable of registered modules its memory. */
int acu_modules_managed(void);
/* Device addresses without memory, and memory behind them, until acu_free. */
int acu_reserve(uint64_t bytes, uint64_t *addr);
int acu_commit(uint64_t addr, uint64_t bytes);
/* The memory at addr was freed: it may have been a graph's. */
void acu_graph_freed(uint64_t addr);
void acu_range_add(uint64_t addr, uint64_t size, enum acu_kind kind, unsigned flags);
/* Forgets the range that starts at addr. */
void acu_range_drop(uint64_t addr);
/* A copy of so many bytes took place between host and device, or inside the device. */
void acu_time_link(uint64_t bytes);
void acu_time_memory(uint64_t bytes);

#endif
