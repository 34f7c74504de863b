/* device.c: a device: memory, loaded modules, launches, results.
 *
 * A launch is planned (plan.h), its variant of the kernel decoded once (kept), its
 * parameter block built, and the grid run functionally or under the cycle model. */
#include "runtime/device.h"

#include "cta/search.h"

#include "base/clock.h"
#include "base/hash.h"
#include "exec/memory/heap.h"
#include "exec/memory/texture.h"
#include "passes/blocks/persistent.h"
#include "passes/pipeline.h"
#include "runtime/plan.h"
#include "runtime/result.h"

/* Address space for host memory of a unified device; untouched pages cost nothing. */
#define HOST_SPACE ((uint64_t)64 << 30)

/* Generic addresses begin far enough below global memory. */
enum { MAX_GUARD = 16 << 20, CHECK_GAP = 4096 };

/* CUDA's cudaLimitDevRuntimePendingLaunchCount */
enum { PENDING_LAUNCHES = 2048 };

/* Tells the caller how far the launch is; false: it is to stop. */
static bool
tell(struct allot_device *dev, uint64_t cycles, uint64_t instructions, uint64_t done,
     uint64_t blocks)
{
    const struct allot_options *o = &dev->options;
    struct strbuf where = {0};
    const struct exec_warp *at =
        dev->grid && dev->gpu && !dev->functional ? timing_at(dev->gpu)
        : dev->grid && dev->grid->at              ? exec_some_warp(dev->grid->at)
                                                  : NULL;
    if (at)
        exec_where(at, &where);
    struct allot_progress p = {.kernel = dev->grid ? dev->grid->prog->entry->name : "",
                               .where = where.n ? where.s : "",
                               .cycles = cycles,
                               .thread_instructions = instructions,
                               .blocks_done = done,
                               .blocks = blocks,
                               .seconds = clock_seconds(CLOCK_MONOTONIC) - dev->began};
    watchdog_off(dev->watchdog);
    bool on = o->watch      ? o->watch(o->user, &p)
              : o->progress ? o->progress(o->user, cycles, done, blocks)
                            : true;
    watchdog_on(dev->watchdog);
    strbuf_free(&where);
    return on;
}

static bool
timing_progress(void *user, uint64_t cycles, uint64_t instructions, uint64_t done,
                uint64_t blocks)
{
    return tell(user, cycles, instructions, done, blocks);
}

static void
keep_sample(void *user, uint64_t cycle, const struct launch_stats *so_far)
{
    const struct allot_device *dev = user;
    result_sample(dev->running, dev->options.sample_sms ? dev->gpu : NULL,
                  dev->machine->sm.count, cycle, so_far);
}

static uint64_t
capacity_of(const struct machine *m)
{
    return (uint64_t)(m->gpu.memory * 1073741824.0);
}

/* Takes passes out of those of the machine after which accesses are no longer the program's:
 * merge-loads, whose vector of three words loads a fourth, which the program does not look
 * at, and merge-scratchpad, which leaves one variable of several. */
static bool
access_as_written(struct machine *m, struct diag_sink *diag)
{
    static const char *const out[] = {"merge-loads", "merge-scratchpad"};
    struct strbuf b = {0};
    char *passes = pipeline_expand(m->compiler.cleanup);
    for (const char *p = passes; *p;) {
        const size_t n = strcspn(p, ",");
        bool keep = true;
        for (size_t i = 0; i < sizeof out / sizeof *out; i++)
            keep &= strncmp(p, out[i], strlen(out[i])) != 0;
        if (keep)
            strbuf_printf(&b, "%s%.*s", b.n ? "," : "", (int)n, p);
        p += n + (p[n] == ',');
    }
    free(passes);
    const bool ok = machine_set(m, "compiler.cleanup", b.n ? b.s : "", diag);
    strbuf_free(&b);
    return ok;
}

