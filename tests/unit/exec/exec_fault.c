/* Every way to go wrong, with the exact text the user reads. */
#include "unit/kit/exec_kit.h"

#define BODY(decls, code)                                                                \
    PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"                    \
             ".reg .u64 %d<8>; .reg .u32 %r<8>; .reg .pred %q<4>;\n" decls "\n"          \
             "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;\n"   \
             "add.u64 %d2, %d0, %d1;\n" code "\nret;\n}\n"
/* the code stands in line 10 */

static void
expect(const char *ptx, uint64_t p, unsigned grid, unsigned block, const char *message)
{
    struct kit k;
    kit_load(&k, ptx);
    kit_param(&k, 1, p);
    enum exec_result r =
        kit_launch(&k, (struct exec_dim){grid, 1, 1}, (struct exec_dim){block, 1, 1});
    assert_int_equal(r, EXEC_FAULT);
    assert_int_equal(k.diag.errors, 1);
    assert_string_equal(k.diag.list[0]->message, message);
    assert_non_null(k.diag.list[0]->source);
    kit_free(&k);
}

/* The same with p = a buffer of `bytes`; it is always the first: 0x10000000. */
static void
expect_buf(const char *ptx, uint64_t bytes, unsigned grid, unsigned block,
           const char *message)
{
    struct kit k;
    kit_load(&k, ptx);
    assert_int_equal(kit_buf(&k, bytes), 0x10000000);
    kit_param(&k, 1, 0x10000000);
    enum exec_result r =
        kit_launch(&k, (struct exec_dim){grid, 1, 1}, (struct exec_dim){block, 1, 1});
    assert_int_equal(r, EXEC_FAULT);
    assert_int_equal(k.diag.errors, 1);
    assert_string_equal(k.diag.list[0]->message, message);
    assert_int_equal(k.diag.list[0]->line, 10);
    kit_free(&k);
}

static void
whole_diagnostic(void **state)
{
    struct kit k;
    kit_load(&k, BODY("", "ld.global.u32 %r1, [%d2+8];"));
    kit_param(&k, 1, kit_buf(&k, 128));
    kit_fault(&k, 3, 32,
              "test.ptx:10:1: error: kernel 'k', block (0,0,0), thread (30,0,0): global "
              "load of "
              "4 bytes at 0x10000080 is out of bounds: nearest allocation: 128 bytes at "
              "0x10000000 (parameter 2, 'p'), which ends right before it\n"
              "    ld.global.u32 %r1, [%d2+8];\n"
              "    ^\n");
    kit_free(&k);
}

static void
out_of_bounds(void **state)
{
    expect_buf(
        BODY("", "ld.global.u32 %r1, [%d2+8];"), 4096, 33, 1024,
        "kernel 'k', block (0,0,0), thread (1022,0,0): global load of 4 bytes at "
        "0x10001000 is out of bounds: nearest allocation: 4096 bytes at 0x10000000 (parameter 2, 'p'), "
        "which ends right before it");
}

static void
out_of_bounds_kinds(void **state)
{
    expect_buf(
        BODY("", "st.global.u32 [%d2+4], %r0;"), 128, 2, 32,
        "kernel 'k', block (0,0,0), thread (31,0,0): global store of 4 bytes at "
        "0x10000080 is out of bounds: nearest allocation: 128 bytes at 0x10000000 (parameter 2, 'p'), "
        "which ends right before it");
    expect_buf(
        BODY("", "st.global.u32 [%d2+-64], %r0;"), 128, 2, 16,
        "kernel 'k', block (0,0,0), thread (0,0,0): global store of 4 bytes at "
        "0xfffffc0 is out of bounds: nearest allocation: 128 bytes at 0x10000000 (parameter 2, 'p'), "
        "which starts 64 bytes above");
    expect_buf(
        BODY("", "atom.global.add.u32 %r1, [%d2+1024], 1;"), 128, 1, 1,
        "kernel 'k', block (0,0,0), thread (0,0,0): global atomic of 4 bytes at "
        "0x10000400 is out of bounds: nearest allocation: 128 bytes at 0x10000000 (parameter 2, 'p'), "
        "which ended 896 bytes below");
    expect_buf(
        BODY("", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0];"), 12, 1, 1,
        "kernel 'k', block (0,0,0), thread (0,0,0): global load of 16 bytes at "
        "0x10000000 is out of bounds: nearest allocation: 12 bytes at 0x10000000 (parameter 2, 'p'), of "
        "which it overruns the end by 4 bytes");
    expect_buf(
        BODY("", "ld.u64 %d3, [%d0+8];"), 8, 1, 1,
        "kernel 'k', block (0,0,0), thread (0,0,0): global load of 8 bytes at "
        "0x10000008 is out of bounds: nearest allocation: 8 bytes at 0x10000000 (parameter 2, 'p'), which "
        "ends right before it");
}

