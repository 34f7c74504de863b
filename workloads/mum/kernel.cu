/* Longest matches of short queries with a reference: a thread walks the reference's suffix
 * tree by its query's letters, once from each letter of the query that has more than `least`
 * letters from there on. It goes on from the suffix link of the last node it passed, where the
 * letters matched before are known to match: along those it only compares lengths. A match
 * is stored if it is longer than `least`: the node at or below its end, and its length.
 *
 * The tree lies in two textures of 16-byte texels, blocks of 32 x 32 nodes (Schatz et al.
 * 2007, Figure 5), the reference in a third of single letters:
 *     children   the child by letter, 0: none
 *     nodes      x, y: the label of the edge to the node, from and behind; z: suffix link
 *     text       the letters, 0 to 3
 * Node s is texel (s / 1024 % 128 * 32 + s % 32, s / 131072 * 32 + s / 32 % 32). Letter i is
 * texel (i / 4 % 16384, i / 65536 * 4 + i % 4): columns of four. */
static __device__ __forceinline__ int4
texel(unsigned long long texture, int x, int y)
{
    int4 v;
    asm("tex.2d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(texture), "r"(x), "r"(y));
    return v;
}

static __device__ __forceinline__ int4
node_texel(unsigned long long texture, int node)
{
    return texel(texture, (node >> 10 & 127) * 32 + (node & 31),
                 (node >> 17) * 32 + (node >> 5 & 31));
}

static __device__ __forceinline__ int
letter_texel(unsigned long long texture, int i)
{
    return texel(texture, i >> 2 & 16383, (i >> 16) * 4 + (i & 3)).x;
}

static __device__ __forceinline__ int
child(unsigned long long children, int node, int letter)
{
    int4 c = node_texel(children, node);
    return letter < 2 ? (letter ? c.y : c.x) : (letter == 2 ? c.z : c.w);
}

extern "C" __global__ void
mummergpuKernel(int2 *match, unsigned long long children, unsigned long long nodes,
                unsigned long long text, const unsigned char *queries, const int *first,
                int nqueries, int least)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nqueries)
        return;
    int end = first[q + 1], node = 0, link = -1, depth = 0, known = 0;
    for (int from = first[q]; from + least < end; from++) {
        int below = node, length = depth; /* of the match from here */
        while (from + depth < end) {
            int next = child(children, node, queries[from + depth]);
            if (!next)
                break;
            int4 edge = node_texel(nodes, next);
            int n = edge.y - edge.x, k = known - depth;
            if (k < n) { /* else: all of the edge is known to match */
                for (k = k > 1 ? k : 1; k < n && from + depth + k < end; k++)
                    if (letter_texel(text, edge.x + k) != queries[from + depth + k])
                        break;
                below = next;
                length = depth + k;
                if (k < n)
                    break;
            }
            node = below = next;
            link = edge.z;
            length = depth += n;
        }
        if (length > least)
            match[from] = make_int2(below, length);
        known = length > 0 ? length - 1 : 0;
        if (depth) {
            node = link < 0 ? node_texel(nodes, node).z : link;
            link = -1;
            depth--;
        }
    }
}
