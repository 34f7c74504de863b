/* ptx_later.c: instructions of sm_90 and later, one of each form (tests/golden/ptx/
 * forms-later.txt: first target, instruction). Each is read, printed unchanged, and refused
 * when its kernel is decoded, by a message that names it and its first target; the kernel beside
 * it can run. Every row of opcodes.def that is refused so is among them.
 *
 * The forms are those of libcu++ 3.3's cuda/ptx headers and some written by hand; the targets
 * are what ptxas 13.5 answered for sm_80, 90, 90a, 100, 100a, 103a, 120a and 107a. */
#include "unit/kit/ptx_kit.h"

#include "exec/exec.h"
#include "exec/ops/exec_mem.h"
#include "ptx/fault.h"

static const char kernel[] =
    ".visible .entry k%zu()\n{\n.reg .pred %%p<8>; .reg .b8 %%b<9>; .reg .b16 %%rs<8>; "
    ".reg .b32 %%r<8>; .reg .b64 %%rd<8>; .reg .f32 %%f<8>; .reg .f64 %%fd<8>; "
    ".reg .b128 %%rq<8>;\n%s\nret;\n}\n";

struct form {
    const char *target, *text;
};

static size_t
read_forms(char *text, struct form *f, size_t most)
{
    size_t n = 0;
    char *save;
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        char *tab = strchr(l, '\t');
        assert_true(tab && n < most);
        *tab = 0;
        f[n++] = (struct form){l, tab + 1};
    }
    return n;
}

/* "wgmma.fence.sync.aligned" of an instruction. */
static void
name_of(const char *text, char *name, size_t size)
{
    snprintf(name, size, "%.*s", (int)strcspn(text, " ;"), text);
}

static void
check_form(struct exec_image *im, const struct ptx_module *m, const struct form *f,
           size_t i, bool *seen)
{
    char name[24], inst[300], want[400];
    struct diag_sink diag = {0};
    snprintf(name, sizeof name, "k%zu", i);
    const struct ptx_func *k = ptx_find_func(m, name);
    assert_non_null(k);
    if (k->fault)
        fail_msg("%s: %s", f->text, k->fault->said[0].message);
    name_of(f->text, inst, sizeof inst);
    const struct ptx_inst *in = &k->body.v[0];
    if (!ptx_first_target[in->op] || strcmp(ptx_first_target[in->op], f->target))
        fail_msg("%s: first target %s, not %s", f->text,
                 ptx_first_target[in->op] ? ptx_first_target[in->op] : "none", f->target);
    assert_true(ptx_ops[in->op].flags & PTX_TOONEW);
    seen[in->op] = true;
    assert_null(exec_decode(im, k, &diag));
    assert_int_equal(diag.errors, 1);
    bool only = f->target[strlen(f->target) - 1] > '9';
    /* Rows with operands print their suffixes in an order of their own. */
    snprintf(want, sizeof want,
             "kernel '%s': %s: this needs %s%s, which is not simulated", name,
             in->text ? inst : ptx_ops[in->op].mnemonic, f->target,
             only ? "" : " or later");
    if (in->text ? strcmp(diag.list[0]->message, want) != 0
                 : !strstr(diag.list[0]->message, strstr(want, "this needs")))
        fail_msg("%s: %s", f->text, diag.list[0]->message);
    assert_int_equal(diag.list[0]->line, in->line);
    diag_free(&diag);
}

