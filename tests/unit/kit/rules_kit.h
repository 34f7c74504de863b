/* rules_kit.h: rules of a pass, each by a small kernel whose result is known by hand. The kernel
 * runs as it is, behind the pass, and behind the pass and the clean-up with physical registers.
 *
 * A rule's body is run by 64 threads. Thread t has x = t mod 32 in %r1 and t in %r2; %p1 says
 * x < 7, %p2 that x is odd, %p3 that x > 20; %d1 is the address of its x, %d3 that of its two
 * words of results, which are 0; %r10 is 100, and goes to the first of them in the end. Function
 * inc(a) is a + 1. Free: %r5 to %r15, %d5 to %d9, %p4. */
#ifndef ALLOT_TEST_RULES_KIT_H
#define ALLOT_TEST_RULES_KIT_H

#include "allot/allot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

enum { RULES_THREADS = 64 };

struct rules_rule {
    const char *name, *body;
    unsigned branches, guards; /* behind the pass: bra; guarded instructions but them */
    uint32_t (*result)(uint32_t x);
    uint32_t (*second)(uint32_t x); /* NULL: the second word stays 0 */
};

static char *
rules_kernel(const char *body)
{
    struct strbuf b = {0};
    strbuf_printf(
        &b,
        ".version 7.8\n.target sm_80\n.address_size 64\n"
        ".func (.param .b32 o) inc(.param .b32 i)\n{\n.reg .b32 %%r<3>;\n"
        "ld.param.b32 %%r1, [i];\nadd.u32 %%r1, %%r1, 1;\nst.param.b32 [o], %%r1;\nret;\n}\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %%p<6>;\n.reg .b32 %%r<20>;\n.reg .b64 %%d<10>;\n"
        "ld.param.u64 %%d1, [in];\nld.param.u64 %%d3, [out];\nmov.u32 %%r2, %%tid.x;\n"
        "mul.wide.u32 %%d4, %%r2, 4;\nadd.u64 %%d1, %%d1, %%d4;\n"
        "mul.wide.u32 %%d4, %%r2, 8;\nadd.u64 %%d3, %%d3, %%d4;\n"
        "ld.global.u32 %%r1, [%%d1];\nmov.u32 %%r10, 100;\nand.b32 %%r3, %%r1, 1;\n"
        "setp.lt.u32 %%p1, %%r1, 7;\nsetp.ne.u32 %%p2, %%r3, 0;\n"
        "setp.gt.u32 %%p3, %%r1, 20;\n%s\nst.global.u32 [%%d3], %%r10;\nret;\n}\n",
        body);
    return strbuf_take(&b);
}

static void
rules_run(struct allot_module *m, uint32_t out[RULES_THREADS][2], const char *name)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    struct allot_options o = {.functional = true};
    struct allot_device *dev = allot_device_new(machine, &o, d);
    const size_t bytes = RULES_THREADS * sizeof *out;
    uint32_t x[RULES_THREADS];
    for (uint32_t t = 0; t < RULES_THREADS; t++)
        x[t] = t % 32;
    uint64_t in = allot_alloc(dev, sizeof x, d), to = allot_alloc(dev, bytes, d);
    memset(out, 0, bytes);
    assert_true(allot_write(dev, in, x, sizeof x, d));
    assert_true(allot_write(dev, to, out, bytes, d));
    const void *args[] = {&in, &to};
    struct allot_launch l = {.module = m,
                             .kernel = "k",
                             .grid = {1, 1, 1},
                             .block = {RULES_THREADS, 1, 1},
                             .args = args,
                             .nargs = 2};
    if (!allot_launch(dev, &l, d))
        fail_msg("%s: %s", name, allot_diag_text(d));
    assert_true(allot_read(dev, to, out, bytes, d));
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_diag_free(d);
}

/* Lines of the kernel that are branches, and guarded ones that are not. */
static void
rules_count(const char *text, unsigned *branches, unsigned *guards)
{
    *branches = *guards = 0;
    for (const char *p = strstr(text, ".entry k"); p && *p; p += *p != 0) {
        p += strspn(p, " \t\n");
        const char *end = p + strcspn(p, "\n"), *op = p;
        if (*p == '@')
            op = p + strcspn(p, " ") + 1;
        const bool branch = !strncmp(op, "bra ", 4) || !strncmp(op, "bra.uni ", 8);
        *branches += branch;
        *guards += *p == '@' && !branch;
        p = end;
    }
}

static void
rules_check(const struct rules_rule *r, const char *pass)
{
    char *text = rules_kernel(r->body);
    for (unsigned k = 0; k < 3; k++) {
        struct allot_diag *d = allot_diag_new();
        struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
        struct strbuf passes = {0};
        strbuf_printf(&passes, k == 2 ? "%s,cleanup,register-allocate" : "%s", pass);
        if (!m || (k && !allot_module_opt(m, passes.s, NULL, d)))
            fail_msg("%s: %s", r->name, allot_diag_text(d));
        char *printed = allot_module_print(m);
        unsigned branches, guards;
        rules_count(printed, &branches, &guards);
        if (k == 1 && (branches != r->branches || guards != r->guards))
            fail_msg("%s: %u branches and %u guards, not %u and %u\n%s", r->name,
                     branches, guards, r->branches, r->guards, printed);
        uint32_t out[RULES_THREADS][2];
        rules_run(m, out, r->name);
        for (uint32_t t = 0; t < RULES_THREADS; t++) {
            const uint32_t x = t % 32, first = r->result(x);
            const uint32_t second = r->second ? r->second(x) : 0;
            if (out[t][0] != first || out[t][1] != second)
                fail_msg("%s, %s, x %u: %u and %u, not %u and %u\n%s", r->name,
                         k ? passes.s : "as it is", x, out[t][0], out[t][1], first,
                         second, printed);
        }
        strbuf_free(&passes);
        free(printed);
        allot_module_free(m);
        allot_diag_free(d);
    }
    free(text);
}

static void
rules_check_all(const struct rules_rule *r, size_t n, const char *pass)
{
    for (size_t i = 0; i < n; i++)
        rules_check(&r[i], pass);
}

#endif
