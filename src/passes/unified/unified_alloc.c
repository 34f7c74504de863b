/* unified_alloc.c: unified on-chip memory allocation (002 section 3; UA-1 to UA-3 of the
 * documents): registers first, then scratchpad that nobody uses, then local memory.
 *
 *   1. Every function is allocated to the limit of registers, with schedule=yes in an
 *      order made for that limit, as the document has nvcc's code "with a fixed register
 *      count". A kernel that spills nothing is done.
 *   2. Slots that are free: as many as leave an SM the blocks that it holds without them,
 *      with the kernel's registers, its own scratchpad, static and dynamic, and the
 *      threads of its blocks. A slot is a word of each thread of the block.
 *   3. The kernel's functions are allocated again with one register less, which becomes
 *      the base (002 section 5: "one fixed register as a shared-memory stack pointer"),
 *      and where they call with two less, the second to move slots.
 *   4. Spilled values go to slots (unified_slots.c); the rest stays in local memory.
 *
 * Local memory alone is used, and said so, where a kernel's calls are recursive or
 * indirect, for functions that several kernels of the module call, where no slot is free,
 * and where fewer registers than the limit cannot do. */
#include "passes/unified/unified_alloc.h"
#include "passes/sched/schedule.h"
#include "passes/unified/unified_alloc_int.h"

#include "analysis/usage.h"
#include "machine/latency.h"
#include "machine/occupancy.h"

#include <string.h>

/* ptxas refuses kernels with more static scratchpad */
enum { MOST_STATIC = 48 << 10, MOST_SLOTS = 1024 };

/* A function of the module. */
struct func {
    struct ptx_func *f;
    struct ptx_func *before; /* as it was read; NULL: left as it is */
    uint32_t limit;          /* registers by its directives and the machine */
    uint32_t wanted;         /* by its kernels */
    uint32_t now;            /* the lesser one, or that of an attempt */
    struct ra_result r;
    uint32_t users; /* kernels that reach it */
};

/* What became of a kernel. */
struct outcome {
    uint32_t to_slots, to_local; /* spilled values */
    uint32_t registers;          /* of a thread */
    struct us_count count;
};

struct unified {
    struct ptx_module *m;
    const struct pass_args *args;
    struct diag_sink *diag;
    struct func *func; /* the n functions with a body */
    size_t n;
    double max_registers, sm_registers, sm_warps, banks, reserved;
    double dynamic, threads, max_threads, share;
    double scratchpad; /* bytes of a block; -1: what is free */
    double registers;  /* 0: auto */
    double most_ratio; /* 0: the machine's */
    bool spills_alone; /* CI_pred counts what spilling adds */
    bool least_fit;    /* the search ends no lower than without spills to local memory */
    bool schedule;     /* within the registers at hand */
    enum slots_rule prune;
    uint32_t latency[PTX_NLATENCIES];
};

/* -- the launch -- */

/* The block that kernel f runs with. */
static struct us_block
block_of(const struct unified *u, const struct ptx_func *f)
{
    struct us_block b = {.threads = 1, .prune = u->prune};
    const struct pass_launch *l = u->args->launch;
    const uint32_t *most = f->reqntid[0] ? f->reqntid : f->maxntid[0] ? f->maxntid : NULL;
    bool launched = l->kernel && !strcmp(l->kernel, f->name);
    for (int i = 0; i < 3; i++) {
        uint32_t dim = launched ? l->block[i] : most && most[i] ? most[i] : 1;
        b.threads *= dim;
        b.dim[i] = launched || f->reqntid[0] ? dim : 0;
    }
    if (!launched && !most)
        b.threads = (uint32_t)(u->threads > 0 ? u->threads : u->max_threads);
    b.stride = (b.threads + 31) / 32 * 32 * 4;
    return b;
}

/* Blocks that an SM holds; 0: not one, or there is no machine. */
static uint32_t
blocks(const struct unified *u, const struct occ_kernel *k)
{
    const struct machine *m = u->args->launch->machine;
    struct diag_sink quiet = {0};
    struct allot_occupancy o;
    if (!m)
        return 0;
    struct occ_kernel with = *k;
    with.registers += m->sm.reserved_registers;
    bool share = u->share < 1;
    bool ok = occ_compute(m, &with, share ? OCC_SHARE_SCRATCHPAD : OCC_SHARE_NONE,
                          u->share, &o, &quiet);
    diag_free(&quiet);
    return ok ? o.resident_blocks : 0;
}

