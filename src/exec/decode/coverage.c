/* coverage.c: docs/ptx-coverage.md, made from the opcode table. A row whose value is a
 * lane function is asked for every combination of types and modifiers whether there is
 * one (lane_select); the others are the executor's own handlers, or refused as the row
 * says. */
#include "exec/decode/coverage.h"

#include "exec/lanes/lane.h"

#include <stdlib.h>
#include <string.h>

static bool
is_row(unsigned op)
{
    return !(ptx_ops[op].flags & PTX_PSEUDO);
}

static int
by_mnemonic(const void *a, const void *b)
{
    uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
    int c = strcmp(ptx_ops[x].mnemonic, ptx_ops[y].mnemonic);
    return c ? c : (int)x - (int)y;
}

/* What there is of a row. */
struct found {
    unsigned forms;
    bool used[PTX_NMODS]; /* modifiers that stand in one of the forms */
    struct strbuf none;   /* combinations of types without a form */
};

/* Forms from modifier group g on for which there is a lane function; mod: in's own. */
static unsigned
count_forms(struct ptx_inst *in, uint8_t *mod, unsigned g, struct found *f)
{
    while (g < PTX_NMODGROUPS && !(ptx_ops[in->op].groups >> g & 1))
        g++;
    uint32_t aux;
    if (g == PTX_NMODGROUPS) {
        bool is = lane_select(in, &aux);
        for (unsigned k = 0; k < PTX_NMODGROUPS && is; k++)
            f->used[in->mod[k]] = true;
        return is;
    }
    unsigned n = count_forms(in, mod, g + 1, f);
    for (unsigned m = 1; m < PTX_NMODS; m++)
        if (ptx_mods[m].group == g) {
            mod[g] = (uint8_t)m;
            n += count_forms(in, mod, g + 1, f);
        }
    mod[g] = 0;
    return n;
}

/* Every combination of the types from here on. */
static void
count_types(struct ptx_inst *in, const char *types, struct found *f)
{
    if (!*types) {
        uint8_t mod[PTX_NMODGROUPS] = {0};
        in->mod = mod;
        unsigned n = count_forms(in, mod, 0, f);
        in->mod = ptx_no_mods;
        f->forms += n;
        for (unsigned i = 0; !n && i < in->ntypes; i++)
            strbuf_printf(&f->none, "%s.%s",
                          i           ? ""
                          : f->none.s ? ", "
                                      : "",
                          ptx_types[in->type[i]].text);
        return;
    }
    size_t len = strcspn(types, "/");
    const char *rest = types + len + (types[len] == '/');
    unsigned at = in->ntypes++;
    for (size_t i = 0; i < len;) {
        size_t k = strcspn(types + i, " /");
        in->type[at] = (uint8_t)ptx_type_find(types + i, k);
        count_types(in, rest, f);
        i += k + (types[i + k] == ' ');
    }
    in->ntypes--;
}

static void
add_modifiers(unsigned op, const struct found *f, struct strbuf *b)
{
    bool any = false;
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++) {
        if (!(ptx_ops[op].groups >> g & 1))
            continue;
        bool first = true;
        for (unsigned m = 1; m < PTX_NMODS; m++)
            if (ptx_mods[m].group == g && (!f->forms || f->used[m])) {
                strbuf_printf(b, "%s.%s", first ? any ? "; " : "" : " ",
                              ptx_mods[m].text);
                first = false;
            }
        any |= !first;
    }
}

static void
add_types(const char *types, struct strbuf *b)
{
    for (const char *p = types; *p; p++)
        if (*p == '/')
            strbuf_addz(b, " / ");
        else
            strbuf_add(b, p, 1);
}

static void
add_state(unsigned op, const struct found *f, struct strbuf *b)
{
    const struct ptx_op_info *o = &ptx_ops[op];
    strbuf_addz(b, o->flags & PTX_TOONEW    ? "refused: needs sm_90 or later"
                   : o->flags & PTX_REFUSED ? "refused"
                                            : "done");
    if (f->forms && f->none.s)
        strbuf_printf(b, "; not with %s", f->none.s);
}

void
exec_coverage_docs(struct strbuf *b)
{
    uint16_t rows[PTX_NOPS];
    size_t n = 0;
    unsigned done = 0, refused = 0, later = 0;
    for (unsigned op = 0; op < PTX_NOPS; op++)
        if (is_row(op)) {
            rows[n++] = (uint16_t)op;
            bool is_refused = ptx_ops[op].flags & PTX_REFUSED,
                 is_later = ptx_ops[op].flags & PTX_TOONEW;
            done += !is_refused;
            refused += is_refused && !is_later;
            later += is_later;
        }
    qsort(rows, n, sizeof *rows, by_mnemonic);
    strbuf_printf(
        b,
        "# PTX: every instruction and form, done or refused\n\n"
        "Made by `allot list ptx --markdown` from src/ptx/opcodes.def: %u rows done, %u "
        "refused, %u refused because they need sm_90 or later. What is refused is named "
        "with its line when a kernel with it is decoded; the other kernels of the module "
        "run.\n\n"
        "Alternatives of one suffix are separated by blanks, suffixes by semicolons; types "
        "in the order written, separated by slashes. Combinations that the PTX ISA does not have are refused one by one.\n\n"
        "| instruction | suffixes | types | state |\n| --- | --- | --- | --- |\n",
        done, refused, later);
    for (size_t i = 0; i < n; i++) {
        const struct ptx_op_info *o = &ptx_ops[rows[i]];
        strbuf_printf(b, "| %s%s%s | ", o->mnemonic,
                      *o->operands == '*' && o->operands[1] ? "." : "",
                      *o->operands == '*' ? o->operands + 1 : "");
        struct found f = {0};
        struct ptx_inst in = {.op = rows[i], .guard = -1, .mod = ptx_no_mods};
        if (o->flags & PTX_PURE && !(o->flags & (PTX_REFUSED | PTX_VERBATIM)))
            count_types(&in, o->types, &f);
        add_modifiers(rows[i], &f, b);
        strbuf_addz(b, " | ");
        add_types(o->types, b);
        strbuf_addz(b, " | ");
        add_state(rows[i], &f, b);
        strbuf_addz(b, " |\n");
        strbuf_free(&f.none);
    }
}
