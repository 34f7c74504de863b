/* cli.c: option tables over getopt_long, help, progress, small parsers. */
#include "cli/cli.h"
#include "cli/runs.h"

#include "base/demangle.h"
#include "base/number.h"
#include "experiments/figure.h"
#include "experiments/subject.h"
#include "base/data.h"
#include "base/file.h"
#include "base/near.h"
#include "cta/method.h"
#include "report/chart.h"

#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

struct arena *
cli_mem(void)
{
    static struct arena mem;
    return &mem;
}

/* -- options -- */

/* Columns of the terminal behind fd; `otherwise` if there is none. */
static int
columns(int fd, int otherwise)
{
    struct winsize w;
    return ioctl(fd, TIOCGWINSZ, &w) || w.ws_col < 2 ? otherwise : w.ws_col;
}

enum { HELP_INDENT = 33, HELP_WIDTH = 100 };

/* An option and what it does, broken between words. */
static void
help_line(const char *left, const char *text)
{
    const int width = columns(STDOUT_FILENO, HELP_WIDTH) - HELP_INDENT;
    const size_t room = width < 30 ? 30 : (size_t)width;
    printf("  %-30s ", left);
    while (strlen(text) > room) {
        size_t n = room;
        while (n && text[n] != ' ')
            n--;
        if (!n)
            n = strcspn(text, " ");
        printf("%.*s\n%*s", (int)n, text, HELP_INDENT, "");
        text += n + (text[n] == ' ');
    }
    printf("%s\n", text);
}

static void
print_help(const struct cli_cmd *cmd, const struct cli_opt *const *tables)
{
    printf("usage: allot %s %s\n\n%s\n", cmd->name, cmd->usage, cmd->about);
    if (tables[0])
        printf("\noptions:\n");
    for (; *tables; tables++) {
        for (const struct cli_opt *o = *tables; o->name; o++) {
            char left[64];
            snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "  ",
                     o->letter ? o->letter : ' ', o->letter ? ", " : " ", o->name,
                     o->value ? " " : "", o->value ? o->value : "");
            help_line(left, o->help);
        }
    }
    help_line("-h, --help", "this text");
    if (cmd->examples)
        printf("\nexamples:\n%s", cmd->examples);
}

/* -- manual pages: the same texts as --help, as roff -- */

/* A line may not begin with a control character; backslashes and dashes are escaped. */
static void
roff(const char *s)
{
    bool line_start = true;
    for (; *s; s++) {
        if (line_start && (*s == '.' || *s == '\''))
            printf("\\&");
        line_start = *s == '\n';
        if (*s == '\\')
            printf("\\e");
        else if (*s == '-')
            printf("\\-");
        else
            putchar(*s);
    }
}

static void
man_option(char letter, const char *name, const char *value, const char *help)
{
    printf(".TP\n\\fB");
    if (letter)
        printf("\\-%c\\fR, \\fB", letter);
    roff("--");
    roff(name);
    printf("\\fR");
    if (value) {
        printf(" \\fI");
        roff(value);
        printf("\\fR");
    }
    printf("\n");
    roff(help);
    printf("\n");
}

void
cli_man_head(const char *name, const char *summary)
{
    printf(".TH ALLOT%s%s 1 \"\" \"allot " ALLOT_VERSION
           "\" \"User Commands\"\n.SH NAME\nallot",
           *name ? "\\-" : "", name);
    if (*name) {
        printf("\\-");
        roff(name);
    }
    printf(" \\- ");
    roff(summary);
    printf("\n.SH SYNOPSIS\n.B allot ");
    roff(name);
    printf("\n");
}

