/* coverage.h: what of the instruction set is executed, as a document. */
#ifndef ALLOT_EXEC_COVERAGE_H
#define ALLOT_EXEC_COVERAGE_H

#include "base/str.h"

/* docs/ptx-coverage.md: every row of opcodes.def by mnemonic. */
void exec_coverage_docs(struct strbuf *b);

#endif
