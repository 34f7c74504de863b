/* program_report.h: what a CUDA program launched (program.h), as table, JSON and CSV. */
#ifndef ALLOT_REPORT_PROGRAM_REPORT_H
#define ALLOT_REPORT_PROGRAM_REPORT_H

#include "base/diag.h"
#include "program/program.h"

#include <stdio.h>

/* What is told of a program beside how it ended. */
struct program_show {
    const char *json, *csv; /* files ("-": standard output); NULL: none */
    bool table, why;        /* why: issue slots by what kept them from issuing */
    bool functional;        /* without what only the cycle model knows */
};
/* Files, then on f the table, issue slots, and program_report_end. options: taken over. False
 * and diagnostics; also where the program overlooked a failure. */
bool program_report(FILE *f, const char *program, const struct program_result *r,
                    const struct allot_machine *m, json_t *options,
                    const struct program_show *show, struct diag_sink *diag);
/* A row a kernel, below a line that names the program and the machine. */
void program_report_table(FILE *f, const char *program, const struct program_result *r,
                          const struct allot_machine *m, bool functional);
/* How the program ended, where that was not by itself, and in which kernel. And which
 * launches failed; without `all` only those that the program took no notice of. */
void program_report_end(FILE *f, const char *program, const struct program_result *r,
                        bool all);
/* A program that ended without a kernel may have found the GPU too old: says so where its PTX
 * is for a later one than the machine, and what to do. */
void program_report_capability(FILE *f, const struct program_result *r,
                               const struct allot_machine *m);
/* Every launch with every counter (r->all). options: taken over. */
json_t *program_report_json(const char *program, const struct program_result *r,
                            const struct allot_machine *m, json_t *options);
/* A line a launch, columns as of allot run --csv. */
void program_report_csv(const char *program, const struct program_result *r,
                        const struct allot_machine *m, struct strbuf *b);

#endif
