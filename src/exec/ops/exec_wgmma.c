/* exec_wgmma.c: matrix products of a warpgroup: wgmma, and setmaxnreg.
 *
 * PTX ISA 9.0, 9.7.15. Four warps multiply A, 64 rows by 32 bytes along k, with B, n columns,
 * and add to D. Each warp has 16 rows of A and D, so that here it works alone: what it reads
 * and writes is its own, or scratchpad, which the program must not change before it has waited
 * for the product. The product is complete when the instruction is; wgmma.wait_group has to do
 * with time only (timing/sm/sm_product.c). wgmma.fence orders registers: nothing to do.
 *
 * A matrix in scratchpad is named by a descriptor (9.7.15.5.1): its start, two distances and
 * how the address bits are swizzled. Data move in units of 16 bytes. With W the bytes of a
 * swizzle atom's line (32, 64, 128):
 *   K-major, swizzled: unit u of line r is at  r / 8 * stride + r % 8 * W + 16 u
 *   K-major, plain:    r / 8 * stride + r % 8 * 16 + u * leading
 *   MN-major, swizzled: unit u along MN of line k is at
 *                      u / (W / 16) * leading + k / 8 * stride + k % 8 * W + u % (W / 16) * 16
 *   MN-major, plain:   u * stride + k / 8 * leading + k % 8 * 16
 * Then bits 4 to 4 + s of the address are inverted by those from 7 on, s = 1, 2, 3 of them. The
 * pattern's phase counts from its start: the base offset is taken off.
 *
 * Sums (sum_rules of exec_tensor.c: Hopper, Xie et al.): all products of k and D are aligned to
 * the largest exponent, cut to 25 bits behind the point (13 of 8-bit factors) and added
 * exactly; the sum is cut to f32 (13 bits of mantissa), or rounded to f16. */
#include "exec/ops/exec_wgmma.h"
#include "exec/ops/exec_mem.h"
#include "exec/lanes/fp_half.h"
#include "exec/lanes/lanes_int.h"

#include <string.h>

enum {
    MAX_N = 256,
    ROWS = 16,      /* of a warp */
    LINE = 32,      /* bytes along k of A */
    MAX_REGS = 128, /* of D */
};

enum wgmma_product { W_FLOAT, W_INT, W_BITS };

struct wgmma_plan {
    uint8_t product;    /* enum wgmma_product */
    uint8_t ta, tb, td; /* types */
    uint8_t elements;   /* along k; of single bits words */
    uint8_t fraction;   /* bits kept behind the point */
    bool a_registers;   /* else a descriptor */
    bool a_mn, b_mn;    /* MN-major */
    bool a_negative, b_negative;
    bool satf, scale_not;
    uint16_t n, ndest;
    uint32_t scale;                /* predicate's row: D is added */
    uint32_t a[4], a_desc, b_desc; /* rows */
    uint32_t d[MAX_REGS];
};

/* -- matrices from scratchpad -- */

struct matrix_desc {
    uint32_t start, leading, stride, phase;
    uint32_t swizzle; /* 0 none, 1 32 B, 2 64 B, 3 128 B */
};

static struct matrix_desc
read_desc(uint64_t v)
{
    static const uint8_t swizzles[4] = {0, 3, 2, 1};
    return (struct matrix_desc){.start = (uint32_t)(v & 0x3fff) << 4,
                                .leading = (uint32_t)(v >> 16 & 0x3fff) << 4,
                                .stride = (uint32_t)(v >> 32 & 0x3fff) << 4,
                                .phase = (uint32_t)(v >> 49 & 7),
                                .swizzle = swizzles[v >> 62]};
}

/* Address of unit u of line r. */
static uint32_t
unit_address(const struct matrix_desc *m, bool mn, uint32_t r, uint32_t u)
{
    uint32_t w = 16u << m->swizzle, per = 1u << m->swizzle, at = m->start;
    if (!m->swizzle)
        at += mn ? u * m->stride + r / 8 * m->leading + r % 8 * 16
                 : r / 8 * m->stride + r % 8 * 16 + u * m->leading;
    else if (mn)
        at += u / per * m->leading + r / 8 * m->stride + r % 8 * w + u % per * 16;
    else
        at += r / 8 * m->stride + r % 8 * w + u * 16;
    return at ^ (((at >> 7) - m->phase) & (per - 1)) << 4;
}

