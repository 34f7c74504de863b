/* generate.c: draws a kernel from a stream of choices.
 *
 * Why no kernel has a race. Input, constants and tables are only read. A thread writes
 * its own slot, its own .local variables, and accumulators, to which each operation adds
 * in an order that does not matter and whose old value nobody reads. A .shared variable
 * is, between two barriers, in one of three modes: every thread uses its own part of it;
 * every thread reads all of it; every thread adds to it with one such operation. Barriers
 * stand where all threads of a block pass; a body of a loop or branch leaves the modes as
 * it found them. Warp operations name lanes that are there: the tree knows them by a
 * ballot taken before the branch, and names all of them, or each lane's group (a tile,
 * lanes with the same predicate or value), or the lane alone. Loops are bounded by their
 * counters; one of compare and swap by the lanes that succeed. */
#include "generate.h"

/* Registers that the body may use, with a value each from the start. */
static void
gen_pool(struct gen *g, const struct ctx *c)
{
    static const uint8_t most[2][RK_CLASSES] = {{4, 3, 8, 4, 4, 3},
                                                {8, 6, 40, 16, 16, 8}};
    bool wide = gen_chance(g, 30);
    for (unsigned n = RK_CLASSES; n-- > 0;) { /* predicates last: they come from others */
        unsigned count = 2 + gen_pick(g, most[wide][n]);
        for (unsigned i = 0; i < count; i++) {
            uint32_t v = gen_new_var(g, n);
            struct rk_list *l = &g->f->body;
            struct rk_stmt *s;
            if (n == RK_P) {
                s = gen_add_row(g, l, c, gen_row("setp.lt.s32", "p:WW"));
                s->src[0] = gen_read_var(g, RK_W);
                s->src[1] = gen_read_var(g, RK_W);
            } else if (gen_chance(g, 30)) {
                static const char *const texts[] = {"",        "mov.b16", "mov.b32",
                                                    "mov.b64", "mov.f32", "mov.f64"};
                static const char *const classes[] = {"",    "h:H", "w:W",
                                                      "d:D", "f:F", "g:G"};
                s = gen_add_row(g, l, c, gen_row(texts[n], classes[n]));
                s->src[0] = gen_literal(gen_literal_bits(g, n));
            } else {
                static const uint8_t types[] = {0, 11, 0, 3, 5, 6};
                s = gen_add(g, l, RK_LOAD, c);
                s->row = types[n];
                s->n = 1;
                s->addr = (struct rk_addr){.space = RK_IN,
                                           .upper = gen_chance(g, 50),
                                           .unit = rk_types[types[n]].bytes,
                                           .span = RK_INPUT_BYTES,
                                           .index = gen_read_var(g, RK_W)};
            }
            s->dst[s->ndst++] = v;
            gen_readable(g, n, v);
            g->write[n][g->nwrite[n]++] = v;
        }
    }
}

static struct rk_func *
new_func(struct gen *g, unsigned self)
{
    struct rk_func *f = ARENA_NEW(&g->k->mem, struct rk_func);
    f->body.end = &f->body.first;
    f->local_fill = (uint32_t)gen_literal_bits(g, RK_W);
    g->k->funcs[self] = g->f = f;
    g->self = self;
    g->cost = 0;
    g->nsame = 0;
    memset(g->nread, 0, sizeof g->nread);
    memset(g->nwrite, 0, sizeof g->nwrite);
    return f;
}

static void
gen_function(struct gen *g, unsigned self)
{
    struct rk_func *f = new_func(g, self);
    struct ctx c = {.times = 1, .depth = 1};
    f->nparams = 1 + gen_pick(g, 4);
    for (unsigned i = 0; i < f->nparams; i++) {
        unsigned cls = i ? RK_H + gen_pick(g, RK_CLASSES - 1) : RK_W;
        f->params[i] = gen_new_var(g, cls);
        gen_readable(g, cls, f->params[i]);
    }
    f->nresults = (uint8_t)(1 + gen_pick(g, 2));
    for (unsigned i = 0; i < f->nresults; i++)
        f->result[i] = (uint8_t)(RK_H + gen_pick(g, RK_CLASSES - 1));
    if (f->nresults == 2) {
        f->in_struct = true;
        for (unsigned i = 0; i < 2; i++) /* of 8 bytes */
            f->result[i] = f->result[i] & 1 ? RK_D : RK_G;
    }
    gen_pool(g, &c);
    g->budget = 4 + (int)gen_pick(g, 20);
    for (int i = 0; i < 4; i++)
        gen_list(g, &f->body, c);
    struct rk_stmt *s = gen_add(g, &f->body, RK_RETURN, &c);
    for (unsigned i = 0; i < f->nresults; i++)
        s->src[i] = gen_read_var(g, f->result[i]);
    f->cost = g->cost;
}

