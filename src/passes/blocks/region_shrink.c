/* region_shrink.c: a compiler mixes accesses to scratchpad with computation, and loads with
 * the stores of what they bring, so that a region holds much that does not need it (003
 * section 3 says so, too). Of the straight code between a region's end and its border:
 *
 *     take                                ld.global a     these go before the region
 *     ld.global a; st.shared a            ld.global b     as long as there are registers
 *     ld.global b; st.shared b     ->     take
 *     bar.sync                            st.shared a; st.shared b; bar.sync
 *     ld.shared c; fma d, c, e            ld.shared c; ld.shared f
 *     ld.shared f; fma d, f, e            give
 *     give                                fma d, c, e; fma d, f, e     and these after it
 *
 * An instruction passes over another if no register says otherwise. Computation passes
 * barriers; a load does if no store of the kernel can have run before it, since then the
 * barrier orders nothing that it could read. A load stays after stores, and a store
 * after loads and stores, unless one of them goes along (the order of what moves is
 * kept). Cost: instructions of the blocks with a border, times their registers' sets. */
#include "passes/blocks/region_shrink.h"

#include "analysis/defuse.h"
#include "analysis/motion.h"
#include "base/str.h"
#include "machine/occupancy.h"

enum { TRIES = 4 }; /* limits tried for one side */

struct shrink {
    struct ptx_func *f;
    const struct cfg *g;
    const scratch_set *touch;
    struct live *live;
    struct live_set set;    /* live at the border */
    uint32_t limit, *left;  /* of each register: reads that did not move, in the block */
    uint64_t *read, *wrote; /* registers of what stays in between */
    bool loads, stores, barriers; /* what stays in between */
    bool stored;                  /* a store may have run before this block */
    uint32_t *order;              /* of the body */
    struct arena mem;
};

static uint32_t
units(const struct ptx_func *f, uint32_t r)
{
    unsigned type = f->regs.v[r].type;
    return type == PTX_PRED ? 0 : ptx_type_bytes(type) == 8 ? 2 : 1;
}

static uint32_t
live_units(const struct shrink *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->set.n; i++)
        n += units(s->f, s->set.reg[i]);
    return n;
}

/* -- what may pass over what stays -- */

struct conflict {
    const struct shrink *s;
    bool found;
};

static void
note_conflict(void *user, int32_t reg, bool write, bool partial)
{
    struct conflict *c = user;
    (void)partial;
    c->found |= bitset_has(c->s->wrote, (size_t)reg) ||
                (write && bitset_has(c->s->read, (size_t)reg));
}

static void
note_stays(void *user, int32_t reg, bool write, bool partial)
{
    struct shrink *s = user;
    bitset_add(write ? s->wrote : s->read, (size_t)reg);
    if (partial)
        bitset_add(s->read, (size_t)reg);
}

static bool
is_shared(const struct ptx_inst *in)
{
    return !ptx_is_pseudo(in) && ptx_inst_space(in) == PTX_SPACE_SHARED;
}

/* MOTION_FIXED for all that does not move out of a region. */
static enum motion
order_of(const struct shrink *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    if (s->touch[i] || is_shared(in) || in->mod[PTX_MG_CC] ||
        ptx_ops[in->op].flags & PTX_CCIN)
        return MOTION_FIXED;
    enum motion order = motion_of(s->f, in);
    return order == MOTION_ACCESS ? MOTION_FIXED : order;
}

static bool
passes(const struct shrink *s, uint32_t i, bool hoist)
{
    struct conflict c = {s, false};
    switch (order_of(s, i)) {
    case MOTION_FREE:
        break;
    case MOTION_LOAD:
        if (s->stores || (s->barriers && (s->stored || !hoist)))
            return false;
        break;
    case MOTION_STORE:
        if (hoist || s->stores || s->loads || s->barriers)
            return false;
        break;
    default:
        return false;
    }
    defuse_each(&s->f->body.v[i], note_conflict, &c);
    return !c.found;
}

static void
stays(struct shrink *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    const enum motion order = motion_of(s->f, in);
    if (ptx_is_pseudo(in))
        return;
    defuse_each(in, note_stays, s);
    if (s->touch[i] || is_shared(in))
        return; /* another memory; a generic one is an access that may be either */
    if (ptx_inst_barrier(in) >= 0) {
        s->barriers = true;
        return;
    }
    s->loads |= order == MOTION_LOAD || order == MOTION_ACCESS;
    s->stores |= order == MOTION_STORE || order == MOTION_ACCESS;
    s->barriers |= order == MOTION_ACCESS || order == MOTION_FIXED;
}

