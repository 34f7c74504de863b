/* timing_ldst.c: the load/store unit of an SM with a mock interconnect and memory. Each
 * rule says "not at t-1, at t". The order of calls within a cycle is the one ldst.h asks
 * for: receive, cycle, done, issue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bitset.h"
#include "ptx/ir.h"
#include "timing/sm/ldst.h"

#include <stdlib.h>
#include <string.h>

struct rig {
    struct arena mem;
    struct machine *m;
    struct stat_sm st;
    struct ldst *l;
    uint64_t now; /* next cycle to step */
    /* replies under way, in order of arrival */
    struct packet reply[4096];
    uint64_t at[4096];
    unsigned nreply;
    unsigned received, seen; /* replies; those of them that the SM has to do with */
    unsigned latency;        /* of the mock memory; 0: packets stay in `sent` only */
    bool closed;             /* the interconnect takes nothing */
    bool split;              /* sectors are answered one by one, a cycle apart */
    struct packet sent[4096];
    uint64_t sent_at[4096];
    unsigned nsent;
    uint32_t done[4096];
    uint64_t done_at[4096];
    unsigned ndone;
};

static struct rig *
rig_new(const char *const set[][2])
{
    struct rig *r = calloc(1, sizeof *r);
    r->m = machine_new();
    struct diag_sink d = {0};
    static const char *const base[][2] = {{"l1d.latency", "10"},
                                          {"l1d.port", "0"},
                                          {"l1i.port", "0"},
                                          {"l1c.port", "0"},
                                          {"scratchpad.latency", "26"},
                                          {"l1d.hash", "linear"},
                                          {NULL, NULL}};
    for (unsigned i = 0; base[i][0]; i++)
        assert_true(machine_set(r->m, base[i][0], base[i][1], &d));
    for (unsigned i = 0; set && set[i][0]; i++)
        assert_true(machine_set(r->m, set[i][0], set[i][1], &d));
    diag_free(&d);
    r->l = ldst_new(&r->mem, r->m, 1, &r->st);
    ldst_begin(r->l, 0);
    r->now = 1;
    r->latency = 100;
    r->split = true;
    return r;
}

static void
rig_free(struct rig *r)
{
    machine_free(r->m);
    arena_free(&r->mem);
    free(r);
}

static void
answer(struct rig *r, const struct packet *p, uint64_t at)
{
    for (unsigned s = 0; s < 4; s++) {
        if (!(p->sectors >> s & 1))
            continue;
        struct packet x = *p;
        if (r->split) {
            x.sectors = (uint8_t)(1u << s);
            x.addr = (p->addr & ~(uint64_t)127) + 32 * s;
            x.bytes = 32;
        }
        r->reply[r->nreply] = x;
        r->at[r->nreply++] = at++;
        if (!r->split)
            break;
    }
}

/* What happens in a cycle before the issue side acts. */
static void
step(struct rig *r)
{
    uint64_t t = r->now;
    for (unsigned i = 0; i < r->nreply; i++)
        if (r->at[i] <= t && ldst_can_receive(r->l)) {
            r->received++;
            r->seen += ldst_receive(r->l, &r->reply[i], t);
            memmove(&r->reply[i], &r->reply[i + 1],
                    (r->nreply - i - 1) * sizeof *r->reply);
            memmove(&r->at[i], &r->at[i + 1], (r->nreply - i - 1) * sizeof *r->at);
            r->nreply--;
            break; /* one packet a cycle */
        }
    ldst_cycle(r->l, t);
    uint32_t token;
    while (ldst_done_peek(r->l, &token)) {
        r->done[r->ndone] = token;
        r->done_at[r->ndone++] = t;
        ldst_done_pop(r->l);
    }
    struct packet *p;
    while (!r->closed && (p = ldst_out_front(r->l))) {
        r->sent[r->nsent] = *p;
        r->sent_at[r->nsent++] = t;
        if (r->latency)
            answer(r, p, t + r->latency);
        ldst_out_pop(r->l);
    }
    r->now++;
}

static void
until(struct rig *r, uint64_t cycle)
{
    while (r->now <= cycle)
        step(r);
}

static struct exec_access
access_at(unsigned space, const char *kind, uint64_t base, uint64_t step_, unsigned bytes)
{
    struct exec_access a = {
        .space = (uint8_t)space, .bytes = (uint8_t)bytes, .mask = ~0u};
    a.load = kind[0] == 'l';
    a.store = kind[0] == 's';
    a.atomic = kind[0] == 'a';
    for (unsigned i = 0; i < 32; i++)
        a.addr[i] = base + i * step_;
    return a;
}

/* Steps until the pipeline takes it; returns the cycle it was handed over in. */
static uint64_t
issue(struct rig *r, const struct exec_access *a, unsigned warp, uint32_t token)
{
    step(r);
    uint16_t op = ldst_prepare(r->l, a, warp, token, r->now - 1);
    assert_int_not_equal(op, LDST_NO_OP);
    while (!ldst_can_issue(r->l))
        step(r);
    ldst_issue(r->l, op, r->now - 1);
    return r->now - 1;
}

static uint64_t
done_cycle(struct rig *r, uint32_t token)
{
    for (unsigned i = 0; i < r->ndone; i++)
        if (r->done[i] == token)
            return r->done_at[i];
    return 0;
}

static uint64_t
wait_done(struct rig *r, uint32_t token)
{
    for (unsigned k = 0; k < 5000 && !done_cycle(r, token); k++)
        step(r);
    return done_cycle(r, token);
}

#define GLOBAL PTX_SPACE_GLOBAL
#define SHARED PTX_SPACE_SHARED
#define LOCAL PTX_SPACE_LOCAL

/* -- counters -- */

/* Each kind of instruction counts once, under its name. */
static void
instructions_are_counted_by_kind(void **state)
{
    (void)state;
    static const struct {
        unsigned space;
        const char *kind;
        size_t counter;
    } rows[] = {
#define ROW(space, kind, counter) {space, kind, offsetof(struct stat_sm, counter)}
        ROW(SHARED, "load", scratchpad_loads),
        ROW(SHARED, "store", scratchpad_stores),
        ROW(SHARED, "atomic", scratchpad_atomics),
        ROW(PTX_SPACE_CONST, "load", const_loads),
        ROW(PTX_SPACE_PARAM, "load", param_loads),
        ROW(LOCAL, "load", local_loads),
        ROW(LOCAL, "store", local_stores),
        ROW(GLOBAL, "load", global_loads),
        ROW(GLOBAL, "store", global_stores),
        ROW(GLOBAL, "atomic", global_atomics),
        ROW(PTX_SPACE_NONE, "load", mixed_accesses)
#undef ROW
    };
    struct rig *r = rig_new(NULL);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned again = 1; again <= 2; again++) {
            struct exec_access a = access_at(rows[i].space, rows[i].kind, 0x1000, 4, 4);
            if (rows[i].space == PTX_SPACE_NONE)
                memset(a.lane_space, GLOBAL, sizeof a.lane_space);
            issue(r, &a, 0, 2 * i + again);
            until(r, r->now + 300);
            const uint64_t n =
                *(const uint64_t *)(const void *)((const char *)&r->st + rows[i].counter);
            assert_int_equal(n, again);
        }
    const struct stat_sm *s = &r->st;
    assert_int_equal(s->scratchpad_loads + s->scratchpad_stores + s->scratchpad_atomics,
                     6);
    assert_int_equal(s->const_loads + s->param_loads + s->mixed_accesses, 6);
    assert_int_equal(s->local_loads + s->local_stores, 4);
    assert_int_equal(s->global_loads + s->global_stores + s->global_atomics, 6);
    assert_int_equal(s->texture_loads + s->async_copies, 0);
    rig_free(r);
}

