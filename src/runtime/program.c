/* program.c: what a host program asks of CUDA, read off its file without running it: the
 * libraries it is linked to, and whether its device code has PTX. */
#include "runtime/runtime.h"

#include "runtime/fatbin.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <unistd.h>

static void
read_dynamic(Elf *elf, Elf_Scn *s, const GElf_Shdr *h, struct allot_program *out)
{
    Elf_Data *d = elf_getdata(s, NULL);
    size_t n = d && h->sh_entsize ? d->d_size / h->sh_entsize : 0;
    for (size_t i = 0; i < n; i++) {
        GElf_Dyn dyn;
        if (!gelf_getdyn(d, (int)i, &dyn))
            return;
        if (dyn.d_tag == DT_RPATH)
            out->rpath = true;
        const char *lib =
            dyn.d_tag == DT_NEEDED ? elf_strptr(elf, h->sh_link, dyn.d_un.d_val) : NULL;
        if (lib && !strncmp(lib, "libcudart.so.", 13))
            snprintf(out->runtime, sizeof out->runtime, "%s", lib);
        if (lib && !strcmp(lib, "libcuda.so.1"))
            out->driver = true;
    }
}

/* Whether a function that start-up code calls stands in the program itself. */
static bool
has_runtime(Elf *elf, Elf_Scn *s, const GElf_Shdr *h)
{
    Elf_Data *d = elf_getdata(s, NULL);
    size_t n = d && h->sh_entsize ? d->d_size / h->sh_entsize : 0;
    for (size_t i = 0; i < n; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(d, (int)i, &sym))
            return false;
        if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
            continue;
        const char *name = elf_strptr(elf, h->sh_link, sym.st_name);
        if (name && !strcmp(name, "__cudaRegisterFatBinary"))
            return true;
    }
    return false;
}

/* Sections: dynamic linking, and the one that start-up code registers. */
static void
read_sections(Elf *elf, struct allot_program *out)
{
    size_t names;
    Elf_Scn *s = NULL;
    if (elf_getshdrstrndx(elf, &names))
        return;
    while ((s = elf_nextscn(elf, s))) {
        GElf_Shdr h;
        const char *n = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (n && h.sh_type == SHT_DYNAMIC)
            read_dynamic(elf, s, &h, out);
        if (n && h.sh_type == SHT_SYMTAB)
            out->static_runtime |= has_runtime(elf, s, &h);
        if (n && !strcmp(n, ".nvFatBinSegment"))
            out->device_code = true;
    }
}

/* Images with device code, and those of them without PTX. */
static bool
read_images(const char *path, Elf *elf, struct allot_program *out, struct diag_sink *diag)
{
    struct fatbin fb = {0};
    size_t len;
    char *bytes = elf_rawfile(elf, &len);
    bool ok = bytes && fatbin_read_elf(&fb, path, bytes, len, diag);
    for (unsigned i = 0; ok && i < fb.images; i++) {
        bool any = false, ptx = false;
        unsigned lowest = UINT_MAX;
        for (size_t k = 0; k < fb.entries.n; k++)
            if (fb.entries.v[k].image == i) {
                any = true;
                if (fb.entries.v[k].kind != FATBIN_PTX)
                    continue;
                ptx = true;
                if (fb.entries.v[k].capability < lowest)
                    lowest = fb.entries.v[k].capability;
            }
        out->images += any;
        out->machine_only += any && !ptx;
        if (ptx && (!out->lowest || lowest < out->lowest))
            out->lowest = lowest;
    }
    fatbin_free(&fb);
    return ok;
}

bool
allot_program_read(const char *path, struct allot_program *out, struct allot_diag *d)
{
    struct diag_sink own = {0}, *diag = rt_sink(d, &own);
    memset(out, 0, sizeof *out);
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0;
    if (!ok)
        diag_error(diag, "cannot read %s: %s", path, strerror(errno));
    Elf *elf = ok ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf && elf_kind(elf) == ELF_K_ELF) { /* anything else is a script */
        out->elf = true;
        read_sections(elf, out);
        if (out->device_code)
            ok = read_images(path, elf, out, diag);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    diag_free(&own);
    return ok;
}
