/* attributes.c: every attribute of a launch, of a kernel node, of a stream and of a kernel,
 * through the driver's entry points and the runtime's, is done, refused with the error that
 * is written here, or one that changes no result. What is valid where is CUDA 13.0's
 * header's word (driver_types.h, "Valid for ..."), written down once more here.
 * Usage: attributes LIBRARY, "cuda" or "cudart.so.13" ... */
#include "driver_kit.h"

#include <stdbool.h>

enum {
    INVALID_VALUE = 1,
    INVALID_HANDLE = 400,
    INVALID_CLUSTER = 912,
    NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801,
    LAUNCH = 1,
    NODE = 2,
    STREAM = 4
};
typedef struct {
    int id, pad;
    union {
        char room[64];
        int i[16];
        struct {
            void *event;
            int flags, at_start;
        } event;
        struct {
            void *base;
            size_t bytes;
            float ratio;
            int hit, miss;
        } window;
    } value;
} attribute;
typedef struct { /* CUlaunchConfig */
    unsigned grid[3], block[3], smem;
    void *stream;
    attribute *attributes;
    unsigned n;
} driver_config;
typedef struct { /* cudaLaunchConfig_t */
    unsigned grid[3], block[3];
    size_t smem;
    void *stream;
    attribute *attributes;
    unsigned n;
} runtime_config;

/* The two APIs under one name. */
static const char *api;
static bool runtime;
static void *lib;

