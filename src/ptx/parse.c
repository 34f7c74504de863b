/* parse.c: PTX text to IR: module directives, declarations, functions, scopes, statements.
 *
 * A recursive-descent parser in one pass (PTX ISA 9.0, chapters 4, 5, 10, 11). Every error of
 * the text is reported: a statement that does not parse is skipped to its semicolon, with
 * some care not to take what follows a forgotten one along. */
#include "ptx/parse.h"

#include "ptx/parse_int.h"

#include <errno.h>

static const char *
slice(struct parser *p, const char *start, const char *end)
{
    return arena_strndup(&p->m->mem, start, (size_t)(end - start));
}

/* -- going on after an error -- */

static bool
opens_module_item(const struct parser *p)
{
    static const char *const words[] = {
        ".version", ".target", ".address_size", ".file",  ".section", ".entry",
        ".func",    ".extern", ".visible",      ".weak",  ".common",  ".global",
        ".const",   ".alias",  ".shared",       ".pragma"};
    if (!at(p, T_DOT) || p->tok.line == p->last.line)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_word(p, T_DOT, words[i]))
            return true;
    return false;
}

static bool
opens_function(const struct parser *p)
{
    return at_word(p, T_DOT, ".entry") || at_word(p, T_DOT, ".func") ||
           at_word(p, T_DOT, ".visible") || at_word(p, T_DOT, ".weak") ||
           at_word(p, T_DOT, ".extern");
}

static void
skip_module_item(struct parser *p)
{
    int depth = p->open;
    p->open = 0;
    for (bool first = true; !at(p, T_EOF); first = false) {
        if (!first && depth <= 0 && opens_module_item(p))
            return;
        int kind = p->tok.kind;
        next(p);
        if (kind == '{')
            depth++;
        else if (kind == '}' && --depth <= 0)
            return;
        else if (kind == ';' && depth <= 0)
            return;
    }
}

/* Does the current token, the first of its line, look like the start of a statement? */
static bool
opens_statement(const struct parser *p)
{
    if (p->tok.line == p->last.line)
        return false;
    if (at(p, '@') || at(p, '{') || at(p, '}') || at(p, T_DOT))
        return true;
    if (!at(p, T_ID))
        return false;
    const char *s = p->tok.s + p->tok.n;
    return *s == ':' || known_mnemonic(p->tok.s, p->tok.n);
}

static void
skip_statement(struct parser *p)
{
    int depth = p->open;
    p->open = 0;
    for (bool first = true; !at(p, T_EOF); first = false) {
        if (take(p, ';'))
            return;
        if (!first && opens_statement(p))
            return;
        if (at(p, '{'))
            depth++;
        else if (at(p, '}') && --depth < 0)
            return;
        next(p);
    }
}

/* -- small pieces -- */

static bool
number(struct parser *p, uint64_t *v, uint64_t max, const char *what)
{
    struct place where = here(p);
    struct value x;
    if (!parse_const(p, &x))
        return false;
    *v = x.bits;
    if (x.kind != PTX_OPD_IMM || x.bits > max) {
        err(p, where, "%s must be an integer from 0 to %llu", what, (unsigned long long)max);
        *v = 0;
    }
    return true;
}

static bool
alignment(struct parser *p, uint32_t *align)
{
    struct place where = here(p);
    uint64_t v;
    if (!number(p, &v, 1u << 30, "an alignment"))
        return false;
    if (!v || v & (v - 1)) {
        struct diag *d = err(p, where, "an alignment must be a power of two");
        hint(p, d, "1, 2, 4, 8, 16 ...");
        v = 1;
    }
    *align = (uint32_t)v;
    return true;
}

/* ( ... ) as raw text, from the current token. */
static const char *
parenthesised(struct parser *p, const char *start)
{
    int depth = 0;
    do {
        if (at(p, '('))
            depth++;
        else if (at(p, ')'))
            depth--;
        else if (at(p, T_EOF) || at(p, ';') || at(p, '{')) {
            expected(p, "')'");
            return NULL;
        }
        next(p);
    } while (depth > 0);
    return slice(p, start, p->last_end);
}

/* -- variables -- */

struct decl { /* what stands before the names */
    uint8_t space, type, vec, linkage, ptr_space;
    uint32_t ptr_align, align;
    const char *attribute;
    struct place at;
};

static unsigned
space_word(const struct parser *p)
{
    static const struct {
        const char *text;
        uint8_t space;
    } words[] = {{".reg", PTX_SPACE_REG},     {".global", PTX_SPACE_GLOBAL},
                 {".shared", PTX_SPACE_SHARED}, {".local", PTX_SPACE_LOCAL},
                 {".const", PTX_SPACE_CONST}, {".param", PTX_SPACE_PARAM},
                 {".tex", PTX_SPACE_TEX}};
    for (size_t i = 0; at(p, T_DOT) && i < sizeof words / sizeof *words; i++)
        if (at_word(p, T_DOT, words[i].text))
            return words[i].space;
    return PTX_SPACE_NONE;
}

