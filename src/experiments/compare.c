/* compare.c: see compare.h. */
#include "experiments/compare.h"

#include "runtime/runtime.h"

#include <stddef.h>
#include <string.h>

/* What is added up, and what the largest is taken of. */
static const struct {
    const char *id;
    size_t at;
    bool largest;
} sums[] = {{"cycles", offsetof(struct compare_cell, cycles), false},
            {"warp_instructions", offsetof(struct compare_cell, warp), false},
            {"thread_instructions", offsetof(struct compare_cell, thread), false},
            {"resident_blocks", offsetof(struct compare_cell, blocks), true},
            {"shared_pairs", offsetof(struct compare_cell, pairs), true},
            {"baseline_blocks", offsetof(struct compare_cell, baseline), true}};
enum { SUMS = sizeof sums / sizeof *sums };

static void
add(struct compare_cell *c, size_t k, uint64_t v)
{
    uint64_t *to = (uint64_t *)((char *)c + sums[k].at);
    if (!sums[k].largest)
        *to += v;
    else if (v > *to)
        *to = v;
    c->ipc = c->cycles ? (double)c->thread / (double)c->cycles : 0;
}

bool
compare_counts(const char *kernels, const char *name)
{
    size_t n = strlen(name);
    if (!kernels || !*kernels)
        return true;
    for (const char *p = kernels; (p = strstr(p, name)); p += n)
        if ((p == kernels || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return false;
}

bool
compare_add_device(struct compare_cell *c, const struct allot_device *dev,
                   const char *kernels, const struct allot_machine *m,
                   struct diag_sink *diag)
{
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        uint64_t v;
        struct energy e;
        if (!compare_counts(kernels, allot_result_kernel(r)))
            continue;
        for (size_t k = 0; k < SUMS; k++)
            if (allot_result_get(r, sums[k].id, &v, NULL))
                add(c, k, v);
        c->seconds += allot_result_seconds(r);
        ok &= rt_energy(r, m, &e, diag);
        energy_add(&c->energy, &e);
    }
    return ok;
}

bool
compare_add_run(struct compare_cell *c, const struct allot_device *dev,
                const char *kernels, const struct allot_machine *m, bool passed,
                bool refused, bool interrupted, struct diag_sink *diag)
{
    c->refused = refused;
    c->ran = !refused && (passed || !interrupted);
    c->ok = compare_add_device(c, dev, kernels, m, diag) && passed;
    return c->ok;
}

void
compare_add_launches(struct compare_cell *c, const json_t *launches)
{
    size_t i;
    json_t *one;
    json_array_foreach(launches, i, one)
    {
        for (size_t k = 0; k < SUMS; k++)
            add(c, k, (uint64_t)json_integer_value(json_object_get(one, sums[k].id)));
        c->seconds += json_number_value(json_object_get(one, "seconds"));
    }
}
