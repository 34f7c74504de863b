/* persistent_blocks.c: as many blocks as shall run at the same time, each of which does the work of
 * many, in the order of an array: the software way of 004 section 6.1 (persistent threads,
 * Gupta et al. 2012).
 *
 *     .visible .global .u32 allot_order_KERNEL[N] = {0, 1, 2 ... };   N: blocks of the launch
 *
 *         mov.u32 R, %ctaid.x
 *     L:  setp.ge.u32 P, R, N;  @P bra E
 *         ld.global.u32 B, [allot_order_KERNEL + 4 * R]
 *         the kernel with %ctaid made from B, %nctaid the grid's size, its exits: bra X
 *     X:  bar.sync 0                         (kernels with scratchpad or barriers)
 *         add.u32 R, R, %nctaid.x;  bra L
 *     E:  ret
 *
 * Block p of T does entries p, p + T, p + 2 T ... The array holds the blocks in order of
 * their number until the host, or a launch that follows a schedule (runtime/make_schedule.c),
 * writes another order into it. The grid becomes T x 1 x 1; the note on launches says so.
 *
 * barrier=1: steps, and a barrier of all T blocks after each. Step S has the entries from
 * allot_steps_KERNEL[S] up to allot_steps_KERNEL[S + 1]; a step that begins at N is none.
 *
 *         mov.u32 S, 0
 *     L:  F = steps[S];  F >= N: bra E;  R = F + %ctaid.x;  R >= steps[S + 1]: bra X
 *         B = order[R], the kernel as above
 *     X:  bar.sync 0;  its first thread: g = generation;  the last of T to count: generation + 1,
 *         the others wait until it is no longer g;  bar.sync 0
 *         add.u32 S, S, 1;  bra L
 *
 * The count wraps to 0 with the last block, so that the next launch finds it so. All T blocks
 * must be on the GPU at the same time; the simulator refuses launches of more.
 *
 * Only kernels that call nothing and do not read what would differ (the place in the grid
 * other than by mov.u32, the workspace of cooperative launches); a kernel with barriers must
 * end in one place, or threads that left would count at the next turn's barriers. */
#include "passes/blocks/persistent.h"
#include "passes/rewrite.h"
#include "passes/shape.h"

#include "analysis/usage.h"
#include "ptx/note.h"

#include <string.h>

enum { MOST_BLOCKS = 1 << 20 };

struct job {
    struct ptx_func *f;
    uint32_t grid[3], blocks, tlp;
    bool waits; /* a barrier between two turns */
    bool steps; /* one of all blocks */
    VEC(struct ptx_inst) to;
    int32_t turn, block, step; /* registers R, B and S */
};

/* -- may it be done? -- */

static bool
leaves(const struct ptx_inst *in)
{
    return in->op == PTX_OP_RET || in->op == PTX_OP_EXIT;
}

static bool
ends_in_one_place(const struct ptx_func *f)
{
    size_t n = 0, last = 0, leave = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        if (!ptx_is_pseudo(&f->body.v[i]))
            last = i;
        if (leaves(&f->body.v[i])) {
            n++;
            leave = i;
        }
    }
    return !n || (n == 1 && leave == last && f->body.v[last].guard < 0);
}

static bool
is_place(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_SREG &&
           (o->sreg == PTX_SREG_CTAID || o->sreg == PTX_SREG_NCTAID);
}

/* NULL: nothing hinders. */
static const char *
hindrance(const struct ptx_func *f, bool *waits)
{
    struct usage u;
    usage_of(f, &u);
    const bool barriers = u.barriers;
    *waits = barriers || u.scratchpad || u.dynamic_scratchpad;
    usage_free(&u);
    if (f->module->address_size != 64)
        return "its addresses have 32 bits";
    if (barriers && !ends_in_one_place(f))
        return "it has barriers and ends in several places";
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (in->op == PTX_OP_CALL)
            return "it calls functions";
        if (!strncmp(ptx_ops[in->op].mnemonic, "mbarrier", 8))
            return "it has barriers in memory";
        for (unsigned k = 0; k < in->nops; k++) {
            const struct ptx_operand *o = &in->ops[k];
            if (o->kind == PTX_OPD_SREG &&
                (o->sreg == PTX_SREG_ENVREG || o->sreg == PTX_SREG_GRIDID ||
                 o->sreg > PTX_SREG_ENVREG))
                return "it reads of its grid";
            if (is_place(o) && (!rewrite_reads_word(in) || o->comp > 2))
                return "it reads its place other than by mov.u32";
        }
    }
    return NULL;
}

