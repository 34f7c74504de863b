/* run.c: keys, plans, and one simulation from its description. */
#include "experiments/run.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "experiments/subject.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- what was read once -- */

struct run_cache_entry {
    struct run_cache_entry *next;
    char *name; /* of a machine; or workload, compiler, passes */
    struct allot_machine *machine;
    struct allot_module *module; /* of a file of one's own, after its passes */
    char ptx_hash[33];
};

static struct run_cache_entry *
cached(struct run_cache *c, const char *name)
{
    for (struct run_cache_entry *e = c->list; e; e = e->next)
        if (!strcmp(e->name, name))
            return e;
    return NULL;
}

static struct run_cache_entry *
remember(struct run_cache *c, const char *name)
{
    struct run_cache_entry *e = xcalloc(1, sizeof *e);
    e->name = xstrdup(name);
    e->next = c->list;
    c->list = e;
    return e;
}

void
run_cache_free(struct run_cache *c)
{
    for (struct run_cache_entry *e = c->list, *next; e; e = next) {
        next = e->next;
        allot_machine_free(e->machine);
        allot_module_free(e->module);
        free(e->name);
        free(e);
    }
    c->list = NULL;
}

/* -- the parts of a run; errors go to a public diag, whose text is passed on -- */

static struct allot_machine *
load_machine(const struct exp_run *r, struct run_cache *c, struct allot_diag *d)
{
    struct allot_machine *m;
    if (c) {
        struct run_cache_entry *e = cached(c, r->machine);
        if (!e) {
            m = allot_machine_load(r->machine, d);
            if (!m)
                return NULL;
            e = remember(c, r->machine);
            e->machine = m;
        }
        m = allot_machine_clone(e->machine);
    } else
        m = allot_machine_load(r->machine, d);
    for (size_t i = 0; m && i < r->nsettings; i++) {
        const char *eq = strchr(r->settings[i], '=');
        char *path = xstrdup(r->settings[i]);
        path[eq ? (size_t)(eq - r->settings[i]) : strlen(path)] = 0;
        if (!allot_machine_set(m, path, eq ? eq + 1 : "", d)) {
            allot_machine_free(m);
            m = NULL;
        }
        free(path);
    }
    if (m && *r->passes && !allot_machine_set(m, "compiler.passes", r->passes, d)) {
        allot_machine_free(m);
        m = NULL;
    }
    return m;
}

static struct subject
subject_of(const struct exp_run *r)
{
    return (struct subject){.name = r->workload,
                            .workload = r->own ? NULL : allot_workload_find(r->workload),
                            .compiler = r->compiler,
                            .quick = r->quick,
                            .seed = r->seed,
                            .params = r->params,
                            .nparams = r->nparams};
}

/* Passes run when a kernel is launched (compiler.passes), with the launch's threshold;
 * `passed`: now, to see that they can, and what comes out. */
static struct allot_module *
load_module(const struct exp_run *r, const struct allot_machine *m, bool passed,
            struct allot_diag *d)
{
    const struct subject s = subject_of(r);
    struct allot_module *mod = r->own || s.workload ? subject_module(&s, m, d) : NULL;
    if (mod && passed && *r->passes && !allot_module_opt(mod, r->passes, NULL, d)) {
        allot_module_free(mod);
        return NULL;
    }
    return mod;
}

/* What the launch of a kernel of one's own is made of, its input files too. */
static bool
hash_launch(const struct exp_run *r, struct launch *l, char out[33],
            struct diag_sink *diag)
{
    struct hash h = hash_start();
    for (size_t i = 0; i < r->nparams; i++)
        hash_text(&h, r->params[i]);
    for (size_t i = 0; i < l->kernel->nparams; i++) {
        struct launch_arg *a = &l->arg[i];
        char *data = a->in ? launch_input(a, diag) : NULL;
        if (a->in && !data)
            return false;
        if (data)
            hash_bytes(&h, data, a->bytes);
        free(data);
    }
    hash_hex(&h, out);
    return true;
}

static bool
read_launch(const struct exp_run *r, struct allot_module *mod, struct launch *l,
            struct arena *mem, struct diag_sink *diag)
{
    struct launch_desc desc;
    const char *wrong = "";
    if (!launch_from_texts(r->params, r->nparams, &desc, &wrong, mem))
        return diag_error(diag,
                          "a kernel of one's own has no parameter '%.*s': kernel, grid, "
                          "block, smem, and arg0 to its last argument are its",
                          (int)strcspn(wrong, "="), wrong);
    return launch_read(&desc, mod, r->workload, l, NULL, mem, diag);
}

