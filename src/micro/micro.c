/* micro.c: see micro.h. */
#include "micro/micro.h"

#include "base/str.h"
#include "base/number.h"
#include "base/data.h"
#include "micro/apps.h"
#include "micro/published.h"
#include "micro/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- the table -- */

enum column {
    C_CASE,
    C_PTX,
    C_KERNEL,
    C_CONFIG,
    C_GRID,
    C_BLOCK,
    C_PARAMS,
    C_REGS,
    C_LAUNCH,
    C_PREFILL,
    C_BUFFERS,
    C_CYCLES,
    C_THREAD,
    C_WARP,
    NCOLUMNS
};
static const char *const column_names[NCOLUMNS] = {
    "case", "ptx",    "kernel",  "config",  "grid",   "block",       "params",
    "regs", "launch", "prefill", "buffers", "cycles", "thread_insn", "warp_insn"};

static const char PATH[] = "papers/micro/gpgpusim.csv";

struct reader {
    struct csv *csv;
    const char *path;
    int col[NCOLUMNS];
    struct diag_sink *diag;
};

static bool
number(const struct reader *r, size_t row, enum column c, uint64_t hi, uint64_t *out)
{
    const char *text = csv_cell(r->csv, row, r->col[c]);
    if (number_u64(text, 0, hi, out))
        return true;
    struct diag_loc at = {.file = r->path, .line = r->csv->line[row]};
    diag_add(r->diag, DIAG_ERROR, &at, "%s: '%s' is not a number from 0 to %llu",
             column_names[c], text, (unsigned long long)hi);
    return false;
}

/* "b0=4096:zero b1=8192:lcg-ring-first-64-lines" */
static bool
buffers(const struct reader *r, size_t row, struct micro_case *c)
{
    char *text = arena_strdup(&r->csv->mem, csv_cell(r->csv, row, r->col[C_BUFFERS]));
    char *save = NULL;
    for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(p, '='), *colon = strchr(p, ':');
        if (c->nbuffers == MICRO_MAX_BUFFERS || !eq || !colon || colon < eq)
            goto bad;
        *colon = 0;
        if (!number_u64(eq + 1, 1, UINT64_C(1) << 36, &c->bytes[c->nbuffers]))
            goto bad;
        c->contents[c->nbuffers++] = colon + 1;
    }
    return true;
bad:
    diag_add(r->diag, DIAG_ERROR,
             &(struct diag_loc){.file = r->path, .line = r->csv->line[row]},
             "buffers are up to %d words like b0=4096:zero", MICRO_MAX_BUFFERS);
    return false;
}

static bool
read_row(const struct reader *r, size_t row, struct micro_cases *m)
{
    const char *name = csv_cell(r->csv, row, r->col[C_CASE]);
    const char *config = csv_cell(r->csv, row, r->col[C_CONFIG]);
    struct micro_case *c = m->n ? &m->v[m->n - 1] : NULL;
    uint64_t prefill, grid, block, regs;
    const char *launch = csv_cell(r->csv, row, r->col[C_LAUNCH]);
    unsigned nth, of;
    if (sscanf(launch, "%u/%u", &nth, &of) != 2 || nth < 1 || nth > of ||
        of > MICRO_MAX_LAUNCHES ||
        (nth > 1 && !(c && !strcmp(c->name, name) && !strcmp(c->config, config) &&
                      c->nlaunches == nth - 1))) {
        diag_add(r->diag, DIAG_ERROR,
                 &(struct diag_loc){.file = r->path, .line = r->csv->line[row]},
                 "launch '%s': write 1/1, or 1/2 and below it 2/2", launch);
        return false;
    }
    if (nth == 1) {
        c = &m->v[m->n++];
        *c = (struct micro_case){.name = name, .config = config};
        if (!buffers(r, row, c) || !number(r, row, C_PREFILL, 1, &prefill))
            return false;
        c->prefill = prefill;
    }
    struct micro_launch *l = &c->launch[c->nlaunches++];
    *l = (struct micro_launch){.ptx = csv_cell(r->csv, row, r->col[C_PTX]),
                               .kernel = csv_cell(r->csv, row, r->col[C_KERNEL]),
                               .params = csv_cell(r->csv, row, r->col[C_PARAMS]),
                               .row = (unsigned)row};
    bool ok = number(r, row, C_GRID, UINT32_MAX, &grid) &&
              number(r, row, C_BLOCK, 1024, &block) &&
              number(r, row, C_REGS, 255, &regs) &&
              number(r, row, C_CYCLES, UINT64_MAX, &l->cycles) &&
              number(r, row, C_THREAD, UINT64_MAX, &l->thread_insn) &&
              number(r, row, C_WARP, UINT64_MAX, &l->warp_insn);
    if (!ok)
        return false;
    l->grid = (uint32_t)grid;
    l->block = (uint32_t)block;
    l->regs = (uint32_t)regs;
    return true;
}

