/* runtime_plan.c: the contract of the launch plan (src/runtime/plan.h). What it says of a
 * launch is what is launched; passes may change the launch's shape, and a note in the
 * printed text says so again. */
#include "base/str.h"
#include "cta/method.h"
#include "unit/kit/runtime_kit.h"
#include "unit/kit/sanitized.h"

#include "allot/workload.h"

/* -- residency: as many blocks as the plan says are resident in the simulated SM -- */

static uint64_t
count(const struct allot_result *r, const char *id)
{
    uint64_t v = 0;
    assert_true(allot_result_get(r, id, &v, NULL));
    return v;
}

enum { PIECE = 64 /* core cycles */ };

/* The most blocks that were resident at once, from the counter of resident blocks summed
 * over cycles: of a piece of the launch in which that many were resident throughout, or
 * for a part. */
static uint64_t
most_resident(const struct allot_result *r)
{
    struct allot_piece piece;
    int64_t most = 0, n;
    for (size_t i = 0;
         allot_result_piece(r, i, -1, &piece, "resident_block_cycles", &n, NULL); i++)
        if (n > most)
            most = n;
    return (uint64_t)(most + PIECE - 1) / PIECE;
}

static struct allot_machine *
one_sm(const char *policy, struct allot_diag *d)
{
    struct allot_machine *m = allot_machine_load("001-table2.3-scratchpad", d);
    assert_non_null(m);
    assert_true(allot_machine_set(m, "sm.count", "1", d));
    assert_true(allot_machine_set(m, "residency.policy", policy, d));
    if (!strcmp(policy, "multiplexing")) /* it needs kernels that allocate */
        assert_true(allot_machine_set(m, "compiler.passes", "multiplex-hw", d));
    return m;
}

static unsigned
check_workload(const struct allot_workload *w, const char *policy)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = one_sm(policy, d);
    const struct allot_options o = {.sample_cycles = PIECE};
    struct allot_device *dev = allot_device_new(m, &o, d);
    size_t len;
    const char *text = allot_workload_ptx(w->name, "clang", &len);
    struct allot_module *mod = allot_module_parse(w->name, text, len, d);
    char why[256] = "";
    unsigned full = 0;
    if (!dev || !mod || !allot_workload_run(w, dev, mod, true, 1, why, d))
        fail_msg("%s, %s: %s %s", w->name, policy, why, allot_diag_text(d));
    size_t n = allot_results(dev);
    for (size_t i = 0; i < n; i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        struct allot_launch l = {.module = mod, .kernel = allot_result_kernel(r)};
        struct allot_plan p;
        allot_result_shape(r, l.grid, l.block, &l.dynamic_scratchpad);
        assert_true(allot_launch_plan(dev, &l, &p, d));
        assert_int_equal(p.registers, allot_result_demand(r).registers);
        assert_int_equal(p.scratchpad, allot_result_demand(r).scratchpad);
        assert_int_equal(p.resident_blocks, count(r, "resident_blocks"));
        uint64_t blocks = count(r, "blocks"), seen = most_resident(r);
        uint64_t expected = blocks < p.resident_blocks ? blocks : p.resident_blocks;
        if (seen != expected)
            fail_msg("%s, %s, kernel %s: %llu of %llu blocks were resident at once, the "
                     "plan says %u",
                     w->name, policy, l.kernel, (unsigned long long)seen,
                     (unsigned long long)blocks, p.resident_blocks);
        full += p.resident_blocks > p.baseline_blocks && seen == p.resident_blocks;
    }
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return full;
}

static void
occupancy_is_residency(void **state)
{
    const char *policy, *meaning;
    (void)state;
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    for (size_t p = 0; allot_policy("residency", p, &policy, &meaning); p++) {
        unsigned full = 0;
        for (size_t i = 0; allot_workloads[i]; i++)
            full += check_workload(allot_workloads[i], policy);
        /* Every policy but the first brings some launch more blocks than it would have. */
        if (p ? !full : full)
            fail_msg("%s: %u launches had more blocks than the baseline", policy, full);
    }
}