/* Lines of `bytes` along k, from line `first` of M or N on. *bad: an address outside. */
static bool
read_matrix(const struct exec_cta *c, uint64_t desc, bool mn, unsigned first,
            unsigned lines, unsigned bytes, uint8_t *to, uint32_t *bad)
{
    struct matrix_desc m = read_desc(desc);
    /* MN-major: a line in memory runs along M or N, eight elements of two bytes a unit. */
    unsigned outer = mn ? bytes / 2 : lines, units = mn ? lines / 8 : bytes / 16;
    for (unsigned r = 0; r < outer; r++)
        for (unsigned u = 0; u < units; u++) {
            uint32_t at =
                unit_address(&m, mn, mn ? r : first + r, mn ? first / 8 + u : u);
            if (at + 16 > c->shared_bytes) {
                *bad = at;
                return false;
            }
            if (!mn)
                memcpy(to + r * bytes + 16 * u, c->shared + at, 16);
            for (unsigned e = 0; e < 8 && mn; e++)
                memcpy(to + (8 * u + e) * bytes + 2 * r, c->shared + at + 2 * e, 2);
        }
    return true;
}

/* A from registers: lane i holds four bytes of rows i / 4 and 8 more, of both halves of k. */
static void
read_registers(const struct exec_warp *w, const struct wgmma_plan *p, uint8_t *to)
{
    for (unsigned r = 0; r < 4; r++) {
        const uint32_t *a = row(w, p->a[r]);
        for (unsigned i = 0; i < LANES; i++)
            memcpy(to + (i / 4 + r % 2 * 8) * LINE + r / 2 * 16 + i % 4 * 4, &a[i], 4);
    }
}

/* -- factors -- */

static struct wgmma_format
format_of(unsigned type)
{
    switch (type) {
    case PTX_F16:
        return (struct wgmma_format){2, 10, 5, 0, 15, false};
    case PTX_BF16:
        return (struct wgmma_format){2, 7, 8, 0, 127, false};
    case PTX_TF32: /* the lower bits do not reach the multiplier */
        return (struct wgmma_format){4, 10, 8, 13, 127, false};
    case PTX_E4M3:
        return (struct wgmma_format){1, 3, 4, 0, 7, true};
    default:
        return (struct wgmma_format){1, 2, 5, 0, 15, false};
    }
}

static uint32_t
element(const uint8_t *line, unsigned bytes, unsigned i)
{
    uint32_t v = 0;
    memcpy(&v, line + i * bytes, bytes);
    return v;
}

static float
float_of(uint32_t v, unsigned type, bool negative)
{
    float f = type == PTX_F16    ? fp_from_half((uint16_t)v)
              : type == PTX_BF16 ? fp_float32(v << 16)
              : type == PTX_TF32 ? fp_float32(v & ~0x1fffu)
                                 : fp_from_e8(v, type == PTX_E5M2);
    return negative ? -f : f;
}

/* -- sums -- */

float
exec_wgmma_round(const struct wgmma_sum *s, double v)
{
    if (s->half)
        return (float)fp_narrow(v, FP_RN, 11, -14, FP_MOST_HALF, false);
    if (v >= 0x1p128 || v <= -0x1p128)
        return v > 0 ? __builtin_inff() : -__builtin_inff();
    return fp_float32(fp_bits32(fp_round32(v, FP_RZ)) &
                      ~(0x7fffffu >> s->fraction & 0x7fffffu));
}

/* With infinities or NaN: as any sum. */
static float
plain_sum(const struct wgmma_plan *p, const uint8_t *a, const uint8_t *b, float c)
{
    struct wgmma_format fa = format_of(p->ta), fb = format_of(p->tb);
    double s = c;
    for (unsigned x = 0; x < p->elements; x++)
        s += (double)float_of(element(a, fa.bytes, x), p->ta, p->a_negative) *
             float_of(element(b, fb.bytes, x), p->tb, p->b_negative);
    return s == s ? (float)s : fp_float32(FP_NAN32);
}

typedef WGMMA_DECODE(fn);
typedef WGMMA_ADD(fn);

/* Those of the fastest instruction set. */
static void
choose(exec_wgmma_decode_fn **decode, exec_wgmma_add_fn **add)
{
    *decode = exec_wgmma_decode_plain;
    *add = exec_wgmma_add_plain;
#ifdef EXEC_X86
    const struct lane_variant *v[4];
    if (lane_variants(v) > 1) {
        *decode = exec_wgmma_decode_avx2;
        *add = exec_wgmma_add_avx2;
    }
#endif
}

