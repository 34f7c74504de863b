/* core_module.c: modules, their functions and variables, and what a program's start-up
 * code registered.
 *
 * A registered image is read when one of its functions or variables is first used: a
 * program may carry many that this run never touches. Managed variables are the
 * exception: the host may touch them before any call, so their images are read with the
 * device. */
#define _GNU_SOURCE
#include "cuda/core/core_int.h"

#include <dlfcn.h>
#include <unistd.h>

static struct acu_module *
module_new(const char *what)
{
    struct acu_module *m = xcalloc(1, sizeof *m);
    m->what = xstrdup(what);
    *vec_push(&acu.modules) = m;
    return m;
}

/* The handle dies; the PTX stays, because the device reads it until it is freed itself.
 */
static void
module_kill(struct acu_module *m)
{
    for (size_t i = 0; i < m->functions.n; i++) {
        struct acu_function *f = m->functions.v[i];
        acu_map_put(&acu.functions, f, NULL);
        if (f->host && acu_map_get(&acu.functions, f->host) == f)
            acu_map_put(&acu.functions, f->host, NULL);
    }
    for (size_t i = 0; i < m->symbols.n; i++)
        if (m->symbols.v[i]->host &&
            acu_map_get(&acu.symbols, m->symbols.v[i]->host) == m->symbols.v[i])
            acu_map_put(&acu.symbols, m->symbols.v[i]->host, NULL);
    m->dead = true;
}

static void
module_free(struct acu_module *m)
{
    allot_module_free(m->ptx);
    for (size_t i = 0; i < m->functions.n; i++) {
        free((char *)m->functions.v[i]->name);
        free(m->functions.v[i]);
    }
    for (size_t i = 0; i < m->symbols.n; i++) {
        free((char *)m->symbols.v[i]->name);
        free(m->symbols.v[i]);
    }
    vec_free(&m->functions);
    vec_free(&m->symbols);
    vec_free(&m->managed);
    free(m->what);
    free(m);
}

void
acu_modules_reset(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < acu.modules.n; i++) {
        struct acu_module *m = acu.modules.v[i];
        if (m->dead || !m->registered) {
            if (!m->dead)
                module_kill(m);
            module_free(m);
            continue;
        }
        allot_module_free(m->ptx);
        m->ptx = NULL;
        *m->hash = 0;
        m->error = 0;
        for (size_t k = 0; k < m->functions.n; k++) {
            m->functions.v[k]->kernel = NULL;
            m->functions.v[k]->ptx = NULL;
        }
        for (size_t k = 0; k < m->symbols.n; k++)
            m->symbols.v[k]->addr = 0;
        acu.modules.v[kept++] = m;
    }
    acu.modules.n = kept;
}

bool
acu_module_valid(const struct acu_module *m)
{
    for (size_t i = 0; i < acu.modules.n; i++)
        if (acu.modules.v[i] == m)
            return !m->dead;
    return false;
}

/* -- images -- */

static int
load_ptx(struct acu_module *m, const char *text, size_t n)
{
    m->ptx = allot_module_parse(m->what, text, n, acu.diag);
    acu_flush_diag();
    return m->ptx ? 0 : ACU_INVALID_PTX;
}

/* Reads the image of a module; which PTX of several depends on the machine. */
static int
load_image(struct acu_module *m, const void *image)
{
    if (!image)
        return ACU_INVALID_VALUE;
    m->ptx = allot_module_image(m->what, image, acu.machine, acu.diag);
    acu_flush_diag();
    if (m->ptx)
        return 0;
    const char *text = image;
    bool is_text = *text == '\n' || *text == '/' || *text == '.' || *text == ' ' ||
                   *text == '\t' || *text == '\r';
    return is_text ? ACU_INVALID_PTX : ACU_NO_BINARY_FOR_GPU;
}

/* Loads a registered module on first use. Where it cannot be, none of its kernels can
 * run: every use of it says so, and nothing else does, as on a card. */