/* -- schedules that are made: as many blocks as the plan says -- */

/* 7200 bytes of scratchpad, in use from the first barrier to the second. */
static const char in_scratchpad[] =
    ".version 4.0\n.target sm_20\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    " .reg .b32 %r<9>;\n .reg .b64 %rd<4>;\n .reg .pred %p;\n .shared .b32 s[1800];\n"
    " ld.param.u64 %rd1, [out];\n mov.u32 %r1, %tid.x;\n mov.u32 %r6, %ctaid.x;\n"
    " shl.b32 %r2, %r1, 2;\n mov.u32 %r3, s;\n add.u32 %r3, %r3, %r2;\n"
    " mov.u32 %r5, 0;\n mov.u32 %r4, %r1;\nL:\n st.shared.u32 [%r3], %r4;\n"
    " bar.sync 0;\n ld.shared.u32 %r7, [%r3];\n add.u32 %r4, %r4, %r7;\n bar.sync 0;\n"
    " add.u32 %r5, %r5, 1;\n setp.lt.u32 %p, %r5, 40;\n @%p bra L;\n"
    " mad.lo.u32 %r8, %r6, 128, %r1;\n mul.wide.u32 %rd2, %r8, 4;\n"
    " add.u64 %rd3, %rd1, %rd2;\n st.global.u32 [%rd3], %r4;\n ret;\n}\n";

/* Every method over every residency policy, with an L2 that all working sets fit: an SM
 * holds the blocks of the plan, shared ones too. Returns how many more these are than
 * without the policy. */
static unsigned
check_schedule(const char *policy, const char *method)
{
    enum { BLOCKS = 40, THREADS = 128 };
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = one_sm(policy, d);
    assert_true(allot_machine_set(m, "l2.sets", "4096", d));
    assert_true(allot_machine_set(m, "cta.order", "schedule", d));
    assert_true(allot_machine_set(m, "cta.schedule", method, d));
    if (!strcmp(policy, "register-sharing") || !strcmp(policy, "warp-level-divergence")) {
        assert_true(allot_machine_set(m, "sm.scratchpad", "49152", d)); /* enough of it */
        assert_true(allot_machine_set(m, "sm.max_registers", "255", d));
        assert_true(allot_machine_set(m, "residency.regs_per_thread", "140", d));
    }
    const struct allot_options o = {.sample_cycles = PIECE};
    struct allot_device *dev = allot_device_new(m, &o, d);
    struct allot_module *mod =
        allot_module_parse("test.ptx", in_scratchpad, strlen(in_scratchpad), d);
    assert_non_null(dev);
    assert_non_null(mod);
    uint64_t out = allot_alloc(dev, 4 * BLOCKS * THREADS, d);
    const void *args[] = {&out};
    const struct allot_launch l = {.module = mod,
                                   .kernel = "k",
                                   .grid = {BLOCKS, 1, 1},
                                   .block = {THREADS, 1, 1},
                                   .args = args,
                                   .nargs = 1};
    struct allot_plan p;
    if (!allot_launch_plan(dev, &l, &p, d))
        fail_msg("%s, %s: %s", policy, method, allot_diag_text(d));
    const struct allot_result *r = allot_launch(dev, &l, d);
    if (!r)
        fail_msg("%s, %s: %s", policy, method, allot_diag_text(d));
    if (most_resident(r) != p.resident_blocks)
        fail_msg("%s, %s: %llu blocks were resident at once, the plan says %u", policy,
                 method, (unsigned long long)most_resident(r), p.resident_blocks);
    unsigned more = p.resident_blocks - p.baseline_blocks;
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return more;
}

static void
schedules_keep_the_residency(void **state)
{
    const char *policy, *meaning, *method;
    (void)state;
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    for (size_t p = 0; allot_policy("residency", p, &policy, &meaning); p++)
        for (size_t i = 0; (method = cta_method_name(i)); i++) {
            unsigned more = check_schedule(policy, method);
            if (p ? !more : more)
                fail_msg("%s, %s: %u blocks more than the baseline", policy, method,
                         more);
        }
}

