/* Breadth-first search of a circuit from its inputs, along fan-outs, a thread a node, in two kernels:
 * nodes of the frontier mark their neighbours that have no distance yet; those become the
 * frontier. Thread t has node item[t] (t where there is no item), whose fan-outs are
 * to[first[t]] .. to[first[t + 1] - 1]. */
extern "C" __global__ void
bfs_visit(const unsigned *item, const unsigned *first, const unsigned *to,
          const unsigned *frontier, unsigned *marked, const int *distance, unsigned nodes)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nodes || !frontier[item ? item[t] : t])
        return;
    unsigned end = first[t + 1];
    for (unsigned e = first[t]; e < end; e++)
        if (distance[to[e]] < 0)
            marked[to[e]] = 1;
}

extern "C" __global__ void
bfs_advance(unsigned *frontier, unsigned *marked, int *distance, int level, unsigned nodes)
{
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes)
        return;
    unsigned m = marked[v];
    frontier[v] = m;
    if (m) {
        distance[v] = level;
        marked[v] = 0;
    }
}
