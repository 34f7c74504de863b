/* core.c: the process's GPU: lock, environment, errors, device, clock, streams, events.
 */
#define _GNU_SOURCE
#include "cuda/core/core_int.h"

#include "base/demangle.h"
#include "base/number.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct acu acu = {.record = {.append = -1, .update = -1}};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread int last_error;

/* -- messages -- */

/* Whole text to fd. */
static void
write_fd(int fd, const char *s, size_t n)
{
    while (n) {
        ssize_t w = write(fd, s, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return;
        s += w;
        n -= (size_t)w;
    }
}

void
acu_say(const char *fmt, ...)
{
    struct strbuf line = {0};
    va_list ap;
    char text[4096];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    char *plain = demangle_text(text);
    strbuf_printf(&line, "allot: %s\n", plain);
    free(plain);
    write_fd(STDERR_FILENO, line.s, line.n);
    strbuf_free(&line);
}

void
acu_flush_diag(void)
{
    if (!acu.diag || acu.capturing)
        return;
    static bool told; /* of a newer PTX: a program may have hundreds of modules */
    struct strbuf out = {0};
    const char *s = allot_diag_text(acu.diag);
    if (!allot_diag_errors(acu.diag) && strstr(s, ": warning: PTX ISA version ")) {
        if (told) {
            allot_diag_clear(acu.diag);
            return;
        }
        told = true;
    }
    char *plain = demangle_text(s);
    for (s = plain; *s;) {
        size_t n = strcspn(s, "\n");
        strbuf_printf(&out, "allot: %.*s\n", (int)n, s);
        s += n + (s[n] == '\n');
    }
    free(plain);
    if (out.n)
        write_fd(STDERR_FILENO, out.s, out.n);
    strbuf_free(&out);
    allot_diag_clear(acu.diag);
}

void
acu_capture_begin(void)
{
    acu_flush_diag();
    acu.capturing = true;
}

char *
acu_capture_end(void)
{
    acu.capturing = false;
    char *text = xstrdup(acu.diag ? allot_diag_text(acu.diag) : "");
    if (acu.diag)
        allot_diag_clear(acu.diag);
    return text;
}

int
acu_not_supported(const char *name)
{
    /* Names are string literals of the libraries: few, compared by text. */
    static VEC(const char *) said;
    pthread_mutex_lock(&lock);
    bool known = false;
    for (size_t i = 0; i < said.n && !known; i++)
        known = !strcmp(said.v[i], name);
    if (!known) {
        *vec_push(&said) = name;
        acu_say("%s is not supported; it answers an error", name);
    }
    pthread_mutex_unlock(&lock);
    return ACU_NOT_SUPPORTED;
}

static const struct {
    int number;
    const char *runtime, *driver, *text;
    bool sticky;
} errors[] = {
#define STICKY 1
#define ERROR(number, id, runtime, driver, text, sticky)                                 \
    {number, runtime, driver, text, sticky},
#include "cuda/errors.def"
#undef ERROR
};

static int
error_row(int e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == e)
            return (int)i;
    return -1;
}

const char *
acu_error_runtime_name(int e)
{
    int i = error_row(e);
    return i < 0 ? NULL : errors[i].runtime;
}

const char *
acu_error_driver_name(int e)
{
    int i = error_row(e);
    return i < 0 ? NULL : errors[i].driver;
}

const char *
acu_error_text(int e)
{
    int i = error_row(e);
    return i < 0 ? NULL : errors[i].text;
}

bool
acu_error_sticky(int e)
{
    int i = error_row(e);
    return i >= 0 && errors[i].sticky;
}

/* For kernels. */
static const char *
error_text(int e, bool name)
{
    return name ? acu_error_runtime_name(e) : acu_error_text(e);
}

/* -- environment -- */

bool
acu_env_number(const char *name, uint64_t most, uint64_t *out)
{
    const char *s = getenv(name);
    if (s && *s && !number_u64(s, 0, most, out)) {
        acu_say("%s=%s: not a number from 0 to %llu", name, s, (unsigned long long)most);
        return false;
    }
    return true;
}

