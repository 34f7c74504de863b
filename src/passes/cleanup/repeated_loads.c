/* repeated_loads.c: what a dominating load read, or a store wrote, is not loaded again.
 *
 *     st.shared.f32 [%r1], %f1;        st.shared.f32 [%r1], %f1;
 *     ld.shared.f32 %f2, [%r1];   ->   mov.f32 %f2, %f1;
 *     ld.shared.f32 %f3, [%r2];        ld.shared.f32 %f3, [%r2];
 *     ld.shared.f32 %f4, [%r2];        mov.f32 %f4, %f3;
 *
 * As in ptxas' code (CUDA 13.0): a store or atomic in the same state space ends all values but
 * that of its own address, whatever the address; one in another space ends none; barriers,
 * fences, and exchanges between lanes that may have diverged (uniform_diverged) end all. Each point of the code has a number for the state of scratchpad and one for
 * that of global memory. What ends values gives the state a new number. Where ways join, it is
 * that of the immediate dominator if no block between them changes it. Loads are equal if
 * address and number are, and if all registers have one definition that reaches
 * (analysis/defs.h). Weak scalar loads of 32 and 64 bits. Expected O(instructions) with a hash
 * table, and blocks squared. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/loops.h"
#include "analysis/uniform.h"
#include "base/bitset.h"

enum { SCRATCH, GLOBAL, SPACES };

struct states {
    const struct ptx_func *f;
    const struct cfg *g;
    const struct defs *defs;
    const struct loops *loops;
    const uint64_t *diverged; /* uniform_diverged of the function */
    uint32_t (*end)[SPACES];  /* of each block: the number at its end */
    uint8_t *ends;            /* of each block: bit k: it changes state k */
    uint32_t numbers;
    int32_t *slot; /* hash table: instruction, -1: free */
    size_t nslots;
    int32_t *next;   /* of an instruction: older one of the same slot */
    uint32_t *state; /* of a load or store in the table */
    size_t loads;
};

/* Which state an access is to; SPACES: another, or it may be several. */
static unsigned
state_of(const struct ptx_inst *in)
{
    switch (ptx_inst_space(in)) {
    case PTX_SPACE_SHARED:
        return SCRATCH;
    case PTX_SPACE_GLOBAL:
        return GLOBAL;
    default:
        return SPACES;
    }
}

static bool
is_weak(const struct ptx_inst *in)
{
    const unsigned sem = in->mod[PTX_MG_SEM];
    return (!sem || sem == PTX_SEM_WEAK) && !in->mod[PTX_MG_MMIO] &&
           !in->mod[PTX_MG_SCOPE] && in->mod[PTX_MG_CACHE] != PTX_CACHE_CV;
}

/* Bit k: instruction i ends the values of state k. */
static unsigned
ends(const struct states *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    const unsigned all = (1u << SPACES) - 1, flags = ptx_ops[in->op].flags;
    if (s->diverged && bitset_has(s->diverged, i))
        return all;
    const enum ptx_space space = ptx_inst_space(in);
    if (ptx_is_pseudo(in))
        return 0;
    if (in->op == PTX_OP_LD)
        return is_weak(in) ? 0 : all;
    if (in->op == PTX_OP_ST || (flags & PTX_ATOMIC && !(flags & PTX_VERBATIM)))
        return !is_weak(in) && in->op == PTX_OP_ST                    ? all
               : state_of(in) < SPACES                                ? 1u << state_of(in)
               : space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM ? 0
                                                                      : all;
    if (flags & (PTX_STORE | PTX_ATOMIC | PTX_EXTENSION) || in->op == PTX_OP_CALL)
        return all;
    if (!(flags & PTX_SIDE) || cfg_targets(in, NULL, 0))
        return 0;
    return flags & PTX_CROSSLANE && ptx_ops[in->op].unit != PTX_UNIT_BARRIER ? 0 : all;
}

/* -- which loads and stores -- */

/* Operand 0 of a load is its result, operand 1 of a store the value. */
static const struct ptx_operand *
value_of(const struct ptx_inst *in)
{
    return &in->ops[in->op == PTX_OP_ST];
}

static const struct ptx_operand *
address_of(const struct ptx_inst *in)
{
    return &in->ops[in->op != PTX_OP_ST];
}

/* May access i be compared with others at all? */
static bool
candidate(const struct states *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    if ((in->op != PTX_OP_LD && in->op != PTX_OP_ST) || in->guard >= 0 ||
        ptx_nops(in) != 2 || !is_weak(in) || in->mod[PTX_MG_VEC] ||
        in->mod[PTX_MG_L2HINT] || state_of(in) == SPACES ||
        ptx_type_bytes(in->type[0]) < 4 || ptx_type_bytes(in->type[0]) > 8 ||
        value_of(in)->kind != PTX_OPD_REG || value_of(in)->comp || value_of(in)->neg ||
        address_of(in)->kind != PTX_OPD_ADDR ||
        ptx_type_bytes(s->f->regs.v[value_of(in)->reg].type) !=
            ptx_type_bytes(in->type[0]))
        return false;
    return defs_single(s->defs, i);
}

/* -- states -- */

static bool
changes(const struct states *s, uint32_t v, unsigned k)
{
    return s->ends[v] >> k & 1;
}

