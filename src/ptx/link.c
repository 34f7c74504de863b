/* link.c: several modules become one (PTX ISA 11.6 linking directives; what nvlink does
 * with -rdc=true).
 *
 * Names that other parts may see are gathered in one table, each with its best
 * definition. Then every declaration and every definition that lost is mapped to the one
 * that counts, and operands and initialisers are rewritten through that map. Nothing is
 * copied: variables and functions stay where they are, and the result owns the parts. All
 * checks come before the first change. Cost: linear in the text. */
#include "ptx/link.h"

enum rank { DECLARED, COMMON, WEAK, STRONG };

struct symbol {
    const char *name;
    const struct ptx_module *part; /* of the definition, or first declaration */
    struct ptx_var *var;           /* one of var, func */
    struct ptx_func *func;
    enum rank rank;
    bool reported;
};

struct mapping {
    const void *from;
    struct symbol *to;
};

struct linker {
    struct arena mem;
    struct diag_sink *diag;
    struct ptx_module *const *parts;
    size_t n;
    struct symbol **slot; /* by name, open addressing */
    size_t nslot;
    struct mapping *map; /* by pointer, open addressing */
    size_t nmap;
    const struct ptx_module *part; /* the one at work */
};

bool
ptx_is_builtin(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cudaCDP", 9);
}

/* -- the table of names -- */

