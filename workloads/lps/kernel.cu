/* One step of Jacobi's iteration for Laplace's equation in three dimensions: each inner
 * point becomes the mean of its six neighbours, points of the boundary keep their value. A
 * block has columns of X x Y points and walks up through the planes; the plane below, the
 * plane itself and the one above lie in scratchpad with a border of one point, and change
 * roles from step to step. Sides are multiples of X and Y. */
#define X 32
#define Y 4
#define PITCH (X + 2)
#define PLANE (PITCH * (Y + 2))

/* Plane z of u: the block's points, and those beside it where there are any. */
static __device__ __forceinline__ void
load_plane(float *plane, const float *u, int x, int y, int z, int nx, int ny)
{
    int tx = threadIdx.x, ty = threadIdx.y, at = (ty + 1) * PITCH + tx + 1;
    const float *in = u + (z * ny + y) * nx + x;
    plane[at] = in[0];
    if (ty == 0 && y > 0)
        plane[at - PITCH] = in[-nx];
    if (ty == Y - 1 && y < ny - 1)
        plane[at + PITCH] = in[nx];
    if (tx == 0 && x > 0)
        plane[at - 1] = in[-1];
    if (tx == X - 1 && x < nx - 1)
        plane[at + 1] = in[1];
}

extern "C" __global__ void
GPU_laplace3d(int nx, int ny, int nz, const float *u1, float *u2)
{
    __shared__ float planes[3 * PLANE];
    int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * Y + threadIdx.y;
    int at = (threadIdx.y + 1) * PITCH + threadIdx.x + 1;
    bool border = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    float *below = planes, *here = planes + PLANE, *above = planes + 2 * PLANE;

    load_plane(here, u1, x, y, 0, nx, ny);
    for (int z = 0; z < nz; z++) {
        if (z < nz - 1)
            load_plane(above, u1, x, y, z + 1, nx, ny);
        __syncthreads();
        float v = here[at];
        if (!border && z > 0 && z < nz - 1)
            v = (here[at - 1] + here[at + 1] + here[at - PITCH] + here[at + PITCH] +
                 below[at] + above[at]) *
                (1.0f / 6.0f);
        u2[(z * ny + y) * nx + x] = v;
        __syncthreads(); /* before the next step overwrites the plane below */
        float *free_plane = below;
        below = here;
        here = above;
        above = free_plane;
    }
}
