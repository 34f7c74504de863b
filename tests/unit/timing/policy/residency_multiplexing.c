/* residency_multiplexing.c: blocks allocate scratchpad while they run (003 section 5): the
 * management table, the plan, and the mechanism as a state machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/kit/fenced.h"

#include "machine/occupancy.h"
#include "timing/policy/residency/multiplexing.h"
#include "timing/policy/residency/scratch_table.h"

#include <stdlib.h>
#include <string.h>

enum { KB = 1024, SLOTS = 5 };

/* -- the table -- */

static void
assert_entry(const struct scratch_entry *e, unsigned slot, uint32_t size, uint32_t start)
{
    assert_true(e->valid);
    assert_int_equal(e->slot, slot);
    assert_int_equal(e->size, size);
    assert_int_equal(e->start, start);
}

/* Three blocks with 4 KB private and 2 KB public scratchpad in 16 KB. The figure prints 14436
 * for the last address, a slip: 12288 + 2048 is 14336. */
static void
table_of_figure_10(void **st)
{
    struct scratch_entry t[6] = {0};
    (void)st;
    for (unsigned b = 0; b < 3; b++)
        assert_true(scratch_take(t, 6, b, 0, 12 * KB, 4 * KB));
    assert_true(scratch_take(t, 6, 0, 12 * KB, 16 * KB, 2 * KB));
    assert_true(scratch_take(t, 6, 1, 12 * KB, 16 * KB, 2 * KB));
    assert_false(scratch_take(t, 6, 2, 12 * KB, 16 * KB, 2 * KB));
    assert_entry(&t[0], 0, 4 * KB, 0);
    assert_entry(&t[1], 1, 4 * KB, 4096);
    assert_entry(&t[2], 2, 4 * KB, 8192);
    assert_entry(&t[3], 0, 2 * KB, 12288);
    assert_entry(&t[4], 1, 2 * KB, 14336);
    /* Block 0 frees its public part, not its private one. */
    scratch_give(t, 6, 0, 12 * KB);
    assert_true(t[0].valid);
    assert_false(t[3].valid);
    assert_true(scratch_take(t, 6, 2, 12 * KB, 16 * KB, 2 * KB));
    assert_entry(&t[3], 2, 2 * KB, 12288);
}

static void
first_fit_takes_the_lowest(void **st)
{
    struct scratch_entry t[4] = {
        {true, 0, 100, 0}, {true, 1, 100, 200}, {true, 2, 50, 350}};
    (void)st;
    assert_int_equal(scratch_first_fit(t, 4, 0, 1000, 50), 100);
    assert_int_equal(scratch_first_fit(t, 4, 0, 1000, 100), 100);
    assert_int_equal(scratch_first_fit(t, 4, 0, 1000, 101), 400);
    assert_int_equal(scratch_first_fit(t, 4, 120, 1000, 50), 120);
    assert_int_equal(scratch_first_fit(t, 4, 0, 500, 101), -1);
    t[1].valid = false;
    assert_int_equal(scratch_first_fit(t, 4, 0, 1000, 200), 100);
}

/* -- the plan -- */

static struct machine *
gtx285(void)
{
    struct machine *m = machine_new();
    assert_non_null(m);
    m->sm.max_threads = 1024;
    m->sm.max_blocks = 8;
    m->sm.registers = 16384;
    m->sm.scratchpad = m->sm.max_block_scratchpad = 16 * KB;
    m->sm.scratchpad_unit = 512;
    m->sm.scratchpad_reserved = 0;
    return m;
}

static struct multiplexing_plan
plan_of(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p)
{
    struct diag_sink d = {0};
    struct multiplexing_plan x;
    assert_true(residency_find("multiplexing")->plan(m, k, p, &d));
    memcpy(&x, p->own, sizeof x);
    assert_int_equal(x.blocks, p->blocks);
    diag_free(&d);
    return x;
}

