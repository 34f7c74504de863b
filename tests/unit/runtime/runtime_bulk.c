/* runtime_bulk.c: bulk copies, tensor copies, st.async, red.async, mbarriers of clusters, in
 * functional mode. What a tensor copy does is computed here a second time, element by element
 * from the words of the ISA and the driver API; the swizzle is the exchange of address bits
 * that CUTLASS documents (Swizzle<3|2|1, 4, 3>: bits 4 to 6 by bits 7 to 9). */
#include "unit/kit/runtime_kit.h"

#include "base/splitmix.h"
#include "exec/memory/tensor_map.h"

#define HEAD90 ".version 8.6\n.target sm_90a\n.address_size 64\n"

static void
open_on(struct rt_kit *k, const char *source, unsigned threads)
{
    const struct allot_options o = {
        .functional = true, .threads = threads, .max_instructions = 40000000};
    rt_open(k, NULL, NULL);
    allot_device_free(k->dev);
    allot_machine_free(k->m);
    k->m = allot_machine_load("h100", k->d);
    k->dev = k->m ? allot_device_new(k->m, &o, k->d) : NULL;
    k->mod = allot_module_parse("test.ptx", source, strlen(source), k->d);
    if (!k->dev || !k->mod)
        rt_fail(k, "open");
}

static bool
launch(struct rt_kit *k, unsigned grid, unsigned block, uint32_t cluster, size_t n,
       const uint64_t *values)
{
    const void *args[16];
    for (size_t i = 0; i < n; i++)
        args[i] = &values[i];
    struct allot_launch l = {.module = k->mod,
                             .kernel = "k",
                             .grid = {grid, 1, 1},
                             .block = {block, 1, 1},
                             .args = args,
                             .nargs = n,
                             .cluster = {cluster, 1, 1}};
    return allot_launch(k->dev, &l, k->d) != NULL;
}

#define OPEN                                                                             \
    HEAD90                                                                               \
    ".visible .entry k(.param .u64 out, .param .u64 in) {\n"                             \
    ".reg .b16 %h<4>; .reg .b32 %r<24>; .reg .b64 %d<12>; .reg .pred %p<6>;\n"           \
    ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 bar;\n"                       \
    "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; mov.u32 %r0, %tid.x;\n"            \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank; shl.b32 %r5, %r0, 2;\n"       \
    "mov.u32 %r3, %cluster_nctarank; setp.eq.u32 %p0, %r0, 0; mov.u32 %r4, s;\n"         \
    "add.u32 %r6, %r4, %r5; mov.u32 %r7, bar; mad.lo.u32 %r8, %r1, 64, %r0;\n"           \
    "mul.wide.u32 %d2, %r8, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;\n"          \
    "@%p0 mbarrier.init.shared::cta.b64 [%r7], 1;\n"                                     \
    "@%p0 fence.mbarrier_init.release.cluster; bar.sync 0;\n"
#define SYNC "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define WAIT(parity)                                                                     \
    "W" #parity ": mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], " #parity        \
    ";\n@!%p1 bra W" #parity ";\n"

/* -- bulk copies -- */

static void
check_words(const char *body, uint32_t grid, uint32_t cluster, const uint32_t *in,
            const uint32_t *want)
{
    enum { WORDS = 64 };
    struct rt_kit k;
    char text[8192];
    uint32_t got[16 * WORDS];
    const size_t bytes = grid * WORDS * sizeof *got;
    snprintf(text, sizeof text, "%s%s ret;\n}\n", OPEN, body);
    open_on(&k, text, 1);
    const uint64_t args[] = {allot_alloc(k.dev, bytes, k.d),
                             allot_alloc(k.dev, bytes, k.d)};
    assert_true(allot_write(k.dev, args[1], in, bytes, k.d));
    assert_true(allot_write(k.dev, args[0], in, bytes, k.d));
    if (!launch(&k, grid, 64, cluster, 2, args))
        rt_fail(&k, body);
    assert_true(allot_read(k.dev, args[0], got, bytes, k.d));
    for (size_t i = 0; i < grid * WORDS; i++)
        if (got[i] != want[i])
            fail_msg("word %zu: %08x, not %08x: %s", i, got[i], want[i], body);
    rt_close(&k);
}

#define LOAD                                                                             \
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 256;\n"                    \
    "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], "     \
    "[%d4], 256, [%r7];\n" WAIT(0)
