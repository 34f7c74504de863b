/* ptx_errors.c: what the parser says about wrong texts, and where: line, column, length
 * of the marked text, message, hint. The lines below stand one after another in one
 * kernel, so that the test also holds that every error of a text is found and none makes
 * another. */
#include "unit/kit/ptx_kit.h"

#include "ptx/fault.h"

static const struct bad {
    const char *text;
    unsigned col, len; /* 0 col: the line is right */
    const char *message, *hint;
} lines[] = {
    {"ad.s32 %r1, %r2, %r3;", 1, 2, "unknown instruction 'ad'", "did you mean 'add'?"},
    {"add.s33 %r1, %r2, %r3;", 4, 4, "unknown modifier '.s33' of 'add'",
     "did you mean '.s32'?"},
    {"  setp.gq.s32 %p1, %r2, %r3;", 7, 3, "unknown modifier '.gq' of 'setp'",
     "did you mean '.eq'?"},
    {"add.wide.s32 %r1, %r2, %r3;", 4, 5, "'add' does not take '.wide'", NULL},
    {"add.b32 %r1, %r2, %r3;", 4, 4, "'add' does not take type .b32",
     "types of 'add': .u16 .u32"},
    {"griddepcontrol.s32;", 1, 18, "'griddepcontrol' does not have such suffixes",
     "it needs one of .wait .launch_dependents"},
    {"setp.s32 %p1, %r1, 3;", 1, 8, "'setp' is incomplete",
     "it needs one of .eq .ne .lt"},
    {"mul.s32 %r1, %r1, 3;", 1, 7, "'mul' is incomplete", "it needs one of .hi .lo"},
    {"cvt.f32 %f1, %f2;", 1, 7, "'cvt' takes 2 types here, 1 written", "types:"},
    {"cvt.s32.f32 %r1, %f1;", 1, 11, "cvt from .f32 to .s32 needs a rounding mode",
     ".rni"},
    {"cvt.rn.s32.f32 %r1, %f1;", 1, 14,
     "cvt from .f32 to .s32 needs another rounding mode", ".rni"},
    {"add.rn.rz.f32 %f1, %f2, %f3;", 7, 3,
     "'.rn' and '.rz' cannot stand together in 'add'", NULL},
    {"add.s32 %r1, %r9, %r3;", 14, 3, "register '%r9' is not declared",
     "did you mean '%r"},
    {"add.s32 %r1, counter, %r3;", 14, 7, "symbol 'counter' is not declared", NULL},
    {"ld.shared.u32 %r1, [tiel];", 21, 4, "symbol 'tiel' is not declared",
     "did you mean 'tile'?"},
    {"bra $dome;", 5, 5, "label '$dome' is not declared", "did you mean '$done'?"},
    {"bra tile;", 5, 4, "'tile' is a variable, not a label", NULL},
    {"add.s32 %r1, %r2;", 1, 7, "'add' takes 3 operands, 2 written", NULL},
    {"add.s32 %r1, %r2, %r3, %r1;", 1, 7, "'add' takes 3 operands, 4 written", NULL},
    {"bar.sync;", 1, 8, "'bar' takes 1 to 2 operands, 0 written", NULL},
    {"add.s32 %f1, %r2, %r3;", 9, 3, "'%f1' is .f32, operand 1 of 'add' must be .s32",
     "mov.b32 moves the bits"},
    {"add.s64 %rd1, %rd2, %r3;", 21, 3, "'%r3' is .b32, operand 3 of 'add' must be .s64",
     "the register has 32 bits, the instruction works on 64"},
    {"add.s32 %p1, %r2, %r3;", 9, 3, "predicate '%p1' stands where a value is needed",
     "selp"},
    {"setp.eq.s32 %r1, %r2, %r3;", 13, 3, "operand 1 of 'setp' must be a predicate",
     "setp"},
    {"add.s32 5, %r2, %r3;", 9, 1,
     "operand 1 of 'add' must be a register, not an integer", "it is written"},
    {"add.s32 %r1, [%rd1], %r3;", 14, 6,
     "operand 2 of 'add' must be a register or a constant, not a memory operand", NULL},
    {"add.u32 %r1, %tid.x, 1;", 14, 6, "special registers are read by mov and cvt",
     "mov it"},
    {"add.f32 %f1, %f2, 1;", 19, 1, "operand 3 of 'add' must be floating point",
     "a point"},
    {"add.s32 %r1, %r2, 1.5;", 19, 3, "a floating-point literal does not fit operand 3",
     NULL},
    {"ld.global.u32 %r1, %rd1;", 20, 4,
     "operand 2 of 'ld' must be a memory operand, not a register", "square brackets"},
    {"ld.global.u32 %r1, [%f1];", 20, 5, "'%f1' is .f32 and cannot hold an address",
     NULL},
    {"ld.global.u32 %r1, [tile];", 20, 6,
     "'tile' is in .shared, but the instruction says "
     ".global",
     "declared on line 10"},
    {"ld.global.u32 %rd1, [%rd1];", 0, 0, NULL, NULL},
    {"ld.global.u64 %r1, [%rd1];", 15, 3, "'%r1' is .b32, operand 1 of 'ld' must be .u64",
     NULL},
    {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", 18, 15,
     "operand 1 of 'ld' must have 2 elements, it has 3", NULL},
    {"ld.global.v2.u32 %r1, [%rd1];", 18, 3, "operand 1 of 'ld' must have 2 elements",
     "braces"},
    {"ld.global.u32 {%r1, %r2}, [%rd1];", 15, 10,
     "'ld' without .v2 or .v4 takes one register", "add .v2"},
    {"mov.u64 %rd1, {%r1, %r2};", 15, 10,
     "a vector in mov needs a type of bits, not .u64", "mov.b64"},
    {"mov.u32 %r1, %tid;", 14, 4, "special register '%tid' needs a component", "%tid.x"},
    {"mov.u32 %r1, %laneid.x;", 14, 7, "special register '%laneid' has no components",
     NULL},
    {"mov.u32 %r1, %r2.y;", 17, 2, "'%r2' has no component '.y'",
     "not a vector register"},
    {"mov.u32 %r1, -%r2;", 14, 1, "a minus sign cannot stand before a register", "neg"},
    {"mov.u32 %r1, !%r2;", 15, 3, "'!' goes before a predicate only", NULL},
    {"mov.u32 %r1|%r2, %r3;", 1, 7, "'mov' has one destination, not two joined by '|'",
     NULL},
    {"shfl.sync.idx.b32 %r1, %r2, 0, 31;", 1, 17, "shfl.sync needs a member mask", NULL},
    {"atom.global.cas.b32 %r1, [%rd1], %r2;", 1, 19, "atom.cas takes 4 operands",
     "compare value"},
    {"bar.sync 16;", 10, 2, "a barrier has a number from 0 to 15", NULL},
    {"bar.arrive 1;", 1, 10, "bar.arrive needs the number of threads", NULL},
    {"@%r1 bra $done;", 2, 3, "'%r1' is not a predicate register", NULL},
    {"@%p9 bra $done;", 2, 3, "register '%p9' is not declared", "did you mean '%p"},
    {".reg .b32 %r2;", 11, 3, "'%r2' is declared twice",
     "already a register, declared on line 7"},
    {".reg .texref t;", 1, 4, "a register cannot be a .texref", NULL},
    {".reg .q32 t;", 6, 4, "unknown type or attribute '.q32'", NULL},
    {".local .u32 x[];", 13, 1, "array 'x' needs a size", NULL},
    {".local .align 3 .u32 xx;", 15, 1, "an alignment must be a power of two", NULL},
    {".global .u32 gg;", 1, 7,
     "a variable of this state space cannot stand in a function", "module scope"},
    {"call nowhere;", 6, 7, "function 'nowhere' is not declared", NULL},
    {"call dev, (%r1);", 6, 3,
     "'dev' takes 0 arguments and returns 0, the call has 1 and 0", NULL},
    {"call k;", 6, 1, "kernel 'k' cannot be called", "only a .func can"},
    {"call %rd1;", 6, 4, "an indirect call needs a prototype", ".callprototype"},
    {"call %rd1, prt;", 12, 3, "prototype 'prt' is not declared", NULL},
    {"mov.u32 %r1, \"text;", 14, 6, "the string has no closing quote on its line", NULL},
    {"mov.f32 %f1, 0f3f80;", 14, 6, "a 0f literal has exactly 8 hexadecimal digits",
     NULL},
    {"mov.u32 %r1, 09;", 14, 2, "this digit does not belong", "octal"},
    {"mov.u32 %r1, 0x1ffffffffffffffff;", 14, 19, "the literal does not fit 64 bits",
     NULL},
    {"mov.u32 %r1, 1/0;", 15, 1, "division by zero", NULL},
    {"mov.u32 %r1, 1.0+2;", 17, 1, "constant expressions work on integers only", NULL},
    {"mov.u32 %r1, (1+2;", 18, 1, "expected ')', found ';'", NULL},
    {"mov.u32 %r1 %r2;", 13, 3, "expected ',' or ';', found '%r2'", NULL},
    {"mov.u32 %r1, %r2", 17, 1, "missing ';'", "every statement ends with a semicolon"},
    {"mov.u32 %r1, ;", 14, 1, "expected a constant, found ';'", NULL},
    {"st.global.u32 [%rd1+%r2], %r1;", 21, 3, "expected a constant, found '%r2'", NULL},
    {"st.global.u32 [%rd1, ], %r1;", 16, 4, "coordinates are missing after the comma",
     NULL},
    {"st.global.u32 [%rd1, %r1;", 25, 1, "expected ']', found ';'", NULL},
    {"\x01\x02 mov.u32 %r1, %r2;", 1, 2, "these characters do not belong in PTX", NULL},
    {"5;", 1, 1, "expected a statement, found '5'", NULL},
    {".foo;", 1, 4, "'.foo' does not begin a statement", NULL},
    {"mov.u32 %r1, %r2; { mov.u32 %r1, zz; }", 34, 2, "symbol 'zz' is not declared",
     NULL},
    {"$done: ret;", 0, 0, NULL, NULL},
};
enum { NL = sizeof lines / sizeof *lines, FIRST = 12 };

