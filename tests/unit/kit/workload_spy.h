/* workload_spy.h: what a workload leaves in device memory. Interposes on allot_alloc and
 * allot_free (the linker's --wrap) and hashes every buffer when it is freed or at the
 * end. Linked with workload_spy.c. */
#ifndef TESTS_WORKLOAD_SPY_H
#define TESTS_WORKLOAD_SPY_H

#include "allot/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void spy_begin(void);
/* Hash of all buffers; at least one was there. */
uint64_t spy_end(struct allot_device *dev);

#endif
