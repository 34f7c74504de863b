/* register_allocate.c: the allocator and its checker.
 *
 * Of every workload's kernel: allocation without a limit takes at most 10 % more than
 * MAXLIVE; with limits the count keeps to them; with banks it costs no warp. The checker is put to the test by
 * altering an allocated function in ways that break it: each must be found. */
#include "allot/workload.h"
#include "unit/kit/ptx_kit.h"
#include "unit/kit/sanitized.h"

#include "analysis/defuse.h"
#include "analysis/register_check.h"
#include "analysis/usage.h"
#include "exec/exec.h"
#include "exec/memory/memory.h"
#include "passes/pass.h"
#include "passes/regalloc/register_step.h"

static void
run(struct ptx_module *m, const char *passes)
{
    struct diag_sink diag = {0};
    if (!pass_run(m, passes, NULL, NULL, &diag)) {
        struct strbuf b = {0};
        diag_print(&diag, &b);
        fail_msg("%s", b.s);
    }
    diag_free(&diag);
}

struct sources {
    const struct ptx_func *f;
    int32_t place[8];
    unsigned n;
};

static void
note_source(void *user, int32_t r, bool write, bool partial)
{
    struct sources *s = user;
    const struct ptx_reg *x = &s->f->regs.v[r];
    (void)partial;
    for (unsigned i = 0; i < s->n; i++)
        if (s->place[i] == x->place)
            return;
    if (!write && x->type == PTX_B32 && s->n < 8)
        s->place[s->n++] = x->place;
}

/* Instructions whose three sources are in one of two banks. */
static unsigned
in_one_bank(const struct ptx_func *f)
{
    unsigned n = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        struct sources s = {.f = f};
        defuse_each(&f->body.v[i], note_source, &s);
        n += s.n == 3 && s.place[0] % 2 == s.place[1] % 2 &&
             s.place[0] % 2 == s.place[2] % 2;
    }
    return n;
}

static void
banks_cost_no_warp(void **state)
{
    static const struct register_room room = {65536, 64, 255, 3};
    unsigned more = 0, without = 0, with = 0;
    (void)state;
    for (size_t i = 0; allot_workloads[i]; i++) {
        size_t len;
        const char *text = allot_workload_ptx(allot_workloads[i]->name, "nvcc", &len);
        if (!text)
            continue;
        struct ptx_module *m = kit_parse(text), *b = kit_parse(text);
        run(m, "cleanup,register-allocate");
        run(b, "cleanup,register-allocate:banks=2:reserved=3");
        for (size_t k = 0; k < m->funcs.n; k++) {
            const struct ptx_func *f = m->funcs.v[k], *g = b->funcs.v[k];
            if (!f->has_body)
                continue;
            if (g->registers > register_step(f, f->registers, &room))
                fail_msg("%s, %s: %u registers, %u with banks", allot_workloads[i]->name,
                         f->name, f->registers, g->registers);
            more += g->registers > f->registers;
            without += in_one_bank(f);
            with += in_one_bank(g);
        }
        ptx_module_free(m);
        ptx_module_free(b);
    }
    print_message(
        "%u kernels with more registers; sources in one bank: %u, %u with banks\n", more,
        without, with);
    assert_true(more > 10);
    assert_true(with * 4 < without);
}

static void
near_maxlive(void **state)
{
    static const char *const compilers[] = {"clang", "nvcc"};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; allot_workloads[i]; i++) {
            size_t len;
            const char *text =
                allot_workload_ptx(allot_workloads[i]->name, compilers[c], &len);
            if (!text || !in_sample(i, 3 * (unsigned)c))
                continue;
            struct ptx_module *m = kit_parse(text);
            run(m, "cleanup");
            uint32_t live[64] = {0};
            for (size_t k = 0; k < m->funcs.n && k < 64; k++) {
                struct usage u;
                if (!m->funcs.v[k]->has_body)
                    continue;
                usage_of(m->funcs.v[k], &u);
                live[k] = u.live_registers;
                usage_free(&u);
            }
            run(m, "register-allocate");
            for (size_t k = 0; k < m->funcs.n && k < 64; k++) {
                const struct ptx_func *f = m->funcs.v[k];
                if (f->registers * 10 > live[k] * 11)
                    fail_msg("%s (%s), %s: %u registers, MAXLIVE %u",
                             allot_workloads[i]->name, compilers[c], f->name,
                             f->registers, live[k]);
                assert_true(!f->has_body || f->registers >= live[k]);
            }
            ptx_module_free(m);
        }
}

