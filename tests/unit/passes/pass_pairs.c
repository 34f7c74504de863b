/* pass_pairs.c: the output of every pass is input of every pass. Each pair runs over small
 * kernels, printed and parsed again in between, and in one pipeline. The memory that the
 * result leaves equals that of the kernel as it was, or one of the two passes refuses by its
 * name in one line. And every pass alone on code with blocks that nothing reaches, loops with
 * two ways in, empty bodies, bodies without ret, debug lines of inlined code. */
#include "unit/kit/runtime_kit.h"
#include "unit/kit/sanitized.h"

#include "passes/pass.h"
#include "base/str.h"

enum { MOST = 40 /* failures that are printed */, MOST_PASSES = 100 };
enum { GRID = 12, BLOCK = 64, WORDS = GRID * BLOCK, BYTES = 8 * WORDS };

#define K_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"a.cu\"\n"
#define K_ENTRY                                                                          \
    ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n"                               \
    ".reg .pred %p<8>;\n.reg .b32 %r<64>;\n.reg .b64 %d<16>;\n.reg .f32 %f<8>;\n"
/* %r0 thread, %r1 block, %d1 its word of p, %d2 of q, %r2 the word */
#define K_START                                                                          \
    "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nld.param.u64 %d1, [p];\n"             \
    "ld.param.u64 %d2, [q];\nmad.lo.s32 %r3, %r1, 64, %r0;\nmul.wide.u32 %d3, %r3, 4;\n" \
    "add.s64 %d1, %d1, %d3;\nadd.s64 %d2, %d2, %d3;\nld.global.u32 %r2, [%d1];\n"
#define K_END "st.global.u32 [%d2], %r2;\nret;\n}\n"
#define ROUND(a, b, c) "mad.lo.s32 %r" #a ", %r" #b ", 3, %r" #c ";\n"
#define SPILLS                                                                           \
    "add.u32 %r10, %r2, 1;\nxor.b32 %r11, %r2, 5;\nadd.u32 %r12, %r2, 7;\n"              \
    "mul.lo.u32 %r13, %r2, %r0;\nshl.b32 %r14, %r2, 3;\nadd.u32 %r15, %r2, %r1;\n"       \
    "mul.lo.u32 %r16, %r15, %r15;\nxor.b32 %r17, %r16, %r2;\n"                           \
    "add.u32 %r18, %r17, 3;\nmul.lo.u32 %r19, %r18, %r13;\n"

