/* static.c: liballot-static.so, preloaded into programs that have CUDA's runtime linked
 * statically, which is nvcc's default, and into those that load it, or the compilers
 * below, while they run.
 *
 * Such a program calls the runtime's functions at fixed places of its own code; a library
 * on the path is never asked, and the runtime inside takes no driver but NVIDIA's. But
 * its functions have names in the program's symbol table. Before the program starts, the
 * first bytes of each are replaced by a jump to the function of that name in our
 * libcudart.so: the runtime inside is never entered. A program without symbol table
 * (strip) cannot be helped so; allot exec says it.
 *
 * The same holds for shared libraries that have a runtime inside, as extension modules of
 * Python do. Their start-up code has run before they can be changed, and told the runtime
 * inside of their kernels; so it is run again.
 *
 * Two more libraries give programs machine code, which cannot be simulated. In NVRTC the
 * functions that fetch it jump to those that fetch the PTX of the same program. In place
 * of nvJitLink, loaded by whatever path, comes ours (nvjitlink.c), which is told where
 * the other lies.
 *
 * Libraries that have nothing but machine code are named on standard error.
 *
 * Nothing of allot is linked here: the library may stand in any process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct program {      /* or shared library */
    const char *file; /* mapped */
    size_t size;
    uintptr_t base; /* where address 0 of the file lies in memory */
    const Elf64_Sym *sym;
    size_t nsym;
    const char *names;
    size_t names_size;
};

static void *
next_dlopen(const char *name, int flags)
{
    static void *(*next)(const char *, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return next(name, flags);
}

static void
fail(const char *name, const char *why)
{
    fprintf(stderr,
            "allot: the statically linked CUDA runtime of %s cannot be replaced: %s\n",
            name, why);
    exit(127);
}

/* Maps the file and finds its symbol table; false: it has none. */
static bool
open_program(struct program *p, const char *path, uintptr_t base)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    p->base = base;
    p->size = (size_t)st.st_size;
    void *map = mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    p->file = map;
    const Elf64_Ehdr *h = map;
    if (p->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shoff > p->size || h->e_shoff % 8 ||
        (p->size - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
        return false;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(p->file + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= h->e_shnum)
            continue;
        const Elf64_Shdr *t = &s[s[i].sh_link];
        if (s[i].sh_offset > p->size || s[i].sh_size > p->size - s[i].sh_offset ||
            t->sh_offset > p->size || t->sh_size > p->size - t->sh_offset ||
            !t->sh_size || s[i].sh_offset % 8)
            return false;
        p->sym = (const Elf64_Sym *)(p->file + s[i].sh_offset);
        p->nsym = s[i].sh_size / sizeof *p->sym;
        p->names = p->file + t->sh_offset;
        p->names_size = t->sh_size;
        return p->names[t->sh_size - 1] == 0;
    }
    return false;
}

/* The name of symbol i if it is a function that stands in the file, else "". */
static const char *
function_name(const struct program *p, size_t i)
{
    const Elf64_Sym *s = &p->sym[i];
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
        s->st_name >= p->names_size)
        return "";
    return p->names + s->st_name;
}

/* The same, if it is one of the runtime, else NULL. */
static const char *
runtime_function(const struct program *p, size_t i)
{
    const char *n = function_name(p, i);
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

/* The library of that name beside this one; NULL: there is none (see dlerror). */
static void *
open_beside(const char *name, int flags)
{
    char path[PATH_MAX + 32];
    Dl_info own;
    if (!dladdr((void *)(uintptr_t)open_beside, &own) || !own.dli_fname)
        return NULL;
    const char *slash = strrchr(own.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - own.dli_fname) : 0,
             own.dli_fname, name);
    return next_dlopen(path, flags);
}

