/* parse_expr.c: constant expressions (PTX ISA 9.0, 4.5) and initialisers (5.4.4).
 *
 * Expressions: precedence climbing over the C operators; integers are 64 bits, signed or
 * unsigned by the usual rules of C. A floating-point literal may carry a sign and nothing
 * else. */
#include "ptx/parse_int.h"

static bool expr(struct parser *p, struct value *v, int level, int depth);

static bool
integer_only(struct parser *p, const struct value *v, struct place where)
{
    if (v->kind == PTX_OPD_IMM)
        return true;
    parse_error(p, where, "constant expressions work on integers only");
    return false;
}

static bool
primary(struct parser *p, struct value *v, int depth)
{
    *v = (struct value){.kind = PTX_OPD_IMM};
    struct place where = here(p);
    if (depth > MAX_EXPR_DEPTH) {
        parse_error(p, where, "the expression is nested more than %d deep",
                    MAX_EXPR_DEPTH);
        return false;
    }
    switch (p->tok.kind) {
    case T_INT:
        v->bits = p->tok.value;
        v->uns = p->tok.uns;
        parse_next(p);
        return true;
    case T_F32:
    case T_F64:
        v->kind = p->tok.kind == T_F32 ? PTX_OPD_F32 : PTX_OPD_F64;
        v->bits = p->tok.value;
        parse_next(p);
        return true;
    case '(':
        parse_next(p);
        if (at_word(p, T_DOT, ".s64") || at_word(p, T_DOT, ".u64")) {
            bool uns = p->tok.s[1] == 'u';
            parse_next(p);
            if (!parse_need(p, ')', "')'") || !primary(p, v, depth + 1))
                return false;
            if (!integer_only(p, v, where))
                return false;
            v->uns = uns;
            return true;
        }
        return expr(p, v, 0, depth + 1) && parse_need(p, ')', "')'");
    case '+':
        parse_next(p);
        return primary(p, v, depth + 1);
    case '-':
        parse_next(p);
        if (!primary(p, v, depth + 1))
            return false;
        if (v->kind == PTX_OPD_F32)
            v->bits ^= 1u << 31;
        else if (v->kind == PTX_OPD_F64)
            v->bits ^= (uint64_t)1 << 63;
        else
            v->bits = -v->bits;
        return true;
    case '~':
        parse_next(p);
        if (!primary(p, v, depth + 1) || !integer_only(p, v, where))
            return false;
        v->bits = ~v->bits;
        return true;
    case '!':
        parse_next(p);
        if (!primary(p, v, depth + 1) || !integer_only(p, v, where))
            return false;
        v->bits = !v->bits;
        v->uns = false;
        return true;
    case T_ID:
        if (at_word(p, T_ID, "WARP_SZ")) {
            v->bits = 32;
            parse_next(p);
            return true;
        }
        break;
    }
    return parse_expected(p, "a constant");
}

/* Binding strength of a binary operator, 0: none. */
static int
strength(int kind)
{
    switch (kind) {
    case T_OROR:
        return 1;
    case T_ANDAND:
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case T_EQ:
    case T_NE:
        return 6;
    case '<':
    case '>':
    case T_LE:
    case T_GE:
        return 7;
    case T_SHL:
    case T_SHR:
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return 10;
    }
    return 0;
}

static bool
divide(struct parser *p, struct value *a, const struct value *b, bool rest,
       struct place where)
{
    if (!b->bits) {
        parse_error(p, where, "division by zero");
        return false;
    }
    int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
    if (a->uns)
        a->bits = rest ? a->bits % b->bits : a->bits / b->bits;
    else if (y == -1) /* also the one case that overflows */
        a->bits = rest ? 0 : -a->bits;
    else
        a->bits = (uint64_t)(rest ? x % y : x / y);
    return true;
}