struct allot_device *
allot_device_new(const struct allot_machine *m, const struct allot_options *options,
                 struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct allot_device *dev = xcalloc(1, sizeof *dev);
    dev->machine = machine_clone(m->m);
    dev->pending_limit = PENDING_LAUNCHES;
    dev->patience = WATCHDOG_PATIENCE;
    if (options)
        dev->options = *options;
    uint64_t capacity = capacity_of(dev->machine);
    dev->mem = dev->options.unified ? dev_mem_new_unified(capacity, HOST_SPACE)
                                    : dev_mem_new(capacity);
    bool ok = machine_check(dev->machine, diag);
    if (ok && *dev->machine->cta.schedule)
        ok = cta_method_parse(dev->machine->cta.schedule, &dev->method, diag);
    if (ok && dev->options.guard > MAX_GUARD)
        ok = diag_error(diag, "a guard of %llu bytes is more than 16 MiB, the most",
                        (unsigned long long)dev->options.guard);
    if (dev->mem)
        dev_set_guard(dev->mem, dev->options.guard);
    if (ok && !dev->mem) {
        ok = false;
        diag_error(diag,
                   "cannot reserve %.3g GiB of host address space for device memory; "
                   "lower gpu.memory",
                   dev->machine->gpu.memory);
    }
    if (ok && dev->options.checks && !dev->options.functional)
        ok = diag_error(diag, "checks for kernels need a functional device");
    if (ok && dev->options.checks) {
        ok = access_as_written(dev->machine, diag);
        dev_set_gap(dev->mem, CHECK_GAP);
        dev->checks = exec_checks_new(dev->options.checks,
                                      dev->machine->gpu.compute_capability < 70);
        if (dev->options.checks & EXEC_CHECK_INIT)
            dev_watch_writes(dev->mem);
    }
    if (ok && !dev->options.functional) {
        struct timing_options t = {
            .no_skip = dev->options.no_skip,
            .lines = dev->options.by_line,
            .threads = dev->options.threads,
            .max_cycles = dev->options.max_cycles,
            .max_instructions = dev->options.max_instructions,
            .progress =
                dev->options.progress || dev->options.watch ? timing_progress : NULL,
            .sample_cycles = dev->options.sample_cycles,
            .sample = keep_sample,
            .trace_limit = dev->options.trace_limit,
            .trace_from = dev->options.trace_from,
            .trace_to = dev->options.trace_to ? dev->options.trace_to : UINT64_MAX,
            .user = dev};
        dev->gpu = timing_gpu_new(dev->machine, &t, diag);
        ok = dev->gpu != NULL;
    }
    if (ok && dev->options.functional && dev->options.threads > 1 && !dev->checks) {
        dev->team = exec_team_new(dev->mem, dev->options.threads);
        ok = dev->team || diag_error(diag, "the host gives no %u threads; ask for fewer",
                                     dev->options.threads);
    }
    diag_free(&own);
    if (ok)
        return dev;
    allot_device_free(dev);
    return NULL;
}

static void
version_free(struct version *v)
{
    for (size_t k = 0; k < v->kernels.n; k++)
        exec_prog_free(v->kernels.v[k].prog);
    vec_free(&v->kernels);
    exec_image_free(v->image);
    if (v->ptx)
        ptx_module_free(v->ptx);
    free(v);
}

static void
drop_results(struct allot_device *dev)
{
    for (size_t i = 0; i < dev->results.n; i++)
        result_free(dev->results.v[i]);
    dev->results.n = 0;
}

void
allot_device_free(struct allot_device *dev)
{
    if (!dev)
        return;
    watchdog_free(dev->watchdog);
    for (size_t i = 0; i < dev->modules.n; i++) {
        struct loaded_module *lm = dev->modules.v[i];
        while (lm->versions.n) /* the first one's memory last */
            version_free(lm->versions.v[--lm->versions.n]);
        vec_free(&lm->versions);
        free(lm);
    }
    vec_free(&dev->modules);
    rt_arrays_free(dev);
    drop_results(dev);
    vec_free(&dev->results);
    vec_free(&dev->warned);
    for (size_t i = 0; i < dev->schedules.n; i++)
        cta_schedule_free(dev->schedules.v[i]);
    vec_free(&dev->schedules);
    for (size_t i = 0; i < dev->made.n; i++)
        rt_made_free(&dev->made.v[i]);
    vec_free(&dev->made);
    if (dev->gpu)
        timing_gpu_free(dev->gpu);
    exec_team_free(dev->team);
    exec_checks_free(dev->checks);
    if (dev->mem)
        dev_mem_free(dev->mem);
    machine_free(dev->machine);
    free(dev);
}