/* -- demand: one answer -- */

static const char one_kernel[] =
    ".version 4.0\n.target sm_20\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    " .reg .b32 %r<6>;\n .reg .b64 %rd<4>;\n .shared .b32 s[256];\n"
    " ld.param.u64 %rd1, [out];\n mov.u32 %r1, %tid.x;\n shl.b32 %r2, %r1, 2;\n"
    " mov.u32 %r3, s;\n add.u32 %r3, %r3, %r2;\n st.shared.u32 [%r3], %r1;\n"
    " bar.sync 0;\n bar.sync 3;\n ld.shared.u32 %r4, [%r3];\n"
    " mul.wide.u32 %rd2, %r1, 4;\n add.u64 %rd3, %rd1, %rd2;\n"
    " st.global.u32 [%rd3], %r4;\n ret;\n}\n";

static void
one_demand(void **state)
{
    struct rt_kit k;
    (void)state;
    rt_open(&k, one_kernel, NULL);
    const struct allot_kernel *f = allot_module_find(k.mod, "k");
    const struct allot_launch l = {.module = k.mod,
                                   .kernel = "k",
                                   .grid = {4, 1, 1},
                                   .block = {256, 1, 1},
                                   .dynamic_scratchpad = 100};
    struct allot_plan p;
    assert_true(allot_launch_plan(k.dev, &l, &p, k.d));
    struct allot_occupancy_query q = allot_demand(k.m, f, 256, 100);
    assert_int_equal(p.threads, 256);
    assert_int_equal(p.scratchpad, 1024 + 100);
    assert_int_equal(p.barriers, 4); /* 0 to 3 */
    assert_int_equal(p.registers, f->registers);
    assert_int_equal(q.registers, p.registers);
    assert_int_equal(q.scratchpad, p.scratchpad);
    rt_close(&k);
    /* residency.regs_per_thread stands for the kernel's own count everywhere: 32768 / (60 *
     * 256) = 2 blocks. */
    rt_open(&k, one_kernel, NULL);
    assert_true(allot_machine_set(k.m, "residency.regs_per_thread", "60", k.d));
    struct allot_device *dev = allot_device_new(k.m, NULL, k.d);
    const struct allot_launch other = {
        .module = k.mod, .kernel = "k", .block = {256, 1, 1}};
    assert_true(allot_launch_plan(dev, &other, &p, k.d));
    q = allot_demand(k.m, allot_module_find(k.mod, "k"), 256, 0);
    struct allot_occupancy o;
    assert_true(allot_occupancy(k.m, &q, &o, k.d));
    assert_int_equal(p.registers, 60);
    assert_int_equal(q.registers, 60);
    assert_int_equal(p.resident_blocks, 2);
    assert_int_equal(o.resident_blocks, 2);
    assert_int_equal(allot_resident_blocks_sm(dev, &other, k.d), 2);
    allot_device_free(dev);
    rt_close(&k);
}

/* What a thread has beside the registers that its kernel is allocated counts for occupancy,
 * but not beside a count that is given, nor with the PTX as it is. */
static void
reserved_registers(void **state)
{
    static const struct {
        const char *setting, *value;
        uint32_t more, all;
    } t[] = {{"compiler.registers", "allocated", 3, 0},
             {"compiler.registers", "virtual", 0, 0},
             {"residency.regs_per_thread", "20", 0, 20}};
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct rt_kit k;
        rt_open(&k, one_kernel, NULL);
        const struct allot_kernel *f = allot_module_find(k.mod, "k");
        assert_true(allot_machine_set(k.m, "sm.reserved_registers", "3", k.d));
        assert_true(allot_machine_set(k.m, t[i].setting, t[i].value, k.d));
        struct allot_device *dev = allot_device_new(k.m, NULL, k.d);
        const struct allot_launch l = {
            .module = k.mod, .kernel = "k", .block = {256, 1, 1}};
        struct allot_plan p;
        assert_true(allot_launch_plan(dev, &l, &p, k.d));
        struct allot_occupancy_query q = allot_demand(k.m, f, 256, 0);
        uint32_t own = t[i].more ? f->registers : f->live_registers;
        uint32_t want = t[i].all ? t[i].all : own + t[i].more;
        assert_int_equal(p.registers, want);
        assert_int_equal(q.registers, want);
        allot_device_free(dev);
        rt_close(&k);
    }
}

