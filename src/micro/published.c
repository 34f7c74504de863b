/* published.c: see published.h. */
#include "micro/published.h"

#include "base/data.h"
#include "base/str.h"
#include "experiments/experiment.h"
#include "experiments/launch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char FOLDER[] = "papers/micro";

/* Blocks of 1024 threads, two an SM: as registers of a thread only limit blocks. */
enum { REGISTERS = 32 };

struct adding {
    struct micro_cases *m;
    struct allot_module *module; /* of path, the last that was parsed */
    const char *path;
    struct diag_sink *diag;
};

/* The run's kernel and arguments; texts live in m->mem, as long as the module. */
static bool
read_launch(struct adding *x, const struct exp_run *r, struct launch *l)
{
    struct launch_desc desc;
    const char *wrong;
    if (!x->module || strcmp(x->path, r->workload)) {
        size_t n;
        struct allot_diag *d = allot_diag_new();
        char *text = file_read(r->workload, &n);
        allot_module_free(x->module);
        x->path = arena_strdup(&x->m->mem, r->workload);
        x->module = text ? allot_module_parse(x->path, text, n, d) : NULL;
        free(text);
        allot_diag_free(d);
        if (!x->module)
            return diag_error(x->diag, "cannot read %s", x->path);
    }
    return launch_from_texts(r->params, r->nparams, &desc, &wrong, &x->m->mem) &&
           launch_read(&desc, x->module, x->path, l, NULL, &x->m->mem, x->diag);
}

static const char *
contents_of(const struct launch_arg *a)
{
    return a->init && !strcmp(a->init, "self") ? "self" : "zero";
}

/* "buf=b0 turns=2"; buffers go to c. *number: the last argument that is none. */
static const char *
params_of(struct adding *x, const struct launch *l, struct micro_case *c,
          const char **number)
{
    struct strbuf b = {0};
    *number = "";
    for (size_t i = 0; i < l->kernel->nparams; i++) {
        const struct launch_arg *a = &l->arg[i];
        const char *name = l->kernel->params[i].name, *space = i ? " " : "";
        if (!a->buffer) {
            *number = a->text;
            strbuf_printf(&b, "%s%s=%s", space, name, a->text);
        } else if (c->nbuffers < MICRO_MAX_BUFFERS) {
            strbuf_printf(&b, "%s%s=b%u", space, name, c->nbuffers);
            c->bytes[c->nbuffers] = a->bytes;
            c->contents[c->nbuffers++] = contents_of(a);
        }
    }
    const char *text = arena_strdup(&x->m->mem, b.s);
    strbuf_free(&b);
    return text;
}

static struct micro_case *
find(const struct micro_cases *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->v[i].name, name))
            return &m->v[i];
    return NULL;
}

static bool
add_run(struct adding *x, const struct exp_run *r, unsigned cc)
{
    struct launch l;
    struct micro_case c = {.config = "published", .nlaunches = 1, .cc = cc};
    const char *number;
    if (!r->own || !read_launch(x, r, &l))
        return !r->own;
    const char *file = strrchr(x->path, '/'), *params = params_of(x, &l, &c, &number);
    file = file ? file + 1 : x->path;
    c.name =
        arena_printf(&x->m->mem, "published/%.*s/%s/%ux%u-%s", (int)strcspn(file, "."),
                     file, l.kernel->name, l.grid[0], l.block[0], number);
    c.launch[0] =
        (struct micro_launch){.ptx = arena_printf(&x->m->mem, "%s/%s", FOLDER, file),
                              .kernel = arena_strdup(&x->m->mem, l.kernel->name),
                              .params = params,
                              .grid = l.grid[0],
                              .block = l.block[0],
                              .regs = REGISTERS};
    struct micro_cases *m = x->m;
    struct micro_case *known = find(m, c.name);
    if (known) { /* of another experiment, perhaps for later cards only */
        known->cc = known->cc < cc ? known->cc : cc;
        return true;
    }
    m->v = xrealloc(m->v, (m->n + 1) * sizeof *m->v);
    m->v[m->n++] = c;
    return true;
}

static unsigned
capability(const struct exp_run *r)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load(r->machine, d);
    char cc[16] = "0";
    if (m)
        allot_machine_get(m, "gpu.compute_capability", cc, sizeof cc);
    allot_machine_free(m);
    allot_diag_free(d);
    return (unsigned)atoi(cc);
}

static bool
add_file(struct adding *x, const char *path)
{
    struct experiment *e = experiment_load(path, false, x->diag);
    bool ok = e != NULL;
    const unsigned cc = ok && e->nrun ? capability(&e->run[0]) : 0;
    for (size_t i = 0; ok && i < e->nrun; i++)
        ok = add_run(x, &e->run[i], cc);
    experiment_free(e);
    return ok;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
wanted(const char *const *only, size_t n)
{
    static const char all[] = "published/";
    bool any = !n;
    for (size_t i = 0; i < n; i++)
        any |= micro_begins(all, only[i]) || micro_begins(only[i], all);
    return any;
}

bool
published_add(struct micro_cases *m, const char *const *only, size_t n,
              struct diag_sink *diag)
{
    if (!wanted(only, n))
        return true;
    struct adding x = {.m = m, .diag = diag};
    const char *folder = data_path(&m->mem, FOLDER);
    DIR *d = folder ? opendir(folder) : NULL;
    VEC(const char *) files = {0};
    bool ok = true;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len > 5 && !strcmp(e->d_name + len - 5, ".yaml"))
            *vec_push(&files) = arena_printf(&m->mem, "%s/%s", folder, e->d_name);
    }
    if (d)
        closedir(d);
    if (files.n)
        qsort(files.v, files.n, sizeof *files.v, by_name);
    for (size_t i = 0; ok && i < files.n; i++)
        ok = add_file(&x, files.v[i]);
    allot_module_free(x.module);
    vec_free(&files);
    return ok;
}
