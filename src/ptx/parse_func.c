/* parse_func.c: functions: head, body, nested scopes, labels, the directives of a body
 * (PTX ISA 9.0, chapters 7, 11). A statement that does not parse is skipped to its
 * semicolon, with some care not to take what follows a forgotten one along. */
#include "ptx/fault.h"
#include "ptx/parse_int.h"

static bool
opens_function(const struct parser *p)
{
    return at_word(p, T_DOT, ".entry") || at_word(p, T_DOT, ".func") ||
           at_word(p, T_DOT, ".visible") || at_word(p, T_DOT, ".weak") ||
           at_word(p, T_DOT, ".extern");
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
    return *s == ':' || parse_known_mnemonic(p->tok.s, p->tok.n);
}

/* Behind the '}' of the '{' at hand, or at the end of the text. */
static void
skip_block(struct parser *p)
{
    int depth = 0;
    do {
        depth += at(p, '{') ? 1 : at(p, '}') ? -1 : 0;
        parse_next(p);
    } while (depth && !at(p, T_EOF));
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
        parse_next(p);
    }
}

/* The directives between the parameters and the body. */
static bool
parse_head(struct parser *p, struct ptx_func *f)
{
    static const struct {
        const char *text;
        int args; /* numbers that follow: at most */
    } others[] = {{".explicitcluster", 0}, {".reqnctapercluster", 3},
                  {".maxclusterrank", 1},  {".blocksareclusters", 0},
                  {".abi_preserve", 1},    {".abi_preserve_control", 1},
                  {".language", 1}};
    while (at(p, T_DOT)) {
        struct place where = here(p);
        const char *start = p->tok.s;
        uint64_t v;
        uint32_t *three = at_word(p, T_DOT, ".maxntid")   ? f->maxntid
                          : at_word(p, T_DOT, ".reqntid") ? f->reqntid
                                                          : NULL;
        uint32_t *one = at_word(p, T_DOT, ".maxnreg")        ? &f->maxnreg
                        : at_word(p, T_DOT, ".minnctapersm") ? &f->minnctapersm
                        : at_word(p, T_DOT, ".maxnctapersm") ? &f->maxnctapersm
                                                             : NULL;
        if (three) {
            parse_next(p);
            three[0] = three[1] = three[2] = 1;
            for (int i = 0; i < 3; i++) {
                if (!parse_number(p, &v, UINT32_MAX, "a number of threads"))
                    return false;
                three[i] = (uint32_t)v;
                if (i == 2 || !take(p, ','))
                    break;
            }
            continue;
        }
        if (one) {
            parse_next(p);
            if (!parse_number(p, &v, UINT32_MAX, "this directive's value"))
                return false;
            *one = (uint32_t)v;
            continue;
        }
        if (at_word(p, T_DOT, ".noreturn")) {
            f->noreturn = true;
            parse_next(p);
            continue;
        }
        if (at_word(p, T_DOT, ".pragma")) {
            parse_next(p);
            do {
                if (!at(p, T_STR))
                    return parse_expected(p, "a string");
                *vec_push(&f->pragmas) =
                    parse_text_slice(p, p->tok.s, p->tok.s + p->tok.n);
                parse_next(p);
            } while (take(p, ','));
            if (!parse_need_semicolon(p))
                return false;
            continue;
        }
        if (at_word(p, T_DOT, ".attribute")) {
            parse_next(p);
            const char *text = at(p, '(') ? parse_parenthesised(p, start) : NULL;
            if (!text)
                return false;
            *vec_push(&f->attrs) = text;
            continue;
        }
        size_t k = 0, n = sizeof others / sizeof *others;
        while (k < n && !at_word(p, T_DOT, others[k].text))
            k++;
        if (k == n) { /* printed as it is, up to the next one */
            struct diag_sink *outer = p->diag;
            p->diag = p->own_diag;
            parse_error(p, where, "unknown directive '%.*s' of a function",
                        (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
            p->diag = outer;
            do
                parse_next(p);
            while (!at(p, T_DOT) && !at(p, '{') && !at(p, '}') && !at(p, ';') &&
                   !at(p, T_EOF));
            *vec_push(&f->attrs) = parse_text_slice(p, start, p->last_end);
            continue;
        }
        const bool cluster = !strcmp(others[k].text, ".reqnctapercluster");
        const bool rank = !strcmp(others[k].text, ".maxclusterrank");
        f->explicit_cluster |= !strcmp(others[k].text, ".explicitcluster");
        f->blocks_are_clusters |= !strcmp(others[k].text, ".blocksareclusters");
        parse_next(p);
        for (int i = 0; i < 3 && cluster; i++)
            f->cluster[i] = 1;
        for (int i = 0; i < others[k].args; i++) {
            if (!parse_number(p, &v, UINT32_MAX, "this directive's value"))
                return false;
            if (cluster)
                f->cluster[i] = (uint32_t)v;
            if (rank)
                f->max_cluster = (uint32_t)v;
            if (i + 1 == others[k].args || !take(p, ','))
                break;
        }
        *vec_push(&f->attrs) = parse_text_slice(p, start, p->last_end);
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

/* .loc file line column [, function_name label [+ offset], inlined_at file line column]
 */
static bool
parse_loc(struct parser *p)
{
    const char *start = p->tok.s;
    struct place where = here(p);
    parse_next(p);
    for (int i = 0; i < 3; i++) {
        if (!at(p, T_INT))
            return i == 2 ? true : parse_expected(p, "a number");
        parse_next(p);
    }
    while (at(p, ',')) {
        parse_next(p);
        if (!at(p, T_ID))
            return parse_expected(p, "function_name or inlined_at");
        parse_next(p);
        while (at(p, T_ID) || at(p, T_INT) || at(p, '+')) {
            if (p->tok.line > p->last.line)
                break;
            parse_next(p);
        }
    }
    push_directive(p, parse_text_slice(p, start, p->last_end), where);
    return true;
}

/* Raw text up to and with the semicolon. */
const char *
parse_to_semicolon(struct parser *p)
{
    const char *start = p->tok.s;
    parse_next(p);
    while (at(p, T_STR) || at(p, ',') || at(p, T_INT) || at(p, T_ID))
        parse_next(p);
    const char *end = p->last_end;
    if (!parse_need_semicolon(p))
        return NULL;
    return arena_printf(&p->m->mem, "%.*s;",
                        (int)(end - start > 4096 ? 4096 : end - start), start);
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
            parse_next(p);
            bool many = p->pend.n - first == UINT16_MAX;
            if (many)
                parse_error(p, here(p), "too many targets");
            if (many || !at(p, T_ID)) {
                p->pend.n = first;
                return many ? false : parse_expected(p, "a label");
            }
            *vec_push(&p->pend) = (struct pending){
                NULL, parse_name_get(p, p->tok.s, p->tok.n), here(p), false};
            parse_next(p);
        } while (at(p, ','));
        list->n = (uint16_t)(p->pend.n - first);
        list->vec = ARENA_ARRAY(&p->m->mem, struct ptx_operand, list->n);
        for (unsigned i = 0; i < list->n; i++) {
            list->vec[i].kind = PTX_OPD_LABEL;
            list->vec[i].reg = list->vec[i].label = -1;
            p->pend.v[first + i].o = &list->vec[i];
        }
        parse_bind(p, nm, B_BRANCHES, 0, list, where);
        return parse_need_semicolon(p);
    }
    struct ptx_func *f = new_func(p, where);
    f->is_proto = true;
    *vec_push(&p->m->protos) = f;
    if (at_word(p, T_DOT, ".calltargets")) {
        do {
            parse_next(p);
            if (!at(p, T_ID))
                return parse_expected(p, "a function");
            struct name *t = parse_name_get(p, p->tok.s, p->tok.n);
            if (t->top && t->top->kind == B_FUNC) {
                *vec_push(&f->targets) = t->top->ptr;
            } else {
                struct diag *d =
                    parse_error(p, here(p), "'%.100s' is not a declared function", t->s);
                parse_hint_name(p, d, t, 1u << B_FUNC);
            }
            parse_next(p);
        } while (at(p, ','));
    } else {
        parse_next(p);
        if (at(p, '(') && !parse_params(p, f, true, false))
            return false;
        if (!take(p, '_')) {
            if (!at(p, T_ID))
                return parse_expected(p, "'_'");
            parse_next(p);
        }
        if (at(p, '(') && !parse_params(p, f, false, false))
            return false;
        if (!parse_head(p, f))
            return false;
    }
    if (parse_bind(p, nm, B_PROTO, 0, f, where))
        f->name = parse_flat_name(p, nm);
    struct ptx_inst in = ptx_inst_new(p->m, PTX_OP_DIRECTIVE, 1);
    in.ops[0].kind = PTX_OPD_FUNCSYM;
    in.ops[0].func = f;
    in.line = where.line;
    in.col = where.col;
    *vec_push(&p->f->body) = in;
    return parse_need_semicolon(p);
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
    struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
    parse_next(p);
    parse_next(p); /* : */
    if (at_word(p, T_DOT, ".branchtargets") || at_word(p, T_DOT, ".calltargets") ||
        at_word(p, T_DOT, ".callprototype"))
        return parse_targets(p, nm, where);
    int32_t index = (int32_t)p->f->labels.n;
    if (!parse_bind(p, nm, B_LABEL, index, NULL, where))
        return true;
    vec_push(&p->f->labels)->name = parse_flat_name(p, nm);
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
    if (at_word(p, T_DOT, ".loc") || at_word(p, T_DOT, ".loc_intermediate"))
        return parse_loc(p);
    if (at_word(p, T_DOT, ".pragma")) {
        const char *text = parse_to_semicolon(p);
        if (text)
            push_directive(p, text, where);
        return text != NULL;
    }
    unsigned space = parse_space_word(p);
    if (!space) {
        parse_error(p, where, "'%.*s' does not begin a statement",
                    (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
        /* A block of its own may hold semicolons. */
        do
            parse_next(p);
        while (!at(p, ';') && !at(p, '{') && !at(p, '}') && !at(p, T_EOF) &&
               !opens_statement(p));
        if (at(p, '{') && p->tok.line == p->last.line)
            skip_block(p);
        return take(p, ';') || true;
    }
    struct decl d = {0};
    if (!parse_decl(p, &d))
        return false;
    if (d.space == PTX_SPACE_REG)
        return parse_regs(p, &d);
    if (d.space != PTX_SPACE_SHARED && d.space != PTX_SPACE_LOCAL &&
        d.space != PTX_SPACE_PARAM) {
        struct diag *x = parse_error(p, where,
                                     "a variable of this state space cannot stand in a "
                                     "function");
        parse_hint(p, x, "declare it at module scope");
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

enum body {
    BODY_WHOLE, /* at its '}' */
    BODY_OPEN,  /* at another function, which begins within this one */
    BODY_LOST   /* at the end of the text */
};

/* { statements }, with the '{' at hand. The function's own scope is open already. */
static enum body
parse_body(struct parser *p)
{
    unsigned base = p->depth;
    p->scope[base].at = here(p);
    parse_next(p);
    for (;;) {
        bool ok = true;
        p->open = 0;
        switch (p->tok.kind) {
        case T_EOF: {
            struct diag *d = parse_error(p, here(p), "a block is not closed");
            parse_hint(p, d, "the block that is open here began on line %u",
                       p->scope[p->depth].at.line);
            while (p->depth > base)
                parse_close_scope(p);
            return BODY_LOST;
        }
        case '{':
            if (parse_open_scope(p, here(p)))
                parse_next(p);
            else
                skip_block(p);
            break;
        case '}':
            if (p->depth == base)
                return BODY_WHOLE;
            parse_close_scope(p);
            parse_next(p);
            break;
        case ';':
            parse_next(p);
            break;
        case T_DOT:
            if (opens_function(p)) {
                struct diag *d =
                    parse_error(p, here(p), "a function begins within a function");
                parse_hint(p, d, "a '}' is missing; the block open here began on line %u",
                           p->scope[p->depth].at.line);
                while (p->depth > base)
                    parse_close_scope(p);
                return BODY_OPEN;
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
            ok = parse_expected(p, "a statement");
        }
        if (!ok)
            skip_statement(p);
    }
}

/* What a body adds to a function and its module, before it is read. */
struct before {
    size_t regs, protos;
};

/* The body had errors: the function is its head, and the text from `start` on. */
static void
keep_as_text(struct parser *p, const struct before *b, const char *start, const char *end,
             const struct diag_sink *said)
{
    struct ptx_func *f = p->f;
    ptx_fault_set(f, start, (size_t)(end - start), said);
    f->regs.n = b->regs;
    f->fresh = 0;
    ptx_body_free(f);
    while (p->m->protos.n > b->protos)
        ptx_func_free(p->m->protos.v[--p->m->protos.n]);
    p->faults += said->errors;
}

/* The body, and the end of the function's scope. Errors in it, and in the directives of the
 * head (`said`), are the function's own if its end can be found. */
static bool
parse_own_body(struct parser *p, const struct before *b, struct diag_sink *said)
{
    const char *start = p->tok.s;
    struct diag_sink *outer = p->diag;
    p->diag = said;
    enum body end = parse_body(p);
    const char *stop = p->tok.s + p->tok.n;
    parse_close_scope(p);
    p->diag = outer;
    if (p->cancelled)
        return false;
    if (end == BODY_WHOLE && said->errors)
        keep_as_text(p, b, start, stop, said);
    else
        diag_append(p->diag, said);
    if (end == BODY_WHOLE && !p->f->fault)
        own_targets(p);
    if (end == BODY_WHOLE)
        parse_next(p); /* } */
    return end != BODY_LOST;
}

bool
parse_function(struct parser *p, unsigned linkage)
{
    struct ptx_func *f = new_func(p, here(p));
    f->linkage = (uint8_t)linkage;
    f->is_entry = at_word(p, T_DOT, ".entry");
    *vec_push(&p->m->funcs) = f;
    p->serial++;
    p->f = f;
    parse_next(p);
    if (!parse_open_scope(p, here(p)))
        return false;
    bool ok = true;
    while (ok && at_word(p, T_DOT, ".attribute")) {
        const char *start = p->tok.s;
        parse_next(p);
        const char *text = at(p, '(') ? parse_parenthesised(p, start) : NULL;
        ok = text || (p->tok.kind != '(' && parse_expected(p, "'('"));
        if (text)
            *vec_push(&f->attrs) = text;
    }
    if (ok && at_word(p, T_DOT, ".noreturn")) {
        f->noreturn = true;
        parse_next(p);
    }
    if (ok && at(p, '(') && !f->is_entry)
        ok = parse_params(p, f, true, true);
    struct place where = here(p);
    struct name *nm = NULL;
    if (ok && !at(p, T_ID))
        ok = parse_expected(p, f->is_entry ? "the kernel's name" : "the function's name");
    if (ok) {
        nm = parse_name_get(p, p->tok.s, p->tok.n);
        f->name = nm->s;
        f->line = where.line;
        f->col = where.col;
        parse_next(p);
    }
    ok = ok && (!at(p, '(') || parse_params(p, f, false, true));
    struct diag_sink said = diag_child(p->diag);
    const struct before before = {f->regs.n, p->m->protos.n};
    p->own_diag = &said;
    ok = ok && parse_head(p, f);
    if (!ok || !at(p, '{')) {
        diag_append(p->diag, &said);
        diag_free(&said);
    }
    if (ok) {
        f->has_body = at(p, '{');
        if (!f->has_body && !at(p, ';'))
            ok = parse_expected(p, "'{' or ';'");
    }
    if (nm) { /* known in its own body, at module scope */
        unsigned depth = p->depth;
        p->depth = 0;
        if (nm->top && nm->top->depth) {
            parse_error(p, where, "'%.100s' is the name of one of its parameters too",
                        nm->s);
        } else {
            parse_bind_module(p, nm, B_FUNC, f, !f->has_body, where);
        }
        p->depth = depth;
    }
    if (ok && f->has_body) {
        ok = parse_own_body(p, &before, &said);
    } else {
        if (ok)
            parse_next(p); /* ; */
        parse_close_scope(p);
    }
    diag_free(&said);
    p->pend.n = 0;
    p->f = NULL;
    return ok;
}
