/* runtime_fatbin.c: fuzz target of the fatbin and ELF reader. Any bytes must give a
 * module or messages. What PTX comes out is not parsed: the parser has a target of its
 * own. Seeds: corpus-runtime_fatbin/. */
#include "runtime/fatbin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    struct fatbin fb = {0};
    enum fatbin_file kind = fatbin_file_kind(data, size);
    bool ok = (kind == FATBIN_FILE_ELF ? fatbin_read_elf : fatbin_read)(&fb, "fuzz", data,
                                                                        size, &diag);
    if (!ok && !diag.errors)
        abort(); /* refused without a word */
    for (unsigned i = 0; ok && i < fb.images; i++) {
        size_t errors = diag.errors, len = 0;
        const struct fatbin_entry *e = fatbin_choose(&fb, i, i * 37 % 130, "fuzz", &diag);
        if (!e)
            continue;
        if (e->kind != FATBIN_PTX || e->image != i)
            abort();
        char *text = fatbin_text(e, "fuzz", &len, &diag);
        if (!text && diag.errors == errors)
            abort();
        if (text && len > e->full_size)
            abort();
        free(text);
    }
    struct strbuf text = {0};
    diag_print(&diag, &text);
    strbuf_free(&text);
    fatbin_free(&fb);
    diag_free(&diag);
    return 0;
}
