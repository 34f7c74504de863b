/* schedule_peak.c: how many registers an order of a region takes.
 *
 * A register has one place from its first access to its last, and from the region's begin or to its
 * end if it is live there: an allocation gives a register one place, however often it is
 * written. What is live before and after the region has it all the time. But from the last read
 * of the old value to the first write of the new one the place is free: a gap. Another register
 * that is accessed only in there takes none of its own; each gap goes to one at a time, the
 * shortest that is long enough first. With s->hold no register takes such a place.
 *
 * Times: what an instruction at place k of the order reads is read at 2k, what it writes is
 * written at 2k + 1, so one may take the place of the other. Cost: O(n gaps) for n instructions. */
#include "passes/sched/schedule_int.h"

#include "analysis/defuse.h"

enum { NO_GAP = -1 };

/* A free place, of that many 32-bit registers, until that time. */
struct gap {
    int64_t until;
    uint8_t units;
};

struct peak {
    struct sched *s;
    int64_t at; /* 2k */
    VEC(struct gap) open;
};

/* -- first walk: when each register is accessed -- */

static void
note_access(void *user, int32_t r, bool write, bool partial)
{
    const struct peak *p = user;
    struct sched_use *u = &p->s->use[r];
    const bool reads = !write || partial;
    const int64_t at = p->at + write;
    if (u->first < 0) {
        u->first = at;
        u->before = reads;
    }
    u->last = at;
    if (reads && u->first_write < 0)
        u->last_read = at;
    if (!reads && u->first_write < 0)
        u->first_write = at;
}

/* -- second walk: what is taken -- */

static void
take(struct peak *p, struct sched_use *u, uint8_t units)
{
    size_t best = p->open.n;
    for (size_t i = 0; i < p->open.n; i++) {
        const struct gap *g = &p->open.v[i];
        if (g->units == units && g->until > u->last &&
            (best == p->open.n || g->until < p->open.v[best].until))
            best = i;
    }
    u->gap = NO_GAP;
    if (u->after || best == p->open.n) {
        p->s->now_live += units;
        return;
    }
    u->gap = p->open.v[best].until;
    p->open.v[best] = p->open.v[--p->open.n];
}

static void
leave(struct peak *p, const struct sched_use *u, uint8_t units)
{
    if (u->gap == NO_GAP)
        p->s->now_live -= units;
    else
        *vec_push(&p->open) = (struct gap){u->gap, units};
}

/* What ends with the access: the register, or its old value. */
static void
end_access(void *user, int32_t r, bool write, bool partial)
{
    struct peak *p = user;
    struct sched_use *u = &p->s->use[r];
    const uint8_t units = p->s->units[r];
    (void)partial;
    if (!units || p->at + write != (u->before && u->after ? u->last_read : u->last) ||
        u->ended)
        return;
    if (u->before && u->after && u->first_write > u->last_read && !p->s->hold)
        *vec_push(&p->open) = (struct gap){u->first_write, units};
    else if (!u->after)
        leave(p, u, units);
    u->ended = true;
}

static void
begin_access(void *user, int32_t r, bool write, bool partial)
{
    struct peak *p = user;
    struct sched_use *u = &p->s->use[r];
    (void)partial;
    if (write && p->s->units[r] && !u->before && p->at + 1 == u->first && !u->begun) {
        take(p, u, p->s->units[r]);
        u->begun = true;
    }
}

static void
end_reads(void *user, int32_t r, bool write, bool partial)
{
    if (!write)
        end_access(user, r, write, partial);
}

static void
end_writes(void *user, int32_t r, bool write, bool partial)
{
    if (write)
        end_access(user, r, write, partial);
}

uint32_t
schedule_peak(struct sched *s, const uint32_t *order)
{
    struct peak p = {.s = s};
    const uint32_t n = (uint32_t)s->node.n;
    for (size_t i = 0; i < s->touched.n; i++) {
        struct sched_use *u = &s->use[s->touched.v[i]];
        u->first = u->last = u->last_read = u->first_write = -1;
        u->ended = u->begun = u->before = false;
        u->gap = NO_GAP;
    }
    for (uint32_t k = 0; k < n; k++) {
        p.at = 2 * (int64_t)k;
        defuse_each(&s->f->body.v[s->node.v[order[k]].inst], note_access, &p);
    }
    s->now_live = s->end; /* at the begin: without what is born in the region */
    for (size_t i = 0; i < s->touched.n; i++) {
        const struct sched_use *u = &s->use[s->touched.v[i]];
        const uint8_t units = s->units[s->touched.v[i]];
        s->now_live += u->before && !u->after ? units : 0;
        s->now_live -= u->after && !u->before ? units : 0;
    }
    uint32_t most = s->now_live;
    for (uint32_t k = 0; k < n; k++) {
        const struct sched_node *x = &s->node.v[order[k]];
        const struct ptx_inst *in = &s->f->body.v[x->inst];
        const uint32_t before = s->now_live;
        p.at = 2 * (int64_t)k;
        defuse_each(in, end_reads, &p);
        defuse_each(in, begin_access, &p);
        const uint32_t now = (before > s->now_live ? before : s->now_live) + x->between;
        defuse_each(in, end_writes, &p);
        most = now > most ? now : most;
    }
    vec_free(&p.open);
    return most;
}
