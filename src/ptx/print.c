/* print.c: IR to PTX text.
 *
 * The order is that of the parser: header, module pragmas, variables and functions, then
 * .file and .section. Functions may refer to variables and to functions declared before
 * them, so the two are printed merged by place in the source; what a pass made (line 0)
 * comes with its list. */
#include "ptx/print.h"

#include "ptx/fault.h"
#include "ptx/note.h"

#include <inttypes.h>

static const char *const space_text[] = {
    "", ".reg", "", ".global", ".shared", ".local", ".const", ".param", ".tex"};
static const char *const link_text[] = {"", ".extern ", ".visible ", ".weak ",
                                        ".common "};

static void
add_char(struct strbuf *b, char c)
{
    strbuf_add(b, &c, 1);
}

static void
add_unsigned(struct strbuf *b, uint64_t v)
{
    char s[24];
    int n = 24;
    do
        s[--n] = (char)('0' + v % 10);
    while (v /= 10);
    strbuf_add(b, s + n, (size_t)(24 - n));
}

static void
add_signed(struct strbuf *b, int64_t v)
{
    if (v == INT64_MIN) { /* its absolute value is no signed literal */
        strbuf_addz(b, "0x8000000000000000");
        return;
    }
    if (v < 0)
        add_char(b, '-');
    add_unsigned(b, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* +8 or -8, nothing for 0. */
static void
add_offset(struct strbuf *b, int64_t off)
{
    if (!off)
        return;
    if (off > 0)
        add_char(b, '+');
    if (off == INT64_MIN)
        add_char(b, '+');
    add_signed(b, off);
}

/* -- operands -- */

static const char component_names[] = "xyzw";

static void
add_reg(const struct ptx_func *f, int32_t reg, unsigned comp, struct strbuf *b)
{
    strbuf_addz(b, f->regs.v[reg].name);
    if (comp) {
        add_char(b, '.');
        add_char(b, component_names[(comp - 1) & 3]);
    }
}

static void print_operand(const struct ptx_func *f, const struct ptx_operand *o,
                          struct strbuf *b);

static void
print_list(const struct ptx_func *f, const struct ptx_operand *v, unsigned n,
           struct strbuf *b)
{
    for (unsigned i = 0; i < n; i++) {
        if (i)
            strbuf_add(b, ", ", 2);
        print_operand(f, &v[i], b);
    }
}

/* What stands between the brackets. */
static void
print_address(const struct ptx_func *f, const struct ptx_operand *o, struct strbuf *b)
{
    if (o->reg >= 0)
        add_reg(f, o->reg, o->comp, b);
    else if (o->var)
        strbuf_addz(b, o->var->name);
    else
        add_signed(b, o->off);
    if ((o->reg >= 0 || o->var) && o->off < 0 && o->reg >= 0)
        add_char(b, '+'); /* [reg+-8], as the compilers write it */
    if (o->reg >= 0 || o->var)
        add_offset(b, o->off);
}

static void
print_operand(const struct ptx_func *f, const struct ptx_operand *o, struct strbuf *b)
{
    switch (o->kind) {
    case PTX_OPD_REG:
        if (o->neg)
            add_char(b, f->regs.v[o->reg].type == PTX_PRED ? '!' : '-');
        add_reg(f, o->reg, o->comp, b);
        if (o->sreg) {
            strbuf_addz(b, PTX_SEL_HALF(o->sreg) ? ".h" : ".b");
            for (unsigned i = PTX_SEL_DIGITS(o->sreg); i--;)
                add_char(b, (char)('0' + PTX_SEL_DIGIT(o->sreg, i)));
        }
        break;
    case PTX_OPD_SREG: {
        const struct ptx_sreg_info *x = &ptx_sregs[o->sreg];
        strbuf_addz(b, x->name);
        if (x->count)
            add_unsigned(b, o->comp);
        if (o->sreg == PTX_SREG_PM64)
            strbuf_addz(b, "_64");
        if (x->comps) {
            add_char(b, '.');
            add_char(b, component_names[o->comp & 3]);
        }
        break;
    }
    case PTX_OPD_IMM:
        add_signed(b, (int64_t)o->imm);
        break;
    case PTX_OPD_F32:
        strbuf_printf(b, "0f%08" PRIX32, (uint32_t)o->imm);
        break;
    case PTX_OPD_F64:
        strbuf_printf(b, "0d%016" PRIX64, o->imm);
        break;
    case PTX_OPD_SYM:
    case PTX_OPD_FUNCSYM:
        strbuf_addz(b, o->kind == PTX_OPD_SYM ? o->var->name : o->func->name);
        add_offset(b, o->off);
        break;
    case PTX_OPD_ADDR:
        add_char(b, '[');
        print_address(f, o, b);
        add_char(b, ']');
        break;
    case PTX_OPD_LABEL:
        strbuf_addz(b, f->labels.v[o->label].name);
        break;
    case PTX_OPD_VEC:
        add_char(b, o->neg ? '[' : '{');
        for (unsigned i = 0; i < o->n; i++) {
            if (i)
                strbuf_add(b, ", ", 2);
            if (!i && o->neg && o->vec[0].kind == PTX_OPD_ADDR)
                print_address(f, &o->vec[0], b);
            else
                print_operand(f, &o->vec[i], b);
        }
        add_char(b, o->neg ? ']' : '}');
        break;
    case PTX_OPD_SINK:
        add_char(b, '_');
        break;
    }
}

/* -- instructions -- */

/* The modifiers in the order of their groups, then the types; prmt's mode comes last. */
static void
print_mnemonic(const struct ptx_inst *in, struct strbuf *b)
{
    strbuf_addz(b, ptx_ops[in->op].mnemonic);
    if (in->text) {
        strbuf_addz(b, in->text);
        return;
    }
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++)
        if (in->mod[g] && g != PTX_MG_PRMT) {
            add_char(b, '.');
            strbuf_addz(b, ptx_mods[in->mod[g]].text);
        }
    for (unsigned i = 0; i < in->ntypes; i++) {
        add_char(b, '.');
        strbuf_addz(b, ptx_types[in->type[i]].text);
    }
    if (in->mod[PTX_MG_PRMT]) {
        add_char(b, '.');
        strbuf_addz(b, ptx_mods[in->mod[PTX_MG_PRMT]].text);
    }
}

static void
print_call(const struct ptx_func *f, const struct ptx_inst *in, struct strbuf *b)
{
    const struct ptx_operand *o = in->ops;
    if (o[0].kind == PTX_OPD_VEC) {
        add_char(b, '(');
        print_list(f, o[0].vec, o[0].n, b);
        strbuf_add(b, "), ", 3);
    }
    print_operand(f, &o[1], b);
    if (o[2].kind == PTX_OPD_VEC) {
        strbuf_add(b, ", (", 3);
        print_list(f, o[2].vec, o[2].n, b);
        add_char(b, ')');
    }
    if (in->nops > 3 && o[3].kind != PTX_OPD_NONE) {
        strbuf_add(b, ", ", 2);
        print_operand(f, &o[3], b);
    }
}

/* brx names a list, which stands before it under a name of its own. */
static void
brx_name(const struct ptx_func *f, const struct ptx_inst *in, char *name, size_t size)
{
    unsigned long long k = (unsigned long long)(in - f->body.v);
    for (unsigned tries = 0;; tries++) {
        snprintf(name, size, "$brx%u_%llu", tries, k);
        bool taken = false;
        for (size_t i = 0; i < f->labels.n && !taken; i++)
            taken = !strcmp(f->labels.v[i].name, name);
        for (size_t i = 0; i < f->regs.n && !taken; i++)
            taken = !strcmp(f->regs.v[i].name, name);
        for (size_t i = 0; i < f->vars.n && !taken; i++)
            taken = !strcmp(f->vars.v[i]->name, name);
        if (!taken)
            return;
    }
}

static void print_proto(const struct ptx_func *p, struct strbuf *b);

void
ptx_print_inst(const struct ptx_func *f, const struct ptx_inst *in, struct strbuf *b)
{
    if (in->op == PTX_OP_LABEL) {
        print_operand(f, &in->ops[0], b);
        add_char(b, ':');
        return;
    }
    if (in->op == PTX_OP_DIRECTIVE) {
        if (in->text)
            strbuf_addz(b, in->text);
        else
            print_proto(in->ops[0].func, b);
        return;
    }
    if (in->guard >= 0) {
        strbuf_addz(b, in->guard_neg ? "@!" : "@");
        add_reg(f, in->guard, 0, b);
        add_char(b, ' ');
    }
    print_mnemonic(in, b);
    const char *pattern = ptx_ops[in->op].operands;
    if (in->op == PTX_OP_CALL) {
        add_char(b, ' ');
        print_call(f, in, b);
    } else if (in->op == PTX_OP_BRX && in->ops[1].kind == PTX_OPD_VEC) {
        char name[48];
        brx_name(f, in, name, sizeof name);
        add_char(b, ' ');
        print_operand(f, &in->ops[0], b);
        strbuf_printf(b, ", %s", name);
    } else {
        bool first = true;
        for (unsigned i = 0; i < in->nops; i++) {
            const struct ptx_operand *o = &in->ops[i];
            const char *behind = pattern + strcspn(pattern, ",|");
            bool joined = o->joined;
            if (o->kind != PTX_OPD_NONE) {
                strbuf_addz(b, first ? " " : joined ? "|" : ", ");
                print_operand(f, o, b);
                first = false;
            }
            pattern = *behind ? behind + 1 : behind;
            if (*behind == '|' && i + 1 < in->nops &&
                in->ops[i + 1].kind != PTX_OPD_NONE) {
                add_char(b, '|');
                print_operand(f, &in->ops[++i], b);
                behind = pattern + strcspn(pattern, ",|");
                pattern = *behind ? behind + 1 : behind;
            }
        }
    }
    for (unsigned states = in->power; states; states >>= 2)
        strbuf_printf(b, ", %s", ptx_power_names[states & 3]);
    add_char(b, ';');
}

static void
print_body(const struct ptx_func *f, struct strbuf *b)
{
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (in->op == PTX_OP_BRX && in->ops[1].kind == PTX_OPD_VEC) {
            char name[48];
            brx_name(f, in, name, sizeof name);
            strbuf_printf(b, "%s: .branchtargets ", name);
            print_list(f, in->ops[1].vec, in->ops[1].n, b);
            strbuf_addz(b, ";\n");
        }
        bool outdent =
            in->op == PTX_OP_LABEL || (in->op == PTX_OP_DIRECTIVE && !in->text);
        if (!outdent)
            add_char(b, '\t');
        ptx_print_inst(f, in, b);
        add_char(b, '\n');
    }
}

