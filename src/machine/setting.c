/* setting.c: one setting: its row, its value as text, its bounds. Machine files,
 * overrides on the command line and defaults all go through setting_store, so that a
 * value means the same and is refused with the same words wherever it comes from. */
#include "machine/setting.h"

#include "base/near.h"
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* -- the table -- */

enum {
    NROWS = 0
#define INT(name, def, min, max, unit, meaning) +1
#define NUM(name, def, min, max, unit, meaning) +1
#define BOOL(name, def, meaning) +1
#define STR(name, def, meaning) +1
#define ENUM(name, def, words, meaning) +1
#define POLICY(name, def, folder, meaning) +1
#include "machine/settings.def"
    ,
    NSETTINGS = NROWS + PTX_NLATENCIES
};

#define WORD(id, text) text,
#define CHOICE(words, list) const char *const machine_words_##words[] = {list};
#include "machine/settings.def"
#undef WORD

static struct setting table[NSETTINGS]; /* filled once */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void
range_text(struct setting *s)
{
    switch (s->type) {
    case SET_INT:
    case SET_NUM:
        snprintf(s->range, sizeof s->range, "%.10g to %.10g", s->min, s->max);
        break;
    case SET_BOOL:
        snprintf(s->range, sizeof s->range, "true | false");
        break;
    case SET_STR:
        snprintf(s->range, sizeof s->range, "text");
        break;
    case SET_POLICY:
        snprintf(s->range, sizeof s->range, "a policy of %s", s->folder);
        break;
    case SET_LATENCY:
        snprintf(s->range, sizeof s->range, "[%.0f to 10000, %.0f to 10000]", s->min,
                 s->min);
        break;
    case SET_ENUM:
        for (size_t i = 0, n = 0; i < s->nwords && n < sizeof s->range; i++)
            n += (size_t)snprintf(s->range + n, sizeof s->range - n, "%s%s",
                                  i ? " | " : "", s->words[i]);
        break;
    }
}

/* Takes a row of a group at `base` of struct machine. */
static void
add_row(size_t *n, const struct setting *row, const char *group, const char *meaning,
        size_t base)
{
    struct setting *s = &table[(*n)++];
    *s = *row;
    s->group = group;
    s->group_meaning = meaning;
    s->offset += base;
}

