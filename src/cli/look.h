/* look.h: what run and exec show of launches beside the table: --why, --trace, --timeline. */
#ifndef ALLOT_CLI_LOOK_H
#define ALLOT_CLI_LOOK_H

#include "cli/cli.h"

struct cli_look {
    bool why, timeline_sms;
    const char *trace, *from, *to, *limit, *timeline, *every;
};
#define CLI_LOOK_DEFAULTS                                                                \
    {                                                                                    \
        .every = "1000", .from = "0", .limit = "400000"                                  \
    }
/* Rows of a command's options. */
#define CLI_LOOK_OPTIONS(l)                                                              \
    {"why", 0, NULL, "issue slots by what kept them from issuing", NULL, NULL,           \
     &(l)->why},                                                                         \
    {"trace", 0, "FILE.json", "blocks, warps, units, L2, DRAM over time, for Perfetto",  \
     &(l)->trace, NULL, NULL},                                                           \
    {"trace-from", 0, "CYCLE", "... of each launch from this core cycle on (default 0)", \
     &(l)->from, NULL, NULL},                                                            \
    {"trace-to", 0, "CYCLE", "... and before this one (default: to its end)", &(l)->to,  \
     NULL, NULL},                                                                        \
    {"trace-limit", 0, "N", "... at most so many events (default 400000, about 40 MB)",  \
     &(l)->limit, NULL, NULL},                                                           \
    {"timeline", 0, "FILE.csv", "what every counter grew by, each so many cycles",       \
     &(l)->timeline, NULL, NULL},                                                        \
    {"timeline-cycles", 0, "N", "... (default 1000)", &(l)->every, NULL, NULL},          \
    {                                                                                    \
        "timeline-sms", 0, NULL, "... and of each SM", NULL, NULL, &(l)->timeline_sms    \
    }
/* Checks them and fills their part of o: EXIT_OK, or the status after saying what is wrong. */
int cli_look_check(const struct cli_cmd *cmd, const struct cli_look *l, bool functional,
                   struct allot_options *o);
/* Writes the files that were asked for; false after saying what is wrong. */
bool cli_look_write(const struct cli_look *l, const struct allot_device *dev);

#endif
