/* paper_pages.h: what `allot paper` does with the pages of results and with what is kept. */
#ifndef ALLOT_CLI_PAPER_PAGES_H
#define ALLOT_CLI_PAPER_PAGES_H

#include "cli/cli.h"

/* Fills the blocks and numbers of the page, of docs/fidelity.md and docs/results-*.md where it is
 * NULL, from what is kept; check: says which are not so. The exit status. */
int cli_paper_fill(const char *page, bool check);
/* Lists the figures of these names (none: all) whose kept results are old, on standard output. The
 * exit status. */
int cli_paper_stale(const struct cli_list *names);

#endif
