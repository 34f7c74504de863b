/* coalesce.c: coalescing of global, local, constant and texture accesses; scratchpad conflicts.
 *
 * Global memory, Fermi kind (memory.coalesce = line; CUDA C Programming Guide, compute
 * capability 2.x, with the segment rules of 1.2): lanes are grouped by segment: 32 bytes
 * for 1-byte accesses, 64 for 2-byte ones, else memory.segment. A 128-byte segment of
 * which only one half is touched becomes that half, a half of which only one quarter is
 * touched becomes the quarter. Sector kind: one access per touched 32-byte sector
 * (Maxwell and later, and accesses past the L1 on Kepler). Segments come out in the order
 * of the first lane that touches them.
 *
 * Scratchpad: banks serve one word each a cycle; lanes that read the same word are served
 * together. An access wider than a bank is done in phases of as many lanes as fill all
 * banks once: with 4-byte banks, half warps for 8 bytes, quarter warps for 16. The phases'
 * conflict degrees add up. With wide = first-word only the first word of each lane counts,
 * in one phase. */
#include "timing/sm/coalesce.h"

#include "base/bitset.h"

#include <string.h>

void
coal_rules(struct coal_rules *r, const struct machine *m)
{
    uint32_t line = m->l1d.line < 128 ? m->l1d.line : 128;
    *r = (struct coal_rules){
        .segment = m->memory.segment < line ? m->memory.segment : line,
        .const_line = m->l1c.line,
        .texture_line = m->l1t.line,
        .banks = m->scratchpad.banks < 64 ? m->scratchpad.banks : 64,
        .bank_bytes = m->scratchpad.bank_bytes,
        .first_word = m->scratchpad.wide == WIDE_FIRST_WORD,
        .atomic_conflicts = m->scratchpad.atomic_conflicts,
        .combine_atomics = m->memory.combine_atomics,
        .atomic_segment =
            m->memory.atomic_segment < line ? m->memory.atomic_segment : line,
    };
}

/* Sectors of a 128-byte line that words touch. */
static inline uint8_t
sectors_of(uint32_t words)
{
    uint8_t s = 0;
    for (unsigned i = 0; i < 4; i++)
        s |= (uint8_t)((words >> 8 * i & 0xff ? 1 : 0) << i);
    return s;
}

/* Words of the line covered by [at, at + bytes), at < 128, ending inside the line. */
static inline uint32_t
word_range(unsigned at, unsigned bytes)
{
    unsigned first = at / 4, n = (at + bytes + 3) / 4 - first;
    return (n >= 32 ? 0xffffffffu : (1u << n) - 1) << first;
}

/* Sectors of the line that [at, at + bytes) touches, the same. */
static inline uint8_t
sector_range(unsigned at, unsigned bytes)
{
    unsigned first = at / 32, last = (at + bytes - 1) / 32;
    return (uint8_t)(((2u << (last - first)) - 1) << first);
}

/* Fermi's reduction: halves, then quarters: the least aligned part of its segment that
 * holds all sectors. */
static void
reduce(struct coal_access *x)
{
    const unsigned first = (unsigned)__builtin_ctz(x->sectors);
    const unsigned last = 31 - (unsigned)__builtin_clz(x->sectors);
    const unsigned differ = first ^ last, n = 1u << ((differ > 0) + (differ > 1));
    x->addr = (x->addr & ~(uint64_t)127) + (first & -n) * 32;
    x->bytes = (uint16_t)(n * 32);
}

struct builder {
    struct coal_access *out;
    unsigned n;
    unsigned segment;
    bool partial;        /* accesses narrower than a word: bytes are kept */
    uint64_t (*byte)[2]; /* per access: bytes of the line touched */
};

static inline struct coal_access *
segment_at(struct builder *b, uint64_t at)
{
    uint64_t seg = at & ~(uint64_t)(b->segment - 1);
    struct coal_access *end = b->out + b->n;
    for (struct coal_access *x = end; x != b->out;)
        if ((--x)->addr == seg)
            return x;
    *end = (struct coal_access){.addr = seg};
    if (b->partial)
        b->byte[b->n][0] = b->byte[b->n][1] = 0;
    b->n++;
    return end;
}

static void
add(struct builder *b, uint64_t addr, unsigned bytes)
{
    while (bytes) {
        unsigned room = b->segment - (unsigned)(addr & (b->segment - 1));
        unsigned n = bytes < room ? bytes : room, at = (unsigned)(addr & 127);
        struct coal_access *x = segment_at(b, addr);
        x->sectors |= sector_range(at, n);
        if (!b->partial) {
            x->words |= word_range(at, n);
        } else {
            uint64_t *byte = b->byte[x - b->out];
            for (unsigned i = at; i < at + n; i++)
                byte[i / 64] |= (uint64_t)1 << (i % 64);
        }
        addr += n;
        bytes -= n;
    }
}

