/* cli.h: what the subcommands share: option tables, help, devices from options, progress.
 *
 * Exit status of every command: 0 done (and every check passed), 1 it failed (bad input
 * file, fault, failed check), 2 wrong usage, 130 ended by Ctrl-C, 143 by SIGTERM. */
#ifndef ALLOT_CLI_CLI_H
#define ALLOT_CLI_CLI_H

#include "allot/allot.h"
#include "allot/workload.h"
#include "base/json.h"
#include "base/str.h"

#include <jansson.h>
#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* One option. `value`: its metavariable, NULL for a switch. Where the parsed text goes:
 * text (last one wins), list (every one, in order) or flag; exactly one is set. */
struct cli_list {
    const char **v;
    size_t n;
};

struct cli_opt {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* short name, 0: none */
    const char *value, *help;
    const char **text;
    struct cli_list *list;
    bool *flag;
};

struct cli_cmd {
    const char *name, *usage, *about; /* usage: after "allot NAME"; about: paragraphs */
    const char *examples;             /* lines shown under --help; may be NULL */
};

/* Parses argv[1..]; prints help and exits with 0 for --help, explains and returns false
 * for wrong usage. Positional arguments end up in `pos`. Tables are joined: several may
 * be given (own, then e.g. cli_machine_options), NULL-terminated list of tables. */
bool cli_parse(const struct cli_cmd *cmd, const struct cli_opt *const *tables, int argc,
               char **argv, struct cli_list *pos);

/* The same for a command whose first argument is a program: its options are its own. */
bool cli_parse_program(const struct cli_cmd *cmd, const struct cli_opt *const *tables,
                       int argc, char **argv, struct cli_list *pos);

/* Shell completion of `allot`, by complete.c: "bash", "zsh" or "fish". The options of each
 * command are those that its cli_parse is given. */
bool cli_complete(const char *shell);
void cli_complete_options(const char *shell, const struct cli_cmd *cmd,
                          const struct cli_opt *const *tables);

/* Beginning of a manual page (roff) for `allot NAME`, "" for allot itself. */
void cli_man_head(const char *name, const char *summary);
/* A command's line in commands.def, "" if there is none. */
const char *cli_summary(const char *name);

/* What cli_usage's message ends with where a name is not known: "; did you mean 'X'?", ""
 * if nothing is near. In cli_mem. `before` goes before the word. */
const char *cli_did_you_mean(const char *before, const char *best);
const char *cli_near_word(const char *word, const char *const *words, size_t n);
const char *cli_near_workload(const char *name);
const char *cli_near_experiment(const char *name);
/* Is each an experiment? The first that is none is said to be wrong usage. */
bool cli_known_experiments(const struct cli_cmd *cmd, const struct cli_list *names);

/* Is each a workload? The same. */
bool cli_known_workloads(const struct cli_cmd *cmd, const struct cli_list *names);
/* Does the name say a chart's format (NULL: there is none), and the style (NULL: none) how it
 * looks (chart_look_parse)? The same. */
struct chart_look;
bool cli_chart_named(const struct cli_cmd *cmd, const char *chart, const char *style,
                     struct chart_look *look);
/* The row of option --chart-style. */
#define CLI_CHART_STYLE(text)                                                            \
    {                                                                                    \
        "chart-style", 0, "WORDS",                                                       \
            "values (on bars), grey, hatch, linear, log (x axis), size=800x480, "        \
            "font=NAME[:POINTS], joined by commas",                                      \
            text, NULL, NULL                                                             \
    }

/* Prints "allot NAME: message" and a pointer to --help; returns EXIT_USAGE. */
int cli_usage(const struct cli_cmd *cmd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The status, or EXIT_FAILED after saying so if standard output could not be written. */
int cli_flush(int status);
/* Diagnostics whose long steps (parsing, passes, decoding) Ctrl-C and SIGTERM end. */
struct allot_diag *cli_diag_new(void);
/* Prints the diagnostics to stderr (nothing if there are none). Returns EXIT_FAILED. */
int cli_diag(struct allot_diag *d);

/* A kernel's name as in the source, long ones cut in the middle to `width` characters (0:
 * whole), in cli_mem. */
const char *cli_kernel_name(const char *name, size_t width);

/* What lives to the end of the command (option lists, copies of texts). Freed by main. */
struct arena *cli_mem(void);

/* Numbers: whole text must be one number in [lo, hi]. */
bool cli_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *out);
bool cli_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *out); /* 48K too */
bool cli_f64(const char *s, double *out);
/* A time above 0: "90", "90s", "5m", "1h". */
bool cli_seconds(const char *text, double *seconds);

/* Options that describe the machine and the run, the same for run, compare and bench. */
struct cli_sim {
    const char *machine, *scheduler, *residency, *threshold, *regs, *registers,
        *max_cycles, *max_instructions, *guard, *threads, *seed, *compiler, *check,
        *passes;
    struct cli_list set,
        schedules;           /* schedules: files, once cli_sim_methods was called */
    struct cli_list methods; /* of scheduling (cta.schedule) */
    bool progress;
    bool functional, quick, no_skip, check_analyses, no_schedule;
    unsigned checks; /* what `check` says: cli_check */
};
/* Options of commands that run kernels as they stand: --check and --passes. */
#define CLI_CHECK_OPTION(s)                                                              \
    {                                                                                    \
        "check", 0, "LIST",                                                              \
            "without timing, look for race, init, sync in kernels (docs/checks.md)",     \
            &(s)->check, NULL, NULL                                                      \
    }
