/* L2 slices and their queues on the gtx480: latencies worked out by hand, write policy,
 * MSHRs, back-pressure. */
#include "unit/kit/timing_memsys_rig.h"

/* An L2 hit, request in cycle 0 to reply taken, all clocks equal:
 *   crossbar steps 1..6 (5 of latency), taken by the slice in L2 cycle 7
 *   120 cycles of delay: in the slice's queue after 127, accessed in 128
 *   into the reply crossbar in 129, out after step 134, at the port in 135, shown in 136.
 * Four sectors are accessed one a cycle: 139. */
static void
hit_latency(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    for (uint64_t a = 0; a < 6 * 512; a += 128) {
        mem_access(&r, PKT_READ, a, 15);
        assert_int_equal(mem_access(&r, PKT_READ, a, 1), 136);
        assert_int_equal(mem_access(&r, PKT_READ, a + 32, 2), 136);
        assert_int_equal(mem_access(&r, PKT_READ, a, 15), 139);
        assert_int_equal(mem_access(&r, PKT_ATOMIC, a, 4), 136);
        assert_int_equal(mem_access(&r, PKT_WRITE, a, 1), 136);
    }
    mem_done(&r);
}

/* A write of 128 bytes is a packet of 136: 4 flits, 3 cycles more on the link. */
static void
flits_of_a_write(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    assert_int_equal(mem_access(&r, PKT_WRITE, 0, 15), 136 + 3 + 3);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.icnt_request_flits, 4);
    assert_int_equal(s.icnt_reply_flits, 4); /* four acknowledgements */
    mem_access(&r, PKT_READ, 0, 15);
    s = mem_stats(&r);
    assert_int_equal(s.icnt_request_flits, 5);
    assert_int_equal(s.icnt_reply_flits, 8); /* 8 + 32 bytes: one flit each */
    mem_done(&r);
}

static void
no_rop(struct machine *m)
{
    m->partition.rop_latency = 0;
}
static void
slow_l2(struct machine *m)
{
    m->l2.latency = 11;
}
static void
delays(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", no_rop);
    mem_access(&r, PKT_READ, 0, 1);
    assert_int_equal(mem_access(&r, PKT_READ, 0, 1), 16);
    mem_done(&r);
    r = mem_rig("gtx480", slow_l2);
    mem_access(&r, PKT_READ, 0, 1);
    assert_int_equal(mem_access(&r, PKT_READ, 0, 1), 146);
    mem_done(&r);
}

/* SM 0 is near channels 0 and 1 of 6 in three parts, far from the others; packets of both
 * kinds do not overtake or hold one another. */
static void
three_parts(struct machine *m)
{
    m->partition.halves = 3;
    m->partition.far_latency = 50;
}
static void
far_slices_take_longer(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", three_parts);
    for (unsigned channel = 0; channel < 6; channel++) {
        mem_access(&r, PKT_READ, 256 * channel, 1);
        assert_int_equal(mem_access(&r, PKT_READ, 256 * channel, 1),
                         channel < 2 ? 136 : 136 + 50);
    }
    /* an SM of the last part: the other way round */
    for (unsigned channel = 0; channel < 6; channel++) {
        struct packet p = mem_packet(&r, PKT_READ, 256 * channel, 1);
        p.sm = 14;
        assert_int_equal(mem_round(&r, &p, 1), channel < 4 ? 136 + 50 : 136);
    }
    mem_done(&r);
}

/* SM 0 is near channels 0 to 2, SM 14 near 3 to 5: what one reads from the other part stays in
 * its own, by sector, until either writes the line. */
