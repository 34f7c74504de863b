/* machine_load.c: machine files.
 *
 * libcyaml checks a file against a schema that is built from the rows of settings.def: a
 * mapping of groups, each a mapping of scalars (latencies: pairs). Scalars arrive as text
 * and go through setting_store like every other value. What libcyaml refuses it says in
 * log lines
 * ("Load: Unexpected key: x", "in mapping field 'sm' (line: 2, column: 3)"), from which
 * the diagnostic is made. `base:` files are loaded first; what a file states is laid over
 * them. */
#include "machine/setting.h"

#include "base/data.h"
#include "base/near.h"
#include "base/vec.h"
#include "base/yaml_log.h"

#include <cyaml/cyaml.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BASES = 8, MAX_FILE = 1 << 20 };

/* -- places in the text -- */

/* Whether the line at p (n characters, indented by *indent) reads "key: ...". */
static bool
line_key(const char *p, size_t n, const char *key, size_t *indent)
{
    size_t i = 0, len = strlen(key);
    while (i < n && p[i] == ' ')
        i++;
    *indent = i;
    char quote = i < n && (p[i] == '\'' || p[i] == '"') ? p[i] : 0;
    if (quote)
        i++;
    if (n - i < len || memcmp(p + i, key, len))
        return false;
    i += len;
    if (quote && i < n && p[i] == quote)
        i++;
    while (i < n && p[i] == ' ')
        i++;
    return i < n && p[i] == ':';
}

void
setting_locate(const char *text, const char *group, const char *name, unsigned *line,
               unsigned *col)
{
    *line = *col = 0;
    unsigned number = 0;
    bool inside = false;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n"), indent, blank = strspn(p, " \t\r");
        bool said = blank < n && p[blank] != '#';
        number++;
        if (said && p[0] != ' ') {
            inside = line_key(p, n, group, &indent);
            if (inside) {
                *line = number;
                *col = 1;
                if (!name)
                    return;
            }
        } else if (said && inside && line_key(p, n, name, &indent)) {
            *line = number;
            *col = (unsigned)indent + 1;
            return;
        }
        p += n + (p[n] == '\n');
    }
}

/* -- the schema -- */

/* A value as libcyaml stores it: the text, or the texts of a sequence. */
struct slot {
    void *v;
    uint32_t n;
};

struct raw {
    char *base;
    struct slot *group[]; /* NULL: not in the file */
};

struct schema {
    cyaml_schema_value_t top;
    cyaml_schema_field_t *fields; /* of the top; their mappings hold the rest */
    size_t ngroups;
    struct arena mem;
};

static const cyaml_schema_value_t text_value = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};

static cyaml_schema_field_t
setting_field(const struct setting *s, size_t i)
{
    cyaml_schema_field_t f = {.key = s->name,
                              .data_offset = (uint32_t)(i * sizeof(struct slot))};
    if (s->type == SET_LATENCY) {
        f.count_offset = f.data_offset + (uint32_t)offsetof(struct slot, n);
        f.count_size = sizeof(uint32_t);
        f.value = (cyaml_schema_value_t){CYAML_VALUE_SEQUENCE(
            CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, char *, &text_value, 2, 2)};
    } else
        f.value = (cyaml_schema_value_t){CYAML_VALUE_STRING(
            CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, char *, 0, CYAML_UNLIMITED)};
    return f;
}

