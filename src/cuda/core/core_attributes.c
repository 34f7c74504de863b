/* core_attributes.c: attributes of launches, kernel nodes and streams. Each is a row of
 * launch_attributes.def: done, without effect on any result, or refused. A number that has
 * no row, and one that CUDA does not define for the place, is refused too, so that no
 * attribute of a later CUDA is dropped in silence. */
#include "cuda/core/core_int.h"

#include <string.h>

enum { LAUNCH = ACU_ON_LAUNCH, NODE = ACU_ON_NODE, STREAM = ACU_ON_STREAM };
enum what { DONE, NONE, NODE_ONLY };

static const struct row {
    int number;
    const char *name;
    unsigned where;
    uint8_t bytes;
    enum what what;
    const char *why;
} rows[] = {
#define ATTRIBUTE(number, id, name, where, bytes, what, valid, why)                      \
    {number, name, where, bytes, what, why},
#include "cuda/launch_attributes.def"
#undef ATTRIBUTE
};

static bool
is_valid(int number, const union acu_attribute *v)
{
    switch (number) {
#define ATTRIBUTE(number, id, name, where, bytes, what, valid, why)                      \
    case number:                                                                         \
        return valid;
#include "cuda/launch_attributes.def"
#undef ATTRIBUTE
    default:
        return false;
    }
}

static const struct row *
row_of(int number, unsigned where)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return rows[i].where & where ? &rows[i] : NULL;
    return NULL;
}

bool
acu_attribute_row(size_t i, struct acu_attribute_row *out)
{
    if (i >= sizeof rows / sizeof *rows)
        return false;
    *out = (struct acu_attribute_row){rows[i].number, rows[i].name, rows[i].where,
                                      rows[i].bytes,  rows[i].why,  rows[i].what == NONE};
    return true;
}

static const char *
place_name(unsigned where)
{
    return where == LAUNCH ? "a launch" : where == NODE ? "a kernel node" : "a stream";
}

/* One line for each number and place, once. */
static int
refuse(int number, unsigned where, int error, const char *why)
{
    uint32_t bit = 1u << (number >= 0 && number < 31 ? number : 31);
    uint32_t *said = &acu.attributes_said[where == LAUNCH ? 0 : where == NODE ? 1 : 2];
    const struct row *r = row_of(number, LAUNCH | NODE | STREAM);
    if (!(*said & bit))
        acu_say("attribute %d%s%s%s of %s is refused (%s): %s", number, r ? " (" : "",
                r ? r->name : "", r ? ")" : "", place_name(where),
                acu_error_runtime_name(error), why);
    *said |= bit;
    return error;
}

/* The value as far as it goes; the rest is zero. */
static int
check(int number, unsigned where, const void *value, union acu_attribute *v)
{
    const struct row *r = row_of(number, where);
    *v = (union acu_attribute){0};
    if (!value)
        return ACU_INVALID_VALUE;
    if (!r)
        return refuse(number, where, ACU_INVALID_VALUE,
                      row_of(number, LAUNCH | NODE | STREAM)
                          ? "CUDA does not define it there"
                          : "there is no such attribute in CUDA 11 to 13.0");
    memcpy(v, value, r->bytes);
    return is_valid(number, v)
               ? 0
               : refuse(number, where, ACU_INVALID_VALUE, "it cannot have this value");
}

static void
keep(struct acu_attributes *a, int number, const union acu_attribute *v)
{
    a->given |= 1u << number;
    a->value[number] = *v;
}

static int
refuse_cluster(unsigned where, const uint32_t n[3])
{
    struct acu_props p;
    acu_props(&p);
    return p.major >= 9 || (n[0] <= 1 && n[1] <= 1 && n[2] <= 1)
               ? 0
               : refuse(ACU_ATTRIBUTE_CLUSTER, where, ACU_NOT_SUPPORTED,
                        "clusters of several blocks need compute capability 9.0");
}

