/* timing_regpower.c: power states of registers (001 section 4.2.4): when a register changes
 * state, how long it takes to wake, what the look-up table keeps ON, who may run; then in an
 * SM, with skipping and without. */
#define RIG_MOCK_MEMORY
#include "unit/kit/timing_sm_rig.h"

#include "unit/kit/fenced.h"

#include "timing/policy/regpower/regpower.h"
#include "timing/sm/sm.h"

enum { REGS = 4, FILE_SIZE = 16 };

/* One block of one warp with registers 1 to 4, in a file of 16. Code: 0 reads 1 and 2 and
 * writes 3; 1 reads 3; 2 reads and writes 4; 3 reads 1, with no write; 4 reads 1 twice; 5
 * reads 65 and 130 and writes 1. */
static const struct exec_operand ops0[] = {{1, 1, EXEC_READS, PTX_POWER_OFF},
                                           {2, 2, EXEC_READS, PTX_POWER_ON},
                                           {3, 3, EXEC_WRITES, PTX_POWER_SLEEP}},
                                 ops1[] = {{3, 3, EXEC_READS, PTX_POWER_NONE}},
                                 ops2[] = {{4, 4, EXEC_READS, PTX_POWER_OFF},
                                           {4, 4, EXEC_WRITES, PTX_POWER_SLEEP}},
                                 ops3[] = {{1, 1, EXEC_READS, PTX_POWER_SLEEP}},
                                 ops4[] = {{1, 1, EXEC_READS, PTX_POWER_OFF},
                                           {1, 1, EXEC_READS, PTX_POWER_NONE}},
                                 ops5[] = {{65, 65, EXEC_READS, PTX_POWER_OFF},
                                           {130, 130, EXEC_READS, PTX_POWER_SLEEP},
                                           {1, 1, EXEC_WRITES, PTX_POWER_SLEEP}};
static const struct exec_static code[] = {{.operand = ops0, .noperands = 3, .ndst = 1},
                                          {.operand = ops1, .noperands = 1, .ndst = 1},
                                          {.operand = ops2, .noperands = 2, .ndst = 1},
                                          {.operand = ops3, .noperands = 1},
                                          {.operand = ops4, .noperands = 2},
                                          {.operand = ops5, .noperands = 3, .ndst = 1}};

struct bench {
    struct machine *m;
    struct mechanism_use use;
    const struct mechanism *p;
    void *state;
    struct stat_sm stats;
    uint8_t cls[1], asks[1];
    unsigned size; /* of the file */
    struct sm_view v;
    struct diag_sink diag;
    struct arena arena;
};

static struct ptx_func *
func(unsigned registers, bool states)
{
    static struct ptx_inst in[1];
    static struct ptx_func f;
    in[0].power = states;
    f = (struct ptx_func){.name = "k", .registers = registers};
    f.body.v = in;
    f.body.n = 1;
    return &f;
}

/* What an SM does at the start of a launch. */
static void
begin(struct bench *b)
{
    const void *plan = mechanism_plan(&b->use);
    b->v.code = b->p->prepare(&b->arena, code, sizeof code / sizeof *code, b->m, plan);
    b->p->init(b->state, &b->v, b->m, plan);
}

/* late, start: as struct residency_plan's; regs: of a warp; size: of the file. */
static void
setup_all(struct bench *b, const char *policy, unsigned late, unsigned start,
          unsigned regs, unsigned size)
{
    memset(b, 0, sizeof *b);
    b->m = machine_new();
    b->m->regpower.policy = policy;
    b->size = size;
    b->m->sm.registers = size * 32;
    b->m->sm.register_unit = 1;
    const struct residency_plan r = {.blocks = 1, .late = late, .start = start};
    assert_true(regpower_plan(b->m, func(regs, true), &r, 1, regs, &b->use, &b->diag));
    b->p = b->use.mechanism;
    b->state = fenced_new(b->p->state_size(mechanism_plan(&b->use)));
    b->v = (struct sm_view){.nslots = 1,
                            .stats = &b->stats,
                            .cls = b->cls,
                            .asks = b->asks,
                            .timer = NEVER,
                            .now = 100};
    begin(b);
}

