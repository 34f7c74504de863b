/* texture.c: the table of texture, surface and sampler objects, and the layout of arrays.
 */
#include "exec/memory/texture.h"

#include "base/vec.h"

#include <stdio.h>

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

/* Bytes from row to row and slice to slice of one level; its bytes. */
static uint64_t
lay_level(struct tex_image *i)
{
    uint64_t row = (uint64_t)i->width * i->texel;
    row = (row + TEX_BLOCK_BYTES - 1) / TEX_BLOCK_BYTES * TEX_BLOCK_BYTES;
    i->pitch = i->blocked ? row * TEX_BLOCK_ROWS : row;
    uint64_t rows =
        i->blocked ? (i->height + TEX_BLOCK_ROWS - 1) / TEX_BLOCK_ROWS : i->height;
    i->slice = i->pitch * rows;
    return i->slice * (i->layers ? i->layers : i->depth);
}

static uint32_t
half(uint32_t n)
{
    return n > 1 ? n / 2 : 1;
}

struct tex_image
tex_level(const struct tex_image *i, uint32_t level)
{
    struct tex_image l = *i;
    l.bytes = lay_level(&l);
    l.levels = 1;
    for (uint32_t k = 0; k < level; k++) {
        l.addr += l.bytes;
        l.width = half(l.width);
        l.height = half(l.height);
        l.depth = half(l.depth);
        l.bytes = lay_level(&l);
    }
    return l;
}

void
tex_layout(struct tex_image *i, const struct allot_array_info *info)
{
    bool sheets = info->layered || info->cubemap;
    *i = (struct tex_image){
        .format = info->format,
        .texel = info->format.bits / 8 * info->format.channels,
        .width = (uint32_t)info->width,
        .height = (uint32_t)(info->height ? info->height : 1),
        .depth = (uint32_t)(info->depth && !sheets ? info->depth : 1),
        .layers = sheets ? (uint32_t)info->depth : 0,
        .cube = info->cubemap,
        .cube_layers = info->cubemap && info->layered,
        .levels = info->levels ? info->levels : 1,
    };
    i->dims = !info->height ? 1 : sheets || !info->depth ? 2 : 3;
    i->blocked = i->dims > 1;
    lay_level(i);
    struct tex_image last = tex_level(i, i->levels - 1);
    i->bytes = last.addr + last.bytes; /* addr is 0 */
}

/* Texels of a line-sized block from left to right: 16 of one to three bytes in a line of
 * 128 or 256, 8 in shorter ones, 4 in one of 16; half as many for 4 to 15 bytes, a quarter
 * for 16. */
static uint32_t
fetch_block_width(uint32_t line, uint32_t texel)
{
    uint32_t width = line >= 128 ? 16 : line >= 32 ? 8 : 4;
    for (uint32_t r = texel / 4; r; r /= 4)
        width /= 2;
    return width;
}

uint64_t
tex_fetch_address(const struct tex_image *i, uint32_t line, uint32_t x, uint32_t y,
                  uint32_t z)
{
    if (!i->blocked || i->dims != 2 || i->layers)
        return tex_address(i, x, y, z);
    uint32_t across = fetch_block_width(line, i->texel),
             rows = line / (across * i->texel);
    uint64_t block = (uint64_t)(y / rows) * i->width / across + x / across;
    return i->addr + block * 64 + (y % rows * across + x % across) * i->texel;
}

static bool
says(const char *text, const char *field, const char *value)
{
    const char *s = text ? strstr(text, field) : NULL;
    if (!s)
        return false;
    s += strlen(field);
    s += strspn(s, " \t\n=");
    size_t n = strlen(value);
    return !strncmp(s, value, n) && strchr(" \t\n,}", s[n]);
}

struct allot_sampler
tex_sampler_text(const char *text)
{
    static const struct {
        const char *text;
        enum allot_address mode;
    } modes[] = {{"wrap", ALLOT_WRAP},
                 {"mirror", ALLOT_MIRROR},
                 {"clamp_to_border", ALLOT_BORDER}};
    struct allot_sampler s = {.address = {ALLOT_CLAMP, ALLOT_CLAMP, ALLOT_CLAMP}};
    for (int d = 0; d < 3; d++) {
        char field[32];
        snprintf(field, sizeof field, "addr_mode_%d", d);
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
            if (says(text, field, modes[i].text))
                s.address[d] = modes[i].mode;
    }
    if (says(text, "filter_mode", "linear"))
        s.filter = ALLOT_LINEAR;
    s.normalized_coords = says(text, "normalized_coords", "1") &&
                          !says(text, "force_unnormalized_coords", "1");
    return s;
}
