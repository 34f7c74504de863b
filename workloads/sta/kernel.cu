/* Static timing analysis of a gate-level netlist, a thread a gate. The delay of a gate grows with
 * its fan-ins; its output is stable when its last input is, plus the delay. Gates of
 * a level depend on those of lower levels alone. */
extern "C" __global__ void
sta_delay(const unsigned *type, const unsigned *first, unsigned *delay, unsigned nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes)
        delay[i] = 10 + 3 * type[i] + 4 * (first[i + 1] - first[i]);
}

extern "C" __global__ void
sta_arrive(const unsigned *order, const unsigned *first, const unsigned *from,
           const unsigned *delay, unsigned *arrival, unsigned begin, unsigned end)
{
    unsigned at = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= end)
        return;
    unsigned i = order[at], last = first[i + 1], most = 0;
    for (unsigned e = first[i]; e < last; e++) {
        unsigned t = arrival[from[e]];
        most = t > most ? t : most;
    }
    arrival[i] = most + delay[i];
}
