/* forms_kit.h: one instruction of each form that compilers were seen to emit (the lists
 * in tests/golden/ptx), made from its spelling and the shapes below. */
#ifndef TESTS_FORMS_KIT_H
#define TESTS_FORMS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* d a: register of the first type; D A: the same, twice as wide with .wide; b: register
 * of the second type; r: .b32 register; P: predicate; others as they stand. */
static const struct {
    const char *mnemonic, *operands;
} shapes[] = {
    {"add", "d, a, a"},
    {"sub", "d, a, a"},
    {"addc", "d, a, a"},
    {"subc", "d, a, a"},
    {"mul", "D, a, a"},
    {"mad", "D, a, a, D"},
    {"madc", "d, a, a, a"},
    {"div", "d, a, a"},
    {"rem", "d, a, a"},
    {"min", "d, a, a"},
    {"max", "d, a, a"},
    {"and", "d, a, a"},
    {"or", "d, a, a"},
    {"xor", "d, a, a"},
    {"not", "d, a"},
    {"neg", "d, a"},
    {"abs", "d, a"},
    {"popc", "r, a"},
    {"clz", "r, a"},
    {"bfind", "r, a"},
    {"brev", "d, a"},
    {"bfe", "d, a, r, 5"},
    {"bfi", "d, a, a, 3, r"},
    {"fns", "r, r, r, r"},
    {"bmsk", "r, r, r"},
    {"shl", "d, a, r"},
    {"shr", "d, a, 7"},
    {"shf", "r, r, r, r"},
    {"prmt", "r, r, r, 0x3210"},
    {"fma", "d, a, a, a"},
    {"rcp", "d, a"},
    {"sqrt", "d, a"},
    {"rsqrt", "d, a"},
    {"sin", "d, a"},
    {"cos", "d, a"},
    {"lg2", "d, a"},
    {"ex2", "d, a"},
    {"tanh", "d, a"},
    {"copysign", "d, a, a"},
    {"setp", "%p1, a, a"},
    {"selp", "d, a, a, P"},
    {"mov", "d, a"},
    {"cvt", "d, b"},
    {"cvta", "d, a"},
    {"ld", "V, M"},
    {"st", "M, V"},
    {"red", "[%rd1], a"},
    {"shfl", "d|P, a, 1, 31, -1"},
    {"match", "r, a, -1"},
    {"redux", "d, a, -1"},
    {"activemask", "r"},
    {"membar", ""},
    {"ret", ""},
    {"exit", ""},
    {"trap", ""},
    {"nanosleep", "100"},
    {"bra", "$L"},
    {"call", "dev"},
    {"barrier", "0"},
};

static inline const char *
reg_of(const char *type)
{
    return !strcmp(type, "pred")                        ? "%p2"
           : !strcmp(type, "f32")                       ? "%f1"
           : !strcmp(type, "f64")                       ? "%fd1"
           : strchr("8", type[1]) || strstr(type, "16") ? "%h1"
           : strstr(type, "32")                         ? "%r1"
                                                        : "%rd2";
}

static inline bool
is_type(const char *w)
{
    static const char *const all[] = {"pred", "b8",  "u8",  "s8",  "b16", "u16",
                                      "s16",  "b32", "u32", "s32", "b64", "u64",
                                      "s64",  "f32", "f64", "f16"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(w, all[i]))
            return true;
    return false;
}

/* {r, r+1, ...}: n registers of a class. */
static inline void
register_list(struct strbuf *b, const char *class, int first, int n)
{
    for (int i = 0; i < n; i++)
        strbuf_printf(b, "%s%s%d", i ? ", " : "{", class, first + i);
    strbuf_addz(b, "}");
}

/* wmma of shape m16n16k16: fragments of f16 have 8 registers (PTX ISA 9.7.14.4.1), of u8
 * 2, accumulators of 32 bits 8. */
static inline void
wmma_instance(const char *form, struct strbuf *b)
{
    const char *type = strrchr(form, '.') + 1;
    bool load = strstr(form, ".load."), store = strstr(form, ".store."),
         shared = strstr(form, ".shared."), f32 = !strcmp(type, "f32");
    strbuf_printf(b, "%s ", form);
    const char *memory = shared ? "[sm]" : "[%rd1]", *class = f32 ? "%f" : "%r";
    int n = !strcmp(type, "u8") ? 2 : 8;
    if (load) {
        register_list(b, class, 8, n);
        strbuf_printf(b, ", %s, 16;", memory);
    } else if (store) {
        strbuf_printf(b, "%s, ", memory);
        register_list(b, class, 8, n);
        strbuf_addz(b, ", %r1;");
    } else {
        bool half = strstr(form, ".f32.f32");
        register_list(b, half ? "%f" : "%r", 8, 8), strbuf_addz(b, ", ");
        register_list(b, "%r", 16, half ? 8 : 2), strbuf_addz(b, ", ");
        register_list(b, "%r", 24, half ? 8 : 2), strbuf_addz(b, ", ");
        register_list(b, half ? "%f" : "%r", 8, 8), strbuf_addz(b, ";");
    }
}

