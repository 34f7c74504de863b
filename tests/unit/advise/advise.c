/* advise.c: what explain says of a kernel that is not run. gtx480: 1536 threads, 8 blocks, 48 KB
 * of scratchpad an SM. The kernel: 256 threads and 20 KB a block. By threads 6 blocks, by
 * scratchpad 2; 8192 bytes are left. At t = 0.1 a pair takes 1.1 x 20480, so each pair needs
 * 2048 bytes more than one block: both blocks get a partner, 4 blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/explain.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n.reqntid 256, 1, 1\n{\n"
    " .shared .align 4 .b8 a[16384];\n .shared .align 4 .b8 b[4096];\n"
    " .reg .b32 %r<3>;\n .reg .b64 %rd<2>;\n"
    " mov.u32 %r1, %tid.x;\n st.shared.u32 [a], %r1;\n st.shared.u32 [b], %r1;\n"
    " ld.shared.u32 %r2, [a+4];\n ld.param.u64 %rd1, [p];\n"
    " st.global.u32 [%rd1], %r2;\n ret;\n}\n"
    ".visible .entry free_size()\n{\n ret;\n}\n";

static int
show(struct allot_diag *d)
{
    fputs(allot_diag_text(d), stderr);
    return 0;
}

static bool
stopped(void)
{
    return false;
}

static struct allot_module *
load(void *user, struct allot_diag *d)
{
    return allot_module_parse("k.ptx", text, strlen(text), d);
}

static json_t *
settings(void *user)
{
    return json_pack("{s:s}", "asked", user);
}

struct told {
    uint32_t dynamic, threads;
    char *out, *err;
};

/* What was written to a stream's descriptor since `save` took its place. */
static char *
given_back(FILE *f, int save, FILE *to)
{
    fflush(f);
    dup2(save, fileno(f));
    close(save);
    long n = ftell(to);
    fseek(to, 0, SEEK_END);
    n = ftell(to);
    rewind(to);
    char *s = calloc(1, (size_t)n + 1);
    assert_int_equal(fread(s, 1, (size_t)n, to), (size_t)n);
    fclose(to);
    return s;
}

/* kernel, block: as of struct explain_of. False: explain_new refused. */
static bool
tell(const char *kernel, const char *block, bool json, struct told *t)
{
    struct arena mem = {0};
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    assert_non_null(m);
    const struct explain_of of = {.host = {.user = "me",
                                           .mem = &mem,
                                           .diag = allot_diag_new,
                                           .show = show,
                                           .stopped = stopped,
                                           .load = load,
                                           .settings = settings},
                                  .machine = m,
                                  .name = "k.ptx",
                                  .passes = "",
                                  .kernel = kernel,
                                  .block = block};
    FILE *to[2] = {tmpfile(), tmpfile()};
    fflush(stdout);
    int save[2] = {dup(1), dup(2)};
    dup2(fileno(to[0]), 1);
    dup2(fileno(to[1]), 2);
    struct explain *x = explain_new(&of);
    struct allot_module *mod = load(NULL, d);
    bool ok = x && explain_tell(x, mod, "pass one\npass two\n", json);
    if (x) {
        t->dynamic = explain_dynamic(x);
        t->threads = explain_threads(x);
    }
    t->out = given_back(stdout, save[0], to[0]);
    t->err = given_back(stderr, save[1], to[1]);
    explain_free(x);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    arena_free(&mem);
    return ok;
}

static void
forget(struct told *t)
{
    free(t->out);
    free(t->err);
}

static long
number(json_t *o, const char *key)
{
    assert_non_null(json_object_get(o, key));
    return (long)json_integer_value(json_object_get(o, key));
}

static void
limits_by_hand(void **st)
{
    struct told t;
    assert_true(tell("k", NULL, true, &t));
    json_t *o = json_loads(t.out, 0, NULL), *k, *by, *v;
    assert_non_null(o);
    assert_string_equal(t.err, "");
    assert_string_equal(json_string_value(json_object_get(o, "machine")), "gtx480");
    assert_int_equal(json_array_size(json_object_get(o, "report")), 2);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(o, "options"), "asked")), "me");
    assert_int_equal(json_array_size(json_object_get(o, "kernels")), 1);
    k = json_array_get(json_object_get(o, "kernels"), 0);
    assert_int_equal(number(k, "block_threads"), 256);
    assert_true(json_is_false(json_object_get(k, "block_assumed")));
    assert_int_equal(number(k, "scratchpad"), 20480);
    assert_int_equal(number(k, "resident_blocks"), 2);
    assert_string_equal(json_string_value(json_object_get(k, "limited_by")),
                        "scratchpad");
    by = json_object_get(k, "blocks_by");
    assert_int_equal(number(by, "threads"), 6);
    assert_int_equal(number(by, "blocks"), 8);
    assert_int_equal(number(by, "scratchpad"), 2);
    by = json_object_get(json_object_get(k, "sharing"), "scratchpad");
    assert_int_equal(number(by, "resident_blocks"), 4);
    assert_int_equal(number(by, "pairs"), 2);
    /* The first 2048 bytes are each block's own: a is split, b is shared. */
    assert_int_equal(number(k, "private_bytes"), 2048);
    v = json_object_get(k, "variables");
    assert_int_equal(json_array_size(v), 2);
    assert_int_equal(number(json_array_get(v, 0), "at"), 0);
    assert_int_equal(number(json_array_get(v, 1), "at"), 16384);
    assert_true(json_is_true(json_object_get(json_array_get(v, 1), "shared")));
    assert_int_equal(json_array_size(json_object_get(k, "runs")), 0);
    assert_int_equal(t.dynamic, 0);
    assert_int_equal(t.threads, 256);
    json_decref(o);
    forget(&t);
}

static void
words_say_what_one_block_more_needs(void **st)
{
    struct told t;
    assert_true(tell("k", NULL, false, &t));
    assert_string_equal(t.out, "");
    assert_non_null(strstr(t.err, "kernel k: 2 blocks of 256 threads an SM of gtx480, "
                                  "limited by scratchpad\n"));
    /* A third of 49152. */
    assert_non_null(strstr(
        t.err, "One block more would fit with 16384 bytes of scratchpad, or fewer.\n"));
    assert_non_null(strstr(t.err, "Sharing scratchpad: 4 blocks an SM; pairs that share "
                                  "90 % of theirs: 2"));
    assert_non_null(strstr(t.err, "Sharing registers brings no block more.\n"));
    forget(&t);
}

static void
block_is_assumed_or_given(void **st)
{
    struct told t;
    assert_true(tell("free_size", NULL, false, &t));
    assert_int_equal(t.threads, 0); /* nothing says how many */
    assert_non_null(strstr(t.err, "(assumed: --block says otherwise)"));
    forget(&t);
    assert_true(tell("free_size", "16,32", false, &t));
    assert_int_equal(t.threads, 512);
    assert_non_null(strstr(t.err, "3 blocks of 512 threads an SM of gtx480, limited by "
                                  "threads\n"));
    assert_null(strstr(t.err, "assumed"));
    forget(&t);
}

static void
no_such_kernel(void **st)
{
    struct told t;
    assert_false(tell("nope", NULL, false, &t));
    assert_non_null(strstr(t.err, "k.ptx has no kernel 'nope'"));
    forget(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_by_hand),
        cmocka_unit_test(words_say_what_one_block_more_needs),
        cmocka_unit_test(block_is_assumed_or_given),
        cmocka_unit_test(no_such_kernel),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