/* -- asynchronous copies -- */

/* 31 segments may be open before the one that is being filled; the next copies join that one
 * until the oldest segment is there. */
static void
copies_have_32_segments(void **state)
{
    (void)state;
    enum { OPEN = 31 };
    struct rig *r = rig_new(NULL);
    uint64_t list[33] = {0};
    for (unsigned i = 0; i < 32; i++)
        list[i] = 4 * i;
    list[32] = 0xff;
    r->latency = 0;
    r->split = false;
    assert_int_equal(ldst_copies_close(r->l, 2), 0); /* nothing to close */
    for (unsigned k = 0; k < OPEN + 2; k++) {
        struct exec_access a = access_at(GLOBAL, "load", 0x10000000 + 4096 * k, 4, 4);
        a.mask = 0xff; /* a sector */
        a.async = true;
        a.cache = PTX_CACHE_CG;
        a.list = list;
        issue(r, &a, 2, k);
        /* 1 to 31; the 32nd cannot be closed, and the 33rd copy lies in it */
        assert_int_equal(ldst_copies_close(r->l, 2), k <= OPEN ? k + 1 : OPEN + 1);
        assert_int_equal(ldst_copies_done(r->l, 2), 0);
    }
    until(r, r->now + 50);
    assert_int_equal(r->nsent, OPEN + 2);
    for (unsigned k = 0; k < OPEN + 2; k++) {
        answer(r, &r->sent[k], r->now);
        until(r, r->now + 50);
        /* the last two copies are of one segment */
        assert_int_equal(ldst_copies_done(r->l, 2), k < OPEN    ? k + 1
                                                    : k == OPEN ? OPEN
                                                                : OPEN + 1);
    }
    assert_int_equal(ldst_copies_close(r->l, 2), OPEN + 1); /* all is there */
    rig_free(r);
}

/* -- write-back -- */

/* Two inputs that both always have something have the port in turn: while scratchpad loads
 * come every cycle, the three loads that a line's fill wakes go in every other one. */
static void
inputs_have_the_write_back_port_in_turn(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    r->latency = 0;
    r->split = false;
    struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 4, 4);
    struct exec_access s = access_at(SHARED, "load", 0, 4, 4);
    for (uint32_t i = 1; i <= 3; i++)
        issue(r, &a, i, i);
    until(r, r->now + 30);
    assert_int_equal(r->nsent, 1);
    uint64_t at = 0;
    for (uint32_t i = 0; i < 60; i++) {
        if (i == 40) {
            at = r->now;
            answer(r, &r->sent[0], at);
        }
        issue(r, &s, 0, 100 + i);
    }
    until(r, r->now + 100);
    const uint64_t first = done_cycle(r, 1);
    assert_in_range(first, at + 1, at + 3);
    assert_int_equal(done_cycle(r, 2), first + 2);
    assert_int_equal(done_cycle(r, 3), first + 4);
    /* in between, and before and behind, a scratchpad load each cycle */
    for (uint32_t i = 1; i < 60; i++) {
        const uint64_t step = done_cycle(r, 100 + i) - done_cycle(r, 100 + i - 1);
        const uint64_t t = done_cycle(r, 100 + i);
        assert_int_equal(step, t > first && t < first + 6 ? 2 : 1);
    }
    rig_free(r);
}

/* -- scratchpad -- */

static void
scratchpad_latency_and_conflicts(void **state)
{
    (void)state;
    static const struct {
        uint64_t step;
        unsigned d;
    } t[] = {{0, 1}, {4, 1}, {8, 2}, {16, 4}, {128, 32}, {132, 1}};
    struct rig *r = rig_new(NULL);
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        struct exec_access a = access_at(SHARED, "load", 0, t[i].step, 4);
        uint64_t at = issue(r, &a, 0, i + 1);
        until(r, at + t[i].d + 26);
        assert_int_equal(done_cycle(r, i + 1), 0);
        assert_int_equal(ldst_outstanding(r->l, 0), 1);
        step(r);
        assert_int_equal(done_cycle(r, i + 1), at + t[i].d + 26 + 1);
        assert_int_equal(ldst_outstanding(r->l, 0), 0);
    }
    assert_int_equal(r->st.scratchpad_accesses, 6);
    assert_int_equal(r->st.scratchpad_conflict_cycles, 0 + 0 + 1 + 3 + 31 + 0);
    assert_true(ldst_idle(r->l));
    rig_free(r);
}

/* Each cycle of the banks but the first delays the result once more, not the next access. */
static void
scratchpad_conflicts_delay_results(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"scratchpad.conflict_latency", "3"},
                                         {NULL, NULL}};
    struct rig *r = rig_new(set);
    for (unsigned d = 1; d <= 32; d *= 2) {
        struct exec_access a = access_at(SHARED, "load", 0, 4 * d, 4);
        uint64_t at = issue(r, &a, 0, 2 * d);
        uint16_t next = ldst_prepare(r->l, &a, 0, 2 * d + 1, r->now - 1);
        for (unsigned k = 0; k < d; k++) {
            assert_false(ldst_can_issue(r->l));
            step(r);
        }
        assert_true(ldst_can_issue(r->l));
        ldst_issue(r->l, next, r->now - 1);
        until(r, at + d + 26 + 3 * (d - 1));
        assert_int_equal(done_cycle(r, 2 * d), 0);
        step(r);
        assert_int_equal(done_cycle(r, 2 * d), at + d + 26 + 3 * (d - 1) + 1);
        assert_int_equal(wait_done(r, 2 * d + 1), at + 2 * d + 26 + 3 * (d - 1) + 1);
    }
    assert_true(ldst_idle(r->l));
    rig_free(r);
}

/* An access that shifts its address has its result later; the next one has not. */
static void
scratchpad_scaled_addresses_delay_results(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"scratchpad.scaled_latency", "6"},
                                         {NULL, NULL}};
    struct rig *r = rig_new(set);
    for (unsigned d = 1; d <= 32; d *= 2) {
        struct exec_access a = access_at(SHARED, "load", 0, 4 * d, 4);
        uint16_t op = ldst_prepare(r->l, &a, 0, 2 * d, r->now - 1);
        ldst_scaled(r->l, op);
        uint64_t at = r->now - 1;
        ldst_issue(r->l, op, at);
        assert_int_equal(wait_done(r, 2 * d), at + d + 26 + 6 + 1);
        at = issue(r, &a, 0, 2 * d + 1);
        assert_int_equal(wait_done(r, 2 * d + 1), at + d + 26 + 1);
    }
    assert_true(ldst_idle(r->l));
    rig_free(r);
}

