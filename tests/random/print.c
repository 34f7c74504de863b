/* print.c: a kernel's tree as PTX text.
 *
 * `form` of a statement or address chooses among spellings of the same thing, so that
 * passes see many: branches around either side, loops tested above or below, addresses by
 * symbol, register or generic. */
#include "tree.h"

#include <inttypes.h>
#include <string.h>

struct printer {
    const struct rk_kernel *k;
    const struct rk_func *f;
    unsigned self;
    struct strbuf *b;           /* the function's body */
    unsigned words, longs;      /* temporaries %t, %u */
    unsigned labels;            /* so far */
    unsigned to_break, to_next; /* labels of the innermost loop */
    unsigned line;              /* of the last .loc */
};

static const char letters[] = "phrdfg";
/* Types of registers, and of parameters (the first). */
static const char *const decls[RK_CLASSES][3] = {
    {"pred", "pred", "pred"}, {"b16", "b16", "b16"}, {"b32", "u32", "s32"},
    {"b64", "u64", "s64"},    {"f32", "f32", "f32"}, {"f64", "f64", "f64"}};

static void
print_var(struct printer *p, uint32_t v)
{
    strbuf_printf(p->b, "%%%c%u", letters[p->f->cls[v]], v);
}

static void
print_src(struct printer *p, const struct rk_src *s, unsigned cls)
{
    if (!s->literal)
        print_var(p, s->var);
    else if (cls == RK_F)
        strbuf_printf(p->b, "0f%08x", (unsigned)s->value);
    else if (cls == RK_G)
        strbuf_printf(p->b, "0d%016" PRIx64, s->value);
    else if (cls == RK_H)
        strbuf_printf(p->b, "%d", (int16_t)s->value);
    else if (cls == RK_W && s->value & 1)
        strbuf_printf(p->b, "%d", (int)(uint32_t)s->value);
    else
        strbuf_printf(p->b, "0x%" PRIx64, s->value);
}

static void
print_guard(struct printer *p, const struct rk_stmt *s)
{
    strbuf_addz(p->b, "\t");
    if (s->guard >= 0) {
        strbuf_addz(p->b, s->guard_not ? "@!" : "@");
        print_var(p, (uint32_t)s->guard);
        strbuf_addz(p->b, " ");
    }
}

static void
print_label(struct printer *p, unsigned label)
{
    strbuf_printf(p->b, "$L%u_%u:\n", p->self, label);
}

static void
print_bra(struct printer *p, unsigned label)
{
    strbuf_printf(p->b, "bra $L%u_%u;\n", p->self, label);
}

static void
print_op(struct printer *p, const struct rk_stmt *s)
{
    const char *text = rk_ops[s->row].text, *cls = rk_ops[s->row].classes;
    const char *sources = strchr(cls, ':') + 1;
    print_guard(p, s);
    if (!strchr(text, '$')) {
        strbuf_printf(p->b, "%s ", text);
        print_var(p, s->dst[0]);
        for (unsigned i = 0; sources[i]; i++) {
            strbuf_addz(p->b, ", ");
            print_src(p, &s->src[i], rk_class_of(sources[i]));
        }
        strbuf_addz(p->b, ";\n");
        return;
    }
    for (; *text; text++) {
        if (*text != '$')
            strbuf_add(p->b, text, 1);
        else if (*++text == 'd' || *text == 'e')
            print_var(p, s->dst[*text - 'd']);
        else
            print_src(p, &s->src[*text - 'a'], rk_class_of(sources[*text - 'a']));
    }
    strbuf_addz(p->b, "\n");
}

/* -- memory -- */

