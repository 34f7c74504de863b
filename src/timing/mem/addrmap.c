/* addrmap.c: address -> channel, slice, bank, row, column.
 *
 * 1. The address is cut into pieces of partition.interleave bytes; piece p goes to
 * channel p mod channels (by division when that is no power of two) and is piece p /
 * channels of the channel.
 * 2. dram.address_map says what the bits of the channel's own address are. The low bank
 * bits choose the L2 slice, so that every slice has banks of its own; taken out of the
 * address they leave the slice's local address, on which the L2 works.
 * 3. channel_hash scrambles the number channel * slices + slice by a hash of the local
 *    address. For a fixed local address that is a permutation, so the map stays
 * bijective. ipoly: remainder of a polynomial over GF(2) (B. R. Rau, "Pseudo-randomly
 * interleaved memory", ISCA 1991); xor: the fields of the local address folded together.
 * Where the number of slices is no power of two the hash is added modulo it. */
#include "timing/mem/addrmap.h"

#include <assert.h>
#include <string.h>

static bool
pow2(uint64_t x)
{
    return x && !(x & (x - 1));
}

static unsigned
log2_of(uint64_t x)
{
    return 63 - (unsigned)__builtin_clzll(x);
}

static inline uint64_t
low_mask(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

static void
field_of(struct addrmap_field *f, uint64_t mask)
{
    memset(f, 0, sizeof *f);
    for (unsigned b = 0; b < 64;) {
        if (!(mask >> b & 1)) {
            b++;
            continue;
        }
        unsigned w = 0;
        while (b + w < 64 && mask >> (b + w) & 1)
            w++;
        if (f->n == sizeof f->run / sizeof *f->run)
            return; /* refused by addrmap_init: width falls short of the bits in mask */
        f->run[f->n].shift = (uint8_t)b;
        f->run[f->n].mask = low_mask(w);
        f->run[f->n++].pos = f->width;
        f->width = (uint8_t)(f->width + w);
        b += w;
    }
}

static inline uint64_t
extract(const struct addrmap_field *f, uint64_t a)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < f->n; i++)
        r |= (a >> f->run[i].shift & f->run[i].mask) << f->run[i].pos;
    return r;
}

/* What `of` takes from an address, as far as it lies in `part`: from the bits of that
 * part alone. */
static void
compose(struct addrmap_field *f, const struct addrmap_field *of, uint64_t part)
{
    memset(f, 0, sizeof *f);
    f->width = of->width;
    for (unsigned i = 0; i < of->n; i++)
        for (unsigned k = 0; k < 64 && of->run[i].mask >> k & 1; k++) {
            unsigned bit = of->run[i].shift + k, pos = of->run[i].pos + k;
            if (!(part >> bit & 1))
                continue;
            unsigned at = (unsigned)__builtin_popcountll(part & low_mask(bit));
            unsigned w = f->n ? (unsigned)__builtin_popcountll(f->run[f->n - 1].mask) : 0;
            if (w && f->run[f->n - 1].shift + w == at &&
                f->run[f->n - 1].pos + w == pos) {
                f->run[f->n - 1].mask = low_mask(w + 1);
                continue;
            }
            assert(f->n < sizeof f->run / sizeof *f->run);
            f->run[f->n].shift = (uint8_t)at;
            f->run[f->n].pos = (uint8_t)pos;
            f->run[f->n++].mask = 1;
        }
}

/* Primitive polynomials of degree 1..12 without their highest term. */
static const uint16_t poly_low[13] = {0, 1, 3, 3, 3, 5, 3, 3, 0x1d, 0x11, 9, 5, 0x53};

