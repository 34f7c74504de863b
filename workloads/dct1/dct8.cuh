/* The orthonormal discrete cosine transform of 8 numbers and its inverse, by even and odd
 * halves: X_k = c_k sum_n x_n cos((2n+1) k pi / 16), c_0 = sqrt(1/8), c_k = 1/2. C(k)
 * below is cos(k pi / 16) / 2; c_0 is C(4). */
#define C1 0.49039264f
#define C2 0.46193977f
#define C3 0.41573481f
#define C4 0.35355339f
#define C5 0.27778512f
#define C6 0.19134172f
#define C7 0.09754516f

static __device__ __forceinline__ void
dct8(float *x, int step)
{
    float s0 = x[0] + x[7 * step], d0 = x[0] - x[7 * step];
    float s1 = x[step] + x[6 * step], d1 = x[step] - x[6 * step];
    float s2 = x[2 * step] + x[5 * step], d2 = x[2 * step] - x[5 * step];
    float s3 = x[3 * step] + x[4 * step], d3 = x[3 * step] - x[4 * step];
    x[0] = C4 * ((s0 + s3) + (s1 + s2));
    x[4 * step] = C4 * ((s0 + s3) - (s1 + s2));
    x[2 * step] = C2 * (s0 - s3) + C6 * (s1 - s2);
    x[6 * step] = C6 * (s0 - s3) - C2 * (s1 - s2);
    x[step] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
    x[3 * step] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
    x[5 * step] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
    x[7 * step] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

static __device__ __forceinline__ void
idct8(float *x, int step)
{
    float a0 = C4 * (x[0] + x[4 * step]), a1 = C4 * (x[0] - x[4 * step]);
    float b0 = C2 * x[2 * step] + C6 * x[6 * step],
          b1 = C6 * x[2 * step] - C2 * x[6 * step];
    float y1 = x[step], y3 = x[3 * step], y5 = x[5 * step], y7 = x[7 * step];
    float o0 = C1 * y1 + C3 * y3 + C5 * y5 + C7 * y7;
    float o1 = C3 * y1 - C7 * y3 - C1 * y5 - C5 * y7;
    float o2 = C5 * y1 - C1 * y3 + C7 * y5 + C3 * y7;
    float o3 = C7 * y1 - C5 * y3 + C3 * y5 - C1 * y7;
    x[0] = a0 + b0 + o0;
    x[7 * step] = a0 + b0 - o0;
    x[step] = a1 + b1 + o1;
    x[6 * step] = a1 + b1 - o1;
    x[2 * step] = a1 - b1 + o2;
    x[5 * step] = a1 - b1 - o2;
    x[3 * step] = a0 - b0 + o3;
    x[4 * step] = a0 - b0 - o3;
}
