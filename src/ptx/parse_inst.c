/* parse_inst.c: the operands of an instruction, and whether they are what its row asks for.
 *
 * Operands are read without regard to the pattern (their syntax tells them apart), then laid
 * over it: fewer than the pattern has means that its last optional ones are left out. Type
 * rules: PTX ISA 9.0, 9.4.1 (agreement) and 9.4.2 (wider registers in ld, st, cvt). */
#include "ptx/parse_int.h"

/* -- reading -- */

static struct ptx_operand
blank(unsigned kind)
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

static bool
undeclared(struct parser *p, const struct name *nm, struct place where)
{
    bool reg = *nm->s == '%';
    struct diag *d = err(p, where, "%s '%.100s' is not declared", reg ? "register" : "symbol",
                         nm->s);
    hint_name(p, d, nm,
              1u << B_REG | 1u << B_SREG | (reg ? 0u : 1u << B_VAR | 1u << B_FUNC));
    return true; /* syntactically fine */
}

/* An identifier as operand. Sets *unknown for a name that is bound to nothing. */
static bool
name_operand(struct parser *p, struct ptx_operand *o, struct name *nm, struct place where)
{
    const struct binding *b = nm->top;
    *o = blank(PTX_OPD_NONE);
    if (!b)
        return undeclared(p, nm, where);
    switch (b->kind) {
    case B_REG: {
        o->kind = PTX_OPD_REG;
        o->reg = b->index;
        if (!at(p, T_DOT))
            return true;
        const struct ptx_reg *r = &p->f->regs.v[b->index];
        int c = component(&p->tok);
        if (c < 0 || c >= r->vec) {
            struct diag *d = err(p, here(p), "'%.100s' has no component '%.*s'", nm->s,
                                 (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
            if (!r->vec)
                hint(p, d, "it is not a vector register");
            c = -1;
        }
        o->comp = (uint8_t)(c + 1);
        next(p);
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
            struct diag *d = err(p, where, "special register '%s' %s", nm->s,
                                 x->comps ? "needs a component" : "has no components");
            if (x->comps)
                hint(p, d, "write %s.x, %s.y or %s.z", nm->s, nm->s, nm->s);
            c = 0;
        }
        if (at(p, T_DOT))
            next(p);
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
            next(p);
            if (at(p, T_ID)) {
                err(p, here(p), "an index must be a constant here");
                return false;
            }
            struct value v;
            if (!parse_const(p, &v) || !need(p, ']', "']'"))
                return false;
            uint64_t unit = ptx_type_bytes(o->var->type) * (o->var->vec ? o->var->vec : 1u);
            o->off = (int64_t)((uint64_t)o->off + v.bits * unit);
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
        err(p, where, "a %s cannot stand here", kind_text(b->kind));
        return true;
    }
}

static bool
list(struct parser *p, struct ptx_operand *o, int close, const char *what)
{
    struct ptx_operand own[64], *v = own;
    size_t n = 0, cap = 64;
    bool ok = true;
    while (!at(p, close)) {
        if (n == 1024) {
            err(p, here(p), "too many operands");
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
                err(p, here(p), "lists cannot be nested here");
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
    if (!ok || !need(p, close, what))
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
    *o = blank(PTX_OPD_ADDR);
    if (at(p, T_ID) && !at_word(p, T_ID, "WARP_SZ")) {
        struct ptx_operand base;
        struct name *nm = name_get(p, p->tok.s, p->tok.n);
        next(p);
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
            err(p, where, "'%.100s' is not an address", nm->s);
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
            err(p, where, "an address is an integer");
            o->kind = PTX_OPD_NONE;
        }
        o->off = (int64_t)v.bits;
    }
    if (at(p, ',')) { /* [tex, {x, y}]: only instructions that are not described take it */
        struct ptx_operand *first = ARENA_NEW(&p->m->mem, struct ptx_operand);
        struct ptx_operand rest = blank(PTX_OPD_VEC);
        *first = *o;
        next(p);
        if (!list(p, &rest, ']', "']'"))
            return false;
        *o = blank(PTX_OPD_VEC);
        o->neg = true;
        o->n = (uint16_t)(rest.n + 1);
        o->vec = ARENA_ARRAY(&p->m->mem, struct ptx_operand, o->n);
        o->vec[0] = *first;
        if (rest.n)
            memcpy(o->vec + 1, rest.vec, rest.n * sizeof *o->vec);
        return true;
    }
    return need(p, ']', "']'");
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
        nm = name_get(p, p->tok.s, p->tok.n);
        next(p);
        return name_operand(p, o, nm, where);
    case '_':
        *o = blank(PTX_OPD_SINK);
        next(p);
        return true;
    case '[':
        next(p);
        return address(p, o);
    case '{':
        next(p);
        p->open++;
        *o = blank(PTX_OPD_VEC);
        if (!list(p, o, '}', "',' or '}'"))
            return false;
        p->open--;
        if (!o->n)
            err(p, where, "a vector has at least one element");
        return true;
    case '!':
        /* !p; behind anything else ! is an operator of a constant expression */
        {
            struct ptx_lexer save = p->lex;
            struct ptx_token t;
            ptx_lex(&save, &t);
            if (t.kind != T_ID)
                break;
            next(p);
            where = here(p);
            nm = name_get(p, p->tok.s, p->tok.n);
            next(p);
            if (!name_operand(p, o, nm, where))
                return false;
            if (o->kind != PTX_OPD_NONE &&
                (o->kind != PTX_OPD_REG || p->f->regs.v[o->reg].type != PTX_PRED)) {
                err(p, where, "'!' goes before a predicate only");
                o->kind = PTX_OPD_NONE;
            }
            o->neg = true;
            return true;
        }
    case '-': {
        struct ptx_lexer save = p->lex;
        struct ptx_token t;
        ptx_lex(&save, &t);
        if (t.kind == T_ID && !(t.n == 7 && !memcmp(t.s, "WARP_SZ", 7))) {
            struct diag *d = err(p, where, "a minus sign cannot stand before a register");
            hint(p, d, "negate it with a neg instruction first");
            next(p);
            return parse_operand(p, o);
        }
        break;
    }
    }
    struct value v;
    bool malformed = p->tok.error != NULL;
    *o = blank(PTX_OPD_NONE);
    if (!parse_const(p, &v))
        return false;
    o->kind = malformed ? PTX_OPD_NONE : (uint8_t)v.kind;
    o->imm = v.bits;
    return true;
}

/* -- checking -- */

struct check {
    struct parser *p;
    const struct row *row;
    const struct ptx_inst *in;
    const struct place *at; /* of each operand */
};

static const char *
mnemonic(const struct check *c)
{
    return c->row->info->mnemonic;
}

/* Does a register of type `reg` hold a value of type `type`? Wider ones only where `wider`. */
static bool
agrees(unsigned type, unsigned reg, bool wider)
{
    const struct ptx_type_info *t = &ptx_types[type], *r = &ptx_types[reg];
    if (t->bytes == r->bytes)
        return t->kind == PTX_K_BITS || r->kind == PTX_K_BITS ||
               (t->kind == PTX_K_FLT) == (r->kind == PTX_K_FLT);
    if (!wider || r->bytes < t->bytes)
        return false;
    if (t->kind == PTX_K_FLT)
        return r->kind == PTX_K_BITS;
    return t->kind == PTX_K_BITS || r->kind != PTX_K_FLT;
}

/* The type an operand of this slot has; 0: no particular one. *bytes is its size. */
static unsigned
slot_type(const struct check *c, const struct slot *x, unsigned *bytes)
{
    unsigned t = 0;
    switch (x->letter) {
    case 'P':
    case 'p':
        t = PTX_PRED;
        break;
    case 'U':
    case 'u': /* what crosses lanes does so as bits */
        t = c->row->info->flags & PTX_CROSSLANE ? PTX_B32 : PTX_U32;
        break;
    default:
        if (x->type < c->in->ntypes)
            t = c->in->type[x->type];
    }
    *bytes = ptx_types[t].bytes;
    if (x->width) {
        unsigned want = x->width == 'w' ? *bytes * 2 : *bytes / 2, kind = ptx_types[t].kind;
        for (unsigned k = 1; k < PTX_NTYPES; k++)
            if (ptx_types[k].bytes == want && ptx_types[k].kind == kind) {
                t = k;
                break;
            }
        *bytes = want;
    }
    return t;
}

static const char *
operand_text(const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_OPD_REG:
        return "a register";
    case PTX_OPD_SREG:
        return "a special register";
    case PTX_OPD_IMM:
        return "an integer";
    case PTX_OPD_F32:
    case PTX_OPD_F64:
        return "a floating-point literal";
    case PTX_OPD_SYM:
        return "the address of a variable";
    case PTX_OPD_FUNCSYM:
        return "a function";
    case PTX_OPD_ADDR:
        return "a memory operand";
    case PTX_OPD_LABEL:
        return "a label";
    case PTX_OPD_VEC:
        return o->neg ? "a memory operand with coordinates" : "a vector";
    case PTX_OPD_SINK:
        return "'_'";
    }
    return "nothing";
}

static struct diag *
wrong_kind(struct check *c, unsigned i, const struct ptx_operand *o, const char *wanted)
{
    return err(c->p, c->at[i], "operand %u of '%s' must be %s, not %s", i + 1, mnemonic(c),
               wanted, operand_text(o));
}

static bool
check_reg(struct check *c, unsigned i, const struct ptx_operand *o, unsigned type, bool wider)
{
    const struct ptx_reg *r = &c->p->f->regs.v[o->reg];
    if (!type)
        return true;
    if (type == PTX_PRED || r->type == PTX_PRED) {
        if (type == r->type)
            return true;
        struct diag *d =
            type == PTX_PRED
                ? err(c->p, c->at[i], "operand %u of '%s' must be a predicate, '%.100s' is .%s",
                      i + 1, mnemonic(c), r->name, ptx_types[r->type].text)
                : err(c->p, c->at[i], "predicate '%.100s' stands where a value is needed",
                      r->name);
        hint(c->p, d,
             type == PTX_PRED ? "setp makes a predicate of a comparison"
                              : "selp makes a value of a predicate");
        return false;
    }
    if (r->vec && !o->comp) {
        struct diag *d = err(c->p, c->at[i], "vector register '%.100s' needs a component here",
                             r->name);
        hint(c->p, d, "write %.100s.x", r->name);
        return false;
    }
    if (agrees(type, r->type, wider))
        return true;
    const struct ptx_type_info *t = &ptx_types[type], *rt = &ptx_types[r->type];
    struct diag *d = err(c->p, c->at[i], "'%.100s' is .%s, operand %u of '%s' must be .%s",
                         r->name, rt->text, i + 1, mnemonic(c), t->text);
    if (rt->bytes != t->bytes)
        hint(c->p, d, "the register has %u bits, the instruction works on %u",
             rt->bytes * 8u, t->bytes * 8u);
    else
        hint(c->p, d, "mov.b%u moves the bits to a register of another type", t->bytes * 8u);
    return false;
}

static bool
check_literal(struct check *c, unsigned i, const struct ptx_operand *o, unsigned type)
{
    unsigned kind = ptx_types[type].kind, bytes = ptx_types[type].bytes;
    if (!type)
        return true;
    if (o->kind == PTX_OPD_IMM) {
        if (kind != PTX_K_FLT)
            return true;
        struct diag *d = err(c->p, c->at[i], "operand %u of '%s' must be floating point",
                             i + 1, mnemonic(c));
        hint(c->p, d, "write a literal with a point, or 0f/0d and the bits");
        return false;
    }
    if (kind == PTX_K_FLT ||
        (kind == PTX_K_BITS && bytes == (o->kind == PTX_OPD_F32 ? 4 : 8)))
        return true;
    err(c->p, c->at[i], "a floating-point literal does not fit operand %u of '%s' (.%s)", i + 1,
        mnemonic(c), ptx_types[type].text);
    return false;
}

/* Old texts read %tid, %ntid, %ctaid and %nctaid as .u16 and %gridid as .u32. */
static bool
is_legacy_sreg(const struct ptx_operand *o, unsigned bytes)
{
    return (bytes == 2 && o->sreg <= PTX_SREG_NCTAID) ||
           (bytes == 4 && o->sreg == PTX_SREG_GRIDID);
}

/* Is the variable in the state space that the instruction names? */
static bool
check_space(struct check *c, unsigned i, const struct ptx_operand *o)
{
    static const uint8_t space_of[PTX_NMODS] = {
        [PTX_SPACE_SS_GLOBAL] = PTX_SPACE_GLOBAL,
        [PTX_SPACE_SS_SHARED] = PTX_SPACE_SHARED,
        [PTX_SPACE_SS_SHARED_CTA] = PTX_SPACE_SHARED,
        [PTX_SPACE_SS_SHARED_CLUSTER] = PTX_SPACE_SHARED,
        [PTX_SPACE_SS_LOCAL] = PTX_SPACE_LOCAL,
        [PTX_SPACE_SS_CONST] = PTX_SPACE_CONST,
        [PTX_SPACE_SS_PARAM] = PTX_SPACE_PARAM,
        [PTX_SPACE_SS_PARAM_ENTRY] = PTX_SPACE_PARAM,
        [PTX_SPACE_SS_PARAM_FUNC] = PTX_SPACE_PARAM,
    };
    unsigned want = space_of[c->in->mod[PTX_MG_SPACE]];
    if (want && o->var->space != want) {
        static const char *const text[] = {"",       ".reg",   "",       ".global", ".shared",
                                           ".local", ".const", ".param", ".tex"};
        struct diag *d = err(c->p, c->at[i], "'%.100s' is in %s, but the instruction says .%s",
                             o->var->name, text[o->var->space],
                             ptx_mods[c->in->mod[PTX_MG_SPACE]].text);
        hint(c->p, d, "declared on line %u", o->var->line);
        return false;
    }
    return true;
}

static bool
check_value(struct check *c, unsigned i, const struct ptx_operand *o, unsigned type,
            bool wider)
{
    const char *mn = mnemonic(c);
    bool mov = c->in->op == PTX_OP_MOV || c->in->op == PTX_OP_MOVP;
    switch (o->kind) {
    case PTX_OPD_REG:
        return check_reg(c, i, o, type, wider);
    case PTX_OPD_IMM:
    case PTX_OPD_F32:
    case PTX_OPD_F64:
        return check_literal(c, i, o, type);
    case PTX_OPD_SREG: {
        unsigned st = ptx_sregs[o->sreg].type;
        if (!mov && strcmp(mn, "cvt")) {
            struct diag *d = err(c->p, c->at[i], "special registers are read by mov and cvt");
            hint(c->p, d, "mov it to a register first");
            return false;
        }
        bool fits = st == type || (type != PTX_PRED && st != PTX_PRED &&
                                   (mov ? agrees(type, st, false)
                                    : ptx_types[c->in->type[0]].kind != PTX_K_FLT
                                        ? agrees(type, st, true)
                                        : ptx_types[type].kind == PTX_K_UINT &&
                                              ptx_type_bytes(type) == ptx_type_bytes(st)));
        if (!fits && !is_legacy_sreg(o, ptx_type_bytes(type))) {
            err(c->p, c->at[i], "special register '%s' is .%s, operand %u of '%s' must be .%s",
                ptx_sregs[o->sreg].name, ptx_types[st].text, i + 1, mn, ptx_types[type].text);
            return false;
        }
        return true;
    }
    case PTX_OPD_SYM:
    case PTX_OPD_FUNCSYM:
        if (!mov && c->in->op != PTX_OP_CVTA && c->in->op != PTX_OP_ISSPACEP) {
            struct diag *d = wrong_kind(c, i, o, "a register or a constant");
            hint(c->p, d, "mov the address to a register first");
            return false;
        }
        if (type && (ptx_types[type].kind == PTX_K_FLT || ptx_type_bytes(type) < 2)) {
            err(c->p, c->at[i], "an address does not fit .%s", ptx_types[type].text);
            return false;
        }
        return o->kind == PTX_OPD_FUNCSYM || check_space(c, i, o);
    default:
        wrong_kind(c, i, o, "a register or a constant");
        return false;
    }
}

static bool
check_vector(struct check *c, unsigned i, const struct ptx_operand *o, unsigned type,
             bool dest, unsigned count, bool wider)
{
    if (o->n != count) {
        err(c->p, c->at[i], "operand %u of '%s' must have %u elements, it has %u", i + 1,
            mnemonic(c), count, o->n);
        return false;
    }
    for (unsigned k = 0; k < o->n; k++) {
        const struct ptx_operand *e = &o->vec[k];
        if (e->kind == PTX_OPD_NONE || (dest && e->kind == PTX_OPD_SINK))
            continue;
        if (dest && e->kind != PTX_OPD_REG) {
            wrong_kind(c, i, e, "a vector of registers");
            return false;
        }
        if (!check_value(c, i, e, type, wider))
            return false;
    }
    return true;
}

/* mov with a list: the elements share the size of the whole. */
static bool
check_pack(struct check *c, unsigned i, const struct ptx_operand *o, unsigned bytes, bool dest)
{
    unsigned type = c->in->ntypes ? c->in->type[0] : 0;
    if (ptx_types[type].kind != PTX_K_BITS) {
        struct diag *d = err(c->p, c->at[i], "a vector in mov needs a type of bits, not .%s",
                             ptx_types[type].text);
        hint(c->p, d, "write mov.b%u", bytes * 8);
        return false;
    }
    if (o->n != 2 && o->n != 4) {
        err(c->p, c->at[i], "mov packs 2 or 4 elements, not %u", o->n);
        return false;
    }
    unsigned each = bytes / o->n;
    static const uint8_t bits[] = {0, PTX_B8, PTX_B16, 0, PTX_B32, 0, 0, 0, PTX_B64};
    if (!each || each > 8 || each * o->n != bytes) {
        err(c->p, c->at[i], "%u bytes cannot be split into %u elements", bytes, o->n);
        return false;
    }
    return check_vector(c, i, o, bits[each], dest, o->n, false);
}

static bool
check_memory(struct check *c, unsigned i, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_ADDR) {
        struct diag *d = wrong_kind(c, i, o, "a memory operand");
        hint(c->p, d, "put it in square brackets");
        return false;
    }
    if (o->reg >= 0) {
        const struct ptx_reg *r = &c->p->f->regs.v[o->reg];
        unsigned kind = ptx_types[r->type].kind, bytes = ptx_type_bytes(r->type);
        if (kind == PTX_K_FLT || kind == PTX_K_PRED || bytes > 8) {
            struct diag *d = err(c->p, c->at[i], "'%.100s' is .%s and cannot hold an address",
                                 r->name, ptx_types[r->type].text);
            hint(c->p, d, "an address is in a register of .b32, .u32, .b64 or the like");
            return false;
        }
        if (r->vec && !o->comp) {
            err(c->p, c->at[i], "vector register '%.100s' needs a component here", r->name);
            return false;
        }
    }
    return !o->var || check_space(c, i, o);
}

