/* Direct hashing for a store that finds equal pieces of data by their MD5 (RFC 1321). A
 * block stages THREADS pieces of PIECE bytes in scratchpad with reads of consecutive words;
 * then each thread takes its piece into registers and hashes it. A piece begins at any
 * byte. It and its padding fill three blocks of MD5. */
#define THREADS 128
#define PIECE 127
#define WORDS (THREADS * PIECE / 4)

#define ROTATE(v, n) ((v) << (n) | (v) >> (32 - (n)))
#define F(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define G(x, y, z) (((x) & (z)) | ((y) & ~(z)))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define J(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, k, s, sine)                                                  \
    a += f(b, c, d) + m[k] + sine##u;                                                    \
    a = b + ROTATE(a, s);
/* Four steps with the words k0 to k3 and a round's shifts. */
#define STEPS(f, s0, s1, s2, s3, k0, k1, k2, k3, t0, t1, t2, t3)                         \
    STEP(f, a, b, c, d, k0, s0, t0)                                                      \
    STEP(f, d, a, b, c, k1, s1, t1)                                                      \
    STEP(f, c, d, a, b, k2, s2, t2)                                                      \
    STEP(f, b, c, d, a, k3, s3, t3)

static __device__ __forceinline__ void
md5_block(unsigned state[4], const unsigned m[16])
{
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    /* clang-format off */
    STEPS(F, 7, 12, 17, 22,  0,  1,  2,  3, 0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee)
    STEPS(F, 7, 12, 17, 22,  4,  5,  6,  7, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501)
    STEPS(F, 7, 12, 17, 22,  8,  9, 10, 11, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be)
    STEPS(F, 7, 12, 17, 22, 12, 13, 14, 15, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821)
    STEPS(G, 5, 9, 14, 20,  1,  6, 11,  0, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa)
    STEPS(G, 5, 9, 14, 20,  5, 10, 15,  4, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8)
    STEPS(G, 5, 9, 14, 20,  9, 14,  3,  8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed)
    STEPS(G, 5, 9, 14, 20, 13,  2,  7, 12, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a)
    STEPS(H, 4, 11, 16, 23,  5,  8, 11, 14, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c)
    STEPS(H, 4, 11, 16, 23,  1,  4,  7, 10, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70)
    STEPS(H, 4, 11, 16, 23, 13,  0,  3,  6, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05)
    STEPS(H, 4, 11, 16, 23,  9, 12, 15,  2, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665)
    STEPS(J, 6, 10, 15, 21,  0,  7, 14,  5, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039)
    STEPS(J, 6, 10, 15, 21, 12,  3, 10,  1, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1)
    STEPS(J, 6, 10, 15, 21,  8, 15,  6, 13, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1)
    STEPS(J, 6, 10, 15, 21,  4, 11,  2,  9, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391)
    /* clang-format on */
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

extern "C" __global__ void
hash_pieces(uint4 *digest, const unsigned *data)
{
    __shared__ unsigned staged[WORDS];
    int t = threadIdx.x;

    data += (size_t)blockIdx.x * WORDS;
    for (int i = t; i < WORDS; i += THREADS)
        staged[i] = data[i];
    __syncthreads();

    unsigned m[32];
    int first = t * PIECE / 4, shift = t * PIECE % 4 * 8;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        unsigned low = staged[first + i], high = staged[min(first + i + 1, WORDS - 1)];
        m[i] = (unsigned)(((unsigned long long)high << 32 | low) >> shift);
    }
    m[31] = (m[31] & 0xffffff) | 0x80000000u;

    const unsigned last[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, PIECE * 8, 0};
    unsigned state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    md5_block(state, m);
    md5_block(state, m + 16);
    md5_block(state, last);
    digest[blockIdx.x * THREADS + t] = make_uint4(state[0], state[1], state[2], state[3]);
}