/* An IEEE division needs eight registers in between on a card (expansions.def), beside the
 * pointer and its two sources; .maxnreg is not exceeded. */
static void
registers_in_between(void **state)
{
    static const struct {
        const char *directive, *operations;
        uint32_t registers;
    } t[] = {{"", "false", 4}, {"", "true", 4 + 8}, {".maxnreg 10\n", "true", 10}};
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf text = {0};
        strbuf_printf(&text,
                      ".version 4.2\n.target sm_35\n.address_size 64\n"
                      ".visible .entry k(.param .u64 out)\n%s{\n"
                      " .reg .f32 %%f<4>;\n .reg .b64 %%rd<2>;\n"
                      " ld.param.u64 %%rd1, [out];\n ld.global.f32 %%f1, [%%rd1];\n"
                      " ld.global.f32 %%f2, [%%rd1+4];\n div.rn.f32 %%f3, %%f1, %%f2;\n"
                      " st.global.f32 [%%rd1], %%f3;\n ret;\n}\n",
                      t[i].directive);
        struct rt_kit k;
        rt_open(&k, text.s, NULL);
        assert_true(
            allot_machine_set(k.m, "sm.machine_operations", t[i].operations, k.d));
        struct allot_device *dev = allot_device_new(k.m, NULL, k.d);
        const struct allot_launch l = {
            .module = k.mod, .kernel = "k", .block = {32, 1, 1}};
        struct allot_plan p;
        assert_true(allot_launch_plan(dev, &l, &p, k.d));
        assert_int_equal(p.registers, t[i].registers);
        allot_device_free(dev);
        rt_close(&k);
        strbuf_free(&text);
    }
}

/* -- budget: split, or from one pool -- */

static void
budget(void **state)
{
    static const struct {
        const char *machine;
        uint32_t dynamic;
        bool pooled;
        uint64_t scratchpad, l1; /* bytes */
    } c[] = {
        {"gtx480", 0, false, 48 << 10, 16 << 10},
        {"gtx480", 40000, false, 48 << 10, 16 << 10},
        /* 128 KiB of both: 8 blocks of (1 + 8) KiB want 96 KiB of scratchpad */
        {"v100", 8 << 10, true, 96 << 10, 32 << 10},
        {"v100", 0, true, 96 << 10, 120 << 10}, /* 8 blocks of 1 KiB */
    };
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct rt_kit k;
        rt_open(&k, one_kernel, NULL);
        struct allot_machine *m = allot_machine_load(c[i].machine, k.d);
        struct allot_device *dev = allot_device_new(m, NULL, k.d);
        const struct allot_launch l = {.module = k.mod,
                                       .kernel = "k",
                                       .block = {256, 1, 1},
                                       .dynamic_scratchpad = c[i].dynamic};
        struct allot_plan p;
        assert_true(allot_launch_plan(dev, &l, &p, k.d));
        assert_int_equal(p.pooled, c[i].pooled);
        assert_int_equal(p.sm_scratchpad, c[i].scratchpad);
        assert_int_equal(p.sm_l1, c[i].l1);
        allot_device_free(dev);
        allot_machine_free(m);
        rt_close(&k);
    }
}

/* -- variant: a threshold is told where blocks share, whatever was launched before -- */