static void
misaligned(void **state)
{
    expect_buf(BODY("", "ld.global.u32 %r1, [%d0+2];"), 64, 1, 1,
               "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at "
               "0x10000002 is misaligned: it must be a multiple of 4");
    expect_buf(BODY("", "st.global.v2.u32 [%d2], {%r0, %r0};"), 512, 1, 32,
               "kernel 'k', block (0,0,0), thread (1,0,0): global store of 8 bytes at "
               "0x10000004 is misaligned: it must be a multiple of 8");
    expect_buf(
        BODY(".shared .align 16 .b8 s[64];", "ld.shared.u16 %r1, [s+1];"), 64, 1, 1,
        "kernel 'k', block (0,0,0), thread (0,0,0): shared load of 2 bytes at 0x1 is "
        "misaligned: it must be a multiple of 2");
}

static void
null_pointer(void **state)
{
    struct kit k;
    kit_load(&k, BODY("", "st.global.u32 [%d2], %r0;"));
    kit_fault(&k, 1, 1,
              "test.ptx:10:1: error: kernel 'k', block (0,0,0), thread (0,0,0): global "
              "store of "
              "4 bytes at 0x0 is a null pointer access\n"
              "    st.global.u32 [%d2], %r0;\n"
              "    ^\n"
              "    hint: a pointer was never set: is a parameter of the launch missing "
              "or 0?\n");
    kit_free(&k);
    expect(BODY("", "ld.u32 %r1, [%d2];"), 0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at 0x0 is "
           "a null "
           "pointer access");
}

static void
nothing_allocated(void **state)
{
    expect(BODY("", "ld.global.u32 %r1, [%d2];"), 0x20000000, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at "
           "0x20000000 is "
           "out of bounds: nothing is allocated");
}

static void
use_after_free(void **state)
{
    struct kit k;
    kit_load(&k, BODY("", "ld.global.u32 %r1, [%d2+16];"));
    uint64_t a = kit_buf(&k, 128);
    kit_param(&k, 1, a);
    kit_run(&k, 1, 1);
    assert_true(dev_release(k.mem, a));
    assert_int_equal(
        kit_launch(&k, (struct exec_dim){1, 1, 1}, (struct exec_dim){1, 1, 1}),
        EXEC_FAULT);
    assert_string_equal(
        k.diag.list[0]->message,
        "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at "
        "0x10000010 is a use after free: it lies 16 bytes into an allocation "
        "of 128 bytes at 0x10000000 that was freed (parameter 2, 'p')");
    kit_free(&k);
}

/* A block that runs on while memory is freed between two launches of one resident block.
 */
static void
freed_between_blocks(void **state)
{
    struct kit k;
    kit_load(&k, BODY("", "ld.global.u32 %r1, [%d2];"));
    uint64_t a = kit_buf(&k, 128);
    kit_param(&k, 1, a);
    k.g.grid = (struct exec_dim){2, 1, 1};
    k.g.block = (struct exec_dim){32, 1, 1};
    struct exec_cta *c = exec_cta_new(&k.g);
    struct exec_step s;
    exec_cta_start(c, 0);
    while (c->live_warps)
        assert_int_equal(exec_step(&c->warp[0], &s), EXEC_OK);
    dev_release(k.mem, a);
    exec_cta_start(c, 1);
    enum exec_result r = EXEC_OK;
    while (c->live_warps && r == EXEC_OK)
        r = exec_step(&c->warp[0], &s);
    assert_int_equal(r, EXEC_FAULT);
    assert_int_equal(s.pc, 4);
    exec_cta_free(c);
    kit_free(&k);
}

