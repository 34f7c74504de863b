/* slots.c: scratchpad slots for variables, across procedures (002 section 3.2.2).
 *
 * A composition instruction is a chain of calls from the kernel and the instruction that
 * runs at its end. What is live on its exit is the sum over the chain. Chains can be
 * exponentially many, so they are counted instead of listed: `reach` has the chains that
 * arrive in a procedure with a given number of words live below it, and `over` has those
 * of its continuations that exceed the limit. A variable's frequency is the number of
 * composition instructions over the limit on whose exit it is live:
 *
 *   sum over the points where it is live, and over all numbers b of words below, of
 *   reach(b) * ([b + live > limit] + over(callee, b + live))
 *
 * Steps 1 to 3 then take variables away until Max-live fits, in the order of their
 * frequency as it was at first. Step 4 colours what stays, from the node of the highest
 * degree, and prefers the lowest slot in use.
 *
 * Which end of the order leaves first is a setting, since the document says both. The
 * text takes the lowest frequency. In Figure 2, v4 interferes with v3 and with v5, and
 * there is one slot: v4 is live wherever two are, so its frequency is the highest, and
 * the text's rule sends v3 and v5 to local memory. The figure sends v4 alone. */
#include "analysis/slots.h"

#include "base/bitset.h"

#include <stdlib.h>

struct job {
    const struct slots_proc *proc;
    uint32_t nprocs, limit;
    struct slots *out;
    struct arena *mem;
    uint64_t **stay; /* of each procedure: variables that are in scratchpad */
    uint32_t *order; /* called procedures, callees first */
    uint32_t norder;
    uint64_t **freq; /* of each procedure's variables */
    uint32_t **live; /* of each procedure's points: words that are live on its exit */
};

