/* decode_pure.c: instructions that are lane functions: operands resolved by the pattern
 * of the opcode's row, and the handlers that pass rows to the function. */
#include "exec/exec_int.h"

#include <string.h>

/* -- pure instructions -- */

static enum exec_result
h_lane(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)s;
    void *const d[2] = {row(w, in->d[0]), row(w, in->d[1])};
    const void *const a[4] = {row(w, in->s[0]), row(w, in->s[1]), row(w, in->s[2]),
                              row(w, in->s[3])};
    in->lane(d, a, mask, in->aux);
    return EXEC_OK;
}

/* The common shapes: one destination, two or three sources. */
static enum exec_result
h_lane2(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    void *const d[2] = {row(w, in->d[0])};
    const void *const a[4] = {row(w, in->s[0]), row(w, in->s[1])};
    in->lane(d, a, mask, in->aux);
    return EXEC_OK;
}

static enum exec_result
h_lane3(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    void *const d[2] = {row(w, in->d[0])};
    const void *const a[4] = {row(w, in->s[0]), row(w, in->s[1]), row(w, in->s[2])};
    in->lane(d, a, mask, in->aux);
    return EXEC_OK;
}

/* An instruction with operands of other widths than its type says (cvt with wider
 * registers), or with negated predicates: they are brought into form first. */
struct adapt {
    lane_fn *lane;
    uint32_t aux;
    uint8_t nd, ns;
    struct {
        uint32_t ref;
        bool narrow,
            negate; /* source: 64-bit row read as 32-bit lanes; predicate inverted */
        bool sink;  /* destination: not wanted */
        uint8_t have, want; /* destination: bytes of the register and of the result; the
                             * result is extended where they differ */
        bool is_signed;
    } d[2], s[4];
};

static enum exec_result
h_adapt(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    const struct adapt *p = in->plan;
    _Alignas(64) union {
        uint64_t v64[LANES];
        uint32_t v32[2 * LANES];
    } scratch[6];
    void *d[2] = {&scratch[0], &scratch[1]};
    const void *a[4] = {&scratch[2], &scratch[2], &scratch[2], &scratch[2]};
    for (int i = 0; i < p->ns; i++) {
        const void *r = row(w, p->s[i].ref);
        a[i] = r;
        if (p->s[i].negate) {
            scratch[2 + i].v32[0] = ~*(const uint32_t *)r;
            a[i] = &scratch[2 + i];
        } else if (p->s[i].narrow) {
            for (int k = 0; k < LANES; k++)
                scratch[2 + i].v32[k] = (uint32_t)((const uint64_t *)r)[k];
            a[i] = &scratch[2 + i];
        }
    }
    for (int i = 0; i < p->nd; i++)
        if (!p->d[i].sink && p->d[i].have == p->d[i].want)
            d[i] = row(w, p->d[i].ref);
    p->lane(d, a, mask, p->aux);
    for (int i = 0; i < p->nd; i++) {
        if (p->d[i].sink || p->d[i].have == p->d[i].want)
            continue;
        const uint32_t *v = d[i];
        unsigned shift = 64 - 8 * p->d[i].want;
        FOR_BITS(k, mask)
        {
            uint64_t x = (uint64_t)v[k] << shift;
            x = p->d[i].is_signed ? (uint64_t)((int64_t)x >> shift) : x >> shift;
            if (p->d[i].have == 8)
                ((uint64_t *)row(w, p->d[i].ref))[k] = x;
            else
                ((uint32_t *)row(w, p->d[i].ref))[k] =
                    (uint32_t)x & (p->d[i].have == 2 ? 0xffff : FULL_MASK);
        }
    }
    return EXEC_OK;
}

/* Type a pattern token gives its operand; 0: none. */
static unsigned
token_bytes(const struct ptx_inst *in, const char *tok)
{
    unsigned t = 0, bytes;
    if (*tok == 'U' || *tok == 'u')
        return 4;
    if (*tok == 'P' || *tok == 'p')
        return 0;
    if (tok[1] >= '0' && tok[1] <= '9')
        t = (unsigned)(tok[1] - '0');
    bytes = t < in->ntypes ? ptx_type_bytes(in->type[t]) : 4;
    if (tok[1] && tok[2] == 'w')
        bytes *= 2;
    if (tok[1] && tok[2] == 'h')
        bytes /= 2;
    return bytes;
}

static unsigned
token_type(const struct ptx_inst *in, const char *tok)
{
    unsigned t = 0, bytes = token_bytes(in, tok);
    if (*tok == 'U' || *tok == 'u')
        return PTX_B32;
    if (*tok == 'P' || *tok == 'p')
        return PTX_PRED;
    if (tok[1] >= '0' && tok[1] <= '9')
        t = (unsigned)(tok[1] - '0');
    unsigned type = t < in->ntypes ? in->type[t] : PTX_B32;
    if (ptx_type_bytes(type) == bytes)
        return type;
    return bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : bytes == 2 ? PTX_B16 : PTX_B8;
}