static void
print_man(const struct cli_cmd *cmd, const struct cli_opt *const *tables)
{
    cli_man_head(cmd->name, cli_summary(cmd->name));
    roff(cmd->usage);
    printf("\n.SH DESCRIPTION\n");
    roff(cmd->about);
    printf("\n.SH OPTIONS\n");
    for (; *tables; tables++)
        for (const struct cli_opt *o = *tables; o->name; o++)
            man_option(o->letter, o->name, o->value, o->help);
    man_option('h', "help", NULL, "a short form of this text");
    man_option(0, "man", NULL, "this text");
    if (cmd->examples) {
        printf(".SH EXAMPLES\n.nf\n");
        roff(cmd->examples);
        printf(".fi\n");
    }
    printf(".SH EXIT STATUS\n0: done and checked; 1: failed; 2: wrong usage; 130: "
           "interrupted by Ctrl-C; 143: by SIGTERM.\n.SH SEE ALSO\n.BR allot (1)\n");
}

int
cli_usage(const struct cli_cmd *cmd, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "allot %s: ", cmd->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n(see 'allot %s --help')\n", cmd->name);
    return EXIT_USAGE;
}

static const struct cli_opt *
find_opt(const struct cli_opt *const *tables, int index)
{
    for (; *tables; tables++)
        for (const struct cli_opt *o = *tables; o->name; o++)
            if (index-- == 0)
                return o;
    return NULL;
}

const char *
cli_did_you_mean(const char *before, const char *best)
{
    return best ? arena_printf(cli_mem(), "; did you mean '%s%s'?", before, best) : "";
}

/* Nearest long option, for "did you mean". */
static const char *
nearest_opt(const struct cli_opt *const *tables, const char *given)
{
    struct near near = {.word = given};
    for (; *tables; tables++)
        for (const struct cli_opt *o = *tables; o->name; o++)
            near_offer(&near, o->name);
    return near.best;
}

const char *
cli_near_word(const char *word, const char *const *words, size_t n)
{
    struct near near = {.word = word};
    for (size_t i = 0; i < n; i++)
        near_offer(&near, words[i]);
    return cli_did_you_mean("", near.best);
}

const char *
cli_near_workload(const char *name)
{
    struct near near = {.word = name};
    for (size_t i = 0; allot_workloads[i]; i++)
        near_offer(&near, allot_workloads[i]->name);
    return cli_did_you_mean("", near.best);
}

const char *
cli_near_experiment(const char *name)
{
    return cli_did_you_mean("", figure_near(name, cli_mem()));
}

bool
cli_known_experiments(const struct cli_cmd *cmd, const struct cli_list *names)
{
    for (size_t i = 0; i < names->n; i++) {
        char *path = figure_find(names->v[i]);
        free(path);
        if (!path)
            return cli_usage(
                       cmd,
                       "there is no experiment '%s'%s\n('allot paper --list' names them)",
                       names->v[i], cli_near_experiment(names->v[i])),
                   false;
    }
    return true;
}

bool
cli_known_workloads(const struct cli_cmd *cmd, const struct cli_list *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (!allot_workload_find(names->v[i]))
            return cli_usage(cmd,
                             "no workload is called '%s'%s\n('allot list workloads' "
                             "names them)",
                             names->v[i], cli_near_workload(names->v[i])),
                   false;
    return true;
}

bool
cli_chart_named(const struct cli_cmd *cmd, const char *chart, const char *style,
                struct chart_look *look)
{
    if (chart && !chart_format(chart))
        return cli_usage(cmd, "--chart %s: the name must end in .svg, .pdf, .png or .txt",
                         chart),
               false;
    if (!style)
        return true;
    struct diag_sink diag = {0};
    bool ok = chart && chart_look_parse(style, look, &diag);
    if (!chart)
        cli_usage(cmd, "--chart-style: of which chart? (--chart)");
    else if (!ok)
        cli_usage(cmd, "--chart-style: %s", diag.list[0]->message);
    diag_free(&diag);
    return ok;
}

