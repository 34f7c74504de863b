/* ldst.c: the memory side of one SM. Rules and sources: docs/model-memory.md, "Memory
 * instructions in the SM".
 *
 * An operation lives in a slot from ldst_prepare to its last datum; its accesses lie in a
 * chain of small chunks until the dispatch stage has sent them off. ldst_cycle works from
 * the back of the pipeline to the front, so that what leaves a stage makes room in the
 * same cycle:
 *
 *     write-back   one access a cycle, round robin: scratchpad, textures, constant fills,
 *                  replies past the L1, L1 fills
 *     replies      one a cycle: acknowledgements, fills
 *     misses       one a cycle from each cache's queue to the SM's port
 *     textures     the oldest fragment leaves the texture cache's FIFO
 *     L1D          accesses that have spent l1d.latency cycles look up their tags
 *     dispatch     one operation: conflict cycles, then one access a cycle
 *
 * Nothing is done, and nothing allocated, when the next event lies in the future: `wake`
 * is the first cycle in which a step could change anything; inputs pull it forward. A
 * stage that is blocked by something that only an event can lift has no event of its own;
 * the cycles it lost are counted by arithmetic when it moves on, so that skipping changes
 * no counter. */
#include "timing/sm/ldst.h"

#include "base/bitset.h"
#include "ptx/ir.h"
#include "timing/mem/cache.h"
#include "timing/sm/coalesce.h"
#include "timing/sm/sm_lines.h"
#include "timing/sm/texture_cache.h"

#include <string.h>

enum {
    NOPS = 4096,
    NCHUNKS = 512,
    CHUNK = 16,
    CHUNKS_NEEDED = COAL_MAX / CHUNK, /* by one operation at most */
    NWARPS = 128,
    OUT_CAP = 4,
    RESP_CAP = 2,
    SEGMENTS = 32,
    UNITS = 8,            /* sectors of a line, at most */
    MOST_CONFLICTS = 128, /* four words a lane, all on one bank */
};
#define NO_CHUNK 0xffffu
#define NOBODY UINT32_MAX /* token of a write that nobody waits for */
#define LOCAL_BASE                                                                       \
    ((uint64_t)1 << 40) /* local memory of all threads: above global memory */

struct op {
    uint64_t born;
    uint32_t token;
    uint16_t warp;
    uint16_t
        pending;    /* accesses under way (past the L1: their sectors), and 1 until it has
                       * left the dispatch stage */
    uint16_t away;  /* of them: sectors past the L1 that have not come back */
    uint16_t chunk; /* first chunk of accesses; free list */
    uint16_t n;     /* accesses */
    uint16_t scratch; /* cycles of scratchpad banks; 0: does not touch it */
    uint8_t space;    /* enum ptx_space, NONE: several */
    bool load, atomic, store;
    bool holds_warp; /* an atomic that ldst_atomics counts */
    bool async;
    bool scaled;     /* it shifts its address */
    uint8_t segment; /* async: of the warp's copies, modulo SEGMENTS */
};

struct chunk {
    struct coal_access a[CHUNK];
    uint16_t next;
};

struct lane1 { /* an access in the L1's latency pipeline */
    uint64_t ready;
    struct coal_access a;
    uint16_t op;
};

struct pipe_entry { /* a scratchpad load on its way */
    uint64_t ready;
    uint16_t op;
};

struct bank {
    RING(struct lane1) q;
    uint64_t ready;      /* of the front */
    bool wait_fill;      /* the front can only move after a fill */
    bool failed;         /* the front has been refused */
    uint64_t fail_since; /* first cycle it was refused */
};

struct copies { /* of a warp: copies under way by segment, modulo SEGMENTS */
    uint16_t left[SEGMENTS];
    uint64_t done, open; /* segments below `done` are complete; the one being filled */
    bool full;           /* all are in use: `open` ends when one is complete */
};

struct miss_queue {
    RING(struct packet) q;
    uint32_t limit; /* packets the hardware's queue holds (the ring has some to spare) */
};

struct ldst {
    /* -- read in every cycle -- */
    uint64_t wake; /* nothing changes before this cycle */
    bool no_skip, out_blocked;
    bool touched; /* ldst_touched */

    const struct machine *m;
    struct stat_sm *st;
    struct sm_lines *lines; /* counters by instruction, NULL: none */
    uint16_t sm;
    struct coal_rules rules;
    bool by_sector, global_in_l1, l1_writes_back;
    uint64_t gpu_threads, first_thread;

    struct op *op;
    uint16_t free_op, fresh_op; /* list; those from here on have never been used */
    uint32_t live_ops;
    struct chunk *chunk;
    uint16_t free_chunk, fresh_chunk; /* the same */
    uint32_t chunks_left;
    struct coal_access *scratch;

    /* dispatch */
    uint16_t disp; /* LDST_NO_OP: free */
    uint16_t disp_chunk, disp_at, disp_left;
    const struct coal_access *disp_access; /* the next: at disp_at in disp_chunk */
    uint64_t scratch_done;                 /* cycle in which the banks are done */
    bool in_scratch;                       /* the scratchpad part is not over */
    bool const_wait_fill, const_failed;
    uint64_t const_fail_since;
    bool texture_failed;
    uint64_t texture_fail_since;

    /* scratchpad pipeline */
    RING(struct pipe_entry) pipe;

    /* L1 data */
    struct cache *l1d, *l1i, *l1c;
    struct texcache *l1t; /* NULL: textures go through the L1 */
    struct bank *bank;
    uint32_t nbanks, bank_shift, l1_latency;
    uint64_t l1_port_free; /* first cycle the data port is free */

    struct miss_queue dq, iq, cq, tq; /* misses of L1D, L1I, L1C, texture cache */
    RING(struct packet) out;
    RING(struct packet) resp;

    /* write-back */
    RING(uint16_t) ready[2]; /* accesses filled: L1C, L1D */
    uint32_t most_ready[2];  /* a fill waits while there are more */
    uint16_t bypass;         /* reply past the L1, LDST_NO_OP: none */
    uint16_t wb;             /* access in the write-back latch */
    uint8_t bypass_n, wb_n;  /* of `pending` that they complete */
    uint8_t wb_turn;
    RING(uint32_t) done;

