/* parse_check.c: are the operands what the row asks for? Type rules: PTX ISA 9.0, 9.4.1
 * (agreement) and 9.4.2 (wider registers in ld, st, cvt); where the text of the ISA
 * leaves room, what ptxas accepts decides (tests/unit/ptx/ptx_types.c). */
#include "ptx/parse_int.h"

static const char *
mnemonic(const struct check *c)
{
    return c->row->info->mnemonic;
}

/* Does a register of type `reg` hold a value of type `type`? Wider ones only where
 * `wider`. */
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
        else if (x->letter == 'r')
            t = PTX_U32;
    }
    *bytes = ptx_types[t].bytes;
    if (x->width) {
        unsigned want = x->width == 'w' ? *bytes * 2 : *bytes / 2,
                 kind = ptx_types[t].kind;
        for (unsigned k = 1; k < PTX_NTYPES; k++)
            if (ptx_types[k].bytes == want && ptx_types[k].kind == kind) {
                t = k;
                break;
            }
        *bytes = want;
    }
    return t;
}

const char *
parse_operand_text(const struct ptx_operand *o)
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

struct diag *
parse_wrong_kind(struct check *c, unsigned i, const struct ptx_operand *o,
                 const char *wanted)
{
    return parse_error(c->p, c->at[i], "operand %u of '%s' must be %s, not %s", i + 1,
                       mnemonic(c), wanted, parse_operand_text(o));
}

bool
parse_check_reg(struct check *c, unsigned i, const struct ptx_operand *o, unsigned type,
                bool wider)
{
    const struct ptx_reg *r = &c->p->f->regs.v[o->reg];
    if (!type)
        return true;
    if (type == PTX_PRED || r->type == PTX_PRED) {
        if (type == r->type)
            return true;
        struct diag *d =
            type == PTX_PRED
                ? parse_error(c->p, c->at[i],
                              "operand %u of '%s' must be a predicate, '%.100s' is .%s",
                              i + 1, mnemonic(c), r->name, ptx_types[r->type].text)
                : parse_error(c->p, c->at[i],
                              "predicate '%.100s' stands where a value is needed",
                              r->name);
        parse_hint(c->p, d,
                   type == PTX_PRED ? "setp makes a predicate of a comparison"
                                    : "selp makes a value of a predicate");
        return false;
    }
    if (r->vec && !o->comp) {
        struct diag *d = parse_error(
            c->p, c->at[i], "vector register '%.100s' needs a component here", r->name);
        parse_hint(c->p, d, "write %.100s.x", r->name);
        return false;
    }
    if (agrees(type, r->type, wider))
        return true;
    const struct ptx_type_info *t = &ptx_types[type], *rt = &ptx_types[r->type];
    struct diag *d =
        parse_error(c->p, c->at[i], "'%.100s' is .%s, operand %u of '%s' must be .%s",
                    r->name, rt->text, i + 1, mnemonic(c), t->text);
    if (rt->bytes != t->bytes)
        parse_hint(c->p, d, "the register has %u bits, the instruction works on %u",
                   rt->bytes * 8u, t->bytes * 8u);
    else
        parse_hint(c->p, d, "mov.b%u moves the bits to a register of another type",
                   t->bytes * 8u);
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
        struct diag *d =
            parse_error(c->p, c->at[i], "operand %u of '%s' must be floating point",
                        i + 1, mnemonic(c));
        parse_hint(c->p, d, "write a literal with a point, or 0f/0d and the bits");
        return false;
    }
    if (kind == PTX_K_FLT ||
        (kind == PTX_K_BITS && bytes == (o->kind == PTX_OPD_F32 ? 4 : 8)))
        return true;
    parse_error(c->p, c->at[i],
                "a floating-point literal does not fit operand %u of '%s' (.%s)", i + 1,
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
    unsigned want = ptx_inst_space(c->in);
    if (want && o->var->space != want) {
        static const char *const text[] = {
            "", ".reg", "", ".global", ".shared", ".local", ".const", ".param", ".tex"};
        struct diag *d = parse_error(
            c->p, c->at[i], "'%.100s' is in %s, but the instruction says .%s",
            o->var->name, text[o->var->space], ptx_mods[c->in->mod[PTX_MG_SPACE]].text);
        parse_hint(c->p, d, "declared on line %u", o->var->line);
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
        return parse_check_reg(c, i, o, type, wider);
    case PTX_OPD_IMM:
    case PTX_OPD_F32:
    case PTX_OPD_F64:
        return check_literal(c, i, o, type);
    case PTX_OPD_SREG: {
        unsigned st = ptx_sregs[o->sreg].type;
        if (!mov && strcmp(mn, "cvt")) {
            struct diag *d =
                parse_error(c->p, c->at[i], "special registers are read by mov and cvt");
            parse_hint(c->p, d, "mov it to a register first");
            return false;
        }
        bool fits =
            st == type || (type != PTX_PRED && st != PTX_PRED &&
                           (mov ? agrees(type, st, false)
                            : ptx_types[c->in->type[0]].kind != PTX_K_FLT
                                ? agrees(type, st, true)
                                : ptx_types[type].kind == PTX_K_UINT &&
                                      ptx_type_bytes(type) == ptx_type_bytes(st)));
        if (!fits && !is_legacy_sreg(o, ptx_type_bytes(type))) {
            parse_error(c->p, c->at[i],
                        "special register '%s' is .%s, operand %u of '%s' must be .%s",
                        ptx_sregs[o->sreg].name, ptx_types[st].text, i + 1, mn,
                        ptx_types[type].text);
            return false;
        }
        return true;
    }
    case PTX_OPD_SYM:
    case PTX_OPD_FUNCSYM:
        if (!mov && c->in->op != PTX_OP_CVTA && c->in->op != PTX_OP_ISSPACEP) {
            struct diag *d = parse_wrong_kind(c, i, o, "a register or a constant");
            parse_hint(c->p, d, "mov the address to a register first");
            return false;
        }
        if (type && (ptx_types[type].kind == PTX_K_FLT || ptx_type_bytes(type) < 2)) {
            parse_error(c->p, c->at[i], "an address does not fit .%s",
                        ptx_types[type].text);
            return false;
        }
        return o->kind == PTX_OPD_FUNCSYM || check_space(c, i, o);
    default:
        parse_wrong_kind(c, i, o, "a register or a constant");
        return false;
    }
}

