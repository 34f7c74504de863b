/* slurm.c: sbatch, squeue and scancel. No scheduler of our own: Slurm decides when and
 * where. */
#define _GNU_SOURCE /* pipe2 */
#include "experiments/slurm.h"

#include "base/file.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TASKS = 1000 }; /* of an array: Slurm's MaxArraySize is 1001 unless set */

/* -- Slurm's commands -- */

/* Runs a command; its output, both streams together, malloc'd. *status: its exit status,
 * 127 if it could not be started. */
static char *
command(const char *const argv[], int *status)
{
    int fd[2];
    struct strbuf out = {0};
    *status = 127;
    strbuf_addz(&out, "");
    if (pipe2(fd, O_CLOEXEC))
        return strbuf_take(&out);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], STDOUT_FILENO);
        dup2(fd[1], STDERR_FILENO);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(fd[1]);
    char text[4096];
    ssize_t n;
    while ((n = read(fd[0], text, sizeof text)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            strbuf_add(&out, text, (size_t)n);
    close(fd[0]);
    int code;
    while (pid > 0 && waitpid(pid, &code, 0) < 0)
        if (errno != EINTR)
            return strbuf_take(&out);
    if (pid > 0)
        *status = WIFEXITED(code) ? WEXITSTATUS(code) : 128;
    return strbuf_take(&out);
}

static bool
slurm_failed(const char *what, int status, char *out, struct diag_sink *diag)
{
    out[strcspn(out, "\n")] = 0;
    if (status == 127)
        diag_error(diag,
                   "%s cannot be started: is Slurm installed here (Debian package "
                   "slurm-client)?",
                   what);
    else
        diag_error(diag, "%s failed (status %d): %s", what, status, out);
    free(out);
    return false;
}

/* -- batches -- */

struct batch {
    char *dir, *name;
    char id[32]; /* "": not submitted */
    json_t *plan;
    bool *active; /* a task that is queued or runs */
    size_t n, nactive;
};

typedef VEC(struct batch) batches;

static char *
path_of(const char *a, const char *b)
{
    struct strbuf s = {0};
    strbuf_printf(&s, "%s/%s", a, b);
    return strbuf_take(&s);
}

static char *
root_of(const struct store *s)
{
    struct strbuf b = {0};
    char *real = realpath(store_path(s), NULL); /* jobs may start elsewhere */
    strbuf_printf(&b, "%s.slurm", real ? real : store_path(s));
    free(real);
    return strbuf_take(&b);
}

static void
batch_free(struct batch *b)
{
    free(b->dir);
    free(b->name);
    free(b->active);
    json_decref(b->plan);
}

static void
free_batches(batches *all)
{
    for (size_t i = 0; i < all->n; i++)
        batch_free(&all->v[i]);
    vec_free(all);
}

static void
remove_tree(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        char *path = path_of(dir, e->d_name);
        if (unlink(path))
            remove_tree(path);
        free(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

/* The job's number, from the file; or, if we were killed before it was written, from
 * Slurm, which has the batch's name as the job's comment. */
static void
read_id(struct batch *b)
{
    char *path = path_of(b->dir, "id"), *text = file_read(path, NULL);
    if (text)
        snprintf(b->id, sizeof b->id, "%.*s", (int)strspn(text, "0123456789"), text);
    free(text);
    free(path);
    if (*b->id)
        return;
    const char *const argv[] = {"squeue", "-h", "-o", "%A %k", NULL};
    int status;
    char *out = command(argv, &status), *name = status ? NULL : strstr(out, b->name);
    while (name && name > out && name[-1] != '\n')
        name--;
    if (name)
        snprintf(b->id, sizeof b->id, "%.*s", (int)strspn(name, "0123456789"), name);
    free(out);
}

/* Which tasks Slurm still has. A job that it does not know any more has none. */
static bool
ask(struct batch *b, struct diag_sink *diag)
{
    int status;
    const char *const argv[] = {"squeue", "-h", "-r", "-j", b->id, "-o", "%K", NULL};
    b->nactive = 0;
    memset(b->active, 0, b->n * sizeof *b->active);
    char *out = command(argv, &status);
    if (status && !strstr(out, "Invalid job id"))
        return slurm_failed("squeue", status, out, diag);
    for (char *p = out; !status && *p;) {
        char *end;
        unsigned long i = strtoul(p, &end, 10);
        if (end != p && i < b->n && !b->active[i]) {
            b->active[i] = true;
            b->nactive++;
        }
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    free(out);
    return true;
}

static bool
load_batches(struct store *s, const char *root, batches *all, struct diag_sink *diag)
{
    DIR *d = opendir(root);
    struct dirent *e;
    bool ok = true;
    while (d && ok && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        struct batch b = {.dir = path_of(root, e->d_name), .name = xstrdup(e->d_name)};
        char *path = path_of(b.dir, "plan.json");
        b.plan = json_load_file(path, 0, NULL);
        free(path);
        if (!json_is_array(b.plan)) { /* killed while it was made: nothing submitted */
            batch_free(&b);
            continue;
        }
        read_id(&b);
        if (!*b.id) { /* never submitted; or ended by now, and its records are there */
            char *records = path_of(b.dir, "records");
            ok = store_collect(s, records, NULL, diag);
            free(records);
            if (ok)
                remove_tree(b.dir);
            batch_free(&b);
            continue;
        }
        b.n = json_array_size(b.plan);
        b.active = xcalloc(b.n + 1, sizeof *b.active);
        ok = ask(&b, diag);
        *vec_push(all) = b;
    }
    if (d)
        closedir(d);
    return ok;
}

static void
task_token(const struct batch *b, size_t i, char out[64])
{
    snprintf(out, 64, "%.32s.%zu", b->name, i);
}

/* What became of a task that left no record: Slurm's word and the end of its log. */
static char *
obituary(const struct batch *b, size_t i)
{
    struct strbuf s = {0};
    char job[64], log[64];
    int status;
    snprintf(job, sizeof job, "%s_%zu", b->id, i);
    snprintf(log, sizeof log, "log/%zu", i);
    const char *const argv[] = {"squeue", "-h",  "-r", "-t",    "all",
                                "-j",     b->id, "-o", "%K %T", NULL};
    char *out = command(argv, &status);
    strbuf_printf(&s, "Slurm job %s ended without a result", job);
    /* "3 FAILED"; of an array that never started only one line, "N/A CANCELLED". */
    for (char *p = out, *state; !status && *p; p += strcspn(p, "\n"), p += *p == '\n') {
        bool whole = !strncmp(p, "N/A ", 4);
        if (whole || (strtoul(p, &state, 10) == i && state > p && *state == ' ')) {
            p += strcspn(p, " \n") + 1;
            strbuf_printf(&s, " (%.*s)", (int)strcspn(p, " \n"), p);
            break;
        }
    }
    free(out);
    char *path = path_of(b->dir, log), *text = file_read(path, NULL);
    size_t n = text ? strlen(text) : 0;
    while (n && text[n - 1] == '\n')
        text[--n] = 0;
    if (n)
        strbuf_printf(&s, ": %s", n > 300 ? text + n - 300 : text);
    free(text);
    free(path);
    return strbuf_take(&s);
}

/* Takes records; writes those of tasks that ended without; removes the batch when it is
 * done with. `tell`: whom, may be NULL. */
static bool
settle(struct batch *b, struct store *s, struct runner_count *count,
       const struct runner *tell, struct diag_sink *diag)
{
    char *records = path_of(b->dir, "records");
    bool ok = store_collect(s, records, NULL, diag);
    struct arena mem = {0};
    size_t left = 0;
    for (size_t i = 0; ok && i < b->n; i++) {
        char token[64];
        struct exp_run r;
        json_t *entry = json_array_get(b->plan, i);
        task_token(b, i, token);
        if (json_is_true(json_object_get(entry, "told")))
            continue;
        int64_t id = store_token(s, token);
        if (!id && b->active[i]) {
            left++;
            continue;
        }
        if (!run_from_json(entry, &r, &mem))
            continue;
        if (!id) {
            char now[24], *why = obituary(b, i);
            run_now(now);
            json_t *rec = run_failure(&r, token, now, 0, why);
            ok = store_add(s, rec, diag);
            json_decref(rec);
            free(why);
            id = store_token(s, token);
        }
        json_object_set_new(entry, "told", json_true());
        json_t *rec = store_run(s, id);
        const char *state = json_string_value(json_object_get(rec, "state")),
                   *message = json_string_value(json_object_get(rec, "message"));
        bool done = state && !strcmp(state, "done");
        count->done += done;
        count->failed += !done;
        if (tell && tell->finished)
            tell->finished(tell->user, &r, done, message ? message : "");
        json_decref(rec);
    }
    arena_free(&mem);
    free(records);
    if (ok && !left)
        remove_tree(b->dir);
    return ok;
}

/* -- submitting -- */

static bool
write_text(const char *dir, const char *name, const char *text, struct diag_sink *diag)
{
    char *path = path_of(dir, name);
    bool ok = file_put(path, text, strlen(text), NULL, diag);
    free(path);
    return ok;
}

/* In single quotes for sh. */
static void
quoted(struct strbuf *b, const char *s)
{
    strbuf_addz(b, "'");
    for (; *s; s++)
        strbuf_addz(b, *s == '\'' ? "'\\''" : (char[]){*s, 0});
    strbuf_addz(b, "'");
}

static void
job_script(const struct slurm *o, const struct batch *b, struct strbuf *out)
{
    char self[4096] = "allot";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0)
        self[n] = 0;
    strbuf_addz(out, "#!/bin/sh\nexec ");
    quoted(out, self);
    strbuf_addz(out, " sweep --task ");
    quoted(out, b->dir);
    if (o->limits.time_limit > 0)
        strbuf_printf(out, " --time-limit %.6g", o->limits.time_limit);
    if (o->limits.memory_limit)
        strbuf_printf(out, " --memory-limit %llu",
                      (unsigned long long)(o->limits.memory_limit >> 20));
    strbuf_addz(out, "\n");
}

/* Where the tasks' logs go, as a pattern of Slurm's: "%a" is the task, "%%" a "%". */
static char *
log_option(const char *dir)
{
    struct strbuf b = {0};
    strbuf_addz(&b, "--output=");
    for (; *dir; dir++)
        strbuf_addz(&b, *dir == '%' ? "%%" : (char[]){*dir, 0});
    strbuf_addz(&b, "/log/%a");
    return strbuf_take(&b);
}

static bool
sbatch(const struct slurm *o, struct batch *b, struct diag_sink *diag)
{
    char array[64], time[32], mem[32], name[100], comment[64];
    const char *argv[20];
    int n = 0, status;
    char *script = path_of(b->dir, "job.sh"), *log = log_option(b->dir);
    snprintf(array, sizeof array, "--array=0-%zu", b->n - 1);
    if (o->throttle)
        snprintf(array + strlen(array), 20, "%%%u", o->throttle);
    snprintf(name, sizeof name, "--job-name=allot-%s", o->name);
    snprintf(comment, sizeof comment, "--comment=%.40s", b->name);
    argv[n++] = "sbatch";
    argv[n++] = "--parsable";
    argv[n++] = array;
    argv[n++] = name;
    argv[n++] = log;
    argv[n++] = comment;
    argv[n++] = "--ntasks=1";
    argv[n++] = "--cpus-per-task=1";
    argv[n++] = o->requeue ? "--requeue" : "--no-requeue";
    if (o->partition) {
        argv[n++] = "-p";
        argv[n++] = o->partition;
    }
    /* Slurm's limits lie beyond our own, which give the better message. */
    if (o->limits.time_limit > 0) {
        snprintf(time, sizeof time, "--time=%.0f", ceil(o->limits.time_limit / 60) + 1);
        argv[n++] = time;
    }
    if (o->limits.memory_limit) {
        snprintf(mem, sizeof mem, "--mem=%lluM",
                 (unsigned long long)(o->limits.memory_limit >> 20) + 256);
        argv[n++] = mem;
    }
    argv[n++] = script;
    argv[n] = NULL;
    char *out = command(argv, &status);
    free(script);
    free(log);
    if (status)
        return slurm_failed("sbatch", status, out, diag);
    out[strspn(out, "0123456789")] = 0;
    snprintf(b->id, sizeof b->id, "%s", out);
    free(out);
    return write_text(b->dir, "id", b->id, diag);
}

static bool
submit(const struct slurm *o, const char *root, const struct exp_run *const *todo,
       size_t n, struct batch *b, struct diag_sink *diag)
{
    char token[33];
    struct strbuf script = {0};
    run_token(token);
    b->name = xstrdup(token);
    b->dir = path_of(root, token);
    b->plan = json_array();
    b->n = n;
    b->active = xcalloc(n, sizeof *b->active);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(b->plan, run_json(todo[i]));
    const char *const dirs[] = {"", "records", "log"};
    bool ok = true;
    for (size_t i = 0; ok && i < 3; i++) {
        char *path = path_of(b->dir, dirs[i]);
        ok = !mkdir(path, 0777) || errno == EEXIST;
        if (!ok)
            diag_error(diag, "cannot make the folder %s: %s", path, strerror(errno));
        free(path);
    }
    job_script(o, b, &script);
    char *plan = json_dumps(b->plan, JSON_COMPACT);
    ok = ok && write_text(b->dir, "job.sh", script.s, diag) &&
         write_text(b->dir, "plan.json", plan, diag) && sbatch(o, b, diag);
    free(plan);
    strbuf_free(&script);
    if (!ok)
        remove_tree(b->dir);
    return ok;
}

static bool
is_active(const batches *all, const char *key)
{
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->v[i].n; k++) {
            const char *has = json_string_value(
                json_object_get(json_array_get(all->v[i].plan, k), "key"));
            if (all->v[i].active[k] && has && !strcmp(has, key))
                return true;
        }
    return false;
}

static size_t
active(const batches *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        n += all->v[i].nactive;
    return n;
}

static bool
submit_all(const struct slurm *o, struct store *s, const char *root, batches *all,
           const struct exp_run *runs, size_t n, struct runner_count *count,
           struct diag_sink *diag)
{
    const struct exp_run **todo = xcalloc(n + 1, sizeof(*todo));
    size_t ntodo = 0;
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        enum store_state state = store_find(s, runs[i].key, NULL);
        if (is_active(all, runs[i].key))
            continue;
        if (o->limits.again || state == STORE_NONE ||
            (state == STORE_FAILED && o->limits.retry))
            todo[ntodo++] = &runs[i];
        else if (state == STORE_DONE)
            count->stored++;
        else
            count->failed_before++;
    }
    ok = store_good(s);
    for (size_t at = 0; ok && at < ntodo; at += MAX_TASKS) {
        size_t part = ntodo - at < MAX_TASKS ? ntodo - at : MAX_TASKS;
        struct batch b = {0};
        ok = submit(o, root, todo + at, part, &b, diag);
        if (ok) {
            for (size_t i = 0; i < b.n; i++) /* until squeue says otherwise */
                b.active[i] = true;
            b.nactive = b.n;
            *vec_push(all) = b;
        } else
            batch_free(&b);
    }
    free(todo);
    return ok;
}

/* Looks once at every batch; those that are done with leave the list. */
static bool
look(batches *all, struct store *s, struct runner_count *count, const struct runner *tell,
     struct diag_sink *diag)
{
    bool ok = true;
    for (size_t i = 0; ok && i < all->n; i++) {
        struct batch *b = &all->v[i];
        ok = ask(b, diag) && settle(b, s, count, tell, diag);
        if (ok && !b->nactive) {
            batch_free(b);
            all->v[i--] = all->v[--all->n];
        }
    }
    return ok;
}

bool
slurm_run(const struct slurm *o, struct store *s, const struct exp_run *runs, size_t n,
          struct runner_count *count, size_t *under_way, struct diag_sink *diag)
{
    batches all = {0};
    char *root = root_of(s);
    *count = (struct runner_count){.runs = n};
    if (mkdir(root, 0777) && errno != EEXIST)
        diag_error(diag, "cannot make the folder %s: %s", root, strerror(errno));
    struct runner_count before = {0}; /* of earlier calls: not counted as this one's */
    bool ok = load_batches(s, root, &all, diag) && look(&all, s, &before, NULL, diag) &&
              submit_all(o, s, root, &all, runs, n, count, diag);
    double poll = 0.25; /* short sweeps end soon; long ones need not be asked so often */
    bool stop = false;
    while (ok && all.n && !o->no_wait && !stop) {
        struct timespec t = {.tv_sec = (time_t)poll,
                             .tv_nsec = (long)((poll - floor(poll)) * 1e9)};
        nanosleep(&t, NULL);
        poll = poll < 4 ? poll * 1.2 : poll;
        stop = o->limits.interrupted && o->limits.interrupted(o->limits.user);
        ok = look(&all, s, count, &o->limits, diag);
        if (o->limits.progress)
            o->limits.progress(o->limits.user, count, -1, "Slurm");
    }
    *under_way = active(&all);
    free_batches(&all);
    rmdir(root); /* stays while a batch is in it */
    free(root);
    return ok && !stop;
}

bool
slurm_cancel(struct store *s, size_t *cancelled, struct diag_sink *diag)
{
    batches all = {0};
    char *root = root_of(s);
    *cancelled = 0;
    bool ok = load_batches(s, root, &all, diag);
    for (size_t i = 0; ok && i < all.n; i++) {
        struct batch *b = &all.v[i];
        const char *const argv[] = {"scancel", b->id, NULL};
        int status = 0;
        *cancelled += b->nactive;
        char *out = b->nactive ? command(argv, &status) : NULL;
        if (status)
            ok = slurm_failed("scancel", status, out, diag);
        else
            free(out);
        /* Tasks need a moment to end; what was cancelled is neither done nor failed. */
        for (int wait = 0; ok && b->nactive && wait < 100; wait++) {
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
            ok = ask(b, diag);
        }
        char *records = path_of(b->dir, "records");
        ok = ok && store_collect(s, records, NULL, diag);
        free(records);
        if (ok)
            remove_tree(b->dir);
    }
    free_batches(&all);
    rmdir(root);
    free(root);
    return ok;
}

bool
slurm_task(const struct runner *limits, const char *batch, size_t index,
           struct diag_sink *diag)
{
    struct exp_run r, again;
    struct arena mem = {0};
    struct run_cache cache = {0};
    char *path = path_of(batch, "plan.json"), *records = path_of(batch, "records");
    const char *slash = strrchr(batch, '/');
    json_t *plan = json_load_file(path, 0, NULL);
    struct batch b = {.name = (char *)(slash ? slash + 1 : batch)};
    char token[64], now[24];
    bool ok = json_is_array(plan) && index < json_array_size(plan) &&
              run_from_json(json_array_get(plan, index), &r, &mem);
    if (!ok)
        diag_error(diag, "%s has no run %zu", path, index);
    else {
        task_token(&b, index, token);
        again = r;
        struct diag_sink own = {0};
        const char *why = NULL;
        if (!run_prepare(&again, &cache, &own))
            why = own.n ? own.list[0]->message : "it cannot be run here";
        else if (strcmp(again.key, r.key))
            why = "a machine file or the program has changed since the job was submitted";
        if (why) {
            run_now(now);
            json_t *rec = run_failure(&r, token, now, 0, why);
            ok = store_spool_write(records, rec);
            json_decref(rec);
        } else
            ok = runner_one(limits, &r, token, records);
        diag_free(&own);
        if (!ok)
            diag_error(diag, "cannot write to %s", records);
    }
    json_decref(plan);
    run_cache_free(&cache);
    arena_free(&mem);
    free(path);
    free(records);
    return ok;
}
