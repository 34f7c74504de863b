/* explain.c: allot opt --explain: limits and layout by arithmetic, gains by simulation.
 */
#include "advise/explain.h"

#include "base/demangle.h"
#include "base/json.h"
#include "base/share.h"
#include "base/vec.h"
#include "experiments/launch.h"
#include "passes/pass.h"
#include "report/steps_report.h"
#include "report/table.h"
#include "runtime/runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARING = 8 /* policies that are compared */, DEFAULT_BLOCK = 256 };

struct place {
    const char *name;
    uint64_t at, bytes;
    bool dynamic;
};

struct kernel {
    const char *name;
    struct allot_occupancy_query demand;
    bool assumed;                   /* the block size: nothing says it */
    bool fits, shares[MAX_SHARING]; /* by policy, in the order of explain.sharing */
    struct allot_occupancy alone, shared[MAX_SHARING];
    struct pass_launch launch; /* its largest; kernel NULL: not known */
    char *report;              /* what the passes tell of it; NULL: nothing of its own */
    VEC(struct place) before, after; /* scratchpad variables, in layout order */
};

/* One kernel in one run, launches summed. */
struct outcome {
    uint64_t cycles, thread_instructions, threads, resident_blocks, shared_pairs;
    uint64_t share_wait_cycles, share_releases;
    uint64_t most_blocks; /* of a launch */
    uint64_t register_cycles, held, on, asleep, wakes_sleep, wakes_off, wakeup_waits;
};

struct run {
    const char *policy, *scheduler;
    bool passes;
    const char *power;  /* regpower.policy; NULL: the machine's */
    struct outcome *of; /* each kernel */
};

struct explain {
    struct explain_of of;
    struct allot_module *mod; /* as it was read */
    bool failed;              /* a run that was to be compared */
    double threshold;
    uint32_t dynamic;
    struct allot_sharing_policy sharing[MAX_SHARING];
    size_t nsharing;
    VEC(struct kernel) kernels;
    VEC(struct run) runs;
};

static const char *
setting(const struct explain *x, const char *path)
{
    char b[128] = "";
    allot_machine_get(x->of.machine, path, b, sizeof b);
    return arena_strdup(x->of.host.mem, b);
}

static bool
is_virtual(const struct explain *x)
{
    return x->of.machine->m->compiler.registers == REGISTERS_VIRTUAL;
}

/* -- runs -- */

static void
add_result(struct outcome *o, const struct allot_result *r)
{
    uint64_t blocks = rt_count(r, "resident_blocks"), pairs = rt_count(r, "shared_pairs");
    o->cycles += rt_count(r, "cycles");
    o->thread_instructions += rt_count(r, "thread_instructions");
    o->threads += rt_count(r, "threads");
    o->share_wait_cycles += rt_count(r, "share_wait_cycles");
    o->share_releases += rt_count(r, "share_releases");
    o->register_cycles += rt_count(r, "register_cycles");
    o->held += rt_count(r, "regpower_held_cycles");
    o->on += rt_count(r, "regpower_on_cycles");
    o->asleep += rt_count(r, "regpower_sleep_cycles");
    o->wakes_sleep += rt_count(r, "regpower_wakes_sleep");
    o->wakes_off += rt_count(r, "regpower_wakes_off");
    o->wakeup_waits += rt_count(r, "regpower_wait_cycles");
    if (rt_count(r, "blocks") > o->most_blocks)
        o->most_blocks = rt_count(r, "blocks");
    if (blocks > o->resident_blocks)
        o->resident_blocks = blocks;
    if (pairs > o->shared_pairs)
        o->shared_pairs = pairs;
}

static struct kernel *
kernel_named(struct explain *x, const char *name)
{
    for (size_t i = 0; i < x->kernels.n; i++)
        if (!strcmp(x->kernels.v[i].name, name))
            return &x->kernels.v[i];
    return NULL;
}

/* Do the passes hand out registers? Then they stand for all that is done to the kernel. */
static bool
allocates(const struct explain *x)
{
    return strstr(x->of.passes, "register-allocate") ||
           strstr(x->of.passes, "unified-alloc");
}

/* The element of the pipeline that writes power states; NULL: none. */
static const char *
power_pass(const struct explain *x)
{
    const char *p = strstr(x->of.passes, "power-states");
    return p ? arena_printf(x->of.host.mem, "%.*s", (int)strcspn(p, ","), p) : NULL;
}

/* The policy that obeys the states. They are those of registers of the file: where the passes
 * do not hand these out, the states are written behind what does. */
static bool
set_power(const struct explain *x, struct allot_machine *m, const char *policy,
          struct allot_diag *d)
{
    const char *late = setting(x, "compiler.late_passes");
    bool ok = allot_machine_set(m, "regpower.policy", policy, d);
    return allocates(x)
               ? ok
               : ok && allot_machine_set(m, "compiler.late_passes",
                                         arena_printf(x->of.host.mem, "%s%s%s", late,
                                                      *late ? "," : "", power_pass(x)),
                                         d);
}

