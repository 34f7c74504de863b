/* decode.c: a kernel and the functions it may call, as one flat array of records.
 *
 * Steps: collect the functions and lay everything out (decode_layout.c); number the
 * instructions; decode them one by one. Mnemonics with their own handlers are found in
 * the tables of exec_mem.c, exec_control.c and exec_warp.c; all others are lane functions
 * (decode_pure.c). Operands: decode_operand.c. */
#include "exec/ops/exec_mem.h"

#include "analysis/cfg.h"
#include "analysis/convergence.h"
#include "analysis/defuse.h"
#include "analysis/fused.h"
#include "analysis/live.h"
#include "analysis/register_check.h"
#include "ptx/expansion.h"
#include "ptx/target.h"

#include <string.h>

/* -- the program -- */

static void
note_number(struct decoder *d, uint16_t r, bool write)
{
    struct exec_static *st = d->st;
    uint16_t *list = write ? st->dst : st->src;
    uint8_t *n = write ? &st->ndst : &st->nsrc;
    for (unsigned i = 0; i < *n; i++)
        if (list[i] == r)
            return;
    if (*n < (write ? EXEC_MAX_DST : EXEC_MAX_SRC))
        list[(*n)++] = r;
}

/* Host cache lines that a register lies in. */
static void
note_rows(struct decoder *d, uint32_t ref, unsigned bytes)
{
    struct exec_static *st = d->st;
    for (uint32_t k = ref / 64; k <= (ref + bytes - 1) / 64 && k <= UINT16_MAX; k++) {
        bool known = st->nrows == EXEC_ROWS;
        for (unsigned i = 0; i < st->nrows; i++)
            known |= st->rows[i] == k;
        if (!known)
            st->rows[st->nrows++] = (uint16_t)k;
    }
}

/* Whether the first register that has a power state is a destination. */
static bool
power_has_dest(const struct ptx_inst *in)
{
    uint64_t dests = ptx_inst_dests(in);
    for (unsigned i = 0; i < in->nops && i < 64; i++)
        if (dests >> i & 1 &&
            (in->ops[i].kind == PTX_OPD_REG || in->ops[i].kind == PTX_OPD_VEC))
            return true;
    return false;
}

/* The power state written for this operand: the first of its register that no other operand
 * has. */
static uint8_t
power_of(struct decoder *d, int32_t reg, bool write)
{
    bool dest = power_has_dest(d->in);
    for (unsigned i = 0; i < d->note.npower; i++)
        if (d->note.power[i] == reg && !d->note.stated[i] && write == (dest && i == 0)) {
            d->note.stated[i] = true;
            return d->in->power >> 2 * i & 3;
        }
    return PTX_POWER_NONE;
}

static void
note_operand(struct decoder *d, uint32_t reg, uint32_t place, enum exec_role role,
             uint8_t power)
{
    if (d->note.n < EXEC_MAX_OPERANDS)
        d->note.v[d->note.n++] = (struct exec_operand){.reg = (uint16_t)reg,
                                                       .place = (uint16_t)place,
                                                       .role = (uint8_t)role,
                                                       .power = power};
}

/* defuse_each: the registers for the scoreboard, each once. Of an allocated function:
 * every 32-bit register that the operand covers, and predicates behind those. The operands
 * as they are written beside them. */
static void
note_reg(void *user, int32_t reg, bool write, bool partial)
{
    struct decoder *d = user;
    const struct ptx_func *f = d->fi->f;
    const struct ptx_reg *r = &f->regs.v[reg];
    (void)partial;
    unsigned bytes = ptx_type_bytes(r->type);
    note_rows(d, d->fi->reg_ref[reg],
              r->type == PTX_PRED ? 4
              : bytes <= 4        ? ROW_BYTES
                                  : bytes * LANES);
    enum exec_role role = write                                   ? EXEC_WRITES
                          : d->note.n == 0 && reg == d->in->guard ? EXEC_GUARD
                                                                  : EXEC_READS;
    /* The matrix of an asynchronous product is waited for by its group, not by its registers. */
    const bool scored = !write || d->in->op != PTX_OP_WGMMA;
    uint8_t power = role == EXEC_GUARD ? PTX_POWER_NONE : power_of(d, reg, write);
    if (!f->registers && !f->predicates) {
        if (scored)
            note_number(d, (uint16_t)(d->fi->reg_base + (uint32_t)reg), write);
        note_operand(d, d->fi->reg_base + (uint32_t)reg, 0, role, power);
        return;
    }
    unsigned n = bytes <= 4 ? 1 : bytes / 4;
    uint32_t first = r->place - 1u + (r->type == PTX_PRED ? f->registers : 0);
    for (unsigned i = 0; i < n; i++) {
        if (scored)
            note_number(d, (uint16_t)(d->fi->reg_base + first + i), write);
        note_operand(d, d->fi->reg_base + first + i,
                     r->type == PTX_PRED ? 0 : d->fi->stack_base + first + i + 1, role,
                     power);
    }
}

