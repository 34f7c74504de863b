/* own.c: options, checks and outputs of a user's own kernel. */
#include "cli/own.h"

#include "cli/runs.h"

#include <stdlib.h>
#include <string.h>

void
cli_own_options(struct cli_own *o, struct cli_opt table[CLI_OWN_OPTIONS])
{
    const struct cli_opt t[CLI_OWN_OPTIONS] = {
        {"kernel", 'k', "NAME", "own PTX: the kernel", &o->desc.kernel, NULL, NULL},
        {"grid", 'g', "X[,Y[,Z]]", "own PTX: blocks", &o->desc.grid, NULL, NULL},
        {"block", 'b', "X[,Y[,Z]]", "own PTX: threads of a block", &o->desc.block, NULL,
         NULL},
        {"smem", 0, "BYTES", "own PTX: dynamic scratchpad", &o->desc.scratchpad, NULL,
         NULL},
        {"arg", 'a', "VALUE|buf:...", "own PTX: one per parameter, in order", NULL,
         &o->args, NULL},
        {"launch", 'l', "FILE.yaml", "own PTX: kernel, grid, block, scratchpad, args",
         &o->file, NULL, NULL},
        {0}};
    memcpy(table, t, sizeof t);
}

bool
cli_own_given(const struct cli_own *o)
{
    return o->desc.kernel || o->desc.grid || o->desc.block || o->desc.scratchpad ||
           o->args.n || o->file;
}

int
cli_own_misplaced(const struct cli_cmd *cmd)
{
    return cli_usage(cmd, "a workload knows how it is launched: --kernel, --grid, "
                          "--block, --smem, --arg and --launch are for files");
}

int
cli_own_check(const struct cli_cmd *cmd, struct cli_own *o)
{
    struct diag_sink diag = {0};
    uint32_t dims[3];
    uint64_t bytes;
    o->desc.args = o->args.v;
    o->desc.nargs = o->args.n;
    bool ok = !o->file || launch_file(o->file, &o->desc, cli_mem(), &diag);
    cli_sink(&diag);
    if (!ok)
        return EXIT_FAILED;
    const char *const text[] = {o->desc.grid, o->desc.block};
    for (int i = 0; i < 2; i++)
        if (text[i] && !launch_dims(text[i], dims))
            return cli_usage(cmd,
                             "--%s %s: one to three positive numbers, as 64 or 16,16 or "
                             "8,8,4",
                             i ? "block" : "grid", text[i]);
    if (o->desc.scratchpad && !cli_bytes(o->desc.scratchpad, 0, 1 << 24, &bytes))
        return cli_usage(cmd, "--smem %s: not a number of bytes from 0 to 16777216",
                         o->desc.scratchpad);
    if ((o->desc.grid || o->desc.nargs) && !(o->desc.grid && o->desc.block))
        return cli_usage(cmd, "a kernel of your own needs --grid and --block");
    return EXIT_OK;
}

int
cli_own_ready(const struct cli_cmd *cmd, struct cli_own *o)
{
    int status = cli_own_check(cmd, o);
    if (!status && (!o->desc.grid || !o->desc.block))
        return cli_usage(cmd, "a kernel of your own needs --grid and --block");
    return status;
}

uint32_t
cli_own_threads(const struct cli_own *o)
{
    uint32_t dims[3];
    if (!o || !o->desc.block || !launch_dims(o->desc.block, dims))
        return 0;
    return dims[0] * dims[1] * dims[2];
}

bool
cli_own_read(const struct cli_own *o, struct allot_module *mod, const char *path,
             struct launch *l)
{
    struct diag_sink diag = {0};
    bool ok = launch_read(&o->desc, mod, path, l, NULL, cli_mem(), &diag);
    cli_sink(&diag);
    for (size_t i = 0; ok && i < l->kernel->nparams; i++)
        ok = !l->arg[i].out || cli_writable(l->arg[i].out);
    return ok;
}

bool
cli_own_run(struct launch *l, struct allot_device *dev, uint32_t seed)
{
    struct diag_sink diag = {0};
    bool ok = launch_run(l, dev, seed, &diag);
    cli_sink(&diag);
    return ok;
}

static bool
finish_one(const struct launch_arg *a, const char *name, struct allot_device *dev,
           FILE *show, struct allot_diag *d)
{
    uint8_t *data = xmalloc(a->bytes);
    uint64_t addr;
    memcpy(&addr, a->value, sizeof addr);
    bool ok = allot_read(dev, addr, data, a->bytes, d);
    if (ok && a->show) {
        struct strbuf b = {0};
        launch_show(a, data, &b);
        fprintf(show, "%s:%s\n", name, b.s ? b.s : "");
        strbuf_free(&b);
    }
    if (ok && a->out)
        ok = cli_write_file(a->out, (const char *)data, a->bytes);
    free(data);
    return ok;
}

bool
cli_own_finish(const struct launch *l, struct allot_device *dev, FILE *show)
{
    struct allot_diag *d = cli_diag_new();
    bool ok = true;
    for (size_t i = 0; ok && i < l->kernel->nparams; i++)
        if (l->arg[i].out || l->arg[i].show)
            ok = finish_one(&l->arg[i], l->kernel->params[i].name, dev, show, d);
    cli_diag(d);
    allot_diag_free(d);
    return ok;
}