static void
keeps_to_limits(void **state)
{
    (void)state;
    for (size_t i = 0; allot_workloads[i]; i++)
        for (int limit = 40; limit >= 14 && in_sample(i, 1); limit -= 13) {
            size_t len;
            struct ptx_module *m =
                kit_parse(allot_workload_ptx(allot_workloads[i]->name, "clang", &len));
            char pass[64];
            snprintf(pass, sizeof pass, "register-allocate:max-registers=%d", limit);
            run(m, pass);
            for (size_t k = 0; k < m->funcs.n; k++)
                assert_true((int)m->funcs.v[k]->registers <= limit);
            ptx_module_free(m);
        }
}

/* Directives of the kernel limit it too. */
static void
directives(void **state)
{
    static const struct {
        const char *head;
        unsigned most;
    } cases[] = {{"", 12}, {".maxnreg 8", 8}, {".maxntid 256\n.minnctapersm 32", 8}};
    (void)state;
    for (int c = 0; c < 3; c++) {
        char text[4000];
        int n = snprintf(text, sizeof text,
                         HEAD ".visible .entry k(.param .u64 p)\n%s\n{\n.reg .b64 %%a;\n"
                              ".reg .b32 %%r<12>;\nld.param.u64 %%a, [p];\n",
                         cases[c].head);
        for (int i = 0; i < 10; i++)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "ld.volatile.global.u32 %%r%d, [%%a+%d];\n", i, 4 * i);
        for (int i = 0; i < 10; i++)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "st.global.u32 [%%a+%d], %%r%d;\n", 40 - 4 * i, i);
        snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
        struct ptx_module *m = kit_parse(text);
        run(m, "register-allocate");
        assert_int_equal(m->funcs.v[0]->registers, cases[c].most);
        ptx_module_free(m);
    }
}

static void
impossible(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(KERNEL("ld.param.u64 %rd1, [p];\n"
                                            "ld.global.f64 %fd1, [%rd1];\n"
                                            "ld.global.f64 %fd2, [%rd1+8];\n"
                                            "fma.rn.f64 %fd3, %fd1, %fd2, %fd1;\n"
                                            "st.global.f64 [%rd1], %fd3;\n"));
    struct diag_sink diag = {0};
    assert_false(pass_run(m, "register-allocate:max-registers=3", NULL, NULL, &diag));
    assert_non_null(strstr(diag.list[0]->message, "cannot do with 3 registers"));
    assert_int_equal(diag.list[0]->line, 4);
    diag_free(&diag);
    ptx_module_free(m);
}

/* -- the checker -- */

static const char loop[] =
    KERNEL("ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [q];\nmov.u32 %r2, 0;\n"
           "mov.u32 %r3, %tid.x;\n"
           "$l:\nadd.s32 %r2, %r2, %r3;\nadd.s32 %r4, %r2, %r1;\n"
           "setp.lt.s32 %p1, %r4, 100;\n"
           "@%p1 mov.u32 %r5, %r4;\n@%p1 bra $l;\n"
           "cvt.s64.s32 %rd2, %r4;\nadd.s64 %rd3, %rd1, %rd2;\n"
           "st.global.u32 [%rd1], %r2;\nst.global.u32 [%rd3], %r3;\n"
           "st.global.u32 [%rd1+4], %r5;\nst.global.u32 [%rd1+8], %r1;\n"
           "add.s32 %r6, %r1, %r3;\nst.global.u32 [%rd1+12], %r6;\n"
           "add.s32 %r3, %r3, 1;\nst.global.u32 [%rd1+16], %r3;\n"
           "st.global.u32 [%rd1+20], %r6;\n"
           "ld.global.u32 %r7, [%rd1+24];\ncvt.u64.u32 %rd4, %r7;\n@%p1 bra $m;\n"
           "add.s32 %r0, %r1, 1;\nst.global.u32 [%rd1+28], %r0;\n"
           "$m:\nst.global.u64 [%rd1+32], %rd4;\n");