static bool
check_vector(struct check *c, unsigned i, const struct ptx_operand *o, unsigned type,
             bool dest, unsigned count, bool wider)
{
    if (o->n != count) {
        parse_error(c->p, c->at[i], "operand %u of '%s' must have %u elements, it has %u",
                    i + 1, mnemonic(c), count, o->n);
        return false;
    }
    for (unsigned k = 0; k < o->n; k++) {
        const struct ptx_operand *e = &o->vec[k];
        if (e->kind == PTX_OPD_NONE || (dest && e->kind == PTX_OPD_SINK))
            continue;
        if (dest && e->kind != PTX_OPD_REG) {
            parse_wrong_kind(c, i, e, "a vector of registers");
            return false;
        }
        if (!check_value(c, i, e, type, wider))
            return false;
    }
    return true;
}

/* mov with a list: the elements share the size of the whole. */
static bool
check_pack(struct check *c, unsigned i, const struct ptx_operand *o, unsigned bytes,
           bool dest)
{
    unsigned type = c->in->ntypes ? c->in->type[0] : 0;
    if (ptx_types[type].kind != PTX_K_BITS) {
        struct diag *d =
            parse_error(c->p, c->at[i], "a vector in mov needs a type of bits, not .%s",
                        ptx_types[type].text);
        parse_hint(c->p, d, "write mov.b%u", bytes * 8);
        return false;
    }
    if (o->n != 2 && o->n != 4) {
        parse_error(c->p, c->at[i], "mov packs 2 or 4 elements, not %u", o->n);
        return false;
    }
    unsigned each = bytes / o->n;
    static const uint8_t bits[] = {0, PTX_B8, PTX_B16, 0, PTX_B32, 0, 0, 0, PTX_B64};
    if (!each || each > 8 || each * o->n != bytes) {
        parse_error(c->p, c->at[i], "%u bytes cannot be split into %u elements", bytes,
                    o->n);
        return false;
    }
    return check_vector(c, i, o, bits[each], dest, o->n, false);
}

/* A register of a matrix fragment has 32 bits, or holds an f64. How many there must be is
 * found when the instruction is decoded. */