int
acu_launch_attribute(struct acu_launch *l, unsigned where, bool capturing, int number,
                     const void *value)
{
    union acu_attribute v;
    int e = check(number, where, value, &v);
    if (e || number == ACU_ATTRIBUTE_IGNORE)
        return e;
    switch (number) {
    case ACU_ATTRIBUTE_COOPERATIVE:
        l->cooperative = v.i;
        break;
    case ACU_ATTRIBUTE_CLUSTER:
        e = refuse_cluster(where, v.u);
        if (!e)
            memcpy(l->cluster, v.u, sizeof l->cluster);
        break;
    case ACU_ATTRIBUTE_UPDATABLE:
        if (where == LAUNCH && !capturing)
            e = refuse(number, where, ACU_INVALID_VALUE, "the stream is not capturing");
        else if (v.i)
            e = refuse(number, where, ACU_NOT_SUPPORTED,
                       "kernels cannot change nodes of graphs");
        break;
    default:
        break;
    }
    if (!e)
        keep(&l->attributes, number, &v);
    return e;
}

int
acu_launch_events(struct acu_stream *s, const struct acu_launch *l)
{
    static const int events[] = {ACU_ATTRIBUTE_EVENT, ACU_ATTRIBUTE_COMPLETION};
    int e = 0;
    for (size_t i = 0; i < 2 && !e; i++)
        if (l->attributes.given >> events[i] & 1)
            e = acu_do_record(s, l->attributes.value[events[i]].event.event);
    return e;
}

/* -- kernel nodes -- */

int
acu_node_attribute_set(struct acu_node *n, int number, const void *value)
{
    return !n || n->kind != ACU_NODE_KERNEL
               ? ACU_INVALID_VALUE
               : acu_launch_attribute(&n->launch, NODE, true, number, value);
}

static int
get(const union acu_attribute *v, int number, unsigned where, void *value)
{
    const struct row *r = row_of(number, where);
    if (!value)
        return ACU_INVALID_VALUE;
    if (!r)
        return refuse(number, where, ACU_INVALID_VALUE, "it cannot be read there");
    memcpy(value, v, r->bytes);
    return 0;
}

int
acu_node_attribute_get(const struct acu_node *n, int number, void *value)
{
    union acu_attribute v = {0};
    if (!n || n->kind != ACU_NODE_KERNEL)
        return ACU_INVALID_VALUE;
    if (number == ACU_ATTRIBUTE_COOPERATIVE)
        v.i = n->launch.cooperative;
    else if (number >= 0 && number < ACU_ATTRIBUTES)
        v = n->launch.attributes.value[number];
    return get(&v, number, NODE, value);
}

int
acu_node_attributes_copy(struct acu_node *dst, const struct acu_node *src)
{
    if (!dst || !src || dst->kind != ACU_NODE_KERNEL || src->kind != ACU_NODE_KERNEL)
        return ACU_INVALID_VALUE;
    acu_launch_attributes_copy(&dst->launch, &src->launch);
    return 0;
}

void
acu_launch_attributes_copy(struct acu_launch *dst, const struct acu_launch *src)
{
    dst->cooperative = src->cooperative;
    memcpy(dst->cluster, src->cluster, sizeof dst->cluster);
    dst->attributes = src->attributes;
}

/* -- streams -- */

static struct acu_attributes *
of_stream(struct acu_stream *s)
{
    return s == ACU_STREAM_PER_THREAD     ? &acu.default_streams[1]
           : !s || s == ACU_STREAM_LEGACY ? &acu.default_streams[0]
                                          : &s->attributes;
}

int
acu_stream_attribute_set(struct acu_stream *s, int number, const void *value)
{
    union acu_attribute v;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    int e = check(number, STREAM, value, &v);
    if (!e)
        keep(of_stream(s), number, &v);
    return e;
}

int
acu_stream_attribute_get(struct acu_stream *s, int number, void *value)
{
    enum { SYNC_AUTO = 1 };
    union acu_attribute v = {0};
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    const struct acu_attributes *a = of_stream(s);
    if (number >= 0 && number < ACU_ATTRIBUTES && a->given >> number & 1)
        v = a->value[number];
    else if (number == ACU_ATTRIBUTE_SYNCHRONIZATION)
        v.i = SYNC_AUTO;
    else if (number == ACU_ATTRIBUTE_PRIORITY)
        v.i = acu_stream_priority(s);
    return get(&v, number, STREAM, value);
}

int
acu_stream_attributes_copy(struct acu_stream *dst, struct acu_stream *src)
{
    if (!acu_stream_valid(dst) || !acu_stream_valid(src))
        return ACU_INVALID_HANDLE;
    *of_stream(dst) = *of_stream(src);
    return 0;
}
