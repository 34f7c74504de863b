/* unified_slots.c: spilled values of one kernel and its callees move from local memory to
 * scratchpad slots (002 section 3.2).
 *
 * Register allocation left each spilled value at an offset of its own in local memory:
 * those offsets are the variables that slots_assign is given, with what is live after
 * each instruction. The code then changes thus (T bytes a slot: four of each thread, so
 * that the lanes of a warp fall into different banks; %R7 the base):
 *
 *     ld.local.b32 %R1, [spill+8]     ld.shared.b32 %R1, [%R7 + slot*T]
 *     st.local.b64 [spill], %D2       mov.b64 {%R2, %R3}, %D2
 *                                     st.shared.b32 [%R7 + slot*T], %R2
 *                                     st.shared.b32 [%R7 + other*T], %R3
 *
 * The halves of %D2 are %R2 and %R3, so no register is needed for them.
 *
 * Calls: a callee's slots start after what its caller has live there (the moving stack).
 * No stack pointer is passed: without recursion each function's first slot is a constant,
 * the largest over the chains of calls that lead to it, and the deepest chain needs what
 * slots_height says. Each function computes the base again. */
#include "passes/unified/unified_alloc_int.h"
#include "passes/rewrite.h"

#include "analysis/slots.h"
#include "analysis/spill_check.h"
#include "base/bitset.h"

#include <assert.h>
#include <string.h>

/* A function at work. */
struct work {
    struct us_func *u;
    struct slots_proc proc;
    uint8_t *words;   /* of each variable */
    uint64_t *offset; /* of each variable in local memory, and from then on */
    int32_t *var_at;  /* of each word of local memory: variable, -1 */
    const struct slots_home *home;
    uint32_t first; /* its first slot */
    struct ptx_func *before;
    VEC(struct ptx_inst) to;
    VEC(int32_t) origin;
    int32_t base, mover, origin_now;
    uint32_t moves;
};

struct job {
    struct work *w;
    size_t n;
    const struct us_block *block;
    struct ptx_var *area;
    struct arena mem;
};

/* -- variables -- */

static const struct ptx_operand *
spill_address(const struct us_func *u, const struct ptx_inst *in)
{
    if (!u->local || (in->op != PTX_OP_LD && in->op != PTX_OP_ST) ||
        ptx_type_bytes(in->type[0]) > 8) /* 16 bytes stay in local memory */
        return NULL;
    const struct ptx_operand *m = &in->ops[in->op == PTX_OP_LD ? 1 : 0];
    return m->kind == PTX_OPD_ADDR && m->var == u->local ? m : NULL;
}

static void
find_vars(struct job *j, struct work *w)
{
    const struct ptx_func *f = w->u->f;
    size_t nwords = w->u->local ? w->u->local->size / 4 + 1 : 1;
    w->var_at = ARENA_ARRAY(&j->mem, int32_t, nwords);
    w->offset = ARENA_ARRAY(&j->mem, uint64_t, nwords);
    w->words = ARENA_ARRAY(&j->mem, uint8_t, nwords);
    for (size_t i = 0; i < nwords; i++)
        w->var_at[i] = SLOTS_NONE;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_operand *m = spill_address(w->u, &f->body.v[i]);
        if (!m || w->var_at[m->off / 4] >= 0)
            continue;
        uint32_t v = w->proc.nvars++;
        w->var_at[m->off / 4] = (int32_t)v;
        w->offset[v] = (uint64_t)m->off;
        w->words[v] = ptx_type_bytes(f->body.v[i].type[0]) == 8 ? 2 : 1;
    }
    w->proc.words = w->words;
}

static int32_t
var_of(const struct work *w, const struct ptx_inst *in)
{
    const struct ptx_operand *m = spill_address(w->u, in);
    return m ? w->var_at[m->off / 4] : SLOTS_NONE;
}

static int32_t
callee_of(const struct us_func *fn, size_t n, const struct ptx_inst *in)
{
    for (unsigned k = 0; in->op == PTX_OP_CALL && k < in->nops; k++)
        for (size_t i = 0; in->ops[k].kind == PTX_OPD_FUNCSYM && i < n; i++)
            if (in->ops[k].func && !strcmp(in->ops[k].func->name, fn[i].f->name))
                return (int32_t)i;
    return SLOTS_NONE;
}

