/* runtime_make_schedule.c: schedules by method (cta.schedule): made before a launch by executing
 * it, which leaves no trace; the same as by way of a file. */
#include "unit/kit/runtime_kit.h"

#include <unistd.h>

/* Block b adds 1 to word 0 and, in each thread, reads `n` lines of its own from
 * buf + 4096 + b * 1024 * (b mod 4) on; n: words 1 of buf, at most 32. */
static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 buf)\n{\n"
    ".reg .pred %p<3>; .reg .u32 %r<12>; .reg .u64 %d<12>;\n"
    "ld.param.u64 %d0, [buf]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "setp.eq.u32 %p0, %r1, 0; @%p0 atom.global.add.u32 %r3, [%d0], 1;\n"
    "and.b32 %r4, %r2, 3; add.u32 %r4, %r4, 1; ld.global.u32 %r5, [%d0+4];\n"
    "mul.lo.u32 %r4, %r4, %r5; mul.lo.u32 %r6, %r2, 16384; mad.lo.u32 %r6, %r1, 128, %r6;\n"
    "cvt.u64.u32 %d1, %r6; add.u64 %d1, %d0, %d1;\n"
    "setp.ge.u32 %p1, %r1, %r4; @%p1 bra E; ld.global.u32 %r7, [%d1+4096];\n"
    "add.u32 %r7, %r7, 1; st.global.u32 [%d1+4096], %r7;\n"
    "E: ret; }\n";

enum { BLOCKS = 64, BYTES = 4096 + BLOCKS * 16384 + 4096 };

struct outcome {
    uint64_t cycles, syncs;
    uint8_t memory[BYTES];
};

/* Launches out[0 .. launches - 1]; n: lines of the first launch, then: of the others. */
static bool
run_many(struct rt_kit *k, const char *const *set, const char *file, uint32_t n,
         uint32_t then, struct outcome *out, int launches)
{
    struct allot_options timing = {.max_cycles = 10000000};
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    memset(k, 0, sizeof *k);
    k->d = allot_diag_new();
    k->m = allot_machine_load("gtx480", k->d);
    assert_non_null(k->m);
    assert_true(allot_machine_set(k->m, "l2.sets", "4", k->d)); /* 768 lines */
    for (; *set; set += 2)
        assert_true(allot_machine_set(k->m, set[0], set[1], k->d));
    k->dev = allot_device_new(k->m, &timing, k->d);
    if (!k->dev)
        return false;
    k->mod = allot_module_parse("test.ptx", text, strlen(text), k->d);
    assert_non_null(k->mod);
    assert_true(!file || allot_device_schedule(k->dev, file, k->d));
    uint64_t buf = allot_alloc(k->dev, BYTES, k->d);
    for (int i = 0; i < launches; i++) {
        const uint32_t words[2] = {7, i ? then : n};
        assert_true(allot_write(k->dev, buf, words, sizeof words, k->d));
        const struct allot_result *r = rt_try(k, BLOCKS, 64, 1, &buf);
        if (!r)
            return false;
        assert_true(allot_result_get(r, "cycles", &out[i].cycles, NULL));
        assert_true(allot_result_get(r, "schedule_syncs", &out[i].syncs, NULL));
        assert_true(allot_read(k->dev, buf, out[i].memory, BYTES, k->d));
    }
    return true;
}

static bool
run(struct rt_kit *k, const char *const *set, const char *file, uint32_t n, uint32_t then,
    struct outcome out[2])
{
    return run_many(k, set, file, n, then, out, 2);
}

static struct outcome plain[2], made[2], by_file[2];

/* The schedule of the plain kernel for at most `most` blocks at once, made by hand: functional
 * run, schedule, text, file. */
static void
schedule_by_hand(const char *method, uint32_t most, const char *path)
{
    struct allot_options functional = {.functional = true, .working_sets = true};
    const uint32_t words[2] = {7, 16};
    struct rt_kit k;
    rt_open(&k, text, &functional);
    assert_true(allot_machine_set(k.m, "l2.sets", "4", k.d));
    uint64_t buf = allot_alloc(k.dev, BYTES, k.d), inst = 0;
    assert_true(allot_write(k.dev, buf, words, sizeof words, k.d));
    const struct allot_result *r = rt_try(&k, BLOCKS, 64, 1, &buf);
    assert_non_null(r);
    assert_true(allot_result_get(r, "warp_instructions", &inst, NULL));
    char *s =
        allot_working_schedule(r, k.m, method, most, 70.0 * BLOCKS / (double)inst, k.d);
    assert_non_null(s);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(s, f) >= 0);
    assert_int_equal(fclose(f), 0);
    free(s);
    rt_close(&k);
}

/* The execution ahead of the launch leaves no trace in memory: the atomic counter counts
 * each block once. The schedule is that of `allot workingset --schedule`. */
