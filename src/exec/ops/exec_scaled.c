/* exec_scaled.c: matrix products whose factors have scales: mma with .block_scale.
 *
 * PTX ISA 9.0, 9.7.14.3 and 9.7.14.5.14. Every 32 (scale_vec 1X, 2X) or 16 (4X) elements along
 * k of a row of A, and of a column of B, have one scale, a power of two (ue8m0) or a small
 * number (ue4m3). The scales of a row or column are the bytes from byte-id on of one lane's
 * register: of row r lane 4 (r % 8) + 2 thread-id + r / 8, of column c lane 4 c + thread-id.
 *
 * Sums (Xie et al., as in exec_tensor.c; sm_120): of kind mxf8f6f4 all products of k, with the
 * scales in their exponents, and C are aligned to the largest exponent, cut to 25 bits behind
 * the point and added exactly. Of 4-bit factors 16 products are added exactly and take their
 * scales; these sums and C are aligned and cut to 35 bits. The result is cut to f32. */
#include "exec/ops/exec_matrix.h"
#include "exec/lanes/fp_half.h"

#include <string.h>

enum { ROWS = 16, COLS = 8, MAX_K = 64, MAX_TERMS = 33, NO_EXPONENT = -2000 };

struct scaled_plan {
    struct fragment a, b, c, d;
    uint8_t ta, tb;              /* types of the factors */
    uint8_t k, every;            /* elements along k; elements that share a scale */
    uint8_t exact;               /* products that are added before they are aligned */
    uint8_t fraction;            /* bits kept behind the point */
    bool small;                  /* the scales are ue4m3 */
    uint32_t scale[2];           /* rows, of A and B */
    uint32_t byte[2], thread[2]; /* likewise */
};

static double
factor(uint32_t v, unsigned type, unsigned bits)
{
    switch (type) {
    case PTX_E4M3:
        return fp_from_e8(v, false);
    case PTX_E5M2:
        return fp_from_e8(v, true);
    case PTX_E2M3:
        return fp_from_e6(v, false);
    case PTX_E3M2:
        return fp_from_e6(v, true);
    default: /* in the middle of its byte, or packed */
        return fp_from_e4(bits == 8 ? v >> 2 : v);
    }
}

static void
read_factors(const struct exec_warp *w, const struct fragment *f, unsigned type,
             double *to)
{
    unsigned n = (unsigned)f->nregs * f->per_reg;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < n; i++) {
            const uint32_t *r = row(w, f->reg[i / f->per_reg]);
            uint32_t v = r[lane] >> i % f->per_reg * f->bits;
            to[f->at[lane * n + i]] = factor(v & ((1u << f->bits) - 1), type, f->bits);
        }
}

static double
scale_value(const struct scaled_plan *p, uint32_t v)
{
    if (p->small)
        return fp_from_e8(v & 0x7f, false);
    return v == 0xff ? fp_float64(FP_NAN64) : __builtin_ldexp(1.0, (int)v - 127);
}

/* The scales of the rows of A (side 0) or columns of B. */
static void
read_scales(const struct exec_warp *w, const struct scaled_plan *p, unsigned side,
            double to[ROWS][MAX_K / 16])
{
    const uint32_t *r = row(w, p->scale[side]);
    unsigned byte = *(const uint32_t *)row(w, p->byte[side]) & 3,
             thread = *(const uint32_t *)row(w, p->thread[side]) & (side ? 3 : 1);
    for (unsigned i = 0; i < (side ? COLS : ROWS); i++) {
        unsigned lane = side ? i * 4 + thread : i % 8 * 4 + thread * 2 + i / 8;
        for (unsigned k = 0; k < p->k / p->every; k++)
            to[i][k] = scale_value(p, r[lane] >> ((byte + k) * 8 & 31) & 255);
    }
}

static int
exponent_of(double v)
{
    /* No term is a subnormal double. */
    return v == 0 ? NO_EXPONENT : (int)(fp_bits64(v) >> 52 & 0x7ff) - 1023;
}

/* The sum of terms, of which the last is C. */
static float
add_terms(const struct scaled_plan *p, const double *term, const int *e, unsigned n)
{
    int top = NO_EXPONENT;
    bool finite = true;
    double plain = 0;
    for (unsigned i = 0; i < n; i++) {
        top = e[i] > top ? e[i] : top;
        finite &= (fp_bits64(term[i]) >> 52 & 0x7ff) != 0x7ff;
        plain += term[i];
    }
    if (!finite)
        return plain == plain ? (float)plain : fp_float32(FP_NAN32);
    if (top == NO_EXPONENT)
        return (float)plain;
    int64_t sum = 0; /* at most 33 terms below 2^(fraction + 2) */
    for (unsigned i = 0; i < n; i++)
        sum += (int64_t)__builtin_ldexp(term[i], p->fraction - top);
    double v = __builtin_ldexp((double)sum, top - p->fraction);
    if (v >= 0x1p128 || v <= -0x1p128)
        return v > 0 ? __builtin_inff() : -__builtin_inff();
    return fp_round32(v, FP_RZ);
}

