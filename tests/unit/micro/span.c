/* span.c: where a kernel's text gets its readings of the clock, and what cannot get them. */
#include "micro/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

static unsigned
count(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, word)); p++)
        n++;
    return n;
}

/* Starts and ends recorded; -1: refused. */
static void
recorded(const char *body, int starts, int ends)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s", HEAD, body);
    char *got = span_instrument(text, 90);
    if (starts < 0) {
        assert_null(got);
        return;
    }
    assert_non_null(got);
    if (count(got, "red.global.min") != (unsigned)starts ||
        count(got, "red.global.max") != (unsigned)ends)
        fail_msg("%s", got);
    assert_non_null(strstr(got, ".version 6.3\n.target sm_75\n"));
    free(got);
}

static void
kernels(void **state)
{
    (void)state;
    recorded(".entry k() { ret; }", 1, 1);
    recorded(".entry k() .maxntid 256, 1, 1 { exit; }", 1, 1);
    recorded(".entry k() { @%p1 bra L; ret; L: ret; }\n.entry j() { ret; }", 2, 3);
    /* functions return to a kernel, words in comments and names are nothing */
    recorded(".func f() { ret; }\n.entry k() { { call f; } // ret; }\n ret; }", 1, 1);
    recorded(".global .b32 x[2] = {1, 2};\n.entry k() { call (retval), f; st.b32 [%ret], "
             "1; .file 1 \"ret;\" ret; }",
             1, 1);
    /* no end, or only if a guard says so */
    recorded(".func f() { ret; }", -1, 0);
    recorded(".entry k() { L: bra L; }", -1, 0);
    recorded(".entry k() { @%p1 ret; ret; }", -1, 0);
    recorded(".entry k() { @%p1 exit; ret; }", -1, 0);
    assert_null(span_instrument(".version 9.0\n.entry k() { ret; }", 90));
    char *sm80 = span_instrument(
        ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }", 90);
    assert_non_null(strstr(sm80, ".version 7.0\n.target sm_80\n"));
    free(sm80);
}

/* The longest time on one multiprocessor, not across them. */
static void
cycles(void **state)
{
    (void)state;
    static uint64_t slots[SPAN_WORDS];
    span_init(slots);
    assert_int_equal(span_cycles(slots), 0);
    slots[0] = 1000, slots[1] = 1100;
    slots[4 * SPAN_SLOTS] = 5, slots[4 * SPAN_SLOTS + 1] = 105;
    slots[4 * SPAN_SLOTS + 60] = 7,
                           slots[4 * SPAN_SLOTS + 61] = 205; /* the SM's last slot */
    assert_int_equal(span_cycles(slots), 200);
}

/* The variable's address becomes a literal, at each start and end. */
static void
placed(void **state)
{
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "%s.entry k() { @%%p1 bra L; ret; L: ret; }", HEAD);
    char *got = span_place(span_instrument(text, 90), 0x7f0012345600);
    assert_int_equal(count(got, "mov.u64 %span_b, 0x7f0012345600;"), 3);
    assert_int_equal(count(got, "%span_b, " SPAN_SYMBOL), 0);
    assert_non_null(strstr(got, "ret; L:"));
    free(got);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels), cmocka_unit_test(cycles), cmocka_unit_test(placed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