bool
micro_load(struct micro_cases *m, struct diag_sink *diag)
{
    *m = (struct micro_cases){0};
    struct reader r = {.path = data_path(&m->mem, PATH), .diag = diag};
    if (!r.path)
        return diag_error(diag,
                          "%s is not there; set ALLOT_DATA to the folder that holds "
                          "papers/ and workloads/",
                          PATH);
    r.csv = m->csv = csv_read(r.path, diag);
    if (!r.csv)
        return false;
    for (int i = 0; i < NCOLUMNS; i++)
        if ((r.col[i] = csv_need(r.csv, r.path, column_names[i], diag)) < 0)
            return false;
    m->v = xcalloc(r.csv->nrows, sizeof *m->v);
    for (size_t row = 0; row < r.csv->nrows; row++)
        if (!read_row(&r, row, m))
            return false;
    return true;
}

bool
micro_begins(const char *name, const char *word)
{
    return !strncmp(name, word, strlen(word));
}

const char *
micro_unknown(const char *const *only, size_t n)
{
    struct micro_cases m;
    struct diag_sink diag = {0};
    const char *unknown = NULL;
    bool read = micro_load(&m, &diag) && (!n || published_add(&m, only, n, &diag));
    for (size_t k = 0; read && !unknown && k < n; k++) {
        bool found = false;
        for (size_t i = 0; i < m.n; i++)
            found |= micro_begins(m.v[i].name, only[k]);
        struct apps_case app;
        for (size_t i = 0; apps_case(i, &app); i++) {
            char name[160];
            apps_name(&app, name);
            found |= micro_begins(name, only[k]);
        }
        unknown = found ? NULL : only[k];
    }
    diag_free(&diag);
    micro_free(&m);
    return unknown;
}

void
micro_free(struct micro_cases *m)
{
    csv_free(m->csv);
    arena_free(&m->mem);
    free(m->v);
    *m = (struct micro_cases){0};
}

static uint64_t
case_cycles(const struct micro_case *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < c->nlaunches; i++)
        sum += c->launch[i].cycles;
    return sum;
}

bool
micro_is_quick(const struct micro_cases *m, size_t i)
{
    const struct micro_case *c = &m->v[i];
    for (size_t k = 0; k < m->n; k++) {
        const struct micro_case *o = &m->v[k];
        if (k == i || o->cc > c->cc || strcmp(o->config, c->config) ||
            strcmp(o->launch[o->nlaunches - 1].ptx, c->launch[c->nlaunches - 1].ptx) ||
            strcmp(o->launch[o->nlaunches - 1].kernel,
                   c->launch[c->nlaunches - 1].kernel))
            continue;
        uint64_t a = case_cycles(o), b = case_cycles(c);
        if (a < b || (a == b && k < i))
            return false;
    }
    return true;
}

/* -- a case -- */

bool
micro_fill(const char *contents, uint64_t bytes, uint64_t base,
           bool (*write)(void *user, uint64_t offset, uint64_t value), void *user)
{
    uint64_t n, lines = bytes / 128, at = 0;
    char kind[4];
    if (!strcmp(contents, "zero") || !strcmp(contents, "zero-by-memcpy"))
        return true;
    if (!strcmp(contents, "self")) {
        for (n = 0; n + 8 <= bytes; n += 8)
            if (!write(user, n, base + n))
                return false;
        return true;
    }
    unsigned long long first;
    if (sscanf(contents, "%3[a-z]-ring-first-%llu-lines", kind, &first) != 2 || !lines)
        return false;
    bool lcg = !strcmp(kind, "lcg");
    if (!lcg && strcmp(kind, "seq"))
        return false;
    for (n = 0; n < first; n++) {
        uint64_t next = (lcg ? 1664525 * at + 1013904223 : at + 1) % lines;
        if (!write(user, at * 128, base + next * 128))
            return false;
        at = next;
    }
    return true;
}

