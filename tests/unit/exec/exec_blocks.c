/* Blocks of a grid in several host threads: the memory, counts, diagnostics and races of
 * one thread, at any number of them, whether blocks depend on each other or not. */
#include "unit/kit/exec_kit.h"
#include "unit/kit/sanitized.h"

enum { BYTES = 1 << 20, SHARED = 4096, MOST = 1000000 };

/* buf: words shared by all blocks, from SHARED on one word a thread. %d1: the thread's.
 * %r4: the thread in the grid. */
#define BEGIN                                                                            \
    PTX_HEAD ".visible .entry k(.param .u64 buf, .param .u32 n)\n{\n"                    \
             ".reg .pred %p<4>; .reg .u32 %r<24>; .reg .u64 %d<12>; .reg .f32 %f<4>;\n"  \
             ".reg .b16 %h<4>; .shared .align 16 .b8 t[2048];\n"                         \
             ".reg .b64 %Depot; .local .align 4 .b8 own[64];\n"                          \
             "ld.param.u64 %d0, [buf]; ld.param.u32 %r0, [n];\n"                         \
             "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"       \
             "mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %d1, %r4, 4;\n"                \
             "add.u64 %d1, %d0, %d1; add.u64 %d1, %d1, 4096; mov.u32 %r13, 0;\n"
/* Something to do, n times: without it a grid is not worth several threads. */
#define WORK(BODY)                                                                       \
    "L: mad.lo.u32 %r13, %r13, 1664525, %r4; xor.b32 %r13, %r13, %r0;\n" BODY            \
    "sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;\n"
#define END "st.global.u32 [%d1], %r13; ret; }\n"

enum fate { COMMITS, CONFLICTS, IN_TURN, FAILS };