/* Another setting: planned and begun again. */
static void
again(struct bench *b, unsigned regs)
{
    const struct residency_plan r = {.blocks = 1};
    assert_true(regpower_plan(b->m, func(regs, true), &r, 1, regs, &b->use, &b->diag));
    b->p = b->use.mechanism;
    begin(b);
}

static void
wake_for_the_write(struct bench *b)
{
    b->m->regpower.destination = REGPOWER_DESTINATION_WRITE;
    again(b, REGS);
}

static void
setup_late(struct bench *b, const char *policy, unsigned late, unsigned start)
{
    setup_all(b, policy, late, start, REGS, FILE_SIZE);
}

static void
setup(struct bench *b, const char *policy)
{
    setup_late(b, policy, 0, 0);
}

static void
teardown(struct bench *b)
{
    fenced_free(b->state);
    arena_free(&b->arena);
    machine_free(b->m);
    diag_free(&b->diag);
}

static void
tell(struct bench *b, sm_handler *handler, unsigned pc)
{
    if (handler) /* as the SM: who has none is not told */
        handler(b->state, &b->v, &(struct sm_event){.pc = pc, .st = &code[pc]});
}

/* Registers ON, asleep and OFF now, from what the next cycle adds to the counters. */
static void
assert_states(struct bench *b, unsigned on, unsigned sleep)
{
    tell(b, b->p->counted, 0);
    struct stat_sm before = b->stats;
    b->v.now++;
    tell(b, b->p->counted, 0);
    assert_int_equal(b->stats.regpower_on_cycles - before.regpower_on_cycles, on);
    assert_int_equal(b->stats.regpower_sleep_cycles - before.regpower_sleep_cycles,
                     sleep);
    assert_int_equal(b->stats.regpower_off_cycles - before.regpower_off_cycles,
                     b->size - on - sleep);
}

static bool
ask(struct bench *b, unsigned pc)
{
    return b->p->may_issue(b->state, &b->v,
                           &(struct sm_event){.pc = pc, .st = &code[pc]});
}

static void
unallocated_are_off(void **state)
{
    struct bench b;
    setup(&b, "sleep-reg");
    assert_states(&b, 0, 0);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, REGS, 0);
    tell(&b, b.p->operands_read, 0);
    assert_states(&b, REGS - 2, 2);
    tell(&b, b.p->warp_ended, 0);
    assert_states(&b, 0, 0);
    teardown(&b);
}

/* Registers that its threads lack are a warp's where the machine rounds up. What it rounds for
 * a block is no warp's. */
static void
warps_have_what_they_are_allotted(void **state)
{
    static const struct {
        unsigned rounding;
        unsigned alloc;
        unsigned unit, want;
    } t[] = {{ROUNDING_MACHINE, REGISTERS_BY_THREAD, 1, 3},
             {ROUNDING_MACHINE, REGISTERS_BY_THREAD, 4, 4},
             {ROUNDING_MACHINE, REGISTERS_BY_WARP, 64, 4},
             {ROUNDING_MACHINE, REGISTERS_BY_WARP, 256, 8},
             {ROUNDING_MACHINE, REGISTERS_BY_BLOCK, 512, 3},
             {ROUNDING_GPGPUSIM, REGISTERS_BY_WARP, 256, 4}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct bench b;
        setup(&b, "unallocated-off");
        again(&b, 3);
        tell(&b, b.p->warp_started, 0);
        assert_states(&b, 3, 0);
        tell(&b, b.p->warp_ended, 0);
        b.m->regpower.allotted = true;
        b.m->sm.rounding = t[i].rounding;
        b.m->sm.register_alloc = t[i].alloc;
        b.m->sm.register_unit = t[i].unit;
        again(&b, 3);
        tell(&b, b.p->warp_started, 0);
        assert_states(&b, t[i].want, 0);
        teardown(&b);
    }
}

