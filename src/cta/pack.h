/* pack.h: packs thread blocks (CTAs) into steps whose working sets fit the last-level cache:
 * bin packing with at most k items a bin (004 sections 5.2 and 5.4). Pure: sizes in, bins
 * out. A packer is a constant struct and a row in packers.def. */
#ifndef ALLOT_CTA_PACK_H
#define ALLOT_CTA_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Items are sorted: size[0] is the largest. A size above the capacity counts as the
 * capacity: such an item fills a bin. The sum of the sizes must be below 2^63. */
struct pack_items {
    uint32_t n;
    const uint64_t *size;
    uint64_t capacity; /* of a bin, not 0 */
    uint32_t k;        /* items in a bin at most, not 0 */
    uint32_t least; /* bins to begin with: no fewer do, as is known from a larger k; 0 */
};

struct packer {
    const char *name, *meaning;
    bool open_end; /* a bin's largest item does not count against its capacity */
    /* Sets bin[i] (0 .. result - 1) for item i; returns the number of bins, of which some
     * may be empty where items have size 0. O(n log^2 n). */
    uint32_t (*pack)(const struct pack_items *p, uint32_t *bin);
};

const struct packer *packer_find(const char *name); /* NULL: unknown */
const struct packer *packer_at(size_t i);           /* NULL: past the last */

/* No packing has fewer bins: by number of items, and by their sum (for an open end: that
 * of all but each bin's largest). */
uint32_t pack_lower_bound(const struct pack_items *p, bool open_end);

/* Private to src/cta: first fit and worst fit of items first .. n-1 with at most k in a
 * bin. pack_first_fit returns the bins used, or UINT32_MAX if it would be more than
 * `bins`; pack_worst_fit says whether they fit so many bins. */
uint32_t pack_first_fit(const struct pack_items *p, uint32_t first, uint32_t k,
                        uint32_t bins, uint32_t *bin);
bool pack_worst_fit(const struct pack_items *p, uint32_t first, uint32_t k, uint32_t bins,
                    uint32_t *bin);

/* Private to src/cta: a number of bins from `least` on for which fits() holds and, unless
 * it is `least`, for one less does not. fits(most) must hold. Leaves `bin` as fits() of
 * the result set it. */
uint32_t pack_search(const struct pack_items *p, uint32_t least, uint32_t most,
                     bool (*fits)(const struct pack_items *p, uint32_t bins,
                                  uint32_t *bin),
                     uint32_t *bin);

#endif
