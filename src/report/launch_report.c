/* launch_report.c: see launch_report.h. */
#include "report/launch_report.h"

#include "base/demangle.h"
#include "report/table.h"

#include <stdlib.h>

void
launch_report_summary(FILE *f, const struct allot_device *dev, bool functional)
{
    struct table *t =
        functional ? table_new(4, (const char *const[]){"kernel", "warp instr.",
                                                        "thread instr.", "host s"})
                   : table_new(7, (const char *const[]){"kernel", "cycles", "warp instr.",
                                                        "thread instr.", "IPC",
                                                        "blocks/SM", "host s"});
    char b[32];
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        uint64_t v = 0;
        double ipc = 0;
        char *name = demangle_within(allot_result_kernel(r), DEMANGLE_COLUMN);
        table_cell(t, "%s", name);
        free(name);
        if (!functional) {
            allot_result_get(r, "cycles", &v, NULL);
            table_cell(t, "%s", table_thousands(b, v));
        }
        allot_result_get(r, "warp_instructions", &v, NULL);
        table_cell(t, "%s", table_thousands(b, v));
        allot_result_get(r, "thread_instructions", &v, NULL);
        table_cell(t, "%s", table_thousands(b, v));
        if (!functional) {
            allot_result_get(r, "ipc", NULL, &ipc);
            table_cell(t, "%.2f", ipc);
            allot_result_get(r, "resident_blocks", &v, NULL);
            table_cell(t, "%llu", (unsigned long long)v);
        }
        table_cell(t, "%.3f", allot_result_seconds(r));
    }
    table_show(t, f);
    table_free(t);
}

void
launch_report_stats(FILE *f, const struct allot_device *dev)
{
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        char *name = demangle(allot_result_kernel(r));
        fprintf(f, "\n%s\n", name);
        free(name);
        struct allot_stat_info s;
        for (size_t k = 0; allot_stat(k, &s); k++) {
            uint64_t n;
            double v;
            if (!allot_result_get(r, s.id, &n, &v))
                continue;
            char b[32];
            if (s.derived)
                fprintf(f, "  %-32s %20.6g  %s\n", s.id, v, s.unit);
            else
                fprintf(f, "  %-32s %20s  %s\n", s.id, table_thousands(b, n), s.unit);
        }
    }
}
