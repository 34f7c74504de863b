/* core_virtual.c: virtual memory management: address ranges, physical memory, and
 * mappings of one into the other (CUDA Driver API, "Virtual Memory Management").
 *
 * Device addresses are host addresses, so the host's own means are used: an address range
 * is a mapping without access, physical memory a memfd, which may be mapped at several
 * addresses. What kernels and copies may touch are runs of adjacent mappings with access:
 * one live range each, so that an access may cross from one mapping into the next. */
#define _GNU_SOURCE
#include "cuda/core/core_int.h"

#include <sys/mman.h>
#include <unistd.h>

/* Where address ranges are looked for first, so that they are the same in every run. */
#define VIRTUAL_BASE 0x500000000000ull

struct acu_physical {
    int fd;
    uint64_t size;
    unsigned handles, mappings;
};

static uint64_t
aligned(uint64_t v, uint64_t to)
{
    return (v + to - 1) / to * to;
}

static bool
granular(uint64_t v)
{
    return v % ACU_GRANULARITY == 0;
}

/* -- physical memory -- */

bool
acu_physical_valid(const struct acu_physical *p)
{
    for (size_t i = 0; i < acu.physical.n; i++)
        if (acu.physical.v[i] == p)
            return p->handles;
    return false;
}

uint64_t
acu_physical_size(const struct acu_physical *p)
{
    return p->size;
}

static void
physical_check(struct acu_physical *p)
{
    if (p->handles || p->mappings)
        return;
    for (size_t i = 0; i < acu.physical.n; i++)
        if (acu.physical.v[i] == p)
            acu.physical.v[i] = acu.physical.v[--acu.physical.n];
    acu.physical_bytes -= p->size;
    close(p->fd);
    free(p);
}

int
acu_physical_new(uint64_t size, struct acu_physical **out)
{
    uint64_t available, total;
    if (!size || !granular(size))
        return ACU_INVALID_VALUE;
    acu_memory(&available, &total);
    if (size > available)
        return ACU_OUT_OF_MEMORY;
    int fd = memfd_create("allot", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size)) {
        if (fd >= 0)
            close(fd);
        return ACU_OUT_OF_MEMORY;
    }
    struct acu_physical *p = xcalloc(1, sizeof *p);
    *p = (struct acu_physical){.fd = fd, .size = size, .handles = 1};
    *vec_push(&acu.physical) = *out = p;
    acu.physical_bytes += size;
    return 0;
}

int
acu_physical_release(struct acu_physical *p)
{
    if (!acu_physical_valid(p))
        return ACU_INVALID_VALUE;
    p->handles--;
    physical_check(p);
    return 0;
}

int
acu_physical_at(uint64_t addr, struct acu_physical **out)
{
    for (size_t i = 0; i < acu.mappings.n; i++) {
        const struct acu_mapping *m = &acu.mappings.v[i];
        if (addr >= m->addr && addr - m->addr < m->size) {
            m->physical->handles++;
            *out = m->physical;
            return 0;
        }
    }
    return ACU_INVALID_VALUE;
}

/* -- addresses -- */

static void *
no_access(uint64_t at, uint64_t size, int how)
{
    return mmap((void *)(uintptr_t)at, size, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
}

/* The wanted place if it is free; else the first free one from VIRTUAL_BASE on. */
static uint64_t
find_place(uint64_t size, uint64_t align, uint64_t want)
{
    enum { TRIES = 1000 };
    uint64_t at = want && want % align == 0 ? want : 0;
    uint64_t next = aligned(acu.virtual_top ? acu.virtual_top : VIRTUAL_BASE, align);
    for (int i = 0; i < TRIES; i++, at = 0) {
        bool wanted = at;
        if (!wanted)
            at = next;
        void *p = no_access(at, size, MAP_FIXED_NOREPLACE);
        if (p == (void *)(uintptr_t)at) {
            if (!wanted) /* checks: what lies behind one reservation is in no other */
                acu.virtual_top = at + size + (acu.options.checks ? ACU_GRANULARITY : 0);
            return at;
        }
        if (p != MAP_FAILED) /* a kernel that does not know the flag */
            munmap(p, size);
        if (!wanted)
            next += aligned(size, align);
    }
    return 0;
}

int
acu_virtual_reserve(uint64_t size, uint64_t align, uint64_t want, uint64_t *addr)
{
    if (!size || !granular(size) || (align & (align - 1)))
        return ACU_INVALID_VALUE;
    *addr = find_place(size, align > ACU_GRANULARITY ? align : ACU_GRANULARITY, want);
    if (!*addr)
        return ACU_OUT_OF_MEMORY;
    *vec_push(&acu.reservations) = (struct acu_reservation){*addr, size};
    return 0;
}

/* The reservation that holds all of [addr, addr+size), NULL: none. */
static struct acu_reservation *
reservation_of(uint64_t addr, uint64_t size)
{
    for (size_t i = 0; i < acu.reservations.n; i++) {
        struct acu_reservation *r = &acu.reservations.v[i];
        if (addr >= r->addr && size <= r->size && addr - r->addr <= r->size - size)
            return r;
    }
    return NULL;
}

static bool
overlaps(const struct acu_mapping *m, uint64_t addr, uint64_t size)
{
    return m->addr < addr + size && addr < m->addr + m->size;
}

int
acu_virtual_free(uint64_t addr, uint64_t size)
{
    struct acu_reservation *r = reservation_of(addr, size);
    if (!r || r->addr != addr || r->size != size)
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < acu.mappings.n; i++)
        if (overlaps(&acu.mappings.v[i], addr, size))
            return ACU_INVALID_VALUE; /* unmap it first */
    munmap((void *)(uintptr_t)addr, size);
    *r = acu.reservations.v[--acu.reservations.n];
    return 0;
}