static void
wrong_space(void **state)
{
    expect(BODY(".shared .b8 s[64];",
                "mov.u64 %d3, s; cvta.shared.u64 %d3, %d3; ld.global.u32 %r1, [%d3+4];"),
           0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at "
           "0x1000004 is "
           "in the wrong space: that is a generic address of .shared");
    expect_buf(BODY(".shared .b8 s[64];", "ld.shared.u32 %r1, [%d2];"), 64, 1, 1,
               "kernel 'k', block (0,0,0), thread (0,0,0): shared load of 4 bytes at "
               "0x10000000 is out of bounds: the block's scratchpad has 64 bytes");
}

static void
outside_scratchpad(void **state)
{
    expect(BODY(".shared .align 4 .b8 s[100];", "st.shared.u32 [%d1], %r0;"), 0, 2, 64,
           "kernel 'k', block (0,0,0), thread (25,0,0): shared store of 4 bytes at 0x64 "
           "is out "
           "of bounds: the block's scratchpad has 100 bytes; nearest "
           "is 's', 100 bytes at 0x0, which ends right before it");
    expect(
        BODY(".shared .align 4 .b8 s[100];",
             "cvta.shared.u64 %d3, %d1; ld.u32 %r1, [%d3+40];"),
        0, 2, 64,
        "kernel 'k', block (0,0,0), thread (15,0,0): shared load of 4 bytes at 0x64 "
        "(by a "
        "generic address) is out of bounds: the block's scratchpad has 100 bytes; nearest "
        "is 's', 100 bytes at 0x0, which ends right before it");
    expect(BODY("", "atom.shared.add.u32 %r1, [%d1], 1;"), 0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): shared atomic of 4 bytes at 0x0 "
           "is out "
           "of bounds: the block's scratchpad has 0 bytes");
}

static void
forgotten_dynamic_scratchpad(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".extern .shared .align 4 .b8 dyn[];\n"
                          ".visible .entry k()\n{\n"
                          "st.shared.u32 [dyn], 1;\nret;\n}\n");
    kit_fault(
        &k, 1, 1,
        "test.ptx:7:1: error: kernel 'k', block (0,0,0), thread (0,0,0): shared store of "
        "4 bytes at 0x0 is out of bounds: the block's scratchpad has 0 bytes\n"
        "    st.shared.u32 [dyn], 1;\n"
        "    ^\n"
        "    hint: the launch gave 0 bytes of dynamic scratchpad: is that meant?\n");
    kit_free(&k);
}

static void
outside_local_memory(void **state)
{
    expect(BODY(".local .align 4 .b8 l[40];", "mov.u64 %d3, l; add.u64 %d3, %d3, %d1; "
                                              "st.local.u32 [%d3], 1;"),
           0, 1, 32,
           "kernel 'k', block (0,0,0), thread (12,0,0): local store of 4 bytes at 0x30 "
           "is out "
           "of bounds: the thread's local memory has 48 bytes; nearest is "
           "'l', 40 bytes at 0x0, which ended 8 bytes below");
}

