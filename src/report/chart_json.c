/* chart_json.c: a chart's description for the page (html/page.js draws it). */
#include "report/chart.h"

#include <math.h>

const char *const chart_colours[CHART_COLOURS] = {
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
    "#bbbbbb", "#332288", "#999933", "#117733", "#ddaa77", "#555555"};
const char *const chart_pale[CHART_COLOURS] = {
    "#c7d6e5", "#f9d1d6", "#bddbc2", "#f0ebc7", "#d1f0f9", "#e5c2d6",
    "#ebebeb", "#c2bddc", "#e0e0c2", "#b8d6c2", "#f5e5d6", "#cccccc"};

static json_t *
number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *
chart_json(const struct chart *c)
{
    static const char *const kinds[] = {"bars", "stack", "lines", "scatter"};
    json_t *groups = json_array(), *series = json_array(), *x = json_array();
    for (size_t g = 0; g < c->ngroups; g++) {
        json_array_append_new(groups,
                              c->groups ? json_text(c->groups[g]) : json_string(""));
        if (c->x)
            json_array_append_new(x, number(c->x[g]));
    }
    for (size_t s = 0; s < c->nseries; s++) {
        json_t *values = json_array();
        struct chart_style own = {(unsigned)s, false, false};
        if (c->style)
            own = c->style[s];
        for (size_t g = 0; g < c->ngroups; g++)
            json_array_append_new(values, number(c->value[g * c->nseries + s]));
        json_array_append_new(series,
                              json_pack("{s:o, s:i, s:b, s:b, s:o}", "label",
                                        json_text(c->series[s]), "colour",
                                        (int)(own.colour % CHART_COLOURS), "pale",
                                        own.pale, "line", own.line, "values", values));
    }
    return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:b, s:b, s:b}", "title",
                     json_text(c->title), "xlabel", json_text(c->xlabel ? c->xlabel : ""),
                     "ylabel", json_text(c->ylabel), "kind", kinds[c->kind], "groups",
                     groups, "series", series, "x", x, "log_x", c->log_x, "log_y",
                     c->log_y, "steps", c->steps, "mean", c->mean);
}
