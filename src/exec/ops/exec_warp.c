/* exec_warp.c: instructions that look at other lanes (vote, shfl, match, redux,
 * activemask, elect), at special registers and at addresses (mov of symbols and vectors,
 * cvta, isspacep).
 *
 * PTX ISA 9.7.9 (data movement) and 9.7.13 (parallel synchronisation). Lanes that execute
 * an instruction are those of `mask`. With .sync each gives a member mask: the lanes that it
 * names are gathered first where they run in sibling paths (exec_control.c), and each group
 * of lanes with the same mask gets its own answer (exec_members.c). */
#include "exec/exec_int.h"
#include "exec/lanes/fp.h"

#include <string.h>

/* All lanes that some executing lane names. */
static uint32_t
union_of(const uint32_t *m, uint32_t mask)
{
    uint32_t all = 0;
    for (int i = 0; i < LANES; i++)
        all |= mask >> i & 1 ? m[i] : 0;
    return all;
}

/* Gathers the lanes that the member masks of row `ref` name, those of lanes that join
 * included: all groups execute together. False: do nothing now. Sets *mask, and the groups. */
static bool
gather(struct exec_warp *w, const struct exec_inst *in, uint32_t ref, uint32_t *mask,
       struct exec_step *s, struct members *g)
{
    const uint32_t *m = ref == REF_NONE ? NULL : row(w, ref);
    for (uint32_t named; m && w->sp && (named = union_of(m, *mask)) & ~w->active;) {
        if (!simt_gather(w, in, named, s))
            return false;
        uint32_t now = w->active;
        if (in->flags & IF_GUARD) {
            uint32_t p = *(const uint32_t *)(w->regs + in->guard);
            now &= in->flags & IF_GUARD_NEG ? ~p : p;
        }
        uint32_t joined = now & ~*mask;
        w->cta->n_thread_inst += (uint32_t)__builtin_popcount(joined);
        s->active = w->active;
        s->mask = *mask = now;
        if (!joined)
            break;
    }
    if (m)
        members_check(w, in, *mask, m);
    *g = (struct members){.mask_row = m, .executing = *mask, .rest = *mask};
    return true;
}

static void
set32(void *d, uint32_t mask, uint32_t v)
{
    uint32_t *p = d;
    if (mask == FULL_MASK)
        for (int i = 0; i < LANES; i++)
            p[i] = v;
    else
        FOR_BITS(i, mask)
    p[i] = v;
}

static void
set_pred(void *d, uint32_t mask, uint32_t v)
{
    *(uint32_t *)d = (*(uint32_t *)d & ~mask) | (v & mask);
}

/* s[0]: predicate (aux: negated), s[1]: member mask */
static enum exec_result
h_vote(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    struct members g;
    if (!gather(w, in, in->s[1], &mask, s, &g))
        return EXEC_OK;
    uint32_t yes = *(const uint32_t *)row(w, in->s[0]);
    if (in->aux)
        yes = ~yes;
    void *d = row(w, in->d[0]);
    while (members_next(&g)) {
        uint32_t p = yes & g.who;
        switch (in->sub) {
        case VOTE_ALL:
            set_pred(d, g.lanes, p == g.who ? FULL_MASK : 0);
            break;
        case VOTE_ANY:
            set_pred(d, g.lanes, p ? FULL_MASK : 0);
            break;
        case VOTE_UNI:
            set_pred(d, g.lanes, p == g.who || !p ? FULL_MASK : 0);
            break;
        default:
            set32(d, g.lanes, p);
            break;
        }
    }
    return EXEC_OK;
}

/* The lanes that shfl reads from, *from; whether each is in range. */
ALWAYS_INLINE uint32_t
shfl_lanes(unsigned sub, const uint32_t *b, const uint32_t *c, int32_t *from)
{
    uint32_t valid[LANES], pred = 0;
    for (int i = 0; i < LANES; i++) {
        int bval = b[i] & 31, cval = c[i] & 31, seg = c[i] >> 8 & 31, j;
        int max = (i & seg) | (cval & ~seg), min = i & seg;
        bool ok;
        switch (sub) {
        case SHFL_UP:
            j = i - bval;
            ok = j >= max;
            break;
        case SHFL_DOWN:
            j = i + bval;
            ok = j <= max;
            break;
        case SHFL_BFLY:
            j = i ^ bval;
            ok = j <= max;
            break;
        default:
            j = min | (bval & ~seg);
            ok = j <= max;
            break;
        }
        from[i] = ok ? j : i;
        valid[i] = ok;
    }
    for (int i = 0; i < LANES; i++)
        pred |= valid[i] << i;
    return pred;
}

