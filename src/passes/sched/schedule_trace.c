/* schedule_trace.c: the choices of an order in words, for whoever debugs one (allot opt --trace-pass).
 *
 *     trace: k, line 12: 14 instructions from their end, within 20 registers, by longest path
 *     trace:   cycle 0, line 30: st.global.f32 [%rd1], %f9: 1 may go, 3 live, path 120: longest path
 *
 * An order is traced once it has been chosen among those tried: it is made a second time. */
#include "passes/sched/schedule_int.h"

#include "ptx/print.h"

struct strbuf *
schedule_traces(const struct pass_args *a)
{
    const char *text = pass_arg(a, "trace"); /* of another pass: it has no such setting */
    return text && !strcmp(text, "yes") ? a->report : NULL;
}

void
schedule_trace(struct sched *s, uint32_t i, uint64_t cycle, uint32_t candidates,
               uint32_t live, const char *why)
{
    const struct sched_node *x = &s->node.v[i];
    const struct ptx_inst *in = &s->f->body.v[x->inst];
    struct strbuf text = {0};
    ptx_print_inst(s->f, in, &text);
    const char *word = text.s + strspn(text.s, "\t ");
    strbuf_printf(s->trace, "trace:   cycle %llu, line %u: %.*s: %u may go, ",
                  (unsigned long long)cycle, in->line, (int)strcspn(word, ";\n"), word,
                  candidates);
    if (live != UINT32_MAX)
        strbuf_printf(s->trace, "%u live, ", live);
    strbuf_printf(s->trace, "path %lld: %s\n",
                  (long long)(s->place ? x->height : x->depth), why);
    strbuf_free(&text);
}

void
schedule_trace_region(struct sched *s, const char *why)
{
    if (!s->node.n)
        return;
    strbuf_printf(s->trace, "trace: %s, line %u: %zu instructions", s->f->name,
                  s->f->body.v[s->node.v[0].inst].line, s->node.n);
    if (!s->place)
        strbuf_addz(s->trace, " from their end");
    if (s->limit != UINT32_MAX && !s->place)
        strbuf_printf(s->trace, ", within %u registers", s->limit);
    strbuf_printf(s->trace, ", %s\n", why);
}
