/* exec_tensor.c: matrix products: wmma.mma, mma and mma.sp.
 *
 * PTX ISA 9.0, 9.7.14. The ISA leaves the order of additions and the precision of partial
 * sums open, and generations of cards differ in them: enum machine_tensor_sums, a row of
 * sum_rules each. All have one scheme: a block of products along k and the accumulator are
 * aligned to the largest exponent among them, cut to some fraction bits toward zero and
 * added exactly; the sum is cut to single precision toward zero, or rounded to f16, to
 * nearest even; then comes the next block. The exponent of a product is the sum of its
 * factors', that of a subnormal number the least of its format. f64: a chain of fma in the
 * order of k, each rounded. Integers: exact, modulo 2^32 or clamped at the end
 * (.satfinite). Single bits: as ISA. Cost of mma.m16n8k16: some 2000 products in
 * vectorised loops, some 8 microseconds.
 *
 * mma.sp (9.7.14.6): A keeps half of each row, and the metadata say which column each
 * kept element stands for. The products of what is kept are summed as those of a dense
 * row; blocks count kept elements. */
#include "exec/ops/exec_matrix.h"
#include "exec/lanes/fp_half.h"
#include "machine/machine.h"

#include <string.h>

enum {
    MAX_FACTOR = 1024,
    MAX_RESULT = 256,
    MAX_N = 32,
    MAX_BLOCK = 32,
    NO_EXPONENT = -1000
};

enum product { P_FLOAT, P_DOUBLE, P_INT, P_BITS };

/* How a generation adds: products of a block (0: all of the instruction's k), and bits
 * behind the point that a sum keeps; where they are 13, an f32 result has no more.
 *
 * halves: the compiler makes two products of 16-bit factors of one of 8-bit factors, from
 * zero: the elements with k % 4 < 2 (the lower half of each register), onto that sum those
 * with k % 4 >= 2; then C is added, rounded to nearest. chains: it makes single-precision
 * additions of mma.m8n8k4 with f16 (add_chain).
 *
 * Sources: S  Xie, Wang, Yang, Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores
 * and Matrix Cores" (arXiv:2511.10909, 2025; validated there bit by bit), in accord with
 * Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores" (PeerJ
 * Computer Science 7:e330, 2021); H  every answer of an H100 in tests/golden/gpu, to the
 * bit; P  the code of ptxas 13.0 for sm_75, 80, 89, 90, 100 and 120. Types that a generation
 * does not have are added as on the first that has them. */
struct sum_rule {
    struct {
        uint8_t block, fraction;
    } half, tf32, byte; /* factors of 16 bits, tf32, 8 bits */
    bool halves, chains;
};

static const struct sum_rule sum_rules[] = {
    /* half, tf32, byte, halves, chains */
    [SUMS_VOLTA] = {{4, 23}, {4, 24}, {16, 13}, false, false},       /* S */
    [SUMS_TURING] = {{8, 24}, {4, 24}, {16, 13}, false, false},      /* S, P */
    [SUMS_AMPERE] = {{8, 24}, {4, 24}, {16, 13}, false, true},       /* S, P; Ada too */
    [SUMS_HOPPER] = {{0, 25}, {0, 25}, {0, 25}, true, true},         /* S, H, P */
    [SUMS_BLACKWELL] = {{0, 25}, {0, 25}, {0, 25}, true, true},      /* S, P: sm_100 */
    [SUMS_BLACKWELL_RTX] = {{0, 25}, {0, 25}, {0, 25}, false, true}, /* S, P: sm_120 */
};

struct tensor_plan {
    uint8_t product; /* enum product */
    uint8_t ta, tb, tc, td;
    uint8_t block, fraction; /* as in sum_rule, the block never 0 */
    bool halves, chain;
    uint8_t sum; /* type of a block's sum: f16, if C and D are */
    uint8_t rnd;
    bool satf, and_popc;
    uint16_t m, n, k, batch; /* k in elements, of single bits in words */
    struct fragment a, b, c, d;
    uint16_t bk;         /* rows of b: k, or 2 k where a is sparse */
    uint8_t spread;      /* mma.sp: lanes of each four that hold metadata; 0: dense */
    uint8_t first;       /* the first of them */
    uint8_t kept, chunk; /* of `chunk` columns `kept` are there */
    uint32_t meta;       /* row of the metadata */
};

