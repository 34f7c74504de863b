/* yaml_log.c: libcyaml tells errors as lines of a log, from the complaint outward. */
#include "base/yaml_log.h"

#include <stdio.h>
#include <string.h>

void
yaml_log_take(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    struct yaml_log *log = ctx;
    char text[400], field[80];
    unsigned line, col;
    vsnprintf(text, sizeof text, fmt, args);
    text[strcspn(text, "\n")] = 0;
    const char *p = text;
    if (!strncmp(p, "Load: ", 6))
        p += 6;
    p += strspn(p, " ");
    if (level == CYAML_LOG_WARNING) {
        log->more_documents |= strstr(p, "documents") != NULL;
    } else if (sscanf(p, "in mapping field '%79[^']' (line: %u, column: %u)", field,
                      &line, &col) == 3) {
        if (log->nfields < 2)
            memcpy(log->field[log->nfields++], field, sizeof field);
        if (!log->line) {
            log->line = line;
            log->col = col;
        }
    } else if (sscanf(p, "in %*[^(](line: %u, column: %u)", &line, &col) == 2) {
        if (!log->line) {
            log->line = line;
            log->col = col;
        }
    } else if (strncmp(p, "Backtrace", 9) && !log->message[0])
        snprintf(log->message, sizeof log->message, "%s", p);
}
