#include "gaussian.cuh"
