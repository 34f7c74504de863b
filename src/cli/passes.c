/* passes.c: see passes.h. The pass driver verifies the module at the end; where it is watched,
 * after each pass that changed it. */
#include "cli/passes.h"

#include "base/near.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "report/line_diff.h"
#include "report/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void
pass_list(void)
{
    const char *name, *meaning;
    const char *key, *value;
    for (size_t i = 0; allot_pass(i, &name, &meaning); i++) {
        printf("%-24s %s\n", name, meaning);
        for (size_t k = 0; allot_pass_setting(i, k, &key, &value, &meaning); k++)
            printf("  :%s=%-*s %s\n", key, (int)(20 - strlen(key)), value, meaning);
    }
}

bool
pass_threshold(const struct cli_cmd *cmd, struct cli_sim *s, const char *passes)
{
    bool given = s->threshold;
    for (const char *p = passes; (p = strstr(p, ":threshold=")); p++) {
        const char *value = p + strlen(":threshold=");
        char *text = arena_strndup(cli_mem(), value, strcspn(value, ":,"));
        if (s->threshold && strtod(s->threshold, NULL) != strtod(text, NULL)) {
            cli_usage(cmd, "passes are told threshold %s, but %s is %s", text,
                      given ? "--threshold" : "another's", s->threshold);
            return false;
        }
        s->threshold = text;
    }
    return true;
}

bool
pass_names_check(const struct cli_cmd *cmd, const char *passes)
{
    struct allot_diag *d = allot_diag_new();
    bool ok = !passes || allot_passes_known(passes, d);
    cli_diag(d);
    allot_diag_free(d);
    if (!ok)
        cli_usage(cmd, "--passes %s: 'allot opt --list-passes' has names and settings",
                  passes);
    return ok;
}

/* Are the names of --print-after passes? */
static bool
look_check(const struct cli_cmd *cmd, const struct pass_look *l)
{
    for (size_t i = 0; i < l->print_after.n; i++) {
        const char *word = l->print_after.v[i], *name, *meaning;
        struct near near = {.word = word};
        bool known = !strcmp(word, "all");
        if (pipeline_is(word, strlen(word)))
            return cli_usage(cmd,
                             "--print-after %s: this is several passes; name one of them "
                             "('allot list pipelines') or all",
                             word),
                   false;
        for (size_t k = 0; allot_pass(k, &name, &meaning); k++) {
            near_offer(&near, name);
            known |= !strcmp(word, name);
        }
        if (!known)
            return cli_usage(cmd,
                             "--print-after %s: no pass is called so%s ('allot opt "
                             "--list-passes')",
                             word, cli_did_you_mean("", near.best)),
                   false;
    }
    return true;
}

/* Whether the pass has a setting `trace`. */
static bool
can_trace(const char *pass)
{
    const char *name, *meaning, *key, *value;
    for (size_t i = 0; allot_pass(i, &name, &meaning); i++)
        for (size_t k = 0;
             !strcmp(name, pass) && allot_pass_setting(i, k, &key, &value, &meaning); k++)
            if (!strcmp(key, "trace"))
                return true;
    return false;
}

/* Is each name of --trace-pass a pass of the list that can be traced? */
static bool
trace_check(const struct cli_cmd *cmd, const struct pass_look *l, const char *passes)
{
    for (size_t i = 0; i < l->trace.n; i++) {
        const char *name = l->trace.v[i];
        if (!can_trace(name))
            return cli_usage(cmd,
                             "--trace-pass %s: schedule and post-schedule can be traced",
                             name),
                   false;
        if (!pass_names(passes, name))
            return cli_usage(cmd, "--trace-pass %s: it is none of --passes", name), false;
    }
    return true;
}

