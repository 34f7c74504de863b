/* setting.h: the rows of settings.def (and the latency classes) as one table. Private to
 * this folder. */
#ifndef ALLOT_MACHINE_SETTING_H
#define ALLOT_MACHINE_SETTING_H

#include "machine/machine.h"

enum setting_type {
    SET_INT,
    SET_NUM,
    SET_BOOL,
    SET_STR,
    SET_ENUM,
    SET_POLICY,
    SET_LATENCY
};

struct setting {
    const char *group, *name; /* "sm", "count" */
    char path[48];            /* "sm.count" */
    enum setting_type type;
    size_t offset;            /* in struct machine */
    const char *def;          /* default as text */
    double min, max;          /* INT, NUM */
    const char *folder;       /* POLICY */
    const char *const *words; /* ENUM: by enumerator */
    unsigned nwords;
    const char *unit, *meaning, *group_meaning;
    char range[96]; /* for people: "1 to 64", "lru | fifo" */
};

/* All settings in the order of the rows, latencies last; made on first use. */
const struct setting *setting_rows(size_t *n);
/* NULL: none of that path. */
const struct setting *setting_find(const char *path);
/* Says that there is no such setting, and what was perhaps meant. Returns false. */
bool setting_unknown(const char *path, const struct diag_loc *loc,
                     struct diag_sink *diag);

/* Checks type and bounds and stores; text is copied where needed. `loc` may be NULL. */
bool setting_store(struct machine *m, const struct setting *s, const char *text,
                   const struct diag_loc *loc, struct diag_sink *diag);
/* Canonical text of the value. */
void setting_text(const struct machine *m, const struct setting *s, struct strbuf *out);

/* Line and column (from 1) of `group:` (name NULL) or of `name:` below it in a machine
 * file's text, in block style; line 0: not found. (libcyaml keeps no places of values.)
 */
void setting_locate(const char *text, const char *group, const char *name, unsigned *line,
                    unsigned *col);

#endif
