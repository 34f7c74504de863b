/* parse_inst.c: one instruction: guard, mnemonic, operands, semicolon.
 *
 * Operands are read without regard to the pattern of the row (their syntax tells them
 * apart), then laid over it: fewer than the pattern has means that its last optional ones
 * are left out. */
#include "ptx/parse_int.h"

static bool
call_list(struct parser *p, struct ptx_operand *o)
{
    *o = ptx_blank(PTX_OPD_VEC);
    parse_next(p);
    if (!parse_operand_list(p, o, ')', "',' or ')'"))
        return false;
    if (!o->n)
        *o = ptx_blank(PTX_OPD_NONE);
    return true;
}

static void
check_call(struct parser *p, struct ptx_inst *in, struct place where)
{
    const struct ptx_operand *t = &in->ops[1];
    const struct ptx_func *f = t->kind == PTX_OPD_FUNCSYM           ? t->func
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
                parse_error(p, where, "%s cannot be %s of a call", parse_operand_text(e),
                            side ? "an argument" : "a result");
        }
    }
    if (!f || f->targets.n)
        return;
    if (f->is_entry) {
        struct diag *d =
            parse_error(p, where, "kernel '%.100s' cannot be called", f->name);
        parse_hint(p, d, "only a .func can");
        return;
    }
    size_t nr = in->ops[0].n, na = in->ops[2].n;
    bool variadic = f->params.n && f->params.v[f->params.n - 1]->dynamic;
    if (nr != f->rets.n || (variadic ? na + 1 < f->params.n : na != f->params.n))
        parse_error(
            p, where,
            "'%.100s' takes %zu argument%s and returns %zu, the call has %zu and %zu",
            f->name, f->params.n, f->params.n == 1 ? "" : "s", f->rets.n, na, nr);
}

static bool
pend(struct parser *p, struct ptx_operand *o, bool proto)
{
    if (!at(p, T_ID))
        return parse_expected(p, proto ? "a prototype" : "a label");
    struct pending *x = vec_push(&p->pend);
    *x = (struct pending){o, parse_name_get(p, p->tok.s, p->tok.n), here(p), proto};
    parse_next(p);
    return true;
}

