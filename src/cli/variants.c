/* variants.c: see variants.h. */
#include "cli/variants.h"

#include "cli/runs.h"
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

int
variants_choose(struct cli_sim *s, const char *text, bool opt_tlp,
                struct variant v[MAX_VARIANTS], const struct cli_cmd *cmd)
{
    if (text && opt_tlp)
        return cli_usage(cmd, "--opt-tlp or --variants, not both"), -1;
    int n = text ? variants_parse(text, v, cmd)
            : s->schedules.n || s->methods.n || opt_tlp
                ? variants_of_schedules(s, opt_tlp, v, cmd)
                : variants_parse("unshared-lrr,shared-lrr,shared-owf", v, cmd);
    struct allot_options checked;
    if (n < 0 || !cli_sim_run_options(cmd, s, &checked, "") || !variants_check(s, v, n))
        return -1;
    return n;
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

/* -- running them -- */

/* A program, all its launches. */
static bool
run_words(const struct variant_job *j, const struct variant *v, struct compare_cell *c)
{
    struct program_setup setup = cli_program_setup(j->sim, &(struct cli_look){0});
    struct program_result r;
    bool ran;
    setup.settings = variant_settings(j->sim, v, &setup.nsettings);
    setup.all = true;
    c->ok = cli_program_launches(j->cmd, &setup, &j->words, &r, &ran);
    c->ran = ran && !cli_interrupted();
    compare_add_launches(c, r.all);
    if (ran && !json_array_size(r.all)) {
        fprintf(stderr, "allot %s: %s launched no kernel\n", j->cmd->name, j->words.v[0]);
        c->ok = false;
    }
    program_result_free(&r);
    return c->ok;
}

/* A workload or a file's kernel, on the machine that the session has. */
static bool
run_session(const struct variant_job *j, struct cli_session *x,
            const struct allot_options *o, const struct variant *v,
            struct compare_cell *c)
{
    const struct allot_workload *w = x->subject.workload;
    struct diag_sink diag = {0};
    size_t n;
    const char *const *settings = variant_settings(j->sim, v, &n);
    if (!cli_session_device(x, o))
        return false;
    const bool passed = cli_session_run(x), refused = cli_session_refused(x);
    compare_add_run(c, x->dev, w ? w->kernels : NULL, x->machine, passed, refused,
                    cli_interrupted(), &diag);
    cli_sink(&diag);
    if (refused)
        cli_session_why(j->cmd, x);
    else if (!passed && c->ran)
        fprintf(stderr, "allot: %s under %s: %s%s\n", x->subject.name, v->name,
                *x->why ? "check failed: " : "did not run to its end", x->why);
    return (!c->ran || cli_session_store(x, j->db, c->ok, n, settings)) && c->ok;
}

static bool
run_cell(const struct variant_job *j, const char *name, const struct variant *v,
         struct compare_cell *c)
{
    struct cli_session x =
        cli_session_of(j->sim, name, allot_workload_find(name), j->own, &j->params);
    struct allot_options o;
    const char *label = arena_printf(cli_mem(), "%s %s", name, v->name);
    bool ok = cli_session_machine(&x) && variant_apply(x.machine, v, x.d) &&
              cli_sim_run_options(j->cmd, j->sim, &o, label) &&
              (j->words.n ? run_words(j, v, c) : run_session(j, &x, &o, v, c));
    cli_session_close(&x);
    return ok;
}

/* Whether each workload takes the parameters, before any of them runs; says which does not.
 * The first is asked by its run. */
static bool
params_taken(const struct variant_job *j, const struct compare *t)
{
    bool ok = true;
    for (size_t i = 1; j->params.n && i < t->nsubject && ok; i++) {
        const char *name = t->subject[i];
        struct allot_options o;
        struct cli_session x =
            cli_session_of(j->sim, name, allot_workload_find(name), NULL, &j->params);
        ok = cli_session_machine(&x) && cli_sim_run_options(j->cmd, j->sim, &o, name) &&
             cli_session_device(&x, &o) && cli_session_try(&x);
        cli_session_why(j->cmd, &x);
        cli_session_close(&x);
    }
    return ok;
}

bool
variants_run(const struct variant_job *j, const struct variant *v, struct compare *t,
             bool *refused)
{
    const size_t n = t->nsubject * t->nvariant;
    struct compare_cell *cell = ARENA_ARRAY(cli_mem(), struct compare_cell, n);
    const char **names = ARENA_ARRAY(cli_mem(), const char *, t->nvariant);
    bool ok = true;
    *refused = !params_taken(j, t);
    for (size_t k = 0; k < t->nvariant; k++)
        names[k] = v[k].name;
    t->cell = cell;
    t->variant = names;
    for (size_t i = 0; i < n && !*refused && !cli_interrupted(); i++) {
        ok &= run_cell(j, t->subject[i / t->nvariant], &v[i % t->nvariant], &cell[i]);
        *refused = cell[i].refused;
    }
    return ok;
}