static const struct {
    const char *name, *text;
} kernels[] = {
    {"many values", K_HEAD K_ENTRY K_START SPILLS
     "bar.sync 0;\n" ROUND(20, 10, 19) ROUND(21, 11, 18) ROUND(22, 12, 17)
         ROUND(23, 13, 16) ROUND(24, 14, 15) ROUND(25, 20, 21) ROUND(26, 22, 23)
             ROUND(2, 25, 26) "add.u32 %r2, %r2, %r24;\nadd.u32 %r2, %r2, %r10;\n" K_END},
    {"a call",
     K_HEAD ".func (.param .b32 z) f(.param .b32 x)\n{\n.reg .b32 %r<9>;\n.reg .pred "
            "%p<2>;\nld.param.u32 %r1, [x];\nmul.lo.u32 %r2, %r1, %r1;\n"
            "setp.gt.u32 %p1, %r1, 9;\n@%p1 bra L;\nadd.u32 %r2, %r2, %r1;\nL:\n"
            "st.param.b32 [z], %r2;\nret;\n}\n" K_ENTRY K_START SPILLS
            "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r2;\ncall (b), f, "
            "(a);\nld.param.b32 %r30, [b];\n}\n" ROUND(20, 10, 19) ROUND(21, 11, 18)
                ROUND(2, 30, 20) "add.u32 %r2, %r2, %r21;\n" K_END},
    {"scratchpad and barriers", K_HEAD K_ENTRY
     ".shared .align 4 .b8 a[2048];\n.shared .align 4 .b8 b[1024];\n"
     ".shared .align 4 .b8 c[512];\n" K_START SPILLS
     "mov.u32 %r31, a;\nmov.u32 %r32, b;\nshl.b32 %r33, %r0, 2;\n"
     "add.u32 %r34, %r31, %r33;\nadd.u32 %r35, %r32, %r33;\nst.shared.u32 [%r34], %r2;\n"
     "st.shared.u32 [%r34+256], %r10;\nst.shared.u32 [%r35], %r19;\nbar.sync 0;\n"
     "xor.b32 %r36, %r33, 4;\nadd.u32 %r37, %r31, %r36;\nld.shared.u32 %r38, [%r37];\n"
     "ld.shared.u32 %r39, [%r37+256];\nadd.u32 %r40, %r32, %r36;\n"
     "ld.shared.u32 %r41, [%r40];\nadd.u32 %r2, %r38, %r39;\nadd.u32 %r2, %r2, %r41;\n"
     "bar.sync 0;\nadd.u32 %r42, %r32, %r33;\nst.shared.u32 [%r42], %r2;\nbar.sync 0;\n"
     "ld.shared.u32 %r43, [%r40];\nadd.u32 %r2, %r2, %r43;\n" ROUND(2, 2, 18) K_END},
    {"a loop with scratchpad", K_HEAD K_ENTRY
     ".shared .align 4 .b8 a[1024];\n" K_START
     "mov.u32 %r31, a;\nshl.b32 %r33, %r0, 2;\nadd.u32 %r34, %r31, %r33;\n"
     "mov.u32 %r10, 0;\nLOOP:\nst.shared.u32 [%r34], %r2;\nbar.sync 0;\n"
     "xor.b32 %r35, %r33, 4;\nadd.u32 %r36, %r31, %r35;\nld.shared.u32 %r37, [%r36];\n"
     "bar.sync 0;\nadd.u32 %r2, %r2, %r37;\nadd.u32 %r10, %r10, 1;\n"
     "setp.lt.u32 %p1, %r10, 4;\n@%p1 bra LOOP;\n" K_END},
    {"branches, floats, atomics",
     K_HEAD ".global .u32 sum;\n" K_ENTRY K_START
            "setp.lt.u32 %p1, %r0, 20;\n@%p1 bra A;\nand.b32 %r4, %r0, 1;\n"
            "setp.eq.u32 %p2, %r4, 0;\n@%p2 bra B;\nadd.u32 %r2, %r2, 5;\nbra.uni C;\n"
            "A:\nmul.lo.u32 %r2, %r2, %r0;\nbra.uni C;\nB:\ncvt.rn.f32.u32 %f1, %r2;\n"
            "fma.rn.f32 %f2, %f1, 0f3F000000, 0f3F800000;\nmul.f32 %f2, %f2, "
            "0f40000000;\ncvt.rzi.u32.f32 %r2, %f2;\nC:\n"
            "atom.global.add.u32 %r5, [sum], %r0;\natom.add.acquire.gpu.global.u32 %r6, "
            "[sum], 1;\nselp.u32 %r7, %r2, %r0, %p1;\nadd.u32 %r2, %r2, %r7;\n" K_END},
    /* within 14 registers a pair takes the place of %r3 where %r5, its copy, lives on */
    {"a copy that outlives its source", K_HEAD K_ENTRY K_START
     "mov.u32 %r5, %r3;\nmul.wide.u32 %d4, %r2, 77;\nmul.wide.u32 %d5, %r2, 99;\n"
     "mul.wide.u32 %d6, %r2, 55;\ncvt.u32.u64 %r6, %d4;\nadd.u32 %r6, %r6, %r5;\n"
     "cvt.u32.u64 %r7, %d5;\nadd.u32 %r6, %r6, %r7;\ncvt.u32.u64 %r8, %d6;\n"
     "add.u32 %r6, %r6, %r8;\nmul.lo.u32 %r3, %r6, 3;\nadd.u32 %r5, %r5, %r3;\n"
     "add.u32 %r2, %r5, %r3;\n" K_END},
    {"blocks that nothing reaches", K_HEAD K_ENTRY K_START
     "setp.lt.u32 %p1, %r0, 9;\n@!%p1 bra L21;\nL15:\nbra L17;\nL16:\nadd.u32 %r2, %r2, "
     "1;\nbra L16;\nL18:\nbra L15;\nL17:\nadd.u32 %r2, %r2, 3;\nL21:\n" K_END},
    {"a loop with two ways in", K_HEAD K_ENTRY K_START
     "mov.u32 %r10, 0;\nsetp.lt.u32 %p1, %r0, 9;\n@%p1 bra B;\nA:\nadd.u32 %r2, %r2, "
     "3;\nB:\nadd.u32 %r2, %r2, 1;\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 5;\n"
     "@%p2 bra A;\n" K_END},
    {"no ret", K_HEAD K_ENTRY K_START "add.u32 %r2, %r2, 1;\nst.global.u32 [%d2], "
                                      "%r2;\n}\n"},
    {"an end in the middle",
     K_HEAD K_ENTRY K_START "setp.lt.u32 %p1, %r0, 9;\n@%p1 bra L;\nst.global.u32 [%d2], "
                            "7;\nexit;\nL:\nst.global.u32 [%d2], %r2;\ntrap_not:\n}\n"},
    {"an empty body", K_HEAD ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n}\n"},
    {"a body of labels",
     K_HEAD ".visible .entry k(.param .u64 p, .param .u64 q)\n{\nL:\nM:\n}\n"},
    {"an empty function", K_HEAD ".func f()\n{\n}\n" K_ENTRY K_START "call f;\n" K_END},
    {"endless where nobody goes",
     K_HEAD K_ENTRY K_START "setp.gt.u32 %p1, %r0, 1000;\nL:\n@%p1 bra L;\n" K_END},
    {"debug lines of inlined code",
     K_HEAD K_ENTRY ".loc 1 5 3\n" K_START
                    ".loc 1 7 9\nmul.lo.u32 %r4, %r2, %r2;\nadd.u32 %r4, %r4, 3;\n"
                    ".loc 1 20 1, function_name $x, inlined_at 1 7 9\n"
                    "ld.global.u32 %r5, [%d1];\nld.global.u32 %r6, [%d1];\n"
                    ".loc 1 30 1, function_name $x, inlined_at 1 20 1\n"
                    "add.u32 %r5, %r5, %r6;\nsetp.lt.u32 %p1, %r5, 60;\n@%p1 bra L;\n"
                    ".loc 1 9 2\nadd.u32 %r4, %r4, %r5;\n.loc 1 31 1, function_name $x, "
                    "inlined_at 1 9 2\nadd.u32 %r4, %r4, %r6;\nL:\n.loc 1 32 1, "
                    "function_name $x, inlined_at 1 9 2\nadd.u32 %r2, %r4, %r5;\n" K_END
                    ".section .debug_str { $x: .b8 65,0 }\n"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels, FIRST_ODD = 6 };

/* Settings without which a pass does nothing, or refuses. */
static const struct {
    const char *pass, *with;
} settings[] = {
    {"register-allocate", "register-allocate:max-registers=14"},
    {"unified-alloc", "unified-alloc:registers=14"},
    {"persistent-blocks", "persistent-blocks:tlp=2"},
    {"dead-code", "dead-code:red=yes"},
};

static const char *
with_settings(const char *pass)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strcmp(settings[i].pass, pass))
            return settings[i].with;
    return pass;
}

