/* gsim: gate-level logic simulation of a circuit, level by level, cycle by cycle. */
#include "circuit.h"
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

static void
gates(const struct circuit *c, uint32_t *value, const uint32_t *before, uint32_t *toggles)
{
    for (uint32_t at = c->level[1]; at < c->nodes; at++) {
        uint32_t i = c->order[at], t = c->type[i], v = value[c->from[c->first[i]]];
        for (uint32_t e = c->first[i] + 1; e < c->first[i + 1]; e++) {
            uint32_t w = value[c->from[e]];
            v = t == GATE_AND || t == GATE_NAND ? v & w : v | w;
        }
        value[i] = t == GATE_NOT || t == GATE_NAND || t == GATE_NOR ? ~v : v;
        toggles[i] += (uint32_t)__builtin_popcount(value[i] ^ before[i]);
    }
}

static void
clock_edge(const struct circuit *c, const uint32_t *value, uint32_t *next, uint32_t cycle)
{
    for (uint32_t at = 0; at < c->level[1]; at++) {
        uint32_t i = c->order[at];
        next[i] = c->type[i] == GATE_DFF ? value[c->from[c->first[i]]]
                                         : value[i] * 1664525U + cycle;
    }
}

/* value[0] holds the values of this cycle, value[1] those of the one before and the next,
 * value[2] counts of toggles; want: the same of the reference. */
static void
simulate(struct allot_run *r, const struct circuit *c, uint32_t *value[3],
         uint32_t *want[3], unsigned cycles, uint32_t block)
{
    const size_t bytes = c->nodes * sizeof *c->type;
    uint64_t order = wl_upload(r, c->order, bytes), type = wl_upload(r, c->type, bytes);
    uint64_t first = wl_upload(r, c->first, bytes + sizeof *c->first);
    uint64_t from = wl_upload(r, c->from, c->edges * sizeof *c->from);
    uint64_t at[3];
    for (int k = 0; k < 3; k++)
        at[k] = wl_upload(r, value[k], bytes);
    for (unsigned k = 0; k < cycles; k++) {
        uint64_t *now = &at[k % 2], *next = &at[(k + 1) % 2];
        for (uint32_t level = 1; level < c->levels; level++) {
            const uint32_t *l = &c->level[level];
            wl_launch(r, "gsim_gates", (l[1] - l[0] + block - 1) / block, 1, 1, block, 1,
                      1, 0, &order, &type, &first, &from, now, next, &at[2], &l[0],
                      &l[1]);
        }
        wl_launch(r, "gsim_clock", (c->level[1] + block - 1) / block, 1, 1, block, 1, 1,
                  0, &order, &type, &first, &from, now, next, &k, &c->level[1]);
        gates(c, want[k % 2], want[(k + 1) % 2], want[2]);
        clock_edge(c, want[k % 2], want[(k + 1) % 2], k);
    }
    for (int k = 0; k < 3; k++) {
        wl_read(r, at[k], value[k], bytes);
        wl_check_i32(r, k < 2 ? "values" : "toggles", (int32_t *)value[k],
                     (int32_t *)want[k], c->nodes);
    }
}

static bool
run(struct allot_run *r)
{
    struct circuit c;
    unsigned cycles = (unsigned)wl_param(r, "cycles", 2, 1, 1000);
    uint64_t seed = r->seed;
    const uint32_t block = block_of(r);
    if (!circuit_of(r, &c, block, true))
        return false;
    uint32_t *all = calloc(6 * (size_t)c.nodes, sizeof *all);
    if (all) {
        const size_t n = c.nodes;
        uint32_t *value[3] = {all, all + n, all + 2 * n},
                 *want[3] = {all + 3 * n, all + 4 * n, all + 5 * n};
        for (uint32_t i = 0; i < 2 * c.nodes; i++)
            all[i] = (uint32_t)wl_random(&seed);
        memcpy(want[0], value[0], 2 * n * sizeof *all);
        simulate(r, &c, value, want, cycles, block);
    } else {
        wl_fail(r, "out of memory");
    }
    free(all);
    circuit_free(&c);
    return r->ok;
}

const struct allot_workload allot_workload_gsim = {
    .name = "gsim",
    .summary = "gate-level logic simulation of a circuit, a launch a level",
    .source = "004 Table III, gsim",
    .kernels = "gsim_gates gsim_clock",
    .run = run,
};
