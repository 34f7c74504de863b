/* btree: range queries in a B+ tree of order 508. */
#include "allot/workload.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 508 };

struct knode {
    int32_t location, indices[ORDER + 1], keys[ORDER + 1], is_leaf, num_keys;
};

/* Node over `n` children or records from `first` on, their least keys in `key`; what lies
 * behind has a key that no query reaches. */
static void
fill(struct knode *k, const int32_t *key, int32_t first, int n, bool leaf)
{
    k->is_leaf = leaf;
    k->num_keys = n;
    for (int i = 0; i <= ORDER; i++) {
        k->keys[i] = i < n ? key[i] : INT32_MAX;
        k->indices[i] = i < n ? first + i : 0;
    }
    if (!leaf) /* smaller keys than all: into the first child */
        k->keys[0] = INT32_MIN;
}

static bool
run(struct allot_run *r)
{
    int records = (int)wl_param(r, "records", r->quick ? 2000 : 200000, 1, 1 << 24),
        queries = (int)wl_param(r, "queries", r->quick ? 20 : 14 * 3 * 16, 1, 65535);
    int per = ORDER - 8, height = 0;
    size_t nnodes = (size_t)records / (size_t)per * 2 + 8;
    int32_t *key = malloc(4 * (size_t)records), *low = malloc(4 * (size_t)records),
            *q[2] = {malloc(4 * (size_t)queries), malloc(4 * (size_t)queries)},
            *got = malloc(4 * (size_t)queries), *want = malloc(4 * (size_t)queries),
            *root = malloc(4 * (size_t)queries);
    struct knode *nodes = calloc(nnodes, sizeof *nodes);
    if (key && low && q[0] && q[1] && got && want && root && nodes) {
        uint64_t rng = r->seed;
        for (int i = 0; i < records; i++)
            key[i] = (i ? key[i - 1] : 0) + 1 + (int)(wl_random(&rng) % 9);
        /* Level by level from the leaves up; low[] has the least key of each node. */
        int count = 0, level_first = 0, level_n = 0;
        for (int i = 0; i < records; i += per, level_n++) {
            low[level_n] = key[i];
            fill(&nodes[count++], key + i, i, records - i < per ? records - i : per,
                 true);
        }
        while (level_n > 1) {
            int above_first = count, above_n = 0;
            for (int i = 0; i < level_n; i += per, above_n++) {
                fill(&nodes[count++], low + i, level_first + i,
                     level_n - i < per ? level_n - i : per, false);
                low[above_n] = low[i];
            }
            level_first = above_first;
            level_n = above_n;
            height++;
        }
        for (int i = 0; i < queries; i++) {
            uint64_t a = wl_random(&rng) % (uint64_t)records,
                     n = wl_random(&rng) %
                         ((uint64_t)records - a < 5000 ? records - a : 5000);
            q[0][i] = key[a];
            q[1][i] = key[a + n];
            root[i] = count - 1;
        }
        uint64_t d_nodes = wl_upload(r, nodes, sizeof *nodes * (size_t)count), d[8];
        const void *from[8] = {root, NULL, root, NULL, q[0], q[1], NULL, NULL};
        for (int i = 0; i < 8; i++)
            d[i] = from[i] ? wl_upload(r, from[i], 4 * (uint64_t)queries)
                           : wl_alloc(r, 4 * (uint64_t)queries);
        wl_launch(r, "findRangeK", queries, 1, 1, ORDER, 1, 1, 0, &height, &d_nodes,
                  &d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &d[6], &d[7]);
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < queries; i++) { /* by bisection of the records */
                int at[2];
                for (int e = 0; e < 2; e++) {
                    int lo = 0, hi = records - 1;
                    while (lo < hi) {
                        int mid = (lo + hi) / 2;
                        if (key[mid] < q[e][i])
                            lo = mid + 1;
                        else
                            hi = mid;
                    }
                    at[e] = lo;
                }
                want[i] = k ? at[1] - at[0] + 1 : at[0];
            }
            wl_read(r, d[6 + k], got, 4 * (uint64_t)queries);
            wl_check_i32(r, k ? "lengths" : "first records", got, want, (size_t)queries);
        }
        wl_free(r, d_nodes);
        for (int i = 0; i < 8; i++)
            wl_free(r, d[i]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(key);
    free(low);
    free(q[0]);
    free(q[1]);
    free(got);
    free(want);
    free(root);
    free(nodes);
    return r->ok;
}

const struct allot_workload allot_workload_btree = {
    .name = "btree",
    .summary = "range queries in a B+ tree, a thread a key; 508 threads, no scratchpad",
    .source = "Rodinia b+tree, findRangeK: 001 Tables 2.1, 2.5, 2.6; 000 Table IV",
    .kernels = "findRangeK",
    .run = run,
};
