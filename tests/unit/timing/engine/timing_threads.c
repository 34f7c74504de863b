/* Host threads: programs whose results depend on who comes first - tickets, racing
 * stores, flags between blocks - have the same memory, the same counters and the same
 * diagnostics at any number of threads, with and without skipping, and however long the
 * windows are in which SMs and memory partitions run by themselves. */
#include "unit/kit/sanitized.h"
#include "unit/kit/timing_sm_rig.h"

#include "timing/trace.h"

#define HEAD ".version 6.0\n.target sm_30\n.address_size 64\n"
#define BEGIN                                                                            \
    ".visible .entry k(.param .u64 buf, .param .u32 n)\n{\n"                             \
    ".reg .pred %p<4>; .reg .u32 %r<24>; .reg .u64 %d<12>; .reg .f32 %f<4>;\n"           \
    ".reg .b16 %h<4>; .shared .align 4 .b8 t[256];\n"                                    \
    "ld.param.u64 %d0, [buf]; ld.param.u32 %r0, [n];\n"                                  \
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"                \
    "mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %d1, %r4, 16; add.u64 %d1, %d0, %d1;\n"

enum { BYTES = 1 << 18, RESULTS = 8192 };

/* buf: words shared by all, then from RESULTS on 16 bytes a thread. */
static const struct {
    const char *name, *text;
    unsigned grid, block, n;
    bool fails;
} kernels[] = {
    {"tickets", /* a histogram, and each thread's place in the order of atomics */
     HEAD BEGIN
     "L: mul.lo.u32 %r5, %r4, 2654435761; shr.u32 %r5, %r5, 27; mul.wide.u32 %d2, %r5, 4;\n"
     "add.u64 %d2, %d0, %d2; red.global.add.u32 [%d2], 1;\n"
     "atom.global.add.u32 %r6, [%d0+512], 1; st.global.u32 [%d1+8192], %r6;\n"
     "atom.global.exch.b32 %r7, [%d2+1024], %r4; atom.global.cas.b32 %r8, [%d0+516], %r6, "
     "%r7;\n"
     "atom.global.add.f32 %f0, [%d0+520], 0f3f8ccccd; cvt.rzi.u32.f32 %r9, %f0;\n"
     "st.global.v2.u32 [%d1+8200], {%r7, %r9}; add.u32 %r4, %r4, %r8;\n"
     "sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L; ret; }\n",
     90, 96, 3, false},
    {"racing stores", /* of all widths, by space and by generic address, all shapes */
     HEAD BEGIN
     "and.b32 %r5, %r1, 15; mul.wide.u32 %d2, %r5, 16; add.u64 %d2, %d0, %d2;\n"
     "mov.u32 %r11, t; cvt.u64.u32 %d6, %r11; cvta.shared.u64 %d6, %d6;\n"
     "and.b32 %r12, %r1, 3; setp.eq.u32 %p1, %r12, 0;\n"
     "mul.wide.u32 %d7, %r1, 4; add.u64 %d6, %d6, %d7; selp.b64 %d6, %d6, %d2, %p1;\n"
     "mov.u32 %r13, 0;\n"
     "L: st.global.u32 [%d2], %r4; ld.global.u32 %r6, [%d2+4]; add.u32 %r13, %r13, %r6;\n"
     "cvt.u16.u32 %h0, %r4; st.global.u8 [%d2+8], %h0; ld.global.s16 %r7, [%d2+8];\n"
     "add.u32 %r13, %r13, %r7; st.global.v4.u32 [%d2], {%r4, %r13, %r6, %r7};\n"
     "st.u32 [%d6], %r13; ld.u32 %r8, [%d6]; xor.b32 %r13, %r13, %r8;\n"
     "ld.volatile.global.u64 %d4, [%d0+64]; cvt.u32.u64 %r9, %d4; add.u32 %r13, %r13, %r9;\n"
     "mul.wide.u32 %d8, %r1, 4; add.u64 %d8, %d0, %d8; st.global.u32 [%d8+2048], %r13;\n"
     "ld.global.cg.u32 %r10, [%d8+2048]; add.u32 %r13, %r13, %r10; add.u32 %r4, %r4, 7;\n"
     "@%p1 st.global.u64 [%d2+8], %d4; ld.global.v2.u64 {%d9, %d10}, [%d2];\n"
     "cvt.u32.u64 %r14, %d10; add.u32 %r13, %r13, %r14;\n"
     "sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;\n"
     "st.global.u32 [%d1+8192], %r13; ret; }\n",
     45, 64, 5, false},
    {"flags", /* block b waits for block b - 1: they all must live at once */
     HEAD BEGIN
     "setp.ne.u32 %p0, %r1, 0; @%p0 bra J;\n"
     "W: ld.volatile.global.u32 %r5, [%d0]; setp.ne.u32 %p1, %r5, %r2; @%p1 bra W;\n"
     "ld.global.cg.u32 %r6, [%d0+4]; mad.lo.u32 %r6, %r6, 3, %r2; st.global.u32 [%d0+4], "
     "%r6;\n"
     "membar.gl; add.u32 %r5, %r5, 1; st.volatile.global.u32 [%d0], %r5;\n"
     "J: bar.sync 0; ld.global.cg.u32 %r7, [%d0]; st.global.u32 [%d1+8192], %r7; ret; }\n",
     30, 64, 0, false},
    {"barriers", /* warps of both schedulers wait for the last, which opens cold code */
     HEAD BEGIN
     "L: mul.lo.u32 %r5, %r1, 7; and.b32 %r5, %r5, 63; ld.global.u32 %r6, [%d1+8192];\n"
     "add.u32 %r6, %r6, %r5; bar.sync 0; st.global.u32 [%d1+8192], %r6; bar.sync 0;\n"
     "shl.b32 %r7, %r6, 1; xor.b32 %r7, %r7, %r0; add.u32 %r8, %r7, %r6; bar.sync 0;\n"
     "st.global.u32 [%d1+8196], %r8; bar.sync 0; sub.u32 %r0, %r0, 1;\n"
     "setp.ne.u32 %p0, %r0, 0; @%p0 bra L; ret; }\n",
     40, 160, 3, false},
    {"lock", /* a spin lock around a counter; one lane of each block */
     HEAD BEGIN
     "setp.ne.u32 %p0, %r1, 0; @%p0 bra E;\n"
     "L: atom.global.cas.b32 %r5, [%d0], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra L;\n"
     "ld.volatile.global.u32 %r6, [%d0+4]; add.u32 %r6, %r6, 1;\n"
     "st.volatile.global.u32 [%d0+4], %r6; membar.gl;\n"
     "st.global.u32 [%d1+8192], %r6; atom.global.exch.b32 %r7, [%d0], 0;\n"
     "sub.u32 %r0, %r0, 1; setp.ne.u32 %p2, %r0, 0; @%p2 bra L;\n"
     "E: ret; }\n",
     24, 32, 2, false},
    {"traffic", /* more than crossbars carry: scattered loads and stores, many blocks */
     HEAD BEGIN
     "mul.lo.u32 %r5, %r4, 132; mov.u32 %r13, 0;\n"
     "L: and.b32 %r6, %r5, 131068; cvt.u64.u32 %d2, %r6; add.u64 %d2, %d0, %d2;\n"
     "ld.global.cg.u32 %r7, [%d2]; ld.global.cg.u32 %r8, [%d2+4096];\n"
     "st.global.u32 [%d2+65536], %r0; st.global.u32 [%d2+69632], %r4;\n"
     "add.u32 %r13, %r13, %r7; add.u32 %r13, %r13, %r8; mad.lo.u32 %r5, %r4, 68, %r5;\n"
     "sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;\n"
     "st.global.u32 [%d1+8192], %r13; ret; }\n",
     150, 64, 4, false},
    {"recursion", /* registers are saved while loads are under way */
     HEAD ".func (.reg .u32 o) f(.reg .u64 a, .reg .u32 n)\n{\n"
          ".reg .pred %p; .reg .u32 %r<4>; .reg .u64 %d<2>;\n"
          "ld.global.u32 %r0, [a]; mov.u32 %r1, 0; setp.eq.u32 %p, n, 0; @%p bra E;\n"
          "add.u64 %d0, a, 4; sub.u32 %r2, n, 1; call (%r1), f, (%d0, %r2);\n"
          "E: atom.global.add.u32 %r3, [a+1024], 1; mad.lo.u32 o, %r1, 3, %r0;\n"
          "add.u32 o, o, %r3; ret; }\n" BEGIN
          "call (%r5), f, (%d0, %r0); st.global.u32 [%d1+8192], %r5; ret; }\n",
     20, 64, 6, false},
    {"fault", /* which block gets ticket 100 depends on time */
     HEAD BEGIN
     "atom.global.add.u32 %r5, [%d0], 1; setp.eq.u32 %p0, %r5, 100; mov.u64 %d3, 24;\n"
     "selp.b64 %d3, %d3, %d1, %p0; st.global.u32 [%d3+8192], %r5; ret; }\n",
     60, 32, 0, true},
    {"two faults", /* in one window or near it */
     HEAD BEGIN "st.global.u32 [%d1+8192], %r4; ld.global.u32 %r5, [%d1+8196];\n"
                "rem.u32 %r6, %r2, 7; setp.eq.u32 %p0, %r6, 3; @%p0 ld.global.u32 %r7, "
                "[%r4]; ret; }\n",
     60, 32, 0, true},
    {"stuck", /* a barrier that never opens in some blocks */
     HEAD BEGIN "rem.u32 %r6, %r2, 7; setp.ne.u32 %p0, %r6, 3; @%p0 bra E;\n"
                "setp.lt.u32 %p1, %r1, 32; @%p1 bra E; bar.sync 1, 96; E: ret; }\n",
     60, 64, 0, true},
};

