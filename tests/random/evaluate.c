/* evaluate.c: what a kernel must leave in memory, computed from its tree.
 *
 * Block after block, and in a block one statement after the other, each for all of its
 * threads that come there: such an order exists on a GPU too, and a kernel's result does
 * not depend on the order (generate.c). No part of the executor is used. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

struct eval {
    const struct rk_kernel *k;
    uint32_t n; /* threads of a block */
    uint32_t block;
    uint8_t *shared[RK_MAX_SHARED], *acc, *slots;
};

/* A function that runs. Arrays of n threads: [register][thread], [thread]. */
struct frame {
    const struct rk_func *f;
    uint64_t *v, *result[2];
    uint8_t *local;
    bool *next, *out; /* threads on their way to the innermost loop's next pass, or end */
};

static void run_list(struct eval *e, struct frame *f, const struct rk_list *l, bool *on);

static uint64_t
value(const struct eval *e, const struct frame *f, const struct rk_src *s, uint32_t t)
{
    return s->literal ? s->value : f->v[s->var * e->n + t];
}

static void
set(const struct eval *e, struct frame *f, uint32_t var, uint32_t t, uint64_t v)
{
    f->v[var * e->n + t] = rk_cut(v, rk_bits(f->f->cls[var]));
}

static bool
passes(const struct eval *e, const struct frame *f, const struct rk_stmt *s, uint32_t t)
{
    return s->guard < 0 || (bool)f->v[(uint32_t)s->guard * e->n + t] != s->guard_not;
}

static uint8_t *
place(const struct eval *e, const struct frame *f, const struct rk_addr *a, uint32_t t)
{
    uint64_t half = a->span / 2 / a->unit;
    uint64_t i = (value(e, f, &a->index, t) & (half - 1)) + (a->upper ? half : 0);
    uint64_t gtid = (uint64_t)e->block * e->n + t, at = i * a->unit;
    switch (a->space) {
    case RK_IN:
        return (uint8_t *)(uintptr_t)e->k->input + at;
    case RK_SLOT:
        return e->slots + gtid * e->k->slot + at;
    case RK_LOCAL:
        return f->local + t * RK_REGION + at;
    case RK_CONST:
        return (uint8_t *)(uintptr_t)e->k->constants + at;
    case RK_TABLE:
        return (uint8_t *)(uintptr_t)e->k->table + at;
    case RK_SHARED:
        return e->shared[a->shared] + (a->whole ? 0 : t * e->k->shared[a->shared].part) +
               at;
    default:
        return e->acc + a->shared * RK_ACC_BYTES + at;
    }
}

static void
run_op(struct eval *e, struct frame *f, const struct rk_stmt *s, uint32_t t)
{
    struct rk_thread self = {t, e->block, e->n, e->k->blocks};
    uint64_t second = 0;
    uint64_t v =
        rk_op_value(s->row, value(e, f, &s->src[0], t), value(e, f, &s->src[1], t),
                    value(e, f, &s->src[2], t), &second, &self);
    set(e, f, s->dst[0], t, v);
    if (s->ndst > 1)
        set(e, f, s->dst[1], t, second);
}

static void
run_memory(struct eval *e, struct frame *f, const struct rk_stmt *s, uint32_t t)
{
    uint8_t *at = place(e, f, &s->addr, t);
    if (s->kind == RK_ATOM) {
        const struct rk_atom *a = &rk_atoms[s->row];
        uint64_t old = 0;
        memcpy(&old, at, a->bytes);
        uint64_t v = rk_atom_value(s->row, old, value(e, f, &s->src[0], t),
                                   value(e, f, &s->src[1], t));
        memcpy(at, &v, a->bytes);
        if (s->n)
            set(e, f, s->dst[0], t, old);
        return;
    }
    const struct rk_type *y = &rk_types[s->row];
    for (unsigned i = 0; i < s->n; i++, at += y->bytes) {
        uint64_t v = s->kind == RK_STORE ? value(e, f, &s->src[i], t) : 0;
        if (s->kind == RK_STORE) {
            memcpy(at, &v, y->bytes);
            continue;
        }
        memcpy(&v, at, y->bytes);
        if (y->is_signed)
            v = (uint64_t)((int64_t)(v << (64 - 8 * y->bytes)) >> (64 - 8 * y->bytes));
        set(e, f, s->dst[i], t, v);
    }
}

