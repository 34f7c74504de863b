/* cli.c: option tables, settings from options, variants, launches described on the command
 * line. What is wrong is said on standard error: the tests look at the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/look.h"
#include "cli/own.h"
#include "cli/passes.h"
#include "cli/session.h"
#include "cli/variants.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_cmd cmd = {"test", "[OPTIONS] WORD...", "about", NULL};

struct parsed {
    const char *text;
    struct cli_list list, pos;
    bool flag;
};

static bool
parse(struct parsed *p, bool program, int argc, char **argv)
{
    const struct cli_opt first[] = {{"text", 't', "X", "", &p->text, NULL, NULL}, {0}},
                         second[] = {{"list", 0, "Y", "", NULL, &p->list, NULL},
                                     {"flag", 'f', NULL, "", NULL, NULL, &p->flag},
                                     {0}};
    memset(p, 0, sizeof *p);
    return (program ? cli_parse_program : cli_parse)(
        &cmd, (const struct cli_opt *const[]){first, second, NULL}, argc, argv, &p->pos);
}
#define PARSE(p, program, ...)                                                           \
    parse(p, program, sizeof((char *[]){"test", __VA_ARGS__}) / sizeof(char *),          \
          (char *[]){"test", __VA_ARGS__, NULL})

static void
options_of_joined_tables(void **st)
{
    struct parsed p;
    assert_true(PARSE(&p, false, "a", "--list", "1", "-f", "--text=x", "b", "--list=2",
                      "-t", "y"));
    assert_string_equal(p.text, "y"); /* the last counts */
    assert_true(p.flag);
    assert_int_equal(p.list.n, 2); /* all count, in order */
    assert_string_equal(p.list.v[0], "1");
    assert_string_equal(p.list.v[1], "2");
    assert_int_equal(p.pos.n, 2);
    assert_string_equal(p.pos.v[1], "b");

    assert_false(PARSE(&p, false, "--nope"));
    assert_false(PARSE(&p, false, "--text"));
    assert_false(PARSE(&p, false, "--flag=1"));
    assert_false(PARSE(&p, false, "-x"));

    /* A program's options are its own. */
    assert_true(PARSE(&p, true, "-f", "./app", "-t", "--list"));
    assert_true(p.flag && !p.text && !p.list.n);
    assert_int_equal(p.pos.n, 3);
    assert_string_equal(p.pos.v[1], "-t");
}

static void
numbers_are_whole_and_in_range(void **st)
{
    uint64_t v = 7;
    double f = 7;
    assert_true(cli_u64("0x10", 0, 16, &v) && v == 16);
    assert_false(cli_u64("17", 0, 16, &v));
    assert_false(cli_u64("16 ", 0, 99, &v));
    assert_false(cli_u64("-1", 0, UINT64_MAX, &v));
    assert_true(cli_bytes("48K", 0, 1 << 20, &v) && v == 49152);
    assert_false(cli_bytes("2M", 0, 1 << 20, &v));
    assert_true(cli_f64("-2.5e-1", &f) && f == -0.25);
    assert_false(cli_f64("1x", &f) || cli_f64("", &f) || cli_f64("inf", &f) ||
                 cli_f64("1e999", &f));
}

static void
options_leave_a_table(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_opt t[CLI_SIM_OPTIONS];
    cli_sim_options(&s, t);
    size_t n = 0, left = 0;
    while (t[n].name)
        n++;
    assert_true(n > 10 && n < CLI_SIM_OPTIONS);
    cli_leave_out(t, (const char *const[]){"quick", "nothing", "machine"}, 3);
    for (; t[left].name; left++)
        assert_true(strcmp(t[left].name, "quick") && strcmp(t[left].name, "machine"));
    assert_int_equal(left, n - 2);
}

static void
expect(const char *const *v, size_t n, const char *const *want)
{
    for (size_t i = 0; i < n; i++) {
        assert_non_null(want[i]);
        assert_string_equal(v[i], want[i]);
    }
    assert_null(want[n]);
}

