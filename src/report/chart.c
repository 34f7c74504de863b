/* chart.c: feeds gnuplot (a Debian package) with a script on its standard input; it draws
 * into a temporary file that takes its name when it is complete. */
#include "report/chart.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* gnuplot string literal in double quotes. */
static void
quote(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', f);
        fputc((unsigned char)*s < 32 ? ' ' : *s, f);
    }
    fputc('"', f);
}

static void
script(FILE *f, const struct chart *c, const char *out, bool png)
{
    int width = 240 + 30 * (int)(c->ngroups * (c->nseries + 1));
    if (width < 640)
        width = 640;
    if (width > 2400)
        width = 2400;
    fprintf(f,
            png ? "set terminal png size %d,480 font ',11'\n"
                : "set terminal svg size %d,480 dynamic font 'sans-serif,13' "
                  "background '#ffffff'\n",
            width);
    fprintf(f, c->below_zero ? "set xzeroaxis lt 1 lc rgb '#555555'\n"
                             : "set yrange [0:*]\n");
    fprintf(f, "set output ");
    quote(f, out);
    fprintf(f, "\nset encoding utf8\nset title ");
    quote(f, c->title);
    fprintf(f, " noenhanced\nset ylabel ");
    quote(f, c->ylabel);
    fprintf(
        f, " noenhanced\nset style data histogram\nset style histogram clustered gap 1\n"
           "set style fill solid 0.9 noborder\nset boxwidth 0.9\nset grid ytics lc rgb "
           "'#dddddd'\nset border 3 lc rgb '#555555'\nset tics nomirror\nset key outside "
           "top center horizontal noenhanced\nset xtics rotate by -30 noenhanced\n"
           "set datafile missing 'NaN'\n$data << EOD\nname");
    for (size_t s = 0; s < c->nseries; s++) {
        fputc('\t', f);
        quote(f, c->series[s]);
    }
    fputc('\n', f);
    for (size_t g = 0; g < c->ngroups; g++) {
        quote(f, c->groups[g]);
        for (size_t s = 0; s < c->nseries; s++) {
            double v = c->value[g * c->nseries + s];
            if (isfinite(v))
                fprintf(f, "\t%.9g", v);
            else
                fprintf(f, "\tNaN");
        }
        fputc('\n', f);
    }
    fprintf(f,
            "EOD\nset datafile separator '\\t'\n"
            "array color[6] = ['#4477aa', '#ee6677', '#228833', '#ccbb44', '#66ccee', "
            "'#aa3377']\n"
            "plot for [i=2:%zu] $data using i:xtic(1) title columnheader(i) "
            "lc rgb color[1 + (i - 2) %% 6]\n",
            c->nseries + 1);
}

/* Runs gnuplot with f's contents as its script; its exit status, -1: did not start. */
static int
run_gnuplot(FILE *f)
{
    fflush(f);
    rewind(f);
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0) {
        if (dup2(fileno(f), STDIN_FILENO) < 0)
            _exit(127);
        lseek(STDIN_FILENO, 0, SEEK_SET);
        setenv("LC_ALL", "C.UTF-8",
               1); /* else it warns of signs that it cannot convert */
        execlp("gnuplot", "gnuplot", "-", (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
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
    int fd = mkstemp(tmp);
    if (fd < 0) {
        diag_error(diag, "cannot write %s: %s", path, strerror(errno));
        free(tmp);
        return false;
    }
    fchmod(fd, 0644);
    close(fd);
    FILE *f = tmpfile();
    int status = -1;
    if (f) {
        script(f, c, tmp, png);
        status = run_gnuplot(f);
        fclose(f);
    }
    bool ok = status == 0 && !rename(tmp, path);
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
