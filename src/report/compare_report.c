/* compare_report.c: see compare_report.h. */
#include "report/compare_report.h"

#include "base/json.h"
#include "report/chart.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many times as fast as the reference: a ratio of cycles. NaN: not known. */
static double
speedup(const struct compare_cell *c, const struct compare_cell *ref)
{
    return c->ok && ref->ok && c->cycles && ref->cycles
               ? (double)ref->cycles / (double)c->cycles
               : NAN;
}

void
compare_report_text(const struct compare *t, FILE *f)
{
    const size_t nw = t->nsubject, nv = t->nvariant;
    char gain_title[64], b[32];
    snprintf(gain_title, sizeof gain_title, "speed-up over %s", t->variant[0]);
    struct table *table =
        table_new(8, (const char *const[]){"workload", "variant", "blocks/SM", "pairs",
                                           "cycles", "IPC", gain_title, "check"});
    for (size_t i = 0; i < nw; i++) {
        if (i)
            table_rule(table);
        for (size_t k = 0; k < nv; k++) {
            const struct compare_cell *c = &t->cell[i * nv + k], *ref = &t->cell[i * nv];
            table_cell(table, "%s", k ? "" : t->subject[i]);
            table_cell(table, "%s", t->variant[k]);
            if (!c->ran) {
                for (int dash = 0; dash < 5; dash++)
                    table_cell(table, "-");
                table_cell(table, "not run");
                continue;
            }
            table_cell(table, "%llu", (unsigned long long)c->blocks);
            table_cell(table, "%llu", (unsigned long long)c->pairs);
            table_cell(table, "%s", table_thousands(b, c->cycles));
            table_cell(table, "%.2f", c->ipc);
            double faster = speedup(c, ref);
            if (!k || isnan(faster))
                table_cell(table, "-");
            else
                table_cell(table, "%+.2f %%", 100 * (faster - 1));
            table_cell(table, "%s", !c->ok ? "FAILED" : !t->checked ? "-" : "passed");
        }
    }
    table_show(table, f);
    table_free(table);
    for (size_t k = 1; k < nv && nw > 1; k++) {
        double logs = 0;
        size_t n = 0;
        for (size_t i = 0; i < nw; i++) {
            double faster = speedup(&t->cell[i * nv + k], &t->cell[i * nv]);
            if (!isnan(faster)) {
                logs += log(faster);
                n++;
            }
        }
        if (n)
            fprintf(f, "%s%s: %+.2f %% speed-up, geometric mean of %zu\n",
                    k == 1 ? "\n" : "", t->variant[k], 100 * (exp(logs / (double)n) - 1),
                    n);
    }
}

/* The variant of --opt-tlp with the fewest cycles, of each workload. */
void
compare_report_best(const struct compare *t, FILE *f)
{
    const size_t nw = t->nsubject, nv = t->nvariant;
    for (size_t i = 0; i < nw; i++) {
        const struct compare_cell *c = &t->cell[i * nv];
        size_t best = nv;
        for (size_t k = 0; k < nv; k++)
            if (c[k].ok && !strncmp(t->variant[k], "tlp=", 4) &&
                (best == nv || c[k].cycles < c[best].cycles))
                best = k;
        if (best < nv && c[0].ok && c[0].cycles)
            fprintf(f, "%s%s: best with %s, %+.2f %% cycles\n", i ? "" : "\n",
                    t->subject[i], t->variant[best],
                    100 * ((double)c[best].cycles / (double)c[0].cycles - 1));
    }
}

/* By component, and how a variant's energy and energy-delay product differ from the
 * first's. */
void
compare_report_energy(const struct compare *t, FILE *f)
{
    const size_t nw = t->nsubject, nv = t->nvariant;
    struct table *table = table_new(
        10, (const char *const[]){"workload", "variant", "SM J", "icnt J", "L2 J",
                                  "DRAM J", "all J", "W", "energy", "energy x delay"});
    for (size_t i = 0; i < nw * nv; i++) {
        const struct energy *e = &t->cell[i].energy, *ref = &t->cell[i / nv * nv].energy;
        if (i && i % nv == 0)
            table_rule(table);
        table_cell(table, "%s", i % nv ? "" : t->subject[i / nv]);
        table_cell(table, "%s", t->variant[i % nv]);
        for (int c = 0; c < ENERGY_COMPONENTS; c++)
            table_cell(table, "%.4g", e->component[c]);
        table_cell(table, "%.4g", e->total);
        table_cell(table, "%.4g", e->seconds > 0 ? e->total / e->seconds : 0);
        if (i % nv == 0 || ref->total <= 0 || e->total <= 0) {
            table_cell(table, "-");
            table_cell(table, "-");
            continue;
        }
        table_cell(table, "%+.2f %%", 100 * (e->total / ref->total - 1));
        table_cell(table, "%+.2f %%",
                   100 * (e->total * e->seconds / (ref->total * ref->seconds) - 1));
    }
    fprintf(f, "\n");
    table_show(table, f);
    table_free(table);
}

