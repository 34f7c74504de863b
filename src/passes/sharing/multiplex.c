/* multiplex.c: scratchalloc and scratchfree around the parts of a kernel that use its
 * scratchpad (003 section 5), for residency multiplexing.
 *
 *     multiplex-hw      all of the scratchpad is allocated while the kernel runs
 *     co-multiplex-hw   a block keeps the first bytes from its start to its end (private),
 *                       and allocates the rest (public): CO-HW
 *
 * Where: the ends of scratchpad access regions (analysis/regions.h), which all threads of a
 * block pass together; another block may pass them more often, since no block waits for
 * another one there but for the bytes. For co-multiplex-hw an access that stays within the
 * private bytes belongs to no region. Both instructions are barriers, so a plain bar.sync 0
 * right beside one goes.
 *
 * Which variables are private (auto): they are ordered by the share of the kernel in which
 * each is in use by itself, longest first, and laid out in this order. Each prefix that
 * leaves a public rest is tried. With f the share of instructions within the public
 * regions, R resident blocks and A public parts beside their private ones, at most
 *
 *     min(R, A / f)
 *
 * blocks are at work at a time. The prefix with the highest value is taken; of equals, or
 * without a machine, the one that holds the fewest bytes over time, private + f public. */
#include "passes/sharing/scratch_order.h"

#include "analysis/regions.h"
#include "analysis/usage.h"
#include "machine/occupancy.h"
#include "passes/rewrite.h"
#include "passes/blocks/region_shrink.h"

#include <string.h>

enum { UNIT = 16, MOST_BORDERS = 64 };

struct place {
    struct ptx_module *m;
    struct ptx_func *f;
    const struct pass_args *a;
    struct cfg *g;
    unsigned gap;
    double most;      /* largest share of instructions in regions */
    uint64_t dynamic; /* bytes of extern arrays */
};

/* Regions of the bytes from `from` on; r->why: there are none. */
struct choice {
    uint64_t from, bytes; /* the public part */
    struct region_facts x;
    struct regions *r;        /* of x */
    struct occ_multiplexed o; /* blocks 0: not known */
    double blocks;            /* at work, at most */
};

/* -- the launch -- */

static uint32_t
threads(const struct place *p)
{
    const struct pass_launch *l = p->a->launch;
    const uint32_t *n = l->kernel          ? l->block
                        : p->f->reqntid[0] ? p->f->reqntid
                        : p->f->maxntid[0] ? p->f->maxntid
                                           : NULL;
    uint32_t t = n ? 1 : 0;
    for (int i = 0; n && i < 3; i++)
        t *= n[i] ? n[i] : 1;
    return t;
}

/* What the choice is worth on the machine. */
static void
judge(const struct place *p, struct choice *c)
{
    const struct pass_launch *l = p->a->launch;
    struct diag_sink quiet = {0};
    struct usage u;
    usage_of(p->f, &u);
    struct occ_kernel k = {.threads = threads(p),
                           .registers = u.registers ? u.registers : u.live_registers,
                           .scratchpad = (uint32_t)(c->from + c->bytes),
                           .allocated = (uint32_t)c->bytes};
    usage_free(&u);
    if (l->machine && l->machine->residency.regs_per_thread)
        k.registers = (uint32_t)l->machine->residency.regs_per_thread;
    const double f = (double)c->r->inside / (double)c->r->all;
    if (l->machine && k.threads && occ_multiplex(l->machine, &k, &c->o, &quiet) &&
        c->o.public_bytes) {
        const uint32_t rest = c->o.size - c->o.blocks * c->o.private_bytes;
        c->blocks = c->o.blocks;
        if (f > 0 && rest / c->o.public_bytes / f < c->blocks)
            c->blocks = rest / c->o.public_bytes / f;
    } else {
        c->o.blocks = 0;
    }
    diag_free(&quiet);
}

/* Bytes that a block holds, over its time. */
static double
held(const struct choice *c)
{
    return (double)c->from + (double)c->bytes * (double)c->r->inside / (double)c->r->all;
}

static bool
better(const struct choice *c, const struct choice *than)
{
    if (c->o.blocks && than->o.blocks && c->blocks != than->blocks)
        return c->blocks > than->blocks;
    return held(c) < held(than);
}

/* -- regions -- */

