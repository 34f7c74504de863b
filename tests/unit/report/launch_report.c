/* launch_report.c: reports of launches, occupancy, figures' files and references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/workload.h"
#include "report/figure_files.h"
#include "report/launch_report.h"
#include "report/occupancy_report.h"
#include "report/reference_report.h"
#include "report/timeline_report.h"
#include "report/why_report.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = ".version 6.0\n.target sm_30\n.address_size 64\n"
                           ".visible .entry k()\n{\n bar.sync 0;\n ret;\n}\n";

struct kit {
    struct allot_diag *d;
    struct allot_machine *m;
    struct allot_device *dev;
    struct allot_module *mod;
    struct diag_sink diag;
    char *out;
    size_t n;
    FILE *f;
};

/* Two launches of three blocks of two warps. */
static void
begin(struct kit *k)
{
    const struct allot_options o = {.per_sm = true, .sample_cycles = 1000000};
    *k = (struct kit){.d = allot_diag_new()};
    k->m = allot_machine_load("gtx480", k->d);
    k->dev = allot_device_new(k->m, &o, k->d);
    k->mod = allot_module_parse("k.ptx", text, sizeof text - 1, k->d);
    const struct allot_launch l = {
        .module = k->mod, .kernel = "k", .grid = {3, 1, 1}, .block = {64, 1, 1}};
    for (int i = 0; i < 2; i++)
        if (!allot_launch(k->dev, &l, k->d))
            fail_msg("%s", allot_diag_text(k->d));
    k->f = open_memstream(&k->out, &k->n);
}

static void
end(struct kit *k)
{
    allot_device_free(k->dev);
    allot_module_free(k->mod);
    allot_machine_free(k->m);
    allot_diag_free(k->d);
    diag_free(&k->diag);
    free(k->out);
}

static size_t
lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static size_t
cells(const char *s)
{
    size_t n = 1;
    for (; *s && *s != '\n'; s++)
        n += *s == ',';
    return n;
}

static void
launches_as_text(void **st)
{
    struct kit k;
    begin(&k);
    const struct launch_report r = {.dev = k.dev,
                                    .machine = k.m,
                                    .name = "k.ptx",
                                    .check = "failed",
                                    .why = "too few",
                                    .energy = true,
                                    .slots = true};
    assert_true(launch_report_text(k.f, &r, &k.diag));
    fclose(k.f);
    assert_int_equal(k.diag.n, 0);
    assert_int_equal(
        strncmp(k.out, "k.ptx on gtx480, scheduler gto, residency baseline\n", 51), 0);
    assert_non_null(strstr(k.out, "\ncheck failed: too few\n"));
    assert_non_null(strstr(k.out, "k: issue slots by cause, %\n"));
    assert_non_null(strstr(k.out, "\nenergy, model gpuwattch, fitted to "));
    end(&k);
}

static void
launches_as_csv_and_json(void **st)
{
    struct kit k;
    begin(&k);
    struct launch_report r = {.dev = k.dev, .machine = k.m, .name = "a,b", .check = ""};
    assert_true(launch_report_csv(k.f, &r, &k.diag));
    fflush(k.f);
    assert_int_equal(lines(k.out), 3);
    size_t n = 0;
    struct allot_stat_info s;
    while (allot_stat(n, &s))
        n++;
    assert_int_equal(cells(k.out), 4 + n);
    /* The name needs quotes, and has a comma itself. */
    assert_int_equal(strncmp(strchr(k.out, '\n'), "\n\"a,b\",gtx480,k,", 16), 0);
    assert_int_equal(cells(strchr(k.out, '\n') + 1), 4 + n + 1);
    fclose(k.f);

    bool ok = true;
    r.energy = r.slots = true;
    json_t *o = launch_report_json(&r, json_object(), &k.diag, &ok), *one;
    assert_true(ok);
    assert_int_equal(json_array_size(json_object_get(o, "kernels")), 2);
    one = json_array_get(json_object_get(o, "kernels"), 1);
    /* 3 blocks x 2 warps x 2 instructions. */
    assert_int_equal(json_integer_value(json_object_get(one, "warp_instructions")), 12);
    assert_int_equal(json_array_size(json_object_get(one, "sms")), 15);
    assert_true(json_object_size(json_object_get(one, "energy")) > 10);
    assert_null(json_object_get(o, "why"));
    json_decref(o);
    end(&k);

    /* By its form, with the options in the object alone. */
    static const char *const begins[] = {"a", "workload,", "{\n"};
    for (enum launch_form form = LAUNCH_TEXT; form <= LAUNCH_JSON; form++) {
        begin(&k);
        r = (struct launch_report){
            .form = form, .dev = k.dev, .machine = k.m, .name = "a", .check = "passed"};
        assert_true(launch_report(k.f, &r, json_pack("{s:s}", "asked", "this"), &k.diag));
        fclose(k.f);
        assert_int_equal(strncmp(k.out, begins[form], strlen(begins[form])), 0);
        assert_int_equal(strstr(k.out, "\"asked\"") != NULL, form == LAUNCH_JSON);
        end(&k);
    }
}

