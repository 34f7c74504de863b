/* exec_fault.c: what went wrong, where: kernel, PTX line, block, thread, address, nearest
 * allocation. */
#include "exec/exec_int.h"

#include <stdarg.h>

struct diag_loc
exec_loc(const struct exec_prog *p, uint32_t pc)
{
    const struct prog_priv *pp = p->priv;
    const struct ptx_module *m = p->entry->module;
    for (size_t i = 0; i < pp->funcs.n; i++) /* a linked program: another file */
        if (pc >= pp->funcs.v[i]->entry_pc && pc < pp->funcs.v[i]->end_pc)
            m = pp->funcs.v[i]->f->module;
    return (struct diag_loc){m->file, m->text, p->st[pc].line, p->st[pc].col, 0};
}

enum exec_result
fault(struct exec_warp *w, const struct exec_inst *in, unsigned lane, const char *hint,
      const char *fmt, ...)
{
    const struct exec_cta *c = w->cta;
    const struct exec_grid *g = c->grid;
    const struct exec_prog *p = g->prog;
    /* records within a plan are not the program's; their instruction was the last */
    uint32_t pc =
        in >= p->inst && in < p->inst + p->ninst ? (uint32_t)(in - p->inst) : w->pc - 1;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct exec_dim b = g->block;
    uint32_t t = w->index * LANES + lane;
    struct diag_loc loc = exec_loc(p, pc);
    struct diag *d = diag_add(c->diag, DIAG_ERROR, &loc,
                              "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u): %s",
                              p->entry->name, c->ctaid.x, c->ctaid.y, c->ctaid.z, t % b.x,
                              t / b.x % b.y, t / b.x / b.y, text);
    if (hint)
        diag_hint(c->diag, d, "%s", hint);
    w->cta->failure = ALLOT_FAULT_OTHER;
    return EXEC_FAULT;
}

static void
describe_near(const struct dev_mem *mem, uint64_t addr, uint64_t bytes,
              struct strbuf *out)
{
    struct dev_range r;
    unsigned long long far;
    if (dev_find(mem, addr, &r) && r.dead) {
        strbuf_printf(out,
                      "it lies %llu bytes into an allocation of %llu bytes at 0x%llx "
                      "that was freed",
                      (unsigned long long)(addr - r.addr), (unsigned long long)r.size,
                      (unsigned long long)r.addr);
        return;
    }
    if (!dev_nearest(mem, addr, &r)) {
        strbuf_addz(out, "nothing is allocated");
        return;
    }
    strbuf_printf(out, "nearest allocation: %llu bytes at 0x%llx, ",
                  (unsigned long long)r.size, (unsigned long long)r.addr);
    if (addr < r.addr) {
        far = r.addr - addr;
        strbuf_printf(out, "which starts %llu bytes above", far);
    } else if (addr >= r.addr + r.size) {
        far = addr - (r.addr + r.size);
        if (far)
            strbuf_printf(out, "which ended %llu bytes below", far);
        else
            strbuf_addz(out, "which ends right before it");
    } else {
        far = addr + bytes - (r.addr + r.size);
        strbuf_printf(out, "of which it overruns the end by %llu bytes", far);
    }
}

static const char *
space_name(unsigned space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL:
        return "global";
    case PTX_SPACE_SHARED:
        return "shared";
    case PTX_SPACE_LOCAL:
        return "local";
    case PTX_SPACE_CONST:
        return "const";
    case PTX_SPACE_PARAM:
        return "param";
    default:
        return "generic";
    }
}

enum exec_result
fault_memory(struct exec_warp *w, const struct exec_inst *in, unsigned lane,
             unsigned space, uint64_t addr)
{
    static const char *const kinds[] = {"access", "load", "store", "atomic"};
    struct exec_cta *c = w->cta;
    unsigned bytes = (unsigned)in->esize * in->nvec;
    bool generic = in->space == PTX_SPACE_NONE && space != PTX_SPACE_GLOBAL;
    struct strbuf b = {0};
    strbuf_printf(&b, "%s %s of %u bytes at 0x%llx", space_name(space), kinds[in->kind],
                  bytes, (unsigned long long)addr);
    if (generic)
        strbuf_addz(&b, " (by a generic address)");
    const char *hint = NULL;
    char text[96];
    if (addr % bytes) {
        strbuf_printf(&b, " is misaligned: it must be a multiple of %u", bytes);
    } else if (space == PTX_SPACE_GLOBAL) {
        struct dev_range r;
        if (addr < 4096) {
            strbuf_addz(&b, " is a null pointer access");
            hint = "a pointer was never set: is a parameter of the launch missing or 0?";
        } else if (addr < DEV_GLOBAL_BASE) {
            static const struct {
                uint64_t base;
                const char *name;
            } win[] = {{DEV_PARAM_BASE, "param"},
                       {DEV_CONST_BASE, "const"},
                       {DEV_LOCAL_BASE, "local"},
                       {DEV_SHARED_BASE, "shared"}};
            const char *name = NULL;
            for (int i = 0; i < 4 && !name; i++)
                if (addr >= win[i].base && addr - win[i].base < DEV_WINDOW)
                    name = win[i].name;
            if (name) {
                strbuf_printf(
                    &b, " is in the wrong space: that is a generic address of .%s", name);
                hint = "use ld/st without a space, or cvta.to the space it points to";
            } else {
                strbuf_addz(&b, " is out of bounds: ");
                describe_near(c->grid->mem, addr, bytes, &b);
            }
        } else if (dev_find(c->grid->mem, addr, &r) && r.dead) {
            strbuf_addz(&b, " is a use after free: ");
            describe_near(c->grid->mem, addr, bytes, &b);
        } else {
            strbuf_addz(&b, " is out of bounds: ");
            describe_near(c->grid->mem, addr, bytes, &b);
        }
    } else if ((space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM) &&
               in->kind != MEM_LOAD) {
        strbuf_printf(&b, " writes read-only memory");
    } else {
        uint64_t size = space == PTX_SPACE_SHARED  ? c->shared_bytes
                        : space == PTX_SPACE_LOCAL ? w->local_bytes
                        : space == PTX_SPACE_CONST ? c->grid->prog->image->const_bytes
                                                   : c->grid->prog->param_bytes;
        const char *of = space == PTX_SPACE_SHARED  ? "the block's scratchpad has"
                         : space == PTX_SPACE_LOCAL ? "the thread's local memory has"
                         : space == PTX_SPACE_CONST ? "constant memory has"
                                                    : "the parameter block has";
        strbuf_printf(&b, " is out of bounds: %s %llu bytes", of,
                      (unsigned long long)size);
        if (space == PTX_SPACE_SHARED && addr >= DEV_GLOBAL_BASE) {
            snprintf(text, sizeof text,
                     "that looks like a global address: use .global or a generic access");
            hint = text;
        } else if (space == PTX_SPACE_SHARED && !c->grid->dynamic_shared &&
                   ((const struct prog_priv *)c->grid->prog->priv)->has_dynamic) {
            snprintf(text, sizeof text,
                     "the launch gave 0 bytes of dynamic scratchpad: is that meant?");
            hint = text;
        }
    }
    enum exec_result r = fault(w, in, lane, hint, "%s", b.s);
    c->failure = addr % bytes ? ALLOT_FAULT_ALIGNMENT : ALLOT_FAULT_ADDRESS;
    strbuf_free(&b);
    return r;
}
