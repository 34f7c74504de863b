/* run.c: one program in a process of its own, to its end. */
#define _GNU_SOURCE
#include "program/program_int.h"

#include "base/clock.h"
#include "cuda/core/core_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child, overdue;

enum { GRACE = 800000 }; /* microseconds */

/* What the terminal sends (SI_KERNEL) goes to the whole process group: the program has it
 * already. SIGTERM gives it some time: it may handle it, and be in a launch without end. */
static void
pass_on(int sig, siginfo_t *info, void *context)
{
    static const struct itimerval grace = {.it_value.tv_usec = GRACE};
    (void)context;
    if (child > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)child, sig);
    if (sig == SIGTERM)
        setitimer(ITIMER_REAL, &grace, NULL);
}

static void
grace_over(int sig)
{
    (void)sig;
    overdue = child > 0;
    if (overdue)
        kill((pid_t)child, SIGKILL);
}

enum { PASSED = 6 };
static const int passed[PASSED] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* What the child is, beside the setup. */
struct start {
    const struct program_setup *s;
    const struct allot_program *program;
    const char *path, *libraries, *record;
    char *const *argv;
    int err; /* its standard error goes there; -1: where ours goes */
    sigset_t mask;
};

static _Noreturn void
be_program(const struct start *b)
{
    const struct program_setup *s = b->s;
    program_environment(s, b->libraries, b->program, b->record);
    if (b->err >= 0)
        dup2(b->err, STDERR_FILENO);
    if (s->discard) {
        sigset_t none;
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
    } else {
        sigprocmask(SIG_SETMASK, &b->mask, NULL);
    }
    if (s->folder && chdir(s->folder)) {
        fprintf(stderr, "allot: cannot enter %s: %s\n", s->folder, strerror(errno));
        _exit(126);
    }
    /* The same addresses in every run; where that is forbidden, only the addresses of
     * registered host memory differ. */
    personality(ADDR_NO_RANDOMIZE);
    execv(b->path, b->argv);
    fprintf(stderr, "allot exec: cannot run %s: %s\n", b->path, strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* Its wait status; false if it could not be started. */
static bool
start_and_wait(struct start *b, int *status, struct strbuf *why)
{
    struct sigaction pass = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO},
                     over = {.sa_handler = grace_over}, old[PASSED], old_over;
    bool pass_signals = b->s->pass_signals;
    sigset_t block;
    fflush(NULL);
    /* The child has its handlers back before it is told of anything. */
    sigfillset(&block);
    sigprocmask(SIG_BLOCK, &block, &b->mask);
    for (size_t i = 0; pass_signals && i < PASSED; i++)
        sigaction(passed[i], &pass, &old[i]);
    if (pass_signals)
        sigaction(SIGALRM, &over, &old_over);
    overdue = 0;
    child = fork();
    if (!child) {
        /* Handlers of the command itself (cli_catch_signals) end with execv; what the
         * parent ignored stays ignored. */
        for (size_t i = 0; pass_signals && i < PASSED; i++)
            sigaction(passed[i], &old[i], NULL);
        if (pass_signals)
            sigaction(SIGALRM, &old_over, NULL);
        be_program(b);
    }
    pid_t pid = (pid_t)child;
    int failed = errno;
    sigprocmask(SIG_SETMASK, &b->mask, NULL);
    while (pid > 0 && waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    if (pass_signals) {
        static const struct itimerval off;
        setitimer(ITIMER_REAL, &off, NULL);
        sigaction(SIGALRM, &old_over, NULL);
        for (size_t i = 0; i < PASSED; i++)
            sigaction(passed[i], &old[i], NULL);
    }
    if (pid < 0)
        strbuf_printf(why, "cannot start %s: %s", b->path, strerror(failed));
    return pid > 0;
}

/* An empty file of its own; -1 and `why` if that fails. path: room for PATH_MAX. */
static int
temporary(char path[PATH_MAX], struct strbuf *why)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/allot-record-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        strbuf_printf(why, "cannot make %s: %s", path, strerror(errno));
    return fd;
}

/* The last few lines of a file, malloc'd; NULL: it is empty. */
static char *
tail(int fd)
{
    char text[600];
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text - 1 ? end - ((off_t)sizeof text - 1) : 0;
    ssize_t n = pread(fd, text, sizeof text - 1, from);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    if (n <= 0)
        return NULL;
    text[n] = 0;
    const char *line = from ? strchr(text, '\n') : NULL;
    return xstrdup(line ? line + 1 : text);
}

/* Whether the program's process has left this mark; it goes. */
static bool
take_mark(const char *record, const char *end)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s%s", record, end);
    return !unlink(path);
}

static void
settle(struct program_result *r, int ended)
{
    r->signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
    if (overdue && r->signal == SIGKILL) /* which took the place of what it was asked */
        r->signal = SIGTERM;
    r->status = r->signal ? 128 + r->signal : WEXITSTATUS(ended);
}

bool
program_run(const struct program_setup *s, char *const *argv, struct program_result *r,
            struct strbuf *why)
{
    struct arena mem = {0};
    struct allot_program program;
    char libraries[PATH_MAX], record[PATH_MAX], said[PATH_MAX];
    memset(r, 0, sizeof *r);
    const char *path = program_libraries(libraries, why)
                           ? program_find(argv[0], s->folder, &mem, why)
                           : NULL;
    bool ok = path && program_check(path, libraries, &program, why);
    /* It is started from its folder, the word as it stands. */
    const char *file = s->folder && strchr(argv[0], '/') ? argv[0] : path;
    int fd = ok ? temporary(record, why) : -1;
    struct start b = {s, &program, file, libraries, record, argv, -1, {{0}}};
    ok = fd >= 0;
    if (ok && s->capture && (b.err = temporary(said, why)) >= 0)
        unlink(said);
    ok &= b.err >= 0 || !s->capture;
    if (ok) {
        int ended = 0;
        double start = clock_seconds(CLOCK_MONOTONIC);
        program_result_init(r, s->all);
        ok = start_and_wait(&b, &ended, why);
        r->seconds = clock_seconds(CLOCK_MONOTONIC) - start;
        r->lowest = program.lowest;
        if (ok) {
            settle(r, ended);
            program_read_record(record, r);
            r->lost = take_mark(record, RECORD_LOST);
            r->cut = take_mark(record, RECORD_CUT);
            r->said = b.err >= 0 ? tail(b.err) : NULL;
        }
    }
    if (fd >= 0) {
        close(fd);
        unlink(record);
    }
    if (b.err >= 0)
        close(b.err);
    arena_free(&mem);
    return ok;
}

void
program_result_free(struct program_result *r)
{
    json_decref(r->all);
    json_decref(r->rows);
    json_decref(r->running);
    json_decref(r->failures);
    json_decref(r->working);
    json_decref(r->rank);
    free(r->said);
    memset(r, 0, sizeof *r);
}
