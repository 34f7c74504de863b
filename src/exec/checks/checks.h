/* checks.h: what the checks for kernels share (exec_checks of exec.h): a finding, and what
 * is kept of a block under way. Private to src/exec/checks. */
#ifndef ALLOT_EXEC_CHECKS_CHECKS_H
#define ALLOT_EXEC_CHECKS_CHECKS_H

#include "exec/observer.h"
#include "exec/ops/exec_mem.h"

enum {
    CHECK_WORDS = 8,
    CHECK_WARPS = 32
}; /* most words of a lane's access; of a block */

/* A thread: its block and its number there. */
struct check_who {
    uint32_t block, thread;
};

struct finding {
    uint64_t kernel; /* hash of its name */
    uint32_t pc, other_pc;
    uint8_t which, kind; /* enum exec_checked; the check's own */
    uint8_t group;       /* kinds that are told of as one */
    /* Of races: the other access is the store; between blocks; some between warps. */
    bool other_stores, across_blocks, wide;
    uint64_t count;
    bool told;
    /* of the first one */
    struct check_who who, other;
    uint64_t addr;
    uint8_t space, bytes;
    uint32_t detail;
};

/* finding.which: beside enum exec_checked's */
enum { CHECK_BOUNDS = 128 };

struct race_shadow;
struct exec_checks {
    unsigned which;      /* enum exec_checked, or-ed */
    bool lockstep;       /* lanes of a warp execute together: before Volta */
    struct exec_grid *g; /* under way */
    uint64_t kernel;
    VEC(struct finding) found;
    struct race_shadow *race; /* of global memory, in this launch */
    uint8_t *tells;           /* by pc: may it tell others of what was done before? */
    /* of the instruction about to be executed */
    bool known; /* `access` is filled */
    struct exec_access access;
    uint32_t old[LANES][CHECK_WORDS];
    bool masks; /* `mask` is filled: member masks as the lanes give them */
    uint32_t mask[LANES];
};

/* Registers of a warp's matrix products (wgmma) that have not been waited for. */
struct check_product {
    uint16_t reg;
    bool result; /* of D; else of A, which may be read */
    uint32_t group, pc;
};
struct check_products {
    VEC(struct check_product) reg;
    uint32_t groups; /* committed */
};

/* Of a block, in exec_cta.priv. */
struct block_checks {
    uint8_t *written; /* scratchpad: a bit each byte */
    struct {
        uint32_t *written; /* a word for each byte of a thread's: a bit each lane */
        uint32_t bytes;
    } local[CHECK_WARPS]; /* local memory, by warp */
    struct race_block *race;
    VEC(uint32_t) mbarrier; /* addresses of those initialised */
    struct check_products product[CHECK_WARPS];
};

/* A new finding, to be filled in; then checks_settle: all but the first of a kind at an
 * instruction (or two) are only counted. */
struct finding *checks_found(struct exec_checks *k, unsigned which, unsigned kind,
                             const struct exec_warp *w, unsigned lane, uint32_t pc);
void checks_settle(struct exec_checks *k);
/* Before the instruction: fills `masks` and `mask`. Its result may overwrite the row. */
void checks_note_masks(struct exec_checks *k, const struct exec_warp *w);
/* Prints "block (0,0,0), thread (1,0,0)". */
void checks_print_who(const struct exec_grid *g, const struct check_who *who,
                      struct strbuf *out);

/* The checks themselves, whose user is struct exec_checks; and what a finding says. */
extern const struct exec_observer check_race, check_init, check_sync, check_bounds;
void check_race_tell(const struct exec_checks *k, const struct finding *f);
void check_init_tell(const struct exec_checks *k, const struct finding *f);
void check_sync_tell(const struct exec_checks *k, const struct finding *f);
void check_bounds_tell(const struct exec_checks *k, const struct finding *f);

#endif