/* until: block: in the states that the warp left them, but for those that came later. */
static void
registers_until_the_block_ends(void **state)
{
    struct bench b;
    setup(&b, "comp-opt");
    b.m->regpower.until = REGPOWER_UNTIL_BLOCK;
    begin(&b);
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->operands_read, 0); /* 1: OFF */
    tell(&b, b.p->written_back, 0);  /* 3: SLEEP */
    tell(&b, b.p->warp_ended, 0);
    uint64_t held = b.stats.regpower_held_cycles;
    assert_states(&b, REGS - 2, 1);
    assert_int_equal(b.stats.regpower_held_cycles - held, REGS);
    tell(&b, b.p->block_ended, 0);
    assert_states(&b, 0, 0);
    tell(&b, b.p->warp_started, 0); /* of the next block: ON again */
    assert_states(&b, REGS, 0);
    teardown(&b);
    setup_late(&b, "sleep-reg", 1, 2);
    b.m->regpower.until = REGPOWER_UNTIL_BLOCK;
    begin(&b);
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->registers_got, 0);
    assert_states(&b, REGS, 0);
    tell(&b, b.p->warp_ended, 0);
    assert_states(&b, 2, 0);
    tell(&b, b.p->block_ended, 0);
    assert_states(&b, 0, 0);
    teardown(&b);
}

/* Until their first access: ON, or OFF; then they are woken as from there. */
static void
first_state(void **state)
{
    struct bench b;
    setup(&b, "unallocated-off");
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, REGS, 0);
    tell(&b, b.p->operands_read, 0); /* ON it stays */
    assert_states(&b, REGS, 0);
    tell(&b, b.p->warp_ended, 0);
    assert_states(&b, 0, 0);
    b.m->regpower.first = REGPOWER_FIRST_OFF;
    begin(&b);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, 0, 0);
    assert_false(ask(&b, 1));
    assert_int_equal(b.stats.regpower_wakes_off, 1);
    assert_states(&b, 1, 0);
    teardown(&b);
    setup_late(&b, "sleep-reg", 1, 2);
    b.m->regpower.first = REGPOWER_FIRST_OFF;
    begin(&b);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, 0, 0);
    tell(&b, b.p->registers_got, 0); /* those that come later are ON */
    assert_states(&b, 2, 0);
    teardown(&b);
}

/* A register that is only written sleeps until its value comes: it is not woken for the
 * issue, but for the write; one that is read too must be ON. */
static void
destinations_wake_for_the_write(void **state)
{
    struct bench b;
    setup(&b, "comp-opt");
    wake_for_the_write(&b);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, REGS, 0);
    assert_true(ask(&b, 0));
    tell(&b, b.p->issued, 0); /* 3 was ON: it sleeps */
    assert_states(&b, REGS - 1, 1);
    assert_true(ask(&b, 0)); /* which keeps nothing from issue */
    assert_int_equal(b.stats.regpower_wakes_sleep, 0);
    tell(&b, b.p->written_back, 0); /* woken, and asleep again by its note */
    assert_int_equal(b.stats.regpower_wakes_sleep, 1);
    assert_states(&b, REGS - 1, 1);
    tell(&b, b.p->issued, 2); /* 4 is read too */
    assert_states(&b, REGS - 1, 1);
    tell(&b, b.p->written_back, 2);
    assert_states(&b, REGS - 2, 2);
    assert_false(ask(&b, 2));
    assert_false(ask(&b, 1)); /* a reader of 3 */
    teardown(&b);
    setup(&b, "unallocated-off"); /* all are ON in any case */
    wake_for_the_write(&b);
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->issued, 0);
    assert_states(&b, REGS, 0);
    teardown(&b);
}

