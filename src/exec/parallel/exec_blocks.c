/* exec_blocks.c: speculative parallel execution of a grid's blocks in several host threads,
 * with the result of running them one after another.
 *
 * Nothing is assumed of the kernel. Threads run blocks of a wave at once, directly on device
 * memory, and record their footprints: which words of global memory they read and write. If
 * no thread has touched a word that another one wrote, there is no conflict: the order of
 * the blocks made no difference, and the wave commits. Otherwise, or if a block faulted or
 * waited for another one, the wave is rolled back and its blocks run in sequence. So memory,
 * counts and diagnostics are those of one thread, whatever the number of threads and however
 * the host schedules them.
 *
 *     thread 0: blocks 0 1 4 5    reads {a}   writes {x, y}
 *     thread 1: blocks 2 3 6 7    reads {a}   writes {z}          no conflict: commit
 *                                 reads {a y}                     conflict: roll back
 *
 * Each thread runs its blocks in rising order, so those of one thread need no check.
 * Reductions (atomics whose result nobody takes) of one integer operation commute, and
 * are made with atomic instructions of the host; so threads may share words that they
 * only reduce to.
 *
 * A word is 4 bytes; of a page of 4 KiB a thread has three bit sets (struct foot_page).
 * The page is copied before the first write to it in the wave. A wave grows from
 * WAVE_LEAST warp instructions to WAVE_MOST, which bounds the cost of a rollback. A kernel
 * whose waves are rolled back too often goes on in one thread. Kernels that can hardly
 * run so, and those that use memory in ways that are not recorded (printf, malloc,
 * clocks, surfaces, 128-bit atomics), are marked when they are decoded
 * (exec_prog.in_turn). */
#define _GNU_SOURCE
#include "exec/memory/exec_foot.h"
#include "exec/ops/exec_mem.h"

#include "base/pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    WAVE_LEAST = 1 << 17, /* warp instructions */
    WAVE_WORTH = 1 << 16, /* a wave of fewer is not worth while */
    WAVE_MOST = 1 << 22,
    WAVE_GROWTH = 4,
    MOST_THREADS = 64,
    CHUNKS = 8,           /* of a thread in a wave */
    ROLLBACKS_MOST = 2,   /* before a kernel goes on in one thread, */
    ROLLBACKS_SHARE = 16, /* and one more for so many commits */
};

struct member {
    _Alignas(64) struct exec_grid g; /* its own counts, faults and races */
    struct diag_sink diag;
    struct exec_log log;
    struct foot foot;
    struct exec_cta *cta; /* NULL: none for this launch yet */
    struct race_watch *watch;
    struct exec_step step;
};

enum { PAGE_AS_IT_WAS, PAGE_BEING_COPIED, PAGE_COPIED };

struct exec_team {
    struct dev_mem *mem;
    uint64_t base, pages; /* global memory */
    struct pool *pool;
    unsigned n;
    struct member *member;
    _Atomic uint8_t *state; /* of each page in this wave */
    uint64_t wave;          /* warp instructions that the next wave is to have */
    bool watching;
    /* the wave under way */
    _Alignas(64) _Atomic uint64_t next;
    uint64_t end, chunk;
    _Atomic bool failed;
};

static void *
reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct exec_team *
exec_team_new(struct dev_mem *mem, unsigned threads)
{
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    struct exec_team *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
    size_t bytes = threads * sizeof *t->member;
    struct member *m = aligned_alloc(64, bytes);
    if (!t || !m)
        abort(); /* out of memory, like xmalloc */
    memset(t, 0, sizeof *t);
    memset(m, 0, bytes);
    t->mem = mem;
    t->pages = (dev_reserved(mem, &t->base) + FOOT_PAGE - 1) / FOOT_PAGE;
    t->n = threads;
    t->member = m;
    t->pool = pool_new(threads);
    t->state = reserve(t->pages);
    bool ok = t->pool && t->state;
    for (unsigned i = 0; i < threads; i++) {
        m[i].foot.team = t;
        m[i].foot.base = t->base;
        m[i].foot.at = reserve(t->pages * sizeof *m[i].foot.at);
        m[i].log.foot = &m[i].foot;
        ok &= m[i].foot.at != NULL;
    }
    if (ok)
        return t;
    exec_team_free(t);
    return NULL;
}

