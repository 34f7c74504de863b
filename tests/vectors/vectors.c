/* vectors.c: makes the vectors, runs them on the executor, compares outputs. */
#include "vectors/vectors.h"

#include "unit/kit/lanes_util.h"
#include "vectors/matrix.h"
#include "vectors/video.h"
#include "vectors/warp.h"

#include "exec/exec.h"
#include "machine/machine.h"
#include "ptx/parse.h"
#include "ptx/target.h"

#include <stdlib.h>

enum { BLOCKS = 2 };

struct walk {
    bool (*fn)(const struct vector *v, void *user);
    void *user;
    bool go;
    uint64_t rng;
};

static void
give(struct walk *w, struct vector *v)
{
    if (w->go)
        w->go = w->fn(v, w->user);
    strbuf_free(&v->text);
    free(v->in);
}

static void
new_input(struct vector *v, unsigned words)
{
    v->nin = words;
    v->in = xcalloc(words ? words : 1, sizeof *v->in);
}

/* -- lane functions -- */

/* Class of register for a value of that type, and its words in the buffers. */
static const char *
reg_class(unsigned type)
{
    unsigned bytes = ptx_types[type].bytes;
    return type == PTX_PRED  ? "%p"
           : type == PTX_F32 ? "%f"
           : type == PTX_F64 ? "%fd"
           : bytes == 8      ? "%rd"
           : bytes == 2      ? "%h"
                             : "%r"; /* bytes too: wider registers are allowed */
}

/* Instructions whose error the ISA bounds (9.7.3, 9.7.4): relative, of sin, cos and lg2
 * absolute. Most bounds here are those of two machines that err in opposite ways; that of
 * sin and cos is the ISA's within 2 pi, for the executor reduces angles as cards do. */
static double
bound_of(const struct ptx_inst *in)
{
    static const struct {
        const char *mnemonic;
        unsigned type;
        double bound;
    } t[] = {{"div", PTX_F32, 0x1p-21},    {"rcp", PTX_F32, 0x1p-22},
             {"sqrt", PTX_F32, 0x1p-21},   {"rsqrt", PTX_F32, 0x1p-21},
             {"rcp", PTX_F64, 0x1p-18},    {"rsqrt", PTX_F64, 0x1p-18},
             {"sin", PTX_F32, 0x1.6ap-21}, {"cos", PTX_F32, 0x1.6ap-21},
             {"lg2", PTX_F32, 0x1p-21},    {"ex2", PTX_F32, 0x1p-21},
             {"tanh", PTX_F32, 0x1p-10},   {"ex2", PTX_F16, 0x1p-9},
             {"ex2", PTX_F16X2, 0x1p-9},   {"ex2", PTX_BF16, 0x1p-6},
             {"ex2", PTX_BF16X2, 0x1p-6},  {"tanh", PTX_F16, 0x1p-9},
             {"tanh", PTX_F16X2, 0x1p-9},  {"tanh", PTX_BF16, 0x1p-6},
             {"tanh", PTX_BF16X2, 0x1p-6}};
    for (size_t i = 0; i < UTIL_COUNT(t) && in->mod[PTX_MG_PREC]; i++)
        if (!strcmp(t[i].mnemonic, ptx_ops[in->op].mnemonic) && t[i].type == in->type[0])
            return t[i].bound;
    return 0;
}

/* The least target: bf16 came with sm_80 for some instructions, with sm_90 for the rest (by
 * ptxas also cvt.ftz.f32.bf16). */
static unsigned
least_sm(const struct ptx_inst *in)
{
    bool bhalf = false;
    for (unsigned i = 0; i < in->ntypes; i++)
        bhalf |= in->type[i] == PTX_BF16 || in->type[i] == PTX_BF16X2;
    bool old =
        in->op == PTX_OP_FMAH || in->op == PTX_OP_FMAB2 || in->op == PTX_OP_MINH ||
        in->op == PTX_OP_MAXH || in->op == PTX_OP_NEGH || in->op == PTX_OP_ABSH ||
        in->op == PTX_OP_CVTX2 ||
        (in->op == PTX_OP_CVTFF && (in->type[0] == PTX_F32 || in->type[1] == PTX_F32));
    bool late = in->op == PTX_OP_CVTTF && in->mod[PTX_MG_RND] != PTX_RND_RNA;
    late |= in->op == PTX_OP_CVTFF && in->type[1] == PTX_BF16 && in->mod[PTX_MG_FTZ];
    if (in->op == PTX_OP_MINF3 || in->op == PTX_OP_MAXF3 ||
        (in->op == PTX_OP_CVTTF && in->mod[PTX_MG_SATF] &&
         in->mod[PTX_MG_RND] != PTX_RND_RNA))
        return 100;
    late |= in->op >= PTX_OP_ADDI2 && in->op <= PTX_OP_MAXRELU;
    return (bhalf && !old) || late ? 90 : 89;
}

