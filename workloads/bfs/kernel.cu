/* One level of a breadth-first search, a thread a node: nodes of this level give their
 * neighbours that have no distance yet the next. They read the distances of the level before
 * and write into an array of their own, so nobody reads what another thread writes. Several
 * may give one node its distance in the same launch; all write the same. Edges of node v:
 * edge[first[v]] .. edge[first[v + 1] - 1]. */
extern "C" __global__ void
Kernel(const int *first, const int *edge, const int *distance, int *reached, int level,
       int nodes)
{
    int v = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (v >= nodes || distance[v] != level)
        return;
    int end = first[v + 1];
    for (int i = first[v]; i < end; i++) {
        int to = edge[i];
        if (distance[to] < 0)
            reached[to] = level + 1;
    }
}
