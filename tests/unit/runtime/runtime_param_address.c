/* Parameters read through an address: each way that ptxas 13.0 takes, in a function and in a
 * kernel, against the bytes that were passed. Functional, timed, and behind passes. */
#include "unit/kit/runtime_kit.h"

#define HEAD ".version 8.8\n.target sm_80\n.address_size 64\n"

/* p: 32 bytes by value; %off = 4 * (tid % 8); %v gets a word of p. */
static const struct {
    const char *text;
    bool lanes; /* word tid % 8, else word 2 */
} in_function[] =
    {
        {"ld.param.b32 %v, [p+8];", false},
        {"ld.param::func.b32 %v, [p+8];", false},
        {"mov.b64 %a, p; ld.param.b32 %v, [%a+8];", false},
        {"mov.u64 %a, p; mov.u64 %b, %a; ld.param.b32 %v, [%b+8];", false},
        {"mov.b64 %a, p+8; ld.param.b32 %v, [%a];", false},
        {"mov.b64 %a, p; ld.param::func.b32 %v, [%a+8];", false},
        {"mov.b64 %a, p; add.u64 %a, %a, 12; ld.param.b32 %v, [%a+-4];", false},
        {"mov.b64 %a, p; cvt.u32.u64 %w, %a; ld.param.b32 %v, [%w+8];", false},
        {"mov.b64 %a, p; ld.param.v2.b32 {%v, %w}, [%a+8];", false},
        {"mov.b64 %a, p; ld.param.v4.b32 {%w, %w, %v, %w}, [%a];", false},
        {"mov.b64 %a, p; ld.param.b64 %b, [%a+8]; cvt.u32.u64 %v, %b;", false},
        {"mov.b64 %a, p; ld.param.u16 %v, [%a+8]; ld.param.u16 %w, [%a+10];\n"
         "shl.b32 %w, %w, 16; or.b32 %v, %v, %w;",
         false},
        {"mov.b64 %a, p; ld.param.u8 %v, [%a+8]; ld.param.u8 %w, [%a+9]; shl.b32 %w, %w, 8;\n"
         "or.b32 %v, %v, %w; ld.param.u16 %w, [%a+10]; shl.b32 %w, %w, 16; or.b32 %v, %v, %w;",
         false},
        {"mov.b64 %a, p; ld.local.b32 %v, [%a+8];", false},
        {"mov.b64 %a, p; cvta.local.u64 %b, %a; ld.b32 %v, [%b+8];", false},
        {"cvta.param.u64 %a, p; ld.b32 %v, [%a+8];", false},
        {"mov.b64 %a, p; add.u64 %a, %a, %off; ld.param.b32 %v, [%a];", true},
        {"mov.b64 %a, p; add.u64 %a, %a, %off; setp.ne.u32 %q, %lane, 40;\n"
         "@%q ld.param.b32 %v, [%a];",
         true},
        /* The copy may be written by another name for it. */
        {"mov.b64 %a, p; ld.param.b32 %v, [%a+8]; add.u32 %v, %v, 1; st.local.b32 [%a+8], %v;\n"
         "ld.param.b32 %v, [%a+8]; sub.u32 %v, %v, 1;",
         false},
        {"mov.b64 %a, p; cvta.local.u64 %b, %a; ld.param.b32 %w, [%a+8]; not.b32 %w, %w;\n"
         "st.b32 [%b+8], %w; ld.param.b32 %v, [%a+8]; not.b32 %v, %v;",
         false},
        /* The kernel's own, by an address that was passed: its first 32 bytes are the same. */
        {"ld.param.b64 %a, [kernel]; ld.param::entry.b32 %v, [%a+8];", false},
        {"ld.param.b64 %a, [kernel]; add.u64 %a, %a, %off; ld.param::entry.b32 %v, [%a];",
         true},
        {"ld.param.b64 %a, [kernel]; cvta.param.u64 %b, %a; ld.b32 %v, [%b+8];", false},
        {"ld.param.b64 %a, [kernel]; cvta.param::entry.u64 %b, %a; cvta.to.param.u64 %b, %b;\n"
         "ld.param::entry.b32 %v, [%b+8];",
         false},
},
  in_kernel[] = {
      {"ld.param.b32 %v, [bytes+8];", false},
      {"mov.b64 %a, bytes; ld.param.b32 %v, [%a+8];", false},
      {"mov.b64 %a, bytes; ld.param::entry.b32 %v, [%a+8];", false},
      {"mov.b64 %a, bytes; add.u64 %a, %a, %off; ld.param.b32 %v, [%a];", true},
      {"mov.b64 %a, bytes; ld.param.v2.b32 {%v, %w}, [%a+8];", false},
      {"cvta.param.u64 %a, bytes; ld.b32 %v, [%a+8];", false},
      {"cvta.param::entry.u64 %a, bytes; add.u64 %a, %a, %off; ld.b32 %v, [%a];", true},
      {"mov.b64 %a, bytes; cvta.param.u64 %a, %a; ld.b32 %v, [%a+8];", false},
      {"cvta.param.u64 %a, bytes; cvta.to.param.u64 %a, %a; ld.param.b32 %v, [%a+8];",
       false},
};