/* One step of liveness, backwards. */
static void
step_back(const struct work *w, const struct ptx_inst *in, uint64_t *live)
{
    int32_t v = var_of(w, in);
    if (v >= 0 && in->op == PTX_OP_ST)
        bitset_del(live, (size_t)v);
    else if (v >= 0)
        bitset_add(live, (size_t)v);
}

/* What is live after each instruction. What one stores counts there, read or not: it
 * takes its slot. */
static void
find_points(struct job *j, struct work *w, const struct us_func *fn)
{
    struct arena own = {0};
    const struct ptx_func *f = w->u->f;
    struct cfg *g = cfg_new(f);
    const size_t bits = w->proc.nvars, row = BITSET_WORDS(bits + 1);
    uint64_t *in = ARENA_ARRAY(&own, uint64_t, row * g->n + 1);
    uint64_t *live = ARENA_ARRAY(&own, uint64_t, row);
    struct slots_point *point = ARENA_ARRAY(&j->mem, struct slots_point, f->body.n + 1);
    for (int last = 0; last < 2;) { /* until nothing changes, and once to take notes */
        bool changed = false;
        for (uint32_t k = g->n; k--;) {
            uint32_t b = k < g->nrpo ? g->rpo[k] : UINT32_MAX;
            if (b == UINT32_MAX)
                continue;
            memset(live, 0, row * sizeof *live);
            for (uint32_t s = 0; s < g->block[b].nsucc; s++)
                if (g->block[b].succ[s] >= 0)
                    bitset_or(live, in + row * (size_t)g->block[b].succ[s], bits);
            for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
                int32_t v = var_of(w, &f->body.v[i]);
                if (last) {
                    uint64_t *at = ARENA_ARRAY(&j->mem, uint64_t, row);
                    memcpy(at, live, row * sizeof *at);
                    if (v >= 0 && f->body.v[i].op == PTX_OP_ST)
                        bitset_add(at, (size_t)v);
                    point[i] =
                        (struct slots_point){at, callee_of(fn, j->n, &f->body.v[i])};
                }
                step_back(w, &f->body.v[i], live);
            }
            changed |= bitset_or(in + row * b, live, bits);
        }
        last += last || !changed;
    }
    uint64_t *nothing = ARENA_ARRAY(&j->mem, uint64_t, row);
    for (size_t i = 0; i < f->body.n; i++) /* code that no path reaches */
        if (!point[i].live)
            point[i] = (struct slots_point){nothing, SLOTS_NONE};
    w->proc.point = point;
    w->proc.npoints = (uint32_t)f->body.n;
    cfg_free(g);
    arena_free(&own);
}

/* -- code -- */

/* The register of that type at that place, made if there is none. */
static int32_t
register_at(struct ptx_func *f, enum ptx_type type, uint32_t unit)
{
    for (size_t i = 0; i < f->regs.n; i++)
        if (f->regs.v[i].type == type && f->regs.v[i].place == unit + 1)
            return (int32_t)i;
    struct ptx_reg *r = vec_push(&f->regs);
    *r = (struct ptx_reg){.type = (uint8_t)type, .place = (uint16_t)(unit + 1)};
    ra_name(&f->module->mem, r);
    int32_t at = (int32_t)f->regs.n - 1;
    *vec_push(&f->regdecls) = (struct ptx_regdecl){r->name, (uint8_t)type, 0, at, 0};
    return at;
}

static struct ptx_operand
reg_operand(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPD_REG, .reg = reg, .label = -1};
}

static struct ptx_inst
make(const struct work *w, enum ptx_op op, enum ptx_type type, unsigned nops)
{
    struct ptx_inst in = ptx_inst_new(w->u->f->module, op, nops);
    in.ntypes = 1;
    in.type[0] = (uint8_t)type;
    return in;
}

static void
emit(struct work *w, struct ptx_inst in, const struct ptx_inst *like)
{
    if (like) {
        in.line = like->line;
        in.col = like->col;
    }
    *vec_push(&w->to) = in;
    *vec_push(&w->origin) = w->origin_now;
}