/* The machine as the options say, with this run's policies on top. */
static struct allot_machine *
machine_for(const struct explain *x, const struct run *r, struct allot_diag *d)
{
    struct allot_machine *m = allot_machine_clone(x->of.machine);
    bool ok = allot_machine_set(m, "residency.policy", r->policy, d) &&
              allot_machine_set(m, "sm.scheduler", r->scheduler, d);
    if (r->passes && allocates(x))
        ok = ok && allot_machine_set(m, "compiler.registers", "virtual", d);
    if (r->passes)
        ok = ok && allot_machine_set(m, "compiler.passes", x->of.passes, d);
    if (r->power)
        ok = ok && set_power(x, m, r->power, d);
    if (ok)
        return m;
    allot_machine_free(m);
    return NULL;
}

/* The shape of the launch with most blocks is the one that passes are told. */
static void
note_launch(struct kernel *k, const struct allot_result *r)
{
    struct pass_launch l = {.kernel = k->name};
    const uint32_t *was = k->launch.grid;
    allot_result_shape(r, l.grid, l.block, &l.dynamic_scratchpad);
    if (!k->launch.kernel ||
        (uint64_t)l.grid[0] * l.grid[1] * l.grid[2] > (uint64_t)was[0] * was[1] * was[2])
        k->launch = l;
}

/* Kernels that the first run finds are those that are explained. */
static bool
simulate(struct explain *x, struct run r)
{
    struct allot_diag *d = x->of.host.diag();
    struct allot_options o;
    const char *label = arena_printf(x->of.host.mem, "%s %s%s", x->of.name, r.policy,
                                     r.passes ? " with passes" : "");
    bool first = !x->runs.n, ok = x->of.host.options(x->of.host.user, label, &o);
    struct allot_machine *m = ok ? machine_for(x, &r, d) : NULL;
    struct allot_device *dev = m ? allot_device_new(m, &o, d) : NULL;
    ok = dev && x->of.host.run(x->of.host.user, dev, x->mod, d);
    for (size_t i = 0; ok && first && i < allot_results(dev); i++) {
        const struct allot_result *res = allot_result_at(dev, i);
        const char *name = allot_result_kernel(res);
        struct allot_occupancy_query q = allot_result_demand(res);
        if (!kernel_named(x, name))
            *vec_push(&x->kernels) =
                (struct kernel){.name = arena_strdup(x->of.host.mem, name), .demand = q};
    }
    r.of = ARENA_ARRAY(x->of.host.mem, struct outcome, x->kernels.n);
    for (size_t i = 0; ok && i < allot_results(dev); i++) {
        const struct allot_result *res = allot_result_at(dev, i);
        struct kernel *k = kernel_named(x, allot_result_kernel(res));
        if (k)
            add_result(&r.of[k - x->kernels.v], res);
        if (k && first)
            note_launch(k, res);
    }
    if (ok)
        *vec_push(&x->runs) = r;
    x->of.host.show(d);
    allot_device_free(dev);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok;
}

/* -- before the passes -- */

/* Kernels of a file that cannot be run: what can be said without. */
static void
take_kernels(struct explain *x)
{
    const struct explain_of *of = &x->of;
    uint32_t dims[3];
    const struct allot_kernel *k,
        *only = of->kernel ? launch_kernel(x->mod, of->kernel) : NULL;
    for (size_t i = 0; (k = allot_module_kernel(x->mod, i)); i++) {
        if (of->kernel && k != only)
            continue;
        struct kernel *n = vec_push(&x->kernels);
        n->name = arena_strdup(x->of.host.mem, k->name);
        n->assumed = !of->block && !k->max_block_threads;
        uint32_t threads = n->assumed ? DEFAULT_BLOCK : k->max_block_threads;
        if (of->block && launch_dims(of->block, dims))
            threads = dims[0] * dims[1] * dims[2];
        n->demand = allot_demand(x->of.machine, k, threads, of->dynamic_scratchpad);
    }
}

/* Scratchpad variables of a kernel as they lie in mod. */
static size_t
take_places(const struct explain *x, const struct kernel *k, struct allot_module *mod,
            struct place **to)
{
    VEC(struct place) v = {0};
    const struct allot_kernel *f = allot_module_find(mod, k->name);
    for (size_t i = 0; f && i < f->nvariables; i++)
        *vec_push(&v) = (struct place){
            arena_strdup(x->of.host.mem, f->variables[i].name), f->variables[i].at,
            f->variables[i].dynamic ? k->demand.scratchpad - f->scratchpad
                                    : f->variables[i].bytes,
            f->variables[i].dynamic};
    *to = v.v;
    return v.n;
}

static void
calculate(struct explain *x, struct kernel *k)
{
    struct allot_diag *quiet = x->of.host.diag();
    struct allot_occupancy_query q = k->demand;
    q.share = "";
    q.threshold = 1;
    k->fits = allot_occupancy(x->of.machine, &q, &k->alone, quiet);
    for (size_t i = 0; k->fits && i < x->nsharing; i++) {
        q.share = x->sharing[i].resource;
        q.threshold = x->threshold;
        k->shares[i] = x->threshold > 0 &&
                       allot_occupancy(x->of.machine, &q, &k->shared[i], quiet) &&
                       k->shared[i].shared_pairs;
    }
    allot_diag_free(quiet);
}

