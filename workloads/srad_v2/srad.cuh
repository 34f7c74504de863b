/* Speckle reducing anisotropic diffusion (Yu and Acton, 2002), one time step in two kernels:
 * srad_cuda_1 derives the four directional derivatives of the image J and the diffusion
 * coefficient C of each pixel, srad_cuda_2 the divergence, and updates J.
 *
 * A block of TILE x TILE threads has one pixel a thread; the grid covers the image, which
 * need be no multiple of TILE. At the image's border a neighbour is the pixel itself (no flux):
 * coordinates are clamped, which also fills the part of a tile that hangs over the border
 * with what its neighbours inside must see.
 *
 * Order of accesses, barriers and branches are those of the benchmark (Rodinia's srad_v2): a
 * tile is read in three (srad_cuda_1) and four steps with a barrier behind each, so that a
 * block waits for memory as often, and threads at each side of a tile go their own way. */

/* Values that a branch has found, kept there: compilers of the benchmark's time had no code
 * of several branches in common behind them. */
#define KEEP2(a, b) asm volatile("" : "+f"(a), "+f"(b))
#define KEEP4(a, b, c, d) asm volatile("" : "+f"(a), "+f"(b), "+f"(c), "+f"(d))

/* The thread's pixel: column and row, clamped to the image. */
#define PIXEL                                                                            \
    int tx = threadIdx.x, ty = threadIdx.y;                                              \
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;                              \
    int row = min(row0 + ty, rows - 1), col = min(col0 + tx, cols - 1)

/* Scratchpad: the tile, the result, and the lines beyond the tile's four sides; the lines are
 * kept by every thread of a column or row in its own place, so that nobody branches to load
 * them. The result passes through scratchpad too (here and below), which the answer does not
 * need: it is part of the six and five variables whose use the documents measure. */
extern "C" __global__ void
srad_cuda_1(float *dn, float *ds, float *dw, float *de, const float *image, float *coeff,
            int rows, int cols, float q0sqr)
{
    __shared__ float tile[TILE][TILE];
    __shared__ float result[TILE][TILE];
    __shared__ float north[TILE][TILE];
    __shared__ float south[TILE][TILE];
    __shared__ float east[TILE][TILE];
    __shared__ float west[TILE][TILE];
    PIXEL;

    north[ty][tx] = image[max(row0 - 1, 0) * cols + col];
    south[ty][tx] = image[min(row0 + TILE, rows - 1) * cols + col];
    __syncthreads();
    west[ty][tx] = image[row * cols + max(col0 - 1, 0)];
    east[ty][tx] = image[row * cols + min(col0 + TILE, cols - 1)];
    __syncthreads();
    tile[ty][tx] = image[row * cols + col];
    __syncthreads();

    float j = tile[ty][tx], n, s, w, e;
    if (ty == 0 && tx == 0) {
        n = north[ty][tx] - j;
        s = tile[ty + 1][tx] - j;
        w = west[ty][tx] - j;
        e = tile[ty][tx + 1] - j;
        KEEP4(n, s, w, e);
    } else if (ty == 0 && tx == TILE - 1) {
        n = north[ty][tx] - j;
        s = tile[ty + 1][tx] - j;
        w = tile[ty][tx - 1] - j;
        e = east[ty][tx] - j;
        KEEP4(n, s, w, e);
    } else if (ty == TILE - 1 && tx == TILE - 1) {
        n = tile[ty - 1][tx] - j;
        s = south[ty][tx] - j;
        w = tile[ty][tx - 1] - j;
        e = east[ty][tx] - j;
        KEEP4(n, s, w, e);
    } else if (ty == TILE - 1 && tx == 0) {
        n = tile[ty - 1][tx] - j;
        s = south[ty][tx] - j;
        w = west[ty][tx] - j;
        e = tile[ty][tx + 1] - j;
        KEEP4(n, s, w, e);
    } else if (ty == 0) {
        n = north[ty][tx] - j;
        s = tile[ty + 1][tx] - j;
        w = tile[ty][tx - 1] - j;
        e = tile[ty][tx + 1] - j;
        KEEP4(n, s, w, e);
    } else if (tx == TILE - 1) {
        n = tile[ty - 1][tx] - j;
        s = tile[ty + 1][tx] - j;
        w = tile[ty][tx - 1] - j;
        e = east[ty][tx] - j;
        KEEP4(n, s, w, e);
    } else if (ty == TILE - 1) {
        n = tile[ty - 1][tx] - j;
        s = south[ty][tx] - j;
        w = tile[ty][tx - 1] - j;
        e = tile[ty][tx + 1] - j;
        KEEP4(n, s, w, e);
    } else if (tx == 0) {
        n = tile[ty - 1][tx] - j;
        s = tile[ty + 1][tx] - j;
        w = west[ty][tx] - j;
        e = tile[ty][tx + 1] - j;
        KEEP4(n, s, w, e);
    } else {
        n = tile[ty - 1][tx] - j;
        s = tile[ty + 1][tx] - j;
        w = tile[ty][tx - 1] - j;
        e = tile[ty][tx + 1] - j;
        KEEP4(n, s, w, e);
    }

    /* Squared coefficient of variation q^2, then 1 / (1 + (q^2 - q0^2) / (q0^2 (1 + q0^2))). */
    float g2 = (n * n + s * s + w * w + e * e) / (j * j);
    float l = (n + s + w + e) / j;
    float num = 0.5f * g2 - 0.0625f * (l * l);
    float den = 1.0f + 0.25f * l;
    float qsqr = num / (den * den);
    float c = 1.0f / (1.0f + (qsqr - q0sqr) / (q0sqr * (1.0f + q0sqr)));
    result[ty][tx] = fminf(fmaxf(c, 0.0f), 1.0f);
    __syncthreads();

    if (row0 + ty < rows && col0 + tx < cols) {
        int i = row * cols + col;
        coeff[i] = result[ty][tx];
        de[i] = e;
        dw[i] = w;
        ds[i] = s;
        dn[i] = n;
    }
}