/* A warp that starts with two of its four registers: the others are OFF until it gets them,
 * then ON; nothing that it does changes them before. */
static void
registers_that_come_later(void **state)
{
    struct bench b;
    setup_late(&b, "sleep-reg", 1, 2);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, 2, 0);
    assert_true(ask(&b, 2)); /* 4: not its own, another policy keeps the warp */
    tell(&b, b.p->written_back, 2);
    assert_states(&b, 2, 0);
    tell(&b, b.p->operands_read, 0);
    assert_states(&b, 0, 2);
    uint64_t held = b.stats.regpower_held_cycles;
    tell(&b, b.p->registers_got, 0);
    assert_states(&b, 2, 2);
    assert_int_equal(b.stats.regpower_held_cycles - held, 4);
    tell(&b, b.p->written_back, 2);
    assert_states(&b, 1, 3);
    assert_false(ask(&b, 2));
    assert_int_equal(b.stats.regpower_wakes_sleep, 1);
    tell(&b, b.p->warp_ended, 0);
    assert_states(&b, 0, 0);
    tell(&b, b.p->warp_started, 0); /* the next warp there: two again */
    assert_states(&b, 2, 0);
    teardown(&b);
}

/* A policy may give a warp its registers as the block starts, before the warp itself. */
static void
registers_before_the_warp_starts(void **state)
{
    struct bench b;
    setup_late(&b, "greener", 1, 0);
    tell(&b, b.p->registers_got, 0);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, REGS, 0);
    teardown(&b);
}

/* Sources after they have been read, unless they are written too; destinations after the
 * write. */
static void
states_change_after_the_access(void **state)
{
    struct bench b;
    setup(&b, "comp-opt");
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->operands_read, 0); /* 1: OFF, 2: ON */
    assert_states(&b, 3, 0);
    tell(&b, b.p->written_back, 0); /* 3: SLEEP */
    assert_states(&b, 2, 1);
    tell(&b, b.p->operands_read, 2); /* 4 waits for its write */
    assert_states(&b, 2, 1);
    tell(&b, b.p->written_back, 2); /* as awake as the more awake of SLEEP and OFF */
    assert_states(&b, 1, 2);
    teardown(&b);
}

/* Each operand that names a register counts as a correction; its state is the most awake. */
static void
operands_that_name_one_register(void **state)
{
    struct bench b;
    setup(&b, "greener");
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->decoded, 3);
    tell(&b, b.p->operands_read, 4);
    assert_int_equal(b.stats.regpower_corrections, 2);
    assert_states(&b, REGS, 0);
    tell(&b, b.p->flushed, 0);
    tell(&b, b.p->operands_read, 4);
    assert_int_equal(b.stats.regpower_corrections, 2);
    assert_states(&b, REGS - 1, 0);
    teardown(&b);
}

/* More registers than a word has bits, the last one of the warp among them. */
static void
registers_above_64(void **state)
{
    enum { MANY = 130, LARGE = 256 };
    struct bench b;
    setup_all(&b, "comp-opt", 0, 0, MANY, LARGE);
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, MANY, 0);
    assert_true(ask(&b, 5));
    tell(&b, b.p->operands_read, 5);
    assert_states(&b, MANY - 2, 1);
    tell(&b, b.p->written_back, 5);
    assert_states(&b, MANY - 3, 2);
    assert_false(ask(&b, 5));
    assert_int_equal(b.stats.regpower_wakes_off, 1);
    assert_int_equal(b.stats.regpower_wakes_sleep, 2);
    assert_states(&b, MANY, 0);
    tell(&b, b.p->warp_ended, 0);
    assert_states(&b, 0, 0);
    teardown(&b);
    setup_all(&b, "comp-opt", 1, 129, MANY, LARGE); /* the last one comes later */
    tell(&b, b.p->warp_started, 0);
    assert_states(&b, MANY - 1, 0);
    tell(&b, b.p->operands_read, 5);
    assert_states(&b, MANY - 2, 0);
    assert_false(ask(&b, 5));
    assert_int_equal(b.stats.regpower_wakes_off, 1);
    teardown(&b);
}

