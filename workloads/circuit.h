/* circuit.h: the ITC'99 circuits of 004 (Table V): netlists of workloads/circuits, which are part
 * of the library. A node is a primary input, a flip-flop or a gate; flip-flops are sources
 * of values as inputs are, so gates have no cycles. */
#ifndef WORKLOADS_CIRCUIT_H
#define WORKLOADS_CIRCUIT_H

#include "allot/workload.h"

enum gate { GATE_PI, GATE_DFF, GATE_NOT, GATE_AND, GATE_NAND, GATE_OR, GATE_NOR };

struct circuit {
    uint32_t nodes, edges, levels;
    uint32_t *type;  /* enum gate, by node */
    uint32_t *first; /* fan-ins of node i: from[first[i]] .. from[first[i + 1] - 1] */
    uint32_t *from;
    uint32_t
        *order; /* nodes by level, in one by number; level 0: inputs and flip-flops */
    uint32_t *level;  /* levels + 1: order[level[k]] is the first of level k */
    uint32_t *was;    /* number of node i in the netlist; NULL: i */
    uint32_t *thread; /* of a launch over all nodes that has node i; NULL: thread i */
};

/* The circuit of a run, in blocks of so many nodes: the first 1500 nodes of b20 for quick
 * ones, else by parameter circuit=17 to 20 (18 unless given). Threads and nodes are
 * ordered by parameter order=0 to 4 (reorder.h); by_level: for launches of a level, whose
 * threads are `order`; else for launches of all nodes. Fails the run if it cannot be made. */
bool circuit_of(struct allot_run *r, struct circuit *c, uint32_t block, bool by_level);
void circuit_free(struct circuit *c);

#endif
