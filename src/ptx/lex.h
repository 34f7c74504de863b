/* lex.h: PTX tokens (private to src/ptx). The lexer is lexer.re, made into C by re2c. */
#ifndef ALLOT_PTX_LEX_H
#define ALLOT_PTX_LEX_H

#include <stdbool.h>
#include <stdint.h>

/* Single characters are their own code. */
enum ptx_token_kind {
    T_EOF = 0,
    T_ID = 256, /* identifier, with its % $ or _ */
    T_DOT,      /* .word, with L1::word parts: s and n include the dot */
    T_INT,      /* value; uns: suffix U, or too big for a signed 64-bit value */
    T_F32,      /* value: bits of the single */
    T_F64,      /* value: bits of the double */
    T_STR,      /* s and n include the quotes */
    T_SHL,
    T_SHR,
    T_LE,
    T_GE,
    T_EQ,
    T_NE,
    T_ANDAND,
    T_OROR,
    T_BAD /* characters that belong nowhere */
};

struct ptx_token {
    int kind;
    uint32_t n;
    const char *s;
    uint32_t line, col;
    uint64_t value;
    bool uns;
    const char *error; /* what is wrong with the token, NULL: nothing */
    const char *hint;
};

struct ptx_lexer {
    const char *at;         /* next character; the text ends with a NUL */
    const char *line_start; /* of the current line */
    uint32_t line;
};

void ptx_lex(struct ptx_lexer *l, struct ptx_token *t);

/* Moves over the suffixes that stand right behind a mnemonic (".global.v4.u32", also the
 * old
 * ".const[2]"); returns the first character behind them. */
const char *ptx_lex_suffixes(struct ptx_lexer *l);

#endif