/* Slots that the kernel may have so that an SM holds `least` blocks. */
static uint32_t
free_slots(const struct unified *u, const struct occ_kernel *own, uint32_t fixed,
           const struct us_block *b, uint32_t least)
{
    uint32_t n = 0;
    for (uint32_t s = 1; s <= MOST_SLOTS; s++) {
        uint64_t bytes = (uint64_t)s * b->stride;
        struct occ_kernel k = *own;
        k.scratchpad = (k.scratchpad + 3) / 4 * 4 + (uint32_t)bytes;
        if ((fixed + 3) / 4 * 4 + bytes > MOST_STATIC ||
            (u->scratchpad >= 0 ? (double)bytes > u->scratchpad : blocks(u, &k) < least))
            break;
        n = s;
    }
    return n;
}

/* -- functions of a kernel -- */

static struct func *
func_of(const struct unified *u, const struct ptx_func *f)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->func[i].f == f)
            return &u->func[i];
    return NULL;
}

static bool
calls(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].op == PTX_OP_CALL)
            return true;
    return false;
}

static bool
calls_indirectly(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        for (unsigned k = 0; f->body.v[i].op == PTX_OP_CALL && k < f->body.v[i].nops; k++)
            if (f->body.v[i].ops[k].kind == PTX_OPD_REG)
                return true;
    return false;
}

static bool
allocate(const struct unified *u, struct func *x, uint32_t limit, struct diag_sink *diag)
{
    const struct ra_spreading spread = {
        (unsigned)u->banks,
        {(uint32_t)u->sm_registers, (uint32_t)u->sm_warps, limit, (uint32_t)u->reserved}};
    ra_restore(x->f, x->before);
    return (!u->schedule || schedule_within(x->f, u->args, limit, diag)) &&
           ra_allocate(x->f, limit, true, &spread, &x->r,
                       diag); /* 002's code is a card's */
}

/* Allocates with registers to spare for the base and, where it calls, the mover. False: it
 * cannot do with so few; it is then as it was. */
static bool
allocate_sparing(const struct unified *u, struct func *x, bool *ok)
{
    struct diag_sink quiet = diag_child(u->diag);
    uint32_t spare = 1 + calls(x->before);
    bool did = x->now > spare && allocate(u, x, x->now - spare, &quiet);
    diag_free(&quiet);
    *ok = did || allocate(u, x, x->now, u->diag);
    return did;
}

static void
note(const struct unified *u, const struct ptx_func *f, const char *why)
{
    if (u->args->report)
        strbuf_printf(u->args->report, "%s: spilled to local memory alone: %s\n", f->name,
                      why);
}

/* What a kernel asks of an SM as its functions stand. */
static struct occ_kernel
demand(const struct unified *u, const struct ptx_func *kernel, const struct us_block *b,
       uint32_t *fixed)
{
    struct usage use;
    usage_of(kernel, &use);
    const struct pass_launch *l = u->args->launch;
    struct occ_kernel k = {.threads = b->threads, .registers = use.registers};
    *fixed = use.scratchpad;
    k.scratchpad =
        use.scratchpad + (l->kernel ? l->dynamic_scratchpad : (uint32_t)u->dynamic);
    usage_free(&use);
    return k;
}

