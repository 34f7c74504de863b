/* main.c: random-kernel: prints random kernels, tests allot with them.
 *
 *     random-kernel print SEED | print --bytes FILE
 *     random-kernel TEST [FIRST [COUNT]]    TEST: one of `tests` below
 *     random-kernel night 1 2000            what a night may find
 *
 * Tests take seeds FIRST to FIRST + COUNT - 1: from 1 as many as stand below, times
 * $ALLOT_RANDOM_TIMES if that is set. docs/testing.md. */
#include "check.h"

#include "allot/allot.h"
#include "unit/kit/ptx_kit.h"
#include "unit/kit/skip.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
enum { SLOWER = 8 }; /* fewer seeds */
#else
enum { SLOWER = 1 };
#endif
enum { FIRST_FAILURES = 10, MOST_SECONDS = 120 };

static unsigned few, copied;

static bool
test_executor(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    return rk_test_executor(k, why);
}

static bool
test_passes(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    static const char reorder[] = "reorder-registers";
    const char *name, *meaning;
    bool ok = true;
    for (uint64_t i = 0; ok && i < 3; i++) {
        struct strbuf p = {0};
        rk_pipeline(seed * 3 + i, &p);
        ok = rk_test_passes(k, p.s, &few, why);
        strbuf_free(&p);
    }
    for (size_t i = 0; ok && seed % 4 == 0 && allot_pass(i, &name, &meaning); i++) {
        if (!strcmp(name, reorder)) /* it needs registers */
            name = "register-allocate,reorder-registers";
        else if (!strcmp(name, "persistent-blocks")) /* it must be told how many */
            name = "persistent-blocks:tlp=3";
        ok = rk_test_passes(k, name, &few, why);
    }
    return ok;
}

/* As a machine of today runs it: scheduled, with copied loops, with its registers. */
static bool
test_machine(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    (void)seed;
    return rk_test_machine(k, &copied, why);
}

/* No register loses a value that a lane still needs when power states switch it off. */
static bool
test_power(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    static const char *const pipelines[] = {
        "power-states:window=1", "register-allocate,power-states:window=1",
        "cleanup,schedule,register-allocate,power-states:window=3",
        "register-allocate:max-registers=20,power-states:window=1"};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof pipelines / sizeof *pipelines; i++)
        ok = rk_test_passes(k, pipelines[i], &few, why);
    return ok;
}

/* The thesis' own rule, to compare: it breaks kernels whose warps part. */
static bool
test_power_literal(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    return rk_test_passes(k, "power-states:window=1:divergence=literal", &few, why);
}

/* Registers, scratchpad and local memory at ever fewer registers. */
static bool
test_unified(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    (void)seed;
    return rk_test_unified(k, &few, why);
}

static bool
test_timing(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    return rk_test_timing(k, seed, why);
}

static bool
test_night(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    return rk_test_night(k, seed, &few, why);
}

static bool
test_machines(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    return rk_test_machines(k, seed, &few, why);
}

static bool
test_settings(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    return rk_test_settings(k, seed, &few, why);
}

/* The kernel, and what a pipeline makes of it. */
static bool
test_ptxas(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    struct strbuf text = {0}, pipeline = {0};
    rk_print(k, &text);
    bool ok = !kit_assemble(kit_ptxas(), text.s, "sm_80", why);
    strbuf_free(&text);
    if (ok) {
        rk_pipeline(seed, &pipeline);
        strbuf_addz(&pipeline, ",strip-extensions");
        ok = rk_transform(k, pipeline.s, &text, why) == RK_REFUSED ||
             (text.s && !kit_assemble(kit_ptxas(), text.s, "sm_80", why));
        if (!ok)
            strbuf_printf(why, "(after -p %s)\n", pipeline.s);
    }
    strbuf_free(&text);
    strbuf_free(&pipeline);
    return ok;
}

static const struct {
    const char *name;
    bool (*run)(const struct rk_kernel *k, uint64_t seed, struct strbuf *why);
    uint64_t count;
} tests[] = {{"executor", test_executor, 400},
             {"passes", test_passes, 64},
             {"machine", test_machine, 64},
             {"power", test_power, 64},
             {"power-literal", test_power_literal, 64},
             {"unified", test_unified, 24},
             {"timing", test_timing, 48},
             {"machines", test_machines, 80},
             {"settings", test_settings, 80},
             {"ptxas", test_ptxas, 16},
             {"night", test_night, 80}};