/* The module's hash, once for all runs in which it is the same: `name` says what it depends
 * on. */
static struct run_cache_entry *
module_of(const struct exp_run *r, const struct allot_machine *m, struct run_cache *c,
          const char *name, struct diag_sink *diag)
{
    struct run_cache_entry *e = cached(c, name);
    if (e)
        return e;
    struct allot_diag *d = allot_diag_new();
    struct allot_module *mod = load_module(r, m, true, d);
    if (mod) {
        e = remember(c, name);
        allot_module_hash(mod, e->ptx_hash);
        e->module = r->own ? mod : NULL;
    } else {
        run_diag(d, diag);
    }
    if (!r->own)
        allot_module_free(mod);
    allot_diag_free(d);
    return e;
}

static bool
ptx_hash(struct exp_run *r, const struct allot_machine *m, struct run_cache *c,
         char launch_hash[33], struct diag_sink *diag)
{
    struct strbuf name = {0};
    strbuf_printf(&name, "ptx %s %s %s", r->workload, r->compiler, r->passes);
    if (r->own) /* a fatbin's choice depends on the machine */
        strbuf_printf(&name, " %s", r->machine);
    const struct run_cache_entry *e = module_of(r, m, c, name.s, diag);
    struct arena mem = {0};
    struct launch l;
    bool ok = e;
    if (ok)
        memcpy(r->ptx_hash, e->ptx_hash, sizeof r->ptx_hash);
    if (ok && r->own)
        ok = read_launch(r, e->module, &l, &mem, diag) &&
             hash_launch(r, &l, launch_hash, diag);
    arena_free(&mem);
    strbuf_free(&name);
    return ok;
}

/* launch_hash: of a kernel of one's own, or of an experiment's program. Where its file lies
 * does not matter. */
static void
make_key(struct exp_run *r, const char *launch_hash)
{
    struct hash h = hash_start();
    bool by_launch = r->own || *launch_hash;
    char numbers[64];
    hash_text(&h, run_version());
    hash_text(&h, by_launch ? "" : r->workload);
    hash_text(&h, by_launch ? launch_hash : run_workload_id(r->workload));
    hash_text(&h, r->machine_hash);
    hash_text(&h, r->ptx_hash);
    for (size_t i = 0; !by_launch && i < r->nparams; i++)
        hash_text(&h, r->params[i]);
    snprintf(numbers, sizeof numbers, "%u %d %llu", r->seed, r->quick,
             (unsigned long long)r->max_cycles);
    hash_text(&h, numbers);
    hash_hex(&h, r->key);
}

bool
run_identify(struct exp_run *r, const struct allot_machine *m, struct allot_module *mod,
             const char *ptx_hash, struct diag_sink *diag)
{
    struct arena mem = {0};
    struct launch l;
    char launch_hash[33] = "";
    bool ok = !r->own || (read_launch(r, mod, &l, &mem, diag) &&
                          hash_launch(r, &l, launch_hash, diag));
    if (mod)
        allot_module_hash(mod, r->ptx_hash);
    else
        snprintf(r->ptx_hash, sizeof r->ptx_hash, "%s", ptx_hash);
    allot_machine_hash(m, r->machine_hash);
    make_key(r, launch_hash);
    arena_free(&mem);
    return ok;
}

void
run_diag(struct allot_diag *d, struct diag_sink *diag)
{
    const char *text = allot_diag_text(d), *start = strstr(text, "error: ");
    start = start ? start + strlen("error: ") : text;
    const char *hint = strstr(start, "hint: ");
    struct diag *added =
        diag_add(diag, DIAG_ERROR, NULL, "%.*s", (int)strcspn(start, "\n"), start);
    if (hint) {
        hint += strlen("hint: ");
        diag_hint(diag, added, "%.*s", (int)strcspn(hint, "\n"), hint);
    }
}

