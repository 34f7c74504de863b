/* merge_scratchpad.c: one variable in the place of a kernel's scratchpad variables.
 *
 *     .shared .b8 a[1024];                     .shared .b8 __allot_scratchpad[2048];
 *     .shared .b8 b[1024];              ->     mov.u32 %r1, __allot_scratchpad;
 *     mov.u32 %r1, a;                          mov.u32 %r2, __allot_scratchpad+1024;
 *     mov.u32 %r2, b;
 *
 * ptxas knows where a kernel's variables lie while it makes code: the address of one is that of
 * another and a literal (sm_75 to 90, CUDA 13.0, small kernels), and accesses of two by registers
 * of their own may touch the same bytes. So addresses can share registers (address_sums.c).
 *
 * The variables keep their order, which is their layout (analysis/scratchpad.h). Those that
 * another function names too, and extern arrays, stay as they are. */
#include "passes/pass.h"
#include "passes/rewrite.h"

enum { NO_FUNC = -1, MANY = -2 };

/* A variable in scratchpad that may be merged, and what names it. */
struct candidate {
    struct ptx_var *var;
    int32_t func; /* number in the module; NO_FUNC, MANY */
    struct ptx_var *into;
    int64_t at;
};

struct merge {
    struct ptx_module *m;
    VEC(struct candidate) var; /* in the order of declaration */
};

static bool
can_merge(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_SHARED && !v->dynamic && !v->attribute && !v->init &&
           (v->linkage == PTX_LINK_NONE || v->func);
}

static struct candidate *
find(struct merge *x, const struct ptx_var *v)
{
    const size_t n = v && v->space == PTX_SPACE_SHARED ? x->var.n : 0;
    for (size_t i = 0; i < n; i++)
        if (x->var.v[i].var == v)
            return &x->var.v[i];
    return NULL;
}

static void
note_operand(struct merge *x, const struct ptx_operand *o, int32_t func)
{
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        note_operand(x, &o->vec[k], func);
    if (o->kind != PTX_OPD_SYM && o->kind != PTX_OPD_ADDR)
        return;
    struct candidate *c = find(x, o->var);
    if (c)
        c->func = c->func == NO_FUNC || c->func == func ? func : MANY;
}

static void
note_all(struct merge *x)
{
    for (size_t i = 0; i < x->m->vars.n; i++)
        for (size_t k = 0; k < x->m->vars.v[i]->relocs.n; k++) {
            struct candidate *c = find(x, x->m->vars.v[i]->relocs.v[k].var);
            if (c)
                c->func = MANY;
        }
    for (size_t n = 0; n < x->m->funcs.n; n++) {
        const struct ptx_func *f = x->m->funcs.v[n];
        if (f->fault) /* its text may name any variable of the module */
            for (size_t i = 0; i < x->var.n; i++)
                if (!x->var.v[i].var->func)
                    x->var.v[i].func = MANY;
        for (size_t i = 0; i < f->body.n; i++)
            for (unsigned k = 0; k < f->body.v[i].nops; k++)
                note_operand(x, &f->body.v[i].ops[k], (int32_t)n);
    }
}

static bool
is_merged(struct merge *x, const struct ptx_var *v)
{
    const struct candidate *c = find(x, v);
    return c && c->into;
}

/* Takes the merged variables out of a list. */
#define TAKE_OUT(x, list)                                                                \
    do {                                                                                 \
        size_t left = 0;                                                                 \
        for (size_t i = 0; i < (list).n; i++)                                            \
            if (!is_merged(x, (list).v[i]))                                              \
                (list).v[left++] = (list).v[i];                                          \
        (list).n = left;                                                                 \
    } while (0)

static void
point_there(struct merge *x, struct ptx_operand *o)
{
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        point_there(x, &o->vec[k]);
    if (o->kind != PTX_OPD_SYM && o->kind != PTX_OPD_ADDR)
        return;
    const struct candidate *c = find(x, o->var);
    if (c && c->into) {
        o->var = c->into;
        o->off += c->at;
    }
}

/* Merges what function number n alone names; of how many variables. */
static unsigned
merge_func(struct merge *x, int32_t n)
{
    struct ptx_func *f = x->m->funcs.v[n];
    unsigned count = 0;
    for (size_t i = 0; i < x->var.n; i++)
        count += x->var.v[i].func == n;
    if (count < 2 || !f->is_entry || !pass_can_touch(f))
        return 0;
    struct ptx_var *all = ARENA_NEW(&x->m->mem, struct ptx_var);
    all->name = rewrite_new_name(f, "__allot_scratchpad", false);
    all->space = PTX_SPACE_SHARED;
    all->type = PTX_B8;
    all->align = 1;
    all->ndims = 1;
    all->dims = ARENA_NEW(&x->m->mem, uint64_t);
    all->func = f;
    for (size_t i = 0; i < x->var.n; i++) {
        struct candidate *c = &x->var.v[i];
        if (c->func != n)
            continue;
        const uint32_t align = c->var->align ? c->var->align : 1;
        all->align = align > all->align ? align : all->align;
        all->size = (all->size + align - 1) / align * align;
        c->into = all;
        c->at = (int64_t)all->size;
        all->size += c->var->size;
    }
    all->dims[0] = all->size;
    for (size_t i = 0; i < f->body.n; i++)
        for (unsigned k = 0; k < f->body.v[i].nops; k++)
            point_there(x, &f->body.v[i].ops[k]);
    TAKE_OUT(x, f->vars);
    *vec_push(&f->vars) = all;
    return count;
}

static bool
run(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    (void)diag;
    struct merge x = {.m = m};
    for (size_t i = 0; i < m->vars.n; i++)
        if (can_merge(m->vars.v[i]))
            *vec_push(&x.var) = (struct candidate){.var = m->vars.v[i], .func = NO_FUNC};
    for (size_t k = 0; k < m->funcs.n; k++)
        for (size_t i = 0; i < m->funcs.v[k]->vars.n; i++)
            if (can_merge(m->funcs.v[k]->vars.v[i]))
                *vec_push(&x.var) =
                    (struct candidate){.var = m->funcs.v[k]->vars.v[i], .func = NO_FUNC};
    if (x.var.n > 1) {
        note_all(&x);
        for (size_t n = 0; n < m->funcs.n; n++) {
            const unsigned count = merge_func(&x, (int32_t)n);
            if (count && a->report)
                strbuf_printf(a->report, "%s: %u variables of scratchpad are one\n",
                              m->funcs.v[n]->name, count);
        }
        TAKE_OUT(&x, m->vars);
    }
    vec_free(&x.var);
    return true;
}

const struct pass pass_merge_scratchpad = {
    .name = "merge-scratchpad",
    .meaning = "one variable in the place of a kernel's scratchpad variables, as ptxas",
    .run = run,
};
