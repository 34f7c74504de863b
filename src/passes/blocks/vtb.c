/* vtb.c: virtual thread blocks (003 section 4.1 and 4.2): blocks are merged into one that
 * has one block's scratchpad, and take turns in the parts of the code that use it
 * (analysis/regions.h). A block of the original is then a virtual block.
 *
 * Virtual blocks are distinguished by the depth of the merged block, so that warps keep their
 * threads. With K of them, of depth Z, merged along x:
 *
 *     v = %tid.z / Z          which virtual block; %tid.z -> %tid.z % Z, %ntid.z -> Z
 *     %ctaid.x -> K * %ctaid.x + v                 %nctaid.x -> K * %nctaid.x
 *     bar.sync i -> bar.sync own(i, v), threads of a virtual block
 *
 * Turns. All three passes have one code for all virtual blocks, and differ in the barriers
 * at the ends of a region. Every virtual block passes the ends equally often (regions.h), or
 * asks before each (vtb_votes.c), so these barriers always meet their partners.
 *
 *     vtb        take: v times bar.sync 0        give: K - v times bar.sync 0
 *                Everybody waits until all had their turn; virtual block v has the turn
 *                between the v-th and the next of K + 1 points in time.
 *     vtb-pipe   start: bar.sync t, t < v          take: bar.sync (v + t) % K, t < K - 1
 *                give: bar.arrive (v - 1) % K      end: bar.arrive (v + t) % K, t < K - 1 - v
 *                Points in time have numbers modulo K; virtual block v has its turns from
 *                each v - 1 to the next. It waits before its turn only. What it computes
 *                after one region overlaps the others' turns. With two, virtual block 1
 *                starts when 0 is in its first region: `ahead` instructions before region 1
 *                (the splitting point). The paper's barriers all wait; so its last virtual
 *                block waits after its turn for what the first one computes.
 *     vtb-named  take: bar.sync h(v - 1)         give: bar.arrive h(v)
 *                The scratchpad goes round like a token; barrier h(v) joins the one that
 *                gives and the one that takes, twice a virtual block's threads. The last
 *                virtual block sends the first token at the start, the first one receives
 *                the last token at the end. Nobody else waits.
 *
 * A grid that K does not divide is rounded up; virtual blocks past its end leave immediately,
 * and the others are counted (`live`). That needs the grid's size, so code for a known
 * launch only. Blocks must be whole warps: barriers count those. */
#include "passes/blocks/vtb_int.h"

#include "passes/rewrite.h"
#include "passes/shape.h"

#include "ptx/note.h"

#include <stdio.h>
#include <string.h>

/* -- what is refused -- */

static const char *
add_number(struct merge *m, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_IMM || o->imm >= BARRIERS)
        return "the number of a barrier is in a register";
    for (unsigned i = 0; i < m->nids; i++)
        if (m->ids[i] == o->imm)
            return NULL;
    m->ids[m->nids++] = (uint32_t)o->imm;
    return NULL;
}

static const char *
code_refuses(struct merge *m, const struct region_facts *x)
{
    const struct ptx_func *f = m->f;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        const char *why = NULL;
        const int number = ptx_inst_barrier(in);
        if (number >= 0)
            why = add_number(m, &in->ops[number]);
        else if (in->op == PTX_OP_SALLOC)
            why = "it allocates its scratchpad while it runs";
        for (unsigned k = 0; k < in->nops && !why; k++) {
            const struct ptx_operand *o = &in->ops[k];
            bool whole = o->kind == PTX_OPD_SREG && o->sreg <= PTX_SREG_NCTAID;
            if (rewrite_numbers_warps(o))
                why = "it reads the number of its warp or the size of its scratchpad";
            else if (whole && !rewrite_reads_word(in))
                why = "it reads its place other than by mov.u32";
        }
        if (why)
            return arena_printf(&x->use->mem, "%s (line %u)", why, in->line);
    }
    if (vtb_barriers(m) + m->nids * m->k > BARRIERS)
        return "there are 16 barriers, and it would need more";
    if (f->module->sm < 20)
        return "its target has no barriers for a part of a block (they need sm_20)";
    return f->attrs.n ? "its blocks are clusters" : NULL;
}

/* -- the launch -- */

