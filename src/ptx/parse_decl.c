/* parse_decl.c: variables, registers, parameters (PTX ISA 9.0, chapter 5). */
#include "ptx/parse_int.h"

const char *
parse_text_slice(struct parser *p, const char *start, const char *end)
{
    return arena_strndup(&p->m->mem, start, (size_t)(end - start));
}

/* -- small pieces -- */

bool
parse_number(struct parser *p, uint64_t *v, uint64_t max, const char *what)
{
    struct place where = here(p);
    struct value x;
    if (!parse_const(p, &x))
        return false;
    *v = x.bits;
    if (x.kind != PTX_OPD_IMM || x.bits > max) {
        parse_error(p, where, "%s must be an integer from 0 to %llu", what,
                    (unsigned long long)max);
        *v = 0;
    }
    return true;
}

static bool
alignment(struct parser *p, uint32_t *align)
{
    struct place where = here(p);
    uint64_t v;
    if (!parse_number(p, &v, 1u << 30, "an alignment"))
        return false;
    if (!v || v & (v - 1)) {
        struct diag *d = parse_error(p, where, "an alignment must be a power of two");
        parse_hint(p, d, "1, 2, 4, 8, 16 ...");
        v = 1;
    }
    *align = (uint32_t)v;
    return true;
}

/* ( ... ) as raw text, from the current token. */
const char *
parse_parenthesised(struct parser *p, const char *start)
{
    int depth = 0;
    do {
        if (at(p, '('))
            depth++;
        else if (at(p, ')'))
            depth--;
        else if (at(p, T_EOF) || at(p, ';') || at(p, '{')) {
            parse_expected(p, "')'");
            return NULL;
        }
        parse_next(p);
    } while (depth > 0);
    return parse_text_slice(p, start, p->last_end);
}

/* -- variables -- */

unsigned
parse_space_word(const struct parser *p)
{
    static const struct {
        const char *text;
        uint8_t space;
    } words[] = {{".reg", PTX_SPACE_REG},       {".global", PTX_SPACE_GLOBAL},
                 {".shared", PTX_SPACE_SHARED}, {".local", PTX_SPACE_LOCAL},
                 {".const", PTX_SPACE_CONST},   {".param", PTX_SPACE_PARAM},
                 {".tex", PTX_SPACE_TEX}};
    for (size_t i = 0; at(p, T_DOT) && i < sizeof words / sizeof *words; i++)
        if (at_word(p, T_DOT, words[i].text))
            return words[i].space;
    return PTX_SPACE_NONE;
}