static void
variant_of_the_launch(void **state)
{
    /* 1 KiB and the dynamic part a block, of 16 KiB; 8 blocks at most: with 2 KiB
     * more, 5 blocks and 3 pairs (1 KiB is left, a pair takes 307 bytes of it). */
    static const uint32_t dynamic[] = {0, 2 << 10, 0, 2 << 10, 2 << 10, 0};
    static const char code[] =
        ".version 4.0\n.target sm_20\n.address_size 64\n.extern .shared .b32 d[];\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        " .reg .b32 %r<6>;\n .shared .b32 s[256];\n mov.u32 %r1, %tid.x;\n"
        " shl.b32 %r2, %r1, 2;\n mov.u32 %r3, s;\n add.u32 %r3, %r3, %r2;\n"
        " st.shared.u32 [%r3], %r1;\n mov.u32 %r3, s;\n add.u32 %r3, %r3, %r2;\n"
        " ld.shared.u32 %r4, [%r3+512];\n ret;\n}\n";
    struct rt_kit k;
    uint64_t none = 0, plain = 0;
    const void *const args[] = {&none};
    (void)state;
    rt_open(&k, code, NULL);
    assert_true(allot_machine_set(k.m, "sm.scratchpad", "16384", k.d));
    assert_true(allot_machine_set(k.m, "sm.max_block_scratchpad", "16384", k.d));
    assert_true(allot_machine_set(k.m, "residency.policy", "scratchpad-sharing", k.d));
    assert_true(allot_machine_set(k.m, "compiler.passes", "relssp", k.d));
    /* The same with 32768 / (48 * 128) = 5 blocks by registers: none is there to pair. */
    for (int limited = 0; limited < 2; limited++) {
        if (limited)
            assert_true(allot_machine_set(k.m, "residency.regs_per_thread", "48", k.d));
        struct allot_device *dev = allot_device_new(k.m, NULL, k.d);
        if (!dev)
            rt_fail(&k, "device");
        for (size_t i = 0; i < sizeof dynamic / sizeof *dynamic; i++) {
            const struct allot_launch l = {.module = k.mod,
                                           .kernel = "k",
                                           .grid = {120, 1, 1},
                                           .block = {128, 1, 1},
                                           .dynamic_scratchpad = dynamic[i],
                                           .args = args,
                                           .nargs = 1};
            struct allot_plan p;
            bool shared = dynamic[i] && !limited;
            assert_true(allot_launch_plan(dev, &l, &p, k.d));
            const struct allot_result *r = allot_launch(dev, &l, k.d);
            if (!r)
                rt_fail(&k, "launch");
            plain = plain ? plain : count(r, "warp_instructions");
            assert_int_equal(p.shared_pairs != 0, shared);
            assert_int_equal(p.shared_pairs, count(r, "shared_pairs"));
            assert_int_equal(count(r, "share_releases") != 0, shared);
            /* relssp is in the code where blocks share, and nowhere else: once a warp */
            assert_int_equal(count(r, "warp_instructions"), plain + 120 * 4 * shared);
        }
        allot_device_free(dev);
    }
    rt_close(&k);
}

/* -- shape: a pass that doubles the block and halves the grid -- */

enum { N = 64 * 64 };

static const char places[] =
    ".version 4.0\n.target sm_20\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    " .reg .b32 %r<9>;\n .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [out];\n mov.u32 %r1, %ctaid.x;\n mov.u32 %r2, %ntid.x;\n"
    " mov.u32 %r3, %tid.x;\n mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    " mul.wide.u32 %rd2, %r4, 4;\n add.u64 %rd3, %rd1, %rd2;\n"
    " mov.u32 %r5, %nctaid.x;\n mov.u32 %r6, %tid.z;\n mov.u32 %r7, %ntid.z;\n"
    " shl.b32 %r8, %r5, 16;\n mad.lo.u32 %r8, %r4, 4, %r8;\n add.u32 %r8, %r8, %r6;\n"
    " add.u32 %r8, %r8, %r7;\n st.global.u32 [%rd3], %r8;\n ret;\n}\n";

/* Launches 64 blocks of 64 threads and checks what each thread wrote of its place, and the
 * shape that was launched. */