#define SHOW "ld.shared.u32 %r10, [%r6]; st.global.u32 [%d3], %r10;\n"

static void
bulk_copies_move_bytes(void **state)
{
    uint32_t in[4 * 64], want[4 * 64];
    for (uint32_t i = 0; i < 4 * 64; i++)
        in[i] = want[i] = i * 2654435761u;
    check_words(LOAD SHOW, 4, 1, in, want);
    /* the form with .shared::cta, a policy */
    check_words(
        "mov.u64 %d5, 0; @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], "
        "256;\n@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes."
        "L2::cache_hint [%r4], [%d4], 256, [%r7], %d5;\n" WAIT(0) SHOW,
        4, 1, in, want);
    /* to global memory, by a group; prefetch changes nothing */
    for (uint32_t i = 0; i < 4 * 64; i++)
        want[i] = i + 7;
    check_words(
        "add.u32 %r9, %r8, 7; st.shared.u32 [%r6], %r9; fence.proxy.async.shared::cta;\n"
        "bar.sync 0; @%p0 cp.async.bulk.prefetch.L2.global [%d4], 256;\n"
        "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%d3], [%r4], 256;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
        "cp.async.bulk.wait_group 0;",
        4, 1, in, want);
    /* multicast: rank 0 loads its 256 bytes into all blocks of the cluster but rank 1 */
    for (uint32_t i = 0; i < 4 * 64; i++)
        want[i] = i / 64 == 1 ? 5 : in[i % 64];
    check_words(
        "mov.u32 %r9, 5; st.shared.u32 [%r6], %r9; setp.ne.u32 %p2, %r2, 1;\n"
        "and.pred %p3, %p0, %p2; @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], "
        "256;\n" SYNC
        "mov.u16 %h0, 13; setp.eq.u32 %p4, %r2, 0; and.pred %p4, %p4, %p0;\n"
        "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [%r4], [%d1], 256, [%r7], %h0;\n"
        "@!%p2 bra OUT;\n" WAIT(0) "OUT:\n" SHOW SYNC,
        4, 4, in, want);
    /* to the scratchpad of the next block */
    for (uint32_t i = 0; i < 4 * 64; i++)
        want[i] = ((i / 64 + 3) % 4) * 64 + i % 64;
    check_words(
        "st.shared.u32 [%r6+2048], %r8; fence.proxy.async; @%p0 "
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 256;\n" SYNC
        "add.u32 %r9, %r2, 1; and.b32 %r9, %r9, 3; mapa.shared::cluster.u32 %r11, %r4, "
        "%r9; mapa.shared::cluster.u32 %r12, %r7, %r9; add.u32 %r13, %r4, 2048;\n"
        "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[%r11], [%r13], 256, [%r12];\n" WAIT(0) SHOW SYNC,
        4, 4, in, want);
    /* st.async and red.async of each thread to the next block */
    for (uint32_t i = 0; i < 4 * 64; i++)
        want[i] = ((i / 64 + 3) % 4) * 64 + i % 64 + 1000;
    check_words(
        "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 512;\n" SYNC
        "add.u32 %r9, %r2, 1; and.b32 %r9, %r9, 3; mapa.shared::cluster.u32 %r11, %r6, "
        "%r9; mapa.shared::cluster.u32 %r12, %r7, %r9; mov.u32 %r13, 1000;\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r11], %r8, "
        "[%r12];\n"
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add."
        "u32 [%r11], %r13, [%r12];\n" WAIT(0) SHOW SYNC,
        4, 4, in, want);
}

