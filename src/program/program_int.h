/* program_int.h: what the files of src/program share. */
#ifndef ALLOT_PROGRAM_PROGRAM_INT_H
#define ALLOT_PROGRAM_PROGRAM_INT_H

#include "program/program.h"

#include <limits.h>

/* The folder of the libraries in place of CUDA's: $ALLOT_CUDA_LIBRARIES, or beside the
 * command. False and `why` if there is none. */
bool program_libraries(char folder[PATH_MAX], struct strbuf *why);
/* The first file of that name in PATH that may be executed. */
bool program_in_path(const char *name, char path[PATH_MAX]);
/* Reads the program; false and `why` if it cannot be simulated. */
bool program_check(const char *path, const char *libraries, struct allot_program *p,
                   struct strbuf *why);

/* Sets this process' environment for the program: of the child, before it starts. */
void program_environment(const struct program_setup *s, const char *libraries,
                         const struct allot_program *p, const char *record);

/* Of no launch yet. all: they are kept. */
void program_result_init(struct program_result *r, bool all);
/* Adds what the record file says. */
void program_read_record(const char *path, struct program_result *r);

#endif