static int
module_ready(struct acu_module *m)
{
    if (m->ptx || m->error)
        return m->error;
    m->error = load_image(m, m->image);
    if (m->error)
        acu_record_failure(m->what, m->error, false, "its device code cannot be loaded");
    return m->error;
}

static int
load_new(struct acu_module *m, int e, struct acu_module **out)
{
    *out = e ? NULL : m;
    if (e)
        module_kill(m);
    return e;
}

int
acu_module_load(const void *image, const char *what, struct acu_module **out)
{
    struct acu_module *m = module_new(what);
    return load_new(m, load_image(m, image), out);
}

int
acu_module_load_ptx(const char *text, size_t n, const char *what, struct acu_module **out)
{
    struct acu_module *m = module_new(what);
    return load_new(m, load_ptx(m, text, n), out);
}

int
acu_module_adopt(struct allot_module *ptx, const char *what, struct acu_module **out)
{
    struct acu_module *m = module_new(what);
    m->ptx = ptx;
    acu_flush_diag();
    return load_new(m, ptx ? 0 : ACU_INVALID_PTX, out);
}

int
acu_module_load_file(const char *path, struct acu_module **out)
{
    if (access(path, R_OK))
        return ACU_FILE_NOT_FOUND;
    int e =
        acu_module_adopt(allot_module_load_for(path, acu.machine, acu.diag), path, out);
    return e ? ACU_INVALID_IMAGE : 0;
}

int
acu_module_unload(struct acu_module *m)
{
    if (!acu_module_valid(m))
        return ACU_INVALID_HANDLE;
    module_kill(m);
    return 0;
}

struct allot_module *
acu_module_ptx(struct acu_module *m)
{
    return module_ready(m) ? NULL : m->ptx;
}

const char *
acu_module_hash(struct acu_module *m)
{
    if (!*m->hash)
        allot_module_hash(m->ptx, m->hash);
    return m->hash;
}

/* -- functions -- */

static struct acu_function *
function_new(struct acu_module *m, const char *name, const void *host)
{
    struct acu_function *f = xcalloc(1, sizeof *f);
    f->module = m;
    f->name = xstrdup(name);
    f->host = host;
    f->carveout = -1;
    *vec_push(&m->functions) = f;
    acu_map_put(&acu.functions, f, f); /* a handle is found as such */
    return f;
}

int
acu_function_load(struct acu_function *f)
{
    if (f->kernel)
        return 0;
    int e = module_ready(f->module);
    if (e)
        return e;
    f->ptx = f->module->ptx;
    f->kernel = allot_module_find(f->ptx, f->name);
    if (!f->kernel)
        return ACU_INVALID_DEVICE_FUNCTION;
    return 0;
}

int
acu_module_function(struct acu_module *m, const char *name, struct acu_function **out)
{
    int e = module_ready(m);
    if (e)
        return e;
    for (size_t i = 0; i < m->functions.n; i++)
        if (!strcmp(m->functions.v[i]->name, name)) {
            *out = m->functions.v[i];
            return acu_function_load(*out);
        }
    if (!allot_module_find(m->ptx, name))
        return ACU_NOT_FOUND;
    *out = function_new(m, name, NULL);
    return acu_function_load(*out);
}

bool
acu_module_function_at(struct acu_module *m, size_t i, struct acu_function **f)
{
    const struct allot_kernel *k =
        module_ready(m) ? NULL : allot_module_kernel(m->ptx, i);
    return k && !acu_module_function(m, k->name, f);
}

struct acu_function *
acu_function_find(const void *host)
{
    return acu_map_get(&acu.functions, host);
}

bool
acu_function_param(const struct acu_function *f, size_t i, uint64_t *offset,
                   uint64_t *bytes)
{
    uint64_t at = 0;
    if (!f->kernel || i >= f->kernel->nparams)
        return false;
    for (size_t k = 0;; k++) {
        const struct allot_param *p = &f->kernel->params[k];
        uint64_t align = p->align ? p->align : 1;
        at = (at + align - 1) / align * align;
        *offset = at;
        *bytes = p->bytes;
        if (k == i)
            return true;
        at += p->bytes;
    }
}

