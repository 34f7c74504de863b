/* lanes_variants.c: every instruction-set variant of the lane functions gives the same
 * bits, for every opcode, type and combination of modifiers the opcode table allows;
 * special functions agree with the general one; lanes outside the mask keep their values.
 */
#include "unit/kit/lanes_util.h"

enum { ROUNDS = 63 };

static const struct lane_variant *variants[4];
static size_t nvariants;
static unsigned long ncombinations, nruns;

static unsigned
type_bytes(unsigned t)
{
    return t ? ptx_types[t].bytes : 4;
}

/* Runs one combination on all variants. */
static void
check(const struct ptx_inst *in, uint64_t *rng)
{
    uint32_t aux;
    lane_fn *base = lane_select_in(variants[0], in, &aux);
    if (!base) {
        for (size_t v = 1; v < nvariants; v++)
            assert_null(lane_select_in(variants[v], in, &aux));
        return;
    }
    ncombinations++;
    /* The function that reads its modifiers from aux, where there is one. */
    lane_fn *general = NULL;
    for (size_t e = 0; e < variants[0]->n; e++) {
        const struct lane_entry *x = &variants[0]->entry[e];
        if (x->op == in->op && x->type[0] == in->type[0] && x->type[1] == in->type[1] &&
            x->mods == (uint32_t)LM_ANY)
            general = x->fn;
    }
    const char *pattern = ptx_ops[in->op].operands;
    for (int round = 0; round < ROUNDS; round++) {
        union util_row src[4], old[2], want[2];
        unsigned st[4] = {0}, k = 0;
        memset(src, 0, sizeof src);
        for (const char *p = pattern; *p && k < 4; p++) {
            if (!strchr("aAup", *p))
                continue;
            bool typed = *p == 'a' || *p == 'A';
            unsigned t = typed && p[1] == '1' ? in->type[1]
                         : typed              ? in->type[0]
                                              : PTX_B32;
            unsigned bytes = type_bytes(t) * (typed && p[1] && p[2] == 'w' ? 2 : 1);
            st[k] = bytes ? bytes : 4;
            for (unsigned i = 0; i < LANES; i++)
                util_set(&src[k], st[k], i,
                         util_value(rng, st[k], ptx_types[t].kind == PTX_K_FLT));
            k++;
        }
        for (unsigned i = 0; i < LANES; i++)
            old[0].q[i] = splitmix_next(rng), old[1].q[i] = splitmix_next(rng);
        uint32_t mask =
            round % 3 ? UINT32_MAX : util_masks[round / 3 % UTIL_COUNT(util_masks)];
        const void *const s[4] = {&src[0], &src[1], &src[2], &src[3]};
        memcpy(want, old, sizeof want);
        base((void *const[]){&want[0], &want[1]}, s, mask, aux);
        for (size_t v = 0; v <= nvariants; v++) {
            lane_fn *fn = v < nvariants ? lane_select_in(variants[v], in, &aux) : general;
            union util_row got[2];
            if (!fn)
                continue;
            memcpy(got, old, sizeof got);
            fn((void *const[]){&got[0], &got[1]}, s, mask, aux);
            nruns++;
            if (memcmp(got, want, sizeof got)) {
                for (unsigned i = 0; i < LANES; i++)
                    if (got[0].q[i] != want[0].q[i])
                        print_message(
                            "double-lane %u: %016llx, plain %016llx; a %016llx b "
                            "%016llx c %016llx\n",
                            i, (unsigned long long)got[0].q[i],
                            (unsigned long long)want[0].q[i],
                            (unsigned long long)src[0].q[i],
                            (unsigned long long)src[1].q[i],
                            (unsigned long long)src[2].q[i]);
                fail_msg("%s.%s.%s aux %08x: %s differs from plain",
                         ptx_ops[in->op].mnemonic, ptx_types[in->type[0]].text,
                         in->type[1] ? ptx_types[in->type[1]].text : "-", aux,
                         v < nvariants ? variants[v]->name : "the general function");
            }
        }
    }
}

/* All members, or none, of each group the row takes. */
static uint16_t mods[PTX_NMODGROUPS];