/* Steps 2 to 4 for a kernel; fn: its functions, x: those of the module that they are. */
static bool
place(const struct unified *u, struct us_func *fn, struct func **x, size_t n)
{
    struct ptx_func *kernel = fn[0].f;
    struct us_block b = block_of(u, kernel);
    struct us_result out = {0};
    uint32_t fixed, spare = 0, free;
    struct occ_kernel without = demand(u, kernel, &b, &fixed);
    bool ok = true;
    if (!u->args->launch->machine)
        return note(u, kernel, "no machine says what is free"), true;
    if (!blocks(u, &without))
        return note(u, kernel, "an SM does not hold one block"), true;
    for (size_t i = 0; i < n && ok; i++) {
        if (!x[i] || !x[i]->r.slots || x[i]->users > 1)
            continue;
        fn[i].local = allocate_sparing(u, x[i], &ok) ? x[i]->r.slots : NULL;
        fn[i].f->registers += fn[i].local ? 1 + fn[i].calls : 0;
    }
    struct occ_kernel own = demand(u, kernel, &b, &fixed);
    free = free_slots(u, &own, fixed, &b, blocks(u, &without));
    for (size_t i = 0; i < n && ok; i++) {
        fn[i].f->registers -= fn[i].local ? 1 + fn[i].calls : 0;
        spare |= fn[i].local != NULL;
    }
    if (ok && free && spare)
        ok = us_place(fn, n, &b, free, &out, u->diag);
    for (size_t i = 0; i < n && ok; i++)
        if (fn[i].local && !fn[i].to_slots) /* a value is worth more than an address */
            ok = allocate(u, x[i], x[i]->now, u->diag);
    if (ok && !out.slots)
        return note(u, kernel,
                    !spare  ? "no register can be spared for an address"
                    : !free ? "no scratchpad is free"
                            : "no slot takes what is spilled"),
               true;
    if (ok && !kernel->reqntid[0] && !kernel->maxntid[0]) {
        kernel->maxntid[0] = b.threads; /* slots are there for that many */
        kernel->maxntid[1] = kernel->maxntid[2] = 1;
    }
    if (ok && u->args->report)
        strbuf_printf(u->args->report,
                      "%s: %u slots of scratchpad a thread, %llu bytes a block of %u "
                      "threads (%u slots are free); %u moves of the stack\n",
                      kernel->name, out.slots, (unsigned long long)out.bytes, b.threads,
                      free, out.moves);
    return ok;
}

static bool
one_kernel(const struct unified *u, struct ptx_func *kernel, struct outcome *out)
{
    struct usage use;
    usage_of(kernel, &use);
    size_t n = use.funcs.n;
    struct us_func *fn = xcalloc(n, sizeof *fn);
    struct func **x = xcalloc(n, sizeof *x);
    bool spills = false, indirect = false;
    for (size_t i = 0; i < n; i++) {
        x[i] = func_of(u, use.funcs.v[i]);
        fn[i] = (struct us_func){.f = x[i]->f, .calls = calls(x[i]->f)};
        indirect |= calls_indirectly(fn[i].f);
        spills |= x[i]->r.slots != NULL;
        if (!x[i]->before)
            x[i] = NULL;
    }
    bool ok = true;
    if (!spills)
        ;
    else if (indirect)
        note(u, kernel,
             "it calls through an address, so what is live below is not known");
    else if (us_recursive(fn, n))
        note(u, kernel, "its calls are recursive, so no number of slots is enough");
    else
        ok = place(u, fn, x, n);
    for (size_t i = 0; i < n && ok && u->args->report; i++)
        if (x[i])
            strbuf_printf(
                u->args->report,
                "%s: %u registers, %u predicates; %u spilled, %u to scratchpad, %u to "
                "local memory (%llu bytes); %u rematerialised where they are read\n",
                fn[i].f->name, fn[i].f->registers, fn[i].f->predicates, x[i]->r.spilled,
                fn[i].to_slots, x[i]->r.spilled - fn[i].to_slots,
                (unsigned long long)(x[i]->r.slots ? x[i]->r.slots->size : 0),
                x[i]->r.rematerialised);
    *out = (struct outcome){0};
    for (size_t i = 0; i < n && ok; i++) {
        us_count(fn[i].f, u->latency, &out->count);
        out->to_slots += fn[i].to_slots;
        out->to_local += x[i] ? x[i]->r.spilled - fn[i].to_slots : 0;
    }
    free(fn);
    free(x);
    usage_free(&use);
    return ok;
}

static void
count_users(const struct unified *u)
{
    for (size_t i = 0; i < u->n; i++) {
        struct usage use;
        if (!u->func[i].f->is_entry)
            continue;
        usage_of(u->func[i].f, &use);
        for (size_t k = 0; k < use.funcs.n; k++)
            func_of(u, use.funcs.v[k])->users++;
        usage_free(&use);
    }
}