static void
outside_constants_and_parameters(void **state)
{
    expect(PTX_HEAD ".const .align 4 .b8 c[16];\n"
                    ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"
                    ".reg .u64 %d<4>; .reg .u32 %r<4>; mov.u64 %d1, c;\n"
                    "ld.const.u32 %r1, [%d1+16];\nret;\n}\n",
           0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): const load of 4 bytes at 0x10 is "
           "out of "
           "bounds: constant memory has 16 bytes; nearest is 'c', 16 bytes at 0x0, "
           "which ends right before it");
    expect(PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"
                    ".reg .u32 %r<4>;\n"
                    "ld.param.u32 %r1, [p+8];\nret;\n}\n",
           0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): param load of 4 bytes at 0x10 is "
           "out of "
           "bounds: the parameter block has 16 bytes; nearest is 'p', 8 bytes at "
           "0x8, which ends right before it");
    expect(
        PTX_HEAD
        ".const .align 4 .b8 c[16];\n"
        ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"
        ".reg .u64 %d<4>; .reg .u32 %r<4>; mov.u64 %d1, c; cvta.const.u64 %d1, %d1;\n"
        "st.u32 [%d1+4], 1;\nret;\n}\n",
        0, 1, 1,
        "kernel 'k', block (0,0,0), thread (0,0,0): const store of 4 bytes at 0x4 (by a "
        "generic address) writes read-only memory");
}

static void
names_what_is_near(void **state)
{
    /* Behind the first variable's end is padding that belongs to none. */
    expect(BODY(".shared .align 4 .b8 a[40]; .shared .align 4 .b8 b[20];",
                "st.shared.u32 [b+24], %r0;"),
           0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): shared store of 4 bytes at 0x40 "
           "is out of bounds: the block's scratchpad has 60 bytes; nearest is 'b', 20 "
           "bytes at 0x28, which ended 4 bytes below");
    expect(BODY(".shared .align 4 .b8 a[40]; .shared .align 4 .b8 b[20];",
                "mov.u32 %r1, a; ld.shared.u32 %r2, [%r1+-8];"),
           0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): shared load of 4 bytes at "
           "0xfffffff8 is out of bounds: the block's scratchpad has 60 bytes; nearest is "
           "'a', 40 bytes at 0x0, which starts 8 bytes above");
    expect(PTX_HEAD ".global .align 4 .b8 table[64];\n"
                    ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"
                    ".reg .u32 %r<4>;\nld.global.u32 %r1, [table+64];\nret;\n}\n",
           0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at "
           "0x10000040 is out of bounds: nearest allocation: 64 bytes at 0x10000000 "
           "(variable 'table'), which ends right before it");
    /* A pointer in the middle of a structure. */
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .align 8 .b8 s[24])\n{\n"
                          ".reg .u64 %d<4>; .reg .u32 %r<4>;\nld.param.u64 %d1, [s+8];\n"
                          "ld.global.u32 %r1, [%d1+128];\nret;\n}\n");
    uint64_t a = kit_buf(&k, 128);
    memcpy(k.params + 8, &a, 8);
    assert_int_equal(
        kit_launch(&k, (struct exec_dim){1, 1, 1}, (struct exec_dim){1, 1, 1}),
        EXEC_FAULT);
    assert_string_equal(
        k.diag.list[0]->message,
        "kernel 'k', block (0,0,0), thread (0,0,0): global load of 4 bytes at 0x10000080 "
        "is out of bounds: nearest allocation: 128 bytes at 0x10000000 (parameter 1, "
        "'s', byte 8), which ends right before it");
    kit_free(&k);
}

/* Notes say which line of the source it was, in which function, inlined where. */
static void
names_the_source_line(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n"
                      ".reg .u32 %r<4>;\n"
                      ".loc 2 40 3\n"
                      "mov.u32 %r0, 1;\n"
                      ".loc 1 7 9, function_name $L__info_string0, inlined_at 2 41 5\n"
                      "trap;\n"
                      ".loc 2 42 1\nret;\n}\n"
                      ".file 1 \"src/inner.h\"\n.file 2 \"src/outer.cu\", 1, 2\n");
    kit_fault(&k, 1, 1,
              "test.ptx:10:1: error: kernel 'k', block (0,0,0), thread (0,0,0): trap\n"
              "    trap;\n"
              "    ^\n"
              "src/inner.h:7:9: note: written here\n"
              "src/outer.cu:41:5: note: inlined here\n");
    kit_free(&k);
    /* A file without a name, a line 0 (made by the compiler): no note. */
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n"
                          ".loc 3 40 3\ntrap;\nret;\n}\n.file 1 \"a.cu\"\n");
    kit_fault(&k, 1, 1,
              "test.ptx:7:1: error: kernel 'k', block (0,0,0), thread (0,0,0): trap\n"
              "    trap;\n"
              "    ^\n");
    kit_free(&k);
}

