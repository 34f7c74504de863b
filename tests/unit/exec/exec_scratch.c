/* exec_scratch.c: scratchalloc and scratchfree (003 section 5) as the executor sees them:
 * barriers of all threads, and the rules that a program must keep. */
#include "unit/kit/exec_kit.h"

#define ENTRY                                                                            \
    PTX_HEAD                                                                             \
    ".shared .b32 A[64];\n.visible .entry k(.param .u64 o) {\n.reg .b32 %r<8>;\n"        \
    ".reg .b64 %d<4>;\n.reg .pred %p<4>; mov.u32 %r7, A;\n"

/* What one warp writes before scratchalloc's barrier the other reads behind it. */
static void
they_are_barriers(void **st)
{
    struct kit k;
    (void)st;
    kit_load(&k, ENTRY "ld.param.u64 %d1, [o];\nmov.u32 %r1, %tid.x;\n"
                       "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d2, %d1;\n"
                       "mov.u32 %r5, A;\nshl.b32 %r2, %r1, 2;\nadd.u32 %r2, %r2, %r5;\n"
                       "scratchalloc 0, 256;\nst.shared.u32 [%r2], %r1;\nbar.sync 0;\n"
                       "xor.b32 %r3, %r2, 128;\nld.shared.u32 %r4, [%r3];\nscratchfree;\n"
                       "scratchalloc 0, 256;\nst.shared.u32 [%r2], %r4;\nbar.sync 0;\n"
                       "ld.shared.u32 %r4, [%r3];\nscratchfree;\n"
                       "st.global.u32 [%d2], %r4;\nexit;\n}\n");
    uint64_t out = kit_out(&k, 256);
    kit_run(&k, 3, 64);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(kit_u32(&k, out, i), i);
    kit_free(&k);
}

/* Threads that have ended take no part; the last one to end opens the barrier. */
static void
ended_threads_take_no_part(void **st)
{
    struct kit k;
    (void)st;
    kit_load(&k, ENTRY "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 40;\n@!%p1 exit;\n"
                       "scratchalloc 0, 256;\nst.shared.u32 [A], %r1;\nscratchfree;\n"
                       "setp.lt.u32 %p1, %r1, 32;\n@%p1 exit;\nscratchalloc 0, 256;\n"
                       "scratchfree;\nexit;\n}\n");
    kit_run(&k, 2, 96);
    kit_free(&k);
}

static void
faults_name_the_rule(void **st)
{
    static const struct {
        const char *text, *fault;
    } c[] = {
        {"scratchalloc 0, 256;\nscratchalloc 0, 256;\nexit;\n}\n",
         "test.ptx:10:1: error: kernel 'k', block (0,0,0), thread (32,0,0): scratchalloc in a "
         "block that holds its scratchpad already\n    scratchalloc 0, 256;\n    ^\n"
         "    hint: free what the block holds first\n"},
        {"scratchfree;\nexit;\n}\n",
         "test.ptx:9:1: error: kernel 'k', block (0,0,0), thread (0,0,0): scratchfree in a "
         "block that holds no allocated scratchpad\n    scratchfree;\n    ^\n"},
        {"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 scratchalloc 0, 256;\nexit;\n"
         "}\n",
         "test.ptx:11:6: error: kernel 'k', block (0,0,0), thread (0,0,0): not all threads of "
         "the warp take part in this scratchalloc\n    @%p1 scratchalloc 0, 256;\n"
         "         ^\n"},
    };
    (void)st;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct strbuf b = {0};
        struct kit k;
        strbuf_printf(&b, "%s%s", ENTRY, c[i].text);
        kit_load(&k, b.s);
        kit_fault(&k, 1, 64, c[i].fault);
        kit_free(&k);
        strbuf_free(&b);
    }
}

/* One warp allocates while the other waits for nothing: it is said what is missing. */
static void
a_warp_that_never_comes_is_explained(void **st)
{
    struct kit k;
    (void)st;
    kit_load(&k, ENTRY "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n"
                       "@%p1 bra FIRST;\nbar.sync 0;\nexit;\nFIRST:\n"
                       "scratchalloc 0, 256;\nexit;\n}\n");
    kit_fault(
        &k, 1, 64,
        "test.ptx:15:1: error: kernel 'k': block (0,0,0) waits at barriers for ever: "
        "barrier 0: 1 of 2 live warps arrived, waiting: warp 1 at line 12; "
        "scratchalloc: 1 of 2 live warps arrived, waiting: warp 0 at line 15\n"
        "    scratchalloc 0, 256;\n    ^\n");
    kit_free(&k);
}

