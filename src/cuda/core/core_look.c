/* core_look.c: what `allot exec` asks to see of a program's launches: which of them have
 * timing (ALLOT_KERNEL, ALLOT_SKIP, ALLOT_COUNT), counters over time (ALLOT_TIMELINE), a trace
 * (ALLOT_TRACE).
 *
 * The files are there and empty when the program starts. The first process with something to
 * write takes them; later ones write beside them, their number behind the name. */
#define _GNU_SOURCE
#include "cuda/core/core_int.h"

#include "base/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
text_of(const char *name)
{
    const char *s = getenv(name);
    return s && *s ? s : NULL;
}

bool
acu_look_options(struct allot_options *o)
{
    acu.look.kernel = text_of("ALLOT_KERNEL");
    acu.look.trace = text_of("ALLOT_TRACE");
    acu.look.timeline = text_of("ALLOT_TIMELINE");
    bool ok = acu_env_number("ALLOT_SKIP", UINT64_MAX, &acu.look.skip) &&
              acu_env_number("ALLOT_COUNT", UINT64_MAX, &acu.look.count) &&
              acu_env_number("ALLOT_TRACE_FROM", UINT64_MAX, &o->trace_from) &&
              acu_env_number("ALLOT_TRACE_TO", UINT64_MAX, &o->trace_to) &&
              acu_env_number("ALLOT_TRACE_LIMIT", UINT64_MAX, &o->trace_limit) &&
              acu_env_number("ALLOT_TIMELINE_CYCLES", UINT64_MAX, &o->sample_cycles) &&
              acu_env_number("ALLOT_TIMELINE_SMS", 1, &acu.look.sms);
    o->sample_sms = acu.look.sms;
    uint64_t lines = 0;
    ok = ok && acu_env_number("ALLOT_BY_LINE", 1, &lines);
    o->by_line = lines;
    if (acu.look.trace)
        atexit(acu_look_end);
    return ok;
}

/* The pattern is of the name in the PTX or in the source: whole, the part before the
 * parameters, or that without its namespaces. */
static bool
matches(const char *pattern, const char *name)
{
    char *plain = demangle(name), *part = xstrdup(plain), *bare = demangle_bare(plain);
    part[strcspn(part, "(<")] = 0;
    bool yes = !fnmatch(pattern, name, 0) || !fnmatch(pattern, plain, 0) ||
               !fnmatch(pattern, part, 0) || !fnmatch(pattern, bare, 0);
    free(bare);
    free(part);
    free(plain);
    return yes;
}

bool
acu_look_past(const char *kernel)
{
    if (acu.look.kernel && !matches(acu.look.kernel, kernel))
        return true;
    uint64_t n = acu.look.matched++;
    return n < acu.look.skip || (acu.look.count && n - acu.look.skip >= acu.look.count);
}

/* Appends to a file that this process has taken: *path is its own from then on, NULL once
 * it could not be written. */
static void
append(const char **path, bool first, const char *text, size_t n)
{
    struct stat st;
    if (first && (stat(*path, &st) || (S_ISREG(st.st_mode) && st.st_size))) {
        struct strbuf own = {0};
        strbuf_printf(&own, "%s.%ld", *path, (long)getpid());
        *path = strbuf_take(&own); /* to the process's end */
    }
    int fd = open(*path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    ssize_t w = 0;
    while (fd >= 0 && n && (w = write(fd, text, n)) > 0) {
        text += w;
        n -= (size_t)w;
    }
    const bool failed = fd < 0 || n;
    if (failed) {
        struct stat st;
        acu_say("cannot write %s: %s", *path, strerror(errno));
        acu_record_lost();
        if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
            unlink(*path); /* rather none than a part of it */
        *path = NULL;
    }
    if (fd >= 0)
        close(fd);
}

void
acu_look_result(const struct allot_result *r)
{
    if (!acu.look.timeline)
        return;
    char *text = allot_timeline_text(r, ++acu.look.launches, acu.look.sms);
    if (acu.look.launches == 1) {
        char *head = allot_timeline_head(acu.look.sms);
        append(&acu.look.timeline, true, head, strlen(head));
        free(head);
    }
    if (acu.look.timeline)
        append(&acu.look.timeline, false, text, strlen(text));
    free(text);
}

void
acu_look_end(void)
{
    size_t n;
    struct allot_trace_cut cut;
    char *text = acu.device && acu.look.trace ? allot_trace(acu.device, &n, &cut) : NULL;
    if (!text)
        return;
    append(&acu.look.trace, true, text, n);
    free(text);
    if (cut.full && acu.look.trace)
        acu_say(
            "%s is full from cycle %llu of launch %llu on: later events are left out; "
            "choose a window (--trace-from, --trace-to) or raise --trace-limit",
            acu.look.trace, (unsigned long long)cut.cycle,
            (unsigned long long)cut.launch);
    acu.look.trace = NULL; /* once */
}
