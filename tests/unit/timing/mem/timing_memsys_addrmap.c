/* Address map: every address has one place and every place one address; the bits go where
 * the map's text says. */
#include "timing/mem/addrmap.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct addrmap
make(const struct machine *m)
{
    struct diag_sink d = {0};
    struct addrmap a;
    assert_true(addrmap_init(&a, m, &d));
    diag_free(&d);
    return a;
}

/* Reads the map's text letter by letter, high to low, for one address of a channel. */
static uint64_t
by_letter(const char *map, uint64_t own, char letter)
{
    uint64_t r = 0;
    int bit = (int)strlen(map);
    for (const char *s = map; *s; s++) {
        bit--;
        if (*s == letter)
            r = r << 1 | (own >> bit & 1);
    }
    return r;
}

static void
gtx480_bits(void **state)
{
    (void)state;
    struct machine *m = machine_load("gtx480", &(struct diag_sink){0});
    assert_non_null(m);
    struct addrmap a = make(m);
    uint64_t x = 12345;
    for (int i = 0; i < 20000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t addr = x >> 34 << 5;
        uint64_t channel = addr / 256 % 6, own = addr / 256 / 6 * 256 + addr % 256;
        struct addr_place p = addrmap_slice(&a, addr);
        struct addr_dram d = addrmap_dram(&a, p.slice % 2, p.local);
        assert_int_equal(p.slice / 2, channel);
        assert_int_equal(d.bank, by_letter(m->dram.address_map, own, 'B'));
        assert_int_equal(p.slice % 2, d.bank % 2);
        assert_int_equal(d.column, by_letter(m->dram.address_map, own, 'C'));
        assert_int_equal(d.row & 0xfff, by_letter(m->dram.address_map, own, 'R'));
        assert_int_equal(d.row >> 12, own >> 28); /* bits above the map: row */
    }
    machine_free(m);
}

/* All bursts of a small memory: as many places as addresses. */
static void
bijective(uint32_t channels, uint32_t slices, enum machine_channel_hash hash,
          const char *map)
{
    struct machine *m = machine_new();
    m->dram.channels = channels;
    m->partition.slices = slices;
    m->partition.channel_hash = hash;
    m->dram.address_map = map;
    struct addrmap a = make(m);
    unsigned bits = (unsigned)strlen(map);
    uint64_t bytes = (uint64_t)channels << bits, n = bytes / 64;
    uint8_t *seen = calloc(n, 1);
    uint64_t cols = (uint64_t)1 << a.column.width;
    uint64_t rows = (uint64_t)1 << (bits - 6 - a.bank.width - a.column.width);
    uint8_t *local_seen = calloc(n, 1);
    for (uint64_t addr = 0; addr < bytes; addr += 64) {
        struct addr_place p = addrmap_slice(&a, addr);
        assert_true(p.slice < channels * slices);
        struct addr_dram d = addrmap_dram(&a, p.slice % slices, p.local);
        assert_true(d.bank < m->dram.banks && d.column < cols && d.row < rows);
        uint64_t i = ((p.slice / slices * m->dram.banks + d.bank) * rows + d.row) * cols +
                     d.column;
        assert_false(seen[i]);
        seen[i] = 1;
        if (a.packed) { /* local addresses of a slice are dense: its cache uses all sets
                         */
            uint64_t j = p.slice * (n / channels / slices) + p.local / 64;
            assert_true(j < n);
            assert_false(local_seen[j]);
            local_seen[j] = 1;
        }
    }
    for (uint64_t i = 0; i < n; i++)
        assert_true(seen[i]);
    free(seen);
    free(local_seen);
    machine_free(m);
}

static void
one_to_one(void **state)
{
    (void)state;
    static const enum machine_channel_hash hash[] = {CHANNEL_LINEAR, CHANNEL_XOR,
                                                     CHANNEL_IPOLY};
    for (int h = 0; h < 3; h++)
        for (uint32_t c = 1; c <= 12; c++)
            for (uint32_t s = 1; s <= 4; s *= 2)
                bijective(c, s, hash[h], "RRRBBBCCCCBCCSSSSSS");
    bijective(6, 3, CHANNEL_LINEAR, "RRRBBBCCCCBCCSSSSSS");
    bijective(5, 2, CHANNEL_LINEAR, "RRRBBCCCBBCCCSSSSSS");
}

/* A stride that a linear map sends to one channel is spread evenly by the hashes. */
static void
hash_spreads(void **state)
{
    (void)state;
    static const enum machine_channel_hash hash[] = {CHANNEL_LINEAR, CHANNEL_XOR,
                                                     CHANNEL_IPOLY};
    for (int h = 0; h < 3; h++) {
        struct machine *m = machine_new();
        m->dram.channels = 8;
        m->partition.slices = 2;
        m->partition.channel_hash = hash[h];
        struct addrmap a = make(m);
        unsigned count[16] = {0}, used = 0;
        for (uint64_t i = 0; i < 4096; i++)
            count[addrmap_slice(&a, i * 4096).slice]++;
        for (int i = 0; i < 16; i++)
            used += count[i] != 0;
        assert_int_equal(used, h ? 16 : 1);
        for (int i = 0; h && i < 16; i++)
            assert_int_equal(count[i], 4096 / 16);
        machine_free(m);
    }
}

static void
refused(const char *what, void (*change)(struct machine *m))
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    struct addrmap a;
    change(m);
    assert_false(addrmap_init(&a, m, &d));
    assert_true(d.errors > 0);
    assert_non_null(strstr(d.list[0]->message, what));
    diag_free(&d);
    machine_free(m);
}

static void
bad_letter(struct machine *m)
{
    m->dram.address_map = "RRRRXBBBBCCCCCCSSSSSS";
}
static void
bad_banks(struct machine *m)
{
    m->dram.banks = 8;
}
static void
bad_interleave(struct machine *m)
{
    m->partition.interleave = 64;
}
static void
bad_hash(struct machine *m)
{
    m->partition.slices = 3;
    m->partition.channel_hash = CHANNEL_IPOLY;
}

static void
refuses(void **state)
{
    (void)state;
    refused("`X` is none of", bad_letter);
    refused("bank bits", bad_banks);
    refused("partition.interleave", bad_interleave);
    refused("power of two", bad_hash);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gtx480_bits),
        cmocka_unit_test(one_to_one),
        cmocka_unit_test(hash_spreads),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
