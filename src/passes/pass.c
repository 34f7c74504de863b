/* pass.c: registry and driver. */
#include "passes/pass.h"
#include "passes/shape.h"

#include "analysis/guarded.h"
#include "base/clock.h"
#include "base/near.h"
#include "ptx/parse.h"
#include "ptx/print.h"

#include <assert.h>
#include <string.h>

#define CLEANUP "cleanup" /* the name that stands for PASS_CLEANUP */

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

/* -- facts -- */

static void
facts_make(struct pass_facts *x, const struct ptx_func *f, unsigned needs)
{
    if (needs && !x->cfg)
        x->cfg = cfg_new(f);
    if (needs & AN_DEFS && !x->defs)
        x->defs = defs_new(x->cfg);
    if (needs & AN_LIVE && !x->live)
        x->live = live_new(x->cfg);
}

/* Drops all facts but `keep`. Definitions and liveness stand on the control flow. */
static void
facts_drop(struct pass_facts *x, unsigned keep)
{
    if (!(keep & AN_LIVE) || !(keep & AN_CFG)) {
        live_free(x->live);
        x->live = NULL;
    }
    if (!(keep & AN_DEFS) || !(keep & AN_CFG)) {
        defs_free(x->defs);
        x->defs = NULL;
    }
    if (!(keep & AN_CFG)) {
        if (x->cfg)
            cfg_free(x->cfg);
        x->cfg = NULL;
    }
}

bool
pass_can_touch(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->regs.n; i++)
        if (f->regs.v[i].vec)
            return false;
    for (size_t i = 0; i < f->params.n; i++)
        if (f->params.v[i]->space == PTX_SPACE_REG)
            return false;
    for (size_t i = 0; i < f->rets.n; i++)
        if (f->rets.v[i]->space == PTX_SPACE_REG)
            return false;
    for (size_t i = 0; i < f->body.n; i++)
        if (ptx_ops[f->body.v[i].op].operands[0] == '*')
            return false;
    return true;
}

/* The IR must survive printing and parsing. pass: what it is after, NULL: all of them. */
static bool
verify(const struct ptx_module *m, const char *pass, struct diag_sink *diag)
{
    struct strbuf text = {0};
    ptx_print(m, &text);
    struct diag_sink own = diag_child(diag);
    struct ptx_module *again = ptx_parse("output", text.s, text.n, &own);
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

static bool
unknown(const char *name, struct diag_sink *diag)
{
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL, "no pass is called '%s'", name);
    struct strbuf b = {0};
    struct near near = {.word = name};
    near_offer(&near, CLEANUP);
    for (size_t i = 0; passes[i]; i++)
        near_offer(&near, passes[i]->name);
    if (near.best)
        strbuf_printf(&b, "did you mean '%s'? ", near.best);
    for (size_t i = 0; passes[i]; i++)
        strbuf_printf(&b, "%s%s", i ? ", " : "passes: ", passes[i]->name);
    diag_hint(diag, d, "%s", b.s);
    strbuf_free(&b);
    return false;
}

/* -- settings -- */

enum { MAX_KEYS = 16 };

static const char *
key_value(const struct pass_key *list, const char *key)
{
    for (; list && list->key; list++)
        if (!strcmp(list->key, key))
            return list->value;
    return NULL;
}

const char *
pass_arg(const struct pass_args *a, const char *key)
{
    const char *v = key_value(a->given, key);
    return v ? v : key_value(a->pass->keys, key);
}

bool
pass_arg_number(const struct pass_args *a, const char *key, double lo, double hi,
                double *value, struct diag_sink *diag)
{
    const char *text = pass_arg(a, key);
    char *end;
    *value = strtod(text, &end);
    if (end != text && !*end && *value >= lo && *value <= hi)
        return true;
    return diag_error(diag, "pass %s: %s=%s: give a number from %g to %g", a->pass->name,
                      key, text, lo, hi);
}

