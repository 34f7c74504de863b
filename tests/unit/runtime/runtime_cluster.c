/* runtime_cluster.c: clusters of blocks: their registers by the PTX ISA (10.12 to 10.18), also
 * where a cluster is one block; scratchpads of other blocks (mapa, getctarank, isspacep,
 * .shared::cluster, generic addresses, atomics); barrier.cluster; what is refused. The same
 * with 1 and with 3 host threads. Values by hand. */
#include "unit/kit/runtime_kit.h"

#define HEAD90 ".version 8.0\n.target sm_90\n.address_size 64\n"
#define READ(i, from) "mov.u32 %r0, " from "; st.global.u32 [%d1+4*" #i "], %r0;\n"

enum { WORDS = 16 };

/* Each block writes what it reads. */
static char *
text(const char *head)
{
    static char b[4096];
    snprintf(b, sizeof b, "%s%s%s", HEAD90 ".visible .entry k(.param .u64 out) ", head,
             " {\n.reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %q;\n"
             "mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ctaid.y;\n"
             "mad.lo.u32 %r0, %r0, %r1, %r2; mov.u32 %r1, %nctaid.x;\n"
             "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n"
             "ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 64;\n"
             "add.u64 %d1, %d0, %d1;\n"
             /* clang-format off */
             READ(0, "%clusterid.x") READ(1, "%clusterid.y") READ(2, "%clusterid.z")
             READ(3, "%nclusterid.x") READ(4, "%nclusterid.y") READ(5, "%nclusterid.z")
             READ(6, "%cluster_ctaid.x") READ(7, "%cluster_ctaid.y")
             READ(8, "%cluster_ctaid.z") READ(9, "%cluster_nctaid.x")
             READ(10, "%cluster_nctaid.y") READ(11, "%cluster_nctaid.z")
             READ(12, "%cluster_ctarank") READ(13, "%cluster_nctarank")
             /* clang-format on */
             "mov.pred %q, %is_explicit_cluster; selp.u32 %r0, 7, 5, %q;\n"
             "st.global.u32 [%d1+56], %r0; @%q mov.u32 %r0, 9;\n"
             "st.global.u32 [%d1+60], %r0; ret;\n}\n");
    return b;
}

static void
open_on(struct rt_kit *k, const char *machine, const char *source, unsigned threads)
{
    const struct allot_options o = {
        .functional = true, .threads = threads, .max_instructions = 20000000};
    rt_open(k, NULL, NULL);
    allot_device_free(k->dev);
    allot_machine_free(k->m);
    k->m = allot_machine_load(machine, k->d);
    k->dev = k->m ? allot_device_new(k->m, &o, k->d) : NULL;
    k->mod = allot_module_parse("test.ptx", source, strlen(source), k->d);
    if (!k->dev || !k->mod)
        rt_fail(k, "open");
}

/* c: blocks of a cluster in each dimension. */
static void
check(const uint32_t *w, const uint32_t n[3], const uint32_t c[3], bool explicit)
{
    for (uint32_t b = 0; b < n[0] * n[1] * n[2]; b++) {
        const uint32_t x = b % n[0], y = b / n[0] % n[1], z = b / n[0] / n[1];
        const uint32_t in[3] = {x % c[0], y % c[1], z % c[2]};
        const uint32_t want[WORDS] = {x / c[0],
                                      y / c[1],
                                      z / c[2],
                                      n[0] / c[0],
                                      n[1] / c[1],
                                      n[2] / c[2],
                                      in[0],
                                      in[1],
                                      in[2],
                                      c[0],
                                      c[1],
                                      c[2],
                                      in[0] + c[0] * (in[1] + c[1] * in[2]),
                                      c[0] * c[1] * c[2],
                                      explicit ? 7 : 5,
                                      explicit ? 9 : 5};
        for (int i = 0; i < WORDS; i++)
            assert_int_equal(w[b * WORDS + (uint32_t)i], want[i]);
    }
}

