/* dxtc.h: what dxtc and dxtc_192 share. */
#ifndef DXTC_H
#define DXTC_H

#include "allot/workload.h"

/* Compresses an image by blocks of so many threads, and checks every block. */
bool dxtc_run(struct allot_run *r, uint32_t threads);

#endif
