/* observer.h: those who look on while exec_run_grid executes a launch. An observer is a
 * constant table of handlers, each of which may be NULL; a watch is an observer with its
 * user. Whoever wants to see a launch adds a watch to its grid (exec_observe).
 *
 *   launch_start                         before the first block
 *     block_start                        the block has its storage; no warp has run
 *       before     step                  each instruction of a warp: not yet executed
 *       barrier    step                  ... executed, if it is a barrier or released warps
 *       access     step                  ... executed, if it accessed memory
 *       step       step                  ... executed, always
 *     block_end                          its warps have ended, or the launch has
 *   launch_end                           after the last block, or a fault
 *
 * Of one instruction the handlers come in this order for each watch, and watches in the
 * order in which they were added; the ends (block_end, launch_end) come in the opposite
 * order, so that a watch may use what an earlier one keeps. An instruction that waits for
 * lanes in other paths of its warp (exec_step: mask 0, jumped) is shown to `before` and
 * `step` each time it is tried.
 *
 * A launch that is watched runs in one host thread, a block after another unless they wait
 * for each other, and not in quick handlers (threaded.h). One that is not pays a comparison for
 * each turn of a warp. A watch of a single block (exec_races.c) is not in the grid's list:
 * its blocks may run in any thread, and once `wants` is false the block runs on unseen.
 *
 * Contract: tests/unit/exec/exec_observer.c. Clients: checks/ (race, init, sync),
 * exec_check.c (analyses, turns of virtual blocks, power states), memory/exec_races.c, and
 * cta/workset.c. */
#ifndef ALLOT_EXEC_OBSERVER_H
#define ALLOT_EXEC_OBSERVER_H

#include "exec/exec.h"

struct exec_observer {
    void (*launch_start)(void *user, struct exec_grid *g);
    void (*launch_end)(void *user, struct exec_grid *g);
    void (*block_start)(void *user, struct exec_cta *c);
    void (*block_end)(void *user, struct exec_cta *c);
    /* The instruction at w->pc. EXEC_FAULT, with a diagnostic in the block's sink, ends the
     * launch. */
    enum exec_result (*before)(void *user, struct exec_warp *w);
    /* A barrier was executed (the warp waits at it if it is EXEC_BARRIER), or s->woken were
     * released. */
    void (*barrier)(void *user, struct exec_warp *w, const struct exec_step *s);
    /* s->access: all but reads of textures and surfaces. */
    void (*access)(void *user, struct exec_warp *w, const struct exec_step *s);
    void (*step)(void *user, struct exec_warp *w, const struct exec_step *s);
    /* Of a single block: is there still something to see? `unseen`: instructions of the block
     * that were executed since the last question without being shown. */
    bool (*wants)(void *user, uint64_t unseen);
};

/* Adds a watch to the grid, at most EXEC_WATCHES; one that is there already changes nothing.
 * Until the launch is over. */
void exec_observe(struct exec_grid *g, const struct exec_observer *on, void *user);

#endif
