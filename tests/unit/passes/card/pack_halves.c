/* pack_halves.c: which conversions become one, each by a kernel whose result is known by hand
 * (unit/kit/rules_kit.h). */
#include "unit/kit/rules_kit.h"

/* The bits of n as f16, for 0 <= n < 64. */
static uint32_t
half_of(uint32_t n)
{
    uint32_t e = 0;
    while (n >> (e + 1))
        e++;
    return n ? (e + 15) << 10 | (n << (10 - e) & 0x3ff) : 0;
}

#define VALUE(name, formula)                                                             \
    static uint32_t name(uint32_t x)                                                     \
    {                                                                                    \
        return formula;                                                                  \
    }
VALUE(two, half_of(x) | half_of(x + 1) << 16)
VALUE(two_swapped, half_of(x + 1) | half_of(x) << 16)
VALUE(first_twice, half_of(x) | half_of(x) << 16)
VALUE(sum_of_all, x + half_of(x) + half_of(x + 1))
VALUE(old_first, half_of(x) | half_of(x + 2) << 16)
VALUE(second_only, half_of(x + 1))
VALUE(low_changed, half_of(x + 1) << 16 | 7)
VALUE(low_only, half_of(x))
VALUE(small_first, x < 7 ? half_of(x) : half_of(x) | half_of(x + 1) << 16)

#define REGS                                                                             \
    ".reg .f32 %f<8>;\n.reg .b16 %h<8>;\ncvt.rn.f32.u32 %f1, %r1;\n"                     \
    "add.f32 %f2, %f1, 0f3F800000;\nadd.f32 %f3, %f2, 0f3F800000;\n"
#define FIRST "cvt.rn.f16.f32 %h1, %f1;\n"
#define SECOND "cvt.rn.f16.f32 %h2, %f2;\n"
#define RESULT                                                                           \
    "cvt.u32.u16 %r10, %h1;\ncvt.u32.u16 %r11, %h2;\nshl.b32 %r11, %r11, 16;\n"          \
    "or.b32 %r10, %r10, %r11;\n"

static const struct rules_rule rules[] = {
    {"in a row", REGS FIRST SECOND RESULT, 0, 0, two, NULL},
    {"the first result is read between",
     REGS FIRST "cvt.u32.u16 %r10, %h1;\n" SECOND
                "cvt.u32.u16 %r11, %h2;\nshl.b32 %r11, %r11, 16;\n"
                "or.b32 %r10, %r10, %r11;\n",
     0, 0, two, NULL},
    {"... and the second value is computed after it",
     REGS FIRST "cvt.u32.u16 %r10, %h1;\nadd.f32 %f2, %f1, 0f40000000;\n" SECOND
                "cvt.u32.u16 %r11, %h2;\nshl.b32 %r11, %r11, 16;\n"
                "or.b32 %r10, %r10, %r11;\n",
     0, 0, old_first, NULL},
    {"the second value comes from the first result",
     REGS FIRST "cvt.f32.f16 %f2, %h1;\n" SECOND RESULT, 0, 0, first_twice, NULL},
    {"what the first converts is written between",
     REGS FIRST "mov.f32 %f1, 0f42000000;\n" SECOND RESULT, 0, 0, two, NULL},
    {"the second's register holds another value between",
     REGS "cvt.u16.u32 %h2, %r1;\n" FIRST "cvt.u32.u16 %r5, %h2;\n"
          "cvt.u32.u16 %r6, %h1;\n" SECOND
          "cvt.u32.u16 %r7, %h2;\nadd.u32 %r10, %r5, %r6;\nadd.u32 %r10, %r10, %r7;\n",
     0, 0, sum_of_all, NULL},
    {"one register for both",
     REGS FIRST "cvt.rn.f16.f32 %h1, %f2;\ncvt.u32.u16 %r10, %h1;\n", 0, 0, second_only,
     NULL},
    {"the first's register is written between",
     REGS FIRST "mov.u16 %h1, 7;\n" SECOND RESULT, 0, 0, low_changed, NULL},
    {"in another block", REGS FIRST "mov.u16 %h2, 0;\n@%p1 bra X;\n" SECOND "X:\n" RESULT,
     1, 0, small_first, NULL},
    {"packed by the code", REGS FIRST SECOND "mov.b32 %r10, {%h1, %h2};\n", 0, 0, two,
     NULL},
    {"packed the other way round", REGS FIRST SECOND "mov.b32 %r10, {%h2, %h1};\n", 0, 0,
     two_swapped, NULL},
    {"packed when one half is another",
     REGS FIRST SECOND "mov.u16 %h1, 7;\nmov.b32 %r10, {%h1, %h2};\n", 0, 0, low_changed,
     NULL},
    {"packed in another block, where a half comes from two",
     REGS FIRST SECOND "mov.u32 %r5, 0;\nL:\nmov.b32 %r10, {%h1, %h2};\n"
                       "mov.u16 %h2, 0;\nadd.u32 %r5, %r5, 1;\n"
                       "setp.lt.u32 %p4, %r5, 2;\n@%p4 bra L;\n",
     1, 0, low_only, NULL},
};

static void
results_stay(void **state)
{
    rules_check_all(rules, sizeof rules / sizeof *rules, "pack-halves");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
