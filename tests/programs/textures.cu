/* textures.cu: arrays of one to three dimensions, linear and pitched memory read through
 * texture objects, a surface written, a cube map, mipmaps. */
#include "check.h"

enum { W = 40, H = 24 };

__global__ void texel(cudaTextureObject_t t, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H)
        out[y * W + x] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}

/* Between four texels, in normalized coordinates. */
__global__ void between(cudaTextureObject_t t, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H)
        out[y * W + x] = tex2D<float>(t, (x + 1.0f) / W, (y + 1.0f) / H);
}

__global__ void fetch(cudaTextureObject_t t, float4 *out) {
    out[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x);
}

__global__ void row(cudaTextureObject_t t, float4 *out, int y) {
    out[threadIdx.x] = tex2D<float4>(t, threadIdx.x, y);
}

__global__ void volume(cudaTextureObject_t t, float *out) {
    int i = threadIdx.x;
    out[i] = tex3D<float>(t, i % 4, i / 4 % 4, i / 16);
}

__global__ void brighter(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    uchar4 v;
    surf2Dread(&v, from, threadIdx.x * 4, blockIdx.x);
    v.x += 1;
    surf2Dwrite(v, to, threadIdx.x * 4, blockIdx.x);
}

/* Along the axes: the middle of each face, in the order of faces. */
__global__ void axes(cudaTextureObject_t t, float *out) {
    int face = threadIdx.x;
    float v[3] = {0, 0, 0};
    v[face / 2] = face % 2 ? -3 : 3;
    out[face] = texCubemap<float>(t, v[0], v[1], v[2]);
}

__global__ void level(cudaTextureObject_t t, float *out, float lod) {
    out[threadIdx.x] = tex2DLod<float>(t, (threadIdx.x + 0.5f) / 8, 0.5f, lod);
}

static cudaResourceDesc of_array(cudaArray_t a) {
    cudaResourceDesc r;
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    return r;
}

static cudaTextureObject_t texture(const cudaResourceDesc &r, const cudaTextureDesc &d) {
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    return t;
}

