/* spill_check.c: code whose spilled values went to slots, right and altered in ways that
 * lose a value: each must be found. */
#include "unit/kit/ptx_kit.h"

#include "analysis/spill_check.h"

/* Registers of both: %R0 to %R4, %D2 is %R2 and %R3, %R4 the base, %R5 the mover. */
#define REGS                                                                             \
    ".reg .b32 %R<6>;\n.reg .b64 %D2, %A;\n.reg .pred %P0;\n"                            \
    ".param .b32 pi;\n.local .align 16 .b8 spill[16];\n"
#define TEXT(callee, body)                                                               \
    HEAD ".shared .align 4 .b8 area[512];\n.func leaf(.param .b32 i)\n{\n" REGS callee   \
         "ret;\n}\n.visible .entry k(.param .u64 p)\n.reqntid 32\n{\n" REGS body         \
         "ret;\n}\n"

/* Spilled: word 0, pair 2. */
static const char before[] = TEXT("", "st.local.b32 [spill], %R0;\n"   /* 0 */
                                      "st.local.b64 [spill+8], %D2;\n" /* 1 */
                                      "@%P0 bra end;\n"                /* 2 */
                                      "st.param.b32 [pi], %R1;\n"      /* 3 */
                                      "call leaf, (pi);\n"             /* 4 */
                                      "ld.local.b64 %D2, [spill+8];\n" /* 5 */
                                      "end:\n"                         /* 6 */
                                      "ld.local.b32 %R1, [spill];\n"   /* 7 */
                                      "st.global.u32 [%A], %R1;\n");   /* 8 */

#define PROLOGUE                                                                         \
    "mov.u32 %R4, %tid.x;\nshl.b32 %R4, %R4, 2;\nmov.u32 %R0, area;\n"                   \
    "add.u32 %R4, %R4, %R0;\n"
#define LEAF PROLOGUE "st.shared.b32 [%R4+256], %R0;\n"
#define PUT0 "st.shared.b32 [%R4], %R0;\n"
#define PUT1                                                                             \
    "mov.b64 {%R2, %R3}, %D2;\nst.shared.b32 [%R4+384], %R2;\n"                          \
    "st.shared.b32 [%R4+128], %R3;\n"
#define MID "@%P0 bra end;\nst.param.b32 [pi], %R1;\n"
#define CALL "call leaf, (pi);\n"
#define GET1                                                                             \
    "ld.shared.b32 %R2, [%R4+384];\nld.shared.b32 %R3, [%R4+128];\n"                     \
    "mov.b64 %D2, {%R2, %R3};\n"
#define END "end:\nld.shared.b32 %R1, [%R4];\nst.global.u32 [%A], %R1;\n"

static const int8_t plain[] = {-1, -1, -1, -1, 0, 1, 1, 1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9};

static void
set_places(struct ptx_func *f)
{
    for (size_t i = 0; i < f->regs.n; i++) {
        const char *name = f->regs.v[i].name;
        f->regs.v[i].place = (uint16_t)(name[1] == 'A' ? 9 : atoi(name + 2) + 1);
    }
}

