/* file.c: see file.h. A file is written beside its place and renamed into it. */
#include "base/file.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of text to fd. */
static bool
write_all(int fd, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t w = write(fd, text + at, n - at);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        at += (size_t)w;
    }
    return true;
}

/* Devices, pipes and links are written to, not replaced by a file of that name. */
static bool
replaceable(const char *path)
{
    struct stat st;
    return lstat(path, &st) || S_ISREG(st.st_mode);
}

/* The file under way, for file_abandon; one at a time in a process. */
static char *volatile unfinished;

void
file_abandon(void)
{
    if (unfinished)
        unlink(unfinished);
}

static bool
replace_file(const char *path, const char *text, size_t n)
{
    char *tmp = xmalloc(strlen(path) + 8);
    sprintf(tmp, "%s.XXXXXX", path);
    int fd = mkstemp(tmp);
    bool ok = fd >= 0;
    if (ok) {
        unfinished = tmp;
        mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
        ok = write_all(fd, text, n);
        ok = !close(fd) && ok && !rename(tmp, path);
        if (!ok) {
            int why = errno;
            unlink(tmp);
            errno = why;
        }
    }
    unfinished = NULL;
    free(tmp);
    return ok;
}

bool
file_write(const char *path, const char *text, size_t n)
{
    if (replaceable(path))
        return replace_file(path, text, n);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, text, n);
    if (fd >= 0)
        ok = !close(fd) && ok;
    return ok;
}

bool
file_put(const char *path, const char *text, size_t n, FILE *f, struct diag_sink *diag)
{
    if (!strcmp(path, "-"))
        return fwrite(text, 1, n, f) == n;
    return file_write(path, text, n) ||
           diag_error(diag, "cannot write %s: %s", path, strerror(errno));
}

bool
file_writable(const char *path)
{
    struct stat st;
    if (!stat(path, &st)) {
        if (S_ISDIR(st.st_mode)) {
            errno = EISDIR;
            return false;
        }
        if (!replaceable(path))
            return !access(path, W_OK);
    }
    if (!replaceable(path))
        return true;
    char *dir = xstrdup(path), *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = 0;
    bool ok = !access(slash ? dir : ".", W_OK | X_OK);
    free(dir);
    return ok;
}

bool
file_folder(const char *path)
{
    return !mkdir(path, 0777) || errno == EEXIST;
}
