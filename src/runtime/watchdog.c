/* watchdog.c: see watchdog.h. The thread sleeps most of the time and reads a clock and two
 * words a few times within `patience`. Cost for a launch: two stores. */
#include "runtime/watchdog.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAVE_BACKTRACE 1
#endif

struct watchdog {
    struct watchdog_setup s;
    pthread_t thread;
    pid_t process;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool quit;
    atomic_uint_least64_t on; /* odd: a launch is under way; each is another number */
};

/* -- the report -- */

static atomic_bool shown; /* by the thread that was asked last where it is */

static void
show_where(int sig)
{
    (void)sig;
#ifdef HAVE_BACKTRACE
    enum { MOST = 64 };
    void *frame[MOST];
    backtrace_symbols_fd(frame, backtrace(frame, MOST), STDERR_FILENO);
#endif
    atomic_store(&shown, true);
}

/* Asks thread `id` of this process where it is; one that does not take signals is left. */
static void
ask_where(long id)
{
    enum { WAIT_MS = 200 };
    static const struct timespec ms = {.tv_nsec = 1000000};
    fprintf(stderr, "host thread %ld:\n", id);
    atomic_store(&shown, false);
    if (syscall(SYS_tgkill, getpid(), id, SIGUSR2))
        return;
    for (unsigned i = 0; i < WAIT_MS && !atomic_load(&shown); i++)
        nanosleep(&ms, NULL);
}

static void
host_threads(void)
{
    struct sigaction sa = {.sa_handler = show_where};
    sigemptyset(&sa.sa_mask);
    if (sigaction(SIGUSR2, &sa, NULL))
        return;
    DIR *d = opendir("/proc/self/task");
    const long self = syscall(SYS_gettid);
    for (struct dirent *e; d && (e = readdir(d));) {
        const long id = strtol(e->d_name, NULL, 10);
        if (id > 0 && id != self)
            ask_where(id);
    }
    if (d)
        closedir(d);
}

/* The state may be what the loop is in: if reading it does not end either, SIGALRM ends the
 * process. */
static _Noreturn void
report(const struct watchdog *w)
{
    enum { DUMP_SECONDS = 10 };
    struct strbuf b = {0};
    sigset_t alarms;
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(DUMP_SECONDS);
    w->s.name(w->s.user, &b);
    fprintf(
        stderr,
        "allot: fault of allot: an endless loop: no progress in %.3g s of CPU time, in %s\n"
        "Please report it, with the input and what follows.\n",
        w->s.patience, b.s);
    file_abandon();
    host_threads();
    b.n = 0;
    w->s.dump(w->s.user, &b);
    fprintf(stderr, "Who waits for what:\n%s", b.n ? b.s : "");
    abort();
}

/* -- the thread -- */

static void
in_seconds(double s, struct timespec *t)
{
    clock_gettime(CLOCK_REALTIME, t);
    const double ns = (double)t->tv_nsec + s * 1e9;
    t->tv_sec += (time_t)(ns / 1e9);
    t->tv_nsec = (long)(ns - 1e9 * (double)(time_t)(ns / 1e9));
}

static void *
watch(void *user)
{
    enum { LOOKS = 4 /* within the patience */ };
    struct watchdog *w = user;
    uint64_t beat = 0, on = 0;
    double since = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->quit) {
        struct timespec t;
        in_seconds(w->s.patience / LOOKS, &t);
        pthread_cond_timedwait(&w->wake, &w->lock, &t);
        const uint64_t o = atomic_load(&w->on), now = w->s.beat(w->s.user);
        const double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (!(o & 1) || o != on || now != beat) {
            on = o;
            beat = now;
            since = cpu;
        } else if (cpu - since > w->s.patience && !w->quit) {
            report(w);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct watchdog *
watchdog_new(const struct watchdog_setup *s)
{
    struct watchdog *w = xcalloc(1, sizeof *w);
    sigset_t all, old;
    w->s = *s;
    w->process = getpid();
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    sigfillset(&all); /* signals are for the other threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool ok = !pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ok)
        return w;
    free(w);
    return NULL;
}

void
watchdog_free(struct watchdog *w)
{
    if (!w || w->process != getpid()) /* a child has not got the thread */
        return;
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void
turn(struct watchdog *w)
{
    if (w)
        atomic_fetch_add_explicit(&w->on, 1, memory_order_relaxed);
}

void
watchdog_on(struct watchdog *w)
{
    turn(w);
}

void
watchdog_off(struct watchdog *w)
{
    turn(w);
}
