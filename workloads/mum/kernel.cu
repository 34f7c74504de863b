/* Longest matches of short queries with a reference: a thread takes one query letter by
 * letter through an automaton of the reference's substrings (states with an edge a
 * letter, and a suffix link to the state of the longest suffix that goes on differently).
 * Where a state has no edge for the letter it falls back along suffix links, as a walk
 * through a suffix tree does. Behind each letter it stores the state and the length of the
 * longest match that ends there, if it is longer than `least`. */
struct state {
    int next[4]; /* -1: none */
    int link;    /* of the start: -1 */
    int length;  /* of the longest substring of this state */
};

extern "C" __global__ void
mummergpuKernel(int2 *match, const struct state *states, const unsigned char *queries,
                const int *first, int nqueries, int least)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= nqueries)
        return;
    int at = 0, length = 0;
    for (int i = first[q]; i < first[q + 1]; i++) {
        int letter = queries[i], next = states[at].next[letter];
        while (next < 0 && at) {
            at = states[at].link;
            length = states[at].length;
            next = states[at].next[letter];
        }
        if (next >= 0) {
            at = next;
            length++;
        }
        if (length > least)
            match[i] = make_int2(at, length);
    }
}