/* -- schedules -- */

static bool
same_kernel(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : !a && !b;
}

bool
allot_device_schedule(struct allot_device *dev, const char *path, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct cta_schedule *s = cta_schedule_read(path, diag);
    size_t i = 0;
    while (s && i < dev->schedules.n &&
           !same_kernel(dev->schedules.v[i]->kernel, s->kernel))
        i++;
    if (s && i == dev->schedules.n)
        *vec_push(&dev->schedules) = s;
    else if (s) {
        cta_schedule_free(dev->schedules.v[i]);
        dev->schedules.v[i] = s;
    }
    diag_free(&own);
    return s != NULL;
}

/* -- memory -- */

static void
no_room(const struct allot_device *dev, uint64_t bytes, struct allot_diag *d)
{
    if (d)
        diag_error(
            &d->sink,
            "cannot allocate %llu bytes of device memory: %llu of %.0f bytes are in "
            "use (gpu.memory sets the size)",
            (unsigned long long)bytes, (unsigned long long)dev_bytes_used(dev->mem),
            dev->machine->gpu.memory * 1073741824.0);
}

uint64_t
allot_alloc(struct allot_device *dev, uint64_t bytes, struct allot_diag *d)
{
    uint64_t a = dev_alloc(dev->mem, bytes);
    if (!a)
        no_room(dev, bytes, d);
    return a;
}

uint64_t
allot_reserve(struct allot_device *dev, uint64_t bytes, struct allot_diag *d)
{
    uint64_t a = dev_reserve(dev->mem, bytes);
    if (!a)
        no_room(dev, bytes, d);
    return a;
}

static bool
not_reserved(uint64_t addr, struct allot_diag *d)
{
    if (d)
        diag_error(&d->sink,
                   "0x%llx is not the start of reserved addresses without memory",
                   (unsigned long long)addr);
    return false;
}

bool
allot_commit(struct allot_device *dev, uint64_t addr, struct allot_diag *d)
{
    struct dev_range r;
    if (dev_commit(dev->mem, addr))
        return true;
    if (!dev_find(dev->mem, addr, &r) || r.addr != addr || !r.reserved || !r.dead)
        return not_reserved(addr, d);
    no_room(dev, r.size, d);
    return false;
}

bool
allot_unreserve(struct allot_device *dev, uint64_t addr, struct allot_diag *d)
{
    return dev_unreserve(dev->mem, addr) || not_reserved(addr, d);
}

bool
allot_free(struct allot_device *dev, uint64_t addr, struct allot_diag *d)
{
    if (dev_release(dev->mem, addr))
        return true;
    if (d)
        diag_error(&d->sink, "0x%llx is not the start of a live allocation",
                   (unsigned long long)addr);
    return false;
}

uint64_t
allot_alloc_host(struct allot_device *dev, uint64_t bytes, struct allot_diag *d)
{
    uint64_t a = dev_alloc_shared(dev->mem, bytes);
    if (!a && d)
        diag_error(&d->sink, "cannot allocate %llu bytes of host memory for the device%s",
                   (unsigned long long)bytes,
                   dev->options.unified ? "" : ": its memory is not unified");
    return a;
}

bool
allot_map_host(struct allot_device *dev, void *p, uint64_t bytes, struct allot_diag *d)
{
    if (dev_map(dev->mem, p, bytes))
        return true;
    if (d)
        diag_error(&d->sink, "cannot map %llu bytes of host memory at %p: %s",
                   (unsigned long long)bytes, p,
                   dev->options.unified ? "part of them is mapped or device memory"
                                        : "the device's memory is not unified");
    return false;
}

bool
allot_unmap_host(struct allot_device *dev, void *p, struct allot_diag *d)
{
    if (dev_unmap(dev->mem, p))
        return true;
    if (d)
        diag_error(&d->sink, "%p is not the start of mapped host memory", p);
    return false;
}

uint64_t
allot_memory(const struct allot_device *dev, uint64_t *total)
{
    *total = capacity_of(dev->machine);
    return dev_bytes_used(dev->mem);
}