/* --set comes last: it may overrule what an option says. */
static void
settings_in_the_order_of_application(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    size_t n;
    s.scheduler = "lrr";
    s.passes = "cleanup";
    s.no_schedule = true;
    s.set = (struct cli_list){(const char *[]){"sm.count=2", "sm.scheduler=gto"}, 2};
    s.schedules = (struct cli_list){(const char *[]){"awss", SOURCE_DIR "/README.md"}, 2};
    assert_true(cli_sim_methods(&cmd, &s, 1));
    assert_int_equal(s.schedules.n, 1);
    assert_string_equal(s.schedules.v[0], SOURCE_DIR "/README.md");
    const char *const *v = cli_sim_settings(&s, &n);
    expect(v, n,
           (const char *const[]){"sm.scheduler=lrr", "compiler.passes=cleanup",
                                 "compiler.cleanup=cleanup", "cta.order=schedule",
                                 "cta.schedule=awss", "sm.count=2", "sm.scheduler=gto",
                                 NULL});
    struct allot_diag *d = allot_diag_new();
    s.passes = NULL;
    s.no_schedule = false;
    struct allot_machine *m = cli_sim_machine(&s, d);
    char b[32] = "";
    assert_non_null(m);
    assert_true(allot_machine_get(m, "sm.scheduler", b, sizeof b));
    assert_string_equal(b, "gto");
    allot_machine_free(m);
    s.set = (struct cli_list){(const char *[]){"sm.count"}, 1};
    assert_null(cli_sim_machine(&s, d));
    allot_diag_free(d);
}

static void
two_methods_are_refused(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    s.schedules = (struct cli_list){(const char *[]){"awss", "relax"}, 2};
    assert_false(cli_sim_methods(&cmd, &s, 1));
    s = (struct cli_sim)CLI_SIM_DEFAULTS;
    s.schedules = (struct cli_list){(const char *[]){"awss", "relax"}, 2};
    assert_true(cli_sim_methods(&cmd, &s, 2));
    s = (struct cli_sim)CLI_SIM_DEFAULTS;
    s.schedules = (struct cli_list){(const char *[]){"awss,nothing=1"}, 1};
    assert_false(cli_sim_methods(&cmd, &s, 2));
}

static void
variants_by_name_and_by_hand(void **st)
{
    struct variant v[MAX_VARIANTS];
    struct cli_sim s = CLI_SIM_DEFAULTS;
    size_t n;
    assert_int_equal(variants_parse("unshared-lrr,mine:l1d.sets=64+sm.count=1", v, &cmd),
                     2);
    assert_string_equal(v[0].settings, "residency.policy=baseline+sm.scheduler=lrr");
    assert_string_equal(v[1].name, "mine");
    s.residency = "scratchpad-sharing";
    const char *const *all = variant_settings(&s, &v[1], &n);
    expect(all, n,
           (const char *const[]){"residency.policy=scratchpad-sharing", "l1d.sets=64",
                                 "sm.count=1", NULL});
    assert_int_equal(variants_parse("nope", v, &cmd), -1);
    assert_int_equal(variants_parse("", v, &cmd), -1);

    /* gtx480: 15 SMs of up to 8 blocks; so 8 variants beside round robin and the method. */
    s.methods = (struct cli_list){(const char *[]){"awss"}, 1};
    s.residency = NULL;
    assert_int_equal(variants_of_schedules(&s, true, v, &cmd), 10);
    assert_string_equal(v[0].name, "round-robin");
    assert_string_equal(v[1].settings, "cta.order=schedule+cta.schedule=awss");
    assert_string_equal(v[2].name, "tlp=15");
    assert_string_equal(v[9].name, "tlp=120");
    assert_int_equal(s.methods.n, 0);
}

static void
launches_of_a_file(void **st)
{
    struct cli_own o = {0};
    assert_false(cli_own_given(&o));
    assert_int_equal(cli_own_threads(&o), 0);
    assert_int_equal(cli_own_ready(&cmd, &o), EXIT_USAGE);
    o.desc.grid = "4";
    assert_true(cli_own_given(&o));
    assert_int_equal(cli_own_check(&cmd, &o), EXIT_USAGE); /* and the block? */
    o.desc.block = "16,4x2";
    assert_int_equal(cli_own_ready(&cmd, &o), EXIT_OK);
    assert_int_equal(cli_own_threads(&o), 128);
    o.desc.scratchpad = "17M";
    assert_int_equal(cli_own_ready(&cmd, &o), EXIT_USAGE);
    o.desc.scratchpad = "16K";
    assert_int_equal(cli_own_ready(&cmd, &o), EXIT_OK);
    o.desc.grid = "0";
    assert_int_equal(cli_own_ready(&cmd, &o), EXIT_USAGE);
}

static void
looks_need_time_and_numbers(void **st)
{
    struct allot_options o = {0};
    struct cli_look l = CLI_LOOK_DEFAULTS;
    assert_int_equal(cli_look_check(&cmd, &l, true, &o), EXIT_OK);
    l.why = true;
    assert_int_equal(cli_look_check(&cmd, &l, true, &o), EXIT_USAGE);
    assert_int_equal(cli_look_check(&cmd, &l, false, &o), EXIT_OK);
    l.trace = "/tmp/allot-unit-trace.json";
    l.from = "100";
    l.to = "100"; /* before the first */
    assert_int_equal(cli_look_check(&cmd, &l, false, &o), EXIT_USAGE);
    l.to = "101";
    assert_int_equal(cli_look_check(&cmd, &l, false, &o), EXIT_OK);
    assert_true(o.trace_from == 100 && o.trace_to == 101 && o.trace_limit == 400000);
    l = (struct cli_look)CLI_LOOK_DEFAULTS;
    l.timeline_sms = true; /* of which timeline? */
    assert_int_equal(cli_look_check(&cmd, &l, false, &o), EXIT_USAGE);
}

