/* page.h: a page of text with blocks that are made from results.
 *
 * A block stands between two lines of their own, which stay:
 *     <!-- paper 001/fig2.13a -->
 *     <!-- end -->                                                                        */
#ifndef ALLOT_REPORT_PAGE_H
#define ALLOT_REPORT_PAGE_H

#include "base/diag.h"
#include "base/str.h"

/* Text of the block `name`, whole lines; was: what stands there, n bytes. False and a diagnostic
 * at *where if there is none. */
typedef bool page_block(void *user, const char *name, const char *was, size_t n,
                        const struct diag_loc *where, struct strbuf *out,
                        struct diag_sink *diag);

/* The page with each of its blocks as `block` gives it. False and diagnostics with line numbers
 * if a block does not end, begins within another, or has no text. path: for messages. */
bool page_fill(const char *path, const char *text, page_block *block, void *user,
               struct strbuf *out, struct diag_sink *diag);

#endif
