/* The contract of observers (exec/observer.h): what is shown, when, in which order, and
 * that looking on changes nothing. */
#include "exec/observer.h"
#include "unit/kit/exec_kit.h"

#include <pthread.h>

enum { BLOCKS = 3, THREADS = 64, WARPS = THREADS / 32, MOST = 4096 };

enum kind {
    LAUNCH_START,
    LAUNCH_END,
    BLOCK_START,
    BLOCK_END,
    BEFORE,
    BARRIER,
    ACCESS,
    STEP
};

struct event {
    char who;
    enum kind kind;
    uint32_t block, warp, pc;
};

static struct event events[MOST];
static unsigned nevents;
static pthread_t thread;

struct watcher {
    char who;
    unsigned fault_at; /* its n-th `before` faults; 0: none does */
    unsigned nbefore;
    struct kit *k;
    uint64_t out;
};

static void
note(const struct watcher *x, enum kind kind, uint32_t block, uint32_t warp, uint32_t pc)
{
    assert_true(nevents < MOST);
    assert_true(pthread_equal(thread, pthread_self()));
    events[nevents++] = (struct event){x->who, kind, block, warp, pc};
}

static void
launch_start(void *user, struct exec_grid *g)
{
    (void)g;
    note(user, LAUNCH_START, 0, 0, 0);
}

static void
launch_end(void *user, struct exec_grid *g)
{
    (void)g;
    note(user, LAUNCH_END, 0, 0, 0);
}

static void
block_start(void *user, struct exec_cta *c)
{
    assert_int_equal(c->live_warps, WARPS);
    note(user, BLOCK_START, c->id, 0, 0);
}

static void
block_end(void *user, struct exec_cta *c)
{
    note(user, BLOCK_END, c->id, 0, 0);
}

static enum exec_result
before(void *user, struct exec_warp *w)
{
    struct watcher *x = user;
    struct exec_access a;
    note(x, BEFORE, w->cta->id, w->index, w->pc);
    if (exec_peek_access(w, &a) && a.store) /* it has not happened yet */
        assert_int_equal(kit_u32(x->k, a.addr[0], 0), 0);
    if (++x->nbefore != x->fault_at)
        return EXEC_OK;
    diag_error(w->cta->diag, "seen enough");
    return EXEC_FAULT;
}

static void
barrier(void *user, struct exec_warp *w, const struct exec_step *s)
{
    /* The first warp waits; the second one lets both go on. */
    assert_int_equal(s->woken, w->index ? 3 : 0);
    assert_int_equal(w->state, w->index ? EXEC_READY : EXEC_BARRIER);
    note(user, BARRIER, w->cta->id, w->index, s->pc);
}

static void
access(void *user, struct exec_warp *w, const struct exec_step *s)
{
    const struct watcher *x = user;
    if (s->access.space == PTX_SPACE_GLOBAL)
        for (unsigned l = 0; l < 32; l++) {
            const uint32_t t = w->cta->id * THREADS + w->index * 32 + l;
            assert_int_equal(s->access.addr[l], x->out + 4 * t);
            assert_int_equal(kit_u32(x->k, x->out, t), t + 1);
        }
    note(x, ACCESS, w->cta->id, w->index, s->pc);
}

static void
step(void *user, struct exec_warp *w, const struct exec_step *s)
{
    note(user, STEP, w->cta->id, w->index, s->pc);
}

static const struct exec_observer all = {
    .launch_start = launch_start,
    .launch_end = launch_end,
    .block_start = block_start,
    .block_end = block_end,
    .before = before,
    .barrier = barrier,
    .access = access,
    .step = step,
};

static const char text[] = KERNEL("add.u32 %r4, %t, 1; st.global.u32 [%d0], %r4;\n"
                                  "bar.sync 0; ld.global.u32 %r5, [%d0];\n");

static uint64_t
load(struct kit *k)
{
    kit_load(k, text);
    const uint64_t out = kit_out(k, 4096);
    assert_true(dev_set(k->mem, out, 0, 4096));
    nevents = 0;
    thread = pthread_self();
    return out;
}

/* Of one watch: how many events of a kind. */
static unsigned
count(char who, enum kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < nevents; i++)
        n += events[i].who == who && events[i].kind == kind;
    return n;
}

static void
is(unsigned i, char who, enum kind kind, uint32_t block)
{
    assert_true(i < nevents);
    assert_int_equal(events[i].who, who);
    assert_int_equal(events[i].kind, kind);
    assert_int_equal(events[i].block, block);
}

/* The events of one instruction, from *i on: before of both, then all else of each. */
static void
instruction(unsigned *i, uint32_t block)
{
    const struct event first = events[*i];
    is((*i)++, 'a', BEFORE, block);
    is((*i)++, 'b', BEFORE, block);
    for (char who = 'a'; who <= 'b'; who++) {
        for (enum kind k = BARRIER; k < STEP; k++)
            if (*i < nevents && events[*i].who == who && events[*i].kind == k)
                (*i)++;
        is(*i, who, STEP, block);
        assert_int_equal(events[*i].pc, first.pc);
        assert_int_equal(events[*i].warp, first.warp);
        (*i)++;
    }
}

