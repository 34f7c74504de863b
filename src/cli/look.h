/* look.h: what run and exec show of launches beside the table: --why, --trace, --timeline. */
#ifndef ALLOT_CLI_LOOK_H
#define ALLOT_CLI_LOOK_H

#include "cli/cli.h"

#include <jansson.h>

struct cli_look {
    bool why, by_line, timeline_sms;
    const char *lines, *trace, *from, *to, *limit, *timeline, *every;
};
#define CLI_LOOK_DEFAULTS                                                                \
    {                                                                                    \
        .every = "1000", .from = "0", .limit = "400000"                                  \
    }
/* Rows of a command's options. */
#define CLI_LOOK_OPTIONS(l)                                                               \
    {                                                                                     \
        "why", 0,    NULL,     "issue slots by what kept them from issuing",              \
        NULL,  NULL, &(l)->why},                                                          \
        {"by-line", 0,    NULL,         "... by line of the source, and of the PTX",      \
         NULL,      NULL, &(l)->by_line},                                                 \
        {"lines",     0,    "FILE", "... as .csv, .json, .callgrind or .speedscope.json", \
         &(l)->lines, NULL, NULL},                                                        \
        {"trace",     0,                                                                  \
         "FILE.json", "blocks, warps, units, L2, DRAM over time, for Perfetto",           \
         &(l)->trace, NULL,                                                               \
         NULL},                                                                           \
        {"trace-from", 0,                                                                 \
         "CYCLE",      "... of each launch from this core cycle on (default 0)",          \
         &(l)->from,   NULL,                                                              \
         NULL},                                                                           \
        {"trace-to", 0,    "CYCLE", "... and before this one (default: to its end)",      \
         &(l)->to,   NULL, NULL},                                                         \
        {"trace-limit", 0,                                                                \
         "N",           "... at most so many events (default 400000, about 40 MB)",       \
         &(l)->limit,   NULL,                                                             \
         NULL},                                                                           \
        {"timeline",                                                                      \
         0,                                                                               \
         "FILE.csv",                                                                      \
         "what every counter grew by, each so many cycles",                               \
         &(l)->timeline,                                                                  \
         NULL,                                                                            \
         NULL},                                                                           \
        {"timeline-cycles", 0, "N", "... (default 1000)", &(l)->every, NULL, NULL},       \
    {                                                                                     \
        "timeline-sms", 0, NULL, "... and of each SM", NULL, NULL, &(l)->timeline_sms     \
    }
/* Checks them and fills their part of o: EXIT_OK, or the status after saying what is wrong. */
int cli_look_check(const struct cli_cmd *cmd, const struct cli_look *l, bool functional,
                   struct allot_options *o);
/* Whether counters by instruction are asked for. */
static inline bool
cli_look_lines(const struct cli_look *l)
{
    return l->by_line || l->lines;
}
/* Shows them, if they are asked for, of launches that are JSON objects with "name" and "lines"
 * (reference taken over): the table on f, and the file. False after saying what is
 * wrong. */
bool cli_look_show_lines(const struct cli_look *l, FILE *f, json_t *launches);
/* Writes the files that were asked for, and tables on `show`; false after saying what is wrong. */
bool cli_look_write(const struct cli_look *l, const struct allot_device *dev, FILE *show);

#endif
