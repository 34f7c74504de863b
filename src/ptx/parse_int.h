/* parse_int.h: what the parts of the PTX parser share (private to src/ptx).
 *
 * parse.c          the module, its directives; going on after an error
 * parse_func.c     functions: head, body, scopes, labels
 * parse_decl.c     variables, registers, parameters
 * parse_expr.c     constant expressions and initialisers
 * parse_inst.c     an instruction
 * parse_form.c     mnemonic + suffixes -> opcode row, types, modifiers
 * parse_operand.c  an operand
 * parse_check.c    operands against the row
 * parse_sym.c      names and what they are bound to in nested scopes; messages */
#ifndef ALLOT_PTX_PARSE_INT_H
#define ALLOT_PTX_PARSE_INT_H

#include "ptx/ir.h"
#include "ptx/lex.h"

enum { MAX_SCOPES = 256, MAX_OPERANDS = 32, MAX_EXPR_DEPTH = 100, MAX_DIMS = 16 };

struct place {
    uint32_t line, col, n;
};

enum bind_kind {
    B_REG = 1,  /* index: register */
    B_VAR,      /* ptr: struct ptx_var */
    B_FUNC,     /* ptr: struct ptx_func */
    B_LABEL,    /* index: label */
    B_BRANCHES, /* ptr: struct ptx_operand, kind VEC */
    B_PROTO,    /* ptr: struct ptx_func with is_proto */
    B_SREG,     /* index: sreg << 8 | comp; below all scopes */
};

/* One per distinct identifier of the file. */
struct name {
    const char *s;
    uint32_t n, hash;
    struct binding *top; /* innermost binding in force, NULL: none */
    uint32_t used;       /* serial of the last function that has this as a flat name */
    uint32_t suffix;     /* next _s number to try, valid for function `suffix_of` */
    uint32_t suffix_of;
};

struct binding {
    struct binding *outer; /* the binding it hides */
    struct binding *next;  /* in the scope's list */
    struct name *name;
    void *ptr;
    int32_t index;
    uint32_t line;
    uint16_t depth;
    uint8_t kind;
};

/* Operand that names a label (or prototype) that may be declared later. */
struct pending {
    struct ptx_operand *o;
    struct name *name;
    struct place at;
    bool proto; /* a prototype or target list, not a label */
};

struct scope {
    struct binding *first;
    size_t pend0; /* pending names from here on were met in this scope */
    struct place at;
};

/* Mnemonic with suffixes, resolved once per spelling. */
struct form {
    const char *s;
    uint32_t n, hash;
    struct ptx_inst proto;
    const struct row *row;
};

/* Operand pattern of an opcode row, taken apart. */
struct slot {
    char letter;
    uint8_t type; /* which written type, NO_TYPE: none */
    char width;   /* 'w', 'h' or 0 */
    bool optional;
    bool joined; /* by | to the one before */
};
enum { NO_TYPE = 255, MAX_SLOTS = 12 };

struct row {
    const struct ptx_op_info *info;
    uint64_t types[4]; /* admissible types as bits */
    uint8_t ntypes, nslots, nrequired;
    bool open;          /* pattern "*" */
    const char *prefix; /* of an open row: how the suffixes begin; "": any */
    ptx_groups required, any_of;
    struct slot slot[MAX_SLOTS];
    int16_t next; /* row with the same mnemonic, -1: none */
};

struct parser {
    struct ptx_lexer lex;
    struct ptx_token tok; /* the current token */
    struct place last;    /* end of the token before: col is the column behind it */
    const char *last_end;
    struct ptx_module *m;
    struct diag_sink *diag; /* of what is being read: the file's, or its function's own */
    struct diag_sink *file_diag, *own_diag;
    struct arena mem;
    size_t errors; /* found in this file */
    size_t faults; /* those in bodies that are kept as text */
    uint32_t ntokens;
    bool cancelled;                    /* since then every token is T_EOF */
    size_t told_before, errors_before; /* file_diag's n and errors at that time */

    struct name **names;
    uint32_t nnames, name_slots;
    struct binding *free_bindings;
    struct scope scope[MAX_SCOPES + 1];
    unsigned depth; /* 0: module */
    VEC(struct pending) pend;

    struct form **forms;
    uint32_t nforms, form_slots;

    struct ptx_func *f; /* the one whose body is being read */
    uint32_t serial;    /* number of f */
    bool indexed;       /* the operand read last was x[3]: an address if one is due */
    int open;           /* braces open within the current statement */
    bool select;        /* registers of the current instruction may have selectors */
    uint64_t regs_left, init_left;
};

/* -- tokens -- */
void parse_next(struct parser *p);

static inline bool
at(const struct parser *p, int kind)
{
    return p->tok.kind == kind;
}

static inline bool
at_word(const struct parser *p, int kind, const char *s)
{
    size_t n = strlen(s);
    return p->tok.kind == kind && p->tok.n == n && !memcmp(p->tok.s, s, n);
}

/* Takes the token if it is of that kind. */
static inline bool
take(struct parser *p, int kind)
{
    if (p->tok.kind != kind)
        return false;
    parse_next(p);
    return true;
}

static inline struct place
here(const struct parser *p)
{
    return (struct place){p->tok.line, p->tok.col, p->tok.n};
}

