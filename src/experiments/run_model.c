/* run_model.c: hashes over the sources that results depend on, made by the build
 * (model_id.cmake), and over the plug-ins of this process. */
#include "experiments/model_id.h"
#include "experiments/run.h"

#include "timing/policy/policy_plugin.h"

#include <pthread.h>
#include <stdio.h>

#include <string.h>

static char with_plugins[128];

static void
name_plugins(void)
{
    snprintf(with_plugins, sizeof with_plugins, "%s+%s+%.12s", ALLOT_VERSION, RUN_MODEL,
             policy_plugins_id());
}

const char *
run_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!*policy_plugins_id())
        return ALLOT_VERSION "+" RUN_MODEL;
    pthread_once(&once, name_plugins);
    return with_plugins;
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