static void
note_operands(struct decoder *d)
{
    struct exec_static *st = d->st;
    memset(&d->note, 0, sizeof d->note);
    d->note.npower = d->in->power ? ptx_power_regs(d->in, d->note.power) : 0;
    defuse_each(d->in, note_reg, d);
    struct exec_operand *o = ARENA_ARRAY(&d->pp->mem, struct exec_operand, d->note.n);
    if (d->note.n)
        memcpy(o, d->note.v, sizeof *o * d->note.n);
    st->operand = o;
    st->noperands = (uint16_t)d->note.n;
}

static decode_fn *
find_row(const char *mnemonic)
{
    static const struct decode_row *const tables[] = {
        decode_memory,  decode_control,  decode_warp,   decode_texture, decode_async,
        decode_stack,   decode_video,    decode_tensor, decode_tile,    decode_lop3,
        decode_cluster, decode_mbarrier, decode_wgmma};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct decode_row *r = tables[t]; r->mnemonic; r++)
            if (!strcmp(r->mnemonic, mnemonic))
                return r->fn;
    return NULL;
}

/* Without a row an instruction is a lane function, or one made for a policy, which computes
 * nothing. */
static decode_fn *
find_decoder(const struct ptx_op_info *info)
{
    if (ptx_suffixes[info - ptx_ops])
        return decode_suffixed;
    decode_fn *fn = find_row(info->mnemonic);
    if (!fn && info->flags & PTX_EXTENSION)
        fn = find_row("extension");
    return fn ? fn : decode_pure;
}

const char *
exec_illegal(const struct ptx_inst *in, struct exec_legal *x)
{
    const struct ptx_op_info *info = &ptx_ops[in->op];
    uint32_t aux;
    if (info->flags & (PTX_PSEUDO | PTX_REFUSED | PTX_EXTENSION))
        return NULL;
    const char *why = decode_illegal(in);
    if (why || in->op == PTX_OP_MOVQ)
        return why;
    if (!x->known[in->op]) {
        x->known[in->op] = true;
        x->pure[in->op] = find_decoder(info) == decode_pure;
    }
    return x->pure[in->op] && !lane_select(in, &aux) ? decode_no_form : NULL;
}

/* volatile, relaxed and stronger accesses */
static bool
is_strong(const struct ptx_inst *in)
{
    unsigned sem = in->mod[PTX_MG_SEM];
    return in->mod[PTX_MG_MMIO] || (sem && sem != PTX_SEM_WEAK);
}

/* Does it access memory that other blocks can reach? */
static bool
is_global(const struct exec_inst *x)
{
    return x->kind && (x->space == PTX_SPACE_GLOBAL || x->space == PTX_SPACE_NONE);
}

/* Operands that are neither registers nor lists of them. */
static uint8_t
other_operands(const struct ptx_inst *in)
{
    uint8_t n = 0;
    for (unsigned i = 0; i < in->nops; i++) {
        unsigned kind = in->ops[i].kind;
        n += kind != PTX_OPD_NONE && kind != PTX_OPD_SINK && kind != PTX_OPD_REG &&
             kind != PTX_OPD_VEC;
    }
    return n;
}

