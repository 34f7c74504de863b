/* turns_kit.h: one kernel by its body, merged under every scheme, for tests of what virtual
 * blocks do (blocks_kit.h has random ones). */
#ifndef TESTS_TURNS_KIT_H
#define TESTS_TURNS_KIT_H

#include "unit/kit/blocks_kit.h"

/* acc += what the thread opposite wrote: a region. */
#define EXCHANGE                                                                         \
    "st.shared.u32 [%own], %acc;\nbar.sync 0;\nld.shared.u32 %v, [%other];\n"            \
    "add.u32 %acc, %acc, %v;\nbar.sync 0;\n"

static inline struct gen
kernel_of(const char *body)
{
    struct gen g = {.n = 64, .grid = {7, 1, 1}, .block = {64, 1, 1}};
    strbuf_printf(
        &g.b,
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u32 turns)\n{\n"
        ".reg .pred %%p, %%q, %%b;\n.reg .b32 %%t, %%v, %%acc, %%lin, %%bid, %%gid, %%i, %%j, %%k, "
        "%%own, %%other, %%s;\n.reg .b64 %%at;\n.shared .align 4 .b8 s[256];\n"
        "mov.u32 %%lin, %%tid.x;\nmov.u32 %%bid, %%ctaid.x;\nmov.u32 %%s, s;\n"
        "mad.lo.u32 %%own, %%lin, 4, %%s;\nxor.b32 %%t, %%lin, 63;\n"
        "mad.lo.u32 %%other, %%t, 4, %%s;\nmad.lo.u32 %%gid, %%bid, 64, %%lin;\n"
        "ld.param.u64 %%at, [out];\nmad.wide.u32 %%at, %%gid, 4, %%at;\n"
        "mov.u32 %%acc, %%gid;\n%sst.global.u32 [%%at], %%acc;\nret;\n}\n",
        body);
    return g;
}

static const char *const turns_schemes[] = {"vtb", "vtb-pipe", "vtb-named",
                                            "co-vtb:private=64"};

/* Under the first n schemes the memory is the same; turns are asked for before `asks`
 * regions. Takes g's text. */
static inline void
hold_kernel(struct gen g, unsigned n, unsigned asks)
{
    static uint32_t want[MOST], got[MOST];
    unsigned ways = 0;
    blocks_memory(&g, 1, "", true, want, &ways);
    for (unsigned s = 0; s < n; s++)
        for (unsigned k = 2; k <= 4; k++) {
            char passes[80], told[80];
            unsigned merged = 0;
            snprintf(passes, sizeof passes, "%s:merge=%u:gap=0:gain=0", turns_schemes[s],
                     k);
            snprintf(told, sizeof told, "before %u of the turns virtual blocks ask",
                     asks);
            for (int functional = 0; functional < 2; functional++) {
                blocks_memory(&g, 1, passes, functional, got, &merged);
                blocks_same(&g, 1, passes, functional, want, got);
            }
            char *report = blocks_report(&g, passes);
            if (merged != 2)
                fail_msg("%s: %s", passes, report);
            if (asks ? !strstr(report, told)
                     : strstr(report, "virtual blocks ask") != NULL)
                fail_msg("%s: %s", passes, report);
            free(report);
        }
    strbuf_free(&g.b);
}

static inline void
hold(const char *body, unsigned asks)
{
    hold_kernel(kernel_of(body), 4, asks);
}

#endif
