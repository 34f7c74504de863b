/* advise_candidates.c: the table of candidates: every row is something that the machine
 * takes, each policy has a row, settings join, and what is best never loses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/advice.h"
#include "passes/pass.h"
#include "timing/policy/regpower/regpower.h"

#include <stdlib.h>
#include <string.h>

static struct allot_machine *
machine(const char *name)
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load(name, d);
    if (!m)
        fail_msg("%s", allot_diag_text(d));
    allot_diag_free(d);
    return m;
}

static struct candidate
single(const char *name)
{
    const struct candidate_row *r;
    for (size_t i = 0; (r = candidates_row(i)); i++)
        if (!strcmp(r->id, name))
            return (struct candidate){
                .row = r, .name = r->id, .settings = r->settings, .group = r->group};
    fail_msg("there is no row %s", name);
    return (struct candidate){0};
}

/* Settings with a value in the place of {}. */
static const char *
filled(const char *settings, struct arena *mem)
{
    const char *at = strstr(settings, "{}");
    return at ? arena_printf(mem, "%.*s2%s", (int)(at - settings), settings, at + 2)
              : settings;
}

static void
machines_take_each_row(void **st)
{
    static const char *const names[] = {"gtx480", "a100", "titan", "000-table2"};
    struct arena mem = {0};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct allot_machine *m = machine(names[n]);
        const struct candidate_row *r;
        for (size_t i = 0; (r = candidates_row(i)); i++) {
            struct allot_diag *d = allot_diag_new();
            struct candidate c = single(r->id);
            c.settings = filled(c.settings, &mem);
            struct allot_machine *with = candidates_machine(&c, m, d);
            if (!with)
                fail_msg("%s on %s: %s", r->id, names[n], allot_diag_text(d));
            assert_true(*r->cost && *r->cannot);
            allot_machine_free(with);
            allot_diag_free(d);
        }
        allot_machine_free(m);
    }
    arena_free(&mem);
    (void)st;
}

static bool
some_row_says(const char *setting)
{
    const struct candidate_row *r;
    for (size_t i = 0; (r = candidates_row(i)); i++) {
        const char *at = strstr(r->settings, setting);
        const size_t n = strlen(setting);
        if (at && (!at[n] || at[n] == '+'))
            return true;
    }
    return false;
}

static void
each_policy_has_a_row(void **st)
{
    static const struct {
        const char *kind, *setting;
        bool plain; /* the first is what machines have without it */
    } kinds[] = {{"residency", "residency.policy", true},
                 {"schedulers", "sm.scheduler", false}};
    char text[128];
    const char *name, *meaning;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = kinds[k].plain; allot_policy(kinds[k].kind, i, &name, &meaning);
             i++) {
            snprintf(text, sizeof text, "%s=%s", kinds[k].setting, name);
            if (!some_row_says(text))
                fail_msg("no candidate has %s", text);
        }
    for (size_t i = 1; regpower_at(i); i++) {
        snprintf(text, sizeof text, "regpower.policy=%s", regpower_at(i)->name);
        if (!some_row_says(text))
            fail_msg("no candidate has %s", text);
    }
    (void)st;
}

static void
is_list(const char *const *got, size_t n, const char *const *want)
{
    for (size_t i = 0; i < n; i++)
        assert_string_equal(got[i], want[i]);
    assert_null(want[n]);
}

static void
settings_join(void **st)
{
    struct arena mem = {0};
    struct allot_machine *m = machine("gtx480");
    struct candidate layout = single("scratchpad-sharing-relssp"),
                     merge = single("merge-blocks"), greener = single("greener"),
                     registers = single("register-sharing"), pair;
    size_t n;
    assert_true(allot_machine_set(m, "compiler.passes", "dead-code", NULL));
    /* Passes join in the order of the table, after the machine's own, whoever is asked first. */
    for (int turned = 0; turned < 2; turned++) {
        assert_true(turned ? candidates_pair(&layout, &merge, &pair, &mem)
                           : candidates_pair(&merge, &layout, &pair, &mem));
        assert_string_equal(pair.name, "merge-blocks + scratchpad-sharing-relssp");
        assert_int_equal(pair.group, ADVISE_HARDWARE);
        const char *const *s = candidates_settings(&pair, m, &n, &mem);
        is_list(s, n,
                (const char *const[]){
                    "compiler.passes=dead-code,merge-blocks,scratchpad-layout,relssp",
                    "residency.policy=scratchpad-sharing", "sm.scheduler=owf", NULL});
    }
    assert_true(candidates_pair(&registers, &greener, &pair, &mem));
    const char *const *s = candidates_settings(&pair, m, &n, &mem);
    is_list(s, n,
            (const char *const[]){"residency.policy=register-sharing", "sm.scheduler=owf",
                                  "compiler.late_passes=reorder-registers,power-states",
                                  "regpower.policy=greener", NULL});
    /* One setting has one value; of a row there is one candidate; nothing is made of pairs. */
    assert_false(candidates_pair(&registers, &layout, &pair, &mem));
    assert_false(candidates_pair(&merge, &merge, &pair, &mem));
    assert_true(candidates_pair(&merge, &greener, &pair, &mem));
    assert_false(candidates_pair(&pair, &layout, &pair, &mem));
    /* Two passes that hand out registers. */
    struct candidate unified = single("unified-auto"), target = single("register-target");
    target.settings = filled(target.settings, &mem);
    assert_false(candidates_pair(&unified, &target, &pair, &mem));
    allot_machine_free(m);
    arena_free(&mem);
    (void)st;
}

