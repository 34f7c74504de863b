/* image.c: a module's .global and .const variables in device memory.
 *
 * Every .global variable is an allocation of its own, so that an access beyond it is
 * caught. The .const variables together are the constant bank, one allocation; their
 * address in the .const space is the offset in the bank. Texture, surface and sampler
 * references are entries of the table of objects; their address is the handle. A
 * function's address is a number that only calls understand (code + 16 * index). */
#include "exec/exec_int.h"
#include "exec/memory/texture.h"
#include "machine/machine.h"

#include <string.h>

enum { CODE_HANDLE = 0x0f000000, HANDLE_STEP = 16 };

static const struct image_var *
find_var(const struct exec_image *im, const struct ptx_var *v)
{
    for (size_t i = 0; i < im->vars.n; i++)
        if (im->vars.v[i].var == v)
            return &im->vars.v[i];
    return NULL;
}

bool
image_address(const struct exec_image *im, const struct ptx_var *v, uint64_t *addr)
{
    const struct image_var *iv = find_var(im, v);
    if (!iv) /* an extern declaration of a variable that is defined elsewhere */
        for (size_t i = 0; i < im->vars.n && !iv; i++)
            if (im->vars.v[i].var->name == v->name &&
                im->vars.v[i].var->space == v->space)
                iv = &im->vars.v[i];
    if (!iv)
        return false;
    *addr = iv->addr;
    return true;
}

uint64_t
image_function(const struct exec_image *im, const struct ptx_func *f)
{
    const struct ptx_func *def = ptx_definition(im->m, f);
    size_t at = 0;
    f = def ? def : f;
    for (size_t i = 0; i < im->m->funcs.n; i++) {
        if (im->m->funcs.v[i] == f) {
            at = i;
            break;
        }
    }
    return CODE_HANDLE + HANDLE_STEP * (uint64_t)(at + 1);
}

const struct ptx_func *
image_function_at(const struct exec_image *im, uint64_t handle)
{
    uint64_t at = (handle - CODE_HANDLE) / HANDLE_STEP - 1;
    return handle > CODE_HANDLE && handle % HANDLE_STEP == 0 && at < im->m->funcs.n
               ? im->m->funcs.v[at]
               : NULL;
}

static bool
is_ref(const struct ptx_var *v)
{
    return ptx_types[v->type].kind == PTX_K_OPAQUE;
}

static struct diag_loc
var_loc(const struct ptx_module *m, const struct ptx_var *v)
{
    m = ptx_module_of(m, v);
    return (struct diag_loc){m->file, m->text, v->line, v->col, 0};
}

static bool
place_vars(struct exec_image *im, struct diag_sink *diag)
{
    struct ptx_module *m = im->m;
    uint64_t bank = 0;
    size_t before = diag->errors;
    for (size_t i = 0; i < m->vars.n; i++) {
        struct ptx_var *v = m->vars.v[i];
        struct diag_loc loc = var_loc(m, v);
        if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
            continue;
        if (v->linkage == PTX_LINK_EXTERN) /* defined in another module, if at all */
            continue;
        uint64_t size = v->size ? v->size : 1, align = v->align ? v->align : 1;
        struct image_var *iv = vec_push(&im->vars);
        iv->var = v;
        if (is_ref(v)) {
            struct tex_object o = {.kind = v->type == PTX_SURFREF      ? TEX_SURFACE
                                           : v->type == PTX_SAMPLERREF ? TEX_SAMPLER
                                                                       : TEX_TEXTURE,
                                   .name = v->name,
                                   .bound = v->type == PTX_SAMPLERREF,
                                   .sampler = tex_sampler_text(v->opaque_init)};
            iv->addr = tex_add(dev_textures(im->mem), &o);
            continue;
        }
        if (v->space == PTX_SPACE_CONST) {
            iv->addr = (bank + align - 1) / align * align;
            bank = iv->addr + size;
            continue;
        }
        iv->addr = dev_alloc(im->mem, size);
        dev_mark_written(im->mem, iv->addr, size); /* as 0 where nothing else is said */
        if (!iv->addr)
            diag_add(diag, DIAG_ERROR, &loc,
                     "no device memory left for variable '%s' of %llu bytes", v->name,
                     (unsigned long long)size);
    }
    if (bank > DEV_WINDOW)
        diag_error(
            diag, "%s: %llu bytes of .const variables are more than the window of 16 MiB",
            m->file, (unsigned long long)bank);
    else if (bank) {
        im->const_addr = dev_alloc(im->mem, bank);
        im->const_bytes = bank;
        dev_mark_written(im->mem, im->const_addr, bank);
        if (!im->const_addr)
            diag_error(diag,
                       "%s: no device memory left for %llu bytes of .const variables",
                       m->file, (unsigned long long)bank);
    }
    return diag->errors == before;
}