static void
a_cluster_of_one_block_is_the_block(void **state)
{
    static const char *const heads[] = {
        "", ".maxclusterrank 8", ".reqnctapercluster 1, 1, 1",
        ".explicitcluster .reqnctapercluster 1", ".reqnctapercluster 1, 1"};
    static const struct allot_options modes[] = {{.functional = true}, {0}};
    static const uint32_t one[3] = {1, 1, 1};
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (int mode = 0; mode < 2; mode++) {
            struct rt_kit k;
            uint32_t got[12 * WORDS];
            const uint32_t grid[3] = {3, 2, 2};
            rt_open(&k, text(heads[h]), &modes[mode]);
            uint64_t out = allot_alloc(k.dev, sizeof got, k.d);
            const void *args[] = {&out};
            struct allot_launch l = {.module = k.mod,
                                     .kernel = "k",
                                     .grid = {3, 2, 2},
                                     .block = {32, 1, 1},
                                     .args = args,
                                     .nargs = 1};
            assert_non_null(allot_launch(k.dev, &l, k.d));
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            check(got, grid, one, strstr(heads[h], "cta") != NULL);
            /* The launch says it. */
            memcpy(l.cluster, one, sizeof l.cluster);
            assert_non_null(allot_launch(k.dev, &l, k.d));
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            check(got, grid, one, true);
            rt_close(&k);
        }
}

static void
registers_of_clusters_follow_the_isa(void **state)
{
    static const uint32_t sizes[][3] = {{2, 1, 1}, {1, 3, 1}, {1, 1, 2},
                                        {4, 3, 1}, {2, 3, 2}, {4, 1, 4}};
    static const uint32_t grid[3] = {8, 6, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned own = 0; own < 2; own++) {
            struct rt_kit k;
            const uint32_t *c = sizes[i];
            static uint32_t got[8 * 6 * 4 * WORDS];
            char head[64];
            snprintf(head, sizeof head, ".reqnctapercluster %u, %u, %u", c[0], c[1],
                     c[2]);
            open_on(&k, "h100", text(own ? head : ""), own ? 1 : 3);
            uint64_t out = allot_alloc(k.dev, sizeof got, k.d);
            const void *args[] = {&out};
            struct allot_launch l = {.module = k.mod,
                                     .kernel = "k",
                                     .grid = {grid[0], grid[1], grid[2]},
                                     .block = {32, 1, 1},
                                     .args = args,
                                     .nargs = 1};
            if (!own)
                memcpy(l.cluster, c, sizeof l.cluster);
            if (!allot_launch(k.dev, &l, k.d))
                rt_fail(&k, "launch");
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            check(got, grid, c, true);
            rt_close(&k);
        }
}

/* Runs kernel "k" of 64 threads in clusters of n; `words` of the result. */
static bool
run(struct rt_kit *k, const char *source, unsigned grid, uint32_t n, unsigned threads,
    uint32_t *got, size_t bytes)
{
    open_on(k, "h100", source, threads);
    uint64_t out = allot_alloc(k->dev, bytes, k->d);
    const void *args[] = {&out};
    struct allot_launch l = {.module = k->mod,
                             .kernel = "k",
                             .grid = {grid, 1, 1},
                             .block = {64, 1, 1},
                             .args = args,
                             .nargs = 1,
                             .cluster = {n, 1, 1}};
    bool ok = allot_launch(k->dev, &l, k->d) != NULL;
    assert_true(!ok || allot_read(k->dev, out, got, bytes, k->d));
    return ok;
}

#define OPEN                                                                             \
    HEAD90 ".visible .entry k(.param .u64 out) {\n"                                      \
           ".reg .b32 %r<24>; .reg .b64 %d<12>; .reg .pred %p<6>;\n"                     \
           ".shared .align 8 .b8 pad[40]; .shared .align 8 .b32 s[64];\n"                \
           "ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"      \
           "mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;\n"            \
           "mad.lo.u32 %r4, %r1, 64, %r0; shl.b32 %r5, %r0, 2;\n"                        \
           "mov.u32 %r6, s; add.u32 %r6, %r6, %r5;\n"
#define SYNC                                                                             \
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
#define NEXT /* %r7: the next rank */                                                    \
    "add.u32 %r7, %r2, 1; setp.eq.u32 %p0, %r7, %r3; selp.u32 %r7, 0, %r7, %p0;\n"
#define OUT "mul.wide.u32 %d1, %r4, 4; add.u64 %d1, %d0, %d1;\n"

/* Each thread reads its word of the next rank, by four kinds of address: all must be equal; and
 * stores it there, so that each has what the one before it read. */
