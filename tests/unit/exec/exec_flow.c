/* Control flow: divergence, reconvergence, early ends, calls. Expected values are
 * computed one thread at a time in plain C. */
#include "unit/kit/exec_kit.h"

static void
expect_all(const char *ptx, unsigned grid, unsigned block, uint32_t (*want)(uint32_t t))
{
    struct kit k;
    kit_load(&k, ptx);
    uint64_t out = kit_out(&k, (uint64_t)grid * block * 4);
    kit_run(&k, grid, block);
    for (uint32_t t = 0; t < grid * block; t++)
        if (kit_u32(&k, out, t) != want(t))
            fail_msg("thread %u: %u, expected %u", t, kit_u32(&k, out, t), want(t));
    kit_free(&k);
}

static uint32_t
want_nested(uint32_t t)
{
    uint32_t l = t % 32, r;
    if (l < 16)
        r = l < 8 ? (l & 1 ? 1 : 2) : 3;
    else
        r = l < 24 ? 4 : (l & 1 ? 5 : 6);
    return r * 100 + l;
}

static void
nested_if_else(void **state)
{
    expect_all(KERNEL("setp.lt.u32 %p0, %l, 16;\n"
                      "and.b32 %r4, %l, 1; setp.ne.u32 %p1, %r4, 0;\n"
                      "@!%p0 bra HIGH;\n"
                      "setp.lt.u32 %p2, %l, 8;\n"
                      "@!%p2 bra MID;\n"
                      "@%p1 bra ODD;\n"
                      "mov.u32 %r5, 2; bra JOIN1;\n"
                      "ODD: mov.u32 %r5, 1;\n"
                      "JOIN1: bra JOIN2;\n"
                      "MID: mov.u32 %r5, 3;\n"
                      "JOIN2: bra END;\n"
                      "HIGH: setp.lt.u32 %p2, %l, 24;\n"
                      "@%p2 bra FOUR;\n"
                      "@%p1 bra FIVE;\n"
                      "mov.u32 %r5, 6; bra END;\n"
                      "FIVE: mov.u32 %r5, 5; bra END;\n"
                      "FOUR: mov.u32 %r5, 4;\n"
                      "END: mad.lo.u32 %r6, %r5, 100, %l;\n"
                      "st.global.u32 [%d0], %r6;"),
               2, 96, want_nested);
}

static uint32_t
want_trips(uint32_t t)
{
    uint32_t r = 0;
    for (uint32_t i = 0; i < t % 37; i++)
        r = r * 3 + i;
    return r;
}

static void
loops_with_different_trip_counts(void **state)
{
    expect_all(KERNEL("rem.u32 %r4, %t, 37; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
                      "HEAD: setp.ge.u32 %p0, %r6, %r4;\n"
                      "@%p0 bra END;\n"
                      "mad.lo.u32 %r5, %r5, 3, %r6;\n"
                      "add.u32 %r6, %r6, 1;\n"
                      "bra HEAD;\n"
                      "END: st.global.u32 [%d0], %r5;"),
               3, 70, want_trips);
}

static uint32_t
want_break(uint32_t t)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 40; i++) {
        if ((i ^ t) % 5 == 0)
            continue;
        if (i == t % 33)
            break;
        for (uint32_t j = 0; j < (t & 3); j++) {
            sum += i * j + 1;
            if (sum % 7 == 3)
                break;
        }
    }
    return sum;
}