static bool
apply(struct parser *p, int op, struct value *a, const struct value *b,
      struct place where)
{
    int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
    uint64_t ux = a->bits, uy = b->bits;
    if (op == T_SHL || op == T_SHR) { /* the type is that of the left side */
        if (uy > 63)
            a->bits = op == T_SHR && !a->uns && x < 0 ? ~(uint64_t)0 : 0;
        else
            a->bits = op == T_SHL ? ux << uy : a->uns ? ux >> uy : (uint64_t)(x >> uy);
        return true;
    }
    bool uns = a->uns = a->uns || b->uns, truth = true;
    switch (op) {
    case T_OROR:
        a->bits = ux || uy;
        break;
    case T_ANDAND:
        a->bits = ux && uy;
        break;
    case T_EQ:
        a->bits = ux == uy;
        break;
    case T_NE:
        a->bits = ux != uy;
        break;
    case '<':
        a->bits = uns ? ux < uy : x < y;
        break;
    case '>':
        a->bits = uns ? ux > uy : x > y;
        break;
    case T_LE:
        a->bits = uns ? ux <= uy : x <= y;
        break;
    case T_GE:
        a->bits = uns ? ux >= uy : x >= y;
        break;
    default:
        truth = false;
        break;
    }
    if (truth) {
        a->uns = false;
        return true;
    }
    switch (op) {
    case '|':
        a->bits = ux | uy;
        return true;
    case '^':
        a->bits = ux ^ uy;
        return true;
    case '&':
        a->bits = ux & uy;
        return true;
    case '+':
        a->bits = ux + uy;
        return true;
    case '-':
        a->bits = ux - uy;
        return true;
    case '*':
        a->bits = ux * uy;
        return true;
    }
    return divide(p, a, b, op == '%', where);
}

/* "5 %3": behind an operand, % is the operator whatever the lexer thought. */
static void
split_percent(struct parser *p)
{
    if (!at(p, T_ID) || *p->tok.s != '%')
        return;
    p->lex.at = p->tok.s + 1;
    p->tok.kind = '%';
    p->tok.n = 1;
}

static bool
expr(struct parser *p, struct value *v, int level, int depth)
{
    if (!primary(p, v, depth))
        return false;
    for (;;) {
        split_percent(p);
        int op = p->tok.kind, s = strength(op);
        struct place where = here(p);
        if (op == '?' && !level) {
            struct value a, b;
            parse_next(p);
            if (!integer_only(p, v, where) || !expr(p, &a, 0, depth + 1) ||
                !parse_need(p, ':', "':'") || !expr(p, &b, 0, depth + 1))
                return false;
            bool uns = a.uns || b.uns;
            *v = v->bits ? a : b;
            v->uns = uns && v->kind == PTX_OPD_IMM;
            return true;
        }
        if (!s || s <= level)
            return true;
        parse_next(p);
        struct value b;
        if (!expr(p, &b, s, depth + 1))
            return false;
        if (!integer_only(p, v, where) || !integer_only(p, &b, where) ||
            !apply(p, op, v, &b, where))
            return false;
    }
}

bool
parse_const(struct parser *p, struct value *v)
{
    return expr(p, v, 0, 0);
}

bool
parse_offset(struct parser *p, int64_t *off)
{
    while (at(p, '+') || at(p, '-')) {
        bool minus = at(p, '-');
        struct place where = here(p);
        struct value v;
        parse_next(p);
        if (!expr(p, &v, 9, 0) || !integer_only(p, &v, where))
            return false;
        uint64_t o = (uint64_t)*off;
        *off = (int64_t)(minus ? o - v.bits : o + v.bits);
    }
    return true;
}

/* -- initialisers -- */

/* sym, sym+off, generic(sym)+off, 0xff00(sym+off), or a constant. */
static bool
init_value(struct parser *p, struct value *v)
{
    struct place where = here(p);
    bool generic = false, inside = false;
    uint64_t mask = 0;
    if (at_word(p, T_ID, "generic")) {
        parse_next(p);
        if (!parse_need(p, '(', "'('"))
            return false;
        generic = inside = true;
    } else if (at(p, T_INT)) {
        if (!parse_const(p, v))
            return false;
        if (!take(p, '('))
            return true;
        if (v->kind != PTX_OPD_IMM || !v->bits) {
            parse_error(p, where, "a mask such as 0xff00 must stand before '('");
            return false;
        }
        mask = v->bits;
        inside = true;
        if (at_word(p, T_ID, "generic")) {
            parse_next(p);
            if (!parse_need(p, '(', "'('"))
                return false;
            generic = true;
        }
    } else if (!at(p, T_ID) || at_word(p, T_ID, "WARP_SZ")) {
        return parse_const(p, v);
    }
    if (!at(p, T_ID))
        return parse_expected(p, "a symbol");
    where = here(p);
    struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
    parse_next(p);
    *v = (struct value){.kind = PTX_OPD_SYM, .generic = generic, .mask = mask};
    if (nm->top && nm->top->kind == B_VAR) {
        v->var = nm->top->ptr;
    } else if (nm->top && nm->top->kind == B_FUNC) {
        v->kind = PTX_OPD_FUNCSYM;
        v->func = nm->top->ptr;
    } else {
        struct diag *d = parse_error(
            p, where, "'%.100s' is not a declared variable or function", nm->s);
        parse_hint_name(p, d, nm, 1u << B_VAR | 1u << B_FUNC);
        v->kind = PTX_OPD_IMM; /* one message is enough */
    }
    if (inside && !generic && !parse_offset(p, &v->off))
        return false;
    if (generic && !parse_need(p, ')', "')'"))
        return false;
    if (mask) {
        if (!parse_offset(p, &v->off) || !parse_need(p, ')', "')'"))
            return false;
        return true;
    }
    return parse_offset(p, &v->off);
}

