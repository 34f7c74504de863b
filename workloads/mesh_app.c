/* mesh_app.c: inputs, launches and the reference of the applications on meshes. */
#include "mesh_app.h"

#include "reorder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A later iteration weighs more, so that none can be left out unnoticed. */
static float
weight_of(unsigned iteration)
{
    return 1.0F + 0.25F * (float)iteration;
}

struct arrays {
    float *state, *more, *sum;        /* as uploaded and read back */
    double *d_state, *d_more, *d_sum; /* of the reference: values of a node together */
    size_t n_state, n_more, n_sum;    /* floats */
};

static bool
make(struct arrays *a, const struct mesh_app *app, const struct mesh *m, uint64_t seed)
{
    const size_t n = m->nodes;
    a->n_state = n * app->state;
    a->n_more = n * app->more;
    a->n_sum = n * app->sums;
    a->state = calloc(a->n_state + 1, sizeof *a->state);
    a->more = calloc(a->n_more + 1, sizeof *a->more);
    a->sum = calloc(a->n_sum + 1, sizeof *a->sum);
    a->d_state = calloc(a->n_state + 1, sizeof *a->d_state);
    a->d_more = calloc(a->n_more + 1, sizeof *a->d_more);
    a->d_sum = calloc(a->n_sum + 1, sizeof *a->d_sum);
    if (!a->state || !a->more || !a->sum || !a->d_state || !a->d_more || !a->d_sum)
        return false;
    for (uint32_t i = 0; i < m->nodes; i++) {
        float value[2 * MESH_APP_VALUES] = {0};
        app->start(m, i, &seed, value);
        for (unsigned c = 0; c < app->state; c++)
            a->d_state[i * app->state + c] = a->state[c * n + i] = value[c];
        for (unsigned c = 0; c < app->more; c++)
            a->d_more[i * app->more + c] = a->more[c * n + i] = value[app->state + c];
    }
    return true;
}

static void
drop(struct arrays *a)
{
    free(a->state);
    free(a->more);
    free(a->sum);
    free(a->d_state);
    free(a->d_more);
    free(a->d_sum);
}

static void
reference(struct arrays *a, const struct mesh_app *app, const struct mesh *m,
          unsigned iterations)
{
    for (unsigned k = 0; k < iterations; k++) {
        for (uint32_t i = 0; i < m->nodes; i++)
            for (uint32_t e = m->first[i]; e < m->first[i + 1]; e++) {
                double flow[MESH_APP_VALUES];
                uint32_t j = m->to[e];
                app->flow(&a->d_state[i * app->state], &a->d_state[j * app->state],
                          (double)weight_of(k), (double)m->period, flow);
                for (unsigned c = 0; c < app->sums; c++) {
                    a->d_sum[i * app->sums + c] += flow[c];
                    a->d_sum[j * app->sums + c] -= flow[c];
                }
            }
        for (uint32_t i = 0; app->nodes && i < m->nodes; i++) {
            app->move(&a->d_state[i * app->state], &a->d_more[i * app->more],
                      &a->d_sum[i * app->sums], app->step);
            memset(&a->d_sum[i * app->sums], 0, app->sums * sizeof *a->d_sum);
        }
    }
}

/* A float's rounding, over the sums of a node's edges: to 2^-18 of the largest value. */
static void
check(struct allot_run *r, const char *what, const float *got, const double *want,
      uint32_t nodes, unsigned values)
{
    float *w = malloc(sizeof *w * nodes * values + 1), most = 0;
    for (uint32_t i = 0; w && i < nodes; i++)
        for (unsigned c = 0; c < values; c++) {
            w[c * nodes + i] = (float)want[i * values + c];
            most = fmaxf(most, fabsf(w[c * nodes + i]));
        }
    if (w)
        wl_check_f32(r, what, got, w, (size_t)nodes * values, 0, most * 0x1p-18F);
    else
        wl_fail(r, "out of memory");
    free(w);
}

/* Sums as floats. */
static void
read_sums(struct allot_run *r, uint64_t addr, struct arrays *a)
{
    wl_read(r, addr, a->sum, a->n_sum * sizeof *a->sum);
    for (size_t i = 0; i < a->n_sum; i++) {
        int32_t n;
        memcpy(&n, &a->sum[i], sizeof n);
        a->sum[i] = (float)n * 0x1p-22F;
    }
}

static void
simulate(struct allot_run *r, const struct mesh_app *app, const struct mesh *m,
         const struct thread_lists *l, struct arrays *a, unsigned iterations,
         uint32_t block)
{
    const uint32_t blocks = (m->nodes + block - 1) / block;
    const uint32_t dims[6] = {blocks, 1, 1, block, 1, 1};
    uint64_t item = wl_upload(r, l->item, m->nodes * sizeof *l->item);
    uint64_t first = wl_upload(r, l->first, (m->nodes + 1) * sizeof *l->first);
    uint64_t to = wl_upload(r, l->to, m->edges * sizeof *l->to);
    uint64_t state = wl_upload(r, a->state, a->n_state * sizeof *a->state);
    uint64_t sum = wl_upload(r, a->sum, a->n_sum * sizeof *a->sum);
    uint64_t more = a->n_more ? wl_upload(r, a->more, a->n_more * sizeof *a->more) : 0;
    float step = (float)app->step;
    for (unsigned k = 0; k < iterations; k++) {
        float weight = weight_of(k);
        const void *edges[8] = {&item, &first, &to, &state, &sum, &weight};
        size_t n = 6;
        if (app->periodic)
            edges[n++] = &m->period;
        edges[n++] = &m->nodes;
        wl_launch_args(r, app->edges, dims, 0, edges, n);
        if (app->nodes)
            wl_launch_args(r, app->nodes, dims, 0,
                           (const void *const[]){&state, &more, &sum, &step, &m->nodes},
                           5);
    }
    if (!app->nodes)
        read_sums(r, sum, a);
    else
        wl_read(r, state, a->state, a->n_state * sizeof *a->state);
    if (app->nodes && a->n_more)
        wl_read(r, more, a->more, a->n_more * sizeof *a->more);
}

bool
mesh_app_run(struct allot_run *r, const struct mesh_app *app)
{
    struct mesh m;
    struct arrays a = {0};
    unsigned iterations = (unsigned)wl_param(r, "iterations", 2, 1, 1000);
    uint32_t block = block_of(r);
    if (!mesh_of(r, &m, app->mesh, block))
        return false;
    struct thread_lists l = {0};
    if (make(&a, app, &m, r->seed) &&
        lists_by_thread(&l, m.nodes, m.first, m.to, m.thread)) {
        simulate(r, app, &m, &l, &a, iterations, block);
        reference(&a, app, &m, iterations);
        check(r, "state", a.state, a.d_state, m.nodes, app->state);
        check(r, "further values", a.more, a.d_more, m.nodes, app->more);
        if (!app->nodes)
            check(r, "sums", a.sum, a.d_sum, m.nodes, app->sums);
    } else {
        wl_fail(r, "out of memory");
    }
    drop(&a);
    lists_free(&l);
    mesh_free(&m);
    return r->ok;
}
