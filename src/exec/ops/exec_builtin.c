/* exec_builtin.c: functions that the device brings along: vprintf, malloc, free,
 * __assertfail (CUDA C++ Programming Guide, "Formatted Output", "Dynamic Global Memory
 * Allocation", "Assertion"). A call to one is a single instruction; lanes are served
 * lowest first. Output goes to the grid's print function as it is made. */
#include "exec/ops/exec_builtin.h"
#include "exec/memory/heap.h"
#include "ptx/link.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16 };

uint64_t
builtin_arg(const struct exec_warp *w, const struct exec_inst *in, unsigned k,
            unsigned lane)
{
    const struct builtin_plan *p = in->plan;
    uint64_t v = exec_move_get(w, &p->in[k], lane);
    return p->in[k].bytes < 8 ? v & (((uint64_t)1 << p->in[k].bytes * 8) - 1) : v;
}

void
builtin_result(struct exec_warp *w, const struct exec_inst *in, unsigned lane, uint64_t v)
{
    const struct builtin_plan *p = in->plan;
    if (p->has_out)
        exec_move_put(w, &p->out, lane, v);
}

static void
print(struct exec_grid *g, const struct strbuf *b)
{
    if (!b->n)
        return;
    if (g->print)
        g->print(g->print_user, b->s, b->n);
    else
        fwrite(b->s, 1, b->n, stdout);
}

/* Text at a generic address; false: it is not all in memory. */
static bool
text_at(const struct exec_warp *w, unsigned lane, uint64_t addr, struct strbuf *out)
{
    for (unsigned i = 0; i < MAX_TEXT; i++) {
        char c;
        if (!mem_read_generic(w, lane, addr + i, &c, 1))
            return false;
        if (!c)
            return true;
        strbuf_add(out, &c, 1);
    }
    return true;
}

/* -- vprintf -- */

struct printer {
    const struct exec_warp *w;
    const struct exec_inst *in;
    unsigned lane;
    uint64_t args; /* generic address of the next argument */
    bool ok;
    struct strbuf *out;
};

/* Arguments lie behind each other, each aligned to its size. */
static uint64_t
next_arg(struct printer *p, unsigned bytes)
{
    uint64_t v = 0;
    p->args = (p->args + bytes - 1) / bytes * bytes;
    p->ok &= mem_read_generic(p->w, p->lane, p->args, &v, bytes);
    p->args += bytes;
    return v;
}

/* One conversion, from behind its '%'. Returns what follows it, NULL: the text ended. */
static const char *
conversion(struct printer *p, const char *s)
{
    char spec[96] = "%";
    unsigned n = 1, longs = 0, halfs = 0;
    /* Flags, width, precision go to the host's printf, * resolved. */
    for (; *s && strchr("#0- +'123456789.*", *s); s++) {
        if (*s == '*')
            n += (unsigned)snprintf(spec + n, 16, "%d", (int)next_arg(p, 4));
        else if (*s != '\'')
            spec[n++] = *s;
        if (n > 64)
            return NULL;
    }
    for (; *s && strchr("hlLqjzt", *s); s++) {
        longs += *s != 'h';
        halfs += *s == 'h';
    }
    char c = *s;
    if (!c)
        return NULL;
    if (strchr("di", c)) {
        int64_t v = longs ? (int64_t)next_arg(p, 8) : (int32_t)next_arg(p, 4);
        v = halfs == 1 ? (int16_t)v : halfs > 1 ? (int8_t)v : v;
        memcpy(spec + n, "lld", 4);
        strbuf_printf(p->out, spec, (long long)v);
    } else if (strchr("uoxX", c)) {
        uint64_t v = next_arg(p, longs ? 8 : 4);
        v = halfs == 1 ? (uint16_t)v : halfs > 1 ? (uint8_t)v : v;
        snprintf(spec + n, 8, "ll%c", c);
        strbuf_printf(p->out, spec, (unsigned long long)v);
    } else if (strchr("fFeEgGaA", c)) {
        uint64_t v = next_arg(p, 8);
        double d;
        memcpy(&d, &v, 8);
        snprintf(spec + n, 4, "%c", c);
        strbuf_printf(p->out, spec, d);
    } else if (c == 'c') {
        memcpy(spec + n, "c", 2);
        char one[128];
        int len = snprintf(one, sizeof one, spec, (int)next_arg(p, 4));
        strbuf_add(p->out, one, (size_t)(len < (int)sizeof one ? len : 127));
    } else if (c == 's') {
        struct strbuf t = {0};
        uint64_t at = next_arg(p, 8);
        if (!at)
            strbuf_addz(&t, "(null)");
        else
            p->ok &= text_at(p->w, p->lane, at, &t);
        memcpy(spec + n, "s", 2);
        strbuf_printf(p->out, spec, t.s ? t.s : "");
        strbuf_free(&t);
    } else if (c == 'p') {
        memcpy(spec + n, "s", 2);
        char hex[32];
        snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)next_arg(p, 8));
        strbuf_printf(p->out, spec, hex);
    } else if (c == 'n') {
        next_arg(p, 8); /* not supported by CUDA: takes its argument, writes nothing */
    } else {            /* %% and what is no conversion stand for themselves */
        if (c != '%')
            strbuf_add(p->out, "%", 1);
        strbuf_add(p->out, &c, 1);
    }
    return s + 1;
}

