/* access_range.c: access ranges of sets of variables (000 Table III cell by cell), their
 * length, and trip counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/access_range.h"
#include "analysis/loops.h"
#include "ptx/parse.h"

#include <string.h>

#define HEAD                                                                             \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                    \
    ".shared .b32 A;\n.shared .b32 B;\n.shared .b32 C;\n"                                \
    ".visible .entry k(.param .u32 p) {\n"                                               \
    ".reg .b32 %r<20>;\n.reg .b64 %d<4>;\n.reg .pred %p<9>;\n"

struct facts {
    struct ptx_module *m;
    struct scratch_use *use;
    struct cfg *g;
    struct access_range *a;
    struct loops *loops;
};

static void
setup(struct facts *f, const char *body)
{
    struct strbuf b = {0};
    struct diag_sink d = {0};
    strbuf_printf(&b, "%s%s}\n", HEAD, body);
    f->m = ptx_parse("test.ptx", b.s, b.n, &d);
    if (!f->m) {
        struct strbuf why = {0};
        diag_print(&d, &why);
        fail_msg("%s", why.s);
    }
    strbuf_free(&b);
    diag_free(&d);
    const struct ptx_func *k = ptx_find_func(f->m, "k");
    f->use = scratch_use_new(k);
    f->g = cfg_new(k);
    f->a = access_range_new(f->g, f->use->funcs.v[0].touch);
    f->loops = loops_new(f->g);
}

static void
teardown(struct facts *f)
{
    loops_free(f->loops);
    access_range_free(f->a);
    cfg_free(f->g);
    scratch_use_free(f->use);
    ptx_module_free(f->m);
}

enum { SET_A = 1, SET_B = 2, SET_C = 4 };

/* 000 Figure 7, as far as its text and Table III tell: A is defined in BB1 and used in
 * BB4, B is defined in BB2 and used in BB3, which loops back to BB2; C is defined in BB5
 * and used in BB6, where BB4 and BB5 meet. Entry and Exit are blocks of their own. */
static const char figure_7[] = "Entry: ld.param.u32 %r1, [p];\n"
                               "setp.eq.s32 %p1, %r1, 0;\nsetp.eq.s32 %p2, %r1, 1;\n"
                               "bra BB1;\n"
                               "BB1: st.shared.u32 [A], %r1;\nbra BB2;\n"
                               "BB2: st.shared.u32 [B], %r1;\nbra BB3;\n"
                               "BB3: ld.shared.u32 %r2, [B];\n@%p1 bra BB2;\n"
                               "BBx: @%p2 bra BB5;\n"
                               "BB4: ld.shared.u32 %r3, [A];\nbra BB6;\n"
                               "BB5: st.shared.u32 [C], %r1;\nbra BB6;\n"
                               "BB6: ld.shared.u32 %r4, [C];\nbra Exit;\n"
                               "Exit: ret;\n";

static void
table_3(void **st)
{
    (void)st;
    /* Blocks of the text above; BBx only parts the two ways out of BB3. Columns: IN and
     * OUT of A, B, C; IN and OUT of AB, BC, CA. */
    static const struct {
        uint32_t block;
        const char *name, *one, *two;
    } row[] = {
        {0, "Entry", "fff fff", "fff fff"}, {1, "BB1", "fff tff", "fff tft"},
        {2, "BB2", "ttf ttf", "ttt ttt"},   {3, "BB3", "ttf ttf", "ttt ttt"},
        {5, "BB4", "tff fff", "ttt ftt"},   {6, "BB5", "fff fft", "ftt ftt"},
        {7, "BB6", "fft fff", "ftt fff"},   {8, "Exit", "fff fff", "fff fff"},
    };
    static const scratch_set one[] = {SET_A, SET_B, SET_C},
                             two[] = {SET_A | SET_B, SET_B | SET_C, SET_C | SET_A};
    struct facts f;
    setup(&f, figure_7);
    assert_int_equal(f.g->n, 9);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int k = 0; k < 12; k++) {
            bool pairs = k >= 6, out = k / 3 % 2;
            char want = (pairs ? row[i].two : row[i].one)[k % 3 + out * 4];
            scratch_set s = (pairs ? two : one)[k % 3];
            bool got =
                out ? access_out(f.a, row[i].block, s) : access_in(f.a, row[i].block, s);
            if (got != (want == 't'))
                fail_msg("%s, column %d: %d", row[i].name, k, got);
        }
    teardown(&f);
}

