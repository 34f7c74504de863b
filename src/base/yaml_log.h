/* yaml_log.h: what libcyaml says of a file that it does not accept, taken apart. */
#ifndef ALLOT_BASE_YAML_LOG_H
#define ALLOT_BASE_YAML_LOG_H

#include <cyaml/cyaml.h>
#include <stdbool.h>

struct yaml_log {
    char message[240];  /* the first complaint */
    char field[2][80];  /* innermost, outer mapping field; the first nfields are set */
    unsigned line, col; /* of the innermost place that libcyaml tells */
    int nfields;
    bool more_documents;
};

/* A cyaml_log_fn_t; ctx: a zeroed struct yaml_log. */
void yaml_log_take(cyaml_log_t level, void *ctx, const char *fmt, va_list args);

#endif
