/* registry.h: what the build writes for support.c: the PTX of every workload, embedded.
 */
#ifndef WORKLOADS_REGISTRY_H
#define WORKLOADS_REGISTRY_H

struct embedded_ptx {
    const char *workload, *compiler; /* NULL ends the list */
    const char *text, *end;          /* text is NUL-terminated; end is the NUL */
};
extern const struct embedded_ptx embedded_ptx[];

#endif
