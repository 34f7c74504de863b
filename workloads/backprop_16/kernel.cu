#define WIDTH 16
#define HEIGHT 16
#include "../backprop/layerforward.cuh"
