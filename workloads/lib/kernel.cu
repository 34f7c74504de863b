/* Monte Carlo of the LIBOR market model: each thread follows one path of N forward rates
 * over NMAT periods (log-normal, volatilities from a table) and values a portfolio of
 * swaptions on it, discounted to now. The rates of a path are an array of the thread's
 * own. */
#define N 24
#define NMAT 8
#define NOPT 8

__constant__ float lambda[N], delta;
__constant__ int maturity[NOPT];
__constant__ float swaprate[NOPT];

extern "C" __global__ void
Pathcalc_Portfolio_KernelGPU(float *value, const float *noise, int npaths)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;

    for (int path = tid; path < npaths; path += step) {
        float L[N], B[N], S[N];
        for (int i = 0; i < N; i++)
            L[i] = 0.05f;
        for (int n = 0; n < NMAT; n++) {
            float sqez = sqrtf(delta) * noise[n * npaths + path], v = 0.0f;
            for (int i = n + 1; i < N; i++) {
                float lam = lambda[i - n - 1], con = delta * lam;
                v += con * L[i] / (1.0f + delta * L[i]);
                L[i] *= expf(con * v + lam * (sqez - 0.5f * con));
            }
        }
        float b = 1.0f, s = 0.0f, sum = 0.0f;
        for (int n = NMAT; n < N; n++) {
            b /= 1.0f + delta * L[n];
            s += delta * b;
            B[n] = b;
            S[n] = s;
        }
        for (int i = 0; i < NOPT; i++) {
            int m = maturity[i] + NMAT - 1;
            float swap = B[m] + swaprate[i] * S[m] - 1.0f;
            if (swap < 0.0f)
                sum -= 100.0f * swap;
        }
        for (int n = 0; n < NMAT; n++)
            sum /= 1.0f + delta * L[n];
        value[path] = sum;
    }
}
