/* lanes.c: chooses the lane function of an instruction.
 *
 * The functions are in lanes_variant.c, compiled once for every instruction-set variant
 * (rare ones: the plain variant's serve all). Here the variant is chosen, an instruction's
 * modifiers are put into the bits of aux (lanes_int.h) and the most special function made
 * for them is looked up. Also says no to combinations that the PTX ISA does not have, where
 * the opcode table cannot. */
#include "exec/lanes/fp_half.h"
#include "exec/lanes/lanes_int.h"

#include <stdatomic.h>
#include <string.h>

extern const struct lane_variant lanes_variant_plain, lanes_variant_avx2,
    lanes_variant_avx512;

size_t
lane_variants(const struct lane_variant *out[4])
{
    size_t n = 0;
    /* Under ASan the plain variant alone is instrumented (folder.cmake): the last is used. */
#ifndef __SANITIZE_ADDRESS__
    out[n++] = &lanes_variant_plain;
#endif
#ifdef LANES_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
        out[n++] = &lanes_variant_avx2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
            out[n++] = &lanes_variant_avx512;
    }
#endif
#ifdef __SANITIZE_ADDRESS__
    out[n++] = &lanes_variant_plain;
#endif
    return n;
}

static _Atomic(const struct lane_variant *) chosen;

static const struct lane_variant *
fastest(void)
{
    const struct lane_variant *v = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!v) { /* the same from every thread */
        const struct lane_variant *all[4];
        v = all[lane_variants(all) - 1];
        atomic_store_explicit(&chosen, v, memory_order_relaxed);
    }
    return v;
}

void
lane_init(void)
{
    fastest();
}

/* enum ptx_mod to what it means in aux. */
static const struct {
    uint32_t bits;
    bool known;
} mod_bits[PTX_NMODS] = {
#define M(mod, value) [PTX_##mod] = {(uint32_t)(value), true}
    M(RND_RN, FP_RN),
    M(RND_RZ, FP_RZ),
    M(RND_RM, FP_RM),
    M(RND_RP, FP_RP),
    M(RND_RNI, FP_RN | LM_INTEGRAL),
    M(RND_RZI, FP_RZ | LM_INTEGRAL),
    M(RND_RMI, FP_RM | LM_INTEGRAL),
    M(RND_RPI, FP_RP | LM_INTEGRAL),
    M(RND_RNA, LM_RNA),
    M(FTZ_FTZ, LM_FTZ),
    M(SAT_SAT, LM_SAT),
    M(SATF_SATF, LM_SATF),
    M(RELU_RELU, LM_RELU),
    M(PACK_PACK, 0),
    M(PART_LO, 0),
    M(PART_HI, LM_HI),
    M(WIDE_WIDE, 0),
    M(PREC_APPROX, FP_APPROX << 5),
    M(PREC_FULL, FP_FULL << 5),
    M(NAN__NAN, LM_NAN),
    M(XORSIGN_XORSIGN, LM_XORSIGN),
    M(ABS_ABS, LM_ABS),
    M(CC_CC, LM_CC),
    M(SHIFT_WRAP, LM_WRAP),
    M(SHIFT_CLAMP, 0),
    M(LR_R, LM_RIGHT),
    M(LR_L, 0),
    M(SHIFTAMT_SHIFTAMT, LM_SHIFTAMT),
    M(BOOL_AND, 1 << 20),
    M(BOOL_OR, 2 << 20),
    M(BOOL_XOR, 3 << 20),
    M(PRMT_F4E, 1 << 24),
    M(PRMT_B4E, 2 << 24),
    M(PRMT_RC8, 3 << 24),
    M(PRMT_ECL, 4 << 24),
    M(PRMT_ECR, 5 << 24),
    M(PRMT_RC16, 6 << 24),
    M(TESTP_FINITE, FP_FINITE << 28),
    M(TESTP_INFINITE, FP_INFINITE << 28),
    M(TESTP_NUMBER, FP_NUMBER << 28),
    M(TESTP_NOTANUMBER, FP_NOTANUMBER << 28),
    M(TESTP_NORMAL, FP_NORMAL << 28),
    M(TESTP_SUBNORMAL, FP_SUBNORMAL << 28),
#define CMP(mod, relations) M(CMP_##mod, (relations) << 16)
    CMP(EQ, LC_EQ),
    CMP(NE, LC_LT | LC_GT),
    CMP(LT, LC_LT),
    CMP(LE, LC_LT | LC_EQ),
    CMP(GT, LC_GT),
    CMP(GE, LC_GT | LC_EQ),
    CMP(LO, LC_LT),
    CMP(LS, LC_LT | LC_EQ),
    CMP(HI, LC_GT),
    CMP(HS, LC_GT | LC_EQ),
    CMP(EQU, LC_EQ | LC_UN),
    CMP(NEU, LC_LT | LC_GT | LC_UN),
    CMP(LTU, LC_LT | LC_UN),
    CMP(LEU, LC_LT | LC_EQ | LC_UN),
    CMP(GTU, LC_GT | LC_UN),
    CMP(GEU, LC_GT | LC_EQ | LC_UN),
    CMP(NUM, LC_LT | LC_EQ | LC_GT),
    CMP(NAN, LC_UN),
#undef CMP
#undef M
};

