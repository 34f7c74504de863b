/* steps_report.c: see steps_report.h. */
#include "report/steps_report.h"

#include "report/table.h"

void
steps_report(FILE *f, const struct allot_register_step *step, size_t n)
{
    static const char *const head[] = {"blocks",   "registers",        "to scratchpad",
                                       "to local", "off-chip / other", ""};
    struct table *t = table_new(6, head);
    for (size_t i = 0; i < n; i++) {
        const struct allot_register_step *s = &step[i];
        table_cell(t, "%u", s->blocks);
        table_cell(t, "%u", s->possible ? s->registers : s->limit);
        if (s->possible) {
            table_cell(t, "%u", s->to_scratchpad);
            table_cell(t, "%u", s->to_local);
            table_cell(t, "%llu / %llu", (unsigned long long)s->offchip,
                       (unsigned long long)s->other);
        } else {
            for (int c = 0; c < 3; c++)
                table_cell(t, "-");
        }
        table_cell(t, "%s",
                   s->predicted  ? "predicted best"
                   : s->possible ? ""
                                 : "too few registers");
    }
    table_show(t, f);
    table_free(t);
}

json_t *
steps_report_json(const struct allot_register_step *step, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct allot_register_step *s = &step[i];
        json_array_append_new(
            list, json_pack("{s:i, s:i, s:b, s:i, s:i, s:i, s:I, s:I, s:b}", "blocks",
                            s->blocks, "limit", s->limit, "possible", s->possible,
                            "registers", s->registers, "to_scratchpad", s->to_scratchpad,
                            "to_local", s->to_local, "offchip", (json_int_t)s->offchip,
                            "other", (json_int_t)s->other, "predicted", s->predicted));
    }
    return list;
}
