/* statements.c: draws statements. Why they leave one memory: generate.c. */
#include "generate.h"

static void
gen_op_row(struct gen *g, struct rk_list *l, const struct ctx *c, unsigned row)
{
    struct rk_stmt *s = gen_add_row(g, l, c, row);
    const char *cls = rk_ops[row].classes;
    bool fresh = false;
    if (cls[1] == ':') {
        s->dst[s->ndst++] = gen_result_var(g, rk_class_of(*cls), &fresh);
        cls += 2;
    } else {
        s->ndst = (int)gen_write_vars(g, rk_class_of(*cls), 2, s->dst);
        cls += 3;
    }
    for (int i = 0; cls[i]; i++) {
        unsigned k = rk_class_of(cls[i]);
        s->src[i] = cls[i] < 'a' ? gen_source(g, k) : gen_read_var(g, k);
        if (cls[i] == 'B')
            s->src[i].value &= 255;
    }
    if (fresh) {
        gen_readable(g, g->f->cls[s->dst[0]], s->dst[0]);
        return;
    }
    /* A template writes the first of two destinations before it has read all sources. */
    if (rk_ops[row].text[0] != '{')
        gen_maybe_guard(g, s);
    else if (s->ndst == 2)
        for (int i = 0; i < 3; i++)
            if (!s->src[i].literal && s->src[i].var == s->dst[0])
                s->src[i] = gen_literal(gen_literal_bits(g, RK_W));
}

/* Writes the register if it may be written: what was known of it holds no longer. */
static void
gen_overwrite(struct gen *g, struct rk_list *l, const struct ctx *c, uint32_t var)
{
    static const char *const texts[][2] = {{"xor.pred", "p:pp"}, {"add.u16", "h:HH"},
                                           {"add.s32", "w:WW"},  {"sub.u64", "d:DD"},
                                           {"add.f32", "f:FF"},  {"sub.rn.f64", "g:GG"}};
    unsigned cls = g->f->cls[var];
    uint32_t i = 0;
    while (i < g->nwrite[cls] && g->write[cls][i] != var)
        i++;
    if (i == g->nwrite[cls])
        return;
    struct rk_stmt *s = gen_add_row(g, l, c, gen_row(texts[cls][0], texts[cls][1]));
    s->dst[s->ndst++] = var;
    s->src[0] = gen_source(g, cls);
    s->src[1] = gen_source(g, cls);
    gen_maybe_guard(g, s);
}

/* What passes look for: the same again, a copy and its use, a product and its sum; and
 * what must stop them: a write of the source in between. */
static void
gen_idiom(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    static const char *const pairs[][4] = {
        {"mul.lo.s32", "w:WW", "add.s32", "w:WW"},
        {"mul.lo.u32", "w:WW", "sub.s32", "w:WW"},
        {"mul.wide.u32", "d:WW", "add.s64", "d:DD"},
        {"mul.wide.s32", "d:WW", "add.s64", "d:DD"},
        {"mul.lo.s64", "d:DD", "add.s64", "d:DD"},
        {"mul.f32", "f:FF", "add.f32", "f:FF"},
        {"mov.b32", "w:W", "add.u32", "w:WW"},
        {"mov.b64", "d:D", "sub.u64", "d:DD"},
        {"mov.f32", "f:F", "fma.rn.f32", "f:FFF"},
        {"mov.b16", "h:H", "mad.lo.s16", "h:HHH"},
        {"mov.pred", "p:p", "selp.b32", "w:WWp"},
        {"mov.b32", "f:w", "mov.b32", "w:f"},
        {"setp.lt.s32", "p:WW", "and.pred", "p:pp"},
        {"add.s64", "d:DD", "add.s64", "d:DD"},
    };
    const struct rk_stmt *old = NULL;
    unsigned n = 0;
    if (gen_chance(g, 40)) {
        for (struct rk_stmt *s = l->first; s; s = s->next)
            if (s->kind == RK_OP && s->ndst == 1 && !gen_pick(g, ++n < 8 ? n : 8))
                old = s;
        if (!old)
            return;
        for (int i = 0; i < 3; i++)
            if (!old->src[i].literal && gen_chance(g, 20))
                gen_overwrite(g, l, c, old->src[i].var);
        struct rk_stmt *s = gen_add_row(g, l, c, old->row);
        bool fresh;
        unsigned cls = g->f->cls[old->dst[0]];
        memcpy(s->src, old->src, sizeof s->src);
        s->dst[s->ndst++] = gen_result_var(g, cls, &fresh);
        if (fresh)
            gen_readable(g, cls, s->dst[0]);
        return;
    }
    const char *const *t = pairs[gen_pick(g, sizeof pairs / sizeof *pairs)];
    unsigned cls = rk_class_of(t[1][0]);
    uint32_t nread = g->nread[cls];
    gen_op_row(g, l, c, gen_row(t[0], t[1]));
    struct rk_stmt *first = (struct rk_stmt *)l->end; /* next is the first member */
    first->guard = -1;
    if (gen_chance(g, 60)) { /* read once only */
        first->dst[0] = gen_new_var(g, cls);
        g->nread[cls] = nread;
    }
    if (!first->src[0].literal && gen_chance(g, 40))
        gen_overwrite(g, l, c, first->src[0].var);
    gen_op_row(g, l, c, gen_row(t[2], t[3]));
    struct rk_stmt *second = (struct rk_stmt *)l->end;
    const char *sources = strchr(t[3], ':') + 1;
    for (unsigned i = 0, at = gen_pick(g, 2); sources[i]; i++)
        if (rk_class_of(sources[i]) == cls && (i >= at || !sources[i + 1])) {
            second->src[i] = gen_from_var(first->dst[0]);
            break;
        }
}