#define HAS(g) (in->mod[PTX_MG_##g] != 0)
#define IS(g, m) (in->mod[PTX_MG_##g] == PTX_##g##_##m)

/* Is this comparison defined for operands of type t? */
static bool
comparable(unsigned cmp, unsigned t)
{
    bool equality = cmp == PTX_CMP_EQ || cmp == PTX_CMP_NE;
    bool order =
        cmp == PTX_CMP_LT || cmp == PTX_CMP_LE || cmp == PTX_CMP_GT || cmp == PTX_CMP_GE;
    bool uorder =
        cmp == PTX_CMP_LO || cmp == PTX_CMP_LS || cmp == PTX_CMP_HI || cmp == PTX_CMP_HS;
    switch (ptx_types[t].kind) {
    case PTX_K_BITS:
        return equality;
    case PTX_K_SINT:
        return equality || order;
    case PTX_K_UINT:
        return equality || order || uorder;
    case PTX_K_FLT:
        return cmp && !uorder;
    default:
        return false;
    }
}

static bool
is_bhalf(unsigned t)
{
    return t == PTX_BF16 || t == PTX_BF16X2;
}

/* Modifiers of half-precision rows (PTX ISA 9.7.4): bf16 knows neither .ftz nor .sat. */
static bool
valid_half(const struct ptx_inst *in)
{
    unsigned t = in->type[0], rnd = in->mod[PTX_MG_RND];
    if (rnd && rnd != PTX_RND_RN)
        return false;
    switch (in->op) {
    case PTX_OP_EX2H:
        return IS(PREC, APPROX) && HAS(FTZ) == is_bhalf(t);
    case PTX_OP_TANHH:
        return IS(PREC, APPROX);
    case PTX_OP_FMAH:
    case PTX_OP_FMAH2:
    case PTX_OP_FMAB2:
        return rnd && !(HAS(SAT) && HAS(RELU)) &&
               !(is_bhalf(t) && (HAS(FTZ) || HAS(SAT)));
    default:
        return HAS(XORSIGN) == HAS(ABS) && !(is_bhalf(t) && (HAS(FTZ) || HAS(SAT)));
    }
}

