/* exec_control.c: branches, calls, the SIMT stack, barriers, traps.
 *
 * Divergence. A warp runs one path at a time: w->pc, w->active, w->rpc. A branch that
 * lanes take differently pushes a path that waits at the branch's immediate
 * post-dominator with all its lanes (the join), unless the current path ends there
 * anyway, and a path for each side; lanes that jump run first. A path that reaches its
 * rpc is dropped and the one below it runs. Lanes that exit leave all paths; a path
 * without lanes is dropped. So at any time the leaves are disjoint and the joins nested:
 * at most 64 paths a function.
 *
 * Meeting points stronger than post-dominance. Where lanes may leave early (a return
 * inside an if), the immediate post-dominator is the end of the function, and paths that
 * the program synchronises would pass that point one after the other. So an instruction
 * that synchronises lanes of a warp (bar, *.sync) first gathers the lanes it wants from
 * the sibling paths: it lets them run until they stand at the same instruction, merges
 * them, and only then executes. Lanes that cannot come (they wait at another such
 * instruction, or beyond the join) are not waited for.
 *
 * Barriers (PTX ISA 9.7.13.1) count warps: a warp arrives once, whichever of its lanes
 * execute the instruction, as all processors before Volta do; thread counts are multiples
 * of the warp size. A barrier without a count waits for all warps that have not ended. */
#include "exec/exec_int.h"

#include "analysis/cfg.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 1024, PATHS_PER_FRAME = 68 };

/* -- paths -- */

static void
push(struct exec_warp *w, uint32_t pc, uint32_t rpc, uint32_t mask)
{
    w->stack[w->sp++] = (struct exec_path){pc, rpc, mask, false};
}

static void leave_frame(struct exec_warp *w);

static void
pop(struct exec_warp *w)
{
    while (w->depth && w->sp == w->frame[w->depth - 1].base)
        leave_frame(w);
    const struct exec_path *e = &w->stack[--w->sp];
    w->pc = e->pc;
    w->rpc = e->rpc;
    w->active = e->mask;
}

void
simt_reconverge(struct exec_warp *w, struct exec_step *s)
{
    s->jumped = true;
    while (w->pc == w->rpc)
        pop(w);
}

static void
end_warp(struct exec_warp *w, struct exec_step *s)
{
    struct exec_cta *c = w->cta;
    while (w->depth)
        free(w->frame[--w->depth].saved);
    w->state = EXEC_DONE;
    s->warp_done = true;
    if (!--c->live_warps)
        s->cta_done = true;
    else
        exec_barrier_exit(w, s);
}

/* Goes on with the next path that has lanes; ends the warp if there is none. */
static void
settle(struct exec_warp *w, struct exec_step *s)
{
    while (!w->active) {
        if (!w->sp) {
            end_warp(w, s);
            return;
        }
        pop(w);
    }
}

void
simt_exit(struct exec_warp *w, uint32_t lanes, struct exec_step *s)
{
    s->jumped = true;
    s->ended |= lanes;
    w->active &= ~lanes;
    for (uint32_t i = 0; i < w->sp; i++)
        w->stack[i].mask &= ~lanes;
    settle(w, s);
    if (w->cta->cluster)
        exec_cluster_exit(w, s);
}

void
simt_ret(struct exec_warp *w, uint32_t lanes, struct exec_step *s)
{
    if (!w->depth) {
        simt_exit(w, lanes, s);
        return;
    }
    s->jumped = true;
    w->active &= ~lanes;
    for (uint32_t i = w->frame[w->depth - 1].base; i < w->sp; i++)
        w->stack[i].mask &= ~lanes;
    settle(w, s);
}

/* Paths with the current one's join stand right below it. Brings lanes of `want` here
 * that run in those. True: execute now; false: another path was put first, nothing
 * executed. */
bool
simt_gather(struct exec_warp *w, const struct exec_inst *in, uint32_t want,
            struct exec_step *s)
{
    uint32_t pc = (uint32_t)(in - w->cta->grid->prog->inst);
    uint32_t low = w->depth ? w->frame[w->depth - 1].base : 0;
    /* Merge those that wait here. */
    uint32_t first = w->sp;
    while (first > low && w->stack[first - 1].rpc == w->rpc)
        first--;
    for (uint32_t i = first; i < w->sp;) {
        struct exec_path *e = &w->stack[i];
        if (e->pc == pc && e->blocked) {
            w->active |= e->mask;
            memmove(e, e + 1, (w->sp - i - 1) * sizeof *e);
            w->sp--;
            s->jumped = true; /* the active set changed */
        } else {
            i++;
        }
    }
    if (!(want & ~w->active))
        return true;
    for (uint32_t i = w->sp; i-- > first;) {
        struct exec_path e = w->stack[i];
        if (e.blocked || !(e.mask & want) || e.pc == w->rpc)
            continue;
        w->stack[i] = (struct exec_path){pc, w->rpc, w->active, true};
        /* Runs on top, above all others of the group. */
        struct exec_path cur = w->stack[i];
        memmove(&w->stack[i], &w->stack[i + 1], (w->sp - i - 1) * sizeof e);
        w->stack[w->sp - 1] = cur;
        w->pc = e.pc;
        w->active = e.mask;
        w->cta->n_thread_inst -= (uint32_t)__builtin_popcount(s->mask);
        s->mask = 0;
        s->jumped = true;
        return false;
    }
    return true;
}

