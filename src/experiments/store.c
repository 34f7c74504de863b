/* store.c: SQLite behind store.h. */
#include "experiments/store.h"

#include "base/number.h"
#include "base/vec.h"
#include "stats/stats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 60000 };

struct store {
    sqlite3 *db;
    char *path, *spool;
    struct diag_sink *diag;
    bool read_only, broken;
    int version; /* of the schema as it stands */
};

/* -- schema: step i brings a database from version i to i + 1 -- */

static const char *const steps[] = {
    /* 0 -> 1 */
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE,"
    " key TEXT NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL,"
    " workload TEXT NOT NULL, machine TEXT NOT NULL, machine_hash TEXT NOT NULL,"
    " settings TEXT NOT NULL, passes TEXT NOT NULL, compiler TEXT NOT NULL,"
    " ptx_hash TEXT NOT NULL, seed INTEGER NOT NULL, quick INTEGER NOT NULL,"
    " max_cycles INTEGER NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL,"
    " started TEXT NOT NULL, seconds REAL NOT NULL);"
    "CREATE INDEX runs_key ON runs (key);"
    "CREATE TABLE launches (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " number INTEGER NOT NULL, kernel TEXT NOT NULL, host_seconds REAL NOT NULL,"
    " PRIMARY KEY (run, number)) WITHOUT ROWID;",
    /* 1 -> 2: parameters of workloads */
    "ALTER TABLE runs ADD COLUMN params TEXT NOT NULL DEFAULT '';",
    /* 2 -> 3: PTX of a launch, where a run has several modules; '': the run's */
    "ALTER TABLE launches ADD COLUMN ptx_hash TEXT NOT NULL DEFAULT '';",
    /* 3 -> 4: the whole machine, once for all runs on it: an object of settings as JSON
     */
    "CREATE TABLE machines (hash TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID;",
};
enum { VERSION = sizeof steps / sizeof *steps, MACHINES_SINCE = 4 };

/* Text columns of runs, as the record calls them. */
static const char *const texts[] = {
    "token",  "key",      "state",    "message", "workload", "machine", "machine_hash",
    "passes", "compiler", "ptx_hash", "version", "host",     "started"};
static const char *const lists[] = {"settings", "params"}; /* lines in the database */
static const char *const numbers[] = {"seed", "max_cycles"};
enum { NTEXTS = 13, NLISTS = 2, NNUMBERS = 2 };

static bool
fail(struct store *s, struct diag_sink *diag, const char *what)
{
    return diag_error(diag, "results %s: %s: %s", s->path, what, sqlite3_errmsg(s->db));
}

/* What a damaged file answers, and what to do about it. */
static void
broken(struct store *s)
{
    if (!s->broken) {
        struct diag *d =
            diag_add(s->diag, DIAG_ERROR, NULL, "results %s: cannot be read: %s", s->path,
                     sqlite3_errmsg(s->db));
        diag_hint(
            s->diag, d,
            "nothing was changed; keep a copy, then try: sqlite3 %s .recover | sqlite3 "
            "repaired.db",
            s->path);
    }
    s->broken = true;
}

/* A question; NULL after saying that the store is damaged. */
static sqlite3_stmt *
ask(struct store *s, const char *sql)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        broken(s);
    return q;
}

/* The answer has another row. Only SQLITE_DONE is its end: everything else is an error.
 */
static bool
next_row(struct store *s, sqlite3_stmt *q)
{
    int r = sqlite3_step(q);
    if (r != SQLITE_ROW && r != SQLITE_DONE)
        broken(s);
    return r == SQLITE_ROW;
}

static bool
run_sql(struct store *s, const char *sql, struct diag_sink *diag)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return fail(s, diag, "cannot be changed");
}

static int
user_version(struct store *s)
{
    sqlite3_stmt *q = ask(s, "PRAGMA user_version");
    int v = q && next_row(s, q) ? sqlite3_column_int(q, 0) : -1;
    sqlite3_finalize(q);
    return v;
}