/* cvt (PTX ISA 9.7.9.21). */
static bool
valid_cvt(const struct ptx_inst *in)
{
    unsigned rnd = in->mod[PTX_MG_RND];
    bool rn = rnd == PTX_RND_RN, rz = rnd == PTX_RND_RZ;
    const struct ptx_type_info *d = &ptx_types[in->type[0]], *s = &ptx_types[in->type[1]];
    if (HAS(FTZ) && in->type[0] != PTX_F32 && in->type[1] != PTX_F32)
        return false;
    if (HAS(SAT) && (in->type[0] == PTX_BF16 || in->type[1] == PTX_BF16))
        return false;
    switch (in->op) {
    case PTX_OP_CVTII: /* .sat where there is something to clamp */
        if (!HAS(SAT))
            return true;
        return s->kind == d->kind ? s->bytes > d->bytes
                                  : s->kind == PTX_K_SINT || s->bytes >= d->bytes;
    case PTX_OP_CVTIF:
        return rnd >= PTX_RND_RNI && !IS(RND, RNA) &&
               !(in->type[1] == PTX_BF16 && d->bytes == 1);
    case PTX_OP_CVTFI:
        return rnd < PTX_RND_RNI && !(in->type[0] == PTX_BF16 && s->bytes == 1);
    case PTX_OP_CVTX2:
        return rn || rz;
    case PTX_OP_CVTTF:
        return rn || rz || (rnd == PTX_RND_RNA && !HAS(RELU));
    case PTX_OP_CVTE8:
    case PTX_OP_CVTE8H:
        return rn && HAS(SATF);
    case PTX_OP_CVTE6:
    case PTX_OP_CVTE4:
    case PTX_OP_CVTE4H:
        return rn && HAS(SATF);
    case PTX_OP_CVTHE8:
    case PTX_OP_CVTHE6:
    case PTX_OP_CVTHE4:
    case PTX_OP_CVTBUE8:
        return rn;
    case PTX_OP_CVTUE8:
    case PTX_OP_CVTUE8B:
        return rz || rnd == PTX_RND_RP;
    case PTX_OP_CVTFF: /* .relu and .satfinite: to f16 and bf16 from f32 */
        if (HAS(RELU) || HAS(SATF))
            return (in->type[0] == PTX_F16 || in->type[0] == PTX_BF16) &&
                   in->type[1] == PTX_F32 && (rn || rz) && !HAS(SAT) && !HAS(FTZ);
        /* Between equal types to integers only; to wider ones there is nothing to round,
         * and only of bf16 may it be written. */
        if (in->type[0] == in->type[1])
            return !rnd || (rnd >= PTX_RND_RNI && rnd <= PTX_RND_RPI);
        return rnd < PTX_RND_RNI && (!rnd || d->bytes <= s->bytes ||
                                     (in->type[0] == PTX_F32 && in->type[1] == PTX_BF16));
    default: /* cvt.pack */
        return HAS(SAT) && (in->ntypes < 3 || in->type[2] == PTX_B32);
    }
}

/* What the table's type sets and modifier groups do not say. */
static bool
valid(const struct ptx_inst *in)
{
    unsigned t = in->type[0];
    if (in->mod[PTX_MG_RND] > PTX_RND_RP && strcmp(ptx_ops[in->op].mnemonic, "cvt"))
        return false; /* integral rounding is for cvt */
    if (in->op == PTX_OP_RCPD && HAS(PREC) && !HAS(FTZ))
        return false; /* rcp.approx.ftz.f64 */
    if (HAS(PREC) && (HAS(RND) || (IS(PREC, FULL) && in->op != PTX_OP_DIVF)))
        return false;
    switch (in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return !HAS(SAT) || t == PTX_S32;
    case PTX_OP_MAD:
    case PTX_OP_MAD24:
        return HAS(PART) && (!HAS(SAT) || (t == PTX_S32 && IS(PART, HI)));
    case PTX_OP_MUL:
    case PTX_OP_MUL24:
    case PTX_OP_MADCC:
    case PTX_OP_MADC:
    case PTX_OP_CLMAD:
    case PTX_OP_DP2A:
        return HAS(PART);
    case PTX_OP_MULW:
    case PTX_OP_MADW:
        return HAS(WIDE);
    case PTX_OP_SHF:
        return HAS(LR) && HAS(SHIFT);
    case PTX_OP_BMSK:
    case PTX_OP_SZEXT:
        return HAS(SHIFT);
    case PTX_OP_TESTPF:
    case PTX_OP_TESTPD:
        return HAS(TESTP);
    case PTX_OP_SETP:
    case PTX_OP_SETPF:
    case PTX_OP_SETPD:
        return comparable(in->mod[PTX_MG_CMP], t);
    case PTX_OP_SET:
        return comparable(in->mod[PTX_MG_CMP], in->type[1]) &&
               (!HAS(FTZ) || in->type[1] == PTX_F32);
    case PTX_OP_SLCT:
        return !HAS(FTZ) || in->type[1] == PTX_F32;
    case PTX_OP_MINF:
    case PTX_OP_MAXF:
        return HAS(XORSIGN) == HAS(ABS);
    case PTX_OP_CVTII:
    case PTX_OP_CVTIF:
    case PTX_OP_CVTFI:
    case PTX_OP_CVTFF:
    case PTX_OP_CVTX2:
    case PTX_OP_CVTTF:
    case PTX_OP_CVTE8:
    case PTX_OP_CVTE8H:
    case PTX_OP_CVTHE8:
    case PTX_OP_CVTE6:
    case PTX_OP_CVTE4:
    case PTX_OP_CVTE4H:
    case PTX_OP_CVTHE6:
    case PTX_OP_CVTHE4:
    case PTX_OP_CVTUE8:
    case PTX_OP_CVTUE8B:
    case PTX_OP_CVTBUE8:
    case PTX_OP_CVTPACK16:
    case PTX_OP_CVTPACK8:
        return valid_cvt(in);
    case PTX_OP_ADDH:
    case PTX_OP_ADDH2:
    case PTX_OP_ADDB2:
    case PTX_OP_SUBH:
    case PTX_OP_SUBH2:
    case PTX_OP_SUBB2:
    case PTX_OP_MULH:
    case PTX_OP_MULH2:
    case PTX_OP_MULB2:
    case PTX_OP_FMAH:
    case PTX_OP_FMAH2:
    case PTX_OP_FMAB2:
    case PTX_OP_NEGH:
    case PTX_OP_ABSH:
    case PTX_OP_MINH:
    case PTX_OP_MAXH:
    case PTX_OP_TANHH:
    case PTX_OP_EX2H:
        return valid_half(in);
    case PTX_OP_SETPH:
        return comparable(in->mod[PTX_MG_CMP], t) && !(is_bhalf(t) && HAS(FTZ));
    case PTX_OP_SETHS:
    case PTX_OP_SETH2: /* f16 and bf16 do not mix */
        return comparable(in->mod[PTX_MG_CMP], in->type[1]) &&
               !(is_bhalf(in->type[1]) && HAS(FTZ)) &&
               (ptx_types[t].kind != PTX_K_FLT || t == in->type[1]);
    case PTX_OP_SETHD:
        return comparable(in->mod[PTX_MG_CMP], in->type[1]) &&
               (!HAS(FTZ) || (in->type[1] == PTX_F32 && t != PTX_BF16));
    default:
        return true;
    }
}

