/* runtime_kit.h: a device over the public interface, for tests of the runtime. */
#ifndef TESTS_RUNTIME_KIT_H
#define TESTS_RUNTIME_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rt_kit {
    struct allot_diag *d;
    struct allot_machine *m;
    struct allot_device *dev;
    struct allot_module *mod;
};

__attribute__((unused)) static void
rt_fail(struct rt_kit *k, const char *what)
{
    fail_msg("%s:\n%s", what, allot_diag_text(k->d));
}

/* text may be NULL: no module. options NULL: functional. */
__attribute__((unused)) static void
rt_open(struct rt_kit *k, const char *text, const struct allot_options *options)
{
    static const struct allot_options functional = {.functional = true,
                                                    .max_instructions = 20000000};
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    memset(k, 0, sizeof *k);
    k->d = allot_diag_new();
    k->m = allot_machine_load("gtx480", k->d);
    if (!k->m)
        rt_fail(k, "machine");
    k->dev = allot_device_new(k->m, options ? options : &functional, k->d);
    if (!k->dev)
        rt_fail(k, "device");
    if (text) {
        k->mod = allot_module_parse("test.ptx", text, strlen(text), k->d);
        if (!k->mod)
            rt_fail(k, "parse");
    }
}

__attribute__((unused)) static void
rt_close(struct rt_kit *k)
{
    allot_device_free(k->dev);
    allot_module_free(k->mod);
    allot_machine_free(k->m);
    allot_diag_free(k->d);
}

/* Launches kernel "k"; arguments are 64-bit values (32-bit parameters take the low half).
 */
__attribute__((unused)) static const struct allot_result *
rt_try(struct rt_kit *k, unsigned grid, unsigned block, size_t nargs,
       const uint64_t *values)
{
    const void *args[16];
    for (size_t i = 0; i < nargs; i++)
        args[i] = &values[i];
    struct allot_launch l = {.module = k->mod,
                             .kernel = "k",
                             .grid = {grid, 1, 1},
                             .block = {block, 1, 1},
                             .args = args,
                             .nargs = nargs};
    return allot_launch(k->dev, &l, k->d);
}

__attribute__((unused)) static void
rt_run(struct rt_kit *k, unsigned grid, unsigned block, size_t nargs,
       const uint64_t *values)
{
    if (!rt_try(k, grid, block, nargs, values))
        rt_fail(k, "launch");
}

/* The diagnostics are exactly these; they are cleared. */
__attribute__((unused)) static void
rt_said(struct rt_kit *k, const char *want)
{
    assert_string_equal(allot_diag_text(k->d), want);
    allot_diag_clear(k->d);
}

/* The diagnostics contain this; they are cleared. */
__attribute__((unused)) static void
rt_told(struct rt_kit *k, const char *part)
{
    if (!strstr(allot_diag_text(k->d), part))
        fail_msg("expected: %s\ngot: %s", part, allot_diag_text(k->d));
    allot_diag_clear(k->d);
}

#endif