    uint32_t outstanding[NWARPS], atomics[NWARPS];
    uint64_t outstanding_all;
    struct copies *copies; /* by warp slot */
    uint64_t woken[BITSET_WORDS(NWARPS)];
    uint64_t quiet[BITSET_WORDS(NWARPS)]; /* ldst_quiet */
};
enum { READY_L1C, READY_L1D };

/* An access puts in some packets more than the one or two for which it wants room; `fills`:
 * so many fills put in what they drive out, two packets each, room or not. */
static void
queue_init(struct miss_queue *q, struct arena *a, uint32_t limit, uint32_t fills)
{
    enum { SPARE = 8 };
    q->limit = limit ? limit : 1;
    ring_init(&q->q, a, q->limit + SPARE + 2 * fills);
}

/* Accesses that data have come for wait for the write-back stage, one of which leaves a
 * cycle, while their MSHRs are free for further misses. So it is not the MSHRs that bound
 * them but this: a fill is taken only while at most mshrs * merge of them wait, and it wakes
 * no more than wait in the cache, which is mshrs * merge again, and those of one line. (One
 * line may have an MSHR for each of its sectors, however few there are: cache.c.) */
static void
ready_init(struct ldst *l, struct arena *a, unsigned which, uint32_t mshrs,
           uint32_t merge)
{
    enum { MOST = 1 << 16 };
    const uint64_t all = (uint64_t)(mshrs > UNITS ? mshrs : UNITS) * merge;
    const uint32_t most = (uint32_t)min_u64(all, MOST);
    l->most_ready[which] = most;
    ring_init(&l->ready[which], a, most + (uint32_t)min_u64(all, UNITS * merge));
}

struct ldst *
ldst_new(struct arena *a, const struct machine *m, unsigned sm, struct stat_sm *stats)
{
    struct ldst *l = arena_alloc_aligned(a, sizeof *l, 64);
    l->m = m;
    l->st = stats;
    l->sm = (uint16_t)sm;
    coal_rules(&l->rules, m);
    l->by_sector = m->memory.coalesce == COALESCE_SECTOR;
    l->global_in_l1 = m->memory.global_in_l1;
    l->l1_writes_back = m->l1d.write == WRITE_BACK || m->l1d.write == WRITE_LOCAL_BACK;
    uint64_t threads = (m->sm.max_threads + 31) / 32 * 32;
    l->gpu_threads = threads * m->sm.count;
    l->first_thread = threads * sm;

    l->op = ARENA_SPARSE(a, struct op, NOPS);
    l->free_op = LDST_NO_OP;
    l->chunk = ARENA_SPARSE(a, struct chunk, NCHUNKS);
    l->free_chunk = NO_CHUNK;
    l->chunks_left = NCHUNKS;
    l->scratch = ARENA_SPARSE(a, struct coal_access, COAL_MAX);
    l->copies = ARENA_SPARSE(a, struct copies, NWARPS);
    l->disp = l->bypass = l->wb = LDST_NO_OP;

    ring_init(&l->pipe, a,
              m->scratchpad.latency + m->scratchpad.scaled_latency +
                  MOST_CONFLICTS * m->scratchpad.conflict_latency);
    l->l1d = CACHE_NEW(a, m->l1d);
    l->l1i = CACHE_NEW(a, m->l1i);
    l->l1c = CACHE_NEW(a, m->l1c);
    l->l1t = m->l1t.enabled ? texcache_new(a, m) : NULL;
    l->nbanks = m->l1d.banks ? m->l1d.banks : 1;
    l->bank = ARENA_ARRAY(a, struct bank, l->nbanks);
    l->l1_latency = m->l1d.latency ? m->l1d.latency : 1;
    for (unsigned b = 0; b < l->nbanks; b++)
        ring_init(&l->bank[b].q, a, l->l1_latency);
    l->bank_shift = 5;
    if (!m->l1d.sector)
        while ((1u << l->bank_shift) < m->l1d.line)
            l->bank_shift++;

    /* Where lines are allocated when they are filled, dirty ones leave then. A fill must not
     * wait for room: requests before the crossbar wait for replies to be taken. While there
     * is none, there are no new misses, so the MSHRs bound what fills put in. */
    const bool evicts = l->l1_writes_back && m->l1d.allocate == ALLOCATE_ON_FILL;
    queue_init(&l->dq, a, m->l1d.miss_queue,
               !evicts                ? 0
               : m->l1d.mshrs > UNITS ? m->l1d.mshrs
                                      : UNITS);
    queue_init(&l->iq, a, m->l1i.miss_queue, 0);
    queue_init(&l->cq, a, m->l1c.miss_queue, 0);
    queue_init(&l->tq, a, m->l1t.requests, 0);
    ring_init(&l->out, a, OUT_CAP);
    ring_init(&l->resp, a, RESP_CAP);
    ready_init(l, a, READY_L1C, m->l1c.mshrs, m->l1c.merge);
    ready_init(l, a, READY_L1D, m->l1d.mshrs, m->l1d.merge);
    /* ldst_can_prepare: NOPS tokens wait at most when an operation is made, and NOPS
     * operations are there then, which become tokens. */
    ring_init(&l->done, a, 2 * NOPS);
    l->wake = NEVER;
    return l;
}

void
ldst_begin(struct ldst *l, uint64_t now)
{
    (void)now;
    cache_flush(l->l1d);
    if (l->m->gpu.flush_l1i)
        cache_flush(l->l1i);
    if (l->m->gpu.flush_l1c)
        cache_flush(l->l1c);
    if (l->l1t && l->m->gpu.flush_l1t)
        texcache_flush(l->l1t);
    memset(l->woken, 0, sizeof l->woken);
}

void
ldst_set_l1_ways(struct ldst *l, uint32_t ways)
{
    cache_set_ways(l->l1d, ways);
}

void
ldst_count_lines(struct ldst *l, struct sm_lines *lines)
{
    l->lines = lines;
}

unsigned
ldst_operations(void)
{
    return NOPS;
}

/* Adds to a counter of the operation's instruction (stats/lines.def). */
static inline void
line_add(struct ldst *l, uint16_t op, enum line_id counter, uint64_t n)
{
    if (l->lines)
        l->lines->at[l->lines->op[op]].v[counter] += n;
}

