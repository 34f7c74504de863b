/* runner.c: a process a run. The child simulates and writes its record to the spool; the
 * parent takes records into the store, watches limits, and writes the record of a child
 * that could not. */
#include "experiments/runner.h"

#include "base/clock.h"
#include "base/vec.h"
#include "experiments/claims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
    pid_t pid; /* 0: free */
    const struct exp_run *run;
    char token[64], started[24];
    double since;
    int err; /* what it says on standard error */
    bool too_long, too_large;
};

static _Noreturn void
be_child(const struct runner *o, const struct child *c, const char *spool, pid_t parent)
{
    /* The terminal's Ctrl-C is the parent's to handle; it ends its children. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    setpgid(0, 0); /* with the program that it may start */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(c->err, STDERR_FILENO);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    json_t *rec = run_execute(c->run, c->token);
    bool ok = store_spool_write(spool, rec);
    json_decref(rec);
    _exit(ok ? 0 : 1);
}

/* token NULL: a new one */
static bool
start(const struct runner *o, struct child *c, const struct exp_run *r, const char *token,
      const char *spool)
{
    char name[] = "/tmp/allot-run-XXXXXX";
    memset(c, 0, sizeof *c);
    c->run = r;
    c->err = mkstemp(name);
    if (c->err < 0)
        return false;
    unlink(name);
    fcntl(c->err, F_SETFD, FD_CLOEXEC);
    if (token)
        snprintf(c->token, sizeof c->token, "%s", token);
    else
        run_token(c->token);
    run_now(c->started);
    c->since = clock_seconds(CLOCK_MONOTONIC);
    fflush(NULL); /* what is buffered must not be written twice */
    pid_t parent = getpid();
    c->pid = fork();
    if (c->pid == 0)
        be_child(o, c, spool, parent);
    if (c->pid < 0) {
        c->pid = 0;
        close(c->err);
        return false;
    }
    return true;
}

/* Why the child ended without a record. */
static void
explain(const struct runner *o, const struct child *c, int status, struct strbuf *b)
{
    char text[1000];
    lseek(c->err, 0, SEEK_SET);
    ssize_t n = read(c->err, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = 0;
    if (c->too_long)
        strbuf_printf(b, "took longer than %.6g s (--time-limit)", o->time_limit);
    else if (c->too_large)
        strbuf_printf(b, "needed more than %llu MB of memory (--memory-limit)",
                      (unsigned long long)(o->memory_limit >> 20));
    else if (WIFSIGNALED(status))
        strbuf_printf(b, "ended by signal %d (%s)", WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
    else
        strbuf_printf(b, "ended with status %d", WEXITSTATUS(status));
    if (n > 0)
        strbuf_printf(b, ": %s", text);
}

/* Memory the process and those that it has started really have, bytes. (Their address space
 * says nothing: device memory is reserved there, not used.) */
static uint64_t
resident(pid_t pid, int depth)
{
    char path[64];
    unsigned long long all = 0, pages = 0;
    int below;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    bool ok = f && fscanf(f, "%llu %llu", &all, &pages) == 2;
    if (f)
        fclose(f);
    uint64_t bytes = ok ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    f = depth ? fopen(path, "re") : NULL;
    while (f && fscanf(f, "%d", &below) == 1)
        bytes += resident(below, depth - 1);
    if (f)
        fclose(f);
    return bytes;
}

/* The child and the program that it may have started. */
static void
end(pid_t pid, int sig)
{
    kill(-pid, sig);
    kill(pid, sig); /* it may not have its group yet */
}

/* Ends a child that is beyond its limits. */
static void
watch(const struct runner *o, struct child *c)
{
    if (c->too_long || c->too_large)
        return;
    c->too_long =
        o->time_limit > 0 && clock_seconds(CLOCK_MONOTONIC) - c->since > o->time_limit;
    c->too_large = o->memory_limit && resident(c->pid, 4) > o->memory_limit;
    if (c->too_long || c->too_large)
        end(c->pid, SIGKILL);
}

/* The child is gone: its record, or one that says why there is none, is in the spool. */
static void
settle(const struct runner *o, struct child *c, int status, const char *spool)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        struct strbuf b = {0};
        explain(o, c, status, &b);
        json_t *rec = run_failure(c->run, c->token, c->started,
                                  clock_seconds(CLOCK_MONOTONIC) - c->since, b.s);
        store_spool_write(spool, rec);
        json_decref(rec);
        strbuf_free(&b);
    }
    close(c->err);
    c->pid = 0;
}

/* Sleeps until a child ends, at most a fifth of a second. SIGCHLD is blocked. */
static void
wait_a_moment(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    const struct timespec t = {.tv_nsec = 200000000};
    sigtimedwait(&set, NULL, &t);
}

