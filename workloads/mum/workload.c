/* mum: longest matches of queries with a reference. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { /* kernel.cu reads these */
       WIDTH = 4096,
       BLOCK = 32, /* nodes of a column */
       TEXT_WIDTH = 65536,
       COLUMN = 4, /* letters of a column of the text */
       ROOT = 1,   /* its number; 0: no node */
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

enum {
    BY_LEVEL = 16, /* levels numbered breadth first ... */
    CLUSTER = 5    /* ... below, this many levels of a subtree follow each other */
};

/* The subtree under v, depth first, `levels` levels of it; what is below goes to the queue. */
static int
number_cluster(const struct tree *t, int v, int level, int levels, int *order, int count,
               int (*queue)[2], int *queued)
{
    for (int c = 0; c < 4; c++) {
        int w = t->node[v].child[c];
        if (w && levels == 1) {
            queue[*queued][0] = w;
            queue[(*queued)++][1] = level + 1;
        } else if (w) {
            order[count++] = w;
            count =
                number_cluster(t, w, level + 1, levels - 1, order, count, queue, queued);
        }
    }
    return count;
}

/* Numbers as the benchmark gives them. order[]: node by number, from ROOT on. */
static void
number(struct tree *t, int *order, int (*queue)[2])
{
    int count = ROOT, queued = 1;
    queue[0][0] = queue[0][1] = 0;
    for (int i = 0; i < queued; i++) {
        int v = queue[i][0], level = queue[i][1];
        order[count++] = v;
        count = number_cluster(t, v, level, level < BY_LEVEL ? 1 : CLUSTER, order, count,
                               queue, &queued);
    }
    for (int i = ROOT; i < count; i++)
        t->node[order[i]].number = i;
}

static int32_t
node_x(int number)
{
    return number % (WIDTH * BLOCK) / BLOCK;
}

static int32_t
node_y(int number)
{
    return number / (WIDTH * BLOCK) * BLOCK + number % BLOCK;
}

/* How kernel.cu names it; 0: none. */
static int32_t
node_name(int number)
{
    return number ? node_x(number) | node_y(number) << 16 : 0;
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
    if (r->ok && wl_textures(r))
        r->ok = (t.array = allot_array_new(r->dev, &info, r->diag)) != NULL;
    if (r->ok)
        r->ok = allot_array_write(r->dev, t.array, &all, image, 0, 0, r->diag);
    struct allot_resource from = {.kind = ALLOT_RES_ARRAY, .array = t.array};
    if (r->ok)
        r->ok = (t.texture = allot_texture_new(r->dev, &from, NULL, r->diag)) != 0;
    return t;
}

static const char letters_of[4] = {'A', 'C', 'G', 'T'};

