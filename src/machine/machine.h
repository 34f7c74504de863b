/* machine.h: the description of a GPU.
 *
 * struct machine is made from settings.def (and the latency classes of
 * ptx/latencies.def): one nested struct per group, one field per row, so that
 * m->sm.count, m->dram.tRCD and m->latency[PTX_LAT_INT_ADD].cycles are what a machine
 * file says. Settings that are one of a few words are enums. Strings belong to the
 * machine. Copy with machine_clone only. */
#ifndef ALLOT_MACHINE_MACHINE_H
#define ALLOT_MACHINE_MACHINE_H

#include "allot/types.h"
#include "base/arena.h"
#include "base/diag.h"
#include "ptx/opcode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Result latency in cycles, and cycles until the pipeline takes the next warp
 * instruction. */
struct machine_latency {
    uint32_t cycles, interval;
};

/* Settings that are one of a few words: enum machine_cache_hash and so on, and the words
 * of machine files, as machine_words_cache_hash[CACHE_LINEAR]. */
#define WORD(id, text) id,
#define CHOICE(words, list) enum machine_##words{list};
#include "machine/settings.def"
#undef WORD
#define CHOICE(words, list) extern const char *const machine_words_##words[];
#include "machine/settings.def"

struct machine {
#define GROUP(name, meaning) struct {
#define INT(name, def, min, max, unit, meaning) uint32_t name;
#define NUM(name, def, min, max, unit, meaning) double name;
#define BOOL(name, def, meaning) bool name;
#define STR(name, def, meaning) const char *name;
#define ENUM(name, def, words, meaning) enum machine_##words name;
#define POLICY(name, def, folder, meaning) const char *name;
#define ENDGROUP(name)                                                                   \
    }                                                                                    \
    name;
#include "machine/settings.def"
    struct machine_latency latency[PTX_NLATENCIES]; /* by enum ptx_latency */

    const char *name; /* preset's name, or stem of the file; "default" */
    const char *file; /* where it was read from; NULL: built in */
    struct arena mem; /* owns the strings */
};

/* The defaults of settings.def. Never NULL; release with machine_free. */
struct machine *machine_new(void);

/* A preset's name ("gtx480") or a path (anything with a slash or ending in .yaml/.yml).
 * Presets are searched in $ALLOT_MACHINES (colon-separated folders), the installed data
 * folder, the source tree. The file's `base:` is loaded first, then overlaid. Ends with
 * machine_check. NULL and diagnostics on failure. */
struct machine *machine_load(const char *name_or_path, struct diag_sink *diag);
/* The same from a text in memory; `file` is what diagnostics call it. */
struct machine *machine_parse(const char *file, const char *text, size_t len,
                              struct diag_sink *diag);
struct machine *machine_clone(const struct machine *m);
void machine_free(struct machine *m);

/* One setting by dotted path: "sm.count", "latency.int_add" ("4,1" or "4 1"). Checks type
 * and bounds; what concerns several settings is left to machine_check, so that several
 * can be changed one after another. */
bool machine_set(struct machine *m, const char *path, const char *value,
                 struct diag_sink *diag);
/* Value as text (machine_set takes it back) into buf, cut to n-1 characters. False: there
 * is no such path. */
bool machine_get(const struct machine *m, const char *path, char *buf, size_t n);

/* What must hold between settings (powers of two, address map, sizes). Adds one error per
 * violation. */
bool machine_check(const struct machine *m, struct diag_sink *diag);

/* Checks every POLICY setting against the registries, which live in folders below this
 * one: name_at(user, folder, i) gives the i-th policy name of timing/FOLDER, NULL past
 * the last. */
bool machine_check_policies(const struct machine *m,
                            const char *(*name_at)(void *user, const char *folder,
                                                   size_t i),
                            void *user, struct diag_sink *diag);

/* Equal for machines whose settings are equal; the descriptive gpu.name and gpu.source do
 * not count, nor does the group functional, which is no part of the GPU. Does not depend
 * on the order of rows, the host or the file's style. */
uint64_t machine_hash(const struct machine *m);

/* The whole machine as a YAML text that machine_parse takes back, comments with units. */
void machine_print(const struct machine *m, struct strbuf *out);

/* Setting i (latencies last), from 0 while true is returned. Strings are static. */
bool machine_setting(size_t i, struct allot_setting_info *info);
/* docs/settings.md from the rows. */
void machine_docs(struct strbuf *out);

/* Names of the presets found, sorted, each once; NULL-terminated; malloc'd, with the
 * array. */
char **machine_names(void);

#endif