static void
spell(const struct ptx_inst *in, struct strbuf *b)
{
    strbuf_addz(b, ptx_ops[in->op].mnemonic);
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++)
        if (in->mod[g] && g != PTX_MG_PRMT)
            strbuf_printf(b, ".%s", ptx_mods[in->mod[g]].text);
    for (unsigned i = 0; i < in->ntypes; i++)
        strbuf_printf(b, ".%s", ptx_types[in->type[i]].text);
    if (in->mod[PTX_MG_PRMT])
        strbuf_printf(b, ".%s", ptx_mods[in->mod[PTX_MG_PRMT]].text);
}

static unsigned
token_type(const struct ptx_inst *in, const char *tok)
{
    if (*tok == 'P' || *tok == 'p')
        return PTX_PRED;
    if (*tok == 'U' || *tok == 'u')
        return PTX_B32;
    unsigned t = in->type[tok[1] >= '0' && tok[1] <= '3' ? tok[1] - '0' : 0];
    if (tok[1] && tok[2] == 'w')
        return ptx_types[t].bytes == 2 ? PTX_B32 : PTX_B64;
    return t;
}

static void
move(struct strbuf *b, const char *class, unsigned reg, unsigned type, unsigned *word,
     bool store)
{
    const char *op = store ? "st.global.b32" : "ld.global.b32";
    unsigned at = *word * 128;
    *word += ptx_types[type].bytes == 8 ? 2 : 1;
    if (type == PTX_PRED && store)
        strbuf_printf(b, "selp.b32 %%r60, 1, 0, %%p%u;\n%s [%%rd2+%u], %%r60;\n", reg, op,
                      at);
    else if (type == PTX_PRED)
        strbuf_printf(b,
                      "%s %%r60, [%%rd1+%u];\nand.b32 %%r60, %%r60, 1;\n"
                      "setp.ne.b32 %%p%u, %%r60, 0;\n",
                      op, at, reg);
    else if (!strcmp(class, "%h") && store)
        strbuf_printf(b, "cvt.u32.u16 %%r60, %%h%u;\n%s [%%rd2+%u], %%r60;\n", reg, op,
                      at);
    else if (!strcmp(class, "%h"))
        strbuf_printf(b, "%s %%r60, [%%rd1+%u];\ncvt.u16.u32 %%h%u, %%r60;\n", op, at,
                      reg);
    else if (ptx_types[type].bytes == 8 && store)
        strbuf_printf(b,
                      "mov.b64 {%%r60, %%r61}, %s%u;\n%s [%%rd2+%u], %%r60;\n"
                      "%s [%%rd2+%u], %%r61;\n",
                      class, reg, op, at, op, at + 128);
    else if (ptx_types[type].bytes == 8)
        strbuf_printf(b,
                      "%s %%r60, [%%rd1+%u];\n%s %%r61, [%%rd1+%u];\n"
                      "mov.b64 %s%u, {%%r60, %%r61};\n",
                      op, at, op, at + 128, class, reg);
    else if (store)
        strbuf_printf(b, "%s [%%rd2+%u], %s%u;\n", op, at, class, reg);
    else
        strbuf_printf(b, "%s %s%u, [%%rd1+%u];\n", op, class, reg, at);
}

/* Whether a kernel of the module has an instruction of a later target than sm_N. */
static bool
is_later(const struct ptx_module *m, unsigned sm)
{
    for (size_t i = 0; i < m->funcs.n; i++)
        for (size_t k = 0; k < m->funcs.v[i]->body.n; k++)
            if (ptx_since(m->funcs.v[i], &m->funcs.v[i]->body.v[k]).sm > sm)
                return true;
    return false;
}