static const char head[] = HEAD
    ".func dev();\n.visible .entry k(.param .u64 p) {\n.reg .pred %p<4>;\n.reg .b32 "
    "%r<4>;\n"
    ".reg .b64 %rd<4>;\n.reg .f32 %f<4>;\n.shared .b8 tile[64];\n.reg .f64 %fd<4>;\n";

static void
check(const struct diag *d, const struct bad *b, unsigned line)
{
    struct strbuf all = {0};
    strbuf_printf(&all, "line '%s': %u:%u (%u) %s; hint %s", b->text, d->line, d->col,
                  d->len, d->message, d->hint ? d->hint : "none");
    if (d->line != line || d->col != b->col || d->len != b->len ||
        strncmp(d->message, b->message, strlen(b->message)) ||
        (b->hint && (!d->hint || !strstr(d->hint, b->hint))))
        fail_msg("%s", all.s);
    assert_string_equal(d->file, "t.ptx");
    assert_int_equal(d->level, DIAG_ERROR);
    strbuf_free(&all);
}

static void
every_error_of_a_text(void **state)
{
    (void)state;
    struct strbuf text = {0};
    struct diag_sink diag = {0};
    strbuf_addz(&text, head);
    for (unsigned i = 0; i < NL; i++)
        strbuf_printf(&text, "%s\n", lines[i].text);
    strbuf_addz(&text, "}\n");
    assert_null(ptx_parse("t.ptx", text.s, text.n, &diag));
    size_t n = 0;
    for (unsigned i = 0; i < NL; i++) {
        if (!lines[i].col)
            continue;
        assert_true(n < diag.n);
        check(diag.list[n++], &lines[i], FIRST + i);
    }
    assert_int_equal(diag.n, n);
    diag_free(&diag);
    strbuf_free(&text);
}

