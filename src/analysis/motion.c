/* motion.c: how instructions may move, and which accesses may touch the same bytes.
 *
 * A load and a store, or two stores, that may touch the same bytes keep their order; atomics,
 * volatile and ordered accesses, barriers and fences keep theirs with every access. Matrices of a
 * warp (ldmatrix, wmma.load, their stores) are loads and stores. An asynchronous copy is a load
 * from global memory and a store to scratchpad, and the commit of its group follows it: loads from
 * global memory may move over both (ptxas moves them over LDGSTS, LDGDEPBAR and LDSM).
 *
 * Cost: O(operands). */
#include "analysis/motion.h"

static bool
reads_clock(const struct ptx_inst *in)
{
    for (unsigned i = 0; i < in->nops; i++) {
        unsigned s = in->ops[i].sreg;
        if (in->ops[i].kind == PTX_OPD_SREG &&
            (s == PTX_SREG_CLOCK || s == PTX_SREG_CLOCK_HI || s == PTX_SREG_CLOCK64 ||
             s == PTX_SREG_GLOBALTIMER || s == PTX_SREG_GLOBALTIMER_LO ||
             s == PTX_SREG_GLOBALTIMER_HI || s == PTX_SREG_PM || s == PTX_SREG_PM64))
            return true;
    }
    return false;
}

/* An access that other threads may watch. */
static bool
is_ordered(const struct ptx_inst *in)
{
    unsigned sem = in->mod[PTX_MG_SEM];
    return (sem && sem != PTX_SEM_WEAK) || in->mod[PTX_MG_MMIO] ||
           in->mod[PTX_MG_CACHE] == PTX_CACHE_CV;
}

/* What cannot change while the kernel runs: its parameters, constants, and what it promises
 * to read only (ld.global.nc, PTX ISA 9.7.9.9). */
static bool
reads_constant(const struct ptx_func *f, const struct ptx_inst *in)
{
    enum ptx_space s = ptx_inst_space(in);
    return in->op == PTX_OP_LD &&
           (s == PTX_SPACE_CONST || in->mod[PTX_MG_NC] ||
            (s == PTX_SPACE_PARAM && f->is_entry && in->ops[1].kind == PTX_OPD_ADDR &&
             in->ops[1].var && in->ops[1].var->is_param));
}

static bool
commits_copies(const struct ptx_inst *in)
{
    return in->op == PTX_OP_CPGROUP && in->mod[PTX_MG_CPOP] == PTX_CPOP_COMMIT;
}

enum motion
motion_of(const struct ptx_func *f, const struct ptx_inst *in)
{
    const struct ptx_op_info *op = &ptx_ops[in->op];
    if (op->flags & (PTX_PSEUDO | PTX_JUMP | PTX_ENDS | PTX_EXTENSION | PTX_REFUSED) ||
        reads_clock(in))
        return MOTION_FIXED;
    /* Who reads the matrix of a product in flight must stay after the wait, which does not
     * name its registers. */
    if (in->op == PTX_OP_WGMMA || in->op == PTX_OP_WGMMASYNC ||
        in->op == PTX_OP_SETMAXNREG)
        return MOTION_FIXED;
    if (in->op == PTX_OP_CPASYNC || commits_copies(in))
        return MOTION_STORE;
    if (op->unit == PTX_UNIT_BARRIER || op->flags & PTX_ATOMIC)
        return MOTION_ACCESS;
    if (op->flags & (PTX_LOAD | PTX_STORE) && is_ordered(in))
        return MOTION_ACCESS;
    if (in->op == PTX_OP_ST || in->op == PTX_OP_STMATRIX || in->op == PTX_OP_WMMASTORE)
        return MOTION_STORE;
    if (in->op == PTX_OP_LDMATRIX || in->op == PTX_OP_WMMALOAD)
        return MOTION_LOAD;
    if (op->flags & PTX_STORE)
        return MOTION_ACCESS;
    if (op->flags & PTX_LOAD)
        return op->flags & PTX_SIDE                          ? MOTION_ACCESS
               : reads_constant(f, in) || ptx_is_texture(in) ? MOTION_FREE
                                                             : MOTION_LOAD;
    if (op->flags & PTX_SIDE)
        return op->flags & PTX_CROSSLANE ? MOTION_FREE : MOTION_FIXED;
    return op->unit == PTX_UNIT_MEM || op->unit == PTX_UNIT_BRANCH ? MOTION_FIXED
                                                                   : MOTION_FREE;
}

bool
motion_stops_load(const struct ptx_func *f, const struct ptx_inst *load,
                  const struct ptx_inst *in)
{
    const enum ptx_space a = ptx_inst_space(load), b = ptx_inst_space(in);
    if (ptx_is_pseudo(in))
        return false;
    switch (motion_of(f, in)) {
    case MOTION_FREE:
    case MOTION_LOAD:
        return false;
    case MOTION_STORE:
        return !ptx_is_texture(load) && (!a || !b || a == b);
    default:
        return in->op != PTX_OP_BRA;
    }
}

const struct ptx_operand *
motion_address(const struct ptx_inst *in)
{
    for (unsigned i = 0; i < in->nops; i++)
        if (in->ops[i].kind == PTX_OPD_ADDR)
            return &in->ops[i];
    return NULL;
}

static int64_t
bytes_of(const struct ptx_inst *in)
{
    static const uint8_t elements[PTX_NMODS] = {[PTX_VEC_V2] = 2, [PTX_VEC_V4] = 4};
    unsigned v = in->mod[PTX_MG_VEC], n = elements[v];
    return v && !n ? INT32_MAX : (int64_t)ptx_type_bytes(in->type[0]) * (v ? n : 1);
}

/* May the access touch bytes that an asynchronous copy touches? The copy reads global memory and
 * writes scratchpad. */
static bool
overlaps_copy(const struct ptx_inst *in, enum motion motion)
{
    const enum ptx_space space = ptx_inst_space(in);
    return in->op == PTX_OP_CPASYNC || commits_copies(in) || !space ||
           space == PTX_SPACE_SHARED ||
           (space == PTX_SPACE_GLOBAL && motion == MOTION_STORE);
}

bool
motion_may_overlap(struct motion_access x, struct motion_access y)
{
    const struct ptx_inst *a = x.in, *b = y.in;
    enum ptx_space sa = ptx_inst_space(a), sb = ptx_inst_space(b);
    if (a->op == PTX_OP_CPASYNC)
        return overlaps_copy(b, y.motion);
    if (b->op == PTX_OP_CPASYNC)
        return overlaps_copy(a, x.motion);
    if (commits_copies(a) || commits_copies(b))
        return commits_copies(a) && commits_copies(b);
    if (sa && sb && sa != sb)
        return false;
    if ((a->op != PTX_OP_LD && a->op != PTX_OP_ST) ||
        (b->op != PTX_OP_LD && b->op != PTX_OP_ST))
        return true;
    const struct ptx_operand *p = motion_address(a), *q = motion_address(b);
    if (!p || !q)
        return true;
    if (p->reg < 0 && q->reg < 0 && p->var && q->var && p->var != q->var)
        return p->var->dynamic && q->var->dynamic; /* extern arrays are one storage */
    if (p->reg != q->reg || p->var != q->var || x.base_at != y.base_at)
        return true;
    return p->off < q->off + bytes_of(b) && q->off < p->off + bytes_of(a);
}
