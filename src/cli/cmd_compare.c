/* cmd_compare.c: allot compare: workloads under several variants; the first is the
 * reference. */
#include "cli/cli.h"
#include "cli/energy.h"
#include "cli/own.h"
#include "cli/runs.h"
#include "cli/variants.h"

#include "base/diag.h"
#include "program/program.h"
#include "report/chart.h"
#include "report/compare_report.h"
#include "report/program_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is compared: a workload, a kernel of one's own (own), or a program with arguments
 * (words). */
struct subject {
    const char *name;
    const struct allot_workload *workload;
    const struct cli_own *own;
    const char *const *words;
};

/* Blank-separated list contains the name; an empty list contains all. */
static bool
counts(const char *kernels, const char *name)
{
    size_t n = strlen(name);
    if (!kernels || !*kernels)
        return true;
    for (const char *p = kernels; (p = strstr(p, name)); p += n)
        if ((p == kernels || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return false;
}

/* False: the energies of a launch do not add up. */
static bool
sum(struct compare_cell *c, const struct subject *w, const struct allot_device *dev,
    const struct allot_machine *m)
{
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        if (w->workload && !counts(w->workload->kernels, allot_result_kernel(r)))
            continue;
        uint64_t v;
        const struct {
            const char *id;
            uint64_t *to;
        } add[] = {{"cycles", &c->cycles},
                   {"warp_instructions", &c->warp},
                   {"thread_instructions", &c->thread}},
          max[] = {{"resident_blocks", &c->blocks},
                   {"shared_pairs", &c->pairs},
                   {"baseline_blocks", &c->baseline}};
        for (size_t k = 0; k < 3; k++) {
            if (allot_result_get(r, add[k].id, &v, NULL))
                *add[k].to += v;
            if (allot_result_get(r, max[k].id, &v, NULL) && v > *max[k].to)
                *max[k].to = v;
        }
        c->seconds += allot_result_seconds(r);
        struct energy e;
        ok &= cli_energy(r, m, &e);
        energy_add(&c->energy, &e);
    }
    c->ipc = c->cycles ? (double)c->thread / (double)c->cycles : 0;
    return ok;
}

static bool
store_cell(const struct cli_sim *s, const char *db, const struct cli_list *params,
           const struct subject *w, const struct variant *v, const struct compare_cell *c,
           const char *why, const struct allot_machine *m, struct allot_module *mod,
           const struct allot_device *dev, struct launch *l)
{
    struct cli_ran ran = {.db = db,
                          .workload = w->name,
                          .own = w->own,
                          .params = params->v,
                          .nparams = params->n,
                          .sim = s,
                          .seconds = c->seconds,
                          .ok = c->ok,
                          .message = c->ok  ? ""
                                     : *why ? why
                                            : "did not run to its end"};
    ran.settings = variant_settings(s, v, &ran.nsettings);
    if (w->own)
        ran.params = launch_texts(l, "", &ran.nparams, cli_mem());
    ran.mod = mod;
    ran.dev = dev;
    return cli_store_run(&ran, m);
}

/* A program, all its launches; what it prints is left out. */
static bool
run_words(const struct cli_sim *s, const struct subject *w, const struct variant *v,
          struct compare_cell *c)
{
    struct program_setup setup = {.machine = s->machine,
                                  .threads = cli_sim_threads(s),
                                  .no_skip = s->no_skip,
                                  .max_cycles = s->max_cycles,
                                  .max_instructions = s->max_instructions,
                                  .guard = s->guard,
                                  .all = true,
                                  .discard = true};
    struct program_result r;
    struct strbuf why = {0};
    json_t *one;
    size_t i;
    setup.settings = variant_settings(s, v, &setup.nsettings);
    bool ran = program_run(&setup, (char *const *)w->words, &r, &why);
    if (!ran)
        fprintf(stderr, "allot compare: %s\n", why.s);
    else
        program_report_end(stderr, w->name, &r, false);
    c->ran = ran && !cli_interrupted();
    c->ok = ran && !program_failure(&r, cli_mem());
    json_array_foreach(r.all, i, one)
    {
        const struct {
            const char *id;
            uint64_t *to;
            bool most;
        } add[] = {{"cycles", &c->cycles, false},
                   {"warp_instructions", &c->warp, false},
                   {"thread_instructions", &c->thread, false},
                   {"resident_blocks", &c->blocks, true},
                   {"shared_pairs", &c->pairs, true},
                   {"baseline_blocks", &c->baseline, true}};
        for (size_t k = 0; k < sizeof add / sizeof *add; k++) {
            uint64_t x = (uint64_t)json_integer_value(json_object_get(one, add[k].id));
            if (!add[k].most)
                *add[k].to += x;
            else if (x > *add[k].to)
                *add[k].to = x;
        }
        c->seconds += json_number_value(json_object_get(one, "seconds"));
    }
    c->ipc = c->cycles ? (double)c->thread / (double)c->cycles : 0;
    if (ran && !json_array_size(r.all)) {
        fprintf(stderr, "allot compare: %s launched no kernel\n", w->name);
        c->ok = false;
    }
    program_result_free(&r);
    strbuf_free(&why);
    return c->ok;
}

static bool
run_cell(const struct cli_cmd *cmd, const struct cli_sim *s, const char *db,
         const struct cli_list *params, const struct subject *w, const struct variant *v,
         struct compare_cell *c)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_options o;
    char label[96];
    snprintf(label, sizeof label, "%s %s", w->name, v->name);
    uint64_t seed = 0; /* checked by cmd_compare */
    struct launch l;
    struct allot_machine *m = NULL;
    struct allot_module *mod = NULL;
    struct allot_device *dev = NULL;
    bool ready = cli_u64(s->seed, 0, UINT32_MAX, &seed) &&
                 cli_sim_run_options(cmd, s, &o, label) && (m = cli_sim_machine(s, d)) &&
                 variant_apply(m, v, d);
    if (ready && w->words) {
        ready = run_words(s, w, v, c);
    } else if (ready) {
        mod = w->own ? allot_module_load_for(w->name, m, d)
                     : cli_workload_module(w->workload, s->compiler, d);
        ready = mod && (!w->own || cli_own_read(w->own, mod, w->name, &l)) &&
                (dev = cli_sim_device(s, m, &o, d));
    }
    if (ready && dev) {
        char why[256] = "";
        c->ran = true;
        struct strbuf b = {0};
        for (size_t i = 0; i < params->n; i++)
            strbuf_printf(&b, "%s%s", i ? " " : "", params->v[i]);
        c->ok = w->own ? cli_own_run(&l, dev, (uint32_t)seed)
                       : allot_workload_run_with(w->workload, dev, mod, s->quick,
                                                 (uint32_t)seed, b.s, why, d);
        strbuf_free(&b);
        cli_progress_end();
        if (!c->ok && cli_interrupted())
            c->ran = false;
        else if (!c->ok)
            fprintf(stderr, "allot: %s under %s: %s%s\n", w->name, v->name,
                    *why ? "check failed: " : "did not run to its end", why);
        c->ok &= sum(c, w, dev, m);
        if (c->ran)
            ready = store_cell(s, db, params, w, v, c, why, m, mod, dev, &l);
    }
    cli_diag(d);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return ready && c->ok;
}

