/* yamlfile.h: YAML files against a libcyaml schema, with a place for everything said
 * about them.
 *
 * libcyaml loads the data but keeps no places; a second reading by libyaml notes line and
 * column of every value under its path, such as "variants[1].settings[0]". */
#ifndef ALLOT_EXPERIMENTS_YAMLFILE_H
#define ALLOT_EXPERIMENTS_YAMLFILE_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"

#include <cyaml/cyaml.h>

struct yamlfile_place {
    const char *path;
    unsigned line, col; /* of a mapping's key; of an item's value; from 1 */
};

struct yamlfile {
    const char *file; /* as diagnostics call it */
    char *text;
    struct arena mem;
    VEC(struct yamlfile_place) places; /* in the order of the text */
};

/* Reads the file and loads it: *data (to be given back with yamlfile_drop) is what the
 * schema says. False and diagnostics on failure; y is to be freed in both cases. `what`
 * names such files to people ("an experiment"). */
bool yamlfile_load(struct yamlfile *y, const char *file,
                   const cyaml_schema_value_t *schema, void **data, const char *what,
                   struct diag_sink *diag);
void yamlfile_drop(const cyaml_schema_value_t *schema, void *data);
void yamlfile_free(struct yamlfile *y);

/* Place of a path (printf-like), or of the nearest part of it that is in the file. */
struct diag_loc yamlfile_at(const struct yamlfile *y, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