static void
one_part_in_a_kernel(void **st)
{
    static const struct {
        const char *text, *why;
    } c[] = {
        {"scratchalloc 0, 256;\nscratchfree;\nscratchalloc 0, 128;\nexit;\n}\n",
         "it takes 256 bytes from byte 0 elsewhere"},
        {"scratchalloc 0, %r1;\nexit;\n}\n", "are literals"},
        {"scratchalloc 0, 0;\nexit;\n}\n", "are no part of a scratchpad"},
        {"scratchalloc 16777217, 4;\nexit;\n}\n", "are no part of a scratchpad"},
    };
    (void)st;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct strbuf b = {0}, out = {0};
        struct kit k;
        strbuf_printf(&b, "%s%s", ENTRY, c[i].text);
        assert_false(kit_try(&k, b.s));
        diag_print(&k.diag, &out);
        if (!strstr(out.s, c[i].why))
            fail_msg("%s\nis refused otherwise:\n%s", c[i].text, out.s);
        kit_free(&k);
        strbuf_free(&b);
        strbuf_free(&out);
    }
}

static void
more_than_the_block_has(void **st)
{
    struct kit k;
    (void)st;
    kit_load(&k, ENTRY "scratchalloc 16, 256;\nscratchfree;\nexit;\n}\n");
    k.g.grid = k.g.block = (struct exec_dim){1, 1, 1};
    assert_false(exec_grid_check(&k.g, &k.diag));
    struct strbuf out = {0};
    diag_print(&k.diag, &out);
    assert_non_null(strstr(out.s,
                           "test.ptx:9:1: error: launch of kernel 'k': scratchalloc "
                           "takes bytes 16 to 271, but a block has 256 bytes"));
    strbuf_free(&out);
    kit_free(&k);
}

/* With --check-analyses: accesses outside are faults, and what is taken holds nothing of
 * what was in it. */
static void
check_of_accesses(void **st)
{
    static const char text[] =
        ENTRY "ld.param.u64 %d1, [o];\nmov.u32 %r1, 7;\nst.shared.u32 [A], %r1;\n"
              "scratchalloc 4, 252;\nst.shared.u32 [A+4], %r1;\nscratchfree;\n"
              "scratchalloc 4, 252;\nld.shared.u32 %r2, [A];\nld.shared.u32 %r3, [A+4];\n"
              "st.global.u32 [%d1], %r2;\nst.global.u32 [%d1+4], %r3;\nscratchfree;\n";
    struct strbuf b = {0};
    struct kit k;
    (void)st;
    strbuf_printf(&b, "%sexit;\n}\n", text);
    kit_load(&k, b.s);
    exec_check_analyses(k.p);
    uint64_t out = kit_out(&k, 8);
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u32(&k, out, 0), 7);
    assert_int_equal(kit_u32(&k, out, 1), 0xa5a5a5a5);
    kit_free(&k);
    b.n = 0;
    strbuf_printf(&b, "%sst.shared.u32 [A+4], %%r1;\nexit;\n}\n", text);
    kit_load(&k, b.s);
    exec_check_analyses(k.p);
    kit_out(&k, 8);
    kit_fault(
        &k, 1, 1,
        "test.ptx:21:1: error: kernel 'k', block (0,0,0), thread (0,0,0): access to "
        "scratchpad byte 4 (A) outside of what the block holds\n"
        "    st.shared.u32 [A+4], %r1;\n    ^\n"
        "    hint: it lies in the part that scratchalloc takes\n");
    kit_free(&k);
    strbuf_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_barriers),
        cmocka_unit_test(ended_threads_take_no_part),
        cmocka_unit_test(faults_name_the_rule),
        cmocka_unit_test(a_warp_that_never_comes_is_explained),
        cmocka_unit_test(one_part_in_a_kernel),
        cmocka_unit_test(more_than_the_block_has),
        cmocka_unit_test(check_of_accesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
