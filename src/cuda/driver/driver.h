/* driver.h: what the files of libcuda.so.1 share. Layouts and numbers are facts of CUDA's
 * binary interface; no CUDA header is needed.
 *
 * An entry point is
 *
 *     CU
 *     cuMemFree_v2(uint64_t p)
 *     {
 *         CALL(acu_free(p, ...));
 *     }
 *
 * and a row of driver.def, from which come its other names, the table behind
 * cuGetProcAddress and those entry points that only say that they are not supported.
 *
 * Contexts. There is one device; every context sees the same memory, modules and streams.
 * What a context is, is who may call: calls fail with INVALID_CONTEXT where none is
 * current on the thread, as in CUDA. In a program that uses the runtime API the primary
 * context counts as current. When the last context goes, everything on the device goes.
 */
#ifndef ALLOT_CUDA_DRIVER_H
#define ALLOT_CUDA_DRIVER_H

#include "cuda/core/core.h"

#include <string.h>

#define CU __attribute__((visibility("default"))) int
#define ADDR(p) ((uint64_t)(uintptr_t)(p))
#define PTR(a) ((void *)(uintptr_t)(a))

enum { DRIVER_VERSION = 13000 };

/* Lock, and check that a context is current. Always followed by drv_end. */
int drv_begin(void);
/* Lock, and check only that the driver is initialised. */
int drv_begin_device(void);
int drv_end(int error);

/* An entry point's body: `expression` is the error, evaluated under the lock. */
#define CALL(expression)                                                                 \
    do {                                                                                 \
        int e_ = drv_begin();                                                            \
        if (!e_)                                                                         \
            e_ = (expression);                                                           \
        return drv_end(e_);                                                              \
    } while (0)
/* The same where no context is needed. */
#define CALL_DEVICE(expression)                                                          \
    do {                                                                                 \
        int e_ = drv_begin_device();                                                     \
        if (!e_)                                                                         \
            e_ = (expression);                                                           \
        return drv_end(e_);                                                              \
    } while (0)

struct drv_context;
/* This thread's current context, NULL: none. */
struct drv_context *drv_current(void);
/* The primary context, made current where none is (what the runtime API does). */
struct drv_context *drv_primary(void);

typedef struct acu_stream *drv_stream;
typedef struct acu_event *drv_event;

/* -- launches -- */
struct drv_attribute { /* CUlaunchAttribute */
    int id;
    int pad;
    char value[64]; /* union acu_attribute */
};
struct drv_config { /* CUlaunchConfig */
    unsigned grid[3], block[3], smem;
    drv_stream stream;
    const struct drv_attribute *attributes;
    unsigned nattributes;
};

/* -- copies -- */
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3, MEMORY_UNIFIED = 4 };
struct drv_side2d {
    size_t x, y;
    int type;
    const void *host;
    uint64_t device;
    struct allot_array *array;
    size_t pitch;
};
struct drv_copy2d { /* CUDA_MEMCPY2D */
    struct drv_side2d src, dst;
    size_t width, height;
};
struct drv_side3d {
    size_t x, y, z, lod;
    int type;
    const void *host;
    uint64_t device;
    struct allot_array *array;
    void *context;
    size_t pitch, height;
};
struct drv_copy3d { /* CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER */
    struct drv_side3d src, dst;
    size_t width, height, depth;
};
_Static_assert(sizeof(struct drv_copy2d) == 128, "CUDA_MEMCPY2D");
_Static_assert(sizeof(struct drv_copy3d) == 200, "CUDA_MEMCPY3D");
_Static_assert(sizeof(struct drv_config) == 56, "CUlaunchConfig");
_Static_assert(sizeof(struct drv_attribute) == 72, "CUlaunchAttribute");

/* -- arrays, textures -- */
struct drv_array_desc { /* CUDA_ARRAY_DESCRIPTOR */
    size_t width, height;
    int format;
    unsigned channels;
};
struct drv_resource { /* CUDA_RESOURCE_DESC */
    int type;
    union {
        struct allot_array *array;
        struct {
            uint64_t addr;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            uint64_t addr;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitch2d;
        int reserved[32];
    } res;
    unsigned flags;
};
struct drv_texture { /* CUDA_TEXTURE_DESC */
    int address[3], filter;
    unsigned flags; /* 1: read as integer, 2: normalized coordinates, 0x10: sRGB */
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max, border[4];
    int reserved[12];
};
_Static_assert(sizeof(struct drv_resource) == 144, "CUDA_RESOURCE_DESC");
_Static_assert(sizeof(struct drv_texture) == 104, "CUDA_TEXTURE_DESC");
/* Both ends of a copy. */
int drv_copy3d_places(const struct drv_copy3d *c, struct acu_place *dst,
                      struct acu_place *src);
bool drv_format(int number, unsigned channels, struct allot_format *f);
bool drv_array_valid(const struct allot_array *a);
int drv_resource(const struct drv_resource *d, struct allot_resource *r);
void drv_sampler(const struct drv_texture *d, struct allot_sampler *s);

/* -- modules -- */
/* A CUmodule and a CUlibrary is a struct acu_module, a CUfunction and a CUkernel a struct
 * acu_function. Whether the handle is one. */
bool drv_function_valid(const struct acu_function *f);

/* params: one pointer a parameter; extra: a packed buffer; one of them is NULL. */
int drv_launch(struct acu_function *f, struct acu_launch *l, drv_stream s, void **params,
               void **extra);
/* Binds the references of the function's module that were changed. */
int drv_bind_refs(const struct acu_function *f);

/* -- entry points by name -- */
/* The entry point of that name for programs of this CUDA version, NULL: none; *newer:
 * there is one, for later versions. */
void *drv_entry(const char *name, int version, bool per_thread, bool *newer);

#endif