static void
check_shape(struct rt_kit *k, struct allot_device *dev, uint32_t grid, uint32_t deep)
{
    uint64_t out = allot_alloc(dev, N * 4, k->d);
    const void *const args[] = {&out};
    const struct allot_launch l = {.module = k->mod,
                                   .kernel = "k",
                                   .grid = {64, 1, 1},
                                   .block = {64, 1, 1},
                                   .args = args,
                                   .nargs = 1};
    struct allot_plan p;
    uint32_t g[3], b[3], dynamic, *words = malloc(N * 4);
    if (!allot_launch_plan(dev, &l, &p, k->d))
        rt_fail(k, "plan");
    const struct allot_result *r = allot_launch(dev, &l, k->d);
    if (!r)
        rt_fail(k, "launch");
    allot_result_shape(r, g, b, &dynamic);
    assert_memory_equal(g, p.grid, sizeof g);
    assert_memory_equal(b, p.block, sizeof b);
    assert_int_equal(g[0], grid);
    assert_int_equal(b[0], 64);
    assert_int_equal(b[2], deep);
    assert_int_equal(count(r, "blocks"), grid);
    assert_int_equal(count(r, "threads"), N);
    assert_int_equal(p.threads, 64 * deep);
    assert_true(allot_read(dev, out, words, N * 4, k->d));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(words[i], (64 << 16) + 4 * i + 1);
    free(words);
}

static void
pass_changes_the_shape(void **state)
{
    struct rt_kit k;
    (void)state;
    for (int functional = 0; functional < 2; functional++) {
        const struct allot_options o = {.functional = functional};
        rt_open(&k, places, NULL);
        struct allot_device *plain = allot_device_new(k.m, &o, k.d);
        check_shape(&k, plain, 64, 1);
        assert_true(allot_machine_set(k.m, "compiler.passes", "merge-blocks", k.d));
        struct allot_device *merged = allot_device_new(k.m, &o, k.d);
        check_shape(&k, merged, 32, 2);
        /* Odd: as it was asked for. */
        uint64_t out = allot_alloc(merged, N * 4, k.d);
        const void *const args[] = {&out};
        struct allot_launch l = {.module = k.mod,
                                 .kernel = "k",
                                 .grid = {63, 1, 1},
                                 .block = {64, 1, 1},
                                 .args = args,
                                 .nargs = 1};
        const struct allot_result *r = allot_launch(merged, &l, k.d);
        assert_non_null(r);
        uint32_t g[3], b[3], dynamic;
        allot_result_shape(r, g, b, &dynamic);
        assert_int_equal(g[0], 63);
        assert_int_equal(b[2], 1);
        allot_device_free(plain);
        allot_device_free(merged);
        rt_close(&k);
    }
}

static void
printed_shape_is_read_back(void **state)
{
    struct rt_kit k, again;
    (void)state;
    rt_open(&k, places, NULL);
    assert_true(allot_module_opt(k.mod, "merge-blocks", NULL, k.d));
    char *text = allot_module_print(k.mod);
    assert_non_null(
        strstr(text, ".pragma \"allot launch block.z=1 grid.x/2 block.z*2\";"));
    rt_open(&again, text, NULL);
    check_shape(&again, again.dev, 32, 2);
    uint64_t none = 0;
    const void *const args[] = {&none};
    struct allot_launch l = {.module = again.mod,
                             .kernel = "k",
                             .grid = {63, 1, 1},
                             .block = {64, 1, 1},
                             .args = args,
                             .nargs = 1};
    assert_null(allot_launch(again.dev, &l, again.d));
    assert_non_null(strstr(allot_diag_text(again.d), "grid.x/2"));
    assert_non_null(strstr(allot_diag_text(again.d), "not a multiple"));
    allot_diag_clear(again.d);
    l.grid[0] = 64;
    l.block[2] = 2;
    assert_null(allot_launch(again.dev, &l, again.d));
    assert_non_null(strstr(allot_diag_text(again.d), "another size is demanded"));
    rt_close(&again);
    rt_close(&k);
    free(text);
}

