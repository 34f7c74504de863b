/* fatbin.c: reads fatbins, chooses and unpacks their PTX, writes them.
 *
 * Layout (all little-endian):
 *   header  u32 magic, u16 version 1, u16 bytes of the header, u64 bytes that follow
 *   entry   00 u16 kind       02 u16 version       04 u32 bytes of this header
 *           08 u64 payload bytes, padded to 8      10 u32 packed bytes, 0: stored
 *           14 u32 options record, 0: none         18 u16 minor, 1a u16 major version
 *           1c u32 capability                      20 u32 name offset, 24 u32 name bytes
 *           28 u64 flags      30 u64 hash          38 u64 unpacked bytes, 0: stored
 *   options u32 offset and u32 bytes of the string; offsets count from the entry's start
 * The payload follows the entry's header, the next entry follows the payload. */
#include "runtime/fatbin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <lz4.h>
#include <zstd.h>

enum { HEADER = 16, ENTRY = 64 };
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
/* Text larger than this is not believed: the fatbin is damaged. */
#define MAX_TEXT ((uint64_t)1 << 30)

static uint64_t
get(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void
put(uint8_t *p, int bytes, uint64_t v)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

enum fatbin_file
fatbin_file_kind(const void *data, size_t len)
{
    if (len >= 4 && get(data, 4) == FATBIN_MAGIC)
        return FATBIN_FILE_FATBIN;
    if (len >= 4 && !memcmp(data, "\177ELF", 4))
        return FATBIN_FILE_ELF;
    return FATBIN_FILE_TEXT;
}

size_t
fatbin_length(const void *p)
{
    const uint8_t *b = p;
    return get(b, 4) == FATBIN_MAGIC ? get(b + 6, 2) + get(b + 8, 8) : 0;
}

static bool __attribute__((format(printf, 4, 5)))
damaged(struct diag_sink *diag, const char *name, size_t at, const char *fmt, ...)
{
    char why[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    struct diag *g = diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = name},
                              "damaged fatbin: %s (byte %zu)", why, at);
    diag_hint(diag, g, "is the file cut short, or made by a toolkit newer than CUDA 13?");
    return false;
}

/* A string of the entry's header, "" if it does not lie in it. */
static const char *
header_string(struct fatbin *fb, const uint8_t *e, uint64_t head, uint64_t at, uint64_t n)
{
    if (!at || at > head || n > head - at)
        return "";
    return arena_strndup(&fb->mem, (const char *)e + at, n);
}

static enum fatbin_packing
packing_of(const uint8_t *e, uint64_t flags)
{
    if (!get(e + 0x10, 4) && !get(e + 0x38, 8))
        return FATBIN_STORED;
    return flags & FLAG_ZSTD  ? FATBIN_ZSTD
           : flags & FLAG_LZ4 ? FATBIN_LZ4
                              : FATBIN_UNKNOWN_PACKING;
}

/* One fatbin of exactly len bytes that begins `base` bytes into the file. */
static bool
read_image(struct fatbin *fb, const char *name, const uint8_t *p, size_t len, size_t base,
           struct diag_sink *diag)
{
    unsigned image = fb->images++;
    for (size_t at = get(p + 6, 2); at < len;) {
        const uint8_t *e = p + at;
        size_t left = len - at;
        if (left < ENTRY)
            return damaged(diag, name, base + at,
                           "%zu bytes are left where an entry begins", left);
        uint64_t head = get(e + 4, 4), padded = get(e + 8, 8);
        if (head < ENTRY || head > left)
            return damaged(diag, name, base + at,
                           "an entry's header of %" PRIu64 " bytes", head);
        if (padded > left - head)
            return damaged(diag, name, base + at,
                           "an entry of %" PRIu64 " bytes where %zu are left", padded,
                           left - (size_t)head);
        struct fatbin_entry *x = vec_push(&fb->entries);
        x->kind = (unsigned)get(e, 2);
        x->capability = (unsigned)get(e + 0x1c, 4);
        x->flags = get(e + 0x28, 8);
        x->packing = packing_of(e, x->flags);
        x->image = image;
        x->source = header_string(fb, e, head, get(e + 0x20, 4), get(e + 0x24, 4));
        uint64_t record = get(e + 0x14, 4);
        x->options = "";
        if (record >= ENTRY && record <= head && head - record >= 8)
            x->options =
                header_string(fb, e, head, get(e + record, 4), get(e + record + 4, 4));
        x->data = e + head;
        x->size = x->full_size = padded;
        if (x->packing != FATBIN_STORED) {
            x->size = get(e + 0x10, 4);
            x->full_size = get(e + 0x38, 8);
            if (x->size > padded)
                return damaged(diag, name, base + at,
                               "%zu packed bytes in an entry of %" PRIu64, x->size,
                               padded);
        }
        at += head + padded;
    }
    return true;
}

