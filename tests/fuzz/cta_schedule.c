/* cta_schedule.c: fuzz target of schedules as text: what is read and written is read again
 * as the same. */
#include "cta/schedule_text.h"
#include "cta/search.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xmalloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    struct diag_sink diag = {0};
    struct cta_schedule *s = cta_schedule_parse("fuzz", text, size, &diag);
    if (!s && !diag.errors)
        abort();
    if (s && s->blocks < 100000) {
        struct strbuf b = {0};
        cta_schedule_print(s, NULL, &b);
        struct cta_schedule *t = cta_schedule_parse("again", b.s, b.n, &diag);
        if (!t || memcmp(t->order, s->order, s->blocks * sizeof *s->order))
            abort();
        cta_schedule_free(t);
        strbuf_free(&b);
    }
    cta_schedule_free(s);
    diag_free(&diag);
    free(text);
    return 0;
}
