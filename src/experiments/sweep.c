/* sweep.c: see sweep.h. */
#include "experiments/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number in a label, and what is around it; false: there is none. "t = 0.5"; that of
 * "DCT4" is part of a name. */
static bool
number(const char *label, double *x, size_t *head, const char **tail)
{
    *head = strcspn(label, "0123456789");
    if (!label[*head] || (*head && !strchr(" =:", label[*head - 1])))
        return false;
    char *end;
    *x = strtod(label + *head, &end);
    *tail = end;
    return end > label + *head && isfinite(*x);
}

bool
sweep_numbers(const char *const *labels, size_t n, bool may_fall, double *x)
{
    size_t head, first = 0, rises = 0, falls = 0;
    const char *tail, *same = "";
    for (size_t i = 0; i < n; i++) {
        if (!number(labels[i], &x[i], &head, &tail) ||
            (i && (head != first || strcmp(tail, same) != 0 ||
                   strncmp(labels[i], labels[0], head) != 0)))
            return false;
        rises += i && x[i] > x[i - 1];
        falls += i && x[i] < x[i - 1];
        first = head;
        same = tail;
    }
    return n > 2 && (rises == n - 1 || (may_fall && falls == n - 1));
}

const char *
sweep_unit(const char *label)
{
    size_t head;
    double x;
    const char *tail = "";
    number(label, &x, &head, &tail);
    return tail + strspn(tail, " ");
}