static bool
decode_inst(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    const struct ptx_op_info *info = &ptx_ops[in->op];
    struct exec_inst *x = d->out;
    struct exec_static *st = d->st;
    st->unit = info->unit;
    st->latency = info->latency;
    st->op = in->op;
    st->expansion = (uint8_t)ptx_expansion_of(in);
    st->line = in->line;
    st->col = in->col;
    st->cache = in->mod[PTX_MG_CACHE];
    x->cache = st->cache;
    x->reconv = EXEC_NO_PC;
    note_operands(d);
    st->nother = other_operands(in);
    if (in->guard >= 0) {
        st->guarded = true; /* defuse_each gave the guard first: src[0] */
        struct ptx_operand g = {.kind = PTX_OPD_REG, .reg = in->guard};
        x->guard = decode_operand(d, &g, PTX_PRED);
        if (x->guard == REF_NONE)
            return false;
        x->flags = (uint8_t)(IF_GUARD | (in->guard_neg ? IF_GUARD_NEG : 0));
    }
    if (info->flags & PTX_TOONEW)
        return decode_refuse(d, "this needs %s%s, which is not simulated",
                             ptx_first_target[in->op],
                             ptx_only_target(in->op) ? "" : " or later");
    if (info->flags & PTX_REFUSED)
        return decode_refuse(d, "this instruction is not supported");
    const char *why = decode_illegal(in);
    if (why)
        return decode_refuse(d, "%s", why);
    if (in->op == PTX_OP_MOVQ)
        return decode_mov128(d);
    if (!d->fn[in->op])
        d->fn[in->op] = find_decoder(info);
    if (!d->fn[in->op](d))
        return false;
    st->orders = st->is_fence || is_strong(in) || info->flags & PTX_ATOMIC ||
                 !strcmp(info->mnemonic, "mbarrier") || !strcmp(info->mnemonic, "cp");
    /* A load of what others may change meanwhile most likely waits for another block. */
    d->p->in_turn |= is_global(x) && st->is_load && is_strong(in);
    return true;
}

/* pc at which the paths of a branch meet again. */
static uint32_t
reconvergence(const struct func_info *fi, size_t at)
{
    const struct cfg *g = fi->cfg;
    int32_t b = g->block[g->block_of[at]].ipdom;
    return b < 0 ? EXEC_NO_PC : fi->pc_of[g->block[b].first];
}

static bool
ends_with_jump(const struct ptx_func *f)
{
    for (size_t i = f->body.n; i--;) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in)) {
            if (in->op == PTX_OP_LABEL)
                return false;
            continue;
        }
        return in->guard < 0 &&
               (ptx_ops[in->op].flags & PTX_ENDS || cfg_targets(in, NULL, 0));
    }
    return false;
}

static void
number_instructions(struct decoder *d, struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    fi->entry_pc = d->p->ninst;
    fi->pc_of = ARENA_ARRAY(&d->pp->mem, uint32_t, f->body.n + 1);
    for (size_t i = 0; i < f->body.n; i++) {
        fi->pc_of[i] = d->p->ninst;
        d->p->ninst += !ptx_is_pseudo(&f->body.v[i]);
    }
    fi->pc_of[f->body.n] = d->p->ninst;
    if (!ends_with_jump(f)) /* the end of the body returns */
        d->p->ninst++;
    fi->end_pc = d->p->ninst;
}

enum { POLL_INSTRUCTIONS = 4096 };

static void
decode_body(struct decoder *d, struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    d->fi = fi;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        if (!(i % POLL_INSTRUCTIONS) && diag_cancelled(d->diag)) {
            d->failed = true;
            return;
        }
        d->in = in;
        d->pc = fi->pc_of[i];
        d->out = &d->p->inst[d->pc];
        d->st = &d->p->st[d->pc];
        if (!decode_inst(d))
            d->failed = true;
        if (cfg_targets(in, NULL, 0))
            d->out->reconv = reconvergence(fi, i);
    }
    if (fi->pc_of[f->body.n] < fi->end_pc) {
        struct ptx_inst ret = {.op = d->ret_op,
                               .guard = -1,
                               .mod = ptx_no_mods,
                               .line = f->line,
                               .col = f->col};
        for (size_t i = f->body.n; i-- && ret.line == f->line;)
            if (f->body.v[i].line)
                ret.line = f->body.v[i].line, ret.col = 0;
        d->in = &ret;
        d->pc = fi->pc_of[f->body.n];
        d->out = &d->p->inst[d->pc];
        d->st = &d->p->st[d->pc];
        decode_inst(d);
    }
    d->in = NULL;
}

/* -- registers that may be read before they are written -- */

/* Rows of the kernel that are live on entry (of vector registers all: a write may be to
 * one component): the storage is used for one block after another, and none must see what
 * the last one left. */
