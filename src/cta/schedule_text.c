/* schedule_text.c: reads and writes schedules as text, line by line.
 *
 *     allot-schedule 1
 *     kernel euler_flux
 *     blocks 12
 *     barriers change
 *     step 2: 3 7
 *     step 4: 0-2 9
 *
 * The text is not trusted: what is read is bounded by CTA_MOST_BLOCKS. */
#include "cta/schedule_text.h"

#include "base/bitset.h"
#include "base/vec.h"
#include "cta/search.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const barriers[] = {[CTA_BARRIER_CHANGE] = "change",
                                       [CTA_BARRIER_EVERY] = "every",
                                       [CTA_BARRIER_SUSPEND] = "suspend"};

bool
cta_barriers_find(const char *text, size_t n, enum cta_barriers *out)
{
    for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++)
        if (strlen(barriers[i]) == n && !memcmp(barriers[i], text, n)) {
            *out = (enum cta_barriers)i;
            return true;
        }
    return false;
}

struct reader {
    const char *file, *text;
    const char *at, *end; /* of the line, without its comment */
    const char *begin;    /* of the line */
    unsigned line;
    struct diag_sink *diag;
    uint32_t blocks;
    bool versioned, counted, told; /* told: how steps meet */
    enum cta_barriers barriers;
    char *kernel;
    uint64_t *seen;
    VEC(uint32_t) order;
    VEC(struct cta_step) step;
};

/* An error at `at`; false. */
static bool
fail(struct reader *r, const char *at, const char *hint, const char *fmt, ...)
{
    struct diag_loc loc = {r->file, r->text, r->line, (unsigned)(at - r->begin) + 1, 0};
    struct strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    char message[200];
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    strbuf_visible(&b, message, 200);
    struct diag *d = diag_add(r->diag, DIAG_ERROR, &loc, "%s", b.s);
    if (hint)
        diag_hint(r->diag, d, "%s", hint);
    strbuf_free(&b);
    return false;
}

static void
skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool
at_end(struct reader *r)
{
    skip_blanks(r);
    return r->at == r->end;
}

/* Up to a blank, a colon or the end. */
static size_t
word(struct reader *r, const char **w)
{
    skip_blanks(r);
    *w = r->at;
    while (r->at < r->end && !strchr(" \t\r:", *r->at))
        r->at++;
    return (size_t)(r->at - *w);
}

/* A decimal number from `least` to `most`. */
static bool
number(struct reader *r, const char *what, uint32_t least, uint32_t most, uint32_t *out)
{
    skip_blanks(r);
    const char *from = r->at;
    uint64_t v = 0;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        v = v * 10 + (uint64_t)(*r->at++ - '0');
        v = v > UINT32_MAX ? UINT32_MAX : v;
    }
    if (r->at == from)
        return fail(r, from, NULL, "%s: a number is missing here", what);
    if (v < least || v > most)
        return fail(r, from, NULL, "%s: %.*s is not in %u to %u", what,
                    (int)(r->at - from < 20 ? r->at - from : 20), from, least, most);
    *out = (uint32_t)v;
    return true;
}

static bool
line_ends(struct reader *r)
{
    return at_end(r) ||
           fail(r, r->at, NULL, "there is more on the line than belongs here");
}

static bool
add_block(struct reader *r, const char *at, uint32_t id)
{
    if (bitset_has(r->seen, id))
        return fail(r, at, "each block runs once", "block %u is in the schedule twice",
                    id);
    bitset_add(r->seen, id);
    *vec_push(&r->order) = id;
    return true;
}

static bool
read_step(struct reader *r)
{
    if (!r->counted)
        return fail(r, r->begin, "write 'blocks N' above the first step",
                    "the number of blocks is not known yet");
    struct cta_step s = {.first = (uint32_t)r->order.n};
    if (!number(r, "blocks at once", 1, CTA_MOST_BLOCKS, &s.tlp))
        return false;
    skip_blanks(r);
    if (r->at == r->end || *r->at != ':')
        return fail(r, r->at, "a step is 'step TLP: BLOCK ...'",
                    "a colon is missing here");
    r->at++;
    while (!at_end(r)) {
        const char *from = r->at;
        uint32_t a, b;
        if (!number(r, "block", 0, r->blocks - 1, &a))
            return false;
        b = a;
        if (r->at < r->end && *r->at == '-') {
            r->at++;
            if (!number(r, "last block of a range", a, r->blocks - 1, &b))
                return false;
        }
        if (r->at < r->end && !strchr(" \t\r", *r->at))
            return fail(r, r->at,
                        "blocks are numbers or ranges like 4-7, with blanks "
                        "between them",
                        "this is no number of a block");
        for (uint32_t id = a; id <= b; id++)
            if (!add_block(r, from, id))
                return false;
    }
    s.n = (uint32_t)r->order.n - s.first;
    if (!s.n)
        return fail(r, r->end, "leave the step out", "the step has no blocks");
    *vec_push(&r->step) = s;
    return true;
}

static bool
read_blocks(struct reader *r)
{
    if (r->counted)
        return fail(r, r->begin, NULL, "the number of blocks is there already");
    if (!number(r, "blocks", 1, CTA_MOST_BLOCKS, &r->blocks) || !line_ends(r))
        return false;
    r->counted = true;
    r->seen = xcalloc(BITSET_WORDS(r->blocks), sizeof *r->seen);
    return true;
}