static void
scratchpad_throughput_is_one_access_per_conflict_degree(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    for (unsigned d = 1; d <= 4; d *= 2) {
        struct exec_access a = access_at(SHARED, "load", 0, 4 * d, 4);
        uint64_t first = issue(r, &a, 0, 1000 * d);
        for (unsigned i = 1; i < 20; i++) {
            uint16_t op = ldst_prepare(r->l, &a, 0, 1000 * d + i, r->now - 1);
            assert_false(ldst_can_issue(r->l)); /* busy for d cycles */
            for (unsigned k = 0; k < d; k++) {
                assert_false(ldst_can_issue(r->l));
                step(r);
            }
            assert_true(ldst_can_issue(r->l));
            ldst_issue(r->l, op, r->now - 1);
        }
        assert_int_equal(wait_done(r, 1000 * d + 19), first + 19 * d + d + 27);
    }
    rig_free(r);
}

static void
scratchpad_stores_leave_when_the_banks_are_done(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    struct exec_access a = access_at(SHARED, "store", 0, 16, 4);
    uint64_t at = issue(r, &a, 3, 1);
    until(r, at + 3);
    assert_int_equal(ldst_outstanding(r->l, 3), 1);
    assert_false(ldst_can_issue(r->l));
    until(r, at + 4);
    assert_int_equal(ldst_outstanding(r->l, 3), 0);
    assert_true(ldst_can_issue(r->l));
    assert_int_equal(r->ndone, 0);
    rig_free(r);
}

static void
scratchpad_atomics_return_and_are_counted(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    struct exec_access a = access_at(SHARED, "atomic", 0, 0, 4);
    uint64_t at = issue(r, &a, 2, 7);
    until(r, at + 1 + 25);
    assert_int_equal(ldst_atomics(r->l, 2), 1);
    until(r, at + 1 + 26); /* performed; the register is written a cycle later */
    assert_int_equal(ldst_atomics(r->l, 2), 0);
    assert_int_equal(done_cycle(r, 7), 0);
    assert_int_equal(wait_done(r, 7), at + 1 + 27); /* conflicts not charged */
    assert_int_equal(ldst_atomics(r->l, 2), 0);
    rig_free(r);
    const char *const set[][2] = {{"scratchpad.atomic_conflicts", "true"}, {NULL, NULL}};
    r = rig_new(set);
    at = issue(r, &a, 2, 7);
    assert_int_equal(wait_done(r, 7), at + 32 + 27);
    rig_free(r);
}

/* -- constants -- */

static void
constants_take_a_cycle_a_line(void **state)
{
    (void)state;
    static const struct {
        uint64_t step;
        unsigned lines;
    } t[] = {{0, 1}, {4, 2}, {16, 8}, {64, 32}};
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        struct rig *r = rig_new(NULL);
        struct exec_access a = access_at(PTX_SPACE_CONST, "load", 0, t[i].step, 4);
        issue(r, &a, 0, 1);
        assert_true(wait_done(r, 1) > 100);
        assert_int_equal(r->st.l1c_misses, t[i].lines);
        assert_int_equal(r->nsent, t[i].lines);
        assert_int_equal(r->sent[0].client, PKT_L1C);
        assert_int_equal(r->sent[0].bytes, 64);
        uint64_t at = issue(r, &a, 0, 2);
        until(r, at + t[i].lines - 1);
        assert_int_equal(done_cycle(r, 2), 0);
        until(r, at + t[i].lines);
        assert_int_equal(done_cycle(r, 2), at + t[i].lines);
        assert_int_equal(r->st.l1c_hits, t[i].lines);
        /* Parameters are other lines of the same cache. */
        a = access_at(PTX_SPACE_PARAM, "load", 0, 0, 4);
        issue(r, &a, 0, 3);
        wait_done(r, 3);
        assert_int_equal(r->st.l1c_misses, t[i].lines + 1);
        rig_free(r);
    }
}

/* -- textures -- */

#define TEXTURE PTX_SPACE_TEX

static uint64_t texels[64];

/* A fetch of n texels, `step_` bytes apart. */
static struct exec_access
fetch_at(uint64_t base, unsigned n, uint64_t step_)
{
    struct exec_access a = {
        .space = TEXTURE, .bytes = 4, .mask = ~0u, .load = true, .list = texels};
    for (a.nlist = 0; a.nlist < n; a.nlist++)
        texels[a.nlist] = base + a.nlist * step_;
    return a;
}

static const char *const with_l1t[][2] = {{"l1t.enabled", "true"}, {NULL, NULL}};

static void
texture_hit_latency(void **state)
{
    (void)state;
    struct rig *r = rig_new(with_l1t);
    for (unsigned lines = 1; lines <= 3; lines++) {
        struct exec_access a = fetch_at(0x10000000 + 4096 * lines, lines, 128);
        uint64_t at = issue(r, &a, 0, 10 * lines);
        unsigned before = r->nsent;
        /* looked up in the next cycle, sent a cycle later; four pieces, one a cycle */
        assert_int_equal(wait_done(r, 10 * lines), at + 2 + 100 + 4 * lines - 1 + 2);
        assert_int_equal(r->nsent, before + lines);
        assert_int_equal(r->sent[before].client, PKT_L1T);
        assert_int_equal(r->sent[before].bytes, 128);
        assert_int_equal(r->sent[before].sectors, 15);
        at = issue(r, &a, 0, 10 * lines + 1);
        until(r, at + lines + 2);
        assert_int_equal(done_cycle(r, 10 * lines + 1), 0);
        step(r);
        assert_int_equal(done_cycle(r, 10 * lines + 1), at + lines + 3);
        assert_int_equal(r->nsent, before + lines);
    }
    assert_int_equal(r->st.l1t_hits, 6);
    assert_int_equal(r->st.l1t_misses, 6);
    assert_int_equal(r->st.packets_texture, 6);
    assert_int_equal(r->st.l1d_accesses, 0);
    assert_true(ldst_idle(r->l));
    rig_free(r);
}

/* A line counts as present from its miss on; results come out in order. */
static void
texture_results_keep_their_order(void **state)
{
    (void)state;
    struct rig *r = rig_new(with_l1t);
    struct exec_access here = fetch_at(0x10000000, 1, 0);
    issue(r, &here, 0, 1);
    wait_done(r, 1);
    struct exec_access far = fetch_at(0x20000000, 1, 0);
    issue(r, &far, 1, 2); /* a miss */
    issue(r, &far, 2, 3); /* the same line: no second request */
    texels[0] = 0x10000000;
    issue(r, &here, 3, 4); /* data are here: behind the miss all the same */
    uint64_t miss = wait_done(r, 2);
    assert_int_equal(done_cycle(r, 3), 0);
    assert_int_equal(done_cycle(r, 4), 0);
    assert_int_equal(wait_done(r, 3), miss + 1);
    assert_int_equal(wait_done(r, 4), miss + 2);
    assert_int_equal(r->nsent, 2);
    assert_int_equal(r->st.l1t_misses, 2);
    assert_int_equal(r->st.l1t_hits, 2);
    rig_free(r);
}

