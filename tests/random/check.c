/* check.c: runs random kernels through the public interface and compares memory. */
#include "check.h"
#include "tree.h"

#include "allot/allot.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
settings(struct allot_machine *m, const char *text, struct allot_diag *d)
{
    char *list = xstrdup(text), *save = NULL;
    bool ok = true;
    for (char *s = strtok_r(list, " ", &save); s && ok; s = strtok_r(NULL, " ", &save)) {
        char *value = strchr(s, '=');
        *value = 0;
        ok = allot_machine_set(m, s, value + 1, d);
    }
    free(list);
    return ok;
}

/* Every counter of a result. */
static uint64_t *
counters_of(const struct allot_result *r, size_t *n)
{
    struct allot_stat_info info;
    uint64_t *c = NULL;
    *n = 0;
    for (size_t i = 0; allot_stat(i, &info); i++)
        if (!info.derived) {
            c = xrealloc(c, (*n + 1) * sizeof *c);
            c[*n] = 0;
            allot_result_get(r, info.id, &c[(*n)++], NULL);
        }
    return c;
}

static const char *
counter_name(size_t n)
{
    struct allot_stat_info info;
    for (size_t i = 0; allot_stat(i, &info); i++)
        if (!info.derived && !n--)
            return info.id;
    return "?";
}

static bool
launch(const struct rk_kernel *k, struct allot_device *dev, struct allot_module *m,
       uint8_t *memory, struct allot_diag *d)
{
    struct rk_launch l = rk_launch(k);
    uint64_t in = allot_alloc(dev, RK_INPUT_BYTES, d),
             acc = allot_alloc(dev, l.acc_bytes, d),
             slots = allot_alloc(dev, l.slot_bytes, d);
    const void *args[3 + RK_MAX_PARAMS] = {&in, &acc, &slots};
    for (unsigned i = 0; i < l.nscalars; i++)
        args[3 + i] = &l.scalars[i];
    struct allot_launch run = {.module = m,
                               .kernel = "k",
                               .grid = {l.blocks, 1, 1},
                               .block = {l.threads, 1, 1},
                               .dynamic_scratchpad = l.dynamic_bytes,
                               .args = args,
                               .nargs = 3 + l.nscalars};
    return in && acc && slots && allot_write(dev, in, rk_input(k), RK_INPUT_BYTES, d) &&
           allot_write(dev, acc, memory, l.acc_bytes, d) &&
           allot_write(dev, slots, memory + l.acc_bytes, l.slot_bytes, d) &&
           allot_launch(dev, &run, d) && allot_read(dev, acc, memory, l.acc_bytes, d) &&
           allot_read(dev, slots, memory + l.acc_bytes, l.slot_bytes, d);
}

static struct allot_module *
parse(const struct rk_kernel *k, struct allot_diag *d)
{
    struct strbuf text = {0};
    rk_print(k, &text);
    struct allot_module *m = allot_module_parse("random.ptx", text.s, text.n, d);
    strbuf_free(&text);
    return m;
}

/* How it ended: `ok`, and nothing to warn of. Frees d. */
static enum rk_end
end_of(bool ok, struct allot_diag *d, struct strbuf *why)
{
    const char *said = allot_diag_text(d);
    bool refused = strstr(said, "cannot do with ") ||
                   strstr(said, "for launches changed by") ||
                   strstr(said, "not even one block fits");
    enum rk_end end = ok && !*said ? RK_RAN : refused ? RK_REFUSED : RK_FAILED;
    if (end == RK_FAILED)
        strbuf_addz(why, said);
    allot_diag_free(d);
    return end;
}

enum rk_end
rk_transform(const struct rk_kernel *k, const char *pipeline, struct strbuf *text,
             struct strbuf *why)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = parse(k, d);
    bool ok = m && allot_module_opt(m, pipeline, NULL, d);
    if (ok) {
        char *s = allot_module_print(m);
        strbuf_addz(text, s);
        free(s);
    }
    if (m)
        allot_module_free(m);
    return end_of(ok, d, why);
}

char rk_doing[1024];