static void
two_parts_with_copies(struct machine *m)
{
    m->partition.halves = 2;
    m->partition.far_latency = 50;
    m->partition.near_copies = true;
}
static uint64_t
access_of(struct mem_rig *r, unsigned sm, enum packet_kind kind, unsigned sectors)
{
    struct packet p = mem_packet(r, kind, 256 * 3, sectors);
    p.sm = (uint16_t)sm;
    return mem_round(r, &p, (unsigned)__builtin_popcount(sectors));
}
static void
copies_are_near(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", two_parts_with_copies);
    access_of(&r, 14, PKT_READ, 15);
    assert_int_equal(access_of(&r, 14, PKT_READ, 1), 136);
    assert_int_equal(access_of(&r, 0, PKT_READ, 1), 136 + 50);
    assert_int_equal(access_of(&r, 0, PKT_READ, 1), 136);
    assert_int_equal(access_of(&r, 0, PKT_READ, 2), 136 + 50); /* another sector */
    assert_int_equal(access_of(&r, 0, PKT_READ, 3), 136 + 1);
    for (unsigned sm = 0; sm <= 14; sm += 14)
        for (unsigned kind = PKT_WRITE; kind <= PKT_ATOMIC; kind++) {
            assert_int_equal(access_of(&r, sm, kind, 1), sm ? 136 : 136 + 50);
            assert_int_equal(access_of(&r, 0, PKT_READ, 2),
                             136 + 50); /* the whole line */
            assert_int_equal(access_of(&r, 0, PKT_READ, 2), 136);
        }
    /* before the first one's data are there: the long way */
    struct packet p = mem_packet(&r, PKT_READ, 256 * 3, 8);
    assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
    while (r.now % 16)
        memsys_step(r.ms, ++r.now);
    assert_int_equal(mem_round(&r, &p, 2), 136 + 50);
    mem_done(&r);
}

/* The fixed delay before the controller counts core cycles, whatever the DRAM clock. */
static void
more_delay(struct machine *m)
{
    m->dram.latency += 500;
}
static void
dram_delay(void **state)
{
    (void)state;
    struct mem_rig a = mem_rig("gtx480", NULL), b = mem_rig("gtx480", more_delay);
    uint64_t x = mem_access(&a, PKT_READ, 0, 1), y = mem_access(&b, PKT_READ, 0, 1);
    assert_in_range(y - x, 499, 501); /* the DRAM's ticks fall differently */
    /* Activate 12, read 12 + 2 clocks of 924 MHz in 700 MHz cycles, and the queues
     * between. */
    assert_in_range(x, 136 + 100 + 26 * 700 / 924, 136 + 100 + 26 * 700 / 924 + 8);
    /* Open row: 12 clocks less. */
    uint64_t z = mem_access(&a, PKT_READ, 128, 1);
    assert_in_range(x - z, 8, 10);
    mem_done(&a);
    mem_done(&b);
}

/* A partly written sector is fetched when it is read, not before; a whole one never. */
static void
lazy_fetch(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    struct packet p = mem_packet(&r, PKT_WRITE, 0, 1);
    p.byte_mask = 0x0f;
    mem_round(&r, &p, 1);
    mem_access(&r, PKT_WRITE, 32, 2);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_write_misses, 2);
    assert_int_equal(s.l2_fetched_sectors, 0);
    assert_int_equal(mem_access(&r, PKT_READ, 32, 2), 136);
    s = mem_stats(&r);
    assert_int_equal(s.l2_read_hits, 1);
    assert_int_equal(s.dram_reads, 0);
    assert_true(mem_access(&r, PKT_READ, 0, 1) > 200);
    s = mem_stats(&r);
    assert_int_equal(s.l2_read_misses, 1);
    assert_int_equal(s.l2_fetched_sectors, 1);
    assert_int_equal(s.dram_reads, 1);
    assert_int_equal(mem_access(&r, PKT_READ, 0, 1), 136);
    /* two halves make a whole */
    p = mem_packet(&r, PKT_WRITE, 64, 4);
    p.byte_mask = 0x0f << 16;
    mem_round(&r, &p, 1);
    p.byte_mask = (uint32_t)0xf0 << 16;
    mem_round(&r, &p, 1);
    assert_int_equal(mem_access(&r, PKT_READ, 64, 4), 136);
    assert_int_equal(mem_stats(&r).dram_reads, 1);
    mem_done(&r);
}

/* Address of the n-th line of one set of slice 0: 64 sets of 128 bytes, each 256 bytes of
 * a slice are 12 * 256 bytes apart. */