static const char ring[] = OPEN NEXT OUT
    "mad.lo.u32 %r8, %r1, 1000, %r0; st.shared.u32 [%r6], %r8;\n" SYNC
    "mapa.shared::cluster.u32 %r9, %r6, %r7; ld.shared::cluster.u32 %r10, [%r9];\n"
    "mapa.shared::cluster.u32 %r11, s, %r7; add.u32 %r11, %r11, %r5;\n"
    "ld.relaxed.cluster.shared::cluster.u32 %r12, [%r11];\n"
    "cvta.shared.u32 %r13, %r6; cvt.u64.u32 %d2, %r6; cvta.shared.u64 %d2, %d2;\n"
    "mapa.u64 %d3, %d2, %r7; ld.u32 %r13, [%d3];\n"
    "cvt.u64.u32 %d4, %r9; cvta.shared::cluster.u64 %d4, %d4; ld.u32 %r14, [%d4];\n"
    "getctarank.shared::cluster.u32 %r15, %r9; getctarank.u64 %r16, %d3;\n"
    "isspacep.shared::cluster %p1, %d3; isspacep.shared::cta %p2, %d3;\n"
    "isspacep.shared %p3, %d2; isspacep.global %p4, %d3;\n"
    "sub.u32 %r17, %r10, %r12; sub.u32 %r18, %r13, %r14; or.b32 %r17, %r17, %r18;\n"
    "sub.u32 %r18, %r15, %r7; or.b32 %r17, %r17, %r18;\n"
    "sub.u32 %r18, %r16, %r7; or.b32 %r17, %r17, %r18; sub.u32 %r18, %r10, %r13;\n"
    "or.b32 %r17, %r17, %r18; not.pred %p1, %p1; or.pred %p1, %p1, %p4;\n"
    "setp.ne.u32 %p5, %r3, 1; and.pred %p2, %p2, %p5; or.pred %p1, %p1, %p2;\n"
    "not.pred %p3, %p3; or.pred %p1, %p1, %p3; @%p1 mov.u32 %r17, 1;\n"
    "setp.ne.u32 %p5, %r17, 0; @%p5 mov.u32 %r10, 0xdead;\n" SYNC
    "st.shared::cluster.u32 [%r9], %r10;\n" SYNC
    "ld.shared.u32 %r20, [%r6]; add.u32 %r10, %r10, %r20;\n"
    "st.global.u32 [%d1], %r10; ret;\n}\n";

static void
blocks_reach_the_scratchpads_of_their_cluster(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 8, 16};
    enum { BLOCKS = 4800 }; /* enough for waves of several host threads */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned threads = 1; threads < 4; threads += 2) {
            struct rt_kit k;
            static uint32_t got[BLOCKS * 64];
            const uint32_t n = sizes[i];
            if (!run(&k, ring, BLOCKS, n, threads, got, sizeof got))
                rt_fail(&k, "ring");
            for (uint32_t b = 0; b < BLOCKS; b++)
                for (uint32_t t = 0; t < 64; t++) {
                    const uint32_t first = b / n * n, next = first + (b - first + 1) % n;
                    /* read from the next; and the one before stored what it read of us */
                    assert_int_equal(got[b * 64 + t], next * 1000 + t + b * 1000 + t);
                }
            rt_close(&k);
        }
}

/* A histogram over the scratchpads: bin i lies in rank i % n, at place i / n. */
static const char bins[] =
    OPEN OUT "mov.u32 %r8, 0; st.shared.u32 [%r6], %r8;\n" SYNC
             "mul.lo.u32 %r8, %r4, 2654435761; shr.u32 %r8, %r8, 26;\n" /* 64 bins */
             "rem.u32 %r9, %r8, %r3; div.u32 %r10, %r8, %r3; shl.b32 %r10, %r10, 2;\n"
             "mov.u32 %r11, s; add.u32 %r11, %r11, %r10;\n"
             "mapa.shared::cluster.u32 %r12, %r11, %r9;\n"
             "and.b32 %r13, %r0, 1; setp.eq.u32 %p0, %r13, 0;\n"
             "@%p0 red.relaxed.cluster.shared::cluster.add.u32 [%r12], 1;\n"
             "@!%p0 atom.shared::cluster.add.u32 %r14, [%r12], 1;\n" SYNC
             "ld.shared.u32 %r15, [%r6]; st.global.u32 [%d1], %r15; ret;\n}\n";

