/* mum: longest matches of queries with a reference. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

struct state {
    int32_t next[4], link, length;
};

/* Suffix automaton, letter by letter (Blumer et al. 1985); at most 2 n states. end[] is
 * where a substring of each state ends. */
static int
build(const uint8_t *text, int n, struct state *s, int32_t *end)
{
    int count = 1, last = 0;
    s[0] = (struct state){{-1, -1, -1, -1}, -1, 0};
    end[0] = 0;
    for (int i = 0; i < n; i++) {
        int c = text[i], cur = count++, p = last;
        s[cur] = (struct state){{-1, -1, -1, -1}, 0, s[last].length + 1};
        end[cur] = i + 1;
        for (; p >= 0 && s[p].next[c] < 0; p = s[p].link)
            s[p].next[c] = cur;
        if (p >= 0) {
            int q = s[p].next[c];
            if (s[q].length == s[p].length + 1) {
                s[cur].link = q;
            } else {
                int clone = count++;
                s[clone] = s[q];
                s[clone].length = s[p].length + 1;
                end[clone] = end[q];
                for (; p >= 0 && s[p].next[c] == q; p = s[p].link)
                    s[p].next[c] = clone;
                s[q].link = s[cur].link = clone;
            }
        }
        last = cur;
    }
    return count;
}

/* Texels of four integers in a texture of its own, in the order that kernel.cu reads:
 * columns of 32, 4096 of them in a row. */
struct table {
    struct allot_array *array;
    uint64_t texture;
};
enum { COLUMN = 32, WIDTH = 4096 };

static struct table
upload(struct allot_run *r, const int32_t (*texel)[4], int n)
{
    struct table t = {0};
    uint64_t height = (uint64_t)((n - 1) / (COLUMN * WIDTH) + 1) * COLUMN;
    int32_t(*image)[4] = calloc(WIDTH * height, sizeof *image);
    if (!image) {
        wl_fail(r, "out of memory");
        return t;
    }
    for (int i = 0; i < n; i++) {
        int x = i / COLUMN % WIDTH, y = i / (COLUMN * WIDTH) * COLUMN + i % COLUMN;
        memcpy(image[(size_t)y * WIDTH + (size_t)x], texel[i], sizeof *image);
    }
    struct allot_array_info info = {
        .format = {ALLOT_SIGNED, 32, 4}, .width = WIDTH, .height = height};
    struct allot_box all = {.width = WIDTH, .height = height};
    if (r->ok)
        r->ok = (t.array = allot_array_new(r->dev, &info, r->diag)) != NULL;
    if (r->ok)
        r->ok = allot_array_write(r->dev, t.array, &all, image, 0, 0, r->diag);
    struct allot_resource from = {.kind = ALLOT_RES_ARRAY, .array = t.array};
    if (r->ok)
        r->ok = (t.texture = allot_texture_new(r->dev, &from, NULL, r->diag)) != 0;
    free(image);
    return t;
}

static void
release(struct allot_run *r, const struct table *t)
{
    if (r->ok && t->texture)
        r->ok = allot_object_free(r->dev, t->texture, r->diag);
    if (r->ok && t->array)
        r->ok = allot_array_free(r->dev, t->array, r->diag);
}

static const uint8_t *sort_text;
static int sort_length;

static int
compare_suffixes(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    int n = sort_length - (x > y ? x : y);
    int c = memcmp(sort_text + x, sort_text + y, (size_t)n);
    return c ? c : y - x;
}

