/* figure_files.h: figures in files: CSV and charts in a folder, our values kept beside their
 * experiment, a page whose blocks are made from what is kept, several figures as one text. */
#ifndef ALLOT_REPORT_FIGURE_FILES_H
#define ALLOT_REPORT_FIGURE_FILES_H

#include "experiments/figure.h"
#include "report/chart.h"

/* A file of a figure: FOLDER/001-fig2.13[-METRIC].ENDING; `name` is an experiment's, or the
 * path of its file, of which only the stem counts. malloc'd. */
char *figure_files_path(const char *folder, const char *name, const char *metric,
                        const char *ending);
/* Values as CSV, and a chart of each metric ("svg", "pdf", "png" or "txt"; look:
 * chart.h). `wrote` gets the names, with commas between. False and a diagnostic. */
bool figure_files_write(const struct figure *f, const char *folder, const char *name,
                        const char *format, const struct chart_look *look,
                        struct strbuf *wrote, struct diag_sink *diag);

/* What is made of a figure beside its text. */
struct figure_files {
    const char *folder; /* for CSV and charts of this format; NULL: none */
    const char *format;
    struct chart_look look;
    bool markdown;    /* the text is */
    bool spaced;      /* others follow: a blank line behind the text */
    bool keep;        /* our values are kept beside the experiment */
    bool keep_small;  /* ... as those of its small version (figure_kept.h), not printed */
    bool check_small; /* they are held against what is kept so, not printed */
    const char *csv;  /* a file of the values; NULL: none */
};
/* Prints the figure of an experiment, whose name and file these are, and writes its files;
 * `wrote` gets a line for each lot of them. False and a diagnostic. */
bool figure_files_show(const struct experiment *e, struct store *s, const char *name,
                       const char *path, const struct figure_files *to, FILE *out,
                       struct strbuf *wrote, struct diag_sink *diag);

/* Where an experiment's values are kept: papers/001/results/fig2.13.csv of
 * papers/001/fig2.13.yaml, malloc'd. */
char *figure_files_kept(const char *experiment);
/* The same in another folder than `results`. */
char *figure_files_beside(const char *experiment, const char *folder);
/* Keeps a figure's values there, all of them or none; *path, malloc'd: where. False and a
 * diagnostic: runs are missing, or it cannot be written. */
bool figure_files_keep(const struct figure *f, const char *name, const char *experiment,
                       char **path, struct diag_sink *diag);

/* Blocks of a page (page.h) and its numbers (page_values.h) by the values kept beside their
 * experiments. */
struct figure_blocks {
    bool check;            /* one that is not so is an error */
    size_t stale, missing; /* blocks that are not what the results give; that have none */
    size_t numbers;        /* references whose number is not what the results give */
    size_t open; /* numbers more than unreferenced.tsv allows, and others than it says */
    /* Figures that were read for the page's numbers. */
    struct figure_known {
        struct figure_known *next;
        char *name;
        struct experiment *e;
        struct figure *f;
    } * known;
};
/* The page with its blocks filled; one without results stays as it is. False and diagnostics
 * if the page's blocks are no blocks. */
bool figure_files_fill(const char *page, const char *text, struct figure_blocks *b,
                       struct strbuf *out, struct diag_sink *diag);

/* The same of a file, which is written if a block or number was stale and `check` is not asked for.
 * Beside it may lie unreferenced.tsv: lines PAGE, SECTION, and how many numbers of the section are
 * still neither references nor marked as fixed; of other sections none may be so. With `check` a section
 * that has another number than the list says is an error; else the list is written where it shrinks. */
bool figure_files_page(const char *page, struct figure_blocks *b, struct diag_sink *diag);

/* Names and titles of the papers' figures; diagnostics of those that cannot be read. */
void figure_files_list(FILE *f, struct diag_sink *diag);
/* Figures one after another as Markdown, and as CSV with their names. */
bool figure_files_markdown(const struct figure *const *f, size_t n, struct strbuf *out,
                           struct diag_sink *diag);
void figure_files_csv(const struct figure *const *f, const char *const *names, size_t n,
                      struct strbuf *out);

#endif
