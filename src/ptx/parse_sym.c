/* parse_sym.c: messages of the parser; names and what they are bound to.
 *
 * Every identifier is looked up once, in one hash table of names; what it means is the
 * top of a stack of bindings, one for each scope that declares it, so that entering a
 * scope costs nothing and leaving it costs one step per declaration.
 *
 * Scopes are flattened: a declaration in a nested block whose name is already in use in
 * the function, or means something at module scope, gets a name with a suffix (_s2, _s3
 * ...). */
#include "ptx/parse_int.h"

#include "base/near.h"

#include <stdarg.h>

/* -- tokens and messages -- */

enum { POLL_TOKENS = 1 << 16 /* a few milliseconds of parsing */ };

void
parse_next(struct parser *p)
{
    p->last = (struct place){p->tok.line, p->tok.col + p->tok.n, 1};
    p->last_end = p->tok.s + p->tok.n;
    if (!(++p->ntokens % POLL_TOKENS) && !p->cancelled && diag_cancelled(p->file_diag)) {
        p->cancelled = true;
        p->told_before = p->file_diag->n;
        p->errors_before = p->file_diag->errors;
    }
    if (p->cancelled)
        p->lex.at += strlen(p->lex.at);
    for (;;) {
        ptx_lex(&p->lex, &p->tok);
        if (p->tok.error) {
            struct diag *d = parse_error(p, here(p), "%s", p->tok.error);
            if (p->tok.hint)
                parse_hint(p, d, "%s", p->tok.hint);
        }
        if (p->tok.kind != T_BAD)
            return;
    }
}

/* Where a line begins. It is near the current token, so the file is not read from its
 * beginning for each error. */
static const char *
line_start(const struct parser *p, uint32_t line)
{
    const char *s = p->tok.s, *text = p->m->text;
    uint32_t at = p->tok.line;
    while (s && at < line) {
        s = strchr(s, '\n');
        s = s ? s + 1 : NULL;
        at++;
    }
    while (s && s > text && (at > line || s[-1] != '\n'))
        at -= *--s == '\n';
    return s;
}

static struct diag *
message(struct parser *p, enum diag_level level, struct place where, const char *fmt,
        va_list ap)
{
    char own[512];
    vsnprintf(own, sizeof own, fmt, ap);
    struct diag_loc loc = {p->m->file, NULL, where.line, where.col, where.n};
    struct diag *d = diag_add(p->diag, level, &loc, "%s", own);
    diag_source(p->diag, d, line_start(p, where.line));
    return d;
}

struct diag *
parse_error(struct parser *p, struct place where, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct diag *d = message(p, DIAG_ERROR, where, fmt, ap);
    va_end(ap);
    p->errors++;
    return d;
}

struct diag *
parse_warn(struct parser *p, struct place where, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct diag *d = message(p, DIAG_WARNING, where, fmt, ap);
    va_end(ap);
    return d;
}

