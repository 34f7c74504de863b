/* ptx_parse.c: what the parser makes of addresses, scopes, declarations, calls,
 * initialisers: the fields of the IR, and that they survive printing. */
#include "unit/kit/ptx_kit.h"

static const struct ptx_reg *
reg(const struct ptx_module *m, const struct ptx_operand *o)
{
    assert_true(o->reg >= 0);
    return &kit_func(m)->regs.v[o->reg];
}

static void
addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reg, *var;
        int64_t off;
    } t[] = {
        {"[%rd1]", "%rd1", NULL, 0},       {"[%rd1+8]", "%rd1", NULL, 8},
        {"[%rd1+-8]", "%rd1", NULL, -8},   {"[%rd1-8]", "%rd1", NULL, -8},
        {"[%rd1+0x10]", "%rd1", NULL, 16}, {"[ %rd1 + 4*3 ]", "%rd1", NULL, 12},
        {"[%r2+4]", "%r2", NULL, 4},       {"[sm]", NULL, "sm", 0},
        {"[sm+12]", NULL, "sm", 12},       {"[sm-4]", NULL, "sm", -4},
        {"[sm+4+8]", NULL, "sm", 12},      {"[64]", NULL, NULL, 64},
        {"[0x40+1]", NULL, NULL, 65},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0};
        strbuf_addz(&b,
                    HEAD ".shared .b8 sm[64];\n.entry k() { .reg .b32 %r<4>; .reg .b64 "
                         "%rd<4>;\nld.shared.u32 %r1, ");
        strbuf_printf(&b, "%s; }", t[i].text);
        struct ptx_module *m = kit_parse(b.s);
        const struct ptx_operand *o = &kit_inst(m, 0)->ops[1];
        assert_int_equal(o->kind, PTX_OPD_ADDR);
        assert_int_equal(o->off, t[i].off);
        assert_true(t[i].reg ? !strcmp(reg(m, o)->name, t[i].reg) : o->reg == -1);
        assert_true(t[i].var ? o->var && !strcmp(o->var->name, t[i].var) : !o->var);
        kit_roundtrip(m, NULL);
        ptx_module_free(m);
        strbuf_free(&b);
    }
}

static void
symbols_as_values(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        HEAD
        ".global .align 4 .u32 a[8];\n.func f() { ret; }\n.entry k() { .reg .b64 "
        "%rd<4>;\n"
        "mov.u64 %rd1, a;\nmov.u64 %rd1, a+4;\nmov.u64 %rd1, a[3];\nmov.u64 %rd1, f; }");
    const struct ptx_func *k = m->funcs.v[1];
    static const int64_t off[] = {0, 4, 12}; /* an index counts elements */
    for (int i = 0; i < 3; i++) {
        const struct ptx_operand *o = &k->body.v[i].ops[1];
        assert_int_equal(o->kind, PTX_OPD_SYM);
        assert_ptr_equal(o->var, m->vars.v[0]);
        assert_int_equal(o->off, off[i]);
    }
    assert_int_equal(k->body.v[3].ops[1].kind, PTX_OPD_FUNCSYM);
    assert_ptr_equal(k->body.v[3].ops[1].func, m->funcs.v[0]);
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
}

