/* texrefs.cu: texture references of file scope, bound to linear and pitched memory and to
 * arrays, and a surface reference; what comes back is compared with the host's data. */
#include "texture_reference.h"

enum { N = 200, W = 48, H = 20 };

texture<float> line;
texture<float4> quads;
texture<int> integers;
texture<float, 2> image;
texture<unsigned char, 2, cudaReadModeNormalizedFloat> bytes;
surface<void, 2> target;

__global__ void
read_line(float *out, int from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch(line, from + i).x;
}

__global__ void
read_quads(float4 *out)
{
    out[threadIdx.x] = tex1Dfetch(quads, threadIdx.x);
}

/* The form that nvcc compiles to: the reference's own name in the instruction. */
__global__ void
read_integers(int *out)
{
    int x, y, z, w;
    asm volatile("tex.1d.v4.s32.s32 {%0,%1,%2,%3}, [integers, {%4}];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(threadIdx.x));
    out[threadIdx.x] = x;
}

__global__ void
read_image(float *out, float sx, float sy, float x0, float y0)
{
    out[blockIdx.x * W + threadIdx.x] =
        tex2D(image, (threadIdx.x + x0) * sx, (blockIdx.x + y0) * sy).x;
}

__global__ void
read_bytes(float *out)
{
    out[blockIdx.x * W + threadIdx.x] = tex2D(bytes, threadIdx.x, blockIdx.x).x;
}

__global__ void
write_target()
{
    surf2Dwrite(threadIdx.x + 100.0f * blockIdx.x, target, threadIdx.x * 4, blockIdx.x);
}

static std::vector<float>
result(const float *dev, int n)
{
    std::vector<float> v(n);
    OK(cudaMemcpy(v.data(), dev, n * 4, cudaMemcpyDeviceToHost));
    return v;
}

static void
linear(float *out)
{
    float *mem, *other, in[N], in2[N];
    size_t offset = 99;
    OK(cudaMalloc(&mem, sizeof in));
    OK(cudaMalloc(&other, sizeof in));
    for (int i = 0; i < N; i++) {
        in[i] = i * 0.5f;
        in2[i] = -i;
    }
    OK(cudaMemcpy(mem, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(other, in2, sizeof in2, cudaMemcpyHostToDevice));
    OK(cudaBindTexture(&offset, line, mem));
    EQ(offset, 0u);
    read_line<<<2, 128>>>(out, 0, N);
    std::vector<float> got = result(out, N);
    for (int i = 0; i < N; i++)
        EQ(got[i], in[i]);
    OK(cudaBindTexture(NULL, line, other, sizeof in2)); /* bound anew */
    read_line<<<2, 128>>>(out, 0, N);
    got = result(out, N);
    for (int i = 0; i < N; i++)
        EQ(got[i], in2[i]);

    /* Memory that begins between two alignments: the program adds the offset. */
    IS(cudaBindTexture(NULL, line, mem + 5, 100), cudaErrorInvalidValue);
    OK(cudaBindTexture(&offset, line, mem + 5, 100));
    EQ(offset, 5 * sizeof(float));
    size_t again;
    OK(cudaGetTextureAlignmentOffset(&again, &line));
    EQ(again, offset);
    read_line<<<1, 32>>>(out, (int)(offset / 4), 30);
    got = result(out, 30);
    for (int i = 0; i < 30; i++)
        EQ(got[i], i < 25 ? in[i + 5] : 0.0f); /* 100 bytes were bound */

    float4 all[N / 4];
    OK(cudaBindTexture(NULL, quads, mem));
    read_quads<<<1, N / 4>>>((float4 *)out);
    OK(cudaMemcpy(all, out, sizeof all, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N / 4; i++) {
        EQ(all[i].x, in[4 * i]);
        EQ(all[i].w, in[4 * i + 3]);
    }

    int whole[64], back[64];
    for (int i = 0; i < 64; i++)
        whole[i] = i * 1000003 - 5;
    OK(cudaMemcpy(other, whole, sizeof whole, cudaMemcpyHostToDevice));
    OK(cudaBindTexture(NULL, integers, other));
    read_integers<<<1, 64>>>((int *)out);
    OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EQ(back[i], whole[i]);
    OK(cudaUnbindTexture(&integers));
    OK(cudaUnbindTexture(&line));
    IS(cudaGetTextureAlignmentOffset(&again, &line), cudaErrorInvalidTextureBinding);
    OK(cudaFree(mem));
    OK(cudaFree(other));
}

static void
pitched(const std::vector<float> &in, float *out)
{
    float *mem;
    size_t pitch, offset;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    OK(cudaMallocPitch((void **)&mem, &pitch, W * 4, H));
    OK(cudaMemcpy2D(mem, pitch, in.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    OK(cudaBindTexture2D(&offset, &image, mem, &f, W, H, pitch));
    EQ(offset, 0u);
    read_image<<<H, W>>>(out, 1, 1, 0, 0);
    std::vector<float> got = result(out, W * H);
    for (int i = 0; i < W * H; i++)
        EQ(got[i], in[i]);

    unsigned char small[W * H];
    for (int i = 0; i < W * H; i++)
        small[i] = (unsigned char)(i * 7);
    f = cudaCreateChannelDesc<unsigned char>();
    OK(cudaMemcpy2D(mem, pitch, small, W, W, H, cudaMemcpyHostToDevice));
    OK(cudaBindTexture2D(NULL, &bytes, mem, &f, W, H, pitch));
    read_bytes<<<H, W>>>(out);
    got = result(out, W * H);
    for (int i = 0; i < W * H; i++)
        NEAR(got[i], small[i] / 255.0, 1e-6);
    OK(cudaFree(mem));
}

/* Filter and address modes are those of the variable when it is bound. */
static void
array(const std::vector<float> &in, float *out)
{
    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&a, &f, W, H));
    OK(cudaMemcpy2DToArray(a, 0, 0, in.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    image.normalized = 1;
    image.filterMode = cudaFilterModeLinear;
    image.addressMode[0] = image.addressMode[1] = cudaAddressModeWrap;
    OK(cudaBindTextureToArray(&image, a, &f));
    read_image<<<H, W>>>(out, 1.0f / W, 1.0f / H, 1, 1); /* between four texels */
    std::vector<float> got = result(out, W * H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) { /* weights have 8 bits */
            int x1 = (x + 1) % W, y1 = (y + 1) % H;
            float mean =
                (in[y * W + x] + in[y * W + x1] + in[y1 * W + x] + in[y1 * W + x1]) / 4;
            NEAR(got[y * W + x], mean, in[W * H - 1] / 128);
        }
    image.normalized = 0;
    image.filterMode = cudaFilterModePoint;
    OK(cudaBindTextureToArray(&image, a, &f));
    read_image<<<H, W>>>(out, 1, 1, 0, 0);
    got = result(out, W * H);
    for (int i = 0; i < W * H; i++)
        EQ(got[i], in[i]);

    cudaArray_t written;
    OK(cudaMallocArray(&written, &f, W, H, cudaArraySurfaceLoadStore));
    OK(cudaBindSurfaceToArray(&target, written, &f));
    write_target<<<H, W>>>();
    OK(cudaMemcpy2DFromArray(got.data(), W * 4, written, 0, 0, W * 4, H,
                             cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++)
        EQ(got[i], i % W + 100.0f * (i / W));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(written));
}

static void
errors(float *mem)
{
    textureReference other;
    const textureReference *t;
    const surfaceReference *s;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(),
                          three = {32, 32, 32, 0, cudaChannelFormatKindFloat};
    IS(cudaBindTexture(NULL, &other, mem, &f, 64), cudaErrorInvalidTexture);
    IS(cudaBindTexture(NULL, &line, mem, &three, 64), cudaErrorInvalidChannelDescriptor);
    IS(cudaUnbindTexture(&other), cudaErrorInvalidTexture);
    IS(cudaGetTextureReference(&t, &other), cudaErrorInvalidTexture);
    OK(cudaGetTextureReference(&t, &line));
    TRUE(t == &line);
    OK(cudaGetSurfaceReference(&s, &target));
    TRUE(s == &target);
    size_t offset;
    OK(cudaBindTexture(NULL, line, mem));
    OK(cudaGetTextureAlignmentOffset(&offset, &line));
    OK(cudaDeviceReset()); /* nothing is bound on the new device */
    IS(cudaGetTextureAlignmentOffset(&offset, &line), cudaErrorInvalidTextureBinding);
    OK(cudaUnbindTexture(&line));
    OK(cudaMalloc(&mem, W * H * 4));
    linear(mem);
}

int
main()
{
    std::vector<float> in(W * H);
    float *out;
    for (int i = 0; i < W * H; i++)
        in[i] = i * 0.25f;
    OK(cudaMalloc(&out, W * H * 16));
    linear(out);
    pitched(in, out);
    array(in, out);
    errors(out);
    return 0;
}
