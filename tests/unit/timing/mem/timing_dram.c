/* DRAM timing: every constraint of the gtx480's GDDR5, "refused at t - 1, allowed at t":
 * the channel issues a command as soon as it is allowed, so the tick at which it is seen
 * is both. All expected ticks are worked out by hand from tCCD 2 tCCDL 3 tRRD 6 tRCD 12
 * tRAS 28 tRP 12 tRC 40 tCL 12 tWL 4 tCDLR 5 tWR 12 tRTPL 2, burst on the bus 64 / (8 *
 * 4) = 2 clocks. */
#include "timing/mem/dram.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    uint64_t at;
    enum dram_command c;
    unsigned bank;
    uint64_t row;
};

struct rig {
    struct arena mem;
    struct machine *m;
    struct stat_mem stats;
    struct dram *d;
    struct seen seen[4096];
    unsigned n;
    uint64_t now;
    uint64_t back[256]; /* tick after which a token came back */
};

static void
see(void *user, uint64_t now, enum dram_command c, unsigned bank, uint64_t row)
{
    struct rig *r = user;
    if (r->n < 4096)
        r->seen[r->n++] = (struct seen){now, c, bank, row};
}

static struct rig *
rig(void (*change)(struct machine *m))
{
    struct rig *r = calloc(1, sizeof *r);
    struct diag_sink diag = {0};
    r->m = machine_load("gtx480", &diag);
    assert_non_null(r->m);
    if (change)
        change(r->m);
    r->d = dram_new(&r->mem, r->m, &r->stats, &diag);
    assert_non_null(r->d);
    dram_watch(r->d, see, r);
    return r;
}

static void
done(struct rig *r)
{
    arena_free(&r->mem);
    machine_free(r->m);
    free(r);
}

static void
push(struct rig *r, unsigned bank, uint64_t row, bool write, uint32_t token)
{
    const struct dram_req q = {.bank = (uint16_t)bank,
                               .row = row,
                               .bursts = 1,
                               .write = write,
                               .answered = !write,
                               .token = token};
    dram_push(r->d, dram_take(r->d, &q), r->now);
}

/* Ticks up to and including t. */
static void
run_to(struct rig *r, uint64_t t)
{
    while (r->now < t) {
        r->now++;
        const struct dram_req *q = dram_return_front(r->d);
        if (q) {
            if (q->token < 256)
                r->back[q->token] = r->now - 1;
            dram_return_pop(r->d);
        }
        dram_tick(r->d, r->now);
    }
}

static void
expect(struct rig *r, unsigned i, uint64_t at, enum dram_command c, unsigned bank)
{
    assert_true(i < r->n);
    assert_int_equal(r->seen[i].c, c);
    assert_int_equal(r->seen[i].bank, bank);
    assert_int_equal(r->seen[i].at, at);
}

/* tRCD, tCL: pushed at 0, activated at 1, read at 1 + 12, last data 12 + 2 clocks later.
 */
static void
trcd_tcl(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    push(r, 5, 7, false, 1);
    run_to(r, 60);
    assert_int_equal(r->n, 2);
    expect(r, 0, 1, DRAM_ACTIVATE, 5);
    expect(r, 1, 13, DRAM_READ, 5);
    assert_int_equal(r->back[1], 13 + 12 + 2 - 1);
    assert_int_equal(r->stats.dram_row_misses, 1);
    done(r);
}

/* tCCDL in one bank; tCCD between bank groups (group = bank mod 4). */
static void
tccd(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    push(r, 4, 1, false, 0);
    push(r, 5, 1, false, 0);
    run_to(r, 100); /* both rows open */
    unsigned n = r->n;
    push(r, 4, 1, false, 0);
    push(r, 4, 1, false, 0);
    run_to(r, 150);
    expect(r, n, 101, DRAM_READ, 4);
    expect(r, n + 1, 101 + 3, DRAM_READ, 4);
    push(r, 4, 1, false, 0);
    push(r, 5, 1, false, 0);
    run_to(r, 200);
    assert_int_equal(r->n, n + 4);
    assert_int_equal(r->seen[n + 2].at, 151);
    assert_int_equal(r->seen[n + 3].at, 151 + 2);
    assert_int_equal(r->stats.dram_row_hits, 4);
    done(r);
}

