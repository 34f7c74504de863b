/* timing_coalesce.c: every access shape against accesses and conflict degrees worked out
 * by hand from the rules in coalesce.c's head. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "timing/sm/coalesce.h"

#include <stdlib.h>
#include <string.h>

static const struct coal_rules rules = {
    .segment = 128, .const_line = 64, .banks = 32, .bank_bytes = 4, .atomic_segment = 32};

static uint64_t addr[32];
static struct coal_access out[COAL_MAX];

static void
stride(uint64_t base, uint64_t step)
{
    for (unsigned i = 0; i < 32; i++)
        addr[i] = base + i * step;
}

/* base + step * lane: what comes out, per access "addr bytes sectors". */
struct shape {
    const char *what;
    uint64_t base, step;
    uint32_t mask;
    unsigned bytes;
    bool by_sector;
    unsigned n;
    struct {
        uint64_t addr;
        unsigned bytes, sectors;
        uint32_t words;
    } want[4]; /* the first ones */
};

#define ALL 0xffffffffu

static const struct shape shapes[] = {
    {"4 bytes in a row, one line", 0x1000, 4, ALL, 4, false, 1, {{0x1000, 128, 15, ALL}}},
    {"... by sector",
     0x1000,
     4,
     ALL,
     4,
     true,
     4,
     {{0x1000, 32, 1, 0xff},
      {0x1020, 32, 2, 0xff00},
      {0x1040, 32, 4, 0xff0000},
      {0x1060, 32, 8, 0xff000000}}},
    {"shifted by one word: two lines, the second a quarter",
     0x1004,
     4,
     ALL,
     4,
     false,
     2,
     {{0x1000, 128, 15, ~1u}, {0x1080, 32, 1, 1}}},
    {"shifted by half a line",
     0x1040,
     4,
     ALL,
     4,
     false,
     2,
     {{0x1040, 64, 12, 0xffff0000}, {0x1080, 64, 3, 0xffff}}},
    {"uniform", 0x1234, 0, ALL, 4, false, 1, {{0x1220, 32, 2, 1u << 13}}},
    {"first half warp: lower half",
     0x1000,
     4,
     0xffff,
     4,
     false,
     1,
     {{0x1000, 64, 3, 0xffff}}},
    {"second half warp: upper half",
     0x1000,
     4,
     0xffff0000,
     4,
     false,
     1,
     {{0x1040, 64, 12, 0xffff0000}}},
    {"third quarter", 0x1000, 4, 0x00ff0000, 4, false, 1, {{0x1040, 32, 4, 0xff0000}}},
    {"last quarter", 0x1000, 4, 0xff000000, 4, false, 1, {{0x1060, 32, 8, 0xff000000}}},
    {"middle quarters touch both halves",
     0x1000,
     4,
     0x00ffff00,
     4,
     false,
     1,
     {{0x1000, 128, 6, 0x00ffff00}}},
    {"first and last word",
     0x1000,
     4,
     0x80000001,
     4,
     false,
     1,
     {{0x1000, 128, 9, 0x80000001}}},
    {"... by sector",
     0x1000,
     4,
     0x80000001,
     4,
     true,
     2,
     {{0x1000, 32, 1, 1}, {0x1060, 32, 8, 0x80000000}}},
    {"stride 2",
     0x1000,
     8,
     ALL,
     4,
     false,
     2,
     {{0x1000, 128, 15, 0x55555555}, {0x1080, 128, 15, 0x55555555}}},
    {"stride 32: a line a lane",
     0x1000,
     128,
     ALL,
     4,
     false,
     32,
     {{0x1000, 32, 1, 1}, {0x1080, 32, 1, 1}, {0x1100, 32, 1, 1}}},
    {"stride 33",
     0x1000,
     132,
     ALL,
     4,
     false,
     32,
     {{0x1000, 32, 1, 1}, {0x1080, 32, 1, 2}, {0x1100, 32, 1, 4}}},
    {"backwards", 0x107c, (uint64_t)-4, ALL, 4, false, 1, {{0x1000, 128, 15, ALL}}},
    {"8 bytes in a row",
     0x1000,
     8,
     ALL,
     8,
     false,
     2,
     {{0x1000, 128, 15, ALL}, {0x1080, 128, 15, ALL}}},
    {"16 bytes in a row",
     0x1000,
     16,
     ALL,
     16,
     false,
     4,
     {{0x1000, 128, 15, ALL},
      {0x1080, 128, 15, ALL},
      {0x1100, 128, 15, ALL},
      {0x1180, 128, 15, ALL}}},
    {"... by sector",
     0x1000,
     16,
     ALL,
     16,
     true,
     16,
     {{0x1000, 32, 1, 0xff}, {0x1020, 32, 2, 0xff00}}},
    {"32 bytes a lane", 0x1000, 32, ALL, 32, false, 8, {{0x1000, 128, 15, ALL}}},
    {"one lane of 16 bytes", 0x1030, 0, 1, 16, false, 1, {{0x1020, 32, 2, 0xf000}}},
    {"16 bytes at stride 64",
     0x1000,
     64,
     3,
     16,
     false,
     1,
     {{0x1000, 128, 5, 0x000f000f}}},
    {"bytes in a row: a 32-byte segment",
     0x1000,
     1,
     ALL,
     1,
     false,
     1,
     {{0x1000, 32, 1, 0xff}}},
    {"bytes at stride 4: four 32-byte segments, no whole word",
     0x1000,
     4,
     ALL,
     1,
     false,
     4,
     {{0x1000, 32, 1, 0}, {0x1020, 32, 2, 0}, {0x1040, 32, 4, 0}, {0x1060, 32, 8, 0}}},
    {"halves in a row: a 64-byte segment",
     0x1040,
     2,
     ALL,
     2,
     false,
     1,
     {{0x1040, 64, 12, 0xffff0000}}},
    {"halves, half a warp: a quarter",
     0x1040,
     2,
     0xffff0000,
     2,
     false,
     1,
     {{0x1060, 32, 8, 0xff000000}}},
    {"halves, by sector",
     0x1000,
     2,
     ALL,
     2,
     true,
     2,
     {{0x1000, 32, 1, 0xff}, {0x1020, 32, 2, 0xff00}}},
    {"no lane", 0x1000, 4, 0, 4, false, 0, {{0}}},
};