void
exec_team_free(struct exec_team *t)
{
    if (!t)
        return;
    pool_free(t->pool);
    for (unsigned i = 0; i < t->n; i++) {
        struct foot *f = &t->member[i].foot;
        if (f->at)
            munmap(f->at, t->pages * sizeof *f->at);
        for (size_t k = 0; k < f->spare.n; k++)
            free(f->spare.v[k]);
        for (size_t k = 0; k < f->saved.n; k++)
            free(f->saved.v[k].bytes);
        vec_free(&f->spare);
        vec_free(&f->touched);
        vec_free(&f->saved);
    }
    if (t->state)
        munmap((void *)t->state, t->pages);
    free(t->member);
    free(t);
}

/* -- footprints -- */

/* Copies the page unless another thread has, or does. */
static void
save_page(struct foot *f, struct foot_page *p)
{
    struct exec_team *t = f->team;
    uint8_t was = PAGE_AS_IT_WAS;
    p->saved = true;
    if (atomic_compare_exchange_strong(&t->state[p->page], &was, PAGE_BEING_COPIED)) {
        if (f->nsaved == f->saved.n)
            vec_push(&f->saved)->bytes = xmalloc(FOOT_PAGE);
        struct saved *s = &f->saved.v[f->nsaved++];
        s->page = p->page;
        memcpy(s->bytes, dev_host(t->mem, t->base + (uint64_t)p->page * FOOT_PAGE),
               FOOT_PAGE);
        atomic_store_explicit(&t->state[p->page], PAGE_COPIED, memory_order_release);
        return;
    }
    for (unsigned turn = 1;
         atomic_load_explicit(&t->state[p->page], memory_order_acquire) != PAGE_COPIED;
         turn++)
        pool_relax(turn);
}

/* NULL: there is no such page in the device's memory. */
static struct foot_page *
page_of(struct foot *f, uint64_t page)
{
    if (page >= f->team->pages)
        return NULL;
    struct foot_page *p = f->at[page];
    if (!p) {
        p = f->spare.n ? f->spare.v[--f->spare.n] : xmalloc(sizeof *p);
        memset(p, 0, sizeof *p);
        p->page = (uint32_t)page;
        *vec_push(&f->touched) = p;
        f->at[page] = p;
    }
    return f->last[page % FOOT_RECENT] = p;
}

ALWAYS_INLINE bool
touch(struct foot *f, uint64_t addr, unsigned bytes, enum foot_kind kind)
{
    uint64_t page = (addr - f->base) / FOOT_PAGE;
    struct foot_page *p = f->last[page % FOOT_RECENT];
    if (!p || p->page != page)
        p = page_of(f, page);
    if (!p) /* memory of the host: not to be written, so reads need no account */
        return kind == FOOT_READ;
    unsigned first = addr % FOOT_PAGE / 4, last = (addr % FOOT_PAGE + bytes - 1) / 4;
    if (kind & FOOT_READ)
        foot_set(p->read, first, last);
    if (kind & (FOOT_WRITE | FOOT_REDUCE)) {
        if (!p->saved)
            save_page(f, p);
        foot_set(kind & FOOT_WRITE ? p->write : p->reduce, first, last);
    }
    return true;
}

bool
exec_foot_range(struct foot *f, uint64_t addr, uint64_t bytes, enum foot_kind kind)
{
    while (bytes) {
        uint64_t n = FOOT_PAGE - addr % FOOT_PAGE;
        n = n < bytes ? n : bytes;
        if (!touch(f, addr, (unsigned)n, kind))
            return false;
        addr += n;
        bytes -= n;
    }
    return true;
}