const char *
pass_look_pipeline(const struct cli_cmd *cmd, const struct pass_look *l,
                   const char *passes)
{
    char *end, *list = pipeline_expand(passes), *save = NULL;
    const long most = l->limit ? strtol(l->limit, &end, 10) : LONG_MAX;
    struct strbuf b = {0};
    long n = 0;
    if (l->limit && (end == l->limit || *end || most < 0)) {
        free(list);
        return cli_usage(cmd, "--bisect-limit %s: give a number of passes", l->limit),
               NULL;
    }
    if (!pass_names_check(cmd, passes) || !look_check(cmd, l) ||
        !trace_check(cmd, l, passes)) {
        free(list);
        return NULL;
    }
    strbuf_addz(&b, "");
    for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save), n++) {
        if (n == most)
            fprintf(stderr, "allot: passes 1 to %ld run; the next, %ld, is %s\n", n,
                    n + 1, s);
        if (n >= most)
            continue;
        strbuf_printf(&b, "%s%s", n ? "," : "", s);
        for (size_t i = 0; i < l->trace.n; i++)
            if (strcspn(s, ":") == strlen(l->trace.v[i]) &&
                !strncmp(s, l->trace.v[i], strlen(l->trace.v[i])))
                strbuf_addz(&b, ":trace=yes");
    }
    if (l->limit && n <= most)
        fprintf(stderr, "allot: all %ld passes run\n", n);
    const char *out = arena_strdup(cli_mem(), b.s);
    strbuf_free(&b);
    free(list);
    return out;
}

/* The lines that the pass changed. */
static void
print_changed(struct pass_look *l, const struct allot_pass_step *s)
{
    char *now = allot_module_print(l->mod);
    struct strbuf b = {0};
    if (line_diff(l->before, now, 2, &b))
        fprintf(stderr, "// pass %u, %s, changed\n%s\n", s->index + 1, s->name, b.s);
    strbuf_free(&b);
    free(l->before);
    l->before = now;
}

static bool
after(void *user, const struct allot_pass_step *s, struct allot_diag *d)
{
    struct pass_look *l = user;
    (void)d;
    bool print = false;
    for (size_t i = 0; i < l->print_after.n; i++)
        print |=
            !strcmp(l->print_after.v[i], "all") || !strcmp(l->print_after.v[i], s->name);
    if (print) {
        char *text = allot_module_print(l->mod);
        fprintf(stderr, "// after pass %u, %s%s\n%s\n", s->index + 1, s->name,
                s->changed ? "" : " (which changed nothing)", text);
        free(text);
    }
    if (l->changed && s->changed)
        print_changed(l, s);
    if (l->time) {
        l->seconds += s->seconds;
        l->verify_seconds += s->verify_seconds;
        table_cell(l->times, "%u %s", s->index + 1, s->name);
        table_cell(l->times, "%.3f", s->seconds * 1000);
        table_cell(l->times, "%.3f", s->verify_seconds * 1000);
        table_cell(l->times, "%s", s->changed ? "yes" : "no");
    }
    return true;
}

/* Kernels that cannot be executed as they are: no pass is asked whether they can be. */
static void
tell_left_out(const struct allot_module *mod)
{
    struct allot_diag *d = allot_diag_new();
    if (!allot_module_check(mod, d))
        fprintf(stderr,
                "allot: --verify-each: kernels that cannot be executed as they are are "
                "left out:\n%s",
                allot_diag_text(d));
    allot_diag_free(d);
}

void
pass_look_begin(struct pass_look *l, const struct allot_module *mod)
{
    l->mod = mod;
    l->own = (struct allot_pass_watch){after, l};
    l->watch = l->print_after.n || l->time || l->verify || l->changed ? &l->own : NULL;
    l->before = l->changed ? allot_module_print(mod) : NULL;
    if (l->time)
        l->times =
            table_new(4, (const char *const[]){"pass", "ms", "verifying, ms", "changed"});
    if (l->verify)
        tell_left_out(mod);
}

void
pass_look_end(struct pass_look *l, const char *traces)
{
    if (traces)
        fputs(traces, stderr);
    free(l->before);
    l->before = NULL;
    if (!l->times)
        return;
    table_show(l->times, stderr);
    fprintf(stderr, "in all %.3f ms, verifying %.3f ms\n", l->seconds * 1000,
            l->verify_seconds * 1000);
    table_free(l->times);
    l->times = NULL;
}
