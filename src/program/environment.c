/* environment.c: what our libraries are told, in variables of the program's environment
 * (read by src/cuda/core and src/cuda/static.c). */
#include "program/program_int.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Behind what the user preloads, which may have to come first (sanitizers). */
static void
preload(const char *folder, const char *library)
{
    const char *old = getenv("LD_PRELOAD");
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%s%s/%s", old ? old : "", old && *old ? ":" : "", folder,
                  library);
    setenv("LD_PRELOAD", b.s, 1);
    strbuf_free(&b);
}

static void
prepend(const char *name, const char *value)
{
    const char *old = getenv(name);
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%s%s", value, old && *old ? ":" : "", old ? old : "");
    setenv(name, b.s, 1);
    strbuf_free(&b);
}

static void
set_or_clear(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Lines, one a text; no variable if there are none. */
static void
set_lines(const char *name, const char *const *text, size_t n)
{
    struct strbuf b = {0};
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "%s\n", text[i]);
    set_or_clear(name, b.n ? b.s : NULL);
    strbuf_free(&b);
}

/* The program may change its folder: a path is whole. */
static void
set_path(const char *name, const char *path)
{
    char here[PATH_MAX];
    struct strbuf b = {0};
    if (path && *path != '/' && getcwd(here, sizeof here))
        strbuf_printf(&b, "%s/%s", here, path);
    set_or_clear(name, b.n ? b.s : path);
    strbuf_free(&b);
}

static void
set_schedules(const struct program_setup *s)
{
    struct strbuf b = {0};
    for (size_t i = 0; i < s->nschedules; i++) {
        char path[PATH_MAX];
        strbuf_printf(&b, "%s\n",
                      realpath(s->schedules[i], path) ? path : s->schedules[i]);
    }
    set_or_clear("ALLOT_SCHEDULES", b.n ? b.s : NULL);
    strbuf_free(&b);
}

/* Python packages that make machine code of their PTX before they load it get stand-ins
 * for the tools that do so (src/cuda/ptxas.sh for Triton, nvcc.sh for PyCUDA). */
static void
keep_ptx(const char *folder)
{
    struct strbuf b = {0};
    char nvcc[PATH_MAX];
    strbuf_printf(&b, "%s/ptxas", folder);
    setenv("TRITON_PTXAS_PATH", b.s, 1);
    setenv("TRITON_PTXAS_BLACKWELL_PATH", b.s, 1);
    b.n = 0;
    strbuf_printf(&b, "%s/bin", folder);
    if (program_in_path("nvcc", nvcc))
        prepend("PATH", b.s);
    strbuf_free(&b);
}

/* What is to be seen of which launches (src/cuda/core/core_look.c). */
static void
set_look(const struct program_setup *s)
{
    set_or_clear("ALLOT_KERNEL", s->kernel);
    set_or_clear("ALLOT_SKIP", s->skip);
    set_or_clear("ALLOT_COUNT", s->count);
    set_path("ALLOT_TRACE", s->trace);
    set_or_clear("ALLOT_TRACE_FROM", s->trace ? s->trace_from : NULL);
    set_or_clear("ALLOT_TRACE_TO", s->trace ? s->trace_to : NULL);
    set_or_clear("ALLOT_TRACE_LIMIT", s->trace ? s->trace_limit : NULL);
    set_or_clear("ALLOT_BY_LINE", s->by_line ? "1" : NULL);
    set_path("ALLOT_TIMELINE", s->timeline);
    set_or_clear("ALLOT_TIMELINE_CYCLES", s->timeline ? s->timeline_cycles : NULL);
    set_or_clear("ALLOT_TIMELINE_SMS", s->timeline && s->timeline_sms ? "1" : NULL);
}

/* Working sets of which launches (src/cuda/core/core_working.c). */
static void
set_working(const struct program_setup *s)
{
    char nth[24], cps[32];
    snprintf(nth, sizeof nth, "%llu", (unsigned long long)s->working_nth);
    snprintf(cps, sizeof cps, "%.17g", s->working.cps);
    const bool any = s->working_nth;
    set_or_clear("ALLOT_WORKING_SETS", any ? nth : NULL);
    set_or_clear("ALLOT_WORKING_METHOD", any ? s->working.method : NULL);
    set_or_clear("ALLOT_WORKING_CPS", any && s->working.cps >= 0 ? cps : NULL);
}

void
program_environment(const struct program_setup *s, const char *libraries,
                    const struct allot_program *p, const char *record)
{
    char number[16], machine[PATH_MAX];
    size_t len = strlen(s->machine);
    bool file =
        strchr(s->machine, '/') || (len > 5 && !strcmp(s->machine + len - 5, ".yaml"));
    prepend("LD_LIBRARY_PATH", libraries);
    if (p->rpath && *p->runtime) /* its own folders would be searched first */
        preload(libraries, p->runtime);
    /* src/cuda/static.c: for a runtime inside the program, or inside what it loads or starts. */
    preload(libraries, "liballot-static.so");
    keep_ptx(libraries);
    setenv("ALLOT_MACHINE", file && realpath(s->machine, machine) ? machine : s->machine,
           1);
    set_lines("ALLOT_SETTINGS", s->settings, s->nsettings);
    set_schedules(s);
    set_or_clear("ALLOT_FUNCTIONAL", s->functional ? "1" : NULL);
    set_or_clear("ALLOT_NO_SKIP", s->no_skip ? "1" : NULL);
    snprintf(number, sizeof number, "%u", s->threads);
    setenv("ALLOT_THREADS", number, 1);
    set_or_clear("ALLOT_MAX_CYCLES", s->max_cycles);
    set_or_clear("ALLOT_MAX_INSTRUCTIONS", s->max_instructions);
    set_or_clear("ALLOT_GUARD", s->guard);
    snprintf(number, sizeof number, "%u", s->checks);
    set_or_clear("ALLOT_CHECK", s->checks ? number : NULL);
    set_or_clear("ALLOT_REPORT", s->per_kernel ? "kernel" : NULL);
    set_path("ALLOT_RECORD", record);
    set_or_clear("ALLOT_RECORD_ALL", s->all ? "1" : NULL);
    set_look(s);
    set_working(s);
}
