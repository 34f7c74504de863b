/* unified_alloc.c: spilling to scratchpad and local memory never changes results, never
 * costs a block, and adds no bank conflict. */
#include "unit/kit/ptx_kit.h"
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

static const char *const compilers[] = {"clang", "nvcc"};

struct outcome {
    uint64_t hash, conflicts, accesses, blocks;
};

static uint64_t
counted(const struct allot_result *r, const char *id)
{
    uint64_t v = 0;
    assert_true(allot_result_get(r, id, &v, NULL));
    return v;
}

/* A workload under compiler.passes. False: too few registers. */
static bool
run(const struct allot_workload *w, const char *compiler, const char *passes, bool timing,
    struct outcome *out)
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const char *text = allot_workload_ptx(w->name, compiler, &len);
    struct allot_module *m = allot_module_parse(w->name, text, len, d);
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    struct allot_options options = {.functional = !timing};
    assert_non_null(m);
    assert_true(machine &&
                allot_machine_set(machine, "compiler.registers", "virtual", d) &&
                allot_machine_set(machine, "compiler.passes", passes, d));
    struct allot_device *dev = allot_device_new(machine, &options, d);
    char check[256] = "";
    *out = (struct outcome){0};
    spy_begin();
    bool ok = allot_workload_run(w, dev, m, true, 1, check, d);
    if (!ok && !strstr(allot_diag_text(d), "cannot do with"))
        fail_msg("%s %s -p %s: %s %s", w->name, compiler, passes, check,
                 allot_diag_text(d));
    out->hash = spy_end(dev);
    for (size_t i = 0; ok && timing && i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        out->conflicts += counted(r, "scratchpad_conflict_cycles");
        out->accesses += counted(r, "scratchpad_accesses");
        out->blocks += counted(r, "resident_blocks");
    }
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return ok;
}

/* Every workload, by its CPU reference and bit for bit. */
static void
same_memory(void **state)
{
    static const char *const limits[] = {"32", "24", "18:schedule=yes", "14",
                                         "auto:schedule=yes"};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; allot_workloads[i]; i++) {
            const struct allot_workload *w = allot_workloads[i];
            struct outcome plain, x;
            size_t len;
            if (!in_sample(i, 1))
                continue;
            if (!allot_workload_ptx(w->name, compilers[c], &len))
                continue;
            run(w, compilers[c], "", false, &plain);
            for (size_t k = c; k < sizeof limits / sizeof *limits; k += 1 + (size_t)c) {
                char pass[64];
                snprintf(pass, sizeof pass, "dead-code,unified-alloc:registers=%s",
                         limits[k]);
                if (run(w, compilers[c], pass, false, &x) && x.hash != plain.hash)
                    fail_msg("%s (%s): %s changed its memory", w->name, compilers[c],
                             pass);
            }
        }
}

/* Against the same number of registers without slots: as many blocks, no conflict more. */
static void
costs_nothing(void **state)
{
    static const char *const names[] = {"hotspot", "fdtd3d", "sgemm", "lavaMD", "nqueen"};
    static const int limits[] = {24, 16};
    unsigned used = 0;
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct allot_workload *w = allot_workload_find(names[i]);
            char pass[64];
            struct outcome local, slots;
            snprintf(pass, sizeof pass, "register-allocate:max-registers=%d", limits[k]);
            assert_true(run(w, "clang", pass, true, &local));
            snprintf(pass, sizeof pass, "unified-alloc:registers=%d", limits[k]);
            assert_true(run(w, "clang", pass, true, &slots));
            if (slots.blocks < local.blocks || slots.conflicts != local.conflicts)
                fail_msg(
                    "%s at %d: %llu blocks, %llu conflicts; without slots %llu, %llu",
                    names[i], limits[k], (unsigned long long)slots.blocks,
                    (unsigned long long)slots.conflicts, (unsigned long long)local.blocks,
                    (unsigned long long)local.conflicts);
            used += slots.accesses > local.accesses;
        }
    assert_true(used >= 8); /* of 10 */
}