static bool
copy_error(struct allot_device *dev, const char *what, uint64_t addr, uint64_t bytes,
           struct allot_diag *d)
{
    if (!d)
        return false;
    struct dev_range r;
    if (dev_nearest(dev->mem, addr, &r))
        return diag_error(&d->sink,
                          "%s of %llu bytes at 0x%llx is not inside one live allocation; "
                          "the nearest is 0x%llx, %llu bytes",
                          what, (unsigned long long)bytes, (unsigned long long)addr,
                          (unsigned long long)r.addr, (unsigned long long)r.size);
    return diag_error(&d->sink, "%s of %llu bytes at 0x%llx: nothing is allocated", what,
                      (unsigned long long)bytes, (unsigned long long)addr);
}

bool
allot_write(struct allot_device *dev, uint64_t addr, const void *src, uint64_t bytes,
            struct allot_diag *d)
{
    if (!dev_write(dev->mem, addr, src, bytes))
        return copy_error(dev, "write", addr, bytes, d);
    if (dev->gpu)
        timing_host_copy(dev->gpu, addr, bytes);
    return true;
}

bool
allot_read(struct allot_device *dev, uint64_t addr, void *dst, uint64_t bytes,
           struct allot_diag *d)
{
    return dev_read(dev->mem, addr, dst, bytes) ||
           copy_error(dev, "read", addr, bytes, d);
}

bool
allot_set(struct allot_device *dev, uint64_t addr, int byte, uint64_t bytes,
          struct allot_diag *d)
{
    return dev_set(dev->mem, addr, byte, bytes) || copy_error(dev, "set", addr, bytes, d);
}

uint64_t
allot_device_findings(const struct allot_device *dev)
{
    return exec_checks_found(dev->checks);
}

void
allot_written(struct allot_device *dev, uint64_t addr, uint64_t bytes)
{
    dev_mark_written(dev->mem, addr, bytes);
}

/* -- modules -- */

struct loaded_module *
rt_load(struct allot_device *dev, struct allot_module *m, struct diag_sink *diag)
{
    for (size_t i = 0; i < dev->modules.n; i++)
        if (dev->modules.v[i]->serial == m->serial)
            return dev->modules.v[i];
    struct exec_image *image = exec_image_new(m->ptx, dev->mem, diag);
    if (!image)
        return NULL;
    exec_image_sums(image, dev->machine->unit.tensor_sums);
    struct loaded_module *lm = xcalloc(1, sizeof *lm);
    lm->module = m;
    lm->serial = m->serial;
    struct version *v = *vec_push(&lm->versions) = xcalloc(1, sizeof *v);
    v->image = image;
    *vec_push(&dev->modules) = lm;
    return lm;
}

bool
allot_symbol(struct allot_device *dev, struct allot_module *m, const char *name,
             uint64_t *addr, uint64_t *bytes, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct loaded_module *lm = rt_load(dev, m, diag);
    uint64_t a = 0, n = 0;
    bool ok = lm && exec_image_symbol(lm->versions.v[0]->image, name, &a, &n);
    for (size_t i = lm ? lm->versions.n : 0; !ok && i-- > 1;) /* added by a pass */
        ok = exec_image_symbol(lm->versions.v[i]->image, name, &a, &n);
    if (lm && !ok)
        diag_error(diag, "the module has no variable '%s'", name);
    if (ok && addr)
        *addr = a;
    if (ok && bytes)
        *bytes = n;
    diag_free(&own);
    return ok;
}

/* -- launches -- */

static bool
param_block(const struct ptx_func *f, const struct allot_launch *l, uint8_t *block,
            struct diag_sink *diag)
{
    if (l->nargs != f->params.n) {
        struct strbuf b = {0};
        for (size_t i = 0; i < f->params.n; i++)
            strbuf_printf(&b, "%s.%s %s", i ? ", " : "",
                          ptx_types[f->params.v[i]->type].text, f->params.v[i]->name);
        struct diag *g = diag_add(diag, DIAG_ERROR, NULL,
                                  "kernel %s has %zu parameters, %zu were given", f->name,
                                  f->params.n, l->nargs);
        diag_hint(diag, g, "its parameters: %s", b.n ? b.s : "none");
        strbuf_free(&b);
        return false;
    }
    for (size_t i = 0; i < f->params.n; i++) {
        if (!l->args[i])
            return diag_error(diag, "kernel %s: parameter %s (number %zu) is missing",
                              f->name, f->params.v[i]->name, i + 1);
        memcpy(block + f->params.v[i]->offset, l->args[i], f->params.v[i]->size);
    }
    return true;
}