void
ldst_no_skip(struct ldst *l, bool on)
{
    l->no_skip = on;
}

/* -- operations -- */

bool
ldst_can_prepare(const struct ldst *l)
{
    return (l->free_op != LDST_NO_OP || l->fresh_op < NOPS) &&
           l->chunks_left >= CHUNKS_NEEDED && l->done.n <= NOPS;
}

/* Accesses of the lanes of one space, appended to the scratch list from n on. */
static unsigned
accesses_of(struct ldst *l, const struct exec_access *a, unsigned space, uint32_t mask,
            unsigned warp, unsigned n, unsigned *conflicts)
{
    struct coal_access *out = l->scratch;
    bool bypass = a->cache == PTX_CACHE_CG || a->cache == PTX_CACHE_CV;
    unsigned k = 0;
    switch (space) {
    case PTX_SPACE_SHARED:
        *conflicts = coal_conflicts(&l->rules, a->addr, mask, a->bytes, a->atomic);
        return n;
    case PTX_SPACE_TEX:
        if (l->l1t)
            return coal_texture(&l->rules, a->list, a->nlist, out);
        return coal_sectors(&l->rules, a->list, a->nlist, l->by_sector, out);
    case PTX_SPACE_CONST:
    case PTX_SPACE_PARAM:
        if (n + LANES * 2 > COAL_MAX)
            return n;
        k = coal_const(&l->rules, a->addr, mask, a->bytes, out + n);
        for (unsigned i = n; i < n + k; i++) /* bases are multiples of any line */
            out[i].addr += space == PTX_SPACE_CONST ? DEV_CONST_BASE : DEV_PARAM_BASE;
        return n + k;
    case PTX_SPACE_LOCAL:
        if (n)
            return n; /* several spaces: comes first */
        return coal_local(&l->rules, a->addr, mask, a->bytes, l->by_sector, LOCAL_BASE,
                          l->gpu_threads, l->first_thread + warp * LANES, out);
    default:
        if (n + LANES * 2 > COAL_MAX)
            return n;
        if (a->atomic)
            return n + coal_atomic(&l->rules, a->addr, mask, a->bytes, out + n);
        bypass |= !l->global_in_l1;
        k = coal_global(&l->rules, a->addr, mask, a->bytes, l->by_sector || bypass,
                        out + n);
        for (unsigned i = 0; bypass && i < k; i++)
            out[n + i].route = COAL_BYPASS;
        return n + k;
    }
}

static void
count_instruction(struct ldst *l, const struct exec_access *a)
{
    struct stat_sm *st = l->st;
    if (a->async) {
        st->async_copies++;
        return;
    }
    switch (a->space) {
    case PTX_SPACE_SHARED:
        if (a->atomic)
            st->scratchpad_atomics++;
        else if (a->load)
            st->scratchpad_loads++;
        else
            st->scratchpad_stores++;
        break;
    case PTX_SPACE_CONST:
        st->const_loads++;
        break;
    case PTX_SPACE_PARAM:
        st->param_loads++;
        break;
    case PTX_SPACE_LOCAL:
        if (a->load)
            st->local_loads++;
        else
            st->local_stores++;
        break;
    case PTX_SPACE_TEX:
        st->texture_loads++;
        break;
    case PTX_SPACE_NONE:
        st->mixed_accesses++;
        break;
    default:
        if (a->atomic)
            st->global_atomics++;
        else if (a->load)
            st->global_loads++;
        else
            st->global_stores++;
    }
}

uint16_t
ldst_prepare(struct ldst *l, const struct exec_access *a, unsigned warp, uint32_t token,
             uint64_t now)
{
    if (!ldst_can_prepare(l))
        return LDST_NO_OP;
    assert(warp < NWARPS);
    unsigned n = 0, conflicts = 0;
    if (a->mask && a->space != PTX_SPACE_NONE) {
        n = accesses_of(l, a, a->space, a->mask, warp, 0, &conflicts);
    } else if (a->mask) { /* a generic access to several spaces */
        static const uint8_t order[] = {PTX_SPACE_LOCAL, PTX_SPACE_GLOBAL,
                                        PTX_SPACE_CONST, PTX_SPACE_PARAM,
                                        PTX_SPACE_SHARED};
        for (unsigned k = 0; k < sizeof order; k++) {
            uint32_t mask = 0;
            FOR_BITS(i, a->mask)
            mask |= (uint32_t)(a->lane_space[i] == order[k]) << i;
            if (mask)
                n = accesses_of(l, a, order[k], mask, warp, n, &conflicts);
        }
    }

    if (a->async) /* the scratchpad's banks take the data when the copy is dispatched */
        conflicts =
            coal_conflicts(&l->rules, a->list, (uint32_t)a->list[LANES], a->bytes, false);

    uint16_t id = l->free_op;
    if (id != LDST_NO_OP)
        l->free_op = l->op[id].chunk;
    else
        id = l->fresh_op++;
    struct op *o = &l->op[id];
    if (l->lines)
        l->lines->op[id] = l->lines->issuing;
    l->live_ops++;
    *o = (struct op){
        .born = now,
        .token = token,
        .warp = (uint16_t)warp,
        .pending = (uint16_t)(n + 1 + (conflicts && !a->store ? 1 : 0)),
        .chunk = NO_CHUNK,
        .n = (uint16_t)n,
        .scratch = (uint16_t)conflicts,
        .space = a->space,
        .load = a->load,
        .atomic = a->atomic,
        .holds_warp = a->atomic,
        .store = a->store,
        .async = a->async,
    };
    if (a->async) {
        struct copies *c = &l->copies[warp];
        o->segment = (uint8_t)(c->open % SEGMENTS);
        c->left[o->segment]++;
    }
    uint16_t *link = &o->chunk;
    for (unsigned k = 0; k < n; k += CHUNK) {
        uint16_t c = l->free_chunk;
        if (c != NO_CHUNK)
            l->free_chunk = l->chunk[c].next;
        else
            c = l->fresh_chunk++;
        l->chunks_left--;
        unsigned some = n - k < CHUNK ? n - k : CHUNK;
        memcpy(l->chunk[c].a, l->scratch + k, some * sizeof *l->scratch);
        *link = c;
        l->chunk[c].next = NO_CHUNK;
        link = &l->chunk[c].next;
    }
    l->outstanding[warp]++;
    l->outstanding_all++;
    l->atomics[warp] += a->atomic;
    count_instruction(l, a);
    return id;
}

