/* sm_program.c: a decoded kernel as an SM issues it: class, latency and interval of each
 * instruction on a machine, its registers in one array, the mechanisms that it concerns. Once
 * a launch; all SMs share it. */
#include "timing/sm/sm_program.h"

#include "machine/latency.h"
#include "ptx/expansion.h"

#include <string.h>

enum sm_class
sm_program_class(const struct machine *m, unsigned unit, unsigned latency)
{
    bool product = latency == PTX_LAT_INT_MUL || latency == PTX_LAT_INT_MAD;
    switch (unit) {
    case PTX_UNIT_SFU:
        return latency == PTX_LAT_INT_REM && m->unit.rem_on_sp ? CLS_SP : CLS_SFU;
    case PTX_UNIT_DP:
        if (latency == PTX_LAT_F64_OTHER && m->unit.f64_other_on_sp)
            return CLS_SP;
        return m->unit.dp ? CLS_DP : m->unit.f64_on_sp ? CLS_SP : CLS_SFU;
    case PTX_UNIT_TENSOR: /* there is one: sm_program_check */
        return CLS_TENSOR;
    case PTX_UNIT_MEM:
        return CLS_MEM;
    case PTX_UNIT_ALU:
        if (product && m->unit.int_mul_on_sfu)
            return CLS_SFU;
        return m->unit.integer && latency <= PTX_LAT_INT_DIV ? CLS_INT : CLS_SP;
    default:
        return CLS_SP;
    }
}

/* latency.tensor is that of m16n8k16 with 16-bit factors; more work is so many of these
 * one behind the other, less work keeps the pipeline for a part of the interval. */
static void
scale_tensor(struct sm_inst *in, unsigned work)
{
    unsigned interval = (in->interval * work + 15) / 16;
    if (interval > in->interval)
        in->latency = (uint16_t)(in->latency + interval - in->interval);
    in->interval = (uint16_t)interval;
}

/* latency.wgmma: cycles of m64n8 with 32 bytes along k, one after the other, then the time to the
 * result. What comes from scratchpad, the whole warpgroup's, takes the time of its banks: with
 * A there, small products take longer than their multiplications. */
static void
time_product(const struct machine *m, struct sm_inst *in, unsigned work)
{
    unsigned interval = in->interval * (work / 16),
             width = (unsigned)(m->scratchpad.banks * m->scratchpad.bank_bytes),
             data = (in->product_bytes + width - 1) / width;
    interval = interval > data ? interval : data;
    in->latency = (uint16_t)(in->latency + interval);
    in->interval = (uint16_t)interval;
}

/* The machine operations that an instruction becomes, so many. Those of its own pipeline keep
 * it; of others', the longer time counts, and they do not compete with the others' work. Where
 * they are fewer than of the instruction alone, those left out are not waited for. */
static void
expand(const struct machine *m, struct sm_inst *in, const struct ptx_expansion *e,
       unsigned operations)
{
    unsigned saved = e->operations > operations ? e->operations - operations : 0,
             chain = e->chain;
    bool f64 = e->class >= PTX_LAT_F64_ADD && e->class <= PTX_LAT_F64_DIV;
    unsigned cls = sm_program_class(m, f64 ? PTX_UNIT_DP : PTX_UNIT_ALU, e->class);
    unsigned more = e->more > saved ? e->more - saved : 0;
    unsigned work = more * (unsigned)m->latency[e->class].interval;
    if (saved && chain >= operations)
        chain = operations - 1;
    in->slots = (uint8_t)operations;
    if (cls == in->cls)
        in->interval = (uint16_t)(in->interval + work);
    else if (work > in->interval)
        in->interval = (uint16_t)work;
    in->latency = (uint16_t)(in->latency + chain * latency_dependent(m, e->class));
}

/* Mechanisms that stop whole blocks: a bit each. */
static unsigned
whole_blocks(const struct sm_setup *setup)
{
    unsigned set = 0;
    for (unsigned k = 0; k < setup->nmechanisms; k++)
        set |= (unsigned)setup->mechanism[k].mechanism->whole << k;
    return set;
}

