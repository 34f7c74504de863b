/* storegpu: MD5 of pieces of data. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 128, PIECE = 127, BYTES = THREADS * PIECE, RESERVED = 16304 - BYTES };

/* MD5 of RFC 1321; n below 248. */
static void
md5(const uint8_t *data, size_t n, uint32_t state[4])
{
    static const int shifts[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint8_t text[256] = {0};
    size_t blocks = (n + 9 + 63) / 64;
    memcpy(text, data, n);
    text[n] = 0x80;
    text[64 * blocks - 8] = (uint8_t)(8 * n);
    text[64 * blocks - 7] = (uint8_t)(8 * n >> 8);
    state[0] = 0x67452301;
    state[1] = 0xefcdab89;
    state[2] = 0x98badcfe;
    state[3] = 0x10325476;
    for (size_t block = 0; block < blocks; block++) {
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        for (int i = 0; i < 64; i++) {
            int place = i < 16   ? i
                        : i < 32 ? (5 * i + 1) % 16
                        : i < 48 ? (3 * i + 5) % 16
                                 : 7 * i % 16;
            uint32_t f = i < 16   ? (b & c) | (~b & d)
                         : i < 32 ? (b & d) | (c & ~d)
                         : i < 48 ? b ^ c ^ d
                                  : c ^ (b | ~d);
            const uint8_t *at = text + 64 * block + 4 * place;
            uint32_t word = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                            (uint32_t)at[3] << 24;
            f += a + word + (uint32_t)(fabs(sin(i + 1)) * 0x1p32);
            int s = shifts[i / 16][i % 4];
            a = d;
            d = c;
            c = b;
            b += f << s | f >> (32 - s);
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
    }
}

static bool
run(struct allot_run *r)
{
    /* The reference first: MD5 of "abc" stands in the RFC. */
    static const uint32_t abc[4] = {0x98500190, 0xb04fd23c, 0x7d3f96d6, 0x727fe128};
    uint32_t state[4];
    md5((const uint8_t *)"abc", 3, state);
    if (memcmp(state, abc, sizeof abc))
        return wl_fail(r, "the reference's MD5 of 'abc' is wrong");
    /* parameter blocks: of 128 pieces of 127 bytes */
    uint32_t blocks =
        (uint32_t)wl_param(r, "blocks", r->quick ? 2 : 14 * 3 * 8, 1, 65535);
    size_t n = (size_t)blocks * BYTES, results = (size_t)blocks * THREADS * 4;
    uint8_t *data = malloc(n);
    int32_t *got = malloc(4 * results), *want = malloc(4 * results);
    if (data && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            data[i] = (uint8_t)wl_random(&rng);
        for (size_t i = 0; i < results / 4; i++) {
            md5(data + i * PIECE, PIECE, state);
            memcpy(want + 4 * i, state, sizeof state);
        }
        uint64_t d_data = wl_upload(r, data, n), d_out = wl_alloc(r, 4 * results);
        wl_launch(r, "hash_pieces", blocks, 1, 1, THREADS, 1, 1, RESERVED, &d_out,
                  &d_data);
        wl_read(r, d_out, got, 4 * results);
        wl_check_i32(r, "words of digests", got, want, results);
        wl_free(r, d_data);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(data);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_storegpu = {
    .name = "storegpu",
    .summary = "MD5 of pieces of data; 16304 B of scratchpad a block",
    .source = "StoreGPU (STO), MD5: 003 Table 1",
    .kernels = "hash_pieces",
    .run = run,
};