static void
find_zero_rows(struct decoder *d, const struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    struct live *live = live_new(fi->cfg);
    for (size_t i = 0; i < f->regs.n; i++) {
        const struct ptx_reg *r = &f->regs.v[i];
        if (!r->vec && !live_at_start(live, 0, (uint32_t)i))
            continue;
        bool wide = ptx_type_bytes(r->type) == 8;
        for (unsigned c = 0; c < (r->vec ? r->vec : 1u); c++)
            *vec_push(&d->pp->zero_rows) =
                (struct zero_row){fi->reg_ref[i] + c * (wide ? 2 : 1) * ROW_BYTES,
                                  r->type == PTX_PRED ? 4 : (wide ? 2 : 1) * ROW_BYTES};
    }
    *vec_push(&d->pp->zero_rows) = (struct zero_row){fi->cc, 4};
    live_free(live);
}

/* -- reductions: what matters of atomics to blocks in several host threads -- */

static bool
has_result(const struct exec_inst *x)
{
    return is_global(x) && x->kind == MEM_ATOMIC && x->data[0] != REF_NONE;
}

/* An atomic whose result nothing reads is a reduction: compilers leave that to ptxas. */
static void
drop_results(struct decoder *d, const struct func_info *fi)
{
    const struct cfg *g = fi->cfg;
    bool any = false;
    for (uint32_t pc = fi->entry_pc; pc < fi->end_pc; pc++)
        any |= has_result(&d->p->inst[pc]);
    if (!any)
        return;
    struct arena mem = {0};
    struct live *live = live_new(g);
    struct live_set set = live_set_new(&mem, (uint32_t)fi->f->regs.n);
    for (uint32_t b = 0; b < g->n; b++) {
        live_set_end(live, b, &set);
        for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
            const struct ptx_inst *in = &fi->f->body.v[i];
            struct exec_inst *x = &d->p->inst[fi->pc_of[i]];
            if (!ptx_is_pseudo(in) && has_result(x) && in->ops[0].kind == PTX_OPD_REG &&
                !live_has(&set, (uint32_t)in->ops[0].reg))
                x->data[0] = REF_NONE;
            live_step_back(in, &set);
        }
    }
    live_free(live);
    arena_free(&mem);
}

static void
find_reductions(struct decoder *d)
{
    struct exec_prog *p = d->p;
    for (size_t i = 0; i < d->pp->funcs.n; i++)
        drop_results(d, d->pp->funcs.v[i]);
    for (uint32_t pc = 0; pc < p->ninst; pc++) {
        uint16_t r = is_global(&p->inst[pc]) ? mem_reduction(&p->inst[pc]) : 0;
        if (r)
            p->reduction = !p->reduction || p->reduction == r ? r : UINT16_MAX;
    }
}

struct exec_operand_load *
exec_operand_loads(const struct exec_prog *p, struct arena *mem)
{
    const struct prog_priv *pp = p->priv;
    struct exec_operand_load *v =
        ARENA_ARRAY(mem, struct exec_operand_load, p->ninst + 1);
    for (size_t k = 0; k < pp->funcs.n; k++) {
        const struct func_info *fi = pp->funcs.v[k];
        struct cfg *g = cfg_new(fi->f);
        struct live *l = live_new(g);
        uint32_t *by = xcalloc(fi->f->body.n + 1, sizeof *by);
        fused_operand_loads(l, by);
        for (uint32_t i = 0; i < fi->f->body.n; i++)
            if (by[i])
                v[fi->pc_of[i]] = (struct exec_operand_load){
                    fi->pc_of[by[i]], fused_address_lasts(fi->f, i, by[i])};
        free(by);
        live_free(l);
        cfg_free(g);
    }
    return v;
}

/* BSSY and BSYNC in front of an instruction that is none come with the next one. */
static void
find_convergence(const struct cfg *g, const uint8_t *operations, uint8_t *in_front)
{
    convergence_operations(g, in_front);
    for (size_t i = 0; i + 1 < g->func->body.n; i++)
        if (!operations[i]) {
            in_front[i + 1] = (uint8_t)(in_front[i + 1] + in_front[i]);
            in_front[i] = 0;
        }
}

struct exec_fused *
exec_fusions(const struct exec_prog *p, struct arena *mem)
{
    const struct prog_priv *pp = p->priv;
    struct exec_fused *v = ARENA_ARRAY(mem, struct exec_fused, p->ninst + 1);
    for (uint32_t pc = 0; pc < p->ninst; pc++) /* a return behind a body */
        v[pc] = (struct exec_fused){1, 0, p->st[pc].latency, false, false};
    for (size_t k = 0; k < pp->funcs.n; k++) {
        const struct func_info *fi = pp->funcs.v[k];
        struct cfg *g = cfg_new(fi->f);
        struct live *l = live_new(g);
        size_t n = fi->f->body.n;
        uint8_t *operations = xcalloc(n + 1, 1), *in_front = xcalloc(n + 1, 1);
        struct fused_as *as = xcalloc(n + 1, sizeof *as);
        fused_operations(l, operations, as);
        find_convergence(g, operations, in_front);
        for (size_t i = 0; i < n; i++)
            if (!ptx_is_pseudo(&fi->f->body.v[i]))
                v[fi->pc_of[i]] = (struct exec_fused){
                    operations[i], in_front[i], as[i].part, as[i].moved, as[i].scaled};
        free(operations);
        free(in_front);
        free(as);
        live_free(l);
        cfg_free(g);
    }
    return v;
}