static void
breaks_and_continues(void **state)
{
    expect_all(KERNEL("mov.u32 %r4, 0; mov.u32 %r5, 0;\n" /* sum, i */
                      "rem.u32 %r10, %t, 33; and.b32 %r11, %t, 3;\n"
                      "HEAD: setp.ge.u32 %p0, %r5, 40; @%p0 bra END;\n"
                      "xor.b32 %r6, %r5, %t; rem.u32 %r6, %r6, 5;\n"
                      "setp.eq.u32 %p1, %r6, 0; @%p1 bra CONT;\n"
                      "setp.eq.u32 %p2, %r5, %r10; @%p2 bra END;\n"
                      "mov.u32 %r7, 0;\n"
                      "INNER: setp.ge.u32 %p3, %r7, %r11; @%p3 bra CONT;\n"
                      "mad.lo.u32 %r4, %r5, %r7, %r4; add.u32 %r4, %r4, 1;\n"
                      "rem.u32 %r8, %r4, 7; setp.eq.u32 %p4, %r8, 3; @%p4 bra CONT;\n"
                      "add.u32 %r7, %r7, 1; bra INNER;\n"
                      "CONT: add.u32 %r5, %r5, 1; bra HEAD;\n"
                      "END: st.global.u32 [%d0], %r4;"),
               2, 64, want_break);
}

static uint32_t
want_exits(uint32_t t)
{
    uint32_t l = t % 50 % 32;
    if (l % 5 == 0)
        return 11;
    if (l > 20)
        return 22;
    return l == 7 ? 33 : 44;
}

static void
threads_end_at_different_places(void **state)
{
    expect_all(KERNEL("rem.u32 %r4, %l, 5; setp.eq.u32 %p0, %r4, 0;\n"
                      "@%p0 st.global.u32 [%d0], 11;\n"
                      "@%p0 exit;\n"
                      "setp.gt.u32 %p1, %l, 20; @!%p1 bra REST;\n"
                      "st.global.u32 [%d0], 22; ret;\n"
                      "REST: setp.eq.u32 %p2, %l, 7; @%p2 bra SEVEN;\n"
                      "st.global.u32 [%d0], 44; exit;\n"
                      "SEVEN: st.global.u32 [%d0], 33;"),
               2, 50, want_exits);
}

static uint32_t
want_switch(uint32_t t)
{
    static const uint32_t v[4] = {7, 9, 7, 100};
    uint32_t r = 0;
    for (uint32_t i = 0; i <= t % 3; i++)
        r = r * 10 + v[(t + i) % 4];
    return r;
}

static void
indexed_branches(void **state)
{
    expect_all(KERNEL("rem.u32 %r4, %t, 3; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
                      "HEAD: add.u32 %r7, %t, %r6; and.b32 %r7, %r7, 3;\n"
                      "ts: .branchtargets A, B, A, C;\n"
                      "brx.idx %r7, ts;\n"
                      "A: mad.lo.u32 %r5, %r5, 10, 7; bra NEXT;\n"
                      "B: mad.lo.u32 %r5, %r5, 10, 9; bra NEXT;\n"
                      "C: mad.lo.u32 %r5, %r5, 10, 100;\n"
                      "NEXT: add.u32 %r6, %r6, 1; setp.le.u32 %p0, %r6, %r4;\n"
                      "@%p0 bra HEAD;\n"
                      "st.global.u32 [%d0], %r5;"),
               2, 64, want_switch);
}

/* Active masks at the join: all lanes are together again. */
static uint32_t
want_full(uint32_t t)
{
    return t < 64 ? 0xffffffff : 0x0000ffff;
}

static void
lanes_meet_at_the_postdominator(void **state)
{
    expect_all(KERNEL("and.b32 %r4, %l, 3; mov.u32 %r5, 0;\n"
                      "L: setp.eq.u32 %p0, %r4, 0; @%p0 bra OUT;\n"
                      "and.b32 %r6, %r4, 1; setp.eq.u32 %p1, %r6, 1; @%p1 bra X;\n"
                      "add.u32 %r5, %r5, 1;\n"
                      "X: sub.u32 %r4, %r4, 1; bra L;\n"
                      "OUT: activemask.b32 %r7; st.global.u32 [%d0], %r7;"),
               1, 80, want_full);
}

/* -- calls -- */

static uint32_t
want_call(uint32_t t)
{
    return t * t + 3 + (t & 1 ? 1000 : 0);
}

