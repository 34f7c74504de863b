/* threaded.c: runs warps by quick records (threaded.h), for functional mode.
 *
 * quick_decode makes the records once a program. quick_turn runs a warp for a number of
 * instructions, with the results, counts and order of exec_step:
 *
 * - The records of a run have the same active lanes. A run ends where a path ends (the
 *   reconvergence point), where the turn is over, or where a handler returns its own
 *   record: then exec_step executes that instruction.
 * - A branch that all lanes take, or none, stays in the run. `left` counts down at taken
 *   branches only: between them, instructions are counted by the difference of records.
 * - Guards turn lanes off for one instruction; `off` counts these lanes. */
#include "exec/ops/exec_mem.h"
#include "exec/lanes/lanes_int.h"

#include <stdlib.h>
#include <string.h>

/* -- decoding -- */

/* Handlers of an instruction set. */
struct quick_set {
    const char *name;
    const struct quick_lane *lanes;
    quick_fn *const *fast;
    quick_enter *enter;
};

static const struct quick_set sets[] = {
    {"plain", quick_lanes_plain, quick_fast_plain, quick_enter_plain},
#ifdef EXEC_X86
    {"avx2", quick_lanes_avx2, quick_fast_avx2, quick_enter_avx2},
    {"avx512", quick_lanes_avx512, quick_fast_avx512, quick_enter_avx512},
#endif
};

/* The lane functions that the program uses, and what to put in their place. */
struct maker {
    const struct exec_prog *p;
    const struct prog_priv *pp;
    const struct lane_variant *used;
    const struct quick_set *set;
};

/* The quick forms of a lane function of the opcode; NULL: there are none. */
static const struct quick_lane *
lane_forms(const struct maker *m, uint16_t op, lane_fn *fn)
{
    size_t lo = 0;
    for (size_t hi = m->used->n; lo < hi;) { /* first entry of the opcode */
        size_t mid = lo + (hi - lo) / 2;
        if (m->used->entry[mid].op < op)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < m->used->n && m->used->entry[lo].op == op; lo++)
        if (m->used->entry[lo].fn == fn)
            return m->set->lanes[lo].form[0] ? &m->set->lanes[lo] : NULL;
    return NULL;
}

/* Is it a constant, the same in all lanes? */
static bool
one_value(const struct maker *m, uint32_t ref, uint64_t *value)
{
    if (!(ref & REF_CONST) || ref == REF_NONE)
        return false;
    uint32_t at = ref & ~REF_CONST;
    size_t lo = 0, hi = m->pp->const_rows.n; /* they lie in the order of their numbers */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->pp->const_rows.v[mid].at <= at)
            lo = mid;
        else
            hi = mid;
    }
    const struct decode_const_row *r = &m->pp->const_rows.v[lo];
    size_t lane = r->bytes / LANES;
    const uint8_t *row = m->pp->consts + at;
    *value = 0;
    memcpy(value, row, lane);
    for (size_t i = 1; i < LANES; i++)
        if (memcmp(row + i * lane, row, lane))
            return false;
    return true;
}

