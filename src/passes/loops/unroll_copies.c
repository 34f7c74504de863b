/* unroll_copies.c: the code of copied loops (unroll.c says which, and draws it). Each value that
 * steps by a constant is the base's value at the group's first iteration plus a literal. */
#include "passes/loops/unroll_int.h"

#include "passes/rewrite.h"

#include "analysis/defuse.h"

/* d = a + v, of `bytes`; appended. */
static void
put_add(struct peel *p, int32_t d, struct ptx_operand a, int64_t v, unsigned bytes)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_ADD, 3);
    in.ntypes = 1;
    in.type[0] = bytes == 8 ? PTX_S64 : PTX_S32;
    in.ops[0] = rewrite_register(d);
    in.ops[1] = a;
    in.ops[2] = rewrite_literal((uint64_t)(bytes == 8 ? v : (int32_t)v));
    *vec_push(&p->to) = in;
}

/* A step of a copy is one from the value at the group's first iteration. */
void
unroll_edit(void *user, uint32_t i, struct ptx_inst *in)
{
    struct unroll *u = user;
    struct peel *p = &u->p;
    const struct ptx_inst *old = &p->f->body.v[i];
    if (!old->nops || old->ops[0].kind != PTX_OPD_REG || !defuse_is_dest(old, 0))
        return;
    const int32_t d = old->ops[0].reg;
    if (p->home[d] == PEEL_KEEPS || u->line[d].base < 0)
        return;
    const int32_t base = u->line[d].base;
    const uint64_t off = u->line[d].off + u->iteration * (uint64_t)unroll_step(u, base);
    const struct ptx_inst was = *in;
    p->to.n--; /* *in */
    put_add(p, was.ops[0].reg, rewrite_register(u->start[base]),
            unroll_signed(u, base, off), unroll_bytes(p->f, d));
    p->to.v[p->to.n - 1].line = was.line;
    p->to.v[p->to.n - 1].col = was.col;
}

/* `n` iterations, one after the other. full: nothing follows but the code after the loop. The
 * predicate on which the loop would go on, or not, is that of the last; returned. */
static int32_t
put_iterations(struct unroll *u, uint64_t n, bool full)
{
    struct peel *p = &u->p;
    for (uint32_t k = 0; k < u->nbased; k++) {
        const int32_t r = (int32_t)u->based[k];
        u->start[r] = r;
        if (n < 2 || (full && !live_at_start(u->live, p->after, (uint32_t)r)))
            continue;
        u->start[r] = ptx_reg_new(p->f, (enum ptx_type)p->f->regs.v[r].type);
        struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_MOV, 2);
        const struct ptx_operand from = rewrite_register(r);
        in.ops[0] = rewrite_register(u->start[r]);
        rewrite_as_mov(p->f, &in, &from);
        *vec_push(&p->to) = in;
    }
    for (u->iteration = 0; u->iteration < n; u->iteration++) {
        for (uint32_t k = 0; k < p->nwritten && u->iteration + 1 == n; k++)
            if (n < 2 || (p->home[p->written[k]] >= 0 &&
                          (!full || live_at_start(u->live, p->after, p->written[k]))))
                bitset_add(p->own, p->written[k]);
        peel_new_names(p);
        peel_copy_iteration(p, -1, false);
    }
    const int32_t guard = peel_name_of(p, p->f->body.v[u->branch].guard, p->latch, false);
    for (uint32_t k = 0; k < p->nwritten; k++)
        bitset_del(p->own, p->written[k]);
    peel_names_end(p);
    return guard;
}

static int32_t
put_compare(struct unroll *u, unsigned type, unsigned cmp, struct ptx_operand a,
            struct ptx_operand b)
{
    struct peel *p = &u->p;
    struct ptx_inst in = *u->test;
    in.ops = ptx_operands_dup(p->f->module, in.ops, in.nops);
    in.type[0] = (uint8_t)type;
    ptx_set_mod(p->f->module, &in, PTX_MG_CMP, cmp);
    in.ops[0] = rewrite_register(ptx_reg_new(p->f, PTX_PRED));
    in.ops[2] = a;
    in.ops[3] = b;
    in.line = in.col = 0;
    *vec_push(&p->to) = in;
    return in.ops[0].reg;
}

/* The bound less `off`, in a register if it is not known. */
static struct ptx_operand
put_limit(struct unroll *u, int64_t off)
{
    const unsigned type = u->test->type[0], bytes = ptx_type_bytes(type);
    uint64_t v;
    if (u->bound.kind == PTX_OPD_IMM) {
        (void)unroll_limit(u, off, &v);
        return rewrite_literal(v);
    }
    const int32_t r = ptx_reg_new(u->p.f, bytes == 8 ? PTX_B64 : PTX_B32);
    put_add(&u->p, r, u->bound, -off, bytes);
    return rewrite_register(r);
}

/* a - b, of `bytes`, in a new register. */
static struct ptx_operand
put_difference(struct peel *p, struct ptx_operand a, struct ptx_operand b, unsigned bytes)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_SUB, 3);
    in.ntypes = 1;
    in.type[0] = bytes == 8 ? PTX_S64 : PTX_S32;
    in.ops[0] = rewrite_register(ptx_reg_new(p->f, bytes == 8 ? PTX_B64 : PTX_B32));
    in.ops[1] = a;
    in.ops[2] = b;
    *vec_push(&p->to) = in;
    return in.ops[0];
}