static void
lane_vector(struct walk *w, const struct ptx_inst *in)
{
    struct vector v = {.sm = least_sm(in), .blocks = BLOCKS};
    struct strbuf args = {0}, loads = {0}, stores = {0}, form = {0};
    unsigned reg = 10, nin = 0, nout = 0, types[16] = {0}, k = 0;
    bool lop3 = in->op == PTX_OP_LOP3;
    spell(in, &form);
    for (const char *p = ptx_ops[in->op].operands; *p;) {
        size_t n = strcspn(p, ",|");
        bool dest = strchr("dDPU", *p), optional = p[n - 1] == '?';
        unsigned type = token_type(in, p);
        const char *class = reg_class(type);
        bool pair = in->op == PTX_OP_SETPH &&
                    (in->type[0] == PTX_F16X2 || in->type[0] == PTX_BF16X2);
        /* Left out: q of setp but of pairs, c of comparisons without an operator. */
        bool out = optional && (*p == 'P' ? !pair : !in->mod[PTX_MG_BOOL]);
        if (!out) {
            const char *sep = !args.s ? "" : *p == 'P' && dest ? "|" : ", ";
            if (lop3 && k == 4) {
                strbuf_printf(&args, "%s0x5a", sep);
            } else {
                strbuf_printf(&args, "%s%s%u", sep, class, reg);
                if (dest) {
                    move(&stores, class, reg, type, &nout, true);
                } else {
                    types[nin] = type;
                    if (ptx_types[type].bytes == 8)
                        types[nin + 1] = PTX_NOTYPE;
                    move(&loads, class, reg, type, &nin, false);
                }
            }
            reg++;
        }
        k++;
        p += n + (p[n] != 0);
    }
    bool reads = ptx_ops[in->op].flags & PTX_CCIN, writes = in->mod[PTX_MG_CC];
    if (reads) { /* CC.CF = (word != 0) */
        types[nin] = PTX_PRED;
        strbuf_printf(&loads,
                      "ld.global.b32 %%r62, [%%rd1+%u];\nand.b32 %%r62, %%r62, 1;\n"
                      "add.cc.u32 %%r62, %%r62, 0xffffffff;\n",
                      nin++ * 128);
    }
    if (writes)
        strbuf_printf(&stores, "st.global.b32 [%%rd2+%u], %%r63;\n", nout++ * 128);
    matrix_head(&v.text, v.sm);
    strbuf_printf(&v.text,
                  "mov.u32 %%r64, %%ctaid.x;\nmul.wide.u32 %%rd60, %%r64, %u;\n"
                  "add.u64 %%rd1, %%rd1, %%rd60;\nmul.wide.u32 %%rd60, %%r64, %u;\n"
                  "add.u64 %%rd2, %%rd2, %%rd60;\n%s%s %s;\n%s%sret;\n}\n",
                  nin * 128, nout * 128, loads.s ? loads.s : "", form.s, args.s,
                  writes ? "addc.u32 %r63, 0, 0;\n" : "", stores.s);
    snprintf(v.name, sizeof v.name, "%s", form.s);
    /* What lane_select takes without the modifiers that the parser demands is no form; those
     * of later targets than cards that were asked have no vectors. */
    struct diag_sink diag = {0};
    struct ptx_module *m = ptx_parse(v.name, v.text.s, strlen(v.text.s), &diag);
    diag_free(&diag);
    if (!m || is_later(m, v.sm)) {
        if (m)
            ptx_module_free(m);
        strbuf_free(&v.text);
        strbuf_free(&args), strbuf_free(&loads), strbuf_free(&stores), strbuf_free(&form);
        return;
    }
    ptx_module_free(m);
    v.bound = bound_of(in);
    v.vclass = v.bound > 0 ? VEC_APPROX : VEC_EXACT;
    unsigned t = in->type[0];
    /* HSET2 writes both halves of a register, and ptxas 13.0 leaves out the zero-extension
     * behind it: a card's upper half is no part of the result. */
    if (in->op == PTX_OP_SETHS && ptx_types[t].kind == PTX_K_FLT)
        v.ignored = 0xffff0000;
    v.float_bytes = t == PTX_BF16 || t == PTX_BF16X2 ? 3
                    : t == PTX_F16 || t == PTX_F16X2 ? 2
                                                     : ptx_types[t].bytes;
    new_input(&v, nin * 32 * BLOCKS);
    v.nout = nout * 32 * BLOCKS;
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned i = 0; i < nin; i++) {
            if (!types[i])
                continue;
            unsigned bytes = ptx_types[types[i]].bytes;
            for (unsigned lane = 0; lane < 32; lane++) {
                uint64_t x =
                    util_value(&w->rng, bytes == 8 ? 8 : 4,
                               ptx_types[types[i]].kind == PTX_K_FLT && bytes >= 4);
                v.in[(b * nin + i) * 32 + lane] = (uint32_t)x;
                if (bytes == 8)
                    v.in[(b * nin + i + 1) * 32 + lane] = (uint32_t)(x >> 32);
            }
        }
    give(w, &v);
    strbuf_free(&args), strbuf_free(&loads), strbuf_free(&stores), strbuf_free(&form);
}