static unsigned
finish(struct builder *b)
{
    for (unsigned k = 0; k < b->n; k++) {
        struct coal_access *x = &b->out[k];
        for (unsigned h = 0; b->partial && h < 2; h++) {
            uint64_t v = b->byte[k][h], pairs = v & v >> 1;
            FOR_BITS(i, pairs & pairs >> 2 & 0x1111111111111111) /* all four of a word */
            x->words |= 1u << (h * 16 + i / 4);
        }
        reduce(x);
    }
    return b->n;
}

static unsigned
segment_size(const struct coal_rules *r, unsigned bytes, bool by_sector)
{
    unsigned s = by_sector || bytes == 1 ? 32 : bytes == 2 ? 64 : r->segment;
    return s < r->segment ? s : r->segment;
}

/* All lanes, each `step` bytes behind the one before. */
static bool
in_steps(const uint64_t addr[32], uint32_t mask, unsigned step)
{
    if (mask != 0xffffffffu)
        return false;
    uint64_t bad = 0;
    for (unsigned i = 1; i < 32; i++)
        bad |= addr[i] ^ (addr[0] + i * step);
    return !bad;
}

unsigned
coal_global(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
            unsigned bytes, bool by_sector, struct coal_access out[COAL_MAX])
{
    uint64_t byte[64][2];
    struct builder b = {out, 0, segment_size(r, bytes, by_sector), bytes < 4, byte};
    if (bytes >= 4 && in_steps(addr, mask, bytes)) {
        uint64_t at = addr[0], end = addr[0] + 32 * bytes;
        while (at < end) {
            uint64_t seg = at & ~(uint64_t)(b.segment - 1);
            uint64_t to = seg + b.segment < end ? seg + b.segment : end;
            unsigned in = (unsigned)(at & 127), n = (unsigned)(to - at);
            out[b.n++] = (struct coal_access){
                .addr = seg, .words = word_range(in, n), .sectors = sector_range(in, n)};
            at = to;
        }
        return finish(&b);
    }
    FOR_BITS(i, mask)
    add(&b, addr[i], bytes);
    return finish(&b);
}

unsigned
coal_sectors(const struct coal_rules *r, const uint64_t *sector, unsigned n,
             bool by_sector, struct coal_access out[COAL_MAX])
{
    struct builder b = {out, 0, segment_size(r, 4, by_sector), false, NULL};
    for (unsigned i = 0; i < n; i++)
        add(&b, sector[i], 32);
    return finish(&b);
}

unsigned
coal_atomic(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
            unsigned bytes, struct coal_access out[COAL_MAX])
{
    unsigned n = 0;
    FOR_BITS(i, mask)
    {
        uint64_t seg = addr[i] & ~(uint64_t)(r->atomic_segment - 1);
        uint32_t w = word_range((unsigned)(addr[i] & 127), bytes);
        unsigned k = 0;
        while (k < n &&
               !(out[k].addr == seg && (r->combine_atomics || !(out[k].words & w))))
            k++;
        if (k == n)
            out[n++] = (struct coal_access){.addr = seg, .route = COAL_BYPASS};
        out[k].words |= w;
        out[k].sectors = sectors_of(out[k].words);
    }
    for (unsigned k = 0; k < n; k++)
        reduce(&out[k]);
    return n;
}

/* The n accesses so far and one to the whole line at `at`, unless that is among them. */
static unsigned
whole_line(struct coal_access *out, unsigned n, uint64_t at, uint32_t line,
           enum coal_route route)
{
    for (unsigned k = n; k-- > 0;)
        if (out[k].addr == at)
            return n;
    uint32_t words = word_range((unsigned)(at & 127), line < 128 ? line : 128);
    out[n] = (struct coal_access){.addr = at,
                                  .words = words,
                                  .bytes = (uint16_t)line,
                                  .sectors = sectors_of(words),
                                  .route = (uint8_t)route};
    return n + 1;
}

unsigned
coal_const(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
           unsigned bytes, struct coal_access out[COAL_MAX])
{
    unsigned n = 0;
    uint32_t line = r->const_line;
    if (in_steps(addr, mask, 0)) /* the usual case: one lane tells */
        mask &= -mask;
    FOR_BITS(i, mask)
    {
        uint64_t last = (addr[i] + bytes - 1) & ~((uint64_t)line - 1);
        for (uint64_t at = addr[i] & ~((uint64_t)line - 1); at <= last; at += line)
            n = whole_line(out, n, at, line, COAL_CONST);
    }
    return n;
}