/* The whole launch, as the figure in observer.h says. */
static void
in_order(unsigned instructions)
{
    unsigned i = 0, done = 0;
    is(i++, 'a', LAUNCH_START, 0);
    is(i++, 'b', LAUNCH_START, 0);
    for (uint32_t block = 0; block < BLOCKS; block++) {
        is(i++, 'a', BLOCK_START, block);
        is(i++, 'b', BLOCK_START, block);
        for (; i < nevents && events[i].kind != BLOCK_END; done++)
            instruction(&i, block);
        is(i++, 'b', BLOCK_END, block);
        is(i++, 'a', BLOCK_END, block);
    }
    is(i++, 'b', LAUNCH_END, 0);
    is(i++, 'a', LAUNCH_END, 0);
    assert_int_equal(i, nevents);
    assert_int_equal(done, instructions);
}

static void
what_is_shown(void **state)
{
    (void)state;
    struct kit k;
    struct watcher a = {.who = 'a', .k = &k}, b = {.who = 'b', .k = &k};
    a.out = b.out = load(&k);
    exec_observe(&k.g, &all, &a);
    exec_observe(&k.g, &all, &b);
    exec_observe(&k.g, &all, &a); /* is there already */
    kit_run(&k, BLOCKS, THREADS);
    in_order((unsigned)k.g.n_warp_inst);
    for (char who = 'a'; who <= 'b'; who++) {
        assert_int_equal(count(who, STEP), k.g.n_warp_inst);
        assert_int_equal(count(who, BARRIER), BLOCKS * WARPS);
        assert_true(count(who, ACCESS) >= BLOCKS * WARPS * 2);
        assert_true(count(who, ACCESS) < k.g.n_warp_inst);
    }
    kit_free(&k);
}

static void
in_one_thread(void **state)
{
    (void)state;
    struct kit k;
    struct watcher a = {.who = 'a', .k = &k}, b = {.who = 'b', .k = &k};
    struct exec_speculation speculation = {0};
    a.out = b.out = load(&k);
    k.g.team = exec_team_new(k.mem, 4);
    k.g.speculation = &speculation;
    exec_observe(&k.g, &all, &a);
    exec_observe(&k.g, &all, &b);
    kit_run(&k, BLOCKS, THREADS); /* `note` looks at the thread */
    in_order((unsigned)k.g.n_warp_inst);
    exec_team_free(k.g.team);
    kit_free(&k);
}

static void
a_fault_ends_it(void **state)
{
    (void)state;
    struct kit k;
    struct watcher a = {.who = 'a', .k = &k}, b = {.who = 'b', .k = &k};
    a.out = b.out = load(&k);
    exec_observe(&k.g, &all, &a);
    exec_observe(&k.g, &all, &b);
    kit_run(&k, 1, THREADS);
    const unsigned block = a.nbefore; /* instructions of a block */
    assert_true(dev_set(k.mem, a.out, 0, 4096));
    nevents = 0;
    a.nbefore = b.nbefore = 0;
    a.fault_at = block + 5; /* in the second block */
    kit_fault(&k, BLOCKS, THREADS, "error: seen enough\n");
    assert_int_equal(a.nbefore, block + 5);
    assert_int_equal(b.nbefore, block + 4); /* not asked any more */
    assert_int_equal(count('a', STEP), block + 4);
    for (char who = 'a'; who <= 'b'; who++) {
        assert_int_equal(count(who, BLOCK_START), 2);
        assert_int_equal(count(who, BLOCK_END), 2);
        assert_int_equal(count(who, LAUNCH_END), 1);
    }
    assert_int_equal(events[nevents - 1].kind, LAUNCH_END);
    kit_free(&k);
}

static void
looking_on_changes_nothing(void **state)
{
    (void)state;
    static const struct exec_observer none = {0};
    static const unsigned n = BLOCKS * THREADS;
    uint64_t inst = 0;
    for (int how = 0; how < 3; how++) {
        struct kit k;
        struct watcher a = {.who = 'a', .k = &k};
        a.out = load(&k);
        if (how)
            exec_observe(&k.g, how == 1 ? &none : &all, &a);
        kit_run(&k, BLOCKS, THREADS);
        for (unsigned t = 0; t < n; t++)
            assert_int_equal(kit_u32(&k, a.out, t), t + 1);
        assert_true(!how || k.g.n_warp_inst == inst);
        inst = k.g.n_warp_inst;
        assert_int_equal(nevents > 0, how == 2);
        kit_free(&k);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown),
        cmocka_unit_test(in_one_thread),
        cmocka_unit_test(a_fault_ends_it),
        cmocka_unit_test(looking_on_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
