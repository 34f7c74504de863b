/* Rules of docs/model.md that no other file tests, one test each: the smallest input that
 * shows the rule, before a mock memory. The rest: timing_sm.c. Times are taken inside the
 * kernel by %clock, which is read when its instruction issues: exact to the cycle. */
#define RIG_MOCK_MEMORY
#include "unit/kit/timing_sm_rig.h"

#include "timing/sm/sm.h"

struct option {
    const char *path, *value;
};

/* Wide fetches: a warp's next instruction is always at hand, fetch is not what a test
 * here measures. */
static const struct option wide_fetch[] = {
    {"sm.fetch_width", "8"}, {"sm.fetch_per_cycle", "16"}, {0}};

static void
set_all(struct rig *r, const struct option *o)
{
    for (; o && o->path; o++)
        rig_set(r, o->path, o->value);
}

static char *
kernel_text(const char *body)
{
    struct strbuf b = {0};
    strbuf_printf(&b,
                  ".version 6.0\n.target sm_30\n.address_size 64\n"
                  ".visible .entry k(.param .u64 buf)\n{\n"
                  ".reg .pred %%p<4>;\n.reg .f32 %%f<32>;\n.reg .u32 %%r<64>;\n"
                  ".reg .u64 %%d<4>;\n"
                  "ld.param.u64 %%d0, [buf]; mov.u32 %%r60, %%tid.x;\n"
                  "mov.u32 %%r61, %%ctaid.x; mov.u32 %%r62, %%ntid.x;\n"
                  "mad.lo.u32 %%r61, %%r61, %%r62, %%r60;\n"
                  "mul.wide.u32 %%d1, %%r61, 4; add.u64 %%d0, %%d0, %%d1;\n"
                  "mov.u32 %%r1, 3; mov.u32 %%r2, 5; mov.u32 %%r59, 0;\n"
                  ".shared .b32 sh[128]; mov.u32 %%r41, sh;\n%s\n"
                  "st.global.u32 [%%d0], %%r59;\nret;\n}\n",
                  body);
    return strbuf_take(&b);
}

/* Runs the kernel and returns word `thread` of its buffer: what %r59 held at the end. */
static uint32_t
run_word(const char *machine, const struct option *opt, const char *body, unsigned grid,
         unsigned block, unsigned thread, struct launch_stats *stats)
{
    struct rig r;
    char *text = kernel_text(body);
    rig_load(&r, machine, text, NULL);
    rig_set(&r, "l1i.perfect", "true");
    set_all(&r, opt);
    uint64_t buf = rig_buf(&r, 0, 1 << 16);
    struct launch_stats s = rig_launch(&r, grid, block);
    if (stats)
        *stats = s;
    uint32_t v = rig_u32(&r, buf, thread);
    rig_free(&r);
    free(text);
    return v;
}

/* Cycles from the issue of the first to that of the last of: clock, body, clock, in the
 * one warp of the kernel. `settle` lets everything before the body drain. */
static const char settle[] = "div.s32 %r58, %r1, %r2; div.s32 %r58, %r58, %r2;"
                             "add.s32 %r58, %r58, 0; mov.u32 %r57, %r58;"
                             "bar.sync 0; bar.sync 0; bar.sync 0; bar.sync 0;";

static uint32_t
stamp(const char *machine, const struct option *extra, const char *body)
{
    struct option o[16] = {0};
    unsigned n = 0;
    for (const struct option *p = wide_fetch; p->path; p++)
        o[n++] = *p;
    for (const struct option *p = extra; p && p->path; p++)
        o[n++] = *p;
    struct strbuf b = {0};
    strbuf_printf(&b,
                  "%s mov.u32 %%r56, %%clock; %s mov.u32 %%r55, %%clock;"
                  "sub.u32 %%r59, %%r55, %%r56;",
                  settle, body);
    uint32_t v = run_word(machine, o, b.s, 1, 32, 0, NULL);
    strbuf_free(&b);
    return v;
}

#define EIGHT(op)                                                                        \
    op " %r8,%r8,%r1;" op " %r9,%r9,%r1;" op " %r10,%r10,%r1;" op " %r11,%r11,%r1;" op   \
       " %r12,%r12,%r1;" op " %r13,%r13,%r1;" op " %r14,%r14,%r1;" op " %r15,%r15,%r1;"

/* Cycles of 64 further groups of eight instructions, by `warps` warps of one block. */
static uint64_t
cost(const char *machine, const struct option *opt, const char *setup, const char *eight,
     unsigned warps)
{
    uint64_t c[2];
    for (int i = 0; i < 2; i++) {
        struct strbuf b = {0};
        struct launch_stats s;
        strbuf_addz(&b, setup);
        for (int k = 0; k < 32 + 64 * i; k++)
            strbuf_addz(&b, eight);
        run_word(machine, opt, b.s, 1, 32 * warps, 0, &s);
        c[i] = s.gpu.cycles;
        strbuf_free(&b);
    }
    return c[1] - c[0];
}

/* Latest less earliest cycle in which a warp of the one block has issued all of `body`.
 */