static void
length_along_the_longest_path(void **st)
{
    (void)st;
    struct facts f;
    setup(&f, figure_7);
    uint64_t w[9];
    loops_weights(f.loops, 10, w);
    assert_int_equal(w[1], 1);
    assert_int_equal(w[2], 10); /* the loop of BB2 and BB3 */
    assert_int_equal(w[3], 10);
    assert_int_equal(w[4], 1);
    /* A: BB1 (2), BB2 and BB3 (2 + 2) x 10, BBx 1, BB4 to its load (1). */
    assert_int_equal(access_length(f.a, SET_A, w), 2 + 40 + 1 + 1);
    /* B: both of BB2 and BB3 all through, the loop goes on. */
    assert_int_equal(access_length(f.a, SET_B, w), 40);
    /* C: its definition, the jump, its use; one path. */
    assert_int_equal(access_length(f.a, SET_C, w), 3);
    /* A and B are shorter than either with C (Example 6.3). */
    assert_int_equal(access_length(f.a, SET_A | SET_B, w), 2 + 40 + 1 + 1);
    assert_int_equal(access_length(f.a, SET_B | SET_C, w), 40 + 1 + 2 + 1);
    assert_int_equal(access_length(f.a, SET_C | SET_A, w), 2 + 40 + 1 + 2 + 1);
    assert_int_equal(access_length(f.a, SET_A, NULL), 2 + 4 + 1 + 1);
    teardown(&f);
}

static uint64_t
trips(const char *body)
{
    struct facts f;
    setup(&f, body);
    assert_int_equal(f.loops->n, 1);
    uint64_t n = f.loops->loop[0].trips;
    teardown(&f);
    return n;
}

static void
trip_counts(void **st)
{
    (void)st;
    /* for (i = 0; i < 12; i++), tested below */
    assert_int_equal(trips("mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\n"
                           "setp.lt.s32 %p1, %r1, 12;\n@%p1 bra L;\nret;\n"),
                     12);
    /* the comparison before the step */
    assert_int_equal(trips("mov.u32 %r1, 0;\nL: setp.lt.s32 %p1, %r1, 12;\n"
                           "add.s32 %r1, %r1, 1;\n@%p1 bra L;\nret;\n"),
                     13);
    /* tested above, left by the taken branch */
    assert_int_equal(trips("mov.u32 %r1, 16;\nL: setp.le.s32 %p1, %r1, 0;\n@%p1 bra X;\n"
                           "add.s32 %r1, %r1, -2;\nbra L;\nX: ret;\n"),
                     8);
    /* doubling, through a copy; negated guard */
    assert_int_equal(trips("mov.u32 %r5, 1;\nL: mov.u32 %r1, %r5;\n"
                           "shl.b32 %r5, %r1, 1;\nsetp.gt.u32 %p1, %r5, 64;\n"
                           "@!%p1 bra L;\nret;\n"),
                     7);
    /* halving with a bound in a register */
    assert_int_equal(trips("mov.u32 %r1, 256;\nmov.u32 %r2, 1;\n"
                           "L: shr.u32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, %r2;\n"
                           "@%p1 bra L;\nret;\n"),
                     8);
    /* not constant: a bound from a parameter, a step under a guard, an endless loop */
    assert_int_equal(trips("ld.param.u32 %r2, [p];\nmov.u32 %r1, 0;\n"
                           "L: add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r2;\n"
                           "@%p1 bra L;\nret;\n"),
                     0);
    assert_int_equal(trips("ld.param.u32 %r2, [p];\nsetp.eq.s32 %p2, %r2, 0;\n"
                           "mov.u32 %r1, 0;\nL: @%p2 add.s32 %r1, %r1, 1;\n"
                           "setp.lt.s32 %p1, %r1, 5;\n@%p1 bra L;\nret;\n"),
                     0);
    assert_int_equal(trips("L: bra L;\n"), 0);
    /* two exits: the one that comes first; it leaves from the top, the rest runs 4 times
     */
    assert_int_equal(trips("mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\n"
                           "setp.eq.s32 %p2, %r1, 5;\n@%p2 bra X;\n"
                           "setp.lt.s32 %p1, %r1, 12;\n@%p1 bra L;\nX: ret;\n"),
                     4);
}

static void
nested_loops_multiply(void **st)
{
    (void)st;
    struct facts f;
    setup(&f, "mov.u32 %r1, 0;\nO: mov.u32 %r2, 0;\n"
              "I: add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, 3;\n@%p1 bra I;\n"
              "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p2, %r1, 5;\n@%p2 bra O;\nret;\n");
    uint64_t w[5];
    assert_int_equal(f.g->n, 5);
    loops_weights(f.loops, 1024, w);
    static const uint64_t want[] = {1, 5, 15, 5, 1};
    assert_memory_equal(w, want, sizeof want);
    teardown(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_3),
        cmocka_unit_test(length_along_the_longest_path),
        cmocka_unit_test(trip_counts),
        cmocka_unit_test(nested_loops_multiply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
