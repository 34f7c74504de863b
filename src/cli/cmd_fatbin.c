/* cmd_fatbin.c: allot fatbin: PTX files as a fatbin, for programs built without nvcc. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

int
cmd_fatbin(int argc, char **argv)
{
    const char *out = NULL, *compress = "zstd";
    const struct cli_opt options[] = {
        {"output", 'o', "FILE", "where to write ('-': standard output)", &out, NULL,
         NULL},
        {"compress", 'c', "HOW", "zstd (default), lz4 or none", &compress, NULL, NULL},
        {0}};
    const struct cli_cmd cmd = {
        "fatbin", "[OPTIONS] -o FILE KERNEL.ptx...",
        "Checks PTX files and packs them as a fatbin: one source for several compute\n"
        "capabilities. clang's -Xclang -fcuda-include-gpubinary embeds it in a program.",
        "  allot fatbin kernel.ptx -o kernel.fatbin\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (!pos.n || !out)
        return cli_usage(&cmd, !out ? "say where to write: -o FILE" : "give PTX files");
    if (strcmp(compress, "zstd") && strcmp(compress, "lz4") && strcmp(compress, "none"))
        return cli_usage(&cmd, "--compress %s: zstd, lz4 or none", compress);
    struct allot_diag *d = cli_diag_new();
    char **text = calloc(pos.n, sizeof *text);
    bool ok = text != NULL;
    for (size_t i = 0; ok && i < pos.n; i++) {
        struct allot_module *m = allot_module_load(pos.v[i], d);
        text[i] = m ? allot_module_print(m) : NULL;
        ok = text[i] != NULL;
        allot_module_free(m);
    }
    size_t len = 0;
    char *bytes =
        ok ? allot_fatbin_write((const char *const *)text, pos.n, compress, &len, d)
           : NULL;
    ok = bytes && cli_write_file(out, bytes, len);
    for (size_t i = 0; text && i < pos.n; i++)
        free(text[i]);
    free(text);
    free(bytes);
    cli_diag(d);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}
