/* cfg_dot.c: see cfg_dot.h. A node a basic block: its number, the PTX line it begins at, and
 * its instructions, the middle of a long block left out. Edges to a dominator (back edges of
 * loops) are dashed, blocks that nothing reaches are grey. Text of the file comes into the
 * graph through `escape` alone. */
#include "analysis/cfg_dot.h"

#include "ptx/print.h"

enum { SHOWN = 24 }; /* instructions of a block */

/* A text within quotes, lines left-aligned. */
static void
escape(const char *s, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (c == '\n')
            strbuf_addz(out, "\\l");
        else
            strbuf_printf(out, "%c", c < 32 || c == 127 ? ' ' : c);
    }
}

static void
node(const struct cfg *g, uint32_t i, struct strbuf *out)
{
    const struct ptx_func *f = g->func;
    const struct cfg_block *x = &g->block[i];
    struct strbuf text = {0};
    uint32_t line = 0, n = 0, all = 0;
    for (uint32_t k = x->first; k < x->end; k++) {
        if (!line)
            line = f->body.v[k].line;
        all += f->body.v[k].op != PTX_OP_DIRECTIVE;
    }
    strbuf_printf(&text, "block %u", i);
    if (line)
        strbuf_printf(&text, ", line %u", line);
    strbuf_addz(&text, "\n");
    for (uint32_t k = x->first; k < x->end; k++) {
        if (f->body.v[k].op == PTX_OP_DIRECTIVE)
            continue;
        n++;
        if (all > SHOWN && n == SHOWN / 2)
            strbuf_printf(&text, "... %u more\n", all - SHOWN + 1);
        if (all > SHOWN && n >= SHOWN / 2 && n <= all - SHOWN / 2)
            continue;
        ptx_print_inst(f, &f->body.v[k], &text);
        if (text.s[text.n - 1] != '\n')
            strbuf_addz(&text, "\n");
    }
    strbuf_printf(out, "  b%u [label=\"", i);
    escape(text.s, text.n, out);
    strbuf_printf(out, "\"%s];\n", x->rpo < 0 ? ", color=grey, fontcolor=grey" : "");
    strbuf_free(&text);
}

void
cfg_dot(const struct ptx_func *f, struct strbuf *out)
{
    struct cfg *g = cfg_new(f);
    bool leaves = false;
    strbuf_addz(out, "digraph \"");
    escape(f->name, strlen(f->name), out);
    strbuf_addz(out, "\" {\n  label=\"");
    escape(f->name, strlen(f->name), out);
    strbuf_addz(out, "\";\n  labelloc=t;\n  node [shape=box, fontname=monospace, "
                     "fontsize=10];\n");
    for (uint32_t i = 0; i < g->n; i++)
        node(g, i, out);
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t k = 0; k < g->block[i].nsucc; k++) {
            int32_t to = g->block[i].succ[k];
            leaves |= to == CFG_EXIT;
            if (to == CFG_EXIT)
                strbuf_printf(out, "  b%u -> exit;\n", i);
            else
                strbuf_printf(out, "  b%u -> b%d%s;\n", i, to,
                              cfg_dominates(g, to, (int32_t)i) ? " [style=dashed]" : "");
        }
    if (leaves)
        strbuf_addz(out, "  exit [shape=ellipse];\n");
    strbuf_addz(out, "}\n");
    cfg_free(g);
}