struct outcome {
    uint8_t *memory;
    struct launch_stats stats;
    char *text; /* diagnostics */
};

static struct outcome
run_set(size_t i, const char *machine, unsigned threads, unsigned quantum, bool no_skip,
        const char *const (*set)[2])
{
    struct outcome o = {.memory = xcalloc(BYTES, 1)};
    struct rig r;
    rig_load(&r, machine, kernels[i].text, NULL);
    for (; set && (*set)[0]; set++)
        rig_set(&r, (*set)[0], (*set)[1]);
    r.opt.threads = threads;
    r.opt.quantum = quantum;
    r.opt.no_skip = no_skip;
    r.opt.max_cycles = 2000000;
    uint64_t buf = rig_buf(&r, 0, BYTES);
    for (uint32_t k = 0; k < 64; k++) {
        uint32_t v = !strcmp(kernels[i].name, "racing stores") ? 1000003 * k : 0;
        assert_true(dev_write(r.mem, buf + 4096 + 4 * k, &v, 4));
    }
    rig_param(&r, 1, kernels[i].n);
    bool ok = rig_try(&r, kernels[i].grid, kernels[i].block, &o.stats);
    struct strbuf b = {0};
    diag_print(&r.diag, &b);
    o.text = b.s;
    if (ok == kernels[i].fails)
        fail_msg("%s: %s", kernels[i].name, ok ? "did not fail" : b.s);
    if (!ok)
        memset(&o.stats, 0, sizeof o.stats);
    assert_true(dev_read(r.mem, buf, o.memory, BYTES));
    rig_free(&r);
    return o;
}

