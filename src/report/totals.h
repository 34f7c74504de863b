/* totals.h: what the kept results of a document come to: statements that hold, numbers within their
 * bound. */
#ifndef ALLOT_REPORT_TOTALS_H
#define ALLOT_REPORT_TOTALS_H

#include "base/diag.h"
#include "base/str.h"
#include "experiments/figure.h"

struct totals {
    size_t figures, without; /* with kept results; without */
    struct statements say;
    /* Numbers of the document with ours beside them, and those within their bound (struct verdict):
     * what runs measured; what machines and kernels are made to be (sizes, blocks, threads). */
    size_t measured, measured_within, given, given_within;
};

/* Of the figures of a document, "000". False and diagnostics. */
bool totals_of(const char *document, struct totals *t, struct diag_sink *diag);
/* A table of a document's figures, or with document "" one of the documents 000 to 004. */
bool totals_block(const char *document, struct strbuf *out, struct diag_sink *diag);
/* A word's value: held, statements, within, bounded, figures. False: there is none such. */
bool totals_value(const struct totals *t, const char *word, double *v);

#endif
