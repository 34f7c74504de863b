/* cta_text.c: schedules as text: what is written is read, what is wrong has its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cta/schedule_text.h"
#include "cta/search.h"
#include "unit/kit/random_kit.h"

#include <string.h>

static struct cta_schedule *
parse(const char *text, struct diag_sink *diag)
{
    return cta_schedule_parse("s.txt", text, strlen(text), diag);
}

static void
a_schedule_is_read(void **state)
{
    struct diag_sink diag = {0};
    struct cta_schedule *s = parse("# by hand\n"
                                   "allot-schedule 1\r\n"
                                   "\n"
                                   "blocks 7   # of the launch\n"
                                   "barriers every\n"
                                   "step 2: 6 0\n"
                                   "  step 3 : 1-3 5 4",
                                   &diag);
    assert_non_null(s);
    static const uint32_t order[] = {6, 0, 1, 2, 3, 5, 4};
    assert_int_equal(s->blocks, 7);
    assert_int_equal(s->nsteps, 2);
    assert_int_equal(s->barriers, CTA_BARRIER_EVERY);
    assert_memory_equal(s->order, order, sizeof order);
    assert_int_equal(s->step[0].tlp, 2);
    assert_int_equal(s->step[0].n, 2);
    assert_int_equal(s->step[1].first, 2);
    assert_int_equal(s->step[1].tlp, 3);
    assert_int_equal(s->step[1].n, 5);
    cta_schedule_free(s);
    diag_free(&diag);
}

static void
what_is_written_is_read(void **state)
{
    uint64_t size[200], seed = 3;
    for (int round = 0; round < 200; round++) {
        struct cta_problem p = {.blocks = (uint32_t)random_in(&seed, 1, 200),
                                .size = size,
                                .capacity = 100,
                                .max_tlp = 12,
                                .cps = 0.1,
                                .relaxed = round & 1};
        for (uint32_t i = 0; i < p.blocks; i++)
            size[i] = random_in(&seed, 1, 60);
        struct cta_schedule *s = cta_search(&p), *t;
        s->barriers = (enum cta_barriers)(round % 3);
        if (round & 4)
            s->kernel = xstrdup("of_4$x");
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        cta_schedule_print(s, "of a test", &b);
        t = parse(b.s, &diag);
        assert_non_null(t);
        assert_int_equal(t->blocks, s->blocks);
        assert_int_equal(t->nsteps, s->nsteps);
        assert_int_equal(t->barriers, s->barriers);
        if (s->kernel)
            assert_string_equal(t->kernel, s->kernel);
        else
            assert_null(t->kernel);
        assert_memory_equal(t->order, s->order, s->blocks * sizeof *s->order);
        assert_memory_equal(t->step, s->step, s->nsteps * sizeof *s->step);
        strbuf_free(&b);
        cta_schedule_free(s);
        cta_schedule_free(t);
        diag_free(&diag);
    }
}

#define HEAD "allot-schedule 1\nblocks 4\n"

static void
what_is_wrong_has_its_line(void **state)
{
    static const struct {
        const char *text;
        unsigned line, col;
        const char *says;
    } wrong[] = {
        {"", 0, 1, "how many blocks"},
        {"schedule 1\n", 1, 1, "no schedule"},
        {"allot-schedule 2\n", 1, 16, "version"},
        {"allot-schedule 1\nstep 2: 0\n", 2, 1, "not known yet"},
        {"allot-schedule 1\nblocks 0\n", 2, 8, "0 is not in"},
        {"allot-schedule 1\nblocks 99999999999\n", 2, 8, "99999999999 is not in"},
        {HEAD "blocks 4\n", 3, 1, "already"},
        {HEAD "step 2: 0 1 2 3 4\n", 3, 17, "4 is not in 0 to 3"},
        {HEAD "step 2: 0 1\nstep 2: 2 1 3\n", 4, 11, "block 1 is in the schedule twice"},
        {HEAD "step 2: 0 1\nstep 1: 3\n", 4, 1, "1 of 4 blocks are missing, block 2"},
        {HEAD "step 0: 0-3\n", 3, 6, "0 is not in"},
        {HEAD "step 2 0-3\n", 3, 8, "colon"},
        {HEAD "step 2: 0-3x\n", 3, 12, "no number of a block"},
        {HEAD "step 2: 3-0\n", 3, 11, "0 is not in 3 to 3"},
        {HEAD "step 2: a\n", 3, 9, "a number is missing"},
        {HEAD "step 2:\n", 3, 8, "no blocks"},
        {HEAD "barriers never\n", 3, 10, "'change', 'every' or 'suspend'"},
        {HEAD "step 4: 0-3\nbarriers every\n", 4, 1, "before the steps"},
        {HEAD "kernel\n", 3, 7, "name of a kernel"},
        {HEAD "kernel a-b\n", 3, 9, "name of a kernel"},
        {HEAD "kernel a\nkernel b\n", 4, 1, "'kernel' comes once"},
        {HEAD "stop 4: 0-3\n", 3, 1, "unknown line 'stop'"},
        {HEAD "steps 4: 0-3\n", 3, 1, "unknown line 'steps'"},
        {HEAD "block5 4\n", 3, 1, "unknown line 'block5'"},
        {HEAD "kernal k\n", 3, 1, "unknown line 'kernal'"},
        {HEAD "barrierz every\n", 3, 1, "unknown line 'barrierz'"},
        {HEAD "allot-schedule 1\n", 3, 1, "unknown line 'allot-schedule'"},
        {HEAD "a23456789b123456789c123456789d1234567890x\n", 3, 1,
         "unknown line 'a23456789b123456789c123456789d1234567890'"},
        {"allot-scheduler 1\n", 1, 1, "no schedule"},
        {"allot-schedulf 1\n", 1, 1, "no schedule"},
        {"allot-schedule 0\n", 1, 16, "0 is not in 1 to 1"},
        {"allot-schedule 1 1\n", 1, 18, "more on the line"},
        {"allot-schedule 1\n", 1, 1, "how many blocks"},
        {HEAD "barriers every every\n", 3, 16, "more on the line"},
        {HEAD "barriers every\nbarriers every\n", 4, 1, "'barriers' comes once"},
        {HEAD "step 4: 0-3\nkernel k\n", 4, 1, "'kernel' comes once"},
        {HEAD "kernel k k\n", 3, 10, "more on the line"},
        {HEAD "step 4294967297: 0-3\n", 3, 6, "4294967297 is not in 1 to"},
        {HEAD "step 2: 0 4-5\n", 3, 11, "4 is not in 0 to 3"},
        {HEAD "step 2: 0 3-4\n", 3, 13, "4 is not in 3 to 3"},
        {HEAD "step 2: 1-\n", 3, 11, "a number is missing"},
        /* 20 digits of a number are said, of 21 the first 20 */
        {"allot-schedule 1\nblocks 1234567890123456789\n", 2, 8,
         "blocks: 1234567890123456789 is not in"},
        {"allot-schedule 1\nblocks 12345678901234567890\n", 2, 8,
         "blocks: 12345678901234567890 is not in"},
        {"allot-schedule 1\nblocks 123456789012345678901\n", 2, 8,
         "blocks: 12345678901234567890 is not in"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct diag_sink diag = {0};
        assert_null(parse(wrong[i].text, &diag));
        assert_int_equal(diag.errors, 1);
        const struct diag *d = diag.list[0];
        if (!strstr(d->message, wrong[i].says) || d->line != wrong[i].line ||
            d->col != wrong[i].col || strcmp(d->file, "s.txt"))
            fail_msg("%s: %u:%u: %s", wrong[i].text, d->line, d->col, d->message);
        diag_free(&diag);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_is_read),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_wrong_has_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
