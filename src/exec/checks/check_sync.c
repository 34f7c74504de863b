/* check_sync.c: barriers and other collective instructions that not all of their threads
 * execute, mbarriers that are used before they are initialised (PTX ISA 9.7.13), and registers
 * of asynchronous products that are touched before these have been waited for (9.7.15.7).
 *
 * The executor has already let the other paths of the warp run as far as they can before
 * it executes such an instruction (exec_control.c), so a lane that is missing here waits
 * elsewhere, or comes here later by itself. What the executor refuses by itself (counts
 * that contradict each other, blocks that wait for ever) is a fault without this check. */
#include "exec/checks/checks.h"

enum {
    DIVERGED,   /* an aligned barrier without some live lanes of its warp */
    NOT_MEMBER, /* a lane whose own mask does not name it */
    MISSING,    /* a live lane of the mask does not execute it */
    UNEQUAL,    /* a lane of the mask executes it with another mask */
    UNKNOWN,    /* mbarrier: not initialised */
    TWICE,      /* initialised again */
    IN_FLIGHT,  /* a register of a product that has not been waited for */
};

/* Lanes that have not ended; and of one that does not execute now, where it goes on. */
static uint32_t
live(const struct exec_warp *w)
{
    uint32_t m = w->active;
    for (uint32_t i = 0; i < w->sp; i++)
        m |= w->stack[i].mask;
    return m;
}

static const struct exec_path *
path_of(const struct exec_warp *w, unsigned lane)
{
    for (uint32_t i = w->sp; i-- > 0;)
        if (w->stack[i].mask >> lane & 1)
            return &w->stack[i];
    return NULL;
}

/* Must all lanes of the warp execute this barrier together? */
static bool
aligned(const struct exec_checks *k, const struct exec_prog *p, uint32_t pc)
{
    const struct ptx_inst *in = exec_ptx_inst(p, pc);
    return k->lockstep || !in || strcmp(ptx_ops[in->op].mnemonic, "barrier") != 0 ||
           decode_has(in, "aligned");
}

static void
missing(struct exec_checks *k, const struct exec_warp *w, uint32_t pc, unsigned kind,
        unsigned by, uint32_t lanes)
{
    struct finding *f = checks_found(k, EXEC_CHECK_SYNC, kind, w, by, pc);
    unsigned lane = (unsigned)bit_lowest(lanes);
    const struct exec_path *at = path_of(w, lane);
    f->other = (struct check_who){w->cta->id, w->index * LANES + lane};
    uint32_t pc_there = at ? at->pc : w->active >> lane & 1 ? w->pc : EXEC_NO_PC;
    f->other_pc = pc_there < w->cta->grid->prog->ninst ? pc_there : EXEC_NO_PC;
    f->detail = (uint32_t)__builtin_popcount(lanes);
    checks_settle(k);
}

static enum exec_result
before(void *user, struct exec_warp *w)
{
    checks_note_masks(user, w);
    return EXEC_OK;
}

/* Lane `by` names lane `other`, which executes the instruction too, with another mask. */
static void
unequal(struct exec_checks *k, const struct exec_warp *w, uint32_t pc, unsigned by,
        unsigned other)
{
    struct finding *f = checks_found(k, EXEC_CHECK_SYNC, UNEQUAL, w, by, pc);
    f->other = (struct check_who){w->cta->id, w->index * LANES + other};
    f->detail = k->mask[by];
    f->addr = k->mask[other];
    checks_settle(k);
}

/* Does the lane wait at a collective instruction of its own? From Volta on, bar.warp.sync
 * there meets one here. */
static bool
waits(const struct exec_warp *w, unsigned lane)
{
    const struct exec_path *at = path_of(w, lane);
    return at && at->blocked;
}

static void
collective(struct exec_checks *k, const struct exec_warp *w, const struct exec_step *s,
           unsigned op)
{
    const uint32_t *m = k->mask;
    uint32_t here = live(w), lost = 0;
    if (!k->masks) {
        const struct ptx_inst *x = exec_ptx_inst(w->cta->grid->prog, s->pc);
        if (x && decode_has(x, "aligned") && here & ~s->mask)
            missing(k, w, s->pc, DIVERGED, (unsigned)bit_lowest(s->mask),
                    here & ~s->mask);
        return;
    }
    FOR_BITS(i, s->mask)
    {
        if (!(m[i] >> i & 1)) {
            struct finding *f =
                checks_found(k, EXEC_CHECK_SYNC, NOT_MEMBER, w, (unsigned)i, s->pc);
            f->detail = m[i];
            checks_settle(k);
            continue;
        }
        FOR_BITS(j, m[i] & here & ~s->mask)
        if (op != PTX_OP_BARWARP || !waits(w, (unsigned)j))
            lost |= 1u << j;
        if (lost) {
            missing(k, w, s->pc, MISSING, (unsigned)i, lost);
            return;
        }
        FOR_BITS(j, m[i] & s->mask)
        if (m[j] != m[i]) { /* groups may not overlap */
            unequal(k, w, s->pc, (unsigned)i, (unsigned)j);
            return;
        }
    }
}

