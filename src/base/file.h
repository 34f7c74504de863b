/* file.h: files written so that no half of one is ever seen. */
#ifndef ALLOT_BASE_FILE_H
#define ALLOT_BASE_FILE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes text to path, all of it or nothing: a file there is replaced when the new one is
 * complete. Devices, pipes and links are written to as they stand. False and errno. */
bool file_write(const char *path, const char *text, size_t n);
/* The same with a diagnostic. "-" is f, whose errors are for whoever closes it. */
bool file_put(const char *path, const char *text, size_t n, FILE *f,
              struct diag_sink *diag);
/* Removes what file_write has not completed. For a signal handler, before it ends the
 * process. */
void file_abandon(void);
/* Whether path could be written, asked before long work. False and errno. */
bool file_writable(const char *path);
/* Makes the folder unless something of that name is there. False and errno. */
bool file_folder(const char *path);

#endif