static struct outcome
run(size_t i, const char *machine, unsigned threads, bool no_skip)
{
    return run_set(i, machine, threads, 0, no_skip, NULL);
}

static void
same_counters(const char *name, const struct launch_stats *a,
              const struct launch_stats *b, const char *what)
{
    for (int k = 0; k < STAT_COUNTERS; k++)
        if (stats_at(a, k) != stats_at(b, k)) {
            struct allot_stat_info info = {0};
            stats_info((size_t)k, &info);
            fail_msg("%s: %s is %llu, but %llu with %s", name, info.id,
                     (unsigned long long)stats_at(a, k),
                     (unsigned long long)stats_at(b, k), what);
        }
}

static void
compare(size_t i, const struct outcome *a, const struct outcome *b, const char *what)
{
    const char *name = kernels[i].name;
    same_counters(name, &a->stats, &b->stats, what);
    for (size_t k = 0; k < BYTES; k++)
        if (a->memory[k] != b->memory[k])
            fail_msg("%s: byte %zu of memory is %u, but %u with %s", name, k,
                     a->memory[k], b->memory[k], what);
    if (a->text && b->text)
        assert_string_equal(a->text, b->text);
    else
        assert_true(!a->text && !b->text);
}

static void
drop(struct outcome *o)
{
    free(o->memory);
    free(o->text);
}

