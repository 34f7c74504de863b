/* occupancy_report.c: see occupancy_report.h. */
#include "report/occupancy_report.h"

#include "runtime/runtime.h"

#include <string.h>

/* Blocks a resource allows; a dash where the kernel uses none of it. */
static const char *
limit(char buf[16], uint32_t blocks)
{
    snprintf(buf, 16, blocks == UINT32_MAX ? "-" : "%u", blocks);
    return buf;
}

static json_t *
limit_json(uint32_t blocks)
{
    return blocks == UINT32_MAX ? json_null() : json_integer(blocks);
}

void
occupancy_report_text(const struct allot_machine *m,
                      const struct allot_occupancy_query *q,
                      const struct allot_occupancy *o, FILE *f)
{
    fprintf(f, "machine            %s\n", allot_machine_name(m));
    fprintf(
        f,
        "block              %u threads, %u registers a thread, %u bytes of scratchpad\n",
        q->threads, q->registers, q->scratchpad);
    fprintf(f, "resident blocks    %u (%u warps, %.1f %% of the SM), limited by %s\n",
            o->resident_blocks, o->warps, 100 * o->occupancy, o->limited_by);
    char regs[16], smem[16];
    fprintf(f, "  each limit       threads %u, blocks %u, registers %s, scratchpad %s\n",
            o->by_threads, o->by_blocks, limit(regs, o->by_registers),
            limit(smem, o->by_scratchpad));
    fprintf(f,
            "  left over        %u registers, %u bytes of scratchpad (without sharing)\n",
            o->registers_wasted, o->scratchpad_wasted);
    if (q->share && *q->share)
        fprintf(f,
                "sharing %-10s %u blocks without it; %u pairs share, %u blocks do not "
                "(t = %g)\n",
                q->share, o->baseline_blocks, o->shared_pairs, o->unshared_blocks,
                q->threshold);
}

json_t *
occupancy_report_json(const struct allot_machine *m,
                      const struct allot_occupancy_query *q,
                      const struct allot_occupancy *o)
{
    return json_pack(
        "{s:s, s:i, s:i, s:i, s:s, s:f, s:i, s:i, s:i, s:i, s:s, s:i, s:i, s:o, s:o, s:i, "
        "s:f, s:i, s:i}",
        "machine", allot_machine_name(m), "threads", q->threads, "registers",
        q->registers, "scratchpad", q->scratchpad, "share", q->share ? q->share : "",
        "threshold", q->threshold, "resident_blocks", o->resident_blocks,
        "baseline_blocks", o->baseline_blocks, "shared_pairs", o->shared_pairs,
        "unshared_blocks", o->unshared_blocks, "limited_by", o->limited_by, "by_threads",
        o->by_threads, "by_blocks", o->by_blocks, "by_registers",
        limit_json(o->by_registers), "by_scratchpad", limit_json(o->by_scratchpad),
        "warps", o->warps, "occupancy", o->occupancy, "registers_wasted",
        o->registers_wasted, "scratchpad_wasted", o->scratchpad_wasted);
}

struct chart
occupancy_report_chart(const struct allot_machine *m,
                       const struct allot_occupancy_query *q, enum occupancy_over over,
                       struct arena *mem)
{
    enum occ_share share = !q->share                        ? OCC_SHARE_NONE
                           : !strcmp(q->share, "registers") ? OCC_SHARE_REGISTERS
                                                            : OCC_SHARE_SCRATCHPAD;
    struct occ_kernel k = {
        .threads = q->threads, .registers = q->registers, .scratchpad = q->scratchpad};
    return charts_occupancy(m->m, &k, share, q->threshold, over, mem);
}