static void
fill_table(void)
{
    size_t n = 0;
#define GROUP(g, group_text)                                                             \
    {                                                                                    \
        typedef __typeof__(((struct machine *)0)->g) group_type;                         \
        const char *const group = #g, *const group_meaning = group_text;                 \
        const size_t base = offsetof(struct machine, g);
/* Rows are constants that are copied: as assignments they cost a sanitizer build a minute. */
#define ROW(name_, ...)                                                                  \
    {                                                                                    \
        static const struct setting row = {                                              \
            .name = #name_, .offset = offsetof(group_type, name_), __VA_ARGS__};         \
        add_row(&n, &row, group, group_meaning, base);                                   \
    }
#define INT(name, d, lo, hi, u, text)                                                    \
    ROW(name, .type = SET_INT, .def = #d, .min = lo, .max = hi, .unit = u,               \
        .meaning = text)
#define NUM(name, d, lo, hi, u, text)                                                    \
    ROW(name, .type = SET_NUM, .def = #d, .min = lo, .max = hi, .unit = u,               \
        .meaning = text)
#define BOOL(name, d, text)                                                              \
    ROW(name, .type = SET_BOOL, .def = (d) ? "true" : "false", .unit = "",               \
        .meaning = text)
#define STR(name, d, text)                                                               \
    ROW(name, .type = SET_STR, .def = d, .unit = "", .meaning = text)
#define ENUM(name, d, w, text)                                                           \
    ROW(name, .type = SET_ENUM, .def = d, .words = machine_words_##w,                    \
        .nwords = sizeof machine_words_##w / sizeof *machine_words_##w, .unit = "",      \
        .meaning = text)
#define POLICY(name, d, w, text)                                                         \
    ROW(name, .type = SET_POLICY, .def = d, .folder = #w, .unit = "", .meaning = text)
#define ENDGROUP(g) }
#include "machine/settings.def"
#undef ROW
#define LATENCY(id, text, cycles_, interval_, what)                                      \
    table[n++] = (struct setting){                                                       \
        .group = "latency",                                                              \
        .name = text,                                                                    \
        .type = SET_LATENCY,                                                             \
        .offset = offsetof(struct machine, latency[PTX_LAT_##id]),                       \
        .def = #cycles_ "," #interval_,                                                  \
        .min = (cycles_) ? 1 : 0,                                                        \
        .max = 10000,                                                                    \
        .unit = "[cycles, interval]",                                                    \
        .meaning = what,                                                                 \
        .group_meaning = "Latency of a result, and cycles until the pipeline takes the " \
                         "next warp instruction, by class of instruction"};
#include "ptx/latencies.def"
#undef LATENCY
    for (size_t i = 0; i < n; i++) {
        snprintf(table[i].path, sizeof table[i].path, "%s.%s", table[i].group,
                 table[i].name);
        range_text(&table[i]);
    }
}

const struct setting *
setting_rows(size_t *n)
{
    pthread_once(&table_once, fill_table);
    *n = NSETTINGS;
    return table;
}

const struct setting *
setting_find(const char *path)
{
    size_t n;
    const struct setting *t = setting_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(t[i].path, path))
            return &t[i];
    return NULL;
}

bool
setting_unknown(const char *path, const struct diag_loc *loc, struct diag_sink *diag)
{
    size_t n;
    const struct setting *t = setting_rows(&n);
    const char *dot = strchr(path, '.'), *leaf = dot ? dot + 1 : path;
    bool group = false;
    struct near near = {.word = path, .most = 3};
    for (size_t i = 0; i < n; i++) {
        group |= !dot && !strcmp(t[i].group, path);
        near_offer(&near, t[i].path);
    }
    const struct setting *best = near.best ? setting_find(near.best) : NULL;
    for (size_t i = 0; i < n && !best; i++) /* right name, wrong or no group */
        if (!strcmp(leaf, t[i].name))
            best = &t[i];
    struct diag *d =
        group ? diag_add(diag, DIAG_ERROR, loc, "'%s' is a group of settings", path)
              : diag_add(diag, DIAG_ERROR, loc, "there is no setting '%s'", path);
    if (group)
        diag_hint(diag, d, "name one of its settings, such as %s.NAME", path);
    else if (best)
        diag_hint(diag, d, "did you mean %s (%s)?", best->path, best->meaning);
    else
        diag_hint(diag, d, "`allot list settings` shows all of them");
    return false;
}

/* -- values -- */

static bool
refuse(const struct setting *s, const char *text, const char *why,
       const struct diag_loc *loc, struct diag_sink *diag)
{
    struct diag *d =
        diag_add(diag, DIAG_ERROR, loc, "%s: '%.60s' %s", s->path, text, why);
    diag_hint(diag, d, "allowed: %s%s%s", s->range, s->unit[0] ? " " : "",
              s->type == SET_LATENCY ? "" : s->unit);
    return false;
}

/* Decimal or 0x; digits only. */
static bool
parse_u64(const char *t, const char **end, uint64_t *v)
{
    if (!isdigit((unsigned char)*t))
        return false;
    char *e;
    errno = 0;
    *v = strtoull(t, &e, t[0] == '0' && (t[1] == 'x' || t[1] == 'X') ? 16 : 10);
    *end = e;
    return errno == 0;
}

static bool
store_int(uint32_t *to, const struct setting *s, const char *text,
          const struct diag_loc *loc, struct diag_sink *diag)
{
    uint64_t v;
    const char *end;
    if (!parse_u64(text, &end, &v)) {
        if (isdigit((unsigned char)*text))
            return refuse(s, text, "is out of range", loc, diag);
        return refuse(s, text, "is not a whole number", loc, diag);
    }
    const bool bytes = !strcmp(s->unit, "bytes"); /* 48K too */
    if (*end && !(bytes && number_bytes(text, 0, UINT64_MAX, &v)))
        return refuse(s, text, "is not a whole number", loc, diag);
    if ((double)v < s->min || (double)v > s->max)
        return refuse(s, text, "is out of range", loc, diag);
    *to = (uint32_t)v;
    return true;
}

static bool
store_num(double *to, const struct setting *s, const char *text,
          const struct diag_loc *loc, struct diag_sink *diag)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return refuse(s, text, "is not a number", loc, diag);
    if (v < s->min || v > s->max)
        return refuse(s, text, "is out of range", loc, diag);
    *to = v;
    return true;
}

static bool
store_bool(bool *to, const struct setting *s, const char *text,
           const struct diag_loc *loc, struct diag_sink *diag)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"yes", true}, {"no", false},
                 {"on", true},   {"off", false},   {"1", true},   {"0", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i].word)) {
            *to = words[i].value;
            return true;
        }
    return refuse(s, text, "is neither true nor false", loc, diag);
}