/* Lanes that have not ended. */
static uint32_t
live_lanes(const struct exec_warp *w)
{
    uint32_t m = w->active;
    uint32_t low = w->depth ? w->frame[w->depth - 1].base : 0;
    for (uint32_t i = low; i < w->sp; i++)
        m |= w->stack[i].mask;
    return m;
}

/* -- branches -- */

static enum exec_result
h_bra(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    uint32_t target = in->target, rest = w->active & ~mask;
    s->jumped = true;
    if (!rest) {
        w->pc = target;
        return EXEC_OK;
    }
    uint32_t next = w->pc, r = in->reconv;
    if (target == next)
        return EXEC_OK;
    if (r != w->rpc)
        push(w, r, w->rpc, w->active);
    w->rpc = r;
    if (target == r) {
        w->active = rest;
    } else {
        if (next != r)
            push(w, next, r, rest);
        w->pc = target;
        w->active = mask;
    }
    return EXEC_OK;
}

static enum exec_result
h_brx(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    const struct brx_plan *b = in->plan;
    const uint32_t *index = row(w, in->s[0]);
    uint32_t rest = w->active & ~mask, r = in->reconv, next = w->pc;
    FOR_BITS(i, mask)
    if (index[i] >= b->n)
        return exec_fault(w, in, (unsigned)i, NULL,
                          "brx.idx with index %u, but the list has %u targets", index[i],
                          b->n);
    s->jumped = true;
    uint32_t first = b->target[index[bit_lowest(mask)]], same = 0;
    FOR_BITS(i, mask)
    same |= (uint32_t)(b->target[index[i]] == first) << i;
    if (same == w->active) {
        w->pc = first;
        return EXEC_OK;
    }
    if (r != w->rpc)
        push(w, r, w->rpc, w->active);
    w->rpc = r;
    uint32_t top = w->sp;
    if (rest && next != r)
        push(w, next, r, rest);
    while (mask) {
        uint32_t t = b->target[index[bit_lowest(mask)]], group = 0;
        FOR_BITS(i, mask)
        group |= (uint32_t)(b->target[index[i]] == t) << i;
        mask &= ~group;
        if (t != r)
            push(w, t, r, group);
    }
    if (w->sp == top)
        w->pc = r; /* all at the join; exec_step takes it from there */
    else
        pop(w);
    return EXEC_OK;
}

static enum exec_result
h_exit(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)in;
    simt_exit(w, mask, s);
    return EXEC_OK;
}

static enum exec_result
h_ret(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    (void)in;
    simt_ret(w, mask, s);
    return EXEC_OK;
}

static enum exec_result
h_trap(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    enum exec_result r = exec_fault(w, in, (unsigned)bit_lowest(mask), NULL, "trap");
    w->cta->failure = ALLOT_FAULT_TRAP;
    return r;
}

static enum exec_result
h_relssp(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    w->released |= mask;
    return EXEC_OK;
}

static enum exec_result
h_nop(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    return EXEC_OK;
}

/* -- calls -- */

uint64_t
exec_move_get(const struct exec_warp *w, const struct call_move *m, unsigned i)
{
    const uint8_t *p = row(w, m->from);
    uint64_t v;
    switch (m->from_kind) {
    case MOVE_PRED:
        return *(const uint32_t *)p >> i & 1;
    case MOVE_REG64:
        return ((const uint64_t *)p)[i];
    case MOVE_REG32:
        return ((const uint32_t *)p)[i];
    default:
        v = ((const uint32_t *)p)[i];
        if (m->bytes > 4)
            v |= (uint64_t)((const uint32_t *)p)[LANES + i] << 32;
        return v;
    }
}

void
exec_move_put(struct exec_warp *w, const struct call_move *m, unsigned i, uint64_t v)
{
    uint8_t *p = row(w, m->to);
    if (m->bytes < 8 && m->to_kind != MOVE_PRED)
        v &= ((uint64_t)1 << m->bytes * 8) - 1;
    switch (m->to_kind) {
    case MOVE_PRED:
        *(uint32_t *)p = (*(uint32_t *)p & ~(1u << i)) | (uint32_t)(v & 1) << i;
        break;
    case MOVE_REG64:
        ((uint64_t *)p)[i] = v;
        break;
    case MOVE_REG32:
        ((uint32_t *)p)[i] = (uint32_t)v;
        break;
    default:
        ((uint32_t *)p)[i] = (uint32_t)v;
        if (m->bytes > 4)
            ((uint32_t *)p)[LANES + i] = (uint32_t)(v >> 32);
        break;
    }
}

