/* cta_workset.c: working sets of blocks from accesses made here, lines counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cta/workset.h"
#include "exec/observer.h"

#include <stdlib.h>

struct rig {
    struct dev_mem *mem;
    struct workset *w;
    struct exec_grid g;
};

static void
open_rig(struct rig *r, uint64_t blocks, uint32_t line)
{
    r->w = workset_new(blocks, line, r->mem);
    r->g = (struct exec_grid){.mem = r->mem};
    workset_watch(r->w, &r->g);
    assert_int_equal(r->g.nwatch, 1);
}

static void
close_rig(struct rig *r)
{
    workset_free(r->w);
    dev_mem_free(r->mem);
}

/* One instruction of `block`: lane i of n accesses `bytes` at addr[i]. */
static void
access_as(struct rig *r, uint32_t block, unsigned bytes, const uint64_t *addr, unsigned n,
          const uint8_t *lane_space)
{
    struct exec_cta c = {.id = block};
    struct exec_warp warp = {.cta = &c};
    struct exec_step s = {
        .access = {.space = lane_space ? PTX_SPACE_NONE : PTX_SPACE_GLOBAL,
                   .bytes = (uint8_t)bytes,
                   .load = true,
                   .mask = n < 32 ? (1u << n) - 1 : UINT32_MAX}};
    for (unsigned i = 0; i < n; i++) {
        s.access.addr[i] = addr[i];
        s.access.lane_space[i] = lane_space ? lane_space[i] : 0;
    }
    r->g.watch[0].on->access(r->g.watch[0].user, &warp, &s);
}

static void
touch(struct rig *r, uint32_t block, unsigned bytes, uint64_t addr)
{
    access_as(r, block, bytes, &addr, 1, NULL);
}

static void
assert_array(const struct rig *r, size_t i, uint64_t addr, uint64_t lines,
             uint64_t distinct)
{
    const struct workset_array a = workset_array_at(r->w, i);
    assert_int_equal(a.addr, addr);
    assert_int_equal(a.lines, lines);
    assert_int_equal(a.distinct, distinct);
}

/* Lines of 8 bytes. Block 0 has lines 0 to 3 of x, block 1 lines 8, 9, 2, 3 of x and 5 of y,
 * block 2 nothing, block 3 line 5 of y. */
static void
lines_by_block_and_array(void **state)
{
    struct rig r = {.mem = dev_mem_new(1 << 20)};
    const uint64_t x = dev_alloc(r.mem, 4096), y = dev_alloc(r.mem, 4096);
    assert_true(x < y);
    open_rig(&r, 4, 8);
    access_as(&r, 0, 16, (uint64_t[]){x, x + 16}, 2, NULL);
    access_as(&r, 1, 16, (uint64_t[]){x + 64, x + 16}, 2, NULL);
    touch(&r, 1, 1, y + 47);
    touch(&r, 3, 8, y + 40);
    workset_finish(r.w);

    static const uint64_t sizes[] = {4, 5, 0, 1};
    assert_int_equal(workset_line(r.w), 8);
    assert_int_equal(workset_blocks(r.w), 4);
    for (int b = 0; b < 4; b++)
        assert_int_equal(workset_sizes(r.w)[b], sizes[b]);
    assert_int_equal(workset_sum(r.w), 10);
    assert_int_equal(workset_distinct(r.w), 7);
    assert_int_equal(workset_arrays(r.w), 2);
    assert_array(&r, 0, x, 8, 6);
    assert_array(&r, 1, y, 2, 1);

    assert_int_equal(workset_common(r.w, 0, 1), 2); /* 2, 3 */
    assert_int_equal(workset_common(r.w, 1, 0), 2);
    assert_int_equal(workset_common(r.w, 0, 2), 0);
    assert_int_equal(workset_common(r.w, 0, 3), 0);
    assert_int_equal(workset_common(r.w, 1, 3), 1);
    assert_int_equal(workset_common(r.w, 1, 1), 5);
    assert_int_equal(workset_union(r.w, (uint32_t[]){0, 1}, 2), 7);
    assert_int_equal(workset_union(r.w, (uint32_t[]){3, 0, 2}, 3), 5);
    assert_int_equal(workset_union(r.w, (uint32_t[]){1}, 1), 5);
    assert_int_equal(workset_union(r.w, (uint32_t[]){2}, 1), 0);
    assert_int_equal(workset_together(r.w, (uint32_t[]){3, 1}, 2), 5);
    close_rig(&r);
}

/* Three arrays in one block: its lines are counted to each, also where it leaves one out. */
static void
lines_go_to_their_array(void **state)
{
    struct rig r = {.mem = dev_mem_new(1 << 20)};
    uint64_t x[3];
    for (int i = 0; i < 3; i++)
        x[i] = dev_alloc(r.mem, 4096);
    assert_true(x[0] < x[1] && x[1] < x[2]);
    open_rig(&r, 3, 8);
    touch(&r, 0, 8, x[0]);
    touch(&r, 0, 8, x[2]);
    touch(&r, 0, 8, x[2] + 8);
    touch(&r, 1, 8, x[1] + 4096 - 8);
    touch(&r, 2, 8, x[2]);
    workset_finish(r.w);
    assert_array(&r, 0, x[0], 1, 1);
    assert_array(&r, 1, x[1], 1, 1);
    assert_array(&r, 2, x[2], 3, 2);
    close_rig(&r);
}