enum rk_end
rk_run(const struct rk_kernel *k, const struct rk_way *way, uint8_t **memory,
       uint64_t **counters, size_t *ncounters, struct strbuf *why)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = parse(k, d);
    struct allot_machine *machine = allot_machine_load(way->machine, d);
    /* Analyses promise what a kernel touches: hold them to it. */
    struct allot_options o = {.functional = !way->timing,
                              .by_line = way->timing, /* the engine checks its sums */
                              .check_analyses = !way->timing,
                              .threads = way->threads,
                              .no_skip = way->no_skip,
                              .max_cycles = 20000000,
                              .max_instructions = 20000000};
    struct allot_device *dev = NULL;
    uint8_t *result = rk_initial(k);
    snprintf(rk_doing, sizeof rk_doing, "in %s mode on %s, %s, -p \"%s\", %u threads%s\n",
             way->timing ? "timing" : "functional", way->machine, way->settings,
             way->passes, way->threads, way->no_skip ? ", no skipping" : "");
    bool ok =
        m && machine &&
        (way->timing || allot_machine_set(machine, "compiler.registers", "virtual", d)) &&
        settings(machine, way->settings, d) &&
        allot_module_opt(m, way->passes, NULL, d) &&
        (dev = allot_device_new(machine, &o, d)) && launch(k, dev, m, result, d);
    if (ok && counters)
        *counters = counters_of(allot_result_at(dev, 0), ncounters);
    if (dev)
        allot_device_free(dev);
    if (machine)
        allot_machine_free(machine);
    if (m)
        allot_module_free(m);
    enum rk_end end = end_of(ok, d, why);
    if (end == RK_RAN)
        *memory = result;
    else
        free(result);
    return end;
}

bool
rk_same(const struct rk_kernel *k, const uint8_t *want, const uint8_t *got,
        struct strbuf *why)
{
    struct rk_launch l = rk_launch(k);
    uint64_t n = l.acc_bytes + l.slot_bytes;
    for (uint64_t i = 0; i < n; i += 8) {
        uint64_t a, b;
        memcpy(&a, want + i, 8);
        memcpy(&b, got + i, 8);
        if (a == b)
            continue;
        rk_where(k, i, why);
        strbuf_printf(why, ": 0x%" PRIx64 ", not 0x%" PRIx64 "\n", b, a);
        return false;
    }
    return true;
}

void
rk_pipeline(uint64_t seed, struct strbuf *b)
{
    static const char *const any[] = {
        "copy-propagation",
        "constant-fold",
        "common-subexpressions",
        "address-fold",
        "narrow-addresses",
        "unroll",
        "unroll,constant-fold,address-fold,cleanup",
        "multiply-add",
        "dead-code",
        "cleanup",
        "scratchpad-layout:threshold=0.3",
        "dead-code",
        "constant-fold",
        "schedule",
        "schedule:registers=none",
        "cleanup,schedule:registers=24",
        "literal-moves",
        "late-operands",
        "merge-loads",
        "repeated-loads",
        "late-products",
        "cleanup,late-products,if-convert,schedule,late-operands",
        "cleanup,unroll,repeated-loads,cleanup",
        "if-convert",
        "guard-selects",
        "parameter-vectors",
        "merge-scratchpad",
        "late-extensions",
        "merge-scratchpad,cleanup,address-sums,cleanup,merge-loads",
        "pack-halves",
        "cleanup,if-convert,guard-selects,schedule",
        "address-sums",
        "cleanup,unroll,cleanup,address-sums,cleanup",
        "jumps",
        "jumps:back=yes,block-order,jumps",
        "sink",
        "hoist",
        "block-order",
        "cleanup,jumps,unroll,block-order,jumps,constant-fold,cleanup,if-convert,sink",
        "cleanup,if-convert,schedule",
        "unroll,cleanup,merge-loads",
        "schedule:operands=late,late-operands",
        "post-schedule",
        "late-operands,post-schedule:banks=2",
        "cleanup,if-convert,schedule:operands=late,late-operands,post-schedule",
        "dead-code:red=yes",
        "cleanup,multiply-add:each=yes,dead-code",
        "constant-registers",
        ("multiply-add:each=yes,constant-registers,schedule:operands=late,late-operands,"
         "post-schedule"),
    };
    static const char *const relssp[] = {
        "relssp:threshold=0.3", "relssp:threshold=0.3:mode=postdom",
        "relssp:threshold=0.3:mode=exit", "relssp,strip-extensions"};
    static const char *const allocate[] = {"register-allocate",
                                           "register-allocate:max-registers=64",
                                           "register-allocate:max-registers=40",
                                           "register-allocate:max-registers=32",
                                           "register-allocate:max-registers=24",
                                           "register-allocate:max-registers=20"};
    uint64_t state = seed;
    const char *comma = "";
    for (unsigned n = splitmix_next(&state) % 6; n > 0; n--, comma = ",")
        strbuf_printf(b, "%s%s", comma,
                      any[splitmix_next(&state) % (sizeof any / sizeof *any)]);
    if (splitmix_next(&state) % 4 == 0) {
        strbuf_printf(b, "%s%s", comma, relssp[splitmix_next(&state) % 4]);
        comma = ",";
    }
    if (splitmix_next(&state) % 4) {
        strbuf_printf(b, "%s%s", comma, allocate[splitmix_next(&state) % 6]);
        if (splitmix_next(&state) % 2)
            strbuf_addz(b, ",reorder-registers");
    } else if (!*comma) {
        strbuf_addz(b, "cleanup");
    }
}