bool
fatbin_read(struct fatbin *fb, const char *name, const void *data, size_t len,
            struct diag_sink *diag)
{
    const uint8_t *p = data;
    for (size_t at = 0; at < len;) {
        size_t left = len - at;
        if (!p[at]) { /* padding between fatbins */
            at++;
            continue;
        }
        if (left < HEADER || get(p + at, 4) != FATBIN_MAGIC)
            return damaged(diag, name, at, "no fatbin begins here");
        uint64_t version = get(p + at + 4, 2), head = get(p + at + 6, 2),
                 body = get(p + at + 8, 8);
        if (version != 1)
            return damaged(diag, name, at, "version %" PRIu64 ", only 1 is known",
                           version);
        if (head < HEADER || head > left || body > left - head)
            return damaged(diag, name, at,
                           "a fatbin of %" PRIu64 " + %" PRIu64
                           " bytes where %zu are left",
                           head, body, left);
        if (!read_image(fb, name, p + at, head + body, at, diag))
            return false;
        at += head + body;
    }
    return true;
}

void
fatbin_free(struct fatbin *fb)
{
    vec_free(&fb->entries);
    arena_free(&fb->mem);
    fb->images = 0;
}

/* -- choosing -- */

static const char *
kind_name(const struct fatbin_entry *e, char buf[48])
{
    const char *suffix = e->flags & FATBIN_ARCH_SPECIFIC ? "a"
                         : e->flags & FATBIN_FAMILY      ? "f"
                                                         : "";
    if (e->kind == FATBIN_CUBIN)
        snprintf(buf, 48, "machine code for sm_%u%s", e->capability, suffix);
    else if (e->kind == FATBIN_LTO)
        snprintf(buf, 48, "link-time code for sm_%u%s", e->capability, suffix);
    else
        snprintf(buf, 48, "something of kind %u", e->kind);
    return buf;
}

static const struct fatbin_entry *
no_ptx(const struct fatbin *fb, unsigned image, const char *name, struct diag_sink *diag)
{
    struct strbuf b = {0};
    char buf[48];
    size_t n = 0;
    unsigned cap = 75;
    for (size_t i = 0; i < fb->entries.n; i++) {
        const struct fatbin_entry *e = &fb->entries.v[i];
        if (e->image != image)
            continue;
        if (n++ < 6)
            strbuf_printf(&b, "%s%s", b.n ? ", " : "", kind_name(e, buf));
        if (e->capability < 1000)
            cap = e->capability;
    }
    if (n) {
        struct diag *g =
            diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = name},
                     "only machine code inside, no PTX: %s%s", b.s, n > 6 ? ", ..." : "");
        diag_hint(diag, g, "rebuild with PTX: -gencode arch=compute_%u,code=compute_%u",
                  cap, cap);
    }
    strbuf_free(&b);
    return NULL;
}

bool
fatbin_has_ptx(const struct fatbin *fb, unsigned image)
{
    for (size_t i = 0; i < fb->entries.n; i++)
        if (fb->entries.v[i].image == image && fb->entries.v[i].kind == FATBIN_PTX)
            return true;
    return false;
}

/* Whether a is the better PTX for capability `want` than b (which may be NULL). */
static bool
better(const struct fatbin_entry *a, const struct fatbin_entry *b, unsigned want)
{
    if (!b)
        return true;
    bool fits_a = a->capability <= want, fits_b = b->capability <= want;
    if (fits_a != fits_b)
        return fits_a;
    return fits_a ? a->capability > b->capability : a->capability < b->capability;
}

const struct fatbin_entry *
fatbin_choose(const struct fatbin *fb, unsigned image, unsigned capability,
              const char *name, struct diag_sink *diag)
{
    unsigned want = capability ? capability : UINT32_MAX;
    const struct fatbin_entry *best = NULL,
                              *spare = NULL; /* spare: for other GPUs only */
    for (size_t i = 0; i < fb->entries.n; i++) {
        const struct fatbin_entry *e = &fb->entries.v[i];
        if (e->image != image || e->kind != FATBIN_PTX)
            continue;
        bool fits = e->capability == capability;
        if (e->flags & FATBIN_FAMILY)
            fits = e->capability <= capability && e->capability / 10 == capability / 10;
        if (!fits && e->flags & (FATBIN_ARCH_SPECIFIC | FATBIN_FAMILY))
            spare = better(e, spare, want) ? e : spare;
        else if (better(e, best, want))
            best = e;
    }
    if (!best)
        best = spare;
    if (!best)
        return no_ptx(fb, image, name, diag);
    return best;
}

/* -- unpacking -- */

