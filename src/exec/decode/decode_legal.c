/* decode_legal.c: which modifiers and types of an instruction go together, where the
 * opcode table, which lists them one by one, does not say (PTX ISA 9.0, the syntax of
 * each instruction in 9.7). Lane functions have theirs in lanes.c.
 * tests/unit/ptx/ptxas_forms.c holds the answers against ptxas. */
#include "exec/exec_int.h"

#include <string.h>

#define HAS(g) (in->mod[PTX_MG_##g] != 0)
#define IS(g, m) (in->mod[PTX_MG_##g] == PTX_##g##_##m)

static bool
is_shared(unsigned space)
{
    return space == PTX_SPACE_SS_SHARED || space == PTX_SPACE_SS_SHARED_CTA ||
           space == PTX_SPACE_SS_SHARED_CLUSTER;
}

/* Generic or global. */
static bool
is_global(unsigned space)
{
    return !space || space == PTX_SPACE_SS_GLOBAL;
}

/* ld and st: 9.7.9.8 to 9.7.9.12. */
static const char *
access(const struct ptx_inst *in, bool store)
{
    unsigned space = in->mod[PTX_MG_SPACE], sem = in->mod[PTX_MG_SEM];
    bool strong = IS(SEM, RELAXED) || IS(SEM, ACQUIRE) || IS(SEM, RELEASE);
    bool evict = HAS(EVICT1) || HAS(EVICT2);
    if (IS(SEM, ACQ_REL) || IS(SEM, SC) || (store ? IS(SEM, ACQUIRE) : IS(SEM, RELEASE)))
        return store ? "a store is .weak, .volatile, .relaxed or .release"
                     : "a load is .weak, .volatile, .relaxed or .acquire";
    if (strong != HAS(SCOPE) || IS(SCOPE, GL))
        return strong ? "it needs a scope: .cta, .cluster, .gpu or .sys"
                      : "a scope goes with .relaxed, .acquire and .release";
    if (strong && !is_global(space) && !is_shared(space))
        return "only global and shared memory is accessed in an order";
    if (HAS(MMIO) && (!strong || !IS(SCOPE, SYS) || !is_global(space) || HAS(CACHE) ||
                      HAS(NC) || evict || HAS(PREFETCH) || HAS(L2HINT) || HAS(VEC)))
        return store ? ".mmio goes with .relaxed.sys or .release.sys and nothing else"
                     : ".mmio goes with .relaxed.sys or .acquire.sys and nothing else";
    if (IS(SEM, VOLATILE) &&
        (evict || HAS(L2HINT) ||
         !(is_global(space) || is_shared(space) || space == PTX_SPACE_SS_LOCAL)))
        return ".volatile is for global, shared and local memory, without hints to the "
               "caches";
    if (HAS(CACHE) && (strong || IS(SEM, VOLATILE) || evict))
        return "a cache operator goes with weak accesses without eviction priority";
    if (store ? IS(CACHE, CA) || IS(CACHE, LU) || IS(CACHE, CV)
              : IS(CACHE, WB) || IS(CACHE, WT))
        return store ? "the cache operators of a store are .wb .cg .cs .wt"
                     : "the cache operators of a load are .ca .cg .cs .lu .cv";
    if (HAS(NC) &&
        (space != PTX_SPACE_SS_GLOBAL || sem || IS(CACHE, LU) || IS(CACHE, CV)))
        return ".nc goes with .global, and with .ca .cg .cs";
    if ((evict || HAS(PREFETCH) || HAS(L2HINT)) && !is_global(space))
        return "hints to the caches are for global memory";
    unsigned bytes = ptx_types[in->type[0]].bytes;
    bool big = (IS(VEC, V4) && bytes == 8) || (IS(VEC, V8) && bytes == 4);
    if (big && !is_global(space))
        return "256 bits at once are accessed in global memory only";
    if (HAS(EVICT2) && !big)
        return "eviction priorities of the L2 are for .v8.b32 and .v4.b64";
    return NULL;
}