/* Same group, other bank: the long distance again. */
static void
tccdl_of_a_group(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    push(r, 4, 1, false, 0);
    push(r, 8, 1, false, 0);
    run_to(r, 100);
    unsigned n = r->n;
    push(r, 4, 1, false, 0);
    push(r, 8, 1, false, 0);
    run_to(r, 150);
    assert_int_equal(r->seen[n].at, 101);
    assert_int_equal(r->seen[n + 1].at, 104);
    done(r);
}

/* tRRD: three idle banks of three groups; a long tRCD keeps column commands away. */
static void
long_trcd(struct machine *m)
{
    m->dram.tRCD = 25;
}
static void
trrd(void **state)
{
    (void)state;
    struct rig *r = rig(long_trcd);
    push(r, 0, 1, false, 0);
    push(r, 1, 1, false, 0);
    push(r, 2, 1, false, 0);
    run_to(r, 100);
    unsigned a = 0;
    for (unsigned i = 0; i < r->n; i++)
        if (r->seen[i].c == DRAM_ACTIVATE)
            assert_int_equal(r->seen[i].at, 1 + 6 * a++);
    assert_int_equal(a, 3);
    done(r);
}

/* tRAS, tRP, tRC: another row of the same bank. Activated 1, read 13 (tRTPL: precharge
 * from 15), tRAS: precharge at 29; tRP and tRC: activate at 41. */
static void
tras_trp_trc(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    push(r, 3, 1, false, 0);
    push(r, 3, 2, false, 1);
    run_to(r, 100);
    expect(r, 0, 1, DRAM_ACTIVATE, 3);
    expect(r, 1, 13, DRAM_READ, 3);
    expect(r, 2, 29, DRAM_PRECHARGE, 3);
    expect(r, 3, 41, DRAM_ACTIVATE, 3);
    expect(r, 4, 53, DRAM_READ, 3);
    done(r);
}

static void
long_trc(struct machine *m)
{
    m->dram.tRC = 60;
}
static void
trc_alone(void **state)
{
    (void)state;
    struct rig *r = rig(long_trc);
    push(r, 3, 1, false, 0);
    push(r, 3, 2, false, 1);
    run_to(r, 100);
    expect(r, 2, 29, DRAM_PRECHARGE, 3);
    expect(r, 3, 61, DRAM_ACTIVATE, 3); /* tRP would allow 41 */
    done(r);
}

/* tRTPL: a late read holds the precharge: read at 41, precharge at 41 + max(2, tRTPL). */
static void
long_trtp(struct machine *m)
{
    m->dram.tRTPL = 9;
}
static void
trtpl(void **state)
{
    (void)state;
    for (int v = 0; v < 2; v++) {
        struct rig *r = rig(v ? long_trtp : NULL);
        push(r, 3, 1, false, 0);
        run_to(r, 40);
        push(r, 3, 1, false, 0);
        push(r, 3, 2, false, 0);
        run_to(r, 100);
        expect(r, 2, 41, DRAM_READ, 3);
        expect(r, 3, 41 + (v ? 9 : 2), DRAM_PRECHARGE, 3);
        done(r);
    }
}

/* tWL + burst + tWR before the precharge: written at 41, 4 + 2 + 12 later. */
static void
twr(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    push(r, 3, 1, false, 0);
    run_to(r, 40);
    push(r, 3, 1, true, 0);
    push(r, 3, 2, false, 0);
    run_to(r, 120);
    expect(r, 2, 41, DRAM_WRITE, 3);
    expect(r, 3, 41 + 18, DRAM_PRECHARGE, 3);
    expect(r, 4, 41 + 18 + 12, DRAM_ACTIVATE, 3);
    done(r);
}

