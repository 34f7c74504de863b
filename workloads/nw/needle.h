/* Inputs, launches and check of Needleman-Wunsch, for tiles of BLOCK x BLOCK (defined
 * before). */
#include "allot/workload.h"

#include <stdlib.h>

#define LETTERS 24
#define PENALTY 10

static int32_t
max3(int32_t a, int32_t b, int32_t c)
{
    int32_t m = a > b ? a : b;
    return m > c ? m : c;
}

/* Aligns `pairs` pairs of sequences of `length` letters (both also parameters); length is
 * a multiple of BLOCK. */
static bool
needle(struct allot_run *r, int length, int pairs)
{
    length = (int)wl_param(r, "length", length, BLOCK, 8192);
    pairs = (int)wl_param(r, "pairs", pairs, 1, 4096);
    if (length % BLOCK)
        return wl_fail(r, "parameter length: a multiple of %d", BLOCK);
    int cols = length + 1, penalty = PENALTY, tiles = length / BLOCK;
    size_t size = (size_t)cols * cols, count = size * pairs,
           bytes = sizeof(int32_t) * count;
    int32_t *match = calloc(count, sizeof *match), *score = calloc(count, sizeof *score);
    int32_t *want = calloc(count, sizeof *want);
    int *seq = malloc(sizeof *seq * 2 * length);

    if (match && score && want && seq) {
        uint64_t rng = r->seed;
        /* A substitution table of the usual kind: symmetric, equal letters 4..11, others
         * -4..2. */
        int32_t table[LETTERS][LETTERS];
        for (int i = 0; i < LETTERS; i++)
            for (int j = 0; j <= i; j++)
                table[i][j] = table[j][i] = i == j ? 4 + (int32_t)(wl_random(&rng) % 8)
                                                   : (int32_t)(wl_random(&rng) % 7) - 4;
        for (int p = 0; p < pairs; p++) {
            int32_t *m = match + p * size, *s = score + p * size, *w = want + p * size;
            for (int i = 0; i < 2 * length; i++)
                seq[i] = (int)(wl_random(&rng) % LETTERS);
            for (int i = 0; i < cols; i++)
                w[i] = s[i] = w[i * cols] = s[i * cols] = -penalty * i;
            for (int i = 1; i < cols; i++) {
                for (int j = 1; j < cols; j++) {
                    int32_t v = table[seq[i - 1]][seq[length + j - 1]];
                    m[i * cols + j] = v;
                    w[i * cols + j] =
                        max3(w[(i - 1) * cols + j - 1] + v, w[i * cols + j - 1] - penalty,
                             w[(i - 1) * cols + j] - penalty);
                }
            }
        }
        uint64_t d_match = wl_upload(r, match, bytes),
                 d_score = wl_upload(r, score, bytes);
        for (int diag = 0; diag < tiles; diag++)
            wl_launch(r, "needle_cuda_shared_1", diag + 1, pairs, 1, BLOCK, 1, 1, 0,
                      &d_match, &d_score, &cols, &penalty, &diag);
        for (int diag = tiles; diag < 2 * tiles - 1; diag++)
            wl_launch(r, "needle_cuda_shared_2", 2 * tiles - 1 - diag, pairs, 1, BLOCK, 1,
                      1, 0, &d_match, &d_score, &cols, &penalty, &diag);
        wl_read(r, d_score, score, bytes);
        wl_check_i32(r, "score", score, want, count);
        wl_free(r, d_match);
        wl_free(r, d_score);
    } else {
        wl_fail(r, "out of memory");
    }
    free(match);
    free(score);
    free(want);
    free(seq);
    return r->ok;
}
