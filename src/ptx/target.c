/* target.c: holds an instruction against target.def, which says which target and which version
 * of PTX have it first. */
#include "ptx/target.h"

#include "base/diag.h"
#include "base/str.h"
#include "ptx/print.h"

#include <string.h>

#define HAS(g) (in->mod[PTX_MG_##g] != 0)
#define IS(g, m) (in->mod[PTX_MG_##g] == PTX_##g##_##m)
#define WORD(w) ptx_inst_has(in, w) /* of a row with SUFFIXES */
#define IS_SPACE(s) IS(SPACE, SS_##s)
#define IS_SHAPE(s) IS(SHAPE, s)
#define IS_BARRIER_CTA HAS(BARLEVEL)
#define IS_OP(name) (mnemonic[0] == name[0] && !strcmp(mnemonic, name))

/* TYPE(i, t): the i-th type written, from 0; ANY(t): one of those written. */
#define TYPE(i, t) (in->ntypes > (i) && in->type[i] == PTX_##t)
#define ANY(t) any_type(in, PTX_##t)
#define BYTES (ptx_types[in->type[0]].bytes)
#define F16 (ANY(F16) || ANY(F16X2))
#define BF16 (ANY(BF16) || ANY(BF16X2))
#define TO_F16 (TYPE(0, F16) || TYPE(0, F16X2))
#define FROM_F16 (TYPE(1, F16) || TYPE(1, F16X2))
#define LOGIC (IS(ATOMOP, AND) || IS(ATOMOP, OR) || IS(ATOMOP, XOR))

/* Operands. */
#define WRITTEN(i) (in->nops > (i) && in->ops[i].kind != PTX_OPD_NONE)
#define SINK(i) (in->nops > (i) && in->ops[i].kind == PTX_OPD_SINK)
#define READS_PREDICATE reads_predicate(f, in)

enum { FIRST_SM = 20, FIRST_VERSION = 203 };

static bool
any_type(const struct ptx_inst *in, unsigned t)
{
    for (unsigned i = 0; i < in->ntypes; i++)
        if (in->type[i] == t)
            return true;
    return false;
}

static bool
reads_predicate(const struct ptx_func *f, const struct ptx_inst *in)
{
    for (unsigned i = 0; i < in->nops; i++)
        if (in->ops[i].kind == PTX_OPD_REG && f->regs.v[in->ops[i].reg].type == PTX_PRED)
            return true;
    return false;
}

static void
raise(struct ptx_since *s, uint16_t sm, uint16_t version)
{
    s->sm = sm > s->sm ? sm : s->sm;
    s->version = version > s->version ? version : s->version;
}

struct ptx_since
ptx_since(const struct ptx_func *f, const struct ptx_inst *in)
{
    struct ptx_since s = {FIRST_SM, FIRST_VERSION};
    const char *mnemonic = ptx_ops[in->op].mnemonic;
    bool of = true;
    if (ptx_ops[in->op].flags & (PTX_PSEUDO | PTX_REFUSED | PTX_EXTENSION))
        return s;
#define OF(a) of = IS_OP(a);
#define OF2(a, b) of = IS_OP(a) || IS_OP(b);
#define OF4(a, b, c, d) of = IS_OP(a) || IS_OP(b) || IS_OP(c) || IS_OP(d);
#define SINCE(condition, sm, version)                                                    \
    if (of && (condition))                                                               \
        raise(&s, sm, version);
#include "ptx/target.def"
    return s;
}

bool
ptx_target_has(const struct ptx_module *m, const struct ptx_func *f,
               const struct ptx_inst *in, char **why)
{
    struct ptx_since s = ptx_since(f, in);
    unsigned version = 100u * m->version_major + m->version_minor;
    bool older = m->sm && m->sm < s.sm, earlier = version < s.version;
    /* What every target has here is not held against older ones. */
    older &= s.sm > FIRST_SM;
    earlier &= s.version > FIRST_VERSION;
    if (!older && !earlier)
        return true;
    if (!why)
        return false;
    struct strbuf b = {0};
    strbuf_addz(&b, "needs ");
    if (older)
        strbuf_printf(&b, ".target sm_%u or later, the file has %s%s", s.sm, m->target,
                      earlier ? "; and " : "");
    if (earlier)
        strbuf_printf(&b, ".version %u.%u or later, the file has %u.%u", s.version / 100u,
                      s.version % 100u, m->version_major, m->version_minor);
    *why = strbuf_take(&b);
    return false;
}

const struct ptx_inst *
ptx_target_lacks(const struct ptx_module *m, const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (!ptx_target_has(m, f, &f->body.v[i], NULL))
            return &f->body.v[i];
    return NULL;
}

bool
ptx_target_warn(const struct ptx_func *f, struct diag_sink *diag)
{
    const struct ptx_inst *in = ptx_target_lacks(f->module, f);
    if (!in)
        return false;
    struct diag_loc loc = {f->module->file, f->module->text, in->line, in->col, 0};
    struct strbuf text = {0};
    char *why = NULL;
    ptx_target_has(f->module, f, in, &why);
    ptx_print_inst(f, in, &text);
    const char *s = text.s + strspn(text.s, "\t ");
    diag_add(diag, DIAG_WARNING, in->line ? &loc : NULL,
             "%s '%s': '%.*s' %s: it runs here, ptxas refuses it",
             f->is_entry ? "kernel" : "function", f->name, (int)strcspn(s, ";\n"), s,
             why);
    free(why);
    strbuf_free(&text);
    return true;
}