static void
schema_make(struct schema *sc)
{
    size_t n;
    const struct setting *t = setting_rows(&n);
    cyaml_schema_field_t *top = ARENA_ARRAY(&sc->mem, cyaml_schema_field_t, n + 2);
    top[0] = (cyaml_schema_field_t)CYAML_FIELD_STRING_PTR(
        "base", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw, base, 0,
        CYAML_UNLIMITED);
    size_t g = 0;
    for (size_t i = 0; i < n; g++) {
        size_t end = i;
        while (end < n && !strcmp(t[end].group, t[i].group))
            end++;
        cyaml_schema_field_t *f =
            ARENA_ARRAY(&sc->mem, cyaml_schema_field_t, end - i + 1);
        for (size_t k = i; k < end; k++)
            f[k - i] = setting_field(&t[k], k - i);
        top[1 + g] = (cyaml_schema_field_t){
            .key = t[i].group,
            .data_offset =
                (uint32_t)(offsetof(struct raw, group) + g * sizeof(struct slot *)),
            .value = {CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                                          struct slot, f)}};
        top[1 + g].value.data_size = (uint32_t)((end - i) * sizeof(struct slot));
        i = end;
    }
    sc->fields = top;
    sc->ngroups = g;
    sc->top =
        (cyaml_schema_value_t){CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw, top)};
    sc->top.data_size = (uint32_t)(sizeof(struct raw) + g * sizeof(struct slot *));
}

/* -- complaints -- */

/* A key that the schema does not know. */
static void
unknown_key(const char *key, const struct yaml_log *log, struct diag_loc *loc,
            const struct schema *sc, struct diag_sink *diag)
{
    unsigned line, col;
    if (log->nfields) {
        char path[200];
        snprintf(path, sizeof path, "%s.%s", log->field[0], key);
        setting_locate(loc->text, log->field[0], key, &line, &col);
        if (line) {
            loc->line = line;
            loc->col = col;
        }
        setting_unknown(path, loc, diag);
        return;
    }
    setting_locate(loc->text, key, NULL, &line, &col);
    if (line) {
        loc->line = line;
        loc->col = col;
    }
    struct diag *d = diag_add(diag, DIAG_ERROR, loc, "there is no group '%s'", key);
    struct strbuf all = {0};
    struct near near = {.word = key, .most = 2};
    for (size_t i = 0; i <= sc->ngroups; i++) {
        strbuf_printf(&all, "%s%s", i ? ", " : "", sc->fields[i].key);
        near_offer(&near, sc->fields[i].key);
    }
    if (near.best)
        diag_hint(diag, d, "did you mean %s?", near.best);
    else
        diag_hint(diag, d, "a machine file has: %s", all.s);
    strbuf_free(&all);
}

/* Line of the first tab that indents, respectively control character; 0: none. */
static unsigned
odd_line(const char *text, size_t len, bool tab)
{
    unsigned line = 1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            line++;
        else if (tab && text[i] == '\t' && (!i || text[i - 1] == '\n'))
            return line;
        else if (!tab && (unsigned char)text[i] < 32 && text[i] != '\t' &&
                 text[i] != '\r')
            return line;
    }
    return 0;
}

