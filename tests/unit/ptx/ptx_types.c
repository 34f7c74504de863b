/* ptx_types.c: which register and literal types an instruction accepts (PTX
 * ISA 9.0, 9.4). Every instruction below is written with registers of every type in every
 * place, a few thousand lines in one module; the lines that the parser refuses must be
 * those that ptxas refuses. Without ptxas only the rules at the end are tested. */
#include "unit/kit/ptx_kit.h"
#include "unit/kit/skip.h"

/* Register names of each type; ~ in a line stands for the operand under test. */
static const char *const operands[] = {
    "%b8",  "%u8",    "%b16",       "%u16", "%s16",
    "%f16", "%b32",   "%u32",       "%s32", "%f32",
    "%b64", "%u64",   "%s64",       "%f64", "%p",
    "7",    "-1",     "0f3f800000", "1.5",  "0d3ff0000000000000",
    "sm",   "%tid.x", "%clock64",   "!%p",  "{%u16, %u16}",
};

static const char *const lines[] = {
    "add.s32 ~, %s32, %s32",
    "add.s32 %s32, ~, %s32",
    "add.s32 %s32, %s32, ~",
    "add.u16 ~, %u16, %u16",
    "add.u16 %u16, ~, 1",
    "add.f32 ~, %f32, %f32",
    "add.f32 %f32, %f32, ~",
    "add.f64 ~, %f64, %f64",
    "add.f64 %f64, %f64, ~",
    "add.s64 ~, %s64, %s64",
    "add.s64 %s64, %s64, ~",
    "mul.wide.s32 ~, %s32, %s32",
    "mul.wide.s32 %s64, %s32, ~",
    "mul.wide.u16 ~, %u16, 3",
    "mad.lo.u32 %u32, ~, 3, %u32",
    "mad.wide.s32 %s64, %s32, 3, ~",
    "div.s32 %s32, ~, %s32",
    "and.b32 ~, %b32, %b32",
    "and.b32 %b32, ~, %b32",
    "and.b16 ~, %b16, %b16",
    "not.b64 ~, %b64",
    "and.pred ~, %p, %p",
    "and.pred %p, ~, %p",
    "shl.b32 ~, %b32, %u32",
    "shl.b32 %b32, ~, %u32",
    "shl.b32 %b32, %b32, ~",
    "shr.u64 %u64, %u64, ~",
    "popc.b64 ~, %b64",
    "popc.b64 %u32, ~",
    "bfe.u32 %u32, %u32, ~, 3",
    "setp.eq.s32 ~, %s32, 1",
    "setp.eq.s32 %p, ~, %s32",
    "setp.lt.f32 %p, ~, %f32",
    "setp.lt.f64 %p, %f64, ~",
    "setp.eq.b16 %p, ~, %b16",
    "selp.b32 ~, %b32, %b32, %p",
    "selp.b32 %b32, ~, %b32, %p",
    "selp.f32 %f32, ~, %f32, %p",
    "selp.u32 %u32, 1, 2, ~",
    "slct.f32.s32 %f32, %f32, %f32, ~",
    "set.eq.u32.f32 ~, %f32, %f32",
    "mov.b32 ~, %b32",
    "mov.b32 %b32, ~",
    "mov.u32 %u32, ~",
    "mov.f32 %f32, ~",
    "mov.f32 ~, %f32",
    "mov.b64 %b64, ~",
    "mov.u64 %u64, ~",
    "mov.f64 %f64, ~",
    "mov.b16 %b16, ~",
    "mov.u16 %u16, ~",
    "mov.pred %p, ~",
    "cvt.s32.s16 ~, %s16",
    "cvt.s32.s16 %s32, ~",
    "cvt.u8.u32 ~, %u32",
    "cvt.u8.u32 %u16, ~",
    "cvt.rn.f32.s32 ~, %s32",
    "cvt.rn.f32.s32 %f32, ~",
    "cvt.rzi.s32.f32 %s32, ~",
    "cvt.rn.f32.f64 %f32, ~",
    "cvt.f64.f32 %f64, ~",
    "cvt.f64.f32 ~, %f32",
    "cvt.u64.u32 ~, %u32",
    "cvt.u64.u32 %u64, ~",
    "ld.global.u8 ~, [%u64]",
    "ld.global.s16 ~, [%u64]",
    "ld.global.b16 ~, [%u64]",
    "ld.global.u32 ~, [%u64]",
    "ld.global.b32 ~, [%u64]",
    "ld.global.f32 ~, [%u64]",
    "ld.global.b64 ~, [%u64]",
    "ld.global.f64 ~, [%u64]",
    "st.global.u8 [%u64], ~",
    "st.global.b16 [%u64], ~",
    "st.global.u32 [%u64], ~",
    "st.global.b32 [%u64], ~",
    "st.global.f32 [%u64], ~",
    "st.global.b64 [%u64], ~",
    "st.global.f64 [%u64], ~",
    "ld.global.u32 %u32, [~]",
    "ld.shared.u32 %u32, [~+4]",
    "atom.global.add.u32 ~, [%u64], 1",
    "atom.global.add.u32 %u32, [%u64], ~",
    "atom.global.add.f32 %f32, [%u64], ~",
    "atom.global.exch.b64 %b64, [%u64], ~",
    "atom.global.cas.b32 %b32, [%u64], ~, 1",
    "red.global.add.s32 [%u64], ~",
    "fma.rn.f32 %f32, %f32, ~, %f32",
    "sqrt.rn.f32 ~, %f32",
    "neg.s32 %s32, ~",
    "abs.f64 %f64, ~",
    "bar.sync ~",
    "shfl.sync.down.b32 ~, %b32, 1, 31, -1",
    "shfl.sync.down.b32 %b32, ~, 1, 31, -1",
    "shfl.sync.down.b32 %b32, %b32, ~, 31, -1",
    "vote.sync.ballot.b32 ~, %p, -1",
    "vote.sync.ballot.b32 %b32, ~, -1",
    "cvta.to.global.u64 ~, %u64",
    "cvta.to.global.u64 %u64, ~",
    "prmt.b32 %b32, %b32, ~, 3",
    "lop3.b32 %b32, %b32, ~, %b32, 3",
    "nanosleep.u32 ~",
    "match.any.sync.b32 %b32, ~, -1",
    "min.s16 %s16, ~, 3",
    "copysign.f32 %f32, ~, %f32",
    "mul.hi.u64 %u64, ~, 5",
};

