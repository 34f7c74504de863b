/* find.c: which file a word names, where our libraries are, and whether the program can be
 * simulated. */
#include "program/program_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
program_libraries(char folder[PATH_MAX], struct strbuf *why)
{
    static const char *const places[] = {"cuda", "../lib/allot/cuda"};
    const char *given = getenv("ALLOT_CUDA_LIBRARIES");
    char self[PATH_MAX], probe[PATH_MAX + 32];
    if (given && *given) {
        snprintf(folder, PATH_MAX, "%s", given);
        return true;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int len = snprintf(folder, PATH_MAX, "%s/%s", self, places[i]);
        snprintf(probe, sizeof probe, "%s/liballot-cuda.so", folder);
        if (len < PATH_MAX && !access(probe, R_OK))
            return true;
    }
    strbuf_printf(why,
                  "the libraries in place of CUDA's are neither in %s/cuda nor in "
                  "%s/../lib/allot/cuda; set ALLOT_CUDA_LIBRARIES to their folder",
                  self, self);
    return false;
}

bool
program_in_path(const char *name, char path[PATH_MAX])
{
    const char *p = getenv("PATH");
    for (p = p ? p : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        struct stat st;
        snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name);
        if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

const char *
program_find(const char *word, const char *folder, struct arena *mem, struct strbuf *why)
{
    char path[PATH_MAX];
    const char *here = folder && *word != '/' ? arena_printf(mem, "%s/%s", folder, word)
                                              : arena_strdup(mem, word);
    struct stat st;
    bool executable = !access(here, X_OK);
    if (strchr(word, '/')) {
        if (executable && !stat(here, &st) && S_ISDIR(st.st_mode)) {
            executable = false;
            errno = EISDIR;
        }
        if (executable)
            return here;
        strbuf_printf(why, "cannot run %s: %s", here, strerror(errno));
        return NULL;
    }
    if (program_in_path(word, path))
        return arena_strdup(mem, path);
    strbuf_printf(why, "there is no program '%s' in PATH%s", word,
                  executable ? "; here there is: write ./ before it" : "");
    return NULL;
}

bool
program_check(const char *path, const char *libraries, struct allot_program *p,
              struct strbuf *why)
{
    struct strbuf lib = {0};
    struct allot_diag *d = allot_diag_new();
    bool ok = allot_program_read(path, p, d);
    if (!ok) {
        const char *text = allot_diag_text(d);
        size_t n = strlen(text);
        strbuf_printf(why, "%.*s", (int)(n && text[n - 1] == '\n' ? n - 1 : n), text);
    }
    allot_diag_free(d);
    if (!ok)
        return false;
    strbuf_printf(&lib, "%s/%s", libraries, p->runtime);
    bool missing = *p->runtime && access(lib.s, R_OK);
    strbuf_free(&lib);
    if (p->images && p->machine_only == p->images)
        strbuf_printf(
            why,
            "%s holds machine code only, no PTX to simulate\n"
            "  rebuild with PTX: nvcc -arch=compute_75 ..., or add\n"
            "  -gencode arch=compute_75,code=compute_75 to the others; with CMake\n"
            "  -DCMAKE_CUDA_ARCHITECTURES=75-virtual",
            path);
    else if (missing)
        strbuf_printf(why,
                      "%s is linked to %s; there are libraries in place of those\n"
                      "  of CUDA 11, 12 and 13: rebuild it with one of these",
                      path, p->runtime);
    else if (p->device_code && !*p->runtime && !p->driver && !p->static_runtime)
        strbuf_printf(
            why,
            "%s has the CUDA runtime linked statically and no symbol table\n"
            "  to find it by: do not strip it, or rebuild: nvcc -cudart shared ...;\n"
            "  with CMake set_property(TARGET ... PROPERTY CUDA_RUNTIME_LIBRARY Shared)",
            path);
    else
        return true;
    return false;
}
