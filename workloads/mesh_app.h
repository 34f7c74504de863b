/* mesh_app.h: what the applications on meshes have in common: a kernel over edges, a thread a
 * node, that adds a flow to one end and takes it from the other; and one over nodes. Arrays
 * lie component after component: value c of node i at c * nodes + i. */
#ifndef WORKLOADS_MESH_APP_H
#define WORKLOADS_MESH_APP_H

#include "mesh.h"

enum { MESH_APP_VALUES = 8 };

struct mesh_app {
    /* edges(item, first, to, state, sum, weight[, period], nodes); sums are integers in units of
     * 2^-22, so that they do not depend on the order of additions. */
    const char *edges;
    /* nodes(state, more, sum, step, nodes), which clears the sums; NULL: there is none, and
     * the sums are the result. */
    const char *nodes;
    enum mesh_name mesh;        /* unless a parameter says another */
    unsigned state, more, sums; /* floats of a node; state: read along edges */
    bool periodic;              /* edges takes the mesh's period */
    double step;
    /* Values of a node at first: state, then more. */
    void (*start)(const struct mesh *m, uint32_t i, uint64_t *random, float *value);
    /* -- the reference, in double precision -- */
    void (*flow)(const double *a, const double *b, double weight, double period,
                 double *out);
    void (*move)(double *state, double *more, const double *sum, double step);
};

bool mesh_app_run(struct allot_run *r, const struct mesh_app *app);

#endif