bool
run_prepare(struct exp_run *r, struct run_cache *c, struct diag_sink *diag)
{
    size_t len;
    bool ours = !r->own && !r->program;
    if (ours && !allot_workload_find(r->workload))
        return diag_error(diag, "no workload is called '%s' ('allot list workloads')",
                          r->workload);
    if (ours && !allot_workload_ptx(r->workload, r->compiler, &len))
        return diag_error(diag,
                          "workload %s has no PTX by '%s' in this build: clang, or nvcc "
                          "where it was installed at build time",
                          r->workload, r->compiler);
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = load_machine(r, c, d);
    char launch_hash[33] = "";
    if (!m)
        run_diag(d, diag);
    bool ok = m && (r->program ? run_program_hash(r, launch_hash, diag)
                               : ptx_hash(r, m, c, launch_hash, diag));
    if (ok) {
        allot_machine_hash(m, r->machine_hash);
        make_key(r, launch_hash);
    }
    allot_machine_free(m);
    allot_diag_free(d);
    return ok;
}

/* -- plans -- */

static json_t *
list_json(const char *const *v, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_text(v[i]));
    return a;
}

static const char *const *
list_from_json(const json_t *a, size_t *n, struct arena *mem)
{
    *n = json_array_size(a);
    const char **list = ARENA_ARRAY(mem, const char *, *n);
    for (size_t i = 0; i < *n; i++) {
        const char *s = json_string_value(json_array_get(a, i));
        list[i] = arena_strdup(mem, s ? s : "");
    }
    return list;
}

json_t *
run_json(const struct exp_run *r)
{
    return json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:s, s:s, s:I, s:b, s:I, s:s, "
                     "s:s, s:s}",
                     "workload", json_text(r->workload), "own", r->own, "program",
                     r->program, "folder", json_text(r->folder ? r->folder : ""),
                     "machine", json_text(r->machine), "settings",
                     list_json(r->settings, r->nsettings), "params",
                     list_json(r->params, r->nparams), "passes", r->passes, "compiler",
                     r->compiler, "seed", (json_int_t)r->seed, "quick", r->quick,
                     "max_cycles", (json_int_t)r->max_cycles, "key", r->key,
                     "machine_hash", r->machine_hash, "ptx_hash", r->ptx_hash);
}

bool
run_from_json(const json_t *j, struct exp_run *r, struct arena *mem)
{
    const char *workload, *machine, *passes, *compiler, *key, *mh, *ph, *folder = "";
    json_t *settings, *params;
    json_int_t seed, max_cycles;
    int quick, own, program = 0;
    memset(r, 0, sizeof *r);
    if (json_unpack((json_t *)j,
                    "{s:s, s:b, s?b, s?s, s:s, s:o, s:o, s:s, s:s, s:I, s:b, s:I, s:s, "
                    "s:s, s:s}",
                    "workload", &workload, "own", &own, "program", &program, "folder",
                    &folder, "machine", &machine, "settings", &settings, "params",
                    &params, "passes", &passes, "compiler", &compiler, "seed", &seed,
                    "quick", &quick, "max_cycles", &max_cycles, "key", &key,
                    "machine_hash", &mh, "ptx_hash", &ph) ||
        !json_is_array(settings) || strlen(key) > 32 || strlen(mh) > 16 ||
        strlen(ph) > 32)
        return false;
    r->workload = arena_strdup(mem, workload);
    r->machine = arena_strdup(mem, machine);
    r->passes = arena_strdup(mem, passes);
    r->compiler = arena_strdup(mem, compiler);
    r->seed = (uint32_t)seed;
    r->quick = quick;
    r->own = own;
    r->program = program;
    r->folder = *folder ? arena_strdup(mem, folder) : NULL;
    r->max_cycles = (uint64_t)max_cycles;
    strcpy(r->key, key);
    strcpy(r->machine_hash, mh);
    strcpy(r->ptx_hash, ph);
    r->settings = list_from_json(settings, &r->nsettings, mem);
    r->params = list_from_json(params, &r->nparams, mem);
    return true;
}

/* -- records -- */

void
run_now(char text[24])
{
    time_t t = time(NULL);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void
run_token(char text[33])
{
    uint64_t v[2] = {0};
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read(fd, v, sizeof v) == (ssize_t)sizeof v;
    if (fd >= 0)
        close(fd);
    if (!ok) { /* unique is enough */
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        v[0] = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        v[1] = (uint64_t)getpid();
    }
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)v[0],
             (unsigned long long)v[1]);
}

