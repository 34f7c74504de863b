/* opcode.c: the tables of types.def, modifiers.def, latencies.def and opcodes.def. */
#include "ptx/opcode.h"

#include <string.h>

const struct ptx_type_info ptx_types[PTX_NTYPES] = {
    {"", 0, PTX_K_NONE},
#define TYPE(id, text, bytes, kind) {text, bytes, PTX_K_##kind},
#include "ptx/types.def"
#undef TYPE
};

const struct ptx_mod_info ptx_mods[PTX_NMODS] = {
    {"", 0},
#define MOD(g, id, text) {text, PTX_MG_##g},
#include "ptx/modifiers.def"
#undef MOD
};

const char *const ptx_latency_names[PTX_NLATENCIES] = {
#define LATENCY(id, text, cycles, interval, meaning) text,
#include "ptx/latencies.def"
#undef LATENCY
};

const struct ptx_op_info ptx_ops[PTX_NOPS] = {
#define OP(id, mnemonic, operands, types, groups, unit, lat, flags, value)               \
    {mnemonic, operands, types, groups, PTX_UNIT_##unit, PTX_LAT_##lat, flags},
#include "ptx/opcodes.def"
#undef OP
};

#undef LATER
#undef FIRST_TARGET
const char *const ptx_first_target[PTX_NOPS] = {
#define OP(id, mnemonic, operands, types, groups, unit, lat, flags, value)
#define LATER(id, mnemonic, pattern, target) [PTX_OP_##id] = target,
#define FIRST_TARGET(id, target) [PTX_OP_##id] = target,
#include "ptx/opcodes.def"
#undef FIRST_TARGET
#undef LATER
#undef OP
};

#define OP(id, mnemonic, operands, types, groups, unit, lat, flags, value)
#undef SUFFIXES
#define SUFFIXES(id, pattern) [PTX_OP_##id] = pattern,
const char *const ptx_suffixes[PTX_NOPS] = {
#include "ptx/opcodes.def"
#undef OP
};

_Static_assert(PTX_NMODGROUPS <= 128, "ptx_op_info.groups has one bit for each group");
_Static_assert(PTX_NMODS <= UINT16_MAX, "ptx_inst.mod holds a modifier in 16 bits");
_Static_assert(PTX_CACHE_WT <= 255 && PTX_CMP_NAN <= 255 && PTX_BOOL_XOR <= 255,
               "the executor's records hold these in a byte");

bool
ptx_only_target(unsigned op)
{
    const char *t = ptx_first_target[op];
    size_t n = t ? strlen(t) : 0;
    return n && t[n - 1] > '9';
}

/* A number without a leading zero, of at most three digits; its end, NULL: there is none. */
static const char *
shape_number(const char *s, const char *end, unsigned *v)
{
    const char *from = s;
    for (*v = 0; s < end && s < from + 3 && *s >= '0' && *s <= '9'; s++)
        *v = *v * 10 + (unsigned)(*s - '0');
    return s > from && *from != '0' ? s : NULL;
}

bool
ptx_wgmma_shape(const char *s, size_t len, unsigned *n, unsigned *k)
{
    const char *end = s + len;
    if (len < 6 || memcmp(s, "m64n", 4))
        return false;
    s = shape_number(s + 4, end, n);
    if (!s || s == end || *s != 'k')
        return false;
    s = shape_number(s + 1, end, k);
    return s == end;
}

unsigned
ptx_type_find(const char *s, size_t n)
{
    for (unsigned t = 1; t < PTX_NTYPES; t++)
        if (!strncmp(ptx_types[t].text, s, n) && !ptx_types[t].text[n])
            return t;
    return 0;
}