/* -- code -- */

static struct ptx_operand
reg(int32_t r)
{
    return (struct ptx_operand){.kind = PTX_OPD_REG, .reg = r, .label = -1};
}

static struct ptx_inst *
emit(struct job *j, enum ptx_op op, enum ptx_type type, unsigned nops)
{
    struct ptx_inst in = ptx_inst_new(j->f->module, op, nops);
    if (type != PTX_NOTYPE) {
        in.ntypes = 1;
        in.type[0] = (uint8_t)type;
    }
    struct ptx_inst *at = vec_push(&j->to);
    *at = in;
    return at;
}

static void
mod(struct job *j, struct ptx_inst *in, unsigned group, unsigned value)
{
    ptx_set_mod(j->f->module, in, group, value);
}

/* A new register: op of a and b (mov: of a). */
static int32_t
make(struct job *j, enum ptx_op op, enum ptx_type type, enum ptx_type to,
     struct ptx_operand a, const struct ptx_operand *b)
{
    int32_t r = ptx_reg_new(j->f, to);
    struct ptx_inst *in = emit(j, op, type, b ? 3 : 2);
    in->ops[0] = reg(r);
    in->ops[1] = a;
    if (b)
        in->ops[2] = *b;
    return r;
}

static void
jump(struct job *j, enum ptx_op op, int32_t label, int32_t guard, bool neg)
{
    struct ptx_inst *in = emit(j, op, PTX_NOTYPE, 1);
    in->ops[0] = (struct ptx_operand){.kind = PTX_OPD_LABEL, .reg = -1, .label = label};
    in->guard = guard;
    in->guard_neg = neg;
}

/* Of the arrays' names, before the kernel's. */
static const char order_prefix[] = "allot_order_", steps_prefix[] = "allot_steps_",
                  barrier_prefix[] = "allot_barrier_";

static const struct ptx_var *
array_of(const struct ptx_func *f, const char *prefix)
{
    const struct ptx_module *m = f->module;
    const size_t n = strlen(prefix);
    for (size_t i = 0; i < m->vars.n; i++) {
        const struct ptx_var *v = m->vars.v[i];
        if (v->space == PTX_SPACE_GLOBAL && v->type == PTX_U32 && v->name &&
            !strncmp(v->name, prefix, n) && !strcmp(v->name + n, f->name))
            return v;
    }
    return NULL;
}

const struct ptx_var *
persistent_order(const struct ptx_func *f)
{
    return array_of(f, order_prefix);
}

const struct ptx_var *
persistent_steps(const struct ptx_func *f)
{
    return array_of(f, steps_prefix);
}

/* An array of n words: word i is i * by, at most `most`. */
static struct ptx_var *
array(const struct job *j, const char *prefix, uint32_t n, uint64_t by, uint32_t most)
{
    struct ptx_module *m = j->f->module;
    struct ptx_var *v = ARENA_NEW(&m->mem, struct ptx_var);
    v->name = arena_printf(&m->mem, "%s%s", prefix, j->f->name);
    v->space = PTX_SPACE_GLOBAL;
    v->type = PTX_U32;
    v->linkage = PTX_LINK_VISIBLE;
    v->align = 4;
    v->size = 4 * (uint64_t)n;
    v->ndims = 1;
    v->dims = ARENA_NEW(&m->mem, uint64_t);
    v->dims[0] = n;
    v->init = arena_alloc(&m->mem, v->size);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = i * by < most ? (uint32_t)(i * by) : most;
        memcpy(v->init + 4 * (size_t)i, &word, 4);
    }
    *vec_push(&m->vars) = v;
    return v;
}

