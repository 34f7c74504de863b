/* pack_halves.c: converts two values to halves in one operation.
 *
 *     cvt.rn.f16.f32 %h1, %f1;     becomes     cvt.rn.f16x2.f32 %r1, %f2, %f1;
 *     cvt.rn.f16.f32 %h2, %f2;                 mov.b32 {%h1, %h2}, %r1;
 *
 * So does ptxas from sm_80 on (F2FP.PACK_AB; CUDA 13.0, small kernels): of a basic block the first
 * conversion that is left and the next of the same kind that does not come from it, however far
 * separate; bf16 and rounding to zero too. The two take one register until they are read, where the
 * move is an operation for the upper one (PRMT). A pair that the code packs anyway needs no move:
 * mov.b32 %r2, {%h1, %h2} becomes a copy.
 *
 * The pair stands where the second conversion stood, if nothing between reads the first result;
 * else where the first did, if the second value is there by then. Targets below sm_80 have no
 * such instruction. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/cfg.h"
#include "analysis/defuse.h"

enum { MOST_PENDING = 64 }; /* conversions of a block that wait for a second one */

struct packer {
    struct ptx_func *f;
    int32_t *partner;  /* of each instruction: that it is converted with; -1: none */
    bool *here;        /* of each: the pair stands here */
    uint32_t *written; /* of each register: where it was written last, + 1 */
    uint32_t *read;    /* ... and read last, + 1 */
    uint32_t at;
    size_t pairs;
};

static bool
is_conversion(const struct ptx_inst *in)
{
    const unsigned rnd = in->mod[PTX_MG_RND];
    return in->op == PTX_OP_CVTFF && in->guard < 0 && in->type[1] == PTX_F32 &&
           (in->type[0] == PTX_F16 || in->type[0] == PTX_BF16) &&
           (rnd == PTX_RND_RN || rnd == PTX_RND_RZ) && !in->mod[PTX_MG_SAT] &&
           !in->mod[PTX_MG_SATF] && !in->mod[PTX_MG_RELU] &&
           !(in->mod[PTX_MG_FTZ] && in->type[0] == PTX_BF16) &&
           in->ops[0].kind == PTX_OPD_REG && in->ops[1].kind == PTX_OPD_REG &&
           !in->ops[0].comp && !in->ops[1].comp;
}

/* Conversions i and, after it, the one looked at: do they become one? */
static bool
pair(struct packer *p, uint32_t i)
{
    const struct ptx_inst *a = &p->f->body.v[i], *b = &p->f->body.v[p->at];
    const int32_t da = a->ops[0].reg, db = b->ops[0].reg;
    if (a->type[0] != b->type[0] || a->mod[PTX_MG_RND] != b->mod[PTX_MG_RND] || da == db)
        return false;
    if (p->read[da] <= i + 1 && p->written[da] == i + 1 &&
        p->written[a->ops[1].reg] <= i + 1) { /* nothing between needs the first */
        p->here[p->at] = true;
        return true;
    }
    if (p->written[b->ops[1].reg] > i + 1 || p->written[db] > i + 1 ||
        p->read[db] > i + 1)
        return false;
    p->here[i] = true; /* what the second converts is there at the first */
    return true;
}

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct packer *p = user;
    (void)partial;
    (write ? p->written : p->read)[reg] = p->at + 1;
}

static void
find_pairs(struct packer *p, const struct cfg_block *b)
{
    uint32_t pending[MOST_PENDING], n = 0;
    for (p->at = b->first; p->at < b->end; p->at++) {
        const struct ptx_inst *in = &p->f->body.v[p->at];
        if (ptx_is_pseudo(in))
            continue;
        uint32_t k = 0;
        const bool converts = is_conversion(in);
        while (converts && k < n && !pair(p, pending[k]))
            k++;
        if (converts && k < n) {
            p->partner[p->at] = (int32_t)pending[k];
            p->partner[pending[k]] = (int32_t)p->at;
            memmove(pending + k, pending + k + 1, (--n - k) * sizeof *pending);
            p->pairs++;
        } else if (converts && n < MOST_PENDING)
            pending[n++] = p->at;
        defuse_each(in, note, p);
    }
}

/* What is known of a pair of halves while the block is written. */
struct halves {
    int32_t both, low, high; /* registers */
};

static void
forget(void *user, int32_t reg, bool write, bool partial)
{
    struct halves *h = user;
    (void)partial;
    if (write && (reg == h->low || reg == h->high || reg == h->both))
        h->both = -1;
}