/* -- registers=auto -- */

/* The functions of a kernel get at most `limit` registers, and what spills a place. What
 * it adds to the module is taken out again; the functions' code stays until the next
 * allocation. */
static bool
attempt(const struct unified *u, struct ptx_func *kernel, uint32_t limit,
        struct outcome *out)
{
    struct pass_args quiet_args = *u->args;
    struct diag_sink quiet = diag_child(u->diag);
    struct unified v = *u;
    const size_t vars = u->m->vars.n;
    const uint32_t most = kernel->maxntid[0];
    struct usage use;
    bool ok = true;
    quiet_args.report = NULL;
    v.args = &quiet_args;
    v.diag = &quiet;
    usage_of(kernel, &use);
    for (size_t i = 0; i < use.funcs.n && ok; i++) {
        struct func *x = func_of(u, use.funcs.v[i]);
        x->now = x->limit < limit ? x->limit : limit;
        ok = !x->before || allocate(u, x, x->now, &quiet);
    }
    usage_free(&use);
    if (ok) {
        ok = one_kernel(&v, kernel, out);
        usage_of(kernel, &use);
        out->registers = use.registers;
        usage_free(&use);
    }
    u->m->vars.n = vars;
    if (!most)
        kernel->maxntid[0] = kernel->maxntid[1] = kernel->maxntid[2] = 0;
    diag_free(&quiet);
    return ok;
}

/* The most registers with which an SM holds `least` blocks; 0: none do. */
static uint32_t
registers_for(const struct unified *u, const struct occ_kernel *own, uint32_t least)
{
    struct occ_kernel k = *own;
    for (k.registers = own->registers; k.registers; k.registers--)
        if (blocks(u, &k) >= least)
            return k.registers;
    return 0;
}

static uint32_t
cores(const struct machine *m)
{
    uint32_t units = (uint32_t)m->unit.sp;
    uint32_t issues = (uint32_t)(m->sm.schedulers * m->sm.issue_width);
    return 32 * (units < issues ? units : issues);
}

/* MOST_TRIED: instructions times allocations of one search, but FEWEST allocations at least. A
 * kernel of 1,000 instructions may be allocated 16 times. */
enum { MOST_LEVELS = 64, MOST_TRIED = 16000, FEWEST = 4 };

/* How many limits of n may be tried for the kernel. */
static uint32_t
most_tried(const struct unified *u, const struct ptx_func *kernel, uint32_t n)
{
    struct usage use;
    size_t instructions = 1;
    usage_of(kernel, &use);
    for (size_t i = 0; i < use.funcs.n; i++) {
        const struct func *x = func_of(u, use.funcs.v[i]);
        instructions += (x->before ? x->before : x->f)->body.n;
    }
    usage_free(&use);
    const uint32_t most =
        instructions < MOST_TRIED ? (uint32_t)(MOST_TRIED / instructions) : 0;
    return most < FEWEST ? (n < FEWEST ? n : FEWEST) : most < n ? most : n;
}

/* The limits of levels 1 to n: levels of one limit have the same code. Where there are more
 * limits than may be tried, a level takes that of a later one, with which an SM holds its
 * blocks too: those left lie evenly, and the last is one of them. */
static void
thin_levels(const struct unified *u, const struct ptx_func *kernel,
            struct us_level *level, uint32_t n)
{
    uint32_t limits = 0;
    for (uint32_t i = 1; i < n; i++)
        limits += i == 1 || level[i].limit != level[i - 1].limit;
    const uint32_t most = most_tried(u, kernel, limits);
    uint32_t limit = 0, place = limits;
    for (uint32_t i = n; most < limits && i-- > 1;) {
        const bool other = i + 1 == n || level[i].limit != limit;
        limit = level[i].limit;
        place -= other;
        /* place * most / limits rises by one at the limits that stay */
        const bool stays =
            (place + 1) * most / limits > place * most / limits || place + 1 == limits;
        if (!stays)
            level[i].limit = level[i + 1].limit;
    }
}

/* The kernel at every level, from the registers that it wants on. Returns how many there
 * are; 0: an SM does not hold one block, or the kernel cannot be allocated. */
