/* opcodes.c: the opcode table (ptx/opcodes.def): every row is well formed, and every form
 * that nvcc 13 and clang 14 were seen to emit for common kernels has a row; those that
 * compute a value from registers have a lane function. */
#include "unit/kit/lanes_util.h"

/* What both compilers emit for 118 classic kernels (textures left out). */
static const char *const core[] = {
    "add.s32",
    "add.s64",
    "cvta.to.global.u64",
    "ld.const.f32",
    "ld.param.u32",
    "ld.param.u64",
    "mad.lo.s32",
    "mov.u32",
    "mul.wide.s32",
    "ret",
    "shl.b32",
    "st.global.f32",
    "ld.global.f32",
    "barrier.sync",
    "ld.shared.f32",
    "st.shared.f32",
    "bra",
    "or.pred",
    "setp.ge.s32",
    "add.f32",
    "fma.rn.f32",
    "mul.f32",
    "cvt.rn.f32.s32",
    "div.rn.f32",
    "sub.s32",
    "mov.f32",
    "sqrt.rn.f32",
    "sub.f32",
    "bar.sync",
    "mul.lo.s32",
    "mul.wide.u32",
    "shr.s32",
    "mov.u64",
    "ld.param.f32",
    "setp.lt.s32",
    "setp.ne.s32",
    "cvt.s64.s32",
    "shl.b64",
    "not.b32",
    "setp.ge.u32",
    "cvt.u64.u32",
    "and.b32",
    "setp.eq.s32",
    "setp.lt.u32",
    "bra.uni",
    "setp.le.u32",
    "setp.gt.s32",
    "ld.const.u32",
    "ld.global.u32",
    "st.global.u32",
    "div.u32",
    "rcp.rn.f32",
    "rem.u32",
    "cvt.rzi.s32.f32",
    "or.b32",
    "rem.s32",
    "shr.u32",
    "neg.s32",
    "ld.shared.u32",
    "st.shared.u32",
    "max.s32",
    "setp.gt.u32",
    "atom.shared.add.u32",
    "selp.u32",
    "xor.pred",
    "xor.b32",
    "selp.b32",
    "min.u32",
    "cvt.u32.u64",
    "clz.b32",
    "setp.eq.b32",
    "and.pred",
    "not.pred",
    "mov.pred",
    "ld.global.s32",
    "setp.gt.s64",
    "ld.shared.v2.f32",
    "st.shared.v2.f32",
    "neg.s64",
    "shr.u64",
    "sub.s64",
    "ex2.approx.f32",
    "selp.f32",
    "setp.gt.f32",
    "setp.le.f32",
    "cvt.rn.f32.u32",
    "cvt.rzi.u32.f32",
    "cvt.sat.f32.f32",
    "ld.const.u64",
    "setp.lt.f32",
    "ld.global.u64",
    "mov.u16",
    "st.global.u8",
    "ld.global.u8",
    "setp.eq.s16",
    "setp.ne.s16",
    "and.b16",
    "min.s32",
    "setp.le.s32",
    "cvt.f64.f32",
    "cvt.rn.f32.f64",
    "fma.rn.f64",
    "mul.f64",
    "add.f64",
    "sub.f64",
    "rcp.rn.f64",
    "add.s16",
    "ld.global.v4.u32",
    "ld.shared.u8",
    "st.shared.u8",
    "ld.global.v4.f32",
    "st.global.v4.f32",
    "st.global.v4.u32",
    "cvt.rmi.f32.f32",
    "setp.geu.f32",
    "bfi.b32",
    "mul.wide.u16",
    "selp.u16",
    "add.u64",
    "ld.local.f32",
    "ld.volatile.global.v4.u32",
    "st.local.v4.u32",
    "add.rz.f32",
    "copysign.f32",
    "cvt.rn.f32.s16",
    "cvt.rzi.f32.f32",
    "ld.const.u16",
    "ld.global.f64",
    "ld.shared.f64",
    "mov.f64",
    "st.global.f64",
    "st.shared.f64",
    "mov.b32",
    "mov.b64",
    "shfl.sync.bfly.b32",
    "shfl.sync.down.b32",
    "abs.f32",
    "div.s32",
    "ld.const.v2.u32",
    "mul.hi.s32",
    "setp.leu.f32",
    "div.approx.f32",
    "ld.global.nc.v2.f32",
    "lg2.approx.f32",
    "rsqrt.approx.f32",
    "st.global.v2.f32",
    "div.rn.f64",
    "ld.local.v4.f32",
    "st.local.f32",
    "st.local.u32",
    "st.local.v4.f32",
    "neg.f32",
    "and.b64",
    "ex2.approx.ftz.f32",
    "rcp.approx.ftz.f32",
    "setp.eq.b64",
    "setp.ge.f32",
    "cvt.u32.u16",
    "not.b64",
    "or.b64",
    "prmt.b32",
    "shr.u16",
    "xor.b64",
    "ld.shared.v4.u8",
    "cvt.u16.u32",
    "shl.b16",
    "st.shared.v4.u8",
    "cvt.s32.s16",
    "ld.shared.s16",
    "ld.shared.v2.u16",
    "st.shared.u16",
    "st.shared.v2.u16",
    "ld.shared.u16",
    "mul.wide.s16",
    "div.u16",
    "ld.global.nc.f32",
    "ld.global.nc.f64",
    "ld.global.nc.u32",
    "vote.sync.ballot.b32",
    "cvt.rn.f32.u16",
    "cvt.s32.s8",
    "selp.b16",
    "st.global.u16",
    "or.b16",
    "ld.global.u16",
    "mul.lo.s16",
    "setp.lt.s16",
    "shr.s16",
    "sub.s16",
    "mul.lo.s64",
    "setp.eq.s64",
    "setp.ge.s64",
    "setp.lt.s64",
    "setp.ne.s64",
    "st.global.u64",
    "setp.lt.u64",
    "setp.gt.u64",
    "st.global.v2.u32",
    "add.rn.f64",
    "ld.param.f64",
    "neg.f64",
    "selp.f64",
    "setp.gt.f64",
    "setp.le.s64",
    "bar.warp.sync",
    "cos.approx.f32",
    "ld.global.nc.v2.u32",
    "max.f32",
    "setp.eq.f32",
    "sin.approx.f32",
    "cvt.rni.f32.f32",
    "max.u16",
    "min.u16",
    "setp.le.u16",
    "setp.lt.u16",
    "bfi.b64",
    "cvt.rn.f64.s64",
    "cvt.rni.s32.f32",
    "ld.local.u32",
    "mad.wide.u32",
    "mul.rn.f32",
    "setp.ltu.f32",
    "atom.or.acq_rel.cta.b32",
    "cvta.shared.u64",
    "ld.acquire.cta.u32",
    "ld.shared.v2.f64",
    "ld.shared.v4.f32",
    "ld.shared.v4.u32",
    "red.and.release.cta.b32",
    "setp.ge.u64",
    "shfl.sync.idx.b32",
    "sqrt.approx.f32",
    "bfe.s32",
    "bfe.u32",
    "ld.global.v2.f32",
    "cvta.local.u64",
    "ld.volatile.f32",
    "st.f32",
    "cvta.global.u64",
    "ld.f32",
    "selp.b64",
    "atom.global.add.u64",
    "min.u64",
    "setp.le.u64",
    "bfe.u64",
    "ld.shared.u64",
    "shfl.sync.up.b32",
    "st.shared.u64",
    "bmsk.clamp.b32",
    "shr.b32",
    "cvta.to.local.u64",
    "ld.local.u64",
    "st.local.u64",
    "ld.volatile.shared.u32",
    "st.volatile.shared.u32",
    "add.u32",
    "cvt.u64.u16",
    "ld.shared.v2.u32",
    "bar.red.and.pred",
    "ld.shared.s32",
    "setp.ne.u32",
    "ld.volatile.shared.s32",
    "mov.s32",
    "popc.b32",
    "vote.ballot.sync.b32",
    "mad.lo.cc.u32",
    "madc.hi.u32",
    "setp.neu.f32",
    "setp.gt.s16",
    "setp.lt.f64",
    "atom.global.add.u32",
    "bar.red.or.pred",
    "exit",
    "ld.volatile.global.u32",
    "membar.cta",
    "st.volatile.global.u32",
    "ld.const.s32",
    "ld.u32",
    "selp.s32",
    "shf.r.wrap.b32",
    "st.u32",
    "ld.param.u8",
    "ld.relaxed.gpu.v2.u32",
    "nanosleep.u32",
    "st.relaxed.gpu.v2.u32",
    "st.u64",
    "vote.sync.all.pred",
    "vote.sync.any.pred",
};

