/* number.c: numbers as people write them. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

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

bool
number_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
    static const char *const units[] = {"", "k", "m", "g", "kib", "mib", "gib"};
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)s[0]))
        return false;
    uint64_t v = strtoull(s, &end, 0);
    size_t unit = 0, n = sizeof units / sizeof *units;
    while (unit < n && strcasecmp(end, units[unit]))
        unit++;
    if (errno || unit == n)
        return false;
    unsigned shift = unit ? 10 * (unsigned)((unit - 1) % 3 + 1) : 0;
    if (v > UINT64_MAX >> shift || v << shift < lo || v << shift > hi)
        return false;
    *out = v << shift;
    return true;
}
