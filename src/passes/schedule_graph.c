/* schedule_graph.c: the dependences of a piece of code.
 *
 *     registers   read after write (the latency of the writer), write after read, write after
 *                 write; the carry flag counts as a register
 *     memory      a load and a store, or two stores, that may touch the same bytes; atomics,
 *                 volatile and ordered accesses, barriers and fences against every access
 *
 * Cost: O(operands + accesses x MOST_PENDING). */
#include "passes/schedule_int.h"

#include "analysis/defuse.h"
#include "ptx/expansion.h"

enum {
    MOST_PENDING = 256
}; /* accesses that a later one is compared with; then a fence */

/* -- instructions -- */

bool
schedule_is_loc(const struct ptx_inst *in)
{
    return in->op == PTX_OP_DIRECTIVE && in->text && !strncmp(in->text, ".loc", 4);
}

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

enum sched_order
schedule_order_of(const struct ptx_func *f, const struct ptx_inst *in)
{
    const struct ptx_op_info *op = &ptx_ops[in->op];
    if (op->flags & (PTX_PSEUDO | PTX_JUMP | PTX_ENDS | PTX_EXTENSION | PTX_REFUSED) ||
        reads_clock(in))
        return SCHED_STAYS;
    if (op->unit == PTX_UNIT_BARRIER || op->flags & PTX_ATOMIC)
        return SCHED_ACCESS;
    if (op->flags & (PTX_LOAD | PTX_STORE) && is_ordered(in))
        return SCHED_ACCESS;
    if (in->op == PTX_OP_ST)
        return SCHED_STORE;
    if (op->flags & PTX_STORE)
        return SCHED_ACCESS;
    if (op->flags & PTX_LOAD)
        return op->flags & PTX_SIDE    ? SCHED_ACCESS
               : reads_constant(f, in) ? SCHED_FREE
                                       : SCHED_LOAD;
    if (op->flags & PTX_SIDE)
        return op->flags & PTX_CROSSLANE ? SCHED_FREE : SCHED_STAYS;
    return op->unit == PTX_UNIT_MEM || op->unit == PTX_UNIT_BRANCH ? SCHED_STAYS
                                                                   : SCHED_FREE;
}

static int32_t
latency_of(const struct sched *s, const struct ptx_inst *in)
{
    if (!(ptx_ops[in->op].flags & (PTX_LOAD | PTX_ATOMIC)))
        return s->latency[ptx_ops[in->op].latency];
    switch (ptx_inst_space(in)) {
    case PTX_SPACE_SHARED:
        return s->latency[SCHED_LAT_SHARED];
    case PTX_SPACE_LOCAL:
        return s->latency[SCHED_LAT_LOCAL];
    case PTX_SPACE_CONST:
    case PTX_SPACE_PARAM:
        return s->latency[SCHED_LAT_CONST];
    default:
        return s->latency[SCHED_LAT_GLOBAL];
    }
}

/* -- dependences -- */

static void
add_edge(struct sched *s, uint32_t from, uint32_t to, int32_t latency, enum sched_why why)
{
    if (from != to)
        *vec_push(&s->edge) = (struct sched_edge){from, to, latency, (uint8_t)why};
}

static struct sched_use *
use_of(struct sched *s, uint32_t r)
{
    struct sched_use *u = &s->use[r];
    if (!u->seen) {
        *u = (struct sched_use){.readers = -1, .seen = true};
        u->after = r != s->carry && live_has(&s->set, r);
        *vec_push(&s->touched) = r;
    }
    return u;
}

static void
note_read(struct sched *s, uint32_t r)
{
    struct sched_use *u = use_of(s, r);
    if (u->writer)
        add_edge(s, u->writer - 1, s->at, s->node.v[u->writer - 1].latency,
                 SCHED_WHY_REGISTER);
    *vec_push(&s->reader) = (struct sched_reader){s->at, u->readers};
    u->readers = (int32_t)s->reader.n - 1;
    u->total++;
}

static void
note_write(struct sched *s, uint32_t r)
{
    struct sched_use *u = use_of(s, r);
    for (int32_t k = u->readers; k >= 0; k = s->reader.v[k].next)
        add_edge(s, s->reader.v[k].node, s->at, 1, SCHED_WHY_REGISTER);
    if (u->writer)
        add_edge(s, u->writer - 1, s->at, s->node.v[u->writer - 1].latency,
                 SCHED_WHY_REGISTER);
    u->writer = s->at + 1;
    u->readers = -1;
}

/* A guarded write keeps the old value in some lanes: it reads it too. */
static void
note_sources(void *user, int32_t r, bool write, bool partial)
{
    if (!write || partial)
        note_read(user, (uint32_t)r);
}

