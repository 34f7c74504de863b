/* pipeline.h: names that stand for several passes (pipelines.def). */
#ifndef ALLOT_PASSES_PIPELINE_H
#define ALLOT_PASSES_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

/* A row of the table: the begin of a pipeline (its name and meaning), or its next step (a pass with
 * its settings or an earlier pipeline, and the reason). */
struct pipeline_row {
    bool begins;
    const char *text, *why;
};

/* Rows in the file's order; NULL: there are no more. */
const struct pipeline_row *pipeline_row(size_t i);

/* Whether the first n characters of `name` name a pipeline. */
bool pipeline_is(const char *name, size_t n);

/* A list of passes with each pipeline written out, down to passes. malloc'd. */
char *pipeline_expand(const char *list);

#endif
