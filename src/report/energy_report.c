/* energy_report.c: see energy_report.h. */
#include "report/energy_report.h"

#include "base/demangle.h"
#include "report/table.h"
#include "runtime/runtime.h"

#include <stdlib.h>

void
energy_report_source(const struct allot_machine *m, struct strbuf *out)
{
    const struct machine *k = m->m;
    strbuf_printf(out, "model %s", machine_words_energy_model[k->energy.model]);
    if (energy_calibrated(k))
        strbuf_printf(out, ", fitted to %s", k->energy.calibrated_on);
    else
        strbuf_printf(out, "; no published calibration for this machine%s%s",
                      *k->energy.calibrated_on ? ", coefficients fitted to " : "",
                      k->energy.calibrated_on);
}

static void
print_parts(FILE *f, const struct energy *e)
{
    struct table *t =
        table_new(5, (const char *const[]){"component", "part", "J", "W", "%"});
    for (int c = 0; c < ENERGY_COMPONENTS; c++) {
        for (int p = 0; p < ENERGY_PARTS; p++) {
            if ((int)energy_part_component(p) != c)
                continue;
            table_cell(t, "%s", energy_component_name(c));
            table_cell(t, "%s", energy_part_text(p));
            table_cell(t, "%.4g", e->part[p]);
            table_cell(t, "%.4g", e->seconds > 0 ? e->part[p] / e->seconds : 0);
            table_cell(t, "%.1f", e->total > 0 ? 100 * e->part[p] / e->total : 0);
        }
    }
    table_rule(t);
    table_cell(t, "all");
    table_cell(t, "%s", "");
    table_cell(t, "%.4g", e->total);
    table_cell(t, "%.4g", e->seconds > 0 ? e->total / e->seconds : 0);
    table_cell(t, "%.1f", e->total > 0 ? 100.0 : 0);
    table_show(t, f);
    table_free(t);
}

static void
print_kernels(FILE *f, const struct allot_device *dev, const struct allot_machine *m)
{
    struct table *t =
        table_new(5, (const char *const[]){"kernel", "J", "W", "nJ/warp instr.", "J s"});
    static const char *const values[] = {"energy", "power", "energy_per_instruction",
                                         "energy_delay"};
    for (size_t i = 0; i < allot_results(dev); i++) {
        struct energy e;
        struct diag_sink told = {0}; /* by the sum */
        const struct allot_result *r = allot_result_at(dev, i);
        char *name = demangle_within(allot_result_kernel(r), DEMANGLE_COLUMN);
        rt_energy(r, m, &e, &told);
        diag_free(&told);
        table_cell(t, "%s", name);
        free(name);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            double v = 0;
            energy_value(&e, values[k], &v);
            table_cell(t, "%.4g", v);
        }
    }
    fprintf(f, "\n");
    table_show(t, f);
    table_free(t);
}

bool
energy_report_text(FILE *f, const struct allot_device *dev, const struct allot_machine *m,
                   struct diag_sink *diag)
{
    struct energy sum = {0};
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++) {
        struct energy e;
        ok &= rt_energy(allot_result_at(dev, i), m, &e, diag);
        energy_add(&sum, &e);
    }
    struct strbuf b = {0};
    energy_report_source(m, &b);
    fprintf(f, "\nenergy, %s\n\n", b.s);
    strbuf_free(&b);
    print_parts(f, &sum);
    double per = 0, delay = 0;
    energy_value(&sum, "energy_per_instruction", &per);
    energy_value(&sum, "energy_delay", &delay);
    fprintf(f,
            "\n%.4g nJ a warp instruction, energy-delay product %.4g J s over %.4g s\n",
            per, delay, sum.seconds);
    if (allot_results(dev) > 1)
        print_kernels(f, dev, m);
    return ok;
}

json_t *
energy_report_json(const struct energy *e, const struct allot_machine *m)
{
    json_t *o =
        json_pack("{s:s, s:s, s:b}", "model",
                  machine_words_energy_model[m->m->energy.model], "calibrated_on",
                  m->m->energy.calibrated_on, "calibrated", energy_calibrated(m->m));
    struct energy_value v;
    for (size_t i = 0; energy_value_at(i, e, &v); i++)
        json_object_set_new(o, v.name, json_real(v.value));
    json_object_set_new(o, "seconds", json_real(e->seconds));
    json_t *events = json_object();
    for (int i = 0; i < ENERGY_ROWS; i++) {
        struct energy_row_info r = energy_row(m->m, i);
        json_object_set_new(events, r.name,
                            json_pack("{s:s, s:f, s:f, s:s, s:f}", "part",
                                      energy_part_name(r.part), "count", e->count[i],
                                      "coefficient", r.coefficient, "unit", r.unit,
                                      "joules", e->joules[i]));
    }
    json_object_set_new(o, "events", events);
    return o;
}

void
energy_report_csv_header(struct strbuf *out)
{
    struct energy_value v;
    for (size_t i = 0; energy_value_at(i, NULL, &v); i++)
        strbuf_printf(out, ",%s", v.name);
}

void
energy_report_csv(const struct energy *e, struct strbuf *out)
{
    struct energy_value v;
    for (size_t i = 0; energy_value_at(i, e, &v); i++)
        strbuf_printf(out, ",%.9g", v.value);
}