/* Write to read, any bank: tWL + burst + tCDLR = 4 + 2 + 5. Read to write: tCL + burst +
 * 2 - tWL = 12 + 2 + 2 - 4. */
static void
turnaround(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    push(r, 4, 1, false, 0);
    push(r, 5, 1, false, 0);
    run_to(r, 100);
    unsigned n = r->n;
    push(r, 4, 1, true, 0);
    run_to(r, 101);
    push(r, 5, 1, false, 0);
    run_to(r, 150);
    expect(r, n, 101, DRAM_WRITE, 4);
    expect(r, n + 1, 101 + 11, DRAM_READ, 5);
    push(r, 4, 1, false, 0);
    run_to(r, 151);
    push(r, 5, 1, true, 0);
    run_to(r, 200);
    expect(r, n + 2, 151, DRAM_READ, 4);
    expect(r, n + 3, 151 + 12, DRAM_WRITE, 5);
    done(r);
}

/* One command a clock; with dual_command a row and a column command together. */
static void
dual(struct machine *m)
{
    m->dram.dual_command = true;
}
static void
one_command_a_clock(void **state)
{
    (void)state;
    for (int v = 0; v < 2; v++) {
        struct rig *r = rig(v ? dual : NULL);
        push(r, 4, 1, false, 0);
        run_to(r, 100);
        unsigned n = r->n;
        /* Both become possible at 102: the assignment of banks takes one clock each. */
        push(r, 6, 9, false, 0);
        push(r, 4, 1, false, 0);
        push(r, 4, 1, false, 0);
        run_to(r, 200);
        unsigned together = 0, other = 0;
        for (unsigned i = n + 1; i < r->n; i++)
            together += r->seen[i].at == r->seen[i - 1].at;
        for (unsigned i = n; i < r->n; i++)
            other += r->seen[i].c == DRAM_ACTIVATE;
        assert_int_equal(other, 1);
        assert_int_equal(together, 0);
        /* Row of bank 7 wanted in the very tick in which bank 4's next column is allowed.
         */
        n = r->n;
        push(r, 4, 1, false, 0); /* 201 */
        push(r, 4, 1, false, 0); /* waits for tCCDL: 204 */
        run_to(r, 202);
        push(r, 7, 9, false, 0);
        run_to(r, 300);
        together = 0;
        for (unsigned i = n + 1; i < r->n; i++)
            together += r->seen[i].at == r->seen[i - 1].at;
        assert_int_equal(together, 0);
        done(r);
    }
    /* tCCDL 3, pushed so that an activate and a read are both allowed at 304 */
    for (int v = 0; v < 2; v++) {
        struct rig *r = rig(v ? dual : NULL);
        push(r, 4, 1, false, 0);
        run_to(r, 300);
        unsigned n = r->n;
        push(r, 4, 1, false, 0);
        run_to(r, 301); /* read at 301 */
        push(r, 4, 1, false, 0);
        run_to(r, 303); /* assigned at 302, held until 304 */
        push(r, 5, 9, false, 0);
        run_to(r, 400);
        expect(r, n, 301, DRAM_READ, 4);
        assert_int_equal(r->seen[n + 1].at, 304);
        assert_int_equal(r->seen[n + 2].at, v ? 304 : 305);
        done(r);
    }
}

/* Of several banks that may have a command, the first from that number on which rises by one with
 * each request that a bank gets. Bank 0 is activated at 201, so banks 5 and 9 may be from 207
 * on: after 3 requests (in the first turn) 5 goes first, after 7 bank 9 does. */
