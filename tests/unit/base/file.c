/* file.c: files that are written whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/allot-file-XXXXXX";

static const char *
in_dir(const char *name)
{
    static char path[4][200];
    static unsigned which;
    which = (which + 1) % 4;
    snprintf(path[which], sizeof path[0], "%s/%s", dir, name);
    return path[which];
}

static void
expect(const char *path, const char *text)
{
    char *s = file_read(path, NULL);
    assert_non_null(s);
    assert_string_equal(s, text);
    free(s);
}

static void
a_file_is_replaced(void **st)
{
    const char *path = in_dir("a");
    struct stat before, after;
    assert_true(file_writable(path));
    assert_true(file_write(path, "first", 5));
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(before.st_mode & 0777, 0640); /* by the umask, 0137 */
    assert_true(file_write(path, "2nd", 3));
    expect(path, "2nd");
    assert_int_equal(stat(path, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino); /* not written over */
}

static void
a_link_and_a_pipe_stay(void **st)
{
    const char *link = in_dir("link"), *target = in_dir("target");
    struct stat st_link;
    assert_true(file_write(target, "old", 3));
    assert_int_equal(symlink("target", link), 0);
    assert_true(file_writable(link));
    assert_true(file_write(link, "new", 3));
    expect(target, "new");
    assert_int_equal(lstat(link, &st_link), 0);
    assert_true(S_ISLNK(st_link.st_mode));
    assert_true(file_writable("/dev/null") && file_write("/dev/null", "x", 1));
}

static void
what_cannot_be_written(void **st)
{
    const char *folder = in_dir("folder"), *lost = in_dir("no/such");
    assert_true(file_folder(folder) && file_folder(folder)); /* twice is no error */
    errno = 0;
    assert_false(file_writable(folder));
    assert_int_equal(errno, EISDIR);
    errno = 0;
    assert_false(file_writable(lost));
    assert_int_equal(errno, ENOENT);
    assert_false(file_write(lost, "x", 1));
    assert_int_equal(errno, ENOENT);
    assert_false(file_folder(lost));
    if (access("/dev/full", W_OK) == 0) {
        errno = 0;
        assert_false(file_write("/dev/full", "x", 1));
        assert_int_equal(errno, ENOSPC);
    }
}

static void
a_dash_is_a_stream(void **st)
{
    const char *path = in_dir("a"), *lost = in_dir("no/such");
    struct diag_sink diag = {0};
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    assert_true(file_put("-", "shown", 5, f, &diag));
    assert_true(file_put(path, "kept", 4, f, &diag));
    assert_int_equal(diag.n, 0);
    assert_false(file_put(lost, "x", 1, f, &diag));
    assert_int_equal(diag.errors, 1);
    assert_non_null(strstr(diag.list[0]->message, "cannot write"));
    assert_non_null(strstr(diag.list[0]->message, "no/such: No such file"));
    fclose(f);
    assert_string_equal(text, "shown");
    expect(path, "kept");
    free(text);
    diag_free(&diag);
}

static int
begin(void **st)
{
    umask(0137);
    return !mkdtemp(dir);
}

static int
end(void **st)
{
    static const char *const names[] = {"a", "link", "target", "folder"};
    for (size_t i = 0; i < 4; i++)
        remove(in_dir(names[i]));
    return rmdir(dir); /* nothing half-written is left */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced),
        cmocka_unit_test(a_link_and_a_pipe_stay),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(a_dash_is_a_stream),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