/* first: what getopt's list of short options begins with. */
static bool
parse(const struct cli_cmd *cmd, const struct cli_opt *const *tables, int argc,
      char **argv, struct cli_list *pos, const char *first)
{
    enum { MAX = 64, BASE = 1000, MAN = 500, COMPLETION };
    struct option longs[MAX + 4];
    char shorts[2 * MAX + 5];
    strcpy(shorts, first);
    int n = 0;
    const struct cli_opt *o;
    for (; (o = find_opt(tables, n)) && n < MAX; n++) {
        longs[n] = (struct option){o->name, o->value ? required_argument : no_argument,
                                   NULL, BASE + n};
        if (o->letter) {
            char s[3] = {o->letter, o->value ? ':' : 0, 0};
            strcat(shorts, s);
        }
    }
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};
    longs[n + 1] = (struct option){"man", no_argument, NULL, MAN};
    longs[n + 2] = (struct option){"completion", required_argument, NULL, COMPLETION};
    longs[n + 3] = (struct option){0};
    opterr = 0;
    optind = 0; /* from the first word, also of a second command line */
    int c, index;
    while ((c = getopt_long(argc, argv, shorts, longs, &index)) != -1) {
        if (c == 'h') {
            print_help(cmd, tables);
            exit(cli_flush(EXIT_OK));
        }
        if (c == MAN) {
            print_man(cmd, tables);
            exit(cli_flush(EXIT_OK));
        }
        if (c == COMPLETION) {
            cli_complete_options(optarg, cmd, tables);
            return false;
        }
        if (c == ':') {
            cli_usage(cmd, "option '%s' needs a value", argv[optind - 1]);
            return false;
        }
        if (c == '?') {
            const char *given = argv[optind - 1];
            if (optopt && optopt < 256 && isgraph(optopt))
                cli_usage(cmd, "unknown option '-%c'", optopt);
            else if (optopt >= BASE)
                cli_usage(cmd, "option '%s' takes no value", given);
            else {
                const char *near = nearest_opt(tables, given + strspn(given, "-"));
                cli_usage(cmd, "unknown option '%s'%s", given,
                          cli_did_you_mean("--", near));
            }
            return false;
        }
        if (c >= BASE)
            o = find_opt(tables, c - BASE);
        else
            for (int i = 0; (o = find_opt(tables, i)) && o->letter != c; i++)
                ;
        if (!o)
            continue;
        if (o->flag)
            *o->flag = true;
        else if (o->list) {
            const char **longer = ARENA_ARRAY(cli_mem(), const char *, o->list->n + 1);
            if (o->list->n)
                memcpy(longer, o->list->v, o->list->n * sizeof *longer);
            longer[o->list->n++] = optarg;
            o->list->v = longer;
        } else
            *o->text = optarg;
    }
    pos->v = (const char **)(argv + optind);
    pos->n = (size_t)(argc - optind);
    return true;
}

bool
cli_parse(const struct cli_cmd *cmd, const struct cli_opt *const *tables, int argc,
          char **argv, struct cli_list *pos)
{
    return parse(cmd, tables, argc, argv, pos, ":h");
}

bool
cli_parse_program(const struct cli_cmd *cmd, const struct cli_opt *const *tables,
                  int argc, char **argv, struct cli_list *pos)
{
    return parse(cmd, tables, argc, argv, pos, "+:h");
}

int
cli_flush(int status)
{
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    fprintf(stderr, "allot: cannot write the output: %s\n", strerror(errno));
    return EXIT_FAILED;
}

int
cli_diag(struct allot_diag *d)
{
    char *text = demangle_text(allot_diag_text(d));
    fputs(text, stderr);
    free(text);
    return EXIT_FAILED;
}

bool
cli_chart(const struct chart *c, const char *path)
{
    struct diag_sink diag = {0};
    bool ok = chart_write(c, path, &diag);
    struct strbuf b = {0};
    diag_print(&diag, &b);
    if (b.n)
        fputs(b.s, stderr);
    else
        fprintf(stderr, "chart: %s\n", path);
    strbuf_free(&b);
    diag_free(&diag);
    return ok;
}

const char *
cli_kernel_name(const char *name, size_t width)
{
    char *s = demangle_within(name, width);
    const char *kept = arena_strdup(cli_mem(), s);
    free(s);
    return kept;
}

/* -- numbers -- */