static bool
check_slot(struct check *c, unsigned i, const struct ptx_operand *o, const struct slot *x)
{
    unsigned bytes, type = slot_type(c, x, &bytes);
    const char *mn = mnemonic(c);
    bool cvt = mn[0] == 'c' && mn[1] == 'v' && mn[2] == 't' && !mn[3];
    if (o->kind == PTX_OPD_NONE) /* its fault was reported when it was read */
        return true;
    switch (x->letter) {
    case 'D':
        if (o->kind == PTX_OPD_VEC && !o->neg)
            return check_pack(c, i, o, bytes, true);
        /* fall through */
    case 'd':
    case 'P':
    case 'U':
        if (o->kind == PTX_OPD_SINK)
            return true;
        if (o->kind != PTX_OPD_REG) {
            struct diag *d = wrong_kind(c, i, o, "a register");
            hint(c->p, d, "it is written by the instruction");
            return false;
        }
        if (o->neg) {
            err(c->p, c->at[i], "a destination cannot be negated");
            return false;
        }
        return check_reg(c, i, o, type, cvt);
    case 'A':
        if (o->kind == PTX_OPD_VEC && !o->neg)
            return check_pack(c, i, o, bytes, false);
        /* fall through */
    case 'a':
    case 'u':
        return check_value(c, i, o, type, cvt);
    case 'p':
        if (o->kind == PTX_OPD_IMM)
            return true;
        if (o->kind != PTX_OPD_REG) {
            wrong_kind(c, i, o, "a predicate");
            return false;
        }
        return check_reg(c, i, o, PTX_PRED, false);
    case 'm':
        return check_memory(c, i, o);
    case 'V':
    case 'S': {
        bool dest = x->letter == 'V';
        unsigned v = c->in->mod[PTX_MG_VEC];
        unsigned count = v == PTX_VEC_V2 ? 2 : v == PTX_VEC_V4 ? 4 : v == PTX_VEC_V8 ? 8 : 1;
        if (o->kind == PTX_OPD_VEC && !o->neg) {
            if (count == 1 && o->n != 1) {
                struct diag *d = err(c->p, c->at[i], "'%s' without .v2 or .v4 takes one register",
                                     mn);
                hint(c->p, d, "add .v%u", o->n);
                return false;
            }
            return check_vector(c, i, o, type, dest, count, true);
        }
        if (o->kind == PTX_OPD_SINK && dest)
            return true;
        if (o->kind == PTX_OPD_REG && count > 1) {
            const struct ptx_reg *r = &c->p->f->regs.v[o->reg];
            if (r->vec == count && !o->comp) {
                if (agrees(type, r->type, true))
                    return true;
                err(c->p, c->at[i], "'%.100s' is .%s, the instruction says .%s", r->name,
                    ptx_types[r->type].text, ptx_types[type].text);
                return false;
            }
            struct diag *d = err(c->p, c->at[i], "operand %u of '%s' must have %u elements",
                                 i + 1, mn, count);
            hint(c->p, d, "write them in braces");
            return false;
        }
        if (dest && o->kind != PTX_OPD_REG) {
            wrong_kind(c, i, o, "a register");
            return false;
        }
        return check_value(c, i, o, type, true);
    }
    case 'l':
        return true; /* resolved later */
    }
    return true;
}

