/* runtime_watchdog.c: an endless loop of the simulator within one cycle, or within one
 * instruction of functional mode, is told as a fault of allot; kernels that only take long, and
 * callers that do, are not. A question of the kernel to its caller (allot_options.attribute)
 * that is never answered stands for the loop. */
#include "unit/kit/runtime_kit.h"
#include "unit/kit/sanitized.h"

#include "base/clock.h"
#include "runtime/device.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernel `asks` asks for an attribute; kernel `counts` counts to n. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 r) cudaDeviceGetAttribute"
    "(.param .b64 a, .param .b32 b, .param .b32 c);\n"
    ".visible .entry asks(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %a;\n.reg .b32 %r;\n"
    "ld.param.u64 %a, [p];\n"
    "{\n.param .b64 x;\n.param .b32 y;\n.param .b32 z;\n.param .b32 v;\n"
    "st.param.b64 [x], %a;\nst.param.b32 [y], 1;\nst.param.b32 [z], 0;\n"
    "call.uni (v), cudaDeviceGetAttribute, (x, y, z);\nld.param.b32 %r, [v];\n}\n"
    "st.global.u32 [%a+4], %r;\nret;\n}\n"
    ".visible .entry counts(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %i, %n;\n"
    ".reg .pred %q;\nld.param.u32 %n, [n];\nmov.u32 %i, 0;\nL:\nadd.u32 %i, %i, 1;\n"
    "setp.lt.u32 %q, %i, %n;\n@%q bra L;\nret;\n}\n";

static void
burn(double seconds)
{
    const double t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t < seconds)
        ;
}

static int
never_answered(int number, int *value)
{
    volatile bool go_on = true;
    while (go_on)
        ;
    return *value = number;
}

static int
answered_after_a_while(int number, int *value)
{
    burn(0.02);
    return *value = number;
}

static bool
slow_caller(void *user, const struct allot_progress *p)
{
    (void)p;
    burn(*(double *)user);
    return true;
}

enum {
    MOST_CPU = 5,
    MOST_TIME = 100 /* seconds: as long as a loop lasts that is not found */
};

/* A launch in a child, which is killed by a signal (returned) or exits (0: launched). */
static int
launch(const char *kernel, unsigned n, double patience,
       const struct allot_options *options, char *said, size_t size)
{
    int to[2], status;
    assert_int_equal(pipe(to), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct rt_kit k;
        const struct rlimit most = {MOST_CPU, MOST_CPU};
        setrlimit(RLIMIT_CPU, &most);
        alarm(MOST_TIME);
        signal(SIGABRT, SIG_DFL); /* cmocka's own handlers otherwise */
        signal(SIGALRM, SIG_DFL);
        dup2(to[1], STDERR_FILENO);
        rt_open(&k, ptx, options);
        k.dev->patience = patience;
        uint64_t p = allot_alloc(k.dev, 64, k.d);
        const void *args[] = {&p, &n};
        struct allot_launch l = {
            .module = k.mod, .kernel = kernel, .args = args, .nargs = 2};
        const bool ok = allot_launch(k.dev, &l, k.d);
        if (!ok)
            fprintf(stderr, "%s", allot_diag_text(k.d));
        rt_close(&k);
        _exit(!ok);
    }
    close(to[1]);
    size_t got = 0;
    for (ssize_t r; (r = read(to[0], said + got, size - 1 - got)) > 0;)
        got += (size_t)r;
    said[got] = 0;
    close(to[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void
has(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("not there: %s\nin: %s", words, text);
}

static void
an_endless_loop_within_a_cycle_is_told(void **state)
{
    static char said[1 << 16];
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct allot_options o = {.threads = threads, .attribute = never_answered};
        assert_int_equal(launch("asks", 0, 0.2, &o, said, sizeof said), SIGABRT);
        has(said, "fault of allot: an endless loop");
        has(said, "kernel 'asks' on gtx480, after core cycle");
        has(said, "host thread ");
        has(said, "Who waits for what:\n  SM 0");
    }
}

static void
an_endless_loop_within_an_instruction_is_told(void **state)
{
    static char said[1 << 16];
    (void)state;
    const struct allot_options o = {.functional = true, .attribute = never_answered};
    assert_int_equal(launch("asks", 0, 0.2, &o, said, sizeof said), SIGABRT);
    has(said, "kernel 'asks' on gtx480, functional mode");
    has(said, "Who waits for what:\n");
}

static void
what_takes_long_is_no_loop(void **state)
{
    static char said[1 << 16];
    static double slow = 0.3;
    const unsigned slower = SANITIZED ? 8 : 1;
    (void)state;
    const struct allot_options timed = {.threads = 1}, functional = {.functional = true},
                               asked = {.attribute = answered_after_a_while},
                               told = {.watch = slow_caller, .user = &slow};
    /* longer than the patience, without a block that ends */
    assert_int_equal(launch("counts", 150000 / slower, 0.05, &timed, said, sizeof said),
                     0);
    assert_int_equal(
        launch("counts", 15000000 / slower, 0.05, &functional, said, sizeof said), 0);
    assert_int_equal(launch("asks", 0, 0.2, &asked, said, sizeof said), 0);
    /* the caller's own time */
    assert_int_equal(launch("counts", 10, 0.1, &told, said, sizeof said), 0);
}

static void
a_device_that_is_idle_is_no_loop(void **state)
{
    struct rt_kit k;
    (void)state;
    rt_open(&k, ptx, NULL);
    k.dev->patience = 0.05;
    uint64_t p = allot_alloc(k.dev, 64, k.d);
    unsigned n = 1;
    const void *args[] = {&p, &n};
    struct allot_launch l = {
        .module = k.mod, .kernel = "counts", .args = args, .nargs = 2};
    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(allot_launch(k.dev, &l, k.d));
        burn(0.2);
    }
    rt_close(&k);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endless_loop_within_a_cycle_is_told),
        cmocka_unit_test(an_endless_loop_within_an_instruction_is_told),
        cmocka_unit_test(what_takes_long_is_no_loop),
        cmocka_unit_test(a_device_that_is_idle_is_no_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
