/* energy_tech.c: leakage and wake-up of SRAM against what CACTI-P prints (figures that were
 * not used to write the model: arrays and whole organisations), and against 001 Table 4.4. */
#include "energy/tech.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct sram_ports register_file = {0, 1, 1};

/* Equal to so many significant digits as the reference has. */
static void
near(double ours, double reference, double half_digit)
{
    if (!(fabs(ours - reference) <= half_digit))
        fail_msg("%.9g is not %.9g within %g", ours, reference, half_digit);
}

static double
watts(unsigned nm, double kelvin, double bytes, struct sram_ports p, enum sram_state s)
{
    struct tech t;
    assert_true(tech_at(nm, kelvin, &t));
    return tech_cell(&t, p, s) * tech_cells(bytes);
}

static void
register_file_of_256_kb(void **state)
{
    static const struct {
        unsigned nm;
        double kelvin, on,
            sleep; /* W as CACTI-P prints them; its SLEEP at 40 nm is wrong */
    } row[] = {
        {45, 300, 0.1499, 0.0951}, {45, 350, 0.3046, 0.1932}, {45, 360, 0.3437, 0.2180},
        {45, 370, 0.3855, 0.2445}, {45, 380, 0.4299, 0.2727}, {40, 300, 0.1056, 0},
        {40, 350, 0.2076, 0},      {40, 360, 0.2744, 0},      {40, 370, 0.3822, 0},
        {40, 380, 0.5112, 0},      {32, 300, 0.0521, 0.0330}, {32, 350, 0.0922, 0.0585},
        {32, 360, 0.1823, 0.1156}, {32, 370, 0.3495, 0.2217}, {32, 380, 0.5551, 0.3521},
        {22, 300, 0.0255, 0.0162}, {22, 350, 0.0451, 0.0286}, {22, 360, 0.0891, 0.0565},
        {22, 370, 0.1709, 0.1084}, {22, 380, 0.2714, 0.1721}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double on = watts(row[i].nm, row[i].kelvin, 262144, register_file, SRAM_ON);
        near(on, row[i].on, 0.00005);
        if (row[i].sleep > 0)
            near(watts(row[i].nm, row[i].kelvin, 262144, register_file, SRAM_SLEEP),
                 row[i].sleep, 0.00005);
        assert_true(watts(row[i].nm, row[i].kelvin, 262144, register_file, SRAM_OFF) ==
                    0);
    }
    near(watts(22, 380, 262144, register_file, SRAM_ON), 0.2714, 0.00005);
}

static void
other_arrays(void **state)
{
    static const struct sram_ports two = {2, 0, 0}, one = {1, 0, 0};
    near(watts(45, 380, 16384, two, SRAM_ON), 0.0246, 0.00005);
    near(watts(40, 380, 49152, two, SRAM_ON), 0.0878, 0.00005);
    near(watts(45, 380, 131072, one, SRAM_ON), 0.1690, 0.00005);
    near(watts(22, 380, 1572864, one, SRAM_ON), 1.280, 0.0005);
    near(watts(22, 380, 128, one, SRAM_SLEEP) / watts(22, 380, 128, one, SRAM_ON), 0.6165,
         0.00005);
}

static void
sleep_is_the_same_part_everywhere(void **state)
{
    static const unsigned nm[] = {45, 40, 32, 22};
    for (size_t i = 0; i < 4; i++)
        for (double k = 300; k <= 400; k += 12.5)
            near(watts(nm[i], k, 128, register_file, SRAM_SLEEP) /
                     watts(nm[i], k, 128, register_file, SRAM_ON),
                 0.63436, 0.000005);
}

/* 001 section 4.3.9: leakage rises from 45 to 32 nm and is least at 22 nm. */
static void
order_of_nodes_at_380_kelvin(void **state)
{
    double at45 = watts(45, 380, 262144, register_file, SRAM_ON);
    double at32 = watts(32, 380, 262144, register_file, SRAM_ON);
    double at22 = watts(22, 380, 262144, register_file, SRAM_ON);
    assert_true(at32 > at45 && at45 > at22);
    /* ... and not at 350 K */
    assert_true(watts(32, 350, 128, register_file, SRAM_ON) <
                watts(45, 350, 128, register_file, SRAM_ON));
}

static void
wake_up(void **state)
{
    struct tech t;
    assert_true(tech_at(22, 380, &t));
    /* 001 Table 4.4: 0.005759 and 0.01749 ns; CACTI-P with 16 rows prints the digits */
    near(tech_wake_ns(&t, SRAM_SLEEP, 16), 0.00575905, 0.0000005);
    near(tech_wake_ns(&t, SRAM_OFF, 16), 0.0174933, 0.000005);
    near(tech_wake_ns(&t, SRAM_SLEEP, 32), 0.01041, 0.000005);
    near(tech_wake_ns(&t, SRAM_OFF, 32), 0.03003, 0.00005);
    assert_true(tech_wake_ns(&t, SRAM_ON, 16) == 0);
    /* a warp register: 1152 cells in subarrays of 16 rows are 72 columns */
    near(72e12 * tech_wake_joules(&t, SRAM_SLEEP, 16), 0.0714, 0.00005);
    near(72e12 * tech_wake_joules(&t, SRAM_OFF, 16), 0.178, 0.0005);
    assert_true(tech_at(45, 380, &t));
    near(72e12 * tech_wake_joules(&t, SRAM_SLEEP, 16), 0.368, 0.0005);
    assert_true(tech_at(32, 380, &t));
    near(72e12 * tech_wake_joules(&t, SRAM_OFF, 16), 0.472, 0.0005);
}

static void
long_channels(void **state)
{
    static const struct {
        unsigned nm;
        double factor;
    } row[] = {{45, 0.4256}, {40, 0.4219}, {32, 0.4159}, {22, 0.4444}};
    struct tech t;
    for (size_t i = 0; i < 4; i++) {
        assert_true(tech_at(row[i].nm, 380, &t));
        near(tech_long(&t, 0.8), row[i].factor, 0.00005);
    }
}

static void
temperatures_between(void **state)
{
    double a = watts(22, 370, 128, register_file, SRAM_ON);
    double b = watts(22, 380, 128, register_file, SRAM_ON);
    near(watts(22, 375, 128, register_file, SRAM_ON), (a + b) / 2, 1e-12);
    assert_true(watts(32, 400, 128, register_file, SRAM_ON) >
                watts(32, 399, 128, register_file, SRAM_ON));
}

static void
out_of_range(void **state)
{
    struct tech t;
    assert_false(tech_at(28, 380, &t));
    assert_false(tech_at(22, 299, &t));
    assert_false(tech_at(22, 401, &t));
    assert_false(tech_at(22, NAN, &t));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(register_file_of_256_kb),
        cmocka_unit_test(other_arrays),
        cmocka_unit_test(sleep_is_the_same_part_everywhere),
        cmocka_unit_test(order_of_nodes_at_380_kelvin),
        cmocka_unit_test(wake_up),
        cmocka_unit_test(long_channels),
        cmocka_unit_test(temperatures_between),
        cmocka_unit_test(out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