/* A column for every counter that has none yet. */
static bool
add_columns(struct store *s, struct diag_sink *diag)
{
    sqlite3_stmt *q = ask(s, "SELECT name FROM pragma_table_info('launches')");
    uint64_t have[(STAT_COUNTERS + 63) / 64] = {0};
    struct allot_stat_info info;
    while (q && next_row(s, q)) {
        int i = stats_find((const char *)sqlite3_column_text(q, 0));
        if (i >= 0 && i < STAT_COUNTERS)
            have[i / 64] |= (uint64_t)1 << (i % 64);
    }
    sqlite3_finalize(q);
    bool ok = !s->broken;
    for (size_t i = 0; ok && i < STAT_COUNTERS && stats_info(i, &info); i++)
        if (!(have[i / 64] >> (i % 64) & 1)) {
            char sql[160];
            snprintf(sql, sizeof sql, "ALTER TABLE launches ADD COLUMN \"%s\" INTEGER",
                     info.id);
            ok = run_sql(s, sql, diag);
        }
    return ok;
}

/* Whether this allot can read that schema. A question that failed has been told. */
static bool
known(struct store *s, int version, struct diag_sink *diag)
{
    if (s->broken)
        return false;
    if (version < 0)
        return diag_error(diag, "results %s: schema %d: not written by allot", s->path,
                          version);
    return version <= VERSION ||
           diag_error(diag,
                      "results %s: written by a newer allot (schema %d, this one knows "
                      "%d): use that one, or another file (--db)",
                      s->path, version, VERSION);
}

/* Whether something must be done is asked without a lock, then again with it. */
static bool
bring_up_to_date(struct store *s, struct diag_sink *diag)
{
    if (!run_sql(s, "BEGIN IMMEDIATE", diag))
        return false;
    int v = user_version(s);
    bool ok = known(s, v, diag);
    for (; ok && v < VERSION; v++)
        ok = run_sql(s, steps[v], diag);
    ok = ok && add_columns(s, diag);
    if (ok) {
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d; COMMIT", VERSION);
        ok = run_sql(s, sql, diag);
    }
    if (!ok)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

/* -- opening -- */

static char *
default_path(void)
{
    struct strbuf b = {0};
    const char *db = getenv("ALLOT_DB"), *data = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    if (db && *db)
        strbuf_addz(&b, db);
    else if (data && *data)
        strbuf_printf(&b, "%s/allot/results.db", data);
    else
        strbuf_printf(&b, "%s/.local/share/allot/results.db", home && *home ? home : ".");
    return strbuf_take(&b);
}

static void
make_folders(const char *path)
{
    char *copy = xstrdup(path);
    for (char *p = copy + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(copy, 0777);
            *p = '/';
        }
    free(copy);
}

/* Write-ahead logging, so that readers and a writer do not wait for each other. SQLite
 * does not wait to switch a new database to it while another process does the same. */
static bool
log_ahead(struct store *s, struct diag_sink *diag)
{
    enum { STEP_MS = 5 };
    for (int ms = 0; ms < BUSY_MS; ms += STEP_MS) {
        int r = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (r == SQLITE_OK)
            return true;
        if (r != SQLITE_BUSY)
            break;
        sqlite3_sleep(STEP_MS);
    }
    return fail(s, diag, "cannot be changed");
}

/* Anyone may have written the store (docs/security.md): its views and triggers call no
 * function with side effects, and cells are checked as they are read. */
#define UNTRUSTED "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"

/* As URI of a database that nobody changes: SQLite then needs no file beside it. */
static char *
immutable(const char *path)
{
    struct strbuf b = {0};
    strbuf_addz(&b, "file:");
    for (; *path; path++)
        strbuf_printf(&b, strchr("%?#", *path) ? "%%%02x" : "%c", *path);
    strbuf_addz(&b, "?immutable=1");
    return strbuf_take(&b);
}

/* Records wait in the write-ahead log: the database alone would not be all of it. */
static bool
has_log(const char *path)
{
    struct strbuf b = {0};
    struct stat st;
    strbuf_printf(&b, "%s-wal", path);
    bool has = !stat(b.s, &st) && st.st_size > 0;
    strbuf_free(&b);
    return has;
}

/* A write-protected file, or one in a write-protected folder, where SQLite cannot put the
 * files that it reads a write-ahead log by. */
static bool
open_read_only(struct store *s, struct diag_sink *diag)
{
    s->read_only = true;
    sqlite3_close(s->db);
    s->db = NULL;
    if (has_log(s->path))
        return diag_error(
            diag,
            "results %s: cannot be read where nothing can be written: its log "
            "%s-wal must be taken in first; copy both to a folder of yours",
            s->path, s->path);
    char *uri = immutable(s->path);
    bool ok = sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                              NULL) == SQLITE_OK;
    free(uri);
    return ok ? run_sql(s, UNTRUSTED, diag) : fail(s, diag, "cannot be opened");
}