static void
banks_have_commands_in_turn(void **state)
{
    (void)state;
    for (unsigned before = 0; before <= 4; before += 4) {
        struct rig *r = rig(long_trcd);
        for (unsigned i = 0; i < before; i++)
            push(r, 3, 1, false, 0);
        run_to(r, 200);
        const unsigned n = r->n;
        push(r, 0, 1, false, 0);
        run_to(r, 201);
        push(r, 5, 1, false, 0);
        push(r, 9, 1, false, 0);
        run_to(r, 220);
        expect(r, n, 201, DRAM_ACTIVATE, 0);
        expect(r, n + 1, 207, DRAM_ACTIVATE, before ? 9 : 5);
        expect(r, n + 2, 213, DRAM_ACTIVATE, before ? 5 : 9);
        done(r);
    }
}

/* The same with banks in two words of a set: after 71 requests the turn begins at bank 71, so 100
 * comes first, then 5, and 66 last. */
static void
many_banks(struct machine *m)
{
    long_trcd(m);
    m->dram.banks = 128;
}
static void
many_banks_have_commands_in_turn(void **state)
{
    (void)state;
    struct rig *r = rig(many_banks);
    for (unsigned i = 0; i < 67; i++) {
        push(r, 3, 1, false, 0);
        run_to(r, r->now + 10);
    }
    run_to(r, 1000);
    const unsigned n = r->n;
    push(r, 0, 1, false, 0);
    run_to(r, 1001);
    push(r, 5, 1, false, 0);
    push(r, 66, 1, false, 0);
    push(r, 100, 1, false, 0);
    run_to(r, 1024);
    expect(r, n, 1001, DRAM_ACTIVATE, 0);
    expect(r, n + 1, 1007, DRAM_ACTIVATE, 100);
    expect(r, n + 2, 1013, DRAM_ACTIVATE, 5);
    expect(r, n + 3, 1019, DRAM_ACTIVATE, 66);
    done(r);
}

/* 64 bytes take their share of a clock of bus * 4 bytes, rounded up: on the bus until the last
 * of them. */