/* Elements of eight lines, by k. */
static void
transpose(const uint8_t *lines, unsigned n, unsigned bytes, unsigned k, uint32_t raw[][8])
{
    for (unsigned y = 0; y < n; y++) {
        const uint8_t *line = lines + y * LINE;
        switch (bytes) {
        case 1:
            for (unsigned x = 0; x < k; x++)
                raw[x][y] = line[x];
            break;
        case 2:
            for (unsigned x = 0; x < k; x++)
                raw[x][y] = (uint32_t)read_element(line + 2 * x, 2);
            break;
        default:
            for (unsigned x = 0; x < k; x++)
                raw[x][y] = (uint32_t)read_element(line + 4 * x, 4);
        }
    }
}

static void
add_floats(const struct wgmma_plan *p, const uint8_t *a, const uint8_t *b,
           float acc[ROWS][MAX_N])
{
    struct wgmma_format fa = format_of(p->ta), fb = format_of(p->tb);
    struct wgmma_sum s = {p->elements, p->fraction,
                          (uint8_t)(p->fraction - fa.mantissa - fb.mantissa),
                          p->td == PTX_F16};
    unsigned k = p->elements;
    exec_wgmma_decode_fn *decode;
    exec_wgmma_add_fn *add;
    uint32_t raw[WGMMA_K][8];
    struct wgmma_columns c;
    int32_t m[ROWS][WGMMA_K], e[ROWS][WGMMA_K];
    bool row_finite[ROWS];
    choose(&decode, &add);
    for (unsigned i = 0; i < ROWS; i++) {
        if (i % 8 == 0) {
            transpose(a + i * LINE, 8, fa.bytes, k, raw);
            decode(&fa, k, (const uint32_t(*)[8])raw, p->a_negative, &c);
        }
        row_finite[i] = c.finite[i % 8];
        for (unsigned x = 0; x < k; x++) {
            m[i][x] = c.m[x][i % 8];
            e[i][x] = c.e[x][i % 8];
        }
    }
    for (unsigned j = 0; j < p->n; j += 8) {
        bool columns = true;
        transpose(b + j * LINE, 8, fb.bytes, k, raw);
        decode(&fb, k, (const uint32_t(*)[8])raw, p->b_negative, &c);
        for (unsigned y = 0; y < 8; y++)
            columns &= c.finite[y] != 0;
        for (unsigned i = 0; i < ROWS; i++) {
            float *to = acc[i] + j, was[8];
            bool all = columns && row_finite[i];
            uint32_t special = 0;
            memcpy(was, to, sizeof was);
            for (unsigned y = 0; y < 8;
                 y++) /* an exponent of 255 overflows into the sign */
                special |= (fp_bits32(was[y]) & 0x7fffffff) + 0x00800000;
            all &= special < 0x80000000;
            add(&s, m[i], e[i], &c, to);
            for (unsigned y = 0; y < 8 && !all; y++)
                if (!row_finite[i] || !c.finite[y] ||
                    (fp_bits32(was[y]) >> 23 & 255) == 255)
                    to[y] = plain_sum(p, a + i * LINE, b + (j + y) * LINE, was[y]);
        }
    }
}

static void
add_ints(const struct wgmma_plan *p, const uint8_t *a, const uint8_t *b,
         int32_t acc[ROWS][MAX_N])
{
    int16_t x[ROWS][LINE], y[LINE];
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < LINE; k++)
            x[i][k] = p->ta == PTX_S8 ? (int8_t)a[i * LINE + k] : a[i * LINE + k];
    for (unsigned j = 0; j < p->n; j++) {
        for (unsigned k = 0; k < LINE; k++)
            y[k] = p->tb == PTX_S8 ? (int8_t)b[j * LINE + k] : b[j * LINE + k];
        for (unsigned i = 0; i < ROWS; i++) {
            int32_t s = 0; /* at most 32 products of 8 by 8 bits */
            if (p->product == W_INT)
                for (unsigned k = 0; k < LINE; k++)
                    s += x[i][k] * y[k];
            else
                for (unsigned k = 0; k < LINE; k++)
                    s += __builtin_popcount((unsigned)a[i * LINE + k] & b[j * LINE + k]);
            int64_t sum = (int64_t)acc[i][j] + s;
            if (p->satf)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            acc[i][j] = (int32_t)(uint32_t)(uint64_t)sum;
        }
    }
}