/* Splits "name:key=value:..." in place; the settings go to given[]. */
static bool
read_step(char *step, struct pass_args *a, struct pass_key given[MAX_KEYS + 1],
          struct diag_sink *diag)
{
    char *rest = strchr(step, ':');
    if (rest)
        *rest++ = 0;
    a->pass = pass_find(step);
    if (!a->pass && rest && !strcmp(step, CLEANUP)) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     CLEANUP " stands for several passes and has no settings");
        diag_hint(diag, d, "it is " PASS_CLEANUP "; name these, with their settings");
        return false;
    }
    if (!a->pass)
        return unknown(step, diag);
    unsigned n = 0;
    while (rest) {
        char *item = rest;
        rest = strchr(item, ':');
        if (rest)
            *rest++ = 0;
        char *eq = strchr(item, '=');
        if (eq)
            *eq = 0;
        if (!eq || !key_value(a->pass->keys, item)) {
            struct strbuf b = {0};
            for (const struct pass_key *k = a->pass->keys; k && k->key; k++)
                strbuf_printf(&b, "%s%s=%s", b.n ? ", " : "its settings: ", k->key,
                              k->value);
            struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                      eq ? "pass %s has no setting '%s'"
                                         : "pass %s: '%s' is not KEY=VALUE",
                                      step, item);
            diag_hint(diag, d, "%s", b.n ? b.s : "it has no settings");
            strbuf_free(&b);
            return false;
        }
        if (n == MAX_KEYS)
            return diag_error(diag, "pass %s: too many settings", step);
        given[n++] = (struct pass_key){.key = item, .value = eq + 1};
    }
    given[n] = (struct pass_key){0};
    return true;
}

/* Appends the caller's defaults for keys that the pass has and the text does not give. */
static void
add_defaults(const struct pass *p, const struct pass_key *defaults,
             struct pass_key given[MAX_KEYS + 1])
{
    unsigned n = 0;
    while (given[n].key)
        n++;
    for (; defaults && defaults->key && n < MAX_KEYS; defaults++)
        if (key_value(p->keys, defaults->key) && !key_value(given, defaults->key)) {
            given[n++] = *defaults;
            given[n] = (struct pass_key){0};
        }
}

/* Power states that an earlier pass wrote are void once the code has changed. */
static void
drop_power(struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        f->body.v[i].power = 0;
}

/* What a pass left: facts, power states and marks of guarded writes are made anew. */
static void
renew(struct ptx_func *f, struct pass_facts *x, unsigned keeps)
{
    facts_drop(x, keeps);
    if (!(keeps & AN_POWER))
        drop_power(f);
    if (!(keeps & AN_LIVE) && guarded_any(f))
        guarded_mark(f);
}

/* Runs a pass over the module; facts[i] are those of function i. Sets *any if it may have
 * changed anything. */
static bool
run_pass(struct ptx_module *m, const struct pass_args *a, struct pass_facts *facts,
         bool *any, struct diag_sink *diag)
{
    const struct pass *p = a->pass;
    bool ok = true;
    *any = p->run;
    if (p->run) {
        ok = p->run(m, a, diag);
        for (size_t i = 0; i < m->funcs.n; i++)
            renew(m->funcs.v[i], &facts[i], p->keeps);
        return ok;
    }
    for (size_t i = 0; i < m->funcs.n && ok; i++) {
        struct ptx_func *f = m->funcs.v[i];
        if (!f->has_body || !pass_can_touch(f))
            continue;
        if (diag_cancelled(diag))
            return false;
        bool changed = false;
        facts_make(&facts[i], f, p->needs);
        ok = p->run_func(f, &facts[i], a, &changed, diag);
        *any |= changed;
        if (changed)
            renew(f, &facts[i], p->keeps);
    }
    return ok;
}

/* The pipeline with "cleanup" written out, malloc'd. */
static char *
expand(const char *pipeline)
{
    static const char word[] = CLEANUP;
    struct strbuf b = {0};
    for (const char *p = pipeline; *p;) {
        size_t n = strcspn(p, ",");
        if (n == sizeof word - 1 && !strncmp(p, word, n))
            strbuf_addz(&b, PASS_CLEANUP);
        else
            strbuf_add(&b, p, n);
        p += n;
        if (*p)
            strbuf_add(&b, p++, 1);
    }
    return strbuf_take(&b);
}

bool
pass_known(const char *pipeline, struct diag_sink *diag)
{
    char *text = expand(pipeline);
    bool ok = true;
    for (char *step = *text ? text : NULL, *next; step && ok; step = next) {
        struct pass_key given[MAX_KEYS + 1];
        struct pass_args a = {0};
        next = strchr(step, ',');
        if (next)
            *next++ = 0;
        ok = read_step(step, &a, given, diag);
    }
    free(text);
    return ok;
}