/* -- variables -- */

static void
print_reloc(const struct ptx_reloc *r, uint64_t mask, struct strbuf *b)
{
    const char *name = r->var ? r->var->name : r->func->name;
    if (mask)
        strbuf_printf(b, "0x%" PRIx64 "(", mask);
    strbuf_printf(b, r->generic ? "generic(%s)" : "%s", name);
    add_offset(b, r->off);
    if (mask)
        add_char(b, ')');
}

struct init_printer {
    const struct ptx_var *v;
    unsigned scalar;
    size_t reloc; /* next one */
    uint64_t at;  /* next byte */
};

static void
print_scalar(struct init_printer *x, struct strbuf *b)
{
    const struct ptx_var *v = x->v;
    uint64_t at = x->at, bits = 0;
    x->at += x->scalar;
    while (x->reloc < v->relocs.n &&
           v->relocs.v[x->reloc].at + v->relocs.v[x->reloc].bytes <= at)
        x->reloc++;
    if (x->reloc < v->relocs.n) {
        const struct ptx_reloc *r = &v->relocs.v[x->reloc];
        if (r->at <= at && at < r->at + r->bytes) {
            print_reloc(r,
                        r->mask          ? r->mask
                        : x->scalar == 1 ? (uint64_t)255 << 8 * (at - r->at)
                                         : 0,
                        b);
            return;
        }
    }
    for (unsigned i = 0; i < x->scalar && i < 8; i++)
        bits |= (uint64_t)v->init[at + i] << 8 * i;
    if (v->type == PTX_F32)
        strbuf_printf(b, "0f%08" PRIX32, (uint32_t)bits);
    else if (v->type == PTX_F64)
        strbuf_printf(b, "0d%016" PRIX64, bits);
    else
        add_unsigned(b, bits);
}