/* A load or store of whole elements or vectors by a register; -1: something else. */
static int
memory_fast(const struct exec_inst *x)
{
    static const int kinds[2][2][5] = {
        /* 4 bytes, from a 64-bit register; 8 bytes; two and four words */
        {{QUICK_ST_GLOBAL_4, QUICK_ST_GLOBAL_4, QUICK_ST_GLOBAL_8, QUICK_ST_GLOBAL_V2,
          QUICK_ST_GLOBAL_V4},
         {QUICK_LD_GLOBAL_4, QUICK_LD_GLOBAL_4, QUICK_LD_GLOBAL_8, QUICK_LD_GLOBAL_V2,
          QUICK_LD_GLOBAL_V4}},
        {{QUICK_ST_SHARED_4, QUICK_ST_SHARED_4W, QUICK_ST_SHARED_8, QUICK_ST_SHARED_V2,
          QUICK_ST_SHARED_V4},
         {QUICK_LD_SHARED_4, QUICK_LD_SHARED_4W, QUICK_LD_SHARED_8, QUICK_LD_SHARED_V2,
          QUICK_LD_SHARED_V4}},
    };
    bool shared = x->space == PTX_SPACE_SHARED, wide = !(x->flags & IF_BASE32);
    if ((x->kind != MEM_LOAD && x->kind != MEM_STORE) || x->base == REF_NONE ||
        x->flags & (IF_GUARD | IF_FRAME | IF_COPY | IF_TILE) ||
        (x->esize != 4 && x->esize != 8))
        return -1;
    if (!shared && (x->space != PTX_SPACE_GLOBAL || !wide || x->flags & IF_WRAP))
        return -1;
    for (unsigned e = 0; e < x->nvec; e++) {
        if (x->data[e] == REF_NONE || (x->dwide >> e & 1) != (x->esize == 8))
            return -1;
        for (unsigned k = 0; k < e; k++)
            if (x->data[k] == x->data[e])
                return -1;
    }
    const int *kind = kinds[shared][x->kind == MEM_LOAD];
    if (x->nvec == 1)
        return kind[x->esize == 8 ? 2 : wide];
    return x->esize == 8 || x->nvec == 3 ? -1 : kind[x->nvec == 2 ? 3 : 4];
}

/* A parameter of 4 or 8 bytes at a fixed place. */
static int
param_fast(const struct exec_prog *p, const struct exec_inst *x)
{
    uint64_t off = (uint64_t)x->off;
    if (x->kind != MEM_LOAD || x->space != PTX_SPACE_PARAM || x->base != REF_NONE ||
        x->flags & IF_GUARD || x->nvec != 1 || x->data[0] == REF_NONE ||
        (x->esize != 4 && x->esize != 8) || x->dwide != (x->esize == 8) ||
        off > p->param_bytes || p->param_bytes - off < x->esize || off % x->esize)
        return -1;
    return x->esize == 8 ? QUICK_LD_PARAM_8 : QUICK_LD_PARAM_4;
}

static void
make_memory(const struct maker *m, const struct exec_inst *x, struct quick *q)
{
    int k = x->space == PTX_SPACE_PARAM ? param_fast(m->p, x) : memory_fast(x);
    if (k < 0)
        k = x->flags & IF_GUARD ? QUICK_MEMORY_GUARD : QUICK_MEMORY;
    q->fn = m->set->fast[k];
    q->d = x->data[0];
    q->a = x->base;
    q->b = x->slot;
    q->off = x->off;
}

static void
make_lane(const struct maker *m, const struct exec_inst *x, const struct quick_lane *l,
          struct quick *q)
{
    bool a = x->nvec > 0 && q->a & REF_CONST, b = x->nvec > 1 && q->b & REF_CONST,
         c = x->nvec > 2 && q->c & REF_CONST;
    q->fn = l->form[2];
    if (!a && !b && !c)
        q->fn = l->form[0];
    else if (!a && !c && one_value(m, q->b, &q->value))
        q->fn = l->form[1];
}

static void
make_pure(const struct maker *m, uint32_t pc, struct quick *q)
{
    const struct exec_inst *x = &m->p->inst[pc];
    q->fn = m->set->fast[QUICK_PURE];
    if (x->form == FORM_SET) {
        q->d = x->data[0];
        q->value = x->value;
        q->fn = m->set->fast[x->base == 8 ? QUICK_SET_8 : QUICK_SET_4];
        return;
    }
    if (x->form == FORM_PURE)
        return;
    q->d = x->d[0];
    q->a = x->s[0];
    q->b = x->s[1];
    q->c = x->s[2];
    bool wide = x->form == FORM_MOV64;
    if (x->form == FORM_LANE) {
        const struct quick_lane *l = lane_forms(m, m->p->st[pc].op, x->lane);
        if (l && !(x->aux & LM_BOOL))
            make_lane(m, x, l, q);
    } else if (one_value(m, q->a, &q->value)) {
        q->fn = m->set->fast[wide ? QUICK_SET_8 : QUICK_SET_4];
    } else {
        q->fn = m->set->fast[wide ? QUICK_MOV_8 : QUICK_MOV_4];
    }
}

