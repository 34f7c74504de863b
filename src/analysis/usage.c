/* usage.c: walks the call graph from a kernel, sums what its functions declare and use.
 */
#include "analysis/usage.h"

#include "analysis/convergence.h"
#include "analysis/defuse.h"
#include "analysis/fused.h"
#include "analysis/operands.h"
#include "analysis/live.h"
#include "ptx/expansion.h"

static void
add_func(struct usage *u, const struct ptx_func *f)
{
    f = ptx_func_definition(f);
    if (!f || !f->has_body)
        return;
    for (size_t i = 0; i < u->funcs.n; i++)
        if (u->funcs.v[i] == f)
            return;
    *vec_push(&u->funcs) = f;
}

static void
add_var(struct usage *u, const struct ptx_var *v)
{
    if (!v || v->space != PTX_SPACE_SHARED)
        return;
    for (size_t i = 0; i < u->scratchpad_vars.n; i++)
        if (u->scratchpad_vars.v[i].var == v)
            return;
    vec_push(&u->scratchpad_vars)->var = v;
}

static void
operand(struct usage *u, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_SYM || o->kind == PTX_OPD_ADDR)
        add_var(u, o->var);
    else if (o->kind == PTX_OPD_FUNCSYM && !(o->func && o->func->is_entry))
        add_func(u, o->func); /* a kernel's address is for a launch, no call */
    else if (o->kind == PTX_OPD_VEC)
        for (unsigned i = 0; i < o->n; i++)
            operand(u, &o->vec[i]);
}

/* 64-bit quotients and remainders are functions after the kernel's code, one of each kind
 * however many calls there are (ptxas 13: $__internal_0_$__cuda_sm20_div_s64): the first counts
 * it, and in the order of the code there is only the call. */
static void
leave_out_function(struct usage *u, const struct ptx_inst *in, uint8_t *operations)
{
    enum { CALL = 6 }; /* five moves, the call */
    if ((in->op != PTX_OP_DIV && in->op != PTX_OP_REM) || !ptx_machine_branches(in) ||
        *operations <= CALL)
        return;
    const unsigned row = ptx_expansion_of(in);
    const uint8_t kind = (uint8_t)(1u << ((in->op == PTX_OP_REM) * 2 +
                                          (ptx_types[in->type[0]].kind == PTX_K_SINT)));
    if (!(u->functions_called & kind))
        u->machine_operations += ptx_expansions[row].operations - CALL;
    u->functions_called |= kind;
    *operations = (uint8_t)(*operations - (ptx_expansions[row].operations - CALL));
}

static void
mark(void *set, int32_t reg, bool write, bool partial)
{
    (void)write;
    (void)partial;
    bitset_add(set, (size_t)reg);
}

/* -- loads -- */

/* Backward through the code: where each 32-bit register is read next. */
struct readers {
    const struct ptx_func *f;
    uint64_t *next; /* operations before the reader; UINT64_MAX: none */
    uint64_t at;
};

/* The 32-bit registers of r, once allocated; before, r itself. */
static uint32_t
first_unit(const struct ptx_func *f, uint32_t r, uint32_t *n)
{
    const struct ptx_reg *x = &f->regs.v[r];
    *n = x->type == PTX_PRED ? 0 : x->place ? (ptx_type_bytes(x->type) + 3u) / 4 : 1;
    return x->place ? x->place - 1u : r;
}

static void
note_reader(void *user, int32_t reg, bool write, bool partial)
{
    struct readers *w = user;
    (void)partial;
    uint32_t n, unit = first_unit(w->f, (uint32_t)reg, &n);
    for (uint32_t k = 0; k < n && !write; k++)
        w->next[unit + k] = w->at;
}

/* Whoever reads the register after reads another value. */
static void
note_writer(void *user, int32_t reg, bool write, bool partial)
{
    struct readers *w = user;
    uint32_t n, unit = first_unit(w->f, (uint32_t)reg, &n);
    for (uint32_t k = 0; k < n && write && !partial; k++)
        w->next[unit + k] = UINT64_MAX;
}

/* An IEEE quotient or reciprocal begins with BSSY; MUFU reads the divisor, then FCHK the
 * dividend. */