/* One warp's lanes [first, first + lanes) of the block, of which `mask` take part: they are
 * there and name each other. Results to out and out2. */
static void
run_group(struct eval *e, struct frame *f, const struct rk_stmt *s, uint32_t first,
          uint32_t lanes, uint32_t mask, uint64_t *out, uint64_t *out2)
{
    uint64_t in[32] = {0};
    uint32_t all = 0; /* of a vote: lanes with true */
    for (uint32_t i = 0; i < lanes; i++)
        if (mask >> i & 1) {
            /* The kernel names lanes that come here, which name the same. */
            RK_MUST((uint32_t)value(e, f, &s->mask, first + i) == mask);
            in[i] = value(e, f, &s->src[0], first + i);
            all |= (uint32_t)((in[i] == 0) == s->form) << i;
        }
    for (uint32_t i = 0; i < lanes; i++) {
        if (!(mask >> i & 1))
            continue;
        uint32_t b = (uint32_t)value(e, f, &s->src[1], first + i) & 31;
        uint32_t c = (uint32_t)value(e, f, &s->src[2], first + i), clamp = c & 31,
                 segment = c >> 8 & 31;
        uint32_t most = (i & segment) | (clamp & ~segment), least = i & segment, from = i;
        bool inside = true;
        uint64_t r = in[i];
        switch (s->row) {
        case RK_SHFL_UP:
            inside = (int)(i - b) >= (int)most;
            from = i - b;
            break;
        case RK_SHFL_DOWN:
            from = i + b;
            inside = from <= most;
            break;
        case RK_SHFL_BFLY:
            from = i ^ b;
            inside = from <= most;
            break;
        case RK_SHFL_IDX:
            from = least | (b & ~segment);
            inside = from <= most;
            break;
        case RK_ALL:
            r = all == mask;
            break;
        case RK_ANY:
            r = all != 0;
            break;
        case RK_UNI:
            r = all == mask || !all;
            break;
        case RK_BALLOT:
            r = all;
            break;
        default:
            for (uint32_t j = 0, same = 0; j < lanes; j++) {
                if (!(mask >> j & 1))
                    continue;
                int32_t x = (int32_t)r, y = (int32_t)in[j];
                same |= (uint32_t)(in[i] == in[j]) << j;
                out[i] = same;
                out2[i] = same == mask;
                if (j == i)
                    continue;
                r = s->row == RK_REDUX_ADD    ? r + in[j]
                    : s->row == RK_REDUX_MIN  ? (uint64_t)(x < y ? x : y)
                    : s->row == RK_REDUX_MAX  ? (uint64_t)(x > y ? x : y)
                    : s->row == RK_REDUX_UMIN ? (r < in[j] ? r : in[j])
                    : s->row == RK_REDUX_UMAX ? (r > in[j] ? r : in[j])
                    : s->row == RK_REDUX_AND  ? r & in[j]
                    : s->row == RK_REDUX_OR   ? r | in[j]
                                              : r ^ in[j];
                r = rk_cut(r, 32);
            }
            if (s->row == RK_MATCH_ANY32 || s->row == RK_MATCH_ANY64)
                r = out[i];
            else if (s->row == RK_MATCH_ALL32)
                r = out2[i] ? mask : 0;
        }
        if (s->row <= RK_SHFL_IDX) {
            r = in[inside ? from : i];
            out2[i] = inside;
            RK_MUST(mask >> (inside ? from : i) & 1);
        }
        out[i] = r;
    }
}

