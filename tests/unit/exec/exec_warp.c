/* Communication within a warp and between warps: votes, shuffles, matches, reductions,
 * barriers. The references are transcriptions of the PTX ISA's own pseudo-code. */
#include "unit/kit/exec_kit.h"

/* -- shfl -- */

/* PTX ISA 9.7.9.6 (shfl.sync), one thread at a time. */
static uint32_t
shfl_ref(const char *mode, const uint32_t *a, int lane, uint32_t b, uint32_t c,
         bool *pval)
{
    int bval = b & 0x1f, cval = c & 0x1f, segmask = c >> 8 & 0x1f, j;
    int maxLane = (lane & segmask) | (cval & ~segmask), minLane = lane & segmask;
    if (!strcmp(mode, "up")) {
        j = lane - bval;
        *pval = j >= maxLane;
    } else if (!strcmp(mode, "down")) {
        j = lane + bval;
        *pval = j <= maxLane;
    } else if (!strcmp(mode, "bfly")) {
        j = lane ^ bval;
        *pval = j <= maxLane;
    } else {
        j = minLane | (bval & ~segmask);
        *pval = j <= maxLane;
    }
    if (!*pval)
        j = lane;
    return a[j];
}

static void
shuffles(void **state)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    for (int m = 0; m < 4; m++)
        for (int sync = 0; sync < 2; sync++)
            for (int per_lane = 0; per_lane < 2; per_lane++) {
                struct strbuf s = {0};
                kit_text(&s,
                         PTX_HEAD ".visible .entry k(.param .u64 out, .param .u32 b,"
                                  " .param .u32 c)\n{\n" PROLOGUE
                                  "ld.param.u32 %r4, [b]; ld.param.u32 %r5, [c];\n"
                                  "mad.lo.u32 %r6, %t, 17, 3;\n$s"
                                  "shfl$s.$s.b32 %r7|%p1, %r6, %r4, %r5$s;\n"
                                  "selp.u32 %r8, 0x10000, 0, %p1; or.b32 %r7, %r7, "
                                  "%r8;\nst.global.u32 [%d0], %r7; ret;\n}\n",
                         per_lane ? "add.u32 %r4, %r4, %l;\n" : "", sync ? ".sync" : "",
                         modes[m], sync ? ", 0xffffffff" : "");
                struct kit k;
                kit_load(&k, s.s);
                uint64_t out = kit_out(&k, 64 * 4);
                for (uint32_t b = 0; b < 34; b++)
                    for (uint32_t seg = 0; seg < 6; seg++)
                        for (uint32_t cl = 0; cl < 32; cl += cl ? 6 : 1) {
                            uint32_t c = ((32u - (1u << seg)) & 31) << 8 | cl;
                            kit_param(&k, 1, b);
                            kit_param(&k, 2, c);
                            kit_run(&k, 1, 64);
                            uint32_t a[32];
                            for (int w = 0; w < 2; w++) {
                                for (int i = 0; i < 32; i++)
                                    a[i] = (uint32_t)(w * 32 + i) * 17 + 3;
                                for (int i = 0; i < 32; i++) {
                                    bool p;
                                    uint32_t v =
                                        shfl_ref(modes[m], a, i,
                                                 b + (per_lane ? (uint32_t)i : 0), c, &p);
                                    assert_int_equal(
                                        kit_u32(&k, out, (unsigned)(w * 32 + i)),
                                        v | (p ? 0x10000 : 0));
                                }
                            }
                        }
                kit_free(&k);
                strbuf_free(&s);
            }
}

