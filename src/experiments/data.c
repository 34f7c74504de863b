/* data.c: where the files lie that the command brings along (papers/, workloads/micro/):
 * $ALLOT_DATA, then the installed data folder, then the source tree. */
#include "experiments/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *
data_path(struct arena *mem, const char *relative)
{
    const char *const roots[] = {getenv("ALLOT_DATA"), DATA_INSTALLED, DATA_SOURCE};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (!roots[i] || !*roots[i])
            continue;
        size_t n = strlen(roots[i]) + strlen(relative) + 2;
        char *path = arena_alloc(mem, n);
        snprintf(path, n, "%s/%s", roots[i], relative);
        if (!access(path, R_OK))
            return path;
    }
    return NULL;
}
