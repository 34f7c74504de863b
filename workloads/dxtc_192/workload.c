/* dxtc_192: dxtc with the blocks of 002's Fermi machine. */
#include "../dxtc/dxtc.h"

enum { THREADS = 192 }; /* as in kernel.cu */

static bool
run(struct allot_run *r)
{
    return dxtc_run(r, THREADS);
}

const struct allot_workload allot_workload_dxtc_192 = {
    .name = "dxtc_192",
    .summary = "DXT1 compression, an exhaustive fit; 192 threads, 1920 B of scratchpad",
    .source = "CUDA SDK dxtc, compress: 002 Table 1 (Fermi)",
    .kernels = "compress",
    .run = run,
};
