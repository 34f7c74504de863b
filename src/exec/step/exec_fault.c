/* exec_fault.c: what went wrong, where: kernel, PTX line, block, thread, address, nearest
 * allocation. */
#include "exec/exec_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The function that pc lies in; the kernel where none is known. */
static const struct func_info *
func_at(const struct exec_prog *p, uint32_t pc)
{
    const struct prog_priv *pp = p->priv;
    for (size_t i = 0; i < pp->funcs.n; i++)
        if (pc >= pp->funcs.v[i]->entry_pc && pc < pp->funcs.v[i]->end_pc)
            return pp->funcs.v[i];
    return NULL;
}

struct diag_loc
exec_loc(const struct exec_prog *p, uint32_t pc)
{
    const struct func_info *fi = func_at(p, pc);
    /* of a linked program the function may stand in another file */
    const struct ptx_module *m = fi ? fi->f->module : p->entry->module;
    while (fi && pc > fi->entry_pc && !p->st[pc].line)
        pc--; /* made by a pass: where it was put */
    return (struct diag_loc){m->file, m->text, p->st[pc].line, p->st[pc].col, 0};
}

const struct ptx_inst *
exec_ptx_inst(const struct exec_prog *p, uint32_t pc)
{
    const struct func_info *fi = func_at(p, pc);
    const struct ptx_inst *found = NULL;
    for (size_t i = 0; fi && i < fi->f->body.n && fi->pc_of[i] <= pc; i++)
        if (fi->pc_of[i] == pc && !ptx_is_pseudo(&fi->f->body.v[i]))
            found = &fi->f->body.v[i];
    return found;
}

/* Name of file n of the .file directives, into a buffer of FILE_NAME; "" if unknown. */
enum { FILE_NAME = 1024 };
static const char *
file_name(const struct ptx_module *m, unsigned n, char *name)
{
    unsigned number;
    for (size_t i = 0; i < m->directives.n; i++)
        if (sscanf(m->directives.v[i], ".file %u \"%1023[^\"]", &number, name) == 2 &&
            number == n) {
            for (char *c = name; *c; c++) /* it goes to a terminal */
                if ((unsigned char)*c < 32 || *c == 127)
                    *c = '?';
            return name;
        }
    return "";
}

/* The operands of the .loc that holds at pc; NULL: there is none. */
static const char *
loc_at(const struct func_info *fi, uint32_t pc)
{
    const char *at = NULL;
    for (size_t i = 0; fi && i < fi->f->body.n && fi->pc_of[i] <= pc; i++) {
        const char *text = fi->f->body.v[i].text;
        if (fi->f->body.v[i].op == PTX_OP_DIRECTIVE && text && !strncmp(text, ".loc", 4))
            at = text + 4;
    }
    return at;
}

/* Reads one; false: it names no line of a known file. */
static bool
read_loc(const struct ptx_module *m, const char *at, char name[FILE_NAME], unsigned *line,
         unsigned *col)
{
    unsigned file;
    *col = 0;
    return sscanf(at, "%u %u %u", &file, line, col) >= 2 && *line &&
           *file_name(m, file, name);
}

void
exec_note_source(const struct exec_prog *p, uint32_t pc, struct diag_sink *diag)
{
    const struct func_info *fi = func_at(p, pc);
    const char *at = loc_at(fi, pc);
    /* where it is written, then the calls it was inlined at */
    for (bool inlined = false; at; inlined = true) {
        unsigned line, col;
        char name[FILE_NAME];
        if (!read_loc(fi->f->module, at, name, &line, &col))
            return;
        struct diag_loc loc = {name, NULL, line, col, 0};
        diag_add(diag, DIAG_NOTE, &loc, inlined ? "inlined here" : "written here");
        at = strstr(at, "inlined_at");
        at = at ? at + strlen("inlined_at") : NULL;
    }
}

void
exec_sources(const struct exec_prog *p,
             void (*take)(void *user, uint32_t pc, const char *file, unsigned line),
             void *user)
{
    const struct prog_priv *pp = p->priv;
    for (size_t k = 0; k < pp->funcs.n; k++) {
        const struct func_info *fi = pp->funcs.v[k];
        char name[FILE_NAME];
        unsigned line = 0, col;
        for (size_t i = 0; i < fi->f->body.n; i++) {
            const struct ptx_inst *in = &fi->f->body.v[i];
            if (in->op == PTX_OP_DIRECTIVE && in->text && !strncmp(in->text, ".loc", 4) &&
                !read_loc(fi->f->module, in->text + 4, name, &line, &col))
                line = 0;
            for (uint32_t pc = fi->pc_of[i]; line && pc < fi->pc_of[i + 1]; pc++)
                take(user, pc, name, line);
        }
    }
}

