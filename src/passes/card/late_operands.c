/* late_operands.c: parameters, constants and literals are read where they are used.
 *
 * A card's instruction takes a word of the constant bank or a literal as an operand: no
 * register holds it in between. PTX loads a parameter into a register, mostly at the
 * kernel's begin, and it lives until its last use. Here each instruction that reads such a
 * register gets a definition of its own right before, with a fresh register:
 *
 *     ld.param.u64 %rd1, [p];              mul.wide.u32 %rd2, %r1, 4;
 *     ...                                  ld.param.u64 %rd9, [p];
 *     mul.wide.u32 %rd2, %r1, 4;           add.s64 %rd3, %rd9, %rd2;
 *     add.s64 %rd3, %rd1, %rd2;
 *
 * What may be read so, says operands_late. The pass runs after `schedule`, whose setting operands=late
 * says that these take no registers. O(operands). */
#include "passes/card/late_operands.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "ptx/expansion.h"

struct late {
    struct ptx_func *f;
    const bool *is;     /* of each register: an operand (operands_late) */
    const int32_t *def; /* its definition */
    size_t nregs;       /* of them; those made here stand after */
    uint32_t *reads;    /* of each register, those that are left */
    VEC(int32_t) own;   /* pairs: register, the one in its place in this instruction */
    VEC(struct ptx_inst) body;
    size_t moved, copies;
};

static void
count_read(void *user, int32_t reg, bool write, bool partial)
{
    struct late *l = user;
    (void)partial;
    l->reads[reg] += !write;
}

/* The register that stands for `reg` in this instruction. */
static int32_t
own_register(struct late *l, int32_t reg)
{
    for (size_t i = 0; i < l->own.n; i += 2)
        if (l->own.v[i] == reg)
            return l->own.v[i + 1];
    const struct ptx_inst *def = &l->f->body.v[l->def[reg]];
    struct ptx_inst in = *def;
    in.ops = ptx_operands_dup(l->f->module, def->ops, def->nops);
    in.ops[0].reg = ptx_reg_new(l->f, l->f->regs.v[reg].type);
    *vec_push(&l->own) = reg;
    *vec_push(&l->own) = in.ops[0].reg;
    *vec_push(&l->body) = in;
    l->copies++;
    return in.ops[0].reg;
}

static bool
replace(void *user, struct ptx_inst *in, struct ptx_operand *o, unsigned index,
        bool in_list)
{
    struct late *l = user;
    (void)in;
    (void)index;
    (void)in_list;
    const int32_t reg = o->reg;
    if (!l->is[reg])
        return false;
    o->reg = own_register(l, reg);
    l->reads[reg]--;
    return true;
}

/* Takes out the definitions that nothing reads any more. */
static void
drop_definitions(struct late *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->body.n; i++) {
        const struct ptx_inst *in = &l->body.v[i];
        const int32_t reg = operands_constant(l->f, in) ? in->ops[0].reg : -1;
        const bool unread =
            reg >= 0 && (size_t)reg < l->nregs && l->is[reg] && !l->reads[reg];
        l->moved += unread;
        if (!unread)
            l->body.v[n++] = *in;
    }
    l->body.n = n;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct arena mem = {0};
    const size_t nregs = f->regs.n;
    struct late l = {.f = f, .def = x->defs->at, .nregs = nregs};
    l.reads = ARENA_ARRAY(&mem, uint32_t, nregs + 1);
    l.is = operands_late(f, x->defs, &mem);
    vec_reserve(&l.body, f->body.n + 1);
    for (size_t i = 0; i < f->body.n; i++)
        defuse_each(&f->body.v[i], count_read, &l);
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        l.own.n = 0;
        if (!ptx_is_pseudo(&in))
            rewrite_sources(&in, replace, &l);
        *vec_push(&l.body) = in;
    }
    if (l.copies) {
        drop_definitions(&l);
        vec_take(&f->body, &l.body);
        *changed = true;
    } else {
        vec_free(&l.body);
    }
    if (a->report && l.copies)
        strbuf_printf(
            a->report,
            "%s: %zu registers of parameters, constants and literals have become "
            "%zu operands\n",
            f->name, l.moved, l.copies);
    vec_free(&l.own);
    arena_free(&mem);
    return true;
}

const struct pass pass_late_operands = {
    .name = "late-operands",
    .meaning =
        "reads parameters, constants and literals where they are used, as operands",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