/* Output may have to wait for a reader. */
static void
print_kernels(void *user, const char *text, size_t n)
{
    struct allot_device *dev = user;
    watchdog_off(dev->watchdog);
    if (dev->options.print)
        dev->options.print(dev->options.user, text, n);
    else
        fwrite(text, 1, n, stdout);
    watchdog_on(dev->watchdog);
}

/* The executor asks often; the caller is told about 10 times a second. */
static bool
keep_going(void *user, uint64_t done, uint64_t blocks)
{
    struct allot_device *dev = user;
    atomic_fetch_add_explicit(&dev->beat, 1, memory_order_relaxed);
    if (!dev->options.progress && !dev->options.watch)
        return true;
    double now = clock_seconds(CLOCK_MONOTONIC);
    if (now - dev->told < 0.1)
        return true;
    dev->told = now;
    return tell(dev, 0, dev->grid->n_thread_inst, done, blocks);
}

/* -- the watchdog -- */

static bool
is_timed(const struct allot_device *dev)
{
    return dev->gpu && !dev->functional;
}

static uint64_t
beat(void *user)
{
    const struct allot_device *dev = user;
    return atomic_load_explicit(&dev->beat, memory_order_relaxed) +
           (dev->gpu ? timing_beat(dev->gpu) : 0);
}

static void
name_launch(void *user, struct strbuf *out)
{
    const struct allot_device *dev = user;
    strbuf_printf(out, "kernel '%s' on %s, ",
                  dev->grid ? dev->grid->prog->entry->name : "", dev->machine->name);
    if (is_timed(dev))
        strbuf_printf(out, "after core cycle %llu",
                      (unsigned long long)timing_beat(dev->gpu));
    else
        strbuf_addz(out, "functional mode");
}

static void
dump_launch(void *user, struct strbuf *out)
{
    const struct allot_device *dev = user;
    if (is_timed(dev))
        timing_explain(dev->gpu, out);
    else if (dev->grid && dev->grid->at)
        exec_explain_cta(dev->grid->at, out);
}

/* Functional blocks in several host threads say nothing before a wave of them has ended. */
static struct watchdog *
watchdog_for(struct allot_device *dev)
{
    if (!is_timed(dev) && dev->team)
        return NULL;
    const unsigned threads = dev->options.threads ? dev->options.threads : 1;
    const struct watchdog_setup s = {.patience = dev->patience * threads,
                                     .beat = beat,
                                     .name = name_launch,
                                     .dump = dump_launch,
                                     .user = dev};
    if (!dev->watchdog)
        dev->watchdog = watchdog_new(&s);
    return dev->watchdog;
}

static bool
run_watched(struct allot_device *dev, struct exec_grid *g, const struct launch_plan *plan,
            struct allot_result *r, struct diag_sink *diag)
{
    uint64_t blocks = (uint64_t)g->grid.x * g->grid.y * g->grid.z;
    dev->began = clock_seconds(CLOCK_MONOTONIC);
    if (!tell(dev, 0, 0, 0, blocks)) {
        g->failure = ALLOT_STOPPED;
        return diag_error(diag, "kernel '%s' interrupted before it began",
                          g->prog->entry->name);
    }
    if (!is_timed(dev)) {
        g->keep_going = keep_going;
        g->user = dev;
        dev->told = clock_seconds(CLOCK_MONOTONIC);
        if (dev->options.working_sets) {
            r->workset = workset_new(blocks, dev->machine->l2.line, dev->mem);
            workset_watch(r->workset, g);
        }
        bool ok = exec_run_grid(g) == EXEC_OK;
        if (r->workset)
            workset_finish(r->workset);
        r->stats.gpu.blocks = blocks;
        r->stats.gpu.threads = blocks * exec_block_threads(g);
        r->stats.sm.warp_instructions = g->n_warp_inst;
        r->stats.sm.thread_instructions = g->n_thread_inst;
        return ok;
    }
    if (!timing_launch(dev->gpu, g, &plan->sm, &r->stats, diag))
        return false;
    if (dev->options.sample_cycles)
        keep_sample(dev, r->stats.gpu.cycles, &r->stats);
    if (dev->options.by_line)
        result_keep_lines(r, g->prog, timing_lines(dev->gpu));
    if (dev->options.per_sm) {
        r->nsm = dev->machine->sm.count;
        r->sm = xcalloc(r->nsm, sizeof *r->sm);
        for (unsigned i = 0; i < r->nsm; i++)
            r->sm[i] = *timing_sm_stats(dev->gpu, i);
    }
    return true;
}

