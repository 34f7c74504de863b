/* inspect.c: questions on a module's code: can it be decoded, and its control flow. */
#include "analysis/cfg_dot.h"
#include "base/near.h"
#include "ptx/fault.h"
#include "ptx/target.h"
#include "runtime/runtime.h"

#include <string.h>

enum { ROOM = 1 << 30 }; /* of variables; touched where they are initialised */

/* "FILE:LINE:COLUMN: MESSAGE (and 2 more errors)", malloc'd. */
static char *
first_error(const struct diag_sink *diag)
{
    struct strbuf b = {0};
    for (size_t i = 0; i < diag->n && !b.s; i++) {
        const struct diag *x = diag->list[i];
        if (x->level != DIAG_ERROR)
            continue;
        if (x->file && x->line)
            strbuf_printf(&b, "%s:%u:%u: ", x->file, x->line, x->col ? x->col : 1);
        strbuf_addz(&b, x->message);
    }
    if (diag->errors > 1)
        strbuf_printf(&b, " (and %zu more error%s)", diag->errors - 1,
                      diag->errors > 2 ? "s" : "");
    return strbuf_take(&b);
}

char *
allot_kernel_refused(struct allot_module *m, const char *kernel)
{
    struct diag_sink diag = {0};
    const struct ptx_func *f = ptx_find_func(m->ptx, kernel);
    if (!f || !f->is_entry || !f->has_body)
        return NULL;
    if (f->fault) {
        ptx_fault_tell(f, &diag);
    } else {
        if (!m->check_mem)
            m->check_mem = dev_mem_new(ROOM);
        if (m->check_mem && !m->check_image)
            m->check_image = exec_image_new(m->ptx, m->check_mem, &diag);
        struct exec_prog *p =
            m->check_image ? exec_decode(m->check_image, f, &diag) : NULL;
        if (p)
            exec_prog_free(p);
        else if (!diag.errors)
            diag_error(&diag, "no address space to decode the module in");
    }
    char *why = diag.errors ? first_error(&diag) : NULL;
    diag_free(&diag);
    return why;
}

size_t
allot_module_unread(const struct allot_module *m, struct allot_diag *d)
{
    size_t n = 0;
    for (size_t i = 0; i < m->ptx->funcs.n; i++) {
        const struct ptx_func *f = m->ptx->funcs.v[i];
        if (!f->fault)
            continue;
        n++;
        if (!d)
            continue;
        const struct diag *x = ptx_fault_first(f);
        struct diag_loc loc = {x->file, NULL, x->line, x->col, x->len};
        struct strbuf more = {0};
        if (f->fault->errors > 1)
            strbuf_printf(&more, " (and %zu more error%s)", f->fault->errors - 1,
                          f->fault->errors > 2 ? "s" : "");
        struct diag *w = diag_add(&d->sink, DIAG_WARNING, &loc,
                                  "%s '%s' cannot run and stays as it is written: %s%s",
                                  f->is_entry ? "kernel" : "function", f->name,
                                  x->message, more.s ? more.s : "");
        if (x->source)
            diag_source(&d->sink, w, x->source);
        if (x->hint)
            diag_hint(&d->sink, w, "%s", x->hint);
        strbuf_free(&more);
    }
    return n;
}

size_t
allot_module_beyond_target(const struct allot_module *m, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    size_t n = 0;
    for (size_t i = 0; i < m->ptx->funcs.n; i++)
        n += ptx_target_warn(m->ptx->funcs.v[i], diag);
    diag_free(&own);
    return n;
}

bool
allot_module_check(const struct allot_module *m, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct dev_mem *mem = dev_mem_new(ROOM);
    struct exec_image *im = mem ? exec_image_new(m->ptx, mem, diag) : NULL;
    bool ok = im;
    if (!mem)
        diag_error(diag, "no address space to decode the module in");
    for (size_t i = 0; im && i < m->ptx->funcs.n; i++) {
        const struct ptx_func *f = m->ptx->funcs.v[i];
        if (!f->is_entry || !f->has_body)
            continue;
        struct exec_prog *p = exec_decode(im, f, diag);
        ok &= p != NULL;
        if (p)
            exec_prog_free(p);
    }
    exec_image_free(im);
    if (mem)
        dev_mem_free(mem);
    diag_free(&own);
    return ok;
}

char *
allot_module_dot(const struct allot_module *m, const char *kernel, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct strbuf b = {0};
    struct near near = {.word = kernel ? kernel : ""};
    for (size_t i = 0; i < m->ptx->funcs.n; i++) {
        const struct ptx_func *f = m->ptx->funcs.v[i];
        if (!f->has_body)
            continue;
        near_offer(&near, f->name);
        if (!kernel || !strcmp(kernel, f->name))
            cfg_dot(f, &b);
    }
    if (!b.n && kernel)
        diag_error(diag, "no function with a body is called '%s'%s%s%s", kernel,
                   near.best ? "; did you mean '" : "", near.best ? near.best : "",
                   near.best ? "'?" : "");
    else if (!b.n)
        diag_error(diag, "no function has a body");
    diag_free(&own);
    return b.n ? strbuf_take(&b) : NULL;
}
