/* runtime_fatbin.c: fatbins byte by byte, made here by hand (not by fatbin_write), and
 * what becomes of damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"
#include "runtime/fatbin.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* -- making fatbins -- */

struct bytes {
    unsigned char b[16384];
    size_t n;
};

static void
u(struct bytes *x, int size, uint64_t v)
{
    for (int i = 0; i < size; i++)
        x->b[x->n++] = (unsigned char)(v >> (8 * i));
}

static void
set(struct bytes *x, size_t at, int size, uint64_t v)
{
    for (int i = 0; i < size; i++)
        x->b[at + (size_t)i] = (unsigned char)(v >> (8 * i));
}

static size_t
open_fatbin(struct bytes *x)
{
    size_t at = x->n;
    u(x, 4, 0xba55ed50);
    u(x, 2, 1);
    u(x, 2, 16);
    u(x, 8, 0);
    return at;
}

static void
close_fatbin(struct bytes *x, size_t at)
{
    set(x, at + 8, 8, x->n - at - 16);
}

struct entry {
    unsigned kind, arch;
    uint64_t flags;
    const void *data;
    size_t size, packed, full; /* packed, full 0: stored */
    const char *name, *options;
};

static size_t
add(struct bytes *x, const struct entry *e)
{
    size_t at = x->n, name = e->name ? strlen(e->name) : 0;
    size_t record = 64 + (e->name ? (name + 8) / 8 * 8 : 0);
    size_t opt = e->options ? strlen(e->options) : 0;
    size_t head = record + 8 + (opt + 8) / 8 * 8;
    u(x, 2, e->kind);
    u(x, 2, 0x0101);
    u(x, 4, head);
    u(x, 8, (e->size + 7) / 8 * 8);
    u(x, 4, e->packed);
    u(x, 4, record);
    u(x, 2, 0);
    u(x, 2, 9);
    u(x, 4, e->arch);
    u(x, 4, e->name ? 64 : 0);
    u(x, 4, name);
    u(x, 8, e->flags);
    u(x, 8, 0);
    u(x, 8, e->full);
    assert_int_equal(x->n, at + 64);
    if (name)
        memcpy(x->b + x->n, e->name, name);
    x->n = at + record;
    u(x, 4, record + 8);
    u(x, 4, opt);
    if (opt)
        memcpy(x->b + x->n, e->options, opt);
    x->n = at + head;
    memcpy(x->b + x->n, e->data, e->size);
    x->n += (e->size + 7) / 8 * 8;
    return at;
}

#define PTX(arch, kernel)                                                                \
    ".version 8.0\n.target sm_" #arch "\n.address_size 64\n.visible .entry " kernel      \
    "(.param .u64 p)\n{\nret;\n}\n"

/* PTX stored, with its NUL. */
static size_t
add_ptx(struct bytes *x, unsigned arch, uint64_t flags, const char *text)
{
    return add(x, &(struct entry){.kind = 1,
                                  .arch = arch,
                                  .flags = 0x11 | flags,
                                  .data = text,
                                  .size = strlen(text) + 1});
}

/* -- asking -- */

static struct allot_machine *
machine(const char *capability)
{
    struct allot_machine *m = allot_machine_load("gtx480", NULL);
    assert_non_null(m);
    assert_true(allot_machine_set(m, "gpu.compute_capability", capability, NULL));
    return m;
}

/* The name of the only kernel that a machine of this capability gets. */
static void
expect_kernel(const struct bytes *x, const char *capability, const char *kernel)
{
    struct allot_machine *m = capability ? machine(capability) : NULL;
    struct allot_diag *d = allot_diag_new();
    struct allot_module *k = allot_module_read("t.fatbin", x->b, x->n, m, d);
    if (!k)
        fail_msg("%s", allot_diag_text(d));
    assert_non_null(allot_module_kernel(k, 0));
    assert_string_equal(allot_module_kernel(k, 0)->name, kernel);
    assert_null(allot_module_kernel(k, 1));
    allot_module_free(k);
    allot_diag_free(d);
    allot_machine_free(m);
}

static void
expect_error(const void *data, size_t n, const char *words)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *k = allot_module_read("t.fatbin", data, n, NULL, d);
    assert_null(k);
    assert_true(allot_diag_errors(d) > 0);
    if (!strstr(allot_diag_text(d), words))
        fail_msg("'%s' is not in: %s", words, allot_diag_text(d));
    allot_diag_free(d);
}

