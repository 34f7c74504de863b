/* number.c: numbers as people write them. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool
number_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)s[0]))
        return false;
    unsigned long long v = strtoull(s, &end, 0);
    if (errno || *end || v < lo || v > hi)
        return false;
    *out = v;
    return true;
}