static const char *
no_launch(struct merge *m)
{
    const struct ptx_func *f = m->f;
    m->depth = f->reqntid[0] && f->reqntid[2] ? f->reqntid[2] : 1;
    m->dim = 0;
    uint32_t threads = f->reqntid[0] * (f->reqntid[1] ? f->reqntid[1] : 1) * m->depth;
    return threads % 32 ? "its blocks are no whole warps" : NULL;
}

/* Chooses the dimension along which blocks are merged: one that is divided, else the
 * longest. */
static const char *
launch_refuses(struct merge *m, double most)
{
    const struct pass_launch *l = m->a->launch;
    if (!l->kernel)
        return no_launch(m);
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    unsigned longest = 0;
    m->depth = l->block[2];
    m->dim = 3;
    for (unsigned d = 3; d-- > 0;) {
        longest = l->grid[d] >= l->grid[longest] ? d : longest;
        if (l->grid[d] && l->grid[d] % m->k == 0)
            m->dim = d;
    }
    if (m->dim == 3)
        m->dim = longest;
    const uint32_t along = l->grid[m->dim];
    m->pad = (m->k - along % m->k) % m->k;
    if (along < 2)
        return "the grid has one block";
    if (threads % 32)
        return "its blocks are no whole warps";
    if (m->depth * m->k > MOST_DEPTH)
        return "merged blocks would be too deep";
    return (double)(threads * m->k) > most ? "merged blocks would be too large" : NULL;
}

static void
deepen(struct merge *m)
{
    struct ptx_func *f = m->f;
    uint32_t *const sizes[] = {f->reqntid, f->maxntid};
    for (int i = 0; i < 2; i++)
        if (sizes[i][0]) {
            sizes[i][1] = sizes[i][1] ? sizes[i][1] : 1;
            sizes[i][2] = m->depth * m->k;
        }
    f->minnctapersm = (f->minnctapersm + m->k - 1) / m->k;
    const struct pass_launch was = *m->a->launch;
    char depth[16];
    snprintf(depth, sizeof depth, "%u", m->depth);
    ptx_set_note(f, "virtual", depth);
    shape_change(f, m->a, SHAPE_BLOCK, 2, '=', m->depth);
    if (!was.kernel && !f->reqntid[0])
        shape_change(f, m->a, SHAPE_BLOCK, SHAPE_ALL, '%', 32);
    if (m->pad) {
        shape_change(f, m->a, SHAPE_GRID, m->dim, '=', was.grid[m->dim]);
        shape_change(f, m->a, SHAPE_GRID, m->dim, '+', m->pad);
    }
    shape_change(f, m->a, SHAPE_GRID, m->dim, '/', m->k);
    shape_change(f, m->a, SHAPE_BLOCK, 2, '*', m->k);
}

/* merge=auto */
static void
report_tried(const struct merge *m)
{
    struct strbuf *b = m->a->report;
    bool any = false;
    for (unsigned k = 2; k <= MOST_BLOCKS; k++)
        any |= m->tried[k] > 0;
    if (!b || !any)
        return;
    strbuf_addz(b, "  merging");
    for (unsigned k = 2; k <= MOST_BLOCKS; k++)
        if (m->tried[k] > 0)
            strbuf_printf(b, "%s %u: %.2f", k == 2 ? "" : ",", k, m->tried[k]);
        else
            strbuf_printf(b, "%s %u: not", k == 2 ? "" : ",", k);
    strbuf_addz(b, " times as fast, as expected\n");
}