static bool
has_key(const struct pass *p, const char *key)
{
    return key_value(p->keys, key);
}

static bool
has_shapes(const struct pass *p, const char *key)
{
    (void)key;
    return p->shapes;
}

static bool
has_allocates(const struct pass *p, const char *key)
{
    (void)key;
    return p->allocates;
}

static bool
any_pass(const char *pipeline, bool (*has)(const struct pass *p, const char *key),
         const char *key)
{
    char *text = expand(pipeline), *save = NULL;
    bool found = false;
    for (char *s = strtok_r(text, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        s[strcspn(s, ":")] = 0;
        const struct pass *p = pass_find(s);
        found |= p && has(p, key);
    }
    free(text);
    return found;
}

bool
pass_takes(const char *pipeline, const char *key)
{
    return any_pass(pipeline, has_key, key);
}

bool
pass_shapes(const char *pipeline)
{
    return any_pass(pipeline, has_shapes, NULL);
}

bool
pass_allocates(const char *pipeline)
{
    return any_pass(pipeline, has_allocates, NULL);
}

static bool
has_name(const struct pass *p, const char *name)
{
    return !strcmp(p->name, name);
}

bool
pass_names(const char *pipeline, const char *name)
{
    return any_pass(pipeline, has_name, name);
}

bool
pass_run(struct ptx_module *m, const char *pipeline, const struct pass_key *defaults,
         struct strbuf *report, struct diag_sink *diag)
{
    struct pass_launch any = {0};
    return pass_run_for(m, pipeline, defaults, &any, report, diag);
}

bool
pass_run_for(struct ptx_module *m, const char *pipeline, const struct pass_key *defaults,
             struct pass_launch *launch, struct strbuf *report, struct diag_sink *diag)
{
    return pass_run_watched(m, pipeline, defaults, launch, report, NULL, diag);
}

/* Runs one pass; if it is watched, verifies what it left and tells of it. */
static bool
run_step(struct ptx_module *m, const struct pass_args *a, struct pass_facts *facts,
         unsigned index, const struct pass_watch *watch, bool *changed,
         struct diag_sink *diag)
{
    bool any;
    const struct pass_launch before = *a->launch;
    double t0 = watch ? clock_seconds(CLOCK_MONOTONIC) : 0;
    bool ok = run_pass(m, a, facts, &any, diag);
    double t1 = watch ? clock_seconds(CLOCK_MONOTONIC) : 0;
    ok = ok && (!any || !watch || verify(m, a->pass->name, diag));
    *changed |= any;
    if (ok && !a->pass->shapes && !shape_same(&before, a->launch))
        ok = diag_error(diag, "pass %s changed the launch's shape; give it .shapes",
                        a->pass->name);
    if (!ok || !watch)
        return ok;
    struct pass_step s = {a->pass->name, index, any, t1 - t0,
                          clock_seconds(CLOCK_MONOTONIC) - t1};
    return watch->after(watch->user, &s, diag);
}

bool
pass_run_watched(struct ptx_module *m, const char *pipeline,
                 const struct pass_key *defaults, struct pass_launch *launch,
                 struct strbuf *report, const struct pass_watch *watch,
                 struct diag_sink *diag)
{
    char *text = expand(pipeline);
    unsigned index = 0;
    bool ok = true, changed = false;
    size_t nfuncs = m->funcs.n; /* no pass adds functions */
    struct pass_facts *facts = xcalloc(nfuncs + 1, sizeof *facts);
    for (char *step = *text ? text : NULL, *next; step && ok; step = next) {
        next = strchr(step, ',');
        if (next)
            *next++ = 0;
        struct pass_key given[MAX_KEYS + 1];
        struct pass_args a = {.launch = launch, .given = given, .report = report};
        ok = read_step(step, &a, given, diag);
        if (!ok)
            break;
        add_defaults(a.pass, defaults, given);
        ok = run_step(m, &a, facts, index++, watch, &changed, diag);
        assert(m->funcs.n == nfuncs);
    }
    for (size_t i = 0; i < nfuncs; i++)
        facts_drop(&facts[i], 0);
    free(facts);
    free(text);
    return ok && (!changed || watch || verify(m, NULL, diag));
}
