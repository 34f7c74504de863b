/* chart.h: bar charts by gnuplot, as SVG or PNG. */
#ifndef ALLOT_REPORT_CHART_H
#define ALLOT_REPORT_CHART_H

#include "base/diag.h"

/* Grouped bars: value[g * nseries + s]; NaN leaves a bar out. */
struct chart {
    const char *title, *ylabel;
    size_t ngroups, nseries;
    const char *const *groups; /* below the axis */
    const char *const *series; /* in the legend */
    const double *value;
    bool below_zero; /* values may be negative: the axis goes there */
};

/* Writes the chart to path (.svg or .png decides). False and a diagnostic if gnuplot is
 * missing or fails, or the file cannot be written; never leaves half a file. */
bool chart_write(const struct chart *c, const char *path, struct diag_sink *diag);

#endif
