/* Checks for kernels: races, uninitialised reads, wrong barriers. Each error that they are
 * for, and beside it the kernel without the error, of which nothing is said. */
#include "unit/kit/exec_kit.h"

enum { RACE = EXEC_CHECK_RACE, INIT = EXEC_CHECK_INIT, SYNC = EXEC_CHECK_SYNC };
enum { VOLTA, LOCKSTEP };

static char told[8192];

/* Runs under all checks; how many findings of `which` there are. What is said goes to
 * `told`. */
static size_t
findings(const char *ptx, unsigned which, unsigned grid, unsigned block, int lockstep,
         bool written)
{
    struct kit k;
    kit_load(&k, ptx);
    if (which & INIT)
        dev_watch_writes(k.mem);
    uint64_t out = kit_out(&k, 1 << 16);
    if (written)
        assert_true(dev_set(k.mem, out, 0, 1 << 16));
    struct exec_checks *checks = exec_checks_new(which, lockstep);
    exec_checks_watch(checks, &k.g);
    kit_run(&k, grid, block);
    struct strbuf b = {0};
    diag_print(&k.diag, &b);
    snprintf(told, sizeof told, "%s", b.s ? b.s : "");
    size_t n = exec_checks_found(checks);
    if (!n && b.n)
        fail_msg("nothing found, but said:\n%s", b.s);
    strbuf_free(&b);
    exec_checks_free(checks);
    kit_free(&k);
    return n;
}

static void
clean_grid(const char *ptx, unsigned grid, unsigned block, int lockstep)
{
    if (findings(ptx, RACE | INIT | SYNC, grid, block, lockstep, true))
        fail_msg("findings where there are none:\n%s", told);
}

static void
clean(const char *ptx, unsigned block, int lockstep)
{
    clean_grid(ptx, 2, block, lockstep);
}

static void
said(const char *text)
{
    if (!strstr(told, text))
        fail_msg("'%s' is not in:\n%s", text, told);
}

#define SHARED                                                                           \
    ".shared .align 4 .b8 x[4096];\nshl.b32 %r4, %r2, 2; mov.u32 %r5, x; add.u32 %r5, %r5, %r4;\n"
/* Each thread reads what its neighbour in the other half of the block wrote. */
#define EXCHANGE(BARRIER)                                                                \
    KERNEL(SHARED "st.shared.u32 [%r5], %r2;\n" BARRIER                                  \
                  "xor.b32 %r6, %r4, 128; mov.u32 %r7, x; add.u32 %r7, %r7, %r6;\n"      \
                  "ld.shared.u32 %r8, [%r7]; st.global.u32 [%d0], %r8;")
/* ... in its warp. */
#define IN_WARP(BARRIER)                                                                 \
    KERNEL(SHARED "st.shared.u32 [%r5], %r2;\n" BARRIER                                  \
                  "xor.b32 %r6, %r4, 4; mov.u32 %r7, x; add.u32 %r7, %r7, %r6;\n"        \
                  "ld.shared.u32 %r8, [%r7]; st.global.u32 [%d0], %r8;")

static void
warps_race(void **state)
{
    (void)state;
    for (int l = VOLTA; l <= LOCKSTEP; l++) {
        clean(EXCHANGE("bar.sync 0;\n"), 64, l);
        clean(EXCHANGE("barrier.sync 3, 64;\n"), 64, l);
        assert_int_equal(findings(EXCHANGE(""), RACE, 1, 64, l, true), 1);
        said(
            "race in kernel 'k': block (0,0,0), thread (32,0,0) writes shared memory, byte "
            "128 (x), which block (0,0,0), thread (0,0,0) has read, with no barrier between "
            "them (64 times)");
    }
    /* bar.warp.sync orders no other warp */
    assert_int_equal(
        findings(EXCHANGE("bar.warp.sync 0xffffffff;\n"), RACE, 1, 64, VOLTA, true), 1);
    said("__syncthreads()");
}

static void
lanes_race(void **state)
{
    (void)state;
    clean(IN_WARP(""), 32, LOCKSTEP);
    clean(IN_WARP("bar.warp.sync 0xffffffff;\n"), 32, VOLTA);
    clean(IN_WARP("bar.warp.sync 0xffffffff;\n"), 20, VOLTA);
    clean(IN_WARP("bar.sync 0;\n"), 64, VOLTA);
    clean(IN_WARP("vote.sync.ballot.b32 %r9, 1, 0xffffffff;\n"), 32, VOLTA);
    assert_int_equal(findings(IN_WARP(""), RACE, 1, 32, VOLTA, true), 1);
    said("__syncwarp()");
}

