/* register_graph.c: interference and colouring.
 *
 * Two registers of one file interfere if one is written while the other is live, unless
 * that write copies the other (Chaitin). Registers of a vector operand form a group that
 * is coloured at the same time: consecutive units, aligned to the vector's size, as the hardware's
 * wide accesses want; a 64-bit register is a group of two units, aligned to two.
 *
 * A group takes the lowest place that suits all its members. Which order needs fewest
 * units is not known beforehand, so several are tried: the order of the text (optimal
 * for straight SSA code without pairs), smallest degree last, the same with wide groups
 * first, and from each result again by its own colours (Culberson's iterated greedy, which
 * for single registers never gets worse), until MAXLIVE is reached, or what is enough for the
 * caller, or a budget of work is spent. Registers that are copies of each other then get the
 * same place wherever that costs nothing. Cost: O(edges) a try. */
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/register_check.h"
#include "analysis/defuse.h"
#include "base/bitset.h"
#include "base/pqueue.h"

enum { WORK = 60 * 1000 * 1000, ROUNDS = 400, ROUNDS_RESUMED = 128 };

/* -- bodies -- */

void
ra_emit(struct ra_body *b, struct ptx_inst in, int32_t origin)
{
    *vec_push(&b->inst) = in;
    *vec_push(&b->origin) = origin;
}

int32_t
ra_beside(int32_t origin, bool after)
{
    return origin < 0 ? origin : register_check_inserted(origin + after);
}

void
ra_emit_copy(struct ra_body *b, int32_t dst, int32_t src, const struct ptx_inst *like,
             int32_t origin)
{
    struct ptx_func *f = b->a->f;
    unsigned bytes = ptx_type_bytes(f->regs.v[dst].type);
    struct ptx_inst mov = ptx_inst_new(f->module, PTX_OP_MOV, 2);
    mov.ntypes = 1;
    mov.type[0] = (uint8_t)(bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : PTX_B16);
    mov.line = like->line;
    mov.col = like->col;
    mov.ops[0].kind = mov.ops[1].kind = PTX_OPD_REG;
    mov.ops[0].reg = dst;
    mov.ops[1].reg = src;
    ra_emit(b, mov, origin);
}

void
ra_body_end(struct ra_body *b)
{
    struct ptx_func *f = b->a->f;
    vec_take(&f->body, &b->inst);
    vec_take(&b->a->origin, &b->origin);
}

int32_t
ra_temporary(struct ra *a, enum ptx_type type, bool spill)
{
    int32_t r = ptx_reg_new(a->f, type);
    while (a->temporary.n < a->f->regs.n)
        *vec_push(&a->temporary) = 0;
    a->temporary.v[r] = spill;
    return r;
}

int32_t
ra_copied(const struct ptx_func *f, const struct ptx_inst *in)
{
    if ((in->op != PTX_OP_MOV && in->op != PTX_OP_MOVP) || in->guard >= 0 ||
        in->nops != 2 || in->ops[0].kind != PTX_OPD_REG ||
        in->ops[1].kind != PTX_OPD_REG || in->ops[0].comp || in->ops[1].comp ||
        in->ops[1].neg)
        return RA_NONE;
    unsigned w = ptx_type_bytes(in->type[0]);
    const struct ptx_reg *d = &f->regs.v[in->ops[0].reg], *s = &f->regs.v[in->ops[1].reg];
    bool same = ptx_type_bytes(d->type) == w && ptx_type_bytes(s->type) == w &&
                (d->type == PTX_PRED) == (s->type == PTX_PRED);
    return same ? in->ops[1].reg : RA_NONE;
}

/* -- vector operands -- */

/* Operand of a vector load or store whose elements must lie side by side. Narrow elements
 * travel in one register and are unpacked by the hardware: no constraint. */
struct ptx_operand *
ra_wide_list(const struct ptx_inst *in)
{
    if (in->op != PTX_OP_LD && in->op != PTX_OP_LDU && in->op != PTX_OP_ST)
        return NULL;
    struct ptx_operand *o = &in->ops[in->op == PTX_OP_ST ? 1 : 0];
    return o->kind == PTX_OPD_VEC && o->n > 1 && o->n <= RA_MAX_GROUP &&
                   ptx_type_bytes(in->type[0]) >= 4
               ? o
               : NULL;
}

/* The groups found so far while instructions are walked in order. */
struct grouping {
    const struct ptx_func *f;
    VEC(struct ra_group) group;
    VEC(int32_t) of; /* group of each register, RA_NONE */
};

static void
grouping_grow(struct grouping *q)
{
    while (q->of.n < q->f->regs.n)
        *vec_push(&q->of) = RA_NONE;
}