static void
same_at_any_number_of_threads(void **state)
{
    static const struct {
        unsigned threads, quantum;
        bool no_skip;
        const char *what;
    } runs[] = {{2, 0, false, "2 threads"},
                {1, 1, false, "quanta of a cycle"},
                {3, 0, false, "3 threads"},
                {1, 2, false, "quanta of two cycles"},
                {1, 8, false, "quanta of eight cycles"},
                {1, 16, false, "quanta of sixteen cycles"},
                {8, 0, false, "8 threads"},
                {1, 0, true, "no skipping"},
                {1, 1, true, "quanta of a cycle without skipping"},
                {2, 0, true, "2 threads without skipping"}};
    static const char *const narrow[][2] = {{"icnt.input_buffer", "8"},
                                            {"icnt.output_buffer", "6"},
                                            {"icnt.eject_buffer", "1"},
                                            {"partition.queue_l2_icnt", "4"},
                                            {NULL}};
    static const char *const cluster[][2] = {
        {"sm.per_cluster", "2"}, {"icnt.input_buffer", "8"}, {NULL}};
    static const char *const clocks[][2] = {{"clock.icnt", "1333.25"},
                                            {"clock.l2", "611"},
                                            {"icnt.input_buffer", "8"},
                                            {NULL}};
    static const char *const wires[][2] = {{"icnt.latency", "30"}, {NULL}};
    static const char *const narrow_wires[][2] = {
        {"icnt.latency", "30"},           {"icnt.input_buffer", "8"},
        {"icnt.output_buffer", "6"},      {"icnt.eject_buffer", "1"},
        {"partition.queue_l2_icnt", "4"}, {NULL}};
    /* Partitions that are not ahead of what they are asked: windows of 4 cycles, and of
     * 16, in which there is often no room. */
    static const char *const level[][2] = {{"partition.rop_latency", "3"}, {NULL}};
    static const char *const level_wires[][2] = {{"partition.rop_latency", "3"},
                                                 {"icnt.latency", "30"},
                                                 {"icnt.input_buffer", "8"},
                                                 {"icnt.output_buffer", "6"},
                                                 {"icnt.eject_buffer", "1"},
                                                 {"partition.queue_l2_icnt", "4"},
                                                 {NULL}};
    /* Ahead, but not so far that they go on before what was asked has come. */
    static const char *const near[][2] = {{"partition.rop_latency", "70"}, {NULL}};
    /* Ahead, with no room in a slice most of the time; fast slices: by 16 cycles. */
    static const char *const narrow_slices[][2] = {{"partition.queue_icnt_l2", "5"},
                                                   {"partition.queue_l2_dram", "2"},
                                                   {"l2.mshrs", "4"},
                                                   {"clock.l2", "1333.25"},
                                                   {NULL}};
    static const char *const all_narrow[][2] = {{"icnt.output_buffer", "6"},
                                                {"icnt.eject_buffer", "1"},
                                                {"partition.queue_l2_icnt", "4"},
                                                {"partition.queue_icnt_l2", "5"},
                                                {"partition.queue_l2_dram", "2"},
                                                {"l2.mshrs", "4"},
                                                {"clock.dram", "400"},
                                                {NULL}};
    static const struct {
        const char *name;
        const char *const (*set)[2];
    } machines[] = {
        {"gtx480", NULL},        {"titan", NULL},        {"gtx480", cluster},
        {"titan", narrow},       {"gtx480", clocks},     {"titan", narrow_slices},
        {"gtx480", level},       {"titan", level_wires}, {"gtx480", wires},
        {"titan", narrow_wires}, {"gtx480", near},       {"gtx480", all_narrow}};
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
            if (m && !in_sample(i + m, 0))
                continue;
            struct outcome one =
                run_set(i, machines[m].name, 1, 0, false, machines[m].set);
            for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
                if (SANITIZED ? (i + k + m) % 3 != 0
                              : m && (k + m) % 2) /* some of them */
                    continue;
                struct outcome o =
                    run_set(i, machines[m].name, runs[k].threads, runs[k].quantum,
                            runs[k].no_skip, machines[m].set);
                compare(i, &one, &o, runs[k].what);
                drop(&o);
            }
            drop(&one);
        }
}

