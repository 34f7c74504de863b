/* vectors.h: test vectors for whole instructions: a kernel, its input, and how its output
 * may differ between machines. They are made from the opcode table (every lane function
 * with every combination of types and modifiers) and from the lists of matrix.h and
 * video.h, the same ones in every run, so that a real GPU's answers can be kept and
 * compared later. */
#ifndef TESTS_VECTORS_VECTORS_H
#define TESTS_VECTORS_VECTORS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum vector_class {
    VEC_EXACT,  /* every bit is given by the ISA */
    VEC_APPROX, /* within `bound`, relative or absolute */
    VEC_MATRIX, /* sums of a matrix product: every bit is given by the generation of the card */
};

struct vector {
    char name[128];     /* the instruction as spelled, unique */
    struct strbuf text; /* a module with .entry k(.param .u64 in, .param .u64 out) */
    unsigned sm;        /* least target */
    uint8_t vclass, float_bytes; /* VEC_APPROX: 2, 4 or 8; bf16: 3 */
    double bound;
    uint32_t ignored;   /* bits of each output word that are no part of the result */
    unsigned blocks;    /* of 32 threads */
    unsigned nin, nout; /* words */
    uint32_t *in;
};

/* Calls fn with every vector in turn; it is freed afterwards. Stops when fn returns
 * false. */
void vectors_each(bool (*fn)(const struct vector *v, void *user), void *user);
/* The rule for sums (enum machine_tensor_sums) of cards of that compute capability. */
unsigned vector_sums(unsigned sm);
/* Runs it on the executor with that rule; false: it was refused or failed, *why says so
 * (malloc'd). */
bool vector_run(const struct vector *v, unsigned sums, uint32_t *out, char **why);
/* Do the outputs agree as far as they must? *bits: words that differ. */
bool vector_agrees(const struct vector *v, const uint32_t *a, const uint32_t *b,
                   unsigned *bits);

#endif
