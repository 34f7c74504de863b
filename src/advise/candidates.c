/* candidates.c: see candidates.h. */
#include "advise/candidates.h"

#include "base/arena.h"
#include "base/vec.h"
#include "passes/pass.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

enum values { NONE, REGISTERS, BLOCKS, CARVEOUTS, GRID, MERGES };
enum { MOST_VALUES = 8, STEPS = 32 };

#define W(id) (1u << LIMIT_##id)
#define WAITS (W(latency) | W(memory) | W(barrier) | W(fetch) | W(units))
#define ALL (WAITS | W(issue) | W(lock) | W(blocks) | W(tensor) | W(registers))
#define ENERGY (1u << 31)
_Static_assert(LIMITS < 31, "a bit is left for ENERGY");

#define CARD ADVISE_CARD
#define HARDWARE ADVISE_HARDWARE
static const struct {
    struct candidate_row row;
    enum values values;
    unsigned helps;
} rows[] = {
#define CANDIDATE(id, group, settings, values, can, helps, cost, cannot)                 \
    {{#id, group, settings, cost, cannot, ((helps)&ENERGY) != 0}, values, helps},
#include "advise/candidates.def"
#undef CANDIDATE
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Whether row i can help a kernel. */
static bool
can_help(size_t i, const struct facts *f)
{
    const bool can[] = {
#define CANDIDATE(id, group, settings, values, can, helps, cost, cannot) (can),
#include "advise/candidates.def"
#undef CANDIDATE
    };
    return can[i];
}

const char *
candidates_group(enum advise_group g)
{
    static const char *const text[] = {"works on the card you have",
                                       "needs new hardware"};
    return text[g];
}

const struct candidate_row *
candidates_row(size_t i)
{
    return i < ROWS ? &rows[i].row : NULL;
}

/* -- facts -- */

static bool
pairs_bring(const struct allot_machine *m, struct allot_occupancy_query q,
            const char *resource)
{
    struct allot_occupancy o;
    struct allot_diag *quiet = allot_diag_new();
    q.share = resource;
    q.threshold = m->m->residency.threshold;
    const bool some = q.threshold > 0 && allot_occupancy(m, &q, &o, quiet) &&
                      o.shared_pairs && o.resident_blocks > o.baseline_blocks;
    allot_diag_free(quiet);
    return some;
}

struct facts
candidates_facts(const struct allot_machine *m, struct allot_module *mod,
                 const char *kernel, const struct launch_stats *s,
                 const struct allot_occupancy_query *q, uint64_t blocks,
                 struct arena *mem)
{
    const struct machine *hw = m->m;
    const struct allot_kernel *k = allot_module_find(mod, kernel);
    struct facts f = {
        .kernel = kernel,
        .blocks = blocks,
        .threads = q->threads,
        .scratchpad = q->scratchpad,
        .registers = q->registers,
        .dynamic = k && q->scratchpad > k->scratchpad ? q->scratchpad - k->scratchpad : 0,
        .resident = (uint32_t)s->gpu.resident_blocks,
        .sms = (uint32_t)hw->sm.count,
        .limited_by = ""};
    struct allot_occupancy o;
    struct allot_occupancy_query alone = *q;
    struct allot_diag *quiet = allot_diag_new();
    alone.share = "";
    alone.threshold = 1;
    if (allot_occupancy(m, &alone, &o, quiet)) {
        f.limited_by = arena_strdup(mem, o.limited_by);
        f.limited_by_registers = strstr(o.limited_by, "registers");
        f.limited_by_scratchpad = strstr(o.limited_by, "scratchpad");
        f.limited_by_blocks = strstr(o.limited_by, "blocks");
        f.shares_registers = pairs_bring(m, *q, "registers");
        f.shares_scratchpad = pairs_bring(m, *q, "scratchpad");
    }
    allot_diag_free(quiet);
    f.warps = (double)f.resident * (q->threads + 31) / 32 / (double)hw->sm.schedulers;
    const uint64_t each = (blocks + f.sms - 1) / f.sms;
    f.held = each < f.resident ? (uint32_t)each : f.resident;
    f.fills = blocks > (uint64_t)f.resident * f.sms;
    f.barriers = s->sm.barriers;
    f.memory = s->sm.global_loads || s->sm.texture_loads || s->sm.global_atomics;
    f.misses = s->sm.l1d_load_misses || s->sm.bypass_accesses;
    f.dram = s->mem.l2_read_misses;
    f.virtual = hw->compiler.registers == REGISTERS_VIRTUAL;
    f.carveouts = *hw->sm.scratchpad_sizes;
    limits_of(s, hw, &f.limits);
    return f;
}

/* -- values -- */

static size_t
put(unsigned v[MOST_VALUES], size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == value)
            return n;
    if (n < MOST_VALUES)
        v[n++] = (unsigned)value;
    return n;
}

/* The most registers that leave each number of blocks, from the most blocks that gain one. */
static size_t
register_steps(const struct facts *f, struct allot_module *mod,
               const struct allot_machine *m, unsigned v[MOST_VALUES])
{
    struct allot_register_step step[STEPS];
    struct allot_diag *quiet = allot_diag_new();
    size_t n = 0, k = allot_register_steps(mod, m, f->kernel, f->threads, f->dynamic,
                                           step, STEPS, quiet);
    allot_diag_free(quiet);
    for (size_t i = 1; i < k; i++) /* the first is what the kernel wants */
        if (step[i].possible && step[i].registers < step[0].registers)
            n = put(v, n, step[i].limit);
    return n;
}

/* Values of a row for a kernel; NONE has none. */
static size_t
values_of(enum values kind, const struct facts *f, struct allot_module *mod,
          const struct allot_machine *m, unsigned v[MOST_VALUES])
{
    size_t n = 0;
    switch (kind) {
    case NONE:
        break;
    case REGISTERS:
        return register_steps(f, mod, m, v);
    case BLOCKS: /* one less, and halves */
        n = put(v, n, f->held - 1);
        for (uint32_t b = f->held / 2; b; b /= 2)
            n = put(v, n, b);
        break;
    case CARVEOUTS: /* in quarters: few cards have more sizes */
        for (unsigned c = 0; c < 100; c += 25)
            n = put(v, n, c);
        break;
    case GRID:
        n = put(v, n, (uint64_t)f->resident * f->sms);
        break;
    case MERGES:
        n = put(v, put(v, n, 2), 4);
        break;
    }
    return n;
}

/* -- candidates -- */

/* Share of the slots that a row can save: of all kernels, 1 at most. */
static double
bound_of(unsigned helps, const struct facts *f, size_t nf)
{
    double sum = 0;
    for (size_t k = 0; k < nf; k++) {
        double of = 0;
        for (enum limit_id i = 0; i < LIMITS && !limits_rows[i].of; i++)
            if (helps >> i & 1)
                of += f[k].limits.value[i];
        sum += f[k].share * of;
    }
    return sum < 1 ? sum : 1;
}

static const char *
with_value(const char *text, unsigned v, struct arena *mem)
{
    const char *at = strstr(text, "{}");
    return at ? arena_printf(mem, "%.*s%u%s", (int)(at - text), text, v, at + 2) : text;
}

struct candidate *
candidates_of(const struct facts *f, size_t nf, struct allot_module *mod,
              const struct allot_machine *m, size_t *n, struct arena *mem)
{
    enum {
        LEAST_SHARE = 20 /* a kernel of less than 1/20 of the time decides nothing */
    };
    struct candidate *all = ARENA_ARRAY(mem, struct candidate, ROWS * MOST_VALUES);
    *n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct candidate_row *r = &rows[i].row;
        unsigned v[MOST_VALUES];
        size_t nv = 0;
        bool can = false;
        for (size_t k = 0; k < nf; k++)
            if (f[k].share * LEAST_SHARE >= 1 && can_help(i, &f[k])) {
                unsigned of[MOST_VALUES];
                size_t nof = values_of(rows[i].values, &f[k], mod, m, of);
                can = true;
                for (size_t j = 0; j < nof; j++)
                    nv = put(v, nv, of[j]);
            }
        struct candidate c = {.row = r,
                              .name = r->id,
                              .settings = r->settings,
                              .group = r->group,
                              .bound = r->energy ? 0 : bound_of(rows[i].helps, f, nf),
                              .pruned = can ? NULL : r->cannot};
        if (can && !r->energy && c.bound < 0.01)
            c.pruned = "what it can take away costs less than 1 % of the issue slots";
        if (can && rows[i].values != NONE && !nv)
            c.pruned = "there is no other value to try";
        if (c.pruned || rows[i].values == NONE)
            all[(*n)++] = c;
        for (size_t j = 0; j < nv && !c.pruned && rows[i].values != NONE; j++) {
            c.name = arena_printf(mem, "%s=%u", r->id, v[j]);
            c.settings = with_value(r->settings, v[j], mem);
            all[(*n)++] = c;
        }
    }
    return all;
}

/* -- settings -- */

/* Passes of several candidates, and of the machine, run one after the other. */
static bool
is_list(const char *setting)
{
    return !strncmp(setting, "compiler.passes=", 16) ||
           !strncmp(setting, "compiler.late_passes=", 21);
}

static size_t
path_length(const char *setting)
{
    return strcspn(setting, "=") + 1;
}

struct setting_list {
    const char **v;
    size_t n;
};

/* The setting of the same path in the list; NULL: there is none. */
static const char **
same_path(const struct setting_list *l, const char *setting)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strncmp(l->v[i], setting, path_length(setting)))
            return &l->v[i];
    return NULL;
}