/* An allocation by hand: registers in the order of their numbers. */
static struct ptx_func *
by_hand(struct ptx_module *m, int32_t **origin)
{
    struct ptx_func *f = m->funcs.v[0];
    uint32_t at = 0, p = 0;
    for (size_t i = 0; i < f->regs.n; i++) {
        struct ptx_reg *r = &f->regs.v[i];
        if (r->type == PTX_PRED) {
            r->place = (uint16_t)(++p);
            continue;
        }
        unsigned n = ptx_type_bytes(r->type) == 8 ? 2 : 1;
        at = (at + n - 1) / n * n;
        r->place = (uint16_t)(at + 1);
        at += n;
    }
    *origin = calloc(f->body.n + 4, sizeof **origin);
    for (size_t i = 0; i < f->body.n; i++)
        (*origin)[i] = (int32_t)i;
    f->registers = at;
    f->predicates = p;
    return f;
}

static uint16_t *
place(struct ptx_func *f, const char *name)
{
    for (size_t i = 0; i < f->regs.n; i++)
        if (!strcmp(f->regs.v[i].name, name))
            return &f->regs.v[i].place;
    fail_msg("no %s", name);
    return NULL;
}

static bool
check(void (*alter)(struct ptx_func *f, int32_t *origin), char *why)
{
    struct ptx_module *before = kit_parse(loop), *after = kit_parse(loop);
    int32_t *origin;
    struct ptx_func *f = by_hand(after, &origin);
    /* same variables */
    for (size_t i = 0; i < f->body.n; i++)
        for (unsigned k = 0; k < f->body.v[i].nops; k++)
            f->body.v[i].ops[k].var = before->funcs.v[0]->body.v[i].ops[k].var;
    if (alter)
        alter(f, origin);
    struct diag_sink diag = {0};
    bool ok = register_check(before->funcs.v[0], f, origin, NULL, &diag);
    snprintf(why, 300, "%s", diag.n ? diag.list[0]->message : "");
    assert_int_equal(ok, diag.errors == 0);
    diag_free(&diag);
    free(origin);
    ptx_module_free(before);
    ptx_module_free(after);
    return ok;
}

static void
clash(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    *place(f, "%r4") = *place(f, "%r3"); /* r3 is read after the loop */
}

static void
half_of_a_pair(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    *place(f, "%r2") = (uint16_t)(*place(f, "%rd1") + 1);
}

static void
guarded_clash(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    *place(f, "%r5") = *place(f, "%r4"); /* lanes with p false would lose r5 */
}

static void
wrong_read(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].op == PTX_OP_CVTII)
            f->body.v[i].ops[1].reg -= 1; /* r3 for r4 */
}

static void
lost_instruction(struct ptx_func *f, int32_t *origin)
{
    memmove(&f->body.v[6], &f->body.v[7], sizeof f->body.v[0] * (f->body.n - 7));
    memmove(&origin[6], &origin[7], sizeof *origin * (f->body.n - 7));
    f->body.n--;
}

static void
lost_store(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    f->body.n--; /* the last */
}

static void
other_literal(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].op == PTX_OP_SETP)
            f->body.v[i].ops[3].imm++;
}

static void
exchanged(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    struct ptx_inst t = f->body.v[5];
    f->body.v[5] = f->body.v[6];
    f->body.v[6] = t;
}

static void
harmless(struct ptx_func *f, int32_t *origin)
{
    (void)origin;
    *place(f, "%rd3") = *place(f, "%rd2"); /* its operand ends there */
}

