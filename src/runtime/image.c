/* image.c: modules from bytes of any kind: PTX text, fatbins, host files; and from images
 * in memory, as CUDA programs hand them over. */
#include "runtime/runtime.h"

#include "ptx/link.h"
#include "ptx/parse.h"
#include "runtime/fatbin.h"

#include <elf.h>
#include <errno.h>

/* -- several PTX modules as one -- */

/* The library of CUDA functions for device code (libcudadevrt) stands among the parts of
 * every program of relocatable device code. What it defines is built in here. */
static bool
is_device_runtime(const struct ptx_module *m)
{
    for (size_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.v[i]->has_body && !m->funcs.v[i]->is_entry &&
            !strcmp(m->funcs.v[i]->name, "cudaGetParameterBufferV2"))
            return true;
    return false;
}

struct parts {
    VEC(struct ptx_module *) v;
};

static void
parts_free(struct parts *p)
{
    for (size_t i = 0; i < p->v.n; i++)
        ptx_module_free(p->v.v[i]);
    vec_free(&p->v);
}

/* Beside images with PTX, one without belongs to nvcc, which puts what it linked for the
 * device before them, empty or not; more are sources that will be missed. */
static void
say_left_out(const struct fatbin *fb, const char *name, struct diag_sink *diag)
{
    unsigned without = 0;
    for (unsigned i = 0; i < fb->images; i++)
        without += !fatbin_has_ptx(fb, i);
    if (without > 1 && without < fb->images)
        diag_add(diag, DIAG_NOTE, &(struct diag_loc){.file = name},
                 "%u of %u sources hold no PTX and are left out", without - 1,
                 fb->images - 1);
}

static bool
parts_add(struct parts *p, const struct fatbin *fb, unsigned capability, const char *name,
          struct diag_sink *diag)
{
    bool any = false;
    for (unsigned i = 0; i < fb->images; i++)
        any |= fatbin_has_ptx(fb, i);
    say_left_out(fb, name, diag);
    for (unsigned i = 0; i < fb->images; i++) {
        if (any && !fatbin_has_ptx(fb, i))
            continue;
        size_t before = diag->errors, len;
        const struct fatbin_entry *e = fatbin_choose(fb, i, capability, name, diag);
        if (!e && diag->errors > before)
            return false;
        if (!e)
            continue; /* an empty image */
        char *text = fatbin_text(e, name, &len, diag);
        if (!text)
            return false;
        char *inside = NULL;
        if (fb->images > 1 || *e->source) {
            struct strbuf b = {0};
            strbuf_printf(&b, "%s(%s", name, *e->source ? e->source : "");
            if (!*e->source)
                strbuf_printf(&b, "%u", i + 1);
            strbuf_addz(&b, ")");
            inside = strbuf_take(&b);
        }
        struct ptx_module *m = ptx_parse_part(inside ? inside : name, text, len, diag);
        free(inside);
        free(text);
        if (!m)
            return false;
        if (fb->parts && is_device_runtime(m))
            ptx_module_free(m);
        else
            *vec_push(&p->v) = m;
    }
    return true;
}

/* Sources compiled each for itself share no names: what a source defines becomes its own,
 * and of kernels of one name the later ones get another (kernel$2). Kernels that are
 * .weak, instances of templates, are the same everywhere. */
static void
parts_separate(struct parts *p)
{
    struct strtab kernels = {0};
    for (size_t i = 0; i < p->v.n; i++) {
        struct ptx_module *m = p->v.v[i];
        for (size_t k = 0; k < m->vars.n; k++)
            if (m->vars.v[k]->linkage != PTX_LINK_EXTERN)
                m->vars.v[k]->linkage = PTX_LINK_NONE;
        for (size_t k = 0; k < m->funcs.n; k++) {
            struct ptx_func *f = m->funcs.v[k];
            const struct ptx_func *body = f->has_body ? f : ptx_find_func(m, f->name);
            if (!f->is_entry && f->linkage != PTX_LINK_WEAK && body && body->has_body)
                f->linkage = PTX_LINK_NONE;
            if (!f->is_entry || !f->has_body || f->linkage == PTX_LINK_WEAK)
                continue;
            const char *name = f->name;
            for (unsigned n = 2;; n++) {
                size_t before = kernels.n;
                str_intern_z(&kernels, f->name);
                if (kernels.n > before)
                    break;
                f->name = arena_printf(&m->mem, "%s$%u", name, n);
            }
        }
    }
    strtab_free(&kernels);
}

