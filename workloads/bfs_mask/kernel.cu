/* One level of a breadth-first search in two launches, a thread a node. Kernel: nodes of the
 * frontier leave it and give their unvisited neighbours the next distance. Kernel2: these
 * become the frontier, and visited. So no node is visited in the launch in which others
 * still look at it. Edges of node v: edge[first[v]] .. edge[first[v + 1] - 1]. */
extern "C" __global__ void
Kernel(const int *first, const int *edge, unsigned char *frontier, unsigned char *reached,
       const unsigned char *visited, int *distance, int nodes)
{
    int v = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (v >= nodes || !frontier[v])
        return;
    frontier[v] = 0;
    int end = first[v + 1], next = distance[v] + 1;
    for (int i = first[v]; i < end; i++) {
        int to = edge[i];
        if (!visited[to]) {
            distance[to] = next;
            reached[to] = 1;
        }
    }
}

extern "C" __global__ void
Kernel2(unsigned char *frontier, unsigned char *reached, unsigned char *visited,
        int *more, int nodes)
{
    int v = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (v >= nodes || !reached[v])
        return;
    frontier[v] = 1;
    visited[v] = 1;
    reached[v] = 0;
    *more = 1;
}
