/* cmd_exec.c: allot exec: a CUDA program on the simulated GPU.
 *
 * The program finds our libraries in place of CUDA's (src/cuda/core/core.h tells the rest):
 * its environment says where they are and which machine to simulate. They keep a record
 * file of what runs (src/cuda/core/core_record.c); when the program has ended, the record
 * becomes the table, the JSON or the CSV. Standard output is the program's alone. */
#define _GNU_SOURCE
#include "cli/look.h"
#include "cli/passes.h"
#include "cli/runs.h"
#include "cli/why.h"

#include "base/clock.h"
#include "base/hash.h"
#include "cuda/core/core.h"
#include "report/figure_report.h"
#include "report/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct cli_cmd cmd = {
    "exec", "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    "Runs a CUDA program on the simulated GPU, or a script that starts one. It may use the\n"
    "runtime API, linked as shared library or statically (nvcc's default; then it must have\n"
    "its symbol table), or the driver API.\n"
    "Kernels must have PTX inside, as nvcc puts there unless told otherwise. The program's\n"
    "output and exit status are its own; the table of its kernels goes to standard error.\n"
    "A program killed by signal N gives the status 128+N, and the kernel that was running is\n"
    "named. Signals that allot exec gets are passed on to the program. Where a launch failed\n"
    "or was refused, and a program with status 0 took no notice, the status is 1.",
    "  allot exec ./saxpy 1000000\n"
    "  allot exec --machine titan --scheduler lrr --json saxpy.json -- ./saxpy -n 4\n"
    "  allot exec --functional --per-kernel python3 script.py\n"
    "  allot exec --kernel 'gemm*' --skip 2 --count 1 --why ./app\n"};

struct want {
    const char *json, *csv, *db;
    bool per_kernel, none;
    struct cli_look look;
    const char *kernel, *skip, *count; /* which launches have timing */
};

/* -- where our libraries are -- */

/* The folder beside the command (build tree), or of the installation; NULL after saying
 * that there is none. */
static const char *
library_folder(void)
{
    static char dir[PATH_MAX + 32];
    const char *given = getenv("ALLOT_CUDA_LIBRARIES");
    char self[PATH_MAX], probe[2 * PATH_MAX];
    if (given && *given)
        return given;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    static const char *const places[] = {"cuda", "../lib/allot/cuda"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(dir, sizeof dir, "%s/%s", self, places[i]);
        snprintf(probe, sizeof probe, "%s/liballot-cuda.so", dir);
        if (!access(probe, R_OK))
            return dir;
    }
    fprintf(stderr,
            "allot exec: the libraries in place of CUDA's are neither in %s/cuda nor in "
            "%s/../lib/allot/cuda; set ALLOT_CUDA_LIBRARIES to their folder\n",
            self, self);
    return NULL;
}

/* -- the program -- */

