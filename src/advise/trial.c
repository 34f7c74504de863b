/* trial.c: see trial.h. A child has the module, the inputs' texts and the machine from its
 * parent's memory, simulates, and writes its struct trial to a pipe. */
#include "advise/trial.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "experiments/compare.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *
trial_state_word(enum trial_state s)
{
    static const char *const word[] = {"not tried", "done",   "no effect", "slower",
                                       "refused",   "failed", "wrong"};
    return word[s];
}

/* -- one run -- */

/* Counters as the library tells them. */
static struct launch_stats
stats_of(const struct allot_result *r)
{
    struct launch_stats s = {0};
    struct allot_stat_info info;
    uint64_t v;
    for (size_t i = 0; allot_stat(i, &info); i++)
        if (!info.derived && allot_result_get(r, info.id, &v, NULL))
            stats_set(&s, info.id, v);
    return s;
}

static size_t
kernel_at(const struct trials *x, const char *name)
{
    size_t i = 0;
    while (i < x->nname && strcmp(x->name[i], name) != 0)
        i++;
    return i;
}

static void
add_result(const struct trials *x, struct trial *t, const struct allot_result *r,
           const struct allot_machine *m)
{
    const struct allot_workload *w = x->subject->workload;
    const size_t k = kernel_at(x, allot_result_kernel(r));
    const struct launch_stats s = stats_of(r);
    struct energy e = {0};
    energy_of(&s, m->m, &e);
    t->all += s.gpu.cycles;
    if (w && !compare_counts(w->kernels, allot_result_kernel(r)))
        return;
    t->cycles += s.gpu.cycles;
    t->joules += e.total;
    if (k >= x->nname)
        return;
    stats_add(&t->kernel[k].stats, &s);
    t->kernel[k].joules += e.total;
}

/* Over the buffers of a file's kernel. */
static bool
hash_memory(const struct launch *l, struct allot_device *dev, char out[33],
            struct allot_diag *d)
{
    struct hash h = hash_start();
    bool ok = true;
    for (size_t i = 0; ok && i < l->kernel->nparams; i++) {
        const struct launch_arg *a = &l->arg[i];
        if (!a->buffer)
            continue;
        uint8_t *data = xmalloc(a->bytes);
        uint64_t addr;
        memcpy(&addr, a->value, sizeof addr);
        ok = allot_read(dev, addr, data, a->bytes, d);
        hash_bytes(&h, data, ok ? a->bytes : 0);
        free(data);
    }
    hash_hex(&h, out);
    return ok;
}

/* The first error of either. */
static void
take_why(struct trial *t, const char *check, const struct diag_sink *a,
         const struct diag_sink *b)
{
    const struct diag_sink *const both[] = {a, b};
    snprintf(t->why, sizeof t->why, "%s", check);
    for (size_t k = 0; k < 2 && !*t->why; k++)
        for (size_t i = 0; i < both[k]->n && !*t->why; i++)
            if (both[k]->list[i]->level == DIAG_ERROR)
                snprintf(t->why, sizeof t->why, "%s", both[k]->list[i]->message);
}

/* On a device of machine m: results in t. */
static bool
run_on(const struct trials *x, struct trial *t, struct allot_device *dev,
       const struct allot_machine *m, struct allot_diag *d)
{
    char check[256];
    struct diag_sink diag = {0};
    const double since = clock_seconds(CLOCK_MONOTONIC);
    bool ok = subject_run(x->subject, dev, x->mod, check, &diag, d);
    t->seconds = clock_seconds(CLOCK_MONOTONIC) - since;
    if (ok && !x->subject->workload)
        ok = hash_memory(&x->subject->launch, dev, t->memory, d);
    for (size_t i = 0; i < allot_results(dev); i++)
        add_result(x, t, allot_result_at(dev, i), m);
    const enum allot_failure f = allot_launch_failure(dev);
    t->state = ok                                             ? TRIAL_DONE
               : f >= ALLOT_FAULT_ADDRESS && f <= ALLOT_STUCK ? TRIAL_FAILED
               : !allot_results(dev)                          ? TRIAL_REFUSED
               : *check                                       ? TRIAL_WRONG
                                                              : TRIAL_FAILED;
    if (!ok)
        take_why(t, check, &diag, &d->sink);
    diag_append(&d->sink, &diag);
    diag_free(&diag);
    return ok;
}

bool
trial_original(struct trials *x, struct trial *t, struct allot_device **dev,
               struct allot_diag *d)
{
    memset(t, 0, sizeof *t);
    *dev = allot_device_new(x->machine, &x->options, d);
    if (!*dev)
        return false;
    /* Once for the names, then for the sums by them. */
    const bool ok = run_on(x, t, *dev, x->machine, d);
    for (size_t i = 0; i < allot_results(*dev); i++) {
        const char *name = allot_result_kernel(allot_result_at(*dev, i));
        if (kernel_at(x, name) == x->nname && x->nname < TRIAL_KERNELS)
            x->name[x->nname++] = arena_strdup(x->mem, name);
    }
    t->cycles = t->all = 0;
    t->joules = 0;
    for (size_t i = 0; i < allot_results(*dev); i++)
        add_result(x, t, allot_result_at(*dev, i), x->machine);
    return ok;
}

/* -- in a process -- */

/* What a child's launches may take. */
struct limit {
    const struct allot_device *dev;
    uint64_t most, before; /* before: of launches that ended */
    size_t ended;
    bool over;
};