/* s[0]: a, s[1]: b, s[2]: c, s[3]: member mask; d[0], d[1]: predicate or REF_NONE. A lane
 * that reads from one in range which does not execute gets 0: undefined in the ISA, what
 * cards do (docs/ptx.md). Out of range it gets its own value. */
static enum exec_result
h_shfl(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    struct members g; /* shfl is between lanes: the masks only say who is waited for */
    uint32_t pred, tmp[LANES];
    int32_t from[LANES];
    if (!gather(w, in, in->s[3], &mask, s, &g))
        return EXEC_OK;
    const uint32_t *a = row(w, in->s[0]), *b = row(w, in->s[1]), *c = row(w, in->s[2]);
    switch (in->sub) { /* a loop for each */
    case SHFL_UP:
        pred = shfl_lanes(SHFL_UP, b, c, from);
        break;
    case SHFL_DOWN:
        pred = shfl_lanes(SHFL_DOWN, b, c, from);
        break;
    case SHFL_BFLY:
        pred = shfl_lanes(SHFL_BFLY, b, c, from);
        break;
    default:
        pred = shfl_lanes(SHFL_IDX, b, c, from);
        break;
    }
    if (mask == FULL_MASK)
        for (int i = 0; i < LANES; i++)
            tmp[i] = a[from[i]];
    else
        for (int i = 0; i < LANES; i++)
            tmp[i] = mask >> from[i] & 1 ? a[from[i]] : 0;
    if (in->d[0] != REF_NONE) {
        uint32_t *d = row(w, in->d[0]);
        if (mask == FULL_MASK)
            memcpy(d, tmp, sizeof tmp);
        else
            FOR_BITS(i, mask)
        d[i] = tmp[i];
    }
    if (in->d[1] != REF_NONE)
        set_pred(row(w, in->d[1]), mask, pred);
    return EXEC_OK;
}

/* s[0]: value (esize 4 or 8 bytes), s[1]: member mask; d[0]: mask, d[1]: predicate (all)
 */
static enum exec_result
h_match(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    struct members g;
    if (!gather(w, in, in->s[1], &mask, s, &g))
        return EXEC_OK;
    const void *a = row(w, in->s[0]);
    uint32_t *d = in->d[0] == REF_NONE ? NULL : row(w, in->d[0]);
    uint64_t v[LANES];
    for (int i = 0; i < LANES; i++)
        v[i] = in->esize == 8 ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
    while (members_next(&g)) {
        uint32_t same[LANES] = {0}, all = g.who;
        FOR_BITS(i, g.lanes)
        FOR_BITS(k, g.who)
        same[i] |= (uint32_t)(v[i] == v[k]) << k;
        FOR_BITS(k, g.who)
        if (v[k] != v[bit_lowest(g.who)])
            all = 0;
        if (d)
            FOR_BITS(i, g.lanes)
        d[i] = in->sub == MATCH_ALL ? all : same[i];
        if (in->d[1] != REF_NONE)
            set_pred(row(w, in->d[1]), g.lanes, all ? FULL_MASK : 0);
    }
    return EXEC_OK;
}

/* One value of the lanes `who`, which are not none. */
static uint32_t
reduced(const struct exec_inst *in, const uint32_t *a, uint32_t who)
{
    uint32_t r = a[bit_lowest(who)];
    FOR_BITS(i, who & (who - 1))
    switch (in->sub) {
    case AT_ADD:
        r += a[i];
        break;
    case AT_AND:
        r &= a[i];
        break;
    case AT_OR:
        r |= a[i];
        break;
    case AT_XOR:
        r ^= a[i];
        break;
    case AT_MIN:
        r = in->type == PTX_S32 ? ((int32_t)a[i] < (int32_t)r ? a[i] : r)
                                : (a[i] < r ? a[i] : r);
        break;
    default:
        r = in->type == PTX_S32 ? ((int32_t)a[i] > (int32_t)r ? a[i] : r)
                                : (a[i] > r ? a[i] : r);
        break;
    }
    return r;
}

enum { REDUX_ABS = 1, REDUX_NAN = 2 };