static bool
run(struct allot_device *dev, struct exec_grid *g, const struct launch_plan *plan,
    struct allot_result *r, struct diag_sink *diag)
{
    dev->running = r;
    dev->grid = g;
    struct watchdog *w = watchdog_for(dev);
    watchdog_on(w);
    const bool ok = run_watched(dev, g, plan, r, diag);
    watchdog_off(w);
    return ok;
}

/* Where the blocks of a cooperative launch meet: size and barrier words, as CUDA's
 * cooperative groups expect them behind %envreg1 and %envreg2. */
static bool
workspace(struct allot_device *dev, struct exec_grid *g, struct diag_sink *diag)
{
    const uint32_t words[2] = {sizeof words, 0};
    if (!dev->workspace)
        dev->workspace = dev_alloc(dev->mem, sizeof words);
    g->workspace = dev->workspace;
    return (dev->workspace && dev_write(dev->mem, dev->workspace, words, sizeof words)) ||
           diag_error(diag, "no device memory left for a cooperative launch");
}

/* A cooperative launch is possible: all blocks fit. */
static bool
prepare_together(struct allot_device *dev, struct exec_grid *g,
                 const struct launch_plan *plan, struct diag_sink *diag)
{
    uint64_t blocks = (uint64_t)g->grid.x * g->grid.y * g->grid.z;
    uint64_t fit = plan_together(dev->machine, plan, diag);
    if (!fit || !workspace(dev, g, diag))
        return false;
    if (blocks <= fit)
        return true;
    dev->failure = ALLOT_TOO_LARGE;
    return diag_error(
        diag,
        "cooperative launch of kernel '%s': its %llu blocks cannot all be "
        "resident, at most %llu can (%llu on each of %u SMs)",
        g->prog->entry->name, (unsigned long long)blocks, (unsigned long long)fit,
        (unsigned long long)(fit / dev->machine->sm.count), dev->machine->sm.count);
}

static struct exec_dim
dims(const uint32_t of[3])
{
    return (struct exec_dim){of[0], of[1], of[2]};
}

bool
rt_decode(const struct allot_device *dev, const struct version *v,
          struct loaded_kernel *k, struct diag_sink *diag)
{
    if (k->prog)
        return true;
    k->prog = exec_decode(v->image, k->func, diag);
    if (k->prog && dev->options.check_analyses)
        exec_check_analyses(k->prog);
    return k->prog != NULL;
}

/* Has this instruction not been warned of yet? */
static bool
first_warning(void *user, const char *kernel, const struct diag_loc *loc)
{
    struct allot_device *dev = user;
    struct hash h = hash_start();
    hash_text(&h, kernel);
    hash_bytes(&h, &loc->line, sizeof loc->line);
    hash_bytes(&h, &loc->col, sizeof loc->col);
    for (size_t i = 0; i < dev->warned.n; i++)
        if (dev->warned.v[i] == (uint64_t)h.v)
            return false;
    *vec_push(&dev->warned) = (uint64_t)h.v;
    return true;
}

/* Where races of the kernel are looked for; NULL: nowhere. */
static struct exec_races *
races_of(const struct allot_device *dev, struct loaded_kernel *lk)
{
    const enum machine_races which = dev->machine->functional.races;
    lk->races.all = which == RACES_ALL;
    bool checked = dev->options.checks & EXEC_CHECK_RACE;
    return dev->gpu || checked || which == RACES_OFF ? NULL : &lk->races;
}

