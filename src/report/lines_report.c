/* lines_report.c: see lines_report.h. */
#include "report/lines_report.h"

#include "allot/allot.h"
#include "base/demangle.h"
#include "report/table.h"
#include "report/why_report.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12, TEXT_COLUMN = 44 };

static uint64_t
count(const json_t *o, const char *id)
{
    return (uint64_t)json_integer_value(json_object_get(o, id));
}

static const char *
text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void
add_counts(json_t *to, const json_t *o)
{
    const char *id;
    for (size_t i = 0; (id = allot_line_counter(i)); i++) {
        uint64_t n = count(o, id);
        if (n)
            json_object_set_new(to, id, json_integer((json_int_t)(count(to, id) + n)));
    }
}

/* Issue slots of all causes. */
static uint64_t
slots(const json_t *o)
{
    uint64_t n = 0;
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        n += count(o, why_causes[k].id);
    return n;
}

/* -- kernels -- */

static int
by_place(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int d = strcmp(text_of(x, "ptx_file"), text_of(y, "ptx_file"));
    uint64_t i = count(x, "ptx_line"), j = count(y, "ptx_line");
    return d ? d : (i > j) - (i < j);
}

static int
by_slots(const void *a, const void *b)
{
    uint64_t i = slots(*(json_t *const *)a), j = slots(*(json_t *const *)b);
    return i != j ? (i < j) - (i > j) : by_place(a, b);
}

static json_t *
sorted(const json_t *lines, int (*by)(const void *, const void *))
{
    size_t n = json_array_size(lines);
    json_t **v = xcalloc(n + 1, sizeof *v), *out = json_array();
    for (size_t i = 0; i < n; i++)
        v[i] = json_array_get(lines, i);
    qsort(v, n, sizeof *v, by);
    for (size_t i = 0; i < n; i++)
        json_array_append(out, v[i]);
    free(v);
    return out;
}

/* The objects of `lines` with the same text at `key` added up. Keys: of the place. */
static json_t *
merged(const json_t *lines, void (*key)(const json_t *o, struct strbuf *out))
{
    json_t *all = json_array(), *place = json_object(), *o;
    size_t i;
    struct strbuf b = {0};
    json_array_foreach(lines, i, o)
    {
        b.n = 0;
        key(o, &b);
        json_t *to = json_object_get(place, b.s);
        if (!to) {
            to = json_object();
            const char *const kept[] = {"opcode",   "ptx_file", "ptx_line",
                                        "ptx_text", "file",     "line"};
            for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
                if (json_object_get(o, kept[k]))
                    json_object_set(to, kept[k], json_object_get(o, kept[k]));
            json_object_set_new(place, b.s, to);
            json_array_append(all, to);
        }
        add_counts(to, o);
    }
    strbuf_free(&b);
    json_decref(place);
    return all;
}

static void
ptx_place(const json_t *o, struct strbuf *out)
{
    strbuf_printf(out, "%s:%llu", text_of(o, "ptx_file"),
                  (unsigned long long)count(o, "ptx_line"));
}

/* Instructions without a source line stay by themselves, as one. */
static void
source_place(const json_t *o, struct strbuf *out)
{
    if (*text_of(o, "ptx_file") && !*text_of(o, "file"))
        strbuf_addz(out, "none");
    else
        strbuf_printf(out, "%s:%llu", text_of(o, "file"),
                      (unsigned long long)count(o, "line"));
}

json_t *
lines_report_kernels(const json_t *launches)
{
    json_t *kernels = json_object(), *o;
    size_t i;
    json_array_foreach(launches, i, o)
    {
        const char *name = text_of(o, "name");
        json_t *all = json_object_get(kernels, name);
        if (!json_object_get(o, "lines"))
            continue;
        if (!all)
            json_object_set_new(kernels, name, all = json_array());
        json_array_extend(all, json_object_get(o, "lines"));
    }
    const char *name;
    json_t *lines;
    void *next;
    json_object_foreach_safe(kernels, next, name, lines)
    {
        json_t *one = merged(lines, ptx_place);
        json_object_set_new(kernels, name, sorted(one, by_place));
        json_decref(one);
    }
    return kernels;
}