static void
print_level(struct init_printer *x, unsigned level, struct strbuf *b)
{
    unsigned nd = (unsigned)x->v->ndims, levels = nd + (x->v->vec ? 1 : 0);
    if (level == levels) {
        print_scalar(x, b);
        return;
    }
    uint64_t n = level < nd ? x->v->dims[level] : x->v->vec;
    add_char(b, '{');
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            strbuf_add(b, ", ", 2);
        print_level(x, level + 1, b);
    }
    add_char(b, '}');
}

/* Everything of a declaration but linkage and the final ; or , */
static void
print_var(const struct ptx_var *v, struct strbuf *b)
{
    strbuf_addz(b, space_text[v->space]);
    if (v->attribute) {
        add_char(b, ' ');
        strbuf_addz(b, v->attribute);
    }
    bool opaque = ptx_types[v->type].kind == PTX_K_OPAQUE,
         reg = v->space == PTX_SPACE_REG;
    if (!v->ptr_align && !opaque && !reg)
        strbuf_printf(b, " .align %u", v->align);
    if (v->vec)
        strbuf_printf(b, " .v%u", v->vec);
    strbuf_printf(b, " .%s", ptx_types[v->type].text);
    if (v->ptr_align) {
        strbuf_addz(b, " .ptr ");
        if (v->ptr_space)
            strbuf_printf(b, "%s ", space_text[v->ptr_space]);
        strbuf_printf(b, ".align %u", v->ptr_align);
    }
    add_char(b, ' ');
    strbuf_addz(b, v->name);
    for (int i = 0; i < v->ndims; i++)
        if (i == 0 && v->dynamic)
            strbuf_addz(b, "[]");
        else
            strbuf_printf(b, "[%" PRIu64 "]", v->dims[i]);
    if (v->opaque_init)
        strbuf_printf(b, " = %s", v->opaque_init);
    if (v->init && v->size) {
        struct init_printer x = {v, ptx_type_bytes(v->type), 0, 0};
        strbuf_addz(b, " = ");
        print_level(&x, 0, b);
    }
}

