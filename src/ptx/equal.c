/* equal.c: are two modules the same as IR? Names, types, instructions, operands and
 * initialisers count, places in the source do not. Registers and labels are compared by
 * name, so that a different numbering of the same function is no difference. */
#include "ptx/fault.h"
#include "ptx/print.h"

#include <inttypes.h>
#include <stdarg.h>

struct diff {
    const char *where; /* function or variable */
    char **why;
};

__attribute__((format(printf, 2, 3))) static bool
differ(const struct diff *d, const char *fmt, ...)
{
    if (d->why && !*d->why) {
        struct strbuf b = {0};
        va_list ap;
        if (d->where)
            strbuf_printf(&b, "%.100s: ", d->where);
        char text[400];
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        strbuf_addz(&b, text);
        *d->why = strbuf_take(&b);
    }
    return false;
}

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool
equal_relocs(const struct ptx_var *a, const struct ptx_var *b)
{
    if (a->relocs.n != b->relocs.n)
        return false;
    for (size_t i = 0; i < a->relocs.n; i++) {
        const struct ptx_reloc *x = &a->relocs.v[i], *y = &b->relocs.v[i];
        if (x->at != y->at || x->bytes != y->bytes || x->generic != y->generic ||
            x->mask != y->mask || x->off != y->off || !x->var != !y->var ||
            !x->func != !y->func)
            return false;
        if (x->var ? strcmp(x->var->name, y->var->name)
                   : strcmp(x->func->name, y->func->name))
            return false;
    }
    return true;
}

static bool
equal_var(const struct diff *d, const struct ptx_var *a, const struct ptx_var *b)
{
    if (strcmp(a->name, b->name))
        return differ(d, "variable '%s' against '%s'", a->name, b->name);
    if (a->space != b->space || a->type != b->type || a->vec != b->vec ||
        a->linkage != b->linkage || a->ptr_space != b->ptr_space ||
        a->ptr_align != b->ptr_align || a->align != b->align || a->size != b->size ||
        a->dynamic != b->dynamic || a->is_param != b->is_param || a->ndims != b->ndims ||
        !same_text(a->attribute, b->attribute))
        return differ(d, "variable '%s' is declared differently", a->name);
    for (int i = 0; i < a->ndims; i++)
        if (a->dims[i] != b->dims[i])
            return differ(d,
                          "variable '%s': dimension %d is %" PRIu64 " against %" PRIu64,
                          a->name, i, a->dims[i], b->dims[i]);
    if (a->is_param && a->offset != b->offset)
        return differ(d, "parameter '%s' is at %" PRIu64 " against %" PRIu64, a->name,
                      a->offset, b->offset);
    if (!a->init != !b->init || (a->init && memcmp(a->init, b->init, a->size)) ||
        !equal_relocs(a, b) || !same_text(a->opaque_init, b->opaque_init))
        return differ(d, "variable '%s' has another initial value", a->name);
    return true;
}

static bool
equal_reg(const struct ptx_func *f, const struct ptx_func *g, int32_t a, int32_t b)
{
    if (a < 0 || b < 0)
        return a == b;
    return !strcmp(f->regs.v[a].name, g->regs.v[b].name);
}

static bool
equal_operand(const struct ptx_func *f, const struct ptx_func *g,
              const struct ptx_operand *a, const struct ptx_operand *b)
{
    if (a->kind != b->kind || a->neg != b->neg || a->comp != b->comp ||
        a->joined != b->joined)
        return false;
    switch (a->kind) {
    case PTX_OPD_REG:
        return equal_reg(f, g, a->reg, b->reg) && a->sreg == b->sreg;
    case PTX_OPD_SREG:
        return a->sreg == b->sreg;
    case PTX_OPD_IMM:
    case PTX_OPD_F32:
    case PTX_OPD_F64:
        return a->imm == b->imm;
    case PTX_OPD_SYM:
        return a->off == b->off && !strcmp(a->var->name, b->var->name);
    case PTX_OPD_FUNCSYM:
        return a->off == b->off && !strcmp(a->func->name, b->func->name);
    case PTX_OPD_ADDR:
        return a->off == b->off && equal_reg(f, g, a->reg, b->reg) &&
               !a->var == !b->var && (!a->var || !strcmp(a->var->name, b->var->name));
    case PTX_OPD_LABEL:
        return !strcmp(f->labels.v[a->label].name, g->labels.v[b->label].name);
    case PTX_OPD_VEC:
        if (a->n != b->n)
            return false;
        for (unsigned i = 0; i < a->n; i++)
            if (!equal_operand(f, g, &a->vec[i], &b->vec[i]))
                return false;
    }
    return true;
}

static bool equal_func(const struct diff *d, const struct ptx_func *f,
                       const struct ptx_func *g);

static bool
equal_inst(const struct diff *d, const struct ptx_func *f, const struct ptx_func *g,
           size_t i)
{
    const struct ptx_inst *a = &f->body.v[i], *b = &g->body.v[i];
    bool same = a->op == b->op && a->ntypes == b->ntypes && a->nops == b->nops &&
                !memcmp(a->type, b->type, sizeof a->type) &&
                !memcmp(a->mod, b->mod, PTX_NMODGROUPS * sizeof *a->mod) && a->guard_neg == b->guard_neg && a->power == b->power &&
                equal_reg(f, g, a->guard, b->guard) && same_text(a->text, b->text);
    for (unsigned k = 0; same && k < a->nops; k++)
        same = equal_operand(f, g, &a->ops[k], &b->ops[k]);
    if (!same) {
        struct strbuf x = {0}, y = {0};
        ptx_print_inst(f, a, &x);
        ptx_print_inst(g, b, &y);
        differ(d, "instruction %zu: '%.150s' against '%.150s'", i, x.s, y.s);
        strbuf_free(&x);
        strbuf_free(&y);
        return false;
    }
    if (a->op == PTX_OP_DIRECTIVE && !a->text)
        return equal_func(d, a->ops[0].func, b->ops[0].func);
    return true;
}