static void
reductions_combine(void **state)
{
    /* operation, type, what is there, what comes, the result; a word, or two halves */
    static const struct {
        const char *op;
        uint32_t old, by, want;
    } t[] = {{"add.u32", 0xfffffff0, 0x20, 0x10},
             {"add.s32", 5, 0xffffffff, 4},
             {"add.u64", 0xffffffff, 1, 0}, /* the upper word: checked below */
             {"inc.u32", 5, 5, 0},
             {"inc.u32", 4, 5, 5},
             {"dec.u32", 0, 9, 9},
             {"dec.u32", 4, 9, 3},
             {"min.u32", 0x80000000, 1, 1},
             {"min.s32", 0x80000000, 1, 0x80000000},
             {"max.u32", 0x80000000, 1, 0x80000000},
             {"max.s32", 0x80000000, 1, 1},
             {"and.b32", 0xff00ff00, 0x0ff00ff0, 0x0f000f00},
             {"or.b32", 0xff00ff00, 0x0ff00ff0, 0xfff0fff0},
             {"xor.b32", 0xff00ff00, 0x0ff00ff0, 0xf0f0f0f0},
             {"add.f32", 0x3f800000, 0x40000000, 0x40400000},
             {"add.f32", 0x00400000, 0x00400000, 0}, /* subnormals are flushed */
             {"add.noftz.f16", 0x3c000001, 0x40000001, 0x42000002},
             {"add.noftz.bf16", 0x3f804000, 0x40003f80, 0x40404040},
             {"min.f16", 0x3c00bc00, 0x40003c00, 0x3c00bc00},
             {"max.f16", 0x3c00bc00, 0x40003c00, 0x40003c00},
             {"min.f16", 0x7e000000, 0x40008000, 0x40008000}, /* NaN; -0 below +0 */
             {"max.bf16", 0x3f80bf80, 0x4000c000, 0x4000bf80}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char body[1024];
        uint32_t in[64], want[64];
        for (int k = 0; k < 64; k++) {
            in[k] = t[i].old;
            want[k] = t[i].want;
        }
        if (!strcmp(t[i].op, "add.u64"))
            for (int k = 0; k < 64;
                 k++) { /* pairs 0xffffffff:old + by:by, low words first */
                want[k] = k % 2 ? 1 : 0;
                in[k] = k % 2 ? 0xffffffff : 0xffffffff;
            }
        snprintf(
            body, sizeof body,
            "mov.u32 %%r9, %u; st.shared.u32 [%%r6], %%r9; fence.proxy.async; bar.sync 0;\n"
            "@%%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [%%d3], [%%r4], "
            "256;\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
            t[i].by, t[i].op);
        if (strcmp(t[i].op, "add.u64"))
            check_words(body, 1, 1, in, want);
    }
    /* u64: carries into the upper word; in a scratchpad */
    uint32_t in[64], want[64];
    for (int k = 0; k < 64; k++) {
        in[k] = k % 2 ? 3 : 0xffffffff;
        want[k] = k % 2 ? 3 + 1 + 1 : 0;
    }
    check_words(
        "mov.u32 %r9, 1; st.shared.u32 [%r6], %r9; fence.proxy.async; bar.sync 0;\n"
        "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d3], [%r4], "
        "256;\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
        1, 1, in, want);
    for (int k = 0; k < 64; k++)
        want[k] = 100u + (uint32_t)k;
    check_words(
        "mov.u32 %r9, 100; st.shared.u32 [%r6], %r9; st.shared.u32 [%r6+2048], %r0;\n"
        "fence.proxy.async; bar.sync 0; add.u32 %r13, %r4, 2048;\n"
        "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 256;\n"
        "@%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
        "bytes.add.s32 [%r4], [%r13], 256, [%r7];\n" WAIT(0) SHOW,
        1, 1, in, want);
}

/* -- mbarriers -- */

static void
mbarriers_of_other_blocks_take_arrivals_and_bytes(void **state)
{
    uint32_t in[2 * 64] = {0}, want[2 * 64];
    /* each block's mbarrier: 1 arrival and 64 bytes, both from the other block */
    for (uint32_t i = 0; i < 2 * 64; i++)
        want[i] = 3;
    check_words(
        "mov.u32 %r10, 3; @%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r7], 64;\n" SYNC
        "xor.b32 %r9, %r2, 1; mapa.shared::cluster.u32 %r12, %r7, %r9;\n"
        "@%p0 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r12], 64;\n"
        "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];\n" WAIT(
            0) "st.global.u32 [%d3], %r10;\n" SYNC,
        2, 2, in, want);
    /* expected by the other block too, bytes before they are expected */
    check_words(
        "mov.u32 %r10, 3; @%p0 mbarrier.complete_tx.shared::cta.b64 [%r7], 48;\n" SYNC
        "xor.b32 %r9, %r2, 1; mapa.shared::cluster.u32 %r12, %r7, %r9;\n"
        "@%p0 mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r12], "
        "48;\n" WAIT(0) "st.global.u32 [%d3], %r10;\n" SYNC,
        2, 2, in, want);
}

