/* exec_video.c: video instructions: scalars on bytes, halves or words of 32-bit
 * registers, and two- and four-way SIMD on any halves or bytes of two registers, each
 * with a secondary operation.
 *
 * PTX ISA 9.0, 9.7.18; where a card computes something else, as the card (docs/ptx.md,
 * "What a card answers"). Lane by lane: nobody waits for these. */
#include "exec/exec_int.h"

#include <string.h>

enum video_op {
    V_ADD,
    V_SUB,
    V_AVRG,
    V_ABSDIFF,
    V_MIN,
    V_MAX,
    V_SHL,
    V_SHR,
    V_MAD,
    V_SET
};
enum video_second { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };

struct video_plan {
    uint8_t op, second; /* enum video_op, enum video_second */
    uint8_t ways;       /* 1, 2 or 4 */
    bool sd, sa, sb;    /* signed: result, a, b */
    bool sat, wrap, po, neg_ab, neg_c;
    bool merges;               /* scalar: the result goes into the part `dsel` of c */
    uint8_t shift;             /* vmad: 0, 7 or 15 */
    uint8_t cmp;               /* vset: enum ptx_mod of group CMP */
    uint16_t dsel, asel, bsel; /* PTX_SEL_..., 0: the whole register (scalar) */
    uint32_t d, a, b, c;       /* rows */
};

static int64_t
extended(uint64_t v, unsigned bits, bool is_signed)
{
    unsigned up = 64 - bits;
    return is_signed ? (int64_t)(v << up) >> up : (int64_t)(v << up >> up);
}

/* The i-th selected part of the register pair b:a. */
static int64_t
part(uint64_t pair, unsigned sel, unsigned i, bool is_signed)
{
    if (!sel)
        return extended(pair, 32, is_signed);
    unsigned bits = PTX_SEL_HALF(sel) ? 16 : 8;
    return extended(pair >> PTX_SEL_DIGIT(sel, i) * bits, bits, is_signed);
}

static int64_t
clamped(int64_t v, unsigned bits, bool is_signed)
{
    int64_t most = ((int64_t)1 << (bits - is_signed)) - 1,
            least = is_signed ? -most - 1 : 0;
    return v > most ? most : v < least ? least : v;
}

