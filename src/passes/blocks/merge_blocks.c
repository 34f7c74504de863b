/* merge_blocks.c: two neighbouring blocks become one of twice the size.
 *
 * Where small blocks meet the SM's limit of blocks, merged ones fill its warps. Blocks 2i
 * and 2i+1 along x become block i, distinguished by %tid.z, so that a warp keeps its threads:
 *
 *     %ctaid.x -> 2 * %ctaid.x + %tid.z     %nctaid.x -> 2 * %nctaid.x
 *     %tid.z   -> 0                         %ntid.z   -> 1
 *
 * Only kernels in which blocks do nothing as blocks: no scratchpad, no barriers, no calls.
 * (With scratchpad this is the virtual thread block of 003 section 3, which multiplexes
 * it.) Known launches must have whole warps, depth 1 and an even grid. */
#include "passes/rewrite.h"
#include "passes/shape.h"

#include "analysis/usage.h"
#include "ptx/note.h"

#include <string.h>

static bool
concerns(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_SREG &&
           ((o->comp == 0 && (o->sreg == PTX_SREG_CTAID || o->sreg == PTX_SREG_NCTAID)) ||
            (o->comp == 2 && (o->sreg == PTX_SREG_TID || o->sreg == PTX_SREG_NTID)));
}

static bool
names_lanes(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_SREG && o->sreg >= PTX_SREG_LANEID &&
           o->sreg <= PTX_SREG_LANEMASK_GT;
}

/* Why the kernel's code does not allow it; NULL: it does. whole_warps: blocks are
 * known to be. */
static const char *
refuses(const struct ptx_func *f, bool whole_warps)
{
    static const uint8_t whole[] = {PTX_SREG_TID, PTX_SREG_NTID, PTX_SREG_CTAID,
                                    PTX_SREG_NCTAID};
    struct usage u;
    usage_of(f, &u);
    bool block = u.scratchpad || u.dynamic_scratchpad || u.barriers;
    usage_free(&u);
    if (block)
        return "its blocks use scratchpad or barriers";
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (in->op == PTX_OP_CALL)
            return "it calls functions";
        if (!whole_warps && ptx_ops[in->op].flags & PTX_CROSSLANE)
            return "its lanes work together, and blocks may be no whole warps";
        for (unsigned k = 0; k < in->nops; k++) {
            const struct ptx_operand *o = &in->ops[k];
            if (rewrite_numbers_warps(o))
                return "it reads the number of its warp or block";
            if (!whole_warps && names_lanes(o))
                return "it reads its lane, and blocks may be no whole warps";
            bool scalar = rewrite_reads_word(in);
            for (unsigned s = 0; s < sizeof whole; s++)
                if (o->kind == PTX_OPD_SREG && o->sreg == whole[s] && !scalar)
                    return "it reads its place other than by mov.u32";
        }
    }
    if (f->reqntid[2] > 1 || f->maxntid[2] > 1)
        return "its blocks are more than one thread deep";
    return NULL;
}

/* Why the launch does not allow it; NULL: it does, or is not known. */
static const char *
launch_refuses(const struct pass_launch *l, double most)
{
    if (!l->kernel)
        return NULL;
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    if (!l->grid[0] || l->grid[0] % 2)
        return "the grid is not even along x";
    if (l->block[2] != 1)
        return "its blocks are more than one thread deep";
    if (threads % 32)
        return "its blocks are no whole warps";
    return 2.0 * threads > most ? "merged blocks would be too large" : NULL;
}

typedef VEC(struct ptx_inst) body_t;

static struct ptx_inst
make(struct ptx_func *f, enum ptx_op op, unsigned nops, int32_t dst)
{
    struct ptx_inst in = ptx_inst_new(f->module, op, nops);
    in.ntypes = 1;
    in.type[0] = op == PTX_OP_SHL ? PTX_B32 : PTX_U32;
    in.ops[0].kind = PTX_OPD_REG;
    in.ops[0].reg = dst;
    return in;
}

static int32_t
read_sreg(struct ptx_func *f, body_t *to, unsigned sreg, unsigned comp)
{
    int32_t r = ptx_reg_new(f, PTX_U32);
    struct ptx_inst in = make(f, PTX_OP_MOV, 2, r);
    in.ops[1].kind = PTX_OPD_SREG;
    in.ops[1].sreg = (uint16_t)sreg;
    in.ops[1].comp = (uint8_t)comp;
    *vec_push(to) = in;
    return r;
}

static int32_t
twice(struct ptx_func *f, body_t *to, int32_t reg)
{
    int32_t r = ptx_reg_new(f, PTX_U32);
    struct ptx_inst in = make(f, PTX_OP_SHL, 3, r);
    in.ops[1] = rewrite_register(reg);
    in.ops[2] = rewrite_literal(1);
    *vec_push(to) = in;
    return r;
}

/* What stands for a special register that the merge concerns. */
static struct ptx_operand
replacement(struct ptx_func *f, body_t *to, const struct ptx_operand *o)
{
    if (o->sreg == PTX_SREG_TID || o->sreg == PTX_SREG_NTID)
        return rewrite_literal(o->sreg == PTX_SREG_NTID);
    int32_t r = twice(f, to, read_sreg(f, to, o->sreg, 0));
    if (o->sreg == PTX_SREG_NCTAID)
        return rewrite_register(r);
    struct ptx_inst add = make(f, PTX_OP_ADD, 3, ptx_reg_new(f, PTX_U32));
    add.ops[1] = rewrite_register(r);
    add.ops[2] = rewrite_register(read_sreg(f, to, PTX_SREG_TID, 2));
    *vec_push(to) = add;
    return rewrite_register(add.ops[0].reg);
}

static void
merge(struct ptx_func *f)
{
    body_t to = {0};
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        for (unsigned k = 0; k < in.nops; k++)
            if (concerns(&in.ops[k]))
                in.ops[k] = replacement(f, &to, &in.ops[k]);
        *vec_push(&to) = in;
    }
    vec_take(&f->body, &to);
    if (f->reqntid[0])
        f->reqntid[2] = 2;
    if (f->maxntid[0])
        f->maxntid[2] = 2;
    f->minnctapersm = (f->minnctapersm + 1) / 2;
}

static bool
run_func(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
         bool *changed, struct diag_sink *diag)
{
    double most;
    (void)facts;
    if (!pass_arg_number(a, "max-threads", 1, 65536, &most, diag))
        return false;
    if (!f->is_entry || (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    char *note = ptx_note(f, "launch");
    const char *why = note ? "its launches are changed already" : NULL;
    free(note);
    if (!why)
        why = launch_refuses(a->launch, most);
    if (!why)
        why = refuses(f, a->launch->kernel);
    if (a->report && why)
        strbuf_printf(a->report, "%s: blocks are not merged: %s\n", f->name, why);
    if (why)
        return true;
    merge(f);
    shape_change(f, a, SHAPE_BLOCK, 2, '=', 1);
    shape_change(f, a, SHAPE_GRID, 0, '/', 2);
    shape_change(f, a, SHAPE_BLOCK, 2, '*', 2);
    if (a->report)
        strbuf_printf(a->report, "%s: two blocks are merged into one\n", f->name);
    *changed = true;
    return true;
}

const struct pass pass_merge_blocks = {
    .name = "merge-blocks",
    .meaning = "merges two neighbouring blocks into one of twice the size",
    .keys = (const struct pass_key[]){{"max-threads", "1024", "most threads of a block"},
                                      {0}},
    .run_func = run_func,
    .shapes = true,
};