/* FFT of Table 1: 8736 bytes and 64 threads a block, one block in 16 KB. */
static void
at_most_k_plus_n_blocks(void **st)
{
    struct machine *m = gtx285();
    struct residency_plan p;
    (void)st;
    struct occ_kernel k = {.threads = 64, .scratchpad = 8736, .allocated = 8736};
    for (unsigned n = 0; n < 7; n++) {
        m->residency.extra_blocks = n;
        struct multiplexing_plan x = plan_of(m, &k, &p);
        assert_int_equal(p.baseline, 1);
        assert_int_equal(p.blocks, 1 + n);
        assert_true(x.dynamic);
        assert_int_equal(x.private_bytes, 0);
        assert_int_equal(x.public_bytes, 9216);
    }
    m->residency.extra_blocks = 64;
    plan_of(m, &k, &p);
    assert_int_equal(p.blocks, 8); /* sm.max_blocks */
    k.threads = 256;
    plan_of(m, &k, &p);
    assert_int_equal(p.blocks, 4); /* sm.max_threads */
    /* MM: threads allow no more than the static allocation does. */
    k = (struct occ_kernel){.threads = 256, .scratchpad = 2084, .allocated = 2084};
    plan_of(m, &k, &p);
    assert_int_equal(p.blocks, 4);
    machine_free(m);
}

/* The document's example: of 6 KB two blocks fit 16 KB; with 4 KB private and 2 KB public
 * three. */
static void
private_parts_leave_one_public_part(void **st)
{
    struct machine *m = gtx285();
    struct residency_plan p;
    (void)st;
    m->residency.extra_blocks = 64;
    struct occ_kernel k = {.threads = 32, .scratchpad = 6 * KB, .allocated = 2 * KB};
    struct multiplexing_plan x = plan_of(m, &k, &p);
    assert_int_equal(p.baseline, 2);
    assert_int_equal(p.blocks, 3);
    assert_int_equal(x.private_bytes, 4 * KB);
    /* Four private parts would leave nothing: 4 * 4 KB > 16 KB - 2 KB. With 3.5 KB each they
     * leave just one public part. */
    k = (struct occ_kernel){.threads = 32, .scratchpad = 5632, .allocated = 2 * KB};
    plan_of(m, &k, &p);
    assert_int_equal(p.blocks, 4);
    k.scratchpad++;
    plan_of(m, &k, &p);
    assert_int_equal(p.blocks, 3);
    machine_free(m);
}

static void
static_management_is_the_baseline(void **st)
{
    struct machine *m = gtx285();
    struct residency_plan p;
    (void)st;
    struct occ_kernel k = {.threads = 64, .scratchpad = 8736, .allocated = 8736};
    m->residency.allocation = ALLOCATION_STATIC;
    assert_false(plan_of(m, &k, &p).dynamic);
    assert_int_equal(p.blocks, 1);
    /* A kernel without scratchalloc likewise. */
    m->residency.allocation = ALLOCATION_DYNAMIC;
    k.allocated = 0;
    assert_false(plan_of(m, &k, &p).dynamic);
    assert_int_equal(p.blocks, 1);
    /* 412 and 100 bytes fill 512 together, and 1024 apart: two such blocks fit 1 KB, and of
     * the parts not even one of each. */
    m->sm.scratchpad = KB;
    k = (struct occ_kernel){.threads = 64, .scratchpad = 512, .allocated = 412};
    assert_false(plan_of(m, &k, &p).dynamic);
    assert_int_equal(p.blocks, 2);
    machine_free(m);
}

/* Bytes that the machine reserves belong to the private part, where there is one. */
static void
reserved_bytes(void **st)
{
    struct machine *m = gtx285();
    struct residency_plan p;
    (void)st;
    m->sm.scratchpad_reserved = 16;
    struct occ_kernel k = {.threads = 64, .scratchpad = 4096, .allocated = 4096};
    struct multiplexing_plan x = plan_of(m, &k, &p);
    assert_int_equal(x.private_bytes, 0);
    assert_int_equal(x.public_bytes, 4608);
    k.allocated = 2048;
    x = plan_of(m, &k, &p);
    assert_int_equal(x.private_bytes, 2560);
    assert_int_equal(x.public_bytes, 2048);
    machine_free(m);
}

/* -- the mechanism -- */

struct bench {
    const struct mechanism *p;
    void *state;
    struct stat_sm stats;
    struct exec_prog prog;
    struct exec_grid grid;
    struct exec_cta block[SLOTS], *cta[SLOTS];
    uint8_t cls[SLOTS], asks[SLOTS];
    struct sm_view v;
};

