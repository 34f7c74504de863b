/* register_allocate.c: virtual registers become physical 32-bit registers (UA-1 of the
 * documents; 002 section 3.1; 001 speaks of such registers throughout).
 *
 * Colour; if that takes more than the limit, spill what is over it and colour again; then
 * rename, drop copies that became moves of a register to itself, and have the result
 * checked by register_check, which knows nothing of how it came about.
 *
 * Names say the place: %R5 is register 5 (.b32), %D4 the pair 4 and 5 (.b64), %H6 the
 * lower half of 6 (.b16), %P1 predicate 1. PTX has no overlapping registers, so %R4 and
 * %D4 are two names to it; that they are never live at the same time is the allocation. The limit
 * is the least of max-registers, .maxnreg, and what .minnctapersm (with .maxntid) leaves
 * a thread of sm-registers. Predicates are not limited. Each function is allocated by
 * itself; what a call chain needs together is usage_of's to sum. */
#include "passes/pass.h"
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/register_check.h"

enum { ROUNDS = 60 };

/* -- names -- */

void
ra_name(struct arena *mem, struct ptx_reg *r)
{
    unsigned bytes = ptx_type_bytes(r->type);
    const char *letter = r->type == PTX_PRED ? "P"
                         : bytes == 1        ? "B"
                         : bytes == 2        ? "H"
                         : bytes == 8        ? "D"
                         : bytes == 16       ? "Q"
                                             : "R";
    r->name = arena_printf(mem, "%%%s%d", letter, r->place - 1);
}

int
ra_by_name(const void *a, const void *b)
{
    const struct ptx_reg *x = a, *y = b;
    return x->type != y->type ? (int)x->type - y->type : (int)x->place - y->place;
}

enum { KINDS = 6 }; /* predicates, and registers of 1, 2, 4, 8, 16 bytes */

static const uint8_t types_of_kinds[KINDS] = {PTX_PRED, PTX_B8,  PTX_B16,
                                              PTX_B32,  PTX_B64, PTX_B128};

struct renaming {
    struct ptx_func *f;
    const struct ra_graph *g;
    int32_t *to; /* of each register: its new number, RA_NONE: not in the code */
    VEC(struct ptx_reg) regs;
    VEC(int32_t) at[KINDS]; /* of each kind and place: new register + 1 */
};

static int32_t
new_register(struct renaming *n, int32_t old)
{
    const struct ptx_reg *r = &n->f->regs.v[old];
    unsigned bytes = ptx_type_bytes(r->type), place = (unsigned)n->g->colour[old] + 1;
    unsigned kind = r->type == PTX_PRED ? 0
                    : bytes == 1        ? 1
                    : bytes == 2        ? 2
                    : bytes == 8        ? 4
                    : bytes == 16       ? 5
                                        : 3;
    while (n->at[kind].n <= place)
        *vec_push(&n->at[kind]) = 0;
    int32_t *known = &n->at[kind].v[place];
    if (*known)
        return *known - 1;
    struct ptx_reg *x = vec_push(&n->regs);
    x->place = (uint16_t)place;
    x->type = types_of_kinds[kind];
    ra_name(&n->f->module->mem, x);
    *known = (int32_t)n->regs.n;
    return *known - 1;
}

static void
rename_operand(const struct renaming *n, struct ptx_operand *o)
{
    if ((o->kind == PTX_OPD_REG || o->kind == PTX_OPD_ADDR) && o->reg >= 0)
        o->reg = n->to[o->reg];
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        rename_operand(n, &o->vec[k]);
}

/* One line for registers 0, 1, ... of a kind, one for each of the others. */
void
ra_declare(struct ptx_func *f)
{
    f->regdecls.n = 0;
    for (size_t i = 0, n; i < f->regs.n; i += n) {
        const struct ptx_reg *r = &f->regs.v[i];
        n = 0;
        while (i + n < f->regs.n && r[n].type == r->type && r[n].place == n + 1)
            n++;
        struct ptx_regdecl d = {r->name, r->type, 0, (int32_t)i, (int32_t)n};
        if (n > 1) /* %R0 without its number */
            d.name = arena_strndup(&f->module->mem, r->name, strlen(r->name) - 1);
        else
            d.count = 0, n = 1;
        *vec_push(&f->regdecls) = d;
    }
}

/* Gives every register of the code its physical name, in place. No block loses its last
 * instruction, so that the control flow stays what it was. */
