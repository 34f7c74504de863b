/* kit.h: files for fuzz targets of functions that take a path. They lie in memory where
 * there is /dev/shm, in a folder that is removed at the end. */
#ifndef FUZZ_KIT_H
#define FUZZ_KIT_H

#include "base/str.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_dir[64];

/* Removes every file in the folder, and the folder too at the end. */
static void
fuzz_clear(bool folder)
{
    DIR *d = opendir(fuzz_dir);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.') {
            char path[400];
            snprintf(path, sizeof path, "%s/%s", fuzz_dir, e->d_name);
            unlink(path);
            rmdir(path);
        }
    if (d)
        closedir(d);
    if (folder)
        rmdir(fuzz_dir);
}

static void
fuzz_end(void)
{
    fuzz_clear(true);
}

/* Path of file `name` in the folder, for the time being. */
static const char *
fuzz_path(const char *name)
{
    static char path[2][128];
    static int turn;
    if (!*fuzz_dir) {
        snprintf(fuzz_dir, sizeof fuzz_dir, "%s/allot-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        if (!mkdtemp(fuzz_dir))
            abort();
        atexit(fuzz_end);
    }
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", fuzz_dir, name);
    return path[turn];
}

/* Writes it. */
static inline const char *
fuzz_file(const char *name, const void *data, size_t size)
{
    const char *path = fuzz_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
    return path;
}

/* Files of the host must not matter; some never end. */
static inline bool
fuzz_names_host(const uint8_t *data, size_t size)
{
    return memmem(data, size, "/dev", 4) || memmem(data, size, "/proc", 5) ||
           memmem(data, size, "..", 2);
}

#endif
