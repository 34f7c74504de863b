/* chart.c: charts by gnuplot (a Debian package).
 *
 * gnuplot runs commands that stand in its script: `...` in a double-quoted string,
 * system(), an output file called "|command", a data file called "<command". So no text
 * of a user becomes part of a script, and no file name reaches gnuplot:
 *
 *   fd 3    the script, a constant
 *   argv    title, labels of the axes, numbers: string variables ARG1, ARG2, ... of the script
 *   stdin   a table of names and values, read as data
 *   stdout  a pipe: the drawing, which is written to its file when it is complete
 */
#define _GNU_SOURCE /* pipe2 */
#include "report/chart.h"

#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Characters of a text that a chart shows. gnuplot cuts lines of some thousand bytes. */
enum { MAX_TEXT = 120 };

enum { SCRIPT_FD = 3, SPARE_FD = 10 };

/* ARG1, ARG2 and ARG7, title and labels of the axes, have one character before them: gnuplot
 * takes arguments such as --version for itself.
 *
 *   ARG3 "WIDTH HEIGHT"     ARG4 series      ARG5 terminal, "=", font and its size if not the
 *   in pixels                                terminal's own  ARG6 flags, a letter each
 *   ARG8 kind               ARG9 style of each series: 10 + colour; p pale, l a line,
 *                                o neither
 *
 * Of the flags, g is greys for colours and h patterns on bars: what is printed without colours
 * must differ in darkness, pattern, dash or shape.
 *
 * The table's columns: names of the groups, their x (0 for bars), the series. */
static const char script_head[] =
    "set encoding utf8\n"
    "width = int(word(ARG3, 1))\n"
    "height = int(word(ARG3, 2))\n"
    "kind = substr(ARG5, 1, 3)\n"
    "last = int(ARG4) + 2\n"
    "flag(c) = strstrt(ARG6, c) > 0\n"
    "own = kind eq 'svg' ? 'sans-serif,13' : kind eq 'pdf' ? 'sans,11' : ',11'\n"
    "face = strlen(ARG5) > 4 ? substr(ARG5, 5, strlen(ARG5)) : own\n"
    "if (kind eq 'png') set terminal png size width,height font face\n"
    "if (kind eq 'svg') set terminal svg size width,height dynamic "
    "font face background '#ffffff'\n"
    "if (kind eq 'pdf') set terminal pdfcairo size width/100.,height/100. "
    "font face linewidth 1.3\n"
    "if (kind eq 'txt') set terminal dumb size 120,32\n"
    "array color[12]\n"
    "array pale[12]\n";
