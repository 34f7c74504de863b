/* stats.c: merging, checking and printing of counters. One table made from stats.def
 * drives everything; a new counter needs its row and its increment, nothing here. */
#include "stats/stats.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { OWNER_gpu, OWNER_sm, OWNER_mem };
enum { KIND_COUNT, KIND_MAX };

struct row {
    const char *id, *owner, *unit, *meaning;
    size_t offset; /* in struct launch_stats */
    uint8_t of, kind;
};

#define DERIVED(id, unit, meaning, expression)
#define IDENTITY(left, right, meaning)
static const struct row rows[] = {
#define STAT(owner, id, kind, unit, meaning)                                             \
    {#id,           #owner,     unit, meaning, offsetof(struct launch_stats, owner.id),  \
     OWNER_##owner, KIND_##kind},
#include "stats/stats.def"
#undef STAT
};
/* A row's position is its enum stat_id, and every uint64_t of the structs has a row. */
#define STAT(owner, id, kind, unit, meaning)                                             \
    _Static_assert(STAT_##id < STAT_COUNTERS, "counter " #id " has a position");
#include "stats/stats.def"
#undef STAT
_Static_assert(sizeof rows / sizeof *rows == STAT_COUNTERS, "one row per counter");
_Static_assert(sizeof(struct launch_stats) == STAT_COUNTERS * sizeof(uint64_t),
               "the structs hold the counters of stats.def and nothing else");
#undef DERIVED
#undef IDENTITY

#define STAT(owner, id, kind, unit, meaning)
#define IDENTITY(left, right, meaning)
enum {
#define DERIVED(id, unit, meaning, expression) DERIVED_##id,
#include "stats/stats.def"
#undef DERIVED
    NDERIVED
};

static const struct {
    const char *id, *unit, *meaning, *expression;
} derived[NDERIVED] = {
#define DERIVED(id, unit, meaning, expression) {#id, unit, meaning, #expression},
#include "stats/stats.def"
#undef DERIVED
};
#undef STAT
#undef IDENTITY

/* -- counters by instruction -- */

static const struct {
    const char *id;
    size_t offset;
} lines[LINE_COUNTS] = {
#define LINE(id) {#id, offsetof(struct stat_sm, id)},
#define CAUSE(id, word, meaning) LINE(issue_##id)
    ISSUE_CAUSES(CAUSE, CAUSE)
#undef CAUSE
#include "stats/lines.def"
#undef LINE
};

const char *
stats_line_id(enum line_id i)
{
    return lines[i].id;
}

size_t
stats_line_offset(enum line_id i)
{
    return lines[i].offset;
}

/* -- values -- */

static uint64_t *
field(struct launch_stats *t, const struct row *r)
{
    return (uint64_t *)((char *)t + r->offset);
}

static uint64_t
value(const struct launch_stats *t, const struct row *r)
{
    return *(const uint64_t *)((const char *)t + r->offset);
}

static void
merge(uint64_t *to, uint64_t v, int kind)
{
    if (kind == KIND_COUNT)
        *to += v;
    else if (v > *to)
        *to = v;
}

static void
add_owner(struct launch_stats *t, const void *s, int owner, size_t base)
{
    for (size_t i = 0; i < STAT_COUNTERS; i++)
        if (rows[i].of == owner) {
            uint64_t v;
            memcpy(&v, (const char *)s + (rows[i].offset - base), sizeof v);
            merge(field(t, &rows[i]), v, rows[i].kind);
        }
}

void
stats_add_gpu(struct launch_stats *t, const struct stat_gpu *s)
{
    add_owner(t, s, OWNER_gpu, offsetof(struct launch_stats, gpu));
}

void
stats_add_sm(struct launch_stats *t, const struct stat_sm *s)
{
    add_owner(t, s, OWNER_sm, offsetof(struct launch_stats, sm));
}

void
stats_add_mem(struct launch_stats *t, const struct stat_mem *s)
{
    add_owner(t, s, OWNER_mem, offsetof(struct launch_stats, mem));
}

void
stats_add(struct launch_stats *t, const struct launch_stats *s)
{
    for (size_t i = 0; i < STAT_COUNTERS; i++)
        merge(field(t, &rows[i]), value(s, &rows[i]), rows[i].kind);
}

void
stats_subtract(struct launch_stats *t, const struct launch_stats *earlier)
{
    for (size_t i = 0; i < STAT_COUNTERS; i++)
        if (rows[i].kind == KIND_COUNT)
            *field(t, &rows[i]) -= value(earlier, &rows[i]);
}

uint64_t
stats_at(const struct launch_stats *t, enum stat_id i)
{
    return (unsigned)i < STAT_COUNTERS ? value(t, &rows[i]) : 0;
}

/* All derived values; the counters' names in an expression are these locals. */
static void
derive(const struct launch_stats *t, double *out)
{
#define STAT(owner, id, kind, unit, meaning)                                             \
    const double id __attribute__((unused)) = (double)t->owner.id;
#define IDENTITY(left, right, meaning)
#define DERIVED(id, unit, meaning, expression)
#include "stats/stats.def"
#undef STAT
#undef DERIVED
#define STAT(owner, id, kind, unit, meaning)
#define DERIVED(id, unit, meaning, expression) out[DERIVED_##id] = (expression);
#include "stats/stats.def"
#undef STAT
#undef DERIVED
#undef IDENTITY
    for (int i = 0; i < NDERIVED; i++)
        if (!isfinite(out[i]))
            out[i] = 0;
}

/* -- identities -- */

/* The next counter named in the expression at *p, which moves behind it; NULL: none. */
static const struct row *
next_counter(const char **p)
{
    while (**p) {
        size_t n = 0;
        while (isalnum((unsigned char)(*p)[n]) || (*p)[n] == '_')
            n++;
        char id[64];
        snprintf(id, sizeof id, "%.*s", (int)n, *p);
        *p += n ? n : 1;
        int i = n ? stats_find(id) : -1;
        if (i >= 0 && i < STAT_COUNTERS)
            return &rows[i];
    }
    return NULL;
}

/* ", name = value" for each counter named in the expression. */
static void
spell(const struct launch_stats *t, const char *expression, struct strbuf *out)
{
    const struct row *r;
    while ((r = next_counter(&expression)))
        strbuf_printf(out, "%s%s = %" PRIu64, out->n ? ", " : "", r->id, value(t, r));
}

/* Whose a derived value is: an SM's if all but the cycles is. */
static const char *
owner_of(const char *expression)
{
    const struct row *r;
    while ((r = next_counter(&expression)))
        if (r->of == OWNER_mem || (r->of == OWNER_gpu && strcmp(r->id, "cycles") != 0))
            return r->owner;
    return "sm";
}

static bool
identity(const struct launch_stats *t, const char *left, uint64_t l, const char *right,
         uint64_t r, const char *meaning, struct diag_sink *diag)
{
    if (l == r)
        return true;
    struct diag *d =
        diag_add(diag, DIAG_ERROR, NULL,
                 "counters do not add up: %s: %s = %" PRIu64 ", but %s = %" PRIu64,
                 meaning, left, l, right, r);
    struct strbuf b = {0};
    spell(t, left, &b);
    spell(t, right, &b);
    diag_hint(diag, d, "%s", b.n ? b.s : "");
    strbuf_free(&b);
    return false;
}

bool
stats_check(const struct launch_stats *t, struct diag_sink *diag)
{
    bool ok = true;
#define STAT(owner, id, kind, unit, meaning)                                             \
    const uint64_t id __attribute__((unused)) = t->owner.id;
#define DERIVED(id, unit, meaning, expression)
#define IDENTITY(left, right, meaning)
#include "stats/stats.def"
#undef STAT
#undef IDENTITY
#define STAT(owner, id, kind, unit, meaning)
#define IDENTITY(left, right, meaning)                                                   \
    ok &= identity(t, #left, (left), #right, (right), meaning, diag);
#include "stats/stats.def"
#undef STAT
#undef IDENTITY
#undef DERIVED
    return ok;
}

/* -- look-up -- */

int
stats_find(const char *id)
{
    for (int i = 0; i < STAT_COUNTERS; i++)
        if (!strcmp(rows[i].id, id))
            return i;
    for (int i = 0; i < NDERIVED; i++)
        if (!strcmp(derived[i].id, id))
            return STAT_COUNTERS + i;
    return -1;
}

bool
stats_get(const struct launch_stats *t, const char *id, uint64_t *count, double *val)
{
    int i = stats_find(id);
    if (i < 0)
        return false;
    uint64_t c = 0;
    double v;
    if (i < STAT_COUNTERS) {
        c = value(t, &rows[i]);
        v = (double)c;
    } else {
        double all[NDERIVED + 1];
        derive(t, all);
        v = all[i - STAT_COUNTERS];
    }
    if (count)
        *count = c;
    if (val)
        *val = v;
    return true;
}

bool
stats_set(struct launch_stats *t, const char *id, uint64_t v)
{
    int i = stats_find(id);
    if (i < 0 || i >= STAT_COUNTERS)
        return false;
    *field(t, &rows[i]) = v;
    return true;
}

bool
stats_info(size_t i, struct allot_stat_info *info)
{
    if (i < STAT_COUNTERS)
        *info =
            (struct allot_stat_info){.id = rows[i].id,
                                     .owner = rows[i].owner,
                                     .kind = rows[i].kind == KIND_MAX ? "max" : "count",
                                     .unit = rows[i].unit,
                                     .meaning = rows[i].meaning};
    else if (i < STAT_COUNTERS + (size_t)NDERIVED) {
        i -= STAT_COUNTERS;
        *info = (struct allot_stat_info){.id = derived[i].id,
                                         .owner = owner_of(derived[i].expression),
                                         .kind = "derived",
                                         .unit = derived[i].unit,
                                         .meaning = derived[i].meaning,
                                         .derived = true};
    } else
        return false;
    return true;
}

/* -- output -- */

void
stats_text(const struct launch_stats *t, bool all, struct strbuf *out)
{
    double v[NDERIVED + 1];
    derive(t, v);
    size_t w = 0;
    struct allot_stat_info s;
    for (size_t i = 0; stats_info(i, &s); i++)
        if (strlen(s.id) > w)
            w = strlen(s.id);
    for (size_t i = 0; stats_info(i, &s); i++) {
        bool zero = s.derived ? v[i - STAT_COUNTERS] == 0 : !value(t, &rows[i]);
        if (zero && !all)
            continue;
        if (s.derived)
            strbuf_printf(out, "%-*s %20.6g  %s\n", (int)w, s.id, v[i - STAT_COUNTERS],
                          s.unit);
        else
            strbuf_printf(out, "%-*s %20" PRIu64 "  %s\n", (int)w, s.id,
                          value(t, &rows[i]), s.unit);
    }
}

json_t *
stats_json(const struct launch_stats *t)
{
    double v[NDERIVED + 1];
    derive(t, v);
    json_t *o = json_object();
    for (size_t i = 0; i < STAT_COUNTERS; i++)
        json_object_set_new(o, rows[i].id, json_integer((json_int_t)value(t, &rows[i])));
    for (size_t i = 0; i < NDERIVED; i++)
        json_object_set_new(o, derived[i].id, json_real(v[i]));
    return o;
}

void
stats_csv_header(struct strbuf *out)
{
    struct allot_stat_info s;
    for (size_t i = 0; stats_info(i, &s); i++)
        strbuf_printf(out, "%s%s", i ? "," : "", s.id);
}

void
stats_csv_row(const struct launch_stats *t, struct strbuf *out)
{
    double v[NDERIVED + 1];
    derive(t, v);
    for (size_t i = 0; i < STAT_COUNTERS; i++)
        strbuf_printf(out, "%s%" PRIu64, i ? "," : "", value(t, &rows[i]));
    for (size_t i = 0; i < NDERIVED; i++)
        strbuf_printf(out, ",%.17g", v[i]);
}

void
stats_docs(struct strbuf *out)
{
    static const char *const owners[] = {"gpu", "sm", "mem"};
    static const char *const titles[] = {
        "The launch", "Streaming multiprocessors",
        "Memory partitions (a slice and its DRAM share)"};
    strbuf_addz(out,
                "# Counters\n\nMade from `src/stats/stats.def`; do not edit. The ids "
                "are those of `--json`, `--csv` and `allot_result_get`. *count*: "
                "summed over all instances; *max*: of the largest instance.\n");
    for (int o = 0; o < 3; o++) {
        strbuf_printf(out,
                      "\n## %s\n\n| id | kind | unit | meaning |\n| --- | --- | --- | "
                      "--- |\n",
                      titles[o]);
        for (size_t i = 0; i < STAT_COUNTERS; i++)
            if (!strcmp(rows[i].owner, owners[o]))
                strbuf_printf(out, "| `%s` | %s | %s | %s |\n", rows[i].id,
                              rows[i].kind == KIND_MAX ? "max" : "count", rows[i].unit,
                              rows[i].meaning);
    }
    strbuf_addz(out,
                "\n## Derived values\n\nA division by zero gives 0.\n\n| id | unit | "
                "meaning | from |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < NDERIVED; i++)
        strbuf_printf(out, "| `%s` | %s | %s | `%s` |\n", derived[i].id, derived[i].unit,
                      derived[i].meaning, derived[i].expression);
    strbuf_addz(out, "\n## Identities\n\nChecked after every timed launch.\n\n");
#define STAT(owner, id, kind, unit, meaning)
#define DERIVED(id, unit, meaning, expression)
#define IDENTITY(left, right, meaning)                                                   \
    strbuf_addz(out, "- `" #left " = " #right "`: " meaning "\n");
#include "stats/stats.def"
#undef STAT
#undef DERIVED
#undef IDENTITY
}