static bool
writable(const char *path)
{
    char *folder = xstrdup(path), *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    bool ok = !access(path, W_OK) && !access(slash ? folder : ".", W_OK);
    free(folder);
    return ok;
}

static bool
open_file(struct store *s, enum store_mode mode, struct diag_sink *diag)
{
    if (mode == STORE_READ && access(s->path, F_OK))
        return diag_error(
            diag,
            "results %s: %s; name the store with --db or ALLOT_DB (it is made "
            "by a run that is stored)",
            s->path, strerror(errno));
    if (mode == STORE_READ && !writable(s->path)) {
        if (!open_read_only(s, diag))
            return false;
        s->version = user_version(s);
        return known(s, s->version, diag);
    }
    int create = mode == STORE_WRITE ? SQLITE_OPEN_CREATE : 0;
    if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | create, NULL) !=
        SQLITE_OK)
        return fail(s, diag, "cannot be opened");
    sqlite3_busy_timeout(s->db, BUSY_MS);
    s->version = VERSION;
    return log_ahead(s, diag) &&
           run_sql(s, UNTRUSTED "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON",
                   diag) &&
           bring_up_to_date(s, diag);
}

struct store *
store_open(const char *path, enum store_mode mode, struct diag_sink *diag)
{
    struct store *s = xcalloc(1, sizeof *s);
    s->path = path ? xstrdup(path) : default_path();
    s->diag = diag;
    if (!path && mode == STORE_WRITE)
        make_folders(s->path);
    if (open_file(s, mode, diag))
        return s;
    store_close(s);
    return NULL;
}

bool
store_good(const struct store *s)
{
    return !s->broken;
}

bool
store_check(const char *path, struct diag_sink *diag)
{
    char *name = path ? xstrdup(path) : default_path();
    bool ok = true;
    if (!access(name, F_OK)) {
        struct store *s = store_open(name, STORE_WRITE, diag);
        ok = s;
        store_close(s);
    } else if (path) { /* the default's folders are made when it is */
        char *folder = xstrdup(name), *slash = strrchr(folder, '/');
        if (slash)
            slash[slash == folder] = 0;
        if (access(slash ? folder : ".", W_OK))
            ok =
                diag_error(diag, "results %s: cannot be made: %s", name, strerror(errno));
        free(folder);
    }
    free(name);
    return ok;
}

void
store_close(struct store *s)
{
    if (!s)
        return;
    sqlite3_close(s->db);
    if (s->spool)
        rmdir(s->spool); /* stays if records are in it */
    free(s->spool);
    free(s->path);
    free(s);
}

const char *
store_path(const struct store *s)
{
    return s->path;
}

