/* usage.c: liveness and what a kernel asks of an SM, on cases counted by hand, and
 * liveness against path enumeration on random straight-line and branching code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/defuse.h"
#include "analysis/live.h"
#include "analysis/usage.h"
#include "ptx/parse.h"

#include <string.h>

static struct ptx_module *
parse(const char *text)
{
    struct diag_sink d = {0};
    struct ptx_module *m = ptx_parse("test.ptx", text, strlen(text), &d);
    if (!m) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        print_message("%s", b.s);
        strbuf_free(&b);
    }
    diag_free(&d);
    assert_non_null(m);
    return m;
}

#define HEAD ".version 4.2\n.target sm_35\n.address_size 64\n"

static const char kernel[] =
    HEAD ".shared .align 8 .b8 outer[40];\n"
         ".extern .shared .align 4 .b8 dyn[];\n"
         ".func (.param .b32 r) helper(.param .b32 a)\n"
         "{\n"
         "  .reg .b32 %r<3>;\n"
         "  .shared .align 4 .b8 inner[12];\n"
         "  .local .align 8 .b8 depot[24];\n"
         "  ld.param.u32 %r1, [a];\n"
         "  st.shared.u32 [inner], %r1;\n"
         "  st.param.b32 [r], %r1;\n"
         "  ret;\n"
         "}\n"
         ".visible .entry k(.param .u64 p)\n"
         "{\n"
         "  .reg .pred %p<2>;\n"
         "  .reg .b32 %r<6>;\n"
         "  .reg .b64 %d<3>;\n"
         "  .shared .align 16 .b8 first[20];\n"
         "  ld.param.u64 %d1, [p];\n"    /* d1: 2 */
         "  mov.u32 %r1, %tid.x;\n"      /* + r1: 3 */
         "  add.s32 %r2, %r1, 1;\n"      /* + r2: 4 */
         "  mul.lo.s32 %r3, %r1, %r2;\n" /* r1 dies: d1 r2 r3: 4 */
         "  setp.lt.s32 %p1, %r3, 10;\n"
         "  @%p1 add.s32 %r2, %r3, 2;\n" /* guarded: r2 lives on through it */
         "  st.shared.u32 [first], %r2;\n"
         "  st.shared.u32 [outer+4], %r3;\n"
         "  st.shared.u32 [dyn], %r3;\n"
         "  {\n"
         "  .param .b32 q0;\n"
         "  st.param.b32 [q0], %r3;\n"
         "  .param .b32 q1;\n"
         "  call.uni (q1), helper, (q0);\n"
         "  ld.param.b32 %r4, [q1];\n"
         "  }\n"
         "  st.global.u32 [%d1], %r4;\n"
         "  ret;\n"
         "}\n";

/* A 64-bit quotient is a function of the kernel's code: once, and a call of six each time. */
static void
functions_once(void **state)
{
    (void)state;
    static const char *const quotients[] = {
        "", "div.s64 %d4, %d2, %d3;\n",
        "div.s64 %d4, %d2, %d3;\ndiv.s64 %d5, %d4, %d3;\n",
        "div.s64 %d4, %d2, %d3;\nrem.u64 %d5, %d4, %d3;\n"};
    uint32_t n[4];
    for (int i = 0; i < 4; i++) {
        struct strbuf b = {0};
        strbuf_printf(&b,
                      ".version 7.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %%d<9>;\n"
                      "ld.param.u64 %%d1, [p];\nld.global.u64 %%d2, [%%d1];\n"
                      "ld.global.u64 %%d3, [%%d1+8];\n%sst.global.u64 [%%d1], %%d4;\n"
                      "st.global.u64 [%%d1], %%d5;\nret;\n}\n",
                      quotients[i]);
        struct ptx_module *m = parse(b.s);
        struct usage u;
        usage_of(ptx_find_func(m, "k"), &u);
        n[i] = u.machine_operations;
        usage_free(&u);
        ptx_module_free(m);
        strbuf_free(&b);
    }
    assert_int_equal(n[1] - n[0], 90);
    assert_int_equal(n[2] - n[1], 6);
    assert_int_equal(n[3] - n[1], 70);
}