static bool
look(struct explain *x)
{
    const struct explain_of *of = &x->of;
    if (of->runnable && !of->host.ready(of->host.user, x->mod))
        return false;
    if (of->runnable) {
        const char *s = setting(x, "sm.scheduler");
        if (!simulate(x, (struct run){.policy = "baseline", .scheduler = s}))
            return false;
    } else
        take_kernels(x);
    if (of->kernel && !x->kernels.n)
        return fprintf(stderr, "allot: %s has no kernel '%s'\n", of->name, of->kernel),
               false;
    for (size_t i = 0; i < x->kernels.n; i++) {
        struct kernel *k = &x->kernels.v[i];
        const struct allot_kernel *f = allot_module_find(x->mod, k->name);
        uint32_t fixed = f ? f->scratchpad : 0;
        if (k->demand.scratchpad > fixed && k->demand.scratchpad - fixed > x->dynamic)
            x->dynamic = k->demand.scratchpad - fixed;
        k->before.n = take_places(x, k, x->mod, &k->before.v);
        calculate(x, k);
    }
    return true;
}

struct explain *
explain_new(const struct explain_of *of)
{
    struct explain *x = xcalloc(1, sizeof *x);
    struct allot_diag *d = of->host.diag();
    x->of = *of;
    while (x->nsharing < MAX_SHARING &&
           allot_sharing_policy(x->nsharing, &x->sharing[x->nsharing]))
        x->nsharing++;
    x->threshold = strtod(setting(x, "residency.threshold"), NULL);
    x->mod = of->host.load(of->host.user, d);
    bool ok = x->mod && look(x);
    of->host.show(d);
    allot_diag_free(d);
    if (ok)
        return x;
    explain_free(x);
    return NULL;
}

void
explain_free(struct explain *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->kernels.n; i++) {
        free(x->kernels.v[i].report);
        vec_free(&x->kernels.v[i].before);
        vec_free(&x->kernels.v[i].after);
    }
    vec_free(&x->kernels);
    vec_free(&x->runs);
    allot_module_free(x->mod);
    free(x);
}

uint32_t
explain_dynamic(const struct explain *x)
{
    return x->dynamic;
}

uint32_t
explain_threads(const struct explain *x)
{
    uint32_t most = 0;
    for (size_t i = 0; i < x->kernels.n; i++)
        if (!x->kernels.v[i].assumed && x->kernels.v[i].demand.threads > most)
            most = x->kernels.v[i].demand.threads;
    return most;
}

/* -- what to compare with -- */

/* The policy asked for, else the one that brings most blocks; NULL: none brings any. */
static const char *
sharing_policy(const struct explain *x)
{
    const char *asked = x->of.residency;
    if (asked)
        return strcmp(asked, "baseline") ? asked : NULL;
    size_t best = x->nsharing;
    uint32_t most = 0;
    for (size_t i = 0; i < x->nsharing; i++) {
        uint32_t more = 0;
        if (x->sharing[i].physical && is_virtual(x))
            continue;
        for (size_t k = 0; k < x->kernels.n; k++)
            if (x->kernels.v[k].shares[i])
                more += x->kernels.v[k].shared[i].shared_pairs;
        if (more > most) {
            most = more;
            best = i;
        }
    }
    return best < x->nsharing ? x->sharing[best].name : NULL;
}

/* Passes that look at a launch's shape tell of each kernel in its own launch, since what
 * they do to it there is another thing than what they could do for any launch. */
static bool
take_reports(struct explain *x)
{
    struct allot_diag *d = x->of.host.diag();
    bool ok = true;
    for (size_t i = 0; ok && i < x->kernels.n && pass_shapes(x->of.passes); i++) {
        struct kernel *k = &x->kernels.v[i];
        if (!k->launch.kernel)
            continue;
        k->report =
            rt_passes_report(x->mod, x->of.machine, k->name, x->of.passes, &k->launch, d);
        ok = k->report;
    }
    x->of.host.show(d);
    allot_diag_free(d);
    return ok;
}

/* Whether the passes do anything where nothing is shared; what they do for a launch is not
 * known without one. */
static bool
pass_alone(const struct explain *x)
{
    if (pass_shapes(x->of.passes))
        return true;
    struct allot_diag *d = x->of.host.diag();
    struct allot_module *m = x->of.host.load(x->of.host.user, d);
    bool changed = false;
    if (m && allot_module_opt_with(m, x->of.passes, "threshold=1", NULL, d)) {
        char *before = allot_module_print(x->mod), *after = allot_module_print(m);
        changed = strcmp(before, after) != 0;
        free(before);
        free(after);
    }
    allot_module_free(m);
    allot_diag_free(d);
    return changed;
}