static void
complain(cyaml_err_t err, struct yaml_log *log, struct diag_loc *loc, const char *text,
         size_t len, const struct schema *sc, struct diag_sink *diag)
{
    loc->line = log->line;
    loc->col = log->col;
    char path[200] = "";
    if (log->nfields == 2)
        snprintf(path, sizeof path, "%s.%s: ", log->field[1], log->field[0]);
    else if (log->nfields)
        snprintf(path, sizeof path, "%s: ", log->field[0]);
    char key[100], wanted[20], got[40];
    struct diag *d;
    if (sscanf(log->message, "Unexpected key: %99[^\n]", key) == 1) {
        unknown_key(key, log, loc, sc, diag);
    } else if (sscanf(log->message, "Expecting %19[A-Z], got event: %39s", wanted, got) ==
               2) {
        bool map = !strcmp(wanted, "MAPPING"), seq = !strcmp(wanted, "SEQUENCE");
        d = diag_add(diag, DIAG_ERROR, loc, "%s%s expected here", path,
                     map   ? (log->nfields ? "a group of settings" : "groups of settings")
                     : seq ? "a pair [cycles, interval]"
                           : "one value");
        diag_hint(diag, d, "%s",
                  map ? "write the group's name and a colon, then each setting indented "
                        "on a line of its own, as `count: 15`"
                  : seq ? "such as [4, 1]"
                        : "such as `count: 15`");
    } else if (strstr(log->message, "entries")) {
        diag_add(diag, DIAG_ERROR, loc,
                 "%s: a latency is a pair [cycles, interval], such as [4, 1]",
                 log->nfields ? log->field[0] : "latency");
    } else if (sscanf(log->message, "Mapping field already seen: %99[^\n]", key) == 1) {
        d = diag_add(diag, DIAG_ERROR, loc, "%sstated twice", path);
        diag_hint(diag, d, "keep one of the two");
    } else if (err == CYAML_ERR_ALIAS) {
        diag_add(diag, DIAG_ERROR, loc, "%sYAML aliases (*name) are not allowed here",
                 path);
    } else if (!strncmp(log->message, "libyaml: ", 9)) {
        bool control = strstr(log->message, "control characters") != NULL;
        unsigned odd = odd_line(text, len, !control);
        if (odd) {
            loc->line = odd;
            loc->col = 1;
        }
        d = diag_add(diag, DIAG_ERROR, loc, "not readable as YAML: %s", log->message + 9);
        if (odd && !control)
            diag_hint(diag, d, "indent with blanks: YAML does not allow tabs");
        else
            diag_hint(diag, d,
                      "a machine file is a text of `group:` lines, each followed by "
                      "indented `setting: value` lines");
    } else {
        diag_add(diag, DIAG_ERROR, loc, "%snot readable as a machine: %s%s%s", path,
                 log->message, log->message[0] ? ": " : "", cyaml_strerror(err));
    }
}

/* -- loading -- */

struct loading {
    const char *chain[MAX_BASES]; /* files under way, for `base:` circles */
    int depth;
};

static bool load_into(struct machine *m, const char *name, const char *from,
                      const struct diag_loc *loc, struct loading *l,
                      struct diag_sink *diag);

/* Stores what the file states. Its place is looked for only to complain: that reads the whole text. */
static bool
store(struct machine *m, const struct setting *s, const char *value, struct diag_loc *loc,
      struct diag_sink *diag)
{
    struct diag_sink quiet = {0};
    bool ok = setting_store(m, s, value, NULL, &quiet);
    diag_free(&quiet);
    if (ok)
        return true;
    setting_locate(loc->text, s->group, s->name, &loc->line, &loc->col);
    return setting_store(m, s, value, loc, diag);
}

/* Lays what the file stated over m. */
static bool
apply(struct machine *m, const struct raw *raw, struct diag_loc *loc,
      struct diag_sink *diag)
{
    size_t n, g = 0, start = 0;
    const struct setting *t = setting_rows(&n);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(t[i].group, t[i - 1].group)) {
            g++;
            start = i;
        }
        const struct slot *slot = raw->group[g] ? &raw->group[g][i - start] : NULL;
        if (!slot || !slot->v)
            continue;
        if (t[i].type == SET_LATENCY) {
            char *const *pair = slot->v;
            struct strbuf b = {0};
            strbuf_printf(&b, "%s,%s", pair[0], pair[1]);
            ok &= store(m, &t[i], b.s, loc, diag);
            strbuf_free(&b);
        } else
            ok &= store(m, &t[i], slot->v, loc, diag);
    }
    return ok;
}