static void
write_report(const struct merge *m, const struct regions *r,
             const struct scratch_use *use)
{
    struct strbuf *b = m->a->report;
    if (!b)
        return;
    strbuf_printf(b,
                  "%s: %u blocks are merged into one along %c with %llu bytes of "
                  "scratchpad; %zu region%s, %.1f%% of its instructions:\n",
                  m->f->name, m->k, (char)('x' + m->dim),
                  (unsigned long long)use->layout.bytes, r->region.n,
                  r->region.n == 1 ? "" : "s",
                  r->all ? 100.0 * (double)r->inside / (double)r->all : 0);
    if (m->moved[SHRINK_BEFORE] || m->moved[SHRINK_AFTER])
        strbuf_printf(b, "  %u instructions moved before regions, %u after them\n",
                      m->moved[SHRINK_BEFORE], m->moved[SHRINK_AFTER]);
    if (m->nasks)
        strbuf_printf(b,
                      "  before %u of the turns virtual blocks ask whether any goes on, "
                      "since they come there unequally often\n",
                      m->nasks);
    if (m->gain.held[0])
        strbuf_printf(b, "  expected: %u threads an SM instead of %u, ", m->gain.held[1],
                      m->gain.held[0]);
    if (m->gain.turns[0])
        strbuf_printf(b, "%llu turns of blocks instead of %llu, ",
                      (unsigned long long)m->gain.turns[1],
                      (unsigned long long)m->gain.turns[0]);
    if (m->gain.held[0])
        strbuf_printf(b, "%.2f times as fast\n", m->gain.faster);
    report_tried(m);
    for (size_t i = 0; i < r->region.n; i++) {
        const struct region *p = &r->region.v[i];
        strbuf_printf(b, "  lines %u to %u, bytes %llu to %llu:", p->from, p->to,
                      (unsigned long long)p->low, (unsigned long long)p->high - 1);
        for (size_t v = 0; v < use->var.n; v++)
            if (p->vars >> scratch_bit(use, v) & 1)
                strbuf_printf(b, " %s", use->var.v[v].var->name);
        strbuf_addz(b, "\n");
    }
}

static bool
read_ahead(struct merge *m, struct diag_sink *diag)
{
    m->ahead = -1;
    return !strcmp(pass_arg(m->a, "ahead"), "auto") ||
           pass_arg_number(m->a, "ahead", 0, 1e6, &m->ahead, diag);
}

static bool
read_private(struct merge *m, struct diag_sink *diag)
{
    double own;
    m->ahead = -1;
    if (!strcmp(pass_arg(m->a, "private"), "auto"))
        return true;
    if (!pass_arg_number(m->a, "private", 16, 1 << 20, &own, diag))
        return false;
    m->own_given = (int64_t)own;
    return true;
}

/* Finds the private part, and the facts with it; without one, turns are for all of it. Why
 * neither can be. */
static const char *
divide(struct merge *m, struct region_facts *x)
{
    m->own = co_choose(m, x);
    if (!m->own && m->own_given >= 0)
        return "private parts would leave nothing public";
    if (!m->own && !(m->a->launch->machine && m->a->launch->kernel))
        return "private=auto needs a machine and a launch: give private=BYTES";
    m->parts = m->own != 0;
    if (!m->parts)
        return NULL;
    region_facts_drop(x);
    x->own = m->own;
    region_facts_find(x, m->f, m->a->launch, x->gap);
    if (x->regions->why) /* all accesses are in the private part */
        return "its public part is not used";
    return NULL;
}

static void
report_parts(const struct merge *m, const struct region_facts *x)
{
    struct strbuf *b = m->a->report;
    unsigned n[3] = {0}, asks = 0;
    if (!b)
        return;
    if (!m->parts) {
        strbuf_printf(b,
                      "%s: no bytes are private: %.2f times as fast is expected of turns "
                      "for all of them, and %.2f of the best private part\n",
                      m->f->name, m->divided[0], m->divided[1]);
        return;
    }
    for (uint32_t i = 0; i < m->f->body.n; i++) {
        if (m->plan[i].part != PART_NONE)
            n[m->plan[i].part]++;
        asks += m->plan[i].part == PART_BOTH && m->plan[i].like < 0;
    }
    strbuf_printf(
        b,
        "%s: %llu bytes are private to each virtual block, %llu public, %llu in "
        "all; of its accesses %u are private, %u public, and %u find out when they "
        "run, by %u comparisons\n",
        m->f->name, (unsigned long long)m->own,
        (unsigned long long)(regions_cells(x->use, 0) - m->own),
        (unsigned long long)(regions_cells(x->use, 0) + (m->k - 1) * m->own), n[PART_OWN],
        n[PART_REST], n[PART_BOTH], asks);
}

/* Why the blocks are better not merged. */
static const char *
not_worth(struct merge *m, const struct region_facts *x)
{
    double inside = 0, outside = 0;
    if (m->parts)
        co_plan(m, x, &inside, &outside);
    if (!vtb_gain(m, x, x->regions, m->own, inside, outside, &m->gain))
        return NULL;
    return !m->gain.held[1] ? "an SM would not hold one merged block"
           : m->gain.faster < m->least
               ? "it would take longer: an SM holds too few more threads, or the grid "
                 "takes too few turns less, for the time that they wait for turns"
               : NULL;
}