#define REGS                                                                             \
    ".reg .b64 %a, %b, %off, %o; .reg .b32 %v, %w, %lane; .reg .pred %q;\n"              \
    "mov.u32 %lane, %tid.x; and.b32 %w, %lane, 7; mul.wide.u32 %off, %w, 4;\n"           \
    "mov.u32 %v, 0;\n"
#define STORE                                                                            \
    "ld.param.u64 %o, [out]; mul.wide.u32 %off, %lane, 4; add.u64 %o, %o, %off;\n"       \
    "st.global.u32 [%o], %v; ret;\n}\n"

static void
check(const char *text, bool lanes, const char *passes, bool timed, const char *what)
{
    static const struct allot_options timing = {.max_cycles = 10000000};
    struct rt_kit k;
    uint32_t bytes[8], got[64] = {0};
    rt_open(&k, text, timed ? &timing : NULL);
    if (*passes && !allot_module_opt(k.mod, passes, NULL, k.d))
        fail_msg("%s, %s: %s", what, passes, allot_diag_text(k.d));
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = 0x03020100u + 0x04040404u * i + 0x80000000u * (i & 1);
    uint64_t out = allot_alloc(k.dev, sizeof got, k.d);
    const void *args[2] = {bytes, &out};
    struct allot_launch l = {.module = k.mod,
                             .kernel = "k",
                             .grid = {1, 1, 1},
                             .block = {64, 1, 1},
                             .args = args,
                             .nargs = 2};
    if (!allot_launch(k.dev, &l, k.d))
        fail_msg("%s, %s: %s", what, passes, allot_diag_text(k.d));
    assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
    for (unsigned i = 0; i < 64; i++) {
        uint32_t want = bytes[lanes ? i % 8 : 2];
        if (strstr(what, "%lane, 40") && i == 40)
            want = 0; /* the guard leaves it out */
        if (got[i] != want)
            fail_msg("%s, %s, timed %d, thread %u: %x, not %x", what, passes, timed, i,
                     got[i], want);
    }
    rt_close(&k);
}

static const char *const pipelines[] = {
    "", "cleanup", "cleanup,hoist,repeated-loads,schedule,register-allocate"};

static void
every_way(const char *text, bool lanes, const char *what)
{
    for (size_t p = 0; p < sizeof pipelines / sizeof *pipelines; p++)
        for (int timed = 0; timed < 2; timed++)
            check(text, lanes, pipelines[p], timed, what);
}

/* f is called in a loop of two trips and by a function of its own, so that frames lie at
 * several places. */
