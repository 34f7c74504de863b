/* vtb.c: virtual thread blocks (003 section 4.1 and 4.2): blocks are merged into one that
 * has one block's scratchpad, and take turns in the parts of the code that use it
 * (analysis/regions.h). A block of the original is then a virtual block.
 *
 * Virtual blocks are told apart by the depth of the merged block, so that warps keep their
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
 *                block waits behind its turn for what the first one computes.
 *     vtb-named  take: bar.sync h(v - 1)         give: bar.arrive h(v)
 *                The scratchpad goes round like a token; barrier h(v) joins the one that
 *                gives and the one that takes, twice a virtual block's threads. The last
 *                virtual block sends the first token at the start, the first one receives
 *                the last token at the end. Nobody else waits.
 *
 * A grid that K does not divide is rounded up; virtual blocks past its end leave at once,
 * and the others are counted (`live`). That needs the grid's size, so code for a known
 * launch only. Blocks must be whole warps: barriers count those. */
#include "passes/vtb_int.h"

#include "passes/rewrite.h"
#include "passes/shape.h"

#include "analysis/live.h"
#include "machine/occupancy.h"
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
code_refuses(struct merge *m)
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
            return why;
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

static void
tell(const struct merge *m, const struct regions *r, const struct scratch_use *use)
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
    if (m->moved[SHRINK_BEFORE] || m->moved[SHRINK_BEHIND])
        strbuf_printf(b, "  %u instructions moved before regions, %u behind them\n",
                      m->moved[SHRINK_BEFORE], m->moved[SHRINK_BEHIND]);
    if (m->nasks)
        strbuf_printf(b,
                      "  before %u of the turns virtual blocks ask whether any goes on, "
                      "since they come there unequally often\n",
                      m->nasks);
    if (m->held[0])
        strbuf_printf(b,
                      "  expected: %u threads an SM instead of %u, %.2f times as fast\n",
                      m->held[1], m->held[0], m->expected);
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

/* Finds the private part, and the facts with it; why there is none. */
static const char *
divide(struct merge *m, struct region_facts *x)
{
    m->own = co_choose(m, x);
    if (!m->own)
        return m->a->launch->machine && m->a->launch->kernel
                   ? "private parts would cost an SM blocks, or leave nothing public"
                   : "private=auto needs a machine and a launch: give private=BYTES";
    region_facts_drop(x);
    x->own = m->own;
    region_facts_find(x, m->f, m->a->launch, x->gap);
    if (x->regions->why) /* all accesses are in the private part */
        return "its public part is not used";
    return NULL;
}

static void
tell_parts(const struct merge *m, const struct region_facts *x)
{
    struct strbuf *b = m->a->report;
    unsigned n[3] = {0};
    if (!b)
        return;
    for (uint32_t i = 0; i < m->f->body.n; i++)
        if (!ptx_is_pseudo(&m->f->body.v[i]) &&
            ptx_inst_space(&m->f->body.v[i]) == PTX_SPACE_SHARED)
            n[x->part[i]]++;
    strbuf_printf(
        b,
        "%s: %llu bytes are private to each virtual block, %llu public, %llu in "
        "all; of its accesses %u are private, %u public, and %u find out when "
        "they run\n",
        m->f->name, (unsigned long long)m->own,
        (unsigned long long)(regions_cells(x->use, 0) - m->own),
        (unsigned long long)(regions_cells(x->use, 0) + (m->k - 1) * m->own), n[PART_OWN],
        n[PART_REST], n[PART_BOTH]);
}

/* Blocks of `threads` threads that an SM holds; 0: none, or the machine is not known. */
static uint32_t
blocks_held(const struct merge *m, uint32_t threads, uint32_t registers,
            uint64_t scratchpad)
{
    const struct occ_kernel k = {
        .threads = threads, .registers = registers, .scratchpad = (uint32_t)scratchpad};
    struct allot_occupancy o = {0};
    struct diag_sink quiet = {0};
    if (!occ_compute(m->a->launch->machine, &k, OCC_SHARE_NONE, 1, &o, &quiet))
        o.resident_blocks = 0;
    diag_free(&quiet);
    return o.resident_blocks;
}

/* How many threads an SM holds before and after, by the registers that are live at once
 * (allocation may need some more), and what to expect: they are as much faster as they are
 * more, but K virtual blocks need K turns, and so not less time than these take. Why the
 * blocks are better not merged. */