static bool
equal_func(const struct diff *outer, const struct ptx_func *f, const struct ptx_func *g)
{
    struct diff d = {f->name, outer->why};
    if (strcmp(f->name, g->name))
        return differ(&d, "against function '%s'", g->name);
    if (f->is_entry != g->is_entry || f->has_body != g->has_body ||
        f->noreturn != g->noreturn || f->is_proto != g->is_proto ||
        f->linkage != g->linkage || memcmp(f->maxntid, g->maxntid, sizeof f->maxntid) ||
        memcmp(f->reqntid, g->reqntid, sizeof f->reqntid) ||
        f->minnctapersm != g->minnctapersm || f->maxnctapersm != g->maxnctapersm ||
        f->maxnreg != g->maxnreg || f->param_bytes != g->param_bytes)
        return differ(&d, "the head differs");
    if (!f->fault != !g->fault)
        return differ(&d, "errors in the body: %s",
                      ptx_fault_first(f->fault ? f : g)->message);
    if (f->fault && strcmp(f->fault->text, g->fault->text))
        return differ(&d, "the text of the body differs");
    if (f->rets.n != g->rets.n || f->params.n != g->params.n || f->vars.n != g->vars.n ||
        f->regs.n != g->regs.n || f->labels.n != g->labels.n || f->body.n != g->body.n ||
        f->pragmas.n != g->pragmas.n || f->attrs.n != g->attrs.n ||
        f->targets.n != g->targets.n)
        return differ(
            &d,
            "numbers of results, parameters, variables, registers, labels, "
            "instructions: %zu %zu %zu %zu %zu %zu against %zu %zu %zu %zu %zu %zu",
            f->rets.n, f->params.n, f->vars.n, f->regs.n, f->labels.n, f->body.n,
            g->rets.n, g->params.n, g->vars.n, g->regs.n, g->labels.n, g->body.n);
    for (size_t i = 0; i < f->rets.n; i++)
        if (!equal_var(&d, f->rets.v[i], g->rets.v[i]))
            return false;
    for (size_t i = 0; i < f->params.n; i++)
        if (!equal_var(&d, f->params.v[i], g->params.v[i]))
            return false;
    for (size_t i = 0; i < f->vars.n; i++)
        if (!equal_var(&d, f->vars.v[i], g->vars.v[i]))
            return false;
    for (size_t i = 0; i < f->regs.n; i++) {
        const struct ptx_reg *a = &f->regs.v[i], *b = &g->regs.v[i];
        if (strcmp(a->name, b->name) || a->type != b->type || a->vec != b->vec)
            return differ(&d, "register '%s' (.%s) against '%s' (.%s)", a->name,
                          ptx_types[a->type].text, b->name, ptx_types[b->type].text);
    }
    for (size_t i = 0; i < f->pragmas.n; i++)
        if (strcmp(f->pragmas.v[i], g->pragmas.v[i]))
            return differ(&d, "pragma %s against %s", f->pragmas.v[i], g->pragmas.v[i]);
    for (size_t i = 0; i < f->attrs.n; i++)
        if (strcmp(f->attrs.v[i], g->attrs.v[i]))
            return differ(&d, "%s against %s", f->attrs.v[i], g->attrs.v[i]);
    for (size_t i = 0; i < f->targets.n; i++)
        if (strcmp(f->targets.v[i]->name, g->targets.v[i]->name))
            return differ(&d, "call target '%s' against '%s'", f->targets.v[i]->name,
                          g->targets.v[i]->name);
    for (size_t i = 0; i < f->body.n; i++)
        if (!equal_inst(&d, f, g, i))
            return false;
    return true;
}

bool
ptx_equal(const struct ptx_module *a, const struct ptx_module *b, char **why)
{
    struct diff d = {NULL, why};
    if (why)
        *why = NULL;
    if (a->version_major != b->version_major || a->version_minor != b->version_minor ||
        strcmp(a->target, b->target) ||
        !same_text(a->target_options, b->target_options) ||
        a->address_size != b->address_size)
        return differ(&d, "version, target or address size differ");
    if (a->vars.n != b->vars.n || a->funcs.n != b->funcs.n ||
        a->directives.n != b->directives.n)
        return differ(&d,
                      "variables, functions, directives: %zu %zu %zu against %zu %zu %zu",
                      a->vars.n, a->funcs.n, a->directives.n, b->vars.n, b->funcs.n,
                      b->directives.n);
    for (size_t i = 0; i < a->directives.n; i++)
        if (strcmp(a->directives.v[i], b->directives.v[i]))
            return differ(&d, "directive '%.100s' against '%.100s'", a->directives.v[i],
                          b->directives.v[i]);
    for (size_t i = 0; i < a->vars.n; i++)
        if (!equal_var(&d, a->vars.v[i], b->vars.v[i]))
            return false;
    for (size_t i = 0; i < a->funcs.n; i++)
        if (!equal_func(&d, a->funcs.v[i], b->funcs.v[i]))
            return false;
    return true;
}