bool
cli_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
    return number_u64(s, lo, hi, out);
}

bool
cli_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
    return number_bytes(s, lo, hi, out);
}

const char *
cli_data_path(const char *relative)
{
    return data_path(cli_mem(), relative);
}

bool
cli_f64(const char *s, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(s, &end);
    return end != s && !*end && !errno && isfinite(*out);
}

bool
cli_seconds(const char *text, double *seconds)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    char *number = arena_strdup(cli_mem(), text);
    const size_t n = strlen(number);
    double unit = 1;
    for (size_t i = 0; n && i < sizeof units / sizeof *units; i++)
        if (number[n - 1] == units[i].unit) {
            unit = units[i].seconds;
            number[n - 1] = 0;
        }
    const bool ok = cli_f64(number, seconds) && *seconds > 0 && *seconds <= 1e7;
    *seconds *= unit;
    return ok;
}

/* -- progress and interruption: the only state that a signal handler needs -- */

static volatile sig_atomic_t interrupted; /* the signal */
static bool progress_shown;
static bool progress_lines; /* also where there is no terminal */
static double progress_time;

enum { GRACE = 800000 }; /* microseconds */

/* The command has not ended in time: it is in a loop that does not look, or waits. What is
 * half written goes; a store has its journal. */
static void
on_grace_over(int sig)
{
    static const char text[] =
        "allot: interrupted; it did not stop in time, so it ends here\n";
    (void)sig;
    file_abandon();
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        /* nobody listens */
    }
    _exit(128 + interrupted);
}

/* Ctrl-C may be repeated, which ends the command at once; SIGTERM comes from those who want it
 * gone, once. */
static void
on_signal(int sig)
{
    static const struct itimerval grace = {.it_value.tv_usec = GRACE};
    interrupted = sig;
    if (sig == SIGTERM)
        setitimer(ITIMER_REAL, &grace, NULL);
}

bool
cli_interrupted(void)
{
    return interrupted != 0;
}

static bool misused; /* by a name or value of the command line */

void
cli_misused(void)
{
    misused = true;
}

int
cli_status(int status)
{
    if (misused && status == EXIT_FAILED)
        status = EXIT_USAGE;
    return interrupted ? 128 + interrupted : status;
}

static bool
cancelled(void *user)
{
    (void)user;
    return cli_interrupted();
}

struct allot_diag *
cli_diag_new(void)
{
    struct allot_diag *d = allot_diag_new();
    allot_diag_on_cancel(d, cancelled, NULL);
    cli_catch_signals();
    return d;
}

void
cli_progress_end(void)
{
    if (progress_shown)
        fprintf(stderr, "\r\033[K");
    progress_shown = false;
}

/* "3 min 20 s" left when this share is done after so long; "" as long as nobody knows. */
static void
time_left(const struct allot_progress *p, char *out, size_t n)
{
    *out = 0;
    if (!p->blocks_done || p->seconds < 1)
        return;
    double left =
        p->seconds * (double)(p->blocks - p->blocks_done) / (double)p->blocks_done;
    if (left < 100)
        snprintf(out, n, ", %.0f s left", left);
    else
        snprintf(out, n, ", %.0f min left", left / 60);
}

static void
progress_text(const struct allot_progress *p, const char *label, char *line, size_t n)
{
    enum { WIDTH = 20 };
    int filled = p->blocks ? (int)(p->blocks_done * WIDTH / p->blocks) : 0;
    char bar[WIDTH + 1], count[80] = "", left[40];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = 0;
    if (p->cycles)
        snprintf(count, sizeof count, ", %llu cycles, IPC %.1f",
                 (unsigned long long)p->cycles,
                 (double)p->thread_instructions / (double)p->cycles);
    time_left(p, left, sizeof left);
    snprintf(line, n, "[%s] %llu/%llu blocks%s%s  %s", bar,
             (unsigned long long)p->blocks_done, (unsigned long long)p->blocks, count,
             left, label);
}

