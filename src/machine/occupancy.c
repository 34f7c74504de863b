/* occupancy.c: resident blocks of an SM.
 *
 * Baseline: the least of what threads (whole warps), blocks, registers and scratchpad
 * allow. Sharing (001 section 2.2.4, equations 2.1 to 2.4): with B = floor(R / Rtb)
 * blocks of the shared resource, S pairs take (1 + t) Rtb each and U = B - S blocks take
 * Rtb each, so S = min(B, floor((R - B Rtb) / (t Rtb))),  M = U + 2 S = B + S, then M is
 * capped by what everything else allows. Whole numbers throughout (t in units of 1e-9),
 * so that no floor depends on rounding.
 *
 * NVIDIA's rules as published with CUDA (occupancy calculator, programming guide tables
 * by compute capability): registers are allocated to warps in steps of register_unit, a
 * warp's within one partition; a block is refused if its warps, rounded up to warp_unit,
 * would take more than max_block_registers. */
#include "machine/occupancy.h"

#include "base/share.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WARP = 32 };
#define BILLION 1000000000u

static uint64_t
round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t
occ_private(uint32_t units, double threshold)
{
    return (uint32_t)share_private(units, threshold);
}

/* -- what a block takes -- */

/* GPGPU-Sim's rounding instead of the machine's (sm.rounding). */
static bool
as_gpgpusim(const struct machine *m)
{
    return m->sm.rounding == ROUNDING_GPGPUSIM;
}

uint32_t
occ_partitions(const struct machine *m)
{
    return as_gpgpusim(m) ? 1 : m->sm.register_partitions;
}

static uint64_t
warp_registers(const struct machine *m, uint32_t registers)
{
    enum { GPGPUSIM_UNIT = 4 }; /* registers of a thread */
    if (as_gpgpusim(m))
        return round_up(registers, GPGPUSIM_UNIT) * WARP;
    switch (m->sm.register_alloc) {
    case REGISTERS_BY_THREAD:
        return round_up(registers, m->sm.register_unit) * WARP;
    case REGISTERS_BY_WARP:
        return round_up((uint64_t)registers * WARP, m->sm.register_unit);
    case REGISTERS_BY_BLOCK: /* rounded for the block, in occ_demand */
        break;
    }
    return (uint64_t)registers * WARP;
}

uint32_t
occ_thread_registers(const struct machine *m, uint32_t registers)
{
    return (uint32_t)(warp_registers(m, registers) / WARP);
}

bool
occ_next_size(const char **p, uint64_t *bytes)
{
    *p += strspn(*p, " ,");
    if (!isdigit((unsigned char)**p))
        return false;
    uint64_t v = 0;
    for (; isdigit((unsigned char)**p) && v < 1000000; (*p)++)
        v = v * 10 + (uint64_t)(**p - '0');
    *bytes = v * 1024;
    return true;
}

bool
occ_next_gpc(const char **p, uint32_t *sms)
{
    uint64_t kib;
    if (!occ_next_size(p, &kib))
        return false;
    *sms = (uint32_t)(kib / 1024);
    return true;
}

uint64_t
occ_clusters(const struct machine *m, uint32_t size, uint64_t blocks)
{
    uint64_t n = 0;
    uint32_t sms = 0, left = m->sm.gpcs[0] ? m->sm.count : 0;
    for (const char *p = m->sm.gpcs; left;) {
        uint32_t next;
        sms = occ_next_gpc(&p, &next) && next ? next : sms;
        sms = sms && sms < left ? sms : left;
        left -= sms;
        n += sms * blocks / size;
    }
    return n;
}

/* Scratchpad of the SM as it is set up for blocks that need `block` bytes: the preferred
 * size, or more if one block needs more. Before compute capability 7.0 a block that does
 * not fit the preferred size gets all there is, since then the next size that holds it.
 */
static uint64_t
scratchpad_size(const struct machine *m, uint64_t block)
{
    const char *p = m->sm.scratchpad_sizes;
    uint64_t size, wanted = (uint64_t)m->sm.scratchpad * m->sm.scratchpad_carveout / 100;
    if (!*p)
        return m->sm.scratchpad;
    while (occ_next_size(&p, &size))
        if (size >= wanted) {
            if (size >= block)
                return size;
            if (m->gpu.compute_capability < 70)
                break;
        }
    return m->sm.scratchpad;
}