/* -- functions -- */

static void
print_params(const struct ptx_func *f, bool rets, const char *sep, struct strbuf *b)
{
    size_t n = rets ? f->rets.n : f->params.n;
    strbuf_addz(b, "(");
    for (size_t i = 0; i < n; i++) {
        strbuf_addz(b, i ? "," : "");
        strbuf_addz(b, *sep == '\n' || i ? sep : "");
        print_var(rets ? f->rets.v[i] : f->params.v[i], b);
    }
    if (n && *sep == '\n')
        add_char(b, '\n');
    strbuf_addz(b, ")");
}

static void
print_proto(const struct ptx_func *f, struct strbuf *b)
{
    if (f->targets.n) {
        strbuf_printf(b, "%s: .calltargets ", f->name);
        for (size_t i = 0; i < f->targets.n; i++)
            strbuf_printf(b, i ? ", %s" : "%s", f->targets.v[i]->name);
    } else {
        strbuf_printf(b, "%s: .callprototype ", f->name);
        if (f->rets.n) {
            print_params(f, true, " ", b);
            add_char(b, ' ');
        }
        strbuf_addz(b, "_ ");
        print_params(f, false, " ", b);
        if (f->noreturn)
            strbuf_addz(b, " .noreturn");
        for (size_t i = 0; i < f->attrs.n; i++)
            strbuf_printf(b, " %s", f->attrs.v[i]);
    }
    add_char(b, ';');
}

static void
print_three(const char *name, const uint32_t *v, struct strbuf *b)
{
    if (v[0] || v[1] || v[2])
        strbuf_printf(b, "%s %u, %u, %u\n", name, v[0], v[1], v[2]);
}

static void
print_one(const char *name, uint32_t v, struct strbuf *b)
{
    if (v)
        strbuf_printf(b, "%s %u\n", name, v);
}

static void
print_func(const struct ptx_func *f, bool body, struct strbuf *b)
{
    strbuf_addz(b, link_text[f->linkage]);
    strbuf_addz(b, f->is_entry ? ".entry " : ".func ");
    for (size_t i = 0; i < f->attrs.n; i++)
        if (!strncmp(f->attrs.v[i], ".attribute", 10))
            strbuf_printf(b, "%s ", f->attrs.v[i]);
    if (f->rets.n) {
        print_params(f, true, " ", b);
        add_char(b, ' ');
    }
    strbuf_addz(b, f->name);
    print_params(f, false, "\n\t", b);
    add_char(b, '\n');
    if (f->noreturn)
        strbuf_addz(b, ".noreturn\n");
    print_three(".maxntid", f->maxntid, b);
    print_three(".reqntid", f->reqntid, b);
    print_one(".minnctapersm", f->minnctapersm, b);
    print_one(".maxnctapersm", f->maxnctapersm, b);
    print_one(".maxnreg", f->maxnreg, b);
    for (size_t i = 0; i < f->attrs.n; i++)
        if (strncmp(f->attrs.v[i], ".attribute", 10))
            strbuf_printf(b, "%s\n", f->attrs.v[i]);
    char *launch = ptx_note(f, "launch");
    if (launch)
        strbuf_printf(b,
                      "// Launch it with the sizes that these steps make of the original's "
                      "(= and %% must hold): %s\n",
                      launch);
    free(launch);
    for (size_t i = 0; i < f->pragmas.n; i++)
        strbuf_printf(b, ".pragma %s;\n", f->pragmas.v[i]);
    if (!body) {
        strbuf_addz(b, ";\n\n");
        return;
    }
    if (f->fault) { /* as it was written */
        strbuf_printf(b, "%s\n\n", f->fault->text);
        return;
    }
    strbuf_addz(b, "{\n");
    for (size_t i = 0; i < f->regdecls.n; i++) {
        const struct ptx_regdecl *d = &f->regdecls.v[i];
        strbuf_addz(b, "\t.reg ");
        if (d->vec)
            strbuf_printf(b, ".v%u ", d->vec);
        strbuf_printf(b, ".%s %s", ptx_types[d->type].text, d->name);
        if (d->count)
            strbuf_printf(b, "<%d>", d->count);
        strbuf_addz(b, ";\n");
    }
    for (size_t i = 0; i < f->vars.n; i++) {
        add_char(b, '\t');
        print_var(f->vars.v[i], b);
        strbuf_addz(b, ";\n");
    }
    if (f->regdecls.n || f->vars.n)
        add_char(b, '\n');
    print_body(f, b);
    strbuf_addz(b, "}\n\n");
}