static unsigned bus;
static void
of_bus(struct machine *m)
{
    m->dram.bus = bus;
}
static void
a_burst_takes_whole_clocks(void **state)
{
    (void)state;
    static const unsigned rows[][2] = {{4, 4},  {5, 4},  {6, 3},  {8, 2},
                                       {12, 2}, {15, 2}, {16, 1}, {32, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bus = rows[i][0];
        struct rig *r = rig(of_bus);
        push(r, 5, 7, false, 1);
        run_to(r, 60);
        expect(r, 1, 13, DRAM_READ, 5);
        assert_int_equal(r->back[1], 13 + 12 + rows[i][1] - 1);
        assert_int_equal(r->stats.dram_busy, rows[i][1]);
        done(r);
    }
}

/* Two bursts of one request: two column commands, tCCDL apart, one reply. */
static void
several_bursts(void **state)
{
    (void)state;
    struct rig *r = rig(NULL);
    const struct dram_req q = {
        .bank = 2, .row = 3, .bursts = 2, .answered = true, .token = 9};
    dram_push(r->d, dram_take(r->d, &q), 0);
    run_to(r, 100);
    expect(r, 1, 13, DRAM_READ, 2);
    expect(r, 2, 16, DRAM_READ, 2);
    assert_int_equal(r->back[9], 16 + 13);
    assert_int_equal(r->stats.dram_reads, 2);
    assert_int_equal(r->stats.dram_busy, 4);
    assert_int_equal(r->stats.dram_row_misses, 1);
    done(r);
}

/* -- refresh: due at 1000, all banks closed, blocked for tRFC -- */
static void
with_refresh(struct machine *m)
{
    m->dram.tREFI = 1000;
    m->dram.tRFC = 100;
}
static void
refresh(void **state)
{
    (void)state;
    struct rig *r = rig(with_refresh);
    push(r, 3, 1, false, 0);
    run_to(r, 990);
    push(r, 3, 1, false, 0); /* read 991, precharge allowed from 993: at 1000 */
    run_to(r, 1000);
    push(r, 3, 1, false, 0);
    run_to(r, 1300);
    expect(r, 2, 991, DRAM_READ, 3);
    expect(r, 3, 1000, DRAM_REFRESH, 0);
    expect(r, 4, 1000 + 12 + 100, DRAM_ACTIVATE, 3);
    /* the next one finds its bank open by the last read, and a precharge held by tRAS */
    run_to(r, 1980);
    push(r, 6, 1, false, 0); /* activated 1981: precharge from 2009 */
    run_to(r, 2000);
    push(r, 6, 1, false, 0);
    run_to(r, 2300);
    unsigned i = r->n - 2;
    expect(r, i, 2009 + 12 + 100, DRAM_ACTIVATE, 6);
    expect(r, i + 1, 2009 + 12 + 100 + 12, DRAM_READ, 6);
    assert_int_equal(r->stats.dram_refreshes, 2);
    done(r);
}

/* One bank after the other, 1600 / 16 apart; the others go on. */
static void
with_bank_refresh(struct machine *m)
{
    m->dram.tREFI = 1600;
    m->dram.tRFC = 90;
    m->dram.bank_refresh = true;
}
static void
banks_are_refreshed_in_turn(void **state)
{
    (void)state;
    struct rig *r = rig(with_bank_refresh);
    push(r, 0, 1, false, 0);
    push(r, 1, 1, false, 0);
    run_to(r, 99);
    unsigned i = r->n;
    run_to(r, 100);
    push(r, 0, 1, false, 0); /* due at 100: bank 0, which is open */
    push(r, 1, 1, false, 0);
    run_to(r, 199);
    expect(r, i, 100, DRAM_REFRESH, 0);
    expect(r, i + 1, 102, DRAM_READ, 1);
    run_to(r, 202);
    expect(r, i + 2, 200, DRAM_REFRESH, 1);
    expect(r, i + 3, 100 + 12 + 90, DRAM_ACTIVATE, 0);
    run_to(r, 1700);
    assert_int_equal(r->stats.dram_refreshes, 17); /* bank 0 again */
    assert_int_equal(r->seen[r->n - 1].bank, 0);
    done(r);
}

/* -- policies -- */

static void
fcfs(struct machine *m)
{
    m->dram.scheduler = "fcfs";
}
static void
impatient(struct machine *m)
{
    m->dram.age_limit = 60;
}

/* One bank, rows 1 2 1 2 1 while row 1 is open: hits first, then the oldest. */
static void
order(void (*change)(struct machine *), const uint32_t *want)
{
    struct rig *r = rig(change);
    push(r, 3, 1, false, 0);
    run_to(r, 40);
    static const uint64_t rows[] = {1, 2, 1, 2, 1};
    for (uint32_t i = 0; i < 5; i++)
        push(r, 3, rows[i], false, 10 + i);
    run_to(r, 600);
    for (unsigned i = 1; i < 5; i++)
        assert_true(r->back[want[i - 1]] < r->back[want[i]]);
    done(r);
}

static void
fr_fcfs_order(void **state)
{
    (void)state;
    order(NULL, (const uint32_t[]){10, 12, 14, 11, 13});
}

static void
fcfs_order(void **state)
{
    (void)state;
    order(fcfs, (const uint32_t[]){10, 11, 12, 13, 14});
}

/* Two requests to bank 3, then one to bank 4, which is free: fcfs starts it when the
 * second has left the queue, after the first's read; fr-fcfs at once. */
static void
fcfs_order_of_banks(void **state)
{
    (void)state;
    for (int v = 0; v < 2; v++) {
        struct rig *r = rig(v ? fcfs : NULL);
        push(r, 3, 1, false, 10);
        push(r, 3, 2, false, 11);
        push(r, 4, 1, false, 12);
        run_to(r, 300);
        uint64_t read = 0, activate = 0;
        for (unsigned i = r->n; i--;) /* the first of each */
            if (r->seen[i].bank == 3 && r->seen[i].c == DRAM_READ)
                read = r->seen[i].at;
            else if (r->seen[i].bank == 4 && r->seen[i].c == DRAM_ACTIVATE)
                activate = r->seen[i].at;
        assert_true(read && activate);
        assert_int_equal(activate > read, v);
        done(r);
    }
}

/* A stream of row hits: the request to another row waits for ever, or for the age limit.
 */
static void
no_starvation(void **state)
{
    (void)state;
    for (int v = 0; v < 2; v++) {
        struct rig *r = rig(v ? impatient : NULL);
        push(r, 3, 1, false, 0);
        run_to(r, 40);
        push(r, 3, 2, false, 77);
        for (int i = 0; i < 10; i++)
            push(r, 3, 1, false, 0);
        for (unsigned i = 0; i < 300; i++) {
            push(r, 3, 1, false, 0);
            push(r, 3, 1, false, 0);
            run_to(r, r->now + 5); /* hits come as fast as they go: 3 clocks each */
            if (r->now > 400)
                break;
        }
        assert_int_equal(r->back[77] != 0, v);
        if (v) {
            /* taken in the first assignment after tick 40 + 60 */
            assert_in_range(r->back[77], 100 + 28, 100 + 28 + 40);
        }
        done(r);
    }
}

static void
unknown_policy(struct machine *m)
{
    m->dram.scheduler = "best";
}
static void
unknown(void **state)
{
    (void)state;
    struct diag_sink d = {0};
    struct machine *m = machine_new();
    struct arena a = {0};
    struct stat_mem s;
    unknown_policy(m);
    assert_null(dram_new(&a, m, &s, &d));
    assert_int_equal(d.errors, 1);
    assert_non_null(strstr(d.list[0]->hint, "fr-fcfs, fcfs"));
    diag_free(&d);
    arena_free(&a);
    machine_free(m);
}

/* -- random traffic: an independent look at the whole sequence of commands -- */

static int64_t
since(const struct rig *r, unsigned upto, enum dram_command c, int bank, int group,
      int64_t now)
{
    for (unsigned i = upto; i-- > 0;) {
        const struct seen *s = &r->seen[i];
        if (s->c == c && (bank < 0 || (int)s->bank == bank) &&
            (group < 0 || (int)(s->bank % 4) == group))
            return now - (int64_t)s->at;
    }
    return 1 << 30;
}

static void
legal(void **state)
{
    (void)state;
    for (int v = 0; v < 3; v++) {
        struct rig *r = rig(v == 1 ? dual : v == 2 ? fcfs : NULL);
        uint64_t x = 4711 + (unsigned)v;
        unsigned reads = 0;
        while (r->n < 4000) {
            for (int k = 0; k < 3; k++) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                unsigned z = (unsigned)(x >> 40);
                if (z % 3 == 0 && !dram_full(r->d)) {
                    push(r, z / 3 % 16, z / 48 % 3, z / 144 % 3 == 0, 999);
                    reads++;
                }
            }
            run_to(r, r->now + 1);
        }
        int64_t row[16];
        memset(row, -1, sizeof row);
        for (unsigned i = 0; i < r->n; i++) {
            const struct seen *s = &r->seen[i];
            int b = (int)s->bank, g = b % 4;
            int64_t t = (int64_t)s->at;
#define GAP(c, bank, group, least) assert_true(since(r, i, c, bank, group, t) >= (least))
            switch (s->c) {
            case DRAM_ACTIVATE:
                assert_int_equal(row[b], -1);
                GAP(DRAM_ACTIVATE, -1, -1, 6);
                GAP(DRAM_ACTIVATE, b, -1, 40);
                GAP(DRAM_PRECHARGE, b, -1, 12);
                row[b] = (int64_t)s->row;
                break;
            case DRAM_PRECHARGE:
                assert_true(row[b] >= 0);
                GAP(DRAM_ACTIVATE, b, -1, 28);
                GAP(DRAM_READ, b, -1, 2);
                GAP(DRAM_WRITE, b, -1, 18);
                row[b] = -1;
                break;
            case DRAM_READ:
            case DRAM_WRITE:
                assert_int_equal(row[b], s->row);
                GAP(DRAM_ACTIVATE, b, -1, 12);
                GAP(DRAM_READ, -1, -1, s->c == DRAM_READ ? 2 : 12);
                GAP(DRAM_WRITE, -1, -1, s->c == DRAM_WRITE ? 2 : 11);
                GAP(DRAM_READ, -1, g, 3);
                GAP(DRAM_WRITE, -1, g, 3);
                break;
            default:
                fail();
            }
            if (i && v != 1)
                assert_true(r->seen[i - 1].at < s->at);
        }
        assert_true(reads > 500);
        done(r);
    }
}