static bool
ends_in(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n > k && !strcmp(s + n - k, tail);
}

/* What the words of the command line are. */
static int
subjects(const struct cli_cmd *cmd, const struct cli_list *pos, struct cli_own *kernel,
         bool needs_device, struct subject *w)
{
    const char *first = pos->v[0];
    struct stat st;
    bool known = allot_workload_find(first), file = !known && !stat(first, &st),
         program = file && S_ISREG(st.st_mode) && !access(first, X_OK) &&
                   !ends_in(first, ".ptx");
    *w = (struct subject){.name = first};
    if (program) {
        const char **words = ARENA_ARRAY(cli_mem(), const char *, pos->n + 1);
        memcpy(words, pos->v, pos->n * sizeof *words);
        words[pos->n] = NULL;
        w->words = words;
        return cli_own_given(kernel) ? cli_own_misplaced(cmd)
               : needs_device
                   ? cli_usage(cmd,
                               "--db and --energy: not of programs; see 'allot exec'")
                   : EXIT_OK;
    }
    if (file || (!known && ends_in(first, ".ptx"))) {
        w->own = kernel;
        return pos->n > 1 ? cli_usage(cmd, "one kernel of your own at a time")
                          : cli_own_ready(cmd, kernel);
    }
    for (size_t i = 0; i < pos->n; i++) {
        w[i] = (struct subject){.name = pos->v[i],
                                .workload = allot_workload_find(pos->v[i])};
        if (!w[i].workload && strchr(pos->v[i], '/'))
            return cli_usage(cmd, "there is no file '%s'", pos->v[i]);
        if (!w[i].workload)
            return cli_usage(
                cmd, "no workload is called '%s'%s\n('allot list workloads' names them)",
                pos->v[i], cli_near_workload(pos->v[i]));
    }
    return cli_own_given(kernel) ? cli_own_misplaced(cmd) : EXIT_OK;
}