static void
gen_op(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    if (gen_chance(g, 15))
        gen_idiom(g, l, c);
    else
        gen_op_row(g, l, c, gen_pick(g, rk_nops));
}

static struct rk_src
index_source(struct gen *g)
{
    return gen_chance(g, 35) ? gen_literal(gen_pick(g, 64)) : gen_read_var(g, RK_W);
}

/* An address for accesses of `unit` bytes, in .shared variable `shared` unless that is
 * ANYWHERE; false: no such space can be had here. */
static bool
gen_addr(struct gen *g, struct rk_addr *a, unsigned unit, bool write, int shared)
{
    static const uint8_t reads[] = {RK_IN,    RK_SLOT,   RK_LOCAL, RK_CONST,
                                    RK_TABLE, RK_SHARED, RK_SHARED};
    static const uint8_t writes[] = {RK_SLOT, RK_LOCAL, RK_SHARED, RK_SHARED};
    a->space = write ? writes[gen_pick(g, 4)] : reads[gen_pick(g, 7)];
    if (g->self && (a->space == RK_SLOT || a->space == RK_SHARED))
        a->space = RK_LOCAL;
    if (a->space == RK_SHARED && !g->k->nshared)
        a->space = RK_SLOT;
    a->span = a->space == RK_IN                              ? RK_INPUT_BYTES
              : a->space == RK_CONST || a->space == RK_TABLE ? RK_TABLE_BYTES
                                                             : RK_REGION;
    if (a->space == RK_SHARED) {
        a->shared =
            (uint8_t)(shared != ANYWHERE ? (uint32_t)shared : gen_pick(g, g->k->nshared));
        int mode = g->mode[a->shared];
        if (mode >= 0 || (write && mode == READ))
            return false;
        a->whole = mode == READ;
        a->span = a->whole ? g->k->shared[a->shared].span : g->k->shared[a->shared].part;
    }
    a->unit = (uint8_t)unit;
    a->upper = gen_chance(g, 50);
    a->form = (uint8_t)gen_pick(g, 16);
    a->index = index_source(g);
    return true;
}