/* The first program of that name in PATH. */
static bool
in_path(const char *name, char path[PATH_MAX])
{
    const char *p = getenv("PATH");
    for (p = p ? p : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        struct stat st;
        snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name);
        if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

/* The file that the shell would run; NULL after saying why there is none. */
static const char *
find_program(const char *name)
{
    static char path[PATH_MAX];
    if (strchr(name, '/')) {
        if (!access(name, X_OK))
            return name;
        fprintf(stderr, "allot exec: cannot run %s: %s\n", name, strerror(errno));
        return NULL;
    }
    if (in_path(name, path))
        return path;
    fprintf(stderr, "allot exec: there is no program '%s' in PATH%s\n", name,
            access(name, X_OK) ? "" : "; here there is: write ./ before it");
    return NULL;
}

/* Says what keeps the program from running, and what to do; true: nothing. */
static bool
check_program(const char *path, const char *folder, struct allot_program *p,
              struct allot_diag *d)
{
    char lib[2 * PATH_MAX];
    if (!allot_program_read(path, p, d)) {
        cli_diag(d);
        return false;
    }
    if (p->images && p->machine_only == p->images) {
        fprintf(stderr,
                "allot exec: %s holds machine code only, no PTX to simulate\n"
                "  rebuild with PTX: nvcc -arch=compute_75 ..., or add\n"
                "  -gencode arch=compute_75,code=compute_75 to the others; with CMake\n"
                "  -DCMAKE_CUDA_ARCHITECTURES=75-virtual\n",
                path);
        return false;
    }
    snprintf(lib, sizeof lib, "%s/%s", folder, p->runtime);
    if (*p->runtime && access(lib, R_OK)) {
        fprintf(stderr,
                "allot exec: %s is linked to %s; there are libraries in place of those\n"
                "  of CUDA 11, 12 and 13: rebuild it with one of these\n",
                path, p->runtime);
        return false;
    }
    if (p->device_code && !*p->runtime && !p->driver && !p->static_runtime) {
        fprintf(stderr,
                "allot exec: %s has the CUDA runtime linked statically and no symbol "
                "table\n"
                "  to find it by: do not strip it, or rebuild: nvcc -cudart shared ...;\n"
                "  with CMake set_property(TARGET ... PROPERTY CUDA_RUNTIME_LIBRARY "
                "Shared)\n",
                path);
        return false;
    }
    return true;
}

/* -- its environment -- */

/* Behind what the user preloads, which may have to come first (sanitizers). */
static void
preload(const char *folder, const char *library)
{
    const char *old = getenv("LD_PRELOAD");
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%s%s/%s", old ? old : "", old && *old ? ":" : "", folder,
                  library);
    setenv("LD_PRELOAD", b.s, 1);
    strbuf_free(&b);
}

static void
prepend(const char *name, const char *value)
{
    const char *old = getenv(name);
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%s%s", value, old && *old ? ":" : "", old ? old : "");
    setenv(name, b.s, 1);
    strbuf_free(&b);
}

static void
set_or_clear(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Python packages that make machine code of their PTX before they load it get stand-ins
 * for the tools that do so (src/cuda/ptxas.sh for Triton, nvcc.sh for PyCUDA). */
static void
keep_ptx(const char *folder)
{
    struct strbuf b = {0};
    char nvcc[PATH_MAX];
    strbuf_printf(&b, "%s/ptxas", folder);
    setenv("TRITON_PTXAS_PATH", b.s, 1);
    setenv("TRITON_PTXAS_BLACKWELL_PATH", b.s, 1);
    b.n = 0;
    strbuf_printf(&b, "%s/bin", folder);
    if (in_path("nvcc", nvcc))
        prepend("PATH", b.s);
    strbuf_free(&b);
}

/* Is a line kept for every launch? */
static bool
keeps_all(const struct want *w)
{
    return w->json || w->csv || w->db || w->look.why;
}

static void
set_path(const char *name, const char *path)
{
    char whole[PATH_MAX], *here = path && *path != '/' ? getcwd(whole, PATH_MAX) : NULL;
    set_or_clear(name, here ? arena_printf(cli_mem(), "%s/%s", here, path) : path);
}

/* What is to be seen of which launches (src/cuda/core/core_look.c). */
static void
set_look(const struct want *w)
{
    const struct cli_look *l = &w->look;
    set_or_clear("ALLOT_KERNEL", w->kernel);
    set_or_clear("ALLOT_SKIP", w->skip);
    set_or_clear("ALLOT_COUNT", w->count);
    set_path("ALLOT_TRACE", l->trace);
    set_or_clear("ALLOT_TRACE_FROM", l->trace ? l->from : NULL);
    set_or_clear("ALLOT_TRACE_TO", l->trace ? l->to : NULL);
    set_or_clear("ALLOT_TRACE_LIMIT", l->trace ? l->limit : NULL);
    set_path("ALLOT_TIMELINE", l->timeline);
    set_or_clear("ALLOT_TIMELINE_CYCLES", l->timeline ? l->every : NULL);
    set_or_clear("ALLOT_TIMELINE_SMS", l->timeline && l->timeline_sms ? "1" : NULL);
}

static void
set_environment(const struct cli_sim *s, const struct want *w, const char *folder,
                const struct allot_program *p, const char *record)
{
    struct strbuf b = {0};
    char threads[16];
    size_t n;
    const char *const *settings = cli_sim_settings(s, &n);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "%s\n", settings[i]);
    prepend("LD_LIBRARY_PATH", folder);
    if (p->rpath && *p->runtime) /* its own folders would be searched first */
        preload(folder, p->runtime);
    /* src/cuda/static.c; a program without device code of its own may start one with. */
    if (p->static_runtime || !p->device_code)
        preload(folder, "liballot-static.so");
    keep_ptx(folder);
    setenv("ALLOT_MACHINE", s->machine, 1);
    set_or_clear("ALLOT_SETTINGS", b.n ? b.s : NULL);
    b.n = 0;
    for (size_t i = 0; i < s->schedules.n; i++) {
        char path[PATH_MAX]; /* the program may change its folder */
        strbuf_printf(&b, "%s\n",
                      realpath(s->schedules.v[i], path) ? path : s->schedules.v[i]);
    }
    set_or_clear("ALLOT_SCHEDULES", b.n ? b.s : NULL);
    set_or_clear("ALLOT_FUNCTIONAL", s->functional ? "1" : NULL);
    set_or_clear("ALLOT_NO_SKIP", s->no_skip ? "1" : NULL);
    snprintf(threads, sizeof threads, "%u", cli_sim_threads(s));
    setenv("ALLOT_THREADS", threads, 1);
    set_or_clear("ALLOT_MAX_CYCLES", s->max_cycles);
    set_or_clear("ALLOT_MAX_INSTRUCTIONS", s->max_instructions);
    set_or_clear("ALLOT_GUARD", s->guard);
    set_or_clear("ALLOT_CHECK",
                 s->checks ? arena_printf(cli_mem(), "%u", s->checks) : NULL);
    set_or_clear("ALLOT_REPORT", w->per_kernel ? "kernel" : NULL);
    setenv("ALLOT_RECORD", record, 1);
    set_or_clear("ALLOT_RECORD_ALL", keeps_all(w) ? "1" : NULL);
    set_look(w);
    strbuf_free(&b);
}