static void
traps(void **state)
{
    expect(BODY("", "setp.eq.u32 %q1, %r0, 3; @%q1 trap;"), 0, 2, 32,
           "kernel 'k', block (0,0,0), thread (3,0,0): trap");
}

static void
barrier_misuse(void **state)
{
    expect(BODY("", "mov.u32 %r1, 16; bar.sync %r1;"), 0, 1, 32,
           "kernel 'k', block (0,0,0), thread (0,0,0): barrier 16: there are barriers 0 "
           "to 15");
    expect(BODY("", "bar.sync 0, 48;"), 0, 1, 64,
           "kernel 'k', block (0,0,0), thread (0,0,0): barrier 0 with a count of 48 "
           "threads: it "
           "must be a positive multiple of the warp size, 32");
    expect(BODY("", "bar.sync 0, 0;"), 0, 1, 64,
           "kernel 'k', block (0,0,0), thread (0,0,0): barrier 0 with a count of 0 "
           "threads: it "
           "must be a positive multiple of the warp size, 32");
    expect(BODY("", "bar.sync 0, 96;"), 0, 1, 64,
           "kernel 'k', block (0,0,0), thread (0,0,0): barrier 0 with a count of 96 "
           "threads, "
           "but the block has only 64");
    expect(BODY("", "mov.u32 %r1, %warpid; add.u32 %r1, %r1, 2; shl.b32 %r1, %r1, 5; "
                    "bar.sync 0, %r1;"),
           0, 1, 128,
           "kernel 'k', block (0,0,0), thread (32,0,0): barrier 0 with a count of 96 "
           "threads, "
           "but others wait there with a count of 64");
}

static void
waiting_for_ever(void **state)
{
    struct kit k;
    kit_load(&k, BODY("", "mov.u32 %r1, %warpid; bar.sync %r1;"));
    kit_fault(
        &k, 2, 64,
        "test.ptx:10:23: error: kernel 'k': block (0,0,0) waits at barriers for ever: "
        "barrier 0: 1 of 2 live warps arrived, waiting: warp 0 at line 10; barrier 1: 1 "
        "of "
        "2 live warps arrived, waiting: warp 1 at line 10\n"
        "    mov.u32 %r1, %warpid; bar.sync %r1;\n"
        "                          ^\n");
    kit_free(&k);
    expect(
        BODY("", "mov.u32 %r1, %warpid; setp.eq.u32 %q1, %r1, 1; @%q1 bar.sync 0, 64;"),
        0, 1, 64,
        "kernel 'k': block (0,0,0) waits at barriers for ever: barrier 0: 1 of 2 warps "
        "(64 "
        "threads) arrived, waiting: warp 1 at line 10; 1 of 2 warps have ended");
}

static void
endless_kernels_stop(void **state)
{
    struct kit k;
    kit_load(&k, BODY("", "L:\nbra L;"));
    k.g.limit = 1000;
    kit_fault(
        &k, 1, 32,
        "test.ptx:11:1: error: kernel 'k' stopped after 1000 warp instructions, the "
        "limit; block (0,0,0) warp 0 was here\n"
        "    bra L;\n"
        "    ^\n"
        "    hint: raise the limit if the kernel is only long; if it waits for another "
        "block or diverged thread, it never ends\n");
    kit_free(&k);
}

