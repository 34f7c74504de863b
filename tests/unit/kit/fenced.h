/* fenced.h: zeroed memory with fences on both sides: what is written just outside fails the test,
 * also in builds without ASan. */
#ifndef TESTS_FENCED_H
#define TESTS_FENCED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { FENCE = 4096 };

__attribute__((unused)) static void *
fenced_new(size_t size)
{
    uint8_t *p = malloc(size + 2 * FENCE);
    assert_non_null(p);
    memset(p, 0xa5, size + 2 * FENCE);
    memset(p + FENCE, 0, size);
    memcpy(p, &size, sizeof size);
    return p + FENCE;
}

__attribute__((unused)) static void
fenced_free(void *x)
{
    uint8_t *p = (uint8_t *)x - FENCE;
    size_t size;
    memcpy(&size, p, sizeof size);
    for (size_t i = sizeof size; i < FENCE; i++)
        if (p[i] != 0xa5)
            fail_msg("written %zu bytes before memory of %zu", FENCE - i, size);
    for (size_t i = 0; i < FENCE; i++)
        if (p[FENCE + size + i] != 0xa5)
            fail_msg("written %zu bytes behind memory of %zu", i, size);
    free(p);
}

#endif