/* The lanes of `mask` come here; those with one member mask are a group. */
static void
run_warp(struct eval *e, struct frame *f, const struct rk_stmt *s, uint32_t first,
         uint32_t lanes, uint32_t mask)
{
    uint64_t out[32] = {0}, out2[32] = {0};
    for (uint32_t i = 0, done = 0; i < lanes; i++)
        if ((mask & ~done) >> i & 1) {
            uint32_t group = (uint32_t)value(e, f, &s->mask, first + i);
            RK_MUST(group >> i & 1 && !(group & (done | ~mask)));
            run_group(e, f, s, first, lanes, group, out, out2);
            done |= group;
        }
    for (uint32_t i = 0; i < lanes; i++)
        if (mask >> i & 1) {
            if (s->ndst)
                set(e, f, s->dst[0], first + i, out[i]);
            if (s->ndst > 1)
                set(e, f, s->dst[1], first + i, out2[i]);
        }
}

static void
run_barrier(struct eval *e, struct frame *f, const struct rk_stmt *s, const bool *on)
{
    uint32_t with = 0;
    for (uint32_t t = 0; t < e->n; t++) {
        RK_MUST(on[t]); /* barriers stand where all threads pass */
        with += s->row >= RK_BAR_POPC && value(e, f, &s->src[0], t);
    }
    for (uint32_t t = 0; t < e->n && s->row >= RK_BAR_POPC; t++)
        set(e, f, s->dst[0], t,
            s->row == RK_BAR_POPC  ? with
            : s->row == RK_BAR_AND ? with == e->n
                                   : with > 0);
}

static bool *
some(const struct eval *e)
{
    return xcalloc(e->n, sizeof(bool));
}

static bool
any(const struct eval *e, const bool *on)
{
    for (uint32_t t = 0; t < e->n; t++)
        if (on[t])
            return true;
    return false;
}

/* Threads that `take` leave `on` and run the body; those that get to its end come back.
 */
static void
run_body(struct eval *e, struct frame *f, const struct rk_list *l, bool *on, bool *take)
{
    for (uint32_t t = 0; t < e->n; t++)
        on[t] = on[t] && !take[t];
    if (any(e, take))
        run_list(e, f, l, take);
    for (uint32_t t = 0; t < e->n; t++)
        on[t] = on[t] || take[t];
}

static void
run_if(struct eval *e, struct frame *f, const struct rk_stmt *s, bool *on)
{
    bool *yes = some(e), *no = some(e);
    for (uint32_t t = 0; t < e->n; t++) {
        yes[t] = on[t] && passes(e, f, s, t);
        no[t] = on[t] && !yes[t];
    }
    run_body(e, f, &s->body[0], on, yes);
    run_body(e, f, &s->body[1], on, no);
    free(yes);
    free(no);
}

/* Threads that return from the function are in `out` of no loop. */
static void
run_loop(struct eval *e, struct frame *f, const struct rk_stmt *s, bool *on)
{
    bool *next = some(e), *out = some(e), *was_next = f->next, *was_out = f->out;
    uint32_t i = s->dst[0];
    for (uint32_t t = 0; t < e->n; t++)
        if (on[t])
            set(e, f, i, t, 0);
    f->next = next;
    f->out = out;
    for (bool first = true; any(e, on); first = false) {
        for (uint32_t t = 0; t < e->n; t++)
            if (on[t] && !(first && s->form) &&
                f->v[i * e->n + t] >= value(e, f, &s->src[0], t)) {
                out[t] = true;
                on[t] = false;
            }
        memset(next, 0, e->n * sizeof *next);
        if (any(e, on))
            run_list(e, f, &s->body[0], on);
        for (uint32_t t = 0; t < e->n; t++) {
            on[t] = on[t] || next[t];
            if (on[t])
                set(e, f, i, t, f->v[i * e->n + t] + 1);
        }
    }
    f->next = was_next;
    f->out = was_out;
    memcpy(on, out, e->n * sizeof *on);
    free(next);
    free(out);
}

