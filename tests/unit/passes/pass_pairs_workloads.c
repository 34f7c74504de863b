/* pass_pairs_workloads.c: every ordered pair of passes over small workloads, as passes of their
 * launches, each verified after each. The memory that a workload leaves equals that of its run
 * without passes, or one of the two refuses by its name. Where a pair releases scratchpad or
 * takes it, it also runs on the machine that keeps the promise.
 *
 * A test run takes every EVERYth pair, other ones of each workload; ALLOT_PAIRS_EVERY=1 (./x
 * night) all of them. */
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

#include "passes/pass.h"

#include <stdio.h>

enum { EVERY = 8 };

static const struct {
    const char *name, *compiler;
} workloads[] = {{"backprop", "clang"}, {"lud", "nvcc"}, {"histogram", "nvcc"}};

/* Settings without which a pass does nothing, or refuses. */
static const struct {
    const char *pass, *with;
} settings[] = {
    {"register-allocate", "register-allocate:max-registers=20"},
    {"unified-alloc", "unified-alloc:registers=20"},
    {"persistent-blocks", "persistent-blocks:tlp=2"},
    {"dead-code", "dead-code:red=yes"},
    {"scratchpad-layout", "scratchpad-layout:threshold=0.1"},
    {"relssp", "relssp:threshold=0.1"},
};

static const char *
with_settings(const char *pass)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strcmp(settings[i].pass, pass))
            return settings[i].with;
    return pass;
}

/* Runs workload w; its memory's hash to *hash. policy: NULL: functional, promises of relssp and
 * multiplex-hw checked. False: it failed, text says why. */
static bool
run(size_t w, const char *passes, const char *policy, uint64_t *hash, char text[1024])
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const struct allot_workload *x = allot_workload_find(workloads[w].name);
    assert_non_null(x);
    const char *ptx = allot_workload_ptx(x->name, workloads[w].compiler, &len);
    struct allot_module *m = allot_module_parse(x->name, ptx, len, d);
    struct allot_machine *machine = allot_machine_load("003-gtx480-16k", d);
    struct allot_options options = {.functional = !policy, .check_analyses = !policy};
    char check[256] = "";
    assert_true(m && machine);
    if (!allot_machine_set(machine, "compiler.registers", "virtual", d) ||
        !allot_machine_set(machine, "compiler.passes", passes, d) ||
        !allot_machine_set(machine, "sm.count", "2", d) ||
        (policy && !allot_machine_set(machine, "residency.policy", policy, d)))
        fail_msg("%s", allot_diag_text(d));
    struct allot_device *dev = allot_device_new(machine, &options, d);
    assert_non_null(dev);
    spy_begin();
    const bool ok = allot_workload_run(x, dev, m, true, 1, check, d);
    *hash = ok ? spy_end(dev) : 0;
    snprintf(text, 1024, "%s %s", check, allot_diag_text(d));
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return ok;
}

/* A refusal's first line names one of the two. */
static bool
refused(const char *text, const char *first, const char *second)
{
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    return (strstr(line, first) || strstr(line, second)) && !strstr(line, " left ") &&
           !strstr(line, "made what") && !strstr(line, "in one place");
}

static unsigned failures, ran, refusals;

static void
pair(size_t w, const char *first, const char *second, uint64_t want)
{
    static const struct {
        const char *pass, *policy;
    } keepers[] = {{"relssp", "scratchpad-sharing"}, {"multiplex-hw", "multiplexing"}};
    const char *ways[3] = {NULL};
    unsigned n = 1;
    char both[160], text[1024];
    for (int k = 0; k < 2; k++)
        if (!strcmp(first, keepers[k].pass) || !strcmp(second, keepers[k].pass))
            ways[n++] = keepers[k].policy;
    snprintf(both, sizeof both, "%s,%s", with_settings(first), with_settings(second));
    for (unsigned k = 0; k < n; k++) {
        uint64_t got;
        const bool ok = run(w, both, ways[k], &got, text);
        ran += ok;
        if (!ok && refused(text, first, second)) {
            refusals++;
            return;
        }
        if (ok && got == want)
            continue;
        failures++;
        printf("%s by %s, -p %s, %s: %s\n", workloads[w].name, workloads[w].compiler,
               both, ways[k] ? ways[k] : "functional", ok ? "other memory" : text);
    }
}

static void
every_pair(void **state)
{
    const char *given = getenv("ALLOT_PAIRS_EVERY");
    const size_t every = given ? strtoul(given, NULL, 10) : EVERY;
    (void)state;
    assert_true(every > 0);
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++) {
        uint64_t want;
        char text[1024];
        if (!run(w, "", NULL, &want, text))
            fail_msg("%s: %s", workloads[w].name, text);
        for (size_t i = 0; pass_at(i); i++)
            for (size_t j = 0; pass_at(j); j++)
                if ((i + 2 * j + w) % every == 0 && in_sample(i + j, (unsigned)w))
                    pair(w, pass_at(i)->name, pass_at(j)->name, want);
    }
    printf("%u runs, %u pairs refused\n", ran, refusals);
    assert_int_equal(failures, 0);
    assert_true(ran > 10 * refusals);
}

int
main(void)
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    setenv("ALLOT_VERIFY_EACH", "1", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
