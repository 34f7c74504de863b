/* variants.c: see variants.h. */
#include "cli/variants.h"

#include "report/table.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *settings, *meaning;
} named[] = {
#define VARIANT(name, settings, meaning) {name, settings, meaning},
#include "cli/variants.def"
#undef VARIANT
};
enum { NNAMED = sizeof named / sizeof *named };

void
variants_list(void)
{
    struct table *t =
        table_new(3, (const char *const[]){"variant", "meaning", "settings"});
    for (size_t i = 0; i < NNAMED; i++) {
        table_cell(t, "%s", named[i].name);
        table_cell(t, "%s", named[i].meaning);
        table_cell(t, "%s", named[i].settings);
    }
    table_show(t, stdout);
    printf("\nA variant of your own: NAME:PATH=VALUE[+PATH=VALUE...]\n");
    table_free(t);
}

static const char *
near_variant(const char *name)
{
    const char *names[NNAMED];
    for (size_t i = 0; i < NNAMED; i++)
        names[i] = named[i].name;
    return cli_near_word(name, names, NNAMED);
}

int
variants_parse(const char *text, struct variant v[MAX_VARIANTS],
               const struct cli_cmd *cmd)
{
    char *copy = arena_strdup(cli_mem(), text), *save;
    int n = 0;
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (n == MAX_VARIANTS)
            return cli_usage(cmd, "--variants: at most %d", MAX_VARIANTS), -1;
        char *colon = strchr(p, ':');
        if (colon) {
            *colon = 0;
            v[n++] = (struct variant){p, colon + 1};
            continue;
        }
        size_t i = 0;
        while (i < NNAMED && strcmp(named[i].name, p))
            i++;
        if (i == NNAMED)
            return cli_usage(cmd, "no variant is called '%s'%s (--list-variants)", p,
                             near_variant(p)),
                   -1;
        v[n++] = (struct variant){named[i].name, named[i].settings};
    }
    return n ? n : (cli_usage(cmd, "--variants: name at least one"), -1);
}

int
variants_of_schedules(struct cli_sim *s, bool opt_tlp, struct variant v[MAX_VARIANTS],
                      const struct cli_cmd *cmd)
{
    int n = 0;
    v[n++] = (struct variant){"round-robin", "cta.order=round-robin"};
    if (s->schedules.n)
        v[n++] = (struct variant){"schedule", "cta.order=schedule"};
    for (size_t i = 0; i < s->methods.n && n < MAX_VARIANTS; i++)
        v[n++] = (struct variant){
            s->methods.v[i], arena_printf(cli_mem(), "cta.order=schedule+cta.schedule=%s",
                                          s->methods.v[i])};
    s->methods.n = 0; /* they are the variants' */
    if (!opt_tlp)
        return n;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(s, d);
    char text[32] = "0";
    uint64_t sms = 0, most = 0;
    if (m) {
        allot_machine_get(m, "sm.count", text, sizeof text);
        cli_u64(text, 1, UINT32_MAX, &sms);
        allot_machine_get(m, "sm.max_blocks", text, sizeof text);
        cli_u64(text, 1, UINT32_MAX, &most);
    }
    cli_diag(d);
    allot_diag_free(d);
    allot_machine_free(m);
    if (!m)
        return -1;
    if ((size_t)n + most > MAX_VARIANTS)
        return cli_usage(cmd, "--opt-tlp: an SM has up to %llu blocks, too many to try",
                         (unsigned long long)most),
               -1;
    for (uint64_t k = 1; k <= most; k++)
        v[n++] = (struct variant){
            arena_printf(cli_mem(), "tlp=%llu", (unsigned long long)(k * sms)),
            arena_printf(cli_mem(),
                         "cta.order=schedule+cta.schedule=round-robin,tlp=%llu",
                         (unsigned long long)(k * sms))};
    return n;
}

bool
variant_apply(struct allot_machine *m, const struct variant *v, struct allot_diag *d)
{
    char *copy = xstrdup(v->settings), *save;
    bool ok = true;
    for (char *p = strtok_r(copy, "+", &save); ok && p; p = strtok_r(NULL, "+", &save)) {
        char *eq = strchr(p, '=');
        if (!eq) {
            fprintf(stderr, "allot: variant %s: '%s' is not PATH=VALUE\n", v->name, p);
            ok = false;
            break;
        }
        *eq = 0;
        ok = allot_machine_set(m, p, eq + 1, d);
    }
    free(copy);
    if (!ok)
        cli_misused();
    return ok;
}

bool
variants_check(const struct cli_sim *s, const struct variant *v, int n)
{
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        struct allot_diag *d = cli_diag_new();
        struct allot_machine *m = cli_sim_machine(s, d);
        ok = m && variant_apply(m, &v[i], d);
        if (!ok)
            cli_diag(d);
        allot_machine_free(m);
        allot_diag_free(d);
    }
    return ok;
}

const char *const *
variant_settings(const struct cli_sim *s, const struct variant *v, size_t *n)
{
    const char *const *base = cli_sim_settings(s, n);
    const char **all = ARENA_ARRAY(cli_mem(), const char *, *n + strlen(v->settings) + 1);
    char *copy = arena_strdup(cli_mem(), v->settings), *save;
    memcpy(all, base, *n * sizeof *all);
    for (char *p = strtok_r(copy, "+", &save); p; p = strtok_r(NULL, "+", &save))
        all[(*n)++] = p;
    return all;
}
