/* data.c: data folders relative to the file that this code is in, so that an installation
 * may be moved. dladdr names a shared object; of the program itself it gives argv[0], so
 * /proc/self/exe is read in its place, or where there is no /proc what was executed. */
#define _GNU_SOURCE /* dladdr1 */
#include "base/data.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef DATA_INSTALLED
#define DATA_INSTALLED "/usr/local/share/allot"
#endif
#ifndef DATA_SOURCE
#define DATA_SOURCE "."
#endif

enum { MAX_ROOTS = 4, MAX_LEVELS = 4 };

/* The file that holds this function, its links resolved. */
static bool
own_file(char path[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((void *)(uintptr_t)own_file, &info, (void **)&map, RTLD_DL_LINKMAP) &&
        map && map->l_name && *map->l_name)
        return realpath(map->l_name, path) != NULL;
    const char *run = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    return realpath("/proc/self/exe", path) || (run && realpath(run, path));
}

/* share/allot beside the nearest folder above the file that has one: the file is
 * PREFIX/bin/allot, PREFIX/lib/liballot.so, PREFIX/lib/x86_64-linux-gnu/liballot.so or
 * PREFIX/lib/allot/cuda/liballot-cuda.so. */
static const char *
installed_root(struct arena *mem)
{
    char path[PATH_MAX];
    if (!own_file(path))
        return NULL;
    char *slash = strrchr(path, '/');
    for (int level = 0; slash && level <= MAX_LEVELS; level++) {
        *slash = 0;
        const char *root = arena_printf(mem, "%s/share/allot", path);
        if (!access(root, R_OK | X_OK))
            return root;
        slash = strrchr(path, '/');
    }
    return NULL;
}

const char *const *
data_roots(struct arena *mem)
{
    const char **roots = ARENA_ARRAY(mem, const char *, MAX_ROOTS + 1);
    const char *const places[MAX_ROOTS] = {getenv("ALLOT_DATA"), installed_root(mem),
                                           DATA_SOURCE, DATA_INSTALLED};
    size_t n = 0;
    for (size_t i = 0; i < MAX_ROOTS; i++)
        if (places[i] && *places[i])
            roots[n++] = places[i];
    roots[n] = NULL;
    return roots;
}

const char *
data_path(struct arena *mem, const char *relative)
{
    for (const char *const *root = data_roots(mem); *root; root++) {
        const char *path = arena_printf(mem, "%s/%s", *root, relative);
        if (!access(path, R_OK))
            return path;
    }
    return NULL;
}