/* call{.uni} {(ret), } f {, (args)} {, prototype} ; */
static bool
parse_call(struct parser *p, struct ptx_inst *in)
{
    struct place where;
    struct ptx_operand *o = in->ops;
    if (at(p, '(') && (!call_list(p, &o[0]) || !parse_need(p, ',', "','")))
        return false;
    where = here(p);
    if (!at(p, T_ID))
        return parse_expected(p, "a function");
    struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
    parse_next(p);
    if (!nm->top) {
        struct diag *d =
            parse_error(p, where, "function '%.100s' is not declared", nm->s);
        parse_hint_name(p, d, nm, 1u << B_FUNC | 1u << B_REG);
    } else if (nm->top->kind == B_FUNC) {
        o[1].kind = PTX_OPD_FUNCSYM;
        o[1].func = nm->top->ptr;
    } else if (nm->top->kind == B_REG) {
        o[1].kind = PTX_OPD_REG;
        o[1].reg = nm->top->index;
        const struct ptx_reg *r = &p->f->regs.v[o[1].reg];
        if (ptx_types[r->type].kind == PTX_K_FLT || ptx_type_bytes(r->type) < 4 || r->vec)
            parse_error(p, where,
                        "'%.100s' is .%s and cannot hold the address of a function",
                        r->name, ptx_types[r->type].text);
    } else {
        parse_error(p, where, "'%.100s' is a %s, not a function", nm->s,
                    parse_kind_text(nm->top->kind));
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
        struct diag *d = parse_error(p, where, "an indirect call needs a prototype");
        parse_hint(p, d,
                   "declare one with .callprototype and name it behind the arguments");
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
            parse_error(p, here(p), "too many operands");
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
                parse_error(p, where, "'|' joins the first two operands only");
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
        parse_error(p, where, "'%s' has one destination, not two joined by '|'",
                    r->info->mnemonic);
        return false;
    }
    unsigned written = n - (second >= 0), least = 0;
    for (unsigned k = 0; k < r->nslots; k++) {
        least += !r->slot[k].joined && !r->slot[k].optional;
        if (r->slot[k].joined && !r->slot[k].optional && second < 0) {
            parse_error(p, where, "'%s' has two destinations, joined by '|'",
                        r->info->mnemonic);
            return false;
        }
    }
    if (written < least || written > total) {
        struct strbuf b = {0};
        if (least == total)
            strbuf_printf(&b, "%u", total);
        else
            strbuf_printf(&b, "%u to %u", least, total);
        parse_error(p, where, "'%s' takes %s operand%s, %u written", r->info->mnemonic,
                    b.s, total == 1 ? "" : "s", written);
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
        return parse_expected(p, "a predicate register");
    struct place where = here(p);
    struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
    parse_next(p);
    if (!nm->top) {
        parse_undeclared(p, nm, where);
    } else if (nm->top->kind != B_REG || p->f->regs.v[nm->top->index].type != PTX_PRED) {
        parse_error(p, where, "'%.100s' is not a predicate register", nm->s);
    } else {
        *reg = nm->top->index;
    }
    return true;
}

/* The power state that stands here, PTX_POWER_NONE: another operand. A name that is
 * declared is an operand, whatever it is called. */
static enum ptx_power
power_state(struct parser *p)
{
    if (!at(p, T_ID))
        return PTX_POWER_NONE;
    for (unsigned k = PTX_POWER_ON; k <= PTX_POWER_OFF; k++)
        if (p->tok.n == strlen(ptx_power_names[k]) &&
            !memcmp(p->tok.s, ptx_power_names[k], p->tok.n) &&
            !parse_name_get(p, p->tok.s, p->tok.n)->top)
            return (enum ptx_power)k;
    return PTX_POWER_NONE;
}

/* The list of states behind the operands: one for each register that can have one. */
static bool
parse_power(struct parser *p, uint8_t *power, unsigned *n, struct place *where)
{
    enum ptx_power state;
    *where = here(p);
    do {
        if ((state = power_state(p)) == PTX_POWER_NONE)
            return parse_expected(p, "a power state (ON, SLEEP, OFF)");
        if (*n < PTX_POWER_REGS)
            *power |= (uint8_t)(state << 2 * *n);
        ++*n;
        parse_next(p);
    } while (take(p, ','));
    return true;
}

static void
check_power(struct parser *p, const struct ptx_inst *in, unsigned n, struct place where)
{
    int32_t reg[PTX_POWER_REGS];
    unsigned due = ptx_power_regs(in, reg);
    if (n == due)
        return;
    struct diag *d = parse_error(p, where,
                                 "%u power state%s, but '%s' has %u register%s that "
                                 "can have one",
                                 n, n == 1 ? "" : "s", ptx_ops[in->op].mnemonic, due,
                                 due == 1 ? "" : "s");
    parse_hint(p, d,
               "write one for the first destination and each of the first two source "
               "registers, none for guards and addresses");
}

bool
parse_inst(struct parser *p)
{
    int32_t g;
    bool neg;
    if (!guard(p, &g, &neg))
        return false;
    if (!at(p, T_ID))
        return parse_expected(p, "an instruction");
    struct place where = here(p);
    const struct form *form = parse_form(p);
    if (!form)
        return false;
    const struct row *r = form->row;
    p->select = r->info->flags & PTX_SELECT;
    struct ptx_operand ops[MAX_SLOTS];
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
        for (unsigned k = 0; k < r->nslots; k++)
            ops[k] = ptx_blank(PTX_OPD_NONE);
        /* Those that wait for a label or prototype must not move. */
        bool stay = in.op == PTX_OP_BRA || in.op == PTX_OP_BRX || in.op == PTX_OP_CALL;
        in.ops = stay ? arena_dup(&p->m->mem, ops, r->nslots * sizeof *ops) : ops;
    }
    if (in.op == PTX_OP_CALL) {
        if (!parse_call(p, &in))
            return false;
    } else if (in.op == PTX_OP_BRA) {
        if (!pend(p, &in.ops[0], false))
            return false;
    } else if (in.op == PTX_OP_BRX) {
        if (!parse_operand(p, &in.ops[0]) || !parse_need(p, ',', "','") ||
            !pend(p, &in.ops[1], false))
            return false;
        struct check c = {p, r, &in, &where};
        if (in.ops[0].kind == PTX_OPD_REG)
            parse_check_reg(&c, 0, &in.ops[0], PTX_U32, false);
        else if (in.ops[0].kind != PTX_OPD_NONE)
            parse_wrong_kind(&c, 0, &in.ops[0], "a register");
    } else if (!r->open) {
        struct ptx_operand v[MAX_SLOTS + 1];
        struct place places[MAX_SLOTS + 1], laid[MAX_SLOTS];
        bool joined[MAX_SLOTS + 1] = {false}, indexed[MAX_SLOTS + 1];
        int8_t from[MAX_SLOTS];
        unsigned n = 0;
        unsigned nstates = 0;
        struct place at_states = where;
        size_t before = p->errors;
        if (!at(p, ';') && !at(p, '}') && !at(p, T_EOF)) {
            do {
                if (n && p->last_end[-1] == ',' && power_state(p)) {
                    if (!parse_power(p, &in.power, &nstates, &at_states))
                        return false;
                    break;
                }
                const struct row *longer = n == r->nslots ? parse_longer_row(form) : NULL;
                if (longer) {
                    while (in.nops < longer->nslots)
                        ops[in.nops++] = ptx_blank(PTX_OPD_NONE);
                    in.op = (uint16_t)(longer->info - ptx_ops);
                    r = longer;
                }
                if (n > r->nslots || n == MAX_SLOTS) {
                    parse_error(p, here(p), "too many operands for '%s'",
                                r->info->mnemonic);
                    return false;
                }
                if (n)
                    joined[n] = p->last_end[-1] == '|';
                places[n] = here(p);
                p->indexed = false;
                if (!parse_operand(p, &v[n]))
                    return false;
                indexed[n] = p->indexed && v[n].kind == PTX_OPD_SYM;
                if (p->tok.line == places[n].line)
                    places[n].n = p->last.col - places[n].col;
                n++;
            } while (take(p, ',') || take(p, '|'));
            if (!at(p, ';') && !at(p, '}') && p->tok.line == p->last.line)
                return parse_expected(p, "',' or ';'");
        }
        where.n = form->n;
        if (lay(p, r, n, joined, from, where)) {
            for (unsigned k = 0; k < r->nslots; k++)
                if (from[k] >= 0) {
                    in.ops[k] = v[from[k]];
                    if (indexed[from[k]] && r->slot[k].letter == 'm')
                        in.ops[k].kind = PTX_OPD_ADDR; /* ld.global.u32 %r1, x[3] */
                    laid[k] = places[from[k]];
                } else {
                    laid[k] = where;
                }
            struct check c = {p, r, &in, laid};
            for (unsigned k = 0; k < r->nslots; k++)
                parse_check_slot(&c, k, &in.ops[k], &r->slot[k]);
            if (p->errors == before)
                parse_check_rest(&c, where);
            if (p->errors == before && nstates)
                check_power(p, &in, nstates, at_states);
        }
    }
    if (in.ops == ops) { /* optional operands at the end that anything may be: cut off */
        while (in.nops && r->slot[in.nops - 1].letter == 'x' &&
               ops[in.nops - 1].kind == PTX_OPD_NONE)
            in.nops--;
        in.ops = in.nops ? ARENA_ARRAY(&p->m->mem, struct ptx_operand, in.nops) : NULL;
        for (unsigned k = 0; k < in.nops; k++)
            in.ops[k] = ops[k];
    }
    *vec_push(&p->f->body) = in;
    return parse_need_semicolon(p);
}
