/* runtime_cluster.c: registers of clusters in a kernel whose clusters are of one block, by the
 * PTX ISA (10.12 to 10.18): a cluster is then a block. Values by hand. Larger clusters are
 * refused. */
#include "unit/kit/runtime_kit.h"

#define HEAD90 ".version 8.0\n.target sm_90\n.address_size 64\n"
#define READ(i, from) "mov.u32 %r0, " from "; st.global.u32 [%d1+4*" #i "], %r0;\n"

enum { WORDS = 16 };

/* Each block writes what it reads. */
static char *
text(const char *head)
{
    static char b[4096];
    snprintf(b, sizeof b, "%s%s%s", HEAD90 ".visible .entry k(.param .u64 out) ", head,
             " {\n.reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %q;\n"
             "mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ctaid.y;\n"
             "mad.lo.u32 %r0, %r0, %r1, %r2; mov.u32 %r1, %nctaid.x;\n"
             "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n"
             "ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 64;\n"
             "add.u64 %d1, %d0, %d1;\n"
             /* clang-format off */
             READ(0, "%clusterid.x") READ(1, "%clusterid.y") READ(2, "%clusterid.z")
             READ(3, "%nclusterid.x") READ(4, "%nclusterid.y") READ(5, "%nclusterid.z")
             READ(6, "%cluster_ctaid.x") READ(7, "%cluster_ctaid.y")
             READ(8, "%cluster_ctaid.z") READ(9, "%cluster_nctaid.x")
             READ(10, "%cluster_nctaid.y") READ(11, "%cluster_nctaid.z")
             READ(12, "%cluster_ctarank") READ(13, "%cluster_nctarank")
             /* clang-format on */
             "mov.pred %q, %is_explicit_cluster; selp.u32 %r0, 7, 5, %q;\n"
             "st.global.u32 [%d1+56], %r0; @%q mov.u32 %r0, 9;\n"
             "st.global.u32 [%d1+60], %r0; ret;\n}\n");
    return b;
}

static void
check(const uint32_t *w, const uint32_t grid[3], bool explicit)
{
    for (uint32_t b = 0; b < grid[0] * grid[1] * grid[2]; b++) {
        const uint32_t x = b % grid[0], y = b / grid[0] % grid[1],
                       z = b / grid[0] / grid[1];
        const uint32_t want[WORDS] = {
            x, y, z, grid[0], grid[1],          grid[2],         0, 0, 0, 1,
            1, 1, 0, 1,       explicit ? 7 : 5, explicit ? 9 : 5};
        for (int i = 0; i < WORDS; i++)
            assert_int_equal(w[b * WORDS + (uint32_t)i], want[i]);
    }
}

static void
a_cluster_of_one_block_is_the_block(void **state)
{
    static const char *const heads[] = {
        "", ".maxclusterrank 8", ".reqnctapercluster 1, 1, 1",
        ".explicitcluster .reqnctapercluster 1", ".reqnctapercluster 1, 1"};
    static const struct allot_options modes[] = {{.functional = true}, {0}};
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (int mode = 0; mode < 2; mode++) {
            struct rt_kit k;
            uint32_t got[12 * WORDS];
            const uint32_t grid[3] = {3, 2, 2};
            rt_open(&k, text(heads[h]), &modes[mode]);
            uint64_t out = allot_alloc(k.dev, sizeof got, k.d);
            const void *args[] = {&out};
            struct allot_launch l = {.module = k.mod,
                                     .kernel = "k",
                                     .grid = {3, 2, 2},
                                     .block = {32, 1, 1},
                                     .args = args,
                                     .nargs = 1};
            assert_non_null(allot_launch(k.dev, &l, k.d));
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            check(got, grid, strstr(heads[h], "cta") != NULL);
            /* The launch says it. */
            memcpy(l.cluster, (uint32_t[]){1, 1, 1}, sizeof l.cluster);
            assert_non_null(allot_launch(k.dev, &l, k.d));
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            check(got, grid, true);
            rt_close(&k);
        }
}

static void
refused(const char *head, const uint32_t cluster[3], const char *why)
{
    struct rt_kit k;
    const struct allot_options functional = {.functional = true};
    rt_open(&k, text(head), &functional);
    uint64_t out = allot_alloc(k.dev, 1 << 16, k.d);
    const void *args[] = {&out};
    struct allot_launch l = {.module = k.mod,
                             .kernel = "k",
                             .grid = {4, 4, 4},
                             .block = {32, 1, 1},
                             .args = args,
                             .nargs = 1};
    memcpy(l.cluster, cluster, sizeof l.cluster);
    assert_null(allot_launch(k.dev, &l, k.d));
    if (!strstr(allot_diag_text(k.d), why) || !strstr(allot_diag_text(k.d), ":4:"))
        fail_msg("'%s' is not in: %s", why, allot_diag_text(k.d));
    rt_close(&k);
}

static void
larger_clusters_are_refused(void **state)
{
    static const uint32_t none[3], one[3] = {1, 1, 1}, two[3] = {2, 1, 1},
                                   deep[3] = {1, 1, 2};
    refused(".reqnctapercluster 2, 1, 1", none, "in clusters of 2 x 1 x 1 blocks");
    refused(".reqnctapercluster 1, 2", one, "in clusters of 1 x 2 x 1 blocks");
    refused(".reqnctapercluster 1, 1, 4", none, "in clusters of 1 x 1 x 4 blocks");
    refused("", two, "is launched in clusters of 2 x 1 x 1 blocks");
    refused("", deep, "is launched in clusters of 1 x 1 x 2 blocks");
    refused(".explicitcluster", none, "must be launched in clusters");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_of_one_block_is_the_block),
        cmocka_unit_test(larger_clusters_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