static void
kernel_by_hand(void **state)
{
    (void)state;
    struct ptx_module *m = parse(kernel);
    struct usage u;
    usage_of(ptx_find_func(m, "k"), &u);
    assert_int_equal(u.live_registers, 4);
    assert_int_equal(u.live_predicates, 1);
    assert_int_equal(u.virtual_registers, 2 + 4 + 1); /* d1; r1..r4; helper's r1 */
    assert_int_equal(u.virtual_predicates, 1);
    assert_int_equal(u.instructions, 14 + 4);
    /* three loads of parameters are operands, but one is an address: two moves */
    assert_int_equal(u.machine_operations, 14 + 4 - 3 + 2);
    assert_int_equal(u.funcs.n, 2);
    assert_int_equal(u.local_bytes, 24);
    assert_true(u.dynamic_scratchpad);
    /* outer (40, align 8), first (20, align 16), inner (12), in some order with padding
     */
    assert_int_equal(u.scratchpad_vars.n, 4);
    assert_in_range(u.scratchpad, 40 + 20 + 12, 40 + 20 + 12 + 16 + 8);
    usage_free(&u);
    ptx_module_free(m);
}

static void
guarded_write_keeps_the_old_value(void **state)
{
    (void)state;
    struct ptx_module *m =
        parse(HEAD ".visible .entry k(.param .u64 p)\n{\n"
                   "  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n  .reg .b64 %d<2>;\n"
                   "  mov.u32 %r1, 7;\n"
                   "  mov.u32 %r2, %tid.x;\n"
                   "  setp.eq.s32 %p1, %r2, 0;\n"
                   "  @%p1 mov.u32 %r1, 9;\n"
                   "  ld.param.u64 %d1, [p];\n"
                   "  st.global.u32 [%d1], %r1;\n"
                   "  ret;\n}\n");
    struct cfg *g = cfg_new(ptx_find_func(m, "k"));
    struct live *l = live_new(g);
    uint32_t regs, preds;
    live_max(l, &regs, &preds);
    assert_int_equal(regs, 3); /* d1 (two) and r1 at the store */
    assert_int_equal(preds, 1);
    live_free(l);
    cfg_free(g);
    ptx_module_free(m);
}

static void
loop_carries_values(void **state)
{
    (void)state;
    struct ptx_module *m =
        parse(HEAD ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                   "  .reg .pred %p<2>;\n  .reg .b32 %r<5>;\n  .reg .b64 %d<2>;\n"
                   "  ld.param.u64 %d1, [p];\n"
                   "  ld.param.u32 %r1, [n];\n"
                   "  mov.u32 %r2, 0;\n"
                   "  mov.u32 %r3, 1;\n"
                   "L:\n"
                   "  add.s32 %r2, %r2, %r3;\n"
                   "  add.s32 %r1, %r1, -1;\n"
                   "  setp.ne.s32 %p1, %r1, 0;\n"
                   "  @%p1 bra L;\n"
                   "  st.global.u32 [%d1], %r2;\n"
                   "  ret;\n}\n");
    const struct ptx_func *f = ptx_find_func(m, "k");
    struct cfg *g = cfg_new(f);
    struct live *l = live_new(g);
    uint32_t regs, preds;
    live_max(l, &regs, &preds);
    assert_int_equal(regs, 5); /* d1 (two), r1, r2, r3 around the loop */
    /* r3 is read in the loop only, yet lives at its end: the next turn reads it. */
    int32_t r3 = -1;
    for (size_t i = 0; i < f->regs.n; i++)
        if (!strcmp(f->regs.v[i].name, "%r3"))
            r3 = (int32_t)i;
    uint32_t loop = g->block_of[g->label_at[0]];
    assert_true(live_at_end(l, loop, (uint32_t)r3));
    live_free(l);
    cfg_free(g);
    ptx_module_free(m);
}

/* Independent liveness of register r at body index i: is a read reachable from i before a
 * full write? Depth-first over instructions. */
struct probe {
    int32_t reg;
    bool read, write;
};

