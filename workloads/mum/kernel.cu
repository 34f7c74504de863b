/* Longest matches of short queries with a reference: a thread takes one query letter by
 * letter through an automaton of the reference's substrings (states with an edge a
 * letter, and a suffix link to the state of the longest suffix that goes on differently).
 * Where a state has no edge for the letter it falls back along suffix links, as a walk
 * through a suffix tree does. Behind each letter it stores the state and the length of the
 * longest match that ends there, if it is longer than `least`.
 *
 * The automaton lies in two textures of 16-byte texels, as MUMmerGPU keeps its tree:
 *     children   the next state by letter, -1: none
 *     nodes      x: suffix link; y: length of the longest substring of this state
 * State s is texel (s / 32 % 4096, s / 131072 * 32 + s % 32): neighbours in number are
 * neighbours in a column of 32, whose columns are neighbours in a row. */
static __device__ __forceinline__ int4
texel(unsigned long long texture, int state)
{
    int x = state >> 5 & 4095, y = (state >> 17) * 32 + (state & 31);
    int4 v;
    asm("tex.2d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(texture), "r"(x), "r"(y));
    return v;
}

static __device__ __forceinline__ int
next_state(unsigned long long children, int state, int letter)
{
    int4 c = texel(children, state);
    return letter < 2 ? (letter ? c.y : c.x) : (letter == 2 ? c.z : c.w);
}

extern "C" __global__ void
mummergpuKernel(int2 *match, unsigned long long children, unsigned long long nodes,
                const unsigned char *queries, const int *first, int nqueries, int least)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nqueries)
        return;
    int at = 0, length = 0;
    for (int i = first[q]; i < first[q + 1]; i++) {
        int letter = queries[i], next = next_state(children, at, letter);
        while (next < 0 && at) {
            at = texel(nodes, at).x;
            length = texel(nodes, at).y;
            next = next_state(children, at, letter);
        }
        if (next >= 0) {
            at = next;
            length++;
        }
        if (length > least)
            match[i] = make_int2(at, length);
    }
}