/* The rest of what they emit for 295 kernels in six ways of compiling. */
static const char *const more[] = {
    "abs.f64",
    "abs.ftz.f32",
    "abs.s32",
    "activemask.b32",
    "add.cc.u32",
    "add.ftz.f32",
    "add.rm.f64",
    "add.rn.f32",
    "add.rp.f64",
    "add.rz.ftz.f32",
    "addc.cc.u32",
    "addc.u32",
    "atom.add.release.gpu.u32",
    "atom.add.u32",
    "atom.and.b32",
    "atom.cas.b32",
    "atom.dec.u32",
    "atom.exch.b32",
    "atom.global.and.b32",
    "atom.global.cas.b32",
    "atom.global.dec.u32",
    "atom.global.exch.b32",
    "atom.global.inc.u32",
    "atom.global.max.s32",
    "atom.global.max.u32",
    "atom.global.min.s32",
    "atom.global.min.u32",
    "atom.global.or.b32",
    "atom.global.xor.b32",
    "atom.inc.u32",
    "atom.max.s32",
    "atom.max.u32",
    "atom.min.s32",
    "atom.min.u32",
    "atom.or.b32",
    "atom.shared.exch.b32",
    "atom.shared.or.b32",
    "atom.xor.b32",
    "bfind.shiftamt.u32",
    "brev.b32",
    "call",
    "call.uni",
    "clz.b64",
    "cos.approx.ftz.f32",
    "cvt.ftz.f64.f32",
    "cvt.ftz.sat.f32.f32",
    "cvt.rmi.ftz.f32.f32",
    "cvt.rn.f64.s32",
    "cvt.rn.ftz.f32.f64",
    "cvt.rni.s32.f64",
    "cvt.rpi.f32.f32",
    "cvt.rpi.f64.f64",
    "cvt.rzi.f64.f64",
    "cvt.rzi.ftz.s32.f32",
    "cvt.rzi.ftz.u32.f32",
    "cvt.rzi.s16.f32",
    "cvt.rzi.s32.f64",
    "cvt.rzi.u16.f32",
    "cvt.s16.s8",
    "cvt.u16.u64",
    "cvta.const.u64",
    "div.approx.ftz.f32",
    "div.rm.f64",
    "div.rp.f64",
    "div.u64",
    "fma.rm.f32",
    "fma.rn.ftz.f32",
    "fma.rz.f32",
    "fns.b32",
    "ld.acquire.gpu.u32",
    "ld.const.f64",
    "ld.const.u8",
    "ld.const.v4.f32",
    "ld.f64",
    "ld.global.nc.u64",
    "ld.global.nc.v2.f64",
    "ld.global.nc.v4.f32",
    "ld.global.nc.v4.u32",
    "ld.global.s8",
    "ld.global.v2.f64",
    "ld.global.v2.u32",
    "ld.global.v4.u16",
    "ld.global.v4.u8",
    "ld.local.f64",
    "ld.param.b32",
    "ld.param.b64",
    "ld.param.b8",
    "ld.param.s16",
    "ld.param.s32",
    "ld.param.s8",
    "ld.param.u16",
    "ld.param.v2.b32",
    "ld.param.v2.f32",
    "ld.param.v2.f64",
    "ld.param.v2.u32",
    "ld.param.v2.u8",
    "ld.param.v4.b32",
    "ld.param.v4.b8",
    "ld.param.v4.f32",
    "ld.param.v4.u8",
    "ld.s16",
    "ld.s8",
    "ld.u16",
    "ld.u64",
    "ld.u8",
    "ld.v2.u16",
    "ld.v4.f32",
    "ld.v4.u32",
    "ld.volatile.shared.f32",
    "ld.volatile.u32",
    "lg2.approx.ftz.f32",
    "madc.hi.cc.u32",
    "madc.lo.cc.u32",
    "match.any.sync.b32",
    "max.f64",
    "max.ftz.f32",
    "max.s16",
    "max.u32",
    "membar.gl",
    "min.f32",
    "min.f64",
    "min.ftz.f32",
    "min.s16",
    "mov.b16",
    "mul.ftz.f32",
    "mul.hi.u16",
    "mul.hi.u32",
    "mul.lo.u32",
    "mul.rm.f64",
    "mul.rn.f64",
    "mul.rp.f64",
    "neg.ftz.f32",
    "rcp.approx.ftz.f64",
    "redux.sync.add.s32",
    "redux.sync.max.s32",
    "rem.u64",
    "rsqrt.approx.f64",
    "rsqrt.approx.ftz.f32",
    "selp.u64",
    "setp.eq.b16",
    "setp.eq.f64",
    "setp.eq.ftz.f32",
    "setp.equ.f32",
    "setp.ge.f64",
    "setp.ge.ftz.f32",
    "setp.ge.u16",
    "setp.geu.f64",
    "setp.geu.ftz.f32",
    "setp.gt.ftz.f32",
    "setp.gt.u16",
    "setp.gtu.f32",
    "setp.gtu.f64",
    "setp.gtu.ftz.f32",
    "setp.le.f64",
    "setp.le.ftz.f32",
    "setp.leu.f64",
    "setp.leu.ftz.f32",
    "setp.lt.ftz.f32",
    "setp.ltu.f64",
    "setp.ltu.ftz.f32",
    "setp.nan.f64",
    "setp.neu.f64",
    "setp.num.f64",
    "shf.l.wrap.b32",
    "shr.s64",
    "sin.approx.ftz.f32",
    "sqrt.approx.ftz.f32",
    "sqrt.rn.f64",
    "st.f64",
    "st.global.v2.f64",
    "st.global.v2.u8",
    "st.global.v4.u8",
    "st.local.f64",
    "st.local.v2.f32",
    "st.local.v2.f64",
    "st.local.v2.u32",
    "st.param.b32",
    "st.param.b64",
    "st.param.b8",
    "st.param.f32",
    "st.param.f64",
    "st.param.v2.f32",
    "st.param.v2.f64",
    "st.param.v4.b32",
    "st.param.v4.b8",
    "st.param.v4.f32",
    "st.shared.v4.u32",
    "st.u16",
    "st.u8",
    "st.v2.u16",
    "st.v2.u32",
    "st.v4.u32",
    "st.v4.u8",
    "st.volatile.f32",
    "st.volatile.shared.f32",
    "st.volatile.u32",
    "sub.cc.u32",
    "sub.ftz.f32",
    "subc.cc.u32",
    "subc.u32",
    "tanh.approx.f32",
    "trap",
    "xor.b16",
};