static const struct rk_way plain = {.machine = "gtx480", .settings = "", .passes = ""};

bool
rk_test_executor(const struct rk_kernel *k, struct strbuf *why)
{
    struct rk_way way = plain;
    uint8_t *want = rk_evaluate(k);
    bool ok = true;
    for (way.threads = 1; ok && way.threads <= 3; way.threads += 2) {
        uint8_t *got = NULL;
        ok = rk_run(k, &way, &got, NULL, NULL, why) == RK_RAN &&
             rk_same(k, want, got, why);
        if (!ok)
            strbuf_printf(why, "(executor, %u threads, against the evaluation in C)\n",
                          way.threads);
        free(got);
    }
    free(want);
    return ok;
}

bool
rk_test_passes(const struct rk_kernel *k, const char *pipeline, unsigned *few,
               struct strbuf *why)
{
    struct rk_way way = plain;
    uint8_t *want = NULL, *got = NULL;
    way.passes = pipeline;
    bool ok = rk_run(k, &plain, &want, NULL, NULL, why) == RK_RAN;
    if (ok) {
        enum rk_end end = rk_run(k, &way, &got, NULL, NULL, why);
        *few += end == RK_REFUSED;
        ok = end != RK_FAILED && (end != RK_RAN || rk_same(k, want, got, why));
    }
    if (!ok)
        strbuf_printf(why, "(after -p %s, against the kernel as it is)\n", pipeline);
    free(want);
    free(got);
    return ok;
}

bool
rk_test_machine(const struct rk_kernel *k, unsigned *copied, struct strbuf *why)
{
    static const struct rk_way own = {
        .machine = "a100", .settings = "compiler.registers=allocated", .passes = ""};
    uint8_t *want = NULL, *got = NULL;
    struct strbuf plain_text = {0}, text = {0};
    bool ok = rk_run(k, &plain, &want, NULL, NULL, why) == RK_RAN &&
              rk_run(k, &own, &got, NULL, NULL, why) == RK_RAN &&
              rk_same(k, want, got, why) &&
              rk_transform(k, "cleanup", &plain_text, why) == RK_RAN &&
              rk_transform(k, "cleanup,unroll", &text, why) == RK_RAN;
    if (ok)
        *copied += strcmp(plain_text.s, text.s) != 0;
    else
        strbuf_addz(why, "(a100's own passes, against the kernel as it is)\n");
    strbuf_free(&plain_text);
    strbuf_free(&text);
    free(want);
    free(got);
    return ok;
}

bool
rk_test_unified(const struct rk_kernel *k, unsigned *few, struct strbuf *why)
{
    uint8_t *want = NULL;
    bool ok = rk_run(k, &plain, &want, NULL, NULL, why) == RK_RAN;
    for (int limit = 40; ok && limit >= 12; limit -= 4) {
        char settings[80];
        snprintf(settings, sizeof settings,
                 "compiler.passes=%sunified-alloc:registers=%d%s",
                 limit % 8 ? "cleanup," : "", limit, limit % 12 ? "" : ":schedule=yes");
        struct rk_way way = plain;
        uint8_t *got = NULL;
        way.settings = settings;
        enum rk_end end = rk_run(k, &way, &got, NULL, NULL, why);
        *few += end == RK_REFUSED;
        ok = end != RK_FAILED && (end != RK_RAN || rk_same(k, want, got, why));
        if (!ok)
            strbuf_printf(why, "(%s, against the kernel as it is)\n", settings);
        free(got);
    }
    free(want);
    return ok;
}