static const char script_body[] =
    "style(i) = substr(ARG9, 3 * i - 6, 3 * i - 6)\n"
    "number(i) = int(substr(ARG9, 3 * i - 8, 3 * i - 7)) - 9\n"
    /* greys from dark to light over the series, each far from the one before */
    "level(i) = 40 + int(170. * (((i - 3) * 2) % (last - 2 + (last % 2)))"
    " / (last > 4 ? last - 3 : 1)) % 200\n"
    "dark(i) = sprintf('#%02x%02x%02x', level(i), level(i), level(i))\n"
    "hue(i) = flag('g') ? dark(i) : style(i) eq 'p' ? pale[number(i)] : color[number(i)]\n"
    "mark(i) = flag('g') ? dark(i) : color[number(i)]\n"
    "set title substr(ARG1, 2, strlen(ARG1)) noenhanced\n"
    "set ylabel substr(ARG2, 2, strlen(ARG2)) noenhanced\n"
    "set xlabel substr(ARG7, 2, strlen(ARG7)) noenhanced\n"
    "if (flag('g') || flag('h')) { set style fill solid 0.95 border lc rgb '#222222' } "
    "else { set style fill solid 0.95 noborder }\n"
    /* gnuplot's patterns 1 to 7; 0 is empty and 3 is solid, so each bar differs */
    "pattern(i) = int(substr('4251670', (i - 3) % 7 + 1, (i - 3) % 7 + 1))\n"
    "set grid ytics lc rgb '#dddddd'\n"
    "set border 3 lc rgb '#555555'\n"
    "set tics nomirror\n"
    "if (flag('r')) set key outside right top vertical Left reverse noenhanced; else "
    "set key bmargin center horizontal Left reverse height 0.8 noenhanced\n"
    "set datafile missing 'NaN'\n"
    "set datafile separator '\\t'\n"
    "set datafile commentschars ''\n"
    "if (flag('n')) set xzeroaxis lt 1 lc rgb '#555555'\n"
    "if (!flag('n') && !flag('y')) set yrange [0:*]\n"
    "set offsets graph 0, graph 0, graph (flag('v') ? 0.12 : 0.04), graph 0\n"
    "if (flag('x')) set logscale x\n"
    "if (flag('y')) set logscale y\n"
    "if (ARG8 eq 'lines' && !flag('x')) set autoscale xfix\n"
    "set key autotitle columnheader\n"
    /* the middle of bar i of n in group g: as the clustered style places them */
    "n = last - 2\n"
    "middle(i) = column(0) + (i - 3 - (n - 1) / 2.) / (n + 1.)\n"
    "if (ARG8 eq 'bars' || ARG8 eq 'stack') {\n"
    "  set style data histogram\n"
    "  set xtics rotate by -30 noenhanced scale 0\n"
    "  if (ARG8 eq 'bars') { set style histogram clustered gap 1; set boxwidth 0.9 }\n"
    "  if (ARG8 eq 'stack') { set style histogram rowstacked; set boxwidth 0.7; "
    "if (flag('r')) { set key outside right top vertical Left reverse invert noenhanced } }\n"
    /* a terminal's legend has no sample of a box: it gets that of a line */
    "  if (kind eq 'txt') { plot for [i=3:last] '/dev/stdin' using i:xtic(1) lt i-2 "
    "title '', for [i=3:last] '/dev/stdin' using (0):(0) every ::0::0 with lines lt i-2 "
    "title ' '.columnheader(i), for [i=3:(flag('v') ? last : 2)] '/dev/stdin' "
    "using (middle(i)):i:(sprintf('%.3g', column(i))) with labels notitle "
    "offset char 0,0.5 } else { "
    /* bars as ordinary or hatched ones, and nothing or the values on them */
    "wide = flag('v') ? last : 2\n"
    "if (flag('h')) { plot for [i=3:last] '/dev/stdin' using i:xtic(1) "
    "fs pattern pattern(i) lc rgb hue(i), "
    "for [i=3:wide] '/dev/stdin' using (middle(i)):i:(sprintf('%.3g', column(i))) "
    "with labels notitle rotate by 90 left offset char 0,0.4 font ',8' } else { "
    "plot for [i=3:last] '/dev/stdin' using i:xtic(1) lc rgb hue(i), "
    "for [i=3:wide] '/dev/stdin' using (middle(i)):i:(sprintf('%.3g', column(i))) "
    "with labels notitle rotate by 90 left offset char 0,0.4 font ',8' } }\n"
    "}\n"
    /* points of different shape, for print without colours; the paper's lines are dashed, in
     * grey each line */
    "dash(i) = flag('g') ? 1 + (i - 3) % 5 : 1 + (style(i) eq 'p')\n"
    /* few points: a tick at each value; an axis of many has ticks of its own */
    "if (ARG8 eq 'lines' && flag('f')) plot for [i=3:last] '/dev/stdin' "
    "using 2:i:xtic(sprintf('%g', column(2))) with linespoints lw 2 "
    "pt 5+2*((i-3)%5) ps 0.7 dt dash(i) lc rgb mark(i)\n"
    "if (ARG8 eq 'lines' && !flag('f')) plot for [i=3:last] '/dev/stdin' using 2:i "
    "with linespoints lw 2 pt 5+2*((i-3)%5) ps (flag('s') ? 0 : 0.7) "
    "dt dash(i) lc rgb mark(i)\n"
    "roofs = ''\n"
    "dots = ''\n"
    "do for [i=3:last] { if (style(i) eq 'l') { roofs = roofs.' '.i } else { "
    "dots = dots.' '.i } }\n"
    "if (ARG8 eq 'points') plot for [i=3:last] '/dev/stdin' using 2:i with points pt 7 "
    "ps 0.9 lc rgb hue(i), for [i=3:last] '/dev/stdin' using 2:i:1 with labels notitle "
    "left offset char 0.7,0.5 font ',9' noenhanced\n"
    "if (ARG8 eq 'scatter' && !flag('t')) plot for [i in roofs] '/dev/stdin' "
    "using 2:int(i) with lines lw 2 lc rgb hue(int(i)), "
    "for [i in dots] '/dev/stdin' using 2:int(i) with points pt 7 ps 0.9 "
    "lc rgb hue(int(i)), "
    "for [i in dots] '/dev/stdin' using 2:int(i):1 with labels notitle left "
    "offset char 0.7,0.5 font ',9' noenhanced\n"
    "if (ARG8 eq 'scatter' && flag('t')) plot for [i in roofs] '/dev/stdin' "
    "using 2:int(i) with fsteps lw 2 lc rgb hue(int(i)), "
    "for [i in dots] '/dev/stdin' using 2:int(i) with points pt 7 ps 0.9 "
    "lc rgb hue(int(i))\n";

