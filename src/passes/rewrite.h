/* rewrite.h: what several passes do to instructions. Private to src/passes. */
#ifndef ALLOT_PASSES_REWRITE_H
#define ALLOT_PASSES_REWRITE_H

#include "exec/lanes/lane.h"
#include "ptx/ir.h"

/* Calls fn for every source operand that is, or holds, a register: REG operands, also in
 * lists, and addresses with a base register. Guards and the operands of calls are left
 * out. fn may change the operand; true if it did. Returns whether any did. */
bool rewrite_sources(struct ptx_inst *in,
                     bool (*fn)(void *user, struct ptx_inst *in, struct ptx_operand *o,
                                unsigned index, bool in_list),
                     void *user);

/* The type of operand `index` by the row's pattern, of the width it is read or written
 * with; PTX_PRED for predicates, PTX_NOTYPE: no such operand or none that has a type. */
enum ptx_type rewrite_operand_type(const struct ptx_inst *in, unsigned index);

/* Letter of the row's pattern for operand `index`, 0: none. */
char rewrite_letter(const struct ptx_inst *in, unsigned index);

/* Makes `in` a mov of its only destination (operand 0, a register of f) from `src`. The
 * guard stays. */
void rewrite_as_mov(struct ptx_func *f, struct ptx_inst *in,
                    const struct ptx_operand *src);

/* Register r as an operand. */
struct ptx_operand rewrite_register(int32_t r);

/* How often each register is read, guards too; f->regs.n of them in mem. */
uint32_t *rewrite_count_reads(const struct ptx_func *f, struct arena *mem);

/* A literal that fills `bytes` of a register (0: a predicate). */
struct ptx_operand rewrite_literal(uint64_t value);

/* Whether a pass may put a literal in place of register operand `index`: the row's pattern
 * (ptx/opcodes.def) says what PTX allows, and tests/unit/ptx/ptxas_forms.c holds it against
 * ptxas. */
bool rewrite_takes_literal(const struct ptx_inst *in, unsigned index);
/* The literal with these bits for an operand of that type. */
struct ptx_operand rewrite_literal_of(enum ptx_type type, uint64_t bits);

/* The bits that literal o has as a source of that type; false: not a literal, or one
 * whose value would have to be converted. */
bool rewrite_literal_bits(const struct ptx_operand *o, enum ptx_type type,
                          uint64_t *bits);

/* Whether a register of type `to` can be read where one of type `from` was: the same
 * width, and both integers, or the same kind, or untyped bits. */
bool rewrite_type_fits(enum ptx_type from, enum ptx_type to);

/* Deletes instructions whose bit is set. */
void rewrite_delete(struct ptx_func *f, const uint64_t *dead);

/* A name for a new variable of f (everywhere: of its module): `name`, with a number after it
 * where something has that name, such as the variable that an earlier run of a pass made. */
const char *rewrite_new_name(const struct ptx_func *f, const char *name, bool everywhere);

/* Takes out labels that nothing names, which separate blocks; how many. */
size_t rewrite_drop_labels(struct ptx_func *f);

/* An ordinary computation: nothing but its one destination register changes, lane by
 * lane, and it depends on its operands alone. A guard is allowed. */
bool rewrite_is_pure(const struct ptx_inst *in);

/* in: 64-bit register base + n, without a guard. */
bool rewrite_is_offset(const struct ptx_func *f, const struct ptx_inst *in, int32_t *base,
                       int64_t *n);

/* How the value of a pure instruction is computed, whatever its sources hold: by the executor's own lane
 * functions, so that no pass can compute otherwise than it. For what is evaluated many times. */
struct rewrite_plan {
    lane_fn *fn;
    uint32_t aux;
    uint8_t type, n;                   /* enum ptx_type of the result; sources */
    uint8_t source[4], source_type[4]; /* operand and enum ptx_type of each */
};

/* False: no value of `in` can be computed. */
bool rewrite_plan(const struct ptx_func *f, const struct ptx_inst *in,
                  struct rewrite_plan *plan);
/* The value if `source` knows all of the instruction's sources, each as `type`. */
bool rewrite_evaluate(const struct rewrite_plan *plan, const struct ptx_inst *in,
                      bool (*source)(void *user, const struct ptx_operand *o,
                                     enum ptx_type type, uint64_t *bits),
                      void *user, uint64_t *bits);

/* The bits of a source operand as `type`: a literal's, or those that `known` has of its
 * register. False: not known, or not read as the register is. */
bool rewrite_source_bits(const struct ptx_func *f, const struct ptx_operand *o,
                         enum ptx_type type,
                         bool (*known)(const void *user, int32_t reg, uint64_t *bits),
                         const void *user, uint64_t *bits);

/* What is another value where blocks are merged, in a way that no pass makes up for: the
 * number of a warp, sizes of scratchpad, clusters. */
bool rewrite_numbers_warps(const struct ptx_operand *o);
/* A mov of one 32-bit register: the way in which a special register can be replaced. */
bool rewrite_reads_word(const struct ptx_inst *in);

#endif
