/* chart.c: bar charts by gnuplot (a Debian package).
 *
 * gnuplot runs commands that stand in its script: `...` in a double-quoted string,
 * system(), an output file called "|command", a data file called "<command". So no text
 * of a user becomes part of a script, and no file name reaches gnuplot:
 *
 *   fd 3    the script, a constant
 *   argv    title, axis label and numbers: string variables ARG1, ARG2, ... of the script
 *   stdin   a table of names and values, read as data
 *   stdout  the drawing, a temporary file that takes its name when it is complete
 */
#define _GNU_SOURCE /* mkostemp */
#include "report/chart.h"

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

/* ARG1 and ARG2, title and axis label, have one character before them: gnuplot takes
 * arguments such as --version for itself. */
static const char script[] =
    "set encoding utf8\n"
    "width = int(ARG3)\n"
    "last = int(ARG4) + 1\n"
    "if (ARG5 eq 'png') set terminal png size width,480 font ',11'\n"
    "if (ARG5 eq 'svg') set terminal svg size width,480 dynamic font 'sans-serif,13' "
    "background '#ffffff'\n"
    "if (ARG6 eq 'below zero') set xzeroaxis lt 1 lc rgb '#555555'\n"
    "if (ARG6 eq 'from zero') set yrange [0:*]\n"
    "set title substr(ARG1, 2, strlen(ARG1)) noenhanced\n"
    "set ylabel substr(ARG2, 2, strlen(ARG2)) noenhanced\n"
    "set style data histogram\n"
    "set style histogram clustered gap 1\n"
    "set style fill solid 0.9 noborder\n"
    "set boxwidth 0.9\n"
    "set grid ytics lc rgb '#dddddd'\n"
    "set border 3 lc rgb '#555555'\n"
    "set tics nomirror\n"
    "set key outside top center horizontal noenhanced\n"
    "set xtics rotate by -30 noenhanced\n"
    "set datafile missing 'NaN'\n"
    "set datafile separator '\\t'\n"
    "set datafile commentschars ''\n"
    "array color[6] = ['#4477aa', '#ee6677', '#228833', '#ccbb44', '#66ccee', "
    "'#aa3377']\n"
    "plot for [i=2:last] '/dev/stdin' using i:xtic(1) title columnheader(i) "
    "lc rgb color[1 + (i - 2) % 6]\n";

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

/* A row a group, below the names of the series. */
static void
table(FILE *f, const struct chart *c)
{
    cell(f, "name");
    for (size_t s = 0; s < c->nseries; s++) {
        fputc('\t', f);
        cell(f, c->series[s]);
    }
    fputc('\n', f);
    for (size_t g = 0; g < c->ngroups; g++) {
        cell(f, c->groups[g]);
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

/* Runs gnuplot; its exit status, 127: it did not start, -1: no process. */
static int
run_gnuplot(const char *const argv[], int script_fd, int data_fd, int out_fd)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return -1;
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
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static int
draw(const struct chart *c, bool png, int out_fd)
{
    size_t width = 240 + 30 * c->ngroups * (c->nseries + 1);
    char pixels[24], columns[24], from[32];
    snprintf(pixels, sizeof pixels, "%zu",
             width < 640    ? 640
             : width > 2400 ? 2400
                            : width);
    snprintf(columns, sizeof columns, "%zu", c->nseries);
    snprintf(from, sizeof from, "/dev/fd/%d", SCRIPT_FD);
    FILE *commands = tmpfile(), *data = tmpfile();
    if (commands)
        fputs(script, commands);
    if (data)
        table(data, c);
    commands = ready(commands);
    data = ready(data);
    char *title = argument(c->title), *ylabel = argument(c->ylabel);
    /* -d: nothing of ~/.gnuplot */
    const char *const argv[] = {"gnuplot",
                                "-d",
                                "-c",
                                from,
                                title,
                                ylabel,
                                pixels,
                                columns,
                                png ? "png" : "svg",
                                c->below_zero ? "below zero" : "from zero",
                                NULL};
    int status =
        commands && data ? run_gnuplot(argv, fileno(commands), fileno(data), out_fd) : -1;
    free(title);
    free(ylabel);
    if (commands)
        fclose(commands);
    if (data)
        fclose(data);
    return status;
}

/* gnuplot leaves ">" in texts as it is, which XML forbids after "]]". It writes no CDATA
 * section of its own here. */
static bool
repair_svg(const char *path)
{
    char *text = file_read(path, NULL), *at = text, *end;
    bool ok = text;
    if (text && strstr(text, "]]>")) {
        FILE *f = fopen(path, "we");
        for (; f && (end = strstr(at, "]]>")); at = end + 3)
            fprintf(f, "%.*s]]&gt;", (int)(end - at), at);
        ok = f && fputs(at, f) >= 0;
        if (f)
            ok = !fclose(f) && ok;
    }
    free(text);
    return ok;
}

bool
chart_write(const struct chart *c, const char *path, struct diag_sink *diag)
{
    size_t n = strlen(path);
    bool png = n > 4 && !strcmp(path + n - 4, ".png");
    if (!png && !(n > 4 && !strcmp(path + n - 4, ".svg")))
        return diag_error(diag, "chart file %s: the name must end in .svg or .png", path);
    char *tmp = xmalloc(n + 8);
    sprintf(tmp, "%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0) {
        diag_error(diag, "cannot write %s: %s", path, strerror(errno));
        free(tmp);
        return false;
    }
    fchmod(fd, 0644);
    int status = draw(c, png, fd);
    close(fd);
    bool ok = status == 0 && (png || repair_svg(tmp)) && !rename(tmp, path);
    if (!ok) {
        unlink(tmp);
        if (status == 127)
            diag_error(diag,
                       "charts need gnuplot, which is not installed (Debian package "
                       "gnuplot-nox)");
        else
            diag_error(diag, "could not draw %s (gnuplot ended with status %d)", path,
                       status);
    }
    free(tmp);
    return ok;
}