/* One module of all parts, which it takes over. */
static struct ptx_module *
parts_join(struct parts *p, const char *name, struct diag_sink *diag)
{
    struct ptx_module *m = NULL;
    if (p->v.n == 1) {
        m = p->v.v[0];
        p->v.n = 0;
    } else if (!p->v.n) {
        diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = name},
                 "the fatbin is empty: there is no device code in it");
    } else {
        m = ptx_link(p->v.v, p->v.n, name, diag);
        if (m)
            p->v.n = 0;
    }
    return m;
}

static unsigned
capability_of(const struct allot_machine *m)
{
    return m ? m->m->gpu.compute_capability : 0;
}

static struct ptx_module *
read_bytes(const char *name, const void *data, size_t len, const struct allot_machine *m,
           struct diag_sink *diag)
{
    enum fatbin_file kind = fatbin_file_kind(data, len);
    if (kind == FATBIN_FILE_TEXT)
        return ptx_parse(name, data, len, diag);
    struct fatbin fb = {0};
    struct parts parts = {0};
    struct ptx_module *p = NULL;
    if ((kind == FATBIN_FILE_ELF ? fatbin_read_elf : fatbin_read)(&fb, name, data, len,
                                                                  diag) &&
        parts_add(&parts, &fb, capability_of(m), name, diag)) {
        if (!fb.parts && parts.v.n > 1)
            parts_separate(&parts);
        p = parts_join(&parts, name, diag);
    }
    parts_free(&parts);
    fatbin_free(&fb);
    return p;
}

struct allot_module *
allot_module_read(const char *name, const void *data, size_t len,
                  const struct allot_machine *m, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct allot_module *a = rt_module_wrap(read_bytes(name, data, len, m, diag), diag);
    diag_free(&own);
    return a;
}

struct allot_module *
allot_module_load(const char *path, struct allot_diag *d)
{
    return allot_module_load_for(path, NULL, d);
}