/* One seed; says what failed. */
static bool
seed_passes(size_t which, uint64_t seed)
{
    struct rk_kernel *k = rk_from_seed(seed);
    struct strbuf why = {0};
    bool ok = tests[which].run(k, seed, &why);
    if (!ok)
        printf("seed %" PRIu64 ": %s  its kernel: random-kernel print %" PRIu64
               "; again: random-kernel %s %" PRIu64 " 1\n",
               seed, why.s ? why.s : "failed without a word\n", seed, tests[which].name,
               seed);
    strbuf_free(&why);
    rk_free(k);
    return ok;
}

static void
fatal(int number)
{
    (void)!write(STDOUT_FILENO, rk_doing, strlen(rk_doing));
    signal(number, SIG_DFL);
    raise(number);
}

/* The same in a process of its own: a crash, or a kernel that never ends, is a failure of
 * that seed alone. */
static bool
seed_survives(size_t which, uint64_t seed)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return seed_passes(which, seed);
    if (!child) {
        static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM};
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], fatal);
        alarm(MOST_SECONDS);
        few = 0;
        bool ok = seed_passes(which, seed);
        fflush(stdout);
        _exit(!ok ? 1 : few ? 2 : 0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        ;
    few += WIFEXITED(status) && WEXITSTATUS(status) == 2;
    if (WIFSIGNALED(status))
        printf("seed %" PRIu64 ": %s; again: random-kernel %s %" PRIu64 " 1\n", seed,
               WTERMSIG(status) == SIGALRM ? "did not end" : strsignal(WTERMSIG(status)),
               tests[which].name, seed);
    return WIFEXITED(status) && WEXITSTATUS(status) != 1;
}

static int
test(size_t which, uint64_t first, uint64_t count)
{
    unsigned failed = 0;
    if (tests[which].run == test_ptxas && !kit_ptxas()) {
        puts("SKIP: needs ptxas");
        return SKIPPED;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash loses no line */
    bool apart = tests[which].run == test_night;
    for (uint64_t seed = first; seed - first < count && failed < FIRST_FAILURES; seed++)
        failed += !(apart ? seed_survives(which, seed) : seed_passes(which, seed));
    if (tests[which].run == test_machine) {
        printf("loops were copied in %u of %" PRIu64 " kernels\n", copied, count);
        failed += count >= 32 && !copied; /* else nothing of `unroll` was tried */
    }
    if (few)
        printf(
            "%u pipelines were refused: too few registers, or launches that cannot be changed so\n",
            few);
    return failed != 0;
}

static int
print(const char *seed, const char *file)
{
    struct strbuf b = {0};
    size_t n = 0;
    char *data = file ? file_read(file, &n) : NULL;
    if (file && !data) {
        fprintf(stderr, "random-kernel: cannot read %s\n", file);
        return 2;
    }
    struct rk_kernel *k = file ? rk_from_bytes((const uint8_t *)data, n)
                               : rk_from_seed(strtoull(seed, NULL, 0));
    rk_print(k, &b);
    fputs(b.s, stdout);
    strbuf_free(&b);
    rk_free(k);
    free(data);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "print"))
        return print(argv[2], NULL);
    if (argc == 4 && !strcmp(argv[1], "print") && !strcmp(argv[2], "--bytes"))
        return print(NULL, argv[3]);
    for (size_t i = 0; argc >= 2 && argc <= 4 && i < sizeof tests / sizeof *tests; i++)
        if (!strcmp(argv[1], tests[i].name)) {
            const char *times = getenv("ALLOT_RANDOM_TIMES");
            uint64_t count =
                tests[i].count / SLOWER * (times ? strtoull(times, NULL, 10) : 1);
            return test(i, argc > 2 ? strtoull(argv[2], NULL, 0) : 1,
                        argc > 3 ? strtoull(argv[3], NULL, 0) : count);
        }
    fputs(
        "usage: random-kernel print SEED | print --bytes FILE\n"
        "       random-kernel executor|passes|machine|power|power-literal|unified|timing|machines|settings|ptxas|night "
        "[FIRST [COUNT]]\n",
        stderr);
    return 2;
}