static uint64_t
end_of(const struct place *p, const struct scratch_use *use, size_t i)
{
    const struct scratch_var *v = &use->var.v[i];
    return v->at + (v->var->dynamic ? p->dynamic : v->var->size);
}

/* Of a block, with the bytes of a launch that no variable has. */
static uint64_t
bytes_of(const struct place *p, const struct scratch_use *use)
{
    return p->dynamic ? use->layout.dynamic_base + p->dynamic : use->layout.bytes;
}

/* Regions of one variable, all of it. */
static struct regions *
regions_of(const struct place *p, struct scratch_use *use, scratch_set vars)
{
    scratch_set *touch = use->funcs.v[0].touch;
    const size_t n = p->f->body.n;
    scratch_set *was = xcalloc(n + 1, sizeof *was);
    memcpy(was, touch, n * sizeof *was);
    for (size_t i = 0; i < n; i++)
        if (!(touch[i] & vars))
            touch[i] = 0;
    struct regions *r = regions_new(p->g, use, UNIFORM_BLOCK, NULL, p->dynamic, p->gap);
    memcpy(touch, was, n * sizeof *was);
    free(was);
    return r;
}

/* The choice with the first `from` bytes kept. An access that stays below them in all
 * threads belongs to no region. */
static void
choose(const struct place *p, uint64_t from, struct choice *c)
{
    struct pass_launch l = *p->a->launch;
    l.dynamic_scratchpad = (uint32_t)p->dynamic;
    *c = (struct choice){.from = from, .x = {.places = UNIFORM_BLOCK, .own = from}};
    region_facts_find(&c->x, p->f, &l, p->gap);
    c->bytes = bytes_of(p, c->x.use) - from;
    c->r = c->x.regions;
    if (!c->r->why)
        judge(p, c);
}

/* Takes c if it is better than *best. */
static void
consider(const struct place *p, uint64_t from, struct choice *best)
{
    struct choice c;
    if (!from || from >= bytes_of(p, best->x.use))
        return;
    choose(p, from, &c);
    const bool take = !c.r->why && (best->r->why || better(&c, best));
    region_facts_drop(take ? &best->x : &c.x);
    if (take)
        *best = c;
}

/* Static variables in the order of their shares, longest first; equals stay. */
static void
by_share(const struct place *p, struct scratch_use *use, struct ptx_var **order, size_t n)
{
    double *share = xcalloc(n + 1, sizeof *share);
    for (size_t i = 0; i < n; i++) {
        struct regions *r = regions_of(p, use, (uint64_t)1 << scratch_bit(use, i));
        share[i] = r->why ? 2 : (double)r->inside / (double)r->all;
        regions_free(r);
        order[i] = (struct ptx_var *)use->var.v[i].var;
        for (size_t k = i; k && share[k] > share[k - 1]; k--) {
            double s = share[k];
            struct ptx_var *v = order[k];
            share[k] = share[k - 1];
            share[k - 1] = s;
            order[k] = order[k - 1];
            order[k - 1] = v;
        }
    }
    free(share);
}

/* -- the kernel -- */

static bool
is_plain_barrier(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BAR && in->mod[PTX_MG_SYNC] && in->guard < 0 &&
           in->ops[0].kind == PTX_OPD_IMM && !in->ops[0].imm &&
           (in->nops < 2 || in->ops[1].kind == PTX_OPD_NONE);
}

/* Barriers that the new ones stand right beside: bits in `gone`. */
static void
redundant(const struct place *p, const struct regions *r, bool *gone)
{
    const struct ptx_func *f = p->f;
    for (size_t k = 0; k < r->point.n; k++) {
        const uint32_t at = r->point.v[k].at;
        uint32_t i = at;
        while (i && ptx_is_pseudo(&f->body.v[i - 1]) &&
               f->body.v[i - 1].op != PTX_OP_LABEL)
            i--;
        if (i && is_plain_barrier(&f->body.v[i - 1]))
            gone[i - 1] = true;
        for (i = at; i < f->body.n && ptx_is_pseudo(&f->body.v[i]) &&
                     f->body.v[i].op != PTX_OP_LABEL;)
            i++;
        if (i < f->body.n && is_plain_barrier(&f->body.v[i]))
            gone[i] = true;
    }
}