static void
probe_reg(void *user, int32_t r, bool write, bool partial)
{
    struct probe *p = user;
    if (r != p->reg)
        return;
    if (write && !partial)
        p->write = true;
    if (!write)
        p->read = true;
}

static bool
reads_first(const struct ptx_func *f, const struct cfg *g, size_t i, int32_t r,
            bool *seen)
{
    for (; i < f->body.n; i++) {
        if (seen[i])
            return false;
        seen[i] = true;
        const struct ptx_inst *in = &f->body.v[i];
        struct probe p = {.reg = r};
        defuse_each(in, probe_reg, &p);
        if (p.read)
            return true;
        if (p.write)
            return false;
        if (in->op == PTX_OP_BRA) {
            if (reads_first(f, g, g->label_at[in->ops[0].label], r, seen))
                return true;
            if (in->guard < 0)
                return false;
        }
        if (in->op == PTX_OP_RET && in->guard < 0)
            return false;
    }
    return false;
}

static uint32_t
rnd(uint32_t *s, uint32_t n)
{
    *s = *s * 1664525u + 1013904223u;
    return (*s >> 8) % n;
}

static void
random_code_against_path_search(void **state)
{
    (void)state;
    uint32_t s = 7;
    for (int round = 0; round < 300; round++) {
        struct strbuf b = {0};
        strbuf_addz(&b, HEAD ".visible .entry k()\n{\n  .reg .pred %p<3>;\n"
                             "  .reg .b32 %r<8>;\n");
        uint32_t blocks = 1 + rnd(&s, 6);
        for (uint32_t k = 0; k < blocks; k++) {
            strbuf_printf(&b, "B%u:\n", k);
            for (uint32_t n = rnd(&s, 4); n > 0; n--) {
                if (rnd(&s, 5) == 0)
                    strbuf_printf(&b, "  setp.eq.s32 %%p%u, %%r%u, %%r%u;\n", rnd(&s, 3),
                                  rnd(&s, 8), rnd(&s, 8));
                if (rnd(&s, 4) == 0)
                    strbuf_printf(&b, "  @%%p%u", rnd(&s, 3));
                strbuf_printf(&b, "  add.s32 %%r%u, %%r%u, %%r%u;\n", rnd(&s, 8),
                              rnd(&s, 8), rnd(&s, 8));
            }
            if (rnd(&s, 2))
                strbuf_printf(&b, "  @%%p%u bra B%u;\n", rnd(&s, 3), rnd(&s, blocks));
        }
        strbuf_addz(&b, "  ret;\n}\n");
        struct ptx_module *m = parse(b.s);
        const struct ptx_func *f = ptx_find_func(m, "k");
        struct cfg *g = cfg_new(f);
        struct live *l = live_new(g);
        bool *seen = xcalloc(f->body.n, 1);
        for (uint32_t k = 0; k < g->n; k++)
            for (size_t r = 0; r < f->regs.n; r++) {
                memset(seen, 0, f->body.n);
                bool want = reads_first(f, g, g->block[k].first, (int32_t)r, seen);
                if (want != live_at_start(l, k, (uint32_t)r))
                    print_message("block %u register %s\n%s", k, f->regs.v[r].name, b.s);
                assert_int_equal(live_at_start(l, k, (uint32_t)r), want);
            }
        free(seen);
        live_free(l);
        cfg_free(g);
        ptx_module_free(m);
        strbuf_free(&b);
    }
}

/* Operations from a load to the first that reads it; what reads its register once that is
 * written again reads another value, a guarded write ends nothing. */