/* A kernel with 24 values that live together, `own` bytes of scratchpad and more that the
 * launch gives. */
static char *
wide_kernel(unsigned own)
{
    struct strbuf b = {0};
    strbuf_printf(&b, HEAD ".extern .shared .align 4 .b8 more[];\n"
                           ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %%a;\n"
                           ".reg .b32 %%r<25>;\n");
    if (own)
        strbuf_printf(&b, ".shared .align 4 .b8 own[%u];\n", own);
    strbuf_addz(&b, "ld.param.u64 %a, [p];\n");
    for (int i = 0; i < 24; i++)
        strbuf_printf(&b, "ld.volatile.global.u32 %%r%d, [%%a+%d];\n", i, 4 * i);
    if (own)
        strbuf_addz(&b, "st.shared.u32 [own], %r0;\n");
    strbuf_addz(&b, "st.shared.u32 [more], %r1;\n");
    for (int i = 0; i < 24; i++)
        strbuf_printf(&b, "st.global.u32 [%%a+%d], %%r%d;\n", 96 - 4 * i, i);
    strbuf_addz(&b, "ret;\n}\n");
    return strbuf_take(&b);
}

static struct allot_plan
plan(const char *machine_name, const char *text, const char *passes, uint32_t threads,
     uint32_t dynamic)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_parse("k.ptx", text, strlen(text), d);
    struct allot_machine *machine = allot_machine_load(machine_name, d);
    struct allot_options options = {.functional = true};
    struct allot_plan p;
    assert_true(m && machine &&
                allot_machine_set(machine, "compiler.registers", "virtual", d) &&
                allot_machine_set(machine, "compiler.passes", passes, d));
    struct allot_device *dev = allot_device_new(machine, &options, d);
    struct allot_launch l = {.module = m,
                             .kernel = "k",
                             .grid = {100, 1, 1},
                             .block = {threads, 1, 1},
                             .dynamic_scratchpad = dynamic};
    if (!allot_launch_plan(dev, &l, &p, d))
        fail_msg("%s", allot_diag_text(d));
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return p;
}

/* The launch's dynamic scratchpad counts, too. */
static void
never_fewer_blocks(void **state)
{
    static const char *const machines[] = {"gtx480", "a100"};
    static const uint32_t threads[] = {32, 100, 256, 512};
    unsigned with_slots = 0, without = 0;
    (void)state;
    for (size_t m = 0; m < 2; m++)
        for (unsigned own = 0; own <= 6002; own += 3001) {
            char *text = wide_kernel(own);
            for (size_t t = 0; t < 4; t++)
                for (uint32_t dynamic = 0; dynamic <= 40000; dynamic += 5000) {
                    struct allot_plan a =
                        plan(machines[m], text, "register-allocate:max-registers=12",
                             threads[t], dynamic);
                    struct allot_plan b =
                        plan(machines[m], text, "unified-alloc:registers=12", threads[t],
                             dynamic);
                    if (b.resident_blocks != a.resident_blocks || b.registers > 12)
                        fail_msg("%s, %u own, %u threads, %u dynamic: %u blocks of %u "
                                 "bytes, without slots %u of %u",
                                 machines[m], own, threads[t], dynamic, b.resident_blocks,
                                 b.scratchpad, a.resident_blocks, a.scratchpad);
                    with_slots += b.scratchpad > a.scratchpad;
                    without += b.scratchpad == a.scratchpad;
                }
            free(text);
        }
    assert_true(with_slots > 20 && without > 0);
}

/* Blocks of one to three dimensions, the shape known only at run time: each thread gets
 * back what it spilled. */