static bool
env_guard(uint64_t *out)
{
    const uint64_t most = 16 << 20;
    const char *s = getenv("ALLOT_GUARD");
    if (s && *s && !number_bytes(s, 0, most, out)) {
        acu_say("ALLOT_GUARD=%s: not a number of bytes from 0 to %llu", s,
                (unsigned long long)most);
        return false;
    }
    return true;
}

static bool
env_options(struct allot_options *o)
{
    uint64_t functional = 0, no_skip = 0, threads = 0, all = 0, checks = 0;
    bool ok =
        acu_env_number("ALLOT_FUNCTIONAL", 1, &functional) &&
        acu_env_number("ALLOT_NO_SKIP", 1, &no_skip) &&
        acu_env_number("ALLOT_RECORD_ALL", 1, &all) &&
        acu_env_number("ALLOT_THREADS", 1024, &threads) &&
        acu_env_number("ALLOT_MAX_CYCLES", UINT64_MAX, &o->max_cycles) &&
        acu_env_number("ALLOT_MAX_INSTRUCTIONS", UINT64_MAX, &o->max_instructions) &&
        env_guard(&o->guard) && acu_env_number("ALLOT_CHECK", 7, &checks) &&
        acu_look_options(o);
    o->checks = (unsigned)checks;
    o->functional = functional;
    o->no_skip = no_skip;
    o->threads = (unsigned)threads;
    o->unified = true;
    o->last_result_only = true; /* the record keeps what is wanted of the others */
    o->watch = acu_watch;
    o->attribute = acu_device_attribute;
    o->error_text = error_text;
    acu.record.all = all;
    const char *report = getenv("ALLOT_REPORT");
    acu.report = report && !strcmp(report, "kernel");
    if (report && *report && !acu.report && strcmp(report, "none") != 0) {
        acu_say("ALLOT_REPORT=%s: neither 'kernel' nor 'none'", report);
        ok = false;
    }
    const char *record = getenv("ALLOT_RECORD");
    if (record && *record)
        ok = acu_record_open(record) && ok;
    return acu_working_options(o) && ok;
}

/* path=value lines. */
static bool
env_settings(struct allot_machine *m)
{
    const char *s = getenv("ALLOT_SETTINGS");
    bool ok = true;
    while (ok && s && *s) {
        size_t n = strcspn(s, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)n, s);
        char *eq = strchr(line, '=');
        if (n && (!eq || n >= sizeof line)) {
            acu_say("ALLOT_SETTINGS: '%s' is not PATH=VALUE", line);
            ok = false;
        } else if (n) {
            *eq = 0;
            ok = allot_machine_set(m, line, eq + 1, acu.diag);
        }
        s += n + (s[n] == '\n');
    }
    return ok;
}

static bool
make_machine(void)
{
    const char *name = getenv("ALLOT_MACHINE");
    acu.diag = allot_diag_new();
    bool ok = env_options(&acu.options);
    struct allot_machine *m =
        ok ? allot_machine_load(name && *name ? name : ACU_MACHINE, acu.diag) : NULL;
    ok = m && env_settings(m);
    acu_flush_diag();
    if (ok)
        acu.machine = m;
    else
        allot_machine_free(m);
    return ok;
}

/* -- device -- */

/* Files, one a line. */
static bool
env_schedules(struct allot_device *dev)
{
    const char *s = getenv("ALLOT_SCHEDULES");
    bool ok = true;
    while (ok && s && *s) {
        size_t n = strcspn(s, "\n");
        char path[4096];
        snprintf(path, sizeof path, "%.*s", (int)n, s);
        if (n >= sizeof path)
            acu_say("ALLOT_SCHEDULES: a path of %zu bytes is too long", n);
        ok = n < sizeof path && (!n || allot_device_schedule(dev, path, acu.diag));
        s += n + (s[n] == '\n');
    }
    return ok;
}

int
acu_device_count(void)
{
    if (!acu.tried) {
        acu.tried = true;
        make_machine();
    }
    return acu.machine != NULL;
}