/* Takes the token or reports that `what` is missing. */
bool parse_need(struct parser *p, int kind, const char *what);
/* need(';'), with a message that points behind the statement. False: skip to its end. */
bool parse_need_semicolon(struct parser *p);

/* -- messages -- */
struct diag *parse_error(struct parser *p, struct place at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct diag *parse_warn(struct parser *p, struct place at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* An error at the current token, naming it: "expected WHAT, found ';'". Returns false. */
bool parse_expected(struct parser *p, const char *what);
void parse_hint(struct parser *p, struct diag *d, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "did you mean" among the names in force that are of a kind in the set (1 << B_x). */
void parse_hint_name(struct parser *p, struct diag *d, const struct name *wrong,
                     unsigned kinds);
const char *parse_kind_text(unsigned bind_kind);

/* -- names and scopes -- */
struct name *parse_name_get(struct parser *p, const char *s, size_t n);
bool parse_open_scope(struct parser *p, struct place at);
void parse_close_scope(struct parser *p);
/* Binds in the current scope; reports a redefinition and returns NULL then. */
struct binding *parse_bind(struct parser *p, struct name *nm, unsigned kind,
                           int32_t index, void *ptr, struct place at);
/* Name for the flattened function: nm's own where free, else with _s2, _s3 ... */
const char *parse_flat_name(struct parser *p, struct name *nm);
/* Prefix for a parametrised register name of which all `count` names are free. */
const char *parse_flat_prefix(struct parser *p, struct name *nm, uint64_t count);
/* The name with a number behind it. */
struct name *parse_name_numbered(struct parser *p, const struct name *nm, uint64_t i);
void parse_sym_init(struct parser *p);

/* -- constant expressions -- */
struct value {
    int kind; /* PTX_OPD_IMM, F32, F64, SYM, FUNCSYM */
    uint64_t bits;
    bool uns;
    struct ptx_var *var;
    struct ptx_func *func;
    int64_t off;
    bool generic;
    uint64_t mask;
};

/* Integer or floating-point constant expression. */
bool parse_const(struct parser *p, struct value *v);
/* One + or - term list behind a symbol or register: [+|- expr]... into *off. */
bool parse_offset(struct parser *p, int64_t *off);
bool parse_init(struct parser *p, struct ptx_var *v);

/* -- declarations -- */
struct decl { /* what stands before the names */
    uint8_t space, type, vec, linkage, ptr_space;
    uint32_t ptr_align, align;
    const char *attribute;
    struct place at;
};

/* The state space the current token names, PTX_SPACE_NONE: none. */
unsigned parse_space_word(const struct parser *p);
/* Space (current token), alignment, vector, type ... up to the first name. */
bool parse_decl(struct parser *p, struct decl *d);
/* name dims init {, name dims init} ; at module scope or in a body. */
bool parse_vars(struct parser *p, const struct decl *d);
/* name, name<count> {, ...} ; behind .reg */
bool parse_regs(struct parser *p, const struct decl *d);
/* ( .param ... , .reg ... ): parameters or return values; names are bound where
 * `binding`. */
bool parse_params(struct parser *p, struct ptx_func *f, bool rets, bool binding);
/* Binds a name at module scope, where a declaration may precede the definition. */
bool parse_bind_module(struct parser *p, struct name *nm, unsigned kind, void *ptr,
                       bool declaration, struct place where);
bool parse_number(struct parser *p, uint64_t *v, uint64_t max, const char *what);
/* ( ... ) as raw text that begins at `start`, from the current token. */
const char *parse_parenthesised(struct parser *p, const char *start);
/* Raw text up to and with the semicolon. */
const char *parse_to_semicolon(struct parser *p);
const char *parse_text_slice(struct parser *p, const char *start, const char *end);

/* -- functions -- */
/* At .entry or .func. */
bool parse_function(struct parser *p, unsigned linkage);

/* -- instructions -- */
/* The form at the current token (a T_ID in statement position), or NULL with a message.
 * The current token is then the first one behind the suffixes. */
const struct form *parse_form(struct parser *p);
/* The row for the same spelling with more operands (min.f32 of three sources), or NULL.
 */
const struct row *parse_longer_row(const struct form *f);
bool parse_known_mnemonic(const char *s, size_t n);
bool parse_inst(struct parser *p);

/* -- operands -- */
struct ptx_operand ptx_blank(unsigned kind);
bool parse_operand(struct parser *p, struct ptx_operand *o);
/* Operands up to and with the token `close`, as a VEC. */
bool parse_operand_list(struct parser *p, struct ptx_operand *o, int close,
                        const char *what);
/* Reports the name. Always true: its syntax is fine. */
bool parse_undeclared(struct parser *p, const struct name *nm, struct place where);

/* -- checks: false where something was reported -- */
struct check {
    struct parser *p;
    const struct row *row;
    const struct ptx_inst *in;
    const struct place *at; /* of each operand */
};

bool parse_check_slot(struct check *c, unsigned i, const struct ptx_operand *o,
                      const struct slot *x);
bool parse_check_reg(struct check *c, unsigned i, const struct ptx_operand *o,
                     unsigned type, bool wider);
/* What the pattern cannot say. */
bool parse_check_rest(struct check *c, struct place where);
struct diag *parse_wrong_kind(struct check *c, unsigned i, const struct ptx_operand *o,
                              const char *wanted);
const char *parse_operand_text(const struct ptx_operand *o);

#endif