static uint64_t
add(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t
times(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* Orders the procedures, callees first; false: a procedure calls itself. The stack is an
 * array, for chains of calls may be long. */
static bool
order_calls(struct job *j)
{
    enum { NEW, OPEN, DONE };
    uint8_t *state = ARENA_ARRAY(j->mem, uint8_t, j->nprocs);
    uint32_t *stack = ARENA_ARRAY(j->mem, uint32_t, j->nprocs + 1), depth = 1;
    uint32_t *next = ARENA_ARRAY(j->mem, uint32_t, j->nprocs);
    j->order = ARENA_ARRAY(j->mem, uint32_t, j->nprocs);
    stack[0] = 0;
    state[0] = OPEN;
    while (depth) {
        uint32_t p = stack[depth - 1];
        if (next[p] == j->proc[p].npoints) {
            state[p] = DONE;
            j->order[j->norder++] = p;
            depth--;
            continue;
        }
        int32_t c = j->proc[p].point[next[p]++].callee;
        if (c == SLOTS_NONE || state[c] == DONE)
            continue;
        if (state[c] == OPEN)
            return false;
        state[c] = OPEN;
        stack[depth++] = (uint32_t)c;
    }
    return true;
}

/* Words of scratchpad live on exit of point i of procedure p, while all variables are there;
 * drop() keeps the count. */
static uint32_t
live_words(const struct job *j, uint32_t p, uint32_t i)
{
    const struct slots_proc *f = &j->proc[p];
    uint32_t n = 0;
    for (size_t w = 0; w < BITSET_WORDS(f->nvars); w++)
        FOR_BITS(b, f->point[i].live[w])
    n += f->words[w * 64 + b];
    return n;
}

/* The variable leaves scratchpad. */
static void
drop(struct job *j, uint32_t p, uint32_t var)
{
    const struct slots_proc *f = &j->proc[p];
    bitset_del(j->stay[p], var);
    for (uint32_t i = 0; i < f->npoints; i++)
        if (bitset_has(f->point[i].live, var))
            j->live[p][i] -= f->words[var];
}

/* Max-live of all procedures, callees included; the kernel's is returned. */
static uint32_t
max_live(struct job *j)
{
    for (uint32_t k = 0; k < j->norder; k++) {
        uint32_t p = j->order[k], most = 0;
        for (uint32_t i = 0; i < j->proc[p].npoints; i++) {
            int32_t c = j->proc[p].point[i].callee;
            uint32_t n = j->live[p][i] + (c < 0 ? 0 : j->out->of[c].max_live);
            most = n > most ? n : most;
        }
        j->out->of[p].max_live = most;
    }
    return j->out->of[0].max_live;
}

/* Step 2: frequencies. `most` is the kernel's Max-live. */
static void
count_frequencies(struct job *j, uint32_t most)
{
    size_t row = (size_t)most + 1;
    uint64_t *reach = xcalloc(j->nprocs * row, sizeof *reach);
    uint64_t *over = xcalloc(j->nprocs * row, sizeof *over);
    for (uint32_t k = 0; k < j->norder; k++) { /* callees first */
        uint32_t p = j->order[k];
        for (uint32_t i = 0; i < j->proc[p].npoints; i++) {
            uint32_t n = j->live[p][i];
            int32_t c = j->proc[p].point[i].callee;
            for (uint32_t b = 0; b + n < row; b++) {
                uint64_t *sum = &over[p * row + b];
                *sum = add(*sum, b + n > j->limit);
                if (c >= 0)
                    *sum = add(*sum, over[(uint32_t)c * row + b + n]);
            }
        }
    }
    reach[0] = 1;
    for (uint32_t k = j->norder; k--;) { /* callers first */
        uint32_t p = j->order[k];
        for (uint32_t i = 0; i < j->proc[p].npoints; i++) {
            const struct slots_point *x = &j->proc[p].point[i];
            uint32_t n = j->live[p][i];
            uint64_t here = 0;
            for (uint32_t b = 0; b + n < row; b++) {
                uint64_t chains = reach[p * row + b], ends = b + n > j->limit;
                if (!chains)
                    continue;
                if (x->callee >= 0) {
                    size_t to = (uint32_t)x->callee * row + b + n;
                    ends = add(ends, over[to]);
                    reach[to] = add(reach[to], chains);
                }
                here = add(here, times(chains, ends));
            }
            for (size_t w = 0; here && w < BITSET_WORDS(j->proc[p].nvars); w++)
                FOR_BITS(b, x->live[w] & j->stay[p][w])
            j->freq[p][w * 64 + b] = add(j->freq[p][w * 64 + b], here);
        }
    }
    free(reach);
    free(over);
}

struct candidate {
    uint64_t freq;
    uint32_t proc, var;
};

static int
by_frequency(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    return a->freq != b->freq   ? (a->freq < b->freq ? -1 : 1)
           : a->proc != b->proc ? (a->proc < b->proc ? -1 : 1)
                                : (a->var > b->var) - (a->var < b->var);
}

/* Steps 1 to 3. */
static void
prune(struct job *j, enum slots_rule rule)
{
    uint32_t most = max_live(j), n = 0, total = 0;
    if (most <= j->limit)
        return;
    count_frequencies(j, most);
    for (uint32_t p = 0; p < j->nprocs; p++)
        total += j->proc[p].nvars;
    struct candidate *c = xcalloc(total + 1, sizeof *c);
    for (uint32_t p = 0; p < j->nprocs; p++)
        for (uint32_t v = 0; v < j->proc[p].nvars; v++)
            if (j->freq[p][v])
                c[n++] = (struct candidate){j->freq[p][v], p, v};
    qsort(c, n, sizeof *c, by_frequency);
    for (uint32_t i = 0; i < n && most > j->limit; i++) {
        const struct candidate *x = &c[rule == SLOTS_LEAST_FREQUENT ? i : n - 1 - i];
        drop(j, x->proc, x->var);
        j->out->pruned++;
        most = max_live(j);
    }
    free(c);
}

struct node {
    uint32_t degree, var;
};

static int
by_degree(const void *x, const void *y)
{
    const struct node *a = x, *b = y;
    return a->degree != b->degree ? (a->degree > b->degree ? -1 : 1)
                                  : (a->var > b->var) - (a->var < b->var);
}

/* Step 4 for procedure p: at most its Max-live slots. */
static void
colour(struct job *j, uint32_t p)
{
    const struct slots_proc *f = &j->proc[p];
    struct slots_home *h = &j->out->of[p];
    struct arena own = {0};
    size_t words = BITSET_WORDS(f->nvars);
    uint64_t *adj = ARENA_ARRAY(&own, uint64_t, words * f->nvars + 1);
    struct node *node = ARENA_ARRAY(&own, struct node, f->nvars + 1);
    uint64_t *taken = bitset_new(&own, h->max_live + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->npoints; i++)
        for (size_t w = 0; w < words; w++)
            FOR_BITS(b, f->point[i].live[w] & j->stay[p][w])
    for (size_t k = 0; k < words; k++)
        adj[(w * 64 + b) * words + k] |= f->point[i].live[k] & j->stay[p][k];
    for (uint32_t v = 0; v < f->nvars; v++) {
        if (!bitset_has(j->stay[p], v))
            continue;
        node[n].var = v;
        for (size_t k = 0; k < words; k++)
            node[n].degree += (uint32_t)bit_count(adj[v * words + k]);
        n++;
    }
    qsort(node, n, sizeof *node, by_degree);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = node[i].var, found = 0;
        for (size_t k = 0; k < BITSET_WORDS(h->max_live + 1); k++)
            taken[k] = 0;
        for (uint32_t u = 0; u < f->nvars; u++)
            for (uint32_t k = 0; bitset_has(adj + v * words, u) && k < f->words[u]; k++)
                if (h->slot[u][k] >= 0)
                    bitset_add(taken, (size_t)h->slot[u][k]);
        /* the lowest free slots: those in use come before new ones */
        int32_t got[SLOTS_WORDS] = {SLOTS_NONE, SLOTS_NONE};
        for (uint32_t s = 0; s < h->max_live && found < f->words[v]; s++)
            if (!bitset_has(taken, s))
                got[found++] = (int32_t)s;
        if (found < f->words[v]) {
            j->out->uncoloured++;
            continue;
        }
        for (uint32_t k = 0; k < found; k++) {
            h->slot[v][k] = got[k];
            if ((uint32_t)got[k] >= h->nslots)
                h->nslots = (uint32_t)got[k] + 1;
        }
    }
    arena_free(&own);
}

bool
slots_assign(const struct slots_proc *proc, uint32_t nprocs, uint32_t limit,
             enum slots_rule rule, struct arena *mem, struct slots *out)
{
    struct arena own = {0};
    struct job j = {
        .proc = proc, .nprocs = nprocs, .limit = limit, .out = out, .mem = &own};
    *out = (struct slots){.of = ARENA_ARRAY(mem, struct slots_home, nprocs)};
    j.stay = ARENA_ARRAY(&own, uint64_t *, nprocs);
    j.freq = ARENA_ARRAY(&own, uint64_t *, nprocs);
    j.live = ARENA_ARRAY(&own, uint32_t *, nprocs);
    for (uint32_t p = 0; p < nprocs; p++) {
        out->of[p].slot = arena_alloc(mem, (proc[p].nvars + 1) * sizeof *out->of[p].slot);
        j.stay[p] = bitset_new(&own, proc[p].nvars + 1);
        j.freq[p] = ARENA_ARRAY(&own, uint64_t, proc[p].nvars + 1);
        for (uint32_t v = 0; v < proc[p].nvars; v++) {
            out->of[p].slot[v][0] = out->of[p].slot[v][1] = SLOTS_NONE;
            bitset_add(j.stay[p], v);
        }
        j.live[p] = ARENA_ARRAY(&own, uint32_t, proc[p].npoints + 1);
        for (uint32_t i = 0; i < proc[p].npoints; i++)
            j.live[p][i] = live_words(&j, p, i);
    }
    bool ok = order_calls(&j);
    if (ok) {
        prune(&j, rule);
        for (uint32_t k = 0; k < j.norder; k++)
            colour(&j, j.order[k]);
    }
    arena_free(&own);
    return ok;
}

/* Slots of a procedure that are live at a point, as a bit set; returns their number. */
static uint32_t
live_slots(const struct slots_proc *f, const struct slots_home *h,
           const struct slots_point *x, uint64_t *set)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < f->nvars; v++)
        for (uint32_t k = 0; bitset_has(x->live, v) && k < f->words[v]; k++)
            if (h->slot[v][k] >= 0) {
                bitset_add(set, (size_t)h->slot[v][k]);
                n++;
            }
    return n;
}