/* Computes an address; *text: what stands in brackets, *space: the suffix. */
static void
print_address(struct printer *p, const struct rk_addr *a, char text[64],
              const char **space)
{
    static const char *const spaces[] = {".global", ".global", ".local", ".const",
                                         ".global", ".shared", ".global"};
    static const char *const names[] = {"%in", "%slot", "lm", "cm", "table", "", "%acc"};
    char name[32];
    uint32_t half = a->span / 2 / a->unit, form = a->form >> 2;
    int32_t offset = a->upper ? (int32_t)(half * a->unit) : 0;
    bool narrow = false; /* the base is a 32-bit register */
    *space = spaces[a->space];
    strcpy(name, names[a->space]);
    if (a->space == RK_SHARED) {
        narrow = !a->whole;
        snprintf(name, sizeof name, narrow ? "%%own%u" : "sm%u", a->shared);
    } else if (a->space == RK_ACC) {
        offset += a->shared * RK_ACC_BYTES;
    }
    bool symbol = name[0] != '%', generic = (a->form & 3) == 3 && (symbol || narrow);
    if (a->index.literal) {
        offset += (int32_t)(a->index.value & (half - 1)) * a->unit;
        if (symbol && (a->form & 3) == 1) {
            strbuf_printf(p->b, "\tmov.u64 %%u%u, %s;\n", p->longs, name);
            snprintf(name, sizeof name, "%%u%u", p->longs++);
        }
    } else {
        unsigned t = p->words++;
        strbuf_printf(p->b, "\tand.b32 %%t%u, ", t);
        print_var(p, a->index.var);
        strbuf_printf(p->b, ", %u;\n", half - 1);
        if (narrow) {
            strbuf_printf(p->b, "\tmad.lo.u32 %%t%u, %%t%u, %u, %s;\n", p->words, t,
                          a->unit, name);
            snprintf(name, sizeof name, "%%t%u", p->words++);
        } else if (a->space == RK_SHARED && (a->form & 3) < 2) {
            narrow = true;
            strbuf_printf(p->b,
                          "\tshl.b32 %%t%u, %%t%u, %d;\n\tmov.u32 %%t%u, %s;\n"
                          "\tadd.u32 %%t%u, %%t%u, %%t%u;\n",
                          p->words, t, __builtin_ctz(a->unit), p->words + 1, name,
                          p->words + 2, p->words + 1, p->words);
            snprintf(name, sizeof name, "%%t%u", p->words + 2);
            p->words += 3;
        } else {
            unsigned u = p->longs;
            p->longs += 3;
            if (a->form & 1)
                strbuf_printf(p->b, "\tmul.wide.u32 %%u%u, %%t%u, %u;\n", u, t, a->unit);
            else
                strbuf_printf(p->b,
                              "\tcvt.u64.u32 %%u%u, %%t%u;\n"
                              "\tshl.b64 %%u%u, %%u%u, %d;\n",
                              u, t, u, u, __builtin_ctz(a->unit));
            if (symbol)
                strbuf_printf(p->b, "\tmov.u64 %%u%u, %s;\n", u + 1, name);
            char base[16];
            snprintf(base, sizeof base, "%%u%u", u + 1);
            strbuf_printf(p->b, "\tadd.s64 %%u%u, %s, %%u%u;\n", u + 2,
                          symbol ? base : name, u);
            snprintf(name, sizeof name, "%%u%u", u + 2);
        }
    }
    if (name[0] == '%' && !narrow && form) {
        unsigned u = p->longs++;
        int32_t detour = (int32_t)a->unit * (int32_t)(form + 1);
        if (form == 3) { /* from a register that does not stay as it is */
            strbuf_printf(p->b,
                          "\tadd.s64 %%walk, %s, 24;\n\tadd.s64 %%u%u, %%walk, %d;\n"
                          "\tadd.s64 %%walk, %%walk, 8;\n",
                          name, u, detour - 24);
        } else {
            strbuf_printf(p->b, "\t%s.s64 %%u%u, %s, %d;\n", form == 1 ? "add" : "sub", u,
                          name, form == 1 ? detour : -detour);
        }
        offset -= detour;
        snprintf(name, sizeof name, "%%u%u", u);
    }
    if (generic) {
        unsigned u = p->longs;
        if (name[0] != '%') {
            strbuf_printf(p->b, "\tmov.u64 %%u%u, %s;\n", u, name);
            snprintf(name, sizeof name, "%%u%u", u++);
        } else if (narrow) {
            strbuf_printf(p->b, "\tcvt.u64.u32 %%u%u, %s;\n", u, name);
            snprintf(name, sizeof name, "%%u%u", u++);
        }
        strbuf_printf(p->b, "\tcvta%s.u64 %%u%u, %s;\n", *space, u, name);
        snprintf(name, sizeof name, "%%u%u", u);
        p->longs = u + 1;
        *space = "";
    }
    if (offset)
        snprintf(text, 64, "[%s+%d]", name, offset);
    else
        snprintf(text, 64, "[%s]", name);
}

