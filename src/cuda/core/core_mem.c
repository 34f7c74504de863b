/* core_mem.c: memory of the process's GPU: ranges, copies, fills.
 *
 * Device addresses are host addresses (core.h), so a copy is one memcpy whatever its
 * sides; what is checked is that a side said or known to be device memory lies in one
 * live range. Ranges are one array sorted by address: look-up is a binary search. */
#include "cuda/core/core_int.h"

/* Real GPUs hand out memory in pieces of at least this; programs that read a little past
 * the end of an array run on them, and here. */
enum { GRANULE = 512 };

static bool
is_device(enum acu_kind k)
{
    return k == ACU_KIND_DEVICE || k == ACU_KIND_SYMBOL || k == ACU_KIND_VIRTUAL;
}

/* -- ranges -- */

/* Index of the last range that starts at or below addr, -1: none. */
static ptrdiff_t
range_at(uint64_t addr)
{
    size_t lo = 0, hi = acu.ranges.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (acu.ranges.v[mid].addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (ptrdiff_t)lo - 1;
}

void
acu_range_add(uint64_t addr, uint64_t size, enum acu_kind kind, unsigned flags)
{
    size_t at = (size_t)(range_at(addr) + 1);
    vec_push(&acu.ranges);
    memmove(&acu.ranges.v[at + 1], &acu.ranges.v[at],
            (acu.ranges.n - 1 - at) * sizeof *acu.ranges.v);
    acu.ranges.v[at] = (struct acu_range){addr, size, kind, flags, ++acu.next_id};
}

static void
range_remove(size_t at)
{
    memmove(&acu.ranges.v[at], &acu.ranges.v[at + 1],
            (acu.ranges.n - at - 1) * sizeof *acu.ranges.v);
    acu.ranges.n--;
}

void
acu_range_drop(uint64_t addr)
{
    ptrdiff_t i = range_at(addr);
    if (i >= 0 && acu.ranges.v[i].addr == addr)
        range_remove((size_t)i);
}

bool
acu_range_find(uint64_t addr, struct acu_range *r)
{
    ptrdiff_t i = range_at(addr);
    if (i < 0 || addr - acu.ranges.v[i].addr >= acu.ranges.v[i].size)
        return false;
    *r = acu.ranges.v[i];
    return true;
}

void
acu_ranges_reset(void)
{
    acu.ranges.n = 0; /* the memory goes with the device */
}

/* -- allocation -- */

/* 0: more than there can be. With checks the bytes asked for and no more, so that an access
 * beyond them is outside. */
static uint64_t
rounded(uint64_t bytes)
{
    if (acu.options.checks)
        return bytes;
    return bytes > UINT64_MAX - GRANULE ? 0 : (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

int
acu_reserve(uint64_t bytes, uint64_t *addr)
{
    uint64_t room = rounded(bytes);
    *addr = room ? allot_reserve(acu.device, room, NULL) : 0;
    return *addr ? 0 : ACU_OUT_OF_MEMORY;
}

int
acu_commit(uint64_t addr, uint64_t bytes)
{
    if (!allot_commit(acu.device, addr, NULL))
        return ACU_OUT_OF_MEMORY;
    acu_range_add(addr, bytes, ACU_KIND_DEVICE, 0);
    return 0;
}

int
acu_alloc(enum acu_kind kind, uint64_t bytes, unsigned flags, uint64_t *addr)
{
    *addr = 0;
    if (!bytes)
        return 0;
    uint64_t room = rounded(bytes);
    if (!room)
        return ACU_OUT_OF_MEMORY;
    uint64_t a = is_device(kind) ? allot_alloc(acu.device, room, NULL)
                                 : allot_alloc_host(acu.device, room, NULL);
    if (!a)
        return ACU_OUT_OF_MEMORY;
    acu_range_add(a, bytes, kind, flags);
    *addr = a;
    return 0;
}

int
acu_free(uint64_t addr, unsigned kinds)
{
    if (!addr)
        return 0;
    ptrdiff_t i = range_at(addr);
    if (i < 0 || acu.ranges.v[i].addr != addr || !(kinds >> acu.ranges.v[i].kind & 1))
        return ACU_INVALID_VALUE;
    allot_free(acu.device, addr, NULL);
    range_remove((size_t)i);
    acu_graph_freed(addr);
    return 0;
}

int
acu_register_host(void *p, uint64_t bytes, unsigned flags)
{
    if (!p || !bytes)
        return ACU_INVALID_VALUE;
    if (!allot_map_host(acu.device, p, bytes, NULL))
        return ACU_HOST_MEMORY_ALREADY_REGISTERED;
    acu_range_add((uintptr_t)p, bytes, ACU_KIND_REGISTERED, flags);
    return 0;
}

int
acu_unregister_host(void *p)
{
    ptrdiff_t i = range_at((uintptr_t)p);
    if (i < 0 || acu.ranges.v[i].addr != (uintptr_t)p ||
        acu.ranges.v[i].kind != ACU_KIND_REGISTERED)
        return p ? ACU_HOST_MEMORY_NOT_REGISTERED : ACU_INVALID_VALUE;
    allot_unmap_host(acu.device, p, NULL);
    range_remove((size_t)i);
    return 0;
}

int
acu_heap_limit(uint64_t bytes)
{
    return allot_device_heap(acu.device, bytes, NULL) ? 0 : ACU_ILLEGAL_STATE;
}

void
acu_pending_limit(uint64_t launches)
{
    allot_device_pending(acu.device, launches);
}

void
acu_memory(uint64_t *free_bytes, uint64_t *total)
{
    uint64_t used = allot_memory(acu.device, total) + acu.physical_bytes;
    *free_bytes = *total - used;
}

/* -- checks -- */

int
acu_check(uint64_t addr, uint64_t bytes)
{
    struct acu_range r;
    if (!bytes)
        return 0;
    if (!acu_range_find(addr, &r) || bytes > r.size - (addr - r.addr))
        return ACU_INVALID_VALUE;
    return 0;
}

/* Checks one side of a transfer; *device: whether it is device memory. */
static int
check_side(uint64_t addr, enum acu_side side, uint64_t bytes, bool *device)
{
    struct acu_range r;
    bool known = acu_range_find(addr, &r);
    *device = known && is_device(r.kind);
    if (side == ACU_DEV && !known)
        return ACU_INVALID_VALUE;
    if (side == ACU_HOST && *device)
        return ACU_INVALID_VALUE;
    if (!addr)
        return ACU_INVALID_VALUE;
    return known ? acu_check(addr, bytes) : 0;
}

/* -- copies -- */

/* Moves bytes that have been checked. Writes to device memory go through the device,
 * which may leave them in its L2. */
static void
move(uint64_t dst, bool dst_device, uint64_t src, uint64_t bytes)
{
    if (!dst_device ||
        !allot_write(acu.device, dst, (const void *)(uintptr_t)src, bytes, NULL))
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
}

static void
time_copy(bool dst_device, bool src_device, uint64_t bytes)
{
    if (dst_device && src_device)
        acu_time_memory(2 * bytes);
    else if (dst_device || src_device)
        acu_time_link(bytes);
}

int
acu_copy(uint64_t dst, enum acu_side dst_side, uint64_t src, enum acu_side src_side,
         uint64_t bytes)
{
    bool to, from;
    if (!bytes)
        return 0;
    int e = check_side(dst, dst_side, bytes, &to);
    if (!e)
        e = check_side(src, src_side, bytes, &from);
    if (e)
        return e;
    move(dst, to, src, bytes);
    time_copy(to, from, bytes);
    return 0;
}

/* Bytes from the first to behind the last of a box in pitched memory. */
static uint64_t
box_span(const struct acu_place *p, uint64_t width, uint64_t height, uint64_t depth)
{
    return (depth - 1) * p->slice * p->pitch + (height - 1) * p->pitch + width;
}

static uint64_t
box_start(const struct acu_place *p)
{
    return p->addr + p->z * p->slice * p->pitch + p->y * p->pitch + p->x;
}

/* An end in linear memory: pitches made whole, range checked. */
static int
check_place(struct acu_place *p, uint64_t width, uint64_t height, uint64_t depth,
            bool *device)
{
    if (!p->slice)
        p->slice = height;
    if (!p->pitch)
        p->pitch = width;
    if (p->array) {
        *device = true;
        return 0;
    }
    if (height > 1 || depth > 1)
        if (p->pitch < width)
            return ACU_INVALID_PITCH_VALUE;
    return check_side(box_start(p), p->side, box_span(p, width, height, depth), device);
}

/* One end of a copy is an array: x and width go from bytes to texels. */
static bool
array_end(const struct acu_place *array, const struct acu_place *linear, uint64_t width,
          uint64_t height, uint64_t depth, bool to_array)
{
    uint64_t bytes = acu_format_bytes(&allot_array_describe(array->array)->format);
    struct allot_box box = {array->x / bytes, array->y, array->z,
                            width / bytes,    height,   depth};
    void *p = (void *)(uintptr_t)box_start(linear);
    if (array->x % bytes || width % bytes)
        return false;
    return to_array ? allot_array_write(acu.device, array->array, &box, p, linear->pitch,
                                        linear->pitch * linear->slice, acu.diag)
                    : allot_array_read(acu.device, array->array, &box, p, linear->pitch,
                                       linear->pitch * linear->slice, acu.diag);
}

static int
copy_array(const struct acu_place *d, const struct acu_place *s, uint64_t width,
           uint64_t height, uint64_t depth)
{
    bool ok;
    if (d->array && s->array) {
        struct acu_place between = {.addr = (uintptr_t)xcalloc(width * height, depth),
                                    .pitch = width,
                                    .slice = height};
        ok = array_end(s, &between, width, height, depth, false) &&
             array_end(d, &between, width, height, depth, true);
        free((void *)(uintptr_t)between.addr);
    } else {
        ok = d->array ? array_end(d, s, width, height, depth, true)
                      : array_end(s, d, width, height, depth, false);
    }
    acu_flush_diag();
    return ok ? 0 : ACU_INVALID_VALUE;
}

int
acu_copy3d(const struct acu_place *dst, const struct acu_place *src, uint64_t width,
           uint64_t height, uint64_t depth)
{
    struct acu_place d = *dst, s = *src;
    bool to, from;
    if (!width || !height || !depth)
        return 0;
    int e = check_place(&d, width, height, depth, &to);
    if (!e)
        e = check_place(&s, width, height, depth, &from);
    if (e)
        return e;
    if (d.array || s.array)
        e = copy_array(&d, &s, width, height, depth);
    if (e)
        return e;
    time_copy(to, from, width * height * depth);
    if (d.array || s.array)
        return 0;
    for (uint64_t z = 0; z < depth; z++)
        for (uint64_t y = 0; y < height; y++)
            move(box_start(&d) + (z * d.slice + y) * d.pitch, to,
                 box_start(&s) + (z * s.slice + y) * s.pitch, width);
    return 0;
}

/* -- fills -- */

static void
fill(uint64_t dst, const void *pattern, unsigned bytes, uint64_t count)
{
    uint8_t *p = (uint8_t *)(uintptr_t)dst;
    allot_written(acu.device, dst, bytes * count);
    if (bytes == 1) {
        memset(p, *(const uint8_t *)pattern, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        memcpy(p + i * bytes, pattern, bytes);
}

int
acu_set3d(uint64_t dst, uint64_t pitch, uint64_t slice_rows, const void *pattern,
          unsigned pattern_bytes, uint64_t count, uint64_t height, uint64_t depth)
{
    struct acu_place p = {
        .side = ACU_DEV, .addr = dst, .pitch = pitch, .slice = slice_rows};
    bool device;
    uint64_t width = count * pattern_bytes;
    if (!count || !height || !depth)
        return 0;
    int e = check_place(&p, width, height, depth, &device);
    if (e)
        return e;
    for (uint64_t z = 0; z < depth; z++)
        for (uint64_t y = 0; y < height; y++)
            fill(dst + (z * p.slice + y) * p.pitch, pattern, pattern_bytes, count);
    acu_time_memory(width * height * depth);
    return 0;
}

int
acu_set(uint64_t dst, const void *pattern, unsigned pattern_bytes, uint64_t count)
{
    return acu_set3d(dst, 0, 0, pattern, pattern_bytes, count, 1, 1);
}
