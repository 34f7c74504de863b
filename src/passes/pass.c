/* pass.c: registry and driver. */
#include "passes/pass.h"

#include "ptx/parse.h"
#include "ptx/print.h"

#include <string.h>

#define PASS(symbol) extern const struct pass symbol;
#include "passes/passes.def"
#undef PASS

static const struct pass *const passes[] = {
#define PASS(symbol) &symbol,
#include "passes/passes.def"
#undef PASS
    NULL};

const struct pass *
pass_at(size_t i)
{
    return i < sizeof passes / sizeof *passes ? passes[i] : NULL;
}

const struct pass *
pass_find(const char *name)
{
    for (size_t i = 0; passes[i]; i++)
        if (!strcmp(passes[i]->name, name))
            return passes[i];
    return NULL;
}

/* The IR after a pass must survive printing and parsing. */
static bool
verify(const struct ptx_module *m, const char *pass, struct diag_sink *diag)
{
    struct strbuf text = {0};
    ptx_print(m, &text);
    struct diag_sink own = {0};
    struct ptx_module *again = ptx_parse("output", text.s, text.n, &own);
    char *why = NULL;
    bool ok = again && ptx_equal(m, again, &why);
    if (!ok)
        diag_error(diag, "pass %s left an invalid module: %s", pass,
                   why                             ? why
                   : own.n && own.list[0]->message ? own.list[0]->message
                                                   : "it does not parse");
    free(why);
    if (again)
        ptx_module_free(again);
    diag_free(&own);
    strbuf_free(&text);
    return ok;
}

static bool
unknown(const char *name, struct diag_sink *diag)
{
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL, "no pass is called '%s'", name);
    struct strbuf b = {0};
    for (size_t i = 0; passes[i]; i++)
        strbuf_printf(&b, "%s%s", i ? ", " : "passes: ", passes[i]->name);
    diag_hint(diag, d, "%s", b.n ? b.s : "this version has no passes yet");
    strbuf_free(&b);
    return false;
}

bool
pass_run(struct ptx_module *m, const char *pipeline, struct diag_sink *diag)
{
    while (*pipeline) {
        char name[64];
        size_t n = strcspn(pipeline, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, pipeline);
        const struct pass *p = pass_find(name);
        if (!p)
            return unknown(name, diag);
        if (!p->run(m, diag) || !verify(m, name, diag))
            return false;
        pipeline += n + (pipeline[n] == ',');
    }
    return true;
}
