/* schedule.c: list scheduling within basic blocks (Gibbons and Muchnick, "Efficient Instruction
 * Scheduling for a Pipelined Architecture", 1986), so that loads issue early and their
 * consumers late, as a card's compiler orders them.
 *
 * A block is cut at calls, reads of clocks, labels and directives other than .loc, and behind
 * IEEE quotients and roots where these are several operations (a card branches in them). Each
 * piece becomes a graph of dependences (schedule_graph.c).
 *
 * An instruction's height is the longest path from it to the piece's end. Of the instructions
 * whose operands are there, the highest goes first, as long as what is live stays within the
 * limit; above the limit the order of the source goes on. The new order is kept only if it is
 * estimated faster for a warp alone, and if it keeps to the limit or to what the source needed.
 * A second try lets what no load needs wait a few cycles for a load that will be ready then,
 * so that loads stand together, as ptxas has them. SHORT_WAIT: in ptxas' code for sm_80 an
 * address holds more than 99 loads of 100 back for at most so long (docs/registers.md).
 * Cost: O(n log n) for n instructions. */
#include "passes/schedule.h"
#include "passes/schedule_int.h"

#include "base/pqueue.h"
#include "passes/late_operands.h"
#include "passes/pass.h"
#include "passes/register_step.h"

#include "analysis/defuse.h"
#include "ptx/expansion.h"

/* limits tried for a piece; cycles that what no load needs leaves idle for a load */
enum { TRIES = 4, SHORT_WAIT = 8 };

static const char *const memory_names[SCHED_NLATS - PTX_NLATENCIES] = {"global", "shared",
                                                                       "local", "const"};

/* An order of the piece, and what it costs. */
struct result {
    uint32_t *order;
    uint64_t cycles;
    uint32_t peak; /* most 32-bit registers live */
};

/* -- what is live -- */

static void
count_growth(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    struct sched_use *u = &s->use[r];
    if (!write || partial) {
        if (!--u->left && !u->after && u->live)
            s->growth -= s->units[r];
    } else if (!u->live && (u->left || u->after)) {
        s->growth += s->units[r];
    }
}

static void
undo_growth(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    s->use[r].left += !write || partial;
}

/* By how many registers issuing it would raise what is live. */
static int64_t
growth_of(struct sched *s, const struct ptx_inst *in)
{
    s->growth = 0;
    defuse_each(in, count_growth, s);
    defuse_each(in, undo_growth, s);
    return s->growth;
}

static void
die(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    struct sched_use *u = &s->use[r];
    if ((write && !partial) || --u->left || u->after || !u->live)
        return;
    u->live = false;
    s->now_live -= s->units[r];
}

static void
be_born(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    struct sched_use *u = &s->use[r];
    (void)partial;
    if (!write || u->live || !(u->left || u->after))
        return;
    u->live = true;
    s->now_live += s->units[r];
}

void
schedule_live_start(struct sched *s)
{
    for (size_t i = 0; i < s->touched.n; i++) {
        struct sched_use *u = &s->use[s->touched.v[i]];
        u->left = u->total;
        u->live = u->before;
    }
    s->now_live = s->start;
}

void
schedule_live_step(struct sched *s, const struct ptx_inst *in)
{
    defuse_each(in, die, s);
    defuse_each(in, be_born, s);
}

/* -- orders -- */

struct queues {
    struct pqueue ready, soon; /* by height, highest first; by the cycle they get ready */
};

static void
enter(struct sched *s, struct queues *q, uint32_t i)
{
    q->soon.key[i] = s->node.v[i].ready;
    q->ready.key[i] = (uint64_t)INT64_MAX - (uint64_t)s->node.v[i].height;
    pqueue_add(&q->soon, i);
}

static void
drop_done(const struct sched *s, struct pqueue *q)
{
    while (q->n && s->node.v[q->v[0]].done)
        pqueue_take(q);
}

/* The instruction to issue in cycle `now`; `first`: the source's next. It stays in its
 * queue. */
