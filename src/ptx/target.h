/* target.h: which targets and versions of PTX have an instruction. */
#ifndef PTX_TARGET_H
#define PTX_TARGET_H

#include "ptx/ir.h"

struct diag_sink;

/* The first target, 80 for sm_80, and version, 704 for 7.4, that have this instruction of f: 20 and
 * 203 where no row of target.def says more. Pseudo instructions, those of papers, and those that
 * are refused (ptx_first_target) have no rows. */
struct ptx_since {
    uint16_t sm, version;
};
struct ptx_since ptx_since(const struct ptx_func *f, const struct ptx_inst *in);

/* Whether the module's .target and .version have it. Where not, *why (malloc'd; may be NULL) says
 * what it needs: "needs .target sm_80 or later, and the file has sm_75". */
bool ptx_target_has(const struct ptx_module *m, const struct ptx_func *f,
                    const struct ptx_inst *in, char **why);

/* The first instruction of f that the module's target or version lacks; NULL: none. */
const struct ptx_inst *ptx_target_lacks(const struct ptx_module *m,
                                        const struct ptx_func *f);

/* A warning for the first such instruction of f. False: there is none. */
bool ptx_target_warn(const struct ptx_func *f, struct diag_sink *diag);

#endif