static uint32_t
find_levels(const struct unified *u, struct ptx_func *kernel,
            struct us_level level[MOST_LEVELS])
{
    struct us_block block = block_of(u, kernel);
    struct outcome out;
    uint32_t fixed, n = 0;
    struct occ_kernel own = demand(u, kernel, &block, &fixed);
    if (!attempt(u, kernel, (uint32_t)u->max_registers, &out))
        return 0;
    own.registers = out.registers;
    uint32_t least = blocks(u, &own);
    for (; least && n < MOST_LEVELS; n++) {
        /* The original number keeps the original code, which another limit would order again. */
        level[n] = (struct us_level){.blocks = least + n,
                                     .limit = n ? registers_for(u, &own, least + n)
                                                : (uint32_t)u->max_registers};
        if (!level[n].limit)
            break;
    }
    thin_levels(u, kernel, level, n);
    for (uint32_t i = 0; i < n; i++) {
        struct us_level *l = &level[i];
        const bool same = i > 1 && l->limit == l[-1].limit;
        l->fits = same ? l[-1].fits : !i || attempt(u, kernel, l->limit, &out);
        if (!l->fits)
            continue;
        l->registers = out.registers;
        l->to_slots = out.to_slots;
        l->to_local = out.to_local;
        l->count = out.count;
    }
    return n;
}

/* Off-chip instructions of a kernel and what it calls, before allocation. */
static uint64_t
own_memory(const struct unified *u, const struct ptx_func *kernel)
{
    struct us_count c = {0};
    struct usage use;
    usage_of(kernel, &use);
    for (size_t k = 0; k < use.funcs.n; k++) {
        const struct func *x = func_of(u, use.funcs.v[k]);
        us_count(x->before ? x->before : x->f, u->latency, &c);
    }
    usage_free(&use);
    return c.offchip;
}

/* Figure 5 over the levels: which one. */
static uint32_t
choose(const struct unified *u, const struct ptx_func *kernel,
       const struct us_level *level, uint32_t n)
{
    const struct machine *m = u->args->launch->machine;
    struct strbuf *b = u->args->report;
    struct us_search s = {.level = level,
                          .n = n,
                          .block_threads = block_of(u, kernel).threads,
                          .cores = cores(m),
                          .interval = us_interval(&level[0].count),
                          .ratio_given = u->most_ratio > 0,
                          .least_fit = u->least_fit,
                          .own_memory = u->spills_alone ? own_memory(u, kernel) : 0};
    s.most_ratio = s.ratio_given ? u->most_ratio : latency_dram(m) / 2;
    if (b)
        strbuf_printf(b, "%s: %u registers wanted, %u blocks of %u threads\n",
                      kernel->name, level[0].registers, level[0].blocks, s.block_threads);
    return us_search(&s, b);
}

/* Registers for the kernel; 0: it keeps what it wants. */
static uint32_t
search(const struct unified *u, struct ptx_func *kernel)
{
    struct us_level level[MOST_LEVELS];
    uint32_t n = find_levels(u, kernel, level);
    if (!n && u->args->report)
        strbuf_printf(u->args->report, "%s: an SM does not hold a block of %u threads\n",
                      kernel->name, block_of(u, kernel).threads);
    return n ? level[choose(u, kernel, level, n)].limit : 0;
}