static uint32_t
word(const struct outcome *o, size_t at)
{
    uint32_t v;
    memcpy(&v, o->memory + at, 4);
    return v;
}

/* What must hold whatever the order. */
static void
results_are_possible_ones(void **state)
{
    (void)state;
    struct outcome o = run(0, "gtx480", 2, false);
    unsigned all = kernels[0].grid * kernels[0].block * kernels[0].n, sum = 0;
    for (size_t k = 0; k < 32; k++)
        sum += word(&o, 4 * k);
    assert_int_equal(sum, all);
    assert_int_equal(word(&o, 512), all);
    uint8_t *seen = xcalloc(all, 1);
    for (size_t k = 0; k < kernels[0].grid * kernels[0].block; k++) {
        uint32_t ticket = word(&o, RESULTS + 16 * k);
        assert_true(ticket < all);
        assert_false(seen[ticket]++); /* nobody has another's */
    }
    free(seen);
    drop(&o);

    o = run(2, "gtx480", 3, false);
    uint32_t chain = 0;
    for (uint32_t b = 0; b < kernels[2].grid; b++)
        chain = chain * 3 + b;
    assert_int_equal(word(&o, 0), kernels[2].grid);
    assert_int_equal(word(&o, 4), chain);
    for (uint32_t b = 0; b < kernels[2].grid; b++)
        for (uint32_t t = 0; t < kernels[2].block; t++)
            assert_in_range(word(&o, RESULTS + 16 * (b * kernels[2].block + t)), b + 1,
                            kernels[2].grid);
    drop(&o);

    o = run(4, "titan", 8, false);
    assert_int_equal(word(&o, 0), 0);
    assert_int_equal(word(&o, 4), kernels[4].grid * kernels[4].n);
    drop(&o);
}

/* An SM sees its own stores at once: a thread that writes and reads a word that only it
 * uses reads what it wrote, however close the two are. */
static void
own_stores_are_seen_at_once(void **state)
{
    static const char text[] = HEAD BEGIN
        "L: st.global.u32 [%d1+8192], %r0; ld.global.u32 %r5, [%d1+8192];\n"
        "ld.global.cg.u32 %r6, [%d1+8192]; atom.global.add.u32 %r7, [%d1+8192], 1;\n"
        "sub.u32 %r8, %r5, %r0; sub.u32 %r9, %r6, %r0; or.b32 %r8, %r8, %r9;\n"
        "sub.u32 %r9, %r7, %r0; or.b32 %r8, %r8, %r9; st.global.u32 [%d1+8196], %r8;\n"
        "sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L; ret; }\n";
    (void)state;
    for (unsigned threads = 1; threads < 3; threads++)
        for (unsigned slow = 0; slow < 2; slow++) {
            struct rig r;
            rig_load(&r, "titan", text, NULL);
            if (!slow) { /* the soonest use of a load there can be */
                rig_set(&r, "l1d.latency", "1");
                rig_set(&r, "collector.bank_ports", "4");
            }
            r.opt.threads = threads;
            uint64_t buf = rig_buf(&r, 0, BYTES);
            rig_param(&r, 1, 6);
            rig_launch(&r, 30, 64);
            for (uint64_t i = 0; i < 30 * 64; i++) {
                assert_int_equal(rig_u32(&r, buf + RESULTS, 4 * i), 2);
                assert_int_equal(rig_u32(&r, buf + RESULTS, 4 * i + 1), 0);
            }
            rig_free(&r);
        }
}

