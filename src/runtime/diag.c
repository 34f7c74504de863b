/* diag.c: public diagnostics over base/diag.h. */
#include "runtime/runtime.h"

struct allot_diag *
allot_diag_new(void)
{
    return xcalloc(1, sizeof(struct allot_diag));
}

void
allot_diag_free(struct allot_diag *d)
{
    if (!d)
        return;
    diag_free(&d->sink);
    strbuf_free(&d->text);
    free(d);
}

const char *
allot_diag_text(struct allot_diag *d)
{
    strbuf_free(&d->text);
    diag_print(&d->sink, &d->text);
    if (!d->text.s)
        strbuf_addz(&d->text, "");
    return d->text.s;
}

size_t
allot_diag_errors(const struct allot_diag *d)
{
    return d->sink.errors;
}

void
allot_diag_clear(struct allot_diag *d)
{
    struct diag_sink empty = diag_child(&d->sink);
    diag_free(&d->sink);
    d->sink = empty;
}

void
allot_diag_on_cancel(struct allot_diag *d, bool (*cancelled)(void *user), void *user)
{
    d->sink.cancelled = cancelled;
    d->sink.cancel_user = user;
}
