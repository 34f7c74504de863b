/* session.c: see session.h. */
#include "cli/session.h"

#include "cli/passes.h"
#include "cli/runs.h"

#include "base/file.h"
#include "report/program_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
cli_sim_check(const struct cli_cmd *cmd, struct cli_sim *s, const char *db,
              const char *label, struct allot_options *o)
{
    if (!pass_names_check(cmd, s->passes) || !cli_check(cmd, s))
        return false;
    if (db && s->functional)
        return cli_usage(cmd, "--functional has no timing to store"), false;
    if (!cli_sim_methods(cmd, s, 1))
        return false;
    if (db && s->schedules.n)
        return cli_usage(cmd, "--db: the store keeps methods of scheduling, no files"),
               false;
    if (s->functional && (s->schedules.n || s->methods.n))
        return cli_usage(cmd, "--schedule: an order of blocks needs the cycle model"),
               false;
    if (!cli_sim_run_options(cmd, s, o, label))
        return false;
    o->threads = cli_sim_threads(s);
    return true;
}

struct cli_session
cli_session_of(const struct cli_sim *s, const char *name, const struct allot_workload *w,
               const struct cli_own *own, const struct cli_list *params)
{
    uint64_t seed = 0; /* checked by cli_sim_run_options */
    cli_u64(s->seed, 0, UINT32_MAX, &seed);
    return (struct cli_session){.sim = s,
                                .own = w ? NULL : own,
                                .subject = {.name = name,
                                            .workload = w,
                                            .desc = own ? &own->desc : NULL,
                                            .compiler = s->compiler,
                                            .quick = s->quick,
                                            .seed = (uint32_t)seed,
                                            .params = params ? params->v : NULL,
                                            .nparams = params ? params->n : 0}};
}

static int
unknown_subject(const struct cli_cmd *cmd, const char *name)
{
    return cli_usage(cmd,
                     "'%s' is neither a workload ('allot list workloads') nor a file%s",
                     name, cli_near_workload(name));
}

int
cli_session_find(const struct cli_cmd *cmd, const struct cli_sim *s, const char *name,
                 struct cli_own *own, const struct cli_list *params,
                 struct cli_session *x)
{
    const struct allot_workload *w = allot_workload_find(name);
    if (!w && subject_kind(name) == SUBJECT_NONE && strcmp(name, "-") &&
        !strchr(name, '/'))
        return unknown_subject(cmd, name);
    if (w && cli_own_given(own))
        return cli_own_misplaced(cmd);
    int status = w ? EXIT_OK : cli_own_ready(cmd, own);
    *x = cli_session_of(s, name, w, own, params);
    return status;
}

int
cli_session_words(const struct cli_cmd *cmd, const struct cli_sim *s,
                  const struct cli_list *words, struct cli_own *own,
                  const struct cli_list *params, struct cli_session *x, bool *program)
{
    const char *name = words->v[0];
    const struct allot_workload *w = allot_workload_find(name);
    *program = subject_kind(name) == SUBJECT_PROGRAM;
    if ((w || *program) && cli_own_given(own))
        return cli_own_misplaced(cmd);
    if (*program && params->n)
        return cli_usage(cmd, "--param belongs to a workload");
    if (words->n != 1 && !*program)
        return cli_usage(cmd, "give one workload, one file, or one program");
    if (!w && access(name, R_OK))
        return unknown_subject(cmd, name);
    *x = cli_session_of(s, name, w, own, params);
    return w || *program ? EXIT_OK : cli_own_ready(cmd, own);
}

bool
cli_session_machine(struct cli_session *x)
{
    x->d = cli_diag_new();
    x->machine = cli_sim_machine(x->sim, x->d);
    return x->machine != NULL;
}

static struct allot_module *
load(const struct cli_session *x, struct allot_diag *d)
{
    const struct subject *s = &x->subject;
    return s->workload ? cli_workload_module(s->workload, s->compiler, d)
                       : subject_module(s, x->machine, d);
}

bool
cli_session_module(struct cli_session *x)
{
    x->mod = load(x, x->d);
    return x->mod != NULL;
}

/* A word as a shell reads it. */
static void
add_word(struct strbuf *b, const char *option, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=:,./@%";
    strbuf_printf(b, " %s%s", option, *option ? " " : "");
    if (*word && !word[strspn(word, plain)]) {
        strbuf_addz(b, word);
        return;
    }
    strbuf_addz(b, "'");
    for (const char *p = word; *p; p++)
        strbuf_printf(b, *p == '\'' ? "'\\''" : "%c", *p);
    strbuf_addz(b, "'");
}

