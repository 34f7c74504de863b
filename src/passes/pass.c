/* pass.c: registry and driver. */
#include "passes/pass.h"
#include "passes/loc_chain.h"
#include "passes/pipeline.h"
#include "passes/shape.h"
#include "passes/verify.h"

#include "analysis/guarded.h"
#include "analysis/place_check.h"
#include "analysis/register_check.h"
#include "base/clock.h"
#include "base/near.h"

#include <assert.h>
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
    if (f->fault)
        return false;
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

/* What the driver keeps of a function from pass to pass. */
struct known {
    struct pass_facts facts;
    struct loc_chain *chain; /* of its debug lines */
};

static bool
unknown(const char *name, struct diag_sink *diag)
{
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL, "no pass is called '%s'", name);
    struct strbuf b = {0};
    struct near near = {.word = name};
    for (size_t i = 0; pipeline_row(i); i++)
        if (pipeline_row(i)->begins)
            near_offer(&near, pipeline_row(i)->text);
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
    if (!a->pass && rest && pipeline_is(step, strlen(step))) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "%s stands for several passes and has no settings", step);
        char *whole = pipeline_expand(step);
        diag_hint(diag, d, "it is %s; name these, with their settings", whole);
        free(whole);
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

/* What a pass left: chains of debug lines are mended; facts, power states and marks of
 * guarded writes are made again. */
static void
renew(struct ptx_func *f, struct known *x, unsigned keeps)
{
    if (loc_chain_mend(x->chain, f))
        keeps &= AN_POWER;
    facts_drop(&x->facts, keeps);
    if (!(keeps & AN_POWER))
        drop_power(f);
    if (!(keeps & AN_LIVE) && guarded_any(f))
        guarded_mark(f);
}

/* -- registers after an allocation -- */

/* What the last allocation of a pipeline was: it is repeated where a pass after it makes
 * registers. Its settings are those of register-allocate, or how many registers it left. */
struct allocation {
    bool *done; /* of each function: it is allocated */
    struct pass_key given[MAX_KEYS + 1];
    bool counted; /* by another pass than register-allocate */
};

extern const struct pass pass_register_allocate;

/* by: the pass that allocated, NULL: it was none of this pipeline. */
static void
note_allocation(struct allocation *x, const struct ptx_module *m,
                const struct pass_key *given, const struct pass *by)
{
    unsigned n = 0;
    for (size_t i = 0; i < m->funcs.n; i++) {
        const struct ptx_func *f = m->funcs.v[i];
        x->done[i] = f->has_body && (f->registers || f->predicates || (by && !f->regs.n));
    }
    for (const struct pass_key *k = given; k && k->key && n < MAX_KEYS; k++)
        if (key_value(pass_register_allocate.keys, k->key))
            x->given[n++] = *k;
    x->given[n] = (struct pass_key){0};
    x->counted = by && by != &pass_register_allocate;
}

/* Whether each register of f has a place, and no write takes that of one that is live. If not,
 * the pass is wrong. */
static bool
check_places(const struct ptx_func *f, const struct pass *p, struct diag_sink *diag)
{
    struct place_clash x;
    if (!register_check_places(f, diag))
        return false;
    if (!place_check_clash(f, &x))
        return true;
    struct diag_loc loc = {f->module->file, f->module->text, x.in->line, x.in->col, 0};
    diag_add(diag, DIAG_ERROR, x.in->line ? &loc : NULL,
             "pass %s keeps two registers of %s in one place: '%s' writes %s while %s is "
             "live",
             p->name, f->name, ptx_ops[x.in->op].mnemonic, f->regs.v[x.written].name,
             f->regs.v[x.kept].name);
    return false;
}

/* Allocates f again if the last pass left registers that have no place, or made one live where
 * another takes its place: it knows nothing of places. Their names are then names like any
 * others. */
static bool
allocate_again(struct ptx_func *f, const struct allocation *x, struct known *known,
               const struct pass_args *last, struct diag_sink *diag)
{
    char most[32];
    struct pass_key given[MAX_KEYS + 2];
    struct pass_args a = *last;
    bool changed;
    unsigned n = 0;
    if (!f->registers && !f->predicates
            ? !f->regs.n
            : register_check_places(f, NULL) && !place_check_clash(f, NULL))
        return true;
    snprintf(most, sizeof most, "%u", f->registers);
    if (x->counted && f->registers)
        given[n++] = (struct pass_key){.key = "max-registers", .value = most};
    for (const struct pass_key *k = x->given; k->key; k++)
        if (!n || strcmp(k->key, given[0].key) != 0)
            given[n++] = *k;
    given[n] = (struct pass_key){0};
    a.pass = &pass_register_allocate;
    a.given = given;
    for (size_t i = 0; i < f->regs.n; i++)
        f->regs.v[i].place = 0;
    f->registers = f->predicates = 0;
    if (!pass_register_allocate.run_func(f, NULL, &a, &changed, diag) ||
        !check_places(f, a.pass, diag))
        return false;
    renew(f, known, 0);
    return true;
}

