/* figure_set.h: several figures of a store as one page, one Markdown text, one CSV file. */
#ifndef ALLOT_REPORT_FIGURE_SET_H
#define ALLOT_REPORT_FIGURE_SET_H

#include "base/arena.h"
#include "base/vec.h"
#include "experiments/figure.h"

/* All its own; zeroed to begin with. */
struct figure_set {
    struct arena mem;
    VEC(struct experiment *) experiments; /* of each figure */
    VEC(struct figure *) figures;
    VEC(const char *) names;
    size_t left_out; /* experiments that cannot be read or cannot run here */
};

/* Adds the figures of these experiments (names or files; quick: on small inputs), or with n 0
 * those under papers/ that have a value. An experiment that cannot be read or cannot run here is left
 * out, with a warning of one line. False and a diagnostic: the store cannot be read, or cancelled. */
bool figure_set_read(struct figure_set *x, struct store *s, const char *const *names,
                     size_t n, bool quick, struct diag_sink *diag);

/* Where they are to go; NULL: nowhere. */
struct figure_set_files {
    const char *html;           /* a folder, made if it is missing, for its index.html */
    const char *markdown, *csv; /* files, "-": f */
};
/* `wrote` gets the page's name and how many figures it has. False and a diagnostic. */
bool figure_set_write(const struct figure_set *x, struct store *s,
                      const struct figure_set_files *to, FILE *f, struct strbuf *wrote,
                      struct diag_sink *diag);
void figure_set_free(struct figure_set *x);

#endif