/* bar.arrive gives without taking: warp 0 may read what warp 1 wrote, not the reverse. */
#define PRODUCER(FIRST, SECOND)                                                          \
    KERNEL(SHARED "setp.lt.u32 %p0, %r2, 32; @%p0 bra TAKER;\n" FIRST                    \
                  "bar.arrive 1, 64;\n" SECOND "bra END;\n"                              \
                  "TAKER: bar.sync 1, 64;\n"                                             \
                  "ld.shared.u32 %r8, [%r5+128]; st.global.u32 [%d0], %r8;\nEND:")

static void
arrival_orders_one_way(void **state)
{
    (void)state;
    clean(PRODUCER("st.shared.u32 [%r5], %r2;\n", ""), 64, VOLTA);
    assert_int_equal(
        findings(PRODUCER("", "st.shared.u32 [%r5], %r2;\n"), RACE, 1, 64, VOLTA, true),
        1);
}

/* A flag behind a fence orders; whoever met the warp at a barrier before is ordered too. */
static void
flags_order(void **state)
{
    (void)state;
    clean_grid(KERNEL(SHARED
                      "ld.param.u64 %d2, [out];\n"
                      "st.global.u32 [%d2+4096], 5;\n" /* the same by all: silent */
                      "setp.lt.u32 %p0, %r2, 32; @%p0 bra TAKER;\n"
                      "st.shared.u32 [%r5], %r2; membar.gl;\n"
                      "st.volatile.global.u32 [%d2], 1; bra END;\n"
                      "TAKER: ld.volatile.global.u32 %r6, [%d2];\n"
                      "setp.eq.u32 %p1, %r6, 0; @%p1 bra TAKER;\n"
                      "ld.shared.u32 %r8, [%r5+128]; st.global.u32 [%d0], %r8;\nEND:"),
               1, 64, VOLTA);
}

static void
blocks_race(void **state)
{
    (void)state;
    /* every block counts in one word */
    static const char plain[] =
        KERNEL("ld.param.u64 %d2, [out]; setp.ne.u32 %p0, %r2, 0;\n"
               "@%p0 bra END; ld.global.u32 %r4, [%d2];\n"
               "add.u32 %r4, %r4, 1; st.global.u32 [%d2], %r4;\n"
               "END:");
    static const char atomic[] =
        KERNEL("ld.param.u64 %d2, [out]; setp.ne.u32 %p0, %r2, 0;\n"
               "@!%p0 red.global.add.u32 [%d2], 1;");
    assert_int_equal(findings(plain, RACE, 3, 64, LOCKSTEP, true), 2);
    said("blocks of a launch have no order");
    said("global memory at 0x10000000 (parameter 1, 'out')");
    assert_int_equal(findings(plain, RACE, 1, 64, LOCKSTEP, true), 0);
    clean(atomic, 64, LOCKSTEP);
}

static void
one_instruction_races(void **state)
{
    (void)state;
    assert_int_equal(
        findings(KERNEL("ld.param.u64 %d2, [out]; st.global.u32 [%d2], %r2;"), RACE, 1,
                 32, LOCKSTEP, true),
        1);
    said("with another value by the same instruction");
    clean(KERNEL("ld.param.u64 %d2, [out]; st.global.u32 [%d2], 7;"), 32, LOCKSTEP);
}

static void
atomics_race_with_stores(void **state)
{
    (void)state;
    assert_int_equal(
        findings(KERNEL(".shared .align 4 .b8 x[4]; setp.ne.u32 %p0, %r2, 0;\n"
                        "@!%p0 st.shared.u32 [x], 0; red.shared.add.u32 [x], 1;"),
                 RACE, 1, 64, LOCKSTEP, true),
        1);
    clean(KERNEL(".shared .align 4 .b8 x[4]; setp.ne.u32 %p0, %r2, 0;\n"
                 "@!%p0 st.shared.u32 [x], 0; bar.sync 0; red.shared.add.u32 [x], 1;"),
          64, LOCKSTEP);
}

