/* data.h: where the files lie that come with allot: machines/, papers/, workloads/. */
#ifndef ALLOT_BASE_DATA_H
#define ALLOT_BASE_DATA_H

#include "base/arena.h"

/* Folders laid out as the source tree, in the order they are searched, NULL-terminated:
 * $ALLOT_DATA, share/allot of the installation that this code was loaded from (a program,
 * liballot.so), the source tree, share/allot of the prefix that the build was configured
 * with. Not all of them need exist. */
const char *const *data_roots(struct arena *mem);

/* The first of them that has this file or folder ("papers/hw"), as a path; NULL: none. */
const char *data_path(struct arena *mem, const char *relative);

#endif