static bool
run_rest(struct explain *x)
{
    const char *policy = sharing_policy(x), *own = setting(x, "sm.scheduler");
    /* The papers' scheduler for sharing, unless one was asked for. */
    const char *owf = x->of.scheduler ? own : "owf";
    bool passes = *x->of.passes;
    if (passes && pass_alone(x) &&
        !simulate(x,
                  (struct run){.policy = "baseline", .scheduler = own, .passes = true}))
        return false;
    if (power_pass(x) && !is_virtual(x) &&
        !simulate(x, (struct run){.policy = "baseline",
                                  .scheduler = own,
                                  .passes = true,
                                  .power = "greener"}))
        return false;
    if (!policy)
        return true;
    return simulate(x, (struct run){.policy = policy, .scheduler = owf}) &&
           (!passes ||
            simulate(x,
                     (struct run){.policy = policy, .scheduler = owf, .passes = true}));
}

/* -- in words -- */

static uint64_t
border(const struct explain *x, const struct kernel *k)
{
    return share_private(k->demand.scratchpad, x->threshold);
}

static const char *
part_of(const struct explain *x, const struct kernel *k, const struct place *p)
{
    uint64_t b = border(x, k);
    return p->at + p->bytes <= b && !p->dynamic ? "private"
           : p->at < b                          ? "shared (across the border)"
                                                : "shared";
}

static void
limit_row(struct table *t, const char *what, const char *of_block, const char *of_sm,
          uint32_t blocks)
{
    table_cell(t, "%s", what);
    table_cell(t, "%s", of_block);
    table_cell(t, "%s", of_sm);
    if (blocks == UINT32_MAX)
        table_cell(t, "-");
    else
        table_cell(t, "%u", blocks);
}

static uint32_t
blocks_with(const struct explain *x, struct allot_occupancy_query q)
{
    struct allot_occupancy o;
    struct allot_diag *quiet = x->of.host.diag();
    bool fits = allot_occupancy(x->of.machine, &q, &o, quiet);
    allot_diag_free(quiet);
    return fits ? o.resident_blocks : 0;
}

/* The most that a block may ask of the one resource that limits it, for one block more to
 * fit; 0: that is not how a block more can be had. */
static uint32_t
for_one_more(const struct explain *x, const struct kernel *k, const char *resource)
{
    struct allot_occupancy_query q = k->demand;
    uint32_t *v = !strcmp(resource, "scratchpad")  ? &q.scratchpad
                  : !strcmp(resource, "registers") ? &q.registers
                  : !strcmp(resource, "threads")   ? &q.threads
                                                   : NULL;
    if (!v || strcmp(k->alone.limited_by, resource))
        return 0;
    uint32_t low = 0, high = *v; /* low fits (0: unknown), high does not */
    while (high - low > 1) {
        *v = low + (high - low) / 2;
        if (blocks_with(x, q) > k->alone.resident_blocks)
            low = *v;
        else
            high = *v;
    }
    return low;
}