/* Whether a block between d, which dominates it, and v changes state k. Between are blocks
 * below d that come before v; and if a loop begins at v, all of it. */
static bool
changed_between(const struct states *s, uint32_t d, uint32_t v, unsigned k)
{
    const struct cfg *g = s->g;
    if (g->block[v].npred == 1)
        return false;
    const uint32_t from = (uint32_t)g->block[d].rpo + 1, to = (uint32_t)g->block[v].rpo;
    for (uint32_t r = from; r < to; r++)
        if (changes(s, g->rpo[r], k) && cfg_dominates(g, (int32_t)d, (int32_t)g->rpo[r]))
            return true;
    for (uint32_t l = 0; l < s->loops->n; l++)
        if (s->loops->loop[l].header == v)
            for (uint32_t b = 0; b < s->loops->loop[l].n; b++)
                if (changes(s, s->loops->loop[l].list[b], k))
                    return true;
    return false;
}

/* Number of state k where block v begins. */
static uint32_t
at_start(struct states *s, uint32_t v, unsigned k)
{
    const int32_t d = s->g->block[v].idom;
    return d < 0 || changed_between(s, (uint32_t)d, v, k) ? ++s->numbers : s->end[d][k];
}

/* -- the table -- */

static size_t
slot_of(const struct states *s, const struct ptx_inst *in)
{
    const struct ptx_operand *a = address_of(in);
    uint64_t h = (uint64_t)(uint32_t)a->reg * 0x9e3779b97f4a7c15u ^ (uint64_t)a->off;
    h = (h ^ (uint64_t)ptx_inst_space(in) << 32) * 0xff51afd7ed558ccdu;
    return (h ^ h >> 32) & (s->nslots - 1);
}

static bool
same_place(const struct states *s, const struct ptx_inst *x, const struct ptx_inst *y)
{
    return state_of(x) == state_of(y) &&
           ptx_type_bytes(x->type[0]) == ptx_type_bytes(y->type[0]) &&
           s->f->regs.v[value_of(x)->reg].type == s->f->regs.v[value_of(y)->reg].type &&
           ptx_operand_same(address_of(x), address_of(y));
}

/* Load or store i, its state's number n: the load becomes a copy, or it is noted. */
static void
see(struct states *s, struct ptx_func *f, uint32_t i, uint32_t n)
{
    struct ptx_inst *in = &f->body.v[i];
    int32_t *head = &s->slot[slot_of(s, in)], at = *head;
    while (
        at >= 0 && in->op == PTX_OP_LD &&
        !(s->state[at] == n && same_place(s, &f->body.v[at], in) &&
          cfg_dominates(s->g, (int32_t)s->g->block_of[at], (int32_t)s->g->block_of[i])))
        at = s->next[at];
    if (at >= 0 && in->op == PTX_OP_LD) {
        const struct ptx_operand from = *value_of(&f->body.v[at]);
        rewrite_as_mov(f, in, &from);
        s->loads++;
        return;
    }
    s->state[i] = n;
    s->next[i] = *head;
    *head = (int32_t)i;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    const struct cfg *g = x->cfg;
    if (!cfg_is_reducible(g))
        return true;
    struct arena mem = {0};
    struct states s = {.f = f, .g = g, .defs = x->defs, .nslots = 64};
    while (s.nslots < f->body.n)
        s.nslots *= 2;
    s.slot = ARENA_ARRAY(&mem, int32_t, s.nslots);
    for (size_t i = 0; i < s.nslots; i++)
        s.slot[i] = -1;
    s.next = ARENA_ARRAY(&mem, int32_t, f->body.n + 1);
    s.state = ARENA_ARRAY(&mem, uint32_t, f->body.n + 1);
    s.end = (uint32_t(*)[SPACES])ARENA_ARRAY(&mem, uint32_t, SPACES * (g->n + 1));
    s.ends = ARENA_ARRAY(&mem, uint8_t, g->n + 1);
    struct loops *loops = loops_new(g);
    s.loops = loops;
    s.diverged = uniform_diverged(g, &mem);
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t i = g->block[v].first; i < g->block[v].end; i++)
            s.ends[v] |= (uint8_t)ends(&s, i);
    for (uint32_t r = 0; r < g->nrpo; r++) {
        const uint32_t v = g->rpo[r];
        for (unsigned k = 0; k < SPACES; k++)
            s.end[v][k] = at_start(&s, v, k);
        for (uint32_t i = g->block[v].first; i < g->block[v].end; i++) {
            const unsigned e = ends(&s, i);
            for (unsigned k = 0; k < SPACES; k++)
                if (e >> k & 1)
                    s.end[v][k] = ++s.numbers;
            if (candidate(&s, i))
                see(&s, f, i, s.end[v][state_of(&f->body.v[i])]);
        }
    }
    *changed = s.loads;
    if (a->report && s.loads)
        strbuf_printf(a->report, "%s: %zu loads repeat what is in a register\n", f->name,
                      s.loads);
    loops_free(loops);
    arena_free(&mem);
    return true;
}

const struct pass pass_repeated_loads = {
    .name = "repeated-loads",
    .meaning = "what a load read, or a store wrote, is not loaded again",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
    .keeps = AN_CFG | AN_DEFS,
};