static size_t
move_bytes(const struct call_move *m)
{
    return m->from_kind == MOVE_PARAM && m->to_kind == MOVE_PARAM
               ? (size_t)(m->bytes + 3) / 4 * ROW_BYTES
               : sizeof(uint64_t) * LANES;
}

/* All sources are read before anything is written (between, on return, the callee's rows
 * are put back): `buf` holds them. */
static void
moves_read(const struct exec_warp *w, const struct call_move *m, uint32_t n, uint8_t *buf)
{
    for (uint32_t k = 0; k < n; buf += move_bytes(&m[k]), k++) {
        if (m[k].from_kind == MOVE_PARAM && m[k].to_kind == MOVE_PARAM) {
            memcpy(buf, row(w, m[k].from), move_bytes(&m[k]));
            continue;
        }
        for (unsigned i = 0; i < LANES; i++) {
            uint64_t v = exec_move_get(w, &m[k], i);
            memcpy(buf + 8 * i, &v, 8);
        }
    }
}

static void
moves_write(struct exec_warp *w, const struct call_move *m, uint32_t n, uint32_t mask,
            const uint8_t *buf)
{
    for (uint32_t k = 0; k < n; buf += move_bytes(&m[k]), k++) {
        if (m[k].from_kind == MOVE_PARAM && m[k].to_kind == MOVE_PARAM) {
            uint32_t *to = row(w, m[k].to);
            for (uint32_t r = 0; r < (m[k].bytes + 3) / 4; r++)
                FOR_BITS(i, mask)
            memcpy(&to[r * LANES + i], buf + (r * LANES + i) * 4, 4);
            continue;
        }
        FOR_BITS(i, mask)
        {
            uint64_t v;
            memcpy(&v, buf + 8 * i, 8);
            exec_move_put(w, &m[k], (unsigned)i, v);
        }
    }
}

static uint8_t *
moves_buffer(const struct call_move *m, uint32_t n)
{
    size_t bytes = 8;
    for (uint32_t k = 0; k < n; k++)
        bytes += move_bytes(&m[k]);
    return xmalloc(bytes);
}

/* The last lanes of the current function came back (or ended). */
static void
leave_frame(struct exec_warp *w)
{
    struct exec_frame *f = &w->frame[--w->depth];
    const struct call_plan *p = f->plan;
    uint8_t *buf = moves_buffer(p->out, p->nout);
    moves_read(w, p->out, p->nout, buf);
    if (f->saved) {
        memcpy(w->regs + f->callee->region, f->saved, f->callee->region_bytes);
        free(f->saved);
        f->saved = NULL;
    }
    moves_write(w, p->out, p->nout, f->mask, buf);
    free(buf);
    w->local_base = f->local_base;
}

static void
local_store_word(struct exec_warp *w, uint32_t addr, unsigned lane, uint32_t v)
{
    memcpy(w->local + ((size_t)(addr / 4) * LANES + lane) * 4, &v, 4);
}

void
exec_warp_local_grow(struct exec_warp *w, uint32_t bytes)
{
    if (bytes <= w->local_bytes)
        return;
    if (bytes < 2 * w->local_bytes)
        bytes = 2 * w->local_bytes;
    w->local = xrealloc(w->local, (size_t)bytes * LANES);
    memset(w->local + (size_t)w->local_bytes * LANES, 0,
           (size_t)(bytes - w->local_bytes) * LANES);
    w->local_bytes = bytes;
}

