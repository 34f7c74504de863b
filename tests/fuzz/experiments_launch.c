/* experiments_launch.c: fuzz target of launch files. Any bytes must give a launch or
 * messages; a launch as texts and back is the same; a small one runs. Seeds:
 * corpus-experiments_launch/; words: experiments_launch.dict. */
#define _GNU_SOURCE
#include "experiments/launch.h"

#include "kit.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry a(.param .u64 p, .param .u64 q, .param .f32 x, .param .u32 n)\n"
    "{\n ret;\n}\n"
    ".visible .entry b(.param .u64 p, .param .b64 y, .param .u8 c, .param .s16 d,\n"
    " .param .f64 z, .param .align 8 .b8 s[16])\n{\n ret;\n}\n"
    ".visible .entry none()\n{\n ret;\n}\n";

static struct allot_module *mod;
static struct allot_device *dev;

static void
end(void)
{
    allot_device_free(dev);
    allot_module_free(mod);
}

static void
start(void)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    const struct allot_options o = {.functional = true};
    mod = allot_module_parse("fuzz.ptx", ptx, sizeof ptx - 1, d);
    dev = m ? allot_device_new(m, &o, d) : NULL;
    if (!mod || !dev)
        abort();
    allot_machine_free(m);
    allot_diag_free(d);
    atexit(end);
}

static bool
is_small(const struct launch *l)
{
    uint64_t size = 1;
    for (int i = 0; i < 3; i++)
        if ((size *= l->grid[i]) > 64 || (size *= l->block[i]) > 4096)
            return false;
    for (size_t i = 0; i < l->kernel->nparams; i++)
        if (l->arg[i].in || l->arg[i].bytes > 1 << 16)
            return false;
    return true;
}

static void
run(struct launch *l)
{
    struct diag_sink diag = {0};
    struct strbuf shown = {0};
    bool ok = launch_run(l, dev, 1, &diag);
    if (!ok && !diag.errors)
        abort();
    for (size_t i = 0; ok && i < l->kernel->nparams; i++) {
        struct launch_arg *a = &l->arg[i];
        uint64_t addr;
        memcpy(&addr, a->value, sizeof addr);
        if (!a->buffer)
            continue;
        uint8_t *bytes = xmalloc(a->bytes);
        if (!allot_read(dev, addr, bytes, a->bytes, NULL))
            abort();
        if (a->show)
            launch_show(a, bytes, &shown);
        allot_free(dev, addr, NULL);
        free(bytes);
    }
    strbuf_free(&shown);
    diag_free(&diag);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    struct arena mem = {0};
    struct launch_desc l = {0}, again;
    struct launch to, same;
    const char *part, *wrong;
    if (fuzz_names_host(data, size))
        return 0;
    if (!mod)
        start();
    bool ok = launch_file(fuzz_file("launch.yaml", data, size), &l, &mem, &diag);
    if (ok != !diag.errors)
        abort();
    if (ok) {
        ok = launch_read(&l, mod, "fuzz.ptx", &to, &part, &mem, &diag);
        if (ok != !diag.errors)
            abort();
    }
    if (ok) {
        size_t n;
        const char *const *texts = launch_texts(&to, "", &n, &mem);
        if (!launch_from_texts(texts, n, &again, &wrong, &mem) ||
            !launch_read(&again, mod, "fuzz.ptx", &same, &part, &mem, &diag) ||
            same.kernel != to.kernel || memcmp(same.grid, to.grid, sizeof to.grid) ||
            memcmp(same.block, to.block, sizeof to.block) ||
            same.scratchpad != to.scratchpad)
            abort();
        if (is_small(&to))
            run(&to);
    }
    diag_free(&diag);
    arena_free(&mem);
    return 0;
}