/* Binds the registers of a vector operand to a group; false: some are bound otherwise. */
static bool
bind(struct grouping *q, const struct ptx_operand *list)
{
    struct ra_group g = {.n = (uint8_t)list->n};
    unsigned width = 0, bound = 0, regs = 0;
    int32_t old = RA_NONE;
    for (unsigned i = 0; i < list->n; i++) {
        g.reg[i] = list->vec[i].kind == PTX_OPD_REG ? list->vec[i].reg : RA_NONE;
        if (g.reg[i] == RA_NONE)
            continue;
        width = ra_units(q->f, g.reg[i]);
        regs++;
        if (q->of.v[g.reg[i]] != RA_NONE) {
            bound++;
            old = q->of.v[g.reg[i]];
        }
        for (unsigned k = 0; k < i; k++)
            if (g.reg[k] == g.reg[i])
                return false;
    }
    if (!regs)
        return true;
    for (unsigned i = 0; i < g.n; i++)
        g.off[i] = (uint8_t)(i * width);
    g.units = g.align = (uint8_t)(g.n * width);
    if (bound) { /* the same list again is as good as a new one */
        const struct ra_group *o = &q->group.v[old];
        return bound == regs && o->n == g.n &&
               !memcmp(o->reg, g.reg, sizeof g.reg[0] * g.n);
    }
    for (unsigned i = 0; i < g.n; i++)
        if (g.reg[i] != RA_NONE)
            q->of.v[g.reg[i]] = (int32_t)q->group.n;
    *vec_push(&q->group) = g;
    return true;
}

/* A copy of the instruction whose vector operand has registers of its own. */
static void
emit_split(struct ra_body *b, struct grouping *q, const struct ptx_inst *in,
           int32_t origin)
{
    struct ptx_func *f = b->a->f;
    struct ptx_inst copy = *in;
    copy.ops = ptx_operands_dup(f->module, in->ops, in->nops);
    struct ptx_operand *list = ra_wide_list(&copy);
    const struct ptx_operand *was = ra_wide_list(in);
    for (unsigned i = 0; i < list->n; i++) {
        if (list->vec[i].kind != PTX_OPD_REG)
            continue;
        int32_t v = list->vec[i].reg;
        int32_t t = ra_temporary(b->a, f->regs.v[v].type, true);
        list->vec[i].reg = t;
        if (in->op == PTX_OP_ST)
            ra_emit_copy(b, t, v, in, ra_beside(origin, false));
        else if (ptx_keeps_old(in)) /* lanes that do not load keep what they have */
            ra_emit_copy(b, t, v, in, ra_beside(origin, false));
    }
    grouping_grow(q);
    bind(q, list);
    ra_emit(b, copy, origin);
    for (unsigned i = 0; in->op != PTX_OP_ST && i < list->n; i++)
        if (list->vec[i].kind == PTX_OPD_REG)
            ra_emit_copy(b, was->vec[i].reg, list->vec[i].reg, in,
                         ra_beside(origin, true));
}

void
ra_split_vectors(struct ra *a)
{
    struct ptx_func *f = a->f;
    struct grouping q = {.f = f};
    struct ra_body b = {.a = a};
    grouping_grow(&q);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        const struct ptx_operand *list = ra_wide_list(in);
        if (list && !bind(&q, list))
            emit_split(&b, &q, in, a->origin.v[i]);
        else
            ra_emit(&b, *in, a->origin.v[i]);
    }
    ra_body_end(&b);
    vec_free(&q.group);
    vec_free(&q.of);
}

/* -- loops -- */

uint32_t *
ra_block_weights(const struct cfg *g, struct arena *mem)
{
    uint32_t *weight = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    uint32_t *body = ARENA_ARRAY(mem, uint32_t, g->n + 1); /* of a loop */
    uint32_t *in = ARENA_ARRAY(mem, uint32_t, g->n + 1);   /* head of that loop + 1 */
    for (uint32_t b = 0; b < g->n; b++)
        weight[b] = 1;
    for (uint32_t head = 0; head < g->n; head++) {
        uint32_t n = 1;
        bool self = false;
        body[0] = head;
        in[head] = head + 1;
        for (uint32_t i = 0; i < g->block[head].npred; i++) {
            uint32_t p = (uint32_t)g->block[head].pred[i];
            self |= p == head;
            if (g->block[p].rpo >= 0 && cfg_dominates(g, (int32_t)head, (int32_t)p) &&
                in[p] != head + 1) {
                in[p] = head + 1;
                body[n++] = p;
            }
        }
        if (n == 1 && !self)
            continue;
        for (uint32_t k = 1; k < n; k++)
            for (uint32_t i = 0; i < g->block[body[k]].npred; i++) {
                uint32_t p = (uint32_t)g->block[body[k]].pred[i];
                if (in[p] != head + 1) {
                    in[p] = head + 1;
                    body[n++] = p;
                }
            }
        for (uint32_t k = 0; k < n; k++)
            if (weight[body[k]] < 10000)
                weight[body[k]] *= 10;
    }
    return weight;
}

/* -- interference -- */

enum { MAX_DEFS = 64 };

