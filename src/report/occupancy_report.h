/* occupancy_report.h: how many blocks of a demand an SM holds and what limits that, as text,
 * JSON and as a curve over one of the demands. */
#ifndef ALLOT_REPORT_OCCUPANCY_REPORT_H
#define ALLOT_REPORT_OCCUPANCY_REPORT_H

#include "allot/allot.h"
#include "report/run_charts.h"

#include <jansson.h>
#include <stdio.h>

void occupancy_report_text(const struct allot_machine *m,
                           const struct allot_occupancy_query *q,
                           const struct allot_occupancy *o, FILE *f);
json_t *occupancy_report_json(const struct allot_machine *m,
                              const struct allot_occupancy_query *q,
                              const struct allot_occupancy *o);
/* Resident warps; the chart lives in mem. */
struct chart occupancy_report_chart(const struct allot_machine *m,
                                    const struct allot_occupancy_query *q,
                                    enum occupancy_over over, struct arena *mem);

#endif
