/* result_lines.c: counters of a launch by instruction, with the lines that these come from. */
#include "runtime/result.h"
#include "runtime/runtime.h"

#include "base/json.h"

#include <string.h>

/* A copy that lives as long as the result. */
static const char *
keep(struct result_lines *l, const char *name)
{
    for (size_t i = 0; i < l->names.n; i++)
        if (!strcmp(l->names.v[i], name))
            return l->names.v[i];
    return *vec_push(&l->names) = xstrdup(name);
}

/* The line that begins there, without blanks at its ends and runs of them as one, malloc'd. */
static char *
line_text(const char *text)
{
    text += strspn(text, " \t");
    size_t len = strcspn(text, "\r\n"), n = 0;
    char *line = xmalloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        const bool blank = text[i] == ' ' || text[i] == '\t';
        if (!blank || line[n - 1] != ' ')
            line[n++] = blank ? ' ' : text[i];
    }
    n -= n && line[n - 1] == ' ';
    line[n] = 0;
    return line;
}

static void
take_source(void *user, uint32_t pc, const char *file, unsigned line)
{
    struct result_lines *l = user;
    l->v[pc].at.file = keep(l, file);
    l->v[pc].at.line = line;
}

void
result_keep_lines(struct allot_result *r, const struct exec_prog *p,
                  const struct line_counts *counts)
{
    struct result_lines *l = &r->lines;
    const char *text = NULL, *at = NULL; /* line `line` of `text` begins at `at` */
    unsigned line = 0;
    l->n = p->ninst + 1;
    l->v = xcalloc(l->n, sizeof *l->v);
    for (uint32_t pc = 0; pc < p->ninst; pc++) {
        struct result_line *x = &l->v[pc];
        const struct diag_loc loc = exec_loc(p, pc);
        x->at.opcode = ptx_ops[p->st[pc].op].mnemonic;
        x->at.ptx_file = keep(l, loc.file ? loc.file : "");
        x->at.ptx_line = loc.line;
        if (loc.text != text || loc.line < line || !at) {
            text = at = loc.text;
            line = 1;
        }
        for (const char *end; at && line < loc.line && (end = strchr(at, '\n')); line++)
            at = end + 1;
        x->at.ptx_text = x->text = at && line == loc.line ? line_text(at) : NULL;
    }
    for (size_t i = 0; i < l->n; i++)
        l->v[i].count = counts[i];
    exec_sources(p, take_source, l);
}

void
result_free_lines(struct result_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].text);
    for (size_t i = 0; i < l->names.n; i++)
        free(l->names.v[i]);
    vec_free(&l->names);
    free(l->v);
}

bool
allot_result_line(const struct allot_result *r, size_t i, struct allot_line *line)
{
    if (i >= r->lines.n)
        return false;
    *line = r->lines.v[i].at;
    return true;
}

bool
allot_result_line_count(const struct allot_result *r, size_t i, const char *id,
                        uint64_t *count)
{
    for (unsigned k = 0; i < r->lines.n && k < LINE_COUNTS; k++)
        if (!strcmp(stats_line_id(k), id)) {
            *count = r->lines.v[i].count.v[k];
            return true;
        }
    return false;
}

const char *
allot_line_counter(size_t i)
{
    return i < LINE_COUNTS ? stats_line_id(i) : NULL;
}

static json_t *
line_json(const struct result_line *x)
{
    json_t *o = json_object();
    for (unsigned k = 0; k < LINE_COUNTS; k++)
        if (x->count.v[k])
            json_object_set_new(o, stats_line_id(k),
                                json_integer((json_int_t)x->count.v[k]));
    if (!json_object_size(o)) {
        json_decref(o);
        return NULL;
    }
    if (x->at.opcode)
        json_object_set_new(o, "opcode", json_string(x->at.opcode));
    if (x->at.ptx_file)
        json_object_set_new(o, "ptx_file", json_text(x->at.ptx_file));
    if (x->at.ptx_line)
        json_object_set_new(o, "ptx_line", json_integer(x->at.ptx_line));
    if (x->at.ptx_text)
        json_object_set_new(o, "ptx_text", json_text(x->at.ptx_text));
    if (x->at.file)
        json_object_set_new(o, "file", json_text(x->at.file));
    if (x->at.line)
        json_object_set_new(o, "line", json_integer(x->at.line));
    return o;
}

char *
allot_result_lines_text(const struct allot_result *r)
{
    json_t *all = json_array(), *o;
    for (size_t i = 0; i < r->lines.n; i++)
        if ((o = line_json(&r->lines.v[i])))
            json_array_append_new(all, o);
    char *text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}