static void
emit_slot(struct job *j, struct work *w, bool load, enum ptx_type type, int32_t reg,
          int32_t slot, const struct ptx_inst *like)
{
    struct ptx_inst in = make(w, load ? PTX_OP_LD : PTX_OP_ST, type, 2);
    ptx_set_mod(w->u->f->module, &in, PTX_MG_SPACE, PTX_SPACE_SS_SHARED);
    in.ops[load ? 0 : 1] = reg_operand(reg);
    in.ops[load ? 1 : 0] = (struct ptx_operand){
        .kind = PTX_OPD_ADDR,
        .reg = w->base,
        .label = -1,
        .off = (int64_t)(w->first + (uint32_t)slot) * j->block->stride};
    emit(w, in, like);
}

/* mov.b64 %D2, {%R2, %R3}, or the other way round. */
static void
emit_halves(struct work *w, bool pack, int32_t wide, const int32_t half[2],
            const struct ptx_inst *like)
{
    struct ptx_inst in = make(w, PTX_OP_MOV, PTX_B64, 2);
    struct ptx_operand list = {.kind = PTX_OPD_VEC, .reg = -1, .label = -1, .n = 2};
    list.vec = arena_alloc(&w->u->f->module->mem, 2 * sizeof *list.vec);
    list.vec[0] = reg_operand(half[0]);
    list.vec[1] = reg_operand(half[1]);
    in.ops[pack ? 1 : 0] = list;
    in.ops[pack ? 0 : 1] = reg_operand(wide);
    emit(w, in, like);
}

static void
access_slots(struct job *j, struct work *w, const struct ptx_inst *in, int32_t v)
{
    const bool load = in->op == PTX_OP_LD;
    const int32_t reg = in->ops[load ? 0 : 1].reg, *slot = w->home->slot[v];
    const uint32_t place = w->u->f->regs.v[reg].place - 1u;
    if (w->words[v] == 1) {
        emit_slot(j, w, load, in->type[0], reg, slot[0], in);
        return;
    }
    int32_t half[2]; /* one by one: they may be made */
    for (uint32_t k = 0; k < 2; k++)
        half[k] = register_at(w->u->f, PTX_B32, place + k);
    if (!load)
        emit_halves(w, false, reg, half, in);
    for (int k = 0; k < 2; k++)
        emit_slot(j, w, load, PTX_B32, half[k], slot[k], in);
    if (load)
        emit_halves(w, true, reg, half, in);
}

/* Moves the stack together before a call, and back after it. */
static void
shuffle(struct job *j, struct work *w, size_t i, bool back)
{
    if (!w->home || !w->home->nslots)
        return;
    uint32_t height;
    struct slots_move *m = xcalloc(w->home->nslots, sizeof *m);
    uint32_t n = slots_shuffle(&w->proc, w->home, &w->proc.point[i], m, &height);
    w->origin_now = -1;
    for (uint32_t k = 0; k < n; k++) {
        const struct slots_move *x = &m[back ? n - 1 - k : k];
        const struct ptx_inst *like = &w->before->body.v[i];
        emit_slot(j, w, true, PTX_B32, w->mover, back ? x->to : x->from, like);
        emit_slot(j, w, false, PTX_B32, w->mover, back ? x->from : x->to, like);
        w->moves++;
    }
    free(m);
}

static void
emit_mov(struct work *w, int32_t to, struct ptx_operand from)
{
    struct ptx_inst in = make(w, PTX_OP_MOV, PTX_U32, 2);
    in.ops[0] = reg_operand(to);
    in.ops[1] = from;
    emit(w, in, NULL);
}

static void
emit_sum(struct work *w, enum ptx_op op, int32_t to, struct ptx_operand b)
{
    struct ptx_inst in = make(w, op, op == PTX_OP_SHL ? PTX_B32 : PTX_U32, 3);
    if (op == PTX_OP_MUL)
        ptx_set_mod(w->u->f->module, &in, PTX_MG_PART, PTX_PART_LO);
    in.ops[0] = in.ops[1] = reg_operand(to);
    in.ops[2] = b;
    emit(w, in, NULL);
}

static struct ptx_operand
special(enum ptx_sreg s, unsigned comp)
{
    return (struct ptx_operand){.kind = PTX_OPD_SREG,
                                .reg = -1,
                                .label = -1,
                                .sreg = (uint16_t)s,
                                .comp = (uint8_t)comp};
}

