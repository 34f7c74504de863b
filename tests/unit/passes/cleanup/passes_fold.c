/* passes_fold.c: the constant folder against the executor. Instructions with literal
 * sources, drawn at random and from the edges, are run as they are and folded; what they
 * store is the same bit for bit, and of the folded program only moves and stores are
 * left.
 */
#include "allot/allot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

/* Instruction, then width in bits of its result and sources (1: a predicate). */
static const struct {
    const char *text;
    int d, s[4];
} forms[] = {
    {"add.s32", 32, {32, 32}},
    {"add.sat.s32", 32, {32, 32}},
    {"sub.u16", 16, {16, 16}},
    {"mul.lo.u64", 64, {64, 64}},
    {"mul.hi.s64", 64, {64, 64}},
    {"mul.hi.u32", 32, {32, 32}},
    {"mul.wide.s32", 64, {32, 32}},
    {"mul.wide.u16", 32, {16, 16}},
    {"mad.lo.s32", 32, {32, 32, 32}},
    {"mad.wide.u32", 64, {32, 32, 64}},
    {"mad.hi.sat.s32", 32, {32, 32, 32}},
    {"mul24.hi.s32", 32, {32, 32}},
    {"sad.s32", 32, {32, 32, 32}},
    {"div.s32", 32, {32, 32}},
    {"div.u64", 64, {64, 64}},
    {"rem.s16", 16, {16, 16}},
    {"rem.u32", 32, {32, 32}},
    {"abs.s64", 64, {64}},
    {"neg.s16", 16, {16}},
    {"min.s32", 32, {32, 32}},
    {"max.u64", 64, {64, 64}},
    {"popc.b64", 32, {64}},
    {"clz.b32", 32, {32}},
    {"bfind.s32", 32, {32}},
    {"bfind.shiftamt.u64", 32, {64}},
    {"brev.b32", 32, {32}},
    {"bfe.s32", 32, {32, 32, 32}},
    {"bfi.b64", 64, {64, 64, 32, 32}},
    {"dp4a.s32.u32", 32, {32, 32, 32}},
    {"add.rn.f32", 32, {32, 32}},
    {"add.ftz.sat.f32", 32, {32, 32}},
    {"sub.rp.f64", 64, {64, 64}},
    {"mul.rz.f32", 32, {32, 32}},
    {"fma.rm.f32", 32, {32, 32, 32}},
    {"fma.rn.f64", 64, {64, 64, 64}},
    {"div.rn.f32", 32, {32, 32}},
    {"div.approx.f32", 32, {32, 32}},
    {"sqrt.rn.f64", 64, {64}},
    {"rsqrt.approx.f32", 32, {32}},
    {"sin.approx.f32", 32, {32}},
    {"ex2.approx.ftz.f32", 32, {32}},
    {"min.NaN.f32", 32, {32, 32}},
    {"neg.f64", 64, {64}},
    {"copysign.f32", 32, {32, 32}},
    {"setp.lt.s32", 1, {32, 32}},
    {"setp.gtu.f32", 1, {32, 32}},
    {"setp.num.f64", 1, {64, 64}},
    {"setp.hi.or.u32", 1, {32, 32, 1}},
    {"set.le.u32.f32", 32, {32, 32}},
    {"selp.b64", 64, {64, 64, 1}},
    {"slct.f32.s32", 32, {32, 32, 32}},
    {"and.b16", 16, {16, 16}},
    {"xor.pred", 1, {1, 1}},
    {"not.b64", 64, {64}},
    {"cnot.b32", 32, {32}},
    {"lop3.b32", 32, {32, 32, 32, -105}},
    {"shf.l.wrap.b32", 32, {32, 32, 32}},
    {"shl.b64", 64, {64, 32}},
    {"shr.s16", 16, {16, 32}},
    {"shr.u32", 32, {32, 32}},
    {"prmt.b32", 32, {32, 32, 32}},
    {"cvt.s64.s32", 64, {32}},
    {"cvt.u16.u64", 16, {64}},
    {"cvt.sat.s16.s32", 16, {32}},
    {"cvt.rzi.s32.f32", 32, {32}},
    {"cvt.rni.u64.f64", 64, {64}},
    {"cvt.rn.f32.u64", 32, {64}},
    {"cvt.rz.f32.f64", 32, {64}},
    {"cvt.f64.f32", 64, {32}},
    {"cvt.rpi.f32.f32", 32, {32}},
};
enum { NFORMS = sizeof forms / sizeof *forms, TRIES = 24 };

static uint64_t seed = 1;