static void
insert(const struct place *p, const struct choice *c)
{
    struct ptx_func *f = p->f;
    VEC(struct ptx_inst) to = {0};
    bool *gone = xcalloc(f->body.n + 1, sizeof *gone);
    size_t next = 0;
    redundant(p, c->r, gone);
    for (uint32_t i = 0; i <= f->body.n; i++) {
        for (; next < c->r->point.n && c->r->point.v[next].at == i; next++) {
            const bool take = c->r->point.v[next].take;
            struct ptx_inst in =
                ptx_inst_new(p->m, take ? PTX_OP_SALLOC : PTX_OP_SFREE, take ? 2 : 0);
            if (take) {
                in.ops[0] = rewrite_literal(c->from);
                in.ops[1] = rewrite_literal(c->bytes);
            }
            *vec_push(&to) = in;
        }
        if (i < f->body.n && !gone[i])
            *vec_push(&to) = f->body.v[i];
    }
    free(gone);
    vec_take(&f->body, &to);
}

/* -- words -- */

/* Turns in which all SMs together run the grid, before and after: blocks that take as long as
 * each other gain nothing where those are as many. */
static void
report_turns(const struct place *p, const struct choice *c)
{
    const struct pass_launch *l = p->a->launch;
    const uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                   before = (uint64_t)c->o.baseline * (uint64_t)l->machine->sm.count,
                   after = (uint64_t)c->o.blocks * (uint64_t)l->machine->sm.count;
    if (!l->kernel || !total)
        return;
    const uint64_t was = (total + before - 1) / before, is = (total + after - 1) / after;
    strbuf_printf(p->a->report,
                  "  the grid takes %llu turns of blocks instead of %llu%s\n",
                  (unsigned long long)is, (unsigned long long)was,
                  is < was ? "" : ": no gain is to be expected of blocks that are alike");
}

static void
write_report(const struct place *p, const struct scratch_use *use, const struct choice *c)
{
    struct strbuf *b = p->a->report;
    if (!b)
        return;
    const double share = (double)c->r->inside / (double)c->r->all;
    strbuf_printf(b,
                  "%s: allocates %llu bytes of scratchpad from byte %llu on in %zu "
                  "region%s, %.1f%% of its instructions:\n",
                  p->f->name, (unsigned long long)c->bytes, (unsigned long long)c->from,
                  c->r->region.n, c->r->region.n == 1 ? "" : "s", 100 * share);
    for (size_t i = 0; i < c->r->region.n; i++) {
        const struct region *r = &c->r->region.v[i];
        strbuf_printf(b, "  lines %u to %u, bytes %llu to %llu:", r->from, r->to,
                      (unsigned long long)r->low, (unsigned long long)r->high - 1);
        for (size_t v = 0; v < use->var.n; v++)
            if (r->vars >> scratch_bit(use, v) & 1)
                strbuf_printf(b, " %s", use->var.v[v].var->name);
        strbuf_addz(b, "\n");
    }
    if (c->from) {
        strbuf_addz(b, "  private to each block:");
        for (size_t v = 0; v < use->var.n && use->var.v[v].at < c->from; v++)
            strbuf_printf(b, end_of(p, use, v) <= c->from ? " %s" : " a part of %s",
                          use->var.v[v].var->name);
        strbuf_addz(b, "\n");
    }
    if (c->o.blocks)
        strbuf_printf(b,
                      "  blocks of an SM: %u instead of %u, of which at most %u hold "
                      "scratchpad at a time; so at most %.2f times as many are at work\n",
                      c->o.blocks, c->o.baseline,
                      (c->o.size - c->o.blocks * c->o.private_bytes) / c->o.public_bytes,
                      c->blocks / c->o.baseline);
    if (c->o.blocks)
        report_turns(p, c);
}

static void
refuse(const struct place *p, const char *why)
{
    if (p->a->report)
        strbuf_printf(p->a->report, "%s: scratchpad is not allocated while it runs: %s\n",
                      p->f->name, why);
}

/* -- one kernel -- */

static bool
allocates(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].op == PTX_OP_SALLOC || f->body.v[i].op == PTX_OP_SFREE)
            return true;
    return false;
}

static bool
has_extern(const struct scratch_use *use)
{
    return use->var.n && use->var.v[use->var.n - 1].var->dynamic;
}

