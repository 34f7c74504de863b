/* experiment.h: an experiment file: workloads x machines x variants x ranges, and the
 * metrics that are looked at.
 *
 * docs/experiments.md describes the file. A row is a workload (or some of its kernels, or
 * a kernel's resources alone), a series one way to run it: machine, variant, range
 * values. Row x series is a cell; cells that are the same simulation share a run. */
#ifndef ALLOT_EXPERIMENTS_EXPERIMENT_H
#define ALLOT_EXPERIMENTS_EXPERIMENT_H

#include "experiments/run.h"
#include "experiments/yamlfile.h"

/* How a metric's value is shown: itself, or beside its baseline's. */
enum exp_as {
#define AS(id, word, value, factor, back, nothing) EXP_##id,
#include "experiments/comparisons.def"
#undef AS
    EXP_AS_KINDS
};

/* In percent, with a sign. */
static inline bool
exp_as_percent(enum exp_as as)
{
    return as == EXP_GAIN || as == EXP_DECREASE;
}

static inline bool
exp_as_below_zero(enum exp_as as)
{
    return exp_as_percent(as) || as == EXP_DIFFERENCE;
}

struct exp_metric {
    const char *name, *label, *unit; /* unit of what is shown */
    const char *stat;                /* counter, derived value, or occupancy figure */
    enum exp_as as;
};

struct exp_row {
    const char *label;
    const char *workload; /* NULL: resources only, answered by the occupancy calculator */
    bool own;             /* a kernel of one's own: its PTX is the file `workload` */
    bool program;         /* a CUDA program, started by the word `workload` */
    const char *const *texts; /* what is launched (launch_texts); of a program, its
                               * parameters (run_program.c) */
    size_t ntexts;
    const char *kernels; /* blank-separated, "": those that the workload names */
    struct {
        uint32_t threads, registers, scratchpad;
    } use;
    size_t at; /* its number in the file's list */
    /* What the difference between a series and its baseline covers: so many steps, or so
     * much that is moved or computed; one of them, 0: the other. */
    double per, rate;
};

/* A difference for one of the row's steps, or what it covers by the difference. */
static inline double
exp_each(const struct exp_row *row, double difference)
{
    return row->rate > 0 ? row->rate / difference : difference / row->per;
}

struct exp_series {
    const char *label, *variant, *machine;
    int base;          /* its baseline's series, -1: none */
    const char *share; /* occupancy rows: what is shared, "" for nothing */
    const char *of;    /* not run: its values are the largest of this variant's series on
                        * the same machine; NULL: it is run */
    bool worst;        /* the smallest */
    /* A value `at` of the one range of its variant, whose values are three numbers or more:
     * what is called `axis` is swept; `line`: its label without the range. NULL: no sweep. */
    const char *line, *axis;
    double at;
};

/* Is t one of those that s takes its values from? */
static inline bool
exp_series_picks(const struct exp_series *s, const struct exp_series *t)
{
    return s->of && !strcmp(s->of, t->variant) && !strcmp(s->machine, t->machine);
}

/* Whose statement it is: the text's; true of every simulator that does what the text describes (blocks,
 * instructions, sizes); ours, beside the text. */
enum exp_by { EXP_BY_TEXT, EXP_BY_CONSTRUCTION, EXP_BY_OURS, EXP_BY_KINDS };

struct exp_check {
    const char *says, *that;
    enum exp_by by;
    struct diag_loc loc;
};

struct experiment {
    const char *file, *name;                   /* name: the file's stem */
    const char *title, *source, *note, *paper; /* paper: CSV's path, NULL: none */
    struct exp_row *row;
    struct exp_series *series;
    struct exp_metric *metric;
    struct exp_check *check;
    size_t nrow, nseries, nmetric, ncheck;
    bool arithmetic; /* the mean of all rows; else geometric */
    /* Runs, each once; cell[row * nseries + series] is its run, or -1 for a row without
     * a workload. */
    struct exp_run *run;
    size_t nrun;
    int *cell;
    /* Of each cell without a run, and of all if a metric is of the machine.
     */
    struct allot_machine **machine;
    struct yamlfile yaml;
    struct arena mem;
};

/* Reads, checks and expands a file. `quick`: small inputs. NULL and diagnostics (with
 * file and line) on failure. */
struct experiment *experiment_load(const char *file, bool quick, struct diag_sink *diag);
/* The first row that runs a program of the user's; NULL: none. Only runs start it. */
const struct exp_row *experiment_program(const struct experiment *e);
/* Only its title, malloc'd: quick, and nothing but the schema is checked. */
char *experiment_title(const char *file, struct diag_sink *diag);
void experiment_free(struct experiment *e);

/* Values that are known without a run: of a row without workload the occupancy
 * calculator's, of a row with one what its kernel declares, of a kernel of one's own its
 * access ranges (ranges.h), of all the machine's settings. False: not one of these, or not for such a row. */
bool experiment_value(const struct experiment *e, size_t row, size_t series,
                      const char *stat, double *value);
/* Is there such a value; is it of the machine? */
bool experiment_knows(const char *stat);
bool experiment_asks_machine(const char *stat);

#endif