static void
stack_overflow(void **state)
{
    static const char *const text =
        PTX_HEAD ".func f(.param .u32 x)\n{ .reg .u32 %%r; .local .align 4 .b8 l[%s];\n"
                 "{ .param .u32 a;\nld.param.u32 %%r, [x]; st.param.u32 [a], %%r;\n"
                 "call f, (a);\n}\nret;\n}\n"
                 ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"
                 "{ .param .u32 a; st.param.u32 [a], 1; call f, (a); }\nret;\n}\n";
    char s[1000];
    snprintf(s, sizeof s, text, "4");
    expect(s, 0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): stack overflow: more than 1024 "
           "nested "
           "calls");
    snprintf(s, sizeof s, text, "8192");
    expect(s, 0, 1, 1,
           "kernel 'k', block (0,0,0), thread (0,0,0): stack overflow: the frames of 65 "
           "nested "
           "calls take more than 524288 bytes of local memory a thread");
}

static void
wild_calls(void **state)
{
    expect(
        PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 p)\n{\n"
                 ".reg .u64 %d; ld.param.u64 %d, [p];\n"
                 "pr: .callprototype _ ();\n"
                 "call %d, (), pr;\nret;\n}\n",
        0x1234, 1, 1,
        "kernel 'k', block (0,0,0), thread (0,0,0): call to 0x1234, which is no function "
        "that this call can reach");
}

static void
wild_indexed_branch(void **state)
{
    expect(BODY("", "ts: .branchtargets A, B;\nbrx.idx %r0, ts;\nA:\nB:\n"), 0, 1, 3,
           "kernel 'k', block (0,0,0), thread (2,0,0): brx.idx with index 2, but the "
           "list has 2 "
           "targets");
}

/* -- launches -- */

static void
launch_errors(void **state)
{
    struct kit k;
    struct exec_dim one = {1, 1, 1};
#define LAUNCH(G, B, TEXT)                                                               \
    do {                                                                                 \
        struct exec_dim g = G, b = B;                                                    \
        diag_free(&k.diag);                                                              \
        assert_int_equal(kit_launch(&k, g, b), EXEC_FAULT);                              \
        assert_string_equal(k.diag.list[0]->message, "launch of kernel 'k': " TEXT);     \
    } while (0)
#define DIM(...) ((struct exec_dim){__VA_ARGS__})
    kit_load(&k, BODY("", ""));
    LAUNCH(DIM(0, 1, 1), one, "the grid (0,1,1) is empty");
    LAUNCH(
        DIM(1, 65536, 1), one,
        "the grid (1,65536,1) is larger than (2147483647,65535,65535) or has more than "
        "4294967295 blocks");
    LAUNCH(one, DIM(32, 0, 1), "the block (32,0,1) is empty");
    LAUNCH(
        one, DIM(1025, 1, 1),
        "the block (1025,1,1) of 1025 threads is larger than (1024,1024,64) or has more than 1024 "
        "threads");
    LAUNCH(
        one, DIM(33, 32, 1),
        "the block (33,32,1) of 1056 threads is larger than (1024,1024,64) or has more than 1024 "
        "threads");
    LAUNCH(
        one, DIM(1, 1, 65),
        "the block (1,1,65) of 65 threads is larger than (1024,1024,64) or has more than 1024 threads");
    k.g.params = NULL;
    LAUNCH(one, one, "its 2 parameters (16 bytes) are missing");
    k.g.params = k.params;
    k.g.dynamic_shared = 1u << 31;
    LAUNCH(one, one,
           "2147483648 bytes of scratchpad are more than its address window of 16 MiB "
           "holds");
    kit_free(&k);
    kit_load(&k, PTX_HEAD ".visible .entry k()\n.maxntid 64, 2, 1\n{ ret; }\n");
    LAUNCH(one, DIM(129, 1, 1), "129 threads a block, but .maxntid allows 128");
    kit_free(&k);
    kit_load(&k, PTX_HEAD ".visible .entry k()\n.reqntid 64\n{ ret; }\n");
    LAUNCH(one, DIM(32, 2, 1), "block (32,2,1), but .reqntid demands (64,1,1)");
    kit_free(&k);
}

/* -- what is refused before anything runs -- */

