/* Leaving out what sleeps changes nothing: the same random traffic, once with every part
 * stepped in every tick, once stepped only in the cycles that mem_next_event names: the
 * same replies in the same cycles, the same counters. */
#include "base/splitmix.h"
#include "unit/kit/timing_memsys_rig.h"

#include <stdio.h>

struct arrival {
    uint64_t cycle;
    uint32_t token;
    uint16_t sm;
    uint8_t sectors;
};

enum { CYCLES = 30000, MOST = 1 << 18 };

/* Traffic by cycle and SM, the same for both runs: bursts, trickles, silence. */
static bool
wants(uint64_t cycle, unsigned sm, struct packet *p)
{
    uint64_t z = splitmix(cycle * 1024 + sm), phase = cycle / 1500 % 5;
    unsigned one_in = phase == 0   ? 3
                      : phase == 1 ? 40
                      : phase == 2 ? 2000
                      : phase == 3 ? 9
                                   : 0;
    if (!one_in || z % one_in)
        return false;
    z >>= 12;
    unsigned lines = phase == 3 ? 64 : 40000;
    *p = (struct packet){.addr = (z >> 8) % lines * 128,
                         .born = cycle,
                         .token = (uint32_t)(cycle * 1024 + sm),
                         .sm = (uint16_t)sm,
                         .kind = (uint8_t)(z % 3 == 0 ? PKT_WRITE
                                           : z % 16   ? PKT_READ
                                                      : PKT_ATOMIC),
                         .sectors = (uint8_t)(1 + (z >> 4) % 15),
                         .byte_mask = z & 64 ? UINT32_MAX : (uint32_t)(z >> 20)};
    p->bytes = (uint16_t)(32 * __builtin_popcount(p->sectors));
    return true;
}

static size_t
drive(const char *machine, void (*change)(struct machine *), bool skip,
      struct arrival *out, struct stat_mem *stats, uint64_t *stepped)
{
    struct mem_rig r = mem_rig(machine, change);
    memsys_begin(r.ms, false, !skip);
    size_t n = 0;
    static struct packet waiting[256];
    static bool full[256];
    memset(full, 0, sizeof full);
    uint64_t next = 0;
    *stepped = 0;
    for (uint64_t c = 1; c < CYCLES; c++) {
        /* the SMs have something to do whenever they want to send */
        bool need = !skip || c >= next;
        struct packet p;
        for (unsigned sm = 0; sm < r.m->sm.count; sm++)
            need |= full[sm] || wants(c, sm, &p);
        if (!need)
            continue;
        ++*stepped;
        memsys_step(r.ms, c);
        for (unsigned sm = 0; sm < r.m->sm.count; sm++) {
            if (!mem_has_reply(&r, sm) ||
                splitmix(c + sm) % 8 == 0) /* sometimes not taken */
                continue;
            assert_true(mem_eject(&r, sm, &p));
            assert_true(n < MOST);
            out[n++] = (struct arrival){c, p.token, p.sm, p.sectors};
        }
        for (unsigned sm = 0; sm < r.m->sm.count; sm++) {
            if (!full[sm] && wants(c, sm, &waiting[sm]))
                full[sm] = true;
            if (full[sm] && memory_inject(r.mem, &waiting[sm]) == ROOM_YES)
                full[sm] = false;
        }
        next = mem_next_event(&r, c);
        assert_true(next > c);
    }
    memsys_step(r.ms, CYCLES);
    r.now = CYCLES;
    *stats = mem_stats(&r);
    mem_done(&r);
    return n;
}

static void
compare(const char *machine, void (*change)(struct machine *))
{
    struct arrival *a = calloc(MOST, sizeof *a), *b = calloc(MOST, sizeof *b);
    struct stat_mem sa, sb;
    uint64_t na, nb;
    size_t all = drive(machine, change, false, a, &sa, &na);
    size_t some = drive(machine, change, true, b, &sb, &nb);
    assert_true(all > 3000);
    for (size_t i = 0; i < all && i < some; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]))
            fail_msg("reply %zu: cycle %llu token %x, with skipping cycle %llu token %x",
                     i, (unsigned long long)a[i].cycle, a[i].token,
                     (unsigned long long)b[i].cycle, b[i].token);
    assert_int_equal(all, some);
    assert_memory_equal(&sa, &sb, sizeof sa);
    assert_int_equal(na, CYCLES - 1);
    assert_true(nb < na); /* something was left out */
    free(a);
    free(b);
}

static void
plain(void **state)
{
    (void)state;
    compare("gtx480", NULL);
    compare("titan", NULL);
}

static void
clocks(struct machine *m)
{
    m->clock.core = 700;
    m->clock.icnt = 1333.25;
    m->clock.l2 = 611;
    m->clock.dram = 924;
}
static void
slow_clocks(struct machine *m)
{
    m->clock.core = 1417;
    m->clock.icnt = 333;
    m->clock.l2 = 500.5;
    m->clock.dram = 250;
}
static void
odd_clocks(void **state)
{
    (void)state;
    compare("gtx480", clocks);
    compare("gtx480", slow_clocks);
}

static void
refreshed(struct machine *m)
{
    m->dram.tREFI = 1500;
    m->dram.tRFC = 90;
    m->dram.dual_command = true;
    m->l2.latency = 4;
}
static void
small(struct machine *m)
{
    m->icnt.eject_buffer = 1;
    m->icnt.input_buffer = m->icnt.output_buffer = 8;
    m->partition.queue_icnt_l2 = 4;
    m->partition.queue_l2_icnt = m->partition.queue_l2_dram = m->partition.queue_dram_l2 =
        2;
    m->dram.queue = 6;
    m->dram.return_queue = 2;
    m->l2.mshrs = 8;
    m->l2.sets = 4; /* many write-backs */
}
static void
clusters(struct machine *m)
{
    m->sm.per_cluster = 4;
    m->partition.channel_hash = CHANNEL_IPOLY;
    m->dram.channels = 8;
    m->dram.scheduler = "fcfs";
}
static void
without_l2(struct machine *m)
{
    m->partition.l2_enabled = false;
}
static void
variants(void **state)
{
    (void)state;
    compare("gtx480", refreshed);
    compare("gtx480", small);
    compare("gtx480", clusters);
    compare("gtx480", without_l2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(odd_clocks),
        cmocka_unit_test(variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
