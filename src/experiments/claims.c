/* claims.c: byte locks behind claims.h. */
#define _GNU_SOURCE
#include "experiments/claims.h"

#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct claims {
    int fd;
    char *path;
};

/* Byte 0 is shared by all that use the file; keys are behind it. */
enum { IN_USE = 0 };

static off_t
place(const char *key)
{
    struct hash h = hash_start();
    hash_text(&h, key);
    return (off_t)((uint64_t)(h.v >> 64) >> 2) + 1;
}

static int
lock(int fd, short type, off_t at)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l);
}

struct claims *
claims_open(const char *store_path, struct diag_sink *diag)
{
    struct claims *c = xcalloc(1, sizeof *c);
    struct strbuf b = {0};
    strbuf_printf(&b, "%s.claims", store_path);
    c->path = strbuf_take(&b);
    for (int tries = 0; tries < 1000; tries++) {
        c->fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (c->fd < 0)
            break;
        if (!lock(c->fd, F_RDLCK, IN_USE)) {
            if (file_is(c->fd, c->path)) /* not removed since (claims_close) */
                return c;
        } else if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            break;
        close(c->fd); /* it is being removed */
        c->fd = -1;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    diag_add(diag, DIAG_WARNING, NULL,
             "cannot lock %s (%s): another sweep on this store at the same time may do "
             "the same runs again",
             c->path, strerror(errno));
    if (c->fd >= 0)
        close(c->fd);
    free(c->path);
    free(c);
    return NULL;
}

void
claims_close(struct claims *c)
{
    if (!c)
        return;
    if (!lock(c->fd, F_WRLCK, IN_USE) && file_is(c->fd, c->path))
        unlink(c->path);
    close(c->fd);
    free(c->path);
    free(c);
}

bool
claims_take(struct claims *c, const char *key)
{
    return !c || !lock(c->fd, F_WRLCK, place(key)) ||
           (errno != EAGAIN && errno != EACCES);
}

void
claims_give_up(struct claims *c, const char *key)
{
    if (c)
        lock(c->fd, F_UNLCK, place(key));
}