/* The same, each alone: no error depends on one before it. */
static void
each_error_alone(void **state)
{
    (void)state;
    for (unsigned i = 0; i + 1 < NL; i++) {
        struct strbuf text = {0};
        struct diag_sink diag = {0};
        strbuf_printf(&text, "%s%s\n$done: ret;\n}\n", head, lines[i].text);
        struct ptx_module *m = ptx_parse("t.ptx", text.s, text.n, &diag);
        assert_int_equal(diag.n, lines[i].col ? 1 : 0);
        assert_true(!m == !!lines[i].col);
        if (lines[i].col)
            check(diag.list[0], &lines[i], FIRST);
        ptx_module_free(m);
        diag_free(&diag);
        strbuf_free(&text);
    }
}

/* -- an error in a body belongs to that function -- */

static const struct ptx_func *
find(const struct ptx_module *m, const char *name)
{
    const struct ptx_func *f = ptx_find_func(m, name);
    assert_non_null(f);
    return f;
}

/* The module is the same after printing, and f's body stands there as it was written. */
static void
kept_as_written(const struct ptx_module *m, const struct ptx_func *f, const char *line)
{
    struct strbuf printed = {0};
    kit_roundtrip(m, &printed);
    assert_non_null(strstr(printed.s, f->fault->text));
    assert_non_null(strstr(f->fault->text, line));
    assert_int_equal(*f->fault->text, '{');
    assert_int_equal(f->body.n + f->vars.n + f->labels.n + f->regdecls.n, 0);
    strbuf_free(&printed);
}

