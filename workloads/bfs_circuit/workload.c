/* bfs_circuit: breadth-first search of a circuit from its inputs and flip-flops. */
#include "circuit.h"
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

struct fanouts {
    uint32_t *first, *to;
};

static bool
transpose(const struct circuit *c, struct fanouts *f)
{
    f->first = calloc(c->nodes + 2, sizeof *f->first);
    f->to = malloc(c->edges * sizeof *f->to + 1);
    if (!f->first || !f->to)
        return false;
    for (uint32_t e = 0; e < c->edges; e++)
        f->first[c->from[e] + 2]++;
    for (uint32_t i = 2; i < c->nodes + 2; i++)
        f->first[i] += f->first[i - 1];
    for (uint32_t i = 0; i < c->nodes; i++)
        for (uint32_t e = c->first[i]; e < c->first[i + 1]; e++)
            f->to[f->first[c->from[e] + 1]++] = i;
    return true;
}

/* Distances by a queue; the largest. */
static int32_t
search(const struct circuit *c, const struct fanouts *f, int32_t *distance,
       uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < c->nodes; i++)
        if (distance[i] == 0)
            queue[tail++] = i;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t e = f->first[v]; e < f->first[v + 1]; e++)
            if (distance[f->to[e]] < 0) {
                distance[f->to[e]] = distance[v] + 1;
                queue[tail++] = f->to[e];
            }
    }
    return tail ? distance[queue[tail - 1]] : 0;
}

static void
launch(struct allot_run *r, const struct circuit *c, const struct thread_lists *l,
       int32_t *distance, const uint32_t *frontier, const uint32_t *none, int32_t levels,
       uint32_t block)
{
    const size_t bytes = c->nodes * sizeof *c->type;
    uint64_t item = c->thread ? wl_upload(r, l->item, bytes) : 0;
    uint64_t first = wl_upload(r, l->first, bytes + sizeof *l->first);
    uint64_t to = wl_upload(r, l->to, c->edges * sizeof *l->to);
    uint64_t d_frontier = wl_upload(r, frontier, bytes),
             marked = wl_upload(r, none, bytes);
    uint64_t d_distance = wl_upload(r, distance, bytes);
    const uint32_t blocks = (c->nodes + block - 1) / block;
    for (int32_t level = 1; level <= levels; level++) {
        wl_launch(r, "bfs_visit", blocks, 1, 1, block, 1, 1, 0, &item, &first, &to,
                  &d_frontier, &marked, &d_distance, &c->nodes);
        wl_launch(r, "bfs_advance", blocks, 1, 1, block, 1, 1, 0, &d_frontier, &marked,
                  &d_distance, &level, &c->nodes);
    }
    wl_read(r, d_distance, distance, bytes);
}

static bool
run(struct allot_run *r)
{
    struct circuit c;
    struct fanouts f = {0};
    const uint32_t block = block_of(r);
    if (!circuit_of(r, &c, block, false))
        return false;
    uint32_t *all = calloc(5 * (size_t)c.nodes, sizeof *all);
    struct thread_lists l = {0};
    if (all && transpose(&c, &f) &&
        lists_by_thread(&l, c.nodes, f.first, f.to, c.thread)) {
        uint32_t *frontier = all, *none = all + c.nodes;
        int32_t *got = (int32_t *)all + 2 * c.nodes, *want = (int32_t *)all + 3 * c.nodes;
        for (uint32_t i = 0; i < c.nodes; i++)
            got[i] = -1;
        /* From some of the inputs and flip-flops, one at least: the same in any order. */
        for (uint32_t at = 0; at < c.level[1]; at++) {
            uint32_t i = c.order[at], was = c.was ? c.was[i] : i;
            uint64_t seed = r->seed + was;
            if (!was || wl_random(&seed) % 8 == 0) {
                frontier[i] = 1;
                got[i] = 0;
            }
        }
        memcpy(want, got, c.nodes * sizeof *want);
        int32_t levels = search(&c, &f, want, all + 4 * c.nodes);
        launch(r, &c, &l, got, frontier, none, levels, block);
        wl_check_i32(r, "distance", got, want, c.nodes);
    } else {
        wl_fail(r, "out of memory");
    }
    free(all);
    free(f.first);
    free(f.to);
    lists_free(&l);
    circuit_free(&c);
    return r->ok;
}

const struct allot_workload allot_workload_bfs_circuit = {
    .name = "bfs_circuit",
    .summary = "breadth-first search of a circuit from its inputs, two launches a level",
    .source = "004 Table III, bfs",
    .kernels = "bfs_visit bfs_advance",
    .run = run,
};