bool
addrmap_init(struct addrmap *a, const struct machine *m, struct diag_sink *diag)
{
    size_t before = diag->errors;
    memset(a, 0, sizeof *a);
    a->channels = m->dram.channels;
    a->slices = m->partition.slices;
    a->subs = a->channels * a->slices;
    a->pow2_channels = pow2(a->channels);
    a->channel_bits = log2_of(a->channels);
    uint32_t line = m->l2.line > 128 ? m->l2.line : 128;
    if (!pow2(m->partition.interleave) || m->partition.interleave < line)
        diag_error(diag,
                   "partition.interleave (%u) must be a power of two and hold a whole "
                   "line of %u bytes",
                   m->partition.interleave, line);
    a->interleave_bits = log2_of(m->partition.interleave);

    static const char fields[] = "RBCS";
    uint64_t mask[4] = {0}; /* in the order of fields */
    const char *map = m->dram.address_map;
    unsigned bits = 0;
    for (const char *s = map; *s; s++)
        if (strchr(fields, *s))
            bits++;
        else if (!strchr(" .;_", *s))
            diag_error(diag, "dram.address_map: `%c` is none of R, B, C, S", *s);
    if (bits > 60)
        return diag_error(diag, "dram.address_map has %u bits; 60 are the most", bits);
    a->map_bits = bits;
    unsigned b = bits;
    for (const char *s = map; *s; s++) {
        const char *k = strchr(fields, *s);
        if (k)
            mask[k - fields] |= (uint64_t)1 << --b;
    }
    /* Address bits above the map belong to the row. */
    mask[0] |= ~low_mask(bits);
    field_of(&a->row, mask[0]);
    field_of(&a->bank, mask[1]);
    field_of(&a->column, mask[2]);
    if ((uint64_t)1 << a->bank.width != m->dram.banks)
        diag_error(diag, "dram.address_map has %u bank bits, but dram.banks is %u",
                   a->bank.width, m->dram.banks);
    unsigned s_bits = (unsigned)__builtin_popcountll(mask[3]);
    if (mask[3] != low_mask(s_bits) || (uint64_t)1 << s_bits != m->dram.burst)
        diag_error(
            diag,
            "dram.address_map: S must be the low bits, as many as dram.burst (%u) has",
            m->dram.burst);
    if ((uint64_t)m->dram.burst << a->column.width != m->dram.row)
        diag_error(diag,
                   "dram.address_map has %u column bits; with bursts of %u bytes a row "
                   "has %u bytes, but dram.row is %u",
                   a->column.width, m->dram.burst, m->dram.burst << a->column.width,
                   m->dram.row);

    /* The slice: the low bank bits, or the bank modulo slices. */
    a->packed = pow2(a->slices);
    unsigned want = log2_of(a->slices);
    if (a->packed && want > a->bank.width)
        diag_error(diag, "partition.slices (%u) is more than dram.banks (%u)", a->slices,
                   m->dram.banks);
    uint64_t taken = 0;
    if (a->packed)
        for (unsigned i = 0, n = 0; i < 64 && n < want; i++)
            if (mask[1] >> i & 1) {
                taken |= (uint64_t)1 << i;
                n++;
            }
    if (taken & (line - 1))
        diag_error(diag,
                   "dram.address_map: the bank bits that choose the slice lie inside a "
                   "line of %u bytes",
                   line);
    field_of(&a->slice, taken);
    field_of(&a->keep, ~taken);
    compose(&a->local_row, &a->row, ~taken);
    compose(&a->local_bank, &a->bank, ~taken);
    compose(&a->local_column, &a->column, ~taken);
    compose(&a->slice_bank, &a->bank, taken);

    a->hash = m->partition.channel_hash;
    if (a->hash != CHANNEL_LINEAR && !a->packed)
        diag_error(diag,
                   "partition.channel_hash `%s` needs a power of two in "
                   "partition.slices (%u)",
                   machine_words_channel_hash[a->hash], a->slices);
    a->pow2_subs = pow2(a->subs);
    a->sub_bits = (uint8_t)(a->pow2_subs ? log2_of(a->subs) : log2_of(a->subs) + 1);
    if (a->sub_bits > 12)
        diag_error(diag, "%u slices are too many for partition.channel_hash", a->subs);
    uint32_t rest = 1;
    for (unsigned i = 0; a->sub_bits && a->sub_bits <= 12 && i < 64u + a->sub_bits; i++) {
        for (unsigned b = i - a->sub_bits, v = 0; i >= a->sub_bits && v < 256; v++)
            a->poly[b / 8][v] ^= v >> b % 8 & 1 ? (uint16_t)rest : 0;
        rest <<= 1;
        if (rest >> a->sub_bits & 1)
            rest ^= (uint32_t)1 << a->sub_bits | poly_low[a->sub_bits];
    }
    return diag->errors == before;
}

static uint32_t
hash_of(const struct addrmap *a, uint64_t local)
{
    uint64_t x = local >> a->interleave_bits;
    uint32_t h = 0;
    if (!a->sub_bits)
        return 0;
    if (a->hash == CHANNEL_XOR) {
        for (; x; x >>= a->sub_bits)
            h ^= (uint32_t)(x & low_mask(a->sub_bits));
    } else {
        for (unsigned k = 0; x; x >>= 8, k++)
            h ^= a->poly[k][x & 255];
    }
    return h;
}

struct addr_place
addrmap_slice(const struct addrmap *a, uint64_t addr)
{
    uint64_t piece = addr >> a->interleave_bits;
    uint32_t channel;
    if (a->pow2_channels) {
        channel = (uint32_t)(piece & (a->channels - 1));
        piece >>= a->channel_bits;
    } else if (piece <= UINT32_MAX) {
        channel = (uint32_t)piece % a->channels;
        piece = (uint32_t)piece / a->channels;
    } else {
        channel = (uint32_t)(piece % a->channels);
        piece /= a->channels;
    }
    uint64_t own = piece << a->interleave_bits | (addr & low_mask(a->interleave_bits));
    struct addr_place p;
    uint32_t slice;
    if (a->packed) {
        slice = (uint32_t)extract(&a->slice, own);
        p.local = extract(&a->keep, own);
    } else {
        slice = (uint32_t)(extract(&a->bank, own) % a->slices);
        p.local = own;
    }
    p.slice = channel * a->slices + slice;
    if (a->hash != CHANNEL_LINEAR) {
        uint32_t h = hash_of(a, p.local);
        p.slice = a->pow2_subs ? p.slice ^ h : (p.slice + h) % a->subs;
    }
    return p;
}

struct addr_dram
addrmap_dram(const struct addrmap *a, uint32_t slice, uint64_t local)
{
    return (struct addr_dram){
        extract(&a->local_row, local),
        (uint32_t)(extract(&a->local_bank, local) | extract(&a->slice_bank, slice)),
        (uint32_t)extract(&a->local_column, local)};
}
