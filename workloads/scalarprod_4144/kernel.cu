#include "../scalarprod/kernel.cu"