/* ... and what a card's compiler makes of it where it stands. A pair has the latency of its
 * slower part (a product and a sum: IMAD). */
static void
fuse(const struct machine *m, const struct sm_setup *setup, struct sm_inst *in,
     const struct exec_static *st, const struct exec_fused *f)
{
    const struct ptx_expansion *e = &ptx_expansions[st->expansion];
    const struct machine_latency *part = &m->latency[f->part];
    in->scaled = f->scaled;
    if (f->moved) { /* MOV from the constant bank */
        in->cls = (uint8_t)sm_program_class(m, PTX_UNIT_ALU, PTX_LAT_OTHER);
        in->latency = (uint16_t)m->latency[PTX_LAT_OTHER].cycles;
        in->interval = (uint16_t)m->latency[PTX_LAT_OTHER].interval;
    }
    in->folded = !f->operations && !(in->concern & ~whole_blocks(setup));
    if (f->part != st->latency && in->latency < part->cycles)
        in->latency = (uint16_t)part->cycles;
    if (f->part != st->latency && in->interval < part->interval)
        in->interval = (uint16_t)part->interval;
    expand(m, in, e, f->operations ? f->operations : e->operations);
    if (in->folded) {
        in->slots = 0;
        in->concern = 0;
    }
    in->slots = (uint8_t)(in->slots + f->in_front);
}

static bool
concerns(const struct mechanism_use *u, const struct exec_static *st)
{
    const struct mechanism *m = u->mechanism;
    return m->may_issue && (!m->concerns || m->concerns(st, mechanism_plan(u)));
}

/* Its operands without this register, of those that it writes or those that it reads. */
static void
drop_register(struct exec_static *st, uint16_t reg, bool writes, struct arena *mem)
{
    uint16_t *v = writes ? st->dst : st->src;
    uint8_t *nv = writes ? &st->ndst : &st->nsrc;
    unsigned from = st->guarded && !writes, n = 0, left = 0;
    for (unsigned i = 0; i < *nv; i++)
        if (i < from || v[i] != reg)
            v[n++] = v[i];
    *nv = (uint8_t)n;
    struct exec_operand *o = ARENA_ARRAY(mem, struct exec_operand, st->noperands + 1);
    for (unsigned i = 0; i < st->noperands; i++)
        if (st->operand[i].reg != reg ||
            st->operand[i].role != (writes ? EXEC_WRITES : EXEC_READS))
            o[left++] = st->operand[i];
    st->operand = o;
    st->noperands = (uint16_t)left;
}

/* Its operands with those of a load that is one of them, which then has none. */
static void
take_operands(struct exec_static *st, struct exec_static *load, struct arena *mem)
{
    unsigned n = load->noperands;
    struct exec_operand *o = ARENA_ARRAY(mem, struct exec_operand, n + st->noperands + 1);
    memcpy(o, load->operand, sizeof *o * n);
    memcpy(o + n, st->operand, sizeof *o * st->noperands);
    st->operand = o;
    st->noperands = (uint16_t)(st->noperands + n);
    load->noperands = 0;
}

/* The instructions where loads are operands: no register holds what such a load reads, and
 * its reader is the one that reads its address, if that lasts. The operands say so; collectors
 * do not read it, and the load waits for it (st->src). */
static struct exec_static *
without_values(const struct exec_prog *p, const struct exec_operand_load *load,
               struct arena *mem)
{
    struct exec_static *st = ARENA_ARRAY(mem, struct exec_static, p->ninst + 1);
    memcpy(st, p->st, sizeof *st * p->ninst);
    for (uint32_t pc = 0; pc < p->ninst; pc++)
        if (load[pc].reader) {
            uint16_t reg = p->st[pc].dst[0];
            drop_register(&st[pc], reg, true, mem);
            drop_register(&st[load[pc].reader], reg, false, mem);
        }
    for (uint32_t pc = 0; pc < p->ninst; pc++)
        if (load[pc].address)
            take_operands(&st[load[pc].reader], &st[pc], mem);
    return st;
}