static void
says(const char *body, const char *why)
{
    struct rt_kit k;
    char text[8192];
    snprintf(text, sizeof text, "%s%s ret;\n}\n", OPEN, body);
    open_on(&k, text, 1);
    const uint64_t args[] = {allot_alloc(k.dev, 4096, k.d),
                             allot_alloc(k.dev, 4096, k.d)};
    if (launch(&k, 2, 64, 2, 2, args))
        fail_msg("not refused: %s", body);
    rt_told(&k, why);
    rt_close(&k);
}

static void
errors_are_explained(void **state)
{
#define TO "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    says("@%p0 " TO "[%r4], [%d1], 24, [%r7];",
         "bulk copy of 24 bytes: the size is a multiple");
    says("@%p0 " TO "[%r4], [%d1+8], 16, [%r7];", "no multiple of 16");
    says("@%p0 " TO "[%r4+8], [%d1], 16, [%r7];", "it is not aligned");
    says("@%p0 " TO "[%r4+4096], [%d1], 16, [%r7];",
         "it lies outside of the block's scratchpad");
    says("@%p0 " TO "[%r4], [%d1+4096], 16, [%r7];", "bulk copy: read of 16 bytes at 0x");
    says("xor.b32 %r9, %r2, 1; mapa.shared::cluster.u32 %r9, %r4, %r9; @%p0 " TO
         "[%r9], [%d1], 16, [%r7];" SYNC,
         "the mbarrier is not in the block of the destination");
    says(
        "mov.u16 %h0, 4; @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [%r4], [%d1], 16, [%r7], %h0;",
        "multicast to rank 2, which the cluster does not have");
    /* who waits for ever is explained */
    says("@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 4096;\n@%p0 " TO
         "[%r4], [%d1], 1024, [%r7];\n" WAIT(0),
         "waits at line 16 for phase 0 of the mbarrier in shared memory, byte 4096");
    says("@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 4096;\n@%p0 " TO
         "[%r4], [%d1], 1024, [%r7];\n" WAIT(0),
         "0 of 1 arrivals and 3072 bytes are still to come");
    says(WAIT(0), "1 of 1 arrivals are still to come");
    says(
        "setp.eq.u32 %p2, %r2, 0; @%p2 barrier.cluster.arrive; @%p2 barrier.cluster.wait; @%p2 "
        "exit;\n" WAIT(0),
        "barrier.cluster: 2 of 4 live warps of the cluster arrived");
}

