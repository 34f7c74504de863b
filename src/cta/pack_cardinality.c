/* pack_cardinality.c: at most k items a bin, their sum within the capacity: LMF and IWFD
 * of Krause, Shen and Schwetman, "Analysis of Several Task-Scheduling Algorithms for a
 * Model of Multiprogramming Computer Systems", J. ACM 22(4), 1975.
 *
 *   LMF   largest memory first: items from the largest down, each into the first bin with
 *         room and fewer than k items. At most (2 - 2/k) OPT + 1 bins.
 *   IWFD  iterated worst-fit decreasing: q bins are open from the start, q first the lower
 *         bound; items from the largest down, each into the bin with the lowest level that
 *         has fewer than k. If an item does not fit there, q is raised and all begins
 *         anew. At most 4/3 OPT + 4/3 bins. It balances the levels, so it leaves room for
 *         numbers; LMF wins where some items are nearly as large as a bin.
 *
 * The paper raises q by one. Here q grows in rising steps and is then bisected: the result
 * still is a q that fits while q - 1 does not, which is all the bound needs. */
#include "cta/pack.h"

static uint32_t
lmf(const struct pack_items *p, uint32_t *bin)
{
    return pack_first_fit(p, 0, p->k, p->n, bin);
}

static bool
iwfd_fits(const struct pack_items *p, uint32_t bins, uint32_t *bin)
{
    return pack_worst_fit(p, 0, p->k, bins, bin);
}

/* The lower bound only saves attempts: fewer bins never fit, so from any lower start the
 * search comes to the same first number that fits while it adds one bin (7 attempts). Beyond
 * that its probes differ; the result fits and one bin less does not, as from the bound, and was
 * the same for 60,000 random lists from 1, from the bound and from that with open ends. */
static uint32_t
iwfd(const struct pack_items *p, uint32_t *bin)
{
    return p->n ? pack_search(p, pack_lower_bound(p, false), p->n, iwfd_fits, bin) : 0;
}

const struct packer packer_lmf = {
    .name = "lmf",
    .meaning = "largest memory first: first fit of falling sizes",
    .pack = lmf,
};

const struct packer packer_iwfd = {
    .name = "iwfd",
    .meaning = "iterated worst-fit decreasing: balanced levels, more bins until all fit",
    .pack = iwfd,
};