static enum exec_result
enter(struct exec_warp *w, const struct exec_inst *in, const struct call_plan *p,
      uint32_t mask)
{
    const struct func_info *callee = p->callee;
    if (w->depth >= MAX_DEPTH)
        return exec_fault(w, in, (unsigned)bit_lowest(mask), NULL,
                          "stack overflow: more than %d nested calls", MAX_DEPTH);
    uint32_t local_base = w->local_base + p->caller->local_bytes;
    for (unsigned i = 0; w->tops && i < LANES; i++)
        if (warp_tops(w)[i] > local_base)
            local_base = align_to(warp_tops(w)[i], 16);
    uint32_t local_end = local_base + callee->local_bytes;
    if (local_end > MAX_LOCAL)
        return exec_fault(
            w, in, (unsigned)bit_lowest(mask), NULL,
            "stack overflow: the frames of %u nested calls take more than %d bytes "
            "of local memory a thread",
            w->depth + 1, MAX_LOCAL);
    exec_warp_local_grow(w, local_end);
    if (w->tops) { /* the callee's ends of the stack */
        if (w->depth + 2 > w->tops_cap) {
            w->tops_cap *= 2;
            w->tops = xrealloc(w->tops, sizeof *w->tops * LANES * w->tops_cap);
        }
        for (unsigned i = 0; i < LANES; i++)
            warp_tops(w)[LANES + i] = local_end;
    }
    if (w->sp + 2 * PATHS_PER_FRAME > w->stack_cap) {
        w->stack_cap = 2 * w->stack_cap + 2 * PATHS_PER_FRAME;
        w->stack = xrealloc(w->stack, w->stack_cap * sizeof *w->stack);
    }
    if (w->depth == w->frame_cap) {
        w->frame_cap = w->frame_cap ? 2 * w->frame_cap : 8;
        w->frame = xrealloc(w->frame, w->frame_cap * sizeof *w->frame);
    }
    push(w, w->pc, w->rpc, w->active);
    struct exec_frame *f = &w->frame[w->depth];
    *f = (struct exec_frame){w->sp, mask, w->local_base, p, callee, NULL};
    uint8_t *buf = moves_buffer(p->in, p->nin);
    moves_read(w, p->in, p->nin, buf);
    for (uint32_t k = w->depth; k--;)
        if (w->frame[k].callee == callee) { /* an outer activation owns the rows */
            f->saved = xmalloc(callee->region_bytes + 1);
            memcpy(f->saved, w->regs + callee->region, callee->region_bytes);
            break;
        }
    moves_write(w, p->in, p->nin, mask, buf);
    free(buf);
    w->depth++;
    w->local_base = local_base;
    /* Parameters whose address is taken have a copy in local memory. */
    for (uint32_t k = 0; k < callee->nspill; k++) {
        const struct param_spill *sp = &callee->spill[k];
        const uint32_t *from = (const uint32_t *)(w->regs + sp->row);
        for (uint32_t r = 0; r < (sp->bytes + 3) / 4; r++)
            FOR_BITS(i, mask)
        local_store_word(w, local_base + sp->local + 4 * r, (unsigned)i,
                         from[r * LANES + i]);
    }
    w->pc = callee->entry_pc;
    w->rpc = EXEC_NO_PC;
    w->active = mask;
    return EXEC_OK;
}

static enum exec_result
h_call(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    s->jumped = true;
    return enter(w, in, in->plan, mask);
}

static enum exec_result
h_call_indirect(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                struct exec_step *s)
{
    const struct call_plan *p = in->plan, *found = NULL;
    const void *t = row(w, p->target_ref);
#define TARGET(i) (p->target_wide ? ((const uint64_t *)t)[i] : ((const uint32_t *)t)[i])
    unsigned first = (unsigned)bit_lowest(mask);
    uint64_t handle = TARGET(first);
    for (uint32_t k = 0; k < p->ncand && !found; k++)
        if (p->cand[k]->handle == handle)
            found = p->cand[k];
    if (!found)
        return exec_fault(w, in, first,
                          "only functions of this module with the same parameter "
                          "sizes can be called through a register",
                          "call to 0x%llx, which is no function that this call can reach",
                          (unsigned long long)handle);
    uint32_t group = 0;
    FOR_BITS(i, mask)
    group |= (uint32_t)(TARGET(i) == handle) << i;
#undef TARGET
    s->jumped = true;
    uint32_t others = mask & ~group;
    if (others) {
        /* The others execute this instruction again when the first have come back. All
         * meet behind it. */
        uint32_t pc = (uint32_t)(in - w->cta->grid->prog->inst), next = w->pc;
        if (next != w->rpc)
            push(w, next, w->rpc, w->active);
        push(w, pc, next, others);
        w->rpc = next;
        w->active = group;
    }
    return enter(w, in, found, group);
}

/* -- barriers -- */

static void
release(struct exec_cta *c, struct exec_barrier *b, struct exec_step *s)
{
    FOR_BITS(i, b->waiting)
    {
        struct exec_warp *w = &c->warp[i];
        const struct exec_inst *in = &c->grid->prog->inst[w->barrier_pc];
        if (in->sub >= BAR_RED_POPC) {
            uint32_t v = in->sub == BAR_RED_POPC  ? b->popc
                         : in->sub == BAR_RED_AND ? b->and_
                                                  : b->or_;
            uint32_t m = w->barrier_mask, *d = row(w, in->d[0]);
            if (in->sub == BAR_RED_POPC)
                FOR_BITS(k, m)
            d[k] = v;
            else *d = (*d & ~m) | (v ? m : 0);
        }
        w->state = EXEC_READY;
    }
    s->woken |= b->waiting;
    memset(b, 0, sizeof *b);
    if (b == &c->ex->bar[EXEC_BARRIER_SCRATCH]) {
        c->holds = !c->holds;
        if (c->holds && c->grid->prog->check)
            exec_check_taken(c);
    }
}