/* A text as a cell of the table. Whatever could mean something there stands as its octal
 * code; digits too, which would go on with the code before them. */
static void
cell(FILE *f, const char *s)
{
    struct strbuf clean = {0};
    strbuf_visible(&clean, s, MAX_TEXT);
    fputc('"', f);
    for (const char *p = clean.s; *p; p++)
        if ((*p & 0x80) || *p == ' ' || (*p >= 'a' && *p <= 'z') ||
            (*p >= 'A' && *p <= 'Z'))
            fputc(*p, f);
        else
            fprintf(f, "\\%03o", (unsigned)*p);
    /* An empty heading would be taken from the line. */
    fputs(clean.n ? "\"" : "\\040\"", f);
    strbuf_free(&clean);
}

/* A row a group, below the names of the series. A mean stands behind an empty row. */
static void
table(FILE *f, const struct chart *c)
{
    cell(f, "name");
    fputc('\t', f);
    cell(f, "x");
    for (size_t s = 0; s < c->nseries; s++) {
        fputc('\t', f);
        cell(f, c->series[s]);
    }
    fputc('\n', f);
    for (size_t g = 0; g < c->ngroups; g++) {
        if (c->mean && g + 1 == c->ngroups && g) {
            fputs("\"\\040\"\t0", f);
            for (size_t s = 0; s < c->nseries; s++)
                fputs("\tNaN", f);
            fputc('\n', f);
        }
        cell(f, c->groups ? c->groups[g] : "");
        fprintf(f, "\t%.9g", c->x ? c->x[g] : 0.0);
        for (size_t s = 0; s < c->nseries; s++) {
            double v = c->value[g * c->nseries + s];
            if (isfinite(v))
                fprintf(f, "\t%.9g", v);
            else
                fprintf(f, "\tNaN");
        }
        fputc('\n', f);
    }
}

/* A temporary file with the contents that were written to it, to be read from its start;
 * or NULL. */
static FILE *
ready(FILE *f)
{
    if (!f)
        return NULL;
    if (!fflush(f) && !ferror(f)) {
        rewind(f);
        return f;
    }
    fclose(f);
    return NULL;
}

static char *
argument(const char *text)
{
    struct strbuf b = {0};
    strbuf_addz(&b, "=");
    strbuf_visible(&b, text, MAX_TEXT);
    return strbuf_take(&b);
}

/* In the child: gives descriptor `from` the number `to`. */
static bool
place(int from, int to)
{
    return dup2(from, to) == to;
}

/* All that can be read of fd. */
static void
read_all(int fd, struct strbuf *out)
{
    char part[4096];
    ssize_t n;
    while ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            strbuf_add(out, part, (size_t)n);
}

/* Runs gnuplot; its exit status, 127: it did not start, -1: no process. What it draws comes
 * through a pipe: gnuplot does not notice that a disk is full. */
