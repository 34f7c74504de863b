/* module.c: public modules: parse, print, passes, kernel facts. image.c loads them. */
#include "runtime/runtime.h"

#include "analysis/usage.h"
#include "base/hash.h"
#include "passes/card/late_operands.h"
#include "passes/sched/schedule.h"
#include "passes/pass.h"
#include "ptx/link.h"
#include "ptx/parse.h"
#include "ptx/print.h"
#include "runtime/ptxas.h"

/* Never the same twice in a process. */
static uint64_t
next_serial(void)
{
    static _Atomic uint64_t serial;
    return ++serial;
}

struct allot_module *
rt_module_wrap(struct ptx_module *p, const struct diag_sink *diag)
{
    if (!p)
        return NULL;
    struct allot_module *m = xcalloc(1, sizeof *m);
    m->ptx = p;
    m->serial = next_serial();
    m->cancelled = diag->cancelled;
    m->cancel_user = diag->cancel_user;
    return m;
}

struct allot_module *
allot_module_parse(const char *name, const char *text, size_t len, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct allot_module *m = rt_module_wrap(ptx_parse(name, text, len, diag), diag);
    diag_free(&own);
    return m;
}

struct allot_module *
allot_module_link(struct allot_module *const *parts, size_t n, const char *name,
                  struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct ptx_module **p = xmalloc((n + 1) * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = parts[i]->ptx;
    struct allot_module *m = rt_module_wrap(ptx_link(p, n, name, diag), diag);
    for (size_t i = 0; m && i < n; i++) {
        parts[i]->ptx = NULL;
        allot_module_free(parts[i]);
    }
    free(p);
    diag_free(&own);
    return m;
}

static void
add_passes(struct strbuf *b, const char *passes)
{
    if (passes && *passes)
        strbuf_printf(b, "%s%s", b->n ? "," : "", passes);
}

static bool
is_allocated(const struct machine *m, const struct ptx_module *p)
{
    return m->compiler.registers != REGISTERS_VIRTUAL && !p->parts.n;
}

unsigned
rt_cleanup_passes(const struct machine *m, const struct ptx_module *p)
{
    const char *cleanup = is_allocated(m, p) ? m->compiler.cleanup : NULL;
    return cleanup ? pass_count(cleanup) : 0;
}

char *
rt_pipeline(const struct machine *m, const struct ptx_module *p)
{
    struct strbuf b = {0};
    bool allocated = is_allocated(m, p);
    strbuf_addz(&b, "");
    if (allocated)
        add_passes(&b, m->compiler.cleanup);
    add_passes(&b, m->compiler.passes);
    if (allocated && !pass_allocates(m->compiler.passes))
        add_passes(&b, "register-allocate");
    if (!p->parts.n)
        add_passes(&b, m->compiler.late_passes);
    return strbuf_take(&b);
}

static char *
latencies_of(const struct machine *m)
{
    struct strbuf b = {0};
    for (int i = 0; i < PTX_NLATENCIES; i++)
        strbuf_printf(&b, "%s=%d+", ptx_latency_names[i], (int)m->latency[i].cycles);
    unsigned l1 = (unsigned)m->l1d.latency;
    unsigned l2 = l1 + 2 * (unsigned)m->icnt.latency + (unsigned)m->partition.rop_latency;
    strbuf_printf(&b, "global=%u+local=%u+shared=%u+const=%u", l2, l1,
                  (unsigned)m->scratchpad.latency, (unsigned)m->l1c.latency);
    return strbuf_take(&b);
}

void
rt_machine_keys(const struct machine *m, struct rt_key_words *w, struct pass_key *key)
{
    const bool split = m->sm.sub_cores == SUB_CORES_SPLIT;
    const uint32_t banks = split ? m->collector.banks / m->sm.schedulers : 0;
    w->latencies = latencies_of(m);
    snprintf(w->reserved, sizeof w->reserved, "%u", m->sm.reserved_registers);
    snprintf(w->banks, sizeof w->banks, "%u", banks);
    const bool late = pass_names(m->compiler.cleanup, pass_late_operands.name);
    const bool free_operands = m->sm.fusions || m->sm.operand_loads;
    const struct pass_key all[] = {
        {.key = "latencies", .value = w->latencies},
        {.key = "taken", .value = schedule_taken((unsigned)m->gpu.compute_capability)},
        {.key = "reserved", .value = w->reserved},
        {.key = "banks", .value = w->banks},
        {.key = "operands", .value = late ? "late" : "early"},
        {.key = "operands-free", .value = free_operands ? "yes" : "no"},
        {.key = "operand-loads", .value = m->sm.operand_loads ? "yes" : "no"},
        {.key = "expanded", .value = m->sm.machine_operations ? "yes" : "no"},
    };
    _Static_assert(sizeof all / sizeof *all == RT_MACHINE_KEYS, "room for the keys");
    memcpy(key, all, sizeof all);
}

void
rt_module_changed(struct allot_module *m)
{
    arena_free(&m->mem);
    exec_image_free(m->check_image);
    if (m->check_mem)
        dev_mem_free(m->check_mem);
    m->check_image = NULL;
    m->check_mem = NULL;
    m->serial = next_serial();
    m->kernels = NULL;
    m->nkernels = 0;
    m->counted = false;
}

void
allot_module_free(struct allot_module *m)
{
    if (!m)
        return;
    rt_module_changed(m);
    ptx_module_free(m->ptx);
    free(m);
}

uint32_t
allot_module_capability(const struct allot_module *m)
{
    unsigned n = 0;
    if (m->ptx->target)
        sscanf(m->ptx->target, "%*[a-z]_%u", &n);
    return n;
}

char *
allot_module_print(const struct allot_module *m)
{
    struct strbuf b = {0};
    ptx_print(m->ptx, &b);
    return strbuf_take(&b);
}

void
allot_module_hash(const struct allot_module *m, char hex[33])
{
    char *text = allot_module_print(m);
    struct hash h = hash_start();
    hash_text(&h, text);
    hash_hex(&h, hex);
    free(text);
}

bool
allot_module_opt(struct allot_module *m, const char *passes, char **report,
                 struct allot_diag *d)
{
    return allot_module_opt_with(m, passes, "", report, d);
}

bool
allot_module_opt_with(struct allot_module *m, const char *passes, const char *defaults,
                      char **report, struct allot_diag *d)
{
    return allot_module_opt_for(m, NULL, passes, defaults, report, d);
}

bool
allot_module_opt_for(struct allot_module *m, const struct allot_machine *machine,
                     const char *passes, const char *defaults, char **report,
                     struct allot_diag *d)
{
    return allot_module_opt_watched(m, machine, passes, defaults, report, NULL, d);
}

struct watching {
    const struct allot_pass_watch *watch;
    struct allot_module *m;
    struct allot_diag *d;
};

static bool
passed(void *user, const struct pass_step *s, struct diag_sink *diag)
{
    const struct watching *w = user;
    struct allot_pass_step step = {s->name, s->index, s->changed, s->seconds,
                                   s->verify_seconds};
    rt_module_changed(w->m);
    return w->watch->after(w->watch->user, &step, w->d);
}

bool
allot_module_opt_watched(struct allot_module *m, const struct allot_machine *machine,
                         const char *passes, const char *defaults, char **report,
                         const struct allot_pass_watch *watch, struct allot_diag *d)
{
    enum { MOST = 16 };
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct strbuf words = {0};
    struct pass_key keys[MOST + RT_MACHINE_KEYS + 1] = {0};
    char *copy = xstrdup(defaults), *save;
    size_t n = 0;
    bool ok = true;
    for (char *p = strtok_r(copy, " ", &save); ok && p; p = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(p, '=');
        ok = eq && n < MOST;
        if (!ok) {
            diag_error(diag, "default '%s' of passes: write KEY=VALUE, at most %d", p,
                       MOST);
            break;
        }
        *eq = 0;
        keys[n++] = (struct pass_key){.key = p, .value = eq + 1};
    }
    struct pass_launch any = {.machine = machine ? machine->m : NULL};
    struct rt_key_words words_of_machine = {0};
    if (machine)
        rt_machine_keys(machine->m, &words_of_machine, keys + n);
    struct watching w = {watch, m, d};
    struct pass_watch told = {passed, &w, .trusts = false};
    ok = ok && pass_legal(m->ptx, NULL, diag) &&
         pass_run_watched(m->ptx, passes, keys, &any, report ? &words : NULL,
                          watch ? &told : NULL, diag);
    if (report)
        *report = words.n ? strbuf_take(&words) : NULL;
    strbuf_free(&words);
    free(words_of_machine.latencies);
    free(copy);
    rt_module_changed(m);
    diag_free(&own);
    return ok;
}

bool
allot_passes_known(const char *passes, struct allot_diag *d)
{
    struct diag_sink own = {0};
    bool ok = pass_known(passes, rt_sink(d, &own));
    diag_free(&own);
    return ok;
}

bool
allot_pass(size_t i, const char **name, const char **meaning)
{
    const struct pass *p = pass_at(i);
    if (!p)
        return false;
    *name = p->name;
    *meaning = p->meaning;
    return true;
}

bool
allot_pass_setting(size_t i, size_t k, const char **key, const char **value_default,
                   const char **meaning)
{
    const struct pass *p = pass_at(i);
    if (!p || !p->keys)
        return false;
    for (size_t n = 0; p->keys[n].key; n++)
        if (n == k) {
            *key = p->keys[n].key;
            *value_default = p->keys[n].value;
            *meaning = p->keys[n].meaning;
            return true;
        }
    return false;
}

static uint32_t
product(const uint32_t v[3])
{
    uint64_t p = 1;
    bool any = false;
    for (int i = 0; i < 3; i++) {
        any |= v[i] != 0;
        p *= v[i] ? v[i] : 1;
    }
    return !any ? 0 : p > UINT32_MAX ? UINT32_MAX : (uint32_t)p;
}

/* `allocated`: the function after the default passes, NULL: they failed. */
static void
describe(struct allot_module *m, const struct ptx_func *f,
         const struct ptx_func *allocated, struct allot_kernel *k)
{
    struct usage u;
    usage_of(f, &u);
    k->name = f->name;
    k->registers = k->live_registers = u.live_registers;
    k->virtual_registers = u.virtual_registers;
    k->predicates = u.live_predicates;
    k->instructions = u.instructions;
    k->machine_operations = u.machine_operations;
    k->scratchpad = u.scratchpad;
    k->local_bytes = u.local_bytes;
    uint32_t req = product(f->reqntid);
    k->max_block_threads = req ? req : product(f->maxntid);
    memcpy(k->cluster, f->cluster, sizeof k->cluster);
    k->explicit_cluster = f->explicit_cluster;
    k->blocks_are_clusters = f->blocks_are_clusters;
    struct allot_variable *v =
        ARENA_ARRAY(&m->mem, struct allot_variable, u.scratchpad_vars.n);
    for (size_t i = 0; i < u.scratchpad_vars.n; i++) {
        const struct ptx_var *s = u.scratchpad_vars.v[i].var;
        v[i] = (struct allot_variable){s->name, s->size, s->dynamic,
                                       u.scratchpad_vars.v[i].at};
    }
    k->variables = v;
    k->nvariables = u.scratchpad_vars.n;
    struct allot_param *p = ARENA_ARRAY(&m->mem, struct allot_param, f->params.n);
    for (size_t i = 0; i < f->params.n; i++) {
        const struct ptx_var *s = f->params.v[i];
        p[i] = (struct allot_param){s->name, ptx_types[s->type].text, (uint32_t)s->size,
                                    s->align};
    }
    k->params = p;
    k->nparams = f->params.n;
    k->unread = f->fault;
    usage_free(&u);
    if (!allocated)
        return;
    usage_of(allocated, &u);
    k->machine_operations = u.machine_operations;
    if (u.registers) {
        k->registers = u.registers;
        k->predicates = u.predicates;
    }
    usage_free(&u);
}

static void
count_kernels(struct allot_module *m)
{
    if (m->counted)
        return;
    m->counted = true;
    m->kernels = ARENA_ARRAY(&m->mem, struct allot_kernel, m->ptx->funcs.n);
    m->described = ARENA_ARRAY(&m->mem, bool, m->ptx->funcs.n);
    for (size_t i = 0; i < m->ptx->funcs.n; i++)
        if (m->ptx->funcs.v[i]->is_entry && m->ptx->funcs.v[i]->has_body)
            m->kernels[m->nkernels++].name = m->ptx->funcs.v[i]->name;
}

static const struct ptx_func *
entry_of(const struct ptx_module *p, const char *name)
{
    for (size_t i = 0; p && i < p->funcs.n; i++)
        if (p->funcs.v[i]->is_entry && p->funcs.v[i]->has_body &&
            !strcmp(p->funcs.v[i]->name, name))
            return p->funcs.v[i];
    return NULL;
}

/* Finds out what the kernel of that name needs, as a machine would have it allocated;
 * NULL: all kernels. */
static void
describe_kernels(struct allot_module *m, const char *name)
{
    struct diag_sink quiet = {.cancelled = m->cancelled, .cancel_user = m->cancel_user};
    struct machine *defaults = machine_new();
    char *passes = rt_pipeline(defaults, m->ptx);
    struct ptx_module *p = *passes ? ptx_copy(m->ptx, name, &quiet) : NULL;
    bool ok = p && pass_run(p, passes, NULL, NULL, &quiet);
    size_t k = 0, at = 0;
    for (size_t i = 0; i < m->ptx->funcs.n; i++) {
        const struct ptx_func *f = m->ptx->funcs.v[i];
        if (!f->is_entry || !f->has_body)
            continue;
        if (!m->described[k] && (!name || !strcmp(name, f->name))) {
            const struct ptx_func *allocated = NULL;
            for (; ok && !name && at < p->funcs.n && !allocated; at++) /* as they stand */
                if (p->funcs.v[at]->is_entry && p->funcs.v[at]->has_body &&
                    !strcmp(p->funcs.v[at]->name, f->name))
                    allocated = p->funcs.v[at];
            if (ok && name)
                allocated = entry_of(p, name);
            describe(m, f, allocated, &m->kernels[k]);
            m->described[k] = true;
        }
        k++;
    }
    if (p)
        ptx_module_free(p);
    free(passes);
    machine_free(defaults);
    diag_free(&quiet);
}

const struct allot_kernel *
allot_module_kernel_as_is(struct allot_module *m, size_t i)
{
    count_kernels(m);
    if (i >= m->nkernels)
        return NULL;
    if (!m->described[i])
        describe(m, entry_of(m->ptx, m->kernels[i].name), NULL, &m->kernels[i]);
    return &m->kernels[i];
}

const struct allot_kernel *
allot_module_kernel(struct allot_module *m, size_t i)
{
    count_kernels(m);
    if (i >= m->nkernels)
        return NULL;
    if (!m->described[i])
        describe_kernels(m, NULL); /* who asks for one by number asks for all */
    return &m->kernels[i];
}

const struct allot_kernel *
allot_module_find(struct allot_module *m, const char *name)
{
    count_kernels(m);
    for (size_t i = 0; i < m->nkernels; i++)
        if (!strcmp(m->kernels[i].name, name)) {
            if (!m->described[i])
                describe_kernels(m, name);
            return &m->kernels[i];
        }
    return NULL;
}

bool
allot_module_ptxas(struct allot_module *m, const struct allot_machine *machine,
                   const char *name, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    const struct allot_kernel *k = allot_module_find(m, name);
    bool ok =
        k ? ptxas_registers(m->ptx, name, (unsigned)machine->m->gpu.compute_capability,
                            &m->kernels[k - m->kernels].ptxas_registers, diag)
          : diag_error(diag, "there is no kernel '%s'", name);
    diag_free(&own);
    return ok;
}
