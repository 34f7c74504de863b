/* program.c: src/program without CUDA: which file a word names, how a record adds up, what
 * counts as failed, and that limits and signals of a child are told. */
#include "program/program_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void
put(const char *name, const char *text, mode_t mode)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static int
setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/allot-unit-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    put("tool", "#!/bin/sh\npwd\necho to-err >&2\nexit 3\n", 0755);
    put("plain", "text\n", 0644);
    return 0;
}

static int
teardown(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void
words_are_found_as_by_a_shell(void **state)
{
    struct arena mem = {0};
    struct strbuf why = {0};
    char want[128];
    (void)state;
    snprintf(want, sizeof want, "%s/./tool", dir);
    assert_string_equal(program_find("./tool", dir, &mem, &why), want);
    assert_string_equal(program_find("/bin/sh", dir, &mem, &why), "/bin/sh");
    assert_non_null(program_find("sh", dir, &mem, &why));
    assert_null(program_find("tool", dir, &mem, &why)); /* not in PATH */
    assert_string_equal(
        why.s, "there is no program 'tool' in PATH; here there is: write ./ before it");
    why.n = 0;
    assert_null(program_find("./plain", dir, &mem, &why));
    assert_non_null(strstr(why.s, "Permission denied"));
    why.n = 0;
    assert_null(program_find("./", dir, &mem, &why));
    assert_non_null(strstr(why.s, "directory"));
    strbuf_free(&why);
    arena_free(&mem);
}

/* Two processes of a program: rows of a kernel are added up, a row of a functional launch
 * stands alone, a line that was cut short is left out. */
static void
records_are_added_up(void **state)
{
    struct arena mem = {0};
    char path[128];
    (void)state;
    put("record",
        "{\"kernel_row\":\"k\",\"launches\":2,\"cycles\":10,\"resident_blocks\":4}\n"
        "{\"kernel_row\":\"k\",\"launches\":1,\"cycles\":5,\"resident_blocks\":4}\n"
        "{\"kernel_row\":\"k\",\"launches\":7,\"functional\":1}\n"
        "{\"kernel_row\":\"r\",\"launches\":0,\"running\":1}\n"
        "{\"name\":\"k\",\"ptx_hash\":\"aa\"}\n{\"name\":\"k\",\"ptx_hash\":\"aa\"}\n"
        "{\"pid\":7,\"working_set\":{\"kernel\":\"k\",\"sum\":5}}\n"
        "{\"findings\":3}\n"
        "{\"kernel_row\":\"k\",\"laun",
        0644);
    snprintf(path, sizeof path, "%s/record", dir);
    struct program_result r;
    program_result_init(&r, true);
    program_read_record(path, &r);
    assert_int_equal(json_array_size(r.rows), 2);
    const json_t *row = json_array_get(r.rows, 0);
    assert_int_equal(json_number_value(json_object_get(row, "launches")), 3);
    assert_int_equal(json_number_value(json_object_get(row, "cycles")), 15);
    assert_int_equal(json_array_size(r.running), 1);
    assert_int_equal(json_array_size(r.all), 2);
    assert_int_equal(r.findings, 3);
    assert_int_equal(json_array_size(r.working), 1);
    const json_t *set = json_array_get(r.working, 0);
    assert_int_equal(json_integer_value(json_object_get(set, "sum")), 5);
    assert_string_equal(program_ptx_hash(&r, &mem), "aa");
    json_array_append_new(r.all, json_pack("{s:s}", "ptx_hash", "bb"));
    assert_int_equal(strlen(program_ptx_hash(&r, &mem)), 32);
    assert_null(program_failure(&r, &mem));
    r.status = 7;
    assert_string_equal(program_failure(&r, &mem), "exit status 7");
    program_result_free(&r);
    arena_free(&mem);
}

/* A launch fails; the program's status is 0: it took no notice. */
static void
an_overlooked_failure_counts(void **state)
{
    struct arena mem = {0};
    char path[128];
    (void)state;
    put("record",
        "{\"failure\":\"a\",\"fault\":1,\"error\":\"E1\",\"why\":\"x\",\"launch\":1,"
        "\"count\":1,\"noticed\":1}\n"
        "{\"failure\":\"b\",\"fault\":0,\"error\":\"E2\",\"why\":\"y\",\"launch\":4,"
        "\"count\":2,\"noticed\":1}\n",
        0644);
    snprintf(path, sizeof path, "%s/record", dir);
    struct program_result r;
    program_result_init(&r, false);
    program_read_record(path, &r);
    assert_int_equal(json_array_size(r.failures), 2);
    assert_string_equal(program_failure(&r, &mem), "launch 4, of b, refused (E2): y");
    program_result_free(&r);
    arena_free(&mem);
}

/* The libraries need not be there: a script uses none. */
static void
a_script_runs_in_its_folder(void **state)
{
    struct program_setup s = {.machine = "gtx480",
                              .threads = 1,
                              .all = true,
                              .discard = true,
                              .capture = true,
                              .folder = dir};
    struct program_result r;
    struct strbuf why = {0};
    char *argv[] = {"./tool", NULL}, *kills[] = {"sh", "-c", "kill -9 $$", NULL},
         *none[] = {"./none", NULL};
    (void)state;
    setenv("ALLOT_CUDA_LIBRARIES", dir, 1);
    assert_true(program_run(&s, argv, &r, &why));
    assert_int_equal(r.status, 3);
    assert_int_equal(r.signal, 0);
    assert_non_null(strstr(r.said, "to-err"));
    assert_int_equal(json_array_size(r.rows), 0);
    program_result_free(&r);
    assert_true(program_run(&s, kills, &r, &why));
    assert_int_equal(r.signal, SIGKILL);
    assert_int_equal(r.status, 128 + SIGKILL);
    program_result_free(&r);
    assert_int_equal(why.n, 0);
    assert_false(program_run(&s, none, &r, &why));
    assert_non_null(strstr(why.s, "No such file"));
    program_result_free(&r);
    assert_null(getenv("ALLOT_MACHINE")); /* the environment is the program's */
    strbuf_free(&why);
}

/* Which working sets the libraries are asked for: numbers as they read them again. */
static void
working_sets_are_asked_for(void **state)
{
    struct program_setup s = {.machine = "gtx480",
                              .threads = 1,
                              .capture = true,
                              .folder = dir,
                              .working_nth = 3,
                              .working = {"awss", 0.1}};
    struct program_result r;
    struct strbuf why = {0};
    char *argv[] = {"./asks", NULL};
    (void)state;
    put("asks",
        "#!/bin/sh\necho \"<$ALLOT_WORKING_SETS $ALLOT_WORKING_METHOD "
        "$ALLOT_WORKING_CPS>\" >&2\n",
        0755);
    setenv("ALLOT_CUDA_LIBRARIES", dir, 1);
    assert_true(program_run(&s, argv, &r, &why));
    assert_non_null(strstr(r.said, "<3 awss 0.1"));
    assert_float_equal(strtod(strstr(r.said, "0.1"), NULL), 0.1, 0);
    program_result_free(&r);
    s.working.cps = -1; /* by the machine */
    assert_true(program_run(&s, argv, &r, &why));
    assert_non_null(strstr(r.said, "<3 awss >"));
    program_result_free(&r);
    s.working_nth = 0;
    assert_true(program_run(&s, argv, &r, &why));
    assert_non_null(strstr(r.said, "<  >"));
    program_result_free(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_as_by_a_shell),
        cmocka_unit_test(records_are_added_up),
        cmocka_unit_test(an_overlooked_failure_counts),
        cmocka_unit_test(a_script_runs_in_its_folder),
        cmocka_unit_test(working_sets_are_asked_for),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