static void
gen_kernel(struct gen *g)
{
    struct rk_kernel *k = g->k;
    struct rk_func *f = new_func(g, 0);
    bool whole = k->threads % 32 == 0;
    struct ctx c = {.uniform = true, .warp = true, .times = 1};
    for (unsigned i = 0; i < RK_SPECIALS; i++)
        gen_readable(g, RK_W, gen_new_var(g, RK_W));
    c.mask = whole ? gen_literal(0xffffffff) : gen_from_var(RK_MASK);
    g->same[g->nsame++] = RK_CTAID;
    f->nparams = 1 + gen_pick(g, RK_MAX_PARAMS);
    for (unsigned i = 0; i < f->nparams; i++) {
        unsigned cls = i ? RK_H + gen_pick(g, RK_CLASSES - 1) : RK_W;
        f->params[i] = gen_new_var(g, cls);
        gen_readable(g, cls, f->params[i]);
        k->scalars[i] = i ? gen_literal_bits(g, cls) : gen_pick(g, 5);
    }
    g->same[g->nsame++] = f->params[0];
    gen_pool(g, &c);
    for (unsigned i = 0; i < k->nshared; i++)
        g->mode[i] = OWN;
    /* All warps of full SMs gather together. */
    if (k->blocks > 3)
        for (unsigned n = gen_pick(g, 6); n > 0; n--)
            gen_gather(g, &f->body, &c);
    g->budget = 10 + (int)gen_pick(g, 90);
    gen_list(g, &f->body, c);
    if (gen_chance(g, 40)) { /* some threads end early */
        struct rk_stmt *s = gen_add(g, &f->body, RK_IF, &c);
        struct ctx in = {.times = 1, .depth = 1};
        s->guard = (int32_t)gen_read_var(g, RK_P).var;
        g->budget = 10;
        gen_list(g, &s->body[0], in);
        gen_add(g, &s->body[0], RK_EXIT, &in);
        gen_list(g, &f->body, in);
    }
    f->cost = g->cost;
    k->dump = ARENA_ARRAY(&k->mem, uint32_t, f->nvars);
    for (unsigned n = 0; n < RK_CLASSES; n++)
        for (unsigned i = 0; i < g->nwrite[n]; i++)
            k->dump[k->ndump++] = g->write[n][i];
    k->slot = (RK_REGION + 8 * k->ndump + 15) / 16 * 16;
}

/* What a word of input holds: any bits, small numbers, floats of common size. */
static void
fill(struct rk_kernel *k, uint8_t *to, size_t n)
{
    uint64_t state = k->data;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = splitmix_next(&state), r = v >> 8;
        double d = ((double)(int64_t)r / 9007199254740992.0 - 1) * 100;
        float f[2] = {(float)d, (float)(r % 1000) / 8};
        switch (v & 3) {
        case 1:
            v = (r & 255) << 32 | (uint32_t) - (int32_t)(r >> 8 & 63);
            break;
        case 2:
            memcpy(&v, &d, sizeof v);
            break;
        case 3:
            memcpy(&v, f, sizeof v);
            break;
        }
        memcpy(to + i, &v, 8);
    }
    k->data = state;
}

static struct rk_kernel *
generate(struct gen *g)
{
    static const uint16_t threads[] = {32, 64, 96, 128, 33, 20, 70, 1, 256};
    struct rk_kernel *k = g->k = xcalloc(1, sizeof *k);
    k->blocks = gen_chance(g, 15) ? 4 + gen_pick(g, 8) : 1 + gen_pick(g, 3);
    k->threads = threads[gen_pick(g, 9)];
    if (k->blocks > 3 && gen_chance(g, 40))
        k->threads = 256;
    k->data = gen_pick(g, 1u << 16);
    k->lines = gen_chance(g, 30);
    k->nshared = gen_pick(g, RK_MAX_SHARED + 1);
    for (unsigned i = 0; i < k->nshared; i++) {
        k->shared[i].part = RK_REGION << gen_pick(g, 2);
        if (k->threads > 128) /* 48 KB in all */
            k->shared[i].part = RK_REGION;
        k->shared[i].dynamic = i + 1 == k->nshared && gen_chance(g, 30);
        for (k->shared[i].span = 1;
             k->shared[i].span * 2 <= k->shared[i].part * k->threads;)
            k->shared[i].span *= 2;
    }
    k->shared_fill = gen_pick(g, 1u << 16);
    k->nfuncs = 1 + gen_pick(g, RK_MAX_FUNCS);
    for (unsigned i = k->nfuncs; i-- > 1;)
        gen_function(g, i);
    gen_kernel(g);
    fill(k, k->input, sizeof k->input);
    fill(k, k->constants, sizeof k->constants);
    fill(k, k->table, sizeof k->table);
    free(g);
    return k;
}

struct rk_kernel *
rk_from_seed(uint64_t seed)
{
    struct gen *g = xcalloc(1, sizeof *g);
    g->state = seed;
    return generate(g);
}

struct rk_kernel *
rk_from_bytes(const uint8_t *data, size_t size)
{
    struct gen *g = xcalloc(1, sizeof *g);
    g->data = size ? data : (const uint8_t *)"";
    g->size = size;
    return generate(g);
}

void
rk_free(struct rk_kernel *k)
{
    if (!k)
        return;
    struct arena mem = k->mem;
    free(k);
    arena_free(&mem);
}

struct rk_launch
rk_launch(const struct rk_kernel *k)
{
    struct rk_launch l = {.blocks = k->blocks,
                          .threads = k->threads,
                          .acc_bytes = rk_ncommuting * RK_ACC_BYTES,
                          .slot_bytes = (uint64_t)k->slot * k->blocks * k->threads,
                          .nscalars = k->funcs[0]->nparams,
                          .scalars = k->scalars};
    for (unsigned i = 0; i < k->nshared; i++)
        if (k->shared[i].dynamic)
            l.dynamic_bytes = k->shared[i].part * k->threads;
    return l;
}

const uint8_t *
rk_input(const struct rk_kernel *k)
{
    return k->input;
}

uint8_t *
rk_initial(const struct rk_kernel *k)
{
    struct rk_launch l = rk_launch(k);
    uint64_t n = l.acc_bytes + l.slot_bytes, state = k->data;
    uint8_t *m = xmalloc(n);
    for (uint64_t i = 0; i < n; i += 8) {
        uint64_t v = splitmix_next(&state);
        memcpy(m + i, &v, 8);
    }
    return m;
}
