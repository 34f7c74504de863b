/* Speckle reducing anisotropic diffusion (Yu and Acton, 2002), one time step in two kernels:
 * srad_cuda_1 derives the four directional derivatives of the image J and the diffusion
 * coefficient C of each pixel, srad_cuda_2 the divergence, and updates J.
 *
 * A block of TILE x TILE threads has one pixel a thread; the grid covers the image, which
 * need be no multiple of TILE. At the image's border a neighbour is the pixel itself (no flux):
 * coordinates are clamped, which also fills the part of a tile that hangs over the border
 * with what its neighbours inside must see. */

/* Pixel (row, col) clamped to the image. */
static __device__ __forceinline__ int
pixel(int row, int col, int rows, int cols)
{
    return min(max(row, 0), rows - 1) * cols + min(max(col, 0), cols - 1);
}

/* Scratchpad: the tile, the lines beyond its four sides, and the result; the lines are kept by
 * every thread of a column or row in its own place, so that nobody branches to load them. The
 * result passes through scratchpad too (here and below), which the answer does not need: it is
 * part of the six and five variables whose use the documents measure. */
extern "C" __global__ void
srad_cuda_1(float *dn, float *ds, float *dw, float *de, const float *image, float *coeff,
            int rows, int cols, float q0sqr)
{
    __shared__ float tile[TILE][TILE];
    __shared__ float result[TILE][TILE];
    __shared__ float north[TILE][TILE];
    __shared__ float south[TILE][TILE];
    __shared__ float west[TILE][TILE];
    __shared__ float east[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    int row = row0 + ty, col = col0 + tx;

    north[ty][tx] = image[pixel(row0 - 1, col, rows, cols)];
    south[ty][tx] = image[pixel(row0 + TILE, col, rows, cols)];
    west[ty][tx] = image[pixel(row, col0 - 1, rows, cols)];
    east[ty][tx] = image[pixel(row, col0 + TILE, rows, cols)];
    tile[ty][tx] = image[pixel(row, col, rows, cols)];
    __syncthreads();

    float j = tile[ty][tx];
    float n = (ty == 0 ? north[ty][tx] : tile[ty - 1][tx]) - j;
    float s = (ty == TILE - 1 ? south[ty][tx] : tile[ty + 1][tx]) - j;
    float w = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - j;
    float e = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - j;

    /* Squared coefficient of variation q^2, then 1 / (1 + (q^2 - q0^2) / (q0^2 (1 + q0^2))). */
    float g2 = (n * n + s * s + w * w + e * e) / (j * j);
    float l = (n + s + w + e) / j;
    float num = 0.5f * g2 - 0.0625f * (l * l);
    float den = 1.0f + 0.25f * l;
    float qsqr = num / (den * den);
    float c = 1.0f / (1.0f + (qsqr - q0sqr) / (q0sqr * (1.0f + q0sqr)));
    result[ty][tx] = fminf(fmaxf(c, 0.0f), 1.0f);
    __syncthreads();

    if (row < rows && col < cols) {
        int i = row * cols + col;
        coeff[i] = result[ty][tx];
        dn[i] = n;
        ds[i] = s;
        dw[i] = w;
        de[i] = e;
    }
}

extern "C" __global__ void
srad_cuda_2(const float *dn, const float *ds, const float *dw, const float *de, float *image,
            const float *coeff, int rows, int cols, float lambda)
{
    __shared__ float c_tile[TILE][TILE];
    __shared__ float c_south[TILE][TILE];
    __shared__ float c_east[TILE][TILE];
    __shared__ float tile[TILE][TILE];
    __shared__ float result[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    int row = row0 + ty, col = col0 + tx;
    int i = pixel(row, col, rows, cols);

    tile[ty][tx] = image[i];
    c_tile[ty][tx] = coeff[i];
    c_south[ty][tx] = coeff[pixel(row0 + TILE, col, rows, cols)];
    c_east[ty][tx] = coeff[pixel(row, col0 + TILE, rows, cols)];
    __syncthreads();

    float c = c_tile[ty][tx];
    float cs = ty == TILE - 1 ? c_south[ty][tx] : c_tile[ty + 1][tx];
    float ce = tx == TILE - 1 ? c_east[ty][tx] : c_tile[ty][tx + 1];
    float divergence = c * dn[i] + cs * ds[i] + c * dw[i] + ce * de[i];
    result[ty][tx] = tile[ty][tx] + 0.25f * lambda * divergence;
    __syncthreads();

    /* Nobody else reads image[i]: tiles do not overlap. */
    if (row < rows && col < cols)
        image[i] = result[ty][tx];
}