static bool
within(void *user, const struct allot_progress *p)
{
    struct limit *l = user;
    uint64_t v;
    for (; l->dev && l->ended < allot_results(l->dev); l->ended++)
        if (allot_result_get(allot_result_at(l->dev, l->ended), "cycles", &v, NULL))
            l->before += v;
    l->over |= l->most && l->before + p->cycles > l->most;
    return !l->over;
}

static bool
same_counters(const struct trials *x, const struct trial *a, const struct trial *b)
{
    for (size_t i = 0; i < x->nname; i++)
        if (memcmp(&a->kernel[i].stats, &b->kernel[i].stats, sizeof a->kernel[i].stats) ||
            a->kernel[i].joules != b->kernel[i].joules)
            return false;
    return a->all == b->all;
}

static void
run_candidate(const struct trials *x, const struct candidate *c, uint64_t most,
              const struct trial *original, struct trial *t)
{
    struct allot_diag *d = allot_diag_new();
    struct limit limit = {.most = most};
    const struct allot_options o = {.threads = 1,
                                    .max_cycles = x->options.max_cycles,
                                    .max_instructions = x->options.max_instructions,
                                    .guard = x->options.guard,
                                    .watch = within,
                                    .user = &limit};
    struct allot_machine *m = candidates_machine(c, x->machine, d);
    limit.dev = m ? allot_device_new(m, &o, d) : NULL;
    t->state = TRIAL_REFUSED;
    if (limit.dev)
        run_on(x, t, (struct allot_device *)limit.dev, m, d);
    else
        take_why(t, "", &d->sink, &d->sink);
    if (limit.over || (t->state == TRIAL_DONE && most && t->all > most))
        t->state = TRIAL_SLOWER;
    else if (t->state == TRIAL_DONE && strcmp(t->memory, original->memory) != 0) {
        t->state = TRIAL_WRONG;
        snprintf(t->why, sizeof t->why,
                 "its buffers hold other values than the original's");
    } else if (t->state == TRIAL_DONE && same_counters(x, t, original))
        t->state = TRIAL_NOTHING;
}

static void
write_all(int fd, const void *p, size_t n)
{
    for (const char *at = p; n;) {
        const ssize_t k = write(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            _exit(1);
        at += k;
        n -= (size_t)k;
    }
}

struct child {
    pid_t pid; /* 0: free */
    int from;
    size_t at, got; /* candidate, bytes of its struct trial */
};

static bool
start(const struct trials *x, struct child *c, const struct candidate *what,
      uint64_t most, const struct trial *original)
{
    int ends[2];
    if (pipe(ends))
        return false;
    fflush(NULL); /* what is buffered must not be written twice */
    const pid_t parent = getpid();
    c->pid = fork();
    if (c->pid) {
        close(ends[1]);
        c->from = ends[0];
        c->got = 0;
        if (c->pid > 0)
            return true;
        c->pid = 0;
        close(ends[0]);
        return false;
    }
    /* The terminal's Ctrl-C is the parent's to handle; it ends its children. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) /* kernels print */
        dup2(null, i);
    static struct trial t;
    run_candidate(x, what, most, original, &t);
    write_all(ends[1], &t, sizeof t);
    _exit(0);
}

/* Reads what there is; true: the child has ended. */
static bool
take(struct child *c, struct trial *t)
{
    const ssize_t k = read(c->from, (char *)t + c->got, sizeof *t - c->got);
    if (k < 0 && errno == EINTR)
        return false;
    if (k > 0)
        c->got += (size_t)k;
    if (k > 0 && c->got < sizeof *t)
        return false;
    int status = 0;
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (c->got < sizeof *t) {
        memset(t, 0, sizeof *t);
        t->state = TRIAL_FAILED;
        snprintf(t->why, sizeof t->why, "its process ended by signal %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    close(c->from);
    c->pid = 0;
    return true;
}

static void
give_up(struct child *c, struct trial *t)
{
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(c->from);
    c->pid = 0;
    memset(t, 0, sizeof *t);
}

static bool
over(const struct trials *x)
{
    return x->stopped() || (x->until > 0 && clock_seconds(CLOCK_MONOTONIC) >= x->until);
}

bool
trial_all(const struct trials *x, const struct candidate *const *c, const uint64_t *limit,
          const struct trial *original, struct trial *t, size_t n)
{
    struct child *child = xcalloc(x->jobs, sizeof *child);
    struct pollfd *ready = xcalloc(x->jobs, sizeof *ready);
    size_t next = 0, done = 0;
    bool ended;
    while (!(ended = over(x)) && done < n) {
        for (unsigned k = 0; k < x->jobs; k++) {
            if (!child[k].pid && next < n) {
                child[k].at = next;
                memset(&t[next], 0, sizeof t[next]);
                if (!start(x, &child[k], c[next], limit[next], original)) {
                    t[next].state = TRIAL_FAILED;
                    snprintf(t[next].why, sizeof t[next].why, "no process for it: %s",
                             strerror(errno));
                    done++;
                }
                next++;
            }
            ready[k] = (struct pollfd){child[k].pid ? child[k].from : -1, POLLIN, 0};
        }
        poll(ready, x->jobs, 100);
        for (unsigned k = 0; k < x->jobs; k++)
            if (child[k].pid && ready[k].revents && take(&child[k], &t[child[k].at])) {
                done++;
                if (x->progress)
                    x->progress(done, n, c[child[k].at]->name);
            }
    }
    for (unsigned k = 0; k < x->jobs; k++)
        if (child[k].pid)
            give_up(&child[k], &t[child[k].at]);
    for (; next < n; next++)
        memset(&t[next], 0, sizeof t[next]);
    free(child);
    free(ready);
    return !ended;
}