/* Every kind of error in the body of k, beside a kernel and a function without: the only
 * function with errors is k, and they are those of the text with k alone. */
static void
errors_stay_in_their_kernel(void **state)
{
    (void)state;
    static const char before[] = ".visible .entry first(.param .u64 q) { ret; } ",
                      after[] = ".func g() { ret; }\n.visible .entry last(.param .u64 p) "
                                "{\n.reg .b64 %rd;\nld.param.u64 %rd, [p];\ncall g;\n"
                                "bra $done;\n$done: ret;\n}\n";
    for (unsigned i = 0; i + 1 < NL; i++)
        for (unsigned place = 0; place < 3 && lines[i].col; place++) {
            struct strbuf text = {0};
            struct diag_sink diag = {0};
            bool is_first = place == 0, is_last = place == 2;
            strbuf_printf(&text, HEAD "%s", is_first ? "" : before);
            strbuf_printf(&text, "%s%s\n$done: ret;\n}\n", head + sizeof HEAD - 1,
                          lines[i].text);
            strbuf_addz(&text, is_last ? "" : after);
            struct ptx_module *m = ptx_parse("t.ptx", text.s, text.n, &diag);
            if (!m)
                fail_msg("'%s' refuses the file", lines[i].text);
            assert_int_equal(diag.n, 0);
            const struct ptx_func *k = find(m, "k");
            assert_non_null(k->fault);
            assert_int_equal(k->fault->errors, 1);
            check(&k->fault->said[0], &lines[i], FIRST);
            for (size_t n = 0; n < m->funcs.n; n++)
                assert_true(!m->funcs.v[n]->fault == (m->funcs.v[n] != k));
            if (!is_last)
                assert_int_equal(find(m, "last")->body.n, 5);
            kept_as_written(m, k, lines[i].text);
            ptx_fault_tell(k, &diag);
            assert_int_equal(diag.errors, 1);
            diag_free(&diag);
            for (unsigned alone = 0; alone < 2; alone++) { /* copies: of one, of all */
                struct ptx_module *c = ptx_copy(m, alone ? "k" : NULL, &diag);
                assert_non_null(c);
                const struct ptx_func *x = find(c, "k");
                check(&x->fault->said[0], &lines[i], FIRST);
                assert_string_equal(x->fault->text, k->fault->text);
                ptx_module_free(c);
            }
            assert_int_equal(diag.n, 0);
            ptx_module_free(m);
            strbuf_free(&text);
        }
}

