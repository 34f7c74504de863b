/* fatbin_elf.c: fatbins in the sections of a host's ELF file.
 *
 * .nv_fatbin holds a fatbin a source file; __nv_relfatbin those of relocatable device
 * code, which are linked together, and then .nv_fatbin's are their device-linked machine
 * code, if anything. clang names the first section so too. */
#include "runtime/fatbin.h"

#include <gelf.h>

static bool
read_section(struct fatbin *fb, const char *name, Elf *elf, const char *wanted,
             struct diag_sink *diag)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return true; /* no sections: nothing of ours inside */
    Elf_Scn *s = NULL;
    while ((s = elf_nextscn(elf, s))) {
        GElf_Shdr h;
        const char *n = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (!n || strcmp(n, wanted))
            continue;
        Elf_Data *d = elf_rawdata(s, NULL);
        if (!d || (!d->d_buf && d->d_size)) {
            diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = name},
                     "section %s cannot be read: the file is cut short", wanted);
            return false;
        }
        if (!fatbin_read(fb, name, d->d_buf, d->d_size, diag))
            return false;
    }
    return true;
}

bool
fatbin_read_elf(struct fatbin *fb, const char *name, const void *data, size_t len,
                struct diag_sink *diag)
{
    struct diag_loc loc = {.file = name};
    elf_version(EV_CURRENT);
    /* Only read, whatever the parameter's type says. */
    Elf *elf = elf_memory((char *)(uintptr_t)data, len);
    GElf_Ehdr head;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head)) {
        diag_add(diag, DIAG_ERROR, &loc, "damaged ELF file: %s", elf_errmsg(-1));
        elf_end(elf);
        return false;
    }
    if (head.e_machine == FATBIN_CUBIN_MACHINE) {
        struct diag *g = diag_add(diag, DIAG_ERROR, &loc,
                                  "only machine code inside, no PTX: this is a cubin");
        diag_hint(diag, g,
                  "rebuild with PTX: -gencode arch=compute_75,code=compute_75, or "
                  "nvcc --ptx");
        elf_end(elf);
        return false;
    }
    bool ok = read_section(fb, name, elf, "__nv_relfatbin", diag);
    fb->parts = ok && fb->images;
    if (ok && !fb->parts)
        ok = read_section(fb, name, elf, ".nv_fatbin", diag);
    elf_end(elf);
    if (ok && !fb->images) {
        struct diag *g =
            diag_add(diag, DIAG_ERROR, &loc, "there is no device code in this ELF file");
        diag_hint(diag, g, "a CUDA program has it in the section .nv_fatbin");
        return false;
    }
    return ok;
}
