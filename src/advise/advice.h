/* advice.h: allot advise: what limits a kernel, what would help, what that gains and costs.
 *
 * The original is simulated; candidates (candidates.def) that cannot help are pruned by what its
 * counters say; the others are simulated, those with most to gain first, then the best of them two
 * at a time. */
#ifndef ALLOT_ADVISE_ADVICE_H
#define ALLOT_ADVISE_ADVICE_H

#include "advise/trial.h"

#include <jansson.h>
#include <stdio.h>

/* Who asks. */
struct advice_of {
    struct subject *subject; /* its launch read against mod */
    struct allot_module *mod;
    const struct allot_machine *machine;
    const char *machine_name;
    struct allot_options options; /* of the run of the original */
    unsigned jobs;                /* simulations at a time */
    double budget;                /* seconds; 0: none */
    bool exhaustive;              /* prune nothing, stop no run early, no pairs */
    bool (*stopped)(void);        /* by the user */
    void (*progress)(size_t done, size_t n, const char *last);
    struct arena *mem;
};

/* A line that loses issue slots. */
struct advice_line {
    char text[120];
    double lost;    /* of the kernel's issue slots */
    const char *to; /* the cause that loses most of them, in words of --why */
};
enum { ADVICE_LINES = 3 };

struct advice_kernel {
    struct facts facts;
    struct advice_line line[ADVICE_LINES]; /* "": there is none */
};

/* A candidate and its trial. */
struct advice_row {
    struct candidate candidate;
    struct trial trial;
};

/* What is recommended of a group; NULL: nothing. */
struct advice_best {
    const struct advice_row *time;   /* of what gains speed */
    const struct advice_row *energy; /* of what saves energy and costs no speed */
};

struct advice {
    struct advice_of of;
    struct trial original;
    struct advice_kernel *kernel;
    size_t nkernel;
    struct advice_row *row;
    size_t nrow;
    struct advice_best best[ADVISE_GROUPS];
    double seconds; /* of the host, all of it */
    bool cut;       /* by the budget or the user */
    bool refused;
};

/* The least that is worth a word: of speed, of energy, in %. */
#define ADVICE_LEAST 1.0
/* A candidate that takes more than this of the original's cycles is stopped. */
#define ADVICE_SLOWER 1.10

/* False and diagnostics: the original did not run, or its result is wrong (why, if it is not
 * ""). advice_free is due in any case. */
bool advice_make(const struct advice_of *of, struct advice *a, char why[256],
                 struct allot_diag *d);
void advice_free(struct advice *a);
/* The original was refused before its first launch, and why says so: wrong usage. */
bool advice_refused(const struct advice *a);

/* In % of speed, by cycles, and of energy that is saved, over the original. */
double advice_gain(const struct advice *a, const struct trial *t);
double advice_saving(const struct advice *a, const struct trial *t);
/* Which trials of these rows are best: never one that did not end with right results, gains or
 * saves less than ADVICE_LEAST, or is a pair that is not better by that than each of both. */
struct advice_best advice_choose(const struct advice *a, enum advise_group g);

/* -- advice_report.c, advice_ptx.c -- */

/* About ten lines. again: words of a command that simulates the original, to which settings are
 * added; output: the file that has the PTX, NULL: none. */
void advice_text(FILE *f, const struct advice *a, const char *again, const char *output);
json_t *advice_json(const struct advice *a);
/* The tables of what can limit a kernel and of what is tried, as Markdown. */
void advice_list(FILE *f);

/* The PTX of the winner of what works on the card, malloc'd, from a fresh module: its passes, and
 * .maxnreg where one of them relies on a register limit. The module is changed. NULL and a
 * diagnostic. */
char *advice_ptx(const struct advice *a, struct allot_module *fresh,
                 struct allot_diag *d);

#endif