/* -- what is best -- */

static struct advice_row
row(const char *name, uint64_t cycles, double joules, enum trial_state state)
{
    return (struct advice_row){
        .candidate = single(name),
        .trial = {.state = state, .cycles = cycles, .all = cycles, .joules = joules}};
}

static struct advice
advice(struct advice_row *r, size_t n)
{
    return (struct advice){
        .original = {.state = TRIAL_DONE, .cycles = 1000, .all = 1000, .joules = 1},
        .row = r,
        .nrow = n};
}

static void
what_loses_is_never_best(void **st)
{
    struct advice_row r[] = {row("vtb", 995, 1, TRIAL_DONE), /* +0.5 % */
                             row("co-vtb", 1200, 0.5, TRIAL_DONE),
                             row("unified-auto", 500, 0.5, TRIAL_WRONG),
                             row("unified", 500, 0.5, TRIAL_FAILED),
                             row("carve-out", 500, 0.5, TRIAL_SLOWER),
                             row("merge-blocks", 500, 0.5, TRIAL_NOTHING),
                             row("vtb-pipe", 0, 0, TRIAL_NOT_TRIED),
                             row("greener", 900, 0.9, TRIAL_DONE)};
    struct advice a = advice(r, sizeof r / sizeof *r);
    struct advice_best b = advice_choose(&a, ADVISE_CARD);
    assert_null(b.time);
    assert_null(b.energy);
    b = advice_choose(&a, ADVISE_HARDWARE);
    assert_ptr_equal(b.time, &r[7]);
    assert_null(b.energy); /* the same one */
    (void)st;
}

static void
energy_that_costs_no_speed(void **st)
{
    struct advice_row r[] = {
        row("vtb", 900, 1.1, TRIAL_DONE), row("co-vtb", 1005, 0.8, TRIAL_DONE),
        row("unified-auto", 1011, 0.5, TRIAL_DONE)}; /* 1.1 % slower */
    struct advice a = advice(r, sizeof r / sizeof *r);
    struct advice_best b = advice_choose(&a, ADVISE_CARD);
    assert_ptr_equal(b.time, &r[0]);
    assert_ptr_equal(b.energy, &r[1]);
    (void)st;
}

static void
a_pair_is_better_than_both(void **st)
{
    struct arena mem = {0};
    struct advice_row r[] = {
        row("vtb", 800, 1, TRIAL_DONE),
        row("unified-auto", 900, 1, TRIAL_DONE),
        {.trial = {.state = TRIAL_DONE, .cycles = 795, .joules = 1}}};
    struct advice a = advice(r, sizeof r / sizeof *r);
    assert_true(candidates_pair(&r[0].candidate, &r[1].candidate, &r[2].candidate, &mem));
    struct advice_best b = advice_choose(&a, ADVISE_CARD);
    assert_ptr_equal(b.time, &r[0]); /* 25 % and 25.8 % */
    r[2].trial.cycles = 790;
    b = advice_choose(&a, ADVISE_CARD);
    assert_ptr_equal(b.time, &r[2]); /* 26.6 % */
    arena_free(&mem);
    (void)st;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_take_each_row),
        cmocka_unit_test(each_policy_has_a_row),
        cmocka_unit_test(settings_join),
        cmocka_unit_test(what_loses_is_never_best),
        cmocka_unit_test(energy_that_costs_no_speed),
        cmocka_unit_test(a_pair_is_better_than_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