static size_t
hash_name(const char *s)
{
    size_t h = 14695981039346656037u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static struct symbol **
find_slot(struct linker *k, const char *name)
{
    size_t i = hash_name(name) & (k->nslot - 1);
    while (k->slot[i] && strcmp(k->slot[i]->name, name))
        i = (i + 1) & (k->nslot - 1);
    return &k->slot[i];
}

static size_t
map_slot(const struct linker *k, const void *from)
{
    size_t i = ((uintptr_t)from >> 4) * 0x9e3779b97f4a7c15u >> 20 & (k->nmap - 1);
    while (k->map[i].from && k->map[i].from != from)
        i = (i + 1) & (k->nmap - 1);
    return i;
}

static struct diag_loc
loc_of(const struct ptx_module *m, const struct ptx_var *v, const struct ptx_func *f)
{
    return (struct diag_loc){m->file, m->text, v ? v->line : f->line, v ? v->col : f->col,
                             0};
}

/* Arrays in the scratchpad whose size the launch gives: every part may have them. */
static bool
is_launch_array(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_SHARED && v->dynamic;
}

static bool
is_private(const struct ptx_var *v, const struct ptx_func *f)
{
    return v ? v->linkage == PTX_LINK_NONE || is_launch_array(v)
             : f->linkage == PTX_LINK_NONE && !f->is_entry;
}

static enum rank
rank_of(const struct ptx_var *v, const struct ptx_func *f)
{
    unsigned l = v ? v->linkage : f->linkage;
    if (l == PTX_LINK_EXTERN || (f && !f->has_body))
        return DECLARED;
    return l == PTX_LINK_WEAK ? WEAK : l == PTX_LINK_COMMON ? COMMON : STRONG;
}

static void
bad_pair(struct linker *k, const struct symbol *s, const struct ptx_var *v,
         const struct ptx_func *f, const char *what)
{
    struct diag_loc loc = loc_of(k->part, v, f);
    unsigned line = s->var ? s->var->line : s->func->line;
    diag_add(k->diag, DIAG_ERROR, &loc, "'%s' %s in %s, line %u", s->name, what,
             s->part->file, line);
}

static bool
same_params(const struct ptx_func *a, const struct ptx_func *b)
{
    if (a->params.n != b->params.n || a->rets.n != b->rets.n)
        return false;
    for (size_t i = 0; i < a->params.n; i++)
        if (a->params.v[i]->size != b->params.v[i]->size)
            return false;
    for (size_t i = 0; i < a->rets.n; i++)
        if (a->rets.v[i]->size != b->rets.v[i]->size)
            return false;
    return true;
}

/* Is this the same thing as what is known under its name? */
static bool
agrees(struct linker *k, const struct symbol *s, const struct ptx_var *v,
       const struct ptx_func *f)
{
    if (!s->var != !v) {
        bad_pair(k, s, v, f,
                 v ? "is a variable here, but a function"
                   : "is a function here, but a "
                     "variable");
    } else if (v && v->space != s->var->space) {
        bad_pair(k, s, v, f, "is in another state space than");
    } else if (v && v->size != s->var->size && !v->dynamic && !s->var->dynamic &&
               !(v->linkage == PTX_LINK_COMMON && s->var->linkage == PTX_LINK_COMMON)) {
        struct strbuf b = {0};
        strbuf_printf(&b, "has %llu bytes here, but %llu", (unsigned long long)v->size,
                      (unsigned long long)s->var->size);
        bad_pair(k, s, v, f, b.s);
        strbuf_free(&b);
    } else if (f && !same_params(f, s->func)) {
        bad_pair(k, s, v, f, "has other parameters or results than");
    } else {
        return true;
    }
    return false;
}

static void
gather(struct linker *k, struct ptx_var *v, struct ptx_func *f)
{
    const char *name = v ? v->name : f->name;
    enum rank rank = rank_of(v, f);
    if (is_private(v, f) && (v || rank != DECLARED))
        return;
    struct symbol **at = find_slot(k, name), *s = *at;
    if (!s) {
        s = *at = ARENA_NEW(&k->mem, struct symbol);
        *s = (struct symbol){name, k->part, v, f, rank, false};
        return;
    }
    if (!agrees(k, s, v, f))
        return;
    if (rank == STRONG && s->rank == STRONG)
        bad_pair(k, s, v, f, "is defined here and");
    bool larger = rank == COMMON && s->rank == COMMON && v->size > s->var->size;
    if (rank > s->rank || larger)
        *s = (struct symbol){name, k->part, v, f, rank, false};
}

/* A forward declaration of a function that is private to its part stays there. */
static struct ptx_func *
own_definition(const struct ptx_module *m, const struct ptx_func *f)
{
    struct ptx_func *d = ptx_find_func(m, f->name);
    return d && d->has_body && is_private(NULL, d) ? d : NULL;
}

static bool
gather_all(struct linker *k)
{
    size_t names = 0, errors = k->diag->errors;
    for (size_t i = 0; i < k->n; i++)
        names += k->parts[i]->vars.n + k->parts[i]->funcs.n;
    for (k->nslot = 64; k->nslot < 2 * names; k->nslot *= 2)
        ;
    k->nmap = k->nslot;
    k->slot = ARENA_ARRAY(&k->mem, struct symbol *, k->nslot);
    k->map = ARENA_ARRAY(&k->mem, struct mapping, k->nmap);
    for (size_t i = 0; i < k->n; i++) {
        const struct ptx_module *m = k->part = k->parts[i];
        for (size_t v = 0; v < m->vars.n; v++)
            gather(k, m->vars.v[v], NULL);
        for (size_t f = 0; f < m->funcs.n; f++)
            if (m->funcs.v[f]->has_body || !own_definition(m, m->funcs.v[f]))
                gather(k, NULL, m->funcs.v[f]);
    }
    return k->diag->errors == errors;
}

static void
map_to(struct linker *k, const void *from, struct symbol *to)
{
    size_t i = map_slot(k, from);
    k->map[i] = (struct mapping){from, to};
}

static void
map_all(struct linker *k)
{
    for (size_t i = 0; i < k->n; i++) {
        const struct ptx_module *m = k->parts[i];
        for (size_t v = 0; v < m->vars.n; v++) {
            struct ptx_var *var = m->vars.v[v];
            struct symbol *s = is_private(var, NULL) ? NULL : *find_slot(k, var->name);
            if (s && s->var != var)
                map_to(k, var, s);
        }
        for (size_t f = 0; f < m->funcs.n; f++) {
            struct ptx_func *fn = m->funcs.v[f];
            struct ptx_func *own = fn->has_body ? NULL : own_definition(m, fn);
            struct symbol *s = NULL;
            if (own) {
                s = ARENA_NEW(&k->mem, struct symbol);
                *s = (struct symbol){own->name, m, NULL, own, STRONG, false};
            } else if (!fn->has_body || !is_private(NULL, fn)) {
                s = *find_slot(k, fn->name);
            }
            if (s && s->func != fn)
                map_to(k, fn, s);
        }
    }
}

/* -- references: `change` says whether they are checked or rewritten -- */

static void
reference(struct linker *k, struct ptx_var **v, struct ptx_func **f, uint32_t line,
          uint32_t col, bool change)
{
    const void *from = *v ? (const void *)*v : *f;
    if (!from || (*v && (*v)->func) || (*f && (*f)->is_proto))
        return;
    struct symbol *to =
        k->map[map_slot(k, from)].from ? k->map[map_slot(k, from)].to : NULL;
    if (change) {
        if (to && *v)
            *v = to->var;
        else if (to)
            *f = to->func;
        return;
    }
    const char *name = *v ? (*v)->name : (*f)->name;
    if (!to && rank_of(*v, *f) == DECLARED && !(*v && is_private(*v, NULL)))
        to = *find_slot(k, name);
    if (!to || to->rank != DECLARED || to->reported || (*f && ptx_is_builtin(name)))
        return;
    to->reported = true;
    struct diag_loc loc = {k->part->file, k->part->text, line, col, 0};
    struct strbuf b = {0};
    for (size_t i = 0; i < k->n; i++)
        strbuf_printf(&b, "%s%s", i ? ", " : "", k->parts[i]->file);
    struct diag *d =
        diag_add(k->diag, DIAG_ERROR, &loc,
                 "%s '%s' is used here, but none of the linked modules defines it",
                 *v ? "variable" : "function", name);
    diag_hint(k->diag, d, "linked: %s", b.s);
    strbuf_free(&b);
}

static void
operands(struct linker *k, struct ptx_operand *o, unsigned n, const struct ptx_inst *in,
         bool change)
{
    for (unsigned i = 0; i < n; i++) {
        if (o[i].var || o[i].func)
            reference(k, &o[i].var, &o[i].func, in->line, in->col, change);
        if (o[i].kind == PTX_OPD_VEC)
            operands(k, o[i].vec, o[i].n, in, change);
    }
}

static void
references(struct linker *k, bool change)
{
    for (size_t i = 0; i < k->n; i++) {
        struct ptx_module *m = k->parts[i];
        k->part = m;
        for (size_t v = 0; v < m->vars.n; v++) {
            struct ptx_var *x = m->vars.v[v];
            for (size_t r = 0; r < x->relocs.n; r++)
                reference(k, &x->relocs.v[r].var, &x->relocs.v[r].func, x->line, x->col,
                          change);
        }
        for (size_t f = 0; f < m->funcs.n; f++) {
            struct ptx_func *fn = m->funcs.v[f];
            for (size_t b = 0; b < fn->body.n; b++)
                operands(k, fn->body.v[b].ops, fn->body.v[b].nops, &fn->body.v[b],
                         change);
        }
        for (size_t p = 0; p < m->protos.n; p++)
            for (size_t t = 0; t < m->protos.v[p]->targets.n; t++) {
                struct ptx_var *none = NULL;
                reference(k, &none, &m->protos.v[p]->targets.v[t], m->protos.v[p]->line,
                          m->protos.v[p]->col, change);
            }
    }
}

/* -- the result -- */

/* A name for what is private to its part: its own, or another if that is taken. */
static const char *
own_name(struct linker *k, struct ptx_module *to, const char *name)
{
    const char *own = name;
    for (unsigned i = 2; *find_slot(k, own); i++)
        own = arena_printf(&to->mem, "%s_l%u", name, i);
    struct symbol *s = ARENA_NEW(&k->mem, struct symbol);
    s->name = own;
    *find_slot(k, own) = s;
    return own;
}

static void
collect(struct linker *k, struct ptx_module *to)
{
    for (size_t i = 0; i < k->n; i++) {
        struct ptx_module *m = k->parts[i];
        for (size_t v = 0; v < m->vars.n; v++) {
            struct ptx_var *x = m->vars.v[v];
            if (k->map[map_slot(k, x)].from)
                continue;
            if (is_private(x, NULL) && !is_launch_array(x))
                x->name = own_name(k, to, x->name);
            *vec_push(&to->vars) = x;
        }
        for (size_t f = 0; f < m->funcs.n; f++) {
            struct ptx_func *x = m->funcs.v[f];
            if (k->map[map_slot(k, x)].from)
                continue;
            if (is_private(NULL, x) && x->has_body)
                x->name = own_name(k, to, x->name);
            *vec_push(&to->funcs) = x;
        }
        for (size_t d = 0; d < m->directives.n; d++)
            if (strncmp(m->directives.v[d], ".pragma", 7) == 0)
                *vec_push(&to->directives) = m->directives.v[d];
    }
    for (size_t i = 0; i < k->n; i++)
        for (size_t d = 0; d < k->parts[i]->directives.n; d++)
            if (!strncmp(k->parts[i]->directives.v[d], ".alias", 6))
                *vec_push(&to->directives) = k->parts[i]->directives.v[d];
}

static bool
check_targets(struct linker *k, struct ptx_module *to)
{
    for (size_t i = 0; i < k->n; i++) {
        const struct ptx_module *m = k->parts[i];
        if (m->address_size != k->parts[0]->address_size)
            return diag_error(k->diag, "%s has %u-bit addresses, but %s has %u-bit ones",
                              m->file, m->address_size, k->parts[0]->file,
                              k->parts[0]->address_size);
        unsigned version = m->version_major * 100u + m->version_minor;
        if (version > to->version_major * 100u + to->version_minor) {
            to->version_major = m->version_major;
            to->version_minor = m->version_minor;
        }
        if (!to->target || m->sm > to->sm) {
            to->sm = m->sm;
            to->target = m->target;
            to->target_options = m->target_options;
        }
    }
    to->address_size = k->parts[0]->address_size;
    return true;
}

struct ptx_module *
ptx_link(struct ptx_module *const *parts, size_t n, const char *name,
         struct diag_sink *diag)
{
    struct linker k = {.diag = diag, .parts = parts, .n = n};
    struct ptx_module *to = xcalloc(1, sizeof *to);
    size_t errors = diag->errors;
    bool ok = n || diag_error(diag, "there is nothing to link");
    ok = ok && check_targets(&k, to) && gather_all(&k);
    if (ok) {
        map_all(&k);
        references(&k, false);
        ok = diag->errors == errors;
    }
    if (ok) {
        references(&k, true);
        collect(&k, to);
        to->file = arena_strdup(&to->mem, name);
        for (size_t i = 0; i < n; i++)
            *vec_push(&to->parts) = parts[i];
    }
    arena_free(&k.mem);
    if (ok)
        return to;
    ptx_module_free(to);
    return NULL;
}