/* Without a predicate, in place, and in a part of the warp only. */
static void
shuffle_of_some_lanes(void **state)
{
    struct kit k;
    kit_load(&k, KERNEL("mov.u32 %r4, %t; setp.lt.u32 %p1, %l, 16;\n"
                        "@%p1 shfl.sync.down.b32 %r4, %r4, 3, 15, 0x0000ffff;\n"
                        "st.global.u32 [%d0], %r4;"));
    uint64_t out = kit_out(&k, 128);
    kit_run(&k, 1, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(kit_u32(&k, out, i), i < 13 ? i + 3 : i);
    kit_free(&k);
}

/* The source lane never existed, has ended, or runs elsewhere: 0, and the predicate says
 * only whether it is in range. One outside the member mask that executes the instruction
 * gives its value. */
static void
shuffle_from_lanes_that_take_no_part(void **state)
{
    static const struct {
        const char *code;
        uint32_t takes_part; /* of the first warp */
    } t[] = {
        {"", 0xffffffff}, /* the second warp has 20 threads */
        {"setp.ge.u32 %p2, %l, 9; @%p2 ret;\n", 0x1ff},
        {"setp.ge.u32 %p2, %l, 9; @%p2 bra END;\n", 0x1ff},
        {"and.b32 %r9, %l, 1; setp.eq.u32 %p2, %r9, 1; @%p2 bra END;\n", 0x55555555},
    };
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const char *const masks[] = {"", ", %r8", ", 1", ", 0xffffffff"};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        for (int m = 0; m < 4; m++)
            for (int s = 0; s < 4; s++) {
                /* A named lane that runs elsewhere is waited for. */
                if (s == 3 && i >= 2)
                    continue;
                struct strbuf b = {0};
                struct kit k;
                kit_text(&b,
                         PTX_HEAD
                         ".visible .entry k(.param .u64 out, .param .u32 b)\n{\n" PROLOGUE
                         "ld.param.u32 %r4, [b]; mad.lo.u32 %r6, %t, 17, 3;\n$s"
                         "activemask.b32 %r8;\n"
                         "shfl$s.$s.b32 %r7|%p1, %r6, %r4, $s$s;\n"
                         "selp.u32 %r8, 0x10000, 0, %p1; or.b32 %r7, %r7, %r8;\n"
                         "st.global.u32 [%d0], %r7;\nEND: ret;\n}\n",
                         t[i].code, s ? ".sync" : "", modes[m], m ? "31" : "0", masks[s]);
                kit_load(&k, b.s);
                uint64_t out = kit_out(&k, 64 * 4);
                for (uint32_t d = 0; d < 32; d++) {
                    dev_set(k.mem, out, 0xee, 64 * 4);
                    kit_param(&k, 1, d);
                    kit_run(&k, 1, 52);
                    uint32_t a[32];
                    for (uint32_t n = 0; n < 64; n++) {
                        uint32_t in =
                            n < 32 ? t[i].takes_part : t[i].takes_part & 0xfffff;
                        bool p;
                        for (uint32_t l = 0; l < 32; l++)
                            a[l] = in >> l & 1 ? (n / 32 * 32 + l) * 17 + 3 : 0;
                        uint32_t v =
                            shfl_ref(modes[m], a, (int)n % 32, d, m ? 31 : 0, &p);
                        assert_int_equal(kit_u32(&k, out, n), in >> n % 32 & 1
                                                                  ? v | (p ? 0x10000 : 0)
                                                                  : 0xeeeeeeee);
                    }
                }
                kit_free(&k);
                strbuf_free(&b);
            }
}

/* -- votes, matches, reductions -- */

static void
votes(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u32 bits)\n{\n" PROLOGUE
             "ld.param.u32 %r4, [bits]; shr.u32 %r4, %r4, %l; and.b32 %r4, %r4, 1;\n"
             "setp.eq.u32 %p1, %r4, 1; setp.ne.u32 %p2, %l, 5; mov.u32 %r5, 0;\n"
             "vote.sync.all.pred %p3, %p1, 0xffffffff; @%p3 or.b32 %r5, %r5, 1;\n"
             "vote.sync.any.pred %p3, %p1, 0xffffffff; @%p3 or.b32 %r5, %r5, 2;\n"
             "vote.sync.uni.pred %p3, %p1, 0xffffffff; @%p3 or.b32 %r5, %r5, 4;\n"
             "vote.all.pred %p3, !%p1; @%p3 or.b32 %r5, %r5, 8;\n"
             "vote.any.pred %p3, !%p1; @%p3 or.b32 %r5, %r5, 16;\n"
             "@%p2 vote.ballot.b32 %r6, %p1; @!%p2 mov.u32 %r6, 0;\n"
             "vote.sync.ballot.b32 %r7, %p1, 0xffffffff;\n"
             "@%p2 activemask.b32 %r8; @!%p2 mov.u32 %r8, 0;\n"
             "mul.wide.u32 %d1, %t, 16; ld.param.u64 %d0, [out]; add.u64 %d0, %d0, %d1;\n"
             "st.global.v4.u32 [%d0], {%r5, %r6, %r7, %r8}; ret;\n}\n");
    uint64_t out = kit_out(&k, 40 * 16);
    static const uint32_t cases[] = {0,          0xffffffff, 1,         0x80000000,
                                     0xdeadbeef, 0xff,       0xffffffdf};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kit_param(&k, 1, cases[i]);
        kit_run(&k, 1, 40); /* the second warp has 8 threads */
        for (unsigned t = 0; t < 40; t++) {
            uint32_t live = t < 32 ? 0xffffffff : 0xff, b = cases[i] & live, w = 0;
            w |= (b == live) | (b != 0) << 1 | (b == live || !b) << 2 | !b << 3 |
                 (b != live) << 4;
            uint32_t no5 = t % 32 == 5 ? 0 : ~(1u << 5);
            assert_int_equal(kit_u32(&k, out, t * 4), w);
            assert_int_equal(kit_u32(&k, out, t * 4 + 1), b & no5);
            assert_int_equal(kit_u32(&k, out, t * 4 + 2), b);
            assert_int_equal(kit_u32(&k, out, t * 4 + 3), live & no5);
        }
    }
    kit_free(&k);
}

