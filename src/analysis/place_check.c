/* place_check.c: liveness by name, asked at each write for the names that share its place.
 *
 *     add.u32 %R5, %R1, 1;
 *     ld.global.u64 %D4, [%D6];      %D4 is R4 and R5: the sum is lost
 *     st.global.u32 [%D8], %R5;
 *
 * A register that no path has written yet has no value to lose, as in register_check.c: so it
 * is with one that only some arms of a branch write. Which are written is a forward problem
 * over the blocks. The function's own marks of guarded writes count (analysis/guarded.h). */
#include "analysis/place_check.h"

#include "analysis/defuse.h"
#include "analysis/live.h"

#include <string.h>

enum { MOST_MOVED = 4 /* places that one move fills */ };

struct checker {
    const struct ptx_func *f;
    uint32_t nunits;
    uint32_t *first; /* of each place: its first register in `at`; one more for the end */
    int32_t *at;
    uint64_t *written;  /* registers that a path to the block's begin has written */
    uint32_t *write_at; /* of each register: its first write in the block `seen` */
    uint32_t *seen;     /* a block, + 1 */
    uint32_t block, now;
    struct live_set live; /* after the instruction */
    struct place_clash found;
};

/* Places of a register, of both files in one row: first, and after the last. */
static uint32_t
places(const struct checker *c, int32_t reg, uint32_t *end)
{
    const struct ptx_reg *r = &c->f->regs.v[reg];
    const uint32_t units = (ptx_type_bytes(r->type) + 3) / 4;
    const uint32_t at = !r->place             ? 0
                        : r->type == PTX_PRED ? c->nunits + r->place - 1u
                                              : r->place - 1u;
    *end = !r->place ? at : at + (units ? units : 1);
    return at;
}

/* Lists the registers of each place. */
static void
find_places(struct checker *c, struct arena *mem)
{
    uint32_t most[2] = {0}, end;
    for (size_t r = 0; r < c->f->regs.n; r++) {
        const bool predicate = c->f->regs.v[r].type == PTX_PRED;
        places(c, (int32_t)r, &end);
        most[predicate] = end > most[predicate] ? end : most[predicate];
    }
    c->nunits = most[0];
    const uint32_t n = most[0] + most[1];
    c->first = ARENA_ARRAY(mem, uint32_t, n + 2);
    for (size_t r = 0; r < c->f->regs.n; r++)
        for (uint32_t p = places(c, (int32_t)r, &end); p < end; p++)
            c->first[p + 2]++;
    for (uint32_t p = 0; p < n; p++)
        c->first[p + 2] += c->first[p + 1];
    c->at = ARENA_ARRAY(mem, int32_t, c->first[n + 1] + 1);
    for (size_t r = 0; r < c->f->regs.n; r++)
        for (uint32_t p = places(c, (int32_t)r, &end); p < end; p++)
            c->at[c->first[p + 1]++] = (int32_t)r;
}

static void
add_written(void *user, int32_t reg, bool write, bool partial)
{
    uint64_t *set = user;
    (void)partial;
    if (write)
        bitset_add(set, (size_t)reg);
}

/* Registers that are written on some path to each block's begin: g->n sets. */
static uint64_t *
find_written(const struct cfg *g, struct arena *mem)
{
    const size_t n = g->func->regs.n + 1, words = BITSET_WORDS(n);
    uint64_t *begin = ARENA_ARRAY(mem, uint64_t, words * g->n + 1);
    uint64_t *own = ARENA_ARRAY(mem, uint64_t, words * g->n + 1);
    for (uint32_t b = 0; b < g->n; b++)
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++)
            defuse_each(&g->func->body.v[i], add_written, own + words * b);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k < g->nrpo; k++) {
            const struct cfg_block *b = &g->block[g->rpo[k]];
            for (uint32_t p = 0; p < b->npred; p++) {
                const size_t from = words * (uint32_t)b->pred[p];
                if (g->block[b->pred[p]].rpo < 0)
                    continue;
                again |= bitset_or(begin + words * g->rpo[k], begin + from, n);
                again |= bitset_or(begin + words * g->rpo[k], own + from, n);
            }
        }
    }
    return begin;
}