struct occ_demand
occ_demand(const struct machine *m, const struct occ_kernel *k)
{
    struct occ_demand d = {.warps = (k->threads + WARP - 1) / WARP};
    d.registers = warp_registers(m, k->registers) * d.warps;
    if (m->sm.register_alloc == REGISTERS_BY_BLOCK && !as_gpgpusim(m))
        d.registers = round_up(d.registers, m->sm.register_unit);
    d.scratchpad = round_up((uint64_t)k->scratchpad + m->sm.scratchpad_reserved,
                            as_gpgpusim(m) ? 1 : m->sm.scratchpad_unit);
    d.scratchpad_size = scratchpad_size(m, d.scratchpad);
    return d;
}

uint32_t
occ_l1_ways(const struct machine *m, const struct occ_kernel *k, uint32_t blocks)
{
    uint64_t way = (uint64_t)m->l1d.sets * m->l1d.line, size = m->sm.scratchpad;
    uint64_t needed = occ_demand(m, k).scratchpad * blocks;
    if (!m->sm.scratchpad_from_l1)
        return m->l1d.ways;
    for (const char *p = m->sm.scratchpad_sizes; occ_next_size(&p, &size);)
        if (size >= needed)
            break;
    uint64_t lost = (size + way - 1) / way;
    return lost < m->l1d.ways ? m->l1d.ways - (uint32_t)lost : 1;
}

/* -- limits -- */

static uint64_t
blocks_by_registers(const struct machine *m, const struct occ_demand *d)
{
    if (!d->registers)
        return OCC_UNLIMITED;
    if (occ_partitions(m) == 1)
        return m->sm.registers / d->registers;
    uint64_t per_warp = d->registers / d->warps;
    uint64_t warps = m->sm.registers / occ_partitions(m) / per_warp;
    return warps * occ_partitions(m) / d->warps;
}

/* Pairs that the rest of a resource R of B blocks at Rtb feeds. */
static uint64_t
pairs(uint64_t R, uint64_t Rtb, uint64_t B, double threshold)
{
    return least(B, (R - B * Rtb) * BILLION / (share_billionths(threshold) * Rtb));
}

/* Pairs of blocks that share registers. In a partitioned register file the rest lies in
 * pieces: the rule is applied to the warps of each partition, and the extra warps make
 * blocks. */
static uint64_t
pairs_of_registers(const struct machine *m, const struct occ_demand *d, uint64_t B,
                   double threshold)
{
    uint64_t n = occ_partitions(m);
    if (n == 1)
        return pairs(m->sm.registers, d->registers, B, threshold);
    uint64_t R = m->sm.registers / n, per_warp = d->registers / d->warps;
    uint64_t warps = R / per_warp;
    uint64_t all = (warps + pairs(R, per_warp, warps, threshold)) * n / d->warps;
    return least(B, all - B);
}

static bool
refuse(struct diag_sink *diag, const char *hint, const char *fmt, uint64_t want,
       uint64_t have)
{
    char text[200];
    snprintf(text, sizeof text, fmt, want, have);
    struct diag *d =
        diag_add(diag, DIAG_ERROR, NULL, "not even one block fits: %s", text);
    diag_hint(diag, d, "%s", hint);
    return false;
}

