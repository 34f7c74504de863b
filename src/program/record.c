/* record.c: the record file of a program's launches, added up. */
#include "program/program_int.h"

#include "base/demangle.h"
#include "base/hash.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static double
number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* A launch that failed or was refused: the row as users see it. */
static void
add_failure(struct program_result *r, const char *name, json_t *o)
{
    bool noticed = number(o, "noticed") >= number(o, "count");
    json_t *row = json_pack(
        "{s:s, s:s, s:O, s:O, s:I, s:I, s:b}", "kernel", name, "outcome",
        number(o, "fault") ? "failed" : "refused", "error", json_object_get(o, "error"),
        "reason", json_object_get(o, "why"), "launch", (json_int_t)number(o, "launch"),
        "count", (json_int_t)number(o, "count"), "noticed", noticed);
    json_array_append_new(r->failures, row);
    if (!noticed && !r->overlooked)
        r->overlooked = row;
}

/* A kernel's row in one process: processes are added up. */
static void
add_row(struct program_result *r, const char *name, json_t *o)
{
    static const char *const summed[] = {"launches", "cycles", "warp_instructions",
                                         "thread_instructions", "seconds"};
    if (number(o, "running"))
        json_array_append(r->running, o);
    if (!number(o, "launches"))
        return;
    bool functional = number(o, "functional");
    struct strbuf rank = {0};
    strbuf_printf(&rank, "%s%s", name, functional ? " functional" : "");
    json_t *row = json_object_get(r->rank, rank.s);
    if (!row) {
        row = json_pack("{s:s, s:o, s:b}", "name", name, "resident_blocks",
                        json_integer((json_int_t)number(o, "resident_blocks")),
                        "functional", functional);
        json_array_append_new(r->rows, row);
        json_object_set(r->rank, rank.s, row);
    }
    strbuf_free(&rank);
    for (size_t k = 0; k < sizeof summed / sizeof *summed; k++)
        json_object_set_new(row, summed[k],
                            json_real(number(row, summed[k]) + number(o, summed[k])));
}

void
program_result_init(struct program_result *r, bool all)
{
    *r = (struct program_result){.all = all ? json_array() : NULL,
                                 .rows = json_array(),
                                 .running = json_array(),
                                 .failures = json_array(),
                                 .working = json_array(),
                                 .rank = json_object()};
}

/* A last line that was cut short is left out. */
void
program_read_record(const char *path, struct program_result *r)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    while (f && getline(&line, &room, f) > 0) {
        json_t *o = json_loads(line, 0, NULL);
        const char *row = json_string_value(json_object_get(o, "kernel_row"));
        const char *failed = json_string_value(json_object_get(o, "failure"));
        json_t *working = json_object_get(o, "working_set");
        if (row)
            add_row(r, row, o);
        else if (working)
            json_array_append(r->working, working);
        else if (failed)
            add_failure(r, failed, o);
        else if (json_object_get(o, "findings"))
            r->findings += (uint64_t)number(o, "findings");
        else if (o && r->all)
            json_array_append(r->all, o);
        json_decref(o);
    }
    free(line);
    if (f)
        fclose(f);
}

const char *
program_failure(const struct program_result *r, struct arena *mem)
{
    if (r->overlooked) {
        char *kernel =
                 demangle(json_string_value(json_object_get(r->overlooked, "kernel"))),
             *reason = demangle_text(
                 json_string_value(json_object_get(r->overlooked, "reason")));
        const char *text = arena_printf(
            mem, "launch %.0f, of %s, %s (%s): %s", number(r->overlooked, "launch"),
            kernel, json_string_value(json_object_get(r->overlooked, "outcome")),
            json_string_value(json_object_get(r->overlooked, "error")), reason);
        free(kernel);
        free(reason);
        return text;
    }
    return r->status ? arena_printf(mem, "exit status %d", r->status) : NULL;
}

json_t *
program_launches(const struct program_result *r)
{
    json_t *o;
    size_t i;
    json_array_foreach(r->all, i, o)
        json_object_set(o, "kernel", json_object_get(o, "name"));
    return json_incref(r->all);
}

const char *
program_ptx_hash(const struct program_result *r, struct arena *mem)
{
    struct hash h = hash_start();
    json_t *seen = json_object(), *o;
    const char *last = "";
    size_t i;
    json_array_foreach(r->all, i, o)
    {
        const char *one = json_string_value(json_object_get(o, "ptx_hash"));
        if (!one || json_object_get(seen, one))
            continue;
        json_object_set_new(seen, one, json_true());
        hash_text(&h, one);
        last = one;
    }
    char hex[33] = "";
    if (json_object_size(seen) > 1)
        hash_hex(&h, hex);
    const char *out = arena_strdup(mem, json_object_size(seen) == 1 ? last : hex);
    json_decref(seen);
    return out;
}