/* -- tests -- */

static void
highest_not_above_the_machine(void **state)
{
    (void)state;
    struct bytes x = {0};
    size_t f = open_fatbin(&x);
    add(&x, &(struct entry){
                .kind = 2, .arch = 80, .flags = 0x11, .data = "\177ELF", .size = 4});
    add_ptx(&x, 75, 0, PTX(75, "k75"));
    add_ptx(&x, 90, 0, PTX(90, "k90"));
    add_ptx(&x, 90, FATBIN_ARCH_SPECIFIC, PTX(90, "k90a"));
    add_ptx(&x, 80, 0, PTX(80, "k80"));
    close_fatbin(&x, f);
    expect_kernel(&x, "75", "k75");
    expect_kernel(&x, "79", "k75");
    expect_kernel(&x, "80", "k80");
    expect_kernel(&x, "89", "k80");
    expect_kernel(&x, "100", "k90");
    expect_kernel(&x, "20", "k75"); /* all are above: the lowest */
    expect_kernel(&x, NULL,
                  "k90"); /* any machine: the highest that is not for one only */
}

static void
arch_specific_for_its_own(void **state)
{
    (void)state;
    struct bytes x = {0};
    size_t f = open_fatbin(&x);
    add_ptx(&x, 90, FATBIN_ARCH_SPECIFIC, PTX(90a, "k90a"));
    add_ptx(&x, 80, 0, PTX(80, "k80"));
    close_fatbin(&x, f);
    expect_kernel(&x, "90", "k90a");
    expect_kernel(&x, "100", "k80");
    struct bytes y = {0};
    f = open_fatbin(&y);
    add_ptx(&y, 120, FATBIN_FAMILY, PTX(120f, "k120f"));
    add_ptx(&y, 80, 0, PTX(80, "k80"));
    close_fatbin(&y, f);
    expect_kernel(&y, "121", "k120f");
    expect_kernel(&y, "130", "k80");
    expect_kernel(&y, "100", "k80");
}

/* A text that compresses. */
static char *
long_ptx(size_t *n)
{
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 8.0\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\n");
    for (int i = 0; i < 100; i++)
        strbuf_addz(&b, "add.s32 %r1, %r1, 1;\n");
    strbuf_addz(&b, "ret;\n}\n");
    *n = b.n;
    return strbuf_take(&b);
}

static void
compressed(void **state)
{
    (void)state;
    size_t n;
    char *text = long_ptx(&n), packed[4096];
    for (int how = 0; how < 2; how++) {
        size_t size =
            how ? ZSTD_compress(packed, sizeof packed, text, n + 1, 3)
                : (size_t)LZ4_compress_default(text, packed, (int)n + 1, sizeof packed);
        assert_true(size > 0 && size < n);
        struct bytes x = {0};
        size_t f = open_fatbin(&x);
        size_t e = add(&x, &(struct entry){.kind = 1,
                                           .arch = 80,
                                           .flags = how ? 0x8011 : 0x2011,
                                           .data = packed,
                                           .size = size,
                                           .packed = size,
                                           .full = n + 1,
                                           .name = "t.cu",
                                           .options = " -maxrregcount=32 "});
        close_fatbin(&x, f);
        expect_kernel(&x, "80", "k");
        struct fatbin fb = {0};
        struct diag_sink diag = {0};
        assert_true(fatbin_read(&fb, "t", x.b, x.n, &diag));
        assert_int_equal(fb.entries.n, 1);
        assert_string_equal(fb.entries.v[0].source, "t.cu");
        assert_string_equal(fb.entries.v[0].options, " -maxrregcount=32 ");
        size_t len;
        char *back = fatbin_text(&fb.entries.v[0], "t", &len, &diag);
        assert_int_equal(len, n);
        assert_string_equal(back, text);
        free(back);
        fatbin_free(&fb);
        /* a size that is not the true one */
        struct bytes y = x;
        set(&y, e + 0x38, 8, n);
        expect_error(y.b, y.n, how ? "not believable" : "does not unpack");
        set(&y, e + 0x38, 8, (uint64_t)1 << 60);
        expect_error(y.b, y.n, "not believable");
        /* one bit of the payload's middle */
        y = x;
        y.b[x.n - size / 2] ^= 0x10;
        struct allot_diag *d = allot_diag_new();
        struct allot_module *m = allot_module_read("t", y.b, y.n, NULL, d);
        assert_true(m || allot_diag_errors(d));
        allot_module_free(m);
        allot_diag_free(d);
        /* an unknown way */
        y = x;
        set(&y, e + 0x28, 8, 0x4011);
        expect_error(y.b, y.n, "not known (flags 0x4011)");
    }
    free(text);
}