static void
global_shapes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *s = &shapes[i];
        stride(s->base, s->step);
        unsigned n = coal_global(&rules, addr, s->mask, s->bytes, s->by_sector, out);
        if (n != s->n)
            fail_msg("%s: %u accesses, not %u", s->what, n, s->n);
        for (unsigned k = 0; k < n && k < 4 && s->want[k].bytes; k++)
            if (out[k].addr != s->want[k].addr || out[k].bytes != s->want[k].bytes ||
                out[k].sectors != s->want[k].sectors || out[k].words != s->want[k].words)
                fail_msg("%s: access %u is %#llx %u %#x %#x", s->what, k,
                         (unsigned long long)out[k].addr, out[k].bytes, out[k].sectors,
                         out[k].words);
    }
}

/* Whatever the shape: the accesses cover exactly the sectors the lanes touch, each once.
 */
static void
random_accesses_cover_what_is_touched(void **state)
{
    (void)state;
    uint64_t x = 1;
    for (unsigned round = 0; round < 20000; round++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        unsigned bytes = 1u << (x >> 60) % 6;
        uint32_t mask = (uint32_t)(x >> 20);
        uint64_t span = (uint64_t)64 << (x >> 55) % 6;
        bool by_sector = x >> 54 & 1;
        uint8_t sector[64] = {0}, got[64] = {0};
        uint32_t word[2048 / 4] = {0};
        for (unsigned i = 0; i < 32; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            addr[i] = (x >> 33) % span / bytes * bytes;
            if (!(mask >> i & 1))
                continue;
            for (uint64_t b = addr[i]; b < addr[i] + bytes; b++) {
                sector[b / 32] = 1;
                word[b / 4] |= 1u << b % 4;
            }
        }
        unsigned n = coal_global(&rules, addr, mask, bytes, by_sector, out);
        for (unsigned k = 0; k < n; k++) {
            uint64_t line = out[k].addr / 128 * 128;
            for (unsigned s = 0; s < 4; s++) {
                if (!(out[k].sectors >> s & 1))
                    continue;
                got[line / 32 + s]++;
                assert_true(line + s * 32 >= out[k].addr);
                assert_true(line + s * 32 + 32 <= out[k].addr + out[k].bytes);
            }
            for (unsigned w = 0; w < 32; w++)
                if (out[k].words >> w & 1)
                    assert_int_equal(word[line / 4 + w], 15);
                else if (line / 4 + w >= out[k].addr / 4 &&
                         line / 4 + w < (out[k].addr + out[k].bytes) / 4)
                    assert_int_not_equal(word[line / 4 + w], 15);
            if (by_sector)
                assert_int_equal(out[k].bytes, 32);
        }
        assert_memory_equal(sector, got, sizeof sector);
    }
}