struct allot_module *
allot_module_load_for(const char *path, const struct allot_machine *m,
                      struct allot_diag *d)
{
    size_t len;
    char *bytes = file_read(path, &len);
    if (!bytes) {
        if (d && !(errno == EINTR && diag_cancelled(&d->sink)))
            diag_error(&d->sink, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    struct allot_module *a =
        allot_module_read(strcmp(path, "-") ? path : "<stdin>", bytes, len, m, d);
    free(bytes);
    return a;
}

/* -- images in memory -- */

/* What stands in .nvFatBinSegment and is registered by start-up code. */
struct wrapper {
    uint32_t magic, version; /* 1: one fatbin; 2: relocatable device code */
    const void *data;
    const void *const *parts; /* version 2: fatbins that are linked; NULL-terminated */
};

static struct ptx_module *
read_wrapper(const struct wrapper *w, const char *name, const struct allot_machine *m,
             struct diag_sink *diag)
{
    struct fatbin fb = {.parts = w->version == 2};
    struct parts parts = {0};
    struct ptx_module *p = NULL;
    bool ok = true;
    if (w->version != 1 && w->version != 2)
        ok = diag_error(diag, "%s: fatbin wrapper of version %u; 1 and 2 are known", name,
                        w->version);
    else if (w->version == 1)
        ok = fatbin_read(&fb, name, w->data, fatbin_length(w->data), diag);
    else
        for (const void *const *l = w->parts; ok && l && *l; l++)
            ok = fatbin_read(&fb, name, *l, fatbin_length(*l), diag);
    /* Without parts, what was linked is all there is. */
    if (ok && !fb.images && w->data)
        ok = fatbin_read(&fb, name, w->data, fatbin_length(w->data), diag);
    if (ok && parts_add(&parts, &fb, capability_of(m), name, diag))
        p = parts_join(&parts, name, diag);
    parts_free(&parts);
    fatbin_free(&fb);
    return p;
}

/* Bytes of an ELF file in memory, by its header; its tables come last or before last. */
static size_t
elf_length(const Elf64_Ehdr *h)
{
    size_t end = sizeof *h;
    if (h->e_ident[EI_CLASS] != ELFCLASS64)
        return end;
    if (h->e_shoff)
        end = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
    const Elf64_Shdr *s = (const void *)((const char *)h + h->e_shoff);
    for (unsigned i = 0; h->e_shoff && i < h->e_shnum; i++)
        if (s[i].sh_type != SHT_NOBITS && s[i].sh_offset + s[i].sh_size > end)
            end = s[i].sh_offset + s[i].sh_size;
    return end;
}

struct allot_module *
allot_module_image(const char *name, const void *image, const struct allot_machine *m,
                   struct allot_diag *d)
{
    if (!*(const char *)image) {
        if (d)
            diag_error(&d->sink, "%s: the image is empty", name);
        return NULL;
    }
    if (strnlen(image, 4) == 4) { /* no magic has a zero byte */
        uint32_t magic;
        memcpy(&magic, image, 4);
        if (magic == FATBIN_WRAPPER_MAGIC) {
            struct diag_sink own = {0}, *diag = rt_sink(d, &own);
            struct wrapper w;
            memcpy(&w, image, sizeof w);
            struct allot_module *a =
                rt_module_wrap(read_wrapper(&w, name, m, diag), diag);
            diag_free(&own);
            return a;
        }
        if (magic == FATBIN_MAGIC)
            return allot_module_read(name, image, fatbin_length(image), m, d);
        if (!memcmp(image, ELFMAG, SELFMAG))
            return allot_module_read(name, image, elf_length(image), m, d);
    }
    return allot_module_read(name, image, strlen(image), m, d);
}

/* -- writing -- */

/* What .target sm_90a says. */
static void
describe_target(const struct ptx_module *m, struct fatbin_input *in)
{
    const char *s = m->target;
    char *end;
    while (*s && (*s < '0' || *s > '9'))
        s++;
    in->capability = (unsigned)strtoul(s, &end, 10);
    in->flags = *end == 'a' ? FATBIN_ARCH_SPECIFIC : *end == 'f' ? FATBIN_FAMILY : 0;
    in->major = m->version_major;
    in->minor = m->version_minor;
}

char *
allot_fatbin_write(const char *const *ptx, size_t n, const char *compress, size_t *len,
                   struct allot_diag *d)
{
    static const char *const names[] = {"none", "lz4", "zstd"};
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    struct strbuf out = {0};
    struct fatbin_input *in = xcalloc(n ? n : 1, sizeof *in);
    unsigned packing = 0;
    while (packing < 3 && strcmp(names[packing], compress ? compress : "none"))
        packing++;
    bool ok = packing < 3 ||
              diag_error(diag, "fatbins are compressed by none, lz4 or zstd, not '%s'",
                         compress);
    for (size_t i = 0; ok && i < n; i++) {
        struct ptx_module *m = ptx_parse("PTX", ptx[i], strlen(ptx[i]), diag);
        ok = m != NULL;
        in[i] = (struct fatbin_input){.text = ptx[i], .len = strlen(ptx[i])};
        if (ok)
            describe_target(m, &in[i]);
        ptx_module_free(m);
    }
    ok = ok && fatbin_write(&out, in, n, (enum fatbin_packing)packing, diag);
    free(in);
    diag_free(&own);
    *len = out.n;
    if (ok)
        return strbuf_take(&out);
    strbuf_free(&out);
    return NULL;
}