static void
gen_access(struct gen *g, struct rk_list *l, const struct ctx *c, bool write, int shared)
{
    static const uint8_t lengths[] = {1, 1, 1, 2, 4};
    unsigned type = gen_pick(g, rk_ntypes), n = lengths[gen_pick(g, 5)];
    const struct rk_type *t = &rk_types[type];
    struct rk_addr a = {0};
    while (n * t->bytes > 16 || n > g->nwrite[t->cls])
        n /= 2;
    if (!gen_addr(g, &a, n * t->bytes, write, shared))
        return;
    struct rk_stmt *s = gen_add(g, l, write ? RK_STORE : RK_LOAD, c);
    s->row = (uint16_t)type;
    s->n = (uint8_t)n;
    s->addr = a;
    if (write) {
        for (unsigned i = 0; i < n; i++)
            s->src[i] = gen_read_var(g, t->cls);
        gen_maybe_guard(g, s);
        if (!gen_chance(g, 30))
            return;
        s = gen_add(g, l, RK_LOAD, c); /* what was just stored */
        s->row = (uint16_t)type;
        s->n = (uint8_t)n;
        s->addr = a;
        s->addr.form = (uint8_t)gen_pick(g, 16);
    }
    bool fresh = false;
    if (n > 1)
        s->ndst = (int)gen_write_vars(g, t->cls, n, s->dst);
    else
        s->dst[s->ndst++] = gen_result_var(g, t->cls, &fresh);
    if (fresh)
        gen_readable(g, t->cls, s->dst[0]);
    else
        gen_maybe_guard(g, s);
}

static void
gen_atom(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    struct rk_addr a = {.upper = gen_chance(g, 50), .form = (uint8_t)gen_pick(g, 16)};
    unsigned row = gen_pick(g, rk_natoms);
    bool own = false;
    if (g->self)
        return;
    if (g->k->nshared && gen_chance(g, 50)) {
        a.space = RK_SHARED;
        a.shared = (uint8_t)gen_pick(g, g->k->nshared);
        int mode = g->mode[a.shared];
        if (mode == READ)
            return;
        own = mode == OWN;
        if (!own)
            row = (unsigned)mode;
        a.whole = !own;
        a.span = own ? g->k->shared[a.shared].part : g->k->shared[a.shared].span;
    } else if (row < rk_ncommuting && gen_chance(g, 70)) {
        a.space = RK_ACC;
        a.shared = (uint8_t)row;
        a.span = RK_ACC_BYTES;
    } else {
        a.space = RK_SLOT;
        a.span = RK_REGION;
        own = true;
    }
    const struct rk_atom *t = &rk_atoms[row];
    a.unit = t->bytes;
    a.index = index_source(g);
    struct rk_stmt *s = gen_add(g, l, RK_ATOM, c);
    s->row = (uint16_t)row;
    s->addr = a;
    for (unsigned i = 0; i < t->sources; i++)
        s->src[i] = gen_source(g, t->cls);
    if (!own && !strncmp(t->name, "inc", 3))
        s->src[0] = gen_literal(RK_INC_LIMIT);
    /* The old value is another one in another order, unless the memory is one's own. */
    if (own && (!t->commutes || gen_chance(g, 70))) {
        s->n = 1;
        s->dst[s->ndst++] = gen_write_var(g, t->cls);
    } else if (t->commutes && row != 7 && gen_chance(g, 40)) /* not inc */
        s->form = (uint8_t)(1 + gen_pick(g, 2));
    gen_maybe_guard(g, s);
}

/* A sum over a row of the input, as of a sparse matrix: rows of unequal length, words from
 * anywhere. */
void
gen_gather(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    static const uint8_t most[] = {1, 3, 7, 15, 31};
    if (c->times > 8)
        return;
    struct rk_stmt *s = gen_add(g, l, RK_GATHER, c);
    s->n = most[gen_pick(g, 5)];
    s->form = (uint8_t)gen_pick(g, 2);
    s->src[0] = gen_source(g, RK_W);
    s->src[1] = gen_read_var(g, RK_W);
    s->dst[s->ndst++] = gen_write_var(g, RK_W);
    g->cost += (uint64_t)s->n * c->times;
}

/* A mask for each lane that divides those of c->mask into groups: tiles (*tile: of so many
 * lanes, all of them here), lanes with the same predicate, or with the same small value. */