static bool
barrier_number(struct check *c, unsigned i)
{
    if (c->in->ops[i].kind != PTX_OPD_IMM || c->in->ops[i].imm < 16)
        return true;
    err(c->p, c->at[i], "a barrier has a number from 0 to 15");
    return false;
}

/* What the pattern cannot say. */
static bool
check_rest(struct check *c, struct place where)
{
    const struct ptx_inst *in = c->in;
    switch (in->op) {
    case PTX_OP_ATOM:
    case PTX_OP_ATOMH: {
        bool cas = in->mod[PTX_MG_ATOMOP] == PTX_ATOMOP_CAS;
        if (cas == (in->ops[3].kind != PTX_OPD_NONE))
            return true;
        struct diag *d = err(c->p, where, "atom.%s takes %d operands",
                             ptx_mods[in->mod[PTX_MG_ATOMOP]].text, cas ? 4 : 3);
        if (cas)
            hint(c->p, d, "destination, [address], compare value, new value");
        return false;
    }
    case PTX_OP_SHFL: {
        bool sync = in->mod[PTX_MG_SYNC];
        if (sync == (in->ops[5].kind != PTX_OPD_NONE))
            return true;
        struct diag *d = err(c->p, where, sync ? "shfl.sync needs a member mask"
                                               : "shfl without .sync takes no member mask");
        hint(c->p, d, "the last operand is the mask of lanes that take part");
        return false;
    }
    case PTX_OP_VOTEP:
    case PTX_OP_VOTEB: {
        bool sync = in->mod[PTX_MG_SYNC];
        if (sync == (in->ops[2].kind != PTX_OPD_NONE))
            return true;
        err(c->p, where, sync ? "vote.sync needs a member mask"
                              : "vote without .sync takes no member mask");
        return false;
    }
    case PTX_OP_BFE:
    case PTX_OP_BFI:
        for (unsigned k = in->op == PTX_OP_BFI ? 3 : 2; k < in->nops; k++)
            if (in->ops[k].kind == PTX_OPD_IMM && in->ops[k].imm > 255) {
                err(c->p, c->at[k], "a position or length in %s is from 0 to 255", mnemonic(c));
                return false;
            }
        return true;
    case PTX_OP_BARREDP:
    case PTX_OP_BARRED:
    case PTX_OP_BARRIERREDP:
    case PTX_OP_BARRIERRED:
        return barrier_number(c, 1);
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        if (!barrier_number(c, 0))
            return false;
        if (in->mod[PTX_MG_ARRIVE] && in->ops[1].kind == PTX_OPD_NONE) {
            err(c->p, where, "%s.arrive needs the number of threads", mnemonic(c));
            return false;
        }
        return true;
    }
    return true;
}