/* The neighbours are found twice by the same walk: first they are counted, then noted. */
struct build {
    const struct ptx_func *f;
    struct ra_graph *g;
    bool *pred; /* of each register: it is a predicate */
    bool count;
    struct live_set now;
    int32_t def[MAX_DEFS];
    unsigned ndefs;
};

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct build *b = user;
    (void)partial;
    b->g->units[reg] = (uint8_t)ra_units(b->f, reg);
    if (write && b->ndefs < MAX_DEFS)
        b->def[b->ndefs++] = reg;
}

static void
edge(struct build *b, uint32_t x, uint32_t y)
{
    struct ra_graph *g = b->g;
    if (x == y || b->pred[x] != b->pred[y])
        return;
    if (!b->count) {
        g->adj[x][g->nadj[x]] = y;
        g->adj[y][g->nadj[y]] = x;
    }
    g->nadj[x]++;
    g->nadj[y]++;
}

static void
build_inst(struct build *b, const struct ptx_inst *in)
{
    b->ndefs = 0;
    defuse_each(in, note, b);
    int32_t source = ra_copied(b->f, in);
    for (unsigned k = 0; k < b->ndefs; k++) {
        for (uint32_t i = 0; i < b->now.n; i++)
            if ((int32_t)b->now.reg[i] != source)
                edge(b, (uint32_t)b->def[k], b->now.reg[i]);
        for (unsigned j = 0; j < k; j++)
            edge(b, (uint32_t)b->def[k], (uint32_t)b->def[j]);
    }
    live_step_back(in, &b->now);
}

static void
build_all(struct build *b, const struct live *l)
{
    for (uint32_t k = 0; k < l->cfg->n; k++) {
        live_set_end(l, k, &b->now);
        for (uint32_t i = l->cfg->block[k].end; i-- > l->cfg->block[k].first;)
            build_inst(b, &b->f->body.v[i]);
    }
}

/* A register that is written in several places was noted as often: once is enough. */
static void
drop_duplicates(struct ra_graph *g, uint32_t *seen)
{
    for (uint32_t r = 0; r < g->n; r++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < g->nadj[r]; k++) {
            uint32_t y = g->adj[r][k];
            if (seen[y] == r + 1)
                continue;
            seen[y] = r + 1;
            g->adj[r][n++] = y;
        }
        g->nadj[r] = n;
    }
}

/* Rows that are looked at in one go; registers of a row. */
enum { GATHER = 8, FOUR = 4 };

static void
note_row(void *user, int32_t r, bool write, bool partial)
{
    struct build *b = user;
    (void)write;
    (void)partial;
    if (!b->g->near[r].row && !b->pred[r])
        b->g->near[r].row = b->g->nrows++;
}

static uint32_t
row_of_four(const struct ra_graph *g, uint32_t row)
{
    return g->fours + row / FOUR;
}

/* in_four: zeros; rows: room for all. */
static void
make_near(struct ra_graph *g, uint32_t r, uint8_t *in_four, uint32_t *rows)
{
    struct ra_near *x = &g->near[r];
    const uint32_t *adj = g->adj[r];
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->nadj[r]; k++)
        in_four[g->near[adj[k]].row / FOUR]++;
    for (uint32_t k = 0; k < g->nadj[r]; k++) {
        const uint32_t row = g->near[adj[k]].row;
        if (in_four[row / FOUR] < FOUR)
            rows[n++] = row;
        else if (row % FOUR == 0)
            rows[n++] = row_of_four(g, row);
    }
    for (uint32_t k = 0; k < g->nadj[r]; k++)
        in_four[g->near[adj[k]].row / FOUR] = 0;
    x->nrows = n;
    x->rows = ARENA_ARRAY(&g->mem, uint32_t, (n + GATHER - 1) / GATHER * GATHER);
    memcpy(x->rows, rows, n * sizeof *rows);
}

static void
make_rows(struct build *b, struct arena *mem)
{
    struct ra_graph *g = b->g;
    g->near = ARENA_ARRAY(&g->mem, struct ra_near, g->n + 1);
    g->nrows = 1;
    for (size_t i = 0; i < b->f->body.n; i++)
        defuse_each(&b->f->body.v[i], note_row, b);
    const uint32_t fours = (g->nrows + FOUR - 1) / FOUR;
    g->fours = fours * FOUR;
    g->nrows = g->fours + fours;
    uint8_t *in_four = ARENA_ARRAY(mem, uint8_t, fours);
    uint32_t *rows = ARENA_ARRAY(mem, uint32_t, g->nrows);
    for (uint32_t r = 0; r < g->n; r++)
        if (g->near[r].row)
            make_near(g, r, in_four, rows);
}

static void
make_groups(struct ra_graph *g, const struct ptx_func *f)
{
    struct grouping q = {.f = f};
    grouping_grow(&q);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_operand *list = ra_wide_list(&f->body.v[i]);
        if (list)
            bind(&q, list);
    }
    for (uint32_t r = 0; r < g->n; r++) {
        if (!g->units[r] || q.of.v[r] != RA_NONE)
            continue;
        uint8_t u = (uint8_t)ra_units(f, (int32_t)r);
        bool pred = f->regs.v[r].type == PTX_PRED;
        q.of.v[r] = (int32_t)q.group.n;
        *vec_push(&q.group) = (struct ra_group){
            .reg = {(int32_t)r}, .n = 1, .units = u, .align = u, .pred = pred};
    }
    g->ngroups = (uint32_t)q.group.n;
    g->group = arena_dup(&g->mem, q.group.v, sizeof *g->group * q.group.n);
    g->group_of = arena_dup(&g->mem, q.of.v, sizeof *g->group_of * q.of.n);
    vec_free(&q.group);
    vec_free(&q.of);
}