void
ldst_scaled(struct ldst *l, uint16_t op)
{
    l->op[op].scaled = true;
}

bool
ldst_can_issue(const struct ldst *l)
{
    return l->disp == LDST_NO_OP;
}

void
ldst_issue(struct ldst *l, uint16_t op, uint64_t now)
{
    assert(l->disp == LDST_NO_OP);
    const struct op *o = &l->op[op];
    l->disp = op;
    l->disp_chunk = o->chunk;
    l->disp_at = 0;
    l->disp_left = o->n;
    l->disp_access = o->n ? l->chunk[o->chunk].a : NULL;
    l->in_scratch = o->scratch != 0;
    l->scratch_done = now + o->scratch;
    if (o->scratch) {
        l->st->scratchpad_accesses++;
        l->st->scratchpad_cycles += o->scratch;
        l->st->scratchpad_conflict_cycles += o->scratch - 1u;
        line_add(l, op, LINE_scratchpad_accesses, 1);
        line_add(l, op, LINE_scratchpad_conflict_cycles, o->scratch - 1u);
    }
    l->wake = min_u64(l->wake, max_u64(now + 1, o->n ? 0 : l->scratch_done));
}

static void
copies_advance(struct copies *c)
{
    while (c->done < c->open && !c->left[c->done % SEGMENTS])
        c->done++;
    if (!c->full || c->open - c->done == SEGMENTS - 1)
        return;
    c->full = false;
    c->open++;
    while (c->done < c->open && !c->left[c->done % SEGMENTS])
        c->done++;
}

uint64_t
ldst_copies_close(struct ldst *l, unsigned warp)
{
    struct copies *c = &l->copies[warp];
    if (c->full || !c->left[c->open % SEGMENTS])
        return c->open + c->full;
    if (c->open - c->done < SEGMENTS - 1)
        return ++c->open;
    c->full = true;
    return c->open + 1;
}

uint64_t
ldst_copies_done(const struct ldst *l, unsigned warp)
{
    return l->copies[warp].done;
}

static void
acknowledge(struct ldst *l, uint32_t warp, unsigned n)
{
    assert(l->outstanding[warp] >= n);
    l->outstanding[warp] -= n;
    l->outstanding_all -= n;
    if (l->outstanding[warp])
        return;
    bitset_add(l->quiet, warp);
    l->touched = true;
}

static void
op_over(struct ldst *l, uint16_t id, uint64_t now)
{
    struct op *o = &l->op[id];
    l->touched = true;
    if (!o->store) {
        *ring_push(&l->done) = o->token;
        if (o->space != PTX_SPACE_SHARED) {
            l->st->loads_returned++;
            l->st->load_latency += now - o->born;
            line_add(l, id, LINE_loads_returned, 1);
            line_add(l, id, LINE_load_latency, now - o->born);
        }
    }
    acknowledge(l, o->warp, 1);
    l->atomics[o->warp] -= o->holds_warp;
    if (o->async) {
        struct copies *c = &l->copies[o->warp];
        c->left[o->segment]--;
        copies_advance(c);
    }
    o->chunk = l->free_op;
    l->free_op = id;
    l->live_ops--;
}

/* n of what the operation waits for is done: accesses, sectors of them, the dispatch stage.
 * Each is done once: an operation that had none left would be over already. */
static inline void
finish(struct ldst *l, uint16_t id, unsigned n, uint64_t now)
{
    struct op *o = &l->op[id];
    assert(o->pending >= n);
    o->pending = (uint16_t)(o->pending - n);
    if (!o->pending)
        op_over(l, id, now);
}

bool
ldst_touched(struct ldst *l)
{
    bool t = l->touched | l->no_skip;
    l->touched = false;
    return t;
}

bool
ldst_done_peek(const struct ldst *l, uint32_t *token)
{
    if (ring_empty(&l->done))
        return false;
    *token = *ring_front(&l->done);
    return true;
}

void
ldst_done_pop(struct ldst *l)
{
    ring_pop(&l->done);
}

unsigned
ldst_outstanding(const struct ldst *l, unsigned warp)
{
    return l->outstanding[warp];
}

uint64_t *
ldst_quiet(struct ldst *l)
{
    return l->quiet;
}

unsigned
ldst_atomics(const struct ldst *l, unsigned warp)
{
    return l->atomics[warp];
}

/* -- packets -- */

/* Sector bits of a packet (of the 128-byte line) as bits of a cache's line, and back. */
static inline uint8_t
sectors_in(uint32_t line, uint64_t addr, unsigned sectors)
{
    if (line > 128)
        return (uint8_t)(addr & 128 ? sectors << 4 : sectors);
    return (uint8_t)(sectors >> ((addr & 127 & ~(uint64_t)(line - 1)) / 32));
}

/* Puts a request for some sectors of a cache's line into its miss queue (two packets if
 * they lie in both halves of a 256-byte line). */
static void
ask(struct ldst *l, struct miss_queue *q, uint64_t line_addr, unsigned sectors,
    unsigned line, struct packet proto)
{
    (void)l;
    for (unsigned half = 0; half < (line > 128 ? 2u : 1u); half++) {
        unsigned s =
            line > 128 ? sectors >> 4 * half & 15 : sectors << (line_addr & 127) / 32;
        if (!s)
            continue;
        struct packet *p = ring_push(&q->q);
        *p = proto;
        p->sectors = (uint8_t)s;
        p->addr =
            ((line_addr + 128 * half) & ~(uint64_t)127) + 32u * (unsigned)bit_lowest(s);
        p->bytes = (uint16_t)(32 * bit_count(s));
    }
}

static struct packet
request(const struct ldst *l, enum packet_kind kind, enum packet_client client,
        unsigned space, uint32_t token, uint64_t now)
{
    return (struct packet){.born = now,
                           .token = token,
                           .sm = l->sm,
                           .kind = (uint8_t)kind,
                           .client = (uint8_t)client,
                           .space = (uint8_t)space};
}

