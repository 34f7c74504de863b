/* coverage.c: docs/ptx-coverage.md, made from the opcode table. A row whose value is a
 * lane function is asked for every combination of types and modifiers whether there is
 * one (lane_select). The others are the executor's own handlers: what stands in no combination
 * that the rules of legal.def allow is left out. Or they are refused as the row says. */
#include "exec/decode/coverage.h"

#include "exec/exec_int.h"
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
    uint64_t types[4];    /* bits: types that do; 0: all */
    struct strbuf none;   /* combinations of types without a form */
};

/* Does a number of operands make the spelling legal? */
static bool
is_legal(struct ptx_inst *in)
{
    enum { MOST_OPERANDS = 8 };
    struct ptx_operand ops[MOST_OPERANDS] = {0};
    in->ops = ops;
    for (in->nops = 0; in->nops < MOST_OPERANDS; in->nops++) {
        if (!decode_illegal(in))
            return true;
        ops[in->nops].kind = PTX_OPD_REG;
    }
    return false;
}

/* The types of each place: n[k] of them. */
struct row_types {
    unsigned nplaces, n[4];
    uint8_t v[4][PTX_NTYPES];
};

static void
split_types(const char *s, struct row_types *t)
{
    *t = (struct row_types){0};
    while (*s) {
        size_t len = strcspn(s, " /");
        t->v[t->nplaces][t->n[t->nplaces]++] = (uint8_t)ptx_type_find(s, len);
        s += len;
        if (!*s || *s == '/')
            t->nplaces++;
        s += *s != 0;
    }
}

/* Legal with the modifiers that are set and `more` others, from modifier `from` on, with some
 * type in the first place (type: with this one)? */
static bool
legal_with(struct ptx_inst *in, uint16_t *mod, const struct row_types *t, unsigned from,
           unsigned more)
{
    if (!t->nplaces && is_legal(in))
        return true;
    for (unsigned i = 0; t->nplaces && i < t->n[0]; i++) {
        in->type[0] = t->v[0][i];
        if (is_legal(in))
            return true;
    }
    for (unsigned m = from; more && m < PTX_NMODS; m++) {
        const unsigned g = ptx_mods[m].group;
        if (mod[g] || !(ptx_ops[in->op].groups >> g & 1))
            continue;
        mod[g] = (uint16_t)m;
        const bool is = legal_with(in, mod, t, m + 1, more - 1);
        mod[g] = 0;
        if (is)
            return true;
    }
    return false;
}

/* A rule of legal.def ties a modifier to at most so many others. */
enum { TIED = 3 };

/* Modifiers and first types of a row without lane functions that stand in a legal spelling. */
static void
find_legal(unsigned op, struct found *f)
{
    uint16_t mod[PTX_NMODGROUPS] = {0};
    struct ptx_inst in = {.op = (uint16_t)op, .guard = -1, .mod = mod};
    struct row_types t;
    split_types(ptx_ops[op].types, &t);
    in.ntypes = (uint8_t)t.nplaces;
    for (unsigned k = 0; k < t.nplaces; k++)
        in.type[k] = t.v[k][0];
    f->forms = 1;
    for (unsigned m = 1; m < PTX_NMODS; m++) {
        const unsigned g = ptx_mods[m].group;
        if (!(ptx_ops[op].groups >> g & 1))
            continue;
        mod[g] = (uint16_t)m;
        f->used[m] = legal_with(&in, mod, &t, 1, TIED);
        mod[g] = 0;
    }
    for (unsigned i = 0; t.nplaces && i < t.n[0]; i++) {
        struct row_types one = t;
        one.n[0] = 1;
        one.v[0][0] = t.v[0][i];
        if (legal_with(&in, mod, &one, 1, TIED))
            f->types[0] |= (uint64_t)1 << t.v[0][i];
    }
}

/* Forms from modifier group g on for which there is a lane function; mod: in's own. */
static unsigned
count_forms(struct ptx_inst *in, uint16_t *mod, unsigned g, struct found *f)
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
            mod[g] = (uint16_t)m;
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
        uint16_t mod[PTX_NMODGROUPS] = {0};
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
    for (const char *s = ptx_suffixes[op] ? ptx_suffixes[op] : ""; *s; s++)
        strbuf_add(b, *s == '|' ? " " : s, 1);
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
add_types(const char *types, const struct found *f, struct strbuf *b)
{
    struct row_types t;
    split_types(types, &t);
    for (unsigned k = 0; k < t.nplaces; k++) {
        strbuf_addz(b, k ? " / " : "");
        bool any = false;
        for (unsigned i = 0; i < t.n[k]; i++)
            if (!f->types[k] || f->types[k] >> t.v[k][i] & 1) {
                strbuf_printf(b, "%s%s", any ? " " : "", ptx_types[t.v[k][i]].text);
                any = true;
            }
    }
}

static void
add_state(unsigned op, const struct found *f, struct strbuf *b)
{
    const struct ptx_op_info *o = &ptx_ops[op];
    if (o->flags & PTX_TOONEW)
        strbuf_printf(b, "refused: needs %s%s", ptx_first_target[op],
                      ptx_only_target(op) ? "" : " or later");
    else
        strbuf_addz(b, o->flags & PTX_REFUSED ? "refused" : "done");
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
        "refused, %u refused because they need sm_90 or later: the first target that has them "
        "is named. `+word` stands for a suffix that may come later. What is refused is named "
        "with its line when a kernel with it is decoded; the other kernels of the module "
        "run.\n\n"
        "Alternatives of one suffix are separated by blanks, suffixes by semicolons; types "
        "in the order written, separated by slashes. Where suffixes stand in brackets, they are "
        "all there are, in their order: (one of these), [may be left out]. Rows take whole groups of suffixes: what the PTX ISA does not have, "
        "a member of a group or a combination, is refused one by one when it is decoded.\n\n"
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
        else if (!(o->flags & PTX_REFUSED) && *o->operands != '*')
            find_legal(rows[i], &f);
        add_modifiers(rows[i], &f, b);
        strbuf_addz(b, " | ");
        add_types(o->types, &f, b);
        strbuf_addz(b, " | ");
        add_state(rows[i], &f, b);
        strbuf_addz(b, " |\n");
        strbuf_free(&f.none);
    }
}
