/* origin.c: see origin.h. */
#include "experiments/origin.h"

#include "base/hash.h"
#include "energy/energy.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS = 12 }; /* of a hash that is kept */

/* -- the commit, from git's own files: no command is run for it -- */

/* Contents of FOLDER/NAME up to the line's end, in mem; NULL: it cannot be read. */
static const char *
first_line(const char *folder, const char *name, struct arena *mem)
{
    char *text = file_read(arena_printf(mem, "%s/%s", folder, name), NULL);
    const char *line = text ? arena_strndup(mem, text, strcspn(text, "\r\n")) : NULL;
    free(text);
    return line;
}

/* The hash of a packed ref: lines "HASH NAME". */
static const char *
packed(const char *git, const char *ref, struct arena *mem)
{
    char *text = file_read(arena_printf(mem, "%s/packed-refs", git), NULL);
    const char *found = NULL, *end = arena_printf(mem, " %s\n", ref);
    char *at = text ? strstr(text, end) : NULL;
    while (at > text && at[-1] != '\n')
        at--;
    if (at)
        found = arena_strndup(mem, at, strcspn(at, " "));
    free(text);
    return found;
}

/* What HEAD of a git folder names. A worktree's folder has HEAD, its `commondir` the branches. */
static const char *
head_of(const char *git, struct arena *mem)
{
    const char *head = first_line(git, "HEAD", mem),
               *to = first_line(git, "commondir", mem);
    const char *common = !to          ? git
                         : *to == '/' ? to
                                      : arena_printf(mem, "%s/%s", git, to);
    if (!head || strncmp(head, "ref: ", 5) != 0)
        return head;
    const char *hash = first_line(git, head + 5, mem);
    hash = hash ? hash : first_line(common, head + 5, mem);
    return hash ? hash : packed(common, head + 5, mem);
}

const char *
origin_commit(const char *file, struct arena *mem)
{
    char *real = realpath(file, NULL), *slash;
    const char *hash = NULL;
    while (real && !hash && (slash = strrchr(real, '/'))) {
        *slash = 0;
        const char *to = first_line(real, ".git", mem); /* of a worktree a file */
        const char *git = to && !strncmp(to, "gitdir: ", 8)
                              ? to + 8
                              : arena_printf(mem, "%s/.git", real);
        hash = head_of(git, mem);
    }
    free(real);
    return hash && strlen(hash) >= DIGITS ? arena_strndup(mem, hash, DIGITS) : "";
}

/* -- of today -- */

static void
add(struct origin *o, const char *kind, const char *name, const char *hash)
{
    const char *slash = strcmp(kind, "code") ? strrchr(name, '/') : NULL;
    name = arena_strdup(&o->mem,
                        slash ? slash + 1 : name); /* where a file lies does not matter */
    for (char *c = (char *)name; *c; c++)
        *c = *c == ' ' || *c == '\n' || *c == '\r' ? '_' : *c;
    for (size_t i = 0; i < o->lines.n; i++)
        if (!strcmp(o->lines.v[i].kind, kind) && !strcmp(o->lines.v[i].name, name))
            return;
    struct origin_line *l;
    if (o->lines.n == o->lines.cap)
        o->lines.v = vec_grow(o->lines.v, &o->lines.cap, o->lines.n + 1, sizeof *l);
    l = &o->lines.v[o->lines.n++];
    *l = (struct origin_line){kind, name, arena_strndup(&o->mem, hash, DIGITS)};
}

static void
add_hash(struct origin *o, const char *kind, const char *name, const struct hash *h)
{
    char hex[33];
    hash_hex(h, hex);
    add(o, kind, name, hex);
}

/* Does a line of an experiment file open a part that no value depends on? */
static bool
is_words(const char *line)
{
    static const char *const keys[] = {"title:", "source:", "note:", "paper:", "checks:"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strncmp(line, keys[i], strlen(keys[i])))
            return true;
    return false;
}

/* A line without its comment and the blanks behind it. */
static size_t
without_comment(const char *line, size_t n)
{
    char quote = 0;
    for (size_t i = 0; i < n; i++) {
        if (quote ? line[i] == quote : line[i] == '"' || line[i] == '\'')
            quote = quote ? 0 : line[i];
        else if (!quote && line[i] == '#' && (!i || line[i - 1] == ' '))
            n = i;
    }
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\r'))
        n--;
    return n;
}

/* What is run and what is shown of it; not what it is called, said or held against. Taken from
 * the text: which cells share a run depends on the code. */
static bool
add_experiment(struct origin *o, const struct experiment *e, struct diag_sink *diag)
{
    struct hash h = hash_start();
    char *text = file_read(e->file, NULL);
    bool words = false;
    for (const char *p = text; p && *p;) {
        const size_t n = strcspn(p, "\n"), kept = without_comment(p, n);
        if (kept && *p != ' ' && *p != '-')
            words = is_words(p);
        if (kept && !words) {
            hash_bytes(&h, p, kept);
            hash_text(&h, "");
        }
        p += n + (p[n] == '\n');
    }
    for (size_t i = 0; i < e->nrun; i++) /* from a file that describes a launch */
        for (size_t k = 0; e->run[i].own && k < e->run[i].nparams; k++)
            hash_text(&h, e->run[i].params[k]);
    add_hash(o, "experiment", e->name, &h);
    if (!text)
        return diag_error(diag, "cannot read %s", e->file);
    free(text);
    return true;
}

