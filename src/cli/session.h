/* session.h: machine, module and device of one simulation that the command line describes:
 * what stands between parsing options and telling results. */
#ifndef ALLOT_CLI_SESSION_H
#define ALLOT_CLI_SESSION_H

#include "advise/advice.h"
#include "advise/explain.h"
#include "cli/look.h"
#include "cli/own.h"
#include "experiments/subject.h"
#include "program/program.h"

struct cli_session {
    const struct cli_cmd *cmd; /* once it explains */
    const struct cli_sim *sim;
    const struct cli_own *own; /* of a file's kernel; NULL: a workload */
    struct subject subject;
    struct allot_diag *d;
    struct allot_machine *machine;
    struct allot_module *mod;
    struct allot_device *dev;
    char *data;    /* subject.data, owned */
    char why[256]; /* a workload's results are wrong */
};

/* The options that run and exec have in common, held against each other (db: --db, NULL: not
 * given), and o filled from them; false after saying what is wrong. */
bool cli_sim_check(const struct cli_cmd *cmd, struct cli_sim *s, const char *db,
                   const char *label, struct allot_options *o);

/* A session over nothing yet: a workload's, or of a file's kernel (w NULL). */
struct cli_session cli_session_of(const struct cli_sim *s, const char *name,
                                  const struct allot_workload *w,
                                  const struct cli_own *own,
                                  const struct cli_list *params);
/* The same of a word of the command line, the options of a file's kernel checked: EXIT_OK,
 * or the status after saying what is wrong. */
int cli_session_find(const struct cli_cmd *cmd, const struct cli_sim *s, const char *name,
                     struct cli_own *own, const struct cli_list *params,
                     struct cli_session *x);
/* The same of all words: a program with its arguments (*program) is as good. */
int cli_session_words(const struct cli_cmd *cmd, const struct cli_sim *s,
                      const struct cli_list *words, struct cli_own *own,
                      const struct cli_list *params, struct cli_session *x,
                      bool *program);
/* The machine with the options' settings; then the module; then what the device needs beside
 * it. False after saying why not; cli_session_close is due in any case. */
bool cli_session_machine(struct cli_session *x);
bool cli_session_module(struct cli_session *x);
bool cli_session_device(struct cli_session *x, const struct allot_options *o);
/* Words of a shell that run it: allot run with the same options, in cli_mem. */
const char *cli_session_again(const struct cli_session *x);
/* Runs it and ends the progress line. False: it failed. Of the command's first run with --regs it
 * says of which kernels the code takes more registers: it is not compiled for N. */
bool cli_session_run(struct cli_session *x);
/* Whether a workload takes its parameters (subject_try): why says which it does not take. */
bool cli_session_try(struct cli_session *x);
/* Whether it was refused before its first launch, which is wrong usage. */
bool cli_session_refused(const struct cli_session *x);
/* Says why results are wrong or it was refused; EXIT_USAGE: refused, EXIT_OK: neither. */
int cli_session_why(const struct cli_cmd *cmd, const struct cli_session *x);
/* Host time of its launches. */
double cli_session_seconds(const struct cli_session *x);
/* Stores the run in db (NULL: does nothing) as with these settings (NULL: the options'). */
bool cli_session_store(struct cli_session *x, const char *db, bool ok, size_t nsettings,
                       const char *const *settings);
/* Reads a file's contents once for all modules that are made of it. */
bool cli_session_read(struct cli_session *x);
/* How the session's kernel is read, run and told of to explain it. The session outlives it. */
struct explain_of cli_session_explain(struct cli_session *x, const struct cli_cmd *cmd,
                                      const char *passes);
/* The same to advise on it: how many processes and seconds it may take is not said yet. */
struct advice_of cli_session_advise(struct cli_session *x, const struct allot_options *o);
/* Writes the PTX of what was advised for the card. False and diagnostics. */
bool cli_session_advised(struct cli_session *x, const struct advice *a, const char *path);
/* Prints what was diagnosed and frees all. */
void cli_session_close(struct cli_session *x);

/* How a CUDA program is run by these options, on the machine as they set it. */
struct program_setup cli_program_setup(const struct cli_sim *s, const struct cli_look *l);
/* Runs it with its arguments. False after saying why it was not started; program_result_free
 * is due in any case. */
bool cli_program_run(const struct cli_cmd *cmd, const struct program_setup *setup,
                     const struct cli_list *words, struct program_result *r);
/* The same of one whose launches alone are of interest: what it prints is left out, how it
 * ended is told. False: it was not started (*ran, may be NULL), or it or a launch failed. */
bool cli_program_launches(const struct cli_cmd *cmd, struct program_setup *setup,
                          const struct cli_list *words, struct program_result *r,
                          bool *ran);
struct program_show;
/* What is to be shown of its run: of one whose record is cut short no file, after saying so of
 * each, db (NULL: none) too. */
struct program_show cli_program_show(const struct program_show *want, const char *db,
                                     const struct program_result *r);
/* Stores its run, a launch a row, in db (NULL: does nothing). words: it and its arguments. */
bool cli_program_store(const struct cli_sim *s, const char *db,
                       const struct cli_list *words, const struct program_result *r,
                       const struct allot_machine *m);

#endif