static bool
fits(const struct machine *m, const struct occ_kernel *k, const struct occ_demand *d,
     uint64_t by_registers, uint64_t by_scratchpad, struct diag_sink *diag)
{
    if (!k->threads)
        return diag_error(diag, "a block needs at least one thread");
    if (k->threads > m->sm.max_block_threads)
        return refuse(diag, "use smaller blocks (sm.max_block_threads)",
                      "it has %" PRIu64 " threads, a block may have %" PRIu64, k->threads,
                      m->sm.max_block_threads);
    if (d->warps > m->sm.max_threads / WARP)
        return refuse(diag, "use smaller blocks (sm.max_threads)",
                      "it has %" PRIu64 " warps, an SM holds %" PRIu64, d->warps,
                      m->sm.max_threads / WARP);
    if (k->registers > m->sm.max_registers)
        return refuse(diag,
                      "compile for fewer registers, or set residency.regs_per_thread or "
                      "sm.max_registers",
                      "its threads need %" PRIu64
                      " registers, a thread may have %" PRIu64,
                      k->registers, m->sm.max_registers);
    uint64_t most = m->sm.registers;
    if (m->sm.max_block_registers)
        most = least(most, m->sm.max_block_registers);
    uint64_t checked = d->registers / d->warps *
                       round_up(d->warps, as_gpgpusim(m) ? 1 : m->sm.warp_unit);
    if (checked < d->registers)
        checked = d->registers;
    if (checked > most || !by_registers)
        return refuse(diag,
                      "use smaller blocks or fewer registers a thread (sm.registers, "
                      "sm.max_block_registers)",
                      "it needs %" PRIu64 " registers, of %" PRIu64, checked, most);
    if (k->scratchpad > m->sm.max_block_scratchpad)
        return refuse(diag, "use less scratchpad (sm.max_block_scratchpad)",
                      "it needs %" PRIu64
                      " bytes of scratchpad, a block may have %" PRIu64,
                      k->scratchpad, m->sm.max_block_scratchpad);
    if (!by_scratchpad)
        return refuse(diag, "use less scratchpad (sm.scratchpad)",
                      "it needs %" PRIu64 " bytes of scratchpad, the SM has %" PRIu64,
                      d->scratchpad, d->scratchpad_size);
    return true;
}

/* Names of the resources whose limit is reached, by the bits of a mask. */
static const char *
limit_names(unsigned mask)
{
    static const char *const names[16] = {"",
                                          "threads",
                                          "blocks",
                                          "threads,blocks",
                                          "registers",
                                          "threads,registers",
                                          "blocks,registers",
                                          "threads,blocks,registers",
                                          "scratchpad",
                                          "threads,scratchpad",
                                          "blocks,scratchpad",
                                          "threads,blocks,scratchpad",
                                          "registers,scratchpad",
                                          "threads,registers,scratchpad",
                                          "blocks,registers,scratchpad",
                                          "threads,blocks,registers,scratchpad"};
    return names[mask & 15];
}

bool
occ_compute(const struct machine *m, const struct occ_kernel *k, enum occ_share share,
            double threshold, struct allot_occupancy *out, struct diag_sink *diag)
{
    *out = (struct allot_occupancy){.limited_by = ""};
    if (share != OCC_SHARE_NONE &&
        !(threshold <= 1 && threshold > 0 && share_billionths(threshold)))
        return diag_error(
            diag,
            "the threshold of sharing must be from 1e-9 to 1, not %g: a pair of "
            "blocks gets (1 + t) times what one block needs",
            threshold);
    if (!k->threads || k->threads > m->sm.max_block_threads)
        return fits(m, k, &(struct occ_demand){0}, 1, 1, diag);
    struct occ_demand d = occ_demand(m, k);
    enum { THREADS, BLOCKS, REGISTERS, SCRATCHPAD, NLIMITS };
    uint64_t limit[NLIMITS];
    limit[THREADS] = m->sm.max_threads / WARP / d.warps;
    limit[BLOCKS] = m->sm.max_blocks;
    if (m->residency.max_blocks)
        limit[BLOCKS] = least(limit[BLOCKS], m->residency.max_blocks);
    limit[REGISTERS] = blocks_by_registers(m, &d);
    limit[SCRATCHPAD] = d.scratchpad ? d.scratchpad_size / d.scratchpad : OCC_UNLIMITED;
    if (!fits(m, k, &d, limit[REGISTERS], limit[SCRATCHPAD], diag))
        return false;

    uint64_t baseline = OCC_UNLIMITED;
    for (int i = 0; i < NLIMITS; i++)
        baseline = least(baseline, limit[i]);
    /* The shared resource allows more; extra blocks pair up with those it allowed before.
     */
    int shared = share == OCC_SHARE_REGISTERS    ? REGISTERS
                 : share == OCC_SHARE_SCRATCHPAD ? SCRATCHPAD
                                                 : NLIMITS;
    if (shared == REGISTERS && d.registers)
        limit[REGISTERS] += pairs_of_registers(m, &d, limit[REGISTERS], threshold);
    if (shared == SCRATCHPAD && d.scratchpad)
        limit[SCRATCHPAD] +=
            pairs(d.scratchpad_size, d.scratchpad, limit[SCRATCHPAD], threshold);
    uint64_t resident = OCC_UNLIMITED;
    for (int i = 0; i < NLIMITS; i++)
        resident = least(resident, limit[i]);
    unsigned mask = 0;
    for (int i = 0; i < NLIMITS; i++)
        mask |= (unsigned)(limit[i] == resident) << i;

    out->resident_blocks = (uint32_t)resident;
    out->baseline_blocks = (uint32_t)baseline;
    out->shared_pairs = (uint32_t)(resident - baseline);
    out->unshared_blocks = (uint32_t)(resident - 2 * (resident - baseline));
    out->limited_by = limit_names(mask);
    out->by_threads = (uint32_t)limit[THREADS];
    out->by_blocks = (uint32_t)limit[BLOCKS];
    out->by_registers = (uint32_t)limit[REGISTERS];
    out->by_scratchpad = (uint32_t)limit[SCRATCHPAD];
    out->warps = (uint32_t)(resident * d.warps);
    out->occupancy = (double)out->warps / (m->sm.max_threads / WARP);
    out->registers_wasted = (uint32_t)(m->sm.registers - baseline * d.registers);
    out->scratchpad_wasted = (uint32_t)(d.scratchpad_size - baseline * d.scratchpad);
    return true;
}