static void
rename_all(struct ra *a, const struct ra_graph *g, const struct cfg *cfg)
{
    struct ptx_func *f = a->f;
    struct arena mem = {0};
    struct renaming n = {.f = f, .g = g};
    n.to = ARENA_ARRAY(&mem, int32_t, g->n + 1);
    for (uint32_t r = 0; r < g->n; r++)
        if (g->units[r])
            new_register(&n, (int32_t)r);
    if (n.regs.n)
        qsort(n.regs.v, n.regs.n, sizeof *n.regs.v, ra_by_name);
    for (size_t i = 0; i < n.regs.n; i++) {
        const struct ptx_reg *x = &n.regs.v[i];
        for (unsigned k = 0; k < KINDS; k++)
            if (x->type == types_of_kinds[k])
                n.at[k].v[x->place] = (int32_t)i + 1;
    }
    for (uint32_t r = 0; r < g->n; r++)
        n.to[r] = g->units[r] ? new_register(&n, (int32_t)r) : RA_NONE;
    size_t kept = 0;
    uint32_t *left = ARENA_ARRAY(&mem, uint32_t, cfg->n + 1);
    for (uint32_t b = 0; b < cfg->n; b++)
        left[b] = cfg->block[b].end - cfg->block[b].first;
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        int32_t s = ra_copied(f, &in);
        if (ptx_is_pseudo(&in))
            left[cfg->block_of[i]]--;
        else if (s != RA_NONE && n.to[s] == n.to[in.ops[0].reg] &&
                 left[cfg->block_of[i]] > 1) {
            left[cfg->block_of[i]]--;
            continue;
        }
        in.ops = ptx_operands_dup(f->module, in.ops, in.nops);
        for (unsigned k = 0; k < in.nops; k++)
            rename_operand(&n, &in.ops[k]);
        if (in.guard >= 0)
            in.guard = n.to[in.guard];
        a->origin.v[kept] = a->origin.v[i];
        f->body.v[kept++] = in;
    }
    f->body.n = kept;
    f->registers = g->nunits;
    f->predicates = g->npreds;
    vec_take(&f->regs, &n.regs);
    ra_declare(f);
    for (unsigned k = 0; k < KINDS; k++)
        vec_free(&n.at[k]);
    arena_free(&mem);
}

/* -- the original, for the check -- */

struct ptx_func *
ra_snapshot(const struct ptx_func *f)
{
    struct ptx_func *s = xcalloc(1, sizeof *s);
    *s = *f;
    memset(&s->body, 0, sizeof s->body);
    memset(&s->regs, 0, sizeof s->regs);
    memset(&s->regdecls, 0, sizeof s->regdecls);
    for (size_t i = 0; i < f->regdecls.n; i++)
        *vec_push(&s->regdecls) = f->regdecls.v[i];
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        in.ops = ptx_operands_dup(f->module, in.ops, in.nops);
        *vec_push(&s->body) = in;
    }
    for (size_t i = 0; i < f->regs.n; i++)
        *vec_push(&s->regs) = f->regs.v[i];
    return s;
}

void
ra_snapshot_free(struct ptx_func *s)
{
    vec_free(&s->body);
    vec_free(&s->regs);
    vec_free(&s->regdecls);
    free(s);
}

void
ra_restore(struct ptx_func *f, const struct ptx_func *s)
{
    f->body.n = f->regs.n = f->regdecls.n = 0;
    for (size_t i = 0; i < s->body.n; i++) {
        struct ptx_inst in = s->body.v[i];
        in.ops = ptx_operands_dup(f->module, in.ops, in.nops);
        *vec_push(&f->body) = in;
    }
    for (size_t i = 0; i < s->regs.n; i++)
        *vec_push(&f->regs) = s->regs.v[i];
    for (size_t i = 0; i < s->regdecls.n; i++)
        *vec_push(&f->regdecls) = s->regdecls.v[i];
    f->vars.n = s->vars.n; /* allocation adds them after */
    f->registers = s->registers;
    f->predicates = s->predicates;
    f->fresh = s->fresh;
}

/* -- limits -- */

uint32_t
ra_limit(const struct ptx_func *f, const struct register_room *room)
{
    const uint32_t reserved = room->reserved;
    uint32_t most = room->most;
    const uint32_t least = 1;
    uint64_t threads = 1;
    bool given = false;
    for (int i = 0; i < 3; i++) {
        uint32_t n = f->reqntid[i] ? f->reqntid[i] : f->maxntid[i];
        given |= n != 0;
        threads *= n ? n : 1;
    }
    if (f->maxnreg && f->maxnreg < most + reserved)
        most = f->maxnreg > reserved ? f->maxnreg - reserved : least;
    if (f->minnctapersm && given) {
        uint64_t lanes = (threads + 31) / 32 * 32 * f->minnctapersm;
        uint64_t n = room->sm_registers / lanes;
        if (n < most + reserved)
            most = n > reserved ? (uint32_t)n - reserved : least;
    }
    return most;
}