static enum exec_result
h_scaled(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    (void)s;
    const struct scaled_plan *p = in->plan;
    double a[ROWS * MAX_K], b[COLS * MAX_K], sa[ROWS][MAX_K / 16], sb[ROWS][MAX_K / 16];
    uint32_t out[4][LANES];
    read_factors(w, &p->a, p->ta, a);
    read_factors(w, &p->b, p->tb, b);
    read_scales(w, p, 0, sa);
    read_scales(w, p, 1, sb);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned r = 0; r < 4; r++) {
            unsigned at = p->d.at[lane * 4 + r], i = at / COLS, j = at % COLS, n = 0;
            float c = ((const float *)row(w, p->c.reg[r]))[lane];
            double term[MAX_TERMS];
            int e[MAX_TERMS];
            for (unsigned k = 0; k < p->k; k += p->exact, n++) {
                double t = 0, scale = sa[i][k / p->every] * sb[j][k / p->every];
                int top = NO_EXPONENT;
                for (unsigned x = k; x < k + p->exact; x++) {
                    double u = a[i * p->k + x], v = b[j * p->k + x];
                    t += u * v;
                    top = u != 0 && v != 0 ? exponent_of(u) + exponent_of(v) : top;
                }
                term[n] = t * scale;
                e[n] = p->exact > 1         ? exponent_of(term[n])
                       : top == NO_EXPONENT ? NO_EXPONENT
                                            : top + exponent_of(scale);
            }
            term[n] = c;
            e[n] = exponent_of(c);
            float v = add_terms(p, term, e, n + 1);
            out[r][lane] = v == v ? fp_bits32(v) : FP_NAN32;
        }
    for (unsigned r = 0; r < 4; r++) {
        uint32_t *d = row(w, p->d.reg[r]);
        FOR_BITS(i, mask)
        d[i] = out[r][i];
    }
    return EXEC_OK;
}

/* -- decoding -- */

/* scale-a-data, {byte-id-a, thread-id-a}, or of b. */
static bool
dec_scale(struct decoder *d, struct scaled_plan *p, unsigned side, unsigned bytes)
{
    const struct ptx_operand *o = &d->in->ops[4 + 2 * side], *ids = &o[1];
    if (ids->kind != PTX_OPD_VEC || ids->n != 2 || ids->neg)
        return decode_refuse(d, "the scale of %c has {byte-id, thread-id}", "ab"[side]);
    const struct ptx_operand *byte = &ids->vec[0], *thread = &ids->vec[1];
    unsigned threads = side ? 4 : 2;
    if (byte->kind == PTX_OPD_IMM && (byte->imm + bytes > 4 || byte->imm % bytes))
        return decode_refuse(d, "byte-id-%c is a multiple of %u up to %u here",
                             "ab"[side], bytes, 4 - bytes);
    if (thread->kind == PTX_OPD_IMM && thread->imm >= threads)
        return decode_refuse(d, "thread-id-%c is from 0 to %u", "ab"[side], threads - 1);
    p->scale[side] = decode_operand(d, o, PTX_B32);
    p->byte[side] = decode_operand(d, byte, PTX_B16);
    p->thread[side] = decode_operand(d, thread, PTX_B16);
    return p->scale[side] != REF_NONE && p->byte[side] != REF_NONE &&
           p->thread[side] != REF_NONE;
}

bool
decode_scaled(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    const uint16_t *mod = in->mod;
    unsigned kind = mod[PTX_MG_MMAKIND], vec = mod[PTX_MG_SCALEVEC];
    bool byte_factors = kind == PTX_MMAKIND_MXF8F6F4;
    const struct matrix_shape *s = matrix_shape(mod[PTX_MG_SHAPE]);
    struct scaled_plan *p = ARENA_NEW(&d->pp->mem, struct scaled_plan);
    p->ta = in->type[1];
    p->tb = in->type[2];
    p->small = mod[PTX_MG_SCALETYPE] == PTX_SCALETYPE_UE4M3;
    if (mod[PTX_MG_LAYOUT] != PTX_LAYOUT_ROW || mod[PTX_MG_BLAYOUT] != PTX_BLAYOUT_COL)
        return decode_refuse(d, "the layouts are .row.col here");
    if (kind == PTX_MMAKIND_F8F6F4)
        return decode_refuse(d, ".kind::f8f6f4 has no .block_scale");
    if (s->mod != (byte_factors ? PTX_SHAPE_M16N8K32 : PTX_SHAPE_M16N8K64) ||
        (!byte_factors && (p->ta != PTX_E2M1 || p->tb != PTX_E2M1)))
        return decode_refuse(d, "there is no such shape with these types");
    if (byte_factors ? p->small || (vec && vec != PTX_SCALEVEC_1X)
        : kind == PTX_MMAKIND_MXF4
            ? p->small || (vec && vec != PTX_SCALEVEC_2X)
            : vec != (p->small ? PTX_SCALEVEC_4X : PTX_SCALEVEC_2X))
        return decode_refuse(d, "this kind does not have such scales");
    p->k = (uint8_t)s->k;
    p->every = p->small ? 16 : 32;
    p->exact = byte_factors ? 1 : 16;
    p->fraction = byte_factors ? 25 : 35;
    unsigned ta = byte_factors ? p->ta : PTX_S4, tb = byte_factors ? p->tb : PTX_S4;
    const struct ptx_operand *o = in->ops;
    if (!matrix_fragment(d, &p->d, &o[0], s, MAT_C, PTX_F32, false, false) ||
        !matrix_fragment(d, &p->a, &o[1], s, MAT_A, ta, false, false) ||
        !matrix_fragment(d, &p->b, &o[2], s, MAT_B, tb, false, false) ||
        !matrix_fragment(d, &p->c, &o[3], s, MAT_C, PTX_F32, false, false) ||
        !dec_scale(d, p, 0, p->k / p->every) || !dec_scale(d, p, 1, p->k / p->every))
        return false;
    d->st->work = 16; /* k of 32 bytes, as m16n8k16 of 16-bit factors */
    d->out->plan = p;
    d->out->fn = h_scaled;
    return true;
}