/* Lines of one set beyond its ways: the least recently used one leaves. */
static void
texture_lines_are_replaced_by_age(void **state)
{
    (void)state;
    const char *const set[][2] = {
        {"l1t.enabled", "true"}, {"l1t.sets", "2"}, {"l1t.ways", "2"}, {NULL, NULL}};
    struct rig *r = rig_new(set);
    /* lines 0, 2, 4, 6 share a set; 1 has the other */
    static const unsigned line[] = {0, 2, 0, 4, 0, 2, 1, 0, 2};
    static const bool hit[] = {0, 0, 1, 0, 1, 0, 0, 1, 1};
    for (unsigned i = 0; i < sizeof line / sizeof *line; i++) {
        uint64_t hits = r->st.l1t_hits;
        struct exec_access a = fetch_at(0x10000000 + 128 * line[i], 1, 0);
        issue(r, &a, 0, i + 1);
        assert_true(wait_done(r, i + 1));
        assert_int_equal(r->st.l1t_hits - hits, hit[i]);
    }
    rig_free(r);
}

/* Nothing is there before, and nothing leaves: as fast as hits (texture_hit_latency). */
static void
perfect_texture_cache_asks_for_nothing(void **state)
{
    (void)state;
    const char *const set[][2] = {
        {"l1t.enabled", "true"}, {"l1t.perfect", "true"}, {NULL, NULL}};
    struct rig *r = rig_new(set);
    for (unsigned i = 0; i < 3; i++) {
        struct exec_access a = fetch_at(0x10000000 + 0x10000 * i, 8, 128);
        uint64_t at = issue(r, &a, 0, i + 1);
        assert_int_equal(wait_done(r, i + 1), at + 8 + 3);
    }
    assert_int_equal(r->st.l1t_accesses, 24);
    assert_int_equal(r->st.l1t_hits, 24);
    assert_int_equal(r->nsent, 0);
    rig_free(r);
}

static void
texture_fifos_refuse_when_full(void **state)
{
    (void)state;
    /* Of eight misses, those accepted before the memory answers; of the request FIFO,
     * while the port is closed. */
    static const struct {
        const char *setting, *value;
        unsigned accepted;
    } t[] = {{"l1t.fragments", "5", 5},
             {"l1t.reorder", "3", 3},
             {"l1t.requests", "2", 2 + 4}, /* and four in the port's queue */
             {"l1t.results", "1", 8}};
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        const char *const set[][2] = {
            {"l1t.enabled", "true"}, {t[i].setting, t[i].value}, {NULL, NULL}};
        struct rig *r = rig_new(set);
        r->latency = 500;
        r->closed = !strcmp(t[i].setting, "l1t.requests");
        struct exec_access a = fetch_at(0x10000000, 8, 128);
        issue(r, &a, 0, 1);
        until(r, r->now + 200);
        assert_int_equal(r->st.l1t_accesses, t[i].accepted);
        assert_int_equal(ldst_can_issue(r->l), t[i].accepted == 8);
        assert_true(r->closed || ldst_next_event(r->l, r->now - 1) == NEVER);
        r->closed = false;
        assert_true(wait_done(r, 1) > 500);
        assert_int_equal(r->st.l1t_misses, 8);
        assert_true(t[i].accepted == 8 ? !r->st.l1t_reservation_fails
                                       : r->st.l1t_reservation_fails > 150);
        rig_free(r);
    }
}

static void
texture_lines_stay_for_the_next_launch(void **state)
{
    (void)state;
    for (unsigned flush = 0; flush < 2; flush++) {
        const char *const set[][2] = {{"l1t.enabled", "true"},
                                      {"gpu.flush_l1t", flush ? "true" : "false"},
                                      {NULL, NULL}};
        struct rig *r = rig_new(set);
        struct exec_access a = fetch_at(0x10000000, 1, 0);
        issue(r, &a, 0, 1);
        wait_done(r, 1);
        ldst_begin(r->l, r->now);
        issue(r, &a, 0, 2);
        assert_true(wait_done(r, 2));
        assert_int_equal(r->st.l1t_misses, 1 + flush);
        rig_free(r);
    }
}

static void
textures_without_a_cache_use_the_l1(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    struct exec_access a = fetch_at(0x10000000, 2, 128);
    issue(r, &a, 0, 1);
    assert_true(wait_done(r, 1));
    assert_int_equal(r->st.l1d_load_accesses, 2);
    assert_int_equal(r->st.l1t_accesses, 0);
    rig_free(r);
}

/* -- L1 data -- */

static void
l1_hit_latency(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 4, 4);
    uint64_t at = issue(r, &a, 0, 1);
    uint64_t miss = wait_done(r, 1);
    /* Tags are looked up at the end of the latency; the miss is sent a cycle later; the
     * four pieces come after the memory's latency, one a cycle; then write-back. */
    assert_int_equal(r->sent_at[0], at + 1 + 10 + 1);
    assert_int_equal(r->sent[0].sectors, 15);
    assert_int_equal(r->sent[0].bytes, 128);
    assert_int_equal(miss, r->sent_at[0] + 100 + 3 + 2);
    at = issue(r, &a, 0, 2);
    until(r, at + 1 + 10 - 1);
    assert_int_equal(done_cycle(r, 2), 0);
    step(r);
    assert_int_equal(done_cycle(r, 2), at + 1 + 10);
    assert_int_equal(r->st.l1d_hits, 1);
    assert_int_equal(r->st.l1d_misses, 1);
    rig_free(r);
}

static void
l1_takes_one_access_a_cycle_and_a_bank(void **state)
{
    (void)state;
    for (unsigned banks = 1; banks <= 4; banks *= 4) {
        const char *const set[][2] = {{"l1d.banks", banks == 4 ? "4" : "1"},
                                      {NULL, NULL}};
        struct rig *r = rig_new(set);
        struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 128, 4);
        issue(r, &a, 0, 1);
        wait_done(r, 1);
        uint64_t at = issue(r, &a, 0, 2);
        assert_int_equal(wait_done(r, 2), at + 32 / banks + 10);
        assert_int_equal(r->st.l1d_hits, 32);
        rig_free(r);
    }
}

static void
l1_port_narrower_than_the_access_takes_several_cycles(void **state)
{
    (void)state;
    const char *const set[][2] = {{"l1d.port", "32"}, {NULL, NULL}};
    struct rig *r = rig_new(set);
    struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 16, 16); /* four lines */
    issue(r, &a, 0, 1);
    wait_done(r, 1);
    uint64_t at = issue(r, &a, 0, 2);
    assert_int_equal(wait_done(r, 2), at + 1 + 10 + 3 * 4);
    rig_free(r);
}

static void
pending_lines_merge_and_fill_once(void **state)
{
    (void)state;
    const char *const set[][2] = {{"l1d.merge", "3"}, {NULL, NULL}};
    struct rig *r = rig_new(set);
    r->latency = 0;
    struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 4, 4);
    for (unsigned i = 1; i <= 4; i++)
        issue(r, &a, i, i);
    until(r, r->now + 200);
    assert_int_equal(r->nsent, 1);
    assert_int_equal(r->st.l1d_misses, 1);
    assert_int_equal(r->st.l1d_pending_hits, 2); /* the fourth waits for the fill */
    assert_int_equal(r->ndone, 0);
    uint64_t fill = r->now + 50;
    answer(r, &r->sent[0], fill);
    until(r, fill + 3 + 1);
    /* The fourth finds the line there as the last piece has come: no write-back port. */
    assert_int_equal(done_cycle(r, 4), fill + 3);
    assert_int_equal(done_cycle(r, 1), 0);
    until(r, fill + 3 + 10);
    for (uint32_t i = 1; i <= 3; i++) /* one write-back a cycle, in order of arrival */
        assert_int_equal(done_cycle(r, i), fill + 3 + 1 + i);
    assert_true(r->st.l1d_reservation_fails > 200);
    assert_int_equal(r->st.l1d_hits, 1);
    rig_free(r);
}