const char *
store_spool(struct store *s, struct diag_sink *diag)
{
    if (!s->spool) {
        struct strbuf b = {0};
        strbuf_printf(&b, "%s.spool", s->path);
        s->spool = strbuf_take(&b);
    }
    if (s->read_only || !mkdir(s->spool, 0777) || errno == EEXIST)
        return s->spool;
    diag_error(diag, "cannot make the folder %s: %s", s->spool, strerror(errno));
    return NULL;
}

/* -- adding -- */

static void
bind_text(sqlite3_stmt *q, int i, const char *s)
{
    sqlite3_bind_text(q, i, s ? s : "", -1, SQLITE_TRANSIENT);
}

static void
bind_list(sqlite3_stmt *q, int i, const json_t *list)
{
    struct strbuf b = {0};
    for (size_t k = 0; k < json_array_size(list); k++)
        strbuf_printf(&b, "%s%s", k ? "\n" : "",
                      json_string_value(json_array_get(list, k)));
    bind_text(q, i, b.s);
    strbuf_free(&b);
}

static bool
add_run(struct store *s, const json_t *r, bool *known, struct diag_sink *diag)
{
    struct strbuf sql = {0};
    sqlite3_stmt *q = NULL;
    int n = 0;
    strbuf_addz(&sql, "INSERT OR IGNORE INTO runs (quick, seconds");
    for (int i = 0; i < NTEXTS; i++)
        strbuf_printf(&sql, ", %s", texts[i]);
    for (int i = 0; i < NLISTS; i++)
        strbuf_printf(&sql, ", %s", lists[i]);
    for (int i = 0; i < NNUMBERS; i++)
        strbuf_printf(&sql, ", %s", numbers[i]);
    strbuf_addz(&sql, ") VALUES (?, ?");
    for (int i = 0; i < NTEXTS + NLISTS + NNUMBERS; i++)
        strbuf_addz(&sql, ", ?");
    strbuf_addz(&sql, ")");
    bool ok = sqlite3_prepare_v2(s->db, sql.s, -1, &q, NULL) == SQLITE_OK;
    strbuf_free(&sql);
    if (ok) {
        sqlite3_bind_int(q, ++n, json_is_true(json_object_get(r, "quick")));
        sqlite3_bind_double(q, ++n, json_number_value(json_object_get(r, "seconds")));
        for (int i = 0; i < NTEXTS; i++)
            bind_text(q, ++n, json_string_value(json_object_get(r, texts[i])));
        for (int i = 0; i < NLISTS; i++)
            bind_list(q, ++n, json_object_get(r, lists[i]));
        for (int i = 0; i < NNUMBERS; i++)
            sqlite3_bind_int64(q, ++n,
                               json_integer_value(json_object_get(r, numbers[i])));
        ok = sqlite3_step(q) == SQLITE_DONE;
        *known = ok && !sqlite3_changes(s->db);
    }
    sqlite3_finalize(q);
    return ok || fail(s, diag, "a run could not be stored");
}

static bool
add_launches(struct store *s, const json_t *r, struct diag_sink *diag)
{
    struct strbuf sql = {0};
    struct allot_stat_info info;
    sqlite3_stmt *q = NULL;
    sqlite3_int64 run = sqlite3_last_insert_rowid(s->db);
    strbuf_addz(&sql,
                "INSERT INTO launches (run, number, kernel, host_seconds, ptx_hash");
    for (size_t i = 0; i < STAT_COUNTERS && stats_info(i, &info); i++)
        strbuf_printf(&sql, ", \"%s\"", info.id);
    strbuf_addz(&sql, ") VALUES (?, ?, ?, ?, ?");
    for (size_t i = 0; i < STAT_COUNTERS; i++)
        strbuf_addz(&sql, ", ?");
    strbuf_addz(&sql, ")");
    bool ok = sqlite3_prepare_v2(s->db, sql.s, -1, &q, NULL) == SQLITE_OK;
    strbuf_free(&sql);
    size_t k;
    json_t *l;
    json_array_foreach(json_object_get(r, "launches"), k, l)
    {
        if (!ok)
            break;
        sqlite3_reset(q);
        sqlite3_clear_bindings(q);
        sqlite3_bind_int64(q, 1, run);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)k);
        bind_text(q, 3, json_string_value(json_object_get(l, "kernel")));
        sqlite3_bind_double(q, 4, json_number_value(json_object_get(l, "seconds")));
        bind_text(q, 5, json_string_value(json_object_get(l, "ptx_hash")));
        for (size_t i = 0; i < STAT_COUNTERS && stats_info(i, &info); i++) {
            const json_t *v = json_object_get(l, info.id);
            if (v)
                sqlite3_bind_int64(q, 6 + (int)i, json_integer_value(v));
        }
        ok = sqlite3_step(q) == SQLITE_DONE;
    }
    if (!ok)
        fail(s, diag, "a launch could not be stored");
    sqlite3_finalize(q);
    return ok;
}