/* A form of a later target or version than the file's runs here all the same: files for
 * simulators name old targets. It is warned of, once a kernel. */
static void
warn_target(const struct decoder *d)
{
    for (size_t i = 0; i < d->pp->funcs.n; i++)
        if (ptx_target_warn(d->pp->funcs.v[i]->f, d->diag))
            return;
}

struct exec_prog *
exec_decode(struct exec_image *im, const struct ptx_func *f, struct diag_sink *diag)
{
    struct exec_prog *p = xcalloc(1, sizeof *p);
    struct prog_priv *pp = xcalloc(1, sizeof *pp);
    struct decoder d = {.im = im, .p = p, .pp = pp, .diag = diag};
    struct diag_loc loc = {f->module->file, f->module->text, f->line, f->col, 0};
    p->entry = f;
    p->priv = pp;
    p->image = im;
    p->param_bytes = (uint32_t)f->param_bytes;
    if (!f->is_entry || !f->has_body) {
        diag_add(diag, DIAG_ERROR, &loc, "'%s' is no kernel with a body", f->name);
        exec_prog_free(p);
        return NULL;
    }
    lane_init();
    for (int op = 0; op < PTX_NOPS; op++)
        if (!strcmp(ptx_ops[op].mnemonic, "ret"))
            d.ret_op = (uint16_t)op;
    decode_const_row(&d, 0, 8); /* so that there is a block of constants */
    decode_collect(&d);
    d.fi = pp->funcs.v[0];
    bool ok = decode_layout_shared(&d);
    for (size_t i = 0; ok && i < pp->funcs.n; i++) {
        d.fi = pp->funcs.v[i];
        ok = register_check_places(d.fi->f, diag) && decode_layout_func(&d, d.fi);
        if (ok) {
            pp->funcs.v[i]->cfg = cfg_new(pp->funcs.v[i]->f);
            number_instructions(&d, pp->funcs.v[i]);
        }
    }
    if (ok && p->nregs > UINT16_MAX)
        ok = decode_refuse(&d, "%u registers are more than 65535", p->nregs);
    if (ok) {
        p->local_bytes = pp->funcs.v[0]->local_bytes;
        p->inst = aligned_alloc(64, sizeof *p->inst * (p->ninst + 1));
        if (!p->inst)
            abort(); /* out of memory, like xmalloc */
        memset(p->inst, 0, sizeof *p->inst * (p->ninst + 1));
        p->st = xcalloc(p->ninst + 1, sizeof *p->st);
        for (size_t i = 0; i < pp->funcs.n; i++)
            decode_body(&d, pp->funcs.v[i]);
        find_zero_rows(&d, pp->funcs.v[0]);
        if (!d.failed)
            find_reductions(&d);
        p->row_bytes = align_to(pp->region_top, ROW_BYTES);
        ok = !d.failed;
    }
    if (!ok) {
        exec_prog_free(p);
        return NULL;
    }
    warn_target(&d);
    quick_decode(p, NULL);
    p->code_address = dev_code_space(im->mem, (uint64_t)p->ninst * EXEC_INST_BYTES);
    return p;
}

void
exec_prog_free(struct exec_prog *p)
{
    if (!p)
        return;
    struct prog_priv *pp = p->priv;
    for (size_t i = 0; i < pp->funcs.n; i++) {
        cfg_free(pp->funcs.v[i]->cfg);
        vec_free(&pp->funcs.v[i]->place);
    }
    vec_free(&pp->funcs);
    vec_free(&pp->sregs);
    vec_free(&pp->shared_vars);
    vec_free(&pp->zero_rows);
    vec_free(&pp->const_rows);
    exec_check_free(p->check);
    free(pp->quick);
    free(pp->consts);
    arena_free(&pp->mem);
    free(pp);
    free(p->inst);
    free(p->st);
    free(p);
}