const char *
cli_session_again(const struct cli_session *x)
{
    const struct cli_sim *s = x->sim;
    const struct launch_desc none = {0}, *l = x->own ? &x->own->desc : &none;
    const char *const texts[][2] = {
        {"--kernel", l->kernel}, {"--grid", l->grid},
        {"--block", l->block},   {"--smem", l->scratchpad},
        {"--guard", s->guard},   {"--max-cycles", s->max_cycles}};
    struct strbuf b = {0};
    size_t n;
    const char *const *set = cli_sim_settings(s, &n);
    strbuf_addz(&b, "allot run");
    add_word(&b, "", x->subject.name);
    add_word(&b, "-m", s->machine);
    strbuf_addz(&b, x->subject.workload && s->quick ? " --quick" : "");
    if (strcmp(s->seed, "1") != 0)
        add_word(&b, "--seed", s->seed);
    if (x->subject.workload && strcmp(s->compiler, "clang") != 0)
        add_word(&b, "--compiler", s->compiler);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][1])
            add_word(&b, texts[i][0], texts[i][1]);
    for (size_t i = 0; i < l->nargs; i++)
        add_word(&b, "--arg", l->args[i]);
    for (size_t i = 0; i < x->subject.nparams; i++)
        add_word(&b, "--param", x->subject.params[i]);
    for (size_t i = 0; i < n; i++)
        add_word(&b, "--set", set[i]);
    const char *words = arena_strdup(cli_mem(), b.s);
    strbuf_free(&b);
    return words;
}

/* Holds a file's launch against a module. */
static bool
ready(struct cli_session *x, struct allot_module *mod)
{
    struct subject *s = &x->subject;
    return s->workload || cli_own_read(x->own, mod, s->name, &s->launch);
}

bool
cli_session_device(struct cli_session *x, const struct allot_options *o)
{
    if (cli_session_module(x) && ready(x, x->mod))
        x->dev = cli_sim_device(x->sim, x->machine, o, x->d);
    return x->dev != NULL;
}

bool
cli_session_read(struct cli_session *x)
{
    const char *name = x->subject.name;
    if (x->subject.workload)
        return true;
    x->subject.data = x->data = file_read(name, &x->subject.len);
    if (x->data)
        return true;
    const int error = errno;
    fprintf(stderr, "allot: cannot read %s: %s%s\n", name, strerror(error),
            cli_near_workload(name));
    if (error == ENOENT && !strpbrk(name, "/."))
        cli_misused(); /* neither a file nor a workload */
    return false;
}

static bool
run_on(struct cli_session *x, struct allot_device *dev, struct allot_module *mod,
       struct allot_diag *d)
{
    struct diag_sink diag = {0};
    bool ok = subject_run(&x->subject, dev, mod, x->why, &diag, d);
    cli_sink(&diag);
    return ok;
}

/* The first launch of its kernel. */
static bool
is_first(const struct allot_device *dev, size_t at)
{
    const char *name = allot_result_kernel(allot_result_at(dev, at));
    for (size_t i = 0; i < at; i++)
        if (!strcmp(allot_result_kernel(allot_result_at(dev, i)), name))
            return false;
    return true;
}

/* Of a run with --regs: which kernels are not compiled for so few. Said once. */
static void
tell_regs(const struct cli_session *x)
{
    static bool said;
    struct allot_diag *quiet = cli_diag_new();
    uint64_t asked = 0;
    if (x->sim->regs)
        cli_u64(x->sim->regs, 0, UINT32_MAX, &asked);
    for (size_t i = 0; asked && !said && i < allot_results(x->dev); i++) {
        const char *name = allot_result_kernel(allot_result_at(x->dev, i));
        struct allot_code c;
        if (is_first(x->dev, i) &&
            allot_kernel_code(x->mod, x->machine, name, &c, NULL, 0, quiet) &&
            !c.is_virtual && c.registers + c.reserved > asked)
            fprintf(
                stderr,
                "allot: --regs %llu: kernel %s is not compiled for so few, its code "
                "takes %u; an SM holds as many blocks as if it were (--set "
                "compiler.passes=register-allocate:max-registers=%llu compiles it, if that can be)\n",
                (unsigned long long)asked, cli_kernel_name(name, 0),
                c.registers + c.reserved,
                (unsigned long long)(asked > c.reserved ? asked - c.reserved : 1));
    }
    said |= asked;
    allot_diag_free(quiet);
}