static enum exec_result
h_vprintf(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    struct exec_grid *g = w->cta->grid;
    enum exec_result r = EXEC_OK;
    struct strbuf out = {0}, format = {0};
    uint64_t last = 0;
    FOR_BITS(i, mask)
    {
        uint64_t at = builtin_arg(w, in, 0, (unsigned)i),
                 args = builtin_arg(w, in, 1, (unsigned)i);
        if (at != last || !format.s) {
            format.n = 0;
            last = at;
            if (!text_at(w, (unsigned)i, at, &format)) {
                r = exec_fault(w, in, (unsigned)i, NULL,
                               "printf: its format at 0x%llx is not in memory",
                               (unsigned long long)at);
                break;
            }
            strbuf_add(&format, "", 1); /* a text of its own, also if empty */
            format.n--;
        }
        struct printer p = {w, in, (unsigned)i, args, true, &out};
        int count = 0;
        const char *f = format.s;
        while (f && *f) {
            size_t plain = strcspn(f, "%");
            strbuf_add(&out, f, plain);
            f += plain;
            if (!*f)
                break;
            count += f[1] != '%';
            f = conversion(&p, f + 1);
        }
        if (!p.ok) {
            r = exec_fault(w, in, (unsigned)i, "does the format fit the arguments?",
                           "printf: an argument of '%.80s' is not in memory", format.s);
            break;
        }
        builtin_result(w, in, (unsigned)i, (uint64_t)count);
    }
    print(g, &out);
    strbuf_free(&out);
    strbuf_free(&format);
    return r;
}

/* -- malloc, free -- */

static enum exec_result
h_malloc(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    struct dev_mem *mem = w->cta->grid->mem;
    FOR_BITS(i, mask)
    builtin_result(w, in, (unsigned)i,
                   heap_alloc(dev_heap(mem), mem, builtin_arg(w, in, 0, (unsigned)i)));
    return EXEC_OK;
}

static enum exec_result
h_free(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    FOR_BITS(i, mask)
    {
        uint64_t at = builtin_arg(w, in, 0, (unsigned)i);
        if (at && !heap_release(dev_heap(w->cta->grid->mem), at))
            return exec_fault(
                w, in, (unsigned)i,
                "only what a kernel's malloc gave can be freed, and once",
                "free of 0x%llx, which is no block of the device's heap in use",
                (unsigned long long)at);
    }
    return EXEC_OK;
}

/* -- __assertfail(message, file, line, function, character size) -- */

