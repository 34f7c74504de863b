/* json.h: texts as JSON strings, JSON in files. */
#ifndef ALLOT_BASE_JSON_H
#define ALLOT_BASE_JSON_H

#include "base/diag.h"

#include <jansson.h>
#include <stdio.h>

/* A JSON string also for what is no UTF-8 (file names): those bytes become '?'. */
json_t *json_text(const char *s);
/* An object as a file, by jansson's flags, and a line end; "-" is f. False and a diagnostic. */
bool json_put(const char *path, const json_t *o, size_t flags, FILE *f,
              struct diag_sink *diag);

#endif
