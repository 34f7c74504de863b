/* run_program.c: a row that is a CUDA program: its key before it runs, and its record.
 *
 * What it launches is known only afterwards. So the key covers the program's file, its
 * arguments, and those files that the experiment says it reads (`files:`), by contents. */
#include "experiments/run.h"

#include "base/hash.h"
#include "base/json.h"
#include "program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only what has an end: an experiment may come from anyone and name a device or a pipe. */
static bool
hash_file(struct hash *h, const char *path, struct diag_sink *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    char block[1 << 14];
    ssize_t n = -1;
    bool there = fd >= 0 && !fstat(fd, &st), regular = there && S_ISREG(st.st_mode);
    while (regular && (n = read(fd, block, sizeof block)) > 0)
        hash_bytes(h, block, (size_t)n);
    if (n < 0)
        diag_error(diag, "the program's file %s cannot be read: %s", path,
                   there && !regular ? "it is no regular file" : strerror(errno));
    if (fd >= 0)
        close(fd);
    return n == 0;
}

bool
run_program_hash(const struct exp_run *r, char out[33], struct diag_sink *diag)
{
    struct hash h = hash_start();
    struct arena mem = {0};
    struct strbuf why = {0};
    const char *path = program_find(r->workload, r->folder, &mem, &why);
    bool ok = path && hash_file(&h, path, diag);
    if (!path)
        diag_error(diag, "the program: %s", why.s);
    for (size_t i = 0; ok && i < r->nparams; i++) {
        const char *text = r->params[i], *file = text + 5;
        if (strncmp(text, "file=", 5) && strncmp(text, "arg=", 4)) {
            ok = diag_error(diag, "a program has no parameters, only arguments: '%s'",
                            text);
            break;
        }
        hash_text(&h, text);
        if (!strncmp(text, "file=", 5))
            ok = hash_file(&h,
                           *file == '/' || !r->folder
                               ? file
                               : arena_printf(&mem, "%s/%s", r->folder, file),
                           diag);
    }
    hash_hex(&h, out);
    strbuf_free(&why);
    arena_free(&mem);
    return ok;
}

/* Why it counts as failed, and the end of what it said; "": it does not. */
static void
explain(const struct program_result *r, struct strbuf *b)
{
    struct arena mem = {0};
    const char *failure = program_failure(r, &mem);
    if (failure)
        strbuf_addz(b, failure);
    else if (!json_array_size(r->all))
        strbuf_addz(b, "it launched no kernel");
    if (b->n && r->said)
        strbuf_printf(b, "; the end of its standard error:\n%s", r->said);
    arena_free(&mem);
}

json_t *
run_program(const struct exp_run *r, const char *token, const struct allot_machine *m)
{
    char started[24], cycles[24];
    struct arena mem = {0};
    struct strbuf why = {0};
    struct program_result result;
    const char **settings = ARENA_ARRAY(&mem, const char *, r->nsettings + 1),
               **argv = ARENA_ARRAY(&mem, const char *, r->nparams + 2);
    size_t n = 0, words = 0;
    for (; n < r->nsettings; n++)
        settings[n] = r->settings[n];
    if (*r->passes)
        settings[n++] = arena_printf(&mem, "compiler.passes=%s", r->passes);
    argv[words++] = r->workload;
    for (size_t i = 0; i < r->nparams; i++)
        if (!strncmp(r->params[i], "arg=", 4))
            argv[words++] = r->params[i] + 4;
    snprintf(cycles, sizeof cycles, "%llu", (unsigned long long)r->max_cycles);
    const struct program_setup setup = {.machine = r->machine,
                                        .settings = settings,
                                        .nsettings = n,
                                        .threads = 1,
                                        .max_cycles = r->max_cycles ? cycles : NULL,
                                        .all = true,
                                        .discard = true,
                                        .capture = true,
                                        .folder = r->folder};
    run_now(started);
    bool ran = program_run(&setup, (char *const *)argv, &result, &why);
    if (ran)
        explain(&result, &why);
    json_t *rec = run_record(r, token, started, result.seconds, m, NULL, ran && !why.n,
                             why.s ? why.s : "");
    if (ran) {
        json_object_set_new(rec, "ptx_hash", json_text(program_ptx_hash(&result, &mem)));
        json_object_set_new(rec, "launches", program_launches(&result));
    }
    program_result_free(&result);
    strbuf_free(&why);
    arena_free(&mem);
    return rec;
}