static bool
initialise(struct exec_image *im, const struct image_var *iv, struct diag_sink *diag)
{
    const struct ptx_var *v = iv->var;
    if (is_ref(v))
        return true;
    struct diag_loc loc = var_loc(im->m, v);
    uint64_t at = iv->addr + (v->space == PTX_SPACE_CONST ? im->const_addr : 0);
    if (v->init && !dev_write(im->mem, at, v->init, v->size))
        return false;
    for (size_t i = 0; i < v->relocs.n; i++) {
        const struct ptx_reloc *r = &v->relocs.v[i];
        uint64_t value = 0;
        if (r->func) {
            value = image_function(im, r->func);
        } else if (!r->var || !image_address(im, r->var, &value)) {
            diag_add(diag, DIAG_ERROR, &loc,
                     "the initialiser of '%s' takes the address of '%s', which is not "
                     "defined in this module",
                     v->name, r->var ? r->var->name : "?");
            return false;
        } else if (r->var->space == PTX_SPACE_CONST && r->generic) {
            value += DEV_CONST_BASE;
        }
        value += (uint64_t)r->off;
        if (r->bytes == 1 && r->mask) /* one byte of the address */
            value = (value & r->mask) >> bit_lowest(r->mask);
        if (r->at + r->bytes > v->size ||
            !dev_write(im->mem, at + r->at, &value, r->bytes)) {
            diag_add(diag, DIAG_ERROR, &loc, "the initialiser of '%s' is too long",
                     v->name);
            return false;
        }
    }
    return true;
}

struct exec_image *
exec_image_new(struct ptx_module *m, struct dev_mem *mem, struct diag_sink *diag)
{
    struct exec_image *im = xcalloc(1, sizeof *im);
    im->m = m;
    im->mem = mem;
    im->sums = SUMS_AMPERE;
    bool ok = place_vars(im, diag);
    for (size_t i = 0; ok && i < im->vars.n; i++)
        ok = initialise(im, &im->vars.v[i], diag);
    if (!ok) {
        exec_image_free(im);
        return NULL;
    }
    return im;
}

/* A global variable that a pass added. */
static bool
place_own(struct exec_image *im, struct ptx_var *v, struct diag_sink *diag)
{
    const struct diag_loc loc = var_loc(im->m, v);
    struct image_var iv = {.var = v, .addr = dev_alloc(im->mem, v->size), .own = true};
    if (!iv.addr)
        diag_add(
            diag, DIAG_ERROR, &loc,
            "no device memory left for variable '%s' of %llu bytes, which a pass added",
            v->name, (unsigned long long)v->size);
    else
        *vec_push(&im->vars) = iv;
    return iv.addr && initialise(im, &iv, diag);
}

struct exec_image *
exec_image_alias(const struct exec_image *of, struct ptx_module *m,
                 struct diag_sink *diag)
{
    struct exec_image *im = xcalloc(1, sizeof *im);
    im->m = m;
    im->mem = of->mem;
    im->const_addr = of->const_addr;
    im->const_bytes = of->const_bytes;
    im->borrowed = true;
    im->sums = of->sums;
    for (size_t i = 0; i < of->vars.n; i++) {
        const struct image_var *iv = &of->vars.v[i];
        const struct ptx_var *v = ptx_find_var(m, iv->var->name);
        if (v)
            *vec_push(&im->vars) = (struct image_var){.var = v, .addr = iv->addr};
    }
    bool ok = true;
    for (size_t i = 0; ok && i < m->vars.n; i++) {
        struct ptx_var *v = m->vars.v[i];
        if (v->space == PTX_SPACE_GLOBAL && v->linkage != PTX_LINK_EXTERN && v->size &&
            !is_ref(v) && !find_var(im, v))
            ok = place_own(im, v, diag);
    }
    if (ok)
        return im;
    exec_image_free(im);
    return NULL;
}

void
exec_image_sums(struct exec_image *im, unsigned sums)
{
    im->sums = (uint8_t)sums;
}

void
exec_image_free(struct exec_image *im)
{
    if (!im)
        return;
    for (size_t i = 0; i < im->vars.n; i++)
        if (im->borrowed && !im->vars.v[i].own)
            continue;
        else if (is_ref(im->vars.v[i].var))
            *tex_find(dev_textures(im->mem), im->vars.v[i].addr) =
                (struct tex_object){.kind = TEX_DEAD};
        else if (im->vars.v[i].var->space == PTX_SPACE_GLOBAL && im->vars.v[i].addr)
            dev_release(im->mem, im->vars.v[i].addr);
    if (im->const_addr && !im->borrowed)
        dev_release(im->mem, im->const_addr);
    vec_free(&im->vars);
    free(im);
}

bool
exec_image_symbol(const struct exec_image *im, const char *name, uint64_t *addr,
                  uint64_t *size)
{
    for (size_t i = 0; i < im->vars.n; i++) {
        const struct image_var *iv = &im->vars.v[i];
        if (strcmp(iv->var->name, name) || is_ref(iv->var))
            continue;
        *addr = iv->addr + (iv->var->space == PTX_SPACE_CONST ? im->const_addr : 0);
        *size = iv->var->size;
        return true;
    }
    return false;
}

bool
exec_image_ref(const struct exec_image *im, const char *name, uint64_t *handle)
{
    for (size_t i = 0; i < im->vars.n; i++)
        if (is_ref(im->vars.v[i].var) && !strcmp(im->vars.v[i].var->name, name)) {
            *handle = im->vars.v[i].addr;
            return true;
        }
    return false;
}
