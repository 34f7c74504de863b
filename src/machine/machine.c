/* machine.c: a machine in memory: making, copying, changing, hashing, printing. Reading
 * files is machine_load.c, what must hold between settings machine_check.c. */
#include "base/near.h"
#include "base/splitmix.h"
#include "machine/setting.h"

#include <stdlib.h>
#include <string.h>

struct machine *
machine_new(void)
{
    struct machine *m = xcalloc(1, sizeof *m);
    struct diag_sink none = {0};
    size_t n;
    const struct setting *t = setting_rows(&n);
    for (size_t i = 0; i < n; i++)
        setting_store(m, &t[i], t[i].def, NULL, &none);
    diag_free(&none);
    m->name = "default";
    return m;
}

struct machine *
machine_clone(const struct machine *m)
{
    struct machine *c = xcalloc(1, sizeof *c);
    *c = *m;
    c->mem = (struct arena){0};
    size_t n;
    const struct setting *t = setting_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (t[i].type == SET_STR || t[i].type == SET_POLICY) {
            const char **s = (const char **)((char *)c + t[i].offset);
            *s = arena_strdup(&c->mem, *s);
        }
    c->name = arena_strdup(&c->mem, m->name);
    if (m->file)
        c->file = arena_strdup(&c->mem, m->file);
    return c;
}

void
machine_free(struct machine *m)
{
    if (!m)
        return;
    arena_free(&m->mem);
    free(m);
}

bool
machine_set(struct machine *m, const char *path, const char *value,
            struct diag_sink *diag)
{
    const struct setting *s = setting_find(path);
    if (!s)
        return setting_unknown(path, NULL, diag);
    return setting_store(m, s, value, NULL, diag);
}

bool
machine_get(const struct machine *m, const char *path, char *buf, size_t n)
{
    const struct setting *s = setting_find(path);
    if (!s)
        return false;
    struct strbuf b = {0};
    setting_text(m, s, &b);
    if (n)
        snprintf(buf, n, "%s", b.s ? b.s : "");
    strbuf_free(&b);
    return true;
}

/* FNV-1a over "path=value", then SplitMix64's finaliser; settings are added up, so that
 * the order of rows does not matter. */
static uint64_t
hash_text(const char *path, const char *value)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = path; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    h = (h ^ '=') * 0x100000001b3u;
    for (const char *p = value; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return splitmix(h);
}

/* Not of the hash. */
static bool
descriptive(const struct setting *s)
{
    return !strcmp(s->path, "gpu.name") || !strcmp(s->path, "gpu.source") ||
           !strcmp(s->group, "functional");
}

uint64_t
machine_hash(const struct machine *m)
{
    uint64_t sum = 0;
    size_t n;
    const struct setting *t = setting_rows(&n);
    struct strbuf b = {0};
    for (size_t i = 0; i < n; i++) {
        if (descriptive(&t[i]))
            continue;
        b.n = 0;
        strbuf_addz(&b, "");
        setting_text(m, &t[i], &b);
        sum += hash_text(t[i].path, b.s && b.n ? b.s : "");
    }
    strbuf_free(&b);
    return sum;
}

/* A text that YAML gives back: in single quotes, but for tabs and what it takes for line
 * ends, which it would turn to blanks. */
static void
print_string(const char *s, struct strbuf *out)
{
    static const char *const codes[][2] = {
        {"\n", "\\n"},          {"\t", "\\t"},       {"\"", "\\\""},
        {"\\", "\\\\"},         {"\xc2\x85", "\\N"}, {"\xe2\x80\xa8", "\\L"},
        {"\xe2\x80\xa9", "\\P"}};
    enum { NCODES = sizeof codes / sizeof *codes };
    const bool lines = strpbrk(s, "\n\t") || strstr(s, "\xc2\x85") ||
                       strstr(s, "\xe2\x80\xa8") || strstr(s, "\xe2\x80\xa9");
    if (!lines) {
        strbuf_addz(out, "'");
        for (; *s; s++)
            strbuf_printf(out, *s == '\'' ? "''" : "%c", *s);
        strbuf_addz(out, "'");
        return;
    }
    strbuf_addz(out, "\"");
    while (*s) {
        size_t k = 0;
        while (k < NCODES && strncmp(s, codes[k][0], strlen(codes[k][0])) != 0)
            k++;
        if (k < NCODES)
            strbuf_addz(out, codes[k][1]);
        else
            strbuf_add(out, s, 1);
        s += k < NCODES ? strlen(codes[k][0]) : 1;
    }
    strbuf_addz(out, "\"");
}