static uint32_t
spread(const char *machine, const struct option *opt, const char *body, unsigned warps)
{
    struct rig r;
    struct strbuf b = {0};
    strbuf_printf(&b, "%s %s mov.u32 %%r59, %%clock;", settle, body);
    char *text = kernel_text(b.s);
    rig_load(&r, machine, text, NULL);
    rig_set(&r, "l1i.perfect", "true");
    set_all(&r, opt);
    uint64_t buf = rig_buf(&r, 0, 1 << 16);
    rig_launch(&r, 1, 32 * warps);
    uint32_t first = UINT32_MAX, last = 0;
    for (unsigned w = 0; w < warps; w++) {
        uint32_t v = rig_u32(&r, buf, 32 * w);
        first = v < first ? v : first;
        last = v > last ? v : last;
    }
    rig_free(&r);
    free(text);
    strbuf_free(&b);
    return last - first;
}

/* -- launch and dispatch -- */

static void
launch_latency(void **st)
{
    struct launch_stats a, b;
    const struct option none[] = {{"gpu.launch_latency", "0"}, {0}};
    const struct option some[] = {{"gpu.launch_latency", "37"}, {0}};
    run_word("gtx480", none, "", 1, 32, 0, &a);
    run_word("gtx480", some, "", 1, 32, 0, &b);
    assert_int_equal(b.gpu.cycles, a.gpu.cycles + 37);
}