/* What the compiler says; SLEEP where it says nothing, and always with sleep-reg. */
static void
states_of_the_policies(void **state)
{
    static const struct {
        const char *policy;
        enum ptx_power after[4]; /* by note */
    } t[] = {
        {"sleep-reg",
         {PTX_POWER_SLEEP, PTX_POWER_SLEEP, PTX_POWER_SLEEP, PTX_POWER_SLEEP}},
        {"unallocated-off", {PTX_POWER_ON, PTX_POWER_ON, PTX_POWER_ON, PTX_POWER_ON}},
        {"comp-opt", {PTX_POWER_SLEEP, PTX_POWER_ON, PTX_POWER_SLEEP, PTX_POWER_OFF}},
        {"greener", {PTX_POWER_SLEEP, PTX_POWER_ON, PTX_POWER_SLEEP, PTX_POWER_OFF}}};
    for (size_t i = 0; i < 4; i++)
        for (int note = 0; note < 4; note++)
            assert_int_equal(regpower_find(t[i].policy)->after(note), t[i].after[note]);
    assert_null(regpower_find("baseline")->after);
}

/* Refused at t + latency - 1, allowed at t + latency; the longest of several counts. */
static void
wake_ups_take_their_cycles(void **state)
{
    struct bench b;
    setup(&b, "comp-opt");
    b.m->regpower.wake_off = 5;
    begin(&b);
    tell(&b, b.p->warp_started, 0);
    assert_true(ask(&b, 0)); /* all are ON */
    tell(&b, b.p->operands_read, 0);
    tell(&b, b.p->written_back, 0); /* 1 is OFF, 3 asleep */
    assert_false(ask(&b, 1));
    assert_int_equal(b.v.timer, b.v.now + 1);
    b.v.now++;
    assert_true(ask(&b, 1));
    assert_int_equal(b.stats.regpower_wakes_sleep, 1);
    tell(&b, b.p->operands_read, 1); /* 3: no note, so it sleeps again */
    b.v.timer = NEVER;
    uint64_t now = b.v.now;
    assert_false(ask(&b, 0)); /* 5 cycles for 1, 1 for 3 */
    assert_int_equal(b.v.timer, now + 5);
    b.v.now = now + 4;
    b.v.timer = NEVER;
    tell(&b, b.p->timer, 0);
    assert_int_equal(b.v.again[0], 0);
    assert_int_equal(b.v.timer, now + 5);
    assert_false(ask(&b, 0));
    b.v.now = now + 5;
    tell(&b, b.p->timer, 0);
    assert_int_equal(b.v.again[0], 1);
    assert_true(ask(&b, 0));
    assert_int_equal(b.stats.regpower_wakes_sleep, 2);
    assert_int_equal(b.stats.regpower_wakes_off, 1);
    teardown(&b);
}

/* Register 1 is switched OFF by instruction 0 and used by 3: it stays ON while 3 is in the
 * table, from decode to the end of its work. */
static void
decoded_instructions_keep_registers_on(void **state)
{
    struct bench b;
    setup(&b, "greener");
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->decoded, 0); /* itself does not count */
    tell(&b, b.p->issued, 0);
    tell(&b, b.p->operands_read, 0);
    assert_states(&b, 3, 0);
    assert_int_equal(b.stats.regpower_corrections, 0);
    tell(&b, b.p->written_back, 0);
    ask(&b, 0); /* all ON again */
    tell(&b, b.p->decoded, 3);
    tell(&b, b.p->operands_read, 0);
    assert_states(&b, 4, 0);
    assert_int_equal(b.stats.regpower_corrections, 1);
    tell(&b, b.p->flushed, 3); /* it was on the wrong path */
    tell(&b, b.p->operands_read, 0);
    assert_states(&b, 3, 0);
    assert_int_equal(b.stats.regpower_corrections, 1);
    /* Once issued a flush leaves it; its end does away with it. */
    ask(&b, 0);
    tell(&b, b.p->decoded, 3);
    tell(&b, b.p->issued, 3);
    tell(&b, b.p->flushed, 3);
    tell(&b, b.p->operands_read, 0);
    assert_int_equal(b.stats.regpower_corrections, 2);
    tell(&b, b.p->operands_read, 3); /* writes nothing: this is its end */
    ask(&b, 0);
    tell(&b, b.p->operands_read, 0);
    assert_states(&b, 3, 0);
    assert_int_equal(b.stats.regpower_corrections, 2);
    teardown(&b);
}

