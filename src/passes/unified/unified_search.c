/* unified_search.c: how many blocks an SM should hold (002 section 4, Figure 5).
 *
 * A level is a number of resident blocks; its registers are the most with which the
 * machine holds that many. The kernel is allocated for every level from the original one,
 * where registers are not limited, to the highest (the original allocation's own spills
 * would be the lowest level's). Figure 5 then goes over that table:
 *
 *   dispatch interval  cycles between the issue of two adjacent instructions of a warp,
 *       on average over the code. Results of arithmetic are waited for; those of loads
 *       are not, as in the control words of Kepler's machine code, where they have a
 *       scoreboard. Every instruction counts once.
 *   concurrency-bound  the interval is longer than one cycle (Figure 4: scenario B, which
 *       is not, has 1).
 *   start   interval * cores of an SM, in whole blocks.
 *   CI_pred compute * interval / mem > MAX_cmratio, of the allocated code: mem is the
 *       number of its off-chip instructions (global, local, generic, texture), compute of
 *       all others.
 *
 * With memory=spills, which is ours, mem is what spilling adds. The text wants "that the
 * local memory spilling overhead can be overlapped"; counting the program's own loads, as
 * the formula does, refuses more blocks to a program for loads that more blocks would hide.
 *
 * MAX_cmratio is half of the cycles of an off-chip read: 002 measured 300 to 400, halved
 * it since "reads and writes happen in parallel", and took 200. Ours is half of what the
 * machine takes for a read of an idle DRAM (machine/latency.h).
 *
 * The figure and its text differ where CI_pred fails at the start. The figure goes down while
 * above ActT_num_org, and only from a start of SmemFitTnum at least; the text says that "when
 * the algorithm traverses down, it stops when it hits a threshold SmemFitTnum", the most
 * threads without spills to local memory. Section 4.1 raises the number "until the point that
 * the overhead of extra local memory spilling cannot be offset", of which there is none up to
 * SmemFitTnum. So the search ends no lower than that (least=fit). least=original is the
 * figure's letter: from a start below SmemFitTnum it takes the original number. */
#include "passes/unified/unified_alloc_int.h"

#include "analysis/defuse.h"

/* -- the average dispatch interval -- */

struct issue {
    uint64_t *ready; /* of each register: cycle in which its value is there */
    uint64_t at;     /* cycle of the instruction */
    uint64_t result; /* ... in which its results are there */
};

static void
wait_for(void *user, int32_t reg, bool write, bool partial)
{
    struct issue *x = user;
    (void)partial;
    if (!write && x->ready[reg] > x->at)
        x->at = x->ready[reg];
}

static void
set_ready(void *user, int32_t reg, bool write, bool partial)
{
    struct issue *x = user;
    (void)partial;
    if (write)
        x->ready[reg] = x->result;
}

void
us_count(const struct ptx_func *f, const uint32_t *latency, struct us_count *c)
{
    struct arena mem = {0};
    struct cfg *g = cfg_new(f);
    struct issue x = {ARENA_ARRAY(&mem, uint64_t, f->regs.n + 1), 0, 0};
    uint64_t now = 0; /* next cycle in which an instruction may issue */
    for (uint32_t b = 0; b < g->n; b++) {
        for (size_t r = 0; r < f->regs.n; r++) /* blocks are counted separately */
            x.ready[r] = 0;
        const uint64_t start = now;
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++) {
            const struct ptx_inst *in = &f->body.v[i];
            if (ptx_is_pseudo(in))
                continue;
            unsigned flags = ptx_ops[in->op].flags;
            bool memory = flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC);
            enum ptx_space s = ptx_inst_space(in);
            x.at = now;
            defuse_each(in, wait_for, &x);
            x.result = x.at + (memory ? 1 : latency[ptx_ops[in->op].latency]);
            defuse_each(in, set_ready, &x);
            now = x.at + 1;
            if (memory && s != PTX_SPACE_SHARED && s != PTX_SPACE_CONST &&
                s != PTX_SPACE_PARAM)
                c->offchip++;
            else
                c->compute++;
        }
        c->cycles += now - start;
    }
    cfg_free(g);
    arena_free(&mem);
}