const char decode_no_form[] = "these types and modifiers do not go together";

bool
decode_pure(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    struct adapt ad = {0};
    bool special = false;
    uint32_t aux = 0;
    lane_fn *lane = lane_select(in, &aux);
    if (!lane)
        return decode_refuse(d, "%s", decode_no_form);
    const char *tok = ptx_ops[in->op].operands;
    unsigned nd = 0, ns = 0;
    for (unsigned i = 0; i < in->nops && *tok; i++) {
        const struct ptx_operand *o = &in->ops[i];
        bool dest = *tok == 'd' || *tok == 'P' || *tok == 'U';
        unsigned type = token_type(in, tok);
        if ((dest && nd >= 2) || (!dest && ns >= 4))
            return decode_refuse(d, "too many operands");
        if (o->kind == PTX_OPD_NONE || (dest && o->kind == PTX_OPD_SINK)) {
            if (dest) {
                ad.d[nd].sink = true;
                special |= o->kind == PTX_OPD_SINK;
                nd++;
            } else {
                ad.s[ns++].ref = decode_const_row(d, 0, 8);
            }
        } else if (dest) {
            bool wide = false;
            ad.d[nd].ref = type == PTX_PRED ? decode_operand(d, o, PTX_PRED)
                                            : decode_row(d, o, type, &wide);
            if (ad.d[nd].ref == REF_NONE)
                return false;
            unsigned have =
                         type == PTX_PRED ? 0 : ptx_type_bytes(decode_operand_type(d, o)),
                     want = ptx_type_bytes(type);
            if (have < want)
                return decode_refuse(d, "the destination has %u bits, the result %u",
                                     have * 8, want * 8);
            ad.d[nd].have = (uint8_t)have;
            ad.d[nd].want = (uint8_t)want;
            ad.d[nd].is_signed = ptx_types[type].kind == PTX_K_SINT;
            special |= have != want;
            nd++;
        } else {
            bool wide = false;
            struct ptx_operand c = *o;
            if (type == PTX_PRED && c.kind == PTX_OPD_REG && c.neg) {
                ad.s[ns].negate = special = true;
                c.neg = false;
            }
            ad.s[ns].ref = type == PTX_PRED ? decode_operand(d, &c, PTX_PRED)
                                            : decode_row(d, &c, type, &wide);
            if (ad.s[ns].ref == REF_NONE)
                return false;
            unsigned want = ptx_type_bytes(type);
            if (c.kind == PTX_OPD_REG && type != PTX_PRED &&
                ptx_type_bytes(decode_operand_type(d, &c)) < want)
                return decode_refuse(
                    d, "operand %u has %u bits, the instruction needs %u", i + 1,
                    ptx_type_bytes(decode_operand_type(d, &c)) * 8, want * 8);
            if (type != PTX_PRED && wide && want < 8)
                ad.s[ns].narrow = special = true;
            else if (type != PTX_PRED && !wide && want == 8)
                return decode_refuse(
                    d, "operand %u has 32 bits, the instruction needs 64", i + 1);
            ns++;
        }
        while (*tok && *tok != ',' && *tok != '|')
            tok++;
        if (*tok)
            tok++;
    }
    if (in->mod[PTX_MG_CC] || ptx_ops[in->op].flags & PTX_CCIN) {
        ad.d[1].ref = d->fi->cc;
        ad.d[1].sink = false;
        ad.d[1].have = ad.d[1].want = 0;
        nd = 2;
    }
    for (unsigned i = 0; i < 2; i++)
        if (i >= nd)
            ad.d[i].sink = true;
    if (nd == 2 && ad.d[1].sink)
        nd = 1;
    for (unsigned i = in->nops; i-- && ns && in->ops[i].kind == PTX_OPD_NONE;)
        ns--; /* optional sources at the end that were left out */
    ad.lane = lane;
    ad.aux = aux;
    ad.nd = (uint8_t)nd;
    ad.ns = (uint8_t)ns;
    if (special || !nd || ad.d[0].sink) {
        struct adapt *p = ARENA_NEW(&d->pp->mem, struct adapt);
        *p = ad;
        x->plan = p;
        x->fn = h_adapt;
        x->form = FORM_PURE;
        return true;
    }
    x->lane = lane;
    x->aux = aux;
    for (unsigned i = 0; i < 2; i++)
        x->d[i] = i < nd && !ad.d[i].sink ? ad.d[i].ref : ad.d[0].ref;
    for (unsigned i = 0; i < 4; i++)
        x->s[i] = i < ns ? ad.s[i].ref : decode_const_row(d, 0, 8);
    x->fn = nd == 1 && ns <= 2 ? h_lane2 : nd == 1 && ns == 3 ? h_lane3 : h_lane;
    x->form = nd == 1 && ns <= 3 ? FORM_LANE : FORM_PURE;
    x->nvec = (uint8_t)ns;
    return true;
}
