/* parse_operand.c: reads one operand, whatever it is (PTX ISA 9.0, 6.4). */
#include "ptx/parse_int.h"

struct ptx_operand
ptx_blank(unsigned kind)
{
    return (struct ptx_operand){.kind = (uint8_t)kind, .reg = -1, .label = -1};
}

/* .x .y .z .w or .r .g .b .a; -1: none. */
static int
component(const struct ptx_token *t)
{
    if (t->kind != T_DOT || t->n != 2)
        return -1;
    static const char names[] = "xyzwrgba";
    const char *c = strchr(names, t->s[1]);
    return c && *c ? (int)(c - names) % 4 : -1;
}

/* .b0, .h10 and the like: PTX_SEL_..., 0: none. */
static unsigned
selector(const struct ptx_token *t)
{
    unsigned n = t->n - 2;
    if (t->kind != T_DOT || t->n < 3 || n > 4 || (t->s[1] != 'b' && t->s[1] != 'h') ||
        (t->s[1] == 'h' && n > 2))
        return 0;
    unsigned sel = PTX_SEL(n, t->s[1] == 'h');
    for (unsigned i = 0; i < n; i++) {
        char c = t->s[t->n - 1 - i];
        if (c < '0' || c > (t->s[1] == 'h' ? '3' : '7'))
            return 0;
        sel |= (unsigned)(c - '0') << 3 * i;
    }
    return sel;
}

bool
parse_undeclared(struct parser *p, const struct name *nm, struct place where)
{
    bool reg = *nm->s == '%';
    struct diag *d = parse_error(p, where, "%s '%.100s' is not declared",
                                 reg ? "register" : "symbol", nm->s);
    parse_hint_name(p, d, nm,
                    1u << B_REG | 1u << B_SREG | (reg ? 0u : 1u << B_VAR | 1u << B_FUNC));
    return true; /* syntactically fine */
}

