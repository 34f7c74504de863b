/* ptx.c: fuzz target of the PTX front end. Any bytes must give a module or messages; a
 * module must survive printing and parsing unchanged, functions with errors too. Seeds:
 * corpus-ptx/; words: ptx.dict. */
#include "ptx/parse.h"
#include "ptx/print.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    struct ptx_module *m = ptx_parse_part("fuzz", (const char *)data, size, &diag);
    if (!m && !diag.errors)
        abort(); /* refused without a word */
    if (m && diag.errors)
        abort();
    struct strbuf text = {0};
    if (m) {
        ptx_print(m, &text);
        struct ptx_module *n = ptx_parse_part("printed", text.s, text.n, &diag);
        char *why = NULL;
        if (!n || !ptx_equal(m, n, &why)) {
            diag_print(&diag, &text);
            fprintf(stderr, "not the same after printing: %s\n%s\n",
                    why ? why : "no module", text.s);
            abort();
        }
        ptx_module_free(n);
    } else {
        diag_print(&diag, &text);
    }
    strbuf_free(&text);
    ptx_module_free(m);
    diag_free(&diag);
    return 0;
}
