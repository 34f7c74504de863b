/* mum: longest matches of queries with a reference. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 32,         /* nodes of a side of a block of the textures */
    BLOCKS_A_ROW = 128, /* kernel.cu reads these */
    COLUMN = 4,
    COLUMNS_A_ROW = 16384,
};

/* A node of the suffix tree: the path from the root to it is `depth` letters from `suffix`. */
struct node {
    int suffix, depth, parent, number;
    int child[4]; /* by letter; 0: none */
};

struct tree {
    struct node *node; /* [0]: the root; at most 2 n */
    int count;
    int *of_suffix; /* node whose path is the suffix */
};

static int
add_node(struct tree *t, int suffix, int depth)
{
    t->node[t->count] = (struct node){.suffix = suffix, .depth = depth};
    return t->count++;
}

static int
common_prefix(const uint8_t *text, int n, int a, int b)
{
    int len = 0;
    while (a + len < n && b + len < n && text[a + len] == text[b + len])
        len++;
    return len;
}

/* The tree from the sorted suffixes: along them, the stack holds the path to the last one. */
static void
build(struct tree *t, const uint8_t *text, int n, const int *sorted, int *stack)
{
    int top = 0;
    stack[0] = add_node(t, 0, 0);
    for (int k = 0; k <= n; k++) {
        int common = k && k < n ? common_prefix(text, n, sorted[k - 1], sorted[k]) : 0;
        while (t->node[stack[top]].depth > common) {
            int v = stack[top--];
            if (t->node[stack[top]].depth < common)
                stack[++top] = add_node(t, sorted[k], common);
            t->node[v].parent = stack[top];
        }
        if (k < n)
            t->of_suffix[sorted[k]] = stack[++top] =
                add_node(t, sorted[k], n - sorted[k]);
    }
    for (int v = 1; v < t->count; v++) {
        struct node *p = &t->node[t->node[v].parent];
        p->child[text[t->node[v].suffix + p->depth]] = v;
    }
}

/* The node whose path is that of v without its first letter. */
static int
suffix_link(const struct tree *t, int n, int v)
{
    const struct node *x = &t->node[v];
    if (x->depth < 2 || x->suffix + 1 >= n)
        return 0;
    int at = t->of_suffix[x->suffix + 1];
    while (t->node[at].depth > x->depth - 1)
        at = t->node[at].parent;
    return at;
}

/* Numbers as Schatz et al. order their blocks: level by level near the root, while a level
 * has no more nodes than a block; below that, a subtree at a time. order[]: node by number. */
static void
number(struct tree *t, int *order, int *stack)
{
    int count = 1, level = 0, next = 1; /* the level's first number; the next level's */
    order[0] = 0;
    while (next - level <= BLOCK * BLOCK && next > level) {
        for (int i = level; i < next; i++)
            for (int c = 0; c < 4; c++)
                if (t->node[order[i]].child[c])
                    order[count++] = t->node[order[i]].child[c];
        level = next;
        next = count;
    }
    for (int i = level; i < next; i++) {
        int top = 0;
        stack[0] = order[i];
        while (top >= 0) {
            int v = stack[top--];
            if (v != order[i])
                order[count++] = v;
            for (int c = 3; c >= 0; c--)
                if (t->node[v].child[c])
                    stack[++top] = t->node[v].child[c];
        }
    }
    for (int i = 0; i < count; i++)
        t->node[order[i]].number = i;
}

/* A texture of its own, of `image`'s texels: `channels` integers of `bits` bits. */
struct table {
    struct allot_array *array;
    uint64_t texture;
};

static struct table
upload(struct allot_run *r, const void *image, int bits, int channels, uint64_t width,
       uint64_t height)
{
    struct table t = {0};
    struct allot_array_info info = {
        .format = {ALLOT_SIGNED, (uint32_t)bits, (uint32_t)channels},
        .width = width,
        .height = height};
    struct allot_box all = {.width = width, .height = height};
    if (r->ok)
        r->ok = (t.array = allot_array_new(r->dev, &info, r->diag)) != NULL;
    if (r->ok)
        r->ok = allot_array_write(r->dev, t.array, &all, image, 0, 0, r->diag);
    struct allot_resource from = {.kind = ALLOT_RES_ARRAY, .array = t.array};
    if (r->ok)
        r->ok = (t.texture = allot_texture_new(r->dev, &from, NULL, r->diag)) != 0;
    return t;
}