static void
reads_before_writes(void **state)
{
    (void)state;
    static const char add[] = KERNEL(
        "ld.global.u32 %r4, [%d0]; add.u32 %r4, %r4, 1; st.global.u32 [%d0], %r4;");
    assert_int_equal(findings(add, INIT, 2, 64, VOLTA, false), 1);
    said(
        "uninitialised read in kernel 'k': block (0,0,0), thread (0,0,0) reads 4 bytes of "
        "global memory at 0x10000000 (parameter 1, 'out'), which nobody has written (128 "
        "times)");
    clean(add, 64, VOLTA);
    assert_int_equal(findings(KERNEL("st.global.u32 [%d0], 1; ld.global.u32 %r4, [%d0];"),
                              INIT, 2, 64, VOLTA, false),
                     0);
    assert_int_equal(
        findings(KERNEL("red.global.add.u32 [%d0], 1;"), INIT, 1, 32, VOLTA, false), 1);
    said("changes by an atomic");
    assert_int_equal(
        findings(KERNEL(SHARED "ld.shared.u32 %r6, [%r5];"), INIT, 1, 32, VOLTA, true),
        1);
    said("shared memory, byte 0 (x)");
    /* half a word is written */
    assert_int_equal(
        findings(KERNEL(".reg .b16 %h; mov.b16 %h, 1;\n" SHARED
                        "st.shared.b16 [%r5], %h; ld.shared.u32 %r6, [%r5];"),
                 INIT, 1, 1, VOLTA, true),
        1);
    said("shared memory, byte 2 (x)");
}

#define DIVERGED(BARRIER)                                                                \
    KERNEL("setp.lt.u32 %p0, %r2, 40; @!%p0 bra END; st.global.u32 [%d0], 1;\n" BARRIER  \
           "END: st.global.u32 [%d0+8192], 2;")

static void
barriers_diverge(void **state)
{
    (void)state;
    assert_int_equal(findings(DIVERGED("bar.sync 0;\n"), SYNC, 1, 64, VOLTA, true), 1);
    said(
        "wrong barrier in kernel 'k': block (0,0,0), thread (32,0,0) executes it without "
        "24 threads of its warp, the first of them block (0,0,0), thread (40,0,0)");
    said("that thread goes on here");
    assert_int_equal(
        findings(DIVERGED("barrier.sync.aligned 0;\n"), SYNC, 1, 64, VOLTA, true), 1);
    assert_int_equal(findings(DIVERGED("barrier.sync 0;\n"), SYNC, 1, 64, VOLTA, true),
                     0);
    assert_int_equal(findings(DIVERGED("barrier.sync 0;\n"), SYNC, 1, 64, LOCKSTEP, true),
                     1);
    /* threads that have ended are not waited for */
    clean(KERNEL("setp.lt.u32 %p0, %r2, 40; @!%p0 exit; bar.sync 0;"), 64, VOLTA);
}

#define MASKED(LAST, MASK)                                                               \
    KERNEL("setp.le.u32 %p0, %r2, " LAST "; @!%p0 bra END;\n"                            \
           "bar.warp.sync " MASK ";\nEND: st.global.u32 [%d0], 2;")

static void
masks_are_wrong(void **state)
{
    (void)state;
    clean(MASKED("15", "0xffff"), 32, VOLTA);
    assert_int_equal(findings(MASKED("16", "0xffff"), SYNC, 1, 32, VOLTA, true), 1);
    said("thread (16,0,0) executes it, but its own mask 0x0000ffff does not name it");
    assert_int_equal(findings(MASKED("14", "0xffff"), SYNC, 1, 32, VOLTA, true), 1);
    said("names in its mask 1 threads that do not execute it, the first of them block "
         "(0,0,0), thread (15,0,0)");
    /* the result may stand where the mask stood */
    clean(KERNEL("mov.u32 %r4, 0xffffffff; vote.sync.ballot.b32 %r4, 0, %r4;\n"
                 "st.global.u32 [%d0], %r4;"),
          32, VOLTA);
}

/* Lanes that give different masks: groups that do not overlap are right. */
#define TWO_MASKS(LOW, HIGH)                                                             \
    KERNEL("setp.lt.u32 %p0, %r2, 16; selp.b32 %r4, " LOW ", " HIGH ", %p0;\n"           \
           "vote.sync.any.pred %p1, 1, %r4; st.global.u32 [%d0], 2;")

