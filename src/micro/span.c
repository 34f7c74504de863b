/* span.c: see span.h. One lane of each warp records, so that what is added is six
 * instructions and one request without an answer at each end. */
#include "micro/span.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const char start_code[] =
    "\n    .reg .u64 %span_a<3>; .reg .u32 %span_r<2>; .reg .pred %span_p;\n"
    "    mov.u32 %span_r0, %smid; mul.wide.u32 %span_a0, %span_r0, 16;\n"
    "    mov.u64 %span_a1, " SPAN_SYMBOL "; add.u64 %span_a0, %span_a0, %span_a1;\n"
    "    mov.u32 %span_r1, %laneid; setp.eq.u32 %span_p, %span_r1, 0;\n"
    "    mov.u64 %span_a2, %clock64;\n"
    "    @%span_p red.global.min.u64 [%span_a0], %span_a2;\n";
static const char end_code[] =
    "mov.u64 %span_a2, %clock64;\n"
    "    @%span_p red.global.max.u64 [%span_a0+8], %span_a2;\n    ";

static const char *
only(const char *text, const char *word)
{
    const char *p = strstr(text, word);
    return p && !strstr(p + 1, word) ? p : NULL;
}

char *
span_instrument(const char *ptx, unsigned cc)
{
    const char *size = only(ptx, ".address_size"), *entry = only(ptx, ".entry"),
               *brace = entry ? strchr(entry, '{') : NULL, *ret = only(ptx, "ret;");
    if (!size || !brace || !ret || ret < brace)
        return NULL;
    const char *begin = size + strcspn(size, "\n");
    struct strbuf b = {0};
    if (cc > 75) /* newer GPUs take it, and PTX 6.3 knows no later one */
        cc = 75;
    strbuf_printf(&b,
                  ".version 6.3\n.target sm_%u\n.address_size 64\n"
                  ".visible .global .align 8 .b8 " SPAN_SYMBOL "[%d];\n",
                  cc, SPAN_BYTES);
    strbuf_add(&b, begin, (size_t)(brace + 1 - begin));
    strbuf_addz(&b, start_code);
    strbuf_add(&b, brace + 1, (size_t)(ret - brace - 1));
    strbuf_addz(&b, end_code);
    strbuf_addz(&b, ret);
    return strbuf_take(&b);
}

void
span_init(uint64_t slots[2 * SPAN_SMS])
{
    for (size_t i = 0; i < SPAN_SMS; i++) {
        slots[2 * i] = UINT64_MAX;
        slots[2 * i + 1] = 0;
    }
}

uint64_t
span_cycles(const uint64_t slots[2 * SPAN_SMS])
{
    uint64_t most = 0;
    for (size_t i = 0; i < SPAN_SMS; i++)
        if (slots[2 * i + 1] > slots[2 * i] && slots[2 * i + 1] - slots[2 * i] > most)
            most = slots[2 * i + 1] - slots[2 * i];
    return most;
}