static void
matches_and_reductions(void **state)
{
    struct kit k;
    kit_load(
        &k, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
        "ld.param.u64 %d2, [in]; mul.wide.u32 %d1, %t, 4; add.u64 %d2, %d2, %d1;\n"
        "ld.global.u32 %r4, [%d2]; mul.wide.u32 %d1, %t, 48; ld.param.u64 %d0, [out];\n"
        "add.u64 %d0, %d0, %d1; and.b32 %r5, %r4, 3; cvt.u64.u32 %d3, %r5;\n"
        "shl.b64 %d3, %d3, 40;\n"
        "match.any.sync.b32 %r6, %r5, 0xffffffff; st.global.u32 [%d0], %r6;\n"
        "match.any.sync.b64 %r6, %d3, 0xffffffff; st.global.u32 [%d0+4], %r6;\n"
        "match.all.sync.b32 %r6|%p1, %r5, 0xffffffff; st.global.u32 [%d0+8], %r6;\n"
        "shr.u32 %r7, %l, 5; match.all.sync.b32 %r6|%p1, %r7, 0xffffffff;\n"
        "@!%p1 mov.u32 %r6, 1; st.global.u32 [%d0+12], %r6;\n"
        "redux.sync.add.u32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+16], %r6;\n"
        "redux.sync.min.s32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+20], %r6;\n"
        "redux.sync.max.s32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+24], %r6;\n"
        "redux.sync.min.u32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+28], %r6;\n"
        "redux.sync.max.u32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+32], %r6;\n"
        "redux.sync.and.b32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+36], %r6;\n"
        "redux.sync.or.b32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+40], %r6;\n"
        "redux.sync.xor.b32 %r6, %r4, 0xffffffff; st.global.u32 [%d0+44], %r6; "
        "ret;\n}\n");
    uint64_t out = kit_out(&k, 32 * 48), in = kit_buf(&k, 128);
    kit_param(&k, 1, in);
    uint32_t v[32], x = 12345;
    for (int round = 0; round < 20; round++) {
        uint32_t add = 0, and_ = ~0u, or_ = 0, xr = 0, mn = ~0u, mx = 0;
        int32_t smn = INT32_MAX, smx = INT32_MIN;
        for (int i = 0; i < 32; i++) {
            x = x * 1664525 + 1013904223;
            v[i] = round == 0 ? 8 : round == 1 ? x | 0x00f00000 : x;
            add += v[i], and_ &= v[i], or_ |= v[i], xr ^= v[i];
            mn = v[i] < mn ? v[i] : mn;
            mx = v[i] > mx ? v[i] : mx;
            smn = (int32_t)v[i] < smn ? (int32_t)v[i] : smn;
            smx = (int32_t)v[i] > smx ? (int32_t)v[i] : smx;
        }
        dev_write(k.mem, in, v, sizeof v);
        kit_run(&k, 1, 32);
        for (unsigned t = 0; t < 32; t++) {
            uint32_t same = 0;
            for (int i = 0; i < 32; i++)
                same |= (uint32_t)((v[i] & 3) == (v[t] & 3)) << i;
            uint32_t want[12] = {same,          same, same == ~0u ? ~0u : 0,
                                 ~0u,           add,  (uint32_t)smn,
                                 (uint32_t)smx, mn,   mx,
                                 and_,          or_,  xr};
            for (unsigned i = 0; i < 12; i++)
                if (kit_u32(&k, out, t * 12 + i) != want[i])
                    fail_msg("round %d thread %u result %u: %x, expected %x", round, t, i,
                             kit_u32(&k, out, t * 12 + i), want[i]);
        }
    }
    kit_free(&k);
}