/* In the launches of a program no workload's results change. */
static void
merged_workloads(void **state)
{
    unsigned merged = 0;
    (void)state;
    for (size_t i = 0; allot_workloads[i]; i++) {
        const struct allot_workload *w = allot_workloads[i];
        if (SANITIZED && i % 3 != 1) /* few are merged */
            continue;
        struct allot_diag *d = allot_diag_new();
        struct allot_machine *m = allot_machine_load("gtx480", d);
        const struct allot_options o = {.functional = true};
        assert_true(allot_machine_set(m, "compiler.passes", "merge-blocks", d));
        struct allot_device *dev = allot_device_new(m, &o, d);
        size_t len;
        const char *text = allot_workload_ptx(w->name, "clang", &len);
        struct allot_module *mod = allot_module_parse(w->name, text, len, d);
        char why[256] = "";
        if (!dev || !mod || !allot_workload_run(w, dev, mod, true, 1, why, d))
            fail_msg("%s: %s %s", w->name, why, allot_diag_text(d));
        for (size_t k = 0; k < allot_results(dev); k++) {
            uint32_t g[3], b[3], dynamic;
            allot_result_shape(allot_result_at(dev, k), g, b, &dynamic);
            merged += b[2] == 2;
        }
        allot_device_free(dev);
        allot_module_free(mod);
        allot_machine_free(m);
        allot_diag_free(d);
    }
    assert_true(merged >= (SANITIZED ? 2 : 5));
}

static void
bad_notes_are_refused(void **state)
{
    static const char *const bad[] = {"grid.x",      "grid.w*2",           "grid.x/0",
                                      "grid.x*9999", "grid.x/2,block.z*2", "lattice.x/2",
                                      "*",           "block.n*2",          "grid.x%0",
                                      "grid.x+2000", "grid.n:2",           "grid.x:0"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rt_kit k;
        char text[512];
        snprintf(text, sizeof text,
                 ".version 4.0\n.target sm_20\n.address_size 64\n.visible .entry k()\n"
                 ".pragma \"allot launch %s\";\n{\n ret;\n}\n",
                 bad[i]);
        rt_open(&k, text, NULL);
        const struct allot_launch l = {
            .module = k.mod, .kernel = "k", .grid = {2, 1, 1}, .block = {32, 1, 1}};
        assert_null(allot_launch(k.dev, &l, k.d));
        if (!strstr(allot_diag_text(k.d), "test.ptx:4") ||
            !strstr(allot_diag_text(k.d), "no such change"))
            fail_msg("%s: %s", bad[i], allot_diag_text(k.d));
        rt_close(&k);
    }
}

/* Thread 0 of each block leaves, at the place of block %ctaid.x of the grid of 10 that was
 * asked for, which of those took it and the size of the grid. */