static void two_dimensions(const std::vector<float> &in, float *dev) {
    std::vector<float> out(W * H);
    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaTextureDesc d;
    memset(&d, 0, sizeof d);
    OK(cudaMallocArray(&a, &f, W, H));
    OK(cudaMemcpy2DToArray(a, 0, 0, in.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t t = texture(of_array(a), d);
    texel<<<dim3(3, 2), dim3(16, 16)>>>(t, dev);
    OK(cudaMemcpy(out.data(), dev, W * H * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++)
        EQ(out[i], in[i]);
    OK(cudaDestroyTextureObject(t));

    d.filterMode = cudaFilterModeLinear;
    d.normalizedCoords = 1;
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeWrap;
    t = texture(of_array(a), d);
    between<<<dim3(3, 2), dim3(16, 16)>>>(t, dev);
    OK(cudaMemcpy(out.data(), dev, W * H * 4, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) { /* weights have 8 bits */
            int x1 = (x + 1) % W, y1 = (y + 1) % H;
            float mean = (in[y * W + x] + in[y * W + x1] + in[y1 * W + x] + in[y1 * W + x1]) / 4;
            NEAR(out[y * W + x], mean, in[W * H - 1] / 128);
        }
    OK(cudaDestroyTextureObject(t));
    OK(cudaMemcpy2DFromArray(out.data(), W * 4, a, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++)
        EQ(out[i], in[i]);
    OK(cudaFreeArray(a));
}

static void linear_and_pitched(float4 *dev) {
    float4 *mem, in[64], out[64];
    cudaResourceDesc r;
    cudaTextureDesc d;
    memset(&r, 0, sizeof r);
    memset(&d, 0, sizeof d);
    for (int i = 0; i < 64; i++)
        in[i] = make_float4(i, i + 1, i + 2, i + 3);
    OK(cudaMalloc(&mem, sizeof in));
    OK(cudaMemcpy(mem, in, sizeof in, cudaMemcpyHostToDevice));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = mem;
    r.res.linear.desc = cudaCreateChannelDesc<float4>();
    r.res.linear.sizeInBytes = sizeof in;
    fetch<<<1, 64>>>(texture(r, d), dev);
    OK(cudaMemcpy(out, dev, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        EQ(out[i].x, in[i].x);
        EQ(out[i].w, in[i].w);
    }

    unsigned char image[32 * 4 * 8], *pitched;
    size_t pitch;
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (unsigned char)i;
    OK(cudaMallocPitch(&pitched, &pitch, 32 * 4, 8));
    OK(cudaMemcpy2D(pitched, pitch, image, 32 * 4, 32 * 4, 8, cudaMemcpyHostToDevice));
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = pitched;
    r.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    r.res.pitch2D.width = 32;
    r.res.pitch2D.height = 8;
    r.res.pitch2D.pitchInBytes = pitch;
    d.readMode = cudaReadModeNormalizedFloat;
    row<<<1, 32>>>(texture(r, d), dev, 1);
    OK(cudaMemcpy(out, dev, 32 * sizeof *out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        NEAR(out[i].x, image[128 + 4 * i] / 255.0, 1e-6);
    OK(cudaFree(mem));
    OK(cudaFree(pitched));
}

static void three_dimensions(const std::vector<float> &in, float *dev) {
    float out[64];
    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(4, 4, 4);
    cudaMemcpy3DParms copy;
    cudaTextureDesc d;
    memset(&copy, 0, sizeof copy);
    memset(&d, 0, sizeof d);
    OK(cudaMalloc3DArray(&a, &f, extent));
    copy.srcPtr = make_cudaPitchedPtr((void *)in.data(), 16, 4, 4);
    copy.dstArray = a;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    volume<<<1, 64>>>(texture(of_array(a), d), dev);
    OK(cudaMemcpy(out, dev, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EQ(out[i], in[i]);
    OK(cudaFreeArray(a));
}

static void surfaces() {
    unsigned char in[32 * 4 * 8], out[32 * 4 * 8];
    cudaArray_t from, to;
    cudaSurfaceObject_t read, write;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<uchar4>();
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)i;
    OK(cudaMallocArray(&from, &f, 32, 8, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&to, &f, 32, 8, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(from, 0, 0, in, 128, 128, 8, cudaMemcpyHostToDevice));
    cudaResourceDesc r = of_array(from);
    OK(cudaCreateSurfaceObject(&read, &r));
    r = of_array(to);
    OK(cudaCreateSurfaceObject(&write, &r));
    brighter<<<8, 32>>>(read, write);
    OK(cudaMemcpy2DFromArray(out, 128, to, 0, 0, 128, 8, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof in; i++)
        EQ((int)out[i], (int)(unsigned char)(in[i] + (i % 4 == 0)));
    OK(cudaDestroySurfaceObject(read));
    OK(cudaDestroySurfaceObject(write));
}

static void cube(float *dev) {
    enum { SIDE = 3 };
    float in[6 * SIDE * SIDE], out[6];
    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(SIDE, SIDE, 6);
    cudaMemcpy3DParms copy;
    cudaTextureDesc d;
    memset(&copy, 0, sizeof copy);
    memset(&d, 0, sizeof d);
    for (int i = 0; i < 6 * SIDE * SIDE; i++)
        in[i] = i;
    OK(cudaMalloc3DArray(&a, &f, extent, cudaArrayCubemap));
    copy.srcPtr = make_cudaPitchedPtr(in, SIDE * 4, SIDE, SIDE);
    copy.dstArray = a;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    d.normalizedCoords = 1;
    d.filterMode = cudaFilterModeLinear;
    axes<<<1, 6>>>(texture(of_array(a), d), dev);
    OK(cudaMemcpy(out, dev, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++)
        EQ(out[i], in[i * 9 + 4]);
    OK(cudaFreeArray(a));
}

/* 8 x 2, 4 x 1, 2 x 1, 1 x 1, each level filled by itself. */
static void mipmaps(float *dev) {
    enum { LEVELS = 4 };
    cudaMipmappedArray_t m;
    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaTextureDesc d;
    cudaResourceDesc r;
    float out[8];
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    OK(cudaMallocMipmappedArray(&m, &f, make_cudaExtent(8, 2, 0), LEVELS));
    for (int l = 0; l < LEVELS; l++) {
        cudaExtent e;
        float data[16];
        OK(cudaGetMipmappedArrayLevel(&a, m, l));
        OK(cudaArrayGetInfo(&f, &e, NULL, a));
        EQ(e.width, (size_t)8 >> l);
        EQ(e.height, l ? 1u : 2u);
        for (size_t i = 0; i < e.width * e.height; i++)
            data[i] = 100 * l + i;
        OK(cudaMemcpy2DToArray(a, 0, 0, data, e.width * 4, e.width * 4, e.height,
                               cudaMemcpyHostToDevice));
    }
    IS(cudaGetMipmappedArrayLevel(&a, m, LEVELS), cudaErrorInvalidValue);
    IS(cudaFreeArray(a), cudaErrorInvalidResourceHandle); /* a level */
    cudaGetLastError();
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = m;
    d.normalizedCoords = 1;
    d.mipmapFilterMode = cudaFilterModeLinear;
    d.maxMipmapLevelClamp = LEVELS;
    cudaTextureObject_t t = texture(r, d);
    for (int l = 0; l < LEVELS; l++) {
        level<<<1, 8>>>(t, dev, l);
        OK(cudaMemcpy(out, dev, sizeof out, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 8; i++)
            EQ(out[i], 100.0f * l + (i >> l) + (l ? 0 : 8));
    }
    level<<<1, 8>>>(t, dev, 1.5f); /* between two levels */
    OK(cudaMemcpy(out, dev, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EQ(out[i], 150 + ((i >> 1) + (i >> 2)) / 2.0f);
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeMipmappedArray(m));
}

int main() {
    std::vector<float> in(W * H);
    float *dev;
    for (int i = 0; i < W * H; i++)
        in[i] = i * 0.5f;
    OK(cudaMalloc(&dev, W * H * 16));
    two_dimensions(in, dev);
    linear_and_pitched((float4 *)dev);
    three_dimensions(in, dev);
    surfaces();
    cube(dev);
    mipmaps(dev);
    return 0;
}
