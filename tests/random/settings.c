/* settings.c: random kernels in timing mode on every machine file, and on machines with
 * settings drawn within their bounds. PTX and machine files come from anyone: whatever is
 * legal runs to its end or is refused by name, and every way to run it agrees. */
#include "check.h"

#include "allot/allot.h"
#include "base/splitmix.h"
#include "machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of a policy of timing/FOLDER. */
static const char *
some_policy(const char *folder, uint64_t *state)
{
    const char *name = NULL, *meaning;
    size_t n = 0;
    while (allot_policy(folder, n, &name, &meaning))
        n++;
    allot_policy(folder, splitmix_next(state) % n, &name, &meaning);
    return name;
}

/* Seeds that follow one another take one machine file after another. */
static char *
some_machine(uint64_t seed)
{
    char **names = allot_machine_names();
    size_t n = 0;
    while (names[n])
        n++;
    char *name = xstrdup(names[seed % n]);
    allot_names_free(names);
    return name;
}

bool
rk_test_machines(const struct rk_kernel *k, uint64_t seed, unsigned *few,
                 struct strbuf *why)
{
    struct strbuf text = {0};
    uint64_t state = seed ^ 0x6d616368;
    char *machine = some_machine(seed);
    strbuf_printf(&text, "sm.scheduler=%s residency.policy=%s dram.scheduler=%s",
                  some_policy("schedulers", &state), some_policy("residency", &state),
                  some_policy("dram", &state));
    strbuf_printf(&text, " l1d.replacement=%s l2.replacement=%s",
                  some_policy("replacement", &state), some_policy("replacement", &state));
    strbuf_printf(&text, " residency.threshold=0.%u compiler.registers=%s",
                  (unsigned)(1 + splitmix_next(&state) % 9),
                  splitmix_next(&state) % 4 ? "allocated" : "virtual");
    const struct rk_way way = {.machine = machine,
                               .settings = text.s,
                               .passes = splitmix_next(&state) % 2 ? "" : "cleanup",
                               .timing = true};
    const enum rk_end end = rk_timing_agrees(k, way, why);
    *few += end == RK_REFUSED;
    free(machine);
    strbuf_free(&text);
    return end != RK_FAILED;
}

/* -- settings -- */

/* Groups that the timing model does not read, and settings that are texts. */
static bool
is_modelled(const struct allot_setting_info *s)
{
    static const char *const not [] = {
        "gpu.memory", "gpu.link", "energy.",
        "event.",     "power.",   "functional.",
        "compiler.",  "cta.",     "gpu.compute_capability"};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (!strncmp(s->path, not [i], strlen(not [i])))
            return false;
    return strcmp(s->range, "text") != 0;
}

/* A value of the range "1 to 64", "a | b": often one of its ends. Where that is far, most
 * often something near what the setting is, or the time of the test would go into one
 * access of the memory. */
static void
draw_value(const struct machine *m, const struct allot_setting_info *s, uint64_t *state,
           char *value, size_t size)
{
    double least, most, now;
    char is[80];
    machine_get(m, s->path, is, sizeof is);
    if (strchr(s->range, '|')) {
        char *list = xstrdup(s->range), *save = NULL, *word[40];
        size_t n = 0;
        for (char *w = strtok_r(list, " |", &save); w && n < 40;
             w = strtok_r(NULL, " |", &save))
            word[n++] = w;
        snprintf(value, size, "%s", word[splitmix_next(state) % n]);
        free(list);
        return;
    }
    if (sscanf(s->range, "a policy of %79s", is) == 1) {
        snprintf(value, size, "%s", some_policy(is, state));
        return;
    }
    now = strtod(is, NULL);
    if (sscanf(s->range, "[%lf to %lf,", &least, &most) == 2) { /* a latency */
        snprintf(value, size, "%u,%u", (unsigned)(1 + splitmix_next(state) % 600),
                 (unsigned)(1 + splitmix_next(state) % 60));
        return;
    }
    sscanf(s->range, "%lf to %lf", &least, &most);
    double x;
    switch (splitmix_next(state) % 8) {
    case 0:
    case 1:
    case 2:
        x = least;
        break;
    case 3:
        x = most;
        break;
    case 4:
        x = least + 1 < most ? least + 1 : most;
        break;
    case 5:
        x = (double)(int64_t)(now / 2);
        break;
    case 6:
        x = now * 2;
        break;
    default:
        x = least + (double)(splitmix_next(state) % 16);
    }
    x = x < least ? least : x > most ? most : x;
    snprintf(value, size, "%.17g", x);
}

/* One setting that leaves the machine legal, added to the text; false: it does not. */
static bool
draw_setting(struct machine **m, uint64_t *state, struct strbuf *text)
{
    struct allot_setting_info s;
    size_t n = 0;
    char value[80];
    while (allot_setting(n, &s))
        n++;
    do
        allot_setting(splitmix_next(state) % n, &s);
    while (!is_modelled(&s));
    draw_value(*m, &s, state, value, sizeof value);
    struct diag_sink d = {0};
    struct machine *with = machine_clone(*m);
    const bool ok = machine_set(with, s.path, value, &d) && machine_check(with, &d);
    diag_free(&d);
    if (ok) {
        strbuf_printf(text, "%s%s=%s", text->n ? " " : "", s.path, value);
        machine_free(*m);
        *m = with;
    } else {
        machine_free(with);
    }
    return ok;
}

bool
rk_test_settings(const struct rk_kernel *k, uint64_t seed, unsigned *few,
                 struct strbuf *why)
{
    struct strbuf text = {0};
    struct diag_sink d = {0};
    uint64_t state = seed ^ 0x73657474;
    char *name = some_machine(splitmix_next(&state));
    struct machine *m = machine_load(name, &d);
    for (uint64_t left = 1 + splitmix_next(&state) % 12; left;)
        left -= draw_setting(&m, &state, &text);
    machine_free(m);
    diag_free(&d);
    const struct rk_way way = {
        .machine = name, .settings = text.s, .passes = "", .timing = true};
    const enum rk_end end = rk_timing_agrees(k, way, why);
    *few += end == RK_REFUSED;
    free(name);
    strbuf_free(&text);
    return end != RK_FAILED;
}
