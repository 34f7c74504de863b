/* look.c: see look.h. */
#include "cli/look.h"

#include "report/lines_report.h"
#include "report/timeline_report.h"

#include <stdlib.h>
#include <string.h>

int
cli_look_check(const struct cli_cmd *cmd, const struct cli_look *l, bool functional,
               struct allot_options *o)
{
    const struct cli_look unsaid = CLI_LOOK_DEFAULTS;
    if (!l->trace && (l->to || strcmp(l->from, unsaid.from) != 0 ||
                      strcmp(l->limit, unsaid.limit) != 0))
        return cli_usage(cmd,
                         "--trace-from, --trace-to, --trace-limit: of which --trace?");
    if (!l->timeline && strcmp(l->every, unsaid.every) != 0)
        return cli_usage(cmd, "--timeline-cycles: of which --timeline?");
    if (l->why && functional)
        return cli_usage(cmd, "--why: issue slots need the cycle model");
    o->per_sm = l->why;
    o->by_line = cli_look_lines(l);
    if (o->by_line && functional)
        return cli_usage(cmd, "--by-line, --lines: issue slots need the cycle model");
    if (l->lines && !lines_report_format(l->lines))
        return cli_usage(cmd,
                         "--lines %s: the name ends in none of .csv, .json, .callgrind, "
                         ".speedscope.json",
                         l->lines);
    if (l->lines && !cli_writable(l->lines))
        return EXIT_FAILED;
    if (l->trace) {
        if (functional)
            return cli_usage(cmd, "--trace: time needs the cycle model");
        if (!cli_u64(l->from, 0, UINT64_C(1) << 60, &o->trace_from))
            return cli_usage(cmd, "--trace-from %s: not a cycle", l->from);
        if (l->to && !cli_u64(l->to, o->trace_from + 1, UINT64_C(1) << 60, &o->trace_to))
            return cli_usage(cmd, "--trace-to %s: not a cycle after %s", l->to, l->from);
        if (!cli_u64(l->limit, 1, 100000000, &o->trace_limit))
            return cli_usage(cmd, "--trace-limit %s: not a number from 1 to 100000000",
                             l->limit);
        if (!cli_writable(l->trace))
            return EXIT_FAILED;
    }
    if (!l->timeline)
        return l->timeline_sms
                   ? cli_usage(cmd,
                               "--timeline-sms adds lines to --timeline's file; which?")
                   : EXIT_OK;
    if (functional)
        return cli_usage(cmd, "--timeline: time needs the cycle model");
    if (!cli_u64(l->every, 1, UINT64_C(1) << 40, &o->sample_cycles))
        return cli_usage(cmd, "--timeline-cycles %s: not a positive number", l->every);
    o->sample_sms = l->timeline_sms;
    return cli_writable(l->timeline) ? EXIT_OK : EXIT_FAILED;
}

static bool
write_trace(const struct allot_device *dev, const char *path)
{
    size_t n;
    struct allot_trace_cut cut;
    char *text = allot_trace(dev, &n, &cut);
    bool ok = text && cli_write_file(path, text, n);
    free(text);
    if (ok && cut.full)
        fprintf(
            stderr,
            "allot: %s is full from cycle %llu of launch %llu on: later events are left "
            "out; choose a window (--trace-from, --trace-to) or raise --trace-limit\n",
            path, (unsigned long long)cut.cycle, (unsigned long long)cut.launch);
    return ok;
}

/* The device's launches as objects for cli_look_show_lines. */
static json_t *
launches_of(const struct allot_device *dev)
{
    json_t *all = json_array();
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        char *text = allot_result_lines_text(r);
        json_t *o = json_object();
        json_object_set_new(o, "name", json_string(allot_result_kernel(r)));
        json_object_set_new(o, "lines", json_loads(text, 0, NULL));
        json_array_append_new(all, o);
        free(text);
    }
    return all;
}

bool
cli_look_show_lines(const struct cli_look *l, FILE *f, json_t *launches)
{
    bool ok = true;
    struct strbuf b = {0};
    json_t *kernels = lines_report_kernels(launches);
    if (l->by_line)
        lines_report_text(f, kernels);
    if (l->lines) {
        lines_report_format(l->lines)(kernels, &b);
        ok = cli_write_file(l->lines, b.s ? b.s : "", b.n);
    }
    strbuf_free(&b);
    json_decref(kernels);
    json_decref(launches);
    return ok;
}

bool
cli_look_write(const struct cli_look *l, const struct allot_device *dev, FILE *show)
{
    bool ok = !l->trace || write_trace(dev, l->trace);
    if (cli_look_lines(l))
        ok &= cli_look_show_lines(l, show, launches_of(dev));
    struct strbuf b = {0};
    if (l->timeline) {
        timeline_report_csv(dev, l->timeline_sms, &b);
        ok &= cli_write_file(l->timeline, b.s, b.n);
    }
    strbuf_free(&b);
    return ok;
}