/* What the settings ask for. */
struct wish {
    double threads, most, motion; /* of a block; share in regions */
    bool any;                     /* merge=auto */
    bool parts;
};

/* Finds out all that merging m->k blocks needs, and moves code; why they are not merged. x may
 * be empty then. */
static const char *
prepare(struct merge *m, struct region_facts *x, const struct wish *w, unsigned gap)
{
    const char *why = launch_refuses(m, w->threads);
    if (why || (why = vtb_regions(m, x, gap)) || (why = code_refuses(m, x)) ||
        (w->parts && (why = co_refuses(m, x))))
        return why;
    if (w->motion != 0)
        region_shrink(m->f, x, m->a->launch, m->k, m->moved);
    vtb_gain_begin(m, x);
    if (w->parts && (why = divide(m, x)))
        return why;
    if ((double)x->regions->inside > w->most * (double)x->regions->all)
        return arena_printf(
            &x->use->mem, "its scratchpad is in use all the time, or nearly so (line %u)",
            x->regions->region.v[0].from);
    if ((why = vtb_votes(m, x))) /* the code has changed since */
        return why;
    return not_worth(m, x);
}

static unsigned
gap_of(const struct merge *m)
{
    unsigned gap = 0;
    struct diag_sink quiet = {0};
    region_gap(m->a, m->scheme == NAMED ? 2 : m->k, &gap, &quiet);
    diag_free(&quiet);
    return gap;
}

/* merge=auto: the number from which most is expected, the lowest of equals. The code stays as
 * it is. */
static const char *
choose_merge(struct merge *m, const struct wish *w)
{
    const struct ptx_func *f = m->f;
    const size_t bytes = f->body.n * sizeof *f->body.v;
    struct ptx_inst *before = xmalloc(bytes + 1);
    unsigned best = 2;
    memcpy(before, f->body.v, bytes);
    for (unsigned k = 2; k <= MOST_BLOCKS; k++) {
        struct merge t = *m;
        struct region_facts x = {0};
        t.k = k;
        if (!prepare(&t, &x, w, gap_of(&t)))
            m->tried[k] = t.gain.faster;
        if (m->tried[k] > m->tried[best])
            best = k;
        vtb_votes_free(&t);
        region_facts_drop(&x);
        memcpy(f->body.v, before, bytes);
    }
    free(before);
    m->k = best;
    return m->a->launch->machine && m->a->launch->kernel
               ? NULL
               : "merge=auto needs a machine and a launch: give merge=N";
}

static bool
read_merge(struct merge *m, struct wish *w, struct diag_sink *diag)
{
    double k = 2;
    w->any = !strcmp(pass_arg(m->a, "merge"), "auto");
    if (!w->any && !pass_arg_number(m->a, "merge", 2, MOST_BLOCKS, &k, diag))
        return false;
    m->k = (unsigned)k;
    return k == m->k || diag_error(diag,
                                   "pass %s: merge=%g: give a whole number from 2 to 8, "
                                   "or auto",
                                   m->a->pass->name, k);
}

static bool
read_settings(struct merge *m, struct wish *w, struct diag_sink *diag)
{
    const struct pass_args *a = m->a;
    unsigned gap;
    return pass_arg_number(a, "max-threads", 1, 65536, &w->threads, diag) &&
           read_merge(m, w, diag) && region_gap(a, 2, &gap, diag) &&
           pass_arg_number(a, "most", 0, 1, &w->most, diag) &&
           pass_arg_number(a, "motion", 0, 1, &w->motion, diag) &&
           pass_arg_number(a, "gain", 0, 8, &m->least, diag) &&
           (!w->parts || read_private(m, diag)) &&
           (m->scheme != PIPE || w->parts || read_ahead(m, diag));
}