/* How a kernel runs. */
struct way {
    const char *policy; /* residency.policy; NULL: functional, promises checked */
    const char *passes; /* of the launch, NULL: none */
};

/* Runs text, whose kernel gets words 0, 1, ...; memory after it to got. False: refused or
 * failed. */
static bool
run(const char *text, const struct way *way, uint32_t got[2 * WORDS], struct strbuf *why)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("003-gtx480-16k", d);
    struct allot_options o = {.functional = !way->policy,
                              .check_analyses = !way->policy,
                              .max_instructions = 4000000,
                              .max_cycles = 4000000};
    struct allot_device *dev = NULL;
    assert_non_null(m);
    bool ok =
        allot_machine_set(m, "compiler.registers", "virtual", d) &&
        allot_machine_set(m, "compiler.passes", way->passes ? way->passes : "", d) &&
        allot_machine_set(m, "sm.count", "2", d) &&
        (!way->policy || allot_machine_set(m, "residency.policy", way->policy, d));
    if (!ok)
        fail_msg("%s", allot_diag_text(d));
    struct allot_module *mod = allot_module_parse("pair.ptx", text, strlen(text), d);
    ok = mod && (dev = allot_device_new(m, &o, d));
    if (ok) {
        for (uint32_t i = 0; i < 2 * WORDS; i++)
            got[i] = i < WORDS ? i : 0;
        uint64_t at = allot_alloc(dev, BYTES, d), args[2] = {at, at + 4 * WORDS};
        const void *a[2] = {&args[0], &args[1]};
        struct allot_launch l = {.module = mod,
                                 .kernel = "k",
                                 .grid = {GRID, 1, 1},
                                 .block = {BLOCK, 1, 1},
                                 .args = a,
                                 .nargs = 2};
        ok = at && allot_write(dev, at, got, BYTES, d) && allot_launch(dev, &l, d) &&
             allot_read(dev, at, got, BYTES, d);
    }
    if (!ok)
        strbuf_addz(why, allot_diag_text(d));
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok;
}

