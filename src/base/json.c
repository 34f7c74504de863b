/* json.c: texts as JSON strings. */
#include "base/json.h"

#include "base/arena.h"

json_t *
json_text(const char *s)
{
    json_t *j = json_string(s);
    if (j)
        return j;
    char *ascii = xstrdup(s);
    for (char *p = ascii; *p; p++)
        if (*p & 0x80)
            *p = '?';
    j = json_string(ascii);
    free(ascii);
    return j;
}