bool
occ_multiplex(const struct machine *m, const struct occ_kernel *k,
              struct occ_multiplexed *out, struct diag_sink *diag)
{
    struct allot_occupancy o;
    if (!occ_compute(m, k, OCC_SHARE_NONE, 1, &o, diag))
        return false;
    struct occ_demand d = occ_demand(m, k);
    *out = (struct occ_multiplexed){.baseline = o.resident_blocks,
                                    .blocks = o.resident_blocks,
                                    .private_bytes = (uint32_t)d.scratchpad,
                                    .size = (uint32_t)d.scratchpad_size};
    if (!k->allocated)
        return true;
    struct occ_kernel own = *k;
    own.scratchpad -= (uint32_t)least(k->allocated, k->scratchpad);
    uint64_t private = 0, public = d.scratchpad; /* with the reserved bytes */
    if (own.scratchpad) {
        private = occ_demand(m, &own).scratchpad;
        public = round_up(k->allocated, m->sm.scratchpad_unit);
    }
    uint64_t most = least(o.by_threads, least(o.by_blocks, o.by_registers));
    most = least(most, o.resident_blocks + (uint64_t)m->residency.extra_blocks);
    if (private)
        most = least(most, public < out->size ? (out->size - public) / private : 0);
    if (most < out->baseline) /* by the rounding of two parts */
        return true;
    out->blocks = (uint32_t)most;
    out->private_bytes = (uint32_t) private;
    out->public_bytes = (uint32_t) public;
    return true;
}

/* -- hardware cost (001 section 2.4; 003 section 5) -- */

static uint32_t
log2_up(uint32_t v)
{
    uint32_t n = 0;
    while ((UINT64_C(1) << n) < v)
        n++;
    return n;
}

uint32_t
occ_cost_registers(const struct machine *m)
{
    uint32_t T = m->sm.max_blocks, W = m->sm.max_threads / WARP;
    return 1 + T * log2_up(T + 1) + 2 * W + W / 2 * log2_up(W);
}

uint32_t
occ_cost_scratchpad(const struct machine *m)
{
    uint32_t T = m->sm.max_blocks, W = m->sm.max_threads / WARP;
    return 1 + T * log2_up(T + 1) + W + T / 2 * log2_up(T);
}

uint32_t
occ_cost_multiplexing(const struct machine *m)
{
    uint32_t T = m->sm.max_blocks, unit = m->sm.scratchpad_unit;
    uint32_t units = (m->sm.scratchpad + unit - 1) / unit;
    uint32_t entry = 1 + log2_up(T) + 2 * log2_up(units + 1);
    return 1 + 2 * T * entry + log2_up(T + 1) + T * log2_up(T + 1);
}

uint32_t
occ_cost_both(const struct machine *m)
{
    uint32_t T = m->sm.max_blocks;
    return occ_cost_registers(m) + T / 2 * log2_up(T);
}
