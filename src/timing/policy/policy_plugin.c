/* policy_plugin.c: loads what ALLOT_POLICIES names, once in a process, before the first look-up. What
 * could not be loaded is kept as text, for the first that can say so (policy_plugins_loaded). A plug-in
 * is taken whole or not at all, and stays until the process ends. */
#include "timing/policy/policy_plugin.h"

#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_once_t once;
    VEC(const struct policy_plugin *) v;
    char *fault, *hint; /* of the first that could not be loaded; NULL: all could */
    char id[33];
} plugins = {.once = PTHREAD_ONCE_INIT};

static bool
refuse(const char *file, const char *why, const char *hint)
{
    struct strbuf b = {0};
    strbuf_printf(&b, "ALLOT_POLICIES: '%s': %s", file, why);
    plugins.fault = strbuf_take(&b);
    plugins.hint = xstrdup(hint);
    return false;
}

/* The i-th policy of all plug-ins in their lists at `offset`, as far as they are loaded. */
static const void *
policy_at(size_t offset, size_t i)
{
    for (size_t k = 0; k < plugins.v.n; k++) {
        const char *p = (const char *)plugins.v.v[k] + offset;
        const void *const *list = *(const void *const *const *)(const void *)p;
        for (; list && *list; list++)
            if (!i--)
                return *list;
    }
    return NULL;
}

static const char *
name_of(const void *policy) /* each kind's struct begins with it */
{
    return policy ? *(const char *const *)policy : NULL;
}

#define IN_TREE(KIND)                                                                    \
    static const void *KIND##_in_tree(size_t i)                                          \
    {                                                                                    \
        return policy_in_tree_##KIND(i);                                                 \
    }
IN_TREE(sched)
IN_TREE(residency)
IN_TREE(cta_order)
IN_TREE(replacement)

static const struct {
    size_t list; /* in struct policy_plugin */
    const void *(*in_tree)(size_t i);
} kinds[] = {{offsetof(struct policy_plugin, schedulers), sched_in_tree},
             {offsetof(struct policy_plugin, residency), residency_in_tree},
             {offsetof(struct policy_plugin, cta_order), cta_order_in_tree},
             {offsetof(struct policy_plugin, replacement), replacement_in_tree}};

/* The first name of the last plug-in that another policy of its kind has too; NULL: none. */
static const char *
name_twice(void)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *a, *b;
        for (size_t i = 0; (a = name_of(policy_at(kinds[k].list, i))); i++) {
            for (size_t j = 0; (b = name_of(kinds[k].in_tree(j))); j++)
                if (!strcmp(a, b))
                    return a;
            for (size_t j = 0; j < i && (b = name_of(policy_at(kinds[k].list, j))); j++)
                if (!strcmp(a, b))
                    return a;
        }
    }
    return NULL;
}

static bool
hash_file(struct hash *h, const char *path)
{
    char part[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    while ((n = fread(part, 1, sizeof part, f)))
        hash_bytes(h, part, n);
    return !fclose(f);
}

static bool
load(const char *file, struct hash *h)
{
    static const struct policy_plugin mine = {POLICY_ABI};
    char path[PATH_MAX];
    if (!realpath(file, path) || !hash_file(h, path))
        return refuse(file, "there is no such file, or it cannot be read",
                      "give paths of shared objects, with a colon between them");
    void *o = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!o)
        return refuse(file, dlerror(),
                      "a policy may call what headers define inline, and libc");
    const struct policy_plugin *p = dlsym(o, "allot_policies");
    if (!p)
        return refuse(
            file, "it has no symbol allot_policies",
            "export a struct policy_plugin of that name (docs/add-a-policy.md)");
    if (p->version != mine.version || memcmp(p->size, mine.size, sizeof mine.size) != 0)
        return refuse(file, "it was compiled with other sources of allot",
                      "compile it with the headers of this allot");
    *vec_push(&plugins.v) = p;
    const char *twice = name_twice();
    if (!twice)
        return true;
    struct strbuf b = {0};
    plugins.v.n--;
    strbuf_printf(&b, "there is a policy '%s' already", twice);
    refuse(file, b.s, "give it another name");
    strbuf_free(&b);
    return false;
}

static void
load_all(void)
{
    const char *list = getenv("ALLOT_POLICIES");
    struct hash h = hash_start();
    if (!list || !*list)
        return;
    char *text = xstrdup(list), *save = NULL;
    for (char *s = strtok_r(text, ":", &save); s; s = strtok_r(NULL, ":", &save))
        if (!load(s, &h))
            break;
    free(text);
    hash_hex(&h, plugins.id);
}

#define PLUGIN(TYPE, KIND, LIST)                                                         \
    const struct TYPE *policy_plugin_##KIND(size_t i)                                    \
    {                                                                                    \
        pthread_once(&plugins.once, load_all);                                           \
        return policy_at(offsetof(struct policy_plugin, LIST), i);                       \
    }
PLUGIN(sched_policy, sched, schedulers)
PLUGIN(residency_policy, residency, residency)
PLUGIN(cta_order_policy, cta_order, cta_order)
PLUGIN(replacement_policy, replacement, replacement)

bool
policy_plugins_loaded(struct diag_sink *diag)
{
    pthread_once(&plugins.once, load_all);
    if (!plugins.fault)
        return true;
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL, "%s", plugins.fault);
    diag_hint(diag, d, "%s", plugins.hint);
    return false;
}

const char *
policy_plugins_id(void)
{
    pthread_once(&plugins.once, load_all);
    return plugins.id;
}