static void
table_is_bounded(void **state)
{
    struct bench b;
    setup(&b, "greener");
    b.m->regpower.table_entries = 2;
    tell(&b, b.p->warp_started, 0);
    tell(&b, b.p->decoded, 1);
    tell(&b, b.p->decoded, 2);
    tell(&b, b.p->decoded, 3); /* no room */
    assert_int_equal(b.stats.regpower_table_full, 1);
    tell(&b, b.p->operands_read, 0); /* so nobody is known to use 1 */
    assert_int_equal(b.stats.regpower_corrections, 0);
    uint64_t before = b.stats.regpower_table_cycles;
    b.v.now += 10;
    tell(&b, b.p->counted, 0);
    assert_int_equal(b.stats.regpower_table_cycles - before, 2 * 10);
    tell(&b, b.p->warp_ended, 0);
    b.v.now += 10;
    tell(&b, b.p->counted, 0);
    assert_int_equal(b.stats.regpower_table_cycles - before, 2 * 10);
    teardown(&b);
}

/* The first warp of SM 0, from its start to its end: register 1 is read three times, 3
 * written twice and read once, 2 read twice, 4 read and written once. */
static void
accesses_of_the_first_warp(void **state)
{
    static const unsigned most = 3, least = 2;
    for (unsigned sm = 0; sm < 2; sm++) {
        struct bench b;
        setup(&b, "greener");
        struct mechanism_use use = regpower_watch(REGS);
        void *x = fenced_new(use.mechanism->state_size(mechanism_plan(&use)));
        const struct mechanism *w = use.mechanism;
        const struct sm_event other = {.warp = 1, .pc = 0, .st = &code[0]};
        b.v.sm = sm;
        w->init(x, &b.v, b.m, mechanism_plan(&use));
        void *kept = b.state;
        b.state = x;
        tell(&b, w->warp_started, 0);
        w->warp_started(x, &b.v, &other);
        for (int i = 0; i < 2; i++) {
            tell(&b, w->operands_read, 0);
            tell(&b, w->written_back, 0);
        }
        w->operands_read(x, &b.v, &other);
        tell(&b, w->operands_read, 1);
        tell(&b, w->operands_read, 2);
        tell(&b, w->written_back, 2);
        tell(&b, w->operands_read, 3);
        b.v.now += 40;
        w->warp_ended(x, &b.v, &other);
        tell(&b, w->warp_ended, 0);
        tell(&b, w->warp_started, 0); /* the next one is not watched */
        tell(&b, w->operands_read, 0);
        tell(&b, w->warp_ended, 0);
        assert_int_equal(b.stats.watch_cycles, sm ? 0 : 40);
        assert_int_equal(b.stats.watch_most, sm ? 0 : most);
        assert_int_equal(b.stats.watch_least, sm ? 0 : least);
        memset(x, 0, w->state_size(mechanism_plan(&use)));
        w->init(x, &b.v, b.m, mechanism_plan(&use)); /* a warp that accesses nothing */
        tell(&b, w->warp_started, 0);
        tell(&b, w->warp_ended, 0);
        assert_int_equal(b.stats.watch_most, sm ? 0 : most);
        assert_int_equal(b.stats.watch_least, sm ? 0 : least);
        fenced_free(x);
        b.state = kept;
        teardown(&b);
    }
}