static void
run_tangle(struct eval *e, struct frame *f, const struct rk_stmt *s, bool *on)
{
    bool *second = some(e), *take = some(e), *done = some(e);
    uint32_t i = s->dst[0];
    for (uint32_t t = 0; t < e->n; t++) {
        second[t] = passes(e, f, s, t);
        if (on[t])
            set(e, f, i, t, 0);
    }
    while (any(e, on)) {
        for (uint32_t t = 0; t < e->n; t++)
            take[t] = on[t] && !second[t];
        run_body(e, f, &s->body[0], on, take);
        if (any(e, on))
            run_list(e, f, &s->body[1], on);
        for (uint32_t t = 0; t < e->n; t++) {
            second[t] = false;
            if (!on[t])
                continue;
            set(e, f, i, t, f->v[i * e->n + t] + 1);
            done[t] = f->v[i * e->n + t] >= value(e, f, &s->src[0], t);
            on[t] = !done[t];
        }
    }
    memcpy(on, done, e->n * sizeof *on);
    free(second);
    free(take);
    free(done);
}

static void
run_gather(struct eval *e, struct frame *f, const struct rk_stmt *s, uint32_t t)
{
    uint32_t n = (uint32_t)value(e, f, &s->src[0], t) & s->n,
             i = (uint32_t)value(e, f, &s->src[1], t), sum = 0, v;
    for (uint32_t j = 0; j < n; j++) {
        memcpy(&v, e->k->input + 4 * (i % (RK_INPUT_BYTES / 4)), 4);
        sum += v;
        i = s->form ? v + j : i + RK_GATHER_STEP;
    }
    set(e, f, s->dst[0], t, sum);
}

static void
run_switch(struct eval *e, struct frame *f, const struct rk_stmt *s, bool *on)
{
    bool *in = some(e), *fall = some(e), *done = some(e);
    for (unsigned c = 0; c < s->n; c++) {
        for (uint32_t t = 0; t < e->n; t++)
            in[t] = fall[t] || (on[t] && value(e, f, &s->src[0], t) % s->n == c);
        /* `on` must still tell the cases to come apart from those that left. */
        for (uint32_t t = 0; t < e->n; t++)
            on[t] = on[t] && !in[t];
        if (any(e, in))
            run_list(e, f, &s->body[c], in);
        for (uint32_t t = 0; t < e->n; t++) {
            fall[t] = in[t] && s->form >> c & 1;
            done[t] = done[t] || (in[t] && !fall[t]);
        }
    }
    for (uint32_t t = 0; t < e->n; t++)
        on[t] = on[t] || done[t] || fall[t];
    free(in);
    free(fall);
    free(done);
}

static void
new_frame(const struct eval *e, struct frame *f, const struct rk_func *func)
{
    *f = (struct frame){.f = func};
    f->v = xcalloc((size_t)func->nvars * e->n, 8);
    f->local = xmalloc((size_t)e->n * RK_REGION);
    for (size_t i = 0; i < (size_t)e->n * RK_REGION; i += 4)
        memcpy(f->local + i, &func->local_fill, 4);
    for (int i = 0; i < 2; i++)
        f->result[i] = xcalloc(e->n, 8);
}

static void
free_frame(struct frame *f)
{
    free(f->v);
    free(f->local);
    free(f->result[0]);
    free(f->result[1]);
}

static void
run_call(struct eval *e, struct frame *f, const struct rk_stmt *s, const bool *on)
{
    const struct rk_func *to = e->k->funcs[s->row];
    struct frame g;
    bool *in = some(e);
    new_frame(e, &g, to);
    memcpy(in, on, e->n * sizeof *on);
    for (uint32_t t = 0; t < e->n; t++)
        for (unsigned i = 0; on[t] && i < to->nparams; i++)
            set(e, &g, to->params[i], t, value(e, f, &s->src[i], t));
    run_list(e, &g, &to->body, in);
    for (uint32_t t = 0; t < e->n; t++)
        for (int i = 0; on[t] && i < s->ndst; i++)
            set(e, f, s->dst[i], t, g.result[i][t]);
    free_frame(&g);
    free(in);
}