static void
operands(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(KERNEL(
        "setp.lt.and.s32 %p1|%p2, %s1, 5, !%p3;\nsetp.lt.s32 %p1, %s1, 5;\n"
        "setp.lt.s32 %p1|_, %s1, 5;\nld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1];\n"
        "bar.red.popc.u32 %r1, 3, %p1;\nbar.red.popc.u32 %r1, 3, 64, !%p1;\nbar.sync 1, "
        "64;\n"
        "@!%p4 mov.u32 %r1, %ctaid.y;\nmov.u32 %r1, %envreg17;\nmov.b64 {%r1, %r2}, "
        "%rd1;\n"
        "vote.ballot.sync.b32 %r1, %p1, -1;\n.reg .v4 .f32 v;\nadd.f32 %f1, v.y, v.a;\n"
        "prmt.b32.f4e %r1, %r2, %r3, 1;\nsetp.eq .u32 %p1, %r1, 2;\n"));
    const struct ptx_func *f = kit_func(m);
    const struct ptx_inst *in = f->body.v;
    assert_int_equal(in[0].op, PTX_OP_SETP);
    assert_int_equal(in[0].nops, 5);
    assert_string_equal(f->regs.v[in[0].ops[1].reg].name, "%p2");
    assert_true(in[0].ops[4].neg);
    assert_int_equal(in[0].mod[PTX_MG_BOOL], PTX_BOOL_AND);
    assert_int_equal(in[0].mod[PTX_MG_CMP], PTX_CMP_LT);
    assert_int_equal(in[1].ops[1].kind, PTX_OPD_NONE);
    assert_int_equal(in[1].ops[4].kind, PTX_OPD_NONE);
    assert_int_equal(in[1].ops[3].imm, 5);
    assert_int_equal(in[2].ops[1].kind, PTX_OPD_SINK);
    assert_int_equal(in[3].ops[0].kind, PTX_OPD_VEC);
    assert_int_equal(in[3].ops[0].n, 4);
    assert_int_equal(in[3].ops[0].vec[1].kind, PTX_OPD_SINK);
    assert_int_equal(in[4].op, PTX_OP_BARRED); /* d, a, p: b is left out */
    assert_int_equal(in[4].ops[2].kind, PTX_OPD_NONE);
    assert_int_equal(in[4].ops[3].kind, PTX_OPD_REG);
    assert_int_equal(in[5].ops[2].imm, 64);
    assert_true(in[5].ops[3].neg);
    assert_int_equal(in[6].op, PTX_OP_BAR);
    assert_int_equal(in[7].ops[1].kind, PTX_OPD_SREG);
    assert_int_equal(in[7].ops[1].sreg, PTX_SREG_CTAID);
    assert_int_equal(in[7].ops[1].comp, 1);
    assert_string_equal(f->regs.v[in[7].guard].name, "%p4");
    assert_true(in[7].guard_neg);
    assert_int_equal(in[8].ops[1].sreg, PTX_SREG_ENVREG);
    assert_int_equal(in[8].ops[1].comp, 17);
    assert_int_equal(in[9].ops[0].n, 2);
    assert_int_equal(in[10].mod[PTX_MG_SYNC], PTX_SYNC_SYNC);
    assert_int_equal(in[11].ops[1].comp, 2);
    assert_int_equal(in[11].ops[2].comp, 4);
    assert_int_equal(in[12].mod[PTX_MG_PRMT], PTX_PRMT_F4E);
    assert_int_equal(in[13].type[0], PTX_U32);
    struct strbuf b = {0};
    kit_roundtrip(m, &b);
    assert_non_null(strstr(b.s, "setp.lt.and.s32 %p1|%p2, %s1, 5, !%p3;"));
    assert_non_null(strstr(b.s, "bar.red.popc.u32 %r1, 3, 64, !%p1;"));
    assert_non_null(strstr(b.s, "vote.sync.ballot.b32 %r1, %p1, -1;"));
    assert_non_null(strstr(b.s, "prmt.b32.f4e"));
    strbuf_free(&b);
    ptx_module_free(m);
}

static void
scopes(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        HEAD
        ".global .u32 g;\n.entry k() {\n.reg .u32 x, r<3>;\n"
        "{ .reg .u32 x; mov.u32 x, 1; { .reg .u32 x; mov.u32 x, 2; } mov.u32 x, 3; }\n"
        "mov.u32 x, 4;\n{ .reg .u32 x, r<2>; mov.u32 x, r1; }\nmov.u32 x, r1;\n"
        "{ .reg .u32 g; mov.u32 g, 5; }\n"
        "L: bra L;\n{ bra L; L: bra L; }\n{ bra M; }\nM: }");
    const struct ptx_func *f = kit_func(m);
    static const char *const names[] = {"x_s2", "x_s3", "x_s2", "x", "x_s4", "x", "g_s2"};
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(f->regs.v[kit_inst(m, i)->ops[0].reg].name, names[i]);
    assert_string_equal(f->regs.v[kit_inst(m, 4)->ops[1].reg].name, "r_s2_1");
    assert_string_equal(f->regs.v[kit_inst(m, 5)->ops[1].reg].name, "r1");
    /* A label of the same name in an inner block is meant there, even before it stands.
     */
    assert_string_equal(f->labels.v[kit_inst(m, 7)->ops[0].label].name, "L");
    assert_string_equal(f->labels.v[kit_inst(m, 8)->ops[0].label].name, "L_s2");
    assert_string_equal(f->labels.v[kit_inst(m, 9)->ops[0].label].name, "L_s2");
    assert_string_equal(f->labels.v[kit_inst(m, 10)->ops[0].label].name, "M");
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
}

