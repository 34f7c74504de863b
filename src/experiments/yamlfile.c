/* yamlfile.c: libcyaml for the data, libyaml's events for the places. */
#include "experiments/yamlfile.h"

#include "base/near.h"
#include "base/yaml_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { MAX_FILE = 1 << 22, MAX_DEPTH = 32 };

/* -- places -- */

static void
note(struct yamlfile *y, const char *path, const yaml_mark_t *m)
{
    struct yamlfile_place *p = vec_push(&y->places);
    p->path = arena_strdup(&y->mem, path);
    p->line = (unsigned)m->line + 1;
    p->col = (unsigned)m->column + 1;
}

/* One level of nesting: its path, and either the number of the next item or the next
 * key. */
struct level {
    char path[200];
    bool mapping, have_key;
    unsigned item;
    char key[80];
    yaml_mark_t key_mark;
};

/* Path of the value that begins now within l; notes its place. */
static void
enter(struct yamlfile *y, struct level *l, const yaml_mark_t *mark, char path[200])
{
    if (l->mapping) {
        snprintf(path, 200, "%.100s%s%s", l->path, l->path[0] ? "." : "", l->key);
        note(y, path, &l->key_mark);
        l->have_key = false;
    } else {
        snprintf(path, 200, "%.100s[%u]", l->path, l->item++);
        note(y, path, mark);
    }
}

/* Texts go to terminals, pages and charts; "\e" in double quotes makes a control
 * character of what is none in the file. */
static bool
check_scalar(const struct yamlfile *y, const yaml_event_t *e, struct diag_sink *diag)
{
    const unsigned char *s = e->data.scalar.value;
    for (size_t i = 0; i < e->data.scalar.length; i++)
        if ((s[i] < 32 && s[i] != '\n' && s[i] != '\t') || s[i] == 127) {
            struct diag_loc loc = {y->file, y->text, (unsigned)e->start_mark.line + 1,
                                   (unsigned)e->start_mark.column + 1, 1};
            diag_add(diag, DIAG_ERROR, &loc,
                     "the value has a control character (code %u)", s[i]);
            return false;
        }
    return true;
}

/* Notes every place; false: a value must not be. */
static bool
find_places(struct yamlfile *y, size_t len, struct diag_sink *diag)
{
    yaml_parser_t parser;
    yaml_event_t e;
    struct level stack[MAX_DEPTH] = {0};
    int depth = 0;
    bool end = false, ok = true;
    if (!yaml_parser_initialize(&parser))
        return true;
    yaml_parser_set_input_string(&parser, (const unsigned char *)y->text, len);
    while (!end && yaml_parser_parse(&parser, &e)) {
        struct level *l = depth ? &stack[depth - 1] : NULL;
        char path[200] = "";
        switch (e.type) {
        case YAML_SCALAR_EVENT:
            ok &= check_scalar(y, &e, diag);
            if (l && l->mapping && !l->have_key) {
                snprintf(l->key, sizeof l->key, "%s", (const char *)e.data.scalar.value);
                l->key_mark = e.start_mark;
                l->have_key = true;
            } else if (l) {
                enter(y, l, &e.start_mark, path);
            }
            break;
        case YAML_MAPPING_START_EVENT:
        case YAML_SEQUENCE_START_EVENT:
            if (depth == MAX_DEPTH) {
                end = true;
                break;
            }
            if (l)
                enter(y, l, &e.start_mark, path);
            stack[depth] = (struct level){.mapping = e.type == YAML_MAPPING_START_EVENT};
            memcpy(stack[depth++].path, path, sizeof path);
            break;
        case YAML_MAPPING_END_EVENT:
        case YAML_SEQUENCE_END_EVENT:
            depth--;
            break;
        case YAML_STREAM_END_EVENT:
            end = true;
            break;
        default:
            break;
        }
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&parser);
    return ok;
}

struct diag_loc
yamlfile_at(const struct yamlfile *y, const char *fmt, ...)
{
    struct diag_loc loc = {.file = y->file, .text = y->text, .len = 1};
    char path[240];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    while (path[0]) {
        for (size_t i = 0; i < y->places.n; i++)
            if (!strcmp(y->places.v[i].path, path)) {
                loc.line = y->places.v[i].line;
                loc.col = y->places.v[i].col;
                return loc;
            }
        char *dot = strrchr(path, '.'), *item = strrchr(path, '[');
        char *cut = dot > item ? dot : item;
        if (!cut)
            break;
        *cut = 0;
    }
    return loc;
}

/* -- loading -- */

/* The keys that the mapping with the unknown key could have: that of field `name`, found
 * by walking the schema; the top when there is none. */
static const cyaml_schema_value_t *
schema_of(const cyaml_schema_value_t *s, const char *name)
{
    if (s->type == CYAML_SEQUENCE)
        return schema_of(s->sequence.entry, name);
    if (s->type != CYAML_MAPPING)
        return NULL;
    for (const cyaml_schema_field_t *f = s->mapping.fields; f->key; f++) {
        const cyaml_schema_value_t *found = &f->value;
        if (strcmp(f->key, name))
            found = schema_of(&f->value, name);
        else if (found->type == CYAML_SEQUENCE)
            found = found->sequence.entry;
        if (found && found->type == CYAML_MAPPING)
            return found;
    }
    return NULL;
}