static const char head[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
    ".reg .b8 %b8; .reg .u8 %u8; .reg .b16 %b16; .reg .u16 %u16; .reg .s16 %s16;\n"
    ".reg .f16 %f16; .reg .b32 %b32; .reg .u32 %u32; .reg .s32 %s32; .reg .f32 %f32;\n"
    ".reg .b64 %b64; .reg .u64 %u64; .reg .s64 %s64; .reg .f64 %f64; .reg .pred %p;\n"
    ".shared .align 8 .b8 sm[64];\n";
enum {
    FIRST = 10,
    NO = sizeof operands / sizeof *operands,
    NL = sizeof lines / sizeof *lines
};

static void
one_line(unsigned l, unsigned o, struct strbuf *b)
{
    const char *x = strchr(lines[l], '~');
    /* In brackets only what is an address by its syntax: the rest ends ptxas at once. */
    if (x > lines[l] && x[-1] == '[' && o >= 15 && strcmp(operands[o], "sm"))
        o = 7;
    strbuf_printf(b, "%.*s%s%s;\n", (int)(x - lines[l]), lines[l], operands[o], x + 1);
}

static void
agrees_with_ptxas(void **state)
{
    (void)state;
    const char *ptxas = kit_ptxas();
    if (!ptxas)
        SKIP_NEEDS("ptxas");
    static bool ours[NL * NO], theirs[NL * NO];
    struct strbuf all = {0}, out = {0};
    strbuf_addz(&all, head);
    for (unsigned l = 0; l < NL; l++)
        for (unsigned o = 0; o < NO; o++)
            one_line(l, o, &all);
    strbuf_addz(&all, "ret;\n}\n");
    struct diag_sink diag = {.max_errors = 100000};
    struct ptx_module *m = ptx_parse("t.ptx", all.s, all.n, &diag);
    assert_null(m);
    for (size_t i = 0; i < diag.n; i++)
        ours[diag.list[i]->line - FIRST] = true;
    kit_assemble(ptxas, all.s, "sm_80", &out);
    char *save;
    for (char *s = strtok_r(out.s, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
        const char *at = strstr(s, "line ");
        if (strstr(s, "fatal") && at)
            fail_msg("%s", s);
        unsigned n;
        if (at && strstr(s, "; error") && sscanf(at, "line %u", &n) == 1)
            theirs[n - FIRST] = true;
    }
    unsigned refused = 0, differences = 0;
    for (unsigned i = 0; i < NL * NO; i++) {
        refused += theirs[i];
        if (ours[i] == theirs[i])
            continue;
        struct strbuf b = {0};
        one_line(i / NO, i % NO, &b);
        print_message("%s: %s", ours[i] ? "only we refuse" : "only ptxas refuses", b.s);
        strbuf_free(&b);
        differences++;
    }
    print_message("%d lines, %u refused\n", NL * NO, refused);
    assert_int_equal(differences, 0);
    strbuf_free(&all);
    strbuf_free(&out);
    diag_free(&diag);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_ptxas),
    };
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
