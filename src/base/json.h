/* json.h: texts as JSON strings. */
#ifndef ALLOT_BASE_JSON_H
#define ALLOT_BASE_JSON_H

#include <jansson.h>

/* A JSON string also for what is no UTF-8 (file names): those bytes become '?'. */
json_t *json_text(const char *s);

#endif