/* An access of b bytes touches the lines of its first and its last byte. */
static void
an_access_ends_with_its_last_byte(void **state)
{
    static const struct {
        unsigned bytes, at, lines;
    } rows[] = {{1, 7, 1}, {1, 8, 1},  {8, 0, 1}, {4, 4, 1},
                {4, 6, 2}, {16, 0, 2}, {16, 1, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig r = {.mem = dev_mem_new(1 << 20)};
        const uint64_t x = dev_alloc(r.mem, 4096);
        open_rig(&r, 1, 8);
        touch(&r, 0, rows[i].bytes, x + rows[i].at);
        workset_finish(r.w);
        assert_int_equal(workset_sizes(r.w)[0], rows[i].lines);
        close_rig(&r);
    }
}

/* Of a generic access the lanes in global memory count. Memory of the host and what lies
 * below device memory do not. */
static void
only_device_memory_counts(void **state)
{
    struct rig r = {.mem = dev_mem_new(1 << 20)};
    const uint64_t x = dev_alloc(r.mem, 4096);
    static uint8_t host[64];
    open_rig(&r, 1, 8);
    static const uint8_t spaces[] = {PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_LOCAL,
                                     PTX_SPACE_GLOBAL};
    access_as(&r, 0, 4, (uint64_t[]){x, x + 8, x + 16, x + 24}, 4, spaces);
    touch(&r, 0, 4, (uint64_t)(uintptr_t)host);
    touch(&r, 0, 4, 64);
    workset_finish(r.w);
    assert_int_equal(workset_sizes(r.w)[0], 2);
    assert_int_equal(workset_distinct(r.w), 2);
    assert_array(&r, 0, x, 2, 2);
    close_rig(&r);
}

/* Blocks whose accesses interleave: each line of a block counts once. 300 lines make the
 * list grow three times; they lie on both sides of 4,096 lines, where a new page begins. */
static void
interleaved_blocks_and_many_lines(void **state)
{
    enum { LINE = 8, FIRST = 4096 - 150, LINES = 300 };
    struct rig r = {.mem = dev_mem_new(1 << 20)};
    const uint64_t x = dev_alloc(r.mem, 65536);
    open_rig(&r, 2, LINE);
    for (int again = 0; again < 2; again++)
        for (uint64_t i = LINES; i-- > 0;) {
            touch(&r, 0, 4, x + (FIRST + i) * LINE);
            if (i % 3 == 0)
                touch(&r, 1, 4, x + (FIRST + i) * LINE);
        }
    workset_finish(r.w);
    assert_int_equal(workset_sizes(r.w)[0], LINES);
    assert_int_equal(workset_sizes(r.w)[1], LINES / 3);
    assert_int_equal(workset_sum(r.w), LINES + LINES / 3);
    assert_int_equal(workset_distinct(r.w), LINES);
    assert_int_equal(workset_common(r.w, 0, 1), LINES / 3);
    assert_array(&r, 0, x, LINES + LINES / 3, LINES);
    close_rig(&r);
}

/* A line may begin before its array: what was there is freed. The array is that of the first
 * byte of the line that is in one. */
static void
an_array_may_begin_within_a_line(void **state)
{
    enum { LINE = 65536 };
    struct rig r = {.mem = dev_mem_new(1 << 20)};
    const uint64_t before = dev_alloc(r.mem, 512), x = dev_alloc(r.mem, 2 * LINE);
    assert_true(x > before);
    assert_true(before / LINE == x / LINE);
    assert_true(dev_release(r.mem, before));
    open_rig(&r, 2, LINE);
    touch(&r, 0, 4, x);
    touch(&r, 0, 4, x + LINE);
    touch(&r, 1, 4, x + 8);
    workset_finish(r.w);
    assert_int_equal(workset_arrays(r.w), 1);
    assert_int_equal(workset_array_at(r.w, 0).bytes, 2 * LINE);
    assert_array(&r, 0, x, 3, 2);
    close_rig(&r);
}

/* Two arrays whose ends meet within 8 lines of each other: the last line of one is not the
 * first of the other; memory that is in no array is one of its own, a line long. */
static void
arrays_end_where_they_end(void **state)
{
    struct rig r = {.mem = dev_mem_new(1 << 20)};
    const uint64_t x = dev_alloc(r.mem, 4096), y = dev_alloc(r.mem, 4096);
    assert_true(x < y);
    open_rig(&r, 1, 8);
    touch(&r, 0, 8, y);
    touch(&r, 0, 8, x + 4096 - 8);
    touch(&r, 0, 8, y + 4096 - 8);
    touch(&r, 0, 8, y + 8192);
    workset_finish(r.w);
    assert_int_equal(workset_arrays(r.w), 3);
    assert_array(&r, 0, x, 1, 1);
    assert_array(&r, 1, y, 2, 2);
    assert_array(&r, 2, y + 8192, 1, 1);
    assert_int_equal(workset_array_at(r.w, 0).bytes, 4096);
    assert_int_equal(workset_array_at(r.w, 2).bytes, 8);
    close_rig(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_by_block_and_array),
        cmocka_unit_test(lines_go_to_their_array),
        cmocka_unit_test(an_access_ends_with_its_last_byte),
        cmocka_unit_test(only_device_memory_counts),
        cmocka_unit_test(interleaved_blocks_and_many_lines),
        cmocka_unit_test(an_array_may_begin_within_a_line),
        cmocka_unit_test(arrays_end_where_they_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