/* What has no end that can be found, or stands outside of bodies, is an error of the file, and
 * then so are the others. */
static void
errors_of_the_file(void **state)
{
    (void)state;
    static const char sound[] = ".entry s() { ret; }\n", bad[] = "{ frob; ret; }\n";
    static const struct {
        const char *text;
        unsigned errors;
    } t[] = {{".entry k() { ret;\n", 1},
             {".entry k() { ret; } }\n", 1},
             {".entry k() { frob; { ret; }\n.entry l() { ret; }\n", 2},
             {".frobnicate 3;\n.entry k() { frob; }\n", 2},
             {".entry k(.param .q32 a) { frob; }\n", 1},
             {".entry k()\n.maxntid 32 \x01\n{ ret; }\n", 1},
             {".entry k() { frob; } .entry k() { ret; }\n", 2}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        strbuf_printf(&b, HEAD "%s%s", sound, t[i].text);
        struct ptx_module *m = ptx_parse_part("t.ptx", b.s, b.n, &diag);
        if (m || diag.errors != t[i].errors)
            fail_msg("'%s': %zu errors", t[i].text, diag.errors);
        diag_free(&diag);
        strbuf_free(&b);
    }
    /* No sound kernel: refused, but as a part of a module taken. Functions alone are no
     * kernels. */
    static const char *const kernels[] = {
        ".entry k() ", ".func f() { ret; }\n.entry k() ", ".func k() "};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        strbuf_printf(&b, HEAD "%s%s", kernels[i], bad);
        assert_null(ptx_parse("t.ptx", b.s, b.n, &diag));
        assert_int_equal(diag.errors, 1);
        struct ptx_module *m = ptx_parse_part("t.ptx", b.s, b.n, &diag);
        assert_int_equal(diag.errors, 1);
        assert_non_null(find(m, "k")->fault);
        ptx_module_free(m);
        diag_free(&diag);
        strbuf_free(&b);
    }
}

/* Blocks of unknown directives, unknown directives of the head, blocks nested too deep. */
static void
ends_of_bodies(void **state)
{
    (void)state;
    struct strbuf deep = {0};
    strbuf_addz(&deep, ".entry k() {");
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 300; i++)
            strbuf_addz(&deep, side ? "}" : "{");
    strbuf_addz(&deep, "}\n");
    const struct {
        const char *text;
        size_t errors; /* a block of what is unknown is passed over as a whole */
    } t[] = {
        {".entry k() { .frob { a; { b; } c; }\nret; }\n", 1},
        {".entry k() { .frob { a; };\nret; }\n", 1},
        {".entry k()\n.frob 1, 2\n.maxntid 32\n.frob\n{ ret; }\n", 2},
        {".entry k() { frob {%r1, %r2}, x; foo.bar [%r1, {1, 2}]; }\n", 2},
        {".entry k() { add.s32 {%r1; ret; }\n", 2},
        {deep.s, 1},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        strbuf_printf(&b, HEAD "%s.entry s() { ret; }\n", t[i].text);
        struct ptx_module *m = ptx_parse("t.ptx", b.s, b.n, &diag);
        if (!m)
            fail_msg("'%s' refuses the file: %s", t[i].text, diag.list[0]->message);
        assert_non_null(find(m, "k")->fault);
        if (find(m, "k")->fault->errors != t[i].errors)
            fail_msg("'%s': %zu errors", t[i].text, (size_t)find(m, "k")->fault->errors);
        assert_null(find(m, "s")->fault);
        kit_roundtrip(m, NULL);
        ptx_module_free(m);
        diag_free(&diag);
        strbuf_free(&b);
    }
    strbuf_free(&deep);
}