/* -- mappings -- */

/* Tells the device what of [addr, addr+size), a reservation, can be touched. */
static void
publish(uint64_t addr, uint64_t size)
{
    struct acu_range r;
    for (size_t i = 0; i < acu.mappings.n; i++) {
        uint64_t at = acu.mappings.v[i].addr;
        if (at >= addr && at - addr < size && acu_range_find(at, &r) && r.addr == at) {
            allot_unmap_host(acu.device, (void *)(uintptr_t)at, NULL);
            acu_range_drop(at);
        }
    }
    for (size_t i = 0; i < acu.mappings.n;) { /* sorted by address */
        const struct acu_mapping *m = &acu.mappings.v[i++];
        uint64_t from = m->addr, to = from + m->size;
        if (from < addr || from - addr >= size || !m->access)
            continue;
        while (i < acu.mappings.n && acu.mappings.v[i].addr == to && to - addr < size &&
               acu.mappings.v[i].access)
            to += acu.mappings.v[i++].size;
        if (allot_map_host(acu.device, (void *)(uintptr_t)from, to - from, NULL))
            acu_range_add(from, to - from, ACU_KIND_VIRTUAL, 0);
    }
}

int
acu_virtual_map(uint64_t addr, uint64_t size, uint64_t offset, struct acu_physical *p)
{
    if (!acu_physical_valid(p) || !size || !granular(addr) || !granular(size) ||
        !granular(offset) || size > p->size || offset > p->size - size ||
        !reservation_of(addr, size))
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < acu.mappings.n; i++)
        if (overlaps(&acu.mappings.v[i], addr, size))
            return ACU_INVALID_VALUE;
    void *at = mmap((void *)(uintptr_t)addr, size, PROT_NONE, MAP_SHARED | MAP_FIXED,
                    p->fd, (off_t)offset);
    if (at == MAP_FAILED)
        return ACU_OUT_OF_MEMORY;
    p->mappings++;
    vec_push(&acu.mappings);
    size_t i = acu.mappings.n - 1;
    for (; i && acu.mappings.v[i - 1].addr > addr; i--)
        acu.mappings.v[i] = acu.mappings.v[i - 1];
    acu.mappings.v[i] = (struct acu_mapping){addr, size, p, false};
    return 0;
}

/* Whether whole mappings, and nothing else, make up [addr, addr+size). */
static bool
covered(uint64_t addr, uint64_t size)
{
    uint64_t at = addr;
    for (size_t i = 0; i < acu.mappings.n; i++)
        if (acu.mappings.v[i].addr == at && acu.mappings.v[i].size <= addr + size - at)
            at += acu.mappings.v[i].size;
    return size && at == addr + size;
}

int
acu_virtual_unmap(uint64_t addr, uint64_t size)
{
    const struct acu_reservation *r = reservation_of(addr, size);
    if (!r || !covered(addr, size))
        return ACU_INVALID_VALUE;
    uint64_t from = r->addr, all = r->size;
    int e =
        acu_virtual_access(addr, size, false); /* what touches it faults from now on */
    no_access(addr, size, MAP_FIXED);
    size_t n = 0;
    for (size_t i = 0; i < acu.mappings.n; i++) {
        struct acu_mapping m = acu.mappings.v[i];
        if (!overlaps(&m, addr, size)) {
            acu.mappings.v[n++] = m;
            continue;
        }
        m.physical->mappings--;
        physical_check(m.physical);
    }
    acu.mappings.n = n;
    publish(from, all);
    return e;
}

int
acu_virtual_access(uint64_t addr, uint64_t size, bool access)
{
    const struct acu_reservation *r = reservation_of(addr, size);
    if (!r || !covered(addr, size))
        return ACU_INVALID_VALUE;
    if (mprotect((void *)(uintptr_t)addr, size,
                 access ? PROT_READ | PROT_WRITE : PROT_NONE))
        return ACU_OUT_OF_MEMORY;
    for (size_t i = 0; i < acu.mappings.n; i++)
        if (overlaps(&acu.mappings.v[i], addr, size))
            acu.mappings.v[i].access = access;
    publish(r->addr, r->size);
    return 0;
}

void
acu_virtual_reset(void)
{
    for (size_t i = 0; i < acu.reservations.n; i++)
        munmap((void *)(uintptr_t)acu.reservations.v[i].addr, acu.reservations.v[i].size);
    for (size_t i = 0; i < acu.physical.n; i++) {
        close(acu.physical.v[i]->fd);
        free(acu.physical.v[i]);
    }
    acu.reservations.n = acu.mappings.n = acu.physical.n = 0;
    acu.physical_bytes = acu.virtual_top = 0;
}
