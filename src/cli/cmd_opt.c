/* cmd_opt.c: allot opt: PTX in, passes, PTX out. */
#include "advise/explain.h"
#include "cli/own.h"
#include "cli/passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
list_passes(void)
{
    const char *name, *meaning;
    const char *key, *value;
    for (size_t i = 0; allot_pass(i, &name, &meaning); i++) {
        printf("%-24s %s\n", name, meaning);
        for (size_t k = 0; allot_pass_setting(i, k, &key, &value, &meaning); k++)
            printf("  :%s=%-*s %s\n", key, (int)(20 - strlen(key)), value, meaning);
    }
    return EXIT_OK;
}

static const struct cli_cmd cmd = {
    "opt", "[OPTIONS] KERNEL.ptx | WORKLOAD",
    "Reads PTX (a file as for 'allot run', or a workload's), runs passes over it, writes\n"
    "PTX. With no passes it checks the file and prints it in a canonical form. '-' reads\n"
    "standard input.\n"
    "--explain says on standard error what limits the blocks of an SM, which scratchpad\n"
    "variables a pair of blocks would share, and what each pass did and why. Of a workload,\n"
    "or of a kernel whose launch is described (--grid, --block, --arg or --launch, as for\n"
    "'allot run'), it also says what sharing and the passes buy: it runs them.",
    "  allot opt kernel.ptx -o checked.ptx\n"
    "  allot opt kernel.ptx -p cleanup,register-allocate:max-registers=32\n"
    "  allot opt kernel.ptx -p cleanup --time-passes --print-after address-fold\n"
    "  allot opt kernel.ptx -p cleanup --dot-cfg cfg.dot -o out.ptx\n"
    "  allot opt kernel.ptx -p scratchpad-layout,relssp:mode=postdom --explain\n"
    "  allot opt kernel.ptx -p scratchpad-layout,relssp --explain -m 000-table2 \\\n"
    "      --launch launch.yaml -o better.ptx\n"
    "  allot opt backprop -p scratchpad-layout,relssp --explain --json -m 000-table2\n"};

struct job {
    const char *passes, *out, *dot;
    bool strip, explain, json;
    struct pass_look look;
};

/* Passes over mod and the output, with x (NULL: none) told in between. */
static bool
transform(struct job *j, struct allot_module *mod, const struct allot_machine *m,
          uint32_t threads, struct explain *x, struct allot_diag *d)
{
    char *report = NULL, threshold[64] = "0.1";
    allot_machine_get(m, "residency.threshold", threshold, sizeof threshold);
    const char *defaults = arena_printf(cli_mem(), "threshold=%s dynamic=%u threads=%u",
                                        threshold, x ? explain_dynamic(x) : 0, threads);
    struct allot_pass_watch watch;
    bool ok = pass_look_begin(&j->look, mod, &watch, d) &&
              allot_module_opt_watched(mod, m, j->passes, defaults, x ? &report : NULL,
                                       &watch, d) &&
              (!j->strip || allot_module_opt(mod, "strip-extensions", NULL, d));
    pass_look_end(&j->look);
    cli_diag(d);
    allot_diag_clear(d);
    bool told = !ok || !x || explain_tell(x, mod, report, j->json);
    free(report);
    if (ok && j->out) {
        char *text = allot_module_print(mod);
        ok = cli_write_file(j->out, text, strlen(text));
        free(text);
    }
    if (ok && j->dot) {
        char *text = allot_module_dot(mod, NULL, d);
        ok = text && cli_write_file(j->dot, text, strlen(text));
        free(text);
    }
    return ok && told;
}

/* -- how a kernel is read and run -- */

struct subject {
    const struct cli_sim *sim;
    const struct allot_machine *machine; /* sim's */
    const struct allot_workload *workload;
    struct cli_own *own; /* of a file */
    struct launch launch;
    const char *name; /* of the workload or file */
    char *data;       /* of a file, in any form that allot_module_read takes */
    size_t len;
};

static struct allot_module *
load(void *user, struct allot_diag *d)
{
    const struct subject *s = user;
    return s->workload ? cli_workload_module(s->workload, s->sim->compiler, d)
                       : allot_module_read(s->name, s->data, s->len, s->machine, d);
}

static bool
run_options(void *user, const char *label, struct allot_options *o)
{
    const struct subject *s = user;
    return cli_sim_run_options(&cmd, s->sim, o, label);
}

static bool
ready(void *user, struct allot_module *mod)
{
    struct subject *s = user;
    return s->workload || cli_own_read(s->own, mod, s->name, &s->launch);
}

static bool
run(void *user, struct allot_device *dev, struct allot_module *mod, struct allot_diag *d)
{
    struct subject *s = user;
    uint64_t seed = 1; /* checked by cli_sim_run_options */
    char why[256] = "";
    cli_u64(s->sim->seed, 0, UINT32_MAX, &seed);
    bool ok = s->workload ? allot_workload_run(s->workload, dev, mod, s->sim->quick,
                                               (uint32_t)seed, why, d)
                          : cli_own_run(&s->launch, dev, (uint32_t)seed);
    cli_progress_end();
    if (!ok && *why)
        fprintf(stderr, "allot: %s: check failed: %s\n", s->name, why);
    return ok;
}

static json_t *
settings(void *user)
{
    const struct subject *s = user;
    return cli_sim_json(s->machine, s->sim);
}

