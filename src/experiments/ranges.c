/* ranges.c: access ranges of scratchpad variables as values of an experiment (000 Table
 * III): a row is a basic block of a kernel of one's own, by the label that begins it. */
#include "experiments/ranges.h"

#include "analysis/access_range.h"
#include "analysis/cfg.h"
#include "ptx/parse.h"

#include <stdlib.h>
#include <string.h>

static const char *const prefix[] = {"access_in:", "access_out:"};

/* 0: AccIN, 1: AccOUT, -1: neither. *names: behind the colon. */
static int
side_of(const char *stat, const char **names)
{
    for (int i = 0; i < 2; i++)
        if (!strncmp(stat, prefix[i], strlen(prefix[i]))) {
            *names = stat + strlen(prefix[i]);
            return i;
        }
    return -1;
}

bool
ranges_knows(const char *stat)
{
    const char *names = "";
    return side_of(stat, &names) >= 0 && *names;
}

/* Variables "A+B" as a set; 0: one of them the kernel does not use. */
static scratch_set
set_of(const struct scratch_use *u, const char *names)
{
    scratch_set s = 0;
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, "+"), i = 0;
        while (i < u->var.n &&
               (strncmp(u->var.v[i].var->name, p, n) || u->var.v[i].var->name[n]))
            i++;
        if (i == u->var.n)
            return 0;
        s |= (scratch_set)1 << scratch_bit(u, i);
        p += n + (p[n] == '+');
    }
    return s;
}

/* The block that begins at label `name`, -1: there is none. */
static int64_t
block_at(const struct cfg *g, const char *name)
{
    for (size_t i = 0; i < g->func->labels.n; i++)
        if (!strcmp(g->func->labels.v[i].name, name) && g->label_at[i] != UINT32_MAX)
            return g->block_of[g->label_at[i]];
    return -1;
}

static bool
range_of(const struct ptx_func *f, const char *label, const char *stat, double *value)
{
    const char *names = "";
    int side = side_of(stat, &names);
    struct scratch_use *u = scratch_use_new(f);
    struct cfg *g = cfg_new(f);
    struct access_range *a = access_range_new(g, u->funcs.v[0].touch);
    scratch_set s = set_of(u, names);
    int64_t b = block_at(g, label);
    bool ok = s && b >= 0;
    if (ok)
        *value = side ? access_out(a, (uint32_t)b, s) : access_in(a, (uint32_t)b, s);
    access_range_free(a);
    cfg_free(g);
    scratch_use_free(u);
    return ok;
}

bool
ranges_value(const char *file, const char *label, const char *stat, double *value)
{
    struct diag_sink diag = {0};
    struct ptx_module *m = ptx_parse_file(file, &diag);
    const struct ptx_func *k = NULL;
    for (size_t i = 0; m && !k && i < m->funcs.n; i++)
        if (m->funcs.v[i]->is_entry)
            k = m->funcs.v[i];
    bool ok = k && range_of(k, label, stat, value);
    ptx_module_free(m);
    diag_free(&diag);
    return ok;
}