static void
run_stmt(struct eval *e, struct frame *f, const struct rk_stmt *s, bool *on)
{
    switch (s->kind) {
    case RK_IF:
        run_if(e, f, s, on);
        return;
    case RK_LOOP:
        run_loop(e, f, s, on);
        return;
    case RK_SWITCH:
        run_switch(e, f, s, on);
        return;
    case RK_TANGLE:
        run_tangle(e, f, s, on);
        return;
    case RK_DEAD:
        return;
    case RK_CALL:
        run_call(e, f, s, on);
        return;
    case RK_BARRIER:
        run_barrier(e, f, s, on);
        return;
    case RK_WARP:
        for (uint32_t first = 0; first < e->n; first += 32) {
            uint32_t lanes = e->n - first < 32 ? e->n - first : 32, mask = 0;
            for (uint32_t i = 0; i < lanes; i++)
                mask |= (uint32_t)on[first + i] << i;
            if (mask && s->row != RK_WARP_BARRIER)
                run_warp(e, f, s, first, lanes, mask);
        }
        return;
    default:
        break;
    }
    for (uint32_t t = 0; t < e->n; t++) {
        if (!on[t] || !passes(e, f, s, t))
            continue;
        switch (s->kind) {
        case RK_OP:
            run_op(e, f, s, t);
            break;
        case RK_GATHER:
            run_gather(e, f, s, t);
            break;
        case RK_LOAD:
        case RK_STORE:
        case RK_ATOM:
            run_memory(e, f, s, t);
            break;
        case RK_CONTINUE:
            f->next[t] = true;
            on[t] = false;
            break;
        case RK_BREAK:
            f->out[t] = true;
            on[t] = false;
            break;
        case RK_RETURN:
            for (unsigned i = 0; i < f->f->nresults; i++)
                f->result[i][t] = value(e, f, &s->src[i], t);
            on[t] = false;
            break;
        default: /* RK_EXIT */
            on[t] = false;
        }
    }
}

static void
run_list(struct eval *e, struct frame *f, const struct rk_list *l, bool *on)
{
    for (const struct rk_stmt *s = l->first; s; s = s->next)
        run_stmt(e, f, s, on);
}

static void
run_block(struct eval *e)
{
    const struct rk_kernel *k = e->k;
    struct frame f;
    bool *on = some(e);
    new_frame(e, &f, k->funcs[0]);
    for (uint32_t t = 0; t < e->n; t++) {
        uint32_t left = e->n - (t & ~31u);
        uint64_t start[] = {t,
                            t & 31,
                            e->block,
                            e->n,
                            (uint64_t)e->block * e->n + t,
                            left > 31 ? UINT32_MAX : (1u << left) - 1};
        for (uint32_t i = 0; i < RK_SPECIALS; i++)
            set(e, &f, i, t, start[i]);
        for (uint32_t i = 0; i < k->funcs[0]->nparams; i++)
            set(e, &f, k->funcs[0]->params[i], t, k->scalars[i]);
        on[t] = true;
    }
    for (unsigned i = 0; i < k->nshared; i++) {
        uint32_t part = k->shared[i].part;
        e->shared[i] = xmalloc((size_t)part * e->n);
        for (uint32_t at = 0; at < part * e->n; at += 4) {
            uint32_t v = at / part + k->shared_fill + i;
            memcpy(e->shared[i] + at, &v, 4);
        }
    }
    run_list(e, &f, &k->funcs[0]->body, on);
    for (uint32_t t = 0; t < e->n; t++)
        for (uint32_t i = 0; on[t] && i < k->ndump; i++) {
            unsigned cls = k->funcs[0]->cls[k->dump[i]];
            uint64_t v = f.v[k->dump[i] * e->n + t];
            memcpy(e->slots + ((uint64_t)e->block * e->n + t) * k->slot + RK_REGION +
                       8 * i,
                   &v, cls == RK_P ? 4 : rk_bits(cls) / 8);
        }
    for (unsigned i = 0; i < k->nshared; i++)
        free(e->shared[i]);
    free_frame(&f);
    free(on);
}

uint8_t *
rk_evaluate(const struct rk_kernel *k)
{
    uint8_t *m = rk_initial(k);
    struct eval e = {
        .k = k, .n = k->threads, .acc = m, .slots = m + rk_launch(k).acc_bytes};
    for (; e.block < k->blocks; e.block++)
        run_block(&e);
    return m;
}