bool
cli_session_run(struct cli_session *x)
{
    const bool ok = run_on(x, x->dev, x->mod, x->d);
    if (ok && !x->sim->functional)
        tell_regs(x);
    return ok;
}

bool
cli_session_try(struct cli_session *x)
{
    return subject_try(&x->subject, x->dev, x->mod, x->why, x->d);
}

bool
cli_session_refused(const struct cli_session *x)
{
    return *x->why && !allot_results(x->dev);
}

int
cli_session_why(const struct cli_cmd *cmd, const struct cli_session *x)
{
    if (*x->why)
        fprintf(stderr, "allot %s: %s: %s\n", cmd->name, x->subject.name, x->why);
    return cli_session_refused(x) ? EXIT_USAGE : *x->why ? EXIT_FAILED : EXIT_OK;
}

double
cli_session_seconds(const struct cli_session *x)
{
    double t = 0;
    for (size_t i = 0; i < allot_results(x->dev); i++)
        t += allot_result_seconds(allot_result_at(x->dev, i));
    return t;
}

bool
cli_session_store(struct cli_session *x, const char *db, bool ok, size_t nsettings,
                  const char *const *settings)
{
    const struct subject *s = &x->subject;
    if (!settings)
        settings = cli_sim_settings(x->sim, &nsettings);
    struct cli_ran ran = {.db = db,
                          .workload = s->name,
                          .own = x->own != NULL,
                          .params = s->params,
                          .nparams = s->nparams,
                          .sim = x->sim,
                          .settings = settings,
                          .nsettings = nsettings,
                          .mod = x->mod,
                          .dev = x->dev,
                          .seconds = cli_session_seconds(x),
                          .ok = ok,
                          .message = ok        ? ""
                                     : *x->why ? x->why
                                               : "did not run to its end"};
    if (x->own)
        ran.params = launch_texts(&s->launch, "", &ran.nparams, cli_mem());
    return cli_store_run(&ran, x->machine);
}

/* -- explaining: modules and devices of its own -- */

static struct allot_module *
host_load(void *user, struct allot_diag *d)
{
    return load(user, d);
}

static bool
host_options(void *user, const char *label, struct allot_options *o)
{
    const struct cli_session *x = user;
    return cli_sim_run_options(x->cmd, x->sim, o, label);
}

static bool
host_ready(void *user, struct allot_module *mod)
{
    return ready(user, mod);
}

static bool
host_run(void *user, struct allot_device *dev, struct allot_module *mod,
         struct allot_diag *d)
{
    struct cli_session *x = user;
    bool ok = run_on(x, dev, mod, d);
    if (!ok && *x->why)
        fprintf(stderr, "allot: %s: check failed: %s\n", x->subject.name, x->why);
    return ok;
}

static json_t *
host_settings(void *user)
{
    const struct cli_session *x = user;
    return cli_sim_json(x->machine, x->sim);
}

struct explain_of
cli_session_explain(struct cli_session *x, const struct cli_cmd *cmd, const char *passes)
{
    const struct launch_desc none = {0}, *l = x->own ? &x->own->desc : &none;
    uint64_t dynamic = 0;
    if (l->scratchpad)
        cli_bytes(l->scratchpad, 0, UINT32_MAX, &dynamic);
    x->cmd = cmd;
    return (struct explain_of){
        .host = {.user = x,
                 .mem = cli_mem(),
                 .diag = cli_diag_new,
                 .show = cli_diag,
                 .stopped = cli_interrupted,
                 .load = host_load,
                 .options = host_options,
                 .ready = host_ready,
                 .run = host_run,
                 .settings = host_settings},
        .machine = x->machine,
        .name = x->subject.name,
        .passes = passes,
        .residency = x->sim->residency,
        .scheduler = x->sim->scheduler,
        .runnable = x->subject.workload || (l->grid && l->block),
        .kernel = l->kernel,
        .block = l->block,
        .dynamic_scratchpad = (uint32_t)dynamic,
    };
}

static void
progress(size_t done, size_t n, const char *last)
{
    cli_progress_line(
        arena_printf(cli_mem(), "%zu of %zu candidates: %s", done, n, last));
}