/* -- the tables -- */

static double
ratio(uint64_t n, uint64_t of)
{
    return of ? (double)n / (double)of : 0;
}

/* The cause that takes most of the slots that did not issue; NULL: all issued. */
static const char *
main_cause(const json_t *o, uint64_t *n)
{
    const char *title = NULL;
    *n = 0;
    for (unsigned k = 0; k < WHY_CAUSES; k++) {
        uint64_t v = count(o, why_causes[k].id);
        if (k != WHY_CAUSE_used && v > *n) {
            *n = v;
            title = why_causes[k].title;
        }
    }
    return title;
}

static const char *
last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Line n of a file, or "". */
static char *
file_line(const char *path, uint64_t n)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    ssize_t len = -1;
    while (f && n-- && (len = getline(&line, &room, f)) > 0)
        ;
    if (f)
        fclose(f);
    if (len <= 0) {
        free(line);
        return xstrdup("");
    }
    line[strcspn(line, "\r\n")] = 0;
    return line;
}

static void
cell_text(struct table *t, const char *text)
{
    struct strbuf b = {0};
    strbuf_visible(&b, text + strspn(text, " \t"), TEXT_COLUMN);
    table_cell(t, "%s", b.s);
    strbuf_free(&b);
}

static void
row(struct table *t, const json_t *o, uint64_t all, bool source)
{
    const char *file = source ? text_of(o, "file") : text_of(o, "ptx_file");
    uint64_t line = count(o, source ? "line" : "ptx_line"), most;
    const char *cause = main_cause(o, &most);
    uint64_t warp = count(o, "warp_instructions"), l1 = count(o, "l1d_accesses"),
             loads = count(o, "loads_returned"), banks = count(o, "scratchpad_accesses");
    table_cell(t, "%.2f", 100 * ratio(slots(o), all));
    table_cell(t, "%.2f", 100 * ratio(count(o, "issue_used"), all));
    table_cell(t, "%.2f", 100 * ratio(most, all));
    table_cell(t, "%s", cause ? cause : "-");
    if (warp)
        table_cell(t, "%.1f", ratio(count(o, "thread_instructions"), warp));
    else
        table_cell(t, "-");
    if (loads)
        table_cell(t, "%.0f", ratio(count(o, "load_latency"), loads));
    else
        table_cell(t, "-");
    if (l1)
        table_cell(t, "%.1f", 100 * ratio(count(o, "l1d_misses"), l1));
    else
        table_cell(t, "-");
    if (banks)
        table_cell(t, "%.1f", ratio(count(o, "scratchpad_conflict_cycles"), banks));
    else
        table_cell(t, "-");
    if (!*file || !line) {
        table_cell(t, "-");
        table_cell(t, "%s", source ? "(no source line)" : "(made by a pass)");
    } else {
        table_cell(t, "%s:%llu", last_part(file), (unsigned long long)line);
        char *text = source ? file_line(file, line) : xstrdup(text_of(o, "ptx_text"));
        cell_text(t, text);
        free(text);
    }
}

static void
table_of(FILE *f, const json_t *lines, uint64_t all, bool source)
{
    static const char *const heads[] = {"slots %", "issued %", "lost %",    "lost to",
                                        "lanes",   "latency",  "L1 miss %", "conflicts",
                                        "line",    ""};
    struct table *t = table_new(sizeof heads / sizeof *heads, heads);
    json_t *v = sorted(lines, by_slots), *o;
    size_t i;
    uint64_t left = 0;
    size_t n = 0;
    json_array_foreach(v, i, o)
    {
        if (!*text_of(o, "ptx_file"))
            continue;
        if (n++ < SHOWN)
            row(t, o, all, source);
        else
            left += slots(o);
    }
    table_show(t, f);
    if (n > SHOWN)
        fprintf(f, "... and %zu more lines, with %.2f %% of the slots\n", n - SHOWN,
                100 * ratio(left, all));
    table_free(t);
    json_decref(v);
}