/* -- the loop -- */

/* The registers that f may have so that its warps are what `units` of them leave; 0: banks do
 * not matter. */
static uint32_t
room_to_spread(const struct ptx_func *f, uint32_t units, uint32_t limit,
               const struct ra_spreading *spread)
{
    if (spread->banks < 2 || units > limit)
        return 0;
    const uint32_t most = register_step(f, units, &spread->room);
    return most < limit ? most : limit;
}

/* Where registers are spread over banks it matters only how many warps they leave. So it ends
 * with a colouring that leaves as many as MAXLIVE does; how few would do is looked for where
 * spreading fails. */
static void
colour(struct ra_graph *g, const struct ptx_func *f, const struct cfg *cfg,
       uint32_t limit, bool hard, const struct ra_spreading *spread)
{
    uint32_t enough = hard ? room_to_spread(f, g->live_units, limit, spread) : 0;
    uint32_t tried = 0;
    for (bool all = false; !all; enough = 0) {
        all = ra_colour(g, f, hard ? limit : 0, enough);
        const uint32_t most = room_to_spread(f, g->nunits, limit, spread);
        if (most && most != tried && ra_spread(g, f, cfg, spread->banks, most))
            return;
        tried = most;
    }
}

/* NULL: so much more is live than there is room for that only spilling helps. */
static struct ra_graph *
colour_once(struct ra *a, uint32_t limit, bool hard, const struct ra_spreading *spread,
            struct cfg **cfg, struct live **live, uint32_t *live_units)
{
    uint32_t preds;
    ra_split_vectors(a);
    *cfg = cfg_new(a->f);
    *live = live_new(*cfg);
    live_max(*live, live_units, &preds);
    if (*live_units > RA_MAX_UNITS)
        return NULL;
    struct ra_graph *g = ra_graph_new(a, *live);
    colour(g, a->f, *cfg, limit, hard, spread);
    return g;
}

static bool
too_few(const struct ptx_func *f, uint32_t limit, uint32_t least, struct diag_sink *diag)
{
    struct diag_loc loc = {f->module->file, f->module->text, f->line, f->col, 0};
    struct diag *d =
        diag_add(diag, DIAG_ERROR, f->line ? &loc : NULL,
                 "%s cannot do with %u registers, even if all it can spill is spilled",
                 f->name, limit);
    diag_hint(diag, d, "it got down to %u: raise max-registers (or .maxnreg)", least);
    return false;
}

/* Spills and colours until f has at most `limit` units. *least: what it got down to. */
static bool
reduce(struct ra *a, uint32_t limit, const struct ra_spreading *spread, uint32_t *least)
{
    struct ptx_func *f = a->f;
    uint32_t target = limit;
    bool ok = false, stuck = false;
    for (size_t i = 0; i < f->body.n; i++)
        *vec_push(&a->origin) = (int32_t)i;
    for (int round = 0; round < ROUNDS && !ok && !stuck; round++) {
        struct cfg *cfg;
        struct live *live;
        uint32_t units;
        struct ra_graph *g = colour_once(a, limit, true, spread, &cfg, &live, &units);
        units = g ? g->nunits : units;
        *least = units < *least ? units : *least;
        if (g && units <= limit) {
            rename_all(a, g, cfg);
            ok = true;
        } else if (!ra_spill(a, live, target)) {
            /* MAXLIVE fits, but pairs and vectors do not: leave them more room */
            stuck = target <= 2;
            target -= !stuck;
        }
        ra_graph_free(g);
        live_free(live);
        cfg_free(cfg);
    }
    return ok;
}

bool
ra_allocate(struct ptx_func *f, uint32_t limit, bool operands_free,
            const struct ra_spreading *spread, struct ra_result *out,
            struct diag_sink *diag)
{
    struct ra a = {.f = f, .operands_free = operands_free};
    struct ptx_func *before = ra_snapshot(f);
    uint32_t least = UINT32_MAX;
    bool ok = reduce(&a, limit, spread, &least);
    if (!ok) { /* what is kept in registers cannot be spilled: without it, then */
        ra_restore(f, before);
        vec_free(&a.origin);
        vec_free(&a.temporary);
        a = (struct ra){.f = f, .load_always = true, .operands_free = operands_free};
        ok = reduce(&a, limit, spread, &least);
    }
    if (!ok)
        too_few(f, limit, least, diag);
    else
        ok = register_check(before, f, a.origin.v, a.slots, diag);
    *out = (struct ra_result){a.slots, a.spilled, a.rematerialised};
    vec_free(&a.origin);
    vec_free(&a.temporary);
    ra_snapshot_free(before);
    return ok;
}