static void
masks_overlap(void **state)
{
    (void)state;
    clean(TWO_MASKS("0xffff", "0xffff0000"), 32, VOLTA);
    clean(TWO_MASKS("0xffff", "0xffff0000"), 20, VOLTA);
    assert_int_equal(
        findings(TWO_MASKS("0xffff", "0xffffffff"), SYNC, 1, 32, VOLTA, true), 1);
    said("thread (16,0,0) gives the mask 0xffffffff, which names block (0,0,0), thread "
         "(0,0,0), which gives 0x0000ffff");
    assert_int_equal(
        findings(TWO_MASKS("0x1ffff", "0xffff0000"), SYNC, 1, 32, VOLTA, true), 1);
    /* a mask may name threads that have ended */
    clean(KERNEL("setp.lt.u32 %p0, %r2, 20; @!%p0 exit; bar.warp.sync 0xffffffff;"), 32,
          VOLTA);
}

/* Tiles meet each by itself: what another tile of the warp wrote is not in order. */
static void
tiles_do_not_order_each_other(void **state)
{
    (void)state;
    static const char *const exchanges[] = {"bar.warp.sync %r9;\n",
                                            "vote.sync.ballot.b32 %r9, 1, %r9;\n",
                                            "shfl.sync.idx.b32 %r9, %r9, 0, 31, %r9;\n"};
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
        for (unsigned tile = 2; tile <= 32; tile *= 2) {
            struct strbuf b = {0}, t = {0};
            kit_text(&b,
                     "div.u32 %r9, %r2, $u; mul.lo.u32 %r9, %r9, $u;\n"
                     "mov.u32 %r10, 0x$x; shl.b32 %r9, %r10, %r9;\n$s",
                     tile, tile, tile == 32 ? ~0u : (1u << tile) - 1, exchanges[i]);
            kit_text(&t,
                     KERNEL(SHARED "st.shared.u32 [%r5], %r2;\n$s"
                                   "xor.b32 %r6, %r4, 16; mov.u32 %r7, x;\n"
                                   "add.u32 %r7, %r7, %r6; ld.shared.u32 %r8, [%r7];\n"
                                   "st.global.u32 [%d0], %r8;"),
                     b.s);
            if (tile >= 8) /* the neighbour in the other half of eight lanes */
                clean(t.s, 32, VOLTA);
            else
                assert_int_equal(findings(t.s, RACE, 1, 32, VOLTA, true), 1);
            strbuf_free(&b);
            strbuf_free(&t);
        }
}

#define MBARRIER(FIRST, LAST)                                                            \
    PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE                          \
             ".shared .align 8 .b64 m;\n.reg .b64 %s;\n"                                 \
             "setp.ne.u32 %p0, %r2, 0;\n" FIRST "bar.sync 0;\n"                          \
             "mbarrier.arrive.shared.b64 %s, [m];\n" LAST "\nret;\n}\n"

static void
mbarriers_are_initialised_once(void **state)
{
    (void)state;
    clean(MBARRIER("@!%p0 mbarrier.init.shared.b64 [m], 64;\n", ""), 64, VOLTA);
    clean(MBARRIER("@!%p0 mbarrier.init.shared.b64 [m], 64;\n",
                   "bar.sync 0; @!%p0 mbarrier.inval.shared.b64 [m];\n"
                   "@!%p0 mbarrier.init.shared.b64 [m], 64;\n"),
          64, VOLTA);
    assert_int_equal(findings(MBARRIER("@!%p0 mbarrier.init.shared.b64 [m], 64;\n",
                                       "bar.sync 0;\n"
                                       "@!%p0 mbarrier.init.shared.b64 [m], 64;\n"),
                              SYNC, 1, 64, VOLTA, true),
                     1);
    said("initialises shared memory, byte 0 (m) again");
    /* somebody wrote what looks like one */
    assert_int_equal(findings(MBARRIER("mov.u64 %s, 0x7fffe00000000000;\n"
                                       "mov.u64 %s, -1; st.shared.u64 [m], %s;\n",
                                       ""),
                              SYNC, 1, 32, VOLTA, true),
                     1);
    said("which no mbarrier.init has initialised");
}

static void
the_line_of_the_source(void **state)
{
    (void)state;
    findings(".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"own.cu\"\n"
             ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE ".loc 1 12 3\n"
             "ld.global.u32 %r4, [%d0]; st.global.u32 [%d0], %r4;\nret;\n}\n",
             INIT, 1, 32, VOLTA, false);
    said("own.cu:12:3: note: written here");
    said("ld.global.u32");
}