static bool
run_scheme(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
           enum scheme scheme, bool parts, bool *changed, struct diag_sink *diag)
{
    struct merge m = {.f = f, .a = a, .scheme = scheme, .parts = parts, .own_given = -1};
    struct wish w = {.parts = parts};
    (void)facts;
    if (!read_settings(&m, &w, diag))
        return false;
    if (!f->is_entry || (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    char *note = ptx_note(f, "launch");
    const char *why = note ? "its launches are changed already" : NULL;
    free(note);
    struct region_facts x = {0};
    const size_t bytes = f->body.n * sizeof *f->body.v;
    struct ptx_inst *before = xmalloc(bytes + 1);
    memcpy(before, f->body.v, bytes);
    if (!why && w.any)
        why = choose_merge(&m, &w);
    if (!why)
        why = prepare(&m, &x, &w, gap_of(&m));
    if (a->report && why)
        strbuf_printf(a->report, "%s: blocks are not merged: %s\n", f->name, why);
    if (!why && parts)
        report_parts(&m, &x);
    if (!why) {
        write_report(&m, x.regions, x.use);
        vtb_rebuild(&m, &x);
        deepen(&m);
        *changed = true;
    }
    if (why && (m.moved[0] || m.moved[1])) /* as it was */
        memcpy(f->body.v, before, bytes);
    free(before);
    vtb_votes_free(&m);
    region_facts_drop(&x);
    return true;
}

static bool
run_vtb(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
        bool *changed, struct diag_sink *diag)
{
    return run_scheme(f, facts, a, VTB, false, changed, diag);
}

static bool
run_pipe(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
         bool *changed, struct diag_sink *diag)
{
    return run_scheme(f, facts, a, PIPE, false, changed, diag);
}

static bool
run_named(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
          bool *changed, struct diag_sink *diag)
{
    return run_scheme(f, facts, a, NAMED, false, changed, diag);
}

static bool
run_co(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
       bool *changed, struct diag_sink *diag)
{
    static const char *const names[] = {
        [VTB] = "vtb", [PIPE] = "vtb-pipe", [NAMED] = "vtb-named"};
    const char *turns = pass_arg(a, "turns");
    for (int s = VTB; s <= NAMED; s++)
        if (!strcmp(turns, names[s]))
            return run_scheme(f, facts, a, (enum scheme)s, true, changed, diag);
    return diag_error(diag, "pass co-vtb: turns=%s: vtb, vtb-pipe or vtb-named", turns);
}

#define KEYS                                                                             \
    {"merge", "2",                                                                       \
     "blocks that are merged into one, 2 to 8; auto: as many as most is expected of"},   \
        {"max-threads", "1024", "most threads of a block"}, {"gap", "auto", REGION_GAP}, \
        {"gain", "1", "least expected gain; 0: any"},                                    \
        {"most", "1", "largest share of a kernel's instructions in regions"},            \
    {                                                                                    \
        "motion", "1", "1: code that needs no scratchpad moves out of regions"           \
    }

const struct pass pass_vtb = {
    .name = "vtb",
    .meaning = "merges blocks that take turns with one block's scratchpad",
    .keys = (const struct pass_key[]){KEYS, {0}},
    .run_func = run_vtb,
    .shapes = true,
    .not_after = PASS_RELEASES,
};

const struct pass pass_vtb_pipe = {
    .name = "vtb-pipe",
    .meaning = "the same, each virtual block one step after the one before",
    .keys = (const struct pass_key[]){KEYS,
                                      {"ahead", "auto",
                                       "instructions before the first region at which "
                                       "later virtual blocks wait; auto: as many as take "
                                       "as long as it"},
                                      {0}},
    .run_func = run_pipe,
    .shapes = true,
    .not_after = PASS_RELEASES,
};

const struct pass pass_vtb_named = {
    .name = "vtb-named",
    .meaning = "the same, the scratchpad handed over by named barriers",
    .keys = (const struct pass_key[]){KEYS, {0}},
    .run_func = run_named,
    .shapes = true,
    .not_after = PASS_RELEASES,
};

const struct pass pass_co_vtb = {
    .name = "co-vtb",
    .meaning =
        "the same, a part of the scratchpad for each virtual block, the rest in turns",
    .keys =
        (const struct pass_key[]){
            KEYS,
            {"private", "auto",
             "bytes of a virtual block's own part; auto: as many "
             "as cost no block of an SM"},
            {"turns", "vtb-pipe", "vtb, vtb-pipe or vtb-named: how they take turns"},
            {0}},
    .run_func = run_co,
    .shapes = true,
    .not_after = PASS_RELEASES,
};