static void
unknown_key(struct yamlfile *y, const char *key, const struct yaml_log *log,
            const cyaml_schema_value_t *schema, struct diag_loc *loc,
            struct diag_sink *diag)
{
    for (size_t i = 0; i < y->places.n; i++) {
        const char *dot = strrchr(y->places.v[i].path, '.');
        if (y->places.v[i].line >= log->line &&
            !strcmp(dot ? dot + 1 : y->places.v[i].path, key)) {
            loc->line = y->places.v[i].line;
            loc->col = y->places.v[i].col;
            break;
        }
    }
    struct diag *d = diag_add(diag, DIAG_ERROR, loc, "there is no key '%s'%s%s", key,
                              log->nfields ? " in " : "", log->field[0]);
    const cyaml_schema_value_t *in =
        log->nfields ? schema_of(schema, log->field[0]) : NULL;
    if (!in)
        in = schema;
    struct strbuf all = {0};
    struct near near = {.word = key, .most = 2};
    for (const cyaml_schema_field_t *f = in->mapping.fields; f->key; f++) {
        strbuf_printf(&all, "%s%s", all.n ? ", " : "", f->key);
        near_offer(&near, f->key);
    }
    if (near.best)
        diag_hint(diag, d, "did you mean %s?", near.best);
    else
        diag_hint(diag, d, "keys: %s", all.s ? all.s : "none");
    strbuf_free(&all);
}

/* libcyaml tells the field it saw last, which need not be within the incomplete mapping.
 */
static void
missing_key(struct yamlfile *y, const char *key, const struct yaml_log *log,
            const cyaml_schema_value_t *schema, const char *what, struct diag_sink *diag)
{
    struct diag_loc loc = {y->file, y->text, log->line, log->col, 1};
    bool of_top = false, there = false;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key; f++)
        of_top |= !strcmp(f->key, key);
    for (size_t i = 0; i < y->places.n; i++)
        there |= !strcmp(y->places.v[i].path, key);
    if (of_top && !there)
        loc.line = loc.col = 1;
    diag_add(diag, DIAG_ERROR, &loc, "%s does not state `%s:`",
             of_top && !there ? what : "the entry that ends here", key);
}

static void
complain(struct yamlfile *y, cyaml_err_t err, const struct yaml_log *log,
         const cyaml_schema_value_t *schema, const char *what, struct diag_sink *diag)
{
    struct diag_loc loc = {y->file, y->text, log->line, log->col, 1};
    char name[100], got[40];
    const char *in = log->nfields ? log->field[0] : "the file";
    if (sscanf(log->message, "Unexpected key: %99[^\n]", name) == 1)
        unknown_key(y, name, log, schema, &loc, diag);
    else if (sscanf(log->message, "Expecting %19[A-Z], got event: %39s", name, got) == 2)
        diag_add(diag, DIAG_ERROR, &loc, "%s: %s expected here", in,
                 !strcmp(name, "MAPPING")    ? "`key: value` lines"
                 : !strcmp(name, "SEQUENCE") ? "a list, as [a, b] or lines with `- `"
                                             : "one value");
    else if (sscanf(log->message, "Mapping field already seen: %99[^\n]", name) == 1)
        diag_add(diag, DIAG_ERROR, &loc, "%s: stated twice", name);
    else if (sscanf(log->message, "Missing required mapping field: %99[^\n]", name) == 1)
        missing_key(y, name, log, schema, what, diag);
    else if (!strncmp(log->message, "libyaml: ", 9))
        diag_add(diag, DIAG_ERROR, &loc, "not readable as YAML: %s", log->message + 9);
    else
        diag_add(diag, DIAG_ERROR, &loc, "%s: not readable as %s: %s%s%s", in, what,
                 log->message, log->message[0] ? ": " : "", cyaml_strerror(err));
}

static cyaml_config_t
config(struct yaml_log *log)
{
    return (cyaml_config_t){.log_fn = log ? yaml_log_take : NULL,
                            .log_ctx = log,
                            .mem_fn = cyaml_mem,
                            .log_level = CYAML_LOG_WARNING,
                            .flags = CYAML_CFG_NO_ALIAS};
}

bool
yamlfile_load(struct yamlfile *y, const char *file, const cyaml_schema_value_t *schema,
              void **data, const char *what, struct diag_sink *diag)
{
    size_t len = 0;
    *data = NULL;
    y->file = arena_strdup(&y->mem, file);
    errno = 0;
    y->text = file_read(file, &len);
    if (!y->text)
        return diag_error(diag, "cannot read %s %s: %s", what, file, strerror(errno));
    struct diag_loc loc = {.file = y->file, .text = NULL};
    if (memchr(y->text, 0, len) || len > MAX_FILE) {
        diag_add(diag, DIAG_ERROR, &loc, "no text file, or too large to be %s", what);
        return false;
    }
    if (!find_places(y, len, diag))
        return false;
    struct yaml_log log = {0};
    cyaml_config_t c = config(&log);
    cyaml_err_t err = cyaml_load_data((const uint8_t *)y->text, len, &c, schema,
                                      (cyaml_data_t **)data, NULL);
    if (err != CYAML_OK) {
        complain(y, err, &log, schema, what, diag);
        return false;
    }
    if (!*data || log.more_documents) {
        diag_add(diag, DIAG_ERROR, &loc,
                 *data ? "a second YAML document stands in it"
                       : "the file states nothing");
        return false;
    }
    return true;
}

void
yamlfile_drop(const cyaml_schema_value_t *schema, void *data)
{
    cyaml_config_t c = config(NULL);
    if (data)
        cyaml_free(&c, schema, data, 0);
}

void
yamlfile_free(struct yamlfile *y)
{
    free(y->text);
    vec_free(&y->places);
    arena_free(&y->mem);
}