static void
atomics_reach_them_too(void **state)
{
    static const uint32_t sizes[] = {1, 2, 4, 8};
    enum { BLOCKS = 16 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rt_kit k;
        uint32_t got[BLOCKS * 64], want[BLOCKS * 64] = {0};
        const uint32_t n = sizes[i];
        for (uint32_t t = 0; t < BLOCKS * 64; t++) {
            const uint32_t bin = t * 2654435761u >> 26, first = t / 64 / n * n;
            want[(first + bin % n) * 64 + bin / n]++;
        }
        if (!run(&k, bins, BLOCKS, n, 1, got, sizeof got))
            rt_fail(&k, "bins");
        assert_memory_equal(got, want, sizeof got);
        rt_close(&k);
    }
}

/* Threads of a warp arrive in different paths, some end before; another phase follows. */
static const char paths[] = OPEN OUT
    "setp.lt.u32 %p0, %r0, 5; @%p0 bra EARLY;\n"
    "and.b32 %r8, %r0, 1; setp.eq.u32 %p1, %r8, 0; @%p1 bra EVEN;\n"
    "barrier.cluster.arrive; bra MEET;\n"
    "EVEN: st.shared.u32 [%r6], %r4; barrier.cluster.arrive.release;\n"
    "MEET: barrier.cluster.wait; xor.b32 %r9, %r6, 4; xor.b32 %r10, %r2, 1;\n"
    "mapa.shared::cluster.u32 %r9, %r9, %r10; ld.shared::cluster.u32 %r11, [%r9];\n"
    "st.global.u32 [%d1], %r11; barrier.cluster.arrive.relaxed; barrier.cluster.wait; ret;\n"
    "EARLY: mov.u32 %r8, 77; st.global.u32 [%d1], %r8; ret;\n}\n";

static void
threads_arrive_in_any_path_and_ended_ones_count(void **state)
{
    struct rt_kit k;
    uint32_t got[4 * 64];
    if (!run(&k, paths, 4, 2, 1, got, sizeof got))
        rt_fail(&k, "paths");
    for (uint32_t b = 0; b < 4; b++)
        for (uint32_t t = 0; t < 64;
             t++) { /* s is 40 bytes on: word t ^ 1, even ones stored */
            const uint32_t from = ((10 + t) ^ 1) - 10;
            const bool stored = from % 2 == 0 && from >= 5 && from < 64;
            assert_int_equal(got[b * 64 + t], t < 5    ? 77
                                              : stored ? (b ^ 1) * 64 + from
                                                       : 0);
        }
    rt_close(&k);
}

/* A block without a cluster is one: its warps meet, with timing too, and those that have ended
 * are not waited for. */
static const char alone[] = OPEN OUT
    "setp.ge.u32 %p0, %r0, 32; @%p0 st.shared.u32 [%r6], %r4;\n"
    "@!%p0 bra MEET; mov.u32 %r11, 200;\n" /* the second warp comes late */
    "LATE: sub.u32 %r11, %r11, 1; setp.ne.u32 %p1, %r11, 0; @%p1 bra LATE;\nMEET:\n" SYNC
    "xor.b32 %r8, %r0, 32; shl.b32 %r8, %r8, 2; mov.u32 %r9, s; add.u32 %r9, %r9, %r8;\n"
    "ld.shared.u32 %r10, [%r9]; st.global.u32 [%d1], %r10; @%p0 exit;\n" SYNC
    "add.u32 %r10, %r10, 1; st.global.u32 [%d1], %r10; ret;\n}\n";

static void
a_block_alone_meets_at_its_barrier(void **state)
{
    static const struct allot_options modes[] = {{.functional = true}, {0}};
    for (int mode = 0; mode < 2; mode++) {
        struct rt_kit k;
        uint32_t got[5 * 64];
        rt_open(&k, alone, &modes[mode]);
        uint64_t out = allot_alloc(k.dev, sizeof got, k.d);
        if (!rt_try(&k, 5, 64, 1, &out))
            rt_fail(&k, "alone");
        assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
        for (uint32_t i = 0; i < 5 * 64; i++)
            assert_int_equal(got[i], i % 64 < 32 ? i + 32 + 1 : 0);
        rt_close(&k);
    }
}

