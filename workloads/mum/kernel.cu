/* Longest matches of short queries with a reference: a thread walks the reference's suffix
 * tree by its query's letters, once from each letter of the query that has `least` letters
 * from there on. It goes on from the suffix link of the last node it passed, where the
 * letters matched before are known to match: along those it only compares lengths. A match
 * of `least` letters or more is stored: the node at or below its end, and its letters on
 * the edge to that node (0: none, it ends at the node).
 *
 * The tree lies in two textures of 16-byte texels, the reference in a third of single
 * letters, as in the benchmark (MUMmerGPU of the ISPASS 2009 suite):
 *     children   the child by letter, 0: none
 *     nodes      x, y: the label of the edge to the node, from and behind; z: suffix link
 *     text       A, C, G, T
 * A node is named by its texel, x | y << 16: node k is texel (k % 131072 / 32, k / 131072 *
 * 32 + k % 32), columns of 32; letter i is (i / 4 % 65536, i / 262144 * 4 + i % 4), columns
 * of four. A query is a byte of no meaning, its letters and a 0.
 *
 * Two kernels: the benchmark's, and the same as PTXPlus of GPGPU-Sim 3.x runs it, whose
 * fetches are wrong (texel_ptxplus). */
enum { ROOT = 1 << 16 }; /* node 1 */

static __device__ __forceinline__ int4
texel(unsigned long long texture, int x, int y)
{
    int4 v;
    asm("tex.2d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(texture), "r"(x), "r"(y));
    return v;
}

/* A fetch as PTXPlus has it. cuobjdump_to_ptxplus writes every TEX of the machine code as
 * tex.1d.v4.f32.s32 {r0, _, _, _}, texture, {r0, _, _, _}, where the code has the
 * coordinates in r0 and r1 as floats and wants four values in r0 to r3. So the bits of x
 * as a float are taken for a number of texels: 0 is the first texel, all others are past
 * the end and clamped to the last texel of the row. r0 gets the first of its values. r1
 * keeps y, and r2 and r3 keep what they had (`stale`). */
static __device__ __forceinline__ int4
texel_ptxplus(unsigned long long texture, int x, int y, int stale)
{
    int4 v = {0, __float_as_int((float)y), stale, stale};
    asm volatile("{ .reg .s32 y, z, w;\n\t"
                 "tex.2d.v4.s32.s32 {%0, y, z, w}, [%1, {%2, 0}]; }"
                 : "=r"(v.x)
                 : "l"(texture), "r"(__float_as_int((float)x)));
    return v;
}

/* How a kernel fetches. */
struct cuda {
    __device__ __forceinline__ int4 operator()(unsigned long long texture, int x,
                                               int y) const
    {
        return texel(texture, x, y);
    }
};
struct ptxplus {
    int stale;
    __device__ __forceinline__ int4 operator()(unsigned long long texture, int x,
                                               int y) const
    {
        return texel_ptxplus(texture, x, y, stale);
    }
};

template <class Fetch>
static __device__ __forceinline__ int4
of_node(Fetch fetch, unsigned long long texture, unsigned node)
{
    return fetch(texture, node & 0xffff, node >> 16);
}

template <class Fetch>
static __device__ __forceinline__ int
letter(Fetch fetch, unsigned long long text, int i)
{
    return fetch(text, i >> 2 & 65535, (i >> 18) * 4 + (i & 3)).x;
}

template <class Fetch>
static __device__ __forceinline__ unsigned
child(Fetch fetch, unsigned long long children, unsigned node, int letter)
{
    int4 c = of_node(fetch, children, node);
    return letter == 'A'   ? c.x
           : letter == 'C' ? c.y
           : letter == 'G' ? c.z
           : letter == 'T' ? c.w
                           : 0;
}

static __device__ __forceinline__ int
number(unsigned node)
{
    return (node >> 21 << 17) + ((node & 0xffff) << 5) + (node >> 16 & 31);
}

template <class Fetch>
static __device__ __forceinline__ void
walk(Fetch fetch, int2 *match, unsigned long long children, unsigned long long nodes,
     unsigned long long text, const signed char *queries, const int *first,
     const int *lengths, int nqueries, int least)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nqueries)
        return;
    int length = lengths[q], begin = first[q];
    const signed char *query = queries + begin;
    int2 *out = match + (begin - q * (least + 1)); /* as many as the thread has turns */
    unsigned node = 0;
    int depth = 0, known = 0; /* depth of the match, and 1 */
    for (int from = 0; from + least <= length; from++, query++, out++) {
        if (!node || depth < 1) {
            node = ROOT;
            depth = 1;
            known = 0;
        }
        unsigned above = node; /* the last node passed */
        int along = 0;         /* of the edge below it */
        int c = query[depth];
        while (c) {
            above = node;
            node = child(fetch, children, above, c);
            along = 0;
            if (!node)
                break;
            int4 edge = of_node(fetch, nodes, node);
            int n = edge.y - edge.x;
            along = known ? min(known, n) : 1; /* its first letter matches */
            known = max(known - n, 0);
            depth += along;
            c = query[depth];
            while (along < n && c && letter(fetch, text, edge.x + along) == c) {
                along++;
                c = query[++depth];
            }
            if (along < n)
                break;
        }
        if (depth > least)
            *out = make_int2(number(node ? node : above), along);
        depth -= along + 1;
        known = along;
        node = of_node(fetch, nodes, above).z;
    }
}

extern "C" __global__ void
mummergpuKernel(int2 *match, unsigned long long children, unsigned long long nodes,
                unsigned long long text, const signed char *queries, const int *first,
                const int *lengths, int nqueries, int least)
{
    walk(cuda(), match, children, nodes, text, queries, first, lengths, nqueries, least);
}

extern "C" __global__ void
mummergpuKernel_ptxplus(int2 *match, unsigned long long children,
                        unsigned long long nodes, unsigned long long text,
                        const signed char *queries, const int *first, const int *lengths,
                        int nqueries, int least, int stale)
{
    ptxplus fetch = {stale};
    walk(fetch, match, children, nodes, text, queries, first, lengths, nqueries, least);
}