/* Limits and a caller that has enough end a launch at any number of threads. */
static bool
enough(void *user, uint64_t cycles, uint64_t inst, uint64_t done, uint64_t blocks)
{
    (void)cycles, (void)done, (void)blocks;
    return --*(int *)user > 0;
}

static void
limits(void **state)
{
    static const char text[] =
        HEAD BEGIN "L: ld.volatile.global.u32 %r5, [%d0]; bra L; }\n";
    (void)state;
    char *said[2] = {NULL};
    for (unsigned what = 0; what < 3; what++)
        for (unsigned threads = 1; threads < 4; threads++) {
            struct rig r;
            struct launch_stats s;
            int calls = 3;
            rig_load(&r, "gtx480", text, NULL);
            r.opt.threads = threads;
            r.opt.max_cycles = what == 0 ? 5001 : 0;
            r.opt.max_instructions = what == 1 ? 20000 : 0;
            r.opt.progress = what == 2 ? enough : NULL;
            r.opt.user = &calls;
            rig_buf(&r, 0, 64);
            assert_false(rig_try(&r, 100, 64, &s));
            struct strbuf b = {0};
            diag_print(&r.diag, &b);
            if (what == 2) { /* when that is depends on the host's clock */
                assert_non_null(strstr(b.s, "interrupted"));
            } else if (threads == 1) {
                assert_non_null(strstr(b.s, what ? "warp instructions, the limit"
                                                 : "5001 cycles, the limit"));
                said[what] = xstrdup(b.s);
            } else {
                assert_string_equal(b.s, said[what]);
            }
            strbuf_free(&b);
            rig_free(&r);
        }
    free(said[0]);
    free(said[1]);
}

struct row {
    uint64_t sm, from, kind, track, to, value;
};

static int
by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct row));
}

/* Events of two launches with traffic, in an order of their own, what goes on beyond the
 * cut shortened to it. */
static struct row *
events(const char *latency, uint64_t limit, unsigned threads, unsigned quantum,
       bool no_skip, size_t *n, uint64_t *cut)
{
    struct rig r;
    size_t i = 0, most = 0;
    while (strcmp(kernels[i].name, "traffic"))
        i++;
    rig_load(&r, "gtx480", kernels[i].text, NULL);
    rig_set(&r, "icnt.latency", latency);
    r.opt.threads = threads;
    r.opt.quantum = quantum;
    r.opt.no_skip = no_skip;
    r.opt.trace_limit = limit;
    r.opt.trace_to = UINT64_MAX;
    rig_buf(&r, 0, BYTES);
    rig_param(&r, 1, 1);
    rig_launch(&r, 30, kernels[i].block);
    rig_launch(&r, 40, kernels[i].block);
    const struct trace *t = timing_trace(r.gpu);
    for (unsigned k = 0; k <= t->nsm; k++)
        most += k < t->nsm ? t->sm[k].events.n : t->gpu.n;
    assert_true(most <= limit);
    struct row *rows = xcalloc(most + 1, sizeof *rows);
    *n = 0;
    *cut = t->cut;
    for (unsigned k = 0; k <= t->nsm; k++) {
        const struct trace_buffer *b = k < t->nsm ? &t->sm[k].events : &t->gpu;
        for (size_t j = 0; j < b->n; j++) {
            const struct trace_event *e = &b->v[j];
            rows[(*n)++] = (struct row){
                k, e->from, e->kind, e->track, e->to < t->cut ? e->to : t->cut, e->value};
        }
    }
    qsort(rows, *n, sizeof *rows, by_all);
    rig_free(&r);
    return rows;
}