static void
each_modifier(struct walk *w, struct ptx_inst *in, uint16_t *mod, unsigned group)
{
    while (group < PTX_NMODGROUPS && !(ptx_ops[in->op].groups >> group & 1))
        group++;
    uint32_t aux;
    if (group == PTX_NMODGROUPS) {
        if (w->go && lane_select(in, &aux))
            lane_vector(w, in);
        return;
    }
    each_modifier(w, in, mod, group + 1);
    for (unsigned m = 1; m < PTX_NMODS; m++)
        if (ptx_mods[m].group == group) {
            mod[group] = (uint16_t)m;
            each_modifier(w, in, mod, group + 1);
        }
    mod[group] = 0;
}

static void
lane_vectors(struct walk *w)
{
    const struct lane_variant *all[4];
    lane_variants(all);
    const struct lane_entry *last = NULL;
    for (size_t e = 0; e < all[0]->n && w->go; e++) {
        const struct lane_entry *x = &all[0]->entry[e];
        if (last && last->op == x->op && !memcmp(last->type, x->type, 2))
            continue;
        last = x;
        struct ptx_inst in = {.op = x->op, .guard = -1, .ntypes = x->type[1] ? 2 : 1};
        in.type[0] = x->type[0];
        in.type[1] = x->type[1];
        if (in.op == PTX_OP_CVTPACK8)
            in.type[in.ntypes++] = PTX_B32;
        uint16_t mod[PTX_NMODGROUPS] = {0}; /* in.mod is a shared one */
        in.mod = mod;
        each_modifier(w, &in, mod, 0);
    }
}

/* -- matrices and video -- */

static uint32_t
some_element(uint64_t *rng, const char *t)
{
    uint64_t r = splitmix_next(rng);
    if (!strcmp(t, "f16")) /* magnitudes from 2^-6 to 2 */
        return (uint32_t)(0x2400 + (r & 0x1bff)) | (uint32_t)(r >> 32 & 0x8000);
    if (!strcmp(t, "bf16"))
        return (uint32_t)(0x3c80 + (r & 0x37f)) | (uint32_t)(r >> 32 & 0x8000);
    if (!strcmp(t, "f32") || !strcmp(t, "tf32"))
        return (uint32_t)(0x3c800000 + (r & 0x037fffff)) |
               (uint32_t)(r >> 32 & 0x80000000);
    if (!strcmp(t, "e4m3") || !strcmp(t, "e5m2"))
        return (uint32_t)(0x28 + (r & 15)) | (uint32_t)(r >> 32 & 0x80);
    return (uint32_t)r;
}

/* Words of a fragment or line of elements of that type. */
static void
fill(uint32_t *words, unsigned n, const char *t, uint64_t *rng)
{
    int bits = matrix_type_bits(t);
    for (unsigned i = 0; i < n; i++) {
        words[i] = 0;
        for (int j = 0; j < 32; j += bits < 32 ? bits : 32)
            words[i] |=
                (some_element(rng, t) & (bits >= 32 ? 0xffffffff : (1u << bits) - 1))
                << j;
    }
}

static void
fill_doubles(uint32_t *words, unsigned pairs, unsigned apart, uint64_t *rng)
{
    for (unsigned i = 0; i < pairs; i++) {
        double d = (double)(int64_t)(splitmix_next(rng) >> 11) * 0x1p-52 - 1;
        uint64_t v;
        memcpy(&v, &d, 8);
        words[i / apart * 2 * apart + i % apart] = (uint32_t)v;
        words[i / apart * 2 * apart + i % apart + apart] = (uint32_t)(v >> 32);
    }
}