static void
begin(struct shrink *s)
{
    const size_t bytes = BITSET_WORDS(s->f->regs.n + 1) * sizeof *s->read;
    memset(s->read, 0, bytes);
    memset(s->wrote, 0, bytes);
    s->loads = s->stores = s->barriers = false;
}

/* An access that is not known to be scratchpad's alone orders other memory, too. */
static bool
generic(const struct shrink *s, uint32_t i)
{
    return s->touch[i] && ptx_inst_space(&s->f->body.v[i]) != PTX_SPACE_SHARED;
}

/* -- hoisting -- */

static void
count_read(void *user, int32_t reg, bool write, bool partial)
{
    struct shrink *s = user;
    if (!write || partial)
        s->left[reg]++;
}

static void
goes_before(void *user, int32_t reg, bool write, bool partial)
{
    struct shrink *s = user;
    if (!write || partial) {
        if (!--s->left[reg])
            live_del(&s->set, (uint32_t)reg);
    }
    if (write && s->left[reg])
        live_add(&s->set, (uint32_t)reg);
}

static void
comes_back(void *user, int32_t reg, bool write, bool partial)
{
    struct shrink *s = user;
    if (write)
        live_del(&s->set, (uint32_t)reg);
    if (!write || partial) {
        s->left[reg]++;
        live_add(&s->set, (uint32_t)reg);
    }
}

/* Of instructions [from, to) of block v, those that can go first do. */
static uint32_t
hoist(struct shrink *s, uint32_t v, uint32_t from, uint32_t to)
{
    const struct cfg_block *b = &s->g->block[v];
    uint32_t n = 0, *rest = xcalloc(to - from + 1, sizeof *rest), nrest = 0;
    memset(s->left, 0, (s->f->regs.n + 1) * sizeof *s->left);
    live_set_end(s->live, v, &s->set);
    for (uint32_t i = 0; i < s->set.n; i++)
        s->left[s->set.reg[i]]++;
    for (uint32_t i = b->end; i-- > from;) {
        live_step_back(&s->f->body.v[i], &s->set);
        if (!ptx_is_pseudo(&s->f->body.v[i]))
            defuse_each(&s->f->body.v[i], count_read, s);
    }
    begin(s);
    for (uint32_t i = from; i < to; i++) {
        const struct ptx_inst *in = &s->f->body.v[i];
        if (passes(s, i, true)) {
            defuse_each(in, goes_before, s);
            if (live_units(s) <= s->limit) {
                s->order[from + n++] = i;
                continue;
            }
            defuse_each(in, comes_back, s);
        }
        s->stores |= generic(s, i);
        stays(s, i);
        rest[nrest++] = i;
    }
    memcpy(s->order + from + n, rest, nrest * sizeof *rest);
    free(rest);
    return n;
}

/* -- sinking -- */

static uint32_t
sink(struct shrink *s, uint32_t v, uint32_t from, uint32_t to)
{
    const struct cfg_block *b = &s->g->block[v];
    uint32_t *rest = xcalloc(to - from + 1, sizeof *rest), nrest = 0, at = to;
    live_set_end(s->live, v, &s->set);
    for (uint32_t i = b->end; i-- > to;)
        live_step_back(&s->f->body.v[i], &s->set);
    begin(s);
    uint32_t *was = xcalloc(s->f->regs.n + 1, sizeof *was);
    for (uint32_t i = to; i-- > from;) {
        if (passes(s, i, false)) {
            const uint32_t n = s->set.n;
            memcpy(was, s->set.reg, n * sizeof *was);
            live_step_back(&s->f->body.v[i], &s->set);
            if (live_units(s) <= s->limit) {
                s->order[--at] = i;
                continue;
            }
            s->set.n = 0;
            for (uint32_t k = 0; k < n; k++)
                live_add(&s->set, was[k]);
        }
        s->stores |= generic(s, i);
        s->loads |= generic(s, i);
        stays(s, i);
        rest[nrest++] = i;
    }
    for (uint32_t k = 0; k < nrest; k++)
        s->order[from + k] = rest[nrest - 1 - k];
    free(rest);
    free(was);
    return to - at;
}

/* -- the kernel -- */