/* The code's variables become those of `old`, so that they are the same. */
static void
check(const char *text, const int8_t *origin, const char *why)
{
    struct ptx_module *old = kit_parse(before), *new = kit_parse(text);
    struct ptx_func *was = old->funcs.v[1], *is = new->funcs.v[1],
                    *leaf = new->funcs.v[0];
    set_places(was);
    set_places(is);
    set_places(leaf);
    for (size_t i = 0; i < is->body.n; i++)
        for (unsigned k = 0; k < is->body.v[i].nops; k++) {
            struct ptx_operand *o = &is->body.v[i].ops[k];
            if (o->var && !strcmp(o->var->name, "spill"))
                o->var = was->vars.v[1];
            if (o->var && !strcmp(o->var->name, "pi"))
                o->var = was->vars.v[0];
            if (o->var && !strcmp(o->var->name, "p"))
                o->var = was->params.v[0];
        }
    for (size_t i = 0; i < was->body.n; i++)
        for (unsigned k = 0; k < was->body.v[i].nops; k++) {
            struct ptx_operand *o = &was->body.v[i].ops[k];
            if (o->func)
                o->func = leaf;
            for (unsigned e = 0; o->kind == PTX_OPD_VEC && e < o->n; e++)
                if (o->vec[e].var)
                    o->vec[e].var = was->vars.v[0];
        }
    for (size_t i = 0; i < is->body.n; i++)
        for (unsigned k = 0; k < is->body.v[i].nops; k++) {
            struct ptx_operand *o = &is->body.v[i].ops[k];
            for (unsigned e = 0; o->kind == PTX_OPD_VEC && e < o->n; e++)
                if (o->vec[e].var)
                    o->vec[e].var = was->vars.v[0];
        }
    assert_string_equal(was->vars.v[0]->name, "pi");
    int32_t at[32];
    for (size_t i = 0; i < is->body.n; i++)
        at[i] = origin[i];
    /* registers by name: both functions declare them alike */
    struct spill_func fn[] = {{was, is, at, was->vars.v[1], 4, 5},
                              {NULL, leaf, NULL, NULL, 4, -1}};
    struct diag_sink diag = {0};
    bool ok = spill_check(fn, 2, new->vars.v[0], 128, &diag);
    const char *said = diag.n ? diag.list[0]->message : "";
    if (ok != !why || (why && !strstr(said, why)))
        fail_msg("%s: %s: %s", why ? why : "right", ok ? "accepted" : "refused", said);
    diag_free(&diag);
    ptx_module_free(old);
    ptx_module_free(new);
}

static const char lost[] = "does not hold the value that is read";

static void
right(void **state)
{
    (void)state;
    check(TEXT(LEAF, PROLOGUE PUT0 PUT1 MID CALL GET1 END), plain, NULL);
}

static void
wrong_slot(void **state)
{
    (void)state;
    check(TEXT(LEAF, PROLOGUE PUT0 PUT1 MID CALL
               "ld.shared.b32 %R2, [%R4+128];\nld.shared.b32 %R3, [%R4+384];\n"
               "mov.b64 %D2, {%R2, %R3};\n" END),
          plain, lost);
    /* both at the same time in one slot */
    check(TEXT(LEAF, PROLOGUE PUT0 "mov.b64 {%R2, %R3}, %D2;\nst.shared.b32 [%R4], %R2;\n"
                                   "st.shared.b32 [%R4+128], %R3;\n" MID CALL
                                   "ld.shared.b32 %R2, [%R4];\n"
                                   "ld.shared.b32 %R3, [%R4+128];\n"
                                   "mov.b64 %D2, {%R2, %R3};\n" END),
          plain, lost);
    /* between slots, and after the last */
    check(TEXT(LEAF, PROLOGUE "st.shared.b32 [%R4+4], %R0;\n" PUT1 MID CALL GET1 END),
          plain, "no access to a slot");
    check(TEXT(LEAF, PROLOGUE "st.shared.b32 [%R4+512], %R0;\n" PUT1 MID CALL GET1 END),
          plain, "no access to a slot");
}

/* The callee takes slots 2 and 3: half of the pair is gone. */
static void
callee_writes(void **state)
{
    (void)state;
    check(TEXT(LEAF "st.shared.b32 [%R4+384], %R1;\n",
               PROLOGUE PUT0 PUT1 MID CALL GET1 END),
          plain, lost);
}