extern "C" __global__ void
srad_cuda_2(const float *dn, const float *ds, const float *dw, const float *de,
            float *image, const float *coeff, int rows, int cols, float lambda)
{
    __shared__ float c_south[TILE][TILE];
    __shared__ float c_east[TILE][TILE];
    __shared__ float c_tile[TILE][TILE];
    __shared__ float result[TILE][TILE];
    __shared__ float tile[TILE][TILE];
    PIXEL;
    int i = row * cols + col;

    tile[ty][tx] = image[i];
    __syncthreads();
    c_south[ty][tx] = coeff[min(row0 + TILE, rows - 1) * cols + col];
    __syncthreads();
    c_east[ty][tx] = coeff[row * cols + min(col0 + TILE, cols - 1)];
    __syncthreads();
    c_tile[ty][tx] = coeff[i];
    __syncthreads();

    float c = c_tile[ty][tx], cs, ce;
    if (ty == TILE - 1 && tx == TILE - 1) {
        cs = c_south[ty][tx];
        ce = c_east[ty][tx];
        KEEP2(cs, ce);
    } else if (tx == TILE - 1) {
        cs = c_tile[ty + 1][tx];
        ce = c_east[ty][tx];
        KEEP2(cs, ce);
    } else if (ty == TILE - 1) {
        cs = c_south[ty][tx];
        ce = c_tile[ty][tx + 1];
        KEEP2(cs, ce);
    } else {
        cs = c_tile[ty + 1][tx];
        ce = c_tile[ty][tx + 1];
        KEEP2(cs, ce);
    }
    float divergence = c * dn[i] + cs * ds[i] + c * dw[i] + ce * de[i];
    result[ty][tx] = tile[ty][tx] + 0.25f * lambda * divergence;
    __syncthreads();

    /* Nobody else reads image[i]: tiles do not overlap. */
    if (row0 + ty < rows && col0 + tx < cols)
        image[i] = result[ty][tx];
}
