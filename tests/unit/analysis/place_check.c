/* place_check.c: names that share a place, live together or not. Places are those that the names
 * say: %R5 is register 5, %D4 registers 4 and 5, %H5 register 5, %P1 predicate 1. */
#include "unit/kit/ptx_kit.h"

#include "analysis/guarded.h"
#include "analysis/place_check.h"

/* "written kept" of the first clash and the line of the instruction in body text, "": none. */
static const char *
clash(const char *body, bool allocated)
{
    static char text[64];
    static const char head[] =
        HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %P<4>;\n.reg .b16 %H<8>;\n"
             ".reg .b32 %R<8>;\n.reg .b64 %D<8>;\n";
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%s\n}\n", head, body);
    struct ptx_module *m = kit_parse(b.s);
    struct ptx_func *f = m->funcs.v[0];
    for (size_t i = 0; i < f->regs.n; i++)
        f->regs.v[i].place = (uint16_t)(atoi(f->regs.v[i].name + 2) + 1);
    f->registers = allocated ? 9 : 0;
    f->predicates = allocated ? 4 : 0;
    guarded_mark(f);
    struct place_clash x;
    text[0] = 0;
    if (place_check_clash(f, &x)) {
        unsigned before = 0;
        for (const char *s = head; *s; s++)
            before += *s == '\n';
        snprintf(text, sizeof text, "%s %s %u", f->regs.v[x.written].name,
                 f->regs.v[x.kept].name, x.in->line - before);
    }
    assert_int_equal(place_check_clash(f, NULL), text[0] != 0);
    ptx_module_free(m);
    strbuf_free(&b);
    return text;
}

#define ADDRESS "ld.param.u64 %D0, [p];\n"
#define ST(r) "st.global.u32 [%D0], " r ";\n"
#define ST64(r) "st.global.u64 [%D0], " r ";\n"

static void
what_shares_a_place(void **state)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        /* a pair over its lower and its upper half, and beside them */
        {ADDRESS "mov.u32 %R4, 1;\nld.global.u64 %D4, [%D0];\n" ST("%R4") ST64("%D4"),
         "%D4 %R4 3"},
        {ADDRESS "mov.u32 %R5, 1;\nld.global.u64 %D4, [%D0];\n" ST("%R5") ST64("%D4"),
         "%D4 %R5 3"},
        {ADDRESS "mov.u32 %R3, 1;\nld.global.u64 %D4, [%D0];\n" ST("%R3") ST64("%D4"),
         ""},
        {ADDRESS "mov.u32 %R6, 1;\nld.global.u64 %D4, [%D0];\n" ST("%R6") ST64("%D4"),
         ""},
        /* a half over a pair, 16 bits over 32; the first of two */
        {ADDRESS "ld.global.u64 %D4, [%D0];\nmov.u32 %R5, 1;\n" ST("%R5") ST64("%D4"),
         "%R5 %D4 3"},
        {ADDRESS "mov.u32 %R4, 1;\nmov.u16 %H4, 1;\n" ST("%R4") "mov.u16 %H4, 2;\n" ST(
             "%R4") "st.global.u16 [%D0], %H4;",
         "%H4 %R4 3"},
        /* nobody reads what is written: the place is gone all the same */
        {ADDRESS "mov.u32 %R4, 1;\nld.global.u64 %D4, [%D0];\n" ST("%R4"), "%D4 %R4 3"},
        /* read by the instruction itself; written again before it is read */
        {ADDRESS "mov.u32 %R4, 1;\ncvt.u64.u32 %D4, %R4;\n" ST64("%D4"), ""},
        {ADDRESS "mov.u32 %R4, 1;\n" ST("%R4") "ld.global.u64 %D4, [%D0];\n" ST64(
             "%D4") "mov.u32 %R4, 2;\n" ST("%R4"),
         ""},
        /* two results of one instruction */
        {ADDRESS "shfl.sync.idx.b32 %R4|%P1, %R2, 0, 31, -1;\n" ST("%R4"), ""},
        {ADDRESS "ld.global.v2.u32 {%R4, %R5}, [%D0];\n" ST("%R4") ST("%R5"), ""},
        {ADDRESS "mov.u32 %R2, 3;\nmov.b32 {%H4, %H5}, %R2;\nst.global.u16 [%D0], %H4;\n"
                 "st.global.u16 [%D0], %H5;",
         ""},
        /* a place that gets what it holds; and what another one holds */
        {ADDRESS "mov.b64 {%R0, %R1}, %D0;\n" ST("%R0") ST("%R1"), ""},
        {ADDRESS "mov.b64 {%R1, %R0}, %D0;\n" ST("%R0"), "%R0 %D0 2"},
        {ADDRESS "mov.u32 %R4, 1;\nmov.u32 %R5, 2;\nmov.b64 %D4, {%R4, %R5};\n" ST64(
             "%D4") ST("%R5"),
         ""},
        {ADDRESS "mov.u32 %R4, 1;\nmov.u32 %R5, 2;\nmov.b64 %D4, {%R5, %R4};\n" ST64(
             "%D4") ST("%R5"),
         "%D4 %R5 4"},
        {ADDRESS "mov.u32 %R4, 1;\nmov.b32 {%H4, %H5}, %R4;\n" ST(
             "%R4") "st.global.u16 [%D0], %H4;",
         "%H4 %R4 3"},
        /* predicates have a file of their own */
        {ADDRESS "mov.u32 %R2, 1;\nsetp.eq.u32 %P2, %R2, 1;\n@%P2 " ST("%R2"), ""},
        {ADDRESS "setp.eq.u64 %P1, %D0, 1;\nmov.u32 %R1, 1;\n@%P1 " ST("%R1"),
         "%R1 %D0 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(clash(cases[i].body, true), cases[i].want);
        assert_string_equal(clash(cases[i].body, false), "");
    }
}