/* With timing, and under --check: by name, never silently without cost or findings. */
static void
what_is_not_simulated_is_refused(void **state)
{
    static const struct {
        const char *body;
        uint32_t cluster;
        bool timing;
        const char *why;
    } t[] = {
        {LOAD SHOW, 1, true, "has bulk or tensor copies, which have no timing yet"},
        {LOAD SHOW, 1, false, "has bulk or tensor copies, which --check does not follow"},
        {SYNC, 2, true, "clusters of several blocks have no timing yet"},
        {SYNC, 2, false, "--check does not know the scratchpads of other blocks"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct rt_kit k;
        char text[8192];
        const struct allot_options o = {.functional = !t[i].timing,
                                        .checks = t[i].timing ? 0 : ALLOT_CHECK_RACE};
        snprintf(text, sizeof text, "%s%s ret;\n}\n", OPEN, t[i].body);
        open_on(&k, text, 1);
        allot_device_free(k.dev);
        k.dev = allot_device_new(k.m, &o, k.d);
        assert_non_null(k.dev);
        const uint64_t args[] = {allot_alloc(k.dev, 4096, k.d),
                                 allot_alloc(k.dev, 4096, k.d)};
        assert_false(launch(&k, 2, 64, t[i].cluster, 2, args));
        rt_told(&k, t[i].why);
        rt_close(&k);
    }
}

/* -- tensor copies -- */

enum { SHARED = 32768 };

/* A kernel of `dims` dimensions: what = load: the box into shared memory, all of which is then
 * written to out; else shared memory is read from out, and the box is stored, or reduced. */
static char *
tensor_kernel(unsigned dims, const char *what)
{
    static char b[8192];
    const bool load = !strcmp(what, "load");
    char coords[64] = "", copy[512];
    for (unsigned i = 0; i < dims; i++)
        sprintf(coords + strlen(coords), "%s%%r%u", i ? ", " : "", 10 + i);
    if (load)
        snprintf(copy, sizeof copy,
                 "@%%p0 cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::"
                 "complete_tx::bytes [%%r4], [%%d1, {%s}], [%%r7];",
                 dims, coords);
    else if (!strcmp(what, "store"))
        snprintf(
            copy, sizeof copy,
            "@%%p0 cp.async.bulk.tensor.%ud.global.shared::cta.bulk_group [%%d1, {%s}], "
            "[%%r4];",
            dims, coords);
    else
        snprintf(
            copy, sizeof copy,
            "@%%p0 cp.reduce.async.bulk.tensor.%ud.global.shared::cta.%s.tile.bulk_group "
            "[%%d1, {%s}], [%%r4];",
            dims, what, coords);
    snprintf(
        b, sizeof b,
        HEAD90
        ".visible .entry k(.param .u64 out, .param .u64 map, .param .u32 bytes, .param .u32 c0,\n"
        ".param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4) {\n"
        ".reg .b32 %%r<24>; .reg .b64 %%d<12>; .reg .pred %%p<6>;\n"
        ".shared .align 1024 .b8 s[%u]; .shared .align 8 .b64 bar;\n"
        "ld.param.u64 %%d0, [out]; ld.param.u64 %%d1, [map]; mov.u32 %%r0, %%tid.x;\n"
        "ld.param.u32 %%r10, [c0]; ld.param.u32 %%r11, [c1]; ld.param.u32 %%r12, [c2];\n"
        "ld.param.u32 %%r13, [c3]; ld.param.u32 %%r14, [c4]; ld.param.u32 %%r5, [bytes];\n"
        "setp.eq.u32 %%p0, %%r0, 0; mov.u32 %%r4, s; mov.u32 %%r7, bar; shl.b32 %%r8, %%r0, 2;\n"
        "@%%p0 mbarrier.init.shared.b64 [%%r7], 1; bar.sync 0;\n"
        "FILL: add.u32 %%r9, %%r4, %%r8; cvt.u64.u32 %%d2, %%r8; add.u64 %%d2, %%d0, %%d2;\n"
        "ld.global.u32 %%r6, [%%d2]; st.shared.u32 [%%r9], %%r6; add.u32 %%r8, %%r8, 256;\n"
        "setp.lt.u32 %%p1, %%r8, %u; @%%p1 bra FILL;\n"
        "fence.proxy.async.shared::cta; bar.sync 0;\n"
        "@%%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r7], %%r5;\n%s\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n%s"
        "shl.b32 %%r8, %%r0, 2;\n"
        "OUT: add.u32 %%r9, %%r4, %%r8; cvt.u64.u32 %%d2, %%r8; add.u64 %%d2, %%d0, %%d2;\n"
        "ld.shared.u32 %%r6, [%%r9]; st.global.u32 [%%d2], %%r6; add.u32 %%r8, %%r8, 256;\n"
        "setp.lt.u32 %%p1, %%r8, %u; @%%p1 bra OUT; ret;\n}\n",
        (unsigned)SHARED, (unsigned)SHARED, copy,
        load ? "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r7], 0; @!%p2 bra W;\n"
             : "",
        (unsigned)SHARED);
    return b;
}

struct box { /* of a map at coordinates */
    struct tensor_map m;
    int32_t at[5];
    unsigned n[5]; /* elements that are copied in each dimension */
    uint64_t elements;
};

/* Where the element of number i of the box lies: in the array, and in shared memory. False: out
 * of bounds. */
static bool
element(const struct box *b, uint64_t i, uint64_t *global, uint32_t *shared)
{
    const unsigned bytes = tensor_map_bytes(b->m.type);
    bool in = true;
    uint64_t g = 0, row = i / b->n[0];
    const unsigned wide = b->m.swizzle ? 16u << b->m.swizzle : b->n[0] * bytes;
    uint32_t s = (uint32_t)(row * wide + i % b->n[0] * bytes);
    for (unsigned d = 0; d < b->m.rank; d++) {
        const int64_t c = b->at[d] + (int64_t)(i % b->n[d]) * (d ? b->m.step[d] : 1);
        i /= b->n[d];
        in &= c >= 0 && c < (int64_t)b->m.dim[d];
        g += (uint64_t)c * (d ? b->m.stride[d - 1] : bytes);
    }
    switch (
        b->m.swizzle) { /* reference: 128 B: bits 4-6 ^= 7-9; 64 B: 4-5 ^= 7-8; 32 B: 4 ^= 7 */
    case 3:
        s ^= (s >> 7 & 7) << 4;
        break;
    case 2:
        s ^= (s >> 7 & 3) << 4;
        break;
    case 1:
        s ^= (s >> 7 & 1) << 4;
        break;
    }
    *global = g;
    *shared = s;
    return in;
}

static void
random_box(struct box *b, uint64_t *rng)
{
    static const uint8_t types[] = {TENSOR_MAP_U8,  TENSOR_MAP_U16, TENSOR_MAP_S32,
                                    TENSOR_MAP_U64, TENSOR_MAP_F16, TENSOR_MAP_F32,
                                    TENSOR_MAP_F64, TENSOR_MAP_BF16};
    for (;;) {
        *b = (struct box){.elements = 1};
        struct tensor_map *m = &b->m;
        m->type = types[splitmix_next(rng) % sizeof types];
        m->rank = (uint8_t)(1 + splitmix_next(rng) % 5);
        m->swizzle = (uint8_t)(splitmix_next(rng) % 4);
        m->fill_nan = m->type >= TENSOR_MAP_F16 && splitmix_next(rng) % 2;
        m->address = 4096;
        const unsigned bytes = tensor_map_bytes(m->type);
        uint64_t stride = 0, all;
        for (unsigned d = 0; d < 5; d++) {
            const bool is = d < m->rank;
            m->dim[d] = is ? 1 + splitmix_next(rng) % (d ? 6 : 90) : 1;
            m->step[d] =
                (uint8_t)(is && splitmix_next(rng) % 3 == 0 ? 1 + splitmix_next(rng) % 3
                                                            : 1);
            m->box[d] = (uint16_t)(!is ? 1
                                   : d ? 1 + splitmix_next(rng) % 6
                                       : 16 / bytes * (1 + splitmix_next(rng) % 6));
            if (!d && bytes > 1 && m->swizzle && m->box[0] * bytes > 16u << m->swizzle)
                m->box[0] = (uint16_t)((16u << m->swizzle) / bytes);
            b->n[d] = d ? (m->box[d] + m->step[d] - 1u) / m->step[d] : m->box[0];
            b->at[d] = is ? (int32_t)(splitmix_next(rng) % (m->dim[d] + 2u * m->box[d])) -
                                m->box[d]
                          : 0;
            b->elements *= b->n[d];
            all = d ? stride * m->dim[d] : m->dim[0] * bytes;
            stride = (all + 15) / 16 * 16 + 16 * (splitmix_next(rng) % 2);
            if (d < 4)
                m->stride[d] = stride;
        }
        const uint64_t rows = b->elements / b->n[0];
        if (!tensor_map_wrong(m) && stride < 60000 &&
            rows * (m->swizzle ? 16u << m->swizzle : b->n[0] * bytes) <= SHARED)
            return;
    }
}

enum { ARRAY = 1 << 16 };

/* Runs the kernel; array and shared memory before and after. */
static void
tensor_run(const struct box *b, const char *what, uint8_t *array, uint8_t *shared)
{
    struct rt_kit k;
    uint8_t bytes[TENSOR_MAP_BYTES];
    open_on(&k, tensor_kernel(b->m.rank, what), 1);
    struct tensor_map m = b->m;
    const uint64_t out = allot_alloc(k.dev, SHARED, k.d),
                   a = allot_alloc(k.dev, ARRAY, k.d),
                   map = allot_alloc(k.dev, sizeof bytes, k.d);
    m.address = a;
    tensor_map_encode(&m, bytes);
    assert_true(allot_write(k.dev, a, array, ARRAY, k.d));
    assert_true(allot_write(k.dev, out, shared, SHARED, k.d));
    assert_true(allot_write(k.dev, map, bytes, sizeof bytes, k.d));
    const uint64_t args[] = {out,
                             map,
                             b->elements * tensor_map_bytes(m.type),
                             (uint32_t)b->at[0],
                             (uint32_t)b->at[1],
                             (uint32_t)b->at[2],
                             (uint32_t)b->at[3],
                             (uint32_t)b->at[4]};
    if (!launch(&k, 1, 64, 1, 8, args))
        rt_fail(&k, what);
    assert_true(allot_read(k.dev, a, array, ARRAY, k.d));
    assert_true(allot_read(k.dev, out, shared, SHARED, k.d));
    rt_close(&k);
}

static void
fill_random(uint8_t *p, size_t n, uint64_t *rng)
{
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t v = splitmix_next(rng);
        memcpy(p + i, &v, 8);
    }
}

