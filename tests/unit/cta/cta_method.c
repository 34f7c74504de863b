/* cta_method.c: methods by their text: what each takes, what it refuses, what it sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cta/method.h"

#include <stdio.h>
#include <string.h>

static bool
parses(const char *text, struct cta_method *m)
{
    struct diag_sink diag = {0};
    const bool ok = cta_method_parse(text, m, &diag);
    assert_int_equal(diag.errors, !ok);
    diag_free(&diag);
    return ok;
}

static void
each_method_takes_its_options(void **state)
{
    static const char *const takes[] = {
        "awss",
        "awss,packer=lmf",
        "awss,packer=iwfd,barriers=change",
        "awss,barriers=every",
        "static",
        "static,packer=lmf",
        "relax,packer=mxf",
        "relax,barriers=suspend,packer=glanf",
        "window",
        "round-robin",
        "round-robin,tlp=1",
        "random,seed=0",
        "random,tlp=4294967295,seed=18446744073709551615"};
    static const char *const refuses[] = {"",
                                          "awsss",
                                          "aws",
                                          "awss,",
                                          "awss,tlp=4",
                                          "awss,packer=mxf",
                                          "awss,packer=",
                                          "awss,packer",
                                          "awss,packex=lmf",
                                          "awss,barriers=never",
                                          "awss,barriersxchange",
                                          "awss,barriers=change2",
                                          "static,barriers=change",
                                          "static,packer=glanf",
                                          "relax,packer=lmf",
                                          "window,packer=lmf",
                                          "window,barriers=change",
                                          "window,tlp=4",
                                          "round-robin,seed=3",
                                          "round-robin,packer=lmf",
                                          "round-robin,barriers=change",
                                          "round-robin,tlp=0",
                                          "round-robin,tlp=4294967296",
                                          "round-robin,tlq=1",
                                          "random,seed=18446744073709551616",
                                          "random,seed=-1",
                                          "random,seee=1"};
    struct cta_method m;
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (!parses(takes[i], &m))
            fail_msg("refused: %s", takes[i]);
    for (size_t i = 0; i < sizeof refuses / sizeof *refuses; i++)
        if (parses(refuses[i], &m))
            fail_msg("taken: %s", refuses[i]);
}

/* An option of 63 characters is read, of 64 not. */
static void
an_option_has_at_most_63_characters(void **state)
{
    char text[128];
    struct cta_method m;
    snprintf(text, sizeof text, "random,seed=%058d", 7);
    assert_int_equal(strlen(strchr(text, ',') + 1), 63);
    assert_true(parses(text, &m));
    assert_int_equal(m.seed, 7);
    snprintf(text, sizeof text, "random,seed=%059d", 7);
    assert_false(parses(text, &m));
}

static void
what_an_option_sets(void **state)
{
    struct cta_method m;
    assert_true(parses("awss", &m));
    assert_null(m.packer);
    assert_int_equal(m.barriers, CTA_BARRIER_SUSPEND);
    assert_int_equal(m.tlp, 0);
    assert_true(parses("awss,barriers=change,packer=iwfd", &m));
    assert_int_equal(m.barriers, CTA_BARRIER_CHANGE);
    assert_ptr_equal(m.packer, packer_find("iwfd"));
    assert_true(parses("awss,barriers=every", &m));
    assert_int_equal(m.barriers, CTA_BARRIER_EVERY);
    assert_true(parses("random,tlp=12,seed=34", &m));
    assert_int_equal(m.tlp, 12);
    assert_int_equal(m.seed, 34);
    assert_true(cta_is_method("random,nothing"));
    assert_false(cta_is_method("rand,tlp=4"));
}

static void
a_misspelt_method_is_near_one(void **state)
{
    static const char *const rows[][2] = {
        {"awsd", "awss"},      {"statik", "static"}, {"relaxx", "relax"},
        {"windows", "window"}, {"randon", "random"}, {"round-robbin", "round-robin"},
        {"greedy", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *near = cta_near_method(rows[i][0]);
        if (rows[i][1])
            assert_string_equal(near, rows[i][1]);
        else
            assert_null(near);
    }
}

static uint64_t
sum_of(void *user, const uint32_t *blocks, size_t n)
{
    (void)user;
    (void)blocks;
    return 4 * n;
}

/* Ten blocks of size 4, a cache of 10, six at once: two fit. */
static void
each_method_makes_its_schedule(void **state)
{
    static const uint64_t size[10] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    const struct cta_problem p = {.blocks = 10,
                                  .size = size,
                                  .capacity = 10,
                                  .max_tlp = 6,
                                  .cps = 0.1,
                                  .together = sum_of};
    static const struct {
        const char *text;
        uint32_t steps, tlp; /* of the last */
        enum cta_barriers barriers;
        bool sizes;
    } rows[] = {{"awss", 5, 2, CTA_BARRIER_SUSPEND, true},
                {"awss,barriers=every", 5, 2, CTA_BARRIER_EVERY, true},
                {"static", 5, 2, CTA_BARRIER_SUSPEND, true},
                {"relax", 4, 3, CTA_BARRIER_SUSPEND, true},
                {"window", 1, 2, CTA_BARRIER_CHANGE, true},
                {"round-robin", 1, 6, CTA_BARRIER_CHANGE, false},
                {"round-robin,tlp=6", 1, 6, CTA_BARRIER_CHANGE, false},
                {"round-robin,tlp=7", 1, 6, CTA_BARRIER_CHANGE, false},
                {"round-robin,tlp=5", 1, 5, CTA_BARRIER_CHANGE, false},
                {"random,tlp=3,seed=2", 1, 3, CTA_BARRIER_CHANGE, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cta_method m;
        assert_true(parses(rows[i].text, &m));
        assert_int_equal(cta_method_needs_sizes(&m), rows[i].sizes);
        struct cta_schedule *s = cta_method_schedule(&m, p);
        if (s->nsteps != rows[i].steps || s->step[s->nsteps - 1].tlp != rows[i].tlp ||
            s->barriers != rows[i].barriers)
            fail_msg("%s: %u steps, TLP %u, barriers %d", rows[i].text, s->nsteps,
                     s->step[s->nsteps - 1].tlp, (int)s->barriers);
        bool in_order = true;
        for (uint32_t b = 0; b < 10; b++)
            in_order &= s->order[b] == b;
        if (!strncmp(rows[i].text, "random", 6))
            assert_false(in_order);
        else if (!rows[i].sizes)
            assert_true(in_order);
        cta_schedule_free(s);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_method_takes_its_options),
        cmocka_unit_test(an_option_has_at_most_63_characters),
        cmocka_unit_test(what_an_option_sets),
        cmocka_unit_test(a_misspelt_method_is_near_one),
        cmocka_unit_test(each_method_makes_its_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