static bool
read_args(struct unified *u)
{
    const struct pass_args *a = u->args;
    struct diag_sink *d = u->diag;
    bool all = !strcmp(pass_arg(a, "scratchpad"), "free");
    bool automatic = !strcmp(pass_arg(a, "registers"), "auto");
    const struct machine *m = a->launch->machine;
    const char *schedule = pass_arg(a, "schedule");
    u->schedule = !strcmp(schedule, "yes");
    if (!u->schedule && strcmp(schedule, "no") != 0)
        return diag_error(d, "pass unified-alloc: schedule=%s: give yes or no", schedule);
    const char *memory = pass_arg(a, "memory");
    u->spills_alone = !strcmp(memory, "spills");
    if (!u->spills_alone && strcmp(memory, "all") != 0)
        return diag_error(d, "pass unified-alloc: memory=%s: give all or spills", memory);
    const char *least = pass_arg(a, "least");
    u->least_fit = !strcmp(least, "fit");
    if (!u->least_fit && strcmp(least, "original") != 0)
        return diag_error(d, "pass unified-alloc: least=%s: give original or fit", least);
    const char *prune = pass_arg(a, "prune");
    u->prune = !strcmp(prune, "most") ? SLOTS_MOST_FREQUENT : SLOTS_LEAST_FREQUENT;
    if (u->prune == SLOTS_LEAST_FREQUENT && strcmp(prune, "least") != 0)
        return diag_error(d, "pass unified-alloc: prune=%s: give least or most", prune);
    u->scratchpad = -1;
    for (int i = 0; m && i < PTX_NLATENCIES; i++)
        u->latency[i] = latency_dependent(m, (unsigned)i);
    return pass_arg_number(a, "max-registers", 1, RA_MAX_UNITS, &u->max_registers, d) &&
           pass_arg_number(a, "sm-registers", 1024, 1 << 20, &u->sm_registers, d) &&
           pass_arg_number(a, "sm-warps", 1, 1024, &u->sm_warps, d) &&
           pass_arg_number(a, "banks", 0, 64, &u->banks, d) &&
           pass_arg_number(a, "reserved", 0, 16, &u->reserved, d) &&
           pass_arg_number(a, "dynamic", 0, 16 << 20, &u->dynamic, d) &&
           pass_arg_number(a, "threads", 0, 65536, &u->threads, d) &&
           pass_arg_number(a, "max-threads", 1, 65536, &u->max_threads, d) &&
           pass_arg_number(a, "share", 0, 1, &u->share, d) &&
           (all || pass_arg_number(a, "scratchpad", 0, MOST_STATIC, &u->scratchpad, d)) &&
           (automatic ||
            pass_arg_number(a, "registers", 1, RA_MAX_UNITS, &u->registers, d)) &&
           (!strcmp(pass_arg(a, "max-cmratio"), "machine") ||
            pass_arg_number(a, "max-cmratio", 1, 1e6, &u->most_ratio, d)) &&
           (!automatic || m ||
            diag_error(d, "pass unified-alloc: registers=auto needs a machine"));
}

/* Limits of all functions: those of their kernels. */
static void
set_limits(const struct unified *u)
{
    for (size_t i = 0; i < u->n; i++)
        u->func[i].now = u->func[i].limit;
    for (size_t i = 0; i < u->n; i++) {
        struct ptx_func *f = u->func[i].f;
        if (!f->is_entry)
            continue;
        uint32_t n = (uint32_t)u->registers;
        if (!n && !(n = search(u, f)))
            continue;
        struct usage use;
        usage_of(f, &use);
        for (size_t k = 0; k < use.funcs.n; k++) {
            struct func *x = func_of(u, use.funcs.v[k]);
            x->wanted = n < x->wanted ? n : x->wanted;
        }
        usage_free(&use);
    }
    for (size_t i = 0; i < u->n; i++)
        u->func[i].now =
            u->func[i].wanted < u->func[i].limit ? u->func[i].wanted : u->func[i].limit;
}

/* The machine's limits, and the functions of the module. */
static void
begin(struct unified *u)
{
    struct ptx_module *m = u->m;
    const struct machine *on = u->args->launch->machine;
    if (on && u->max_registers > on->sm.max_registers - u->reserved)
        u->max_registers = on->sm.max_registers - u->reserved;
    if (on && u->sm_registers > on->sm.registers)
        u->sm_registers = on->sm.registers;
    const struct register_room room = {.sm_registers = (uint32_t)u->sm_registers,
                                       .most = (uint32_t)u->max_registers,
                                       .reserved = (uint32_t)u->reserved};
    u->func = xcalloc(m->funcs.n + 1, sizeof *u->func);
    for (size_t i = 0; i < m->funcs.n; i++) {
        struct ptx_func *f = m->funcs.v[i];
        if (!f->has_body)
            continue;
        struct func *x = &u->func[u->n++];
        *x = (struct func){.f = f, .wanted = UINT32_MAX};
        x->limit = ra_limit(f, &room);
        x->before = pass_can_touch(f) ? ra_snapshot(f) : NULL;
    }
    count_users(u);
}