static void
print_elements(struct printer *p, const struct rk_stmt *s, bool store)
{
    unsigned cls = rk_types[s->row].cls;
    if (s->n > 1)
        strbuf_addz(p->b, "{");
    for (unsigned i = 0; i < s->n; i++) {
        if (i)
            strbuf_addz(p->b, ", ");
        if (store)
            print_src(p, &s->src[i], cls);
        else
            print_var(p, s->dst[i]);
    }
    if (s->n > 1)
        strbuf_addz(p->b, "}");
}

static void
print_access(struct printer *p, const struct rk_stmt *s)
{
    static const char *const vectors[] = {"", "", ".v2", "", ".v4"};
    bool store = s->kind == RK_STORE;
    char at[64];
    const char *space;
    print_address(p, &s->addr, at, &space);
    if (s->addr.space == RK_IN && (s->addr.form & 3) == 2 && !store)
        space = ".global.nc";
    print_guard(p, s);
    strbuf_printf(p->b, "%s%s%s.%s ", store ? "st" : "ld", space, vectors[s->n],
                  rk_types[s->row].name);
    if (store) {
        strbuf_printf(p->b, "%s, ", at);
        print_elements(p, s, true);
    } else {
        print_elements(p, s, false);
        strbuf_printf(p->b, ", %s", at);
    }
    strbuf_addz(p->b, ";\n");
}

/* The same by compare and swap: goes on until nobody came between. */
static void
print_swaps(struct printer *p, const struct rk_stmt *s, const char *space, const char *at)
{
    const struct rk_atom *t = &rk_atoms[s->row];
    bool wide = t->bytes == 8;
    char r = wide ? 'u' : 't';
    unsigned *temporaries = wide ? &p->longs : &p->words, old = *temporaries,
             made = old + 1, seen = old + 2, again = p->labels++, end = p->labels++;
    *temporaries += 3;
    if (s->guard >= 0) {
        strbuf_addz(p->b, s->guard_not ? "\t@" : "\t@!");
        print_var(p, (uint32_t)s->guard);
        strbuf_addz(p->b, " ");
        print_bra(p, end);
    }
    strbuf_printf(p->b, "\tld%s%s.b%d %%%c%u, %s;\n", s->form == 2 ? ".volatile" : "",
                  space, t->bytes * 8, r, old, at);
    print_label(p, again);
    strbuf_printf(p->b, "\t%s %%%c%u, %%%c%u, ", t->name, r, made, r, old);
    print_src(p, &s->src[0], t->cls);
    strbuf_printf(
        p->b,
        ";\n\tatom%s.cas.b%d %%%c%u, %s, %%%c%u, %%%c%u;\n"
        "\tsetp.ne.b%d %%q, %%%c%u, %%%c%u;\n\tmov.b%d %%%c%u, %%%c%u;\n\t@%%q ",
        space, t->bytes * 8, r, seen, at, r, old, r, made, t->bytes * 8, r, seen, r, old,
        t->bytes * 8, r, old, r, seen);
    print_bra(p, again);
    print_label(p, end);
}