void
exec_where(const struct exec_warp *w, struct strbuf *out)
{
    const struct exec_prog *p = w->cta->grid->prog;
    uint32_t pc = w->state == EXEC_BARRIER ? w->barrier_pc : w->pc;
    const struct func_info *fi = func_at(p, pc);
    struct diag_loc loc = exec_loc(p, pc);
    const char *at = loc_at(fi, pc);
    unsigned line, col;
    char name[FILE_NAME];
    strbuf_printf(out, "block (%u,%u,%u), warp %u %s %s:%u", w->cta->ctaid.x,
                  w->cta->ctaid.y, w->cta->ctaid.z, w->index,
                  w->state == EXEC_BARRIER ? "waits at" : "at", loc.file, loc.line);
    if (at && read_loc(fi->f->module, at, name, &line, &col))
        strbuf_printf(out, ", %s:%u", name, line);
}

uint32_t
exec_inst_pc(const struct exec_warp *w, const struct exec_inst *in)
{
    const struct exec_prog *p = w->cta->grid->prog;
    return in >= p->inst && in < p->inst + p->ninst ? (uint32_t)(in - p->inst)
                                                    : w->pc - 1;
}

enum exec_result
exec_fault(struct exec_warp *w, const struct exec_inst *in, unsigned lane,
           const char *hint, const char *fmt, ...)
{
    const struct exec_cta *c = w->cta;
    const struct exec_grid *g = c->grid;
    const struct exec_prog *p = g->prog;
    uint32_t pc = exec_inst_pc(w, in);
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
    exec_note_source(p, pc, c->diag);
    w->cta->failure = ALLOT_FAULT_OTHER;
    return EXEC_FAULT;
}

/* -- what is near -- */

struct near {
    const char *name;
    uint64_t at, size, far; /* far: bytes between it and the address; 0: inside */
};

/* Is this variable nearer to addr than what is there? */
static void
nearer(struct near *n, const char *name, uint64_t at, uint64_t size, uint64_t addr)
{
    uint64_t far = addr < at ? at - addr : addr >= at + size ? addr - (at + size) + 1 : 0;
    if (!n->name || far < n->far)
        *n = (struct near){name, at, size, far};
}

/* Where [addr, addr + bytes) lies relative to a range that does not hold it. */
static void
describe_side(uint64_t at, uint64_t size, uint64_t addr, uint64_t bytes,
              struct strbuf *out)
{
    unsigned long long far;
    if (addr < at) {
        far = at - addr;
        strbuf_printf(out, "which starts %llu bytes above", far);
    } else if (addr >= at + size) {
        far = addr - (at + size);
        if (far)
            strbuf_printf(out, "which ended %llu bytes below", far);
        else
            strbuf_addz(out, "which ends right before it");
    } else {
        far = addr + bytes - (at + size);
        strbuf_printf(out, "of which it overruns the end by %llu bytes", far);
    }
}

/* Whose allocation it is: a variable of the module, or a pointer that a parameter of the
 * kernel holds. */
static void
name_allocation(const struct exec_grid *g, const struct dev_range *r, struct strbuf *out)
{
    const struct exec_image *im = g->prog->image;
    const struct ptx_func *f = g->prog->entry;
    unsigned step = f->module->address_size / 8;
    for (size_t i = 0; i < im->vars.n; i++)
        if (im->vars.v[i].var->space == PTX_SPACE_GLOBAL &&
            im->vars.v[i].addr == r->addr) {
            strbuf_printf(out, " (variable '%s')", im->vars.v[i].var->name);
            return;
        }
    if (im->const_bytes && im->const_addr == r->addr)
        strbuf_addz(out, " (constant memory)");
    for (size_t i = 0; i < f->params.n; i++)
        for (uint64_t k = 0; k + step <= f->params.v[i]->size; k += step) {
            uint64_t v = 0;
            memcpy(&v, g->params + f->params.v[i]->offset + k, step);
            if (v < r->addr || v - r->addr >= r->size)
                continue;
            strbuf_printf(out, " (parameter %zu, '%s'", i + 1, f->params.v[i]->name);
            if (k)
                strbuf_printf(out, ", byte %llu", (unsigned long long)k);
            strbuf_addz(out, ")");
            return;
        }
}

void
exec_fault_near(const struct exec_grid *g, uint64_t addr, uint64_t bytes,
                struct strbuf *out)
{
    struct dev_range r;
    if (dev_find(g->mem, addr, &r) && r.dead) {
        strbuf_printf(out,
                      "it lies %llu bytes into an allocation of %llu bytes at 0x%llx "
                      "that was freed",
                      (unsigned long long)(addr - r.addr), (unsigned long long)r.size,
                      (unsigned long long)r.addr);
        name_allocation(g, &r, out);
        return;
    }
    if (!dev_nearest(g->mem, addr, &r)) {
        strbuf_addz(out, "nothing is allocated");
        return;
    }
    strbuf_printf(out, "nearest allocation: %llu bytes at 0x%llx",
                  (unsigned long long)r.size, (unsigned long long)r.addr);
    name_allocation(g, &r, out);
    strbuf_addz(out, ", ");
    describe_side(r.addr, r.size, addr, bytes, out);
}