struct filler {
    struct ptx_var *v;
    uint64_t count[MAX_DIMS + 2]; /* elements below each level; count[levels] is 1 */
    unsigned levels, scalar;      /* scalar: bytes of one scalar */
    bool grows;                   /* the first dimension comes from the initialiser */
    VEC(uint8_t) bytes;
    struct place at;
};

static bool
same_symbol(const struct ptx_reloc *a, const struct value *v)
{
    return a->var == v->var && a->func == v->func && a->off == v->off &&
           a->generic == v->generic;
}

/* Eight bytes 0xff(s), 0xff00(s), ... become one whole address. */
static void
merge_bytes(struct parser *p, struct ptx_var *v)
{
    unsigned whole = p->m->address_size / 8;
    size_t out = 0;
    for (size_t i = 0; i < v->relocs.n;) {
        struct ptx_reloc *r = &v->relocs.v[i];
        size_t k = 0;
        struct value s = {
            .var = r->var, .func = r->func, .off = r->off, .generic = r->generic};
        while (k < whole && i + k < v->relocs.n && r[k].bytes == 1 &&
               r[k].at == r->at + k && r[k].mask == (uint64_t)255 << 8 * k &&
               same_symbol(&r[k], &s))
            k++;
        struct ptx_reloc x = *r;
        if (k == whole) {
            x.bytes = (uint8_t)whole;
            x.mask = 0;
        }
        i += k == whole ? k : 1;
        v->relocs.v[out++] = x;
    }
    v->relocs.n = out;
}

static bool
store(struct parser *p, struct filler *f, uint64_t scalar_index, const struct value *v,
      struct place where)
{
    struct ptx_var *var = f->v;
    unsigned kind = ptx_types[var->type].kind;
    uint64_t at = scalar_index * f->scalar, bits = v->bits;
    if (v->kind == PTX_OPD_SYM || v->kind == PTX_OPD_FUNCSYM) {
        unsigned bytes = v->mask ? 1 : f->scalar;
        if (v->mask && f->scalar != 1) {
            parse_error(p, where, "a masked address fills one byte, the elements have %u",
                        f->scalar);
            return false;
        }
        if (kind == PTX_K_FLT || (!v->mask && bytes != 4 && bytes != 8)) {
            parse_error(p, where, "an address does not fit an element of type .%s",
                        ptx_types[var->type].text);
            return false;
        }
        *vec_push(&var->relocs) = (struct ptx_reloc){.at = at,
                                                     .bytes = (uint8_t)bytes,
                                                     .generic = v->generic,
                                                     .mask = v->mask,
                                                     .var = v->var,
                                                     .func = v->func,
                                                     .off = v->off};
        bits = 0;
    } else if (var->type == PTX_F64 || var->type == PTX_F32) {
        double d = (double)(int64_t)bits;
        float s;
        if (v->kind == PTX_OPD_F32) {
            uint32_t b = (uint32_t)bits;
            memcpy(&s, &b, 4);
            d = s;
        } else if (v->kind == PTX_OPD_F64) {
            memcpy(&d, &bits, 8);
        } else if (v->uns) {
            d = (double)bits;
        }
        if (var->type == PTX_F64) {
            if (v->kind != PTX_OPD_F64)
                memcpy(&bits, &d, 8);
        } else if (v->kind != PTX_OPD_F32) {
            s = (float)d;
            uint32_t b;
            memcpy(&b, &s, 4);
            bits = b;
        }
    } else if (v->kind != PTX_OPD_IMM &&
               !(kind == PTX_K_BITS && f->scalar == (v->kind == PTX_OPD_F32 ? 4 : 8))) {
        parse_error(p, where,
                    "a floating-point value does not fit an element of type .%s",
                    ptx_types[var->type].text);
        return false;
    }
    while (f->bytes.n < at + f->scalar) {
        if (!p->init_left) {
            parse_error(p, where, "the initialisers of this module are too large");
            return false;
        }
        p->init_left--;
        *vec_push(&f->bytes) = 0;
    }
    for (unsigned i = 0; i < f->scalar && i < 8; i++)
        f->bytes.v[at + i] = (uint8_t)(bits >> 8 * i);
    return true;
}