/* Goes to the label if a (compared) b. */
static void
jump_if(struct job *j, unsigned cmp, int32_t a, struct ptx_operand b, int32_t label)
{
    int32_t p = ptx_reg_new(j->f, PTX_PRED);
    struct ptx_inst *in = emit(j, PTX_OP_SETP, PTX_U32, 5);
    mod(j, in, PTX_MG_CMP, cmp);
    in->ops[0] = reg(p);
    in->ops[2] = reg(a);
    in->ops[3] = b;
    jump(j, PTX_OP_BRA, label, p, false);
}

static int32_t
address(struct job *j, struct ptx_var *v)
{
    return make(
        j, PTX_OP_MOV, PTX_U64, PTX_U64,
        (struct ptx_operand){.kind = PTX_OPD_SYM, .reg = -1, .label = -1, .var = v},
        NULL);
}

/* The address of word i. */
static int32_t
word_address(struct job *j, struct ptx_var *v, int32_t i)
{
    struct ptx_operand four = rewrite_literal(4);
    int32_t base = address(j, v);
    struct ptx_operand off = reg(make(j, PTX_OP_MULW, PTX_U32, PTX_U64, reg(i), &four));
    mod(j, &j->to.v[j->to.n - 1], PTX_MG_WIDE, PTX_WIDE_WIDE);
    return make(j, PTX_OP_ADD, PTX_U64, PTX_U64, reg(base), &off);
}

static struct ptx_operand
at(int32_t base, int64_t offset)
{
    return (struct ptx_operand){
        .kind = PTX_OPD_ADDR, .reg = base, .label = -1, .off = offset};
}

static int32_t
load(struct job *j, int32_t base, int64_t offset, bool again)
{
    int32_t r = make(j, PTX_OP_LD, PTX_U32, PTX_U32, at(base, offset), NULL);
    struct ptx_inst *in = &j->to.v[j->to.n - 1];
    if (again)
        mod(j, in, PTX_MG_SEM, PTX_SEM_VOLATILE);
    mod(j, in, PTX_MG_SPACE, PTX_SPACE_SS_GLOBAL);
    return r;
}

/* The entry of this turn. */
static void
take(struct job *j, struct ptx_var *order, int32_t end)
{
    jump_if(j, PTX_CMP_GE, j->turn, rewrite_literal(j->blocks), end);
    j->block = load(j, word_address(j, order, j->turn), 0, false);
}

/* The entry of this step, if it has one for this block. */
static void
take_of_step(struct job *j, struct ptx_var *order, struct ptx_var *steps,
             struct ptx_operand me, int32_t next, int32_t end)
{
    int32_t step = word_address(j, steps, j->step);
    int32_t first = load(j, step, 0, false);
    jump_if(j, PTX_CMP_GE, first, rewrite_literal(j->blocks), end);
    struct ptx_operand last = reg(load(j, step, 4, false));
    struct ptx_operand mine = reg(make(j, PTX_OP_MOV, PTX_U32, PTX_U32, me, NULL));
    j->turn = make(j, PTX_OP_ADD, PTX_U32, PTX_U32, reg(first), &mine);
    jump_if(j, PTX_CMP_GE, j->turn, last, next);
    j->block = load(j, word_address(j, order, j->turn), 0, false);
}

static void
block_barrier(struct job *j)
{
    struct ptx_inst *bar = emit(j, PTX_OP_BAR, PTX_NOTYPE, 2);
    mod(j, bar, PTX_MG_SYNC, PTX_SYNC_SYNC);
    bar->ops[0] = rewrite_literal(0);
}

static void
fence(struct job *j)
{
    mod(j, emit(j, PTX_OP_MEMBAR, PTX_NOTYPE, 0), PTX_MG_SCOPE, PTX_SCOPE_GL);
}

/* An atomic operation on global memory; its old value. */
static int32_t
atomic(struct job *j, unsigned which, int32_t base, int64_t offset, uint64_t value)
{
    struct ptx_operand v = rewrite_literal(value);
    int32_t r = make(j, PTX_OP_ATOM, PTX_U32, PTX_U32, at(base, offset), &v);
    struct ptx_inst *in = &j->to.v[j->to.n - 1];
    mod(j, in, PTX_MG_SPACE, PTX_SPACE_SS_GLOBAL);
    mod(j, in, PTX_MG_ATOMOP, which);
    return r;
}

