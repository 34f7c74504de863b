/* core_array.c: arrays, textures and surfaces of the process's GPU: the public
 * interface's, with errors as numbers. */
#include "cuda/core/core_int.h"

int
acu_array_new(const struct allot_array_info *info, struct allot_array **a)
{
    *a = allot_array_new(acu.device, info, acu.diag);
    acu_flush_diag();
    if (*a)
        return 0;
    /* what cannot be is told apart from what has no room */
    return info->cubemap || info->levels ? ACU_INVALID_VALUE : ACU_OUT_OF_MEMORY;
}

void
acu_array_free(struct allot_array *a)
{
    allot_array_free(acu.device, a, NULL);
}

struct allot_array *
acu_array_level(const struct allot_array *a, uint32_t level)
{
    return allot_array_level(a, level);
}

const struct allot_array_info *
acu_array_info(const struct allot_array *a)
{
    return allot_array_describe(a);
}

unsigned
acu_format_bytes(const struct allot_format *f)
{
    return f->bits / 8 * f->channels;
}

int
acu_texture_new(const struct allot_resource *r, const struct allot_sampler *s,
                uint64_t *handle)
{
    *handle = allot_texture_new(acu.device, r, s, acu.diag);
    acu_flush_diag();
    return *handle ? 0 : ACU_INVALID_VALUE;
}

int
acu_surface_new(const struct allot_resource *r, uint64_t *handle)
{
    *handle = allot_surface_new(acu.device, r, acu.diag);
    acu_flush_diag();
    return *handle ? 0 : ACU_INVALID_VALUE;
}

void
acu_object_free(uint64_t handle)
{
    allot_object_free(acu.device, handle, NULL); /* gone already if its memory is */
}

int
acu_bind(struct acu_module *m, const char *name, uint64_t handle)
{
    struct allot_module *ptx = acu_module_ptx(m);
    bool ok = ptx && allot_bind(acu.device, ptx, name, handle, acu.diag);
    acu_flush_diag();
    return ok ? 0 : ACU_INVALID_TEXTURE;
}

bool
acu_module_ref(struct acu_module *m, const char *name, enum allot_ref_kind kind,
               const char **own)
{
    const struct allot_module *ptx = acu_module_ptx(m);
    enum allot_ref_kind k;
    for (size_t i = 0; ptx && allot_module_ref(ptx, i, own, &k); i++)
        if (k == kind && !strcmp(*own, name))
            return true;
    return false;
}
