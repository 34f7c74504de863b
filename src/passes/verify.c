/* verify.c: see verify.h. */
#include "passes/verify.h"
#include "passes/loc_chain.h"
#include "passes/pass.h"

#include "exec/exec.h"
#include "exec/memory/memory.h"
#include "ptx/parse.h"
#include "ptx/print.h"
#include "ptx/target.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 30 }; /* of variables; touched where they are initialised */

struct verify {
    bool each;
    unsigned legal; /* checks that all instructions passed before: FORM, TARGET */
    bool *whole;    /* of each function: no line refers to one that is not there */
    bool *decodes;  /* of each function: it is a kernel that can be executed */
};

/* What is held against each instruction: that it exists at all (exec_illegal), that the
 * module's .target and .version have it (ptx_target_has). */
enum { FORM = 1, TARGET = 2 };

/* The first instruction that does not exist; NULL: all do. *func: where. *why (malloc'd; may
 * be NULL): why not. */
static const struct ptx_inst *
find_illegal(const struct ptx_module *m, unsigned checks, const struct ptx_func **func,
             char **why)
{
    struct exec_legal x = {0};
    for (size_t i = 0; i < m->funcs.n; i++) {
        *func = m->funcs.v[i];
        for (size_t k = 0; k < (*func)->body.n; k++) {
            const struct ptx_inst *in = &(*func)->body.v[k];
            const char *no = checks & FORM ? exec_illegal(in, &x) : NULL;
            if (no && why)
                *why = xstrdup(no);
            if (no || (checks & TARGET && !ptx_target_has(m, *func, in, why)))
                return in;
        }
    }
    return NULL;
}

/* The checks that the module passes. */
static unsigned
legal_checks(const struct ptx_module *m)
{
    const struct ptx_func *f;
    return (find_illegal(m, FORM, &f, NULL) ? 0u : FORM) |
           (find_illegal(m, TARGET, &f, NULL) ? 0u : TARGET);
}

/* pass: what it is after; NULL: the module was read. */
static bool
check_legal(const struct ptx_module *m, unsigned checks, const char *pass,
            struct diag_sink *diag)
{
    const struct ptx_func *f;
    char *why = NULL;
    const struct ptx_inst *in = find_illegal(m, checks, &f, &why);
    if (!in)
        return true;
    struct strbuf text = {0};
    ptx_print_inst(f, in, &text);
    struct diag_loc loc = {m->file, m->text, in->line, in->col, 0};
    const char *s = text.s + strspn(text.s, "\t ");
    struct exec_legal x = {0};
    bool exists = !(checks & FORM) || !exec_illegal(in, &x);
    struct diag *d =
        diag_add(diag, DIAG_ERROR, in->line ? &loc : NULL, "%s%s'%.*s' %s%s",
                 pass ? pass : "", pass ? " made what is no PTX: " : "",
                 (int)strcspn(s, ";\n"), s, exists ? "" : "does not exist: ", why);
    if (exists && !pass)
        diag_hint(diag, d, "raise .target or .version: ptxas would not read the output");
    strbuf_free(&text);
    free(why);
    return false;
}

bool
pass_legal(const struct ptx_module *m, const char *pass, struct diag_sink *diag)
{
    return check_legal(m, FORM | TARGET, pass, diag);
}

/* -- what can be executed -- */

/* Decodes the kernels of `which` (NULL: all that have been read). Of the first that cannot be,
 * the message (malloc'd) goes to *why, if it is wanted; decodes[i] (may be NULL): function i can
 * be. */
