/* checks.c: --check: which checks for kernels, and what came of them. */
#include "base/near.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} checks[] = {{"race", ALLOT_CHECK_RACE},
              {"init", ALLOT_CHECK_INIT},
              {"sync", ALLOT_CHECK_SYNC},
              {"all", ALLOT_CHECK_RACE | ALLOT_CHECK_INIT | ALLOT_CHECK_SYNC}};
enum { CHECKS = sizeof checks / sizeof *checks };

bool
cli_check(const struct cli_cmd *cmd, struct cli_sim *s)
{
    for (const char *p = s->check; p;) {
        size_t n = strcspn(p, ",");
        const char *word = arena_strndup(cli_mem(), p, n);
        struct near near = {.word = word};
        unsigned bit = 0;
        for (size_t i = 0; i < CHECKS; i++) {
            near_offer(&near, checks[i].name);
            bit |= strcmp(checks[i].name, word) ? 0 : checks[i].bit;
        }
        if (!bit)
            return cli_usage(cmd, "--check %s: the checks are race, init, sync and all%s",
                             word, cli_did_you_mean("", near.best)),
                   false;
        s->checks |= bit;
        p = p[n] ? p + n + 1 : NULL;
    }
    s->functional |= s->checks != 0;
    return true;
}

bool
cli_check_end(const struct cli_sim *s, uint64_t findings, bool complete)
{
    const char *rest =
        complete ? "" : "; a launch failed, the rest of it was not checked";
    if (s->checks && findings)
        fprintf(stderr, "allot: --check %s: %llu finding%s%s\n", s->check,
                (unsigned long long)findings, findings == 1 ? "" : "s", rest);
    else if (s->checks && !complete)
        fprintf(stderr,
                "allot: --check %s: a launch failed (above), the rest of it was not "
                "checked\n",
                s->check);
    else if (s->checks)
        fprintf(stderr, "allot: --check %s: nothing found\n", s->check);
    return !findings;
}