/* A PTX identifier. */
static bool
read_kernel(struct reader *r)
{
    const char *w;
    if (r->kernel || r->step.n)
        return fail(r, r->begin, NULL, "'kernel' comes once, before the steps");
    size_t n = word(r, &w), k = 0;
    while (k < n && w[k] && (isalnum((unsigned char)w[k]) || strchr("_$%", w[k])))
        k++;
    if (!n || k < n)
        return fail(r, w + k, NULL, "the name of a kernel is missing here");
    r->kernel = xmalloc(n + 1);
    memcpy(r->kernel, w, n);
    r->kernel[n] = 0;
    return line_ends(r);
}

static bool
read_barriers(struct reader *r)
{
    const char *w;
    if (r->told || r->step.n)
        return fail(r, r->begin, NULL, "'barriers' comes once, before the steps");
    size_t n = word(r, &w);
    r->told = true;
    if (!cta_barriers_find(w, n, &r->barriers))
        return fail(r, w,
                    "'change': where the TLP changes; 'every': at every step; 'suspend': "
                    "blocks go on, and none starts for cta.sync_cycles",
                    "'barriers' is 'change', 'every' or 'suspend'");
    return line_ends(r);
}

static bool
read_line(struct reader *r)
{
    if (at_end(r))
        return true;
    const char *w;
    size_t n = word(r, &w);
    bool head = n == 14 && !memcmp(w, "allot-schedule", 14);
    uint32_t version;
    if (!r->versioned) {
        if (!head)
            return fail(r, w, "a schedule begins with the line 'allot-schedule 1'",
                        "this is no schedule");
        r->versioned = true;
        return number(r, "version of the format", 1, 1, &version) && line_ends(r);
    }
    if (n == 4 && !memcmp(w, "step", 4))
        return read_step(r);
    if (n == 6 && !memcmp(w, "blocks", 6))
        return read_blocks(r);
    if (n == 8 && !memcmp(w, "barriers", 8))
        return read_barriers(r);
    if (n == 6 && !memcmp(w, "kernel", 6))
        return read_kernel(r);
    return fail(r, w, "a line begins with kernel, blocks, barriers or step",
                "unknown line '%.*s'", (int)(n < 40 ? n : 40), w);
}

/* After the last line: whether all is there. */
static bool
complete(struct reader *r)
{
    if (!r->versioned || !r->counted)
        return fail(r, r->begin, "write 'allot-schedule 1' and 'blocks N' first",
                    "the schedule ends before it says how many blocks there are");
    if (r->order.n == r->blocks)
        return true;
    uint32_t id = 0;
    while (bitset_has(r->seen, id))
        id++;
    return fail(r, r->begin, "each block of the launch is in one step",
                "the schedule is not complete: %u of %u blocks are missing, block %u is "
                "the first",
                r->blocks - (uint32_t)r->order.n, r->blocks, id);
}

struct cta_schedule *
cta_schedule_parse(const char *file, const char *text, size_t n, struct diag_sink *diag)
{
    struct reader r = {.file = file, .text = text, .begin = text, .diag = diag};
    bool ok = true;
    for (const char *p = text, *all = text + n; ok && p < all;) {
        const char *nl = memchr(p, '\n', (size_t)(all - p));
        const char *end = nl ? nl : all;
        const char *comment = memchr(p, '#', (size_t)(end - p));
        r.begin = r.at = p;
        r.end = comment ? comment : end;
        r.line++;
        ok = read_line(&r);
        p = nl ? nl + 1 : all;
    }
    ok = ok && complete(&r);
    struct cta_schedule *s = NULL;
    if (ok) {
        s = cta_schedule_new(r.blocks, (uint32_t)r.step.n);
        memcpy(s->order, r.order.v, r.order.n * sizeof *s->order);
        memcpy(s->step, r.step.v, r.step.n * sizeof *s->step);
        s->barriers = r.barriers;
        s->kernel = r.kernel;
    } else {
        free(r.kernel);
    }
    free(r.seen);
    vec_free(&r.order);
    vec_free(&r.step);
    return s;
}

struct cta_schedule *
cta_schedule_read(const char *path, struct diag_sink *diag)
{
    size_t n;
    char *text = file_read(path, &n);
    if (!text) {
        diag_error(diag, "cannot read schedule %s: %s", path, strerror(errno));
        return NULL;
    }
    struct cta_schedule *s = cta_schedule_parse(path, text, n, diag);
    free(text);
    return s;
}

void
cta_schedule_print(const struct cta_schedule *s, const char *note, struct strbuf *out)
{
    strbuf_addz(out, "allot-schedule 1\n");
    if (note)
        strbuf_printf(out, "# %s\n", note);
    if (s->kernel)
        strbuf_printf(out, "kernel %s\n", s->kernel);
    strbuf_printf(out, "blocks %u\nbarriers %s\n", s->blocks, barriers[s->barriers]);
    for (uint32_t i = 0; i < s->nsteps; i++) {
        const uint32_t *b = s->order + s->step[i].first, n = s->step[i].n;
        strbuf_printf(out, "step %u:", s->step[i].tlp);
        for (uint32_t k = 0; k < n;) {
            uint32_t from = k++;
            while (k < n && b[k] == b[k - 1] + 1)
                k++;
            if (k - from > 1)
                strbuf_printf(out, " %u-%u", b[from], b[k - 1]);
            else
                strbuf_printf(out, " %u", b[from]);
        }
        strbuf_addz(out, "\n");
    }
}