struct ra_graph *
ra_graph_new(const struct ra *a, const struct live *l)
{
    const struct ptx_func *f = a->f;
    struct ra_graph *g = xcalloc(1, sizeof *g);
    struct arena tmp = {0};
    g->n = (uint32_t)f->regs.n;
    g->units = ARENA_ARRAY(&g->mem, uint8_t, g->n + 1);
    g->adj = ARENA_ARRAY(&g->mem, uint32_t *, g->n + 1);
    g->nadj = ARENA_ARRAY(&g->mem, uint32_t, g->n + 1);
    g->colour = ARENA_ARRAY(&g->mem, int32_t, g->n + 1);
    struct build b = {.f = f, .g = g, .count = true};
    b.pred = ARENA_ARRAY(&tmp, bool, g->n + 1);
    b.now = live_set_new(&tmp, g->n);
    for (uint32_t r = 0; r < g->n; r++)
        b.pred[r] = f->regs.v[r].type == PTX_PRED;
    uint32_t *weight = ra_block_weights(l->cfg, &tmp);
    for (uint32_t k = 0; k < l->cfg->n; k++)
        for (uint32_t i = l->cfg->block[k].end; i-- > l->cfg->block[k].first;) {
            int32_t s = ra_copied(f, &f->body.v[i]);
            if (s != RA_NONE)
                *vec_push(&g->copies) =
                    (struct ra_copy){f->body.v[i].ops[0].reg, s, weight[k]};
        }
    build_all(&b, l);
    for (uint32_t r = 0; r < g->n; r++) {
        g->adj[r] = ARENA_ARRAY(&g->mem, uint32_t, g->nadj[r] + 1);
        g->nadj[r] = 0;
    }
    b.count = false;
    build_all(&b, l);
    drop_duplicates(g, ARENA_ARRAY(&tmp, uint32_t, g->n + 1));
    make_rows(&b, &tmp);
    make_groups(g, f);
    live_max(l, &g->live_units, &g->live_preds);
    arena_free(&tmp);
    return g;
}

void
ra_graph_free(struct ra_graph *g)
{
    if (!g)
        return;
    vec_free(&g->copies);
    arena_free(&g->mem);
    free(g);
}

/* -- colouring -- */

enum { WORD = 64, MOST_WORDS = RA_MAX_UNITS / WORD };

/* Where the group at hand cannot begin is a bit of each unit, a byte of each predicate: there
 * are tens of units, but hundreds of predicates at times. */
struct paint {
    const struct ra_graph *g;
    struct arena *mem;
    unsigned words;                    /* of a set of units; none lies after them */
    uint64_t *units;                   /* [word][row]: the units that a register takes */
    uint64_t taken[MOST_WORDS];        /* units */
    bool taken_pred[RA_MAX_UNITS + 1]; /* predicate + 1; 0 stands for no colour */
    uint32_t preds;                    /* given out so far */
    uint32_t **friends; /* of each register: those it is a copy of; NULL: no bias */
    uint32_t *nfriends;
    uint32_t limit[2];            /* with bias: units, predicates to stay within */
    const struct ra_banks *banks; /* NULL: places do not matter */
    uint32_t cost[RA_MAX_UNITS];  /* of each place for the group at hand */
};

/* Room for `units` units. */
static void
widen(struct paint *p, uint32_t units)
{
    const uint32_t words = (units + WORD - 1) / WORD;
    p->words = words < MOST_WORDS ? words : MOST_WORDS;
    p->units = ARENA_ARRAY(p->mem, uint64_t, p->words * (size_t)p->g->nrows);
}

static struct paint *
paint_new(const struct ra_graph *g, uint32_t units, struct arena *mem)
{
    struct paint *p = ARENA_NEW(mem, struct paint);
    p->g = g;
    p->mem = mem;
    widen(p, units ? units : 1);
    return p;
}

/* Register r, which has no place, is at c. */
static void
put_register(struct paint *p, int32_t r, uint32_t c)
{
    const struct ra_graph *g = p->g;
    const uint32_t row = g->near[r].row;
    if (!row) {
        p->preds = c + 1 > p->preds ? c + 1 : p->preds;
        return;
    }
    const uint64_t set = (((uint64_t)1 << g->units[r]) - 1) << c % WORD;
    uint64_t *units = p->units + c / WORD * (size_t)g->nrows;
    units[row] = set;
    units[row_of_four(g, row)] |= set;
}

