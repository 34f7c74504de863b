/* gpgpusim_classes.c: on the machines that describe GPGPU-Sim's, every opcode and type of
 * opcodes.def has the latency, the initiation interval and the unit that GPGPU-Sim gives it.
 * What that is stands in gpgpusim_classes.def, the configurations' numbers below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"
#include "base/str.h"
#include "machine/machine.h"
#include "timing/sm/sm_program.h"

#include <stdlib.h>
#include <string.h>

enum which { ADD, MAX, MUL, MAD, DIV, MUL_PLUS, MAD_PLUS, REM, SFUS, SHUFFLE, OTHER };
enum unit { SP, SFU, DP };
struct pair {
    unsigned cycles, interval;
};

/* -ptx_opcode_latency_int, _fp, _dp, _sfu and -ptx_opcode_initiation_...; shfl. */
static const struct configuration {
    const char *machine;
    bool version3;
    struct pair integer[5], single[5], dbl[5], sfu, shfl;
} configurations[] = {
    {"gtx480",
     false,
     {{4, 1}, {13, 2}, {4, 2}, {5, 1}, {145, 8}},
     {{4, 1}, {13, 2}, {4, 1}, {5, 1}, {39, 4}},
     {{8, 8}, {19, 16}, {8, 8}, {8, 8}, {330, 130}},
     {8, 8},
     {32, 4}},
    {"titan",
     false,
     {{4, 1}, {13, 1}, {4, 1}, {5, 1}, {145, 4}},
     {{4, 1}, {13, 2}, {4, 1}, {5, 1}, {39, 4}},
     {{8, 2}, {19, 8}, {8, 8}, {8, 8}, {330, 130}},
     {200, 2},
     {32, 4}},
    {"gtx480-3x",
     true,
     {{4, 1}, {13, 2}, {4, 2}, {5, 1}, {145, 8}},
     {{4, 1}, {13, 2}, {4, 1}, {5, 1}, {39, 4}},
     {{8, 8}, {19, 16}, {8, 8}, {8, 8}, {330, 130}},
     {8, 8},
     {32, 4}},
    {"tesla-c2050",
     true,
     {{4, 1}, {13, 2}, {4, 2}, {5, 1}, {145, 8}},
     {{4, 1}, {13, 2}, {4, 1}, {5, 1}, {39, 4}},
     {{8, 8}, {19, 16}, {8, 8}, {8, 8}, {330, 130}},
     {8, 8},
     {32, 4}},
    {"003-gtx285",
     true,
     {{1, 1}, {1, 1}, {19, 4}, {25, 4}, {145, 32}},
     {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {30, 5}},
     {{8, 8}, {8, 8}, {8, 8}, {8, 8}, {335, 130}},
     {8, 8},
     {32, 4}},
};

static const struct class
{
    const char *mnemonics;
    enum which which;
    enum unit integers, integers3;
} classes[] = {
#define CLASS(mnemonics, which, unit, unit3) {mnemonics, which, unit, unit3},
#define ABSENT(mnemonics, types, why)
#include "unit/timing/sm/gpgpusim_classes.def"
#undef CLASS
#undef ABSENT
};

static const struct absent {
    const char *mnemonics, *types;
} absents[] = {
#define CLASS(mnemonics, which, unit, unit3)
#define ABSENT(mnemonics, types, why) {mnemonics, types},
#include "unit/timing/sm/gpgpusim_classes.def"
#undef CLASS
#undef ABSENT
};

/* Is the word of n letters one of a list with blanks? */
static bool
listed(const char *list, const char *word, size_t n)
{
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t k = strcspn(p, " ");
        if (k == n && !strncmp(p, word, n))
            return true;
        p += k;
    }
    return false;
}

static bool
absent(const char *mnemonic, const char *type, size_t n)
{
    for (size_t i = 0; i < sizeof absents / sizeof *absents; i++)
        if ((!*absents[i].mnemonics ||
             listed(absents[i].mnemonics, mnemonic, strlen(mnemonic))) &&
            (!*absents[i].types || listed(absents[i].types, type, n)))
            return true;
    return false;
}

static const struct class *
class_of(const char *mnemonic)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (listed(classes[i].mnemonics, mnemonic, strlen(mnemonic)))
            return &classes[i];
    return NULL;
}

struct expected {
    struct pair time;
    enum unit unit;
};

static struct expected
expected_of(const struct configuration *c, const char *mnemonic, const char *type,
            size_t n)
{
    const struct class *k = class_of(mnemonic);
    bool f32 = n == 3 && !strncmp(type, "f32", n),
         f64 = n == 3 && !strncmp(type, "f64", n);
    const struct pair *list = f32 ? c->single : f64 ? c->dbl : c->integer;
    struct expected e = {.time = {1, 1}, .unit = SP};
    if (!k)
        return e;
    e.unit = c->version3 ? k->integers3 : k->integers;
    if ((f32 || f64) && e.unit == SFU && k->which < DIV)
        e.unit = SP;
    if (f64 && !c->version3 && e.unit == SP)
        e.unit = DP;
    switch (k->which) {
    case MUL_PLUS:
    case MAD_PLUS:
        if (!c->version3) {
            e.time = list[k->which == MUL_PLUS ? MUL : MAD];
            e.time.cycles++;
            e.time.interval++;
        }
        return e;
    case REM:
        if (!c->version3)
            e.time = list[DIV];
        return e;
    case SFUS:
        e.time = c->sfu;
        return e;
    case SHUFFLE:
        e.time = c->shfl;
        return e;
    default:
        e.time = list[k->which];
        return e;
    }
}

/* The unit that a class of the SM stands for; DP without pipelines of its own is the SFU. */
static bool
runs_on(const struct machine *m, unsigned cls, enum unit u)
{
    return cls == (u == SP ? CLS_SP : u == SFU || !m->unit.dp ? CLS_SFU : CLS_DP);
}