static void
make(const struct maker *m, uint32_t pc, struct quick *q)
{
    const struct exec_inst *x = &m->p->inst[pc];
    bool guard = x->flags & IF_GUARD;
    q->fn = m->set->fast[QUICK_STEP];
    if (x->form == FORM_BRA) {
        q->fn = m->set->fast[guard ? QUICK_BRA_GUARD : QUICK_BRA];
        q->jump = (int64_t)x->target - pc;
        q->a = x->guard;
        q->b = x->flags & IF_GUARD_NEG ? FULL_MASK : 0;
    } else if (x->form == FORM_MEMORY) {
        make_memory(m, x, q);
    } else if (x->form == FORM_WARP) {
        if (!guard)
            q->fn = m->set->fast[QUICK_WARP];
    } else if (x->form != FORM_STEP) {
        if (guard)
            q->fn = m->set->fast[QUICK_PURE_GUARD];
        else
            make_pure(m, pc, q);
    }
}

void
quick_decode(struct exec_prog *p, const char *variant)
{
    const struct lane_variant *all[4];
    const struct lane_variant *used = all[lane_variants(all) - 1];
    struct prog_priv *pp = p->priv;
    struct maker m = {p, pp, used, &sets[0]};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(sets[i].name, variant ? variant : used->name))
            m.set = &sets[i];
    pp->enter = m.set->enter;
    free(pp->quick);
    size_t bytes = ((size_t)p->ninst / 2 + 1) * 2 * sizeof *pp->quick;
    pp->quick = aligned_alloc(64, bytes);
    if (!pp->quick)
        abort(); /* out of memory, like xmalloc */
    memset(pp->quick, 0, bytes);
    for (uint32_t pc = 0; pc < p->ninst; pc++)
        make(&m, pc, &pp->quick[pc]);
    pp->quick[p->ninst].fn = m.set->fast[QUICK_STEP];
}

/* -- running -- */

void
quick_start(struct exec_cta *c)
{
    const struct exec_grid *g = c->grid;
    const struct prog_priv *pp = g->prog->priv;
    c->ex->quick = (struct quick_run){.code = pp->quick,
                                      .enter = pp->enter,
                                      .inst = g->prog->inst,
                                      .range = c->ex->range,
                                      .params = g->params,
                                      .shared = c->shared,
                                      .shared_bytes = c->shared_bytes,
                                      .global = *(uint8_t **)g->mem,
                                      .foot = c->log ? c->log->foot : NULL};
}

/* From w->pc on, until a record returns itself, the path's end, or n instructions. How
 * many were executed; w->pc is the next. */
static uint64_t
run(struct quick_run *r, struct exec_warp *w, uint64_t n)
{
    const struct quick *ip = r->code + w->pc;
    r->join = w->rpc == EXEC_NO_PC ? NULL : r->code + w->rpc;
    r->from = ip;
    r->left = n;
    r->stop = ip + n;
    if (r->join > ip && r->join < r->stop)
        r->stop = r->join;
    r->off = 0;
    ip = r->enter(r, ip);
    w->pc = (uint32_t)(ip - r->code);
    return n - r->left + (uint64_t)(ip - r->from) + (r->result != EXEC_OK);
}

enum exec_result
quick_turn(struct exec_warp *w, struct exec_step *s, uint64_t n)
{
    struct exec_cta *c = w->cta;
    struct quick_run *r = &c->ex->quick;
    r->w = w;
    r->step = s;
    r->result = EXEC_OK;
    for (;;) {
        uint32_t lanes = lanes_in(w->active);
        uint64_t done = run(r, w, n);
        c->n_warp_inst += done;
        c->n_thread_inst += done * lanes - r->off;
        if (r->result != EXEC_OK)
            return r->result;
        n -= done;
        if (w->pc == w->rpc) {
            simt_reconverge(w, s);
            if (!n)
                return EXEC_OK;
            continue;
        }
        if (!n)
            return EXEC_OK;
        enum exec_result e = exec_step(w, s);
        if (e != EXEC_OK || w->state != EXEC_READY || !--n)
            return e;
    }
}