unsigned
coal_texture(const struct coal_rules *r, const uint64_t *sector, unsigned n,
             struct coal_access out[COAL_MAX])
{
    unsigned k = 0;
    uint32_t line = r->texture_line;
    for (unsigned i = 0; i < n; i++)
        k = whole_line(out, k, sector[i] & ~((uint64_t)line - 1), line, COAL_TEXTURE);
    return k;
}

unsigned
coal_local(const struct coal_rules *r, const uint64_t offset[32], uint32_t mask,
           unsigned bytes, bool by_sector, uint64_t base, uint64_t stride, uint64_t first,
           struct coal_access out[COAL_MAX])
{
    uint64_t byte[64][2];
    /* Wider accesses are made of words, each interleaved on its own. */
    unsigned piece = bytes < 4 ? bytes : 4;
    struct builder b = {out, 0, segment_size(r, piece, by_sector), piece < 4, byte};
    for (unsigned k = 0; k < bytes; k += piece)
        FOR_BITS(i, mask)
        {
            uint64_t at = offset[i] + k;
            add(&b, base + 4 * (at / 4 * stride + first + i) + at % 4, piece);
        }
    return finish(&b);
}

static inline unsigned
bank_of(const struct coal_rules *r, uint32_t word)
{
    uint32_t mask = r->banks - 1;
    return r->banks & mask ? word % r->banks : word & mask;
}

/* Largest number of different words (all: of lanes) of any bank. */
static unsigned
degree(const struct coal_rules *r, const uint32_t *word, unsigned n, bool all)
{
    uint8_t head[64], next[COAL_MAX], count[64];
    uint64_t seen = 0;
    unsigned most = n ? 1 : 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned bank = bank_of(r, word[i]);
        if (!(seen >> bank & 1)) {
            seen |= (uint64_t)1 << bank;
            head[bank] = (uint8_t)i;
            next[i] = (uint8_t)i;
            count[bank] = 1;
            continue;
        }
        bool same = false;
        for (unsigned k = head[bank]; !all && !same; k = next[k]) {
            same = word[k] == word[i];
            if (next[k] == k)
                break;
        }
        if (same)
            continue;
        next[i] = head[bank];
        head[bank] = (uint8_t)i;
        if (++count[bank] > most)
            most = count[bank];
    }
    return most;
}

/* Words that lie closer together than there are banks are in different banks or the same
 * word: no conflict. That is most accesses, and minimum and maximum vectorise. */
static bool
close_together(const uint64_t addr[32], uint32_t mask, unsigned shift, uint32_t banks)
{
    uint32_t lo = UINT32_MAX, hi = 0;
    if (mask == UINT32_MAX) {
        for (unsigned i = 0; i < 32; i++) {
            uint32_t w = (uint32_t)(addr[i] >> shift);
            lo = w < lo ? w : lo;
            hi = w > hi ? w : hi;
        }
    } else {
        FOR_BITS(i, mask)
        {
            uint32_t w = (uint32_t)(addr[i] >> shift);
            lo = w < lo ? w : lo;
            hi = w > hi ? w : hi;
        }
    }
    return hi - lo < banks || hi < lo;
}

unsigned
coal_conflicts(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
               unsigned bytes, bool atomic)
{
    if (atomic && !r->atomic_conflicts)
        return 1;
    uint32_t word[COAL_MAX];
    unsigned shift = r->bank_bytes == 8 ? 3 : 2, lanes = 32;
    if (!r->first_word && bytes > r->bank_bytes) {
        lanes = r->banks * r->bank_bytes / bytes;
        lanes = lanes < 1 ? 1 : lanes > 32 ? 32 : lanes;
    }
    if (!atomic && lanes == 32 && (r->first_word || bytes <= r->bank_bytes) &&
        close_together(addr, mask, shift, r->banks))
        return 1;
    unsigned cycles = 0;
    for (unsigned from = 0; from < 32; from += lanes) {
        unsigned n = 0;
        for (unsigned i = from; i < from + lanes && i < 32; i++) {
            if (!(mask >> i & 1))
                continue;
            uint32_t w = (uint32_t)(addr[i] >> shift);
            uint32_t last =
                r->first_word ? w : (uint32_t)((addr[i] + bytes - 1) >> shift);
            for (; w <= last && n < COAL_MAX; w++)
                word[n++] = w;
        }
        cycles += degree(r, word, n, atomic);
    }
    return cycles ? cycles : 1;
}