static void
faults(const char *body, const char *why)
{
    struct rt_kit k;
    char b[4096];
    uint32_t got[2 * 64];
    snprintf(b, sizeof b, "%s%s ret;\n}\n", OPEN, body);
    if (run(&k, b, 2, 2, 1, got, sizeof got))
        fail_msg("not refused: %s", body);
    rt_told(&k, why);
    rt_close(&k);
}

static void
what_is_undefined_is_a_fault(void **state)
{
    faults("barrier.cluster.wait;",
           "barrier.cluster.wait of a thread that has not arrived");
    faults("barrier.cluster.arrive; barrier.cluster.arrive;",
           "barrier.cluster.arrive of a thread that has arrived and not waited yet");
    faults("mapa.shared::cluster.u32 %r9, %r6, 2;",
           "mapa with rank 2: the cluster has 2 blocks");
    faults("setp.eq.u32 %p0, %r2, 0; @%p0 exit; mapa.shared::cluster.u32 %r9, %r6, 0; "
           "L: st.shared::cluster.u32 [%r9], %r0; bra L;",
           "of the scratchpad of rank 0: that block of the cluster has ended");
    faults(
        "xor.b32 %r7, %r2, 1; mapa.shared::cluster.u32 %r9, %r6, %r7; st.shared.u32 [%r9], "
        "%r0;",
        "it lies in the scratchpad of another block of the cluster, which needs "
        ".shared::cluster");
    faults("xor.b32 %r7, %r2, 1; mapa.shared::cluster.u32 %r9, %r6, %r7; "
           "st.shared::cluster.u32 [%r9+4096], %r0;",
           "it lies outside of that block's scratchpad");
    faults("st.shared::cluster.u32 [%r6+0x180000], %r0;",
           "the cluster has no block of that rank");
}

static void
refused(const char *machine, const char *head, const uint32_t cluster[3], const char *why)
{
    struct rt_kit k;
    open_on(&k, machine, text(head), 1);
    uint64_t out = allot_alloc(k.dev, 1 << 16, k.d);
    const void *args[] = {&out};
    struct allot_launch l = {.module = k.mod,
                             .kernel = "k",
                             .grid = {4, 4, 4},
                             .block = {32, 1, 1},
                             .args = args,
                             .nargs = 1};
    memcpy(l.cluster, cluster, sizeof l.cluster);
    assert_null(allot_launch(k.dev, &l, k.d));
    if (!strstr(allot_diag_text(k.d), why) || !strstr(allot_diag_text(k.d), ":4:"))
        fail_msg("'%s' is not in: %s", why, allot_diag_text(k.d));
    rt_close(&k);
}

static void
clusters_that_cannot_be_are_refused(void **state)
{
    static const uint32_t none[3], one[3] = {1, 1, 1}, two[3] = {2, 1, 1},
                                   deep[3] = {1, 1, 3}, large[3] = {4, 4, 2};
    refused("h100", ".reqnctapercluster 2, 1, 1", one,
            "clusters of (1,1,1) blocks, but .reqnctapercluster demands (2,1,1)");
    refused("h100", ".reqnctapercluster 1, 3", none,
            "the grid (4,4,4) cannot be divided into clusters of (1,3,1) blocks");
    refused("h100", "", deep,
            "the grid (4,4,4) cannot be divided into clusters of (1,1,3) blocks");
    refused("h100", "", large, "a cluster has 1 to 16 blocks");
    refused("h100", ".maxclusterrank 1", two, "but .maxclusterrank allows 1");
    refused("h100", ".explicitcluster", none, "must be launched in clusters");
    refused("a100", "", two, "the machine's compute capability is below 9.0");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_of_one_block_is_the_block),
        cmocka_unit_test(registers_of_clusters_follow_the_isa),
        cmocka_unit_test(blocks_reach_the_scratchpads_of_their_cluster),
        cmocka_unit_test(atomics_reach_them_too),
        cmocka_unit_test(threads_arrive_in_any_path_and_ended_ones_count),
        cmocka_unit_test(a_block_alone_meets_at_its_barrier),
        cmocka_unit_test(what_is_undefined_is_a_fault),
        cmocka_unit_test(clusters_that_cannot_be_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