/* One instruction of that form; false: a form that is only known by name. */
static inline bool
instance(const char *form, struct strbuf *b)
{
    char words[128];
    snprintf(words, sizeof words, "%s", form);
    char *mn = strtok(words, "."), *type[3] = {"b32", "b32", "b32"};
    int nt = 0, vec = 1;
    bool wide = false, ballot = false, warp = false, reduce = false, cas = false;
    const char *space = "", *reduction = "";
    for (char *w; (w = strtok(NULL, "."));) {
        if (is_type(w))
            type[nt < 3 ? nt++ : 2] = w;
        vec = !strcmp(w, "v2") ? 2 : !strcmp(w, "v4") ? 4 : vec;
        wide |= !strcmp(w, "wide");
        ballot |= !strcmp(w, "ballot");
        warp |= !strcmp(w, "warp");
        cas |= !strcmp(w, "cas");
        if (!strcmp(w, "red"))
            reduce = true;
        if (reduce && (!strcmp(w, "and") || !strcmp(w, "or") || !strcmp(w, "popc")))
            reduction = w;
        if (!strcmp(w, "shared") || !strcmp(w, "param") || !strcmp(w, "const") ||
            !strcmp(w, "local"))
            space = w;
    }
    if (!strcmp(mn, "tex") || !strcmp(mn, "sust"))
        return false;
    if (!strcmp(mn, "wmma")) {
        wmma_instance(form, b);
        return true;
    }
    const char *operands = NULL;
    if (!strcmp(mn, "vote"))
        operands = ballot ? "r, P, -1" : "%p3, !P, -1";
    else if (!strcmp(mn, "atom"))
        operands = cas ? "d, [%rd1+8], a, a" : "d, [%rd1+-8], a";
    else if (!strcmp(mn, "bar"))
        operands = warp     ? "-1"
                   : reduce ? (!strcmp(reduction, "popc") ? "r, 0, P" : "%p3, 0, P")
                            : "0";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !operands; i++)
        if (!strcmp(shapes[i].mnemonic, mn))
            operands = shapes[i].operands;
    if (!operands)
        fail_msg("the test has no shape for %s", form);
    const char *wider =
        !strcmp(type[0], "u16") || !strcmp(type[0], "s16") ? "%r1" : "%rd2";
    bool jumps = !strcmp(mn, "bra") || !strcmp(mn, "ret") || !strcmp(mn, "exit") ||
                 !strcmp(mn, "trap");
    strbuf_printf(b, "%s%s ", jumps ? "@%p1 " : "", form);
    for (const char *s = operands; *s; s++) {
        const char *r = reg_of(type[0]);
        bool letter = s == operands || s[-1] == ' ' || s[-1] == '|' || s[-1] == '!';
        if (!letter || !strchr("daDbrPVM", *s))
            strbuf_add(b, s, 1);
        else if (*s == 'd' || *s == 'a')
            strbuf_addz(b, s[1] == 'e' ? "d" : r); /* "dev" is a name */
        else if (*s == 'D')
            strbuf_addz(b, wide ? wider : r);
        else if (*s == 'b')
            strbuf_addz(b, reg_of(type[1]));
        else if (*s == 'r')
            strbuf_addz(b, "%r2");
        else if (*s == 'P')
            strbuf_addz(b, "%p4");
        else if (*s == 'V') {
            for (int k = 0; k < vec; k++)
                strbuf_printf(b, "%s%s", k ? ", " : vec > 1 ? "{" : "", r);
            strbuf_addz(b, vec > 1 ? "}" : "");
        } else if (!strcmp(space, "param")) {
            strbuf_addz(b, !strcmp(mn, "ld") ? "[par]" : "[arg]");
        } else {
            strbuf_addz(b, !strcmp(space, "shared")  ? "[sm+16]"
                           : !strcmp(space, "const") ? "[cm+16]"
                           : !strcmp(space, "local") ? "[%rd1]"
                                                     : "[%rd1+32]");
        }
    }
    strbuf_addz(b, ";");
    return true;
}

__attribute__((unused)) static const char prologue[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".const .align 16 .b8 cm[64];\n.func dev() { ret; }\n"
    ".visible .entry k(.param .align 16 .b8 par[32])\n{\n"
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<8>;\n"
    ".reg .f32 %f<40>; .reg .f64 %fd<8>; .shared .align 32 .b8 sm[4096];\n"
    ".param .align 16 .b8 arg[32];\n";

#endif