static void
a_launch_follows_its_own_working_sets(void **state)
{
    static const char *const methods[] = {
        "awss",         "static", "relax", "awss,packer=lmf", "round-robin,tlp=9",
        "random,seed=5"};
    struct rt_kit k;
    assert_true(run(&k, (const char *const[]){NULL}, NULL, 16, 16, plain));
    rt_close(&k);
    uint32_t count;
    memcpy(&count, plain[0].memory, sizeof count);
    assert_int_equal(count, 7 + BLOCKS);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        assert_true(run(&k,
                        (const char *const[]){"cta.order", "schedule", "cta.schedule",
                                              methods[i], NULL},
                        NULL, 16, 16, made));
        rt_close(&k);
        for (int l = 0; l < 2; l++)
            assert_memory_equal(made[l].memory, plain[l].memory, BYTES);

        /* The same by a file. */
        char path[] = "/tmp/schedule-XXXXXX";
        close(mkstemp(path));
        schedule_by_hand(methods[i], 15 * 8, path);
        assert_true(run(&k, (const char *const[]){"cta.order", "schedule", NULL}, path,
                        16, 16, by_file));
        rt_close(&k);
        unlink(path);
        for (int l = 0; l < 2; l++) {
            assert_int_equal(made[l].cycles, by_file[l].cycles);
            assert_int_equal(made[l].syncs, by_file[l].syncs);
        }
        if (!i) /* sums of 40 lines a block mean: no more than 19 fit */
            assert_true(made[0].cycles != plain[0].cycles);
    }
}

/* A second launch with other working sets follows the first one's schedule, unless
 * cta.update says that it is made anew. 2 lines a block at most: all fit at once. */
static void
update_makes_it_anew(void **state)
{
    struct rt_kit k;
    static struct outcome kept[2], anew[2], second[2];
    const char *set[] = {"cta.order", "schedule", "cta.schedule", "static", "cta.update",
                         "0",         NULL};
    assert_true(run(&k, set, NULL, 16, 0, kept));
    rt_close(&k);
    set[5] = "1";
    assert_true(run(&k, set, NULL, 16, 0, anew));
    rt_close(&k);
    set[5] = "2";
    assert_true(run(&k, set, NULL, 16, 0, second));
    rt_close(&k);
    assert_int_equal(kept[0].cycles, anew[0].cycles);
    assert_true(anew[1].cycles < kept[1].cycles);
    assert_int_equal(second[1].cycles, kept[1].cycles);
    assert_memory_equal(anew[1].memory, kept[1].memory, BYTES);
}

/* Online: each launch follows the working sets of the launch before it. The first has none,
 * so its blocks are in order; the second pays for the first one's 64 lines a block, the
 * third, made anew, no longer. Without update the first one's are kept. */
static void
previous_working_sets_schedule_the_next(void **state)
{
    struct rt_kit k;
    static struct outcome given[3], own[3], online[3], kept[3];
    const char *set[] = {"cta.order",        "schedule",   "cta.schedule",
                         "static",           "cta.update", "1",
                         "cta.working_sets", "own",        NULL};
    assert_true(run_many(&k, (const char *const[]){NULL}, NULL, 16, 0, given, 3));
    rt_close(&k);
    assert_true(run_many(&k, set, NULL, 16, 0, own, 3));
    rt_close(&k);
    set[7] = "previous";
    assert_true(run_many(&k, set, NULL, 16, 0, online, 3));
    rt_close(&k);
    set[5] = "0";
    assert_true(run_many(&k, set, NULL, 16, 0, kept, 3));
    rt_close(&k);
    assert_int_equal(online[0].cycles, given[0].cycles);
    assert_true(own[0].cycles != given[0].cycles);
    assert_true(online[1].cycles > own[1].cycles);
    assert_int_equal(online[2].cycles, own[2].cycles);
    assert_int_equal(kept[1].cycles, online[1].cycles);
    assert_true(kept[2].cycles > online[2].cycles);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(online[i].memory, given[i].memory, BYTES);
}

/* -- persistent blocks -- */

/* Runs the kernel with persistent blocks; what the array holds then. */
static bool
run_passes(struct rt_kit *k, const char *passes, const char *method, const char *file,
           const char *array, uint32_t *words, size_t n)
{
    static struct outcome out[1];
    const char *set[] = {
        "cta.order", "schedule", "compiler.passes", passes, "cta.schedule", method, NULL};
    uint64_t addr, bytes;
    if (!run_many(k, set, file, 16, 16, out, 1))
        return false;
    assert_memory_equal(out[0].memory, plain[0].memory, BYTES);
    assert_true(allot_symbol(k->dev, k->mod, array, &addr, &bytes, k->d));
    assert_int_equal(bytes, n * sizeof *words);
    return allot_read(k->dev, addr, words, bytes, k->d);
}

/* 4 of them; the array that they took their work from. */
static bool
run_persistent(struct rt_kit *k, const char *method, const char *file,
               uint32_t order[BLOCKS])
{
    return run_passes(k, "persistent-blocks:tlp=4", method, file, "allot_order_k", order,
                      BLOCKS);
}