/* With moves around the call it is right again; one that overwrites a live slot is not. */
static void
moves(void **state)
{
    (void)state;
    static const int8_t with[] = {-1, -1, -1, -1, 0, 1, 1, 1, 2, 3,
                                  4,  -1, -1, 5,  5, 5, 6, 7, 8, 9};
    static const int8_t around[] = {-1, -1, -1, -1, 0, 1, 1, 1, 2, 3, -1,
                                    -1, 4,  -1, -1, 5, 5, 5, 6, 7, 8, 9};
#define OTHER LEAF "st.shared.b32 [%R4+384], %R1;\n"
#define HIGH                                                                             \
    "mov.b64 {%R2, %R3}, %D2;\nst.shared.b32 [%R4+256], %R2;\n"                          \
    "st.shared.b32 [%R4+128], %R3;\n"
    /* here the pair's low half is in slot 2, which the callee of LEAF writes: to slot 3 */
    check(TEXT(LEAF, PROLOGUE PUT0 HIGH MID
               "ld.shared.b32 %R5, [%R4+256];\nst.shared.b32 [%R4+384], %R5;\n" CALL
               "ld.shared.b32 %R5, [%R4+384];\nst.shared.b32 [%R4+256], %R5;\n"
               "ld.shared.b32 %R2, [%R4+256];\nld.shared.b32 %R3, [%R4+128];\n"
               "mov.b64 %D2, {%R2, %R3};\n" END),
          around, NULL);
    check(TEXT(LEAF, PROLOGUE PUT0 HIGH MID
               "ld.shared.b32 %R5, [%R4+256];\nst.shared.b32 [%R4], %R5;\n" CALL
               "ld.shared.b32 %R5, [%R4];\nst.shared.b32 [%R4+256], %R5;\n"
               "ld.shared.b32 %R2, [%R4+256];\nld.shared.b32 %R3, [%R4+128];\n"
               "mov.b64 %D2, {%R2, %R3};\n" END),
          around, lost); /* word 0 was there */
    check(TEXT(OTHER, PROLOGUE PUT0 HIGH MID CALL
               "ld.shared.b32 %R5, [%R4+384];\nst.shared.b32 [%R4+256], %R5;\n"
               "ld.shared.b32 %R2, [%R4+256];\nld.shared.b32 %R3, [%R4+128];\n"
               "mov.b64 %D2, {%R2, %R3};\n" END),
          with, lost);
}

/* Lost on one of the paths that meet. */
static void
one_path(void **state)
{
    static const int8_t origin[] = {-1, -1, -1, -1, 0, 1, 1, 1, 2, -1,
                                    -1, 3,  4,  5,  5, 5, 6, 7, 8, 9};
    (void)state;
    check(TEXT(LEAF, PROLOGUE PUT0 PUT1
               "@%P0 bra end;\n"
               "ld.shared.b32 %R5, [%R4+384];\nst.shared.b32 [%R4], %R5;\n"
               "st.param.b32 [pi], %R1;\n" CALL
               "ld.shared.b32 %R2, [%R4];\nld.shared.b32 %R3, [%R4+128];\n"
               "mov.b64 %D2, {%R2, %R3};\n" END),
          origin, lost);
}

static void
other_code(void **state)
{
    (void)state;
    check(TEXT(LEAF, PROLOGUE PUT0 PUT1 MID CALL GET1
               "end:\nld.shared.b32 %R1, [%R4];\nst.global.u32 [%A], %R0;\n"),
          plain, "not as it was");
    check(TEXT(LEAF, PROLOGUE PUT0 PUT1 MID CALL GET1
               "end:\nld.shared.b32 %R0, [%R4];\nst.global.u32 [%A], %R1;\n"),
          plain, "no access to a slot");
    check(TEXT(LEAF, PROLOGUE PUT0 "mov.b64 {%R3, %R2}, %D2;\n"
                                   "st.shared.b32 [%R4+384], %R3;\n"
                                   "st.shared.b32 [%R4+128], %R2;\n" MID CALL GET1 END),
          plain, "not those of its register");
    static const int8_t missing[] = {-1, -1, -1, -1, 1, 1, 1, 2, 3,
                                     4,  5,  5,  5,  6, 7, 8, 9};
    check(TEXT(LEAF, PROLOGUE PUT1 MID CALL GET1 END), missing, "missing");
    check(TEXT(LEAF, "mov.u32 %R4, %tid.x;\nshl.b32 %R4, %R4, 2;\nmov.u32 %R0, 0;\n"
                     "add.u32 %R4, %R4, %R0;\n" PUT0 PUT1 MID CALL GET1 END),
          plain, "does not take the address");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right),    cmocka_unit_test(wrong_slot),
        cmocka_unit_test(moves),    cmocka_unit_test(callee_writes),
        cmocka_unit_test(one_path), cmocka_unit_test(other_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