static int
run_gnuplot(const char *const argv[], int script_fd, int data_fd, struct strbuf *out)
{
    int ends[2];
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    const int out_fd = ends[1];
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    if (pid == 0) {
        /* Out of the way first: one may have the number that another is to get. */
        int s = fcntl(script_fd, F_DUPFD_CLOEXEC, SPARE_FD),
            d = fcntl(data_fd, F_DUPFD_CLOEXEC, SPARE_FD),
            o = fcntl(out_fd, F_DUPFD_CLOEXEC, SPARE_FD);
        if (s < 0 || d < 0 || o < 0 || !place(s, SCRIPT_FD) || !place(d, STDIN_FILENO) ||
            !place(o, STDOUT_FILENO))
            _exit(126);
        setenv("LC_ALL", "C.UTF-8",
               1); /* else it warns of signs that it cannot convert */
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    int status;
    close(ends[1]);
    read_all(ends[0], out);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* The script: colours are constants of this file's neighbour. */
static void
write_script(FILE *f)
{
    fputs(script_head, f);
    for (int i = 0; i < CHART_COLOURS; i++)
        fprintf(f, "color[%d] = '%s'\npale[%d] = '%s'\n", i + 1, chart_colours[i], i + 1,
                chart_pale[i]);
    fputs(script_body, f);
}

static void
write_styles(const struct chart *c, struct strbuf *b)
{
    for (size_t s = 0; s < c->nseries; s++) {
        struct chart_style x = {(unsigned)s, false, false};
        if (c->style)
            x = c->style[s];
        strbuf_printf(b, "%u%c", 10 + x.colour % CHART_COLOURS,
                      x.pale   ? 'p'
                      : x.line ? 'l'
                               : 'o');
    }
}

/* As the script calls it: a scatter of lines alone, or of points alone, is another kind. */
static const char *
kind_of(const struct chart *c)
{
    static const char *const kinds[] = {"bars", "stack", "lines", "scatter"};
    size_t lines = 0;
    for (size_t s = 0; c->style && s < c->nseries; s++)
        lines += c->style[s].line;
    return c->kind != CHART_SCATTER ? kinds[c->kind]
           : !lines                 ? "points"
           : lines == c->nseries    ? "lines"
                                    : "scatter";
}

/* Is there room for the legend beside the drawing? Few names stand above it. */
static bool
key_fits_right(const struct chart *c)
{
    enum { FEW = 4, MANY = 24, LONG = 28 };
    size_t longest = 0;
    for (size_t s = 0; s < c->nseries; s++)
        longest = strlen(c->series[s]) > longest ? strlen(c->series[s]) : longest;
    return (c->nseries > FEW || c->kind == CHART_STACK) && c->nseries <= MANY &&
           longest <= LONG;
}

/* ARG5: "svg=NAME,POINTS"; what is left out is the terminal's own. */
static void
face(const struct chart_look *look, const char *format, char *buf, size_t n)
{
    if (look->points)
        snprintf(buf, n, "%s=%s,%u", format, look->font, look->points);
    else
        snprintf(buf, n, "%s=%s", format, look->font);
}

static bool
look_size(const char *text, struct chart_look *out)
{
    enum { LEAST = 100, MOST = 10000 };
    char after;
    return sscanf(text, "%5ux%5u%c", &out->width, &out->height, &after) == 2 &&
           out->width >= LEAST && out->width <= MOST && out->height >= LEAST &&
           out->height <= MOST;
}

/* NAME[:POINTS]. A name is letters, digits, blanks and dashes: it reaches gnuplot. */
static bool
look_font(const char *text, struct chart_look *out)
{
    size_t n = strcspn(text, ":");
    char after;
    if (n >= sizeof out->font)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != ' ' && text[i] != '-')
            return false;
    memcpy(out->font, text, n);
    out->font[n] = 0;
    return !text[n] || (sscanf(text + n, ":%3u%c", &out->points, &after) == 1 &&
                        out->points > 3 && out->points < 100);
}

static bool
look_word(const char *word, struct chart_look *out)
{
    if (!strncmp(word, "size=", 5))
        return look_size(word + 5, out);
    if (!strncmp(word, "font=", 5))
        return look_font(word + 5, out);
    if (!strcmp(word, "linear") || !strcmp(word, "log"))
        return out->x = word[1] == 'i' ? CHART_AXIS_LINEAR : CHART_AXIS_LOG, true;
    bool *flag = !strcmp(word, "values")  ? &out->values
                 : !strcmp(word, "grey")  ? &out->grey
                 : !strcmp(word, "hatch") ? &out->hatch
                                          : NULL;
    return flag && (*flag = true);
}

bool
chart_look_parse(const char *words, struct chart_look *out, struct diag_sink *diag)
{
    bool ok = true;
    while (ok && *words) {
        char word[96];
        size_t n = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word),
                 words);
        ok = look_word(word, out) ||
             diag_error(
                 diag,
                 "chart style '%s': values, grey, hatch, linear, log, size=WxH (100 to "
                 "10000) or font=NAME[:POINTS]",
                 word);
        words += n + (words[n] == ',');
    }
    return ok;
}