/* Four tiles of eight lanes, each with its own mask, in one instruction: what cooperative
 * groups make of ballot(), any(), all(), match_any() and reduce() of a tile. */
static void
tiles_have_their_own_answers(void **state)
{
    static const uint32_t want[7][4] = {
        {0xaa, 0xaa00, 0xaa0000, 0xaa000000}, /* ballot of odd lanes */
        {0, 1, 0, 0},                         /* any: lane 11 */
        {1, 1, 0, 1},                         /* all but lane 17 */
        {0xff, 0xff00, 0xff0000, 0xff000000}, /* match.any of lane / 16 */
        {0xff, 0xff00, 0xff0000, 0xff000000}, /* match.all of the tile */
        {28, 92, 156, 220},                   /* redux.add of the lane */
        {1, 1, 1, 1},                         /* uni */
    };
    struct kit k;
    kit_load(&k, KERNEL("shr.u32 %r4, %l, 3; shl.b32 %r5, %r4, 3; mov.u32 %r6, 255;\n"
                        "shl.b32 %r6, %r6, %r5; ld.param.u64 %d0, [out];\n"
                        "mul.wide.u32 %d1, %l, 28; add.u64 %d0, %d0, %d1;\n"
                        "and.b32 %r7, %l, 1; setp.eq.u32 %p1, %r7, 1;\n"
                        "vote.sync.ballot.b32 %r8, %p1, %r6; st.global.u32 [%d0], %r8;\n"
                        "setp.eq.u32 %p1, %l, 11; vote.sync.any.pred %p2, %p1, %r6;\n"
                        "selp.u32 %r8, 1, 0, %p2; st.global.u32 [%d0+4], %r8;\n"
                        "setp.ne.u32 %p1, %l, 17; vote.sync.all.pred %p2, %p1, %r6;\n"
                        "selp.u32 %r8, 1, 0, %p2; st.global.u32 [%d0+8], %r8;\n"
                        "shr.u32 %r7, %l, 4; match.any.sync.b32 %r8, %r7, %r6;\n"
                        "st.global.u32 [%d0+12], %r8;\n"
                        "match.all.sync.b32 %r8|%p2, %r4, %r6;\n"
                        "st.global.u32 [%d0+16], %r8;\n"
                        "redux.sync.add.u32 %r8, %l, %r6; st.global.u32 [%d0+20], %r8;\n"
                        "setp.lt.u32 %p1, %r4, 2; vote.sync.uni.pred %p2, %p1, %r6;\n"
                        "selp.u32 %r8, 1, 0, %p2; st.global.u32 [%d0+24], %r8;"));
    uint64_t out = kit_out(&k, 32 * 28);
    kit_run(&k, 1, 32);
    for (unsigned t = 0; t < 32; t++)
        for (unsigned i = 0; i < 7; i++)
            assert_int_equal(kit_u32(&k, out, t * 7 + i), want[i][t / 8]);
    kit_free(&k);
}

