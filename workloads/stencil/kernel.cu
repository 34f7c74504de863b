/* A Jacobi step of the 7-point stencil in a box. A block of 32 x 16 threads has 64 x 16
 * columns of cells, two a thread (coarsened in x), and goes up along z: the cells below,
 * here and above are in registers, the plane here in scratchpad; neighbours outside the
 * tile come from global memory. Cells on the box's surface stay. */
#define X 32
#define Y 16

extern "C" __global__ void
block2D_hybrid_coarsen_x(float c0, float c1, const float *A0, float *Anext, int nx,
                         int ny, int nz)
{
    __shared__ float plane[Y][2 * X];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * 2 * X + tx, i2 = i + X, j = blockIdx.y * Y + ty;
    bool in = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    bool in2 = i2 > 0 && i2 < nx - 1 && j > 0 && j < ny - 1;
    int at = j * nx + i, at2 = at + X, step = nx * ny;
    bool here = i < nx && j < ny, here2 = i2 < nx && j < ny;
    float bottom = 0.0f, bottom2 = 0.0f, current = 0.0f, current2 = 0.0f;

    if (here) {
        bottom = A0[at];
        current = A0[at + step];
    }
    if (here2) {
        bottom2 = A0[at2];
        current2 = A0[at2 + step];
    }
    for (int k = 1; k < nz - 1; k++) {
        float top = 0.0f, top2 = 0.0f;
        at += step;
        at2 += step;
        plane[ty][tx] = current;
        plane[ty][tx + X] = current2;
        if (here)
            top = A0[at + step];
        if (here2)
            top2 = A0[at2 + step];
        __syncthreads();
        if (in) {
            float left = tx > 0 ? plane[ty][tx - 1] : A0[at - 1];
            float up = ty > 0 ? plane[ty - 1][tx] : A0[at - nx];
            float down = ty < Y - 1 ? plane[ty + 1][tx] : A0[at + nx];
            Anext[at] =
                c1 * (top + bottom + left + plane[ty][tx + 1] + up + down) - c0 * current;
        }
        if (in2) {
            float right = tx < X - 1 ? plane[ty][tx + X + 1] : A0[at2 + 1];
            float up = ty > 0 ? plane[ty - 1][tx + X] : A0[at2 - nx];
            float down = ty < Y - 1 ? plane[ty + 1][tx + X] : A0[at2 + nx];
            Anext[at2] =
                c1 * (top2 + bottom2 + plane[ty][tx + X - 1] + right + up + down) -
                c0 * current2;
        }
        __syncthreads();
        bottom = current;
        bottom2 = current2;
        current = top;
        current2 = top2;
    }
}