static void
refusals_name_every_place(void **state)
{
    kit_refused(
        PTX_HEAD
        ".extern .func (.param .b32 r) somewhere(.param .b64 a, .param .b64 b);\n"
        ".const .align 4 .b8 c[16];\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        ".reg .u32 %r<4>; .reg .u64 %d<4>; .reg .f32 %f<8>;\n"
        "st.const.u32 [c], 1;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 q;\n"
        "call (q), somewhere, (a, b);\n}\n"
        "st.param.u64 [out], 1;\n"
        "ret;\n}\n",
        "test.ptx:9:1: error: kernel 'k': st.const.u32: constant memory cannot be "
        "written\n"
        "    st.const.u32 [c], 1;\n    ^\n"
        "test.ptx:11:1: error: kernel 'k': call: function 'somewhere' has no body here, so "
        "it cannot be called\n"
        "    call (q), somewhere, (a, b);\n    ^\n"
        "test.ptx:13:1: error: kernel 'k': st.param.u64: kernel parameters cannot be "
        "written\n"
        "    st.param.u64 [out], 1;\n    ^\n");
}

/* Instructions of later machines, one line each, named in full. */
static void
later_instructions_are_refused(void **state)
{
    static const struct {
        const char *inst, *name, *target;
    } t[] = {
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;",
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "sm_100a"},
        {"cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {%r1, "
         "%r2, %r3}], [%r4];",
         "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
         "sm_90 or later"},
        {"multimem.ld_reduce.relaxed.gpu.global.add.f32 %f1, [%rd1];",
         "multimem.ld_reduce.relaxed.gpu.global.add.f32", "sm_90 or later"},
        {"tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 3;",
         "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32", "sm_100a"},
        {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %rd1;",
         "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "sm_100 or later"},
        {"cvt.rs.f16x2.f32 %r1, %f1, %f2, %r3;", "cvt.rs.f16x2.f32", "sm_100a"},
        {"fma.rn.oob.f16 %h1, %h2, %h3, %h4;", "fma.rn.oob.f16", "sm_90 or later"},
        {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
         "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "sm_100a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0}, want = {0};
        kit_text(&b,
                 ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry "
                 "k()\n{\n.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 "
                 "%f<8>; .reg .pred %p<4>;\n$s\nret;\n}\n",
                 t[i].inst);
        kit_text(&want,
                 "test.ptx:7:1: error: kernel 'k': $s: this needs $s, which is not "
                 "simulated\n    $s\n    ^\n",
                 t[i].name, t[i].target, t[i].inst);
        kit_refused(b.s, want.s);
        strbuf_free(&b);
        strbuf_free(&want);
    }
}

