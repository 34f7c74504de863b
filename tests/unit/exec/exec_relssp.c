/* exec_relssp.c: release bits of threads (000 section 6.2), and the check that holds
 * accesses against the analyses. */
#include "unit/kit/exec_kit.h"

/* Steps warps in the order given until all have ended; returns the number of the step at
 * which the block was told to have released, 0: never. */
static unsigned
released_at(struct kit *k, unsigned threads, const uint8_t *order, unsigned n)
{
    k->g.grid = (struct exec_dim){1, 1, 1};
    k->g.block = (struct exec_dim){threads, 1, 1};
    k->g.warps_per_cta = (threads + 31) / 32;
    struct exec_cta *c = exec_cta_new(&k->g);
    exec_cta_start(c, 0);
    assert_int_equal(c->holding, threads);
    unsigned at = 0;
    struct exec_step s;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(c->warp[order[i]].state, EXEC_READY);
        assert_int_equal(exec_step(&c->warp[order[i]], &s), EXEC_OK);
        if (s.released) {
            assert_int_equal(at, 0); /* told once */
            at = i + 1;
        }
    }
    assert_int_equal(c->live_warps, 0);
    exec_cta_free(c);
    return at;
}

#define ENTRY PTX_HEAD ".visible .entry k() {\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\n"

static void
last_thread_releases(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k, ENTRY "relssp;\nadd.u32 %r1, %r1, 1;\nexit;\n}\n");
    /* 40 threads: the padding of the second warp is no thread. */
    assert_int_equal(released_at(&k, 40, (const uint8_t[]){0, 0, 1, 1, 1, 0}, 6), 3);
    assert_int_equal(released_at(&k, 32, (const uint8_t[]){0, 0, 0}, 3), 1);
    kit_free(&k);
}

static void
ended_threads_count(void **st)
{
    (void)st;
    struct kit k;
    /* Warp 0 ends without relssp; threads 40.. of warp 1 too, under a guard. */
    kit_load(&k, ENTRY "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n"
                       "setp.ge.u32 %p2, %r1, 40;\n@%p1 exit;\n@!%p2 relssp;\n"
                       "exit;\n}\n");
    /* Warp 1 executes relssp in its 5th step, but threads 40 to 63 end in its 6th. */
    assert_int_equal(
        released_at(&k, 64, (const uint8_t[]){1, 1, 1, 1, 1, 0, 0, 0, 0, 1}, 10), 0 + 10);
    /* The other way round warp 0's end is the last. */
    assert_int_equal(
        released_at(&k, 64, (const uint8_t[]){1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 10), 10);
    kit_free(&k);
    /* Nobody executes it: no release, the block only ends. */
    kit_load(&k, ENTRY "mov.u32 %r1, %tid.x;\nexit;\n}\n");
    assert_int_equal(released_at(&k, 33, (const uint8_t[]){0, 0, 1, 1}, 4), 0);
    kit_free(&k);
}

static void
twice_is_once(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k, ENTRY "relssp;\nrelssp;\nexit;\n}\n");
    assert_int_equal(released_at(&k, 64, (const uint8_t[]){0, 0, 1, 1, 0, 1}, 6), 3);
    kit_free(&k);
}

/* -- the check -- */

#define VARS PTX_HEAD ".shared .b32 A[16];\n.shared .b32 B[16];\n"

static void
foreseen_accesses_pass(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k, VARS ".visible .entry k() {\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\n"
                      "mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 15;\n"
                      "mov.u32 %r2, B;\nmad.lo.u32 %r3, %r1, 4, %r2;\n"
                      "st.shared.u32 [%r3], %r1;\nmov.u64 %d1, A;\n"
                      "cvta.shared.u64 %d1, %d1;\nst.u32 [%d1+4], %r1;\nexit;\n}\n");
    exec_check_analyses(k.p);
    kit_run(&k, 2, 64);
    kit_free(&k);
}

static void
strays_are_faults(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k,
             VARS ".visible .entry k() {\n.reg .b32 %r<6>;\nmov.u32 %r2, A;\n"
                  "st.shared.u32 [%r2+60], %r1;\n"
                  "st.shared.u32 [%r2+64], %r1;\nst.shared.u32 [B], %r1;\nexit;\n}\n");
    exec_check_analyses(k.p);
    kit_fault(
        &k, 1, 32,
        "test.ptx:10:1: error: kernel 'k', block (0,0,0), thread (0,0,0): access to "
        "scratchpad byte 64 (B) is not what the analysis of addresses expects here\n"
        "    st.shared.u32 [%r2+64], %r1;\n    ^\n"
        "    hint: does the program make an address in one variable from another's?\n");
    kit_free(&k);
}

static void
broken_promises_are_faults(void **st)
{
    (void)st;
    static const char text[] =
        VARS ".visible .entry k() {\n.reg .b32 %r<6>;\nst.shared.u32 [B], %r1;\nrelssp;\n"
             "st.shared.u32 [A], %r1;\nst.shared.u32 [B+4], %r1;\nexit;\n}\n";
    struct kit k;
    kit_load(&k, text);
    exec_check_analyses(k.p);
    k.g.shared_from = 64;
    kit_fault(
        &k, 1, 32,
        "test.ptx:11:1: error: kernel 'k', block (0,0,0), thread (0,0,0): access to "
        "scratchpad byte 68 (B) after relssp gave up the shared part\n"
        "    st.shared.u32 [B+4], %r1;\n    ^\n"
        "    hint: was relssp placed for another threshold?\n");
    kit_free(&k);
    kit_load(&k, text); /* all of it is private */
    exec_check_analyses(k.p);
    k.g.shared_from = 128;
    kit_run(&k, 1, 32);
    kit_free(&k);
    kit_load(&k, ENTRY "relssp;\nrelssp;\nexit;\n}\n");
    exec_check_analyses(k.p);
    kit_fault(
        &k, 1, 32,
        "test.ptx:8:1: error: kernel 'k', block (0,0,0), thread (0,0,0): relssp for "
        "the second time\n    relssp;\n    ^\n");
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_thread_releases),
        cmocka_unit_test(ended_threads_count),
        cmocka_unit_test(twice_is_once),
        cmocka_unit_test(foreseen_accesses_pass),
        cmocka_unit_test(strays_are_faults),
        cmocka_unit_test(broken_promises_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
