/* store.h: the results, in SQLite: one row a run, one row a kernel launch with every
 * counter.
 *
 * Records arrive as JSON (run.h makes them). A process that simulates writes its record
 * into the spool folder beside the database, whole or not at all; whoever has the store
 * open takes records from there into it. So a kill at any moment loses nothing that was
 * finished, and writers on other machines need no access to the database.
 *
 * The database is in WAL mode (several writers; not on a network file system), its schema
 * has a version (PRAGMA user_version) and is brought up to date when it is opened.
 * Columns of launches are the counters of stats.def: a new counter becomes a new column.
 */
#ifndef ALLOT_EXPERIMENTS_STORE_H
#define ALLOT_EXPERIMENTS_STORE_H

#include "base/diag.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct store; /* one connection; for one thread, not to be used after a fork */

/* STORE_READ: the database must exist; where it or its folder cannot be written it is
 * read as it stands (its schema may then be an older one: columns are missing).
 * STORE_WRITE: it is made where it is missing, with its folder. `path` NULL: $ALLOT_DB,
 * else $XDG_DATA_HOME/allot/results.db, else ~/.local/share/allot/results.db.
 *
 * A database that turns out to be damaged while it is asked adds its error to `diag`,
 * which must live as long as the store, and answers as if it were empty from there on:
 * whoever asks looks at store_good before using the answers. */
enum store_mode { STORE_READ, STORE_WRITE };
struct store *store_open(const char *path, enum store_mode mode, struct diag_sink *diag);
/* The same to read (STORE_READ), with all that writers have left in its spool folder. */
struct store *store_open_current(const char *path, struct diag_sink *diag);
void store_close(struct store *s);
/* No question has failed so far. */
bool store_good(const struct store *s);
/* Whether runs could be stored at `path` (as store_open's), asked before long work:
 * nothing is made. */
bool store_check(const char *path, struct diag_sink *diag);
const char *store_path(const struct store *s);
/* Folder for records on their way; made when it is asked for. NULL after saying why. */
const char *store_spool(struct store *s, struct diag_sink *diag);

/* One record. A record whose token is known already changes nothing. */
bool store_add(struct store *s, const json_t *record, struct diag_sink *diag);
/* Takes every record in the folder into the store; *n (may be NULL): how many. A store
 * that cannot be written leaves them where they are. What writers left half-written when
 * they were killed is removed. */
bool store_collect(struct store *s, const char *folder, size_t *n,
                   struct diag_sink *diag);

enum store_state { STORE_NONE, STORE_DONE, STORE_FAILED };
/* What is known of a key: the newest success, else the newest failure, *id (may be NULL)
 * its run. */
enum store_state store_find(struct store *s, const char *key, int64_t *id);

/* Id of the run that was stored last, 0: none. */
int64_t store_newest(struct store *s);

/* Id of the run that came from the record with this token, 0: not there. */
int64_t store_token(struct store *s, const char *token);

/* A run with its launches as the record it came from, with "id"; NULL: there is none. */
json_t *store_run(struct store *s, int64_t id);
/* The same of a run as people name it: its number, or at least four characters that its key
 * begins with (of several the first). */
json_t *store_run_named(struct store *s, const char *name);
/* The whole machine of runs with this machine_hash, as run_machine made it; NULL: not
 * known (stored by an allot that did not keep it). */
json_t *store_machine(struct store *s, const char *hash);
/* Ids of the runs, oldest first, that match: NULL is anything; SQL's LIKE patterns.
 * `newest`: of runs with the same key only the newest success. malloc'd. */
struct store_filter {
    const char *workload, *machine, *state;
    bool newest;
};
int64_t *store_list(struct store *s, const struct store_filter *f, size_t *n);

/* Writes a record into the spool folder so that it is there whole or not at all. */
bool store_spool_write(const char *folder, const json_t *record);

#endif