/* Blocks of a cluster, by the launch or else by the kernel's head. */
static struct exec_dim
cluster_of(const struct allot_launch *l, const struct ptx_func *f)
{
    const uint32_t *n =
        l->cluster[0] || l->cluster[1] || l->cluster[2] ? l->cluster : f->cluster;
    return dims(n);
}

/* The same of bulk and tensor copies. */
static bool
check_bulk(const struct allot_device *dev, const struct exec_grid *g,
           const struct diag_loc *loc, struct diag_sink *diag)
{
    if (!g->prog->bulk || (!dev->options.checks && !dev->gpu))
        return true;
    struct diag *d =
        diag_add(diag, DIAG_ERROR, loc, "kernel '%s' has bulk or tensor copies, %s",
                 g->prog->entry->name,
                 dev->gpu ? "which have no timing yet" : "which --check does not follow");
    diag_hint(diag, d, "run it %s", dev->gpu ? "with --functional" : "without --check");
    return false;
}

/* What the simulation of clusters of several blocks leaves out is refused. */
static bool
check_cluster(const struct allot_device *dev, const struct exec_grid *g,
              const struct allot_launch *l, const struct launch_plan *plan,
              struct diag_sink *diag)
{
    const struct ptx_func *f = g->prog->entry;
    struct diag_loc loc = {f->module->file, f->module->text, f->line, f->col, 0};
    const char *why = NULL, *hint = "";
    if (exec_cluster_blocks(g) <= 1)
        return check_bulk(dev, g, &loc, diag);
    if (memcmp(plan->shape.grid, l->grid, sizeof l->grid)) {
        why = "a pass changes its grid";
        hint = "run it without passes that merge blocks or make them persistent";
    } else if (dev->options.checks) {
        why = "--check does not know the scratchpads of other blocks";
        hint = "run it without --check";
    } else if (dev->machine->gpu.compute_capability < 90) {
        why = "the machine's compute capability is below 9.0";
        hint = "choose a machine that has clusters, such as h100";
    } else if (dev->gpu) {
        why = "clusters of several blocks have no timing yet";
        hint = "run it with --functional";
    }
    if (!why)
        return true;
    struct diag *d =
        diag_add(diag, DIAG_ERROR, &loc,
                 "kernel '%s' is launched in clusters of (%u,%u,%u) blocks: %s", f->name,
                 g->cluster.x, g->cluster.y, g->cluster.z, why);
    diag_hint(diag, d, "%s", hint);
    return false;
}

/* Where the grid counts clusters (.blocksareclusters), it becomes one of blocks. */
static bool
count_clusters(struct allot_launch *l, struct diag_sink *diag)
{
    struct diag_sink quiet = {0};
    const struct ptx_func *f =
        l->module ? plan_find_kernel(l->module->ptx, l->kernel, &quiet) : NULL;
    diag_free(&quiet);
    if (!f || !f->blocks_are_clusters)
        return true;
    const uint32_t *n = f->cluster[0] ? f->cluster : l->cluster;
    for (int i = 0; i < 3; i++) {
        const uint64_t blocks = (uint64_t)l->grid[i] * (n[i] ? n[i] : 1);
        if (blocks > INT32_MAX)
            return diag_error(diag, "kernel '%s': its grid of clusters is too large",
                              l->kernel);
        l->grid[i] = (uint32_t)blocks;
    }
    return true;
}