static const char *
occupancy(struct merge *m, const struct region_facts *x)
{
    const struct pass_launch *l = m->a->launch;
    const uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    if (!l->machine || !l->kernel)
        return NULL;
    struct live *live = live_new(x->cfg);
    uint32_t registers, predicates;
    live_max(live, &registers, &predicates);
    live_free(live);
    const uint32_t most = l->machine->sm.max_registers;
    registers = registers < most ? registers : most;
    const uint64_t bytes = region_block_bytes(x, l);
    m->held[0] = threads * blocks_held(m, threads, registers, bytes);
    m->held[1] = threads * m->k *
                 blocks_held(m, threads * m->k, registers, bytes + (m->k - 1) * m->own);
    if (!m->held[0])
        return NULL;
    const double inside =
        x->regions->all ? (double)x->regions->inside * m->k / (double)x->regions->all : 0;
    m->expected = (double)m->held[1] / (inside > 1 ? inside : 1) / (double)m->held[0];
    return !m->held[1] ? "an SM would not hold one merged block"
           : m->expected < m->least
               ? "it would take longer: an SM holds too few more threads "
                 "for the time that they wait for turns"
               : NULL;
}

static bool
run_scheme(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
           enum scheme scheme, bool parts, bool *changed, struct diag_sink *diag)
{
    double threads, most, k, motion;
    unsigned gap;
    (void)facts;
    struct merge m = {.f = f, .a = a, .scheme = scheme, .parts = parts, .own_given = -1};
    if (!pass_arg_number(a, "max-threads", 1, 65536, &threads, diag) ||
        !pass_arg_number(a, "merge", 2, MOST_BLOCKS, &k, diag) ||
        !region_gap(a, scheme == NAMED ? 2 : (unsigned)k, &gap, diag) ||
        !pass_arg_number(a, "most", 0, 1, &most, diag) ||
        !pass_arg_number(a, "motion", 0, 1, &motion, diag) ||
        !pass_arg_number(a, "gain", 0, 8, &m.least, diag) ||
        (parts && !read_private(&m, diag)) ||
        (scheme == PIPE && !parts && !read_ahead(&m, diag)))
        return false;
    if (k != (unsigned)k)
        return diag_error(diag, "pass %s: merge=%g: give a whole number from 2 to 8",
                          a->pass->name, k);
    if (!f->is_entry || (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    m.k = (unsigned)k;
    char *note = ptx_note(f, "launch");
    const char *why = note ? "its launches are changed already" : NULL;
    free(note);
    if (!why)
        why = launch_refuses(&m, threads);
    struct region_facts x = {0};
    if (!why) {
        why = vtb_regions(&m, &x, gap);
    }
    if (!why)
        why = code_refuses(&m);
    if (!why && parts)
        why = co_refuses(&m, &x);
    const size_t bytes = f->body.n * sizeof *f->body.v;
    struct ptx_inst *before = xmalloc(bytes + 1);
    memcpy(before, f->body.v, bytes);
    if (!why && motion)
        region_shrink(f, &x, a->launch, m.k, m.moved);
    if (!why && parts)
        why = divide(&m, &x);
    if (!why && (double)x.regions->inside > most * (double)x.regions->all)
        why = "its scratchpad is in use all the time";
    if (!why) /* the code has changed since */
        why = vtb_votes(&m, &x);
    if (!why)
        why = occupancy(&m, &x);
    if (a->report && why)
        strbuf_printf(a->report, "%s: blocks are not merged: %s\n", f->name, why);
    if (!why && parts)
        tell_parts(&m, &x);
    if (!why) {
        tell(&m, x.regions, x.use);
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
    {"merge", "2", "blocks that are merged into one, 2 to 8"},                           \
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
};

const struct pass pass_vtb_pipe = {
    .name = "vtb-pipe",
    .meaning = "the same, each virtual block one step behind the one before",
    .keys = (const struct pass_key[]){KEYS,
                                      {"ahead", "auto",
                                       "instructions before the first region at which "
                                       "later virtual blocks wait; auto: as many as take "
                                       "as long as it"},
                                      {0}},
    .run_func = run_pipe,
    .shapes = true,
};

const struct pass pass_vtb_named = {
    .name = "vtb-named",
    .meaning = "the same, the scratchpad handed over by named barriers",
    .keys = (const struct pass_key[]){KEYS, {0}},
    .run_func = run_named,
    .shapes = true,
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
};