/* .f32: as min and max of two; without .NaN a NaN counts only where all are. */
static uint32_t
reduced_f32(const struct exec_inst *in, const uint32_t *a, uint32_t who)
{
    bool first = true;
    float r = 0;
    FOR_BITS(i, who)
    {
        float v = fp_float32(in->aux & REDUX_ABS ? a[i] & 0x7fffffff : a[i]);
        r = first               ? v
            : in->sub == AT_MIN ? fp_min(r, v, in->aux & REDUX_NAN, 0)
                                : fp_max(r, v, in->aux & REDUX_NAN, 0);
        first = false;
    }
    return r == r ? fp_bits32(r) : FP_NAN32;
}

/* s[0]: value, s[1]: member mask */
static enum exec_result
h_redux(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    struct members g;
    if (!gather(w, in, in->s[1], &mask, s, &g))
        return EXEC_OK;
    uint32_t a[LANES]; /* the result may overwrite it */
    memcpy(a, row(w, in->s[0]), sizeof a);
    while (members_next(&g))
        if (g.who)
            set32(row(w, in->d[0]), g.lanes,
                  in->type == PTX_F32 ? reduced_f32(in, a, g.who)
                                      : reduced(in, a, g.who));
    return EXEC_OK;
}

static enum exec_result
h_activemask(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s)
{
    (void)s;
    set32(row(w, in->d[0]), mask, mask);
    return EXEC_OK;
}

/* The lowest executing lane of the member mask is elected. */
static enum exec_result
h_elect(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    struct members g;
    if (!gather(w, in, in->s[0], &mask, s, &g))
        return EXEC_OK;
    while (members_next(&g)) {
        uint32_t leader = g.who ? (uint32_t)bit_lowest(g.who) : 0;
        if (in->d[0] != REF_NONE)
            set32(row(w, in->d[0]), g.lanes, leader);
        set_pred(row(w, in->d[1]), g.lanes, g.who ? 1u << leader : 0);
    }
    return EXEC_OK;
}

static enum exec_result
h_warp_sync(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    struct members g;
    gather(w, in, in->s[0], &mask, s, &g);
    return EXEC_OK;
}

/* -- moves -- */

static enum exec_result
h_mov32(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    uint32_t *d = row(w, in->d[0]);
    const uint32_t *a = row(w, in->s[0]);
    if (mask == FULL_MASK)
        memcpy(d, a, ROW_BYTES);
    else
        FOR_BITS(i, mask)
    d[i] = a[i];
    return EXEC_OK;
}

static enum exec_result
h_mov64(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    uint64_t *d = row(w, in->d[0]);
    const uint64_t *a = row(w, in->s[0]);
    if (mask == FULL_MASK)
        memcpy(d, a, 2 * ROW_BYTES);
    else
        FOR_BITS(i, mask)
    d[i] = a[i];
    return EXEC_OK;
}

/* Copies between rows of different widths; nvec: bytes that count. */
static enum exec_result
h_mov_any(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    (void)s;
    void *d = row(w, in->d[0]);
    const void *a = row(w, in->s[0]);
    bool from_wide = in->aux & 1, to_wide = in->aux & 2;
    FOR_BITS(i, mask)
    {
        uint64_t v = from_wide ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
        if (in->nvec < 8)
            v &= ((uint64_t)1 << in->nvec * 8) - 1;
        if (to_wide)
            ((uint64_t *)d)[i] = v;
        else
            ((uint32_t *)d)[i] = (uint32_t)v;
    }
    return EXEC_OK;
}

/* The same value in all lanes, relative to the local frame with IF_FRAME. esize: row. */
static enum exec_result
h_set(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    (void)s;
    uint64_t v = in->value + (in->flags & IF_FRAME ? w->local_base : 0);
    if (in->base == 8) {
        uint64_t *d = row(w, in->data[0]);
        FOR_BITS(i, mask)
        d[i] = v;
    } else {
        set32(row(w, in->data[0]), mask, (uint32_t)v);
    }
    return EXEC_OK;
}

static enum exec_result
h_clock(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    const struct exec_cta *c = w->cta;
    const struct exec_grid *g = c->grid;
    uint64_t clock = c->clock ? *c->clock : g->n_warp_inst + c->n_warp_inst;
    if (in->type >= PTX_SREG_GLOBALTIMER && g->nanoseconds)
        clock = *g->nanoseconds;
    if (in->type == PTX_SREG_CLOCK_HI || in->type == PTX_SREG_GLOBALTIMER_HI)
        clock >>= 32;
    if (in->esize == 8)
        FOR_BITS(i, mask)
    ((uint64_t *)row(w, in->d[0]))[i] = clock;
    else set32(row(w, in->d[0]), mask, (uint32_t)clock);
    return EXEC_OK;
}

