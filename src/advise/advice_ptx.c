/* advice_ptx.c: the winner of what works on the card, as PTX. What simulations do beside passes
 * (a carve-out, fewer blocks) the host does on a card: comments say so. */
#include "advise/advice.h"

#include "base/str.h"
#include "passes/pass.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

/* Passes of the candidate alone; a limit of registers alone is a directive and no pass. */
static char *
passes_of(const struct advice *a, const struct candidate *c, unsigned *limit)
{
    static const char key[] = "compiler.passes=",
                      target[] = "register-allocate:max-registers=";
    struct strbuf b = {0};
    const char *p = strstr(c->settings, key);
    *limit = 0;
    strbuf_addz(&b, "");
    for (p = p ? p + strlen(key) : "+"; *p && *p != '+'; p += *p == ',') {
        const size_t n = strcspn(p, ",+");
        if (!strncmp(p, target, strlen(target)))
            *limit = (unsigned)strtoul(p + strlen(target), NULL, 10);
        else
            strbuf_printf(&b, "%s%.*s", b.n ? "," : "", (int)n, p);
        if (!strncmp(p, "persistent-blocks", 17)) /* its code is made for one grid */
            strbuf_printf(&b, ":grid=%llu", (unsigned long long)a->kernel->facts.blocks);
        p += n;
    }
    return strbuf_take(&b);
}

/* Writes .maxnreg: registers as ptxas counts them, the reserved ones included. */
static void
limit_registers(const struct advice *a, struct allot_module *mod, unsigned limit)
{
    const unsigned reserved = (unsigned)a->of.machine->m->sm.reserved_registers;
    for (size_t i = 0; i < a->nkernel; i++) {
        const char *name = a->kernel[i].facts.kernel;
        const struct allot_kernel *k = allot_module_find(mod, name);
        const unsigned most = limit ? limit : k ? k->registers : 0;
        struct ptx_func *f = ptx_find_func(mod->ptx, name);
        if (f && most)
            f->maxnreg = most + reserved;
    }
    rt_module_changed(mod);
}

char *
advice_ptx(const struct advice *a, struct allot_module *fresh, struct allot_diag *d)
{
    const struct advice_best *best = &a->best[ADVISE_CARD];
    const struct advice_row *r = best->time ? best->time : best->energy;
    struct strbuf b = {0};
    if (!r)
        return allot_module_print(fresh);
    unsigned limit;
    char *passes = passes_of(a, &r->candidate, &limit), defaults[96];
    const struct facts *f = &a->kernel->facts;
    snprintf(defaults, sizeof defaults, "threshold=1 dynamic=%u threads=%u", f->dynamic,
             f->threads);
    const bool ok = allot_module_opt_for(fresh, a->of.machine, passes, defaults, NULL, d);
    if (ok && (limit || pass_allocates(passes)))
        limit_registers(a, fresh, limit);
    free(passes);
    if (!ok)
        return NULL;
    strbuf_printf(&b, "// allot advise: %s, for %s\n// %s\n", r->candidate.name,
                  a->of.machine_name, r->candidate.row->cost);
    if (r->candidate.other)
        strbuf_printf(&b, "// %s\n", r->candidate.other->cost);
    char *text = allot_module_print(fresh);
    strbuf_addz(&b, text);
    free(text);
    return strbuf_take(&b);
}