static void
tensor_copies_follow_the_map(void **state)
{
    static uint8_t array[ARRAY], shared[SHARED], want_array[ARRAY], want_shared[SHARED];
    static const uint64_t nan2 = 0x7fff, nan4 = 0x7fffffff, nan8 = 0x7fffffffffffffff;
    uint64_t rng = 1;
    for (unsigned seed = 0; seed < 120; seed++) {
        struct box b;
        random_box(&b, &rng);
        const unsigned bytes = tensor_map_bytes(b.m.type);
        const bool load = seed % 2;
        fill_random(array, sizeof array, &rng);
        fill_random(shared, sizeof shared, &rng);
        memcpy(want_array, array, sizeof array);
        memcpy(want_shared, shared, sizeof shared);
        const uint64_t zero = 0;
        const void *fill = !b.m.fill_nan ? &zero
                           : bytes == 2  ? &nan2
                           : bytes == 4  ? &nan4
                                         : &nan8;
        for (uint64_t i = 0; i < b.elements; i++) {
            uint64_t g;
            uint32_t s;
            const bool in = element(&b, i, &g, &s);
            if (load)
                memcpy(want_shared + s, in ? array + g : fill, bytes);
            else if (in)
                memcpy(want_array + g, shared + s, bytes);
        }
        tensor_run(&b, load ? "load" : "store", array, shared);
        if (memcmp(array, want_array, sizeof array) ||
            memcmp(shared, want_shared, sizeof shared))
            fail_msg("%s %u: rank %u type %u swizzle %u box %u %u %u at %d %d %d",
                     load ? "load" : "store", seed, b.m.rank, b.m.type, b.m.swizzle,
                     b.m.box[0], b.m.box[1], b.m.box[2], b.at[0], b.at[1], b.at[2]);
    }
}

