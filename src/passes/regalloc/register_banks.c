/* register_banks.c: which registers should lie in different banks, and where a value should
 * not go immediately.
 *
 * Register r is in bank r mod n; today's cards have two of 64 bits a processing block, and an
 * instruction whose three sources are in one takes a cycle more (Jia et al., "Dissecting the
 * NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 3.2). ptxas keeps sources
 * separate, two of them too, and the data of a store from its address. A value that is written
 * soon after a load, a store or MUFU read the same register waits until that has read it (a
 * barrier of the scoreboard in the card's code); ptxas avoids that for fewer than SOON
 * instructions. Both cost registers, which ptxas takes where that costs no warp
 * (docs/registers.md).
 *
 * Cost: O(operands + loads and stores x SOON). */
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "ptx/expansion.h"

enum { SOON = 10, MOST_SOURCES = 16 };

struct pair {
    int32_t a, b;
    uint32_t weight;
};

struct noting {
    const struct ptx_func *f;
    const struct ra_graph *g;
    const bool *operand; /* of each register: a card has it in no register */
    int32_t read[MOST_SOURCES], written[MOST_SOURCES];
    unsigned nread, nwritten;
    VEC(struct pair) bank, place;
};

static void
note_register(void *user, int32_t r, bool write, bool partial)
{
    struct noting *x = user;
    int32_t *list = write ? x->written : x->read;
    unsigned *n = write ? &x->nwritten : &x->nread;
    (void)partial;
    if (x->f->regs.v[r].type == PTX_PRED || x->operand[r] || *n == MOST_SOURCES)
        return;
    for (unsigned i = 0; i < *n; i++)
        if (list[i] == r)
            return;
    list[(*n)++] = r;
}

static void
note_operands(struct noting *x, const struct ptx_inst *in)
{
    x->nread = x->nwritten = 0;
    defuse_each(in, note_register, x);
}

static bool
is_access(const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC);
}

/* Does it read its sources some time after it issues? What takes a varying time does: accesses, and
 * what a card has one unit for among four lanes (MUFU, I2F, F2I, POPC). */
static bool
reads_late(const struct ptx_inst *in)
{
    if (is_access(in))
        return true;
    if (ptx_is_pseudo(in) || ptx_machine_operations(in) != 1)
        return false;
    switch (in->op) {
    case PTX_OP_CVTIF:
    case PTX_OP_CVTFI:
    case PTX_OP_POPC:
    case PTX_OP_BREV:
    case PTX_OP_SHFL:
        return true;
    case PTX_OP_CVTFF:
        return ptx_type_bytes(in->type[0]) == 8 || ptx_type_bytes(in->type[1]) == 8;
    default:
        return ptx_ops[in->op].latency == PTX_LAT_SFU;
    }
}

/* Two sources of one register each; of an access also its 64-bit address, by its first. */
static void
note_banks(struct noting *x, const struct ptx_inst *in, uint32_t weight)
{
    for (unsigned i = 0; i < x->nread; i++)
        for (unsigned k = 0; k < i; k++) {
            unsigned u = x->g->units[x->read[i]], v = x->g->units[x->read[k]];
            if ((u == 1 && v == 1) || (is_access(in) && (u == 1 || v == 1)))
                *vec_push(&x->bank) = (struct pair){x->read[i], x->read[k], weight};
        }
}

static bool
reads(const struct noting *x, int32_t r)
{
    for (unsigned i = 0; i < x->nread; i++)
        if (x->read[i] == r)
            return true;
    return false;
}

/* What the next instructions of the block write should not go where an access reads, nor where
 * it writes what nobody reads (an atomic's result). */
static void
note_places(struct noting *x, uint32_t i, uint32_t end, uint32_t weight)
{
    int32_t taken[2 * MOST_SOURCES];
    unsigned results = x->nread, n = x->nread + x->nwritten;
    memcpy(taken, x->read, x->nread * sizeof *taken);
    memcpy(taken + results, x->written, x->nwritten * sizeof *taken);
    for (uint32_t k = i + 1, left = SOON - 1; k < end && left; k++) {
        note_operands(x, &x->f->body.v[k]);
        left -= x->nread + x->nwritten > 0;
        for (unsigned r = results; r < n; r++)
            if (reads(x, taken[r]))
                taken[r--] = taken[--n];
        for (unsigned w = 0; w < x->nwritten; w++)
            for (unsigned r = 0; r < n; r++)
                if (x->written[w] != taken[r])
                    *vec_push(&x->place) = (struct pair){x->written[w], taken[r], weight};
    }
}

/* The pairs by their first and by their second register. */
static struct ra_conflict_list
by_register(const struct pair *p, size_t n, uint32_t registers, struct arena *mem)
{
    struct ra_conflict_list l = {.first = ARENA_ARRAY(mem, uint32_t, registers + 2),
                                 .with = ARENA_ARRAY(mem, struct ra_conflict, 2 * n + 1)};
    for (size_t i = 0; i < n; i++) {
        l.first[p[i].a + 1]++;
        l.first[p[i].b + 1]++;
    }
    for (uint32_t r = 0; r < registers; r++)
        l.first[r + 1] += l.first[r];
    uint32_t *at = ARENA_ARRAY(mem, uint32_t, registers + 1);
    memcpy(at, l.first, registers * sizeof *at);
    for (size_t i = 0; i < n; i++) {
        l.with[at[p[i].a]++] = (struct ra_conflict){p[i].b, p[i].weight};
        l.with[at[p[i].b]++] = (struct ra_conflict){p[i].a, p[i].weight};
    }
    return l;
}

struct ra_banks *
ra_banks_new(const struct ra_graph *g, const struct ptx_func *f, const struct cfg *cfg,
             unsigned n, struct arena *mem)
{
    struct ra_banks *b = ARENA_NEW(mem, struct ra_banks);
    struct defs *defs = defs_new(cfg);
    struct noting x = {.f = f, .g = g, .operand = operands_late(f, defs, mem)};
    const uint32_t *weight = ra_block_weights(cfg, mem);
    for (uint32_t k = 0; k < cfg->n; k++)
        for (uint32_t i = cfg->block[k].first; i < cfg->block[k].end; i++) {
            note_operands(&x, &f->body.v[i]);
            note_banks(&x, &f->body.v[i], weight[k]);
            if (reads_late(&f->body.v[i]))
                note_places(&x, i, cfg->block[k].end, weight[k]);
        }
    b->n = n;
    b->bank = by_register(x.bank.v, x.bank.n, g->n, mem);
    b->place = by_register(x.place.v, x.place.n, g->n, mem);
    vec_free(&x.bank);
    vec_free(&x.place);
    defs_free(defs);
    return b;
}