/* Operand patterns: letter, optional type number with w or h, optional ?. */
static bool
good_pattern(const char *p)
{
    if (*p == '*') /* and the suffixes it is for */
        return strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789_.:+L") ==
               strlen(p + 1);
    bool source_seen = false;
    while (*p) {
        if (!strchr("dDaArPpUumlfvVStxLM", *p))
            return false;
        bool dest = strchr("dDPUVL", *p) != NULL;
        if (dest && source_seen)
            return false;                               /* destinations come first */
        source_seen |= !dest && *p != 'v' && *p != 'f'; /* a call's results are a list */
        p++;
        if (*p >= '0' && *p <= '3') {
            p++;
            p += *p == 'w' || *p == 'h';
        }
        p += *p == '?';
        if (*p && *p != ',' && *p != '|')
            return false;
        if (*p && !*++p)
            return false;
    }
    return true;
}

static void
test_rows_are_well_formed(void **state)
{
    (void)state;
    for (unsigned op = 0; op < PTX_NOPS; op++) {
        const struct ptx_op_info *o = &ptx_ops[op];
        if (!good_pattern(o->operands))
            fail_msg("%s: pattern \"%s\"", o->mnemonic, o->operands);
        /* Every type name is a type. */
        for (const char *p = o->types; *p;) {
            size_t n = strcspn(p, " /");
            bool known = false;
            for (unsigned t = 1; t < PTX_NTYPES; t++)
                known |=
                    strlen(ptx_types[t].text) == n && !memcmp(ptx_types[t].text, p, n);
            if (!known)
                fail_msg("%s: types \"%s\"", o->mnemonic, o->types);
            p += n;
            p += *p != 0;
        }
        /* No suffix may mean two things in one row. */
        for (unsigned a = 1; a < PTX_NMODS; a++)
            for (unsigned b = a + 1; b < PTX_NMODS; b++)
                if (ptx_mods[b].group != PTX_MG_EVICT3 &&  /* the second of two */
                    ptx_mods[b].group != PTX_MG_BLAYOUT && /* .row.col */
                    (o->groups >> ptx_mods[a].group & 1) &&
                    (o->groups >> ptx_mods[b].group & 1) &&
                    !strcmp(ptx_mods[a].text, ptx_mods[b].text))
                    fail_msg("%s: .%s stands in two of its groups", o->mnemonic,
                             ptx_mods[a].text);
        /* A carry flag is read only by rows that may write it. */
        if (o->flags & PTX_CCIN)
            assert_true(o->groups >> PTX_MG_CC & 1);
    }
    assert_true(PTX_NMODGROUPS <= 128);
}

