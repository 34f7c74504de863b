/* timing_memsys_rig.h: one memory system driven by hand, in the order of a core cycle:
 * step, take replies, hand requests in. */
#ifndef TIMING_MEMSYS_RIG_H
#define TIMING_MEMSYS_RIG_H

#include "timing/engine/memsys.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct mem_rig {
    struct machine *m;
    struct memsys *ms;
    struct memory *mem;
    uint64_t now;
};

static inline struct mem_rig
mem_rig(const char *machine, void (*change)(struct machine *m))
{
    struct diag_sink d = {0};
    struct mem_rig r = {.m = machine_load(machine, &d)};
    assert_non_null(r.m);
    if (change)
        change(r.m);
    struct memsys_facts facts;
    r.ms = memsys_new(r.m, &facts, &d);
    assert_non_null(r.ms);
    r.mem = facts.memory;
    memsys_step(r.ms, 0);
    memsys_begin(r.ms, false, false);
    diag_free(&d);
    return r;
}

static inline void
mem_done(struct mem_rig *r)
{
    memsys_free(r->ms);
    machine_free(r->m);
}

static inline struct packet
mem_packet(const struct mem_rig *r, enum packet_kind kind, uint64_t addr,
           unsigned sectors)
{
    return (struct packet){.addr = addr,
                           .born = r->now,
                           .kind = (uint8_t)kind,
                           .sectors = (uint8_t)sectors,
                           .bytes = (uint16_t)(32 * __builtin_popcount(sectors)),
                           .byte_mask = UINT32_MAX};
}

static inline bool
mem_has_reply(const struct mem_rig *r, unsigned sm)
{
    const struct packet *p = memory_reply(r->mem, sm / r->m->sm.per_cluster);
    return p && p->sm == sm;
}

/* Takes the next reply for that SM; false: none. */
static inline bool
mem_eject(struct mem_rig *r, unsigned sm, struct packet *p)
{
    const unsigned port = sm / r->m->sm.per_cluster;
    if (!mem_has_reply(r, sm))
        return false;
    *p = *memory_reply(r->mem, port);
    memory_reply_over(r->mem, port);
    return true;
}

/* First cycle after `now` in which anything but the SMs acts. */
static inline uint64_t
mem_next_event(const struct mem_rig *r, uint64_t now)
{
    uint64_t next = memsys_next_event(r->ms);
    for (unsigned i = 0; i < r->mem->ports; i++) {
        const uint64_t at = memory_port_next(r->mem, i, now);
        next = at < next ? at : next;
    }
    return next;
}

/* Hands p in and waits for `replies` of them; cycles until the last came. */
static inline uint64_t
mem_round(struct mem_rig *r, const struct packet *p, unsigned replies)
{
    uint64_t from = r->now;
    assert_int_equal(memory_inject(r->mem, p), ROOM_YES);
    while (replies) {
        memsys_step(r->ms, ++r->now);
        struct packet q;
        while (replies && mem_eject(r, p->sm, &q)) {
            assert_int_equal(q.token, p->token);
            replies--;
        }
        assert_true(r->now - from < 100000);
    }
    return r->now - from;
}

static inline uint64_t
mem_access(struct mem_rig *r, enum packet_kind kind, uint64_t addr, unsigned sectors)
{
    struct packet p = mem_packet(r, kind, addr, sectors);
    return mem_round(r, &p, (unsigned)__builtin_popcount(sectors));
}

static inline struct stat_mem
mem_stats(const struct mem_rig *r)
{
    struct launch_stats s = {0};
    memsys_stats(r->ms, &s);
    struct diag_sink d = {0};
    bool ok = stats_check(&s, &d);
    if (!ok) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        fail_msg("%s", b.s);
    }
    return s.mem;
}

/* Lets everything under way come to its end. */
static inline void
mem_drain(struct mem_rig *r)
{
    for (int i = 0; i < 200000 && !memory_idle(r->mem); i++) {
        memsys_step(r->ms, ++r->now);
        for (unsigned s = 0; s < r->m->sm.count; s++) {
            struct packet q;
            mem_eject(r, s, &q);
        }
    }
    assert_true(memory_idle(r->mem));
}

#endif
