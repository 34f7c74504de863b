/* page_values.h: the numbers of a page of results, outside its blocks (page.h). Each comes out of
 * kept results, or is marked as one that does not:
 *
 *     gains +17.7<!--=000/fig14 [mean, shared-owf-opt]--> % of 14<!--fixed--> kernels
 *
 * Behind = stand a figure and a value (figure_value), which is written with as many decimals, and a
 * sign where there is one. Not numbers in this sense are names (Figure 2.13, section 5, fig14, 16 KB of a
 * code span, 000), headings, code, links, and columns of a table that are headed `reference`, `paper`,
 * `thesis` or `claim`. */
#ifndef ALLOT_REPORT_PAGE_VALUES_H
#define ALLOT_REPORT_PAGE_VALUES_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"

/* The value of a reference. False and a diagnostic at *where. */
typedef bool page_value(void *user, const char *figure, const char *text, double *value,
                        const struct diag_loc *where, struct diag_sink *diag);

struct page_section {
    const char *title; /* the heading's text */
    size_t open;       /* numbers that are neither references nor marked */
};

struct page_values {
    page_value *value;
    void *user;
    bool check;               /* a reference whose number is another is an error */
    size_t references, stale; /* of these: whose number was another */
    struct {
        struct page_section *v;
        size_t n, cap;
    } sections;
    struct arena mem;
};

/* The page with the numbers that its references have now. False: a reference is wrong; diagnostics
 * with line numbers. path: for messages. */
bool page_values_fill(const char *path, const char *text, struct page_values *p,
                      struct strbuf *out, struct diag_sink *diag);
void page_values_free(struct page_values *p);

#endif
