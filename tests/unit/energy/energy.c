/* energy.c: energies of launches whose counters are written down here, against sums made by
 * hand from what GPUWattch and AccelWattch give for an event. */
#include "energy/energy.h"

#include "energy/tech.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct machine *
load(const char *name)
{
    struct diag_sink d = {0};
    struct machine *m = machine_load(name, &d);
    assert_non_null(m);
    diag_free(&d);
    return m;
}

static void
set(struct machine *m, const char *path, const char *value)
{
    struct diag_sink d = {0};
    assert_true(machine_set(m, path, value, &d));
    diag_free(&d);
}

static void
near(double ours, double want)
{
    if (!(fabs(ours - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g is not %.12g", ours, want);
}

/* 700 cycles at 700 MHz are a microsecond; 15 SMs, of which 5 hold no block. */
static struct launch_stats
microsecond(void)
{
    return (struct launch_stats){.gpu = {.cycles = 700, .sm_cycles = 10500},
                                 .sm = {.occupied_cycles = 7000,
                                        .warp_instructions = 2000,
                                        .thread_instructions = 50000,
                                        .ops_int = 50000}};
}

static struct energy
energy(const struct launch_stats *s, const struct machine *m)
{
    struct energy e;
    struct diag_sink d = {0};
    energy_of(s, m, &e);
    assert_true(energy_check(&e, &d));
    diag_free(&d);
    return e;
}

static void
gpuwattch_by_hand(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    struct energy e = energy(&s, m);
    near(e.seconds, 1e-6);
    /* 2000 instructions; half as many cycles of a write-back two wide; 25.46 W of 16 SMs */
    near(e.part[ENERGY_PART_PIPELINE],
         1e-9 * (2000 * (0.0036141 + 0.0548897) + 1000 * 2.273));
    near(e.part[ENERGY_PART_UNITS], 1e-9 * 50000 * 32 * 0.00269477);
    /* 9.82 W for a microsecond, 1.59 W of five SMs */
    near(e.part[ENERGY_PART_CONSTANT], 9.82e-6 + 5 * 1.59e-6);
    near(e.total,
         1e-9 * (2000 * (0.0036141 + 0.0548897) + 2273 + 50000 * 32 * 0.00269477) +
             9.82e-6 + 5 * 1.59e-6);
    assert_true(e.component[ENERGY_ICNT] == 0 && e.component[ENERGY_DRAM] == 0);

    s.sm.operand_reads = 10;
    s.sm.register_writes = 20;
    s.sm.other_operands = 30;
    s.sm.l1d_accesses = 100;
    s.sm.l1d_hits = 40;
    s.sm.l1d_pending_hits = 10;
    s.sm.l1d_store_hits = 20; /* so 30 hits of loads */
    s.sm.l1d_misses = 50;
    s.sm.l1d_load_misses = 35; /* and 15 misses of stores */
    s.sm.scratchpad_cycles = 7;
    s.mem.icnt_request_flits = 3;
    s.mem.icnt_reply_flits = 5;
    s.mem.l2_read_hits = 2;
    s.mem.l2_read_pending = 1;
    s.mem.l2_write_misses = 4;
    s.mem.dram_reads = 6;
    s.mem.dram_writes = 8;
    s.mem.dram_precharges = 9;
    struct energy f = energy(&s, m);
    near(f.part[ENERGY_PART_REGISTERS], 1e-9 * 32 * (10 * 0.00726682 + 20 * 0.00598604));
    near(f.part[ENERGY_PART_CACHES],
         1e-9 * (30 * 2.9346 + 35 * 2.22507 + 20 * 0.220124 + 15 * 2.60367));
    near(f.part[ENERGY_PART_SCRATCHPAD], 1e-9 * 7 * 2.11946);
    near(f.part[ENERGY_PART_PIPELINE] - e.part[ENERGY_PART_PIPELINE],
         1e-9 * 30 * 32 * 0.0530065);
    near(f.component[ENERGY_ICNT], 1e-9 * 8 * 1.93858);
    near(f.component[ENERGY_L2], 1e-9 * (3 * 2.80504 + 4 * 15.0243));
    near(f.component[ENERGY_DRAM], 1e-9 * (6 * 26.9484 + 8 * 15.8649 + 9 * 4.23225));
    near(f.component[ENERGY_SM] + f.component[ENERGY_ICNT] + f.component[ENERGY_L2] +
             f.component[ENERGY_DRAM],
         f.total);
    machine_free(m);
}

/* GPUWattch: the pipeline's duty cycle counts to 0.8 at most. */
static void
pipeline_is_capped(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    s.sm.warp_instructions = 21000;
    struct energy e = energy(&s, m);
    near(e.joules[ENERGY_ROW_pipeline], 1e-9 * 2.273 * 0.8 * 10500);
    machine_free(m);
}

static void
bursts_of_another_size(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    s.mem.dram_reads = 10;
    set(m, "dram.burst", "32");
    near(energy(&s, m).component[ENERGY_DRAM], 1e-9 * 5 * 26.9484);
    machine_free(m);
}

static void
coefficient_is_a_setting(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    s.mem.icnt_request_flits = 100;
    double before = energy(&s, m).total;
    set(m, "event.flit", "3.93858");
    near(energy(&s, m).total - before, 1e-9 * 100 * 2);
    machine_free(m);
}

/* The pair of powers of the most demanding unit, for the share of SMs that is occupied; 25
 * lanes of a warp active. */
static void
accelwattch_static_power(void **state)
{
    struct machine *m = load("v100");
    struct launch_stats s = {.gpu = {.cycles = 1530, .sm_cycles = 80 * 1530},
                             .sm = {.occupied_cycles = 20 * 1530,
                                    .warp_instructions = 4,
                                    .ops_int = 100,
                                    .thread_instructions = 100}};
    double idle = 60 * 0.282792 + 32.325;
    near(energy(&s, m).part[ENERGY_PART_CONSTANT],
         1e-6 * (idle + 0.25 * (15.29 + 24 * 0.586)));
    s.sm.ops_f32 = 1;
    near(energy(&s, m).part[ENERGY_PART_CONSTANT],
         1e-6 * (idle + 0.25 * (18.62 + 24 * 0.645)));
    s.sm.ops_sin = 1;
    near(energy(&s, m).part[ENERGY_PART_CONSTANT],
         1e-6 * (idle + 0.25 * (18.55 + 24 * 0.610)));
    s.sm.ops_f64_mul = 1;
    near(energy(&s, m).part[ENERGY_PART_CONSTANT],
         1e-6 * (idle + 0.25 * (19.10 + 24 * 0.727)));
    s.sm = (struct stat_sm){.occupied_cycles = 20 * 1530};
    near(energy(&s, m).part[ENERGY_PART_CONSTANT], 1e-6 * (idle + 0.25 * 1.965));
    machine_free(m);
}

/* CACTI-P: 0.1278 W are half of 256 KB's at 40 nm and 380 K. */
static void
physical_model_leaks(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    set(m, "energy.model", "physical");
    set(m, "energy.long_channel", "false");
    s.mem.dram_reads = 10;
    struct energy e = energy(&s, m);
    if (fabs(e.part[ENERGY_PART_REGISTERS] - 15e-6 * 0.5112 / 2) > 15e-6 * 0.00005)
        fail_msg("register files: %g J", e.part[ENERGY_PART_REGISTERS]);
    /* 48 KB of scratchpad: CACTI-P prints 0.0878 W */
    if (fabs(e.part[ENERGY_PART_SCRATCHPAD] - 15e-6 * 0.0878) > 15e-6 * 0.00005)
        fail_msg("scratchpads: %g J", e.part[ENERGY_PART_SCRATCHPAD]);
    /* no fitted powers; 14 pJ a bit, standby of six channels, the controllers at 380 K */
    assert_true(e.joules[ENERGY_ROW_constant] == 0);
    assert_true(e.joules[ENERGY_ROW_dram_read] == 0);
    near(e.joules[ENERGY_ROW_dram_bit], 10 * 64 * 8 * 14e-12);
    near(e.joules[ENERGY_ROW_dram_standby], 6 * 1.35e-6);
    struct tech t;
    tech_at(40, 380, &t);
    near(e.joules[ENERGY_ROW_controllers], 0.847e-6 / tech_long(&t, 0.8));
    set(m, "energy.long_channel", "true");
    near(energy(&s, m).joules[ENERGY_ROW_controllers], 0.847e-6);
    set(m, "energy.node", "22");
    set(m, "energy.temperature", "350");
    assert_true(energy(&s, m).part[ENERGY_PART_REGISTERS] <
                e.part[ENERGY_PART_REGISTERS] / 5);
    machine_free(m);
}

/* A third of the registers ON, a third asleep, a third OFF: 0.63436 of ON for SLEEP, and the
 * wake-ups beside it. A launch that tells no states leaks in full. */
static void
registers_leak_by_state(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    set(m, "energy.model", "physical");
    set(m, "energy.node", "22");
    double all = energy(&s, m).joules[ENERGY_ROW_leak_registers];
    s.gpu.register_cycles = 3000;
    s.sm.regpower_on_cycles = s.sm.regpower_sleep_cycles = s.sm.regpower_off_cycles =
        1000;
    s.sm.regpower_wakes_sleep = 1000;
    s.sm.regpower_wakes_off = 100;
    struct energy e = energy(&s, m);
    assert_true(fabs(e.joules[ENERGY_ROW_leak_registers] / all - 1.63436 / 3) < 0.00001);
    assert_true(fabs(e.joules[ENERGY_ROW_wake_sleep] - 1000 * 0.0714e-12) < 0.05e-12);
    assert_true(fabs(e.joules[ENERGY_ROW_wake_off] - 100 * 0.178e-12) < 0.05e-12);
    set(m, "energy.register_wakes", "8");
    struct energy dear = energy(&s, m);
    near(dear.joules[ENERGY_ROW_wake_sleep], 8 * e.joules[ENERGY_ROW_wake_sleep]);
    near(dear.joules[ENERGY_ROW_wake_off], 8 * e.joules[ENERGY_ROW_wake_off]);
    set(m, "energy.register_wakes", "1");
    /* the values of chapter 4: cells and wake-ups; with the wires, which always leak */
    double cells = all * 1.63436 / 3 + 1000 * 0.0714e-12 + 100 * 0.178e-12, v;
    assert_true(energy_value(&e, "register_leakage", &v));
    assert_true(fabs(v / cells - 1) < 1e-3);
    assert_true(energy_value(&e, "register_leakage_power", &v));
    assert_true(fabs(v * 1e-6 / cells - 1) < 1e-3);
    set(m, "energy.register_routing", "1.31");
    e = energy(&s, m);
    assert_true(energy_value(&e, "register_leakage_routed", &v));
    assert_true(fabs(v / (cells + 1.31 * all) - 1) < 1e-3);
    s.sm.regpower_held_cycles = 2400; /* of 3000: or only with the wires of those */
    set(m, "energy.routing_of", "warps");
    e = energy(&s, m);
    assert_true(energy_value(&e, "register_leakage_routed", &v));
    assert_true(fabs(v / (cells + 1.31 * 0.8 * all) - 1) < 1e-3);
    machine_free(m);
}

static void
sums_of_launches(void **state)
{
    struct machine *m = load("gtx480");
    struct launch_stats s = microsecond();
    struct energy sum = {0}, e = energy(&s, m);
    struct diag_sink d = {0};
    energy_add(&sum, &e);
    energy_add(&sum, &e);
    assert_true(energy_check(&sum, &d));
    double v;
    assert_true(energy_value(&sum, "energy", &v));
    near(v, 2 * e.total);
    assert_true(energy_value(&sum, "power", &v));
    near(v, e.total / 1e-6);
    assert_true(energy_value(&sum, "energy_per_instruction", &v));
    near(v, 1e9 * e.total / 2000);
    assert_true(energy_value(&sum, "energy_delay", &v));
    near(v, 2 * e.total * 2e-6);
    assert_true(energy_value(&sum, "energy_constant", &v));
    near(v, 2 * (9.82e-6 + 5 * 1.59e-6));
    assert_false(energy_value(&sum, "energy_of_the_sun", &v));
    /* what does not add up is found */
    sum.part[ENERGY_PART_L2] += 1e-7;
    assert_false(energy_check(&sum, &d));
    sum.part[ENERGY_PART_L2] -= 1e-7;
    sum.joules[ENERGY_ROW_constant] *= 2;
    assert_false(energy_check(&sum, &d));
    diag_free(&d);
    machine_free(m);
}

/* Each counter of GPUWattch's list for GTX 480 moves the energy by its coefficient: the counter
 * that stands for it is raised by 1000, alone. */
static void
every_event_of_gpuwattch(void **state)
{
#define AT(part, counter) offsetof(struct launch_stats, part.counter)
    static const struct {
        const char *name;
        size_t counter,
            other; /* other: raised too, so that it is an outcome of that kind */
        double nanojoules;
    } row[] = {
        {"IC_H", AT(sm, l1i_hits), 0, 0.0634345},
        {"IC_M", AT(sm, l1i_misses), 0, 2.16931},
        {"DC_RH", AT(sm, l1d_hits), 0, 2.9346},
        {"DC_RM", AT(sm, l1d_load_misses), AT(sm, l1d_misses), 2.22507},
        {"DC_WH", AT(sm, l1d_store_hits), AT(sm, l1d_hits), 0.220124},
        {"DC_WM", AT(sm, l1d_misses), 0, 2.60367},
        {"TC_H", AT(sm, l1t_hits), 0, 1.35331},
        {"TC_M", AT(sm, l1t_misses), 0, 2.22507},
        {"CC_H", AT(sm, l1c_hits), 0, 1.4673},
        {"CC_M", AT(sm, l1c_misses), 0, 1.11254},
        {"SHRD_ACC", AT(sm, scratchpad_cycles), 0, 2.11946},
        {"REG_RD", AT(sm, operand_reads), 0, 32 * 0.00726682},
        {"REG_WR", AT(sm, register_writes), 0, 32 * 0.00598604},
        {"NON_REG_OPs", AT(sm, other_operands), 0, 32 * 0.0530065},
        {"SP_ACC", AT(sm, ops_int), 0, 32 * 0.00269477},
        {"FPU_ACC", AT(sm, ops_f32), 0, 0.0295799},
        {"SFU_ACC", AT(sm, ops_sin), 0, 12 * 0.0483518},
        {"MEM_RD", AT(mem, dram_reads), 0, 26.9484},
        {"MEM_WR", AT(mem, dram_writes), 0, 15.8649},
        {"MEM_PRE", AT(mem, dram_precharges), 0, 4.23225},
        {"L2_RH", AT(mem, l2_read_hits), 0, 2.80504},
        {"L2_RM", AT(mem, l2_read_misses), 0, 0.102042},
        {"L2_WH", AT(mem, l2_write_hits), 0, 13.8512},
        {"L2_WM", AT(mem, l2_write_misses), 0, 15.0243},
        {"NOC_A", AT(mem, icnt_request_flits), 0, 1.93858},
        /* TOT_INST, FP_INT, and half a cycle of PIPE_A */
        {"instruction", AT(sm, warp_instructions), 0, 0.0036141 + 0.0548897 + 2.273 / 2},
        {"IDLE_CORE_N", AT(sm, occupied_cycles), 0, -1.59e9 / 700e6},
    };
#undef AT
    struct machine *m = load("gtx480");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct launch_stats s = microsecond();
        double before = energy(&s, m).total;
        *(uint64_t *)(void *)((char *)&s + row[i].counter) += 1000;
        if (row[i].other)
            *(uint64_t *)(void *)((char *)&s + row[i].other) += 1000;
        double nj = 1e9 * (energy(&s, m).total - before) / 1000;
        if (!(fabs(nj - row[i].nanojoules) <= 1e-6 * fabs(row[i].nanojoules)))
            fail_msg("%s: %.9g nJ, not %.9g", row[i].name, nj, row[i].nanojoules);
    }
    machine_free(m);
}

static void
who_is_calibrated(void **state)
{
    static const struct {
        const char *machine;
        bool yes;
    } row[] = {{"gtx480", true}, {"gtx480-3x", true},        {"v100", true},
               {"a100", false},  {"titan", false},           {"001-table4.2-k20x", false},
               {"h200", false},  {"004-table1-fermi", false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct machine *m = load(row[i].machine);
        assert_int_equal(energy_calibrated(m), row[i].yes);
        machine_free(m);
    }
}

int
main(void)
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpuwattch_by_hand),
        cmocka_unit_test(pipeline_is_capped),
        cmocka_unit_test(bursts_of_another_size),
        cmocka_unit_test(coefficient_is_a_setting),
        cmocka_unit_test(accelwattch_static_power),
        cmocka_unit_test(physical_model_leaks),
        cmocka_unit_test(registers_leak_by_state),
        cmocka_unit_test(sums_of_launches),
        cmocka_unit_test(every_event_of_gpuwattch),
        cmocka_unit_test(who_is_calibrated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