static struct rk_src
gen_groups(struct gen *g, struct rk_list *l, const struct ctx *c, unsigned *tile)
{
    uint32_t first = gen_new_var(g, RK_W), mask = gen_new_var(g, RK_W);
    struct rk_stmt *s;
    switch (gen_pick(g, 3)) {
    case 0: {
        unsigned size = 1u << gen_pick(g, 6);
        *tile = c->mask.literal ? size : 0;
        s = gen_add_row(g, l, c, gen_row("and.b32", "w:WW"));
        s->dst[s->ndst++] = first;
        s->src[0] = gen_from_var(RK_LANE);
        s->src[1] = gen_literal((uint32_t)-size);
        s = gen_add_row(g, l, c, gen_row("shl.b32", "w:WW"));
        s->dst[s->ndst++] = mask;
        s->src[0] = gen_literal(size == 32 ? 0xffffffff : (1u << size) - 1);
        s->src[1] = gen_from_var(first);
        if (c->mask.literal)
            break;
        s = gen_add_row(g, l, c, gen_row("and.b32", "w:WW"));
        s->dst[s->ndst++] = mask;
        s->src[0] = gen_from_var(mask);
        s->src[1] = c->mask;
        break;
    }
    case 1: {
        struct rk_src p = gen_read_var(g, RK_P);
        s = gen_add(g, l, RK_WARP, c);
        s->row = RK_BALLOT;
        s->mask = c->mask;
        s->src[0] = p;
        s->dst[s->ndst++] = first;
        s = gen_add_row(g, l, c, gen_row("xor.b32", "w:WW"));
        s->dst[s->ndst++] = mask;
        s->src[0] = gen_from_var(first);
        s->src[1] = c->mask;
        s = gen_add_row(g, l, c, gen_row("selp.b32", "w:WWp"));
        s->dst[s->ndst++] = mask;
        s->src[0] = gen_from_var(first);
        s->src[1] = gen_from_var(mask);
        s->src[2] = p;
        break;
    }
    default:
        s = gen_add_row(g, l, c, gen_row("and.b32", "w:WW"));
        s->dst[s->ndst++] = first;
        s->src[0] = gen_read_var(g, RK_W);
        s->src[1] = gen_literal(gen_chance(g, 50) ? 1 : 7);
        s = gen_add(g, l, RK_WARP, c);
        s->row = RK_MATCH_ANY32;
        s->mask = c->mask;
        s->src[0] = gen_from_var(first);
        s->dst[s->ndst++] = mask;
        break;
    }
    return gen_from_var(mask);
}

/* The mask of the lane alone: right wherever it comes. */
static struct rk_src
gen_alone(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    struct rk_stmt *s = gen_add_row(g, l, c, gen_row("shl.b32", "w:WW"));
    s->dst[s->ndst++] = gen_new_var(g, RK_W);
    s->src[0] = gen_literal(1);
    s->src[1] = gen_from_var(RK_LANE);
    return gen_from_var(s->dst[0]);
}

static void
gen_warp(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    unsigned kind = gen_chance(g, 30) ? gen_pick(g, 4) : gen_pick(g, RK_WARPS),
             cls = RK_W;
    struct rk_src lane = {0}, mask = c->mask;
    unsigned tile = 0;
    if (g->self || (!c->warp && gen_chance(g, 50)))
        return;
    if (!c->warp)
        mask = gen_alone(g, l, c);
    else if (gen_chance(g, 40))
        mask = gen_groups(g, l, c, &tile);
    bool all = mask.literal || tile;   /* all 32 lanes, or all of a tile */
    if (kind <= RK_SHFL_IDX && !all) { /* from a lane that surely takes part */
        struct rk_stmt *s = gen_add_row(g, l, c, gen_row("bfind.u32", "w:W"));
        kind = RK_SHFL_IDX;
        s->dst[s->ndst++] = gen_new_var(g, RK_W);
        s->src[0] = mask;
        lane = gen_from_var(s->dst[0]);
    }
    struct rk_stmt *s = gen_add(g, l, RK_WARP, c);
    s->row = (uint16_t)kind;
    s->mask = mask;
    switch (kind) {
    case RK_SHFL_UP:
    case RK_SHFL_DOWN:
    case RK_SHFL_BFLY:
    case RK_SHFL_IDX: {
        static const uint16_t clamps[] = {31, 0, 0x1c1f, 0x181f, 0x1007, 0x1e00, 0x0f0f};
        s->src[0] = gen_read_var(g, RK_W);
        s->src[1] = all ? gen_source(g, RK_W) : lane;
        s->src[2] = gen_literal(all ? clamps[gen_pick(g, 7)] : 31);
        if (tile) /* as cooperative groups do: no lane reads from another tile */
            s->src[2] = gen_literal((32 - tile) << 8 | (kind == RK_SHFL_UP ? 0 : 31));
        if (tile && kind == RK_SHFL_BFLY)
            s->src[1] = gen_literal(gen_pick(g, tile));
        s->dst[s->ndst++] = gen_write_var(g, RK_W);
        if (gen_chance(g, 50))
            s->dst[s->ndst++] = gen_write_var(g, RK_P);
        return;
    }
    case RK_ALL:
    case RK_ANY:
    case RK_UNI:
    case RK_BALLOT:
        s->src[0] = gen_read_var(g, RK_P);
        s->form = (uint8_t)gen_pick(g, 2); /* 1: of its negation */
        s->dst[s->ndst++] = gen_write_var(g, kind == RK_BALLOT ? RK_W : RK_P);
        return;
    case RK_WARP_BARRIER:
        return;
    case RK_MATCH_ANY64:
        cls = RK_D;
        break;
    default:
        break;
    }
    s->src[0] = gen_read_var(g, cls);
    s->dst[s->ndst++] = gen_write_var(g, RK_W);
    if (kind == RK_MATCH_ALL32)
        s->dst[s->ndst++] = gen_write_var(g, RK_P);
}