/* A thousand blocks that declare the same name, as inline assembly makes them. */
static void
many_scopes(void **state)
{
    (void)state;
    struct strbuf b = {0};
    strbuf_addz(&b, HEAD ".entry k() {\n");
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&b, "{ .reg .pred p; .reg .b32 t<4>; setp.eq.b32 p, t3, %d; }\n",
                      i);
    strbuf_addz(&b, "}\n");
    struct ptx_module *m = kit_parse(b.s);
    const struct ptx_func *f = kit_func(m);
    assert_int_equal(f->regs.n, 5000);
    for (size_t i = 0; i < f->body.n; i++)
        assert_int_equal(f->body.v[i].ops[0].reg, i * 5);
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
    strbuf_free(&b);
}

static void
declarations(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        ".version 8.0\n.target sm_90a, debug, texmode_independent\n.address_size 64\n"
        ".visible .global .align 16 .v4 .f32 a[2][3];\n.extern .shared .align 8 .b8 "
        "s[];\n"
        ".const .f64 c = 0d3FF8000000000000;\n.weak .global .attribute(.managed) .s16 w "
        "= -2;\n"
        ".shared .u32 x, y[4];\n.global .texref t;\n.common .global .b64 q;\n"
        ".global .samplerref sr = { addr_mode_0 = clamp_to_edge, filter_mode = linear "
        "};\n"
        ".visible .entry k(.param .u64 .ptr .global .align 8 p, .param .align 4 .b8 "
        "b[10],\n"
        " .param .f64 d, .param .u8 e)\n.maxntid 128, 2\n.minnctapersm 3\n.maxnreg 40\n"
        ".pragma \"nounroll\";\n{ ret; }\n"
        ".func (.reg .f32 r) f(.reg .u32 n, .reg .pred z) .noreturn\n{ mov.f32 r, "
        "0f00000000; }\n");
    struct ptx_var *const *v = m->vars.v;
    assert_string_equal(m->target, "sm_90a");
    assert_int_equal(m->sm, 90);
    assert_string_equal(m->target_options, "debug, texmode_independent");
    assert_int_equal(v[0]->size, 96);
    assert_int_equal(v[0]->align, 16);
    assert_int_equal(v[0]->vec, 4);
    assert_int_equal(v[0]->ndims, 2);
    assert_int_equal(v[0]->dims[1], 3);
    assert_int_equal(v[0]->linkage, PTX_LINK_VISIBLE);
    assert_true(v[1]->dynamic);
    assert_int_equal(v[1]->size, 0);
    assert_int_equal(v[1]->space, PTX_SPACE_SHARED);
    assert_int_equal(v[2]->init[7], 0x3f);
    assert_int_equal(v[2]->init[6], 0xf8);
    assert_int_equal(v[3]->init[0], 0xfe);
    assert_int_equal(v[3]->init[1], 0xff);
    assert_string_equal(v[3]->attribute, ".attribute(.managed)");
    assert_string_equal(v[5]->name, "y");
    assert_int_equal(v[5]->size, 16);
    assert_int_equal(v[6]->type, PTX_TEXREF);
    assert_int_equal(v[7]->linkage, PTX_LINK_COMMON);
    const struct ptx_func *k = m->funcs.v[0], *f = m->funcs.v[1];
    assert_true(k->is_entry);
    assert_int_equal(k->params.v[0]->ptr_space, PTX_SPACE_GLOBAL);
    assert_int_equal(k->params.v[0]->ptr_align, 8);
    assert_int_equal(k->params.v[1]->offset, 8);
    assert_int_equal(k->params.v[1]->size, 10);
    assert_int_equal(k->params.v[2]->offset, 24); /* aligned up from 18 */
    assert_int_equal(k->params.v[3]->offset, 32);
    assert_int_equal(k->param_bytes, 33);
    assert_int_equal(k->maxntid[0], 128);
    assert_int_equal(k->maxntid[1], 2);
    assert_int_equal(k->maxntid[2], 1);
    assert_int_equal(k->minnctapersm, 3);
    assert_int_equal(k->maxnreg, 40);
    assert_string_equal(k->pragmas.v[0], "\"nounroll\"");
    assert_true(f->noreturn);
    assert_int_equal(f->regs.n, 3);
    assert_int_equal(f->rets.v[0]->space, PTX_SPACE_REG);
    assert_string_equal(f->regs.v[2].name, "z");
    assert_int_equal(f->regs.v[2].type, PTX_PRED);
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
}