/* Data come faster than they are written back, which takes a cycle an access, and MSHRs are
 * free again as they come. 16 * 8 accesses may wait for write-back; with more of them, fills
 * wait. */
static void
fills_wait_for_write_back(void **state)
{
    (void)state;
    const char *const set[][2] = {{"l1d.mshrs", "16"},      {"l1d.merge", "8"},
                                  {"l1d.sector", "32"},     {"l1d.banks", "16"},
                                  {"l1d.miss_queue", "64"}, {"l1d.sets", "64"},
                                  {"l1d.ways", "64"},       {NULL, NULL}};
    enum { LOADS = 400 };
    struct rig *r = rig_new(set);
    r->latency = 1;
    uint32_t token = 0;
    for (unsigned group = 0; group < LOADS / 8; group++)
        for (unsigned i = 0; i < 8; i++) {
            struct exec_access a =
                access_at(GLOBAL, "load", 0x10000000 + group * 16 * 128, 128, 4);
            a.mask = 0xffff;
            issue(r, &a, i, ++token);
        }
    for (unsigned k = 0; k < 20000 && !ldst_idle(r->l); k++)
        step(r);
    assert_true(ldst_idle(r->l));
    assert_int_equal(r->ndone, LOADS);
    for (uint32_t i = 1; i <= LOADS; i++)
        assert_true(done_cycle(r, i) != 0);
    rig_free(r);
}

/* allocate: fill. Dirty lines of local memory leave as others are filled, and the interconnect
 * takes nothing until replies are taken: fills must not wait for it. */
static void
fills_do_not_wait_for_the_interconnect(void **state)
{
    (void)state;
    const char *const set[][2] = {{"l1d.allocate", "fill"},
                                  {"l1d.sets", "1"},
                                  {"l1d.ways", "4"},
                                  {"l1d.miss_queue", "2"},
                                  {"l1d.mshrs", "32"},
                                  {"l1d.write", "local-back"},
                                  {"l1d.write_allocate", "lazy-fetch"},
                                  {NULL, NULL}};
    struct rig *r = rig_new(set);
    r->latency = 0;
    r->split = false;
    uint32_t token = 0;
    for (unsigned k = 0; k < 4; k++) { /* four dirty lines */
        struct exec_access a = access_at(LOCAL, "store", 4 * k, 0, 4);
        issue(r, &a, 0, ++token);
    }
    until(r, r->now + 50);
    for (unsigned k = 0; k < 8; k++) { /* eight misses */
        struct exec_access a = access_at(GLOBAL, "load", 0x10000000 + 128 * k, 0, 4);
        issue(r, &a, 0, 100 + k);
    }
    until(r, r->now + 50);
    const unsigned asked = r->nsent;
    assert_int_equal(asked, 8);
    r->closed = true;
    struct exec_access a = access_at(GLOBAL, "atomic", 0x20000000, 128, 4);
    issue(r, &a, 1, 200); /* fills the port; write-backs fill the queue */
    for (unsigned k = 0; k < asked; k++)
        answer(r, &r->sent[k], r->now + 1 + k);
    until(r, r->now + 200);
    for (unsigned k = 0; k < 8; k++)
        assert_true(done_cycle(r, 100 + k) != 0);
    assert_int_equal(r->nreply, 0);
    assert_int_equal(r->st.l1d_writebacks, 4);
    rig_free(r);
}

static void
misses_stop_without_mshr_line_or_queue(void **state)
{
    (void)state;
    static const struct {
        const char *set[4][2];
        uint64_t step;
        unsigned misses;
        bool closed;
    } t[] = {{{{"l1d.mshrs", "5"}}, 128, 5, false},
             {{{"l1d.ways", "2"}, {"l1d.sets", "4"}}, 512, 2, false},
             /* four packets wait at the port, the queue holds eight: two must be free
              * (the miss and a line written back) */
             {{{NULL, NULL}}, 128, 4 + 7, true}};
    for (unsigned i = 0; i < 3; i++) {
        struct rig *r = rig_new(t[i].set);
        r->latency = 0;
        r->closed = t[i].closed;
        struct exec_access a = access_at(GLOBAL, "load", 0x10000000, t[i].step, 4);
        issue(r, &a, 0, 1);
        until(r, r->now + 300);
        assert_int_equal(r->st.l1d_misses, t[i].misses);
        assert_int_equal(r->st.l1d_accesses, t[i].misses);
        /* Blocked by what only the outside can change: no event of its own. */
        assert_true(ldst_next_event(r->l, r->now - 1) == NEVER);
        r->closed = false;
        r->latency = 20;
        for (unsigned k = 0; k < r->nsent; k++)
            answer(r, &r->sent[k], r->now + 4 * k);
        assert_true(wait_done(r, 1) != 0);
        assert_int_equal(r->st.l1d_misses, 32);
        assert_true(r->st.l1d_reservation_fails > 250);
        assert_true(ldst_idle(r->l));
        rig_free(r);
    }
}

static void
stores_wait_for_every_acknowledgement(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    r->latency = 0;
    struct exec_access a = access_at(GLOBAL, "store", 0x10000004, 4, 4);
    issue(r, &a, 5, 1);
    until(r, r->now + 40);
    assert_int_equal(r->nsent, 2); /* 31 words of one line, one of the next */
    assert_int_equal(r->sent[0].kind, PKT_WRITE);
    assert_int_equal(r->sent[0].bytes, 128);
    assert_int_equal(r->sent[0].byte_mask, ~1u);
    assert_int_equal(r->sent[1].bytes, 32);
    assert_int_equal(r->sent[1].addr, 0x10000080);
    assert_int_equal(r->sent[1].byte_mask, 1);
    assert_int_equal(ldst_outstanding(r->l, 5), 4 + 1); /* sectors */
    assert_int_equal(r->st.l1d_store_accesses, 2);
    assert_int_equal(r->st.l1d_misses, 2);
    uint64_t t = r->now + 10;
    answer(r, &r->sent[0], t);
    answer(r, &r->sent[1], t + 10);
    until(r, t + 9);
    assert_int_equal(ldst_outstanding(r->l, 5), 1);
    assert_false(ldst_idle(r->l));
    until(r, t + 10);
    assert_int_equal(ldst_outstanding(r->l, 5), 0);
    assert_true(ldst_idle(r->l));
    assert_int_equal(r->ndone, 0);
    rig_free(r);
}

static void
a_global_store_drops_the_line(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    r->split = false; /* one acknowledgement for the whole packet */
    struct exec_access ld = access_at(GLOBAL, "load", 0x10000000, 4, 4);
    struct exec_access st = access_at(GLOBAL, "store", 0x10000000, 4, 4);
    issue(r, &ld, 0, 1);
    wait_done(r, 1);
    issue(r, &st, 0, 2);
    until(r, r->now + 200);
    assert_int_equal(ldst_outstanding(r->l, 0), 0);
    issue(r, &ld, 0, 3);
    wait_done(r, 3);
    assert_int_equal(r->st.l1d_load_misses, 2);
    assert_int_equal(r->st.packets_read, 2);
    assert_int_equal(r->st.packets_write, 1);
    rig_free(r);
}