/* What kernel.cu reads: children, nodes, text. */
static void
upload_tree(struct allot_run *r, const struct tree *t, const uint8_t *ref, int n,
            const int *order, bool ptxplus, struct table table[3])
{
    uint64_t rows = (uint64_t)(n - 1) / (COLUMN * TEXT_WIDTH) * COLUMN + COLUMN,
             height = (uint64_t)node_y(t->count) / BLOCK * BLOCK + BLOCK;
    int32_t(*children)[4] = calloc(WIDTH * height, sizeof *children);
    int32_t(*nodes)[4] = calloc(WIDTH * height, sizeof *nodes);
    uint8_t *text = calloc(rows, TEXT_WIDTH);
    if (children && nodes && text) {
        for (int i = ROOT; i < t->count + ROOT; i++) {
            const struct node *v = &t->node[order[i]];
            size_t at = (size_t)node_y(i) * WIDTH + (size_t)node_x(i);
            for (int c = 0; c < 4; c++)
                children[at][c] =
                    v->child[c] ? node_name(t->node[v->child[c]].number) : 0;
            nodes[at][0] = v->suffix + t->node[v->parent].depth;
            nodes[at][1] = v->suffix + v->depth;
            nodes[at][2] = node_name(t->node[suffix_link(t, n, order[i])].number);
        }
        for (int i = 0; i < n; i++)
            text[((size_t)i / (COLUMN * TEXT_WIDTH) * COLUMN + (size_t)i % COLUMN) *
                     TEXT_WIDTH +
                 (size_t)i / COLUMN % TEXT_WIDTH] = (uint8_t)letters_of[ref[i]];
        if (ptxplus)
            text[0] = 's'; /* the benchmark's text begins so; no query has it */
        table[0] = upload(r, children, 32, 4, WIDTH, height);
        table[1] = upload(r, nodes, 32, 4, WIDTH, height);
        table[2] = upload(r, text, 8, 1, TEXT_WIDTH, rows);
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

/* What PTXPlus fetches leads no walk down to a match. */
static void
check_ptxplus(struct allot_run *r, const int32_t (*got)[2], size_t slots)
{
    for (size_t i = 0; i < slots && r->ok; i++)
        if (got[i][0] || got[i][1])
            wl_fail(r, "slot %zu: a match is stored", i);
}

/* The matches of query q, `turns` of them, against the reference; none may be missing, or
 * longer than it says. */
static void
check(struct allot_run *r, const uint8_t *ref, int n, const int *sorted,
      const struct tree *t, const int *order, const uint8_t *query, int len, int least,
      const int32_t (*got)[2], int q)
{
    for (int from = 0; from + least <= len && r->ok; from++) {
        int at = got[from][0], along = got[from][1];
        const uint8_t *p = query + from;
        if (!at) {
            if (along)
                wl_fail(r, "query %d, letter %d: a length without a match", q, from);
            else if (contains(ref, n, sorted, p, least))
                wl_fail(r, "query %d, letter %d: a match is not stored", q, from);
            continue;
        }
        const struct node *v =
            at > 0 && at < t->count + ROOT ? &t->node[order[at]] : NULL;
        int found = !v ? 0 : along ? t->node[v->parent].depth + along : v->depth;
        if (!v || along < 0 || found > v->depth || found < least || found > len - from ||
            memcmp(ref + v->suffix, p, (size_t)found))
            wl_fail(r, "query %d, letter %d: no match of %d letters", q, from, found);
        else if (from + found < len && contains(ref, n, sorted, p, found + 1))
            wl_fail(r, "query %d, letter %d: a longer match than %d letters", q, from,
                    found);
    }
}

static bool
run(struct allot_run *r)
{
    int n = (int)wl_param(r, "reference", r->quick ? 2000 : 60000, 100, 1 << 22),
        genome = (int)wl_param(r, "genome", (uint64_t)n, (uint64_t)n, 1 << 24),
        nq = (int)wl_param(r, "queries", r->quick ? 300 : 14 * 6 * 256, 1, 1 << 20),
        letters = (int)wl_param(r, "letters", 0, 0, 30),
        errors = (int)wl_param(r, "errors", 12, 0, 1 << 20), least = 20, total = 0;
    int stale = (int)wl_param(r, "stale", 0, 0, INT32_MAX);
    bool ptxplus = wl_param(r, "ptxplus", 0, 0, 1);
    size_t nodes = 2 * (size_t)n + ROOT;
    uint8_t *ref = malloc((size_t)genome), *text = malloc((size_t)nq * 32),
            *queries = malloc((size_t)nq * 32);
    int *first = malloc(sizeof *first * (size_t)nq),
        *length = malloc(sizeof *length * (size_t)nq);
    int *sorted = malloc(sizeof *sorted * (size_t)n);
    int *order = malloc(sizeof *order * nodes), *stack = malloc(sizeof *stack * nodes);
    int(*queue)[2] = malloc(sizeof *queue * nodes);
    struct tree t = {malloc(sizeof *t.node * nodes), 0, malloc(sizeof(int) * (size_t)n)};
    int32_t(*got)[2] = NULL;
    if (letters && letters < least) {
        wl_fail(r, "letters = %d: a query has 20 or more, or 0 for 20 to 30", letters);
    } else if (ref && text && queries && first && length && sorted && order && stack &&
               queue && t.node && t.of_suffix) {
        uint64_t rng = r->seed;
        for (int i = 0; i < genome; i++)
            ref[i] = (uint8_t)(wl_random(&rng) % 4);
        for (int q = 0; q < nq; q++) { /* pieces of the genome with errors */
            int any = 20 + (int)(wl_random(&rng) % 11), len = letters ? letters : any,
                from = (int)(wl_random(&rng) % (uint64_t)(genome - len));
            first[q] = total;
            length[q] = len;
            queries[total] = 'q';
            for (int i = 0; i < len; i++) {
                uint8_t *c = &text[total + i];
                *c = !errors || wl_random(&rng) % (uint64_t)errors
                         ? ref[from + i]
                         : (uint8_t)(wl_random(&rng) % 4);
                queries[total + 1 + i] = (uint8_t)letters_of[*c];
            }
            queries[total + 1 + len] = 0;
            total += len + 2;
        }
        for (int i = 0; i < n; i++)
            sorted[i] = i;
        sort_text = ref;
        sort_length = n;
        qsort(sorted, (size_t)n, sizeof *sorted, compare_suffixes);
        build(&t, ref, n, sorted, stack);
        number(&t, order, queue);
        struct table table[3] = {0};
        upload_tree(r, &t, ref, n, order, ptxplus, table);
        size_t slots = (size_t)(total - nq * (least + 1));
        got = calloc(slots, sizeof *got);
        if (!got)
            wl_fail(r, "out of memory");
        uint64_t d_match = got ? wl_upload(r, got, sizeof *got * slots) : 0,
                 d_text = wl_upload(r, queries, (size_t)total),
                 d_first = wl_upload(r, first, sizeof *first * (size_t)nq),
                 d_length = wl_upload(r, length, sizeof *length * (size_t)nq);
        const void *args[] = {&d_match,
                              &table[0].texture,
                              &table[1].texture,
                              &table[2].texture,
                              &d_text,
                              &d_first,
                              &d_length,
                              &nq,
                              &least,
                              &stale}; /* the last one: of the second kernel */
        wl_launch_args(r, ptxplus ? "mummergpuKernel_ptxplus" : "mummergpuKernel",
                       (const uint32_t[6]){((uint32_t)nq + 255) / 256, 1, 1, 256, 1, 1},
                       0, args, ptxplus ? 10 : 9);
        wl_read(r, d_match, got, sizeof *got * slots);
        if (ptxplus && r->ok)
            check_ptxplus(r, (const int32_t(*)[2])got, slots);
        for (int q = 0; q < nq && r->ok && !ptxplus; q++)
            check(r, ref, n, sorted, &t, order, text + first[q], length[q], least,
                  (const int32_t(*)[2])(got + (first[q] - q * (least + 1))), q);
        wl_free(r, d_match);
        for (int i = 0; i < 3; i++)
            release(r, &table[i]);
        wl_free(r, d_text);
        wl_free(r, d_first);
        wl_free(r, d_length);
    } else {
        wl_fail(r, "out of memory");
    }
    free(ref);
    free(text);
    free(queries);
    free(first);
    free(length);
    free(sorted);
    free(order);
    free(stack);
    free(queue);
    free(t.node);
    free(t.of_suffix);
    free(got);
    return r->ok;
}

const struct allot_workload allot_workload_mum = {
    .name = "mum",
    .summary = "longest matches of queries with a reference; 256 threads, no scratchpad",
    .source = "GPGPU-Sim MUM, mummergpuKernel: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "mummergpuKernel mummergpuKernel_ptxplus",
    .run = run,
};
