/* cudart_gl.c: OpenGL's buffers in kernels. Their contents are OpenGL's own, so mapping
 * one copies it to device memory and unmapping copies it back, by the functions of the
 * OpenGL library that the program has loaded, in the context that is current in its
 * thread. */
#include "cuda/cudart/cudart.h"

#include <dlfcn.h>
#include <stdlib.h>

/* OpenGL 1.5, glext.h; cudaGraphicsMapFlags */
enum {
    GL_BUFFER_SIZE = 0x8764,
    GL_ARRAY_BUFFER = 0x8892,
    GL_ARRAY_BUFFER_BINDING = 0x8894
};
enum { FLAG_READ_ONLY = 1, FLAG_WRITE_DISCARD = 2 };

struct rt_resource {
    struct rt_resource *next;
    unsigned buffer, flags;
    uint64_t addr, bytes; /* while it is mapped; 0: it is not */
};
/* What is registered; guarded by the lock. */
static struct rt_resource *resources;

static struct {
    void (*get_integer)(unsigned what, int *value);
    void (*bind)(unsigned target, unsigned buffer);
    void (*get_parameter)(unsigned target, unsigned what, int *value);
    void (*read)(unsigned target, intptr_t offset, intptr_t size, void *data);
    void (*write)(unsigned target, intptr_t offset, intptr_t size, const void *data);
} gl;

static bool
find(void *function, const char *name)
{
    static const char *const askers[] = {"glXGetProcAddressARB", "eglGetProcAddress"};
    void *p = dlsym(RTLD_DEFAULT, name);
    for (size_t i = 0; !p && i < sizeof askers / sizeof *askers; i++) {
        void *(*ask)(const char *);
        *(void **)&ask = dlsym(RTLD_DEFAULT, askers[i]);
        p = ask ? ask(name) : NULL;
    }
    memcpy(function, &p, sizeof p);
    return p;
}

static bool
have_gl(void)
{
    return gl.write ||
           (find(&gl.get_integer, "glGetIntegerv") && find(&gl.bind, "glBindBuffer") &&
            find(&gl.get_parameter, "glGetBufferParameteriv") &&
            find(&gl.read, "glGetBufferSubData") && find(&gl.write, "glBufferSubData"));
}

/* Binds the buffer; what was bound. */
static unsigned
bind(unsigned buffer)
{
    int before = 0;
    gl.get_integer(GL_ARRAY_BUFFER_BINDING, &before);
    gl.bind(GL_ARRAY_BUFFER, buffer);
    return (unsigned)before;
}

static uint64_t
size_of(unsigned buffer)
{
    int size = 0;
    unsigned before = bind(buffer);
    gl.get_parameter(GL_ARRAY_BUFFER, GL_BUFFER_SIZE, &size);
    gl.bind(GL_ARRAY_BUFFER, before);
    return size < 0 ? 0 : (uint64_t)size;
}

/* The place that points to it; NULL: no such resource. */
static struct rt_resource **
place_of(const struct rt_resource *r)
{
    for (struct rt_resource **p = &resources; *p; p = &(*p)->next)
        if (*p == r)
            return p;
    return NULL;
}

static int
known(int n, struct rt_resource **v)
{
    if (n < 0 || (n && !v))
        return ACU_INVALID_VALUE;
    for (int i = 0; i < n; i++)
        if (!place_of(v[i]))
            return ACU_INVALID_HANDLE;
    return 0;
}

static int
add(struct rt_resource **out, unsigned buffer, unsigned flags)
{
    if (!out || flags > (FLAG_READ_ONLY | FLAG_WRITE_DISCARD))
        return ACU_INVALID_VALUE;
    if (!have_gl())
        return ACU_INVALID_GRAPHICS_CONTEXT;
    if (!size_of(buffer))
        return ACU_INVALID_VALUE;
    struct rt_resource *r = malloc(sizeof *r);
    if (!r)
        return ACU_OUT_OF_MEMORY;
    *r = (struct rt_resource){.next = resources, .buffer = buffer, .flags = flags};
    *out = resources = r;
    return 0;
}

static int
map(struct rt_resource *r)
{
    if (r->addr)
        return ACU_ALREADY_MAPPED;
    uint64_t bytes = size_of(r->buffer), addr;
    int e = bytes ? acu_alloc(ACU_KIND_DEVICE, bytes, 0, &addr) : ACU_INVALID_HANDLE;
    if (e)
        return e;
    r->addr = addr;
    r->bytes = bytes;
    if (!(r->flags & FLAG_WRITE_DISCARD)) {
        unsigned before = bind(r->buffer);
        gl.read(GL_ARRAY_BUFFER, 0, (intptr_t)bytes, PTR(addr));
        gl.bind(GL_ARRAY_BUFFER, before);
    }
    return 0;
}

static int
unmap(struct rt_resource *r)
{
    struct acu_range range;
    if (!r->addr)
        return ACU_NOT_MAPPED;
    uint64_t addr = r->addr;
    r->addr = 0;
    if (!acu_range_find(addr, &range) || range.addr != addr || range.size < r->bytes)
        return ACU_INVALID_HANDLE; /* the device was reset meanwhile */
    if (!(r->flags & FLAG_READ_ONLY)) {
        unsigned before = bind(r->buffer);
        gl.write(GL_ARRAY_BUFFER, 0, (intptr_t)r->bytes, PTR(addr));
        gl.bind(GL_ARRAY_BUFFER, before);
    }
    return acu_free(addr, 1u << ACU_KIND_DEVICE);
}

static int
each(int n, struct rt_resource **v, int (*f)(struct rt_resource *r))
{
    int e = known(n, v);
    for (int i = 0; i < n && !e; i++)
        e = f(v[i]);
    return e;
}

static int
forget(struct rt_resource *r)
{
    struct rt_resource **p = place_of(r);
    if (!p)
        return ACU_INVALID_HANDLE;
    int e = r->addr ? unmap(r) : 0;
    *p = r->next;
    free(r);
    return e;
}

static int
pointer(void **p, size_t *bytes, const struct rt_resource *r)
{
    if (!place_of(r))
        return ACU_INVALID_HANDLE;
    if (!r->addr)
        return ACU_NOT_MAPPED;
    if (p)
        *p = PTR(r->addr);
    if (bytes)
        *bytes = r->bytes;
    return 0;
}

static int
set_flags(struct rt_resource *r, unsigned flags)
{
    if (!place_of(r))
        return ACU_INVALID_HANDLE;
    if (flags > (FLAG_READ_ONLY | FLAG_WRITE_DISCARD))
        return ACU_INVALID_VALUE;
    if (r->addr)
        return ACU_ALREADY_MAPPED;
    r->flags = flags;
    return 0;
}

EXPORT int
cudaGraphicsGLRegisterBuffer(struct rt_resource **out, unsigned buffer, unsigned flags)
{
    CALL(add(out, buffer, flags));
}

EXPORT int
cudaGraphicsUnregisterResource(struct rt_resource *r)
{
    CALL(forget(r));
}

EXPORT int
cudaGraphicsResourceSetMapFlags(struct rt_resource *r, unsigned flags)
{
    CALL(set_flags(r, flags));
}

EXPORT int
cudaGraphicsMapResources(int n, struct rt_resource **v, rt_stream s)
{
    CALL(each(n, v, map));
}

EXPORT int
cudaGraphicsUnmapResources(int n, struct rt_resource **v, rt_stream s)
{
    CALL(each(n, v, unmap));
}

EXPORT int
cudaGraphicsResourceGetMappedPointer(void **p, size_t *bytes, struct rt_resource *r)
{
    CALL(pointer(p, bytes, r));
}
