/* A large fatbin is ready soon: what is not launched costs its parsing only. */
#include "base/clock.h"
#include "unit/kit/large_kit.h"
#include "unit/kit/runtime_kit.h"
#include "unit/kit/sanitized.h"

#include <malloc.h>
#include <math.h>

enum { KERNELS = SANITIZED ? 2000 : 60000 };

static size_t
heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void
from_a_fatbin_to_the_end_of_a_launch(void **state)
{
    (void)state;
    struct strbuf text = {0};
    struct rt_kit k;
    size_t n, size;
    many_kernels(&text, KERNELS);
    size = text.n;
    if (!SANITIZED)
        assert_true(size >= 50000000);
    rt_open(&k, NULL, NULL);
    char *bytes = allot_fatbin_write((const char *const[]){text.s}, 1, "none", &n, k.d);
    if (!bytes)
        rt_fail(&k, "fatbin");
    strbuf_free(&text);

    float v[32], got[32];
    for (int i = 0; i < 32; i++)
        v[i] = (float)i / 4;
    uint64_t p = allot_alloc(k.dev, sizeof v, k.d);
    assert_true(allot_write(k.dev, p, v, sizeof v, k.d));
    uint32_t count = 32;
    size_t before = heap();
    double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct allot_module *m = allot_module_read("large", bytes, n, k.m, k.d);
    if (!m)
        rt_fail(&k, "module");
    double parsed = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct allot_launch l = {.module = m,
                             .kernel = "kernel_number_1234",
                             .grid = {1},
                             .block = {32},
                             .nargs = 2,
                             .args = (const void *const[]){&p, &count}};
    if (!allot_launch(k.dev, &l, k.d))
        rt_fail(&k, "launch");
    double end = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    size_t used = heap() - before;
    print_message(
        "%.1f MB of PTX: read %.2f s, first launch %.2f s, %.1f times its size\n",
        (double)size / 1e6, parsed - start, end - parsed, (double)used / (double)size);
    if (!SANITIZED) {
        assert_true(end - start < 2);
        assert_true(used < 10 * size);
    }
    assert_true(allot_read(k.dev, p, got, sizeof got, k.d));
    for (int i = 0; i < 32; i++) {
        for (int turn = 0; turn < 10; turn++) {
            float f = fmaf(v[i], v[i], 1);
            v[i] = f / sqrtf(f);
        }
        assert_true(got[i] == v[i]);
    }
    free(bytes);
    allot_device_free(k.dev);
    k.dev = NULL;
    allot_module_free(m);
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_a_fatbin_to_the_end_of_a_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