/* -- D: lane i, register r of 32 bits: row i / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (i % 4) +
 * r % 2; a pair of f16: row i / 4 + 8 (r % 2), column 8 (r / 2) + 2 (i % 4) -- */

union accumulator {
    float f[ROWS][MAX_N];
    int32_t i[ROWS][MAX_N];
};

/* Registers r and r + 1 of 32 bits: eight columns of eight rows. */
static void
read_pair(const uint32_t *d0, const uint32_t *d1, int32_t (*to)[MAX_N])
{
    for (unsigned g = 0; g < 8; g++)
        for (unsigned t = 0; t < 4; t++) {
            to[g][2 * t] = (int32_t)d0[4 * g + t];
            to[g][2 * t + 1] = (int32_t)d1[4 * g + t];
        }
}

static void
write_pair(uint32_t *d0, uint32_t *d1, const int32_t (*from)[MAX_N])
{
    for (unsigned g = 0; g < 8; g++)
        for (unsigned t = 0; t < 4; t++) {
            d0[4 * g + t] = (uint32_t)from[g][2 * t];
            d1[4 * g + t] = (uint32_t)from[g][2 * t + 1];
        }
}

static void
read_d(const struct exec_warp *w, const struct wgmma_plan *p, union accumulator *acc)
{
    for (unsigned r = 0; r < p->ndest && p->td != PTX_F16; r += 2)
        read_pair(row(w, p->d[r]), row(w, p->d[r + 1]),
                  (int32_t(*)[MAX_N]) & acc->i[r / 2 % 2 * 8][r / 4 * 8]);
    for (unsigned r = 0; r < p->ndest && p->td == PTX_F16; r++) {
        const uint32_t *d = row(w, p->d[r]);
        for (unsigned i = 0; i < LANES; i++) {
            float *to = &acc->f[i / 4 + r % 2 * 8][r / 2 * 8 + i % 4 * 2];
            to[0] = fp_from_half((uint16_t)d[i]);
            to[1] = fp_from_half((uint16_t)(d[i] >> 16));
        }
    }
}

/* A NaN is the canonical one already. */
static void
write_d(const struct exec_warp *w, const struct wgmma_plan *p,
        const union accumulator *acc)
{
    for (unsigned r = 0; r < p->ndest && p->td != PTX_F16; r += 2)
        write_pair(row(w, p->d[r]), row(w, p->d[r + 1]),
                   (const int32_t(*)[MAX_N]) & acc->i[r / 2 % 2 * 8][r / 4 * 8]);
    for (unsigned r = 0; r < p->ndest && p->td == PTX_F16; r++) {
        uint32_t *d = row(w, p->d[r]);
        for (unsigned i = 0; i < LANES; i++) {
            const float *v = &acc->f[i / 4 + r % 2 * 8][r / 2 * 8 + i % 4 * 2];
            d[i] = fp_to_half(v[0], FP_RN, false, false) |
                   (uint32_t)fp_to_half(v[1], FP_RN, false, false) << 16;
        }
    }
}

static enum exec_result
h_wgmma(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    const struct wgmma_plan *p = in->plan;
    uint8_t a[ROWS * LINE], b[MAX_N * LINE];
    union accumulator acc;
    uint32_t bad = 0;
    if (mask != FULL_MASK || w->index / 4 * 4 + 4 > w->cta->nwarps)
        return exec_fault(w, in, 0, NULL,
                          "wgmma is executed by all threads of four warps, the first of "
                          "which has a number that is a multiple of four");
    uint64_t da = p->a_registers ? 0 : *(const uint64_t *)row(w, p->a_desc),
             db = *(const uint64_t *)row(w, p->b_desc);
    if (p->a_registers)
        read_registers(w, p, a);
    else if (!read_matrix(w->cta, da, p->a_mn, w->index % 4 * ROWS, ROWS, LINE, a, &bad))
        return exec_fault_memory(w, in, 0, PTX_SPACE_SHARED, bad);
    if (!read_matrix(w->cta, db, p->b_mn, 0, p->n, LINE, b, &bad))
        return exec_fault_memory(w, in, 0, PTX_SPACE_SHARED, bad);
    bool add = (*(const uint32_t *)row(w, p->scale) & 1) != p->scale_not;
    if (add)
        read_d(w, p, &acc);
    else
        memset(&acc, 0, sizeof acc);
    if (p->product == W_FLOAT)
        add_floats(p, a, b, acc.f);
    else
        add_ints(p, a, b, acc.i);
    write_d(w, p, &acc);
    return EXEC_OK;
}