static uint32_t
choose(struct sched *s, struct queues *q, uint64_t now, uint32_t first, uint32_t limit)
{
    drop_done(s, &q->soon);
    drop_done(s, &q->ready);
    if (!q->ready.n && q->soon.key[q->soon.v[0]] > now)
        now = q->soon.key[q->soon.v[0]]; /* the warp waits until then */
    for (; q->soon.n && q->soon.key[q->soon.v[0]] <= now; drop_done(s, &q->soon))
        pqueue_add(&q->ready, pqueue_take(&q->soon));
    uint32_t c = q->ready.v[0];
    if (s->loads_first && q->ready.n && q->soon.n && !s->node.v[c].feeds) {
        const struct sched_node *next = &s->node.v[q->soon.v[0]];
        if (next->feeds && next->ready <= now + SHORT_WAIT &&
            next->height > s->node.v[c].height)
            c = q->soon.v[0];
    }
    if (c == first)
        return c;
    const struct sched_node *x = &s->node.v[c];
    int64_t growth = growth_of(s, &s->f->body.v[x->inst]);
    int64_t live = s->now_live + (x->between && growth < 0 ? 0 : growth) + x->between;
    return live > (int64_t)limit ? first : c;
}

static void
note_peak(struct result *out, uint32_t live)
{
    out->peak = live > out->peak ? live : out->peak;
}

/* Tries an order: the source's (`in_order`), or that of heights within the limit. */
static void
try(struct sched *s, bool in_order, uint32_t limit, struct result *out)
{
    uint32_t n = (uint32_t)s->node.n, first = 0;
    struct arena mem = {0};
    struct queues q = {pqueue_new(&mem, n), pqueue_new(&mem, n)};
    for (uint32_t i = 0; i < n; i++) {
        s->node.v[i].waits = 0;
        s->node.v[i].ready = 0;
        s->node.v[i].done = false;
    }
    for (size_t e = 0; e < s->succ.n; e++)
        s->node.v[s->succ.v[e].to].waits++;
    for (uint32_t i = 0; i < n; i++)
        if (!s->node.v[i].waits)
            enter(s, &q, i);
    schedule_live_start(s);
    out->peak = s->start;
    uint64_t now = 0, end = 0;
    for (uint32_t k = 0; k < n; k++) {
        while (first < n && s->node.v[first].done)
            first++;
        uint32_t c = in_order ? first : choose(s, &q, now, first, limit);
        struct sched_node *x = &s->node.v[c];
        x->done = true;
        out->order[k] = c;
        now = x->ready > now ? x->ready : now;
        end = now + (uint64_t)x->latency > end ? now + (uint64_t)x->latency : end;
        if (x->between)
            note_peak(out, s->now_live + x->between);
        schedule_live_step(s, &s->f->body.v[x->inst]);
        note_peak(out, s->now_live + x->between);
        uint32_t last = schedule_edges_end(s, c);
        for (uint32_t e = x->first; e < last; e++) {
            struct sched_node *y = &s->node.v[s->succ.v[e].to];
            uint64_t at = now + (uint64_t)s->succ.v[e].latency;
            y->ready = at > y->ready ? at : y->ready;
            if (!--y->waits)
                enter(s, &q, s->succ.v[e].to);
        }
        now += !x->operand;
    }
    out->cycles = end;
    arena_free(&mem);
}

/* Sum over the loads from memory of the instructions from one to its first reader (to the
 * piece's end where there is none). */
static uint64_t
distances(struct sched *s, const uint32_t *order, uint64_t *loads)
{
    uint32_t n = (uint32_t)s->node.n;
    uint32_t *place = ARENA_ARRAY(&s->mem, uint32_t, n + 1);
    uint64_t sum = 0;
    *loads = 0;
    for (uint32_t k = 0; k < n; k++)
        place[order[k]] = k;
    for (uint32_t i = 0; i < n; i++) {
        if (s->node.v[i].order != SCHED_LOAD)
            continue;
        uint32_t near = n, end = schedule_edges_end(s, i);
        for (uint32_t e = s->node.v[i].first; e < end; e++)
            if (s->succ.v[e].latency > 1 && place[s->succ.v[e].to] < near)
                near = place[s->succ.v[e].to];
        sum += near - place[i];
        ++*loads;
    }
    return sum;
}

/* -- pieces -- */

