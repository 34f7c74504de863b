#include "../matmul/kernel.cu"