/* d: the result's type. */
static void
matrix_class(struct vector *v, const char *d)
{
    v->vclass = d[0] == 'f' && strcmp(d, "f64") ? VEC_MATRIX : VEC_EXACT;
}

static void
mma_vectors(struct walk *w)
{
    for (int i = 0; i < N_MMA_FORMS; i++) {
        const struct mma_form *f = &mma_forms[i];
        bool volta = f->m == 8 && f->k == 4 && strcmp(f->a, "f64");
        for (int l = 0; l < 4; l++) {
            if (!volta && l != 2)
                continue;
            struct vector v = {.sm = f->sm, .blocks = 1};
            char lay[16];
            int wide = !strcmp(f->a, "f64") ? 2 : 1;
            snprintf(lay, sizeof lay, ".%s.%s", l & 1 ? "col" : "row",
                     l & 2 ? "col" : "row");
            mma_kernel(&v.text, f, lay, false);
            snprintf(v.name, sizeof v.name, "mma.sync.aligned.%s%s.%s.%s.%s.%s%s",
                     f->shape, lay, f->d, f->a, f->b, f->c, f->op);
            new_input(&v, (unsigned)((f->na + f->nb + f->nc) * wide) * 32);
            if (wide == 2) {
                fill_doubles(v.in, v.nin / 2, 32, &w->rng);
            } else {
                fill(v.in, (unsigned)f->na * 32, f->a, &w->rng);
                fill(v.in + f->na * 32, (unsigned)f->nb * 32, f->b, &w->rng);
                fill(v.in + (f->na + f->nb) * 32, (unsigned)f->nc * 32, f->c, &w->rng);
            }
            v.nout = (unsigned)(f->nd * wide) * 32;
            matrix_class(&v, f->d);
            give(w, &v);
        }
    }
}

/* Four bits of metadata: two places in ascending order; of tf32 one of two. */
static uint32_t
some_metadata(uint64_t *rng, int chunk)
{
    static const uint8_t two[6] = {4, 8, 12, 9, 13, 14};
    uint64_t r = splitmix_next(rng);
    return chunk == 2 ? (r & 1 ? 14 : 4) : two[r % 6];
}

static void
sparse_vectors(struct walk *w)
{
    for (int i = 0; i < N_SPARSE_FORMS; i++) {
        const struct sparse_form *s = &sparse_forms[i];
        const struct mma_form *f = &s->f;
        for (int ordered = 0; ordered < 2; ordered++)
            for (int sel = 0; sel < s->selectors; sel++) {
                struct vector v = {.sm = f->sm, .blocks = 1};
                sparse_kernel(&v.text, s, ordered, sel, false);
                snprintf(v.name, sizeof v.name, "mma.sp%s.%s.%s.%s.%s.%s selector %d",
                         ordered ? "::ordered_metadata" : "", f->shape, f->d, f->a, f->b,
                         f->c, sel);
                unsigned n[3] = {(unsigned)f->na * 32, (unsigned)f->nb * 32,
                                 (unsigned)f->nc * 32};
                new_input(&v, n[0] + n[1] + n[2] + 32);
                fill(v.in, n[0], f->a, &w->rng);
                fill(v.in + n[0], n[1], f->b, &w->rng);
                fill(v.in + n[0] + n[1], n[2], f->c, &w->rng);
                for (int k = 0; k < 32 * 8; k++)
                    v.in[v.nin - 32 + (unsigned)k / 8] |= some_metadata(&w->rng, s->chunk)
                                                          << k % 8 * 4;
                v.nout = (unsigned)f->nd * 32;
                matrix_class(&v, f->d);
                give(w, &v);
            }
    }
}