static bool
is_live(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* Whether it is time to tell something: on a terminal a line that is written over; with
 * --progress elsewhere a line every other second. */
static bool
progress_wanted(void)
{
    bool live = is_live();
    if (!live && !progress_lines)
        return false;
    double now = clock_seconds(CLOCK_MONOTONIC);
    if (now - progress_time < (live ? 0.1 : 2))
        return false;
    progress_time = now;
    return true;
}

static void
progress_show(const char *line)
{
    if (!is_live()) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    /* A line that wrapped could not be overwritten. */
    fprintf(stderr, "\r\033[K%.*s", columns(STDERR_FILENO, 80) - 1, line);
    fflush(stderr);
    progress_shown = true;
}

void
cli_progress_line(const char *line)
{
    if (progress_wanted())
        progress_show(line);
}

/* Where no progress is shown: a kernel of which no block has ended for a while is told of,
 * then each time it has run for twice as long. It may be long, or never end. */
static void
still_runs(const struct allot_progress *p)
{
    enum { PATIENCE = 10 };
    static double since, next = PATIENCE;
    static uint64_t done;
    if (p->seconds < since || p->blocks_done != done) {
        since = p->seconds;
        done = p->blocks_done;
        next = PATIENCE;
    }
    if (p->seconds - since < next)
        return;
    next *= 2;
    fprintf(
        stderr,
        "allot: kernel %s still runs: no block has ended for %.0f s, %llu of %llu have",
        cli_kernel_name(p->kernel, 0), p->seconds - since,
        (unsigned long long)p->blocks_done, (unsigned long long)p->blocks);
    if (p->cycles)
        fprintf(stderr, "; %llu cycles", (unsigned long long)p->cycles);
    fprintf(stderr, "%s%s (--max-cycles and --max-instructions set a limit)\n",
            *p->where ? "; " : "", p->where);
}

static bool
progress(void *user, const struct allot_progress *p)
{
    if (interrupted)
        return false;
    if (!is_live() && !progress_lines)
        still_runs(p);
    if (!progress_wanted())
        return true;
    char line[240];
    progress_text(p, user, line, sizeof line);
    progress_show(line);
    return true;
}

void
cli_catch_signals(void)
{
    /* The second Ctrl-C ends the program at once: the first is heeded between
     * instructions, not while the host prepares or checks data. */
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    struct sigaction over = {.sa_handler = on_grace_over};
    sigemptyset(&sa.sa_mask);
    sigemptyset(&over.sa_mask);
    static const int signals[] = {SIGINT, SIGTERM};
    static bool caught;
    if (caught)
        return;
    caught = true;
    sigaction(SIGALRM, &over, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old; /* a signal that the parent had ignored stays so */
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &sa, NULL);
    }
}

/* -- the machine and the run -- */

void
cli_leave_out(struct cli_opt *table, const char *const *names, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; table[i].name; i++) {
        bool keep = true;
        for (size_t k = 0; k < n; k++)
            keep &= strcmp(table[i].name, names[k]) != 0;
        if (keep)
            table[kept++] = table[i];
    }
    table[kept] = (struct cli_opt){0};
}

/* "WHAT: NAME, NAME, ..." of the policies of a kind. */
static const char *
policies_text(const char *what, const char *kind)
{
    const char *text = what, *name, *meaning;
    for (size_t i = 0; allot_policy(kind, i, &name, &meaning); i++)
        text = arena_printf(cli_mem(), "%s%s %s", text, i ? "," : ":", name);
    return text;
}