/* -- fragments to matrices and back -- */

static uint32_t
raw(const struct exec_warp *w, const struct fragment *f, unsigned lane, unsigned i)
{
    const uint32_t *r = row(w, f->reg[i / f->per_reg]);
    uint32_t v = r[lane] >> i % f->per_reg * f->bits % 32;
    return f->bits >= 32 ? v : v & ((1u << f->bits) - 1);
}

static float
as_float(uint32_t v, unsigned type)
{
    switch (type) {
    case PTX_F16:
        return fp_from_half((uint16_t)v);
    case PTX_BF16:
        return fp_float32(v << 16);
    case PTX_TF32: /* the lower bits do not reach the multiplier */
        return fp_float32(v & ~0x1fffu);
    case PTX_E4M3:
        return fp_from_e8(v, false);
    case PTX_E5M2:
        return fp_from_e8(v, true);
    case PTX_E2M3:
        return fp_from_e6(v, false);
    case PTX_E3M2:
        return fp_from_e6(v, true);
    case PTX_E2M1: /* in the middle of its byte */
        return fp_from_e4(v >> 2);
    default:
        return fp_float32(v);
    }
}

static int32_t
as_int(uint32_t v, unsigned type)
{
    switch (type) {
    case PTX_S8:
        return (int8_t)v;
    case PTX_S4:
        return (int32_t)(v << 28) >> 28;
    default:
        return (int32_t)v;
    }
}

static void
read_floats(const struct exec_warp *w, const struct fragment *f, unsigned type, float *to)
{
    unsigned n = (unsigned)f->nregs * f->per_reg;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < n; i++)
            to[f->at[lane * n + i]] = as_float(raw(w, f, lane, i), type);
}

static void
read_ints(const struct exec_warp *w, const struct fragment *f, unsigned type, int32_t *to)
{
    unsigned n = (unsigned)f->nregs * f->per_reg;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < n; i++)
            to[f->at[lane * n + i]] = as_int(raw(w, f, lane, i), type);
}

static void
read_doubles(const struct exec_warp *w, const struct fragment *f, double *to)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < f->nregs; i++)
            to[f->at[lane * f->nregs + i]] = ((const double *)row(w, f->reg[i]))[lane];
}

/* bits[]: the result's elements as encoded. */
static void
write_bits(const struct exec_warp *w, const struct fragment *f, uint32_t mask,
           const uint32_t *bits)
{
    unsigned n = (unsigned)f->nregs * f->per_reg;
    FOR_BITS(lane, mask)
    for (unsigned r = 0; r < f->nregs; r++) {
        uint32_t v = 0;
        for (unsigned j = 0; j < f->per_reg; j++)
            v |= bits[f->at[(unsigned)lane * n + r * f->per_reg + j]] << j * f->bits % 32;
        ((uint32_t *)row(w, f->reg[r]))[lane] = v;
    }
}

/* -- sparse factors -- */

/* col[i * k + x]: the column that kept element x of row i of A stands for. Each chunk has
 * four bits of metadata, two indices of two bits: of 8- and 16-bit elements the places of
 * two among four; of 4-bit ones the places of two pairs among four pairs; of tf32 the
 * element has two places of 16 bits, and the first index tells. The bits of a row lie in
 * one word, or (16- and 32-bit elements) in its lower half, with those of the row 8 below
 * in the upper; words go over the lanes of four row by row where a row takes a word, and
 * column by column. Undefined metadata are taken as written: indices that are equal add
 * both products. */
