/* decode_legal.c: holds an instruction against the rules of legal.def: which modifiers and
 * types go together. Lane functions have theirs in lanes.c.
 * tests/unit/ptx/ptxas_forms.c holds the answers against ptxas. */
#include "exec/exec_int.h"

#include <string.h>

#define HAS(g) (in->mod[PTX_MG_##g] != 0)
#define IS(g, m) (in->mod[PTX_MG_##g] == PTX_##g##_##m)
#define IS_SPACE(s) (in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_##s)
#define OP(o) (in->mod[PTX_MG_ATOMOP] == PTX_ATOMOP_##o)
#define TYPE(t) (in->type[0] == PTX_##t)
#define TYPE_BYTES (ptx_types[in->type[0]].bytes)
#define TYPE_IS_BITS (ptx_types[in->type[0]].kind == PTX_K_BITS)

/* Memory. GLOBAL: or generic. */
#define WRITTEN_GLOBAL IS_SPACE(GLOBAL)
#define GLOBAL (!HAS(SPACE) || WRITTEN_GLOBAL)
#define SHARED (IS_SPACE(SHARED) || IS_SPACE(SHARED_CTA) || IS_SPACE(SHARED_CLUSTER))
#define LOCAL IS_SPACE(LOCAL)
#define STRONG (IS(SEM, RELAXED) || IS(SEM, ACQUIRE) || IS(SEM, RELEASE))
#define EVICT (HAS(EVICT1) || HAS(EVICT2))
#define HINTS (EVICT || HAS(PREFETCH) || HAS(L2HINT))
#define BITS256 ((IS(VEC, V4) && TYPE_BYTES == 8) || IS(VEC, V8))
#define MMIO_ALONE                                                                       \
    (STRONG && IS(SCOPE, SYS) && GLOBAL && !HAS(CACHE) && !HINTS && !HAS(VEC))

/* Atomics. */
#define HALF (TYPE(F16) || TYPE(F16X2) || TYPE(BF16) || TYPE(BF16X2))
#define BITS (TYPE(B32) || TYPE(B64))
#define LOGIC (OP(AND) || OP(OR) || OP(XOR))
/* Operations of atom and red alike. */
#define ATOMIC_OF_BOTH                                                                   \
    ((LOGIC && BITS) || ((OP(INC) || OP(DEC)) && TYPE(U32)) ||                           \
     ((OP(MIN) || OP(MAX)) && (TYPE(U32) || TYPE(S32) || TYPE(U64) || TYPE(S64))) ||     \
     (OP(ADD) &&                                                                         \
      (HALF || TYPE(U32) || TYPE(S32) || TYPE(U64) || TYPE(F32) || TYPE(F64))))

const char *
decode_illegal(const struct ptx_inst *in)
{
    unsigned written = 0; /* operands */
    for (unsigned i = 0; i < in->nops; i++)
        written += in->ops[i].kind != PTX_OPD_NONE;
    switch (in->op) {
#define OF(op)                                                                           \
    break;                                                                               \
    case PTX_OP_##op:
#define ALSO(op) case PTX_OP_##op:
#define RULE(condition, message)                                                         \
    if (!(condition))                                                                    \
        return message;
    default:
#include "exec/decode/legal.def"
    }
    return NULL;
}
