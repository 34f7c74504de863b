/* paper_pages.c: see paper_pages.h. */
#include "cli/paper_pages.h"

#include "cli/runs.h"
#include "report/figure_files.h"
#include "report/figure_kept.h"

#include <glob.h>

int
cli_paper_fill(const char *page, bool check)
{
    struct figure_blocks b = {.check = check};
    struct diag_sink diag = {0};
    glob_t more = {0};
    bool ok = figure_files_page(page ? page : "docs/fidelity.md", &b, &diag);
    if (!page)
        glob("docs/results-*.md", 0, NULL, &more);
    for (size_t i = 0; i < more.gl_pathc; i++)
        ok &= figure_files_page(more.gl_pathv[i], &b, &diag);
    globfree(&more);
    cli_sink(&diag);
    const bool stale = b.stale || b.numbers;
    if (ok && check && stale)
        fprintf(stderr, "allot: 'allot paper --write-docs' fills blocks and numbers\n");
    else if (ok && stale)
        fprintf(stderr, "wrote %zu blocks, %zu numbers of the pages\n", b.stale,
                b.numbers);
    return ok && !b.missing && !b.open && !(check && stale) ? EXIT_OK : EXIT_FAILED;
}

int
cli_paper_stale(const struct cli_list *names)
{
    struct strbuf out = {0};
    struct figure_ages a = {0};
    struct diag_sink diag = {0};
    bool ok = figure_kept_ages(names->v, names->n, &out, &a, &diag);
    fputs(out.n ? out.s : "", stdout);
    printf(
        "%zu figures have kept results: %zu are of today's code, of %zu only code has changed, %zu "
        "are old, %zu do not say what made them\n",
        a.kept, a.same, a.code, a.old, a.unknown);
    cli_sink(&diag);
    strbuf_free(&out);
    return ok ? EXIT_OK : EXIT_FAILED;
}