/* mov.b32 d, {low, high} of a pair's halves: a copy of the pair. */
static void
take_whole(struct ptx_inst *in, const struct halves *h, size_t n)
{
    const struct ptx_operand *v = &in->ops[1];
    if (in->op != PTX_OP_MOV || in->nops != 2 || v->kind != PTX_OPD_VEC || v->n != 2 ||
        v->vec[0].kind != PTX_OPD_REG || v->vec[1].kind != PTX_OPD_REG)
        return;
    for (size_t k = 0; k < n; k++)
        if (h[k].both >= 0 && v->vec[0].reg == h[k].low && v->vec[1].reg == h[k].high) {
            in->ops[1] = rewrite_register(h[k].both);
            return;
        }
}

static void
emit_pair(struct packer *p, uint32_t i, struct ptx_inst out[2], struct halves *h)
{
    struct ptx_func *f = p->f;
    const uint32_t j = (uint32_t)p->partner[i], first = i < j ? i : j,
                   second = i + j - first;
    const struct ptx_inst *a = &f->body.v[first], *b = &f->body.v[second];
    *h = (struct halves){ptx_reg_new(f, PTX_B32), a->ops[0].reg, b->ops[0].reg};
    out[0] = ptx_inst_new(f->module, PTX_OP_CVTX2, 3);
    out[0].ntypes = 2;
    out[0].type[0] = a->type[0] == PTX_F16 ? PTX_F16X2 : PTX_BF16X2;
    out[0].type[1] = PTX_F32;
    ptx_set_mod(f->module, &out[0], PTX_MG_RND, a->mod[PTX_MG_RND]);
    out[0].ops[0] = rewrite_register(h->both);
    out[0].ops[1] = b->ops[1];
    out[0].ops[2] = a->ops[1];
    out[1] = ptx_inst_new(f->module, PTX_OP_MOV, 2);
    out[1].ntypes = 1;
    out[1].type[0] = PTX_B32;
    out[1].ops[0].kind = PTX_OPD_VEC;
    out[1].ops[0].n = 2;
    out[1].ops[0].vec = ARENA_ARRAY(&f->module->mem, struct ptx_operand, 2);
    out[1].ops[0].vec[0] = a->ops[0];
    out[1].ops[0].vec[1] = b->ops[0];
    out[1].ops[1] = rewrite_register(h->both);
    for (unsigned k = 0; k < 2; k++) {
        out[k].line = f->body.v[i].line;
        out[k].col = f->body.v[i].col;
    }
}

static void
write_body(struct packer *p, const struct cfg *g)
{
    VEC(struct ptx_inst) body = {0};
    VEC(struct halves) known = {0};
    struct ptx_func *f = p->f;
    for (uint32_t b = 0; b < g->n; b++) {
        known.n = 0;
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++) {
            struct ptx_inst in = f->body.v[i], out[2];
            if (p->partner[i] < 0) {
                take_whole(&in, known.v, known.n);
                for (size_t k = 0; k < known.n && !ptx_is_pseudo(&in); k++)
                    defuse_each(&in, forget, &known.v[k]);
                *vec_push(&body) = in;
            } else if (p->here[i]) {
                emit_pair(p, i, out, vec_push(&known));
                *vec_push(&body) = out[0];
                *vec_push(&body) = out[1];
            }
        }
    }
    vec_free(&known);
    vec_take(&f->body, &body);
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    struct arena mem = {0};
    const char *target = f->module->target;
    struct packer p = {.f = f};
    (void)diag;
    if (strncmp(target, "sm_", 3) != 0 || atoi(target + 3) < 80)
        return true;
    p.partner = ARENA_ARRAY(&mem, int32_t, f->body.n + 1);
    p.here = ARENA_ARRAY(&mem, bool, f->body.n + 1);
    p.written = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1);
    p.read = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++)
        p.partner[i] = -1;
    for (uint32_t b = 0; b < x->cfg->n; b++)
        find_pairs(&p, &x->cfg->block[b]);
    if (p.pairs) {
        write_body(&p, x->cfg);
        *changed = true;
        if (a->report)
            strbuf_printf(a->report, "%s: %zu pairs of halves\n", f->name, p.pairs);
    }
    arena_free(&mem);
    return true;
}

const struct pass pass_pack_halves = {
    .name = "pack-halves",
    .meaning = "converts two values to f16 or bf16 in one operation, from sm_80 on",
    .run_func = run,
    .needs = AN_CFG,
};
