/* A large module takes less than ten times its text, and parsing it is linear. */
#include "base/clock.h"
#include "unit/kit/large_kit.h"
#include "unit/kit/ptx_kit.h"

#include <malloc.h>

static double
parse_seconds(const char *text, size_t n, size_t *bytes)
{
    struct diag_sink diag = {0};
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct ptx_module *m = ptx_parse("big.ptx", text, n, &diag);
    double seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    *bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    assert_non_null(m);
    ptx_module_free(m);
    diag_free(&diag);
    return seconds;
}

static void
memory_and_time_follow_the_text(void **state)
{
    (void)state;
    struct strbuf small = {0}, large = {0};
    many_kernels(&small, 500);
    many_kernels(&large, 4000);
    size_t bytes, few;
    double first = 1e9, second = 1e9;
    for (int i = 0; i < 3; i++) { /* the least disturbed */
        double s = parse_seconds(small.s, small.n, &few),
               l = parse_seconds(large.s, large.n, &bytes);
        first = s < first ? s : first;
        second = l < second ? l : second;
    }
    if (bytes) /* 0: another allocator, a sanitizer's */
        assert_true(bytes < 10 * large.n);
    assert_true(second < 8 * first * 2.5);
    strbuf_free(&small);
    strbuf_free(&large);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_time_follow_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