/* Rows of pure lane functions; those the executor does itself are listed. */
static bool
is_lane_row(unsigned op)
{
    return (ptx_ops[op].flags & PTX_PURE) && !(ptx_ops[op].flags & PTX_REFUSED) &&
           !(ptx_ops[op].flags & PTX_SELECT) && op != PTX_OP_LOP3P && op != PTX_OP_CVTA &&
           op != PTX_OP_ISSPACEP;
}

static unsigned
check_forms(const char *const *forms, size_t n)
{
    unsigned lanes = 0;
    for (size_t i = 0; i < n; i++) {
        struct ptx_inst in;
        uint32_t aux;
        if (!util_inst(&in, forms[i]))
            fail_msg("no row of opcodes.def admits %s", forms[i]);
        if (ptx_ops[in.op].flags & PTX_REFUSED)
            fail_msg("%s is refused", forms[i]);
        if (!is_lane_row(in.op)) {
            assert_null(lane_select(&in, &aux));
            continue;
        }
        lanes++;
        if (!lane_select(&in, &aux))
            fail_msg("%s has no lane function", forms[i]);
    }
    return lanes;
}

static void
test_forms_of_core_kernels(void **state)
{
    (void)state;
    assert_true(check_forms(core, UTIL_COUNT(core)) > 150);
}