/* The first operand that is not waited for. */
static uint8_t
late_operand(const struct machine *m, const struct sm_inst *in)
{
    unsigned most = (unsigned)m->collector.f64_registers;
    unsigned n = (unsigned)in->nsrc - in->first_operand;
    if (in->cls != CLS_DP || !most || n < most)
        return in->nsrc;
    return (uint8_t)(in->first_operand + most);
}

/* The registers that only operands say that it reads, to reg: addresses of its loads. */
static uint8_t
addresses(const struct exec_static *st, uint16_t *reg)
{
    unsigned n = 0;
    for (unsigned i = 0; i < st->noperands; i++) {
        const struct exec_operand *o = &st->operand[i];
        bool known = o->role != EXEC_READS;
        for (unsigned k = 0; k < st->nsrc; k++)
            known |= st->src[k] == o->reg;
        for (unsigned k = 0; k < n; k++)
            known |= reg[k] == o->reg;
        if (!known)
            reg[n++] = o->reg;
    }
    return (uint8_t)n;
}

/* Places in the code, which has no room for what is folded. Whether there is any. */
static bool
set_places(struct sm_inst *inst, uint32_t n)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < n; i++) {
        inst[i].place = place;
        place += !inst[i].folded;
    }
    return place < n;
}

static bool
reads_or_writes(const struct exec_static *st, uint16_t r)
{
    for (unsigned k = 0; k < st->nsrc; k++)
        if (st->src[k] == r)
            return true;
    for (unsigned k = 0; k < st->ndst; k++)
        if (st->dst[k] == r)
            return true;
    return false;
}

/* Whether register r guards the first behind instruction i that reads it. Behind a jump, or the
 * end, it may. */
static bool
guards_next(const struct exec_static *st, uint32_t i, uint32_t n, uint16_t r)
{
    for (uint32_t k = i + 1; k < n; k++) {
        if ((st[k].guarded && st[k].src[0] == r) || st[k].is_jump)
            return true;
        if (reads_or_writes(&st[k], r))
            return false;
    }
    return true;
}

/* Of each instruction: it writes a predicate that guards what reads it first. NULL where that
 * makes no difference (sm.guard_latency). */
static const bool *
writers_of_guards(const struct machine *m, const struct exec_prog *p,
                  const struct exec_static *st, struct arena *mem)
{
    if (!m->sm.guard_latency)
        return NULL;
    bool *out = ARENA_ARRAY(mem, bool, p->ninst + 1);
    uint64_t *guard = bitset_new(mem, (size_t)UINT16_MAX + 1);
    for (uint32_t i = 0; i < p->ninst; i++)
        if (st[i].guarded)
            bitset_add(guard, st[i].src[0]);
    for (uint32_t i = 0; i < p->ninst; i++)
        for (unsigned d = 0; d < st[i].ndst; d++)
            out[i] |= bitset_has(guard, st[i].dst[d]) &&
                      guards_next(st, i, p->ninst, st[i].dst[d]);
    return out;
}

/* Without a maximum of registers setmaxnreg has no effect (PTX ISA 9.7.19.5): ptxas 13.0 ignores it
 * unless the head has one of these. */
static bool
has_maximum(const struct ptx_func *f)
{
    return f->maxnreg || f->minnctapersm;
}