static void
read_columns(const struct exec_warp *w, const struct tensor_plan *p, uint16_t *col)
{
    const uint32_t *meta = row(w, p->meta);
    unsigned chunks = p->bk / p->chunk, bits = p->a.bits;
    unsigned per_word = bits >= 16 ? 4 : 8; /* chunks of a row in one word */
    for (unsigned i = 0; i < p->m; i++)
        for (unsigned c = 0; c < chunks; c++) {
            unsigned word = c / per_word, low = i / 8, shift = c % per_word * 4;
            unsigned at = bits >= 16 ? word : word * 2 + low;
            shift += bits >= 16 ? low * 16 : 0;
            uint32_t e = meta[i % 8 * 4 + p->first + at] >> shift;
            uint16_t *to = col + i * p->k + c * p->kept;
            for (unsigned x = 0; x < p->kept; x++) {
                unsigned index = bits == 32  ? e >> 1 & 1
                                 : bits == 4 ? (e >> x / 2 * 2 & 3) * 2 + x % 2
                                             : e >> x * 2 & 3;
                to[x] = (uint16_t)(c * p->chunk + index);
            }
        }
}

/* -- products -- */

/* Least exponent of a normal number. */
static int32_t
least_exponent(unsigned type)
{
    switch (type) {
    case PTX_F16:
    case PTX_E5M2:
        return -14;
    case PTX_E4M3:
        return -6;
    case PTX_E3M2:
        return -2;
    case PTX_E2M3:
    case PTX_E2M1:
        return 0;
    default:
        return -126;
    }
}

static int32_t
exponent(float v, int32_t least)
{
    uint32_t b = fp_bits32(v) & ~FP_SIGN32;
    int32_t e = (int32_t)(b >> 23) - 127;
    e = e < least ? least : e;
    return b ? e : NO_EXPONENT;
}

/* Products of a block for n columns, and the largest exponent of each column. */
struct block {
    double p[MAX_BLOCK][MAX_N];
    int32_t top[MAX_N];
    unsigned len, n;
};

/* A block's sum as its type holds it. */
static float
round_sum(const struct tensor_plan *p, double v)
{
    if (p->sum == PTX_F16)
        return (float)fp_narrow(v, FP_RN, 11, -14, FP_MOST_HALF, false);
    if (v >= 0x1p128 || v <= -0x1p128)
        return v > 0 ? __builtin_inff() : -__builtin_inff();
    return fp_float32(fp_bits32(fp_round32(v, FP_RZ)) &
                      ~(0x7fffffu >> p->fraction & 0x7fffffu));
}

/* acc[0..n) += a block. */
static void
add_block(const struct tensor_plan *p, float *acc, struct block *b)
{
    int32_t least = least_exponent(p->sum);
    double sum[MAX_N], scale[MAX_N];
    bool finite[MAX_N], all = true;
    for (unsigned j = 0; j < b->n; j++) {
        int32_t e = exponent(acc[j], least);
        e = e > b->top[j] ? e : b->top[j];
        b->top[j] = e < -400 ? -400 : e; /* all are zero */
        finite[j] = e < 128 || fp_abs_f32(acc[j]) < __builtin_inff();
    }
    for (unsigned i = 0; i < b->len; i++)
        for (unsigned j = 0; j < b->n; j++)
            finite[j] &= (fp_bits64(b->p[i][j]) >> 52 & 0x7ff) != 0x7ff;
    for (unsigned j = 0; j < b->n; j++)
        all &= finite[j];
    for (unsigned j = 0; j < b->n; j++) {
        scale[j] = fp_float64((uint64_t)(1023 + p->fraction - b->top[j]) << 52);
        sum[j] = finite[j] ? (double)(int32_t)(acc[j] * scale[j]) : 0;
    }
    if (all) {
        for (unsigned i = 0; i < b->len; i++)
            for (unsigned j = 0; j < b->n; j++)
                sum[j] += (double)(int32_t)(b->p[i][j] * scale[j]);
    } else { /* infinities and NaN: as in any sum */
        for (unsigned j = 0; j < b->n; j++) {
            double s = acc[j];
            for (unsigned i = 0; i < b->len; i++) {
                s += b->p[i][j];
                sum[j] += finite[j] ? (double)(int32_t)(b->p[i][j] * scale[j]) : 0;
            }
            if (!finite[j])
                acc[j] = s == s ? (float)s : fp_float32(FP_NAN32);
        }
    }
    for (unsigned j = 0; j < b->n; j++)
        if (finite[j])
            acc[j] = round_sum(
                p, sum[j] * fp_float64((uint64_t)(1023 + b->top[j] - p->fraction) << 52));
}