static void
forget_piece(struct sched *s)
{
    for (size_t i = 0; i < s->touched.n; i++)
        s->use[s->touched.v[i]].seen = false;
    s->node.n = s->edge.n = s->succ.n = s->reader.n = s->touched.n = 0;
    s->loads.n = s->stores.n = 0;
    s->fence = 0;
    arena_free(&s->mem);
    s->mem = (struct arena){0};
}

/* Which nodes are loads, or compute what a load needs. */
static void
find_feeding(struct sched *s)
{
    for (uint32_t i = (uint32_t)s->node.n; i-- > 0;) {
        struct sched_node *x = &s->node.v[i];
        const uint32_t end = schedule_edges_end(s, i);
        x->feeds = x->order == SCHED_LOAD;
        for (uint32_t e = x->first; e < end && !x->feeds; e++)
            x->feeds = s->succ.v[e].why == SCHED_WHY_REGISTER &&
                       s->node.v[s->succ.v[e].to].feeds;
    }
}

/* A try within `limit` live registers; true: it kept to them, or to what the source needs. */
static bool
try_within(struct sched *s, uint32_t limit, const struct result *was, struct result *out)
{
    uint32_t most = was->peak > limit ? was->peak : limit;
    for (int k = 0; k < TRIES; k++) {
        try(s, false, limit, out);
        if (out->peak <= most)
            return true;
        if (limit <= out->peak - most)
            return false;
        limit -= out->peak - most; /* what was started had to be ended */
    }
    return false;
}

static void
take(const struct sched *s, const struct result *now, struct result *out)
{
    memcpy(out->order, now->order, s->node.n * sizeof *now->order);
    out->cycles = now->cycles;
    out->peak = now->peak;
}

/* The order with the fewest registers live of those that take at most `enough` cycles. */
static void
use_fewest(struct sched *s, const struct result *was, uint64_t enough, struct result *out)
{
    uint32_t lo = s->maxlive,
             hi = s->limit == UINT32_MAX ? s->maxlive * 4 + 64 : s->limit;
    struct result now = {.order = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1)};
    hi = out->peak < hi ? out->peak : hi;
    for (uint32_t limit = lo; lo < hi; limit = lo + (hi - lo) / 2) {
        if (try_within(s, limit, was, &now) && now.cycles <= enough) {
            take(s, &now, out);
            hi = limit;
        } else {
            lo = limit + 1;
        }
    }
}

/* The fastest order within s->limit, if it is faster than the source's; or one that takes a
 * sixty-fourth more cycles: that with the fewest registers, or, where registers cost no warps,
 * that with loads first in what a thread is given for those. */
static bool
search(struct sched *s, const struct result *was, struct result *out)
{
    if (!try_within(s, s->limit, was, out) || out->cycles >= was->cycles)
        return false;
    uint64_t enough = out->cycles + out->cycles / 64;
    enough = enough < was->cycles ? enough : was->cycles - 1;
    use_fewest(s, was, enough, out);
    if (!s->free_registers)
        return true;
    struct result now = {.order = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1)};
    uint32_t limit = out->peak > s->maxlive ? out->peak : s->maxlive;
    limit = register_given(limit, s->reserved);
    s->loads_first = true;
    if (try_within(s, limit < s->limit ? limit : s->limit, was, &now) &&
        now.cycles <= enough)
        take(s, &now, out);
    s->loads_first = false;
    return true;
}