/* The results may stand where the mask or the values stood. */
static void
results_over_sources(void **state)
{
    struct kit k;
    kit_load(&k, KERNEL("and.b32 %r4, %l, 1; setp.eq.u32 %p1, %r4, 1;\n"
                        "selp.b32 %r5, 0xaaaaaaaa, 0x55555555, %p1; mov.u32 %r6, %r5;\n"
                        "setp.lt.u32 %p2, %l, 16; vote.sync.ballot.b32 %r5, %p2, %r5;\n"
                        "mov.u32 %r7, %l; redux.sync.max.u32 %r7, %r7, %r6;\n"
                        "match.any.sync.b32 %r6, %r4, %r6; add.u32 %r5, %r5, %r7;\n"
                        "add.u32 %r5, %r5, %r6; st.global.u32 [%d0], %r5;"));
    uint64_t out = kit_out(&k, 128);
    kit_run(&k, 1, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(kit_u32(&k, out, t),
                         t % 2 ? 0xaaaau + 31 + 0xaaaaaaaa : 0x5555u + 30 + 0x55555555);
    kit_free(&k);
}

/* One lane of the member mask is elected, the same for all; which one is the machine's
 * choice (PTX ISA 9.7.13.14): here the lowest. */
static void
elections(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                          "elect.sync %r4|%p1, 0xffffffff; selp.u32 %r4, 100, %r4, %p1;\n"
                          "setp.ge.u32 %p2, %l, 7; mov.u32 %r5, 0;\n"
                          "@%p2 elect.sync %r5|%p1, 0xffffff80;\n"
                          "@%p2 selp.u32 %r5, 100, %r5, %p1;\n"
                          "mad.lo.u32 %r4, %r5, 1000, %r4;\n"
                          "st.global.u32 [%d0], %r4; ret;\n}\n");
    uint64_t out = kit_out(&k, 128);
    kit_run(&k, 1, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(kit_u32(&k, out, i), (i == 0 ? 100 : 0) + (i < 7    ? 0
                                                                    : i == 7 ? 100000
                                                                             : 7000));
    kit_free(&k);
}

/* -- barriers -- */

/* Every warp writes, all read what another wrote, several times over. */
static void
block_barriers(void **state)
{
    static const char *const how[] = {
        "bar.sync 0;",      "barrier.sync 3;",
        "bar.cta.sync 0;",  "barrier.cta.sync.aligned 15;",
        "bar.sync 2, 160;", "mov.u32 %r9, 5; mov.u32 %r10, 160; bar.sync %r9, %r10;"};
    for (size_t h = 0; h < sizeof how / sizeof *how; h++) {
        struct strbuf b = {0};
        kit_text(&b,
                 PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                          ".shared .u32 sh[160]; .reg .u64 %a, %b, %c; .reg .u32 %x;\n"
                          "mov.u64 %a, sh; add.u64 %b, %a, %d1; mov.u32 %r4, 0;\n"
                          "st.shared.u32 [%b], %t; mov.u32 %r8, 0;\n"
                          "L: $s\n"
                          "add.u32 %r5, %t, 33; rem.u32 %r5, %r5, 160;\n"
                          "mul.wide.u32 %c, %r5, 4; add.u64 %c, %a, %c;\n"
                          "ld.shared.u32 %r6, [%c]; mad.lo.u32 %r4, %r4, 3, %r6;\n"
                          "$s\n"
                          "st.shared.u32 [%b], %r4;\n"
                          "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 5; @%p1 bra L;\n"
                          "st.global.u32 [%d0], %r4; ret;\n}\n",
                 how[h], how[h]);
        struct kit k;
        kit_load(&k, b.s);
        uint64_t out = kit_out(&k, 160 * 4);
        kit_run(&k, 1, 160);
        uint32_t sh[160], acc[160] = {0}, next[160];
        for (uint32_t t = 0; t < 160; t++)
            sh[t] = t;
        for (int i = 0; i < 5; i++) {
            for (uint32_t t = 0; t < 160; t++)
                next[t] = acc[t] * 3 + sh[(t + 33) % 160];
            memcpy(sh, next, sizeof sh);
            memcpy(acc, next, sizeof acc);
        }
        for (uint32_t t = 0; t < 160; t++)
            assert_int_equal(kit_u32(&k, out, t), acc[t]);
        kit_free(&k);
        strbuf_free(&b);
    }
}

/* Warp 0 produces, warps 1 and 2 consume, with two barriers of their own (PTX ISA, bar).
 */
static void
producer_and_consumers(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      ".shared .u32 sh[32]; .reg .u64 %a; .reg .u32 %w;\n"
                      "mov.u32 %w, %warpid; mov.u64 %a, sh; mul.wide.u32 %d2, %l, 4;\n"
                      "add.u64 %a, %a, %d2; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
                      "setp.eq.u32 %p1, %w, 0; @!%p1 bra CONSUME;\n"
                      "P: mad.lo.u32 %r6, %r4, 100, %l; st.shared.u32 [%a], %r6;\n"
                      "bar.arrive 1, 96;\n" /* full */
                      "bar.sync 2, 96;\n"   /* empty again */
                      "add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 6; @%p2 bra P; ret;\n"
                      "CONSUME: bar.sync 1, 96; ld.shared.u32 %r6, [%a];\n"
                      "mad.lo.u32 %r5, %r5, 7, %r6; bar.arrive 2, 96;\n"
                      "add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 6; @%p2 bra CONSUME;\n"
                      "st.global.u32 [%d0], %r5; ret;\n}\n");
    uint64_t out = kit_out(&k, 96 * 4);
    kit_run(&k, 1, 96);
    for (uint32_t t = 32; t < 96; t++) {
        uint32_t r = 0;
        for (uint32_t i = 0; i < 6; i++)
            r = r * 7 + i * 100 + t % 32;
        assert_int_equal(kit_u32(&k, out, t), r);
    }
    kit_free(&k);
}