static void
end(struct unified *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->func[i].before)
            ra_snapshot_free(u->func[i].before);
    free(u->func);
}

static bool
run(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    struct unified u = {.m = m, .args = a, .diag = diag};
    struct outcome out;
    if (!read_args(&u))
        return false;
    bool ok = true;
    begin(&u);
    set_limits(&u);
    for (size_t i = 0; i < u.n && ok; i++)
        ok = !u.func[i].before || allocate(&u, &u.func[i], u.func[i].now, diag);
    for (size_t i = 0; i < u.n && ok; i++)
        if (u.func[i].f->is_entry)
            ok = !diag_cancelled(diag) && one_kernel(&u, u.func[i].f, &out);
    end(&u);
    return ok;
}

size_t
unified_steps(struct ptx_module *m, const char *kernel, const struct pass_args *a,
              struct allot_register_step *out, size_t most, struct diag_sink *diag)
{
    struct unified u = {.m = m, .args = a, .diag = diag};
    struct us_level level[MOST_LEVELS];
    if (!read_args(&u))
        return 0;
    begin(&u);
    uint32_t n = 0, best = 0;
    for (size_t i = 0; i < u.n; i++)
        if (u.func[i].f->is_entry && !strcmp(u.func[i].f->name, kernel)) {
            n = find_levels(&u, u.func[i].f, level);
            best = n ? choose(&u, u.func[i].f, level, n) : 0;
        }
    end(&u);
    for (size_t i = 0; i < n && i < most; i++)
        out[i] = (struct allot_register_step){
            .blocks = level[i].blocks,
            .limit = level[i].limit,
            .possible = level[i].fits,
            .registers = level[i].registers,
            .to_scratchpad = level[i].to_slots,
            .to_local = level[i].to_local,
            .offchip = level[i].count.offchip,
            .other = level[i].count.compute,
            .predicted = i == best,
        };
    return n < most ? n : most;
}

static const struct pass_key keys[] = {
    {"registers", "255",
     "32-bit registers a thread may have, those for addresses included"},
    {"scratchpad", "free",
     "bytes of a block that spilled values may take; free: as many as cost no block"},
    {"threads", "0", "threads of a block; 0: as directives or the launch say"},
    {"max-registers", "255", "registers that the machine gives a thread at most"},
    {"sm-registers", "65536", "registers of an SM, for .minnctapersm and banks"},
    {"sm-warps", "64", "warps of an SM; the machine's"},
    {"banks", "0", "as of register-allocate; the machine's"},
    {"max-threads", "1024", "threads of a block where nothing says how many"},
    {"dynamic", "0", "bytes of extern .shared arrays at launch"},
    {"max-cmratio", "machine",
     "of auto: arithmetic that hides an off-chip access; machine: half of its latency"},
    {"memory", "all",
     "of auto: off-chip instructions of CI_pred; all of them, or spills: what is added"},
    {"least", "fit",
     "of auto, where CI_pred fails: fit, the most blocks without spills to local memory, "
     "or original, as the letter of Figure 5"},
    {"prune", "least",
     "which values leave scratchpad first: those of least frequency, as 002's text, or "
     "most, as its Figure 2"},
    {"schedule", "no",
     "yes: instructions are ordered again, by pass schedule, for each number of registers"},
    {"latencies", "", "of schedule=yes: as those of pass schedule; the machine's"},
    {"taken", schedule_taken_default,
     "of schedule=yes: as those of pass schedule; the machine's"},
    {"operands", "early", "of schedule=yes: as those of pass schedule; the machine's"},
    {"expanded", "no", "of schedule=yes: as those of pass schedule; the machine's"},
    {"reserved", "0", "registers beside them that a thread takes; the machine's"},
    {"share", "1", "t, where blocks share scratchpad; 1: they do not"},
    {0}};

const struct pass pass_unified_alloc = {
    .name = "unified-alloc",
    .meaning =
        "gives physical registers; spills to free scratchpad, then to local memory",
    .keys = keys,
    .run = run,
    .shapes = true,
    .allocates = true,
    .not_after = PASS_RELEASES | PASS_TAKES,
};
