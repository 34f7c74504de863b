/* html_report.h: figures and runs as one page that needs nothing else: no network, no
 * other file. */
#ifndef ALLOT_REPORT_HTML_REPORT_H
#define ALLOT_REPORT_HTML_REPORT_H

#include "experiments/figure.h"

/* The page for these figures and every run of the store. Charts are drawn by Chart.js,
 * read from $ALLOT_CHARTJS or where Debian's libjs-chart.js puts it and copied into the
 * page; where it is missing the page has its tables only, and a warning says so. False
 * and diagnostics on failure. */
bool html_report(const struct figure *const *figures, const char *const *names, size_t n,
                 struct store *s, struct strbuf *out, struct diag_sink *diag);

#endif