static void
values_that_no_path_has_written(void **state)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        /* one arm writes the pair, the other %R4, which is read where they meet */
        {ADDRESS "setp.eq.u64 %P1, %D0, 1;\n@%P1 bra A;\nmov.u32 %R4, 1;\nbra B;\nA:\n"
                 "ld.global.u64 %D4, [%D0];\n" ST64("%D4") "B:\n@%P1 " ST("%R4"),
         ""},
        /* in a loop the other trip has written it */
        {ADDRESS "LOOP:\nsetp.eq.u64 %P1, %D0, 1;\n@%P1 bra A;\nmov.u32 %R4, 1;\nbra "
                 "B;\nA:\nld.global.u64 %D4, [%D0];\n" ST64("%D4") "B:\n@%P1 " ST(
                     "%R4") "bra LOOP;",
         "%D4 %R4 8"},
        /* what writes it is never reached */
        {ADDRESS "bra A;\nU:\nmov.u32 %R4, 1;\nA:\nld.global.u64 %D4, [%D0];\n" ST64(
             "%D4") ST("%R4"),
         ""},
        /* written after, in the same block: not yet */
        {ADDRESS
         "ld.global.u64 %D4, [%D0];\n" ST64("%D4") "@%P1 mov.u32 %R4, 1;\n" ST("%R4"),
         ""},
        /* a guarded write whose old value somebody reads, and one whose nobody does */
        {ADDRESS "mov.u32 %R4, 2;\nld.global.u64 %D4, [%D0];\n" ST64(
             "%D4") "@%P1 mov.u32 %R4, 1;\n" ST("%R4"),
         "%D4 %R4 3"},
        {ADDRESS "mov.u32 %R4, 2;\nld.global.u64 %D4, [%D0];\n" ST64(
             "%D4") "@%P1 mov.u32 %R4, 1;\n@%P1 " ST("%R4"),
         ""},
        /* two blocks on */
        {ADDRESS "mov.u32 %R4, 2;\n@%P1 bra A;\nld.global.u64 %D4, [%D0];\n" ST64(
             "%D4") "A:\n@%P2 bra B;\n" ST("%R7") "B:\n" ST("%R4"),
         "%D4 %R4 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(clash(cases[i].body, true), cases[i].want);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shares_a_place),
        cmocka_unit_test(values_that_no_path_has_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
