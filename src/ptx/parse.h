/* parse.h: PTX text to IR. */
#ifndef ALLOT_PTX_PARSE_H
#define ALLOT_PTX_PARSE_H

#include "ptx/ir.h"

/* Parses len bytes of PTX (any bytes; a NUL ends the text). `file` is the name for
 * messages. Returns a module the caller frees with ptx_module_free. Accepts PTX ISA 1.4
 * and later, with a warning where the version is newer than any tested.
 *
 * Errors in the body of a function are kept with that function (ptx/fault.h), and nothing is
 * reported. NULL, and every error of the text in `diag`, if there are others, or if no kernel
 * is without (in a text without kernels: no function). */
struct ptx_module *ptx_parse(const char *file, const char *text, size_t len,
                             struct diag_sink *diag);
/* The same for a part of a module: it may be that all its kernels have errors. */
struct ptx_module *ptx_parse_part(const char *file, const char *text, size_t len,
                                  struct diag_sink *diag);

/* The same for a file; "-" is standard input. */
struct ptx_module *ptx_parse_file(const char *path, struct diag_sink *diag);

/* A second module equal to m, with the same places in the source (those of m's text,
 * whatever passes have done since). NULL and a diagnostic if what m prints does not
 * parse. `kernel` not NULL: for that kernel alone. The bodies of others are left out; and
 * they themselves, unless there are functions: these have numbers, and may name kernels.
 */
struct ptx_module *ptx_copy(const struct ptx_module *m, const char *kernel,
                            struct diag_sink *diag);

#endif