static void
note_dests(void *user, int32_t r, bool write, bool partial)
{
    (void)partial;
    if (write)
        note_write(user, (uint32_t)r);
}

static const struct ptx_operand *
address_of(const struct ptx_inst *in)
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

/* May the two touch the same bytes? */
static bool
may_overlap(const struct sched *s, const struct sched_node *x, const struct sched_node *y)
{
    const struct ptx_inst *a = &s->f->body.v[x->inst], *b = &s->f->body.v[y->inst];
    enum ptx_space sa = ptx_inst_space(a), sb = ptx_inst_space(b);
    if (sa && sb && sa != sb)
        return false;
    if ((a->op != PTX_OP_LD && a->op != PTX_OP_ST) ||
        (b->op != PTX_OP_LD && b->op != PTX_OP_ST))
        return true;
    const struct ptx_operand *p = address_of(a), *q = address_of(b);
    if (!p || !q)
        return true;
    if (p->reg < 0 && q->reg < 0 && p->var && q->var && p->var != q->var)
        return p->var->dynamic && q->var->dynamic; /* extern arrays are one storage */
    if (p->reg != q->reg || p->var != q->var || x->base_at != y->base_at)
        return true;
    return p->off < q->off + bytes_of(b) && q->off < p->off + bytes_of(a);
}

static void
note_access(struct sched *s, struct sched_node *n)
{
    enum sched_order o = n->order;
    if (o == SCHED_FREE)
        return;
    if (s->loads.n + s->stores.n >= MOST_PENDING)
        o = SCHED_ACCESS;
    if (s->fence)
        add_edge(s, s->fence - 1, s->at, 1, SCHED_WHY_FENCE);
    for (size_t i = 0; i < s->stores.n; i++)
        if (o == SCHED_ACCESS || may_overlap(s, n, &s->node.v[s->stores.v[i]]))
            add_edge(s, s->stores.v[i], s->at, 1, SCHED_WHY_MEMORY);
    for (size_t i = 0; i < s->loads.n && o != SCHED_LOAD; i++)
        if (o == SCHED_ACCESS || may_overlap(s, n, &s->node.v[s->loads.v[i]]))
            add_edge(s, s->loads.v[i], s->at, 1, SCHED_WHY_MEMORY);
    if (o == SCHED_ACCESS) {
        s->fence = s->at + 1;
        s->loads.n = s->stores.n = 0;
    } else if (o == SCHED_LOAD) {
        *vec_push(&s->loads) = s->at;
    } else {
        *vec_push(&s->stores) = s->at;
    }
}

void
schedule_add(struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    s->at = (uint32_t)s->node.n;
    struct sched_node *n = vec_push(&s->node);
    n->inst = i;
    n->order = (uint8_t)schedule_order_of(s->f, in);
    n->operand = in->nops && in->ops[0].kind == PTX_OPD_REG &&
                 s->operand[in->ops[0].reg] && defuse_is_dest(in, 0);
    n->between = s->expanded ? (uint8_t)ptx_machine_registers(in) : 0;
    n->latency = n->operand ? 0 : latency_of(s, in);
    const struct ptx_operand *p = address_of(in);
    if (p && p->reg >= 0)
        n->base_at = use_of(s, (uint32_t)p->reg)->writer;
    note_access(s, n);
    defuse_each(in, note_sources, s);
    if (ptx_ops[in->op].flags & PTX_CCIN)
        note_read(s, s->carry);
    defuse_each(in, note_dests, s);
    if (in->mod[PTX_MG_CC])
        note_write(s, s->carry);
}

uint32_t
schedule_edges_end(const struct sched *s, uint32_t i)
{
    return i + 1 < s->node.n ? s->node.v[i + 1].first : (uint32_t)s->succ.n;
}

void
schedule_finish_graph(struct sched *s)
{
    uint32_t n = (uint32_t)s->node.n;
    for (size_t e = 0; e < s->edge.n; e++)
        s->node.v[s->edge.v[e].from].first++;
    for (uint32_t i = 0, sum = 0; i < n; i++) {
        sum += s->node.v[i].first;
        s->node.v[i].first = sum; /* its end, for now */
    }
    vec_reserve(&s->succ, s->edge.n + 1);
    s->succ.n = s->edge.n;
    for (size_t e = s->edge.n; e-- > 0;)
        s->succ.v[--s->node.v[s->edge.v[e].from].first] = s->edge.v[e];
    for (uint32_t i = n; i-- > 0;) {
        struct sched_node *x = &s->node.v[i];
        uint32_t end = schedule_edges_end(s, i);
        x->height = x->latency;
        for (uint32_t e = x->first; e < end; e++) {
            int64_t h = s->node.v[s->succ.v[e].to].height + s->succ.v[e].latency;
            x->height = h > x->height ? h : x->height;
        }
    }
}
