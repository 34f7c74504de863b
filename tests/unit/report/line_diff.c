/* line_diff.c: the lines in which texts differ: cases by hand; and of random texts, that each is got back
 * from what is shown, and that no shorter script exists (by dynamic programming). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/splitmix.h"
#include "report/line_diff.h"

#include <stdlib.h>
#include <string.h>

static void
shows(const char *before, const char *after, size_t context, const char *want)
{
    struct strbuf b = {0};
    line_diff(before, after, context, &b);
    assert_string_equal(b.s ? b.s : "", want);
    strbuf_free(&b);
}

static void
by_hand(void **state)
{
    (void)state;
    shows("a\nb\n", "a\nb\n", 3, "");
    shows("", "", 3, "");
    shows("", "a\n", 3, "+a\n");
    shows("a\n", "", 3, "-a\n");
    shows("a\nb\nc\n", "a\nx\nc\n", 0, "...\n-b\n+x\n");
    shows("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nx\nd\ne\nf\nh\ng\n", 1,
          "...\n b\n-c\n+x\n d\n...\n f\n+h\n g\n");
    shows("a\nb\nc\nd\n", "b\nc\nd\ne\n", 1, "-a\n b\n...\n d\n+e\n");
}

/* Lines of a to d; fewest lines with a sign. */
static size_t
fewest(const char *a, size_t n, const char *b, size_t m)
{
    size_t least[16][16];
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            least[i][j] = i + j;
            if (i && j) {
                size_t x = least[i - 1][j] + 1, y = least[i][j - 1] + 1;
                least[i][j] = x < y ? x : y;
                if (a[2 * i - 2] == b[2 * j - 2] && least[i - 1][j - 1] < least[i][j])
                    least[i][j] = least[i - 1][j - 1];
            }
        }
    return least[n][m];
}

static size_t
draw(uint64_t *seed, char *text)
{
    const size_t n = splitmix_next(seed) % 12;
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = (char)('a' + splitmix_next(seed) % 4);
        text[2 * i + 1] = '\n';
    }
    text[2 * n] = 0;
    return n;
}

static void
shortest_and_whole(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int k = 0; k < 5000; k++) {
        char a[32], b[32], before[32] = "", after[32] = "";
        const size_t n = draw(&seed, a), m = draw(&seed, b);
        struct strbuf out = {0};
        const size_t changed = line_diff(a, b, 100, &out);
        assert_int_equal(changed, fewest(a, n, b, m));
        for (const char *p = out.s; p && *p; p += 3) {
            if (*p != '+')
                strncat(before, p + 1, 2);
            if (*p != '-')
                strncat(after, p + 1, 2);
        }
        if (changed) {
            assert_string_equal(before, a);
            assert_string_equal(after, b);
        }
        strbuf_free(&out);
    }
}

/* More lines differ than are searched for: all are replaced, and none is lost. */
static void
many_lines(void **state)
{
    (void)state;
    struct strbuf a = {0}, b = {0}, out = {0};
    for (int i = 0; i < 3000; i++) {
        strbuf_printf(&a, "a%d\n", i);
        strbuf_printf(&b, "b%d\n", i);
    }
    assert_int_equal(line_diff(a.s, b.s, 2, &out), 6000);
    strbuf_free(&a);
    strbuf_free(&b);
    strbuf_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(shortest_and_whole),
        cmocka_unit_test(many_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