void
cli_sim_options(struct cli_sim *s, struct cli_opt table[CLI_SIM_OPTIONS])
{
    const struct cli_opt t[CLI_SIM_OPTIONS] = {
        {"machine", 'm', "NAME|FILE",
         arena_printf(cli_mem(), "machine description (default %s)", s->machine),
         &s->machine, NULL, NULL},
        {"scheduler", 's', "NAME", policies_text("warp scheduler", "schedulers"),
         &s->scheduler, NULL, NULL},
        {"residency", 'r', "NAME", policies_text("residency policy", "residency"),
         &s->residency, NULL, NULL},
        {"threshold", 't', "T", "t of sharing: (1-t)*100 % is shared (default 0.1)",
         &s->threshold, NULL, NULL},
        {"regs", 0, "N", "registers a thread, instead of the kernel's own count",
         &s->regs, NULL, NULL},
        {"registers", 0, "WHICH",
         "allocated: physical registers (default); virtual: the PTX as it is; ptxas: allocated "
         "code, but as many blocks as ptxas' count allows, where it is installed",
         &s->registers, NULL, NULL},
        {"no-schedule", 0, NULL,
         "instructions in the order of the PTX: compiler.cleanup=cleanup (docs/registers.md)",
         NULL, NULL, &s->no_schedule},
        {"set", 0, "PATH=VALUE", "any setting of the machine (see 'allot list settings')",
         NULL, &s->set, NULL},
        {"schedule", 0, "FILE|METHOD",
         "blocks in the steps of a schedule (docs/cta-scheduling.md): a file, one a "
         "kernel, or made by awss, static, relax, window, round-robin or random",
         NULL, &s->schedules, NULL},
        {"functional", 'f', NULL, "no timing: only execute", NULL, NULL, &s->functional},
        {"quick", 'q', NULL, "the workload's small input", NULL, NULL, &s->quick},
        {"seed", 0, "N", "seed of the workload's input (default 1)", &s->seed, NULL,
         NULL},
        {"compiler", 0, "NAME", "whose PTX of the workload: clang (default) or nvcc",
         &s->compiler, NULL, NULL},
        {"max-cycles", 0, "N", "give up after N core cycles of a launch", &s->max_cycles,
         NULL, NULL},
        {"max-instructions", 0, "N", "give up after N warp instructions of a launch",
         &s->max_instructions, NULL, NULL},
        {"guard", 0, "BYTES",
         "so far outside an allocation reads give 0, stores are dropped: a warning, no fault",
         &s->guard, NULL, NULL},
        {"threads", 0, "N",
         "host threads (default 1, with --functional all processors); same result",
         &s->threads, NULL, NULL},
        {"check-analyses", 0, NULL,
         "hold each scratchpad access against the compiler's analyses (functional only)",
         NULL, NULL, &s->check_analyses},
        {"progress", 0, NULL,
         "tell how far it is also where standard error is no terminal", NULL, NULL,
         &s->progress},
        {"no-skip", 0, NULL, "step sleeping parts too: slower, same figures", NULL, NULL,
         &s->no_skip},
        {0},
    };
    memcpy(table, t, sizeof t);
}

/* Settings that have an option of their own. */
static const struct {
    const char *path;
    size_t at; /* of the option's text in struct cli_sim */
} own_options[] = {
    {"sm.scheduler", offsetof(struct cli_sim, scheduler)},
    {"residency.policy", offsetof(struct cli_sim, residency)},
    {"residency.threshold", offsetof(struct cli_sim, threshold)},
    {"residency.regs_per_thread", offsetof(struct cli_sim, regs)},
    {"compiler.registers", offsetof(struct cli_sim, registers)},
    {"compiler.passes", offsetof(struct cli_sim, passes)},
};
enum { OWN_OPTIONS = sizeof own_options / sizeof *own_options };

bool
cli_method(const char *text)
{
    struct diag_sink diag = {0};
    struct cta_method m;
    bool ok = cta_method_parse(text, &m, &diag);
    cli_sink(&diag);
    return ok;
}

bool
cli_sim_methods(const struct cli_cmd *cmd, struct cli_sim *s, size_t most)
{
    size_t files = 0;
    s->methods.v = ARENA_ARRAY(cli_mem(), const char *, s->schedules.n);
    for (size_t i = 0; i < s->schedules.n; i++)
        if (cta_is_method(s->schedules.v[i]))
            s->methods.v[s->methods.n++] = s->schedules.v[i];
        else if (access(s->schedules.v[i], F_OK))
            return cli_usage(cmd, "--schedule %s: neither a method nor a file%s",
                             s->schedules.v[i],
                             cli_did_you_mean("", cta_near_method(s->schedules.v[i]))),
                   false;
        else
            s->schedules.v[files++] = s->schedules.v[i];
    s->schedules.n = files;
    if (s->methods.n > most)
        return cli_usage(cmd, "--schedule: give one method only"), false;
    for (size_t i = 0; i < s->methods.n; i++)
        if (!cli_method(s->methods.v[i]))
            return false;
    return true;
}