/* Adds the settings of a text; false: the list has another value for one. */
static bool
add_settings(struct setting_list *l, const char *text, struct arena *mem)
{
    char *copy = arena_strdup(mem, text), *save;
    for (char *p = strtok_r(copy, "+", &save); p; p = strtok_r(NULL, "+", &save)) {
        const char **there = same_path(l, p);
        if (!there)
            l->v[l->n++] = p;
        else if (is_list(p) && !pass_names(*there + path_length(p), p + path_length(p)))
            *there = arena_printf(mem, "%s,%s", *there, p + path_length(p));
        else if (strcmp(*there, p) != 0)
            return false;
    }
    return true;
}

static struct setting_list
settings_room(struct arena *mem)
{
    enum { MOST = 32 };
    return (struct setting_list){ARENA_ARRAY(mem, const char *, MOST), 0};
}

/* Whether it has a pass that hands out registers: one of them is enough. */
static bool
allocates(const struct candidate *c)
{
    const char *passes = strstr(c->settings, "compiler.passes=");
    char text[256];
    if (!passes)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(passes, "+"), passes);
    return pass_allocates(text + path_length(text));
}

bool
candidates_pair(const struct candidate *a, const struct candidate *b,
                struct candidate *to, struct arena *mem)
{
    if (a->row > b->row) {
        const struct candidate *first = b;
        b = a;
        a = first;
    }
    struct setting_list l = settings_room(mem);
    if (a->row == b->row || a->other || b->other || (allocates(a) && allocates(b)) ||
        !add_settings(&l, a->settings, mem) || !add_settings(&l, b->settings, mem))
        return false;
    struct strbuf text = {0};
    for (size_t i = 0; i < l.n; i++)
        strbuf_printf(&text, "%s%s", i ? "+" : "", l.v[i]);
    *to = (struct candidate){
        .row = a->row,
        .other = b->row,
        .name = arena_printf(mem, "%s + %s", a->name, b->name),
        .settings = arena_strdup(mem, text.s ? text.s : ""),
        .group = a->group > b->group ? a->group : b->group,
        .bound = a->bound > b->bound ? a->bound : b->bound,
    };
    strbuf_free(&text);
    return true;
}

const char *const *
candidates_settings(const struct candidate *c, const struct allot_machine *m, size_t *n,
                    struct arena *mem)
{
    struct setting_list l = settings_room(mem);
    add_settings(&l, c->settings, mem);
    for (size_t i = 0; i < l.n; i++) {
        char own[1024] = "";
        const char *path = arena_strndup(mem, l.v[i], path_length(l.v[i]) - 1);
        if (is_list(l.v[i]) && allot_machine_get(m, path, own, sizeof own) && *own)
            l.v[i] =
                arena_printf(mem, "%s=%s,%s", path, own, l.v[i] + path_length(l.v[i]));
    }
    *n = l.n;
    return l.v;
}

struct allot_machine *
candidates_machine(const struct candidate *c, const struct allot_machine *m,
                   struct allot_diag *d)
{
    struct arena mem = {0};
    size_t n;
    const char *const *s = candidates_settings(c, m, &n, &mem);
    struct allot_machine *to = allot_machine_clone(m);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const char *path = arena_strndup(&mem, s[i], path_length(s[i]) - 1);
        ok = allot_machine_set(to, path, s[i] + path_length(s[i]), d);
    }
    arena_free(&mem);
    if (ok)
        return to;
    allot_machine_free(to);
    return NULL;
}