/* base: the wide row (aux 1: 64-bit lanes); data[0..nvec): elements of esize bytes */
static enum exec_result
h_pack(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)s;
    uint64_t v[LANES] = {0},
             keep = in->esize == 8 ? ~(uint64_t)0 : ((uint64_t)1 << in->esize * 8) - 1;
    for (unsigned e = 0; e < in->nvec; e++) {
        const void *a = row(w, in->data[e]);
        for (int i = 0; i < LANES; i++) {
            uint64_t x =
                in->dwide >> e & 1 ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
            v[i] |= (x & keep) << (e * in->esize * 8);
        }
    }
    void *d = row(w, in->base);
    FOR_BITS(i, mask)
    if (in->aux)
        ((uint64_t *)d)[i] = v[i];
    else
        ((uint32_t *)d)[i] = (uint32_t)v[i];
    return EXEC_OK;
}

static enum exec_result
h_unpack(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    (void)s;
    uint64_t v[LANES],
        keep = in->esize == 8 ? ~(uint64_t)0 : ((uint64_t)1 << in->esize * 8) - 1;
    const void *a = row(w, in->base);
    for (int i = 0; i < LANES; i++)
        v[i] = in->aux ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
    for (unsigned e = 0; e < in->nvec; e++) {
        if (in->data[e] == REF_NONE)
            continue;
        void *d = row(w, in->data[e]);
        FOR_BITS(i, mask)
        {
            uint64_t x = v[i] >> (e * in->esize * 8) & keep;
            if (in->dwide >> e & 1)
                ((uint64_t *)d)[i] = x;
            else
                ((uint32_t *)d)[i] = (uint32_t)x;
        }
    }
    return EXEC_OK;
}

/* d = a + value in 64 bits (nvec 8) or 32; null pointers are no exception (ISA: cvta adds
 * the window's base). aux as in h_mov_any. */
static enum exec_result
h_cvta(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)s;
    const void *a = row(w, in->base);
    void *d = row(w, in->data[0]);
    FOR_BITS(i, mask)
    {
        uint64_t v = in->aux & 1 ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
        v += in->value;
        if (in->aux & 2)
            ((uint64_t *)d)[i] = v;
        else
            ((uint32_t *)d)[i] = (uint32_t)v;
    }
    return EXEC_OK;
}

static enum exec_result
h_isspacep(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    (void)s;
    const void *a = row(w, in->s[0]);
    uint32_t r = 0;
    for (int i = 0; i < LANES; i++) {
        uint64_t v = in->aux ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
        uint64_t base = in->space == PTX_SPACE_SHARED  ? DEV_SHARED_BASE
                        : in->space == PTX_SPACE_LOCAL ? DEV_LOCAL_BASE
                        : in->space == PTX_SPACE_CONST ? DEV_CONST_BASE
                                                       : DEV_PARAM_BASE;
        bool yes = in->space == PTX_SPACE_GLOBAL
                       ? v - DEV_SHARED_BASE >= 4ull * DEV_WINDOW
                       : v - base < DEV_WINDOW;
        uint64_t at;
        if (yes && in->space == PTX_SPACE_SHARED && !(in->flags & IF_CLUSTER))
            yes = exec_shared_owner(w, v - base, &at) == w->cta;
        r |= (uint32_t)yes << i;
    }
    set_pred(row(w, in->d[0]), mask, r);
    return EXEC_OK;
}

/* -- decoding -- */

/* Predicate source that may be negated; *neg says so. */
static uint32_t
source_pred(struct decoder *d, const struct ptx_operand *o, uint32_t *neg)
{
    struct ptx_operand c = *o;
    *neg = c.kind == PTX_OPD_REG && c.neg;
    if (*neg)
        c.neg = false;
    return decode_operand(d, &c, PTX_PRED);
}

static bool
operands(struct decoder *d, unsigned least)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->in->nops; i++)
        n += d->in->ops[i].kind != PTX_OPD_NONE;
    return n >= least || decode_refuse(d, "operands are missing");
}