/* The machine cannot hold the kernel, or takes too long for a test. */
static bool
refuses(struct strbuf *why)
{
    static const char *const words[] = {"not even one block fits", "needs physical",
                                        "cycles, the limit", "needs power states",
                                        "needs a power of two"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(why->s, words[i])) {
            strbuf_free(why);
            return true;
        }
    return false;
}

enum rk_end
rk_timing_agrees(const struct rk_kernel *k, struct rk_way way, struct strbuf *why)
{
    uint8_t *want = NULL;
    uint64_t *first = NULL;
    size_t n = 0;
    enum rk_end all = rk_run(k, &plain, &want, NULL, NULL, why);
    for (unsigned i = 0; all == RK_RAN && i < 4; i++) {
        way.no_skip = i == 3;
        way.threads = way.no_skip ? 1 : i + 1;
        uint8_t *got = NULL;
        uint64_t *counters = NULL;
        enum rk_end end = rk_run(k, &way, &got, &counters, &n, why);
        bool ok = end == RK_RAN && rk_same(k, want, got, why);
        for (size_t j = 0; ok && first && j < n; j++)
            if (counters[j] != first[j]) {
                strbuf_printf(why,
                              "%s: %" PRIu64 ", not %" PRIu64 " as with one thread\n",
                              counter_name(j), counters[j], first[j]);
                ok = false;
            }
        all = ok                                                           ? RK_RAN
              : end != RK_RAN && !i && (end == RK_REFUSED || refuses(why)) ? RK_REFUSED
                                                                           : RK_FAILED;
        free(got);
        if (first)
            free(counters);
        else
            first = counters;
    }
    if (all == RK_FAILED)
        strbuf_printf(why, "(timing mode on %s, %s, -p \"%s\", %u threads%s)\n",
                      way.machine, way.settings, way.passes, way.threads,
                      way.no_skip ? ", no skipping" : "");
    free(first);
    free(want);
    return all;
}

bool
rk_test_timing(const struct rk_kernel *k, uint64_t seed, struct strbuf *why)
{
    static const char *const machines[] = {"gtx480", "titan", "v100", "a100"};
    static const char *const schedulers[] = {"gto", "lrr", "two-level", "owf"};
    static const char *const residency[] = {
        "baseline", "scratchpad-sharing", "register-sharing",
        "register-scratchpad-sharing", "warp-level-divergence"};
    struct strbuf text = {0};
    uint64_t state = seed;
    struct rk_way way = {.machine = machines[splitmix_next(&state) % 4],
                         .passes = splitmix_next(&state) % 2 ? "" : "cleanup",
                         .timing = true};
    const char *policy = residency[splitmix_next(&state) % 5];
    bool allocated = splitmix_next(&state) % 2 || !strncmp(policy, "register", 8);
    strbuf_printf(&text, "sm.scheduler=%s residency.policy=%s compiler.registers=%s",
                  schedulers[splitmix_next(&state) % 4], policy,
                  allocated ? "allocated" : "virtual");
    way.settings = text.s;
    bool ok = rk_timing_agrees(k, way, why) == RK_RAN;
    strbuf_free(&text);
    return ok;
}

/* -- a night -- */

enum { MOST_NAMES = 64 };

static int
is_machine(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot && !strcmp(dot, ".yaml");
}

/* One of the machine files, in the order of their names; $ALLOT_RANDOM_MACHINE: that one. */
static void
draw_machine(uint64_t *state, char name[64])
{
    struct dirent **file;
    const char *only = getenv("ALLOT_RANDOM_MACHINE");
    int n = scandir(SOURCE_DIR "/machines", &file, is_machine, alphasort);
    RK_MUST(n > 0);
    uint64_t pick = splitmix_next(state) % (uint64_t)n;
    snprintf(name, 64, "%.*s", (int)strlen(file[pick]->d_name) - 5, file[pick]->d_name);
    if (only)
        snprintf(name, 64, "%s", only);
    while (n-- > 0)
        free(file[n]);
    free(file);
}

/* The smallest GPU of the machine: blocks share an SM. */
static unsigned
fewest_sms(const char *machine)
{
    static const char *const of[] = {"sm.per_cluster", "partition.halves"};
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load(machine, d);
    unsigned n = 1;
    for (int i = 0; m && i < 2; i++) {
        char text[32];
        if (allot_machine_get(m, of[i], text, sizeof text) && atoi(text) > 1)
            n *= (unsigned)atoi(text);
    }
    if (m)
        allot_machine_free(m);
    allot_diag_free(d);
    return n;
}