double
us_interval(const struct us_count *c)
{
    uint64_t n = c->compute + c->offchip;
    return n > 1 ? (double)(c->cycles - 1) / (double)(n - 1) : 1;
}

/* -- the search -- */

/* Off-chip instructions of CI_pred. */
static uint64_t
memory_of(const struct us_search *s, const struct us_level *l)
{
    return l->count.offchip > s->own_memory ? l->count.offchip - s->own_memory : 0;
}

static bool
holds(const struct us_search *s, const struct us_level *l)
{
    return l->fits && (double)l->count.compute * s->interval >
                          s->most_ratio * (double)memory_of(s, l);
}

/* Of levels that do not spill to local memory the highest. */
static uint32_t
smem_fit(const struct us_search *s)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->level[i].fits && !s->level[i].to_local)
            best = i;
    return best;
}

static void
write_report(const struct us_search *s, const struct us_level *l, struct strbuf *b)
{
    if (!b)
        return;
    if (!l->fits) {
        strbuf_printf(b, "  %u blocks, %u threads: %u registers do not do\n", l->blocks,
                      l->blocks * s->block_threads, l->limit);
        return;
    }
    strbuf_printf(
        b,
        "  %u blocks, %u threads: %u registers, %u spilled to scratchpad, %u to "
        "local memory; CI_pred %llu * %.2f / %llu",
        l->blocks, l->blocks * s->block_threads, l->registers, l->to_slots, l->to_local,
        (unsigned long long)l->count.compute, s->interval,
        (unsigned long long)memory_of(s, l));
    if (memory_of(s, l))
        strbuf_printf(b, " = %.1f",
                      (double)l->count.compute * s->interval / (double)memory_of(s, l));
    strbuf_printf(b, "%s%.1f\n", holds(s, l) ? " > " : ", not above ", s->most_ratio);
}

uint32_t
us_search(const struct us_search *s, struct strbuf *b)
{
    const uint32_t last = s->n - 1, org = 0, fit = smem_fit(s);
    double threads = s->interval * s->cores;
    uint32_t start = (uint32_t)((threads + s->block_threads - 1) / s->block_threads);
    uint32_t cur = start < s->level[0].blocks ? 0 : start - s->level[0].blocks;
    cur = cur > last ? last : cur;
    uint32_t best = org;
    if (b)
        strbuf_printf(b,
                      "  dispatch interval %.2f cycles: %sconcurrency-bound; MAX_cmratio "
                      "%.1f%s\n",
                      s->interval, s->interval > 1 ? "" : "not ", s->most_ratio,
                      s->ratio_given ? "" : ", half of a read of idle DRAM");
    if (s->interval <= 1) {
        write_report(s, &s->level[org], b);
        return org;
    }
    if (b)
        strbuf_printf(b,
                      "  start: %.2f * %u cores = %.0f threads, %u blocks; "
                      "originally %u; without spills to local memory up to %u\n",
                      s->interval, s->cores, threads, start, s->level[0].blocks,
                      s->level[fit].blocks);
    write_report(s, &s->level[cur], b);
    if (holds(s, &s->level[cur])) {
        for (uint32_t i = cur; i <= last; i++) {
            if (i > cur)
                write_report(s, &s->level[i], b);
            if (holds(s, &s->level[i]))
                best = i;
        }
    } else if (cur >= fit || s->least_fit) {
        best = fit;
        for (uint32_t i = cur; i > fit; i--) {
            if (i < cur)
                write_report(s, &s->level[i], b);
            if (holds(s, &s->level[i])) {
                best = i;
                break;
            }
        }
    }
    if (b && best == org)
        strbuf_printf(b, "  chosen: %u blocks, the original number\n",
                      s->level[best].blocks);
    else if (b)
        strbuf_printf(b, "  chosen: %u blocks, %u registers\n", s->level[best].blocks,
                      s->level[best].limit);
    return best;
}
