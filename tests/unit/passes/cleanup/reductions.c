/* reductions.c: dead-code:red=yes of every order, scope, space, operation and type of atom
 * whose result nobody reads: it becomes red where the ISA has that red (.relaxed, .release, or
 * no order; no .exch, no .cas), and stays what it was elsewhere. The ISA's words are written
 * here a second time: legal.def, which the pass asks, is not. ptxas, where there is one, takes
 * what comes out. */
#include "unit/kit/ptx_kit.h"
#include "unit/kit/skip.h"

#include "passes/pass.h"

static const char *const orders[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"},
                         *const scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"},
                         *const spaces[] = {"", ".global", ".shared"},
                         *const operations[] = {"add", "min", "max", "inc",  "dec",
                                                "and", "or",  "xor", "exch", "cas"},
                         *const types[] = {"u32", "s32", "b32", "f32",
                                           "u64", "s64", "b64", "f64"};
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* PTX ISA 9.0, 9.7.13.13: operations and their types. */
static bool
exists(const char *op, const char *type)
{
    bool b = *type == 'b', word = !strcmp(type + 1, "32");
    if (!strcmp(op, "exch") || !strcmp(op, "cas") || !strcmp(op, "and") ||
        !strcmp(op, "or") || !strcmp(op, "xor"))
        return b;
    if (!strcmp(op, "inc") || !strcmp(op, "dec"))
        return !strcmp(type, "u32");
    if (!strcmp(op, "min") || !strcmp(op, "max"))
        return *type == 'u' || *type == 's';
    return !b && (word || *type != 's');
}

struct list {
    struct strbuf text;
    size_t n, reds;
    bool is_red[4000];
};

/* Every atom that exists, one a line. */
static void
list_atoms(struct list *l)
{
    strbuf_addz(&l->text,
                ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param "
                ".u64 p)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 "
                "%f<4>;\n.reg .f64 %g<4>;\nld.param.u64 %d1, [p];\n"
                "mov.u64 %d2, 1;\nmov.u32 %r2, 1;\nmov.f32 %f2, 0f3F800000;\n"
                "mov.f64 %g2, 0d3FF0000000000000;\n");
    for (size_t i = 0; i < COUNT(orders) * COUNT(scopes) * COUNT(spaces) *
                               COUNT(operations) * COUNT(types);
         i++) {
        size_t k = i;
        const char *type = types[k % COUNT(types)];
        const char *op = operations[(k /= COUNT(types)) % COUNT(operations)];
        const char *space = spaces[(k /= COUNT(operations)) % COUNT(spaces)];
        const char *scope = scopes[(k /= COUNT(spaces)) % COUNT(scopes)];
        const char *order = orders[k / COUNT(scopes)];
        const char *reg = !strcmp(type, "f32")      ? "%f"
                          : !strcmp(type, "f64")    ? "%g"
                          : !strcmp(type + 1, "64") ? "%d"
                                                    : "%r";
        bool swaps = !strcmp(op, "exch") || !strcmp(op, "cas");
        if (!exists(op, type))
            continue;
        assert_true(l->n < COUNT(l->is_red));
        l->is_red[l->n] =
            !swaps && strcmp(order, ".acquire") && strcmp(order, ".acq_rel");
        l->reds += l->is_red[l->n++];
        strbuf_printf(&l->text, "atom%s%s%s.%s.%s %s3, [%%d1], %s2%s%s;\n", order, scope,
                      space, op, type, reg, reg, strcmp(op, "cas") ? "" : ", ",
                      strcmp(op, "cas")      ? ""
                      : !strcmp(type, "b64") ? "%d2"
                                             : "%r2");
    }
    strbuf_addz(&l->text, "ret;\n}\n");
}

static struct ptx_module *
reduced(const struct list *l)
{
    struct ptx_module *m = kit_parse(l->text.s);
    struct diag_sink diag = {0};
    struct strbuf why = {0};
    if (!pass_run(m, "dead-code:red=yes", NULL, NULL, &diag)) {
        diag_print(&diag, &why);
        fail_msg("%s", why.s);
    }
    diag_free(&diag);
    return m;
}

static void
red_where_there_is_one(void **state)
{
    (void)state;
    static struct list l;
    list_atoms(&l);
    struct ptx_module *m = reduced(&l);
    const struct ptx_func *f = m->funcs.v[0];
    size_t n = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        const char *mnemonic = ptx_ops[in->op].mnemonic;
        bool red = !strcmp(mnemonic, "red");
        if (!red && strcmp(mnemonic, "atom") != 0)
            continue;
        struct strbuf text = {0};
        ptx_print_inst(f, in, &text);
        if (red != l.is_red[n])
            fail_msg("atom %zu became%s", n, text.s);
        strbuf_free(&text);
        n++;
    }
    assert_int_equal(n, l.n);
    assert_true(l.reds > 500 && l.n - l.reds > 500);
    ptx_module_free(m);
    strbuf_free(&l.text);
}

static void
ptxas_takes_them(void **state)
{
    (void)state;
    static struct list l;
    const char *ptxas = kit_ptxas();
    if (!ptxas)
        SKIP_NEEDS("ptxas");
    list_atoms(&l);
    struct ptx_module *m = reduced(&l);
    struct strbuf text = {0};
    char path[] = "/tmp/allot-reductions-XXXXXX", cmd[300];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    ptx_print(m, &text);
    assert_int_equal(write(fd, text.s, text.n), text.n);
    close(fd);
    snprintf(cmd, sizeof cmd, "%s -arch=sm_90 -o /dev/null %s", ptxas, path);
    assert_int_equal(system(cmd), 0);
    unlink(path);
    strbuf_free(&text);
    ptx_module_free(m);
    strbuf_free(&l.text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(red_where_there_is_one),
                                       cmocka_unit_test(ptxas_takes_them)};
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
