/* copy.c: a module again, independent of the first: printed, parsed, and given the places
 * in the source that the first had, so that messages still point there. */
#include "ptx/fault.h"
#include "ptx/parse.h"
#include "ptx/print.h"

static void
copy_var(struct ptx_var *to, const struct ptx_var *from)
{
    to->line = from->line;
    to->col = from->col;
}

static void
copy_func(struct ptx_func *to, const struct ptx_func *from)
{
    to->line = from->line;
    to->col = from->col;
    for (size_t i = 0; i < from->vars.n && i < to->vars.n; i++)
        copy_var(to->vars.v[i], from->vars.v[i]);
    for (size_t i = 0; i < from->params.n && i < to->params.n; i++)
        copy_var(to->params.v[i], from->params.v[i]);
    for (size_t i = 0; i < from->body.n && i < to->body.n; i++) {
        to->body.v[i].line = from->body.v[i].line;
        to->body.v[i].col = from->body.v[i].col;
    }
    if (from->fault && to->fault) /* places in the text that it was written in */
        ptx_fault_copy(to, from);
}

struct ptx_module *
ptx_copy(const struct ptx_module *m, const char *kernel, struct diag_sink *diag)
{
    struct strbuf text = {0};
    ptx_print_part(m, kernel, &text);
    struct ptx_module *c = ptx_parse_part(m->file, text.s, text.n, diag);
    strbuf_free(&text);
    if (!c)
        return NULL;
    for (size_t i = 0; i < m->vars.n && i < c->vars.n; i++)
        copy_var(c->vars.v[i], m->vars.v[i]);
    for (size_t i = 0, k = 0; i < m->funcs.n && k < c->funcs.n; i++)
        if (!strcmp(c->funcs.v[k]->name, m->funcs.v[i]->name))
            copy_func(c->funcs.v[k++], m->funcs.v[i]);
    free(c->text);
    c->text = m->text ? xstrdup(m->text) : NULL;
    return c;
}