/* atom and red: 9.7.13.13, 9.7.13.14. */
static const char *
atomic(const struct ptx_inst *in, bool red)
{
    unsigned t = in->type[0], op = in->mod[PTX_MG_ATOMOP];
    bool half = t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
    bool bits = t == PTX_B32 || t == PTX_B64, ok;
    if (IS(SEM, WEAK) || IS(SEM, VOLATILE) || IS(SEM, SC) ||
        (red && (IS(SEM, ACQUIRE) || IS(SEM, ACQ_REL))))
        return red ? "red is .relaxed or .release"
                   : "atom is .relaxed, .acquire, .release or .acq_rel";
    if (IS(SCOPE, GL))
        return "its scope is .cta, .cluster, .gpu or .sys";
    if (HAS(L2HINT) && !is_global(in->mod[PTX_MG_SPACE]))
        return "hints to the caches are for global memory";
    if (HAS(L2HINT) && op == PTX_ATOMOP_CAS && (t == PTX_B16 || t == PTX_B128))
        return "of this size it takes no cache policy";
    if (HAS(NOFTZ) != half)
        return half ? "of halves it is .add.noftz" : ".noftz is for halves";
    switch (op) {
    case PTX_ATOMOP_AND:
    case PTX_ATOMOP_OR:
    case PTX_ATOMOP_XOR:
        ok = bits;
        break;
    case PTX_ATOMOP_CAS:
    case PTX_ATOMOP_EXCH:
        ok = !red && (bits || t == PTX_B128 || (op == PTX_ATOMOP_CAS && t == PTX_B16));
        break;
    case PTX_ATOMOP_INC:
    case PTX_ATOMOP_DEC:
        ok = t == PTX_U32;
        break;
    case PTX_ATOMOP_MIN:
    case PTX_ATOMOP_MAX:
        ok = t == PTX_U32 || t == PTX_S32 || t == PTX_U64 || t == PTX_S64;
        break;
    case PTX_ATOMOP_ADD:
        ok = half || t == PTX_U32 || t == PTX_S32 || t == PTX_U64 || t == PTX_F32 ||
             t == PTX_F64;
        break;
    default:
        ok = false;
    }
    return ok ? NULL : "there is no such operation on this type";
}

/* prefetch, discard, applypriority: 9.7.9.15 to 9.7.9.19. */
static const char *
hint(const struct ptx_inst *in)
{
    unsigned space = in->mod[PTX_MG_SPACE];
    switch (in->op) {
    case PTX_OP_PREFETCHU:
        return IS(LEVEL, L1) ? NULL : "it is prefetchu.L1";
    case PTX_OP_DISCARD:
        return IS(LEVEL, L2) && is_global(space) ? NULL : "it is discard.global.L2";
    case PTX_OP_APPLYPRIORITY:
        return IS(LEVEL, L2_NORMAL) && is_global(space)
                   ? NULL
                   : "it is applypriority.global.L2::evict_normal";
    default:
        break;
    }
    if (IS(LEVEL, TENSORMAP))
        return !space || space == PTX_SPACE_SS_CONST || space == PTX_SPACE_SS_PARAM
                   ? NULL
                   : "tensor maps are in .const, .param or generic addresses";
    if (IS(LEVEL, L2_LAST) || IS(LEVEL, L2_NORMAL))
        return is_global(space) ? NULL : "eviction priorities are for global memory";
    return is_global(space) || space == PTX_SPACE_SS_LOCAL
               ? NULL
               : "global and local memory is prefetched";
}

/* suld, sust, sured: 9.7.11. */
static const char *
surface(const struct ptx_inst *in)
{
    unsigned t = in->type[0], op = in->mod[PTX_MG_ATOMOP];
    bool bits = ptx_types[t].kind == PTX_K_BITS;
    if (in->op == PTX_OP_SULD)
        return IS(SUFORM, P) ? "it is suld.b"
               : IS(CACHE, WB) || IS(CACHE, WT) || IS(CACHE, LU)
                   ? "the cache operators of a load are .ca .cg .cs .cv"
               : bits ? NULL
                      : "its type is .b8 .b16 .b32 or .b64";
    if (in->op == PTX_OP_SUST)
        return IS(CACHE, CA) || IS(CACHE, LU) || IS(CACHE, CV)
                   ? "the cache operators of a store are .wb .cg .cs .wt"
               : IS(SUFORM, P) ? (ptx_types[t].bytes == 4 ? NULL : "its type has 32 bits")
               : bits          ? NULL
                               : "its type is .b8 .b16 .b32 or .b64";
    bool logic = op == PTX_ATOMOP_AND || op == PTX_ATOMOP_OR;
    if (IS(SUFORM, P))
        return t == PTX_B32 || (t == PTX_B64 && !logic && op != PTX_ATOMOP_ADD)
                   ? NULL
                   : "its type is .b32, of .min and .max .b64 too";
    if (logic)
        return t == PTX_B32 ? NULL : ".and and .or are for .b32";
    return bits                                   ? ".add .min .max are for integers"
           : op == PTX_ATOMOP_ADD && t == PTX_S64 ? ".add of 64 bits is for .u64"
                                                  : NULL;
}

/* mbarrier.arrive and .test_wait: 9.7.13.15. */
static const char *
mbarrier(const struct ptx_inst *in, bool arrive, unsigned written)
{
    if (HAS(SEM) != HAS(SCOPE))
        return "order and scope stand together, such as .release.cta";
    if (HAS(SEM) && !IS(SEM, RELAXED) && (arrive ? !IS(SEM, RELEASE) : !IS(SEM, ACQUIRE)))
        return arrive ? "it is .release or .relaxed" : "it is .acquire or .relaxed";
    if (HAS(SCOPE) && !IS(SCOPE, CTA) && !IS(SCOPE, CLUSTER))
        return "its scope is .cta or .cluster";
    if (arrive && IS(MBX, NO_COMPLETE) && written < 3)
        return ".noComplete needs a count";
    if (!arrive && IS(MBWAIT, TEST) && written > 3)
        return "only try_wait takes a time";
    return NULL;
}