static const char persistent[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    ".reg .pred %p<2>; .reg .u32 %r<8>; .reg .u64 %d<6>;\n"
    "mov.u32 %r1, %tid.x; setp.ne.u32 %p0, %r1, 0; @%p0 exit;\n"
    "ld.param.u64 %d0, [out]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
    "mov.u32 %r6, %ctaid.y; mov.u32 %r7, %nctaid.y; mad.lo.u32 %r2, %r6, %r3, %r2;\n"
    "mul.wide.u32 %d1, %r2, 16; add.u64 %d1, %d0, %d1;\n"
    "atom.global.add.u32 %r4, [%d0+1024], 1; atom.global.add.u32 %r5, [%d1], 1;\n"
    "st.global.v2.u32 [%d1+8], {%r3, %r4}; st.global.u32 [%d1+4], %r7; ret; }\n";

/* Each block once, in the order of the array; the grid that code sees is the host's. */
static void
persistent_blocks_follow_their_array(void **state)
{
    enum { X = 5, Y = 2, N = X * Y };
    struct rt_kit k;
    uint64_t addr, bytes;
    uint32_t got[N][4], order[N];
    rt_open(&k, persistent, NULL);
    allot_device_free(k.dev);
    assert_true(
        allot_machine_set(k.m, "compiler.passes", "persistent-blocks:tlp=1", k.d));
    const struct allot_options functional = {.functional = true};
    k.dev = allot_device_new(k.m, &functional, k.d);
    uint64_t out = allot_alloc(k.dev, 2048, k.d);
    const void *args[] = {&out};
    const struct allot_launch l = {.module = k.mod,
                                   .kernel = "k",
                                   .grid = {X, Y, 1},
                                   .block = {64, 1, 1},
                                   .args = args,
                                   .nargs = 1};
    for (int turn = 0; turn < 2; turn++) {
        assert_true(allot_set(k.dev, out, 0, 2048, k.d));
        const struct allot_result *r = allot_launch(k.dev, &l, k.d);
        if (!r)
            rt_fail(&k, "launch");
        uint32_t grid[3], block[3], dynamic;
        allot_result_shape(r, grid, block, &dynamic);
        assert_int_equal(grid[0] * grid[1] * grid[2], 1);
        assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
        for (uint32_t b = 0; b < N; b++) {
            assert_int_equal(got[b][0], 1);
            assert_int_equal(got[b][1], Y);
            assert_int_equal(got[b][2], X);
            assert_int_equal(got[b][3], turn ? N - 1 - b : b);
        }
        assert_true(allot_symbol(k.dev, k.mod, "allot_order_k", &addr, &bytes, k.d));
        assert_int_equal(bytes, sizeof order);
        assert_true(allot_read(k.dev, addr, order, sizeof order, k.d));
        for (uint32_t b = 0; b < N; b++) {
            assert_int_equal(order[b], turn ? N - 1 - b : b);
            order[b] = N - 1 - b;
        }
        assert_true(allot_write(k.dev, addr, order, sizeof order, k.d));
    }
    rt_close(&k);
}

/* barrier=1: no block of a step begins before all of the step before have ended: what each counts
 * is its step's. More blocks than the device holds would wait for ever: refused. */
static void
persistent_blocks_meet_after_each_step(void **state)
{
    enum { X = 10 };
    static const struct {
        const char *passes;
        bool launched, in_step;
    } t[] = {{"persistent-blocks:tlp=2:barrier=1", true, true},
             {"persistent-blocks:tlp=2", true, false},
             {"persistent-blocks:tlp=9:barrier=1", false, false}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct rt_kit k;
        uint32_t got[X][4];
        bool in_step = true;
        rt_open(&k, persistent, NULL);
        allot_device_free(k.dev);
        assert_true(allot_machine_set(k.m, "sm.count", "1", k.d));
        assert_true(allot_machine_set(k.m, "compiler.passes", t[i].passes, k.d));
        const struct allot_options functional = {.functional = true};
        k.dev = allot_device_new(k.m, &functional, k.d);
        uint64_t out = allot_alloc(k.dev, 2048, k.d);
        const void *args[] = {&out};
        const struct allot_launch l = {.module = k.mod,
                                       .kernel = "k",
                                       .grid = {X, 1, 1},
                                       .block = {64, 1, 1},
                                       .args = args,
                                       .nargs = 1};
        for (int turn = 0; turn < 2;
             turn++) { /* the barrier is as it was, behind a launch */
            assert_true(allot_set(k.dev, out, 0, 2048, k.d));
            if (!allot_launch(k.dev, &l, k.d) == t[i].launched)
                rt_fail(&k, t[i].passes);
            if (!t[i].launched)
                break;
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            for (uint32_t b = 0; b < X; b++) {
                assert_int_equal(got[b][0], 1);
                in_step = in_step && got[b][3] / 2 == b / 2;
            }
        }
        if (t[i].launched)
            assert_int_equal(in_step, t[i].in_step);
        else
            rt_told(&k, "its 9 blocks cannot all be resident, at most 8 can");
        rt_close(&k);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(persistent_blocks_follow_their_array),
        cmocka_unit_test(persistent_blocks_meet_after_each_step),
        cmocka_unit_test(one_demand),
        cmocka_unit_test(reserved_registers),
        cmocka_unit_test(registers_in_between),
        cmocka_unit_test(budget),
        cmocka_unit_test(variant_of_the_launch),
        cmocka_unit_test(pass_changes_the_shape),
        cmocka_unit_test(printed_shape_is_read_back),
        cmocka_unit_test(merged_workloads),
        cmocka_unit_test(bad_notes_are_refused),
        cmocka_unit_test(schedules_keep_the_residency),
        cmocka_unit_test(occupancy_is_residency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