static void
write_back(struct ldst *l, const struct cache_eviction *ev, uint64_t now)
{
    uint32_t line = l->m->l1d.line;
    ask(l, &l->dq, ev->addr, ev->dirty_sectors, line,
        request(l, PKT_WRITE, PKT_L1D, PTX_SPACE_LOCAL, NOBODY, now));
    /* Which words: of the packet's own half of the line. */
    unsigned pieces =
        line > 128 && ev->dirty_sectors >> 4 && ev->dirty_sectors & 15 ? 2 : 1;
    for (unsigned k = 0; k < pieces; k++) {
        struct packet *p = ring_at(&l->dq.q, l->dq.q.n - pieces + k);
        uint64_t offset = (p->addr & ~(uint64_t)127) - (ev->addr & ~(uint64_t)127);
        p->byte_mask = (uint32_t)(ev->words >> offset / 4 << (ev->addr & 127) / 4);
    }
    l->st->l1d_writebacks++;
}

static inline bool
queue_room(const struct miss_queue *q, unsigned need)
{
    if (need > q->limit)
        need = q->limit;
    return q->q.n + need <= q->limit;
}

static void
send_front(struct ldst *l, struct miss_queue *q)
{
    if (ring_empty(&q->q) || ring_full(&l->out))
        return;
    struct packet p = *ring_front(&q->q);
    ring_pop(&q->q);
    *ring_push(&l->out) = p;
    struct stat_sm *st = l->st;
    if (p.client == PKT_L1I)
        st->packets_instruction++;
    else if (p.client == PKT_L1C)
        st->packets_constant++;
    else if (p.client == PKT_L1T)
        st->packets_texture++;
    else if (p.kind == PKT_READ)
        st->packets_read++;
    else
        st->packets_write++;
}

struct packet *
ldst_out_front(struct ldst *l)
{
    return ring_empty(&l->out) ? NULL : ring_front(&l->out);
}

void
ldst_out_pop(struct ldst *l)
{
    ring_pop(&l->out);
    if (l->out_blocked)
        l->wake = 0;
}

/* -- replies -- */

bool
ldst_can_receive(const struct ldst *l)
{
    return !ring_full(&l->resp);
}

static void
wake_warp(void *user, uint32_t warp)
{
    struct ldst *l = user;
    bitset_add(l->woken, warp);
    l->touched = true;
}

static void
wake_const(void *user, uint32_t op)
{
    *ring_push(&((struct ldst *)user)->ready[READY_L1C]) = (uint16_t)op;
}

static void
wake_data(void *user, uint32_t op)
{
    *ring_push(&((struct ldst *)user)->ready[READY_L1D]) = (uint16_t)op;
}

/* Replies that do not wake the SM: a partial fill; a store acknowledgement that is not the
 * warp's last. False: it is none of these. */
static bool
receive_quietly(struct ldst *l, const struct packet *p)
{
    if (p->kind == PKT_WRITE) {
        unsigned n = (unsigned)bit_count(p->sectors);
        if (p->token == NOBODY)
            return true;
        if (l->outstanding[p->token] == n)
            return false;
        acknowledge(l, p->token, n);
        return true;
    }
    if (p->client != PKT_L1D)
        return false;
    if (!cache_fill_part(l->l1d, p->token,
                         sectors_in(l->m->l1d.line, p->addr, p->sectors)))
        return false;
    cache_soon(l->l1d, p->addr); /* the rest of the line follows */
    return true;
}

bool
ldst_receive(struct ldst *l, const struct packet *reply, uint64_t now)
{
    if (reply->client == PKT_L1I) { /* the fetch stage's own */
        cache_fill(l->l1i, reply->addr,
                   sectors_in(l->m->l1i.line, reply->addr, reply->sectors), now,
                   wake_warp, l, NULL);
        return true;
    }
    if (l->wake > now && ring_empty(&l->resp) && receive_quietly(l, reply))
        return false;
    *ring_push(&l->resp) = *reply;
    if (reply->client == PKT_L1D && reply->kind == PKT_READ)
        cache_fill_soon(l->l1d, reply->addr, reply->token);
    l->wake = min_u64(l->wake, now);
    return true;
}

static void
step_reply(struct ldst *l, uint64_t now)
{
    if (ring_empty(&l->resp))
        return;
    const struct packet *p = ring_front(&l->resp);
    if (p->kind == PKT_WRITE) {
        if (p->token != NOBODY)
            acknowledge(l, p->token, (unsigned)bit_count(p->sectors));
    } else if (p->client == PKT_L1C) {
        if (l->ready[READY_L1C].n > l->most_ready[READY_L1C])
            return;
        if (cache_fill(l->l1c, p->addr, sectors_in(l->m->l1c.line, p->addr, p->sectors),
                       now, wake_const, l, NULL))
            l->const_wait_fill = false;
    } else if (p->client == PKT_L1T) {
        texcache_fill(l->l1t, p->token, sectors_in(l->m->l1t.line, p->addr, p->sectors));
    } else if (p->client == PKT_L1D) {
        if (l->ready[READY_L1D].n > l->most_ready[READY_L1D])
            return;
        struct cache_eviction ev = {0};
        bool whole = cache_fill_of(l->l1d, p->token,
                                   sectors_in(l->m->l1d.line, p->addr, p->sectors),
                                   wake_data, l, &ev);
        if (ev.any)
            write_back(l, &ev, now);
        for (unsigned b = 0; whole && b < l->nbanks; b++)
            l->bank[b].wait_fill = false;
    } else {
        if (l->bypass != LDST_NO_OP)
            return;
        struct op *o = &l->op[p->token];
        const unsigned n = (unsigned)bit_count(p->sectors);
        assert(o->away >= n); /* the memory answers each sector once */
        o->away = (uint16_t)(o->away - n);
        l->bypass = (uint16_t)p->token;
        l->bypass_n = (uint8_t)n;
    }
    ring_pop(&l->resp);
}

/* -- write-back -- */