static void
atomics(void **state)
{
    (void)state;
    struct coal_rules r = rules;
    stride(0x1000, 0);
    assert_int_equal(coal_atomic(&r, addr, ALL, 4, out),
                     32); /* one word: a request a lane */
    assert_int_equal(out[31].words, 1);
    r.combine_atomics = true;
    assert_int_equal(coal_atomic(&r, addr, ALL, 4, out), 1);
    r.combine_atomics = false;
    stride(0x1000, 4); /* own words: a request a sector */
    assert_int_equal(coal_atomic(&r, addr, ALL, 4, out), 4);
    assert_int_equal(out[1].addr, 0x1020);
    assert_int_equal(out[1].words, 0xff00);
    assert_int_equal(out[1].bytes, 32);
    assert_int_equal(out[1].route, COAL_BYPASS);
    stride(0x1000, 128);
    assert_int_equal(coal_atomic(&r, addr, ALL, 4, out), 32);
    stride(0x1000, 8);
    assert_int_equal(coal_atomic(&r, addr, ALL, 8, out), 8);
    for (unsigned i = 0; i < 32; i++) /* pairs of lanes on one word: two rounds */
        addr[i] = 0x1000 + i / 2 * 4;
    assert_int_equal(coal_atomic(&r, addr, ALL, 4, out), 4);
    r.combine_atomics = true;
    assert_int_equal(coal_atomic(&r, addr, ALL, 4, out), 2);
}

/* By lines, as GPGPU-Sim 3.x: reduced to what holds the touched sectors. */
static void
atomics_by_line(void **state)
{
    (void)state;
    static const struct {
        uint64_t base, step;
        uint32_t mask;
        unsigned n, addr, bytes, sectors;
        uint32_t words;
    } t[] = {
        {0x1000, 4, ALL, 1, 0x1000, 128, 15, ALL},
        {0x1000, 4, 0x000000ff, 1, 0x1000, 32, 1, 0xff}, /* one sector is touched */
        {0x1000, 4, 0xff010000, 1, 0x1040, 64, 12, 0xff010000}, /* a half */
        {0x1000, 4, 0x80000001, 1, 0x1000, 128, 9, 0x80000001}, /* both halves */
        {0x1060, 0, 0x00000007, 3, 0x1060, 32, 8,
         1u << 24}, /* one word: a request a lane */
        {0x1000, 128, ALL, 32, 0x1000, 32, 1, 1},
    };
    struct coal_rules r = rules;
    r.atomic_segment = 128;
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        stride(t[i].base, t[i].step);
        assert_int_equal(coal_atomic(&r, addr, t[i].mask, 4, out), t[i].n);
        assert_int_equal(out[0].addr, t[i].addr);
        assert_int_equal(out[0].bytes, t[i].bytes);
        assert_int_equal(out[0].sectors, t[i].sectors);
        assert_int_equal(out[0].words, t[i].words);
        assert_int_equal(out[0].route, COAL_BYPASS);
    }
}