static void
print_gather(struct printer *p, const struct rk_stmt *s)
{
    unsigned n = p->words, j = n + 1, i = n + 2, sum = n + 3, word = n + 4, v = n + 5,
             u = p->longs, again = p->labels++, end = p->labels++;
    p->words += 6;
    p->longs += 2;
    strbuf_printf(p->b, "\tand.b32 %%t%u, ", n);
    print_src(p, &s->src[0], RK_W);
    strbuf_printf(p->b, ", %u;\n\tmov.b32 %%t%u, 0;\n\tmov.b32 %%t%u, 0;\n", s->n, j,
                  sum);
    strbuf_printf(p->b, "\tmov.b32 %%t%u, ", i);
    print_src(p, &s->src[1], RK_W);
    strbuf_printf(p->b, ";\n\tsetp.eq.u32 %%q, %%t%u, 0;\n\t@%%q ", n);
    print_bra(p, end);
    print_label(p, again);
    strbuf_printf(p->b,
                  "\tand.b32 %%t%u, %%t%u, %u;\n\tmul.wide.u32 %%u%u, %%t%u, 4;\n"
                  "\tadd.s64 %%u%u, %%in, %%u%u;\n\tld.global.u32 %%t%u, [%%u%u];\n"
                  "\tadd.u32 %%t%u, %%t%u, %%t%u;\n",
                  word, i, RK_INPUT_BYTES / 4 - 1, u, word, u + 1, u, v, u + 1, sum, sum,
                  v);
    if (s->form)
        strbuf_printf(p->b, "\tadd.u32 %%t%u, %%t%u, %%t%u;\n", i, v, j);
    else
        strbuf_printf(p->b, "\tadd.u32 %%t%u, %%t%u, %d;\n", i, i, RK_GATHER_STEP);
    strbuf_printf(p->b,
                  "\tadd.u32 %%t%u, %%t%u, 1;\n\tsetp.lt.u32 %%q, %%t%u, %%t%u;\n\t@%%q ",
                  j, j, j, n);
    print_bra(p, again);
    print_label(p, end);
    strbuf_addz(p->b, "\tmov.b32 ");
    print_var(p, s->dst[0]);
    strbuf_printf(p->b, ", %%t%u;\n", sum);
}

static void
print_atom(struct printer *p, const struct rk_stmt *s)
{
    const struct rk_atom *t = &rk_atoms[s->row];
    char at[64];
    const char *space;
    print_address(p, &s->addr, at, &space);
    if (!s->n && s->form) {
        print_swaps(p, s, space, at);
        return;
    }
    print_guard(p, s);
    strbuf_printf(p->b, "%s%s.%s ", s->n ? "atom" : "red", space, t->name);
    if (s->n) {
        print_var(p, s->dst[0]);
        strbuf_addz(p->b, ", ");
    }
    strbuf_addz(p->b, at);
    for (unsigned i = 0; i < t->sources; i++) {
        strbuf_addz(p->b, ", ");
        print_src(p, &s->src[i], t->cls);
    }
    strbuf_addz(p->b, ";\n");
}

/* -- warps, barriers -- */

static void
print_warp(struct printer *p, const struct rk_stmt *s)
{
    static const char *const names[] = {
        "shfl.sync.up.b32",   "shfl.sync.down.b32",   "shfl.sync.bfly.b32",
        "shfl.sync.idx.b32",  "vote.sync.all.pred",   "vote.sync.any.pred",
        "vote.sync.uni.pred", "vote.sync.ballot.b32", "match.any.sync.b32",
        "match.any.sync.b64", "match.all.sync.b32",   "redux.sync.add.s32",
        "redux.sync.min.s32", "redux.sync.max.s32",   "redux.sync.min.u32",
        "redux.sync.max.u32", "redux.sync.and.b32",   "redux.sync.or.b32",
        "redux.sync.xor.b32", "bar.warp.sync"};
    unsigned sources = s->row <= RK_SHFL_IDX ? 3 : s->row == RK_WARP_BARRIER ? 0 : 1;
    strbuf_printf(p->b, "\t%s ", names[s->row]);
    for (int i = 0; i < s->ndst; i++) {
        if (i)
            strbuf_addz(p->b, "|");
        print_var(p, s->dst[i]);
    }
    for (unsigned i = 0; i < sources; i++) {
        strbuf_addz(p->b, s->form ? ", !" : ", ");
        print_src(p, &s->src[i], RK_W);
    }
    if (sources)
        strbuf_addz(p->b, ", ");
    print_src(p, &s->mask, RK_W);
    strbuf_addz(p->b, ";\n");
}