/* Two sources that use the same names for their own things. */
#define SOURCE(kernel, value)                                                            \
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .const .b32 own = " value   \
    ";\n.visible .func (.param .b32 r) help()\n{\n.reg .b32 %r;\n"                       \
    "ld.const.b32 %r, [own]; st.param.b32 [r], %r; ret;\n}\n"                            \
    ".visible .entry " kernel "(.param .u64 p)\n{\n.reg .b32 %r;\n.reg .b64 %d;\n"       \
    "{ .param .b32 v; call.uni (v), help; ld.param.b32 %r, [v]; }\n"                     \
    "ld.param.u64 %d, [p]; st.global.b32 [%d], %r;\nret;\n}\n"

static void
sources_keep_their_names_apart(void **state)
{
    (void)state;
    static const char *const names[] = {"same", "same$2", "other"};
    struct bytes x = {0};
    close_fatbin(&x, open_fatbin(&x)); /* nvcc's empty one */
    const char *sources[] = {SOURCE("same", "11"), SOURCE("same", "22"),
                             SOURCE("other", "33")};
    for (int i = 0; i < 3; i++) {
        size_t f = open_fatbin(&x);
        add_ptx(&x, 80, 0, sources[i]);
        close_fatbin(&x, f);
        x.n += 8; /* padding */
    }
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_read("t", x.b, x.n, NULL, d);
    if (!m)
        fail_msg("%s", allot_diag_text(d));
    struct allot_machine *gpu = machine("80");
    struct allot_device *dev =
        allot_device_new(gpu, &(struct allot_options){.functional = true}, d);
    uint64_t p = allot_alloc(dev, 4, d);
    for (uint32_t i = 0; i < 3; i++) {
        const void *args[] = {&p};
        uint32_t got = 0;
        struct allot_launch l = {
            .module = m, .kernel = names[i], .args = args, .nargs = 1};
        if (!allot_launch(dev, &l, d) || !allot_read(dev, p, &got, 4, d))
            fail_msg("%s", allot_diag_text(d));
        assert_int_equal(got, 11 * (i + 1));
    }
    allot_device_free(dev);
    allot_module_free(m);
    allot_machine_free(gpu);
    allot_diag_free(d);
}

static void
without_ptx(void **state)
{
    (void)state;
    struct bytes x = {0};
    size_t f = open_fatbin(&x);
    add(&x, &(struct entry){
                .kind = 2, .arch = 86, .flags = 0x11, .data = "\177ELF", .size = 4});
    add(&x,
        &(struct entry){.kind = 8, .arch = 86, .flags = 0x11, .data = "BC", .size = 2});
    close_fatbin(&x, f);
    expect_error(x.b, x.n,
                 "only machine code inside, no PTX: machine code for sm_86, "
                 "link-time code for sm_86");
    expect_error(x.b, x.n, "-gencode arch=compute_86,code=compute_86");
    struct bytes y = {0};
    close_fatbin(&y, open_fatbin(&y));
    expect_error(y.b, y.n, "empty");
    Elf64_Ehdr cubin = {.e_ident = {127, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                        .e_type = ET_EXEC,
                        .e_machine = 190,
                        .e_version = 1,
                        .e_ehsize = sizeof cubin};
    expect_error(&cubin, sizeof cubin, "this is a cubin");
    cubin.e_machine = EM_X86_64;
    expect_error(&cubin, sizeof cubin, "no device code");
}

/* Cut anywhere, or with any one field bent, the answer is a module or an error. */
static void
truncated_and_bent(void **state)
{
    (void)state;
    size_t n;
    char *text = long_ptx(&n), packed[4096];
    size_t size = ZSTD_compress(packed, sizeof packed, text, n + 1, 3);
    struct bytes x = {0};
    size_t f = open_fatbin(&x);
    add_ptx(&x, 75, 0, PTX(75, "k"));
    add(&x, &(struct entry){.kind = 1,
                            .arch = 80,
                            .flags = 0x8011,
                            .data = packed,
                            .size = size,
                            .packed = size,
                            .full = n + 1,
                            .name = "t.cu"});
    close_fatbin(&x, f);
    struct allot_diag *d = allot_diag_new();
    for (size_t len = 1; len < x.n; len++) {
        unsigned char *cut = malloc(len); /* of its own, so that ASan sees its end */
        memcpy(cut, x.b, len);
        struct allot_module *m = allot_module_read("t", cut, len, NULL, d);
        assert_null(m);
        assert_true(allot_diag_errors(d) > 0);
        allot_diag_clear(d);
        free(cut);
    }
    for (size_t at = 0; at < 0x150; at++)
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            unsigned char *bent = malloc(x.n);
            memcpy(bent, x.b, x.n);
            bent[at] ^= (unsigned char)bit;
            struct allot_module *m = allot_module_read("t", bent, x.n, NULL, d);
            assert_true(m != NULL || allot_diag_errors(d) > 0);
            allot_module_free(m);
            allot_diag_clear(d);
            free(bent);
        }
    allot_diag_free(d);
    free(text);
}