/* Sectors in any order: each line of the texture cache once, whole. */
static void
textures(void **state)
{
    (void)state;
    static const uint64_t sector[] = {0x1060, 0x1000, 0x2020, 0x1040, 0x1080, 0x2020};
    static const struct {
        const char *line;
        unsigned n;
        uint64_t addr[5];
        unsigned sectors[5];
    } t[] = {
        {"128", 3, {0x1000, 0x2000, 0x1080}, {15, 15, 15}},
        {"64", 4, {0x1040, 0x1000, 0x2000, 0x1080}, {12, 3, 3, 3}},
        {"32", 5, {0x1060, 0x1000, 0x2020, 0x1040, 0x1080}, {8, 1, 2, 4, 1}},
    };
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        struct machine *m = machine_new();
        struct diag_sink d = {0};
        assert_true(machine_set(m, "l1t.line", t[i].line, &d));
        struct coal_rules r;
        coal_rules(&r, m);
        struct coal_access out[COAL_MAX];
        assert_int_equal(coal_texture(&r, sector, 6, out), t[i].n);
        for (unsigned k = 0; k < t[i].n; k++) {
            assert_int_equal(out[k].addr, t[i].addr[k]);
            assert_int_equal(out[k].sectors, t[i].sectors[k]);
            assert_int_equal(out[k].bytes, atoi(t[i].line));
            assert_int_equal(out[k].route, COAL_TEXTURE);
        }
        machine_free(m);
        diag_free(&d);
    }
}

static void
constants(void **state)
{
    (void)state;
    static const struct {
        uint64_t step;
        unsigned n;
    } t[] = {{0, 1}, {4, 2}, {8, 4}, {16, 8}, {64, 32}, {128, 32}};
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        stride(0x3000000, t[i].step);
        assert_int_equal(coal_const(&rules, addr, ALL, 4, out), t[i].n);
        assert_int_equal(out[0].route, COAL_CONST);
        assert_int_equal(out[0].bytes, 64);
    }
    stride(0x1040, 0); /* upper half of its 128 bytes */
    assert_int_equal(coal_const(&rules, addr, 1, 4, out), 1);
    assert_int_equal(out[0].addr, 0x1040);
    assert_int_equal(out[0].sectors, 12);
}

/* 100 words between a thread's words; the warp's first thread is number 64. */
static void
local_memory_interleaves_words(void **state)
{
    (void)state;
    const uint64_t base = 1 << 20, threads = 128;
    stride(8, 0); /* every thread's word 2 */
    assert_int_equal(coal_local(&rules, addr, ALL, 4, false, base, threads, 64, out), 1);
    assert_int_equal(out[0].addr, base + 4 * (2 * threads + 64));
    assert_int_equal(out[0].bytes, 128);
    assert_int_equal(out[0].words, ALL);
    assert_int_equal(coal_local(&rules, addr, ALL, 4, true, base, threads, 64, out), 4);
    /* 16 bytes are four words, a line each. */
    stride(16, 0);
    assert_int_equal(coal_local(&rules, addr, ALL, 16, false, base, threads, 64, out), 4);
    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(out[k].addr, base + 4 * ((4 + k) * threads + 64));
    /* Every fourth lane on, the next word: two lines of half a warp. */
    for (unsigned i = 0; i < 32; i++)
        addr[i] = i & 4;
    assert_int_equal(coal_local(&rules, addr, ALL, 4, false, base, threads, 64, out), 2);
    assert_int_equal(out[0].words, 0x0f0f0f0f);
    assert_int_equal(out[1].words, 0xf0f0f0f0);
    /* Single bytes of one word a thread: 32-byte segments, bytes 4 apart. */
    stride(1, 0);
    assert_int_equal(coal_local(&rules, addr, ALL, 1, false, base, threads, 64, out), 4);
    assert_int_equal(out[0].words, 0);
    /* Worst case: every lane's eight words in sectors of their own. */
    stride(0, 32);
    assert_int_equal(coal_local(&rules, addr, ALL, 32, true, base, threads, 64, out),
                     256);
}