/* All blocks meet: see above. Word 0: how many are here; word 1: the generation. */
static void
meet(struct job *j, struct ptx_var *barrier)
{
    const int32_t spin = ptx_label_new(j->f), last = ptx_label_new(j->f),
                  through = ptx_label_new(j->f), others = ptx_label_new(j->f);
    block_barrier(j);
    for (uint8_t c = 0; c < 3; c++) {
        struct ptx_operand tid = {.kind = PTX_OPD_SREG,
                                  .sreg = PTX_SREG_TID,
                                  .comp = c,
                                  .reg = -1,
                                  .label = -1};
        jump_if(j, PTX_CMP_NE, make(j, PTX_OP_MOV, PTX_U32, PTX_U32, tid, NULL),
                rewrite_literal(0), others);
    }
    int32_t base = address(j, barrier);
    struct ptx_operand generation = reg(load(j, base, 4, true));
    fence(j);
    int32_t before = atomic(j, PTX_ATOMOP_INC, base, 0, j->tlp - 1);
    jump_if(j, PTX_CMP_EQ, before, rewrite_literal(j->tlp - 1), last);
    jump(j, PTX_OP_LABEL, spin, -1, false);
    jump_if(j, PTX_CMP_EQ, load(j, base, 4, true), generation, spin);
    jump(j, PTX_OP_BRA, through, -1, false);
    jump(j, PTX_OP_LABEL, last, -1, false);
    fence(j);
    atomic(j, PTX_ATOMOP_ADD, base, 4, 1);
    jump(j, PTX_OP_LABEL, through, -1, false);
    fence(j);
    jump(j, PTX_OP_LABEL, others, -1, false);
    block_barrier(j);
}

/* Coordinate c of block B in the grid that the host asked for. */
static struct ptx_operand
coordinate(struct job *j, unsigned c)
{
    struct ptx_operand x = rewrite_literal(j->grid[0]),
                       xy = rewrite_literal((uint64_t)j->grid[0] * j->grid[1]);
    const bool flat = j->grid[2] == 1;
    if (j->grid[c] == 1)
        return rewrite_literal(0);
    if (c == 2)
        return reg(make(j, PTX_OP_DIV, PTX_U32, PTX_U32, reg(j->block), &xy));
    int32_t in_plane =
        flat ? j->block : make(j, PTX_OP_REM, PTX_U32, PTX_U32, reg(j->block), &xy);
    if (c == 0 && flat && j->grid[1] == 1)
        return reg(in_plane);
    return reg(make(j, c ? PTX_OP_DIV : PTX_OP_REM, PTX_U32, PTX_U32, reg(in_plane), &x));
}

/* The kernel, its place in the grid that of the block that it does the work of. */
static void
copy_body(struct job *j, int32_t next)
{
    struct ptx_func *f = j->f;
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        if (leaves(&in)) {
            jump(j, PTX_OP_BRA, next, in.guard, in.guard_neg);
            continue;
        }
        for (unsigned k = 0; k < in.nops; k++)
            if (is_place(&in.ops[k]))
                in.ops[k] = in.ops[k].sreg == PTX_SREG_CTAID
                                ? coordinate(j, in.ops[k].comp)
                                : rewrite_literal(j->grid[in.ops[k].comp]);
        *vec_push(&j->to) = in;
    }
}

/* r += by */
static void
advance(struct job *j, int32_t r, struct ptx_operand by)
{
    struct ptx_inst *add = emit(j, PTX_OP_ADD, PTX_U32, 3);
    add->ops[0] = add->ops[1] = reg(r);
    add->ops[2] = by;
}