static void
tensor_reductions_combine_elements(void **state)
{
    static uint8_t array[ARRAY], shared[SHARED], want[ARRAY];
    uint64_t rng = 2;
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor"};
    for (unsigned seed = 0; seed < 60; seed++) {
        struct box b;
        do
            random_box(&b, &rng);
        while (b.m.type != TENSOR_MAP_S32);
        b.m.type = seed & 1 ? TENSOR_MAP_U32 : TENSOR_MAP_S32;
        const char *op = ops[seed / 2 % 6];
        fill_random(array, sizeof array, &rng);
        fill_random(shared, sizeof shared, &rng);
        memcpy(want, array, sizeof array);
        for (uint64_t i = 0; i < b.elements; i++) {
            uint64_t g;
            uint32_t s, x, y;
            if (!element(&b, i, &g, &s))
                continue;
            memcpy(&x, want + g, 4);
            memcpy(&y, shared + s, 4);
            const bool less = seed & 1 ? x < y : (int32_t)x < (int32_t)y;
            x = !strcmp(op, "add")   ? x + y
                : !strcmp(op, "min") ? (less ? x : y)
                : !strcmp(op, "max") ? (less ? y : x)
                : !strcmp(op, "and") ? (x & y)
                : !strcmp(op, "or")  ? (x | y)
                                     : x ^ y;
            memcpy(want + g, &x, 4);
        }
        tensor_run(&b, op, array, shared);
        if (memcmp(array, want, sizeof array))
            fail_msg("%s %u", op, seed);
    }
}

/* tf32 and flushed types change what is loaded. */
static void
loads_convert_to_the_types_of_the_map(void **state)
{
    static const struct {
        uint8_t type;
        uint32_t from, to;
    } t[] = {{TENSOR_MAP_F32, 0x00000001, 0x00000001},
             {TENSOR_MAP_F32_FTZ, 0x80000001, 0x80000000},
             {TENSOR_MAP_F32_FTZ, 0x3f800001, 0x3f800001},
             {TENSOR_MAP_TF32, 0x3f800fff, 0x3f800000},
             {TENSOR_MAP_TF32, 0x3f801000, 0x3f802000},
             {TENSOR_MAP_TF32, 0x7f800000, 0x7f800000},
             {TENSOR_MAP_TF32_FTZ, 0x007fffff, 0}};
    static uint8_t array[ARRAY], shared[SHARED];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct box b = {.m = {.type = t[i].type,
                              .rank = 1,
                              .address = 4096,
                              .dim = {64, 1, 1, 1, 1},
                              .box = {32, 1, 1, 1, 1},
                              .step = {1, 1, 1, 1, 1}},
                        .n = {32, 1, 1, 1, 1},
                        .elements = 32};
        for (size_t k = 0; k < 64; k++)
            memcpy(array + 4 * k, &t[i].from, 4);
        tensor_run(&b, "load", array, shared);
        for (size_t k = 0; k < 32; k++)
            assert_memory_equal(shared + 4 * k, &t[i].to, 4);
    }
}