static void
scratchpad_conflicts(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t step;
        uint32_t mask;
        unsigned bytes, words, first,
            wide_banks; /* cycles: words, first-word, 8-byte banks */
    } t[] = {
        {"broadcast", 0, ALL, 4, 1, 1, 1},
        {"row", 4, ALL, 4, 1, 1, 1},
        {"stride 2", 8, ALL, 4, 2, 2, 1},
        {"stride 3", 12, ALL, 4, 1, 1, 2}, /* 8-byte words 0..46 over 32 banks */
        {"stride 4", 16, ALL, 4, 4, 4, 2},
        {"stride 8", 32, ALL, 4, 8, 8, 4},
        {"stride 16", 64, ALL, 4, 16, 16, 8},
        {"stride 32", 128, ALL, 4, 32, 32, 16},
        {"stride 33", 132, ALL, 4, 1, 1,
         1}, /* 8-byte words 0, 16, 33, 49, ...: 32 banks */
        {"stride 32, half the lanes", 128, 0xffff, 4, 16, 16, 8},
        {"stride 32, one lane", 128, 8, 4, 1, 1, 1},
        {"bytes", 1, ALL, 1, 1, 1, 1},
        {"halves at stride 64 words", 256, ALL, 2, 32, 32, 32},
        {"8 bytes in a row: half warps", 8, ALL, 8, 2, 2, 1},
        {"8 bytes, stride 16: half warps of two ways", 16, ALL, 8, 4, 4, 2},
        {"8 bytes broadcast: a cycle a half", 0, ALL, 8, 2, 1, 1},
        {"8 bytes, one half warp", 8, 0xffff, 8, 1, 1, 1},
        {"16 bytes in a row: quarter warps", 16, ALL, 16, 4, 4, 2},
        {"16 bytes, one quarter", 16, 0xff, 16, 1, 1, 1},
        {"16 bytes, a line a lane", 128, ALL, 16, 32, 32, 16},
    };
    struct coal_rules first = rules, wide = rules;
    first.first_word = true;
    wide.bank_bytes = 8;
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        stride(0, t[i].step);
        unsigned a = coal_conflicts(&rules, addr, t[i].mask, t[i].bytes, false);
        unsigned b = coal_conflicts(&first, addr, t[i].mask, t[i].bytes, false);
        unsigned c = coal_conflicts(&wide, addr, t[i].mask, t[i].bytes, false);
        if (a != t[i].words || b != t[i].first || c != t[i].wide_banks)
            fail_msg("%s: %u %u %u cycles", t[i].what, a, b, c);
    }
    /* A permutation within the row is free; two words in one bank, many lanes each: two.
     */
    for (unsigned i = 0; i < 32; i++)
        addr[i] = (i * 7 % 32) * 4;
    assert_int_equal(coal_conflicts(&rules, addr, ALL, 4, false), 1);
    for (unsigned i = 0; i < 32; i++)
        addr[i] = (i & 1) * 128;
    assert_int_equal(coal_conflicts(&rules, addr, ALL, 4, false), 2);
    /* Atomics: free, or a cycle for every lane of a bank. */
    struct coal_rules charged = rules;
    charged.atomic_conflicts = true;
    assert_int_equal(coal_conflicts(&rules, addr, ALL, 4, true), 1);
    assert_int_equal(coal_conflicts(&charged, addr, ALL, 4, true), 32);
    stride(0, 4);
    assert_int_equal(coal_conflicts(&charged, addr, ALL, 4, true), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_shapes),
        cmocka_unit_test(random_accesses_cover_what_is_touched),
        cmocka_unit_test(atomics),
        cmocka_unit_test(atomics_by_line),
        cmocka_unit_test(constants),
        cmocka_unit_test(textures),
        cmocka_unit_test(local_memory_interleaves_words),
        cmocka_unit_test(scratchpad_conflicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