static void
gen_barrier(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    struct rk_stmt *s = gen_add(g, l, RK_BARRIER, c);
    s->row = (uint16_t)gen_pick(g, RK_BARRIERS);
    if (s->row == RK_BAR_ID && g->k->threads % 32)
        s->row = RK_BAR_SYNC;
    s->form = (uint8_t)(1 + gen_pick(g, 15));
    if (s->row >= RK_BAR_POPC) {
        s->src[0] = gen_read_var(g, RK_P);
        s->dst[s->ndst++] = gen_write_var(g, s->row == RK_BAR_POPC ? RK_W : RK_P);
    }
    for (unsigned i = 0; i < g->k->nshared; i++)
        g->mode[i] = gen_chance(g, 25)   ? (int)gen_pick(g, rk_ncommuting)
                     : gen_chance(g, 50) ? READ
                                         : OWN;
}

/* Threads write their parts of a .shared variable and read those of others. */
static void
gen_exchange(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    if (!g->k->nshared)
        return;
    unsigned v = gen_pick(g, g->k->nshared);
    if (g->mode[v] == READ) {
        gen_barrier(g, l, c);
        g->mode[v] = OWN;
    }
    for (unsigned n = 1 + gen_pick(g, 3); n > 0 && g->mode[v] == OWN; n--)
        gen_access(g, l, c, true, (int)v);
    gen_barrier(g, l, c);
    g->mode[v] = READ;
    for (unsigned n = 1 + gen_pick(g, 3); n > 0; n--)
        gen_access(g, l, c, false, (int)v);
}

/* A body where all threads come: it ends with the modes that it began with. */
static bool
gen_body(struct gen *g, struct rk_list *l, struct ctx c)
{
    int mode[RK_MAX_SHARED];
    memcpy(mode, g->mode, sizeof mode);
    c.depth++;
    bool leaves = gen_list(g, l, c);
    if (memcmp(mode, g->mode, sizeof mode)) {
        gen_barrier(g, l, &c);
        memcpy(g->mode, mode, sizeof mode);
    }
    return leaves;
}

static bool
gen_if(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    struct ctx in[2] = {*c, *c};
    uint32_t p;
    if (c->uniform && g->nsame && gen_chance(g, 40)) { /* all threads go one way */
        struct rk_stmt *s = gen_add_row(g, l, c, gen_row("setp.le.u32", "p:WW"));
        s->dst[s->ndst++] = p = gen_new_var(g, RK_P);
        s->src[0] = gen_from_var(g->same[gen_pick(g, g->nsame)]);
        s->src[1] = gen_literal(gen_pick(g, 4));
    } else {
        p = gen_read_var(g, RK_P).var;
        in[0].uniform = in[1].uniform = false;
        if (c->warp && gen_chance(g, 60)) {
            struct rk_stmt *s = gen_add(g, l, RK_WARP, c);
            s->row = RK_BALLOT;
            s->mask = c->mask;
            s->src[0] = gen_from_var(p);
            s->dst[s->ndst++] = gen_new_var(g, RK_W);
            in[0].mask = gen_from_var(s->dst[0]);
            struct rk_stmt *x = gen_add_row(g, l, c, gen_row("xor.b32", "w:WW"));
            x->src[0] = gen_from_var(s->dst[0]);
            x->src[1] = c->mask;
            x->dst[x->ndst++] = gen_new_var(g, RK_W);
            in[1].mask = gen_from_var(x->dst[0]);
        } else {
            in[0].warp = in[1].warp = false;
        }
    }
    struct rk_stmt *s = gen_add(g, l, RK_IF, c);
    s->guard = (int32_t)p;
    s->form = (uint8_t)gen_pick(g, 2);
    bool two = gen_chance(g, 60),
         meet = two && c->warp && !in[0].uniform && gen_chance(g, 20);
    for (unsigned i = 0; meet && i < 2; i++) { /* each lane at one of two barriers */
        struct rk_stmt *b = gen_add(g, &s->body[i], RK_WARP, c);
        b->row = RK_WARP_BARRIER;
        b->mask = c->mask;
    }
    bool leaves = gen_body(g, &s->body[0], in[0]);
    if (two)
        leaves |= gen_body(g, &s->body[1], in[1]);
    return leaves;
}

