#define THREADS 192
#include "../dxtc/kernel.cu"