static void
loads_to_their_first_use(void **state)
{
    (void)state;
    struct ptx_module *m = parse(".version 6.0\n.target sm_70\n.address_size 64\n"
                                 ".visible .entry k(.param .u64 p)\n{\n"
                                 "  .reg .b64 %d<2>;\n  .reg .b32 %r<9>;\n"
                                 "  .reg .pred %p<2>;\n"
                                 "  ld.param.u64 %d1, [p];\n"
                                 "  ld.global.u32 %r1, [%d1];\n"   /* read 2 later */
                                 "  ld.global.u32 %r2, [%d1+4];\n" /* not read */
                                 "  add.s32 %r3, %r1, 1;\n"
                                 "  setp.lt.s32 %p1, %r3, 0;\n"
                                 "  mul.lo.s32 %r2, %r3, 5;\n"
                                 "  ld.global.u32 %r4, [%d1+8];\n" /* read 4 later */
                                 "  @%p1 mov.u32 %r4, 1;\n"
                                 "  st.global.u32 [%d1], %r2;\n"
                                 "  st.global.u32 [%d1+4], %r3;\n"
                                 "  st.global.u32 [%d1+8], %r4;\n"
                                 "  ret;\n}\n");
    struct usage u;
    usage_of(ptx_find_func(m, "k"), &u);
    assert_int_equal(u.loads_read, 2);
    assert_int_equal(u.load_distance, 2 + 4);
    usage_free(&u);
    ptx_module_free(m);
}

/* A fetch from a texture writes only the components that are read; of another load the first
 * register counts, read or not. */
static void
texture_components_read(void **state)
{
    (void)state;
    struct ptx_module *m =
        parse(".version 6.0\n.target sm_70\n.address_size 64\n"
              ".global .texref t;\n"
              ".visible .entry k(.param .u64 p)\n{\n"
              "  .reg .b64 %d<2>;\n  .reg .b32 %r<13>;\n"
              "  ld.param.u64 %d1, [p];\n"
              "  mov.u32 %r1, %tid.x;\n"
              "  tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [t, {%r1}];\n" /* read 3 later */
              "  ld.global.v2.u32 {%r6, %r7}, [%d1];\n"                 /* not read */
              "  tex.1d.v4.s32.s32 {%r8, %r9, %r10, %r11}, [t, {%r1}];\n" /* not read */
              "  add.s32 %r12, %r4, %r7;\n"
              "  st.global.u32 [%d1], %r12;\n"
              "  st.global.u32 [%d1+4], %r5;\n"
              "  ret;\n}\n");
    struct usage u;
    usage_of(ptx_find_func(m, "k"), &u);
    assert_int_equal(u.loads_read, 1);
    assert_int_equal(u.load_distance, 3);
    usage_free(&u);
    ptx_module_free(m);
}

/* Within an IEEE quotient, BSSY first, the divisor is read by the second operation and the
 * dividend by the third; an approximate one reads both by its first. */
static void
quotients_read_late(void **state)
{
    (void)state;
    static const char *const spelling[] = {"div.rn.f32", "div.approx.ftz.f32"};
    static const uint64_t distance[] = {4 + 2, 2 + 1};
    for (unsigned i = 0; i < 2; i++) {
        struct strbuf b = {0};
        strbuf_printf(&b,
                      ".version 6.0\n.target sm_70\n.address_size 64\n"
                      ".visible .entry k(.param .u64 p)\n{\n"
                      "  .reg .b64 %%d<2>;\n  .reg .f32 %%f<9>;\n"
                      "  ld.param.u64 %%d1, [p];\n"
                      "  ld.global.f32 %%f1, [%%d1];\n"
                      "  ld.global.f32 %%f2, [%%d1+4];\n"
                      "  %s %%f3, %%f1, %%f2;\n"
                      "  st.global.f32 [%%d1], %%f3;\n"
                      "  ret;\n}\n",
                      spelling[i]);
        struct ptx_module *m = parse(b.s);
        struct usage u;
        usage_of(ptx_find_func(m, "k"), &u);
        assert_int_equal(u.load_distance, distance[i]);
        usage_free(&u);
        ptx_module_free(m);
        strbuf_free(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_once),
        cmocka_unit_test(kernel_by_hand),
        cmocka_unit_test(guarded_write_keeps_the_old_value),
        cmocka_unit_test(loop_carries_values),
        cmocka_unit_test(random_code_against_path_search),
        cmocka_unit_test(loads_to_their_first_use),
        cmocka_unit_test(texture_components_read),
        cmocka_unit_test(quotients_read_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