static void
images_in_memory(void **state)
{
    (void)state;
    struct bytes x = {0}, y = {0}, empty = {0};
    size_t f = open_fatbin(&x);
    add_ptx(&x, 80, 0,
            ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func g;\n"
            ".visible .entry a()\n{\n{\ncall.uni g;\n}\nret;\n}\n");
    close_fatbin(&x, f);
    f = open_fatbin(&y);
    add_ptx(
        &y, 80, 0,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func g\n{\nret;\n}\n");
    close_fatbin(&y, f);
    close_fatbin(&empty, open_fatbin(&empty));
    const void *parts[] = {x.b, y.b, NULL};
    struct {
        uint32_t magic, version;
        const void *data, *const *parts;
    } w = {0x466243b1, 2, empty.b, parts}, one = {0x466243b1, 1, x.b, NULL},
      odd = {0x466243b1, 7, x.b, NULL};
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_image("t", &w, NULL, d);
    if (!m)
        fail_msg("%s", allot_diag_text(d));
    assert_non_null(allot_module_find(m, "a"));
    allot_module_free(m);
    const char *ptx = PTX(80, "plain");
    m = allot_module_image("t", ptx, NULL, d);
    assert_non_null(allot_module_find(m, "plain"));
    allot_module_free(m);
    m = allot_module_image("t", &one, NULL, d);
    allot_module_free(m);
    m = allot_module_image("t", y.b, NULL, d);
    assert_non_null(m);
    allot_module_free(m);
    assert_null(allot_module_image("t", &odd, NULL, d));
    assert_non_null(strstr(allot_diag_text(d), "version 7"));
    assert_null(allot_module_image("t", "", NULL, d));
    allot_diag_free(d);
}

static void
written_ones_are_read(void **state)
{
    (void)state;
    static const char *const how[] = {"none", "lz4", "zstd"};
    const char *texts[] = {PTX(52, "k52"), PTX(90a, "k90")};
    for (int i = 0; i < 3; i++) {
        size_t n;
        struct allot_diag *d = allot_diag_new();
        char *bytes = allot_fatbin_write(texts, 2, how[i], &n, d);
        if (!bytes)
            fail_msg("%s", allot_diag_text(d));
        struct bytes x = {.n = n};
        memcpy(x.b, bytes, n);
        assert_int_equal(fatbin_length(bytes), n);
        expect_kernel(&x, "75", "k52");
        expect_kernel(&x, "90", "k90");
        free(bytes);
        allot_diag_free(d);
    }
    size_t n;
    assert_null(allot_fatbin_write(texts, 2, "gzip", &n, NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(highest_not_above_the_machine),
        cmocka_unit_test(arch_specific_for_its_own),
        cmocka_unit_test(compressed),
        cmocka_unit_test(sources_keep_their_names_apart),
        cmocka_unit_test(without_ptx),
        cmocka_unit_test(truncated_and_bent),
        cmocka_unit_test(images_in_memory),
        cmocka_unit_test(written_ones_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
