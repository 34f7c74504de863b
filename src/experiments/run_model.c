/* run_model.c: hashes over the sources that results depend on, made by the build
 * (model_id.cmake). */
#include "experiments/model_id.h"
#include "experiments/run.h"

#include <string.h>

const char *
run_version(void)
{
    return ALLOT_VERSION "+" RUN_MODEL;
}

const char *
run_workload_id(const char *name)
{
    static const struct {
        const char *name, *id;
    } ids[] = {
#define WORKLOAD_ID(name, id) {name, id},
        RUN_WORKLOADS
#undef WORKLOAD_ID
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(ids[i].name, name))
            return ids[i].id;
    return "";
}

const char *
run_room(size_t i, const char **id)
{
    static const struct {
        const char *name, *id;
    } rooms[] = {
#define ROOM_ID(name, id) {name, id},
        RUN_ROOMS
#undef ROOM_ID
    };
    if (i >= sizeof rooms / sizeof *rooms)
        return NULL;
    *id = rooms[i].id;
    return rooms[i].name;
}

const char *
run_pass_room(const char *pass, size_t n)
{
    static const struct {
        const char *name, *room;
    } passes[] = {
#define PASS_ROOM(name, room) {name, room},
        RUN_PASSES
#undef PASS_ROOM
    };
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strlen(passes[i].name) == n && !strncmp(passes[i].name, pass, n))
            return passes[i].room;
    return NULL;
}