static void
function_with_parameters_and_result(void **state)
{
    expect_all(
        PTX_HEAD
        ".func (.param .b32 func_retval0) sq(.param .b32 sq_0, .param .b32 sq_1)\n{\n"
        ".reg .b32 %r<4>;\n"
        "ld.param.b32 %r1, [sq_0]; ld.param.b32 %r2, [sq_1];\n"
        "mad.lo.s32 %r3, %r1, %r1, %r2;\n"
        "st.param.b32 [func_retval0+0], %r3; ret;\n}\n"
        ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
        "{ .param .b32 param0; st.param.b32 [param0+0], %t;\n"
        ".param .b32 param1; st.param.b32 [param1+0], 3;\n"
        ".param .b32 retval0;\n"
        "call.uni (retval0), sq, (param0, param1);\n"
        "ld.param.b32 %r5, [retval0+0]; }\n"
        "and.b32 %r6, %t, 1; setp.eq.u32 %p0, %r6, 1; @!%p0 bra S;\n"
        "add.u32 %r5, %r5, 1000;\n"
        "S: st.global.u32 [%d0], %r5; ret;\n}\n",
        2, 48, want_call);
}

static uint32_t
want_reg_call(uint32_t t)
{
    return t + 5;
}

static void
function_with_register_parameters(void **state)
{
    expect_all(PTX_HEAD ".func (.reg .u32 rv) plus(.reg .u32 a, .reg .u32 b)\n{\n"
                        "add.u32 rv, a, b; ret;\n}\n"
                        ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                        "call (%r5), plus, (%t, 5);\n"
                        "st.global.u32 [%d0], %r5; ret;\n}\n",
               1, 32, want_reg_call);
}