static bool
check_fragment(struct check *c, unsigned i, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_REG) {
        parse_wrong_kind(c, i, o, "a list of registers");
        return false;
    }
    const struct ptx_reg *r = &c->p->f->regs.v[o->reg];
    unsigned bytes = ptx_type_bytes(r->type);
    if (!r->vec && (bytes == 4 || r->type == PTX_F64 || r->type == PTX_B64))
        return true;
    parse_error(c->p, c->at[i],
                "'%.100s' is .%s; the registers of a fragment have 32 bits, or .f64",
                r->name, ptx_types[r->type].text);
    return false;
}

static bool
check_memory(struct check *c, unsigned i, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_ADDR) {
        struct diag *d = parse_wrong_kind(c, i, o, "a memory operand");
        parse_hint(c->p, d, "put it in square brackets");
        return false;
    }
    if (o->reg >= 0) {
        const struct ptx_reg *r = &c->p->f->regs.v[o->reg];
        unsigned kind = ptx_types[r->type].kind, bytes = ptx_type_bytes(r->type);
        if (kind == PTX_K_FLT || kind == PTX_K_PRED || bytes > 8) {
            struct diag *d =
                parse_error(c->p, c->at[i], "'%.100s' is .%s and cannot hold an address",
                            r->name, ptx_types[r->type].text);
            parse_hint(c->p, d,
                       "an address is in a register of .b32, .u32, .b64 or the like");
            return false;
        }
        if (r->vec && !o->comp) {
            parse_error(c->p, c->at[i], "vector register '%.100s' needs a component here",
                        r->name);
            return false;
        }
    }
    return !o->var || check_space(c, i, o);
}

bool
parse_check_slot(struct check *c, unsigned i, const struct ptx_operand *o,
                 const struct slot *x)
{
    unsigned bytes, type = slot_type(c, x, &bytes);
    const char *mn = mnemonic(c);
    /* Of cvt a register may be wider, but not that of a format (e4m3x2, e2m1x2). */
    bool cvt = mn[0] == 'c' && mn[1] == 'v' && mn[2] == 't' && !mn[3] &&
               ptx_types[type].kind != PTX_K_FORMAT;
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
            struct diag *d = parse_wrong_kind(c, i, o, "a register");
            parse_hint(c->p, d, "it is written by the instruction");
            return false;
        }
        if (o->neg) {
            parse_error(c->p, c->at[i], "a destination cannot be negated");
            return false;
        }
        return parse_check_reg(c, i, o, type, cvt);
    case 'r':
        if (o->kind != PTX_OPD_REG) {
            struct diag *d = parse_wrong_kind(c, i, o, "a register");
            parse_hint(c->p, d, "mov it to a register first");
            return false;
        }
        return parse_check_reg(c, i, o, type, cvt);
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
            parse_wrong_kind(c, i, o, "a predicate");
            return false;
        }
        return parse_check_reg(c, i, o, PTX_PRED, false);
    case 'm':
        return check_memory(c, i, o);
    case 'V':
    case 'S': {
        bool dest = x->letter == 'V';
        unsigned v = c->in->mod[PTX_MG_VEC];
        unsigned count = v == PTX_VEC_V2   ? 2
                         : v == PTX_VEC_V4 ? 4
                         : v == PTX_VEC_V8 ? 8
                                           : 1;
        if (o->kind == PTX_OPD_VEC && !o->neg) {
            if (count == 1 && o->n != 1) {
                struct diag *d = parse_error(
                    c->p, c->at[i], "'%s' without .v2 or .v4 takes one register", mn);
                parse_hint(c->p, d, "add .v%u", o->n);
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
                parse_error(c->p, c->at[i], "'%.100s' is .%s, the instruction says .%s",
                            r->name, ptx_types[r->type].text, ptx_types[type].text);
                return false;
            }
            struct diag *d =
                parse_error(c->p, c->at[i], "operand %u of '%s' must have %u elements",
                            i + 1, mn, count);
            parse_hint(c->p, d, "write them in braces");
            return false;
        }
        if (dest && o->kind != PTX_OPD_REG) {
            parse_wrong_kind(c, i, o, "a register");
            return false;
        }
        return check_value(c, i, o, type, true);
    }
    case 't':
        if (o->kind == PTX_OPD_VEC && o->neg && o->vec[0].kind == PTX_OPD_ADDR)
            return true; /* the rest is looked at where it is decoded */
        parse_wrong_kind(c, i, o, "[texture, {coordinates}]");
        return false;
    case 'L':
    case 'M':
        if (o->kind == PTX_OPD_REG)
            return check_fragment(c, i, o);
        if (o->kind != PTX_OPD_VEC || o->neg) {
            parse_wrong_kind(c, i, o, "a list of registers");
            return false;
        }
        for (unsigned k = 0; k < o->n; k++)
            if (!check_fragment(c, i, &o->vec[k]))
                return false;
        return true;
    case 'l':
    case 'x':
        return true; /* resolved later */
    }
    return true;
}