static void
setup(struct bench *b, uint32_t private, uint32_t public, uint32_t size, bool dynamic)
{
    memset(b, 0, sizeof *b);
    b->p = &residency_find("multiplexing")->mechanism;
    const struct multiplexing_plan plan = {SLOTS, private, public, size, dynamic};
    b->prog = (struct exec_prog){.alloc_from = private, .alloc_bytes = public};
    b->grid.prog = &b->prog;
    b->state = fenced_new(b->p->state_size(&plan));
    b->v = (struct sm_view){.nslots = SLOTS,
                            .cta = b->cta,
                            .stats = &b->stats,
                            .cls = b->cls,
                            .asks = b->asks};
    memset(b->asks, 1, sizeof b->asks);
    b->p->init(b->state, &b->v, NULL, &plan);
}

static void
start(struct bench *b, unsigned s)
{
    b->block[s].grid = &b->grid;
    b->block[s].holds = false;
    b->cta[s] = &b->block[s];
    b->p->block_started(b->state, &b->v, &(struct sm_event){.slot = s});
}

static void
end(struct bench *b, unsigned s)
{
    b->cta[s] = NULL;
    b->p->block_ended(b->state, &b->v, &(struct sm_event){.slot = s});
}

/* The last thread of the block has come to scratchalloc or scratchfree. */
static void
pass(struct bench *b, unsigned s, bool alloc)
{
    b->block[s].holds = alloc;
    b->v.changed = false;
    b->p->operation(b->state, &b->v, &(struct sm_event){.slot = s});
}

/* Whether an instruction of the block issues; one that touches no memory. */
static bool
goes(struct bench *b, unsigned s)
{
    return !b->asks[s] || b->p->may_issue(b->state, &b->v, &(struct sm_event){.slot = s});
}

static bool
touches(struct bench *b, unsigned s, uint64_t addr)
{
    struct exec_access a = {
        .space = PTX_SPACE_SHARED, .bytes = 4, .load = true, .mask = 1u << 9};
    a.addr[9] = addr;
    return !b->asks[s] ||
           b->p->may_issue(b->state, &b->v, &(struct sm_event){.slot = s, .access = &a});
}

static void
waits_until_another_frees(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, 0, 8736, 16 * KB, true);
    start(&b, 0);
    start(&b, 1);
    b.v.now = 10;
    pass(&b, 0, true);
    assert_true(goes(&b, 0));
    b.v.now = 20;
    pass(&b, 1, true);
    assert_false(goes(&b, 1)); /* 2 x 8736 > 16384 */
    b.v.now = 50;
    pass(&b, 0, false);
    assert_true(b.v.changed);
    assert_true(goes(&b, 1));
    assert_true(goes(&b, 0)); /* goes on without scratchpad */
    b.v.now = 60;
    pass(&b, 1, false);
    b.v.now = 100;
    end(&b, 0);
    end(&b, 1);
    assert_int_equal(b.stats.multiplex_allocations, 2);
    assert_int_equal(b.stats.multiplex_waits, 1);
    assert_int_equal(b.stats.multiplex_wait_cycles, 30);
    assert_int_equal(b.stats.multiplex_held_cycles, 40 + 10);
    assert_int_equal(b.stats.multiplex_held_ppm, 400000 + 100000);
    assert_int_equal(b.stats.multiplex_free_bytes, (16384 - 8736) * 30);
    fenced_free(b.state);
}

/* Those that wait get it in the order in which they came, whatever their slots. */
static void
first_come_first_served(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, 0, 4 * KB, 8 * KB, true);
    for (unsigned s = 0; s < SLOTS; s++)
        start(&b, s);
    pass(&b, 3, true);
    pass(&b, 4, true);
    pass(&b, 2, true);
    pass(&b, 0, true);
    pass(&b, 1, true);
    assert_true(goes(&b, 3) && goes(&b, 4));
    assert_false(goes(&b, 2) || goes(&b, 0) || goes(&b, 1));
    pass(&b, 4, false);
    assert_true(goes(&b, 2));
    assert_false(goes(&b, 0) || goes(&b, 1));
    pass(&b, 4, true); /* behind the others */
    pass(&b, 3, false);
    assert_true(goes(&b, 0));
    assert_false(goes(&b, 1) || goes(&b, 4));
    pass(&b, 2, false);
    assert_true(goes(&b, 1));
    assert_false(goes(&b, 4));
    fenced_free(b.state);
}

