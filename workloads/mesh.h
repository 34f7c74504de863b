/* mesh.h: meshes of the irregular workloads (004 Table V), made here: README.md says how.
 * Each edge (i, j), i < j, stands once, with i, and stays with that node in another order of threads. */
#ifndef WORKLOADS_MESH_H
#define WORKLOADS_MESH_H

#include "reorder.h"

struct mesh {
    uint32_t nodes, edges;
    uint32_t *first;  /* of node i: edges first[i] .. first[i + 1] - 1 */
    uint32_t *to;     /* the other node, rising as the mesh is made */
    float *at;        /* coordinates: x of all nodes, then y, then z; a cell is 1 */
    float period;     /* of the coordinates in each direction, 0: none */
    uint32_t *thread; /* that has node i; NULL: thread i */
};

enum mesh_name { MESH_FOIL, MESH_AUTO, MESH_MOL1, MESH_MOL2, MESH_QUICK };

/* local: nodes of jittered meshes are numbered as they lie, all of them; else as the original
 * of foil is, as far as it is known: about half of them, the others at random. False: out
 * of memory. */
bool mesh_make(struct mesh *m, enum mesh_name name, bool local);
void mesh_free(struct mesh *m);

/* Nodes and threads of a mesh as made, in another order, for blocks of so many threads. A node
 * keeps its list. ORDER_THREADS: nodes stay, m->thread says who has which. False: out of
 * memory, or no METIS. */
bool mesh_order(struct mesh *m, enum item_order how, uint32_t block, uint32_t window);

/* The mesh of a run, in blocks of so many nodes: MESH_QUICK for quick ones, else by parameter
 * mesh=0 (foil, unless `otherwise` is another) to 3 (mol2), and local=1; threads and
 * nodes ordered by parameter order=0 to 5 (reorder.h). Fails the run if it cannot be made. */
bool mesh_of(struct allot_run *r, struct mesh *m, enum mesh_name otherwise,
             uint32_t block);

#endif
