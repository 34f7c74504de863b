/* stats.c: merging, identities, look-up and the outputs of counters, against sums made
 * here. */
#include "stats/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The structs are arrays of uint64_t, in the order of the rows of their owner. */
static void
fill(void *s, size_t bytes, uint64_t first)
{
    for (size_t i = 0; i < bytes / 8; i++)
        ((uint64_t *)s)[i] = first + i * i;
}

static void
test_merge(void **state)
{
    struct stat_sm a, b, c;
    struct stat_mem ma, mb;
    struct stat_gpu g;
    fill(&a, sizeof a, 1000);
    fill(&b, sizeof b, 77);
    fill(&c, sizeof c, 500);
    fill(&ma, sizeof ma, 3);
    fill(&mb, sizeof mb, 9);
    fill(&g, sizeof g, 11);
    struct launch_stats t = {0};
    stats_add_sm(&t, &a);
    stats_add_sm(&t, &b);
    stats_add_sm(&t, &c);
    stats_add_mem(&t, &ma);
    stats_add_mem(&t, &mb);
    stats_add_gpu(&t, &g);
    struct allot_stat_info s;
    size_t at[3] = {0};
    for (size_t i = 0; i < STAT_COUNTERS; i++) {
        assert_true(stats_info(i, &s));
        int o = !strcmp(s.owner, "gpu") ? 0 : !strcmp(s.owner, "sm") ? 1 : 2;
        size_t k = at[o]++;
        uint64_t want[3] = {11 + k * k, 1577 + 3 * k * k, 12 + 2 * k * k};
        uint64_t most[3] = {11 + k * k, 1000 + k * k, 9 + k * k};
        bool max = !strcmp(s.kind, "max");
        assert_true(max || !strcmp(s.kind, "count"));
        uint64_t count;
        double value;
        assert_true(stats_get(&t, s.id, &count, &value));
        if (count != (max ? most : want)[o])
            fail_msg("%s: %llu", s.id, (unsigned long long)count);
        assert_true(value == (double)count);
        assert_true(stats_at(&t, (enum stat_id)i) == count);
        assert_int_equal(stats_find(s.id), i);
    }
    assert_int_equal(at[0] * 8, sizeof g);
    assert_int_equal(at[1] * 8, sizeof a);
    assert_int_equal(at[2] * 8, sizeof ma);

    struct launch_stats two = t;
    stats_add(&two, &t);
    for (size_t i = 0; i < STAT_COUNTERS; i++) {
        stats_info(i, &s);
        assert_true(stats_at(&two, (enum stat_id)i) ==
                    stats_at(&t, (enum stat_id)i) * (strcmp(s.kind, "max") ? 2 : 1));
    }
}

static void
test_max(void **state)
{
    struct stat_gpu a = {.resident_blocks = 6, .cycles = 10},
                    b = {.resident_blocks = 8, .cycles = 5},
                    c = {.resident_blocks = 3, .cycles = 1};
    struct launch_stats t = {0};
    stats_add_gpu(&t, &a);
    stats_add_gpu(&t, &b);
    stats_add_gpu(&t, &c);
    assert_int_equal(t.gpu.resident_blocks, 8);
    assert_int_equal(t.gpu.cycles, 16);
}

/* A launch whose counters add up as far as the identities of issue slots and cycles ask.
 */
static struct launch_stats
sound(void)
{
    struct launch_stats t = {0};
    t.gpu.cycles = 100;
    t.gpu.sm_cycles = 1500;
    t.gpu.blocks = t.sm.blocks_run = 32;
    t.sm.warp_instructions = 1200;
    t.sm.thread_instructions = 38000;
    t.sm.issue_slots = 3000;
    t.sm.issue_used = 1200;
    t.sm.issue_stall = 300;
    t.sm.issue_lock = 1;
    t.sm.issue_scoreboard = 999;
    t.sm.issue_barrier = 200;
    t.sm.issue_fetch = 100;
    t.sm.issue_empty = 200;
    t.sm.active_cycles = 900;
    t.sm.stall_cycles = 400;
    t.sm.idle_cycles = 200;
    return t;
}

static bool
complains(const struct launch_stats *t, const char *word)
{
    struct diag_sink d = {0};
    bool ok = stats_check(t, &d), found = false;
    assert_true(ok == (d.errors == 0));
    for (size_t i = 0; i < d.n; i++)
        found |= strstr(d.list[i]->message, word) != NULL;
    diag_free(&d);
    return found;
}