/* -- variables -- */

static struct acu_symbol *
symbol_new(struct acu_module *m, const char *name, const void *host, uint64_t size)
{
    struct acu_symbol *s = xcalloc(1, sizeof *s);
    s->module = m;
    s->name = xstrdup(name);
    s->host = host;
    s->size = size;
    *vec_push(&m->symbols) = s;
    return s;
}

int
acu_symbol_load(struct acu_symbol *s)
{
    if (s->addr)
        return 0;
    int e = module_ready(s->module);
    if (e)
        return e;
    uint64_t addr, size;
    if (!allot_symbol(acu.device, s->module->ptx, s->name, &addr, &size, NULL))
        return ACU_INVALID_SYMBOL;
    s->addr = addr;
    if (!s->size || s->size > size)
        s->size = size;
    struct acu_range r;
    if (!acu_range_find(addr, &r))
        acu_range_add(addr, size, s->managed ? ACU_KIND_MANAGED : ACU_KIND_SYMBOL, 0);
    return 0;
}

int
acu_module_symbol(struct acu_module *m, const char *name, struct acu_symbol **out)
{
    int e = module_ready(m);
    if (e)
        return e;
    for (size_t i = 0; i < m->symbols.n; i++)
        if (!strcmp(m->symbols.v[i]->name, name)) {
            *out = m->symbols.v[i];
            return acu_symbol_load(*out);
        }
    if (!allot_symbol(acu.device, m->ptx, name, NULL, NULL, NULL))
        return ACU_NOT_FOUND;
    *out = symbol_new(m, name, NULL, 0);
    return acu_symbol_load(*out);
}

struct acu_symbol *
acu_symbol_find(const void *host)
{
    return acu_map_get(&acu.symbols, host);
}

/* -- registration -- */

struct acu_module *
acu_register_image(const void *wrapper)
{
    /* Of a library: by its name. */
    Dl_info of;
    const char *slash =
        dladdr(wrapper, &of) && of.dli_fname ? strrchr(of.dli_fname, '/') : NULL;
    struct acu_module *m =
        module_new(slash && strstr(slash, ".so") ? slash + 1 : "the program's PTX");
    m->image = wrapper;
    m->registered = true;
    return m;
}

void
acu_register_end(struct acu_module *m)
{
    if (m->managed.n && acu.device)
        acu_modules_managed();
}

void
acu_unregister_image(struct acu_module *m)
{
    if (acu_module_valid(m))
        module_kill(m);
}

void
acu_register_function(struct acu_module *m, const void *host, const char *name)
{
    acu_map_put(&acu.functions, host, function_new(m, name, host));
}

void
acu_register_symbol(struct acu_module *m, const void *host, const char *name,
                    uint64_t size, bool constant)
{
    struct acu_symbol *s = symbol_new(m, name, host, size);
    s->constant = constant;
    acu_map_put(&acu.symbols, host, s);
}

void
acu_register_managed(struct acu_module *m, void **host, const char *name, uint64_t size)
{
    struct acu_symbol *s = symbol_new(m, name, host, size);
    s->managed = true;
    acu_map_put(&acu.symbols, host, s);
    *vec_push(&m->managed) = host;
}

int
acu_modules_managed(void)
{
    int e = 0;
    for (size_t i = 0; !e && i < acu.modules.n; i++) {
        struct acu_module *m = acu.modules.v[i];
        for (size_t k = 0; !e && !m->dead && k < m->symbols.n; k++) {
            struct acu_symbol *s = m->symbols.v[k];
            if (!s->managed)
                continue;
            e = acu_symbol_load(s);
            if (!e) {
                void **host = (void **)(uintptr_t)s->host;
                *host = (void *)(uintptr_t)s->addr;
                acu_map_put(&acu.symbols, *host, s); /* what the program's & gives */
            }
        }
    }
    return e;
}
