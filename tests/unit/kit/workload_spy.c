/* workload_spy.c: see workload_spy.h. */
#include "unit/kit/workload_spy.h"

static struct {
    uint64_t addr[256], bytes[256];
    unsigned n;
    uint64_t hash, count;
} spy;

uint64_t __real_allot_alloc(struct allot_device *dev, uint64_t bytes,
                            struct allot_diag *d);
uint64_t __wrap_allot_alloc(struct allot_device *dev, uint64_t bytes,
                            struct allot_diag *d);
struct allot_array *__real_allot_array_new(struct allot_device *dev,
                                           const struct allot_array_info *info,
                                           struct allot_diag *d);
struct allot_array *__wrap_allot_array_new(struct allot_device *dev,
                                           const struct allot_array_info *info,
                                           struct allot_diag *d);
bool __real_allot_free(struct allot_device *dev, uint64_t addr, struct allot_diag *d);
bool __wrap_allot_free(struct allot_device *dev, uint64_t addr, struct allot_diag *d);

static void
look(struct allot_device *dev, unsigned i)
{
    unsigned char *copy = malloc(spy.bytes[i]);
    assert_true(allot_read(dev, spy.addr[i], copy, spy.bytes[i], NULL));
    for (uint64_t k = 0; k < spy.bytes[i]; k++)
        spy.hash = (spy.hash ^ copy[k]) * 0x100000001b3u;
    spy.count += spy.bytes[i];
    free(copy);
}

uint64_t
__wrap_allot_alloc(struct allot_device *dev, uint64_t bytes, struct allot_diag *d)
{
    uint64_t a = __real_allot_alloc(dev, bytes, d);
    assert_true(spy.n < 256);
    spy.addr[spy.n] = a;
    spy.bytes[spy.n++] = bytes;
    return a;
}

bool
__wrap_allot_free(struct allot_device *dev, uint64_t addr, struct allot_diag *d)
{
    for (unsigned i = 0; i < spy.n; i++)
        if (spy.addr[i] == addr) {
            look(dev, i);
            spy.addr[i] = spy.addr[--spy.n];
            spy.bytes[i] = spy.bytes[spy.n];
            break;
        }
    return __real_allot_free(dev, addr, d);
}

/* An array's memory goes with the array. The workloads' arrays are behind textures, which
 * kernels do not write. */
struct allot_array *
__wrap_allot_array_new(struct allot_device *dev, const struct allot_array_info *info,
                       struct allot_diag *d)
{
    unsigned n = spy.n;
    struct allot_array *a = __real_allot_array_new(dev, info, d);
    spy.n = n;
    return a;
}

void
spy_begin(void)
{
    memset(&spy, 0, sizeof spy);
    spy.hash = 0xcbf29ce484222325u;
}

uint64_t
spy_end(struct allot_device *dev)
{
    for (unsigned i = 0; i < spy.n; i++)
        look(dev, i);
    assert_true(spy.count > 0);
    return spy.hash;
}