/* Products of one factor with n others, `step` apart, as row x of the block. */
static void
multiply_row(struct block *s, unsigned x, double a, int32_t ea, const float *b,
             const int32_t *eb, unsigned step)
{
    for (unsigned j = 0; j < s->n; j++) {
        int32_t e = ea + eb[j * step];
        s->p[x][j] = a * b[j * step];
        s->top[j] = e > s->top[j] ? e : s->top[j];
    }
}

/* mma.m8n8k4 without tensor cores: a chain of fma from zero, in the order of k, to which C
 * is added; to an f16 C the sums of two fma each, all in single precision. Products of two
 * f16 are exact there, so that an fma is an addition. */
static void
add_chain(const struct tensor_plan *p, const float *a, const float *b, float *c)
{
    for (unsigned q = 0; q < p->batch; q++)
        for (unsigned i = 0; i < p->m; i++)
            for (unsigned j = 0; j < p->n; j++) {
                const float *x = a + (q * p->m + i) * p->k,
                            *y = b + (q * p->n + j) * p->bk;
                float *to = c + (q * p->m + i) * p->n + j;
                if (p->sum == PTX_F16)
                    *to = *to + (x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3]);
                else
                    *to += 0.0f + x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3];
            }
}

static void
add_blocks(const struct exec_warp *w, const struct tensor_plan *p, const float *a,
           const float *b, float *c)
{
    int32_t ea[MAX_FACTOR], eb[MAX_FACTOR];
    uint16_t col[MAX_FACTOR];
    struct block s;
    unsigned m = p->m, n = p->n, k = p->k, bk = p->bk;
    if (p->spread)
        read_columns(w, p, col);
    /* 8-bit factors that become f16 have its exponents. */
    int32_t la = least_exponent(p->halves ? PTX_F16 : p->ta),
            lb = least_exponent(p->halves ? PTX_F16 : p->tb);
    for (unsigned i = 0; i < m * k * p->batch; i++)
        ea[i] = exponent(a[i], la);
    for (unsigned i = 0; i < n * bk * p->batch; i++)
        eb[i] = exponent(b[i], lb);
    s.n = n;
    unsigned parts = p->halves ? 2 : 1, len = k / parts;
    for (unsigned q = 0; q < p->batch; q++)
        for (unsigned i = 0; i < m; i++) {
            unsigned row = (q * m + i) * k;
            float *ci = c + (q * m + i) * n, zero[MAX_N] = {0};
            float *acc = p->halves ? zero : ci;
            for (unsigned h = 0; h < parts; h++)
                for (unsigned k0 = 0; k0 < len; k0 += p->block) {
                    s.len = len - k0 < p->block ? len - k0 : p->block;
                    for (unsigned j = 0; j < n; j++)
                        s.top[j] = NO_EXPONENT;
                    for (unsigned x = 0; x < s.len; x++) {
                        unsigned e = k0 + x;
                        unsigned z = p->halves ? e / 2 * 4 + h * 2 + e % 2 : e;
                        unsigned at = q * n * bk + (p->spread ? col[i * k + z] : z);
                        multiply_row(&s, x, a[row + z], ea[row + z], b + at, eb + at, bk);
                    }
                    add_block(p, acc, &s);
                }
            /* The sum of two f16 is rounded to single precision first, which has digits
             * enough for the second rounding to give what one would. */
            for (unsigned j = 0; p->halves && j < n; j++)
                ci[j] += acc[j];
        }
}

