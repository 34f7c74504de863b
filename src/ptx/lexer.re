/* lexer.re: PTX tokens (PTX ISA 9.0, chapter 4), as a re2c specification.
 *
 * The text ends with a NUL, which is the sentinel: no bounds are checked elsewhere. Malformed
 * tokens are returned as the nearest well-formed kind with `error` set, so that the parser
 * can go on behind them. */
#include "ptx/lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned
digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
}

static void
integer(struct ptx_token *t, const char *s, const char *end, unsigned base)
{
    uint64_t v = 0;
    if (end[-1] == 'U') {
        t->uns = true;
        end--;
    }
    for (; s < end; s++) {
        if (digit(*s) >= base) {
            t->error = "this digit does not belong in a literal of that base";
            t->hint = "a leading 0 means octal";
            break;
        }
        uint64_t next;
        if (__builtin_mul_overflow(v, (uint64_t)base, &next) ||
            __builtin_add_overflow(next, (uint64_t)digit(*s), &next)) {
            t->error = "the literal does not fit 64 bits";
            break;
        }
        v = next;
    }
    t->kind = T_INT;
    t->value = v;
    t->uns |= v >> 63;
}

static void
float_bits(struct ptx_token *t, unsigned digits, int kind)
{
    uint64_t v = 0;
    t->kind = kind;
    if (t->n - 2 != digits) {
        t->error = kind == T_F32 ? "a 0f literal has exactly 8 hexadecimal digits"
                                 : "a 0d literal has exactly 16 hexadecimal digits";
    } else {
        for (uint32_t i = 2; i < t->n; i++)
            v = v << 4 | digit(t->s[i]);
    }
    t->value = v;
}

static void
decimal_float(struct ptx_token *t)
{
    char own[64], *buf = own;
    if (t->n >= sizeof own) {
        buf = malloc(t->n + 1);
        if (!buf) {
            t->error = "the literal is too long";
            t->kind = T_F64;
            return;
        }
    }
    memcpy(buf, t->s, t->n);
    buf[t->n] = 0;
    double d = strtod(buf, NULL);
    if (buf != own)
        free(buf);
    t->kind = T_F64;
    memcpy(&t->value, &d, 8);
}

void
ptx_lex(struct ptx_lexer *l, struct ptx_token *t)
{
    const char *YYMARKER;
    const char *start;
    t->value = 0;
    t->uns = false;
    t->error = t->hint = NULL;
#define TOKEN(k)                                                                         \
    do {                                                                                 \
        t->kind = (k);                                                                   \
        goto done;                                                                       \
    } while (0)
again:
    start = l->at;
    /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = l->at;
    re2c:yyfill:enable = 0;
    re2c:eof = -1;
    re2c:flags:case-ranges = 1;

    D = [0-9];
    H = [0-9a-fA-F];
    F = [a-zA-Z0-9_$];

    [ \t\r\f\v]+     { goto again; }
    "\n"             { l->line++; l->line_start = l->at; goto again; }
    "//" [^\n\x00]*  { goto again; }
    "/*"             { goto comment; }
    "\x00"           { l->at = start; TOKEN(T_EOF); }

    [a-zA-Z] F*      { TOKEN(T_ID); }
    [_$%] F+         { TOKEN(T_ID); }
    "." F+ ("::" F+)* { TOKEN(T_DOT); }

    "0" [fF] H*      { t->s = start; t->n = (uint32_t)(l->at - start);
                       float_bits(t, 8, T_F32); goto place; }
    "0" [dD] H*      { t->s = start; t->n = (uint32_t)(l->at - start);
                       float_bits(t, 16, T_F64); goto place; }
    "0" [xX] H+ "U"? { integer(t, start + 2, l->at, 16); goto done; }
    "0" [bB] [01]+ "U"? { integer(t, start + 2, l->at, 2); goto done; }
    "0" D* "U"?      { integer(t, start, l->at, 8); goto done; }
    [1-9] D* "U"?    { integer(t, start, l->at, 10); goto done; }
    D+ "." D* ([eE] [+-]? D+)?  { goto decimal; }
    D+ [eE] [+-]? D+ { goto decimal; }

    ["] ([^"\\\n\x00] | "\\" [^\n\x00])* ["] { TOKEN(T_STR); }
    ["] ([^"\\\n\x00] | "\\" [^\n\x00])* {
        t->error = "the string has no closing quote on its line";
        TOKEN(T_STR);
    }

    "<<"  { TOKEN(T_SHL); }
    ">>"  { TOKEN(T_SHR); }
    "<="  { TOKEN(T_LE); }
    ">="  { TOKEN(T_GE); }
    "=="  { TOKEN(T_EQ); }
    "!="  { TOKEN(T_NE); }
    "&&"  { TOKEN(T_ANDAND); }
    "||"  { TOKEN(T_OROR); }
    [-+*/%<>&|^~!?:;,@=_.(){}[\]] { TOKEN((unsigned char)*start); }

    ([\x01-\x08\x0e-\x1f\x7f-\xff] | [#`'\\$])+ {
        t->error = "these characters do not belong in PTX";
        TOKEN(T_BAD);
    }
    *  { t->error = "this character does not belong in PTX"; TOKEN(T_BAD); }
    */
comment:
    for (;;) {
        l->at += strcspn(l->at, "*\n");
        if (!*l->at)
            break;
        if (*l->at == '\n') {
            l->at++;
            l->line++;
            l->line_start = l->at;
        } else if (*++l->at == '/') {
            l->at++;
            goto again;
        }
    }
    t->kind = T_BAD;
    t->s = l->at;
    t->n = 0;
    t->line = l->line;
    t->col = (uint32_t)(l->at - l->line_start) + 1;
    t->error = "the comment is not closed";
    t->hint = "a comment that begins with /* ends with */";
    return;
decimal:
    t->s = start;
    t->n = (uint32_t)(l->at - start);
    decimal_float(t);
done:
    t->s = start;
    t->n = (uint32_t)(l->at - start);
place:
    t->line = l->line;
    t->col = (uint32_t)(start - l->line_start) + 1;
}

const char *
ptx_lex_suffixes(struct ptx_lexer *l)
{
    const char *YYMARKER;
    for (;;) {
        const char *start = l->at;
        /*!re2c
        "." F+ ("::" F+ | ":" D+)* { continue; }
        ".const[" D+ "]"           { continue; }
        *                          { l->at = start; return start; }
        */
    }
}