static void
test_forms_of_more_kernels(void **state)
{
    (void)state;
    assert_true(check_forms(more, UTIL_COUNT(more)) > 80);
}

/* The first row whose types and modifiers fit is the one meant. */
static void
test_rows_of_overloaded_mnemonics(void **state)
{
    static const struct {
        const char *form;
        unsigned op;
    } rows[] = {
        {"add.s32", PTX_OP_ADD},
        {"add.sat.s32", PTX_OP_ADD},
        {"add.cc.u32", PTX_OP_ADDCC},
        {"add.rn.f32", PTX_OP_ADDF},
        {"add.f64", PTX_OP_ADDD},
        {"add.bf16", PTX_OP_ADDH},
        {"add.f16x2", PTX_OP_ADDH2},
        {"add.bf16x2", PTX_OP_ADDB2},
        {"mul.lo.s32", PTX_OP_MUL},
        {"mul.wide.s32", PTX_OP_MULW},
        {"mul.f32", PTX_OP_MULF},
        {"mad.lo.cc.u32", PTX_OP_MADCC},
        {"mad.wide.u16", PTX_OP_MADW},
        {"and.pred", PTX_OP_ANDP},
        {"and.b32", PTX_OP_AND},
        {"mov.pred", PTX_OP_MOVP},
        {"cvt.u32.u16", PTX_OP_CVTII},
        {"cvt.rzi.s32.f32", PTX_OP_CVTIF},
        {"cvt.rn.f32.s32", PTX_OP_CVTFI},
        {"cvt.f64.f32", PTX_OP_CVTFF},
        {"bar.warp.sync", PTX_OP_BARWARP},
        {"bar.sync", PTX_OP_BAR},
        {"bar.red.or.pred", PTX_OP_BARREDP},
        {"bar.red.popc.u32", PTX_OP_BARRED},
        {"vote.sync.any.pred", PTX_OP_VOTEP},
        {"vote.sync.ballot.b32", PTX_OP_VOTEB},
        {"setp.lt.and.f64", PTX_OP_SETPD},
        {"brx.idx", PTX_OP_BRX},
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(rows); i++) {
        struct ptx_inst in;
        assert_true(util_inst(&in, rows[i].form));
        if (in.op != rows[i].op)
            fail_msg("%s is read by row %u, not %u", rows[i].form, in.op, rows[i].op);
    }
}