/* -- one instruction -- */

static bool
call_list(struct parser *p, struct ptx_operand *o)
{
    *o = blank(PTX_OPD_VEC);
    next(p);
    if (!list(p, o, ')', "',' or ')'"))
        return false;
    if (!o->n)
        *o = blank(PTX_OPD_NONE);
    return true;
}

static void
check_call(struct parser *p, struct ptx_inst *in, struct place where)
{
    const struct ptx_operand *t = &in->ops[1];
    const struct ptx_func *f = t->kind == PTX_OPD_FUNCSYM       ? t->func
                               : in->ops[3].kind == PTX_OPD_FUNCSYM ? in->ops[3].func
                                                                    : NULL;
    for (int side = 0; side < 3; side += 2) {
        const struct ptx_operand *l = &in->ops[side];
        for (unsigned i = 0; i < l->n; i++) {
            const struct ptx_operand *e = &l->vec[i];
            bool ok = e->kind == PTX_OPD_REG || e->kind == PTX_OPD_SYM ||
                      e->kind == PTX_OPD_NONE ||
                      (side ? e->kind == PTX_OPD_IMM || e->kind == PTX_OPD_F32 ||
                                  e->kind == PTX_OPD_F64
                            : e->kind == PTX_OPD_SINK);
            if (!ok)
                err(p, where, "%s cannot be %s of a call", operand_text(e),
                    side ? "an argument" : "a result");
        }
    }
    if (!f || f->targets.n)
        return;
    if (f->is_entry) {
        struct diag *d = err(p, where, "kernel '%.100s' cannot be called", f->name);
        hint(p, d, "only a .func can");
        return;
    }
    size_t nr = in->ops[0].n, na = in->ops[2].n;
    bool variadic = f->params.n && f->params.v[f->params.n - 1]->dynamic;
    if (nr != f->rets.n || (variadic ? na + 1 < f->params.n : na != f->params.n))
        err(p, where, "'%.100s' takes %zu argument%s and returns %zu, the call has %zu and %zu",
            f->name, f->params.n, f->params.n == 1 ? "" : "s", f->rets.n, na, nr);
}