static void
in_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof in_function / sizeof *in_function; i++) {
        char text[4096];
        snprintf(
            text, sizeof text, "%s%s%s",
            HEAD
            ".func (.param .b32 r) f(.param .align 16 .b8 p[32], .param .b64 kernel)\n"
            "{\n" REGS,
            in_function[i].text,
            "\nst.param.b32 [r], %v; ret;\n}\n"
            ".func (.param .b32 r) g(.param .align 16 .b8 p[32], .param .b64 kernel)\n"
            "{\n.local .b8 room[48]; .reg .b32 %x; .reg .b64 %y, %z, %k;\n"
            ".param .align 16 .b8 t[32]; .param .b64 s; .param .b32 u;\n"
            "ld.param.b64 %k, [kernel]; st.param.b64 [s], %k;\n"
            "ld.param.v2.b64 {%y, %z}, [p]; st.param.v2.b64 [t], {%y, %z};\n"
            "ld.param.v2.b64 {%y, %z}, [p+16]; st.param.v2.b64 [t+16], {%y, %z};\n"
            "call (u), f, (t, s);\nld.param.b32 %x, [u]; st.param.b32 [r], %x; ret;\n}\n"
            ".visible .entry k(.param .align 16 .b8 bytes[32], .param .u64 out)\n{\n" REGS
            ".reg .b64 %y, %z; .reg .b32 %n, %sum; .reg .pred %go;\n"
            "mov.u32 %n, 0; mov.u32 %sum, 0;\n$loop:\n"
            "{ .param .align 16 .b8 t[32]; .param .b64 s; .param .b32 u;\n"
            "mov.b64 %a, bytes; st.param.b64 [s], %a;\n"
            "ld.param.v2.b64 {%y, %z}, [bytes]; st.param.v2.b64 [t], {%y, %z};\n"
            "ld.param.v2.b64 {%y, %z}, [bytes+16];\n"
            "st.param.v2.b64 [t+16], {%y, %z};\n"
            "call (u), f, (t, s);\nld.param.b32 %v, [u];\n"
            "call (u), g, (t, s);\nld.param.b32 %w, [u];\n}\n"
            "xor.b32 %w, %w, %v; or.b32 %sum, %sum, %w;\n"
            "add.u32 %n, %n, 1; setp.lt.u32 %go, %n, 2; @%go bra $loop;\n"
            "xor.b32 %v, %v, %sum;\n" STORE);
        every_way(text, in_function[i].lanes, in_function[i].text);
    }
}

static void
in_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof in_kernel / sizeof *in_kernel; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s%s",
                 HEAD
                 ".visible .entry k(.param .align 16 .b8 bytes[32], .param .u64 out)\n"
                 "{\n" REGS,
                 in_kernel[i].text, "\n" STORE);
        every_way(text, in_kernel[i].lanes, in_kernel[i].text);
    }
}

/* Parameters are written by their names, and only those of a call. */
static void
stores_are_refused(void **state)
{
    (void)state;
    static const char *const t[][2] = {
        {"mov.b64 %a, p; st.param.b32 [%a], %v;",
         "parameters are written by their names"},
        {"mov.b64 %a, p; st.param::func.b32 [%a], %v;",
         "parameters are written by their names"},
        {"mov.b64 %a, r;", "the address of parameter 'r' cannot be taken"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[1024];
        struct rt_kit k;
        snprintf(
            text, sizeof text, "%s%s%s",
            HEAD ".func (.param .b32 r) f(.param .align 16 .b8 p[32])\n{\n" REGS, t[i][0],
            "\nret;\n}\n.visible .entry k()\n{\n"
            ".param .align 16 .b8 s[32]; .param .b32 u; call (u), f, (s); ret;\n}\n");
        rt_open(&k, text, NULL);
        char *why = allot_kernel_refused(k.mod, "k");
        if (!why || !strstr(why, t[i][1]))
            fail_msg("%s: %s", t[i][0], why ? why : "taken");
        free(why);
        rt_close(&k);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_functions),
        cmocka_unit_test(in_kernels),
        cmocka_unit_test(stores_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