#define CLI_PASSES_OPTION(s)                                                             \
    {                                                                                    \
        "passes", 'p', "P[,P...]", "passes over the kernels before they run",            \
            &(s)->passes, NULL, NULL                                                     \
    }
/* Reads s->check, which needs no --functional; false after saying what is wrong. */
bool cli_check(const struct cli_cmd *cmd, struct cli_sim *s);
/* Says on standard error how many findings there were; true: none. complete: no launch
 * failed or was refused, after which nothing can be said of what it did not come to. */
bool cli_check_end(const struct cli_sim *s, uint64_t findings, bool complete);
#define CLI_SIM_DEFAULTS                                                                 \
    {                                                                                    \
        .machine = "gtx480", .seed = "1", .compiler = "clang"                            \
    }
/* The option table over s: valid while s lives; caller gives room for CLI_SIM_OPTIONS. */
enum { CLI_SIM_OPTIONS = 28 };
void cli_sim_options(struct cli_sim *s, struct cli_opt table[CLI_SIM_OPTIONS]);
/* Takes the options of these names out of a table. */
void cli_leave_out(struct cli_opt *table, const char *const *names, size_t n);

/* Whether a text is a method of scheduling; false after saying what is wrong. */
bool cli_method(const char *text);
/* Takes the methods among --schedule FILE|METHOD out of s->schedules into s->methods; false
 * after saying which of them is wrong, or that there are more than `most`. */
bool cli_sim_methods(const struct cli_cmd *cmd, struct cli_sim *s, size_t most);

/* The options' overrides as PATH=VALUE, in the order of application, in cli_mem. */
const char *const *cli_sim_settings(const struct cli_sim *s, size_t *n);
/* The command line names or says what there is not: a failure's status is EXIT_USAGE. */
void cli_misused(void);
/* A machine by name or file; NULL and diagnostics. */
struct allot_machine *cli_machine(const char *name, struct allot_diag *d);
/* Machine with every override applied, NULL after printing why not. */
struct allot_machine *cli_sim_machine(const struct cli_sim *s, struct allot_diag *d);
/* Host threads of a run: as asked for, else all processors (at most 16) for execution
 * without timing, whose result is that of one thread, and one for the cycle model. */
unsigned cli_sim_threads(const struct cli_sim *s);
/* A device as the options say; NULL and diagnostics on failure. */
struct allot_device *cli_sim_device(const struct cli_sim *s,
                                    const struct allot_machine *m,
                                    const struct allot_options *o, struct allot_diag *d);
/* Options with progress reporting on a terminal and Ctrl-C. */
bool cli_sim_run_options(const struct cli_cmd *cmd, const struct cli_sim *s,
                         struct allot_options *o, const char *label);
/* Shows a line that the next one overwrites: on a terminal, at most ten times a second.
 */
void cli_progress_line(const char *line);
/* Ctrl-C and SIGTERM are noted; the second one ends the program. */
void cli_catch_signals(void);
/* Ends the progress line; true if Ctrl-C was pressed. */
void cli_progress_end(void);
bool cli_interrupted(void);
/* 128 + the signal that interrupted the command, otherwise `status`: main applies it. */
int cli_status(int status);

/* A workload's module, NULL after printing why not. */
struct allot_module *cli_workload_module(const struct allot_workload *w,
                                         const char *compiler, struct allot_diag *d);

/* The run's options as a JSON object: policies, settings given, machine's hash, version.
 */
json_t *cli_sim_json(const struct allot_machine *m, const struct cli_sim *s);

/* Writes text to path ("-": stdout) so that no half-written file is ever seen; devices,
 * pipes and links are written to as they stand. False after saying why not. */
bool cli_write_file(const char *path, const char *text, size_t n);
/* The same of a JSON object, by jansson's flags, and a line end. */
#define CLI_JSON (JSON_INDENT(2) | JSON_REAL_PRECISION(12))
bool cli_write_json(const char *path, const json_t *o, size_t flags);
/* Whether path could be written, asked before long work; false after saying why not. */
bool cli_writable(const char *path);

/* Path of a file that comes with allot ("papers/micro/gpgpusim.csv"), by the source
 * tree's layout; NULL if there is none. Lives to the end of the command. */
const char *cli_data_path(const char *relative);

struct chart;
/* chart_write (report/chart.h); says on stderr where the chart is, or why there is none. */
bool cli_chart(const struct chart *c, const char *path);

/* The rows of commands.def; the last has no name. */
struct cli_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};
extern const struct cli_command cli_commands[];
const struct cli_command *cli_command_find(const char *name); /* NULL: there is none */

#define CMD(name, summary) int cmd_##name(int argc, char **argv);
#include "cli/commands.def"
#undef CMD

#endif
