/* timeline.c: see timeline.h. */
#include "cli/timeline.h"

#include "cli/cli.h"

#include <string.h>

static bool
wanted(const struct allot_stat_info *s)
{
    return !s->derived && strcmp(s->kind, "max") != 0;
}

bool
timeline_write(const struct allot_device *dev, const char *path)
{
    struct strbuf b = {0};
    struct allot_stat_info s;
    strbuf_addz(&b, "kernel,launch,from,to");
    for (size_t k = 0; allot_stat(k, &s); k++)
        if (wanted(&s))
            strbuf_printf(&b, ",%s", s.id);
    strbuf_addz(&b, "\n");
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        uint64_t from = 0, to;
        for (size_t n = 0; allot_result_sample(r, n, &to, "cycles", NULL, NULL); n++) {
            strbuf_printf(&b, "%s,%zu,%llu,%llu", allot_result_kernel(r), i + 1,
                          (unsigned long long)from, (unsigned long long)to);
            for (size_t k = 0; allot_stat(k, &s); k++) {
                uint64_t before = 0, now = 0;
                if (!wanted(&s))
                    continue;
                if (n)
                    allot_result_sample(r, n - 1, NULL, s.id, &before, NULL);
                allot_result_sample(r, n, NULL, s.id, &now, NULL);
                /* what is under way at the end can become less */
                strbuf_printf(&b, ",%lld", (long long)(now - before));
            }
            strbuf_addz(&b, "\n");
            from = to;
        }
    }
    bool ok = cli_write_file(path, b.s, b.n);
    strbuf_free(&b);
    return ok;
}