/* barrier=1: a step of the schedule has as many blocks at once as it says, at most all. */
static void
steps_of_persistent_blocks(void **state)
{
    static const char passes[] = "persistent-blocks:tlp=4:barrier=1";
    struct rt_kit k;
    uint32_t start[BLOCKS + 1];
    char path[] = "/tmp/schedule-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f, "allot-schedule 1\nkernel k\nblocks %d\nstep 2: 32-63\nstep 8: 0-31\n",
            BLOCKS);
    fclose(f);
    assert_true(run_passes(&k, passes, "", path, "allot_steps_k", start, BLOCKS + 1));
    rt_close(&k);
    for (uint32_t i = 0; i <= BLOCKS; i++)
        assert_int_equal(start[i], i < 16 ? 2 * i : i < 24 ? 32 + 4 * (i - 16) : BLOCKS);
    assert_true(run_passes(&k, passes, "", NULL, "allot_steps_k", start, BLOCKS + 1));
    rt_close(&k);
    for (uint32_t i = 0; i <= BLOCKS; i++)
        assert_int_equal(start[i], i < 16 ? 4 * i : BLOCKS);
    unlink(path);
}

/* The array holds the schedule's order: of a file, of a baseline, and by the working sets of
 * the blocks as they were before the pass. Not touched: in order. */
static void
persistent_blocks_take_a_schedule(void **state)
{
    struct rt_kit k;
    uint32_t order[BLOCKS], again[BLOCKS];
    char path[] = "/tmp/schedule-XXXXXX";
    assert_true(run(&k, (const char *const[]){NULL}, NULL, 16, 16, plain));
    rt_close(&k);
    assert_true(run_persistent(&k, "", NULL, order));
    rt_close(&k);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(order[i], i);
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f, "allot-schedule 1\nkernel k\nblocks %d\nstep 2: 32-63\nstep 4: 0-31\n",
            BLOCKS);
    fclose(f);
    assert_true(run_persistent(&k, "", path, order));
    rt_close(&k);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(order[i], (i + 32) % BLOCKS);

    /* awss: the steps that the plain kernel's working sets make for at most 4 blocks. */
    schedule_by_hand("awss", 4, path);
    assert_true(run_persistent(&k, "", path, order));
    rt_close(&k);
    assert_true(run_persistent(&k, "awss", NULL, again));
    rt_close(&k);
    assert_memory_equal(order, again, sizeof order);
    assert_true(order[0] != 0); /* a large block comes first */

    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "allot-schedule 1\nblocks 4\nstep 4: 0-3\n");
    fclose(f);
    assert_false(run_persistent(&k, "", path, order));
    rt_told(&k, "do the work of 64 blocks, but its schedule is for 4");
    rt_close(&k);
    unlink(path);
}

static void
what_cannot_be_is_said(void **state)
{
    struct rt_kit k;
    assert_false(
        run(&k, (const char *const[]){"cta.schedule", "greedy", NULL}, NULL, 1, 1, made));
    rt_told(&k, "'greedy' is no method of scheduling");
    rt_close(&k);
    /* A kernel that allocates cannot be executed twice. */
    static const char allocates[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n"
        ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
        ".visible .entry k(.param .u64 buf)\n{\n.reg .u64 %d<4>;\n"
        "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n);\n"
        "ld.param.b64 %d1, [r]; }\n ld.param.u64 %d0, [buf]; st.global.u64 [%d0], %d1;\n"
        "ret; }\n";
    struct allot_options timing = {.max_cycles = 10000000};
    rt_open(&k, allocates, NULL);
    allot_device_free(k.dev);
    assert_true(allot_machine_set(k.m, "cta.order", "schedule", k.d));
    assert_true(allot_machine_set(k.m, "cta.schedule", "awss", k.d));
    k.dev = allot_device_new(k.m, &timing, k.d);
    assert_non_null(k.dev);
    uint64_t buf = allot_alloc(k.dev, 64, k.d);
    assert_null(rt_try(&k, 2, 32, 1, &buf));
    rt_told(&k, "kernel 'k' allocates memory, so it cannot be executed ahead");
    rt_close(&k);
    /* Nor are the working sets of blocks known that are persistent in the PTX itself. */
    static const char persistent[] =
        ".version 6.0\n.target sm_30\n.address_size 64\n"
        ".visible .global .u32 allot_order_k[4];\n.visible .entry k()\n{ ret; }\n";
    rt_open(&k, persistent, NULL);
    allot_device_free(k.dev);
    assert_true(allot_machine_set(k.m, "cta.order", "schedule", k.d));
    assert_true(allot_machine_set(k.m, "cta.schedule", "awss", k.d));
    k.dev = allot_device_new(k.m, &timing, k.d);
    assert_non_null(k.dev);
    assert_null(rt_try(&k, 2, 32, 0, NULL));
    rt_told(&k, "kernel 'k' has persistent blocks already");
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_follows_its_own_working_sets),
        cmocka_unit_test(update_makes_it_anew),
        cmocka_unit_test(previous_working_sets_schedule_the_next),
        cmocka_unit_test(persistent_blocks_take_a_schedule),
        cmocka_unit_test(steps_of_persistent_blocks),
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