static bool
pend(struct parser *p, struct ptx_operand *o, bool proto)
{
    if (!at(p, T_ID))
        return expected(p, proto ? "a prototype" : "a label");
    struct pending *x = vec_push(&p->pend);
    *x = (struct pending){o, name_get(p, p->tok.s, p->tok.n), here(p), proto};
    next(p);
    return true;
}

/* call{.uni} {(ret), } f {, (args)} {, prototype} ; */
static bool
parse_call(struct parser *p, struct ptx_inst *in)
{
    struct place where;
    struct ptx_operand *o = in->ops;
    if (at(p, '(') && (!call_list(p, &o[0]) || !need(p, ',', "','")))
        return false;
    where = here(p);
    if (!at(p, T_ID))
        return expected(p, "a function");
    struct name *nm = name_get(p, p->tok.s, p->tok.n);
    next(p);
    if (!nm->top) {
        struct diag *d = err(p, where, "function '%.100s' is not declared", nm->s);
        hint_name(p, d, nm, 1u << B_FUNC | 1u << B_REG);
    } else if (nm->top->kind == B_FUNC) {
        o[1].kind = PTX_OPD_FUNCSYM;
        o[1].func = nm->top->ptr;
    } else if (nm->top->kind == B_REG) {
        o[1].kind = PTX_OPD_REG;
        o[1].reg = nm->top->index;
        const struct ptx_reg *r = &p->f->regs.v[o[1].reg];
        if (ptx_types[r->type].kind == PTX_K_FLT || ptx_type_bytes(r->type) < 4 || r->vec)
            err(p, where, "'%.100s' is .%s and cannot hold the address of a function", r->name,
                ptx_types[r->type].text);
    } else {
        err(p, where, "'%.100s' is a %s, not a function", nm->s, kind_text(nm->top->kind));
    }
    bool more = take(p, ',');
    if (more && at(p, '(')) {
        if (!call_list(p, &o[2]))
            return false;
        more = take(p, ',');
    }
    if (more) {
        if (!pend(p, &o[3], true))
            return false;
    } else if (o[1].kind == PTX_OPD_REG) {
        struct diag *d = err(p, where, "an indirect call needs a prototype");
        hint(p, d, "declare one with .callprototype and name it behind the arguments");
    }
    check_call(p, in, where);
    return true;
}