/* -- running it -- */

static volatile sig_atomic_t child;

/* What the terminal sends (SI_KERNEL) goes to the whole process group: the program has it
 * already. */
static void
pass_on(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)child, sig);
}

/* Its wait status; false if it could not be started. */
static bool
run_program(const char *path, char **argv, int *status)
{
    static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    enum { N = sizeof passed / sizeof *passed };
    struct sigaction pass = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO}, old[N];
    sigset_t block, before;
    fflush(NULL);
    /* The child has its handlers back before it is told of anything. */
    sigfillset(&block);
    sigprocmask(SIG_BLOCK, &block, &before);
    for (size_t i = 0; i < N; i++)
        sigaction(passed[i], &pass, &old[i]);
    child = fork();
    if (!child) {
        /* Handlers of the command itself (cli_catch_signals) end with execv; what the
         * parent ignored stays ignored. */
        for (size_t i = 0; i < N; i++)
            sigaction(passed[i], &old[i], NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        /* The same addresses in every run; where that is forbidden, only the addresses of
         * registered host memory differ. */
        personality(ADDR_NO_RANDOMIZE);
        execv(path, argv);
        fprintf(stderr, "allot exec: cannot run %s: %s\n", path, strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0) {
        fprintf(stderr, "allot exec: cannot start %s: %s\n", path, strerror(errno));
        return false;
    }
    while (waitpid((pid_t)child, status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    return true;
}

/* -- what came of it -- */

struct outcome {
    const struct cli_list *words; /* the program and its arguments */
    const struct allot_program *program;
    int status;     /* exit status, or 128 + signal */
    int signal;     /* that ended it; 0: none */
    double seconds; /* of the host */
};

static double
number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* What the record says: every launch where they are wanted, and one row a kernel, in the
 * order of first launches. */
struct launches {
    json_t *all;         /* array; NULL: not wanted */
    json_t *rows, *rank; /* array; row of each name */
    json_t *running;     /* rows of kernels that had not ended */
    json_t *failures;    /* rows of launches that failed or were refused */
    uint64_t findings;   /* of --check */
    json_t *overlooked;  /* the first of them that the program took no notice of, NULL */
};

/* A launch that failed or was refused: the row as users see it. */
static void
add_failure(struct launches *l, const char *name, json_t *o)
{
    bool noticed = number(o, "noticed") >= number(o, "count");
    json_t *row = json_pack(
        "{s:s, s:s, s:O, s:O, s:I, s:I, s:b}", "kernel", name, "outcome",
        number(o, "fault") ? "failed" : "refused", "error", json_object_get(o, "error"),
        "reason", json_object_get(o, "why"), "launch", (json_int_t)number(o, "launch"),
        "count", (json_int_t)number(o, "count"), "noticed", noticed);
    json_array_append_new(l->failures, row);
    if (!noticed && !l->overlooked)
        l->overlooked = row;
}

/* A kernel's row in one process: processes are added up. */
static void
add_row(struct launches *l, const char *name, json_t *o)
{
    static const char *const summed[] = {"launches", "cycles", "warp_instructions",
                                         "thread_instructions", "seconds"};
    if (number(o, "running"))
        json_array_append(l->running, o);
    if (!number(o, "launches"))
        return;
    bool functional = number(o, "functional");
    const char *rank = functional ? arena_printf(cli_mem(), "%s functional", name) : name;
    json_t *row = json_object_get(l->rank, rank);
    if (!row) {
        row = json_pack("{s:s, s:o, s:b}", "name", name, "resident_blocks",
                        json_integer((json_int_t)number(o, "resident_blocks")),
                        "functional", functional);
        json_array_append_new(l->rows, row);
        json_object_set(l->rank, rank, row);
    }
    for (size_t k = 0; k < sizeof summed / sizeof *summed; k++)
        json_object_set_new(row, summed[k],
                            json_real(number(row, summed[k]) + number(o, summed[k])));
}

/* A last line that was cut short is left out. */
static void
read_record(const char *path, struct launches *l)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    while (f && getline(&line, &room, f) > 0) {
        json_t *o = json_loads(line, 0, NULL);
        const char *row = json_string_value(json_object_get(o, "kernel_row"));
        const char *failed = json_string_value(json_object_get(o, "failure"));
        if (row)
            add_row(l, row, o);
        else if (failed)
            add_failure(l, failed, o);
        else if (json_object_get(o, "findings"))
            l->findings += (uint64_t)number(o, "findings");
        else if (o && l->all)
            json_array_append(l->all, o);
        json_decref(o);
    }
    free(line);
    if (f)
        fclose(f);
}

static void
table_row(struct table *t, const json_t *row, bool functional)
{
    char b[32];
    double cycles = number(row, "cycles"), insts = number(row, "thread_instructions");
    bool timed = !json_is_true(json_object_get(row, "functional"));
    table_cell(
        t, "%s",
        cli_kernel_name(json_string_value(json_object_get(row, "name")), CLI_NAME));
    table_cell(t, "%.0f", number(row, "launches"));
    if (!functional)
        table_cell(t, "%s", timed ? table_thousands(b, (uint64_t)cycles) : "-");
    table_cell(t, "%s", table_thousands(b, (uint64_t)number(row, "warp_instructions")));
    table_cell(t, "%s", table_thousands(b, (uint64_t)insts));
    if (!functional && !timed) {
        table_cell(t, "-");
        table_cell(t, "-");
    } else if (!functional) {
        table_cell(t, "%.2f", cycles ? insts / cycles : 0);
        table_cell(t, "%.0f", number(row, "resident_blocks"));
    }
    table_cell(t, "%.3f", number(row, "seconds"));
}

static void
print_table(const json_t *rows, const char *program, bool failures,
            const struct allot_machine *m, const struct cli_sim *s)
{
    size_t i;
    json_t *row;
    char sched[64] = "", resid[64] = "";
    allot_machine_get(m, "sm.scheduler", sched, sizeof sched);
    allot_machine_get(m, "residency.policy", resid, sizeof resid);
    if (s->functional)
        fprintf(stderr, "\n%s, functional\n\n", program);
    else
        fprintf(stderr, "\n%s on %s, scheduler %s, residency %s\n\n", program,
                allot_machine_name(m), sched, resid);
    if (!json_array_size(rows)) {
        fprintf(stderr, "no kernel %s\n", failures ? "ran to its end" : "was launched");
        return;
    }
    struct table *t =
        s->functional
            ? table_new(5, (const char *const[]){"kernel", "launches", "warp instr.",
                                                 "thread instr.", "host s"})
            : table_new(8, (const char *const[]){"kernel", "launches", "cycles",
                                                 "warp instr.", "thread instr.", "IPC",
                                                 "blocks/SM", "host s"});
    json_array_foreach(rows, i, row) table_row(t, row, s->functional);
    table_show(t, stderr);
    table_free(t);
}

static unsigned
dim(const json_t *row, const char *key, size_t i)
{
    return (unsigned)json_integer_value(json_array_get(json_object_get(row, key), i));
}

/* A launch that had not ended: which, how far it was, where. */
static void
print_running(const json_t *row)
{
    char b[32];
    double cycles = number(row, "cycles_so_far"),
           insts = number(row, "thread_instructions_so_far");
    const char *where = json_string_value(json_object_get(row, "where"));
    fprintf(stderr,
            "allot exec: kernel %s <<<(%u,%u,%u), (%u,%u,%u)>>> was running, its launch "
            "%.0f; what is told here\n  is without it\n",
            cli_kernel_name(json_string_value(json_object_get(row, "kernel_row")), 0),
            dim(row, "grid", 0), dim(row, "grid", 1), dim(row, "grid", 2),
            dim(row, "block", 0), dim(row, "block", 1), dim(row, "block", 2),
            number(row, "launches") + 1);
    if (number(row, "blocks") <= 0)
        return;
    fprintf(stderr, "  so far: %.0f of %.0f blocks had ended", number(row, "blocks_done"),
            number(row, "blocks"));
    if (insts > 0)
        fprintf(stderr, ", %s thread instructions", table_thousands(b, (uint64_t)insts));
    if (cycles > 0)
        fprintf(stderr, ", %s cycles, IPC %.2f", table_thousands(b, (uint64_t)cycles),
                insts / cycles);
    fprintf(stderr, "\n");
    if (where && *where)
        fprintf(stderr, "  where: %s\n", where);
}

/* How the program ended, where that was not by itself, and in which kernel. And which
 * launches failed; without `all` only those that the program took no notice of. */
static void
print_end(const struct outcome *r, const struct launches *l, bool all)
{
    size_t i;
    json_t *row;
    if (r->signal)
        fprintf(stderr, "allot exec: %s was ended by SIG%s\n", r->words->v[0],
                sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?");
    json_array_foreach(l->running, i, row) print_running(row);
    json_array_foreach(l->failures, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "kernel"));
        double count = number(row, "count");
        if (!all && json_is_true(json_object_get(row, "noticed")))
            continue;
        fprintf(stderr, "allot exec: launch %.0f, of %s, %s (%s): %s\n",
                number(row, "launch"), cli_kernel_name(name, 0),
                !strcmp(json_string_value(json_object_get(row, "outcome")), "failed")
                    ? "failed"
                    : "was refused",
                json_string_value(json_object_get(row, "error")),
                json_string_value(json_object_get(row, "reason")));
        if (count > 1)
            fprintf(stderr, "  and %.0f more with this error\n", count - 1);
    }
    if (l->overlooked && !r->status)
        fprintf(stderr, "allot exec: the program took no notice and ended with status 0; "
                        "its results cannot be\n  trusted, and this command's status is "
                        "1\n");
}

/* Why the run counts as failed; NULL: it does not. In cli_mem. */
static const char *
failure_of(const struct outcome *r, const struct launches *l)
{
    if (l->overlooked)
        return arena_printf(cli_mem(), "launch %.0f, of %s, %s (%s): %s",
                            number(l->overlooked, "launch"),
                            json_string_value(json_object_get(l->overlooked, "kernel")),
                            json_string_value(json_object_get(l->overlooked, "outcome")),
                            json_string_value(json_object_get(l->overlooked, "error")),
                            json_string_value(json_object_get(l->overlooked, "reason")));
    return r->status ? arena_printf(cli_mem(), "exit status %d", r->status) : NULL;
}

static bool
write_json(const struct launches *l, const char *path, const struct outcome *r,
           const struct allot_machine *m, const struct cli_sim *s)
{
    json_t *o = json_pack("{s:o, s:o, s:o, s:s, s:i, s:O}", "machine",
                          json_text(allot_machine_name(m)), "workload",
                          json_text(r->words->v[0]), "options", cli_sim_json(m, s),
                          "check", failure_of(r, l) ? "failed" : "passed", "exit_status",
                          r->status, "kernels", l->all);
    json_object_set_new(o, "machine_settings", run_machine(m));
    if (failure_of(r, l))
        json_object_set_new(o, "reason", json_text(failure_of(r, l)));
    if (json_array_size(l->failures))
        json_object_set(o, "failures", l->failures);
    if (r->signal)
        json_object_set_new(o, "signal", json_integer(r->signal));
    if (json_array_size(l->running))
        json_object_set_new(
            o, "running",
            json_copy(json_object_get(json_array_get(l->running, 0), "kernel_row")));
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    struct strbuf b = {0};
    strbuf_printf(&b, "%s\n", text);
    bool ok = cli_write_file(path, b.s, b.n);
    strbuf_free(&b);
    free(text);
    json_decref(o);
    return ok;
}

/* Columns as of allot run --csv. */
static bool
write_csv(const json_t *launches, const char *path, const char *program,
          const struct allot_machine *m)
{
    struct strbuf b = {0};
    struct allot_stat_info info;
    size_t i;
    json_t *o;
    strbuf_addz(&b, "workload,machine,kernel,seconds");
    for (size_t k = 0; allot_stat(k, &info); k++)
        strbuf_printf(&b, ",%s", info.id);
    strbuf_addz(&b, "\n");
    json_array_foreach(launches, i, o)
    {
        csv_field(&b, program);
        strbuf_addz(&b, ",");
        csv_field(&b, allot_machine_name(m));
        strbuf_printf(&b, ",%s,%.6f", json_string_value(json_object_get(o, "name")),
                      number(o, "seconds"));
        for (size_t k = 0; allot_stat(k, &info); k++)
            strbuf_printf(&b, info.derived ? ",%.9g" : ",%.0f", number(o, info.id));
        strbuf_addz(&b, "\n");
    }
    bool ok = cli_write_file(path, b.s, b.n);
    strbuf_free(&b);
    return ok;
}

/* A program that ends without a kernel may have found the GPU too old. */
static void
explain_capability(const struct allot_program *p, const struct allot_machine *m)
{
    char text[32] = "";
    uint64_t have = 0;
    allot_machine_get(m, "gpu.compute_capability", text, sizeof text);
    if (!cli_u64(text, 0, 1000, &have) || p->lowest <= have)
        return;
    fprintf(
        stderr,
        "allot exec: the program's PTX is for compute capability %u.%u and later, and "
        "%s\n"
        "  says %u.%u. Any PTX is simulated on any machine; but a program that asks may\n"
        "  refuse. Choose another machine ('allot list machines'), or let this one say\n"
        "  more: --set gpu.compute_capability=%u\n",
        p->lowest / 10, p->lowest % 10, allot_machine_name(m), (unsigned)have / 10,
        (unsigned)have % 10, p->lowest);
}

/* What identifies the PTX of a program: the hash of its one module; of several, a hash of
 * theirs, in the order of their first launches. */
static const char *
ptx_hash(const json_t *launches)
{
    struct hash h = hash_start();
    json_t *seen = json_object(), *o;
    const char *last = "";
    size_t i;
    json_array_foreach(launches, i, o)
    {
        const char *one = json_string_value(json_object_get(o, "ptx_hash"));
        if (!one || json_object_get(seen, one))
            continue;
        json_object_set_new(seen, one, json_true());
        hash_text(&h, one);
        last = one;
    }
    char *hex = ARENA_ARRAY(cli_mem(), char, 33);
    if (json_object_size(seen) == 1)
        memcpy(hex, last, strlen(last) + 1);
    else if (json_object_size(seen))
        hash_hex(&h, hex);
    else
        *hex = 0;
    json_decref(seen);
    return hex;
}

/* A run of the store: its program, its arguments, one launch a row. */
static bool
store(json_t *launches, const struct want *w, const struct outcome *r,
      const char *failure, const struct allot_machine *m, const struct cli_sim *s)
{
    const struct cli_list *pos = r->words;
    const char **args = ARENA_ARRAY(cli_mem(), const char *, pos->n);
    size_t i, nargs = 0;
    json_t *o;
    for (i = 1; i < pos->n; i++)
        args[nargs++] = arena_printf(cli_mem(), "arg=%s", pos->v[i]);
    json_array_foreach(launches, i, o)
        json_object_set(o, "kernel", json_object_get(o, "name"));
    struct cli_ran ran = {.db = w->db,
                          .workload = pos->v[0],
                          .params = args,
                          .nparams = nargs,
                          .sim = s,
                          .seconds = r->seconds,
                          .ok = !failure,
                          .message = failure ? failure : "",
                          .ptx_hash = ptx_hash(launches),
                          .launches = launches};
    ran.settings = cli_sim_settings(s, &ran.nsettings);
    return cli_store_run(&ran, m);
}

static bool
report(const char *record, const struct want *w, const struct outcome *r,
       const struct allot_machine *m, const struct cli_sim *s)
{
    const char *program = r->words->v[0];
    struct launches l = {.all = keeps_all(w) ? json_array() : NULL,
                         .rows = json_array(),
                         .rank = json_object(),
                         .running = json_array(),
                         .failures = json_array()};
    bool ok = true;
    read_record(record, &l);
    if (w->json)
        ok &= write_json(&l, w->json, r, m, s);
    if (w->csv)
        ok &= write_csv(l.all, w->csv, program, m);
    if (w->db)
        ok &= store(l.all, w, r, failure_of(r, &l), m, s);
    if (!w->none)
        print_table(l.rows, program, json_array_size(l.failures), m, s);
    if (w->look.why)
        ok &= why_print_launches(l.all, stderr);
    print_end(r, &l, !w->none);
    ok &= !l.overlooked;
    ok &= cli_check_end(s, l.findings);
    if (r->status && !json_array_size(l.rows))
        explain_capability(r->program, m);
    json_decref(l.all);
    json_decref(l.rows);
    json_decref(l.rank);
    json_decref(l.running);
    json_decref(l.failures);
    return ok;
}

/* -- the command -- */

/* Options of a simulation without those of workloads. */
static void
program_options(struct cli_sim *s, struct cli_opt table[CLI_SIM_OPTIONS])
{
    static const char *const left_out[] = {"quick", "seed", "compiler"};
    cli_sim_options(s, table);
    cli_leave_out(table, left_out, sizeof left_out / sizeof *left_out);
}

static int
exec_program(struct cli_list *pos, const struct cli_sim *s, const struct want *w,
             const struct allot_machine *m, struct allot_diag *d)
{
    const char *folder = library_folder();
    const char *path = folder ? find_program(pos->v[0]) : NULL;
    struct allot_program program;
    const char *tmp = getenv("TMPDIR");
    char record[PATH_MAX];
    snprintf(record, sizeof record, "%s/allot-record-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!path || !check_program(path, folder, &program, d))
        return EXIT_FAILED;
    int fd = mkostemp(record, O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "allot exec: cannot make %s: %s\n", record, strerror(errno));
        return EXIT_FAILED;
    }
    close(fd);
    set_environment(s, w, folder, &program, record);
    double start = clock_seconds(CLOCK_MONOTONIC);
    struct outcome r = {.words = pos, .program = &program};
    int ended = 0;
    bool ok = run_program(path, (char **)pos->v, &ended);
    r.seconds = clock_seconds(CLOCK_MONOTONIC) - start;
    if (ok) {
        r.signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
        r.status = r.signal ? 128 + r.signal : WEXITSTATUS(ended);
        ok = report(record, w, &r, m, s);
    }
    unlink(record);
    return ok || r.status ? r.status : EXIT_FAILED;
}

int
cmd_exec(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct want w = {.look = CLI_LOOK_DEFAULTS};
    s.machine = ACU_MACHINE;
    const struct cli_opt own[] = {
        {"per-kernel", 0, NULL, "a line on standard error after each launch", NULL, NULL,
         &w.per_kernel},
        {"json", 0, "FILE", "one JSON object with every launch and every counter",
         &w.json, NULL, NULL},
        {"csv", 0, "FILE", "one CSV line a launch, with every counter", &w.csv, NULL,
         NULL},
        {"db", 0, "FILE", "store the run there (see 'allot results'), a row a launch",
         &w.db, NULL, NULL},
        {"kernel", 0, "PATTERN",
         "timing for kernels of this name alone (* and ?), the others are only executed",
         &w.kernel, NULL, NULL},
        {"skip", 0, "N", "... but the first N launches of them", &w.skip, NULL, NULL},
        {"count", 0, "N", "... and N launches at most", &w.count, NULL, NULL},
        CLI_LOOK_OPTIONS(&w.look),
        CLI_PASSES_OPTION(&s),
        CLI_CHECK_OPTION(&s),
        {"no-table", 0, NULL, "nothing on standard error at the end", NULL, NULL,
         &w.none},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS];
    struct cli_list pos;
    program_options(&s, sim);
    if (!cli_parse_program(&cmd, (const struct cli_opt *const[]){sim, own, NULL}, argc,
                           argv, &pos))
        return EXIT_USAGE;
    if (!pos.n)
        return cli_usage(&cmd, "give a program");
    if (!pass_names_check(&cmd, s.passes) || !cli_check(&cmd, &s))
        return EXIT_USAGE;
    if (w.db && s.functional)
        return cli_usage(&cmd, "--functional has no timing to store");
    if (!cli_sim_methods(&cmd, &s, 1))
        return EXIT_USAGE;
    if (w.db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store keeps methods of scheduling, no files");
    if (s.functional && (s.schedules.n || s.methods.n))
        return cli_usage(&cmd, "--schedule: an order of blocks needs the cycle model");
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, NULL))
        return EXIT_USAGE;
    uint64_t n;
    if (w.skip && !cli_u64(w.skip, 0, UINT64_MAX, &n))
        return cli_usage(&cmd, "--skip %s: not a number of launches", w.skip);
    if (w.count && !cli_u64(w.count, 1, UINT64_MAX, &n))
        return cli_usage(&cmd, "--count %s: not a positive number of launches", w.count);
    if ((w.kernel || w.skip || w.count) && s.functional)
        return cli_usage(&cmd, "--kernel, --skip, --count: nothing has timing here");
    int status = cli_look_check(&cmd, &w.look, s.functional, &o);
    if (status)
        return status;
    if (w.look.trace && !cli_write_file(w.look.trace, "", 0))
        return EXIT_FAILED;
    if (w.look.timeline && !cli_write_file(w.look.timeline, "", 0))
        return EXIT_FAILED;
    if ((w.json && !cli_writable(w.json)) || (w.csv && !cli_writable(w.csv)) ||
        !cli_store_ready(w.db))
        return EXIT_FAILED;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(&s, d);
    status = EXIT_FAILED;
    cli_diag(d);
    allot_diag_clear(d);
    if (m)
        status = exec_program(&pos, &s, &w, m, d);
    allot_machine_free(m);
    allot_diag_free(d);
    return status;
}