static void
initialisers(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        HEAD
        ".global .u16 a[2][3] = {{1, 2}, {3}};\n.global .u16 b[2][3] = {1, 2, 3, 4};\n"
        ".global .f32 c[] = {1.0, 0f40000000, -3, 2.5e0};\n"
        ".global .v2 .u32 d[2] = {{1, 2}, {3, 4}};\n.func f() { ret; }\n"
        ".global .u64 e[4] = {a, a+6, generic(b)+2, f};\n"
        ".global .b8 g[9] = {0xff(a), 0xff00(a), 0xff0000(a), 0xff000000(a), "
        "0xff00000000(a), 0xff0000000000(a), 0xff000000000000(a), "
        "0xff00000000000000(a), 7};\n.global .b8 h[2] = {0xff(a), 0xff0000(b+1)};\n"
        ".global .b32 i = 0f3f800000;\n.global .s8 j = 1 ? -1 : 0;\n");
    struct ptx_var *const *v = m->vars.v;
    static const uint16_t a[] = {1, 2, 0, 3, 0, 0}, b[] = {1, 2, 3, 4, 0, 0};
    static const float c[] = {1, 2, -3, 2.5f};
    static const uint32_t d[] = {1, 2, 3, 4};
    assert_memory_equal(v[0]->init, a, sizeof a);
    assert_memory_equal(v[1]->init, b, sizeof b);
    assert_int_equal(v[2]->size, 16);
    assert_false(v[2]->dynamic);
    assert_memory_equal(v[2]->init, c, sizeof c);
    assert_memory_equal(v[3]->init, d, sizeof d);
    const struct ptx_reloc *r = v[4]->relocs.v;
    assert_int_equal(v[4]->relocs.n, 4);
    assert_int_equal(r[1].at, 8);
    assert_int_equal(r[1].off, 6);
    assert_false(r[1].generic);
    assert_true(r[2].generic);
    assert_int_equal(r[2].off, 2);
    assert_ptr_equal(r[2].var, v[1]);
    assert_ptr_equal(r[3].func, m->funcs.v[0]);
    assert_int_equal(v[5]->relocs.n, 1); /* eight bytes of one address */
    assert_int_equal(v[5]->relocs.v[0].bytes, 8);
    assert_int_equal(v[5]->relocs.v[0].mask, 0);
    assert_int_equal(v[5]->init[8], 7);
    assert_int_equal(v[6]->relocs.n, 2);
    assert_int_equal(v[6]->relocs.v[1].bytes, 1);
    assert_int_equal(v[6]->relocs.v[1].mask, 0xff0000);
    assert_int_equal(v[6]->relocs.v[1].off, 1);
    assert_int_equal(v[7]->init[3], 0x3f);
    assert_int_equal(v[8]->init[0], 0xff);
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
}