static bool
may_store(const struct shrink *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    return !ptx_is_pseudo(in) && ptx_ops[in->op].flags & (PTX_STORE | PTX_ATOMIC) &&
           ptx_inst_space(in) != PTX_SPACE_SHARED;
}

/* Whether a store to other memory than scratchpad can have run before instruction `at` of
 * block v. */
static bool
stores_before(const struct shrink *s, uint32_t v, uint32_t at)
{
    bool *seen = xcalloc(s->g->n + 1, sizeof *seen), found = false;
    VEC(uint32_t) stack = {0};
    for (bool first = true; (first || stack.n) && !found; first = false) {
        const struct cfg_block *b = &s->g->block[first ? v : stack.v[--stack.n]];
        for (uint32_t i = b->first; i < (first ? at : b->end); i++)
            found |= may_store(s, i);
        for (uint32_t e = 0; e < b->npred; e++)
            if (!seen[b->pred[e]]) {
                seen[b->pred[e]] = true;
                *vec_push(&stack) = (uint32_t)b->pred[e];
            }
    }
    vec_free(&stack);
    free(seen);
    return found;
}

/* Straight code of block v that a region holds, [from, to): what moves to its front, or to
 * its end. */
static unsigned
segment(struct shrink *s, uint32_t v, uint32_t from, uint32_t to, int side)
{
    const struct cfg_block *b = &s->g->block[v];
    const struct ptx_inst *last = &s->f->body.v[b->end - 1];
    if (to == b->end &&
        (cfg_targets(last, NULL, 0) || ptx_ops[last->op].flags & PTX_ENDS)) {
        to--;
        if (side == SHRINK_AFTER)
            return 0;
    }
    if (from >= to || b->rpo < 0)
        return 0;
    if (side == SHRINK_AFTER)
        return sink(s, v, from, to);
    s->stored = stores_before(s, v, from);
    return hoist(s, v, from, to);
}

static unsigned
segments(struct shrink *s, const struct regions *r, uint32_t v, int side)
{
    const struct cfg_block *b = &s->g->block[v];
    const bool label = s->f->body.v[b->first].op == PTX_OP_LABEL;
    uint32_t from = b->first;
    bool held = true, begins = false;
    unsigned n = 0, points = 0;
    for (size_t k = 0; k < r->point.n; k++) {
        const struct region_point *p = &r->point.v[k];
        /* those at the start, where ways meet, and at the end are other blocks' */
        if (p->at < b->first || p->at > b->end || (p->at == b->first && !p->take) ||
            (p->at == b->first && label) || (p->at == b->end && p->take))
            continue;
        points++;
        if (p->take) {
            from = p->at;
            held = begins = true;
            continue;
        }
        if (side == SHRINK_AFTER || begins)
            n += segment(s, v, from, p->at, side);
        held = begins = false;
    }
    if (points && held && begins && side == SHRINK_BEFORE)
        n += segment(s, v, from, b->end, side);
    return n;
}

static unsigned
shrink_side(struct ptx_func *f, const struct region_facts *x, uint32_t limit, int side)
{
    struct shrink s = {
        .f = f, .g = x->cfg, .touch = x->use->funcs.v[0].touch, .limit = limit};
    unsigned n = 0;
    s.live = live_new(x->cfg);
    s.set = live_set_new(&s.mem, (uint32_t)f->regs.n + 1);
    s.left = ARENA_ARRAY(&s.mem, uint32_t, f->regs.n + 1);
    s.read = bitset_new(&s.mem, f->regs.n + 1);
    s.wrote = bitset_new(&s.mem, f->regs.n + 1);
    s.order = ARENA_ARRAY(&s.mem, uint32_t, f->body.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++)
        s.order[i] = i;
    for (uint32_t v = 0; v < x->cfg->n; v++)
        n += segments(&s, x->regions, v, side);
    struct ptx_inst *to = xcalloc(f->body.n + 1, sizeof *to);
    for (uint32_t i = 0; i < f->body.n; i++)
        to[i] = f->body.v[s.order[i]];
    memcpy(f->body.v, to, f->body.n * sizeof *to);
    free(to);
    live_free(s.live);
    arena_free(&s.mem);
    return n;
}

/* Registers that a thread of the merged block may have: as many as cost no block of an
 * SM, where that is known; else those that it has. */