static void
mbarrier(struct exec_checks *k, struct block_checks *b, const struct exec_warp *w,
         const struct exec_step *s, int use)
{
    FOR_BITS(lane, s->access.mask)
    {
        uint32_t at = (uint32_t)s->access.addr[lane];
        size_t i = 0;
        while (i < b->mbarrier.n && b->mbarrier.v[i] != at)
            i++;
        bool known = i < b->mbarrier.n;
        if (known && use == EXEC_MBARRIER_INVAL)
            b->mbarrier.v[i] = b->mbarrier.v[--b->mbarrier.n];
        if (known == (use != EXEC_MBARRIER_INIT))
            continue;
        struct finding *f = checks_found(k, EXEC_CHECK_SYNC, known ? TWICE : UNKNOWN, w,
                                         (unsigned)lane, s->pc);
        f->space = PTX_SPACE_SHARED;
        f->addr = at;
        checks_settle(k);
        if (!known && use == EXEC_MBARRIER_INVAL)
            continue;
        if (!known)
            *vec_push(&b->mbarrier) = at; /* told once */
    }
    if (use == EXEC_MBARRIER_INIT)
        FOR_BITS(lane, s->access.mask)
        {
            bool known = false;
            for (size_t i = 0; i < b->mbarrier.n; i++)
                known |= b->mbarrier.v[i] == (uint32_t)s->access.addr[lane];
            if (!known)
                *vec_push(&b->mbarrier) = (uint32_t)s->access.addr[lane];
        }
}

/* Does it touch a register of a product in flight? D is neither to be read nor written, A not to
 * be written; another product may add to the same D. */
static void
touches_product(struct exec_checks *k, const struct check_products *f,
                const struct exec_warp *w, const struct exec_step *s)
{
    const struct exec_static *st = &w->cta->grid->prog->st[s->pc];
    for (unsigned i = 0; i < st->noperands; i++) {
        bool writes = st->operand[i].role == EXEC_WRITES;
        if (writes && st->product == PRODUCT_START)
            continue;
        for (size_t j = 0; j < f->reg.n; j++) {
            const struct check_product *r = &f->reg.v[j];
            if (r->reg != st->operand[i].reg || (!r->result && !writes))
                continue;
            struct finding *x = checks_found(k, EXEC_CHECK_SYNC, IN_FLIGHT, w,
                                             (unsigned)bit_lowest(s->mask), s->pc);
            x->other_pc = r->pc;
            x->detail = writes;
            checks_settle(k);
            return;
        }
    }
}

static void
products(struct exec_checks *k, struct check_products *f, const struct exec_warp *w,
         const struct exec_step *s)
{
    const struct exec_static *st = &w->cta->grid->prog->st[s->pc];
    size_t n = 0;
    if (f->reg.n)
        touches_product(k, f, w, s);
    switch (st->product) {
    case PRODUCT_START:
        for (unsigned i = 0; i < st->noperands; i++)
            if (st->operand[i].role != EXEC_GUARD)
                *vec_push(&f->reg) = (struct check_product){
                    st->operand[i].reg, st->operand[i].role == EXEC_WRITES, f->groups,
                    s->pc};
        break;
    case PRODUCT_COMMIT:
        f->groups++;
        break;
    case PRODUCT_WAIT: /* what is in no group yet goes on */
        for (size_t i = 0; i < f->reg.n; i++)
            if (f->reg.v[i].group + st->product_n >= f->groups)
                f->reg.v[n++] = f->reg.v[i];
        f->reg.n = n;
        break;
    }
}

