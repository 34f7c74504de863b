/* driver_virtual.c: the driver API's side of virtual memory management (core_virtual.c):
 * structures and what is refused. */
#include "cuda/driver/driver.h"

struct location {
    int type, id;
};
struct properties { /* CUmemAllocationProp */
    int type, handle_types;
    struct location location;
    void *win32;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
};
struct access { /* CUmemAccessDesc */
    struct location location;
    int flags;
};
_Static_assert(sizeof(struct properties) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(struct access) == 12, "CUmemAccessDesc");

enum { TYPE_PINNED = 1 };
enum { LOCATION_DEVICE = 1, LOCATION_HOST_LAST = 4 }; /* 2 to 4: the host, its nodes */
enum { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };

static int
check_location(const struct location *l)
{
    if (l->type < LOCATION_DEVICE || l->type > LOCATION_HOST_LAST)
        return ACU_INVALID_VALUE;
    return l->type == LOCATION_DEVICE && l->id ? ACU_INVALID_DEVICE : 0;
}

static int
check_properties(const struct properties *p)
{
    if (!p || p->type != TYPE_PINNED)
        return ACU_INVALID_VALUE;
    if (p->handle_types)
        return acu_not_supported("memory that is shared between processes "
                                 "(CUmemAllocationProp.requestedHandleTypes)");
    return check_location(&p->location);
}

CU
cuMemGetAllocationGranularity(size_t *bytes, const struct properties *p, int option)
{
    int e = drv_begin_device();
    if (!e)
        e = !bytes || option < 0 || option > 1 ? ACU_INVALID_VALUE : check_properties(p);
    if (!e)
        *bytes = ACU_GRANULARITY;
    return drv_end(e);
}

static int
create(struct acu_physical **handle, size_t size, const struct properties *p,
       unsigned long long flags)
{
    int e = handle && !flags ? check_properties(p) : ACU_INVALID_VALUE;
    return e ? e : acu_physical_new(size, handle);
}

CU
cuMemCreate(struct acu_physical **handle, size_t size, const struct properties *p,
            unsigned long long flags)
{
    CALL(create(handle, size, p, flags));
}

CU
cuMemRelease(struct acu_physical *handle)
{
    CALL(acu_physical_release(handle));
}

CU
cuMemRetainAllocationHandle(struct acu_physical **handle, void *p)
{
    CALL(handle ? acu_physical_at(ADDR(p), handle) : ACU_INVALID_VALUE);
}

CU
cuMemGetAllocationPropertiesFromHandle(struct properties *p,
                                       const struct acu_physical *handle)
{
    static const struct properties own = {.type = TYPE_PINNED,
                                          .location = {LOCATION_DEVICE, 0}};
    CALL(p && acu_physical_valid(handle) ? (*p = own, 0) : ACU_INVALID_VALUE);
}

CU
cuMemAddressReserve(uint64_t *p, size_t size, size_t align, uint64_t want,
                    unsigned long long flags)
{
    CALL(p && !flags ? acu_virtual_reserve(size, align, want, p) : ACU_INVALID_VALUE);
}

CU
cuMemAddressFree(uint64_t p, size_t size)
{
    CALL(acu_virtual_free(p, size));
}

CU
cuMemMap(uint64_t p, size_t size, size_t offset, struct acu_physical *handle,
         unsigned long long flags)
{
    CALL(flags ? ACU_INVALID_VALUE : acu_virtual_map(p, size, offset, handle));
}

CU
cuMemUnmap(uint64_t p, size_t size)
{
    CALL(acu_virtual_unmap(p, size));
}

/* Only the device's access is looked at; read-only is not told from read and write. */
static int
set_access(uint64_t p, size_t size, const struct access *list, size_t n)
{
    if (!list || !n)
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        int flags = list[i].flags, e = check_location(&list[i].location);
        if (!e && flags != ACCESS_NONE && flags != ACCESS_READ &&
            flags != ACCESS_READ_WRITE)
            e = ACU_INVALID_VALUE;
        if (!e && list[i].location.type == LOCATION_DEVICE)
            e = acu_virtual_access(p, size, flags != ACCESS_NONE);
        if (e)
            return e;
    }
    return 0;
}

CU
cuMemSetAccess(uint64_t p, size_t size, const struct access *list, size_t n)
{
    CALL(set_access(p, size, list, n));
}

static int
get_access(unsigned long long *flags, const struct location *l, uint64_t p)
{
    struct acu_range r;
    int e = flags && l ? check_location(l) : ACU_INVALID_VALUE;
    if (!e)
        *flags = acu_range_find(p, &r) ? ACCESS_READ_WRITE : ACCESS_NONE;
    return e;
}

CU
cuMemGetAccess(unsigned long long *flags, const struct location *l, uint64_t p)
{
    CALL(get_access(flags, l, p));
}
