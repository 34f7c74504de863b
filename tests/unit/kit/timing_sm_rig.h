/* timing_sm_rig.h: runs kernels given as PTX text under the cycle model.
 *
 * With RIG_MOCK_MEMORY defined before the include, everything beyond the SMs is a mock
 * neighbour defined here: unlimited room, each request answered whole after a fixed
 * number of core cycles, so that a test of the SM depends on the SM alone. */
#ifndef TESTS_TIMING_SM_RIG_H
#define TESTS_TIMING_SM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bitset.h"
#include "exec/exec.h"
#include "machine/machine.h"
#include "machine/occupancy.h"
#include "ptx/parse.h"
#include "timing/engine/memsys.h"
#include "timing/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RIG_MOCK_MEMORY
/* -- the mock -- */
enum { MOCK_DELAY = 100, MOCK_MAX = 1 << 16 };
struct memsys {
    struct memory hw; /* first, so that it leads to the mock */
    struct packet *q;
    uint64_t *at;
    uint32_t n, sms;
    uint64_t now;
    uint64_t replies[16];
};
struct memsys *
memsys_new(const struct machine *m, struct memsys_facts *facts, struct diag_sink *diag)
{
    struct memsys *ms = xcalloc(1, sizeof *ms);
    ms->q = xcalloc(MOCK_MAX, sizeof *ms->q);
    ms->at = xcalloc(MOCK_MAX, sizeof *ms->at);
    ms->sms = m->sm.count;
    *facts = (struct memsys_facts){.memory = &ms->hw, .quantum = 1};
    return ms;
}
static struct memsys *
mock_of(const struct memory *mem)
{
    return (struct memsys *)(uintptr_t)mem;
}
void
memsys_free(struct memsys *ms)
{
    free(ms->q);
    free(ms->at);
    free(ms);
}
void
memsys_begin(struct memsys *ms, bool threads, bool no_skip)
{
}
enum room
memory_inject(struct memory *mem, const struct packet *p)
{
    struct memsys *ms = mock_of(mem);
    if (ms->n == MOCK_MAX)
        return ROOM_NO;
    ms->q[ms->n] = *p;
    ms->at[ms->n++] = ms->now + MOCK_DELAY;
    return ROOM_YES;
}
static void
mock_update(struct memsys *ms)
{
    memset(ms->replies, 0, sizeof ms->replies);
    for (uint32_t i = 0; i < ms->n; i++)
        if (ms->at[i] <= ms->now)
            bitset_add(ms->replies, ms->q[i].sm);
}
static uint32_t
mock_reply(const struct memsys *ms, unsigned sm)
{
    uint32_t i = 0;
    while (i < ms->n && !(ms->at[i] <= ms->now && ms->q[i].sm == sm))
        i++;
    return i;
}
const struct packet *
memory_reply(const struct memory *mem, unsigned port)
{
    const struct memsys *ms = mock_of(mem);
    const uint32_t i = mock_reply(ms, port);
    return i < ms->n ? &ms->q[i] : NULL;
}
void
memory_reply_over(struct memory *mem, unsigned port)
{
    struct memsys *ms = mock_of(mem);
    uint32_t i = mock_reply(ms, port);
    ms->n--;
    memmove(ms->q + i, ms->q + i + 1, sizeof *ms->q * (ms->n - i));
    memmove(ms->at + i, ms->at + i + 1, sizeof *ms->at * (ms->n - i));
    mock_update(ms);
}
uint64_t
memsys_next_quantum(struct memsys *ms, uint64_t from)
{
    return from + 1;
}
void
memsys_open(struct memsys *ms, uint64_t from, uint64_t to, uint64_t far)
{
    ms->now = from;
    mock_update(ms);
}
bool
memsys_overlap(struct memsys *ms, uint64_t from, uint64_t far, bool ports_done)
{
    return false;
}
void
memsys_close(struct memsys *ms, uint64_t *next)
{
}
unsigned
memory_port(struct memory *mem, unsigned port, uint64_t now)
{
    return memory_reply(mem, port) ? port : MEMORY_NO_SM;
}
uint64_t
memory_port_next(const struct memory *mem, unsigned port, uint64_t now)
{
    const struct memsys *ms = mock_of(mem);
    uint64_t next = NEVER;
    for (uint32_t i = 0; i < ms->n; i++)
        if (ms->q[i].sm == port && ms->at[i] < next)
            next = ms->at[i];
    return next <= ms->now ? ms->now + 1 : next;
}
bool
memory_may_have_room(const struct memory *mem, unsigned port, uint64_t now)
{
    return false;
}
uint64_t
memsys_next_event(const struct memsys *ms)
{
    return NEVER;
}
bool
memory_refused(const struct memory *mem, unsigned port)
{
    return false;
}
void
memsys_replies(struct memsys *ms)
{
}
const uint64_t *
memsys_cross(struct memsys *ms, uint64_t now)
{
    static const uint64_t none[16];
    return none;
}
void
memsys_part(struct memsys *ms, unsigned i)
{
}
void
memsys_step(struct memsys *ms, uint64_t now)
{
    ms->now = now;
    mock_update(ms);
}
bool
memory_idle(const struct memory *mem)
{
    return mock_of(mem)->n == 0;
}
void
memsys_stats(struct memsys *ms, struct launch_stats *out)
{
}
const struct stat_mem *
memory_channel_stats(const struct memory *mem, unsigned channel)
{
    static const struct stat_mem none;
    return &none;
}
void
memory_prefill(struct memory *mem, uint64_t addr, uint64_t bytes)
{
}
void
memory_explain(const struct memory *mem, struct strbuf *out)
{
    strbuf_printf(out, "%u packets in the mock", mock_of(mem)->n);
}
#endif