uint32_t
slots_height(const struct slots_proc *proc, uint32_t nprocs, const struct slots *s,
             enum slots_stack stack)
{
    struct arena own = {0};
    struct job j = {.proc = proc, .nprocs = nprocs, .mem = &own};
    uint32_t *height = ARENA_ARRAY(&own, uint32_t, nprocs + 1);
    if (order_calls(&j))
        for (uint32_t k = 0; k < j.norder; k++) {
            uint32_t p = j.order[k];
            const struct slots_home *h = &s->of[p];
            height[p] = h->nslots;
            for (uint32_t i = 0; i < proc[p].npoints; i++) {
                const struct slots_point *x = &proc[p].point[i];
                if (x->callee < 0)
                    continue;
                uint64_t *set = bitset_new(&own, h->nslots + 1);
                uint32_t at = live_slots(&proc[p], h, x, set);
                if (stack != SLOTS_MOVING_STACK)
                    for (at = h->nslots;
                         stack == SLOTS_REGISTER_STACK && at && !bitset_has(set, at - 1);)
                        at--;
                uint32_t n = at + height[x->callee];
                height[p] = n > height[p] ? n : height[p];
            }
        }
    uint32_t n = height[0];
    arena_free(&own);
    return n;
}

uint32_t
slots_shuffle(const struct slots_proc *proc, const struct slots_home *h,
              const struct slots_point *point, struct slots_move *move, uint32_t *height)
{
    struct arena own = {0};
    uint64_t *set = bitset_new(&own, h->nslots + 1);
    uint32_t n = 0, to = 0;
    *height = live_slots(proc, h, point, set);
    for (uint32_t from = *height; from < h->nslots; from++) {
        if (!bitset_has(set, from))
            continue;
        while (bitset_has(set, to))
            to++;
        bitset_add(set, to);
        move[n++] = (struct slots_move){(int32_t)from, (int32_t)to};
    }
    arena_free(&own);
    return n;
}