/* ... has no place any more. */
static void
lift_register(struct paint *p, int32_t r)
{
    const uint32_t row = p->g->near[r].row, first = row / FOUR * FOUR;
    for (unsigned w = 0; row && w < p->words; w++) {
        uint64_t *units = p->units + w * (size_t)p->g->nrows;
        units[row] = 0;
        units[row_of_four(p->g, row)] =
            units[first] | units[first + 1] | units[first + 2] | units[first + 3];
    }
}

/* colour: of each register; NULL: none has one. */
static void
put_all(struct paint *p, const int32_t *colour)
{
    memset(p->units, 0, p->words * (size_t)p->g->nrows * sizeof *p->units);
    memset(p->taken_pred, 0, sizeof p->taken_pred);
    p->preds = 0;
    for (uint32_t r = 0; colour && r < p->g->n; r++)
        if (colour[r] >= 0)
            put_register(p, (int32_t)r, (uint32_t)colour[r]);
}

/* 64 units of all neighbours of r. Most of the time of colouring goes here. */
static inline uint64_t
gather(const struct paint *p, int32_t r, unsigned word)
{
    const uint32_t *k = p->g->near[r].rows, *end = k + p->g->near[r].nrows;
    const uint64_t *units = p->units + word * (size_t)p->g->nrows;
    uint64_t all = 0;
    for (; k < end; k += GATHER)
        all |= units[k[0]] | units[k[1]] | units[k[2]] | units[k[3]] | units[k[4]] |
               units[k[5]] | units[k[6]] | units[k[7]];
    return all;
}

static void
forbid_pred(struct paint *p, int32_t r, const int32_t *colour)
{
    const uint32_t *k = p->g->adj[r], *end = k + p->g->nadj[r];
    memset(p->taken_pred, 0, (size_t)p->preds + 1);
    for (; end - k >= 4; k += 4) {
        p->taken_pred[colour[k[0]] + 1] = true;
        p->taken_pred[colour[k[1]] + 1] = true;
        p->taken_pred[colour[k[2]] + 1] = true;
        p->taken_pred[colour[k[3]] + 1] = true;
    }
    for (; k < end; k++)
        p->taken_pred[colour[*k] + 1] = true;
}

/* Of 64 units those where group q cannot begin. It begins at a multiple of its size, so none of
 * its registers lies in another word than its begin. */
static uint64_t
forbid_units(const struct paint *p, const struct ra_group *q, unsigned word)
{
    uint64_t taken = 0;
    for (unsigned m = 0; m < q->n; m++) {
        if (q->reg[m] == RA_NONE)
            continue;
        const uint64_t units = gather(p, q->reg[m], word);
        for (unsigned s = q->off[m]; s < q->off[m] + p->g->units[q->reg[m]]; s++)
            taken |= units >> s;
    }
    return taken;
}

/* Marks the places where group q cannot begin. */
static void
forbid(struct paint *p, const struct ra_group *q, const int32_t *colour)
{
    if (q->pred)
        forbid_pred(p, q->reg[0], colour);
    else
        for (unsigned w = 0; w < p->words; w++)
            p->taken[w] = forbid_units(p, q, w);
}

/* After forbid. */
static bool
is_free(const struct paint *p, const struct ra_group *q, int32_t c)
{
    return q->pred ? !p->taken_pred[c + 1] : !bitset_has(p->taken, (size_t)c);
}

/* The first place where group q can begin; RA_NONE: there is none. */
static int32_t
lowest(struct paint *p, const struct ra_group *q, const int32_t *colour)
{
    if (q->pred) {
        forbid_pred(p, q->reg[0], colour);
        const bool *free = memchr(p->taken_pred + 1, false, RA_MAX_UNITS);
        return free ? (int32_t)(free - p->taken_pred) - 1 : RA_NONE;
    }
    const uint64_t all = UINT64_MAX; /* no division for most groups: it takes long */
    const uint64_t aligned = q->align == 1 ? all : all / (((uint64_t)1 << q->align) - 1);
    for (unsigned w = 0; w < p->words; w++) {
        const uint64_t free = ~forbid_units(p, q, w) & aligned;
        if (free)
            return (int32_t)(w * WORD) + bit_lowest(free);
    }
    return RA_NONE;
}

/* Where a friend of the group is, if the group can be there too. */
static int32_t
beside_friend(const struct paint *p, const struct ra_group *q, const int32_t *colour)
{
    uint32_t limit = p->limit[q->pred];
    for (unsigned m = 0; m < q->n; m++) {
        if (q->reg[m] == RA_NONE)
            continue;
        for (uint32_t k = 0; k < p->nfriends[q->reg[m]]; k++) {
            int32_t c = colour[p->friends[q->reg[m]][k]] - q->off[m];
            if (c >= 0 && c % q->align == 0 && c + q->units <= (int32_t)limit &&
                is_free(p, q, c))
                return c;
        }
    }
    return RA_NONE;
}