bool
micro_param(const struct micro_launch *l, const char *name, const uint64_t *address,
            unsigned nbuffers, uint64_t *value)
{
    size_t n = strlen(name);
    for (const char *p = l->params; *p; p += strcspn(p, " ")) {
        p += strspn(p, " ");
        if (strncmp(p, name, n) || p[n] != '=')
            continue;
        char text[32];
        unsigned b;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(p + n + 1, " "), p + n + 1);
        if (sscanf(text, "b%u", &b) == 1 && b < nbuffers)
            return *value = address[b], true;
        return number_u64(text, 0, UINT64_MAX, value);
    }
    return false;
}

/* Room of a buffer: stream_add_f64 stores 8 bytes for each of up to 1024 threads where
 * the table gives it 4 KB, which GPGPU-Sim does not check. */
uint64_t
micro_room(uint64_t bytes)
{
    return bytes < 8192 ? 8192 : bytes;
}

struct target {
    struct allot_device *dev;
    uint64_t base, bytes; /* written with a pointer */
    struct allot_diag *d;
};

static bool
write_pointer(void *user, uint64_t offset, uint64_t value)
{
    struct target *t = user;
    uint64_t line[16] = {value};
    return allot_write(t->dev, t->base + offset, line, t->bytes, t->d);
}

static bool
make_buffers(const struct micro_case *c, struct allot_device *dev, uint64_t *address,
             struct allot_diag *d)
{
    for (unsigned i = 0; i < c->nbuffers; i++) {
        address[i] = allot_alloc(dev, micro_room(c->bytes[i]), d);
        if (!address[i])
            return false;
        if (!strcmp(c->contents[i], "zero-by-memcpy")) {
            void *zero = xcalloc(1, c->bytes[i]);
            bool ok = allot_write(dev, address[i], zero, c->bytes[i], d);
            free(zero);
            if (!ok)
                return false;
        }
        struct target t = {dev, address[i], strcmp(c->contents[i], "self") ? 128 : 8, d};
        if (!micro_fill(c->contents[i], c->bytes[i], address[i], write_pointer, &t)) {
            fprintf(stderr, "allot: case %s: contents '%s' of buffer %u are not known\n",
                    c->name, c->contents[i], i);
            return false;
        }
    }
    return true;
}

static bool
launch(const struct micro_case *c, const struct micro_launch *l, struct allot_device *dev,
       struct allot_module *module, const uint64_t *address, bool planned,
       struct allot_diag *d)
{
    const struct allot_kernel *k = allot_module_find(module, l->kernel);
    uint64_t value[MICRO_MAX_PARAMS];
    const void *args[MICRO_MAX_PARAMS];
    if (!k || k->nparams > MICRO_MAX_PARAMS) {
        fprintf(stderr, "allot: case %s: %s holds no usable kernel %s\n", c->name, l->ptx,
                l->kernel);
        return false;
    }
    for (size_t i = 0; i < k->nparams; i++) {
        args[i] = &value[i];
        if (!micro_param(l, k->params[i].name, address, c->nbuffers, &value[i])) {
            fprintf(stderr, "allot: case %s: parameter %s of %s is not given\n", c->name,
                    k->params[i].name, l->kernel);
            return false;
        }
    }
    struct allot_launch a = {.module = module,
                             .kernel = l->kernel,
                             .grid = {l->grid},
                             .block = {l->block},
                             .args = args,
                             .nargs = k->nparams};
    struct allot_plan plan;
    return planned ? allot_launch_plan(dev, &a, &plan, d)
                   : allot_launch(dev, &a, d) != NULL;
}

char *
micro_text(const char *ptx, unsigned cc)
{
    char relative[96];
    snprintf(relative, sizeof relative, "%s%s",
             strchr(ptx, '/') ? "" : "workloads/micro/", ptx);
    struct arena mem = {0};
    const char *path = data_path(&mem, relative);
    size_t n;
    char *text = path ? file_read(path, &n) : NULL;
    if (!text) {
        fprintf(stderr, "allot: cannot read %s: %s\n", path ? path : relative,
                strerror(path ? errno : ENOENT));
    } else if (cc) {
        char *timed = span_instrument(text, cc);
        if (!timed)
            fprintf(stderr, "allot: %s: a kernel's return is guarded, or there is none\n",
                    path);
        free(text);
        text = timed;
    }
    arena_free(&mem);
    return text;
}

