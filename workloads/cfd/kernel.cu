/* Fluxes of the Euler equations in three dimensions over the four faces of each cell of an
 * unstructured grid, finite volumes: a cell a thread. Behind a face lies a neighbour, a
 * wall or the free stream. A face's flux is the mean of both sides' fluxes, less an
 * artificial viscosity towards a neighbour. Variables are stored one after the other:
 * density, momentum along x, y, z, energy. */
#define FACES 4
#define WALL (-1)
#define FAR (-2)
#define GAMMA 1.4f
#define VISCOSITY 0.2f

struct state {
    float density, energy;
    float3 momentum;
};

/* Flux of momentum, a symmetric matrix, and of energy. */
struct flux {
    float xx, xy, xz, yy, yz, zz;
    float3 energy;
};

__constant__ struct state free_stream;
__constant__ struct flux free_flux;

static __device__ __forceinline__ float3
scaled(float3 a, float s)
{
    return make_float3(a.x * s, a.y * s, a.z * s);
}

static __device__ __forceinline__ float
dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static __device__ __forceinline__ struct state
load(const float *variables, int cells, int i)
{
    struct state s;
    s.density = variables[i];
    s.momentum.x = variables[i + cells];
    s.momentum.y = variables[i + 2 * cells];
    s.momentum.z = variables[i + 3 * cells];
    s.energy = variables[i + 4 * cells];
    return s;
}

/* Also the pressure, and the fastest wave: speed of the flow plus that of sound. */
static __device__ __forceinline__ struct flux
flux_of(const struct state &s, float *pressure, float *wave)
{
    float3 v = scaled(s.momentum, 1.0f / s.density);
    float square = dot(v, v);
    float p = (GAMMA - 1.0f) * (s.energy - 0.5f * s.density * square);
    struct flux f;
    f.xx = v.x * s.momentum.x + p;
    f.xy = v.x * s.momentum.y;
    f.xz = v.x * s.momentum.z;
    f.yy = v.y * s.momentum.y + p;
    f.yz = v.y * s.momentum.z;
    f.zz = v.z * s.momentum.z + p;
    f.energy = scaled(v, s.energy + p);
    *pressure = p;
    *wave = sqrtf(square) + sqrtf(GAMMA * p / s.density);
    return f;
}

static __device__ __forceinline__ void
add_mean(struct state &sum, float3 half, const struct state &a, const struct flux &fa,
         const struct state &b, const struct flux &fb)
{
    sum.density += half.x * (a.momentum.x + b.momentum.x) +
                   half.y * (a.momentum.y + b.momentum.y) +
                   half.z * (a.momentum.z + b.momentum.z);
    sum.energy += half.x * (fa.energy.x + fb.energy.x) +
                  half.y * (fa.energy.y + fb.energy.y) +
                  half.z * (fa.energy.z + fb.energy.z);
    sum.momentum.x += half.x * (fa.xx + fb.xx) + half.y * (fa.xy + fb.xy) +
                      half.z * (fa.xz + fb.xz);
    sum.momentum.y += half.x * (fa.xy + fb.xy) + half.y * (fa.yy + fb.yy) +
                      half.z * (fa.yz + fb.yz);
    sum.momentum.z += half.x * (fa.xz + fb.xz) + half.y * (fa.yz + fb.yz) +
                      half.z * (fa.zz + fb.zz);
}

extern "C" __global__ void
cuda_compute_flux(int cells, const int *neighbours, const float *normals,
                  const float *variables, float *fluxes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells)
        return;
    struct state own = load(variables, cells, i), sum;
    float pressure, wave;
    struct flux own_flux = flux_of(own, &pressure, &wave);
    sum.density = sum.energy = 0.0f;
    sum.momentum = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < FACES; j++) {
        int other = neighbours[i + j * cells];
        float3 normal = make_float3(normals[i + (j + 0 * FACES) * cells],
                                    normals[i + (j + 1 * FACES) * cells],
                                    normals[i + (j + 2 * FACES) * cells]);
        float3 half = scaled(normal, 0.5f);
        if (other >= 0) {
            struct state s = load(variables, cells, other);
            float p, w;
            struct flux f = flux_of(s, &p, &w);
            float damp = -0.5f * VISCOSITY * sqrtf(dot(normal, normal)) * (wave + w);
            sum.density += damp * (own.density - s.density);
            sum.energy += damp * (own.energy - s.energy);
            sum.momentum.x += damp * (own.momentum.x - s.momentum.x);
            sum.momentum.y += damp * (own.momentum.y - s.momentum.y);
            sum.momentum.z += damp * (own.momentum.z - s.momentum.z);
            add_mean(sum, half, own, own_flux, s, f);
        } else if (other == WALL) {
            sum.momentum.x += normal.x * pressure;
            sum.momentum.y += normal.y * pressure;
            sum.momentum.z += normal.z * pressure;
        } else if (other == FAR) {
            add_mean(sum, half, own, own_flux, free_stream, free_flux);
        }
    }
    fluxes[i] = sum.density;
    fluxes[i + cells] = sum.momentum.x;
    fluxes[i + 2 * cells] = sum.momentum.y;
    fluxes[i + 3 * cells] = sum.momentum.z;
    fluxes[i + 4 * cells] = sum.energy;
}