static void
note_write(void *user, int32_t reg, bool write, bool partial)
{
    struct checker *c = user;
    (void)partial;
    if (!write || c->seen[reg] == c->block + 1)
        return;
    c->seen[reg] = c->block + 1;
    c->write_at[reg] = c->now;
}

/* The places of a register or a list of registers of whole places, in order; how many, 0: it is
 * something else. */
static unsigned
places_of(const struct checker *c, const struct ptx_operand *o, uint32_t at[MOST_MOVED])
{
    unsigned n = 0;
    if (o->kind == PTX_OPD_REG) {
        uint32_t end, p = places(c, o->reg, &end);
        if (o->comp || o->neg || ptx_type_bytes(c->f->regs.v[o->reg].type) % 4)
            return 0;
        while (p < end && n < MOST_MOVED)
            at[n++] = p++;
    }
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++) {
        uint32_t part[MOST_MOVED];
        const unsigned m = places_of(c, &o->vec[k], part);
        if (!m || n + m > MOST_MOVED)
            return 0;
        memcpy(at + n, part, m * sizeof *part);
        n += m;
    }
    return n;
}

/* mov.b64 {%R4, %R5}, %D4 and the like: each place keeps what it holds. */
static bool
moves_to_itself(const struct checker *c, const struct ptx_inst *in)
{
    uint32_t to[MOST_MOVED], from[MOST_MOVED];
    if (in->op != PTX_OP_MOV || in->nops != 2)
        return false;
    const unsigned n = places_of(c, &in->ops[0], to);
    return n && n == places_of(c, &in->ops[1], from) && !memcmp(to, from, n * sizeof *to);
}

static void
check_write(void *user, int32_t reg, bool write, bool partial)
{
    struct checker *c = user;
    uint32_t end;
    (void)partial;
    if (write && moves_to_itself(c, &c->f->body.v[c->now]))
        return;
    for (uint32_t p = places(c, reg, &end); write && p < end; p++)
        for (uint32_t k = c->first[p]; k < c->first[p + 1]; k++) {
            const int32_t other = c->at[k];
            if (other != reg && live_has(&c->live, (uint32_t)other) &&
                (bitset_has(c->written, (size_t)other) ||
                 (c->seen[other] == c->block + 1 && c->write_at[other] <= c->now)))
                c->found = (struct place_clash){&c->f->body.v[c->now], reg, other};
        }
}

bool
place_check_clash(const struct ptx_func *f, struct place_clash *clash)
{
    if (!f->has_body || (!f->registers && !f->predicates))
        return false;
    struct arena mem = {0};
    struct checker c = {.f = f};
    struct cfg *g = cfg_new(f);
    struct live *live = live_new(g);
    const size_t words = BITSET_WORDS(f->regs.n + 1);
    uint64_t *written = find_written(g, &mem);
    find_places(&c, &mem);
    c.seen = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1);
    c.write_at = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1);
    c.live = live_set_new(&mem, (uint32_t)f->regs.n);
    for (c.block = 0; c.block < g->n; c.block++) {
        const struct cfg_block *b = &g->block[c.block];
        if (b->rpo < 0)
            continue;
        c.written = written + words * c.block;
        for (c.now = b->first; c.now < b->end; c.now++)
            defuse_each(&f->body.v[c.now], note_write, &c);
        live_set_end(live, c.block, &c.live);
        for (c.now = b->end; c.now-- > b->first;) {
            defuse_each(&f->body.v[c.now], check_write, &c);
            live_step_back(&f->body.v[c.now], &c.live);
        }
        if (c.found.in)
            break;
    }
    live_free(live);
    cfg_free(g);
    arena_free(&mem);
    if (clash)
        *clash = c.found;
    return c.found.in;
}