static bool
set_span(struct allot_device *dev, struct allot_module *m, struct allot_diag *d)
{
    uint64_t at, slots[SPAN_WORDS];
    span_init(slots);
    return allot_symbol(dev, m, SPAN_SYMBOL, &at, NULL, d) &&
           allot_write(dev, at, slots, sizeof slots, d);
}

static bool
get_span(struct allot_device *dev, struct allot_module *m, uint64_t *cycles,
         struct allot_diag *d)
{
    uint64_t at, slots[SPAN_WORDS];
    if (!allot_symbol(dev, m, SPAN_SYMBOL, &at, NULL, d) ||
        !allot_read(dev, at, slots, sizeof slots, d))
        return false;
    *cycles = span_cycles(slots);
    return true;
}

/* The device of a case. Registers only limit blocks; of two launches the warm-up's fewer would
 * not change its blocks (256 threads at most). */
static struct allot_device *
case_device(const struct micro_case *c, const struct allot_machine *m,
            const struct allot_options *options, struct allot_diag *d)
{
    char regs[16];
    snprintf(regs, sizeof regs, "%u", c->launch[c->nlaunches - 1].regs);
    struct allot_machine *own = allot_machine_clone(m);
    bool ok =
        allot_machine_set(own, "partition.prefill", c->prefill ? "true" : "false", d) &&
        allot_machine_set(own, "residency.regs_per_thread", regs, d);
    struct allot_device *dev = ok ? allot_device_new(own, options, d) : NULL;
    allot_machine_free(own);
    return dev;
}

/* A launch's module; with timed as span.h makes it for the machine. */
static struct allot_module *
parse(const struct micro_launch *l, const struct allot_machine *m, bool timed,
      struct allot_diag *d)
{
    char cc[16] = "0";
    if (timed)
        allot_machine_get(m, "gpu.compute_capability", cc, sizeof cc);
    char *text = micro_text(l->ptx, (unsigned)atoi(cc));
    struct allot_module *module =
        text ? allot_module_parse(l->ptx, text, strlen(text), d) : NULL;
    free(text);
    return module;
}

bool
micro_plan(const struct micro_case *c, const struct allot_machine *m, bool ptxas,
           struct allot_diag *d)
{
    const struct allot_options options = {0};
    uint64_t address[MICRO_MAX_BUFFERS];
    struct allot_module *module[MICRO_MAX_LAUNCHES] = {0};
    struct allot_device *dev = case_device(c, m, &options, d);
    bool ok = dev != NULL;
    for (unsigned i = 0; ok && i < c->nbuffers; i++)
        ok = (address[i] = allot_alloc(dev, micro_room(c->bytes[i]), d)) != 0;
    for (unsigned i = 0; ok && i < c->nlaunches; i++) {
        const char *kernel = c->launch[i].kernel;
        module[i] = parse(&c->launch[i], m, true, d);
        ok = module[i] && launch(c, &c->launch[i], dev, module[i], address, true, d) &&
             (!ptxas || allot_module_ptxas(module[i], m, kernel, d));
    }
    allot_device_free(dev);
    for (unsigned i = 0; i < MICRO_MAX_LAUNCHES; i++)
        allot_module_free(module[i]);
    return ok;
}

bool
micro_run(const struct micro_case *c, const struct allot_machine *m,
          const struct allot_options *options, struct allot_device **dev,
          struct allot_module *module[MICRO_MAX_LAUNCHES], uint64_t *span,
          struct allot_diag *d)
{
    *dev = case_device(c, m, options, d);
    uint64_t address[MICRO_MAX_BUFFERS];
    bool ok = *dev && make_buffers(c, *dev, address, d);
    for (unsigned i = 0; ok && i < c->nlaunches; i++) {
        module[i] = parse(&c->launch[i], m, span != NULL, d);
        ok = module[i] && (!span || set_span(*dev, module[i], d)) &&
             launch(c, &c->launch[i], *dev, module[i], address, false, d) &&
             (!span || get_span(*dev, module[i], &span[i], d));
    }
    return ok;
}