const char *const *
cli_sim_settings(const struct cli_sim *s, size_t *n)
{
    const char **v =
        ARENA_ARRAY(cli_mem(), const char *, s->set.n + s->methods.n + OWN_OPTIONS + 2);
    *n = 0;
    for (size_t i = 0; i < OWN_OPTIONS; i++) {
        const char *value;
        memcpy(&value, (const char *)s + own_options[i].at, sizeof value);
        if (value)
            v[(*n)++] = arena_printf(cli_mem(), "%s=%s", own_options[i].path, value);
    }
    if (s->no_schedule)
        v[(*n)++] = "compiler.cleanup=cleanup";
    if (s->schedules.n || s->methods.n) /* --set may choose another order */
        v[(*n)++] = "cta.order=schedule";
    for (size_t i = 0; i < s->methods.n; i++)
        v[(*n)++] = arena_printf(cli_mem(), "cta.schedule=%s", s->methods.v[i]);
    for (size_t i = 0; i < s->set.n; i++)
        v[(*n)++] = s->set.v[i];
    return v;
}

struct allot_machine *
cli_machine(const char *name, struct allot_diag *d)
{
    struct allot_machine *m = allot_machine_load(name, d);
    if (!m && access(name, F_OK) && !strchr(name, '/'))
        misused = true; /* neither a preset nor a file */
    return m;
}

struct allot_machine *
cli_sim_machine(const struct cli_sim *s, struct allot_diag *d)
{
    struct allot_machine *m = cli_machine(s->machine, d);
    if (!m)
        return NULL;
    size_t n;
    const char *const *settings = cli_sim_settings(s, &n);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(settings[i], '=');
        if (!eq) {
            fprintf(stderr, "allot: --set %s: write it as PATH=VALUE\n", settings[i]);
            ok = false;
            continue;
        }
        char path[128];
        snprintf(path, sizeof path, "%.*s", (int)(eq - settings[i]), settings[i]);
        ok &= allot_machine_set(m, path, eq + 1, d);
    }
    if (ok)
        return m;
    misused = true;
    allot_machine_free(m);
    return NULL;
}

struct allot_device *
cli_sim_device(const struct cli_sim *s, const struct allot_machine *m,
               const struct allot_options *o, struct allot_diag *d)
{
    struct allot_device *dev = allot_device_new(m, o, d);
    for (size_t i = 0; dev && i < s->schedules.n; i++)
        if (!allot_device_schedule(dev, s->schedules.v[i], d)) {
            allot_device_free(dev);
            dev = NULL;
        }
    return dev;
}

unsigned
cli_sim_threads(const struct cli_sim *s)
{
    enum { MOST = 16 };
    uint64_t n = 1;
    if (s->threads)
        cli_u64(s->threads, 1, 1024, &n);
    else if (s->functional) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        n = cores < 1 ? 1 : cores > MOST ? MOST : (uint64_t)cores;
    }
    return (unsigned)n;
}