/* Combinations the ISA does not have get no lane function. */
static void
test_invalid_combinations(void **state)
{
    static const char *const bad[] = {
        "add.sat.u32",
        "sub.sat.s64",
        "mad.lo.sat.s32",
        "mad.s32",
        "mul.u32",
        "setp.s32",
        "setp.lt.b32",
        "setp.lo.s32",
        "setp.ltu.u32",
        "setp.hs.f32",
        "shf.l.b32",
        "bmsk.b32",
        "cvt.rn.s32.f32",
        "cvt.s32.f32",
        "cvt.rni.f32.s32",
        "cvt.rzi.f32.f64",
        "testp.f32",
        "min.xorsign.f32",
        "set.lt.u32.b32",
        "slct.ftz.u32.s32",
        "add.ftz.bf16",
        "add.rz.f16",
        "add.rni.f32",
        "rcp.full.f32",
        "sqrt.approx.rn.f32",
        "fma.rna.f64",
        "mul.sat.bf16x2",
        "fma.rn.sat.relu.f16",
        "fma.f16",
        "ex2.approx.bf16",
        "ex2.approx.f32x2",
        "min.abs.f16",
        "cvt.rm.f16x2.f32",
        "cvt.tf32.f32",
        "cvt.rn.e4m3x2.f32",
        "cvt.rz.f16x2.e5m2x2",
        "cvt.rn.relu.f16.f64",
        "cvt.rna.f16.f32",
        "cvt.pack.s16.s32",
        "set.lt.f16.bf16",
        "set.lt.bf16x2.f16x2",
        "cvt.rna.relu.tf32.f32",
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(bad); i++) {
        struct ptx_inst in;
        uint32_t aux;
        if (util_inst(&in, bad[i]) && lane_select(&in, &aux))
            fail_msg("%s has a lane function", bad[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_well_formed),
        cmocka_unit_test(test_forms_of_core_kernels),
        cmocka_unit_test(test_forms_of_more_kernels),
        cmocka_unit_test(test_rows_of_overloaded_mnemonics),
        cmocka_unit_test(test_invalid_combinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
