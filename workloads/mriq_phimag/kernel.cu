/* Squared magnitude of complex numbers, a number a thread: what mriq weighs its waves by.
 */
extern "C" __global__ void
ComputePhiMag_GPU(const float *real, const float *imaginary, float *magnitude, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float re = real[i], im = imaginary[i];
        magnitude[i] = re * re + im * im;
    }
}