/* A brace list of level `level`, or a value; scalars from `from` on. Sets *next to the
 * scalar behind it. Inner braces may be left out as in C. */
static bool
fill(struct parser *p, struct filler *f, unsigned level, uint64_t from, uint64_t *after)
{
    struct place where = here(p);
    if (!take(p, '{')) {
        struct value v;
        if (!init_value(p, &v) || !store(p, f, from, &v, where))
            return false;
        *after = from + 1;
        return true;
    }
    if (level >= f->levels) {
        parse_error(p, where, "too many braces: '%.100s' has %u dimensions", f->v->name,
                    f->levels);
        return false;
    }
    uint64_t limit = level == 0 && f->grows ? UINT64_MAX : f->count[level], done = 0;
    while (!at(p, '}')) {
        struct place item = here(p);
        bool list = at(p, '{');
        uint64_t unit = f->count[level + 1];
        if (list && done % unit)
            done += unit - done % unit;
        if (done >= limit) {
            parse_error(p, item, "more values than '%.100s' has elements", f->v->name);
            return false;
        }
        uint64_t end;
        if (!fill(p, f, level + 1, from + done, &end))
            return false;
        done = list ? done + unit : end - from;
        if (!take(p, ','))
            break;
    }
    if (!parse_need(p, '}', "',' or '}'"))
        return false;
    *after = from + (level == 0 && f->grows ? done : f->count[level]);
    return true;
}

bool
parse_init(struct parser *p, struct ptx_var *v)
{
    struct filler f = {.v = v, .scalar = ptx_type_bytes(v->type), .at = here(p)};
    unsigned nd = (unsigned)v->ndims;
    f.levels = nd + (v->vec ? 1 : 0);
    f.count[f.levels] = 1;
    for (unsigned i = f.levels; i-- > 0;)
        f.count[i] = f.count[i + 1] * (i < nd ? v->dims[i] : v->vec);
    f.grows = nd && !v->dims[0];
    if (f.grows)
        f.count[0] = UINT64_MAX;
    if (!f.scalar) {
        parse_error(p, f.at, "a variable of type .%s cannot be initialised here",
                    ptx_types[v->type].text);
        return false;
    }
    uint64_t least = f.grows ? f.count[1] : f.count[0];
    if (least > p->init_left / f.scalar) {
        parse_error(p, f.at, "the initialisers of this module are too large");
        return false;
    }
    uint64_t after = 0;
    bool ok = fill(p, &f, 0, 0, &after);
    if (ok && f.grows) {
        uint64_t unit = f.count[1] ? f.count[1] : 1;
        v->dims[0] = (after + unit - 1) / unit;
        if (__builtin_mul_overflow(v->dims[0] * unit, (uint64_t)f.scalar, &v->size))
            ok = false;
        v->dynamic = false;
    }
    if (ok && f.bytes.n > v->size) {
        parse_error(p, f.at, "more values than '%.100s' has elements", v->name);
        ok = false;
    }
    if (ok && (v->size > p->init_left + f.bytes.n)) {
        parse_error(p, f.at, "the initialisers of this module are too large");
        ok = false;
    }
    if (ok) {
        p->init_left -= v->size - f.bytes.n;
        v->init = arena_alloc(&p->m->mem, v->size ? v->size : 1);
        if (f.bytes.n)
            memcpy(v->init, f.bytes.v, f.bytes.n);
        merge_bytes(p, v);
    }
    vec_free(&f.bytes);
    return ok;
}
