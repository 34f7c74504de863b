/* lines_report.h: where a kernel's issue slots went, by line. */
#ifndef ALLOT_REPORT_LINES_REPORT_H
#define ALLOT_REPORT_LINES_REPORT_H

#include "base/str.h"

#include <jansson.h>
#include <stdio.h>

/* Launches with "name" and "lines" (allot_result_lines_text) by kernel: an object by name, each
 * an array of lines in the order of their place, launches added up. A line is an object with
 * the counters; ptx_file, ptx_line, ptx_text; file, line where .loc has them; opcodes. What
 * belongs to no instruction is a line without ptx_file. */
json_t *lines_report_kernels(const json_t *launches);

/* For each kernel a table of the lines of its source, where the PTX says which, and one of
 * those of the PTX: the lines with most slots. */
void lines_report_text(FILE *f, const json_t *kernels);

/* A file's format by how its name ends; NULL: unknown.
 *   .csv             a row a line of the PTX, every counter
 *   .json            the kernels
 *   .callgrind       for kcachegrind: a function a kernel, an event a cause
 *   .speedscope.json for speedscope.app: kernel, source line, PTX line */
typedef void lines_report_writer(const json_t *kernels, struct strbuf *out);
lines_report_writer *lines_report_format(const char *path);

#endif
