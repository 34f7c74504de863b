/* timeline_report.c: see timeline_report.h. */
#include "report/timeline_report.h"

#include <stdlib.h>

void
timeline_report_csv(const struct allot_device *dev, bool sms, struct strbuf *out)
{
    char *text = allot_timeline_head(sms);
    strbuf_addz(out, text);
    free(text);
    for (size_t i = 0; i < allot_results(dev); i++) {
        text = allot_timeline_text(allot_result_at(dev, i), i + 1, sms);
        strbuf_addz(out, text);
        free(text);
    }
}