static bool
dest32(struct decoder *d, const struct ptx_operand *o, uint32_t *ref)
{
    bool wide;
    if (o->kind == PTX_OPD_SINK || o->kind == PTX_OPD_NONE) {
        *ref = REF_NONE;
        return true;
    }
    *ref = decode_row(d, o, PTX_B32, &wide);
    if (*ref == REF_NONE)
        return false;
    return !wide || decode_refuse(d, "the destination must be a 32-bit register");
}

static bool
dest_pred(struct decoder *d, const struct ptx_operand *o, uint32_t *ref)
{
    *ref = REF_NONE;
    if (o->kind == PTX_OPD_SINK || o->kind == PTX_OPD_NONE)
        return true;
    *ref = decode_operand(d, o, PTX_PRED);
    return *ref != REF_NONE;
}

static bool
source32(struct decoder *d, const struct ptx_operand *o, uint32_t *ref)
{
    bool wide;
    *ref = decode_row(d, o, PTX_B32, &wide);
    if (*ref == REF_NONE)
        return false;
    return !wide ||
           decode_refuse(d, "the operand must be a 32-bit register or a constant");
}

static bool
dec_vote(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    bool sync = decode_has(in, "sync");
    if (!operands(d, sync ? 3 : 2))
        return false;
    o->sub = decode_has(in, "ballot") ? VOTE_BALLOT
             : decode_has(in, "all")  ? VOTE_ALL
             : decode_has(in, "any")  ? VOTE_ANY
                                      : VOTE_UNI;
    if (o->sub == VOTE_BALLOT ? !dest32(d, &in->ops[0], &o->d[0])
                              : !dest_pred(d, &in->ops[0], &o->d[0]))
        return false;
    if (o->d[0] == REF_NONE)
        return decode_refuse(d, "vote needs a destination");
    o->s[0] = source_pred(d, &in->ops[1], &o->aux);
    o->s[1] = REF_NONE;
    if (sync && !source32(d, &in->ops[2], &o->s[1]))
        return false;
    o->fn = h_vote;
    d->out->form = FORM_WARP;
    return o->s[0] != REF_NONE;
}

/* Operands of "d|p, a, ...": whether the second is the predicate. */
static bool
has_pair(const struct decoder *d, unsigned without)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->in->nops; i++)
        n += i == 1 || d->in->ops[i].kind != PTX_OPD_NONE;
    return n > without;
}

static bool
dec_shfl(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    bool sync = decode_has(in, "sync");
    unsigned nsrc = sync ? 4 : 3, at = has_pair(d, nsrc + 1) ? 2 : 1;
    if (in->nops < at + nsrc)
        return decode_refuse(d, "operands are missing");
    o->sub = decode_has(in, "up")     ? SHFL_UP
             : decode_has(in, "down") ? SHFL_DOWN
             : decode_has(in, "bfly") ? SHFL_BFLY
                                      : SHFL_IDX;
    o->d[1] = REF_NONE;
    o->s[3] = REF_NONE;
    if (!dest32(d, &in->ops[0], &o->d[0]) ||
        (at == 2 && !dest_pred(d, &in->ops[1], &o->d[1])))
        return false;
    for (unsigned i = 0; i < nsrc; i++)
        if (!source32(d, &in->ops[at + i], &o->s[i]))
            return false;
    o->fn = h_shfl;
    d->out->form = FORM_WARP;
    return true;
}

static bool
dec_match(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    unsigned at = has_pair(d, 3) ? 2 : 1;
    if (in->nops < at + 2)
        return decode_refuse(d, "operands are missing");
    o->sub = decode_has(in, "all") ? MATCH_ALL : MATCH_ANY;
    o->d[1] = REF_NONE;
    if (!dest32(d, &in->ops[0], &o->d[0]) ||
        (at == 2 && !dest_pred(d, &in->ops[1], &o->d[1])))
        return false;
    bool wide;
    o->s[0] = decode_row(d, &in->ops[at], in->type[0], &wide);
    o->esize = wide ? 8 : 4;
    o->fn = h_match;
    d->out->form = FORM_WARP;
    return o->s[0] != REF_NONE && source32(d, &in->ops[at + 1], &o->s[1]);
}