static void
tell_one_more(const struct explain *x, const struct kernel *k)
{
    static const struct {
        const char *resource, *of;
    } kinds[] = {{"scratchpad", "bytes of scratchpad"},
                 {"registers", "registers a thread"},
                 {"threads", "threads"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint32_t most = for_one_more(x, k, kinds[i].resource);
        if (most)
            fprintf(stderr, "One block more would fit with %u %s, or fewer.\n", most,
                    kinds[i].of);
    }
}

/* The steps of a kernel that registers limit, STEPS_MOST at most; 0: they do not, or another
 * number than the kernel's was asked for, or it is too large to be allocated again and again
 * (allot info --steps). */
static size_t
find_steps(const struct explain *x, const struct kernel *k,
           struct allot_register_step *step)
{
    enum { LARGE = 20000 }; /* instructions */
    const struct allot_kernel *f = allot_module_find(x->mod, k->name);
    if (!k->fits || !f || f->instructions > LARGE ||
        x->of.machine->m->compiler.registers != REGISTERS_ALLOCATED ||
        strcmp(k->alone.limited_by, "registers") ||
        strcmp(setting(x, "residency.regs_per_thread"), "0"))
        return 0;
    struct allot_diag *quiet = x->of.host.diag();
    size_t n = allot_register_steps(x->mod, x->of.machine, k->name, k->demand.threads,
                                    k->demand.scratchpad - f->scratchpad, step,
                                    STEPS_MOST, quiet);
    allot_diag_free(quiet);
    return n;
}

static void
tell_steps(const struct explain *x, const struct kernel *k)
{
    struct allot_register_step step[STEPS_MOST];
    size_t n = find_steps(x, k, step);
    if (n < 2)
        return;
    fprintf(
        stderr,
        "\n%u registers wanted; with fewer (pass unified-alloc) values are spilled:\n\n",
        step[0].registers);
    steps_report(stderr, step, n);
    fputs("\n", stderr);
}

/* A name for people; width 0: whole. */
static const char *
shown(const struct explain *x, const char *name, size_t width)
{
    char *plain = demangle_within(name, width);
    const char *kept = arena_strdup(x->of.host.mem, plain);
    free(plain);
    return kept;
}

static void
tell_limits(const struct explain *x, const struct kernel *k)
{
    const struct allot_occupancy *o = &k->alone;
    const char *machine = allot_machine_name(x->of.machine);
    if (!k->fits) {
        fprintf(stderr, "kernel %s: not one block of %u threads fits an SM of %s\n",
                shown(x, k->name, 0), k->demand.threads, machine);
        return;
    }
    fprintf(stderr, "kernel %s: %u blocks of %u threads%s an SM of %s, limited by %s\n\n",
            shown(x, k->name, 0), o->resident_blocks, k->demand.threads,
            k->assumed ? " (assumed: --block says otherwise)" : "", machine,
            o->limited_by);
    struct table *t = table_new(
        4, (const char *const[]){"resource", "of a block", "of an SM", "blocks/SM"});
    limit_row(t, "threads", arena_printf(x->of.host.mem, "%u", k->demand.threads),
              setting(x, "sm.max_threads"), o->by_threads);
    limit_row(t, "blocks", "1", setting(x, "sm.max_blocks"), o->by_blocks);
    limit_row(t, "registers",
              arena_printf(x->of.host.mem, "%u a thread", k->demand.registers),
              setting(x, "sm.registers"), o->by_registers);
    limit_row(t, "scratchpad, bytes",
              arena_printf(x->of.host.mem, "%u", k->demand.scratchpad),
              setting(x, "sm.scratchpad"), o->by_scratchpad);
    table_show(t, stderr);
    table_free(t);
    fputs("\n", stderr);
    tell_one_more(x, k);
    tell_steps(x, k);
    for (size_t i = 0; i < x->nsharing; i++) {
        const char *what = x->sharing[i].resource;
        if (k->shares[i])
            fprintf(stderr,
                    "Sharing %s: %u blocks an SM; pairs that share %.4g %% of theirs: "
                    "%u%s.\n",
                    what, k->shared[i].resident_blocks, 100 * (1 - x->threshold),
                    k->shared[i].shared_pairs,
                    x->sharing[i].physical && is_virtual(x)
                        ? " (with --registers allocated)"
                        : "");
        else
            fprintf(stderr, "Sharing %s brings no block more.\n", what);
    }
}

/* Registers that ptxas needs; 0: it is not installed, or refuses the PTX. */
static uint32_t
by_ptxas(const struct explain *x, const char *kernel)
{
    struct allot_diag *quiet = x->of.host.diag();
    const struct allot_kernel *k =
        allot_module_ptxas(x->mod, x->of.machine, kernel, quiet)
            ? allot_module_find(x->mod, kernel)
            : NULL;
    allot_diag_free(quiet);
    return k ? k->ptxas_registers : 0;
}

/* What the machine's own passes make of the kernel as it was read. False: they fail. */
static bool
code_of(const struct explain *x, const struct kernel *k, struct allot_code *c)
{
    struct allot_diag *quiet = x->of.host.diag();
    bool ok = allot_kernel_code(x->mod, x->of.machine, k->name, c, NULL, 0, quiet);
    allot_diag_free(quiet);
    return ok;
}

static void
tell_code(const struct explain *x, const struct kernel *k)
{
    struct allot_code c;
    char wait[32];
    if (!code_of(x, k, &c))
        return;
    uint32_t theirs = by_ptxas(x, k->name);
    fprintf(stderr, "\nRegisters: %u%s", c.registers + c.reserved,
            c.is_virtual ? " live at once in the PTX, which runs as it is" : "");
    if (c.reserved)
        fprintf(stderr, " (%u of them reserved by the machine)", c.reserved);
    if (theirs)
        fprintf(stderr, "; ptxas: %u", theirs);
    fprintf(stderr, ". About %u machine operations.\n", c.machine_operations);
    if (c.loads)
        fprintf(
            stderr,
            "Loads: %u; a warp alone waits %s cycles for them. %u start later than they "
            "could%s\n(allot info --loads lists them).\n",
            c.loads, table_thousands(wait, c.wait), c.late,
            c.late && !c.ordered ? ", by the order of the PTX"
            : c.late             ? ", for the limit of registers"
                                 : "");
}

static void
tell_layout(const struct explain *x, const struct kernel *k)
{
    if (!k->before.n || !k->fits)
        return;
    fprintf(
        stderr,
        "\nAt threshold %.4g the first %llu of %u scratchpad bytes are a block's own, "
        "a pair shares the rest:\n\n",
        x->threshold, (unsigned long long)border(x, k), k->demand.scratchpad);
    struct table *t = table_new(
        6, (const char *const[]){"variable", "bytes", "was at", "part", "is at", "part"});
    for (size_t i = 0; i < k->after.n; i++) {
        const struct place *p = &k->after.v[i], *was = NULL;
        /* A variable that the layout moves out of its function is renamed FUNC$NAME. */
        for (size_t n = 0; n < k->before.n && !was; n++) {
            size_t full = strlen(p->name), tail = strlen(k->before.v[n].name);
            if (!strcmp(k->before.v[n].name, p->name) ||
                (full > tail && p->name[full - tail - 1] == '$' &&
                 !strcmp(p->name + full - tail, k->before.v[n].name)))
                was = &k->before.v[n];
        }
        table_cell(t, "%s", shown(x, p->name, DEMANGLE_COLUMN));
        table_cell(t, "%llu", (unsigned long long)p->bytes);
        if (was)
            table_cell(t, "%llu", (unsigned long long)was->at);
        else
            table_cell(t, "-");
        table_cell(t, "%s", was ? part_of(x, k, was) : "-");
        table_cell(t, "%llu", (unsigned long long)p->at);
        table_cell(t, "%s", part_of(x, k, p));
    }
    table_show(t, stderr);
    table_free(t);
}

static const char *
run_name(const struct explain *x, const struct run *r)
{
    return arena_printf(x->of.host.mem, "%s, %s%s%s%s", r->policy, r->scheduler,
                        r->passes ? ", passes" : "", r->power ? ", " : "",
                        r->power ? r->power : "");
}

static double
ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

/* How much less time a run takes than another, as percent of speed. */
static double
gain(const struct outcome *o, const struct outcome *base)
{
    return 100 * (ratio(base->cycles, o->cycles) - 1);
}

/* The run that shares or not, with passes or not; NULL: none. */
static const struct run *
find_run(const struct explain *x, bool shared, bool passes)
{
    for (size_t i = 0; i < x->runs.n; i++)
        if ((strcmp(x->runs.v[i].policy, "baseline") != 0) == shared &&
            x->runs.v[i].passes == passes && !x->runs.v[i].power)
            return &x->runs.v[i];
    return NULL;
}

static double
percent(uint64_t n, uint64_t of)
{
    return 100 * ratio(n, of);
}

/* Of a run with power states: what registers did, and what it costs. */
static void
tell_power(const struct outcome *o, const struct outcome *base, const char *policy)
{
    char b[3][32];
    fprintf(
        stderr,
        "Power states (%s): warps hold %.1f %% of the register file, the rest is off. "
        "Theirs are on %.1f %%\nof the time, sleep %.1f %%, are off %.1f %%. %s "
        "wake-ups from sleep, %s from off; warps waited for\nnothing else in %s warp "
        "cycles: %+.2f %% speed.\n",
        policy, percent(o->held, o->register_cycles), percent(o->on, o->held),
        percent(o->asleep, o->held), percent(o->held - o->on - o->asleep, o->held),
        table_thousands(b[0], o->wakes_sleep), table_thousands(b[1], o->wakes_off),
        table_thousands(b[2], o->wakeup_waits), gain(o, base));
}

static void
tell_verdict(const struct explain *x, size_t k)
{
    char was[32], is[32];
    const struct run *alone = find_run(x, false, false), *both = find_run(x, true, true),
                     *shared = find_run(x, true, false),
                     *passed = find_run(x, false, true);
    const struct outcome *a = &alone->of[k];
    if (passed)
        fprintf(stderr, "The passes without sharing: %+.2f %% speed.\n",
                gain(&passed->of[k], a));
    for (size_t i = 0; i < x->runs.n; i++)
        if (x->runs.v[i].power)
            tell_power(&x->runs.v[i].of[k], passed ? &passed->of[k] : a,
                       x->runs.v[i].power);
    if (shared)
        fprintf(stderr, "Sharing: %llu blocks an SM instead of %llu, %+.2f %% speed.\n",
                (unsigned long long)shared->of[k].resident_blocks,
                (unsigned long long)a->resident_blocks, gain(&shared->of[k], a));
    if (both)
        fprintf(
            stderr,
            "The passes beside it: %+.2f %% speed; warps wait %s cycles for locks, not "
            "%s.\n",
            gain(&both->of[k], &shared->of[k]),
            table_thousands(is, both->of[k].share_wait_cycles),
            table_thousands(was, shared->of[k].share_wait_cycles));
    uint64_t at_once = a->resident_blocks * strtoull(setting(x, "sm.count"), NULL, 10);
    if (a->most_blocks <= at_once)
        fprintf(stderr,
                "No launch has more than %llu blocks, and the machine holds %llu at once "
                "as it is: room for more\nis not used.\n",
                (unsigned long long)a->most_blocks, (unsigned long long)at_once);
    if (x->runs.n == 1 && !x->failed)
        fprintf(stderr, "Nothing to compare with: no sharing brings a block more%s.\n",
                *x->of.passes ? ", and without it the passes change nothing" : "");
}

static void
tell_runs(const struct explain *x, size_t k)
{
    char b[32];
    struct table *t =
        table_new(7, (const char *const[]){"run", "blocks/SM", "cycles", "IPC", "faster",
                                           "lock waits", "instr./thread"});
    fprintf(stderr, "\nSimulated, kernel %s (faster: by cycles, than the first):\n\n",
            shown(x, x->kernels.v[k].name, 0));
    for (size_t i = 0; i < x->runs.n; i++) {
        const struct outcome *o = &x->runs.v[i].of[k], *base = &x->runs.v[0].of[k];
        table_cell(t, "%s", run_name(x, &x->runs.v[i]));
        table_cell(t, "%llu", (unsigned long long)o->resident_blocks);
        table_cell(t, "%s", table_thousands(b, o->cycles));
        table_cell(t, "%.2f", ratio(o->thread_instructions, o->cycles));
        if (i)
            table_cell(t, "%+.2f %%", gain(o, base));
        else
            table_cell(t, "-");
        table_cell(t, "%s", table_thousands(b, o->share_wait_cycles));
        table_cell(t, "%.2f", ratio(o->thread_instructions, o->threads));
    }
    table_show(t, stderr);
    table_free(t);
    fputs("\n", stderr);
    tell_verdict(x, k);
}

static void
tell_how_to_run(const struct explain *x)
{
    const struct allot_kernel *k =
        x->kernels.n ? allot_module_find(x->mod, x->kernels.v[0].name) : NULL;
    fprintf(stderr, "\nNot simulated, for nothing says how it is launched: give --grid, "
                    "--block and one --arg\nper parameter");
    for (size_t i = 0; k && i < k->nparams; i++)
        fprintf(stderr, "%s.%s %s", i ? ", " : " (", k->params[i].type,
                k->params[i].name);
    fprintf(stderr, "%s, or --launch FILE.yaml with these (docs/tutorial.md).\n",
            k && k->nparams ? ")" : "");
}

/* What the passes tell of the kernel in its launch; false: nothing. */
static bool
tell_report(const struct kernel *k)
{
    const uint32_t *g = k->launch.grid, *b = k->launch.block;
    if (!k->report)
        return false;
    char *plain = demangle_text(k->report);
    fprintf(stderr, "\nThe passes, for %u x %u x %u blocks of %u x %u x %u threads:\n%s",
            g[0], g[1], g[2], b[0], b[1], b[2], *plain ? plain : "they tell nothing\n");
    free(plain);
    return true;
}

/* Passes that the machine's own runs have as well: compared with, they gain nothing. */
static void
tell_own_passes(const struct explain *x)
{
    char own[1024] = "";
    allot_machine_get(x->of.machine, "compiler.cleanup", own, sizeof own);
    if (!strcmp(setting(x, "compiler.registers"), "virtual"))
        return; /* the PTX as it is */
    const struct pass *p;
    for (size_t i = 0; (p = pass_at(i)); i++)
        if (pass_names(x->of.passes, p->name) && pass_names(own, p->name))
            fprintf(
                stderr,
                "%s is one of the machine's own passes (compiler.cleanup), so the runs "
                "without passes have it\ntoo. Without it: --no-schedule.\n",
                p->name);
}

static void
tell_words(const struct explain *x, const char *report)
{
    if (!x->kernels.n)
        fprintf(stderr, "%s holds no kernel.\n", x->of.name);
    for (size_t k = 0; k < x->kernels.n; k++) {
        if (k)
            fputs("\n", stderr);
        tell_limits(x, &x->kernels.v[k]);
        tell_code(x, &x->kernels.v[k]);
        tell_layout(x, &x->kernels.v[k]);
    }
    bool own = false;
    for (size_t k = 0; k < x->kernels.n; k++)
        own |= tell_report(&x->kernels.v[k]);
    if (own) {
        fprintf(stderr, "\nPTX that is written is made for any launch.\n");
    } else if (report) {
        char *plain = demangle_text(report);
        fprintf(stderr, "\nThe passes:\n%s", plain);
        free(plain);
    } else if (!*x->of.passes)
        fprintf(stderr,
                "\nNo passes were given (-p scratchpad-layout,relssp are those of "
                "scratchpad sharing).\n");
    if (x->of.runnable)
        tell_own_passes(x);
    for (size_t k = 0; k < x->kernels.n && x->of.runnable; k++)
        tell_runs(x, k);
    if (x->kernels.n && !x->of.runnable)
        tell_how_to_run(x);
}

/* -- as JSON -- */

static json_t *
blocks_json(uint32_t n)
{
    return n == UINT32_MAX ? json_null() : json_integer(n);
}

static json_t *
places_json(const struct explain *x, const struct kernel *k, const struct place *p,
            size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:b}", "name", p[i].name, "bytes",
                            (json_int_t)p[i].bytes, "at", (json_int_t)p[i].at, "shared",
                            strcmp(part_of(x, k, &p[i]), "private") != 0));
    return list;
}