static void
print_barrier(struct printer *p, const struct rk_stmt *s)
{
    static const char *const names[] = {"bar.sync 0",       "barrier.sync 0",
                                        "bar.sync",         "bar.red.popc.u32",
                                        "bar.red.and.pred", "bar.red.or.pred"};
    strbuf_printf(p->b, "\t%s", names[s->row]);
    if (s->row == RK_BAR_ID)
        strbuf_printf(p->b, " %u, %u", s->form, p->k->threads);
    if (s->row >= RK_BAR_POPC) {
        strbuf_addz(p->b, " ");
        print_var(p, s->dst[0]);
        strbuf_printf(p->b, ", %u, ", s->form & 3);
        print_src(p, &s->src[0], RK_P);
    }
    strbuf_addz(p->b, ";\n");
}

/* -- control flow -- */

static void print_list(struct printer *p, const struct rk_list *l);

static void
print_if(struct printer *p, const struct rk_stmt *s)
{
    /* form 1: the second body comes first */
    unsigned other = p->labels++, end = p->labels++;
    const struct rk_list *first = &s->body[s->form], *second = &s->body[!s->form];
    strbuf_addz(p->b, s->form ? "\t@" : "\t@!");
    print_var(p, (uint32_t)s->guard);
    strbuf_addz(p->b, " ");
    print_bra(p, second->first ? other : end);
    print_list(p, first);
    if (second->first) {
        strbuf_addz(p->b, "\t");
        print_bra(p, end);
        print_label(p, other);
        print_list(p, second);
    }
    print_label(p, end);
}