static uint64_t
same_set(unsigned n)
{
    return (uint64_t)n * (64 * 128 / 256) * 12 * 256;
}

/* Nine written lines of an 8-way set: the oldest is written back, in bursts of 64 bytes.
 */
static void
write_back(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    for (unsigned i = 0; i < 8; i++)
        mem_access(&r, PKT_WRITE, same_set(i), i == 0 ? 15 : 1);
    assert_int_equal(mem_stats(&r).l2_writeback_sectors, 0);
    mem_access(&r, PKT_WRITE, same_set(8), 1);
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_writeback_sectors, 4);
    assert_int_equal(s.dram_writes, 2);
    assert_int_equal(s.dram_reads, 0);
    mem_access(&r, PKT_READ, same_set(0), 15); /* drives out line 1, one sector */
    mem_drain(&r);
    s = mem_stats(&r);
    assert_int_equal(s.l2_writeback_sectors, 5);
    assert_int_equal(s.dram_writes, 3);
    assert_int_equal(s.dram_reads, 4);
    mem_done(&r);
}

/* An atomic leaves its line dirty, also when it had to be fetched. */
static void
atomic_is_dirty(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    mem_access(&r, PKT_ATOMIC, same_set(0), 1);
    for (unsigned i = 1; i < 9; i++)
        mem_access(&r, PKT_READ, same_set(i), 1);
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_atomics, 1);
    assert_int_equal(s.dram_writes, 1);
    mem_done(&r);
}

/* Requests to a sector on its way wait in its MSHR: one fetch, all answered. */
static void
merging(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    for (uint16_t sm = 0; sm < 4; sm++) {
        struct packet p = mem_packet(&r, PKT_READ, 0, 1);
        p.sm = sm;
        assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
    }
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_read_misses, 1);
    assert_int_equal(s.l2_read_pending, 3);
    assert_int_equal(s.dram_reads, 1);
    assert_int_equal(s.replies_given, 4);
    mem_done(&r);
}

/* An MSHR holds four requests: the fifth waits before the L2 and is a hit afterwards. */
static void
merge_limit(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    for (uint16_t sm = 0; sm < 6; sm++) {
        struct packet p = mem_packet(&r, PKT_READ, 0, 1);
        p.sm = sm;
        assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
    }
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_read_pending, 3);
    assert_int_equal(s.l2_read_hits, 2);
    assert_true(s.l2_stall_cycles > 90);
    mem_done(&r);
}

/* One MSHR for four requests: four wait for data, or for their turn to be answered once the
 * data are there; a request that comes meanwhile goes on when one of them is answered, though
 * no further data come. */
static void
one_mshr(struct machine *m)
{
    m->l2.mshrs = 1;
    m->l2.merge = 4;
    m->l2.sector = 0;
}

static void
requests_go_on_when_others_are_answered(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", one_mshr);
    for (uint16_t sm = 0; sm < 15; sm++) {
        struct packet p = mem_packet(&r, PKT_READ, 0, 1);
        p.sm = sm;
        assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
    }
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_reads, 15);
    assert_int_equal(s.icnt_replies, 15);
    mem_done(&r);
}

/* Atomics to one word, from all SMs as fast as they go: one an L2 cycle at the slice. */
/* From the 1000th to the 3000th reply of atomics on one word, sent by all SMs. */
static uint64_t
two_thousand_atomics(void (*change)(struct machine *))
{
    struct mem_rig r = mem_rig("gtx480", change);
    mem_access(&r, PKT_ATOMIC, 0, 1);
    unsigned got = 0, sent = 0;
    uint64_t first = 0, last = 0;
    while (got < 3000) {
        memsys_step(r.ms, ++r.now);
        for (uint16_t sm = 0; sm < 15; sm++) {
            struct packet q;
            if (mem_eject(&r, sm, &q)) {
                if (++got == 1000)
                    first = r.now;
                last = r.now;
            }
            struct packet p = mem_packet(&r, PKT_ATOMIC, 0, 1);
            p.sm = sm;
            if (sent < 3000 && memory_inject(r.mem, &p) == ROOM_YES)
                sent++;
        }
        assert_true(r.now < 100000);
    }
    mem_done(&r);
    return last - first;
}

