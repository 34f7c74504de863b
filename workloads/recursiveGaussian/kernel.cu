/* Gaussian blur by Deriche's recursive filter: a thread goes down a column and up again.
 * Each pass needs two pixels and two results of before. Pixels are packed, 8 bits a
 * channel; the way down is stored so, too. */
static __device__ __forceinline__ float4
unpack(unsigned c)
{
    return make_float4((float)(c & 255) / 255.0f, (float)(c >> 8 & 255) / 255.0f,
                       (float)(c >> 16 & 255) / 255.0f, (float)(c >> 24) / 255.0f);
}

static __device__ __forceinline__ unsigned
channel(float v)
{
    return (unsigned)(__saturatef(v) * 255.0f);
}

static __device__ __forceinline__ unsigned
pack(float4 v)
{
    return channel(v.w) << 24 | channel(v.z) << 16 | channel(v.y) << 8 | channel(v.x);
}

static __device__ __forceinline__ float4
scale(float4 v, float s)
{
    return make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
}

/* a * u + b * v - c * s - d * t */
static __device__ __forceinline__ float4
step(float4 u, float a, float4 v, float b, float4 s, float c, float4 t, float d)
{
    return make_float4(a * u.x + b * v.x - c * s.x - d * t.x,
                       a * u.y + b * v.y - c * s.y - d * t.y,
                       a * u.z + b * v.z - c * s.z - d * t.z,
                       a * u.w + b * v.w - c * s.w - d * t.w);
}

extern "C" __global__ void
d_recursiveGaussian_rgba(const unsigned *in, unsigned *out, int width, int height,
                         float a0, float a1, float a2, float a3, float b1, float b2,
                         float first, float last)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= width)
        return;
    in += column;
    out += column;
    float4 before = unpack(*in);
    float4 y1 = scale(before, first), y2 = y1;
    for (int i = 0; i < height; i++) {
        float4 x = unpack(*in), y = step(x, a0, before, a1, y1, b1, y2, b2);
        *out = pack(y);
        in += width;
        out += width;
        before = x;
        y2 = y1;
        y1 = y;
    }
    in -= width;
    out -= width;
    float4 x1 = unpack(*in), x2 = x1;
    y1 = scale(x1, last);
    y2 = y1;
    for (int i = 0; i < height; i++) {
        float4 x = unpack(*in), y = step(x1, a2, x2, a3, y1, b1, y2, b2),
               down = unpack(*out);
        x2 = x1;
        x1 = x;
        y2 = y1;
        y1 = y;
        *out = pack(
            make_float4(down.x + y.x, down.y + y.y, down.z + y.z, down.w + y.w));
        in -= width;
        out -= width;
    }
}