static void *
entry(const char *driver, const char *rt)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", runtime ? "cuda" : "cu", runtime ? rt : driver);
    void *p = dlsym(lib, name);
    if (!p) {
        printf("%s: no %s\n", api, name);
        exit(1);
    }
    return p;
}
#define DO(driver, rt, ...) ((int (*)())entry(driver, rt))(__VA_ARGS__)
#define BOTH(name, ...) DO(name, name, __VA_ARGS__)

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry plain(.param .u64 p) {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %q;\n"
    "  ld.param.u64 %rd1, [p]; mov.pred %q, %is_explicit_cluster;\n"
    "  selp.u32 %r1, 3, 2, %q; st.global.u32 [%rd1], %r1; ret;\n}\n"
    ".visible .entry one(.param .u64 p) .explicitcluster .reqnctapercluster 1 {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %q;\n"
    "  ld.param.u64 %rd1, [p]; mov.pred %q, %is_explicit_cluster;\n"
    "  selp.u32 %r1, 3, 2, %q; st.global.u32 [%rd1], %r1; ret;\n}\n"
    ".visible .entry two(.param .u64 p) .reqnctapercluster 1, 2, 1 { ret; }\n"
    ".visible .entry must(.param .u64 p) .explicitcluster {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %q;\n"
    "  ld.param.u64 %rd1, [p]; mov.pred %q, %is_explicit_cluster;\n"
    "  selp.u32 %r1, 3, 2, %q; st.global.u32 [%rd1], %r1; ret;\n}\n";

static void *plain, *one, *two, *must, *stream;
static unsigned *word; /* managed */

static int
launch(void *f, void *on, attribute *a, unsigned n)
{
    void *args[] = {&word};
    *word = 0;
    if (runtime) {
        runtime_config c = {{1, 1, 1}, {1, 1, 1}, 0, on, a, n};
        return DO("", "LaunchKernelExC", &c, f, args);
    }
    driver_config c = {{1, 1, 1}, {1, 1, 1}, 0, on, a, n};
    return DO("LaunchKernelEx", "", &c, f, args, NULL);
}

/* -- the attributes -- */

static void *untimed, *timed;

/* Number, where it is valid, a value that is valid, one that is not (bad < 0: none). */
static attribute
with(int id, int i)
{
    attribute a = {.id = id};
    a.value.i[0] = i;
    return a;
}

static attribute
dim(int id, int x, int y, int z)
{
    attribute a = with(id, x);
    a.value.i[1] = y;
    a.value.i[2] = z;
    return a;
}

static attribute
event(int id, void *e, int flags)
{
    attribute a = {.id = id};
    a.value.event.event = e;
    a.value.event.flags = flags;
    return a;
}

static attribute
window(float ratio, int hit)
{
    attribute a = {.id = 1};
    a.value.window.base = word;
    a.value.window.bytes = 4;
    a.value.window.ratio = ratio;
    a.value.window.hit = hit;
    return a;
}

enum { ROWS = 40 };
static struct row {
    attribute a;
    unsigned where;
    int answer;     /* where it is valid */
    unsigned bytes; /* of the value, as read back */
} rows[ROWS];

static unsigned
fill(void)
{
    const struct row r[] = {
        {with(0, 5), LAUNCH | NODE | STREAM, 0, 0},
        {window(0.5f, 2), LAUNCH | NODE | STREAM, 0, 32},
        {window(1.5f, 2), LAUNCH | NODE | STREAM, INVALID_VALUE, 0},
        {window(0.5f, 3), LAUNCH | NODE | STREAM, INVALID_VALUE, 0},
        {with(2, 0), LAUNCH | NODE, 0, 4},
        {with(2, 1), LAUNCH | NODE, 0, 4},
        {with(3, 2), STREAM, 0, 4},
        {with(3, 0), STREAM, INVALID_VALUE, 0},
        {with(3, 5), STREAM, INVALID_VALUE, 0},
        {dim(4, 1, 1, 1), LAUNCH | NODE, 0, 12},
        {dim(4, 2, 1, 1), LAUNCH | NODE, NOT_SUPPORTED, 0},
        {dim(4, 1, 2, 1), LAUNCH | NODE, NOT_SUPPORTED, 0},
        {dim(4, 1, 1, 2), LAUNCH | NODE, NOT_SUPPORTED, 0},
        {dim(4, 1, 0, 1), LAUNCH | NODE, INVALID_VALUE, 0},
        {with(5, 1), LAUNCH | NODE, 0, 4},
        {with(5, 3), LAUNCH | NODE, INVALID_VALUE, 0},
        {with(6, 1), LAUNCH, 0, 0},
        {event(7, untimed, 0), LAUNCH, 0, 0},
        {event(7, timed, 0), LAUNCH, INVALID_VALUE, 0},
        {event(7, untimed, 1), LAUNCH, INVALID_VALUE, 0},
        {event(7, NULL, 0), LAUNCH, INVALID_VALUE, 0},
        {with(8, -3), LAUNCH | NODE | STREAM, 0, 4},
        {with(9, 0x100), LAUNCH | NODE | STREAM, 0, 2},
        {with(10, 1), LAUNCH | NODE | STREAM, 0, 4},
        {with(10, 2), LAUNCH | NODE | STREAM, INVALID_VALUE, 0},
        {dim(11, 2, 1, 1), LAUNCH | NODE, 0, 12},
        {dim(11, 0, 1, 1), LAUNCH | NODE, INVALID_VALUE, 0},
        {event(12, untimed, 0), LAUNCH, 0, 0},
        {event(12, timed, 0), LAUNCH, INVALID_VALUE, 0},
        {with(13, 1), LAUNCH | NODE, NOT_SUPPORTED, 0},
        {with(13, 2), LAUNCH | NODE, INVALID_VALUE, 0},
        {with(14, 50), LAUNCH, 0, 0},
        {with(14, 101), LAUNCH, INVALID_VALUE, 0},
        {with(16, 1), LAUNCH | NODE | STREAM, 0, 4},
        {with(16, 2), LAUNCH | NODE | STREAM, INVALID_VALUE, 0},
        /* What no header of CUDA 11 to 13.0 has. */
        {with(15, 1), 0, 0, 0},
        {with(17, 1), 0, 0, 0},
        {with(31, 1), 0, 0, 0},
        {with(1000, 1), 0, 0, 0},
        {with(-1, 1), 0, 0, 0},
    };
    memcpy(rows, r, sizeof r);
    return sizeof r / sizeof *r;
}

#define ROW_IS(call, wanted)                                                             \
    do {                                                                                 \
        int got_ = (call), wanted_ = (wanted);                                           \
        if (got_ != wanted_) {                                                           \
            printf("%s, line %d, attribute %d (%d, %d, %d): %d, not %d\n", api,          \
                   __LINE__, r->a.id, r->a.value.i[0], r->a.value.i[1], r->a.value.i[2], \
                   got_, wanted_);                                                       \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static void
launches(struct row *r)
{
    int want = r->where & LAUNCH ? r->answer : INVALID_VALUE;
    if (r->a.id == 13)
        want = INVALID_VALUE; /* outside of graphs */
    ROW_IS(launch(plain, stream, &r->a, 1), want);
    ROW_IS((int)*word, want ? 0 : r->a.id == 4 ? 3 : 2); /* it ran, or it did not */
    ROW_IS(BOTH("StreamSynchronize", stream), 0);
    /* Captured: the node has it. */
    void *graph, *exec, *nodes[4];
    size_t n = 4;
    want = r->where & LAUNCH ? r->answer : INVALID_VALUE;
    ROW_IS(DO("StreamBeginCapture_v2", "StreamBeginCapture", stream, 0), 0);
    ROW_IS(launch(plain, stream, &r->a, 1), want);
    ROW_IS(BOTH("StreamEndCapture", stream, &graph), 0);
    ROW_IS(BOTH("GraphGetNodes", graph, nodes, &n), 0);
    if (!want && r->where & NODE && r->bytes) {
        attribute b = {0};
        ROW_IS(BOTH("GraphKernelNodeGetAttribute", nodes[0], r->a.id, &b.value), 0);
        ROW_IS(memcmp(&b.value, &r->a.value, r->bytes), 0);
    }
    if (!want) {
        ROW_IS(DO("GraphInstantiateWithFlags", "GraphInstantiateWithFlags", &exec, graph,
                  0ull),
               0);
        *word = 0;
        ROW_IS(BOTH("GraphLaunch", exec, stream), 0);
        ROW_IS((int)*word, r->a.id == 4 ? 3 : 2);
        ROW_IS(BOTH("GraphExecDestroy", exec), 0);
    }
    ROW_IS(BOTH("GraphDestroy", graph), 0);
}

static void
streams(struct row *r)
{
    int want = r->where & STREAM ? r->answer : INVALID_VALUE;
    void *other, *at[] = {NULL, (void *)1, (void *)2, NULL};
    ROW_IS(DO("StreamCreate", "StreamCreateWithFlags", &at[3], 0u), 0);
    for (int i = 0; i < 4; i++) {
        attribute b;
        ROW_IS(BOTH("StreamSetAttribute", at[i], r->a.id, &r->a.value), want);
        if (want)
            continue;
        memset(&b, 0x5a, sizeof b);
        ROW_IS(BOTH("StreamGetAttribute", at[i], r->a.id, &b.value), 0);
        ROW_IS(memcmp(&b.value, &r->a.value, r->bytes), 0);
        for (unsigned k = r->bytes; k < sizeof b.value; k++) /* CUDA 11's unions end */
            ROW_IS(b.value.room[k], 0x5a);
        ROW_IS(DO("StreamCreate", "StreamCreateWithFlags", &other, 0u), 0);
        ROW_IS(BOTH("StreamCopyAttributes", other, at[i]), 0);
        ROW_IS(BOTH("StreamGetAttribute", other, r->a.id, &b.value), 0);
        ROW_IS(memcmp(&b.value, &r->a.value, r->bytes), 0);
        ROW_IS(DO("StreamDestroy_v2", "StreamDestroy", other), 0);
    }
    ROW_IS(BOTH("StreamSetAttribute", at[3], r->a.id, NULL), INVALID_VALUE);
    ROW_IS(BOTH("StreamGetAttribute", at[3], r->a.id, NULL), INVALID_VALUE);
    ROW_IS(DO("StreamDestroy_v2", "StreamDestroy", at[3]), 0);
}

typedef struct {
    void *f;
    unsigned grid[3], block[3], smem;
    void **args, **extra, *kernel, *context;
} kernel_params; /* of the driver; the runtime's ends before `kernel` */

static void
nodes(struct row *r)
{
    int want = r->where & NODE ? r->answer : INVALID_VALUE;
    void *graph, *node, *copy, *exec, *args[] = {&word};
    kernel_params p = {plain, {1, 1, 1}, {1, 1, 1}, 0, args};
    attribute b;
    ROW_IS(BOTH("GraphCreate", &graph, 0u), 0);
    ROW_IS(DO("GraphAddKernelNode_v2", "GraphAddKernelNode", &node, graph, NULL,
              (size_t)0, &p),
           0);
    ROW_IS(DO("GraphAddKernelNode_v2", "GraphAddKernelNode", &copy, graph, NULL,
              (size_t)0, &p),
           0);
    ROW_IS(BOTH("GraphKernelNodeSetAttribute", node, r->a.id, &r->a.value), want);
    if (!want) {
        /* New parameters leave them; they can be copied. */
        ROW_IS(DO("GraphKernelNodeSetParams_v2", "GraphKernelNodeSetParams", node, &p),
               0);
        ROW_IS(BOTH("GraphKernelNodeCopyAttributes", copy, node), 0);
        for (int i = 0; i < 2; i++) {
            memset(&b, 0x5a, sizeof b);
            ROW_IS(
                BOTH("GraphKernelNodeGetAttribute", i ? copy : node, r->a.id, &b.value),
                0);
            ROW_IS(memcmp(&b.value, &r->a.value, r->bytes), 0);
            for (unsigned k = r->bytes; k < sizeof b.value; k++)
                ROW_IS(b.value.room[k], 0x5a);
        }
    }
    ROW_IS(BOTH("GraphInstantiateWithFlags", &exec, graph, 0ull), 0);
    *word = 0;
    ROW_IS(BOTH("GraphLaunch", exec, stream), 0);
    ROW_IS((int)*word, !want && r->a.id == 4 ? 3 : 2);
    ROW_IS(BOTH("GraphExecDestroy", exec), 0);
    ROW_IS(BOTH("GraphDestroy", graph), 0);
}

/* An event of a launch is recorded behind it. */
static void
events(void)
{
    for (int id = 7; id <= 12; id += 5) {
        void *e;
        OK(DO("EventCreate", "EventCreateWithFlags", &e, 2u));
        attribute a[] = {event(id, e, 0), with(6, 1)};
        OK(launch(plain, stream, a, 2));
        OK(BOTH("StreamWaitEvent", stream, e, 0u));
        OK(BOTH("EventQuery", e));
        /* Of a captured launch it is the capture's: what waits for it joins that. */
        void *graph, *other, *list[4], *before[4];
        size_t n = 4, nbefore = 4;
        int status = 0;
        OK(DO("StreamCreate", "StreamCreateWithFlags", &other, 1u));
        OK(DO("StreamBeginCapture_v2", "StreamBeginCapture", stream, 0));
        OK(launch(plain, stream, a, 2));
        OK(BOTH("StreamWaitEvent", other, e, 0u));
        OK(BOTH("StreamIsCapturing", other, &status));
        IS(status, 1);
        OK(launch(plain, other, NULL, 0));
        attribute back = event(id, e, 0);
        OK(launch(plain, other, &back, 1));
        OK(BOTH("StreamWaitEvent", stream, e, 0u));
        OK(BOTH("StreamEndCapture", stream, &graph));
        OK(BOTH("GraphGetNodes", graph, list, &n));
        IS((int)n, 3);
        if (!runtime) {
            OK(DO("GraphNodeGetDependencies", "", list[1], before, &nbefore));
            IS((int)nbefore, 1);
            IS(before[0] == list[0], 1);
        }
        OK(BOTH("GraphDestroy", graph));
        OK(DO("StreamDestroy_v2", "StreamDestroy", other));
        OK(DO("EventDestroy_v2", "EventDestroy", e));
    }
}

static void
functions(void)
{
    /* number, value, answer; then what is read back */
    static const struct {
        int number, value, answer;
    } t[] = {
        {0, 1, INVALID_VALUE},
        {1, 1, INVALID_VALUE},
        {2, 1, INVALID_VALUE},
        {3, 1, INVALID_VALUE},
        {4, 1, INVALID_VALUE},
        {5, 1, INVALID_VALUE},
        {6, 1, INVALID_VALUE},
        {7, 1, INVALID_VALUE},
        {8, 1024, 0},
        {8, -1, INVALID_VALUE},
        {8, 1 << 30, INVALID_VALUE},
        {9, 50, 0},
        {9, -1, 0},
        {9, 101, INVALID_VALUE},
        {10, 1, INVALID_VALUE},
        {11, 0, 0},
        {11, 2, 0},
        {12, 2, 0},
        {13, 2, 0},
        {11, -1, INVALID_VALUE},
        {11, 1, 0},
        {12, 1, 0},
        {13, 1, 0},
        {14, 1, 0},
        {14, 2, INVALID_VALUE},
        {15, 2, 0},
        {15, 3, INVALID_VALUE},
        {16, 0, INVALID_VALUE},
        {-1, 0, INVALID_VALUE},
    };
    int v;
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        int got = BOTH("FuncSetAttribute", plain, t[i].number, t[i].value);
        if (!runtime && got && t[i].number < 0)
            got = INVALID_VALUE;
        if (runtime) {
            int a[64] = {0}; /* cudaFuncAttributes; checked by the driver's API */
            OK(DO("", "FuncGetAttributes", a, plain));
        } else if (!t[i].answer) {
            OK(DO("FuncGetAttribute", "", &v, t[i].number, plain));
            IS(v, t[i].value);
        }
        if (got != t[i].answer) {
            printf("%s: kernel attribute %d = %d: %d, not %d\n", api, t[i].number,
                   t[i].value, got, t[i].answer);
            exit(1);
        }
    }
    /* Its clusters were set to one block: an explicit size. */
    OK(launch(plain, stream, NULL, 0));
    IS((int)*word, 3);
    for (int i = 11; i <= 13; i++)
        OK(BOTH("FuncSetAttribute", plain, i, 0));
    OK(launch(plain, stream, NULL, 0));
    IS((int)*word, 2);
    /* A size that was compiled in stays. */
    IS(BOTH("FuncSetAttribute", one, 11, 1), NOT_PERMITTED);
    OK(launch(one, stream, NULL, 0));
    IS((int)*word, 3);
    IS(launch(two, stream, NULL, 0), NOT_SUPPORTED);
    IS(launch(must, stream, NULL, 0), INVALID_CLUSTER);
    attribute unit = dim(4, 1, 1, 1);
    OK(launch(must, stream, &unit, 1));
    IS((int)*word, 3);
    if (!runtime) {
        static const int compiled[] = {0, 1, 2, 1};
        for (int i = 10; i <= 13; i++) {
            OK(DO("FuncGetAttribute", "", &v, i, two));
            IS(v, compiled[i - 10]);
        }
        OK(DO("FuncGetAttribute", "", &v, 10, must));
        IS(v, 1);
    }
}

int
main(int argc, char **argv)
{
    char name[64];
    void *context, *module;
    api = argc > 1 ? argv[1] : "cuda.so.1";
    runtime = !strncmp(api, "cudart", 6);
    bool old = strstr(api, ".11"); /* no kernels without registration: streams only */
    snprintf(name, sizeof name, "lib%s", api);
    lib = dlopen(name, RTLD_NOW);
    if (!lib) {
        printf("%s\n", dlerror());
        return 1;
    }
    static const char *const kernels[] = {"plain", "one", "two", "must"};
    void **const to[] = {&plain, &one, &two, &must};
    if (runtime) {
        OK(DO("", "MallocManaged", &word, (size_t)4, 1u));
        OK(old ? 0
               : DO("", "LibraryLoadData", &module, ptx, NULL, NULL, 0u, NULL, NULL, 0u));
        for (int i = 0; i < 4 && !old; i++)
            OK(DO("", "LibraryGetKernel", to[i], module, kernels[i]));
    } else {
        OK(DO("Init", "", 0u));
        OK(DO("CtxCreate_v2", "", &context, 0u, 0));
        OK(DO("MemAllocManaged", "", &word, (size_t)4, 1u));
        OK(DO("ModuleLoadData", "", &module, ptx));
        for (int i = 0; i < 4; i++)
            OK(DO("ModuleGetFunction", "", to[i], module, kernels[i]));
    }
    OK(DO("StreamCreate", "StreamCreateWithFlags", &stream, 1u));
    OK(DO("EventCreate", "EventCreateWithFlags", &untimed, 2u));
    OK(DO("EventCreate", "EventCreateWithFlags", &timed, 0u));
    unsigned n = fill();
    for (unsigned i = 0; i < n; i++) {
        streams(&rows[i]);
        if (!old)
            launches(&rows[i]);
        if (!old)
            nodes(&rows[i]);
    }
    if (!old)
        events();
    if (!old)
        functions();
    puts("ok");
    return 0;
}