static unsigned
check(const struct configuration *c, const struct machine *m,
      const struct ptx_op_info *op, const char *type, size_t n)
{
    if (absent(op->mnemonic, type, n))
        return 0;
    struct expected e = expected_of(c, op->mnemonic, type, n);
    const struct machine_latency *l = &m->latency[op->latency];
    if (l->cycles != e.time.cycles || l->interval != e.time.interval ||
        !runs_on(m, sm_program_class(m, op->unit, op->latency), e.unit))
        fail_msg(
            "%s: %s.%.*s takes %u cycles, one each %u, on pipeline %u; GPGPU-Sim: %u, "
            "%u, on %s",
            c->machine, op->mnemonic, (int)n, type, l->cycles, l->interval,
            sm_program_class(m, op->unit, op->latency), e.time.cycles, e.time.interval,
            e.unit == SP    ? "SP"
            : e.unit == SFU ? "SFU"
                            : "DP");
    return 1;
}

static void
every_opcode_and_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof configurations / sizeof *configurations; i++) {
        const struct configuration *c = &configurations[i];
        struct diag_sink diag = {0};
        struct machine *m = machine_load(c->machine, &diag);
        assert_non_null(m);
        unsigned checked = 0;
        for (unsigned o = 0; o < PTX_NOPS; o++) {
            const struct ptx_op_info *op = &ptx_ops[o];
            if (op->flags & (PTX_PSEUDO | PTX_REFUSED) || op->unit == PTX_UNIT_MEM ||
                op->unit == PTX_UNIT_BARRIER || op->unit == PTX_UNIT_BRANCH)
                continue;
            const char *t = op->types;
            do { /* the first written type decides, as there */
                size_t k = strcspn(t, " /");
                checked += check(c, m, op, t, k);
                t += k;
            } while (*t++ == ' ');
        }
        print_message("%s: %u opcodes and types\n", c->machine, checked);
        assert_true(checked > 250);
        machine_free(m);
        diag_free(&diag);
    }
}

/* Chains of 320 dependent operations by one warp, ten times round a loop of 32, after a cold
 * start: cycles of GPGPU-Sim 4.2.0 (SM2_GTX480). Starts differ by up to two fetches of code
 * from DRAM, by where the kernel lies; a cycle more of each operation would be 320. */
static void
chains(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int64_t cycles;
    } t[] = {
        {"neg.f64 %fd1, %fd1;", 3826},
        {"abs.f64 %fd1, %fd1;", 3962},
        {"setp.ge.f64 %p1, %fd1, %fd2; selp.f64 %fd1, %fd1, %fd2, %p1;", 6712},
        {"sad.u32 %r1, %r1, %r2, %r1;", 3669},
    };
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    assert_non_null(m);
    assert_true(allot_machine_set(m, "compiler.registers", "virtual", d));
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0};
        strbuf_addz(
            &b, ".version 3.2\n.target sm_30\n.address_size 64\n"
                ".visible .entry k(.param .u64 out)\n{\n"
                ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .f64 %fd<4>; .reg .b64 %rd<4>;\n"
                "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;\n"
                "mov.u32 %r3, %tid.x; mov.u32 %r1, %r3; add.s32 %r2, %r1, 3;\n"
                "cvt.rn.f64.s32 %fd1, %r1; mov.f64 %fd2, 0d3FF0200000000000;\n"
                "mov.u32 %r4, 0;\nround:\n");
        for (unsigned k = 0; k < 32; k++)
            strbuf_printf(&b, "%s\n", t[i].body);
        strbuf_addz(&b, "add.s32 %r4, %r4, 1; setp.lt.s32 %p2, %r4, 10; @%p2 bra round;\n"
                        "cvt.rzi.s32.f64 %r5, %fd1; add.s32 %r1, %r1, %r5;\n"
                        "mul.wide.u32 %rd2, %r3, 4; add.s64 %rd1, %rd1, %rd2;\n"
                        "st.global.u32 [%rd1], %r1;\nret;\n}\n");
        struct allot_module *mod = allot_module_parse("chain.ptx", b.s, b.n, d);
        struct allot_device *dev = allot_device_new(m, NULL, d);
        uint64_t out = allot_alloc(dev, 128, d), cycles = 0;
        const void *args[] = {&out};
        struct allot_launch l = {.module = mod,
                                 .kernel = "k",
                                 .grid = {1},
                                 .block = {32},
                                 .args = args,
                                 .nargs = 1};
        const struct allot_result *r = allot_launch(dev, &l, d);
        if (!r)
            fail_msg("%s", allot_diag_text(d));
        assert_true(allot_result_get(r, "cycles", &cycles, NULL));
        print_message("%.12s: %llu cycles, GPGPU-Sim %lld\n", t[i].body,
                      (unsigned long long)cycles, (long long)t[i].cycles);
        assert_true(llabs((int64_t)cycles - t[i].cycles) < 300);
        allot_device_free(dev);
        allot_module_free(mod);
        strbuf_free(&b);
    }
    allot_machine_free(m);
    allot_diag_free(d);
}

/* Each row is of use: its mnemonics are some of opcodes.def's. */
static void
rows_name_opcodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        char *text = xstrdup(classes[i].mnemonics), *save = NULL;
        for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
            bool found = false;
            for (unsigned o = 0; o < PTX_NOPS; o++)
                found |= !strcmp(ptx_ops[o].mnemonic, p);
            if (!found)
                fail_msg("opcodes.def has no %s", p);
        }
        free(text);
    }
}

int
main(void)
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_and_type),
        cmocka_unit_test(rows_name_opcodes),
        cmocka_unit_test(chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
