/* static.c: liballot-static.so, preloaded into programs that have CUDA's runtime linked
 * statically, which is nvcc's default.
 *
 * Such a program calls the runtime's functions at fixed places of its own code; a library
 * on the path is never asked, and the runtime inside takes no driver but NVIDIA's. But
 * its functions have names in the program's symbol table. Before the program starts, the
 * first bytes of each are replaced by a jump to the function of that name in our
 * libcudart.so: the runtime inside is never entered. A program without symbol table
 * (strip) cannot be helped so; allot exec says it.
 *
 * Only the main program is looked at. Nothing of allot is linked here: the library may
 * stand in any process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct program {
    const char *file; /* mapped */
    size_t size;
    uintptr_t base; /* where address 0 of the file lies in memory */
    const Elf64_Sym *sym;
    size_t nsym;
    const char *names;
    size_t names_size;
};

static void
fail(const char *why)
{
    fprintf(stderr, "allot: the statically linked CUDA runtime cannot be replaced: %s\n",
            why);
    exit(127);
}

static int
main_base(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    *(uintptr_t *)user = info->dlpi_addr;
    return 1; /* the first is the program */
}

/* The symbol table of the running program; false: it has none. */
static bool
open_program(struct program *p)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return false;
    p->size = (size_t)st.st_size;
    void *map = mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    p->file = map;
    const Elf64_Ehdr *h = map;
    if (p->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shoff > p->size ||
        (p->size - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
        return false;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(p->file + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= h->e_shnum)
            continue;
        const Elf64_Shdr *t = &s[s[i].sh_link];
        if (s[i].sh_offset > p->size || s[i].sh_size > p->size - s[i].sh_offset ||
            t->sh_offset > p->size || t->sh_size > p->size - t->sh_offset || !t->sh_size)
            return false;
        p->sym = (const Elf64_Sym *)(p->file + s[i].sh_offset);
        p->nsym = s[i].sh_size / sizeof *p->sym;
        p->names = p->file + t->sh_offset;
        p->names_size = t->sh_size;
        dl_iterate_phdr(main_base, &p->base);
        return p->names[t->sh_size - 1] == 0;
    }
    return false;
}

/* The name of symbol i if it is a function of the runtime that stands in the program. */
static const char *
runtime_function(const struct program *p, size_t i)
{
    const Elf64_Sym *s = &p->sym[i];
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
        s->st_name >= p->names_size)
        return NULL;
    const char *n = p->names + s->st_name;
    return !strncmp(n, "cuda", 4) || !strncmp(n, "__cuda", 6) ? n : NULL;
}

static bool
has(const struct program *p, const char *name)
{
    for (size_t i = 0; i < p->nsym; i++) {
        const char *n = runtime_function(p, i);
        if (n && !strcmp(n, name))
            return true;
    }
    return false;
}

/* Our runtime of the same CUDA version, which lies beside this library. */
static void *
open_runtime(const struct program *p)
{
    const char *name = has(p, "cudaGetDeviceProperties_v2") ? "libcudart.so.12"
                       : has(p, "__cudaGetKernel")          ? "libcudart.so.13"
                                                            : "libcudart.so.11.0";
    char path[PATH_MAX + 32];
    Dl_info own;
    if (!dladdr((void *)(uintptr_t)open_runtime, &own) || !own.dli_fname)
        fail("its own place is not known");
    const char *slash = strrchr(own.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - own.dli_fname) : 0,
             own.dli_fname, name);
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        fail(dlerror());
    return lib;
}

/* -- jumps -- */

#if defined(__x86_64__)
enum { JUMP = 13 }; /* movabs $to, %r11; jmp *%r11 */
static void
write_jump(unsigned char *at, uint64_t to)
{
    memcpy(at, "\x49\xbb", 2);
    memcpy(at + 2, &to, 8);
    memcpy(at + 10, "\x41\xff\xe3", 3);
}
#elif defined(__aarch64__)
enum { JUMP = 16 }; /* ldr x16, .+8; br x16; the address */
static void
write_jump(unsigned char *at, uint64_t to)
{
    static const uint32_t code[] = {0x58000050, 0xd61f0200};
    memcpy(at, code, 8);
    memcpy(at + 8, &to, 8);
}
#else
enum { JUMP = 1 << 20 };
static void
write_jump(unsigned char *at, uint64_t to)
{
}
#endif

/* Functions begin at multiples of 16, so that the jump may take what is left of the last
 * sixteen bytes. */
static bool
room(const Elf64_Sym *s)
{
    uint64_t end = (s->st_value + s->st_size + 15) & ~(uint64_t)15;
    return end - s->st_value >= JUMP;
}

static void
replace(const struct program *p, void *runtime)
{
    long page = sysconf(_SC_PAGESIZE);
    uintptr_t lo = UINTPTR_MAX, hi = 0;
    for (size_t i = 0; i < p->nsym; i++)
        if (runtime_function(p, i)) {
            uintptr_t at = p->base + p->sym[i].st_value;
            lo = at < lo ? at : lo;
            hi = at + JUMP > hi ? at + JUMP : hi;
        }
    lo &= ~(uintptr_t)(page - 1);
    hi = (hi + (uintptr_t)page - 1) & ~(uintptr_t)(page - 1);
    if (mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC))
        fail("its code may not be written");
    for (size_t i = 0; i < p->nsym; i++) {
        const char *name = runtime_function(p, i);
        void *to = name ? dlsym(runtime, name) : NULL;
        if (!to)
            continue; /* what ours has not stays: it answers an error */
        unsigned char *at = (unsigned char *)(p->base + p->sym[i].st_value);
        if (!room(&p->sym[i]))
            fail(name);
        write_jump(at, (uint64_t)(uintptr_t)to);
    }
    mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char *)lo, (char *)hi);
}

/* Runs before the program's own constructors, which register its kernels. */
__attribute__((constructor)) static void
start(void)
{
    struct program p = {0};
    if (open_program(&p) && has(&p, "__cudaRegisterFatBinary"))
        replace(&p, open_runtime(&p));
    if (p.file)
        munmap((void *)(uintptr_t)p.file, p.size);
}
