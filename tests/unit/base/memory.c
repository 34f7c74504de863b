/* Device memory against a byte-exact model: a list of allocations kept by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static void
starts_at_base_and_is_zero(void **state)
{
    struct dev_mem *m = dev_mem_new(1 << 20);
    assert_non_null(m);
    uint64_t a = dev_alloc(m, 1000), b = dev_alloc(m, 1);
    assert_int_equal(a, DEV_GLOBAL_BASE);
    assert_int_equal(b, DEV_GLOBAL_BASE + 1024); /* 256-byte aligned, next free */
    uint8_t buf[1000];
    memset(buf, 1, sizeof buf);
    assert_true(dev_read(m, a, buf, 1000));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf[i], 0);
    assert_int_equal(dev_bytes_used(m), 1001);
    assert_int_equal(dev_alloc(m, 0), 0);
    dev_mem_free(m);
}

static void
copies_stay_inside_one_allocation(void **state)
{
    struct dev_mem *m = dev_mem_new(1 << 20);
    uint64_t a = dev_alloc(m, 512), b = dev_alloc(m, 256);
    uint8_t x[600];
    for (int i = 0; i < 600; i++)
        x[i] = (uint8_t)i;
    assert_int_equal(b, a + 512);
    assert_true(dev_write(m, a, x, 512));
    assert_false(dev_write(m, a, x, 513)); /* would reach into b */
    assert_false(dev_write(m, a + 512 + 256, x, 1));
    assert_false(dev_write(m, a - 1, x, 1));
    assert_false(dev_read(m, UINT64_MAX - 3, x, 8)); /* no overflow */
    assert_false(dev_set(m, a + 500, 7, 13));
    assert_true(dev_set(m, a + 500, 7, 12));
    uint8_t y[512];
    assert_true(dev_read(m, a, y, 512));
    assert_memory_equal(y, x, 500);
    for (int i = 500; i < 512; i++)
        assert_int_equal(y[i], 7);
    assert_ptr_equal(dev_host(m, a) + 512, dev_host(m, b));
    dev_mem_free(m);
}

static void
freed_memory_is_remembered(void **state)
{
    struct dev_mem *m = dev_mem_new(1 << 20);
    uint64_t a = dev_alloc(m, 100), b = dev_alloc(m, 100);
    struct dev_range r;
    uint64_t g = dev_generation(m);
    assert_false(dev_release(m, a + 1));
    assert_true(dev_release(m, a));
    assert_int_not_equal(dev_generation(m), g);
    assert_false(dev_release(m, a)); /* twice */
    assert_true(dev_find(m, a + 99, &r));
    assert_true(r.dead);
    assert_int_equal(r.addr, a);
    assert_int_equal(r.size, 100);
    assert_false(dev_find(m, a + 100, &r)); /* padding belongs to nobody */
    assert_false(dev_write(m, a, "x", 1));
    assert_true(dev_find(m, b, &r));
    assert_false(r.dead);
    assert_true(dev_nearest(m, a, &r)); /* live ones only */
    assert_int_equal(r.addr, b);
    dev_mem_free(m);
}

static void
nearest_is_by_distance(void **state)
{
    struct dev_mem *m = dev_mem_new(1 << 20);
    struct dev_range r;
    assert_false(dev_nearest(m, 0x1234, &r));
    uint64_t a = dev_alloc(m, 16), hole = dev_alloc(m, 4096), b = dev_alloc(m, 16);
    dev_release(m, hole);
    assert_true(dev_nearest(m, 0, &r));
    assert_int_equal(r.addr, a);
    assert_true(dev_nearest(m, a + 100, &r));
    assert_int_equal(r.addr, a);
    assert_true(dev_nearest(m, b - 100, &r));
    assert_int_equal(r.addr, b);
    assert_true(dev_nearest(m, UINT64_MAX, &r));
    assert_int_equal(r.addr, b);
    dev_mem_free(m);
}