static const char *
draw_policy(uint64_t *state, const char *kind)
{
    const char *name[MOST_NAMES], *meaning;
    size_t n = 0;
    while (n < MOST_NAMES && allot_policy(kind, n, &name[n], &meaning))
        n++;
    RK_MUST(n > 0);
    return name[splitmix_next(state) % n];
}

/* What becomes of the blocks. */
static const char *
draw_blocks(uint64_t *state)
{
    static const char *const how[] = {"merge-blocks",
                                      "vtb",
                                      "vtb-pipe",
                                      "vtb-named",
                                      "co-vtb",
                                      "peel-loops,vtb",
                                      "region-shrink,vtb,late-stores",
                                      "persistent-blocks:tlp=1",
                                      "persistent-blocks:tlp=3"};
    return how[splitmix_next(state) % (sizeof how / sizeof *how)];
}

static bool
night_on_machine(const struct rk_kernel *k, uint64_t *state, const uint8_t *want,
                 unsigned *few, struct strbuf *why)
{
    struct strbuf settings = {0}, passes = {0};
    char machine[64];
    draw_machine(state, machine);
    const char *residency = draw_policy(state, "residency"),
               *power = draw_policy(state, "regpower");
    bool multiplexed = !strcmp(residency, "multiplexing"),
         allocated = splitmix_next(state) % 2 || strstr(residency, "register") ||
                     strcmp(power, "baseline") != 0;
    strbuf_printf(&settings,
                  "sm.scheduler=%s residency.policy=%s regpower.policy=%s "
                  "dram.scheduler=%s l2.replacement=%s l1d.replacement=%s "
                  "compiler.registers=%s",
                  draw_policy(state, "schedulers"), residency, power,
                  draw_policy(state, "dram"), draw_policy(state, "replacement"),
                  draw_policy(state, "replacement"), allocated ? "allocated" : "virtual");
    if (splitmix_next(state) % 2)
        strbuf_printf(&settings, " sm.count=%u", fewest_sms(machine));
    if (!strcmp(power, "comp-opt") || !strcmp(power, "greener"))
        strbuf_addz(&settings, " compiler.late_passes=power-states");
    unsigned blocks = splitmix_next(state) % 3;
    if (multiplexed)
        strbuf_addz(&passes,
                    splitmix_next(state) % 2 ? "multiplex-hw" : "co-multiplex-hw");
    else if (blocks == 0)
        strbuf_addz(&passes, draw_blocks(state));
    else if (blocks == 1)
        strbuf_addz(&passes, "cleanup");
    struct rk_way way = {.machine = machine,
                         .settings = settings.s,
                         .passes = passes.s ? passes.s : "",
                         .timing = true,
                         .threads = (unsigned)(1 + splitmix_next(state) % 3),
                         .no_skip = splitmix_next(state) % 4 == 0};
    uint8_t *got = NULL;
    enum rk_end end = rk_run(k, &way, &got, NULL, NULL, why);
    *few += end == RK_REFUSED;
    bool ok = end != RK_FAILED && (end != RK_RAN || rk_same(k, want, got, why));
    if (!ok)
        strbuf_printf(why, "(timing mode on %s, %s, -p \"%s\", %u threads%s)\n", machine,
                      settings.s, way.passes, way.threads,
                      way.no_skip ? ", no skipping" : "");
    free(got);
    strbuf_free(&settings);
    strbuf_free(&passes);
    return ok;
}

bool
rk_test_night(const struct rk_kernel *k, uint64_t seed, unsigned *few, struct strbuf *why)
{
    uint64_t state = seed * 7919;
    struct strbuf pipeline = {0};
    uint8_t *want = rk_evaluate(k);
    bool ok = rk_test_executor(k, why);
    if (splitmix_next(&state) % 4)
        rk_pipeline(splitmix_next(&state), &pipeline);
    else
        strbuf_addz(&pipeline, draw_blocks(&state));
    ok = ok && rk_test_passes(k, pipeline.s, few, why) &&
         night_on_machine(k, &state, want, few, why);
    strbuf_free(&pipeline);
    free(want);
    return ok;
}
