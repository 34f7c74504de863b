/* ptxas.c: asks ptxas for a kernel's registers and reads what it prints with -v. */
#include "runtime/ptxas.h"

#include "ptx/print.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { OLDEST_SM = 75, NOT_STARTED = -1 }; /* of CUDA 13 */

/* Runs ptxas on `text` for sm_`sm`; its output of both kinds goes to `said`. Its exit
 * status, NOT_STARTED: there is none. */
static int
run(FILE *text, const char *name, unsigned sm, struct strbuf *said)
{
    char arch[32];
    snprintf(arch, sizeof arch, "-arch=sm_%u", sm);
    const char *const argv[] = {"ptxas", "-v",         "-O3", arch,        "--entry",
                                name,    "/dev/stdin", "-o",  "/dev/null", NULL};
    FILE *out = tmpfile();
    posix_spawn_file_actions_t files;
    if (!out || posix_spawn_file_actions_init(&files)) {
        if (out)
            fclose(out);
        return NOT_STARTED;
    }
    pid_t pid;
    int status = NOT_STARTED;
    rewind(text);
    if (!posix_spawn_file_actions_adddup2(&files, fileno(text), STDIN_FILENO) &&
        !posix_spawn_file_actions_adddup2(&files, fileno(out), STDOUT_FILENO) &&
        !posix_spawn_file_actions_adddup2(&files, fileno(out), STDERR_FILENO) &&
        !posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)argv, environ)) {
        int s = 0;
        while (waitpid(pid, &s, 0) < 0 && errno == EINTR)
            ;
        status = WIFEXITED(s) ? WEXITSTATUS(s) : 128;
        char buf[4096];
        size_t n;
        rewind(out);
        while ((n = fread(buf, 1, sizeof buf, out)) > 0)
            strbuf_add(said, buf, n);
    }
    posix_spawn_file_actions_destroy(&files);
    fclose(out);
    strbuf_addz(said, "");
    return status;
}

/* The number behind "Used" in what is said of the kernel; false: nothing is. */
static bool
find(const char *said, const char *name, uint32_t *registers)
{
    size_t n = strlen(name);
    for (const char *p = said; (p = strstr(p, "Compiling entry function '"));) {
        p = strchr(p, '\'') + 1;
        if (strncmp(p, name, n) || p[n] != '\'')
            continue;
        const char *used = strstr(p, ": Used "), *next = strstr(p, "Compiling entry");
        return used && (!next || used < next) &&
               sscanf(used, ": Used %u registers", registers) == 1;
    }
    return false;
}

bool
ptxas_registers(const struct ptx_module *m, const char *name, unsigned sm,
                uint32_t *registers, struct diag_sink *diag)
{
    struct strbuf ptx = {0}, said = {0};
    FILE *text = tmpfile();
    ptx_print(m, &ptx);
    bool ok = text && fwrite(ptx.s, 1, ptx.n, text) == ptx.n && !fflush(text);
    if (!ok)
        diag_error(diag, "ptxas: cannot write a temporary file: %s", strerror(errno));
    int status = ok ? run(text, name, sm, &said) : NOT_STARTED;
    if (status > 0 && sm < OLDEST_SM && strstr(said.s, "gpu-name")) {
        said.n = 0;
        status = run(text, name, OLDEST_SM, &said);
    }
    if (ok && status == NOT_STARTED) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL, "there is no ptxas in the PATH");
        diag_hint(diag, d,
                  "install it, or count the registers that allot hands out: "
                  "--registers allocated");
        ok = false;
    } else if (ok && status) {
        char line[200];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(said.s, "\n"), said.s);
        ok = diag_error(diag, "ptxas refuses the kernel's PTX: %s", line);
    } else if (ok && !find(said.s, name, registers)) {
        ok = diag_error(diag, "ptxas does not say how many registers '%s' has", name);
    }
    if (text)
        fclose(text);
    strbuf_free(&ptx);
    strbuf_free(&said);
    return ok;
}