void
exec_barrier_exit(struct exec_warp *w, struct exec_step *s)
{
    struct exec_cta *c = w->cta;
    for (int i = 0; i <= EXEC_BARRIER_SCRATCH; i++) {
        struct exec_barrier *b = &c->ex->bar[i];
        if (b->used && !b->expected && b->arrived >= c->live_warps)
            release(c, b, s);
    }
}

uint32_t
exec_gather(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    if (!w->sp)
        return mask;
    if (!simt_gather(w, in, live_lanes(w), s))
        return 0;
    uint32_t m = w->active; /* lanes may have joined */
    if (in->flags & IF_GUARD) {
        uint32_t p = *(const uint32_t *)(w->regs + in->guard);
        m &= in->flags & IF_GUARD_NEG ? ~p : p;
    }
    w->cta->n_thread_inst += (uint32_t)__builtin_popcount(m & ~mask);
    s->mask = m;
    s->active = w->active;
    return m;
}

/* The warp waits at barrier `id`. */
static void
wait_at(struct exec_warp *w, const struct exec_inst *in, uint32_t id, uint32_t mask)
{
    w->state = EXEC_BARRIER;
    w->barrier = (uint8_t)id;
    w->barrier_mask = mask;
    w->barrier_pc = (uint32_t)(in - w->cta->grid->prog->inst);
    w->cta->ex->bar[id].waiting |= (uint64_t)1 << w->index;
}

/* scratchalloc, scratchfree: barriers of all threads of the block, at which it gets and
 * gives up part of its scratchpad (003 section 5: no nesting). Which part, and when, is
 * the timing model's affair; here, only that the program keeps the rules. */
static enum exec_result
h_scratch(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    struct exec_cta *c = w->cta;
    if (!(mask = exec_gather(w, in, mask, s)))
        return EXEC_OK;
    const unsigned first = (unsigned)bit_lowest(mask);
    if (in->sub == SCRATCH_ALLOC && c->holds)
        return exec_fault(w, in, first, "free what the block holds first",
                          "scratchalloc in a block that holds its scratchpad already");
    if (in->sub == SCRATCH_FREE && !c->holds)
        return exec_fault(w, in, first, NULL,
                          "scratchfree in a block that holds no allocated scratchpad");
    if (mask != live_lanes(w))
        return exec_fault(w, in, first, NULL,
                          "not all threads of the warp take part in this scratch%s",
                          in->sub == SCRATCH_ALLOC ? "alloc" : "free");
    struct exec_barrier *b = &c->ex->bar[EXEC_BARRIER_SCRATCH];
    b->used = true;
    b->arrived++;
    wait_at(w, in, EXEC_BARRIER_SCRATCH, mask);
    if (b->arrived >= c->live_warps)
        release(c, b, s);
    return EXEC_OK;
}

static enum exec_result
h_bar(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, struct exec_step *s)
{
    struct exec_cta *c = w->cta;
    if (!(mask = exec_gather(w, in, mask, s)))
        return EXEC_OK;
    unsigned first = (unsigned)bit_lowest(mask);
    uint32_t id = ((const uint32_t *)row(w, in->s[0]))[first];
    if (id >= EXEC_BARRIERS)
        return exec_fault(w, in, first, NULL, "barrier %u: there are barriers 0 to %u",
                          id, EXEC_BARRIERS - 1);
    uint32_t expected = 0;
    if (in->s[1] != REF_NONE) {
        uint32_t n = ((const uint32_t *)row(w, in->s[1]))[first];
        if (!n || n % LANES)
            return exec_fault(
                w, in, first, NULL,
                "barrier %u with a count of %u threads: it must be a positive "
                "multiple of the warp size, %d",
                id, n, LANES);
        expected = n / LANES;
        if (expected > c->nwarps)
            return exec_fault(
                w, in, first, NULL,
                "barrier %u with a count of %u threads, but the block has only %u", id, n,
                c->nthreads);
    }
    struct exec_barrier *b = &c->ex->bar[id];
    if (b->used && b->expected != expected) {
        char was[32], now[32];
        snprintf(was, sizeof was, b->expected ? "%u" : "all", b->expected * LANES);
        snprintf(now, sizeof now, expected ? "%u" : "all", expected * LANES);
        return exec_fault(
            w, in, first, NULL,
            "barrier %u with a count of %s threads, but others wait there with a "
            "count of %s",
            id, now, was);
    }
    if (!b->used) {
        b->used = true;
        b->expected = expected;
        b->and_ = 1;
    }
    if (in->sub >= BAR_RED_POPC) {
        uint32_t p = *(const uint32_t *)row(w, in->s[2]);
        if (in->aux)
            p = ~p;
        b->popc += (uint32_t)__builtin_popcount(p & mask);
        b->and_ &= !(~p & mask);
        b->or_ |= !!(p & mask);
    }
    b->arrived++;
    if (in->sub != BAR_ARRIVE)
        wait_at(w, in, id, mask);
    if (b->arrived >= (b->expected ? b->expected : c->live_warps))
        release(c, b, s);
    return EXEC_OK;
}