static uint32_t
fib(uint32_t n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint32_t
want_fib(uint32_t t)
{
    return fib(t % 11);
}

/* Lanes recurse to different depths; every activation has its own registers. */
static void
divergent_recursion(void **state)
{
    expect_all(PTX_HEAD
               ".func (.param .b32 rv) fib(.param .b32 n)\n{\n"
               ".reg .b32 %r<8>; .reg .pred %p<2>;\n"
               "ld.param.b32 %r1, [n]; setp.lt.u32 %p1, %r1, 2;\n"
               "@%p1 bra BASE;\n"
               "{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 1;\n"
               "st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r3, [r]; }\n"
               "{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 2;\n"
               "st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r4, [r]; }\n"
               "add.u32 %r5, %r3, %r4; st.param.b32 [rv], %r5; ret;\n"
               "BASE: st.param.b32 [rv], %r1; ret;\n}\n"
               ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE "rem.u32 %r4, %t, 11;\n"
               "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r4;\n"
               "call (r), fib, (a); ld.param.b32 %r5, [r]; }\n"
               "st.global.u32 [%d0], %r5; ret;\n}\n",
               1, 64, want_fib);
}

static uint32_t
want_rev(uint32_t t)
{
    uint32_t n = t % 9, r = 0;
    for (uint32_t i = 0; i <= n; i++)
        r = r * 10 + i;
    return r;
}

/* Each activation has its own local variable, reached by a generic address too. */
static void
local_frames(void **state)
{
    expect_all(PTX_HEAD
               ".func (.param .b32 rv) f(.param .b32 n)\n{\n"
               ".local .align 8 .b8 depot[16]; .reg .b64 %SP, %SPL;\n"
               ".reg .b32 %r<8>; .reg .pred %p<2>;\n"
               "mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;\n"
               "ld.param.b32 %r1, [n]; st.u32 [%SP+4], %r1;\n"
               "mov.u32 %r4, 0;\n"
               "setp.eq.u32 %p1, %r1, 0; @%p1 bra E;\n"
               "{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 1;\n"
               "st.param.b32 [a], %r2; call (r), f, (a); ld.param.b32 %r4, [r]; }\n"
               "E: ld.local.u32 %r3, [%SPL+4]; mad.lo.u32 %r5, %r4, 10, %r3;\n"
               "st.param.b32 [rv], %r5; ret;\n}\n"
               ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
               ".local .align 4 .b8 mine[4]; st.local.u32 [mine], %t;\n"
               "rem.u32 %r4, %t, 9;\n"
               "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r4;\n"
               "call (r), f, (a); ld.param.b32 %r5, [r]; }\n"
               "ld.local.u32 %r6, [mine]; setp.ne.u32 %p1, %r6, %t;\n"
               "@%p1 mov.u32 %r5, 0xbad;\n"
               "st.global.u32 [%d0], %r5; ret;\n}\n",
               2, 40, want_rev);
}

static uint32_t
want_indirect(uint32_t t)
{
    return t % 3 == 0 ? t + 1 : t % 3 == 1 ? t * 2 : t * t;
}

/* Lanes call different functions through a table in global memory. */
static void
divergent_indirect_calls(void **state)
{
    expect_all(
        PTX_HEAD
        ".func (.param .b32 rv) inc(.param .b32 x)\n{ .reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [x]; add.u32 %r2, %r1, 1; st.param.b32 [rv], %r2; ret; }\n"
        ".func (.param .b32 rv) dbl(.param .b32 x)\n{ .reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [x]; shl.b32 %r2, %r1, 1; st.param.b32 [rv], %r2; ret; }\n"
        ".func (.param .b32 rv) sqr(.param .b32 x)\n{ .reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [x]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [rv], %r2;"
        "ret; }\n"
        ".global .align 8 .u64 table[3] = {inc, dbl, sqr};\n"
        ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
        "rem.u32 %r4, %t, 3; mul.wide.u32 %d2, %r4, 8; mov.u64 %d3, table;\n"
        "add.u64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3];\n"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %t;\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "call (r), %d4, (a), proto; ld.param.b32 %r5, [r]; }\n"
        "activemask.b32 %r6; setp.ne.u32 %p1, %r6, 0xffffffff;\n"
        "@%p1 mov.u32 %r5, 0xbad;\n"
        "st.global.u32 [%d0], %r5; ret;\n}\n",
        1, 64, want_indirect);
}

static uint32_t
want_leave(uint32_t t)
{
    return t % 4 == 1 ? 0 : t % 4 == 2 ? 500 : t + 7;
}

/* In a function some lanes exit, some return early, the others go on. */
static void
exit_and_early_return_inside_a_function(void **state)
{
    expect_all(
        PTX_HEAD
        ".func (.param .b32 rv) f(.param .b32 x)\n{ .reg .b32 %r<5>; .reg .pred %p<3>;\n"
        "ld.param.b32 %r1, [x]; and.b32 %r2, %r1, 3;\n"
        "setp.eq.u32 %p1, %r2, 1; @%p1 exit;\n"
        "setp.eq.u32 %p2, %r2, 2; @!%p2 bra GO;\n"
        "st.param.b32 [rv], 500; ret;\n"
        "GO: add.u32 %r3, %r1, 7; st.param.b32 [rv], %r3; ret; }\n"
        ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %t;\n"
        "call (r), f, (a); ld.param.b32 %r5, [r]; }\n"
        "st.global.u32 [%d0], %r5; ret;\n}\n",
        1, 64, want_leave);
}

static uint32_t
want_struct(uint32_t t)
{
    return (t + 1) * 3 + (uint8_t)(t * 5) + t * 2;
}

/* A struct by value, read by element and through its address. */
static void
struct_parameters(void **state)
{
    expect_all(PTX_HEAD
               ".func (.param .b32 rv) f(.param .align 8 .b8 s[24])\n{\n"
               ".reg .b32 %r<8>; .reg .b64 %d<4>; .reg .b16 %h<2>;\n"
               "ld.param.u64 %d1, [s]; cvt.u32.u64 %r1, %d1; mul.lo.u32 %r1, %r1, 3;\n"
               "ld.param.u8 %h1, [s+13]; cvt.u32.u16 %r2, %h1; add.u32 %r1, %r1, %r2;\n"
               "mov.u64 %d2, s; ld.local.u32 %r3, [%d2+16]; add.u32 %r1, %r1, %r3;\n"
               "st.param.b32 [rv], %r1; ret; }\n"
               ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE ".reg .b16 %h<2>;\n"
               "{ .param .align 8 .b8 a[24]; .param .b32 r;\n"
               "add.u32 %r4, %t, 1; cvt.u64.u32 %d3, %r4; st.param.b64 [a], %d3;\n"
               "mul.lo.u32 %r4, %t, 5; cvt.u16.u32 %h1, %r4; st.param.b8 [a+13], %h1;\n"
               "shl.b32 %r4, %t, 1; st.param.b32 [a+16], %r4;\n"
               "call (r), f, (a); ld.param.b32 %r5, [r]; }\n"
               "st.global.u32 [%d0], %r5; ret;\n}\n",
               1, 64, want_struct);
}

/* -- synchronisation where lanes left early: see exec_control.c -- */

static uint32_t
want_gather(uint32_t t)
{
    uint32_t l = t % 32;
    if (l % 4 == 1)
        return 0; /* left early */
    return 32 - 8;
}

/* A return inside an if makes the end of the kernel the post-dominator of the branch; the
 * vote behind must still see all lanes that stayed. */
static void
warp_synchronisation_gathers_paths(void **state)
{
    expect_all(KERNEL("and.b32 %r4, %l, 3; setp.eq.u32 %p0, %r4, 0; @%p0 bra STAY;\n"
                      "setp.eq.u32 %p1, %r4, 1; @%p1 ret;\n"
                      "add.u32 %r5, %r5, 1;\n"
                      "STAY: vote.sync.ballot.b32 %r6, 1, 0xffffffff;\n"
                      "popc.b32 %r7, %r6; st.global.u32 [%d0], %r7;"),
               2, 64, want_gather);
}

static uint32_t
want_bar_gather(uint32_t t)
{
    uint32_t l = t % 32;
    return l % 4 == 1 ? 0 : l % 4 == 0 ? 7 : 1;
}

/* The same for a block barrier: what one side wrote before it, the other reads behind it.
 */
static void
block_barrier_gathers_paths(void **state)
{
    expect_all(PTX_HEAD
               ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
               ".shared .align 4 .b8 sh[256]; .reg .u32 %a, %b;\n"
               "shl.b32 %a, %l, 2; mov.u32 %b, sh; add.u32 %a, %a, %b;\n"
               "st.shared.u32 [%a], 1;\n"
               "and.b32 %r4, %l, 3; setp.eq.u32 %p0, %r4, 0; @%p0 bra STAY;\n"
               "setp.eq.u32 %p1, %r4, 1; @%p1 ret;\n"
               "setp.eq.u32 %p1, %r4, 2; @!%p1 bra STAY; st.shared.u32 [%a], 7;\n"
               "STAY: bar.sync 0;\n"
               "mov.u32 %r7, 1;\n"
               "@%p0 ld.shared.u32 %r7, [%a+8];\n"
               "st.global.u32 [%d0], %r7; ret;\n}\n",
               1, 32, want_bar_gather);
}

/* -- random control flow, any shape, against one thread at a time -- */

static uint64_t seed = 7;
static uint32_t
rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

struct node {
    int kind; /* 0: fall through, 1: jump, 2: branch if bit, 3: guarded exit, 4: exit */
    int target;
    uint32_t bit, mul;
};

static void
random_graphs_match_single_threads(void **state)
{
    enum { MAXN = 14, STEPS = 60, THREADS = 70 };
    for (int round = 0; round < 400; round++) {
        struct node node[MAXN];
        int n = 2 + (int)rnd(MAXN - 1);
        struct strbuf b = {0};
        strbuf_addz(&b, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                                 "mov.u32 %r4, %t; mov.u32 %r5, 0;\n");
        for (int i = 0; i < n; i++) {
            struct node *v = &node[i];
            uint32_t r = rnd(12);
            v->kind = r < 2 ? 0 : r < 4 ? 1 : r < 10 ? 2 : r < 11 ? 3 : 4;
            v->target = (int)rnd((uint32_t)n);
            v->bit = rnd(12);
            v->mul = 2 * rnd(1000) + 1;
            /* acc = acc * mul + i; every step is counted, and ends the thread in time */
            strbuf_printf(
                &b,
                "B%d: mad.lo.u32 %%r4, %%r4, %u, %d;\n"
                "st.global.u32 [%%d0], %%r4;\n"
                "add.u32 %%r5, %%r5, 1; setp.ge.u32 %%p0, %%r5, %d; @%%p0 exit;\n"
                "shr.u32 %%r6, %%r4, %u; and.b32 %%r6, %%r6, 1;\n"
                "setp.eq.u32 %%p1, %%r6, 1;\n",
                i, v->mul, i, STEPS, v->bit);
            if (v->kind == 1)
                strbuf_printf(&b, "bra B%d;\n", v->target);
            else if (v->kind == 2)
                strbuf_printf(&b, "@%%p1 bra B%d;\n", v->target);
            else if (v->kind == 3)
                strbuf_addz(&b, "@%p1 exit;\n");
            else if (v->kind == 4)
                strbuf_addz(&b, "ret;\n");
        }
        strbuf_addz(&b, "}\n");
        struct kit k;
        kit_load(&k, b.s);
        uint64_t out = kit_out(&k, THREADS * 4), steps = 10 * THREADS;
        kit_run(&k, 1, THREADS);
        for (uint32_t t = 0; t < THREADS; t++) {
            uint32_t acc = t, count = 0;
            for (int at = 0; at < n;) {
                const struct node *v = &node[at];
                acc = acc * v->mul + (uint32_t)at;
                steps += 4;
                if (++count >= STEPS) {
                    steps++; /* the exit itself: guarded off it executes no lane */
                    break;
                }
                bool bit = acc >> v->bit & 1;
                steps += 3u + (v->kind == 1 || v->kind == 4 || (v->kind > 1 && bit));
                if (v->kind == 4 || (v->kind == 3 && bit))
                    break;
                at = v->kind == 1 || (v->kind == 2 && bit) ? v->target : at + 1;
                steps += at == n; /* runs off the end: an implied ret */
            }
            if (kit_u32(&k, out, t) != acc)
                fail_msg("round %d, thread %u: %u, expected %u\n%s", round, t,
                         kit_u32(&k, out, t), acc, b.s);
        }
        assert_int_equal(k.g.n_thread_inst, steps); /* no lane ran anything twice */
        kit_free(&k);
        strbuf_free(&b);
    }
}

static void
counts_instructions(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k()\n{ .reg .pred %p; .reg .u32 %r;\n"
                          "mov.u32 %r, %laneid; setp.lt.u32 %p, %r, 8;\n"
                          "@%p add.u32 %r, %r, 1; ret; }\n");
    kit_run(&k, 3, 40);
    assert_int_equal(k.g.n_warp_inst, 3 * 2 * 4);
    assert_int_equal(k.g.n_thread_inst, 3 * (3 * 40 + 16));
    kit_free(&k);
}

/* exec_step by hand: what the timing model sees. */
static void
steps_tell_what_happened(void **state)
{
    struct kit k;
    kit_load(&k, KERNEL("setp.lt.u32 %p0, %l, 16;\n"             /* pc 8 */
                        "@%p0 bra A;\n"                          /* 9 */
                        "mov.u32 %r4, 1;\n"                      /* 10 */
                        "A: @%p0 st.global.u32 [%d0+4], %r4;")); /* 11 */
    uint64_t out = kit_out(&k, 1024);
    k.g.grid = (struct exec_dim){1, 1, 1};
    k.g.block = (struct exec_dim){32, 1, 1};
    struct exec_cta *c = exec_cta_new(&k.g);
    exec_cta_start(c, 0);
    struct exec_warp *w = &c->warp[0];
    struct exec_step s;
    struct exec_access x;
    memset(&s, 0xa5, sizeof s);
    for (uint32_t pc = 0; pc < 9; pc++) {
        assert_int_equal(w->pc, pc);
        assert_int_equal(exec_step(w, &s), EXEC_OK);
        assert_int_equal(s.pc, pc);
        assert_false(s.jumped);
        assert_int_equal(s.mask, 0xffffffff);
        assert_int_equal(s.has_access, pc == 0); /* ld.param */
    }
    exec_step(w, &s);
    assert_int_equal(s.mask, 0x0000ffff); /* those that take the branch */
    assert_int_equal(s.active, 0xffffffff);
    assert_true(s.jumped);
    assert_int_equal(w->pc, 10);
    assert_int_equal(w->active, 0xffff0000);
    assert_false(exec_peek_access(w, &x));
    exec_step(w, &s);
    assert_true(s.jumped); /* the active set changed */
    assert_int_equal(w->pc, 11);
    assert_int_equal(w->active, 0xffffffff);
    assert_true(exec_peek_access(w, &x));
    assert_int_equal(x.mask, 0x0000ffff);
    assert_int_equal(x.addr[3], out + 16);
    assert_int_equal(kit_u32(&k, out, 4), 0); /* nothing was stored */
    exec_step(w, &s);
    assert_true(s.has_access);
    assert_true(s.access.store);
    assert_false(s.access.load);
    assert_int_equal(s.access.space, PTX_SPACE_GLOBAL);
    assert_int_equal(s.access.bytes, 4);
    assert_int_equal(s.access.mask, 0x0000ffff);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(s.access.addr[i], out + 4 * i + 4);
    exec_step(w, &s);
    assert_true(s.warp_done);
    assert_true(s.cta_done);
    assert_int_equal(w->state, EXEC_DONE);
    assert_int_equal(c->live_warps, 0);
    exec_cta_free(c);
    kit_free(&k);
}

static void
static_facts_for_the_scoreboard(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n"
                          ".reg .u64 %d<2>; .reg .u32 %r<6>; .reg .pred %p;\n"
                          "ld.param.u64 %d1, [out];\n"
                          "@%p ld.global.v2.u32 {%r1, %r2}, [%d1+8];\n"
                          "@!%p atom.global.add.u32 %r3, [%d1], %r2;\n"
                          "bar.sync 0;\nmembar.gl;\nexit;\n}\n");
    const struct exec_static *st = k.p->st;
    assert_int_equal(k.p->ninst, 6);
    assert_int_equal(k.p->nregs, 9);
    assert_int_equal(k.p->code_address % 256, 0);
    assert_true(st[0].is_load);
    assert_int_equal(st[0].space, PTX_SPACE_PARAM);
    assert_int_equal(st[1].nsrc, 2);
    assert_int_equal(st[1].ndst, 2);
    assert_int_equal(st[1].dst[0] + 1, st[1].dst[1]);
    assert_int_equal(st[1].line, 8);
    assert_true(st[2].is_atomic);
    assert_int_equal(st[2].nsrc, 3);
    assert_int_equal(st[2].ndst, 1);
    assert_true(st[3].is_barrier);
    assert_true(st[4].is_fence);
    assert_true(st[5].is_exit);
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_instructions),
        cmocka_unit_test(nested_if_else),
        cmocka_unit_test(loops_with_different_trip_counts),
        cmocka_unit_test(breaks_and_continues),
        cmocka_unit_test(threads_end_at_different_places),
        cmocka_unit_test(indexed_branches),
        cmocka_unit_test(lanes_meet_at_the_postdominator),
        cmocka_unit_test(function_with_parameters_and_result),
        cmocka_unit_test(function_with_register_parameters),
        cmocka_unit_test(divergent_recursion),
        cmocka_unit_test(local_frames),
        cmocka_unit_test(divergent_indirect_calls),
        cmocka_unit_test(exit_and_early_return_inside_a_function),
        cmocka_unit_test(struct_parameters),
        cmocka_unit_test(warp_synchronisation_gathers_paths),
        cmocka_unit_test(block_barrier_gathers_paths),
        cmocka_unit_test(random_graphs_match_single_threads),
        cmocka_unit_test(steps_tell_what_happened),
        cmocka_unit_test(static_facts_for_the_scoreboard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
