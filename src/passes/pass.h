/* pass.h: the pass driver. A pass is one file and one row of passes.def.
 *
 * A pipeline is text: passes separated by commas, each with its settings after colons:
 *     scratchpad-layout:threshold=0.1,relssp:threshold=0.1:mode=postdom
 * Names of pipelines.def stand for several passes. */
#ifndef ALLOT_PASSES_PASS_H
#define ALLOT_PASSES_PASS_H

#include "analysis/defs.h"
#include "analysis/live.h"
#include "ptx/ir.h"

/* Facts of a function that a pass may ask for. */
enum { AN_CFG = 1, AN_DEFS = 2, AN_LIVE = 4 };
/* In `keeps` only: power states in the code are still right. Else they are taken out. */
enum { AN_POWER = 8 };

/* What the code holds that a later pass may make untrue; seen by its instructions, whoever
 * wrote them. */
enum {
    PASS_RELEASES =
        1,          /* relssp: no thread touches the shared part of its block's scratchpad
                        * after it */
    PASS_TAKES = 2, /* scratchalloc: all accesses to a part of the scratchpad lie between
                        * it and scratchfree */
};

struct pass_facts {
    struct cfg *cfg;
    struct defs *defs;
    struct live *live;
};

/* A setting of a pass; the last row of a pass's list has key NULL. */
struct pass_key {
    const char *key, *value, *meaning; /* value: the default */
};

struct pass;

/* The shape of the launch that code is made for. */
struct pass_launch {
    const char *kernel;            /* NULL: of any; nothing is known (allot opt) */
    uint32_t grid[3], block[3];    /* a grid of 0 blocks: not known (occupancy queries) */
    uint32_t dynamic_scratchpad;   /* bytes */
    const struct machine *machine; /* NULL: not known */
};

/* What a pass is given beside the module. */
struct pass_args {
    const struct pass *pass;
    struct pass_launch *launch; /* never NULL; changed by shape_change (shape.h) alone */
    const struct pass_key *given; /* key and value, until key NULL */
    struct strbuf *report; /* words on what was done and why, lines; NULL: not wanted */
};

struct pass {
    const char *name, *meaning;
    const struct pass_key *keys; /* NULL: none */
    /* Changes the module in place. False and a diagnostic on failure. A pass has this or
     * run_func. */
    bool (*run)(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag);
    /* The same for one function with a body, of those that pass_can_touch; facts: those
     * of `needs`. Sets *changed if it changed anything. */
    bool (*run_func)(struct ptx_func *f, const struct pass_facts *facts,
                     const struct pass_args *a, bool *changed, struct diag_sink *diag);
    unsigned needs;     /* AN_...: made before run_func (run: nothing) */
    unsigned keeps;     /* AN_...: still true of the function after the pass changed it */
    unsigned not_after; /* PASS_RELEASES, PASS_TAKES: it would break these: refused */
    bool shapes;    /* looks at the launch's shape: code is made for each shape again */
    bool allocates; /* leaves physical registers */
    bool places; /* gives physical registers other places. After any other pass the driver
                     * allocates again where places no longer suit */
};

/* Pass i, NULL past the last. */
const struct pass *pass_at(size_t i);
const struct pass *pass_find(const char *name);

/* Whether registers of f may be renamed and its instructions analysed: every operand
 * is understood (no instruction that is known by name only), no register is a parameter,
 * and none is a vector (PTX 1.x). Passes leave other functions as they are. */
bool pass_can_touch(const struct ptx_func *f);

/* Value of a setting: as given, else the row's default. `key` must be a row. */
const char *pass_arg(const struct pass_args *a, const char *key);
/* As a number within [lo, hi]; false and a diagnostic if it is none. */
bool pass_arg_number(const struct pass_args *a, const char *key, double lo, double hi,
                     double *value, struct diag_sink *diag);

/* A pass of a pipeline that has run, and who is notified of it; false ends the pipeline as a
 * failure. */
struct pass_step {
    const char *name;
    unsigned index; /* in the pipeline with "cleanup" written out, from 0 */
    bool changed;   /* it may have changed something: then the module was verified, unless
                     * the watcher trusts the passes */
    double seconds, verify_seconds; /* of the host */
};
struct pass_watch {
    bool (*after)(void *user, const struct pass_step *s, struct diag_sink *diag);
    void *user;
    bool
        trusts; /* the module is verified after the last pass only, as if nobody watched */
};

/* Runs a pipeline ("" runs nothing). `defaults` (key NULL ends it; may be NULL) replaces
 * the rows' defaults wherever a pass has such a key. launch: that the code
 * is made for; passes may change it. The module is printed and parsed again at the end,
 * where it is watched after each pass: what passes leave must be valid PTX, and equal to what
 * it printed. watch may be NULL. */
bool pass_run_watched(struct ptx_module *m, const char *pipeline,
                      const struct pass_key *defaults, struct pass_launch *launch,
                      struct strbuf *report, const struct pass_watch *watch,
                      struct diag_sink *diag);
/* The same, watched by nobody. */
bool pass_run_for(struct ptx_module *m, const char *pipeline,
                  const struct pass_key *defaults, struct pass_launch *launch,
                  struct strbuf *report, struct diag_sink *diag);
/* The same for no launch in particular. */
bool pass_run(struct ptx_module *m, const char *pipeline, const struct pass_key *defaults,
              struct strbuf *report, struct diag_sink *diag);

/* Whether each instruction exists (exec_illegal) and the module's .target and .version have it
 * (ptx/target.h). False and a diagnostic, which says that
 * `pass` made it (NULL: that it was read). */
bool pass_legal(const struct ptx_module *m, const char *pass, struct diag_sink *diag);

/* Are all its passes and settings known? False and a diagnostic for the first that is not. */
bool pass_known(const char *pipeline, struct diag_sink *diag);
/* Whether a pass of the pipeline has a setting of that name. */
bool pass_takes(const char *pipeline, const char *key);
/* How many passes a pipeline has, names of pipelines written out. */
unsigned pass_count(const char *pipeline);
/* Whether the pass of that name is in the pipeline. */
bool pass_names(const char *pipeline, const char *name);
/* Whether a pass of the pipeline looks at the launch's shape. */
bool pass_shapes(const char *pipeline);
/* Whether a pass of the pipeline leaves physical registers. */
bool pass_allocates(const char *pipeline);

#endif