static void
multiply_floats(const struct exec_warp *w, const struct tensor_plan *p, uint32_t mask)
{
    float a[MAX_FACTOR], b[MAX_FACTOR], c[MAX_RESULT];
    uint32_t bits[MAX_RESULT];
    read_floats(w, &p->a, p->ta, a);
    read_floats(w, &p->b, p->tb, b);
    read_floats(w, &p->c, p->tc, c);
    if (p->chain)
        add_chain(p, a, b, c);
    else
        add_blocks(w, p, a, b, c);
    for (unsigned i = 0; i < (unsigned)p->m * p->n * p->batch; i++) {
        float v = c[i];
        if (p->satf) /* of f16 and f32, deprecated: NaN gives +0 */
            v = v == v ? v : 0.0f;
        if (p->td == PTX_F16)
            bits[i] = fp_to_half(v, FP_RN, false, p->satf);
        else if (p->satf && fp_abs_f32(v) == __builtin_inff())
            bits[i] = 0x7f7fffff | (fp_bits32(v) & FP_SIGN32);
        else
            bits[i] = v == v ? fp_bits32(v) : FP_NAN32;
    }
    write_bits(w, &p->d, mask, bits);
}

static void
multiply_doubles(const struct exec_warp *w, const struct tensor_plan *p, uint32_t mask)
{
    double a[MAX_RESULT], b[MAX_RESULT], c[MAX_RESULT];
    unsigned m = p->m, n = p->n, k = p->k;
    read_doubles(w, &p->a, a);
    read_doubles(w, &p->b, b);
    read_doubles(w, &p->c, c);
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j++) {
            double s = c[i * n + j];
            for (unsigned x = 0; x < k; x++)
                s = fp_fma_f64(a[i * k + x], b[j * k + x], s, p->rnd);
            c[i * n + j] = s == s ? s : fp_float64(FP_NAN64);
        }
    FOR_BITS(lane, mask)
    for (unsigned r = 0; r < p->d.nregs; r++)
        ((double *)row(w, p->d.reg[r]))[lane] =
            c[p->d.at[(unsigned)lane * p->d.nregs + r]];
}

static void
multiply_ints(const struct exec_warp *w, const struct tensor_plan *p, uint32_t mask)
{
    int32_t a[MAX_FACTOR], b[MAX_FACTOR], c[MAX_RESULT];
    uint32_t bits[MAX_RESULT];
    uint16_t col[MAX_FACTOR];
    unsigned m = p->m, n = p->n, k = p->k;
    if (p->spread)
        read_columns(w, p, col);
    read_ints(w, &p->a, p->ta, a);
    read_ints(w, &p->b, p->tb, b);
    read_ints(w, &p->c, p->tc, c);
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j++) {
            const int32_t *x = a + i * k, *y = b + j * p->bk;
            int32_t s = 0; /* at most 128 products of 8 by 8 bits */
            if (p->spread)
                for (unsigned z = 0; z < k; z++)
                    s += x[z] * y[col[i * k + z]];
            else if (p->product == P_INT)
                for (unsigned z = 0; z < k; z++)
                    s += x[z] * y[z];
            else
                for (unsigned z = 0; z < k; z++)
                    s += __builtin_popcount(
                        (uint32_t)(p->and_popc ? x[z] & y[z] : x[z] ^ y[z]));
            int64_t sum = (int64_t)c[i * n + j] + s;
            if (p->satf)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            bits[i * n + j] = (uint32_t)sum;
        }
    write_bits(w, &p->d, mask, bits);
}

static enum exec_result
h_tensor(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    (void)s;
    const struct tensor_plan *p = in->plan;
    if (p->product == P_FLOAT)
        multiply_floats(w, p, mask);
    else if (p->product == P_DOUBLE)
        multiply_doubles(w, p, mask);
    else
        multiply_ints(w, p, mask);
    return EXEC_OK;
}

/* -- decoding -- */

enum { /* families of factor types */
       T_F16 = 1,
       T_BF16 = 2,
       T_TF32 = 4,
       T_F64 = 8,
       T_INT8 = 16,
       T_INT4 = 32,
       T_B1 = 64,
       T_FP8 = 128
};