/* Our runtime of the same CUDA version. */
static void *
open_runtime(const struct program *p, const char *of)
{
    void *lib = open_beside(has(p, "cudaGetDeviceProperties_v2") ? "libcudart.so.12"
                            : has(p, "__cudaGetKernel")          ? "libcudart.so.13"
                                                                 : "libcudart.so.11.0",
                            RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        fail(of, dlerror());
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

/* Whole pages around the addresses from lo to hi become writable, or code again. */
static bool
unlock_code(uintptr_t *lo, uintptr_t *hi)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    *lo &= ~(page - 1);
    *hi = (*hi + page - 1) & ~(page - 1);
    return !mprotect((void *)*lo, *hi - *lo, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void
lock_code(uintptr_t lo, uintptr_t hi)
{
    mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char *)lo, (char *)hi);
}

static void
replace(const struct program *p, void *runtime, const char *of)
{
    uintptr_t lo = UINTPTR_MAX, hi = 0;
    for (size_t i = 0; i < p->nsym; i++)
        if (runtime_function(p, i)) {
            uintptr_t at = p->base + p->sym[i].st_value;
            lo = at < lo ? at : lo;
            hi = at + JUMP > hi ? at + JUMP : hi;
        }
    if (!unlock_code(&lo, &hi))
        fail(of, "its code may not be written");
    for (size_t i = 0; i < p->nsym; i++) {
        const char *name = runtime_function(p, i);
        void *to = name ? dlsym(runtime, name) : NULL;
        if (!to)
            continue; /* what ours has not stays: it answers an error */
        unsigned char *at = (unsigned char *)(p->base + p->sym[i].st_value);
        if (!room(&p->sym[i]))
            fail(of, name);
        write_jump(at, (uint64_t)(uintptr_t)to);
    }
    lock_code(lo, hi);
}

/* -- NVRTC -- */

/* What fetches machine code fetches PTX instead: the arguments are the same, and a
 * program compiled for sm_80 has both. Left as it is where that cannot be: then the
 * module is refused when it is loaded. */
static void
nvrtc_gives_ptx(const char *path)
{
    static const char *const from[] = {"nvrtcGetCUBINSize", "nvrtcGetCUBIN"},
                             *const to[] = {"nvrtcGetPTXSize", "nvrtcGetPTX"};
    void *lib = next_dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    for (int i = 0; lib && i < 2; i++) {
        unsigned char *at = dlsym(lib, from[i]);
        void *target = dlsym(lib, to[i]);
        const Elf64_Sym *sym;
        Dl_info info;
        if (!at || !target || !dladdr1(at, &info, (void **)&sym, RTLD_DL_SYMENT) ||
            !sym || !room(sym))
            break;
        uintptr_t lo = (uintptr_t)at, hi = lo + JUMP;
        if (!unlock_code(&lo, &hi))
            break;
        write_jump(at, (uint64_t)(uintptr_t)target);
        lock_code(lo, hi);
    }
    if (lib)
        dlclose(lib);
}

/* -- nvJitLink -- */

/* Ours in place of the one at the path; NULL: that is no nvJitLink, or there is none of
 * its version. */
static void *
open_nvjitlink(const char *path, int flags)
{
    static const char stem[] = "libnvJitLink.so.";
    char real[PATH_MAX], name[64];
    const char *file = strrchr(path, '/') + 1;
    if (strncmp(file, stem, sizeof stem - 2) != 0 || !realpath(path, real))
        return NULL;
    file = strrchr(real, '/') + 1;
    if (strncmp(file, stem, sizeof stem - 1) != 0)
        return NULL;
    snprintf(name, sizeof name, "%s%d", stem, atoi(file + sizeof stem - 1));
    void *lib = open_beside(name, flags);
    void (*told)(const char *);
    *(void **)&told = lib ? dlsym(lib, "allot_nvjitlink_real") : NULL;
    if (told)
        told(real);
    return lib;
}

/* -- libraries that cannot be simulated -- */

/* NVIDIA's libraries as it ships them: stripped, with the runtime and machine code inside.
 * Every call of theirs that needs the GPU fails, which programs may overlook. */
static const struct closed {
    const char *stem, *name;
} closed[] = {
    {"libcublas", "cuBLAS"},
    {"libnvblas", "cuBLAS"},
    {"libcufft", "cuFFT"},
    {"libcurand", "cuRAND"},
    {"libcusparseLt", "cuSPARSELt"},
    {"libcusparse", "cuSPARSE"},
    {"libcusolver", "cuSOLVER"},
    {"libcudnn", "cuDNN"},
    {"libnccl", "NCCL"},
    {"libcutensor", "cuTENSOR"},
    {"libnpp", "NPP"},
    {"libnvjpeg", "nvJPEG"},
    {"libnvinfer", "TensorRT"},
    {"libcudss", "cuDSS"},
    {"libnvshmem", "NVSHMEM"},
};
enum { CLOSED = sizeof closed / sizeof *closed };

/* The row of a file's name, NULL: it is none of these. */
static const struct closed *
closed_library(const char *file)
{
    for (int i = 0; i < CLOSED; i++)
        if (!strncmp(file, closed[i].stem, strlen(closed[i].stem)) && strstr(file, ".so"))
            return &closed[i];
    return NULL;
}

/* Once for each product. */
static void
tell_closed(const struct closed *c, const char *path)
{
    static bool told[CLOSED];
    bool before = false;
    for (int i = 0; i < CLOSED; i++)
        if (!strcmp(closed[i].name, c->name)) {
            before |= told[i];
            told[i] = true;
        }
    if (!before)
        fprintf(
            stderr,
            "allot: %s (%s) has machine code without PTX and cannot be simulated: its "
            "calls fail; use kernels with PTX in its place\n",
            c->name, path);
}

/* -- what is loaded -- */

/* nvcc's start-up function, one a source file: registers its kernels and variables. */
static void
register_again(const struct program *p)
{
    for (size_t i = 0; i < p->nsym; i++)
        if (strstr(function_name(p, i), "__sti____cudaRegisterAll"))
            ((void (*)(void))(p->base + p->sym[i].st_value))();
}

static void
look_at(const char *path, uintptr_t base, bool started)
{
    struct program p = {0};
    const char *file = strrchr(path, '/') + 1;
    if (!strncmp(file, "libcudart.so", 12)) /* a shared runtime: ours, mostly */
        return;
    if (!strncmp(file, "libnvrtc.", 9)) {
        nvrtc_gives_ptx(path);
        return;
    }
    const struct closed *c = closed_library(file);
    if (open_program(&p, path, base) && has(&p, "__cudaRegisterFatBinary") &&
        has(&p, "cudaLaunchKernel")) {
        replace(&p, open_runtime(&p, path), path);
        if (started)
            register_again(&p);
    } else if (c) {
        tell_closed(c, path);
    }
    if (p.file)
        munmap((void *)(uintptr_t)p.file, p.size);
}

/* Objects seen, by where they lie. */
static struct {
    pthread_mutex_t lock;
    struct seen {
        uintptr_t base;
        char path[PATH_MAX];
    } * list;
    size_t n;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Notes an object that is new. What is done to it waits until the loader is free again.
 */
static int
note(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    (void)user;
    bool is_main = !info->dlpi_name || !*info->dlpi_name;
    for (size_t i = 0; i < seen.n; i++)
        if (seen.list[i].base == info->dlpi_addr)
            return 0;
    struct seen *list = realloc(seen.list, (seen.n + 1) * sizeof *list);
    if (!list)
        return 1;
    seen.list = list;
    list[seen.n].base = info->dlpi_addr;
    snprintf(list[seen.n].path, sizeof list->path, "%s",
             is_main ? "/proc/self/exe" : info->dlpi_name);
    seen.n++;
    return 0;
}

static void
look_at_new(void)
{
    pthread_mutex_lock(&seen.lock);
    size_t from = seen.n;
    dl_iterate_phdr(note, NULL);
    size_t to = seen.n;
    pthread_mutex_unlock(&seen.lock);
    for (size_t i = from; i < to; i++) {
        struct seen s;
        pthread_mutex_lock(&seen.lock);
        s = seen.list[i];
        pthread_mutex_unlock(&seen.lock);
        bool is_main = !strcmp(s.path, "/proc/self/exe");
        if (strchr(s.path, '/')) /* not the kernel's own */
            look_at(s.path, s.base, !is_main);
    }
}

/* Runs before the program's own constructors, which register its kernels, and after those
 * of its libraries. */
__attribute__((constructor)) static void
start(void)
{
    look_at_new();
}

/* What was loaded where a caller's own folders were searched. */
__attribute__((destructor)) static void
end(void)
{
    look_at_new();
}

/* Libraries that come later. Where a name without a folder is looked for depends on who
 * asks, so that such a call is passed on as the caller's own: a jump, whatever the build. */
#if defined(__clang__)
#define JUMPS
#define JUMP_TO __attribute__((musttail)) return
#else
#define JUMPS __attribute__((optimize("O2")))
#define JUMP_TO return
#endif
__attribute__((visibility("default"))) JUMPS void *
dlopen(const char *name, int flags)
{
    static void *(*next)(const char *, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    void *handle = NULL;
    if (name && strchr(name, '/')) {
        handle = open_nvjitlink(name, flags);
        if (!handle)
            handle = next_dlopen(name, flags);
    } else if (name && (!strncmp(name, "libnvrtc.", 9) || closed_library(name))) {
        handle = next_dlopen(name, flags);
    }
    if (handle)
        look_at_new();
    if (handle || (name && strchr(name, '/')))
        return handle;
    JUMP_TO next(name, flags);
}
