/* runtime_lines.c: counters by instruction: whose the issue slots are, in kernels of which that is
 * known, and that no way to simulate a launch changes them. */
#include "unit/kit/runtime_kit.h"

/* Warp 0 waits for a load, warp 1 for warp 0 at the barrier. */
static const char ptx[] = ".version 8.0\n"
                          ".target sm_80\n"
                          ".address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n" /* 4 */
                          "{\n"
                          ".reg .pred %q;\n"
                          ".reg .b64 %a;\n"
                          ".reg .b32 %n, %t;\n"
                          ".loc 1 100 0\n"
                          "ld.param.u64 %a, [p];\n" /* 10 */
                          "mov.u32 %t, %tid.x;\n"
                          "setp.ge.u32 %q, %t, 32;\n"
                          "@%q bra L;\n"
                          ".loc 1 101 0, function_name $x, inlined_at 1 7 0\n"
                          "ld.global.u32 %n, [%a];\n"
                          "add.u32 %n, %n, 1;\n" /* 16 */
                          ".loc 1 102 0\n"
                          "st.global.u32 [%a], %n;\n"
                          "L:\n"
                          "bar.sync 0;\n" /* 20 */
                          "ret;\n"
                          "}\n"
                          /* warps of a scheduler wait with different instructions */
                          ".visible .entry many(.param .u64 p)\n"
                          "{\n"
                          ".reg .pred %q;\n"
                          ".reg .b64 %a, %d;\n"
                          ".reg .b32 %n, %t, %i;\n"
                          "ld.param.u64 %a, [p];\n"
                          "mov.u32 %t, %tid.x;\n"
                          "shr.u32 %i, %t, 5;\n"
                          "add.u32 %i, %i, 1;\n"
                          "and.b32 %n, %t, 32;\n"
                          "setp.ne.u32 %q, %n, 0;\n"
                          "@%q bra ODD;\n"
                          "EVEN:\n"
                          "ld.global.u32 %n, [%a];\n"
                          "cvt.u64.u32 %d, %n;\n"
                          "add.u64 %a, %a, %d;\n"
                          "sub.u32 %i, %i, 1;\n"
                          "setp.ne.u32 %q, %i, 0;\n"
                          "@%q bra EVEN;\n"
                          "ret;\n"
                          "ODD:\n"
                          "ld.global.u32 %n, [%a];\n"
                          "mul.lo.u32 %n, %n, 3;\n"
                          "cvt.u64.u32 %d, %n;\n"
                          "add.u64 %a, %a, %d;\n"
                          "sub.u32 %i, %i, 1;\n"
                          "setp.ne.u32 %q, %i, 0;\n"
                          "@%q bra ODD;\n"
                          "ret;\n"
                          "}\n"
                          ".file 1 \"k.cu\"\n"
                          ".section .debug_str { $x: .b8 0 }\n";

struct run {
    struct allot_machine *m;
    struct allot_device *dev;
    struct allot_module *mod;
    const struct allot_result *r;
};

static struct run
run(const char *machine, const char *kernel, const struct allot_options *o)
{
    struct allot_diag *d = allot_diag_new();
    struct run x = {.m = allot_machine_load(machine, d)};
    assert_true(allot_machine_set(x.m, "compiler.registers", "virtual", d));
    x.dev = allot_device_new(x.m, o, d);
    x.mod = allot_module_parse("k.ptx", ptx, sizeof ptx - 1, d);
    uint64_t p = allot_alloc(x.dev, 4, d);
    const void *args[] = {&p};
    struct allot_launch l = {.module = x.mod,
                             .kernel = kernel,
                             .grid = {3},
                             .block = {strcmp(kernel, "k") ? 384 : 64},
                             .args = args,
                             .nargs = 1};
    x.r = allot_launch(x.dev, &l, d);
    assert_non_null(x.r);
    allot_diag_free(d);
    return x;
}

static void
end(const struct run *x)
{
    allot_device_free(x->dev);
    allot_module_free(x->mod);
    allot_machine_free(x->m);
}

/* The counter of the instruction at that line of the PTX; 0: of no instruction. */
static uint64_t
at_line(const struct allot_result *r, unsigned line, const char *id)
{
    struct allot_line x;
    uint64_t n, sum = 0;
    for (size_t i = 0; allot_result_line(r, i, &x); i++)
        if (line ? x.opcode && x.ptx_line == line : !x.opcode) {
            assert_true(allot_result_line_count(r, i, id, &n));
            sum += n;
        }
    return sum;
}

