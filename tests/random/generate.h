/* generate.h: the generator's state, and what draws from its stream. */
#ifndef TESTS_RANDOM_GENERATE_H
#define TESTS_RANDOM_GENERATE_H

#include "tree.h"

#include <string.h>

enum { MAX_DEPTH = 4, MAX_TIMES = 48, OWN = -1, READ = -2, ANYWHERE = -1 };

struct gen {
    /* The stream: bytes, or random numbers where data is NULL. */
    const uint8_t *data;
    size_t size, at;
    uint64_t state;

    struct rk_kernel *k;
    struct rk_func *f;
    unsigned self; /* number of the function */
    int budget;    /* statements that may still be drawn */
    /* Registers of each class: that may be read, of these that may be written. */
    uint32_t read[RK_CLASSES][RK_MAX_VARS], write[RK_CLASSES][RK_MAX_VARS];
    uint32_t nread[RK_CLASSES], nwrite[RK_CLASSES];
    uint32_t same[32], nsame; /* 32-bit registers with one value in all threads */
    int mode[RK_MAX_SHARED];  /* OWN, READ, or the row of an atomic operation */
    uint64_t cost;
};

/* What holds where a statement stands. */
struct ctx {
    bool uniform; /* all threads of the block come here */
    bool warp;    /* exactly the lanes of `mask` come here */
    struct rk_src mask;
    int depth, loop; /* loop: 0 none that may be left, else in one */
    uint32_t times;  /* a thread comes here, at most */
};

/* -- choose.c -- */

/* The stream is a fuzzer's, and at its end. */
bool gen_ended(const struct gen *g);
/* From 0 to n - 1; 0 behind the end of the stream. */
uint32_t gen_pick(struct gen *g, uint32_t n);
bool gen_chance(struct gen *g, uint32_t percent);
/* Bits of a literal: small numbers, edges, any. */
uint64_t gen_literal_bits(struct gen *g, unsigned cls);

/* A register that may be neither read nor written yet; and one that may be read. */
uint32_t gen_new_var(struct gen *g, unsigned cls);
void gen_readable(struct gen *g, unsigned cls, uint32_t var);
struct rk_src gen_from_var(uint32_t var);
struct rk_src gen_literal(uint64_t value);
struct rk_src gen_read_var(struct gen *g, unsigned cls);
/* A register or, not of a predicate, a literal. */
struct rk_src gen_source(struct gen *g, unsigned cls);
uint32_t gen_write_var(struct gen *g, unsigned cls);
/* n different ones; fewer if there are not so many. Returns how many. */
unsigned gen_write_vars(struct gen *g, unsigned cls, unsigned n, uint32_t *to);
/* A register that takes the result of an instruction without a guard: one that is written
 * again and again, or a new one (*fresh), which is written only here; gen_readable makes
 * it one that can be read in the rest of the list of statements. */
uint32_t gen_result_var(struct gen *g, unsigned cls, bool *fresh);

/* Appends a statement; one of a row of ops.def. */
struct rk_stmt *gen_add(struct gen *g, struct rk_list *l, enum rk_kind kind,
                        const struct ctx *c);
struct rk_stmt *gen_add_row(struct gen *g, struct rk_list *l, const struct ctx *c,
                            unsigned row);
void gen_maybe_guard(struct gen *g, struct rk_stmt *s);
unsigned gen_row(const char *text, const char *classes);

/* -- statements.c -- */

/* Draws statements while the budget lasts. True: threads may leave the surrounding loop
 * or function within. */
bool gen_list(struct gen *g, struct rk_list *l, struct ctx c);
void gen_gather(struct gen *g, struct rk_list *l, const struct ctx *c);

#endif
