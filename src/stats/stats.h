/* stats.h: the counters of a launch. Everything here is made from stats.def.
 *
 * The timing model increments plain fields: s->warp_instructions++ on its own struct
 * stat_sm, stat_mem or stat_gpu. At the end the instances are merged into a struct
 * launch_stats, whose values are what is reported. */
#ifndef ALLOT_STATS_STATS_H
#define ALLOT_STATS_STATS_H

#include "allot/types.h"
#include "base/diag.h"
#include "base/str.h"
#include "stats/causes.def"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DERIVED(id, unit, meaning, expression)
#define IDENTITY(left, right, meaning)
#define STAT(owner, id, kind, unit, meaning) STAT_OF_##owner(id)

/* The launch as a whole: one instance. */
struct stat_gpu {
#define STAT_OF_gpu(id) uint64_t id;
#define STAT_OF_sm(id)
#define STAT_OF_mem(id)
#include "stats/stats.def"
#undef STAT_OF_gpu
#undef STAT_OF_sm
};

/* One SM. */
struct stat_sm {
#define STAT_OF_gpu(id)
#define STAT_OF_sm(id) uint64_t id;
#include "stats/stats.def"
#undef STAT_OF_sm
#undef STAT_OF_mem
};

/* One L2 slice with its share of the DRAM channel. */
struct stat_mem {
#define STAT_OF_sm(id)
#define STAT_OF_mem(id) uint64_t id;
#include "stats/stats.def"
#undef STAT_OF_gpu
#undef STAT_OF_sm
#undef STAT_OF_mem
};
#undef STAT

/* Position of every counter in tables and outputs: STAT_cycles, ... */
enum stat_id {
#define STAT(owner, id, kind, unit, meaning) STAT_##id,
#include "stats/stats.def"
#undef STAT
    STAT_COUNTERS,
};
#undef DERIVED
#undef IDENTITY

/* What is counted for each instruction of a kernel (lines.def): LINE_issue_used, ...; the
 * causes first, in their order. */
enum line_id {
#define CAUSE(id, word, meaning) LINE_issue_##id,
    ISSUE_CAUSES(CAUSE, CAUSE)
#undef CAUSE
#define LINE(id) LINE_##id,
#include "stats/lines.def"
#undef LINE
        LINE_COUNTS
};
struct line_counts {
    uint64_t v[LINE_COUNTS];
};
/* Name of the counter, and where it lies in struct stat_sm. */
const char *stats_line_id(enum line_id i);
size_t stats_line_offset(enum line_id i);

/* Values of a launch, summed over SMs and slices (MAX counters: the largest). */
struct launch_stats {
    struct stat_gpu gpu;
    struct stat_sm sm;
    struct stat_mem mem;
};

/* Adds one instance to the sums. Start from a zeroed launch_stats. */
void stats_add_gpu(struct launch_stats *t, const struct stat_gpu *s);
void stats_add_sm(struct launch_stats *t, const struct stat_sm *s);
void stats_add_mem(struct launch_stats *t, const struct stat_mem *s);
/* Adds another launch: COUNT summed, MAX the larger. */
void stats_add(struct launch_stats *t, const struct launch_stats *s);
/* Takes an earlier state of the launch away: COUNT as differences (modulo 2^64), MAX
 * kept.
 */
void stats_subtract(struct launch_stats *t, const struct launch_stats *earlier);

/* Every identity of stats.def; one error for each that does not hold, with the value of
 * both sides and of every counter in it. */
bool stats_check(const struct launch_stats *t, struct diag_sink *diag);

/* Counter or derived value by id; false: none of that id. Counters are exact in *count (0
 * for derived values). Either pointer may be NULL. */
bool stats_get(const struct launch_stats *t, const char *id, uint64_t *count,
               double *value);
/* Counter by position. */
uint64_t stats_at(const struct launch_stats *t, enum stat_id i);

/* Sets a counter by id, as when a stored launch is read back; false: no such counter. */
bool stats_set(struct launch_stats *t, const char *id, uint64_t v);

/* Counters, then derived values: i from 0 while true is returned. Strings are static. */
bool stats_info(size_t i, struct allot_stat_info *info);
/* Position in stats_info's order, or -1. */
int stats_find(const char *id);

/* Text table of everything that is not zero (all: of everything). */
void stats_text(const struct launch_stats *t, bool all, struct strbuf *out);
/* {"cycles": 1234, ..., "ipc": 12.5}; the caller owns the reference. */
json_t *stats_json(const struct launch_stats *t);
/* CSV: names, respectively values, comma-separated, no line end. */
void stats_csv_header(struct strbuf *out);
void stats_csv_row(const struct launch_stats *t, struct strbuf *out);
/* docs/counters.md. */
void stats_docs(struct strbuf *out);

#endif
