/* Second layer of a network that reads digits: 6 images of 13 x 13 become 50 of 5 x 5,
 * each neuron from a window of 5 x 5 in every image at every second place. */
#include "layer.cuh"

LAYER(executeSecondLayer, 6, 13, 5, 2, 5)
