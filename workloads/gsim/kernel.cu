/* Logic simulation of a gate-level netlist, 32 patterns at once, a thread a gate. Gates of a level
 * depend on those of lower levels alone. `toggles` counts the patterns in which a gate
 * has another value than in the cycle before. Types: 1 flip-flop, 2 NOT, 3 AND, 4 NAND, 5 OR, 6 NOR. */
extern "C" __global__ void
gsim_gates(const unsigned *order, const unsigned *type, const unsigned *first,
           const unsigned *from, unsigned *value, const unsigned *before, unsigned *toggles,
           unsigned begin, unsigned end)
{
    unsigned at = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= end)
        return;
    unsigned i = order[at], t = type[i], e = first[i], last = first[i + 1];
    unsigned v = value[from[e]];
    for (e++; e < last; e++) {
        unsigned w = value[from[e]];
        v = t <= 4 ? v & w : v | w;
    }
    v = t == 2 || t == 4 || t == 6 ? ~v : v;
    value[i] = v;
    toggles[i] += __popc(v ^ before[i]);
}

/* The clock: flip-flops take what their inputs have; inputs get new patterns. */
extern "C" __global__ void
gsim_clock(const unsigned *order, const unsigned *type, const unsigned *first,
           const unsigned *from, const unsigned *value, unsigned *next, unsigned cycle,
           unsigned end)
{
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= end)
        return;
    unsigned i = order[at];
    next[i] = type[i] == 1 ? value[from[first[i]]] : value[i] * 1664525u + cycle;
}
