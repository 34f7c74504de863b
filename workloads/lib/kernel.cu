/* Monte Carlo of the LIBOR market model with sensitivities: each thread follows one path of
 * N forward rates over NMAT periods (log-normal, volatilities from a table) and values a
 * portfolio of swaptions on it, discounted to now. Then it goes back over the path: the
 * adjoint of every step gives the value's derivative by each of today's rates. For that
 * the rates of each period are kept, in local memory. */
#define N 80
#define NMAT 40
#define NOPT 15

/* Sizes are data, as in the benchmark, and compilers of its time unrolled no loop of unknown
 * count: so its 36 registers come about. */
#define ROLLED _Pragma("unroll 1")
__constant__ int nrates, nperiods, noptions;
__constant__ float lambda[N], delta;
__constant__ int maturity[NOPT];
__constant__ float swaprate[NOPT];

/* History of the rates: hist[n * N + i] is rate i before period n. */
static __device__ void
forward(float *hist, const float *z)
{
    ROLLED
    for (int n = 0; n < nperiods; n++) {
        const float *L = hist + n * N;
        float *next = hist + (n + 1) * N, sqez = sqrtf(delta) * z[n], v = 0.0f;
        ROLLED
        for (int i = 0; i <= n; i++)
            next[i] = L[i];
        ROLLED
        for (int i = n + 1; i < nrates; i++) {
            float lam = lambda[i - n - 1], con = delta * lam;
            v += __fdividef(con * L[i], 1.0f + delta * L[i]);
            next[i] = L[i] * __expf(con * v + lam * (sqez - 0.5f * con));
        }
    }
}

/* Value of the portfolio, and its derivatives by the rates at the end. */
static __device__ float
portfolio(const float *L, float *grad)
{
    float B[NMAT], S[NMAT], gB[NMAT], gS[NMAT], b = 1.0f, s = 0.0f, value = 0.0f;
    ROLLED
    for (int n = nperiods; n < nrates; n++) {
        b = __fdividef(b, 1.0f + delta * L[n]);
        s += delta * b;
        B[n - nperiods] = b;
        S[n - nperiods] = s;
        gB[n - nperiods] = gS[n - nperiods] = 0.0f;
    }
    ROLLED
    for (int i = 0; i < noptions; i++) {
        int m = maturity[i] - 1;
        float swap = B[m] + swaprate[i] * S[m] - 1.0f;
        if (swap < 0.0f) {
            value -= 100.0f * swap;
            gB[m] -= 100.0f;
            gS[m] -= 100.0f * swaprate[i];
        }
    }
    float toB = 0.0f, toS = 0.0f;
    ROLLED
    for (int n = nrates - 1; n >= nperiods; n--) {
        int m = n - nperiods;
        toS += gS[m];
        toB += gB[m] + delta * toS;
        toB = __fdividef(toB, 1.0f + delta * L[n]);
        grad[n] = -toB * delta * B[m];
    }
    b = 1.0f;
    ROLLED
    for (int n = 0; n < nperiods; n++)
        b = __fdividef(b, 1.0f + delta * L[n]);
    value *= b;
    ROLLED
    for (int n = 0; n < nperiods; n++)
        grad[n] = __fdividef(-value * delta, 1.0f + delta * L[n]);
    ROLLED
    for (int n = nperiods; n < nrates; n++)
        grad[n] *= b;
    return value;
}

/* Derivatives by the rates at the end become those by the rates at the start. */
static __device__ void
backward(const float *hist, float *grad)
{
    ROLLED
    for (int n = nperiods - 1; n >= 0; n--) {
        const float *L = hist + n * N, *next = hist + (n + 1) * N;
        float toV = 0.0f;
        ROLLED
        for (int i = nrates - 1; i > n; i--) {
            float con = delta * lambda[i - n - 1], g = grad[i] * next[i],
                  d = __fdividef(1.0f, 1.0f + delta * L[i]);
            toV += con * g;
            grad[i] = __fdividef(g, L[i]) + toV * con * d * d;
        }
    }
}

extern "C" __global__ void
Pathcalc_Portfolio_KernelGPU(float *value, float *sensitivity, int npaths)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;

    ROLLED
    for (int path = tid; path < npaths; path += step) {
        float hist[(NMAT + 1) * N], z[NMAT], grad[N];
        ROLLED
        for (int i = 0; i < nrates; i++)
            hist[i] = 0.05f;
        ROLLED
        for (int n = 0; n < nperiods; n++)
            z[n] = 0.3f + 0.0625f * (float)(path % 5);
        forward(hist, z);
        value[path] = portfolio(hist + nperiods * N, grad);
        backward(hist, grad);
        sensitivity[path] = grad[nrates - 1];
    }
}