static void
each_is_refused_by_its_target(void **state)
{
    (void)state;
    static struct form f[1000];
    static bool seen[PTX_NOPS];
    char *text = file_read(SOURCE_DIR "/tests/golden/ptx/forms-later.txt", NULL);
    assert_non_null(text);
    size_t n = read_forms(text, f, 1000);
    assert_true(n > 200);
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 9.5\n.target sm_107a\n.address_size 64\n"
                    ".visible .entry sound() { ret; }\n");
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, kernel, i, f[i].text);
    struct ptx_module *m = kit_parse(b.s);
    kit_roundtrip(m, NULL);
    struct diag_sink diag = {0};
    struct dev_mem *mem = dev_mem_new(1 << 30);
    struct exec_image *im = exec_image_new(m, mem, &diag);
    assert_non_null(im);
    for (size_t i = 0; i < n; i++)
        check_form(im, m, &f[i], i, seen);
    struct exec_prog *p = exec_decode(im, ptx_find_func(m, "sound"), &diag);
    assert_non_null(p);
    exec_prog_free(p);
    for (unsigned op = 0; op < PTX_NOPS; op++) {
        bool later = ptx_ops[op].flags & PTX_TOONEW;
        assert_int_equal(later, ptx_first_target[op] != NULL);
        if (later && !seen[op])
            fail_msg("no form of %s %s", ptx_ops[op].mnemonic, ptx_ops[op].operands);
    }
    exec_image_free(im);
    dev_mem_free(mem);
    ptx_module_free(m);
    strbuf_free(&b);
    free(text);
}

/* Those that run now (tests/golden/ptx/forms-now.txt, of the same source): read, printed
 * unchanged, decoded. */
static void
each_is_decoded(void **state)
{
    (void)state;
    static struct form f[1000];
    char *text = file_read(SOURCE_DIR "/tests/golden/ptx/forms-now.txt", NULL);
    assert_non_null(text);
    size_t n = read_forms(text, f, 1000);
    assert_true(n > 70);
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 9.5\n.target sm_107a\n.address_size 64\n");
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, kernel, i, f[i].text);
    struct ptx_module *m = kit_parse(b.s);
    kit_roundtrip(m, NULL);
    struct dev_mem *mem = dev_mem_new(1 << 30);
    struct diag_sink diag = {0};
    struct exec_image *im = exec_image_new(m, mem, &diag);
    assert_non_null(im);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "k%zu", i);
        struct exec_prog *p = exec_decode(im, ptx_find_func(m, name), &diag);
        if (!p)
            fail_msg("%s: %s", f[i].text, diag.list[0]->message);
        exec_prog_free(p);
    }
    diag_free(&diag);
    exec_image_free(im);
    dev_mem_free(mem);
    ptx_module_free(m);
    strbuf_free(&b);
    free(text);
}

/* What the patterns must not take: spellings of no target, and those that run. */
static void
others_are_not_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } t[] = {
        {"cp.bulk [%rd1], [%rd2], 16;", "'cp'"},
        {"cp.async.bilk.commit_group;", "unknown modifier '.bilk' of 'cp'"},
        {"ld.global.v16.b32 %r1, [%rd1];", "unknown modifier '.v16' of 'ld'"},
        {"cvt.rn.e2m1x3.f32 %rs1, %f1, %f2;", "unknown modifier '.e2m1x3' of 'cvt'"},
        {"fence.proxy.asynk;", "unknown modifier '.asynk' of 'fence'"},
        {"mbarrier.foo.b64 [%r1];", "unknown modifier '.foo' of 'mbarrier'"},
        {"mbarrier.init.layout.b64 [%r1];", "unknown modifier '.layout' of 'mbarrier'"},
        {"add.u8x3 %r1, %r2, %r3;", "unknown modifier '.u8x3' of 'add'"},
        {"wgmmb.fence.sync.aligned;", "unknown instruction 'wgmmb'"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        strbuf_addz(&b, ".version 9.5\n.target sm_100a\n.address_size 64\n");
        strbuf_printf(&b, kernel, (size_t)0, t[i].text);
        struct ptx_module *m = ptx_parse("t.ptx", b.s, b.n, &diag);
        if (m || !strstr(diag.list[0]->message, t[i].message))
            fail_msg("%s: %s", t[i].text, m ? "taken" : diag.list[0]->message);
        diag_free(&diag);
        strbuf_free(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_refused_by_its_target),
        cmocka_unit_test(each_is_decoded),
        cmocka_unit_test(others_are_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