static unsigned
family(unsigned type)
{
    switch (type) {
    case PTX_F16:
        return T_F16;
    case PTX_BF16:
        return T_BF16;
    case PTX_TF32:
        return T_TF32;
    case PTX_F64:
        return T_F64;
    case PTX_S8:
    case PTX_U8:
        return T_INT8;
    case PTX_S4:
    case PTX_U4:
        return T_INT4;
    case PTX_B1:
        return T_B1;
    default:
        return T_FP8;
    }
}

/* Which factors each shape takes (PTX ISA 9.0, tables of 9.7.14.1). */
static unsigned
families(unsigned shape, bool wmma)
{
    if (wmma)
        switch (shape) {
        case PTX_SHAPE_M16N16K16:
        case PTX_SHAPE_M32N8K16:
        case PTX_SHAPE_M8N32K16:
            return T_F16 | T_BF16 | T_INT8;
        case PTX_SHAPE_M16N16K8:
            return T_TF32;
        case PTX_SHAPE_M8N8K4:
            return T_F64;
        case PTX_SHAPE_M8N8K32:
            return T_INT4;
        case PTX_SHAPE_M8N8K128:
            return T_B1;
        default:
            return 0;
        }
    switch (shape) {
    case PTX_SHAPE_M8N8K4:
        return T_F16 | T_F64;
    case PTX_SHAPE_M16N8K4:
        return T_TF32 | T_F64;
    case PTX_SHAPE_M16N8K8:
        return T_F16 | T_BF16 | T_TF32 | T_F64;
    case PTX_SHAPE_M16N8K16:
        return T_F16 | T_BF16 | T_F64 | T_INT8 | T_FP8;
    case PTX_SHAPE_M8N8K16:
        return T_INT8;
    case PTX_SHAPE_M16N8K32:
        return T_INT8 | T_INT4 | T_FP8;
    case PTX_SHAPE_M8N8K32:
    case PTX_SHAPE_M16N8K64:
        return T_INT4;
    case PTX_SHAPE_M8N8K128:
    case PTX_SHAPE_M16N8K128:
    case PTX_SHAPE_M16N8K256:
        return T_B1;
    default:
        return 0;
    }
}

/* The same for mma.sp (9.7.14.6). */
static unsigned
sparse_families(unsigned shape)
{
    switch (shape) {
    case PTX_SHAPE_M16N8K8:
        return T_TF32;
    case PTX_SHAPE_M16N8K16:
        return T_F16 | T_BF16 | T_TF32;
    case PTX_SHAPE_M16N8K32:
        return T_F16 | T_BF16 | T_INT8;
    case PTX_SHAPE_M16N8K64:
        return T_INT8 | T_INT4 | T_FP8;
    case PTX_SHAPE_M16N8K128:
        return T_INT4;
    default:
        return 0;
    }
}