static bool
holds(unsigned cmp, int64_t a, int64_t b)
{
    switch (cmp) {
    case PTX_CMP_EQ:
        return a == b;
    case PTX_CMP_NE:
        return a != b;
    case PTX_CMP_LT:
        return a < b;
    case PTX_CMP_LE:
        return a <= b;
    case PTX_CMP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static int64_t
primary(const struct video_plan *p, int64_t a, int64_t b)
{
    switch (p->op) {
    case V_ADD:
        return a + b;
    case V_SUB:
        return a - b;
    case V_AVRG: /* halves away from zero */
        return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case V_ABSDIFF:
        return a > b ? a - b : b - a;
    case V_MIN:
        return a < b ? a : b;
    case V_MAX:
        return a > b ? a : b;
    case V_SHL:
    case V_SHR: /* b is the amount, unsigned */
        b = p->wrap ? b & 31 : b > 32 ? 32 : b;
        return p->op == V_SHR ? a >> b : (int64_t)((uint64_t)a << b);
    default:
        return holds(p->cmp, a, b);
    }
}

/* .sat of a scalar operation, as a card has it. bits: of the part it goes into. */
static int64_t
saturated(const struct video_plan *p, int64_t t, unsigned bits, bool shifts)
{
    if (shifts) /* whatever the part, and of 34 bits */
        return clamped(extended((uint64_t)t, 34, true), 32, p->sd);
    if (bits < 32) { /* compared without sign: a negative number is large */
        uint64_t most = (1u << (bits - p->sd)) - 1;
        return (int64_t)((uint64_t)t > most ? most : (uint64_t)t);
    }
    if (p->sd)
        return clamped(t, 32, true);
    return t < 0 ? 0 : t; /* no upper bound */
}

static uint32_t
scalar(const struct video_plan *p, uint32_t ra, uint32_t rb, uint32_t rc)
{
    int64_t t = primary(p, part(ra, p->asel, 0, p->sa), part(rb, p->bsel, 0, p->sb));
    unsigned bits = !p->merges ? 32 : PTX_SEL_HALF(p->dsel) ? 16 : 8;
    bool sums = p->op == V_ADD || p->op == V_SUB,
         shifts = p->op == V_SHL || p->op == V_SHR;
    if (p->sat)
        t = saturated(p, t, bits, shifts);
    if (sums || (shifts && p->sat)) /* 32 bits, of any type, compared as signed ones */
        t = (int32_t)t;
    int64_t c = extended(rc, 32, p->sd);
    bool less = p->sd ? t < c : (uint64_t)t < (uint64_t)c;
    switch (p->second) {
    case SECOND_ADD:
        return (uint32_t)(t + c);
    case SECOND_MIN:
        return (uint32_t)(less ? t : c);
    case SECOND_MAX:
        return (uint32_t)(less ? c : t);
    default:
        break;
    }
    if (!p->merges)
        return (uint32_t)t;
    unsigned at = PTX_SEL_DIGIT(p->dsel, 0) * bits;
    uint32_t field = ((1u << bits) - 1) << at;
    if (at == 16 && bits == 16) /* .h1: the upper half, against the ISA */
        at = 0;
    return ((uint32_t)t << at & field) | (rc & ~field);
}

/* A card multiplies words, and adds c, as signed ones whatever their types. */
static uint32_t
multiply_add(const struct video_plan *p, uint32_t ra, uint32_t rb, uint32_t rc)
{
    bool is_signed = p->sa || p->sb || p->neg_ab || p->neg_c;
    int64_t t = (int64_t)(int32_t)part(ra, p->asel, 0, p->sa) *
                (int32_t)part(rb, p->bsel, 0, p->sb),
            c = (int32_t)rc;
    t = (p->neg_ab ? -t : t) + (p->neg_c ? -c : c) + p->po;
    t = is_signed ? t >> p->shift : (int64_t)((uint64_t)t >> p->shift);
    return (uint32_t)(p->sat ? clamped(t, 32, is_signed) : t);
}

static uint32_t
simd(const struct video_plan *p, uint32_t ra, uint32_t rb, uint32_t rc)
{
    uint64_t pair = (uint64_t)rb << 32 | ra;
    unsigned bits = 32 / p->ways;
    uint32_t sum = rc, merged = rc;
    for (unsigned k = 0; k < PTX_SEL_DIGITS(p->dsel); k++) { /* the mask's elements */
        unsigned i = PTX_SEL_DIGIT(p->dsel, k);
        int64_t t =
            primary(p, part(pair, p->asel, i, p->sa), part(pair, p->bsel, i, p->sb));
        if (p->sat)
            t = clamped(t, bits, p->sd);
        uint32_t field = ((1u << bits) - 1) << i * bits;
        sum += (uint32_t)t;
        merged = ((uint32_t)t << i * bits & field) | (merged & ~field);
    }
    return p->second == SECOND_ADD ? sum : merged;
}

static enum exec_result
h_video(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    const struct video_plan *p = in->plan;
    uint32_t *d = row(w, p->d);
    const uint32_t *a = row(w, p->a), *b = row(w, p->b), *c = row(w, p->c);
    FOR_BITS(i, mask)
    d[i] = p->ways > 1      ? simd(p, a[i], b[i], c[i])
           : p->op == V_MAD ? multiply_add(p, a[i], b[i], c[i])
                            : scalar(p, a[i], b[i], c[i]);
    return EXEC_OK;
}

/* -- decoding -- */

/* The selector of a source: one part (scalar), or `ways` of them (SIMD). */
static bool
source_selector(struct decoder *d, const struct ptx_operand *o, unsigned ways,
                unsigned usual, uint16_t *sel)
{
    unsigned s = o->kind == PTX_OPD_REG ? o->sreg : 0;
    *sel = (uint16_t)(s ? s : usual);
    if (!s)
        return true;
    if (PTX_SEL_DIGITS(s) != ways || (ways > 1 && PTX_SEL_HALF(s) != (ways == 2)) ||
        (ways == 1 && PTX_SEL_DIGIT(s, 0) > (PTX_SEL_HALF(s) ? 1u : 3u)))
        return decode_refuse(d,
                             ways == 1 ? "a source is selected by .b0 to .b3, .h0 or .h1"
                             : ways == 2 ? "sources are selected by .h and two digits"
                                         : "sources are selected by .b and four digits");
    return true;
}

/* The mask of a SIMD instruction names elements once, in falling order. */
static bool
mask_selector(struct decoder *d, const struct ptx_operand *o, unsigned ways,
              uint16_t *sel)
{
    unsigned s = o->sreg;
    *sel = (uint16_t)(s ? s : ways == 2 ? PTX_SEL(2, 1) | 010 : PTX_SEL(4, 0) | 03210);
    bool ok = !s || PTX_SEL_HALF(s) == (ways == 2);
    for (unsigned i = 0; ok && i < PTX_SEL_DIGITS(s); i++)
        ok = PTX_SEL_DIGIT(s, i) < ways &&
             (!i || PTX_SEL_DIGIT(s, i) > PTX_SEL_DIGIT(s, i - 1));
    return ok ||
           decode_refuse(d, ways == 2 ? "the mask is .h0, .h1 or .h10"
                                      : "the mask is .b and digits from 3 to 0, falling");
}

static bool
read_operands(struct decoder *d, struct video_plan *p)
{
    const struct ptx_inst *in = d->in;
    const struct ptx_operand *o = in->ops;
    bool has_c = o[3].kind != PTX_OPD_NONE;
    if (o[0].kind != PTX_OPD_REG)
        return decode_refuse(d, "a destination register is needed");
    p->dsel = o[0].sreg;
    if (p->ways == 1) {
        p->merges = p->dsel;
        if (p->dsel && (PTX_SEL_DIGITS(p->dsel) != 1 ||
                        PTX_SEL_DIGIT(p->dsel, 0) > (PTX_SEL_HALF(p->dsel) ? 1u : 3u)))
            return decode_refuse(d,
                                 "a destination is selected by .b0 to .b3, .h0 or .h1");
        if (p->op == V_MAD && p->merges)
            return decode_refuse(d, "vmad does not merge");
        if (p->merges && p->second)
            return decode_refuse(
                d, "a selected destination and a secondary operation exclude each other");
        if (has_c != (p->merges || p->second || p->op == V_MAD))
            return decode_refuse(
                d, has_c
                       ? "a third operand needs a secondary operation or a selected "
                         "destination"
                       : "a secondary operation or a selected destination needs a third "
                         "operand");
    } else if (!mask_selector(d, &o[0], p->ways, &p->dsel)) {
        return false;
    }
    unsigned usual_a = p->ways == 2 ? PTX_SEL(2, 1) | 010 : PTX_SEL(4, 0) | 03210,
             usual_b = p->ways == 2 ? PTX_SEL(2, 1) | 032 : PTX_SEL(4, 0) | 07654;
    if (!source_selector(d, &o[1], p->ways, p->ways == 1 ? 0 : usual_a, &p->asel) ||
        !source_selector(d, &o[2], p->ways, p->ways == 1 ? 0 : usual_b, &p->bsel))
        return false;
    bool neg[4] = {false};
    uint32_t *rows[4] = {&p->d, &p->a, &p->b, &p->c};
    for (unsigned i = 0; i < (has_c ? 4u : 3u); i++) {
        struct ptx_operand x = o[i];
        neg[i] = x.kind == PTX_OPD_REG && x.neg;
        x.neg = false;
        if (neg[i] && (p->op != V_MAD || p->po || !i))
            return decode_refuse(d, "a minus sign is for operands of vmad without .po");
        *rows[i] = decode_operand(d, &x, PTX_B32);
        if (*rows[i] == REF_NONE)
            return false;
    }
    if (!has_c)
        p->c = decode_const_row(d, 0, 4);
    p->neg_ab = neg[1] != neg[2];
    p->neg_c = neg[3];
    return !(p->neg_ab && p->neg_c) ||
           decode_refuse(d, "vmad negates the product or c, not both");
}

static bool
dec_video(struct decoder *d)
{
    static const struct {
        const char *name;
        uint8_t op;
    } names[] = {{"absdiff", V_ABSDIFF}, {"add", V_ADD}, {"avrg", V_AVRG}, {"mad", V_MAD},
                 {"max", V_MAX},         {"min", V_MIN}, {"set", V_SET},   {"shl", V_SHL},
                 {"shr", V_SHR},         {"sub", V_SUB}};
    const struct ptx_inst *in = d->in;
    const char *mn = ptx_ops[in->op].mnemonic + 1;
    size_t n = strlen(mn);
    struct video_plan *p = ARENA_NEW(&d->pp->mem, struct video_plan);
    p->ways = mn[n - 1] == '2' ? 2 : mn[n - 1] == '4' ? 4 : 1;
    n -= p->ways > 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == n && !memcmp(names[i].name, mn, n))
            p->op = names[i].op;
    bool set = p->op == V_SET;
    p->sd = ptx_types[in->type[0]].kind == PTX_K_SINT; /* of vset: a's type, for c */
    p->sa = ptx_types[in->type[set ? 0 : 1]].kind == PTX_K_SINT;
    p->sb = ptx_types[in->type[set ? 1 : 2]].kind == PTX_K_SINT;
    p->sat = in->mod[PTX_MG_SAT];
    p->po = in->mod[PTX_MG_PO];
    p->wrap = in->mod[PTX_MG_SHIFT] == PTX_SHIFT_WRAP;
    p->shift = in->mod[PTX_MG_SCALE] == PTX_SCALE_SHR7    ? 7
               : in->mod[PTX_MG_SCALE] == PTX_SCALE_SHR15 ? 15
                                                          : 0;
    p->cmp = in->mod[PTX_MG_CMP];
    p->second = in->mod[PTX_MG_VOP2] == PTX_VOP2_ADD   ? SECOND_ADD
                : in->mod[PTX_MG_VOP2] == PTX_VOP2_MIN ? SECOND_MIN
                : in->mod[PTX_MG_VOP2] == PTX_VOP2_MAX ? SECOND_MAX
                                                       : SECOND_NONE;
    if (set && (p->cmp < PTX_CMP_EQ || p->cmp > PTX_CMP_GE))
        return decode_refuse(d, "integers are compared by .eq .ne .lt .le .gt .ge");
    if (p->ways > 1 && p->second > SECOND_ADD)
        return decode_refuse(d, "the secondary operation can only be .add");
    if (p->ways > 1 && p->second && p->sat)
        return decode_refuse(d, ".sat and .add exclude each other");
    d->out->plan = p;
    d->out->fn = h_video;
    d->out->form = FORM_PURE;
    return read_operands(d, p);
}

const struct decode_row decode_video[] = {
    {"vadd", dec_video},      {"vsub", dec_video},      {"vabsdiff", dec_video},
    {"vmin", dec_video},      {"vmax", dec_video},      {"vshl", dec_video},
    {"vshr", dec_video},      {"vmad", dec_video},      {"vset", dec_video},
    {"vadd2", dec_video},     {"vsub2", dec_video},     {"vavrg2", dec_video},
    {"vabsdiff2", dec_video}, {"vmin2", dec_video},     {"vmax2", dec_video},
    {"vset2", dec_video},     {"vadd4", dec_video},     {"vsub4", dec_video},
    {"vavrg4", dec_video},    {"vabsdiff4", dec_video}, {"vmin4", dec_video},
    {"vmax4", dec_video},     {"vset4", dec_video},     {NULL, NULL},
};