json_t *
compare_report_json(const struct compare *t, bool energy)
{
    const size_t nw = t->nsubject, nv = t->nvariant;
    json_t *rows = json_array();
    for (size_t i = 0; i < nw * nv; i++) {
        const struct compare_cell *c = &t->cell[i];
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}",
                            "workload", t->subject[i / nv], "variant", t->variant[i % nv],
                            "check",
                            !c->ran ? "not run"
                            : c->ok ? "passed"
                                    : "failed",
                            "resident_blocks", (json_int_t)c->blocks, "baseline_blocks",
                            (json_int_t)c->baseline, "shared_pairs", (json_int_t)c->pairs,
                            "cycles", (json_int_t)c->cycles, "warp_instructions",
                            (json_int_t)c->warp, "thread_instructions",
                            (json_int_t)c->thread, "ipc", c->ipc, "seconds", c->seconds));
        double faster = speedup(c, &t->cell[i / nv * nv]);
        json_object_set_new(json_array_get(rows, i), "speedup",
                            isnan(faster) ? json_null() : json_real(faster));
        struct energy_value e;
        json_t *values = json_object();
        for (size_t n = 0; energy && energy_value_at(n, &c->energy, &e); n++)
            json_object_set_new(values, e.name, json_real(e.value));
        if (energy)
            json_object_set(json_array_get(rows, i), "energy", values);
        json_decref(values);
    }
    return json_pack("{s:o, s:b, s:o}", "machine", json_text(t->machine), "quick",
                     t->quick, "results", rows);
}

/* Bars of the speed-ups; of several subjects their geometric mean behind them. */
bool
compare_report_chart(const struct compare *t, const char *path,
                     const struct chart_look *look, struct diag_sink *diag)
{
    const size_t nw = t->nsubject, nv = t->nvariant;
    const char **groups = xcalloc(nw + 1, sizeof *groups),
               **series = xcalloc(nv, sizeof *series);
    double *value = xcalloc((nw + 1) * nv, sizeof *value);
    bool mean = nw > 1;
    for (size_t i = 0; i < nw; i++)
        groups[i] = t->subject[i];
    groups[nw] = "geometric mean";
    for (size_t k = 0; k < nv; k++) {
        double logs = 0;
        series[k] = t->variant[k];
        for (size_t i = 0; i < nw; i++) {
            value[i * nv + k] = speedup(&t->cell[i * nv + k], &t->cell[i * nv]);
            logs += log(value[i * nv + k]);
        }
        value[nw * nv + k] = exp(logs / (double)nw);
    }
    char title[160], ylabel[96];
    snprintf(title, sizeof title, "Speed-up on %s%s", t->machine,
             t->quick ? " (small inputs)" : "");
    snprintf(ylabel, sizeof ylabel, "speed-up over %s (cycles)", t->variant[0]);
    struct chart c = {.title = title,
                      .ylabel = ylabel,
                      .ngroups = nw + mean,
                      .nseries = nv,
                      .groups = groups,
                      .series = series,
                      .value = value,
                      .mean = mean,
                      .look = look};
    bool ok = chart_write(&c, path, diag);
    free(groups);
    free(series);
    free(value);
    return ok;
}

bool
compare_report(const struct compare *t, const struct compare_show *show, FILE *f,
               struct diag_sink *diag)
{
    if (show->json) {
        json_t *all = compare_report_json(t, show->energy);
        json_dumpf(all, f, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        fprintf(f, "\n");
        json_decref(all);
    } else {
        compare_report_text(t, f);
        if (show->best)
            compare_report_best(t, f);
        if (show->energy)
            compare_report_energy(t, f);
    }
    return !show->chart || compare_report_chart(t, show->chart, &show->look, diag);
}