static void
each_modifier(struct ptx_inst *in, unsigned group, uint64_t *rng)
{
    while (group < PTX_NMODGROUPS && !(ptx_ops[in->op].groups >> group & 1))
        group++;
    if (group == PTX_NMODGROUPS) {
        check(in, rng);
        return;
    }
    mods[group] = 0;
    each_modifier(in, group + 1, rng);
    for (unsigned m = 1; m < PTX_NMODS; m++)
        if (ptx_mods[m].group == group) {
            mods[group] = (uint16_t)m;
            each_modifier(in, group + 1, rng);
        }
    mods[group] = 0;
}

static void
test_variants_agree(void **state)
{
    (void)state;
    nvariants = lane_variants(variants);
    uint64_t rng = 1;
    const struct lane_entry *last = NULL;
    for (size_t e = 0; e < variants[0]->n; e++) {
        const struct lane_entry *x = &variants[0]->entry[e];
        if (last && last->op == x->op && last->type[0] == x->type[0] &&
            last->type[1] == x->type[1])
            continue;
        last = x;
        struct ptx_inst in = {.op = x->op, .guard = -1, .mod = mods};
        in.type[0] = x->type[0];
        in.type[1] = x->type[1];
        in.ntypes = x->type[1] ? 2 : 1;
        each_modifier(&in, 0, &rng);
    }
    print_message("%zu variants, %lu combinations, %lu runs\n", nvariants, ncombinations,
                  nruns);
    assert_true(ncombinations > 3000);
}

/* The same entries in the same order, sorted by opcode as the search expects. */
static void
test_tables_agree(void **state)
{
    (void)state;
    nvariants = lane_variants(variants);
    for (size_t v = 0; v < nvariants; v++) {
        assert_int_equal(variants[v]->n, variants[0]->n);
        for (size_t e = 0; e < variants[v]->n; e++) {
            const struct lane_entry *a = &variants[v]->entry[e],
                                    *b = &variants[0]->entry[e];
            assert_int_equal(a->op, b->op);
            assert_memory_equal(a->type, b->type, 2);
            assert_int_equal(a->mods, b->mods);
            if (e)
                assert_true(a[-1].op <= a->op);
        }
    }
}

/* A destination row that is also a source gives the same as a separate one. */
static void
test_destination_may_be_source(void **state)
{
    static const char *const forms[] = {
        "add.s32",        "add.f32",         "add.rz.f32", "fma.rn.f64",
        "mad.lo.s64",     "div.rn.f32",      "shl.b64",    "selp.b32",
        "cvt.rn.f32.s32", "cvt.rzi.s64.f64", "bfi.b32",    "madc.lo.cc.u32",
        "set.lt.f32.s32", "cvt.u16.u32",     "prmt.b32",   "ex2.approx.f32",
        "sub.u16",        "slct.b32.f32",
    };
    (void)state;
    nvariants = lane_variants(variants);
    uint64_t rng = 7;
    for (size_t f = 0; f < UTIL_COUNT(forms); f++)
        for (size_t v = 0; v < nvariants; v++)
            for (size_t m = 0; m < UTIL_COUNT(util_masks); m++)
                for (unsigned which = 0; which < 3; which++) {
                    struct ptx_inst in;
                    uint32_t aux;
                    assert_true(util_inst(&in, forms[f]));
                    lane_fn *fn = lane_select_in(variants[v], &in, &aux);
                    assert_non_null(fn);
                    if (which == 2 && in.op == PTX_OP_SELP)
                        continue; /* a predicate */
                    unsigned bytes = type_bytes(in.type[0]);
                    union util_row src[4], apart, cc = {.w = {0x12345678}}, cc2 = cc;
                    memset(src, 0, sizeof src);
                    for (unsigned k = 0; k < 4; k++)
                        for (unsigned i = 0; i < LANES; i++)
                            util_set(&src[k], bytes, i, splitmix_next(&rng));
                    apart = src[which];
                    const void *const s[4] = {&src[0], &src[1], &src[2], &src[3]};
                    union util_row copy[4];
                    memcpy(copy, src, sizeof copy);
                    const void *const s2[4] = {&copy[0], &copy[1], &copy[2], &copy[3]};
                    fn((void *const[]){&apart, &cc}, s, util_masks[m], aux);
                    fn((void *const[]){&copy[which], &cc2}, s2, util_masks[m], aux);
                    if (memcmp(&apart, &copy[which], sizeof apart) ||
                        memcmp(&cc, &cc2, sizeof cc))
                        fail_msg("%s, %s: destination over source %u", forms[f],
                                 variants[v]->name, which);
                }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_agree),
        cmocka_unit_test(test_variants_agree),
        cmocka_unit_test(test_destination_may_be_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