void
machine_print(const struct machine *m, struct strbuf *out)
{
    size_t n;
    const struct setting *t = setting_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (!i || strcmp(t[i].group, t[i - 1].group))
            strbuf_printf(out, "%s# %s\n%s:\n", i ? "\n" : "", t[i].group_meaning,
                          t[i].group);
        struct strbuf v = {0};
        setting_text(m, &t[i], &v);
        const char *text = v.s ? v.s : "";
        strbuf_printf(out, "  %s: ", t[i].name);
        if (t[i].type == SET_LATENCY)
            strbuf_printf(out, "[%s]", text);
        else if (t[i].type == SET_STR)
            print_string(text, out);
        else
            strbuf_addz(out, text);
        if (t[i].unit[0] && t[i].type != SET_LATENCY)
            strbuf_printf(out, " # %s", t[i].unit);
        strbuf_addz(out, "\n");
        strbuf_free(&v);
    }
}

static const char *const type_names[] = {"integer", "number", "boolean", "text",
                                         "word",    "policy", "latency"};

bool
machine_setting(size_t i, struct allot_setting_info *info)
{
    size_t n;
    const struct setting *t = setting_rows(&n);
    if (i >= n)
        return false;
    *info = (struct allot_setting_info){.path = t[i].path,
                                        .type = type_names[t[i].type],
                                        .unit = t[i].type == SET_LATENCY ? "cycles"
                                                                         : t[i].unit,
                                        .value_default = t[i].def,
                                        .range = t[i].range,
                                        .meaning = t[i].meaning};
    return true;
}

/* Text in a Markdown table: a bar would end the cell. */
static void
add_cell(struct strbuf *out, const char *s)
{
    for (; *s; s++)
        strbuf_printf(out, *s == '|' ? "\\|" : "%c", *s);
}

void
machine_docs(struct strbuf *out)
{
    size_t n;
    const struct setting *t = setting_rows(&n);
    strbuf_addz(out,
                "# Settings of a machine\n\nMade from `src/machine/settings.def`; do "
                "not edit. Each stands in a machine file under its group, and can be "
                "changed for one run with `--set PATH=VALUE`.\n");
    for (size_t i = 0; i < n; i++) {
        if (!i || strcmp(t[i].group, t[i - 1].group))
            strbuf_printf(out,
                          "\n## %s: %s\n\n| path | default | allowed | unit | meaning "
                          "|\n| --- | --- | --- | --- | --- |\n",
                          t[i].group, t[i].group_meaning);
        strbuf_printf(out, "| `%s` | `%s` | ", t[i].path, t[i].def);
        add_cell(out, t[i].range);
        strbuf_printf(out, " | %s | ", t[i].unit);
        add_cell(out, t[i].meaning);
        strbuf_addz(out, " |\n");
    }
}

/* -- policies -- */

static bool
is_policy(const char *(*name_at)(void *user, const char *folder, size_t i), void *user,
          const char *folder, const char *value)
{
    const char *name;
    for (size_t k = 0; (name = name_at(user, folder, k)); k++)
        if (!strcmp(name, value))
            return true;
    return false;
}

bool
machine_check_policies(const struct machine *m,
                       const char *(*name_at)(void *user, const char *folder, size_t i),
                       void *user, struct diag_sink *diag)
{
    bool ok = true;
    size_t n;
    const struct setting *t = setting_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (t[i].type != SET_POLICY)
            continue;
        const char *value = *(const char *const *)((const char *)m + t[i].offset);
        if (is_policy(name_at, user, t[i].folder, value))
            continue;
        const char *name;
        struct strbuf all = {0};
        struct near near = {.word = value, .most = 2};
        for (size_t k = 0; (name = name_at(user, t[i].folder, k)); k++) {
            strbuf_printf(&all, "%s%s", k ? ", " : "", name);
            near_offer(&near, name);
        }
        struct diag *d = diag_add(diag, DIAG_ERROR,
                                  m->file ? &(struct diag_loc){.file = m->file} : NULL,
                                  "%s: there is no policy '%s'", t[i].path, value);
        if (near.best)
            diag_hint(diag, d, "did you mean %s? There are: %s", near.best, all.s);
        else
            diag_hint(diag, d, "there are: %s", all.s ? all.s : "none");
        ok = false;
        strbuf_free(&all);
    }
    return ok;
}
