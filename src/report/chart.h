/* chart.h: one description of a chart, drawn in one look for files (gnuplot: SVG, PDF, PNG,
 * text) and for the report's page (Chart.js). */
#ifndef ALLOT_REPORT_CHART_H
#define ALLOT_REPORT_CHART_H

#include "base/diag.h"
#include "base/json.h"

enum chart_kind {
    CHART_BARS,   /* groups of bars beside each other */
    CHART_STACK,  /* a bar a group, series on top of each other */
    CHART_LINES,  /* series over a number, x */
    CHART_SCATTER /* points at x with the groups' names; series may be lines among them */
};

/* Colours of series, from the first; the last comes before the first again. Told apart by
 * people who do not see all colours. And the same pale: what a paper prints. */
enum { CHART_COLOURS = 12 };
extern const char *const chart_colours[CHART_COLOURS], *const chart_pale[CHART_COLOURS];

struct chart_style {
    unsigned colour; /* its number */
    bool pale, line; /* line: of a SCATTER */
};

/* How charts in files look, beyond what they show; all zeros: the default. */
enum chart_axis { CHART_AXIS_FITS, CHART_AXIS_LINEAR, CHART_AXIS_LOG };
struct chart_look {
    bool values;      /* BARS: they are written on the bars */
    bool grey, hatch; /* for print: greys for colours, patterns on bars */
    unsigned width,
        height;      /* pixels (of a PDF: a hundredth of an inch); 0: by what it shows */
    char font[40];   /* "": the format's own */
    unsigned points; /* size of the font; 0: the format's own */
    enum chart_axis
        x; /* of LINES; FITS: logarithmic where the values' steps are factors */
};
/* Words joined by commas: values, grey, hatch, linear, log, size=800x480, font=NAME[:POINTS].
 * False and a diagnostic: one is none of these. */
bool chart_look_parse(const char *words, struct chart_look *out, struct diag_sink *diag);

/* value[g * nseries + s]; NaN leaves it out. */
struct chart {
    const char *title, *ylabel;
    const char *xlabel; /* NULL: none */
    enum chart_kind kind;
    size_t ngroups, nseries;
    const char *const *groups; /* below the axis, or beside points; LINES: may be NULL */
    const char *const *series; /* in the legend, which stands outside */
    const double *value;
    const double *x;                 /* LINES, SCATTER: of each group */
    const struct chart_style *style; /* of each series; NULL: colours in order */
    bool below_zero;                 /* values may be negative: the axis goes there */
    bool steps; /* SCATTER: a line's value holds from the x before it to its own */
    bool log_x, log_y;
    bool mean;                     /* the last group is a mean: with a gap before it */
    const struct chart_look *look; /* NULL: the default */
};

/* "svg", "pdf", "png" or "txt" by the end of a file's name; NULL: none of these. */
const char *chart_format(const char *path);
/* Writes the chart to path. False and a diagnostic if gnuplot is missing or fails, or the
 * file cannot be written; never leaves half a file. */
bool chart_write(const struct chart *c, const char *path, struct diag_sink *diag);
/* The description for the page. */
json_t *chart_json(const struct chart *c);

#endif