static struct ptx_operand
literal(uint64_t value)
{
    return (struct ptx_operand){
        .kind = PTX_OPD_IMM, .reg = -1, .label = -1, .imm = value};
}

/* base = address of the area + 4 * (x + X * (y + Y * z)), by way of one more register:
 * at a function's entry none holds a value. */
static void
prologue(struct job *j, struct work *w)
{
    const uint32_t *dim = j->block->dim;
    int32_t t = register_at(w->u->f, PTX_B32, 0);
    unsigned c = 2;
    while (c && dim[c] == 1)
        c--;
    w->origin_now = -1;
    emit_mov(w, w->base, special(PTX_SREG_TID, c));
    while (c--) {
        if (!dim[c])
            emit_mov(w, t, special(PTX_SREG_NTID, c));
        emit_sum(w, PTX_OP_MUL, w->base, dim[c] ? literal(dim[c]) : reg_operand(t));
        emit_mov(w, t, special(PTX_SREG_TID, c));
        emit_sum(w, PTX_OP_ADD, w->base, reg_operand(t));
    }
    emit_sum(w, PTX_OP_SHL, w->base, literal(2));
    emit_mov(w, t,
             (struct ptx_operand){
                 .kind = PTX_OPD_SYM, .reg = -1, .label = -1, .var = j->area});
    emit_sum(w, PTX_OP_ADD, w->base, reg_operand(t));
}

/* Gives what stayed in local memory new offsets, without gaps. */
static void
compact_local(struct work *w)
{
    uint64_t at = 0;
    for (uint32_t bytes = 8; bytes >= 4; bytes -= 4)
        for (uint32_t v = 0; v < w->proc.nvars; v++)
            if (w->home->slot[v][0] < 0 && w->words[v] * 4u == bytes) {
                w->offset[v] = at;
                at += bytes;
            }
    struct ptx_func *f = w->u->f;
    w->u->local->size = w->u->local->dims[0] = at;
    for (size_t i = 0; !at && i < f->vars.n; i++)
        if (f->vars.v[i] == w->u->local) {
            memmove(&f->vars.v[i], &f->vars.v[i + 1],
                    (f->vars.n - i - 1) * sizeof *f->vars.v);
            f->vars.n--;
        }
}

static void
rewrite(struct job *j, struct work *w)
{
    struct ptx_func *f = w->u->f;
    const bool slots = w->home && w->home->nslots;
    w->before = ra_snapshot(f);
    w->base = w->mover = -1;
    if (slots) {
        w->base = register_at(f, PTX_B32, f->registers++);
        w->mover = w->u->calls ? register_at(f, PTX_B32, f->registers++) : -1;
        prologue(j, w);
    }
    if (w->u->local)
        compact_local(w);
    for (size_t i = 0; i < w->before->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        const struct ptx_operand *m = spill_address(w->u, &in);
        int32_t v = m ? w->var_at[m->off / 4] : SLOTS_NONE;
        int32_t callee = w->proc.point[i].callee;
        bool moves = slots && callee >= 0 && j->w[callee].home->max_live;
        if (moves)
            shuffle(j, w, i, false);
        w->origin_now = (int32_t)i;
        if (v >= 0 && w->home->slot[v][0] >= 0) {
            access_slots(j, w, &in, v);
        } else {
            if (v >= 0)
                in.ops[in.op == PTX_OP_LD ? 1 : 0].off = (int64_t)w->offset[v];
            emit(w, in, &in);
        }
        if (moves)
            shuffle(j, w, i, true);
    }
    vec_take(&f->body, &w->to);
    for (uint32_t v = 0; v < w->proc.nvars; v++)
        w->home->slot[v][0] >= 0 ? w->u->to_slots++ : w->u->to_local++;
}

/* -- the kernel -- */

bool
us_recursive(const struct us_func *fn, size_t n)
{
    struct arena mem = {0};
    struct slots s;
    struct slots_proc *proc = ARENA_ARRAY(&mem, struct slots_proc, n);
    uint64_t *nothing = ARENA_ARRAY(&mem, uint64_t, 1);
    for (size_t i = 0; i < n; i++) {
        const struct ptx_func *f = fn[i].f;
        struct slots_point *p = ARENA_ARRAY(&mem, struct slots_point, f->body.n + 1);
        for (size_t k = 0; k < f->body.n; k++)
            p[k] = (struct slots_point){nothing, callee_of(fn, n, &f->body.v[k])};
        proc[i] = (struct slots_proc){0, (uint32_t)f->body.n, NULL, p};
    }
    bool calls_itself =
        !slots_assign(proc, (uint32_t)n, 0, SLOTS_LEAST_FREQUENT, &mem, &s);
    arena_free(&mem);
    return calls_itself;
}