/* Space (current token), alignment, vector, type ... up to the first name. */
bool
parse_decl(struct parser *p, struct decl *d)
{
    d->at = here(p);
    unsigned opaque = at(p, T_DOT) ? ptx_type_find(p->tok.s + 1, p->tok.n - 1) : 0;
    if (opaque && ptx_types[opaque].kind == PTX_K_OPAQUE) {
        d->space = PTX_SPACE_GLOBAL; /* ".texref t;" as older texts have it */
    } else {
        d->space = (uint8_t)parse_space_word(p);
        if (!d->space)
            return parse_expected(p, "a state space");
        parse_next(p);
    }
    if (d->space == PTX_SPACE_CONST && at(p, '[')) { /* old constant banks */
        uint64_t bank;
        parse_next(p);
        if (!parse_number(p, &bank, 10, "a constant bank") || !parse_need(p, ']', "']'"))
            return false;
    }
    for (; at(p, T_DOT); parse_next(p)) {
        unsigned type = ptx_type_find(p->tok.s + 1, p->tok.n - 1);
        struct place where = here(p);
        if (type) {
            if (d->type)
                parse_error(p, where, "two types: .%s and .%s", ptx_types[d->type].text,
                            ptx_types[type].text);
            if (ptx_types[type].kind == PTX_K_FORMAT) {
                struct diag *x = parse_error(
                    p, where, ".%s is a type of instructions only", ptx_types[type].text);
                parse_hint(p, x, "declare .b%u", ptx_type_bytes(type) * 8);
                type = ptx_type_bytes(type) == 8   ? PTX_B64
                       : ptx_type_bytes(type) == 4 ? PTX_B32
                       : ptx_type_bytes(type) == 2 ? PTX_B16
                                                   : PTX_B8;
            }
            d->type = (uint8_t)type;
        } else if (at_word(p, T_DOT, ".v2") || at_word(p, T_DOT, ".v4") ||
                   at_word(p, T_DOT, ".v8")) {
            d->vec = (uint8_t)(p->tok.s[2] - '0');
        } else if (at_word(p, T_DOT, ".align")) {
            bool ptr = d->ptr_space || d->ptr_align;
            uint32_t *to = ptr ? &d->ptr_align : &d->align;
            parse_next(p);
            if (!alignment(p, to))
                return false;
            if (!at(p, T_DOT))
                break;
            p->lex.at = p->tok.s; /* the loop's next reads this token again */
            p->tok.n = 0;
        } else if (at_word(p, T_DOT, ".ptr")) {
            d->ptr_align = 1; /* generic pointer until a space follows */
        } else if (d->ptr_align && parse_space_word(p)) {
            d->ptr_space = (uint8_t)parse_space_word(p);
        } else if (at_word(p, T_DOT, ".attribute")) {
            const char *start = p->tok.s;
            parse_next(p);
            if (!at(p, '('))
                return parse_expected(p, "'('");
            d->attribute = parse_parenthesised(p, start);
            if (!d->attribute)
                return false;
            if (!at(p, T_DOT))
                break;
            p->lex.at = p->tok.s;
            p->tok.n = 0;
        } else {
            struct diag *x = parse_error(p, where, "unknown type or attribute '%.*s'",
                                         (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
            if (p->tok.n == 3)
                parse_hint(p, x,
                           "types are .b8 .b16 .b32 .b64 .u32 .s32 .f32 .f64 .pred ...");
            return false;
        }
    }
    if (!d->type)
        return parse_expected(p, "a type");
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
        parse_next(p);
        if (n == MAX_DIMS) {
            parse_error(p, where, "more than %d dimensions", MAX_DIMS);
            return false;
        }
        dims[n] = 0;
        if (!at(p, ']')) {
            if (!parse_number(p, &dims[n], (uint64_t)1 << 48, "an array size"))
                return false;
        }
        if (n && !dims[n]) {
            parse_error(p, where, "only the first dimension can be left open");
            return false;
        }
        n++;
        if (!parse_need(p, ']', "']'"))
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
        parse_error(p, where, "'%.100s' is too large", v->name);
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
    if (!parse_need(p, '{', "'{'"))
        return false;
    while (!at(p, '}')) {
        if (at(p, T_EOF) || at(p, ';'))
            return parse_expected(p, "'}'");
        parse_next(p);
    }
    parse_next(p);
    v->opaque_init = parse_text_slice(p, start, p->last_end);
    return true;
}

/* Binds a name at module scope, where a declaration may precede the definition. */
bool
parse_bind_module(struct parser *p, struct name *nm, unsigned kind, void *ptr,
                  bool declaration, struct place where)
{
    struct binding *b = nm->top;
    if (!b || b->kind == B_SREG)
        return parse_bind(p, nm, kind, 0, ptr, where) != NULL;
    bool was_declaration = false, same = b->kind == kind;
    if (same && kind == B_VAR)
        was_declaration = ((struct ptx_var *)b->ptr)->linkage == PTX_LINK_EXTERN;
    else if (same)
        was_declaration = !((struct ptx_func *)b->ptr)->has_body;
    if (!same || !(was_declaration || declaration))
        return parse_bind(p, nm, kind, 0, ptr, where) !=
               NULL; /* reports the redefinition */
    if (!declaration)
        b->ptr = ptr;
    return true;
}

/* name dims init {, name dims init} ; at module scope (f NULL) or in a body. */
bool
parse_vars(struct parser *p, const struct decl *d)
{
    struct ptx_func *f = p->f;
    do {
        struct place where = here(p);
        if (!at(p, T_ID))
            return parse_expected(p, "a name");
        struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
        parse_next(p);
        struct ptx_var *v = new_var(p, d, nm->s, where);
        if (!parse_dims(p, v) || !size_var(p, v, where))
            return false;
        if (d->type == PTX_PRED) {
            parse_error(p, where, "a predicate cannot be in memory");
            return false;
        }
        if (f) {
            if (parse_bind(p, nm, B_VAR, 0, v, where))
                v->name = parse_flat_name(p, nm);
            v->func = f;
            *vec_push(&f->vars) = v;
        } else {
            parse_bind_module(p, nm, B_VAR, v, d->linkage == PTX_LINK_EXTERN, where);
            *vec_push(&p->m->vars) = v;
        }
        if (at(p, '=')) {
            struct place eq = here(p);
            parse_next(p);
            if (ptx_types[v->type].kind == PTX_K_OPAQUE) {
                if (!opaque_init(p, v))
                    return false;
            } else {
                if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
                    parse_error(p, eq,
                                "only .global and .const variables can be initialised");
                if (!parse_init(p, v))
                    return false;
            }
        } else if (v->dynamic && d->linkage != PTX_LINK_EXTERN &&
                   v->space != PTX_SPACE_PARAM) {
            struct diag *x = parse_error(p, where, "array '%.100s' needs a size", nm->s);
            if (v->space == PTX_SPACE_SHARED)
                parse_hint(p, x,
                           "an array whose size is given at launch is .extern .shared");
        }
    } while (take(p, ','));
    return parse_need_semicolon(p);
}

/* name, name<count> {, ...} ; behind .reg */
bool
parse_regs(struct parser *p, const struct decl *d)
{
    struct ptx_func *f = p->f;
    if (ptx_types[d->type].kind == PTX_K_OPAQUE) {
        parse_error(p, d->at, "a register cannot be a .%s", ptx_types[d->type].text);
        return false;
    }
    do {
        struct place where = here(p);
        if (!at(p, T_ID))
            return parse_expected(p, "a register name");
        struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
        parse_next(p);
        int32_t first = (int32_t)f->regs.n;
        if (!take(p, '<')) {
            if (!parse_bind(p, nm, B_REG, first, NULL, where))
                continue;
            const char *flat = parse_flat_name(p, nm);
            *vec_push(&f->regs) = (struct ptx_reg){flat, d->type, d->vec, 0};
            *vec_push(&f->regdecls) =
                (struct ptx_regdecl){flat, d->type, d->vec, first, 0};
            continue;
        }
        uint64_t count;
        struct place cp = here(p);
        if (!at(p, T_INT))
            return parse_expected(p, "a number of registers");
        count = p->tok.value;
        parse_next(p);
        if (!parse_need(p, '>', "'>'"))
            return false;
        if (count > p->regs_left || count > 1u << 24) {
            struct diag *x =
                parse_error(p, cp, "%llu registers are more than this text can use",
                            (unsigned long long)count);
            parse_hint(p, x, "declare as many as there are");
            continue;
        }
        p->regs_left -= count;
        if (!count)
            continue;
        const char *prefix = parse_flat_prefix(p, nm, count);
        struct name *flat = parse_name_get(p, prefix, strlen(prefix));
        *vec_push(&f->regdecls) =
            (struct ptx_regdecl){prefix, d->type, d->vec, first, (int32_t)count};
        vec_reserve(&f->regs, f->regs.n + count);
        for (uint64_t i = 0; i < count; i++) {
            struct name *one = parse_name_numbered(p, nm, i);
            parse_bind(p, one, B_REG, first + (int32_t)i, NULL, where);
            const char *text = flat == nm ? one->s : parse_name_numbered(p, flat, i)->s;
            *vec_push(&f->regs) = (struct ptx_reg){text, d->type, d->vec, 0};
        }
    } while (take(p, ','));
    return parse_need_semicolon(p);
}

/* ( .param ... , .reg ... ): parameters or return values; names are bound where
 * `binding`. */
bool
parse_params(struct parser *p, struct ptx_func *f, bool rets, bool binding)
{
    uint64_t offset = 0;
    parse_next(p); /* ( */
    while (!at(p, ')')) {
        struct decl d = {0};
        if (!at(p, T_DOT))
            return parse_expected(p, "a parameter or ')'");
        struct place where = here(p);
        if (!parse_decl(p, &d))
            return false;
        if (d.space != PTX_SPACE_PARAM && (d.space != PTX_SPACE_REG || f->is_entry)) {
            struct diag *x =
                parse_error(p, where, "a parameter cannot be in this state space");
            parse_hint(p, x,
                       f->is_entry ? "parameters of a kernel are .param"
                                   : "parameters are .param or .reg");
        }
        where = here(p);
        struct name *nm = NULL;
        if (at(p, T_ID)) {
            nm = parse_name_get(p, p->tok.s, p->tok.n);
            parse_next(p);
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
                parse_error(p, where, "a register cannot be an array");
            int32_t r = (int32_t)f->regs.n;
            if (binding && nm && parse_bind(p, nm, B_REG, r, NULL, where)) {
                v->name = parse_flat_name(p, nm);
                *vec_push(&f->regs) = (struct ptx_reg){v->name, d.type, d.vec, 0};
            }
        } else {
            if (d.type == PTX_PRED)
                parse_error(p, where, "a .param cannot be a predicate");
            if (binding && nm && parse_bind(p, nm, B_VAR, 0, v, where))
                v->name = parse_flat_name(p, nm);
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
    return parse_need(p, ')', "',' or ')'");
}