static bool
gen_loop(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    uint32_t trips = 1 + gen_pick(g, 6);
    struct ctx in = *c;
    if (c->times * trips > MAX_TIMES)
        return false;
    bool divergent = !c->uniform || gen_chance(g, 50),
         may_leave = divergent && gen_chance(g, 60);
    struct rk_src n = gen_literal(trips);
    if (divergent) {
        static const uint32_t masks[] = {0, 1, 1, 3, 3, 3, 3};
        struct rk_stmt *s = gen_add_row(g, l, c, gen_row("and.b32", "w:WW"));
        s->dst[s->ndst++] = gen_new_var(g, RK_W);
        s->src[0] = gen_read_var(g, RK_W);
        s->src[1] = gen_literal(masks[trips]);
        n = gen_from_var(s->dst[0]);
        in.uniform = in.warp = false;
    }
    struct rk_stmt *s = gen_add(g, l, RK_LOOP, c);
    s->src[0] = n;
    s->form = (uint8_t)gen_pick(g, 2);
    uint32_t i = gen_new_var(g, RK_W);
    s->dst[s->ndst++] = i;
    in.times *= trips;
    in.loop = may_leave;
    gen_readable(g, RK_W, i);
    bool same = in.uniform && g->nsame < 32;
    if (same)
        g->same[g->nsame++] = i;
    bool leaves = gen_body(g, &s->body[0], in);
    g->nread[RK_W]--;
    if (same)
        g->nsame--;
    /* What only leaves the loop comes behind it; what returns does not. */
    return leaves && g->self;
}

/* A loop that is entered at two places. */
static bool
gen_tangle(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    uint32_t trips = 1 + gen_pick(g, 3);
    struct ctx in = *c;
    if (c->times * trips > MAX_TIMES)
        return false;
    in.uniform = in.warp = false;
    in.times *= trips;
    struct rk_stmt *s = gen_add(g, l, RK_TANGLE, c);
    s->guard = (int32_t)gen_read_var(g, RK_P).var;
    s->src[0] = gen_literal(trips);
    uint32_t i = gen_new_var(g, RK_W);
    s->dst[s->ndst++] = i;
    gen_readable(g, RK_W, i);
    bool leaves = gen_body(g, &s->body[0], in);
    leaves |= gen_body(g, &s->body[1], in);
    g->nread[RK_W]--;
    return leaves;
}

static void
gen_dead(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    struct ctx in = *c;
    in.uniform = in.warp = false;
    struct rk_stmt *s = gen_add(g, l, RK_DEAD, c);
    s->form = (uint8_t)gen_pick(g, 4);
    uint64_t cost = g->cost;
    gen_body(g, &s->body[0], in);
    g->cost = cost;
}

static bool
gen_switch(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    struct rk_src index = gen_read_var(g, RK_W);
    struct rk_stmt *s = gen_add(g, l, RK_SWITCH, c);
    struct ctx in = *c;
    bool leaves = false;
    in.uniform = in.warp = false;
    s->src[0] = index;
    s->n = gen_chance(g, 50) ? 4 : 2;
    s->form = (uint8_t)gen_pick(g, 16);
    for (unsigned i = 0; i < s->n; i++)
        leaves |= gen_body(g, &s->body[i], in);
    return leaves;
}

