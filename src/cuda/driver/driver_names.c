/* driver_names.c: entry points by name (cuGetProcAddress). The rows are driver.symbols',
 * handed over by the build. */
#include "cuda/driver/driver.h"

#define ROW(name, since) CU name(void);
#include "driver_rows.inc"
#undef ROW

static const struct row {
    const char *name;
    int since;
    int (*fn)(void);
} rows[] = {
#define ROW(name, since) {#name, since, (int (*)(void))name},
#include "driver_rows.inc"
#undef ROW
};

/* Length of the name without _v2 and _ptsz; *per_thread: it had the latter. */
static size_t
base_length(const char *name, bool *per_thread)
{
    size_t n = strlen(name);
    *per_thread =
        n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds"));
    if (*per_thread)
        n -= 5;
    if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '2' &&
        name[n - 1] <= '9')
        n -= 3;
    return n;
}

void *
drv_entry(const char *name, int version, bool per_thread, bool *newer)
{
    const struct row *best = NULL;
    bool best_thread = false;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        bool thread;
        if (base_length(r->name, &thread) != length ||
            strncmp(r->name, name, length) != 0 || (thread && !per_thread))
            continue;
        if (r->since > version) {
            *newer = true;
            continue;
        }
        if (!best || thread > best_thread ||
            (thread == best_thread && r->since >= best->since)) {
            best = r;
            best_thread = thread;
        }
    }
    return best ? (void *)(uintptr_t)best->fn : NULL;
}