static json_t *
runs_json(const struct explain *x, size_t k)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->runs.n; i++) {
        const struct run *r = &x->runs.v[i];
        const struct outcome *o = &r->of[k];
        json_t *run = json_pack(
            "{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:f}", "residency",
            r->policy, "scheduler", r->scheduler, "passes", r->passes, "blocks",
            (json_int_t)o->most_blocks, "resident_blocks", (json_int_t)o->resident_blocks,
            "shared_pairs", (json_int_t)o->shared_pairs, "cycles", (json_int_t)o->cycles,
            "ipc", ratio(o->thread_instructions, o->cycles), "faster_percent",
            gain(o, &x->runs.v[0].of[k]), "share_wait_cycles",
            (json_int_t)o->share_wait_cycles, "share_releases",
            (json_int_t)o->share_releases, "instructions_per_thread",
            ratio(o->thread_instructions, o->threads));
        if (r->power)
            json_object_update_new(
                run,
                json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "power", r->power,
                          "held_percent", percent(o->held, o->register_cycles),
                          "on_percent", percent(o->on, o->held), "sleep_percent",
                          percent(o->asleep, o->held), "off_percent",
                          percent(o->held - o->on - o->asleep, o->held), "wakes_sleep",
                          (json_int_t)o->wakes_sleep, "wakes_off",
                          (json_int_t)o->wakes_off, "wakeup_wait_cycles",
                          (json_int_t)o->wakeup_waits));
        json_array_append_new(list, run);
    }
    return list;
}