/* Orders the piece's nodes; s->set: what is live behind it, then before it. */
static void
order_piece(struct sched *s, uint32_t first, uint32_t end)
{
    for (uint32_t i = end; i-- > first;)
        live_step_back(&s->f->body.v[i], &s->set);
    s->start = 0;
    for (uint32_t i = 0; i < s->set.n; i++)
        s->start += s->units[s->set.reg[i]];
    for (size_t i = 0; i < s->touched.n; i++)
        s->use[s->touched.v[i]].before =
            s->touched.v[i] != s->carry && live_has(&s->set, s->touched.v[i]);
    uint32_t n = (uint32_t)s->node.n;
    struct result was = {.order = ARENA_ARRAY(&s->mem, uint32_t, n + 1)};
    struct result now = {.order = ARENA_ARRAY(&s->mem, uint32_t, n + 1)};
    schedule_finish_graph(s);
    find_feeding(s);
    try(s, true, 0, &was);
    bool better = !s->as_it_is && search(s, &was, &now);
    if (s->loads_of)
        schedule_note_loads(s, better ? now.order : was.order, first);
    uint64_t loads;
    uint64_t far = distances(s, was.order, &loads);
    s->nloads += loads;
    s->far_before += far;
    s->far_after += better ? distances(s, now.order, &loads) : far;
    s->before += was.cycles;
    s->after += better ? now.cycles : was.cycles;
    s->changed += better;
    if (!better)
        return;
    for (uint32_t k = 0; k < n; k++) /* .loc directives within go to the end */
        s->order[first + k] = s->node.v[now.order[k]].inst;
    for (uint32_t i = first, k = first + n; i < end; i++)
        if (schedule_is_loc(&s->f->body.v[i]))
            s->order[k++] = i;
}

/* Whether a piece ends behind instruction i: a card branches in it, and nothing that stands
 * behind moves before that. */
static bool
ends_piece(const struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    return s->expanded && !schedule_is_loc(in) && ptx_machine_branches(in);
}

/* Walks a block from its end, piece by piece. */
static void
order_block(struct sched *s, uint32_t b)
{
    const struct cfg_block *blk = &s->live->cfg->block[b];
    live_set_end(s->live, b, &s->set);
    for (uint32_t end = blk->end; end > blk->first;) {
        uint32_t first = end;
        while (first > blk->first &&
               (schedule_is_loc(&s->f->body.v[first - 1]) ||
                (schedule_order_of(s->f, &s->f->body.v[first - 1]) != SCHED_STAYS &&
                 (first == end || !ends_piece(s, first - 1)))))
            first--;
        if (first == end) {
            live_step_back(&s->f->body.v[--end], &s->set);
            continue;
        }
        for (uint32_t i = first; i < end; i++)
            if (!schedule_is_loc(&s->f->body.v[i]))
                schedule_add(s, i);
        order_piece(s, first, end);
        forget_piece(s);
        end = first;
    }
}

/* -- the function -- */

/* The body in its new order, each instruction behind the .loc that it stood behind. */
static void
reorder(struct ptx_func *f, const uint32_t *order)
{
    size_t n = f->body.n;
    struct ptx_inst *was = xmalloc((n + 1) * sizeof *was);
    int32_t *loc = xmalloc((n + 1) * sizeof *loc), at = -1;
    memcpy(was, f->body.v, n * sizeof *was);
    for (size_t i = 0; i < n; i++) {
        at = schedule_is_loc(&was[i]) ? (int32_t)i : at;
        loc[i] = at;
    }
    f->body.n = 0;
    at = -1;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = order[k];
        if (schedule_is_loc(&was[i]))
            continue;
        if (loc[i] != at && loc[i] >= 0)
            *vec_push(&f->body) = was[loc[i]];
        at = loc[i];
        *vec_push(&f->body) = was[i];
    }
    free(was);
    free(loc);
}

/* Of so many registers, those that may be live; one in sixteen is left to the allocator, which
 * may need more, since pairs and vectors are aligned. */
static uint32_t
room(uint32_t registers)
{
    return registers - registers / 16;
}

/* Most registers with which as many warps fit as with what the function needs as it is. Some
 * are left to the allocator. */
static uint32_t
step_limit(const struct ptx_func *f, uint32_t regs, const struct register_room *given)
{
    uint32_t step = room(register_step(f, regs, given));
    return step > regs ? step : regs;
}

