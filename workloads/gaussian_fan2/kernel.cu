#include "../gaussian_fan1/gaussian.cuh"