static enum exec_result
h_assertfail(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s)
{
    struct exec_cta *c = w->cta;
    struct exec_grid *g = c->grid;
    struct strbuf out = {0}, first = {0};
    FOR_BITS(i, mask)
    {
        struct strbuf t[3] = {{0}};
        static const unsigned which[3] = {0, 1, 3};
        for (int k = 0; k < 3; k++) {
            if (!text_at(w, (unsigned)i, builtin_arg(w, in, which[k], (unsigned)i),
                         &t[k]))
                t[k].n = 0;
            strbuf_add(&t[k], "", 1);
        }
        uint32_t n = w->index * LANES + (uint32_t)i;
        struct exec_dim b = g->block;
        strbuf_printf(&out,
                      "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` "
                      "failed.\n",
                      t[1].s, (unsigned)builtin_arg(w, in, 2, (unsigned)i), t[2].s,
                      c->ctaid.x, c->ctaid.y, c->ctaid.z, n % b.x, n / b.x % b.y,
                      n / b.x / b.y, t[0].s);
        if (!first.n)
            strbuf_printf(&first, "%s:%u: %s: Assertion `%s` failed", t[1].s,
                          (unsigned)builtin_arg(w, in, 2, (unsigned)i), t[2].s, t[0].s);
        for (int k = 0; k < 3; k++)
            strbuf_free(&t[k]);
    }
    print(g, &out);
    enum exec_result r =
        exec_fault(w, in, (unsigned)bit_lowest(mask), NULL, "%s", first.s ? first.s : "");
    w->cta->failure = ALLOT_FAULT_ASSERT;
    strbuf_free(&out);
    strbuf_free(&first);
    return r;
}

/* -- decoding -- */

static const struct builtin_row *
find_in(const struct builtin_row *r, const char *name, size_t n)
{
    while (r->name && (strlen(r->name) != n || strncmp(r->name, name, n) != 0))
        r++;
    return r->name ? r : NULL;
}

/* NULL: there is no such function. */
static const struct builtin_row *
find_row(const char *name)
{
    static const struct builtin_row rows[] = {{"vprintf", h_vprintf, 2, 1},
                                              {"malloc", h_malloc, 1, 1},
                                              {"free", h_free, 1, 0},
                                              {"__assertfail", h_assertfail, 5, 0},
                                              {NULL, NULL, 0, 0}};
    static const char *const prefixes[] = {"__cudaCDP2", "cuda"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t p = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], p) != 0)
            continue;
        if (n > 5 && !strcmp(name + n - 5, "_ptsz")) /* per-thread default stream */
            n -= 5;
        return find_in(builtin_orders, name + p, n - p);
    }
    return find_in(rows, name, n);
}

bool
decode_builtin(struct decoder *d, const struct ptx_func *f, const struct ptx_operand *ins,
               unsigned nin, const struct ptx_operand *outs, unsigned nout)
{
    const struct builtin_row *r = find_row(f->name);
    if (!r && ptx_is_builtin(f->name))
        return decode_refuse(d, "'%s' of CUDA's device runtime is not supported",
                             f->name);
    if (!r)
        return decode_refuse(d, "function '%s' has no body here, so it cannot be called",
                             f->name);
    if (nin != r->nin || nout != r->nout || f->params.n != nin || f->rets.n != nout)
        return decode_refuse(d,
                             "'%s' takes %u arguments and returns %u, the call has %u "
                             "and %u",
                             f->name, r->nin, r->nout, nin, nout);
    struct builtin_plan *p = ARENA_NEW(&d->pp->mem, struct builtin_plan);
    for (unsigned i = 0; i < nin; i++) {
        struct call_move *m = &p->in[i];
        if (!decode_call_side(d, &ins[i], f->params.v[i], &m->from, &m->from_kind,
                              &m->bytes))
            return false;
    }
    if (nout && outs[0].kind != PTX_OPD_SINK) {
        p->has_out = true;
        if (!decode_call_side(d, &outs[0], f->rets.v[0], &p->out.to, &p->out.to_kind,
                              &p->out.bytes))
            return false;
    }
    d->out->plan = p;
    d->out->fn = r->fn;
    d->p->in_turn = true;
    d->st->is_jump = false;
    return true;
}
