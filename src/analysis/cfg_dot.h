/* cfg_dot.h: a control-flow graph as DOT text for Graphviz. */
#ifndef ALLOT_ANALYSIS_CFG_DOT_H
#define ALLOT_ANALYSIS_CFG_DOT_H

#include "analysis/cfg.h"
#include "base/str.h"

/* Appends a digraph of f, which must have a body. */
void cfg_dot(const struct ptx_func *f, struct strbuf *out);

#endif