static void
note_late_readers(struct readers *w, const struct ptx_inst *in)
{
    const unsigned n = in->op == PTX_OP_DIVF ? 2 : in->op == PTX_OP_RCPF ? 1 : 0;
    for (unsigned k = 1; k <= n && ptx_machine_branches(in); k++) {
        const struct ptx_operand *o = &in->ops[k];
        uint32_t units, unit;
        if (o->kind != PTX_OPD_REG)
            continue;
        unit = first_unit(w->f, (uint32_t)o->reg, &units);
        w->next[unit] = w->at + 1 + n - k;
    }
}

static uint64_t
next_read(const struct readers *w, const struct ptx_operand *o)
{
    uint32_t n,
        unit = o->kind == PTX_OPD_REG ? first_unit(w->f, (uint32_t)o->reg, &n) : 0;
    return o->kind == PTX_OPD_REG && n ? w->next[unit] : UINT64_MAX;
}

/* Where the first register that the load writes is read next; UINT64_MAX: nowhere. A fetch from a
 * texture writes only the components that somebody reads. */
static uint64_t
first_read(const struct readers *w, const struct ptx_inst *in)
{
    const struct ptx_operand *to = &in->ops[0];
    if (!in->nops || to->kind != PTX_OPD_VEC)
        return in->nops ? next_read(w, to) : UINT64_MAX;
    uint64_t next = to->n ? next_read(w, &to->vec[0]) : UINT64_MAX;
    for (unsigned k = 1; k < to->n && next == UINT64_MAX && ptx_is_texture(in); k++)
        next = next_read(w, &to->vec[k]);
    return next;
}

/* Operations from each load to the first, in the order of the code, that reads the first
 * register that it writes. */
static void
add_loads(const struct ptx_func *f, const uint8_t *operations, const uint8_t *in_front,
          struct usage *u, struct arena *mem)
{
    struct readers w = {.f = f, .at = u->machine_operations};
    const size_t units = f->regs.n + UINT8_MAX + 8;
    w.next = ARENA_ARRAY(mem, uint64_t, units);
    memset(w.next, 0xff, units * sizeof *w.next);
    for (size_t i = f->body.n; i-- > 0;) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        w.at -= operations[i];
        const bool counts = operations[i] && ptx_ops[in->op].flags & PTX_LOAD &&
                            !operands_constant(f, in);
        const uint64_t next = counts ? first_read(&w, in) : UINT64_MAX;
        if (next != UINT64_MAX) {
            u->load_distance += next - w.at;
            u->loads_read++;
        }
        defuse_each(in, note_writer, &w);
        defuse_each(in, note_reader, &w);
        note_late_readers(&w, in);
        w.at -= in_front[i];
    }
}

/* -- what is live at the same time -- */

struct most {
    const struct ptx_func *f;
    struct usage *u;
};

static uint32_t
larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* MAXLIVE, and with what instructions need in between. */
static void
take_most(void *user, uint32_t inst, bool after, const struct live_set *set,
          uint32_t registers, uint32_t predicates)
{
    struct usage *u = ((struct most *)user)->u;
    (void)after;
    (void)set;
    uint32_t more = ptx_machine_registers(&((struct most *)user)->f->body.v[inst]);
    u->live_registers = larger(u->live_registers, registers);
    u->live_predicates = larger(u->live_predicates, predicates);
    if (more)
        u->between = larger(u->between, registers + more);
}

static void
one_func(struct usage *u, const struct ptx_func *f)
{
    struct arena mem = {0};
    uint64_t *seen = bitset_new(&mem, f->regs.n);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        u->instructions++;
        defuse_each(in, mark, seen);
        for (unsigned k = 0; k < in->nops; k++)
            operand(u, &in->ops[k]);
    }
    for (size_t i = 0; i < f->regs.n; i++) {
        if (!bitset_has(seen, i))
            continue;
        const struct ptx_reg *r = &f->regs.v[i];
        if (r->type == PTX_PRED)
            u->virtual_predicates++;
        else
            u->virtual_registers +=
                (ptx_type_bytes(r->type) + 3) / 4 * (r->vec ? r->vec : 1);
    }
    for (size_t i = 0; i < f->vars.n; i++) {
        const struct ptx_var *v = f->vars.v[i];
        if (v->space == PTX_SPACE_LOCAL)
            u->local_bytes =
                (u->local_bytes + v->align - 1) / v->align * v->align + (uint32_t)v->size;
        else
            add_var(u, v);
    }
    struct cfg *g = cfg_new(f);
    struct live *l = live_new(g);
    live_each_point(l, take_most, &(struct most){f, u});
    uint8_t *operations = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    fused_operations(l, operations, NULL);
    uint8_t *in_front = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    convergence_operations(g, in_front);
    for (size_t i = 0; i < f->body.n; i++) {
        leave_out_function(u, &f->body.v[i], &operations[i]);
        u->machine_operations += operations[i] + in_front[i];
    }
    add_loads(f, operations, in_front, u, &mem);
    live_free(l);
    cfg_free(g);
    arena_free(&mem);
}