static void
wmma_vectors(struct walk *w)
{
    for (int i = 0; i < N_WMMA_FORMS; i++) {
        const struct wmma_form *f = &wmma_forms[i];
        bool small = matrix_type_bits(f->ab) < 8;
        for (unsigned cols = 0; cols < 16; cols++) {
            const char *lay[4];
            static const int none[4];
            if (small && (cols & 3) != 2)
                continue;
            for (int k = 0; k < 4; k++)
                lay[k] = cols >> k & 1 ? "col" : "row";
            struct vector v = {.sm = f->sm < 75 ? 75 : f->sm, .blocks = 1};
            wmma_kernel(&v.text, f, lay, none, false, false);
            snprintf(v.name, sizeof v.name,
                     "wmma.mma%s.sync.aligned.%s.%s.%s.%s.%s.%s c.%s d.%s", f->op, lay[0],
                     lay[1], f->shape, f->d, f->ab, f->c, lay[2], lay[3]);
            new_input(&v, 3 * 1024);
            if (!strcmp(f->ab, "f64")) {
                fill_doubles(v.in, v.nin / 2, 1, &w->rng);
            } else {
                fill(v.in, 2048, f->ab, &w->rng);
                fill(v.in + 2048, 1024, f->c, &w->rng);
            }
            v.nout = (unsigned)(f->m * f->n * matrix_type_bits(f->d) / 32);
            matrix_class(&v, f->d);
            give(w, &v);
        }
    }
}

static void
video_vectors(struct walk *w)
{
    struct video_form f;
    for (unsigned n = 0; w->go && video_form(n, &f); n++) {
        struct vector v = {.sm = 75, .blocks = 1};
        struct strbuf b = {0};
        video_kernel(&b, &f);
        strbuf_addz(&v.text, ".version 8.4\n.target sm_75\n");
        strbuf_addz(&v.text, strstr(b.s, ".address_size"));
        strbuf_free(&b);
        snprintf(v.name, sizeof v.name, "%s d%s %sa%s b%s %sc", f.suffixes, f.dsel,
                 f.neg_a, f.asel, f.bsel, f.neg_c);
        new_input(&v, 3 * 32);
        for (unsigned i = 0; i < v.nin; i++)
            v.in[i] = (uint32_t)util_value(&w->rng, 4, false);
        v.nout = 32;
        give(w, &v);
    }
}

/* -- between the lanes of a warp -- */

/* What the ISA leaves open is not asked of a card: such a lane reads from itself. */
static void
close_open(const struct warp_form *f, struct warp_input *in, enum warp_place place)
{
    uint32_t want[2];
    for (unsigned i = 0; i < WARP_LANES; i++)
        for (unsigned b = 0; b < 2; b++) {
            bool open;
            if (warp_reference(f, in, place, 0xffffffff, 0, i, want, &open) && open)
                in->word[WARP_B][i] = b ? i : 0;
        }
}

static void
warp_vectors(struct walk *w)
{
    struct warp_form f[WARP_FORMS];
    unsigned n = warp_forms(f);
    for (unsigned i = 0; i < n && w->go; i++)
        for (enum warp_place p = 0; p < WARP_PLACES && w->go; p++) {
            struct vector v = {.sm = f[i].sm < 75 ? 75 : f[i].sm,
                               .blocks = WARP_PARTITIONS,
                               .vclass = VEC_EXACT};
            if (p && !strcmp(f[i].mnemonic, "activemask"))
                continue;
            snprintf(v.name, sizeof v.name, "%s %s", f[i].name, warp_places[p]);
            warp_kernel(&v.text, &f[i], 1, p, v.sm);
            new_input(&v, v.blocks * WARP_WORDS * WARP_LANES);
            v.nout = v.blocks * WARP_TRIPS * 2 * WARP_LANES;
            for (unsigned b = 0; b < v.blocks; b++) {
                struct warp_input in;
                warp_draw(&in, b, p, 0xffffffff, &w->rng);
                close_open(&f[i], &in, p);
                memcpy(v.in + b * WARP_WORDS * WARP_LANES, in.word, sizeof in.word);
            }
            give(w, &v);
        }
}

void
vectors_each(bool (*fn)(const struct vector *v, void *user), void *user)
{
    struct walk w = {fn, user, true, 1};
    lane_vectors(&w);
    mma_vectors(&w);
    sparse_vectors(&w);
    wmma_vectors(&w);
    video_vectors(&w);
    warp_vectors(&w);
}

/* -- running -- */

unsigned
vector_sums(unsigned sm)
{
    return sm >= 120   ? SUMS_BLACKWELL_RTX
           : sm >= 100 ? SUMS_BLACKWELL
           : sm >= 90  ? SUMS_HOPPER
           : sm >= 80  ? SUMS_AMPERE
           : sm >= 75  ? SUMS_TURING
                       : SUMS_VOLTA;
}