static uint64_t
draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    static const uint64_t edge[] = {0,
                                    1,
                                    2,
                                    31,
                                    32,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x3f800000,
                                    0xbf800000,
                                    0x7f800000,
                                    0x7fc00000,
                                    0x00000001,
                                    0x00800000,
                                    0x3ff0000000000000,
                                    0x8000000000000000,
                                    0x7ff0000000000000,
                                    0xffffffffffffffff};
    uint64_t k = seed >> 33;
    if (k % 3 == 0)
        return edge[k / 3 % (sizeof edge / sizeof *edge)];
    return seed ^ seed >> 29 ^ seed << 31;
}

static char *
program(void)
{
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 8.0\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n"
                    "ld.param.u64 %rd1, [p];\n");
    static const char letter[] = "pxhrl"; /* register names by class */
    unsigned n = 0, at = 0;
    for (unsigned f = 0; f < NFORMS; f++)
        for (unsigned t = 0; t < TRIES; t++, at++) {
            char list[200] = "";
            for (int i = 0; i < 4 && forms[f].s[i]; i++) {
                int w = forms[f].s[i];
                uint64_t v = draw();
                if (w < 0) {
                    snprintf(list + strlen(list), 40, ", %d", -w);
                    continue;
                }
                if (w == 1)
                    strbuf_printf(&b, ".reg .pred %%p%u;\nmov.pred %%p%u, %d;\n", n, n,
                                  (int)(v >> 7 & 1));
                else
                    strbuf_printf(
                        &b, ".reg .b%d %%%c%u;\nmov.b%d %%%c%u, 0x%llx;\n", w,
                        letter[w / 16 > 3 ? 4 : w / 16 + 1], n, w,
                        letter[w / 16 > 3 ? 4 : w / 16 + 1], n,
                        (unsigned long long)(w == 64 ? v : v & ((1ull << w) - 1)));
                snprintf(list + strlen(list), 40, ", %%%c%u",
                         w == 1 ? 'p' : letter[w / 16 > 3 ? 4 : w / 16 + 1], n);
                n++;
            }
            if (forms[f].d == 1)
                strbuf_printf(&b,
                              ".reg .pred %%q%u;\n%s %%q%u%s;\n.reg .b32 %%s%u;\n"
                              "selp.b32 %%s%u, 1, 0, %%q%u;\n"
                              "st.global.b32 [%%rd1+%u], %%s%u;\n",
                              at, forms[f].text, at, list, at, at, at, at * 8, at);
            else
                strbuf_printf(&b,
                              ".reg .b%d %%d%u;\n%s %%d%u%s;\n"
                              "st.global.b%d [%%rd1+%u], %%d%u;\n",
                              forms[f].d, at, forms[f].text, at, list, forms[f].d, at * 8,
                              at);
        }
    strbuf_addz(&b, "ret;\n}\n");
    return strbuf_take(&b);
}

static void
run(struct allot_module *m, uint64_t *out, size_t n)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    struct allot_options o = {.functional = true};
    struct allot_device *dev = allot_device_new(machine, &o, d);
    uint64_t p = allot_alloc(dev, n * 8, d);
    const void *args[] = {&p};
    struct allot_launch l = {.module = m,
                             .kernel = "k",
                             .grid = {1, 1, 1},
                             .block = {1, 1, 1},
                             .args = args,
                             .nargs = 1};
    if (!allot_launch(dev, &l, d))
        fail_msg("%s", allot_diag_text(d));
    assert_true(allot_read(dev, p, out, n * 8, d));
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_diag_free(d);
}

static void
folder_equals_executor(void **state)
{
    (void)state;
    char *text = program();
    static uint64_t plain[NFORMS * TRIES], folded[NFORMS * TRIES];
    for (int side = 0; side < 2; side++) {
        struct allot_diag *d = allot_diag_new();
        struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
        if (!m || (side && !allot_module_opt(m, "constant-fold", NULL, d)))
            fail_msg("%s", allot_diag_text(d));
        if (side) {
            char *printed = allot_module_print(m);
            for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n"))
                if (*line == '\t' && line[1] != '.' && strncmp(line, "\tmov.", 5) &&
                    strncmp(line, "\tst.", 4) && strncmp(line, "\tld.param", 9) &&
                    strcmp(line, "\tret;"))
                    fail_msg("not folded: %s", line);
            free(printed);
        }
        run(m, side ? folded : plain, NFORMS * TRIES);
        allot_module_free(m);
        allot_diag_free(d);
    }
    for (unsigned i = 0; i < NFORMS * TRIES; i++)
        if (plain[i] != folded[i])
            fail_msg("%s: executor %llx, folder %llx", forms[i / TRIES].text,
                     (unsigned long long)plain[i], (unsigned long long)folded[i]);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(folder_equals_executor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
