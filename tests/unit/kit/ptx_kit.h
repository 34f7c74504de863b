/* ptx_kit.h: helpers of the tests of the PTX front end. */
#ifndef TESTS_PTX_KIT_H
#define TESTS_PTX_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ptx/parse.h"
#include "ptx/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
/* A kernel with registers of every kind around `text`, whose first line is line 14. */
#define KERNEL(text)                                                                     \
    HEAD ".visible .entry k(.param .u64 p, .param .b32 q)\n{\n"                          \
         ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"    \
         ".reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n.reg .s32 %s<4>;\n.shared .align 8 .b8 "  \
         "sm[64];\n" text "\n}\n"

/* Parses; fails the test with the messages if there are any. */
__attribute__((unused)) static struct ptx_module *
kit_parse(const char *text)
{
    struct diag_sink diag = {0};
    struct ptx_module *m = ptx_parse("t.ptx", text, strlen(text), &diag);
    if (!m) {
        struct strbuf b = {0};
        diag_print(&diag, &b);
        fail_msg("%s", b.s);
    }
    assert_int_equal(diag.errors, 0);
    diag_free(&diag);
    return m;
}

/* Prints, parses again, and compares; fails the test if anything changed. */
__attribute__((unused)) static void
kit_roundtrip(const struct ptx_module *m, struct strbuf *printed)
{
    struct strbuf text = {0};
    struct diag_sink diag = {0};
    ptx_print(m, &text);
    struct ptx_module *n = ptx_parse("printed", text.s, text.n, &diag);
    if (!n) {
        struct strbuf b = {0};
        diag_print(&diag, &b);
        fail_msg("printed text does not parse:\n%s", b.s);
    }
    char *why = NULL;
    if (!ptx_equal(m, n, &why))
        fail_msg("%s: changed by printing: %s", m->file, why);
    ptx_module_free(n);
    diag_free(&diag);
    if (printed)
        *printed = text;
    else
        strbuf_free(&text);
}

/* Body of the first function that has one. */
__attribute__((unused)) static const struct ptx_func *
kit_func(const struct ptx_module *m)
{
    for (size_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.v[i]->has_body)
            return m->funcs.v[i];
    fail_msg("no function with a body");
    return NULL;
}

/* First instruction of the body that is not a label or a directive. */
__attribute__((unused)) static const struct ptx_inst *
kit_inst(const struct ptx_module *m, size_t skip)
{
    const struct ptx_func *f = kit_func(m);
    for (size_t i = 0; i < f->body.n; i++)
        if (!(ptx_ops[f->body.v[i].op].flags & PTX_PSEUDO) && !skip--)
            return &f->body.v[i];
    fail_msg("too few instructions");
    return NULL;
}

/* Path of ptxas, or NULL; $PTXAS overrides. */
__attribute__((unused)) static const char *
kit_ptxas(void)
{
    static const char *const places[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas",
                                         "/opt/cuda/bin/ptxas"};
    const char *own = getenv("PTXAS");
    if (own)
        return access(own, X_OK) ? NULL : own;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!access(places[i], X_OK))
            return places[i];
    return NULL;
}

/* Runs ptxas on the text; 0: accepted. Its output goes to *out. */
__attribute__((unused)) static int
kit_assemble(const char *ptxas, const char *text, const char *arch, struct strbuf *out)
{
    char dir[] = "/tmp/allot-ptx-XXXXXX", in[64], cmd[512];
    if (!mkdtemp(dir))
        fail_msg("mkdtemp");
    snprintf(in, sizeof in, "%s/a.ptx", dir);
    FILE *f = fopen(in, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    snprintf(cmd, sizeof cmd, "%s -c -arch=%s -o %s/a.cubin %s 2>&1", ptxas, arch, dir,
             in);
    FILE *p = popen(cmd, "r");
    assert_non_null(p);
    char line[4096];
    while (fgets(line, sizeof line, p))
        strbuf_addz(out, line);
    int rc = pclose(p);
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    if (system(cmd))
        fail_msg("%s", cmd);
    return rc;
}

#endif
