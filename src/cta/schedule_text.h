/* schedule_text.h: schedules as text (docs/cta-scheduling.md). */
#ifndef ALLOT_CTA_SCHEDULE_TEXT_H
#define ALLOT_CTA_SCHEDULE_TEXT_H

#include "base/diag.h"
#include "timing/policy/schedule.h"

/* Most blocks of a schedule. */
#define CTA_MOST_BLOCKS (1u << 24)

/* What happens between steps by its word, of n bytes; false: it is none. */
bool cta_barriers_find(const char *text, size_t n, enum cta_barriers *out);

/* NULL and diagnostics with line and column if the text (of n bytes and a NUL) is no
 * complete schedule. Free with cta_schedule_free. */
struct cta_schedule *cta_schedule_parse(const char *file, const char *text, size_t n,
                                        struct diag_sink *diag);
/* The same of a file; "-": standard input. */
struct cta_schedule *cta_schedule_read(const char *path, struct diag_sink *diag);

/* Appends the text; reading it gives the same schedule. note: a comment, or NULL. */
void cta_schedule_print(const struct cta_schedule *s, const char *note,
                        struct strbuf *out);

#endif
