/* latency.c: sums of settings, which tests/unit/runtime/idle_latency.c holds against
 * simulated chains. */
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

uint32_t
latency_dependent(const struct machine *m, unsigned class)
{
    const uint32_t ports = (uint32_t)m->collector.bank_ports;
    const uint32_t start = 1 + (3 + ports - 1) / ports; /* enter; read, leave, start */
    int64_t cycles = m->latency[class].cycles, interval = m->latency[class].interval;
    int64_t back = (cycles > interval ? cycles : interval) + 2 - m->unit.forward;
    return start + (uint32_t)(back > 1 ? back : 1);
}