int
acu_device_make(void)
{
    if (acu.device)
        return 0;
    if (!acu_device_count())
        return ACU_NO_DEVICE;
    acu.device = allot_device_new(acu.machine, &acu.options, acu.diag);
    if (acu.device && !env_schedules(acu.device)) {
        allot_device_free(acu.device);
        acu.device = NULL;
    }
    acu_flush_diag();
    if (!acu.device)
        return ACU_DEVICE_UNAVAILABLE;
    acu.epoch++;
    return acu_modules_managed();
}

bool
acu_runtime_called(void)
{
    return acu.runtime;
}

bool
acu_runtime_used(void)
{
    return acu.runtime && acu.device;
}

struct allot_device *
acu_device(void)
{
    return acu.device;
}

const struct allot_machine *
acu_machine(void)
{
    return acu_device_count() ? acu.machine : NULL;
}

double
acu_setting(const char *path)
{
    char v[128];
    if (!acu_device_count() || !allot_machine_get(acu.machine, path, v, sizeof v))
        return 0;
    return strtod(v, NULL);
}

uint64_t
acu_device_epoch(void)
{
    return acu.epoch;
}

void
acu_device_reset(void)
{
    acu_ranges_reset();
    acu_graphs_reset();
    acu_virtual_reset();
    for (size_t i = 0; i < acu.streams.n; i++)
        free(acu.streams.v[i]);
    for (size_t i = 0; i < acu.events.n; i++)
        free(acu.events.v[i]);
    acu.streams.n = acu.events.n = 0;
    memset(acu.default_streams, 0, sizeof acu.default_streams);
    acu_look_end();
    allot_device_free(acu.device); /* before the modules that it reads */
    acu.device = NULL;
    acu_modules_reset();
    acu.sticky = 0;
    acu.reset = true;
}

/* -- calls -- */

int
acu_begin_light(void)
{
    pthread_mutex_lock(&lock);
    return 0;
}

int
acu_device_ready(void)
{
    int e = acu_device_make();
    return e ? e : acu.sticky;
}

int
acu_begin(void)
{
    pthread_mutex_lock(&lock);
    return acu_device_ready();
}

int
acu_end_quiet(int error)
{
    acu_flush_diag();
    pthread_mutex_unlock(&lock);
    return error;
}

int
acu_end(int error)
{
    acu.runtime = true;
    if (error)
        last_error = error;
    return acu_end_quiet(error);
}

int
acu_last_error(bool clear)
{
    pthread_mutex_lock(&lock);
    int e = acu.sticky ? acu.sticky : last_error;
    if (e)
        acu_record_noticed(false);
    pthread_mutex_unlock(&lock);
    if (clear)
        last_error = 0;
    return e;
}

void
acu_call_back(void (*fn)(void *user), void *user)
{
    /* The caller holds the lock once; the program may use another thread inside. */
    pthread_mutex_unlock(&lock);
    fn(user);
    pthread_mutex_lock(&lock);
}

static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* A child of fork has only the thread that forked, under another number: it could not
 * unlock what it locked before. */
static void
in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

