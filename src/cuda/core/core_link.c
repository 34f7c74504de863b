/* core_link.c: several images linked to one module. */
#include "cuda/core/core_int.h"

struct acu_link {
    VEC(struct allot_module *) parts;
    char *text; /* the result */
};

struct acu_link *
acu_link_new(void)
{
    return xcalloc(1, sizeof(struct acu_link));
}

static int
add(struct acu_link *l, struct allot_module *m)
{
    acu_flush_diag();
    if (!m)
        return ACU_INVALID_PTX;
    *vec_push(&l->parts) = m;
    return 0;
}

int
acu_link_add(struct acu_link *l, const void *data, size_t size, const char *what)
{
    return add(l, allot_module_read(what, data, size, acu.machine, acu.diag));
}

int
acu_link_add_file(struct acu_link *l, const char *path)
{
    return add(l, allot_module_load_for(path, acu.machine, acu.diag));
}

int
acu_link_complete(struct acu_link *l, char **text)
{
    if (!l->parts.n)
        return ACU_INVALID_VALUE;
    if (l->parts.n > 1) {
        struct allot_module *m = allot_module_link(
            (struct allot_module *const *)l->parts.v, l->parts.n, "linked", acu.diag);
        acu_flush_diag();
        if (!m)
            return ACU_INVALID_PTX;
        l->parts.n = 1;
        l->parts.v[0] = m;
    }
    free(l->text);
    *text = l->text = allot_module_print(l->parts.v[0]);
    return 0;
}

void
acu_link_free(struct acu_link *l)
{
    for (size_t i = 0; i < l->parts.n; i++)
        allot_module_free(l->parts.v[i]);
    vec_free(&l->parts);
    free(l->text);
    free(l);
}