/* -- decoding -- */

static bool
is_fp8(unsigned t)
{
    return t == PTX_E4M3 || t == PTX_E5M2;
}

static bool
is_int8(unsigned t)
{
    return t == PTX_S8 || t == PTX_U8;
}

/* Shape and types (9.7.15.2, 9.7.15.3). */
static bool
check_shape(struct decoder *d, const struct wgmma_plan *p, unsigned k)
{
    unsigned a = p->ta, b = p->tb, n = p->n;
    bool floats = a == PTX_F16 || a == PTX_BF16 || a == PTX_TF32 || is_fp8(a);
    bool pair = a == b || (is_fp8(a) && is_fp8(b)) || (is_int8(a) && is_int8(b));
    bool half = a == PTX_F16 || is_fp8(a);
    unsigned want = a == PTX_TF32                   ? 8
                    : a == PTX_F16 || a == PTX_BF16 ? 16
                    : a == PTX_B1                   ? 256
                                                    : 32;
    if (!pair || k != want ||
        (floats ? p->td != PTX_F32 && !(half && p->td == PTX_F16) : p->td != PTX_S32))
        return decode_refuse(d, "there is no such shape with these types");
    if (!n || n % 8 || n > MAX_N || (!floats && n > 32 && n % 16))
        return decode_refuse(
            d, "n is a multiple of 8 up to 256; of integers, above 32, of 16");
    if ((a == PTX_B1) !=
        (d->in->mod[PTX_MG_POPC] && d->in->mod[PTX_MG_BOOL] == PTX_BOOL_AND))
        return decode_refuse(d, "single bits, and only these, are combined by .and.popc");
    if (p->satf && !is_int8(a))
        return decode_refuse(d, ".satfinite is for integers of 8 bits");
    return true;
}

/* A constant operand, one of two values. */
static bool
constant(struct decoder *d, const struct ptx_operand *o, int64_t low, const char *what,
         bool *is_low)
{
    if (o->kind != PTX_OPD_IMM || ((int64_t)o->imm != low && (int64_t)o->imm != 1))
        return decode_refuse(d, "%s is %d or 1", what, (int)low);
    *is_low = (int64_t)o->imm == low;
    return true;
}

/* scale-d, then imm-scale-a and -b, imm-trans-a (of a descriptor) and -b. */
static bool
dec_scales(struct decoder *d, struct wgmma_plan *p)
{
    const struct ptx_inst *in = d->in;
    const struct ptx_operand *o = in->ops;
    bool halves = p->ta == PTX_F16 || p->ta == PTX_BF16, first = true;
    unsigned want =
        4 + (p->product == W_FLOAT ? 2 : 0) + (halves ? 2u - p->a_registers : 0);
    if (in->nops != want)
        return decode_refuse(d, "it takes %u operands in this form, %u written", want,
                             in->nops);
    struct ptx_operand scale = o[3];
    p->scale_not = scale.kind == PTX_OPD_REG && scale.neg;
    scale.neg = scale.kind == PTX_OPD_REG ? false : scale.neg;
    p->scale = decode_operand(d, &scale, PTX_PRED);
    if (p->scale == REF_NONE)
        return false;
    if (p->product == W_FLOAT &&
        (!constant(d, &o[4], -1, "imm-scale-a", &p->a_negative) ||
         !constant(d, &o[5], -1, "imm-scale-b", &p->b_negative)))
        return false;
    if (!halves)
        return true;
    unsigned at = 6;
    if (!p->a_registers) {
        if (!constant(d, &o[at++], 0, "imm-trans-a", &first))
            return false;
        p->a_mn = !first;
    }
    if (!constant(d, &o[at], 0, "imm-trans-b", &first))
        return false;
    p->b_mn = !first;
    return true;
}

static bool
dec_registers(struct decoder *d, const struct ptx_operand *o, unsigned n, char name,
              uint32_t *to)
{
    unsigned have = o->kind == PTX_OPD_VEC ? o->n : 1;
    if (have != n)
        return decode_refuse(d, "matrix %c has %u registers in this shape, not %u", name,
                             n, have);
    for (unsigned i = 0; i < n; i++) {
        to[i] = decode_operand(d, o->kind == PTX_OPD_VEC ? &o->vec[i] : o, PTX_B32);
        if (to[i] == REF_NONE)
            return false;
    }
    return true;
}