static json_t *
record(const struct exp_run *r, const char *token, const char *started, double seconds,
       const char *state, const char *message)
{
    char host[128] = "";
    gethostname(host, sizeof host - 1);
    json_t *o = run_json(r);
    json_object_set_new(o, "token", json_string(token));
    json_object_set_new(o, "state", json_string(state));
    json_object_set_new(o, "message", json_text(message));
    json_object_set_new(o, "version", json_string(run_version()));
    json_object_set_new(o, "host", json_text(host));
    json_object_set_new(o, "started", json_string(started));
    json_object_set_new(o, "seconds", json_real(seconds));
    json_object_set_new(o, "launches", json_array());
    return o;
}

json_t *
run_failure(const struct exp_run *r, const char *token, const char *started,
            double seconds, const char *message)
{
    return record(r, token, started, seconds, "failed", message);
}

/* A setting's value as JSON, by the setting's type. */
static json_t *
setting_json(const char *type, const char *text)
{
    char *end;
    if (!strcmp(type, "boolean"))
        return json_boolean(!strcmp(text, "true"));
    if (!strcmp(type, "integer")) {
        long long v = strtoll(text, &end, 10);
        return *end ? json_text(text) : json_integer(v);
    }
    if (!strcmp(type, "number")) {
        double v = strtod(text, &end);
        return *end ? json_text(text) : json_real(v);
    }
    return json_text(text);
}

json_t *
run_machine(const struct allot_machine *m)
{
    json_t *o = json_object();
    struct allot_setting_info info;
    char text[1024];
    for (size_t i = 0; allot_setting(i, &info); i++)
        if (allot_machine_get(m, info.path, text, sizeof text))
            json_object_set_new(o, info.path, setting_json(info.type, text));
    return o;
}

json_t *
run_record(const struct exp_run *r, const char *token, const char *started,
           double seconds, const struct allot_machine *m, const struct allot_device *dev,
           bool ok, const char *message)
{
    json_t *o = record(r, token, started, seconds, ok ? "done" : "failed", message);
    if (m)
        json_object_set_new(o, "machine_settings", run_machine(m));
    json_t *launches = json_object_get(o, "launches");
    for (size_t i = 0; dev && i < allot_results(dev); i++) {
        const struct allot_result *res = allot_result_at(dev, i);
        json_t *l = json_object();
        struct allot_stat_info info;
        uint64_t count;
        json_object_set_new(l, "kernel", json_text(allot_result_kernel(res)));
        json_object_set_new(l, "seconds", json_real(allot_result_seconds(res)));
        for (size_t k = 0; allot_stat(k, &info); k++)
            if (!info.derived && allot_result_get(res, info.id, &count, NULL))
                json_object_set_new(l, info.id, json_integer((json_int_t)count));
        json_array_append_new(launches, l);
    }
    return o;
}

static bool
execute(const struct exp_run *r, struct allot_module *mod, struct allot_device *dev,
        char why[256], struct diag_sink *diag, struct allot_diag *d)
{
    struct arena mem = {0};
    struct subject s = subject_of(r);
    bool ok = (!r->own || read_launch(r, mod, &s.launch, &mem, diag)) &&
              subject_run(&s, dev, mod, why, diag, d);
    arena_free(&mem);
    return ok;
}

json_t *
run_execute(const struct exp_run *r, const char *token)
{
    char started[24], why[256] = "";
    run_now(started);
    double t0 = clock_seconds(CLOCK_MONOTONIC);
    struct allot_diag *d = allot_diag_new();
    struct diag_sink diag = {0};
    const struct allot_options o = {.max_cycles = r->max_cycles};
    struct allot_machine *m = load_machine(r, NULL, d);
    if (m && r->program) {
        json_t *launched = run_program(r, token, m);
        allot_machine_free(m);
        allot_diag_free(d);
        return launched;
    }
    struct allot_module *mod = m ? load_module(r, m, false, d) : NULL;
    struct allot_device *dev = mod ? allot_device_new(m, &o, d) : NULL;
    bool ok = dev && execute(r, mod, dev, why, &diag, d);
    struct strbuf text = {0};
    if (!ok && *why)
        strbuf_printf(&text, "%s", why);
    else if (!ok) {
        strbuf_printf(&text, "%s", allot_diag_text(d));
        diag_print(&diag, &text);
    }
    diag_free(&diag);
    while (text.n && isspace((unsigned char)text.s[text.n - 1]))
        text.s[--text.n] = 0;
    json_t *rec = run_record(r, token, started, clock_seconds(CLOCK_MONOTONIC) - t0, m,
                             dev, ok, text.s ? text.s : "");
    strbuf_free(&text);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return rec;
}