/* Suffixes that each are known and do not go together: one of every rule. */
static void
illegal_combinations_are_refused(void **state)
{
    static const struct {
        const char *inst, *why;
    } t[] = {
        {"ld.relaxed.global.u32 %r1, [%rd1];",
         "it needs a scope: .cta, .cluster, .gpu or .sys"},
        {"ld.gpu.global.u32 %r1, [%rd1];",
         "a scope goes with .relaxed, .acquire and .release"},
        {"ld.release.gpu.u32 %r1, [%rd1];",
         "a load is .weak, .volatile, .relaxed or .acquire"},
        {"st.acquire.gpu.u32 [%rd1], %r1;",
         "a store is .weak, .volatile, .relaxed or .release"},
        {"ld.acquire.cta.local.u32 %r1, [%rd1];",
         "only global and shared memory is accessed in an order"},
        {"ld.shared.L1::evict_last.u32 %r1, [%rd1];",
         "hints to the caches are for global memory"},
        {"ld.global.L2::evict_last.u32 %r1, [%rd1];",
         "eviction priorities of the L2 are for 256 bits, .v4.b64 and .v8.b32"},
        {"st.global.ca.u32 [%rd1], %r1;",
         "the cache operators of a store are .wb .cg .cs .wt"},
        {"ld.shared.nc.u32 %r1, [%rd1];", ".nc goes with .global, and with .ca .cg .cs"},
        {"ldu.shared.u32 %r1, [%rd1];", "ldu reads global memory"},
        {"atom.global.add.s64 %rd2, [%rd1], %rd3;",
         "there is no such operation on this type"},
        {"atom.global.exch.u32 %r1, [%rd1], %r2;",
         "there is no such operation on this type"},
        {"atom.add.f16 %h1, [%rd1], %h2;", "of halves it is .add.noftz"},
        {"red.acquire.gpu.add.u32 [%rd1], %r1;", "red is .relaxed or .release"},
        {"membar.cluster;", "its level is .cta, .gl or .sys"},
        {"fence.relaxed.gpu;",
         "it is fence.sc, .acq_rel, .acquire or .release with .cta, "
         ".cluster, .gpu or .sys"},
        {"prefetch.shared.L1 [%rd1];", "global and local memory is prefetched"},
        {"prefetchu.L2 [%rd1];", "it is prefetchu.L1"},
        {"discard.global.L1 [%rd1], 128;", "it is discard.global.L2"},
        {"shfl.sync.idx.u32 %r1, %r2, 0, 31, -1;", "its type is .b32"},
        {"redux.sync.and.u32 %r1, %r2, -1;",
         ".and .or .xor are for .b32, .add .min .max for .u32 and .s32"},
        {"bar.red.xor.pred %p1, 0, %p2;", "predicates are reduced by .and and .or"},
        {"match.any.sync.b32 %r1|%p1, %r2, -1;", "match.any gives no predicate"},
        {"cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, %r2;",
         ".L2::cache_hint needs a cache policy of 64 bits"},
        {"mbarrier.init.shared.b64 [%r1];",
         "mbarrier.init takes a count, mbarrier.inval none"},
        {"mbarrier.arrive.cta.shared.b64 %rd1, [%r1];",
         "order and scope stand together, such as .release.cta"},
        {"suq.num_samples.b32 %r1, [%rd1];", "surfaces do not have that"},
        {"cvt.rn.ftz.f16.f64 %h1, %fd1;", "these types and modifiers do not go together"},
        {"cvt.sat.s64.s32 %rd1, %r1;", "these types and modifiers do not go together"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf b = {0}, want = {0};
        kit_text(&b,
                 PTX_HEAD ".visible .entry k()\n{\n"
                          ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 "
                          "%rd<4>; .reg .f64 %fd<4>;\n$s\nret;\n}\n",
                 t[i].inst);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(t[i].inst, " ;"), t[i].inst);
        kit_text(&want, "test.ptx:7:1: error: kernel 'k': $s: $s\n    $s\n    ^\n", name,
                 t[i].why, t[i].inst);
        kit_refused(b.s, want.s);
        strbuf_free(&b);
        strbuf_free(&want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_diagnostic),
        cmocka_unit_test(out_of_bounds),
        cmocka_unit_test(out_of_bounds_kinds),
        cmocka_unit_test(misaligned),
        cmocka_unit_test(null_pointer),
        cmocka_unit_test(nothing_allocated),
        cmocka_unit_test(use_after_free),
        cmocka_unit_test(freed_between_blocks),
        cmocka_unit_test(wrong_space),
        cmocka_unit_test(outside_scratchpad),
        cmocka_unit_test(forgotten_dynamic_scratchpad),
        cmocka_unit_test(outside_local_memory),
        cmocka_unit_test(outside_constants_and_parameters),
        cmocka_unit_test(names_what_is_near),
        cmocka_unit_test(names_the_source_line),
        cmocka_unit_test(traps),
        cmocka_unit_test(barrier_misuse),
        cmocka_unit_test(waiting_for_ever),
        cmocka_unit_test(endless_kernels_stop),
        cmocka_unit_test(stack_overflow),
        cmocka_unit_test(wild_calls),
        cmocka_unit_test(wild_indexed_branch),
        cmocka_unit_test(launch_errors),
        cmocka_unit_test(refusals_name_every_place),
        cmocka_unit_test(later_instructions_are_refused),
        cmocka_unit_test(illegal_combinations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