static void
shapes(void **state)
{
    static const uint32_t block[][3] = {{96, 1, 1}, {8, 12, 1}, {4, 3, 8}, {1, 1, 64}};
    static const char head[] = HEAD
        ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %a, %b;\n.reg .b32 %r<25>, %t;\n"
        "ld.param.u64 %a, [p];\nmov.u32 %r0, %tid.z;\nmov.u32 %r1, %ntid.y;\n"
        "mov.u32 %r2, %tid.y;\nmad.lo.u32 %r0, %r0, %r1, %r2;\nmov.u32 %r1, %ntid.x;\n"
        "mov.u32 %r2, %tid.x;\nmad.lo.u32 %t, %r0, %r1, %r2;\n"
        "mad.wide.u32 %b, %t, 96, %a;\n";
    struct strbuf b = {0};
    (void)state;
    strbuf_addz(&b, head);
    for (int i = 0; i < 24; i++)
        strbuf_printf(&b, "mad.lo.u32 %%r%d, %%t, %d, %d;\n", i, 3 + 2 * i, i);
    for (int i = 0; i < 24; i++)
        strbuf_printf(&b, "st.global.u32 [%%b+%d], %%r%d;\n", 4 * i, i);
    strbuf_addz(&b, "ret;\n}\n");
    for (int known = 0; known < 2; known++)
        for (size_t k = 0; k < 4; k++) {
            struct allot_diag *d = allot_diag_new();
            struct allot_module *m = allot_module_parse("k.ptx", b.s, b.n, d);
            struct allot_machine *machine = allot_machine_load("gtx480", d);
            struct allot_options options = {.functional = true};
            const char *pass = "unified-alloc:registers=10";
            uint32_t n = block[k][0] * block[k][1] * block[k][2];
            uint32_t *got = calloc(n, 96);
            char *report = NULL;
            assert_true(allot_machine_set(machine, "compiler.registers", "virtual", d));
            if (known)
                assert_true(allot_machine_set(machine, "compiler.passes", pass, d));
            else
                assert_true(
                    allot_module_opt_for(m, machine, pass, "threads=96", &report, d));
            if (!known && !strstr(report, "16 slots of scratchpad a thread"))
                fail_msg("%s", report);
            struct allot_device *dev = allot_device_new(machine, &options, d);
            uint64_t at = allot_alloc(dev, n * 96, d);
            const void *args[] = {&at};
            struct allot_launch l = {.module = m, .kernel = "k", .grid = {1, 1, 1}};
            memcpy(l.block, block[k], sizeof l.block);
            l.args = args;
            l.nargs = 1;
            if (!allot_launch(dev, &l, d) || !allot_read(dev, at, got, n * 96, d))
                fail_msg("%s", allot_diag_text(d));
            for (uint32_t t = 0; t < n; t++)
                for (uint32_t i = 0; i < 24; i++)
                    assert_int_equal(got[t * 24 + i], t * (3 + 2 * i) + i);
            free(got);
            free(report);
            allot_device_free(dev);
            allot_machine_free(machine);
            allot_module_free(m);
            allot_diag_free(d);
        }
    strbuf_free(&b);
}

static void
ptxas_accepts(void **state)
{
    const char *ptxas = kit_ptxas();
    (void)state;
    if (!ptxas)
        skip();
    unsigned slots = 0;
    for (size_t i = 0; allot_workloads[i]; i++) {
        if (i % 4)
            continue;
        struct allot_diag *d = allot_diag_new();
        struct allot_machine *machine = allot_machine_load("a100", d);
        size_t len;
        const char *name = allot_workloads[i]->name;
        const char *text = allot_workload_ptx(name, "clang", &len);
        struct allot_module *m = allot_module_parse(name, text, len, d);
        struct strbuf said = {0};
        assert_true(m && machine);
        if (!allot_module_opt_for(m, machine, "cleanup,unified-alloc:registers=20",
                                  "threads=256", NULL, d))
            fail_msg("%s: %s", name, allot_diag_text(d));
        char *out = allot_module_print(m);
        slots += strstr(out, "__allot_slots") != NULL;
        if (kit_assemble(ptxas, out, "sm_80", &said))
            fail_msg("%s: %s", name, said.s);
        strbuf_free(&said);
        free(out);
        allot_module_free(m);
        allot_machine_free(machine);
        allot_diag_free(d);
    }
    assert_true(slots >= 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_memory), cmocka_unit_test(costs_nothing),
        cmocka_unit_test(never_fewer_blocks), cmocka_unit_test(shapes),
        cmocka_unit_test(ptxas_accepts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