static json_t *
lines_json(const char *text)
{
    json_t *lines = json_array();
    char *copy = xstrdup(text ? text : ""), *save;
    for (char *p = strtok_r(copy, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
        json_array_append_new(lines, json_text(p));
    free(copy);
    return lines;
}

/* What the passes tell of the kernel in its launch, and the launch. */
static void
add_launch_json(json_t *o, const struct kernel *k)
{
    const struct pass_launch *l = &k->launch;
    if (!k->report)
        return;
    json_object_update_new(o, json_pack("{s:[iii], s:[iii], s:o}", "grid", l->grid[0],
                                        l->grid[1], l->grid[2], "block", l->block[0],
                                        l->block[1], l->block[2], "report",
                                        lines_json(k->report)));
}

static json_t *
kernel_json(const struct explain *x, size_t at)
{
    const struct kernel *k = &x->kernels.v[at];
    json_t *o = json_pack("{s:s, s:i, s:b, s:i, s:i, s:b}", "name", k->name,
                          "block_threads", k->demand.threads, "block_assumed", k->assumed,
                          "registers", k->demand.registers, "scratchpad",
                          k->demand.scratchpad, "fits", k->fits);
    if (k->fits) {
        json_object_set_new(o, "resident_blocks", json_integer(k->alone.resident_blocks));
        json_object_set_new(o, "limited_by", json_string(k->alone.limited_by));
        struct allot_register_step step[STEPS_MOST];
        size_t n = find_steps(x, k, step);
        if (n)
            json_object_set_new(o, "steps", steps_report_json(step, n));
        json_object_set_new(o, "blocks_by",
                            json_pack("{s:o, s:o, s:o, s:o}", "threads",
                                      blocks_json(k->alone.by_threads), "blocks",
                                      blocks_json(k->alone.by_blocks), "registers",
                                      blocks_json(k->alone.by_registers), "scratchpad",
                                      blocks_json(k->alone.by_scratchpad)));
        json_t *s = json_object();
        for (size_t i = 0; i < x->nsharing; i++)
            json_object_set_new(s, x->sharing[i].resource,
                                json_pack("{s:i, s:i}", "resident_blocks",
                                          k->shares[i] ? k->shared[i].resident_blocks
                                                       : k->alone.resident_blocks,
                                          "pairs",
                                          k->shares[i] ? k->shared[i].shared_pairs : 0));
        json_object_set_new(o, "sharing", s);
    }
    struct allot_code c;
    if (code_of(x, k, &c)) {
        uint32_t theirs = by_ptxas(x, k->name);
        json_object_set_new(o, "code",
                            json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:b}", "registers",
                                      c.registers, "reserved", c.reserved,
                                      "machine_operations", c.machine_operations, "loads",
                                      c.loads, "late_loads", c.late, "load_wait",
                                      (json_int_t)c.wait, "ordered", c.ordered));
        if (theirs)
            json_object_set_new(o, "ptxas_registers", json_integer(theirs));
    }
    json_object_set_new(o, "private_bytes", json_integer((json_int_t)border(x, k)));
    json_object_set_new(o, "variables_before",
                        places_json(x, k, k->before.v, k->before.n));
    json_object_set_new(o, "variables", places_json(x, k, k->after.v, k->after.n));
    json_object_set_new(o, "runs", runs_json(x, at));
    add_launch_json(o, k);
    return o;
}

static void
tell_json(const struct explain *x, const char *report)
{
    json_t *lines = lines_json(report), *kernels = json_array();
    for (size_t i = 0; i < x->kernels.n; i++)
        json_array_append_new(kernels, kernel_json(x, i));
    json_t *o =
        json_pack("{s:o, s:o, s:o, s:f, s:s, s:o, s:o}", "file", json_text(x->of.name),
                  "machine", json_text(allot_machine_name(x->of.machine)), "options",
                  x->of.host.settings(x->of.host.user), "threshold", x->threshold,
                  "passes", x->of.passes, "report", lines, "kernels", kernels);
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    printf("\n");
    json_decref(o);
}

bool
explain_tell(struct explain *x, struct allot_module *mod, const char *report, bool json)
{
    x->failed = x->of.runnable && (!take_reports(x) || !run_rest(x));
    if (x->failed && x->of.host.stopped())
        return false;
    for (size_t i = 0; i < x->kernels.n; i++) {
        struct kernel *k = &x->kernels.v[i];
        k->after.n = take_places(x, k, mod, &k->after.v);
    }
    if (json)
        tell_json(x, report);
    else
        tell_words(x, report);
    return !x->failed;
}