/* Passes and machine are told one threshold. */
static void
one_threshold(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    assert_true(pass_threshold(&cmd, &s, "cleanup"));
    assert_null(s.threshold);
    assert_true(pass_threshold(&cmd, &s, "scratchpad-layout:threshold=0.2,relssp"));
    assert_string_equal(s.threshold, "0.2");
    s.threshold = "0.20"; /* the same number */
    assert_true(pass_threshold(&cmd, &s, "scratchpad-layout:threshold=0.2"));
    assert_false(pass_threshold(&cmd, &s, "a:threshold=0.2,b:threshold=0.3"));
    assert_true(pass_names_check(&cmd, NULL));
    assert_true(pass_names_check(&cmd, "cleanup,relssp:mode=postdom"));
    assert_false(pass_names_check(&cmd, "cleanupp"));
    assert_false(pass_names_check(&cmd, "relssp:nothing=1"));
}

static void
subjects_by_their_word(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct cli_session x;
    assert_int_equal(subject_kind("vecadd"), SUBJECT_WORKLOAD);
    assert_int_equal(subject_kind("not/there.ptx"), SUBJECT_PTX);
    assert_int_equal(subject_kind(SOURCE_DIR "/README.md"), SUBJECT_PTX);
    assert_int_equal(subject_kind("/bin/sh"), SUBJECT_PROGRAM);
    assert_int_equal(subject_kind("vecad"), SUBJECT_NONE);

    s.seed = "9";
    assert_int_equal(cli_session_find(&cmd, &s, "vecadd", &own, NULL, &x), EXIT_OK);
    assert_true(x.subject.workload && !x.own && x.subject.seed == 9);
    assert_int_equal(cli_session_find(&cmd, &s, "vecad", &own, NULL, &x), EXIT_USAGE);
    own.desc.grid = own.desc.block = "1";
    assert_int_equal(cli_session_find(&cmd, &s, "vecadd", &own, NULL, &x), EXIT_USAGE);
    assert_int_equal(cli_session_find(&cmd, &s, "a.ptx", &own, NULL, &x), EXIT_OK);
    assert_true(!x.subject.workload && x.own == &own);
}

/* A session from the machine to the results, and its end after a failure. */
static void
session_runs_a_workload(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct allot_options o;
    s.quick = true;
    assert_true(cli_sim_check(&cmd, &s, NULL, "t", &o));
    struct cli_session x =
        cli_session_of(&s, "vecadd", allot_workload_find("vecadd"), NULL, NULL);
    assert_true(cli_session_machine(&x) && cli_session_device(&x, &o));
    assert_true(cli_session_run(&x));
    assert_int_equal(allot_results(x.dev), 1);
    assert_true(cli_session_seconds(&x) > 0);
    cli_session_close(&x);

    struct cli_list wrong = {(const char *[]){"nothing=1"}, 1};
    x = cli_session_of(&s, "vecadd", allot_workload_find("vecadd"), NULL, &wrong);
    assert_true(cli_session_machine(&x) && cli_session_device(&x, &o));
    assert_false(cli_session_run(&x));
    assert_true(*x.why && !allot_results(x.dev));
    cli_session_close(&x);

    s.machine = "nowhere";
    x = cli_session_of(&s, "vecadd", allot_workload_find("vecadd"), NULL, NULL);
    assert_false(cli_session_machine(&x));
    cli_session_close(&x);
}