/* 001 section 4.3.5: 1280 bytes for 64 warps, 64 registers a thread. */
static void
table_of_the_thesis(void **state)
{
    struct machine *m = machine_new();
    m->sm.max_threads = 2048;
    m->sm.max_registers = 64;
    m->regpower.table_entries = 2;
    assert_int_equal(regpower_table_bits(m), 1280 * 8);
    machine_free(m);
}

static void
refused(struct ptx_func *f, const char *policy, const char *why)
{
    const struct residency_plan r = {.blocks = 1};
    struct machine *m = machine_new();
    struct mechanism_use use;
    struct diag_sink diag = {0};
    struct strbuf b = {0};
    m->regpower.policy = policy;
    m->sm.registers = FILE_SIZE * 32;
    assert_int_equal(regpower_plan(m, f, &r, 2, REGS, &use, &diag), !why);
    diag_print(&diag, &b);
    if (why && !strstr(b.s, why))
        fail_msg("%s", b.s);
    strbuf_free(&b);
    diag_free(&diag);
    machine_free(m);
}

static void
kernels_that_cannot_have_states(void **state)
{
    refused(func(0, true), "sleep-reg", "needs physical registers");
    refused(func(REGS, false), "greener", "needs power states");
    refused(func(REGS, false), "comp-opt", "needs power states");
    refused(func(REGS, false), "sleep-reg", NULL);
    refused(func(REGS, true), "greener", NULL);
    refused(func(0, false), "baseline", NULL);
    refused(func(0, false), "none", "there is no policy 'none'");
}

/* -- in an SM -- */