static void
lost_slots_belong_to_the_instruction_that_waits(void **state)
{
    struct run x = run("a100", "k", &(struct allot_options){.by_line = true});
    uint64_t all;
    /* each of three blocks: two warps, but for the branch's other side */
    assert_int_equal(at_line(x.r, 10, "warp_instructions"), 6);
    assert_int_equal(at_line(x.r, 15, "warp_instructions"), 3);
    assert_int_equal(at_line(x.r, 15, "thread_instructions"), 96);
    assert_int_equal(at_line(x.r, 20, "warp_instructions"), 6);
    /* who waits for global memory is the addition alone, for hundreds of cycles */
    allot_result_get(x.r, "issue_memory", &all, NULL);
    assert_true(at_line(x.r, 16, "issue_memory") > 3 * 200);
    assert_true(at_line(x.r, 16, "issue_memory") + at_line(x.r, 12, "issue_memory") +
                    at_line(x.r, 13, "issue_memory") + at_line(x.r, 11, "issue_memory") +
                    at_line(x.r, 15, "issue_memory") ==
                all);
    assert_int_equal(at_line(x.r, 15, "loads_returned"), 3);
    assert_true(at_line(x.r, 15, "load_latency") > 3 * 200);
    assert_int_equal(at_line(x.r, 16, "load_latency"), 0);
    /* at the barrier waits who has issued it */
    allot_result_get(x.r, "issue_barrier", &all, NULL);
    assert_true(all > 3 * 200);
    assert_int_equal(at_line(x.r, 20, "issue_barrier"), all);
    /* schedulers without a warp */
    allot_result_get(x.r, "issue_empty", &all, NULL);
    assert_int_equal(at_line(x.r, 0, "issue_empty"), all);
    end(&x);
}

static void
lines_are_those_of_ptx_and_source(void **state)
{
    struct run x = run("a100", "k", &(struct allot_options){.by_line = true});
    struct allot_line l;
    unsigned seen = 0;
    for (size_t i = 0; allot_result_line(x.r, i, &l); i++) {
        if (!l.opcode)
            continue;
        assert_string_equal(l.ptx_file, "k.ptx");
        assert_string_equal(l.file, "k.cu");
        if (l.ptx_line == 15) {
            assert_string_equal(l.opcode, "ld");
            assert_string_equal(l.ptx_text, "ld.global.u32 %n, [%a];");
            seen++;
        }
        assert_int_equal(l.line, l.ptx_line < 14 ? 100 : l.ptx_line < 17 ? 101 : 102);
    }
    assert_int_equal(seen, 1);
    uint64_t n;
    assert_false(allot_result_line_count(x.r, 0, "cycles", &n));
    end(&x);
}

static void
no_way_to_simulate_changes_them(void **state)
{
    static const char *const machines[] = {"gtx480", "a100", "h100", "000-table2"};
    for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
        struct run a = run(machines[k], "many", &(struct allot_options){.by_line = true}),
                   b = run(machines[k], "many",
                           &(struct allot_options){.by_line = true, .no_skip = true}),
                   c = run(machines[k], "many",
                           &(struct allot_options){.by_line = true, .threads = 3}),
                   none = run(machines[k], "many", NULL);
        char *x = allot_result_lines_text(a.r), *y = allot_result_lines_text(b.r),
             *z = allot_result_lines_text(c.r);
        assert_string_equal(x, y);
        assert_string_equal(x, z);
        free(x);
        free(y);
        free(z);
        const char *id;
        for (size_t i = 0; (id = allot_line_counter(i)); i++) {
            struct allot_line l;
            uint64_t all = 0, without = 0, n, sum = 0;
            assert_true(allot_result_get(a.r, id, &all, NULL));
            assert_true(allot_result_get(none.r, id, &without, NULL));
            assert_int_equal(all, without);
            for (size_t j = 0; allot_result_line(a.r, j, &l); j++) {
                assert_true(allot_result_line_count(a.r, j, id, &n));
                sum += n;
            }
            assert_int_equal(sum, all);
            if (!strcmp(id, "issue_empty"))
                assert_int_equal(at_line(a.r, 0, id), all);
        }
        struct allot_line l;
        assert_false(allot_result_line(none.r, 0, &l));
        end(&a);
        end(&b);
        end(&c);
        end(&none);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_slots_belong_to_the_instruction_that_waits),
        cmocka_unit_test(lines_are_those_of_ptx_and_source),
        cmocka_unit_test(no_way_to_simulate_changes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
