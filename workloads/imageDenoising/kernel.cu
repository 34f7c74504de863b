/* Non-local means, the fast version: a pixel becomes the mean of those of a window of 7 x 7
 * around it, weighted by how alike their surroundings of 7 x 7 are. Weights are computed
 * once for a block of 8 x 8 pixels, from its centre, a weight a thread, and are kept in
 * scratchpad. Where few pixels of the window are alike the pixel keeps more of its own
 * colour. The image is a texture of normalised floats. */
#define BLOCK 8
#define RADIUS 3
#define SIDE (2 * RADIUS + 1)
#define AREA (SIDE * SIDE)
#define WEIGHT_THRESHOLD 0.10f
#define COUNT_THRESHOLD 0.10f

static __device__ __forceinline__ float4
texel(unsigned long long image, float x, float y)
{
    float4 v;
    asm("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(image), "f"(x), "f"(y));
    return v;
}

static __device__ __forceinline__ unsigned
channel(float v)
{
    return (unsigned)(__saturatef(v) * 255.0f);
}

extern "C" __global__ void
NLM2(unsigned *out, unsigned long long image, int width, int height, float noise,
     float lerp)
{
    __shared__ float weights[BLOCK * BLOCK];
    int ix = blockIdx.x * BLOCK + threadIdx.x, iy = blockIdx.y * BLOCK + threadIdx.y;
    float x = (float)ix + 0.5f, y = (float)iy + 0.5f;
    float cx = (float)(blockIdx.x * BLOCK + BLOCK / 2) + 0.5f;
    float cy = (float)(blockIdx.y * BLOCK + BLOCK / 2) + 0.5f;
    int i = threadIdx.y * BLOCK + threadIdx.x;

    if (i < AREA) { /* the window's i-th pixel beside the centre */
        float dx = (float)(i % SIDE - RADIUS), dy = (float)(i / SIDE - RADIUS);
        float w = 0.0f;
#pragma unroll
        for (int n = -RADIUS; n <= RADIUS; n++)
#pragma unroll
            for (int m = -RADIUS; m <= RADIUS; m++) {
                float4 a = texel(image, cx + (float)m, cy + (float)n);
                float4 b = texel(image, cx + dx + (float)m, cy + dy + (float)n);
                float r = a.x - b.x, g = a.y - b.y, s = a.z - b.z;
                w += r * r + g * g + s * s;
            }
        weights[i] = __expf(-(w * noise + (dx * dx + dy * dy) * (1.0f / AREA)));
    }
    __syncthreads();
    if (ix >= width || iy >= height)
        return;
    float count = 0.0f, sum = 0.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
#pragma unroll
    for (int n = -RADIUS; n <= RADIUS; n++)
#pragma unroll
        for (int m = -RADIUS; m <= RADIUS; m++) {
            float w = weights[(n + RADIUS) * SIDE + m + RADIUS];
            float4 c = texel(image, x + (float)m, y + (float)n);
            red += c.x * w;
            green += c.y * w;
            blue += c.z * w;
            sum += w;
            count += w > WEIGHT_THRESHOLD ? 1.0f / AREA : 0.0f;
        }
    sum = 1.0f / sum;
    float4 own = texel(image, x, y);
    float keep = count > COUNT_THRESHOLD ? lerp : 1.0f - lerp;
    red = red * sum + (own.x - red * sum) * keep;
    green = green * sum + (own.y - green * sum) * keep;
    blue = blue * sum + (own.z - blue * sum) * keep;
    out[iy * width + ix] = channel(blue) << 16 | channel(green) << 8 | channel(red);
}