static bool
check_types(struct decoder *d, const struct tensor_plan *p, const struct matrix_shape *s,
            bool wmma, bool sparse)
{
    unsigned f = family(p->ta);
    unsigned have = !s ? 0 : sparse ? sparse_families(s->mod) : families(s->mod, wmma);
    bool same = p->tb == p->ta || (!wmma && f & (T_INT8 | T_INT4 | T_FP8));
    if (!(have & f) || family(p->tb) != f || !same)
        return decode_refuse(d, "there is no such shape with these types");
    bool half = f == T_F16 || (f == T_FP8 && p->tc == p->td && !sparse);
    unsigned acc = f == T_F64                     ? PTX_F64
                   : f & (T_INT8 | T_INT4 | T_B1) ? PTX_S32
                                                  : PTX_F32;
    if ((p->tc != acc && !(half && p->tc == PTX_F16)) ||
        (p->td != acc && !(half && p->td == PTX_F16)))
        return decode_refuse(d, "this accumulator does not go with these factors");
    if (!wmma && f == T_F16 && s->mod != PTX_SHAPE_M8N8K4 && p->tc != p->td)
        return decode_refuse(d, "the accumulators have the same type in this shape");
    if (!wmma && f == T_F16 && p->td == PTX_F16 && p->tc != PTX_F16)
        return decode_refuse(d, "an .f16 result has an .f16 accumulator");
    const uint16_t *mod = d->in->mod;
    bool volta = !wmma && s->mod == PTX_SHAPE_M8N8K4 && f == T_F16;
    if (!mod[PTX_MG_LAYOUT] || !mod[PTX_MG_BLAYOUT])
        return decode_refuse(d, "the layouts of a and b are missing, such as .row.col");
    if ((!wmma || f & (T_INT4 | T_B1)) && !volta &&
        (mod[PTX_MG_LAYOUT] != PTX_LAYOUT_ROW || mod[PTX_MG_BLAYOUT] != PTX_BLAYOUT_COL))
        return decode_refuse(d, "the layouts are .row.col here");
    if ((f == T_B1) != (mod[PTX_MG_POPC] && mod[PTX_MG_BOOL]) ||
        mod[PTX_MG_BOOL] == PTX_BOOL_OR)
        return decode_refuse(d,
                             "single bits, and only these, are combined by .xor.popc or "
                             ".and.popc");
    if (mod[PTX_MG_SATF] && !(f & (T_INT8 | T_INT4)) && !(wmma && f == T_F16))
        return decode_refuse(d, ".satfinite is for integers");
    if (mod[PTX_MG_RND] && (f != T_F64 || mod[PTX_MG_RND] > PTX_RND_RP))
        return decode_refuse(d, "only f64 has a rounding mode: .rn .rz .rm .rp");
    return true;
}

/* Operands e and f of mma.sp: metadata, and which lanes of four hold them. */
static bool
dec_metadata(struct decoder *d, struct tensor_plan *p, unsigned k)
{
    const struct ptx_operand *o = d->in->ops;
    unsigned bits = matrix_bits(p->ta);
    p->chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    p->kept = p->chunk / 2;
    p->spread = (uint8_t)(k / p->chunk / 4);
    if (o[5].kind != PTX_OPD_IMM || o[5].imm >= 4u / p->spread)
        return decode_refuse(d, "the sparsity selector is a constant from 0 to %u here",
                             4u / p->spread - 1);
    p->first = (uint8_t)(o[5].imm * p->spread);
    p->meta = decode_operand(d, &o[4], PTX_B32);
    return p->meta != REF_NONE;
}

/* How long it keeps a tensor core busy: by multiplications, of which tf32 has half the
 * rate of 16-bit factors, narrower ones in proportion, single bits 16 times and f64 a
 * sixteenth (NVIDIA, A100 white paper, 2020, table of peak rates; FP8: H100, 2022). */
static uint16_t
work(const struct tensor_plan *p, unsigned f)
{
    unsigned slower = f == T_F64 ? 16 : f == T_TF32 ? 2 : f == T_B1 ? 32 : 1; /* words */
    unsigned faster = f & (T_INT8 | T_FP8) ? 2 : f == T_INT4 ? 4 : f == T_B1 ? 16 : 1;
    unsigned n = p->m * p->n * p->k * p->batch * slower / faster;
    unsigned sixteenths = n / (16 * 8 * 16 / 16);
    return (uint16_t)(sixteenths ? sixteenths : 1);
}

/* How its sums are made; k is known. */
static void
dec_sums(const struct decoder *d, struct tensor_plan *p, unsigned f, bool wmma)
{
    const struct sum_rule *r = &sum_rules[d->im->sums];
    p->halves = r->halves && f == T_FP8 && !d->in->mod[PTX_MG_MMAKIND];
    p->chain = r->chains && p->batch > 1;
    p->sum = p->tc == PTX_F16 && p->td == PTX_F16 ? PTX_F16 : PTX_F32;
    p->block = f == T_TF32 ? r->tf32.block : f == T_FP8 ? r->byte.block : r->half.block;
    p->fraction = f == T_TF32  ? r->tf32.fraction
                  : f == T_FP8 ? r->byte.fraction
                               : r->half.fraction;
    if (wmma && f == T_TF32)
        p->block = 4; /* P: two products of k = 4 everywhere */
    if (!p->block)
        p->block = (uint8_t)p->k;
}

