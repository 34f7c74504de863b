/* Breadth-first search of a circuit from its inputs, along fan-outs, a thread a node, in two kernels:
 * nodes of the frontier mark their neighbours that have no distance yet; those become the
 * frontier. Fan-outs of node v: to[first[v]] .. to[first[v + 1] - 1]. */
extern "C" __global__ void
bfs_visit(const unsigned *first, const unsigned *to, const unsigned *frontier,
          unsigned *marked, const int *distance, unsigned nodes)
{
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes || !frontier[v])
        return;
    unsigned end = first[v + 1];
    for (unsigned e = first[v]; e < end; e++)
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