/* After a pass: notes what it allocated, or allocates again what it left without places. */
static bool
keep_allocated(struct ptx_module *m, struct allocation *x, struct known *known,
               const struct pass_args *a, struct diag_sink *diag)
{
    bool ok = true;
    if (a->pass->allocates || a->pass->places) {
        if (a->pass->allocates)
            note_allocation(x, m, a->given, a->pass);
        for (size_t i = 0; i < m->funcs.n && ok; i++)
            ok = check_places(m->funcs.v[i], a->pass, diag);
        return ok;
    }
    for (size_t i = 0; i < m->funcs.n && ok; i++)
        if (x->done[i])
            ok = allocate_again(m->funcs.v[i], x, &known[i], a, diag);
    return ok;
}

/* -- a pipeline -- */

/* Runs a pass over the module; known[i] is of function i. Sets *any if it may have changed
 * anything. */
static bool
run_pass(struct ptx_module *m, const struct pass_args *a, struct known *known, bool *any,
         struct diag_sink *diag)
{
    const struct pass *p = a->pass;
    bool ok = true;
    *any = p->run;
    if (p->run) {
        ok = p->run(m, a, diag);
        for (size_t i = 0; i < m->funcs.n; i++)
            renew(m->funcs.v[i], &known[i], p->keeps);
        return ok;
    }
    for (size_t i = 0; i < m->funcs.n && ok; i++) {
        struct ptx_func *f = m->funcs.v[i];
        if (!f->has_body || !f->body.n || !pass_can_touch(f))
            continue;
        if (diag_cancelled(diag))
            return false;
        bool changed = false;
        facts_make(&known[i].facts, f, p->needs);
        ok = p->run_func(f, &known[i].facts, a, &changed, diag);
        *any |= changed;
        if (changed)
            renew(f, &known[i], p->keeps);
    }
    return ok;
}

bool
pass_known(const char *pipeline, struct diag_sink *diag)
{
    char *text = pipeline_expand(pipeline);
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

unsigned
pass_count(const char *pipeline)
{
    char *text = pipeline_expand(pipeline);
    unsigned n = *text != 0;
    for (const char *s = text; (s = strchr(s, ',')); s++)
        n++;
    free(text);
    return n;
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
    char *text = pipeline_expand(pipeline), *save = NULL;
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

/* -- orders that are refused -- */

static const struct mark {
    unsigned bit;
    enum ptx_op op; /* code that holds it has the mark */
    const char *pass, *promise;
} marks[] = {
    {PASS_RELEASES, PTX_OP_RELSSP, "relssp",
     "that no thread touches the shared part of the scratchpad any more"},
    {PASS_TAKES, PTX_OP_SALLOC, "multiplex-hw",
     "that scratchpad is used only while the block holds it"},
};

static bool
has_op(const struct ptx_module *m, enum ptx_op op)
{
    for (size_t i = 0; i < m->funcs.n; i++)
        for (size_t k = 0; k < m->funcs.v[i]->body.n; k++)
            if (m->funcs.v[i]->body.v[k].op == op)
                return true;
    return false;
}

/* Whether the pass may run on code that earlier passes, here or in another run, have left. */
static bool
order_accepts(const struct ptx_module *m, const struct pass *p, struct diag_sink *diag)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const struct mark *x = &marks[i];
        if (!(p->not_after & x->bit) || !has_op(m, x->op))
            continue;
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "pass %s cannot follow %s: it would break its promise "
                                  "%s",
                                  p->name, x->pass, x->promise);
        diag_hint(diag, d, "the order that works is %s,%s", p->name, x->pass);
        return false;
    }
    return true;
}

/* Runs one pass; if it is watched, verifies what it left and tells of it. */
static bool
run_step(struct ptx_module *m, const struct pass_args *a, struct known *known,
         struct allocation *allocation, unsigned index, const struct pass_watch *watch,
         struct verify *verify, bool *changed, struct diag_sink *diag)
{
    bool any = false;
    const struct pass_launch before = *a->launch;
    double t0 = watch ? clock_seconds(CLOCK_MONOTONIC) : 0;
    bool ok = order_accepts(m, a->pass, diag) && run_pass(m, a, known, &any, diag) &&
              (!any || keep_allocated(m, allocation, known, a, diag));
    double t1 = watch ? clock_seconds(CLOCK_MONOTONIC) : 0;
    ok = ok && (!any || verify_pass(verify, m, a->pass->name, diag));
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
    char *text = pipeline_expand(pipeline);
    unsigned index = 0;
    bool changed = false;
    size_t nfuncs = m->funcs.n; /* no pass adds functions */
    struct known *known = xcalloc(nfuncs + 1, sizeof *known);
    struct allocation allocation = {.done = xcalloc(nfuncs + 1, sizeof(bool))};
    struct verify *verify =
        verify_new(m, (watch && !watch->trusts) || verify_always(), diag);
    bool ok = !diag_cancelled(diag);
    note_allocation(&allocation, m, defaults, NULL);
    for (size_t i = 0; i < nfuncs; i++)
        known[i].chain = loc_chain_new(m->funcs.v[i]);
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
        ok = run_step(m, &a, known, &allocation, index++, watch, verify, &changed, diag);
        assert(m->funcs.n == nfuncs);
    }
    for (size_t i = 0; i < nfuncs; i++) {
        facts_drop(&known[i].facts, 0);
        loc_chain_free(known[i].chain);
    }
    free(known);
    free(allocation.done);
    free(text);
    ok = ok && (!changed || verify_end(verify, m, diag));
    verify_free(verify);
    return ok;
}