/* Counters that do not add up are said to be allot's fault. */
static void
slots_must_add_up(void **st)
{
    struct kit k;
    begin(&k);
    json_t *launches = json_loads("[{\"name\": \"k\", \"issue_slots\": 10}]", 0, NULL);
    assert_false(why_report_launches(k.f, launches, &k.diag));
    fclose(k.f);
    assert_int_equal(k.diag.errors, 1);
    assert_string_equal(k.diag.list[0]->message,
                        "k, all SMs: causes add up to 0 of 10 issue slots; this is a "
                        "fault of allot");
    json_decref(launches);
    struct strbuf b = {0};
    timeline_report_csv(k.dev, false, &b);
    assert_int_equal(lines(b.s), 3); /* a piece a launch */
    strbuf_free(&b);
    end(&k);
}

/* 001 Table 2.3's SM: 16 KB of scratchpad, 8 blocks. 7200 bytes of a block: two of them, 1984
 * bytes left; a pair at t = 0.1 needs 720 more than a block, so both get a partner. */
static void
occupancy_by_hand(void **st)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("001-table2.3-scratchpad", d);
    const struct allot_occupancy_query q = {128, 0, 7200, "scratchpad", 0.1};
    struct allot_occupancy o;
    struct arena mem = {0};
    char *out;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    assert_non_null(m);
    assert_true(allot_occupancy(m, &q, &o, d));
    occupancy_report_text(m, &q, &o, f);
    fclose(f);
    assert_non_null(strstr(out, "resident blocks    4 (16 warps"));
    assert_non_null(strstr(out, "registers -, scratchpad 4\n"));
    assert_non_null(strstr(
        out, "sharing scratchpad 2 blocks without it; 2 pairs share, 0 blocks do not "));
    free(out);
    json_t *j = occupancy_report_json(m, &q, &o);
    assert_true(json_is_null(json_object_get(j, "by_registers")));
    assert_int_equal(json_integer_value(json_object_get(j, "by_scratchpad")), 4);
    assert_int_equal(json_integer_value(json_object_get(j, "baseline_blocks")), 2);
    assert_int_equal(json_integer_value(json_object_get(j, "scratchpad_wasted")), 1984);
    assert_int_equal(json_integer_value(json_object_get(j, "resident_blocks")), 4);
    json_decref(j);
    struct chart c = occupancy_report_chart(m, &q, OVER_SCRATCHPAD, &mem);
    assert_int_equal(c.nseries, 3); /* without sharing, with it, the kernel itself */
    arena_free(&mem);
    allot_machine_free(m);
    allot_diag_free(d);
}

static void
references_have_all(void **st)
{
    for (size_t i = 0; reference_report_kinds[i]; i++) {
        char *out;
        size_t n;
        FILE *f = open_memstream(&out, &n);
        assert_true(reference_report(reference_report_kinds[i], f));
        fclose(f);
        assert_true(lines(out) > 5);
        free(out);
    }
    size_t workloads = 0, n;
    char *out;
    FILE *f = open_memstream(&out, &n);
    while (allot_workloads[workloads])
        workloads++;
    reference_report("workloads", f);
    assert_false(reference_report("workload", f));
    fclose(f);
    assert_int_equal(lines(out), workloads);
    free(out);
}

static void
files_of_figures(void **st)
{
    static const struct {
        const char *name, *metric, *path;
    } t[] = {{"001/fig2.13", "", "out/001-fig2.13.csv"},
             {"001/fig2.13", "ipc", "out/001-fig2.13-ipc.csv"},
             {"some/where/mine.yaml", "", "out/mine.csv"},
             {"mine.yaml", "", "out/mine.csv"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char *path = figure_files_path("out", t[i].name, t[i].metric, "csv");
        assert_string_equal(path, t[i].path);
        free(path);
    }
    char *kept = figure_files_kept("papers/001/fig2.13.yaml");
    assert_string_equal(kept, "papers/001/results/fig2.13.csv");
    free(kept);
    kept = figure_files_kept("mine.yaml");
    assert_string_equal(kept, "results/mine.csv");
    free(kept);
}

/* A block whose experiment there is not keeps its text and is missing. */
static void
blocks_of_a_page(void **st)
{
    struct figure_blocks b = {0};
    struct strbuf out = {0};
    struct diag_sink diag = {0};
    static const char page[] = "x\n<!-- paper nope/fig1 -->\nold\n<!-- end -->\ny\n";
    assert_true(figure_files_fill("p.md", page, &b, &out, &diag));
    assert_string_equal(out.s, page);
    assert_int_equal(b.missing, 1);
    assert_int_equal(b.stale, 0);
    assert_int_equal(diag.errors, 1);
    assert_int_equal(diag.list[0]->line, 2);
    strbuf_free(&out);
    diag_free(&diag);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_as_text),    cmocka_unit_test(launches_as_csv_and_json),
        cmocka_unit_test(slots_must_add_up),   cmocka_unit_test(occupancy_by_hand),
        cmocka_unit_test(references_have_all), cmocka_unit_test(files_of_figures),
        cmocka_unit_test(blocks_of_a_page),
    };
    setenv("ALLOT_DATA", SOURCE_DIR, 1);
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