/* Plain first fit of both parts leaves 3 and 1 KB free here, and nobody gets 4 KB again. */
static void
private_parts_never_cut_up_the_public_ones(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, 1 * KB, 4 * KB, 9 * KB, true);
    start(&b, 0);
    start(&b, 1);
    pass(&b, 0, true);
    start(&b, 2);
    pass(&b, 0, false);
    start(&b, 3);
    start(&b, 4);
    for (unsigned s = 0; s < SLOTS; s++) {
        pass(&b, s, true);
        assert_true(goes(&b, s));
        pass(&b, s, false);
    }
    fenced_free(b.state);
}

static void
access_outside_of_what_is_held_is_a_fault(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, 4 * KB, 2 * KB, 24 * KB, true);
    start(&b, 0);
    assert_true(touches(&b, 0, 4 * KB - 4)); /* private */
    assert_null(b.v.fault);
    assert_false(touches(&b, 0, 4 * KB - 3)); /* reaches into the public part */
    assert_non_null(b.v.fault);
    b.v.fault = NULL;
    pass(&b, 0, true);
    assert_true(touches(&b, 0, 6 * KB - 4));
    pass(&b, 0, false);
    assert_false(touches(&b, 0, 6 * KB - 4));
    assert_non_null(b.v.fault);
    fenced_free(b.state);
}

static void
static_management_ignores_the_instructions(void **st)
{
    struct bench b;
    const struct multiplexing_plan plan = {.dynamic = false};
    const struct exec_static some = {.space = PTX_SPACE_SHARED, .is_load = true};
    (void)st;
    setup(&b, 0, 8 * KB, 8 * KB, false);
    assert_false(b.p->concerns(&some, &plan));
    start(&b, 0);
    start(&b, 1);
    assert_true(touches(&b, 0, 0));
    pass(&b, 0, true);
    pass(&b, 1, true); /* both at once: their scratchpad is theirs */
    assert_true(goes(&b, 0) && goes(&b, 1));
    b.v.now = 7;
    pass(&b, 0, false);
    assert_int_equal(b.stats.multiplex_held_cycles, 7); /* timed all the same */
    assert_int_equal(b.stats.multiplex_waits, 0);
    assert_null(b.v.fault);
    fenced_free(b.state);
}

static void
block_that_ends_gives_its_parts_back(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, 1 * KB, 4 * KB, 9 * KB, true);
    for (int i = 0; i < 3; i++) {
        for (unsigned s = 0; s < SLOTS; s++)
            start(&b, s);
        pass(&b, 1, true);
        pass(&b, 2, true);
        assert_false(goes(&b, 2));
        end(&b, 1); /* without scratchfree */
        assert_true(goes(&b, 2));
        pass(&b, 2, false);
        for (unsigned s = 0; s < SLOTS; s++)
            if (s != 1)
                end(&b, s);
    }
    fenced_free(b.state);
}

/* 003 says no more than that hardware changes are minor: the table, a counter, a queue. */
static void
cost_in_bits(void **st)
{
    struct machine *m = gtx285();
    (void)st;
    /* 8 blocks, 32 units: 1 + 16 entries of (1 + 3 + 2 * 6), 4, 8 * 4. */
    assert_int_equal(occ_cost_multiplexing(m), 1 + 16 * 16 + 4 + 32);
    machine_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_figure_10),
        cmocka_unit_test(first_fit_takes_the_lowest),
        cmocka_unit_test(at_most_k_plus_n_blocks),
        cmocka_unit_test(private_parts_leave_one_public_part),
        cmocka_unit_test(static_management_is_the_baseline),
        cmocka_unit_test(reserved_bytes),
        cmocka_unit_test(waits_until_another_frees),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(private_parts_never_cut_up_the_public_ones),
        cmocka_unit_test(access_outside_of_what_is_held_is_a_fault),
        cmocka_unit_test(static_management_ignores_the_instructions),
        cmocka_unit_test(block_that_ends_gives_its_parts_back),
        cmocka_unit_test(cost_in_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