/* What kernel.cu reads: children, nodes, text. */
static void
upload_tree(struct allot_run *r, const struct tree *t, const uint8_t *ref, int n,
            const int *order, struct table table[3])
{
    uint64_t width = BLOCK * BLOCKS_A_ROW, in_row = width * BLOCK,
             height = ((uint64_t)t->count - 1) / in_row * BLOCK + BLOCK,
             rows = (uint64_t)(n - 1) / (COLUMN * COLUMNS_A_ROW) * COLUMN + COLUMN;
    int32_t(*children)[4] = calloc(width * height, sizeof *children);
    int32_t(*nodes)[4] = calloc(width * height, sizeof *nodes);
    uint8_t *text = calloc(rows, COLUMNS_A_ROW);
    if (children && nodes && text) {
        for (int i = 0; i < t->count; i++) {
            const struct node *v = &t->node[order[i]];
            uint64_t block = (uint64_t)i / (BLOCK * BLOCK),
                     in = (uint64_t)i % (BLOCK * BLOCK),
                     x = block % BLOCKS_A_ROW * BLOCK + in % BLOCK,
                     y = block / BLOCKS_A_ROW * BLOCK + in / BLOCK, at = y * width + x;
            for (int c = 0; c < 4; c++)
                children[at][c] = t->node[v->child[c]].number;
            nodes[at][0] = v->suffix + t->node[v->parent].depth;
            nodes[at][1] = v->suffix + v->depth;
            nodes[at][2] = t->node[suffix_link(t, n, order[i])].number;
        }
        for (int i = 0; i < n; i++)
            text[((size_t)i / (COLUMN * COLUMNS_A_ROW) * COLUMN + (size_t)i % COLUMN) *
                     COLUMNS_A_ROW +
                 (size_t)i / COLUMN % COLUMNS_A_ROW] = ref[i];
        table[0] = upload(r, children, 32, 4, width, height);
        table[1] = upload(r, nodes, 32, 4, width, height);
        table[2] = upload(r, text, 8, 1, COLUMNS_A_ROW, rows);
    } else {
        wl_fail(r, "out of memory");
    }
    free(children);
    free(nodes);
    free(text);
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

/* Each match against the reference, and that none is longer or missing. */
static bool
check(struct allot_run *r, const uint8_t *ref, int n, const int *sorted,
      const struct tree *t, const int *order, const uint8_t *query, int len, int least,
      const int32_t (*got)[2], int q)
{
    for (int from = 0; from < len && r->ok; from++) {
        int at = got[from][0], found = got[from][1];
        const uint8_t *p = query + from;
        if (!found) {
            if (from + least < len && contains(ref, n, sorted, p, least + 1))
                wl_fail(r, "query %d, letter %d: a match is not stored", q, from);
            continue;
        }
        const struct node *v = at > 0 && at < t->count ? &t->node[order[at]] : NULL;
        if (!v || found <= least || found > len - from || found > v->depth ||
            found <= t->node[v->parent].depth ||
            memcmp(ref + v->suffix, p, (size_t)found))
            wl_fail(r, "query %d, letter %d: no match of %d letters", q, from, found);
        else if (from + found < len && contains(ref, n, sorted, p, found + 1))
            wl_fail(r, "query %d, letter %d: a longer match than %d letters", q, from,
                    found);
    }
    return r->ok;
}

static bool
run(struct allot_run *r)
{
    int n = (int)wl_param(r, "reference", r->quick ? 2000 : 60000, 100, 1 << 22),
        genome = (int)wl_param(r, "genome", (uint64_t)n, (uint64_t)n, 1 << 24),
        nq = (int)wl_param(r, "queries", r->quick ? 300 : 14 * 6 * 256, 1, 1 << 20),
        letters = (int)wl_param(r, "letters", 0, 0, 30),
        errors = (int)wl_param(r, "errors", 12, 0, 1 << 20), least = 20, total = 0;
    uint8_t *ref = malloc((size_t)genome), *text = malloc((size_t)nq * 32);
    int *first = malloc(sizeof *first * ((size_t)nq + 1));
    int *sorted = malloc(sizeof *sorted * (size_t)n);
    int *order = malloc(sizeof *order * 2 * (size_t)n),
        *stack = malloc(sizeof *stack * 2 * (size_t)n);
    struct tree t = {malloc(sizeof *t.node * 2 * (size_t)n), 0,
                     malloc(sizeof(int) * (size_t)n)};
    int32_t(*got)[2] = malloc(sizeof *got * (size_t)nq * 32);
    if (ref && text && first && sorted && order && stack && t.node && t.of_suffix &&
        got) {
        uint64_t rng = r->seed;
        for (int i = 0; i < genome; i++)
            ref[i] = (uint8_t)(wl_random(&rng) % 4);
        for (int q = 0; q < nq; q++) { /* pieces of the genome with errors */
            int any = 20 + (int)(wl_random(&rng) % 11), len = letters ? letters : any,
                from = (int)(wl_random(&rng) % (uint64_t)(genome - len));
            first[q] = total;
            for (int i = 0; i < len; i++)
                text[total++] = !errors || wl_random(&rng) % (uint64_t)errors
                                    ? ref[from + i]
                                    : (uint8_t)(wl_random(&rng) % 4);
        }
        first[nq] = total;
        for (int i = 0; i < n; i++)
            sorted[i] = i;
        sort_text = ref;
        sort_length = n;
        qsort(sorted, (size_t)n, sizeof *sorted, compare_suffixes);
        build(&t, ref, n, sorted, stack);
        number(&t, order, stack);
        struct table table[3] = {0};
        upload_tree(r, &t, ref, n, order, table);
        memset(got, 0, sizeof *got * (size_t)total);
        uint64_t d_match = wl_upload(r, got, sizeof *got * (uint64_t)total),
                 d_text = wl_upload(r, text, (size_t)total),
                 d_first = wl_upload(r, first, sizeof *first * ((size_t)nq + 1));
        wl_launch(r, "mummergpuKernel", (nq + 255) / 256, 1, 1, 256, 1, 1, 0, &d_match,
                  &table[0].texture, &table[1].texture, &table[2].texture, &d_text,
                  &d_first, &nq, &least);
        wl_read(r, d_match, got, sizeof *got * (uint64_t)total);
        for (int q = 0; q < nq && r->ok; q++)
            check(r, ref, n, sorted, &t, order, text + first[q], first[q + 1] - first[q],
                  least, (const int32_t(*)[2])(got + first[q]), q);
        wl_free(r, d_match);
        for (int i = 0; i < 3; i++)
            release(r, &table[i]);
        wl_free(r, d_text);
        wl_free(r, d_first);
    } else {
        wl_fail(r, "out of memory");
    }
    free(ref);
    free(text);
    free(first);
    free(sorted);
    free(order);
    free(stack);
    free(t.node);
    free(t.of_suffix);
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