/* An allocation for a trial, of a copy. */
struct trial {
    struct ra a;
    struct cfg *cfg;
    struct live *live;
    struct ra_graph *g; /* NULL: far too many are live */
    uint32_t units;     /* that it takes, or that are live */
};

/* without: registers that get no place, or NULL. */
static void
trial_begin(struct trial *t, const struct ptx_func *f, const bool *without,
            uint32_t limit, const struct ra_spreading *spread)
{
    *t = (struct trial){.a = {.f = ra_snapshot(f)}};
    struct ptx_func *copy = t->a.f;
    for (size_t i = 0; i < copy->body.n; i++)
        *vec_push(&t->a.origin) = (int32_t)i;
    for (size_t r = 0; r < copy->regs.n; r++)
        if (without && without[r]) /* a predicate takes nothing from the others */
            copy->regs.v[r].type = PTX_PRED;
    /* Not hard: an order that takes fewer may come after it. */
    t->g = colour_once(&t->a, limit, false, spread, &t->cfg, &t->live, &t->units);
    t->units = t->g ? t->g->nunits : t->units;
}

static void
trial_end(struct trial *t)
{
    ra_graph_free(t->g);
    live_free(t->live);
    cfg_free(t->cfg);
    vec_free(&t->a.origin);
    vec_free(&t->a.temporary);
    ra_snapshot_free(t->a.f);
}

int32_t *
ra_places(const struct ptx_func *f, const struct ra_spreading *spread, struct arena *mem)
{
    const uint32_t limit = ra_limit(f, &spread->room);
    struct trial t;
    int32_t *place = NULL;
    trial_begin(&t, f, NULL, limit, spread);
    if (t.g && t.units <= limit) {
        place = ARENA_ARRAY(mem, int32_t, f->regs.n + 1);
        for (size_t r = 0; r < f->regs.n; r++)
            place[r] = t.g->units[r] ? t.g->colour[r] : RA_NONE;
    }
    trial_end(&t);
    return place;
}

uint32_t
ra_needed(const struct ptx_func *f, const bool *without)
{
    const struct ra_spreading none = {0};
    struct trial t;
    trial_begin(&t, f, without, RA_MAX_UNITS, &none);
    trial_end(&t);
    return t.units;
}

bool
ra_read_room(const struct pass_args *a, struct ra_spreading *out, struct diag_sink *diag)
{
    double most, sm, warps, reserved, banks;
    if (!pass_arg_number(a, "max-registers", 1, RA_MAX_UNITS, &most, diag) ||
        !pass_arg_number(a, "sm-registers", 1024, 1 << 20, &sm, diag) ||
        !pass_arg_number(a, "sm-warps", 1, 1024, &warps, diag) ||
        !pass_arg_number(a, "banks", 0, 64, &banks, diag) ||
        !pass_arg_number(a, "reserved", 0, 16, &reserved, diag))
        return false;
    *out = (struct ra_spreading){
        (unsigned)banks,
        {(uint32_t)sm, (uint32_t)warps, (uint32_t)most, (uint32_t)reserved}};
    return true;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    struct ra_spreading spread;
    struct ra_result r;
    (void)x;
    if (!ra_read_room(a, &spread, diag))
        return false;
    *changed = true;
    if (!ra_allocate(f, ra_limit(f, &spread.room),
                     !strcmp(pass_arg(a, "operands-free"), "yes"), &spread, &r, diag))
        return false;
    if (a->report)
        strbuf_printf(
            a->report,
            "%s: %u registers, %u predicates; %u spilled to %llu bytes of local "
            "memory, %u rematerialised where they are read\n",
            f->name, f->registers, f->predicates, r.spilled,
            (unsigned long long)(r.slots ? r.slots->size : 0), r.rematerialised);
    return true;
}

static const struct pass_key keys[] = {
    RA_ROOM_KEYS,
    {"operands-free", "no",
     "yes: reading parameters, constants and literals again takes no slot; the machine's"},
    {0}};

const struct pass pass_register_allocate = {
    .name = "register-allocate",
    .meaning = "gives physical registers; spills to local memory beyond the limit",
    .keys = keys,
    .run_func = run,
    .allocates = true,
};
