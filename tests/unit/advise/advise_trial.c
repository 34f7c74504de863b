/* advise_trial.c: simulations in processes: what becomes of a candidate that changes nothing, the
 * results, or the time; of one that is refused; and where time is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/trial.h"
#include "base/clock.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Each thread sums a column of 16 words and stores the sum, or with %r9 in its place a clock. */
#define KERNEL(value)                                                                    \
    ".version 6.0\n.target sm_30\n.address_size 64\n"                                    \
    ".visible .entry k(.param .u64 p)\n{\n"                                              \
    " .reg .b32 %r<10>;\n .reg .b64 %d<4>;\n .reg .pred %q;\n"                           \
    " ld.param.u64 %d1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, %ctaid.x;\n"          \
    " mad.lo.u32 %r3, %r2, 128, %r1;\n mul.wide.u32 %d2, %r3, 4;\n"                      \
    " add.u64 %d2, %d1, %d2;\n mov.u32 %r4, 0;\n mov.u32 %r5, 0;\n"                      \
    "loop:\n ld.global.u32 %r6, [%d2];\n add.u32 %r4, %r4, %r6;\n"                       \
    " add.u64 %d2, %d2, 32768;\n add.u32 %r5, %r5, 1;\n setp.lt.u32 %q, %r5, 16;\n"      \
    " @%q bra loop;\n mov.u32 %r9, %clock;\n st.global.u32 [%d2], " value                \
    ";\n ret;\n}\n"

static bool stop;
static bool
stopped(void)
{
    return stop;
}

struct kit {
    struct arena mem;
    struct diag_sink diag;
    struct allot_diag *d;
    struct allot_machine *m;
    struct subject subject;
    struct trials x;
    struct trial original;
};

static void
open_kit(struct kit *k, const char *ptx)
{
    static const char *const args[] = {"buf:1048576xu32,init=iota"};
    static const struct launch_desc desc = {
        .grid = "60", .block = "128", .args = args, .nargs = 1};
    struct allot_device *dev;
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    memset(k, 0, sizeof *k);
    stop = false;
    k->d = allot_diag_new();
    k->m = allot_machine_load("gtx480", k->d);
    k->subject = (struct subject){
        .name = "k.ptx", .desc = &desc, .data = ptx, .len = strlen(ptx), .seed = 1};
    struct allot_module *mod = k->m ? subject_module(&k->subject, k->m, k->d) : NULL;
    k->x = (struct trials){.subject = &k->subject,
                           .mod = mod,
                           .machine = k->m,
                           .options = {.threads = 1},
                           .jobs = 2,
                           .stopped = stopped,
                           .mem = &k->mem};
    if (!mod || !subject_ready(&k->subject, mod, &k->mem, &k->diag) ||
        !trial_original(&k->x, &k->original, &dev, k->d))
        fail_msg("%s", allot_diag_text(k->d));
    assert_int_equal(k->original.state, TRIAL_DONE);
    assert_int_equal(k->x.nname, 1);
    allot_device_free(dev);
}

static void
close_kit(struct kit *k)
{
    allot_module_free(k->x.mod);
    allot_machine_free(k->m);
    allot_diag_free(k->d);
    diag_free(&k->diag);
    arena_free(&k->mem);
}

/* n candidates of these settings, all with this limit. */
static bool
run(struct kit *k, const char *const *settings, size_t n, uint64_t limit, struct trial *t)
{
    struct candidate c[8];
    const struct candidate *at[8];
    uint64_t limits[8];
    for (size_t i = 0; i < n; i++) {
        c[i] = (struct candidate){
            .row = candidates_row(0), .name = settings[i], .settings = settings[i]};
        at[i] = &c[i];
        limits[i] = limit;
    }
    return trial_all(&k->x, at, limits, &k->original, t, n);
}

static void
each_in_its_place(void **st)
{
    static const char *const settings[] = {"sm.scheduler=lrr", "residency.max_blocks=8",
                                           "residency.max_blocks=1", "no.such=1",
                                           "compiler.passes=no-such-pass"};
    struct kit k;
    struct trial t[5];
    open_kit(&k, KERNEL("%r4"));
    assert_true(run(&k, settings, 5, 0, t));
    assert_int_equal(t[0].state, TRIAL_DONE);
    assert_string_equal(t[0].memory, k.original.memory);
    assert_int_equal(t[1].state, TRIAL_NOTHING); /* gtx480's own limit */
    assert_int_equal(t[1].cycles, k.original.cycles);
    assert_true(t[1].joules > 0 && t[1].joules == k.original.joules);
    assert_int_equal(t[2].state, TRIAL_DONE);
    assert_true(t[2].cycles > 2 * k.original.cycles); /* 4 warps an SM, not 16 */
    assert_int_equal(t[2].cycles, t[2].kernel[0].stats.gpu.cycles);
    assert_int_equal(t[3].state, TRIAL_REFUSED);
    assert_int_equal(t[4].state, TRIAL_REFUSED);
    assert_non_null(strstr(t[4].why, "no-such-pass"));
    close_kit(&k);
    (void)st;
}

static void
beyond_its_cycles(void **st)
{
    static const char *const settings[] = {"residency.max_blocks=1",
                                           "residency.max_blocks=8"};
    struct kit k;
    struct trial t[2];
    open_kit(&k, KERNEL("%r4"));
    assert_true(run(&k, settings, 2, k.original.cycles, t));
    assert_int_equal(t[0].state, TRIAL_SLOWER);
    assert_int_equal(t[1].state, TRIAL_NOTHING); /* its cycles to the digit */
    close_kit(&k);
    (void)st;
}

static void
other_results(void **st)
{
    static const char *const settings[] = {"residency.max_blocks=1",
                                           "residency.max_blocks=8"};
    struct kit k;
    struct trial t[2];
    open_kit(&k, KERNEL("%r9"));
    assert_true(run(&k, settings, 2, 0, t));
    assert_int_equal(t[0].state, TRIAL_WRONG);
    assert_true(*t[0].why);
    assert_int_equal(t[1].state, TRIAL_NOTHING);
    close_kit(&k);
    (void)st;
}

static void
time_is_over(void **st)
{
    static const char *const settings[] = {"sm.scheduler=lrr", "residency.max_blocks=1"};
    struct kit k;
    struct trial t[2];
    open_kit(&k, KERNEL("%r4"));
    k.x.until = clock_seconds(CLOCK_MONOTONIC) - 1;
    assert_false(run(&k, settings, 2, 0, t));
    assert_int_equal(t[0].state, TRIAL_NOT_TRIED);
    assert_int_equal(t[1].state, TRIAL_NOT_TRIED);
    k.x.until = 0;
    stop = true;
    assert_false(run(&k, settings, 2, 0, t));
    assert_int_equal(t[1].state, TRIAL_NOT_TRIED);
    close_kit(&k);
    (void)st;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_in_its_place),
        cmocka_unit_test(beyond_its_cycles),
        cmocka_unit_test(other_results),
        cmocka_unit_test(time_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