/* What is shown of the cells. */
struct shown {
    bool json, energy, opt_tlp, values;
    const char *chart;
};

/* The command's status. */
static int
show(const struct shown *o, const struct compare_cell *cells, const struct subject *w,
     size_t nw, const struct variant *v, size_t nv, const struct cli_sim *s, bool ok)
{
    const char **subject = ARENA_ARRAY(cli_mem(), const char *, nw),
               **variant = ARENA_ARRAY(cli_mem(), const char *, nv);
    for (size_t i = 0; i < nw; i++)
        subject[i] = w[i].name;
    for (size_t k = 0; k < nv; k++)
        variant[k] = v[k].name;
    const struct compare t = {.nsubject = nw,
                              .nvariant = nv,
                              .subject = subject,
                              .variant = variant,
                              .cell = cells,
                              .machine = s->machine,
                              .quick = s->quick,
                              .checked = !w[0].own};
    if (o->json) {
        json_t *all = compare_report_json(&t, o->energy);
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        printf("\n");
        json_decref(all);
    } else {
        compare_report_text(&t, stdout);
        if (o->opt_tlp)
            compare_report_best(&t, stdout);
        if (o->energy)
            compare_report_energy(&t, stdout);
    }
    if (o->chart && !cli_interrupted()) {
        struct diag_sink diag = {0};
        bool drawn = compare_report_chart(&t, o->chart, o->values, &diag);
        cli_sink(&diag);
        if (drawn)
            fprintf(stderr, "chart: %s\n", o->chart);
        ok &= drawn;
    }
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}