void
lines_report_text(FILE *f, const json_t *kernels)
{
    const char *name;
    json_t *lines, *o;
    size_t i;
    json_object_foreach((json_t *)kernels, name, lines)
    {
        uint64_t all = 0, known = 0, empty = 0;
        json_array_foreach(lines, i, o)
        {
            if (*text_of(o, "ptx_file"))
                all += slots(o);
            else
                empty += slots(o);
            known += count(o, "line") != 0;
        }
        char *plain = demangle(name), b[32];
        fprintf(f,
                "\n%s: %s issue slots of schedulers with a warp, by line (of all slots "
                "%.2f %% had none)\n\n",
                plain, table_thousands(b, all), 100 * ratio(empty, all + empty));
        free(plain);
        if (known) {
            json_t *source = merged(lines, source_place);
            table_of(f, source, all, true);
            fprintf(f, "\n");
            json_decref(source);
        }
        table_of(f, lines, all, false);
    }
}

/* -- files -- */

static void
csv_text(struct strbuf *out, const char *s)
{
    strbuf_addz(out, "\"");
    for (; *s; s++)
        strbuf_printf(out, *s == '"' ? "\"\"" : "%c", *s);
    strbuf_addz(out, "\"");
}

static void
write_csv(const json_t *kernels, struct strbuf *out)
{
    const char *name, *id;
    json_t *lines, *o;
    size_t i;
    strbuf_addz(out, "kernel,file,line,ptx_file,ptx_line,ptx_text");
    for (size_t k = 0; (id = allot_line_counter(k)); k++)
        strbuf_printf(out, ",%s", id);
    strbuf_addz(out, "\n");
    json_object_foreach((json_t *)kernels, name, lines) json_array_foreach(lines, i, o)
    {
        csv_text(out, name);
        strbuf_addz(out, ",");
        csv_text(out, text_of(o, "file"));
        strbuf_printf(out, ",%llu,", (unsigned long long)count(o, "line"));
        csv_text(out, text_of(o, "ptx_file"));
        strbuf_printf(out, ",%llu,", (unsigned long long)count(o, "ptx_line"));
        csv_text(out, text_of(o, "ptx_text"));
        for (size_t k = 0; (id = allot_line_counter(k)); k++)
            strbuf_printf(out, ",%llu", (unsigned long long)count(o, id));
        strbuf_addz(out, "\n");
    }
}

static void
write_json(const json_t *kernels, struct strbuf *out)
{
    char *text = json_dumps(kernels, JSON_INDENT(1));
    strbuf_printf(out, "%s\n", text);
    free(text);
}

static void
write_callgrind(const json_t *kernels, struct strbuf *out)
{
    const char *name, *id;
    json_t *lines, *o;
    size_t i;
    strbuf_addz(out, "# callgrind format\nversion: 1\ncreator: allot\npositions: line\n");
    for (unsigned k = 0; k < WHY_CAUSES; k++)
        strbuf_printf(out, "event: %s : issue slots: %s\n", why_causes[k].id,
                      why_causes[k].title);
    strbuf_addz(out, "events:");
    for (size_t k = 0; (id = allot_line_counter(k)); k++)
        strbuf_printf(out, " %s", id);
    strbuf_addz(out, "\n");
    json_object_foreach((json_t *)kernels, name, lines)
    {
        char *plain = demangle(name);
        const char *at = "";
        json_array_foreach(lines, i, o)
        {
            bool source = *text_of(o, "file");
            const char *file = source ? text_of(o, "file") : text_of(o, "ptx_file");
            if (!i || strcmp(file, at) != 0)
                strbuf_printf(out, "\n%s=%s\n", i ? "fi" : "fl",
                              *file ? file : "(no warp)");
            if (!i)
                strbuf_printf(out, "fn=%s\n", plain);
            at = file;
            strbuf_printf(out, "%llu",
                          (unsigned long long)count(o, source ? "line" : "ptx_line"));
            for (size_t k = 0; (id = allot_line_counter(k)); k++)
                strbuf_printf(out, " %llu", (unsigned long long)count(o, id));
            strbuf_addz(out, "\n");
        }
        free(plain);
    }
}

