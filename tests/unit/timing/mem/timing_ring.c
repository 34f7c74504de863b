/* timing/mem/packet.h: the ring that widens, against an array that holds everything; words
 * and sectors; remainders. */
#include "timing/mem/packet.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
ring_of(uint32_t cap, uint32_t seed)
{
    struct arena a = {0};
    RING(uint32_t) q;
    uint32_t pushed = 0, popped = 0, wish = cap / 2, widest = 0;
    ring_init(&q, &a, cap);
    for (int step = 0; step < 20000; step++) {
        seed = seed * 1664525 + 1013904223;
        if (step % 97 == 0)
            wish = (seed >> 8) % (cap + 1); /* fills up to here now, or empties */
        if (step % 31 == 0) {               /* many at once, and room for many */
            const uint32_t more = (seed >> 16) % (cap - q.n + 1);
            ring_reserve(&q, more);
            assert_true(q.span - q.n >= more || q.span >= cap);
        }
        if (step % 41 == 0) {
            const uint32_t some = (seed >> 12) % (q.n + 1);
            ring_drop(&q, some);
            popped += some;
            if (!q.n)
                assert_int_equal(q.span, RING_SPAN);
        }
        bool up = q.n < wish ? seed >> 30 != 0 : seed >> 30 == 0;
        if (up && !ring_full(&q))
            *ring_push(&q) = pushed++;
        else if (!ring_empty(&q)) {
            assert_int_equal(*ring_front(&q), popped++);
            ring_pop(&q);
            if (!q.n)
                assert_int_equal(q.span, RING_SPAN);
        }
        assert_int_equal(q.n, pushed - popped);
        assert_true(q.span <= ring_slots(cap) && q.n <= q.span);
        widest = q.span > widest ? q.span : widest;
        for (uint32_t i = 0; i < q.n; i++)
            assert_int_equal(*ring_at(&q, i), popped + i);
    }
    assert_int_equal(widest, ring_slots(cap));
    arena_free(&a);
}

/* Sectors of a line and its words, bit by bit. */
static void
words_of_sectors(void **state)
{
    (void)state;
    for (unsigned sectors = 0; sectors < 256; sectors++) {
        uint64_t words = 0;
        for (unsigned k = 0; k < 64; k++)
            words |= (uint64_t)(sectors >> k / 8 & 1) << k;
        assert_true(packet_words((uint8_t)sectors) == words);
        for (unsigned k = 0; k < 8; k++) /* one word of each is enough */
            assert_int_equal(packet_touched(words & 0x0101010101010101u << k), sectors);
        assert_int_equal(packet_touched(words & 0x8040201008040201u), sectors);
        assert_int_equal(packet_touched(words), sectors);
    }
}

/* k modulo n, n a power of two or not. */
static void
wraps(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 70; n++)
        for (uint64_t k = 0; k < 300; k++)
            assert_int_equal(wrap(k, n), k % n);
    assert_int_equal(wrap(((uint64_t)1 << 40) + 5, 7), (((uint64_t)1 << 40) + 5) % 7);
}

static void
holds_everything_in_order(void **state)
{
    (void)state;
    static const uint32_t cap[] = {1, 2, 3, 7, 8, 9, 12, 16, 31, 64, 100};
    for (size_t i = 0; i < sizeof cap / sizeof *cap; i++)
        ring_of(cap[i], (uint32_t)i);
}

static void
stays_where_little_is_in_it(void **state)
{
    (void)state;
    struct arena a = {0};
    RING(uint32_t) q;
    ring_init(&q, &a, 1000);
    *ring_push(&q) = 0;
    for (uint32_t i = 1; i < 5000; i++) { /* never empty, never more than two */
        *ring_push(&q) = i;
        assert_int_equal(*ring_front(&q), i - 1);
        ring_pop(&q);
    }
    assert_int_equal(q.span, RING_SPAN);
    arena_free(&a);
}

int
main(void)
{
    const struct CMUnitTest t[] = {
        cmocka_unit_test(holds_everything_in_order),
        cmocka_unit_test(stays_where_little_is_in_it),
        cmocka_unit_test(words_of_sectors),
        cmocka_unit_test(wraps),
    };
    return cmocka_run_group_tests(t, NULL, NULL);
}