static bool
add_machine(struct store *s, const json_t *r, struct diag_sink *diag)
{
    const json_t *settings = json_object_get(r, "machine_settings");
    if (!json_is_object(settings))
        return true;
    char *text = json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(15));
    sqlite3_stmt *q = NULL;
    bool ok =
        text && sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO machines VALUES (?, ?)",
                                   -1, &q, NULL) == SQLITE_OK;
    if (ok) {
        bind_text(q, 1, json_string_value(json_object_get(r, "machine_hash")));
        bind_text(q, 2, text);
        ok = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    free(text);
    return ok || fail(s, diag, "a machine could not be stored");
}

static bool
add_record(struct store *s, const json_t *r, struct diag_sink *diag)
{
    bool known = false;
    return add_run(s, r, &known, diag) &&
           (known || (add_launches(s, r, diag) && add_machine(s, r, diag)));
}

bool
store_add(struct store *s, const json_t *record, struct diag_sink *diag)
{
    if (!run_sql(s, "BEGIN IMMEDIATE", diag))
        return false;
    if (add_record(s, record, diag) && run_sql(s, "COMMIT", diag))
        return true;
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* -- the spool -- */

/* Locked, so that nobody takes it for left over (sweep_up). Another process may take the
 * folder away while it is empty (store_close), or the file before it is locked. */
static int
spool_create(const char *folder, const char *file)
{
    int fd = -1;
    for (int n = 0; fd < 0 && n < 100; n++) {
        fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0 && (errno != ENOENT || (mkdir(folder, 0777) && errno != EEXIST)))
            break;
        if (fd >= 0 && !flock(fd, LOCK_EX) && !file_is(fd, file)) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* Removes a half-written record if its writer is gone: its lock then is, too. */
static void
sweep_up(const char *file)
{
    int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (!flock(fd, LOCK_EX | LOCK_NB) && file_is(fd, file))
        unlink(file);
    close(fd);
}

bool
store_spool_write(const char *folder, const json_t *record)
{
    struct strbuf tmp = {0}, path = {0};
    const char *token = json_string_value(json_object_get(record, "token"));
    strbuf_printf(&path, "%s/%s.json", folder, token);
    strbuf_printf(&tmp, "%s.tmp", path.s);
    char *text = json_dumps(record, JSON_COMPACT);
    int fd = spool_create(folder, tmp.s);
    bool ok = text && fd >= 0;
    size_t n = text ? strlen(text) : 0;
    for (size_t at = 0; ok && at < n;) {
        ssize_t w = write(fd, text + at, n - at);
        if (w < 0 && errno == EINTR)
            continue;
        ok = w > 0;
        at += ok ? (size_t)w : 0;
    }
    ok = ok && !fsync(fd) && !rename(tmp.s, path.s); /* while it is locked */
    if (!ok)
        unlink(tmp.s);
    if (fd >= 0)
        close(fd);
    free(text);
    strbuf_free(&tmp);
    strbuf_free(&path);
    return ok;
}

static bool
ends_in(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n > k && !strcmp(s + n - k, tail);
}

/* Files are removed only after their records are committed; a crash between the two
 * leaves records whose tokens are known. */
bool
store_collect(struct store *s, const char *folder, size_t *count, struct diag_sink *diag)
{
    VEC(char *) files = {0};
    if (count)
        *count = 0;
    if (s->read_only)
        return true;
    DIR *d = opendir(folder);
    struct dirent *e;
    size_t n = 0;
    while (d && (e = readdir(d))) {
        bool record = ends_in(e->d_name, ".json");
        if (!record && !ends_in(e->d_name, ".json.tmp"))
            continue;
        struct strbuf b = {0};
        strbuf_printf(&b, "%s/%s", folder, e->d_name);
        if (record)
            *vec_push(&files) = strbuf_take(&b);
        else
            sweep_up(b.s);
        strbuf_free(&b);
    }
    if (d)
        closedir(d);
    bool ok = !files.n || run_sql(s, "BEGIN IMMEDIATE", diag);
    for (size_t i = 0; ok && i < files.n; i++) {
        json_error_t why;
        json_t *r = json_load_file(files.v[i], 0, &why);
        if (r) { /* else another process has just taken it */
            ok = add_record(s, r, diag);
            n++;
        } else if (!access(files.v[i], F_OK)) {
            char *aside = xmalloc(strlen(files.v[i]) + 5);
            sprintf(aside, "%s.bad", files.v[i]);
            rename(files.v[i], aside);
            ok = diag_error(diag, "no record of a run: %s (line %d): put aside as %s",
                            why.text, why.line, aside);
            free(aside);
        }
        json_decref(r);
    }
    if (files.n) {
        ok = ok && run_sql(s, "COMMIT", diag);
        if (!ok)
            sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
    for (size_t i = 0; i < files.n; i++) {
        if (ok)
            unlink(files.v[i]);
        free(files.v[i]);
    }
    vec_free(&files);
    if (count)
        *count = ok ? n : 0;
    return ok;
}

/* -- asking -- */

enum store_state
store_find(struct store *s, const char *key, int64_t *id)
{
    enum store_state state = STORE_NONE;
    sqlite3_stmt *q = ask(s, "SELECT id, state = 'done' FROM runs WHERE key = ?"
                             " ORDER BY state = 'done' DESC, id DESC LIMIT 1");
    bind_text(q, 1, key);
    if (q && next_row(s, q)) {
        if (id)
            *id = sqlite3_column_int64(q, 0);
        state = sqlite3_column_int(q, 1) ? STORE_DONE : STORE_FAILED;
    }
    sqlite3_finalize(q);
    return state;
}

int64_t
store_newest(struct store *s)
{
    sqlite3_stmt *q = ask(s, "SELECT max(id) FROM runs");
    int64_t id = q && next_row(s, q) ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return id;
}

int64_t
store_token(struct store *s, const char *token)
{
    sqlite3_stmt *q = ask(s, "SELECT id FROM runs WHERE token = ?");
    bind_text(q, 1, token);
    int64_t id = q && next_row(s, q) ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return id;
}

static json_t *
column_list(sqlite3_stmt *q, int i)
{
    json_t *a = json_array();
    const char *text = (const char *)sqlite3_column_text(q, i);
    char *copy = xstrdup(text ? text : ""), *save;
    for (char *p = strtok_r(copy, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
        json_array_append_new(a, json_string(p));
    free(copy);
    return a;
}

/* The row as an object; counters that the row knows nothing of are left out. */
static json_t *
row(sqlite3_stmt *q)
{
    json_t *o = json_object();
    for (int i = 0; i < sqlite3_column_count(q); i++) {
        const char *name = sqlite3_column_name(q, i);
        switch (sqlite3_column_type(q, i)) {
        case SQLITE_INTEGER:
            json_object_set_new(o, name, json_integer(sqlite3_column_int64(q, i)));
            break;
        case SQLITE_FLOAT:
            json_object_set_new(o, name, json_real(sqlite3_column_double(q, i)));
            break;
        case SQLITE_TEXT:
            if (!strcmp(name, "settings") || !strcmp(name, "params"))
                json_object_set_new(o, name, column_list(q, i));
            else
                json_object_set_new(o, name,
                                    json_string((const char *)sqlite3_column_text(q, i)));
            break;
        default:
            break;
        }
    }
    return o;
}

json_t *
store_run(struct store *s, int64_t id)
{
    sqlite3_stmt *q = ask(s, "SELECT * FROM runs WHERE id = ?");
    json_t *o = NULL;
    sqlite3_bind_int64(q, 1, id);
    if (q && next_row(s, q)) {
        o = row(q);
        json_object_set_new(
            o, "quick", json_boolean(json_integer_value(json_object_get(o, "quick"))));
    }
    sqlite3_finalize(q);
    if (!o)
        return NULL;
    json_t *launches = json_array();
    q = ask(s, "SELECT * FROM launches WHERE run = ? ORDER BY number");
    sqlite3_bind_int64(q, 1, id);
    while (q && next_row(s, q)) {
        json_t *l = row(q);
        json_object_set(l, "seconds", json_object_get(l, "host_seconds"));
        json_object_del(l, "host_seconds");
        json_object_del(l, "run");
        json_object_del(l, "number");
        json_array_append_new(launches, l);
    }
    sqlite3_finalize(q);
    json_object_set_new(o, "launches", launches);
    return o;
}

json_t *
store_machine(struct store *s, const char *hash)
{
    if (s->version < MACHINES_SINCE)
        return NULL;
    sqlite3_stmt *q = ask(s, "SELECT settings FROM machines WHERE hash = ?");
    bind_text(q, 1, hash);
    json_t *o = NULL;
    if (q && next_row(s, q)) {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        o = json_loads(text ? text : "", 0, NULL);
    }
    sqlite3_finalize(q);
    return o;
}

int64_t *
store_list(struct store *s, const struct store_filter *f, size_t *n)
{
    VEC(int64_t) ids = {0};
    static const char sql[] =
        "SELECT id FROM runs AS r WHERE (?1 IS NULL OR workload LIKE ?1)"
        " AND (?2 IS NULL OR machine LIKE ?2) AND (?3 IS NULL OR state LIKE ?3)"
        " AND (NOT ?4 OR id = (SELECT id FROM runs WHERE key = r.key"
        "   ORDER BY state = 'done' DESC, id DESC LIMIT 1)) ORDER BY id";
    sqlite3_stmt *q = ask(s, sql);
    const char *const given[] = {f->workload, f->machine, f->state};
    for (int i = 0; i < 3; i++)
        if (given[i])
            bind_text(q, i + 1, given[i]);
    sqlite3_bind_int(q, 4, f->newest);
    while (q && next_row(s, q))
        *vec_push(&ids) = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    *n = ids.n;
    if (!ids.v)
        ids.v = xcalloc(1, sizeof *ids.v);
    return ids.v;
}

json_t *
store_run_named(struct store *s, const char *name)
{
    uint64_t id;
    json_t *run = number_u64(name, 1, INT64_MAX, &id) ? store_run(s, (int64_t)id) : NULL;
    size_t n, len = strlen(name);
    if (run || len < 4)
        return run;
    int64_t *ids = store_list(s, &(struct store_filter){.newest = true}, &n);
    for (size_t i = 0; ids && !run && i < n; i++) {
        json_t *o = store_run(s, ids[i]);
        if (!strncmp(json_string_value(json_object_get(o, "key")), name, len))
            run = json_incref(o);
        json_decref(o);
    }
    free(ids);
    return run;
}

struct store *
store_open_current(const char *path, struct diag_sink *diag)
{
    struct store *s = store_open(path, STORE_READ, diag);
    const char *spool = s ? store_spool(s, diag) : NULL;
    if (spool && store_collect(s, spool, NULL, diag))
        return s;
    store_close(s);
    return NULL;
}
