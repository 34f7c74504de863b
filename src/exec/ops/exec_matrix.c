/* exec_matrix.c: fragments: which lane and register holds which element of a matrix.
 *
 * mma: the tables of PTX ISA 9.0, 9.7.14.5. They follow one rule: with g = lane / 4 and
 * t = lane % 4, a register holds neighbours along k (A, B) or n (C); register r of A is
 * row g + 8 * (r % 2) (of a matrix of 16 rows) and begins at column (r / 2) * 4 * per_reg
 * + t * per_reg; of B it is column g and begins at row r * 4 * per_reg + t * per_reg; of
 * C with 32-bit elements it is row g + 8 * (r / 2), column 2 * t + r % 2. mma.m8n8k4 with
 * f16 is Volta's and has its own.
 *
 * wmma: the ISA leaves the places open ("unspecified and target dependent"); here lane
 * after lane holds consecutive elements, and fragments with more room than elements (f16)
 * hold them again from the start. */
#include "exec/ops/exec_matrix.h"

const struct matrix_shape *
matrix_shape(unsigned mod)
{
#define S(x, y, z)                                                                       \
    {                                                                                    \
        PTX_SHAPE_M##x##N##y##K##z, x, y, z                                              \
    }
    static const struct matrix_shape shapes[] = {
        S(16, 16, 16), S(32, 8, 16), S(8, 32, 16), S(16, 16, 8),  S(8, 8, 4),
        S(8, 8, 16),   S(8, 8, 32),  S(8, 8, 128), S(16, 8, 4),   S(16, 8, 8),
        S(16, 8, 16),  S(16, 8, 32), S(16, 8, 64), S(16, 8, 128), S(16, 8, 256)};
#undef S
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].mod == mod)
            return &shapes[i];
    return NULL;
}

unsigned
matrix_bits(unsigned type)
{
    switch (type) {
    case PTX_F64:
        return 64;
    case PTX_F32:
    case PTX_S32:
    case PTX_TF32:
        return 32;
    case PTX_F16:
    case PTX_BF16:
        return 16;
    case PTX_S8:
    case PTX_U8:
    case PTX_E4M3:
    case PTX_E5M2:
    case PTX_E2M3: /* in bytes; .kind::mxf4 packs e2m1 as s4 */
    case PTX_E3M2:
    case PTX_E2M1:
        return 8;
    case PTX_S4:
    case PTX_U4:
        return 4;
    case PTX_B1:
        return 1;
    default:
        return 0;
    }
}

/* mma.m8n8k4 with f16: each of four groups of eight lanes (4 from the lower half of the
 * warp and 4 from the upper) works on matrices of its own. i: element of the lane. */
static unsigned
volta(enum matrix_operand which, unsigned bits, bool col, unsigned lane, unsigned i)
{
    unsigned pair = lane / 4 % 4, upper = lane / 16 * 4, r, c;
    if (which == MAT_A) {
        r = col ? upper + i : lane % 4 + upper;
        c = col ? lane % 4 : i;
        return pair * 32 + r * 4 + c;
    }
    if (which == MAT_B) {
        r = col ? i : lane % 4;
        c = col ? lane % 4 + upper : upper + i;
        return pair * 32 + c * 4 + r;
    }
    r = bits == 16 ? lane % 4 + upper : (lane & 1) + (i & 2) + upper;
    c = bits == 16 ? i : (i & 4) + (lane & 2) + (i & 1);
    return pair * 64 + r * 8 + c;
}

static unsigned
place(const struct fragment *f, enum matrix_operand which, unsigned lane, unsigned r,
      unsigned j)
{
    unsigned g = lane / 4, t = lane % 4, e = f->per_reg;
    if (which == MAT_A)
        return (g + (f->rows == 16 ? r % 2 * 8 : 0)) * f->cols +
               (f->rows == 16 ? r / 2 : r) * 4 * e + t * e + j;
    if (which == MAT_B)
        return g * f->rows + r * 4 * e + t * e + j;
    return e == 2 ? (g + r * 8) * f->cols + 2 * t + j
                  : (g + r / 2 * 8) * f->cols + 2 * t + r % 2;
}

/* Finds or makes the table of places. */
static const uint16_t *
places(struct decoder *d, const struct fragment *f, enum matrix_operand which, bool wmma,
       bool col)
{
    struct matrix_places *p;
    uint64_t key = f->nregs | (uint64_t)f->bits << 8 | (uint64_t)f->rows << 16 |
                   (uint64_t)f->cols << 32 | (uint64_t)which << 48 |
                   (uint64_t)wmma << 50 | (uint64_t)col << 51 | (uint64_t)f->batch << 52;
    for (p = d->pp->places; p; p = p->next)
        if (p->key == key)
            return p->at;
    unsigned n = f->nregs * f->per_reg, total = (unsigned)f->rows * f->cols;
    p = ARENA_NEW(&d->pp->mem, struct matrix_places);
    p->at = ARENA_ARRAY(&d->pp->mem, uint16_t, (size_t)n * LANES);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < n; i++)
            p->at[lane * n + i] =
                (uint16_t)(wmma ? (lane * n + i) % total
                           : f->batch == 4
                               ? volta(which, f->bits, col, lane, i)
                               : place(f, which, lane, i / f->per_reg, i % f->per_reg));
    p->key = key;
    p->next = d->pp->places;
    d->pp->places = p;
    return p->at;
}

bool
matrix_fragment(struct decoder *d, struct fragment *f, const struct ptx_operand *o,
                const struct matrix_shape *s, enum matrix_operand which, unsigned type,
                bool wmma, bool col)
{
    static const char names[] = "ABC";
    unsigned bits = matrix_bits(type);
    *f = (struct fragment){.bits = (uint8_t)(bits == 1 ? 32 : bits), .batch = 1};
    f->rows = which == MAT_B ? s->k : s->m;
    f->cols = which == MAT_A ? s->k : s->n;
    if (bits == 1 && which == MAT_A)
        f->cols /= 32;
    if (bits == 1 && which == MAT_B)
        f->rows /= 32;
    bool half = type == PTX_F16 && which != MAT_C;
    if (!wmma && s->mod == PTX_SHAPE_M8N8K4 && bits != 64)
        f->batch = 4;
    f->per_reg = (uint8_t)(f->bits >= 32 ? 1 : 32 / f->bits);
    unsigned elements = (unsigned)f->rows * f->cols * f->batch;
    f->nregs = wmma && half ? 8 : (uint8_t)(elements / f->per_reg / LANES);
    unsigned have = o->kind == PTX_OPD_VEC ? o->n : 1;
    if (have != f->nregs)
        return decode_refuse(d, "matrix %c has %u registers in this shape, not %u",
                             names[which], f->nregs, have);
    for (unsigned i = 0; i < have; i++) {
        f->reg[i] = decode_operand(d, o->kind == PTX_OPD_VEC ? &o->vec[i] : o,
                                   bits == 64 ? PTX_F64 : PTX_B32);
        if (f->reg[i] == REF_NONE)
            return false;
    }
    f->at = places(d, f, which, wmma, col);
    return true;
}
