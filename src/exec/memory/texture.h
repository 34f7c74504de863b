/* texture.h: texture, surface and sampler objects, and where a texel lies in memory.
 *
 * Handles count from TEX_HANDLE + 1 and are never used again, so that a use after free is
 * recognised. A module's references (.texref, .surfref, .samplerref) are entries too: the
 * address of such a variable is its handle, and binding copies an object into it.
 *
 * Layout of arrays: rows of one-dimensional arrays are linear. All others are blocks of
 * 64 bytes x 8 rows, 512 bytes, in rows of blocks, so that neighbours in both directions
 * share cache lines (the "block linear" idea of NVIDIA's GPUs, without their swizzle
 * within the block). Slices and layers follow each other. */
#ifndef ALLOT_EXEC_TEXTURE_H
#define ALLOT_EXEC_TEXTURE_H

#include "allot/types.h"
#include "exec/memory/memory.h"

#define TEX_HANDLE 0x7e00000000ull
enum { TEX_BLOCK_BYTES = 64, TEX_BLOCK_ROWS = 8 };

/* Texels in memory, whatever they belong to. */
struct tex_image {
    uint64_t addr, bytes; /* device memory */
    struct allot_format format;
    uint32_t texel;                /* bytes */
    uint32_t dims;                 /* 1, 2, 3, layers not counted */
    uint32_t width, height, depth; /* at least 1 */
    uint32_t layers;               /* 0: not layered; the faces of a cube map count */
    bool cube, cube_layers;        /* dims is 2; several cube maps */
    uint32_t levels;               /* 1: not mipmapped */
    bool blocked;                  /* in blocks, else row after row */
    bool linear;                   /* linear memory: integer coordinates read 0 outside */
    uint64_t pitch; /* bytes from row to row; blocked: from a row of blocks to the next */
    uint64_t slice; /* bytes from slice (layer) to slice */
};

enum tex_kind { TEX_DEAD, TEX_TEXTURE, TEX_SURFACE, TEX_SAMPLER };

struct tex_object {
    enum tex_kind kind;
    const char *name; /* of a reference, as in its module; NULL: an object */
    bool bound;       /* image is there (sampler: sampler is) */
    bool lost;        /* the memory under it was freed */
    struct tex_image image;
    struct allot_sampler sampler;
};

struct tex_table;
struct tex_table *tex_table_new(void);
void tex_table_free(struct tex_table *t);
uint64_t tex_add(struct tex_table *t, const struct tex_object *o);
/* NULL: never was one of this handle. TEX_DEAD: was freed. Valid until the next tex_add.
 */
struct tex_object *tex_find(struct tex_table *t, uint64_t handle);
/* Marks as lost what lies in memory that is not live any more. To be called before a
 * launch; cheap if nothing was allocated or freed since the last call. */
void tex_refresh(struct tex_table *t, const struct dev_mem *mem);

/* The sampler that a .samplerref's or .texref's initialiser describes, "{ addr_mode_0 =
 * wrap, filter_mode = linear }"; text NULL: the defaults. */
struct allot_sampler tex_sampler_text(const char *text);

/* Lays an array out, level after level: everything but addr. The image is level 0; its
 * bytes are those of all. */
void tex_layout(struct tex_image *i, const struct allot_array_info *info);
/* A level of a mipmapped image, by itself. */
struct tex_image tex_level(const struct tex_image *i, uint32_t level);

/* Device address of a texel that is inside. z: slice or layer. */
static inline uint64_t
tex_address(const struct tex_image *i, uint32_t x, uint32_t y, uint32_t z)
{
    uint64_t xb = (uint64_t)x * i->texel, at = i->addr + z * i->slice;
    if (!i->blocked)
        return at + y * i->pitch + xb;
    return at + y / TEX_BLOCK_ROWS * i->pitch +
           xb / TEX_BLOCK_BYTES * (TEX_BLOCK_BYTES * TEX_BLOCK_ROWS) +
           y % TEX_BLOCK_ROWS * TEX_BLOCK_BYTES + xb % TEX_BLOCK_BYTES;
}

/* Address from which GPGPU-Sim fetches the texel, for timing (its tex_impl, unchanged from
 * 2.x to 4.x). Arrays of two dimensions are looked up in blocks of a line of so many
 * bytes. The blocks begin 64 bytes apart, so with lines of 128 bytes each overlaps the
 * next, and a line stands for twice as many texels as it holds. Others: tex_address. */
uint64_t tex_fetch_address(const struct tex_image *i, uint32_t line, uint32_t x,
                           uint32_t y, uint32_t z);

#endif