/* latencies=CLASS=CYCLES+CLASS=CYCLES... */
static bool
read_latencies(struct sched *s, const struct pass_args *a, struct diag_sink *diag)
{
    char *text = xstrdup(pass_arg(a, "latencies")), *save = NULL;
    bool ok = true;
    for (int i = 0; i < SCHED_NLATS; i++)
        s->latency[i] = 4;
    for (char *p = strtok_r(text, "+", &save); p && ok; p = strtok_r(NULL, "+", &save)) {
        char *eq = strchr(p, '='), *end = NULL;
        long cycles = eq ? strtol(eq + 1, &end, 10) : 0;
        int at = -1;
        if (eq)
            *eq = 0;
        for (int i = 0; i < SCHED_NLATS; i++)
            if (!strcmp(p, i < PTX_NLATENCIES ? ptx_latency_names[i]
                                              : memory_names[i - PTX_NLATENCIES]))
                at = i;
        if (!eq || *end || end == eq + 1 || cycles < 0 || cycles > 100000 || at < 0)
            ok =
                diag_error(diag,
                           "schedule: latencies has '%s%s%s'; it takes CLASS=CYCLES, "
                           "joined by +, of the classes of a machine's latency group and "
                           "global, shared, local, const",
                           p, eq ? "=" : "", eq ? eq + 1 : "");
        else
            s->latency[at] = (int32_t)cycles;
    }
    free(text);
    return ok;
}

static bool
read_limit(struct sched *s, const struct pass_args *a, struct diag_sink *diag)
{
    const char *text = pass_arg(a, "registers");
    double registers, warps, most, reserved, n;
    if (!pass_arg_number(a, "sm-registers", 1, 1 << 24, &registers, diag) ||
        !pass_arg_number(a, "sm-warps", 1, 1024, &warps, diag) ||
        !pass_arg_number(a, "max-registers", 1, 65535, &most, diag) ||
        !pass_arg_number(a, "reserved", 0, 16, &reserved, diag))
        return false;
    const struct register_room given = {(uint32_t)registers, (uint32_t)warps,
                                        (uint32_t)most, (uint32_t)reserved};
    s->reserved = given.reserved;
    s->limit = UINT32_MAX;
    s->free_registers = !strcmp(text, "step");
    if (s->free_registers)
        s->limit = step_limit(s->f, s->maxlive, &given);
    else if (!strcmp(text, "machine"))
        s->limit = room(given.most);
    else if (strcmp(text, "none") != 0) {
        if (!pass_arg_number(a, "registers", 1, 65535, &n, diag))
            return false;
        s->limit = (uint32_t)n;
    }
    return true;
}

static void
tell(const struct sched *s, struct strbuf *report)
{
    if (!report || !s->nloads)
        return;
    strbuf_printf(report,
                  "%s: %u pieces reordered, %llu -> %llu cycles of a warp alone, "
                  "%.1f -> %.1f instructions from a load to its first use, ",
                  s->f->name, s->changed, (unsigned long long)s->before,
                  (unsigned long long)s->after, (double)s->far_before / (double)s->nloads,
                  (double)s->far_after / (double)s->nloads);
    if (s->limit == UINT32_MAX)
        strbuf_addz(report, "no limit of registers\n");
    else
        strbuf_printf(report, "within %u live registers\n", s->limit);
    schedule_tell_loads(s->loads_of, s->f, report);
}

/* The most registers that the source needs. */
static void
note_most(void *user, uint32_t inst, bool behind, const struct live_set *set,
          uint32_t registers, uint32_t predicates)
{
    struct sched *s = user;
    (void)behind;
    (void)set;
    (void)predicates;
    if (s->expanded)
        registers += ptx_machine_registers(&s->f->body.v[inst]);
    s->maxlive = registers > s->maxlive ? registers : s->maxlive;
}

/* What is done to a function. */
struct task {
    uint32_t limit;               /* 0: as the pass's settings say */
    bool as_it_is;                /* loads are looked at, nothing is ordered */
    struct schedule_loads *loads; /* NULL: they are not asked for */
};