static const char plain[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<6>;\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [p], ON;\nmov.u32 %r1, %tid.x, ON;\n"
    "ld.global.u32 %r2, [%rd1], SLEEP;\nadd.u32 %r3, %r1, 1, OFF, SLEEP;\n"
    "add.u32 %r4, %r2, %r1, SLEEP, OFF, OFF;\n"
    "add.u32 %r3, %r4, 2, SLEEP, SLEEP;\nst.global.u32 [%rd1], %r3, OFF;\n"
    "exit;\n}\n";
/* Long enough that latches and units are full, and that warps meet in all ways. */
static const char busy[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<6>;\n.reg .f32 %f<9>;\n"
    ".reg .b64 %rd<3>;\n.reg .pred %q<2>;\n"
    "ld.param.u64 %rd1, [p], ON;\nmov.u32 %r1, %tid.x, SLEEP;\nmov.u32 %r2, 0, ON;\n"
    "cvt.rn.f32.u32 %f1, %r1, SLEEP, SLEEP;\n"
    "L:\n"
    "sin.approx.f32 %f2, %f1, OFF, SLEEP;\n"
    "sin.approx.f32 %f4, %f3, OFF, SLEEP;\n"
    "sin.approx.f32 %f5, %f6, OFF, SLEEP;\n"
    "cos.approx.f32 %f7, %f8, OFF, SLEEP;\n"
    "sin.approx.f32 %f1, %f1, SLEEP, OFF;\n"
    "ld.global.u32 %r3, [%rd1], OFF;\n"
    "add.u32 %r4, %r1, %r2, OFF, SLEEP, ON;\n"
    "mul.lo.u32 %r4, %r1, %r1, SLEEP, SLEEP, SLEEP;\n"
    "add.u32 %r2, %r2, 1, SLEEP, ON;\n"
    "bar.sync 0;\n"
    "setp.lt.u32 %q1, %r2, 12, ON, SLEEP;\n"
    "@%q1 bra L;\n"
    "st.global.u32 [%rd1], %r4, OFF;\nexit;\n}\n";

/* Needs no allocation: its registers are given places by hand. */
static struct launch_stats
run(const char *text, const char *policy, bool no_skip, unsigned quantum)
{
    struct rig r;
    rig_load(&r, "gtx480", text, NULL);
    rig_set(&r, "regpower.policy", policy);
    rig_set(&r, "regpower.wake_off", text == busy ? "5" : "2");
    struct ptx_func *f = (struct ptx_func *)(uintptr_t)r.p->entry;
    exec_prog_free(r.p);
    uint32_t place = 1, predicate = 1; /* two files */
    for (size_t i = 0; i < f->regs.n; i++) {
        bool is_predicate = f->regs.v[i].type == PTX_PRED;
        f->regs.v[i].place = (uint16_t)(is_predicate ? predicate++ : place);
        if (!is_predicate)
            place += ptx_type_bytes(f->regs.v[i].type) > 4 ? 2 : 1;
    }
    f->registers = place - 1;
    f->predicates = predicate - 1;
    r.p = exec_decode(r.im, f, &r.diag);
    assert_non_null(r.p);
    r.g.prog = r.p;
    r.registers = place - 1;
    r.opt.no_skip = no_skip;
    r.opt.quantum = quantum;
    rig_buf(&r, 0, 4096);
    struct launch_stats s = rig_launch(&r, 40, 192);
    rig_free(&r);
    return s;
}

static void
waits_are_counted(void **state)
{
    struct launch_stats none = run(plain, "baseline", false, 0);
    assert_int_equal(none.sm.regpower_on_cycles, none.gpu.register_cycles);
    assert_int_equal(none.sm.issue_wakeup + none.sm.regpower_wait_cycles, 0);
    struct launch_stats s = run(plain, "comp-opt", false, 0);
    assert_true(s.sm.issue_wakeup > 0);
    assert_true(s.sm.regpower_wait_cycles >= s.sm.issue_wakeup);
    /* A wait is as long as its longest wake-up: 2 cycles at most. */
    assert_true(s.sm.regpower_wait_cycles <=
                s.sm.regpower_wakes_sleep + 2 * s.sm.regpower_wakes_off);
    /* %r2, %r4, %r3 of each warp sleep before they are used, %r3 was OFF before its write. */
    assert_int_equal(s.sm.regpower_wakes_off, 40 * 6);
    assert_int_equal(s.gpu.register_cycles,
                     s.gpu.cycles * 15 * (32768 / 32)); /* and the identity: rig_launch */
}

static void
same_with_and_without_skipping(void **state)
{
    for (size_t i = 0; regpower_at(i); i++)
        for (int k = 0; k < 2; k++) {
            const char *text = k ? busy : plain, *policy = regpower_at(i)->name;
            struct launch_stats a = run(text, policy, false, 0),
                                b = run(text, policy, true, 0),
                                c = run(text, policy, false, 1);
            assert_memory_equal(&a, &b, sizeof a);
            assert_memory_equal(&a, &c, sizeof a);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unallocated_are_off),
        cmocka_unit_test(warps_have_what_they_are_allotted),
        cmocka_unit_test(registers_until_the_block_ends),
        cmocka_unit_test(first_state),
        cmocka_unit_test(destinations_wake_for_the_write),
        cmocka_unit_test(registers_that_come_later),
        cmocka_unit_test(registers_before_the_warp_starts),
        cmocka_unit_test(states_change_after_the_access),
        cmocka_unit_test(operands_that_name_one_register),
        cmocka_unit_test(registers_above_64),
        cmocka_unit_test(states_of_the_policies),
        cmocka_unit_test(wake_ups_take_their_cycles),
        cmocka_unit_test(decoded_instructions_keep_registers_on),
        cmocka_unit_test(table_is_bounded),
        cmocka_unit_test(accesses_of_the_first_warp),
        cmocka_unit_test(table_of_the_thesis),
        cmocka_unit_test(kernels_that_cannot_have_states),
        cmocka_unit_test(waits_are_counted),
        cmocka_unit_test(same_with_and_without_skipping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