/* -- physical registers -- */

#define UNKNOWN UINT32_MAX
enum { MOST_CHAINS = 10000 }; /* of recursive functions that are followed one by one */

/* Who calls whom, while the chains from the kernel are followed. */
struct chains {
    const struct usage *u;
    uint32_t *need;  /* of each function: with what it calls; UNKNOWN: not known yet */
    bool *open;      /* it is on the chain */
    bool recursive;  /* the last answer took an open function for one that calls nothing:
                      * it is true of this chain only */
    uint32_t chains; /* that many of those */
};

static uint32_t
live_top(const struct ptx_func *f, const struct live_set *live)
{
    uint32_t top = 0;
    for (uint32_t i = 0; i < live->n; i++) {
        const struct ptx_reg *r = &f->regs.v[live->reg[i]];
        unsigned bytes = ptx_type_bytes(r->type);
        uint32_t end = r->place - 1u + (bytes <= 4 ? 1 : bytes / 4);
        if (r->type != PTX_PRED && r->place && end > top)
            top = end;
    }
    return top;
}

static void
kill_written(void *set, int32_t reg, bool write, bool partial)
{
    if (write && !partial)
        live_del(set, (uint32_t)reg);
}

static uint32_t physical(struct chains *c, size_t i);

/* What the callees of this call need on top of what is live across it. Of an indirect
 * call: any function that the kernel may reach. */
static uint32_t
at_call(struct chains *c, const struct ptx_func *f, const struct ptx_inst *in,
        const struct live_set *live)
{
    uint32_t deepest = 0;
    bool direct = false;
    for (unsigned k = 0; k < in->nops; k++)
        direct |= in->ops[k].kind == PTX_OPD_FUNCSYM && in->ops[k].func &&
                  !in->ops[k].func->is_proto;
    for (size_t i = 1; i < c->u->funcs.n; i++) {
        const struct ptx_func *g = c->u->funcs.v[i];
        bool called = !direct;
        for (unsigned k = 0; k < in->nops; k++)
            called |= in->ops[k].kind == PTX_OPD_FUNCSYM && in->ops[k].func &&
                      !strcmp(in->ops[k].func->name, g->name);
        if (!called)
            continue;
        uint32_t n = physical(c, i);
        deepest = n > deepest ? n : deepest;
    }
    return deepest ? (live_top(f, live) + 1) / 2 * 2 + deepest : 0;
}

/* Registers of function i and of the deepest chain of calls from it. */
static uint32_t
physical(struct chains *c, size_t i)
{
    const struct ptx_func *f = c->u->funcs.v[i];
    uint32_t most = f->registers;
    if (c->need[i] != UNKNOWN)
        return c->need[i];
    if (c->open[i]) { /* recursion: one activation is counted */
        c->recursive = true;
        return most;
    }
    bool calls = false, outer = c->recursive;
    for (size_t k = 0; k < f->body.n; k++)
        calls |= f->body.v[k].op == PTX_OP_CALL;
    c->recursive = false;
    c->open[i] = true;
    struct arena mem = {0};
    struct cfg *g = calls ? cfg_new(f) : NULL;
    struct live *l = calls ? live_new(g) : NULL;
    struct live_set now = live_set_new(&mem, calls ? (uint32_t)f->regs.n : 0);
    for (uint32_t b = 0; calls && b < g->n; b++) {
        live_set_end(l, b, &now);
        for (uint32_t k = g->block[b].end; k-- > g->block[b].first;) {
            const struct ptx_inst *in = &f->body.v[k];
            if (in->op == PTX_OP_CALL) {
                defuse_each(in, kill_written, &now);
                uint32_t n = at_call(c, f, in, &now);
                most = n > most ? n : most;
            }
            live_step_back(in, &now);
        }
    }
    live_free(l);
    cfg_free(g);
    arena_free(&mem);
    c->open[i] = false;
    if (!c->recursive || ++c->chains > MOST_CHAINS)
        c->need[i] = most;
    c->recursive |= outer;
    return most;
}

