/* timeline.c: counters of a launch over time as CSV. A line a piece: how much each counter grew
 * in it, and the derived values of that; maxima grow in no piece and are left out. */
#include "runtime/result.h"

#include <inttypes.h>
#include <string.h>

static bool
wanted(const struct allot_stat_info *s)
{
    return strcmp(s->kind, "max") != 0;
}

/* Piece n of launch `launch`, of all SMs (-1) or of one; false: there is none. */
static bool
line(struct strbuf *b, const struct allot_result *r, size_t launch, size_t n, int sm,
     bool sms)
{
    struct allot_piece piece;
    struct allot_stat_info s;
    if (!allot_result_piece(r, n, sm, &piece, "cycles", NULL, NULL))
        return false;
    strbuf_printf(b, "%s,%zu,%" PRIu64 ",%" PRIu64, allot_result_kernel(r), launch,
                  piece.from, piece.to);
    if (sms && sm < 0)
        strbuf_addz(b, ",all");
    else if (sms)
        strbuf_printf(b, ",%d", sm);
    for (size_t k = 0; allot_stat(k, &s); k++) {
        int64_t count = 0;
        double value = 0;
        if (!wanted(&s))
            continue;
        strbuf_addz(b, ",");
        if (sm >= 0 && strcmp(s.owner, "sm") != 0)
            continue;
        allot_result_piece(r, n, sm, NULL, s.id, &count, &value);
        if (s.derived)
            strbuf_printf(b, "%.9g", value);
        else
            strbuf_printf(b, "%" PRId64, count);
    }
    strbuf_addz(b, "\n");
    return true;
}

char *
allot_timeline_head(bool sms)
{
    struct strbuf b = {0};
    struct allot_stat_info s;
    strbuf_printf(&b, "kernel,launch,from,to%s", sms ? ",sm" : "");
    for (size_t k = 0; allot_stat(k, &s); k++)
        if (wanted(&s))
            strbuf_printf(&b, ",%s", s.id);
    strbuf_addz(&b, "\n");
    return strbuf_take(&b);
}

char *
allot_timeline_text(const struct allot_result *r, size_t launch, bool sms)
{
    struct strbuf b = {0};
    for (size_t n = 0; line(&b, r, launch, n, -1, sms); n++)
        for (int k = 0; sms && line(&b, r, launch, n, k, sms); k++) {
        }
    return b.n ? strbuf_take(&b) : xstrdup("");
}