static void
atomics_one_a_cycle(void **state)
{
    (void)state;
    assert_in_range(two_thousand_atomics(NULL), 2000, 2010);
}

static void
four_cycles(struct machine *m)
{
    m->partition.atomic_cycles = 4;
}

static void
atomics_hold_the_slice(void **state)
{
    (void)state;
    assert_in_range(two_thousand_atomics(four_cycles), 7990, 8010);
}

/* Nobody takes the replies: everything fills up, the door shuts, nothing is lost. */
static void
small_queues(struct machine *m)
{
    m->icnt.eject_buffer = 1;
    m->icnt.input_buffer = m->icnt.output_buffer = 8;
    m->partition.queue_icnt_l2 = m->partition.queue_l2_icnt = 4;
    m->partition.queue_l2_dram = m->partition.queue_dram_l2 = 2;
    m->partition.rop_latency = 10;
    m->dram.queue = 4;
    m->dram.return_queue = 2;
    m->l2.miss_queue = 2;
}
static void
back_pressure(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", small_queues);
    unsigned sent = 0, last = 0;
    for (int i = 0; i < 20000; i++) {
        memsys_step(r.ms, ++r.now);
        struct packet p =
            mem_packet(&r, i % 3 ? PKT_READ : PKT_WRITE, (uint64_t)sent * 128, 15);
        if (memory_inject(r.mem, &p) == ROOM_YES) {
            sent++;
            last = (unsigned)i;
        }
    }
    assert_true(last < 10000); /* shut */
    assert_true(sent > 20 && sent < 1000);
    assert_true(mem_has_reply(&r, 0));
    struct strbuf why = {0};
    memory_explain(r.mem, &why);
    assert_non_null(strstr(why.s, "the SM does not take them"));
    strbuf_free(&why);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.replies_left + s.replies_given, 4 * sent);
    mem_drain(&r);
    s = mem_stats(&r);
    assert_int_equal(s.replies_given, 4 * sent);
    assert_int_equal(s.replies_left, 0);
    assert_int_equal(s.dram_left, 0);
    mem_done(&r);
}

/* Small queues everywhere and every kind of traffic: all of it is answered. */
static void
no_deadlock(void **state)
{
    (void)state;
    static const char *const machines[] = {"gtx480", "titan"};
    for (int v = 0; v < 2; v++) {
        struct mem_rig r = mem_rig(machines[v], small_queues);
        uint64_t x = 3, sent = 0;
        for (int i = 0; i < 8000; i++) {
            memsys_step(r.ms, ++r.now);
            for (uint16_t sm = 0; sm < r.m->sm.count; sm++) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                unsigned z = (unsigned)(x >> 33);
                struct packet q;
                if (z & 1)
                    mem_eject(&r, sm, &q);
                struct packet p =
                    mem_packet(&r, (enum packet_kind)(z / 2 % 3),
                               (uint64_t)(z / 6 % 100000) * 128, 1 + (z >> 8) % 15);
                p.sm = sm;
                if (z & 0x40000)
                    p.byte_mask = z;
                sent += memory_inject(r.mem, &p) == ROOM_YES;
            }
        }
        assert_true(sent > 500);
        mem_drain(&r);
        struct stat_mem s = mem_stats(&r);
        assert_int_equal(s.replies_given, s.replies_asked);
        assert_int_equal(s.icnt_requests, sent);
        mem_done(&r);
    }
}

/* A tiny L2 full of dirty lines before a slow DRAM: evictions wait for room in the miss
 * queue. */