static void
rewrite(struct job *j)
{
    struct ptx_func *f = j->f;
    const uint32_t n = j->blocks;
    struct ptx_var *order = array(j, order_prefix, n, 1, n);
    struct ptx_var *steps = j->steps ? array(j, steps_prefix, n + 1, j->tlp, n) : NULL;
    struct ptx_var *barrier = j->steps ? array(j, barrier_prefix, 2, 0, 0) : NULL;
    const int32_t loop = ptx_label_new(f), next = ptx_label_new(f),
                  end = ptx_label_new(f);
    struct ptx_operand me = {
        .kind = PTX_OPD_SREG, .sreg = PTX_SREG_CTAID, .reg = -1, .label = -1};
    struct ptx_operand all = {
        .kind = PTX_OPD_SREG, .sreg = PTX_SREG_NCTAID, .reg = -1, .label = -1};
    int32_t *from = j->steps ? &j->step : &j->turn;
    *from =
        make(j, PTX_OP_MOV, PTX_U32, PTX_U32, j->steps ? rewrite_literal(0) : me, NULL);
    jump(j, PTX_OP_LABEL, loop, -1, false);
    if (j->steps)
        take_of_step(j, order, steps, me, next, end);
    else
        take(j, order, end);
    copy_body(j, next);
    jump(j, PTX_OP_LABEL, next, -1, false);
    if (j->steps)
        meet(j, barrier);
    else if (j->waits)
        block_barrier(j);
    if (j->steps)
        advance(j, j->step, rewrite_literal(1));
    else
        advance(j, j->turn, reg(make(j, PTX_OP_MOV, PTX_U32, PTX_U32, all, NULL)));
    jump(j, PTX_OP_BRA, loop, -1, false);
    jump(j, PTX_OP_LABEL, end, -1, false);
    emit(j, PTX_OP_RET, PTX_NOTYPE, 0);
    vec_take(&f->body, &j->to);
}

static bool
run_func(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
         bool *changed, struct diag_sink *diag)
{
    double tlp, along, barrier;
    (void)facts;
    if (!pass_arg_number(a, "tlp", 0, MOST_BLOCKS, &tlp, diag) ||
        !pass_arg_number(a, "barrier", 0, 1, &barrier, diag) ||
        !pass_arg_number(a, "grid", 0, MOST_BLOCKS, &along, diag))
        return false;
    if (tlp < 1) {
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "persistent-blocks: how many blocks shall run?");
        diag_hint(diag, d, "persistent-blocks:tlp=N");
        return false;
    }
    if (!f->is_entry || (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    struct job j = {.f = f, .grid = {(uint32_t)along, 1, 1}, .steps = barrier > 0};
    if (a->launch->kernel && a->launch->grid[0])
        memcpy(j.grid, a->launch->grid, sizeof j.grid);
    const uint64_t blocks = (uint64_t)j.grid[0] * j.grid[1] * j.grid[2];
    char *note = ptx_note(f, "launch");
    const char *why = note                   ? "its launches are changed already"
                      : !blocks              ? "its grid is not known (grid=N)"
                      : blocks > MOST_BLOCKS ? "it has too many blocks"
                                             : hindrance(f, &j.waits);
    free(note);
    if (a->report)
        strbuf_printf(a->report, "%s: %s%s\n", f->name,
                      why ? "blocks are not persistent: " : "blocks are persistent",
                      why ? why : "");
    if (why)
        return true;
    j.blocks = (uint32_t)blocks;
    j.tlp = tlp < (double)blocks ? (uint32_t)tlp : j.blocks;
    rewrite(&j);
    for (unsigned c = 0; c < 3; c++)
        shape_change(f, a, SHAPE_GRID, c, '=', j.grid[c]);
    shape_change(f, a, SHAPE_GRID, 0, ':', j.tlp);
    shape_change(f, a, SHAPE_GRID, 1, ':', 1);
    shape_change(f, a, SHAPE_GRID, 2, ':', 1);
    *changed = true;
    return true;
}

const struct pass pass_persistent_blocks = {
    .name = "persistent-blocks",
    .meaning = "launches tlp blocks, which take the work of all from an array of block "
               "numbers",
    .keys = (const struct pass_key[]){{"tlp", "0", "blocks that are launched"},
                                      {"barrier", "0",
                                       "1: all blocks meet after each step of the "
                                       "schedule"},
                                      {"grid", "0",
                                       "blocks along x, where the launch is "
                                       "not known"},
                                      {0}},
    .run_func = run_func,
    .shapes = true,
    .not_after = PASS_RELEASES,
};