/* Blocks of one SM start a cycle apart, or together when so many may. */
static void
dispatch_per_cycle(void **st)
{
    const struct option one[] = {{"sm.count", "1"},
                                 {"gpu.dispatch_per_cycle", "1"},
                                 {"sm.fetch_per_cycle", "16"},
                                 {0}};
    const struct option four[] = {{"sm.count", "1"},
                                  {"gpu.dispatch_per_cycle", "4"},
                                  {"sm.fetch_per_cycle", "16"},
                                  {0}};
    static const char text[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n"
        ".visible .entry k(.param .u64 buf)\n{\n"
        ".reg .u32 %r<8>; .reg .u64 %d<4>;\n"
        "mov.u32 %r0, %clock; ld.param.u64 %d0, [buf];\n"
        "mov.u32 %r1, %ctaid.x; mul.wide.u32 %d1, %r1, 4;\n"
        "add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r0; ret; }\n";
    for (int k = 0; k < 2; k++) {
        struct rig r;
        rig_load(&r, "titan", text, NULL);
        rig_set(&r, "l1i.perfect", "true");
        set_all(&r, k ? four : one);
        uint64_t buf = rig_buf(&r, 0, 4096);
        rig_launch(&r, 4, 32);
        for (unsigned i = 1; i < 4; i++)
            assert_int_equal(rig_u32(&r, buf, i) - rig_u32(&r, buf, 0), k ? 0 : i);
        rig_free(&r);
    }
}

/* Cycles of the first and of the second launch of one kernel with constants. */
static void
two_launches(const char *path, const char *value, uint64_t cycles[2],
             struct launch_stats s[2])
{
    static const char text[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n.const .u32 table[64];\n"
        ".visible .entry k(.param .u64 buf)\n{\n"
        ".reg .u32 %r<8>; .reg .u64 %d<4>;\n"
        "ld.param.u64 %d0, [buf]; ld.const.u32 %r0, [table+128];\n"
        "st.global.u32 [%d0], %r0; ret; }\n";
    struct rig r;
    rig_load(&r, "gtx480", text, NULL);
    rig_set(&r, "sm.count", "1");
    rig_set(&r, path, value);
    rig_buf(&r, 0, 4096);
    for (int i = 0; i < 2; i++) {
        s[i] = rig_launch(&r, 1, 32);
        cycles[i] = s[i].gpu.cycles;
    }
    rig_free(&r);
}

/* The second launch of a kernel finds its instructions and constants, unless they are
 * dropped: one more miss each for two lines of either cache. */
static void
launches_keep_instruction_and_constant_caches(void **st)
{
    uint64_t keep[2], no_i[2], no_c[2];
    struct launch_stats s[2];
    two_launches("gpu.flush_l1i", "false", keep, s);
    assert_true(s[0].sm.l1i_misses > 0 && s[0].sm.l1c_misses > 0);
    assert_int_equal(s[1].sm.l1i_misses, 0);
    assert_int_equal(s[1].sm.l1c_misses, 0);
    two_launches("gpu.flush_l1i", "true", no_i, s);
    assert_int_equal(s[1].sm.l1i_misses, s[0].sm.l1i_misses);
    assert_int_equal(s[1].sm.l1c_misses, 0);
    two_launches("gpu.flush_l1c", "true", no_c, s);
    assert_int_equal(s[1].sm.l1i_misses, 0);
    assert_int_equal(s[1].sm.l1c_misses, s[0].sm.l1c_misses);
    assert_int_equal(keep[0], no_i[0]);
    assert_int_equal(keep[0], no_c[0]);
    assert_true(keep[1] < no_i[1] && keep[1] < no_c[1]);
}

/* Seven blocks go to SMs 0 to 6; the next launch's to 7, 8 ... or to 0 again. */
static void
dispatch_goes_on_behind_the_last_sm(void **st)
{
    static const char text[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n"
        ".visible .entry k(.param .u64 buf)\n{ .reg .u32 %r<4>; .reg .u64 %d<4>;\n"
        "ld.param.u64 %d0, [buf]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 4;\n"
        "add.u64 %d0, %d0, %d1; mov.u32 %r1, %smid; st.global.u32 [%d0], %r1; ret; }\n";
    for (unsigned from_first = 0; from_first < 2; from_first++) {
        struct rig r;
        rig_load(&r, "gtx480", text, NULL);
        rig_set(&r, "gpu.dispatch_from_first", from_first ? "true" : "false");
        uint64_t buf = rig_buf(&r, 0, 4096);
        for (unsigned launch = 0; launch < 3; launch++) {
            rig_launch(&r, 7, 32);
            for (unsigned i = 0; i < 7; i++)
                assert_int_equal(rig_u32(&r, buf, i),
                                 (from_first ? i : launch * 7 + i) % 15);
        }
        rig_free(&r);
    }
}

/* Three SMs of one block each. Block 1 ends at once and SM 1 gets block 3; when SMs 0 and
 * 2 have room in one cycle, the round starts behind SM 1. */
static void
dispatch_round_starts_behind_the_last_sm(void **st)
{
    static const char text[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n"
        ".visible .entry k(.param .u64 buf)\n{\n"
        ".reg .u32 %r<4>; .reg .u64 %d<4>; .reg .pred %p;\n"
        "ld.param.u64 %d0, [buf]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 4;\n"
        "add.u64 %d0, %d0, %d1; mov.u32 %r1, %smid; st.global.u32 [%d0], %r1;\n"
        "setp.eq.u32 %p, %r0, 1; @%p ret;\n"
        "div.u32 %r2, %r0, %r1; div.u32 %r2, %r2, %r1; div.u32 %r2, %r2, %r1;\n"
        "div.u32 %r2, %r2, %r1; add.u32 %r2, %r2, 1; ret; }\n";
    static const unsigned sm[] = {0, 1, 2, 1, 2, 0};
    struct rig r;
    rig_load(&r, "gtx480", text, NULL);
    rig_set(&r, "l1i.perfect", "true");
    rig_set(&r, "sm.count", "3");
    rig_set(&r, "residency.max_blocks", "1");
    uint64_t buf = rig_buf(&r, 0, 4096);
    rig_launch(&r, 6, 32);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(rig_u32(&r, buf, i), sm[i]);
    rig_free(&r);
}

/* Slot k has warp slots 2k and 2k + 1 here; the lowest free one is taken, and warps are
 * numbered as they start. */
static void
lowest_free_slot(void **st)
{
    struct rig r;
    char *text = kernel_text("");
    rig_load(&r, "gtx480", text, NULL);
    rig_buf(&r, 0, 4096);
    r.g.grid = (struct exec_dim){16, 1, 1};
    r.g.block = (struct exec_dim){64, 1, 1};
    r.g.warps_per_cta = 2;
    assert_true(exec_grid_check(&r.g, &r.diag));
    struct arena a = {0};
    struct stat_sm stats = {0};
    struct sm_inst *inst = ARENA_ARRAY(&a, struct sm_inst, r.p->ninst + 1);
    struct sm_program prog = {.grid = &r.g,
                              .inst = inst,
                              .ninst = r.p->ninst,
                              .nregs = r.p->nregs,
                              .warps_per_cta = 2};
    const struct sm_setup setup = {.blocks = 4};
    struct sm *s = ARENA_NEW(&a, struct sm);
    sm_init(s, &a, r.m, sched_find("gto"), &setup, &prog, ldst_new(&a, r.m, 0, &stats),
            &stats, NULL, 0, 0);
    for (uint32_t k = 0; k < 4; k++) {
        assert_true(sm_has_room(s));
        sm_start_block(s, k, 0);
    }
    assert_false(sm_has_room(s));
    s->cta[1] = s->cta[2] = NULL; /* blocks 1 and 2 end */
    s->blocks = 2;
    sm_start_block(s, 9, 0);
    assert_int_equal(s->cta[1]->ctaid.x, 9);
    assert_null(s->cta[2]);
    sm_start_block(s, 10, 0);
    assert_int_equal(s->cta[2]->ctaid.x, 10);
    for (unsigned w = 0; w < 8; w++) {
        assert_ptr_equal(s->warp[w].ew, &s->cta[w / 2]->warp[w % 2]);
        unsigned fresh[] = {0, 1, 8, 9, 10, 11, 6, 7};
        assert_int_equal(s->warp[w].ew->dynamic_id, fresh[w]);
    }
    sm_free(s);
    arena_free(&a);
    rig_free(&r);
    free(text);
}

/* -- fetch -- */

static void
fetch_width_and_rate(void **st)
{
    const struct option narrow[] = {
        {"sm.fetch_width", "1"}, {"sm.fetch_per_cycle", "1"}, {0}};
    const struct option pairs[] = {
        {"sm.fetch_width", "2"}, {"sm.fetch_per_cycle", "1"}, {0}};
    const struct option twice[] = {
        {"sm.fetch_width", "1"}, {"sm.fetch_per_cycle", "2"}, {0}};
    /* 16 warps could issue two a cycle; one instruction a cycle is brought */
    uint64_t n = 64 * 8 * 16;
    assert_in_range(cost("gtx480", narrow, "", EIGHT("add.s32"), 16), n, n * 102 / 100);
    assert_true(cost("gtx480", pairs, "", EIGHT("add.s32"), 16) < n * 70 / 100);
    assert_true(cost("gtx480", twice, "", EIGHT("add.s32"), 16) < n * 70 / 100);
}

/* Eight warps before one instruction fetched a cycle: nobody is through with its 64 long
 * before another. */
static void
warps_take_turns_in_fetch(void **st)
{
    const struct option narrow[] = {
        {"sm.fetch_width", "1"}, {"sm.fetch_per_cycle", "1"}, {0}};
    const char *body = EIGHT("add.s32") EIGHT("add.s32") EIGHT("add.s32") EIGHT("add.s32")
        EIGHT("add.s32") EIGHT("add.s32") EIGHT("add.s32") EIGHT("add.s32");
    assert_in_range(spread("gtx480", narrow, body, 8), 1, 16);
}

/* Behind each taken jump lies an instruction of its fetch, which is thrown away. */
static void
wrong_path_is_thrown_away(void **st)
{
    struct launch_stats s[2];
    for (int i = 0; i < 2; i++) {
        char body[256];
        snprintf(
            body, sizeof body,
            "mov.u32 %%r3, %d; LOOP: sub.u32 %%r3, %%r3, 1; setp.ne.u32 %%p0, %%r3, 0;"
            "@%%p0 bra LOOP; add.s32 %%r4, %%r1, %%r2;",
            10 + 20 * i);
        const struct option four[] = {{"sm.fetch_width", "8"}, {0}};
        run_word("gtx480", four, body, 1, 32, 0, &s[i]);
    }
    assert_int_equal(s[1].sm.fetch_wrong_path - s[0].sm.fetch_wrong_path, 20);
}

/* 64 instructions of a line of 16 each, from an even and from an odd place: as many
 * fetches, though every eighth pair lies in two lines then. */
static void
a_pair_may_cross_a_line(void **st)
{
    uint64_t fetches[2];
    for (int odd = 0; odd < 2; odd++) {
        struct strbuf b = {0};
        struct launch_stats s;
        strbuf_printf(&b, "bra.uni ON; %s ON:", odd ? "ret; ret;" : "ret;");
        for (int i = 0; i < 8; i++)
            strbuf_addz(&b, EIGHT("add.s32"));
        run_word("gtx480", NULL, b.s, 1, 32, 0, &s);
        fetches[odd] = s.sm.fetches;
        strbuf_free(&b);
    }
    assert_in_range(fetches[0], fetches[1] - 1, fetches[1] + 1);
    assert_true(fetches[0] >= 32);
}

/* -- issue -- */

/* Lanes that jump run first, then the others, then all. */
static void
both_sides_of_a_branch_run(void **st)
{
    const char *body = "setp.lt.u32 %p0, %r60, 16; @%p0 bra THERE; mov.u32 %r59, %clock;"
                       "bra.uni ON; THERE: mov.u32 %r59, %clock; ON: mov.u32 %r3, %r59;";
    struct launch_stats s;
    uint32_t jumped = run_word("gtx480", NULL, body, 1, 32, 0, &s);
    uint32_t stayed = run_word("gtx480", NULL, body, 1, 32, 31, NULL);
    assert_int_equal(run_word("gtx480", NULL, body, 1, 32, 15, NULL), jumped);
    assert_int_equal(run_word("gtx480", NULL, body, 1, 32, 16, NULL), stayed);
    assert_true(jumped < stayed);
    /* 16 lanes: the jump there, a clock on each side, the jump on */
    assert_int_equal(32 * s.sm.warp_instructions - s.sm.thread_instructions, 4 * 16);
}

/* Warps 0 and 1 have a scheduler each, 0 and 2 share one: eight adds take one warp 8
 * slots of its scheduler. */
static void
warp_slot_modulo_schedulers(void **st)
{
    const char *without_1 = "shr.u32 %r3, %r60, 5; setp.eq.u32 %p0, %r3, 1; @%p0 ret;";
    const char *without_2 = "shr.u32 %r3, %r60, 5; setp.eq.u32 %p0, %r3, 2; @%p0 ret;";
    uint64_t shared = cost("gtx480", wide_fetch, without_1, EIGHT("add.s32"), 3);
    uint64_t apart = cost("gtx480", wide_fetch, without_2, EIGHT("add.s32"), 3);
    assert_in_range(shared, 64 * 16, 64 * 16 + 16);
    assert_true(apart <= 64 * 13); /* a warp alone: 8 and the wait for what it fetched */
}

/* Two schedulers before a latch of one place: each gets it every other cycle, so that the
 * warps of both are through together. */
static void
schedulers_take_turns(void **st)
{
    const struct option o[] = {{"sm.fetch_width", "8"},
                               {"sm.fetch_per_cycle", "16"},
                               {"sm.scheduler", "lrr"},
                               {"unit.slots_sp", "1"},
                               {0}};
    const char *body =
        EIGHT("add.s32") EIGHT("add.s32") EIGHT("add.s32") EIGHT("add.s32");
    assert_in_range(spread("gtx480", o, body, 16), 1, 32);
}

/* A write waits for the earlier write of its register (WAW): the clock after a mov that
 * waits for div.s32 is 151 cycles late; a read of an operand does not hold its
 * overwriter. */
static void
writes_wait_for_writes(void **st)
{
    uint32_t apart = stamp("gtx480", NULL, "div.s32 %r3, %r1, %r2; mov.u32 %r4, 7;");
    uint32_t waw = stamp("gtx480", NULL, "div.s32 %r3, %r1, %r2; mov.u32 %r3, 7;");
    uint32_t war = stamp("gtx480", NULL, "div.s32 %r3, %r1, %r2; mov.u32 %r1, 7;");
    assert_int_equal(apart, 3); /* one instruction a cycle */
    assert_int_equal(waw, 1 + 151 + 1);
    assert_int_equal(war, apart);
}

/* -- latches, collectors -- */

static void
issue_latch_bounds_issue(void **st)
{
    /* Two schedulers before a latch of one place: one instruction a cycle. */
    const struct option one[] = {
        {"unit.slots_sp", "1"}, {"sm.fetch_per_cycle", "8"}, {0}};
    const struct option two[] = {
        {"unit.slots_sp", "2"}, {"sm.fetch_per_cycle", "8"}, {0}};
    uint64_t n = 64 * 8 * 16;
    assert_in_range(cost("gtx480", one, "", EIGHT("add.s32"), 16), n, n * 105 / 100);
    assert_true(cost("gtx480", two, "", EIGHT("add.s32"), 16) < n * 75 / 100);
}

static void
collector_units_bound_throughput(void **st)
{
    /* A unit is taken in the cycle of entry and the next (read), and free for another in
     * the one after: two cycles an instruction and unit. */
    const struct option one[] = {{"collector.units_sp", "1"},
                                 {"collector.ports_sp", "1"},
                                 {"sm.fetch_per_cycle", "8"},
                                 {0}};
    const struct option two[] = {{"collector.units_sp", "2"},
                                 {"collector.ports_sp", "1"},
                                 {"sm.fetch_per_cycle", "8"},
                                 {0}};
    uint64_t n = 64 * 8 * 16;
    assert_in_range(cost("gtx480", one, "", EIGHT("add.s32"), 16), 2 * n, n * 23 / 10);
    assert_in_range(cost("gtx480", two, "", EIGHT("add.s32"), 16), n, n * 13 / 10);
}

static void
collector_ports_bound_throughput(void **st)
{
    const struct option one[] = {
        {"collector.ports_sp", "1"}, {"sm.fetch_per_cycle", "8"}, {0}};
    const struct option two[] = {
        {"collector.ports_sp", "2"}, {"sm.fetch_per_cycle", "8"}, {0}};
    uint64_t n = 64 * 8 * 16;
    assert_in_range(cost("gtx480", one, "", EIGHT("add.s32"), 16), n, n * 105 / 100);
    assert_true(cost("gtx480", two, "", EIGHT("add.s32"), 16) < n * 75 / 100);
}

static void
general_collectors_serve_every_class(void **st)
{
    const struct option none[] = {{"collector.units_sfu", "0"},
                                  {"collector.ports_sfu", "0"},
                                  {"collector.units_general", "4"},
                                  {"collector.ports_general", "4"},
                                  {0}};
    uint32_t own =
        stamp("gtx480", NULL, "ex2.approx.f32 %f1, %f0; add.f32 %f2, %f1, %f1;");
    uint32_t general =
        stamp("gtx480", none, "ex2.approx.f32 %f1, %f0; add.f32 %f2, %f1, %f1;");
    assert_int_equal(general, own);
    assert_int_equal(own, 1 + 14 + 1);
}

/* The add issued at cycle 9 reads its source's bank at 11 (entry 10), when the first add
 * (issued at 1, written back at 1 + 10) writes there: the read is a cycle late. */
static void
write_back_goes_before_reads(void **st)
{
    const char *other = "add.s32 %r3, %r1, %r2; mov.u32 %r6, 1; mov.u32 %r7, 1;"
                        "mov.u32 %r8, 1; mov.u32 %r9, 1; mov.u32 %r10, 1;"
                        "mov.u32 %r11, 1; mov.u32 %r12, 1; add.s32 %r5, %r20, 0;"
                        "add.s32 %r5, %r5, 0;";
    const char *same = "add.s32 %r3, %r1, %r2; mov.u32 %r6, 1; mov.u32 %r7, 1;"
                       "mov.u32 %r8, 1; mov.u32 %r9, 1; mov.u32 %r10, 1;"
                       "mov.u32 %r11, 1; mov.u32 %r12, 1; add.s32 %r5, %r19, 0;"
                       "add.s32 %r5, %r5, 0;";
    const struct option one_warp[] = {{"sm.fetch_width", "8"}, {0}};
    assert_int_equal(stamp("gtx480", one_warp, same),
                     stamp("gtx480", one_warp, other) + 1);
}

/* -- pipelines -- */

/* One result of a pipeline a cycle: mad (5 cycles) then add (4) would come out together;
 * on one pipeline the add starts a cycle later, on two it does not. */
static void
one_result_of_a_pipeline_a_cycle(void **st)
{
    const struct option one[] = {{"unit.sp", "1"}, {0}}, two[] = {{"unit.sp", "2"}, {0}};
    const char *clash = "mad.lo.s32 %r3, %r1, %r2, %r2; add.s32 %r4, %r1, %r2;"
                        "add.s32 %r5, %r4, %r1;";
    const char *apart = "add.s32 %r3, %r1, %r2; add.s32 %r4, %r1, %r2;"
                        "add.s32 %r5, %r4, %r1;";
    assert_int_equal(stamp("gtx480", one, clash), stamp("gtx480", two, clash) + 1);
    assert_int_equal(stamp("gtx480", one, apart), stamp("gtx480", two, apart));
}

static void
pipelines_bound_throughput(void **st)
{
    const struct option one[] = {{"unit.sp", "1"}, {"sm.fetch_per_cycle", "8"}, {0}};
    uint64_t n = 64 * 8 * 16;
    assert_in_range(cost("gtx480", one, "", EIGHT("add.s32"), 16), n, n * 105 / 100);
}

/* The second of two ex2 starts `interval` cycles after the first, in one pipeline. */
static void
initiation_interval(void **st)
{
    const char *one = "ex2.approx.f32 %f1, %f0; add.f32 %f3, %f1, %f1;";
    const char *both = "ex2.approx.f32 %f2, %f0; ex2.approx.f32 %f1, %f0;"
                       "add.f32 %f3, %f1, %f1;";
    char v[8];
    for (unsigned i = 1; i <= 8; i++) {
        snprintf(v, sizeof v, "8,%u", i);
        const struct option o[] = {{"latency.sfu", v}, {0}};
        /* the second issues a cycle after the first, then waits interval - 1 */
        assert_int_equal(stamp("gtx480", o, both), stamp("gtx480", o, one) + i);
    }
}

/* Arithmetic of halves has its classes, by type: one value, two f16, two bf16. */
static void
half_precision_classes(void **st)
{
    static const struct {
        const char *path, *body;
    } t[] = {
        {"latency.half", "{.reg .b16 %h<3>; add.f16 %h1, %h0, %h0; mul.f16 %h2, %h1, %h1;"
                         "fma.rn.bf16 %h1, %h2, %h2, %h2; setp.eq.f16 %p1, %h1, %h1;}"},
        {"latency.f16x2",
         "{.reg .b32 %b<4>; sub.f16x2 %b1, %b0, %b0; mul.f16x2 %b2, %b1, %b1;"
         "fma.rn.f16x2 %b3, %b2, %b2, %b2; mov.b32 %r6, %b3;}"},
        {"latency.bf16x2", "{.reg .b32 %b<4>; fma.rn.bf16x2 %b1, %b0, %b0, %b0;"
                           "fma.rn.bf16x2 %b2, %b1, %b1, %b1;"
                           "fma.rn.bf16x2 %b3, %b2, %b2, %b2; mov.b32 %r6, %b3;}"},
        {"latency.f32_fma",
         "fma.rn.f32 %f1, %f0, %f0, %f0; fma.rn.f32 %f2, %f1, %f1, %f1;"
         "fma.rn.f32 %f3, %f2, %f2, %f2; mov.f32 %f4, %f3;"},
    };
    enum { N = sizeof t / sizeof *t };
    for (unsigned i = 0; i < N; i++) {
        uint32_t was = stamp("gtx480", NULL, t[i].body);
        for (unsigned k = 0; k < N; k++) { /* every class is 5,1 */
            const struct option o[] = {{t[k].path, "8,1"}, {0}};
            assert_int_equal(stamp("gtx480", o, t[i].body), was + (i == k ? 3 * 3 : 0));
        }
    }
}

/* A load's result waits a cycle if an ALU result goes to its register's bank in that one:
 * of all places an add may stand in, one delays what uses the load. */
static void
loads_give_way_to_alu_results(void **st)
{
    unsigned late = 0;
    for (unsigned movs = 8; movs < 28; movs++) {
        uint32_t t[2];
        for (int k = 0; k < 2; k++) {
            struct strbuf b = {0};
            strbuf_addz(&b, "ld.shared.u32 %r3, [%r41];");
            for (unsigned i = 0; i < movs; i++)
                strbuf_printf(&b, "mov.u32 %%r%u, 1;", 21 + i % 8);
            strbuf_printf(&b, "add.s32 %%r%d, %%r1, %%r2; add.s32 %%r5, %%r3, %%r2;",
                          k ? 19 : 18);
            t[k] = stamp("gtx480", NULL, b.s);
            strbuf_free(&b);
        }
        assert_in_range(t[1] - t[0], 0, 1);
        late += t[1] - t[0];
    }
    assert_int_equal(late, 1);
}

/* -- what newer GPUs have -- */

/* f64 instructions wait for so many registers of their operands, here one step each: all are
 * in one bank. Others wait for all. */
static void
f64_starts_before_its_last_operands(void **st)
{
    const char *f64 = "{.reg .f64 %g<40>; fma.rn.f64 %g1, %g0, %g16, %g32;"
                      "add.f64 %g2, %g1, %g1;}";
    const char *f32 = "{.reg .f32 %g<40>; fma.rn.f32 %g1, %g0, %g16, %g32;"
                      "add.f32 %g2, %g1, %g1;}";
    struct option o[] = {
        {"collector.bank_ports", "1"}, {"collector.f64_registers", "0"}, {0}};
    uint32_t all = stamp("titan", o, f64), all32 = stamp("titan", o, f32);
    for (unsigned k = 1; k <= 6; k++) {
        char v[4];
        snprintf(v, sizeof v, "%u", k);
        o[1].value = v;
        assert_int_equal(stamp("titan", o, f64), all - (k < 3 ? 3 - k : 0));
        assert_int_equal(stamp("titan", o, f32), all32);
    }
    struct launch_stats few, full;
    o[1].value = "1";
    run_word("titan", o, f64, 1, 32, 0, &few);
    o[1].value = "0";
    run_word("titan", o, f64, 1, 32, 0, &full);
    assert_int_equal(few.sm.operand_reads, full.sm.operand_reads);
}

/* With forwarding a dependent instruction issues so many cycles earlier, at the earliest
 * the one after its producer started (issue + 3 here, with wide banks). */
static void
forwarding_shortens_dependent_use(void **st)
{
    const char *chain = "add.s32 %r3, %r1, %r2; add.s32 %r4, %r3, %r1;";
    uint32_t plain = stamp("gtx480", NULL, chain);
    for (unsigned k = 0; k <= 8; k++) {
        char v[4];
        snprintf(v, sizeof v, "%u", k);
        const struct option o[] = {{"unit.forward", v}, {0}};
        /* 4 + 2 cycles from start to write-back, one of them at least stays */
        assert_int_equal(stamp("gtx480", o, chain), plain - (k < 5 ? k : 5));
    }
}

/* Integer work and moves leave the SP pipeline alone when they have one of their own. */
static void
integer_pipelines(void **st)
{
    const struct option sp[] = {
        {"latency.f32_add", "4,8"}, {"latency.int_add", "4,8"}, {"unit.sp", "1"}, {0}};
    const struct option own[] = {{"latency.f32_add", "4,8"},
                                 {"latency.int_add", "4,8"},
                                 {"unit.sp", "1"},
                                 {"unit.integer", "1"},
                                 {"unit.slots_integer", "1"},
                                 {"collector.units_integer", "4"},
                                 {"collector.ports_integer", "1"},
                                 {0}};
    const char *mixed = "add.f32 %f1, %f0, %f0; add.s32 %r3, %r1, %r2;"
                        "add.s32 %r4, %r3, %r2;";
    const char *alone = "add.s32 %r3, %r1, %r2; add.s32 %r4, %r3, %r2;";
    /* one pipeline: the second starts 8 cycles after the first, not one */
    assert_int_equal(stamp("gtx480", sp, mixed), stamp("gtx480", sp, alone) + 8);
    assert_int_equal(stamp("gtx480", own, mixed), stamp("gtx480", own, alone) + 1);
}

/* The L1 loses as many ways as the scratchpad of the resident blocks takes, rounded up to
 * a size that can be set. */
static void
scratchpad_takes_ways_of_the_l1(void **st)
{
    struct diag_sink d = {0};
    struct machine *m = machine_load("v100", &d);
    assert_non_null(m);
    static const struct {
        uint32_t scratchpad, blocks, ways; /* of 16 ways of 8 KB */
    } t[] = {{0, 8, 16},    {256, 1, 15},  {8192, 1, 15}, {8448, 1, 14},
             {4096, 8, 12}, {12288, 8, 4}, {98304, 1, 4}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct occ_kernel k = {
            .threads = 64, .registers = 16, .scratchpad = t[i].scratchpad};
        assert_int_equal(occ_l1_ways(m, &k, t[i].blocks), t[i].ways);
    }
    assert_true(machine_set(m, "sm.scratchpad_from_l1", "false", &d));
    struct occ_kernel k = {.threads = 64, .registers = 16, .scratchpad = 98304};
    assert_int_equal(occ_l1_ways(m, &k, 1), 16);
    machine_free(m);
    diag_free(&d);
    /* 12 KB read twice: with 16 KB all hit the second time, with the 4 KB beside a block
     * with scratchpad fewer do */
    const char *twice = "mul.wide.u32 %d2, %r60, 124; add.u64 %d2, %d0, %d2;"
                        "ld.global.u32 %r3, [%d2]; bar.sync 0; ld.global.u32 %r4, [%d2];";
    struct option o[] = {{"l1d.hash", "linear"},
                         {"l1d.sets", "16"},
                         {"l1d.ways", "8"},
                         {"sm.scratchpad", "12288"},
                         {"sm.max_block_scratchpad", "12288"},
                         {"sm.scratchpad_sizes", "0 12"},
                         {"sm.scratchpad_from_l1", "true"},
                         {0}};
    struct launch_stats with, without;
    run_word("gtx480", o, twice, 1, 96, 0, &with);
    o[6].value = "false";
    run_word("gtx480", o, twice, 1, 96, 0, &without);
    assert_true(with.sm.l1d_hits < without.sm.l1d_hits);
}

/* -- sub-cores -- */

static const struct option split4[] = {
    {"sm.sub_cores", "split"},    {"unit.sfu", "4"},
    {"unit.slots_sfu", "4"},      {"collector.units_sfu", "8"},
    {"collector.ports_sfu", "4"}, {"latency.sfu", "8,4"},
    {"sm.fetch_per_cycle", "8"},  {0}};

#define SFU4                                                                             \
    "ex2.approx.f32 %f2, %f1; ex2.approx.f32 %f3, %f1; ex2.approx.f32 %f4, %f1;"         \
    "ex2.approx.f32 %f5, %f1;"

/* A scheduler has its own quarter of the pipelines: two warps of one scheduler wait for
 * its one SFU (4 cycles an instruction), where the four together would take them. */
static void
sub_cores_own_their_pipelines(void **st)
{
    struct option shared[8];
    memcpy(shared, split4, sizeof shared);
    shared[0].value = "shared";
    /* warps 0 and 4: both of scheduler 0 of 4 */
    const char *two =
        "shr.u32 %r3, %r60, 5; and.b32 %r3, %r3, 3; setp.ne.u32 %p0, %r3, 0;"
        "@%p0 ret;";
    uint64_t own = cost("titan", split4, two, SFU4, 5);
    uint64_t all = cost("titan", shared, two, SFU4, 5);
    assert_in_range(own, 64 * 4 * 2 * 4, 64 * 4 * 2 * 4 + 16);
    assert_true(all < own * 6 / 10);
    /* warps 0 to 3, one a scheduler: nobody waits for another */
    uint64_t one = cost("titan", split4, "", SFU4, 1);
    uint64_t four = cost("titan", split4, "", SFU4, 4);
    assert_int_equal(one, 64 * 4 * 4);
    assert_in_range(four, one, one + 16);
}

/* ... and of the register banks: 16 become four of four, in which registers 4 apart meet
 * (20, 27, 34 lie in three of them; the fourth is written to by then).
 */
static void
sub_cores_own_their_banks(void **st)
{
    struct option shared[] = {
        {"sm.sub_cores", "shared"}, {"collector.bank_ports", "1"}, {0}};
    struct option split[] = {
        {"sm.sub_cores", "split"}, {"collector.bank_ports", "1"}, {0}};
    const char *meet = "mad.lo.s32 %r5, %r20, %r24, %r28; add.s32 %r6, %r5, 0;";
    const char *pass = "mad.lo.s32 %r5, %r20, %r27, %r34; add.s32 %r6, %r5, 0;";
    assert_int_equal(stamp("titan", shared, meet), stamp("titan", shared, pass));
    assert_int_equal(stamp("titan", split, meet), stamp("titan", split, pass) + 2);
}

/* The load/store unit stays one for all: each sub-core's turn comes. */
static void
sub_cores_share_the_load_store_unit(void **st)
{
    struct option shared[] = {{"sm.sub_cores", "shared"}, {0}};
    struct option split[] = {{"sm.sub_cores", "split"},
                             {"unit.slots_mem", "4"},
                             {"collector.ports_mem", "4"},
                             {0}};
    const char *loads = "ld.global.u32 %r3, [%d0]; ld.global.u32 %r4, [%d0];"
                        "ld.global.u32 %r5, [%d0]; ld.global.u32 %r6, [%d0];";
    uint64_t n = 64 * 4 * 4 * 4; /* instructions x warps x sectors of each */
    assert_true(cost("titan", split, "", loads, 4) >= n);
    assert_true(cost("titan", shared, "", loads, 4) >= n);
}

/* ... and nobody's turn comes twice: four warps, one a sub-core, whose accesses keep the
 * unit busy for three cycles each (three words of a bank), are through together. */
static void
sub_cores_take_turns_at_the_load_store_unit(void **st)
{
    struct option split[] = {{"sm.sub_cores", "split"},    {"unit.slots_mem", "4"},
                             {"collector.ports_mem", "4"}, {"sm.fetch_width", "8"},
                             {"sm.fetch_per_cycle", "16"}, {0}};
    struct strbuf b = {0};
    strbuf_addz(&b,
                "and.b32 %r3, %r60, 31; rem.u32 %r3, %r3, 3; mul.lo.u32 %r3, %r3, 128;"
                "add.u32 %r41, %r41, %r3;");
    for (unsigned i = 0; i < 32; i++)
        strbuf_printf(&b, "ld.shared.u32 %%r%u, [%%r41];", 4 + i % 32);
    assert_in_range(spread("titan", split, b.s, 4), 1, 24);
    strbuf_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_latency),
        cmocka_unit_test(dispatch_per_cycle),
        cmocka_unit_test(launches_keep_instruction_and_constant_caches),
        cmocka_unit_test(dispatch_goes_on_behind_the_last_sm),
        cmocka_unit_test(dispatch_round_starts_behind_the_last_sm),
        cmocka_unit_test(lowest_free_slot),
        cmocka_unit_test(fetch_width_and_rate),
        cmocka_unit_test(warps_take_turns_in_fetch),
        cmocka_unit_test(wrong_path_is_thrown_away),
        cmocka_unit_test(a_pair_may_cross_a_line),
        cmocka_unit_test(both_sides_of_a_branch_run),
        cmocka_unit_test(warp_slot_modulo_schedulers),
        cmocka_unit_test(schedulers_take_turns),
        cmocka_unit_test(writes_wait_for_writes),
        cmocka_unit_test(issue_latch_bounds_issue),
        cmocka_unit_test(collector_units_bound_throughput),
        cmocka_unit_test(collector_ports_bound_throughput),
        cmocka_unit_test(general_collectors_serve_every_class),
        cmocka_unit_test(write_back_goes_before_reads),
        cmocka_unit_test(one_result_of_a_pipeline_a_cycle),
        cmocka_unit_test(pipelines_bound_throughput),
        cmocka_unit_test(initiation_interval),
        cmocka_unit_test(half_precision_classes),
        cmocka_unit_test(loads_give_way_to_alu_results),
        cmocka_unit_test(forwarding_shortens_dependent_use),
        cmocka_unit_test(f64_starts_before_its_last_operands),
        cmocka_unit_test(integer_pipelines),
        cmocka_unit_test(scratchpad_takes_ways_of_the_l1),
        cmocka_unit_test(sub_cores_own_their_pipelines),
        cmocka_unit_test(sub_cores_own_their_banks),
        cmocka_unit_test(sub_cores_share_the_load_store_unit),
        cmocka_unit_test(sub_cores_take_turns_at_the_load_store_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