static void
tiny_l2(struct machine *m)
{
    small_queues(m);
    m->l2.sets = 2;
    m->l2.ways = 2;
    m->icnt.output_buffer = 64;
}
static void
evictions_wait(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", tiny_l2);
    uint64_t x = 9;
    for (int i = 0; i < 20000; i++) {
        memsys_step(r.ms, ++r.now);
        for (uint16_t sm = 0; sm < r.m->sm.count; sm++) {
            struct packet q;
            mem_eject(&r, sm, &q);
            x = x * 6364136223846793005u + 1442695040888963407u;
            unsigned z = (unsigned)(x >> 33);
            struct packet p =
                mem_packet(&r, z % 4 ? PKT_WRITE : PKT_READ,
                           (uint64_t)(z / 4 % 4096) * 128, 1 + (z >> 20) % 15);
            p.sm = sm;
            memory_inject(r.mem, &p);
        }
    }
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_true(s.dram_writes > 1000);
    assert_true(s.l2_stall_cycles > 1000);
    assert_int_equal(s.replies_given, s.replies_asked);
    mem_done(&r);
}

/* An access needs room for two in the miss queue: its fetch, and what it evicts. Two reads of a
 * set full of written lines come in successive cycles. The first one's two are in the queue; in
 * the next cycle one of them has gone down. With room for two the second read waits a cycle for
 * the other, with room for three it does not. */
static unsigned places;
static void
of_miss_queue(struct machine *m)
{
    m->l2.miss_queue = places;
}
static void
a_miss_needs_room_for_an_eviction(void **state)
{
    (void)state;
    for (places = 2; places <= 3; places++) {
        struct mem_rig r = mem_rig("gtx480", of_miss_queue);
        for (unsigned i = 0; i < 8; i++)
            mem_access(&r, PKT_WRITE, same_set(i), 1);
        for (uint16_t sm = 0; sm < 2; sm++) {
            struct packet p = mem_packet(&r, PKT_READ, same_set(8 + sm), 1);
            p.sm = sm;
            assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
        }
        mem_drain(&r);
        struct stat_mem s = mem_stats(&r);
        assert_int_equal(s.l2_writeback_sectors, 2);
        assert_int_equal(s.l2_stall_cycles, places == 2);
        mem_done(&r);
    }
}

/* A fill holds the fill port for its sectors' ticks, 32 / port each: two sectors that the DRAM
 * gives at a distance of a few cycles are answered that far from each other. */
static unsigned port;
static void
of_port(struct machine *m)
{
    m->l2.port = port;
}
static void
fills_hold_their_port(void **state)
{
    (void)state;
    for (port = 1; port <= 4; port *= 2) {
        struct mem_rig r = mem_rig("gtx480", of_port);
        for (unsigned i = 0; i < 2; i++) {
            struct packet p = mem_packet(&r, PKT_READ, 128 * i, 1);
            p.token = i;
            assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
        }
        uint64_t at[2] = {0};
        while (!at[1]) {
            memsys_step(r.ms, ++r.now);
            struct packet q;
            if (mem_eject(&r, 0, &q))
                at[q.token] = r.now;
            assert_true(r.now < 10000);
        }
        assert_int_equal(at[1] - at[0], 32 / port);
        mem_done(&r);
    }
}

static void
without_l2(struct machine *m)
{
    m->partition.l2_enabled = false;
}

/* Small queues and no L2: what finds no room waits, and all is answered. */
static void
small_without_l2(struct machine *m)
{
    small_queues(m);
    without_l2(m);
}
static void
no_l2_back_pressure(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", small_without_l2);
    uint64_t x = 5, sent = 0, asked = 0;
    for (int i = 0; i < 3000; i++) {
        memsys_step(r.ms, ++r.now);
        for (uint16_t sm = 0; sm < r.m->sm.count; sm++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            unsigned z = (unsigned)(x >> 33), sectors = 1 + (z >> 8) % 15;
            struct packet q, p = mem_packet(&r, (enum packet_kind)(z / 2 % 3),
                                            (uint64_t)(z / 6 % 4096) * 128, sectors);
            if (z & 1)
                mem_eject(&r, sm, &q);
            p.sm = sm;
            if (memory_inject(r.mem, &p) != ROOM_YES)
                continue;
            sent++;
            asked += (unsigned)__builtin_popcount(sectors);
        }
    }
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.replies_given, asked);
    assert_int_equal(s.icnt_requests, sent);
    mem_done(&r);
}

