/* reorder.h: orders of the items of the irregular workloads (004 section 6.2): which thread,
 * so which block, has which item, and where its data lie. Thread i has item i, so a new order of threads is a
 * new numbering of the data, but for ORDER_THREADS. */
#ifndef WORKLOADS_REORDER_H
#define WORKLOADS_REORDER_H

#include "allot/workload.h"

enum item_order {
    ORDER_GIVEN,     /* as the input numbers items */
    ORDER_COALESCED, /* nvcc+Coal: by the first thread that touches them (data packing) */
    ORDER_CLUSTER,   /* cluster: a block has items that share data (METIS) */
    ORDER_REUSE,     /* reOrder: and blocks that share data follow each other */
    ORDER_THREADS,   /* clusters of threads alone: their data stay where they are */
    ORDER_SCATTERED, /* cluster, but blocks come in a random order */
    ORDERS
};

/* Whether this build has METIS, which the orders from ORDER_CLUSTER on need. */
bool order_has_clusters(void);
/* Parameter order=0 to 5 of the run; fails the run if this build cannot make it. */
enum item_order order_of(struct allot_run *r);
/* Parameter block=32 to 1024: threads of a block, 256 unless given. */
uint32_t block_of(struct allot_run *r);

/* Parameter window=1 to 1000 of ORDER_REUSE: blocks that the next one shares with; 45 unless given. */
uint32_t window_of(struct allot_run *r);

/* Threads of n items: block b has those of threads group * b to group * b + group - 1. Item i
 * shares data with to[first[i]] .. to[first[i + 1] - 1], and those with it: each pair stands
 * once. place[i] is the thread of item i. False: out of memory, or no METIS. */
bool order_items(enum item_order how, uint32_t n, const uint32_t *first,
                 const uint32_t *to, uint32_t group, uint32_t window, uint32_t *place);

/* What kernels read: the item of each thread, and lists of items in the order of threads. */
struct thread_lists {
    uint32_t *item, *first, *to;
};
/* place: the thread of each item, NULL: thread i has item i. False: out of memory. */
bool lists_by_thread(struct thread_lists *l, uint32_t n, const uint32_t *first,
                     const uint32_t *to, const uint32_t *place);
void lists_free(struct thread_lists *l);

#endif
