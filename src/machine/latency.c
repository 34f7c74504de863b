/* latency.c: a sum of settings, which tests/unit/runtime/dram_latency.c holds against a
 * simulated chain of loads. */
#include "machine/latency.h"

double
latency_dram(const struct machine *m)
{
    double core = m->clock.core;
    double beats = (double)m->dram.burst / (double)(m->dram.bus * m->dram.transfers);
    double rop = (double)m->partition.rop_latency;
    if (m->partition.halves > 1) /* every other access crosses to the other part */
        rop += (double)m->partition.far_latency / 2;
    return (m->memory.global_in_l1 ? (double)m->l1d.latency : 0) +
           2 * (double)m->icnt.latency * core / m->clock.icnt +
           (rop + (double)m->l2.latency) * core / m->clock.l2 + (double)m->dram.latency +
           ((double)(m->dram.tRCD + m->dram.tCL) + beats) * core / m->clock.dram;
}