/* Does a setting say nothing of how the machine runs? */
static bool
describes(const char *path)
{
    return !strcmp(path, "gpu.name") || !strcmp(path, "gpu.source") ||
           !strncmp(path, "functional.", 11);
}

/* Its settings that are not the default: so a setting that is added later changes no machine that
 * leaves it alone. (What the default does is in the folder `machine`.) */
static bool
add_machine(struct origin *o, const char *name, struct diag_sink *diag)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load(name, d);
    struct allot_setting_info info;
    struct hash h = hash_start();
    char text[1024];
    for (size_t i = 0; m && allot_setting(i, &info); i++)
        if (!describes(info.path) && allot_machine_get(m, info.path, text, sizeof text) &&
            strcmp(text, info.value_default) != 0) {
            hash_text(&h, info.path);
            hash_text(&h, text);
        }
    const bool ok = m;
    if (ok)
        add_hash(o, "machine", name, &h);
    else
        run_diag(d, diag);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok;
}

/* A workload's PTX and host part; of other rows the file that is run. */
static bool
add_subject(struct origin *o, const struct exp_run *r, struct diag_sink *diag)
{
    struct hash h = hash_start();
    size_t len = 0;
    if (!r->own && !r->program) {
        const char *text = allot_workload_ptx(r->workload, r->compiler, &len);
        hash_bytes(&h, text ? text : "", len);
        hash_text(&h, run_workload_id(r->workload));
        add_hash(o, "workload", arena_printf(&o->mem, "%s,%s", r->workload, r->compiler),
                 &h);
        return true;
    }
    char hex[33];
    bool ok = true;
    if (r->program) {
        ok = run_program_hash(r, hex, diag);
    } else {
        char *text = file_read(r->workload, &len);
        ok = text || diag_error(diag, "cannot read %s", r->workload);
        hash_bytes(&h, text ? text : "", len);
        hash_hex(&h, hex);
        free(text);
    }
    if (ok)
        add(o, "file", r->workload, hex);
    return ok;
}

/* Is some setting of a run one that begins like this? */
static bool
sets(const struct experiment *e, const char *begin)
{
    for (size_t i = 0; i < e->nrun; i++)
        for (size_t k = 0; k < e->run[i].nsettings; k++)
            if (!strncmp(e->run[i].settings[k], begin, strlen(begin)))
                return true;
    return false;
}

static bool
shows_energy(const struct experiment *e)
{
    for (size_t i = 0; i < e->nmetric; i++)
        if (energy_value(&(struct energy){0}, e->metric[i].stat, NULL) ||
            experiment_knows(e->metric[i].stat))
            return true;
    return false;
}

/* Does a pipeline name a pass of this folder, or none that is known (`cleanup`)? */
static bool
names_room(const char *pipeline, const char *room)
{
    for (const char *p = pipeline; *p; p += *p == ',') {
        const size_t n = strcspn(p, ":,");
        const char *of = run_pass_room(p, n);
        if (n && (!of || !strcmp(of, room)))
            return true;
        p += strcspn(p, ",");
    }
    return false;
}

/* What a run's settings, the last first, or else its machine say of a setting. */
static const char *
setting(const struct exp_run *r, const struct allot_machine *m, const char *path,
        char text[1024])
{
    const size_t n = strlen(path);
    for (size_t i = r->nsettings; i-- > 0;)
        if (!strncmp(r->settings[i], path, n) && r->settings[i][n] == '=')
            return r->settings[i] + n + 1;
    return allot_machine_get(m, path, text, 1024) ? text : "";
}

/* Whether a run's code is made by passes of this folder. */
static bool
run_uses(const struct exp_run *r, const char *room)
{
    static const char *const pipelines[] = {"compiler.passes", "compiler.late_passes",
                                            "compiler.cleanup"};
    char text[1024];
    struct allot_machine *m = allot_machine_load(r->machine, NULL);
    bool used = !m || names_room(r->passes, room);
    const bool allocated =
        m && strcmp(setting(r, m, "compiler.registers", text), "virtual");
    for (size_t i = 0; m && i < (allocated ? 3 : 2); i++)
        used |= names_room(setting(r, m, pipelines[i], text), room);
    used |= allocated && names_room("register-allocate", room);
    allot_machine_free(m);
    return used;
}