static void
step_writeback(struct ldst *l, uint64_t now)
{
    enum { PIPE, TEXTURE, FILL_L1C, BYPASS, FILL_L1D, CLIENTS };
    if (l->wb != LDST_NO_OP) {
        finish(l, l->wb, l->wb_n, now);
        l->wb = LDST_NO_OP;
    }
    unsigned wait = (unsigned)(l->pipe.n && ring_front(&l->pipe)->ready <= now) << PIPE |
                    (unsigned)(l->l1t && texcache_results(l->l1t)) << TEXTURE |
                    (unsigned)(l->ready[READY_L1C].n != 0) << FILL_L1C |
                    (unsigned)(l->bypass != LDST_NO_OP) << BYPASS |
                    (unsigned)(l->ready[READY_L1D].n != 0) << FILL_L1D;
    if (!wait)
        return;
    unsigned client = bit_in_turn(wait, l->wb_turn);
    l->wb_n = 1;
    if (client == PIPE) {
        l->wb = ring_front(&l->pipe)->op;
        ring_pop(&l->pipe);
    } else if (client == TEXTURE) {
        l->wb = texcache_take(l->l1t);
    } else if (client == BYPASS) {
        l->wb = l->bypass;
        l->wb_n = l->bypass_n;
        l->bypass = LDST_NO_OP;
    } else {
        unsigned r = client == FILL_L1C ? READY_L1C : READY_L1D;
        l->wb = *ring_front(&l->ready[r]);
        ring_pop(&l->ready[r]);
    }
    struct op *o = &l->op[l->wb];
    if (o->holds_warp && o->pending == l->wb_n) { /* performed: its last datum is here */
        o->holds_warp = false;
        l->atomics[o->warp]--;
        l->touched = true;
    }
    l->wb_turn = (uint8_t)((client + 1) % CLIENTS);
}

/* -- L1 data -- */

static void
count_l1d(struct ldst *l, const struct op *o, enum cache_result r)
{
    struct stat_sm *st = l->st;
    st->l1d_accesses++;
    if (o->space == PTX_SPACE_LOCAL)
        st->l1d_local_accesses++;
    else if (o->store)
        st->l1d_store_accesses++;
    else
        st->l1d_load_accesses++;
    st->l1d_store_hits += o->store && (r == CACHE_HIT || r == CACHE_HIT_PENDING);
    if (r == CACHE_HIT)
        st->l1d_hits++;
    else if (r == CACHE_HIT_PENDING)
        st->l1d_pending_hits++;
    else
        st->l1d_misses++;
    if (!o->store && r != CACHE_HIT && r != CACHE_HIT_PENDING)
        st->l1d_load_misses++;
}

/* Tag look-up of the front of a bank's pipeline. */
static void
step_l1d(struct ldst *l, struct bank *b, uint64_t now)
{
    if (b->ready > now || b->wait_fill || l->l1_port_free > now || ring_empty(&b->q))
        return;
    const struct lane1 *x = ring_front(&b->q);
    const struct op *o = &l->op[x->op];
    uint32_t line = l->m->l1d.line;
    uint8_t sectors = sectors_in(line, x->a.addr, x->a.sectors);
    struct cache_eviction ev = {0};
    bool room = queue_room(&l->dq, l->l1_writes_back ? 2 : 1);
    enum cache_result r;
    if (o->store) {
        uint64_t words =
            line > 128 && x->a.addr & 128
                ? (uint64_t)x->a.words << 32
                : x->a.words >> (x->a.addr & 127 & ~(uint64_t)(line - 1)) / 4;
        r = cache_write_words(l->l1d, x->a.addr, sectors, words,
                              o->space == PTX_SPACE_LOCAL, now, room, &ev);
    } else {
        r = cache_read(l->l1d, x->a.addr, sectors, x->op, now, room, &ev);
    }
    if (r >= CACHE_NO_LINE) {
        b->wait_fill = r != CACHE_NO_QUEUE;
        if (!b->failed) {
            b->failed = true;
            b->fail_since = now;
        }
        return;
    }
    if (b->failed) {
        l->st->l1d_reservation_fails += now - b->fail_since;
        b->failed = false;
    }
    count_l1d(l, o, r);
    line_add(l, x->op, LINE_l1d_accesses, 1);
    line_add(l, x->op, LINE_l1d_misses, r != CACHE_HIT && r != CACHE_HIT_PENDING);
    if (ev.any)
        write_back(l, &ev, now);
    uint8_t asked = cache_asked(l->l1d);
    if (r != CACHE_HIT && asked)
        ask(l, &l->dq, x->a.addr & ~(uint64_t)(line - 1), asked, line,
            request(l, PKT_READ, PKT_L1D, o->space, cache_asked_of(l->l1d), now));
    if (o->store && cache_sends(l->l1d)) {
        struct packet *p = ring_push(&l->dq.q);
        *p = request(l, PKT_WRITE, PKT_L1D, o->space, o->warp, now);
        p->addr = x->a.addr;
        p->bytes = x->a.bytes;
        p->sectors = x->a.sectors;
        p->byte_mask = x->a.words;
        unsigned n = (unsigned)bit_count(p->sectors);
        l->outstanding[o->warp] += n;
        l->outstanding_all += n;
    }
    if (r == CACHE_HIT && l->m->l1d.port && x->a.bytes > l->m->l1d.port)
        l->l1_port_free = now + (x->a.bytes + l->m->l1d.port - 1) / l->m->l1d.port;
    uint16_t op = x->op;
    bool over = o->store || r == CACHE_HIT;
    ring_pop(&b->q);
    if (b->q.n) {
        b->ready = ring_front(&b->q)->ready;
        cache_soon(l->l1d, ring_front(&b->q)->a.addr);
    }
    if (over)
        finish(l, op, 1, now);
}

/* -- dispatch -- */

static inline unsigned
bank_of(const struct ldst *l, uint64_t addr)
{
    return wrap(addr >> l->bank_shift, l->nbanks);
}

static void
access_gone(struct ldst *l)
{
    l->disp_left--;
    l->disp_access++;
    if (++l->disp_at == CHUNK || !l->disp_left) {
        uint16_t c = l->disp_chunk;
        l->disp_chunk = l->chunk[c].next;
        l->disp_access = l->disp_left ? l->chunk[l->disp_chunk].a : NULL;
        l->chunk[c].next = l->free_chunk;
        l->free_chunk = c;
        l->touched |= ++l->chunks_left == CHUNKS_NEEDED;
        l->disp_at = 0;
    }
}