/* -- decoding -- */

static bool
dec_bra(struct decoder *d)
{
    int32_t label;
    if (cfg_targets(d->in, &label, 1) != 1)
        return decode_refuse(d, "a branch needs one target label");
    uint32_t at = d->fi->cfg->label_at[label];
    if (at == UINT32_MAX)
        return decode_refuse(d, "label '%s' is not defined",
                             d->fi->f->labels.v[label].name);
    d->out->target = d->fi->pc_of[at];
    d->out->fn = h_bra;
    d->out->form = FORM_BRA;
    d->st->is_jump = true;
    return true;
}

static bool
dec_brx(struct decoder *d)
{
    uint32_t n = cfg_targets(d->in, NULL, 0);
    if (!n)
        return decode_refuse(d, "brx.idx without a list of targets");
    int32_t *label = ARENA_ARRAY(&d->pp->mem, int32_t, n);
    struct brx_plan *b = arena_alloc(&d->pp->mem, sizeof *b + n * sizeof b->target[0]);
    cfg_targets(d->in, label, n);
    b->n = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = d->fi->cfg->label_at[label[i]];
        if (at == UINT32_MAX)
            return decode_refuse(d, "label '%s' is not defined",
                                 d->fi->f->labels.v[label[i]].name);
        b->target[i] = d->fi->pc_of[at];
    }
    d->out->s[0] = decode_operand(d, &d->in->ops[0], PTX_U32);
    if (d->out->s[0] == REF_NONE)
        return false;
    d->out->plan = b;
    d->out->fn = h_brx;
    d->st->is_jump = true;
    return true;
}

static bool
dec_exit(struct decoder *d)
{
    d->out->fn = h_exit;
    d->st->is_exit = true;
    return true;
}

static bool
dec_ret(struct decoder *d)
{
    d->out->fn = h_ret;
    d->st->is_exit = d->fi->f->is_entry;
    d->st->is_jump = !d->st->is_exit;
    return true;
}

static bool
dec_trap(struct decoder *d)
{
    d->out->fn = h_trap;
    return true;
}

static bool
dec_nop(struct decoder *d)
{
    d->out->fn = h_nop;
    return true;
}

static bool
dec_relssp(struct decoder *d)
{
    d->out->fn = h_relssp;
    return true;
}

/* What it takes must be the same everywhere in the kernel (003 section 5). */
static bool
dec_scratch(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    const bool alloc = in->op == PTX_OP_SALLOC;
    d->out->fn = h_scratch;
    d->out->sub = alloc ? SCRATCH_ALLOC : SCRATCH_FREE;
    d->st->is_barrier = true;
    if (!alloc)
        return true;
    const struct ptx_operand *from = &in->ops[0], *bytes = &in->ops[1];
    if (from->kind != PTX_OPD_IMM || bytes->kind != PTX_OPD_IMM)
        return decode_refuse(d, "its first byte and the number of bytes are literals");
    if (!bytes->imm || from->imm > DEV_WINDOW || bytes->imm > DEV_WINDOW)
        return decode_refuse(d, "bytes %lld to %lld are no part of a scratchpad",
                             (long long)from->imm,
                             (long long)(from->imm + bytes->imm - 1));
    struct exec_prog *p = d->p;
    if (p->alloc_bytes && (p->alloc_from != from->imm || p->alloc_bytes != bytes->imm))
        return decode_refuse(
            d,
            "it takes %u bytes from byte %u elsewhere: a kernel allocates "
            "one part of its scratchpad",
            p->alloc_bytes, p->alloc_from);
    if (!p->alloc_bytes)
        p->alloc_pc = d->pc;
    p->alloc_from = (uint32_t)from->imm;
    p->alloc_bytes = (uint32_t)bytes->imm;
    return true;
}

static bool
dec_fence(struct decoder *d)
{
    d->out->fn = h_nop;
    d->st->is_fence = true;
    return true;
}