static void
local_stores_are_kept_and_written_back(void **state)
{
    (void)state;
    const char *const set[][2] = {{"l1d.sets", "1"}, {"l1d.ways", "2"}, {NULL, NULL}};
    struct rig *r = rig_new(set);
    struct exec_access ld = access_at(LOCAL, "load", 8, 0, 4);
    struct exec_access st = access_at(LOCAL, "store", 8, 0, 4);
    issue(r, &st, 2, 1); /* no line: sent on */
    until(r, r->now + 200);
    assert_int_equal(r->nsent, 1);
    issue(r, &ld, 2, 2);
    wait_done(r, 2);
    issue(r, &st, 2, 3); /* line there: kept */
    until(r, r->now + 200);
    assert_int_equal(r->nsent, 2);
    assert_int_equal(ldst_outstanding(r->l, 2), 0);
    /* Interleaving: word 2 of warp 2 of SM 1, 1536 threads an SM, 15 SMs. */
    assert_int_equal(r->sent[1].addr,
                     ((uint64_t)1 << 40) + 4 * (2 * 1536 * 15 + 1536 + 64));
    /* Two more lines drive it out: a write of all words that nobody waits for. */
    for (unsigned k = 1; k <= 2; k++) {
        ld = access_at(LOCAL, "load", 8 + 4 * k, 0, 4);
        issue(r, &ld, 2, 3 + k);
        wait_done(r, 3 + k);
    }
    until(r, r->now + 200);
    assert_int_equal(r->st.l1d_writebacks, 1);
    assert_int_equal(r->nsent, 5);
    unsigned w = r->sent[3].kind == PKT_WRITE ? 3 : 4;
    assert_int_equal(r->sent[w].kind, PKT_WRITE);
    assert_int_equal(r->sent[w].addr, r->sent[1].addr);
    assert_int_equal(r->sent[w].bytes, 128);
    assert_int_equal(r->sent[w].byte_mask, 0xffffffff);
    assert_true(ldst_idle(r->l));
    rig_free(r);
}

/* -- past the L1 -- */

static void
cg_loads_go_past_the_l1_by_sector(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 4, 4);
    a.cache = PTX_CACHE_CG;
    uint64_t at = issue(r, &a, 0, 1);
    uint64_t done = wait_done(r, 1);
    assert_int_equal(r->nsent, 4);
    for (unsigned i = 0; i < 4; i++) { /* one a cycle, no L1 latency */
        assert_int_equal(r->sent_at[i], at + 1 + i);
        assert_int_equal(r->sent[i].client, PKT_BYPASS);
        assert_int_equal(r->sent[i].bytes, 32);
    }
    assert_int_equal(done, at + 4 + 100 + 2);
    assert_int_equal(r->st.l1d_accesses, 0);
    assert_int_equal(r->st.bypass_accesses, 4);
    rig_free(r);
    /* The whole machine without the L1 for global memory; local memory keeps it. */
    const char *const set[][2] = {{"memory.global_in_l1", "false"}, {NULL, NULL}};
    r = rig_new(set);
    a.cache = 0;
    issue(r, &a, 0, 1);
    wait_done(r, 1);
    assert_int_equal(r->st.bypass_accesses, 4);
    a = access_at(LOCAL, "load", 0, 0, 4);
    issue(r, &a, 0, 2);
    wait_done(r, 2);
    assert_int_equal(r->st.l1d_local_accesses, 1);
    rig_free(r);
}

static void
atomics_are_requests_by_lane_or_sector(void **state)
{
    (void)state;
    static const struct {
        uint64_t step;
        unsigned n;
    } t[] = {{0, 32}, {4, 4}, {128, 32}};
    for (unsigned i = 0; i < 3; i++) {
        struct rig *r = rig_new(NULL);
        struct exec_access a = access_at(GLOBAL, "atomic", 0x10000000, t[i].step, 4);
        uint64_t at = issue(r, &a, 9, 1);
        until(r, at + t[i].n + 100);
        assert_int_equal(ldst_atomics(r->l, 9), 1);
        step(r);
        assert_int_equal(ldst_atomics(r->l, 9), 0);
        uint64_t done = wait_done(r, 1);
        assert_int_equal(r->nsent, t[i].n);
        assert_int_equal(r->sent[0].kind, PKT_ATOMIC);
        assert_int_equal(r->st.packets_atomic, t[i].n);
        assert_int_equal(done, at + t[i].n + 100 + 2);
        assert_int_equal(ldst_atomics(r->l, 9), 0);
        assert_int_equal(ldst_outstanding(r->l, 9), 0);
        rig_free(r);
    }
}

/* memory.atomic_segment: 128, and a memory that answers a packet's sectors each by itself, in
 * pairs, or together. The operation is complete with the last of them, and once. */
static void
an_atomic_of_several_sectors_completes_once(void **state)
{
    (void)state;
    const char *const set[][2] = {{"memory.atomic_segment", "128"}, {NULL, NULL}};
    for (unsigned part = 1; part <= 4; part *= 2) {
        struct rig *r = rig_new(set);
        r->latency = 0;
        struct exec_access a = access_at(GLOBAL, "atomic", 0x10000000, 4, 4);
        issue(r, &a, 3, 1);
        a = access_at(GLOBAL, "atomic", 0x20000000, 8, 4); /* two segments */
        issue(r, &a, 3, 2);
        until(r, r->now + 20);
        assert_int_equal(r->nsent, 3);
        uint64_t last[3] = {0};
        for (unsigned i = 0; i < 3; i++)
            for (unsigned s = 0; s < 4; s += part) {
                struct packet x = r->sent[i];
                assert_int_equal(x.sectors, 15);
                x.sectors = (uint8_t)(((1u << part) - 1) << s);
                r->reply[r->nreply] = x;
                r->at[r->nreply++] = last[i ? 2 : 1] = r->now + 40 + 12 * i + s;
            }
        until(r, last[1] + 1);
        assert_int_equal(r->ndone, 0);
        assert_int_equal(wait_done(r, 1), last[1] + 2);
        assert_int_equal(ldst_atomics(r->l, 3), 1);
        assert_int_equal(wait_done(r, 2), last[2] + 2);
        until(r, r->now + 200);
        assert_int_equal(r->ndone, 2);
        assert_true(ldst_idle(r->l));
        rig_free(r);
    }
}

static void
a_full_port_holds_bypassed_accesses(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    r->closed = true;
    struct exec_access a = access_at(GLOBAL, "atomic", 0x10000000, 128, 4);
    issue(r, &a, 0, 1);
    until(r, r->now + 50);
    assert_int_equal(r->st.bypass_accesses, 4); /* room for four packets */
    assert_true(ldst_next_event(r->l, r->now - 1) == NEVER);
    assert_false(ldst_can_issue(r->l));
    r->closed = false;
    step(r);
    assert_int_equal(ldst_next_event(r->l, r->now - 1), r->now);
    assert_true(wait_done(r, 1) != 0);
    rig_free(r);
}

