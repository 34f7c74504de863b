/* line_diff.h: the lines in which two texts differ. */
#ifndef ALLOT_REPORT_LINE_DIFF_H
#define ALLOT_REPORT_LINE_DIFF_H

#include "base/str.h"

/* Appends the lines that only `before` ("-") or only `after` ("+") has, with up to `context` equal
 * lines (" ") around them; "..." stands for the lines between. Nothing where the texts are equal.
 * Returns the number of lines with a sign. */
size_t line_diff(const char *before, const char *after, size_t context,
                 struct strbuf *out);

#endif
