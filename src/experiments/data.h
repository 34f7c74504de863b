/* data.h: the files that allot brings along: papers/, workloads/micro/. */
#ifndef ALLOT_EXPERIMENTS_DATA_H
#define ALLOT_EXPERIMENTS_DATA_H

#include "base/arena.h"

/* Path of a file or folder of that name, in mem; NULL: it is not there. */
const char *data_path(struct arena *mem, const char *relative);

#endif