static bool
dispatch_const(struct ldst *l, const struct coal_access *x, uint64_t now)
{
    if (l->const_wait_fill)
        return false;
    uint32_t line = l->m->l1c.line;
    struct op *o = &l->op[l->disp];
    enum cache_result r =
        cache_read(l->l1c, x->addr, 0xff, l->disp, now, queue_room(&l->cq, 1), NULL);
    if (r >= CACHE_NO_LINE) {
        l->const_wait_fill = r != CACHE_NO_QUEUE;
        if (!l->const_failed) {
            l->const_failed = true;
            l->const_fail_since = now;
        }
        return false;
    }
    struct stat_sm *st = l->st;
    if (l->const_failed) {
        st->l1c_reservation_fails += now - l->const_fail_since;
        l->const_failed = false;
    }
    st->l1c_accesses++;
    if (r == CACHE_HIT) {
        st->l1c_hits++;
        o->pending--; /* the dispatch stage still holds one: never the last */
        return true;
    }
    if (r == CACHE_HIT_PENDING)
        st->l1c_pending_hits++;
    else
        st->l1c_misses++;
    uint8_t asked = cache_asked(l->l1c);
    if (asked)
        ask(l, &l->cq, x->addr & ~(uint64_t)(line - 1), asked, line,
            request(l, PKT_READ, PKT_L1C, PTX_SPACE_CONST, l->disp, now));
    return true;
}

static bool
dispatch_texture(struct ldst *l, const struct coal_access *x, uint64_t now)
{
    uint32_t line = l->m->l1t.line, entry;
    enum texcache_result r =
        texcache_access(l->l1t, x->addr, l->disp, now, queue_room(&l->tq, 1), &entry);
    struct stat_sm *st = l->st;
    if (r == TEXCACHE_FULL) {
        if (!l->texture_failed) {
            l->texture_failed = true;
            l->texture_fail_since = now;
        }
        return false;
    }
    if (l->texture_failed) {
        st->l1t_reservation_fails += now - l->texture_fail_since;
        l->texture_failed = false;
    }
    st->l1t_accesses++;
    if (r == TEXCACHE_HIT) {
        st->l1t_hits++;
        return true;
    }
    st->l1t_misses++;
    ask(l, &l->tq, x->addr, (1u << line / 32) - 1, line,
        request(l, PKT_READ, PKT_L1T, PTX_SPACE_TEX, entry, now));
    return true;
}

static bool
dispatch_bypass(struct ldst *l, const struct coal_access *x, uint64_t now)
{
    if (ring_full(&l->out))
        return false;
    struct op *o = &l->op[l->disp];
    struct stat_sm *st = l->st;
    struct packet *p = ring_push(&l->out);
    enum packet_kind kind = o->store ? PKT_WRITE : o->atomic ? PKT_ATOMIC : PKT_READ;
    *p =
        request(l, kind, PKT_BYPASS, PTX_SPACE_GLOBAL, o->store ? o->warp : l->disp, now);
    p->addr = x->addr;
    p->bytes = x->bytes;
    p->sectors = x->sectors;
    p->byte_mask = o->load ? 0 : x->words;
    st->bypass_accesses++;
    line_add(l, l->disp, LINE_bypass_accesses, 1);
    const unsigned n = (unsigned)bit_count(x->sectors);
    if (!o->store) { /* sectors are answered each by itself, or some together */
        o->pending = (uint16_t)(o->pending + n - 1);
        o->away = (uint16_t)(o->away + n);
    }
    if (o->store) {
        l->outstanding[o->warp] += n;
        l->outstanding_all += n;
        o->pending--;
        st->packets_write++;
    } else if (o->atomic) {
        st->packets_atomic++;
    } else {
        st->packets_read++;
    }
    return true;
}

/* True: the next access waits for room in the pipeline of an L1 bank. */
static bool
step_dispatch(struct ldst *l, uint64_t now)
{
    if (l->disp == LDST_NO_OP)
        return false;
    uint16_t id = l->disp;
    struct op *o = &l->op[id];
    if (l->in_scratch) {
        if (now < l->scratch_done)
            return false;
        if (!o->store) {
            if (ring_full(&l->pipe))
                return false;
            const uint32_t later = (o->scratch - 1u) * l->m->scratchpad.conflict_latency +
                                   o->scaled * l->m->scratchpad.scaled_latency;
            *ring_push(&l->pipe) = (struct pipe_entry){
                .ready = now + l->m->scratchpad.latency + later, .op = id};
        }
        l->in_scratch = false;
    }
    uint64_t banks_used = 0;
    while (l->disp_left) {
        const struct coal_access *x = l->disp_access;
        if (x->route == COAL_L1D) {
            unsigned k = bank_of(l, x->addr);
            struct bank *b = &l->bank[k];
            bool full = ring_full(&b->q);
            if (full || banks_used >> k & 1)
                return full;
            *ring_push(&b->q) =
                (struct lane1){.ready = now + l->l1_latency, .a = *x, .op = id};
            if (b->q.n == 1) {
                b->ready = now + l->l1_latency;
                cache_soon(l->l1d, x->addr);
            }
            banks_used |= (uint64_t)1 << k;
            access_gone(l);
            continue;
        }
        if (banks_used)
            return false;
        if (!(x->route == COAL_CONST     ? dispatch_const(l, x, now)
              : x->route == COAL_TEXTURE ? dispatch_texture(l, x, now)
                                         : dispatch_bypass(l, x, now)))
            return false;
        access_gone(l);
        break;
    }
    if (l->disp_left)
        return false;
    l->disp = LDST_NO_OP;
    l->touched = true;
    finish(l, id, 1, now);
    return false;
}

/* -- the cycle -- */