bool
exec_foot_lanes(struct foot *f, uint32_t mask, const uint64_t *a, unsigned bytes,
                enum foot_kind kind)
{
    FOR_BITS(i, mask)
    if (!(a[i] % FOOT_PAGE + bytes <= FOOT_PAGE ? touch(f, a[i], bytes, kind)
                                                : exec_foot_range(f, a[i], bytes, kind)))
        return false;
    return true;
}

/* -- a wave -- */

static void
run_blocks(void *user, unsigned thread)
{
    struct exec_team *t = user;
    struct member *m = &t->member[thread];
    while (!t->failed) {
        uint64_t k = atomic_fetch_add(&t->next, t->chunk);
        if (k >= t->end)
            return;
        if (!m->cta) {
            m->cta = exec_unit_new(&m->g, &m->log);
        }
        uint64_t end = t->end - k < t->chunk ? t->end : k + t->chunk;
        for (; k < end && !t->failed; k++)
            if (!exec_run_block(&m->g, m->cta, (uint32_t)k, &m->step, t->watching,
                                &m->watch))
                t->failed = true;
    }
}

/* Has a thread touched what another one wrote, or what another one reduced to? */
static bool
conflict_in(const struct exec_team *t, uint32_t page)
{
    const struct foot_page *p[MOST_THREADS];
    unsigned n = 0;
    for (unsigned i = 0; i < t->n; i++)
        if (t->member[i].foot.at[page])
            p[n++] = t->member[i].foot.at[page];
    for (unsigned g = 0; n > 1 && g < FOOT_GROUPS; g++) {
        uint32_t read = 0, write = 0, reduce = 0, bad = 0;
        for (unsigned i = 0; i < n; i++) {
            uint32_t r = p[i]->read[g], w = p[i]->write[g], a = p[i]->reduce[g];
            bad |= (w & (read | write | reduce)) | (r & (write | reduce)) |
                   (a & (read | write));
            read |= r;
            write |= w;
            reduce |= a;
        }
        if (bad)
            return true;
    }
    return false;
}

/* Every page that was written has one copy, in some thread's list. */
static bool
conflict(const struct exec_team *t)
{
    for (unsigned i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->member[i].foot.nsaved; k++)
            if (conflict_in(t, t->member[i].foot.saved.v[k].page))
                return true;
    return false;
}

/* Words that were written get back what they held. */
static void
roll_back(struct exec_team *t, const struct saved *s)
{
    uint8_t *host = dev_host(t->mem, t->base + (uint64_t)s->page * FOOT_PAGE);
    for (unsigned g = 0; g < FOOT_GROUPS; g++) {
        uint32_t written = 0;
        for (unsigned i = 0; i < t->n; i++) {
            const struct foot_page *p = t->member[i].foot.at[s->page];
            written |= p ? p->write[g] | p->reduce[g] : 0;
        }
        FOR_BITS(i, written)
        memcpy(host + 4 * (32 * g + (unsigned)i), s->bytes + 4 * (32 * g + (unsigned)i),
               4);
    }
}

static void
forget(struct exec_team *t)
{
    for (unsigned i = 0; i < t->n; i++) {
        struct foot *f = &t->member[i].foot;
        for (size_t k = 0; k < f->nsaved; k++)
            t->state[f->saved.v[k].page] = PAGE_AS_IT_WAS;
        f->nsaved = 0;
        for (size_t k = 0; k < f->touched.n; k++) {
            f->at[f->touched.v[k]->page] = NULL;
            *vec_push(&f->spare) = f->touched.v[k];
        }
        f->touched.n = 0;
        memset(f->last, 0, sizeof f->last);
    }
}

