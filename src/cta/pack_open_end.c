/* pack_open_end.c: at most k items a bin; one designated item of a bin does not count
 * against its capacity (004 section 5.4): GLANF and MXF, named for Yang and Leung, "The
 * Ordered Open-End Bin-Packing Problem", Operations Research 51(5), 2003.
 *
 * There items come in a given order and the designated one must be the last. Blocks have
 * no order, and that makes the problem simpler: in m bins the m largest items may always
 * be the designated ones. (If a designated d is smaller than an item x that counts,
 * exchange them: x's bin loses x - d, d's bin is unchanged.) So m bins suffice exactly if
 * the n - m smallest items fit m bins of k - 1 items. Both packers look ahead for those m
 * items, give each bin one, and place the others:
 *
 *   GLANF  greedy look-ahead next fit: bin after bin, each filled greedily with the
 *          largest item that still has room (which is first fit of falling sizes)
 *   MXF    mixed fit: balanced by worst fit; where that does not fit, by first fit
 *
 * With one order of items only, these are our forms of the two, not the originals. */
#include "cta/pack.h"

/* Each bin's designated item. Which bin gets which makes no difference to their number. */
static void
designate(uint32_t m, uint32_t *bin)
{
    for (uint32_t i = 0; i < m; i++)
        bin[i] = i;
}

static bool
glanf_fits(const struct pack_items *p, uint32_t bins, uint32_t *bin)
{
    designate(bins, bin);
    return pack_first_fit(p, bins, p->k - 1, bins, bin) != UINT32_MAX;
}

static bool
mxf_fits(const struct pack_items *p, uint32_t bins, uint32_t *bin)
{
    designate(bins, bin);
    return pack_worst_fit(p, bins, p->k - 1, bins, bin) || glanf_fits(p, bins, bin);
}

static uint32_t
glanf(const struct pack_items *p, uint32_t *bin)
{
    return p->n ? pack_search(p, pack_lower_bound(p, true), p->n, glanf_fits, bin) : 0;
}

static uint32_t
mxf(const struct pack_items *p, uint32_t *bin)
{
    return p->n ? pack_search(p, pack_lower_bound(p, true), p->n, mxf_fits, bin) : 0;
}

const struct packer packer_mxf = {
    .name = "mxf",
    .meaning = "mixed fit: largest items on top, the others balanced or by first fit",
    .open_end = true,
    .pack = mxf,
};

const struct packer packer_glanf = {
    .name = "glanf",
    .meaning = "greedy look-ahead next fit: largest items on top, bin after bin",
    .open_end = true,
    .pack = glanf,
};