static bool
barrier_number(struct check *c, unsigned i)
{
    if (c->in->ops[i].kind != PTX_OPD_IMM || c->in->ops[i].imm < 16)
        return true;
    parse_error(c->p, c->at[i], "a barrier has a number from 0 to 15");
    return false;
}

/* Operand i and nothing behind it is there, as a cache policy, if and only if the
 * instruction has .L2::cache_hint; what stands before it is there. */
static bool
check_policy(struct check *c, unsigned i)
{
    const struct ptx_inst *in = c->in;
    unsigned n = in->nops;
    while (n && in->ops[n - 1].kind == PTX_OPD_NONE)
        n--;
    if (n != i + (in->mod[PTX_MG_L2HINT] != 0))
        return false;
    return n == i || in->ops[i].kind != PTX_OPD_REG ||
           parse_check_reg(c, i, &in->ops[i], PTX_B64, false);
}

/* What the pattern cannot say. */
bool
parse_check_rest(struct check *c, struct place where)
{
    const struct ptx_inst *in = c->in;
    const int number = ptx_inst_barrier(in);
    if (number >= 0 && !barrier_number(c, (unsigned)number))
        return false;
    switch (in->op) {
    case PTX_OP_ATOM:
    case PTX_OP_ATOMH: {
        static const struct slot value = {.letter = 'a'};
        bool cas = in->mod[PTX_MG_ATOMOP] == PTX_ATOMOP_CAS;
        if (cas && in->ops[3].kind != PTX_OPD_NONE &&
            !parse_check_slot(c, 3, &in->ops[3], &value))
            return false;
        if (check_policy(c, 3 + cas))
            return true;
        struct diag *d = parse_error(c->p, where, "atom.%s takes %d operands%s",
                                     ptx_mods[in->mod[PTX_MG_ATOMOP]].text, cas ? 4 : 3,
                                     in->mod[PTX_MG_L2HINT] ? " and a cache policy" : "");
        if (cas)
            parse_hint(c->p, d, "destination, [address], compare value, new value");
        return false;
    }
    case PTX_OP_LD:
    case PTX_OP_ST:
    case PTX_OP_RED:
    case PTX_OP_REDH:
        if (check_policy(c, 2))
            return true;
        parse_error(c->p, where, "%s takes 2 operands%s", mnemonic(c),
                    in->mod[PTX_MG_L2HINT] ? " and a cache policy" : "");
        return false;
    case PTX_OP_SHFL: {
        bool sync = in->mod[PTX_MG_SYNC];
        if (sync == (in->ops[5].kind != PTX_OPD_NONE))
            return true;
        struct diag *d = parse_error(c->p, where,
                                     sync ? "shfl.sync needs a member mask"
                                          : "shfl without .sync takes no member mask");
        parse_hint(c->p, d, "the last operand is the mask of lanes that take part");
        return false;
    }
    case PTX_OP_VOTEP:
    case PTX_OP_VOTEB: {
        bool sync = in->mod[PTX_MG_SYNC];
        if (sync == (in->ops[2].kind != PTX_OPD_NONE))
            return true;
        parse_error(c->p, where,
                    sync ? "vote.sync needs a member mask"
                         : "vote without .sync takes no member mask");
        return false;
    }
    case PTX_OP_BFE:
    case PTX_OP_BFI:
        for (unsigned k = in->op == PTX_OP_BFI ? 3 : 2; k < in->nops; k++)
            if (in->ops[k].kind == PTX_OPD_IMM && in->ops[k].imm > 255) {
                parse_error(c->p, c->at[k], "a position or length in %s is from 0 to 255",
                            mnemonic(c));
                return false;
            }
        return true;
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        if (in->mod[PTX_MG_ARRIVE] && in->ops[1].kind == PTX_OPD_NONE) {
            parse_error(c->p, where, "%s.arrive needs the number of threads",
                        mnemonic(c));
            return false;
        }
        return true;
    }
    return true;
}