static void
step(void *user, struct exec_warp *w, const struct exec_step *s)
{
    struct exec_checks *k = user;
    struct block_checks *b = w->cta->priv;
    const struct exec_prog *p = w->cta->grid->prog;
    const struct exec_static *st = &p->st[s->pc];
    if (!s->mask)
        return;
    if (w->index < CHECK_WARPS && (st->product || b->product[w->index].reg.n))
        products(k, &b->product[w->index], w, s);
    if (st->product)
        return;
    if (st->is_barrier) {
        uint32_t lost = live(w) & ~s->mask;
        if (lost && aligned(k, p, s->pc))
            missing(k, w, s->pc, DIVERGED, (unsigned)bit_lowest(s->mask), lost);
    } else if (ptx_ops[st->op].flags & PTX_CROSSLANE) {
        collective(k, w, s, st->op);
    } else if (st->orders && s->has_access && !s->access.async) {
        int use = exec_mbarrier_use(&p->inst[s->pc]);
        if (use)
            mbarrier(k, b, w, s, use);
    }
}

static void
block_end(void *user, struct exec_cta *c)
{
    struct block_checks *b = c->priv;
    (void)user;
    vec_free(&b->mbarrier);
    for (unsigned i = 0; i < CHECK_WARPS; i++)
        vec_free(&b->product[i].reg);
}

const struct exec_observer check_sync = {
    .block_end = block_end, .before = before, .step = step};

/* -- telling -- */

void
check_sync_tell(const struct exec_checks *k, const struct finding *f)
{
    const struct exec_prog *p = k->g->prog;
    struct diag_loc loc = exec_loc(p, f->pc);
    struct strbuf b = {0};
    const char *hint = "";
    checks_print_who(k->g, &f->who, &b);
    switch (f->kind) {
    case DIVERGED:
    case MISSING:
        strbuf_printf(&b,
                      f->kind == DIVERGED
                          ? " executes it without %u threads of its warp, the first of "
                            "them "
                          : " names in its mask %u threads that do not execute it, the "
                            "first of them ",
                      f->detail);
        checks_print_who(k->g, &f->other, &b);
        hint = f->kind == DIVERGED
                   ? "all threads of a block must reach the same barrier: take it out of "
                     "the condition"
                   : "the mask must be that of the threads that come here, such as what "
                     "__ballot_sync gave for the same condition";
        break;
    case NOT_MEMBER:
        strbuf_printf(&b, " executes it, but its own mask 0x%08x does not name it",
                      f->detail);
        hint = "the mask must be that of the threads that come here, such as what "
               "__ballot_sync gave for the same condition";
        break;
    case UNEQUAL:
        strbuf_printf(&b, " gives the mask 0x%08x, which names ", f->detail);
        checks_print_who(k->g, &f->other, &b);
        strbuf_printf(&b, ", which gives 0x%08x", (uint32_t)f->addr);
        hint = "all threads that a mask names must give that mask: groups may not "
               "overlap";
        break;
    case IN_FLIGHT:
        strbuf_printf(&b, " %s a register of a matrix product that it has not waited for",
                      f->detail ? "writes" : "reads");
        hint = "wgmma.wait_group comes first, behind a wgmma.commit_group";
        break;
    default:
        strbuf_printf(&b, f->kind == UNKNOWN ? " uses " : " initialises ");
        exec_print_place(k->g, f->space, f->addr, &b);
        strbuf_printf(&b, f->kind == UNKNOWN ? ", which no mbarrier.init has initialised"
                                             : " again, which is an mbarrier already");
        hint = f->kind == UNKNOWN ? "one thread initialises it, then all threads meet "
                                    "(__syncthreads()) before they use it"
                                  : "mbarrier.inval comes first";
    }
    struct diag *d = diag_add(
        k->g->diag, DIAG_WARNING, &loc, "wrong %s in kernel '%s': %s (%llu times)",
        f->kind == MISSING || f->kind == NOT_MEMBER || f->kind == UNEQUAL
            ? "synchronisation of a warp"
        : f->kind == IN_FLIGHT ? "use of a register"
                               : "barrier",
        p->entry->name, b.s, (unsigned long long)f->count);
    diag_hint(k->g->diag, d, "%s", hint);
    strbuf_free(&b);
    exec_note_source(p, f->pc, k->g->diag);
    if (f->other_pc == EXEC_NO_PC)
        return;
    struct diag_loc other = exec_loc(p, f->other_pc);
    diag_add(k->g->diag, DIAG_NOTE, &other,
             f->kind == IN_FLIGHT ? "the product" : "that thread goes on here");
    exec_note_source(p, f->other_pc, k->g->diag);
}