static const struct {
    const char *name, *text;
    unsigned grid, block, n;
    enum fate fate;
} kernels[] = {
    {"each its own word", BEGIN WORK("st.global.u32 [%d1], %r13;\n") END, 800, 128, 15,
     COMMITS},
    {"in place",
     BEGIN WORK("ld.global.u32 %r5, [%d1]; add.u32 %r5, %r5, %r13;\n"
                "st.u32 [%d1], %r5;\n") "ret; }\n",
     800, 128, 15, COMMITS},
    {"all read one word, vectors",
     BEGIN WORK(
         "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d0]; add.u32 %r13, %r13, %r7;\n") END,
     800, 128, 15, COMMITS},
    {"histogram", /* reductions commute */
     BEGIN WORK("and.b32 %r5, %r13, 124; cvt.u64.u32 %d2, %r5; add.u64 %d2, %d0, %d2;\n"
                "red.global.add.u32 [%d2], %r13; red.add.u32 [%d2+256], 1;\n") END,
     600, 96, 15, COMMITS},
    {"atomics whose result nothing reads",
     BEGIN WORK("atom.global.add.u32 %r5, [%d0], %r13; mov.u32 %r5, 1;\n"
                "@%p0 atom.global.add.u32 %r6, [%d0+4], %r5;\n") END,
     600, 96, 15, COMMITS},
    {"largest", BEGIN WORK("red.global.max.s32 [%d0+8], %r13;\n") END, 600, 96, 15,
     COMMITS},
    {"64 bits",
     BEGIN WORK("cvt.u64.u32 %d3, %r13; red.global.add.u64 [%d0+64], %d3;\n") END, 600,
     96, 40, COMMITS},
    {"shared and local memory, copies",
     BEGIN WORK("shl.b32 %r5, %r1, 4; mov.u32 %r6, t; add.u32 %r5, %r5, %r6;\n"
                "cp.async.ca.shared.global [%r5], [%d1], 4; cp.async.wait_all;\n"
                "ld.shared.u32 %r7, [%r5]; add.u32 %r13, %r13, %r7; bar.sync 0;\n"
                "st.local.u32 [own+4], %r13; ld.local.u32 %r8, [own+4];\n"
                "st.shared.u32 [%r5], %r8; atom.shared.add.u32 %r9, [t], 1;\n") END,
     600, 96, 20, COMMITS},
    {"the last block wins", BEGIN WORK("st.global.u32 [%d0], %r4;\n") END, 800, 128, 12,
     CONFLICTS},
    {"neighbours", /* a block reads what others write */
     BEGIN WORK("st.global.u32 [%d1], %r13; ld.global.u32 %r5, [%d1+1024];\n"
                "add.u32 %r13, %r13, %r5; ld.global.u32 %r6, [%d1+-512];\n"
                "add.u32 %r13, %r13, %r6;\n") END,
     800, 128, 12, CONFLICTS},
    {"bytes of a word",
     BEGIN WORK(
         "") "cvt.u64.u32 %d4, %r4; add.u64 %d4, %d0, %d4; cvt.u16.u32 %h0, %r13;\n"
             "st.global.u8 [%d4+4096], %h0; ret; }\n",
     1000, 129, 30, CONFLICTS},
    {"sums of floats",
     BEGIN WORK("cvt.rn.f32.u32 %f0, %r13; red.global.add.f32 [%d0], %f0;\n") END, 600,
     96, 30, CONFLICTS},
    {"two reductions",
     BEGIN WORK("red.global.add.u32 [%d0], %r13; red.global.xor.b32 [%d0], %r13;\n") END,
     600, 96, 20, CONFLICTS},
    {"tickets",
     BEGIN WORK("atom.global.add.u32 %r5, [%d0], 1; add.u32 %r13, %r13, %r5;\n") END, 600,
     96, 30, CONFLICTS},
    {"a reduction that is read",
     BEGIN WORK("red.global.add.u32 [%d0], 1; ld.global.u32 %r5, [%d0];\n"
                "add.u32 %r13, %r13, %r5;\n") END,
     600, 96, 20, CONFLICTS},
    {"only late blocks meet",
     BEGIN WORK(
         "st.global.u32 [%d1], %r13;\n") "setp.lt.u32 %p1, %r2, 3000; @%p1 bra E; st.global.u32 [%d0], %r4; E: ret; }\n",
     3200, 64, 30, CONFLICTS},
    {"a flag that is polled",
     BEGIN WORK(
         "") "setp.ne.u32 %p1, %r1, 0; @%p1 bra J;\n"
             "W: ld.volatile.global.u32 %r5, [%d0]; setp.ne.u32 %p1, %r5, %r2;\n"
             "@%p1 bra W; add.u32 %r5, %r5, 1; st.volatile.global.u32 [%d0], %r5;\n"
             "J: bar.sync 0;\n" END,
     300, 64, 100, IN_TURN},
    {"blocks that wait for a later one",
     BEGIN WORK("") "setp.ne.u32 %p1, %r1, 0; @%p1 bra J; setp.ne.u32 %p2, %r2, 101;\n"
                    "@%p2 bra W; atom.global.exch.b32 %r5, [%d0], 1;\n"
                    "W: setp.ne.u32 %p2, %r2, 100; @%p2 bra J;\n"
                    "V: atom.global.or.b32 %r5, [%d0], 0; setp.eq.u32 %p1, %r5, 0;\n"
                    "@%p1 bra V; J: bar.sync 0;\n" END,
     300, 64, 100, CONFLICTS},
    {"clock", BEGIN WORK("mov.u32 %r5, %clock; add.u32 %r13, %r13, %r5;\n") END, 300, 64,
     40, IN_TURN},
    {"fault",
     BEGIN WORK("") "rem.u32 %r6, %r2, 211; setp.eq.u32 %p1, %r6, 210;\n"
                    "mov.u64 %d3, 24; selp.b64 %d1, %d3, %d1, %p1;\n" END,
     600, 64, 60, FAILS},
    {"stuck",
     BEGIN WORK("") "setp.ne.u32 %p1, %r2, 333; @%p1 bra E;\n"
                    "setp.lt.u32 %p1, %r1, 32; @%p1 bra E; bar.sync 1, 96;\n"
                    "E:\n" END,
     600, 64, 60, FAILS},
    {"a lane outside its mask", /* of block 512, lane 0 */
     BEGIN WORK("st.global.u32 [%d1], %r13;\n") "setp.eq.u32 %p1, %r2, 512;\n"
                                                "selp.b32 %r5, 0xfffffffe, -1, %p1;\n"
                                                "vote.sync.ballot.b32 %r6, 1, %r5;\n" END,
     800, 128, 15, COMMITS},
    {"a mask that is right in order", /* a wave that is rolled back must not warn */
     BEGIN WORK("") "ld.global.u32 %r5, [%d0]; bar.sync 0; setp.eq.u32 %p1, %r5, %r2;\n"
                    "selp.b32 %r5, -1, 0xfffffffe, %p1;\n"
                    "vote.sync.ballot.b32 %r6, 1, %r5; setp.ne.u32 %p1, %r1, 0;\n"
                    "@%p1 bra J; add.u32 %r5, %r2, 1; st.global.u32 [%d0], %r5; J:\n" END,
     600, 64, 40, CONFLICTS},
    {"limit", BEGIN WORK("") END, 800, 128, 120, FAILS},
    {"a race between warps",
     BEGIN WORK("st.global.u32 [%d1], %r13;\n") "setp.ne.u32 %p1, %r2, 512; @%p1 bra E;\n"
                                                "st.shared.u32 [t], %r1;\nE:" END,
     800, 128, 15, COMMITS},
};