/* Cells subject by subject, the baseline first; one that is refused ends it. */
static void
variants_are_run(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct variant v[MAX_VARIANTS];
    const char *subjects[] = {"vecadd", "saxpy"};
    s.quick = true;
    assert_int_equal(variants_choose(&s, "few:sm.count=1,many:sm.count=8", true, v, &cmd),
                     -1); /* --opt-tlp and --variants */
    assert_int_equal(variants_choose(&s, "bad:sm.count=none", false, v, &cmd), -1);
    assert_int_equal(variants_choose(&s, NULL, false, v, &cmd), 3);
    assert_int_equal(
        variants_choose(&s, "few:sm.count=1,many:sm.count=8", false, v, &cmd), 2);
    struct variant_job j = {.cmd = &cmd, .sim = &s};
    struct compare t = {.nsubject = 1, .nvariant = 2, .subject = subjects};
    bool refused;
    assert_true(variants_run(&j, v, &t, &refused) && !refused);
    assert_string_equal(t.variant[1], "many");
    assert_true(t.cell[0].ok && t.cell[1].ok);
    assert_int_equal(t.cell[0].warp, t.cell[1].warp);
    assert_true(t.cell[0].cycles > 2 * t.cell[1].cycles);

    j.params = (struct cli_list){(const char *[]){"nothing=1"}, 1};
    assert_false(variants_run(&j, v, &t, &refused));
    assert_true(refused && t.cell[0].refused && !t.cell[0].ran);
    assert_true(!t.cell[1].refused && !t.cell[1].ran); /* not tried */
}

static void
words_of_a_working_set(void **st)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct cli_session x;
    struct cli_list params = {0}, w = {(const char *[]){"vecadd", "more"}, 1};
    bool program;
    assert_int_equal(cli_session_words(&cmd, &s, &w, &own, &params, &x, &program), 0);
    assert_true(x.subject.workload && !program);
    w.n = 2;
    assert_int_equal(cli_session_words(&cmd, &s, &w, &own, &params, &x, &program), 2);
    w.v[0] = "/bin/sh"; /* its arguments are its own */
    assert_int_equal(cli_session_words(&cmd, &s, &w, &own, &params, &x, &program), 0);
    assert_true(program);
    own.desc.grid = own.desc.block = "1";
    assert_int_equal(cli_session_words(&cmd, &s, &w, &own, &params, &x, &program), 2);
    w = (struct cli_list){(const char *[]){SOURCE_DIR "/README.md"}, 1};
    assert_int_equal(cli_session_words(&cmd, &s, &w, &own, &params, &x, &program), 0);
    assert_true(!program && x.own == &own);
    w.v[0] = "nosuch.ptx";
    assert_int_equal(cli_session_words(&cmd, &s, &w, &own, &params, &x, &program), 2);
}

static void
options_that_do_not_go_together(void **st)
{
    struct allot_options o;
    struct cli_sim s = CLI_SIM_DEFAULTS;
    s.functional = true;
    assert_true(cli_sim_check(&cmd, &s, NULL, "t", &o));
    assert_false(cli_sim_check(&cmd, &s, "a.db", "t", &o));
    s.schedules = (struct cli_list){(const char *[]){"awss"}, 1};
    assert_false(cli_sim_check(&cmd, &s, NULL, "t", &o));
    s = (struct cli_sim)CLI_SIM_DEFAULTS;
    s.schedules = (struct cli_list){(const char *[]){SOURCE_DIR "/README.md"}, 1};
    assert_false(cli_sim_check(&cmd, &s, "a.db", "t", &o));
    s = (struct cli_sim)CLI_SIM_DEFAULTS;
    s.seed = "x";
    assert_false(cli_sim_check(&cmd, &s, NULL, "t", &o));
    s = (struct cli_sim)CLI_SIM_DEFAULTS;
    s.check = "race,nothing";
    assert_false(cli_sim_check(&cmd, &s, NULL, "t", &o));
    s = (struct cli_sim)CLI_SIM_DEFAULTS;
    s.check = "race,sync";
    assert_true(cli_sim_check(&cmd, &s, NULL, "t", &o));
    assert_true(o.functional && o.checks == (ALLOT_CHECK_RACE | ALLOT_CHECK_SYNC));
}

static void
commands_by_name(void **st)
{
    assert_non_null(cli_command_find("run"));
    assert_null(cli_command_find("runn"));
    assert_string_equal(cli_summary("runn"), "");
    assert_true(strlen(cli_summary("run")) > 10);
}

static int
forget(void **st)
{
    arena_free(cli_mem());
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_joined_tables),
        cmocka_unit_test(numbers_are_whole_and_in_range),
        cmocka_unit_test(options_leave_a_table),
        cmocka_unit_test(settings_in_the_order_of_application),
        cmocka_unit_test(two_methods_are_refused),
        cmocka_unit_test(variants_by_name_and_by_hand),
        cmocka_unit_test(launches_of_a_file),
        cmocka_unit_test(looks_need_time_and_numbers),
        cmocka_unit_test(one_threshold),
        cmocka_unit_test(subjects_by_their_word),
        cmocka_unit_test(session_runs_a_workload),
        cmocka_unit_test(variants_are_run),
        cmocka_unit_test(words_of_a_working_set),
        cmocka_unit_test(options_that_do_not_go_together),
        cmocka_unit_test(commands_by_name),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, NULL, forget);
}