static void
told_once(void **state)
{
    (void)state;
    struct kit k;
    kit_load(&k, EXCHANGE(""));
    kit_out(&k, 4096);
    struct exec_checks *checks = exec_checks_new(RACE, false);
    exec_checks_watch(checks, &k.g);
    kit_run(&k, 1, 64);
    size_t n = k.diag.n;
    kit_run(&k, 1, 64);
    assert_int_equal(exec_checks_found(checks), 1);
    assert_int_equal(k.diag.n, n);
    exec_checks_free(checks);
    kit_free(&k);
}

#define KERNEL90(BODY)                                                                                 \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" PROLOGUE \
        BODY "\nret;\n}\n"
#define WGMMA_HEAD                                                                        \
    ".reg .b32 %a<8>, %c<8>, %f<8>; .reg .b64 %w<2>;\n.shared .align 1024 .b8 m[1024];\n" \
    "mov.b64 %w0, 0; setp.ge.u32 %p1, %r2, 0;\n"                                          \
    "mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0;\n"                   \
    "mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0;\n"                   \
    "mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0;\n"                   \
    "st.shared.b32 [m], %a0; bar.sync 0;\nwgmma.fence.sync.aligned;\n"
#define WGMMA(d)                                                                         \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%" d "0, %" d "1, %" d "2, %" d  \
    "3}, {%a0, %a1, %a2, %a3}, %w0, %p1, 1, 1, 0;\n"
#define WGMMA_COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WGMMA_WAIT(n) "wgmma.wait_group.sync.aligned " #n ";\n"

/* What is done behind products, and what is said of it; NULL: nothing. */
static void
sync_products(void **state)
{
    (void)state;
    static const struct {
        const char *ptx, *want;
    } t[] = {
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA_COMMIT
                  "add.u32 %r3, %c0, 1;\n" WGMMA_WAIT(0)),
         "reads a register of a matrix product"},
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA_COMMIT "mov.b32 %c3, 1;\n" WGMMA_WAIT(0)),
         "writes a register of a matrix product"},
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA_COMMIT "mov.b32 %a1, 1;\n" WGMMA_WAIT(0)),
         "writes a register of a matrix product"},
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA_COMMIT
                  "mov.b32 %r3, %a1;\n" WGMMA_WAIT(0) "add.u32 %r3, %c0, %r3;\n"),
         NULL},
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA("c")
                      WGMMA_COMMIT WGMMA_WAIT(0) "add.u32 %r3, %c0, 1;\n"),
         NULL},
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA_COMMIT WGMMA("f") WGMMA_COMMIT WGMMA_WAIT(
             1) "add.u32 %r3, %c0, 1;\n" WGMMA_WAIT(0) "add.u32 %r3, %f0, 1;\n"),
         NULL},
        {KERNEL90(WGMMA_HEAD WGMMA("c") WGMMA_COMMIT WGMMA("f")
                      WGMMA_COMMIT WGMMA_WAIT(1) "add.u32 %r3, %f0, 1;\n" WGMMA_WAIT(0)),
         "reads a register of a matrix product"},
        /* in no group: not waited for */
        {KERNEL90(WGMMA_HEAD WGMMA("c")
                      WGMMA_WAIT(0) "add.u32 %r3, %c0, 1;\n" WGMMA_COMMIT WGMMA_WAIT(0)),
         "reads a register of a matrix product"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        size_t n = findings(t[i].ptx, SYNC, 1, 128, VOLTA, true);
        if (n != (t[i].want != NULL))
            fail_msg("%zu: %zu findings: %s", i, n, told);
        if (t[i].want)
            said(t[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sync_products),
        cmocka_unit_test(warps_race),
        cmocka_unit_test(lanes_race),
        cmocka_unit_test(arrival_orders_one_way),
        cmocka_unit_test(flags_order),
        cmocka_unit_test(blocks_race),
        cmocka_unit_test(one_instruction_races),
        cmocka_unit_test(atomics_race_with_stores),
        cmocka_unit_test(reads_before_writes),
        cmocka_unit_test(barriers_diverge),
        cmocka_unit_test(masks_are_wrong),
        cmocka_unit_test(masks_overlap),
        cmocka_unit_test(tiles_do_not_order_each_other),
        cmocka_unit_test(mbarriers_are_initialised_once),
        cmocka_unit_test(the_line_of_the_source),
        cmocka_unit_test(told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