static uint32_t
register_limit(const struct region_facts *x, const struct pass_launch *l, unsigned merge)
{
    const uint32_t *b = l->block, reserve = 6; /* of passes, and what is not packed */
    struct live *live = live_new(x->cfg);
    uint32_t registers, predicates, limit;
    live_max(live, &registers, &predicates);
    live_free(live);
    if (!l->machine || !l->kernel)
        return registers;
    const uint32_t most = l->machine->sm.max_registers;
    struct occ_kernel k = {.threads = b[0] * b[1] * b[2] * merge};
    k.scratchpad = (uint32_t)region_block_bytes(x, l);
    limit = k.registers = registers + reserve < most ? registers + reserve : most;
    struct allot_occupancy now, more;
    struct diag_sink quiet = {0};
    bool known = occ_compute(l->machine, &k, OCC_SHARE_NONE, 1, &now, &quiet);
    while (known && limit < most) {
        k.registers = limit + 1;
        if (!occ_compute(l->machine, &k, OCC_SHARE_NONE, 1, &more, &quiet) ||
            more.resident_blocks < now.resident_blocks)
            break;
        limit++;
    }
    diag_free(&quiet);
    return limit - reserve;
}

static uint32_t
most_live(const struct cfg *g)
{
    struct live *l = live_new(g);
    uint32_t registers, predicates;
    live_max(l, &registers, &predicates);
    live_free(l);
    return registers;
}

/* One side within `most` live registers anywhere, or as many as there are: what is alive at
 * a border lives on within the region, so the limit there may have to be lower. */
static unsigned
try_side(struct ptx_func *f, struct region_facts *x, const struct pass_launch *l,
         uint32_t most, int side)
{
    const uint32_t was = most_live(x->cfg), allowed = was > most ? was : most;
    const size_t bytes = f->body.n * sizeof *f->body.v;
    struct ptx_inst *before = xmalloc(bytes + 1);
    memcpy(before, f->body.v, bytes);
    unsigned n = 0;
    for (int k = 0; k < TRIES; k++) {
        n = shrink_side(f, x, most, side);
        if (!n)
            break;
        region_facts_drop(x);
        region_facts_find(x, f, l, x->gap);
        const uint32_t now = most_live(x->cfg);
        if (now <= allowed)
            break;
        memcpy(f->body.v, before, bytes);
        region_facts_drop(x);
        region_facts_find(x, f, l, x->gap);
        n = 0;
        if (now - allowed >= most)
            break;
        most -= now - allowed;
    }
    free(before);
    return n;
}

void
region_shrink(struct ptx_func *f, struct region_facts *x, const struct pass_launch *l,
              unsigned merge, unsigned moved[2])
{
    const uint32_t limit = register_limit(x, l, merge);
    for (int side = SHRINK_BEFORE; side <= SHRINK_AFTER && !x->regions->why; side++)
        moved[side] += try_side(f, x, l, limit, side);
}

/* -- facts -- */

uint64_t
region_block_bytes(const struct region_facts *x, const struct pass_launch *l)
{
    const struct scratch_layout *at = &x->use->layout;
    return l->dynamic_scratchpad ? at->dynamic_base + l->dynamic_scratchpad : at->bytes;
}

/* The same by the variables that it may touch. */
static enum region_part
part_of_variables(const struct region_facts *x, uint32_t i, uint64_t own)
{
    const scratch_set touch = x->use->funcs.v[0].touch[i];
    bool below = !touch, above = !touch;
    for (size_t k = 0; k < x->use->var.n; k++) {
        const struct scratch_var *v = &x->use->var.v[k];
        if (touch >> scratch_bit(x->use, k) & 1) {
            below |= v->at < own;
            above |= v->var->dynamic || v->at + v->var->size > own;
        }
    }
    return below && above ? PART_BOTH : below ? PART_OWN : PART_REST;
}

enum region_part
region_part(const struct region_facts *x, uint32_t i, uint64_t own)
{
    const uint64_t *may = x->bytes ? x->bytes->inst[i].may : NULL;
    if (!may)
        return part_of_variables(x, i, own);
    bool below = false, above = false;
    for (uint64_t k = 0; k < x->cells; k++)
        if (bitset_has(may, k))
            *(k < own ? &below : &above) = true;
    return below && above ? PART_BOTH : below ? PART_OWN : PART_REST;
}