/* Index of a frame of that name, added if there is none. */
static size_t
frame(json_t *frames, json_t *known, const char *name, const char *file, uint64_t line)
{
    struct strbuf key = {0};
    strbuf_printf(&key, "%s|%s|%llu", name, file, (unsigned long long)line);
    json_t *at = json_object_get(known, key.s);
    size_t n = at ? (size_t)json_integer_value(at) : json_array_size(frames);
    if (!at) {
        json_t *o = json_object();
        json_object_set_new(o, "name", json_string(name));
        if (*file)
            json_object_set_new(o, "file", json_string(file));
        if (line)
            json_object_set_new(o, "line", json_integer((json_int_t)line));
        json_array_append_new(frames, o);
        json_object_set_new(known, key.s, json_integer((json_int_t)n));
    }
    strbuf_free(&key);
    return n;
}

/* The stack of a line: its kernel, the line of the source, that of the PTX. */
static json_t *
stack_of(json_t *frames, json_t *known, const char *kernel, const json_t *o)
{
    json_t *stack = json_array();
    struct strbuf b = {0};
#define PUSH(name, file, line)                                                           \
    json_array_append_new(                                                               \
        stack, json_integer((json_int_t)frame(frames, known, name, file, line)))
    PUSH(kernel, "", 0);
    if (!*text_of(o, "ptx_file")) {
        PUSH("(no warp)", "", 0);
        return stack;
    }
    if (*text_of(o, "file")) {
        strbuf_printf(&b, "%s:%llu", last_part(text_of(o, "file")),
                      (unsigned long long)count(o, "line"));
        PUSH(b.s, text_of(o, "file"), count(o, "line"));
        b.n = 0;
    }
    strbuf_printf(&b, "%llu: %s", (unsigned long long)count(o, "ptx_line"),
                  *text_of(o, "ptx_text") ? text_of(o, "ptx_text")
                                          : text_of(o, "opcode"));
    PUSH(b.s, text_of(o, "ptx_file"), count(o, "ptx_line"));
#undef PUSH
    strbuf_free(&b);
    return stack;
}

static void
write_speedscope(const json_t *kernels, struct strbuf *out)
{
    json_t *frames = json_array(), *known = json_object(), *samples = json_array(),
           *weights = json_array(), *lines, *o;
    const char *name;
    size_t i;
    uint64_t all = 0;
    json_object_foreach((json_t *)kernels, name, lines)
    {
        char *plain = demangle(name);
        json_array_foreach(lines, i, o)
        {
            json_array_append_new(samples, stack_of(frames, known, plain, o));
            json_array_append_new(weights, json_integer((json_int_t)slots(o)));
            all += slots(o);
        }
        free(plain);
    }
    json_t *profile =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:o, s:o}", "type", "sampled", "name",
                  "issue slots", "unit", "none", "startValue", 0, "endValue",
                  (json_int_t)all, "samples", samples, "weights", weights);
    json_t *file =
        json_pack("{s:s, s:{s:o}, s:[o], s:s}", "$schema",
                  "https://www.speedscope.app/file-format-schema.json", "shared",
                  "frames", frames, "profiles", profile, "exporter", "allot");
    write_json(file, out);
    json_decref(file);
    json_decref(known);
}

lines_report_writer *
lines_report_format(const char *path)
{
    static const struct {
        const char *end;
        lines_report_writer *write;
    } formats[] = {{".speedscope.json", write_speedscope},
                   {".json", write_json},
                   {".csv", write_csv},
                   {".callgrind", write_callgrind}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t n = strlen(path), m = strlen(formats[i].end);
        if (n >= m && !strcmp(path + n - m, formats[i].end))
            return formats[i].write;
    }
    return NULL;
}