struct outcome {
    uint8_t *memory;
    uint64_t warp, thread;
    struct strbuf said;
    struct exec_speculation speculation;
};

static bool
tell(void *user, const char *kernel, const struct diag_loc *loc)
{
    (void)user;
    (void)kernel;
    (void)loc;
    return true;
}

static const char *
diag_text_of(struct kit *k)
{
    static char text[4096];
    struct strbuf b = {0};
    diag_print(&k->diag, &b);
    snprintf(text, sizeof text, "%s", b.s ? b.s : "");
    strbuf_free(&b);
    return text;
}

static struct outcome
run(size_t i, unsigned threads)
{
    struct kit k;
    struct outcome o = {0};
    struct exec_races races = {0};
    kit_load(&k, kernels[i].text);
    uint64_t buf = kit_buf(&k, BYTES);
    kit_param(&k, 0, buf);
    kit_param(&k, 1, kernels[i].n);
    k.g.quantum = 32;
    k.g.limit = strcmp(kernels[i].name, "limit") ? 200 * MOST : MOST;
    k.g.races = &races;
    k.g.speculation = &o.speculation;
    k.g.team = threads ? exec_team_new(k.mem, threads) : NULL;
    assert_true(!threads || k.g.team);
    for (int launch = 0; launch < 2; launch++) { /* on what the first one left */
        assert_true(dev_set(k.mem, buf, 0, SHARED));
        enum exec_result r = kit_launch(&k, (struct exec_dim){kernels[i].grid, 1, 1},
                                        (struct exec_dim){kernels[i].block, 1, 1});
        exec_race_warning(&k.g, tell, NULL);
        exec_stranger_warnings(&k.g, tell, NULL);
        if (!strcmp(kernels[i].name, "a mask that is right in order"))
            assert_null(strstr(diag_text_of(&k), "member mask"));
        if ((r == EXEC_FAULT) != (kernels[i].fate == FAILS))
            kit_fail(&k, kernels[i].name);
        o.warp += k.g.n_warp_inst;
        o.thread += k.g.n_thread_inst;
        k.g.n_warp_inst = k.g.n_thread_inst = k.g.races_watched = 0;
    }
    diag_print(&k.diag, &o.said);
    if (!races.found) /* else it does not matter */
        strbuf_printf(&o.said, "\n%llu of %llu watched",
                      (unsigned long long)races.watched,
                      (unsigned long long)races.executed);
    o.memory = xmalloc(BYTES);
    assert_true(dev_read(k.mem, buf, o.memory, BYTES));
    exec_team_free(k.g.team);
    kit_free(&k);
    return o;
}

static void
same_at_any_number_of_threads(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct outcome one = run(i, 0);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            if (SANITIZED && threads[t] % 2) /* 2 and 8 */
                continue;
            struct outcome o = run(i, threads[t]);
            if (memcmp(one.memory, o.memory, BYTES) || one.warp != o.warp ||
                one.thread != o.thread || strcmp(one.said.s, o.said.s) != 0)
                fail_msg("%s, %u threads: %llu warp instructions, %s\none: %llu, %s",
                         kernels[i].name, threads[t], (unsigned long long)o.warp,
                         o.said.s, (unsigned long long)one.warp, one.said.s);
            if (kernels[i].fate == COMMITS &&
                (!o.speculation.commits || o.speculation.rollbacks))
                fail_msg("%s, %u threads: %llu waves stand, %llu do not", kernels[i].name,
                         threads[t], (unsigned long long)o.speculation.commits,
                         (unsigned long long)o.speculation.rollbacks);
            if (kernels[i].fate == IN_TURN &&
                (o.speculation.commits || o.speculation.rollbacks))
                fail_msg("%s was not run in turn", kernels[i].name);
            free(o.memory);
            strbuf_free(&o.said);
        }
        free(one.memory);
        strbuf_free(&one.said);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_at_any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