/* The first slot of each function: after what its callers have live. */
static void
find_first(struct job *j)
{
    for (size_t round = 0; round < j->n; round++) /* chains are at most so long */
        for (size_t p = 0; p < j->n; p++) {
            const struct work *w = &j->w[p];
            for (uint32_t i = 0; i < w->proc.npoints; i++) {
                int32_t c = w->proc.point[i].callee;
                if (c < 0)
                    continue;
                uint32_t height;
                struct slots_move *m = xcalloc(w->home->nslots + 1, sizeof *m);
                slots_shuffle(&w->proc, w->home, &w->proc.point[i], m, &height);
                free(m);
                if (w->first + height > j->w[c].first)
                    j->w[c].first = w->first + height;
            }
        }
}

static struct ptx_var *
new_area(const struct job *j, uint64_t bytes)
{
    struct ptx_func *kernel = j->w[0].u->f;
    struct ptx_module *m = kernel->module;
    struct ptx_var *v = ARENA_NEW(&m->mem, struct ptx_var);
    bool callees = false;
    for (size_t i = 1; i < j->n; i++)
        callees |= j->w[i].home->nslots > 0;
    v->name =
        rewrite_new_name(kernel,
                         callees ? arena_printf(&m->mem, "__allot_slots_%s", kernel->name)
                                 : "__allot_slots",
                         callees);
    v->space = PTX_SPACE_SHARED;
    v->type = PTX_B8;
    v->align = 4;
    v->ndims = 1;
    v->dims = ARENA_NEW(&m->mem, uint64_t);
    v->dims[0] = v->size = bytes;
    v->func = callees ? NULL : kernel;
    if (callees)
        *vec_push(&m->vars) = v;
    else
        *vec_push(&kernel->vars) = v;
    return v;
}

static bool
check(const struct job *j, struct diag_sink *diag)
{
    struct spill_func *s = xcalloc(j->n, sizeof *s);
    for (size_t i = 0; i < j->n; i++) {
        const struct work *w = &j->w[i];
        s[i] = (struct spill_func){w->before,   w->u->f, w->origin.v,
                                   w->u->local, w->base, w->mover};
    }
    bool ok = spill_check(s, j->n, j->area, j->block->stride, diag);
    free(s);
    return ok;
}

bool
us_place(struct us_func *fn, size_t n, const struct us_block *block, uint32_t limit,
         struct us_result *out, struct diag_sink *diag)
{
    struct job j = {.n = n, .block = block};
    struct slots s;
    j.w = ARENA_ARRAY(&j.mem, struct work, n);
    struct slots_proc *proc = ARENA_ARRAY(&j.mem, struct slots_proc, n);
    for (size_t i = 0; i < n; i++) {
        j.w[i].u = &fn[i];
        find_vars(&j, &j.w[i]);
        find_points(&j, &j.w[i], fn);
        proc[i] = j.w[i].proc;
    }
    bool ok = slots_assign(proc, (uint32_t)n, limit, block->prune, &j.mem, &s);
    assert(ok);
    *out = (struct us_result){0};
    for (size_t i = 0; i < n; i++)
        j.w[i].home = &s.of[i];
    find_first(&j);
    out->slots = slots_height(proc, (uint32_t)n, &s, SLOTS_MOVING_STACK);
    out->bytes = (uint64_t)out->slots * block->stride;
    if (out->slots) {
        j.area = new_area(&j, out->bytes);
        for (size_t i = 0; i < n; i++)
            if (fn[i].local)
                rewrite(&j, &j.w[i]);
        ok = check(&j, diag);
    }
    for (size_t i = 0; i < n; i++) {
        out->moves += j.w[i].moves;
        vec_free(&j.w[i].origin);
        if (j.w[i].before)
            ra_snapshot_free(j.w[i].before);
    }
    arena_free(&j.mem);
    return ok;
}