/* -- the rig -- */
struct rig {
    struct diag_sink diag;
    struct machine *m;
    struct ptx_module *mod;
    struct dev_mem *mem;
    struct exec_image *im;
    struct exec_prog *p;
    struct exec_grid g;
    struct timing_options opt;
    struct timing_gpu *gpu;
    uint32_t registers;                   /* of a thread, for occupancy */
    const struct cta_schedule *schedule;  /* of blocks; NULL: none */
    const struct cta_order_policy *order; /* NULL: the machine's */
    uint8_t params[4096];
};

__attribute__((unused)) static void
rig_fail(struct rig *r, const char *what)
{
    struct strbuf b = {0};
    diag_print(&r->diag, &b);
    fail_msg("%s:\n%s", what, b.s ? b.s : "(no diagnostic)");
}

/* Loads the machine preset and the text's kernel `name` (NULL: the first). Settings may
 * be changed with rig_set until the first rig_launch. */
__attribute__((unused)) static void
rig_load(struct rig *r, const char *machine, const char *text, const char *name)
{
    memset(r, 0, sizeof *r);
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    r->registers = 8;
    r->m = machine_load(machine, &r->diag);
    if (!r->m)
        rig_fail(r, "machine");
    r->mod = ptx_parse("test.ptx", text, strlen(text), &r->diag);
    if (!r->mod)
        rig_fail(r, "parse");
    r->mem = dev_mem_new(256 << 20);
    r->im = exec_image_new(r->mod, r->mem, &r->diag);
    if (!r->im)
        rig_fail(r, "image");
    const struct ptx_func *f = NULL;
    for (size_t i = 0; i < r->mod->funcs.n && !f; i++)
        if (r->mod->funcs.v[i]->is_entry &&
            (!name || !strcmp(name, r->mod->funcs.v[i]->name)))
            f = r->mod->funcs.v[i];
    assert_non_null(f);
    r->p = exec_decode(r->im, f, &r->diag);
    if (!r->p)
        rig_fail(r, "decode");
    r->g = (struct exec_grid){.prog = r->p, .mem = r->mem, .params = r->params};
}

__attribute__((unused)) static void
rig_set(struct rig *r, const char *path, const char *value)
{
    if (!machine_set(r->m, path, value, &r->diag))
        rig_fail(r, path);
}

__attribute__((unused)) static void
rig_param(struct rig *r, unsigned i, uint64_t value)
{
    const struct ptx_var *v = r->p->entry->params.v[i];
    memcpy(r->params + v->offset, &value, v->size < 8 ? v->size : 8);
}

/* Zeroed device buffer as parameter i. */
__attribute__((unused)) static uint64_t
rig_buf(struct rig *r, unsigned i, uint64_t bytes)
{
    uint64_t a = dev_alloc(r->mem, bytes);
    assert_true(a != 0);
    rig_param(r, i, a);
    return a;
}

__attribute__((unused)) static bool
rig_try(struct rig *r, unsigned grid, unsigned block, struct launch_stats *out)
{
    if (!r->gpu && !(r->gpu = timing_gpu_new(r->m, &r->opt, &r->diag)))
        rig_fail(r, "gpu");
    r->g.grid = (struct exec_dim){grid, 1, 1};
    r->g.block = (struct exec_dim){block, 1, 1};
    r->g.warps_per_cta = (block + 31) / 32;
    struct occ_kernel k = {block, r->registers, r->p->static_shared + r->g.dynamic_shared,
                           r->p->alloc_bytes};
    struct timing_plan plan;
    if (!timing_plan(r->m, r->p->entry, &k, &plan, &r->diag))
        return false;
    plan.schedule = r->schedule;
    if (r->order)
        plan.order = r->order;
    return timing_launch(r->gpu, &r->g, &plan, out, &r->diag);
}

__attribute__((unused)) static struct launch_stats
rig_launch(struct rig *r, unsigned grid, unsigned block)
{
    struct launch_stats s;
    if (!rig_try(r, grid, block, &s))
        rig_fail(r, "launch");
    return s;
}

__attribute__((unused)) static void
rig_free(struct rig *r)
{
    timing_gpu_free(r->gpu);
    exec_prog_free(r->p);
    exec_image_free(r->im);
    ptx_module_free(r->mod);
    dev_mem_free(r->mem);
    machine_free(r->m);
    diag_free(&r->diag);
}

__attribute__((unused)) static uint32_t
rig_u32(struct rig *r, uint64_t buf, uint64_t i)
{
    uint32_t v = 0;
    assert_true(dev_read(r->mem, buf + 4 * i, &v, 4));
    return v;
}

#endif
