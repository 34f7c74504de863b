/* reorder_registers.c: numbers physical registers by first use (001 section 2.3.2,
 * "unrolling and reordering of register declarations").
 *
 * Register sharing keeps the lowest registers private; so what the first instructions use
 * should be low. Registers that lie side by side for a reason (pairs, vectors) move as
 * one aligned block. Blocks of one size are joined by two in the order of their first
 * use, so that no gaps come about; a block left over alone goes to the end if there is no
 * room for a gap. The count never rises. Works on what register-allocate left, and has
 * the result checked in the same way. */
#include "passes/pass.h"
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/defuse.h"
#include "analysis/register_check.h"

#include <assert.h>

enum { NEVER = INT32_MAX };

struct block {
    uint32_t first;                  /* instruction of the first use */
    uint16_t unit[RA_MAX_GROUP * 2]; /* old units, in order */
    uint8_t n;                       /* units used of `size` */
    uint8_t size;
};

struct scan {
    const struct ptx_func *f;
    uint32_t *first; /* of each unit */
    uint8_t *size;   /* of the aligned block that each unit belongs to */
    uint32_t at;
};

static void
join(struct scan *s, uint32_t at, unsigned n)
{
    for (uint32_t u = at; u < at + n; u++)
        if (s->size[u] < n)
            s->size[u] = (uint8_t)n;
}

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct scan *s = user;
    const struct ptx_reg *r = &s->f->regs.v[reg];
    (void)write;
    (void)partial;
    if (r->type == PTX_PRED)
        return;
    unsigned n = ra_units(s->f, reg);
    join(s, r->place - 1u, n);
    for (unsigned i = 0; i < n; i++)
        if (s->first[r->place - 1u + i] > s->at)
            s->first[r->place - 1u + i] = s->at;
}

/* Registers of a vector operand keep their places in the vector. */
static void
note_vector(struct scan *s, const struct ptx_operand *list)
{
    for (unsigned i = 0; i < list->n; i++) {
        if (list->vec[i].kind != PTX_OPD_REG)
            continue;
        unsigned w = ra_units(s->f, list->vec[i].reg);
        join(s, s->f->regs.v[list->vec[i].reg].place - 1u - i * w, w * list->n);
        return;
    }
}

static int
by_use(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (int)x->unit[0] - y->unit[0];
}

/* Blocks of the units in use, sorted by first use. */
static uint32_t
find_blocks(const struct scan *s, struct block *block)
{
    uint32_t n = 0;
    for (uint32_t u = 0; u < s->f->registers; u++) {
        if (!s->size[u])
            continue;
        unsigned size = s->size[u];
        uint32_t base = u / size * size;
        struct block b = {.first = NEVER, .size = (uint8_t)size, .n = (uint8_t)size};
        for (unsigned i = 0; i < size; i++) {
            b.unit[i] = (uint16_t)(base + i);
            if (base + i < s->f->registers && s->first[base + i] < b.first)
                b.first = s->first[base + i];
        }
        block[n++] = b;
        u = base + size - 1;
    }
    qsort(block, n, sizeof *block, by_use);
    return n;
}

/* Joins blocks of size `size` by two; the one left over, if any, becomes *rest. */
static uint32_t
pair_up(struct block *block, uint32_t n, unsigned size, struct block *rest)
{
    uint32_t out = 0;
    int32_t open = -1; /* block that waits for its other half */
    rest->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (block[i].size != size) {
            block[out++] = block[i];
        } else if (open < 0) {
            open = (int32_t)out;
            block[out++] = block[i];
        } else {
            struct block *b = &block[open];
            memcpy(b->unit + b->n, block[i].unit, sizeof *b->unit * block[i].n);
            b->n = (uint8_t)(b->n + block[i].n);
            b->size = (uint8_t)(2 * size);
            open = -1;
        }
    }
    if (open >= 0) {
        *rest = block[open];
        memmove(&block[open], &block[open + 1],
                sizeof *block * (out - 1 - (uint32_t)open));
        out--;
    }
    return out;
}

