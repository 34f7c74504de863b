/* variants.h: what `allot compare` compares: named variants (variants.def), variants of the
 * user's, and those that schedules of blocks make. */
#ifndef ALLOT_CLI_VARIANTS_H
#define ALLOT_CLI_VARIANTS_H

#include "cli/session.h"
#include "report/compare_report.h"

enum { MAX_VARIANTS = 64 };

/* settings: PATH=VALUE[+PATH=VALUE...] */
struct variant {
    const char *name, *settings;
};

/* Prints the named ones. */
void variants_list(void);
/* Reads "a,b,mine:sm.scheduler=gto+l1d.sets=64"; their number, -1 after saying what is wrong. */
int variants_parse(const char *text, struct variant v[MAX_VARIANTS],
                   const struct cli_cmd *cmd);
/* What --schedule and --opt-tlp ask for: round robin, a file's schedule, each method, round
 * robin with each number of blocks an SM. -1 after saying why not. */
int variants_of_schedules(struct cli_sim *s, bool opt_tlp, struct variant v[MAX_VARIANTS],
                          const struct cli_cmd *cmd);
/* What is compared: variants by `text`, else what the options about schedules ask for, else
 * sharing's. Their number, all of whose settings apply; -1 after saying what is wrong. */
int variants_choose(struct cli_sim *s, const char *text, bool opt_tlp,
                    struct variant v[MAX_VARIANTS], const struct cli_cmd *cmd);
/* Applies the settings; false after saying why not. */
bool variant_apply(struct allot_machine *m, const struct variant *v,
                   struct allot_diag *d);
/* Do the settings of each of n variants apply? False after saying which does not. */
bool variants_check(const struct cli_sim *s, const struct variant *v, int n);
/* The settings of the command line, then the variant's, as they are applied, in cli_mem. */
const char *const *variant_settings(const struct cli_sim *s, const struct variant *v,
                                    size_t *n);

/* What is simulated under variants, and where results are stored. */
struct variant_job {
    const struct cli_cmd *cmd;
    const struct cli_sim *sim;
    const char *db; /* NULL: nowhere */
    struct cli_list params;
    const struct cli_own *own; /* a file's kernel; NULL: workloads, or */
    struct cli_list words;     /* a program with arguments, NULL at the end; n 0: none */
};
/* Fills cells and variants of t, in cli_mem: each of its subjects under each variant, up to
 * Ctrl-C or one that is refused. False: something failed, which was said. */
bool variants_run(const struct variant_job *j, const struct variant *v, struct compare *t,
                  bool *refused);

#endif