static void
full_memory_reuses_the_dead(void **state)
{
    struct dev_mem *m = dev_mem_new(16 * 256);
    uint64_t a[16];
    for (int i = 0; i < 16; i++) {
        a[i] = dev_alloc(m, 256);
        assert_int_not_equal(a[i], 0);
        dev_set(m, a[i], 0xff, 256);
    }
    assert_int_equal(dev_alloc(m, 1), 0);
    assert_true(dev_release(m, a[3]));
    assert_true(dev_release(m, a[4]));
    assert_true(dev_release(m, a[9]));
    assert_int_equal(dev_alloc(m, 513), 0);
    uint64_t b = dev_alloc(m, 512); /* 3 and 4 together */
    assert_int_equal(b, a[3]);
    uint8_t x[512];
    assert_true(dev_read(m, b, x, 512));
    for (int i = 0; i < 512; i++)
        assert_int_equal(x[i], 0);
    uint64_t c = dev_alloc(m, 10);
    assert_int_equal(c, a[9]);
    assert_int_equal(dev_alloc(m, 1), 0);
    dev_mem_free(m);
}

static void
refuses_what_the_host_cannot_give(void **state)
{
    assert_null(dev_mem_new(0));
    assert_null(dev_mem_new(UINT64_MAX));
}

static void
code_space_is_distinct(void **state)
{
    struct dev_mem *m = dev_mem_new(1 << 20);
    uint64_t a = dev_code_space(m, 8), b = dev_code_space(m, 1000),
             c = dev_code_space(m, 1);
    assert_int_equal(a % 256, 0);
    assert_int_equal(b, a + 256);
    assert_int_equal(c, b + 1024);
    struct dev_range r;
    assert_false(dev_find(m, a, &r));
    dev_mem_free(m);
}

/* Thousands of random allocations and releases against a plain list. */
static void
random_operations_match_a_model(void **state)
{
    enum { MAX = 64, STEPS = 20000 };
    struct {
        uint64_t addr, size;
        uint8_t fill;
    } live[MAX];
    int n = 0;
    uint64_t seed = 12345, used = 0;
    struct dev_mem *m = dev_mem_new(64 * 1024);
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t r = (uint32_t)(seed >> 33);
        if (n < MAX && r % 3) {
            uint64_t size = 1 + r / 3 % 3000, a = dev_alloc(m, size);
            if (!a) /* must be because of fragmentation: no hole of that size exists */
                continue;
            assert_int_equal(a % DEV_ALIGN, 0);
            for (int i = 0; i < n; i++)
                assert_true(a + size <= live[i].addr || a >= live[i].addr + live[i].size);
            for (uint64_t i = 0; i < size; i++)
                assert_int_equal(dev_host(m, a)[i], 0);
            live[n].addr = a;
            live[n].size = size;
            live[n].fill = (uint8_t)r | 1;
            assert_true(dev_set(m, a, live[n].fill, size));
            used += size;
            n++;
        } else if (n) {
            int i = (int)(r / 3 % (uint32_t)n);
            for (uint64_t k = 0; k < live[i].size; k++)
                assert_int_equal(dev_host(m, live[i].addr)[k], live[i].fill);
            assert_true(dev_release(m, live[i].addr));
            used -= live[i].size;
            live[i] = live[--n];
        }
        assert_int_equal(dev_bytes_used(m), used);
        uint64_t probe = DEV_GLOBAL_BASE + seed % (64 * 1024);
        struct dev_range f;
        bool found = dev_find(m, probe, &f) && !f.dead, want = false;
        for (int i = 0; i < n; i++)
            want |= probe >= live[i].addr && probe < live[i].addr + live[i].size;
        assert_int_equal(found, want);
    }
    dev_mem_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_at_base_and_is_zero),
        cmocka_unit_test(copies_stay_inside_one_allocation),
        cmocka_unit_test(freed_memory_is_remembered),
        cmocka_unit_test(nearest_is_by_distance),
        cmocka_unit_test(full_memory_reuses_the_dead),
        cmocka_unit_test(refuses_what_the_host_cannot_give),
        cmocka_unit_test(code_space_is_distinct),
        cmocka_unit_test(random_operations_match_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
