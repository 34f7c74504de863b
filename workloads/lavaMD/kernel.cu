/* Forces between particles of a three-dimensional space cut into boxes as long as the cutoff:
 * a particle feels those of its own box and of the boxes around it. One block a box.
 *
 * For particles a (home) and b (neighbour): r^2 = |a - b|^2 = a.v + b.v - 2 a.b with v =
 * |position|^2, u = exp(-alpha^2 r^2); the potential at a grows by q_b u, the force by
 * q_b 2 u (a - b). Results are added in the order of neighbours and of their particles.
 *
 * Two kernels: the benchmark's, and the same behind the benchmark's guard
 * `if (bx < d_dim_gpu.number_boxes)`, as it would run if PTXPlus of GPGPU-Sim 3.x read no box there. */
#include "particle.h"

static __device__ __forceinline__ void
forces(const box *boxes, const particle *position, const double *charge, particle *force,
       double alpha, particle *home, particle *other, double *other_charge)
{
    const box *mine = &boxes[blockIdx.x];
    int first = mine->first, count = mine->particles, neighbours = mine->neighbours;
    double a2 = alpha * alpha;

    for (int i = threadIdx.x; i < count; i += blockDim.x)
        home[i] = position[first + i];

    for (int k = 0; k < neighbours; k++) {
        const box *b = &boxes[mine->neighbour[k]];
        int b_first = b->first, b_count = b->particles;
        for (int i = threadIdx.x; i < b_count; i += blockDim.x) {
            other[i] = position[b_first + i];
            other_charge[i] = charge[b_first + i];
        }
        __syncthreads();

        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            double px = home[i].x, py = home[i].y, pz = home[i].z;
            double v = home[i].v;
            particle f = force[first + i];
            for (int j = 0; j < b_count; j++) {
                double ox = other[j].x, oy = other[j].y, oz = other[j].z;
                double r2 = v + other[j].v - 2.0 * (px * ox + py * oy + pz * oz);
                double u = other_charge[j] * exp(-a2 * r2);
                double s = 2.0 * u;
                f.v += u;
                f.x += s * (px - ox);
                f.y += s * (py - oy);
                f.z += s * (pz - oz);
            }
            force[first + i] = f;
        }
        __syncthreads(); /* before the next box is loaded over this one */
    }
}

extern "C" __global__ void
kernel_gpu_cuda(const box *boxes, const particle *position, const double *charge,
                particle *force, double alpha)
{
    __shared__ particle home[MAX_PARTICLES];
    __shared__ particle other[MAX_PARTICLES];
    __shared__ double other_charge[MAX_PARTICLES];

    forces(boxes, position, charge, force, alpha, home, other, other_charge);
}

/* number_boxes is a `long`, 64 bits, in a structure that is passed by value. Machine code of
 * that time has no compare of 64 bits: it compares words, as here. A block leaves where the guard
 * stands (PTXPlus has a predicated return, retp), not by a jump to the kernel's end. */
extern "C" __global__ void
kernel_gpu_cuda_ptxplus(const box *boxes, const particle *position, const double *charge,
                        particle *force, double alpha, unsigned boxes_low, int boxes_high)
{
    __shared__ particle home[MAX_PARTICLES];
    __shared__ particle other[MAX_PARTICLES];
    __shared__ double other_charge[MAX_PARTICLES];
    const int high = (int)blockIdx.x >> 31;
    const bool below = blockIdx.x < boxes_low;

    if (!((high < boxes_high) | ((high == boxes_high) & below)))
        asm volatile("exit;");
    forces(boxes, position, charge, force, alpha, home, other, other_charge);
}