void
exec_print_place(const struct exec_grid *g, unsigned space, uint64_t addr,
                 struct strbuf *out)
{
    const struct prog_priv *pp = g->prog->priv;
    struct dev_range r;
    if (space != PTX_SPACE_SHARED) {
        strbuf_printf(out, "global memory at 0x%llx", (unsigned long long)addr);
        if (!dev_find(g->mem, addr, &r))
            return;
        if (addr > r.addr)
            strbuf_printf(out, ", byte %llu of an allocation",
                          (unsigned long long)(addr - r.addr));
        name_allocation(g, &r, out);
        return;
    }
    strbuf_printf(out, "shared memory, byte %llu", (unsigned long long)addr);
    for (size_t i = 0; i < pp->shared_vars.n; i++) {
        const struct scratch_var *v = &pp->shared_vars.v[i];
        if (addr >= v->at && (v->var->dynamic || addr - v->at < v->var->size)) {
            strbuf_printf(out, " (%s)", v->var->name);
            return;
        }
    }
}

/* The same in the other spaces: the nearest of the variables there, if there are any. */
static void
describe_variable(const struct exec_warp *w, uint32_t pc, unsigned space, uint64_t addr,
                  uint64_t bytes, struct strbuf *out)
{
    const struct exec_prog *p = w->cta->grid->prog;
    const struct prog_priv *pp = p->priv;
    const struct func_info *fi = func_at(p, pc);
    struct near n = {0};
    /* Below the start of the space: the address went through 2^32. */
    uint64_t base = addr > INT32_MAX ? (uint64_t)1 << 32 : 0;
    switch (space) {
    case PTX_SPACE_SHARED:
        for (size_t i = 0; i < pp->shared_vars.n; i++) {
            const struct scratch_var *v = &pp->shared_vars.v[i];
            uint64_t size = v->var->dynamic ? w->cta->shared_bytes - v->at : v->var->size;
            if (size)
                nearer(&n, v->var->name, base + v->at, size, addr);
        }
        break;
    case PTX_SPACE_LOCAL:
        for (size_t i = 0; fi && i < fi->place.n; i++)
            if (fi->place.v[i].var->space == PTX_SPACE_LOCAL)
                nearer(&n, fi->place.v[i].var->name,
                       base + fi->place.v[i].at + w->local_base, fi->place.v[i].var->size,
                       addr);
        break;
    case PTX_SPACE_CONST:
        for (size_t i = 0; i < p->image->vars.n; i++)
            if (p->image->vars.v[i].var->space == PTX_SPACE_CONST)
                nearer(&n, p->image->vars.v[i].var->name, base + p->image->vars.v[i].addr,
                       p->image->vars.v[i].var->size, addr);
        break;
    default:
        for (size_t i = 0; i < p->entry->params.n; i++)
            nearer(&n, p->entry->params.v[i]->name, base + p->entry->params.v[i]->offset,
                   p->entry->params.v[i]->size, addr);
        break;
    }
    if (!n.name)
        return;
    strbuf_printf(out, "; nearest is '%s', %llu bytes at 0x%llx, ", n.name,
                  (unsigned long long)n.size, (unsigned long long)(n.at - base));
    describe_side(n.at, n.size, addr, bytes, out);
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
exec_fault_memory(struct exec_warp *w, const struct exec_inst *in, unsigned lane,
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
                exec_fault_near(c->grid, addr, bytes, &b);
            }
        } else if (dev_find(c->grid->mem, addr, &r) && r.dead) {
            strbuf_addz(&b, " is a use after free: ");
            exec_fault_near(c->grid, addr, bytes, &b);
        } else {
            strbuf_addz(&b, " is out of bounds: ");
            exec_fault_near(c->grid, addr, bytes, &b);
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
        struct dev_range r;
        bool global = space == PTX_SPACE_SHARED && dev_find(c->grid->mem, addr, &r);
        if (!global)
            describe_variable(w, exec_inst_pc(w, in), space, addr, bytes, &b);
        if (global) {
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
    enum exec_result r = exec_fault(w, in, lane, hint, "%s", b.s);
    c->failure = addr % bytes ? ALLOT_FAULT_ALIGNMENT : ALLOT_FAULT_ADDRESS;
    strbuf_free(&b);
    return r;
}