bool
runner_one(const struct runner *o, const struct exp_run *r, const char *token,
           const char *folder)
{
    struct child c;
    int status;
    if (!start(o, &c, r, token, folder))
        return false;
    while (waitpid(c.pid, &status, WNOHANG) == 0) {
        watch(o, &c);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    settle(o, &c, status, folder);
    return true;
}

/* -- many -- */

struct pool {
    const struct runner *o;
    struct store *store;
    struct claims *claims;
    int64_t newest; /* run in the store when this began */
    const char *spool;
    struct child *child;
    unsigned n, busy;
    struct runner_count *count;
    struct diag_sink *diag;
    double t0;
    size_t todo; /* runs to do in all */
    const char *last;
};

static void
tell(struct pool *p)
{
    if (!p->o->progress)
        return;
    size_t ended = p->count->done + p->count->failed;
    double left = ended ? (clock_seconds(CLOCK_MONOTONIC) - p->t0) / (double)ended *
                              (double)(p->todo - ended)
                        : -1;
    p->o->progress(p->o->user, p->count, left, p->last);
}

/* Takes a finished child's record into the store and counts it. */
static bool
take(struct pool *p, struct child *c, int status)
{
    const struct exp_run *r = c->run;
    settle(p->o, c, status, p->spool);
    p->busy--;
    bool stored = store_collect(p->store, p->spool, NULL, p->diag);
    claims_give_up(p->claims, r->key);
    if (!stored)
        return false;
    json_t *rec = store_run(p->store, store_token(p->store, c->token));
    const char *state = json_string_value(json_object_get(rec, "state"));
    const char *message = json_string_value(json_object_get(rec, "message"));
    bool ok = state && !strcmp(state, "done");
    if (ok)
        p->count->done++;
    else
        p->count->failed++;
    p->last = r->workload;
    if (p->o->finished)
        p->o->finished(p->o->user, r, ok,
                       message ? message : "its record could not be written");
    json_decref(rec);
    tell(p);
    return true;
}

/* Ends of children that have ended by now, and of those over their time. */
static bool
look(struct pool *p)
{
    bool ok = true;
    for (unsigned i = 0; i < p->n; i++) {
        struct child *c = &p->child[i];
        int status;
        if (!c->pid)
            continue;
        watch(p->o, c);
        if (waitpid(c->pid, &status, WNOHANG) == c->pid)
            ok &= take(p, c, status);
    }
    return ok;
}

/* Ends all children; those whose record was complete stay done. */
static void
stop(struct pool *p)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->child[i].pid)
            end(p->child[i].pid, SIGTERM);
    for (unsigned i = 0; i < p->n; i++)
        if (p->child[i].pid) {
            while (waitpid(p->child[i].pid, NULL, 0) < 0 && errno == EINTR)
                ;
            close(p->child[i].err);
            p->child[i].pid = 0;
        }
    store_collect(p->store, p->spool, NULL, p->diag);
}

/* What another process has run since `newest` is not run again, whatever the options. */
static bool
wanted(const struct runner *o, struct store *s, const struct exp_run *r, int64_t newest,
       struct runner_count *count)
{
    int64_t id = 0;
    enum store_state state = store_find(s, r->key, &id);
    if (state == STORE_NONE ||
        (id <= newest && (o->again || (state == STORE_FAILED && o->retry))))
        return true;
    count->elsewhere += id > newest;
    if (state == STORE_DONE)
        count->stored++;
    else
        count->failed_before++;
    return false;
}

/* Starts as many of the runs as there are free places, leaving those that other processes
 * do; takes out what is started, and what they have done meanwhile. */
static bool
begin(struct pool *p, const struct exp_run **waiting, size_t *n)
{
    size_t kept = 0, i = 0;
    unsigned place = 0;
    for (; i < *n; i++) {
        const struct exp_run *r = waiting[i];
        while (place < p->n && p->child[place].pid)
            place++;
        if (place == p->n)
            break;
        if (!claims_take(p->claims, r->key)) {
            waiting[kept++] = r;
            continue;
        }
        /* A record may have come since the list was made; its writer may be gone. */
        bool ok = store_collect(p->store, p->spool, NULL, p->diag);
        bool mine = ok && wanted(p->o, p->store, r, p->newest, p->count);
        if (mine && !start(p->o, &p->child[place], r, NULL, p->spool))
            ok = diag_error(p->diag, "cannot start a process: %s", strerror(errno));
        else if (mine)
            p->busy++;
        else {
            claims_give_up(p->claims, r->key);
            p->todo--;
        }
        if (!ok || !store_good(p->store))
            return false;
    }
    memmove(waiting + kept, waiting + i, (*n - i) * sizeof(*waiting));
    *n = kept + *n - i;
    return true;
}

static bool
work(struct pool *p, const struct exp_run **waiting)
{
    size_t n = p->todo;
    while (n || p->busy) {
        if (p->o->interrupted && p->o->interrupted(p->o->user))
            return false;
        if (!begin(p, waiting, &n))
            return false;
        if (!n && !p->busy)
            break;
        p->last = p->busy ? p->last : "(waiting for another sweep)";
        wait_a_moment();
        if (!look(p))
            return false;
        tell(p);
    }
    return true;
}

bool
runner_run(const struct runner *o, struct store *s, const struct exp_run *runs, size_t n,
           struct runner_count *count, struct diag_sink *diag)
{
    *count = (struct runner_count){.runs = n};
    struct pool p = {.o = o,
                     .store = s,
                     .count = count,
                     .diag = diag,
                     .t0 = clock_seconds(CLOCK_MONOTONIC)};
    p.spool = store_spool(s, diag);
    if (!p.spool || !store_collect(s, p.spool, NULL, diag))
        return false;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    p.n = o->jobs ? o->jobs : cores > 0 ? (unsigned)cores : 1;
    p.child = xcalloc(p.n, sizeof *p.child);
    p.newest = store_newest(s);
    const struct exp_run **todo = xcalloc(n + 1, sizeof(*todo));
    for (size_t i = 0; i < n; i++)
        if (wanted(o, s, &runs[i], p.newest, count))
            todo[p.todo++] = &runs[i];
    if (!store_good(s)) {
        free(todo);
        free(p.child);
        return false;
    }
    p.claims = p.todo ? claims_open(store_path(s), diag) : NULL;
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &old);
    tell(&p);
    bool ok = work(&p, todo);
    if (!ok)
        stop(&p);
    claims_close(p.claims);
    sigprocmask(SIG_SETMASK, &old, NULL);
    free(todo);
    free(p.child);
    return ok;
}
