/* scratch_order.c: puts a kernel's scratchpad variables into an order. The layout is the
 * order of declaration (analysis/scratchpad.h), so declarations move. */
#include "passes/sharing/scratch_order.h"

#include "base/str.h"

#include <string.h>

static void
hoist(struct ptx_module *m, struct ptx_func *f, struct ptx_var *v)
{
    struct strbuf name = {0};
    strbuf_printf(&name, "%s$%s", f->name, v->name);
    while (ptx_find_var(m, name.s))
        strbuf_addz(&name, "_");
    for (size_t i = 0; i < f->vars.n; i++)
        if (f->vars.v[i] == v) {
            memmove(&f->vars.v[i], &f->vars.v[i + 1],
                    (f->vars.n - i - 1) * sizeof *f->vars.v);
            f->vars.n--;
            break;
        }
    v->name = str_intern_z(&m->names, name.s);
    strbuf_free(&name);
    v->func = NULL;
    /* Declared before everything, as the functions come in the order of lines. */
    v->line = v->col = 0;
    *vec_push(&m->vars) = v;
    memmove(&m->vars.v[1], &m->vars.v[0], (m->vars.n - 1) * sizeof *m->vars.v);
    m->vars.v[0] = v;
}

/* Puts list[]'s members that are in the kernel's order into that order, in the places
 * that they have among the others. */
static void
reorder(struct ptx_var **list, size_t n, struct ptx_var *const *order, size_t norder)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        bool in = false;
        for (size_t k = 0; k < norder; k++)
            in |= list[i] == order[k];
        if (!in)
            continue;
        /* The next of the order that stands in this list, at or after i. */
        for (; next < norder; next++) {
            size_t k = i;
            while (k < n && list[k] != order[next])
                k++;
            if (k == n)
                continue;
            uint32_t line = list[i]->line, col = list[i]->col;
            struct ptx_var *t = list[i];
            list[i] = list[k];
            list[k] = t;
            t->line = list[i]->line; /* declarations print by line: places keep theirs */
            t->col = list[i]->col;
            list[i]->line = line;
            list[i]->col = col;
            next++;
            break;
        }
    }
}

void
scratch_order(struct ptx_module *m, struct ptx_var **order, size_t n)
{
    bool mixed = false;
    for (size_t i = 0; i < n; i++)
        mixed |= order[i]->func != order[0]->func;
    for (size_t i = 0; i < n && mixed; i++)
        if (order[i]->func)
            hoist(m, order[i]->func, order[i]);
    struct ptx_func *f = n ? order[0]->func : NULL;
    if (f)
        reorder(f->vars.v, f->vars.n, order, n);
    else
        reorder(m->vars.v, m->vars.n, order, n);
}