/* Adds to p->cost what it costs that group q begins at each place. */
static void
note_costs(struct paint *p, const struct ra_group *q, const int32_t *colour)
{
    const struct ra_banks *b = p->banks;
    const int32_t end = (int32_t)p->limit[0];
    memset(p->cost, 0, (size_t)end * sizeof *p->cost);
    for (unsigned m = 0; m < q->n; m++) {
        int32_t r = q->reg[m];
        if (r == RA_NONE)
            continue;
        for (uint32_t k = b->bank.first[r]; k < b->bank.first[r + 1]; k++) {
            int32_t other = b->bank.with[k].other, at = colour[other];
            if (p->g->units[other] % b->n == 0) /* aligned: wherever it is */
                at = 0;
            for (int32_t c = 0; at >= 0 && c < end; c++)
                if ((unsigned)(c + q->off[m]) % b->n == (unsigned)at % b->n)
                    p->cost[c] += b->bank.with[k].weight;
        }
        for (uint32_t k = b->place.first[r]; k < b->place.first[r + 1]; k++) {
            int32_t at = colour[b->place.with[k].other];
            int32_t from = at - q->off[m] - p->g->units[r] + 1;
            int32_t to = at - q->off[m] + p->g->units[b->place.with[k].other];
            for (int32_t c = from < 0 ? 0 : from; at >= 0 && c < to && c < end; c++)
                p->cost[c] += b->place.with[k].weight;
        }
    }
}

/* The first of the places that cost least. */
static int32_t
cheapest(struct paint *p, const struct ra_group *q, const int32_t *colour)
{
    int32_t best = RA_NONE;
    if (q->pred)
        return best;
    note_costs(p, q, colour);
    for (int32_t c = 0; c + q->units <= (int32_t)p->limit[0]; c += q->align)
        if (is_free(p, q, c) && (best == RA_NONE || p->cost[c] < p->cost[best]))
            best = c;
    return best;
}

static void
put(struct paint *p, const struct ra_group *q, int32_t c, int32_t *colour)
{
    for (unsigned m = 0; m < q->n; m++)
        if (q->reg[m] != RA_NONE) {
            colour[q->reg[m]] = c + q->off[m];
            put_register(p, q->reg[m], (uint32_t)c + q->off[m]);
        }
}

static bool
is_worse(const uint32_t used[2], const uint32_t best[2])
{
    return used[0] > best[0] || (used[0] == best[0] && used[1] > best[1]);
}

/* How a colouring ended. */
enum end { DONE, WORSE, FULL, SMALL /* p->words are */ };

static enum end
paint_within(struct paint *p, const uint32_t *order, int32_t *colour, uint32_t used[2],
             const uint32_t best[2])
{
    const struct ra_graph *g = p->g;
    for (uint32_t r = 0; r < g->n; r++)
        colour[r] = RA_NONE;
    put_all(p, NULL);
    used[0] = used[1] = 0;
    for (uint32_t i = 0; i < g->ngroups; i++) {
        const struct ra_group *q = &g->group[order[i]];
        int32_t c = RA_NONE;
        if (p->friends || p->banks)
            forbid(p, q, colour);
        if (p->friends)
            c = beside_friend(p, q, colour);
        if (c == RA_NONE && p->banks)
            c = cheapest(p, q, colour);
        if (c == RA_NONE)
            c = lowest(p, q, colour);
        if (c == RA_NONE)
            return q->pred ? FULL : SMALL;
        put(p, q, c, colour);
        uint32_t *u = &used[q->pred];
        *u = (uint32_t)c + q->units > *u ? (uint32_t)c + q->units : *u;
        if (is_worse(used, best))
            return WORSE;
    }
    return DONE;
}

/* Colours groups in this order; the units and predicates used, or false if there is no
 * room within RA_MAX_UNITS, or it takes more than `best`: then it ends early, for that can
 * only grow. */
static bool
paint(struct paint *p, const uint32_t *order, int32_t *colour, uint32_t used[2],
      const uint32_t best[2])
{
    enum end end;
    while ((end = paint_within(p, order, colour, used, best)) == SMALL &&
           p->words < MOST_WORDS && p->words * WORD < best[0])
        widen(p, p->words * WORD * 2);
    return end == DONE;
}

struct key {
    uint64_t k;
    uint32_t group;
};

/* Groups by their keys, of equal keys the first first: byte by byte from the last, without
 * those that are the same in all. `key` is in order of groups; it has room for 2n. */
static void
sort_order(struct key *key, uint32_t n, uint32_t *order)
{
    struct key *from = key, *to = key + n;
    uint64_t differ = 0;
    for (uint32_t i = 0; i < n; i++)
        differ |= key[i].k ^ key[0].k;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t at[257] = {0};
        if (!(differ >> shift & 255))
            continue;
        for (uint32_t i = 0; i < n; i++)
            at[(from[i].k >> shift & 255) + 1]++;
        for (unsigned d = 0; d < 256; d++)
            at[d + 1] += at[d];
        for (uint32_t i = 0; i < n; i++)
            to[at[from[i].k >> shift & 255]++] = from[i];
        struct key *t = from;
        from = to;
        to = t;
    }
    for (uint32_t i = 0; i < n; i++)
        order[i] = from[i].group;
}