static bool
dec_bar(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    if (decode_has(in, "warp"))
        return decode_warp_sync(d);
    const struct ptx_operand *op[4];
    unsigned n = 0;
    for (unsigned i = 0; i < in->nops; i++)
        if (in->ops[i].kind != PTX_OPD_NONE && n < 4)
            op[n++] = &in->ops[i];
    bool red = decode_has(in, "red"), arrive = decode_has(in, "arrive");
    unsigned at = 0, last = n;
    o->sub = arrive ? BAR_ARRIVE : BAR_SYNC;
    if (red) {
        bool popc = decode_has(in, "popc");
        o->sub = popc ? BAR_RED_POPC : decode_has(in, "and") ? BAR_RED_AND : BAR_RED_OR;
        if (n < 3)
            return decode_refuse(d,
                                 "barrier reduction needs a destination, a barrier and a "
                                 "predicate");
        bool wide;
        o->d[0] = popc ? decode_row(d, op[0], PTX_U32, &wide)
                       : decode_operand(d, op[0], PTX_PRED);
        if (o->d[0] == REF_NONE)
            return false;
        if (popc && wide)
            return decode_refuse(d, "the destination must be a 32-bit register");
        at = 1;
        last = n - 1;
        struct ptx_operand c = *op[n - 1];
        o->aux = c.kind == PTX_OPD_REG && c.neg;
        if (o->aux)
            c.neg = false;
        o->s[2] = decode_operand(d, &c, PTX_PRED);
        if (o->s[2] == REF_NONE)
            return false;
    }
    if (last - at < 1 || last - at > 2 || (arrive && last - at != 2))
        return decode_refuse(
            d, arrive ? "barrier arrival needs a barrier and a thread count"
                      : "barrier needs a barrier and at most a thread count");
    o->s[0] = decode_operand(d, op[at], PTX_U32);
    o->s[1] = last - at == 2 ? decode_operand(d, op[at + 1], PTX_U32) : REF_NONE;
    if (o->s[0] == REF_NONE || (last - at == 2 && o->s[1] == REF_NONE))
        return false;
    o->fn = h_bar;
    d->st->is_barrier = true;
    return true;
}

/* One copy of a call: an operand of the caller and a formal parameter. */
bool
decode_call_side(struct decoder *d, const struct ptx_operand *o,
                 const struct ptx_var *formal, uint32_t *ref, uint8_t *kind,
                 uint32_t *bytes)
{
    if (o->kind == PTX_OPD_SYM && o->var) {
        uint64_t at;
        if (!decode_find_place(d->fi, o->var, &at) || o->var->space != PTX_SPACE_PARAM)
            return decode_refuse(d, "'%s' is no parameter of this call", o->var->name);
        *ref = (uint32_t)at;
        *kind = MOVE_PARAM;
        *bytes = (uint32_t)o->var->size;
        return true;
    }
    unsigned type = decode_operand_type(d, o);
    if (o->kind == PTX_OPD_REG && type == PTX_PRED) {
        *ref = decode_operand(d, o, PTX_PRED);
        *kind = MOVE_PRED;
        *bytes = 1;
        return *ref != REF_NONE;
    }
    bool wide;
    *ref = decode_row(d, o, formal->type, &wide);
    *kind = wide ? MOVE_REG64 : MOVE_REG32;
    *bytes = type ? ptx_type_bytes(type) : (uint32_t)formal->size;
    return *ref != REF_NONE;
}

static void
formal_side(const struct func_info *callee, const struct ptx_var *v, uint32_t *ref,
            uint8_t *kind, uint32_t *bytes)
{
    uint64_t at = 0;
    decode_find_place(callee, v, &at);
    *ref = (uint32_t)at;
    *bytes = (uint32_t)v->size;
    if (v->space != PTX_SPACE_REG)
        *kind = MOVE_PARAM;
    else if (v->type == PTX_PRED)
        *kind = MOVE_PRED, *bytes = 1;
    else
        *kind = ptx_type_bytes(v->type) == 8 ? MOVE_REG64 : MOVE_REG32;
}

static bool
fits(const struct ptx_func *f, unsigned nin, unsigned nout)
{
    return f->params.n == nin && f->rets.n == nout;
}

