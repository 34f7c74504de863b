/* exec_json.c: see exec_json.h. This command runs itself: the program cannot be run twice in
 * one process, and a process of its own keeps its faults apart. */
#define _GNU_SOURCE
#include "cli/exec_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Status as of a shell; -1: it did not start. */
static int
run(const char *const *argv)
{
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0)
            dup2(null, STDOUT_FILENO);
        execv("/proc/self/exe", (char *const *)argv);
        _exit(127);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

json_t *
cli_exec_json(const struct cli_sim *s, const char *const *words,
              const char *const *settings, size_t nsettings)
{
    const char *tmp = getenv("TMPDIR");
    char *path =
        arena_printf(cli_mem(), "%s/allot-json-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "allot: cannot make %s: %s\n", path, strerror(errno));
        return NULL;
    }
    close(fd);
    size_t nwords = 0, n = 0;
    while (words[nwords])
        nwords++;
    const char **argv = ARENA_ARRAY(cli_mem(), const char *, 24 + 2 * nsettings + nwords);
    const struct {
        const char *option, *value;
    } given[] = {{"--json", path},
                 {"--machine", s->machine},
                 {"--threads", s->threads},
                 {"--max-cycles", s->max_cycles},
                 {"--max-instructions", s->max_instructions},
                 {"--guard", s->guard}};
    argv[n++] = "allot";
    argv[n++] = "exec";
    argv[n++] = "--no-table";
    if (s->no_skip)
        argv[n++] = "--no-skip";
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value) {
            argv[n++] = given[i].option;
            argv[n++] = given[i].value;
        }
    for (size_t i = 0; i < nsettings; i++) {
        argv[n++] = "--set";
        argv[n++] = settings[i];
    }
    argv[n++] = "--";
    memcpy(argv + n, words, (nwords + 1) * sizeof *words);
    int status = run(argv);
    json_t *o = status < 0 ? NULL : json_load_file(path, 0, NULL);
    unlink(path);
    if (!o)
        fprintf(stderr, "allot: %s did not run (status %d)\n", words[0], status);
    return o;
}