/* Orders f, whose facts are x. */
static bool
order_function(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
               struct task t, bool *changed, struct diag_sink *diag)
{
    struct arena mem = {0};
    struct schedule_loads told = {0};
    struct sched s = {.f = f,
                      .live = x->live,
                      .carry = (uint32_t)f->regs.n,
                      .limit = t.limit,
                      .as_it_is = t.as_it_is,
                      .expanded = !strcmp(pass_arg(a, "expanded"), "yes"),
                      .loads_of = t.loads     ? t.loads
                                  : a->report ? &told
                                              : NULL};
    if (s.loads_of)
        s.loads_of->ordered = !t.as_it_is;
    s.set = live_set_new(&mem, x->live->nregs);
    s.use = ARENA_ARRAY(&mem, struct sched_use, f->regs.n + 1);
    s.units = ARENA_ARRAY(&mem, uint8_t, f->regs.n + 1);
    s.order = ARENA_ARRAY(&mem, uint32_t, f->body.n + 1);
    s.operand = !strcmp(pass_arg(a, "operands"), "late")
                    ? late_operands_find(f, x->defs, &mem)
                    : ARENA_ARRAY(&mem, bool, f->regs.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++)
        s.order[i] = i;
    bool allocated = false;
    for (size_t r = 0; r < f->regs.n; r++) {
        allocated |= f->regs.v[r].place != 0;
        s.units[r] =
            s.operand[r] ? 0 : (uint8_t)((ptx_type_bytes(f->regs.v[r].type) + 3) / 4);
    }
    live_each_point_without(s.live, s.operand, note_most, &s);
    bool ok = read_latencies(&s, a, diag) && (t.limit || read_limit(&s, a, diag));
    if (ok && allocated) { /* names of physical registers overlap */
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "schedule: the registers of %s are allocated", f->name);
        diag_hint(diag, d, "put register-allocate behind it");
        ok = false;
    }
    for (uint32_t b = 0; ok && b < x->cfg->n; b++)
        if (x->cfg->block[b].rpo >= 0)
            order_block(&s, b);
    if (ok && s.changed) {
        reorder(f, s.order);
        *changed = true;
    }
    if (ok)
        tell(&s, a->report);
    vec_free(&told.load);
    vec_free(&s.node);
    vec_free(&s.edge);
    vec_free(&s.succ);
    vec_free(&s.reader);
    vec_free(&s.touched);
    vec_free(&s.loads);
    vec_free(&s.stores);
    arena_free(&mem);
    return ok;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    return order_function(f, x, a, (struct task){0}, changed, diag);
}

/* The same of a function without facts, for another pass: nothing is reported. */
static bool
order_alone(struct ptx_func *f, const struct pass_args *a, struct task t,
            struct diag_sink *diag)
{
    struct pass_facts x = {.cfg = cfg_new(f)};
    struct pass_args quiet = *a;
    bool changed = false;
    x.live = live_new(x.cfg);
    x.defs = defs_new(x.cfg);
    quiet.report = NULL;
    bool ok = order_function(f, &x, &quiet, t, &changed, diag);
    defs_free(x.defs);
    live_free(x.live);
    cfg_free(x.cfg);
    return ok;
}

bool
schedule_within(struct ptx_func *f, const struct pass_args *a, uint32_t registers,
                struct diag_sink *diag)
{
    return order_alone(f, a, (struct task){.limit = room(registers)}, diag);
}

bool
schedule_loads(struct ptx_func *f, const struct pass_args *a, bool order,
               struct schedule_loads *out, struct diag_sink *diag)
{
    return order_alone(f, a, (struct task){.as_it_is = !order, .loads = out}, diag);
}

static const struct pass_key keys[] = {
    {"registers", "step",
     "most 32-bit registers live at once: a number, none, machine: what it gives a thread, "
     "or step: as many as leave the warps of an SM what they are"},
    {"operands", "early",
     "late: parameters, constants and literals take no registers, since pass late-operands "
     "reads them where they are used; early: they take registers"},
    {"expanded", "no",
     "yes: what instructions need in between on a card takes registers; the machine's"},
    {"latencies", "global=500+local=500+shared=25+const=25+sfu=20+tensor=30",
     "cycles by class, CLASS=CYCLES joined by +, 4 where not given; the machine's"},
    {"max-registers", "255", "most registers of a thread; the machine's"},
    {"sm-registers", "65536", "registers of an SM; the machine's"},
    {"sm-warps", "64", "warps of an SM; the machine's"},
    {"reserved", "0", "registers beside them that a thread takes; the machine's"},
    {0}};

const struct pass pass_schedule = {
    .name = "schedule",
    .meaning = "orders instructions so that loads issue early (list scheduling)",
    .keys = keys,
    .run_func = run,
    .needs = AN_CFG | AN_DEFS | AN_LIVE,
};