static void
a_generic_access_to_several_spaces_completes(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    struct exec_access a = access_at(PTX_SPACE_NONE, "load", 0, 0, 4);
    static const uint8_t space[4] = {PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_LOCAL,
                                     PTX_SPACE_CONST};
    for (unsigned i = 0; i < 32; i++) {
        a.lane_space[i] = space[i % 4];
        a.addr[i] = space[i % 4] == PTX_SPACE_GLOBAL ? 0x10000000 + 4 * i : i / 4 * 4;
    }
    issue(r, &a, 0, 1);
    assert_true(wait_done(r, 1) > 100);
    assert_int_equal(r->st.l1c_accesses, 1);
    assert_int_equal(r->st.scratchpad_accesses, 1);
    assert_int_equal(r->st.l1d_accesses, 1 + 8); /* a line; eight words of local memory */
    assert_true(ldst_idle(r->l));
    rig_free(r);
}

/* -- instruction fetch -- */

static void
fetch_misses_once_wakes_all(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    until(r, 10);
    uint64_t code = 0x20000000;
    assert_int_equal(ldst_fetch(r->l, code, 3, 10), FETCH_MISS);
    assert_int_equal(ldst_fetch(r->l, code + 64, 70, 10), FETCH_MISS);
    until(r, 11);
    assert_int_equal(r->nsent, 1);
    assert_int_equal(r->sent_at[0], 11);
    assert_int_equal(r->sent[0].client, PKT_L1I);
    assert_int_equal(r->sent[0].bytes, 128);
    until(r, 11 + 100 + 2);
    assert_int_equal(ldst_fetch_woken(r->l)[0] | ldst_fetch_woken(r->l)[1], 0);
    step(r);
    assert_true(ldst_fetch_woken(r->l)[0] == (uint64_t)1 << 3);
    assert_true(ldst_fetch_woken(r->l)[1] == (uint64_t)1 << (70 - 64));
    assert_int_equal(ldst_fetch(r->l, code + 120, 3, r->now), FETCH_HIT);
    /* two MSHRs, then retry */
    assert_int_equal(ldst_fetch(r->l, code + 128, 3, r->now), FETCH_MISS);
    assert_int_equal(ldst_fetch(r->l, code + 256, 4, r->now), FETCH_MISS);
    assert_int_equal(ldst_fetch(r->l, code + 384, 5, r->now), FETCH_RETRY);
    assert_int_equal(r->st.l1i_accesses, 5);
    assert_int_equal(r->st.l1i_hits, 1);
    assert_int_equal(r->st.l1i_pending_hits, 1);
    assert_int_equal(r->st.l1i_misses, 3);
    assert_int_equal(r->st.l1i_reservation_fails, 1);
    rig_free(r);
}

/* -- skipping -- */

static uint64_t rng;

static uint32_t
rnd(uint32_t n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((rng >> 33) % n);
}

/* textures: some are fetches. */
static struct exec_access
random_access(bool textures)
{
    static const uint8_t spaces[] = {GLOBAL, GLOBAL,          GLOBAL,         SHARED,
                                     LOCAL,  PTX_SPACE_CONST, PTX_SPACE_PARAM};
    static const uint64_t steps[] = {0, 4, 8, 16, 128, 132, 4096};
    if (textures && rnd(3) == 0)
        return fetch_at(0x10000000 + rnd(40) * 64, 1 + rnd(20), 32u << rnd(4));
    unsigned space = spaces[rnd(sizeof spaces)];
    const char *kind =
        rnd(3) || space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM ? "load" : "store";
    if ((space == GLOBAL || space == SHARED) && rnd(8) == 0)
        kind = "atomic";
    struct exec_access a =
        access_at(space, kind, (space == GLOBAL ? 0x10000000 : 0) + rnd(64) * 128,
                  space == LOCAL ? 0 : steps[rnd(7)], 4u << rnd(3));
    if (space != LOCAL)
        for (unsigned i = 0; i < 32; i++)
            a.addr[i] &= ~(uint64_t)(a.bytes - 1);
    a.mask = rnd(4) ? ~0u : rnd(~0u) | 1;
    a.cache = space == GLOBAL && rnd(6) == 0 ? PTX_CACHE_CG : 0;
    return a;
}

/* The same random work, every cycle stepped in full or only those that next_event names.
 */
static void
drive(const char *const set[][2], uint64_t seed, bool skip, struct rig **out)
{
    struct rig *r = rig_new(set);
    ldst_no_skip(r->l, !skip);
    rng = seed;
    unsigned left = 150, stuck = 0;
    uint64_t next_issue = 1, next_fetch = 1, open_from = 0;
    uint16_t op = LDST_NO_OP;
    while (left || op != LDST_NO_OP || !ldst_idle(r->l)) {
        uint64_t t = r->now;
        r->closed = t < open_from;
        step(r);
        if (ldst_can_issue(r->l) && op != LDST_NO_OP) {
            ldst_issue(r->l, op, t);
            op = LDST_NO_OP;
        }
        if (left && op == LDST_NO_OP && t >= next_issue) {
            struct exec_access a = random_access(r->m->l1t.enabled);
            op = ldst_prepare(r->l, &a, rnd(48), left--, t);
            assert_int_not_equal(op, LDST_NO_OP);
            next_issue = t + 1 + (rnd(3) ? 0 : rnd(60));
            if (rnd(10) == 0)
                open_from = t + rnd(300);
            r->latency = 20 + rnd(200);
            r->split = rnd(2);
        }
        if (left && t >= next_fetch) {
            ldst_fetch(r->l, 0x20000000 + rnd(100) * 128, rnd(48), t);
            next_fetch = t + 1 + rnd(200);
        }
        uint64_t own = ldst_next_event(r->l, t);
        assert_true(own > t);
        if (skip) {
            uint64_t next = own;
            if (op != LDST_NO_OP && ldst_can_issue(r->l))
                next = t + 1;
            if (left && op == LDST_NO_OP && next_issue < next)
                next = next_issue;
            if (left && next_fetch < next)
                next = next_fetch;
            for (unsigned i = 0; i < r->nreply; i++)
                if (r->at[i] < next)
                    next = r->at[i];
            if (ldst_out_front(r->l) && open_from < next)
                next = open_from;
            if (r->nreply && !ldst_can_receive(r->l))
                next = t + 1;
            r->now = next > t ? next : t + 1;
        }
        stuck = left || op != LDST_NO_OP ? 0 : stuck + 1;
        assert_true(stuck < 200000 && r->nsent < 4000 && r->ndone < 4000);
    }
    *out = r;
}