/* The memory is not idle from the cycle in which a request comes to that of its reply, in any
 * slice, and the reply's latency is that time. */
static void
idle_between_requests(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    uint64_t latency = 0;
    for (unsigned slice = 0; slice < 12; slice++)
        for (unsigned again = 0; again < 2; again++) {
            assert_true(memory_idle(r.mem));
            struct packet p = mem_packet(&r, PKT_READ, 256 * slice, 1), q;
            assert_int_equal(memory_inject(r.mem, &p), ROOM_YES);
            const uint64_t from = r.now;
            do {
                assert_false(memory_idle(r.mem));
                memsys_step(r.ms, ++r.now);
            } while (!mem_eject(&r, 0, &q));
            latency += r.now - 1 - from; /* it is at the port, and taken a cycle later */
            assert_int_equal(mem_stats(&r).reply_latency, latency);
            for (unsigned i = 0; i < 20; i++)
                memsys_step(r.ms, ++r.now);
        }
    mem_done(&r);
}
static void
no_l2(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", without_l2);
    uint64_t a = mem_access(&r, PKT_READ, 0, 1), b = mem_access(&r, PKT_READ, 0, 1);
    assert_true(b > 220 && b < a); /* the DRAM again, but its row is open */
    mem_access(&r, PKT_WRITE, 0, 15);
    mem_access(&r, PKT_ATOMIC, 0, 1);
    mem_drain(&r);
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.l2_accesses, 0);
    assert_int_equal(s.dram_reads, 3);
    assert_int_equal(s.dram_writes, 5); /* four sectors, each by itself; the atomic's */
    mem_done(&r);
}

static void
whole_lines(struct machine *m)
{
    m->l2.sector = 0;
}
static void
no_sectors(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", whole_lines);
    struct packet p = mem_packet(&r, PKT_READ, 0, 15);
    mem_round(&r, &p, 1); /* one reply of 136 bytes */
    struct stat_mem s = mem_stats(&r);
    assert_int_equal(s.dram_reads, 2);
    assert_int_equal(s.icnt_reply_flits, 4);
    assert_int_equal(s.l2_accesses, 1);
    assert_int_equal(mem_round(&r, &p, 1), 136 + 3);
    mem_done(&r);
}

/* Lines of a host copy are hits at the first touch. */
static void
prefill(void **state)
{
    (void)state;
    struct mem_rig r = mem_rig("gtx480", NULL);
    memory_prefill(r.mem, 0x10000 + 32, 4096 - 32);
    for (unsigned i = 0; i < 4096 / 128; i++)
        assert_int_equal(mem_access(&r, PKT_READ, 0x10000 + 128 * i, i ? 15 : 14),
                         i ? 139 : 138);
    assert_true(mem_access(&r, PKT_READ, 0x10000, 1) > 200);
    assert_int_equal(mem_stats(&r).dram_reads, 1);
    mem_done(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hit_latency),
        cmocka_unit_test(flits_of_a_write),
        cmocka_unit_test(delays),
        cmocka_unit_test(far_slices_take_longer),
        cmocka_unit_test(copies_are_near),
        cmocka_unit_test(dram_delay),
        cmocka_unit_test(lazy_fetch),
        cmocka_unit_test(write_back),
        cmocka_unit_test(atomic_is_dirty),
        cmocka_unit_test(merging),
        cmocka_unit_test(merge_limit),
        cmocka_unit_test(requests_go_on_when_others_are_answered),
        cmocka_unit_test(atomics_one_a_cycle),
        cmocka_unit_test(atomics_hold_the_slice),
        cmocka_unit_test(back_pressure),
        cmocka_unit_test(no_deadlock),
        cmocka_unit_test(evictions_wait),
        cmocka_unit_test(a_miss_needs_room_for_an_eviction),
        cmocka_unit_test(fills_hold_their_port),
        cmocka_unit_test(no_l2),
        cmocka_unit_test(no_l2_back_pressure),
        cmocka_unit_test(idle_between_requests),
        cmocka_unit_test(no_sectors),
        cmocka_unit_test(prefill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
