/* timeline.c: see timeline.h. */
#include "cli/timeline.h"

#include "cli/cli.h"

#include <stdlib.h>

bool
timeline_write(const struct allot_device *dev, const char *path, bool sms)
{
    struct strbuf b = {0};
    char *text = allot_timeline_head(sms);
    strbuf_addz(&b, text);
    free(text);
    for (size_t i = 0; i < allot_results(dev); i++) {
        text = allot_timeline_text(allot_result_at(dev, i), i + 1, sms);
        strbuf_addz(&b, text);
        free(text);
    }
    bool ok = cli_write_file(path, b.s, b.n);
    strbuf_free(&b);
    return ok;
}
