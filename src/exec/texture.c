/* texture.c: the table of texture, surface and sampler objects, and the layout of arrays.
 */
#include "exec/texture.h"

#include "base/vec.h"

struct tex_table {
    VEC(struct tex_object) object; /* handle TEX_HANDLE + 1 + index */
    uint64_t generation;           /* of the memory at the last refresh */
};

struct tex_table *
tex_table_new(void)
{
    return xcalloc(1, sizeof(struct tex_table));
}

void
tex_table_free(struct tex_table *t)
{
    if (!t)
        return;
    vec_free(&t->object);
    free(t);
}

uint64_t
tex_add(struct tex_table *t, const struct tex_object *o)
{
    *vec_push(&t->object) = *o;
    t->generation = 0;
    return TEX_HANDLE + t->object.n;
}

struct tex_object *
tex_find(struct tex_table *t, uint64_t handle)
{
    uint64_t i = handle - TEX_HANDLE - 1;
    return i < t->object.n ? &t->object.v[i] : NULL;
}

void
tex_refresh(struct tex_table *t, const struct dev_mem *mem)
{
    if (t->generation == dev_generation(mem))
        return;
    t->generation = dev_generation(mem);
    for (size_t i = 0; i < t->object.n; i++) {
        struct tex_object *o = &t->object.v[i];
        struct dev_range r;
        if (!o->bound || o->kind == TEX_DEAD || o->kind == TEX_SAMPLER)
            continue;
        o->lost = !dev_find(mem, o->image.addr, &r) || r.dead ||
                  o->image.addr - r.addr > r.size ||
                  o->image.bytes > r.size - (o->image.addr - r.addr);
    }
}

void
tex_layout(struct tex_image *i, const struct allot_array_info *info)
{
    *i = (struct tex_image){
        .format = info->format,
        .texel = info->format.bits / 8 * info->format.channels,
        .width = (uint32_t)info->width,
        .height = (uint32_t)(info->height ? info->height : 1),
        .depth = (uint32_t)(info->depth && !info->layered ? info->depth : 1),
        .layers = info->layered ? (uint32_t)info->depth : 0,
    };
    i->dims = !info->height ? 1 : info->layered || !info->depth ? 2 : 3;
    i->blocked = i->dims > 1;
    uint64_t row = (uint64_t)i->width * i->texel;
    row = (row + TEX_BLOCK_BYTES - 1) / TEX_BLOCK_BYTES * TEX_BLOCK_BYTES;
    i->pitch = i->blocked ? row * TEX_BLOCK_ROWS : row;
    uint64_t rows =
        i->blocked ? (i->height + TEX_BLOCK_ROWS - 1) / TEX_BLOCK_ROWS : i->height;
    i->slice = i->pitch * rows;
    i->bytes = i->slice * (i->layers ? i->layers : i->depth);
}