static bool
dec_product(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct wgmma_plan *p = ARENA_NEW(&d->pp->mem, struct wgmma_plan);
    unsigned n, k;
    const char *word = strstr(in->text, ".m64n");
    if (!word || !ptx_wgmma_shape(word + 1, strcspn(word + 1, "."), &n, &k))
        return decode_refuse(d, "there is no such shape");
    if (in->mod[PTX_MG_SP])
        return decode_refuse(d, "sparse matrices are not simulated here");
    p->td = in->type[0];
    p->ta = in->type[1];
    p->tb = in->type[2];
    p->n = (uint16_t)n;
    p->satf = in->mod[PTX_MG_SATF];
    p->product = p->ta == PTX_B1 ? W_BITS : is_int8(p->ta) ? W_INT : W_FLOAT;
    if (!check_shape(d, p, k))
        return false;
    p->elements = (uint8_t)(p->product == W_FLOAT ? k : LINE);
    p->fraction = is_fp8(p->ta) ? 13 : 25;
    p->ndest = (uint16_t)(p->td == PTX_F16 ? n / 4 : n / 2);
    const struct ptx_operand *o = in->ops;
    p->a_registers = o[1].kind == PTX_OPD_VEC;
    if (!dec_registers(d, &o[0], p->ndest, 'D', p->d) ||
        (p->a_registers && !dec_registers(d, &o[1], 4, 'A', p->a)) || !dec_scales(d, p))
        return false;
    if (!p->a_registers)
        p->a_desc = decode_operand(d, &o[1], PTX_B64);
    p->b_desc = decode_operand(d, &o[2], PTX_B64);
    if (p->b_desc == REF_NONE || (!p->a_registers && p->a_desc == REF_NONE))
        return false;
    d->st->product = PRODUCT_START;
    d->st->work = (uint16_t)(n / 8 * 16);
    d->st->product_bytes = (uint16_t)(n * LINE + (p->a_registers ? 0 : 64 * LINE));
    d->out->esize = 16; /* of an access to scratchpad, for its fault */
    d->out->nvec = 1;
    d->out->plan = p;
    d->out->fn = h_wgmma;
    return true;
}

static enum exec_result
h_nothing(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    (void)w, (void)in, (void)mask, (void)s;
    return EXEC_OK;
}

static bool
dec_wgmma(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    unsigned op = in->mod[PTX_MG_WGOP];
    if (in->op == PTX_OP_WGMMA)
        return dec_product(d);
    bool wait = op == PTX_WGOP_WAIT;
    if (wait != (in->ops[0].kind != PTX_OPD_NONE))
        return decode_refuse(d, "wait_group, and only this, takes a number");
    if (wait && (in->ops[0].kind != PTX_OPD_IMM || in->ops[0].imm > 7))
        return decode_refuse(d, "the number of groups is a constant from 0 to 7");
    d->st->product = op == PTX_WGOP_FENCE    ? PRODUCT_FENCE
                     : op == PTX_WGOP_COMMIT ? PRODUCT_COMMIT
                                             : PRODUCT_WAIT;
    d->st->product_n = wait ? (uint8_t)in->ops[0].imm : 0;
    d->out->fn = h_nothing;
    return true;
}

/* The registers move between the warps of the block in time only (timing/sm/sm_product.c). */
static bool
dec_setmaxnreg(struct decoder *d)
{
    const struct ptx_operand *o = &d->in->ops[0];
    if (o->kind != PTX_OPD_IMM || o->imm < 24 || o->imm > 256 || o->imm % 8)
        return decode_refuse(d,
                             "the number of registers is a multiple of 8 from 24 to 256");
    d->st->product = d->in->mod[PTX_MG_MAXNREG] == PTX_MAXNREG_INC
                         ? PRODUCT_REGISTERS_INC
                         : PRODUCT_REGISTERS_DEC;
    d->st->product_bytes = (uint16_t)o->imm;
    d->out->fn = h_nothing;
    return true;
}

const struct decode_row decode_wgmma[] = {
    {"wgmma", dec_wgmma},
    {"setmaxnreg", dec_setmaxnreg},
    {NULL, NULL},
};