void
parse_hint(struct parser *p, struct diag *d, const char *fmt, ...)
{
    char own[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(own, sizeof own, fmt, ap);
    va_end(ap);
    diag_hint(p->diag, d, "%s", own);
}

bool
parse_expected(struct parser *p, const char *what)
{
    if (p->tok.error) /* said already what is wrong with it */
        return false;
    if (at(p, T_EOF))
        parse_error(p, here(p), "expected %s, but the text ends here", what);
    else
        parse_error(p, here(p), "expected %s, found '%.*s'", what,
                    (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
    return false;
}

bool
parse_need(struct parser *p, int kind, const char *what)
{
    return take(p, kind) || parse_expected(p, what);
}

bool
parse_need_semicolon(struct parser *p)
{
    if (take(p, ';'))
        return true;
    bool moved_on = p->tok.line > p->last.line || at(p, '}') || at(p, T_EOF);
    if (!moved_on)
        return parse_expected(p, "';'");
    struct diag *d = parse_error(p, p->last, "missing ';'");
    parse_hint(p, d, "every statement ends with a semicolon");
    return true; /* go on as if it were there */
}

const char *
parse_kind_text(unsigned kind)
{
    static const char *const text[] = {"name",      "register",
                                       "variable",  "function",
                                       "label",     "list of branch targets",
                                       "prototype", "special register"};
    return text[kind < sizeof text / sizeof *text ? kind : 0];
}

void
parse_hint_name(struct parser *p, struct diag *d, const struct name *wrong,
                unsigned kinds)
{
    if (p->errors > 100 || wrong->n > 60) /* nobody reads on; keep it cheap */
        return;
    const int most = wrong->n < 4 ? 1 : wrong->n < 8 ? 2 : 3;
    struct near near = {.word = wrong->s, .most = most, .sorted = true};
    for (uint32_t i = 0; i < p->name_slots; i++) {
        const struct name *nm = p->names[i];
        if (!nm || nm == wrong || !nm->top || !(kinds >> nm->top->kind & 1))
            continue;
        near_offer(&near, nm->s);
    }
    if (near.best)
        parse_hint(p, d, "did you mean '%.100s'?", near.best);
}

/* -- names -- */

static uint32_t
hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

static void
grow_names(struct parser *p)
{
    uint32_t n = p->name_slots ? p->name_slots * 2 : 1024;
    struct name **table = xcalloc(n, sizeof(struct name *));
    for (uint32_t i = 0; i < p->name_slots; i++) {
        if (!p->names[i])
            continue;
        uint32_t j = p->names[i]->hash & (n - 1);
        while (table[j])
            j = (j + 1) & (n - 1);
        table[j] = p->names[i];
    }
    free(p->names);
    p->names = table;
    p->name_slots = n;
}

struct name *
parse_name_get(struct parser *p, const char *s, size_t n)
{
    if (p->nnames * 2 >= p->name_slots)
        grow_names(p);
    uint32_t h = hash(s, n), j = h & (p->name_slots - 1);
    for (; p->names[j]; j = (j + 1) & (p->name_slots - 1)) {
        struct name *nm = p->names[j];
        if (nm->hash == h && nm->n == n && !memcmp(nm->s, s, n))
            return nm;
    }
    struct name *nm = ARENA_NEW(&p->mem, struct name);
    char *copy =
        arena_alloc_aligned(&p->m->mem, n + 1, 1); /* the module keeps its names */
    memcpy(copy, s, n);
    nm->s = copy;
    nm->n = (uint32_t)n;
    nm->hash = h;
    p->names[j] = nm;
    p->nnames++;
    return nm;
}

bool
parse_open_scope(struct parser *p, struct place where)
{
    if (p->depth == MAX_SCOPES) {
        parse_error(p, where, "blocks are nested more than %d deep", MAX_SCOPES);
        return false;
    }
    p->scope[++p->depth] = (struct scope){NULL, p->pend.n, where};
    return true;
}

/* Resolves what the scope declares; the rest is left to the enclosing scope. */
static void
settle_pending(struct parser *p)
{
    struct scope *s = &p->scope[p->depth];
    size_t keep = s->pend0;
    for (size_t i = s->pend0; i < p->pend.n; i++) {
        struct pending *x = &p->pend.v[i];
        struct binding *b = x->name->top;
        unsigned kind = b ? b->kind : 0;
        if (!x->proto && kind == B_LABEL && b->depth == p->depth) {
            x->o->kind = PTX_OPD_LABEL;
            x->o->label = b->index;
        } else if (!x->proto && kind == B_BRANCHES && b->depth == p->depth) {
            *x->o = *(struct ptx_operand *)b->ptr;
        } else if (x->proto && kind == B_PROTO && b->depth == p->depth) {
            x->o->kind = PTX_OPD_FUNCSYM;
            x->o->func = b->ptr;
        } else if (p->depth == 1) {
            struct diag *d = NULL;
            if (b)
                parse_error(p, x->at, "'%.100s' is a %s, not a %s", x->name->s,
                            parse_kind_text(b->kind), x->proto ? "prototype" : "label");
            else
                d = parse_error(p, x->at, "%s '%.100s' is not declared",
                                x->proto ? "prototype" : "label", x->name->s);
            if (d)
                parse_hint_name(p, d, x->name,
                                x->proto ? 1u << B_PROTO
                                         : 1u << B_LABEL | 1u << B_BRANCHES);
        } else {
            p->pend.v[keep++] = *x;
        }
    }
    p->pend.n = keep;
}

void
parse_close_scope(struct parser *p)
{
    settle_pending(p);
    for (struct binding *b = p->scope[p->depth].first, *n; b; b = n) {
        n = b->next;
        b->name->top = b->outer;
        b->next = p->free_bindings;
        p->free_bindings = b;
    }
    p->depth--;
}

struct binding *
parse_bind(struct parser *p, struct name *nm, unsigned kind, int32_t index, void *ptr,
           struct place where)
{
    if (nm->top && nm->top->depth == p->depth && nm->top->kind != B_SREG) {
        struct diag *d = parse_error(p, where, "'%.100s' is declared twice", nm->s);
        parse_hint(p, d, "it is already a %s, declared on line %u",
                   parse_kind_text(nm->top->kind), nm->top->line);
        return NULL;
    }
    struct binding *b = p->free_bindings;
    if (b)
        p->free_bindings = b->next;
    else
        b = ARENA_NEW(&p->mem, struct binding);
    *b = (struct binding){nm->top,    p->scope[p->depth].first, nm,           ptr, index,
                          where.line, (uint16_t)p->depth,       (uint8_t)kind};
    p->scope[p->depth].first = b;
    nm->top = b;
    return b;
}

/* -- flat names -- */

static bool
is_global(const struct name *nm)
{
    const struct binding *b = nm->top;
    while (b && b->outer)
        b = b->outer;
    return b && b->depth == 0;
}

static bool
is_taken(const struct parser *p, const struct name *nm)
{
    return nm->used == p->serial || (p->depth > 1 && is_global(nm));
}

/* Names that ptx_reg_new and ptx_label_new make must stay ahead of those in the text. */
static void
note_fresh(struct parser *p, const struct name *nm)
{
    const char *s = nm->s;
    if (!p->f || nm->n < 4 || nm->n > 12 || (s[0] != '%' && s[0] != '$') || s[1] != '_' ||
        s[2] != 'x')
        return;
    uint64_t v = 0;
    for (s += 3; *s >= '0' && *s <= '9'; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    if (!*s && v >= p->f->fresh)
        p->f->fresh = (uint32_t)v + 1;
}

static struct name *
suffixed(struct parser *p, struct name *nm, bool prefix)
{
    if (nm->suffix_of != p->serial) {
        nm->suffix_of = p->serial;
        nm->suffix = 2;
    }
    struct strbuf b = {0};
    strbuf_add(&b, nm->s, nm->n);
    strbuf_printf(&b, prefix ? "_s%u_" : "_s%u", nm->suffix++);
    struct name *made = parse_name_get(p, b.s, b.n);
    strbuf_free(&b);
    return made;
}

const char *
parse_flat_name(struct parser *p, struct name *nm)
{
    struct name *flat = nm;
    while (is_taken(p, flat))
        flat = suffixed(p, nm, false);
    flat->used = p->serial;
    note_fresh(p, flat);
    return flat->s;
}

static struct name *
numbered(struct parser *p, const struct name *nm, uint64_t i)
{
    char own[128];
    if (nm->n + 24 <= sizeof own) {
        memcpy(own, nm->s, nm->n);
        char digits[24];
        int nd = 0;
        uint32_t at = nm->n;
        do
            digits[nd++] = (char)('0' + i % 10);
        while (i /= 10);
        while (nd)
            own[at++] = digits[--nd];
        return parse_name_get(p, own, at);
    }
    struct strbuf b = {0};
    strbuf_add(&b, nm->s, nm->n);
    strbuf_printf(&b, "%llu", (unsigned long long)i);
    struct name *made = parse_name_get(p, b.s, b.n);
    strbuf_free(&b);
    return made;
}

const char *
parse_flat_prefix(struct parser *p, struct name *nm, uint64_t count)
{
    struct name *flat = nm;
    for (;;) {
        uint64_t i = 0;
        while (i < count && !is_taken(p, numbered(p, flat, i)))
            i++;
        if (i == count)
            break;
        flat = suffixed(p, nm, true);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct name *x = numbered(p, flat, i);
        x->used = p->serial;
        note_fresh(p, x);
    }
    return flat->s;
}

struct name *
parse_name_numbered(struct parser *p, const struct name *nm, uint64_t i)
{
    return numbered(p, nm, i);
}

void
parse_sym_init(struct parser *p)
{
    struct place none = {0, 0, 0};
    char s[64];
    for (int r = 0; r < PTX_NSREGS; r++) {
        const struct ptx_sreg_info *x = &ptx_sregs[r];
        if (!x->count) {
            parse_bind(p, parse_name_get(p, x->name, strlen(x->name)), B_SREG, r << 8,
                       NULL, none);
            continue;
        }
        for (int i = 0; i < x->count; i++) {
            int n = snprintf(s, sizeof s, "%s%d%s", x->name, i,
                             r == PTX_SREG_PM64 ? "_64" : "");
            parse_bind(p, parse_name_get(p, s, (size_t)n), B_SREG, r << 8 | i, NULL,
                       none);
        }
    }
}