/* Many functions with errors: each has its own, and the places are right behind long texts. */
static void
many_functions_with_errors(void **state)
{
    (void)state;
    struct strbuf b = {0};
    struct diag_sink diag = {0};
    strbuf_addz(&b, HEAD ".entry s() { ret; }\n");
    for (int i = 0; i < 500; i++)
        strbuf_printf(&b, ".entry k%d() {\n bra $no;\n\n frob%d.u32 1;\n}\n", i, i);
    struct ptx_module *m = ptx_parse("t.ptx", b.s, b.n, &diag);
    assert_non_null(m);
    assert_int_equal(m->funcs.n, 501);
    for (unsigned i = 0; i < 500; i++) {
        const struct ptx_func *f = m->funcs.v[i + 1];
        char source[40];
        assert_int_equal(f->fault->n, 2);
        assert_int_equal(f->fault->errors, 2);
        const struct diag *d = &f->fault->said[0];
        snprintf(source, sizeof source, " frob%u.u32 1;", i);
        assert_string_equal(d->source, source);
        assert_int_equal(d->line, 5 + 5 * i + 3);
        assert_string_equal(f->fault->said[1].source, " bra $no;");
        assert_int_equal(f->fault->said[1].line, 5 + 5 * i + 1);
    }
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
    diag_free(&diag);
    strbuf_free(&b);
}

static void
modules(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        struct bad want;
    } t[] = {
        {"", 1, {"", 1, 1, "the text has no .version directive", "is this PTX?"}},
        {"hello world\n", 1, {"", 1, 5, "expected a directive, found 'hello'", NULL}},
        {".version 1.3\n.target sm_10\n",
         1,
         {"", 10, 3, "PTX ISA version 1.3 is not supported", "versions from 1.4 on are"}},
        {".version 8.0\n", 2, {"", 1, 0, ".target is missing", NULL}},
        {".version 8.0\n.target gfx90\n",
         2,
         {"", 9, 5, "unknown target 'gfx90'", "sm_20"}},
        {".target sm_80\n",
         1,
         {"", 1, 7, "the module does not begin with .version", "for example"}},
        {HEAD ".address_size 48\n", 4, {"", 15, 2, "the address size is 32 or 64", NULL}},
        {HEAD ".entry k() {\n{ ret;\n",
         6,
         {"", 1, 0, "a block is not closed", "began on line 5"}},
        {HEAD ".entry k() {\nret;\n.entry l() { ret; }\n",
         6,
         {"", 1, 6, "a function begins within a function", "began on line 4"}},
        {HEAD "/* never\n ends", 5, {"", 6, 0, "the comment is not closed", "*/"}},
        {HEAD ".entry k() { ret; }\n.entry k() { ret; }\n",
         5,
         {"", 8, 1, "'k' is declared twice", "declared on line 4"}},
        {HEAD ".global .u32 a[2] = {1, 2, 3};\n",
         4,
         {"", 28, 1, "more values than 'a' has elements", NULL}},
        {HEAD ".global .u32 a = b;\n",
         4,
         {"", 18, 1, "'b' is not a declared variable or function", NULL}},
        {HEAD ".shared .u32 a = 3;\n",
         4,
         {"", 16, 1, "only .global and .const variables can be initialised", NULL}},
        {HEAD ".global .u32 a\n.entry k() { ret; }\n",
         4,
         {"", 15, 1, "missing ';'", NULL}},
        {HEAD ".reg .u32 a;\n",
         4,
         {"", 1, 4, "registers cannot be declared at module scope", NULL}},
        {HEAD ".frobnicate 3;\n",
         4,
         {"", 1, 11, "unknown directive '.frobnicate'", NULL}},
        {HEAD ".section .debug_str { .b8 1\n",
         4,
         {"", 1, 8, "the section is not closed", NULL}},
        {HEAD ".entry k(.param .u32 a, .param .u32 a) { ret; }\n",
         4,
         {"", 37, 1, "'a' is declared twice", NULL}},
        {HEAD ".entry k(.reg .u32 a) { ret; }\n",
         4,
         {"", 10, 4, "a parameter cannot be in this state space", ".param"}},
        {HEAD ".entry k() { .reg .b32 %r<4000000000>; }\n",
         4,
         {"", 27, 10, "4000000000 registers are more than this text can use", NULL}},
        {HEAD ".global .u8 a[1000000000] = {1};\n",
         4,
         {"", 29, 1, "the initialisers of this module are too large", NULL}},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct diag_sink diag = {0};
        struct ptx_module *m = ptx_parse("t.ptx", t[i].text, strlen(t[i].text), &diag);
        assert_null(m);
        assert_true(diag.n >= 1);
        struct bad want = t[i].want;
        want.text = t[i].text;
        check(diag.list[0], &want, t[i].line);
        if (diag.n != 1)
            fail_msg("'%s': also '%s'", t[i].text, diag.list[1]->message);
        diag_free(&diag);
    }
}