static void
calls(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        HEAD
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n.func "
        "e();\n"
        ".func (.reg .u32 x) g(.reg .u32 y);\n.entry k() {\n.reg .b64 %rd<3>; .reg .u32 "
        "%r<4>;\ncall e;\ncall.uni e, ();\n{ .param .b64 p0; .param .b64 p1; .param .b32 "
        "r0;\n"
        "st.param.b64 [p0], %rd1; call.uni (r0), vprintf, (p0, p1); }\n"
        "{ .param .b64 p0; .param .b64 p1; .param .b32 r0;\n"
        "pr: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
        "call (r0), %rd1, (p0, p1), pr; }\ncall (%r1), g, (5);\n"
        "tl: .calltargets e;\ncall %rd2, tl;\n"
        "bt: .branchtargets A, B, A;\nbrx.idx %r1, bt;\nA:\nB: ret; }");
    const struct ptx_inst *c = kit_inst(m, 0);
    assert_int_equal(c->ops[0].kind, PTX_OPD_NONE);
    assert_ptr_equal(c->ops[1].func, m->funcs.v[1]);
    assert_int_equal(c->ops[2].kind, PTX_OPD_NONE);
    c = kit_inst(m, 3);
    assert_int_equal(c->ops[0].n, 1);
    assert_int_equal(c->ops[2].n, 2);
    assert_string_equal(c->ops[2].vec[0].var->name, "p0");
    c = kit_inst(m, 4);
    assert_int_equal(c->ops[1].kind, PTX_OPD_REG);
    assert_true(c->ops[3].func->is_proto);
    assert_int_equal(c->ops[3].func->params.n, 2);
    assert_string_equal(c->ops[2].vec[0].var->name, "p0_s2"); /* of its own block */
    c = kit_inst(m, 5);
    assert_int_equal(c->ops[2].vec[0].imm, 5);
    c = kit_inst(m, 6);
    assert_ptr_equal(c->ops[3].func->targets.v[0], m->funcs.v[1]);
    c = kit_inst(m, 7);
    assert_int_equal(c->ops[1].n, 3);
    assert_int_equal(c->ops[1].vec[0].label, c->ops[1].vec[2].label);
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
}

static void
old_texts(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        ".version 1.4\n.target sm_13\n@@DWARF .section .debug_abbrev\n.tex .u32 t;\n"
        ".const[1] .u32 c[4];\n.entry k (.param .u32 p)\n{\n.reg .u16 %rh<3>; .reg .u32 "
        "%r<4>;\n"
        "mov.u16 %rh1, %ctaid.x;\nmul.wide.u16 %r1, %rh1, 4;\ncvt.u32.u16 %r2, %tid.x;\n"
        "ld.const[1].u32 %r3, [c+4];\n.loc 1 2 3\nexit;\n}");
    assert_int_equal(m->address_size, 32);
    assert_int_equal(kit_func(m)->body.n, 6);
    assert_int_equal(m->directives.n, 1);
    kit_roundtrip(m, NULL);
    ptx_module_free(m);
}

static void
refused_by_name(void **state)
{
    (void)state;
    struct ptx_module *m = kit_parse(
        KERNEL("tcgen05.something.2d {%f0, %f1, %f2, %f3}, [%rd1, {%f4, %f5}];\n"
               "multimem.red.global.add.u32 [%rd1], %r1;\n"
               "fabric.something;\n"));
    const struct ptx_inst *in = kit_inst(m, 0);
    assert_int_equal(in->op, PTX_OP_TCGEN05);
    assert_true(ptx_ops[in->op].flags & PTX_REFUSED);
    assert_string_equal(in->text, ".something.2d");
    assert_int_equal(in->ops[1].n, 2);
    struct strbuf b = {0};
    kit_roundtrip(m, &b);
    assert_non_null(
        strstr(b.s, "tcgen05.something.2d {%f0, %f1, %f2, %f3}, [%rd1, {%f4, %f5}];"));
    strbuf_free(&b);
    ptx_module_free(m);
}

static void
fresh_names(void **state)
{
    (void)state;
    struct ptx_module *m =
        kit_parse(HEAD ".entry k() { .reg .u32 %_x7, %a; mov.u32 %a, 1; }");
    struct ptx_func *f = m->funcs.v[0];
    int32_t r = ptx_reg_new(f, PTX_F32);
    assert_string_equal(f->regs.v[r].name, "%_x8");
    int32_t l = ptx_label_new(f);
    struct ptx_inst in = ptx_inst_new(m, PTX_OP_LABEL, 1);
    in.ops[0].kind = PTX_OPD_LABEL;
    in.ops[0].label = l;
    *vec_push(&f->body) = in;
    kit_roundtrip(m, NULL);
    assert_ptr_equal(ptx_find_func(m, "k"), f);
    assert_null(ptx_find_func(m, "x"));
    assert_null(ptx_find_var(m, "x"));
    ptx_module_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),    cmocka_unit_test(symbols_as_values),
        cmocka_unit_test(operands),     cmocka_unit_test(scopes),
        cmocka_unit_test(many_scopes),  cmocka_unit_test(declarations),
        cmocka_unit_test(initialisers), cmocka_unit_test(calls),
        cmocka_unit_test(old_texts),    cmocka_unit_test(refused_by_name),
        cmocka_unit_test(fresh_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
