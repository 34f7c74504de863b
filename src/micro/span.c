/* span.c: see span.h. One thread of those that start, and of those that end together, records:
 * what is added is fifteen instructions and one request without an answer at each end, and no
 * register lives longer for it. */
#include "micro/span.h"

#include "base/str.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Registers stand in a block of their own, so that each end may declare them. */
#define RECORD(request)                                                                  \
    "\n    {\n    .reg .u64 %span_a, %span_b, %span_t; .reg .u32 %span_r, %span_l;\n"    \
    "    .reg .pred %span_p;\n"                                                          \
    "    mov.u64 %span_t, %clock64;\n"                                                   \
    "    activemask.b32 %span_r; brev.b32 %span_r, %span_r; clz.b32 %span_r, %span_r;\n" \
    "    mov.u32 %span_l, %laneid; setp.eq.u32 %span_p, %span_l, %span_r;\n"             \
    "    mov.u32 %span_r, %ctaid.x; mov.u32 %span_l, %ctaid.y;\n"                        \
    "    add.u32 %span_r, %span_r, %span_l; and.b32 %span_r, %span_r, 15;\n"             \
    "    mov.u32 %span_l, %smid; mad.lo.u32 %span_r, %span_l, 16, %span_r;\n"            \
    "    mul.wide.u32 %span_a, %span_r, 32;\n"                                           \
    "    mov.u64 %span_b, " SPAN_SYMBOL "; add.u64 %span_a, %span_a, %span_b;\n"         \
    "    @%span_p red.global." request ", %span_t;\n    }\n    "
static_assert(SPAN_SLOTS == 16 && SPAN_SLOT_WORDS == 4, "as RECORD has it");

static const char start_code[] = RECORD("min.u64 [%span_a]");
static const char end_code[] = RECORD("max.u64 [%span_a+8]");

static bool
is_word(const char *text, const char *p, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(p, word, n) && !isalnum((unsigned char)p[n]) && p[n] != '_' &&
           (p == text || (!isalnum((unsigned char)p[-1]) && !strchr("_.%$", p[-1])));
}

/* From `begin`, the text behind the head: copies it, with what is recorded. */
static bool
add_kernels(struct strbuf *b, const char *begin)
{
    const char *done = begin;
    unsigned depth = 0, kernels = 0, ends = 0;
    bool entry = false, guarded = false;
    for (const char *p = begin; *p; p++) {
        if (p[0] == '/' && p[1] == '/') {
            p += strcspn(p, "\n");
            p -= !*p;
        } else if (*p == '"') {
            p += 1 + strcspn(p + 1, "\"");
            p -= !*p;
        } else if (!depth && !strncmp(p, ".entry", 6)) {
            entry = true;
        } else if (!depth && !strncmp(p, ".func", 5)) {
            entry = false;
        } else if (*p == '{' && !depth++ && entry) {
            strbuf_add(b, done, (size_t)(p + 1 - done));
            strbuf_addz(b, start_code);
            done = p + 1;
            kernels++;
        } else if (*p == '}' && depth && !--depth) {
            entry = false;
        } else if (*p == ';' || *p == ':') {
            guarded = false;
        } else if (*p == '@') {
            guarded = true;
        } else if (entry && depth &&
                   (is_word(begin, p, "ret") || is_word(begin, p, "exit"))) {
            if (guarded)
                return false;
            strbuf_add(b, done, (size_t)(p - done));
            strbuf_addz(b, end_code);
            done = p;
            ends++;
        }
    }
    strbuf_addz(b, done);
    return kernels && ends >= kernels;
}

static unsigned
own_target(const char *ptx)
{
    const char *target = strstr(ptx, ".target sm_");
    return target ? (unsigned)atoi(target + strlen(".target sm_")) : 0;
}

char *
span_instrument(const char *ptx, unsigned cc)
{
    const char *size = strstr(ptx, ".address_size");
    struct strbuf b = {0};
    if (!size)
        return NULL;
    const bool ampere = own_target(ptx) == 80; /* products of matrices */
    const unsigned most = ampere ? 80 : 75;
    if (cc > most) /* newer GPUs take it, and PTX 6.3 knows no later one than 75 */
        cc = most;
    strbuf_printf(&b,
                  ".version %s\n.target sm_%u\n.address_size 64\n"
                  ".visible .global .align 8 .b8 " SPAN_SYMBOL "[%d];\n",
                  ampere ? "7.0" : "6.3", cc, SPAN_BYTES);
    if (!add_kernels(&b, size + strcspn(size, "\n"))) {
        strbuf_free(&b);
        return NULL;
    }
    return strbuf_take(&b);
}

char *
span_place(char *text, uint64_t address)
{
    static const char variable[] = "mov.u64 %span_b, " SPAN_SYMBOL;
    struct strbuf b = {0};
    const char *done = text;
    for (const char *p; (p = strstr(done, variable)); done = p + strlen(variable)) {
        strbuf_add(&b, done, (size_t)(p - done));
        strbuf_printf(&b, "mov.u64 %%span_b, 0x%llx", (unsigned long long)address);
    }
    strbuf_addz(&b, done);
    free(text);
    return strbuf_take(&b);
}

void
span_init(uint64_t slots[SPAN_WORDS])
{
    for (size_t i = 0; i < SPAN_WORDS; i++)
        slots[i] = i % SPAN_SLOT_WORDS ? 0 : UINT64_MAX;
}

uint64_t
span_cycles(const uint64_t slots[SPAN_WORDS])
{
    uint64_t most = 0;
    for (size_t sm = 0; sm < SPAN_SMS; sm++) {
        const uint64_t *w = slots + sm * SPAN_SLOTS * SPAN_SLOT_WORDS;
        uint64_t first = UINT64_MAX, last = 0;
        for (size_t k = 0; k < SPAN_SLOTS; k++, w += SPAN_SLOT_WORDS) {
            first = w[0] < first ? w[0] : first;
            last = w[1] > last ? w[1] : last;
        }
        if (last > first && last - first > most)
            most = last - first;
    }
    return most;
}