/* Space (current token), alignment, vector, type ... up to the first name. */
static bool
parse_decl(struct parser *p, struct decl *d)
{
    d->at = here(p);
    unsigned opaque = at(p, T_DOT) ? type_by_name(p->tok.s + 1, p->tok.n - 1) : 0;
    if (opaque && ptx_types[opaque].kind == PTX_K_OPAQUE) {
        d->space = PTX_SPACE_GLOBAL; /* ".texref t;" as older texts have it */
    } else {
        d->space = (uint8_t)space_word(p);
        if (!d->space)
            return expected(p, "a state space");
        next(p);
    }
    if (d->space == PTX_SPACE_CONST && at(p, '[')) { /* old constant banks */
        uint64_t bank;
        next(p);
        if (!number(p, &bank, 10, "a constant bank") || !need(p, ']', "']'"))
            return false;
    }
    for (; at(p, T_DOT); next(p)) {
        unsigned type = type_by_name(p->tok.s + 1, p->tok.n - 1);
        struct place where = here(p);
        if (type) {
            if (d->type)
                err(p, where, "two types: .%s and .%s", ptx_types[d->type].text,
                    ptx_types[type].text);
            d->type = (uint8_t)type;
        } else if (at_word(p, T_DOT, ".v2") || at_word(p, T_DOT, ".v4") ||
                   at_word(p, T_DOT, ".v8")) {
            d->vec = (uint8_t)(p->tok.s[2] - '0');
        } else if (at_word(p, T_DOT, ".align")) {
            bool ptr = d->ptr_space || d->ptr_align;
            uint32_t *to = ptr ? &d->ptr_align : &d->align;
            next(p);
            if (!alignment(p, to))
                return false;
            if (!at(p, T_DOT))
                break;
            p->lex.at = p->tok.s; /* the loop's next reads this token again */
            p->tok.n = 0;
        } else if (at_word(p, T_DOT, ".ptr")) {
            d->ptr_align = 1; /* generic pointer until a space follows */
        } else if (d->ptr_align && space_word(p)) {
            d->ptr_space = (uint8_t)space_word(p);
        } else if (at_word(p, T_DOT, ".attribute")) {
            const char *start = p->tok.s;
            next(p);
            if (!at(p, '('))
                return expected(p, "'('");
            d->attribute = parenthesised(p, start);
            if (!d->attribute)
                return false;
            if (!at(p, T_DOT))
                break;
            p->lex.at = p->tok.s;
            p->tok.n = 0;
        } else {
            struct diag *x = err(p, where, "unknown type or attribute '%.*s'",
                                 (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
            if (p->tok.n == 3)
                hint(p, x, "types are .b8 .b16 .b32 .b64 .u32 .s32 .f32 .f64 .pred ...");
            return false;
        }
    }
    if (!d->type)
        return expected(p, "a type");
    return true;
}

static uint32_t
natural_align(const struct decl *d)
{
    uint32_t a = ptx_type_bytes(d->type) * (d->vec ? d->vec : 1u);
    return a ? a : 1;
}

/* [] [4][5] behind a name. */
static bool
parse_dims(struct parser *p, struct ptx_var *v)
{
    uint64_t dims[MAX_DIMS];
    int n = 0;
    while (at(p, '[')) {
        struct place where = here(p);
        next(p);
        if (n == MAX_DIMS) {
            err(p, where, "more than %d dimensions", MAX_DIMS);
            return false;
        }
        dims[n] = 0;
        if (!at(p, ']')) {
            if (!number(p, &dims[n], (uint64_t)1 << 48, "an array size"))
                return false;
        }
        if (n && !dims[n]) {
            err(p, where, "only the first dimension can be left open");
            return false;
        }
        n++;
        if (!need(p, ']', "']'"))
            return false;
    }
    v->ndims = n;
    v->dims = n ? arena_dup(&p->m->mem, dims, (size_t)n * sizeof *dims) : NULL;
    return true;
}

static bool
size_var(struct parser *p, struct ptx_var *v, struct place where)
{
    uint64_t size = ptx_type_bytes(v->type) * (v->vec ? v->vec : 1u);
    bool ok = true;
    for (int i = 0; i < v->ndims; i++)
        ok &= !__builtin_mul_overflow(size, v->dims[i], &size);
    if (!ok || size > (uint64_t)1 << 48) {
        err(p, where, "'%.100s' is too large", v->name);
        size = 0;
    }
    v->size = size;
    v->dynamic = v->ndims && !v->dims[0];
    return ok;
}

static struct ptx_var *
new_var(struct parser *p, const struct decl *d, const char *name, struct place where)
{
    struct ptx_var *v = ARENA_NEW(&p->m->mem, struct ptx_var);
    v->name = name;
    v->space = d->space;
    v->type = d->type;
    v->vec = d->vec;
    v->linkage = d->linkage;
    v->ptr_space = d->ptr_space;
    v->ptr_align = d->ptr_align;
    v->align = d->align ? d->align : natural_align(d);
    v->attribute = d->attribute;
    v->line = where.line;
    v->col = where.col;
    return v;
}

/* Braces of a .texref or .samplerref. */
static bool
opaque_init(struct parser *p, struct ptx_var *v)
{
    const char *start = p->tok.s;
    if (!need(p, '{', "'{'"))
        return false;
    while (!at(p, '}')) {
        if (at(p, T_EOF) || at(p, ';'))
            return expected(p, "'}'");
        next(p);
    }
    next(p);
    v->opaque_init = slice(p, start, p->last_end);
    return true;
}

/* Binds a name at module scope, where a declaration may precede the definition. */
static bool
bind_module(struct parser *p, struct name *nm, unsigned kind, void *ptr, bool declaration,
            struct place where)
{
    struct binding *b = nm->top;
    if (!b || b->kind == B_SREG)
        return bind(p, nm, kind, 0, ptr, where) != NULL;
    bool was_declaration = false, same = b->kind == kind;
    if (same && kind == B_VAR)
        was_declaration = ((struct ptx_var *)b->ptr)->linkage == PTX_LINK_EXTERN;
    else if (same)
        was_declaration = !((struct ptx_func *)b->ptr)->has_body;
    if (!same || !(was_declaration || declaration))
        return bind(p, nm, kind, 0, ptr, where) != NULL; /* reports the redefinition */
    if (!declaration)
        b->ptr = ptr;
    return true;
}

/* name dims init {, name dims init} ; at module scope (f NULL) or in a body. */
static bool
parse_vars(struct parser *p, const struct decl *d)
{
    struct ptx_func *f = p->f;
    do {
        struct place where = here(p);
        if (!at(p, T_ID))
            return expected(p, "a name");
        struct name *nm = name_get(p, p->tok.s, p->tok.n);
        next(p);
        struct ptx_var *v = new_var(p, d, nm->s, where);
        if (!parse_dims(p, v) || !size_var(p, v, where))
            return false;
        if (d->type == PTX_PRED) {
            err(p, where, "a predicate cannot be in memory");
            return false;
        }
        if (f) {
            if (bind(p, nm, B_VAR, 0, v, where))
                v->name = flat_name(p, nm);
            v->func = f;
            *vec_push(&f->vars) = v;
        } else {
            bind_module(p, nm, B_VAR, v, d->linkage == PTX_LINK_EXTERN, where);
            *vec_push(&p->m->vars) = v;
        }
        if (at(p, '=')) {
            struct place eq = here(p);
            next(p);
            if (ptx_types[v->type].kind == PTX_K_OPAQUE) {
                if (!opaque_init(p, v))
                    return false;
            } else {
                if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
                    err(p, eq, "only .global and .const variables can be initialised");
                if (!parse_init(p, v))
                    return false;
            }
        } else if (v->dynamic && d->linkage != PTX_LINK_EXTERN && v->space != PTX_SPACE_PARAM) {
            struct diag *x = err(p, where, "array '%.100s' needs a size", nm->s);
            if (v->space == PTX_SPACE_SHARED)
                hint(p, x, "an array whose size is given at launch is .extern .shared");
        }
    } while (take(p, ','));
    return need_semicolon(p);
}

/* name, name<count> {, ...} ; behind .reg */
static bool
parse_regs(struct parser *p, const struct decl *d)
{
    struct ptx_func *f = p->f;
    if (ptx_types[d->type].kind == PTX_K_OPAQUE) {
        err(p, d->at, "a register cannot be a .%s", ptx_types[d->type].text);
        return false;
    }
    do {
        struct place where = here(p);
        if (!at(p, T_ID))
            return expected(p, "a register name");
        struct name *nm = name_get(p, p->tok.s, p->tok.n);
        next(p);
        int32_t first = (int32_t)f->regs.n;
        if (!take(p, '<')) {
            if (!bind(p, nm, B_REG, first, NULL, where))
                continue;
            const char *flat = flat_name(p, nm);
            *vec_push(&f->regs) = (struct ptx_reg){flat, d->type, d->vec};
            *vec_push(&f->regdecls) =
                (struct ptx_regdecl){flat, d->type, d->vec, first, 0};
            continue;
        }
        uint64_t count;
        struct place cp = here(p);
        if (!at(p, T_INT))
            return expected(p, "a number of registers");
        count = p->tok.value;
        next(p);
        if (!need(p, '>', "'>'"))
            return false;
        if (count > p->regs_left || count > 1u << 24) {
            struct diag *x = err(p, cp, "%llu registers are more than this text can use",
                                 (unsigned long long)count);
            hint(p, x, "declare as many as there are");
            continue;
        }
        p->regs_left -= count;
        if (!count)
            continue;
        const char *prefix = flat_prefix(p, nm, count);
        struct name *flat = name_get(p, prefix, strlen(prefix));
        *vec_push(&f->regdecls) =
            (struct ptx_regdecl){prefix, d->type, d->vec, first, (int32_t)count};
        vec_reserve(&f->regs, f->regs.n + count);
        for (uint64_t i = 0; i < count; i++) {
            struct name *one = name_numbered(p, nm, i);
            bind(p, one, B_REG, first + (int32_t)i, NULL, where);
            const char *text = flat == nm ? one->s : name_numbered(p, flat, i)->s;
            *vec_push(&f->regs) = (struct ptx_reg){text, d->type, d->vec};
        }
    } while (take(p, ','));
    return need_semicolon(p);
}

/* -- functions -- */

/* ( .param ... , .reg ... ): parameters or return values; names are bound where `binding`. */
static bool
parse_params(struct parser *p, struct ptx_func *f, bool rets, bool binding)
{
    uint64_t offset = 0;
    next(p); /* ( */
    while (!at(p, ')')) {
        struct decl d = {0};
        if (!at(p, T_DOT))
            return expected(p, "a parameter or ')'");
        struct place where = here(p);
        if (!parse_decl(p, &d))
            return false;
        if (d.space != PTX_SPACE_PARAM && (d.space != PTX_SPACE_REG || f->is_entry)) {
            struct diag *x = err(p, where, "a parameter cannot be in this state space");
            hint(p, x, f->is_entry ? "parameters of a kernel are .param"
                                   : "parameters are .param or .reg");
        }
        where = here(p);
        struct name *nm = NULL;
        if (at(p, T_ID)) {
            nm = name_get(p, p->tok.s, p->tok.n);
            next(p);
        } else {
            take(p, '_');
        }
        struct ptx_var *v = new_var(p, &d, nm ? nm->s : "_", where);
        v->is_param = true;
        v->func = f;
        if (!parse_dims(p, v) || !size_var(p, v, where))
            return false;
        if (v->space == PTX_SPACE_REG) {
            if (v->ndims)
                err(p, where, "a register cannot be an array");
            int32_t r = (int32_t)f->regs.n;
            if (binding && nm && bind(p, nm, B_REG, r, NULL, where)) {
                v->name = flat_name(p, nm);
                *vec_push(&f->regs) = (struct ptx_reg){v->name, d.type, d.vec};
            }
        } else {
            if (d.type == PTX_PRED)
                err(p, where, "a .param cannot be a predicate");
            if (binding && nm && bind(p, nm, B_VAR, 0, v, where))
                v->name = flat_name(p, nm);
            v->offset = (offset + v->align - 1) / v->align * v->align;
            offset = v->offset + v->size;
        }
        if (rets)
            *vec_push(&f->rets) = v;
        else
            *vec_push(&f->params) = v;
        if (!take(p, ','))
            break;
    }
    if (!rets)
        f->param_bytes = offset;
    return need(p, ')', "',' or ')'");
}

/* The directives between the parameters and the body. */
static bool
parse_head(struct parser *p, struct ptx_func *f)
{
    static const struct {
        const char *text;
        int args; /* numbers that follow: at most */
    } others[] = {{".explicitcluster", 0}, {".reqnctapercluster", 3}, {".maxclusterrank", 1},
                  {".blocksareclusters", 0}, {".abi_preserve", 1}, {".abi_preserve_control", 1},
                  {".language", 1}};
    while (at(p, T_DOT)) {
        struct place where = here(p);
        const char *start = p->tok.s;
        uint64_t v;
        uint32_t *three = at_word(p, T_DOT, ".maxntid")   ? f->maxntid
                          : at_word(p, T_DOT, ".reqntid") ? f->reqntid
                                                          : NULL;
        uint32_t *one = at_word(p, T_DOT, ".maxnreg")         ? &f->maxnreg
                        : at_word(p, T_DOT, ".minnctapersm") ? &f->minnctapersm
                        : at_word(p, T_DOT, ".maxnctapersm") ? &f->maxnctapersm
                                                             : NULL;
        if (three) {
            next(p);
            three[0] = three[1] = three[2] = 1;
            for (int i = 0; i < 3; i++) {
                if (!number(p, &v, UINT32_MAX, "a number of threads"))
                    return false;
                three[i] = (uint32_t)v;
                if (i == 2 || !take(p, ','))
                    break;
            }
            continue;
        }
        if (one) {
            next(p);
            if (!number(p, &v, UINT32_MAX, "this directive's value"))
                return false;
            *one = (uint32_t)v;
            continue;
        }
        if (at_word(p, T_DOT, ".noreturn")) {
            f->noreturn = true;
            next(p);
            continue;
        }
        if (at_word(p, T_DOT, ".pragma")) {
            next(p);
            do {
                if (!at(p, T_STR))
                    return expected(p, "a string");
                *vec_push(&f->pragmas) = slice(p, p->tok.s, p->tok.s + p->tok.n);
                next(p);
            } while (take(p, ','));
            if (!need_semicolon(p))
                return false;
            continue;
        }
        if (at_word(p, T_DOT, ".attribute")) {
            next(p);
            const char *text = at(p, '(') ? parenthesised(p, start) : NULL;
            if (!text)
                return false;
            *vec_push(&f->attrs) = text;
            continue;
        }
        size_t k = 0, n = sizeof others / sizeof *others;
        while (k < n && !at_word(p, T_DOT, others[k].text))
            k++;
        if (k == n) {
            err(p, where, "unknown directive '%.*s' of a function",
                (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
            return false;
        }
        next(p);
        for (int i = 0; i < others[k].args; i++) {
            if (!number(p, &v, UINT32_MAX, "this directive's value"))
                return false;
            if (i + 1 == others[k].args || !take(p, ','))
                break;
        }
        *vec_push(&f->attrs) = slice(p, start, p->last_end);
    }
    return true;
}

static void
push_directive(struct parser *p, const char *text, struct place where)
{
    struct ptx_inst in = ptx_inst_new(p->m, PTX_OP_DIRECTIVE, 0);
    in.text = text;
    in.line = where.line;
    in.col = where.col;
    *vec_push(&p->f->body) = in;
}

/* .loc file line column [, function_name label [+ offset], inlined_at file line column] */
static bool
parse_loc(struct parser *p)
{
    const char *start = p->tok.s;
    struct place where = here(p);
    next(p);
    for (int i = 0; i < 3; i++) {
        if (!at(p, T_INT))
            return i == 2 ? true : expected(p, "a number");
        next(p);
    }
    while (at(p, ',')) {
        next(p);
        if (!at(p, T_ID))
            return expected(p, "function_name or inlined_at");
        next(p);
        while (at(p, T_ID) || at(p, T_INT) || at(p, '+')) {
            if (p->tok.line > p->last.line)
                break;
            next(p);
        }
    }
    push_directive(p, slice(p, start, p->last_end), where);
    return true;
}

/* Raw text up to and with the semicolon. */
static const char *
to_semicolon(struct parser *p)
{
    const char *start = p->tok.s;
    next(p);
    while (at(p, T_STR) || at(p, ',') || at(p, T_INT) || at(p, T_ID))
        next(p);
    const char *end = p->last_end;
    if (!need_semicolon(p))
        return NULL;
    return arena_printf(&p->m->mem, "%.*s;", (int)(end - start > 4096 ? 4096 : end - start),
                        start);
}

static struct ptx_func *
new_func(struct parser *p, struct place where)
{
    struct ptx_func *f = ARENA_NEW(&p->m->mem, struct ptx_func);
    f->module = p->m;
    f->name = "";
    f->line = where.line;
    f->col = where.col;
    return f;
}

/* label : .callprototype / .calltargets / .branchtargets ... ; at the directive. */
static bool
parse_targets(struct parser *p, struct name *nm, struct place where)
{
    if (at_word(p, T_DOT, ".branchtargets")) {
        struct ptx_operand *list = ARENA_NEW(&p->m->mem, struct ptx_operand);
        size_t first = p->pend.n;
        list->kind = PTX_OPD_VEC;
        list->reg = list->label = -1;
        do {
            next(p);
            bool many = p->pend.n - first == UINT16_MAX;
            if (many)
                err(p, here(p), "too many targets");
            if (many || !at(p, T_ID)) {
                p->pend.n = first;
                return many ? false : expected(p, "a label");
            }
            *vec_push(&p->pend) =
                (struct pending){NULL, name_get(p, p->tok.s, p->tok.n), here(p), false};
            next(p);
        } while (at(p, ','));
        list->n = (uint16_t)(p->pend.n - first);
        list->vec = ARENA_ARRAY(&p->m->mem, struct ptx_operand, list->n);
        for (unsigned i = 0; i < list->n; i++) {
            list->vec[i].kind = PTX_OPD_LABEL;
            list->vec[i].reg = list->vec[i].label = -1;
            p->pend.v[first + i].o = &list->vec[i];
        }
        bind(p, nm, B_BRANCHES, 0, list, where);
        return need_semicolon(p);
    }
    struct ptx_func *f = new_func(p, where);
    f->is_proto = true;
    *vec_push(&p->m->protos) = f;
    if (at_word(p, T_DOT, ".calltargets")) {
        do {
            next(p);
            if (!at(p, T_ID))
                return expected(p, "a function");
            struct name *t = name_get(p, p->tok.s, p->tok.n);
            if (t->top && t->top->kind == B_FUNC) {
                *vec_push(&f->targets) = t->top->ptr;
            } else {
                struct diag *d = err(p, here(p), "'%.100s' is not a declared function", t->s);
                hint_name(p, d, t, 1u << B_FUNC);
            }
            next(p);
        } while (at(p, ','));
    } else {
        next(p);
        if (at(p, '(') && !parse_params(p, f, true, false))
            return false;
        if (!take(p, '_')) {
            if (!at(p, T_ID))
                return expected(p, "'_'");
            next(p);
        }
        if (at(p, '(') && !parse_params(p, f, false, false))
            return false;
        if (!parse_head(p, f))
            return false;
    }
    if (bind(p, nm, B_PROTO, 0, f, where))
        f->name = flat_name(p, nm);
    struct ptx_inst in = ptx_inst_new(p->m, PTX_OP_DIRECTIVE, 1);
    in.ops[0].kind = PTX_OPD_FUNCSYM;
    in.ops[0].func = f;
    in.line = where.line;
    in.col = where.col;
    *vec_push(&p->f->body) = in;
    return need_semicolon(p);
}

/* Is the identifier at hand followed by a colon? */
static bool
is_label(const struct parser *p)
{
    const char *s = p->lex.at;
    while (*s == ' ' || *s == '\t')
        s++;
    return *s == ':' && s[1] != ':';
}

static bool
parse_label(struct parser *p)
{
    struct place where = here(p);
    struct name *nm = name_get(p, p->tok.s, p->tok.n);
    next(p);
    next(p); /* : */
    if (at_word(p, T_DOT, ".branchtargets") || at_word(p, T_DOT, ".calltargets") ||
        at_word(p, T_DOT, ".callprototype"))
        return parse_targets(p, nm, where);
    int32_t index = (int32_t)p->f->labels.n;
    if (!bind(p, nm, B_LABEL, index, NULL, where))
        return true;
    vec_push(&p->f->labels)->name = flat_name(p, nm);
    struct ptx_inst in = ptx_inst_new(p->m, PTX_OP_LABEL, 1);
    in.ops[0].kind = PTX_OPD_LABEL;
    in.ops[0].label = index;
    in.line = where.line;
    in.col = where.col;
    *vec_push(&p->f->body) = in;
    return true;
}

static bool
parse_body_directive(struct parser *p)
{
    struct place where = here(p);
    if (at_word(p, T_DOT, ".loc"))
        return parse_loc(p);
    if (at_word(p, T_DOT, ".pragma")) {
        const char *text = to_semicolon(p);
        if (text)
            push_directive(p, text, where);
        return text != NULL;
    }
    unsigned space = space_word(p);
    if (!space) {
        err(p, where, "'%.*s' does not begin a statement",
            (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
        return false;
    }
    struct decl d = {0};
    if (!parse_decl(p, &d))
        return false;
    if (d.space == PTX_SPACE_REG)
        return parse_regs(p, &d);
    if (d.space != PTX_SPACE_SHARED && d.space != PTX_SPACE_LOCAL &&
        d.space != PTX_SPACE_PARAM) {
        struct diag *x = err(p, where, "a variable of this state space cannot stand in a "
                                       "function");
        hint(p, x, "declare it at module scope");
    }
    return parse_vars(p, &d);
}

/* Targets of brx are shared with their list until here. */
static void
own_targets(struct parser *p)
{
    for (size_t i = 0; i < p->f->body.n; i++) {
        struct ptx_inst *in = &p->f->body.v[i];
        if (in->op == PTX_OP_BRX && in->ops[1].kind == PTX_OPD_VEC)
            in->ops[1].vec = ptx_operands_dup(p->m, in->ops[1].vec, in->ops[1].n);
    }
}

/* { statements }, with the '{' at hand. The function's own scope is open already. */
static bool
parse_body(struct parser *p)
{
    unsigned base = p->depth;
    p->scope[base].at = here(p);
    next(p);
    for (;;) {
        bool ok = true;
        p->open = 0;
        switch (p->tok.kind) {
        case T_EOF: {
            struct diag *d = err(p, here(p), "a block is not closed");
            hint(p, d, "the block that is open here began on line %u",
                 p->scope[p->depth].at.line);
            while (p->depth > base)
                close_scope(p);
            return false;
        }
        case '{':
            if (open_scope(p, here(p)))
                next(p);
            else {
                while (p->depth > base)
                    close_scope(p);
                return false;
            }
            break;
        case '}':
            if (p->depth == base) {
                next(p);
                own_targets(p);
                return true;
            }
            close_scope(p);
            next(p);
            break;
        case ';':
            next(p);
            break;
        case T_DOT:
            if (opens_function(p)) {
                struct diag *d = err(p, here(p), "a function begins within a function");
                hint(p, d, "a '}' is missing; the block open here began on line %u",
                     p->scope[p->depth].at.line);
                while (p->depth > base)
                    close_scope(p);
                return true;
            }
            ok = parse_body_directive(p);
            break;
        case T_ID:
            ok = is_label(p) ? parse_label(p) : parse_inst(p);
            break;
        case '@':
            ok = parse_inst(p);
            break;
        default:
            ok = expected(p, "a statement");
        }
        if (!ok)
            skip_statement(p);
    }
}

static bool
parse_function(struct parser *p, unsigned linkage)
{
    struct ptx_func *f = new_func(p, here(p));
    f->linkage = (uint8_t)linkage;
    f->is_entry = at_word(p, T_DOT, ".entry");
    *vec_push(&p->m->funcs) = f;
    p->serial++;
    p->f = f;
    next(p);
    if (!open_scope(p, here(p)))
        return false;
    bool ok = true;
    while (ok && at_word(p, T_DOT, ".attribute")) {
        const char *start = p->tok.s;
        next(p);
        const char *text = at(p, '(') ? parenthesised(p, start) : NULL;
        ok = text || (p->tok.kind != '(' && expected(p, "'('"));
        if (text)
            *vec_push(&f->attrs) = text;
    }
    if (ok && at_word(p, T_DOT, ".noreturn")) {
        f->noreturn = true;
        next(p);
    }
    if (ok && at(p, '(') && !f->is_entry)
        ok = parse_params(p, f, true, true);
    struct place where = here(p);
    struct name *nm = NULL;
    if (ok && !at(p, T_ID))
        ok = expected(p, f->is_entry ? "the kernel's name" : "the function's name");
    if (ok) {
        nm = name_get(p, p->tok.s, p->tok.n);
        f->name = nm->s;
        f->line = where.line;
        f->col = where.col;
        next(p);
    }
    ok = ok && (!at(p, '(') || parse_params(p, f, false, true));
    ok = ok && parse_head(p, f);
    if (ok) {
        f->has_body = at(p, '{');
        if (!f->has_body && !at(p, ';'))
            ok = expected(p, "'{' or ';'");
    }
    if (nm) { /* known in its own body, at module scope */
        unsigned depth = p->depth;
        p->depth = 0;
        if (nm->top && nm->top->depth) {
            err(p, where, "'%.100s' is the name of one of its parameters too", nm->s);
        } else {
            bind_module(p, nm, B_FUNC, f, !f->has_body, where);
        }
        p->depth = depth;
    }
    if (ok && f->has_body)
        ok = parse_body(p);
    else if (ok)
        next(p); /* ; */
    close_scope(p);
    p->pend.n = 0;
    p->f = NULL;
    return ok;
}

/* -- the module -- */

static bool
parse_version(struct parser *p)
{
    struct ptx_module *m = p->m;
    next(p);
    struct place where = here(p);
    unsigned major, minor;
    char own[16] = "";
    if (p->tok.n < sizeof own)
        memcpy(own, p->tok.s, p->tok.n);
    if (!at(p, T_F64) || sscanf(own, "%u.%u", &major, &minor) != 2)
        return expected(p, "a version such as 8.0");
    next(p);
    if (m->version_major)
        err(p, where, "a second .version");
    if (major * 100 + minor < 104 || major * 100 + minor > 900) {
        struct diag *d = err(p, where, "PTX ISA version %u.%u is not supported", major, minor);
        hint(p, d, "versions 1.4 to 9.0 are");
    }
    m->version_major = (uint16_t)(major ? major : 1);
    m->version_minor = (uint16_t)minor;
    return true;
}

static bool
parse_target(struct parser *p)
{
    struct ptx_module *m = p->m;
    next(p);
    struct place where = here(p);
    if (!at(p, T_ID))
        return expected(p, "a target such as sm_80");
    const char *target = slice(p, p->tok.s, p->tok.s + p->tok.n);
    unsigned sm;
    if (sscanf(target, "sm_%3u", &sm) != 1 && sscanf(target, "compute_%3u", &sm) != 1) {
        struct diag *d = err(p, where, "unknown target '%.60s'", target);
        hint(p, d, "targets are sm_20, sm_35, sm_80 ...");
        sm = 0;
    }
    next(p);
    if (m->target)
        err(p, where, "a second .target");
    m->target = target;
    m->sm = (uint16_t)sm;
    if (take(p, ',')) {
        const char *start = p->tok.s;
        do {
            if (!at(p, T_ID))
                return expected(p, "a target option");
            next(p);
        } while (take(p, ','));
        m->target_options = slice(p, start, p->last_end);
    }
    return true;
}

static bool
parse_file(struct parser *p) /* .file 1 "name" {, time, size} */
{
    const char *start = p->tok.s;
    next(p);
    if (!need(p, T_INT, "a file number"))
        return false;
    if (!need(p, T_STR, "a file name"))
        return false;
    while (at(p, ',')) {
        next(p);
        if (!need(p, T_INT, "a number"))
            return false;
    }
    *vec_push(&p->m->directives) = slice(p, start, p->last_end);
    return true;
}

static bool
parse_section(struct parser *p)
{
    const char *start = p->tok.s;
    struct place where = here(p);
    next(p);
    if (!at(p, T_DOT) && !at(p, T_ID))
        return expected(p, "a section name");
    next(p);
    if (!need(p, '{', "'{'"))
        return false;
    while (!at(p, '}')) {
        if (at(p, T_EOF)) {
            err(p, where, "the section is not closed");
            return false;
        }
        next(p);
    }
    next(p);
    *vec_push(&p->m->directives) = slice(p, start, p->last_end);
    return true;
}

/* @@DWARF ...: debug information of PTX 1.x and 2.x, a line each. */
static bool
parse_old_dwarf(struct parser *p)
{
    const char *start = p->tok.s;
    uint32_t line = p->tok.line;
    next(p);
    if (!at(p, '@'))
        return expected(p, "'@DWARF'");
    while (!at(p, T_EOF) && p->tok.line == line)
        next(p);
    *vec_push(&p->m->directives) = slice(p, start, p->last_end);
    return true;
}

static bool
parse_alias(struct parser *p)
{
    const char *start = p->tok.s;
    next(p);
    for (int i = 0; i < 2; i++) {
        if (!at(p, T_ID))
            return expected(p, "a function");
        struct name *nm = name_get(p, p->tok.s, p->tok.n);
        if (!nm->top || nm->top->kind != B_FUNC) {
            struct diag *d = err(p, here(p), "'%.100s' is not a declared function", nm->s);
            hint_name(p, d, nm, 1u << B_FUNC);
        }
        next(p);
        if (!i && !need(p, ',', "','"))
            return false;
    }
    const char *end = p->last_end;
    *vec_push(&p->m->directives) =
        arena_printf(&p->m->mem, "%.*s;", (int)(end - start), start);
    return need_semicolon(p);
}

static bool
parse_module_item(struct parser *p)
{
    static const struct {
        const char *text;
        uint8_t linkage;
    } links[] = {{".extern", PTX_LINK_EXTERN}, {".visible", PTX_LINK_VISIBLE},
                 {".weak", PTX_LINK_WEAK},     {".common", PTX_LINK_COMMON}};
    struct ptx_module *m = p->m;
    struct place where = here(p);
    if (at(p, '@'))
        return parse_old_dwarf(p);
    if (take(p, ';'))
        return true;
    if (!at(p, T_DOT))
        return expected(p, "a directive");
    if (at_word(p, T_DOT, ".version"))
        return parse_version(p);
    if (!m->version_major) {
        struct diag *d = err(p, where, "the module does not begin with .version");
        hint(p, d, "the first line says the PTX ISA version, for example '.version 8.0'");
        m->version_major = 9;
    }
    if (at_word(p, T_DOT, ".target"))
        return parse_target(p);
    if (at_word(p, T_DOT, ".address_size")) {
        next(p);
        where = here(p);
        uint64_t v;
        if (!number(p, &v, 64, "the address size"))
            return false;
        if (v != 32 && v != 64)
            err(p, where, "the address size is 32 or 64");
        m->address_size = v == 32 ? 32 : 64;
        return true;
    }
    if (at_word(p, T_DOT, ".file"))
        return parse_file(p);
    if (at_word(p, T_DOT, ".section"))
        return parse_section(p);
    if (at_word(p, T_DOT, ".alias"))
        return parse_alias(p);
    if (at_word(p, T_DOT, ".pragma")) {
        const char *text = to_semicolon(p);
        if (text)
            *vec_push(&m->directives) = text;
        return text != NULL;
    }
    if (at_word(p, T_DOT, ".loc")) { /* between functions it says nothing */
        next(p);
        while (at(p, T_INT))
            next(p);
        return true;
    }
    unsigned linkage = PTX_LINK_NONE;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (!linkage && at_word(p, T_DOT, links[i].text)) {
            linkage = links[i].linkage;
            next(p);
        }
    if (at_word(p, T_DOT, ".entry") || at_word(p, T_DOT, ".func")) {
        if (!m->target) {
            struct diag *d = err(p, where, ".target is missing");
            hint(p, d, "write for example '.target sm_80' behind .version");
            m->target = "sm_20";
        }
        return parse_function(p, linkage);
    }
    unsigned type = at(p, T_DOT) ? type_by_name(p->tok.s + 1, p->tok.n - 1) : 0;
    if (!space_word(p) && ptx_types[type].kind != PTX_K_OPAQUE) {
        if (at(p, T_DOT))
            err(p, here(p), "unknown directive '%.*s'", (int)(p->tok.n > 60 ? 60 : p->tok.n),
                p->tok.s);
        else
            expected(p, "a declaration");
        return false;
    }
    struct decl d = {.linkage = (uint8_t)linkage};
    if (!parse_decl(p, &d))
        return false;
    d.linkage = (uint8_t)linkage;
    if (d.space == PTX_SPACE_REG || d.space == PTX_SPACE_PARAM) {
        err(p, d.at, "%s cannot be declared at module scope",
            d.space == PTX_SPACE_REG ? "registers" : "parameters");
        return false;
    }
    return parse_vars(p, &d);
}

/* Diagnostics from `from` on, by place: some are found later than others. */
static void
sort_messages(struct diag_sink *s, size_t from)
{
    for (size_t i = from + 1; i < s->n; i++) {
        struct diag *d = s->list[i];
        size_t k = i;
        while (k > from && (s->list[k - 1]->line > d->line ||
                            (s->list[k - 1]->line == d->line && s->list[k - 1]->col > d->col))) {
            s->list[k] = s->list[k - 1];
            k--;
        }
        s->list[k] = d;
    }
}

/* Module-level pragmas first: the order in which they are printed. */
static void
sort_directives(struct parser *p)
{
    struct ptx_module *m = p->m;
    size_t n = m->directives.n, k = 0;
    if (!n)
        return;
    const char **all = ARENA_ARRAY(&p->mem, const char *, n);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if (!strncmp(m->directives.v[i], ".pragma", 7) == !pass)
                all[k++] = m->directives.v[i];
    memcpy(m->directives.v, all, n * sizeof *all);
}

struct ptx_module *
ptx_parse(const char *file, const char *text, size_t len, struct diag_sink *diag)
{
    struct parser *p = xcalloc(1, sizeof *p);
    struct ptx_module *m = p->m = xcalloc(1, sizeof *m);
    p->diag = diag;
    len = strnlen(text, len);
    m->text = xmalloc(len + 1);
    memcpy(m->text, text, len);
    m->text[len] = 0;
    m->file = arena_strdup(&m->mem, file);
    m->address_size = 32;
    p->lex = (struct ptx_lexer){m->text, m->text, 1};
    p->tok = (struct ptx_token){.s = m->text, .line = 1, .col = 1};
    /* A text of this length cannot use more; hostile ones could ask for anything. */
    p->regs_left = (1u << 18) + 16 * (uint64_t)len;
    p->init_left = (1u << 24) + 64 * (uint64_t)len;
    size_t first = diag->n;
    sym_init(p);
    next(p);
    while (!at(p, T_EOF)) {
        p->open = 0;
        if (!parse_module_item(p))
            skip_module_item(p);
    }
    if (!p->errors && !m->version_major) {
        struct diag *d = err(p, (struct place){1, 1, 1}, "the text has no .version directive");
        hint(p, d, "is this PTX?");
    } else if (!p->errors && !m->target) {
        err(p, here(p), ".target is missing");
    }
    sort_messages(diag, first);
    sort_directives(p);
    bool ok = !p->errors;
    free(p->names);
    free(p->forms);
    vec_free(&p->pend);
    arena_free(&p->mem);
    free(p);
    if (ok)
        return m;
    ptx_module_free(m);
    return NULL;
}

struct ptx_module *
ptx_parse_file(const char *path, struct diag_sink *diag)
{
    size_t len;
    char *text = file_read(path, &len);
    if (!text) {
        diag_error(diag, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    struct ptx_module *m = ptx_parse(strcmp(path, "-") ? path : "<stdin>", text, len, diag);
    free(text);
    return m;
}