/* As wide as the enums of all CHOICEs, so that one function stores any of them. */
typedef unsigned enumerator;
#define CHOICE(words, list)                                                              \
    _Static_assert(sizeof(enum machine_##words) == sizeof(enumerator), #words);
#include "machine/settings.def"

static bool
store_enum(void *to, const struct setting *s, const char *text,
           const struct diag_loc *loc, struct diag_sink *diag)
{
    enumerator i = 0;
    while (i < s->nwords && strcmp(s->words[i], text))
        i++;
    if (i == s->nwords) {
        struct near near = {.word = text};
        struct strbuf why = {0};
        for (i = 0; i < s->nwords; i++)
            near_offer(&near, s->words[i]);
        strbuf_printf(&why, "is not one of its words%s%s%s",
                      near.best ? "; did you mean '" : "", near.best ? near.best : "",
                      near.best ? "'?" : "");
        refuse(s, text, why.s, loc, diag);
        strbuf_free(&why);
        return false;
    }
    memcpy(to, &i, sizeof i);
    return true;
}

static bool
store_latency(struct machine_latency *to, const struct setting *s, const char *text,
              const struct diag_loc *loc, struct diag_sink *diag)
{
    uint64_t v[2];
    const char *p = text;
    for (int i = 0; i < 2; i++) {
        while (*p == ' ' || *p == '[' || (i && *p == ','))
            p++;
        if (!parse_u64(p, &p, &v[i]))
            return refuse(s, text, "is not a pair of whole numbers, as 4,1", loc, diag);
        if ((double)v[i] < s->min || (double)v[i] > s->max)
            return refuse(s, text, "is out of range", loc, diag);
    }
    if (p[strspn(p, " ]")])
        return refuse(s, text, "is not a pair of whole numbers, as 4,1", loc, diag);
    *to = (struct machine_latency){(uint32_t)v[0], (uint32_t)v[1]};
    return true;
}

bool
setting_store(struct machine *m, const struct setting *s, const char *text,
              const struct diag_loc *loc, struct diag_sink *diag)
{
    void *to = (char *)m + s->offset;
    switch (s->type) {
    case SET_INT:
        return store_int(to, s, text, loc, diag);
    case SET_NUM:
        return store_num(to, s, text, loc, diag);
    case SET_BOOL:
        return store_bool(to, s, text, loc, diag);
    case SET_LATENCY:
        return store_latency(to, s, text, loc, diag);
    case SET_ENUM:
        return store_enum(to, s, text, loc, diag);
    case SET_STR:
        for (const char *p = text; *p; p++)
            if (((unsigned char)*p < 32 && *p != '\n' && *p != '\t') || *p == 127)
                return refuse(s, text, "has a control character", loc, diag);
        break;
    case SET_POLICY: /* whether it exists, machine_check_policies says */
        if (!*text)
            return refuse(s, text, "names no policy", loc, diag);
        break;
    }
    *(const char **)to = arena_strdup(&m->mem, text);
    return true;
}

void
setting_text(const struct machine *m, const struct setting *s, struct strbuf *out)
{
    const void *at = (const char *)m + s->offset;
    switch (s->type) {
    case SET_INT:
        strbuf_printf(out, "%" PRIu32, *(const uint32_t *)at);
        break;
    case SET_NUM: { /* the shortest text that reads back as the same number */
        char b[40];
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(b, sizeof b, "%.*g", digits, *(const double *)at);
            if (strtod(b, NULL) == *(const double *)at)
                break;
        }
        strbuf_addz(out, b);
        break;
    }
    case SET_BOOL:
        strbuf_addz(out, *(const bool *)at ? "true" : "false");
        break;
    case SET_LATENCY:
        strbuf_printf(out, "%" PRIu32 ",%" PRIu32,
                      ((const struct machine_latency *)at)->cycles,
                      ((const struct machine_latency *)at)->interval);
        break;
    case SET_ENUM: {
        enumerator i;
        memcpy(&i, at, sizeof i);
        strbuf_addz(out, s->words[i]);
        break;
    }
    case SET_STR:
    case SET_POLICY:
        strbuf_addz(out, *(const char *const *)at);
        break;
    }
}