/* Operands of an instruction that is known by name only. */
static bool
parse_open(struct parser *p, struct ptx_inst *in)
{
    struct ptx_operand v[MAX_OPERANDS];
    unsigned n = 0;
    bool joined = false;
    while (!at(p, ';') && !at(p, T_EOF)) {
        if (n == MAX_OPERANDS) {
            err(p, here(p), "too many operands");
            return false;
        }
        if (!parse_operand(p, &v[n]))
            return false;
        v[n++].joined = joined;
        joined = at(p, '|');
        if (!take(p, ',') && !take(p, '|'))
            break;
    }
    in->nops = (uint8_t)n;
    in->ops = n ? ARENA_ARRAY(&p->m->mem, struct ptx_operand, n) : NULL;
    if (n)
        memcpy(in->ops, v, n * sizeof *v);
    return true;
}

/* Lays the n operands written over the pattern; *from[slot] is the operand or -1. */
static bool
lay(struct parser *p, const struct row *r, unsigned n, const bool *joined, int8_t *from,
    struct place where)
{
    unsigned total = 0, spare;
    int8_t second = -1;
    for (unsigned i = 0; i < n; i++)
        if (joined[i]) {
            if (second >= 0 || i != 1) {
                err(p, where, "'|' joins the first two operands only");
                return false;
            }
            second = (int8_t)i;
        }
    bool has_joined = false;
    for (unsigned k = 0; k < r->nslots; k++) {
        has_joined |= r->slot[k].joined;
        total += !r->slot[k].joined;
    }
    if (second >= 0 && !has_joined) {
        err(p, where, "'%s' has one destination, not two joined by '|'", r->info->mnemonic);
        return false;
    }
    unsigned written = n - (second >= 0), least = 0;
    for (unsigned k = 0; k < r->nslots; k++) {
        least += !r->slot[k].joined && !r->slot[k].optional;
        if (r->slot[k].joined && !r->slot[k].optional && second < 0) {
            err(p, where, "'%s' has two destinations, joined by '|'", r->info->mnemonic);
            return false;
        }
    }
    if (written < least || written > total) {
        struct strbuf b = {0};
        if (least == total)
            strbuf_printf(&b, "%u", total);
        else
            strbuf_printf(&b, "%u to %u", least, total);
        err(p, where, "'%s' takes %s operand%s, %u written", r->info->mnemonic, b.s,
            total == 1 ? "" : "s", written);
        strbuf_free(&b);
        return false;
    }
    spare = total - written; /* the last optional ones are left out */
    for (unsigned k = r->nslots; k-- > 0;) {
        from[k] = 0;
        if (r->slot[k].joined) {
            from[k] = second;
        } else if (spare && r->slot[k].optional) {
            from[k] = -1;
            spare--;
        }
    }
    int8_t at = 0;
    for (unsigned k = 0; k < r->nslots; k++) {
        if (r->slot[k].joined || from[k] < 0)
            continue;
        if (at == second)
            at++;
        from[k] = at++;
    }
    return true;
}