bool
cli_sim_run_options(const struct cli_cmd *cmd, const struct cli_sim *s,
                    struct allot_options *o, const char *label)
{
    memset(o, 0, sizeof *o);
    uint64_t threads = 0;
    if (s->max_cycles && !cli_u64(s->max_cycles, 1, UINT64_MAX, &o->max_cycles))
        return cli_usage(cmd, "--max-cycles %s: not a positive number", s->max_cycles),
               false;
    if (s->max_instructions &&
        !cli_u64(s->max_instructions, 1, UINT64_MAX, &o->max_instructions))
        return cli_usage(cmd, "--max-instructions %s: not a positive number",
                         s->max_instructions),
               false;
    if (s->guard && !cli_bytes(s->guard, 0, 16 << 20, &o->guard))
        return cli_usage(cmd, "--guard %s: not a number of bytes from 0 to 16777216",
                         s->guard),
               false;
    if (s->threads && !cli_u64(s->threads, 1, 1024, &threads))
        return cli_usage(cmd, "--threads %s: not a number from 1 to 1024", s->threads),
               false;
    uint64_t seed;
    if (!cli_u64(s->seed, 0, UINT32_MAX, &seed))
        return cli_usage(cmd, "--seed %s: not a number from 0 to 4294967295", s->seed),
               false;
    o->threads = (unsigned)threads;
    o->functional = s->functional;
    o->check_analyses = s->check_analyses;
    o->checks = s->checks;
    if (s->check_analyses && !s->functional)
        return cli_usage(cmd, "--check-analyses needs --functional"), false;
    o->no_skip = s->no_skip;
    o->watch = progress;
    progress_lines = s->progress;
    o->user = (void *)label;
    cli_catch_signals();
    return true;
}

struct allot_module *
cli_workload_module(const struct allot_workload *w, const char *compiler,
                    struct allot_diag *d)
{
    size_t len;
    if (!allot_workload_ptx(w->name, compiler, &len)) {
        if (strcmp(compiler, "clang") && strcmp(compiler, "nvcc"))
            misused = true;
        fprintf(stderr,
                "allot: workload %s has no PTX by '%s' in this build; choose --compiler "
                "clang or nvcc (nvcc only where it was installed at build time)\n",
                w->name, compiler);
        return NULL;
    }
    const struct subject s = {.workload = w, .compiler = compiler};
    return subject_module(&s, NULL, d);
}

json_t *
cli_sim_json(const struct allot_machine *m, const struct cli_sim *s)
{
    char v[128], hash[17];
    json_t *o = json_object();
    for (size_t i = 0; i < OWN_OPTIONS; i++)
        if (allot_machine_get(m, own_options[i].path, v, sizeof v))
            json_object_set_new(o, own_options[i].path, json_string(v));
    for (size_t i = 0; i < s->set.n; i++) {
        const char *eq = strchr(s->set.v[i], '=');
        char path[128];
        snprintf(path, sizeof path, "%.*s", (int)(eq - s->set.v[i]), s->set.v[i]);
        json_object_set_new(o, path, json_string(eq + 1));
    }
    allot_machine_hash(m, hash);
    json_object_set_new(o, "machine_hash", json_string(hash));
    json_object_set_new(o, "functional", json_boolean(s->functional));
    json_object_set_new(o, "quick", json_boolean(s->quick));
    if (s->guard)
        json_object_set_new(o, "guard", json_string(s->guard));
    json_object_set_new(o, "seed", json_string(s->seed));
    json_object_set_new(o, "compiler", json_string(s->compiler));
    json_object_set_new(o, "version", json_string(ALLOT_VERSION));
    return o;
}

bool
cli_write_file(const char *path, const char *text, size_t n)
{
    if (!strcmp(path, "-")) /* main tells what went wrong with standard output */
        return fwrite(text, 1, n, stdout) == n;
    bool ok = file_write(path, text, n);
    if (!ok)
        fprintf(stderr, "allot: cannot write %s: %s\n", path, strerror(errno));
    return ok;
}

bool
cli_write_json(const char *path, const json_t *o, size_t flags)
{
    char *text = json_dumps(o, flags);
    struct strbuf b = {0};
    strbuf_printf(&b, "%s\n", text);
    bool ok = cli_write_file(path, b.s, b.n);
    strbuf_free(&b);
    free(text);
    return ok;
}

bool
cli_writable(const char *path)
{
    bool ok = !strcmp(path, "-") || file_writable(path);
    if (!ok)
        fprintf(stderr, "allot: cannot write %s: %s\n", path, strerror(errno));
    return ok;
}