const char *
decode_illegal(const struct ptx_inst *in)
{
    unsigned written = 0; /* operands */
    for (unsigned i = 0; i < in->nops; i++)
        written += in->ops[i].kind != PTX_OPD_NONE;
    unsigned space = in->mod[PTX_MG_SPACE], op = in->mod[PTX_MG_ATOMOP];
    switch (in->op) {
    case PTX_OP_LD:
        return access(in, false);
    case PTX_OP_ST:
        return access(in, true);
    case PTX_OP_LDU:
        return !is_global(space) ? "ldu reads global memory"
               : IS(VEC, V4) && ptx_types[in->type[0]].bytes == 8
                   ? "ldu reads up to 128 bits"
                   : NULL;
    case PTX_OP_ATOM:
    case PTX_OP_ATOMH:
        return atomic(in, false);
    case PTX_OP_RED:
    case PTX_OP_REDH:
        return atomic(in, true);
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_DISCARD:
    case PTX_OP_APPLYPRIORITY:
        return hint(in);
    case PTX_OP_MEMBAR:
        return IS(SCOPE, CTA) || IS(SCOPE, GL) || IS(SCOPE, SYS)
                   ? NULL
                   : "its level is .cta, .gl or .sys";
    case PTX_OP_FENCE:
        if (IS(SCOPE, GL) || IS(SEM, WEAK) || IS(SEM, VOLATILE) || IS(SEM, RELAXED))
            return "it is fence.sc, .acq_rel, .acquire or .release with .cta, .cluster, "
                   ".gpu or .sys";
        if (HAS(SYNCR) && (!IS(SCOPE, CLUSTER) ||
                           (IS(SYNCR, CTA) ? !IS(SEM, RELEASE) : !IS(SEM, ACQUIRE))))
            return "it is fence.release.sync_restrict::shared::cta.cluster or "
                   "fence.acquire.sync_restrict::shared::cluster.cluster";
        return NULL;
    case PTX_OP_FENCEMB:
        return IS(SEM, RELEASE) && IS(SCOPE, CLUSTER)
                   ? NULL
                   : "it is fence.mbarrier_init.release.cluster";
    case PTX_OP_MEMBARP:
        return IS(PROXYK, ALIAS) ? NULL : "it is membar.proxy.alias";
    case PTX_OP_MATCH:
        return IS(MATCH, ANY) && in->ops[1].kind != PTX_OPD_NONE
                   ? "match.any gives no predicate"
                   : NULL;
    case PTX_OP_SUQ:
        return IS(QUERY, WIDTH) || IS(QUERY, HEIGHT) || IS(QUERY, DEPTH) ||
                       IS(QUERY, TYPE) || IS(QUERY, ORDER) || IS(QUERY, LAYERS) ||
                       IS(QUERY, LAYOUT)
                   ? NULL
                   : "surfaces do not have that";
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
        return surface(in);
    case PTX_OP_CPASYNC:
        return written > (HAS(L2HINT) ? 5 : 4)
                   ? "a cache policy goes with .L2::cache_hint"
                   : NULL;
    case PTX_OP_MBINIT:
        return written == (IS(MBINIT, INIT) ? 2 : 1)
                   ? NULL
                   : "mbarrier.init takes a count, mbarrier.inval none";
    case PTX_OP_MBARRIVE:
        return mbarrier(in, true, written);
    case PTX_OP_MBWAIT:
        return mbarrier(in, false, written);
    case PTX_OP_TEX:
        return in->type[0] == PTX_F16X2 && !IS(VEC, V2) ? ".f16x2 goes with .v2" : NULL;
    case PTX_OP_BARREDP:
    case PTX_OP_BARRIERREDP:
        return op == PTX_ATOMOP_AND || op == PTX_ATOMOP_OR
                   ? NULL
                   : "predicates are reduced by .and and .or";
    case PTX_OP_BARRED:
    case PTX_OP_BARRIERRED:
        return op == PTX_ATOMOP_POPC ? NULL : "it is .popc of type .u32";
    case PTX_OP_SHFL:
        return in->type[0] == PTX_B32 ? NULL : "its type is .b32";
    case PTX_OP_REDUX: {
        bool logic = op == PTX_ATOMOP_AND || op == PTX_ATOMOP_OR || op == PTX_ATOMOP_XOR;
        return logic == (in->type[0] == PTX_B32)
                   ? NULL
                   : ".and .or .xor are for .b32, .add .min .max for .u32 and .s32";
    }
    case PTX_OP_CVTA:
    case PTX_OP_ISSPACEP:
        return space == PTX_SPACE_SS_PARAM_FUNC
                   ? "parameters of a function have no generic addresses"
                   : NULL;
    default:
        return NULL;
    }
}