/* What the passes make of text, NULL: refused, *why says by whom. */
static char *
transform(const char *text, const char *passes, struct strbuf *why)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_parse("pair.ptx", text, strlen(text), d);
    char *out = NULL;
    if (m && allot_module_opt_with(m, passes, "threads=64 threshold=0.1", NULL, d))
        out = allot_module_print(m);
    else
        strbuf_addz(why, allot_diag_text(d));
    allot_module_free(m);
    allot_diag_free(d);
    return out;
}

/* A refusal is one line (and a hint) that names the pass. */
static bool
names(const char *why, const char *pass)
{
    const char *s = why, *end = strchr(why, '\n');
    return end && (s = strstr(s, pass)) && s < end && !strstr(end + 1, "error") &&
           !strstr(why, "invalid module") && !strstr(why, "made what");
}

static bool verbose; /* each refusal is printed, and the text that failed */
static unsigned failures;

/* Prints what went wrong, the first few of them. */
__attribute__((format(printf, 1, 2))) static void
wrong(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (failures++ < MOST)
        vprintf(fmt, ap);
    va_end(ap);
}

static bool
has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/* The text leaves the same memory, in every way that it may be run. */
static void
same(const char *text, const uint32_t *want, const char *kernel, const char *passes)
{
    static const struct way functional = {.policy = NULL},
                            sharing = {.policy = "scratchpad-sharing"},
                            multiplexing = {.policy = "multiplexing"},
                            plain = {.policy = "baseline"};
    const struct way *ways[2] = {&functional, has(text, "relssp")         ? &sharing
                                              : has(text, "scratchalloc") ? &multiplexing
                                                                          : NULL};
    if (has(text, "allot launch"))
        ways[1] = ways[1] ? ways[1] : &plain;
    for (int i = 0; i < 2 && ways[i]; i++) {
        static uint32_t got[2 * WORDS];
        struct strbuf why = {0};
        const char *how = ways[i]->policy ? ways[i]->policy : "functional";
        if (!run(text, ways[i], got, &why)) {
            wrong("%s, -p %s, %s:\n%s%s", kernel, passes, how, why.s,
                  verbose ? text : "");
        } else {
            size_t k = 0;
            while (k < 2 * WORDS && got[k] == want[k])
                k++;
            if (k < 2 * WORDS)
                wrong("%s, -p %s, %s: word %zu is %u instead of %u\n%s", kernel, passes,
                      how, k, got[k], want[k], verbose ? text : "");
        }
        strbuf_free(&why);
    }
}

/* Runs the passes over text and what comes of it; NULL: refused by `by`. */
static char *
step(const char *text, const uint32_t *want, const char *kernel, const char *passes,
     const char *by, const char *all)
{
    struct strbuf why = {0};
    char *out = transform(text, passes, &why);
    if (out && strcmp(out, text) != 0)
        same(out, want, kernel, all);
    else if (!out && !names(why.s, by))
        wrong("%s, -p %s: refused, but not by %s in one line:\n%s", kernel, all, by,
              why.s);
    else if (!out && verbose)
        printf("%s, -p %s: %s", kernel, all, why.s);
    strbuf_free(&why);
    return out;
}

/* The two run in a launch, where a register is its place: printed text has only names. */
static void
same_in_places(const char *text, const uint32_t *want, const char *kernel,
               const char *passes)
{
    static uint32_t got[2 * WORDS];
    struct strbuf why = {0};
    const struct way way = {NULL, passes};
    size_t k = 0;
    if (!run(text, &way, got, &why)) {
        wrong("%s, launched with -p %s:\n%s", kernel, passes, why.s);
    } else {
        while (k < 2 * WORDS && got[k] == want[k])
            k++;
        if (k < 2 * WORDS)
            wrong("%s, launched with -p %s: word %zu is %u instead of %u\n", kernel,
                  passes, k, got[k], want[k]);
    }
    strbuf_free(&why);
}

/* Whether a pair also runs in a launch: after an allocation and with passes that look at the
 * launch always, of the others every seventh. */