/* Place in the smallest-last order of each group: the one with the least weight of
 * uncoloured neighbours is taken out again and again, and coloured last. */
static void
smallest_last(const struct ra_graph *g, uint64_t *place, struct arena *mem)
{
    struct pqueue left = pqueue_new(mem, g->ngroups);
    for (uint32_t q = 0; q < g->ngroups; q++) {
        for (unsigned m = 0; m < g->group[q].n; m++)
            for (uint32_t k = 0, r = (uint32_t)g->group[q].reg[m];
                 (int32_t)r != RA_NONE && k < g->nadj[r]; k++)
                left.key[q] += g->units[g->adj[r][k]];
        pqueue_add(&left, q);
    }
    while (left.n) {
        uint32_t n = left.n, best = pqueue_take(&left);
        place[best] = n;
        for (unsigned m = 0; m < g->group[best].n; m++) {
            int32_t r = g->group[best].reg[m];
            for (uint32_t k = 0; r != RA_NONE && k < g->nadj[r]; k++) {
                uint32_t q = (uint32_t)g->group_of[g->adj[r][k]];
                if (left.at[q] == PQUEUE_OUT)
                    continue;
                left.key[q] -= g->units[r];
                pqueue_up(&left, q);
            }
        }
    }
}

static void
befriend(struct paint *p, struct arena *mem)
{
    const struct ra_graph *g = p->g;
    p->nfriends = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    p->friends = ARENA_ARRAY(mem, uint32_t *, g->n + 1);
    for (size_t i = 0; i < g->copies.n; i++) {
        p->nfriends[g->copies.v[i].a]++;
        p->nfriends[g->copies.v[i].b]++;
    }
    for (uint32_t r = 0; r < g->n; r++) {
        p->friends[r] = ARENA_ARRAY(mem, uint32_t, p->nfriends[r] + 1);
        p->nfriends[r] = 0;
    }
    for (uint32_t heavy = 10000; heavy; heavy /= 10) /* those in loops first */
        for (size_t i = 0; i < g->copies.n; i++) {
            const struct ra_copy *c = &g->copies.v[i];
            if (c->weight != heavy)
                continue;
            p->friends[c->a][p->nfriends[c->a]++] = (uint32_t)c->b;
            p->friends[c->b][p->nfriends[c->b]++] = (uint32_t)c->a;
        }
}

/* Moves groups to where their friends are, one by one, as long as that is free. */
static void
move_to_friends(struct paint *p, int32_t *colour)
{
    put_all(p, colour);
    for (int round = 0; round < 4; round++)
        for (uint32_t i = 0; i < p->g->ngroups; i++) {
            const struct ra_group *q = &p->g->group[i];
            bool together = true;
            for (unsigned m = 0; m < q->n; m++)
                for (uint32_t k = 0; q->reg[m] != RA_NONE && k < p->nfriends[q->reg[m]];
                     k++)
                    together &= colour[p->friends[q->reg[m]][k]] == colour[q->reg[m]];
            if (together)
                continue;
            forbid(p, q, colour);
            int32_t c = beside_friend(p, q, colour);
            if (c == RA_NONE)
                continue;
            for (unsigned m = 0; m < q->n; m++)
                if (q->reg[m] != RA_NONE)
                    lift_register(p, q->reg[m]);
            put(p, q, c, colour);
        }
}

/* The colour of its first unit. */
static int32_t
place_of(const struct ra_graph *g, const struct ra_group *q)
{
    unsigned m = 0;
    while (q->reg[m] == RA_NONE)
        m++;
    return g->colour[q->reg[m]] - q->off[m];
}

static void
start_search(struct ra_graph *g)
{
    g->search.random = 1;
    g->search.order = ARENA_ARRAY(&g->mem, uint32_t, g->ngroups + 1);
    g->search.colour = ARENA_ARRAY(&g->mem, int32_t, g->n + 1);
    g->search.best[0] = g->search.best[1] = UINT32_MAX;
}

static uint64_t
next_random(struct ra_graph *g)
{
    g->search.random = g->search.random * 6364136223846793005u + 1442695040888963407u;
    return g->search.random;
}