/* A channel that is only ticked when it says so does the same at the same times. */
static void
sleeps_exactly_with(void (*change)(struct machine *m))
{
    struct rig *a = rig(change), *b = rig(change);
    uint64_t x = 1, at = 0;
    uint64_t next = 0;
    for (uint64_t t = 1; t < 30000; t++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        unsigned z = (unsigned)(x >> 40);
        bool come = (t / 700 % 2) && z % 5 == 0 && !dram_full(a->d);
        a->now = t;
        dram_tick(a->d, t);
        if (t >= next)
            dram_tick(b->d, t);
        while (dram_return_front(a->d)) {
            assert_non_null(dram_return_front(b->d));
            assert_int_equal(dram_return_front(a->d)->token,
                             dram_return_front(b->d)->token);
            dram_return_pop(a->d);
            dram_return_pop(b->d);
        }
        assert_null(dram_return_front(b->d));
        if (come) {
            struct dram_req q = {.bank = (uint16_t)(z / 5 % 16),
                                 .row = z / 80 % 4,
                                 .bursts = 1,
                                 .write = z / 320 % 2,
                                 .answered = !(z / 320 % 2),
                                 .token = (uint32_t)t};
            assert_false(dram_full(b->d));
            dram_push(a->d, dram_take(a->d, &q), t);
            dram_push(b->d, dram_take(b->d, &q), t);
        }
        next = dram_next(b->d, t);
        at = t;
    }
    dram_settle(a->d, at);
    dram_settle(b->d, at);
    assert_memory_equal(&a->stats, &b->stats, sizeof a->stats);
    unsigned n = 0;
    for (unsigned i = 0, j = 0; i < a->n && j < b->n; i++, j++, n++) {
        /* refreshes are noted when the channel next wakes */
        while (i < a->n && a->seen[i].c == DRAM_REFRESH)
            i++;
        while (j < b->n && b->seen[j].c == DRAM_REFRESH)
            j++;
        assert_int_equal(a->seen[i].at, b->seen[j].at);
        assert_int_equal(a->seen[i].bank, b->seen[j].bank);
    }
    assert_true(n > 1000);
    done(a);
    done(b);
}
static void
sleeps_exactly(void **state)
{
    (void)state;
    sleeps_exactly_with(with_refresh);
    sleeps_exactly_with(with_bank_refresh);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trcd_tcl),
        cmocka_unit_test(tccd),
        cmocka_unit_test(tccdl_of_a_group),
        cmocka_unit_test(trrd),
        cmocka_unit_test(tras_trp_trc),
        cmocka_unit_test(trc_alone),
        cmocka_unit_test(trtpl),
        cmocka_unit_test(twr),
        cmocka_unit_test(turnaround),
        cmocka_unit_test(one_command_a_clock),
        cmocka_unit_test(banks_have_commands_in_turn),
        cmocka_unit_test(many_banks_have_commands_in_turn),
        cmocka_unit_test(a_burst_takes_whole_clocks),
        cmocka_unit_test(several_bursts),
        cmocka_unit_test(refresh),
        cmocka_unit_test(banks_are_refreshed_in_turn),
        cmocka_unit_test(fr_fcfs_order),
        cmocka_unit_test(fcfs_order),
        cmocka_unit_test(fcfs_order_of_banks),
        cmocka_unit_test(no_starvation),
        cmocka_unit_test(unknown),
        cmocka_unit_test(legal),
        cmocka_unit_test(sleeps_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