static int
draw(const struct chart *c, const char *format, struct strbuf *out)
{
    enum { FEW_POINTS = 10, MANY_POINTS = 40 };
    bool bars = c->kind == CHART_BARS || c->kind == CHART_STACK;
    size_t wide = c->kind == CHART_STACK ? 2 : c->nseries + 1,
           width = bars ? 240 + 30 * c->ngroups * wide : 760;
    const struct chart_look plain = {0}, *look = c->look ? c->look : &plain;
    bool log_x = look->x == CHART_AXIS_FITS ? c->log_x : look->x == CHART_AXIS_LOG;
    char pixels[48], columns[24], from[32], font[64];
    struct strbuf flags = {0}, styles = {0};
    snprintf(pixels, sizeof pixels, "%zu %u",
             look->width    ? look->width
             : width < 640  ? 640
             : width > 2400 ? 2400
                            : width,
             look->height ? look->height : 480);
    face(look, format, font, sizeof font);
    snprintf(columns, sizeof columns, "%zu", c->nseries);
    snprintf(from, sizeof from, "/dev/fd/%d", SCRIPT_FD);
    strbuf_printf(&flags, "-%s%s%s%s%s%s%s%s%s%s", key_fits_right(c) ? "r" : "",
                  c->below_zero ? "n" : "", log_x ? "x" : "", c->log_y ? "y" : "",
                  look->values ? "v" : "", c->steps ? "t" : "",
                  c->ngroups > MANY_POINTS ? "s" : "", look->grey ? "g" : "",
                  log_x || (c->ngroups <= FEW_POINTS && !c->steps) ? "f" : "",
                  look->hatch ? "h" : "");
    write_styles(c, &styles);
    FILE *commands = tmpfile(), *data = tmpfile();
    if (commands)
        write_script(commands);
    if (data)
        table(data, c);
    commands = ready(commands);
    data = ready(data);
    char *title = argument(c->title), *ylabel = argument(c->ylabel),
         *xlabel = argument(c->xlabel ? c->xlabel : "");
    /* -d: nothing of ~/.gnuplot */
    const char *const argv[] = {"gnuplot",
                                "-d",
                                "-c",
                                from,
                                title,
                                ylabel,
                                pixels,
                                columns,
                                font,
                                flags.s,
                                xlabel,
                                kind_of(c),
                                styles.s ? styles.s : "10o",
                                NULL};
    int status =
        commands && data ? run_gnuplot(argv, fileno(commands), fileno(data), out) : -1;
    free(title);
    free(ylabel);
    free(xlabel);
    strbuf_free(&flags);
    strbuf_free(&styles);
    if (commands)
        fclose(commands);
    if (data)
        fclose(data);
    return status;
}

/* gnuplot leaves ">" in texts as it is, which XML forbids after "]]". It writes no CDATA
 * section of its own here. */
static void
repair_svg(struct strbuf *b)
{
    struct strbuf out = {0};
    const char *at = b->s, *end;
    for (; (end = strstr(at, "]]>")); at = end + 3)
        strbuf_printf(&out, "%.*s]]&gt;", (int)(end - at), at);
    strbuf_addz(&out, at);
    strbuf_free(b);
    *b = out;
}

/* gnuplot begins a page of text with a form feed. */
static void
repair_text(struct strbuf *b)
{
    if (b->n && *b->s == '\f')
        memmove(b->s, b->s + 1, b->n--);
}

const char *
chart_format(const char *path)
{
    static const char *const known[] = {"svg", "pdf", "png", "txt"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n > 4 && path[n - 4] == '.' && !strcmp(path + n - 3, known[i]))
            return known[i];
    return NULL;
}

bool
chart_write(const struct chart *c, const char *path, struct diag_sink *diag)
{
    const char *format = chart_format(path);
    if (!format)
        return diag_error(
            diag, "chart file %s: the name must end in .svg, .pdf, .png or .txt", path);
    struct strbuf b = {0};
    int status = draw(c, format, &b);
    bool drawn = !status && b.n;
    if (drawn && !strcmp(format, "svg"))
        repair_svg(&b);
    if (drawn && !strcmp(format, "txt"))
        repair_text(&b);
    bool ok = drawn && file_put(path, b.s, b.n, stdout, diag);
    if (status == 127)
        diag_error(diag, "charts need gnuplot, which is not installed (Debian package "
                         "gnuplot-nox)");
    else if (!drawn)
        diag_error(diag, "could not draw %s (gnuplot ended with status %d)", path,
                   status);
    strbuf_free(&b);
    return ok;
}