struct sm_program
sm_program_make(const struct machine *m, struct exec_grid *grid,
                const struct sm_setup *setup, struct arena *mem)
{
    const struct exec_prog *p = grid->prog;
    const struct exec_static *all = p->st;
    const struct exec_operand_load *load = NULL;
    if (m->sm.operand_loads) {
        load = exec_operand_loads(p, mem);
        all = without_values(p, load, mem);
    }
    struct sm_inst *inst = ARENA_ARRAY(mem, struct sm_inst, p->ninst + 1);
    size_t nreg = 0;
    for (uint32_t i = 0; i < p->ninst; i++)
        nreg += (size_t)all[i].nsrc + all[i].ndst + (load ? all[i].noperands : 0);
    uint16_t *reg = ARENA_ARRAY(mem, uint16_t, nreg + 1);
    const struct exec_fused *fused =
        m->sm.machine_operations && m->sm.fusions ? exec_fusions(p, mem) : NULL;
    const bool *guards = writers_of_guards(m, p, all, mem);
    unsigned longest = 1;
    for (uint32_t i = 0; i < p->ninst; i++) {
        const struct exec_static *st = &all[i];
        struct sm_inst *in = &inst[i];
        in->nsrc = st->nsrc;
        in->ndst = st->ndst;
        in->reg = reg;
        memcpy(reg, st->src, sizeof *reg * st->nsrc);
        memcpy(reg + st->nsrc, st->dst, sizeof *reg * st->ndst);
        reg += st->nsrc + st->ndst;
        in->naddr = load ? addresses(st, reg) : 0;
        reg += in->naddr;
        in->first_operand = st->guarded;
        in->cls = (uint8_t)sm_program_class(m, st->unit, st->latency);
        in->late = late_operand(m, in);
        in->latency = (uint16_t)m->latency[st->latency].cycles;
        in->interval = (uint16_t)m->latency[st->latency].interval;
        in->slots = 1;
        in->product = st->product;
        in->product_n = st->product_n;
        in->product_bytes = st->product_bytes;
        if (in->product == PRODUCT_START)
            time_product(m, in, st->work);
        else if (in->cls == CLS_TENSOR)
            scale_tensor(in, st->work);
        for (unsigned k = 0; k < setup->nmechanisms; k++)
            in->concern |= (uint8_t)(concerns(&setup->mechanism[k], st) << k);
        if (fused)
            fuse(m, setup, in, st, &fused[i]);
        else if (m->sm.machine_operations)
            expand(m, in, &ptx_expansions[st->expansion],
                   ptx_expansions[st->expansion].operations);
        if (guards && guards[i] && in->latency < m->sm.guard_latency)
            in->latency = (uint16_t)m->sm.guard_latency;
        longest = in->latency > longest ? in->latency : longest;
        longest = in->interval > longest ? in->interval : longest;
        in->barrier = st->is_barrier;
        in->jump = st->is_jump;
        in->fence = st->is_fence;
        in->nother = st->nother;
        in->ops = ops_counter(st);
        in->nrows = st->nrows;
        for (unsigned k = 0; k < EXEC_ROWS; k++)
            in->rows[k] = st->rows[k < st->nrows ? k : 0];
        in->copy = st->copy;
        in->copy_n = st->copy_n;
        in->mem = in->cls == CLS_MEM;
        in->operation = (ptx_ops[st->op].flags & PTX_EXTENSION) != 0;
        in->operand = load && load[i].reader;
        in->folded |= in->operand;
    }
    const bool folds = set_places(inst, p->ninst);
    return (struct sm_program){.grid = grid,
                               .inst = inst,
                               .st = all,
                               .ninst = p->ninst,
                               .nregs = p->nregs,
                               .longest = longest,
                               .folds = folds,
                               .warps_per_cta = grid->warps_per_cta,
                               .registers_move = has_maximum(p->entry),
                               .code_address = p->code_address};
}

bool
sm_program_check(const struct machine *m, const struct exec_prog *p,
                 struct diag_sink *diag)
{
    for (uint32_t i = 0; i < p->ninst && !m->unit.tensor; i++)
        if (p->st[i].unit == PTX_UNIT_TENSOR) {
            struct diag_loc loc = exec_loc(p, i);
            struct diag *d =
                diag_add(diag, DIAG_ERROR, &loc,
                         "kernel '%s': this machine has no tensor cores to run %s on",
                         p->entry->name, ptx_ops[p->st[i].op].mnemonic);
            diag_hint(diag, d,
                      "unit.tensor is 0; take a machine of compute capability 7.0 "
                      "or later, or run with --functional");
            return false;
        }
    for (uint32_t i = 0; i < p->ninst && !m->latency[PTX_LAT_WGMMA].interval; i++)
        if (p->st[i].product) {
            struct diag_loc loc = exec_loc(p, i);
            struct diag *d = diag_add(diag, DIAG_ERROR, &loc,
                                      "kernel '%s': this machine does not have %s",
                                      p->entry->name, ptx_ops[p->st[i].op].mnemonic);
            diag_hint(
                diag, d,
                "latency.wgmma is 0,0; take a machine of compute capability 9.0, or run "
                "with --functional");
            return false;
        }
    return true;
}
