/* hotspot_derived: hotspot whose kernel derives its coefficients. */
#include "../hotspot/hotspot.h"

static bool
run(struct allot_run *r)
{
    return hotspot_run(r, true);
}

const struct allot_workload allot_workload_hotspot_derived = {
    .name = "hotspot_derived",
    .summary = "hotspot with coefficients and ranges derived in the kernel; 3072 B",
    .source = "Rodinia hotspot, calculate_temp: 002 Table 1",
    .kernels = "calculate_temp",
    .run = run,
};
