/* claims.h: who does which run, among the processes of one host that fill one store.
 *
 * A claim is a lock on one byte of FILE.claims beside the store, at an offset that the
 * run's key gives. Locks belong to an open file description (fcntl(2), F_OFD_SETLK): the
 * kernel gives them up when their process and its children are gone, however they ended,
 * so no claim is ever stale. */
#ifndef ALLOT_EXPERIMENTS_CLAIMS_H
#define ALLOT_EXPERIMENTS_CLAIMS_H

#include "base/diag.h"

#include <stdbool.h>

/* The claims of one process; NULL where the file cannot be made or its file system has no
 * such locks, after a warning: every claim is then granted. */
struct claims;
struct claims *claims_open(const char *store_path, struct diag_sink *diag);
/* Gives all up; the last process that has the file open removes it. */
void claims_close(struct claims *c);

/* False: another process does this run now. */
bool claims_take(struct claims *c, const char *key);
void claims_give_up(struct claims *c, const char *key);

#endif
