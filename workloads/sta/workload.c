/* sta: static timing analysis of a circuit: delays, then arrival times level by level. */
#include "circuit.h"
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

static void
analyse(const struct circuit *c, uint32_t *delay, uint32_t *arrival)
{
    for (uint32_t i = 0; i < c->nodes; i++)
        delay[i] = 10 + 3 * c->type[i] + 4 * (c->first[i + 1] - c->first[i]);
    for (uint32_t at = c->level[1]; at < c->nodes; at++) {
        uint32_t i = c->order[at], most = 0;
        for (uint32_t e = c->first[i]; e < c->first[i + 1]; e++)
            most = arrival[c->from[e]] > most ? arrival[c->from[e]] : most;
        arrival[i] = most + delay[i];
    }
}

static void
launch(struct allot_run *r, const struct circuit *c, uint32_t *delay, uint32_t *arrival,
       uint32_t block)
{
    const size_t bytes = c->nodes * sizeof *c->type;
    uint64_t order = wl_upload(r, c->order, bytes), type = wl_upload(r, c->type, bytes);
    uint64_t first = wl_upload(r, c->first, bytes + sizeof *c->first);
    uint64_t from = wl_upload(r, c->from, c->edges * sizeof *c->from);
    uint64_t d_delay = wl_upload(r, delay, bytes);
    uint64_t d_arrival = wl_upload(r, arrival, bytes);
    wl_launch(r, "sta_delay", (c->nodes + block - 1) / block, 1, 1, block, 1, 1, 0, &type,
              &first, &d_delay, &c->nodes);
    for (uint32_t level = 1; level < c->levels; level++) {
        const uint32_t *l = &c->level[level];
        wl_launch(r, "sta_arrive", (l[1] - l[0] + block - 1) / block, 1, 1, block, 1, 1,
                  0, &order, &first, &from, &d_delay, &d_arrival, &l[0], &l[1]);
    }
    wl_read(r, d_delay, delay, bytes);
    wl_read(r, d_arrival, arrival, bytes);
}

static bool
run(struct allot_run *r)
{
    struct circuit c;
    uint64_t seed = r->seed;
    const uint32_t block = block_of(r);
    if (!circuit_of(r, &c, block, true))
        return false;
    const uint32_t n = c.nodes;
    uint32_t *all = calloc(4 * (size_t)n, sizeof *all);
    if (all) {
        uint32_t *delay = all, *arrival = all + n, *d = all + 2 * n, *a = all + 3 * n;
        for (uint32_t at = 0; at < c.level[1];
             at++) /* inputs are stable at times given */
            a[c.order[at]] = arrival[c.order[at]] = (uint32_t)(wl_random(&seed) % 100);
        analyse(&c, d, a);
        launch(r, &c, delay, arrival, block);
        wl_check_i32(r, "delays", (int32_t *)delay, (int32_t *)d, n);
        wl_check_i32(r, "arrival times", (int32_t *)arrival, (int32_t *)a, n);
    } else {
        wl_fail(r, "out of memory");
    }
    free(all);
    circuit_free(&c);
    return r->ok;
}

const struct allot_workload allot_workload_sta = {
    .name = "sta",
    .summary = "static timing analysis of a circuit, a launch a level",
    .source = "004 Table III, sta",
    .kernels = "sta_delay sta_arrive",
    .run = run,
};