bool
ra_colour(struct ra_graph *g, const struct ptx_func *f, uint32_t limit, uint32_t enough)
{
    struct arena mem = {0};
    const bool again = g->search.rounds > 0;
    if (!again)
        start_search(g);
    struct paint *p = paint_new(g, again ? g->nunits : g->live_units, &mem);
    uint32_t n = g->ngroups, used[2], *best = g->search.best;
    uint32_t *order = ARENA_ARRAY(&mem, uint32_t, n + 1);
    uint32_t *best_order = g->search.order;
    int32_t *colour = ARENA_ARRAY(&mem, int32_t, g->n + 1);
    struct key *key = ARENA_ARRAY(&mem, struct key, 2 * n + 1);
    uint64_t *last = ARENA_ARRAY(&mem, uint64_t, n + 1);
    uint64_t *first = ARENA_ARRAY(&mem, uint64_t, n + 1);
    uint64_t edges = 0;
    smallest_last(g, last, &mem);
    for (uint32_t q = 0; q < n; q++)
        first[q] = q; /* make_groups: vectors, then registers in order of number */
    for (uint32_t r = 0; r < g->n; r++)
        edges += g->nadj[r];
    bool least = false;
    memcpy(g->colour, g->search.colour, sizeof *g->colour * g->n);
    /* Where more is live than may be used, only copies could help: no hard trying. Nor much again
     * where a colouring is known that would do. */
    const int rounds = g->live_units > limit ? 4 : again ? ROUNDS_RESUMED : ROUNDS;
    while (g->search.rounds < rounds && edges * (uint64_t)g->search.rounds < WORK) {
        const int round = g->search.rounds++;
        const int kind = round < 4 ? round : 4 + round % 5;
        for (uint32_t q = 0; q < n; q++) {
            const struct ra_group *s = &g->group[q];
            const int32_t c = kind > 3 ? place_of(g, s) : 0;
            uint64_t wide = 255u - s->units, up = (uint64_t)c, down = RA_MAX_UNITS - up;
            const uint64_t random = next_random(g);
            uint64_t any = random >> 40;
            uint64_t a = 0, b = 0; /* of 32 bits */
            switch (kind) {
            case 0:
                a = last[q];
                break;
            case 1:
                a = wide, b = last[q];
                break;
            case 2:
                a = first[q];
                break;
            case 3:
                a = wide, b = first[q];
                break;
            case 4: /* the best so far again, its last colours first */
                a = down, b = wide;
                break;
            case 5:
                a = wide, b = down;
                break;
            case 6:
                a = (up / 4) * 0x9e3779b97f4a7c15u >> 32 ^ random % 7, b = wide;
                break;
            case 7: /* places of wide groups kept, some of the rest mixed */
                a = wide, b = any % 8 ? up : any;
                break;
            default:
                a = any % 16 ? down : 0, b = any;
                break;
            }
            key[q] = (struct key){a << 32 | b, q};
        }
        sort_order(key, n, order);
        if (paint(p, order, colour, used, best)) {
            memcpy(best, used, sizeof used);
            memcpy(g->colour, colour, sizeof *colour * g->n);
            memcpy(best_order, order, sizeof *order * n);
        }
        least = best[0] <= g->live_units && best[1] <= g->live_preds;
        if (round >= 3 && (least || best[0] <= enough))
            break;
    }
    memcpy(g->search.colour, g->colour, sizeof *g->colour * g->n);
    g->nunits = best[0];
    g->npreds = best[1];
    if (best[0] != UINT32_MAX) {
        /* The same order with friends; the plain colouring where that takes more. */
        befriend(p, &mem);
        p->limit[0] = best[0];
        p->limit[1] = best[1];
        if (paint(p, best_order, colour, used, best) && used[0] <= best[0] &&
            used[1] <= best[1])
            memcpy(g->colour, colour, sizeof *colour * g->n);
        move_to_friends(p, g->colour);
    }
    arena_free(&mem);
    return least || best[0] > enough;
}

/* -- banks -- */

struct order_noting {
    const struct ra_graph *g;
    uint32_t *order, n;
    bool *seen;
};

static void
note_order(void *user, int32_t r, bool write, bool partial)
{
    struct order_noting *x = user;
    int32_t q = x->g->group_of[r];
    (void)write;
    (void)partial;
    if (q == RA_NONE || x->seen[q])
        return;
    x->seen[q] = true;
    x->order[x->n++] = (uint32_t)q;
}

/* Groups in the order in which the code names them first. */
static void
order_of_code(const struct ra_graph *g, const struct ptx_func *f, uint32_t *order,
              struct arena *mem)
{
    bool *seen = ARENA_ARRAY(mem, bool, g->ngroups + 1);
    struct order_noting x = {.g = g, .order = order, .seen = seen};
    for (size_t i = 0; i < f->body.n; i++)
        defuse_each(&f->body.v[i], note_order, &x);
}

bool
ra_spread(struct ra_graph *g, const struct ptx_func *f, const struct cfg *cfg,
          unsigned banks, uint32_t limit)
{
    struct arena mem = {0};
    struct paint *p = paint_new(g, limit, &mem);
    uint32_t *order = ARENA_ARRAY(&mem, uint32_t, g->ngroups + 1), used[2];
    int32_t *colour = ARENA_ARRAY(&mem, int32_t, g->n + 1);
    p->banks = ra_banks_new(g, f, cfg, banks, &mem);
    p->limit[0] = limit;
    p->limit[1] = g->npreds;
    befriend(p, &mem);
    order_of_code(g, f, order, &mem);
    const uint32_t most[2] = {limit, UINT32_MAX};
    const bool fits = paint(p, order, colour, used, most);
    if (fits) {
        memcpy(g->colour, colour, sizeof *colour * g->n);
        g->nunits = used[0];
        g->npreds = used[1];
    }
    arena_free(&mem);
    return fits;
}
