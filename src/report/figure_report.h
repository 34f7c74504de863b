/* figure_report.h: a figure as text, Markdown, CSV, chart. */
#ifndef ALLOT_REPORT_FIGURE_REPORT_H
#define ALLOT_REPORT_FIGURE_REPORT_H

#include "experiments/figure.h"
#include "report/chart.h"

/* Title, a table a metric with our values beside the paper's, verdict, checks. Markdown
 * if `markdown`. False and diagnostics if a check cannot be understood. */
bool figure_text(const struct figure *f, bool markdown, struct strbuf *out,
                 struct diag_sink *diag);
/* How well ours agree with the paper's, a line of words; nothing where there are none. */
void figure_verdict_text(const struct figure *f, size_t metric, struct strbuf *out);
/* The same in short for a page, in Markdown: tables, verdicts, the statements that fail. */
bool figure_block(const struct figure *f, struct strbuf *out, struct diag_sink *diag);
/* Our values, all digits, as figure_read takes them: workload,series,metric,value. */
void figure_results(const struct figure *f, struct strbuf *out);
/* One line a value: workload,series,machine,variant,metric,unit,ours,paper. */
void figure_csv(const struct figure *f, struct strbuf *out);
/* Are all series that are shown of this metric values of a swept parameter (line and at of
 * struct exp_series)? */
bool figure_swept(const struct figure *f, size_t metric);
/* One metric, ours beside the paper's: bars and their geometric mean, or lines where the
 * series or the rows sweep a number. look: chart.h. */
bool figure_chart(const struct figure *f, size_t metric, const char *path,
                  const struct chart_look *look, struct diag_sink *diag);
/* Whether the series has anything to show for this metric (a baseline compared with
 * itself has not). */
bool figure_shows(const struct figure *f, size_t series, size_t metric);
/* A number as people want it: digits as needed, a sign for gains; "-" for NaN. */
const char *figure_number(const struct exp_metric *m, double v, char buf[32]);
/* Field of a CSV line, quoted where it must be. */
void csv_field(struct strbuf *out, const char *s);

#endif
