/* exec_turns.c: holds virtual blocks to their turns with one scratchpad (passes vtb and
 * co-vtb; 003 section 4): none may overwrite what another one still reads. The pass tells
 * how deep a virtual block is (note "virtual", ptx/note.h).
 *
 * Each byte has the virtual block that wrote it last, and those that ever did. Who reads a
 * byte that it wrote, and finds it overwritten by another one, has lost its data. (A byte
 * that it never wrote may hold anything in the original, too: kernels read such bytes and
 * do not use them.) Cost: the bytes of each access. */
#include "exec/exec_int.h"

#include "ptx/note.h"

#include <string.h>

uint32_t
exec_turns_depth(const struct ptx_func *f)
{
    char *note = ptx_note(f, "virtual");
    const uint32_t depth = note ? (uint32_t)strtoul(note, NULL, 10) : 0;
    free(note);
    return depth;
}

void
exec_turns_start(struct exec_cta *c)
{
    if (!c->ex->owner)
        c->ex->owner = xcalloc(c->shared_bytes + 1, sizeof *c->ex->owner);
    memset(c->ex->owner, 0, c->shared_bytes * sizeof *c->ex->owner);
}

int
exec_turns_access(struct exec_warp *w, const struct exec_access *a, unsigned lane,
                  uint32_t depth)
{
    const struct exec_dim *block = &w->cta->grid->block;
    const uint32_t thread = w->index * LANES + lane,
                   me = thread / (block->x * block->y) / depth;
    struct byte_owner *owner = w->cta->ex->owner + a->addr[lane];
    for (unsigned k = 0; k < a->bytes && a->addr[lane] + k < w->cta->shared_bytes; k++) {
        const bool mine = owner[k].ever >> me & 1;
        if ((a->load || a->atomic) && mine && owner[k].last != me)
            return (int)owner[k].last;
        if (a->store || a->atomic) {
            owner[k].last = (uint8_t)me;
            owner[k].ever |= (uint8_t)(1u << me);
        }
    }
    return -1;
}
