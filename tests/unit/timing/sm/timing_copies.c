/* timing_copies.c: cp.async in an SM, before a mock memory that answers 100 cycles later: what a
 * wait for groups waits for, when arrivals at an mbarrier are made. Times are read by %clock in
 * the kernel, around the wait. */
#define RIG_MOCK_MEMORY
#include "unit/kit/timing_sm_rig.h"

/* Offsets of different lines. */
#define COPY(i) "cp.async.ca.shared.global [t+" #i "], [%d0+" #i "], 4;\n"
#define COMMIT "cp.async.commit_group;\n"
#define WAIT(n) "cp.async.wait_group " #n ";\n"
#define FROM "mov.u32 %r1, %clock;\n"
#define TO "mov.u32 %r2, %clock;\nsub.u32 %r3, %r2, %r1;\nst.global.u32 [%d1], %r3;\n"
/* Long enough for all copies so far. */
#define PAUSE(l)                                                                         \
    "mov.u32 %r4, 0;\n" l                                                                \
    ":\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 60;\n@%p1 bra " l ";\n"
#define ARRIVE "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
#define INIT(n) "mbarrier.init.shared.b64 [bar], " #n ";\n"
#define TEST "T:\nmbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra T;\n"

/* Cycles between FROM and TO of one lane's kernel. The word at t+0 is that of the source then. */
static uint32_t
cycles_of(const char *body)
{
    struct strbuf b = {0};
    struct rig r;
    strbuf_printf(&b,
                  ".version 8.0\n.target sm_80\n.address_size 64\n"
                  ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                  ".shared .align 16 .b8 t[1024];\n.shared .align 8 .b64 bar;\n"
                  ".reg .pred %%p<4>;\n.reg .u32 %%r<9>;\n.reg .u64 %%d<4>;\n"
                  "ld.param.u64 %%d0, [in];\nld.param.u64 %%d1, [out];\n%s"
                  "ld.shared.u32 %%r5, [t];\nst.global.u32 [%%d1+4], %%r5;\nret;\n}\n",
                  body);
    rig_load(&r, "a100", b.s, NULL);
    rig_set(&r, "l1i.perfect", "true");
    const uint64_t in = rig_buf(&r, 0, 1024), out = rig_buf(&r, 1, 64);
    const uint32_t word = 77;
    assert_true(dev_write(r.mem, in, &word, 4));
    rig_launch(&r, 1, 1);
    const uint32_t cycles = rig_u32(&r, out, 0);
    assert_int_equal(rig_u32(&r, out, 1), 77);
    rig_free(&r);
    strbuf_free(&b);
    return cycles;
}

static void
waits(const char *name, bool does, const char *body)
{
    const uint32_t n = cycles_of(body);
    if (does ? n < MOCK_DELAY : n >= MOCK_DELAY / 2)
        fail_msg("%s: %u cycles", name, n);
}

static void
a_wait_is_for_the_groups_it_names(void **state)
{
    (void)state;
    waits("one group, none may be open", true, COPY(0) COMMIT FROM WAIT(0) TO);
    waits("one group, one may be open", false, COPY(0) COMMIT FROM WAIT(1) TO WAIT(0));
    waits("the older of two", true, COPY(0) COMMIT COPY(128) COMMIT FROM WAIT(1) TO);
    waits("the older of two, which is there", false,
          COPY(0) COMMIT PAUSE("A") COPY(128) COMMIT FROM WAIT(1) TO);
    waits("the younger of two", true,
          COPY(0) COMMIT PAUSE("A") COPY(128) COMMIT WAIT(1) FROM WAIT(0) TO);
    waits("all are there", false,
          COPY(0) COMMIT COPY(128) COMMIT PAUSE("A") FROM WAIT(0) TO);
    waits("nothing was copied", false, COPY(0) COMMIT PAUSE("A") COMMIT FROM WAIT(0) TO);
    waits("an empty group behind one that is not there", false,
          COPY(0) COMMIT COMMIT FROM WAIT(2) TO WAIT(0));
    waits("... and it is waited for", true, COPY(0) COMMIT COMMIT FROM WAIT(1) TO);
    waits("copies that are in no group yet", false,
          COPY(0) FROM WAIT(0) TO COMMIT WAIT(0));
    waits("all copies, in a group or not", true, COPY(0) FROM "cp.async.wait_all;\n" TO);
}

static void
arrivals_are_made_when_copies_are_there(void **state)
{
    (void)state;
    waits("copies under way", true, INIT(1) COPY(0) ARRIVE FROM TEST TO);
    waits("copies that are there", false, INIT(1) COPY(0) PAUSE("A") ARRIVE FROM TEST TO);
    waits("two arrivals, the younger counts", true,
          INIT(2) COPY(0) ARRIVE PAUSE("A") COPY(128) ARRIVE FROM TEST TO);
    waits("eight arrivals", true,
          INIT(8) COPY(0) ARRIVE COPY(128) ARRIVE COPY(256) ARRIVE COPY(384)
              ARRIVE COPY(512) ARRIVE COPY(640) ARRIVE COPY(768) ARRIVE COPY(896)
                  ARRIVE FROM TEST TO);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_for_the_groups_it_names),
        cmocka_unit_test(arrivals_are_made_when_copies_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