__attribute__((constructor)) static void
start(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* -- clock -- */

double
acu_clock(void)
{
    return acu.clock;
}

void
acu_clock_advance(double nanoseconds)
{
    acu.clock += nanoseconds;
}

void
acu_time_link(uint64_t bytes)
{
    acu.clock += (double)bytes / acu_setting("gpu.link"); /* GB/s: bytes a nanosecond */
}

void
acu_time_memory(uint64_t bytes)
{
    double peak = acu_setting("dram.channels") * acu_setting("dram.bus") *
                  acu_setting("dram.transfers") * acu_setting("clock.dram"); /* MB/s */
    acu.clock += (double)bytes * 1000 / peak;
}

/* -- streams -- */

int
acu_stream_new(unsigned flags, int priority, struct acu_stream **out)
{
    struct acu_stream *s = xcalloc(1, sizeof *s);
    s->flags = flags;
    s->priority = priority;
    s->id = ++acu.next_id;
    *vec_push(&acu.streams) = s;
    *out = s;
    return 0;
}

static bool
special(const struct acu_stream *s)
{
    return !s || s == ACU_STREAM_LEGACY || s == ACU_STREAM_PER_THREAD;
}

static size_t
stream_index(const struct acu_stream *s)
{
    size_t i = 0;
    while (i < acu.streams.n && acu.streams.v[i] != s)
        i++;
    return i;
}

bool
acu_stream_valid(const struct acu_stream *s)
{
    return special(s) || stream_index(s) < acu.streams.n;
}

int
acu_stream_free(struct acu_stream *s)
{
    size_t i = stream_index(s);
    if (i == acu.streams.n)
        return ACU_INVALID_HANDLE;
    acu.streams.v[i] = acu.streams.v[--acu.streams.n];
    free(s);
    return 0;
}

unsigned
acu_stream_flags(const struct acu_stream *s)
{
    return special(s) ? 0 : s->flags;
}

int
acu_stream_priority(const struct acu_stream *s)
{
    return special(s) ? 0 : s->priority;
}

uint64_t
acu_stream_id(const struct acu_stream *s)
{
    return special(s) ? (uint64_t)(uintptr_t)s : s->id + 16;
}

/* -- events -- */

enum { EVENT_DISABLE_TIMING = 2 };

int
acu_event_new(unsigned flags, struct acu_event **out)
{
    struct acu_event *e = xcalloc(1, sizeof *e);
    e->flags = flags;
    *vec_push(&acu.events) = e;
    *out = e;
    return 0;
}

static size_t
event_index(const struct acu_event *e)
{
    size_t i = 0;
    while (i < acu.events.n && acu.events.v[i] != e)
        i++;
    return i;
}

bool
acu_event_valid(const struct acu_event *e)
{
    return event_index(e) < acu.events.n;
}

int
acu_event_free(struct acu_event *e)
{
    size_t i = event_index(e);
    if (i == acu.events.n)
        return ACU_INVALID_HANDLE;
    acu.events.v[i] = acu.events.v[--acu.events.n];
    acu_capture_forget(e);
    free(e);
    return 0;
}

int
acu_event_record(struct acu_event *e, struct acu_stream *s)
{
    if (!acu_event_valid(e) || !acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    e->recorded = true;
    e->at = acu.clock;
    return 0;
}

bool
acu_event_recorded(const struct acu_event *e)
{
    return e->recorded;
}

bool
acu_event_untimed(const struct acu_event *e)
{
    return acu_event_valid(e) && e->flags & EVENT_DISABLE_TIMING;
}

int
acu_event_elapsed(const struct acu_event *from, const struct acu_event *to, float *ms)
{
    if (!acu_event_valid(from) || !acu_event_valid(to) || !from->recorded ||
        !to->recorded || (from->flags | to->flags) & EVENT_DISABLE_TIMING)
        return ACU_INVALID_HANDLE;
    *ms = (float)((to->at - from->at) * 1e-6);
    return 0;
}

/* -- maps -- */

static size_t
slot_of(const struct acu_map *m, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15ull;
    size_t i = (size_t)(h >> 32) & (m->cap - 1);
    while (m->slot[i].key && m->slot[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

void *
acu_map_get(const struct acu_map *m, const void *key)
{
    return m->cap && key ? m->slot[slot_of(m, key)].value : NULL;
}

void
acu_map_put(struct acu_map *m, const void *key, void *value)
{
    if (2 * (m->n + 1) > m->cap) {
        struct acu_map bigger = {.cap = m->cap ? 2 * m->cap : 64};
        bigger.slot = xcalloc(bigger.cap, sizeof *bigger.slot);
        for (size_t i = 0; i < m->cap; i++)
            if (m->slot[i].value)
                acu_map_put(&bigger, m->slot[i].key, m->slot[i].value);
        free(m->slot);
        *m = bigger;
    }
    struct acu_slot *s = &m->slot[slot_of(m, key)];
    m->n += !s->key;
    *s = (struct acu_slot){key, value};
}

void
acu_map_free(struct acu_map *m)
{
    free(m->slot);
    *m = (struct acu_map){0};
}