static bool
dec_redux(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    if (!operands(d, 3))
        return false;
    int op = decode_atom_op(in);
    if (op < 0 || op > AT_MAX)
        return decode_refuse(d, "this reduction is not supported");
    o->sub = (uint8_t)op;
    o->type = in->type[0];
    o->aux =
        (in->mod[PTX_MG_ABS] ? REDUX_ABS : 0) | (in->mod[PTX_MG_NAN_] ? REDUX_NAN : 0);
    o->fn = h_redux;
    d->out->form = FORM_WARP;
    if (!dest32(d, &in->ops[0], &o->d[0]))
        return false;
    if (o->d[0] == REF_NONE)
        return decode_refuse(d, "redux needs a destination");
    return source32(d, &in->ops[1], &o->s[0]) && source32(d, &in->ops[2], &o->s[1]);
}

static bool
dec_activemask(struct decoder *d)
{
    d->out->fn = h_activemask;
    d->out->form = FORM_PURE;
    if (!operands(d, 1) || !dest32(d, &d->in->ops[0], &d->out->d[0]))
        return false;
    return d->out->d[0] != REF_NONE || decode_refuse(d, "activemask needs a destination");
}

static bool
dec_elect(struct decoder *d)
{
    d->out->fn = h_elect;
    d->out->form = FORM_WARP;
    return operands(d, 3) && dest32(d, &d->in->ops[0], &d->out->d[0]) &&
           dest_pred(d, &d->in->ops[1], &d->out->d[1]) &&
           source32(d, &d->in->ops[2], &d->out->s[0]);
}

bool
decode_warp_sync(struct decoder *d)
{
    d->out->fn = h_warp_sync;
    d->out->s[0] = REF_NONE;
    return d->in->nops < 1 || d->in->ops[0].kind == PTX_OPD_NONE ||
           source32(d, &d->in->ops[0], &d->out->s[0]);
}

static bool
dec_clock(struct decoder *d, const struct ptx_operand *src)
{
    bool wide;
    d->out->d[0] = decode_row(d, &d->in->ops[0], d->in->type[0], &wide);
    d->out->esize = wide ? 8 : 4;
    d->out->type = (uint8_t)src->sreg;
    d->out->fn = h_clock;
    d->p->in_turn = true;
    return d->out->d[0] != REF_NONE;
}

static bool
dec_vector(struct decoder *d, const struct ptx_operand *whole,
           const struct ptx_operand *v, bool pack)
{
    struct exec_inst *o = d->out;
    unsigned bytes = ptx_type_bytes(d->in->type[0]);
    bool wide;
    if (v->n != 2 && v->n != 4 && v->n != 8)
        return decode_refuse(d, "a vector of mov has 2 or 4 elements");
    if (v->n > 4 || !bytes || bytes > 8 || bytes / v->n == 0)
        return decode_refuse(d, "mov of this type and vector is not supported");
    o->base = decode_row(d, whole, d->in->type[0], &wide);
    if (o->base == REF_NONE)
        return false;
    o->aux = wide;
    o->nvec = v->n;
    o->esize = (uint8_t)(bytes / v->n);
    static const uint8_t of_size[9] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32};
    for (unsigned e = 0; e < v->n; e++) {
        if (v->vec[e].kind == PTX_OPD_SINK && !pack) {
            o->data[e] = REF_NONE;
            continue;
        }
        o->data[e] = decode_row(d, &v->vec[e], of_size[o->esize], &wide);
        if (o->data[e] == REF_NONE)
            return false;
        o->dwide |= (uint16_t)(wide << e);
    }
    o->fn = pack ? h_pack : h_unpack;
    o->form = FORM_PURE;
    return true;
}

/* A symbol's address into a register; `add`: the window's base. */
static bool
dec_address(struct decoder *d, const struct ptx_operand *src, uint64_t add)
{
    struct exec_inst *o = d->out;
    bool wide;
    uint32_t dst = decode_row(d, &d->in->ops[0], d->in->type[0], &wide);
    uint64_t v;
    bool frame;
    if (dst == REF_NONE || !decode_symbol(d, src, &v, &frame))
        return false;
    o->data[0] = dst;
    o->base = wide ? 8 : 4;
    o->value = v + add;
    o->flags |= frame ? IF_FRAME : 0;
    o->fn = h_set;
    o->form = frame ? FORM_PURE : FORM_SET;
    return true;
}