/* Does the reference contain these letters? By bisection of its sorted suffixes. */
static bool
contains(const uint8_t *ref, int n, const int *sorted, const uint8_t *p, int len)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2, left = n - sorted[mid];
        int c = memcmp(ref + sorted[mid], p, (size_t)(left < len ? left : len));
        if (!c && left >= len)
            return true;
        if (c < 0 || !c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static bool
run(struct allot_run *r)
{
    int n = (int)wl_param(r, "reference", r->quick ? 2000 : 60000, 100, 1 << 22),
        nq = (int)wl_param(r, "queries", r->quick ? 300 : 14 * 6 * 256, 1, 1 << 20),
        letters = (int)wl_param(r, "letters", 0, 0, 30), least = 20, total = 0;
    uint8_t *ref = malloc((size_t)n), *text = malloc((size_t)nq * 32);
    struct state *s = malloc(sizeof *s * 2 * (size_t)n);
    int32_t *end = malloc(8 * (size_t)n), *first = malloc(4 * ((size_t)nq + 1));
    int *sorted = malloc(sizeof *sorted * (size_t)n);
    int32_t(*children)[4] = malloc(sizeof *children * 2 * (size_t)n);
    int32_t(*nodes)[4] = calloc(2 * (size_t)n, sizeof *nodes);
    int32_t(*got)[2] = malloc(sizeof *got * (size_t)nq * 32);
    if (ref && text && s && end && first && sorted && children && nodes && got) {
        uint64_t rng = r->seed;
        for (int i = 0; i < n; i++)
            ref[i] = (uint8_t)(wl_random(&rng) % 4);
        for (int q = 0; q < nq; q++) { /* pieces of the reference with errors */
            int any = 20 + (int)(wl_random(&rng) % 11), len = letters ? letters : any,
                from = (int)(wl_random(&rng) % (uint64_t)(n - len));
            first[q] = total;
            for (int i = 0; i < len; i++)
                text[total++] =
                    wl_random(&rng) % 12 ? ref[from + i] : (uint8_t)(wl_random(&rng) % 4);
        }
        first[nq] = total;
        int nstates = build(ref, n, s, end);
        for (int i = 0; i < n; i++)
            sorted[i] = i;
        sort_text = ref;
        sort_length = n;
        qsort(sorted, (size_t)n, sizeof *sorted, compare_suffixes);
        for (int i = 0; i < nstates; i++) {
            memcpy(children[i], s[i].next, sizeof children[i]);
            nodes[i][0] = s[i].link;
            nodes[i][1] = s[i].length;
        }
        struct table t_children = upload(r, children, nstates),
                     t_nodes = upload(r, nodes, nstates);
        memset(got, 0, 8 * (size_t)total);
        uint64_t d_match = wl_upload(r, got, 8 * (uint64_t)total),
                 d_text = wl_upload(r, text, (size_t)total),
                 d_first = wl_upload(r, first, 4 * ((size_t)nq + 1));
        wl_launch(r, "mummergpuKernel", (nq + 255) / 256, 1, 1, 256, 1, 1, 0, &d_match,
                  &t_children.texture, &t_nodes.texture, &d_text, &d_first, &nq, &least);
        wl_read(r, d_match, got, 8 * (uint64_t)total);
        for (int q = 0; q < nq && r->ok; q++)
            for (int i = first[q]; i < first[q + 1] && r->ok; i++) {
                int at = got[i][0], len = got[i][1], read = i + 1 - first[q];
                if (!len) {
                    if (read > least &&
                        contains(ref, n, sorted, text + i - least, least + 1))
                        wl_fail(r, "query %d, letter %d: a match is not stored", q,
                                i - first[q]);
                } else if (at < 0 || at >= nstates || len <= least || len > read ||
                           len > end[at] ||
                           memcmp(ref + end[at] - len, text + i + 1 - len, (size_t)len))
                    wl_fail(r, "query %d, letter %d: no match of %d letters", q,
                            i - first[q], len);
                else if (len < read && contains(ref, n, sorted, text + i - len, len + 1))
                    wl_fail(r, "query %d, letter %d: a longer match than %d letters", q,
                            i - first[q], len);
            }
        wl_free(r, d_match);
        release(r, &t_children);
        release(r, &t_nodes);
        wl_free(r, d_text);
        wl_free(r, d_first);
    } else {
        wl_fail(r, "out of memory");
    }
    free(ref);
    free(text);
    free(s);
    free(end);
    free(first);
    free(sorted);
    free(children);
    free(nodes);
    free(got);
    return r->ok;
}

const struct allot_workload allot_workload_mum = {
    .name = "mum",
    .summary = "longest matches of queries with a reference; 256 threads, no scratchpad",
    .source = "GPGPU-Sim MUM, mummergpuKernel: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "mummergpuKernel",
    .run = run,
};
