/* base.c: arena, vectors, bit sets, interning, text buffers, diagnostics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/bitset.h"
#include "base/demangle.h"
#include "base/diag.h"
#include "base/near.h"
#include "base/number.h"
#include "base/str.h"
#include "base/vec.h"

#include <unistd.h>

static void
fill_arena(struct arena *a)
{
    char *last = NULL;
    for (size_t n = 1; n < 5000; n += 37) {
        for (size_t align = 1; align <= 64; align *= 2) {
            char *p = arena_alloc_aligned(a, n, align);
            assert_int_equal((uintptr_t)p % align, 0);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xff, n); /* overlap with a later one would show there */
            assert_ptr_not_equal(p, last);
            last = p;
        }
    }
    char *big = arena_alloc(a, 3 << 20);
    for (size_t i = 0; i < 3 << 20; i++)
        assert_true(big[i] == 0);
    memset(big, 1, 3 << 20);
    char *sparse = arena_alloc_sparse(a, 5 << 20);
    assert_int_equal((uintptr_t)sparse % 64, 0);
    for (size_t i = 0; i < 5 << 20; i += 1000)
        assert_true(sparse[i] == 0);
    memset(sparse, 1, 5 << 20);
    assert_true(big[0] == 1 && big[(3 << 20) - 1] == 1);
    assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
}

static void
arena_gives_aligned_zeroed_memory(void **state)
{
    (void)state;
    for (int huge = 0; huge < 2; huge++) {
        struct arena a = {.huge = huge};
        fill_arena(&a);
        arena_reset(&a);
        assert_int_equal(a.used, 0);
        fill_arena(&a); /* what was kept is zeroed again */
        arena_free(&a);
        assert_null(a.pile.chunk);
        assert_null(a.sparse.chunk);
        assert_int_equal(a.huge, huge);
    }
}

static void
vec_grows_and_zeroes(void **state)
{
    (void)state;
    VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t *p = vec_push(&v);
        assert_int_equal(*p, 0);
        *p = i * i;
    }
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(v.v[i], i * i);
    vec_reserve(&v, 5000);
    assert_true(v.cap >= 5000);
    assert_int_equal(v.n, 1000);
    vec_free(&v);
}

static void
bitset_matches_a_bool_array(void **state)
{
    (void)state;
    struct arena a = {0};
    uint64_t *s = bitset_new(&a, 200), *t = bitset_new(&a, 200);
    bool b[200] = {0};
    uint32_t x = 12345;
    for (int i = 0; i < 2000; i++) {
        x = x * 1664525 + 1013904223;
        unsigned k = (x >> 8) % 200;
        if (x >> 31) {
            bitset_add(s, k);
            b[k] = true;
        } else {
            bitset_del(s, k);
            b[k] = false;
        }
    }
    for (unsigned k = 0; k < 200; k++)
        assert_int_equal(bitset_has(s, k), b[k]);
    assert_true(bitset_or(t, s, 200));
    assert_false(bitset_or(t, s, 200));
    unsigned seen = 0;
    FOR_BITS(i, (uint64_t)0x8000000000000005)
    {
        assert_true(i == 0 || i == 2 || i == 63);
        seen++;
    }
    assert_int_equal(seen, 3);
    arena_free(&a);
}

static void
interning_is_pointer_equality(void **state)
{
    (void)state;
    struct strtab t = {0};
    const char *p[500];
    char buf[16];
    for (int i = 0; i < 500; i++) {
        snprintf(buf, sizeof buf, "name%d", i);
        p[i] = str_intern_z(&t, buf);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(buf, sizeof buf, "name%d", i);
        assert_ptr_equal(str_intern(&t, buf, strlen(buf)), p[i]);
        assert_string_equal(p[i], buf);
    }
    assert_ptr_equal(str_intern(&t, "name1xyz", 5), p[1]);
    assert_ptr_equal(str_intern(&t, "", 0), str_intern_z(&t, ""));
    strtab_free(&t);
}

static void
distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(str_distance("kitten", "sitting", 5), 3);
    assert_int_equal(str_distance("add", "add", 2), 0);
    assert_int_equal(str_distance("", "abc", 5), 3);
    assert_int_equal(str_distance("rnu", "run", 1), 1);
    assert_int_equal(str_distance("rnu", "urn", 5), 2);
    assert_true(str_distance("short", "muchlongertext", 3) > 3);
}

