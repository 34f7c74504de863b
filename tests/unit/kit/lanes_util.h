/* lanes_util.h: what the tests of lane functions share: instructions from their PTX
 * spelling, rows of lanes, edge values, random numbers. Needs no parser. */
#ifndef TESTS_LANES_UTIL_H
#define TESTS_LANES_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/splitmix.h"
#include "exec/lanes/lanes_int.h"

/* True if word (of n bytes) stands in the blank-separated list that ends at '/' or NUL.
 */
static inline bool
util_listed(const char *list, const char *word, size_t n)
{
    while (*list && *list != '/') {
        size_t k = strcspn(list, " /");
        if (k == n && !memcmp(list, word, n))
            return true;
        list += k;
        list += *list == ' ';
    }
    return false;
}

/* The part after the first '/'; NULL if there is none. */
static inline const char *
util_next_list(const char *types)
{
    const char *p = strchr(types, '/');
    return p ? p + 1 : NULL;
}

/* Tries to read the suffixes of `form` by opcode row `op`. */
static inline bool
util_fits(struct ptx_inst *in, unsigned op, const char *suffixes)
{
    static uint16_t pool[256][PTX_NMODGROUPS];
    static unsigned used;
    uint16_t *mods = memset(pool[used++ % 256], 0, sizeof *pool);
    memset(in, 0, sizeof *in);
    in->op = (uint16_t)op;
    in->guard = -1;
    in->mod = mods;
    const char *types = ptx_ops[op].types;
    for (const char *p = suffixes; *p;) {
        p++; /* the dot */
        size_t n = strcspn(p, ".");
        bool found = false;
        for (unsigned m = 1; m < PTX_NMODS && !found; m++) {
            unsigned g = ptx_mods[m].group;
            if (!(ptx_ops[op].groups >> g & 1) || in->mod[g] ||
                strlen(ptx_mods[m].text) != n || memcmp(ptx_mods[m].text, p, n))
                continue;
            mods[g] = (uint16_t)m;
            found = true;
        }
        if (!found) {
            if (!types || !util_listed(types, p, n))
                return false;
            for (unsigned t = 1; t < PTX_NTYPES; t++)
                if (strlen(ptx_types[t].text) == n && !memcmp(ptx_types[t].text, p, n))
                    in->type[in->ntypes] = (uint8_t)t;
            if (!in->type[in->ntypes++])
                return false;
            types = util_next_list(types);
        }
        p += n;
    }
    return !types || !*types; /* every list of types had its type */
}

/* "mad.lo.s32" to an instruction without operands, by the first row that admits it. */
static inline bool
util_inst(struct ptx_inst *in, const char *form)
{
    size_t n = strcspn(form, ".");
    for (unsigned op = 0; op < PTX_NOPS; op++)
        if (strlen(ptx_ops[op].mnemonic) == n && !memcmp(ptx_ops[op].mnemonic, form, n) &&
            util_fits(in, op, form + n))
            return true;
    return false;
}

/* 32 lanes of either width. */
union util_row {
    _Alignas(64) uint32_t w[LANES];
    uint64_t q[LANES];
    float f[LANES];
    double g[LANES];
};

static inline uint64_t
util_get(const union util_row *r, unsigned bytes, unsigned i)
{
    return bytes == 8 ? r->q[i] : r->w[i];
}

/* Narrow values stand zero-extended in a row. */
static inline void
util_set(union util_row *r, unsigned bytes, unsigned i, uint64_t v)
{
    if (bytes == 8)
        r->q[i] = v;
    else
        r->w[i] = (uint32_t)(bytes == 4 ? v : v & ((1u << 8 * bytes) - 1));
}

#define UTIL_COUNT(a) (sizeof(a) / sizeof *(a))