static void
test_identities(void **state)
{
    struct launch_stats t = sound();
    assert_false(complains(&t, "every scheduler cycle has one cause"));
    assert_false(complains(&t, "every SM cycle is"));
    assert_false(complains(&t, "every block of the grid"));
    t.sm.issue_lock++;
    assert_true(complains(&t, "every scheduler cycle has one cause"));
    assert_true(complains(&t, "issue_slots = 3000, but"));
    assert_true(complains(&t, "= 3001"));
    assert_false(complains(&t, "every SM cycle is"));
    t = sound();
    t.sm.blocks_run = 31;
    t.sm.idle_cycles = 0;
    struct diag_sink d = {0};
    assert_false(stats_check(&t, &d));
    assert_true(d.errors >= 2); /* each, not only the first */
    bool spelt = false;
    for (size_t i = 0; i < d.n; i++)
        spelt |= d.list[i]->hint && strstr(d.list[i]->hint, "sm_cycles = 1500") &&
                 strstr(d.list[i]->hint, "stall_cycles = 400");
    assert_true(spelt);
    diag_free(&d);
    struct launch_stats zero = {0};
    assert_true(stats_check(&zero, &d)); /* an empty launch adds up */
    diag_free(&d);
}

static void
test_derived(void **state)
{
    struct launch_stats t = sound();
    uint64_t count = 99;
    double value;
    assert_true(stats_get(&t, "ipc", &count, &value));
    assert_true(value == 380 && count == 0);
    assert_true(stats_get(&t, "warp_ipc", NULL, &value));
    assert_true(value == 12);
    t.gpu.cycles = 0;
    assert_true(stats_get(&t, "ipc", NULL, &value));
    assert_true(value == 0); /* and not infinite */
    assert_true(stats_get(&t, "ipc", NULL, NULL));
    assert_false(stats_get(&t, "no_such_counter", &count, &value));
    assert_false(stats_get(&t, "", &count, &value));
    assert_int_equal(stats_find("no_such_counter"), -1);
}

static void
test_info(void **state)
{
    struct allot_stat_info a, b;
    size_t n = 0, derived = 0;
    for (; stats_info(n, &a); n++) {
        assert_true(strlen(a.id) > 0 && strlen(a.meaning) > 3 && a.unit);
        derived += a.derived;
        assert_int_equal(a.derived, n >= STAT_COUNTERS);
        for (size_t k = 0; k < n; k++) { /* ids are unique, derived ones included */
            stats_info(k, &b);
            assert_string_not_equal(a.id, b.id);
        }
        for (const char *p = a.id; *p; p++) /* a column name anywhere */
            assert_true((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') ||
                        *p == '_');
    }
    assert_true(n > 20 && derived >= 2);
    assert_int_equal(n - derived, STAT_COUNTERS);
    assert_false(stats_info((size_t)-1, &a));
}

static void
test_outputs_agree(void **state)
{
    struct launch_stats t = sound();
    t.sm.thread_instructions = UINT64_C(9007199254740993); /* 2^53 + 1: not a double */
    struct strbuf head = {0}, row = {0}, text = {0};
    stats_csv_header(&head);
    stats_csv_row(&t, &row);
    stats_text(&t, true, &text);
    json_t *o = stats_json(&t);
    struct allot_stat_info s;
    char *h = head.s, *r = row.s, *hs = NULL, *rs = NULL;
    size_t i = 0;
    for (; stats_info(i, &s); i++) {
        uint64_t count;
        double value;
        stats_get(&t, s.id, &count, &value);
        char *name = strtok_r(i ? NULL : h, ",", &hs),
             *v = strtok_r(i ? NULL : r, ",", &rs);
        assert_non_null(name);
        assert_non_null(v);
        assert_string_equal(name, s.id);
        json_t *j = json_object_get(o, s.id);
        assert_non_null(j);
        if (s.derived) {
            assert_true(strtod(v, NULL) == value);
            assert_true(json_real_value(j) == value);
        } else {
            assert_true(strtoull(v, NULL, 10) == count);
            assert_true((uint64_t)json_integer_value(j) == count);
        }
        assert_non_null(strstr(text.s, s.id));
    }
    assert_null(strtok_r(NULL, ",", &hs));
    assert_null(strtok_r(NULL, ",", &rs));
    assert_int_equal(json_object_size(o), i);
    assert_non_null(strstr(text.s, "9007199254740993"));
    json_decref(o);
    /* without `all` only what is not zero */
    struct strbuf few = {0};
    stats_text(&t, false, &few);
    assert_non_null(strstr(few.s, "issue_slots"));
    assert_null(strstr(few.s, "dual_issues"));
    strbuf_free(&few);
    strbuf_free(&head);
    strbuf_free(&row);
    strbuf_free(&text);
}

static void
test_docs(void **state)
{
    struct strbuf b = {0};
    stats_docs(&b);
    struct allot_stat_info s;
    for (size_t i = 0; stats_info(i, &s); i++) {
        char cell[100];
        snprintf(cell, sizeof cell, "| `%s` |", s.id);
        assert_non_null(strstr(b.s, cell));
        assert_non_null(strstr(b.s, s.meaning));
    }
    assert_non_null(
        strstr(b.s, "`sm_cycles = active_cycles + stall_cycles + idle_cycles`"));
    strbuf_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),      cmocka_unit_test(test_max),
        cmocka_unit_test(test_identities), cmocka_unit_test(test_derived),
        cmocka_unit_test(test_info),       cmocka_unit_test(test_outputs_agree),
        cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