static struct call_plan *
make_plan(struct decoder *d, const struct func_info *callee,
          const struct ptx_operand *ins, unsigned nin, const struct ptx_operand *outs,
          unsigned nout)
{
    struct call_plan *p = ARENA_NEW(&d->pp->mem, struct call_plan);
    const struct ptx_func *f = callee->f;
    p->callee = callee;
    p->caller = d->fi;
    p->in = ARENA_ARRAY(&d->pp->mem, struct call_move, nin + 1);
    p->out = ARENA_ARRAY(&d->pp->mem, struct call_move, nout + 1);
    p->nin = nin;
    p->nout = nout;
    for (unsigned i = 0; i < nin; i++) {
        struct call_move *m = &p->in[i];
        uint32_t have, want;
        if (!decode_call_side(d, &ins[i], f->params.v[i], &m->from, &m->from_kind, &have))
            return NULL;
        formal_side(callee, f->params.v[i], &m->to, &m->to_kind, &want);
        if (m->from_kind == MOVE_PARAM && have != want) {
            decode_refuse(d, "argument %u has %u bytes, but '%s' takes %u", i + 1, have,
                          f->name, want);
            return NULL;
        }
        m->bytes = want;
    }
    for (unsigned i = 0; i < nout; i++) {
        struct call_move *m = &p->out[i];
        uint32_t have, want;
        if (outs[i].kind == PTX_OPD_SINK) { /* result not wanted */
            p->nout--;
            continue;
        }
        if (!decode_call_side(d, &outs[i], f->rets.v[i], &m->to, &m->to_kind, &want))
            return NULL;
        formal_side(callee, f->rets.v[i], &m->from, &m->from_kind, &have);
        if (m->to_kind == MOVE_PARAM && m->from_kind == MOVE_PARAM && have != want) {
            decode_refuse(d, "result %u has %u bytes, but '%s' returns %u", i + 1, want,
                          f->name, have);
            return NULL;
        }
        m->bytes = have < want ? have : want;
    }
    return p;
}

static bool
dec_call(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *o = d->out;
    const struct ptx_operand *outs = NULL, *ins = NULL, *target = NULL;
    unsigned nout = 0, nin = 0;
    for (unsigned i = 0; i < in->nops; i++) {
        const struct ptx_operand *op = &in->ops[i];
        if (op->kind == PTX_OPD_NONE)
            continue;
        if (op->kind == PTX_OPD_VEC && !target)
            outs = op->vec, nout = op->n;
        else if (op->kind == PTX_OPD_VEC)
            ins = op->vec, nin = op->n;
        else if (!target)
            target = op;
    }
    d->st->is_jump = true;
    if (!target)
        return decode_refuse(d, "a call needs a function");
    if (target->kind == PTX_OPD_FUNCSYM) {
        const struct ptx_func *f = target->func;
        const struct func_info *callee = decode_func(d, f);
        if (!callee)
            return decode_builtin(d, f, ins, nin, outs, nout);
        if (!fits(callee->f, nin, nout))
            return decode_refuse(
                d,
                "'%s' takes %zu arguments and returns %zu, the call has %u "
                "and %u",
                f->name, f->params.n, f->rets.n, nin, nout);
        o->plan = make_plan(d, callee, ins, nin, outs, nout);
        o->fn = h_call;
        return o->plan != NULL;
    }
    if (target->kind != PTX_OPD_REG)
        return decode_refuse(d, "a call needs a function or a register that holds one");
    struct call_plan *p = ARENA_NEW(&d->pp->mem, struct call_plan);
    p->target_ref = decode_row(d, target, PTX_U64, &p->target_wide);
    if (p->target_ref == REF_NONE)
        return false;
    p->cand = ARENA_ARRAY(&d->pp->mem, const struct call_plan *, d->pp->funcs.n + 1);
    for (size_t i = 0; i < d->pp->funcs.n; i++) {
        struct func_info *callee = d->pp->funcs.v[i];
        if (callee->f->is_entry || !fits(callee->f, nin, nout))
            continue;
        bool same = true;
        for (unsigned k = 0; k < nin && same; k++)
            if (ins[k].kind == PTX_OPD_SYM && ins[k].var)
                same = ins[k].var->size == callee->f->params.v[k]->size;
        for (unsigned k = 0; k < nout && same; k++)
            if (outs[k].kind == PTX_OPD_SYM && outs[k].var)
                same = outs[k].var->size == callee->f->rets.v[k]->size;
        if (!same)
            continue;
        struct call_plan *c = make_plan(d, callee, ins, nin, outs, nout);
        if (!c)
            return false;
        c->handle = image_function(d->im, callee->f);
        p->cand[p->ncand++] = c;
    }
    o->plan = p;
    o->fn = h_call_indirect;
    return true;
}

const struct decode_row decode_control[] = {
    {"bra", dec_bra},
    {"brx", dec_brx},
    {"exit", dec_exit},
    {"ret", dec_ret},
    {"trap", dec_trap},
    {"brkpt", dec_nop},
    {"bar", dec_bar},
    {"barrier", dec_bar},
    {"membar", dec_fence},
    {"fence", dec_fence},
    {"nanosleep", dec_nop},
    {"call", dec_call},
    {"discard", dec_nop},
    {"applypriority", dec_nop},
    {"relssp", dec_relssp},
    {"scratchalloc", dec_scratch},
    {"scratchfree", dec_scratch},
    {"pmevent", dec_nop},
    {"prefetch", dec_nop},
    {"prefetchu", dec_nop},
    {"griddepcontrol", dec_nop},
    {"extension", dec_nop},
    {NULL, NULL},
};