bool
vector_run(const struct vector *v, unsigned sums, uint32_t *out, char **why)
{
    struct diag_sink diag = {0};
    struct ptx_module *m = ptx_parse(v->name, v->text.s, strlen(v->text.s), &diag);
    struct dev_mem *mem = dev_mem_new(16 << 20);
    struct exec_image *im = m ? exec_image_new(m, mem, &diag) : NULL;
    if (im)
        exec_image_sums(im, sums);
    struct exec_prog *p = im ? exec_decode(im, m->funcs.v[0], &diag) : NULL;
    bool ok = p;
    if (p) {
        uint64_t args[2] = {dev_alloc(mem, v->nin * 4ull + 256),
                            dev_alloc(mem, v->nout * 4ull + 256)};
        struct exec_grid g = {.prog = p,
                              .mem = mem,
                              .grid = {v->blocks, 1, 1},
                              .block = {32, 1, 1},
                              .warps_per_cta = 1,
                              .params = (uint8_t *)args,
                              .diag = &diag,
                              .limit = 100000};
        ok = dev_write(mem, args[0], v->in, v->nin * 4ull) &&
             exec_run_grid(&g) == EXEC_OK && dev_read(mem, args[1], out, v->nout * 4ull);
    }
    if (!ok && why) {
        struct strbuf b = {0};
        diag_print(&diag, &b);
        *why = strbuf_take(&b);
    }
    exec_prog_free(p);
    exec_image_free(im);
    if (m)
        ptx_module_free(m);
    dev_mem_free(mem);
    diag_free(&diag);
    return ok;
}

/* -- comparing -- */

static double
narrow_value(uint32_t h, bool bhalf)
{
    int mbits = bhalf ? 7 : 10, ebits = bhalf ? 8 : 5,
        e = (int)(h >> mbits) & ((1 << ebits) - 1);
    double x = (double)(h & ((1u << mbits) - 1)) + (e ? (double)(1 << mbits) : 0);
    if (e == (1 << ebits) - 1)
        return h & ((1u << mbits) - 1) ? __builtin_nan("")
               : h & 0x8000            ? -__builtin_inf()
                                       : __builtin_inf();
    for (int s = (e ? e : 1) - (1 << (ebits - 1)) + 1 - mbits; s; s += s < 0 ? 1 : -1)
        x *= s < 0 ? 0.5 : 2.0;
    return h & 0x8000 ? -x : x;
}

static bool
near(const struct vector *v, double a, double b)
{
    if (a == b || (a != a && b != b))
        return true;
    double d = a > b ? a - b : b - a, size = a < 0 ? -a : a;
    bool absolute = !strncmp(v->name, "sin", 3) || !strncmp(v->name, "cos", 3) ||
                    !strncmp(v->name, "lg2", 3);
    /* Tiny results may be flushed. */
    double tiny = v->float_bytes == 2   ? 0x1p-14
                  : v->float_bytes == 8 ? 0x1p-1022
                                        : 0x1p-126;
    return d <= v->bound * (absolute && size < 1 ? 1 : size) || d <= tiny;
}

bool
vector_agrees(const struct vector *v, const uint32_t *a, const uint32_t *b,
              unsigned *bits)
{
    bool ok = true;
    *bits = 0;
    for (unsigned i = 0; i < v->nout; i++) {
        uint32_t differing = (a[i] ^ b[i]) & ~v->ignored;
        *bits += differing != 0;
        if (!differing)
            continue;
        if (v->vclass != VEC_APPROX) {
            ok = false;
        } else if (v->float_bytes == 4) {
            float x, y;
            memcpy(&x, &a[i], 4), memcpy(&y, &b[i], 4);
            ok &= near(v, (double)x, (double)y);
        } else if (v->float_bytes < 4) {
            for (int h = 0; h < 32; h += 16)
                ok &= near(v, narrow_value(a[i] >> h & 0xffff, v->float_bytes == 3),
                           narrow_value(b[i] >> h & 0xffff, v->float_bytes == 3));
        } else { /* the upper word decides; the rows of 32 words alternate */
            double x, y;
            uint64_t p = (uint64_t)a[i] << 32, q = (uint64_t)b[i] << 32;
            memcpy(&x, &p, 8), memcpy(&y, &q, 8);
            ok &= i / 32 % 2 == 0 || near(v, x, y);
        }
    }
    return ok;
}