lane_fn *
lane_select_in(const struct lane_variant *v, const struct ptx_inst *in, uint32_t *aux)
{
    *aux = 0;
    if (!valid(in))
        return NULL;
    uint32_t m = 0;
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++) {
        if (in->mod[g] && !mod_bits[in->mod[g]].known)
            return NULL;
        m |= mod_bits[in->mod[g]].bits;
    }
    unsigned t0 = in->type[0], t1 = in->ntypes > 1 ? in->type[1] : PTX_NOTYPE;
    unsigned operand = !strcmp(ptx_ops[in->op].mnemonic, "set") ? t1 : t0;
    if (HAS(CMP) && IS(CMP, NE) && ptx_types[operand].kind != PTX_K_FLT)
        m |= LC_UN << 16; /* the code that means != */
    if (in->op == PTX_OP_CVTIF) {
        m &= ~(uint32_t)LM_SAT; /* clamps anyway */
        if ((m & LM_RND) == FP_RN || (m & LM_RND) == FP_RZ)
            m &= ~(uint32_t)LM_FTZ; /* subnormals give 0 anyway */
    }
    if (in->op == PTX_OP_CVTFF && t0 == PTX_F16)
        m &= ~(uint32_t)LM_FTZ; /* ptxas leaves it out: subnormals count */
    *aux = m;
    size_t lo = 0;
    for (size_t hi = v->n; lo < hi;) { /* first entry of the opcode */
        size_t mid = lo + (hi - lo) / 2;
        if (v->entry[mid].op < in->op)
            lo = mid + 1;
        else
            hi = mid;
    }
    size_t general = v->n;
    for (; lo < v->n && v->entry[lo].op == in->op; lo++) {
        const struct lane_entry *e = &v->entry[lo];
        if (e->type[0] != t0 || e->type[1] != t1)
            continue;
        if (e->mods == (m & ~(uint32_t)LM_BOOL))
            return e->fn;
        if (e->mods == (uint32_t)LM_ANY)
            general = lo;
    }
    if (general == v->n)
        return NULL;
    lane_fn *fn = v->entry[general].fn;
    return fn ? fn : lanes_variant_plain.entry[general].fn;
}

lane_fn *
lane_select(const struct ptx_inst *in, uint32_t *aux)
{
    return lane_select_in(fastest(), in, aux);
}
