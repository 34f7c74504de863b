/* shape.c: the note that says how a kernel's launches change. */
#include "passes/shape.h"

#include "ptx/note.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const parts[] = {"grid", "block"};
enum { MOST = 1024 }; /* of a factor */
static const char dims[] = "xyzn", ops[] = "*/=+%:";

/* One step of a note, "grid.x/2". */
struct step {
    enum shape_part part;
    unsigned dim, factor;
    char op; /* one of ops[] */
};

/* Reads one at *s, which moves after it. */
static bool
read_step(const char **s, struct step *out)
{
    char part[8], dim;
    int n = 0;
    if (sscanf(*s, " %7[a-z].%c%c%10u%n", part, &dim, &out->op, &out->factor, &n) != 4 ||
        !n)
        return false;
    *s += n;
    out->part = strcmp(part, parts[SHAPE_GRID]) ? SHAPE_BLOCK : SHAPE_GRID;
    const char *d = strchr(dims, dim), *op = strchr(ops, out->op);
    out->dim = d ? (unsigned)(d - dims) : SHAPE_ALL;
    return !strcmp(part, parts[out->part]) && dim && d && out->op && op &&
           (out->dim < SHAPE_ALL || out->op == '%') && out->factor &&
           (strchr("=:", out->op) || out->factor <= MOST) && (!**s || **s == ' ');
}

/* NULL, or what is wrong. */
static const char *
apply(const struct step *s, struct pass_launch *l)
{
    uint32_t *size = s->part == SHAPE_GRID ? l->grid : l->block;
    if (s->op == '%') {
        uint64_t n =
            s->dim == SHAPE_ALL ? (uint64_t)size[0] * size[1] * size[2] : size[s->dim];
        return n % s->factor ? "not a multiple" : NULL;
    }
    uint32_t *d = &size[s->dim];
    if (s->op == ':')
        return *d = s->factor, NULL;
    if (s->op == '+')
        return *d > UINT32_MAX - s->factor ? "too large" : (*d += s->factor, NULL);
    if (s->op == '=')
        return *d == s->factor ? NULL : "another size is demanded";
    if (s->op == '*')
        return *d > UINT32_MAX / s->factor ? "too large" : (*d *= s->factor, NULL);
    return *d % s->factor ? "not a multiple" : (*d /= s->factor, NULL);
}

void
shape_change(struct ptx_func *f, const struct pass_args *a, enum shape_part part,
             unsigned dim, char op, unsigned factor)
{
    const struct step step = {part, dim, factor, op};
    struct strbuf b = {0};
    char *before = ptx_note(f, "launch");
    assert(a->pass->shapes && factor && strchr(ops, op));
    assert(factor <= MOST || op == '=' || op == ':');
    assert(dim < SHAPE_ALL || (dim == SHAPE_ALL && op == '%'));
    strbuf_printf(&b, "%s%s%s.%c%c%u", before ? before : "", before ? " " : "",
                  parts[part], dims[dim], op, factor);
    if (a->launch->kernel)
        apply(&step, a->launch);
    ptx_set_note(f, "launch", b.s);
    strbuf_free(&b);
    free(before);
}

bool
shape_apply(const struct ptx_func *f, struct pass_launch *l, struct diag_sink *diag)
{
    char *note = ptx_note(f, "launch");
    const char *s = note ? note : "", *wrong = NULL;
    struct diag_loc loc = {f->module->file, f->module->text, f->line, f->col, 0};
    const struct pass_launch asked = *l;
    while (*s && !wrong) {
        struct step step;
        if (!read_step(&s, &step))
            wrong = "no such change";
        else
            wrong = apply(&step, l);
    }
    if (wrong) {
        struct diag *d = diag_add(
            diag, DIAG_ERROR, &loc,
            "kernel '%s' is compiled for launches changed by \"%s\", which a launch of "
            "(%u,%u,%u) blocks of (%u,%u,%u) threads cannot be: %s",
            f->name, note, asked.grid[0], asked.grid[1], asked.grid[2], asked.block[0],
            asked.block[1], asked.block[2], wrong);
        diag_hint(diag, d,
                  "launch a grid that the change divides, or compile without it");
    }
    free(note);
    return !wrong;
}

bool
shape_same(const struct pass_launch *a, const struct pass_launch *b)
{
    return a->dynamic_scratchpad == b->dynamic_scratchpad &&
           !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block);
}
