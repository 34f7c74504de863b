/* inspect.c: questions on a module's code: can it be decoded, and its control flow. */
#include "analysis/cfg_dot.h"
#include "base/near.h"
#include "runtime/runtime.h"

#include <string.h>

bool
allot_module_check(const struct allot_module *m, struct allot_diag *d)
{
    enum { ROOM = 1 << 30 }; /* of variables; touched where they are initialised */
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
