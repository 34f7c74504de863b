/* choose.c: choices from the stream; registers and literals by choice. */
#include "generate.h"

bool
gen_ended(const struct gen *g)
{
    return g->data && g->at >= g->size;
}

uint32_t
gen_pick(struct gen *g, uint32_t n)
{
    if (!g->data)
        return (uint32_t)((splitmix_next(&g->state) >> 32) * n >> 32);
    uint32_t v = 0;
    for (uint32_t left = n - 1; left && g->at < g->size; left >>= 8)
        v = v << 8 | g->data[g->at++];
    return v % n;
}

bool
gen_chance(struct gen *g, uint32_t percent)
{
    return gen_pick(g, 100) >= 100 - percent;
}

uint64_t
gen_literal_bits(struct gen *g, unsigned cls)
{
    static const uint64_t edge[] = {0,
                                    1,
                                    2,
                                    31,
                                    32,
                                    63,
                                    255,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff};
    static const double number[] = {0,   -0.0, 1,      -1,       0.5, 3,     -7.25,
                                    100, 1e10, 1e-300, 0x1p-149, 0.1, -1e38, 65504};
    uint64_t v = 0;
    if (cls >= RK_F && gen_chance(g, 75)) {
        double x = number[gen_pick(g, sizeof number / sizeof *number)];
        float f = (float)x;
        if (cls == RK_F)
            memcpy(&v, &f, sizeof f);
        else
            memcpy(&v, &x, sizeof x);
        return v;
    }
    switch (gen_pick(g, 4)) {
    case 0:
        return gen_pick(g, 16);
    case 1:
        v = edge[gen_pick(g, sizeof edge / sizeof *edge)];
        break;
    case 2:
        v = (uint64_t)0 - gen_pick(g, 256);
        break;
    default:
        v = (uint64_t)gen_pick(g, 1u << 16) << 48 |
            (uint64_t)gen_pick(g, 1u << 16) << 32 | gen_pick(g, 1u << 16) << 16 |
            gen_pick(g, 1u << 16);
    }
    return rk_cut(v, rk_bits(cls));
}

/* -- registers -- */

uint32_t
gen_new_var(struct gen *g, unsigned cls)
{
    struct rk_func *f = g->f;
    RK_MUST(f->nvars < RK_MAX_VARS);
    f->cls[f->nvars] = (uint8_t)cls;
    f->decl[f->nvars] = (uint8_t)gen_pick(g, 3);
    return f->nvars++;
}

void
gen_readable(struct gen *g, unsigned cls, uint32_t var)
{
    g->read[cls][g->nread[cls]++] = var;
}

struct rk_src
gen_from_var(uint32_t var)
{
    return (struct rk_src){.var = var};
}

struct rk_src
gen_literal(uint64_t value)
{
    return (struct rk_src){.literal = true, .value = value};
}

struct rk_src
gen_read_var(struct gen *g, unsigned cls)
{
    return gen_from_var(g->read[cls][gen_pick(g, g->nread[cls])]);
}

struct rk_src
gen_source(struct gen *g, unsigned cls)
{
    if (cls != RK_P && gen_chance(g, 25))
        return gen_literal(gen_literal_bits(g, cls));
    return gen_read_var(g, cls);
}

uint32_t
gen_write_var(struct gen *g, unsigned cls)
{
    return g->write[cls][gen_pick(g, g->nwrite[cls])];
}

uint32_t
gen_result_var(struct gen *g, unsigned cls, bool *fresh)
{
    *fresh = g->f->nvars < RK_MAX_VARS / 2 && gen_chance(g, 40);
    return *fresh ? gen_new_var(g, cls) : gen_write_var(g, cls);
}

unsigned
gen_write_vars(struct gen *g, unsigned cls, unsigned n, uint32_t *to)
{
    if (n > g->nwrite[cls])
        n = g->nwrite[cls];
    uint32_t from = gen_pick(g, g->nwrite[cls]);
    for (unsigned i = 0; i < n; i++)
        to[i] = g->write[cls][(from + i) % g->nwrite[cls]];
    return n;
}

/* -- statements -- */

struct rk_stmt *
gen_add(struct gen *g, struct rk_list *l, enum rk_kind kind, const struct ctx *c)
{
    struct rk_stmt *s = ARENA_NEW(&g->k->mem, struct rk_stmt);
    s->kind = kind;
    s->guard = -1;
    for (int i = 0; i < 4; i++)
        s->body[i].end = &s->body[i].first;
    *l->end = s;
    l->end = &s->next;
    g->cost += c->times;
    return s;
}

void
gen_maybe_guard(struct gen *g, struct rk_stmt *s)
{
    if (gen_chance(g, 15)) {
        s->guard = (int32_t)gen_read_var(g, RK_P).var;
        s->guard_not = gen_chance(g, 50);
    }
}

struct rk_stmt *
gen_add_row(struct gen *g, struct rk_list *l, const struct ctx *c, unsigned row)
{
    struct rk_stmt *s = gen_add(g, l, RK_OP, c);
    s->row = (uint16_t)row;
    return s;
}

unsigned
gen_row(const char *text, const char *classes)
{
    unsigned i = rk_op_find(text, classes);
    RK_MUST(i < rk_nops);
    return i;
}
