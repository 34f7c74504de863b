/* exec_operands.c: the decoded record keeps an instruction's operands as they are written:
 * unmerged, with their role and the compiler's note. */
#include "unit/kit/exec_kit.h"

static void
is(const struct exec_operand *o, uint16_t reg, enum exec_role role, enum ptx_power power)
{
    assert_int_equal(o->reg, reg);
    assert_int_equal(o->role, role);
    assert_int_equal(o->power, power);
    assert_int_equal(o->place, 0); /* registers are virtual */
}

static void
operands_are_as_written(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k() {\n.reg .b32 %r<8>;\n.reg .pred %p<2>;\n"
                          "@%p1 add.u32 %r1, %r2, %r2, ON, SLEEP, OFF;\n"
                          "mad.lo.u32 %r4, %r6, %r5, %r4, SLEEP, OFF, OFF;\n"
                          "add.u32 %r3, %r3, 1, OFF, SLEEP;\n"
                          "mov.u32 %r7, 5;\nexit;\n}\n");
    const struct exec_static *st = k.p->st;
    uint16_t r2 = st[0].operand[1].reg, r4 = st[1].operand[2].reg;
    assert_int_equal(st[0].nsrc, 2); /* the scoreboard's: guard and %r2, once each */
    assert_int_equal(st[0].noperands, 4);
    assert_int_equal(st[0].operand[0].role, EXEC_GUARD);
    assert_int_equal(st[0].operand[0].power, PTX_POWER_NONE);
    is(&st[0].operand[1], r2, EXEC_READS, PTX_POWER_SLEEP);
    is(&st[0].operand[2], r2, EXEC_READS, PTX_POWER_OFF);
    assert_int_equal(st[0].operand[3].role, EXEC_WRITES);
    assert_int_equal(st[0].operand[3].power, PTX_POWER_ON);
    /* Three sources: two have a state, and the destination. */
    assert_int_equal(st[1].noperands, 4);
    assert_int_equal(st[1].operand[0].power, PTX_POWER_OFF);
    assert_int_equal(st[1].operand[1].power, PTX_POWER_OFF);
    is(&st[1].operand[2], r4, EXEC_READS, PTX_POWER_NONE);
    is(&st[1].operand[3], r4, EXEC_WRITES, PTX_POWER_SLEEP);
    /* One register in both roles has the state of each. */
    assert_int_equal(st[2].noperands, 2);
    assert_int_equal(st[2].operand[0].power, PTX_POWER_SLEEP);
    assert_int_equal(st[2].operand[1].power, PTX_POWER_OFF);
    assert_int_equal(st[3].noperands, 1);
    assert_int_equal(st[3].operand[0].power, PTX_POWER_NONE);
    assert_int_equal(exec_top_register(&st[0]), 0);
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operands_are_as_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