static bool
parse_into(struct machine *m, const char *file, const char *text, size_t len,
           struct loading *l, struct diag_sink *diag)
{
    struct diag_loc loc = {.file = file, .text = text, .len = 1};
    const char *nul = memchr(text, 0, len);
    if (nul || len > MAX_FILE) {
        struct diag *d = diag_add(diag, DIAG_ERROR, &loc,
                                  nul ? "not a text file" : "too large a file");
        diag_hint(diag, d, "a machine is described in YAML; see docs/machines.md");
        return false;
    }
    struct schema sc = {0};
    schema_make(&sc);
    struct yaml_log log = {0};
    cyaml_config_t config = {.log_fn = yaml_log_take,
                             .log_ctx = &log,
                             .mem_fn = cyaml_mem,
                             .log_level = CYAML_LOG_WARNING,
                             .flags = CYAML_CFG_NO_ALIAS};
    struct raw *raw = NULL;
    cyaml_err_t err = cyaml_load_data((const uint8_t *)text, len, &config, &sc.top,
                                      (cyaml_data_t **)&raw, NULL);
    bool ok = err == CYAML_OK;
    if (!ok) {
        complain(err, &log, &loc, text, len, &sc, diag);
    } else if (!raw) {
        struct diag *d = diag_add(diag, DIAG_ERROR, &loc, "the file states nothing");
        diag_hint(diag, d, "start with `base: gtx480` and state the differences");
        ok = false;
    } else if (log.more_documents) {
        diag_add(diag, DIAG_ERROR, &loc,
                 "one machine a file: there is a second YAML "
                 "document");
        ok = false;
    } else {
        if (raw->base) {
            setting_locate(text, "base", NULL, &loc.line, &loc.col);
            ok = load_into(m, raw->base, file, &loc, l, diag);
        }
        ok = ok && apply(m, raw, &loc, diag);
    }
    cyaml_free(&config, &sc.top, raw, 0);
    arena_free(&sc.mem);
    return ok;
}

/* -- finding -- */

static bool
is_path(const char *s)
{
    size_t n = strlen(s);
    return strchr(s, '/') || (n > 5 && !strcmp(s + n - 5, ".yaml")) ||
           (n > 4 && !strcmp(s + n - 4, ".yml"));
}

static bool
is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISDIR(st.st_mode);
}

/* Calls visit for every folder of presets until it returns true. */
static bool
each_folder(bool (*visit)(void *ctx, const char *folder), void *ctx)
{
    const char *env = getenv("ALLOT_MACHINES");
    while (env && *env) {
        size_t n = strcspn(env, ":");
        char *dir = xmalloc(n + 1);
        memcpy(dir, env, n);
        dir[n] = 0;
        bool done = n && visit(ctx, dir);
        free(dir);
        if (done)
            return true;
        env += n + (env[n] == ':');
    }
    struct arena mem = {0};
    bool done = false;
    for (const char *const *root = data_roots(&mem); *root && !done; root++)
        done = visit(ctx, arena_printf(&mem, "%s/machines", *root));
    arena_free(&mem);
    return done;
}

struct want {
    const char *name;
    struct strbuf path;
};

static bool
try_folder(void *ctx, const char *folder)
{
    struct want *w = ctx;
    w->path.n = 0;
    strbuf_printf(&w->path, "%s/%s.yaml", folder, w->name);
    return is_file(w->path.s);
}

struct names {
    VEC(char *) list;
};

static bool
list_folder(void *ctx, const char *folder)
{
    struct names *all = ctx;
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        size_t n = strlen(e->d_name);
        if (n <= 5 || strcmp(e->d_name + n - 5, ".yaml") || e->d_name[0] == '.')
            continue;
        char *name = xstrdup(e->d_name);
        name[n - 5] = 0;
        bool known = false;
        for (size_t i = 0; i < all->list.n; i++)
            known |= !strcmp(all->list.v[i], name);
        if (known)
            free(name);
        else
            *vec_push(&all->list) = name;
    }
    if (d)
        closedir(d);
    return false;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **
machine_names(void)
{
    struct names all = {0};
    each_folder(list_folder, &all);
    if (all.list.n)
        qsort(all.list.v, all.list.n, sizeof *all.list.v, by_name);
    *vec_push(&all.list) = NULL;
    return all.list.v;
}