/* Barriers 0 to the highest that is named; all of them where a register names it. */
static void
count_barrier(struct usage *u, const struct ptx_inst *in)
{
    enum { MOST = 16 }; /* PTX ISA 9.7.13.1 */
    const int number = ptx_inst_barrier(in);
    if (number < 0)
        return;
    const struct ptx_operand *id = &in->ops[number];
    uint32_t n = id->kind == PTX_OPD_IMM && id->imm < MOST ? (uint32_t)id->imm + 1 : MOST;
    if (n > u->barriers)
        u->barriers = n;
}

/* The part of the scratchpad that the kernel allocates; decoding refuses a second one. */
static void
note_allocation(struct usage *u, const struct ptx_inst *in)
{
    if (in->op != PTX_OP_SALLOC || in->ops[0].kind != PTX_OPD_IMM ||
        in->ops[1].kind != PTX_OPD_IMM)
        return;
    u->alloc_from = (uint32_t)in->ops[0].imm;
    u->alloc_bytes = (uint32_t)in->ops[1].imm;
}

/* Functions whose address stands in a variable's initialiser may be called indirectly. */
static void
address_taken(struct usage *u, const struct ptx_module *m)
{
    for (size_t i = 0; i < m->vars.n; i++)
        for (size_t k = 0; k < m->vars.v[i]->relocs.n; k++)
            add_func(u, m->vars.v[i]->relocs.v[k].func);
}

void
usage_of(const struct ptx_func *f, struct usage *u)
{
    memset(u, 0, sizeof *u);
    add_func(u, f);
    bool indirect = false;
    for (size_t i = 0; i < u->funcs.n; i++) { /* grows while it is walked */
        const struct ptx_func *g = u->funcs.v[i];
        one_func(u, g);
        for (size_t k = 0; k < g->body.n; k++) {
            count_barrier(u, &g->body.v[k]);
            note_allocation(u, &g->body.v[k]);
        }
        for (size_t k = 0; k < g->body.n && !indirect; k++) {
            const struct ptx_inst *in = &g->body.v[k];
            for (unsigned j = 0; in->op == PTX_OP_CALL && j < in->nops; j++)
                indirect |= in->ops[j].kind == PTX_OPD_REG;
            if (indirect)
                address_taken(u, f->module);
        }
    }
    scratch_place(f->module, u->scratchpad_vars.v, u->scratchpad_vars.n, &u->layout);
    u->scratchpad = (uint32_t)u->layout.bytes;
    for (size_t i = 0; i < u->scratchpad_vars.n; i++)
        u->dynamic_scratchpad |= u->scratchpad_vars.v[i].var->dynamic;
    struct arena mem = {0};
    struct chains c = {.u = u};
    c.need = ARENA_ARRAY(&mem, uint32_t, u->funcs.n + 1);
    c.open = ARENA_ARRAY(&mem, bool, u->funcs.n + 1);
    for (size_t i = 0; i < u->funcs.n; i++)
        c.need[i] = UNKNOWN;
    u->registers = u->funcs.n ? physical(&c, 0) : 0;
    arena_free(&mem);
    for (size_t i = 0; i < u->funcs.n; i++)
        if (u->funcs.v[i]->predicates > u->predicates)
            u->predicates = u->funcs.v[i]->predicates;
}

void
usage_free(struct usage *u)
{
    vec_free(&u->scratchpad_vars);
    vec_free(&u->funcs);
}

uint32_t
usage_registers(const struct usage *u, bool expanded, uint32_t reserved)
{
    if (!u->registers || !expanded)
        return u->registers ? u->registers : u->live_registers;
    const uint32_t most = u->funcs.v[0]->maxnreg;
    uint32_t n = u->between;
    if (most && n + reserved > most)
        n = most > reserved ? most - reserved : 0;
    return n > u->registers ? n : u->registers;
}
