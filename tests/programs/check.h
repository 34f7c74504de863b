/* check.h: what every program of this folder checks with. The first failed check is said
 * and ends the program with status 1. */
#ifndef ALLOT_TESTS_CHECK_H
#define ALLOT_TESTS_CHECK_H

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

/* A CUDA call that must succeed. */
#define OK(call) IS(call, cudaSuccess)
/* ... or answer exactly this. */
#define IS(call, wanted)                                                                 \
    do {                                                                                 \
        cudaError_t e_ = (call);                                                         \
        if (e_ != (wanted)) {                                                            \
            printf("%s:%d: %s: %s (%s), not %s\n", __FILE__, __LINE__, #call,            \
                   cudaGetErrorName(e_), cudaGetErrorString(e_),                         \
                   cudaGetErrorName(wanted));                                            \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define EQ(a, b)                                                                         \
    do {                                                                                 \
        auto a_ = (a);                                                                   \
        auto b_ = (b);                                                                   \
        if (!(a_ == b_)) {                                                               \
            printf("%s:%d: %s is %g, %s is %g\n", __FILE__, __LINE__, #a, (double)a_,    \
                   #b, (double)b_);                                                      \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define NEAR(a, b, within)                                                               \
    do {                                                                                 \
        double a_ = (a), b_ = (b);                                                       \
        if (!(std::fabs(a_ - b_) <= (within))) {                                         \
            printf("%s:%d: %s is %g, %s is %g\n", __FILE__, __LINE__, #a, a_, #b, b_);   \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define TRUE(c)                                                                          \
    do {                                                                                 \
        if (!(c)) {                                                                      \
            printf("%s:%d: %s is false\n", __FILE__, __LINE__, #c);                      \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#endif
