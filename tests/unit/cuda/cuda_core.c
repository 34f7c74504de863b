/* cuda_core.c: what the libraries in place of CUDA's stand on: error numbers, properties of the
 * simulated GPU, memory, and errors that stay. Values by hand: gtx480's description, CUDA's
 * headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cuda/core/core.h"

#include <stdlib.h>
#include <string.h>

static void
errors_have_both_names(void **st)
{
    static const struct {
        int number;
        const char *runtime, *driver, *text;
    } t[] = {
        {0, "cudaSuccess", "CUDA_SUCCESS", "no error"},
        {1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
        {2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
        {700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
         "an illegal memory access was encountered"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        assert_string_equal(acu_error_runtime_name(t[i].number), t[i].runtime);
        assert_string_equal(acu_error_driver_name(t[i].number), t[i].driver);
        assert_string_equal(acu_error_text(t[i].number), t[i].text);
    }
    /* Of one API only, and of none. */
    assert_string_equal(acu_error_runtime_name(9), "cudaErrorInvalidConfiguration");
    assert_null(acu_error_driver_name(9));
    assert_null(acu_error_runtime_name(123456));
    assert_null(acu_error_driver_name(-1));
}

/* Those of which driver_types.h of CUDA 13.0 says that further work returns the same. */
static void
errors_that_stay(void **st)
{
    static const int stay[] = {226, 700, 702, 710, 714, 715, 716,
                               717, 718, 719, 721, 810, 911};
    size_t n = 0;
    for (int e = -1; e < 1100; e++) {
        bool wanted = n < sizeof stay / sizeof *stay && stay[n] == e;
        n += wanted;
        if (acu_error_sticky(e) != wanted)
            fail_msg("error %d %s", e, wanted ? "stays" : "does not stay");
    }
    assert_int_equal(n, sizeof stay / sizeof *stay);
}

static void
properties_are_the_machines(void **st)
{
    /* gtx480: 15 SMs of 1536 threads, 32768 registers, 48 KB of scratchpad a block. */
    static const struct {
        int attribute, value;
    } t[] = {{1, 1024},   /* threads of a block */
             {2, 1024},   /* ... in x */
             {4, 64},     /* ... in z */
             {10, 32},    /* warp */
             {12, 32768}, /* registers of a block */
             {16, 15},    /* multiprocessors */
             {39, 1536},  /* threads of a multiprocessor */
             {75, 2},     /* compute capability */
             {76, 0}};
    struct acu_props p;
    assert_int_equal(acu_end(acu_begin()), 0);
    acu_props(&p);
    assert_int_equal(p.sms, 15);
    assert_int_equal(p.warp, 32);
    assert_int_equal(p.max_threads_sm, 1536);
    assert_int_equal(p.regs_sm, 32768);
    assert_int_equal(p.smem_block, 49152);
    assert_int_equal(p.major, 2);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int value = -1;
        assert_int_equal(acu_device_attribute(t[i].attribute, &value), 0);
        if (value != t[i].value)
            fail_msg("attribute %d: %d, expected %d", t[i].attribute, value, t[i].value);
    }
    int value;
    assert_int_equal(acu_device_attribute(0, &value), ACU_INVALID_VALUE);
    assert_int_equal(acu_device_count(), 1);
}

static void
memory_is_zero_and_copies(void **st)
{
    enum { N = 64 };
    uint64_t a = 0, none = 1, free0, free1, total;
    uint32_t from[N], to[N];
    struct acu_range r;
    assert_int_equal(acu_begin(), 0);
    acu_memory(&free0, &total);
    assert_int_equal(acu_alloc(ACU_KIND_DEVICE, sizeof from, 0, &a), 0);
    acu_memory(&free1, &total);
    assert_true(free1 + sizeof from <= free0);
    assert_true(acu_range_find(a + 255, &r));
    assert_true(r.addr == a && r.size == sizeof from && r.kind == ACU_KIND_DEVICE);
    assert_int_equal(acu_alloc(ACU_KIND_DEVICE, 0, 0, &none), 0);
    assert_int_equal(none, 0);

    memset(to, 0xee, sizeof to);
    assert_int_equal(acu_copy((uintptr_t)to, ACU_HOST, a, ACU_DEV, sizeof to), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(to[i], 0);
        from[i] = (uint32_t)(i * i);
    }
    assert_int_equal(acu_copy(a, ACU_DEV, (uintptr_t)from, ACU_HOST, sizeof from), 0);
    uint16_t half = 0xabcd; /* elements 2 and 3: four of these */
    assert_int_equal(acu_set(a + 8, &half, 2, 4), 0);
    assert_int_equal(acu_copy((uintptr_t)to, ACU_HOST, a, ACU_DEV, sizeof to), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(to[i], i == 2 || i == 3 ? 0xabcdabcd : (uint32_t)(i * i));

    /* Beyond the end: refused, and nothing is written. */
    assert_int_equal(acu_copy(a + 4, ACU_DEV, (uintptr_t)from, ACU_HOST, sizeof from),
                     ACU_INVALID_VALUE);
    assert_int_equal(acu_check(a, sizeof from), 0);
    assert_int_not_equal(acu_check(a, sizeof from + 1), 0);
    assert_int_not_equal(acu_free(a, 1u << ACU_KIND_PINNED), 0);
    assert_int_equal(acu_free(a, 1u << ACU_KIND_DEVICE), 0);
    assert_false(acu_range_find(a, &r));
    assert_int_not_equal(acu_free(a, 1u << ACU_KIND_DEVICE), 0);
    acu_end(0);
}

static void
last_error_is_told_once(void **st)
{
    acu_last_error(true);
    acu_begin();
    assert_int_equal(acu_end(ACU_INVALID_VALUE), ACU_INVALID_VALUE);
    assert_int_equal(acu_last_error(false), ACU_INVALID_VALUE);
    acu_begin();
    assert_int_equal(acu_end(0), 0); /* success leaves it */
    acu_begin();
    assert_int_equal(acu_end_quiet(ACU_OUT_OF_MEMORY), ACU_OUT_OF_MEMORY);
    assert_int_equal(acu_last_error(true), ACU_INVALID_VALUE);
    assert_int_equal(acu_last_error(true), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_both_names),
        cmocka_unit_test(errors_that_stay),
        cmocka_unit_test(properties_are_the_machines),
        cmocka_unit_test(memory_is_zero_and_copies),
        cmocka_unit_test(last_error_is_told_once),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    setenv("ALLOT_MACHINE", "gtx480", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