struct allot_result *
rt_launch(struct allot_device *dev, const struct allot_launch *l, const uint8_t *given,
          const char *parent, struct exec_orders *orders, struct diag_sink *diag)
{
    struct allot_result *r = NULL;
    uint8_t *params = NULL;
    struct launch_plan plan;
    if (!parent && dev->options.last_result_only)
        drop_results(dev);
    dev->failure = ALLOT_REFUSED;
    struct allot_launch known = *l; /* a plan may have no grid, a launch has one */
    for (int i = 0; i < 3; i++)
        known.grid[i] = l->grid[i] ? l->grid[i] : 1;
    if (!count_clusters(&known, diag))
        goto out;
    if (!plan_variant(dev, &known, &plan, diag) ||
        !rt_decode(dev, plan.version, plan.kernel, diag))
        goto out;
    dev->failure = ALLOT_BAD_LAUNCH;
    struct loaded_kernel *lk = plan.kernel;
    const struct exec_prog *prog = lk->prog;
    params = xcalloc(prog->entry->param_bytes, 1);
    if (given)
        memcpy(params, given, prog->entry->param_bytes);
    else if (!param_block(prog->entry, l, params, diag))
        goto out;
    struct exec_grid g = {.prog = prog,
                          .mem = dev->mem,
                          .grid = dims(plan.shape.grid),
                          .block = dims(plan.shape.block),
                          .dynamic_shared = plan.shape.dynamic_scratchpad,
                          .params = params,
                          .nsm = dev->machine->sm.count,
                          .tex_line = dev->machine->l1t.address == TEXTURE_GPGPUSIM
                                          ? dev->machine->l1t.line
                                          : 0,
                          .grid_id = dev->launches++,
                          .limit = dev->options.max_instructions,
                          .cooperative = l->cooperative || persistent_steps(lk->func),
                          .cluster = cluster_of(l, prog->entry),
                          .print = print_kernels,
                          .print_user = dev,
                          .orders = orders,
                          .quantum = dev->machine->functional.quantum,
                          .races = races_of(dev, lk),
                          .team = dev->team,
                          .speculation = &lk->speculation,
                          .diag = diag};
    if (exec_cluster_blocks(&g) > 1)
        g.races = NULL; /* they know nothing of accesses by other blocks */
    exec_check_promise(prog, plan.shared_from);
    if (dev->checks)
        exec_checks_watch(dev->checks, &g);
    uint64_t threads = exec_block_threads(&g);
    g.warps_per_cta = (uint32_t)((threads + 31) / 32);
    if (!exec_grid_check(&g, diag) || !check_cluster(dev, &g, &known, &plan, diag) ||
        (g.cooperative && !prepare_together(dev, &g, &plan, diag)) ||
        (dev->gpu && !plan_residency(dev, &plan, diag)))
        goto out;
    tex_refresh(dev_textures(dev->mem), dev->mem);
    double t0 = clock_seconds(CLOCK_MONOTONIC);
    if (dev->gpu && plan.sm.order->follows &&
        !rt_follow_schedule(dev, &known, &g, &plan, diag))
        goto out;
    r = xcalloc(1, sizeof *r);
    r->demand = plan.sm.demand;
    bool ok = run(dev, &g, &plan, r, diag);
    dev->grid = NULL;
    r->seconds = clock_seconds(CLOCK_MONOTONIC) - t0;
    exec_guard_warnings(&g, first_warning, dev);
    /* --check sync tells them itself, with their number */
    exec_stranger_warnings(
        &g, dev->options.checks & EXEC_CHECK_SYNC ? NULL : first_warning, dev);
    exec_race_warning(&g, first_warning, dev);
    if (ok) {
        dev->failure = ALLOT_OK;
        r->kernel = xstrdup(l->kernel);
        r->parent = parent ? xstrdup(parent) : NULL;
        memcpy(r->grid, (uint32_t[3]){g.grid.x, g.grid.y, g.grid.z}, sizeof r->grid);
        memcpy(r->block, (uint32_t[3]){g.block.x, g.block.y, g.block.z}, sizeof r->block);
        r->dynamic = g.dynamic_shared;
        *vec_push(&dev->results) = r;
    } else {
        if (g.failure)
            dev->failure = g.failure;
        result_free(r);
        r = NULL;
    }
out:
    free(params);
    return r;
}

enum allot_failure
allot_launch_failure(const struct allot_device *dev)
{
    return dev->failure;
}

bool
allot_device_heap(struct allot_device *dev, uint64_t bytes, struct allot_diag *d)
{
    if (heap_limit(dev_heap(dev->mem), bytes))
        return true;
    if (d)
        diag_error(&d->sink,
                   "the heap of the device's malloc is in use already; its size "
                   "is set before the first kernel that calls malloc");
    return false;
}

uint64_t
allot_device_heap_size(const struct allot_device *dev)
{
    return heap_size(dev_heap(dev->mem));
}