static uint64_t
next_event(struct ldst *l, bool bank_full, uint64_t now)
{
    l->out_blocked = false;
    bool misses = l->dq.q.n | l->iq.q.n | l->cq.q.n | l->tq.q.n;
    bool out_full = ring_full(&l->out);
    if ((l->wb != LDST_NO_OP) | (l->bypass != LDST_NO_OP) | (misses & !out_full) |
        ((l->resp.n | l->ready[READY_L1C].n | l->ready[READY_L1D].n) != 0) |
        (l->l1t && (texcache_results(l->l1t) || texcache_can_step(l->l1t)))) {
        l->out_blocked = out_full;
        return now + 1;
    }
    uint64_t t = NEVER;
    l->out_blocked = misses;
    if (l->pipe.n)
        t = min_u64(t, max_u64(ring_front(&l->pipe)->ready, now + 1));
    for (unsigned k = 0; k < l->nbanks; k++) {
        struct bank *b = &l->bank[k];
        /* failed and not waiting for a fill: for room in the miss queue, which is an
         * event of its own */
        if (b->q.n && !b->failed)
            t = min_u64(t, max_u64(max_u64(b->ready, l->l1_port_free), now + 1));
        else if (b->q.n && !b->wait_fill && !misses)
            t = now + 1;
    }
    if (l->disp == LDST_NO_OP || bank_full)
        return t;
    if (l->in_scratch) {
        if (now < l->scratch_done)
            t = min_u64(t, l->scratch_done);
        else if (!ring_full(&l->pipe))
            t = now + 1;
        return t;
    }
    if (!l->disp_left)
        return now + 1;
    const struct coal_access *x = l->disp_access;
    if (x->route == COAL_CONST) {
        if (!l->const_failed || (!l->const_wait_fill && !misses))
            t = now + 1;
    } else if (x->route == COAL_TEXTURE) {
        if (!l->texture_failed)
            t = now + 1;
    } else if (x->route == COAL_BYPASS) {
        if (out_full)
            l->out_blocked = true;
        else
            t = now + 1;
    } else if (!ring_full(&l->bank[bank_of(l, x->addr)].q)) {
        t = now + 1;
    }
    return t;
}

void
ldst_cycle(struct ldst *l, uint64_t now)
{
    if (now < l->wake && !l->no_skip)
        return;
    step_writeback(l, now);
    step_reply(l, now);
    if (l->iq.q.n | l->tq.q.n | l->cq.q.n | l->dq.q.n) {
        send_front(l, &l->iq);
        send_front(l, &l->tq);
        send_front(l, &l->cq);
        send_front(l, &l->dq);
    }
    if (l->l1t)
        texcache_step(l->l1t);
    for (unsigned b = 0; b < l->nbanks; b++)
        step_l1d(l, &l->bank[b], now);
    bool bank_full = step_dispatch(l, now);
    l->wake = next_event(l, bank_full, now);
}

uint64_t
ldst_next_event(const struct ldst *l, uint64_t now)
{
    return max_u64(l->wake, now + 1);
}

bool
ldst_idle(const struct ldst *l)
{
    return !l->live_ops && !l->outstanding_all && !l->out.n && !l->resp.n && !l->dq.q.n &&
           !l->iq.q.n && !l->cq.q.n && !l->tq.q.n && !cache_pending(l->l1i);
}

/* -- instruction fetch -- */

enum ldst_fetch
ldst_fetch(struct ldst *l, uint64_t addr, unsigned warp, uint64_t now)
{
    struct stat_sm *st = l->st;
    uint32_t line = l->m->l1i.line;
    uint8_t sector = (uint8_t)(1u << ((addr & (line - 1)) / 32));
    enum cache_result r =
        cache_read(l->l1i, addr, sector, warp, now, queue_room(&l->iq, 1), NULL);
    if (r >= CACHE_NO_LINE) {
        st->l1i_reservation_fails++;
        return FETCH_RETRY;
    }
    st->l1i_accesses++;
    if (r == CACHE_HIT) {
        st->l1i_hits++;
        return FETCH_HIT;
    }
    if (r == CACHE_HIT_PENDING)
        st->l1i_pending_hits++;
    else
        st->l1i_misses++;
    uint8_t asked = cache_asked(l->l1i);
    if (asked) {
        ask(l, &l->iq, addr & ~(uint64_t)(line - 1), asked, line,
            request(l, PKT_READ, PKT_L1I, PTX_SPACE_NONE, warp, now));
        l->wake = min_u64(l->wake, now + 1);
    }
    return FETCH_MISS;
}

uint64_t *
ldst_fetch_woken(struct ldst *l)
{
    return l->woken;
}

/* -- explanation -- */

void
ldst_explain(const struct ldst *l, struct strbuf *out)
{
    if (ldst_idle(l)) {
        strbuf_printf(out, "load/store unit of SM %u: nothing under way\n", l->sm);
        return;
    }
    strbuf_printf(out,
                  "load/store unit of SM %u: %u operations, %u L1D and %u L1C and %u L1I "
                  "and %u texture misses outstanding, %u packets waiting for the "
                  "interconnect\n",
                  l->sm, l->live_ops, cache_pending(l->l1d), cache_pending(l->l1c),
                  cache_pending(l->l1i), l->l1t ? texcache_pending(l->l1t) : 0,
                  l->out.n + l->dq.q.n + l->iq.q.n + l->cq.q.n + l->tq.q.n);
    if (l->disp != LDST_NO_OP) {
        const struct op *o = &l->op[l->disp];
        strbuf_printf(out, "  dispatch stage: %s of warp %u, %u of %u accesses left%s\n",
                      o->atomic  ? "atomic"
                      : o->store ? "store"
                                 : "load",
                      o->warp, l->disp_left, o->n,
                      l->const_wait_fill  ? ", waits for a constant cache line"
                      : l->texture_failed ? ", waits for room in the texture cache"
                      : l->out_blocked    ? ", waits for the interconnect"
                                          : "");
    }
    for (unsigned b = 0; b < l->nbanks; b++)
        if (l->bank[b].failed)
            strbuf_printf(out, "  L1D bank %u: refused since cycle %llu, waits for %s\n",
                          b, (unsigned long long)l->bank[b].fail_since,
                          l->bank[b].wait_fill ? "a line or MSHR" : "the miss queue");
    for (unsigned w = 0; w < NWARPS; w++)
        if (l->outstanding[w])
            strbuf_printf(out, "  warp %u: %u loads or stores outstanding\n", w,
                          l->outstanding[w]);
}