static void
barrier_reductions(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" PROLOGUE
             "ld.param.u32 %r4, [n]; setp.lt.u32 %p1, %t, %r4;\n"
             "bar.red.popc.u32 %r5, 0, %p1;\n"
             "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1;\n"
             "barrier.red.popc.u32 %r6, 1, 96, !%p1;\n"
             "selp.u32 %r7, 1000, 0, %p2; selp.u32 %r8, 2000, 0, %p3;\n"
             "add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8;\n"
             "mad.lo.u32 %r5, %r6, 10000, %r5; st.global.u32 [%d0], %r5; ret;\n}\n");
    uint64_t out = kit_out(&k, 96 * 4);
    for (uint32_t n = 0; n <= 96; n += 16) {
        kit_param(&k, 1, n);
        kit_run(&k, 1, 96);
        for (uint32_t t = 0; t < 96; t++)
            assert_int_equal(kit_u32(&k, out, t), n + (n == 96 ? 1000 : 0) +
                                                      (n ? 2000 : 0) + (96 - n) * 10000);
    }
    kit_free(&k);
}

/* Warps that have ended count as arrived where no count is given. */
static void
ended_warps_do_not_hold_up_barriers(void **state)
{
    struct kit k;
    kit_load(&k,
             KERNEL("setp.lt.u32 %p1, %r2, 64; @%p1 bra STAY;\n"
                    "mov.u32 %r5, 40;\n" /* some end before, some after the others wait */
                    "W: sub.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra W; exit;\n"
                    "STAY: bar.sync 0; bar.red.popc.u32 %r6, 0, %p1;\n"
                    "st.global.u32 [%d0], %r6;"));
    uint64_t out = kit_out(&k, 2 * 160 * 4);
    kit_run(&k, 2, 160);
    for (uint32_t t = 0; t < 320; t++)
        assert_int_equal(kit_u32(&k, out, t), t % 160 < 64 ? 64 : 0);
    kit_free(&k);
}

/* What the timing model sees of a barrier. */
static void
barrier_wakes_are_reported(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k()\n{ bar.sync 0; bar.arrive 1, 96; ret; }\n");
    k.g.grid = (struct exec_dim){1, 1, 1};
    k.g.block = (struct exec_dim){96, 1, 1};
    struct exec_cta *c = exec_cta_new(&k.g);
    exec_cta_start(c, 0);
    struct exec_step s;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(exec_step(&c->warp[i], &s), EXEC_OK);
        assert_int_equal(s.woken, 0);
        assert_int_equal(c->warp[i].state, EXEC_BARRIER);
    }
    struct strbuf b = {0};
    exec_explain_cta(c, &b);
    assert_string_equal(
        b.s, "barrier 0: 2 of 3 live warps arrived, waiting: warp 0 at line 5, "
             "1 at line 5; 1 warps can run");
    strbuf_free(&b);
    exec_step(&c->warp[2], &s);
    assert_int_equal(s.woken, 7);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c->warp[i].state, EXEC_READY);
    exec_step(&c->warp[1], &s);
    assert_int_equal(s.woken, 0);
    assert_int_equal(c->warp[1].state, EXEC_READY); /* arrive does not wait */
    exec_cta_free(c);
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),
        cmocka_unit_test(shuffle_of_some_lanes),
        cmocka_unit_test(shuffle_from_lanes_that_take_no_part),
        cmocka_unit_test(votes),
        cmocka_unit_test(matches_and_reductions),
        cmocka_unit_test(tiles_have_their_own_answers),
        cmocka_unit_test(results_over_sources),
        cmocka_unit_test(elections),
        cmocka_unit_test(block_barriers),
        cmocka_unit_test(producer_and_consumers),
        cmocka_unit_test(barrier_reductions),
        cmocka_unit_test(ended_warps_do_not_hold_up_barriers),
        cmocka_unit_test(barrier_wakes_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
