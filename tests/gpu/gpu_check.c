/* gpu_check.c: runs every test vector on a real GPU through the driver, which is opened
 * at run time, and on the executor; says where they differ, and can keep the card's
 * answers:
 *
 *   gpu-check [--write DIR] [--only TEXT]
 *   gpu-check --ptx DIR [--only TEXT]      writes the kernels to files, for an assembler
 *
 * Without a driver or a card it says so in one line and ends with 0. Exit status 1: some
 * vector differs by more than the ISA allows. The file in DIR is read by the test
 * tests/unit/exec/gpu_answers.c. */
#include "vectors/vectors.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The few entry points needed, by their symbols in libcuda.so.1. */
struct driver {
    int (*init)(unsigned);
    int (*version)(int *);
    int (*count)(int *);
    int (*device)(int *, int);
    int (*name)(char *, int, int);
    int (*attribute)(int *, int, int);
    int (*retain)(void **, int);
    int (*set)(void *);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*unload)(void *);
    int (*function)(void **, void *, const char *);
    int (*alloc)(unsigned long long *, size_t);
    int (*to_device)(unsigned long long, const void *, size_t);
    int (*from_device)(void *, unsigned long long, size_t);
    int (*clear)(unsigned long long, unsigned char, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, void *, void **, void **);
    int (*synchronise)(void);
};

static bool
open_driver(struct driver *d)
{
    static const char *const names[] = {"cuInit",
                                        "cuDriverGetVersion",
                                        "cuDeviceGetCount",
                                        "cuDeviceGet",
                                        "cuDeviceGetName",
                                        "cuDeviceGetAttribute",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxSetCurrent",
                                        "cuModuleLoadDataEx",
                                        "cuModuleUnload",
                                        "cuModuleGetFunction",
                                        "cuMemAlloc_v2",
                                        "cuMemcpyHtoD_v2",
                                        "cuMemcpyDtoH_v2",
                                        "cuMemsetD8_v2",
                                        "cuLaunchKernel",
                                        "cuCtxSynchronize"};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
    _Static_assert(sizeof *d == sizeof names / sizeof *names * sizeof(void *),
                   "in order");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *f = dlsym(lib, names[i]);
        if (!f)
            return false;
        memcpy((char *)d + i * sizeof f, &f, sizeof f);
    }
    return true;
}

enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76, MAX_WORDS = 1 << 16 };

struct run {
    struct driver d;
    unsigned sm;
    unsigned long long in, out;
    FILE *file;
    const char *only, *ptx;
    unsigned vectors, same, close, different, refused, too_new;
    uint32_t ours[MAX_WORDS], card[MAX_WORDS];
};

/* One vector on the card; false: the driver refuses it. */
static bool
on_card(struct run *r, const struct vector *v)
{
    void *module, *f, *args[2] = {&r->in, &r->out};
    if (r->d.load(&module, v->text.s, 0, NULL, NULL))
        return false;
    bool ok = !r->d.function(&f, module, "k") &&
              !r->d.to_device(r->in, v->in, v->nin * 4) &&
              !r->d.clear(r->out, 0, v->nout * 4) &&
              !r->d.launch(f, v->blocks, 1, 1, 32, 1, 1, 0, NULL, args, NULL) &&
              !r->d.synchronise() && !r->d.from_device(r->card, r->out, v->nout * 4);
    r->d.unload(module);
    if (!ok) {
        fprintf(stderr, "gpu-check: %s: the launch failed on the card\n", v->name);
        exit(1); /* the context is lost */
    }
    return true;
}