/* Where an access, in all threads together, ends or begins: what is below may be private. */
static size_t
borders(const struct choice *c, uint64_t *at, size_t most)
{
    size_t n = 0;
    const struct region_facts *x = &c->x;
    for (size_t i = 1; i < x->use->var.n && n < most; i++)
        at[n++] = x->use->var.v[i].at;
    for (uint32_t i = 0; x->bytes && i < x->cfg->func->body.n; i++) {
        const uint64_t *may = x->bytes->inst[i].may;
        uint64_t low = 0;
        while (may && low < x->cells && !bitset_has(may, low))
            low++;
        size_t k = 0;
        while (k < n && at[k] != low)
            k++;
        if (may && low && low % UNIT == 0 && low < x->cells && k == n && n < most)
            at[n++] = low;
    }
    return n;
}

/* The best choice; its order of variables is the layout when this returns. */
static void
search(struct place *p, struct choice *best)
{
    struct scratch_use *use = scratch_use_new(p->f);
    size_t n = 0;
    while (n < use->var.n && !use->var.v[n].var->dynamic)
        n++;
    struct ptx_var **order = xcalloc(n + 1, sizeof *order);
    by_share(p, use, order, n);
    scratch_order(p->m, order, n);
    free(order);
    scratch_use_free(use);
    uint64_t at[MOST_BORDERS];
    choose(p, 0, best);
    n = borders(best, at, MOST_BORDERS);
    for (size_t i = 0; i < n; i++)
        consider(p, at[i], best);
}

static void
one_kernel(struct place *p, bool collaborate)
{
    struct scratch_use *use = scratch_use_new(p->f);
    struct choice c = {0};
    const char *why = NULL;
    const bool found = !allocates(p->f) && (!has_extern(use) || p->dynamic);
    if (allocates(p->f))
        why = "it does so already";
    else if (has_extern(use) && !p->dynamic)
        why = "the size of its dynamic scratchpad is not known (dynamic=BYTES)";
    if (!why) {
        if (collaborate)
            search(p, &c);
        else
            choose(p, 0, &c);
        why = c.r->why;
        if (!why && (double)c.r->inside > p->most * (double)c.r->all)
            why = "it is in use all the time";
    }
    if (why) {
        refuse(p, why);
    } else {
        if (p->a->report && collaborate && !c.from)
            strbuf_printf(p->a->report,
                          "%s: all of it is allocated: to keep variables private gains "
                          "no more\n",
                          p->f->name);
        write_report(p, c.x.use, &c);
        insert(p, &c);
    }
    if (found)
        region_facts_drop(&c.x);
    scratch_use_free(use);
}

static bool
run_scheme(struct ptx_module *m, const struct pass_args *a, bool collaborate,
           struct diag_sink *diag)
{
    const struct pass_launch *l = a->launch;
    double most, dynamic;
    unsigned gap;
    if (!region_gap(a, 2, &gap, diag) || !pass_arg_number(a, "most", 0, 1, &most, diag) ||
        !pass_arg_number(a, "dynamic", 0, 16 << 20, &dynamic, diag))
        return false;
    for (size_t i = 0; i < m->funcs.n; i++) {
        struct ptx_func *f = m->funcs.v[i];
        if (!f->is_entry || !f->has_body || !pass_can_touch(f) ||
            (l->kernel && strcmp(l->kernel, f->name) != 0))
            continue;
        struct place p = {.m = m,
                          .f = f,
                          .a = a,
                          .g = cfg_new(f),
                          .gap = gap,
                          .most = most,
                          .dynamic =
                              l->kernel ? l->dynamic_scratchpad : (uint64_t)dynamic};
        one_kernel(&p, collaborate);
        cfg_free(p.g);
    }
    return true;
}

static bool
run_hw(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    return run_scheme(m, a, false, diag);
}

static bool
run_co(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    return run_scheme(m, a, true, diag);
}

static const struct pass_key keys[] = {
    {"gap", "auto", REGION_GAP},
    {"most", "1", "largest share of a kernel's instructions in regions"},
    {"dynamic", "0", "bytes of extern .shared arrays at launch"},
    {0}};

const struct pass pass_multiplex_hw = {
    .name = "multiplex-hw",
    .meaning = "blocks allocate scratchpad around the regions that use it",
    .keys = keys,
    .run = run_hw,
    .shapes = true,
};

const struct pass pass_co_multiplex_hw = {
    .name = "co-multiplex-hw",
    .meaning = "the same for a part of it, what is in use longest they keep",
    .keys = keys,
    .run = run_co,
    .shapes = true,
};
