/* relssp.c: places the instruction with which a thread gives up the shared part of its
 * block's scratchpad (000 sections 6.2 and 6.3): after its last access, exactly once on
 * every path. Where, says analysis/access_range.h.
 *
 * A point on a critical edge gets a block of its own: on an edge that falls through it
 * stands in line; a branch is led to a new block at the end of the body, which jumps on
 * (the GOTO of 000 section 8.1.3). Branches to one label share that block. */
#include "passes/pass.h"

#include "analysis/access_range.h"
#include "base/share.h"

#include <string.h>

struct insertion {
    uint32_t at; /* before this instruction of the old body */
    struct ptx_inst inst;
};

struct landing { /* a new block that releases and jumps on to block `to` */
    uint32_t to;
    int32_t label;
};

struct edit {
    struct ptx_module *m;
    struct ptx_func *f;
    const struct cfg *g;
    int32_t nlabels; /* before the first new one */
    VEC(struct insertion) ins;
    VEC(struct landing) landing;
    uint32_t *landing_of; /* of each block: its landing's number from 1; 0: none */
};

static struct ptx_inst
relssp(struct edit *e)
{
    return ptx_inst_new(e->m, PTX_OP_RELSSP, 0);
}

static struct ptx_inst
label_inst(struct edit *e, int32_t label)
{
    struct ptx_inst in = ptx_inst_new(e->m, PTX_OP_LABEL, 1);
    in.ops[0].kind = PTX_OPD_LABEL;
    in.ops[0].label = label;
    return in;
}

/* A label of block v, one it has or a new one. */
static int32_t
label_of(struct edit *e, uint32_t v)
{
    const struct ptx_inst *first = &e->f->body.v[e->g->block[v].first];
    if (first->op == PTX_OP_LABEL)
        return first->ops[0].label;
    int32_t label = ptx_label_new(e->f);
    *vec_push(&e->ins) = (struct insertion){e->g->block[v].first, label_inst(e, label)};
    return label;
}

static int32_t
landing_for(struct edit *e, uint32_t to)
{
    if (!e->landing_of[to]) {
        *vec_push(&e->landing) = (struct landing){to, ptx_label_new(e->f)};
        e->landing_of[to] = (uint32_t)e->landing.n;
    }
    return e->landing.v[e->landing_of[to] - 1].label;
}

static void
retarget(struct edit *e, struct ptx_operand *ops, unsigned n, uint32_t to, int32_t label)
{
    for (unsigned i = 0; i < n; i++) {
        if (ops[i].kind == PTX_OPD_VEC)
            retarget(e, ops[i].vec, ops[i].n, to, label);
        else if (ops[i].kind == PTX_OPD_LABEL && ops[i].label < e->nlabels &&
                 e->g->label_at[ops[i].label] != UINT32_MAX &&
                 e->g->block_of[e->g->label_at[ops[i].label]] == to)
            ops[i].label = label;
    }
}

static bool
falls_into(const struct edit *e, uint32_t from, uint32_t to)
{
    const struct cfg_block *b = &e->g->block[from];
    const struct ptx_inst *last = &e->f->body.v[b->end - 1];
    return to == from + 1 && (last->guard >= 0 || !cfg_targets(last, NULL, 0));
}

static void
split_edge(struct edit *e, const struct release_point *p)
{
    struct ptx_inst *last = &e->f->body.v[e->g->block[p->from].end - 1];
    if (falls_into(e, p->from, p->to)) {
        *vec_push(&e->ins) = (struct insertion){e->g->block[p->to].first, relssp(e)};
        return;
    }
    last->ops = ptx_operands_dup(e->m, last->ops, last->nops);
    retarget(e, last->ops, last->nops, p->to, landing_for(e, p->to));
}