static void
file_read_gives_whole_files_and_errors(void **state)
{
    (void)state;
    char path[] = "/tmp/allot-base-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char data[100000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(write(fd, data, sizeof data), sizeof data);
    close(fd);
    size_t n;
    char *got = file_read(path, &n);
    assert_non_null(got);
    assert_int_equal(n, sizeof data);
    assert_memory_equal(got, data, sizeof data);
    assert_int_equal(got[n], 0);
    free(got);
    unlink(path);
    assert_null(file_read(path, &n));
}

static void
diagnostics_show_line_and_caret(void **state)
{
    (void)state;
    struct diag_sink s = {0};
    const char *text = "first\n  ad.s32 %r1;\nthird";
    struct diag_loc at = {.file = "k.ptx", .text = text, .line = 2, .col = 3, .len = 6};
    struct diag *d = diag_add(&s, DIAG_ERROR, &at, "unknown opcode '%s'", "ad");
    diag_hint(&s, d, "did you mean '%s'?", "add");
    diag_add(&s, DIAG_WARNING, NULL, "nothing serious");
    assert_int_equal(s.errors, 1);
    struct strbuf b = {0};
    diag_print(&s, &b);
    assert_string_equal(b.s, "k.ptx:2:3: error: unknown opcode 'ad'\n"
                             "      ad.s32 %r1;\n"
                             "      ^~~~~~\n"
                             "    hint: did you mean 'add'?\n"
                             "warning: nothing serious\n");
    strbuf_free(&b);
    diag_free(&s);
}

static void
diagnostics_are_bounded(void **state)
{
    (void)state;
    struct diag_sink s = {.max_errors = 3};
    for (int i = 0; i < 10; i++)
        diag_error(&s, "number %d", i);
    assert_int_equal(s.errors, 10);
    assert_int_equal(s.n, 3);
    struct strbuf b = {0};
    diag_print(&s, &b);
    assert_non_null(strstr(b.s, "7 more errors not shown"));
    strbuf_free(&b);
    diag_free(&s);
}

static void
bytes_have_units(void **state)
{
    uint64_t v = 0;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"49152", 49152},
                {"48K", 49152},
                {"48kib", 49152},
                {"0x10", 16},
                {"2m", 2097152},
                {"1MiB", 1048576},
                {"3G", 3221225472},
                {"17179869183G", UINT64_C(17179869183) << 30}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(number_bytes(good[i].text, 0, UINT64_MAX, &v));
        assert_int_equal(v, good[i].bytes);
    }
    static const char *const bad[] = {"",    "K",     "-1K",  "48X",         "48 K",
                                      "48T", "48KKB", "1.5K", "17179869184G"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(number_bytes(bad[i], 0, UINT64_MAX, &v));
    assert_false(number_bytes("49K", 0, 49152, &v));
    assert_false(number_bytes("1K", 1025, UINT64_MAX, &v));
}

static void
near_is_the_first_of_the_nearest(void **state)
{
    struct near n = {.word = "hotspt"};
    near_offer(&n, "histogram");
    assert_null(n.best);
    near_offer(&n, "hotspots"); /* two edits */
    near_offer(&n, "hotspot");  /* one */
    near_offer(&n, "hotspit");  /* one, later */
    assert_string_equal(n.best, "hotspot");
    n = (struct near){.word = "a"}; /* too short for any edit */
    near_offer(&n, "ab");
    assert_null(n.best);
    n = (struct near){.word = "rn"};
    near_offer(&n, "urn");
    near_offer(&n, "report"); /* too far */
    assert_string_equal(n.best, "urn");
}

static void
bare_names(void **state)
{
    (void)state;
    static const char *const of[][2] = {
        {"sum(int*)", "sum"},
        {"sum", "sum"},
        {"a::b<int, c::d>::transform<float>(float*, a::b<int>)", "transform"},
        {"(anonymous namespace)::sum(int)", "sum"},
        {"lib::(anonymous namespace)::sum<4>(int)", "sum"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char *bare = demangle_bare(of[i][0]);
        assert_string_equal(bare, of[i][1]);
        free(bare);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bare_names),
        cmocka_unit_test(arena_gives_aligned_zeroed_memory),
        cmocka_unit_test(vec_grows_and_zeroes),
        cmocka_unit_test(bitset_matches_a_bool_array),
        cmocka_unit_test(interning_is_pointer_equality),
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(bytes_have_units),
        cmocka_unit_test(near_is_the_first_of_the_nearest),
        cmocka_unit_test(file_read_gives_whole_files_and_errors),
        cmocka_unit_test(diagnostics_show_line_and_caret),
        cmocka_unit_test(diagnostics_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
