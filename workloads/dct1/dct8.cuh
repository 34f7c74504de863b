/* The orthonormal discrete cosine transform of 8 numbers and its inverse, by even and odd
 * halves: X_k = c_k sum_n x_n cos((2n+1) k pi / 16), c_0 = sqrt(1/8), c_k = 1/2. C(k)
 * below is cos(k pi / 16) / 2; c_0 is C(4). The factors lie in constant memory: a thread loads
 * each once. */

__constant__ float factor[8] = {0.0f,        0.49039264f, 0.46193977f, 0.41573481f,
                                0.35355339f, 0.27778512f, 0.19134172f, 0.09754516f};

struct factors {
    float c1, c2, c3, c4, c5, c6, c7;
};

static __device__ __forceinline__ struct factors
factors(void)
{
    return (struct factors){factor[1], factor[2], factor[3], factor[4],
                            factor[5], factor[6], factor[7]};
}

static __device__ __forceinline__ void
dct8(float *x, int step, struct factors f)
{
    float s0 = x[0] + x[7 * step], d0 = x[0] - x[7 * step];
    float s1 = x[step] + x[6 * step], d1 = x[step] - x[6 * step];
    float s2 = x[2 * step] + x[5 * step], d2 = x[2 * step] - x[5 * step];
    float s3 = x[3 * step] + x[4 * step], d3 = x[3 * step] - x[4 * step];
    x[0] = f.c4 * ((s0 + s3) + (s1 + s2));
    x[4 * step] = f.c4 * ((s0 + s3) - (s1 + s2));
    x[2 * step] = f.c2 * (s0 - s3) + f.c6 * (s1 - s2);
    x[6 * step] = f.c6 * (s0 - s3) - f.c2 * (s1 - s2);
    x[step] = f.c1 * d0 + f.c3 * d1 + f.c5 * d2 + f.c7 * d3;
    x[3 * step] = f.c3 * d0 - f.c7 * d1 - f.c1 * d2 - f.c5 * d3;
    x[5 * step] = f.c5 * d0 - f.c1 * d1 + f.c7 * d2 + f.c3 * d3;
    x[7 * step] = f.c7 * d0 - f.c5 * d1 + f.c3 * d2 - f.c1 * d3;
}

static __device__ __forceinline__ void
idct8(float *x, int step, struct factors f)
{
    float a0 = f.c4 * (x[0] + x[4 * step]), a1 = f.c4 * (x[0] - x[4 * step]);
    float b0 = f.c2 * x[2 * step] + f.c6 * x[6 * step],
          b1 = f.c6 * x[2 * step] - f.c2 * x[6 * step];
    float y1 = x[step], y3 = x[3 * step], y5 = x[5 * step], y7 = x[7 * step];
    float o0 = f.c1 * y1 + f.c3 * y3 + f.c5 * y5 + f.c7 * y7;
    float o1 = f.c3 * y1 - f.c7 * y3 - f.c1 * y5 - f.c5 * y7;
    float o2 = f.c5 * y1 - f.c1 * y3 + f.c7 * y5 + f.c3 * y7;
    float o3 = f.c7 * y1 - f.c5 * y3 + f.c3 * y5 - f.c1 * y7;
    x[0] = a0 + b0 + o0;
    x[7 * step] = a0 + b0 - o0;
    x[step] = a1 + b1 + o1;
    x[6 * step] = a1 + b1 - o1;
    x[2 * step] = a1 - b1 + o2;
    x[5 * step] = a1 - b1 - o2;
    x[3 * step] = a0 - b0 + o3;
    x[4 * step] = a0 - b0 - o3;
}