/* -- the module -- */

static bool
before(uint32_t line_a, uint32_t col_a, uint32_t line_b, uint32_t col_b)
{
    return line_a < line_b || (line_a == line_b && col_a <= col_b);
}

/* What others may refer to before it is defined. */
static void
print_declarations(const struct ptx_module *m, const struct ptx_module *part,
                   struct strbuf *b)
{
    for (size_t i = 0; i < part->vars.n; i++) {
        struct ptx_var x = *part->vars.v[i];
        if (x.linkage != PTX_LINK_VISIBLE && x.linkage != PTX_LINK_WEAK)
            continue;
        x.init = NULL;
        x.opaque_init = NULL;
        strbuf_addz(b, link_text[PTX_LINK_EXTERN]);
        print_var(&x, b);
        strbuf_addz(b, ";\n");
    }
    for (size_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.v[i]->module == part && !m->funcs.v[i]->is_entry &&
            m->funcs.v[i]->has_body)
            print_func(m->funcs.v[i], false, b);
}

void
ptx_print(const struct ptx_module *m, struct strbuf *b)
{
    ptx_print_part(m, NULL, b);
}

void
ptx_print_part(const struct ptx_module *m, const char *kernel, struct strbuf *b)
{
    bool functions = false;
    for (size_t i = 0; kernel && i < m->funcs.n; i++)
        functions |= !m->funcs.v[i]->is_entry;
    strbuf_printf(b, ".version %u.%u\n.target %s", m->version_major, m->version_minor,
                  m->target);
    if (m->target_options)
        strbuf_printf(b, ", %s", m->target_options);
    strbuf_addz(b, "\n");
    if (m->address_size == 64 || m->version_major > 2 ||
        (m->version_major == 2 &&
         m->version_minor >= 3)) /* .address_size came with 2.3 */
        strbuf_printf(b, ".address_size %u\n", m->address_size);
    size_t d = 0;
    while (d < m->directives.n && !strncmp(m->directives.v[d], ".pragma", 7))
        strbuf_printf(b, "%s\n", m->directives.v[d++]);
    add_char(b, '\n');
    size_t v = 0, f = 0;
    for (size_t i = 0; i < m->parts.n; i++) /* linked: the parts refer to each other */
        print_declarations(m, m->parts.v[i], b);
    while (v < m->vars.n || f < m->funcs.n) {
        bool var = f == m->funcs.n || (m->parts.n && v < m->vars.n) ||
                   (v < m->vars.n && before(m->vars.v[v]->line, m->vars.v[v]->col,
                                            m->funcs.v[f]->line, m->funcs.v[f]->col));
        if (!var) {
            const struct ptx_func *x = m->funcs.v[f++];
            bool other = kernel && x->is_entry && strcmp(x->name, kernel) != 0;
            if (!other || functions)
                print_func(x, x->has_body && !other, b);
            continue;
        }
        strbuf_addz(b, link_text[m->vars.v[v]->linkage]);
        print_var(m->vars.v[v++], b);
        strbuf_addz(b, ";\n");
    }
    for (; d < m->directives.n; d++)
        strbuf_printf(b, "%s\n", m->directives.v[d]);
}
