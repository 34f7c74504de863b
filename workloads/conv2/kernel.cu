#include "columns.cuh"