static void
same_traces(void **state)
{
    static const struct {
        unsigned threads, quantum;
        bool no_skip;
    } runs[] = {{2, 0, false}, {1, 1, false}, {3, 2, false}, {1, 8, false}, {1, 0, true}};
    static const char *const latency[] = {"8", "30"}; /* longest windows: 4, 16 cycles */
    (void)state;
    for (size_t l = 0; l < 2; l++) {
        size_t all, none, n, m;
        uint64_t cut, end;
        free(events(latency[l], 10000000, 1, 0, false, &all, &cut));
        assert_true(all > 1000 && cut == NEVER);
        free(events(latency[l], all, 1, 0, false, &n, &cut)); /* all of them fit */
        assert_true(n == all && cut == NEVER);
        free(events(latency[l], 1, 1, 0, false, &none, &cut));
        assert_true(none <= 1 && cut < 1000);
        for (size_t limit = all / 4; limit < all; limit += all / 2) {
            struct row *one = events(latency[l], limit, 1, 0, false, &n, &cut);
            assert_true(cut != NEVER && n <= limit && n + 500 > limit);
            for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
                struct row *other = events(latency[l], limit, runs[k].threads,
                                           runs[k].quantum, runs[k].no_skip, &m, &end);
                assert_int_equal(end, cut);
                assert_int_equal(m, n);
                assert_memory_equal(one, other, n * sizeof *one);
                free(other);
            }
            free(one);
        }
    }
}

struct samples {
    struct launch_stats *v;
    uint64_t *cycle;
    size_t n;
};

static void
sampled(void *user, uint64_t cycle, const struct launch_stats *so_far)
{
    struct samples *s = user;
    s->v = xrealloc(s->v, (s->n + 1) * sizeof *s->v);
    s->cycle = xrealloc(s->cycle, (s->n + 1) * sizeof *s->cycle);
    s->v[s->n] = *so_far;
    s->cycle[s->n++] = cycle;
}

static struct samples
sample(uint64_t every, unsigned threads, unsigned quantum)
{
    struct samples s = {.v = NULL};
    struct rig r;
    rig_load(&r, "gtx480", kernels[0].text, NULL);
    r.opt.threads = threads;
    r.opt.quantum = quantum;
    r.opt.user = &s;
    r.opt.sample = sampled;
    r.opt.sample_cycles = every;
    rig_buf(&r, 0, BYTES);
    rig_param(&r, 1, kernels[0].n);
    assert_true(rig_try(&r, kernels[0].grid, kernels[0].block, &(struct launch_stats){}));
    rig_free(&r);
    return s;
}

/* Counters are looked at in the same cycles, and are those of these cycles. */
static void
same_samples(void **state)
{
    (void)state;
    static const uint64_t every[] = {50, 333};
    static const char *const what[] = {"quanta of a cycle", "2 threads", "3 threads"};
    for (size_t e = 0; e < 2; e++) {
        struct samples one = sample(every[e], 1, 0);
        assert_true(one.n > 20);
        for (unsigned threads = 1; threads <= 3; threads++) {
            struct samples other = sample(every[e], threads, threads == 1);
            assert_int_equal(other.n, one.n);
            for (size_t i = 0; i < one.n; i++) {
                assert_int_equal(other.cycle[i], one.cycle[i]);
                same_counters("a sample", &one.v[i], &other.v[i], what[threads - 1]);
            }
            free(other.v);
            free(other.cycle);
        }
        free(one.v);
        free(one.cycle);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_at_any_number_of_threads),
        cmocka_unit_test(results_are_possible_ones),
        cmocka_unit_test(own_stores_are_seen_at_once),
        cmocka_unit_test(limits),
        cmocka_unit_test(same_traces),
        cmocka_unit_test(same_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