static void
print_loop(struct printer *p, const struct rk_stmt *s)
{
    unsigned head = p->labels++, next = p->labels++, end = p->labels++;
    unsigned was_break = p->to_break, was_next = p->to_next;
    struct rk_src i = {.var = s->dst[0]};
    p->to_break = end;
    p->to_next = next;
    strbuf_addz(p->b, "\tmov.u32 ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", 0;\n");
    print_label(p, head);
    if (!s->form) {
        strbuf_addz(p->b, "\tsetp.ge.u32 %q, ");
        print_src(p, &i, RK_W);
        strbuf_addz(p->b, ", ");
        print_src(p, &s->src[0], RK_W);
        strbuf_addz(p->b, ";\n\t@%q ");
        print_bra(p, end);
    }
    print_list(p, &s->body[0]);
    print_label(p, next);
    strbuf_addz(p->b, "\tadd.u32 ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", 1;\n\t");
    if (s->form) {
        strbuf_addz(p->b, "setp.lt.u32 %q, ");
        print_src(p, &i, RK_W);
        strbuf_addz(p->b, ", ");
        print_src(p, &s->src[0], RK_W);
        strbuf_addz(p->b, ";\n\t@%q ");
    }
    print_bra(p, head);
    print_label(p, end);
    p->to_break = was_break;
    p->to_next = was_next;
}

static void
print_tangle(struct printer *p, const struct rk_stmt *s)
{
    unsigned head = p->labels++, second = p->labels++;
    struct rk_src i = {.var = s->dst[0]};
    strbuf_addz(p->b, "\tmov.u32 ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", 0;\n\t@");
    print_var(p, (uint32_t)s->guard);
    strbuf_addz(p->b, " ");
    print_bra(p, second);
    print_label(p, head);
    print_list(p, &s->body[0]);
    print_label(p, second);
    print_list(p, &s->body[1]);
    strbuf_addz(p->b, "\tadd.u32 ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", 1;\n\tsetp.lt.u32 %q, ");
    print_src(p, &i, RK_W);
    strbuf_addz(p->b, ", ");
    print_src(p, &s->src[0], RK_W);
    strbuf_addz(p->b, ";\n\t@%q ");
    print_bra(p, head);
}

/* form: bit 0: it has a label, which bit 1 jumps back to. */
static void
print_dead(struct printer *p, const struct rk_stmt *s)
{
    unsigned over = p->labels++, dead = p->labels++;
    strbuf_addz(p->b, "\t");
    print_bra(p, over);
    if (s->form & 1)
        print_label(p, dead);
    print_list(p, &s->body[0]);
    if (s->form == 3) {
        strbuf_addz(p->b, "\t");
        print_bra(p, dead);
    }
    print_label(p, over);
}

static void
print_switch(struct printer *p, const struct rk_stmt *s)
{
    unsigned cases = p->labels, end = p->labels + s->n, t = p->words++;
    p->labels = end + 1;
    strbuf_printf(p->b, "\tand.b32 %%t%u, ", t);
    print_src(p, &s->src[0], RK_W);
    strbuf_printf(p->b, ", %d;\n$T%u_%u: .branchtargets ", s->n - 1, p->self, cases);
    for (unsigned i = 0; i < s->n; i++)
        strbuf_printf(p->b, "%s$L%u_%u", i ? ", " : "", p->self, cases + i);
    strbuf_printf(p->b, ";\n\tbrx.idx %%t%u, $T%u_%u;\n", t, p->self, cases);
    for (unsigned i = 0; i < s->n; i++) {
        print_label(p, cases + i);
        print_list(p, &s->body[i]);
        if (!(s->form >> i & 1) && i + 1 < s->n) {
            strbuf_addz(p->b, "\t");
            print_bra(p, end);
        }
    }
    print_label(p, end);
}

static void
print_call(struct printer *p, const struct rk_stmt *s)
{
    const struct rk_func *f = p->k->funcs[s->row];
    strbuf_addz(p->b, "\t{\n\t.param .u64 cin;\n\tst.param.u64 [cin], %in;\n");
    for (unsigned i = 0; i < f->nparams; i++) {
        unsigned cls = f->cls[f->params[i]];
        strbuf_printf(p->b, "\t.param .%s c%u;\n\tst.param.%s [c%u], ", decls[cls][0], i,
                      decls[cls][0], i);
        print_src(p, &s->src[i], cls);
        strbuf_addz(p->b, ";\n");
    }
    if (f->in_struct)
        strbuf_addz(p->b, "\t.param .align 8 .b8 cr[16];\n");
    else
        strbuf_printf(p->b, "\t.param .%s cr;\n", decls[f->result[0]][0]);
    strbuf_printf(p->b, "\tcall%s (cr), f%u, (cin", s->form ? ".uni" : "", s->row);
    for (unsigned i = 0; i < f->nparams; i++)
        strbuf_printf(p->b, ", c%u", i);
    strbuf_addz(p->b, ");\n");
    for (unsigned i = 0; i < f->nresults; i++) {
        strbuf_printf(p->b, "\tld.param.%s ", decls[f->result[i]][0]);
        print_var(p, s->dst[i]);
        strbuf_printf(p->b, i ? ", [cr+8];\n" : ", [cr];\n");
    }
    strbuf_addz(p->b, "\t}\n");
}

/* Every few statements: the next line of the source, or one inlined at it. */
static void
print_loc(struct printer *p)
{
    unsigned next = p->line + 1 + p->labels % 3;
    if (!p->k->lines || (p->words + p->longs) % 3)
        return;
    if (p->line && next % 4 == 0)
        strbuf_printf(p->b, "\t.loc 1 %u 9, function_name $Lname, inlined_at 1 %u 3\n",
                      1000 + next, p->line);
    else
        strbuf_printf(p->b, "\t.loc 1 %u 3\n", p->line = next);
}

static void
print_stmt(struct printer *p, const struct rk_stmt *s)
{
    print_loc(p);
    switch (s->kind) {
    case RK_OP:
        print_op(p, s);
        break;
    case RK_LOAD:
    case RK_STORE:
        print_access(p, s);
        break;
    case RK_ATOM:
        print_atom(p, s);
        break;
    case RK_WARP:
        print_warp(p, s);
        break;
    case RK_BARRIER:
        print_barrier(p, s);
        break;
    case RK_IF:
        print_if(p, s);
        break;
    case RK_LOOP:
        print_loop(p, s);
        break;
    case RK_SWITCH:
        print_switch(p, s);
        break;
    case RK_TANGLE:
        print_tangle(p, s);
        break;
    case RK_DEAD:
        print_dead(p, s);
        break;
    case RK_GATHER:
        print_gather(p, s);
        break;
    case RK_BREAK:
    case RK_CONTINUE:
        print_guard(p, s);
        print_bra(p, s->kind == RK_BREAK ? p->to_break : p->to_next);
        break;
    case RK_CALL:
        print_call(p, s);
        break;
    case RK_RETURN:
        for (unsigned i = 0; i < p->f->nresults; i++) {
            strbuf_printf(p->b, "\tst.param.%s [r%s], ", decls[p->f->result[i]][0],
                          i ? "+8" : "");
            print_src(p, &s->src[i], p->f->result[i]);
            strbuf_addz(p->b, ";\n");
        }
        strbuf_addz(p->b, "\tret;\n");
        break;
    case RK_EXIT:
        strbuf_addz(p->b, "\texit;\n");
        break;
    }
}

static void
print_list(struct printer *p, const struct rk_list *l)
{
    for (const struct rk_stmt *s = l->first; s; s = s->next)
        print_stmt(p, s);
}

/* -- functions, module -- */

static void
print_fill(struct strbuf *b, const char *space, const char *base, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i += 16)
        strbuf_printf(b, "\tst.%s.v4.b32 [%s+%u], {%%fill, %%fill, %%fill, %%fill};\n",
                      space, base, i);
}

static void
print_params(struct printer *p, struct strbuf *b)
{
    for (unsigned i = 0; i < p->f->nparams; i++)
        strbuf_printf(b, ", .param .%s a%u", decls[p->f->cls[p->f->params[i]]][0], i);
}

/* Registers that the kernel begins with, its .shared variables with their first values.
 */
static void
print_start(struct printer *p, struct strbuf *b)
{
    strbuf_addz(b, "\tld.param.u64 %acc, [acc];\n\tcvta.to.global.u64 %acc, %acc;\n"
                   "\tld.param.u64 %slot, [slots];\n\tcvta.to.global.u64 %slot, %slot;\n"
                   "\tmov.u32 %r0, %tid.x;\n\tmov.u32 %r1, %laneid;\n"
                   "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n"
                   "\tmad.lo.u32 %r4, %r2, %r3, %r0;\n"
                   "\tand.b32 %r5, %r0, -32;\n\tsub.u32 %r5, %r3, %r5;\n"
                   "\tshl.b32 %r5, 1, %r5;\n\tsub.u32 %r5, %r5, 1;\n");
    strbuf_printf(b, "\tmad.wide.u32 %%slot, %%r4, %u, %%slot;\n", p->k->slot);
    for (unsigned i = 0; i < p->k->nshared; i++) {
        char own[16];
        uint32_t part = p->k->shared[i].part;
        strbuf_printf(b, "\t.reg .u32 %%own%u;\n", i);
        if (!p->k->shared[i].dynamic)
            strbuf_printf(b, "\t.shared .align 16 .b8 sm%u[%u];\n", i,
                          part * p->k->threads);
        strbuf_printf(b,
                      "\tmov.u32 %%own%u, sm%u;\n\tmad.lo.u32 %%own%u, %%r0, %u, "
                      "%%own%u;\n\tadd.u32 %%fill, %%r0, %u;\n",
                      i, i, i, part, i, p->k->shared_fill + i);
        snprintf(own, sizeof own, "%%own%u", i);
        print_fill(b, "shared", own, part);
    }
}

static void
print_dump(struct printer *p)
{
    for (uint32_t i = 0; i < p->k->ndump; i++) {
        uint32_t v = p->k->dump[i];
        unsigned cls = p->f->cls[v], at = RK_REGION + 8 * i;
        if (cls == RK_P) {
            strbuf_printf(p->b, "\tselp.b32 %%t%u, 1, 0, ", p->words);
            print_var(p, v);
            strbuf_printf(p->b, ";\n\tst.global.b32 [%%slot+%u], %%t%u;\n", at,
                          p->words++);
        } else {
            strbuf_printf(p->b, "\tst.global.b%u [%%slot+%u], ", rk_bits(cls), at);
            print_var(p, v);
            strbuf_addz(p->b, ";\n");
        }
    }
}

static void
print_function(const struct rk_kernel *k, unsigned self, struct strbuf *b)
{
    struct strbuf body = {0};
    const struct rk_func *f = k->funcs[self];
    struct printer p = {.k = k, .f = f, .self = self, .b = &body};
    print_list(&p, &f->body);
    if (!self) {
        print_dump(&p);
        strbuf_addz(&body, "\tret;\n");
        strbuf_addz(b, ".visible .entry k(.param .u64 in, .param .u64 acc, "
                       ".param .u64 slots");
    } else if (f->in_struct) {
        strbuf_printf(b, ".func (.param .align 8 .b8 r[16]) f%u(.param .u64 in", self);
    } else {
        strbuf_printf(b, ".func (.param .%s r) f%u(.param .u64 in",
                      decls[f->result[0]][0], self);
    }
    print_params(&p, b);
    strbuf_addz(b, ")\n{\n");
    for (uint32_t v = 0; v < f->nvars; v++)
        strbuf_printf(b, "\t.reg .%s %%%c%u;\n", decls[f->cls[v]][f->decl[v]],
                      letters[f->cls[v]], v);
    strbuf_printf(
        b,
        "\t.reg .b32 %%t<%u>, %%fill;\n\t.reg .b64 %%u<%u>, %%in, %%acc, %%slot, %%walk;\n"
        "\t.reg .pred %%q;\n\t.local .align 16 .b8 lm[%d];\n"
        "\tld.param.u64 %%in, [in];\n",
        p.words + 1, p.longs + 1, RK_REGION);
    if (!self) {
        strbuf_addz(b, "\tcvta.to.global.u64 %in, %in;\n");
        print_start(&p, b);
    }
    for (unsigned i = 0; i < f->nparams; i++) {
        unsigned cls = f->cls[f->params[i]];
        strbuf_printf(b, "\tld.param.%s %%%c%u, [a%u];\n", decls[cls][0], letters[cls],
                      f->params[i], i);
    }
    strbuf_printf(b, "\tmov.u32 %%fill, 0x%x;\n", f->local_fill);
    print_fill(b, "local", "lm", RK_REGION);
    strbuf_add(b, body.s, body.n);
    strbuf_addz(b, "}\n");
    strbuf_free(&body);
}

static void
print_table(struct strbuf *b, const char *head, const uint8_t *bytes)
{
    strbuf_printf(b, "%s[%d] = {", head, RK_TABLE_BYTES / 8);
    for (unsigned i = 0; i < RK_TABLE_BYTES; i += 8) {
        uint64_t v;
        memcpy(&v, bytes + i, 8);
        strbuf_printf(b, "%s0x%" PRIx64, i ? ", " : "", v);
    }
    strbuf_addz(b, "};\n");
}

void
rk_print(const struct rk_kernel *k, struct strbuf *b)
{
    strbuf_addz(b, ".version 7.8\n.target sm_80\n.address_size 64\n");
    print_table(b, ".const .align 16 .b64 cm", k->constants);
    print_table(b, ".global .align 16 .b64 table", k->table);
    for (unsigned i = 0; i < k->nshared; i++)
        if (k->shared[i].dynamic)
            strbuf_printf(b, ".extern .shared .align 16 .b8 sm%u[];\n", i);
    if (k->lines)
        strbuf_addz(b, ".file 1 \"random.cu\"\n");
    for (unsigned i = k->nfuncs; i-- > 0;)
        print_function(k, i, b);
    if (k->lines)
        strbuf_addz(b, ".section .debug_str { $Lname: .b8 105,110,0 }\n");
}

void
rk_where(const struct rk_kernel *k, uint64_t byte, struct strbuf *b)
{
    uint64_t acc = rk_launch(k).acc_bytes;
    if (byte < acc) {
        strbuf_printf(b, "accumulator %s, byte %" PRIu64,
                      rk_atoms[byte / RK_ACC_BYTES].name, byte % RK_ACC_BYTES);
        return;
    }
    uint64_t thread = (byte - acc) / k->slot, at = (byte - acc) % k->slot;
    strbuf_printf(b, "block %" PRIu64 ", thread %" PRIu64 ", ", thread / k->threads,
                  thread % k->threads);
    if (at < RK_REGION || (at - RK_REGION) / 8 >= k->ndump) {
        strbuf_printf(b, "byte %" PRIu64 " of its slot", at);
        return;
    }
    uint32_t v = k->dump[(at - RK_REGION) / 8];
    strbuf_printf(b, "%%%c%u", letters[k->funcs[0]->cls[v]], v);
}