/* Puts a copy of instruction `which` before instruction `at`. */
static struct ptx_inst *
repeat(struct ptx_func *f, int32_t *origin, size_t which, size_t at)
{
    struct ptx_inst in = f->body.v[which];
    in.ops = ptx_operands_dup(f->module, in.ops, in.nops);
    vec_push(&f->body);
    memmove(&f->body.v[at + 1], &f->body.v[at], (f->body.n - 1 - at) * sizeof *f->body.v);
    memmove(&origin[at + 1], &origin[at], (f->body.n - 1 - at) * sizeof *origin);
    f->body.v[at] = in;
    origin[at] = register_check_inserted((int32_t)at);
    return &f->body.v[at];
}

enum {
    ADD_R2 = 5,
    ADD_R4,
    CVT = 10,
    ADD_RD3,
    ST_RD1,
    ST_RD3,
    ADD_R6 = 16,
    ST_LAST = 20,
    CVT_RD4 = 22,
    ST_RD4 = 27
};

static void
repeated(struct ptx_func *f, int32_t *origin)
{
    assert_int_equal(f->body.v[ADD_RD3].op, PTX_OP_ADD);
    repeat(f, origin, ADD_RD3, ST_RD3);
}

static void
moved_to_its_read(struct ptx_func *f, int32_t *origin)
{
    repeat(f, origin, ADD_RD3, ST_RD3);
    memmove(&f->body.v[ADD_RD3], &f->body.v[ADD_RD3 + 1],
            (f->body.n - ADD_RD3 - 1) * sizeof *f->body.v);
    memmove(&origin[ADD_RD3], &origin[ADD_RD3 + 1],
            (f->body.n - ADD_RD3 - 1) * sizeof *origin);
    f->body.n--;
}

static void
repeated_behind_the_loop(struct ptx_func *f, int32_t *origin)
{
    repeat(f, origin, ADD_R4, CVT); /* r2 is what it was for r4 */
}

static void
repeated_too_late(struct ptx_func *f, int32_t *origin)
{
    repeat(f, origin, ADD_R4, ADD_R4); /* r2 has changed since r4 was computed */
}

static void
source_has_changed(struct ptx_func *f, int32_t *origin)
{
    assert_int_equal(f->body.v[ADD_R6].op, PTX_OP_ADD);
    repeat(f, origin, ADD_R6, ST_LAST);
}

/* From a register that nothing reads any more, in another block. */
static void
repeated_from_the_dead(struct ptx_func *f, int32_t *origin)
{
    assert_int_equal(f->body.v[CVT_RD4].op, PTX_OP_CVTII);
    repeat(f, origin, CVT_RD4, ST_RD4);
}

static void
dead_and_overwritten(struct ptx_func *f, int32_t *origin)
{
    repeat(f, origin, CVT_RD4, ST_RD4);
    *place(f, "%r0") = *place(f, "%r7"); /* on one way */
}

static void
of_another_register(struct ptx_func *f, int32_t *origin)
{
    struct ptx_inst *in = repeat(f, origin, ADD_RD3, ST_RD3);
    in->ops[1].reg = in->ops[2].reg;
}

static void
of_another_parameter(struct ptx_func *f, int32_t *origin)
{
    struct ptx_inst *in = repeat(f, origin, 0, ADD_R2); /* ld.param */
    in->ops[1].off += 8;
}

static void
repeated_before_its_source(struct ptx_func *f, int32_t *origin)
{
    repeat(f, origin, ADD_RD3, CVT); /* rd2 has no value yet */
}