/* Blocks after the end of the body; it must not fall into them. */
static void
add_landings(struct edit *e)
{
    if (!e->landing.n)
        return;
    struct ptx_func *f = e->f;
    uint32_t end = (uint32_t)f->body.n;
    const struct ptx_inst *last = &f->body.v[end - 1];
    if (last->guard >= 0 ||
        !(ptx_ops[last->op].flags & PTX_ENDS || cfg_targets(last, NULL, 0)))
        *vec_push(&e->ins) = (struct insertion){end, ptx_inst_new(e->m, PTX_OP_RET, 0)};
    for (size_t i = 0; i < e->landing.n; i++) {
        struct ptx_inst bra = ptx_inst_new(e->m, PTX_OP_BRA, 1);
        bra.ops[0].kind = PTX_OPD_LABEL;
        bra.ops[0].label = label_of(e, e->landing.v[i].to);
        *vec_push(&e->ins) =
            (struct insertion){end, label_inst(e, e->landing.v[i].label)};
        *vec_push(&e->ins) = (struct insertion){end, relssp(e)};
        *vec_push(&e->ins) = (struct insertion){end, bra};
    }
}

/* One new body: the insertions before their instructions, in the order they were made. */
static void
rebuild(struct edit *e)
{
    struct ptx_func *f = e->f;
    VEC(struct ptx_inst) body = {0};
    vec_reserve(&body, f->body.n + e->ins.n);
    /* Insertions before each instruction, as lists: first[i], then next[]. */
    uint32_t *first = xcalloc(f->body.n + 1, sizeof *first),
             *next = xcalloc(e->ins.n + 1, sizeof *next);
    for (size_t k = e->ins.n; k-- > 0;) { /* numbers from 1: 0 ends a list */
        next[k] = first[e->ins.v[k].at];
        first[e->ins.v[k].at] = (uint32_t)k + 1;
    }
    for (uint32_t i = 0; i <= f->body.n; i++) {
        for (uint32_t k = first[i]; k; k = next[k - 1])
            *vec_push(&body) = e->ins.v[k - 1].inst;
        if (i < f->body.n)
            *vec_push(&body) = f->body.v[i];
    }
    free(first);
    free(next);
    vec_take(&f->body, &body);
}

static void
apply(struct edit *e, const struct release_plan *plan)
{
    e->landing_of = xcalloc(e->g->n + 1, sizeof *e->landing_of);
    for (size_t i = 0; i < plan->point.n; i++) {
        const struct release_point *p = &plan->point.v[i];
        if (p->kind == RELEASE_EDGE) {
            split_edge(e, p);
            continue;
        }
        struct ptx_inst in = relssp(e);
        if (p->kind == RELEASE_GUARDED) {
            in.guard = e->f->body.v[p->inst].guard;
            in.guard_neg = e->f->body.v[p->inst].guard_neg;
        }
        *vec_push(&e->ins) = (struct insertion){p->inst, in};
    }
    add_landings(e);
    rebuild(e);
    vec_free(&e->ins);
    vec_free(&e->landing);
    free(e->landing_of);
}

/* Line of instruction k, or of the nearest before it that has one. */
static uint32_t
line_of(const struct ptx_func *f, uint32_t k)
{
    while (k && (k >= f->body.n || !f->body.v[k].line))
        k--;
    return f->body.v[k].line;
}

/* Why a point that is on no edge is where it is. */
static void
report_reason(const struct access_range *a, scratch_set s, uint32_t at, struct strbuf *b)
{
    const struct cfg *g = a->cfg;
    const struct ptx_func *f = g->func;
    uint32_t first = at ? g->block[g->block_of[at - 1]].first : 0;
    for (uint32_t k = at; k-- > first;)
        if (a->touch[k] & s) {
            strbuf_printf(b, " (after the last access, line %u)", line_of(f, k));
            return;
        }
    if (at < f->body.n && ptx_ops[f->body.v[at].op].flags & PTX_ENDS)
        strbuf_addz(b, " (at the end: no earlier place is passed once on every path)");
    else
        strbuf_addz(b, " (no path from here on has an access)");
}