static bool
launched(size_t i, size_t j, bool idle)
{
    return pass_at(i)->allocates ||
           (!idle && (pass_at(i)->shapes || pass_at(j)->shapes)) || (i + j) % 7 == 3;
}

/* Where one pass of a pair changes nothing, what the other does alone is what the pair does:
 * only the in-memory pipeline is left to be run, every seventh of them. */
static void
pairs_of(size_t k, unsigned phase)
{
    static uint32_t want[2 * WORDS];
    struct strbuf why = {0};
    char *plain = transform(kernels[k].text, "", &why), *alone[MOST_PASSES];
    size_t n = 0;
    assert_non_null(plain);
    assert_true(run(plain, &(struct way){.policy = NULL}, want, &why));
    for (; pass_at(n); n++) {
        const char *name = pass_at(n)->name, *with = with_settings(name);
        assert_true(n < MOST_PASSES);
        alone[n] = step(plain, want, kernels[k].name, with, name, with);
        if (alone[n])
            same_in_places(plain, want, kernels[k].name, with);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; alone[i] && j < n; j++) {
            const char *first = with_settings(pass_at(i)->name), *name = pass_at(j)->name,
                       *second = with_settings(name);
            char both[128];
            bool idle =
                !strcmp(alone[i], plain) || (alone[j] && !strcmp(alone[j], plain));
            if (!in_sample(i + j, phase) || (idle && (i + j) % 7))
                continue;
            snprintf(both, sizeof both, "%s,%s", first, second);
            if (!idle)
                free(step(alone[i], want, kernels[k].name, second, name, both));
            char *one = step(plain, want, kernels[k].name, both, name, both);
            if (one && launched(i, j, idle))
                same_in_places(plain, want, kernels[k].name, both);
            free(one);
        }
    for (size_t i = 0; i < n; i++)
        free(alone[i]);
    free(plain);
    strbuf_free(&why);
}

static void
every_pair(void **state)
{
    (void)state;
    failures = 0;
    for (size_t k = 0; k < FIRST_ODD; k++)
        pairs_of(k, (unsigned)k);
    assert_int_equal(failures, 0);
}

static void
odd_code(void **state)
{
    (void)state;
    failures = 0;
    for (size_t k = FIRST_ODD; k < KERNELS; k++)
        pairs_of(k, (unsigned)k);
    assert_int_equal(failures, 0);
}

/* A pass that would break what relssp or scratchalloc promises is refused in one line with
 * the order that works, in one pipeline and from the text; the other order runs. */
static void
orders_that_break_promises(void **state)
{
    static const struct {
        const char *first, *then, *by, *works;
    } cases[] = {
        {"relssp", "unified-alloc:registers=20", "unified-alloc", "unified-alloc,relssp"},
        {"relssp", "persistent-blocks:tlp=2", "persistent-blocks",
         "persistent-blocks,relssp"},
        {"relssp", "vtb", "vtb", "vtb,relssp"},
        {"relssp", "vtb-pipe", "vtb-pipe", "vtb-pipe,relssp"},
        {"relssp", "vtb-named", "vtb-named", "vtb-named,relssp"},
        {"relssp", "co-vtb", "co-vtb", "co-vtb,relssp"},
        {"multiplex-hw", "unified-alloc:registers=20", "unified-alloc",
         "unified-alloc,multiplex-hw"},
    };
    enum { SCRATCHPAD = 2 };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = kernels[SCRATCHPAD].text;
        char both[128], other[128];
        struct strbuf why = {0}, again = {0};
        snprintf(both, sizeof both, "%s,%s", cases[i].first, cases[i].then);
        snprintf(other, sizeof other, "%s,%s", cases[i].then, cases[i].first);
        assert_null(transform(text, both, &why));
        char *one = transform(text, cases[i].first, &again);
        assert_non_null(one);
        assert_null(transform(one, cases[i].then, &again));
        assert_string_equal(why.s, again.s);
        if (!names(why.s, cases[i].by) || !has(why.s, cases[i].first) ||
            !has(why.s, cases[i].works))
            fail_msg("-p %s: %s", both, why.s);
        char *right = transform(text, other, &again);
        assert_non_null(right);
        free(right);
        free(one);
        strbuf_free(&why);
        strbuf_free(&again);
    }
}

int
main(int argc, char **argv)
{
    (void)argv;
    verbose = argc > 1;
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair),
                                       cmocka_unit_test(odd_code),
                                       cmocka_unit_test(orders_that_break_promises)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