/* Have too many waves of the kernel been rolled back? */
static bool
conflicts_often(const struct exec_speculation *s)
{
    return s->rollbacks > ROLLBACKS_MOST + s->commits / ROLLBACKS_SHARE;
}

bool
exec_team_begin(struct exec_grid *g, bool watching)
{
    struct exec_team *t = g->team;
    if (!t || g->prog->in_turn || g->cooperative || dev_guard(g->mem) ||
        conflicts_often(g->speculation))
        return false;
    t->wave = WAVE_LEAST;
    t->watching = watching;
    for (unsigned i = 0; i < t->n; i++) {
        struct member *m = &t->member[i];
        m->g = *g;
        m->g.diag = &m->diag;
        m->g.limit = 0;
        m->g.keep_going = NULL;
        m->g.ask_at = UINT64_MAX;
    }
    return true;
}

/* How many blocks the next wave has; 0: too few are left, or the kernel conflicts too
 * often. */
static uint64_t
wave_blocks(const struct exec_grid *g, uint64_t done, uint64_t blocks)
{
    const struct exec_team *t = g->team;
    uint64_t per = g->n_warp_inst / done + 1, n = t->wave / per;
    n = n < t->n ? t->n : n;
    n = n < blocks - done ? n : blocks - done;
    return n < 2 || n * per < WAVE_WORTH || conflicts_often(g->speculation) ? 0 : n;
}

uint64_t
exec_team_in_turn(const struct exec_grid *g, uint64_t done, uint64_t blocks)
{
    uint64_t n = wave_blocks(g, done, blocks);
    return n ? done + n : blocks;
}

uint64_t
exec_team_wave(struct exec_grid *g, uint64_t done, uint64_t blocks)
{
    struct exec_team *t = g->team;
    uint64_t n = wave_blocks(g, done, blocks);
    if (!n)
        return 0;
    t->next = done;
    t->end = done + n;
    t->chunk = n / (t->n * CHUNKS) + 1;
    t->failed = false;
    for (unsigned i = 0; i < t->n; i++)
        t->member[i].g.n_warp_inst = t->member[i].g.n_thread_inst =
            t->member[i].g.races_watched = 0;
    pool_run_long(t->pool, run_blocks, t);
    uint64_t warp = 0, thread = 0;
    for (unsigned i = 0; i < t->n; i++) {
        warp += t->member[i].g.n_warp_inst;
        thread += t->member[i].g.n_thread_inst;
    }
    bool commits =
        !t->failed && (!g->limit || g->n_warp_inst + warp < g->limit) && !conflict(t);
    for (unsigned i = 0; i < t->n; i++) {
        struct member *m = &t->member[i];
        for (size_t k = 0; !commits && k < m->foot.nsaved; k++)
            roll_back(t, &m->foot.saved.v[k]);
        race_watch_drop(m->watch);
        for (uint32_t k = 0; m->cta && k < exec_cluster_blocks(g); k++)
            members_hand_over(m->cta->unit ? m->cta->unit->cta[k] : m->cta,
                              commits ? g : NULL);
        if (commits)
            races_merge(g, &m->g);
        diag_free(&m->diag);
    }
    for (unsigned i = 0; i < t->n; i++)
        t->member[i].g.race = g->race;
    forget(t);
    if (!commits) {
        g->speculation->rollbacks++;
        t->wave = WAVE_LEAST;
        return 0;
    }
    g->n_warp_inst += warp;
    g->n_thread_inst += thread;
    g->speculation->commits++;
    t->wave = t->wave < WAVE_MOST ? WAVE_GROWTH * t->wave : WAVE_MOST;
    return n;
}

void
exec_team_end(struct exec_grid *g)
{
    for (unsigned i = 0; i < g->team->n; i++) {
        struct member *m = &g->team->member[i];
        exec_unit_free(m->cta);
        m->cta = NULL;
        race_watch_free(m->watch);
        m->watch = NULL;
    }
}