int
cmd_compare(int argc, char **argv)
{
    const struct cli_cmd cmd = {
        "compare", "[OPTIONS] WORKLOAD... | KERNEL.ptx | [--] PROGRAM [ARGUMENTS]",
        "Simulates each workload under each variant, checks every result, and prints\n"
        "resident blocks, cycles, IPC and the speed-up (cycles) over the first variant.\n"
        "The same for a kernel of your own, described as for 'allot run', and for a CUDA\n"
        "program, run as by 'allot exec' (all its launches; what it prints is left out).\n"
        "--scheduler, --residency and --set hold for all variants, then the variant's own.",
        "  allot compare backprop srad_v2_24 -m 000-table2 --chart gain.svg\n"
        "  allot compare matmul --variants baseline,big:l1d.sets=64\n"
        "  allot compare saxpy.ptx --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32 \\\n"
        "      --arg buf:1024xf32 --arg 1024 --variants baseline,shared-lrr\n"
        "  allot compare -m a100 --variants baseline,big:l1d.sets=64 -- ./app 1000\n"
        "  allot compare euler -m 004-table1-fermi --schedule awss --schedule relax "
        "--opt-tlp\n"};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    const char *text = NULL, *chart = NULL, *db = NULL;
    bool json = false, list = false, energy = false, values = false, opt_tlp = false;
    struct cli_list params = {0};
    const struct cli_opt own[] = {
        {"variants", 'v', "A,B,...",
         "what to compare (default unshared-lrr,shared-lrr,shared-owf; with --schedule "
         "round-robin and what it names)",
         &text, NULL, NULL},
        {"opt-tlp", 0, NULL,
         "also round robin with 1, 2, ... blocks an SM at most, and which is best (004: "
         "OptTLP)",
         NULL, NULL, &opt_tlp},
        {"param", 'P', "NAME=VALUE", "a parameter of the workloads (their READMEs)", NULL,
         &params, NULL},
        {"list-variants", 0, NULL, "the named variants", NULL, NULL, &list},
        {"energy", 0, NULL, "energy by component too (docs/energy.md)", NULL, NULL,
         &energy},
        {"chart", 'c', "FILE", "chart of the speed-ups: .svg, .pdf, .png or .txt", &chart,
         NULL, NULL},
        {"values", 0, NULL, "... with the values on its bars", NULL, NULL, &values},
        {"db", 0, "FILE", "store the results there (see 'allot results')", &db, NULL,
         NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], launch[CLI_OWN_OPTIONS];
    struct cli_own kernel = {0};
    cli_sim_options(&s, sim);
    cli_own_options(&kernel, launch);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, own, launch, NULL}, argc,
                   argv, &pos))
        return EXIT_USAGE;
    if (list) {
        variants_list();
        return EXIT_OK;
    }
    if (!pos.n)
        return cli_usage(&cmd, "name at least one workload ('allot list workloads')");
    if (s.functional)
        return cli_usage(&cmd, "--functional has no timing to compare");
    if (!cli_sim_methods(&cmd, &s, text ? 1 : MAX_VARIANTS - 2))
        return EXIT_USAGE;
    if (db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store keeps methods of scheduling, no files");
    if (text && opt_tlp)
        return cli_usage(&cmd, "--opt-tlp or --variants, not both");
    struct variant v[MAX_VARIANTS];
    int nv = text ? variants_parse(text, v, &cmd)
             : s.schedules.n || s.methods.n || opt_tlp
                 ? variants_of_schedules(&s, opt_tlp, v, &cmd)
                 : variants_parse("unshared-lrr,shared-lrr,shared-owf", v, &cmd);
    if (nv < 0)
        return EXIT_USAGE;
    struct subject *w = ARENA_ARRAY(cli_mem(), struct subject, pos.n);
    int status = subjects(&cmd, &pos, &kernel, db || energy, w);
    if (status)
        return status;
    if (w[0].words)
        pos.n = 1;
    if (params.n && (w[0].words || w[0].own))
        return cli_usage(&cmd, "--param: only workloads have parameters");
    struct allot_options checked;
    if (!cli_sim_run_options(&cmd, &s, &checked, ""))
        return EXIT_USAGE;
    if (chart && !chart_format(chart))
        return cli_usage(
            &cmd, "--chart %s: the name must end in .svg, .pdf, .png or .txt", chart);
    if (values && !chart)
        return cli_usage(&cmd, "--values: on the bars of which chart? (--chart)");
    if ((chart && !cli_writable(chart)) || !cli_store_ready(db))
        return EXIT_FAILED;
    struct compare_cell *cells =
        ARENA_ARRAY(cli_mem(), struct compare_cell, pos.n * (size_t)nv);
    bool ok = true;
    for (size_t i = 0; i < pos.n * (size_t)nv && !cli_interrupted(); i++)
        ok &= run_cell(&cmd, &s, db, &params, &w[i / (size_t)nv], &v[i % (size_t)nv],
                       &cells[i]);
    return show(&(struct shown){.json = json,
                                .energy = energy,
                                .opt_tlp = opt_tlp,
                                .values = values,
                                .chart = chart},
                cells, w, pos.n, v, (size_t)nv, &s, ok);
}
