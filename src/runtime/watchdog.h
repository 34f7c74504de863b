/* watchdog.h: a host thread that looks for endless loops of the simulator itself.
 *
 * A kernel may run for ever, and limits, Ctrl-C and SIGTERM end it: they are looked at between
 * quanta of cycles. A loop that never ends within one cycle is a fault of allot, which nothing
 * in that thread can find. Whoever runs a launch has a beat, a number that changes while the
 * simulated state does. When it has stayed the same for `patience` seconds of the process's CPU
 * time, the watchdog writes what it knows to stderr - the launch, the machine's state, where
 * each host thread is - and aborts. CPU time: a process that the host stops, or one that waits
 * for a pipe, is in no loop. */
#ifndef ALLOT_RUNTIME_WATCHDOG_H
#define ALLOT_RUNTIME_WATCHDOG_H

#include "base/str.h"

#include <stdint.h>

enum { WATCHDOG_PATIENCE = 20 /* seconds, for each host thread of a launch */ };

struct watchdog_setup {
    double patience;
    uint64_t (*beat)(void *user); /* called in the watchdog's thread, at any time */
    /* In words; the launch is in its loop meanwhile. name: enough to report the fault. */
    void (*name)(void *user, struct strbuf *out);
    void (*dump)(void *user, struct strbuf *out);
    void *user;
};

/* NULL: the host gives no thread; nothing is watched then. */
struct watchdog *watchdog_new(const struct watchdog_setup *s);
void watchdog_free(struct watchdog *w); /* may be NULL, as below */
/* A launch is under way from watchdog_on to watchdog_off, but not while the caller's own
 * functions run. From one thread, or one at a time. */
void watchdog_on(struct watchdog *w);
void watchdog_off(struct watchdog *w);

#endif
