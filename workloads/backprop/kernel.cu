#define WIDTH 48
#define HEIGHT 48
#include "layerforward.cuh"