static void
write_report(const struct access_range *a, scratch_set s, const struct release_plan *plan,
             const char *mode, struct strbuf *b)
{
    const struct cfg *g = a->cfg;
    const struct ptx_func *f = g->func;
    if (!b)
        return;
    if (!plan->point.n) {
        strbuf_printf(b, "%s: no relssp: it does not touch the shared part\n", f->name);
        return;
    }
    strbuf_printf(b, "%s: relssp (%s) at %zu place%s:", f->name, mode, plan->point.n,
                  plan->point.n == 1 ? "" : "s");
    for (size_t i = 0; i < plan->point.n; i++) {
        const struct release_point *p = &plan->point.v[i];
        if (p->kind == RELEASE_EDGE) {
            strbuf_printf(b,
                          "%s on the edge from line %u to line %u, split (paths without "
                          "a further access part there)",
                          i ? "," : "", line_of(f, g->block[p->from].end - 1),
                          line_of(f, g->block[p->to].first));
            continue;
        }
        strbuf_printf(b, "%s %s line %u", i ? "," : "",
                      p->inst < f->body.n ? "before" : "after", line_of(f, p->inst));
        report_reason(a, s, p->inst, b);
    }
    strbuf_addz(b, "\n");
}

static void
one_kernel(struct ptx_module *m, struct ptx_func *f, double threshold, uint64_t dynamic,
           enum release_mode mode, const char *mode_name, struct strbuf *report)
{
    struct scratch_use *use = scratch_use_new(f);
    if (use->all) {
        uint64_t bytes = use->layout.bytes + dynamic;
        struct cfg *g = cfg_new(f);
        struct access_range *range = access_range_new(g, use->funcs.v[0].touch);
        struct release_plan plan;
        scratch_set shared = scratch_beyond(use, share_private(bytes, threshold));
        release_plan(range, shared, mode, &plan);
        write_report(range, shared, &plan, mode_name, report);
        struct edit e = {.m = m, .f = f, .g = g, .nlabels = (int32_t)f->labels.n};
        apply(&e, &plan);
        release_plan_free(&plan);
        access_range_free(range);
        cfg_free(g);
    }
    scratch_use_free(use);
}

static bool
has_release(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].op == PTX_OP_RELSSP)
            return true;
    return false;
}

static bool
run(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    static const char *const modes[] = {"optimal", "postdom", "exit"};
    double t, dynamic;
    if (!pass_arg_number(a, "threshold", 0, 1, &t, diag) ||
        !pass_arg_number(a, "dynamic", 0, 16 << 20, &dynamic, diag))
        return false;
    const char *mode = pass_arg(a, "mode");
    int k = 0;
    while (k < 3 && strcmp(mode, modes[k]))
        k++;
    if (k == 3)
        return diag_error(diag, "pass relssp: mode=%s: give optimal, postdom or exit",
                          mode);
    for (size_t i = 0; i < m->funcs.n; i++) {
        struct ptx_func *f = m->funcs.v[i];
        if (!f->is_entry || !f->has_body || f->fault)
            continue;
        if (!has_release(f))
            one_kernel(m, f, t, (uint64_t)dynamic, (enum release_mode)k, mode, a->report);
        else if (a->report)
            strbuf_printf(a->report, "%s: has relssp already, left as it is\n", f->name);
    }
    return true;
}

static const struct pass_key keys[] = {
    {"threshold", "0.1", "t: this fraction of a block's scratchpad is private"},
    {"dynamic", "0", "bytes of extern .shared arrays at launch"},
    {"mode", "optimal", "optimal, postdom (one place that all threads pass), exit"},
    {0}};

const struct pass pass_relssp = {
    .name = "relssp",
    .meaning = "gives the shared part of the scratchpad up after its last access",
    .keys = keys,
    .run = run,
};