static void
checker_finds(void **state)
{
    (void)state;
    static const struct {
        void (*alter)(struct ptx_func *, int32_t *);
        const char *why; /* NULL: it is right */
    } cases[] = {{NULL, NULL},
                 {harmless, NULL},
                 {clash, "does not hold the value of %r3"},
                 {half_of_a_pair, "does not hold the value of %rd1"},
                 {guarded_clash, "does not hold the value of %r4"},
                 {wrong_read, "does not hold the value of %r4"},
                 {lost_instruction, "does not hold the value of %r4"},
                 {lost_store, "no move"},
                 {other_literal, "an operand has changed"},
                 {repeated, NULL},
                 {moved_to_its_read, NULL},
                 {repeated_behind_the_loop, NULL},
                 {repeated_too_late, "repeats no definition"},
                 {source_has_changed, "repeats no definition"},
                 {repeated_from_the_dead, NULL},
                 {dead_and_overwritten, "repeats no definition"},
                 {of_another_register, "repeats no definition"},
                 {of_another_parameter, "repeats no definition"},
                 {repeated_before_its_source, "repeats no definition"},
                 {exchanged, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[300];
        bool ok = check(cases[i].alter, why);
        if (ok != !cases[i].why || (cases[i].why && !strstr(why, cases[i].why)))
            fail_msg("case %zu: %s: %s", i, ok ? "accepted" : "refused", why);
    }
}

/* Code whose registers are physical already, held against itself: what a guarded write adds to
 * has been lost with the pair that overlaps it. */
static void
overlapping_registers_end(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        HEAD
        ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %R<2>;\n.reg .b64 %D0, %D2;\n"
        ".reg .pred %P0;\nld.param.u64 %D2, [p];\nmov.u32 %R0, %tid.x;\n"
        "setp.lt.u32 %P0, %R0, 7;\nst.global.u32 [%D2], %R0;\nmov.u64 %D0, 5;\n"
        "st.global.u64 [%D2+8], %D0;\n@%P0 mov.u32 %R0, 3;\n"
        "st.global.u32 [%D2+16], %R0;\nret;\n}\n");
    struct ptx_func *f = m->funcs.v[0];
    struct diag_sink diag = {0};
    int32_t origin[16];
    for (size_t i = 0; i < f->regs.n; i++)
        f->regs.v[i].place = (uint16_t)(f->regs.v[i].name[2] - '0' + 1);
    for (int32_t i = 0; i < 16; i++)
        origin[i] = i;
    f->registers = 4;
    assert_true(register_check(f, f, origin, NULL, &diag));
    diag_free(&diag);
    ptx_module_free(m);
}

/* A register without a place, or with one above the count, is an error of the check: never a
 * read beyond the arrays of the simulator. */
static void
places_within_the_count(void **state)
{
    (void)state;
    struct ptx_module *m =
        kit_parse(KERNEL("ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\n"
                         "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.u32 [%rd1], %r1;\n"));
    struct ptx_func *f = m->funcs.v[0];
    struct diag_sink diag = {0};
    assert_true(register_check_places(f, &diag)); /* virtual */
    assert_true(pass_run(m, "register-allocate", NULL, NULL, &diag));
    assert_true(register_check_places(f, &diag));
    assert_int_equal(f->registers, 3);
    for (size_t i = 0; i < f->regs.n; i++) {
        struct ptx_reg *r = &f->regs.v[i], was = *r;
        bool pair = ptx_type_bytes(r->type) == 8;
        r->place = 0;
        assert_false(register_check_places(f, NULL));
        r->place = r->type == PTX_PRED ? 2 : pair ? 3 : 4;
        assert_false(register_check_places(f, NULL));
        r->place = r->type == PTX_PRED ? 1 : pair ? 2 : 3; /* the last */
        assert_true(register_check_places(f, &diag));
        *r = was;
    }
    /* The executor refuses such code too. */
    f->regs.v[0].place = 99;
    struct dev_mem *mem = dev_mem_new(1 << 20);
    struct exec_image *im = exec_image_new(m, mem, &diag);
    assert_null(exec_decode(im, f, &diag));
    struct strbuf why = {0};
    diag_print(&diag, &why);
    assert_non_null(strstr(why.s, "has no place in the 3 registers and 1 predicates"));
    strbuf_free(&why);
    exec_image_free(im);
    dev_mem_free(mem);
    diag_free(&diag);
    ptx_module_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_maxlive),
                                       cmocka_unit_test(banks_cost_no_warp),
                                       cmocka_unit_test(keeps_to_limits),
                                       cmocka_unit_test(directives),
                                       cmocka_unit_test(impossible),
                                       cmocka_unit_test(checker_finds),
                                       cmocka_unit_test(overlapping_registers_end),
                                       cmocka_unit_test(places_within_the_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