static bool
dec_product(struct decoder *d, bool wmma)
{
    const struct ptx_inst *in = d->in;
    const struct matrix_shape *s = matrix_shape(in->mod[PTX_MG_SHAPE]);
    struct matrix_shape packed; /* of A */
    bool sparse = in->mod[PTX_MG_SP];
    struct tensor_plan *p = ARENA_NEW(&d->pp->mem, struct tensor_plan);
    p->td = in->type[0];
    p->tc = in->type[in->ntypes - 1];
    p->ta = in->ntypes == 2 ? PTX_F16 : in->type[1];
    p->tb = in->ntypes == 2 ? PTX_F16 : in->type[2];
    if (!check_types(d, p, s, wmma, sparse))
        return false;
    packed = *s;
    if (sparse && !dec_metadata(d, p, s->k))
        return false;
    packed.k /= sparse ? 2 : 1;
    unsigned f = family(p->ta);
    p->product = f == T_F64              ? P_DOUBLE
                 : f & (T_INT8 | T_INT4) ? P_INT
                 : f == T_B1             ? P_BITS
                                         : P_FLOAT;
    p->satf = in->mod[PTX_MG_SATF];
    p->and_popc = in->mod[PTX_MG_BOOL] == PTX_BOOL_AND;
    unsigned rnd = in->mod[PTX_MG_RND];
    p->rnd = rnd == PTX_RND_RZ   ? FP_RZ
             : rnd == PTX_RND_RM ? FP_RM
             : rnd == PTX_RND_RP ? FP_RP
                                 : FP_RN;
    bool acol = in->mod[PTX_MG_LAYOUT] == PTX_LAYOUT_COL,
         bcol = in->mod[PTX_MG_BLAYOUT] == PTX_BLAYOUT_COL;
    const struct ptx_operand *o = in->ops;
    if (!matrix_fragment(d, &p->d, &o[0], s, MAT_C, p->td, wmma, false) ||
        !matrix_fragment(d, &p->a, &o[1], &packed, MAT_A, p->ta, wmma, !wmma && acol) ||
        !matrix_fragment(d, &p->b, &o[2], s, MAT_B, p->tb, wmma, !wmma && bcol) ||
        !matrix_fragment(d, &p->c, &o[3], s, MAT_C, p->tc, wmma, false))
        return false;
    p->m = p->a.rows;
    p->n = p->b.cols;
    p->k = p->a.cols;
    p->bk = p->b.rows;
    p->batch = p->a.batch;
    dec_sums(d, p, f, wmma);
    d->st->work = work(p, f);
    d->out->plan = p;
    d->out->fn = h_tensor;
    return true;
}

static bool
dec_wmma(struct decoder *d)
{
    const uint16_t *mod = d->in->mod;
    return mod[PTX_MG_WLOAD]    ? decode_wmma_load(d)
           : mod[PTX_MG_WSTORE] ? decode_wmma_store(d)
                                : dec_product(d, true);
}

static bool
dec_mma(struct decoder *d)
{
    unsigned kind = d->in->mod[PTX_MG_MMAKIND];
    if (d->in->mod[PTX_MG_BLOCKSCALE])
        return decode_scaled(d);
    if (kind && kind != PTX_MMAKIND_F8F6F4)
        return decode_refuse(d, "this kind needs .block_scale");
    if (kind && d->in->mod[PTX_MG_SHAPE] != PTX_SHAPE_M16N8K32)
        return decode_refuse(d, "there is no such shape with these types");
    return dec_product(d, false);
}

const struct decode_row decode_tensor[] = {
    {"wmma", dec_wmma},
    {"mma", dec_mma},
    {NULL, NULL},
};