static bool
dec_mov(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    if (!operands(d, 2))
        return false;
    const struct ptx_operand *dst = &in->ops[0], *src = &in->ops[1];
    if (dst->kind == PTX_OPD_VEC && src->kind != PTX_OPD_VEC)
        return dec_vector(d, src, dst, false);
    if (src->kind == PTX_OPD_VEC)
        return dec_vector(d, dst, src, true);
    if (src->kind == PTX_OPD_SYM || src->kind == PTX_OPD_FUNCSYM)
        return dec_address(d, src, 0);
    if (src->kind == PTX_OPD_SREG && src->sreg >= PTX_SREG_CLOCK &&
        src->sreg <= PTX_SREG_GLOBALTIMER_HI)
        return dec_clock(d, src);
    if (in->type[0] == PTX_PRED)
        return decode_pure(d);
    bool to, from;
    o->d[0] = decode_row(d, dst, in->type[0], &to);
    o->s[0] = decode_row(d, src, in->type[0], &from);
    if (o->d[0] == REF_NONE || o->s[0] == REF_NONE)
        return false;
    unsigned bytes = ptx_type_bytes(in->type[0]);
    o->nvec = (uint8_t)(bytes > 8 ? 8 : bytes);
    o->aux = (uint32_t)from | (uint32_t)to << 1;
    bool narrow = bytes < 4 && decode_operand_type(d, src) &&
                  ptx_type_bytes(decode_operand_type(d, src)) > bytes;
    if (bytes > 8)
        return decode_refuse(d, "128-bit values are not supported");
    bool other = to != from || narrow;
    o->fn = other ? h_mov_any : to ? h_mov64 : h_mov32;
    o->form = other ? FORM_PURE : to ? FORM_MOV64 : FORM_MOV32;
    return true;
}

static unsigned
window(unsigned space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
        return DEV_SHARED_BASE;
    case PTX_SPACE_LOCAL:
        return DEV_LOCAL_BASE;
    case PTX_SPACE_CONST:
        return DEV_CONST_BASE;
    case PTX_SPACE_PARAM:
        return DEV_PARAM_BASE;
    default:
        return 0;
    }
}

static bool
dec_cvta(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    if (!operands(d, 2))
        return false;
    const struct ptx_operand *src = &in->ops[1];
    /* A function's parameter has its address in local memory. */
    bool copied =
        src->kind == PTX_OPD_SYM && src->var && src->var->is_param && !d->fi->f->is_entry;
    uint64_t base = window(copied ? PTX_SPACE_LOCAL : ptx_inst_space(in));
    bool to = decode_has(in, "to"), wide_d, wide_s;
    if (src->kind == PTX_OPD_SYM)
        return dec_address(d, src, to ? -base : base);
    uint32_t dst = decode_row(d, &in->ops[0], in->type[0], &wide_d);
    uint32_t from = decode_row(d, src, in->type[0], &wide_s);
    if (dst == REF_NONE || from == REF_NONE)
        return false;
    if (!base && wide_d == wide_s) {
        o->d[0] = dst;
        o->s[0] = from;
        o->fn = wide_d ? h_mov64 : h_mov32;
        o->form = wide_d ? FORM_MOV64 : FORM_MOV32;
        return true;
    }
    o->data[0] = dst;
    o->base = from;
    o->value = to ? -base : base;
    o->aux = (uint32_t)wide_s | (uint32_t)wide_d << 1;
    o->fn = h_cvta;
    o->form = FORM_PURE;
    return true;
}

static bool
dec_isspacep(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    bool wide;
    if (!operands(d, 2) || !dest_pred(d, &in->ops[0], &d->out->d[0]))
        return false;
    if (d->out->d[0] == REF_NONE)
        return decode_refuse(d, "isspacep needs a destination");
    d->out->s[0] = decode_row(d, &in->ops[1], PTX_U64, &wide);
    d->out->aux = wide;
    d->out->space = (uint8_t)ptx_inst_space(in);
    if (in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_SHARED_CLUSTER)
        d->out->flags |= IF_CLUSTER;
    d->out->fn = h_isspacep;
    d->out->form = FORM_PURE;
    if (!d->out->space)
        return decode_refuse(d, "isspacep needs a state space");
    return d->out->s[0] != REF_NONE;
}

const struct decode_row decode_warp[] = {
    {"vote", dec_vote},   {"shfl", dec_shfl},   {"match", dec_match},
    {"redux", dec_redux}, {"elect", dec_elect}, {"activemask", dec_activemask},
    {"mov", dec_mov},     {"cvta", dec_cvta},   {"isspacep", dec_isspacep},
    {NULL, NULL},
};