/* Bit patterns where integer and floating-point operations have their corners. */
static const uint32_t util_edges32[] = {
    0,          1,          2,          3,          31,         32,
    33,         0x7f,       0x80,       0xff,       0x100,      0x7fff,
    0x8000,     0xffff,     0x10000,    0x7fffff,   0x800000,   0xffffff,
    0x1000000,  0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0x55555555,
    0xaaaaaaaa, 0xfffffffe, 0xffffffff, 0xffff8000, 0xffffff80, 0x00010001,
};
static const uint64_t util_edges64[] = {
    0,
    1,
    2,
    63,
    64,
    65,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7ffffffffffffffe,
    0x7fffffffffffffff,
    0x8000000000000000,
    0x8000000000000001,
    0x5555555555555555,
    0xfffffffffffffffe,
    0xffffffffffffffff,
    0xffffffff80000000,
    0xffffffff00000000,
    0x0001000100010001,
};
static const uint32_t util_float32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000002, 0x00400000, 0x007fffff,
    0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x00ffffff, 0x01000000, 0x3e800000,
    0x3effffff, 0x3f000000, 0xbf000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0xbf800000,
    0x3f800001, 0x3fc00000, 0xbfc00000, 0x40000000, 0x40200000, 0x40490fdb, 0x4b000000,
    0x4b000001, 0x4b7fffff, 0x4b800000, 0x4b800001, 0x4effffff, 0x4f000000, 0xcf000000,
    0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000, 0x5f7fffff,
    0x5f800000, 0x7e800000, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7f800001, 0x7fc00000, 0xffc00001, 0x7fffffff, 0xffffffff, 0x33800000, 0x33800001,
    0x477fe000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x387fc000, 0x38800000,
};
static const uint64_t util_float64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0x0008000000000000, 0x000fffffffffffff, 0x800fffffffffffff, 0x0010000000000000,
    0x8010000000000000, 0x0010000000000001, 0x3690000000000000, 0x36a0000000000000,
    0x36a0000000000001, 0x380fffffe0000000, 0x380fffffffffffff, 0x3810000000000000,
    0x3e70000000000000, 0x3f0fffffffffffff, 0x3fe0000000000000, 0xbfe0000000000000,
    0x3fe0000000000001, 0x3fefffffffffffff, 0x3ff0000000000000, 0xbff0000000000000,
    0x3ff0000000000001, 0x3ff0000010000000, 0x3ff0000030000000, 0x3ff8000000000000,
    0x4000000000000000, 0x4004000000000000, 0x405fc00000000000, 0x406fe00000000000,
    0x40dfffc000000000, 0x40efffe000000000, 0x40effffdffffffff, 0x41dfffffffc00000,
    0x41dfffffffe00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000,
    0x41efffffffe00000, 0x41efffffffffffff, 0x41f0000000000000, 0x4330000000000000,
    0x4330000000000001, 0x433fffffffffffff, 0x4340000000000000, 0x43dfffffffffffff,
    0x43e0000000000000, 0xc3e0000000000000, 0xc3e0000000000001, 0x43efffffffffffff,
    0x43f0000000000000, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
    0x47f0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0xfff8000000000001,
    0x7fffffffffffffff, 0xffffffffffffffff, 0x40effc0000000000, 0x40effdffffffffff,
};

/* A value for an operand of this kind: an edge, or a random pattern of random magnitude.
 */
static inline uint64_t
util_value(uint64_t *rng, unsigned bytes, bool is_float)
{
    uint64_t r = splitmix_next(rng), pick = splitmix_next(rng);
    bool edge = r & 1;
    if (is_float && bytes == 4) {
        if (edge)
            return util_float32[pick % UTIL_COUNT(util_float32)];
        return r & 2 ? (uint32_t)pick : (uint32_t)(pick & 0x80ffffff) + 0x3f000000u;
    }
    if (is_float && bytes == 8) {
        if (edge)
            return util_float64[pick % UTIL_COUNT(util_float64)];
        return r & 2 ? pick : (pick & 0x800fffffffffffff) + 0x3fe0000000000000u;
    }
    if (edge)
        return bytes == 8 ? util_edges64[pick % UTIL_COUNT(util_edges64)]
                          : util_edges32[pick % UTIL_COUNT(util_edges32)];
    return pick >> (r >> 8 & 63);
}

static const uint32_t util_masks[] = {0xffffffff, 0x00000001, 0x80000000, 0x55555555,
                                      0xffff0000, 0x0f0f1234, 0x00000000};

#endif
