/* sets.c: see sets.h. A register that an instruction both reads and writes is one that it
 * writes. One that is written for several operands gets the most awake of their states. */
#include "timing/policy/regpower/sets.h"

static void
add(struct regpower_sets *s, const struct exec_static *st, const struct exec_operand *at,
    uint64_t bit, const struct regpower_policy *policy, bool late)
{
    bool reads = false, writes = false;
    enum ptx_power note = PTX_POWER_NONE;
    for (unsigned i = 0; i < st->noperands; i++) {
        const struct exec_operand *o = &st->operand[i];
        if (o->place != at->place)
            continue;
        if (o != at)
            s->twice |= bit;
        *(o->role == EXEC_WRITES ? &writes : &reads) = true;
        if (o->power != PTX_POWER_NONE && (note == PTX_POWER_NONE || o->power < note))
            note = o->power;
    }
    enum ptx_power to = policy->after(note);
    unsigned when = writes ? SETS_WRITTEN : SETS_READ;
    s->uses |= bit;
    s->results |= writes && !reads ? bit : 0;
    s->needs |= late && !reads ? 0 : bit;
    s->sleep[when] |= to == PTX_POWER_SLEEP ? bit : 0;
    s->off[when] |= to == PTX_POWER_OFF ? bit : 0;
}

const struct regpower_sets *
regpower_sets_new(struct arena *a, const struct exec_static *code, uint32_t n,
                  const struct regpower_policy *policy, uint32_t registers, bool late)
{
    uint32_t words = regpower_words(registers);
    struct regpower_sets *sets =
        ARENA_ARRAY(a, struct regpower_sets, (size_t)n * words + 1);
    for (uint32_t pc = 0; pc < n; pc++) {
        const struct exec_static *st = &code[pc];
        for (unsigned i = 0; i < st->noperands; i++) {
            uint32_t place = st->operand[i].place;
            if (!place || place > registers)
                continue;
            uint32_t r = place - 1;
            add(&sets[(size_t)pc * words + r / 64], st, &st->operand[i],
                (uint64_t)1 << r % 64, policy, late);
        }
    }
    return sets;
}

unsigned
regpower_named_again(const struct exec_static *st, uint64_t set, uint32_t first)
{
    unsigned n = 0;
    for (unsigned i = 0; i < st->noperands; i++) {
        uint32_t r = st->operand[i].place - first - 1u;
        n += st->operand[i].place && r < 64 && set >> r & 1;
    }
    return n - (unsigned)__builtin_popcountll(set);
}