/* A map is changed in shared memory and written to global memory; then it is used. */
static void
maps_are_changed_by_tensormap_replace(void **state)
{
    static const char source[] = HEAD90
        ".visible .entry k(.param .u64 out, .param .u64 map, .param .u64 data) {\n"
        ".reg .b32 %r<24>; .reg .b64 %d<12>; .reg .pred %p<6>;\n"
        ".shared .align 128 .b8 s[1024]; .shared .align 128 .b8 m[128];\n"
        ".shared .align 8 .b64 bar;\n"
        "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [map]; ld.param.u64 %d6, [data];\n"
        "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r4, s; mov.u32 %r7, bar;\n"
        "mov.u32 %r1, m; shl.b32 %r8, %r0, 2; cvt.u64.u32 %d2, %r8; add.u64 %d3, %d1, %d2;\n"
        "ld.global.u32 %r2, [%d3]; add.u32 %r3, %r1, %r8; st.shared.u32 [%r3], %r2;\n"
        "@%p0 mbarrier.init.shared.b64 [%r7], 1; bar.sync 0; cvt.u64.u32 %d7, %r1;\n"
        "@!%p0 bra SKIP;\n"
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%d7], %d6;\n"
        "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%d7], 1;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%d7], 0, 8;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%d7], 1, 4;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%d7], 0, 20;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%d7], 1, 9;\n"
        "mov.u64 %d8, 80; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%d7], 0, "
        "%d8;\n"
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%d7], 1, 1;\n"
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%d7], 3;\n"
        "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%d7], 0;\n"
        "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%d7], 0;\n"
        "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%d7], 0;\n"
        "SKIP: bar.warp.sync 0xffffffff;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%d1], [%d7], 128;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;\n"
        "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 128; mov.u32 %r10, 3;\n"
        "mov.u32 %r11, 2; @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
        "complete_tx::bytes [%r4], [%d1, {%r10, %r11}], [%r7];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r7], 0; @!%p2 bra W;\n"
        "add.u32 %r4, %r4, %r8; ld.shared.u32 %r5, [%r4]; add.u64 %d0, %d0, %d2;\n"
        "st.global.u32 [%d0], %r5; ret;\n}\n";
    struct rt_kit k;
    uint8_t bytes[TENSOR_MAP_BYTES];
    uint32_t data[180], got[32];
    const struct tensor_map m = {.type = TENSOR_MAP_F16,
                                 .rank = 1,
                                 .address = 64,
                                 .swizzle = 3,
                                 .dim = {8, 1, 1, 1, 1},
                                 .box = {8, 1, 1, 1, 1},
                                 .step = {1, 1, 1, 1, 1}};
    for (uint32_t i = 0; i < 180; i++)
        data[i] = i * 77;
    open_on(&k, source, 1);
    tensor_map_encode(&m, bytes);
    const uint64_t args[] = {allot_alloc(k.dev, sizeof got, k.d),
                             allot_alloc(k.dev, sizeof bytes, k.d),
                             allot_alloc(k.dev, sizeof data, k.d)};
    assert_true(allot_write(k.dev, args[1], bytes, sizeof bytes, k.d));
    assert_true(allot_write(k.dev, args[2], data, sizeof data, k.d));
    if (!launch(&k, 1, 32, 1, 3, args))
        rt_fail(&k, "replace");
    assert_true(allot_read(k.dev, args[0], got, sizeof got, k.d));
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(got[i], data[(2 + i / 8) * 20 + 3 + i % 8]);
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_copies_move_bytes),
        cmocka_unit_test(reductions_combine),
        cmocka_unit_test(mbarriers_of_other_blocks_take_arrivals_and_bytes),
        cmocka_unit_test(errors_are_explained),
        cmocka_unit_test(what_is_not_simulated_is_refused),
        cmocka_unit_test(tensor_copies_follow_the_map),
        cmocka_unit_test(tensor_reductions_combine_elements),
        cmocka_unit_test(loads_convert_to_the_types_of_the_map),
        cmocka_unit_test(maps_are_changed_by_tensormap_replace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
