/* ptx_lex.c: literals and constant expressions: what value they have. */
#include "unit/kit/ptx_kit.h"

#include <math.h>

/* Value of `text` as the literal operand of a mov. */
static const struct ptx_operand *
literal(struct ptx_module **m, const char *mov, const char *text)
{
    struct strbuf b = {0};
    strbuf_printf(
        &b, HEAD ".entry k() { .reg .b64 %%rd; .reg .f64 %%fd; .reg .f32 %%f;\n%s %s;\n}",
        mov, text);
    *m = kit_parse(b.s);
    kit_roundtrip(*m, NULL);
    strbuf_free(&b);
    return &kit_inst(*m, 0)->ops[1];
}

static void
integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } t[] = {
        {"0", 0},
        {"0U", 0},
        {"42", 42},
        {"42U", 42},
        {"052", 42},
        {"0x2A", 42},
        {"0X2aU", 42},
        {"0b101010", 42},
        {"0B101010U", 42},
        {"-1", UINT64_MAX},
        {"- 1", UINT64_MAX},
        {"18446744073709551615", UINT64_MAX},
        {"0xffffffffffffffff", UINT64_MAX},
        {"-9223372036854775808", (uint64_t)1 << 63},
        {"0x8000000000000000", (uint64_t)1 << 63},
        {"01777777777777777777777", UINT64_MAX},
        {"WARP_SZ", 32},
        {"WARP_SZ*2-1", 63},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"7-2-1", 4},
        {"100/7/2", 7},
        {"-7/2", (uint64_t)-3},
        {"-7%2", (uint64_t)-1},
        {"-7 % 2", (uint64_t)-1},
        {"(.u64)(-7)/2", ((uint64_t)-7) / 2},
        {"-7/2U", ((uint64_t)-7) / 2},
        {"(.s64)0xfffffffffffffff9/2", (uint64_t)-3},
        {"1<<4|3", 19},
        {"1<<64", 0},
        {"-16>>2", (uint64_t)-4},
        {"-16>>70", UINT64_MAX},
        {"(.u64)-16>>60", 15},
        {"6&3^5", 7},
        {"6&(3^5)", 6},
        {"~0", UINT64_MAX},
        {"!5", 0},
        {"!0", 1},
        {"3<5", 1},
        {"-1<1", 1},
        {"-1<1U", 0},
        {"3>=5||2==2", 1},
        {"3!=3&&1", 0},
        {"1?2:3", 2},
        {"0?2:0?3:4", 4},
        {"5>3?-1:1", UINT64_MAX},
        {"+5", 5},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct ptx_module *m;
        const struct ptx_operand *o = literal(&m, "mov.u64 %rd,", t[i].text);
        if (o->kind != PTX_OPD_IMM || o->imm != t[i].value)
            fail_msg("%s is %llu", t[i].text, (unsigned long long)o->imm);
        ptx_module_free(m);
    }
}

static void
floats(void **state)
{
    (void)state;
    struct ptx_module *m;
    static const struct {
        const char *text;
        double value;
    } t[] = {{"0d3FF0000000000000", 1},
             {"0D3ff0000000000000", 1},
             {"1.5", 1.5},
             {"-1.5", -1.5},
             {"1.", 1},
             {"2.5e3", 2500},
             {"1e-3", 1e-3},
             {"1E+2", 100},
             {"0.1", 0.1},
             {"0dFFF0000000000000", -INFINITY},
             {"-0.0", -0.0},
             {"123456789.0", 123456789}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        const struct ptx_operand *o = literal(&m, "mov.f64 %fd,", t[i].text);
        double d;
        memcpy(&d, &o->imm, 8);
        if (o->kind != PTX_OPD_F64 || d != t[i].value ||
            signbit(d) != signbit(t[i].value))
            fail_msg("%s is %g", t[i].text, d);
        ptx_module_free(m);
    }
    const struct ptx_operand *o = literal(&m, "mov.f32 %f,", "0f3F800000");
    assert_int_equal(o->kind, PTX_OPD_F32);
    assert_int_equal(o->imm, 0x3f800000);
    ptx_module_free(m);
    o = literal(&m, "mov.f32 %f,", "-0F7fc00001");
    assert_int_equal(o->kind, PTX_OPD_F32);
    assert_int_equal(o->imm, 0xffc00001);
    ptx_module_free(m);
}

static void
comments_and_space(void **state)
{
    (void)state;
    struct ptx_module *m =
        kit_parse("/* a * b ** // \n */ .version 8.0 // x\n.target\tsm_80\r\n"
                  "\f.entry k /**/ ( ) {/***/ ret /* ; */ ; // }\n}");
    assert_int_equal(kit_func(m)->body.n, 1);
    assert_int_equal(kit_inst(m, 0)->line, 4);
    assert_int_equal(m->address_size, 32);
    ptx_module_free(m);
}

static void
nul_ends_the_text(void **state)
{
    (void)state;
    static const char text[] = ".version 8.0\n.target sm_80\n\0 this is not PTX";
    struct diag_sink diag = {0};
    struct ptx_module *m = ptx_parse("t", text, sizeof text, &diag);
    assert_non_null(m);
    ptx_module_free(m);
    diag_free(&diag);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(comments_and_space),
        cmocka_unit_test(nul_ends_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