static bool
decode(struct ptx_module *m, const bool *which, bool *decodes, char **why,
       const struct diag_sink *diag)
{
    struct diag_sink own = diag_child(diag);
    struct dev_mem *mem = dev_mem_new(ROOM);
    struct exec_image *im = mem ? exec_image_new(m, mem, &own) : NULL;
    bool ok = im;
    if (why && !im)
        *why = xstrdup(own.n ? own.list[0]->message : "no room for its variables");
    for (size_t i = 0; im && i < m->funcs.n; i++) {
        const struct ptx_func *f = m->funcs.v[i];
        if (!f->is_entry || !f->has_body || f->fault || (which && !which[i]))
            continue;
        const size_t before = own.n;
        struct exec_prog *p = exec_decode(im, f, &own);
        if (decodes)
            decodes[i] = p;
        if (!p && ok && why)
            *why =
                xstrdup(own.n > before ? own.list[before]->message : "no reason given");
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

/* -- a module -- */

bool
verify_always(void)
{
    const char *s = getenv("ALLOT_VERIFY_EACH");
    return s && *s && strcmp(s, "0") != 0;
}

struct verify *
verify_new(struct ptx_module *m, bool each, const struct diag_sink *diag)
{
    struct verify *v = xcalloc(1, sizeof *v);
    v->each = each;
    v->legal = legal_checks(m);
    if (!each)
        return v;
    v->whole = xcalloc(m->funcs.n + 1, sizeof *v->whole);
    v->decodes = xcalloc(m->funcs.n + 1, sizeof *v->decodes);
    for (size_t i = 0; i < m->funcs.n; i++)
        v->whole[i] = !loc_chain_broken(m->funcs.v[i]);
    decode(m, NULL, v->decodes, NULL, diag);
    return v;
}

void
verify_free(struct verify *v)
{
    free(v->whole);
    free(v->decodes);
    free(v);
}

/* The IR must survive printing and parsing. pass: what it is after, NULL: all of them. */
static bool
verify_text(const struct ptx_module *m, const char *pass, unsigned legal,
            struct diag_sink *diag)
{
    struct strbuf text = {0};
    if (!check_legal(m, legal, pass ? pass : "the pipeline", diag))
        return false;
    ptx_print(m, &text);
    struct diag_sink own = diag_child(diag);
    struct ptx_module *again = ptx_parse_part("output", text.s, text.n, &own);
    char *why = NULL;
    bool ok = again && ptx_equal(m, again, &why);
    if (!ok && !diag_cancelled(diag)) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL, "%s%s left an invalid module: %s",
                     pass ? "pass " : "the passes", pass ? pass : "",
                     why                             ? why
                     : own.n && own.list[0]->message ? own.list[0]->message
                                                     : "it does not parse");
        if (!pass)
            diag_hint(diag, d, "allot opt --verify-each says which");
    }
    free(why);
    if (again)
        ptx_module_free(again);
    diag_free(&own);
    strbuf_free(&text);
    return ok;
}

/* Whether each debug line of inlined code follows the one that it refers to, where that was so
 * before. */
static bool
verify_lines(const struct verify *v, const struct ptx_module *m, const char *pass,
             struct diag_sink *diag)
{
    for (size_t i = 0; i < m->funcs.n; i++) {
        const struct ptx_inst *in = v->whole[i] ? loc_chain_broken(m->funcs.v[i]) : NULL;
        if (in)
            return diag_error(diag,
                              "pass %s left '%s' of %s without the .loc it refers to",
                              pass, in->text, m->funcs.v[i]->name);
    }
    return true;
}

static bool
verify_decodes(const struct verify *v, struct ptx_module *m, const char *pass,
               struct diag_sink *diag)
{
    char *why = NULL;
    bool any = false;
    for (size_t i = 0; i < m->funcs.n; i++)
        any |= v->decodes[i];
    const bool ok = !any || decode(m, v->decodes, NULL, &why, diag);
    if (!ok && !diag_cancelled(diag))
        diag_error(diag, "pass %s left what cannot be executed: %s", pass, why);
    free(why);
    return ok;
}

bool
verify_pass(struct verify *v, struct ptx_module *m, const char *pass,
            struct diag_sink *diag)
{
    return !v->each ||
           (verify_text(m, pass, v->legal, diag) && verify_lines(v, m, pass, diag) &&
            verify_decodes(v, m, pass, diag));
}

bool
verify_end(struct verify *v, struct ptx_module *m, struct diag_sink *diag)
{
    return v->each || verify_text(m, NULL, v->legal, diag);
}
