/* cudart.h: the runtime API's types as far as libcudart.so reads or writes them, and what
 * its files share. Layouts and numbers are facts of CUDA's binary interface; the library
 * is compiled once per CUDA major version (CUDART = 11, 12, 13), because some layouts
 * differ.
 *
 * An entry point is
 *
 *     EXPORT int
 *     cudaFree(void *p)
 *     {
 *         CALL(acu_free(ADDR(p), ...));
 *     }
 *
 * and a row of cudart.symbols, from which come the linker's version scripts, the entry
 * points that only say that they are not supported, and the second names (_ptsz, _ptds:
 * per thread default stream, which is no different here: launches run in the order of
 * calls). */
#ifndef ALLOT_CUDA_CUDART_H
#define ALLOT_CUDA_CUDART_H

#include "cuda/core/core_graph.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define ADDR(p) ((uint64_t)(uintptr_t)(p))
#define PTR(a) ((void *)(uintptr_t)(a))

/* An entry point's body: `expression` is the error, evaluated under the lock. */
#define CALL(expression)                                                                 \
    do {                                                                                 \
        int e_ = acu_begin();                                                            \
        if (!e_)                                                                         \
            e_ = (expression);                                                           \
        return acu_end(e_);                                                              \
    } while (0)
/* The same where no device is needed. */
#define CALL_LIGHT(expression)                                                           \
    do {                                                                                 \
        acu_begin_light();                                                               \
        return acu_end(expression);                                                      \
    } while (0)

typedef struct acu_stream *rt_stream;
typedef struct acu_event *rt_event;

struct rt_dim3 {
    unsigned x, y, z;
};
struct rt_extent {
    size_t width, height, depth;
};
struct rt_pos {
    size_t x, y, z;
};
struct rt_pitched {
    void *ptr;
    size_t pitch, xsize, ysize;
};

/* -- copies -- */
enum rt_kind { RT_H2H, RT_H2D, RT_D2H, RT_D2D, RT_DEFAULT };
struct rt_array;
struct rt_memcpy3d {
    struct rt_array *src_array;
    struct rt_pos src_pos;
    struct rt_pitched src_ptr;
    struct rt_array *dst_array;
    struct rt_pos dst_pos;
    struct rt_pitched dst_ptr;
    struct rt_extent extent;
    int kind;
};
struct rt_memcpy3d_peer {
    struct rt_array *src_array;
    struct rt_pos src_pos;
    struct rt_pitched src_ptr;
    int src_device;
    struct rt_array *dst_array;
    struct rt_pos dst_pos;
    struct rt_pitched dst_ptr;
    int dst_device;
    struct rt_extent extent;
};
struct rt_sides {
    enum acu_side dst, src;
};
/* INVALID_MEMCPY_DIRECTION for a number that is no kind. */
int rt_sides(int kind, struct rt_sides *s);

/* -- device -- */
struct rt_pointer_attributes {
    int type; /* 0 unregistered, 1 host, 2 device, 3 managed */
    int device;
    void *device_pointer, *host_pointer;
#if CUDART >= 13
    long reserved[8];
#endif
};

/* -- functions -- */
struct rt_function_attributes {
    size_t shared_bytes, const_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic,
        carveout;
#if CUDART >= 12
    int cluster_must_be_set, cluster[3], cluster_policy, non_portable_cluster;
    int reserved[16];
#endif
};
struct rt_launch_attribute {
    int id;
    char pad[4];
    char value[64]; /* union acu_attribute */
};
struct rt_launch_config {
    struct rt_dim3 grid, block;
    size_t dynamic_smem;
    rt_stream stream;
    struct rt_launch_attribute *attributes;
    unsigned nattributes;
};

/* -- arrays, textures -- */
struct rt_channel_desc {
    int x, y, z, w; /* bits */
    int kind;       /* 0 signed, 1 unsigned, 2 float, 3 none */
};
struct rt_array {
    struct allot_array *array;
    struct rt_channel_desc desc;
    struct rt_extent extent; /* as asked for */
    unsigned flags;
    unsigned element; /* bytes */
    unsigned levels;  /* of a mipmapped array, else 0 */
    bool part;        /* a level of one */
};
/* INVALID_CHANNEL_DESCRIPTOR where there are no such texels. */
int rt_format(const struct rt_channel_desc *d, struct allot_format *f);
/* The array behind a handle, NULL: no live one. */
struct rt_array *rt_array_find(const struct rt_array *handle);
/* After a device reset none of them lives. */
void rt_arrays_check(void);

/* -- copies as the core wants them -- */
/* Both ends of a 3-D copy, and its size in bytes, rows, slices. */
int rt_memcpy3d_places(const struct rt_memcpy3d *p, struct acu_place *dst,
                       struct acu_place *src, struct rt_extent *bytes);

/* Both ends of a copy between a variable and other memory. */
int rt_symbol_places(const void *symbol, uint64_t other, size_t n, size_t offset,
                     int kind, bool to_symbol, struct acu_place *dst,
                     struct acu_place *src);

/* Functions and symbols by what programs pass for them; NULL: none. */
struct acu_function *rt_function(const void *f);
/* A variable by its host shadow; loads it. */
int rt_symbol(const void *symbol, struct acu_symbol **s);

#endif