struct advice_of
cli_session_advise(struct cli_session *x, const struct allot_options *o)
{
    return (struct advice_of){.subject = &x->subject,
                              .mod = x->mod,
                              .machine = x->machine,
                              .machine_name = allot_machine_name(x->machine),
                              .options = *o,
                              .stopped = cli_interrupted,
                              .progress = progress,
                              .mem = cli_mem()};
}

bool
cli_session_advised(struct cli_session *x, const struct advice *a, const char *path)
{
    struct diag_sink diag = {0};
    struct allot_module *fresh = load(x, x->d);
    char *text = fresh ? advice_ptx(a, fresh, x->d) : NULL;
    const bool ok = text && file_put(path, text, strlen(text), stdout, &diag);
    cli_sink(&diag);
    free(text);
    allot_module_free(fresh);
    return ok;
}

void
cli_session_close(struct cli_session *x)
{
    cli_progress_end();
    cli_diag(x->d);
    allot_device_free(x->dev);
    allot_module_free(x->mod);
    allot_machine_free(x->machine);
    allot_diag_free(x->d);
    free(x->data);
}

struct program_setup
cli_program_setup(const struct cli_sim *s, const struct cli_look *l)
{
    size_t n;
    const char *const *settings = cli_sim_settings(s, &n);
    return (struct program_setup){.machine = s->machine,
                                  .settings = settings,
                                  .nsettings = n,
                                  .schedules = s->schedules.v,
                                  .nschedules = s->schedules.n,
                                  .threads = cli_sim_threads(s),
                                  .checks = s->checks,
                                  .functional = s->functional,
                                  .no_skip = s->no_skip,
                                  .max_cycles = s->max_cycles,
                                  .max_instructions = s->max_instructions,
                                  .guard = s->guard,
                                  .trace = l->trace,
                                  .trace_from = l->from,
                                  .trace_to = l->to,
                                  .trace_limit = l->limit,
                                  .timeline = l->timeline,
                                  .timeline_cycles = l->every,
                                  .timeline_sms = l->timeline_sms,
                                  .by_line = cli_look_lines(l)};
}

bool
cli_program_run(const struct cli_cmd *cmd, const struct program_setup *setup,
                const struct cli_list *words, struct program_result *r)
{
    struct strbuf why = {0};
    bool ran = program_run(setup, (char *const *)words->v, r, &why);
    if (!ran)
        fprintf(stderr, "allot %s: %s\n", cmd->name, why.s);
    strbuf_free(&why);
    return ran;
}

bool
cli_program_launches(const struct cli_cmd *cmd, struct program_setup *setup,
                     const struct cli_list *words, struct program_result *r, bool *ran)
{
    setup->discard = true;
    bool started = cli_program_run(cmd, setup, words, r);
    if (started)
        program_report_end(stderr, words->v[0], r, false);
    if (ran)
        *ran = started;
    return started && !program_failure(r, cli_mem());
}

struct program_show
cli_program_show(const struct program_show *want, const char *db,
                 const struct program_result *r)
{
    struct program_show show = *want;
    const char *const files[] = {show.json, show.csv, db};
    if (!r->cut)
        return show;
    fputs("allot exec: the record of launches is cut short (is $TMPDIR full?)\n", stderr);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i])
            fprintf(stderr, "allot exec: %s is not written\n", files[i]);
    show.json = show.csv = NULL;
    return show;
}

bool
cli_program_store(const struct cli_sim *s, const char *db, const struct cli_list *words,
                  const struct program_result *r, const struct allot_machine *m)
{
    if (!db)
        return true;
    const char **args = ARENA_ARRAY(cli_mem(), const char *, words->n);
    const char *failure = program_failure(r, cli_mem());
    for (size_t i = 1; i < words->n; i++)
        args[i - 1] = arena_printf(cli_mem(), "arg=%s", words->v[i]);
    json_t *launches = program_launches(r);
    struct cli_ran ran = {.db = db,
                          .workload = words->v[0],
                          .params = args,
                          .nparams = words->n - 1,
                          .sim = s,
                          .seconds = r->seconds,
                          .ok = !failure,
                          .message = failure ? failure : "",
                          .ptx_hash = program_ptx_hash(r, cli_mem()),
                          .launches = launches};
    ran.settings = cli_sim_settings(s, &ran.nsettings);
    bool ok = cli_store_run(&ran, m);
    json_decref(launches);
    return ok;
}