/* Whether values can depend on a folder of the sources. One that is not named here always counts. */
static bool
uses(const struct experiment *e, const char *room)
{
    static const char *const running[] = {"passes", "stats", "exec", "timing", "runtime"};
    for (size_t i = 0; i < sizeof running / sizeof *running; i++)
        if (!strcmp(room, running[i]))
            return e->nrun;
    if (!strncmp(room, "passes/", 7)) {
        for (size_t i = 0; i < e->nrun; i++)
            if (run_uses(&e->run[i], room))
                return true;
        return false;
    }
    return !strcmp(room, "energy") ? shows_energy(e)
           : !strcmp(room, "cta")  ? sets(e, "cta.")
                                   : true;
}

/* The small version's values: all but the lines that say what made them. */
static void
add_small(struct origin *o, const struct experiment *e, const char *path)
{
    char *text = file_read(path, NULL);
    struct hash h = hash_start();
    for (const char *p = text; p && *p;) {
        size_t n = strcspn(p, "\n");
        if (*p != '#')
            hash_bytes(&h, p, n + 1);
        p += n + (p[n] == '\n');
    }
    if (text)
        add_hash(o, "small", e->name, &h);
    free(text);
}

bool
origin_make(const struct experiment *e, const char *small, struct origin *o,
            struct diag_sink *diag)
{
    const char *room, *id;
    memset(o, 0, sizeof *o);
    o->version = run_version();
    o->commit = origin_commit(e->file, &o->mem);
    bool ok = add_experiment(o, e, diag);
    for (size_t i = 0; i < e->nrow * e->nseries && ok; i++)
        if (e->cell[i] < 0)
            ok = add_machine(o, e->series[i % e->nseries].machine, diag);
    for (size_t i = 0; i < e->nrun && ok; i++)
        ok = add_machine(o, e->run[i].machine, diag) && add_subject(o, &e->run[i], diag);
    if (small)
        add_small(o, e, small);
    for (size_t i = 0; (room = run_room(i, &id)); i++)
        if (uses(e, room))
            add(o, "code", room, id);
    return ok;
}

/* -- in files -- */

void
origin_text(const struct origin *o, struct strbuf *out)
{
    if (*o->commit)
        strbuf_printf(out, "# commit %s\n", o->commit);
    for (size_t i = 0; i < o->lines.n; i++)
        strbuf_printf(out, "# %s %s %s\n", o->lines.v[i].kind, o->lines.v[i].name,
                      o->lines.v[i].hash);
}

bool
origin_read(const char *values, struct origin *o)
{
    static const char *const kinds[] = {"experiment", "machine", "workload",
                                        "file",       "small",   "code"};
    char *text = file_read(values, NULL), *save = NULL;
    memset(o, 0, sizeof *o);
    o->version = o->commit = "";
    if (!text)
        return false;
    for (char *line = strtok_r(text, "\n", &save); line && *line == '#';
         line = strtok_r(NULL, "\n", &save)) {
        char *word[4] = {0}, *rest = NULL;
        size_t n = 0;
        char *version = strstr(line, ", allot ");
        if (version) {
            o->version = arena_strdup(&o->mem, version + strlen(", allot "));
            continue;
        }
        for (char *w = strtok_r(line, " ", &rest); w && n < 4;
             w = strtok_r(NULL, " ", &rest))
            word[n++] = w;
        if (n == 3 && !strcmp(word[1], "commit"))
            o->commit = arena_strdup(&o->mem, word[2]);
        for (size_t k = 0; n == 4 && k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(word[1], kinds[k]))
                add(o, kinds[k], word[2], word[3]);
    }
    free(text);
    return true;
}

void
origin_free(struct origin *o)
{
    free(o->lines.v);
    arena_free(&o->mem);
}

/* -- how old -- */

static const struct origin_line *
find(const struct origin *o, const struct origin_line *like)
{
    for (size_t i = 0; i < o->lines.n; i++)
        if (!strcmp(o->lines.v[i].kind, like->kind) &&
            !strcmp(o->lines.v[i].name, like->name))
            return &o->lines.v[i];
    return NULL;
}

static enum origin_age
differs(const struct origin_line *l, enum origin_age age, struct strbuf *why)
{
    const bool code = !strcmp(l->kind, "code");
    strbuf_printf(why, "%s%s %s", why->n ? ", " : "", l->kind, l->name);
    return age == ORIGIN_OLD || !code ? ORIGIN_OLD : ORIGIN_CODE;
}

enum origin_age
origin_compare(const struct origin *was, const struct origin *now, struct strbuf *why)
{
    enum origin_age age = ORIGIN_SAME;
    if (!was->lines.n) {
        strbuf_printf(why, "does not say what made it (allot %s)", was->version);
        return ORIGIN_UNKNOWN;
    }
    for (size_t i = 0; i < now->lines.n; i++) {
        const struct origin_line *l = &now->lines.v[i], *other = find(was, l);
        if (!other || strcmp(other->hash, l->hash) != 0)
            age = differs(l, age, why);
    }
    for (size_t i = 0; i < was->lines.n; i++)
        if (!find(now, &was->lines.v[i]))
            age = differs(&was->lines.v[i], age, why);
    return age;
}
