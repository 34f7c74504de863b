/* machine_yaml.c: fuzz target of machine files. Any bytes must give a machine or
 * messages; a machine printed and read again is the same one. Seeds:
 * corpus-machine_yaml/; words: machine_yaml.dict. */
#define _GNU_SOURCE
#include "machine/machine.h"

#include "kit.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0};
    if (fuzz_names_host(data, size))
        return 0;
    struct machine *m = machine_parse("fuzz.yaml", (const char *)data, size, &diag);
    if (!m == !diag.errors)
        abort(); /* refused without a word, or taken with an error */
    if (m) {
        machine_print(m, &text);
        struct machine *n = machine_parse("printed.yaml", text.s, text.n, &diag);
        if (!n || machine_hash(m) != machine_hash(n) ||
            strcmp(m->gpu.name, n->gpu.name)) {
            diag_print(&diag, &text);
            fprintf(stderr, "not the same after printing\n%s\n", text.s);
            abort();
        }
        machine_free(n);
    }
    diag_print(&diag, &text);
    strbuf_free(&text);
    machine_free(m);
    diag_free(&diag);
    return 0;
}
