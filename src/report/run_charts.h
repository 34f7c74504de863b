/* run_charts.h: charts of kernels: occupancy curves, stall causes, roofline. */
#ifndef ALLOT_REPORT_RUN_CHARTS_H
#define ALLOT_REPORT_RUN_CHARTS_H

#include "machine/machine.h"
#include "machine/occupancy.h"
#include "report/chart.h"
#include "stats/stats.h"

/* What an occupancy curve is drawn over. */
enum occupancy_over { OVER_THREADS, OVER_REGISTERS, OVER_SCRATCHPAD, NOVER };
extern const char *const charts_overs[NOVER]; /* "threads", "regs", "smem" */

/* Warps of an SM over threads of a block (in warps), registers of a thread or scratchpad of
 * a block; the other two are the kernel's. With sharing a second series. A third is the
 * kernel itself. The chart lives in `mem`. */
struct chart charts_occupancy(const struct machine *m, const struct occ_kernel *k,
                              enum occ_share share, double threshold,
                              enum occupancy_over over, struct arena *mem);

/* The same with the machine's residency policy, by its own plan: a second series where it gives other
 * numbers of blocks than none. */
struct chart charts_residency(const struct machine *m, const struct occ_kernel *k,
                              enum occupancy_over over, struct arena *mem);

/* A kernel of a run: sums over its launches. */
struct run_kernel {
    const char *label, *machine_name;
    const struct machine *machine;
    struct launch_stats stats;
};
/* Where the issue slots went, % of them: a bar a kernel. */
struct chart charts_stalls(const struct run_kernel *k, size_t n, struct arena *mem);
/* Thread instructions a cycle over thread instructions a byte of DRAM traffic, under the
 * roof of the machine: peak issue and peak DRAM bandwidth. All kernels ran on k[0]'s. */
struct chart charts_roofline(const struct run_kernel *k, size_t n, struct arena *mem);
/* The roof: thread instructions, and bytes of DRAM, a core cycle. */
double charts_peak_instructions(const struct machine *m);
double charts_peak_bytes(const struct machine *m);

#endif
