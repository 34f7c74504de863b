/* fault.c: see fault.h. */
#include "ptx/fault.h"

static void
keep(struct arena *a, struct diag *to, const struct diag *from)
{
    *to = *from;
    to->file = from->file ? arena_strdup(a, from->file) : NULL;
    to->message = arena_strdup(a, from->message);
    to->source = from->source ? arena_strdup(a, from->source) : NULL;
    to->hint = from->hint ? arena_strdup(a, from->hint) : NULL;
}

void
ptx_fault_set(struct ptx_func *f, const char *text, size_t n,
              const struct diag_sink *said)
{
    struct arena *a = &f->module->mem;
    struct ptx_fault *x = ARENA_NEW(a, struct ptx_fault);
    struct diag *list = ARENA_ARRAY(a, struct diag, said->n);
    x->text = arena_strndup(a, text, n);
    x->errors = said->errors;
    for (size_t i = 0; i < said->n; i++)
        if (said->list[i]->level == DIAG_ERROR)
            keep(a, &list[x->n++], said->list[i]);
    x->said = list;
    f->fault = x;
}

void
ptx_fault_copy(struct ptx_func *f, const struct ptx_func *from)
{
    struct arena *a = &f->module->mem;
    struct ptx_fault *x = ARENA_NEW(a, struct ptx_fault);
    struct diag *list = ARENA_ARRAY(a, struct diag, from->fault->n);
    *x = *from->fault;
    x->text = arena_strdup(a, from->fault->text);
    for (size_t i = 0; i < x->n; i++)
        keep(a, &list[i], &from->fault->said[i]);
    x->said = list;
    f->fault = x;
}

void
ptx_fault_tell(const struct ptx_func *f, struct diag_sink *diag)
{
    for (size_t i = 0; i < f->fault->n; i++)
        diag_repeat(diag, &f->fault->said[i]);
    diag->errors += f->fault->errors - f->fault->n;
}

const struct diag *
ptx_fault_first(const struct ptx_func *f)
{
    return &f->fault->said[0];
}