static void
gen_call(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    if (g->self + 1 >= g->k->nfuncs)
        return;
    unsigned to = g->self + 1 + gen_pick(g, g->k->nfuncs - g->self - 1);
    const struct rk_func *f = g->k->funcs[to];
    if (f->cost * c->times > 4000)
        return;
    struct rk_stmt *s = gen_add(g, l, RK_CALL, c);
    s->row = (uint16_t)to;
    s->form = (uint8_t)gen_pick(g, 2);
    for (unsigned i = 0; i < f->nparams; i++)
        s->src[i] = gen_source(g, f->cls[f->params[i]]);
    for (unsigned i = 0; i < f->nresults; i++) {
        uint32_t d = gen_write_var(g, f->result[i]);
        if (i && d == s->dst[0])
            d = g->write[f->result[i]][d == g->write[f->result[i]][0]];
        s->dst[s->ndst++] = d;
    }
    g->cost += f->cost * c->times;
}

/* Leaves the innermost loop, its pass, or the function, where a predicate says so. */
static bool
gen_leave(struct gen *g, struct rk_list *l, const struct ctx *c)
{
    bool ret = g->self && (!c->loop || gen_chance(g, 30));
    if (!ret && !c->loop)
        return false;
    enum rk_kind kind = ret ? RK_RETURN : gen_chance(g, 60) ? RK_BREAK : RK_CONTINUE;
    struct rk_stmt *s;
    uint32_t nread[RK_CLASSES];
    memcpy(nread, g->nread, sizeof nread);
    if (ret || gen_chance(g, 40)) { /* in a branch of its own */
        struct rk_stmt *branch = gen_add(g, l, RK_IF, c);
        branch->guard = (int32_t)gen_read_var(g, RK_P).var;
        branch->form = (uint8_t)gen_pick(g, 2);
        gen_op_row(g, &branch->body[0], c, gen_row("xor.b32", "w:WW"));
        s = gen_add(g, &branch->body[0], kind, c);
    } else {
        s = gen_add(g, l, kind, c);
        s->guard = (int32_t)gen_read_var(g, RK_P).var;
        s->guard_not = gen_chance(g, 50);
    }
    if (ret)
        for (unsigned i = 0; i < g->f->nresults; i++)
            s->src[i] = gen_source(g, g->f->result[i]);
    memcpy(g->nread, nread, sizeof nread); /* without what only the branch has */
    return true;
}

bool
gen_list(struct gen *g, struct rk_list *l, struct ctx c)
{
    bool leaves = false;
    uint32_t n = c.depth ? 1 + gen_pick(g, 7) : 1000, nread[RK_CLASSES];
    memcpy(nread, g->nread, sizeof nread);
    while (n-- && g->budget > 0 && !gen_ended(g)) {
        bool left = false, deep = c.depth >= MAX_DEPTH || g->f->nvars > RK_MAX_VARS - 20;
        uint32_t what = gen_pick(g, 100);
        g->budget--;
        if (what < 48)
            gen_op(g, l, &c);
        else if (what < 49)
            gen_gather(g, l, &c);
        else if (what < 50) {
            if (deep)
                gen_op(g, l, &c);
            else if (gen_chance(g, 50))
                gen_dead(g, l, &c);
            else
                left = gen_tangle(g, l, &c);
        } else if (what < 60)
            gen_access(g, l, &c, false, ANYWHERE);
        else if (what < 67)
            gen_access(g, l, &c, true, ANYWHERE);
        else if (what < 72)
            gen_atom(g, l, &c);
        else if (what < 79)
            gen_warp(g, l, &c);
        else if (what < 82)
            gen_call(g, l, &c);
        else if (what < 86)
            left = gen_leave(g, l, &c);
        else if (what < 90) {
            if (c.uniform && !g->self && gen_chance(g, 60))
                gen_exchange(g, l, &c);
            else if (c.uniform && !g->self)
                gen_barrier(g, l, &c);
        } else if (deep)
            gen_op(g, l, &c);
        else if (what < 95)
            left = gen_if(g, l, &c);
        else if (what < 98)
            left = gen_loop(g, l, &c);
        else
            left = gen_switch(g, l, &c);
        if (left) {
            leaves = true;
            c.uniform = c.warp = false;
        }
    }
    memcpy(g->nread, nread, sizeof nread);
    return leaves;
}