static bool
guard(struct parser *p, int32_t *reg, bool *neg)
{
    *reg = -1;
    *neg = false;
    if (!take(p, '@'))
        return true;
    *neg = take(p, '!');
    if (!at(p, T_ID))
        return expected(p, "a predicate register");
    struct place where = here(p);
    struct name *nm = name_get(p, p->tok.s, p->tok.n);
    next(p);
    if (!nm->top) {
        undeclared(p, nm, where);
    } else if (nm->top->kind != B_REG || p->f->regs.v[nm->top->index].type != PTX_PRED) {
        err(p, where, "'%.100s' is not a predicate register", nm->s);
    } else {
        *reg = nm->top->index;
    }
    return true;
}

bool
parse_inst(struct parser *p)
{
    int32_t g;
    bool neg;
    if (!guard(p, &g, &neg))
        return false;
    if (!at(p, T_ID))
        return expected(p, "an instruction");
    struct place where = here(p);
    const struct form *form = parse_form(p);
    if (!form)
        return false;
    const struct row *r = form->row;
    struct ptx_inst in = form->proto;
    in.guard = g;
    in.guard_neg = neg;
    in.line = where.line;
    in.col = where.col;
    if (r->open) {
        if (!parse_open(p, &in))
            return false;
    } else {
        in.nops = r->nslots;
        in.ops = r->nslots ? ARENA_ARRAY(&p->m->mem, struct ptx_operand, r->nslots) : NULL;
        for (unsigned k = 0; k < r->nslots; k++)
            in.ops[k] = blank(PTX_OPD_NONE);
    }
    if (in.op == PTX_OP_CALL) {
        if (!parse_call(p, &in))
            return false;
    } else if (in.op == PTX_OP_BRA) {
        if (!pend(p, &in.ops[0], false))
            return false;
    } else if (in.op == PTX_OP_BRX) {
        if (!parse_operand(p, &in.ops[0]) || !need(p, ',', "','") ||
            !pend(p, &in.ops[1], false))
            return false;
        struct check c = {p, r, &in, &where};
        if (in.ops[0].kind == PTX_OPD_REG)
            check_reg(&c, 0, &in.ops[0], PTX_U32, false);
        else if (in.ops[0].kind != PTX_OPD_NONE)
            wrong_kind(&c, 0, &in.ops[0], "a register");
    } else if (!r->open) {
        struct ptx_operand v[MAX_SLOTS + 1];
        struct place places[MAX_SLOTS + 1], laid[MAX_SLOTS];
        bool joined[MAX_SLOTS + 1] = {false};
        int8_t from[MAX_SLOTS];
        unsigned n = 0;
        size_t before = p->errors;
        if (!at(p, ';') && !at(p, '}') && !at(p, T_EOF)) {
            do {
                if (n > r->nslots || n == MAX_SLOTS) {
                    err(p, here(p), "too many operands for '%s'", r->info->mnemonic);
                    return false;
                }
                if (n)
                    joined[n] = p->last_end[-1] == '|';
                places[n] = here(p);
                if (!parse_operand(p, &v[n]))
                    return false;
                if (p->tok.line == places[n].line)
                    places[n].n = p->last.col - places[n].col;
                n++;
            } while (take(p, ',') || take(p, '|'));
            if (!at(p, ';') && !at(p, '}') && p->tok.line == p->last.line)
                return expected(p, "',' or ';'");
        }
        where.n = form->n;
        if (lay(p, r, n, joined, from, where)) {
            for (unsigned k = 0; k < r->nslots; k++)
                if (from[k] >= 0) {
                    in.ops[k] = v[from[k]];
                    laid[k] = places[from[k]];
                } else {
                    laid[k] = where;
                }
            struct check c = {p, r, &in, laid};
            for (unsigned k = 0; k < r->nslots; k++)
                check_slot(&c, k, &in.ops[k], &r->slot[k]);
            if (p->errors == before)
                check_rest(&c, where);
        }
    }
    *vec_push(&p->f->body) = in;
    return need_semicolon(p);
}