/* Accesses to the own part touch nothing that regions are made of, others only the rest. */
static void
leave_out_own(struct region_facts *x, const struct ptx_func *f)
{
    scratch_set *touch = x->use->funcs.v[0].touch;
    const uint64_t n = x->cells;
    x->part = ARENA_ARRAY(&x->use->mem, uint8_t, f->body.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++)
        x->part[i] = touch[i] ? (uint8_t)region_part(x, i, x->own) : PART_BOTH;
    for (uint32_t i = 0; i < f->body.n; i++) {
        struct region_bytes *b = x->bytes ? &x->bytes->inst[i] : NULL;
        if (!touch[i])
            continue;
        if (x->part[i] == PART_OWN)
            touch[i] = 0;
        if (!b)
            continue;
        uint64_t *may = bitset_new(&x->bytes->mem, n + 1),
                 *must = bitset_new(&x->bytes->mem, n + 1);
        for (uint64_t k = x->own; k < n; k++) {
            if (!b->may || bitset_has(b->may, k))
                bitset_add(may, k);
            if (b->must && bitset_has(b->must, k))
                bitset_add(must, k);
        }
        b->may = may;
        b->must = must;
    }
}

bool
region_gap(const struct pass_args *a, unsigned ends, unsigned *gap,
           struct diag_sink *diag)
{
    double given = ends;
    const bool known = !strcmp(pass_arg(a, "gap"), "auto") ||
                       pass_arg_number(a, "gap", 0, 1e6, &given, diag);
    *gap = (unsigned)given;
    return known;
}

void
region_facts_find(struct region_facts *x, const struct ptx_func *f,
                  const struct pass_launch *l, unsigned gap)
{
    x->gap = gap;
    x->cfg = cfg_new(f);
    x->use = scratch_use_new(f);
    x->bytes = thread_bytes_new(x->cfg, x->use, l);
    x->cells = regions_cells(x->use, l->dynamic_scratchpad);
    if (x->own)
        leave_out_own(x, f);
    x->regions = regions_new(x->cfg, x->use, x->places, x->bytes ? x->bytes->inst : NULL,
                             l->dynamic_scratchpad, gap);
}

struct regions *
region_facts_divided(struct region_facts *x, const struct ptx_func *f,
                     const struct pass_launch *l, uint64_t own)
{
    const size_t n = f->body.n;
    scratch_set *touch = x->use->funcs.v[0].touch, *was = xcalloc(n + 1, sizeof *was);
    struct region_bytes *inst = x->bytes ? x->bytes->inst : NULL,
                        *kept = xcalloc(n + 1, sizeof *kept);
    memcpy(was, touch, n * sizeof *was);
    if (inst)
        memcpy(kept, inst, n * sizeof *kept);
    x->own = own;
    leave_out_own(x, f);
    struct regions *r =
        regions_new(x->cfg, x->use, x->places, inst, l->dynamic_scratchpad, x->gap);
    memcpy(touch, was, n * sizeof *was);
    if (inst)
        memcpy(inst, kept, n * sizeof *kept);
    x->own = 0;
    free(was);
    free(kept);
    return r;
}

void
region_facts_drop(struct region_facts *x)
{
    regions_free(x->regions);
    thread_bytes_free(x->bytes);
    scratch_use_free(x->use);
    cfg_free(x->cfg);
}

/* -- the pass -- */

static double
share_of(const struct regions *r)
{
    return r->all ? 100.0 * (double)r->inside / (double)r->all : 0;
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    unsigned gap, moved[2] = {0};
    struct region_facts x = {0};
    (void)facts;
    if (!region_gap(a, 2, &gap, diag))
        return false;
    if (!f->is_entry || (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    region_facts_find(&x, f, a->launch, gap);
    const double was = share_of(x.regions);
    region_shrink(f, &x, a->launch, 1, moved);
    *changed = moved[0] || moved[1];
    if (a->report && x.regions->why)
        strbuf_printf(a->report, "%s: no regions: %s\n", f->name, x.regions->why);
    else if (a->report)
        strbuf_printf(
            a->report,
            "%s: %u instructions moved before regions, %u after them; %.1f%% of "
            "the instructions are within, were %.1f%%\n",
            f->name, moved[SHRINK_BEFORE], moved[SHRINK_AFTER], share_of(x.regions),
            was);
    region_facts_drop(&x);
    return true;
}

const struct pass pass_region_shrink = {
    .name = "region-shrink",
    .meaning = "moves code that needs no scratchpad out of scratchpad access regions",
    .keys = (const struct pass_key[]){{"gap", "auto", REGION_GAP}, {0}},
    .run_func = run,
    .shapes = true,
};