static bool
check(const struct vector *v, void *user)
{
    struct run *r = user;
    char *why = NULL;
    unsigned bits;
    if (r->only && !strstr(v->name, r->only))
        return true;
    r->vectors++;
    if (r->ptx) {
        char path[512];
        snprintf(path, sizeof path, "%s/%05u-sm_%u.ptx", r->ptx, r->vectors, v->sm);
        FILE *f = fopen(path, "w");
        if (!f || fprintf(f, "// %s\n%s", v->name, v->text.s) < 0 || fclose(f)) {
            perror(path);
            exit(1);
        }
        return true;
    }
    if (v->sm > r->sm) {
        r->too_new++;
        return true;
    }
    if (!on_card(r, v)) {
        r->refused++;
        if (r->only)
            printf("refused by the driver: %s\n", v->name);
        return true;
    }
    if (r->file) {
        fprintf(r->file, "%s\t", v->name);
        for (unsigned i = 0; i < v->nout; i++)
            fprintf(r->file, "%08x", r->card[i]);
        fputc('\n', r->file);
    }
    if (!vector_run(v, vector_sums(r->sm), r->ours, &why)) {
        printf("not run here: %s\n%s", v->name, why);
        free(why);
        r->different++;
        return true;
    }
    bool ok = vector_agrees(v, r->ours, r->card, &bits);
    r->same += ok && !bits;
    r->close += ok && bits;
    r->different += !ok;
    for (unsigned i = 0, shown = 0; i < v->nout && !ok && shown < 3; i++)
        if (r->ours[i] != r->card[i]) {
            printf("%s: word %u is %08x here, %08x on the card (%u of %u words differ)\n",
                   v->name, i, r->ours[i], r->card[i], bits, v->nout);
            shown++;
        }
    return true;
}

static FILE *
answers(const char *dir, const char *card, unsigned sm, int driver)
{
    char path[512], day[16], file[128];
    time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    snprintf(file, sizeof file, "%s", card);
    for (char *c = file; *c; c++)
        if (*c == ' ' || *c == '/')
            *c = '-';
    snprintf(path, sizeof path, "%s/%s.txt", dir, file);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(1);
    }
    fprintf(f, "# card: %s, sm_%u\n# driver: %d.%d\n# date: %s\n", card, sm,
            driver / 1000, driver % 1000 / 10, day);
    printf("answers go to %s\n", path);
    return f;
}

int
main(int argc, char **argv)
{
    static struct run r;
    const char *write = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--write") && i + 1 < argc) {
            write = argv[++i];
        } else if (!strcmp(argv[i], "--ptx") && i + 1 < argc) {
            r.ptx = argv[++i];
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            r.only = argv[++i];
        } else {
            fprintf(stderr, "usage: gpu-check [--write DIR | --ptx DIR] [--only TEXT]\n");
            return 2;
        }
    }
    if (r.ptx) {
        vectors_each(check, &r);
        printf("%u kernels written\n", r.vectors);
        return 0;
    }
    int n = 0, dev, driver = 0, major = 0, minor = 0;
    void *context;
    if (!open_driver(&r.d) || r.d.init(0) || r.d.count(&n) || !n) {
        printf("gpu-check: no CUDA driver or no GPU here: nothing compared\n");
        return 0;
    }
    char card[128] = "";
    if (r.d.device(&dev, 0) || r.d.name(card, sizeof card, dev) || r.d.version(&driver) ||
        r.d.attribute(&major, ATTRIBUTE_MAJOR, dev) ||
        r.d.attribute(&minor, ATTRIBUTE_MINOR, dev) || r.d.retain(&context, dev) ||
        r.d.set(context) || r.d.alloc(&r.in, MAX_WORDS * 4) ||
        r.d.alloc(&r.out, MAX_WORDS * 4)) {
        fprintf(stderr, "gpu-check: the driver is there but the card cannot be used\n");
        return 1;
    }
    r.sm = (unsigned)(major * 10 + minor);
    printf("%s, sm_%u, driver %d.%d\n", card, r.sm, driver / 1000, driver % 1000 / 10);
    if (write)
        r.file = answers(write, card, r.sm, driver);
    vectors_each(check, &r);
    if (r.file)
        fclose(r.file);
    printf(
        "%u vectors: %u the same bit for bit, %u within the ISA's bounds, %u different; %u "
        "refused by the driver, %u for later cards\n",
        r.vectors, r.same, r.close, r.different, r.refused, r.too_new);
    return r.different ? 1 : 0;
}