/* Whether the first of `trips` iterations, and then all, run; a predicate. x differs from the bound
 * in each: that is further away, in the direction of the steps and modulo 2^32 or 2^64. */
static int32_t
put_all_run(struct unroll *u, struct ptx_operand limit, unsigned trips)
{
    struct peel *p = &u->p;
    const unsigned type = u->test->type[0], bytes = ptx_type_bytes(type);
    const struct ptx_operand c = rewrite_register(u->x.base);
    if (u->cmp != PTX_CMP_NE)
        return put_compare(u, type, u->cmp, c, limit);
    const int64_t step = unroll_step(u, u->x.base);
    const struct ptx_operand d =
        put_difference(p, step > 0 ? limit : c, step > 0 ? c : limit, bytes);
    const uint64_t far = (uint64_t)((trips - 1) * (step > 0 ? step : -step));
    return put_compare(u, bytes == 8 ? PTX_U64 : PTX_U32, PTX_CMP_GT, d,
                       rewrite_literal(far));
}

void
unroll_put_head(struct peel *p, int32_t label)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_DIRECTIVE, 0);
    in.text = ".pragma \"nounroll\";";
    peel_put_label(p, label);
    *vec_push(&p->to) = in;
}

/* A loop whose iterations are not known in advance. */
/* A bound of fewer steps than the iterations take: they run if x is below it and further away than
 * that, which is never. */
static void
put_never(struct unroll *u, int32_t two, int64_t far)
{
    struct peel *p = &u->p;
    const unsigned type = u->test->type[0];
    const struct ptx_operand x = rewrite_register(u->x.base);
    peel_put_jump(p, two, put_compare(u, type, u->cmp, x, u->bound), true);
    const struct ptx_operand d = put_difference(p, u->bound, x, ptx_type_bytes(type));
    peel_put_jump(p, two,
                  put_compare(u, type, PTX_CMP_GT, d, rewrite_literal((uint64_t)far)),
                  true);
}

static void
put_unknown(struct unroll *u)
{
    struct peel *p = &u->p;
    const int32_t many = ptx_label_new(p->f), two = ptx_label_new(p->f),
                  one = ptx_label_new(p->f),
                  end = u->exit >= 0 ? u->exit : ptx_label_new(p->f);
    const bool differs = u->cmp == PTX_CMP_NE;
    const int64_t far = unroll_reach(u, UNROLL_UNKNOWN_TRIPS);
    const struct ptx_operand limit = differs ? u->bound : put_limit(u, far);
    if (!differs && limit.kind == PTX_OPD_REG)
        peel_put_jump(p, two,
                      put_compare(u, u->test->type[0], far > 0 ? PTX_CMP_LT : PTX_CMP_GT,
                                  limit, u->bound),
                      true);
    if (u->never)
        put_never(u, two, far);
    else
        peel_put_jump(p, two, put_all_run(u, limit, UNROLL_UNKNOWN_TRIPS), true);
    unroll_put_head(p, many);
    p->labels = true;
    const int32_t last = put_iterations(u, UNROLL_UNKNOWN_TRIPS, false);
    peel_put_jump(p, many, put_all_run(u, limit, UNROLL_UNKNOWN_TRIPS), false);
    peel_put_jump(p, end, last, u->goes_on);
    peel_put_label(p, two);
    const int32_t x = ptx_reg_new(p->f, (enum ptx_type)p->f->regs.v[u->x.base].type);
    put_add(p, x, rewrite_register(u->x.base), unroll_signed(u, u->x.base, u->x.off),
            unroll_bytes(p->f, x));
    peel_put_jump(p, one,
                  put_compare(u, u->test->type[0], u->cmp, rewrite_register(x), u->bound),
                  true);
    peel_put_jump(p, end, put_iterations(u, 2, false), u->goes_on);
    unroll_put_head(p, one);
    peel_put_jump(p, one, put_iterations(u, 1, false), !u->goes_on);
    if (u->exit < 0)
        peel_put_label(p, end);
}

void
unroll_put_loop(struct unroll *u, enum unroll_way way)
{
    struct peel *p = &u->p;
    const struct cfg_block *h = &p->g->block[p->l->header];
    for (uint32_t i = h->first; i < h->end; i++)
        if (p->f->body.v[i].op == PTX_OP_LABEL)
            *vec_push(&p->to) = p->f->body.v[i];
    p->labels = true;
    if (way == UNROLL_FULL) {
        put_iterations(u, u->trips, true);
    } else if (way == UNROLL_PART) {
        if (u->rest)
            put_iterations(u, u->rest, false);
        const int32_t label = ptx_label_new(p->f);
        unroll_put_head(p, label);
        peel_put_jump(p, label, put_iterations(u, u->trips, false), !u->goes_on);
    } else {
        put_unknown(u);
    }
    if (p->after != u->next)
        peel_put_jump(p, u->exit, -1, false);
}

/* A block that stood between the loop's. */
void
unroll_put_between(struct unroll *u, uint32_t v)
{
    struct peel *p = &u->p;
    const struct cfg_block *b = &p->g->block[v];
    for (uint32_t i = b->first; i < b->end; i++)
        *vec_push(&p->to) = p->f->body.v[i];
    /* it may have fallen into the loop */
    const struct ptx_inst *last = &p->f->body.v[b->end - 1];
    if ((last->op != PTX_OP_BRA || last->guard >= 0) && b->nsucc &&
        b->succ[b->nsucc - 1] == (int32_t)v + 1)
        peel_put_jump(p, unroll_label(p, p->l->header), -1, false);
}