/* An identifier as operand. Sets *unknown for a name that is bound to nothing. */
static bool
name_operand(struct parser *p, struct ptx_operand *o, struct name *nm, struct place where)
{
    const struct binding *b = nm->top;
    *o = ptx_blank(PTX_OPD_NONE);
    if (!b)
        return parse_undeclared(p, nm, where);
    switch (b->kind) {
    case B_REG: {
        o->kind = PTX_OPD_REG;
        o->reg = b->index;
        if (!at(p, T_DOT))
            return true;
        const struct ptx_reg *r = &p->f->regs.v[b->index];
        o->sreg = p->select ? (uint16_t)selector(&p->tok) : 0;
        if (o->sreg) {
            parse_next(p);
            return true;
        }
        int c = component(&p->tok);
        if (c < 0 || c >= r->vec) {
            struct diag *d =
                parse_error(p, here(p), "'%.100s' has no component '%.*s'", nm->s,
                            (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
            if (!r->vec)
                parse_hint(p, d, "it is not a vector register");
            c = -1;
        }
        o->comp = (uint8_t)(c + 1);
        parse_next(p);
        return true;
    }
    case B_SREG: {
        const struct ptx_sreg_info *x = &ptx_sregs[b->index >> 8];
        o->kind = PTX_OPD_SREG;
        o->sreg = (uint16_t)(b->index >> 8);
        o->comp = (uint8_t)(b->index & 255);
        if (!x->comps && !at(p, T_DOT))
            return true;
        int c = component(&p->tok);
        if (!x->comps || c < 0) {
            struct diag *d =
                parse_error(p, where, "special register '%s' %s", nm->s,
                            x->comps ? "needs a component" : "has no components");
            if (x->comps)
                parse_hint(p, d, "write %s.x, %s.y or %s.z", nm->s, nm->s, nm->s);
            c = 0;
        }
        if (at(p, T_DOT))
            parse_next(p);
        o->comp = (uint8_t)(x->comps ? c : o->comp);
        return true;
    }
    case B_VAR:
    case B_FUNC:
        o->kind = b->kind == B_VAR ? PTX_OPD_SYM : PTX_OPD_FUNCSYM;
        if (b->kind == B_VAR)
            o->var = b->ptr;
        else
            o->func = b->ptr;
        if (!parse_offset(p, &o->off))
            return false;
        if (at(p, '[') && o->var) { /* x[3]: the address of that element */
            parse_next(p);
            if (at(p, T_ID)) {
                parse_error(p, here(p), "an index must be a constant here");
                return false;
            }
            struct value v;
            if (!parse_const(p, &v) || !parse_need(p, ']', "']'"))
                return false;
            uint64_t unit =
                ptx_type_bytes(o->var->type) * (o->var->vec ? o->var->vec : 1u);
            o->off = (int64_t)((uint64_t)o->off + v.bits * unit);
            p->indexed = true;
        }
        return true;
    case B_LABEL:
        o->kind = PTX_OPD_LABEL;
        o->label = b->index;
        return true;
    case B_PROTO:
        o->kind = PTX_OPD_FUNCSYM;
        o->func = b->ptr;
        return true;
    default:
        parse_error(p, where, "a %s cannot stand here", parse_kind_text(b->kind));
        return true;
    }
}

bool
parse_operand_list(struct parser *p, struct ptx_operand *o, int close, const char *what)
{
    struct ptx_operand own[64], *v = own;
    size_t n = 0, cap = 64;
    bool ok = true;
    while (!at(p, close)) {
        if (n == 1024) {
            parse_error(p, here(p), "too many operands");
            ok = false;
            break;
        }
        if (n == cap) {
            struct ptx_operand *more = ARENA_ARRAY(&p->mem, struct ptx_operand, cap * 4);
            memcpy(more, v, n * sizeof *v);
            v = more;
            cap *= 4;
        }
        if (at(p, '{') || at(p, '[')) {
            if (close != ']' || at(p, '[')) {
                parse_error(p, here(p), "lists cannot be nested here");
                ok = false;
                break;
            }
        }
        if (!parse_operand(p, &v[n])) {
            ok = false;
            break;
        }
        n++;
        if (!take(p, ','))
            break;
    }
    if (!ok || !parse_need(p, close, what))
        return false;
    o->kind = PTX_OPD_VEC;
    o->n = (uint16_t)n;
    o->vec = n ? ARENA_ARRAY(&p->m->mem, struct ptx_operand, n) : NULL;
    if (n)
        memcpy(o->vec, v, n * sizeof *v);
    return true;
}

/* Behind '['. */
static bool
address(struct parser *p, struct ptx_operand *o)
{
    struct place where = here(p);
    *o = ptx_blank(PTX_OPD_ADDR);
    if (at(p, T_ID) && !at_word(p, T_ID, "WARP_SZ")) {
        struct ptx_operand base;
        struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
        parse_next(p);
        if (!name_operand(p, &base, nm, where))
            return false;
        if (base.kind == PTX_OPD_REG) {
            o->reg = base.reg;
            o->comp = base.comp;
            if (!parse_offset(p, &o->off))
                return false;
        } else if (base.kind == PTX_OPD_SYM) {
            o->var = base.var;
            o->off = base.off;
        } else if (base.kind != PTX_OPD_NONE) {
            parse_error(p, where, "'%.100s' is not an address", nm->s);
            o->kind = PTX_OPD_NONE;
        } else {
            o->kind = PTX_OPD_NONE; /* not declared: said already */
            if (!parse_offset(p, &o->off))
                return false;
        }
    } else {
        struct value v;
        if (!parse_const(p, &v))
            return false;
        if (v.kind != PTX_OPD_IMM) {
            parse_error(p, where, "an address is an integer");
            o->kind = PTX_OPD_NONE;
        }
        o->off = (int64_t)v.bits;
    }
    if (at(p,
           ',')) { /* [tex, {x, y}]: only instructions that are not described take it */
        struct ptx_operand *first = ARENA_NEW(&p->m->mem, struct ptx_operand);
        struct ptx_operand rest = ptx_blank(PTX_OPD_VEC);
        *first = *o;
        parse_next(p);
        if (!parse_operand_list(p, &rest, ']', "']'"))
            return false;
        if (!rest.n) {
            parse_error(p, where, "coordinates are missing after the comma");
            *o = ptx_blank(PTX_OPD_NONE);
            return true;
        }
        *o = ptx_blank(PTX_OPD_VEC);
        o->neg = true;
        o->n = (uint16_t)(rest.n + 1);
        o->vec = ARENA_ARRAY(&p->m->mem, struct ptx_operand, o->n);
        o->vec[0] = *first;
        if (rest.n)
            memcpy(o->vec + 1, rest.vec, rest.n * sizeof *o->vec);
        return true;
    }
    return parse_need(p, ']', "']'");
}

bool
parse_operand(struct parser *p, struct ptx_operand *o)
{
    struct place where = here(p);
    struct name *nm;
    switch (p->tok.kind) {
    case T_ID:
        if (at_word(p, T_ID, "WARP_SZ"))
            break;
        nm = parse_name_get(p, p->tok.s, p->tok.n);
        parse_next(p);
        return name_operand(p, o, nm, where);
    case '_':
        *o = ptx_blank(PTX_OPD_SINK);
        parse_next(p);
        return true;
    case '[':
        parse_next(p);
        return address(p, o);
    case '{':
        parse_next(p);
        p->open++;
        *o = ptx_blank(PTX_OPD_VEC);
        if (!parse_operand_list(p, o, '}', "',' or '}'"))
            return false;
        p->open--;
        if (!o->n)
            parse_error(p, where, "a vector has at least one element");
        return true;
    case '!':
        /* !p; behind anything else ! is an operator of a constant expression */
        {
            struct ptx_lexer save = p->lex;
            struct ptx_token t;
            ptx_lex(&save, &t);
            if (t.kind != T_ID)
                break;
            parse_next(p);
            where = here(p);
            nm = parse_name_get(p, p->tok.s, p->tok.n);
            parse_next(p);
            if (!name_operand(p, o, nm, where))
                return false;
            if (o->kind != PTX_OPD_NONE &&
                (o->kind != PTX_OPD_REG || p->f->regs.v[o->reg].type != PTX_PRED)) {
                parse_error(p, where, "'!' goes before a predicate only");
                o->kind = PTX_OPD_NONE;
            }
            o->neg = true;
            return true;
        }
    case '-': {
        struct ptx_lexer save = p->lex;
        struct ptx_token t;
        ptx_lex(&save, &t);
        if (t.kind == T_ID && p->select) { /* vmad */
            parse_next(p);
            if (!parse_operand(p, o))
                return false;
            o->neg = o->kind == PTX_OPD_REG;
            return true;
        }
        if (t.kind == T_ID && !(t.n == 7 && !memcmp(t.s, "WARP_SZ", 7))) {
            struct diag *d =
                parse_error(p, where, "a minus sign cannot stand before a register");
            parse_hint(p, d, "negate it with a neg instruction first");
            parse_next(p);
            return parse_operand(p, o);
        }
        break;
    }
    }
    struct value v;
    bool malformed = p->tok.error != NULL;
    *o = ptx_blank(PTX_OPD_NONE);
    if (!parse_const(p, &v))
        return false;
    o->kind = malformed ? PTX_OPD_NONE : (uint8_t)v.kind;
    o->imm = v.bits;
    return true;
}
