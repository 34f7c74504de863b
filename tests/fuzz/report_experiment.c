/* report_experiment.c: fuzz target of experiment files, from the YAML to the report: any
 * bytes must give a figure or messages, and a figure a text, Markdown, CSV and a page.
 * What stands below a line "#csv" is p.csv, the paper's numbers. Nothing is run. Seeds:
 * corpus-report_experiment/; words: report_experiment.dict. */
#define _GNU_SOURCE
#include "report/figure_report.h"
#include "report/html_report.h"

#include "kit.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n ret;\n}\n";
static const char launch[] = "{grid: 1, block: 32, args: [\"buf:64\", \"1\"]}";
static const char mark[] = "\n#csv\n";

static struct store *store;

static void
end(void)
{
    store_close(store);
}

static void
start(void)
{
    struct diag_sink diag = {0};
    store = store_open(fuzz_path("fuzz.db"), STORE_WRITE, &diag);
    fuzz_file("k.ptx", ptx, sizeof ptx - 1);
    fuzz_file("l.yaml", launch, sizeof launch - 1);
    setenv("ALLOT_CHARTJS", "/nonexistent", 1);
    if (!store)
        abort();
    atexit(end);
}

static void
report(const struct experiment *e, struct diag_sink *diag)
{
    struct strbuf out = {0};
    size_t errors = diag->errors;
    struct figure *f = figure_make(e, store, diag);
    const struct figure *const figures[] = {f};
    const char *const names[] = {e->name};
    if (!f && diag->errors == errors)
        abort();
    if (f) {
        for (int markdown = 0; markdown < 2; markdown++)
            figure_text(f, markdown, &out, diag);
        figure_csv(f, &out);
        html_report(figures, names, 1, store, &out, diag);
    }
    figure_free(f);
    strbuf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0};
    if (fuzz_names_host(data, size))
        return 0;
    if (!store)
        start();
    const uint8_t *csv = memmem(data, size, mark, sizeof mark - 1);
    if (csv) {
        fuzz_file("p.csv", csv + sizeof mark - 1,
                  size - (size_t)(csv - data) - (sizeof mark - 1));
        size = (size_t)(csv - data);
    } else
        unlink(fuzz_path("p.csv"));
    struct experiment *e = experiment_load(fuzz_file("e.yaml", data, size), true, &diag);
    if (!e == !diag.errors)
        abort(); /* refused without a word, or taken with an error */
    if (e)
        report(e, &diag);
    diag_print(&diag, &text);
    strbuf_free(&text);
    experiment_free(e);
    diag_free(&diag);
    return 0;
}