static void
skipping_changes_nothing(void **state)
{
    (void)state;
    static const char *const sets[][8][2] = {
        {{NULL, NULL}},
        {{"l1d.mshrs", "3"}, {"l1d.merge", "2"}, {"l1d.miss_queue", "2"}, {NULL, NULL}},
        {{"l1d.ways", "1"},
         {"l1d.sets", "4"},
         {"l1c.mshrs", "1"},
         {"l1c.miss_queue", "1"},
         {NULL, NULL}},
        {{"memory.coalesce", "sector"},
         {"l1d.sector", "32"},
         {"l1d.banks", "4"},
         {"l1d.port", "16"},
         {"l1d.allocate", "fill"},
         {NULL, NULL}},
        {{"memory.global_in_l1", "false"},
         {"scratchpad.latency", "2"},
         {"l1d.latency", "1"},
         {NULL, NULL}},
        {{"l1d.write", "back"},
         {"l1d.write_allocate", "fetch"},
         {"l1d.ways", "2"},
         {"l1d.sets", "2"},
         {"l1d.miss_queue", "1"},
         {NULL, NULL}},
        {{"l1d.write", "back"},
         {"l1d.write_allocate", "lazy-fetch"},
         {"l1d.ways", "2"},
         {"l1d.sets", "2"},
         {"l1d.sector", "32"},
         {NULL, NULL}},
        {{"l1t.enabled", "true"}, {NULL, NULL}},
        {{"l1t.enabled", "true"},
         {"l1t.fragments", "12"},
         {"l1t.requests", "1"},
         {"l1t.reorder", "5"},
         {"l1t.results", "1"},
         {"l1t.ways", "2"},
         {"l1t.line", "64"},
         {NULL, NULL}},
    };
    uint64_t fails = 0, writebacks = 0, texture_fails = 0;
    for (unsigned s = 0; s < sizeof sets / sizeof *sets; s++)
        for (uint64_t seed = 1; seed <= 25; seed++) {
            struct rig *a, *b;
            drive(sets[s], seed, false, &a);
            drive(sets[s], seed, true, &b);
            assert_memory_equal(&a->st, &b->st, sizeof a->st);
            assert_int_equal(a->ndone, b->ndone);
            assert_int_equal(a->nsent, b->nsent);
            for (unsigned i = 0; i < a->ndone; i++) {
                assert_int_equal(a->done[i], b->done[i]);
                assert_int_equal(a->done_at[i], b->done_at[i]);
            }
            for (unsigned i = 0; i < a->nsent; i++) {
                assert_int_equal(a->sent[i].addr, b->sent[i].addr);
                assert_int_equal(a->sent[i].kind, b->sent[i].kind);
                assert_int_equal(a->sent_at[i], b->sent_at[i]);
            }
            const struct stat_sm *x = &a->st;
            assert_int_equal(x->l1d_accesses,
                             x->l1d_hits + x->l1d_pending_hits + x->l1d_misses);
            assert_int_equal(x->l1d_accesses, x->l1d_load_accesses +
                                                  x->l1d_store_accesses +
                                                  x->l1d_local_accesses);
            assert_int_equal(x->l1c_accesses,
                             x->l1c_hits + x->l1c_pending_hits + x->l1c_misses);
            assert_int_equal(x->scratchpad_cycles,
                             x->scratchpad_accesses + x->scratchpad_conflict_cycles);
            assert_int_equal(x->packets_instruction, x->l1i_misses);
            fails += x->l1d_reservation_fails + x->l1c_reservation_fails;
            writebacks += x->l1d_writebacks;
            assert_int_equal(x->l1t_accesses, x->l1t_hits + x->l1t_misses);
            assert_int_equal(x->l1t_misses, x->packets_texture);
            texture_fails += x->l1t_reservation_fails;
            rig_free(a);
            rig_free(b);
        }
    assert_true(fails > 10000);
    assert_true(writebacks > 100);
    assert_true(texture_fails > 10000);
}

static void
explains_who_waits(void **state)
{
    (void)state;
    struct rig *r = rig_new(NULL);
    r->latency = 0;
    struct exec_access a = access_at(GLOBAL, "load", 0x10000000, 4, 4);
    issue(r, &a, 6, 1);
    until(r, r->now + 50);
    struct strbuf out = {0};
    ldst_explain(r->l, &out);
    assert_non_null(strstr(out.s, "1 L1D"));
    assert_non_null(strstr(out.s, "warp 6: 1 "));
    strbuf_free(&out);
    rig_free(r);
}

/* Of the parts of a line, or of a warp's acknowledgements, the SM sees the last; a sector
 * of a sectored cache is whole by itself. */
static void
replies_that_complete_nothing_are_no_cycle(void **state)
{
    (void)state;
    for (unsigned sectored = 0; sectored < 2; sectored++) {
        const char *const set[][2] = {
            {"l1d.sector", sectored ? "32" : "0"}, {"l1d.line", "128"}, {NULL, NULL}};
        struct rig *r = rig_new(set);
        struct exec_access a = access_at(GLOBAL, "load", 0x1000, 4, 4);
        issue(r, &a, 0, 1);
        assert_true(wait_done(r, 1));
        assert_int_equal(r->received, 4);
        assert_int_equal(r->seen, sectored ? 4 : 1);
        a = access_at(GLOBAL, "store", 0x2000, 4, 4);
        issue(r, &a, 3, 2);
        until(r, r->now + 300);
        assert_int_equal(r->received, 8);
        assert_int_equal(r->seen, (sectored ? 4 : 1) + 1);
        assert_int_equal(ldst_outstanding(r->l, 3), 0);
        assert_true(ldst_idle(r->l));
        rig_free(r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_are_counted_by_kind),
        cmocka_unit_test(copies_have_32_segments),
        cmocka_unit_test(inputs_have_the_write_back_port_in_turn),
        cmocka_unit_test(scratchpad_latency_and_conflicts),
        cmocka_unit_test(scratchpad_conflicts_delay_results),
        cmocka_unit_test(scratchpad_scaled_addresses_delay_results),
        cmocka_unit_test(scratchpad_throughput_is_one_access_per_conflict_degree),
        cmocka_unit_test(scratchpad_stores_leave_when_the_banks_are_done),
        cmocka_unit_test(scratchpad_atomics_return_and_are_counted),
        cmocka_unit_test(constants_take_a_cycle_a_line),
        cmocka_unit_test(texture_hit_latency),
        cmocka_unit_test(texture_results_keep_their_order),
        cmocka_unit_test(texture_lines_are_replaced_by_age),
        cmocka_unit_test(perfect_texture_cache_asks_for_nothing),
        cmocka_unit_test(texture_fifos_refuse_when_full),
        cmocka_unit_test(texture_lines_stay_for_the_next_launch),
        cmocka_unit_test(textures_without_a_cache_use_the_l1),
        cmocka_unit_test(l1_hit_latency),
        cmocka_unit_test(l1_takes_one_access_a_cycle_and_a_bank),
        cmocka_unit_test(l1_port_narrower_than_the_access_takes_several_cycles),
        cmocka_unit_test(pending_lines_merge_and_fill_once),
        cmocka_unit_test(fills_wait_for_write_back),
        cmocka_unit_test(fills_do_not_wait_for_the_interconnect),
        cmocka_unit_test(misses_stop_without_mshr_line_or_queue),
        cmocka_unit_test(stores_wait_for_every_acknowledgement),
        cmocka_unit_test(a_global_store_drops_the_line),
        cmocka_unit_test(local_stores_are_kept_and_written_back),
        cmocka_unit_test(cg_loads_go_past_the_l1_by_sector),
        cmocka_unit_test(atomics_are_requests_by_lane_or_sector),
        cmocka_unit_test(an_atomic_of_several_sectors_completes_once),
        cmocka_unit_test(a_full_port_holds_bypassed_accesses),
        cmocka_unit_test(a_generic_access_to_several_spaces_completes),
        cmocka_unit_test(fetch_misses_once_wakes_all),
        cmocka_unit_test(skipping_changes_nothing),
        cmocka_unit_test(explains_who_waits),
        cmocka_unit_test(replies_that_complete_nothing_are_no_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