static bool
unpack(const struct fatbin_entry *e, char *out, const char *name, struct diag_sink *diag)
{
    size_t got = 0;
    switch (e->packing) {
    case FATBIN_STORED:
        memcpy(out, e->data, e->full_size);
        return true;
    case FATBIN_LZ4: {
        int n = LZ4_decompress_safe((const char *)e->data, out, (int)e->size,
                                    (int)e->full_size);
        got = n > 0 ? (size_t)n : 0;
        break;
    }
    case FATBIN_ZSTD:
        got = ZSTD_decompress(out, e->full_size, e->data, e->size);
        if (ZSTD_isError(got))
            got = 0;
        break;
    default:
        break;
    }
    if (got != e->full_size) {
        diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = name},
                 "damaged fatbin: PTX for sm_%u does not unpack (%s)", e->capability,
                 e->packing == FATBIN_LZ4 ? "LZ4" : "zstd");
        return false;
    }
    return true;
}

char *
fatbin_text(const struct fatbin_entry *e, const char *name, size_t *len,
            struct diag_sink *diag)
{
    struct diag_loc loc = {.file = name};
    if (e->packing == FATBIN_UNKNOWN_PACKING) {
        diag_add(diag, DIAG_ERROR, &loc,
                 "the fatbin's PTX is compressed in a way not known (flags 0x%" PRIx64
                 ")",
                 e->flags);
        return NULL;
    }
    /* LZ4 yields at most 255 bytes for one; a zstd frame mostly tells its size. */
    bool sane = e->full_size <= MAX_TEXT && e->size <= MAX_TEXT;
    if (e->packing == FATBIN_LZ4)
        sane &= e->full_size / 255 <= e->size;
    if (e->packing == FATBIN_ZSTD) {
        unsigned long long n = ZSTD_getFrameContentSize(e->data, e->size);
        sane &= n != ZSTD_CONTENTSIZE_ERROR &&
                (n == ZSTD_CONTENTSIZE_UNKNOWN || n == e->full_size);
    }
    char *out = sane ? malloc(e->full_size + 1) : NULL;
    if (!out) {
        diag_add(diag, DIAG_ERROR, &loc,
                 "damaged fatbin: PTX of %zu bytes packed to %zu is not believable",
                 e->full_size, e->size);
        return NULL;
    }
    if (!unpack(e, out, name, diag)) {
        free(out);
        return NULL;
    }
    out[e->full_size] = 0;
    *len = strnlen(out, e->full_size);
    return out;
}

/* -- writing -- */

bool
fatbin_write(struct strbuf *out, const struct fatbin_input *in, size_t n,
             enum fatbin_packing packing, struct diag_sink *diag)
{
    static const uint64_t flags[] = {0x11, 0x11 | FLAG_LZ4, 0x11 | FLAG_ZSTD};
    size_t start = out->n;
    uint8_t head[HEADER + ENTRY] = {0};
    strbuf_add(out, (const char *)head, HEADER);
    for (size_t i = 0; i < n; i++) {
        size_t full = in[i].len + 1; /* with a NUL, as the toolkit's */
        if (full > LZ4_MAX_INPUT_SIZE)
            return diag_error(diag, "PTX of %zu bytes is too long for a fatbin", full);
        size_t room = packing == FATBIN_LZ4    ? (size_t)LZ4_compressBound((int)full)
                      : packing == FATBIN_ZSTD ? ZSTD_compressBound(full)
                                               : full;
        char *text = xcalloc(full, 1), *body = xcalloc(room + 8, 1);
        memcpy(text, in[i].text, in[i].len);
        size_t size = full;
        if (packing == FATBIN_LZ4)
            size = (size_t)LZ4_compress_default(text, body, (int)full, (int)room);
        else if (packing == FATBIN_ZSTD)
            size = ZSTD_compress(body, room, text, full, 3);
        else
            memcpy(body, text, full);
        size_t padded = (size + 7) & ~(size_t)7;
        uint8_t e[ENTRY + 16] = {0};
        put(e + 0x00, 2, FATBIN_PTX);
        put(e + 0x02, 2, 0x0101);
        put(e + 0x04, 4, sizeof e);
        put(e + 0x08, 8, padded);
        put(e + 0x14, 4, ENTRY); /* options: the empty string behind the record */
        put(e + 0x18, 2, in[i].minor);
        put(e + 0x1a, 2, in[i].major);
        put(e + 0x1c, 4, in[i].capability);
        put(e + 0x28, 8, flags[packing] | in[i].flags);
        put(e + ENTRY, 4, ENTRY + 8);
        if (packing != FATBIN_STORED) {
            put(e + 0x10, 4, size);
            put(e + 0x38, 8, full);
        }
        strbuf_add(out, (const char *)e, sizeof e);
        strbuf_add(out, body, padded);
        free(body);
        free(text);
    }
    put(head, 4, FATBIN_MAGIC);
    put(head + 4, 2, 1);
    put(head + 6, 2, HEADER);
    put(head + 8, 8, out->n - start - HEADER);
    memcpy(out->s + start, head, HEADER);
    return true;
}