static void
deep_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *before, *one;
    } t[] = {{HEAD ".entry k() {", "{"},
             {HEAD ".entry k() { .reg .u32 %r; mov.u32 %r, ", "("},
             {HEAD ".entry k() { .reg .u32 %r; mov.u32 %r, ", "-"},
             {HEAD ".entry k() { .reg .u32 %r; mov.u32 %r, ", "1?"},
             {HEAD ".global .u32 x = ", "{"},
             {HEAD ".entry k() { mov.u32 ", "{"},
             {HEAD ".entry k() { tex.1d ", "[a,"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        strbuf_addz(&b, t[i].before);
        for (int k = 0; k < 200000; k++)
            strbuf_addz(&b, t[i].one);
        assert_null(ptx_parse("t.ptx", b.s, b.n, &diag));
        assert_true(diag.errors > 0);
        diag_free(&diag);
        strbuf_free(&b);
    }
}

/* Every mnemonic with every word that is a type or a modifier of any instruction, alone and
 * twice: an error with words in it, or a module. */
static void
any_suffix(void **state)
{
    (void)state;
    const char *words[PTX_NTYPES + PTX_NMODS];
    unsigned nwords = 0;
    for (unsigned t = 1; t < PTX_NTYPES; t++)
        words[nwords++] = ptx_types[t].text;
    for (unsigned m = 1; m < PTX_NMODS; m++)
        words[nwords++] = ptx_mods[m].text;
    for (unsigned op = 0; op < PTX_NOPS; op++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        if (ptx_ops[op].flags & PTX_PSEUDO)
            continue;
        strbuf_addz(&b, HEAD ".entry k() {\n");
        for (unsigned w = 0; w < nwords; w++)
            strbuf_printf(&b, "%s.%s;\n%s.%s.%s;\n", ptx_ops[op].mnemonic, words[w],
                          ptx_ops[op].mnemonic, words[w], words[w]);
        strbuf_addz(&b, "}\n");
        struct ptx_module *m = ptx_parse("t.ptx", b.s, b.n, &diag);
        assert_int_equal(m == NULL, diag.errors > 0);
        for (size_t i = 0; i < diag.n; i++)
            assert_true(*diag.list[i]->message);
        ptx_module_free(m);
        diag_free(&diag);
        strbuf_free(&b);
    }
}

static void
missing_file(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    assert_null(ptx_parse_file("/nonexistent/a.ptx", &diag));
    assert_int_equal(diag.errors, 1);
    assert_non_null(strstr(diag.list[0]->message, "/nonexistent/a.ptx"));
    diag_free(&diag);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_of_a_text),
        cmocka_unit_test(each_error_alone),
        cmocka_unit_test(errors_stay_in_their_kernel),
        cmocka_unit_test(errors_of_the_file),
        cmocka_unit_test(ends_of_bodies),
        cmocka_unit_test(many_functions_with_errors),
        cmocka_unit_test(modules),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(any_suffix),
        cmocka_unit_test(missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