/* New place of each old unit; returns the units in use. */
static uint32_t
place(struct block *block, uint32_t n, uint32_t units, uint16_t *to)
{
    unsigned largest = 1;
    uint32_t used = 0, at = 0, nrest = 0;
    struct block rest[8];
    for (uint32_t i = 0; i < n; i++) {
        largest = block[i].size > largest ? block[i].size : largest;
        used += block[i].size;
    }
    for (unsigned size = 1; size < largest; size *= 2) {
        struct block left;
        n = pair_up(block, n, size, &left);
        if (!left.n)
            continue;
        if (used + size <= units) { /* there is room for a gap after it */
            used += size;
            left.size = (uint8_t)(2 * size);
            uint32_t k = n++;
            for (; k && block[k - 1].first > left.first; k--)
                block[k] = block[k - 1];
            block[k] = left;
        } else {
            rest[nrest++] = left;
        }
    }
    for (uint32_t i = 0; i < n; i++, at += largest)
        for (unsigned k = 0; k < block[i].n; k++)
            to[block[i].unit[k]] = (uint16_t)(at + k);
    while (nrest--) {
        for (unsigned k = 0; k < rest[nrest].n; k++)
            to[rest[nrest].unit[k]] = (uint16_t)(at + k);
        at += rest[nrest].n;
    }
    return at;
}

static void
rename_operand(const int32_t *to, struct ptx_operand *o)
{
    if ((o->kind == PTX_OPD_REG || o->kind == PTX_OPD_ADDR) && o->reg >= 0)
        o->reg = to[o->reg];
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        rename_operand(to, &o->vec[k]);
}

/* Gives registers their new places, sorts and declares them. */
static void
renumber(struct ptx_func *f, const uint16_t *to, struct arena *mem)
{
    uint32_t n = (uint32_t)f->regs.n;
    int32_t *index = ARENA_ARRAY(mem, int32_t, n + 1);
    struct ptx_reg *old = arena_dup(mem, f->regs.v, sizeof *old * n);
    uint32_t top = 0;
    for (uint32_t r = 0; r < n; r++) {
        struct ptx_reg *x = &f->regs.v[r];
        if (x->type != PTX_PRED) {
            x->place = (uint16_t)(to[x->place - 1] + 1);
            uint32_t end = x->place - 1u + ra_units(f, (int32_t)r);
            top = end > top ? end : top;
        }
        old[r] = *x;
        ra_name(&f->module->mem, x);
    }
    qsort(f->regs.v, n, sizeof *f->regs.v, ra_by_name);
    for (uint32_t r = 0; r < n; r++)
        index[r] = (int32_t)((struct ptx_reg *)bsearch(&old[r], f->regs.v, n, sizeof *old,
                                                       ra_by_name) -
                             f->regs.v);
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst *in = &f->body.v[i];
        in->ops = ptx_operands_dup(f->module, in->ops, in->nops);
        for (unsigned k = 0; k < in->nops; k++)
            rename_operand(index, &in->ops[k]);
        if (in->guard >= 0)
            in->guard = index[in->guard];
    }
    f->registers = top;
    ra_declare(f);
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)x;
    (void)a;
    bool virtual = false;
    for (size_t i = 0; i < f->regs.n; i++)
        virtual |= !f->regs.v[i].place;
    if (!f->registers && (!virtual || !f->is_entry))
        return true; /* it has none, or predicates only */
    if (virtual) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "reorder-registers: the registers of %s are virtual", f->name);
        diag_hint(diag, d, "put register-allocate before it");
        return false;
    }
    struct arena mem = {0};
    uint32_t units = f->registers + 2 * RA_MAX_GROUP;
    struct scan s = {.f = f};
    s.first = ARENA_ARRAY(&mem, uint32_t, units);
    s.size = ARENA_ARRAY(&mem, uint8_t, units);
    for (uint32_t u = 0; u < units; u++)
        s.first[u] = NEVER;
    for (size_t i = 0; i < f->body.n; i++) {
        s.at = (uint32_t)i;
        defuse_each(&f->body.v[i], note, &s);
        const struct ptx_operand *list = ra_wide_list(&f->body.v[i]);
        if (list)
            note_vector(&s, list);
    }
    struct block *block = ARENA_ARRAY(&mem, struct block, units);
    uint16_t *to = ARENA_ARRAY(&mem, uint16_t, units);
    uint32_t n = find_blocks(&s, block);
    struct ptx_func *before = ra_snapshot(f);
    uint32_t was = f->registers;
    place(block, n, f->registers, to);
    renumber(f, to, &mem);
    int32_t *origin = ARENA_ARRAY(&mem, int32_t, f->body.n + 1);
    for (size_t i = 0; i < f->body.n; i++)
        origin[i] = (int32_t)i;
    bool ok = register_check(before, f, origin, NULL, diag);
    assert(f->registers <= was);
    (void)was;
    ra_snapshot_free(before);
    arena_free(&mem);
    *changed = true;
    return ok;
}

const struct pass pass_reorder_registers = {
    .name = "reorder-registers",
    .meaning = "numbers physical registers by first use, for register sharing",
    .run_func = run,
    .places = true,
};