static void
unknown_machine(const char *name, const struct diag_loc *loc, struct diag_sink *diag)
{
    struct diag *d = diag_add(diag, DIAG_ERROR, loc, "there is no machine '%s'", name);
    char **names = machine_names();
    struct strbuf all = {0};
    struct near near = {.word = name, .most = 3};
    for (size_t i = 0; names[i]; i++) {
        strbuf_printf(&all, "%s%s", i ? ", " : "", names[i]);
        near_offer(&near, names[i]);
    }
    if (near.best)
        diag_hint(diag, d,
                  "did you mean %s? A file of your own is named with its folder or "
                  "its ending .yaml",
                  near.best);
    else
        diag_hint(diag, d,
                  "presets: %s; a file of your own is named with its folder or its "
                  "ending .yaml",
                  all.s ? all.s : "none found");
    strbuf_free(&all);
    for (size_t i = 0; names[i]; i++)
        free(names[i]);
    free(names);
}

/* Path of machine `name` as said in file `from` (NULL: by the user), malloc'd. */
static char *
find(const char *name, const char *from)
{
    struct want w = {.name = name};
    const char *slash = from ? strrchr(from, '/') : NULL;
    int folder = slash ? (int)(slash + 1 - from) : 0; /* of `from`, with its slash */
    if (is_path(name)) {
        if (folder && name[0] != '/')
            strbuf_printf(&w.path, "%.*s", folder, from);
        strbuf_addz(&w.path, name);
        return strbuf_take(&w.path);
    }
    if (from) { /* a neighbour of the file, but not itself: it may bear a preset's name */
        strbuf_printf(&w.path, "%.*s%s.yaml", folder, from, name);
        if (strcmp(w.path.s, from) && is_file(w.path.s))
            return strbuf_take(&w.path);
    }
    if (each_folder(try_folder, &w))
        return strbuf_take(&w.path);
    strbuf_free(&w.path);
    return NULL;
}

static bool
load_into(struct machine *m, const char *name, const char *from,
          const struct diag_loc *loc, struct loading *l, struct diag_sink *diag)
{
    char *path = *name ? find(name, from) : NULL;
    if (!path) {
        unknown_machine(name, loc, diag);
        return false;
    }
    bool ok = false;
    for (int i = 0; i < l->depth; i++)
        if (!strcmp(l->chain[i], path)) {
            diag_add(diag, DIAG_ERROR, loc, "base: %s is based on itself", path);
            goto out;
        }
    if (l->depth == MAX_BASES) {
        diag_add(diag, DIAG_ERROR, loc, "base: more than %d files one upon the other",
                 MAX_BASES);
        goto out;
    }
    struct stat st;
    size_t len = 0;
    char *text = NULL;
    errno = 0;
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else
        text = file_read(path, &len);
    if (!text) {
        diag_add(diag, DIAG_ERROR, loc, "cannot read the machine file %s: %s", path,
                 strerror(errno));
        goto out;
    }
    l->chain[l->depth++] = path;
    ok = parse_into(m, path, text, len, l, diag);
    l->depth--;
    free(text);
    if (ok && !l->depth) {
        m->file = arena_strdup(&m->mem, path);
        const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
        const char *dot = strrchr(stem, '.');
        m->name = dot && dot != stem ? arena_strndup(&m->mem, stem, (size_t)(dot - stem))
                                     : arena_strdup(&m->mem, stem);
    }
out:
    free(path);
    return ok;
}

struct machine *
machine_load(const char *name_or_path, struct diag_sink *diag)
{
    struct machine *m = machine_new();
    struct loading l = {0};
    if (load_into(m, name_or_path, NULL, NULL, &l, diag) && machine_check(m, diag))
        return m;
    machine_free(m);
    return NULL;
}

struct machine *
machine_parse(const char *file, const char *text, size_t len, struct diag_sink *diag)
{
    struct machine *m = machine_new();
    struct loading l = {0};
    char *copy = xmalloc(len + 1); /* with a NUL behind it */
    memcpy(copy, text, len);
    copy[len] = 0;
    bool ok = parse_into(m, file, copy, len, &l, diag);
    free(copy);
    if (ok) {
        m->name = m->file = arena_strdup(&m->mem, file);
        if (machine_check(m, diag))
            return m;
    }
    machine_free(m);
    return NULL;
}