static struct explain *
explain(struct subject *s, const char *passes)
{
    const struct launch_desc none = {0}, *l = s->own ? &s->own->desc : &none;
    uint64_t dynamic = 0;
    if (l->scratchpad)
        cli_bytes(l->scratchpad, 0, UINT32_MAX, &dynamic);
    return explain_new(&(struct explain_of){
        .host = {.user = s,
                 .mem = cli_mem(),
                 .diag = cli_diag_new,
                 .show = cli_diag,
                 .stopped = cli_interrupted,
                 .load = load,
                 .options = run_options,
                 .ready = ready,
                 .run = run,
                 .settings = settings},
        .machine = s->machine,
        .name = s->name,
        .passes = passes,
        .residency = s->sim->residency,
        .scheduler = s->sim->scheduler,
        .runnable = s->workload || (l->grid && l->block),
        .kernel = l->kernel,
        .block = l->block,
        .dynamic_scratchpad = (uint32_t)dynamic,
    });
}

/* Of the block that the command line gives; 0: none. */
static uint32_t
block_threads(const struct cli_own *own)
{
    uint32_t dims[3];
    if (!own || !own->desc.block || !launch_dims(own->desc.block, dims))
        return 0;
    return dims[0] * dims[1] * dims[2];
}

static bool
opt(struct job *j, const struct cli_sim *s, struct cli_own *own, const char *name)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(s, d);
    const struct allot_workload *w = allot_workload_find(name);
    struct subject of = {
        .sim = s, .machine = m, .workload = w, .own = w ? NULL : own, .name = name};
    struct allot_module *mod = NULL;
    struct explain *x = NULL;
    bool ok = m;
    if (ok && !w) {
        of.data = file_read(name, &of.len);
        ok = of.data;
        if (!ok)
            fprintf(stderr, "allot: cannot read %s: %s%s\n", name, strerror(errno),
                    cli_near_workload(name));
        if (!ok && errno == ENOENT && !strpbrk(name, "/."))
            cli_misused(); /* neither a file nor a workload */
    }
    if (ok)
        mod = load(&of, d);
    ok = mod && (!j->explain || (x = explain(&of, j->passes))) &&
         transform(j, mod, m, x ? explain_threads(x) : block_threads(of.own), x, d);
    cli_diag(d);
    explain_free(x);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    free(of.data);
    return ok;
}

/* Options of a simulation that have no meaning here are left out of the table. */
static void
take_out(struct cli_opt *table)
{
    static const char *const names[] = {"functional", "check-analyses", "no-skip"};
    size_t to = 0;
    for (size_t i = 0; table[i].name; i++) {
        bool keep = true;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            keep &= strcmp(table[i].name, names[k]) != 0;
        if (keep)
            table[to++] = table[i];
    }
    table[to] = (struct cli_opt){0};
}

/* The machine shares what the passes were told, unless it was told itself. False: they
 * were told different things. */
static bool
one_threshold(struct cli_sim *s, const char *passes)
{
    bool given = s->threshold;
    for (const char *p = passes; (p = strstr(p, ":threshold=")); p++) {
        const char *value = p + strlen(":threshold=");
        char *text = arena_strndup(cli_mem(), value, strcspn(value, ":,"));
        if (s->threshold && strtod(s->threshold, NULL) != strtod(text, NULL)) {
            cli_usage(&cmd, "passes are told threshold %s, but %s is %s", text,
                      given ? "--threshold" : "another's", s->threshold);
            return false;
        }
        s->threshold = text;
    }
    return true;
}

int
cmd_opt(int argc, char **argv)
{
    struct job j = {.passes = ""};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    bool list = false;
    const struct cli_opt options[] = {
        {"passes", 'p', "P[,P...]",
         "passes to run, in order; settings behind colons (default: none)", &j.passes,
         NULL, NULL},
        {"output", 'o', "FILE", "where to write (default: standard output)", &j.out, NULL,
         NULL},
        {"strip-extensions", 0, NULL,
         "take out invented instructions (relssp) and power states, so that ptxas reads the output",
         NULL, NULL, &j.strip},
        {"explain", 0, NULL,
         "say on standard error what limits the kernel, what was done "
         "and what it buys",
         NULL, NULL, &j.explain},
        {"json", 0, NULL, "--explain as one JSON object; PTX only with --output", NULL,
         NULL, &j.json},
        PASS_LOOK_OPTIONS(&j.look),
        {"dot-cfg", 0, "FILE",
         "control-flow graphs after the passes, for Graphviz (dot -Tsvg)", &j.dot, NULL,
         NULL},
        {"list-passes", 0, NULL, "names, meanings and settings of all passes", NULL, NULL,
         &list},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], kernel[CLI_OWN_OPTIONS];
    cli_sim_options(&s, sim);
    take_out(sim);
    cli_own_options(&own, kernel);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, sim, kernel, NULL},
                   argc, argv, &pos))
        return EXIT_USAGE;
    if (list)
        return list_passes();
    if (pos.n != 1)
        return cli_usage(&cmd, "give one PTX file or workload");
    if (!pass_names_check(&cmd, j.passes) || !pass_look_check(&cmd, &j.look))
        return EXIT_USAGE;
    if (j.json && !j.explain)
        return cli_usage(&cmd, "--json needs --explain");
    if (!j.out && !j.json && !(j.dot && !strcmp(j.dot, "-")))
        j.out = "-";
    if (j.dot && j.out && !strcmp(j.dot, j.out))
        return cli_usage(&cmd, "--dot-cfg and --output are the same file");
    if (j.json && j.out && !strcmp(j.out, "-"))
        return cli_usage(&cmd, "--json and the PTX cannot both go to standard output");
    if (j.explain && !one_threshold(&s, j.passes))
        return EXIT_USAGE;
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    bool given = cli_own_given(&own);
    if (given && allot_workload_find(pos.v[0]))
        return cli_own_misplaced(&cmd);
    int status = given ? cli_own_check(&cmd, &own) : EXIT_OK;
    if (status)
        return status;
    bool ok = opt(&j, &s, &own, pos.v[0]);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
