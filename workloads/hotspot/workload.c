/* hotspot: temperature of a chip over time, several time steps a launch. */
#include "hotspot.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 16
#define STEPS 2 /* of a launch: the pyramid's height */

static const float ambient = 80.0f;
/* Of a time step: seconds / heat capacity of a cell, and conductances to its neighbours
 * in the row, in the column, and to the sink. Flow to each neighbour is a tenth of the
 * difference. */
static const float step_div_cap = 1.0f, rx_1 = 0.1f, ry_1 = 0.1f, rz_1 = 0.001f;

/* One time step from t to next in double: flow over each of the four sides, then the
 * sink. */
static void
reference_step(const double *t, const float *power, double *next, int rows, int cols)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            size_t at = (size_t)i * cols + j;
            double flow = power[at] + (ambient - t[at]) * rz_1;
            flow += i > 0 ? (t[at - cols] - t[at]) * ry_1 : 0.0;
            flow += i < rows - 1 ? (t[at + cols] - t[at]) * ry_1 : 0.0;
            flow += j > 0 ? (t[at - 1] - t[at]) * rx_1 : 0.0;
            flow += j < cols - 1 ? (t[at + 1] - t[at]) * rx_1 : 0.0;
            next[at] = t[at] + step_div_cap * flow;
        }
    }
}

bool
hotspot_run(struct allot_run *r, bool derived)
{
    int rows = (int)wl_param(r, "rows", r->quick ? 33 : 256, 1, 4096),
        cols = (int)wl_param(r, "cols", r->quick ? 45 : 256, 1, 4096), total = 4;
    size_t n = (size_t)rows * cols, bytes = sizeof(float) * n;
    float *temp = malloc(bytes), *power = malloc(bytes), *want = malloc(bytes);
    double *ref[2] = {malloc(sizeof(double) * n), malloc(sizeof(double) * n)};

    if (temp && power && want && ref[0] && ref[1]) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++) {
            temp[i] = wl_uniform(&rng, 320.0f, 345.0f);
            power[i] = wl_uniform(&rng, 0.0f, 0.5f);
            ref[0][i] = temp[i];
        }
        uint64_t d_power = wl_upload(r, power, bytes);
        uint64_t d_temp[2] = {wl_upload(r, temp, bytes), wl_alloc(r, bytes)};
        int now = 0, done = 0;
        while (done < total) {
            int steps = total - done < STEPS ? total - done : STEPS,
                inner = BLOCK - 2 * steps;
            uint32_t grid[] = {(uint32_t)((cols + inner - 1) / inner),
                               (uint32_t)((rows + inner - 1) / inner)};
            float cap = 1 / step_div_cap, rx = 1 / rx_1, ry = 1 / ry_1, rz = 1 / rz_1,
                  step = 1;
            if (derived)
                wl_launch(r, "calculate_temp", grid[0], grid[1], 1, BLOCK, BLOCK, 1, 0,
                          &steps, &d_power, &d_temp[now], &d_temp[!now], &cols, &rows,
                          &steps, &steps, &cap, &rx, &ry, &rz, &step);
            else
                wl_launch(r, "calculate_temp", grid[0], grid[1], 1, BLOCK, BLOCK, 1, 0,
                          &steps, &d_power, &d_temp[now], &d_temp[!now], &rows, &cols,
                          &step_div_cap, &rx_1, &ry_1, &rz_1, &ambient);
            done += steps;
            now = !now;
        }
        for (int t = 0; t < total; t++)
            reference_step(ref[t & 1], power, ref[!(t & 1)], rows, cols);
        for (size_t i = 0; i < n; i++)
            want[i] = (float)ref[total & 1][i];
        wl_read(r, d_temp[now], temp, bytes);
        /* Each step adds to about 330 with half an ulp (2^-16) of error, its own terms
         * (differences of sums up to 700, times 0.1) with less; diffusion does not
         * amplify. */
        wl_check_f32(r, "temperature", temp, want, n, 0.0f,
                     (float)(2 * total) * 0x1p-16f);
        wl_free(r, d_power);
        wl_free(r, d_temp[0]);
        wl_free(r, d_temp[1]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(temp);
    free(power);
    free(want);
    free(ref[0]);
    free(ref[1]);
    return r->ok;
}

static bool
run(struct allot_run *r)
{
    return hotspot_run(r, false);
}

const struct allot_workload allot_workload_hotspot = {
    .name = "hotspot",
    .summary =
        "temperature of a chip, two time steps a launch; 3072 B of scratchpad a block",
    .source = "Rodinia hotspot, calculate_temp: 001 Table 2.1, Tables 2.5, 2.6",
    .kernels = "calculate_temp",
    .run = run,
    .bench = true,
};
